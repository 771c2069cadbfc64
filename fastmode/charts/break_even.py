"""Break-even map: how much extra error a shorter wait may bring before an accepted task takes longer than before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis
from fastmode.format import D3_NUMBER, SAME_WITHIN, number, points, ratio, signed_share
from fastmode.i18n import _

HEIGHT = 540
HEIGHT_NARROW = 500

TICKS = (1, 1.5, 2, 3, 4, 6, 10, 15, 30)  # of the speed-up, where the axis reaches them
LEVELS = (-0.4, -0.2, 0.2, 0.4)  # contours of the change in time beside the one at 0
RANGE = 0.6  # where the colour of a change in time ends; beyond it nothing gets darker
_STEP = 0.1  # of the change in time, one tone

_MARGIN = {"l": 62, "r": 18, "t": 72, "b": 50}
_MARGIN_NARROW = {"l": 56, "r": 14, "t": 84, "b": 42}
_STRONGEST = {"light": 0.62, "dark": 0.5}  # share of the colour in the last tone: marks and lines stay visible on it
_MOST_TOKENS = 2  # published points whose token speed-up is written at the end of its line
_DOT_PX, _DIAMOND_PX, _NOW_PX = 11, 11, 15

Kind = Literal["now", "claim", "published"]
_KINDS = ("now", "claim", "published")  # most important first


@dataclass(frozen=True)
class MapPoint:
    """One option on the map, against its own reference.

    speed_up: of the whole wait, a multiple. extra_error: fraction of one; low, high: its 90 % band, NaN where there is none.
    change: in time per accepted task, a fraction. token_speed_up: of the tokens alone, NaN where it is not known.
    """

    label: str
    kind: Kind
    speed_up: float
    extra_error: float
    low: float = np.nan
    high: float = np.nan
    change: float = np.nan
    token_speed_up: float = np.nan


def break_even_figure(
    speed_up: np.ndarray,
    extra_error: np.ndarray,
    change: np.ndarray,
    marks: Sequence[MapPoint],
    token_ticks: Sequence[tuple[float, str]],
    mode: theme.Mode,
    *,
    limit: float = np.nan,
    scale: float = 1.0,
) -> tuple[go.Figure, dict]:
    """The map, and the layout override for phones.

    speed_up: of the whole wait, shape (nx,), rising from 1 or more. extra_error: fractions, shape (ny,), rising. change: in time
    per accepted task, fractions, shape (ny, nx), NaN where there is none. The axes end where speed_up and extra_error do.
    token_ticks: (speed-up of the wait, text) of the scale above the map; those without room are left out. limit: the speed-up of
    the wait that no token speed exceeds, NaN for none. A point beyond the axes stands on the edge as a triangle.
    scale: size of type (1.3 in a meeting; not on phones). ValueError if change has another shape than (ny, nx).
    """
    if np.shape(change) != (len(extra_error), len(speed_up)):
        raise ValueError(f"change has shape {np.shape(change)}, the axes {(len(extra_error), len(speed_up))}")
    view = _view(np.asarray(speed_up, float), 100.0 * np.asarray(extra_error, float), change, marks, mode, limit)
    colors = view.colors
    data = [_field(view), *_contours(view), *_limit(view), *_token_lines(view)]
    data += [trace for kind in _KINDS for trace in _whiskers(view, kind)]
    data += [_marks(view, kind) for kind in reversed(_KINDS)]  # the scenario's own on top
    data.append({"type": "scatter", "meta": "scale", "x": [None], "y": [None], "xaxis": "x2", "hoverinfo": "skip"})
    wide = theme.base_layout(
        colors,
        scale,
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        coloraxis={"cmin": -100 * RANGE, "cmax": 100 * RANGE, "colorscale": tones(mode), "showscale": False},
        **_layout(view, token_ticks, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )
    narrow = _layout(view, token_ticks, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(data, wide), narrow


def crossing(extra_error: np.ndarray, change: np.ndarray, level: float = 0.0) -> np.ndarray:
    """Where in each column the change reaches `level`, in the unit of extra_error, shape (nx,).

    Linear between two rows, and beyond the first and last row along their slope, so that a line leaves the map at its edge;
    NaN where the column does not rise, or reaches the level only beyond a NaN. extra_error: shape (ny,), at least two.
    change: shape (ny, nx), rising with extra_error.
    """
    above = np.asarray(change, float) - level
    last, columns = len(extra_error) - 1, np.arange(above.shape[1])
    known, below = np.isfinite(above), above <= 0
    first_known, last_known = known.argmax(axis=0), last - known[::-1].argmax(axis=0)
    i = np.where(below.any(axis=0), last - below[::-1].argmax(axis=0), first_known)
    i = np.clip(i, 0, np.maximum(last_known - 1, 0))
    before, after = above[i, columns], above[i + 1, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        y = extra_error[i] - before * (extra_error[i + 1] - extra_error[i]) / (after - before)
        lost = ((first_known > 0) & (y < extra_error[first_known])) | ((last_known < last) & (y > extra_error[last_known]))
        return np.where(np.isfinite(y) & (after > before) & ~lost, y, np.nan)


def tones(mode: theme.Mode) -> list[list]:
    """Colour scale of the change in time, -RANGE to RANGE: `better`, the ground around 0, `worse`; one tone a step."""
    colors = theme.palette(mode)
    n = round(2 * RANGE / _STEP)
    scale = []
    for k in range(n):
        middle = (k + 0.5) * 2 / n - 1.0
        strong = abs(middle) * _STRONGEST[mode] * n / (n - 1)
        tone = _mixed(colors.worse if middle > 0 else colors.better, colors.ground, strong)
        scale += [[k / n, tone], [(k + 1) / n, tone]]
    return scale


def _mixed(color: str, ground: str, strength: float) -> str:
    """`color` laid over `ground`; opaque, because the fills of a contour trace lie on top of each other."""
    over, under = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (color, ground))
    red, green, blue = np.round(strength * over + (1 - strength) * under).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


@dataclass(frozen=True)
class _View:
    """What every part of the figure needs; y in points. placed: (mark, x, y on the map, what lies beyond: "", "up" ...)."""

    colors: theme.Palette
    x: np.ndarray
    y: np.ndarray
    change: np.ndarray
    x_axis: Axis
    y_axis: Axis
    placed: list[tuple[MapPoint, float, float, str]]
    limit: float


def _view(
    x: np.ndarray, y: np.ndarray, change: np.ndarray, marks: Sequence[MapPoint], mode: theme.Mode, limit: float
) -> _View:
    x_ticks = np.array([tick for tick in TICKS if x[0] <= tick <= x[-1]], dtype=float)
    y_ticks = theme.round_ticks(y[0], y[-1], False, 8)
    x_axis = Axis(float(x[0]), float(x[-1]), True, x_ticks, [ratio(v) for v in x_ticks])
    y_axis = Axis(float(y[0]), float(y[-1]), False, y_ticks, [f"+{number(v)}" if v > 0 else number(v) for v in y_ticks])
    placed = [_placed(mark, x_axis, y_axis) for mark in marks if np.isfinite(mark.speed_up + mark.extra_error)]
    return _View(theme.palette(mode), x, y, np.asarray(change, float), x_axis, y_axis, placed, limit)


def _placed(mark: MapPoint, x_axis: Axis, y_axis: Axis) -> tuple[MapPoint, float, float, str]:
    x, y = mark.speed_up, 100.0 * mark.extra_error
    beyond = [(y > y_axis.high, "up"), (y < y_axis.low, "down"), (x > x_axis.high, "right"), (x < x_axis.low, "left")]
    inside = float(np.clip(x, x_axis.low, x_axis.high)), float(np.clip(y, y_axis.low, y_axis.high))
    return mark, *inside, next((side for far, side in beyond if far), "")


# traces


def _field(view: _View) -> dict:
    end = 100 * (RANGE - _STEP)
    template = [
        _("speed-up of the whole wait: %{{x:{form}}}x").format(form=D3_NUMBER),
        _("extra error: %{{y:+{form}}} points").format(form=".2~f"),
        _("time per accepted task: %{{z:+{form}}} %").format(form=D3_NUMBER),
    ]
    return {
        "type": "contour",
        "meta": "field",
        "x": view.x,
        "y": view.y,
        "z": (100.0 * view.change).astype(np.float32),
        "coloraxis": "coloraxis",
        "autocontour": False,
        "contours": {"start": -end, "end": end, "size": 100 * _STEP, "coloring": "fill", "showlines": False},
        "line": {"width": 0},
        "hovertemplate": "<br>".join(template) + "<extra></extra>",
    }


def _contours(view: _View) -> list[dict]:
    traces = []
    for level in (*LEVELS, 0.0):
        width, color = (1, view.colors.muted) if level else (3.5, view.colors.text)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "meta": f"contour:{level:g}",
                "x": view.x,
                "y": crossing(view.y, view.change, level),
                "line": {"color": color, "width": width},
                "hoverinfo": "skip",
            }
        )
    return traces


def _limit(view: _View) -> list[dict]:
    if not view.x_axis.low <= view.limit <= view.x_axis.high:
        return []
    ends = {"x": np.full(2, view.limit), "y": np.array([view.y_axis.low, view.y_axis.high])}
    line = {"color": view.colors.muted, "width": 1.5, "dash": "dash"}
    return [{"type": "scatter", "mode": "lines", "meta": "limit", **ends, "line": line, "hoverinfo": "skip"}]


def _token_lines(view: _View) -> list[dict]:
    """From a point to where it would stand if the whole wait shrank as much as its tokens do."""
    spans = [(x, _token_end(mark, view), y) for mark, x, y, _side in view.placed if _token_end(mark, view) > x]
    if not spans:
        return []
    start, stop, y = np.array(spans).T
    common = {"type": "scatter", "hoverinfo": "skip"}
    x_line = np.column_stack([start, stop, np.full(len(start), np.nan)]).ravel()
    line = {"mode": "lines", "x": x_line, "y": np.repeat(y, 3), "line": {"color": view.colors.text, "width": 1.2}}
    tick = {"symbol": "line-ns", "size": 11, "line": {"color": view.colors.text, "width": 1.6}}
    ends = {"mode": "markers", "x": stop, "y": y, "marker": tick, "cliponaxis": False}
    return [{**common, "meta": "tokens", **line}, {**common, "meta": "token ends", **ends}]


def _token_end(mark: MapPoint, view: _View) -> float:
    return float(min(mark.token_speed_up, view.x_axis.high)) if np.isfinite(mark.token_speed_up) else np.nan


def _whiskers(view: _View, kind: Kind) -> list[dict]:
    """Lines without caps: one that is cut at the edge of the map has no end there."""
    rows = [(x, mark.low, mark.high) for mark, x, _y, _side in view.placed if mark.kind == kind]
    rows = [row for row in rows if np.isfinite(row).all()]
    if not rows:
        return []
    x, low, high = np.array(rows).T
    y = 100.0 * np.column_stack([low, high, np.full(len(low), np.nan)]).ravel()
    line = {"color": _ink(kind, view.colors), "width": 3.5 if kind == "now" else 1.3}
    common = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    return [{**common, "meta": f"band:{kind}", "x": np.repeat(x, 3), "y": y, "line": line}]


def _marks(view: _View, kind: Kind) -> dict:
    """All points of a kind; an empty trace keeps the figure's parts the same while points come and go."""
    rows = [row for row in view.placed if row[0].kind == kind]
    colors, ink = view.colors, _ink(kind, view.colors)
    shape = "diamond" if kind == "claim" else "circle"
    size = {"now": _NOW_PX, "claim": _DIAMOND_PX, "published": _DOT_PX}[kind]
    hollow = kind == "published"
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": kind,
        "x": np.array([x for _mark, x, _y, _side in rows]),
        "y": np.array([y for _mark, _x, y, _side in rows]),
        "cliponaxis": False,
        "marker": {
            "symbol": [f"triangle-{side}" if side else shape for *_rest, side in rows],
            "size": size,
            "color": colors.ground if hollow else ink,
            "line": {"color": ink if hollow else colors.ground, "width": 2},
        },
        "hoverinfo": "text",
        "hovertext": [_hover(mark) for mark, *_rest in rows],
    }


