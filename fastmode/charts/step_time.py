"""Where the time of one output token goes: a stacked bar of the terms of a decoding step."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import MISSING, join_unit, number, share
from fastmode.i18n import _

HEIGHT = 200  # of two rows; one takes as much, so that nothing jumps
HEIGHT_NARROW = 240

_BAR = 0.6
_MARGIN = {"l": 8, "r": 84, "t": 34, "b": 46}
_MARGIN_NARROW = {"l": 8, "r": 70, "t": 52, "b": 40}


def step_time_figure(
    rows: Mapping[str, Mapping[str, float]], mode: theme.Mode, *, x_max_s: float | None = None, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """One stacked bar a row in ms per output token, and the layout override for phones.

    rows: name -> seconds by the keys of theme.STEP_PARTS (other parts are shown by their own name, in grey; NaN is
    absent). The first row is the scenario, further ones what it is compared with; an empty name is not written.
    x_max_s: where the axis ends, else just beyond the longest bar. scale: size of type (1.3 in a meeting; not on phones).
    ValueError for a negative part.
    """
    names, parts = list(rows), list(rows.values())
    keys = [key for key in theme.STEP_PARTS if any(key in row for row in parts)]
    keys += [key for key in dict.fromkeys(key for row in parts for key in row) if key not in theme.STEP_PARTS]
    ms = 1e3 * np.array([[row.get(key, np.nan) for key in keys] for row in parts], dtype=float).reshape(len(rows), -1)
    if (ms < 0).any():
        raise ValueError("a part of the step is negative")
    totals = np.nansum(ms, axis=1)
    x_max = 1e3 * x_max_s if x_max_s else float(totals.max(initial=0.0)) * 1.02 or 1.0
    colors = theme.palette(mode)
    traces = [_trace(key, ms[:, j], totals, names, colors, scale) for j, key in enumerate(keys)]
    layout, narrow = _layouts(keys, totals, names, colors, x_max, scale)
    return theme.figure(traces, layout), narrow


def _fill(key: str, colors: theme.Palette) -> str:
    return colors.steps.get(key, colors.axis)


def _trace(key: str, ms: np.ndarray, totals: np.ndarray, names: list[str], colors: theme.Palette, scale: float) -> dict:
    fill, name = _fill(key, colors), theme.step_label(key)
    hover = []
    for value, total, row in zip(ms, totals, names, strict=True):
        head = f"{row}, {name}" if row else name
        part = share(value / total) if total > 0 else MISSING
        hover.append(
            _("{label}: {time}, {share} of the step").format(
                label=head, time=join_unit(number(value), "ms"), share=part
            )
        )
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


def _layouts(
    keys: list[str], totals: np.ndarray, names: list[str], colors: theme.Palette, x_max: float, scale: float
) -> tuple[dict, dict]:
    size = theme.TEXT_SIZE * scale
    named = any(names)
    ticks = theme.round_ticks(0.0, x_max, False)
    bottom = len(totals) - 0.5
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
            "title": {"text": _("ms per output token"), "standoff": 6, "font": {"size": size, "color": colors.muted}},
            "tickfont": {"size": size, "color": colors.muted},
            "gridcolor": colors.grid,
            "zerolinecolor": colors.axis,
            "fixedrange": True,
        },
        yaxis={
            "range": [bottom, -0.8 if named else -0.5],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        uniformtext={"mode": "hide", "minsize": size},
        annotations=[_key(keys, colors, size, 99), *_notes(totals, names, colors, x_max, size)],
    )
    narrow = {
        "margin": _MARGIN_NARROW,
        "xaxis": {"title": {"font": {"size": theme.SMALL_SIZE}}, "tickfont": {"size": theme.SMALL_SIZE}},
        "annotations": [
            _key(keys, colors, theme.SMALL_SIZE, 3),
            *_notes(totals, names, colors, x_max, theme.SMALL_SIZE),
        ],
    }
    return wide, narrow


def _key(keys: list[str], colors: theme.Palette, size: float, a_line: int) -> dict:
    entries = [theme.key_entry(_fill(key, colors), theme.step_label(key)) for key in keys]
    lines = ["   ".join(entries[i : i + a_line]) for i in range(0, len(entries), a_line)]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "yshift": 4}
    return {
        "name": "key",
        "text": "<br>".join(lines),
        "showarrow": False,
        "align": "left",
        "font": {"size": size},
        **place,
    }


def _notes(totals: np.ndarray, names: list[str], colors: theme.Palette, x_max: float, size: float) -> list[dict]:
    notes = []
    for row, (total, name) in enumerate(zip(totals, names, strict=True)):
        base = {"showarrow": False, "xref": "x", "yref": "y", "xanchor": "left", "font": {"size": size}}
        text = f"<b>{join_unit(number(total), 'ms')}</b>"
        notes.append({**base, "name": "total", "text": text, "x": min(total, x_max), "y": row, "xshift": 4})
        if name:
            ink = colors.reference if row else colors.scenario
            head = f'<b><span style="color:{ink}">{name}</span></b>'
            notes.append({**base, "name": "head", "text": head, "x": 0, "y": row - _BAR / 2, "yanchor": "bottom"})
    return notes
