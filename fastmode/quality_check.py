"""Predicted against published: errors of smaller models, the architecture of students, and steps that fail together.

What the Evidence page shows of quality.py and of serving.architecture.student. Errors are fractions, residuals logits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode import quality
from fastmode.catalog import Catalog
from fastmode.i18n import N_
from fastmode.serving import ServingConfig, precision_code, serve
from fastmode.serving.architecture import Architecture, cached_values, gather, student
from fastmode.serving.tables import BILLION, tables

# In the order they are shown.
TASK_FAMILIES = {
    "coding": N_("coding"),
    "agentic": N_("agentic work"),
    "math": N_("math"),
    "knowledge": N_("knowledge"),
    "tool_use": N_("tool use"),
}
ALL = "all"
FAMILIES = {ALL: N_("all")} | TASK_FAMILIES  # what may be looked at
FITS = {"in": N_("in the fit"), "out": N_("left out of the fit")}  # whether a pair's own model family is
LEVELS = (50, 90)
# As in the fit: below it a pair says nothing about size.
_LEAST_SIZE_RATIO = 1.05
_Z = {level: NormalDist().inv_cdf(0.5 + level / 200.0) for level in LEVELS}

# Teacher and real sibling, ids of models.csv: all families with two sizes of one kind of architecture.
STUDENTS = (
    ("llama-3.1-405b", "llama-3.1-70b"),
    ("llama-3.1-405b", "llama-3.1-8b"),
    ("llama-3.1-70b", "llama-3.1-8b"),
    ("qwen3-32b", "qwen3-8b"),
    ("qwen3-235b-a22b", "qwen3-30b-a3b"),
    ("mixtral-8x22b", "mixtral-8x7b"),
    ("deepseek-v4-pro", "deepseek-v4-flash"),
    ("gpt-oss-120b", "gpt-oss-20b"),
    ("llama-4-maverick", "llama-4-scout"),
)
STUDENT_TOLERANCE = 0.3
# Where both are served; every one of the models fits.
STEP_HARDWARE, STEP_CHIPS, STEP_PRECISION = "h100_sxm", 8, "fp8"
STEP_BATCHES, STEP_CONTEXTS = (1, 8, 64), (1024, 8192, 32768)

_TRIES = "tau_bench_pass1_gpt4o_retail"  # row of human_time.csv; its note holds the rates of more tries


class _Curve(NamedTuple):
    """What predicts the log odds ratio of one pair, logits: slope x ln(size ratio), its ends, the spread of one model."""

    slope: float
    low: float
    high: float
    below: float
    above: float
    rule: str


@lru_cache(maxsize=8)
def predicted_pairs(catalog: Catalog, leave_out: bool = False) -> pd.DataFrame:
    """One row a published parent-child score that the rules of quality.py predict; shared, not to be changed.

    Sized pairs of all task families by size; agentic pairs of unpublished size as one vendor tier step. Columns: family,
    task_family, parent, child, training, benchmark, size_ratio (total parameters, NaN where unpublished), rule (key of
    quality.WHICH_TEXT), parent_error, published_error, predicted_error, low_50, high_50, low_90, high_90, residual_logit
    (published - predicted), inside_50, inside_90, url.

    The band joins the spread of one model (quality.size_residual) and the range of the slope, each side in quadrature; a
    tier step has no slope. leave_out: each row is predicted without its own model family: slope and residual (or
    quartiles of the step) are refitted without it, the slope keeps the width of its range.
    """
    rows = quality.usable_pairs(catalog)
    ratio = rows["parent_total_params_b"] / rows["child_total_params_b"]
    sized = ratio > _LEAST_SIZE_RATIO
    rows = rows.assign(size_ratio=ratio)[sized | ((rows["task_family"] == quality.AGENTIC) & ratio.isna())]
    groups = rows["family"] if leave_out else pd.Series("", rows.index)
    keys = list(zip(rows["task_family"], groups, strict=True))
    curves = {key: _curve(catalog, *key) for key in dict.fromkeys(keys)}
    curve = _Curve(*(np.array(column) for column in zip(*(curves[key] for key in keys), strict=True)))
    tier = rows["size_ratio"].isna().to_numpy()
    x = np.log(np.where(tier, _tier_size(catalog), rows["size_ratio"]))
    middle = curve.slope * x
    parent = 1.0 - rows["parent_score"].to_numpy() / 100.0
    found = {
        **{name: rows[name].to_numpy() for name in ("family", "task_family", "parent", "child", "training", "benchmark", "size_ratio")},
        "rule": curve.rule,
        "parent_error": parent,
        "published_error": 1.0 - rows["child_score"].to_numpy() / 100.0,
        "predicted_error": quality.error_from_odds_ratio(parent, np.exp(middle)),
    }  # fmt: skip
    residual = rows["log_odds_ratio"].to_numpy() - middle
    insides = {}
    range_x = np.where(tier, 0.0, x) / _Z[90]
    for level in LEVELS:
        down = _Z[level] * np.hypot(curve.below, range_x * (curve.slope - curve.low))
        up = _Z[level] * np.hypot(curve.above, range_x * (curve.high - curve.slope))
        found[f"low_{level}"] = quality.error_from_odds_ratio(parent, np.exp(middle - down))
        found[f"high_{level}"] = quality.error_from_odds_ratio(parent, np.exp(middle + up))
        insides[f"inside_{level}"] = (residual >= -down) & (residual <= up)
    return pd.DataFrame(found | {"residual_logit": residual} | insides | {"url": rows["source_url"].to_numpy()})


def not_predicted(catalog: Catalog) -> int:
    """Usable published scores without a prediction: sizes unpublished, and no tier step is used for their task family."""
    return len(quality.usable_pairs(catalog)) - len(predicted_pairs(catalog))


def _tier_size(catalog: Catalog) -> float:
    return float(catalog.assumptions.at["agentic_step", "default"])


def _curve(catalog: Catalog, task_family: str, without: str) -> _Curve:
    """The rule for a task family; with a model family's name, refitted without its rows."""
    below, above = quality.size_residual(catalog, task_family)
    if task_family == quality.AGENTIC:
        ends = catalog.assumptions.loc["agentic_step", ["low", "high"]].to_numpy(float)
        sizes = np.array([_tier_size(catalog), ends[1], ends[0]])
        slopes, rule = quality.beta(task_family, catalog, sizes).value, "tier_step"
        if without:
            low, middle, high = _tier_quartiles(catalog, without)
            below, above = (np.array([middle - low, high - middle]) / NormalDist().inv_cdf(0.75)).tolist()
            slopes = middle / np.log(sizes)
        return _Curve(*slopes.tolist(), below, above, rule)
    slope, low, high, rule = quality.beta(task_family, catalog, 1.0)
    if without:
        refitted, below = _refitted(catalog, task_family, str(rule), without)
        low, high, slope, above = low + refitted - slope, high + refitted - slope, refitted, below
    return _Curve(float(slope), float(low), float(high), below, above, str(rule))


