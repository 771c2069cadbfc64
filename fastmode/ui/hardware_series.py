"""The tab "Series and links" of the Hardware page: what chips in series do to latency and output, and what hangs on the links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts import series as series_chart
from fastmode.charts.memory_tiers import time_text
from fastmode.charts.series import case_name
from fastmode.evaluate import Evaluation
from fastmode.i18n import _, ngettext
from fastmode.series import (
    AS_BUILT,
    STAGES,
    Case,
    Line,
    Series,
    hand_over_range,
    link_sensitivity,
    series,
    slowdown,
    slowdown_over_hand_over,
)
from fastmode.ui import state
from fastmode.ui.cards import draw_heading, mode
from fastmode.ui.chart import chart
from fastmode.verdict import option_name

MICRO = 1e6
TWICE, HALF = AS_BUILT + 2, AS_BUILT - 2  # of RATIOS


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for a scenario of single values."""
    e = evaluation
    reason = e.service_reason(e.now)
    if reason:
        draw_heading(_("No figure for {option}: {reason}.").format(option=option_name(e), reason=reason))
        return
    found = series(e)
    _series(e, found)
    _links(e, found)


def _model(e: Evaluation) -> str:
    return str(e.catalog.models.at[str(e.scenario.model), "label"])


# --- chips in series --------------------------------------------------------------------------------------------------


def _series(e: Evaluation, found: Series) -> None:
    finding = _finding(e, found)
    draw_heading(finding)
    figure, narrow = series_chart.series_figure(found, mode(), scale=state.scale())
    chart(figure, key="series", alt=finding, height=series_chart.HEIGHT, height_narrow=series_chart.HEIGHT_NARROW, narrow=narrow)
    st.caption(_series_note(e, found))
    _series_table(found)


def _told(found: Series) -> Line | None:
    """The line that the finding is about: the first of more than one length, the scenario's own where that is one."""
    return next((line for line in found.lines if len(line.stages) > 1 and np.isfinite(line.alone.tpot_s[[0, -1]]).all()), None)


def _finding(e: Evaluation, found: Series) -> str:
    """What adds latency and what costs output."""
    line = _told(found)
    if line is None:
        return _("On no machine can the stages of {model} be more or fewer: {parts}.").format(
            model=_model(e), parts=", ".join(_single(line) for line in found.lines)
        )
    low, value, high = slowdown(line, e.catalog)
    full = _per_chip(line)
    least, most_ratio = slowdown_over_hand_over(line, e.catalog)
    short, long = (1e3 * line.alone.tpot_s[i] for i in (0, -1))
    return _("Each further {stage} in series adds a hand-over of {hop}: from {first} to {most} stages one request's token takes {short} to {long} ms, {ratio} as long (90 %: {low} to {high}; {least} to {most_ratio} over the assumed range of a hand-over). Output is lost where fewer requests run than there are stages: a single one keeps 1 of {most} at work{full}.").format(
        stage=_stage(line), hop=time_text(line.machine.hop_s), first=fmt.number(line.stages[0]), most=fmt.number(line.stages[-1]),
        short=fmt.number(short), long=fmt.number(long), ratio=fmt.ratio(value), low=fmt.ratio(low), high=fmt.ratio(high),
        least=fmt.ratio(least), most_ratio=fmt.ratio(most_ratio), full=full and _("; with as many requests as stages {full}").format(full=full),
    )  # fmt: skip


def _single(line: Line) -> str:
    return ngettext("{part} has {n} stage", "{part} has {n} stages", int(line.stages[0])).format(part=line.machine.label, n=fmt.number(line.stages[0]))


def _stage(line: Line) -> str:
    m = line.machine
    return m.label if m.chips == 1 else _("group of {n} {part}").format(n=fmt.count(m.chips), part=m.label)


def _series_note(e: Evaluation, found: Series) -> str:
    hops = []
    for line in found.lines:
        low, value, high = (fmt.number(s * MICRO) for s in hand_over_range(line.machine, e.catalog))
        hops.append(_("{part} {value} ({low} to {high})").format(part=line.machine.label, value=value, low=low, high=high))
    said = [
        _("Modelled, {model}; a stage is one chip or a group that shares its layers.").format(model=_model(e)),
        _("Each stage then holds fewer layers, which leaves room for more requests; by construction of the model it never speeds up a single one."),
        _("Where there are gaps, as many requests as stages do not fit."),
        _("A hand-over in microseconds is assumed, not measured: {hops}.").format(hops=", ".join(hops)),
    ]
    told = _told(found)
    full = [_per_chip(line) for line in found.lines if len(line.stages) > 1 and line is not told]
    said += [_("With as many requests as stages {full}.").format(full=", ".join(filter(None, full)))] if any(full) else []
    fixed = [line.machine.label for line in found.lines if len(line.stages) == 1]
    said += [_("One number of stages, a layer each: {parts}.").format(parts=", ".join(fixed))] if fixed else []
    said += [_("No figure for {part}: {reason}.").format(part=part, reason=reason) for part, reason in found.reasons.items()]
    return " ".join(said)


