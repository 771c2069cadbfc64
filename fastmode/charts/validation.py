"""Predicted against measured, one mark a row, on equal logarithmic axes with the line where both are the same."""

from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import D3_NUMBER, number, share, signed_share
from fastmode.i18n import _

HEIGHT = 430  # at every width: the chart stands in a column beside the table, or alone on a phone

FACTOR = 0.3  # half-width of the shaded band, as a share of the measured figure
_MARGIN = {"l": 58, "r": 10, "t": 8, "b": 48}
_HOVER_CHARS = 40  # what a phone shows beside a mark
_MARK_PX = 6
_CROSS_PX = 7
_OPACITY = 0.45
_NUMBERS = ("error", "n_chips", "input_tokens", "output_tokens", "concurrency")
_SHOWN = (
    "model", "hardware", "engine", "engine_version", "precision", "source", "date", "suspect", "measured_ms", "predicted_ms",
    *_NUMBERS,
)  # fmt: skip


def validation_figure(
    points: pd.DataFrame,
    quantity: str,
    limits: tuple[float, float],
    mode: theme.Mode,
    *,
    own: tuple[str, str, str] = ("", "", ""),
    scale: float = 1.0,
) -> tuple[go.Figure, dict]:
    """Marks of `validation.points` (times in ms) with hover texts, and the layout override for narrow places.

    quantity: its name in the axis titles. limits: ends of both axes, ms. own: model id, hardware id and the name of the pair
    that is drawn in the scenario's colour. Suspect rows are crosses. scale: size of type.
    """
    colors = theme.palette(mode)
    axis = theme.Axis(*limits, True, ticks := theme.round_ticks(*limits, True), [number(v) for v in ticks])
    mine = ((points["model_id"] == own[0]) & (points["hardware_id"] == own[1])).to_numpy(bool)
    traces = [*_lines(limits, colors), *_key(points["suspect"].any(), own[2] if mine.any() else "", colors)]
    # One trace a cell: what its rows share is sent once. The scenario's own are drawn last, on top.
    columns = {name: points[name].to_numpy(dtype=object) for name in _SHOWN}
    cells = points.groupby("cell", sort=True).indices.values()
    for of_scenario, color in ((False, colors.muted), (True, colors.scenario)):
        for rows in cells:
            if mine[rows[0]] == of_scenario:
                of_cell = {name: values[rows] for name, values in columns.items()}
                traces.append(_cell_trace(of_cell, color, quantity))
    size = theme.SMALL_SIZE * scale
    title = {"font": {"size": size, "color": colors.muted}, "standoff": 6}
    line = {
        "gridcolor": colors.grid,
        "zeroline": False,
        "tickfont": {"size": size, "color": colors.muted},
        "linecolor": colors.axis,
        "showline": True,
        "constrain": "domain",
        "hoverformat": D3_NUMBER,
        **axis.layout(),
    }
    layout = theme.base_layout(
        colors,
        scale,
        showlegend=True,
        legend=_legend(colors, size),
        hovermode="closest",
        hoverdistance=12,
        margin={side: px * scale for side, px in _MARGIN.items()},
        xaxis={
            **line,
            "title": {"text": _("measured {quantity}, ms").format(quantity=quantity), **title},
            "constraintoward": "left",
        },
        yaxis={
            **line,
            "title": {"text": _("predicted {quantity}, ms").format(quantity=quantity), **title},
            "scaleanchor": "x",
            "constraintoward": "top",
        },
        annotations=_names(limits, colors, size),
    )
    return theme.figure(traces, layout), {}


def alternative(quantity: str, figures: dict[str, float]) -> str:
    """The chart in words; figures: rows, median, p90 and bias of all its rows."""
    return _("Predicted against measured {quantity} of {rows} rows: half lie within {median} of the line of equality, nine in ten within {p90}; the middle row is {bias} off.").format(
        quantity=quantity, rows=number(figures["rows"], 9), median=share(figures["median"]), p90=share(figures["p90"]), bias=signed_share(figures["bias"]),
    )  # fmt: skip


def _lines(limits: tuple[float, float], colors: theme.Palette) -> list[dict]:
    low, high = limits
    ends = np.array([low, high])
    quiet = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    band = {
        **quiet,
        "meta": "band",
        "x": np.concatenate([ends, ends[::-1]]),
        "y": np.concatenate([(1 + FACTOR) * ends, (1 - FACTOR) * ends[::-1]]),
        "fill": "toself",
        "fillcolor": theme.translucent(colors.axis, 0.18),
        "line": {"width": 0},
    }
    return [band, {**quiet, "meta": "equal", "x": ends, "y": ends, "line": {"color": colors.axis, "width": 1.5}}]