def _refitted(catalog: Catalog, task_family: str, training: str, without: str) -> tuple[float, float]:
    """(slope, residual standard deviation): least squares through the origin on the rows of other model families."""
    rows = quality.usable_pairs(catalog)
    ratio = rows["parent_total_params_b"] / rows["child_total_params_b"]
    used = (rows["task_family"] == task_family) & (ratio > _LEAST_SIZE_RATIO) & (rows["family"] != without)
    if training != ALL:
        used &= rows["training"] == training
    x, y = np.log(ratio[used].to_numpy()), rows.loc[used, "log_odds_ratio"].to_numpy()
    slope = float((x * y).sum() / (x * x).sum())
    return slope, float(np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 1)))


def _tier_quartiles(catalog: Catalog, without: str) -> NDArray:
    """Quartiles of the log odds ratio of one tier step, as quality_tier_steps has them, without one model family."""
    rows = quality.usable_pairs(catalog)
    unsized = rows[["parent_active_params_b", "child_active_params_b"]].isna().all(axis=1)
    used = (rows["task_family"] == quality.AGENTIC) & unsized & (rows["family"] != without)
    return np.percentile(rows.loc[used, "log_odds_ratio"], [25, 50, 75], method="weibull")


@lru_cache(maxsize=8)
def summary(catalog: Catalog) -> pd.DataFrame:
    """One row a task family, then one of all: how far predictions lie from published errors; shared, not to be changed.

    Columns: task_family (or ALL), rule, rows, families, median_error (of |predicted - published|, a fraction), bias
    (median of predicted - published), inside_50, inside_90 (shares), and left_median_error, left_bias, left_inside_50,
    left_inside_90, where each model family was left out of the fit.
    """
    pairs, left = predicted_pairs(catalog), predicted_pairs(catalog, leave_out=True)
    found = []
    for task_family in (*TASK_FAMILIES, ALL):
        here = (pairs["task_family"] == task_family) | (task_family == ALL)
        row = {
            "task_family": task_family,
            "rule": ALL if task_family == ALL else pairs.loc[here, "rule"].iloc[0],
            "rows": int(here.sum()),
            "families": pairs.loc[here, "family"].nunique(),
        }
        for prefix, table in (("", pairs[here]), ("left_", left[here])):
            off = table["predicted_error"] - table["published_error"]
            row[f"{prefix}median_error"], row[f"{prefix}bias"] = off.abs().median(), off.median()
            row |= {f"{prefix}inside_{level}": table[f"inside_{level}"].mean() for level in LEVELS}
        found.append(row)
    return pd.DataFrame(found)


