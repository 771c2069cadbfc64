"""`python -m fastmode calibrate`: refit the serving constants, judge them, write data/ unless the result is worse."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fastmode.calibration.fit import QUANTITIES
from fastmode.calibration.judge import (
    ALL_ROWS,
    GROUPS,
    NONE,
    LeftOut,
    error_table,
    fits_needed,
    leave_out,
    left_out_table,
    score,
    spread_of_constants,
)
from fastmode.calibration.rows import measured_rows
from fastmode.calibration.spread import LEVELS, Z, shape_range, spread
from fastmode.calibration.sram import SramFit, fit_sram
from fastmode.i18n import _

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

CONSTANTS, ERRORS, LEFT_OUT, SRAM_ERRORS, SRAM_POINTS = (
    "serving_constants.csv", "calibration_errors.csv", "calibration_left_out.csv", "calibration_sram.csv",
    "calibration_sram_points.csv",
)  # fmt: skip
WORSE = 0.005  # relative: below this two fits are equally good (rounding, library versions)
DIGITS = 4


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a refit found: the four tables it writes, and its score beside that of the stored one."""

    constants: pd.DataFrame
    errors: pd.DataFrame
    left_out: pd.DataFrame
    sram: SramFit
    score: dict[str, float]
    stored_score: dict[str, float]

    @property
    def worse(self) -> list[str]:
        """Figures of the score that worsen against the stored fit; none where nothing is stored."""
        return [name for name, old in self.stored_score.items() if self.score[name] > old * (1.0 + WORSE)]


def calibrate(catalog: Catalog, progress: Callable[[], None] = lambda: None, today: date | None = None) -> Calibration:
    """Fit and judge; nothing is written. `progress` is called after each fit (`fit_count` of them).

    The same rows give the same result in whatever order they stand. Raises ValueError when rows are missing.
    """
    rows = measured_rows(catalog)
    left_out = leave_out(rows, catalog, progress)
    errors = error_table(left_out)
    sram = fit_sram(catalog.sram_points, catalog)
    day = (today or date.today()).isoformat()
    stored = catalog.calibration_errors
    return Calibration(
        constants=_constants(catalog, left_out, sram, day),
        errors=errors,
        left_out=left_out_table(left_out),
        sram=sram,
        score=score(errors),
        stored_score={name: old for name, old in score(stored).items() if np.isfinite(old)},
    )


def fit_count(catalog: Catalog) -> int:
    """Fits that `calibrate` makes, for a progress bar."""
    return fits_needed(measured_rows(catalog))


def write(found: Calibration, folder: str | os.PathLike[str], force: bool = False) -> list[Path]:
    """Write the tables into `folder`, made where it is missing; returns their paths.

    Raises ValueError when the fit is worse than the stored one and `force` is not set, OSError when it cannot write.
    """
    if found.worse and not force:
        figures = "; ".join(
            _("left-out {figure} {new:.4f}, stored {old:.4f}").format(
                figure=name, new=found.score[name], old=found.stored_score[name]
            )
            for name in found.worse
        )
        raise ValueError(_("not written, the new fit is worse ({figures}); --force writes it").format(figures=figures))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        CONSTANTS: found.constants,
        ERRORS: _rounded(found.errors),
        LEFT_OUT: _rounded(found.left_out),
        SRAM_ERRORS: _rounded(found.sram.errors),
        SRAM_POINTS: _rounded(found.sram.points),
    }
    paths = []
    for name, table in tables.items():
        path = folder / name
        temporary = path.with_suffix(".part")
        table.to_csv(temporary, index=False, lineterminator="\n")
        temporary.replace(path)
        paths.append(path)
    return paths


def summary(found: Calibration) -> str:
    """The error table of a fit as people read it on a terminal."""
    table = found.errors[found.errors["group"].isin((ALL_ROWS, "cells equal", "median over groups"))]
    lines = [_("{n} constants fitted to {rows} rows").format(n=int((found.constants["method"] == METHOD).sum()), rows=int(table["rows"].max()))]
    lines.append(table.round(3).to_string(index=False))
    lines.append(found.sram.errors.round(3).to_string(index=False))
    return "\n".join(lines)


