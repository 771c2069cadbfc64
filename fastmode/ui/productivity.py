"""The Productivity page: is the speed worth its errors, where does the time go, and when does the verdict flip?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts import break_even, speed_chain, task_time, tornado
from fastmode.charts.theme import SLICES
from fastmode.flips import Flip
from fastmode.i18n import _
from fastmode.picture import Picture
from fastmode.productivity import TIME_PARTS, TaskResult
from fastmode.scenario import Scenario, all_fields
from fastmode.trade import MORE_POINTS, TIMES_THE_ERRORS, Judged, founding, plane
from fastmode.ui import productivity_team, state, view
from fastmode.ui.cards import draw_cards, draw_verdict, mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror
from fastmode.ui.overview import axis_end_s
from fastmode.ui.own_range import own_range
from fastmode.verdict import driver_text, option_name

MOST_SWINGS = 10
# Extra error shown on the map (fractions); it steps on only when the option would leave it.
_LOWEST, _HIGHEST = (-0.05, -0.15, -0.3, -0.6, -1.0), (0.35, 0.45, 0.6, 1.0)


def draw(scenario: Scenario) -> None:
    """Draw the page for a scenario."""
    head = st.container()
    _switches()  # drawn first, because the link says there what is judged
    picture = state.picture(scenario, "productivity")
    with head:
        draw_verdict(picture.verdict, picture.now)
    if picture.judged.trade is not None:
        productivity_team.small_print(_cards_note(picture))
    draw_cards(picture.now)
    if not np.isfinite(picture.verdict.change):
        return
    name = _name(picture)
    _map(picture, name)
    _time(picture, name)
    _flips(picture)
    productivity_team.money(picture, name)
    _chain(picture.judged, name)
    productivity_team.throughput(picture.judged, name)


def _name(picture: Picture) -> str:
    """What is judged, as a name inside a sentence."""
    if picture.judged.trade is None:
        return option_name(picture.now, picture.edited)
    return _("\u201c{trade}\u201d").format(trade=trade_label(picture.judged.trade))


def _cards_note(picture: Picture) -> str:
    names = option_name(picture.now, picture.edited), str(picture.now.catalog.presets.at[str(picture.now.scenario.reference), "label"])
    return _("The cards are those of {option}. The claim is judged against {reference}, with its wait and its error changed as the claim says and all else the same.").format(
        option=names[0], reference=names[1]
    )


def trade_label(trade) -> str:
    """A trade as a short label."""
    more = fmt.points(float(trade.points)) if trade.points else _("{factor} errors").format(factor=fmt.ratio(float(trade.factor)))
    return _("{k} faster, {more}").format(k=fmt.ratio(float(trade.speed_up)), more=more)


def _switches() -> None:
    with st.container(horizontal=True, key="subject_row", gap="medium", vertical_alignment="bottom"):
        view.choice(
            view.SUBJECT, _("What is judged"),
            _("The option of the sidebar, or the founding claim in its two readings: the whole wait of the reference divided by six, and its errors 20 points, or a fifth, more."),
        )  # fmt: skip
        mirror("assumption_set", on_change=state.choose_set)
        mirror("error_level")


# --- the map ----------------------------------------------------------------------------------------------------------


def _map(picture: Picture, name: str) -> None:
    st.subheader(_("How much error is the speed worth?"), anchor=False)
    e, judged = picture.now, picture.judged
    own = Judged(e, None)
    marks = [*_own_mark(own, picture), *_claims(picture), *_pairs(picture)]
    ys = [y for m in marks for y in (m.extra_error, m.low, m.high) if np.isfinite(y)]
    lowest = next((v for v in _LOWEST if v <= min(own.error_change, judged.error_change)), _LOWEST[-1])
    highest = next((v for v in _HIGHEST if v >= min(max(ys, default=0.0), 1.0)), _HIGHEST[-1])
    drawn = plane(e, max(lowest, -e.at(e.reference.error_rate)), highest)
    ticks = [(x, fmt.ratio(k)) for x, k in drawn.tokens]
    figure, narrow = break_even.break_even_figure(
        drawn.speed_up, drawn.extra_error, drawn.change, marks, ticks, mode(), limit=drawn.limit, scale=state.scale()
    )
    alt = _("Change in time per accepted task against the speed-up of the whole wait and the extra error. {marks}").format(
        marks=" ".join(_mark_text(m) for m in marks)
    )
    chart(figure, key="break_even", alt=alt, height=break_even.HEIGHT, height_narrow=break_even.HEIGHT_NARROW, narrow=narrow)
    productivity_team.small_print(_map_note(drawn, e))
    with st.expander(_("The points as a table"), key="map_table"):
        table = pd.DataFrame(
            {
                _("point"): [m.label for m in marks],
                _("speed-up of the wait, x"): [m.speed_up for m in marks],
                _("extra error, points"): [100.0 * m.extra_error for m in marks],
                _("change in time, %"): [100.0 * m.change for m in marks],
                _("speed-up of the tokens, x"): [m.token_speed_up for m in marks],
                _("extra error, 5th percentile"): [100.0 * m.low for m in marks],
                _("extra error, 95th percentile"): [100.0 * m.high for m in marks],
            }
        )
        numbers = {column: st.column_config.NumberColumn(format="%.3g") for column in table.columns[1:]}
        st.dataframe(table, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)


def _map_note(drawn, e) -> str:
    reference = str(e.catalog.presets.at[str(e.scenario.reference), "label"])
    text = _("The plane holds everything as for {reference}; only its whole wait and its error change.").format(reference=reference)
    beyond = Judged(e, None).wait_speed_up > drawn.limit
    if np.isfinite(drawn.limit):
        text += " " + _("At this task even endless token speed shortens the wait by only {limit}: calls and tools stay.").format(limit=fmt.ratio(drawn.limit))
    if beyond:
        text += " " + _("The option lies beyond that because its calls also start sooner.")
    return text + " " + _("Filled: the option, with the 90 % band of its extra error. Diamonds: the founding claim. Hollow: published pairs, each against its own standard tier, with the 90 % band of its error.")


def _own_mark(own: Judged, picture: Picture) -> list[break_even.MapPoint]:
    low, high = own.error_band()
    wide = low < high - 1e-9
    return [
        break_even.MapPoint(
            option_name(picture.now, picture.edited), "now", own.wait_speed_up, own.error_change,
            low if wide else np.nan, high if wide else np.nan, own.change, own.token_speed_up,
        )
    ]  # fmt: skip


def _claims(picture: Picture) -> list[break_even.MapPoint]:
    found = []
    for subject in (MORE_POINTS, TIMES_THE_ERRORS):
        trade = founding(picture.now.catalog)[subject]
        judged = Judged(picture.now, trade)
        found.append(break_even.MapPoint(trade_label(trade), "claim", judged.wait_speed_up, judged.error_change, change=judged.change))
    return found


def _pairs(picture: Picture) -> list[break_even.MapPoint]:
    """Published pairs, each against its own group's reference."""
    e = picture.published
    found = []
    extra = e.spread.worlds.now.error_rate - e.spread.worlds.reference.error_rate
    for i, preset in enumerate(np.ravel(e.scenario.preset)):
        if str(preset) == str(picture.now.scenario.preset):
            continue
        waits = [e.at(side.task.wait_s, i) for side in (e.reference, e.now)]
        speeds = [e.at(side.tokens_per_s, i) for side in (e.now, e.reference)]
        low, high = np.quantile(np.broadcast_to(extra, (e.shape[0], extra.shape[-1]))[i], [0.05, 0.95])
        wide = high - low > 1e-9
        found.append(
            break_even.MapPoint(
                str(e.catalog.presets.at[str(preset), "label"]), "published", waits[0] / waits[1],
                e.at(e.now.error_rate, i) - e.at(e.reference.error_rate, i), low if wide else np.nan, high if wide else np.nan,
                e.at(e.time_change, i), speeds[0] / speeds[1],
            )
        )  # fmt: skip
    return [point for point in found if np.isfinite(point.speed_up) and np.isfinite(point.extra_error)]


