"""Claims on single parts: area, memory, bandwidth, power (C21-C24, C43, C51, C54, C55)."""

from __future__ import annotations

import numpy as np

from fastmode import format as fmt
from fastmode.claims.found import (
    CONTRADICTED,
    FAST,
    FIRM,
    GB200,
    GIGA,
    H100,
    PARTLY,
    ROUNDING,
    SPARK,
    SRAM,
    STANDARD,
    SUPPORTED,
    TERA,
    Facts,
    Finding,
    Unknown,
    known,
    parts,
    same,
)  # fmt: skip
from fastmode.i18n import _

MM2_PER_IN2 = 25.4**2
TENS = (10.0, 100.0)  # "tens of MB"
SEVERAL = 2.0  # "several megawatts" are at least two
GPU_VENDORS = ("NVIDIA", "AMD")


def power_w(f: Facts, hardware: str) -> float:
    """Power of a part in its system, or of the part alone where no system's is published."""
    row = f.catalog.hardware.loc[hardware]
    watts = float(row["system_power_w_per_chip"])
    watts = watts if np.isfinite(watts) else float(row["tdp_w"])
    known(watts)
    return watts


def _compared(f: Facts) -> str:
    return f.state("/trade_offs", SPARK, "hardware")


def _if_firm(verdict: str, firm: bool) -> str:
    """ "Supported" asks for figures of the vendor or measured ones."""
    return PARTLY if verdict == SUPPORTED and not firm else verdict


def areas(f: Facts) -> Finding:
    """C21: area of a wafer in square inches; two parts, the wafer's area is the claimed one, and an H100 is over the claimed
    area but rounds to it."""
    wafer_claimed, gpu_claimed = f.claimed(2)
    wafer, gpu = (f.part(part, "die_area_mm2") / MM2_PER_IN2 for part in (f.wafer, H100))
    slightly = gpu_claimed < gpu < gpu_claimed + 0.5
    basis = _("{wafer}: {wafer_mm} mm2, {wafer_in} square inches; {gpu}: {gpu_mm} mm2, {gpu_in}; {ratio} the area.").format(
        wafer=f.part_name(f.wafer), wafer_mm=fmt.number(wafer * MM2_PER_IN2, 5), wafer_in=fmt.number(wafer),
        gpu=f.part_name(H100), gpu_mm=fmt.number(gpu * MM2_PER_IN2), gpu_in=fmt.number(gpu), ratio=fmt.ratio(wafer / gpu),
    )  # fmt: skip
    verdict = _if_firm(parts(same(wafer, wafer_claimed), slightly), f.firm(f.wafer, H100))
    return Finding(verdict, "data", wafer, "in2", basis, _compared(f))


def wafer_memory(f: Facts) -> Finding:
    """C22: on-chip memory of the newest wafer of Spark's vendor is the claimed figure."""
    (claimed,) = f.claimed(1)
    hardware = f.catalog.hardware
    own = hardware[hardware["vendor"] == hardware.at[f.wafer, "vendor"]]
    latest = str(own.sort_values("release_date").index[-1])
    memory = f.part(latest, "memory_gb")
    on_chip = hardware.at[latest, "memory_kind"] == SRAM
    verdict = _if_firm(SUPPORTED if same(memory, claimed) and on_chip else CONTRADICTED, f.firm(latest))
    basis = _("{name}, {date}: {memory} GB of {kind}.").format(
        name=hardware.at[latest, "name"], date=hardware.at[latest, "release_date"], memory=fmt.number(memory),
        kind=hardware.at[latest, "memory_kind"],
    )  # fmt: skip
    return Finding(verdict, "data", memory, "GB", basis, _compared(f))


def gpu_sram(f: Facts) -> Finding:
    """C23: on-chip SRAM of an H100; supported where every GPU has tens of MB, partly where the H100 has and some have more or
    less. low and high: over the GPUs whose on-chip SRAM is published."""
    hardware = f.catalog.hardware
    gpus = hardware[hardware["vendor"].isin(GPU_VENDORS) & (hardware["memory_kind"] != SRAM)]["onchip_sram_mb"].dropna()
    own = f.part(H100, "onchip_sram_mb")
    tens = gpus.between(*TENS, inclusive="left")
    verdict = SUPPORTED if tens.all() else PARTLY if tens[H100] else CONTRADICTED
    basis = _("{own}: {mb} MB. Of {gpus} GPUs with a published figure {tens} have tens of MB; {most} has {high}.").format(
        own=f.part_name(H100), mb=fmt.number(own), gpus=len(gpus), tens=int(tens.sum()),
        most=f.part_name(str(gpus.idxmax())), high=fmt.number(gpus.max()),
    )  # fmt: skip
    verdict = _if_firm(verdict, f.firm(*gpus.index))
    return Finding(verdict, "data", own, "MB", basis, _compared(f), float(gpus.min()), float(gpus.max()))


