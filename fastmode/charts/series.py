"""Chips in series against their number of stages, and time per output token against bandwidth and latency of the links."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis, Box
from fastmode.format import D3_NUMBER, count, number
from fastmode.i18n import N_, _
from fastmode.series import RATIOS, SHARDS, Case, Line, Machine, Series
from fastmode.serving import Service

HEIGHT = 400
HEIGHT_NARROW = 860
LINKS_HEIGHT = 360
LINKS_HEIGHT_NARROW = 620

_STAGES = (0.85, 150.0)
_STAGE_TICKS = (1, 2, 4, 8, 16, 32, 64, 128)
_MS, _TOTAL, _PER_CHIP = (0.2, 50.0), (10.0, 3e5), (0.01, 1e4)
_RATIO_ENDS = (4.0, 8.0, 16.0, 64.0)  # of the axis of links: the first that holds all lines
_RATIO_TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 4, 8, 16, 32, 64)
_MARGIN = {"l": 60, "r": 14, "t": 78, "b": 46}
_MARGIN_NARROW = {"l": 54, "r": 12, "t": 106, "b": 42}
_COLUMN_GAP_PX, _ROW_GAP_PX = 58, 62
_ALPHA = {90: 0.13, 50: 0.22}
_DOT_PX, _NOW_PX = 9, 13
_MOST_COVERED = 3  # points of lines that a name may hide, about 4 px apart
_FULL, _ALONE = N_("as many requests as stages"), N_("one request")
_HOVER = f"%{{x:{D3_NUMBER}}}, %{{y:{D3_NUMBER}}}"


@dataclass(frozen=True, eq=False)
class _Curve:
    """One line of a panel, arrays of n; bands: level -> (low, high). name: written at the line where it is not empty."""

    meta: str
    hover: str
    ink: str
    x: np.ndarray
    y: np.ndarray
    dashed: bool = False
    name: str = ""
    bands: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Panel:
    title: str
    x_axis: Axis
    y_axis: Axis
    x_title: str
    curves: Sequence[_Curve]
    now: tuple[float, float] | None = None
    level: float = np.nan  # a line across


@dataclass(frozen=True)
class _View:
    panels: Sequence[_Panel]
    colors: theme.Palette
    key: Sequence[str]


def _ink(machine: Machine, colors: theme.Palette) -> str:
    return colors.scenario if machine.own else colors.reference if machine.compared else colors.muted


def series_figure(found: Series, mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Three panels over the number of stages: one user's time per output token, output of all chips, output per chip.

    Solid: as many requests as stages; dashed: one request. Shaded: bands of time per output token, around one request in the first
    panel and the full pipeline in the others. A machine with one number of stages is a dot. Axes are logarithmic and fixed.
    """
    colors = theme.palette(mode)
    x_axis = _axis(_STAGES, _STAGE_TICKS)
    specs = (
        (_("ms per output token"), _MS, lambda line, load: 1e3 * load.tpot_s, found.own.tpot_s * 1e3),
        (_("output tok/s, all chips"), _TOTAL, Line.total, found.own.output_tokens_per_s),
        (_("output tok/s per chip"), _PER_CHIP, Line.per_chip, found.own.output_tokens_per_s / found.own.n_chips),
    )
    panels = []
    for i, (title, ends, value, now) in enumerate(specs):
        curves = []
        for line in found.lines:
            alone, full = (line.alone_ln, {}) if i == 0 else ({}, line.full_ln)
            curves.append(_line(line, line.alone, _ALONE, value, alone, colors, named=i == 0))
            curves.append(_line(line, line.full, _FULL, value, full, colors, named=False))
        spot = (found.own_stages, float(now[0])) if np.isfinite(now[0]) else None
        panels.append(_Panel(title, x_axis, _axis(ends, _decades(ends)), _("stages in series"), curves, spot))
    machines = "   ".join(theme.key_entry(_ink(line.machine, colors), line.machine.label) for line in found.lines)
    key = [
        machines,
        _("solid, filled: as many requests as stages; dashed, hollow: one request"),
        _("large dot: the scenario; shaded: 50 and 90 % band"),
    ]
    return _figure(_View(panels, colors, key), HEIGHT, HEIGHT_NARROW, scale)


