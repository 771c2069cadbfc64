"""Claims on what the founding vendors offer: speeds, prices, and what an error costs the person (C01-C03, C15-C17, C68, C69)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fastmode import format as fmt
from fastmode import productivity
from fastmode import scenario as scenarios
from fastmode.catalog import Catalog
from fastmode.evaluate import evaluate
from fastmode.i18n import _
from fastmode.side import Side

from fastmode.claims.found import (  # isort: skip
    CODEX, CONTRADICTED, FAST, MEASURED, MOST, PARTLY, ROUNDING, SPARK, STANDARD, SUPPORTED, Facts, Finding, Unknown,
    address, same,
)  # fmt: skip


def up_to(f: Facts) -> Finding:
    """C01: the vendor's stated multiple is the claimed one; supported once a measured fast tier reaches it.

    A measured fast tier is set against its own standard tier where that one's speed is known, else against the founding one.
    """
    (claimed,) = f.claimed(1)
    stated = f.number(FAST, "speed_multiplier_vs_standard")
    place = address(preset=FAST)
    tiers = f.fast_tiers()
    tiers = tiers[(tiers["basis"] == MEASURED) & tiers["output_tok_s"].notna()]
    speeds = f.catalog.endpoints["output_tok_s"]
    if tiers.empty:
        verdict = PARTLY if same(stated, claimed) else CONTRADICTED
        basis = _("The vendor states {stated}; no fast tier has a measured speed.").format(stated=fmt.ratio(stated))
        return Finding(verdict, "data", stated, "x", basis, place)
    own = tiers["same_model_as"].map(speeds)
    gains = tiers["output_tok_s"] / own.fillna(f.speed(STANDARD))
    best = str(gains.idxmax())
    gain, standard = float(gains[best]), f.text(best, "same_model_as") if np.isfinite(own[best]) else STANDARD
    reached = SUPPORTED if gain >= claimed * (1.0 - ROUNDING) else PARTLY
    basis = _(
        "The vendor states {stated}; measured: {fast} fast at {speed} tok/s, {gain} the {base} tok/s of {standard} standard."
    ).format(
        stated=fmt.ratio(stated), fast=f.text(best, "model"), speed=fmt.number(f.speed(best)), gain=fmt.ratio(gain),
        base=fmt.number(f.speed(standard)), standard=f.text(standard, "model"),
    )  # fmt: skip
    verdict = reached if same(stated, claimed) else CONTRADICTED
    return Finding(verdict, "data", stated, "x", basis, place, min(gain, stated), max(gain, stated))


def two_speeds(f: Facts) -> Finding:
    """C02: both stored speeds are the claimed ones; supported only if both are measured."""
    claimed = f.claimed(2)
    fast, standard = f.speed(FAST), f.speed(STANDARD)
    agrees = same(fast, claimed[0]) and same(standard, claimed[1])
    verdict = CONTRADICTED if not agrees else SUPPORTED if f.measured(FAST, STANDARD) else PARTLY
    basis = _("{fast} tok/s ({fast_word}) over {base} tok/s ({base_word}); the vendor states a multiple of {stated}.").format(
        fast=fmt.number(fast), fast_word=f.word(FAST), base=fmt.number(standard), base_word=f.word(STANDARD),
        stated=fmt.ratio(f.number(FAST, "speed_multiplier_vs_standard")),
    )  # fmt: skip
    return Finding(verdict, "data", fast / standard, "x", basis, address(preset=FAST))


def price_ratio(f: Facts) -> Finding:
    """C03: list prices of output and of input both stand in the claimed ratio; one of the two is partly supported.

    low and high: the output price ratios of all fast tiers of this vendor.
    """
    (claimed,) = f.claimed(1)
    columns = ("output_usd_per_mtok", "input_usd_per_mtok")
    ratios = [f.number(FAST, column) / f.number(STANDARD, column) for column in columns]
    agree = [same(ratio, claimed) for ratio in ratios]
    verdict = SUPPORTED if all(agree) else PARTLY if any(agree) else CONTRADICTED
    prices = f.catalog.endpoints[columns[0]]
    tiers = f.fast_tiers()
    all_ratios = (tiers[columns[0]] / tiers["same_model_as"].map(prices)).dropna()
    low, high = float(all_ratios.min()), float(all_ratios.max())
    basis = _(
        "List prices dated {date}: output {out}, input {into} the standard price; fast tiers of this vendor span {low} to {high}."
    ).format(
        date=f.text(FAST, "date"), out=fmt.ratio(ratios[0]), into=fmt.ratio(ratios[1]), low=fmt.ratio(low),
        high=fmt.ratio(high),
    )  # fmt: skip
    return Finding(verdict, "data", ratios[0], "x", basis, address(preset=FAST), low, high)


def spark_speed(f: Facts) -> Finding:
    """C15: a floor, taken without tolerance; supported only if the speed is measured."""
    (claimed,) = f.claimed(1)
    speed = f.speed(SPARK)
    verdict = CONTRADICTED if speed < claimed else SUPPORTED if f.measured(SPARK) else PARTLY
    basis = _("{model}: {speed} tok/s ({word}).").format(
        model=f.text(SPARK, "model"), speed=fmt.number(speed), word=f.word(SPARK)
    )
    return Finding(verdict, "data", speed, "tok/s", basis, address(preset=SPARK))


def speed_ratio(slow: str) -> Callable[[Facts], Finding]:
    """C16, C17: Spark's speed over that of `slow` is the claimed ratio; supported only if both speeds are measured."""

    def verdict_on(f: Facts) -> Finding:
        (claimed,) = f.claimed(1)
        fast, base = f.speed(SPARK), f.speed(slow)
        verdict = CONTRADICTED if not same(fast / base, claimed) else SUPPORTED if f.measured(SPARK, slow) else PARTLY
        basis = _("{fast} tok/s ({fast_word}) over {base} tok/s ({base_word}).").format(
            fast=fmt.number(fast), fast_word=f.word(SPARK), base=fmt.number(base), base_word=f.word(slow)
        )
        return Finding(verdict, "data", fast / base, "x", basis, address(preset=SPARK, reference=slow))

    return verdict_on


