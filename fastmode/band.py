"""Bands of a side's speed, TTFT and price: how far the serving model may be off, and how much of that cancels.

A quoted figure is what it is and has no band. A quoted figure scaled by the model carries the uncertainty of the scaling
alone; a figure of the model alone carries all of it. Half widths are of the natural logarithm, by level 50 or 90 (%).
"""

from __future__ import annotations

import numpy as np

from fastmode.catalog import Catalog
from fastmode.serving.bands import half_width, ratio_half_width
from fastmode.serving.tables import tables
from fastmode.side import Side

Ends = tuple[np.ndarray, np.ndarray]
TOKENS_PER_MTOK = 1e6


def around(value: np.ndarray, half_width_ln: np.ndarray) -> Ends:
    """value x exp(-half width) and value x exp(half width)."""
    factor = np.exp(half_width_ln)
    return value / factor, value * factor


def speed_band(side: Side, level: int, catalog: Catalog) -> Ends:
    """Lower and upper end of `tokens_per_s`."""
    return around(side.tokens_per_s, _half_width(side, side.anchored, "tpot", level, catalog))


def ttft_band(side: Side, level: int, catalog: Catalog) -> Ends:
    """Lower and upper end of `ttft_client_s`; the handshake is an input and has no band."""
    low, high = around(side.ttft_s, _half_width(side, side.anchored_ttft, "ttft", level, catalog))
    return low + side.handshake_s, high + side.handshake_s


def modelled_speed_band(side: Side, level: int, catalog: Catalog) -> Ends:
    """Lower and upper end of the model's own speed, without any quoted figure."""
    return around(side.modelled_tokens_per_s, half_width(side.service, tables(catalog), "tpot", level))


def bill_band(side: Side, level: int, catalog: Catalog) -> Ends:
    """Lower and upper end of the token bill of one attempt, USD, from what modelled speed does to modelled prices.

    A price that the model moves goes against the speed of the same machine. A price that equals the list price or is the
    user's own has no band, so a part of the bill may be exact. The range of chip-hour prices is not in it.
    """
    moved = _half_width(side, side.anchored_price, "tpot", level, catalog)
    with np.errstate(invalid="ignore"):
        listed_in = side.anchored_price & (side.price_in_usd_per_mtok == side.list_price_in_usd_per_mtok)
        listed_out = side.anchored_price & (side.price_out_usd_per_mtok == side.list_price_out_usd_per_mtok)
        into = around(side.inputs.n_in * side.price_in_usd_per_mtok, np.where(side.own_price_in | listed_in, 0.0, moved))
        out = around(side.inputs.n_out * side.price_out_usd_per_mtok, np.where(side.own_price_out | listed_out, 0.0, moved))
    low, high = ((i + o) / TOKENS_PER_MTOK for i, o in zip(into, out, strict=True))
    return low, high


def ratio_band(value: np.ndarray, now: Ends, other: Ends, same: np.ndarray) -> Ends:
    """Ends of now / other around `value`: exact where both are the `same`, else the two taken as independent, so that their
    distances in the logarithm add as squares."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = [0.5 * np.log(high / low) for low, high in (now, other)]
    return around(value, np.where(same, 0.0, np.hypot(*(np.nan_to_num(h) for h in half))))


def _half_width(side: Side, anchored: np.ndarray, quantity: str, level: int, catalog: Catalog) -> np.ndarray:
    """Of the ratio to the preset where a quoted figure is scaled, 0 at the preset itself; else of the model alone."""
    table = tables(catalog)
    alone = half_width(side.service, table, quantity, level)
    if not anchored.any():
        return alone
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = ratio_half_width(side.service, side.anchor_service, table, quantity, level)
    return np.where(anchored, np.where(side.at_preset, 0.0, ratio), alone)
