"""Four outcomes against one choice: panels that share x, a number (batch, distillation) or a list (hardware)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.format import D3_NUMBER, MISSING, number, quantity
from fastmode.i18n import _

HEIGHT = 600
HEIGHT_NARROW = 1040

_WIDE_WIDTH = 760  # px the labels are placed for: the least width of the wide layout
_NARROW_WIDTH = 358  # px the names on the axis are thinned for: a phone of 390 px less the page's margins
_MARGIN = {"l": 52, "r": 14, "t": 74, "b": 56}
_MARGIN_NARROW = {"l": 46, "r": 16, "t": 30, "b": 50}  # t: and the legend's lines
_COLUMN_GAP, _ROW_GAP, _ROW_GAP_NARROW = 0.085, 0.17, 0.07
_NARROW_KEYS = {"margin", "legend", "annotations", "font"}
_LEGEND_KEY = 44  # px of the sample before a name in the legend, with the gaps around it
_LEGEND_CHARS = 30  # longest line of a reason in the legend
_UPRIGHT_FROM = 6  # categories whose names no longer fit side by side
_NAME_SIZE = 10  # px, of upright names
_NAME_PITCH = 9.0  # px, the least distance of two upright names; closer ones are thinned


@dataclass(frozen=True)
class Panel:
    """One outcome. All values in `unit` ("%" means percent, "x" a multiple), NaN where there is none.

    y: shape (n,), as x. published: (x, y, label) of published points. baseline: a dashed line and its label.
    band50, band90: (low, high), each of shape (n,). y_range: fixed range of the axis, else from the data.
    missing: why there is nothing to draw, shown in the panel when y has no value at all.
    """

    key: str
    title: str
    unit: str
    y: np.ndarray
    now_y: float = np.nan
    reference_y: float = np.nan
    published: Sequence[tuple[float | str, float, str]] = ()
    y_range: tuple[float, float] | None = None
    log_y: bool = False
    baseline: float | None = None
    baseline_label: str = ""
    band50: tuple[np.ndarray, np.ndarray] | None = None
    band90: tuple[np.ndarray, np.ndarray] | None = None
    missing: str = ""


def tradeoffs_figure(
    x: np.ndarray | Sequence[str],
    x_title: str,
    log_x: bool,
    tick_values: Sequence[float] | None,
    panels: Sequence[Panel],
    mode: theme.Mode,
    now_x: float | str | None,
    reference_label: str = "",
    *,
    scenario_label: str = "",
    x_range: tuple[float, float] | None = None,
    x_unit: str = "",
    infeasible: Sequence[tuple[float | str, float | str, str]] = (),
    scale: float = 1.0,
) -> tuple[go.Figure, dict]:
    """Panels two by two in the order given, and the layout override that stacks them on a phone.

    x: numbers in rising order (curves; at most about 300) or names (dots). tick_values: where x is labelled, None for
    round values. now_x: the scenario's own x, filled at each panel's now_y. reference_label: names the dotted line.
    infeasible: (from, to, reason) spans of x, hatched; for names the same name twice. Curves stop inside them.
    x_unit: written after the figures of x ("x" for distillation). scale: size of type (1.3 in a meeting).
    ValueError if a panel's y has another length than x.
    """
    names = None if len(x) == 0 or not isinstance(x[0], str) else list(x)
    for panel in panels:
        if np.shape(panel.y) != (len(x),):
            raise ValueError(f"{panel.key}: y has shape {np.shape(panel.y)}, x has {len(x)} values")
    positions = np.arange(len(names), dtype=float) if names else np.asarray(x, dtype=float)
    spans = [(_position(a, names), _position(b, names), reason) for a, b, reason in infeasible]
    half = 0.5 if names else 0.0
    possible = np.ones(len(positions), dtype=bool)
    for start, stop, _reason in spans:
        possible &= ~((positions >= start) & (positions <= stop))
    x_axis = _x_axis(positions, names, log_x, tick_values, x_range, x_unit)
    view = _View(
        colors=theme.palette(mode),
        scale=scale,
        x=positions,
        names=names,
        x_title=x_title,
        x_unit=x_unit,
        x_axis=x_axis,
        y_axes=[_y_axis(panel) for panel in panels],
        panels=list(panels),
        possible=possible,
        spans=[(start - half, stop + half, reason) for start, stop, reason in spans],
        now_x=np.nan if now_x is None else _position(now_x, names),
        # The option may be its own reference: one name for two lines would say nothing.
        reference_label=_("reference") if reference_label and reference_label == scenario_label else reference_label,
        scenario_label=scenario_label or _("modelled"),
    )
    data = [trace for i in range(len(panels)) for trace in _traces(view, i)]
    return theme.figure(data, _wide_layout(view)), _narrow_layout(view)


@dataclass(frozen=True)
class _View:
    """What every part of the figure needs; x in axis coordinates (names at 0, 1, 2 ...)."""

    colors: theme.Palette
    scale: float
    x: np.ndarray
    names: list[str] | None
    x_title: str
    x_unit: str
    x_axis: theme.Axis
    y_axes: list[theme.Axis]
    panels: list[Panel]
    possible: np.ndarray
    spans: list[tuple[float, float, str]]
    now_x: float
    reference_label: str
    scenario_label: str

    def curve(self, i: int) -> np.ndarray:
        return np.where(self.possible, np.asarray(self.panels[i].y, dtype=float), np.nan)


def _position(value: float | str, names: list[str] | None) -> float:
    return float(names.index(value)) if names and isinstance(value, str) else float(value)


# axes


def _x_axis(
    positions: np.ndarray,
    names: list[str] | None,
    log_x: bool,
    tick_values: Sequence[float] | None,
    x_range: tuple[float, float] | None,
    unit: str,
) -> theme.Axis:
    if names:
        return theme.Axis(-0.5, len(names) - 0.5, False, positions, names)
    low, high = x_range or (float(positions.min()), float(positions.max()))
    ticks = theme.round_ticks(low, high, log_x) if tick_values is None else np.asarray(tick_values, dtype=float)
    return theme.Axis(low, high, log_x, ticks, [quantity(v, "x" if unit == "x" else "") for v in ticks])


def _y_axis(panel: Panel) -> theme.Axis:
    low, high = panel.y_range or _data_range(panel)
    ticks = theme.round_ticks(low, high, panel.log_y, 5)
    return theme.Axis(low, high, panel.log_y, ticks, [quantity(v, "x" if panel.unit == "x" else "") for v in ticks])


def _data_range(panel: Panel) -> tuple[float, float]:
    """A range with some air around everything drawn, 0 included where the data come near it."""
    values = [np.ravel(panel.y), [panel.now_y, panel.reference_y, panel.baseline or np.nan]]
    values += [[y for _x, y, _label in panel.published], *(panel.band90 or ()), *(panel.band50 or ())]
    known = np.concatenate([np.asarray(v, dtype=float) for v in values])
    known = known[np.isfinite(known) & ((known > 0) | (not panel.log_y))]
    if not len(known):
        return (1.0, 10.0) if panel.log_y else (0.0, 1.0)
    low, high = known.min(), known.max()
    if panel.log_y:
        return float(low / 1.4), float(high * 1.6)
    air = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
    return (0.0 if 0 <= low <= 0.6 * high else float(low - air)), float(high + air)


# traces


def _traces(view: _View, i: int) -> list[dict]:
    panel, colors = view.panels[i], view.colors
    on = {"xaxis": f"x{i + 1 if i else ''}", "yaxis": f"y{i + 1 if i else ''}", "type": "scatter"}
    first = i == 0

    def trace(kind: str, name: str, **parts: object) -> dict:
        rank = {"now": 1, "curve": 2, "reference": 3, "published": 4, "infeasible": 9}.get(kind, 6)
        base = {**on, "name": name, "legendgroup": kind, "legendrank": rank, "meta": f"{panel.key}:{kind}"}
        return {**base, "showlegend": first and bool(name), "hoverinfo": "skip", **parts}

    traces = [_hatch(view, i, trace)] if view.spans else []
    bands = ((panel.band90, 0.14, _("90 % band"), 5), (panel.band50, 0.26, _("50 % band"), 13))
    for band, alpha, name, width in bands:
        if band is not None:
            fill = theme.translucent(colors.scenario, alpha)
            traces.append(trace(name, name, **_band(view, band, fill, width)))
    ends = np.array([view.x_axis.low, view.x_axis.high])
    if panel.baseline is not None:
        line = {"color": colors.muted, "width": 1.5, "dash": "dash"}
        traces.append(trace("baseline", "", mode="lines", x=ends, y=np.full(2, panel.baseline, float), line=line))
    line = {"color": colors.reference, "width": 2.5, "dash": "dot"}
    at = np.full(2, panel.reference_y, dtype=float)
    traces.append(trace("reference", view.reference_label, mode="lines", x=ends, y=at, line=line))
    traces.append(trace("curve", view.scenario_label, **_curve(view, i)))
    if view.names and not view.possible.all():
        traces.append(trace("impossible", "", **_crosses(view, i)))
    published = [(_position(px, view.names), py, label) for px, py, label in panel.published]
    # An empty trace keeps the legend the same on every panel and while published points come and go.
    traces.append(
        trace(
            "published",
            _("published"),
            mode="markers",
            x=np.array([p[0] for p in published], dtype=float),
            y=np.array([p[1] for p in published], dtype=float),
            marker=_dot(11, "rgba(0,0,0,0)", colors.published, 2),
            hoverinfo="text",
            hovertext=[f"{label}: {quantity(py, panel.unit)} ({_('published')})" for _px, py, label in published],
        )
        | {"showlegend": first and any(p.published for p in view.panels)}
    )
    now = {"x": np.array([view.now_x]), "y": np.array([panel.now_y], dtype=float)}
    traces.append(trace("now", _("now"), mode="markers", **now, marker=_dot(14, colors.scenario, colors.ground, 2)))
    return traces


def _dot(size: float, fill: str, line: str, width: float) -> dict:
    return {"symbol": "circle", "size": size, "color": fill, "line": {"color": line, "width": width}}


def _curve(view: _View, i: int) -> dict:
    color = view.colors.scenario
    look = {"mode": "markers", "marker": _dot(10, color, color, 0), "opacity": 0.75}
    if not view.names:
        look = {"mode": "lines", "line": {"color": color, "width": 3, "simplify": False}}
    values = [view.curve(j) for j in range(len(view.panels))]
    band = view.panels[i].band90
    if band is not None:  # the last two columns, where this panel has a band
        values += [np.where(view.possible, np.asarray(edge, dtype=float), np.nan) for edge in band]
    values = np.column_stack(values)
    numeric = [bool(np.isfinite(values[view.possible, j]).all()) for j in range(values.shape[1])]
    if all(numeric):
        custom, forms = values.astype(np.float32), [f":{D3_NUMBER}"] * values.shape[1]
    else:  # the browser would print NaN; a missing value is a dash
        custom = np.array([[number(v) for v in row] for row in values], dtype=object)
        forms = [""] * values.shape[1]
    lines = []
    for j, panel in enumerate(view.panels):
        unit = panel.unit if panel.unit == "x" else f" {panel.unit}"
        shown = MISSING if not np.isfinite(values[:, j]).any() else f"%{{customdata[{j}]{forms[j]}}}{unit}"
        text = f"{panel.title}: {shown}"
        if j == i and band is not None and shown != MISSING:
            ends = "-".join(f"%{{customdata[{k}]{forms[k]}}}" for k in (-2 % values.shape[1], -1 % values.shape[1]))
            text += f" ({_('90 %')}: {ends})"
        lines.append(f"<b>{text}</b>" if j == i else text)
    head = "%{text}" if view.names else f"{view.x_title}: %{{x:{D3_NUMBER}}}{view.x_unit}"
    extra = {"text": np.array(view.names, dtype=object)} if view.names else {}
    hover = {"hovertemplate": "<br>".join([head, *lines]) + "<extra></extra>", "hoverinfo": "all"}
    return {
        "x": view.x.astype(np.float32),
        "y": view.curve(i).astype(np.float32),
        "customdata": custom,
        **look,
        **hover,
        **extra,
    }


def _crosses(view: _View, i: int) -> dict:
    axis = view.y_axes[i]
    impossible = np.flatnonzero(~view.possible)
    low = axis.low * (axis.high / axis.low) ** 0.06 if axis.log else axis.low + 0.06 * (axis.high - axis.low)
    reasons = [next(r for a, b, r in view.spans if a <= view.x[k] <= b) for k in impossible]
    return {
        "mode": "markers",
        "x": view.x[impossible],
        "y": np.full(len(impossible), low),
        "marker": {"symbol": "x-thin", "size": 9, "line": {"color": view.colors.axis, "width": 2}},
        "hoverinfo": "text",
        "hovertext": [f"{view.names[k]}: {reason}" for k, reason in zip(impossible, reasons, strict=True)],
    }


def _band(view: _View, band: tuple[np.ndarray, np.ndarray], fill: str, width: float) -> dict:
    low, high = (np.where(view.possible, np.asarray(edge, dtype=float), np.nan) for edge in band)
    known = np.isfinite(low) & np.isfinite(high)
    if view.names:
        gap = np.full(known.sum(), np.nan)
        bars_y = np.column_stack([low[known], high[known], gap]).ravel()
        return {"mode": "lines", "x": np.repeat(view.x[known], 3), "y": bars_y, "line": {"color": fill, "width": width}}
    x = np.concatenate([view.x[known], view.x[known][::-1]]).astype(np.float32)
    y = np.concatenate([low[known], high[known][::-1]]).astype(np.float32)
    return {"mode": "lines", "x": x, "y": y, "fill": "toself", "fillcolor": fill, "line": {"width": 0, "color": fill}}


def _hatch(view: _View, i: int, trace) -> dict:
    """All infeasible spans of one panel as a single hatched shape (layout shapes cannot be hatched)."""
    axis = view.y_axes[i]
    x, y = [], []
    for start, stop, _reason in view.spans:
        x += [start, stop, stop, start, start, np.nan]
        y += [axis.low, axis.low, axis.high, axis.high, axis.low, np.nan]
    pattern = {"shape": "/", "fgcolor": view.colors.hatch, "bgcolor": "rgba(0,0,0,0)", "size": 8, "solidity": 0.25}
    look = {"fill": "toself", "fillcolor": "rgba(0,0,0,0)", "fillpattern": pattern, "line": {"width": 0}}
    return trace("infeasible", _reason_entry(view), mode="lines", x=np.array(x), y=np.array(y), **look)


def _reason_entry(view: _View) -> str:
    """One span has one reason, which the legend can name; several have theirs in the hatching or the hover."""
    reason = view.spans[0][2] if len(view.spans) == 1 and not view.names else ""
    return "<br>".join(wrap(reason, _LEGEND_CHARS)) or _("not possible")


# layout


def _wide_layout(view: _View) -> dict:
    n = len(view.panels)
    boxes = _boxes(n, 2, _COLUMN_GAP, _ROW_GAP)
    return _layout(view, boxes, set(range(max(n - 2, 0), n)), _MARGIN, (_WIDE_WIDTH, HEIGHT), theme.TEXT_SIZE)


def _narrow_layout(view: _View) -> dict:
    n = len(view.panels)
    margin = {**_MARGIN_NARROW, "t": _MARGIN_NARROW["t"] + 19 * _legend_lines(view)}
    boxes = _boxes(n, 1, 0.0, _ROW_GAP_NARROW)
    view = replace(view, scale=1.0)
    layout = _layout(view, boxes, {n - 1}, margin, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE)
    return {k: v for k, v in layout.items() if k in _NARROW_KEYS or k.startswith(("xaxis", "yaxis"))}


def _legend_lines(view: _View) -> int:
    """Lines the legend takes on the narrowest phone: entries stand in columns as wide as the widest, or one a line."""
    names = [_("now"), view.scenario_label, view.reference_label]
    names += [_("published")] * any(p.published for p in view.panels)
    for band, name in (("band50", _("50 % band")), ("band90", _("90 % band"))):
        names += [name] * any(getattr(p, band) is not None for p in view.panels)
    names += [_reason_entry(view)] * bool(view.spans)
    lines = [line for name in names for line in name.split("<br>")]
    widest = max(theme.text_width_px(line, theme.SMALL_SIZE) for line in lines) + _LEGEND_KEY
    columns = max(int((theme.NARROWEST_PX - _MARGIN_NARROW["l"] - _MARGIN_NARROW["r"]) / widest), 1)
    return -(-len(names) // columns) + len(lines) - len(names)


def _boxes(n: int, columns: int, column_gap: float, row_gap: float) -> list[tuple[float, float, float, float]]:
    """(left, right, bottom, top) of each panel as shares of the plot, row by row from the top."""
    n_rows = -(-n // columns)
    width, height = (1 - column_gap * (columns - 1)) / columns, (1 - row_gap * (n_rows - 1)) / n_rows
    lefts = [(i % columns) * (width + column_gap) for i in range(n)]
    tops = [1 - (i // columns) * (height + row_gap) for i in range(n)]
    return [(left, left + width, max(top - height, 0.0), top) for left, top in zip(lefts, tops, strict=True)]


def _layout(
    view: _View,
    boxes: list[tuple[float, float, float, float]],
    titled: set[int],
    margin: dict,
    size_px: tuple[int, int],
    type_px: int,
) -> dict:
    colors, scale = view.colors, view.scale
    small = {"size": max(type_px - 1, theme.SMALL_SIZE) * scale, "color": colors.muted}
    upright = bool(view.names) and len(view.names) >= _UPRIGHT_FROM
    x_look = {"tickangle": 0, "tickfont": small}
    if upright:
        longest = max(theme.text_width_px(name, _NAME_SIZE) for name in view.names)
        margin = {**margin, "b": float(np.ceil(longest + 40))}
        x_look = {"tickangle": -90, "tickfont": {**small, "size": _NAME_SIZE * scale}}
        panel_px = (boxes[0][1] - boxes[0][0]) * (max(size_px[0], _NARROW_WIDTH) - margin["l"] - margin["r"])
        x_look |= _thinned(view, panel_px)
    axes: dict[str, dict] = {}
    notes: list[dict] = []
    for i, (left, right, bottom, top) in enumerate(boxes):
        tail = str(i + 1) if i else ""
        missing = not np.isfinite(view.curve(i)).any()
        line = {"gridcolor": colors.grid, "zeroline": False, "tickfont": small}
        axes[f"xaxis{tail}"] = {
            **line,
            **view.x_axis.layout(),
            "domain": [left, right],
            "anchor": f"y{tail}",
            "showgrid": not view.names,
            "showline": True,
            "linecolor": colors.axis,
            "title": {"text": view.x_title if i in titled else "", "font": small, "standoff": 6},
            **x_look,
            "showticklabels": i in titled if view.names else True,
            "showspikes": not view.names,
            "spikemode": "across",
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": colors.axis,
            "hoverformat": D3_NUMBER,
            **({"matches": "x"} if i else {}),
        }
        axes[f"yaxis{tail}"] = {
            **line,
            **view.y_axes[i].layout(),
            "domain": [bottom, top],
            "anchor": f"x{tail}",
            "showticklabels": not missing,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "rgba(0,0,0,0)",
        }
        notes.append(_title(view, i, left, top, type_px, margin["l"] if size_px[0] == theme.NARROWEST_PX else 0))
        width = (right - left) * (size_px[0] - margin["l"] - margin["r"])
        height = (top - bottom) * (size_px[1] - margin["t"] - margin["b"])
        notes += _labels(view, i, tail, width / scale, height / scale, small["size"] / scale)
    return theme.base_layout(
        colors,
        scale,
        showlegend=True,
        legend=theme.legend(colors, small["size"]),
        # On a curve the value under the pointer, at any height; among dots the nearest one.
        hovermode="closest" if view.names else "x",
        hoverdistance=60 if view.names else 16,
        uirevision="tradeoffs",
        margin={side: px * scale for side, px in margin.items()},
        annotations=notes,
        **axes,
    )


def _thinned(view: _View, width: float) -> dict:
    """The names that have room on `width` px: all, or every second (third ...) one, the scenario's own among them."""
    every = int(np.ceil(_NAME_PITCH * len(view.names) / width))
    first = int(view.now_x) % every if np.isfinite(view.now_x) else 0
    return {"tickvals": view.x[first::every], "ticktext": view.names[first::every]}


