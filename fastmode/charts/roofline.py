"""Rooflines of the two sides' chips, with decode at several batches and prefill under them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis, Box
from fastmode.format import number
from fastmode.i18n import _
from fastmode.roofline import BATCHES, Roof

HEIGHT = 450
HEIGHT_NARROW = 500

TERA = 1e12
_X = (0.2, 10_000.0)  # FLOP per byte
_Y = (0.1, 60_000.0)  # TFLOP/s per chip
_X_TICKS = (1, 10, 100, 1000, 10_000)
_Y_TICKS = (0.1, 1, 10, 100, 1000, 10_000)
_MARGIN = {"l": 74, "r": 16, "t": 52, "b": 48}
_MARGIN_NARROW = {"l": 56, "r": 12, "t": 96, "b": 44}
_DECODE_PX, _OWN_PX, _PREFILL_PX, _RIDGE_PX = 8, 14, 11, 10


@dataclass(frozen=True)
class _View:
    roofs: Sequence[Roof]
    colors: theme.Palette
    x_axis: Axis
    y_axis: Axis

    def ink(self, roof: Roof) -> str:
        return self.colors.reference if roof.reference else self.colors.scenario


def roofline_figure(roofs: Sequence[Roof], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Roofs as lines, decode as dots with 90 % whiskers (the side's own batch larger), prefill as a square, the ridge as a diamond;
    both axes are logarithmic and fixed. Also the layout override for narrow places.

    scale: size of type (1.3 in a meeting; not on phones).
    """
    view = _View(roofs, theme.palette(mode), _axis(_X, _X_TICKS), _axis(_Y, _Y_TICKS))
    ordered = sorted(roofs, key=lambda roof: not roof.reference)  # the scenario is drawn above the reference
    traces = [trace for roof in ordered for trace in _traces(view, roof)]
    wide = theme.base_layout(
        view.colors, scale, showlegend=False, dragmode=False, hovermode="closest", hoverdistance=14,
        **_layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )  # fmt: skip
    return theme.figure(traces, wide), _layout(
        view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0
    )


def _axis(ends: tuple[float, float], ticks: tuple[float, ...]) -> Axis:
    return Axis(*ends, True, np.asarray(ticks, float), [number(tick) for tick in ticks])


def _roof_points(roof: Roof) -> tuple[np.ndarray, np.ndarray]:
    x = np.unique(np.clip([_X[0], roof.ridge, _X[1]], *_X))
    return x, roof.attainable(x) / TERA


# traces


def _traces(view: _View, roof: Roof) -> list[dict]:
    ink, side = view.ink(roof), "reference" if roof.reference else "scenario"
    x, y = _roof_points(roof)
    drawn = np.isfinite(roof.attained)
    attained = roof.attained[drawn] / TERA
    hover = [
        _hover(roof, _("decode, {n} running requests").format(n=number(batch)), at, reached)
        for batch, at, reached in zip(np.array(BATCHES)[drawn], roof.intensity[drawn], roof.attained[drawn], strict=True)
    ]
    own = _hover(roof, _("decode at its own {n} running requests").format(n=number(roof.batch)), roof.own_intensity, roof.own_attained)
    prompt = _("prefill, {n} prompt tokens at a time").format(n=number(roof.prefill_tokens))
    whiskers = {
        "type": "data", "symmetric": False, "array": roof.high[drawn] / TERA - attained, "arrayminus": attained - roof.low[drawn] / TERA,
        "width": 0, "thickness": 2, "color": theme.translucent(ink, 0.5),
    }  # fmt: skip
    edge = {"color": view.colors.ground, "width": 1}
    return [
        {
            "type": "scatter", "mode": "lines", "meta": f"{side}:roof", "x": x, "y": y, "hoverinfo": "skip",
            "line": {"color": ink, "width": 2 if roof.reference else 3},
        },
        {
            "type": "scatter", "mode": "lines+markers", "meta": f"{side}:decode", "x": roof.intensity[drawn], "y": attained,
            "error_y": whiskers, "line": {"color": theme.translucent(ink, 0.45), "width": 1.5},
            "marker": {"size": _DECODE_PX, "color": ink, "line": edge}, "hovertext": hover, "hovertemplate": "%{hovertext}<extra></extra>",
        },
        _mark(f"{side}:own", roof.own_intensity, roof.own_attained, own, {"size": _OWN_PX, "color": ink, "line": edge}),
        _mark(
            f"{side}:prefill", roof.prefill_intensity, roof.prefill_attained, _hover(roof, prompt, roof.prefill_intensity, roof.prefill_attained),
            {"size": _PREFILL_PX, "symbol": "square", "color": ink, "line": edge},
        ),
        _mark(
            f"{side}:ridge", roof.ridge, roof.peak_flops,
            _("{part}: the ridge, {peak} TFLOP/s from {ridge} FLOP per byte").format(
                part=roof.label, peak=number(roof.peak_flops / TERA), ridge=number(roof.ridge)
            ),
            {"size": _RIDGE_PX, "symbol": "diamond", "color": view.colors.ground, "line": {"color": ink, "width": 2}},
        ),
    ]  # fmt: skip


