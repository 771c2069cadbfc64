"""Joules per output token and megawatts of each machine, by what is counted: chips alone, their system, the building."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import theme
from fastmode.format import MISSING, count, joules, joules_parts, number
from fastmode.i18n import _, ngettext

ROW_PX, ROW_NARROW_PX = 46, 46
_MARGIN = {"l": 150, "r": 172, "t": 66, "b": 48}
_MARGIN_NARROW = {"l": 10, "r": 10, "t": 112, "b": 44}
_GAP_NARROW_PX = 74  # between the two panels on a phone: the title of the upper axis and the lower panel's own
_PANELS = ((0.0, 0.35), (0.65, 1.0))
_SYMBOLS = ("line-ns-open", "square", "diamond")
_GLYPHS = ("|", "\u25a0", "\u25c6")
_SIZES = (12, 6, 9)
CHIP, SYSTEM, FACILITY = range(3)


@dataclass(frozen=True, eq=False)
class PowerRow:
    """One machine. joules, megawatts: chips alone, system, facility; NaN = not published. low, high: band of the facility's joules.

    from_chip: the facility's figures are those of the chips alone times PUE, for want of the system's. about: the second line. chips:
    how many draw the megawatts.
    """

    label: str
    about: str
    kind: Literal["scenario", "reference", "part"]
    joules: Sequence[float]
    low: float
    high: float
    megawatts: Sequence[float]
    chips: float
    from_chip: bool


def height(rows: int) -> int:
    """Height of the figure in px, wide layout."""
    return _MARGIN["t"] + _MARGIN["b"] + ROW_PX * rows


def height_narrow(rows: int) -> int:
    """Height on a phone, where the panels lie below each other."""
    return _MARGIN_NARROW["t"] + _MARGIN_NARROW["b"] + _GAP_NARROW_PX + 2 * ROW_NARROW_PX * rows


def power_figure(rows: Sequence[PowerRow], megawatts_title: str, mode: theme.Mode, *, scale: float = 1.0) -> tuple[go.Figure, dict]:
    """Two panels with one line a machine, in the order given, both on logarithmic axes; and the layout override for phones.

    A mark a level, joined by a line; the band of the facility's joules is a broad pale one. megawatts_title: what the right panel's
    megawatts are of. scale: size of type (1.3 in a meeting; not on phones). ValueError without rows.
    """
    if not rows:
        raise ValueError("no rows")
    colors = theme.palette(mode)
    axes = [_axis([v for r in rows for v in (*r.joules, r.low, r.high)]), _axis([v for r in rows for v in r.megawatts])]
    traces = [t for panel in (0, 1) for t in _traces(rows, panel, colors, scale)]
    return theme.figure(traces, _wide(rows, axes, megawatts_title, colors, scale)), _narrow(rows, axes, megawatts_title, colors)


def _axis(values: Sequence[float]) -> theme.Axis:
    known = np.array([v for v in values if np.isfinite(v) and v > 0] or [1.0])
    rounds = np.outer(10.0 ** np.arange(-9, 10), (1, 2, 5)).ravel()
    low = float(rounds[rounds <= known.min() * 0.9].max())
    high = float(rounds[rounds >= known.max() * 1.1].min())
    ticks = theme.round_ticks(low, high, True, 5)
    return theme.Axis(low, high, True, ticks, [number(v) for v in ticks])


def _ink(row: PowerRow, colors: theme.Palette) -> str:
    return {"scenario": colors.scenario, "reference": colors.reference}.get(row.kind, colors.text)


def _traces(rows: Sequence[PowerRow], panel: int, colors: theme.Palette, scale: float) -> list[dict]:
    tail = "2" if panel else ""
    common = {"type": "scatter", "xaxis": f"x{tail}", "yaxis": f"y{tail}", "showlegend": False}
    name = "megawatts" if panel else "joules"
    values = np.array([row.megawatts if panel else row.joules for row in rows], float)
    y = np.arange(len(rows), dtype=float)
    inks = [_ink(row, colors) for row in rows]
    made = []
    for i, row in enumerate(rows):
        known = values[i][np.isfinite(values[i])]
        if not panel and np.isfinite(row.low + row.high):
            line = {"color": theme.translucent(inks[i], 0.25), "width": 9 * scale}
            made.append({**common, "mode": "lines", "meta": f"band:{i}", "x": np.array([row.low, row.high]), "y": np.array([y[i]] * 2), "line": line, "hoverinfo": "skip"})
        if known.size:
            ends = np.array([known.min(), known.max()])
            made.append({**common, "mode": "lines", "meta": f"{name}:line:{i}", "x": ends, "y": np.array([y[i]] * 2), "line": {"color": inks[i], "width": 1.5}, "hoverinfo": "skip"})
    for level in (CHIP, SYSTEM, FACILITY):
        fill = [colors.ground if level == FACILITY and row.from_chip else ink for row, ink in zip(rows, inks, strict=True)]
        made.append(
            {
                **common,
                "mode": "markers",
                "meta": f"{name}:{level}",
                "x": values[:, level],
                "y": y,
                "marker": {"symbol": _SYMBOLS[level], "size": _SIZES[level] * scale, "color": fill, "line": {"color": inks, "width": 2}},
                "hovertext": [_hover(row, value, level, panel) for row, value in zip(rows, values[:, level], strict=True)],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    return made


def level_words(from_chip: bool = False) -> tuple[str, str, str]:
    """What the three levels count, in words."""
    return _("chips alone (TDP)"), _("system"), _("facility, from the chips alone") if from_chip else _("facility")


def _hover(row: PowerRow, value: float, level: int, panel: int) -> str:
    figure = _("{value} MW").format(value=number(value)) if panel else _("{energy} per output token").format(energy=joules(value))
    return f"{row.label}, {level_words(row.from_chip)[level]}: {figure}"


def ends_text(value: float, low: float, high: float) -> str:
    """Ends of a band of joules in the unit that `value` is written in."""
    factor = {"mJ": 1e-3, "kJ": 1e3, "MJ": 1e6}.get(joules_parts(value)[1], 1.0)
    return f"{number(low / factor)}-{number(high / factor)}"


def _figures(row: PowerRow, panel: int, colors: theme.Palette, with_band: bool = True) -> str:
    """The facility's figure, with its band."""
    value = (row.megawatts if panel else row.joules)[FACILITY]
    if not np.isfinite(value):
        return f'<span style="color:{colors.muted}">{_("no figure")}</span>'
    if panel:
        return f'<b>{number(value)} MW</b> <span style="color:{colors.muted}">{_chips(row)}</span>'
    text = f"<b>{joules(value)}</b>"
    if with_band and np.isfinite(row.low + row.high):
        text += f' <span style="color:{colors.muted}">({ends_text(value, row.low, row.high)})</span>'
    return text