def _mark_text(m: break_even.MapPoint) -> str:
    return _("{label}: wait {speed} shorter, {points} of error, {change} time.").format(
        label=m.label, speed=fmt.ratio(m.speed_up), points=fmt.points(m.extra_error), change=fmt.signed_share(m.change)
    )


# --- where the time goes ----------------------------------------------------------------------------------------------


def _time(picture: Picture, name: str) -> None:
    judged, e = picture.judged, picture.now
    st.subheader(_("Where does the time go?"), anchor=False)
    reference = str(e.catalog.presets.at[str(e.scenario.reference), "label"])
    label = name if judged.trade is None else trade_label(judged.trade)
    rows = [_bar(e, label, judged.task, escapes, is_reference=False, against=judged) for escapes in (True, False)]
    others = [_bar(e, reference, judged.reference, escapes, is_reference=True, against=judged) for escapes in (True, False)]
    bars = [others[0], rows[0], others[1], rows[1]]
    end_s = axis_end_s(max(np.fmax(bar.total_s, bar.high_s) for bar in bars))
    figure, narrow = task_time.task_time_figure(bars, mode(), end_s, scale=state.scale())
    now, before = (e.at(t.correction_time_s) for t in (judged.task, judged.reference))
    shares = [fmt.share(e.at(t.correction_share)) for t in (judged.task, judged.reference)]
    text = _(
        "Correction time, everything after the first attempt: {now} ({share} of the task) with {option}, {before} ({other}) with {reference}."
    ).format(now=fmt.duration(now), share=shares[0], option=name, before=fmt.duration(before), other=shares[1], reference=reference)
    chart(figure, key="where_time", alt=text, height=task_time.HEIGHT, height_narrow=task_time.HEIGHT_NARROW, narrow=narrow)
    productivity_team.small_print(text + " " + _("The lower pair is the same if errors that escape review cost nothing. Whisker: 90 % band of the difference, seen from the reference's bar."))


