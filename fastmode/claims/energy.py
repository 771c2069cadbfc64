"""Claims on energy per token (C36, C52).

Energy: peak power of all chips over the output tokens of all users, each machine at the batch where it needs least, on the
fewest chips that fit. Power is that of the system where it is published, else of the chip alone, which is then a lower bound:
a part that needs less by its chip alone has not been shown to need less.

Bands: energy per token moves as the time per token does, so the half width of its logarithm is that of TPOT at that batch
(fastmode/serving/bands.py, 90 %), and that of a ratio of two machines the root of their summed squares. No speed of an SRAM
machine is published for more than a lone request, so at its best batch the band is wide, and the rule of the package applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode.claims.chips import GPU_VENDORS
from fastmode.claims.found import CONTRADICTED, PARTLY, SPARK, SRAM, SUPPORTED, Facts, Finding, Unknown, known, parts
from fastmode.i18n import _
from fastmode.serving.bands import half_width
from fastmode.serving.tables import tables

FAR = 2.0  # "far more efficient" is at least twice
LEVEL = 90  # % of the band that has to lie on one side
RIVALS = {"Groq": "Groq", "TPU": "Google", "Nvidia": "NVIDIA"}


def _parts(f: Facts) -> pd.DataFrame:
    """Parts on sale with their watts; `system` marks those whose system's power is published."""
    rows = f.catalog.hardware[f.catalog.hardware["shown"] == 1]
    system = rows["system_power_w_per_chip"]
    return rows.assign(watts=system.fillna(rows["tdp_w"]), system=system.notna())


def least_joules(f: Facts, model: str, rows: pd.DataFrame) -> tuple[NDArray, NDArray]:
    """Joules per output token of a model on each part at its best batch, infinite where power or service is unknown, and the half
    width of the LEVEL % band of their logarithm, 0 there."""
    batch = f.grid("batch_size")
    s = f.served(SPARK, model=model, hardware=rows.index.to_numpy()[:, None], n_chips=0, batch_size=batch[None, :])
    joules = rows["watts"].to_numpy(float)[:, None] * (s.n_chips / s.output_tokens_per_s).reshape(len(rows), -1)
    joules = np.where(np.isnan(joules), np.inf, joules)
    best = joules.argmin(axis=1)[:, None]
    half = half_width(s, tables(f.catalog), "tpot", LEVEL).reshape(joules.shape)
    least, half = (np.take_along_axis(a, best, axis=1)[:, 0] for a in (joules, half))
    return least, np.where(np.isfinite(least), half, 0.0)


def _models(f: Facts) -> Sequence[str]:
    """Spark's stand-in first, then the models measured on wafers."""
    others = f.catalog.presets.loc[f.measured_on(f.wafer), "model"]
    return list(dict.fromkeys([f.setting(SPARK, "model"), *others]))


@dataclass(frozen=True, eq=False)
class _Energy:
    """Joules per output token and half widths of their logarithm: a row a part, a column a model, Spark's stand-in first."""

    joules: pd.DataFrame
    half: pd.DataFrame

    def best(self, mask: pd.Series) -> _Energy:
        """Least joules over some parts, one row; infinite where none is known."""
        joules, half = self.joules[mask], self.half[mask]
        if joules.empty:
            return _Energy(*(pd.DataFrame(v, [""], self.joules.columns) for v in (np.inf, 0.0)))
        pick = joules.to_numpy().argmin(axis=0), np.arange(joules.shape[1])
        one = (pd.DataFrame([a.to_numpy()[pick]], columns=a.columns) for a in (joules, half))
        return _Energy(*one)

    def over(self, other: _Energy) -> tuple[NDArray, NDArray, NDArray]:
        """Ratio of two of one row and the two ends of its band, a value a model."""
        ratio = self.joules.to_numpy()[0] / other.joules.to_numpy()[0]
        factor = np.exp(np.hypot(self.half.to_numpy()[0], other.half.to_numpy()[0]))
        return ratio, ratio / factor, ratio * factor


def _energy(f: Facts) -> tuple[pd.DataFrame, _Energy]:
    rows = _parts(f)
    each = {m: least_joules(f, m, rows) for m in _models(f)}
    joules, half = (pd.DataFrame({m: pair[i] for m, pair in each.items()}, index=rows.index) for i in (0, 1))
    return rows, _Energy(joules, half)


def _less(low: NDArray, high: NDArray) -> bool | None:
    """Whether a ratio is below 1 on every model; None where its band over the models lies on both sides."""
    return True if (high < 1.0).all() else False if (low >= 1.0).all() else None


