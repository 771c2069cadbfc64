"""Net productivity as randomised trials found it and as the model has it, on one logarithmic axis."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import number
from fastmode.i18n import _

HEIGHT = 460
HEIGHT_NARROW = 520

_MARGIN = {"r": 168, "t": 58, "b": 50}
_HEAD_PX = (160, 300)  # the room for names at the left: least, most
_MARGIN_NARROW = {"l": 8, "r": 8, "t": 66, "b": 44}
_GROUP_GAP = 0.3  # between trials and model
_MARK_PX = 11
_WHO = 0.86  # size of the second line, of the first
_SAME = 1.0  # net productivity of a task that takes as long as without AI
_LEAST_RANGE = (0.5, 5.0)
_TICKS = np.array([1.0, 1.5, 2.0, 3.0, 5.0, 7.0])
_TICKS_NARROW = np.array([1.0, 2.0, 5.0])


@dataclass(frozen=True)
class TrialRow:
    """One line: a trial, or the model where `modelled`. low, high: its interval, NaN where there is none.

    value, low and high are net productivity. who: the second line. about: further lines of the hover text.
    """

    label: str
    who: str
    value: float
    low: float
    high: float
    modelled: bool = False
    about: Sequence[str] = ()


def trials_figure(rows: Sequence[TrialRow], mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Dots with whiskers in the order given, a gap before the model, and the layout override for phones.

    Trials are hollow; the model is filled, in the colour of the reference, whose figure it is. The axis holds 0.5 to 5 and
    widens in steps of 1, 2, 5 where a row needs it, so that it rarely moves with a slider. scale: size of type (1.3 in a meeting).
    ValueError where no row or a row's value is not positive.
    """
    if not rows or not all(row.value > 0 for row in rows):
        raise ValueError("every row needs a positive net productivity")
    colors = theme.palette(mode)
    model = np.array([row.modelled for row in rows])
    y = np.arange(len(rows)) + _GROUP_GAP * np.cumsum(np.append(False, model[1:] & ~model[:-1]))
    traces = [_trace(rows, y, which, colors, scale) for which in (False, True) if (model == which).any()]
    return theme.figure(traces, layout := _layout(rows, y, colors, scale)), _narrow(rows, y, colors, layout)


def _range(rows: Sequence[TrialRow]) -> tuple[float, float]:
    ends = np.array([(row.value, row.low, row.high) for row in rows], float).ravel()
    ends = ends[np.isfinite(ends) & (ends > 0)]
    rounds = np.outer(10.0 ** np.arange(-6, 7), (1, 2, 5)).ravel()
    low, high = min(ends.min() * 0.97, _LEAST_RANGE[0]), max(ends.max() * 1.03, _LEAST_RANGE[1])
    return float(rounds[rounds <= low * (1 + 1e-9)].max()), float(rounds[rounds >= high * (1 - 1e-9)].min())


def _ticks(low: float, high: float, steps: np.ndarray) -> np.ndarray:
    if high / low > 30:
        return theme.round_ticks(low, high, True, 8)
    ticks = np.outer(10.0 ** np.arange(-6, 7), steps).ravel()
    return ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]


def _trace(rows: Sequence[TrialRow], y: np.ndarray, model: bool, colors: theme.Palette, scale: float) -> dict:
    chosen = [(row, place) for row, place in zip(rows, y, strict=True) if row.modelled == model]
    color = colors.reference if model else colors.published
    value, low, high = np.array([(row.value, row.low, row.high) for row, _place in chosen], float).T
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": "model" if model else "trials",
        "showlegend": False,
        "x": value,
        "y": np.array([place for _row, place in chosen]),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(high - value),
            "arrayminus": np.nan_to_num(value - low),
            "color": color,
            "thickness": 2,
            "width": 4 * scale,
        },
        "marker": {
            "symbol": "circle",
            "size": _MARK_PX * scale,
            # A hollow mark has the ground inside, so that its whisker does not run through it.
            "color": color if model else colors.ground,
            "line": {"color": color, "width": 2},
        },
        "hovertext": [
            "<br>".join((f"<b>{r.label}</b>", r.who, f"{number(r.value)} {_interval(r)}".strip(), *r.about))
            for r, _place in chosen
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _interval(row: TrialRow) -> str:
    known = np.isfinite(row.low) and np.isfinite(row.high)
    return f"({number(row.low)}-{number(row.high)})" if known else ""


def _layout(rows: Sequence[TrialRow], y: np.ndarray, colors: theme.Palette, scale: float) -> dict:
    bounds = _range(rows)
    size = theme.TEXT_SIZE * scale
    widest = max(
        max(theme.text_width_px(row.label, theme.TEXT_SIZE, bold=True), theme.text_width_px(row.who, theme.SMALL_SIZE))
        for row in rows
    )
    margin = {"l": float(np.clip(20 * np.ceil((widest + 20) / 20), *_HEAD_PX)), **_MARGIN}
    margin = {side: px * scale for side, px in margin.items()}
    ticks = _ticks(*bounds, _TICKS)
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True}
    notes = [
        _key(colors, scale, "   ") | {"xshift": -margin["l"] + 8 * scale, "yshift": 26 * scale},
        *_sides((_("slower with AI"), _("faster with AI")), colors, theme.SMALL_SIZE * scale),
    ]
    for row, place in zip(rows, y, strict=True):
        notes.append(_note(_head(row, colors), size, "head", colors, x=0, y=place, xshift=8 * scale - margin["l"], align="left"))  # fmt: skip
        notes.append(
            _note(
                _end(row, colors, _interval(row) or _("no interval")),
                size,
                "figure",
                colors,
                x=1,
                y=place,
                xshift=12 * scale,
            )
        )
    return theme.base_layout(
        colors,
        scale,
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        margin=margin,
        xaxis={
            "type": "log",
            "range": [float(v) for v in np.log10(bounds)],
            "tickvals": ticks,
            "ticktext": [number(v) for v in ticks],
            "title": {"text": _("net productivity: time without AI over time with it"), "standoff": 8, "font": {"size": size, "color": colors.muted}},
            "tickfont": {"size": size, "color": colors.muted},
            **quiet,
            "gridcolor": colors.grid,
            "showgrid": True,
        },
        yaxis={"range": [float(y[-1]) + 0.6, -0.6], "showticklabels": False, **quiet},
        shapes=[_same_line(colors)],
        annotations=notes,
    )  # fmt: skip