def _title(view: _View, i: int, left: float, top: float, type_px: int, outdent: float) -> dict:
    """The panel's title; with an outdent (px) it starts at the figure's edge and shrinks to fit the narrowest phone."""
    panel, size = view.panels[i], float(type_px + 1)
    # A multiple carries its "x" on the axis.
    unit = f' <span style="color:{view.colors.muted}">{panel.unit}</span>' if panel.unit not in ("", "x") else ""
    if outdent:
        needed = theme.text_width_px(panel.title, size, bold=True) + theme.text_width_px(f" {panel.unit}", size)
        size *= min(1.0, (theme.NARROWEST_PX - 4) / needed)
    return {
        "name": "title",
        "text": f"<b>{panel.title}</b>{unit}",
        "showarrow": False,
        "font": {"size": size * view.scale, "color": view.colors.text},
        "xref": "paper",
        "yref": "paper",
        "x": left,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": -outdent,
        "yshift": 4,
    }


# labels in the panels


def _labels(view: _View, i: int, tail: str, width: float, height: float, size: float) -> list[dict]:
    """Texts of one panel, most important first; a published point whose label finds no place has it in its hover only."""
    panel, axis, colors = view.panels[i], view.y_axes[i], view.colors
    curve = view.curve(i)
    x_px, y_px = view.x_axis.place(view.x) * width, axis.place(curve) * height
    known = np.isfinite(y_px)
    heights = [panel.reference_y] + ([] if panel.baseline is None else [panel.baseline])
    lines = [float(axis.place(y)) * height for y in heights if np.isfinite(y)]
    drawn = np.empty((0, 2)) if view.names else labels.curve_points(x_px, y_px)
    pen = labels.Writer(view.x_axis, axis, width, height, size, colors, view.scale, tail, drawn, lines)
    now = pen.mark(view.now_x, panel.now_y, 9)
    published = [(pen.mark(_position(px, view.names), py, 7), label) for px, py, label in panel.published]
    if view.names:
        pen.taken += [theme.Box.around(x, y, 8, 8) for x, y in zip(x_px[known], y_px[known], strict=True)]
    if panel.missing and not known.any():
        middle = theme.Box.around(width / 2, height / 2, theme.text_width_px(panel.missing, size), 2 * size)
        pen.write(middle, panel.missing, colors.muted, "missing")
    if now:
        text = quantity(panel.now_y, panel.unit)
        box = pen.best(labels.around(now, text, size, 11, bold=True), must=True)
        pen.write(box, f"<b>{text}</b>", colors.scenario, "now", at=now)
    spans = [tuple(np.clip(view.x_axis.place(np.array(span[:2])), 0, 1) * width) for span in view.spans]
    for span, (_start, _stop, reason) in [] if view.names else zip(spans, view.spans, strict=True):
        for angle, candidates in labels.reason_places(span, spans, reason, height, size):
            box = pen.best(candidates)
            if box:
                pen.write(box, reason, colors.muted, "reason", textangle=angle)
                break
    if panel.baseline is not None and panel.baseline_label:
        box = pen.best(labels.along(panel.baseline_label, float(axis.place(panel.baseline)) * height, size, width))
        if box:
            pen.write(box, panel.baseline_label, colors.muted, "baseline")
    marks = [at for at, _label in published if at]
    for at, label in published:
        box = at and pen.best(labels.nearest_to(at, marks, labels.around(at, label, size, 9)))
        if box:
            pen.write(box, label, colors.published, "published", at=at)
    return pen.notes
