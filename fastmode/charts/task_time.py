"""Time per accepted task: one stacked bar per option, in minutes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.format import minutes, number, share
from fastmode.i18n import _

HEIGHT = 300
HEIGHT_NARROW = 330

_BAR = 0.66  # of the distance between two bars
_GROUP_GAP = 0.4
_MARGIN = {"r": 128, "t": 34, "b": 46}
_HEAD_PX = (180, 320)  # the room for names at the left: least, most
_HEAD_GAP = 20  # of that room, left of the names and between them and the bars
_MARGIN_NARROW = {"l": 8, "r": 8, "t": 42, "b": 42}
_HIDE_ALL = 1000  # a minimum text size no bar can hold
_WIDE_WIDTH = 760  # px the texts behind the bars are wrapped for: the least width of the wide layout
_WHISKER_AT = 0.36  # below the middle of a bar, of its height: clear of the figures in it
_WHISKER_CAP_PX = 4


@dataclass(frozen=True)
class TaskBar:
    """One option. parts: seconds by the keys of theme.SLICES, sum total_s. change_text: against its reference.

    low_s, high_s: 90 % band of total_s, NaN where there is none.
    """

    label: str
    speed_text: str
    price_text: str
    parts: Mapping[str, float]
    total_s: float
    group: str
    highlighted: bool = False
    available: bool = True
    reason: str = ""
    change_text: str = ""
    change_better: bool | None = None
    low_s: float = np.nan
    high_s: float = np.nan

    def has_band(self) -> bool:
        return self.available and bool(np.isfinite(self.low_s) and np.isfinite(self.high_s))


def task_time_figure(
    rows: Sequence[TaskBar], mode: theme.Mode, x_max_s: float, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Stacked horizontal bars in the order given, a gap where `group` changes, and the layout override for phones.

    x runs from 0 to `x_max_s`, whatever the bars do; a longer bar is cut at the edge, its total still written.
    A row that is not available has no bar but its reason; one with a band has a whisker from low_s to high_s.
    What does not fit of a long change_text is left out from its "(" on.
    scale: size of type (1.3 in a meeting).
    ValueError if a row's parts have other keys than theme.SLICES or do not sum to its total within 0.1 %.
    """
    for row in rows:
        _check(row)
    colors = theme.palette(mode)
    positions = _positions(rows)
    x_max = x_max_s / 60.0
    layout, narrow = _layouts(rows, positions, colors, x_max, scale)
    data = [_trace(key, rows, positions, colors, scale) for key in theme.SLICES]
    if any(row.has_band() for row in rows):
        data.append(_whiskers(rows, positions, colors))
    return theme.figure(data, layout), narrow


def _check(row: TaskBar) -> None:
    if not row.available:
        return
    if set(row.parts) != set(theme.SLICES):
        raise ValueError(f"{row.label}: parts must be {', '.join(theme.SLICES)}")
    if not np.isclose(sum(row.parts.values()), row.total_s, rtol=1e-3):
        raise ValueError(f"{row.label}: the parts sum to {sum(row.parts.values()):.6g} s, not to {row.total_s:.6g} s")


def _positions(rows: Sequence[TaskBar]) -> np.ndarray:
    changes = [i > 0 and row.group != rows[i - 1].group for i, row in enumerate(rows)]
    return np.arange(len(rows)) + _GROUP_GAP * np.cumsum(changes)


