"""Error rates: how the chance of a wrong first output changes with model, task length, number format and the bar it must pass.

Rules for smaller models work on the odds of an error, odds = e / (1 - e), because ratios of odds keep the error below
one. Batch, hardware and exact speculation never appear here: they do not change what a model answers.

The rules are our own; the slopes and tier steps they use come from quality_fit and quality_tier_steps of the catalog,
which are fitted to the published scores of quality_pairs.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fastmode.i18n import N_, _

AGENTIC = "agentic"
PAIR = ("family", "parent", "child")  # columns of quality_pairs that say which two models a row compares

# A slope over distilled pairs is used only if it rests on this many model families; fewer have no useful interval.
MIN_FAMILIES = 3

WHICH_TEXT = {
    "distilled": N_("slope over distilled models, total parameters"),
    "all": N_("slope over all smaller models, total parameters"),
    "tier_step": N_("one vendor tier step over an assumed size ratio"),
}


class Beta(NamedTuple):
    """Slope of the log odds of an error against the log of the size ratio, with its 5-95 % range."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    which: np.ndarray | str  # key of WHICH_TEXT


class Residual(NamedTuple):
    """Standard deviations, in logits, of one smaller model's error odds below and above odds(r) = r^beta."""

    below: float
    above: float


class Transfer(NamedTuple):
    """How far one pair's log odds ratio moves between benchmarks of one family, logits, and what that rests on."""

    sd: float
    pairs: int
    rows: int


def odds(error: ArrayLike) -> np.ndarray:
    """e / (1 - e); inf at e = 1, NaN where unknown."""
    error = np.asarray(error, dtype=float)
    with np.errstate(divide="ignore"):
        return error / (1.0 - error)


def error_from_odds_ratio(error: ArrayLike, ratio: ArrayLike) -> np.ndarray:
    """Error rate after its odds are multiplied by ratio. Broadcasts; at ratio 1 it is `error`, bit for bit."""
    error, ratio = np.asarray(error, dtype=float), np.asarray(ratio, dtype=float)
    with np.errstate(all="ignore"):
        # Both terms of the denominator are positive, so nothing cancels, and e = 1 stays exactly 1.
        return np.where(ratio == 1.0, error, error * ratio / ((1.0 - error) + error * ratio))


def benchmark_odds_ratio(endpoint_a, endpoint_b, benchmark: str) -> np.ndarray:
    """Odds of an error of a over those of b on one benchmark, ((100 - s_a) / s_a) / ((100 - s_b) / s_b).

    endpoint_a, endpoint_b: a row (or rows) of the endpoints table, or any mapping from benchmark to percent score.
    NaN where either score is unknown, or is 0 or 100, which has no finite odds. Use only within a compare group: scores
    of different vendors come from different harnesses.
    """
    with np.errstate(all="ignore"):
        ratio = _score_odds(endpoint_a[benchmark]) / _score_odds(endpoint_b[benchmark])
    return ratio


def _score_odds(score: ArrayLike) -> np.ndarray:
    score = np.asarray(score, dtype=float)
    return np.where((score > 0) & (score < 100), (100.0 - score) / score, np.nan)


def acceptance_error(error: ArrayLike, gap: ArrayLike) -> np.ndarray:
    """Error rate against maintainers who accept `gap` (a fraction) less than the benchmark's grader.

    1 - max(0, (1 - e) - gap), written as min(1, e + gap) so that gap = 0 returns the error exactly.
    """
    return np.minimum(1.0, np.asarray(error, dtype=float) + np.asarray(gap, dtype=float))


