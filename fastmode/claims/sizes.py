"""Claims on how large Spark is and what wafers and LPUs serve (C28, C29, C31, C50, C63), and on the model itself (C80)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode.calibration.rows import measured_rows, predicted
from fastmode.catalog import Catalog
from fastmode.first_token import step_bytes
from fastmode.i18n import _
from fastmode.serving.tables import tables

from fastmode.claims.found import (  # isort: skip
    CODEX, CONTRADICTED, MEASURED, PARTLY, ROUNDING, SPARK, SUPPORTED, TERA, Facts, Finding, Unknown, address, known, only, parts,
)  # fmt: skip

LPU = "groq_lpu_v1"
GLM = "glm-4.7"
BEYOND_B = 40.0  # billion parameters in all, in the words of C31; its quantity holds only those of GLM-4.7
ON = "on"  # word of the column speculation of sram_points
LEFT_OUT = ("tpot", "hardware", "median over groups")  # row of calibration_errors: predictions for hardware never fitted


def _points(f: Facts, hardware: str) -> pd.DataFrame:
    """The newest speed of every open architecture on an SRAM machine, with its parameters in billions."""
    rows = f.catalog.sram_points
    rows = rows[(rows["hardware_id"] == hardware) & (rows["use"] == 1)]
    sizes = f.catalog.models.reindex(rows["model_id"])
    rows = rows.assign(active_b=sizes["active_params_b"].to_numpy(float), total_b=sizes["total_params_b"].to_numpy(float)).dropna(subset=["active_b"])
    if rows.empty:
        raise Unknown
    return rows


def size_of_spark(f: Facts) -> Finding:
    """C28: speeds on wafers of models whose active parameters lie in the claimed range, in the middle; low and high: the range.

    Two parts: Spark's speed lies among them; and among no others, so that its speed would tell its size.
    """
    least, most = f.claimed(2)
    rows, speed = _points(f, f.wafer), f.speed(SPARK)
    inside = rows["active_b"].between(least, most)
    if not inside.any():
        raise Unknown
    mine, others = rows.loc[inside, "tokens_per_s"], rows.loc[~inside]
    among = bool(mine.min() * (1.0 - ROUNDING) <= speed <= mine.max() * (1.0 + ROUNDING))
    slope, level = np.polyfit(np.log(rows["active_b"]), np.log(rows["tokens_per_s"]), 1)
    near = others[np.abs(np.log(others["tokens_per_s"] / speed)) <= np.log1p(ROUNDING)]
    basis = _("Of {n} open models on wafers, {m} have {least} to {most}B active parameters and run at {low} to {high} tok/s; Spark at {spark}. Twice the active parameters go with {factor} the speed, so that the speed hardly tells the size.").format(
        n=len(rows), m=len(mine), least=fmt.number(least), most=fmt.number(most), low=fmt.number(mine.min()), high=fmt.number(mine.max()),
        spark=fmt.number(speed), factor=fmt.ratio(float(2.0**slope)),
    )  # fmt: skip
    if not near.empty:
        row = near.iloc[0]
        basis += " " + _("{model}, with {active}B, runs at {speed}.").format(model=row["model"], active=fmt.number(row["active_b"]), speed=fmt.number(row["tokens_per_s"]))
    known(level)
    verdict = parts(among, near.empty if among else False)
    place = f"{address('/evidence')}tab=Validation"
    return Finding(verdict, "data", float(mine.median()), "tok/s", basis, place, float(mine.min()), float(mine.max()))


def sharded(f: Facts) -> Finding:
    """C29: wafers that Spark's stand-in takes; low and high: over the stand-ins its row lists. More than one of all of them: supported."""
    models = f.standins(SPARK)
    wafers = f.served(SPARK, model=np.array(models), n_chips=0).n_chips
    known(wafers[0])
    more = [bool(n > 1.0) for n in wafers if np.isfinite(n)]
    least = int(np.nanargmin(wafers))
    basis = _("In 16 bit with its cache, {model} takes {n} wafers, the smallest stand-in, {small}, {least}.").format(
        model=f.model_name(SPARK), n=fmt.count(wafers[0]), small=str(f.catalog.models.at[models[least], "label"]), least=fmt.count(wafers[least])
    )  # fmt: skip
    verdict = SUPPORTED if all(more) else PARTLY if any(more) else CONTRADICTED
    place = f"{f.state('/hardware', SPARK)}&tab=Where+it+fits"
    return Finding(verdict, "model", float(wafers[0]), "wafers", basis, place, float(np.nanmin(wafers)), float(np.nanmax(wafers)))


def close_to_glm(f: Facts) -> Finding:
    """C31: speed of GLM-4.7 on wafers over Spark's. Two parts: models of more than 40B in all are served faster than Spark; and of
    the open models on wafers GLM-4.7 is the nearest to it in speed."""
    rows, speed = _points(f, f.wafer), f.speed(SPARK)
    if GLM not in set(rows["model_id"]):
        raise Unknown
    beyond = rows[(rows["total_b"] > BEYOND_B) & (rows["tokens_per_s"] > speed)]
    glm = float(rows.loc[rows["model_id"] == GLM, "tokens_per_s"].iloc[0])
    nearest = rows.iloc[int(np.argmin(np.abs(np.log(rows["tokens_per_s"] / speed))))]
    basis = _("{n} open models of more than {beyond}B run faster on wafers than Spark's {spark} tok/s, GLM-4.7 at {glm}. The nearest in speed is {model} ({total}B) at {near}; speed alone does not say which.").format(
        n=len(beyond), beyond=fmt.number(BEYOND_B), spark=fmt.number(speed), glm=fmt.number(glm), model=nearest["model"], total=fmt.number(nearest["total_b"]), near=fmt.number(nearest["tokens_per_s"])
    )  # fmt: skip
    verdict = parts(not beyond.empty, str(nearest["model_id"]) == GLM)
    return Finding(verdict, "data", glm / speed, "x", basis, f"{address('/evidence')}tab=Validation")


