"""Tornado: how far each assumption alone moves the change in time, from its low to its high value."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.format import signed_share
from fastmode.i18n import _

MAX_ROWS = 12

_ROW_PX, _ROW_PX_NARROW = 40, 52
_MARGIN = {"t": 54, "b": 48}
_MARGIN_NARROW = {"l": 8, "r": 8, "t": 66, "b": 42}
_HEAD_PX = (170, 250)  # the room for names at the left: least, most; longer ones have two lines
_BAR = 0.56  # of the distance between two bars
_CAP, _MOST_CAP = 1.0, 3.0  # changes the axis ends at, at the least and at the most, where a few bars are far longer
_BACKING = 0.85  # opacity of the ground behind a value: the line at 0 does not run through it
_LEAST_OVER = 0.35  # share of the axis for the bars, whatever their texts would take
_ROUND = 0.2  # the ends of the axis are multiples of it, so that it stands still while a slider moves


@dataclass(frozen=True)
class Swing:
    """One assumption. change_low, change_high: of the time per accepted task, fractions, at its low and its high value.

    low_text, high_text: those values. flip_text: where the verdict changes, "" where it does not.
    """

    label: str
    low_text: str
    high_text: str
    change_low: float
    change_high: float
    flip_text: str = ""


def heights(n_rows: int) -> tuple[int, int]:
    """Heights of the figure for that many rows, px: wide and narrow."""
    wide, narrow = (margin["t"] + margin["b"] for margin in (_MARGIN, _MARGIN_NARROW))
    return wide + n_rows * _ROW_PX, narrow + n_rows * _ROW_PX_NARROW


HEIGHT, HEIGHT_NARROW = heights(MAX_ROWS)


def tornado_figure(
    rows: Sequence[Swing], now_change: float, mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Bars from change_low to change_high through now_change, in the order given, and the layout override for phones.

    A bar far longer than the third longest is cut at the edge, with its change beside the value there.
    The value an end belongs to is written beside it. Where both ends lie on the same side of now_change, the bar is split
    lengthwise. A row without effect has its values only. Draw it as high as `heights` says.
    scale: size of type (1.3 in a meeting; not on phones). ValueError for more than MAX_ROWS rows or a change that is not known.
    """
    if len(rows) > MAX_ROWS:
        raise ValueError(f"{len(rows)} rows, at most {MAX_ROWS} can be read")
    ends = np.array([(row.change_low, row.change_high) for row in rows], dtype=float).reshape(-1, 2)
    if not np.isfinite(ends).all() or not np.isfinite(now_change):
        raise ValueError("every row needs the change at both ends")
    view = _View(theme.palette(mode), list(rows), ends, float(now_change))
    layout = _layout(view, _margin(rows, scale), labels.least_width(scale), theme.TEXT_SIZE * scale, wide=True)
    narrow = _layout(view, _MARGIN_NARROW, theme.NARROWEST_PX, theme.SMALL_SIZE, wide=False)
    return theme.figure([_bars(view, end) for end in (0, 1)], theme.base_layout(view.colors, scale, **layout)), narrow


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    rows: list[Swing]
    ends: np.ndarray
    now: float

    def cap(self) -> float:
        """The change at which longer bars are cut: the third longest, within limits, and always well beyond now."""
        reach = np.sort(self.ends.max(axis=1, initial=0.0))[::-1]
        third, longest = (float(reach[min(i, len(reach) - 1)]) if len(reach) else 0.0 for i in (2, 0))
        cap = min(max(_CAP, third), _MOST_CAP)
        if longest <= min(1.5 * cap, _MOST_CAP):  # not worth a cut
            cap = max(cap, longest)
        return max(cap, 1.5 * self.now)

    def split(self) -> np.ndarray:
        """True for rows whose ends lie on the same side of now."""
        return np.prod(self.ends - self.now, axis=1) > 0


def _tone(end: int, colors: theme.Palette) -> str:
    """Of the low-value end and of the high-value end: a lighter and a full tone of one hue."""
    return colors.scenario if end else theme.translucent(colors.scenario, 0.45)