def _trace(key: str, rows: Sequence[TaskBar], positions: np.ndarray, colors: theme.Palette, scale: float) -> dict:
    fill = colors.slices[key]
    label = theme.slice_label(key)
    seconds = [row.parts[key] if row.available else np.nan for row in rows]
    hover = [
        _("{label}, {slice}: {time}, {share} of the task").format(
            label=row.label, slice=label, time=minutes(s), share=share(s / row.total_s)
        )
        if row.available and row.total_s > 0
        else ""
        for row, s in zip(rows, seconds, strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": label,
        "meta": key,
        "x": np.asarray(seconds, dtype=float) / 60.0,
        "y": positions,
        "width": _BAR,
        "marker": {"color": fill, "line": {"color": colors.ground, "width": 1.5}},
        # A figure too wide for its slice at the reader's width hides itself (layout.uniformtext).
        "text": [_inside(s) for s in seconds],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": theme.text_on(fill), "size": theme.TEXT_SIZE * scale},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _whiskers(rows: Sequence[TaskBar], positions: np.ndarray, colors: theme.Palette) -> dict:
    """One trace for all rows. Each end has its own cap, so that an end beyond the axis, which is cut, has none."""
    banded = [(row, y) for row, y in zip(rows, positions, strict=True) if row.has_band()]
    ends = np.array([(row.low_s, row.high_s) for row, _y in banded]) / 60.0
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "meta": "band",
        "x": np.column_stack([ends, np.full(len(ends), np.nan)]).ravel(),
        "y": np.repeat([y + _WHISKER_AT * _BAR for _row, y in banded], 3),
        "line": {"color": colors.text, "width": 1.5},
        "marker": {"symbol": "line-ns", "size": 2 * _WHISKER_CAP_PX, "line": {"color": colors.text, "width": 1.5}},
        "hovertext": np.repeat([_band_text(row) for row, _y in banded], 3),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _band_text(row: TaskBar) -> str:
    return _("{label}, 90 %: {low} to {high}").format(label=row.label, low=minutes(row.low_s), high=minutes(row.high_s))


def _inside(seconds: float) -> str:
    """Minutes for the inside of a slice, one decimal below ten: "2.0", "18"; nothing for an empty slice."""
    if not seconds > 0:
        return ""
    return f"{seconds / 60.0:.1f}" if seconds < 597 else number(seconds / 60.0)


def _layouts(
    rows: Sequence[TaskBar], positions: np.ndarray, colors: theme.Palette, x_max: float, scale: float
) -> tuple[dict, dict]:
    margin = {"l": _head_room(rows) * scale} | {side: px * scale for side, px in _MARGIN.items()}
    last = float(positions[-1]) if len(positions) else 0.0
    axis = {
        "range": [0.0, x_max],
        "dtick": _tick_step(x_max, 8),
        "title": {"text": _banded(_("minutes of a developer's time per accepted task"), rows), "standoff": 8},
        "gridcolor": colors.grid,
        "zeroline": True,
        "zerolinecolor": colors.axis,
        "tickfont": {"size": theme.TEXT_SIZE * scale, "color": colors.muted},
        "ticks": "",
        "fixedrange": True,
    }
    axis["title"]["font"] = {"size": theme.TEXT_SIZE * scale, "color": colors.muted}
    y_axis = {"range": [last + 0.55, -0.55], "showticklabels": False, "showgrid": False, "zeroline": False}
    wide = theme.base_layout(
        colors,
        scale,
        barmode="stack",
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        margin=margin,
        xaxis=axis,
        yaxis={**y_axis, "fixedrange": True},
        uniformtext={"mode": "hide", "minsize": theme.TEXT_SIZE * scale},
        annotations=[_key(colors, scale, margin, wrapped=False)]
        + [
            note
            for row, y in zip(rows, positions, strict=True)
            for note in _notes_wide(row, y, colors, x_max, margin, scale)
        ],
    )
    narrow = {
        "margin": _MARGIN_NARROW,
        "xaxis": {
            "dtick": _tick_step(x_max, 5),
            "title": {"text": _banded(_("minutes per accepted task"), rows), "font": {"size": theme.SMALL_SIZE}},
            "tickfont": {"size": theme.SMALL_SIZE},
        },
        "yaxis": {"range": [last + 0.42, -0.85]},
        "uniformtext": {"minsize": _HIDE_ALL},
        "annotations": [_key(colors, 1.0, _MARGIN_NARROW, wrapped=True)]
        + [note for row, y in zip(rows, positions, strict=True) for note in _notes_narrow(row, y, colors, x_max)],
    }
    return wide, narrow


def _banded(title: str, rows: Sequence[TaskBar]) -> str:
    """The axis title, which also says what the whiskers are where there are any."""
    return f"{title}; {_('whisker: 90 %')}" if any(row.has_band() for row in rows) else title


def _head_room(rows: Sequence[TaskBar]) -> float:
    """Pixels for the widest name or its second line, in steps of 20 so that a changed digit moves nothing."""
    widths = [
        max(theme.text_width_px(row.label, theme.TEXT_SIZE, bold=True), theme.text_width_px(_head(row), theme.SMALL_SIZE))
        for row in rows
    ]
    return float(np.clip(20 * np.ceil((max(widths, default=0.0) + _HEAD_GAP) / 20), *_HEAD_PX))


def _tick_step(x_max: float, most: int) -> float:
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 960)
    return float(next((step for step in steps if x_max / step <= most), steps[-1]))


def _note(text: str, size: float, **place: object) -> dict:
    return {"text": text, "showarrow": False, "font": {"size": size}, "xref": "x", "yref": "y", **place}


def _key(colors: theme.Palette, scale: float, margin: dict, wrapped: bool) -> dict:
    entries = [theme.key_entry(colors.slices[key], theme.slice_label(key)) for key in theme.SLICES]
    plain, correcting = entries[: -len(theme.CORRECTING)], entries[-len(theme.CORRECTING) :]
    gap = " " if wrapped else "   "
    correcting_text = gap.join(correcting) if wrapped else f"{_('correcting:')} {gap.join(correcting)}"
    text = gap.join(plain) + ("<br>" if wrapped else "   ") + correcting_text
    return _note(
        text,
        (theme.SMALL_SIZE - 1 if wrapped else theme.TEXT_SIZE) * scale,  # a line of three fits the narrowest phone
        xref="paper",
        yref="paper",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        xshift=-margin["l"] + (2 if wrapped else 8 * scale),
        yshift=2,
        align="left",
        name="key",
    )


def _name(row: TaskBar, colors: theme.Palette, room: float, size: float) -> str:
    label = labels.shortened(row.label, room, size, bold=True)
    return f'<b><span style="color:{colors.scenario if row.highlighted else colors.text}">{label}</span></b>'


def _head(row: TaskBar) -> str:
    return ", ".join(text for text in (row.speed_text, row.price_text) if text)


def _total(row: TaskBar) -> str:
    return f"<b>{minutes(row.total_s)}</b>"


def _change(row: TaskBar, text: str, colors: theme.Palette) -> str:
    tone = {True: colors.better, False: colors.worse, None: colors.muted}[row.change_better]
    return f'<span style="color:{tone}"><b>{text}</b></span>' if text else ""


def _end(row: TaskBar, x_max: float) -> float:
    """Minutes where the bar, or its whisker, ends on the axis."""
    longest = max(row.total_s, row.high_s) if row.has_band() else row.total_s
    return min(longest / 60.0, x_max)


def _notes_wide(
    row: TaskBar, y: float, colors: theme.Palette, x_max: float, margin: Mapping[str, float], scale: float
) -> list[dict]:
    size = theme.TEXT_SIZE * scale
    name = _name(row, colors, margin["l"] - _HEAD_GAP * scale, size)
    head = f'{name}<br><span style="color:{colors.muted};font-size:0.93em">{_head(row)}</span>'
    side = {"xref": "paper", "x": 0, "xanchor": "left", "align": "left", "xshift": 8 * scale - margin["l"]}
    notes = [_note(head, size, y=y, name="head", **side)]
    if not row.available:
        muted = {"font": {"color": colors.muted, "size": size}}
        return [*notes, _note(row.reason, size, x=0, y=y, xanchor="left", xshift=6, name="reason") | muted]
    x = _end(row, x_max)
    room = (_WIDE_WIDTH - margin["l"] - margin["r"]) * (1.0 - x / x_max) + margin["r"] - 8
    lines = [" ".join(part for part in line if part) for line in _wrapped(row, room, size, colors)]
    return [*notes, _note("<br>".join(lines), size, x=x, y=y, xanchor="left", xshift=5, align="left", name="total")]


def _wrapped(row: TaskBar, room: float, size: float, colors: theme.Palette) -> list[tuple[str, ...]]:
    """Lines of total and change that fit `room` px, as parts of a line: two at most, the change cut at its "(" if need be."""
    total, (head, bracket, tail) = minutes(row.total_s), row.change_text.partition(" (")
    ways = [[(total, row.change_text)], [(total,), (row.change_text,)]]
    if bracket:
        ways += [[(total, head), (f"({tail}",)], [(total, head)], [(total,), (head,)]]
    fits = (way for way in ways if all(theme.text_width_px(" ".join(line), size, bold=True) <= room for line in way))
    shown = {total: _total(row)}
    return [tuple(shown.get(part) or _change(row, part, colors) for part in line) for line in next(fits, ways[-1])]


def _notes_narrow(row: TaskBar, y: float, colors: theme.Palette, x_max: float) -> list[dict]:
    size = theme.SMALL_SIZE + 1
    width = theme.NARROWEST_PX - _MARGIN_NARROW["l"] - _MARGIN_NARROW["r"]
    above = {"xref": "paper", "y": y - _BAR / 2, "yanchor": "bottom", "borderpad": 0}
    end = _end(row, x_max) if row.available else 0.0
    total = number(row.total_s / 60.0) if row.available else ""
    # The change stands behind the bar, or before the total where the bar leaves no room for it.
    for change_text in (row.change_text, row.change_text.partition(" (")[0]):
        behind = theme.text_width_px(change_text, size, bold=True) + 8 < width * (1.0 - end / x_max)
        before = f"{change_text} " if change_text and not behind else ""
        if _line_px(row.label, "", before + total, size) < width:
            break
    # Name, speed and price share a line with the total (its unit is the axis's): where they do not all fit, the price
    # gives way, then the speed.
    details = (_head(row), row.speed_text)
    detail = next((text for text in details if _line_px(row.label, text, before + total, size) < width), "")
    name = _name(row, colors, width - theme.text_width_px(f"{before}{total} ", size, bold=True), size)
    head = f'{name} <span style="color:{colors.muted};font-size:0.93em">{detail}</span>'
    notes = [_note(head, size, x=0, xanchor="left", xshift=-1, name="head", **above)]
    if not row.available:
        muted = {"font": {"color": colors.muted, "size": size}}
        return [*notes, _note(row.reason, size, x=0, y=y, xanchor="left", name="reason") | muted]
    change = _change(row, change_text, colors)
    total = f"{change} <b>{total}</b>" if before else f"<b>{total}</b>"
    notes.append(_note(total, size, x=1, xanchor="right", name="total", **above))
    if change and behind:
        notes.append(_note(change, size, x=end, y=y, xanchor="left", xshift=2, name="change"))
    return notes + _slice_figures(row, y, colors, width / x_max)


def _line_px(label: str, detail: str, end: str, size: float) -> float:
    bold = theme.text_width_px(label, size, bold=True) + theme.text_width_px(end, size, bold=True)
    return bold + theme.text_width_px(f" {detail}", 0.93 * size) + 6


def _slice_figures(row: TaskBar, y: float, colors: theme.Palette, px_per_min: float) -> list[dict]:
    """Minutes inside the slices that hold them at a phone's width."""
    size = theme.SMALL_SIZE
    ends = np.cumsum([row.parts[key] for key in theme.SLICES]) / 60.0
    notes = []
    for key, end in zip(theme.SLICES, ends, strict=True):
        length = row.parts[key] / 60.0
        text = _inside(row.parts[key])
        if text and theme.text_width_px(text, size) < length * px_per_min:
            ink = {"font": {"color": theme.text_on(colors.slices[key]), "size": size}}
            notes.append(_note(text, size, x=end - length / 2, y=y, xanchor="center", name="slice") | ink)
    return notes
