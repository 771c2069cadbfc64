"""The Trade-offs page: verdict, cards, four linked curves, and where a decode step goes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts.panels import TICKS, panels
from fastmode.charts.step_time import HEIGHT as STEP_HEIGHT
from fastmode.charts.step_time import HEIGHT_NARROW as STEP_HEIGHT_NARROW
from fastmode.charts.step_time import step_time_figure
from fastmode.charts.theme import step_label
from fastmode.charts.tradeoffs import HEIGHT, HEIGHT_NARROW, tradeoffs_figure
from fastmode.evaluate import Evaluation
from fastmode.i18n import N_, _
from fastmode.picture import Picture
from fastmode.scenario import TRAFFIC, Scenario
from fastmode.slo import goodput_text, traffic_text
from fastmode.sweep import AXES, DEFAULT_AXIS, TITLES, TRAFFIC_AXIS, Sweep
from fastmode.ui import state
from fastmode.ui.cards import draw_cards, draw_verdict, mode
from fastmode.ui.chart import chart
from fastmode.verdict import option_name

AXIS_LABELS = {
    "batch": N_("batch"),
    "distillation": N_("distillation"),
    "context": N_("context"),
    "hardware": N_("hardware"),
    TRAFFIC_AXIS: N_("traffic"),
}
RATE_TICKS = (0.01, 0.1, 1, 10, 100, 1000)
STEP_FIELDS = {
    "weights": "weights_s", "kv": "kv_s", "compute": "compute_s", "collectives": "collectives_s", "overhead": "overhead_s",
    "prefill": "others_prefill_s",
}  # fmt: skip


def draw(scenario: Scenario) -> None:
    """Draw the page for a scenario."""
    picture = state.picture(scenario, "trade_offs")
    draw_verdict(picture.verdict, picture.now)
    draw_cards(picture.now)
    for text in (traffic_text(picture.now), goodput_text(picture.now)):
        if text:
            st.caption(text)
    # The first axis is the load's: the batch, or in traffic the rate. One place in the row, one word in the link.
    names = AXIS_LABELS | ({"batch": AXIS_LABELS[TRAFFIC_AXIS]} if scenario.load == TRAFFIC else {})
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.segmented_control(
        _("x axis"),
        list(AXES),
        default=DEFAULT_AXIS,
        format_func=lambda axis: _(names[axis]),
        key="x",
        bind="query-params",
        required=True,
        wrap=True,
    )
    with_points = right.toggle(_("published points"), value=True, key="points", bind="query-params")
    picture = state.picture(scenario, "trade_offs")  # the same one unless the axis has just been read from the link
    _curves(picture, picture.published if with_points else None)
    _step(picture.now)
    _table(picture.sweep)


def _curves(picture: Picture, points: Evaluation | None) -> None:
    along, now = picture.sweep, picture.now
    scenario = now.scenario
    # What a vendor publishes has no rate of requests to stand at.
    drawn = panels(along, now, points if along.axis != TRAFFIC_AXIS else None)
    title = TITLES[along.axis]
    figure, narrow = tradeoffs_figure(
        along.x, _(title), along.axis != "hardware", TICKS.get(along.axis, RATE_TICKS if along.axis == TRAFFIC_AXIS else None), drawn, mode(), along.now_x,
        str(now.catalog.presets.at[str(scenario.reference), "label"]),
        scenario_label=option_name(now, picture.edited), infeasible=along.spans, x_range=_room(along), x_unit="x" if along.axis == "distillation" else "", scale=state.scale(),
    )  # fmt: skip
    chart(figure, key="tradeoffs", alt=_alt(along, now), height=HEIGHT, height_narrow=HEIGHT_NARROW, narrow=narrow)
    note = _chips_note(along)
    if note:
        st.caption(note)


def _chips_note(along: Sweep) -> str:
    """Why a curve has steps: with an automatic number of chips, chips are added where memory ends."""
    chips = along.evaluation.now.service.n_chips
    chips = chips[np.isfinite(chips)]
    if along.axis == "hardware" or not chips.size or chips.min() == chips.max():
        return ""
    words = {"low": fmt.number(chips.min()), "high": fmt.number(chips.max())}
    return _(
        "Steps in the curves: the number of chips is automatic and goes from {low} to {high} along this axis."
    ).format(**words)


def _room(along: Sweep) -> tuple[float, float] | None:
    """The axis with a little room at both ends, so that marks at the ends are whole."""
    if along.axis == "hardware":
        return None
    margin = (along.x[-1] / along.x[0]) ** 0.03
    return float(along.x[0] / margin), float(along.x[-1] * margin)


def _alt(along: Sweep, now: Evaluation) -> str:
    return _("Tokens per second, cost, error rate and net productivity against {axis}. Now: {speed} tok/s, {error} errors, {productivity} as fast as without AI.").format(
        axis=_(AXIS_LABELS[along.axis]), speed=fmt.number(now.at(now.now.tokens_per_s)), error=fmt.share(now.at(now.now.error_rate)), productivity=fmt.ratio(now.at(now.now.task.net_productivity)),
    )  # fmt: skip


def _step(e: Evaluation) -> None:
    """Where the time of one output token goes, here and in the reference."""
    st.subheader(_("Where does the step go?"), anchor=False)
    names = option_name(e), str(e.catalog.presets.at[str(e.scenario.reference), "label"])
    here, there = (
        {part: e.at(getattr(side.service, field)) for part, field in STEP_FIELDS.items()}
        for side in (e.now, e.reference)
    )
    if not np.isfinite(here["weights"]):
        st.caption(_("No step to show: {reason}.").format(reason=e.service_reason(e.now)))
        return
    rows = {names[0]: here}
    if np.isfinite(there["weights"]):
        rows.setdefault(names[1], there)
    figure, narrow = step_time_figure(rows, mode(), scale=state.scale())
    parts = ", ".join(f"{step_label(part)} {fmt.number(1e3 * value)} ms" for part, value in here.items())
    alt = _("Time per output token of {option}, modelled: {parts}").format(option=names[0], parts=parts)
    chart(figure, key="step", alt=alt, height=STEP_HEIGHT, height_narrow=STEP_HEIGHT_NARROW, narrow=narrow)
    st.caption(
        _(
            "Modelled time per output token of one user with the stand-in model, before it is scaled to the published speed."
        )
    )


def _table(along: Sweep) -> None:
    with st.expander(_("The curves as a table"), key="curves_table"):
        e, n = along.evaluation, len(along.x)
        columns = {
            _(TITLES[along.axis]): along.x,
            _("tokens/s per user"): e.now.tokens_per_s,
            _("cost multiplier"): e.cost_multiplier,
            _("provider cost, USD per Mtok"): e.now.provider_usd_per_mtok[1],
            _("error rate, %"): 100 * e.now.error_rate,
            _("net productivity, x"): e.now.task.net_productivity,
            _("chips"): e.now.service.n_chips,
        }
        frame = pd.DataFrame({k: v if isinstance(v, list) else np.broadcast_to(v, n) for k, v in columns.items()})
        frame[_("no figure because")] = [
            next((why for a, b, why in along.spans if _inside(x, a, b)), "") for x in along.x
        ]
        st.dataframe(frame, hide_index=True, width="stretch")


def _inside(x, start, stop) -> bool:
    return x == start if isinstance(x, str) else start <= x <= stop