def _per_chip(line: Line) -> str:
    """Output per chip of the longest full pipeline against the shortest one that fits."""
    rate = line.per_chip(line.full)
    known = np.flatnonzero(np.isfinite(rate))
    if len(known) < 2:
        return ""
    return _("a {part} gives {share} as much on {most} stages as on {first}").format(
        part=line.machine.label, share=fmt.share(rate[known[-1]] / rate[known[0]]), most=fmt.number(line.stages[known[-1]]),
        first=fmt.number(line.stages[known[0]]),
    )  # fmt: skip


def _series_table(found: Series) -> None:
    with st.expander(_("Chips in series as a table"), key="series_table"):
        parts = []
        for line in found.lines:
            half = line.alone_ln[90]
            ms = 1e3 * line.alone.tpot_s
            columns = {
                _("part"): np.full(len(line.stages), line.machine.label),
                _("stages"): line.stages,
                _("chips"): line.alone.n_chips,
                _("ms per output token, one request"): ms,
                _("90 % low"): ms * np.exp(-half),
                _("90 % high"): ms * np.exp(half),
                _("of it hand-overs, %"): 100.0 * line.hops_share,
                _("ms per output token, full"): 1e3 * line.full.tpot_s,
                _("output tok/s, one request"): line.total(line.alone),
                _("output tok/s, full"): line.total(line.full),
                _("output tok/s per chip, one request"): line.per_chip(line.alone),
                _("output tok/s per chip, full"): line.per_chip(line.full),
                _("largest batch"): line.alone.max_batch,
            }
            parts.append(pd.DataFrame(columns))
        frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        st.dataframe(frame, hide_index=True, width="stretch", column_config=_three_digits(frame), placeholder=fmt.MISSING)


def _three_digits(frame: pd.DataFrame) -> dict:
    return {name: st.column_config.NumberColumn(format="%.4g") for name in frame.columns if frame[name].dtype == float}


# --- links ------------------------------------------------------------------------------------------------------------


def _links(e: Evaluation, found: Series) -> None:
    st.subheader(_("How much hangs on the links?"), anchor=False)
    cases = link_sensitivity(e, [line.machine for line in found.lines])
    if not cases:
        st.caption(_("No chips to join: one chip of each kind holds the model, or the batch fits on none."))
        return
    said = " ".join(_case(case) for case in cases)
    st.markdown(said)
    figure, narrow = series_chart.links_figure(cases, mode(), scale=state.scale())
    chart(figure, key="links", alt=said, height=series_chart.LINKS_HEIGHT, height_narrow=series_chart.LINKS_HEIGHT_NARROW, narrow=narrow)
    note = _("At the scenario's {n} running requests. Bandwidth is that of all-reduces; a hand-over between stages is modelled as a time without bytes, so bandwidth does not move it.").format(
        n=fmt.number(float(cases[0].as_built.batch[0]))
    )
    moved = [
        _("{case} {time}").format(case=case_name(case), time=time_text(case.moved_s)) for case in cases if case.joined == STAGES
    ]
    linked = e.catalog.hardware["interconnect_gb_s_per_chip"].to_numpy(float)
    unknown = [line.machine.label for line in found.lines if np.isnan(linked[line.machine.row])]
    if unknown:
        note += " " + _("The link of {parts} is not published: assumed.").format(parts=", ".join(unknown))
    if moved:
        note += " " + _("What a stage hands over at once would take this long over its link, left out: {moved}.").format(moved=", ".join(moved))
    st.caption(note)
    _links_table(cases)


def _case(case: Case) -> str:
    """How far half the bandwidth and twice the latency slow one way of joining chips."""
    return _("**{case}**: {share} of the time per output token goes into the links; with half the bandwidth it takes {half}, with twice the latency {twice}.").format(
        case=case_name(case), share=fmt.share(case.linked_share), half=fmt.ratio(case.by_bandwidth[1, HALF]), twice=fmt.ratio(case.by_latency[1, TWICE])
    )


def _links_table(cases: list[Case]) -> None:
    with st.expander(_("The links as a table"), key="links_table"):
        columns = {
            _("chips"): [case_name(case) for case in cases],
            _("ms per output token"): [1e3 * float(case.as_built.tpot_s[0]) for case in cases],
            _("in links, %"): [100.0 * case.linked_share for case in cases],
        }
        for by, name in (("by_bandwidth", _("time at {ratio} of the bandwidth, x")), ("by_latency", _("time at {ratio} of the latency, x"))):
            for i in (0, HALF, TWICE, -1):
                columns[name.format(ratio=series_chart.times(series_chart.RATIOS[i]))] = [float(getattr(case, by)[1, i]) for case in cases]
        frame = pd.DataFrame(columns)
        st.dataframe(frame, hide_index=True, width="stretch", column_config=_three_digits(frame), placeholder=fmt.MISSING)
