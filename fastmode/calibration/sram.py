"""Wafers and machines of many small SRAM chips, judged by leaving each published speed out.

Time of one token of a lone request, as the serving model has it (step.py):

    t = fixed + floor x layers + hop x (stages - 1) + attention

The published speeds come from several years, mix vendor ceilings, measurements and speculative decoding, and software
alone moved one model 4.7 times on the same wafer. Few terms can be told apart, so most are held (FITTED):

* wafers: `fixed` and `floor` are fitted, the hop between wafers is held at its catalogue value;
* small chips ("lpu"): every layer is a stage, so `hop` and `floor` are one term, and models of 24 to 80 layers do not
  tell `fixed` from `floor`: with both fitted, speeds left out are predicted worse. `fixed` is held at the wafer fit,
  which has seen no small chip: the part of a token that depends neither on layers nor on chips (sampling, host) is
  taken to be alike. Without wafer points it is held at its catalogue value.

The baselines are the mean speed and a power law of the active parameters, the form 3322 / active^0.294 that
tokenomics.info/cerebras anchors on two wafer speeds; both are refitted without the architecture they predict.
Errors are predicted / measured - 1 of time per token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.serving.batch_fixed import serve_tables
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.service import OK
from fastmode.serving.tables import GIGA, tables_with

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

KINDS = ("wafer", "lpu")  # wafers first: small chips hold the wafers' fixed time
METHODS = ("physics", "mean", "power")
FITTED = {"wafer": ("fixed_wafer_s", "floor_layer_wafer_s"), "lpu": ("floor_layer_lpu_s",)}
FEWEST = 5  # architectures of a kind: leaving one out must leave more than the power law's two parameters
HUBER = 0.3  # log residuals beyond this (a factor of 1.35) pull like their sign, not like their size
ITERATIONS = 200
_PULL = 1e-6  # keeps the step finite when a term has run to zero


@dataclass(frozen=True)
class Constant:
    """A serving constant in seconds; low and high are the 5th and 95th percentile. `held`: not fitted for this kind."""

    value: float
    low: float
    high: float
    held: bool


@dataclass(frozen=True, eq=False)
class SramFit:
    """Fit of all kinds of SRAM machines that have points.

    constants: by name of data/serving_constants.csv; low .. high from the jackknife over architectures.
    rows: points in the fit, by kind.
    errors: one row per kind and method (kind, method, rows, median, max, bias, factor), everything left out by
        architecture. median and max of |predicted/measured - 1|, bias = median of predicted/measured - 1, all of time
        per token; factor = exp(mean |ln(predicted/measured)|), the same for times and speeds.
    points: one row per published speed with an architecture (id, kind, use, measured, predicted_left_out, low, high,
        inside, inside_others), tokens/s. Speeds that are not used are predicted all the same, with their architecture
        left out. low .. high is the 90 % band; inside_others: inside a band from the other points' residuals only.
    log_sd: root mean square of the physics' left-out log residuals, by kind.
    log_half_width: half width of the 90 % band of ln t, by kind: Student's t of rows minus fitted constants, x log_sd.
    better: by kind, the method with the smallest factor.
    beats_both: by kind, whether the physics has both a smaller median and a smaller max than either baseline.
    """

    constants: dict[str, Constant]
    rows: dict[str, int]
    errors: pd.DataFrame
    points: pd.DataFrame
    log_sd: dict[str, float]
    log_half_width: dict[str, float]
    better: dict[str, str]
    beats_both: dict[str, bool]


def fit_sram(points: pd.DataFrame, catalog: Catalog) -> SramFit:
    """Fit the SRAM constants to published single-user speeds and judge them by leaving architectures out.

    `points` has the columns of data/sram_points.csv (catalog.sram_points). Rows without model_id are skipped; rows
    with use = 0 are predicted but neither fitted nor counted in the errors. The order of rows does not matter.

    Raises ValueError when a kind has points but fewer than FEWEST architectures, when a speed is not positive, or when
    the serving model cannot place a model on its machine.
    """
    known = points[points["model_id"] != ""].sort_values("id", ignore_index=True)
    if not (known["tokens_per_s"] > 0).all():
        raise ValueError("speeds must be positive")
    kind = _kinds(known, catalog)
    group = _architectures(known, catalog)
    constants: dict[str, Constant] = {}
    rows, log_sd, width, better, beats = {}, {}, {}, {}, {}
    errors, tables = [], []
    for name in KINDS:
        mine = kind == name
        if not mine.any():
            continue
        one = _Kind(name, known[mine].reset_index(drop=True), group[mine], catalog, constants)
        constants |= one.constants()
        left_out = one.left_out()
        used = one.used
        ratio = {m: (times * one.points["tokens_per_s"].to_numpy())[used] for m, times in left_out.items()}
        error = {method: _error(name, method, ratio[method]) for method in METHODS}
        errors += error.values()
        residual = np.log(ratio["physics"])
        rows[name] = int(used.sum())
        free = rows[name] - len(FITTED[name])
        log_sd[name] = float(np.sqrt(np.mean(residual**2)))
        width[name] = student_t95(free) * log_sd[name]
        better[name] = min(METHODS, key=lambda method: error[method]["factor"])
        beats[name] = all(
            error["physics"][figure] < error[baseline][figure]
            for figure in ("median", "max")
            for baseline in METHODS[1:]
        )
        tables.append(one.table(left_out["physics"], residual, width[name]))
    return SramFit(
        constants=constants,
        rows=rows,
        errors=pd.DataFrame(errors),
        points=pd.concat(tables, ignore_index=True),
        log_sd=log_sd,
        log_half_width=width,
        better=better,
        beats_both=beats,
    )


def student_t95(freedom: int) -> float:
    """95th percentile of Student's t (two-sided 90 %).

    Cornish-Fisher expansion in 1/freedom (Abramowitz and Stegun 26.7.5): within 0.01 from 2 degrees of freedom on.
    Raises ValueError below one degree of freedom.
    """
    if freedom < 1:
        raise ValueError("Student's t needs at least one degree of freedom")
    z = NormalDist().inv_cdf(0.95)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms))


def token_times(points: pd.DataFrame, catalog: Catalog, constants: Mapping[str, float]) -> NDArray:
    """Seconds per token of a lone request for each point, from the serving model with `constants` replaced.

    The fewest chips that hold weights and one request, precision as the presets have it: as released where the chip
    computes with it, else 16 bit. Raises ValueError when a model cannot be served, KeyError for an unknown constant.
    """
    config = ServingConfig(
        model=catalog.models.index.get_indexer(points["model_id"]),
        hardware=catalog.hardware.index.get_indexer(points["hardware_id"]),
        batch=1.0,
    )
    service = serve_tables(config, tables_with(catalog, constants))
    bad = service.status != OK
    if bad.any():
        raise ValueError(f"cannot be served: {points['id'].to_numpy()[bad].tolist()}")
    return service.tpot_s


def _kinds(points: pd.DataFrame, catalog: Catalog) -> NDArray:
    """Kind of machine ("wafer" or "lpu") of each point, by the memory of one chip as in the serving model."""
    limit = catalog.serving_constants.at["wafer_memory_bytes", "value"]
    memory = catalog.hardware.loc[points["hardware_id"], "memory_gb"].to_numpy() * GIGA
    return np.where(memory >= limit, "wafer", "lpu")


def _architectures(points: pd.DataFrame, catalog: Catalog) -> NDArray:
    """Code of the architecture: releases with the same depth, width and size are left out together."""
    shape = catalog.models.loc[points["model_id"], ["layers", "hidden_size", "total_params_b"]]
    return shape.reset_index(drop=True).groupby(list(shape), sort=True).ngroup().to_numpy()


class _Kind:
    """Points of one kind and the terms of their token time: rest + sum of term x constant."""

    def __init__(
        self, name: str, points: pd.DataFrame, group: NDArray, catalog: Catalog, earlier: Mapping[str, Constant]
    ) -> None:
        self.name, self.points, self.group, self.catalog = name, points, group, catalog
        self.used = points["use"].to_numpy() == 1
        self.measured = 1.0 / points["tokens_per_s"].to_numpy(dtype=np.float64)
        self.active = catalog.models.loc[points["model_id"], "active_params_b"].to_numpy(dtype=np.float64)
        if len(np.unique(group[self.used])) < FEWEST:
            raise ValueError(f"{name}: speeds of at least {FEWEST} architectures are needed")
        self.fitted = FITTED[name]
        self.held = {f"hop_{name}_s": self._stored(f"hop_{name}_s")}
        fixed = f"fixed_{name}_s"
        if fixed not in self.fitted:
            source = earlier.get("fixed_wafer_s")
            given = Constant(source.value, source.low, source.high, True) if source else self._stored(fixed)
            self.held[fixed] = given
        self.rest, self.terms = self._terms()

    def _stored(self, name: str) -> Constant:
        value, low, high = self.catalog.serving_constants.loc[name, ["value", "low", "high"]].astype(float)
        return Constant(value, low, high, True)

    def _with(self, fitted: Mapping[str, float]) -> dict[str, float]:
        return {name: constant.value for name, constant in self.held.items()} | dict(fitted)

    def _terms(self) -> tuple[NDArray, NDArray]:
        """What each fitted constant adds to the token time, by differences of the serving model.

        Taken around the catalogue's values, where the floors outlast the products and the time is linear in them.
        """
        stored = {name: self._stored(name) for name in self.fitted}
        start = {name: constant.value or constant.high for name, constant in stored.items()}
        base = token_times(self.points, self.catalog, self._with(start))
        columns = []
        for name in self.fitted:
            more = token_times(self.points, self.catalog, self._with(start | {name: 2.0 * start[name]}))
            columns.append((more - base) / start[name])
        terms = np.column_stack(columns)
        return base - terms @ np.array([start[name] for name in self.fitted]), terms

    def fit(self, rows: NDArray) -> dict[str, float]:
        """Constants from the rows marked in a boolean array: Huber loss on ln(measured / predicted).

        Gauss-Newton on the logarithms of the constants, so that none becomes negative, with Huber's weights.
        """
        terms, rest, measured = self.terms[rows], self.rest[rows], self.measured[rows]
        share = np.median(measured - rest) / len(self.fitted)
        log_value = np.log(np.maximum(share, 0.01 * np.median(measured)) / terms.mean(axis=0))
        for _ in range(ITERATIONS):
            value = np.exp(log_value)
            predicted = rest + terms @ value
            residual = np.log(measured / predicted)
            weight = np.minimum(1.0, HUBER / np.maximum(np.abs(residual), _PULL))
            slope = terms * value / predicted[:, None]
            normal = slope.T @ (slope * weight[:, None]) + _PULL * np.eye(len(value))
            step = np.clip(np.linalg.solve(normal, slope.T @ (weight * residual)), -0.5, 0.5)
            log_value = log_value + step
            if np.abs(step).max() < 1e-10:
                break
        return dict(zip(self.fitted, np.exp(log_value).tolist(), strict=True))

    def constants(self) -> dict[str, Constant]:
        """Fitted and held constants; spread of the fitted ones by the jackknife over architectures."""
        best = self.fit(self.used)
        groups = np.unique(self.group[self.used])
        without = pd.DataFrame([self.fit(self.used & (self.group != code)) for code in groups])
        n = len(groups)
        spread = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()) * student_t95(n - len(self.fitted))
        out = {
            name: Constant(value, max(value - float(spread[name]), 0.0), value + float(spread[name]), False)
            for name, value in best.items()
        }
        return out | self.held

    def left_out(self) -> dict[str, NDArray]:
        """Predicted time per token of every point by each method, with the point's architecture left out."""
        times = {method: np.empty(len(self.points)) for method in METHODS}
        for code in np.unique(self.group):
            mine, train = self.group == code, self.used & (self.group != code)
            constants = self._with(self.fit(train))
            times["physics"][mine] = token_times(self.points[mine], self.catalog, constants)
            times["mean"][mine] = 1.0 / np.mean(1.0 / self.measured[train])
            slope, level = np.polyfit(np.log(self.active[train]), np.log(self.measured[train]), 1)
            times["power"][mine] = np.exp(level + slope * np.log(self.active[mine]))
        return times

    def table(self, predicted: NDArray, residual: NDArray, half_width: float) -> pd.DataFrame:
        """The points with their bands, in tokens/s; see SramFit."""
        distance = np.abs(np.log(predicted / self.measured))
        freedom = len(residual) - 1 - len(self.fitted)
        own = np.where(self.used, np.log(predicted / self.measured), 0.0)
        others = np.sqrt((np.sum(residual**2) - own**2) / (len(residual) - self.used))
        return pd.DataFrame(
            {
                "id": self.points["id"],
                "kind": self.name,
                "use": self.used,
                "measured": 1.0 / self.measured,
                "predicted_left_out": 1.0 / predicted,
                "low": np.exp(-half_width) / predicted,
                "high": np.exp(half_width) / predicted,
                "inside": distance <= half_width,
                "inside_others": distance <= student_t95(freedom) * others,
            }
        )


def _error(kind: str, method: str, ratio: NDArray) -> dict[str, object]:
    off = np.abs(ratio - 1.0)
    return {
        "kind": kind,
        "method": method,
        "rows": len(ratio),
        "median": float(np.median(off)),
        "max": float(off.max()),
        "bias": float(np.median(ratio - 1.0)),
        "factor": float(np.exp(np.abs(np.log(ratio)).mean())),
    }