def error_on_longer_tasks(error: ArrayLike, length: ArrayLike, exponent: ArrayLike) -> np.ndarray:
    """Error rate on tasks `length` times as long (above 0): 1 - (1 - e)^(length^exponent). Shapes broadcast.

    The Weibull survival law P(success, t) = 2^(-(t/T50)^k) at two lengths. exponent k: 1 is a constant hazard (Ord 2025),
    about 0.6 in a later analysis, `length_exponent_from_horizons` for one model. At length 1 or exponent 0 the error is
    returned bit for bit.
    """
    error = np.asarray(error, dtype=float)
    power = np.asarray(length, dtype=float) ** np.asarray(exponent, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(power == 1.0, error, -np.expm1(power * np.log1p(-error)))


def length_exponent_from_horizons(t50: ArrayLike, t80: ArrayLike) -> np.ndarray:
    """Exponent k of `error_on_longer_tasks` that two horizons imply: (t80/t50)^k = -log2(0.8).

    t50, t80: task lengths done with 50 % and 80 % success, in the same unit. 718.8 and 69.9 min give 0.49.
    """
    with np.errstate(all="ignore"):
        return np.log(-np.log2(0.8)) / np.log(np.asarray(t80, dtype=float) / np.asarray(t50, dtype=float))


def quantised_error(error: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Error rate when a number format of the weights loses the share `loss` of the successes: 1 - (1 - e)(1 - loss).

    Written as e + loss (1 - e), so that loss 0 returns the error exactly. Shapes broadcast.
    """
    error = np.asarray(error, dtype=float)
    return error + np.asarray(loss, dtype=float) * (1.0 - error)


def quantisation_loss(catalog) -> dict[str, tuple[float, float, float]]:
    """Share of the successes lost by precision label: (value, low, high). Measured from bf16; see data/quantisation.csv."""
    table = catalog.quantisation
    rows = table[["loss", "low", "high"]].itertuples(index=False, name=None)
    return {str(name): row for name, row in zip(table.index, rows, strict=True)}


def task_error_over_steps(step_error: ArrayLike, n: ArrayLike) -> np.ndarray:
    """P(a task of n steps fails) when each step fails with `step_error`, independently: 1 - (1 - e)^n."""
    return error_on_longer_tasks(step_error, n, 1.0)


def step_error_for(task_error: ArrayLike, n: ArrayLike) -> np.ndarray:
    """Error per step at which n independent steps fail with `task_error`: 1 - (1 - E)^(1/n)."""
    return error_on_longer_tasks(task_error, 1.0 / np.asarray(n, dtype=float), 1.0)


def beta_success(pass_1: ArrayLike, pass_2: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(a, b) of a beta distribution of P(success) over tasks, from pass^1 and pass^2 (all of 1, all of 2 tries succeed).

    a + b = (m1 - m2) / (m2 - m1^2), a = m1 (a + b): the first two moments. NaN unless m1^2 < m2 < m1, which is between
    independent tries of equal tasks and tries that all end alike.
    """
    m1, m2 = np.broadcast_arrays(np.asarray(pass_1, dtype=float), np.asarray(pass_2, dtype=float))
    with np.errstate(all="ignore"):
        total = np.where((m2 > m1**2) & (m2 < m1), (m1 - m2) / (m2 - m1**2), np.nan)
    return m1 * total, (1.0 - m1) * total


def pass_k(a: ArrayLike, b: ArrayLike, k: ArrayLike) -> np.ndarray:
    """P(k tries of one task all succeed) when its P(success) is beta(a, b): product of (a + i) / (a + b + i), i < k.

    k: whole numbers from 0. Shapes broadcast; memory grows with the largest k.
    """
    a, b, k = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float), np.asarray(k))
    i = np.arange(int(k.max(initial=0)))
    a, b, k = a[..., None], b[..., None], k[..., None]
    return np.where(i < k, (a + i) / (a + b + i), 1.0).prod(axis=-1)


