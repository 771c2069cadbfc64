"""What has been measured: which parts have rows, and over which range of load, context and chips.

`Service.outside` says in which way a configuration lies outside of that. Its band widens there, except for a model alone: leaving models
out of the fit shows that a new one is predicted as well as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.i18n import N_
from fastmode.serving.configuration import ENGINES, engine_code

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

HBM, WAFER, LPU = range(3)  # kinds of machine; LPU: many small SRAM chips
KINDS = ("hbm", "wafer", "lpu")
# Bit i of `Service.outside`.
OUTSIDE = (
    N_("hardware"), N_("model"), N_("engine"), N_("speculation"), N_("batch"), N_("context"), N_("chips"),
)  # fmt: skip
PARTS = 4  # the first four name a part without rows, the rest a range that is left
GIGA = 1e9


@dataclass(frozen=True, eq=False)
class Evidence:
    """Arrays over catalogue rows, the last one for an unknown row."""

    hardware: NDArray  # bool: enough measured rows, or enough published speeds of an SRAM machine
    vendor: NDArray  # bool [hardware]: another chip of the same vendor and kind has
    model: NDArray  # bool [HBM or SRAM machine, model]: any row, any published speed
    attention: NDArray  # bool [model]: enough rows with this kind of attention
    engine: NDArray  # bool [engine]: enough rows
    kind: NDArray  # int [hardware]
    most: NDArray  # largest measured [batch | context | chips, kind]; small values are all measured


def evidence_of(catalog: Catalog, c: SimpleNamespace) -> Evidence:
    """Evidence of a catalogue. `c`: the serving constants; a part counts as measured from `measured_rows_enough` rows.

    Ranges are those of data/measured.csv without suspect rows. Speeds of SRAM machines are published for a lone user
    and say nothing of context: their batch range is 1, the others are open.
    """
    measured, points = _rows(catalog), catalog.sram_points
    models, hardware = catalog.models, catalog.hardware
    points = points[points["use"] == 1]
    sram = (hardware["memory_kind"] == "SRAM").to_numpy()
    wafer = sram & (hardware["memory_gb"].to_numpy(np.float64) * GIGA >= c.wafer_memory_bytes)
    kind = np.where(wafer, WAFER, np.where(sram, LPU, HBM))
    measured = measured[~measured["row_id"].isin(catalog.measured_suspects["row_id"])]  # they validate nothing
    rows = measured["hardware_id"].value_counts().reindex(hardware.index, fill_value=0).to_numpy()
    speeds = points["hardware_id"].value_counts().reindex(hardware.index, fill_value=0).to_numpy()
    known = np.where(sram, speeds >= c.sram_points_enough, rows >= c.measured_rows_enough)
    maker = (hardware["vendor"].astype(str) + " " + hardware["memory_kind"].astype(str)).to_numpy(str)
    by_model = measured["model_id"].value_counts().reindex(models.index, fill_value=0)
    attention = models["attention_kind"].astype(str)
    per_attention = by_model.groupby(attention).sum()
    engines = np.bincount([engine_code(text) for text in measured["engine"].astype(str)], minlength=len(ENGINES))
    return Evidence(
        hardware=np.append(known, False),
        vendor=np.append(np.isin(maker, np.unique(maker[known])), False),
        model=np.array([[*(by_model > 0), False], [*models.index.isin(points["model_id"]), False]]),
        attention=np.append(attention.map(per_attention).to_numpy() >= c.measured_rows_enough, False),
        engine=engines >= c.measured_rows_enough,
        kind=np.append(kind, HBM),
        most=_largest(catalog),
    )


def _rows(catalog: Catalog) -> pd.DataFrame:
    """Measured rows that the fit uses: those whose model and hardware are known."""
    rows = catalog.measured
    return rows[(rows["model_id"] != "") & (rows["hardware_id"] != "")]


def _largest(catalog: Catalog) -> NDArray:
    rows = _rows(catalog)
    rows = rows[~rows["row_id"].isin(catalog.measured_suspects["row_id"])]
    pure = (rows["clean_grade"] == "A").to_numpy()
    output = np.where(pure, 0.0, rows["output_tokens"].fillna(0.0).to_numpy(np.float64))
    values = (
        rows["concurrency_or_batch"].to_numpy(np.float64),
        rows["input_tokens"].to_numpy(np.float64) + 0.5 * output,
        rows["n_chips"].to_numpy(np.float64),
    )
    most = np.full((len(values), len(KINDS)), np.inf)
    for i, column in enumerate(values):
        if len(column):
            most[i, HBM] = column.max()
    most[0, WAFER:] = 1.0
    return most


def outside_words(bits: int) -> list[str]:
    """Names (untranslated) of the bits set in one element of `Service.outside`."""
    return [word for i, word in enumerate(OUTSIDE) if int(bits) >> i & 1]