def params_held(f: Facts) -> Finding:
    """C24: parameters in 16 bit that a wafer's memory holds, in billions; the claimed figures, 16 and 8 bit, must lie between
    what the usable share of the memory and what all of it holds.

    low and high: the usable share and all of the memory, in 16 bit. Two parts, one a format.
    """
    claimed = np.array(f.claimed(2))
    each = np.array([f.constant("bytes_bf16"), f.constant("bytes_int8")])
    memory = f.part(f.wafer, "memory_gb")
    most = memory / each
    usable = most * f.constant("usable_share_sram")
    fits = (claimed >= usable * (1.0 - ROUNDING)) & (claimed <= most * (1.0 + ROUNDING))
    basis = _("{memory} GB hold {wide} billion parameters in 16 bit and {narrow} in 8 bit; without the share kept free, {usable} and {usable_narrow}.").format(
        memory=fmt.number(memory), wide=fmt.number(most[0]), narrow=fmt.number(most[1]), usable=fmt.number(usable[0]),
        usable_narrow=fmt.number(usable[1]),
    )  # fmt: skip
    verdict = _if_firm(parts(*(bool(fit) for fit in fits)), f.firm(f.wafer))
    return Finding(verdict, "data", most[0], "B params", basis, _compared(f), usable[0], most[0])


def newer_gpu(f: Facts) -> Finding:
    """C43: memory bandwidth of a GB200 over that of an H100. A ratio other than the claimed one is contradicted; the claimed
    one is supported where the model is as much faster on the newer part as the vendor states of its fast mode, else partly.

    Same stand-in, batch and number of chips on both: the larger of the two fewest that fit. low and high: modelled speed ratio
    and bandwidth ratio.
    """
    (claimed,) = f.claimed(1)
    ratio = f.part(GB200, "memory_bw_tb_s") / f.part(H100, "memory_bw_tb_s")
    stated = f.number(FAST, "speed_multiplier_vs_standard")
    both = np.array([H100, GB200])
    fewest = f.served(STANDARD, hardware=both, n_chips=0).n_chips
    known(fewest)
    speeds = f.served(STANDARD, hardware=both, n_chips=int(fewest.max())).tokens_per_s_per_user
    known(speeds)
    gain = float(speeds[1] / speeds[0])
    enough = gain >= stated * (1.0 - ROUNDING)
    verdict = CONTRADICTED if not same(ratio, claimed) else SUPPORTED if enough else PARTLY
    basis = _(
        "{new} over {old} TB/s. On {chips} chips of each at batch {batch} {model} is {gain} as fast, where the vendor states up to {stated} for fast mode."
    ).format(
        new=fmt.number(f.part(GB200, "memory_bw_tb_s")), old=fmt.number(f.part(H100, "memory_bw_tb_s")),
        chips=fmt.count(fewest.max()), batch=fmt.number(f.setting(STANDARD, "batch_size")), gain=fmt.ratio(gain),
        stated=fmt.ratio(stated), model=f.model_name(STANDARD),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, "hardware", hardware=GB200, n_chips=fewest.max())
    return Finding(verdict, "model", ratio, "x", basis, place, min(gain, ratio), max(gain, ratio))


def megawatts(f: Facts) -> Finding:
    """C51: power of as many wafers as hold the weights alone, in MW at the middle of the claimed sizes, which are TB; low and
    high at their ends. Supported where the smaller size already needs SEVERAL, partly where only the larger does."""
    small, large = f.claimed(2)
    sizes = np.array([small, 0.5 * (small + large), large])
    watts = power_w(f, f.wafer)
    wafers = np.ceil(sizes * TERA / (f.part(f.wafer, "memory_gb") * GIGA))
    low, value, high = (float(mw) for mw in wafers * watts / 1e6)
    verdict = SUPPORTED if low >= SEVERAL else PARTLY if high >= SEVERAL else CONTRADICTED
    basis = _(
        "Published is the size of the model, {small} to {large} TB; ours is the power in MW. It takes {few} to {many} wafers of {memory} GB at {kw} kW each, weights alone and at peak power: {low} to {high} MW."
    ).format(
        small=fmt.number(small), large=fmt.number(large), few=fmt.number(wafers[0]), many=fmt.number(wafers[2]),
        memory=fmt.number(f.part(f.wafer, "memory_gb")), kw=fmt.number(watts / 1e3), low=fmt.number(low),
        high=fmt.number(high),
    )  # fmt: skip
    verdict = _if_firm(verdict, f.firm(f.wafer))
    return Finding(verdict, "data", value, "MW", basis, f.state("", SPARK), low, high)


