"""Two ways to go fast: a smaller batch on the same chips, and the same batch on a newer chip.

Both start from one deployment, with its weights, number format and lengths kept, and are read as ratios to it: speed of one user,
and the provider's cost per output token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fastmode import band
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.scenario import Scenario, expand_preset
from fastmode.serving import Service
from fastmode.serving.bands import ratio_half_width
from fastmode.serving.tables import tables

LEVEL = 90
POINTS = 48  # batches between 1 and the deployment's own, evenly in ln; those that round to the same count once
SRAM = "SRAM"
ROUNDING = 1e-9
FOUNDING, TODAY = "founding", "today"  # groups of presets whose published tiers are shown
AVAILABLE = "available"  # status of an endpoint


@dataclass(frozen=True, eq=False)
class Way:
    """Points as ratios to the deployment, arrays of n: speed of one user with its LEVEL % band, and cost per output token.

    cost: shape (3, n), at the low, chosen and high price of a chip-hour over the deployment's own cost at its chosen price. NaN = unknown.
    """

    speed: NDArray
    speed_low: NDArray
    speed_high: NDArray
    cost: NDArray
    batch: NDArray
    chips: NDArray
    reasons: list[str]


@dataclass(frozen=True)
class Tier:
    """A published fast tier of the same weights. measured: its speed ratio is that of two listed speeds, else the vendor's "up to"."""

    label: str
    speed: float
    price: float
    measured: bool


@dataclass(frozen=True, eq=False)
class TwoWays:
    """`deployment`: where both start. Batches of `smaller` rise; `newer` has one element a row of `hardware` (ids)."""

    deployment: Scenario
    chips: float
    smaller: Way
    newer: Way
    hardware: NDArray
    sram: NDArray
    reason: str  # why the deployment itself cannot be modelled, empty where it can

    def batch_for(self, speed: float) -> int:
        """Index in `smaller` of the largest batch that is at least `speed` times as fast; -1 where none is."""
        reached = np.flatnonzero(self.smaller.speed >= speed * (1.0 - ROUNDING))
        return int(reached[-1]) if reached.size else -1

    def parts_for(self, speed: float) -> NDArray:
        """Rows of `newer` that are at least `speed` times as fast, the cheapest first, without a cost last."""
        reached = np.flatnonzero(self.newer.speed >= speed * (1.0 - ROUNDING))
        cost = self.newer.cost[1, reached]
        return reached[np.argsort(np.where(np.isnan(cost), np.inf, cost), kind="stable")]


def deployment_of(e: Evaluation) -> Scenario:
    """The reference's own deployment under the scenario's task and prices, at the batch it runs there: its preset's, or the largest that
    fits where a long context leaves no room for that."""
    s, batch = e.scenario, e.at(e.reference.service.batch)
    own = expand_preset(str(s.reference), e.catalog)
    return replace(s, **own | {"load": "batch"} | ({"batch_size": batch} if np.isfinite(batch) else {}))


def two_ways(deployment: Scenario, catalog: Catalog) -> TwoWays:
    """Both ways from a deployment of single values.

    Smaller: its own chips at whole batches from 1 to its own. Newer: parts of its year or later, and SRAM
    machines, at its batch, on as many chips as it has or the fewest that fit where that is more (as claim C43); in place of an SRAM
    machine the fewest that fit.
    """
    batch = float(deployment.batch_size)
    batches = np.unique(np.append(np.round(np.geomspace(1.0, batch, POINTS)), batch))
    ids = _newer(str(deployment.hardware), catalog)
    at_home = np.arange(len(batches) + len(ids)) < len(batches)
    first = evaluate(
        replace(
            deployment,
            hardware=np.array([*[str(deployment.hardware)] * len(batches), *ids]),
            batch_size=np.array([*batches, *[batch] * len(ids)]),
            n_chips=np.where(at_home, float(deployment.n_chips), 0.0),
            **{name: np.where(at_home, float(getattr(deployment, name)), 0.0) for name in ("tp", "pp", "dp", "ep")},
        ),
        catalog,
    )
    home = len(batches) - 1
    chips = first.at(first.now.service.n_chips, home)
    as_many = _as_many(deployment, ids, first.now.service.slice(len(batches), len(at_home)), chips, catalog)
    smaller, newer = _way(first, slice(0, len(batches)), first, home), _way(as_many, slice(0, len(ids)), first, home)
    sram = (catalog.hardware["memory_kind"] == SRAM)[ids].to_numpy()
    reason = "" if np.isfinite(first.at(first.now.modelled_tokens_per_s, home)) else first.service_reason(first.now, home)
    return TwoWays(deployment, chips, smaller, newer, np.array(ids), sram, reason)