def _chips(row: PowerRow) -> str:
    return ngettext("({n} chip)", "({n} chips)", int(row.chips)).format(n=count(row.chips))


def _key(rows: Sequence[PowerRow], colors: theme.Palette, a_line: int) -> str:
    """The key with so many entries a line."""
    entries = list(zip(_GLYPHS, level_words(), strict=True))
    if any(row.from_chip for row in rows):
        entries.append(("\u25c7", level_words(True)[FACILITY]))
    pale = f'<span style="color:{theme.translucent(colors.text, 0.35)}">\u25ac</span>'
    entries.append((pale, _("90 % band of the modelled speed")))
    texts = ["\u00a0".join([glyph, word.replace(" ", "\u00a0")]) for glyph, word in entries]
    return "<br>".join("   ".join(texts[i : i + a_line]) for i in range(0, len(texts), a_line))


def _note(text: str, size: float, name: str, colors: theme.Palette, **place: object) -> dict:
    base = {"showarrow": False, "xanchor": "left", "yanchor": "middle", "align": "left", "font": {"size": size, "color": colors.text}}
    return {"name": name, "text": text, **base, **place}


def _value_axis(axis: theme.Axis, title: str, size: float, colors: theme.Palette, domain: Sequence[float]) -> dict:
    return {
        **axis.layout(),
        "domain": list(domain),
        "title": {"text": title, "standoff": 6, "font": {"size": size, "color": colors.muted}},
        "tickfont": {"size": size, "color": colors.muted},
        "gridcolor": colors.grid,
        "zeroline": False,
        "fixedrange": True,
    }


