"""How many tasks it takes to tell two error rates apart: whether a faster tier errs as the full model does."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL, POWERS = 0.05, (0.8, 0.9)  # two-sided; the usual pair of chances to see a difference that is there


def tasks_per_arm(error: ArrayLike, other: ArrayLike, power: ArrayLike = POWERS[0], level: float = LEVEL, correlation: ArrayLike = 0.0) -> NDArray:
    """Tasks on each of two tiers until their error rates (probabilities) are told apart, as whole numbers; inf where they are equal.

    Normal approximation with each rate's own variance v = e (1 - e): n = (z_{1 - level/2} + z_power)^2 (v1 + v2 - 2 rho sqrt(v1 v2)) /
    (e1 - e2)^2. `correlation` rho: of failures where both tiers get the same tasks, which then are n pairs; 0 = tasks of their own.
    Broadcasts. NaN for a rate or a power that is no probability, or a correlation beyond -1 to 1. Source: the two-proportion test.
    """
    e1, e2, rho = (np.asarray(v, float) for v in (error, other, correlation))
    powers = np.asarray(power, float)
    z = np.vectorize(lambda p: NormalDist().inv_cdf(p) if 0.0 < p < 1.0 else np.nan, otypes=[float])
    with np.errstate(invalid="ignore", divide="ignore"):
        v1, v2 = e1 * (1.0 - e1), e2 * (1.0 - e2)
        spread = v1 + v2 - 2.0 * rho * np.sqrt(v1 * v2)
        found = np.ceil((z(1.0 - level / 2.0) + z(powers)) ** 2 * spread / (e1 - e2) ** 2 - 1e-9)
        found = np.where(e1 == e2, np.inf, np.maximum(found, 1.0))
    sound = (e1 >= 0) & (e1 <= 1) & (e2 >= 0) & (e2 <= 1) & (np.abs(rho) <= 1) & np.isfinite(z(powers))
    return np.where(sound, found, np.nan)