def _mark(meta: str, x: float, flops: float, hover: str, marker: dict) -> dict:
    return {
        "type": "scatter", "mode": "markers", "meta": meta, "x": np.array([x]), "y": np.array([flops / TERA]), "marker": marker,
        "hovertext": [hover], "hovertemplate": "%{hovertext}<extra></extra>",
    }  # fmt: skip


def _hover(roof: Roof, what: str, intensity: float, attained: float) -> str:
    return _("{part}, {what}: {intensity} FLOP per byte, {reached} of {most} TFLOP/s per chip").format(
        part=roof.label, what=what, intensity=number(intensity), reached=number(attained / TERA),
        most=number(float(roof.attainable(intensity)) / TERA),
    )  # fmt: skip


# layout


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, size_px[0] == theme.NARROWEST_PX
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True, "gridcolor": colors.grid}
    title = {"font": small, "standoff": 6}
    return {
        "margin": margin,
        "xaxis": {**axis, **view.x_axis.layout(), "title": {"text": _("FLOP per byte read or written"), **title}},
        "yaxis": {**axis, **view.y_axis.layout(), "title": {"text": _("TFLOP/s per chip"), **title}},
        "annotations": [
            _key(view, margin, type_px * scale, narrow),
            *_texts(view, width / scale, height / scale, small["size"] / scale, scale),
        ],
    }


def _key(view: _View, margin: dict, size: float, narrow: bool) -> dict:
    chips = [theme.key_entry(view.ink(roof), roof.label) for roof in view.roofs]
    signs = [("\u2501", _("roof, from the part's data")), ("\u25cf", _("decode")), ("\u25a0", _("prefill")), ("\u25c7", _("ridge"))]
    entries = [f'<span style="color:{view.colors.muted}">{sign}</span>\u00a0{name.replace(" ", chr(0xA0))}' for sign, name in signs]
    rest = _("numbers: running requests; dots and squares are modelled, whiskers 90 %")
    rows = ["   ".join(chips + entries), rest]
    if narrow:
        cut = rest.partition("; ")
        rows = ["   ".join(chips), "   ".join(entries), cut[0], cut[2]]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "top", "align": "left"}
    shift = {"xshift": 2 - margin["l"], "yshift": margin["t"]}
    font = {"size": size, "color": view.colors.text}
    return {"name": "key", "text": "<br>".join(rows), "showarrow": False, "font": font, **place, **shift}


def _texts(view: _View, width: float, height: float, size: float, scale: float) -> list[dict]:
    """Ridges first, then batches at their dots and prefill, the scenario's before the reference's."""
    drawn = []
    for roof in view.roofs:
        x, y = _roof_points(roof)
        drawn.append(labels.curve_points(view.x_axis.place(x) * width, view.y_axis.place(y) * height))
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, view.colors, scale, "", np.concatenate([np.empty((0, 2)), *drawn]), [])
    spots = []
    for roof in view.roofs:
        known = np.flatnonzero(np.isfinite(roof.attained))
        dots = [(roof.intensity[i], roof.attained[i], _DECODE_PX, number(BATCHES[i])) for i in known if BATCHES[i] != roof.batch]
        dots.insert(0, (roof.own_intensity, roof.own_attained, _OWN_PX, number(roof.batch)))
        prefill = (roof.prefill_intensity, roof.prefill_attained, _PREFILL_PX, "")
        full = _("{part} ridge: {value} FLOP/byte").format(part=roof.label, value=number(roof.ridge))
        ridge = (roof.ridge, roof.peak_flops, _RIDGE_PX, full, _("ridge: {value}").format(value=number(roof.ridge)))
        for x, y, px, *texts in (ridge, *dots, prefill):
            spots.append((roof, pen.mark(x, y / TERA, px / 2) if np.isfinite(y) else None, texts))
    marks = [spot for _roof, spot, _texts in spots if spot]
    for roof, spot, texts in spots:
        for text in filter(None, texts if spot else []):  # a shorter one where the longer has no room
            box = labels.place_near(pen, spot, marks, text, rings=labels.AWAY[:1]) or labels.clear_place(pen, _beside(spot, text, size))
            if box:
                pen.write(box, f"<b>{text}</b>", view.ink(roof), "at", at=spot)
                break
    return pen.notes


def _beside(spot: tuple[float, float], text: str, size: float) -> list[Box]:
    """Places to the right and left of a dot in a column of dots."""
    return [box for away in (9, 16) for box in labels.around(spot, text, size, away)[2:4]]
