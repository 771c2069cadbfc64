"""The Overview page: verdict, the four bars, two sliders, three tasks, four cards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts.task_time import HEIGHT, HEIGHT_NARROW, TaskBar, task_time_figure
from fastmode.charts.theme import SLICES, slice_label
from fastmode.evaluate import Evaluation
from fastmode.i18n import N_, _
from fastmode.productivity import TIME_PARTS
from fastmode.scenario import Scenario
from fastmode.sweep import FOUNDING
from fastmode.ui import comparison, state
from fastmode.ui.cards import draw_cards, draw_note, draw_verdict, mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror
from fastmode.verdict import option_name, short

MIRRORED = (
    ("task_scale", N_("Machine time per task ({reference}: {wait})")),
    ("fix_time_s", N_("What an error costs to fix")),
)
PROFILE_BUTTONS = ("critical-work", "prototyping", "chat")
# Ends of the time axis, in minutes: it steps up only when a bar would leave it, so it stands still while a slider moves.
X_ENDS_MIN = (5, 10, 20, 40, 50, 60, 90, 120, 180, 240, 360, 480, 720, 960, 1440, 2880, 5760, 14400, 43200, 144000)


def draw(scenario: Scenario) -> None:
    """Draw the page for a scenario."""
    picture = state.picture(scenario, "overview")
    draw_verdict(picture.verdict, picture.now, short(picture.second), with_caveat=False)
    if state.presenting():  # figures that carry to the back of a room come first
        draw_cards(picture.now)
    _picture(picture.founding, picture.now, picture.edited)
    if picture.verdict.caveat:
        draw_note(picture.verdict.caveat)
    _controls(picture.now)
    if not state.presenting():
        draw_cards(picture.now)
    _table(picture.founding)
    st.divider()
    comparison.draw(picture.now)


def _picture(founding: Evaluation, now: Evaluation, edited: bool) -> None:
    rows = [_bar(founding, i, preset) for i, preset in enumerate(FOUNDING)]
    mine = str(now.scenario.preset)
    if edited or mine not in FOUNDING:
        rows.append(_bar(now, 0, mine, option_name(now, edited)))
    end_s = axis_end_s(max((np.fmax(row.total_s, row.high_s) for row in rows if row.available), default=60.0))
    figure, narrow = task_time_figure(rows, mode(), end_s, scale=state.scale())
    extra = 44 * (len(rows) - len(FOUNDING))
    chart(
        figure,
        key="task_time",
        alt=_alt(rows),
        height=HEIGHT + extra,
        height_narrow=HEIGHT_NARROW + extra,
        narrow=narrow,
    )
    error = fmt.share(founding.at(founding.reference.error_rate))
    st.caption(
        _(
            "Each pair starts from the same assumed error of its standard model, {error}; vendors are not compared with each other. Whiskers: 90 % band of the difference from the pair's own standard model, seen from that model's bar."
        ).format(error=error)
    )


def axis_end_s(longest_s: float) -> float:
    """End of the time axis of bars up to `longest_s`, in seconds."""
    return 60.0 * next((m for m in X_ENDS_MIN if m * 60.0 >= longest_s * 1.02), X_ENDS_MIN[-1])


def _bar(e: Evaluation, index: int, preset: str, label: str = "") -> TaskBar:
    side, task = e.now, e.now.task
    table = e.catalog.presets.loc[preset]
    total = e.at(task.time_per_task_s, index)
    multiplier = e.at(e.cost_multiplier, index)
    is_reference = preset == table["reference"]
    low, high = change_ends_s(e, index)
    return TaskBar(
        low_s=low,
        high_s=high,
        label=label or str(table["label"]),
        speed_text=_speed_text(e, index),
        price_text=_price_text(e, multiplier),
        parts={key: e.at(getattr(task, part), index) for key, part in zip(SLICES, TIME_PARTS, strict=True)},
        total_s=total,
        group=str(table["compare_group"]),
        highlighted=bool(label) or preset == str(e.scenario.preset),
        available=bool(np.isfinite(total)),
        reason=e.reason(side, index),
        change_text=""
        if is_reference and not label
        else fmt.change(total, e.at(e.reference.task.time_per_task_s, index)),
        change_better=None if is_reference and not label else e.at(e.time_change, index) < 0,
    )


def change_ends_s(e: Evaluation, index: int = 0) -> tuple[float, float]:
    """Ends of the 90 % band of the change in time, at the reference's time; NaN where there is none.

    The two bars of a pair share most of what nobody knows: the band of their difference is what can be compared.
    """
    low, high = (e.at(end, index) for end in e.spread.band("time_change", 90))
    if not high - low > 1e-9:
        return np.nan, np.nan
    time = e.at(e.reference.task.time_per_task_s, index)
    return time * (1.0 + low), time * (1.0 + high)


def _speed_text(e: Evaluation, index: int) -> str:
    speed = e.at(e.now.tokens_per_s, index)
    if not np.isfinite(speed):
        return ""
    text = _("{speed} tok/s") if e.at(e.now.anchored, index) else _("{speed} tok/s modelled")
    return text.format(speed=fmt.number(speed))


def _price_text(e: Evaluation, multiplier: float) -> str:
    if np.isfinite(multiplier):
        return _("{ratio} price").format(ratio=fmt.ratio(multiplier))
    return _("price not published") if e.shape or np.isfinite(e.at(e.now.tokens_per_s)) else ""


def _alt(rows: list[TaskBar]) -> str:
    parts = [f"{row.label} {fmt.duration(row.total_s) if row.available else row.reason}" for row in rows]
    return _("Time per accepted task: {bars}.").format(bars="; ".join(parts))


def _controls(evaluation: Evaluation) -> None:
    """Mirrors of two shared sliders, and three task profiles as buttons."""
    sliders = st.columns(2, vertical_alignment="bottom", gap="medium")
    reference = str(state.catalog().presets.at[str(evaluation.scenario.reference), "label"])
    wait = fmt.duration(evaluation.at(evaluation.reference.task.wait_s))
    for column, (name, label) in zip(sliders, MIRRORED, strict=True):
        with column:
            mirror(name, _(label).format(reference=reference, wait=wait))
    profiles = state.catalog().profiles
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(_("The same for"), width="content")
        for task in PROFILE_BUTTONS:
            st.button(
                _(str(profiles.at[task, "label"])),
                key=f"profile_{task}",
                on_click=state.choose_profile,
                args=(task,),
                type="primary" if task == str(evaluation.scenario.task) else "secondary",
                help=_(str(profiles.at[task, "summary"])),
            )


def _table(e: Evaluation) -> None:
    with st.expander(_("The bars as a table"), key="bars_table"):
        task = e.now.task
        columns = {_("option"): [str(e.catalog.presets.at[p, "label"]) for p in FOUNDING]}
        for key, part in zip(SLICES, TIME_PARTS, strict=True):
            columns[_("{slice}, s").format(slice=slice_label(key))] = np.round(
                np.broadcast_to(getattr(task, part), len(FOUNDING)), 1
            )
        columns[_("total, s")] = np.round(np.broadcast_to(task.time_per_task_s, len(FOUNDING)), 1)
        columns[_("correcting, %")] = np.round(100 * np.broadcast_to(task.correction_share, len(FOUNDING)), 1)
        st.dataframe(pd.DataFrame(columns), hide_index=True, width="stretch")