def _ink(kind: Kind, colors: theme.Palette) -> str:
    return {"now": colors.scenario, "claim": colors.text, "published": colors.published}[kind]


def _hover(mark: MapPoint) -> str:
    lines = [f"<b>{mark.label}</b>", _("whole wait: {ratio}").format(ratio=ratio(mark.speed_up))]
    if np.isfinite(mark.token_speed_up):
        lines.append(_("tokens: {ratio}").format(ratio=ratio(mark.token_speed_up)))
    error = _("extra error: {points}").format(points=points(mark.extra_error))
    if np.isfinite(mark.low) and np.isfinite(mark.high):
        ends = _("90 %: {low} to {high}").format(low=number(100.0 * mark.low), high=number(100.0 * mark.high))
        error = f"{error} ({ends})"
    lines += [error, _("time per accepted task: {change}").format(change=signed_share(mark.change))]
    return "<br>".join(lines)


# layout


def _layout(
    view: _View,
    token_ticks: Sequence[tuple[float, str]],
    margin: dict,
    size_px: tuple[float, float],
    type_px: int,
    scale: float,
) -> dict:
    """Margins, axes and texts for a figure of at least that size whose type is type_px x scale."""
    colors = view.colors
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if type_px == theme.SMALL_SIZE else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True}
    axis |= {"ticks": "outside", "ticklen": 4 * scale, "tickcolor": colors.axis, "showgrid": False}
    shown = _with_room(view.x_axis.place(view.x_axis.ticks) * width, view.x_axis.texts, small["size"])
    inside = [(x, text) for x, text in token_ticks if view.x_axis.low <= x <= view.x_axis.high]
    at, texts = np.array([x for x, _text in inside]), [text for _x, text in inside]
    above = _with_room(view.x_axis.place(at) * width, texts, small["size"])
    x_axis = {**axis, **view.x_axis.layout()}
    title = {"font": small, "standoff": 6}
    return {
        "margin": margin,
        "xaxis": {
            **x_axis,
            "tickvals": view.x_axis.ticks[shown],
            "ticktext": [view.x_axis.texts[i] for i in shown],
            "title": {"text": _("speed-up of the whole wait"), **title},
        },
        "xaxis2": {
            **x_axis,
            "overlaying": "x",
            "side": "top",
            "tickvals": at[above] if len(at) else at,
            "ticktext": [texts[i] for i in above],
        },
        "yaxis": {**axis, **view.y_axis.layout(), "title": {"text": _("extra error (points)"), **title}},
        "annotations": [
            *_head(view, margin, scale, type_px, narrow=size_px[0] == theme.NARROWEST_PX, named=len(above) > 0),
            *_labels(view, width / scale, height / scale, small["size"] / scale, scale),
        ],
    }


