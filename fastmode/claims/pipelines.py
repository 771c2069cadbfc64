"""Claims on joining chips: in series, as shards, and over which links (C32-C34, C37).

A pipeline is Spark's stand-in on wafers: at its shortest the fewest wafers that hold model and batch, at its longest one layer
a wafer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode.claims.found import (
    CONTRADICTED,
    FAST,
    MOST,
    PARTLY,
    ROUNDING,
    SPARK,
    STANDARD,
    SUPPORTED,
    Facts,
    Finding,
    known,
    parts,
)  # fmt: skip
from fastmode.format import SAME_WITHIN
from fastmode.i18n import _
from fastmode.serving import Service


@dataclass(frozen=True, eq=False)
class _Pipelines:
    """Lone requests on the shortest and the longest pipeline; arrays [preset] of stages and seconds a token."""

    short_stages: NDArray
    long_stages: NDArray
    short_s: NDArray
    long_s: NDArray

    @property
    def longer(self) -> NDArray:
        return self.long_stages > self.short_stages

    @property
    def hop_s(self) -> NDArray:
        """Time of one hand-over, from the two lengths."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (self.long_s - self.short_s) / (self.long_stages - self.short_stages)


def _layers(f: Facts, presets: list[str]) -> NDArray:
    return f.catalog.models["layers"].reindex(f.catalog.presets.loc[presets, "model"]).to_numpy(float)


def _lone(f: Facts, presets: list[str]) -> _Pipelines:
    short = f.served(presets, batch_size=1.0, n_chips=0)
    long = f.served(presets, batch_size=1.0, n_chips=np.fmax(_layers(f, presets), short.n_chips))
    return _Pipelines(short.stages, long.stages, short.tpot_s, long.tpot_s)


def _on_wafers(f: Facts) -> list[str]:
    presets = f.catalog.presets
    return list(presets.index[(presets["hardware"] == f.wafer) & (presets["standin_basis"] == "vendor")])


def sharding(f: Facts) -> Finding:
    """C32: share of a lone request's time per token that goes into hand-overs between the fewest wafers. Two parts: it is
    most of the time, and a lone request uses less than half of the wafers' bandwidth, since one stage works at a time.

    high: the same with one layer a wafer.
    """
    p = _lone(f, [SPARK])
    hop, stages = p.hop_s[0], np.array([p.short_stages[0], p.long_stages[0]])
    known(hop, stages)
    shares = hop * (stages - 1.0) / np.array([p.short_s[0], p.long_s[0]])
    low, high = (float(share) for share in shares)
    verdict = parts(low > MOST, bool(1.0 / stages[0] < MOST))
    basis = _(
        "{model} on {stages} wafers: hand-overs take {low} of the time per token, {high} on {most}. A lone request keeps one of {stages} at work, {used} of the bandwidth; as many requests as wafers keep all at work."
    ).format(
        model=f.model_name(SPARK), stages=fmt.number(stages[0]), low=fmt.share(low), high=fmt.share(high),
        most=fmt.number(stages[1]), used=fmt.share(1.0 / stages[0]),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, batch_size=1)
    return Finding(verdict, "model", 100 * low, "%", basis, place, 100 * low, 100 * high)


def _rates(f: Facts) -> tuple[NDArray, NDArray, float]:
    """Output tokens/s of short and long pipeline at the preset's batch, for a lone request, and with the long one given as many
    requests a wafer as the short one; wafers of both; and the batch of the last."""
    batch = f.setting(SPARK, "batch_size")
    shortest: Service = f.served(SPARK, n_chips=0)
    known(shortest.n_chips)
    few = float(shortest.n_chips[0])
    many = max(few, float(_layers(f, [SPARK])[0]))
    filled = batch * many / few
    s = f.served(
        SPARK, n_chips=np.array([few, many, few, many, many]), batch_size=np.array([batch, batch, 1.0, 1.0, filled])
    )
    # One request needs no more memory than the batch: all five fit where the first does.
    known(s.output_tokens_per_s)
    return s.output_tokens_per_s, np.array([few, many]), filled