def retry_success_ratio(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """P(success | one failure) over P(success) when P(success) is beta(a, b): (a + b) / (a + b + 1)."""
    total = np.asarray(a, dtype=float) + np.asarray(b, dtype=float)
    return total / (total + 1.0)


def correlated_step_error_for(task_error: ArrayLike, n: ArrayLike, concentration: ArrayLike) -> np.ndarray:
    """Mean error per step at which n steps fail with `task_error` when P(success) of a step is a task's own.

    The e with pass_k((1 - e) c, e c, n) = 1 - E for the concentration c = a + b of `beta_success`, by bisection; it lies
    above `step_error_for`, which is the limit of a large c. Shapes broadcast; n whole numbers from 1.
    """
    task_error, n, c = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (task_error, n, concentration)))
    low, high = np.zeros(task_error.shape), np.ones(task_error.shape)
    for _halving in range(60):  # to the last bit of an error between 0 and 1
        middle = 0.5 * (low + high)
        fails_less = 1.0 - pass_k((1.0 - middle) * c, middle * c, n) < task_error
        low, high = np.where(fails_less, middle, low), np.where(fails_less, high, middle)
    return np.where(np.isnan(task_error + n + c), np.nan, 0.5 * (low + high))


def beta(task_family: ArrayLike, catalog, agentic_step: ArrayLike) -> Beta:
    """Slope of the error odds against total size, with its 5-95 % range and the rule used.

    task_family: coding, agentic, math, knowledge or tool_use (str or array of them).
    agentic_step: size ratio assumed for one vendor tier step (above 1); only agentic uses it.
    catalog: needs quality_fit, quality_tier_steps and assumptions (row agentic_step: low, high).

    Sized pairs: "distilled" pairs where MIN_FAMILIES families have them, else "all". Agentic work has too few sized
    pairs: the median odds ratio of one tier step is spread over ln(agentic_step), so the error is continuous at size
    ratio 1. Its range takes the quartiles of the step with the extreme assumed sizes. Shapes broadcast.
    Raises ValueError for an unknown family.
    """
    family, step = np.broadcast_arrays(np.asarray(task_family, dtype=object), np.asarray(agentic_step, dtype=float))
    numbers = np.full((3, *family.shape), np.nan)
    which = np.full(family.shape, "", dtype=object)
    for name in set(family.ravel().tolist()):  # at most five families, however many elements
        here = family == name
        if name == AGENTIC:
            numbers[:, here], which[here] = _tier_step_beta(catalog, step[here]), "tier_step"
        else:
            slope, rule = _fitted_beta(catalog.quality_fit, name)
            numbers[:, here], which[here] = np.reshape(slope, (3, 1)), rule
    value, low, high = numbers
    return Beta(value, low, high, which.item() if which.ndim == 0 else which)


def size_residual(catalog, task_family: str) -> Residual:
    """Spread of one smaller model around odds(r) = r^beta, logits; the same at every size ratio.

    Residual standard deviation of the row of quality_fit that `beta` uses, on both sides; for agentic work the quartiles
    of one tier step around its median, each over the quartile of a normal distribution: a split normal.
    Raises ValueError for an unknown family.
    """
    if task_family == AGENTIC:
        median, low, high = np.log(_tier_step(catalog)) / NormalDist().inv_cdf(0.75)
        return Residual(float(median - low), float(high - median))
    row, _rule = _fitted_row(catalog.quality_fit, task_family)
    sd = float(_column(catalog.quality_fit, "residual_sd_logit")[row])
    return Residual(sd, sd)


def transfer_sd(catalog, task_family: str) -> float:
    """Standard deviation, logits, of one pair's log odds ratio on a benchmark around the pair's mean over its task family.

    See `transfer` for the rows.
    """
    return transfer(catalog, task_family).sd


def carry_sd(catalog, task_family: str) -> float:
    """Standard deviation, logits, of one pair's log odds ratio on this task around that on one other benchmark.

    Both lie around the pair's mean by `transfer_sd`, independently of each other: their difference by sqrt(2) times that.
    """
    return float(np.sqrt(2.0)) * transfer(catalog, task_family).sd


