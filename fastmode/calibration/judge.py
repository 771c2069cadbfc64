"""How good the serving model is on what it has not seen: leave-group-out predictions, their errors, their bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.calibration.fit import QUANTITIES, fit
from fastmode.calibration.rows import GROUPS, MS_PER_S, Rows, predicted
from fastmode.calibration.spread import LEVELS, Spread, pooled, spread
from fastmode.serving.tables import tables_with

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

NONE, ALL_ROWS, CELLS_EQUAL, OVER_GROUPS = "none", "all rows", "cells equal", "median over groups"
FEW_ROWS = 20  # a group with fewer has no figure of its own in the median over groups


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of every row by fits that never saw its group.

    times: by quantity and group kind, seconds, shape (rows,). constants: of each fit, by (group kind, group); the fit
    to all rows has the key ("none", "all rows"), its predictions the kind "none". bands: by quantity, group kind
    and level, half width of the band of ln(measured / predicted): from the residuals of the same kind of leaving out,
    rows of other groups alone.
    """

    rows: Rows
    constants: dict[tuple[str, str], dict[str, float]]
    times: dict[tuple[str, str], NDArray]
    bands: dict[tuple[str, str, int], NDArray]

    def residual(self, quantity: str, kind: str) -> NDArray:
        """ln(measured / predicted)."""
        return np.log(self.rows.measured(quantity) / self.times[quantity, kind])

    def spread(self, quantity: str, use: NDArray | None = None) -> Spread:
        """Spread of the left-out residuals of the rows marked `use` (all), over the four kinds of leaving out."""
        use = np.ones(len(self.rows), bool) if use is None else use
        return pooled([spread(self.residual(quantity, kind), self.rows, use) for kind in GROUPS])


def leave_out(rows: Rows, catalog: Catalog, progress: Callable[[], None] = lambda: None) -> LeftOut:
    """Fit to all rows, then without each hardware, model, engine and source in turn. `progress` is called after each fit.

    Raises ValueError when a group holds all rows, so that nothing is left to fit.
    """
    size = len(rows)
    constants: dict[tuple[str, str], dict[str, float]] = {}
    times: dict[tuple[str, str], NDArray] = {}

    def fitted(kind: str, group: str, held_out: NDArray) -> None:
        if held_out.all():
            raise ValueError(f"every row has the {kind} {group}: none is left to fit")
        constants[kind, group] = fit(rows, ~held_out, catalog)
        answer = predicted(rows, tables_with(catalog, constants[kind, group]))
        mine = held_out if kind != NONE else ~held_out
        for quantity, seconds in zip(QUANTITIES, answer, strict=False):
            times.setdefault((quantity, kind), np.full(size, np.nan))[mine] = seconds[mine]
        progress()

    fitted(NONE, ALL_ROWS, np.zeros(size, bool))
    for kind in GROUPS:
        for group in np.unique(rows.groups[kind]):
            fitted(kind, group, rows.groups[kind] == group)
    without_bands = LeftOut(rows, constants, times, {})
    return LeftOut(rows, constants, times, _bands(without_bands))


def fits_needed(rows: Rows) -> int:
    """How many fits `leave_out` makes."""
    return 1 + sum(len(np.unique(rows.groups[kind])) for kind in GROUPS)


def _bands(left_out: LeftOut) -> dict[tuple[str, str, int], NDArray]:
    rows = left_out.rows
    bands = {}
    for quantity in QUANTITIES:
        for kind in GROUPS:
            columns = {level: np.full(len(rows), np.nan) for level in LEVELS}
            for group in np.unique(rows.groups[kind]):
                mine = rows.groups[kind] == group
                others = spread(left_out.residual(quantity, kind), rows, ~mine)
                for level, column in columns.items():
                    column[mine] = others.half_width(level)
            bands |= {(quantity, kind, level): column for level, column in columns.items()}
    return bands