def codex_on_wafers(f: Facts) -> Finding:
    """C50: modelled speed of Codex's stand-in on the fewest wafers at Spark's batch, over that on its own chips; low and high: at one
    request and over its own batch.

    Two parts: it is as fast as Spark, in tokens/s and as a multiple of Codex; and as accurate, for which the same weights measured on
    wafers and elsewhere would be needed: nobody publishes that.
    """
    batch = np.array([f.setting(SPARK, "batch_size"), 1.0, f.setting(CODEX, "batch_size")])
    there = f.served(CODEX, hardware=f.wafer, n_chips=0, weight_precision="bf16", batch_size=batch)
    home = only(f.served(CODEX).tokens_per_s_per_user)
    gains = there.tokens_per_s_per_user / home
    known(gains[0], home)
    goal = f.speed(SPARK) / f.speed(CODEX)
    basis = _("{model} on {n} wafers at batch {batch} gives {there} tok/s in the model, {gain} its speed on its own chips (Spark: {spark} tok/s, {goal}). The same weights make the same errors there only if the number format is kept; nobody has measured it.").format(
        model=f.model_name(CODEX), n=fmt.count(there.n_chips[0]), batch=fmt.number(batch[0]), gain=fmt.ratio(gains[0]), goal=fmt.ratio(goal),
        there=fmt.number(there.tokens_per_s_per_user[0]), spark=fmt.number(f.speed(SPARK)),
    )  # fmt: skip
    fast = bool(gains[0] >= goal * (1.0 - ROUNDING)) and bool(there.tokens_per_s_per_user[0] >= f.speed(SPARK) * (1.0 - ROUNDING))
    place = f.state("/trade_offs", CODEX, hardware=f.wafer, n_chips=0, weight_precision="bf16", batch_size=batch[0])
    ends = gains[np.isfinite(gains)]
    return Finding(parts(fast, None if fast else False), "model", float(gains[0]), "x", basis, place, float(ends.min()), float(ends.max()))


def over_a_thousand(f: Facts) -> Finding:
    """C63: the fastest speed held on this vendor's chips; a floor is taken without tolerance, and supported by a measured row."""
    (claimed,) = f.claimed(1)
    rows = f.catalog.sram_points
    rows = rows[rows["hardware_id"] == LPU]
    if rows.empty:
        raise Unknown
    over = rows[rows["tokens_per_s"] > claimed]
    best = rows.loc[rows["tokens_per_s"].idxmax()]
    plain = rows[rows["speculation"] != ON]["tokens_per_s"].max()
    measured = bool((over["basis"] == MEASURED).any())
    verdict = CONTRADICTED if over.empty else SUPPORTED if measured else PARTLY
    basis = _("Fastest of {n} speeds held: {model} at {speed} tok/s ({year}). Without a speculative endpoint the most is {plain}.").format(
        n=len(rows), model=best["model"], speed=fmt.number(best["tokens_per_s"]), year=str(best["date"])[:4], plain=fmt.number(plain)
    )  # fmt: skip
    return Finding(verdict, "data", float(best["tokens_per_s"]), "tok/s", basis, f"{address('/evidence')}tab=Validation", float(rows["tokens_per_s"].min()), float(best["tokens_per_s"]))


@lru_cache(maxsize=2)
def _bandwidth_alone(catalog: Catalog) -> np.ndarray:
    """ln(measured / bytes read over the bandwidth of all chips) of the time per output token of every measured row that can be served."""
    rows = measured_rows(catalog)
    _tpot, _ttft, service = predicted(rows, tables(catalog))
    weights, cache = step_bytes(service, catalog)
    bandwidth = catalog.hardware["memory_bw_tb_s"].to_numpy(float)[service.hardware] * TERA
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.log(rows.measured("tpot") / ((weights + cache) * service.stages / (service.n_chips * bandwidth)))
    return off[np.isfinite(off) & ~rows.suspect]


def too_complex(f: Facts) -> Finding:
    """C80: what the simplest roofline (bytes read over bandwidth) misses of measured times per output token, in the middle.

    Supported where that is more than the calibrated model, with the hardware left out of its fit, misses in nine of ten rows; low and
    high: the middle half of the misses.
    """
    off = _bandwidth_alone(f.catalog)
    errors = f.catalog.calibration_errors
    row = errors[(errors["quantity"] == LEFT_OUT[0]) & (errors["left_out"] == LEFT_OUT[1]) & (errors["group"] == LEFT_OUT[2])]
    if not off.size or row.empty:
        raise Unknown
    missed = np.expm1(np.abs(off))
    middle, low, high = (float(np.quantile(missed, q)) for q in (0.5, 0.25, 0.75))
    fitted, worst = float(row["median"].iloc[0]), float(row["p90"].iloc[0])
    basis = _("Bytes read over bandwidth misses the measured time per output token by {middle} in the middle of {n} rows. The calibrated model, fitted without the hardware, misses it by {fitted}, and by less than {worst} in nine of ten.").format(
        middle=fmt.share(middle), n=fmt.count(off.size), fitted=fmt.share(fitted), worst=fmt.share(worst)
    )  # fmt: skip
    verdict = SUPPORTED if middle > worst else PARTLY if middle > fitted else CONTRADICTED
    return Finding(verdict, "model", 100.0 * middle, "%", basis, f"{address('/evidence')}tab=Validation", 100.0 * low, 100.0 * high)
