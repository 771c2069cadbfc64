"""Claims on errors and on whom a fast option helps (C04, C18, C19, C45, C64, C79).

Errors enter as odds, and an odds ratio measured on one benchmark is carried over to another with the spread between benchmarks
of its family (quality.transfer_sd). What the model assumes is no evidence for it and is called so in the basis.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fastmode import format as fmt
from fastmode import productivity, quality
from fastmode import scenario as scenarios
from fastmode.evaluate import Evaluation, evaluate
from fastmode.i18n import _

from fastmode.claims.found import (  # isort: skip
    CODEX, CONTRADICTED, FAST, PARTLY, SPARK, STANDARD, SUPPORTED, Facts, Finding, Unknown, address, known, parts, same,
)  # fmt: skip

SURE = 0.95  # of the plausible worlds: both ends of a 90 % band on one side
BENCHMARKS = ("swe_bench_verified", "swe_bench_pro", "terminal_bench_2")
TOOL_USE = "tool_use"
DISTILLED, TUNED = "distilled", "domain_tuned"  # words of the column training of quality_pairs
SPECULATION = "speculative decoding"  # word of the column strategy of strategies
LATENCY_CRITICAL = ("chat", "voice", "simple-tasks")
CRITICAL, QUICK = "critical-work", ("prototyping", "simple-tasks")


def _evaluated(f: Facts, preset: str, task: str, **changes: ArrayLike) -> Evaluation:
    """A preset against its own reference in a task profile, with some fields changed."""
    if preset not in f.catalog.presets.index or task not in f.catalog.profiles.index:
        raise Unknown
    plain = scenarios.expand_preset(preset, f.catalog) | scenarios.expand_profile(task, f.catalog)
    return evaluate(replace(scenarios.default(f.catalog), **plain | changes), f.catalog)


def _timed(f: Facts, preset: str, task: str) -> Evaluation:
    """The same at published speeds. Raises Unknown where one is not published: a stand-in's speed is not the option's."""
    known(f.speed(preset), f.speed(f.setting(preset, "reference")))
    return _evaluated(f, preset, task)


def _scores(f: Facts, larger: str, smaller: str) -> pd.DataFrame:
    """Rows of published scores of two models, by their names."""
    pairs = f.catalog.quality_pairs
    return pairs[(pairs["parent"] == larger) & (pairs["child"] == smaller)]


def _more(low: float, high: float) -> bool | None:
    """Whether the band of a ratio lies above 1, below it, or on both sides."""
    return True if low > 1.0 else False if high < 1.0 else None


def _sure(share: float) -> bool | None:
    """Whether something is so in (nearly) all plausible worlds, in (nearly) none, or neither."""
    return True if share >= SURE else False if share <= 1.0 - SURE else None


def same_quality(f: Facts) -> Finding:
    """C04: two parts, the same model and identical quality. Odds of an error of the fast mode over those of the standard one.

    The model is the vendor's to state (same_model_as). Identical quality needs scores of the fast mode itself: rows of
    quality_pairs whose child is "<model> <mode>", or a score of its endpoint that is not the standard one's. One that is equal
    is carried over from there, so that they agree proves nothing.
    """
    endpoints = f.catalog.endpoints
    if not {FAST, STANDARD} <= set(endpoints.index):
        raise Unknown
    own = _scores(f, f.text(STANDARD, "model"), f"{f.text(FAST, 'model')} {f.text(FAST, 'mode')}")
    stored = [quality.benchmark_odds_ratio(endpoints.loc[FAST], endpoints.loc[STANDARD], name) for name in BENCHMARKS]
    stored = [float(ratio) for ratio in stored if np.isfinite(ratio)]
    scores = zip(own["parent_score"], own["child_score"], strict=True)
    measured = [float(quality.benchmark_odds_ratio({"": child}, {"": parent}, "")) for parent, child in scores]
    measured += [ratio for ratio in stored if ratio != 1.0]
    ratios = measured or stored
    value, low, high = np.quantile(ratios, [0.5, 0.0, 1.0]) if ratios else (np.nan,) * 3
    stated = f.text(FAST, "same_model_as") == STANDARD
    says = _("The vendor states the same model.") if stated else _("The vendor does not state the same model.")
    if measured:
        tested = _("{n} scores of the fast mode itself give {ratio} the odds of an error.").format(
            n=len(ratios), ratio=fmt.ratio(value)
        )
    else:
        tested = _(
            "Its {n} stored scores are those of the standard mode; nobody has published any of the fast mode itself."
        ).format(n=len(ratios))
    e = _evaluated(f, FAST, str(f.default("task")))
    built_in = ""
    if e.at(e.now.error_rate) == e.at(e.reference.error_rate):
        built_in = _("That both have the same errors in our model is built in, so it is no evidence.")
    verdict = parts(stated, bool(measured) and same(value, 1.0))
    basis = " ".join(text for text in (says, tested, built_in) if text)
    return Finding(
        verdict, "data", float(value), "x odds of an error", basis, address(preset=FAST), float(low), float(high)
    )


def _spark_odds(f: Facts) -> tuple[float, float, float]:
    """Odds of an error of Spark over those of Codex on the benchmark the model uses, and their 90 % band over the family."""
    endpoints, benchmark = f.catalog.endpoints, f.setting(SPARK, "benchmark")
    if not benchmark or CODEX not in endpoints.index:
        raise Unknown
    ratio = float(quality.benchmark_odds_ratio(endpoints.loc[SPARK], endpoints.loc[CODEX], benchmark))
    known(ratio)
    half = NormalDist().inv_cdf(SURE) * quality.transfer_sd(f.catalog, quality.AGENTIC)
    return ratio, ratio * float(np.exp(-half)), ratio * float(np.exp(half))


def smaller_model(f: Facts) -> Finding:
    """C18: odds of an error of Spark over those of Codex; three parts: smaller, less capable, distilled.

    Smaller: by published sizes, else by the vendor's own word. Less capable: the odds ratio's whole band over the benchmarks of
    its family is above 1. Distilled: said of the pair's training.
    """
    ratio, low, high = _spark_odds(f)
    rows = _scores(f, f.text(CODEX, "model"), f.text(SPARK, "model"))
    if rows.empty:
        raise Unknown
    sizes = [float(rows[f"{model}_total_params_b"].max()) for model in ("parent", "child")]
    if np.isfinite(sizes).all():
        smaller = sizes[1] < sizes[0]
        size = _("Published sizes: {larger}B and {own}B.").format(larger=fmt.number(sizes[0]), own=fmt.number(sizes[1]))
    else:
        smaller = f.text(SPARK, "basis") == "vendor_spec" and "smaller" in f.text(SPARK, "notes")
        size = _("The vendor calls it smaller, without a size.") if smaller else _("Nobody publishes its size.")
    less = _more(low, high)
    distilled = bool((rows["training"] == DISTILLED).any())
    benchmark = f.setting(SPARK, "benchmark")
    capable = _(
        "It gets {own} % against {larger} % on the one benchmark both have, {ratio} the odds of an error; over such benchmarks on the whole {low} to {high}."
    ).format(
        own=fmt.number(f.number(SPARK, benchmark)), larger=fmt.number(f.number(CODEX, benchmark)), ratio=fmt.ratio(ratio),
        low=fmt.ratio(low), high=fmt.ratio(high),
    )  # fmt: skip
    made = _("It is distilled.") if distilled else _("That it is distilled is what commentators infer; no source says how it was trained.")  # fmt: skip
    basis = " ".join([size, capable, *([] if less is not None else [_("That band does not decide.")]), made])
    return Finding(
        parts(smaller, less, distilled), "data", ratio, "x odds of an error", basis, address(preset=SPARK), low, high
    )


def tool_calls(f: Facts) -> Finding:
    """C19: errors per tool call of Spark over those of Codex; two parts: Spark errs more, and a full model never does.

    Per call: the error per step at which the calls of the default task, failing independently, fail as often as the task does
    (quality.step_error_for), for both at the default error and Spark's odds ratio. Never: the best full model of the
    tool-use rows has no error.
    """
    calls, error = float(f.default("calls")), float(f.default("error"))
    odds = np.array([1.0, *_spark_odds(f)])
    each = quality.step_error_for(quality.error_from_odds_ratio(error, odds), calls)
    value, low, high = (float(x) for x in each[1:] / each[0])
    pairs, tiers = f.catalog.quality_pairs, f.catalog.quality_tier_steps.set_index("task_family")
    scores = pairs.loc[(pairs["task_family"] == TOOL_USE) & (pairs["unit"] == "percent"), "parent_score"]
    if scores.empty or TOOL_USE not in tiers.index:
        raise Unknown
    step = tiers.loc[TOOL_USE]
    basis = _(
        "No tool-call scores of {fast} are published. If a task fails by one of {calls} independent calls, {full} errs in {own} of them and {fast} in {other}: {ratio} as often, {low} to {high} over agentic benchmarks on the whole. In {pairs} tool-use pairs of vendor tiers the smaller has {least} to {most} the odds. Never is too much: the best full model there scores {best} %."
    ).format(
        fast=f.text(SPARK, "model"), full=f.text(CODEX, "model"), calls=fmt.number(calls), own=fmt.share(each[0]),
        other=fmt.share(each[1]), ratio=fmt.ratio(value), low=fmt.ratio(low), high=fmt.ratio(high), pairs=fmt.number(step["n_pairs"]),
        least=fmt.ratio(step["odds_ratio_min"]), most=fmt.ratio(step["odds_ratio_max"]), best=fmt.number(scores.max()),
    )  # fmt: skip
    verdict = parts(_more(low, high), bool(scores.max() >= 100.0))
    return Finding(verdict, "model", value, "x errors per call", basis, address(preset=SPARK), low, high)


def exact_speculation(f: Facts) -> Finding:
    """C45: the largest gain in accuracy by speculative decoding, in points, among the rows of strategies.

    Contradicted by a row with such a gain. Supported by the proof, read at its source, that exact speculation leaves the
    distribution of the output as it is; without that row partly. That our model moves no error is built in.
    """
    rows = f.catalog.strategies
    rows = rows[rows["strategy"] == SPECULATION]
    if rows.empty:
        raise Unknown
    gains = pd.to_numeric(rows.loc[rows["unit"].str.startswith("percentage points"), "value"], errors="coerce").dropna()
    proof = rows[(rows["method"] == "formula") & rows["note"].str.contains("distribution unchanged")]
    curves = ["none", *(str(curve) for curve in f.catalog.accept_length["id"].unique())]
    side = _evaluated(f, STANDARD, str(f.default("task")), speculation=np.array(curves)).now
    moved = float(np.ptp(side.error_rate))
    value = float(gains.max()) if len(gains) else 0.0
    proven = _("Exact speculation leaves the distribution of the output as it is ({year}, a proof).").format(
        year=int(proof.iloc[0]["year"])
    ) if len(proof) else _("No row holds a proof that the output stays the same.")  # fmt: skip
    basis = _(
        "{proven} Of {n} figures on it {gains} are on accuracy, the others on speed. Over {curves} accept-length curves our model moves the error by {moved}, which is built in. Inexact variants are not covered."
    ).format(proven=proven, n=len(rows), gains=len(gains), curves=len(curves) - 1, moved=fmt.points(moved))
    verdict = CONTRADICTED if value > 0 else SUPPORTED if len(proof) else PARTLY
    return Finding(verdict, "data", value, "points", basis, f.state("", STANDARD))


def _pair_means(f: Facts, family: str) -> pd.DataFrame:
    """Published pairs of a larger and a smaller model: mean log odds ratio over their n benchmarks of the family."""
    rows = quality.usable_pairs(f.catalog)
    grouped = rows[rows["task_family"] == family].groupby(["parent", "child", "training"])["log_odds_ratio"]
    return grouped.agg(["mean", "size"]).reset_index()


def tuned_models(f: Facts) -> Finding:
    """C64: extra errors, in points, that a model as fast as Spark may make and still take no more time than Codex: the middle of
    the latency-critical profiles; low and high: over them. Below 0 where it is slower and has to make fewer.

    Two parts. A small model can: in one of the profiles some published smaller model stays within the odds ratio that goes with
    it, even with the spread between benchmarks, which shrinks with the root of their number; it is not decided where only its
    mean does. A tuned one does: the same of a pair whose training says so.
    """
    odds, extra, counts, can, tuned = [], [], [], [], []
    for task in LATENCY_CRITICAL:
        e = _timed(f, SPARK, task)
        own = e.at(e.reference.error_rate)
        most = e.at(productivity.break_even_error(e.now.inputs, e.reference.task.time_per_task_s))
        most = 0.0 if np.isnan(most) else most  # slower even without an error: no model is good enough
        family = str(e.scenario.task_family)
        pairs = _pair_means(f, family)
        half = NormalDist().inv_cdf(SURE) * quality.transfer_sd(f.catalog, family) / np.sqrt(pairs["size"])
        extra.append(100.0 * (most - own))
        odds.append(float(quality.odds(most) / quality.odds(own)))
        with np.errstate(divide="ignore"):
            limit = np.log(odds[-1])
        within, surely = (worst <= limit for worst in (pairs["mean"], pairs["mean"] + half))
        counts.append((len(pairs), int(within.sum()), int(surely.sum())))
        can.append(True if surely.any() else None if within.any() else False)
        tuned.append(bool((surely & (pairs["training"] == TUNED)).any()))
    small = True if any(can) else None if None in can else False
    each = _(
        "{task}: {extra} points, {odds} the odds; of {n} published pairs of models {within} stay within it, {surely} beyond doubt."
    )
    lines = [
        each.format(task=_(str(f.catalog.profiles.at[task, "label"])), extra=fmt.number(x), odds=fmt.ratio(o), within=c[1], n=c[0], surely=c[2])
        for task, x, o, c in zip(LATENCY_CRITICAL, extra, odds, counts, strict=True)
    ]  # fmt: skip
    opening = _("Extra errors that the speed of {fast} makes up for.").format(fast=_label(f, SPARK))
    last = _("One of these is tuned to its domain.") if any(tuned) else _("None is marked as tuned to a domain.")
    basis = " ".join([opening, *lines, last])
    place = address(preset=SPARK, task=LATENCY_CRITICAL[0])
    return Finding(
        parts(small, any(tuned)), "model", float(np.median(extra)), "points", basis, place, min(extra), max(extra)
    )


def _change(e: Evaluation, name: str) -> str:
    now, other = (e.at(getattr(side.task, name)) for side in (e.now, e.reference))
    return fmt.signed_share(now / other - 1.0)


def by_task(f: Facts) -> Finding:
    """C79: share of plausible worlds in which the recommended option takes less time per accepted task than its own reference:
    the least of the three uses; low and high: over them.

    Four parts: less time in each use, and less money, tokens and wage together, where both prices are published: decided where
    that is so in at least SURE of the worlds, or in at most 1 - SURE.
    """
    fast, quick = _timed(f, FAST, CRITICAL), [_timed(f, SPARK, task) for task in QUICK]
    uses = [fast, *quick]
    faster = np.nan_to_num([e.at(e.spread.p_faster) for e in uses])  # NaN: the same time in every world
    cheaper = fast.at(fast.spread.p_cheaper)
    avoided = _timed(f, SPARK, CRITICAL)
    basis = _(
        "{fast} for critical work: time {time}, less in {p} of plausible worlds; all-in cost {cost}, less in {cheaper}. {spark}: prototyping {prototyping}, less in {p_prototyping}; simple tasks {simple}, in {p_simple}; critical work {critical}, in {p_critical}."
    ).format(
        fast=_label(f, FAST), spark=_label(f, SPARK), time=_change(fast, "time_per_task_s"), p=fmt.share(faster[0]),
        cost=_change(fast, "cost_per_task_usd"), cheaper=fmt.share(cheaper), prototyping=_change(quick[0], "time_per_task_s"),
        p_prototyping=fmt.share(faster[1]), simple=_change(quick[1], "time_per_task_s"), p_simple=fmt.share(faster[2]),
        critical=_change(avoided, "time_per_task_s"), p_critical=fmt.share(avoided.at(avoided.spread.p_faster)),
    )  # fmt: skip
    decided: list[bool | None] = [_sure(float(p)) for p in faster]
    decided.append(_sure(cheaper) if np.isfinite(cheaper) else False)
    if None in decided:
        basis = " ".join([basis, _("Between 5 and 95 % the evidence does not decide.")])
    least, most = 100.0 * float(faster.min()), 100.0 * float(faster.max())
    place = address(preset=SPARK, task=QUICK[0])
    return Finding(parts(*decided), "model", least, "% of worlds", basis, place, least, most)


def _label(f: Facts, preset: str) -> str:
    return str(f.catalog.presets.at[preset, "label"])