def series(f: Facts) -> Finding:
    """C33: output of the longest over that of the shortest pipeline at the preset's batch. Two parts: with as many requests a
    wafer all wafers together give no less, and a lone request gets no less than ROUNDING below.

    low and high: for a lone request, and in total with as many requests a wafer.
    """
    rates, wafers, filled = _rates(f)
    same_batch, lone, scaled = rates[1] / rates[0], rates[3] / rates[2], rates[4] / rates[0]
    verdict = parts(bool(scaled >= 1.0), bool(lone >= 1.0 - ROUNDING))
    basis = _(
        "{model} on {many} wafers instead of {few}: {same} of the tokens per second at batch {batch}, {lone} for a lone request, and {scaled} with as many requests a wafer (batch {filled})."
    ).format(
        model=f.model_name(SPARK), many=fmt.number(wafers[1]), few=fmt.number(wafers[0]), same=fmt.ratio(same_batch),
        batch=fmt.number(f.setting(SPARK, "batch_size")), lone=fmt.ratio(lone), scaled=fmt.ratio(scaled),
        filled=fmt.number(filled),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, "batch", n_chips=wafers[1])
    low, high = float(min(lone, same_batch)), float(max(scaled, same_batch))
    return Finding(verdict, "model", float(same_batch), "x", basis, place, low, high)


def long_pipeline(f: Facts) -> Finding:
    """C34: speed of a lone request on the longest over that on the shortest pipeline, for Spark's stand-in; low and high over
    the models on wafers. Supported where it falls for every model whose pipeline can be longer, partly where for some."""
    p = _lone(f, [SPARK, *_on_wafers(f)])
    known(p.short_s[0], p.long_s[0])
    ratios = (p.short_s / p.long_s)[p.longer & np.isfinite(p.long_s)]
    known(ratios, ratios[0] if ratios.size else np.nan)
    falls = ratios < 1.0 - SAME_WITHIN
    verdict = SUPPORTED if falls.all() else PARTLY if falls.any() else CONTRADICTED
    own = float(p.short_s[0] / p.long_s[0])
    basis = _("{model} gives a lone request {short} tok/s on {few} wafers and {long} on {many}; over {models} models on wafers the speed falls to {low} to {high}.").format(
        model=f.model_name(SPARK), short=fmt.number(1.0 / p.short_s[0]), few=fmt.number(p.short_stages[0]),
        long=fmt.number(1.0 / p.long_s[0]), many=fmt.number(p.long_stages[0]), models=ratios.size - 1,
        low=fmt.ratio(ratios.min()), high=fmt.ratio(ratios.max()),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, batch_size=1, n_chips=p.long_stages[0])
    return Finding(verdict, "model", own, "x", basis, place, float(ratios.min()), float(ratios.max()))


def interconnect(f: Facts) -> Finding:
    """C37: share of the time per output token that the founding fast option spends on its links. Supported where that is more
    than ROUNDING at some batch up to the standard one, partly where it is less, contradicted without any.

    low and high: over those batches.
    """
    batch = np.arange(1.0, f.setting(STANDARD, "batch_size") + 1.0)
    s = f.served(STANDARD, batch_size=batch)
    known(s.collectives_s, s.tpot_s)
    shares = 100 * s.collectives_s / s.tpot_s
    value = float(np.interp(f.setting(FAST, "batch_size"), batch, shares))
    verdict = SUPPORTED if shares.max() > 100 * ROUNDING else PARTLY if shares.max() > 0 else CONTRADICTED
    basis = _(
        "{model} on {chips} {gpu}: all-reduces between the chips take {value} of the time per token at batch {small}, {low} to {high} from batch {large} to 1."
    ).format(
        model=f.model_name(STANDARD), chips=fmt.number(s.n_chips[0]), gpu=f.part_name(f.setting(STANDARD, "hardware")),
        value=fmt.share(value / 100), small=fmt.number(f.setting(FAST, "batch_size")), low=fmt.share(shares.min() / 100),
        high=fmt.share(shares.max() / 100), large=fmt.number(batch[-1]),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, batch_size=f.setting(FAST, "batch_size"))
    return Finding(verdict, "model", value, "%", basis, place, float(shares.min()), float(shares.max()))