@lru_cache(maxsize=64)
def transfer(catalog, task_family: str) -> Transfer:
    """`transfer_sd` with the pairs and rows it rests on. Cached per catalogue.

    sqrt(sum of squared deviations from each pair's own mean / (rows - pairs)) over the pairs of quality_pairs with at
    least two benchmarks: usable rows (use_in_fit) in percent, strictly between 0 and 100, sized or not. In the data of
    2026: coding 0.29 (15 pairs, 39 rows), agentic 0.41 (6, 26), math 0.25 (24, 48), knowledge 0.30 (21, 52), tool use
    0.35 (7, 22). It holds the benchmarks' sampling noise too (some have fewer than 100 tasks), so it is on the wide side.
    Raises ValueError where no pair has two benchmarks.
    """
    rows = usable_pairs(catalog)
    rows = rows[rows["task_family"] == task_family]
    ratios = rows["log_odds_ratio"].groupby([rows[name] for name in PAIR])
    several = ratios.transform("size") >= 2
    free = int(several.sum()) - int((ratios.size() >= 2).sum())
    if free == 0:
        raise ValueError(_("no measured pairs for task family {family}").format(family=task_family))
    squares = (rows["log_odds_ratio"] - ratios.transform("mean"))[several] ** 2
    return Transfer(float(np.sqrt(squares.sum() / free)), int(several.sum()) - free, int(several.sum()))


@lru_cache(maxsize=8)
def usable_pairs(catalog):
    """Rows of quality_pairs a fit may use, in percent and with finite odds, and their log odds ratio, logits.

    `log_odds_ratio` is ln odds(child error) - ln odds(parent error). Cached per catalogue: shared, not to be changed.
    """
    pairs = catalog.quality_pairs
    parent, child = (np.log(_score_odds(pairs[f"{side}_score"])) for side in ("parent", "child"))
    good = (pairs["use_in_fit"] == 1) & (pairs["unit"] == "percent") & np.isfinite(child - parent)
    return pairs.assign(log_odds_ratio=child - parent)[good]


def _fitted_row(fit, family: str) -> tuple[int, str]:
    families = _column(fit, "n_families")
    sized = (_column(fit, "size_measure") == "total") & (_column(fit, "task_family") == family)
    for rule, least in (("distilled", MIN_FAMILIES), ("all", 0)):
        found = np.flatnonzero(sized & (_column(fit, "training") == rule) & (families >= least))
        if found.size:
            return int(found[0]), rule
    raise ValueError(_("no measured slope for task family {family}").format(family=family))


def _fitted_beta(fit, family: str) -> tuple[np.ndarray, str]:
    row, rule = _fitted_row(fit, family)
    return np.array([_column(fit, name)[row] for name in ("beta", "beta_p05", "beta_p95")]), rule


def _tier_step(catalog) -> np.ndarray:
    """Odds ratio of one vendor tier step in agentic work: median and quartiles."""
    tiers = catalog.quality_tier_steps
    row = np.flatnonzero(_column(tiers, "task_family") == AGENTIC)[0]
    return np.array([_column(tiers, f"odds_ratio_{name}")[row] for name in ("median", "q25", "q75")])


def _tier_step_beta(catalog, step: np.ndarray) -> np.ndarray:
    median, low, high = _tier_step(catalog)
    smallest, largest = (float(catalog.assumptions.at["agentic_step", column]) for column in ("low", "high"))
    # A step outside the assumed range widens the band: the value must never leave it.
    narrow, wide = np.minimum(step, smallest), np.maximum(step, largest)
    with np.errstate(all="ignore"):
        return np.stack([np.log(median) / np.log(step), np.log(low) / np.log(wide), np.log(high) / np.log(narrow)])


def _column(frame, name: str) -> np.ndarray:
    # Plain arrays: filtering these few rows as a frame would take longer than the whole evaluation.
    return frame[name].to_numpy()