def _key(suspects: bool, own: str, colors: theme.Palette) -> list[dict]:
    """Legend entries, which the cells' own traces do not have."""
    entries = [(_("measured row"), _dot(colors.muted))]
    if suspects:
        entries.append((_("suspect row"), _cross(colors.muted)))
    if own:
        entries.append((own, _dot(colors.scenario)))
    nowhere = np.array([np.nan])
    return [
        {"type": "scatter", "mode": "markers", "name": name, "meta": "key", "x": nowhere, "y": nowhere, "marker": marker}
        for name, marker in entries
    ]  # fmt: skip


def _legend(colors: theme.Palette, size: float) -> dict:
    """In the corner where predictions would be many times too high: hardly a mark stands there."""
    corner = {"orientation": "v", "xref": "paper", "yref": "paper", "x": 0.01, "y": 0.99}
    return theme.legend(colors, size) | corner | {"bgcolor": theme.translucent(colors.ground, 0.7)}


def _dot(color: str) -> dict:
    return {"symbol": "circle", "size": _MARK_PX + 2, "color": color}


def _cross(color: str) -> dict:
    return {"symbol": "x-thin", "size": _CROSS_PX, "line": {"color": color, "width": 1.5}}


def _cell_trace(rows: dict[str, np.ndarray], color: str, quantity: str) -> dict:
    """Marks of one cell. The hover's template says once what its rows share; what is each row's own goes as numbers."""
    first = {name: values[0] for name, values in rows.items()}
    suspect = rows["suspect"].astype(bool)
    engine = " ".join(part for part in (first["engine"], first["engine_version"], _(first["precision"])) if part)
    own = np.column_stack([rows[name].astype(np.float64) for name in _NUMBERS])
    own[:, 0] *= 100.0
    # A pure decode step states no output: its length is the context.
    lengths = _("%{customdata[2]:,} tokens of context") if np.isnan(own[:, 3]).all() else _("%{customdata[2]:,} + %{customdata[3]:,} tokens")  # fmt: skip
    template = [
        _("<b>{model}</b> on %{{customdata[1]}} {hardware}").format(model=first["model"], hardware=first["hardware"]),
        *wrap(engine, _HOVER_CHARS),
        lengths,
        _("concurrency %{customdata[4]:,}"),
        _("measured {quantity} %{{x}} ms").format(quantity=quantity),
        _("predicted %{y} ms (%{customdata[0]:+.2~r} %)"),
        *wrap(first["source"], _HOVER_CHARS),
        "%{text}",
    ]
    mixed = suspect.any()
    odd = _("{date}, suspect row")
    return {
        "type": "scattergl",  # half the time of SVG for so many marks
        "mode": "markers",
        "meta": "rows",
        "showlegend": False,
        "x": rows["measured_ms"].astype(np.float32),
        "y": rows["predicted_ms"].astype(np.float32),
        "customdata": own.astype(np.float32),
        "text": [odd.format(date=date) if flag else date for date, flag in zip(rows["date"], suspect, strict=True)],
        "hovertemplate": "<br>".join(template) + "<extra></extra>",
        "marker": {
            "symbol": ["x-thin" if flag else "circle" for flag in suspect] if mixed else "circle",
            "size": np.where(suspect, _CROSS_PX, _MARK_PX) if mixed else _MARK_PX,
            "color": theme.translucent(color, _OPACITY),
            # A thin cross is drawn by its line alone; a dot has none.
            "line": {"color": color, "width": np.where(suspect, 1.5, 0.0) if mixed else 0},
        },
    }


def _names(limits: tuple[float, float], colors: theme.Palette, size: float) -> list[dict]:
    """Names along the three lines, turned like them; shifts are across the line, so they hold at every width."""
    low, high = np.log10(limits)
    notes = []
    for share_of_axis, shift, factor, text in (
        (0.86, 9, 1 + FACTOR, f"+{share(FACTOR)}"),
        (0.86, -9, 1 - FACTOR, f"-{share(FACTOR)}"),
    ):
        x = low + share_of_axis * (high - low)
        notes.append(
            {
                "name": "factor",
                "text": text,
                "x": x,
                "y": x + np.log10(factor),
                "xshift": -0.7 * shift,
                "yshift": 0.7 * shift,
                "textangle": -45,
                "showarrow": False,
                "font": {"size": size, "color": colors.muted},
            }
        )
    return notes
