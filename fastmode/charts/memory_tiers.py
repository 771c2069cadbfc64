"""Memory of the parts: what a chip holds against how fast it reads that, with what the scenario's model takes."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis, Box
from fastmode.format import count, join_unit, number
from fastmode.i18n import _, ngettext
from fastmode.memory_tiers import Tiers

HEIGHT = 470
HEIGHT_NARROW = 520

GIGA, TERA = 1e9, 1e12
_X = (0.03, 10_000.0)  # GB per chip
_Y = (0.3, 60_000.0)  # TB/s per chip
_X_TICKS = (0.1, 1, 10, 100, 1000, 10_000)
_Y_TICKS = (1, 10, 100, 1000, 10_000)
_READ_ONCE_S = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_MARGIN = {"l": 74, "r": 16, "t": 52, "b": 48}
_MARGIN_NARROW = {"l": 56, "r": 12, "t": 98, "b": 44}
_MARK_PX, _SIDE_PX, _CACHE_PX = 9, 14, 6
_OTHERS, _ANNOUNCED, _CACHE = "others", "announced", "cache"


@dataclass(frozen=True)
class _View:
    tiers: Tiers
    model: str
    colors: theme.Palette
    x_axis: Axis
    y_axis: Axis

    def needed_gb(self) -> float:
        return self.tiers.needed_bytes / GIGA

    def ink(self, kind: str) -> str:
        return {"scenario": self.colors.scenario, "reference": self.colors.reference}.get(kind, self.colors.muted)


def memory_tiers_figure(
    tiers: Tiers, model: str, mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """One mark a part, lines of equal time to read all memory once, and an upright line at what the model takes; both axes are
    logarithmic and fixed. Also the layout override for narrow places.

    model: its name. A part beyond the axes is not drawn; the upright line stands at the axis' end where the model takes more.
    scale: size of type (1.3 in a meeting; not on phones).
    """
    view = _View(tiers, model, theme.palette(mode), _axis(_X, _X_TICKS), _axis(_Y, _Y_TICKS))
    groups = _groups(tiers)
    traces = _read_once(view) + [_needed(view)] + [_caches(view)]
    traces += [_marks(view, kind, chosen) for kind, chosen in groups.items() if chosen.any()]
    wide = theme.base_layout(
        view.colors, scale, showlegend=False, dragmode=False, hovermode="closest", hoverdistance=14,
        **_layout(view, groups, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )  # fmt: skip
    narrow = _layout(view, groups, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(traces, wide), narrow


def time_text(seconds: float) -> str:
    """A time in s, ms or microseconds, whichever has a figure before its point."""
    for size, unit in ((1.0, _("s")), (1e-3, _("ms"))):
        if seconds >= size * 0.9995:
            return join_unit(number(seconds / size), unit)
    return join_unit(number(seconds * 1e6), _("\u00b5s"))


def bytes_text(size: float) -> str:
    """Bytes in MB, GB or TB."""
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if size >= unit * 0.9995:
            return join_unit(number(size / unit), name)
    return join_unit(number(size / 1e6), "MB")


def _axis(ends: tuple[float, float], ticks: tuple[float, ...]) -> Axis:
    return Axis(*ends, True, np.asarray(ticks, float), [number(tick) for tick in ticks])


def _groups(t: Tiers) -> dict[str, np.ndarray]:
    sides = t.own | t.compared
    return {
        _OTHERS: t.on_sale & ~sides, _ANNOUNCED: ~t.on_sale & ~sides, "reference": t.compared, "scenario": t.own,
    }  # fmt: skip


# traces


def _read_once(view: _View) -> list[dict]:
    x = np.array(_X)
    line = {"color": view.colors.grid, "width": 1.5}
    return [
        {
            "type": "scatter", "mode": "lines", "meta": f"read:{t:g}", "x": x, "y": x * GIGA / t / TERA, "line": line,
            "hoverinfo": "skip",
        }
        for t in _READ_ONCE_S
    ]  # fmt: skip


def _needed(view: _View) -> dict:
    x = min(max(view.needed_gb(), _X[0]), _X[1])
    return {
        "type": "scatter", "mode": "lines", "meta": "needed", "x": np.full(2, x), "y": np.array(_Y),
        "line": {"color": view.colors.scenario, "width": 2, "dash": "dash"}, "hoverinfo": "skip",
    }  # fmt: skip


def _caches(view: _View) -> dict:
    t, known = view.tiers, np.isfinite(view.tiers.cache_bytes * view.tiers.cache_bandwidth)
    where = np.flatnonzero(known)
    hover = [
        _("{part}, on-chip SRAM beside its main memory: {size} at {rate} TB/s").format(
            part=t.labels[i], size=bytes_text(t.cache_bytes[i]), rate=number(t.cache_bandwidth[i] / TERA)
        )
        for i in where
    ]
    marker = {"symbol": "circle-open", "size": _CACHE_PX, "color": view.colors.muted, "line": {"width": 1.5}}
    return _scatter(_CACHE, t.cache_bytes[known] / GIGA, t.cache_bandwidth[known] / TERA, hover, marker)


def _marks(view: _View, kind: str, chosen: np.ndarray) -> dict:
    t, ink = view.tiers, view.ink(kind)
    size = _SIDE_PX if kind in ("scenario", "reference") else _MARK_PX
    marker = {"size": size, "color": ink, "line": {"color": view.colors.ground, "width": 1}}
    if kind == _ANNOUNCED:
        marker |= {"symbol": "diamond-open", "line": {"color": ink, "width": 1.5}}
    hover = [_hover(view, int(i)) for i in np.flatnonzero(chosen)]
    return _scatter(kind, t.memory_bytes[chosen] / GIGA, t.bandwidth[chosen] / TERA, hover, marker)


def _scatter(meta: str, x: np.ndarray, y: np.ndarray, hover: list[str], marker: dict) -> dict:
    return {
        "type": "scatter", "mode": "markers", "meta": meta, "x": x, "y": y, "marker": marker, "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>", "cliponaxis": False,
    }  # fmt: skip


def _hover(view: _View, i: int) -> str:
    t = view.tiers
    lines = [
        f"<b>{t.labels[i]}</b>",
        _("{size} at {rate} TB/s, all of it read in {time}").format(
            size=bytes_text(t.memory_bytes[i]), rate=number(t.bandwidth[i] / TERA), time=time_text(t.read_once_s[i])
        ),
        t.reasons[i] or chips_text(view.model, t.chips[i]),
    ]
    return "<br>".join(lines)


def chips_text(model: str, chips: float) -> str:
    """How many chips a model takes, in words."""
    return ngettext("{model} takes {n} chip", "{model} takes {n} chips", round(chips)).format(model=model, n=count(chips))


# layout


def _layout(
    view: _View, groups: dict[str, np.ndarray], margin: dict, size_px: tuple[float, float], type_px: int, scale: float
) -> dict:
    colors, narrow = view.colors, size_px[0] == theme.NARROWEST_PX
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "showgrid": False, "linecolor": colors.axis, "showline": True}
    title = {"font": small, "standoff": 6}
    return {
        "margin": margin,
        "xaxis": {**axis, **view.x_axis.layout(), "title": {"text": _("memory per chip, GB"), **title}},
        "yaxis": {**axis, **view.y_axis.layout(), "title": {"text": _("bandwidth per chip, TB/s"), **title}},
        "annotations": [
            _key(view, groups, margin, type_px * scale, narrow),
            *_texts(view, width / scale, height / scale, small["size"] / scale, scale),
        ],
    }


def _key(view: _View, groups: dict[str, np.ndarray], margin: dict, size: float, narrow: bool) -> dict:
    colors = view.colors
    signs = [
        ("\u25cf", colors.scenario, _("scenario's part"), groups["scenario"].any()),
        ("\u25cf", colors.reference, _("reference's part"), groups["reference"].any()),
        ("\u25cf", colors.muted, _("other parts"), groups[_OTHERS].any()),
        ("\u25c7", colors.muted, _("announced, desktop"), groups[_ANNOUNCED].any()),
        ("\u25cb", colors.muted, _("SRAM on a chip with main memory"), True),
    ]
    entries = [f'<span style="color:{ink}">{sign}</span>\u00a0{name.replace(" ", chr(0xA0))}' for sign, ink, name, shown in signs if shown]
    a_line = 2 if narrow else 5
    rows = ["   ".join(entries[i : i + a_line]) for i in range(0, len(entries), a_line)]
    rows.append(_("slanted lines: time to read all memory once"))
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "top", "align": "left"}
    shift = {"xshift": 2 - margin["l"], "yshift": margin["t"]}
    font = {"size": size, "color": colors.text}
    return {"name": "key", "text": "<br>".join(rows), "showarrow": False, "font": font, **place, **shift}


def _texts(view: _View, width: float, height: float, size: float, scale: float) -> list[dict]:
    """Texts in the figure: the upright line's, the slanted lines', then as many parts' names as have room, both sides' first."""
    t, colors = view.tiers, view.colors
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, colors, scale, "", np.empty((0, 2)), [])
    gb, rates = t.memory_bytes / GIGA, t.bandwidth / TERA
    first = np.flatnonzero(t.own | t.compared)
    spots = {int(i): pen.mark(gb[i], rates[i], _SIDE_PX / 2 if i in first else _MARK_PX / 2 + 1) for i in range(len(gb))}
    for x, y in zip(t.cache_bytes / GIGA, t.cache_bandwidth / TERA, strict=True):
        if np.isfinite(x * y):
            pen.mark(x, y, _CACHE_PX / 2)
    _write_needed(view, pen)
    _write_read_once(view, pen)
    pen.drawn = _upright(view, pen)
    known = [spot for spot in spots.values() if spot]
    order = [*first, *np.argsort(-_lonely(gb, rates))]
    for i in dict.fromkeys(int(i) for i in order):
        spot = spots[i]
        if spot is None:
            continue
        side = i in first
        text = t.labels[i] if np.isnan(t.chips[i]) or not side else f"{t.labels[i]}: {_chips(t.chips[i])}"
        box = labels.place_near(pen, spot, known, text, rings=(labels.AWAY[:2] if side else labels.AWAY[:1]))
        if box is None and side:
            box = labels.place_led(pen, spot, text)
            if box:
                pen.write(box, f"<b>{text}</b>", _side_ink(view, i), "part", at=spot, led=True)
            continue
        if box:
            pen.write(box, f"<b>{text}</b>" if side else text, _side_ink(view, i), "part", at=spot)
    return pen.notes


def _side_ink(view: _View, i: int) -> str:
    return view.ink("scenario" if view.tiers.own[i] else "reference" if view.tiers.compared[i] else "")


def _chips(chips: float) -> str:
    return ngettext("{n} chip", "{n} chips", round(chips)).format(n=count(chips))


def _lonely(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distance of each mark to its nearest neighbour, in decades: those that stand alone are named first."""
    far = np.hypot(np.log10(x)[:, None] - np.log10(x), np.log10(y)[:, None] - np.log10(y))
    np.fill_diagonal(far, np.inf)
    return far.min(axis=1)


