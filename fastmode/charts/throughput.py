"""Accepted tasks an hour against agents in parallel: the machine's capacity, and the reviewers' where that is less."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis, Box
from fastmode.format import D3_NUMBER, number
from fastmode.i18n import _, ngettext

HEIGHT = 360
HEIGHT_NARROW = 360

_MARGIN = {"l": 62, "r": 18, "t": 34, "b": 48}
_MARGIN_NARROW = {"l": 48, "r": 14, "t": 58, "b": 42}
_AIR = 1.5  # the axis ends this much above the highest solid line: dashed ones run out of the figure
_ENDS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)  # ends of the axis, times a power of ten


@dataclass(frozen=True)
class Stream:
    """Tasks an hour of one option: machine_per_h, shape (n,), rising with the agents; reviewers_per_h, what people can review."""

    label: str
    kind: Literal["scenario", "reference"]
    machine_per_h: np.ndarray
    reviewers_per_h: float

    def accepted(self) -> np.ndarray:
        """The smaller of the two, shape (n,); NaN where one is not known."""
        return np.minimum(np.asarray(self.machine_per_h, float), self.reviewers_per_h)

    def kink(self, agents: np.ndarray) -> float:
        """Agents from which review is the bottleneck: at most agents[0] when it always is, NaN when it never is."""
        machine = np.asarray(self.machine_per_h, float)
        if not machine[-1] >= self.reviewers_per_h:
            return np.nan
        return float(agents[0] if machine[0] >= self.reviewers_per_h else np.interp(self.reviewers_per_h, machine, agents))


def throughput_figure(
    agents: np.ndarray, streams: Sequence[Stream], now_agents: float, mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Solid what is accepted, dashed what the machine alone could do, a mark where review takes over; and the phones' layout.

    agents: a developer's parallel runs, shape (n,), rising; the axis ends where it does and is logarithmic from a hundredfold.
    streams: one or two options on the same axis. now_agents: where both are marked, NaN for nowhere.
    scale: size of type (1.3 in a meeting; not on phones). ValueError if a machine_per_h has another shape than agents.
    """
    agents = np.asarray(agents, dtype=float)
    for stream in streams:
        if np.shape(stream.machine_per_h) != agents.shape:
            raise ValueError(f"{stream.label}: machine_per_h has shape {np.shape(stream.machine_per_h)}, agents {agents.shape}")
    log = bool(agents[0] > 0 and agents[-1] >= 100 * agents[0])
    ticks = theme.round_ticks(agents[0], agents[-1], log, 8)
    ticks = ticks[ticks == np.round(ticks)]
    x_axis = Axis(float(agents[0]), float(agents[-1]), log, ticks, [number(v) for v in ticks])
    end = _end(max((float(np.nanmax(s.accepted(), initial=0.0)) for s in streams), default=0.0))
    y_ticks = theme.round_ticks(0.0, end, False)
    view = _View(
        theme.palette(mode), agents, list(streams), float(now_agents), x_axis,
        Axis(0.0, end, False, y_ticks, [number(v) for v in y_ticks]),
    )  # fmt: skip
    wide = theme.base_layout(
        view.colors,
        scale,
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        **_layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure([trace for stream in streams for trace in _traces(view, stream)], wide), narrow


def _end(highest: float) -> float:
    """A round end of the axis above the highest solid line."""
    wanted = highest * _AIR or 1.0
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(next(m for m in _ENDS if m * power >= wanted * (1 - 1e-9)) * power)


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    agents: np.ndarray
    streams: list[Stream]
    now: float
    x_axis: Axis
    y_axis: Axis

    def ink(self, stream: Stream) -> str:
        return self.colors.scenario if stream.kind == "scenario" else self.colors.reference

    def accepted_now(self, stream: Stream) -> float:
        if not self.x_axis.low <= self.now <= self.x_axis.high:
            return np.nan
        return float(np.interp(self.now, self.agents, stream.accepted()))


def _curves(view: _View, stream: Stream) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Agents, what is accepted, and what the machine alone could do where that is as much or more (else NaN), shape (m,)."""
    kink = stream.kink(view.agents)
    x = view.agents if np.isnan(kink) else np.union1d(view.agents, [kink])  # the corner is not rounded off
    machine = np.interp(x, view.agents, np.where(np.isfinite(stream.machine_per_h), stream.machine_per_h, np.nan))
    accepted = np.interp(x, view.agents, stream.accepted())
    accepted = np.where(x >= kink, stream.reviewers_per_h, accepted)
    return x, accepted, np.where(machine >= accepted * (1 - 1e-9), machine, np.nan)


def _dashed(view: _View, stream: Stream) -> bool:
    """True where a piece of the machine's own line lies above what is accepted and within the axes."""
    _x, accepted, machine = _curves(view, stream)
    with np.errstate(invalid="ignore"):
        return bool(np.any((machine[1:] > accepted[1:] * (1 + 1e-9)) & (machine[:-1] < view.y_axis.high)))


def _traces(view: _View, stream: Stream) -> list[dict]:
    color, common = view.ink(stream), {"type": "scatter", "mode": "lines"}
    kink = stream.kink(view.agents)
    x, accepted, unused = _curves(view, stream)
    hover = _("{option}, %{{x:{form}}} agents: %{{y:{form}}} accepted an hour").format(option=stream.label, form=D3_NUMBER)
    alone = _("{option}, %{{x:{form}}} agents: the machine alone %{{y:{form}}} an hour").format(
        option=stream.label, form=D3_NUMBER
    )
    dot = {"size": 13, "color": color, "line": {"color": view.colors.ground, "width": 2}}
    ring = {"symbol": "diamond", "size": 11, "color": view.colors.ground, "line": {"color": color, "width": 2}}
    inside = kink > view.x_axis.low
    return [
        {
            **common,
            "meta": f"{stream.kind}:machine",
            "x": x,
            "y": unused,
            "line": {"color": color, "width": 1.5, "dash": "dash"},
            "hovertemplate": f"{alone}<extra></extra>",
        },
        {
            **common,
            "meta": f"{stream.kind}:accepted",
            "x": x,
            "y": accepted,
            "line": {"color": color, "width": 3},
            "hovertemplate": f"{hover}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "meta": f"{stream.kind}:kink",
            "x": np.array([kink if inside else np.nan]),
            "y": np.array([stream.reviewers_per_h]),
            "marker": ring,
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "meta": f"{stream.kind}:now",
            "x": np.array([view.now]),
            "y": np.array([view.accepted_now(stream)]),
            "marker": dot,
            "cliponaxis": False,
            "hovertemplate": f"{hover}<extra></extra>",
        },
    ]


# layout


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, size_px[0] == theme.NARROWEST_PX
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True}
    title = {"font": small, "standoff": 6}
    return {
        "margin": margin,
        "xaxis": {
            **axis,
            **view.x_axis.layout(),
            "showgrid": False,
            "title": {"text": _("agents in parallel per developer"), **title},
        },
        "yaxis": {
            **axis,
            **view.y_axis.layout(),
            "gridcolor": colors.grid,
            "title": {"text": _("accepted tasks an hour, whole team"), **title},
        },
        "annotations": [
            _key(view, margin, type_px * scale, "<br>" if narrow else "   "),
            *_labels(view, width / scale, height / scale, small["size"] / scale, scale),
        ],
    }