def _codex(catalog: Catalog, **changes: float | np.ndarray) -> Side:
    """The founding standard option under the default assumptions."""
    return evaluate(replace(scenarios.default(catalog), reference=CODEX, **changes), catalog).reference


def correcting(f: Facts) -> Finding:
    """C68: share of the task time that goes into correcting; supported above half, partly while it exceeds waiting.

    low and high: the same share at the low and the high end of the default error rate.
    """
    error = scenarios.all_fields(f.catalog)["error"]
    task = _codex(f.catalog, error=np.array([error.default, error.low, error.high])).task
    share, low, high = (float(s) for s in task.correction_share)
    waiting = float(np.ravel(task.waiting_s / task.time_per_task_s)[0])
    if not np.isfinite([share, waiting]).all():
        raise Unknown
    verdict = SUPPORTED if share > MOST else PARTLY if share > waiting else CONTRADICTED
    basis = _(
        "Default task with {model}: {share} of the time goes into correcting, {waiting} into the first wait; range for an error rate of {low} to {high}."
    ).format(
        model=f.text(CODEX, "model"), share=fmt.share(share), waiting=fmt.share(waiting), low=fmt.share(error.low),
        high=fmt.share(error.high),
    )  # fmt: skip
    return Finding(verdict, "model", 100 * share, "%", basis, address(preset=CODEX), 100 * low, 100 * high)


def founding_trade(f: Facts) -> Finding:
    """C69: change in time per accepted task when the whole wait is divided by the claimed factor and errors rise.

    Two readings of the claimed percentage: points added to the error rate (value), and a factor on it. A bad deal under both
    is supported, under one partly supported. low and high: the two readings.
    """
    factor, percent = f.claimed(2)
    inputs = _codex(f.catalog).inputs
    waits = ("ttft_s", "handshake_s", "start_delay_s", "tool_time_s")
    faster = {name: getattr(inputs, name) / factor for name in waits} | {"tokens_per_s": inputs.tokens_per_s * factor}
    readings = np.minimum(np.array([inputs.error_rate + percent / 100, inputs.error_rate * (1 + percent / 100)]), 1.0)
    fast = productivity.task(replace(inputs, error_rate=readings.ravel(), **faster)).time_per_task_s
    points, times = (float(c) for c in fast / productivity.task(inputs).time_per_task_s - 1.0)
    if not np.isfinite([points, times]).all():
        raise Unknown
    bad = (points > 0) + (times > 0)
    verdict = (CONTRADICTED, PARTLY, SUPPORTED)[bad]
    basis = _(
        "Default task with {model}, whole wait divided by {factor}: time {points} if errors rise by {percent} points, {times} if by {percent} %."
    ).format(
        model=f.text(CODEX, "model"), factor=fmt.number(factor), percent=fmt.number(percent), points=fmt.signed_share(points),
        times=fmt.signed_share(times),
    )  # fmt: skip
    low, high = sorted((100 * points, 100 * times))
    return Finding(verdict, "model", 100 * points, "%", basis, address("/trade_offs", preset=SPARK), low, high)
