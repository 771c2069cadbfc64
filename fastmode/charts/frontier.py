"""Speed of one user against output of a chip along the batch, with the cost of a token at named batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis
from fastmode.format import D3_NUMBER, number, ratio
from fastmode.frontier import MARKED, Line, chip_word, chips_text
from fastmode.i18n import _

HEIGHT = 460
HEIGHT_NARROW = 460

Kind = Literal["now", "home", "tier", "wanted", "slo"]

_MARGIN = {"l": 66, "r": 18, "t": 58, "b": 48}
_MARGIN_NARROW = {"l": 50, "r": 14, "t": 92, "b": 42}
_ENDS = (1, 1.5, 2, 3, 5, 7, 10)  # ends of the axes, times a power of ten
_SYMBOLS = {"now": "circle", "home": "circle", "tier": "circle-open", "wanted": "diamond-open", "slo": "triangle-up-open"}
_NARROW_LETTERS = 42  # in a line of the key on a phone
_ALPHA = {90: 0.13, 50: 0.2}


@dataclass(frozen=True)
class Mark:
    """A batch named on a line (its position among the lines). label: what it is, without the batch."""

    line: int
    batch: float
    label: str
    kind: Kind


def frontier_figure(
    lines: Sequence[Line], marks: Sequence[Mark], mode: theme.Mode, *, scale: float = 1.0
) -> tuple[go.Figure, dict]:
    """Log-log lines with their 50 and 90 % bands, marks, and small dots at round batches; and the layout override for phones.

    lines: the first is the scenario, a second one what it is compared with; of figures at every batch. Marks beyond the ends of
    their line are left out. scale: size of type (1.3 in a meeting; not on phones). ValueError without a line.
    """
    if not lines:
        raise ValueError("no line to draw")
    colors = theme.palette(mode)
    x_axis = _axis([_ends(line, line.tokens_per_s) for line in lines])
    y_axis = _axis([_ends(line, line.tokens_per_s_per_chip) for line in lines])
    kept = [mark for mark in marks if np.isfinite(lines[mark.line].read(lines[mark.line].tokens_per_s, mark.batch))]
    view = _View(colors, list(lines), kept, x_axis, y_axis)
    traces = [trace for i in range(len(lines) - 1, -1, -1) for trace in _traces(view, i)]
    traces += [_mark_trace(view, mark) for mark in kept]
    wide = theme.base_layout(
        colors, scale, showlegend=False, dragmode=False, hovermode="closest",
        **_layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )  # fmt: skip
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(traces, wide), narrow


@dataclass(frozen=True)
class _View:
    colors: theme.Palette
    lines: list[Line]
    marks: list[Mark]
    x_axis: Axis
    y_axis: Axis

    def ink(self, line: int) -> str:
        return self.colors.reference if line else self.colors.scenario

    def dots(self, line: int) -> list[float]:
        """Round batches on a line that no mark names."""
        named = [mark.batch for mark in self.marks if mark.line == line]
        end = self.lines[line].batch[-1]
        return [b for b in MARKED if b <= end and not any(abs(np.log(b / other)) < 0.2 for other in named)]


def _ends(line: Line, figure: np.ndarray) -> tuple[float, float]:
    low, high = line.reach[90]
    return float(np.nanmin(figure * low)), float(np.nanmax(figure * high))


def _axis(ends: Sequence[tuple[float, float]]) -> Axis:
    low, high = _rounded(min(e[0] for e in ends), up=False), _rounded(max(e[1] for e in ends), up=True)
    ticks = theme.round_ticks(low, high, True, 10)
    return Axis(low, high, True, ticks, [number(v) for v in ticks])


def _rounded(value: float, up: bool) -> float:
    """The next round value beyond: an axis that stays while a slider moves a little."""
    power = 10.0 ** np.floor(np.log10(value))
    if up:
        return float(next(m for m in _ENDS if m * power >= value * (1 - 1e-9)) * power)
    return float(next(m for m in reversed(_ENDS) if m * power <= value * (1 + 1e-9)) * power)


def _traces(view: _View, index: int) -> list[dict]:
    line, ink, kind = view.lines[index], view.ink(index), "reference" if index else "scenario"
    made = []
    for level in (90, 50):
        low, high = line.reach[level]
        made.append(
            {
                "type": "scatter",
                "mode": "lines",
                "meta": f"{kind}:band{level}",
                "x": np.concatenate([line.tokens_per_s * low, (line.tokens_per_s * high)[::-1]]),
                "y": np.concatenate([line.tokens_per_s_per_chip * low, (line.tokens_per_s_per_chip * high)[::-1]]),
                "fill": "toself",
                "fillcolor": theme.translucent(ink, _ALPHA[level]),
                "line": {"width": 0},
                "hoverinfo": "skip",
            }
        )
    made.append(
        {
            "type": "scatter",
            "mode": "lines",
            "meta": f"{kind}:line",
            "x": line.tokens_per_s,
            "y": line.tokens_per_s_per_chip,
            "line": {"color": ink, "width": 3},
            "customdata": np.column_stack([line.batch, line.cost, *line.provider_usd_per_mtok]),
            "hovertemplate": _hover(line) + "<extra></extra>",
        }
    )
    at = np.array(view.dots(index))
    made.append(
        {
            "type": "scatter",
            "mode": "markers",
            "meta": f"{kind}:dots",
            "x": np.array([line.read(line.tokens_per_s, b) for b in at]),
            "y": np.array([line.read(line.tokens_per_s_per_chip, b) for b in at]),
            "marker": {"size": 8, "color": ink, "line": {"color": view.colors.ground, "width": 1.5}},
            "hoverinfo": "skip",
        }
    )
    return made


def _hover(line: Line) -> str:
    """Plotly's template of a line: all figures at a batch."""
    speed, output, batch, cost, low, middle, high = (
        f"%{{{name}:{D3_NUMBER}}}" for name in ("x", "y", *(f"customdata[{i}]" for i in range(5)))
    )
    text = _("{option}, batch {batch}<br>{speed} tok/s a user<br>{output} tok/s per {chip}<br>cost of a token {cost}x that at batch {home}").format(
        option=line.label, batch=batch, speed=speed, output=output, chip=chip_word(line), cost=cost, home=number(line.home_batch)
    )  # fmt: skip
    if np.isfinite(line.provider_usd_per_mtok).all():
        text += "<br>" + _("provider cost {usd} USD per Mtok ({low} to {high})").format(usd=middle, low=low, high=high)
    return text


