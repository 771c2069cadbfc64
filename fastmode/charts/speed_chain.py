"""What a speed-up of the tokens becomes on its way to the whole task: one bar a step, shorter and shorter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis
from fastmode.format import duration, is_missing, ratio
from fastmode.i18n import _

HEIGHT = 360  # of five steps
HEIGHT_NARROW = 450

_MARGIN = {"r": 16, "t": 30, "b": 46}
_MARGIN_NARROW = {"l": 8, "r": 8, "t": 26, "b": 42}
_HEAD_PX = (170, 330)  # the room for names at the left: least, most
_BAR = 0.42  # of the distance between two bars
_RATIO = 1.15  # size of a ratio, of the size of the other texts
# Ends of the axis; it steps on only when a bar would leave it, so it stands still while a slider moves.
_LOWS = (0.7, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
_HIGHS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


@dataclass(frozen=True)
class Link:
    """One step: seconds before (reference) and after (scenario), and their ratio, above 1 where the scenario is faster."""

    label: str
    before_s: float
    after_s: float
    ratio: float


def speed_chain_figure(links: Sequence[Link], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """A bar a step from 1x (no gain) to its ratio on a log axis, in the order given, and the layout override for phones.

    A ratio below 1 goes to the left in the colour of worse; one that is not known has no bar. The ratio and the two times stand
    beside each bar. scale: size of type (1.3 in a meeting; not on phones). ValueError for a ratio that is not positive.
    """
    ratios = np.array([link.ratio for link in links], dtype=float)
    if (ratios <= 0).any():
        raise ValueError("a ratio of two times must be positive")
    colors = theme.palette(mode)
    ratios = np.where(np.isfinite(ratios), ratios, np.nan)
    known = ratios[np.isfinite(ratios)]
    low = next((v for v in _LOWS if v <= known.min(initial=1.0)), float(known.min(initial=1.0)))
    high = next((v for v in _HIGHS if v >= known.max(initial=1.0)), float(known.max(initial=1.0)))
    size = theme.TEXT_SIZE * scale
    heads = [max(_width(link.label, theme.TEXT_SIZE), _width(_times(link), theme.SMALL_SIZE)) for link in links]
    left = float(np.clip(20 * np.ceil((max(heads, default=0.0) + 16) / 20), *_HEAD_PX))
    margin = {side: px * scale for side, px in {**_MARGIN, "l": left}.items()}
    wide = _layout(links, ratios, colors, _axis(low, high, links, size, margin, labels.least_width(scale)), margin, size, True)
    size = theme.SMALL_SIZE + 1
    axis = _axis(low, high, links, size, _MARGIN_NARROW, theme.NARROWEST_PX)
    narrow = _layout(links, ratios, colors, axis, _MARGIN_NARROW, size, False)
    return theme.figure([_bars(links, ratios, colors)], theme.base_layout(colors, scale, **wide)), narrow


def _width(text: str, size: float, bold: bool = False) -> float:
    return theme.text_width_px(text, size, bold)


def _axis(low: float, high: float, links: Sequence[Link], size: float, margin: dict, figure_width: int) -> Axis:
    """From low to where the ratio behind a bar that ends at high still fits."""
    width = figure_width - margin["l"] - margin["r"]
    room = max((_width(ratio(link.ratio), _RATIO * size, bold=True) for link in links), default=0.0) + 12
    end = low * (high / low) ** (width / (width - room))
    ticks = theme.round_ticks(low, high, True, 5 if figure_width == theme.NARROWEST_PX else 6)
    return Axis(low, float(end), True, ticks, [ratio(v) for v in ticks])


def _times(link: Link) -> str:
    return f"{duration(link.before_s)} \u2192 {duration(link.after_s)}"


def _bars(links: Sequence[Link], ratios: np.ndarray, colors: theme.Palette) -> dict:
    return {
        "type": "bar",
        "orientation": "h",
        "meta": "chain",
        "base": np.ones(len(links)),
        "x": ratios - 1.0,
        "y": np.arange(len(links), dtype=float),
        "width": _BAR,
        "marker": {"color": [colors.worse if r < 1 else colors.scenario for r in ratios], "line": {"width": 0}},
        "hovertext": [f"{link.label}: {ratio(link.ratio)} ({_times(link)})" for link in links],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _layout(
    links: Sequence[Link], ratios: np.ndarray, colors: theme.Palette, axis: Axis, margin: dict, size: float, wide: bool
) -> dict:
    font = {"size": size - 1, "color": colors.muted}
    line = {"type": "line", "xref": "x", "yref": "y", "line": {"color": colors.muted, "width": 1, "dash": "dot"}}
    # On a phone the names stand above the bars, so the line at 1 is interrupted there.
    spans = [(-0.5, len(links) - 0.5)] if wide else [(i - _BAR / 2, i + _BAR / 2) for i in range(len(links))]
    look = {"line": {"color": colors.text, "width": 2}}
    one = [{**line, **look, "x0": 1, "x1": 1, "y0": start, "y1": stop} for start, stop in spans]
    shown = np.where(np.isfinite(ratios), np.maximum(ratios, 1.0), 1.0)
    # How far each step falls: from the end of one bar down to the next.
    falls = [
        {**line, "x0": above, "x1": above, "y0": i + _BAR / 2, "y1": i + 1 - _BAR / 2}
        for i, (above, below) in enumerate(zip(shown, shown[1:], strict=False))
        if above > below
    ]
    return {
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "margin": margin,
        "xaxis": {
            **axis.layout(),
            "title": {"text": _("how many times faster"), "standoff": 6, "font": font},
            "tickfont": font,
            "tickangle": 0,
            "gridcolor": colors.grid,
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(links) - 0.5, -0.5 if wide else -0.8],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "shapes": [*one, *(falls if wide else [])],
        "annotations": [
            _note(_("no gain"), size - 1, colors.muted, "one", x=0.0, y=1, yref="paper", yanchor="bottom", yshift=2),
            *(note for i in range(len(links)) for note in _row(links[i], i, float(shown[i]), colors, size, wide)),
        ],
    }


def _ratio(link: Link, y: int, end: float, colors: theme.Palette, size: float) -> dict:
    """The ratio behind a bar. An annotation's x on a log axis is the logarithm."""
    tone = colors.muted if is_missing(link.ratio) else colors.worse if link.ratio < 1 else colors.scenario
    behind = {"x": float(np.log10(end)), "y": y, "xanchor": "left", "xshift": 6}
    return _note(f"<b>{ratio(link.ratio)}</b>", _RATIO * size, tone, "ratio", **behind)


def _row(link: Link, y: int, end: float, colors: theme.Palette, size: float, wide: bool) -> list[dict]:
    """Name and under it the times, at the left of the bar or on a phone above it, and the ratio behind the bar."""
    small = theme.SMALL_SIZE / theme.TEXT_SIZE if wide else (size - 1) / size
    times = f'<span style="color:{colors.muted};font-size:{small:.2f}em">{_times(link)}</span>'
    if wide:
        name, at = link.label, {"y": y, "xanchor": "right", "xshift": -10, "align": "right"}
    else:
        name = f"<b>{link.label}</b>"
        at = {"y": y - _BAR / 2, "xanchor": "left", "yanchor": "bottom", "borderpad": 0, "align": "left"} | {"xshift": -1, "yshift": 2}
    head = _note(f"{name}<br>{times}", size, colors.text, "head", xref="paper", x=0, **at)
    return [head, _ratio(link, y, end, colors, size)]


def _note(text: str, size: float, color: str, name: str, **place: object) -> dict:
    return {"name": name, "text": text, "font": {"size": size, "color": color}, "showarrow": False, "xref": "x", "yref": "y", **place}