def _and_undecided(basis: str, undecided: bool) -> str:
    return " ".join([basis, _("The band does not decide.")]) if undecided else basis


def rivals(f: Facts) -> Finding:
    """C36: joules per token of the wafer over those of the best Nvidia part with published system power, for Spark's
    stand-in; low and high: ends of the bands over the models measured on wafers. Three parts, the three rivals: one holds where its
    best part needs less on every one of these models, its whole band included, and fails where the whole band needs no less."""
    rows, energy = _energy(f)
    if f.wafer not in rows.index:
        raise Unknown
    others = rows.index.to_series().ne(f.wafer)
    wafer = energy.best(~others)
    known(wafer.joules)
    own = str(energy.joules.columns[0])
    holds, words = [], []
    for name, vendor in RIVALS.items():
        mine = rows["vendor"].eq(vendor) & others
        sure, any_power = energy.best(mine & rows["system"]), energy.best(mine)
        _ratio, low, high = sure.over(wafer)
        holds.append(_less(low, high))
        figures = [float(e.joules[own].iloc[0]) for e in (sure, any_power)]
        if not np.isfinite(figures[1]):
            words.append(_("{name}: power not published").format(name=name))
        else:
            words.append(f"{name} {fmt.joules(figures[0] if np.isfinite(figures[0]) else figures[1])}")
    nvidia = energy.best(rows["vendor"].eq(RIVALS["Nvidia"]) & rows["system"])
    known(nvidia.joules[own])
    ratios, low, high = wafer.over(nvidia)
    basis = _(
        "{model}, each at its best batch: {wafer} {joules} per output token; {rivals}. Against Nvidia the wafer needs {low} to {high} over {models} models measured on it, {band_low} to {band_high} with the {level} % band of the modelled times."
    ).format(
        model=f.model_name(SPARK), wafer=f.part_name(f.wafer), joules=fmt.joules(float(wafer.joules[own].iloc[0])),
        rivals=", ".join(words), low=fmt.ratio(ratios.min()), high=fmt.ratio(ratios.max()), models=len(ratios),
        band_low=fmt.ratio(low.min()), band_high=fmt.ratio(high.max()), level=LEVEL,
    )  # fmt: skip
    basis = _and_undecided(basis, None in holds)
    place = f.state("/trade_offs", SPARK, "hardware")
    return Finding(parts(*holds), "model", float(ratios[0]), "x", basis, place, float(low.min()), float(high.max()))


def dedicated(f: Facts) -> Finding:
    """C52: tokens per joule of the best SRAM machine over those of the best GPU with published system power, for Spark's
    stand-in; low and high: ends of the bands over the models measured on wafers. Supported where all of that is at least FAR,
    contradicted where nothing of it is above 1, else partly: parts of today only."""
    rows, energy = _energy(f)
    made = (rows["memory_kind"] == SRAM) & rows["system"]
    gpus = rows["vendor"].isin(GPU_VENDORS) & (rows["memory_kind"] != SRAM) & rows["system"]
    best, gpu = energy.best(made), energy.best(gpus)
    own = str(energy.joules.columns[0])
    known(best.joules[own], gpu.joules[own])
    gains, lows, highs = (a[np.isfinite(best.joules.to_numpy()[0]) & np.isfinite(a)] for a in gpu.over(best))
    low, high = float(lows.min()), float(highs.max())
    verdict = SUPPORTED if low >= FAR else CONTRADICTED if high <= 1.0 else PARTLY
    basis = _(
        "{model}, each at its best batch and by system power: {made} {made_joules} per output token, {gpu} {gpu_joules}; {low} to {high} the tokens per joule over {models} models, {band_low} to {band_high} with the {level} % band of the modelled times. These are the parts on sale today."
    ).format(
        model=f.model_name(SPARK), made=f.part_name(str(energy.joules[own][made].idxmin())),
        made_joules=fmt.joules(float(best.joules[own].iloc[0])), gpu=f.part_name(str(energy.joules[own][gpus].idxmin())),
        gpu_joules=fmt.joules(float(gpu.joules[own].iloc[0])), low=fmt.ratio(gains.min()), high=fmt.ratio(gains.max()),
        models=len(gains), band_low=fmt.ratio(low), band_high=fmt.ratio(high), level=LEVEL,
    )  # fmt: skip
    # Wholly between 1 and FAR it is decided: more efficient, but not far more.
    basis = _and_undecided(basis, low < 1.0 < high or low < FAR < high)
    place = f.state("/trade_offs", SPARK, "hardware")
    return Finding(verdict, "model", float(gains[0]), "x", basis, place, low, high)
