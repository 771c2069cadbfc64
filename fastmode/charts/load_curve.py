"""Load against latency: what a request waits for its first token, for each token and for its end, over the traffic."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.bus import Curve
from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis
from fastmode.format import D3_NUMBER, number
from fastmode.i18n import N_, _

HEIGHT = 340
HEIGHT_NARROW = 760

# Measures with the words above their panels, and what a second is there.
PANELS = {
    "ttft_s": (N_("to the first token, s"), 1.0),
    "tpot_s": (N_("per output token, ms"), 1e3),
    "time_s": (N_("to the last token, s"), 1.0),
}
POLICY_WORDS = {"continuous": N_("continuous"), "static": N_("static")}
_NOTED = "tpot_s"  # the panel with room for the names of the upright lines

_MARGIN = {"l": 50, "r": 16, "t": 58, "b": 46}
_MARGIN_NARROW = {"l": 48, "r": 12, "t": 72, "b": 42}
_GAP = 0.065  # between two panels, of the width; narrow: of the height
_GAP_NARROW = 0.085
_AIR = 1.3  # above and below the curves, as a factor
_ERRORS = 2.0  # standard errors from a dot to the end of its whisker
_BEYOND = 1.25  # the axis ends this far behind the last saturation


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    curves: Sequence[Curve]
    now: float
    x_axis: Axis
    y_axes: dict[str, Axis]

    def ink(self, policy: str) -> str:
        return self.colors.scenario if policy == "continuous" else self.colors.steps["collectives"]


def load_curve_figure(
    curves: Sequence[Curve], now_requests_per_s: float, mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """A panel a measure on logarithmic axes: solid the mean, dashed the 95th percentile; and the phones' layout.

    Lines are the closed form as far as it is held, dots the simulation, joined by a thin line beyond. Upright: where each
    policy is saturated, and the traffic now. scale: size of type (1.3 in a meeting; not on phones). ValueError without a curve.
    """
    if not curves:
        raise ValueError("no curve to draw")
    rates = [rate for c in curves for rate in (c.requests_per_s[0], c.saturation_requests_per_s * _BEYOND)]
    shown = [*rates, *([now_requests_per_s] if min(rates) / 20 < now_requests_per_s < max(rates) * 20 else [])]
    low, high = min(shown), max(shown)
    ticks = theme.round_ticks(low, high, True, 5)
    x_axis = Axis(low, high, True, ticks, [number(v) for v in ticks])
    view = _View(theme.palette(mode), list(curves), float(now_requests_per_s), x_axis, {name: _y_axis(curves, name) for name in PANELS})
    margin = {side: px * scale for side, px in _MARGIN.items()}
    wide = theme.base_layout(
        view.colors, scale, showlegend=False, dragmode=False, hovermode="closest",
        **_layout(view, margin, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale, narrow=False),
    )  # fmt: skip
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0, narrow=True)
    traces = [t for i, name in enumerate(PANELS) for curve in curves for t in _traces(view, curve, name, _tail(i))]
    return theme.figure(traces, wide), narrow


def _tail(i: int) -> str:
    return str(i + 1) if i else ""


def _y_axis(curves: Sequence[Curve], name: str) -> Axis:
    per_s = PANELS[name][1]
    held = [v[name] for c in curves for v in (c.mean, c.p95, c.band, c.simulated_mean, c.simulated_p95) if name in v]
    values = np.concatenate([np.ravel(v) for v in held])
    values = per_s * values[np.isfinite(values) & (values > 0.0)]
    low, high = (float(values.min()) / _AIR, float(values.max()) * _AIR) if values.size else (0.1, 10.0)
    ticks = theme.round_ticks(low, high, True, 6)
    if len(ticks) < 3:
        ticks = theme.round_ticks(low, high, False, 5)
    return Axis(low, high, True, ticks, [number(v) for v in ticks])


def _traces(view: _View, curve: Curve, name: str, tail: str) -> list[dict]:
    color, per_s, word = view.ink(curve.policy), PANELS[name][1], _(POLICY_WORDS[curve.policy])
    common = {"type": "scatter", "xaxis": f"x{tail}", "yaxis": f"y{tail}"}
    found = []
    if name in curve.band:
        ends = [per_s * end for end in curve.band[name]]
        known = np.isfinite(ends[0])
        x, (below, above) = curve.requests_per_s[known], (end[known] for end in ends)
        found.append({
            **common, "mode": "lines", "meta": f"{curve.policy}:{name}:band", "x": np.concatenate([x, x[::-1]]),
            "y": np.concatenate([above, below[::-1]]), "fill": "toself", "fillcolor": theme.translucent(color, 0.16),
            "line": {"width": 0}, "hoverinfo": "skip",
        })  # fmt: skip
    kinds = (("mean", _("mean"), curve.mean, curve.simulated_mean, None), ("p95", _("95 in 100 are below"), curve.p95, curve.simulated_p95, "dash"))
    for kind, says, closed, simulated, dash in kinds:
        hover = _("{policy}, {kind}, %{{x:{form}}} requests/s: %{{y:{form}}}").format(policy=word, kind=says, form=D3_NUMBER)
        hover = f"{hover}<extra></extra>"
        line = {"color": color, "width": 2.5 if kind == "mean" else 1.5, **({"dash": dash} if dash else {})}
        if name in closed:
            found.append({
                **common, "mode": "lines", "meta": f"{curve.policy}:{name}:{kind}", "x": curve.requests_per_s,
                "y": per_s * closed[name], "line": line, "hovertemplate": hover,
            })  # fmt: skip
        dots = {
            "symbol": "circle" if kind == "mean" else "circle-open", "size": 6, "color": color, "line": {"width": 1.2, "color": color},
        }  # fmt: skip
        if name in closed:  # the simulation alone goes on from the last point of the line
            last = np.flatnonzero(np.isfinite(closed[name]))
            stop = curve.requests_per_s[last[-1]] if last.size else 0.0
        else:
            stop = 0.0
        beyond = curve.simulated_requests_per_s >= stop * (1.0 - 1e-9)
        x, y = curve.simulated_requests_per_s[beyond], per_s * simulated[name][beyond]
        if stop:
            x, y = np.append(stop, x), np.append(per_s * closed[name][last[-1]], y)
        found.append({
            **common, "mode": "lines", "meta": f"{curve.policy}:{name}:{kind}:beyond", "x": x, "y": y,
            "line": {**line, "width": 1}, "hoverinfo": "skip",
        })  # fmt: skip
        found.append({
            **common, "mode": "markers", "meta": f"{curve.policy}:{name}:{kind}:simulated", "x": curve.simulated_requests_per_s,
            "y": per_s * simulated[name], "marker": dots, "hovertemplate": hover,
            **({"error_y": {"type": "data", "array": _ERRORS * per_s * curve.simulated_error[name], "color": color, "thickness": 1, "width": 2}} if kind == "mean" else {}),
        })  # fmt: skip
    return found


# layout


def _domains(narrow: bool) -> list[tuple[list[float], list[float]]]:
    """x and y of the panels: side by side, on a phone one below the other."""
    gap, n = _GAP_NARROW if narrow else _GAP, len(PANELS)
    size = (1.0 - (n - 1) * gap) / n
    starts = [i * (size + gap) for i in range(n)]
    if narrow:
        return [([0.0, 1.0], [max(1.0 - start - size, 0.0), 1.0 - start]) for start in starts]
    return [([start, start + size], [0.0, 1.0]) for start in starts]


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float, narrow: bool) -> dict:
    colors = view.colors
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True}
    title = {"text": _("requests/s, all chips"), "font": small, "standoff": 6}
    layout: dict = {"margin": margin, "annotations": [_key(view, margin, small["size"], "<br>" if narrow else "   ")], "shapes": []}
    for i, (name, (x_domain, y_domain)) in enumerate(zip(PANELS, _domains(narrow), strict=True)):
        tail = _tail(i)
        last = not narrow or i == len(PANELS) - 1
        layout[f"xaxis{tail}"] = {
            **axis, **view.x_axis.layout(), "domain": x_domain, "anchor": f"y{tail}", "showgrid": False, **({"title": title} if last else {"title": {"text": ""}}),
        }  # fmt: skip
        layout[f"yaxis{tail}"] = {**axis, **view.y_axes[name].layout(), "domain": y_domain, "anchor": f"x{tail}", "gridcolor": colors.grid}
        layout["annotations"].append({
            "name": "panel", "text": f"<b>{_(PANELS[name][0])}</b>", "showarrow": False, "xref": "paper", "yref": "paper",
            "x": x_domain[0], "y": y_domain[1], "xanchor": "left", "yanchor": "bottom", "font": {"size": small["size"], "color": colors.text},
        })  # fmt: skip
        layout["shapes"] += [_upright(at, color, dash, tail) for at, color, dash, _text in _lines(view)]
        if name == _NOTED:
            room = (x_domain[1] - x_domain[0]) * width / scale, (y_domain[1] - y_domain[0]) * height / scale
            layout["annotations"] += _notes(view, name, tail, room, small["size"] / scale, scale)
    return layout


def _lines(view: _View) -> list[tuple[float, str, str, str]]:
    """Place, colour, dash and text of the upright lines within the axis."""
    found = [
        (c.saturation_requests_per_s, view.ink(c.policy), "dash", _("{policy} full at {rate}/s").format(policy=_(POLICY_WORDS[c.policy]), rate=number(c.saturation_requests_per_s)))
        for c in view.curves
    ]  # fmt: skip
    found.append((view.now, view.colors.text, "dot", _("now {rate}/s").format(rate=number(view.now))))
    return [line for line in found if view.x_axis.low <= line[0] <= view.x_axis.high]


def _upright(at: float, color: str, dash: str, tail: str) -> dict:
    return {
        "type": "line", "xref": f"x{tail}", "yref": f"y{tail} domain", "x0": at, "x1": at, "y0": 0, "y1": 1,
        "line": {"color": color, "width": 1.5, "dash": dash}, "layer": "below",
    }  # fmt: skip


def _notes(view: _View, name: str, tail: str, room: tuple[float, float], size: float, scale: float) -> list[dict]:
    """Names of the upright lines, placed clear of the curves."""
    (width, height), y_axis, per_s = room, view.y_axes[name], PANELS[name][1]
    points = [np.empty((0, 2))]
    for c in view.curves:
        for x, y in ((c.requests_per_s, c.mean[name]), (c.simulated_requests_per_s, c.simulated_mean[name]), (c.simulated_requests_per_s, c.simulated_p95[name])):
            points.append(labels.curve_points(view.x_axis.place(x) * width, y_axis.place(per_s * y) * height))
    upright = np.linspace(0.0, height, 12)
    points += [np.column_stack([np.full(12, float(view.x_axis.place(at)) * width), upright]) for at, *_rest in _lines(view)]
    pen = labels.Writer(view.x_axis, y_axis, width, height, size, view.colors, scale, tail, np.concatenate(points), [])
    for at, color, _dash, text in _lines(view):
        x = float(view.x_axis.place(at)) * width
        for rows in ([text], text.rsplit(" ", 2)[:1] + [" ".join(text.rsplit(" ", 2)[1:])] if text.count(" ") > 1 else [text]):
            if box := labels.clear_place(pen, labels.beside_upright(x, rows, size, height)):
                pen.write(box, "<br>".join(rows), color, "upright", at=(x, (box.top + box.bottom) / 2))
                break
    return pen.notes


def _key(view: _View, margin: dict, size: float, gap: str) -> dict:
    names = "   ".join(theme.key_entry(view.ink(c.policy), _(POLICY_WORDS[c.policy])) for c in view.curves)
    muted = f'<span style="color:{view.colors.muted}">{{}}</span>'
    lines = _("solid: mean, dashed: 95 in 100 are below"), _("dots: simulation \u00b1 2 standard errors")
    return {
        "name": "key", "text": gap.join([names, muted.format(lines[0]), muted.format(lines[1])]), "showarrow": False, "align": "left",
        "font": {"size": size, "color": view.colors.text}, "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left",
        "yanchor": "top", "xshift": 2 - margin["l"], "yshift": margin["t"] - 2,
    }  # fmt: skip
