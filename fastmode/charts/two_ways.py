"""Speed against cost, both as ratios to one deployment: a path of smaller batches on its chips, and other parts at its batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.format import ratio
from fastmode.i18n import _

HEIGHT = 480
HEIGHT_NARROW = 500
_MARGIN = {"l": 66, "r": 20, "t": 62, "b": 50}
_MARGIN_NARROW = {"l": 50, "r": 12, "t": 112, "b": 44}
_AIR = 1.12  # the axes end this much beyond what they hold
_RINGS = (10, 24)  # px from a mark to its name
_LABELLED = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_SYMBOLS = {"newer": "circle", "sram": "square", "announced": "circle", "tier": "diamond"}


@dataclass(frozen=True, eq=False)
class Path:
    """Batches with their speed and cost as ratios, and the band of the speed; arrays of n, batch rising."""

    batch: np.ndarray
    speed: np.ndarray
    speed_low: np.ndarray
    speed_high: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Mark:
    """A part or a published tier: speed ratio with its band, cost (of a tier: list price) ratio with its range; NaN ends = none."""

    label: str
    kind: Literal["newer", "sram", "announced", "tier"]
    speed: float
    cost: float
    speed_low: float = np.nan
    speed_high: float = np.nan
    cost_low: float = np.nan
    cost_high: float = np.nan
    about: str = ""


def two_ways_figure(
    path: Path, marks: Sequence[Mark], home: str, goal: float, goal_label: str, mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Both axes logarithmic, 1x1 the deployment `home`; and the layout override for phones.

    goal: a speed ratio drawn as an upright line named goal_label, NaN for none. scale: size of type (1.3 in a meeting; not on phones).
    """
    colors = theme.palette(mode)
    x_axis = _axis([*path.speed, goal, *(m.speed for m in marks), *(v for m in marks if m.kind != "tier" for v in (m.speed_low, m.speed_high))])
    y_axis = _axis([*path.cost, *(v for m in marks for v in (m.cost, m.cost_low, m.cost_high))])
    view = _View(colors, path, list(marks), home, goal, goal_label, x_axis, y_axis)
    wide = _layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale)
    base = theme.base_layout(colors, scale, showlegend=False, dragmode=False, hovermode="closest", **wide)
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(_traces(view, scale), base), narrow


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    path: Path
    marks: list[Mark]
    home: str
    goal: float
    goal_label: str
    x_axis: theme.Axis
    y_axis: theme.Axis

    def ink(self, mark: Mark) -> str:
        return {"tier": self.colors.published, "announced": self.colors.muted, "sram": self.colors.better}.get(mark.kind, self.colors.worse)


def _axis(values: Sequence[float]) -> theme.Axis:
    known = np.array([v for v in values if np.isfinite(v) and v > 0] + [1.0])
    low, high = float(known.min() / _AIR), float(known.max() * _AIR)
    ticks = theme.round_ticks(low, high, True, 8)
    return theme.Axis(low, high, True, ticks, [ratio(v) for v in ticks])


