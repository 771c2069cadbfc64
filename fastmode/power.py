"""Power: joules per output token and megawatts, of the chips alone, of their system and of the building.

Every figure is peak power for as long as the chips run, so an upper bound for what it names (chip energy <= TDP x chips x time). Where
nobody publishes the system's power, the facility's figure leaves hosts and switches out and is marked as that of the chips alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.band import around
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.serving import PRECISIONS, Service
from fastmode.serving.bands import half_width
from fastmode.serving.tables import tables

LEVEL = 90  # % of the bands
GIGA, TERA, MEGA = 1e9, 1e12, 1e6
CHIP, SYSTEM, FACILITY = range(3)
ROUNDING = 1e-9  # a demand that fills a deployment to the last digit needs no second one


def power_w(hardware: ArrayLike, pue: float, catalog: Catalog) -> NDArray:
    """Peak power in W per chip, shape (3, n), rows CHIP, SYSTEM, FACILITY; hardware: rows of catalog.hardware, shape (n,).

    Chip: TDP. System: what a source gives per chip, hosts and switches included. Facility: system power, else that of the chip,
    times PUE. NaN where nobody publishes it.
    """
    rows = np.asarray(hardware)
    chip, system = (catalog.hardware[name].to_numpy(float)[rows] for name in ("tdp_w", "system_power_w_per_chip"))
    return np.stack([chip, system, np.where(np.isnan(system), chip, system) * pue])


def joules_per_token(service: Service, pue: float, catalog: Catalog) -> NDArray:
    """Joules per output token, shape (3, n): chips x W per chip / output tokens per s of all chips (prefill of the same requests
    included). The chip row is `service.energy_j_per_token`. NaN where power or speed is unknown."""
    served = np.where(service.status == 0, service.n_chips, np.nan)
    return power_w(service.hardware, pue, catalog) * served / service.output_tokens_per_s


def joules_ends(service: Service, pue: float, catalog: Catalog) -> tuple[NDArray, NDArray]:
    """Lower and upper end of the LEVEL % band of `joules_per_token`, each of shape (3, n): energy per token moves as the modelled time
    per token does. What real power is below peak is not in it."""
    return around(joules_per_token(service, pue, catalog), half_width(service, tables(catalog), "tpot", LEVEL))


def chips_to_hold(weights_bytes: float, hardware: ArrayLike, catalog: Catalog) -> NDArray:
    """The fewest chips whose whole memory holds so many bytes, shape (n,): no room for cache or activations. NaN where the memory is
    not published. hardware: rows of catalog.hardware."""
    memory = catalog.hardware["memory_gb"].to_numpy(float)[np.asarray(hardware)] * GIGA
    return np.ceil(weights_bytes / memory * (1.0 - ROUNDING))


def parameters_held(weights_bytes: float, catalog: Catalog) -> dict[str, float]:
    """Parameters that so many bytes are, by number format (one of serving.PRECISIONS): scales of the format included."""
    table = tables(catalog)
    return {name: weights_bytes / float(table.bytes_per_value[PRECISIONS.index(name)]) for name in ("bf16", "fp8", "fp4")}


@dataclass(frozen=True, eq=False)
class Site:
    """What stands in a building: arrays of n parts. megawatts: shape (3, n), rows CHIP, SYSTEM, FACILITY; NaN = unknown."""

    deployments: NDArray  # copies of the model; 1 where only the weights are held
    chips: NDArray  # over all deployments
    megawatts: NDArray


def demand_tokens_per_s(e: Evaluation) -> float:
    """Output tokens/s of the scenario's requests/s, in the pace of its stand-in (see ServiceInTraffic.at_pace)."""
    pace = e.at(getattr(e.now.service, "pace", np.ones(1)))
    s = e.scenario
    return float(s.requests_per_s) / pace * max(float(s.n_out) / float(s.calls), 1.0)


def site_for_traffic(e: Evaluation, service: Service) -> Site:
    """As many deployments like `service` as carry the scenario's requests/s at its batch, at least one; at peak power, while they serve.

    `service`: configurations of the same requests at a fixed batch, shape (n,).
    """
    needed = demand_tokens_per_s(e) / service.output_tokens_per_s
    deployments = np.maximum(np.ceil(needed * (1.0 - ROUNDING)), 1.0)  # NaN stays NaN
    return _site(deployments, deployments * service.n_chips, service.hardware, float(e.scenario.pue), e.catalog)


def site_for_bytes(weights_bytes: float, hardware: ArrayLike, pue: float, catalog: Catalog) -> Site:
    """One copy of weights of that size on each part, at peak power (`chips_to_hold`)."""
    rows = np.asarray(hardware)
    return _site(np.ones(len(rows)), chips_to_hold(weights_bytes, rows, catalog), rows, pue, catalog)


def _site(deployments: NDArray, chips: NDArray, hardware: NDArray, pue: float, catalog: Catalog) -> Site:
    return Site(deployments, chips, chips * power_w(hardware, pue, catalog) / MEGA)
