"""Bars of what the first token waits for, and of a prompt's way beside what one step reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.first_token import PARTS, Way, bytes_text, short_time
from fastmode.format import MISSING, number, share
from fastmode.i18n import _

ROW_PX, EDGES_PX, EDGES_NARROW_PX = 62, 96, 112
WAYS_HEIGHT = 250

_BAR = 0.5
_MARGIN = {"l": 8, "r": 90, "t": 34, "b": 46}
_MARGIN_NARROW = {"l": 8, "r": 72, "t": 50, "b": 40}
_WAYS_MARGIN = {"l": 8, "r": 16, "t": 8, "b": 46}
_ROOM = 60.0  # factor beyond the longest bar, for the text at its end


@dataclass(frozen=True)
class Bar:
    """seconds: by the keys of PARTS. kind: its colour; "model" for what is neither option nor reference but the model alone."""

    label: str
    kind: Literal["scenario", "reference", "model"]
    seconds: Mapping[str, float]


def height(bars: int, narrow: bool = False) -> int:
    """Height of the figure of so many bars, px."""
    return ROW_PX * bars + (EDGES_NARROW_PX if narrow else EDGES_PX)


def first_token_figure(
    bars: Sequence[Bar], mode: theme.Mode, *, x_max_s: float, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """One stacked bar a row in ms before the first token of a call, and the layout override for phones.

    x_max_s: where the axis ends, so that it stays while parts are switched off. scale: size of type (1.3 in a meeting; not on
    phones). ValueError for a negative part or a part of another name.
    """
    if any(key not in PARTS or value < 0 for bar in bars for key, value in bar.seconds.items()):
        raise ValueError("a part is negative or none of a first token")
    colors = theme.palette(mode)
    ms = {key: 1e3 * np.array([bar.seconds.get(key, np.nan) for bar in bars], float) for key in PARTS}
    totals = np.nansum(np.stack(list(ms.values())), axis=0)
    x_max = 1e3 * x_max_s * 1.02
    traces = [_part(key, values, totals, bars, colors, scale) for key, values in ms.items()]
    size, small = theme.TEXT_SIZE * scale, theme.SMALL_SIZE
    ticks = theme.round_ticks(0.0, x_max, False)
    wide = theme.base_layout(
        colors,
        scale,
        barmode="stack",
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        margin={side: px * scale for side, px in _MARGIN.items()},
        xaxis={
            "range": [0.0, x_max],
            "tickvals": ticks,
            "ticktext": [number(v) for v in ticks],
            "title": {"text": _("ms before the first token of a call"), "standoff": 6, "font": {"size": size, "color": colors.muted}},
            "tickfont": {"size": size, "color": colors.muted},
            "gridcolor": colors.grid,
            "zerolinecolor": colors.axis,
            "fixedrange": True,
        },
        yaxis=_rows(len(bars)),
        uniformtext={"mode": "hide", "minsize": size},
        annotations=[_key(colors, size, 99), *_notes(bars, totals, colors, x_max, size)],
    )
    narrow = {
        "margin": _MARGIN_NARROW,
        "xaxis": {"title": {"font": {"size": small}}, "tickfont": {"size": small}},
        "annotations": [_key(colors, small, 2), *_notes(bars, totals, colors, x_max, small)],
    }
    return theme.figure(traces, wide), narrow


def _rows(count: int) -> dict:
    return {"range": [count - 0.6, -0.8], "showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": True}


def _fill(key: str, colors: theme.Palette) -> str:
    """Handshakes are of the network like collectives, a queue is waiting, prefill is computing, a step is mostly weights."""
    return {
        "handshake": colors.steps["collectives"], "queue": colors.slices["waiting"], "prefill": colors.steps["compute"],
        "step": colors.steps["weights"],
    }[key]  # fmt: skip


def _part(
    key: str, ms: np.ndarray, totals: np.ndarray, bars: Sequence[Bar], colors: theme.Palette, scale: float
) -> dict:
    fill, name = _fill(key, colors), _(PARTS[key])
    hover = [
        _("{bar}, {part}: {time}, {share} of the first token's wait").format(
            bar=bar.label, part=name, time=short_time(value / 1e3), share=share(value / total) if total > 0 else MISSING
        )
        for bar, value, total in zip(bars, ms, totals, strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "meta": key,
        "x": ms,
        "y": np.arange(len(ms), dtype=float),
        "width": _BAR,
        "marker": {"color": fill, "line": {"color": colors.ground, "width": 1.5}},
        # A text too wide for its part at the reader's width hides itself (layout.uniformtext); the key names all parts.
        "text": [f"{name} {number(value)}" if value > 0 else "" for value in ms],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": theme.text_on(fill), "size": theme.TEXT_SIZE * scale},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _key(colors: theme.Palette, size: float, a_line: int) -> dict:
    entries = [theme.key_entry(_fill(key, colors), _(PARTS[key])) for key in PARTS]
    lines = ["   ".join(entries[i : i + a_line]) for i in range(0, len(entries), a_line)]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "yshift": 4}
    return {"name": "key", "text": "<br>".join(lines), "showarrow": False, "align": "left", "font": {"size": size}, **place}


def _ink(kind: str, colors: theme.Palette) -> str:
    return {"scenario": colors.scenario, "reference": colors.reference, "model": colors.muted}[kind]


def _notes(bars: Sequence[Bar], totals: np.ndarray, colors: theme.Palette, x_max: float, size: float) -> list[dict]:
    notes = []
    for row, (bar, total) in enumerate(zip(bars, totals, strict=True)):
        base = {"showarrow": False, "xref": "x", "yref": "y", "xanchor": "left", "font": {"size": size}}
        text = f"<b>{short_time(total / 1e3)}</b>"
        notes.append({**base, "name": "total", "text": text, "x": min(total, x_max), "y": row, "xshift": 4})
        head = f'<b><span style="color:{_ink(bar.kind, colors)}">{bar.label}</span></b>'
        notes.append({**base, "name": "head", "text": head, "x": 0, "y": row - _BAR / 2, "yanchor": "bottom"})
    return notes


def ways_figure(ways: Sequence[Way], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """A bar a row on a logarithmic axis of time, its amount of data at the end; and the layout override for phones.

    scale: size of type (1.3 in a meeting; not on phones). ValueError where a time is not positive.
    """
    seconds = np.array([way.seconds for way in ways], float)
    if not (seconds > 0).all():
        raise ValueError("a time is not positive")
    colors = theme.palette(mode)
    low = 10.0 ** min(-6.0, np.floor(np.log10(seconds.min())))
    high = seconds.max() * _ROOM
    ticks = theme.round_ticks(low, high, True, 8)
    size, small = theme.TEXT_SIZE * scale, theme.SMALL_SIZE
    trace = {
        "type": "bar",
        "orientation": "h",
        "meta": "ways",
        "base": low,
        "x": seconds - low,
        "y": np.arange(len(ways), dtype=float),
        "width": _BAR,
        "marker": {"color": [colors.muted] + [colors.steps["weights"]] * (len(ways) - 1)},
        "hovertext": [f"{way.label}: {bytes_text(way.bytes)}, {short_time(way.seconds)}" for way in ways],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    axis = {
        "type": "log",
        "range": _reach(low, high),
        "tickvals": ticks,
        "ticktext": [short_time(v) for v in ticks],
        "gridcolor": colors.grid,
        "fixedrange": True,
    }

    def texts(px: float) -> list[dict]:
        notes = []
        for row, way in enumerate(ways):
            base = {"showarrow": False, "xref": "x", "yref": "y", "xanchor": "left", "font": {"size": px}}
            end = _("<b>{time}</b> for {size}").format(time=short_time(way.seconds), size=bytes_text(way.bytes))
            notes.append({**base, "name": "end", "text": end, "x": float(np.log10(way.seconds)), "y": row, "xshift": 6})
            head = f'<b><span style="color:{colors.text}">{way.label}</span></b>'
            notes.append({**base, "name": "head", "text": head, "x": float(np.log10(low)), "y": row - _BAR / 2, "yanchor": "bottom"})
        return notes

    def titled(px: float) -> dict:
        font = {"size": px, "color": colors.muted}
        return {"title": {"text": _("time, each step of the axis ten times the one before"), "standoff": 6, "font": font}, "tickfont": font}

    wide = theme.base_layout(
        colors, scale, showlegend=False, dragmode=False, hovermode="closest",
        margin={side: px * scale for side, px in _WAYS_MARGIN.items()},
        xaxis=axis | titled(size), yaxis=_rows(len(ways)), annotations=texts(size),
    )  # fmt: skip
    return theme.figure([trace], wide), {"xaxis": titled(small) | {"range": _reach(low, high * _ROOM)}, "annotations": texts(small)}


def _reach(low: float, high: float) -> list[float]:
    """Range of a logarithmic axis, a hair wider at its start so that the first tick is drawn."""
    return [float(np.log10(low)) - 1e-3, float(np.log10(high))]
