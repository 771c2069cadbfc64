"""Claims on energy per token (C36, C52).

Energy: peak power of all chips over the output tokens of all users, each machine at the batch where it needs least, on the
fewest chips that fit. Power is that of the system where it is published, else of the chip alone, which is then a lower bound:
a part that needs less by its chip alone has not been shown to need less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode.claims.chips import GPU_VENDORS
from fastmode.claims.found import CONTRADICTED, PARTLY, SPARK, SRAM, SUPPORTED, Facts, Finding, Unknown, known, parts
from fastmode.i18n import _

FAR = 2.0  # "far more efficient" is at least twice
RIVALS = {"Groq": "Groq", "TPU": "Google", "Nvidia": "NVIDIA"}


def _parts(f: Facts) -> pd.DataFrame:
    """Parts on sale with their watts; `system` marks those whose system's power is published."""
    rows = f.catalog.hardware[f.catalog.hardware["shown"] == 1]
    system = rows["system_power_w_per_chip"]
    return rows.assign(watts=system.fillna(rows["tdp_w"]), system=system.notna())


def least_joules(f: Facts, model: str, rows: pd.DataFrame) -> NDArray:
    """Joules per output token of a model on each part at its best batch; NaN where power or service is unknown."""
    batch = f.grid("batch_size")
    s = f.served(SPARK, model=model, hardware=rows.index.to_numpy()[:, None], n_chips=0, batch_size=batch[None, :])
    joules = rows["watts"].to_numpy(float)[:, None] * (s.n_chips / s.output_tokens_per_s).reshape(len(rows), -1)
    return np.where(np.isnan(joules), np.inf, joules).min(axis=1, initial=np.inf)


def _models(f: Facts) -> Sequence[str]:
    """Spark's stand-in first, then the models measured on wafers."""
    others = f.catalog.presets.loc[f.measured_on(f.wafer), "model"]
    return list(dict.fromkeys([f.setting(SPARK, "model"), *others]))


def _best(table: pd.DataFrame, mask: pd.Series) -> pd.Series:
    """Least joules over some parts, a column a model; infinite where none is known."""
    return table[mask].min() if mask.any() else pd.Series(np.inf, table.columns)


def _table(f: Facts) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = _parts(f)
    return rows, pd.DataFrame({m: least_joules(f, m, rows) for m in _models(f)}, index=rows.index)


def rivals(f: Facts) -> Finding:
    """C36: joules per token of the wafer over those of the best Nvidia part with published system power, for Spark's
    stand-in; low and high over the models measured on wafers. Three parts, the three rivals: one holds where its best part
    needs less on every one of these models."""
    rows, joules = _table(f)
    if f.wafer not in rows.index:
        raise Unknown
    wafer = joules.loc[f.wafer]
    known(wafer)
    own = str(joules.columns[0])
    holds, words = [], []
    for name, vendor in RIVALS.items():
        mine = rows["vendor"].eq(vendor) & rows.index.to_series().ne(f.wafer)
        sure, any_power = _best(joules, mine & rows["system"]), _best(joules, mine)
        holds.append(bool((sure < wafer).all()))
        if not np.isfinite(any_power[own]):
            words.append(_("{name}: power not published").format(name=name))
        else:
            figure = sure[own] if np.isfinite(sure[own]) else any_power[own]
            words.append(f"{name} {fmt.joules(figure)}")
    nvidia = _best(joules, rows["vendor"].eq(RIVALS["Nvidia"]) & rows["system"])
    known(nvidia[own])
    ratios = wafer / nvidia
    basis = _(
        "{model}, each at its best batch: {wafer} {joules} per output token; {rivals}. Against Nvidia the wafer needs {low} to {high} over {models} models measured on it."
    ).format(
        model=f.model_name(SPARK), wafer=f.part_name(f.wafer), joules=fmt.joules(wafer[own]), rivals=", ".join(words),
        low=fmt.ratio(ratios.min()), high=fmt.ratio(ratios.max()), models=len(ratios),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, "hardware")
    return Finding(
        parts(*holds), "model", float(ratios[own]), "x", basis, place, float(ratios.min()), float(ratios.max())
    )


def dedicated(f: Facts) -> Finding:
    """C52: tokens per joule of the best SRAM machine over those of the best GPU with published system power, for Spark's
    stand-in; low and high over the models measured on wafers. Supported from FAR on every model, contradicted where it is not
    above 1 on any; parts of today only."""
    rows, joules = _table(f)
    dedicated_parts = rows["memory_kind"] == SRAM
    gpus = rows["vendor"].isin(GPU_VENDORS) & ~dedicated_parts & rows["system"]
    best, gpu = _best(joules, dedicated_parts & rows["system"]), _best(joules, gpus)
    own = str(joules.columns[0])
    known(best[own], gpu[own])
    gains = (gpu / best).replace([np.inf, 0.0], np.nan).dropna()
    verdict = SUPPORTED if (gains >= FAR).all() else PARTLY if (gains > 1.0).any() else CONTRADICTED
    basis = _(
        "{model}, each at its best batch and by system power: {made} {made_joules} per output token, {gpu} {gpu_joules}; {low} to {high} the tokens per joule over {models} models. These are the parts on sale today."
    ).format(
        model=f.model_name(SPARK), made=f.part_name(str(joules[own][dedicated_parts & rows["system"]].idxmin())),
        made_joules=fmt.joules(best[own]), gpu=f.part_name(str(joules[own][gpus].idxmin())), gpu_joules=fmt.joules(gpu[own]),
        low=fmt.ratio(gains.min()), high=fmt.ratio(gains.max()), models=len(gains),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, "hardware")
    return Finding(verdict, "model", float(gains[own]), "x", basis, place, float(gains.min()), float(gains.max()))
