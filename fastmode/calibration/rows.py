"""The measured rows a fit may use: what was served, what was measured, and which groups a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastmode.predict import MS_PER_S, Prepared, prepare, times
from fastmode.serving.batch_fixed import serve_tables
from fastmode.serving.service import Service
from fastmode.serving.tables import Tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

GROUPS = ("hardware", "model", "engine", "source")
# One deployment as its publisher ran it: within a cell only load and lengths differ.
CELL = ("model_id", "hardware_id", "engine", "weight_precision", "engine_version", "source_name")
UNNAMED_ENGINE = "other"
_COLUMN = {"hardware": "hardware_id", "model": "model_id", "engine": "engine", "source": "source_name"}


@dataclass(frozen=True, eq=False)
class Rows:
    """Measured rows with both ids, ordered by `row_id`; arrays of length n, times in seconds, NaN = not measured."""

    row_id: NDArray
    prepared: Prepared
    tpot_s: NDArray
    ttft_s: NDArray
    suspect: NDArray  # bool
    groups: dict[str, NDArray]  # text, by GROUPS
    cell: NDArray  # text

    def __len__(self) -> int:
        return len(self.row_id)

    def measured(self, quantity: str) -> NDArray:
        """Measured seconds of "tpot" or "ttft"."""
        return {"tpot": self.tpot_s, "ttft": self.ttft_s}[quantity]


def measured_rows(catalog: Catalog) -> Rows:
    """Every row of data/measured.csv whose model and hardware the catalogue knows, suspects included.

    Sorted by `row_id`, so that nothing computed from them depends on the order of the file. Raises ValueError when no
    row is left.
    """
    frame = catalog.measured
    frame = frame[(frame["model_id"] != "") & (frame["hardware_id"] != "")]
    frame = frame.sort_values("row_id", ignore_index=True)
    if frame.empty:
        raise ValueError("data/measured.csv: no row with model_id and hardware_id")
    prepared = prepare(frame, catalog)
    named = frame.assign(engine=frame["engine"].where(frame["engine"] != "", UNNAMED_ENGINE))
    return Rows(
        row_id=frame["row_id"].to_numpy(),
        prepared=prepared,
        tpot_s=frame["tpot_ms"].to_numpy(np.float64) / MS_PER_S,
        ttft_s=frame["ttft_ms"].to_numpy(np.float64) / MS_PER_S,
        suspect=frame["row_id"].isin(catalog.measured_suspects["row_id"]).to_numpy(),
        groups={group: named[column].to_numpy(str) for group, column in _COLUMN.items()},
        cell=named[list(CELL)].astype(str).agg("|".join, axis=1).to_numpy(str),
    )


def predicted(rows: Rows, tables: Tables) -> tuple[NDArray, NDArray, Service]:
    """TPOT and TTFT in seconds of each row with these tables (NaN where there is none), and the full answer."""
    service = serve_tables(rows.prepared.config, tables)
    tpot_s, ttft_s, _rate = times(rows.prepared, service)
    return tpot_s, ttft_s, service