def _with_room(places_px: np.ndarray, texts: Sequence[str], size: float) -> list[int]:
    """Which texts centred on rising places (px) to keep so that none touches the one before it."""
    kept: list[int] = []
    free = -np.inf
    for i, (x, text) in enumerate(zip(places_px, texts, strict=True)):
        half = theme.text_width_px(text, size) / 2
        if x - half >= free:
            kept.append(i)
            free = x + half + 0.2 * size
    return kept


def _head(view: _View, margin: dict, scale: float, type_px: int, narrow: bool, named: bool) -> list[dict]:
    """The key in the first lines of the figure, and the title of the scale above the map."""
    colors = view.colors
    marks = {"now": "\u25cf", "claim": "\u25c6", "published": "\u25cb"}
    words = {"now": _("now"), "claim": _("the claim"), "published": _("published")}
    kinds = [kind for kind in marks if any(mark.kind == kind for mark, *_rest in view.placed)]
    entries = [
        f'<span style="color:{_ink(kind, colors)}">{marks[kind]}</span>\u00a0{words[kind].replace(" ", chr(0xA0))}'
        for kind in kinds
    ]
    fields = [theme.key_entry(colors.better, _("takes less time")), theme.key_entry(colors.worse, _("takes more time"))]
    gap = "   "
    key = gap.join(fields) + ("<br>" if narrow else gap) + gap.join(entries)
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "showarrow": False, "align": "left"}
    font = {"size": type_px * scale, "color": colors.text}
    notes = [{"name": "key", "text": key, "font": font, "yanchor": "top", **place, "xshift": 2 - margin["l"], "yshift": margin["t"]}]
    if named:
        title = _("token speed-up that gives it at this task")
        small = {"size": (type_px - (0 if narrow else 1)) * scale, "color": colors.muted}
        notes.append({"name": "scale", "text": title, "font": small, "yanchor": "bottom", **place})
        notes[-1] |= {"yshift": 22 * scale, "xshift": notes[0]["xshift"] if narrow else 0}
    return notes


