"""Claims on joining chips: in series, as shards, and over which links (C32-C34, C37).

A pipeline is Spark's stand-in on wafers: at its shortest the fewest wafers that hold model and batch, at its longest one layer
a wafer.

The time of a hand-over between wafers (hop_wafer_s) is assumed, not fitted: what rests on it is computed at its value and at both
ends of its range. Times are affine in it and each figure is a ratio of two, so that it lies between those at the ends.
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
    agreed,
    known,
    parts,
)  # fmt: skip
from fastmode.format import SAME_WITHIN
from fastmode.i18n import _
from fastmode.serving import Service

HOP = "hop_wafer_s"


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


def _hand_overs(f: Facts) -> tuple[list[Facts], list[str]]:
    """The same facts with a hand-over between wafers as stored, at the low and at the high end of its range, and these three times
    in microseconds, as text."""
    value, low, high = f.constant_range(HOP)
    times = [fmt.number(hop_s * 1e6) for hop_s in (value, low, high)]
    return [f, f.with_constant(HOP, low), f.with_constant(HOP, high)], times


def sharding(f: Facts) -> Finding:
    """C32: share of a lone request's time per token that goes into hand-overs between the fewest wafers. Two parts: it is
    most of the time, and a lone request uses less than half of the wafers' bandwidth, since one stage works at a time.

    low and high: over the range of the time of a hand-over.
    """
    facts, times = _hand_overs(f)
    pipelines = [_lone(each, [SPARK]) for each in facts]
    stages = np.array([pipelines[0].short_stages[0], pipelines[0].long_stages[0]])
    hop = np.array([p.hop_s[0] for p in pipelines])
    known(hop, stages)
    tpot_s = np.array([[p.short_s[0], p.long_s[0]] for p in pipelines])
    short, long = (hop[:, None] * (stages - 1.0) / tpot_s).T
    one_works = bool(1.0 / stages[0] < MOST)
    verdict = agreed(*(parts(bool(share > MOST), one_works) for share in short))
    basis = _(
        "{model} on {stages} wafers: hand-overs of {hop} microseconds, assumed from {hop_low} to {hop_high}, take {share} of the time per token ({low} to {high}), {long} on {most}. By construction of the model a lone request keeps one of {stages} at work, {used} of the bandwidth; as many requests as wafers keep all at work."
    ).format(
        model=f.model_name(SPARK), stages=fmt.number(stages[0]), hop=times[0], hop_low=times[1], hop_high=times[2],
        share=fmt.share(short[0]), low=fmt.share(short.min()), high=fmt.share(short.max()), long=fmt.share(long[0]),
        most=fmt.number(stages[1]), used=fmt.share(1.0 / stages[0]),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, batch_size=1)
    value, low, high = (100.0 * float(share) for share in (short[0], short.min(), short.max()))
    return Finding(verdict, "model", value, "%", basis, place, low, high)


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

    low and high: over the range of the time of a hand-over.
    """
    facts, times = _hand_overs(f)
    _own, wafers, filled = _rates(f)
    rates = np.array([_rates(each)[0] for each in facts])
    # at the same batch, for a lone request, with as many requests a wafer
    same_batch, lone, scaled = rates[:, 1] / rates[:, 0], rates[:, 3] / rates[:, 2], rates[:, 4] / rates[:, 0]
    verdict = agreed(
        *(parts(bool(all_of >= 1.0), bool(one >= 1.0 - ROUNDING)) for one, all_of in zip(lone, scaled, strict=True))
    )
    same_text, lone_text, scaled_text = (
        _("{value} ({low} to {high})").format(
            value=fmt.ratio(r[0]), low=fmt.ratio(r.min()), high=fmt.ratio(r.max())
        ) for r in (same_batch, lone, scaled)
    )  # fmt: skip
    basis = _(
        "{model} on {many} wafers instead of {few}, hand-overs of {hop} microseconds assumed ({hop_low} to {hop_high}): {same} of the tokens per second at batch {batch}, {lone} for a lone request, {scaled} with as many requests a wafer (batch {filled}), which follows from the model: its wafers work side by side."
    ).format(
        model=f.model_name(SPARK), many=fmt.number(wafers[1]), few=fmt.number(wafers[0]), hop=times[0], hop_low=times[1],
        hop_high=times[2], same=same_text, batch=fmt.number(f.setting(SPARK, "batch_size")), lone=lone_text,
        scaled=scaled_text, filled=fmt.number(filled),
    )  # fmt: skip
    place = f.state("/trade_offs", SPARK, "batch", n_chips=wafers[1])
    value, low, high = float(same_batch[0]), float(same_batch.min()), float(same_batch.max())
    return Finding(verdict, "model", value, "x", basis, place, low, high)


def long_pipeline(f: Facts) -> Finding:
    """C34: speed of a lone request on the longest over that on the shortest pipeline, for Spark's stand-in; low and high over
    the models on wafers and the range of the time of a hand-over. Supported where it falls for every model whose pipeline can be
    longer, partly where for some. The model has no other direction: each wafer more is a hand-over more."""
    facts, times = _hand_overs(f)
    pipelines = [_lone(each, [SPARK, *_on_wafers(f)]) for each in facts]
    p = pipelines[0]
    known(p.short_s[0], p.long_s[0])
    usable = p.longer & np.isfinite(p.long_s)
    ratios = np.array([(each.short_s / each.long_s)[usable] for each in pipelines])
    known(ratios, ratios[0, 0] if ratios.size else np.nan)
    falls = ratios < 1.0 - SAME_WITHIN
    verdict = agreed(*(SUPPORTED if row.all() else PARTLY if row.any() else CONTRADICTED for row in falls))
    own = float(p.short_s[0] / p.long_s[0])
    basis = _("{model} gives a lone request {short} tok/s on {few} wafers and {long} on {many}; over {models} models on wafers the speed falls to {low} to {high} with hand-overs of {hop} microseconds, and to {all_low} to {all_high} over the assumed range of {hop_low} to {hop_high}. By construction of the model each wafer more adds a hand-over: it never rises.").format(
        model=f.model_name(SPARK), short=fmt.number(1.0 / p.short_s[0]), few=fmt.number(p.short_stages[0]),
        long=fmt.number(1.0 / p.long_s[0]), many=fmt.number(p.long_stages[0]), models=ratios.shape[1] - 1,
        low=fmt.ratio(ratios[0].min()), high=fmt.ratio(ratios[0].max()), hop=times[0], hop_low=times[1], hop_high=times[2],
        all_low=fmt.ratio(ratios.min()), all_high=fmt.ratio(ratios.max()),
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
        model=f.model_name(STANDARD), chips=fmt.count(s.n_chips[0]), gpu=f.part_name(f.setting(STANDARD, "hardware")),
        value=fmt.share(value / 100), small=fmt.number(f.setting(FAST, "batch_size")), low=fmt.share(shares.min() / 100),
        high=fmt.share(shares.max() / 100), large=fmt.number(batch[-1]),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, batch_size=f.setting(FAST, "batch_size"))
    return Finding(verdict, "model", value, "%", basis, place, float(shares.min()), float(shares.max()))