def _upright(view: _View, pen: labels.Writer) -> np.ndarray:
    x = float(view.x_axis.place(min(max(view.needed_gb(), _X[0]), _X[1]))) * pen.width
    return labels.curve_points(np.full(2, x), np.array([0.0, pen.height]))


def _write_needed(view: _View, pen: labels.Writer) -> None:
    rows = [_("{model} takes").format(model=view.model), bytes_text(view.tiers.needed_bytes)]
    x = float(view.x_axis.place(min(max(view.needed_gb(), _X[0]), _X[1]))) * pen.width
    places = labels.beside_upright(x, rows, pen.size, pen.height)
    box = labels.clear_place(pen, places) or pen.best(places, must=True)
    at = (x, (box.bottom + box.top) / 2)
    pen.write(box, "<br>".join(f"<b>{row}</b>" for row in rows), view.colors.scenario, "needed", at=at)


def _write_read_once(view: _View, pen: labels.Writer) -> None:
    """Each slanted line's time where it leaves the figure, or further down it where another text or the upright line stands."""
    upright = float(view.x_axis.place(min(max(view.needed_gb(), _X[0]), _X[1]))) * pen.width
    for seconds in _READ_ONCE_S:
        x = np.geomspace(*_X, 120)
        curve = np.column_stack([
            view.x_axis.place(x) * pen.width, view.y_axis.place(x * GIGA / seconds / TERA) * pen.height,
        ])  # fmt: skip
        text = time_text(seconds)
        half = theme.text_width_px(text, pen.size) / 2
        inside = curve[(curve[:, 1] < pen.height - pen.size) & (curve[:, 0] < pen.width - half - 2) & (curve[:, 1] > pen.size)][::-1]
        boxes = (Box.around(px, py, 2 * half, 1.3 * pen.size) for px, py in inside)
        box = next((box for box in boxes if labels.clear(pen, box) and not box.left - 3 < upright < box.right + 3), None)
        if box:
            pen.write(box, text, view.colors.muted, "read", bgcolor=view.colors.ground)