def _narrow(rows: Sequence[TrialRow], y: np.ndarray, colors: theme.Palette, layout: dict) -> dict:
    """On a phone the name stands above its row; the second line and then the interval give way where they have no room."""
    size = theme.SMALL_SIZE
    bounds = 10.0 ** np.array(layout["xaxis"]["range"])
    ticks = _ticks(*bounds, _TICKS_NARROW)
    backing = {"bgcolor": theme.translucent(colors.ground, 0.85), "borderpad": 0}  # the line at 1 runs behind the names
    room = theme.NARROWEST_PX - _MARGIN_NARROW["l"] - _MARGIN_NARROW["r"]
    notes = [
        _key(colors, 1.0, "<br>") | {"yshift": 22, "font": {"size": size}},
        *_sides((_("slower"), _("faster")), colors, size),
    ]
    for row, place in zip(rows, y, strict=True):
        above = {"y": place - 0.2, "yanchor": "bottom", **backing}
        left = room - theme.text_width_px(row.label, size, bold=True) - 8
        left -= theme.text_width_px(number(row.value), size, bold=True)
        with_interval = theme.text_width_px(_interval(row), size) < left
        left -= theme.text_width_px(_interval(row), size) if with_interval else 0.0
        fits = theme.text_width_px(f" {row.who}", _WHO * size) < left
        notes.append(_note(_head(row, colors, " " if fits else None), size, "head", colors, x=0, **above))
        figure = _end(row, colors, _interval(row) if with_interval else "")
        notes.append(_note(figure, size, "figure", colors, x=1, **above) | {"xanchor": "right"})
    return {
        "margin": _MARGIN_NARROW,
        "xaxis": {
            "tickvals": ticks,
            "ticktext": [number(v) for v in ticks],
            "title": {"text": _("net productivity (1 = as without AI)"), "font": {"size": theme.SMALL_SIZE}},
            "tickfont": {"size": theme.SMALL_SIZE},
        },
        "yaxis": {"range": [float(y[-1]) + 0.4, -0.75]},
        "annotations": notes,
    }


def _note(text: str, size: float, name: str, colors: theme.Palette, **place: object) -> dict:
    base = {
        "showarrow": False,
        "xref": "paper",
        "yref": "y",
        "xanchor": "left",
        "font": {"size": size, "color": colors.text},
    }
    return {"name": name, "text": text, **base, **place}


def _head(row: TrialRow, colors: theme.Palette, between: str | None = "<br>") -> str:
    name = f'<b><span style="color:{colors.reference if row.modelled else colors.text}">{row.label}</span></b>'
    if between is None:
        return name
    return f'{name}{between}<span style="color:{colors.muted};font-size:{_WHO}em">{row.who}</span>'


def _end(row: TrialRow, colors: theme.Palette, interval: str) -> str:
    figure = f"<b>{number(row.value)}</b>"
    return f'{figure} <span style="color:{colors.muted}">{interval}</span>' if interval else figure


def _key(colors: theme.Palette, scale: float, between: str) -> dict:
    hollow = f'<span style="color:{colors.published}">\u25cb</span>\u00a0{_("randomised trial, with its own interval")}'
    filled = f'<span style="color:{colors.reference}">\u25cf</span>\u00a0{_("the model, with its 90 % band")}'
    place = {"x": 0, "y": 1, "yref": "paper", "yanchor": "bottom", "align": "left"}
    return _note(hollow + between + filled, theme.TEXT_SIZE * scale, "key", colors, **place)


def _sides(words: tuple[str, str], colors: theme.Palette, size: float) -> list[dict]:
    """What lies on either side of the line at 1, just above the panel."""
    place = {"xref": "x", "x": float(np.log10(_SAME)), "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 2}
    left, right = words
    made = []
    for text, anchor, color in ((f"\u25c2 {left}", "right", colors.worse), (f"{right} \u25b8", "left", colors.better)):
        note = _note(text, size, "side", colors, **place, xshift=-6 if anchor == "right" else 6)
        made.append(note | {"xanchor": anchor, "font": {"size": size, "color": color}})
    return made


def _same_line(colors: theme.Palette) -> dict:
    line = {"color": colors.muted, "width": 1.5, "dash": "dash"}
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": _SAME,
        "x1": _SAME,
        "y0": 0,
        "y1": 1,
        "layer": "between",
        "line": line,
    }
