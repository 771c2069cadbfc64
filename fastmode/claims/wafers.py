"""Claims on what fits on SRAM machines and what reading from SRAM brings (C25-C27, C30, C35, C77)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode.claims.found import (
    BILLION,
    CODEX,
    CONTRADICTED,
    GIGA,
    MEASURED,
    PARTLY,
    ROUNDING,
    SPARK,
    SRAM,
    SUPPORTED,
    TERA,
    Facts,
    Finding,
    Unknown,
    known,
    only,
    parts,
)  # fmt: skip
from fastmode.i18n import _

GROQ = "Groq"


def _measured_models(f: Facts, hardware: str) -> pd.DataFrame:
    """Models with a measured speed on this part: preset, label, total and active parameters, tokens/s, smallest bytes."""
    presets = f.measured_on(hardware)
    rows = f.catalog.models.loc[f.catalog.presets.loc[presets, "model"], ["label", "total_params_b", "active_params_b"]]
    rows = rows.assign(preset=presets, speed=f.catalog.endpoints.loc[presets, "output_tok_s"].to_numpy(float))
    return rows.assign(smallest_bytes=rows["total_params_b"] * BILLION * f.smallest_bytes_per_value())


def _beyond_one_wafer(f: Facts) -> pd.DataFrame:
    """Measured models on wafers whose weights exceed one wafer in every number format."""
    rows = _measured_models(f, f.wafer)
    return rows[rows["smallest_bytes"] > f.part(f.wafer, "memory_gb") * GIGA]


def _one_request(f: Facts, preset: str, hardware: str) -> float:
    """Fewest chips of a part that hold a preset's stand-in and one request of the default task."""
    chips = only(f.served(preset, hardware=hardware, n_chips=0, batch_size=1.0).n_chips)
    known(chips)
    return chips


def _least_chips(f: Facts, params: float, hardware: str) -> float:
    """Chips for the weights alone, in the smallest number format and all of the memory."""
    return float(np.ceil(params * f.smallest_bytes_per_value() / (f.part(hardware, "memory_gb") * GIGA)))


def resident(f: Facts) -> Finding:
    """C25: how many times over the links of the wafers would have to deliver what measured speeds read, if the weights were
    fetched from outside: speed x active parameters / (wafers x link), wafers = parameters / what one holds, so that the number
    format cancels. All measured models must need more than their links give; value and low are the least.
    """
    rows = _measured_models(f, f.wafer)
    if rows.empty:
        raise Unknown
    link = f.part(f.wafer, "interconnect_gb_s_per_chip")
    reads = rows["speed"] * rows["active_params_b"] / rows["total_params_b"] * f.part(f.wafer, "memory_gb") / link
    known(reads)
    more = reads > 1.0
    verdict = SUPPORTED if more.all() else PARTLY if more.any() else CONTRADICTED
    least = rows.iloc[int(reads.to_numpy().argmin())]
    basis = _(
        "Measured on wafers, {models} models read {low} to {high} what the {link} GB/s links of their wafers could bring in; the least is {model} at {speed} tok/s. Above 1x the weights must lie in SRAM."
    ).format(
        models=len(rows), low=fmt.ratio(reads.min()), high=fmt.ratio(reads.max()), link=fmt.number(link),
        model=least["label"], speed=fmt.number(least["speed"]),
    )  # fmt: skip
    low, high = float(reads.min()), float(reads.max())
    return Finding(verdict, "data", low, "x", basis, f.state("/trade_offs", least["preset"]), low, high)


