"""Provider cost of a million output tokens by part: the range of chip-hour prices, and what the speed's band does to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import money, number
from fastmode.i18n import _

ROW_PX, ROW_NARROW_PX = 23, 23
_MARGIN = {"l": 118, "r": 132, "t": 62, "b": 48}
_MARGIN_NARROW = {"l": 98, "r": 52, "t": 104, "b": 44}


@dataclass(frozen=True)
class PriceRow:
    """One part: USD per million output tokens at the low, middle and high price of a chip-hour.

    band_low, band_high: the 90 % band of the modelled speed at the middle price. derived: no rental price, so from purchase and
    estimates. list_usd: a published list price of the option this part serves, NaN for none.
    """

    label: str
    kind: Literal["scenario", "part", "announced"]
    low: float
    mid: float
    high: float
    band_low: float
    band_high: float
    derived: bool
    list_usd: float = np.nan


def height(rows: int) -> int:
    """Height of the figure in px, wide layout."""
    return _MARGIN["t"] + _MARGIN["b"] + ROW_PX * rows


def height_narrow(rows: int) -> int:
    """Height on a phone."""
    return _MARGIN_NARROW["t"] + _MARGIN_NARROW["b"] + ROW_NARROW_PX * rows


def price_range_figure(rows: Sequence[PriceRow], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """One line a part in the order given, logarithmic; and the layout override for phones.

    Broad: range of prices; thin: band of the speed; circles stand on rental prices, squares on derived ones; hollow: a list price.
    scale: size of type (1.3 in a meeting; not on phones). ValueError without rows or where a middle cost is not positive.
    """
    if not rows or not all(row.mid > 0 for row in rows):
        raise ValueError("every row needs a positive cost")
    colors = theme.palette(mode)
    axis = _axis(rows)
    layout = _layout(rows, axis, colors, _MARGIN, theme.TEXT_SIZE, scale)
    wide = theme.base_layout(colors, scale, showlegend=False, dragmode=False, hovermode="closest", **layout)
    return theme.figure(_traces(rows, colors, scale), wide), _layout(rows, axis, colors, _MARGIN_NARROW, theme.SMALL_SIZE, 1.0)


def _axis(rows: Sequence[PriceRow]) -> theme.Axis:
    values = np.array([(r.low, r.mid, r.high, r.band_low, r.band_high, r.list_usd) for r in rows]).ravel()
    values = values[np.isfinite(values) & (values > 0)]
    rounds = np.outer(10.0 ** np.arange(-9, 10), (1, 2, 5)).ravel()
    low, high = float(rounds[rounds <= values.min()].max()), float(rounds[rounds >= values.max()].min())
    ticks = theme.round_ticks(low, high, True, 6)
    return theme.Axis(low, high, True, ticks, [money(v) for v in ticks])


def _ink(row: PriceRow, colors: theme.Palette) -> str:
    return {"scenario": colors.scenario, "announced": colors.muted}.get(row.kind, colors.text)


def _traces(rows: Sequence[PriceRow], colors: theme.Palette, scale: float) -> list[dict]:
    y = np.arange(len(rows), dtype=float)
    inks = [_ink(row, colors) for row in rows]
    made = []
    for i, row in enumerate(rows):
        for name, ends, width, alpha in (("price", (row.low, row.high), 8, 0.32), ("band", (row.band_low, row.band_high), 1.5, 0.9)):
            line = {"color": theme.translucent(inks[i], alpha), "width": width * scale}
            made.append({"type": "scatter", "mode": "lines", "meta": f"{name}:{i}", "x": np.array(ends), "y": np.array([y[i]] * 2), "line": line, "hoverinfo": "skip", "showlegend": False})
    made.append(
        {
            "type": "scatter",
            "mode": "markers",
            "meta": "cost",
            "showlegend": False,
            "x": np.array([row.mid for row in rows]),
            "y": y,
            "marker": {"symbol": ["square" if row.derived else "circle" for row in rows], "size": 9 * scale, "color": inks, "line": {"color": colors.ground, "width": 1.5}},
            "hovertext": [_hover(row) for row in rows],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
    )
    made.append(
        {
            "type": "scatter",
            "mode": "markers",
            "meta": "list",
            "showlegend": False,
            "x": np.array([row.list_usd for row in rows]),
            "y": y,
            "marker": {"symbol": "diamond", "size": 12 * scale, "color": colors.ground, "line": {"color": colors.published, "width": 2}},
            "hovertext": [_("{part}: list price {price} per Mtok of output").format(part=row.label, price=money(row.list_usd)) for row in rows],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
    )
    return made


def _hover(row: PriceRow) -> str:
    text = _("{part}: {mid} per Mtok of output, {low}-{high} by price of a chip-hour, {band_low}-{band_high} by the 90 % band of the speed").format(
        part=row.label, mid=money(row.mid), low=money(row.low), high=money(row.high), band_low=money(row.band_low), band_high=money(row.band_high)
    )
    return f"{text}<br>{_basis(row)}"


def _basis(row: PriceRow) -> str:
    return _("price derived from purchase and estimates") if row.derived else _("rental price")


def _layout(rows: Sequence[PriceRow], axis: theme.Axis, colors: theme.Palette, margin: dict, type_px: int, scale: float) -> dict:
    narrow = type_px == theme.SMALL_SIZE
    small = theme.SMALL_SIZE * scale
    margin = {side: px * scale for side, px in margin.items()}
    notes = [_key(rows, colors, small, margin, narrow)]
    for i, row in enumerate(rows):
        text = f"<b>{money(row.mid)}</b>"
        if not narrow and row.low < row.high:
            text += f' <span style="color:{colors.muted}">{money(row.low)}-{number(row.high)}</span>'
        place = {"xref": "paper", "yref": "y", "x": 1, "y": i, "xanchor": "left", "yanchor": "middle", "xshift": 8 * scale}
        notes.append({"name": "figure", "text": text, "showarrow": False, "font": {"size": small, "color": _ink(row, colors)}, **place})
    listed = [row for row in rows if np.isfinite(row.list_usd)]
    shapes = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": row.list_usd, "x1": row.list_usd, "y0": 0, "y1": 1, "layer": "below", "line": {"color": colors.published, "width": 1, "dash": "dot"}}
        for row in listed
    ]
    ticks = theme.round_ticks(axis.low, axis.high, True, 4) if narrow else axis.ticks
    return {
        "margin": margin,
        "xaxis": {
            **axis.layout(),
            "tickvals": ticks,
            "ticktext": [money(v) for v in ticks],
            "title": {"text": _("USD per million output tokens (Mtok)"), "standoff": 6, "font": {"size": small, "color": colors.muted}},
            "tickfont": {"size": small, "color": colors.muted},
            "gridcolor": colors.grid,
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(rows) - 0.4, -0.6],
            "tickvals": np.arange(len(rows)),
            "ticktext": [f'<span style="color:{_ink(row, colors)}">{f"<b>{row.label}</b>" if row.kind == "scenario" else row.label}</span>' for row in rows],
            "tickfont": {"size": small},
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "shapes": shapes,
        "annotations": notes,
    }


def _key(rows: Sequence[PriceRow], colors: theme.Palette, size: float, margin: dict, narrow: bool) -> dict:
    entries = [f"\u25cf\u00a0{_('rental price')}"]
    if any(row.derived for row in rows):
        entries.append(f"\u25a0\u00a0{_('price derived')}")
    entries.append(f'<span style="color:{theme.translucent(colors.text, 0.4)}">\u25ac</span>\u00a0{_("range of chip-hour prices")}')
    entries.append(f"\u2500\u00a0{_('90 % band of the speed')}")
    listed = [row.list_usd for row in rows if np.isfinite(row.list_usd)]
    if listed:
        entries.append(f"\u25c7\u00a0{_('list price of the option, {price}').format(price=money(listed[0]))}")
    if any(row.kind == "announced" for row in rows):
        entries.append(f'<span style="color:{colors.muted}">{_("grey: announced")}</span>')
    entries = [entry.replace("<span style", "<span\x00style").replace(" ", "\u00a0").replace("<span\x00style", "<span style") for entry in entries]
    lines = [2, 3, 4, 5] if narrow else [4]
    text = ""
    for i, entry in enumerate(entries):
        text += ("" if not i else "<br>" if i in lines else "   ") + entry
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "align": "left"}
    return {"name": "key", "text": text, "showarrow": False, "font": {"size": size, "color": colors.text}, **place, "xshift": 8 - margin["l"], "yshift": 6}
