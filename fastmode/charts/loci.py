"""What each mechanism can do, as speed and cost ratios to a standard tier, with the published tiers among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.format import ratio
from fastmode.i18n import _

HEIGHT = 500
HEIGHT_NARROW = 520
_MARGIN = {"l": 66, "r": 20, "t": 44, "b": 50}
_MARGIN_NARROW = {"l": 50, "r": 12, "t": 84, "b": 44}
_AIR = 1.15  # the axes end this much beyond what they hold
_SLOWEST, _CHEAPEST = 0.8, 0.1  # ratios that the axes go down to at most
_RINGS = (10, 22)  # px from a mark to its name


@dataclass(frozen=True, eq=False)
class Locus:
    """A mechanism over its parameter, arrays of n as ratios: a line where it is continuous, else dots. settings: in words, of n.

    speed_low, speed_high: the 90 % band of the speed, shaded beside a line, a whisker at a dot.
    """

    name: str
    speed: np.ndarray
    speed_low: np.ndarray
    speed_high: np.ndarray
    cost: np.ndarray
    settings: Sequence[str]
    continuous: bool
    color: str  # a key of theme.STEP_PARTS' colours, or "reference"


@dataclass(frozen=True)
class Point:
    """A published tier: speed ratio and price ratio. own: the one to be explained."""

    label: str
    speed: float
    price: float
    own: bool


def loci_figure(loci: Sequence[Locus], points: Sequence[Point], goal: float, goal_label: str, mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Both axes logarithmic, 1x1 the standard tier; and the layout override for phones.

    goal: the speed ratio to be explained, an upright line. scale: size of type (1.3 in a meeting; not on phones).
    """
    colors = theme.palette(mode)
    x_axis = _axis([goal, *(p.speed for p in points), *(v for locus in loci for v in locus.speed)], _SLOWEST)
    y_axis = _axis([*(p.price for p in points), *(v for locus in loci for v in locus.cost)], _CHEAPEST)
    view = _View(colors, list(loci), list(points), goal, goal_label, x_axis, y_axis)
    wide = _layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale)
    base = theme.base_layout(colors, scale, showlegend=False, dragmode=False, hovermode="closest", **wide)
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(_traces(view, scale), base), narrow


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    loci: list[Locus]
    points: list[Point]
    goal: float
    goal_label: str
    x_axis: theme.Axis
    y_axis: theme.Axis

    def ink(self, locus: Locus) -> str:
        return self.colors.reference if locus.color == "reference" else self.colors.steps[locus.color]


def _axis(values: Sequence[float], least: float) -> theme.Axis:
    known = np.array([v for v in values if np.isfinite(v) and v > 0] + [1.0])
    low, high = max(float(known.min()), least) / _AIR, float(known.max()) * _AIR
    ticks = theme.round_ticks(low, high, True, 8)
    return theme.Axis(low, high, True, ticks, [ratio(v) for v in ticks])