def _mark_trace(view: _View, mark: Mark) -> dict:
    line, ink = view.lines[mark.line], view.ink(mark.line)
    size = {"now": 15, "home": 13, "tier": 13, "wanted": 13, "slo": 13}[mark.kind]
    filled = mark.kind in ("now", "home")
    border = {"color": view.colors.ground, "width": 2} if filled else {"width": 2.5}
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": f"mark:{mark.kind}",
        "x": np.array([line.read(line.tokens_per_s, mark.batch)]),
        "y": np.array([line.read(line.tokens_per_s_per_chip, mark.batch)]),
        "marker": {"symbol": _SYMBOLS[mark.kind], "size": size, "color": ink, "line": border},
        "cliponaxis": False,
        "hovertext": [_says(line, mark)],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _says(line: Line, mark: Mark) -> str:
    """A mark's label with its batch and, away from the preset's batch, what a token costs there."""
    cost = line.read(line.cost, mark.batch)
    text = _("{label}: batch {batch}").format(label=mark.label, batch=batch_text(mark.batch))
    return text if abs(cost - 1.0) < 1e-9 else _("{text}, cost {cost}").format(text=text, cost=ratio(cost))


def batch_text(batch: float) -> str:
    """A batch to the request; below two to a tenth."""
    return number(round(batch)) if batch >= 2.0 else number(batch, 2)