def sram_reads(f: Facts) -> Finding:
    """C26: how much faster the founding standard option is in the model when its GPUs read memory at the bandwidth of a wafer
    and everything else stays; supported where that alone gives the claimed multiple, contradicted up to ROUNDING.

    low and high: the same at that batch and for a lone request. The basis has the bound of SRAM bandwidth alone for Spark's
    stand-in beside what is served.
    """
    (claimed,) = f.claimed(1)
    batch = np.array([f.setting(CODEX, "batch_size"), 1.0])
    gpu, sram = f.setting(CODEX, "hardware"), f.part(f.wafer, "memory_bw_tb_s")
    swapped = f.with_part(gpu, memory_bw_tb_s=sram)
    gains = f.served(CODEX, batch_size=batch).tpot_s / swapped.served(CODEX, batch_size=batch).tpot_s
    known(gains)
    gain = float(gains[0])
    reads = f.size(SPARK, "active_params_b") * f.constant("bytes_bf16")
    bound = sram * TERA / reads
    speed = f.speed(SPARK)
    chips = sram / f.part(gpu, "memory_bw_tb_s")
    verdict = SUPPORTED if gain >= claimed * (1.0 - ROUNDING) else PARTLY if gain > 1.0 + ROUNDING else CONTRADICTED
    basis = _(
        "SRAM of a wafer is {chips} as fast as the memory of a {gpu} and would allow {model} {bound} tok/s; {speed} are served, {served} the speed of Codex. With that bandwidth {codex} on GPUs is {gain} as fast at batch {batch}, {alone} for a lone request."
    ).format(
        chips=fmt.ratio(chips), gpu=f.part_name(gpu), model=f.model_name(SPARK),
        bound=fmt.number(bound), speed=fmt.number(speed), served=fmt.ratio(speed / f.speed(CODEX)), gain=fmt.ratio(gain),
        codex=f.model_name(CODEX), batch=fmt.number(batch[0]), alone=fmt.ratio(gains[1]),
    )  # fmt: skip
    place = f.state("", SPARK)
    return Finding(verdict, "model", gain, "x", basis, place, float(gains.min()), float(gains.max()))


def codex_fits(f: Facts) -> Finding:
    """C27: wafers that Codex's stand-in needs with one request; two parts, it does not fit on one, and no model of its size
    has a measured speed on wafers (else it would need no smaller model). low: weights alone in the smallest format."""
    wafers = _one_request(f, CODEX, f.wafer)
    low = _least_chips(f, f.size(CODEX), f.wafer)
    rows = _measured_models(f, f.wafer)
    as_large = rows[rows["total_params_b"] * BILLION >= f.size(CODEX) * (1.0 - ROUNDING)]
    verdict = parts(low > 1, as_large.empty)
    basis = _("{model} stands in for Codex and takes {wafers} wafers, {low} with the weights alone in 4 bit.").format(
        model=f.model_name(CODEX), wafers=fmt.number(wafers), low=fmt.number(low)
    )
    if as_large.empty:
        more = _("No model of its size has a measured speed on wafers.")
    else:
        row = as_large.iloc[0]
        more = _(
            "It needs no smaller model for that: {model}, as large, is measured at {speed} tok/s on wafers."
        ).format(model=row["label"], speed=fmt.number(row["speed"]))
    place = f.state("", CODEX, hardware=f.wafer, n_chips=0, weight_precision="bf16", batch_size=1)
    return Finding(verdict, "model", wafers, "wafers", f"{basis} {more}", place, low, wafers)


def linked(f: Facts) -> Finding:
    """C30: wafers that the largest model measured on them takes. Without a measured model beyond one wafer the claim is
    contradicted; supported where the number of wafers that can be linked is published and those models fit in it; partly where
    it is not.

    low: weights alone in the smallest format. The basis has how much a lone request loses from more wafers.
    """
    rows = _beyond_one_wafer(f)
    if rows.empty:
        basis = _("No model beyond the {memory} GB of one wafer has a measured speed on wafers.").format(
            memory=fmt.number(f.part(f.wafer, "memory_gb"))
        )
        return Finding(CONTRADICTED, "data", unit="wafers", basis=basis, link=f.state("", SPARK))
    largest = rows.loc[rows["total_params_b"].idxmax()]
    wafers = _one_request(f, largest["preset"], f.wafer)
    low = _least_chips(f, largest["total_params_b"] * BILLION, f.wafer)
    domain = float(f.catalog.hardware.at[f.wafer, "scaleup_domain_chips"])
    verdict = SUPPORTED if np.isfinite(domain) and domain >= low else PARTLY
    few = _one_request(f, SPARK, f.wafer)
    layers = float(f.catalog.models.at[f.setting(SPARK, "model"), "layers"])
    speeds = f.served(SPARK, batch_size=1.0, n_chips=np.array([few, max(few, layers)])).tokens_per_s_per_user
    known(speeds)
    basis = _(
        "{models} models measured on wafers exceed one; {model} takes {wafers} in 16 bit. {spark} on {layers} wafers instead of {few} keeps {kept} of a lone request's speed. How many can be linked: {limit}."
    ).format(
        models=len(rows), model=largest["label"], wafers=fmt.number(wafers), spark=f.model_name(SPARK),
        layers=fmt.number(max(few, layers)), few=fmt.number(few), kept=fmt.share(speeds[1] / speeds[0]),
        limit=fmt.number(domain) if np.isfinite(domain) else _("not published"),
    )  # fmt: skip
    return Finding(verdict, "model", wafers, "wafers", basis, f.state("", largest["preset"]), low, wafers)


