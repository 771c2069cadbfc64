"""Robust fit of the few constants of data/calibration_priors.csv to measured times.

Maximum a posteriori on log residuals ln(measured / predicted). The likelihood is Cauchy's: a row far from the rest (a wrong label,
a capped batch) pulls with a weight that falls with the square of its distance. The rows of a cell share one software version and one
publisher, so a cell of n rows weighs in proportion to sqrt(n), and all cells together FACTS_PER_CELL times their number; rows listed as
suspect weigh a fifth. Priors are what is known of such machines apart from these rows, so a
constant that the rows at hand do not determine stays where physics puts it. Constants of an engine family are shrunk
to the common value, which is the one an unseen engine gets.

Time per output token is fitted first; TTFT then with those constants held, since it contains the same step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastmode.calibration.rows import Rows, predicted
from fastmode.serving.tables import tables_with

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

QUANTITIES = ("tpot", "ttft")
SUSPECT_WEIGHT = 0.2
CELL_POWER = 0.5  # a cell of n rows weighs n^(1 - 0.5)
# Log residual at which a row's pull has fallen to half, and the variance a row is given: the usual size of a residual.
SCALE = {"tpot": 0.15, "ttft": 0.3}
# What a cell says on average, in independent rows: its level, and how time moves with batch, with length and with chips.
FACTS_PER_CELL = 4.0
STEP = 0.02  # of the logarithm, for the slopes
LARGEST_MOVE = 0.3
CONVERGED = 1e-4
ITERATIONS = 40


@dataclass(frozen=True, eq=False)
class Parameters:
    """The constants of one quantity as the vector a fit moves: logarithms, in the order of the priors' rows."""

    names: tuple[str, ...]
    toward: NDArray  # index of the constant this one is a factor of, -1 = none
    centre: NDArray
    log_sd: NDArray
    most: NDArray  # highest logarithm of the constant itself

    @classmethod
    def of(cls, quantity: str, catalog: Catalog) -> Parameters:
        table = catalog.calibration_priors
        table = table[table["quantity"] == quantity]
        names = tuple(table["name"])
        return cls(
            names=names,
            toward=np.array([names.index(name) if name else -1 for name in table["toward"]]),
            centre=np.log(table["prior"].to_numpy(np.float64)),
            log_sd=table["log_sd"].to_numpy(np.float64),
            most=np.log(table["at_most"].fillna(np.inf).to_numpy(np.float64)),
        )

    def constants(self, x: NDArray) -> dict[str, float]:
        """Values by name."""
        logs = x + np.where(self.toward >= 0, x[self.toward], 0.0)
        return dict(zip(self.names, np.exp(np.minimum(logs, self.most)).tolist(), strict=True))


def row_weights(rows: Rows, use: NDArray) -> NDArray:
    """Weight of each row in a fit to the rows marked `use`; 0 for the others."""
    _names, code = np.unique(rows.cell, return_inverse=True)
    count = np.bincount(code[use], minlength=code.max() + 1)[code]
    weight = np.where(use, 1.0 / np.maximum(count, 1) ** CELL_POWER, 0.0) * np.where(rows.suspect, SUSPECT_WEIGHT, 1.0)
    total = weight.sum()
    return weight * (FACTS_PER_CELL * len(np.unique(code[use])) / total) if total > 0 else weight


def fit(rows: Rows, use: NDArray, catalog: Catalog) -> dict[str, float]:
    """Constants fitted to the rows marked in the boolean array `use`, by name."""
    constants: dict[str, float] = {}
    for quantity in QUANTITIES:
        parameters = Parameters.of(quantity, catalog)
        constants |= parameters.constants(parameters.centre)
    for quantity in ("tpot", "ttft", "tpot"):
        constants |= _fit_one(quantity, rows, use, catalog, constants)
    return constants


def _fit_one(
    quantity: str, rows: Rows, use: NDArray, catalog: Catalog, held: Mapping[str, float]
) -> dict[str, float]:
    """Gauss-Newton with the weights of Cauchy's likelihood, from the priors' centre; steps are halved while the fit worsens."""
    parameters = Parameters.of(quantity, catalog)
    target = rows.measured(quantity)
    use = use & np.isfinite(target) & (target > 0)
    weight = row_weights(rows, use)
    which = QUANTITIES.index(quantity)
    scale = SCALE[quantity]

    def residual(x: NDArray) -> NDArray:
        tables = tables_with(catalog, {**held, **parameters.constants(x)})
        out = np.log(target / predicted(rows, tables)[which])
        return np.where(use & np.isfinite(out), out, 0.0)

    def loss(x: NDArray, r: NDArray) -> float:
        off = (x - parameters.centre) / parameters.log_sd
        return float(0.5 * np.sum(weight * np.log1p((r / scale) ** 2)) + 0.5 * np.sum(off**2))

    x = parameters.centre.copy()
    r = residual(x)
    value = loss(x, r)
    for _ in range(ITERATIONS):
        slope = np.empty((len(r), len(x)))
        for j in range(len(x)):
            moved = x.copy()
            moved[j] += STEP
            slope[:, j] = (residual(moved) - r) / STEP
        pull = weight / (1.0 + (r / scale) ** 2) / scale**2
        normal = (slope.T * pull) @ slope + np.diag(1.0 / parameters.log_sd**2)
        gradient = -(slope.T * pull) @ r - (x - parameters.centre) / parameters.log_sd**2
        move = np.clip(np.linalg.solve(normal, gradient), -LARGEST_MOVE, LARGEST_MOVE)
        for _half in range(6):
            moved = x + move
            r_moved = residual(moved)
            value_moved = loss(moved, r_moved)
            if value_moved <= value:
                break
            move = 0.5 * move
        else:
            break
        gained = value - value_moved
        x, r, value = moved, r_moved, value_moved
        if np.abs(move).max() < CONVERGED or gained < 1e-6:
            break
    return parameters.constants(x)