def _labels(view: _View, width: float, height: float, size: float, scale: float) -> list[dict]:
    """Texts on the map, most important first; a published point whose label finds no place has it in its hover only."""
    colors, x_axis, y_axis = view.colors, view.x_axis, view.y_axis

    def px(x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        x_px, y_px = np.broadcast_arrays(x_axis.place(x) * width, y_axis.place(y) * height)
        return np.stack([x_px, y_px], axis=-1)

    rows = sorted(view.placed, key=lambda row: _KINDS.index(row[0].kind))
    spans = [px(np.geomspace(x, end, 40), y) for mark, x, y, _side in rows if (end := _token_end(mark, view)) > x]
    bands = [px(x, np.linspace(100 * mark.low, 100 * mark.high, 40)) for mark, x, *_rest in rows]
    drawn = np.concatenate([labels.curve_points(*px(view.x, crossing(view.y, view.change)).T), *spans, *bands])
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    pen = labels.Writer(x_axis, y_axis, width, height, size, colors, scale, "", drawn, [])
    at = [pen.mark(x, y, 8) for _mark, x, y, _side in rows]
    ends = [tuple(px(_token_end(mark, view), y)) for mark, _x, y, _side in rows]
    # A name must not seem to belong to another point or to the line that leaves it.
    along = [
        list(map(tuple, px(np.geomspace(x, end, 6)[1:], y))) if (end := _token_end(mark, view)) > x else []
        for mark, x, y, _side in rows
    ]

    def name(pen: labels.Writer, i: int) -> bool:
        mark, change = rows[i][0], signed_share(rows[i][0].change)
        others = [*at, *(point for j, line in enumerate(along) if j != i for point in line)]
        text = f"{mark.label} {change}"
        near = labels.place_near(pen, at[i], others, text)
        box = near or labels.place_led(pen, at[i], text)
        if mark.kind == "now" and not box:
            box = labels.place_near(pen, at[i], others, text, must=True)
        if box:
            label = f"<b>{mark.label}</b>" if mark.kind == "now" else mark.label
            text = f'{label} <span style="color:{_tone(mark.change, colors)}"><b>{change}</b></span>'
            pen.write(box, text, _ink(mark.kind, colors), mark.kind, at=at[i], led=not near and mark.kind != "now")
        return box is not None

    def name_tokens(i: int, rings: Sequence[float]) -> bool:
        mark = rows[i][0]
        text = _("{ratio} tokens").format(ratio=ratio(mark.token_speed_up))
        if mark.kind != "now":  # far from its point it says whose it is
            text = _("{option}: {tokens}").format(option=mark.label, tokens=text)
        hidden = any(b.left < ends[i][0] < b.right and b.bottom < ends[i][1] < b.top for b in pen.taken)
        box = None if hidden else labels.place_near(pen, ends[i], [*at, *ends], text, rings)
        if box:
            pen.write(box, text, colors.text, "tokens", at=ends[i])
        return box is not None

    first = [i for i, (mark, *_rest) in enumerate(rows) if mark.kind != "published"]
    for i in first:
        name(pen, i)
        if along[i]:
            name_tokens(i, labels.AWAY)
    # The order decides how many names find a place: the one that names most is kept.
    rest, marks = range(len(first), len(rows)), np.array([px(x, y) for _mark, x, y, _side in rows]).reshape(-1, 2)
    apart = np.hypot(*(marks[:, None] - marks[None, :]).T) + np.diag(np.full(len(marks), np.inf))
    tries = []
    for order in (rest, sorted(rest, key=lambda i: apart[i].min())):  # as given, or the closest together first
        trial = replace(pen, taken=[*pen.taken], notes=[*pen.notes])
        tries.append((trial, [i for i in order if name(trial, i)]))
    pen, named = max(tries, key=lambda one: len(one[1]))
    own = [i for i in first if rows[i][0].kind == "now"]
    if width > theme.NARROWEST_PX:  # a phone has room for the scenario's own
        from_own = [min((np.hypot(*np.subtract(ends[i], at[j])) for j in own), default=0.0) for i in range(len(rows))]
        left = _MOST_TOKENS
        for i in sorted((i for i in named if along[i]), key=from_own.__getitem__):
            left -= left > 0 and name_tokens(i, labels.AWAY[:1])
    if _limit(view):
        text, x_px = _("tokens alone: at most {ratio}").format(ratio=ratio(view.limit)), px(view.limit, 0.0)[0]
        for lines in ([text], wrap(text, len(text) // 2 + 2)):
            if box := labels.clear_place(pen, labels.beside_upright(x_px, lines, size, height)):
                pen.write(box, "<br>".join(lines), colors.muted, "limit", at=(x_px, box.bottom))
                break
    for level in (0.0, *LEVELS):
        text = signed_share(level) if level else _("break-even")
        on = labels.on_curve(px(view.x, crossing(view.y, view.change, level)), text, size, height)
        if box := next((box for box in on if labels.clear(pen, box)), None):
            pen.write(box, text if level else f"<b>{text}</b>", colors.muted if level else colors.text, "contour")
    return pen.notes


def _tone(change: float, colors: theme.Palette) -> str:
    if not abs(change) >= SAME_WITHIN:
        return colors.muted
    return colors.worse if change > 0 else colors.better