def _traces(view: _View, scale: float) -> list[dict]:
    path, colors = view.path, view.colors
    common = {"type": "scatter", "showlegend": False}
    known = np.isin(path.batch, _LABELLED)
    hover = [
        _("batch {batch}: {speed} the speed, {cost} the cost per output token").format(batch=f"{b:.0f}", speed=ratio(s), cost=ratio(c))
        for b, s, c in zip(path.batch, path.speed, path.cost, strict=True)
    ]
    band_x, band_y = np.concatenate([path.speed_low, path.speed_high[::-1]]), np.concatenate([path.cost, path.cost[::-1]])
    made = [
        {**common, "mode": "lines", "meta": "band", "x": band_x, "y": band_y, "fill": "toself", "fillcolor": theme.translucent(colors.reference, 0.18), "line": {"width": 0}, "hoverinfo": "skip"},
        {**common, "mode": "lines", "meta": "path", "x": path.speed, "y": path.cost, "line": {"color": colors.reference, "width": 3}, "hovertext": hover, "hovertemplate": "%{hovertext}<extra></extra>"},
        {**common, "mode": "markers", "meta": "batches", "x": path.speed[known], "y": path.cost[known], "marker": {"size": 8 * scale, "color": colors.reference}, "hoverinfo": "skip"},
    ]
    for mark in view.marks:
        ink = view.ink(mark)
        whisker = {"color": theme.translucent(ink, 0.4), "thickness": 1.5, "width": 0, "type": "data", "symmetric": False}
        hollow = mark.kind == "tier"
        made.append(
            {
                **common,
                "mode": "markers",
                "meta": f"{mark.kind}:{mark.label}",
                "x": np.array([mark.speed]),
                "y": np.array([mark.cost]),
                "error_x": {**whisker, "array": _length(mark.speed_high, mark.speed), "arrayminus": _length(mark.speed, mark.speed_low)},
                "error_y": {**whisker, "array": _length(mark.cost_high, mark.cost), "arrayminus": _length(mark.cost, mark.cost_low)},
                "marker": {"symbol": _SYMBOLS[mark.kind], "size": 11 * scale, "color": colors.ground if hollow else ink, "line": {"color": ink, "width": 2}},
                "hovertext": [_hover(mark)],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    return made


def _length(upper: float, lower: float) -> np.ndarray:
    return np.nan_to_num(np.array([upper - lower]))


def _hover(mark: Mark) -> str:
    form = _("{name}: {speed} the speed, {cost} the list price") if mark.kind == "tier" else _("{name}: {speed} the speed, {cost} the cost per output token")
    text = form.format(name=mark.label, speed=ratio(mark.speed), cost=ratio(mark.cost))
    return f"{text}<br>{mark.about}" if mark.about else text


# layout


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, type_px == theme.SMALL_SIZE
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = theme.SMALL_SIZE * scale
    axis = {"zeroline": False, "fixedrange": True, "tickfont": {"size": small, "color": colors.muted}, "gridcolor": colors.grid}
    title = {"font": {"size": small, "color": colors.muted}, "standoff": 6}
    shapes = []
    if np.isfinite(view.goal):
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": view.goal, "x1": view.goal, "y0": 0, "y1": 1, "layer": "below", "line": {"color": colors.scenario, "width": 2, "dash": "dash"}}
        )
    x_ticks = theme.round_ticks(view.x_axis.low, view.x_axis.high, True, 5) if narrow else view.x_axis.ticks
    return {
        "margin": margin,
        "xaxis": {
            **axis,
            **view.x_axis.layout(),
            "tickvals": x_ticks,
            "ticktext": [ratio(v) for v in x_ticks],
            "title": {"text": _("speed of one user, over that of {home}").format(home=view.home) if not narrow else _("speed of one user, ratio"), **title},
        },
        "yaxis": {**axis, **view.y_axis.layout(), "title": {"text": _("cost per output token, ratio"), **title}},
        "shapes": shapes,
        "annotations": [_key(view, margin, small, narrow), *_labels(view, width / scale, height / scale, theme.SMALL_SIZE, scale, narrow)],
    }


def _key(view: _View, margin: dict, size: float, narrow: bool) -> dict:
    colors = view.colors
    entries = [theme.key_entry(colors.reference, _("smaller batch, same chips"))]
    for kind, glyph, words in (
        ("newer", "\u25cf", _("newer chip, same batch")), ("sram", "\u25a0", _("SRAM machine, same batch")),
        ("announced", "\u25cf", _("announced")), ("tier", "\u25c7", _("published tier, list price")),
    ):  # fmt: skip
        found = [mark for mark in view.marks if mark.kind == kind]
        if found:
            entries.append(f'<span style="color:{view.ink(found[0])}">{glyph}</span>\u00a0{words.replace(" ", chr(0xA0))}')
    if narrow:
        text = "<br>".join("   ".join(entries[i : i + 1]) for i in range(len(entries)))
    else:
        text = "   ".join(entries)
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "align": "left"}
    return {"name": "key", "text": text, "showarrow": False, "font": {"size": size, "color": colors.text}, **place, "xshift": 8 - margin["l"], "yshift": 26 if not narrow else 8}


def _labels(view: _View, width: float, height: float, size: float, scale: float, narrow: bool) -> list[dict]:
    """Names of marks and batches, each clear of all others; one without room goes unwritten and stays in the hover text."""
    path, colors = view.path, view.colors
    line = labels.curve_points(view.x_axis.place(path.speed) * width, view.y_axis.place(path.cost) * height)
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, colors, scale, "", line, [])
    at = [pen.mark(m.speed, m.cost, 7) for m in view.marks]
    known = [i for i, b in enumerate(path.batch) if b in _LABELLED and np.isfinite(path.speed[i] + path.cost[i])]
    spots = [pen.mark(path.speed[i], path.cost[i], 5) for i in known]
    everywhere = [p for p in (*at, *spots) if p is not None]
    if np.isfinite(view.goal):
        x = float(view.x_axis.place(view.goal)) * width
        boxes = labels.beside_upright(x, [view.goal_label], size, height)
        if box := labels.clear_place(pen, boxes):
            pen.write(box, f"<b>{view.goal_label}</b>", colors.scenario, "goal", at=(x, (box.bottom + box.top) / 2))
    # SRAM machines and tiers lie apart; parts that share a corner get what room is left
    order = ("sram", "tier", "announced", "newer")
    for mark, place in sorted(zip(view.marks, at, strict=True), key=lambda pair: order.index(pair[0].kind)):
        if place is None:
            continue
        box = labels.place_near(pen, place, everywhere, mark.label, rings=_RINGS)
        led = box is None and not narrow
        box = labels.place_led(pen, place, mark.label) if led else box
        if box:
            pen.write(box, mark.label, view.ink(mark), "name", at=place, led=led)
    ends = known[:1] + known[-1:]
    for i, place in zip(known, spots, strict=True):
        text = _("batch {n}").format(n=f"{path.batch[i]:.0f}") if i in ends else f"{path.batch[i]:.0f}"
        if place and (box := labels.clear_place(pen, labels.around(place, text, size, _RINGS[0], bold=True))):
            pen.write(box, f"<b>{text}</b>", colors.reference, "batch", at=place)
    return pen.notes
