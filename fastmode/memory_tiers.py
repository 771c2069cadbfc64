"""Tiers of memory: how much a part holds, how fast it reads that, and how many of it the scenario's model takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog
from fastmode.configure import asked, call_shape, flatten
from fastmode.evaluate import Evaluation
from fastmode.serving import Service, ServingConfig, serve_automatic

GIGA, MEGA, TERA = 1e9, 1e6, 1e12
SRAM = "SRAM"
LAYOUT = ("n_chips", "tp", "pp", "dp", "ep")


@dataclass(frozen=True, eq=False)
class Tiers:
    """Arrays of n, one element a part shown, in the order of data/hardware.csv; bytes and bytes/s per chip.

    service: the scenario's model, formats, lengths and running requests on each part, on the fewest chips that fit; the scenario's own
    part as the scenario sets it. cache: on-chip SRAM of a chip that also has a main memory, NaN where a figure is not published.
    """

    rows: NDArray  # of catalog.hardware
    labels: list[str]
    memory_bytes: NDArray
    bandwidth: NDArray
    cache_bytes: NDArray
    cache_bandwidth: NDArray
    on_sale: NDArray  # bool; else announced, or people's own machines
    own: NDArray  # bool
    compared: NDArray  # bool: the reference's part
    service: Service
    needed_bytes: float  # weights and cache of the scenario's deployment, copies included; NaN where it cannot be served
    batch: float

    @property
    def read_once_s(self) -> NDArray:
        """Time in s to read all of a chip's memory once: no step that uses all of it is faster."""
        return self.memory_bytes / self.bandwidth

    @property
    def chips(self) -> NDArray:
        """Chips that the model takes, NaN where it cannot be served."""
        return self.service.n_chips

    @property
    def one_chip(self) -> NDArray:
        """Whether one chip serves it."""
        return self.chips == 1.0

    @property
    def reasons(self) -> list[str]:
        """Why a part has no number of chips, or an empty text."""
        return [self.service.reason(i) if self.service.status[i] else "" for i in range(len(self.rows))]


def memory_tiers(e: Evaluation, all_hardware: bool = False) -> Tiers:
    """Memory of the parts on sale, of the two sides' parts, and with `all_hardware` of announced ones and people's own machines.

    An evaluation of single values. In traffic the running requests are those that a user meets on the scenario's own deployment.
    """
    catalog = e.catalog
    table = catalog.hardware
    own_row, other_row = int(e.now.service.hardware[0]), int(e.reference.service.hardware[0])
    on_sale = table["shown"].to_numpy() == 1
    everything = np.arange(len(table))
    rows = np.flatnonzero(on_sale | all_hardware | (everything == own_row) | (everything == other_row))
    memory, bandwidth = table["memory_gb"].to_numpy(float)[rows], table["memory_bw_tb_s"].to_numpy(float)[rows]
    separate = (table["memory_kind"] != SRAM).to_numpy()[rows]
    cache, cache_bandwidth = (
        np.where(separate, table[name].to_numpy(float)[rows], np.nan) for name in ("onchip_sram_mb", "onchip_sram_bw_tb_s")
    )
    batch = e.at(e.now.service.batch)
    service = _served(e, rows, own_row, batch if np.isfinite(batch) else float(e.scenario.batch_size), catalog)
    return Tiers(
        rows=rows, labels=table["label"].iloc[rows].tolist(), memory_bytes=memory * GIGA, bandwidth=bandwidth * TERA,
        cache_bytes=cache * MEGA, cache_bandwidth=cache_bandwidth * TERA, on_sale=on_sale[rows], own=rows == own_row,
        compared=(rows == other_row) & (other_row != own_row), service=service,
        needed_bytes=e.at(e.now.service.weights_bytes + e.now.service.kv_bytes), batch=batch,
    )  # fmt: skip


def _served(e: Evaluation, rows: NDArray, own_row: int, batch: float, catalog: Catalog) -> Service:
    _shape, v = flatten(e.scenario)
    asked_now = asked(v, catalog) | call_shape(v)
    layout = {name: np.where(rows == own_row, asked_now[name], 0.0) for name in LAYOUT}
    # What a user in traffic meets is a mean and need not be whole; running requests are.
    config = asked_now | layout | {"hardware": rows, "batch": np.floor(max(batch, 1.0)), "size_ratio": v["distillation"]}
    return serve_automatic(ServingConfig(**config), catalog)