def _bars(view: _View, end: int) -> dict:
    split = view.split()
    texts = [(row.low_text, row.high_text)[end] for row in view.rows]
    hover = [
        _("{assumption} {value}: {change} time per accepted task").format(
            assumption=row.label, value=text, change=signed_share(change)
        )
        for row, text, change in zip(view.rows, texts, view.ends[:, end], strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "meta": ("low", "high")[end],
        "base": np.full(len(texts), 100.0 * view.now),
        "x": 100.0 * (view.ends[:, end] - view.now),
        "y": np.arange(len(texts), dtype=float),
        "width": np.where(split, _BAR / 2, _BAR),
        "offset": np.where(split & bool(end), 0.0, -_BAR / 2),
        "marker": {"color": _tone(end, view.colors), "line": {"width": 0}},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


# layout


def _margin(rows: Sequence[Swing], scale: float) -> dict:
    """Room for names at the left and for flips at the right, in steps of 20 px so that a changed digit moves nothing."""
    names = max((theme.text_width_px(row.label, theme.TEXT_SIZE) for row in rows), default=0.0)
    flips = max(theme.text_width_px(text, theme.TEXT_SIZE) for text in (_flips(), *(row.flip_text for row in rows)))
    left, right = (20.0 * np.ceil((room + 16) / 20) for room in (names, flips))
    return {side: px * scale for side, px in {**_MARGIN, "l": float(np.clip(left, *_HEAD_PX)), "r": float(right)}.items()}


def _flips() -> str:
    return _("verdict changes")


@dataclass(frozen=True)
class _Value:
    """The text of one end, of one line or two. right: it stands at the right of the end; cut: in the bar, at the edge that cuts it."""

    text: str
    right: bool
    cut: bool


def _values(view: _View) -> list[list[_Value]]:
    """Per row for its low and its high end."""
    cap, sides = view.cap(), np.sign(view.ends - view.now)
    # An end that moves nothing stands on the other side than its partner; where neither does, the low value is left.
    alone = np.column_stack([-sides[:, 1], -sides[:, 0]])
    sides = np.where(sides == 0, np.where(alone == 0, [-1, 1], alone), sides)
    return [
        [
            _value(text, change, side > 0, cap, " " if split else "<br>")
            for text, change, side in zip((row.low_text, row.high_text), *ends, strict=True)
        ]
        for row, split, *ends in zip(view.rows, view.split(), view.ends, sides, strict=True)
    ]


def _value(text: str, change: float, right: bool, cap: float, gap: str) -> _Value:
    if change <= cap:
        return _Value(text, bool(right), False)
    return _Value(f"{_('{value}:').format(value=text)}{gap}{signed_share(change)} \u25b8", False, True)


def _room(text: str, size: float) -> float:
    return 10.0 + max(theme.text_width_px(line, size) for line in text.split("<br>"))


def _range(view: _View, width: float, size: float) -> tuple[float, float]:
    """Ends of the axis in percent: multiples of _ROUND around 0, now and every bar, cut ones aside, with the text beside it."""
    values = _values(view)
    room = np.array([[_room(value.text, size) for value in row] for row in values]).reshape(-1, 2) / width
    right, cut = (np.array([[getattr(v, name) for v in row] for row in values], bool).reshape(-1, 2) for name in ("right", "cut"))
    # Where a text hangs and its share of the axis to the left and to the right of there; a cut bar holds its text beyond now.
    at = np.concatenate([[0.0, view.now], np.where(cut, view.now, view.ends).ravel(), np.where(cut, view.cap(), view.now).ravel()])
    none = np.zeros(2 + room.size)
    left = np.concatenate([none[:2], np.where(right | cut, 0.0, room).ravel(), none[2:]])
    right = np.concatenate([none[:2], np.where(right | cut, room, 0.0).ravel(), none[2:]])
    # Two texts leave the rest of the axis to what lies between their ends; the pair that leaves least decides.
    left_over = np.maximum(1.0 - left[:, None] - right[None, :], _LEAST_OVER)
    span = float(((at[None, :] - at[:, None]) / left_over).max(initial=_ROUND))
    for _again in range(3):  # rounding outwards makes it longer
        start = _ROUND * np.floor((at - left * span).min() / _ROUND + 1e-9)
        stop = _ROUND * np.ceil((at + right * span).max() / _ROUND - 1e-9)
        span = max(span, stop - start)
    return 100.0 * min(float(start), -_ROUND), 100.0 * max(float(stop), _ROUND)


def _layout(view: _View, margin: dict, figure_width: int, size: float, wide: bool) -> dict:
    colors = view.colors
    width = figure_width - margin["l"] - margin["r"]
    small = size if not wide else size * theme.SMALL_SIZE / theme.TEXT_SIZE
    low, high = _range(view, width, size)
    ticks = theme.round_ticks(low, high, False, 6 if wide else 4)
    ticks = ticks[ticks >= -100.0]  # a task cannot take less than no time: what is left of there is room for texts
    font = {"size": small, "color": colors.muted}
    return {
        "barmode": "overlay",
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "margin": margin,
        "xaxis": {
            "range": [low, high],
            "tickvals": ticks,
            "ticktext": [signed_share(v / 100.0) if v else _("same time") for v in ticks],
            "title": {"text": _title(colors), "standoff": 6, "font": font},
            "tickfont": font,
            "gridcolor": colors.grid,
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(view.rows) - 0.5, -0.5 if wide else -0.8],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "shapes": [
            _side(low, 0.0, colors.better),
            _side(0.0, high, colors.worse),
            *_upright(0.0, colors.axis, 1.5, len(view.rows), wide),
            *_upright(100.0 * view.now, colors.text, 2, len(view.rows), wide),
        ],
        "annotations": [
            *_heads(view, margin, (low, high), width, size, small, wide),
            *(note for i in range(len(view.rows)) for note in _row(view, i, margin, high, size, wide)),
        ],
    }


def _title(colors: theme.Palette) -> str:
    less = f'<span style="color:{colors.better}">\u25c2 {_("less")}</span>'
    more = f'<span style="color:{colors.worse}">{_("more")} \u25b8</span>'
    return f"{less}   {_('time per accepted task')}   {more}"


def _side(start: float, stop: float, color: str) -> dict:
    fill = {"fillcolor": theme.translucent(color, 0.09), "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": stop, "y0": 0, "y1": 1, **fill}


def _upright(x: float, color: str, width: float, n_rows: int, whole: bool) -> list[dict]:
    """A line from top to bottom, or interrupted between the bars, where a phone has their names."""
    half = _BAR / 2 + 0.04
    spans = [(-0.5, n_rows - 0.5)] if whole else [(i - half, i + half) for i in range(n_rows)]
    line = {"type": "line", "xref": "x", "yref": "y", "x0": x, "x1": x, "line": {"color": color, "width": width}}
    return [{**line, "y0": start, "y1": stop} for start, stop in spans]


def _note(text: str, size: float, color: str, name: str, **place: object) -> dict:
    font = {"size": size, "color": color}
    return {"name": name, "text": text, "font": font, "showarrow": False, "xref": "x", "yref": "y", **place}


def _heads(
    view: _View, margin: dict, bounds: tuple[float, float], width: float, size: float, small: float, wide: bool
) -> list[dict]:
    """Above the bars: the key, and where now is."""
    colors, now = view.colors, 100.0 * view.now
    entries = [theme.key_entry(_tone(end, colors), text) for end, text in enumerate((_("at its low value"), _("at its high value")))]
    top = {"yref": "paper", "y": 1, "yanchor": "bottom"}
    edge = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "top", "align": "left"}
    key = "   ".join(entries)
    if not wide:
        key += f'<br><span style="color:{colors.muted}">{_("right: where the verdict changes")}</span>'
    notes = [_note(key, size, colors.text, "key", **edge, xshift=2 - margin["l"], yshift=margin["t"])]
    if wide:
        at = {"xref": "paper", "x": 1, "xanchor": "right", "xshift": margin["r"] - 4}
        notes.append(_note(_flips(), small, colors.muted, "flips", **top, **at, yshift=2))
    text = _("now {change}").format(change=signed_share(view.now))
    half = 0.5 * theme.text_width_px(text, size, bold=True) * (bounds[1] - bounds[0]) / width
    x = float(np.clip(now, bounds[0] + half, bounds[1] - half))
    notes.append(_note(f"<b>{text}</b>", size, colors.text, "now", x=x, **top, yshift=1))
    return notes


def _row(view: _View, i: int, margin: dict, edge: float, size: float, wide: bool) -> list[dict]:
    """Name, the two values beside the ends, and where the verdict changes."""
    colors, row = view.colors, view.rows[i]
    name = row.label
    if wide:
        if theme.text_width_px(name, size) > (room := margin["l"] - 16):
            lines = wrap(name, len(name) // 2 + 6, max_lines=2, placeholder="\u2026")
            name = "<br>".join(labels.shortened(line, room, size) for line in lines)
        line, at = {"y": i}, {"x": 0, "xanchor": "right", "xshift": -8, "align": "right"}
        flip_at = {"x": 1, "xanchor": "right", "xshift": margin["r"] - 4}
    else:
        line, at = {"y": i - _BAR / 2, "yanchor": "bottom", "borderpad": 0}, {"x": 0, "xanchor": "left", "xshift": -1}
        flip_at = {"x": 1, "xanchor": "right"}
    notes = [_note(f"<b>{row.label}</b>" if not wide else name, size, colors.text, "head", xref="paper", **line, **at)]
    if row.flip_text:
        notes.append(_note(row.flip_text, size, colors.muted, "flip", xref="paper", **line, **flip_at))
    apart = 0.6 * size if view.split()[i] else 0.0
    backing = {"bgcolor": theme.translucent(colors.ground, _BACKING), "borderpad": 0}
    for end, value in enumerate(_values(view)[i]):
        side = {"xanchor": "left" if value.right else "right", "xshift": 4 if value.right else -4}
        x = edge if value.cut else 100.0 * view.ends[i, end]
        place = {"x": x, "y": i, "yshift": (-apart, apart)[end == 0], "align": "right", **side, **backing}
        notes.append(_note(value.text, size, colors.text, ("low", "high")[end], **place))
    return notes