def _bar(e, label: str, result: TaskResult, escapes: bool, is_reference: bool, against: Judged) -> task_time.TaskBar:
    parts = {key: e.at(getattr(result, part)) for key, part in zip(SLICES, TIME_PARTS, strict=True)}
    if not escapes:
        parts["escaped"] = 0.0
    total = sum(parts.values())
    change = against.change if escapes else against.change_without_escapes
    time = e.at(against.reference.time_per_task_s)
    low, high = against.band(90) if escapes and not is_reference else (np.nan, np.nan)
    return task_time.TaskBar(
        low_s=time * (1.0 + low), high_s=time * (1.0 + high) if high > low else np.nan,
        label=label, speed_text="" if escapes else _("escapes free"), price_text="", parts=parts, total_s=total,
        group="all" if escapes else "free", highlighted=not is_reference,
        change_text="" if is_reference else fmt.change(1.0 + change, 1.0),
        change_better=None if is_reference or abs(change) < fmt.SAME_WITHIN else change < 0,
    )  # fmt: skip


# --- when it flips ----------------------------------------------------------------------------------------------------


def _flips(picture: Picture) -> None:
    st.subheader(_("When does this flip?"), anchor=False)
    found, judged = picture.flips, picture.judged
    turning = [one for one in found if np.isfinite(one.flip)]
    declared = all_fields()
    st.markdown(_flip_sentence(turning, judged))
    if turning:
        _flip_table(turning)
    never = ", ".join(driver_text(one.field) for one in found if not np.isfinite(one.flip))
    if never:
        st.caption(_("No value within its limits flips it, moved alone: {fields}.").format(fields=never))
    by_field = {one.field: one for one in turning}
    rows = []
    for swing in judged.swings[:MOST_SWINGS]:
        f = declared.get(swing.driver)
        low, high = (f.words(swing.low), f.words(swing.high)) if f else (_("low end"), _("high end"))
        flip = by_field.get(swing.driver)
        at = _("flips at {value}").format(value=f.words(flip.flip)) if f and flip and flip.plausible else ""
        rows.append(tornado.Swing(swing.label[:1].upper() + swing.label[1:], low, high, swing.change_low, swing.change_high, at))
    if rows:  # none where the option is compared with itself
        _tornado(rows, judged)
    own_range(picture.now.scenario)


