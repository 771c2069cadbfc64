"""Predicted against published errors of smaller models, one mark a published score, with the line where both are the same."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import number, ratio, share
from fastmode.i18n import N_, _

HEIGHT = 430  # at every width, as that of predicted against measured speeds

# Odds get room at both ends: an error of 2 % is as far from 4 % as one of 96 % from 98 %.
_ENDS = (0.01, 0.99)
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
_NARROW_TICKS = (0.02, 0.05, 0.2, 0.5, 0.8, 0.95)
_MARGIN = {"l": 58, "r": 10, "t": 8, "b": 48}
_MOST_WHISKERS = 60  # more of them hide the marks
_MARK_PX = 8
_INSIDE, _WORSE, _BETTER = "inside", "worse", "better"
_KINDS = {
    _INSIDE: N_("within the 90 % band"),
    _WORSE: N_("more errors than the band"),
    _BETTER: N_("fewer errors than the band"),
}
_SYMBOLS = {_INSIDE: "circle-open", _WORSE: "triangle-right", _BETTER: "triangle-left"}


def quality_figure(
    points: pd.DataFrame, mode: theme.Mode, *, own: str = "", scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Marks of `quality_check.predicted_pairs` with hover texts, and the layout override for narrow places.

    Both axes are error rates, drawn by their log odds; their ends are fixed. own: name of a child that is drawn in the
    scenario's colour. Up to 60 marks have their 90 % band as a whisker. scale: size of type.
    """
    colors = theme.palette(mode)
    kind = np.where(points["inside_90"], _INSIDE, np.where(points["residual_logit"] > 0, _WORSE, _BETTER))
    mine = ((points["child"] == own) & (own != "")).to_numpy(bool)
    whiskers = len(points) <= _MOST_WHISKERS
    tints = {_INSIDE: colors.published, _WORSE: colors.worse, _BETTER: colors.better}
    ends = _logit(np.array(_ENDS))
    quiet = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    traces = [{**quiet, "meta": "equal", "x": ends, "y": ends, "line": {"color": colors.axis, "width": 1.5}}]
    for name, label in _KINDS.items():
        if (chosen := (kind == name) & ~mine).any():
            traces.append(_marks(points[chosen], _(label), tints[name], _SYMBOLS[name], whiskers))
    for name in _KINDS:
        if (chosen := (kind == name) & mine).any():
            symbol = _SYMBOLS[name].removesuffix("-open")
            traces.append(_marks(points[chosen], own, colors.scenario, symbol, True) | {"meta": "own"})
    size = theme.SMALL_SIZE * scale
    line = {
        "type": "linear",
        "range": ends.tolist(),
        "tickvals": _logit(np.array(_TICKS)),
        "ticktext": [share(value) for value in _TICKS],
        "gridcolor": colors.grid,
        "zeroline": False,
        "tickfont": {"size": size, "color": colors.muted},
        "linecolor": colors.axis,
        "showline": True,
    }
    title = {"font": {"size": size, "color": colors.muted}, "standoff": 6}
    corner = {"orientation": "v", "xref": "paper", "yref": "paper", "x": 0.01, "y": 0.99}
    layout = theme.base_layout(
        colors,
        scale,
        showlegend=True,
        legend=theme.legend(colors, size) | corner | {"bgcolor": theme.translucent(colors.ground, 0.7)},
        hovermode="closest",
        hoverdistance=12,
        margin={side: px * scale for side, px in _MARGIN.items()},
        xaxis={**line, "title": {"text": _("published error of the smaller model"), **title}},
        yaxis={**line, "title": {"text": _("predicted error of the smaller model"), **title}},
    )
    few = {"tickvals": _logit(np.array(_NARROW_TICKS)).tolist(), "ticktext": [share(value) for value in _NARROW_TICKS]}
    return theme.figure(traces, layout), {"xaxis": few}


def alternative(row: dict) -> str:
    """The chart in words; row: one of `quality_check.summary`."""
    return _("Predicted against published errors of {rows} smaller models' scores: half lie within {median} points of the line of equality, {inside} within the 90 % band of their prediction.").format(
        rows=number(row["rows"], 9), median=number(100.0 * row["median_error"]), inside=share(row["inside_90"]),
    )  # fmt: skip


def _logit(error: np.ndarray) -> np.ndarray:
    """Log odds, no farther out than the ends of the axes: what lies beyond stands at the edge."""
    error = np.clip(error, *_ENDS)
    return np.log(error / (1.0 - error))


def _marks(rows: pd.DataFrame, name: str, color: str, symbol: str, whiskers: bool) -> dict:
    x, y, low, high = (_logit(rows[c].to_numpy()) for c in ("published_error", "predicted_error", "low_90", "high_90"))
    trace = {
        "type": "scatter",
        "mode": "markers",
        "meta": "rows",
        "name": name,
        "x": x,
        "y": y,
        "text": [_hover(row) for row in rows.to_dict("records")],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": symbol, "size": _MARK_PX, "color": color, "line": {"color": color, "width": 1.3}},
    }
    if whiskers:
        trace["error_y"] = {
            "type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low, "width": 0, "thickness": 1,
            "color": theme.translucent(color, 0.35),
        }  # fmt: skip
    return trace


def _hover(row: dict) -> str:
    size = _("one tier step, sizes unpublished") if np.isnan(row["size_ratio"]) else _("{ratio} smaller").format(ratio=ratio(row["size_ratio"]))  # fmt: skip
    return "<br>".join(
        [
            _("<b>{child}</b> from {parent}").format(child=row["child"], parent=row["parent"]),
            row["benchmark"],
            size,
            _("larger model's error {error}").format(error=share(row["parent_error"])),
            _("published {error}").format(error=share(row["published_error"])),
            _("predicted {error} (90 %: {low} to {high})").format(
                error=share(row["predicted_error"]), low=share(row["low_90"]), high=share(row["high_90"])
            ),
        ]
    )