def little_sram(f: Facts) -> Finding:
    """C35: chips that the largest model measured on Groq's takes with one request. "Very large" is more than a whole wafer
    holds in any number format: supported where such a model is measured, partly where it is only served, contradicted where no
    Groq model exceeds one chip. low: weights alone in the smallest format.
    """
    hardware, presets = f.catalog.hardware, f.catalog.presets
    chips = hardware.index[(hardware["vendor"] == GROQ) & (hardware["memory_kind"] == SRAM)]
    served = presets[presets["hardware"].isin(chips) & (presets["standin_basis"] == "vendor")]
    if served.empty:
        raise Unknown
    each = f.smallest_bytes_per_value()
    size = served["model"].map(f.catalog.models["total_params_b"]) * BILLION
    is_measured = f.catalog.endpoints.reindex(served.index)["basis"].eq(MEASURED)
    large = size * each > f.part(f.wafer, "memory_gb") * GIGA
    found = large & is_measured
    preset = str(size[found].idxmax() if found.any() else size.idxmax())
    part = f.setting(preset, "hardware")
    needed = _one_request(f, preset, part)
    low = _least_chips(f, f.size(preset), part)
    verdict = SUPPORTED if found.any() else PARTLY if large.any() or low > 1 else CONTRADICTED
    basis = _("{model} on chips of {memory} MB: {chips} chips in 16 bit with one request, at least {low}; {speed} tok/s ({word}).").format(
        model=f.model_name(preset), memory=fmt.number(1e3 * f.part(part, "memory_gb")), chips=fmt.count(needed),
        low=fmt.number(low), speed=fmt.number(f.speed(preset)), word=f.word(preset),
    )  # fmt: skip
    return Finding(verdict, "model", needed, "chips", basis, f.state("", preset), low, needed)


def fitting(f: Facts) -> Finding:
    """C77: catalogued open models that fit on one wafer with one request in 16 bit; high: in the smallest format.

    Two kinds of models: supported where neither has an answer, partly where only the closed ones have none (their size is not
    published), contradicted where there is no closed one.
    """
    models, memory = f.catalog.models, f.part(f.wafer, "memory_gb") * GIGA
    s = f.served(SPARK, model=models.index.to_numpy(), n_chips=0, batch_size=1.0)
    wafers = s.n_chips
    closed = f.catalog.presets["closed"] == 1
    one = int((wafers == 1).sum())
    small = int((models["total_params_b"] * BILLION * f.smallest_bytes_per_value() <= memory).sum())
    answered = np.isfinite(wafers)
    known(np.nanmax(wafers) if answered.any() else np.nan)
    verdict = parts(not answered.all(), bool(closed.any()))
    most = models.iloc[int(np.nanargmax(wafers))]
    basis = _(
        "Of {models} open models {one} fit on one wafer in 16 bit, the others take up to {wafers} ({largest}). The size of the {closed} closed options is not published."
    ).format(
        models=len(models), one=one, wafers=fmt.number(np.nanmax(wafers)), largest=most["label"], closed=int(closed.sum())
    )  # fmt: skip
    return Finding(
        verdict, "model", float(one), "models", basis, f.state("", SPARK), float(one), float(max(one, small))
    )