def _tornado(rows: list[tornado.Swing], judged: Judged) -> None:
    figure, narrow = tornado.tornado_figure(rows, judged.change, mode(), scale=state.scale())
    heights = tornado.heights(len(rows))
    top = rows[0]
    alt = _("Change in time per accepted task with each assumption at the ends of its range. Widest: {label}, {low} to {high}.").format(
        label=top.label, low=fmt.signed_share(min(top.change_low, top.change_high)), high=fmt.signed_share(max(top.change_low, top.change_high))
    )
    st.caption(_("Each assumption alone at the 5th and at the 95th percentile of its range, all others as they are. What you have set yourself is a point and has no bar."))
    chart(figure, key="tornado", alt=alt, height=heights[0], height_narrow=heights[1], narrow=narrow)


def _flip_sentence(turning: list[Flip], judged: Judged) -> str:
    if not turning:
        return _("No single assumption, moved within its limits, changes which of the two takes less time.")
    first, f = turning[0], all_fields()[turning[0].field]
    words = {"field": driver_text(first.field), "flip": f.words(first.flip), "now": f.words(first.value)}
    if not f.drawn:
        return _("Nearest: the verdict turns with {field} at {flip} (now {now}), which is yours to choose.").format(**words)
    if not any(one.plausible for one in turning):
        return _("No plausible value of a single assumption turns the verdict; the nearest is {field} at {flip} (now {now}).").format(**words)
    if first.plausible:
        return _("Nearest: the verdict turns with {field} at {flip} (now {now}), a plausible value.").format(**words)
    return _("Nearest: the verdict turns with {field} at {flip} (now {now}), outside its plausible range.").format(**words)


def _flip_table(turning: list[Flip]) -> None:
    declared = all_fields()
    table = pd.DataFrame(
        {
            _("assumption"): [declared[one.field].label for one in turning],
            _("flips at"): [declared[one.field].words(one.flip) for one in turning],
            _("now"): [declared[one.field].words(one.value) for one in turning],
            _("wait of the reference there"): [fmt.duration(one.wait_s) for one in turning],
            _("plausible range"): [
                _("{low} to {high}").format(low=declared[one.field].words(one.low), high=declared[one.field].words(one.high)) for one in turning
            ],
            _("plausible"): [_likely(one) for one in turning],
        }
    )
    st.dataframe(table, hide_index=True, width="stretch", height="content", key="flip_table")


def _likely(one: Flip) -> str:
    if not all_fields()[one.field].drawn:
        return _("your choice")
    return _("yes") if one.plausible else _("no")


# --- from tokens to the task ------------------------------------------------------------------------------------------


def _chain(judged: Judged, name: str) -> None:
    e = judged.evaluation
    now, before = judged.task, judged.reference
    steps = [
        (_("the whole wait, calls and tools too"), "wait_s"),
        (_("time lost to that wait"), "lost_s"),
        (_("first attempt, prompt and review too"), None),
        (_("whole task, corrections too"), "time_per_task_s"),
    ]
    if judged.trade is None:
        steps.insert(0, (_("writing the tokens"), "wait_decode_s"))
    links = []
    for label, field in steps:
        after, earlier = (e.at(getattr(t, field)) if field else e.at(t.prompt_s) + e.at(t.attempt_s) for t in (now, before))
        if after > 0 and earlier > 0:
            links.append(speed_chain.Link(label, earlier, after, earlier / after))
    if not links:
        return
    ratios = [fmt.ratio(link.ratio) for link in links]
    st.subheader(_("What becomes of the speed?"), anchor=False)
    text = _("{first} in the first step become {last} over the whole task ({steps}).").format(
        first=ratios[0], last=ratios[-1], steps=", ".join(f"{link.label} {ratio}" for link, ratio in zip(links, ratios, strict=True))
    )
    figure, narrow = speed_chain.speed_chain_figure(links, mode(), scale=state.scale())
    chart(figure, key="chain", alt=text, height=speed_chain.HEIGHT, height_narrow=speed_chain.HEIGHT_NARROW, narrow=narrow)
    st.caption(_("How many times shorter with {option}; below 1x it takes longer.").format(option=name))
