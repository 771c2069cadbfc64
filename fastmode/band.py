"""Bands of a side's speed, TTFT and price: how far the serving model may be off, and how much of that cancels.

A quoted figure is what it is and has no band. A quoted figure scaled by the model carries the uncertainty of the scaling
alone; a figure of the model alone carries all of it. Half widths are of the natural logarithm, by level 50 or 90 (%).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastmode.catalog import Catalog
from fastmode.serving import Service
from fastmode.serving.bands import half_width, ratio_half_width
from fastmode.serving.tables import tables
from fastmode.side import Side

Ends = tuple[np.ndarray, np.ndarray]
TOKENS_PER_MTOK = 1e6


def around(value: np.ndarray, half_width_ln: np.ndarray) -> Ends:
    """value x exp(-half width) and value x exp(half width)."""
    factor = np.exp(half_width_ln)
    return value / factor, value * factor


LEVELS = (50, 90)
ROUNDING = 1e-9  # a correlation this close to 1 is 1: the same miss


@dataclass(frozen=True, eq=False)
class Widths:
    """Half widths by level of the bands of one side's ln speed, ln TTFT and ln prices; 0 at a quoted figure.

    NaN where there is no figure. A price that equals the list price or is the user's own has none; one that the model moves
    has that of the time per output token. The range of chip-hour prices is not in it.
    """

    speed: dict[int, np.ndarray]
    ttft: dict[int, np.ndarray]
    price_in: dict[int, np.ndarray]
    price_out: dict[int, np.ndarray]
    modelled_speed: dict[int, np.ndarray]  # of the model's own speed, without any quoted figure


def widths(side: Side, catalog: Catalog) -> Widths:
    """All half widths of a side."""
    table = tables(catalog)
    made: dict[str, dict[int, np.ndarray]] = {name: {} for name in ("speed", "ttft", "price_in", "price_out", "modelled_speed")}
    with np.errstate(invalid="ignore"):
        exact_in = side.own_price_in | (side.anchored_price & (side.price_in_usd_per_mtok == side.list_price_in_usd_per_mtok))
        exact_out = side.own_price_out | (side.anchored_price & (side.price_out_usd_per_mtok == side.list_price_out_usd_per_mtok))
    for level in LEVELS:
        alone = half_width(side.service, table, "tpot", level)
        scaled = _scaled(side, side.anchored | side.anchored_price, "tpot", level, catalog)
        moved = np.where(side.anchored_price, scaled, alone)
        made["modelled_speed"][level] = alone
        made["speed"][level] = np.where(side.anchored, scaled, alone)
        made["price_in"][level] = np.where(exact_in, 0.0, moved)
        made["price_out"][level] = np.where(exact_out, 0.0, moved)
        scaled = _scaled(side, side.anchored_ttft, "ttft", level, catalog)
        made["ttft"][level] = np.where(side.anchored_ttft, scaled, half_width(side.service, table, "ttft", level))
    return Widths(**made)


def _scaled(side: Side, anchored: np.ndarray, quantity: str, level: int, catalog: Catalog) -> np.ndarray:
    """Half width of the ratio to the preset, where a quoted figure is scaled; 0 at the preset itself."""
    if not (anchored & ~side.at_preset).any():
        return np.zeros(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = ratio_half_width(side.service, side.anchor_service, tables(catalog), quantity, level)
    return np.where(side.at_preset, 0.0, ratio)


def speed_band(side: Side, wide: Widths, level: int) -> Ends:
    """Lower and upper end of `tokens_per_s`."""
    return around(side.tokens_per_s, wide.speed[level])


def ttft_band(side: Side, wide: Widths, level: int) -> Ends:
    """Lower and upper end of `ttft_client_s`; the handshake is an input and has no band."""
    low, high = around(side.ttft_s, wide.ttft[level])
    return low + side.handshake_s, high + side.handshake_s


def modelled_speed_band(side: Side, wide: Widths, level: int) -> Ends:
    """Lower and upper end of the model's own speed, without any quoted figure."""
    return around(side.modelled_tokens_per_s, wide.modelled_speed[level])


def bill_band(side: Side, wide: Widths, level: int) -> Ends:
    """Lower and upper end of the token bill of one attempt, USD, from what modelled speed does to modelled prices.

    A price that the model moves goes against the speed of the same machine.
    """
    into = around(side.inputs.n_in * side.price_in_usd_per_mtok, wide.price_in[level])
    out = around(side.inputs.n_out * side.price_out_usd_per_mtok, wide.price_out[level])
    low, high = ((i + o) / TOKENS_PER_MTOK for i, o in zip(into, out, strict=True))
    return low, high


def shared_share(now: Side, other: Side, wide: tuple[Widths, Widths], quantity: str, catalog: Catalog) -> np.ndarray:
    """Correlation of what the model misses of the two sides' "tpot" (speed) or "ttft"; 1 where it is the same miss.

    With m(x) the miss at settings x and V(x, y) the variance of m(x) - m(y), of which the band of a ratio is made: a figure of
    the model alone misses m(its settings), a scaled one m(its settings) - m(the preset's), and the covariance of two misses is
    cov(m(x), m(y)) = (V(x) + V(y) - V(x, y)) / 2. 0 where either figure is quoted.
    """
    one, two = ((w.speed if quantity == "tpot" else w.ttft)[90] for w in wide)
    parts_now, parts_other = _parts(now, quantity), _parts(other, quantity)
    table = tables(catalog)
    total: np.ndarray | float = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        for weight_a, a in parts_now:
            for weight_b, b in parts_other:
                if not np.any(weight_a * weight_b):
                    continue
                alone = [half_width(service, table, quantity, 90) ** 2 for service in (a, b)]
                apart = ratio_half_width(a, b, table, quantity, 90) ** 2
                total = total + np.nan_to_num(weight_a * weight_b * 0.5 * (alone[0] + alone[1] - apart))
        share = np.nan_to_num(np.clip(total / (one * two), -1.0, 1.0))
    return np.where(share > 1.0 - ROUNDING, 1.0, share)


def _parts(side: Side, quantity: str) -> tuple[tuple[np.ndarray, Service], tuple[np.ndarray, Service]]:
    """The misses a side's figure is made of, each with its weight (see `shared_share`)."""
    anchored = side.anchored if quantity == "tpot" else side.anchored_ttft
    moved = anchored & ~side.at_preset
    return (np.where(anchored & side.at_preset, 0.0, 1.0), side.service), (np.where(moved, -1.0, 0.0), side.anchor_service)


def ratio_band(value: np.ndarray, now: Ends, other: Ends, same: np.ndarray) -> Ends:
    """Ends of now / other around `value`: exact where both are the `same`, else the two taken as independent, so that their
    distances in the logarithm add as squares."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = [0.5 * np.log(high / low) for low, high in (now, other)]
    return around(value, np.where(same, 0.0, np.hypot(*(np.nan_to_num(h) for h in half))))