def _traces(view: _View, scale: float) -> list[dict]:
    common = {"type": "scatter", "showlegend": False, "hovertemplate": "%{hovertext}<extra></extra>"}
    made = []
    for locus in view.loci:
        words = [
            _("{name}, {setting}: {speed} the speed, {cost} the cost per output token").format(name=locus.name, setting=s, speed=ratio(v), cost=ratio(c))
            for s, v, c in zip(locus.settings, locus.speed, locus.cost, strict=True)
        ]
        ink = view.ink(locus)
        drawn = {"mode": "lines", "line": {"color": ink, "width": 3}} if locus.continuous else {"mode": "markers", "marker": {"size": 9 * scale, "color": ink}}
        if locus.continuous:
            band = {"x": np.concatenate([locus.speed_low, locus.speed_high[::-1]]), "y": np.concatenate([locus.cost, locus.cost[::-1]])}
            made.append({"type": "scatter", "showlegend": False, "mode": "lines", "meta": f"band:{locus.name}", **band, "fill": "toself", "fillcolor": theme.translucent(ink, 0.15), "line": {"width": 0}, "hoverinfo": "skip"})
        else:
            ends = {"array": locus.speed_high - locus.speed, "arrayminus": locus.speed - locus.speed_low}
            drawn["error_x"] = {"type": "data", "symmetric": False, "color": theme.translucent(ink, 0.3), "thickness": 1.5, "width": 0, **ends}
        made.append({**common, **drawn, "meta": f"locus:{locus.name}", "x": locus.speed, "y": locus.cost, "hovertext": words})
    for point in view.points:
        ink = view.colors.scenario if point.own else view.colors.published
        text = _("{name}: {speed} the speed, {price} the price").format(name=point.label, speed=ratio(point.speed), price=ratio(point.price))
        made.append(
            {
                **common, "mode": "markers", "meta": f"tier:{point.label}", "x": np.array([point.speed]), "y": np.array([point.price]), "hovertext": [text],
                "marker": {"symbol": "diamond", "size": (14 if point.own else 11) * scale, "color": ink if point.own else view.colors.ground, "line": {"color": ink, "width": 2}},
            }
        )  # fmt: skip
    return made


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, type_px == theme.SMALL_SIZE
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = theme.SMALL_SIZE * scale
    axis = {"zeroline": False, "fixedrange": True, "tickfont": {"size": small, "color": colors.muted}, "gridcolor": colors.grid}
    title = {"font": {"size": small, "color": colors.muted}, "standoff": 6}
    x_ticks = theme.round_ticks(view.x_axis.low, view.x_axis.high, True, 5) if narrow else view.x_axis.ticks
    goal = {"type": "line", "xref": "x", "yref": "paper", "x0": view.goal, "x1": view.goal, "y0": 0, "y1": 1, "layer": "below", "line": {"color": colors.scenario, "width": 2, "dash": "dash"}}
    return {
        "margin": margin,
        "xaxis": {
            **axis, **view.x_axis.layout(), "tickvals": x_ticks, "ticktext": [ratio(v) for v in x_ticks],
            "title": {"text": _("speed of one user, over the standard tier's"), **title},
        },
        "yaxis": {**axis, **view.y_axis.layout(), "title": {"text": _("cost or price per output token, ratio"), **title}},
        "shapes": [goal] if np.isfinite(view.goal) else [],
        "annotations": [_key(view, margin, small, narrow), *_names(view, width / scale, height / scale, scale)],
    }  # fmt: skip


def _key(view: _View, margin: dict, size: float, narrow: bool) -> dict:
    words = [_("lines and dots: modelled cost of a mechanism; shaded, whiskers: 90 % band of the speed"), _("\u25c7 published tier: list price")]
    if narrow:
        words = [_("lines and dots: modelled cost"), _("shaded, whiskers: 90 % band of the speed"), words[1]]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "align": "left"}
    text = "<br>".join(words) if narrow else "   ".join(words)
    return {"name": "key", "text": text, "showarrow": False, "font": {"size": size, "color": view.colors.text}, **place, "xshift": 8 - margin["l"], "yshift": 8}


def _names(view: _View, width: float, height: float, scale: float) -> list[dict]:
    """Names of tiers, loci and the line, each clear of all others; one without room stays in the hover text."""
    colors, size = view.colors, theme.SMALL_SIZE
    curves = [labels.curve_points(view.x_axis.place(o.speed) * width, view.y_axis.place(o.cost) * height) for o in view.loci if o.continuous]
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, colors, scale, "", np.concatenate([np.empty((0, 2)), *curves]), [])
    spots = [pen.mark(p.speed, p.price, 8) for p in view.points]
    dots = [[spot for v, c in zip(o.speed, o.cost, strict=True) if np.isfinite(v + c) and (spot := pen.mark(v, c, 5))] for o in view.loci if not o.continuous]
    everywhere = [p for p in (*spots, *(d for group in dots for d in group)) if p is not None]
    for point, place in sorted(zip(view.points, spots, strict=True), key=lambda pair: not pair[0].own):
        box = place and labels.place_near(pen, place, everywhere, point.label, rings=_RINGS)
        if box:
            pen.write(box, f"<b>{point.label}</b>", colors.scenario if point.own else colors.published, "tier", at=place)
    if np.isfinite(view.goal):
        x = float(view.x_axis.place(view.goal)) * width
        if box := labels.clear_place(pen, labels.beside_upright(x, [view.goal_label], size, height)):
            pen.write(box, f"<b>{view.goal_label}</b>", colors.scenario, "goal", at=(x, (box.bottom + box.top) / 2))
    groups = iter(dots)
    for locus in view.loci:
        if locus.continuous:
            line = np.column_stack([view.x_axis.place(locus.speed) * width, view.y_axis.place(locus.cost) * height])
            line = line[np.isfinite(line).all(axis=1)]
            tries = [tuple(line[i]) for share in (0.75, 0.6, 0.9, 0.45) if len(line) and (i := int(share * (len(line) - 1))) >= 0]
        else:
            tries = next(groups)[::-1]
        for spot in tries:
            if box := labels.clear_place(pen, [b for away in _RINGS for b in labels.around(spot, locus.name, size, away, bold=True)]):
                pen.write(box, f"<b>{locus.name}</b>", view.ink(locus), "locus", at=spot)
                break
    return pen.notes