def memory_tiers(f: Facts) -> Finding:
    """C54: bandwidth of a wafer over that of an H100. Three parts, over the parts on sale: the usual HBM part holds more than
    any SRAM part, the slowest SRAM part is faster than the fastest HBM part, and the cheapest GB of SRAM is dearer than the
    dearest of HBM (purchase price over memory). Supported only where every part and every price compared is firm.

    low and high: slowest SRAM over fastest HBM, fastest over slowest.
    """
    hardware = f.catalog.hardware[f.catalog.hardware["shown"] == 1]
    hbm, sram = hardware[hardware["memory_kind"] == "HBM"], hardware[hardware["memory_kind"] == SRAM]
    prices = f.catalog.hardware_prices.dropna(subset=["purchase_usd_per_chip"])
    each_gb = prices["purchase_usd_per_chip"] / prices["hardware_id"].map(hardware["memory_gb"])
    kind = prices["hardware_id"].map(hardware["memory_kind"])
    dram_usd, sram_usd = each_gb[kind == "HBM"], each_gb[kind == SRAM]
    firm_price = prices.loc[kind.isin(["HBM", SRAM]), "basis"].isin(FIRM)
    compared = [*hbm.index, *sram.index]
    firm_part = hardware.loc[compared, "basis"].isin(FIRM)
    if not (len(hbm) and len(sram) and len(dram_usd) and len(sram_usd)):
        raise Unknown
    slow, fast = hbm["memory_bw_tb_s"], sram["memory_bw_tb_s"]
    holds = (
        hbm["memory_gb"].median() > sram["memory_gb"].max(),
        fast.min() > slow.max(),
        sram_usd.min() > dram_usd.max(),
    )
    value = f.part(f.wafer, "memory_bw_tb_s") / f.part(H100, "memory_bw_tb_s")
    basis = _(
        "HBM parts: {gb} GB in the middle, up to {slow} TB/s, up to {usd} a GB; SRAM parts: up to {sram_gb} GB, from {fast} TB/s, from {sram_usd} a GB (purchase price of the whole machine). Measured or stated by the vendor: {firm_prices} of {prices} prices, {firm_parts} of {parts} parts."
    ).format(
        gb=fmt.number(hbm["memory_gb"].median()), slow=fmt.number(slow.max()), usd=fmt.money(dram_usd.max()),
        sram_gb=fmt.number(sram["memory_gb"].max()), fast=fmt.number(fast.min()), sram_usd=fmt.money(sram_usd.min()),
        firm_prices=int(firm_price.sum()), prices=len(firm_price), firm_parts=int(firm_part.sum()), parts=len(firm_part),
    )  # fmt: skip
    verdict = _if_firm(parts(*(bool(part) for part in holds)), bool(firm_price.all()) and f.firm(*compared))
    low, high = float(fast.min() / slow.max()), float(fast.max() / slow.min())
    return Finding(verdict, "data", value, "x", basis, _compared(f), low, high)


def external_memory(f: Facts) -> Finding:
    """C55: memory of an H100 over that of a wafer. Two parts: the claimed GB of the H100 lie outside its die (its on-chip SRAM
    is less), and those of the wafer on it (its on-chip SRAM is its memory)."""
    claimed = f.claimed(2)
    memory = [f.part(part, "memory_gb") for part in (H100, f.wafer)]
    on_chip = [f.part(part, "onchip_sram_mb") / 1e3 for part in (H100, f.wafer)]
    outside = same(memory[0], claimed[0]) and on_chip[0] < memory[0] * ROUNDING
    inside = same(memory[1], claimed[1]) and same(on_chip[1], memory[1])
    kinds = [f.catalog.hardware.at[part, "memory_kind"] for part in (H100, f.wafer)]
    basis = _("{gpu}: {gb} GB of {kind}, {own} GB on the chip; {wafer}: {wafer_gb} GB of {wafer_kind}, {wafer_own} GB on the chip.").format(
        gpu=f.part_name(H100), gb=fmt.number(memory[0]), kind=kinds[0], own=fmt.number(on_chip[0]),
        wafer=f.part_name(f.wafer), wafer_gb=fmt.number(memory[1]), wafer_kind=kinds[1], wafer_own=fmt.number(on_chip[1]),
    )  # fmt: skip
    verdict = _if_firm(parts(outside and kinds[0] != SRAM, inside and kinds[1] == SRAM), f.firm(H100, f.wafer))
    return Finding(verdict, "data", memory[0] / memory[1], "x", basis, _compared(f))