def _wide(rows: Sequence[PowerRow], axes: list[theme.Axis], title: str, colors: theme.Palette, scale: float) -> dict:
    size, small = theme.TEXT_SIZE * scale, theme.SMALL_SIZE * scale
    margin = {side: px * scale for side, px in _MARGIN.items()}
    quiet = {"range": [len(rows) - 0.5, -0.5], "showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": True}
    notes = [
        _note(_key(rows, colors, 9), small, "key", colors, xref="paper", yref="paper", x=0, y=1, yanchor="bottom", xshift=8 - margin["l"], yshift=36 * scale)
    ]
    for panel, text in enumerate((_("energy per output token"), title)):
        notes.append(_note(f"<b>{text}</b>", size, "title", colors, xref="paper", yref="paper", x=_PANELS[panel][0], y=1, yanchor="bottom", yshift=8 * scale))
    for i, row in enumerate(rows):
        head = f'<b><span style="color:{_ink(row, colors)}">{row.label}</span></b>'
        head += f'<br><span style="color:{colors.muted};font-size:{small}px">{row.about}</span>' if row.about else ""
        notes.append(_note(head, size, "head", colors, xref="paper", yref="y", x=0, y=i, xshift=8 - margin["l"]))
        for panel, tail in enumerate(("", "2")):
            notes.append(_note(_figures(row, panel, colors), small, "figure", colors, xref=f"x{tail} domain", yref=f"y{tail}", x=1, y=i, xshift=8 * scale))
    return theme.base_layout(
        colors, scale, showlegend=False, dragmode=False, hovermode="closest", margin=margin,
        xaxis=_value_axis(axes[0], _("J, all chips over all users' tokens"), small, colors, _PANELS[0]),
        xaxis2=_value_axis(axes[1], _("MW at peak power"), small, colors, _PANELS[1]) | {"anchor": "y2"},
        yaxis={**quiet, "domain": [0.0, 1.0]},
        yaxis2={**quiet, "domain": [0.0, 1.0], "anchor": "x2"},
        annotations=notes,
    )  # fmt: skip


def _narrow(rows: Sequence[PowerRow], axes: list[theme.Axis], title: str, colors: theme.Palette) -> dict:
    """The megawatts below the joules, names and figures above the marks of their row."""
    size, n = theme.SMALL_SIZE, len(rows)
    plot = 2 * ROW_NARROW_PX * n + _GAP_NARROW_PX
    cut = ROW_NARROW_PX * n / plot
    domains = ([1.0 - cut, 1.0], [0.0, cut])
    notes = [_note(_key(rows, colors, 2), size, "key", colors, xref="paper", yref="paper", x=0, y=1, yanchor="bottom", yshift=28)]
    for panel, text in enumerate((_("energy per output token"), title)):
        notes.append(_note(f"<b>{text}</b>", size, "title", colors, xref="paper", yref="paper", x=0, y=domains[panel][1], yanchor="bottom", yshift=4))
    for i, row in enumerate(rows):
        for panel, tail in enumerate(("", "2")):
            room = theme.NARROWEST_PX - _MARGIN_NARROW["l"] - _MARGIN_NARROW["r"]
            place = {"yref": f"y{tail}", "y": i - 0.17, "yanchor": "bottom"}
            head = f'<b><span style="color:{_ink(row, colors)}">{row.label}</span></b>'
            left = room - theme.text_width_px(row.label, size, bold=True) - theme.text_width_px("0.661 MW", size, bold=True) - 12
            band = theme.text_width_px(f"({ends_text(row.joules[FACILITY], row.low, row.high)})", size) < left and panel == 0
            notes.append(_note(head, size, "head", colors, xref="paper", x=0, **place))
            figure = _figures(row, panel, colors, with_band=band)
            notes.append(_note(figure, size, "figure", colors, xref="paper", x=1, **place) | {"xanchor": "right"})
    y_axis = {"range": [n - 0.6, -0.75]}
    return {
        "margin": _MARGIN_NARROW,
        "xaxis": _value_axis(axes[0], _("J, all chips over all users' tokens"), size, colors, [0.0, 1.0]),
        "xaxis2": _value_axis(axes[1], _("MW at peak power"), size, colors, [0.0, 1.0]),
        "yaxis": {**y_axis, "domain": domains[0]},
        "yaxis2": {**y_axis, "domain": domains[1]},
        "annotations": notes,
    }


def row_text(row: PowerRow) -> str:
    """A row in words, for the text alternative."""
    energy = joules(row.joules[FACILITY])
    return _("{name}: {energy} per output token at the facility, {power} MW").format(
        name=row.label, energy=energy, power=number(row.megawatts[FACILITY])
    ) if energy != MISSING else _("{name}: no figure").format(name=row.label)
