"""How far measured times lie from predictions that never saw them: the random effects behind the bands.

ln(measured / predicted) of a row is taken as the sum of two random parts. *drift*: a level of its own for each cell, that is each
software version, publisher and way of running; a deployment that nobody has measured draws a new one. *shape*: what
is left when load and lengths change within a cell; near settings share most of it (`Shape`).

Both parts have heavy tails, so each keeps two scales, from the median and from the 90th percentile of its absolute value. A band
joins them as independent: half width of the p band = z_p sqrt(drift_p^2 + shape_p^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastmode.calibration.fit import CELL_POWER, SUSPECT_WEIGHT
from fastmode.calibration.rows import Rows
from fastmode.serving.bands import LEVELS, Z

BINS = np.array([0.2, 0.5, 0.9, 1.3, 1.8, 2.4, 3.1, 4.0])  # e-folds
FEWEST_PAIRS = 50
SAME_CONTEXT = 0.05  # of the logarithm
RANGES = np.geomspace(0.3, 6.0, 61)
FEWEST_IN_CELL = 3  # rows from which a cell has a level and a shape of its own


@dataclass(frozen=True)
class Spread:
    """Standard deviations of the logarithm, read off at the 50 and the 90 % level."""

    drift: dict[int, float]
    shape: dict[int, float]

    def half_width(self, level: int) -> float:
        """Half width of the band of ln(measured / predicted) for a deployment not yet measured."""
        return float(Z[level] * np.hypot(self.drift[level], self.shape[level]))


def spread(residual: NDArray, rows: Rows, use: NDArray) -> Spread:
    """Spread of the residuals of the rows marked `use`; NaN residuals are skipped.

    The level of a cell is the median of its residuals; cells of n rows count as in the fit, in proportion to sqrt(n), suspect rows a fifth. Deviations are
    from zero, so that a common bias widens the band. Raises ValueError when no row is left.
    """
    use = use & np.isfinite(residual)
    if not use.any():
        raise ValueError("no residual to take a spread of")
    r, suspect = residual[use], rows.suspect[use]
    _names, code = np.unique(rows.cell[use], return_inverse=True)
    count = np.bincount(code)
    level = np.array([np.median(r[code == i]) for i in range(len(count))])
    trust = np.where(suspect, SUSPECT_WEIGHT, 1.0)
    cell_weight = np.bincount(code, trust) / count**CELL_POWER
    inside = r - level[code]
    several = count[code] >= FEWEST_IN_CELL
    row_weight = np.where(several, trust / count[code] ** CELL_POWER, 0.0)
    if not several.any():
        row_weight = trust
    return Spread(
        drift={p: weighted_quantile(np.abs(level), cell_weight, p / 100) / Z[p] for p in LEVELS},
        shape={p: weighted_quantile(np.abs(inside), row_weight, p / 100) / Z[p] for p in LEVELS},
    )


def pooled(spreads: Sequence[Spread]) -> Spread:
    """Root mean square of several spreads, part by part."""
    return Spread(
        *(
            {p: float(np.sqrt(np.mean([getattr(one, part)[p] ** 2 for one in spreads]))) for p in LEVELS}
            for part in ("drift", "shape")
        )
    )


def shape_range(residual: NDArray, rows: Rows, use: NDArray) -> float:
    """Distance in e-folds of batch over which the shape of a cell forgets itself.

    The differences of residuals within a cell, context and chips alike, follow g(d)^2 = nugget^2 + plateau^2 (1 - exp(-(d / range)^2))
    with d = change of ln batch: the usual Gaussian variogram. Each bin of d counts alike; the range is taken from a
    grid, nugget and plateau by least squares. Context changes the residual less than batch does, so the same range
    serves it on the safe side. Raises ValueError when cells are too small to tell.
    """
    use = use & np.isfinite(residual) & ~rows.suspect
    config = rows.prepared.config
    batch, context = np.log(config.batch), np.log(np.maximum(config.context_tokens, 1.0))
    distance, difference = [], []
    for name in np.unique(rows.cell[use]):
        here = np.flatnonzero(use & (rows.cell == name))
        i, j = np.triu_indices(len(here), 1)
        i, j = here[i], here[j]
        alike = (np.abs(context[i] - context[j]) < SAME_CONTEXT) & (config.n_chips[i] == config.n_chips[j])
        i, j = i[alike], j[alike]
        distance.append(np.abs(batch[i] - batch[j]))
        difference.append(residual[i] - residual[j])
    d, squared = np.concatenate(distance), np.concatenate(difference) ** 2
    bin_of = np.digitize(d, BINS)
    filled = [b for b in range(len(BINS) + 1) if (bin_of == b).sum() >= FEWEST_PAIRS]
    if len(filled) < 4:
        raise ValueError("too few pairs of rows in a cell to tell how its shape changes")
    middle = np.array([np.median(d[bin_of == b]) for b in filled])
    height = np.array([np.median(squared[bin_of == b]) for b in filled])
    best = (np.inf, np.nan)
    for reach in RANGES:
        columns = np.column_stack([np.ones(len(middle)), 1.0 - np.exp(-((middle / reach) ** 2))])
        fitted, *_rest = np.linalg.lstsq(columns, height, rcond=None)
        best = min(best, (float(np.sum((columns @ fitted - height) ** 2)), reach))
    return float(best[1])


def weighted_quantile(values: NDArray, weights: NDArray, share: float) -> float:
    """Smallest value below or at which at least `share` of the weight lies, interpolated between values."""
    order = np.argsort(values, kind="stable")
    v, w = values[order], weights[order]
    middle = (np.cumsum(w) - 0.5 * w) / w.sum()
    return float(np.interp(share, middle, v))