def _newer(home: str, catalog: Catalog) -> list[str]:
    """Parts for data centres of the same year as `home` or later, and SRAM machines of any year."""
    table = catalog.hardware
    year = table["release_date"].str[:4].astype(float)
    sram = table["memory_kind"] == SRAM
    chosen = (sram | ((table["memory_kind"] == "HBM") & (year >= year[home]))) & (table.index != home)
    return table.index[chosen].tolist()


def _as_many(deployment: Scenario, ids: list[str], fewest: Service, chips: float, catalog: Catalog) -> Evaluation:
    """The parts at the deployment's batch, on its number of chips or the fewest that fit."""
    sram = bool(catalog.hardware.at[str(deployment.hardware), "memory_kind"] == SRAM)
    at_least = 0.0 if sram else chips  # hundreds of small chips are no measure for others
    count = np.where(np.isfinite(fewest.n_chips), np.fmax(fewest.n_chips, at_least), 0.0)
    return evaluate(replace(deployment, hardware=np.array(ids), n_chips=count, **dict.fromkeys(("tp", "pp", "dp", "ep"), 0)), catalog)


def _way(e: Evaluation, part: slice, origin: Evaluation, home: int) -> Way:
    service, start = e.now.service.slice(part.start, part.stop), origin.now.service.slice(home, home + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        speed = service.tokens_per_s_per_user / start.tokens_per_s_per_user
        half = ratio_half_width(service, start, tables(e.catalog), "tpot", LEVEL)
        cost = e.now.provider_usd_per_mtok[:, part] / origin.now.provider_usd_per_mtok[1, home]
    # A chip-hour of the deployment's own part cancels, whatever it costs.
    same = service.hardware == start.hardware
    with np.errstate(invalid="ignore", divide="ignore"):
        per_chip = (start.output_tokens_per_s / start.n_chips) / (service.output_tokens_per_s / service.n_chips)
    low, high = band.around(speed, half)
    return Way(
        speed, low, high, np.where(same, per_chip, cost), service.batch, service.n_chips,
        [e.service_reason(e.now, i) for i in range(part.start, part.stop)],
    )  # fmt: skip


@lru_cache(maxsize=8)
def published_tiers(catalog: Catalog) -> tuple[Tier, ...]:
    """Fast tiers of the same weights with a published price multiple and a speed multiple of any basis: the founding ones, and
    those that are available today.

    Both multiples are over the standard tier of the same weights. A ratio of two measured speeds goes before the vendor's "up to".
    """
    presets, endpoints = catalog.presets, catalog.endpoints
    made = []
    for preset in presets.index[presets["group"].isin([FOUNDING, TODAY])]:
        row = endpoints.loc[preset]
        home = str(row["same_model_as"])
        kept = presets.at[preset, "group"] == FOUNDING or str(row["status"]) == AVAILABLE
        if not kept or home not in endpoints.index:
            continue
        both = [row, endpoints.loc[home]]
        price = float(both[0]["output_usd_per_mtok"] / both[1]["output_usd_per_mtok"])
        measured = all(r["basis"] == "measured_third_party" and np.isfinite(r["output_tok_s"]) for r in both)
        ratio = both[0]["output_tok_s"] / both[1]["output_tok_s"] if measured else row["speed_multiplier_vs_standard"]
        if np.isfinite(price) and np.isfinite(ratio) and price != 1.0:
            made.append(Tier(str(presets.at[preset, "label"]), float(ratio), price, measured))
    return tuple(made)
