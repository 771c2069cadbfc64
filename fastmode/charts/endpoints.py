"""Endpoints by output speed and price, and beside them what speed tiers of the same weights cost for what speed-up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from fastmode.charts import labels, theme
from fastmode.charts.theme import Axis, Box
from fastmode.endpoint_map import ABOVE, BELOW, Offer, Tier
from fastmode.evaluate import BASIS_WORDS
from fastmode.format import money, number, ratio
from fastmode.i18n import N_, _

HEIGHT = 450
HEIGHT_NARROW = 850

_MARGIN = {"l": 58, "r": 14, "t": 80, "b": 48}
_MARGIN_NARROW = {"l": 46, "r": 12, "t": 104, "b": 44}
_WIDE = ((0.0, 0.55), (0.645, 1.0))  # spans of the two panels across the figure
_NARROW = ((0.59, 1.0), (0.0, 0.475))  # and up it, the map above
_MULTIPLES = (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24)
_DOT_PX, _FAINT_PX = 10, 6
_MOST_NARROW = 7  # names on a phone's map
# Marks of the map by the word for the speed: symbol of Plotly, filled or not, and the same as a letter for the key.
MARKS = {
    BASIS_WORDS["measured_third_party"]: ("circle", True, "\u25cf"),
    BASIS_WORDS["vendor_spec"]: ("circle", False, "\u25cb"),
    BASIS_WORDS["community_estimate"]: ("diamond", False, "\u25c7"),
}
_X_TITLES = N_("output tok/s per user"), N_("speed multiple")
_Y_TITLES = N_("output price (USD/Mtok)"), N_("price multiple")
_TITLES = N_("Speed and price of the offers"), N_("Tiers of the same weights")


def endpoints_figure(
    offers: Sequence[Offer],
    arrows: Sequence[tuple[Offer, Offer]],
    tiers: Sequence[Tier],
    mode: theme.Mode,
    *,
    other_offers: Sequence[Offer] = (),
    other_tiers: Sequence[Tier] = (),
    scale: float = 1.0,
) -> tuple[go.Figure, dict]:
    """Two panels, side by side and on a phone one above the other, and the phones' layout.

    offers: with a speed and a price; arrows: from standard to faster tier of the same weights. tiers: hollow at the advertised
    multiple, filled at the one that two speeds give, joined where there are both; those without a price multiple are left out.
    other_offers, other_tiers: of the other era, faint and without names, so that the axes stand still when the era changes.
    scale: size of type (1.3 in a meeting; not on phones).
    """
    view = _view(offers, arrows, tiers, other_offers, other_tiers, mode)
    data = [*_offers(view), *_tiers(view)]
    wide = theme.base_layout(
        view.colors,
        scale,
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        **_layout(view, _MARGIN, (labels.least_width(scale), scale * HEIGHT), theme.TEXT_SIZE, scale),
    )
    narrow = _layout(view, _MARGIN_NARROW, (theme.NARROWEST_PX, HEIGHT_NARROW), theme.SMALL_SIZE, 1.0)
    return theme.figure(data, wide), narrow


@dataclass(frozen=True)
class _View:
    """axes: (x, y) of the map and of the tiers."""

    colors: theme.Palette
    offers: list[Offer]
    arrows: list[tuple[Offer, Offer]]
    tiers: list[Tier]
    other_offers: list[Offer]
    other_tiers: list[Tier]
    axes: tuple[tuple[Axis, Axis], tuple[Axis, Axis]]


def _view(offers, arrows, tiers, other_offers, other_tiers, mode: theme.Mode) -> _View:
    priced, other_priced = ([t for t in group if np.isfinite(t.price_multiple)] for group in (tiers, other_tiers))
    everything, every_tier = [*offers, *other_offers], [*priced, *other_priced]
    speeds, prices = (np.array([getattr(o, name) for o in everything] or [1.0]) for name in ("tokens_per_s", "usd_per_mtok"))
    multiples = np.array([[t.advertised, t.realised] for t in every_tier] or [[1.0]])
    axes = (
        (_axis(speeds, 1.5, 1.7), _axis(prices, 1.7, 3.0)),
        (_multiples(np.nanmax(multiples)), _multiples(max((t.price_multiple for t in every_tier), default=1.0))),
    )
    return _View(theme.palette(mode), list(offers), list(arrows), priced, list(other_offers), other_priced, axes)


def _axis(values: np.ndarray, below: float, above: float) -> Axis:
    low, high = float(values.min() / below), float(values.max() * above)
    ticks = theme.round_ticks(low, high, True)
    return Axis(low, high, True, ticks, [number(v) for v in ticks])


def _multiples(highest: float) -> Axis:
    low, high = 0.9, max(float(highest), 2.0) * 1.35
    ticks = np.array([v for v in _MULTIPLES if v <= high], float)
    return Axis(low, high, True, ticks, [ratio(v) for v in ticks])


# traces


def _offers(view: _View) -> list[dict]:
    colors = view.colors
    common = {"type": "scatter", "hoverinfo": "text", "cliponaxis": False}
    x = np.array([[a.tokens_per_s, b.tokens_per_s, np.nan] for a, b in view.arrows]).ravel()
    y = np.array([[a.usd_per_mtok, b.usd_per_mtok, np.nan] for a, b in view.arrows]).ravel()
    heads = {"symbol": "arrow", "angleref": "previous", "size": [0, 11, 0] * len(view.arrows), "standoff": 7, "color": colors.scenario}
    line = {"color": colors.scenario, "width": 1.8}
    traces = [
        _faint(view, [(o.tokens_per_s, o.usd_per_mtok, _offer_hover(o)) for o in view.other_offers], "other:offers", ""),
        {**common, "mode": "lines+markers", "meta": "arrows", "x": x, "y": y, "line": line, "marker": heads, "hoverinfo": "skip"},
    ]
    for word, (symbol, filled, _letter) in MARKS.items():
        rows = [o for o in view.offers if o.word == word]
        traces.append(
            {
                **common,
                "mode": "markers",
                "meta": word,
                "x": np.array([o.tokens_per_s for o in rows]),
                "y": np.array([o.usd_per_mtok for o in rows]),
                "marker": _marker(symbol, _DOT_PX, colors.published, colors.published if filled else colors.ground),
                "hovertext": [_offer_hover(o) for o in rows],
            }
        )
    return traces


def _marker(symbol: str, size: float, ink: str, fill: str) -> dict:
    return {"symbol": symbol, "size": size, "color": fill, "line": {"color": ink, "width": 2}}


def _faint(view: _View, rows: Sequence[tuple[float, float, str]], meta: str, tail: str) -> dict:
    x, y, hover = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "type": "scatter", "mode": "markers", "meta": meta, "x": np.array(x), "y": np.array(y), "hoverinfo": "text", "hovertext": list(hover),
        "marker": {"size": _FAINT_PX, "color": view.colors.hatch}, "xaxis": f"x{tail}", "yaxis": f"y{tail}",
    }  # fmt: skip


def _offer_hover(offer: Offer) -> str:
    lines = [
        f"<b>{offer.label}</b>",
        _("{speed} tok/s per user ({word})").format(speed=number(offer.tokens_per_s), word=_(offer.word)),
        _("{price} per Mtok of output").format(price=money(offer.usd_per_mtok)),
        offer.date,
    ]
    return "<br>".join(lines)


def _tiers(view: _View) -> list[dict]:
    colors, axes = view.colors, {"xaxis": "x2", "yaxis": "y2"}
    common = {"type": "scatter", "hoverinfo": "text", **axes}
    x_axis, y_axis = view.axes[1]
    ends = np.array([1.0, min(x_axis.high, y_axis.high)])
    others = [(x, t.price_multiple, _tier_hover(t)) for t in view.other_tiers for x in [t.advertised if np.isfinite(t.advertised) else t.realised]]
    traces = [
        {**common, "mode": "lines", "meta": "as fast", "x": ends, "y": ends, "hoverinfo": "skip",
         "line": {"color": colors.muted, "width": 1.2, "dash": "dash"}},
        _faint(view, others, "other:tiers", "2"),
    ]  # fmt: skip
    for flagged in (False, True):
        rows = [t for t in view.tiers if _flagged(t) == flagged]
        ink = colors.worse if flagged else colors.published
        both = [t for t in rows if np.isfinite(t.advertised + t.realised)]
        x = np.array([[t.advertised, t.realised, np.nan] for t in both]).ravel()
        y = np.repeat([t.price_multiple for t in both], 3)
        kind = "flagged" if flagged else "plain"
        traces.append({**common, "mode": "lines", "meta": f"{kind}:joined", "x": x, "y": y, "hoverinfo": "skip", "line": {"color": ink, "width": 2}})
        for name, symbol, fill in (("advertised", "circle", colors.ground), ("realised", "diamond", ink)):
            known = [t for t in rows if np.isfinite(getattr(t, name))]
            traces.append(
                {
                    **common,
                    "mode": "markers",
                    "meta": f"{kind}:{name}",
                    "x": np.array([getattr(t, name) for t in known]),
                    "y": np.array([t.price_multiple for t in known]),
                    "marker": _marker(symbol, _DOT_PX, ink, fill),
                    "hovertext": [_tier_hover(t) for t in known],
                    "cliponaxis": False,
                }
            )
    return traces


def _flagged(tier: Tier) -> bool:
    return tier.verdict in (BELOW, ABOVE)


def _tier_hover(tier: Tier) -> str:
    lines = [f"<b>{tier.offer.label}</b>", _("price: {multiple}").format(multiple=ratio(tier.price_multiple))]
    if np.isfinite(tier.advertised):
        lines.append(_("speed, advertised: {multiple}").format(multiple=ratio(tier.advertised)))
    if tier.against:
        text = _("speed, from two speeds: {multiple} of {standard}")
        lines.append(text.format(multiple=ratio(tier.realised), standard=tier.against.label))
    return "<br>".join([*lines, tier.offer.date])


# layout


def _layout(view: _View, margin: dict, size_px: tuple[float, float], type_px: int, scale: float) -> dict:
    colors, narrow = view.colors, size_px[0] == theme.NARROWEST_PX
    margin = {side: px * scale for side, px in margin.items()}
    width, height = size_px[0] - margin["l"] - margin["r"], size_px[1] - margin["t"] - margin["b"]
    small = {"size": (type_px if narrow else type_px - 1) * scale, "color": colors.muted}
    axis = {"zeroline": False, "fixedrange": True, "tickfont": small, "linecolor": colors.axis, "showline": True, "gridcolor": colors.grid}
    axis |= {"ticks": "outside", "ticklen": 4 * scale, "tickcolor": colors.axis}
    layout: dict = {"margin": margin}
    notes = [_key(view, margin, type_px, scale, narrow)]
    for i, (x_axis, y_axis) in enumerate(view.axes):
        tail = "2" if i else ""
        across, up = ((0.0, 1.0), _NARROW[i]) if narrow else (_WIDE[i], (0.0, 1.0))
        title = {"font": small, "standoff": 5}
        layout[f"xaxis{tail}"] = {**axis, **x_axis.layout(), "domain": [*across], "anchor": f"y{tail}", "title": {"text": _(_X_TITLES[i]), **title}}
        layout[f"yaxis{tail}"] = {**axis, **y_axis.layout(), "domain": [*up], "anchor": f"x{tail}", "title": {"text": _(_Y_TITLES[i]), **title}}
        notes.append(_title(_(_TITLES[i]), tail, colors, type_px * scale, margin["l"], scale))
        panel = (across[1] - across[0]) * width / scale, (up[1] - up[0]) * height / scale
        pen = labels.Writer(x_axis, y_axis, *panel, small["size"] / scale, colors, scale, tail, np.empty((0, 2)), [])
        notes += _tier_names(view, pen) if i else _offer_names(view, pen, narrow)
    return layout | {"annotations": notes}


def _title(text: str, tail: str, colors: theme.Palette, size: float, left: float, scale: float) -> dict:
    font = {"size": size, "color": colors.text}
    place = {"xref": f"x{tail} domain", "yref": f"y{tail} domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    return {"name": "title", "text": f"<b>{text}</b>", "font": font, "showarrow": False, "yshift": 4 * scale, **place}


def _key(view: _View, margin: dict, type_px: int, scale: float, narrow: bool) -> dict:
    """The key in the first lines of the figure: of the map, then of the tiers."""
    colors, size = view.colors, type_px if narrow else type_px - 1
    speeds = [(letter, _(word), colors.published) for word, (_symbol, _filled, letter) in MARKS.items()]
    speeds.append(("\u2192", _("same weights, faster"), colors.scenario))
    if view.other_offers or view.other_tiers:
        speeds.append(("\u25cf", _("other dates"), colors.hatch))
    tiers = [("\u25cb", _("advertised"), colors.published), ("\u25c6", _("from two speeds"), colors.published)]
    if any(map(_flagged, view.tiers)):
        tiers.append(("\u25c6", _("more than 10 % off"), colors.worse))
    room = theme.NARROWEST_PX if narrow else labels.least_width(scale) / scale
    lines = [line for entries in (speeds, tiers) for line in _packed(entries, room, size)]
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "top", "align": "left"}
    font = {"size": size * scale, "color": colors.text}
    return {"name": "key", "text": "<br>".join(lines), "font": font, "showarrow": False, **place, "xshift": 2 - margin["l"], "yshift": margin["t"]}


def _packed(entries: Sequence[tuple[str, str, str]], room: float, size: float) -> list[str]:
    """Entries (letter, text, colour) of a key, as many in a line as fit `room` px."""
    lines: list[list[str]] = []
    used = np.inf
    for letter, text, ink in entries:
        wide = theme.text_width_px(f"{letter} {text}   ", size)
        if used + wide > room:
            lines, used = [*lines, []], 0.0
        lines[-1].append(f'<span style="color:{ink}">{letter}</span>\u00a0{text.replace(" ", chr(0xA0))}')
        used += wide
    return ["   ".join(line) for line in lines]


def _offer_names(view: _View, pen: labels.Writer, narrow: bool) -> list[dict]:
    """Names of the offers, faster tiers and those at an arrow first; one without room has its name in the hover only."""
    places = {o.id: pen.mark(o.tokens_per_s, o.usd_per_mtok, 7) for o in [*view.offers, *(end for pair in view.arrows for end in pair)]}
    faint = [(o.tokens_per_s, o.usd_per_mtok) for o in view.other_offers]
    for x, y in faint:
        pen.mark(x, y, 4)
    lines = [np.linspace(places[a.id], places[b.id], 40) for a, b in view.arrows]
    if lines:
        pen = replace(pen, drawn=np.concatenate([labels.curve_points(*line.T) for line in lines]))
    at_arrow = {end.id for pair in view.arrows for end in pair}
    rows = sorted(view.offers, key=lambda o: (not o.standard, o.id not in at_arrow))
    left = _MOST_NARROW if narrow else len(rows)
    for offer in rows:
        if not left:
            break
        box = labels.place_near(pen, places[offer.id], list(places.values()), offer.label, labels.AWAY[: 1 if narrow else 2])
        led = not box and not narrow
        box = box or (labels.place_led(pen, places[offer.id], offer.label) if led else None)
        if box:
            pen.write(box, offer.label, view.colors.text, "offer", at=places[offer.id], led=led)
            left -= 1
    return pen.notes


def _tier_names(view: _View, pen: labels.Writer) -> list[dict]:
    """Names of the tiers; those at one place in one text, a line each. A flagged one has its name at what two speeds give."""
    groups: dict[tuple[float, float, bool], list[str]] = {}
    for t in view.tiers:
        x = t.realised if _flagged(t) or np.isnan(t.advertised) else t.advertised
        groups.setdefault((x, t.price_multiple, _flagged(t)), []).append(t.offer.label)
    for t in view.tiers:
        for x in (t.advertised, t.realised):
            if np.isfinite(x):
                pen.mark(x, t.price_multiple, 7)
    x_axis, y_axis = view.axes[1]
    ends = np.array([1.0, min(x_axis.high, y_axis.high)])
    diagonal = labels.curve_points(x_axis.place(ends) * pen.width, y_axis.place(ends) * pen.height)
    for (x, y, flagged), lines in sorted(groups.items(), key=lambda item: (-len(item[1]), not item[0][2])):
        at = float(x_axis.place(x) * pen.width), float(y_axis.place(y) * pen.height)
        near = labels.clear_place(pen, _beside(at, lines, pen.size))
        if box := near or (labels.place_led(pen, at, lines[0]) if len(lines) == 1 else None):
            pen.write(box, "<br>".join(lines), view.colors.worse if flagged else view.colors.text, "tier", at=at, led=not near)
    text = _("price grows as speed")
    if box := next((b for b in labels.on_curve(diagonal, text, pen.size, pen.height) if labels.clear(pen, b)), None):
        pen.write(box, text, view.colors.muted, "as fast")
    return pen.notes


def _beside(at: tuple[float, float], lines: Sequence[str], size: float) -> list[Box]:
    """Places for lines of text beside a point: one line above or below first, several right or left, then the corners."""
    wide, tall = max(theme.text_width_px(line, size) for line in lines), 1.3 * size * len(lines)
    up, side = 8 + tall / 2, 11 + wide / 2
    steps = [(0, up), (0, -up), (side, 0), (-side, 0)]
    if len(lines) > 1:
        steps = steps[2:] + steps[:2]
    steps += [(dx * wide / 2, dy) for dx in (0.8, -0.8) for dy in (up, -up)]
    return [Box.around(at[0] + dx, at[1] + dy, wide, tall) for dx, dy in steps]