METHOD = "maximum a posteriori, Cauchy likelihood of log residuals, priors of data/calibration_priors.csv; low and high over all leave-group-out fits"
_SPREAD_METHOD = "robust scale of left-out log residuals, root mean square over leaving hardware, model, engine and source out"


def _constants(catalog: Catalog, left_out: LeftOut, sram: SramFit, day: str) -> pd.DataFrame:
    """data/serving_constants.csv with the fitted rows replaced."""
    table = catalog.serving_constants.reset_index()
    table = table.set_index("name", drop=False)
    rows = f"data/measured.csv, {len(left_out.rows)} rows"
    errors = error_summary(left_out)
    ends = spread_of_constants(left_out.constants)
    everything = np.ones(len(left_out.rows), bool)

    def put(name: str, value: float, low: float, high: float, used: str, method: str) -> None:
        if name not in table.index:
            raise ValueError(f"data/serving_constants.csv lacks {name}")
        value = _round(value)
        table.loc[name, ["value", "low", "high"]] = value, min(_round(low), value), max(_round(high), value)
        table.loc[name, ["basis", "date", "rows", "method"]] = "derived", day, used, method

    for name, value in left_out.constants[NONE, ALL_ROWS].items():
        put(name, value, ends.at[name, "low"], ends.at[name, "high"], rows, METHOD)
    for quantity in QUANTITIES:
        whole = left_out.spread(quantity)
        by_kind = [spread(left_out.residual(quantity, kind), left_out.rows, everything) for kind in GROUPS]
        reach = [shape_range(left_out.residual(quantity, kind), left_out.rows, everything) for kind in GROUPS]
        put(f"{quantity}_shape_range", float(np.median(reach)), min(reach), max(reach), rows, "Gaussian variogram of residuals within cells, median over the four kinds of leaving out")
        for part in ("drift", "shape"):
            for level in LEVELS:
                each = [getattr(one, part)[level] for one in by_kind]
                put(f"{quantity}_{part}_{level}", getattr(whole, part)[level], min(each), max(each), rows, _SPREAD_METHOD)
    for name, constant in sram.constants.items():
        if not constant.held:
            used = f"data/sram_points.csv, {sram.rows[name.split('_')[-2]]} speeds"
            put(name, constant.value, constant.low, constant.high, used, "robust fit of log times; low and high by the jackknife over architectures")
        elif name.startswith("fixed_"):
            put(name, constant.value, constant.low, constant.high, "", "held at the wafers' fit")
    for kind, half in sram.log_half_width.items():
        used = f"data/sram_points.csv, {sram.rows[kind]} speeds"
        for level, value in ((50, sram.log_sd[kind]), (90, half / Z[90])):
            put(f"{kind}_drift_{level}", value, value, value, used, "left-out log residuals, Student's t")
    table["note"] = [
        f"{note.split(' Left-out')[0]}{errors.get(name, '')}" for name, note in zip(table["name"], table["note"], strict=True)
    ]
    return table.reset_index(drop=True)


def error_summary(left_out: LeftOut) -> dict[str, str]:
    """The leave-group-out error that goes with each fitted constant, as a sentence for its note."""
    errors = error_table(left_out).set_index(["quantity", "left_out", "group"])
    out = {}
    for quantity in QUANTITIES:
        parts = [
            f"{kind} {errors.at[(quantity, kind, ALL_ROWS), 'median']:.3f}"
            f" (over groups {errors.at[(quantity, kind, 'median over groups'), 'median']:.3f})"
            for kind in GROUPS
        ]
        text = f" Left-out median error of {quantity.upper()}: {', '.join(parts)}."
        names = left_out.constants[NONE, ALL_ROWS]
        out |= {name: text for name in names if (name in _ttft_names(names)) == (quantity == "ttft")}
    return out


def _ttft_names(names: object) -> set[str]:
    return {n for n in names if n.startswith(("first_", "burst_", "prefill_launch"))}  # type: ignore[attr-defined]


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers with DIGITS significant digits, so that a rerun elsewhere writes the same text."""
    out = table.copy()
    for column in out.select_dtypes(bool):
        out[column] = out[column].astype(int)
    for column in out.select_dtypes("floating"):
        out[column] = [_round(v) if np.isfinite(v) else np.nan for v in out[column]]
    return out
