"""What serving costs the provider: chip-hours to USD per million tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fastmode.catalog import Catalog
from fastmode.units import SECONDS_PER_HOUR, TOKENS_PER_MTOK

HOURS_PER_YEAR = 8760.0
RENTAL_KINDS = ("on_demand", "reserved", "spot")
# Ends of a price range: low and high of an assumption are its 5th and 95th percentile everywhere in the project.
PERCENTILES = (5.0, 50.0, 95.0)


@dataclass(frozen=True)
class ChipHour:
    """Price of one chip-hour in USD: low, mid and high as arrays shape (3, n), and whether it was derived, shape (n,)."""

    usd: np.ndarray
    derived: np.ndarray


@lru_cache(maxsize=8)
def _price_table(catalog: Catalog) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(rental, estimate, purchase) as (3, hardware) percentiles in USD, and power in W a chip, shape (hardware,).

    Power that is not published counts as none: it is a small part of what a bought chip costs.
    """
    hardware = catalog.hardware
    prices = catalog.hardware_prices
    shape = (len(PERCENTILES), len(hardware))
    rental, estimate, purchase = (np.full(shape, np.nan) for _unused in range(3))
    is_rental = prices["kind"].isin(RENTAL_KINDS)
    for row, hardware_id in enumerate(hardware.index):
        mine = prices["hardware_id"] == hardware_id
        for target, values in (
            (rental, prices.loc[mine & is_rental, "usd_per_chip_hour"].dropna()),
            (estimate, prices.loc[mine & ~is_rental, "usd_per_chip_hour"].dropna()),
            (purchase, prices.loc[mine, "purchase_usd_per_chip"].dropna()),
        ):
            if len(values):
                target[:, row] = np.percentile(values, PERCENTILES)
    power = hardware["system_power_w_per_chip"].fillna(hardware["tdp_w"]).fillna(0.0).to_numpy(float)
    return rental, estimate, purchase, power


def chip_hour(hardware: np.ndarray, amortisation_years, electricity_usd_per_kwh, pue, catalog: Catalog) -> ChipHour:
    """Price of a chip-hour for rows `hardware` of the catalogue (any shape).

    Rental prices where a provider lists one. Where none does, analysts' hourly estimates together with the purchase price
    paid off over its life plus power, marked derived: purchase / (years x 8760) + W / 1000 x PUE x USD per kWh.
    NaN where neither is known.
    """
    rental, estimate, purchase, power = (table[..., hardware] for table in _price_table(catalog))
    running = power / 1000.0 * np.asarray(pue) * np.asarray(electricity_usd_per_kwh)
    owned = purchase / (np.asarray(amortisation_years) * HOURS_PER_YEAR) + running
    # Two kinds of evidence: the ends take both in, the middle lies between them.
    middle = np.where(
        np.isnan(estimate[1]), owned[1], np.where(np.isnan(owned[1]), estimate[1], 0.5 * (estimate[1] + owned[1]))
    )
    made = np.stack([np.fmin(estimate[0], owned[0]), middle, np.fmax(estimate[2], owned[2])])
    derived = np.isnan(rental[1])
    return ChipHour(np.where(derived, made, rental), derived)


def cost_usd_per_mtok(n_chips, usd_per_chip_hour, tokens_per_s, utilisation):
    """Provider cost of a million tokens in USD: n x USD per chip-hour x 1e6 / (3600 x tokens per s of all n chips x utilisation)."""
    return n_chips * usd_per_chip_hour * TOKENS_PER_MTOK / (SECONDS_PER_HOUR * tokens_per_s * utilisation)
