"""The page Explain a tier: which mechanisms reach a published speed, at which cost, and what the price says then."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import explain_text as words
from fastmode import format as fmt
from fastmode.ab_test import POWERS, tasks_per_arm
from fastmode.charts.loci import HEIGHT, HEIGHT_NARROW, Locus, Point, loci_figure
from fastmode.evaluate import Evaluation
from fastmode.explain import Explanation, Solution, by_standin, explain, tier_of
from fastmode.i18n import _
from fastmode.mechanisms import BATCH, CHIPS, DRAFTS, MIDDLE, NAMES, NEWER, ROUTING, SHARE, SMALLER, SRAM
from fastmode.scenario import Scenario
from fastmode.two_ways import published_tiers
from fastmode.ui import state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart

# Colours of the mechanisms: a key of theme.STEP_PARTS, or that of the reference, whose batch is moved.
_COLORS = {
    BATCH: "reference", SMALLER: "kv", CHIPS: "compute", SHARE: "collectives", DRAFTS: "overhead", NEWER: "prefill", ROUTING: "weights", SRAM: "compute",
}  # fmt: skip
_DIFFERENCES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)  # of two error rates
_WIDTHS = (230, 170, 130, 130)  # px, of the first columns of the table


def draw(scenario: Scenario) -> None:
    """Draw the page for a scenario: its option explained from its reference."""
    e = state.picture(scenario, "explain").now
    head = st.container()
    with st.container(horizontal=True, key="tier_row", gap="medium", vertical_alignment="bottom"):
        typed = [view.number(key) for key in view.NUMBERS]
    found = explain(e, tier_of(e, *typed))
    with head:
        draw_heading(words.finding(found))
    if not found.alone:
        return
    _loci(found)
    notes = [
        words.closed_form_text(found),
        words.standins_text(by_standin(found.start, found.tier, e.catalog), found.tier.speed),
        words.later_text(found, str(scenario.preset)),
        words.input_text(found),
    ]
    for text in filter(None, notes):
        draw_note(text)
    _solutions(found)
    _full_model(e)


def _loci(found: Explanation) -> None:
    catalog, t = found.start.catalog, found.tier
    loci = []
    for name, o in found.alone.items():
        cost = o.cost[MIDDLE]
        order = np.argsort(o.speed) if not o.options.continuous else np.arange(len(cost))
        order = order[np.isfinite(cost[order] + o.speed[order])]
        settings = [words.setting_text(name, v, catalog) for v in o.options.value[0][order]]
        half = o.half[order]
        loci.append(Locus(_(NAMES[name]), o.speed[order], o.speed[order] * np.exp(-half), o.speed[order] * np.exp(half), cost[order], settings, o.options.continuous, _COLORS[name]))
    points = [Point(tier.label, tier.speed, tier.price, tier.label == t.label and not t.own) for tier in published_tiers(catalog)]
    if np.isfinite(t.price) and not any(p.own for p in points):
        points.insert(0, Point(_("{tier}, as typed").format(tier=t.label) if t.own else t.label, t.speed, t.price, True))
    goal = _("{tier}: {speed}").format(tier=t.label, speed=fmt.ratio(t.speed))
    figure, narrow = loci_figure(loci, points, t.speed, goal, mode(), scale=state.scale())
    chart(figure, key="loci", alt=words.finding(found), height=HEIGHT, height_narrow=HEIGHT_NARROW, narrow=narrow)
    st.caption(
        _("Modelled from {model} on {chips} {part} at batch {batch}, as {standard} is assumed to run; speed of one user and provider's cost per output token, prefill included. Which mechanism a vendor uses is not published: each is a hypothesis.").format(
            model=catalog.models["label"].iloc[int(found.start.config["model"])], chips=fmt.count(found.start.config["n_chips"]),
            part=catalog.hardware["label"].iloc[int(found.start.config["hardware"])], batch=fmt.number(found.start.config["batch"]), standard=t.standard,
        )
    )  # fmt: skip


def _solutions(found: Explanation) -> None:
    """Everything that reaches the speed, most plausible first."""
    if not found.solutions:
        return
    st.subheader(_("What reaches the speed"), anchor=False)
    table = pd.DataFrame([_row(s, found) for s in found.solutions])
    widths = dict(zip(table.columns, _WIDTHS, strict=False))
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config={name: st.column_config.TextColumn(width=px) for name, px in widths.items()})
    st.caption(
        _("Possible: the model itself gives the speed and nothing published speaks against it. Ranges of a setting: 90 % band of the modelled speed. Ranges of cost and of price over cost: the same, with the price of a chip-hour where the chips differ. Price over cost: how much more than the cost the price rises; 1x keeps the standard tier's margin. Of several settings the one shown is the one whose cost lies nearest to the price.")
    )


def _row(s: Solution, found: Explanation) -> dict[str, object]:
    t = found.tier
    return {
        _("how"): words.settings_text(s, found.start.catalog),
        _("plausibility"): _(s.plausibility),
        _("cost"): _ends(s.cost),
        **({_("price over cost"): _ends(s.margin)} if np.isfinite(t.price) else {}),
        _("speed"): fmt.ratio(s.speed),
        _("cost of input"): fmt.ratio(s.input_cost),
        _("what speaks for and against"): "; ".join(s.reasons),
    }


def _ends(values: tuple[float, float, float]) -> str:
    """A ratio with its range, where both ends are known and differ."""
    low, middle, high = (fmt.ratio(v) for v in values)
    return middle if low == high or fmt.MISSING in (low, high) else f"{middle} ({low}-{high})"


def _full_model(e: Evaluation) -> None:
    """How many tasks show whether a faster tier errs as the full model does."""
    st.subheader(_("Does one get the full model?"), anchor=False)
    st.markdown(words.ab_text(e))
    base, a_month = e.at(e.reference.error_rate), float(e.scenario.team_size) * float(e.scenario.tasks_per_month)
    others = base + np.array(_DIFFERENCES)
    tasks = [tasks_per_arm(base, np.where(others < 1.0, others, np.nan), power) for power in POWERS]
    table = pd.DataFrame({_("errs more by"): [fmt.points(d) for d in _DIFFERENCES]})
    for power, n in zip(POWERS, tasks, strict=True):
        table[_("tasks on each, seen {power}").format(power=fmt.share(power))] = [fmt.count(v) for v in n]
    months = 2.0 * tasks[0] / a_month if a_month else np.full(len(others), np.nan)
    table[_("months of the team")] = [fmt.number(m) for m in months]
    st.dataframe(table, hide_index=True, width="stretch", height="content")
    st.caption(
        _("Two-sided test at 5 %, normal approximation with each rate's own variance; tasks of their own for each tier, drawn at random. The same tasks on both take fewer, as far as they fail together. Months: {team} developers with {n} tasks a month each, half of the tasks on each tier.").format(
            team=fmt.number(float(e.scenario.team_size)), n=fmt.number(float(e.scenario.tasks_per_month))
        )
    )