# --- architecture of students -----------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def student_table(catalog: Catalog) -> pd.DataFrame:
    """The rule for smaller architectures beside real siblings, one row a pair of STUDENTS; shared, not to be changed.

    Columns: teacher, child (labels), size_ratio (total parameters), active_rule_b, active_real_b (parameters a token
    reads, billions), and rule over real: active, kv (cache bytes of a sequence), step_low, step_high (lowest and highest
    of the step times over STEP_BATCHES x STEP_CONTEXTS on STEP_CHIPS x STEP_HARDWARE at STEP_PRECISION), within (all of
    them at most STUDENT_TOLERANCE off).
    """
    models = catalog.models
    codes = {str(name): i for i, name in enumerate(models.index)}
    pairs = np.array([[codes[name] for name in pair] for pair in STUDENTS])
    total = models["total_params_b"].to_numpy(float)
    ratio = total[pairs[:, 0]] / total[pairs[:, 1]]
    every = tables(catalog)
    rule, real = student(gather(every, pairs[:, 0]), ratio), gather(every, pairs[:, 1])
    held = [cached_values(arch, np.full(len(pairs), float(STEP_CONTEXTS[-1]))) for arch in (rule, real)]
    step = _step_ratios(catalog, pairs, ratio)
    active_rule, active_real = _active_params(rule), _active_params(real)
    ratios = np.column_stack([active_rule / active_real, held[0] / held[1], step.min(axis=1), step.max(axis=1)])
    labels = models["label"].to_numpy(str)
    return pd.DataFrame(
        {
            "teacher": labels[pairs[:, 0]],
            "child": labels[pairs[:, 1]],
            "size_ratio": ratio,
            "active_rule_b": active_rule / BILLION,
            "active_real_b": active_real / BILLION,
            **dict(zip(("active", "kv", "step_low", "step_high"), ratios.T, strict=True)),
            "within": (np.abs(ratios - 1.0) <= STUDENT_TOLERANCE).all(axis=1),
        }
    )


def _active_params(arch: Architecture) -> NDArray:
    routed = arch.expert_params * arch.experts_per_token / arch.experts
    return arch.attention_params + arch.ffn_params + arch.head_params + routed


def _step_ratios(catalog: Catalog, pairs: NDArray, ratio: NDArray) -> NDArray:
    """Step time of the teacher's student over that of the real model, shape (pairs, cases)."""
    batch, context = (grid.ravel() for grid in np.meshgrid(STEP_BATCHES, STEP_CONTEXTS, indexing="ij"))
    cases = len(batch)
    config = ServingConfig(
        model=np.repeat(pairs.T, cases, axis=1).ravel(),
        size_ratio=np.concatenate([np.repeat(ratio, cases), np.ones(cases * len(pairs))]),
        hardware=catalog.hardware.index.get_loc(STEP_HARDWARE),
        n_chips=STEP_CHIPS,
        weight_precision=precision_code(STEP_PRECISION),
        batch=np.tile(batch, 2 * len(pairs)),
        context_tokens=np.tile(context, 2 * len(pairs)),
    )
    of_rule, of_real = serve(config, catalog).step_s.reshape(2, len(pairs), cases)
    return of_rule / of_real


# --- from one call to a whole task ------------------------------------------------------------------------------------


class Tries(NamedTuple):
    """Published rates that several tries of one task all succeed, beside two ways of reading them; arrays over `tries`."""

    tries: NDArray
    published: NDArray
    independent: NDArray  # the first rate to the power of the tries
    correlated: NDArray  # beta distribution through the first two rates
    retry_ratio: float  # success of a retry after one failure over that of a first try
    concentration: float  # a + b of that distribution
    population: str
    url: str


class Steps(NamedTuple):
    """Error per call behind the error of a task, and what twice as many calls would make of it."""

    independent: float
    correlated: float
    twice_independent: float
    twice_correlated: float


def tries(catalog: Catalog) -> Tries:
    """tau-bench retail, GPT-4o: the rate of one try, and those of more tries from the note of the same row."""
    row = catalog.human_time.set_index("quantity").loc[_TRIES]
    rates = {1: float(row["value"])} | {int(k): float(v) for k, v in re.findall(r"pass\^(\d) (0\.\d+)", row["note"])}
    k, published = np.array(list(rates)), np.array(list(rates.values()))
    a, b = quality.beta_success(rates[1], rates[2])
    return Tries(
        tries=k,
        published=published,
        independent=1.0 - quality.task_error_over_steps(1.0 - rates[1], k),
        correlated=quality.pass_k(a, b, k),
        retry_ratio=float(quality.retry_success_ratio(a, b)),
        concentration=float(a + b),
        population=str(row["population"]),
        url=str(row["source_url"]),
    )


def steps(error: float, calls: float, catalog: Catalog) -> Steps:
    """Error per call of a task that fails with `error` over `calls` calls: independent, or alike as tau-bench's tries are.

    Second case: every task has its own error per call, beta distributed over tasks with the concentration of `tries`. No
    source measures it for the calls of one task: repeated tries of a task stand in for them.
    """
    concentration = tries(catalog).concentration
    single = quality.step_error_for(error, calls)
    alike = quality.correlated_step_error_for(error, calls, concentration)
    both = quality.pass_k((1.0 - alike) * concentration, alike * concentration, 2 * int(calls))
    return Steps(
        float(single), float(alike), float(quality.task_error_over_steps(single, 2 * calls)), float(1.0 - both)
    )