def error_table(left_out: LeftOut) -> pd.DataFrame:
    """Errors of the fit to all rows ("none") and of each kind of leaving out, pooled, by cell and by group.

    Columns: quantity, left_out, group, rows, cells, median and p90 of |predicted/measured - 1|, bias = median of
    ln(predicted/measured), coverage50 and coverage90 = share of rows inside the band (NaN for "none", whose rows the
    fit has seen). "cells equal": the same of the cells' own figures, each cell counting once: median of their
    medians, 90th percentile of their medians, mean of their coverages. "median over groups": median of each figure
    over the groups of at least FEW_ROWS rows.
    """
    out = []
    for quantity in QUANTITIES:
        for kind in (NONE, *GROUPS):
            out += _errors_of(left_out, quantity, kind)
    return pd.DataFrame(out)


def _errors_of(left_out: LeftOut, quantity: str, kind: str) -> list[dict[str, object]]:
    rows = left_out.rows
    ratio = np.exp(-left_out.residual(quantity, kind))
    known = np.isfinite(ratio)
    frame = pd.DataFrame({"error": np.abs(ratio - 1.0), "log": np.log(ratio), "cell": rows.cell})
    for level in LEVELS:
        band = left_out.bands.get((quantity, kind, level))
        frame[f"coverage{level}"] = np.nan if band is None else (np.abs(frame["log"]) <= band).astype(float)
    frame["group"] = rows.groups[kind] if kind != NONE else ALL_ROWS
    frame = frame[known]
    head: dict[str, object] = {"quantity": quantity, "left_out": kind}
    everything = head | {"group": ALL_ROWS} | figures(frame)
    cells = pd.DataFrame([figures(cell) for _name, cell in frame.groupby("cell")])
    equal = {"rows": len(frame), "cells": len(cells), "median": cells["median"].median(), "p90": cells["median"].quantile(0.9), "bias": cells["bias"].median()}
    equal |= {f"coverage{level}": cells[f"coverage{level}"].mean() for level in LEVELS}
    table = [everything, head | {"group": CELLS_EQUAL} | equal]
    if kind == NONE:
        return table
    groups = [head | {"group": name} | figures(group) for name, group in frame.groupby("group")]
    large = pd.DataFrame([g for g in groups if g["rows"] >= FEW_ROWS])
    if len(large):
        middle = large[["median", "p90", "bias", *(f"coverage{level}" for level in LEVELS)]].median().to_dict()
        table.append(head | {"group": OVER_GROUPS, "rows": int(large["rows"].sum()), "cells": int(large["cells"].sum())} | middle)
    return table + groups


def figures(frame: pd.DataFrame) -> dict[str, float | int]:
    """rows, cells, median, p90, bias, coverage50, coverage90 of a frame with columns error, log, cell, coverage50 and 90."""
    return {
        "rows": len(frame),
        "cells": int(frame["cell"].nunique()),
        "median": float(frame["error"].median()),
        "p90": float(frame["error"].quantile(0.9)),
        "bias": float(frame["log"].median()),
        **{f"coverage{level}": float(frame[f"coverage{level}"].mean()) for level in LEVELS},
    }


def left_out_table(left_out: LeftOut) -> pd.DataFrame:
    """Columns of data/calibration_left_out.csv: each row's left-out prediction and its 90 % band, in ms."""
    parts = []
    for kind in GROUPS:
        part: dict[str, object] = {"row_id": left_out.rows.row_id, "left_out": kind}
        for quantity in QUANTITIES:
            ms = MS_PER_S * left_out.times[quantity, kind]
            half = left_out.bands[quantity, kind, 90]
            part[f"{quantity}_ms"] = ms
            part |= {f"{quantity}_ms_low": ms * np.exp(-half), f"{quantity}_ms_high": ms * np.exp(half)}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def score(errors: pd.DataFrame) -> dict[str, float]:
    """What a new fit must not worsen: mean of the pooled left-out median and p90 of TPOT over the four kinds."""
    pooled_rows = errors[
        (errors["quantity"] == "tpot") & (errors["group"] == ALL_ROWS) & errors["left_out"].isin(GROUPS)
    ]
    return {name: float(pooled_rows[name].mean()) for name in ("median", "p90")}


def spread_of_constants(constants: Mapping[tuple[str, str], Mapping[str, float]]) -> pd.DataFrame:
    """Lowest and highest value of each constant over all fits (columns low, high; index name)."""
    table = pd.DataFrame(constants)
    return pd.DataFrame({"low": table.min(axis=1), "high": table.max(axis=1)})
