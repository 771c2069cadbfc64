"""The tab "Field trials" of the Evidence page: the model beside randomised trials, and what it takes to match each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts.trials import HEIGHT, HEIGHT_NARROW, TrialRow, trials_figure
from fastmode.field_trials import LEVELS, model_values, to_match, trials
from fastmode.i18n import N_, _
from fastmode.scenario import Scenario, all_fields
from fastmode.ui import state
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart

_LEVEL_NAMES = {"benchmark": N_("Model, by benchmark"), "acceptance": N_("Model, as accepted")}
_LEFT_OUT = (
    N_("tasks nobody would start without AI"),
    N_("skill: what people learn or forget by using it"),
    N_("queues before a colleague reviews the work"),
    N_("several agents at once for one person, except through the share of the wait put to use"),
    N_("reviews that take longer where there are more errors"),
)


def draw(scenario: Scenario) -> None:
    """Draw the tab for the scenario's reference."""
    catalog = state.catalog()
    found, model = trials(catalog), model_values(scenario, catalog)
    option = str(catalog.presets.at[str(scenario.reference), "label"])
    known = bool(np.isfinite(model["np"]).all())
    heading, note = _sentences(found, model, option) if known else (_no_figure(option), "")
    draw_heading(heading)
    caveat = _(
        "The trials had other tasks and older models: they bound the model, and nothing in it is fitted to them."
    )
    draw_note(f"{note} {caveat}".strip())
    figure, narrow = trials_figure(_rows(found, model if known else model.iloc[:0], option), mode())
    chart(figure, key="trials", alt=heading, height=HEIGHT, height_narrow=HEIGHT_NARROW, narrow=narrow)
    if known:
        _matching(scenario, found, model, option)
    st.subheader(_("What the model leaves out"), anchor=False)
    st.markdown("\n".join(f"- {_(text)}" for text in _LEFT_OUT))


def _no_figure(option: str) -> str:
    return _("{option} has no speed to compute with, so the trials stand alone.").format(option=option)


def _sentences(found: pd.DataFrame, model: pd.DataFrame, option: str) -> tuple[str, str]:
    """(the finding, what the bands say)."""
    value, low, high = (model[name] for name in ("np", "np_low", "np_high"))
    finding = _(
        "With errors as benchmarks count them, a person with {option} gets {benchmark} as much done as without AI, above {below_benchmark} randomised trials; with errors as people accept the work, {acceptance}, above {below_acceptance}."
    ).format(
        option=option, **{level: fmt.ratio(value[level]) for level in LEVELS},
        **{f"below_{level}": _of(int((found["np"] < value[level]).sum()), len(found)) for level in LEVELS},
    )  # fmt: skip
    if not np.isfinite([*low, *high]).all():
        return finding, ""
    note = _(
        "The 90 % band, {benchmark} at benchmark level, holds {in_benchmark}; {acceptance} at acceptance level holds {in_acceptance}."
    ).format(
        **{level: f"{fmt.number(low[level])}-{fmt.number(high[level])}" for level in LEVELS},
        **{f"in_{level}": _of(int(found["np"].between(low[level], high[level]).sum()), len(found)) for level in LEVELS},
    )  # fmt: skip
    return finding, note


def _of(count: int, everything: int) -> str:
    words = _("all {n}") if count == everything else _("none of the {n}") if count == 0 else _("{count} of the {n}")
    return words.format(count=count, n=everything)


def _rows(found: pd.DataFrame, model: pd.DataFrame, option: str) -> list[TrialRow]:
    rows = [
        TrialRow(row.label, _(row.who), row.np, row.np_low, row.np_high, about=(str(int(row.year)),))
        for row in found.itertuples()
    ]
    for level, row in model.iterrows():
        who = _("{option}, {error} wrong").format(option=option, error=fmt.share(row["error"]))
        rows.append(TrialRow(_(_LEVEL_NAMES[level]), who, row["np"], row["np_low"], row["np_high"], modelled=True))
    return rows


def _matching(scenario: Scenario, found: pd.DataFrame, model: pd.DataFrame, option: str) -> None:
    st.subheader(_("What it takes to match each trial"), anchor=False)
    st.caption(
        _(
            "One change at a time for {option}: the share of first outputs that are wrong (now {benchmark} by benchmark, {acceptance} as accepted), or the cost of an error that escapes review, in fixes by hand (now {factor})."
        ).format(
            option=option,
            factor=fmt.number(float(scenario.escape_factor)),
            **{level: fmt.share(model.at[level, "error"]) for level in LEVELS},
        )  # fmt: skip
    )
    needed = to_match(scenario, state.catalog())
    bounds = all_fields(state.catalog())["escape_factor"]
    beyond = _("not within {low} to {high}").format(low=fmt.number(bounds.min), high=fmt.number(bounds.max))
    beyond_share = _("not within {low} to {high} %").format(low=0, high=100)
    factors = {
        name: [fmt.ratio(v) if np.isfinite(v) else beyond for v in needed[name]]
        for name in ("escape_factor", "escape_factor_accepted")
    }
    shown = pd.DataFrame(
        {
            _("trial"): found["label"],
            _("found"): [fmt.number(v) for v in found["np"]],
            _("interval"): [_interval(low, high) for low, high in zip(found["np_low"], found["np_high"], strict=True)],
            _("outputs wrong"): [fmt.share(v) if np.isfinite(v) else beyond_share for v in needed["error"]],
            _("escape cost, benchmark level"): factors["escape_factor"],
            _("escape cost, acceptance level"): factors["escape_factor_accepted"],
            _("who"): found["population"],
            _("year"): found["year"].astype(int).astype(str),
            _("source"): found["source_url"],
            _("note"): found["note"],
        }
    )
    link = st.column_config.LinkColumn(display_text=_("open"), width=60)
    st.dataframe(shown, hide_index=True, width="stretch", height="content", column_config={_("source"): link}, key="trials_table")  # fmt: skip


def _interval(low: float, high: float) -> str:
    return f"{fmt.number(low)}-{fmt.number(high)}" if np.isfinite(low) and np.isfinite(high) else fmt.MISSING
