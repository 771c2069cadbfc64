"""Error rates: how the chance of a wrong first output changes with model size, benchmark and acceptance bar.

All rules work on the odds of an error, odds = e / (1 - e), because ratios of odds keep the error below one. Batch,
hardware and exact speculation never appear here: they do not change what a model answers.

The rules are our own; the slopes and tier steps they use come from quality_fit and quality_tier_steps of the catalog,
which are fitted to the published scores of quality_pairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fastmode.i18n import N_, _

AGENTIC = "agentic"

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


def _fitted_beta(fit, family: str) -> tuple[np.ndarray, str]:
    families = _column(fit, "n_families")
    sized = (_column(fit, "size_measure") == "total") & (_column(fit, "task_family") == family)
    for rule, least in (("distilled", MIN_FAMILIES), ("all", 0)):
        found = np.flatnonzero(sized & (_column(fit, "training") == rule) & (families >= least))
        if found.size:
            return np.array([_column(fit, name)[found[0]] for name in ("beta", "beta_p05", "beta_p95")]), rule
    raise ValueError(_("no measured slope for task family {family}").format(family=family))


def _tier_step_beta(catalog, step: np.ndarray) -> np.ndarray:
    tiers = catalog.quality_tier_steps
    row = np.flatnonzero(_column(tiers, "task_family") == AGENTIC)[0]
    median, low, high = (_column(tiers, f"odds_ratio_{name}")[row] for name in ("median", "q25", "q75"))
    smallest, largest = (float(catalog.assumptions.at["agentic_step", column]) for column in ("low", "high"))
    # A step outside the assumed range widens the band: the value must never leave it.
    narrow, wide = np.minimum(step, smallest), np.maximum(step, largest)
    with np.errstate(all="ignore"):
        return np.stack([np.log(median) / np.log(step), np.log(low) / np.log(wide), np.log(high) / np.log(narrow)])


def _column(frame, name: str) -> np.ndarray:
    # Plain arrays: filtering these few rows as a frame would take longer than the whole evaluation.
    return frame[name].to_numpy()