def _key(view: _View, margin: dict, size: float, gap: str) -> dict:
    colors = view.colors
    names = "   ".join(theme.key_entry(view.ink(stream), stream.label) for stream in view.streams)
    if any(_dashed(view, stream) for stream in view.streams):
        names += f'{gap}<span style="color:{colors.muted}">{_("dashed: the machine alone, waiting for review")}</span>'
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "top", "align": "left"}
    font = {"size": size, "color": colors.text}
    shift = {"xshift": 2 - margin["l"], "yshift": margin["t"]}
    return {"name": "key", "text": names, "showarrow": False, "font": font, **place, **shift}


def _labels(view: _View, width: float, height: float, size: float, scale: float) -> list[dict]:
    """Texts in the figure: how much is accepted now, and from where on review is the bottleneck."""
    curves, lines = [], []
    for stream in view.streams:
        for y in (stream.accepted(), np.asarray(stream.machine_per_h, float)):
            y_px = view.y_axis.place(np.where((y >= 0) & (y <= view.y_axis.high), y, np.nan)) * height
            curves.append(labels.curve_points(view.x_axis.place(view.agents) * width, y_px))
        lines.append(float(view.y_axis.place(stream.reviewers_per_h)) * height)
    drawn = np.concatenate([np.empty((0, 2)), *curves])
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, view.colors, scale, "", drawn, lines)
    known = [(stream, y) for stream in view.streams if np.isfinite(y := view.accepted_now(stream))]
    at = [pen.mark(view.now, y, 8) for _stream, y in known]
    for (stream, y), place in zip(known, at, strict=True):
        text = _("now {rate} an hour").format(rate=number(y))
        box = labels.place_near(pen, place, at, text, must=True)
        pen.write(box, f"<b>{text}</b>", view.ink(stream), "now", at=place)
    for stream in view.streams:
        if not np.isfinite(stream.accepted()).any():
            continue
        kink = stream.kink(view.agents)
        text = _says(kink, view)
        x = 0.75 * view.agents[-1] if np.isnan(kink) else max(kink, view.x_axis.low)
        at = float(view.x_axis.place(x)) * width, float(view.y_axis.place(np.interp(x, view.agents, stream.accepted()))) * height
        if kink > view.x_axis.low:
            pen.mark(kink, stream.reviewers_per_h, 7)
        for rows in ([text], wrap(text, len(text) // 2 + 6)):
            beside = labels.around(at, text, size, 6) if np.isnan(kink) else _along(at, rows, size, width)
            if box := labels.clear_place(pen, beside):
                # Along a level line it may slide as the figure gets wider; beside a rising one it stays at its point.
                stays = {"at": at} if np.isnan(kink) else {}
                pen.write(box, "<br>".join(rows), view.ink(stream), "bottleneck", **stays)
                break
    return pen.notes


def _says(kink: float, view: _View) -> str:
    if np.isnan(kink):
        return _("the machine is the bottleneck")
    n = ceil(kink - 1e-9)
    if kink <= view.x_axis.low or n <= 1:
        return _("review is the bottleneck from the first agent")
    text = ngettext("review is the bottleneck from {n} agent", "review is the bottleneck from {n} agents", n)
    return text.format(n=number(n))


def _along(at: tuple[float, float], rows: Sequence[str], size: float, width: float) -> list[Box]:
    """Places for lines of text just above or below the level line that starts at a point, first near its start, all px."""
    long, tall = max(theme.text_width_px(row, size) for row in rows), 1.3 * size * len(rows)
    lefts = [left for left in np.linspace(at[0] + 6, width - long - 4, 8) if left >= 0]
    heights = (at[1] + tall / 2 + 5, at[1] - tall / 2 - 5)
    return [Box(x, x + long, y - tall / 2, y + tall / 2) for y in heights for x in lefts]