def _line(
    line: Line, load: Service, word: str, value, widths: dict[int, np.ndarray], colors: theme.Palette, named: bool
) -> _Curve:
    y = value(line, load)
    bands = {level: (y * np.exp(-half), y * np.exp(half)) for level, half in widths.items()}
    m = line.machine
    alone = word == _ALONE
    return _Curve(
        f"{m.label}:{'alone' if alone else 'full'}", f"{m.label}, {_(word)}", _ink(m, colors), line.stages, y, alone, m.label if named else "", bands,
    )  # fmt: skip


def links_figure(cases: Sequence[Case], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Two panels: time per output token over that as built, against bandwidth and against latency of the links, from 1/8 to 8 times.

    Solid: layers shared among the chips; dashed: chips in series. Shaded: 90 % band of the ratio. The axis of time is fixed, and
    longer where a line needs it.
    """
    colors = theme.palette(mode)
    highest = max((float(np.nanmax(part)) for case in cases for part in (case.by_bandwidth, case.by_latency)), default=1.0)
    end = next((e for e in _RATIO_ENDS if e >= highest), _RATIO_ENDS[-1])
    low = 0.6
    y_axis = _axis((low, end), tuple(t for t in _RATIO_TICKS if low <= t <= end))
    x_axis = Axis(
        float(RATIOS[0]) * 0.95, float(RATIOS[-1]) / 0.95, True, RATIOS[::2], [times(ratio) for ratio in RATIOS[::2]]
    )
    panels = []
    for by, x_title in (("by_bandwidth", _("bandwidth of the links, x as built")), ("by_latency", _("latency of the links, x as built"))):
        curves = [_case(case, getattr(case, by), colors) for case in cases]
        panels.append(_Panel(_("time per output token, x as built"), x_axis, y_axis, x_title, curves, level=1.0))
    key = [_("solid: each layer shared among the chips; dashed: chips in series"), _("shaded: 90 % band of the ratio")]
    return _figure(_View(panels, colors, key), LINKS_HEIGHT, LINKS_HEIGHT_NARROW, scale)


def case_name(case: Case) -> str:
    """Chips and how they are joined, in words."""
    words = {"n": count(float(case.as_built.n_chips[0])), "part": case.machine.label}
    return (_("{n} {part}, layers shared") if case.joined == SHARDS else _("{n} {part} in series")).format(**words)


def _case(case: Case, ends: np.ndarray, colors: theme.Palette) -> _Curve:
    name = case_name(case)
    still = bool(np.abs(ends[1] - 1.0).max() < 0.005)
    band = {} if still else {90: (ends[0], ends[2])}
    meta = f"{case.machine.label}:{case.joined}"
    return _Curve(meta, name, _ink(case.machine, colors), RATIOS, ends[1], case.joined != SHARDS, "" if still else name, band)


def times(ratio: float) -> str:
    """A multiple as the axis of links writes it: 0.5 is "1/2"."""
    return number(ratio) if ratio >= 1 else f"1/{number(1 / ratio)}"


def _axis(ends: tuple[float, float], ticks: Sequence[float]) -> Axis:
    return Axis(*ends, True, np.asarray(ticks, float), [number(tick) for tick in ticks])


def _decades(ends: tuple[float, float]) -> np.ndarray:
    return theme.round_ticks(*ends, True, 9)


# figure


def _figure(view: _View, height: int, height_narrow: int, scale: float) -> tuple[go.Figure, dict]:
    traces = [trace for i, panel in enumerate(view.panels) for trace in _panel_traces(panel, i, view.colors)]
    wide = theme.base_layout(
        view.colors, scale, showlegend=False, dragmode=False, hovermode="closest", hoverdistance=14,
        **_layout(view, (labels.least_width(scale), scale * height), scale, narrow=False),
    )  # fmt: skip
    return theme.figure(traces, wide), _layout(view, (theme.NARROWEST_PX, height_narrow), 1.0, narrow=True)


def _tail(i: int) -> str:
    return str(i + 1) if i else ""


def _panel_traces(panel: _Panel, i: int, colors: theme.Palette) -> list[dict]:
    on = {"type": "scatter", "xaxis": f"x{_tail(i)}", "yaxis": f"y{_tail(i)}"}
    traces = []
    if np.isfinite(panel.level):
        ends = np.array([panel.x_axis.low, panel.x_axis.high])
        line = {"color": colors.axis, "width": 1}
        traces.append({**on, "mode": "lines", "meta": "level", "x": ends, "y": np.full(2, panel.level), "line": line, "hoverinfo": "skip"})
    for curve in panel.curves:
        traces += [_band(on, curve, level) for level in sorted(curve.bands, reverse=True) if len(curve.x) > 1]
    traces += [_curve(on, curve, colors) for curve in panel.curves]
    if panel.now:
        marker = {"size": _NOW_PX, "color": colors.scenario, "line": {"color": colors.ground, "width": 2}}
        hover = _("the scenario, {panel}").format(panel=panel.title) + f": {_HOVER}<extra></extra>"
        now = {"x": np.array([panel.now[0]]), "y": np.array([panel.now[1]])}
        traces.append({**on, **now, "mode": "markers", "meta": "now", "marker": marker, "hovertemplate": hover})
    return traces


def _band(on: dict, curve: _Curve, level: int) -> dict:
    low, high = curve.bands[level]
    known = np.isfinite(low * high)
    x, low, high = curve.x[known], low[known], high[known]
    return {
        **on, "mode": "lines", "meta": f"{curve.meta}:{level}", "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]),
        "fill": "toself", "fillcolor": theme.translucent(curve.ink, _ALPHA[level]), "line": {"width": 0}, "hoverinfo": "skip",
    }  # fmt: skip


def _curve(on: dict, curve: _Curve, colors: theme.Palette) -> dict:
    trace = {**on, "meta": curve.meta, "x": curve.x, "y": curve.y, "hovertemplate": f"{curve.hover}: {_HOVER}<extra></extra>"}
    if int(np.isfinite(curve.y).sum()) > 1:
        return {**trace, "mode": "lines", "line": {"color": curve.ink, "width": 2.5, "dash": "dash" if curve.dashed else "solid"}}
    marker = {"size": _DOT_PX, "color": colors.ground if curve.dashed else curve.ink, "line": {"color": curve.ink, "width": 2}}
    low, high = curve.bands.get(90, (curve.y, curve.y))
    error = {
        "type": "data", "symmetric": False, "array": high - curve.y, "arrayminus": curve.y - low, "width": 0, "thickness": 2,
        "color": theme.translucent(curve.ink, 0.5),
    }  # fmt: skip
    return {**trace, "mode": "markers", "marker": marker, "error_y": error}


def _layout(view: _View, size_px: tuple[float, float], scale: float, narrow: bool) -> dict:
    colors, n = view.colors, len(view.panels)
    margin = {side: px * scale for side, px in (_MARGIN_NARROW if narrow else _MARGIN).items()}
    inner = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    type_px = theme.SMALL_SIZE if narrow else theme.TEXT_SIZE - 1
    small = {"size": type_px * scale, "color": colors.muted}
    base = {"zeroline": False, "fixedrange": True, "tickfont": small, "gridcolor": colors.grid, "linecolor": colors.axis, "showline": True}
    gap = (_ROW_GAP_PX if narrow else _COLUMN_GAP_PX * scale) / inner[1 if narrow else 0]
    each = (1.0 - gap * (n - 1)) / n
    out: dict = {"margin": margin, "annotations": [_key(view, margin, type_px * scale, narrow)]}
    for i, panel in enumerate(view.panels):
        start = i * (each + gap)
        span, down = ([start, min(start + each, 1.0)], [max(1.0 - start - each, 0.0), 1.0 - start])
        x_domain, y_domain = ([0.0, 1.0], down) if narrow else (span, [0.0, 1.0])
        last = not narrow or i == n - 1 or panel.x_title != view.panels[-1].x_title
        title = {"text": panel.x_title if last else "", "font": small, "standoff": 4}
        out[f"xaxis{_tail(i)}"] = {**base, **panel.x_axis.layout(), "domain": x_domain, "anchor": f"y{_tail(i)}", "title": title}
        out[f"yaxis{_tail(i)}"] = {**base, **panel.y_axis.layout(), "domain": y_domain, "anchor": f"x{_tail(i)}"}
        width, height = (inner[0], each * inner[1]) if narrow else (each * inner[0], inner[1])
        out["annotations"] += [_title(panel, i, margin, small["size"]), *_names(panel, i, width / scale, height / scale, type_px, view, scale)]
    return out


def _title(panel: _Panel, i: int, margin: dict, size: float) -> dict:
    return {
        "name": "title", "text": f"<b>{panel.title}</b>", "showarrow": False, "font": {"size": size}, "xref": f"x{_tail(i)} domain",
        "yref": f"y{_tail(i)} domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "xshift": -0.6 * margin["l"], "yshift": 4,
    }  # fmt: skip


def _key(view: _View, margin: dict, size: float, narrow: bool) -> dict:
    rows = [part for row in view.key for part in (row.split("; ") if narrow else [row])]
    if not narrow and len(rows) > 2:
        rows = [rows[0], "; ".join(rows[1:])]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "top", "align": "left"}
    shift = {"xshift": 2 - margin["l"], "yshift": margin["t"]}
    font = {"size": size, "color": view.colors.text}
    return {"name": "key", "text": "<br>".join(rows), "showarrow": False, "font": font, **place, **shift}


def _covered(box: Box, drawn: np.ndarray) -> int:
    """Points of the lines under a text."""
    x, y = drawn.T
    return int(np.sum((x > box.left) & (x < box.right) & (y > box.bottom) & (y < box.top)))


def _names(panel: _Panel, i: int, width: float, height: float, size: float, view: _View, scale: float) -> list[dict]:
    """Names of the lines beside them, where there is room."""
    if not any(curve.name for curve in panel.curves):
        return []
    paths = [
        np.column_stack([panel.x_axis.place(curve.x) * width, panel.y_axis.place(curve.y) * height]) for curve in panel.curves
    ]
    drawn = np.concatenate([np.empty((0, 2)), *(labels.curve_points(*path.T) for path in paths)])
    pen = labels.Writer(panel.x_axis, panel.y_axis, width, height, size, view.colors, scale, _tail(i), drawn, [])
    if panel.now:
        pen.mark(*panel.now, _NOW_PX / 2)
    for curve, path in zip(panel.curves, paths, strict=True):
        known = path[np.isfinite(path).all(axis=1)]
        if not curve.name or not len(known):
            continue
        spots = known[np.unique(np.linspace(0, len(known) - 1, 9).astype(int))[::-1]]
        if np.isfinite(panel.level):  # where the line is farthest from the others
            away = np.abs(spots[:, 1] - float(panel.y_axis.place(panel.level)) * height)
            spots = spots[np.argsort(-away, kind="stable")]
        boxes = [box for spot in spots for box in labels.around(tuple(spot), curve.name, size, 8, bold=True)]
        box = next((box for box in boxes if labels.clear(pen, box) and _covered(box, drawn) < _MOST_COVERED), None) or labels.clear_place(pen, boxes)
        if box:
            middle = (box.left + box.right) / 2, (box.bottom + box.top) / 2
            at = min((tuple(spot) for spot in spots), key=lambda spot: np.hypot(spot[0] - middle[0], spot[1] - middle[1]))
            pen.write(box, f"<b>{curve.name}</b>", curve.ink, "name", at=at)
    return pen.notes

