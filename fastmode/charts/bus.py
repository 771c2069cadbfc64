"""The bus as a picture: a bar a request, grey while it waits, coloured while it is on board, with a clock to play."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.bus import Trip
from fastmode.charts import theme
from fastmode.charts.theme import Axis
from fastmode.format import duration, number
from fastmode.i18n import _

HEIGHT = 400
HEIGHT_NARROW = 420

_MARGIN = {"l": 34, "r": 18, "t": 54, "b": 46}
_MARGIN_NARROW = {"l": 26, "r": 12, "t": 84, "b": 42}
_BAR = 0.72  # of the distance between two rows
_FRAME_MS = 150
_HEADROOM = 1.1  # rows above the first request: where the count stands while the clock runs
_OVER = 1.04  # the axis ends behind the last bar
_MINUTES_FROM_S = 600.0


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    trip: Trip
    places: int
    axis: Axis
    per_unit: float  # seconds in a unit of the axis
    unit: str

    @property
    def rows(self) -> int:
        return len(self.trip.arrival_s)

    @property
    def parts(self) -> tuple[tuple[str, str, str, np.ndarray, np.ndarray], ...]:
        """Name, word, colour, start and end of the pieces of the bars."""
        t = self.trip
        return (
            ("waiting", _("waiting for departure"), self.colors.axis, t.arrival_s, t.start_s),
            ("prefill", _("on board: prompt is read"), self.colors.steps["prefill"], t.start_s, t.first_s),
            ("decode", _("on board: answer is written"), self.colors.scenario, t.first_s, t.finish_s),
        )


def bus_figure(trip: Trip, places: int, mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Requests from top to bottom in the order they arrive, bands where a static bus is away, and the phones' layout.

    places: requests that a replica runs at once. The frames move a clock over the picture and count who is on board; they play
    only when asked. scale: size of type (1.3 in a meeting; not on phones).
    """
    end_s = float(trip.moments_s[-1]) * _OVER
    per_unit, unit = (60.0, _("min")) if end_s > _MINUTES_FROM_S else (1.0, _("s"))
    ticks = theme.round_ticks(0.0, end_s / per_unit, False, 8)
    axis = Axis(0.0, end_s / per_unit, False, ticks, [number(v) for v in ticks])
    view = _View(theme.palette(mode), trip, places, axis, per_unit, unit)
    traces = [_pieces(view, *part) for part in view.parts]
    traces += [{"x": [0.0, 0.0], **_clock(view)}, {"text": [""], **_count(view, scale)}]
    wide = theme.base_layout(
        view.colors, scale, showlegend=False, dragmode=False, hovermode="closest", barmode="overlay",
        **_layout(view, {side: px * scale for side, px in _MARGIN.items()}, theme.TEXT_SIZE * scale, "   "),
    )  # fmt: skip
    narrow = _layout(view, _MARGIN_NARROW, theme.SMALL_SIZE, "<br>")
    figure = theme.figure(traces, wide)
    figure.frames = _frames(view, len(traces) - 2)
    return figure, narrow


def _pieces(view: _View, name: str, word: str, color: str, start_s: np.ndarray, end_s: np.ndarray) -> dict:
    lasted = [f"{word}: {duration(float(span))}" for span in end_s - start_s]
    return {
        "type": "bar",
        "orientation": "h",
        "meta": name,
        "base": start_s / view.per_unit,
        "x": (end_s - start_s) / view.per_unit,
        "y": np.arange(view.rows, dtype=float),
        "width": _BAR,
        "marker": {"color": color, "line": {"width": 0}},
        "hovertext": lasted,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _clock(view: _View) -> dict:
    ends = [-0.5 - _HEADROOM / 2, view.rows - 0.5]
    line = {"color": view.colors.text, "width": 1.5}
    return {"type": "scatter", "mode": "lines", "meta": "clock", "y": ends, "line": line, "hoverinfo": "skip"}


def _count(view: _View, scale: float) -> dict:
    return {
        "type": "scatter",
        "mode": "text",
        "meta": "count",
        "x": [view.axis.high],
        "y": [-0.5 - 0.55 * _HEADROOM],
        "textposition": "middle left",
        "textfont": {"size": theme.TEXT_SIZE * scale, "color": view.colors.text},
        "hoverinfo": "skip",
    }


def _frames(view: _View, first: int) -> list[dict]:
    """A clock that moves on and counts, one frame a moment."""
    t, says = view.trip, _("on board {inside} of {places}, waiting {waiting}")
    made = []
    for at, inside, waiting in zip(t.moments_s, t.on_board, t.waiting, strict=True):
        text = says.format(inside=number(inside), places=number(view.places), waiting=number(waiting))
        x = float(at / view.per_unit)
        made.append({"name": f"{len(made)}", "traces": [first, first + 1], "data": [{"x": [x, x]}, {"text": [text]}]})
    return made


# layout


def _layout(view: _View, margin: dict, size: float, gap: str) -> dict:
    colors = view.colors
    small = {"size": size - 1, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis}
    title = _("requests, in the order they arrive")
    return {
        "margin": margin,
        "xaxis": {
            **axis,
            **view.axis.layout(),
            "showline": True,
            "gridcolor": colors.grid,
            "title": {"text": _("time since the first of them arrived, {unit}").format(unit=view.unit), "font": small, "standoff": 6},
        },
        "yaxis": {
            **axis,
            "range": [view.rows - 0.5, -0.5 - _HEADROOM],
            "showgrid": False,
            "showticklabels": False,
            "title": {"text": title, "font": small, "standoff": 8},
        },
        "shapes": [_band(view, start, end) for start, end in view.trip.buses.T / view.per_unit],
        "annotations": [_key(view, margin, size, gap)],
        "updatemenus": [_buttons(view, margin, size)],
    }


def _band(view: _View, start: float, end: float) -> dict:
    """A stretch in which a static bus is away."""
    return {
        "type": "rect",
        "x0": max(float(start), view.axis.low),
        "x1": min(float(end), view.axis.high),
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "layer": "below",
        "line": {"width": 1, "color": theme.translucent(view.colors.scenario, 0.35)},
        "fillcolor": theme.translucent(view.colors.scenario, 0.12),
    }


def _key(view: _View, margin: dict, size: float, gap: str) -> dict:
    entries = [theme.key_entry(color, word) for _name, word, color, _start, _end in view.parts]
    if view.trip.buses.shape[1]:
        entries.append(theme.key_entry(theme.translucent(view.colors.scenario, 0.35), _("the bus is away")))
    return {
        "name": "key",
        "text": gap.join(entries),
        "showarrow": False,
        "align": "left",
        "font": {"size": size, "color": view.colors.text},
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "top",
        "xshift": 2 - margin["l"],
        "yshift": margin["t"] - 2,
    }


def _buttons(view: _View, margin: dict, size: float) -> dict:
    """Play and pause, at the right above the picture."""
    colors, at_once = view.colors, {"duration": 0}
    play = {"frame": {"duration": _FRAME_MS, "redraw": True}, "transition": at_once, "fromcurrent": True, "mode": "immediate"}
    pause = {"frame": {"duration": 0, "redraw": True}, "transition": at_once, "mode": "immediate"}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 2, "t": 0, "l": 0, "r": 0},
        "bgcolor": colors.ground,
        "bordercolor": colors.axis,
        "font": {"size": size - 1, "color": colors.text},
        "buttons": [
            {"label": _("Play"), "method": "animate", "args": [None, play]},
            {"label": _("Pause"), "method": "animate", "args": [[None], pause]},
        ],
    }