# layout


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, size_px[0] == theme.NARROWEST_PX
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True, "gridcolor": colors.grid}
    title = {"font": small, "standoff": 6}
    words = list(dict.fromkeys(chip_word(line) for line in view.lines))
    per = _("output tok/s per {chip}").format(chip=_(" or ").join(words))
    return {
        "margin": margin,
        "xaxis": {**axis, **_thinned(view.x_axis, 5 if narrow else 10).layout(), "title": {"text": _("output tok/s of one user"), **title}},
        "yaxis": {**axis, **_thinned(view.y_axis, 6 if narrow else 8).layout(), "title": {"text": per, **title}},
        "annotations": [
            _key(view, margin, (type_px if narrow else type_px - 1) * scale, narrow),
            *_labels(view, width / scale, height / scale, small["size"] / scale, scale, narrow),
        ],
    }


def _thinned(axis: Axis, most: int) -> Axis:
    ticks = theme.round_ticks(axis.low, axis.high, True, most)
    return Axis(axis.low, axis.high, True, ticks, [number(v) for v in ticks])


def _key(view: _View, margin: dict, size: float, narrow: bool) -> dict:
    colors, gap = view.colors, "<br>" if narrow else "   "
    names = gap.join(
        theme.key_entry(view.ink(i), _("{option}, {chips}").format(option=line.label, chips=chips_text(line)))
        for i, line in enumerate(view.lines)
    )
    rest = [_("line: modelled; shaded: 50 and 90 % band"), _("dots: batch, and the cost of a token over that at the preset's batch")]
    rest = [row for part in rest for row in wrap(part, _NARROW_LETTERS)] if narrow else ["; ".join(rest)]
    text = names + "<br>" + f'<span style="color:{colors.muted}">{"<br>".join(rest)}</span>'
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "top", "align": "left"}
    font = {"size": size, "color": colors.text}
    return {"name": "key", "text": text, "showarrow": False, "font": font, **place, "xshift": 2 - margin["l"], "yshift": margin["t"]}


def _labels(view: _View, width: float, height: float, size: float, scale: float, narrow: bool) -> list[dict]:
    """Names of the marks, then batches and costs at the dots where there is room."""
    curves = [
        labels.curve_points(view.x_axis.place(line.tokens_per_s) * width, view.y_axis.place(line.tokens_per_s_per_chip) * height)
        for line in view.lines
    ]
    pen = labels.Writer(view.x_axis, view.y_axis, width, height, size, view.colors, scale, "", np.concatenate(curves), [])
    spots, dots = [], []
    for mark in view.marks:
        line = view.lines[mark.line]
        spots.append(pen.mark(line.read(line.tokens_per_s, mark.batch), line.read(line.tokens_per_s_per_chip, mark.batch), 8))
    for i, line in enumerate(view.lines):
        for batch in view.dots(i):
            at = pen.mark(line.read(line.tokens_per_s, batch), line.read(line.tokens_per_s_per_chip, batch), 5)
            dots.append((i, batch, at))
    for mark, at in zip(view.marks, spots, strict=True):
        if at:
            _name(pen, view, mark, at, [spot for spot in spots if spot and spot != at], narrow)
    for i, batch, at in dots:
        line = view.lines[i]
        text = _("{batch}: {cost}").format(batch=number(batch), cost=ratio(line.read(line.cost, batch)))
        box = labels.clear_place(pen, labels.around(at, text, size, 7)) if at else None
        if box:
            pen.write(box, text, view.ink(i), "dot", at=at)
    return pen.notes


def _name(
    pen: labels.Writer, view: _View, mark: Mark, at: tuple[float, float], others: list[tuple[float, float]], narrow: bool
) -> None:
    """The label of a mark, beside it or at the end of a thin line; shorter where that finds no room."""
    line = view.lines[mark.line]
    brief = _("{label}: {batch}").format(label=mark.label, batch=batch_text(mark.batch))
    for text in [brief, batch_text(mark.batch)] if narrow else [_says(line, mark), brief, batch_text(mark.batch)]:
        box = None
        if mark.kind in ("now", "home"):
            box = labels.place_near(pen, at, others, text)
        led = box is None
        if led:  # above and to the right of a line there is most room
            box = labels.place_led(pen, at, text)
        if box:
            pen.write(box, f"<b>{text}</b>", view.ink(mark.line), mark.kind, at=at, led=led)
            return
