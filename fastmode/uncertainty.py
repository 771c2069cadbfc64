"""What the ranges of the assumptions do to the answer: paired draws, bands, the chance that the option wins, a tornado.

A world is one draw of everything nobody knows: the assumptions about task, people and errors, how far a benchmark carries over
to this task, how a smaller model's error lies around its curve, and how far the serving model is off. Scenario and reference
live in the same worlds (common random numbers), so what is the same for both cancels: with the same weights, a shorter wait and
the same price the option wins in every world.

The physics is not redrawn: its residual multiplies the speed and the TTFT of the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmode import band, quality
from fastmode.band import Widths
from fastmode.catalog import Catalog
from fastmode.field import Field
from fastmode.i18n import N_, _
from fastmode.option_table import preset_table
from fastmode.productivity import TaskInputs, TaskResult, task
from fastmode.ranges import Z95, Range, deviation, draw, drawn, normal_scores, ranges
from fastmode.scenario import Scenario, all_fields
from fastmode.side import SCALED, SHARED, Side, as_worked

DRAWS = 2048  # of few scenarios: what cards and sentences say of the tails holds still
CURVE_DRAWS = 512  # of every point of a curve
FEW = 16  # scenarios
# What is uncertain and no field of the scenario, or one of another name.
TTFT = "anchor_ttft_s"  # the field, as a range that both sides share
BENCHMARK, OTHER_BENCHMARK, VENDORS = "benchmark", "other_benchmark", "vendors"
SLOPE, SIZE, QUANTISATION = "slope", "size", "quantisation"
SPEED, OTHER_SPEED, SERVED_TTFT, OTHER_TTFT = "speed", "other_speed", "served_ttft", "other_ttft"
DRIVER_LABELS = {
    TTFT: N_("TTFT per call"),
    BENCHMARK: N_("whether the benchmark's gap holds on this task"),
    OTHER_BENCHMARK: N_("whether the reference's benchmark gap holds on this task"),
    # for want of a figure across vendors, as far as one vendor's benchmarks lie apart
    VENDORS: N_("how alike the two vendors' errors are"),
    SLOPE: N_("how errors grow with a smaller model"),
    SIZE: N_("how this smaller model turns out"),
    QUANTISATION: N_("what quantisation costs"),
    SPEED: N_("speed of the serving model"),
    OTHER_SPEED: N_("speed of the reference's serving model"),
    SERVED_TTFT: N_("TTFT of the serving model"),
    OTHER_TTFT: N_("TTFT of the reference's serving model"),
}


@dataclass(frozen=True, eq=False)
class Worlds:
    """Inputs of both sides: elements of the scenario along the first axis, worlds along the last (either may be 1).

    drivers: what was drawn, fields of the scenario or keys of DRIVER_LABELS.
    """

    now: TaskInputs
    reference: TaskInputs
    drivers: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Spread:
    """Outcomes in every world, shape (elements, worlds)."""

    worlds: Worlds
    now: TaskResult
    reference: TaskResult

    @cached_property
    def time_change(self) -> NDArray:
        """Time per accepted task against the reference in the same world, minus 1."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.now.time_per_task_s / self.reference.time_per_task_s - 1.0

    @property
    def draws(self) -> int:
        """Number of worlds."""
        return self.now.time_per_task_s.shape[-1]

    @cached_property
    def p_faster(self) -> NDArray:
        """Share of worlds in which the option takes less time per accepted task; NaN where it is the same in all of them."""
        return _share(self.now.time_per_task_s, self.reference.time_per_task_s)

    @cached_property
    def p_cheaper(self) -> NDArray:
        """Share of worlds in which an accepted task costs less, tokens and developer time together; NaN without prices."""
        return _share(self.now.cost_per_task_usd, self.reference.cost_per_task_usd)

    @cached_property
    def quantiles(self) -> dict[str, NDArray]:
        """5th, 25th, 75th and 95th percentile by name of output, shape (4, elements)."""
        outcomes = {
            "error_rate": self.worlds.now.error_rate,
            "time_change": self.time_change,
            "cost_per_task_usd": self.now.cost_per_task_usd,
        } | {name: getattr(self.now, name) for name in OF_THE_TASK}
        return {name: quantiles(values) for name, values in outcomes.items()}

    def band(self, name: str, level: int) -> band.Ends:
        """Lower and upper end of the 50 or 90 % band of an output, shape (elements,)."""
        low, high = {90: (0, 3), 50: (1, 2)}[level]
        return self.quantiles[name][low], self.quantiles[name][high]


OF_THE_TASK = ("net_productivity", "wait_s", "time_per_task_s", "correction_time_s", "correction_share")


def _share(now: NDArray, other: NDArray) -> NDArray:
    with np.errstate(invalid="ignore"):
        fewer, more = np.mean(now < other, axis=-1), np.mean(now > other, axis=-1)
    known = np.isfinite(now).all(axis=-1) & np.isfinite(other).all(axis=-1)
    return np.where(known & (fewer + more > 0), fewer, np.nan)


def quantiles(values: NDArray) -> NDArray:
    """5th, 25th, 75th and 95th percentile over the last axis, shape (4, elements); values: (elements, worlds)."""
    values = np.asarray(values, float)
    if values.ndim < 2 or values.shape[-1] == 1:
        return np.broadcast_to(values.reshape(-1), (4, values.size))
    ordered = np.sort(values, axis=-1)  # NaN last: where one world has no figure, the upper end has none
    n = values.shape[-1]
    at = np.array([0.05, 0.25, 0.75, 0.95]) * n - 0.5
    below = np.floor(at).astype(int)
    return ((1.0 - (at - below)) * ordered[:, below] + (at - below) * ordered[:, below + 1]).T


class Scores:
    """Standard normal scores of each driver that is asked for, shape (1, worlds); kept in the order of asking."""

    def __init__(self, of: Callable[[str], NDArray]) -> None:
        self._of = of
        self.used: dict[str, NDArray] = {}

    def __call__(self, driver: str) -> NDArray:
        """Scores of a driver, the same however often they are asked for."""
        if driver not in self.used:
            self.used[driver] = np.asarray(self._of(driver), float)[None, :]
        return self.used[driver]

    def field(self, f: Field, r: Range) -> NDArray:
        """Values of a field in its range."""
        return draw(f, r, self(f.name))


class _Draws(Scores):
    """Scores of random worlds; values of fields are kept, since most scenarios share most of them."""

    def __init__(self, draws: int) -> None:
        super().__init__(lambda driver: normal_scores(driver, draws))
        self._draws = draws

    def field(self, f: Field, r: Range) -> NDArray:
        if isinstance(r.low, np.ndarray):
            return super().field(f, r)
        self(f.name)
        return drawn(f, r, self._draws)[None, :]


def spread(
    scenario: Scenario, now: Side, reference: Side, wide: tuple[Widths, Widths], catalog: Catalog, draws: int | None = None
) -> Spread:
    """Both sides in `draws` worlds; the same scenario gives the same worlds in every session. wide: of both sides.

    As many as `draws_for` says unless told otherwise.
    """
    draws = draws or draws_for(max(np.size(now.tokens_per_s), np.size(reference.tokens_per_s), np.size(now.error_rate)))
    made = worlds(scenario, (now, reference), wide, catalog, _Draws(draws))
    return Spread(made, task(made.now), task(made.reference))


def draws_for(elements: int) -> int:
    """How many worlds so many scenarios are drawn in."""
    return DRAWS if elements <= FEW else CURVE_DRAWS


@dataclass(frozen=True, eq=False)
class Swing:
    """Change in time per accepted task with one driver at its 5th and at its 95th percentile, all others at their values.

    value, low, high: of the field, NaN for a driver that is none.
    """

    driver: str
    change_low: float
    change_high: float
    value: float
    low: float
    high: float

    @property
    def label(self) -> str:
        return driver_label(self.driver)

    @property
    def size(self) -> float:
        return abs(self.change_high - self.change_low)


def driver_label(driver: str) -> str:
    """What a driver is, in words of the current language."""
    return _(DRIVER_LABELS[driver]) if driver in DRIVER_LABELS else all_fields()[driver].label


def swings(
    scenario: Scenario, sides: tuple[Side, Side], wide: tuple[Widths, Widths], catalog: Catalog, names: tuple[str, ...],
    change: Callable[[Worlds], NDArray] | None = None,
) -> list[Swing]:  # fmt: skip
    """One swing a driver of a scenario with single values, in the order of `names`.

    names: the drivers, of `Worlds.drivers`. change: what is compared in a set of worlds, shape (1, worlds); by default
    `Spread.time_change`.
    """
    ends = {name: np.zeros(2 * len(names)) for name in names}
    for position, name in enumerate(names):
        ends[name][2 * position : 2 * position + 2] = -Z95, Z95
    made = worlds(scenario, sides, wide, catalog, Scores(ends.__getitem__))
    moved = change(made) if change else Spread(made, task(made.now), task(made.reference)).time_change
    moved = np.broadcast_to(moved, (1, 2 * len(names)))[0].reshape(len(names), 2)
    known = ranges(scenario, catalog)
    found = []
    for name, (low, high) in zip(names, moved.tolist(), strict=True):
        r = known.get(name)
        ends_of = (np.nan,) * 3 if r is None else (float(r.value), float(r.low), float(r.high))
        found.append(Swing(name, low, high, *ends_of))
    return found


def worlds(
    scenario: Scenario, sides: tuple[Side, Side], wide: tuple[Widths, Widths], catalog: Catalog, scores: Scores
) -> Worlds:
    """Inputs of both sides (the scenario's and the reference's) at the scores of each driver."""
    known, declared = ranges(scenario, catalog), all_fields(catalog)
    values = {
        name: scores.field(declared[name], r) for name, r in known.items() if name != TTFT and _acts(name, scenario, sides)
    }
    scale = _column(scenario.task_scale)
    shared = {name: values[name] for name in SHARED if name in values}
    shared |= {name: values[name] * scale for name in SCALED if name in values}
    errors = _errors(scenario, values, sides, scores, catalog)
    speeds = _speeds(sides, wide, scores, catalog)
    ttfts = _ttfts(scenario, known, sides, wide, scores, catalog)
    made = []
    for position, side in enumerate(sides):
        own = _prices(side, wide[position], speeds[position][1], (SPEED, OTHER_SPEED)[position], scores) | {
            "error_rate": errors[position], "tokens_per_s": speeds[position][0], "ttft_s": ttfts[position],
        }  # fmt: skip
        inputs = TaskInputs(**{name: _column(value) for name, value in vars(side.inputs).items()})
        made.append(replace(inputs, **shared, **own))
    return Worlds(*made, drivers=tuple(scores.used))


def _acts(name: str, scenario: Scenario, sides: tuple[Side, Side]) -> bool:
    """Whether a field is of any effect; the size of a tier step acts through the slope of errors alone."""
    if name == "agentic_step":
        return bool((sides[0].size_ratio != 1.0).any()) and np.any(np.asarray(scenario.task_family) == quality.AGENTIC)
    return name != "acceptance_gap" or np.any(np.asarray(scenario.error_level) == "acceptance")


def _floats(values: Any) -> NDArray:
    return np.ravel(np.asarray(np.nan if values is None else values, float))


def _column(values: Any) -> NDArray:
    return np.asarray(values, float).reshape(-1, 1)


# --- errors -----------------------------------------------------------------------------------------------------------


def _errors(
    scenario: Scenario, values: dict[str, NDArray], sides: tuple[Side, Side], score: Scores, catalog: Catalog
) -> list[NDArray]:
    """Error rate of both sides: the rules of side.py, each with its own uncertainty in the odds."""
    table = preset_table(catalog)
    now, reference = sides
    error = values.get("error", _column(scenario.error))
    gap = values.get("acceptance_gap", _column(scenario.acceptance_gap))
    gap = np.where(_column_of_words(scenario.error_level) == "acceptance", gap, 0.0)
    known = _known_errors(scenario, catalog)
    found = []
    for side in sides:
        odds = _column(side.benchmark_odds_ratio)
        away = table.weights[side.preset] != table.weights[table.home[side.preset]]
        if away.any():
            z = score(BENCHMARK)
            apart = table.weights[side.preset] != table.weights[now.preset]
            if apart.any():
                z = np.where(_column(apart) > 0, score(OTHER_BENCHMARK), z)
            measured = _column(table.benchmarked[side.preset]) > 0
            shift = np.where(measured, known.carries * z, _one_model(known, z))
            odds = odds * np.exp(np.where(_column(away) > 0, shift, 0.0))
        if side is now and (table.group[now.preset] != table.group[reference.preset]).any():
            apart = _column(table.group[now.preset] != table.group[reference.preset])
            odds = odds * np.exp(apart * known.carries * score(VENDORS))
        if (side.size_ratio != 1.0).any():
            odds = odds * _size_odds(scenario, values, side, score, known)
        e = quality.error_from_odds_ratio(error, odds)
        e = as_worked(e, _column(scenario.task_scale), _column(scenario.length_exponent), _loss(side, score, catalog))
        found.append(quality.acceptance_error(e, gap))
    return found


def _size_odds(scenario: Scenario, values: dict[str, NDArray], side: Side, score: Scores, known: Errors) -> NDArray:
    """Odds of a smaller model: (ratio of sizes) ^ slope, and a residual of its own that is the same at every size."""
    ratio = _column(side.size_ratio)
    step = values.get("agentic_step", _column(scenario.agentic_step))
    slope = np.where(known.by_step, known.slope / np.log(step), known.slope)
    if (known.slope_high > known.slope_low).any():
        z = score(SLOPE) / Z95
        slope = slope + np.where(z < 0, z * (known.slope - known.slope_low), z * (known.slope_high - known.slope))
    return np.where(ratio != 1.0, ratio**slope * np.exp(_one_model(known, score(SIZE))), 1.0)


def _one_model(known: Errors, z: NDArray) -> NDArray:
    """How one model's log odds lie around the curve of its family's sizes."""
    return np.where(z < 0, known.below * z, known.above * z)


def _loss(side: Side, score: Scores, catalog: Catalog) -> NDArray:
    """Share of successes lost to quantisation, moved within the range of the formats that lose any."""
    loss = _column(side.quantisation_loss)
    if not (loss > 0).any():
        return loss
    known = [entry for entry in quality.quantisation_loss(catalog).values() if entry[0] > 0]
    value, low, high = (float(np.mean([entry[i] for entry in known])) for i in range(3))
    z = score(QUANTISATION) / Z95
    factor = np.where(z < 0, (low / value) ** -z, (high / value) ** z)
    return np.minimum(loss * factor, 1.0)


@dataclass(frozen=True, eq=False)
class Errors:
    """What is known of the errors of task families, each an array of shape (elements, 1), in logits.

    carries: standard deviation of an odds ratio on this task around that on a benchmark. below, above: standard deviations of one
    smaller model around odds = r ^ slope. by_step: the slope is `slope` over the logarithm of the size of a tier step, whose
    spread is the residual.
    """

    carries: NDArray
    below: NDArray
    above: NDArray
    slope: NDArray
    slope_low: NDArray
    slope_high: NDArray
    by_step: NDArray


def _known_errors(scenario: Scenario, catalog: Catalog) -> Errors:
    family = scenario.task_family
    names, inverse = np.unique(np.asarray(family, dtype=str).ravel(), return_inverse=True)
    rows = np.array([_of_family(catalog, str(name)) for name in names])[inverse]
    return Errors(*(column[:, None] for column in rows.T[:-1]), by_step=rows[:, -1:] > 0)


@lru_cache(maxsize=64)
def _of_family(catalog: Catalog, family: str) -> tuple[float, ...]:
    carries, residual = quality.carry_sd(catalog, family), quality.size_residual(catalog, family)
    slope = quality.beta(family, catalog, np.e)  # of a tier step: at a size whose logarithm is 1
    low, high = (slope.value, slope.value) if family == quality.AGENTIC else (slope.low, slope.high)
    return (carries, *residual, *(float(x) for x in (slope.value, low, high)), float(family == quality.AGENTIC))


def _column_of_words(words: Any) -> NDArray:
    return np.asarray(words, dtype=str).reshape(-1, 1)


# --- speed, TTFT and price --------------------------------------------------------------------------------------------


def _speeds(
    sides: tuple[Side, Side], wide: tuple[Widths, Widths], score: Scores, catalog: Catalog
) -> list[tuple[NDArray, NDArray | None]]:
    """(speed, scores of its residual) of both sides; no scores where the speed is quoted."""
    scores = _residuals(sides, wide, "tpot", (SPEED, OTHER_SPEED), score, catalog)
    return [
        (_column(side.tokens_per_s) * _off(w.speed, z), z) for side, w, z in zip(sides, wide, scores, strict=True)
    ]


def _residuals(
    sides: tuple[Side, Side], wide: tuple[Widths, Widths], quantity: str, names: tuple[str, str], score: Scores, catalog: Catalog
) -> tuple[NDArray | None, NDArray | None]:  # fmt: skip
    """Scores of what the model misses on both sides; what it misses of one deployment is the same miss on both."""
    moves = [_moves(w.speed if quantity == "tpot" else w.ttft) for w in wide]
    if not all(moves):
        return tuple(score(name) if moved else None for name, moved in zip(names, moves, strict=True))
    together = _column(band.shared_share(*sides, wide, quantity, catalog))
    z = score(names[0])
    if (together == 1.0).all():
        return z, z
    return z, together * z + np.sqrt(1.0 - together**2) * score(names[1])


def _moves(width: dict[int, NDArray]) -> bool:
    return bool((np.nan_to_num(width[90]) > 0).any())


def _off(width: dict[int, NDArray], z: NDArray | None) -> NDArray | float:
    """Factor by which a modelled figure is off at scores z."""
    return 1.0 if z is None else np.exp(deviation(z, _column(width[50]), _column(width[90])))


def _ttfts(
    scenario: Scenario, known: dict[str, Range], sides: tuple[Side, Side], wide: tuple[Widths, Widths], score: Scores, catalog: Catalog
) -> list[NDArray]:  # fmt: skip
    """TTFT of both sides. Guesses are off together: the way to the client is the same."""
    scores = _residuals(sides, wide, "ttft", (SERVED_TTFT, OTHER_TTFT), score, catalog)
    guesses, own = preset_table(catalog).ttft_guess_s, np.asarray(_floats(scenario.anchor_ttft_s))
    found = []
    for position, (side, w, z) in enumerate(zip(sides, wide, scores, strict=True)):
        ttft = _column(side.ttft_s) * _off(w.ttft, z)
        base = np.where(side.anchored_ttft, guesses[side.preset], np.nan)
        mine = ~np.isnan(own) if position == 0 else np.zeros(1, bool)
        base = _column(np.where(mine, own, base))
        if np.isfinite(base).any():
            ttft = ttft * _guessed(base, _column(mine) > 0, known.get(TTFT), score, catalog)
        found.append(ttft)
    return found


def _guessed(base: NDArray, mine: NDArray, r: Range | None, score: Scores, catalog: Catalog) -> NDArray:
    """Factor on a TTFT that rests on a guess `base`, or is the user's own (`mine`); 1 where it is neither.

    r: range of the field, if it has one; a guess without one of the user's own has that of the source.
    """
    f = all_fields(catalog)[TTFT]
    value, low, high = (r.value, r.low, r.high) if r else (np.nan, np.nan, np.nan)
    for_guess = np.isnan(value)  # the range speaks of the guess, not of a figure the user has entered
    low = np.where(mine, np.where(for_guess, base, low), np.where(for_guess & np.isfinite(low), low, f.low))
    high = np.where(mine, np.where(for_guess, base, high), np.where(for_guess & np.isfinite(high), high, f.high))
    if not (low < high).any():
        return np.ones(1)
    made = draw(f, Range(base, np.fmin(low, base), np.fmax(high, base)), score(TTFT)) / base
    return np.where(np.isfinite(base), made, 1.0)


def _prices(side: Side, wide: Widths, z: NDArray | None, driver: str, score: Scores) -> dict[str, NDArray]:
    """Prices that follow the modelled cost go against the speed of the same machine."""
    prices = {}
    for name, width in (("price_in_usd_per_mtok", wide.price_in), ("price_out_usd_per_mtok", wide.price_out)):
        z = score(driver) if z is None and _moves(width) else z
        prices[name] = _column(getattr(side, name)) * _off(width, None if z is None or not _moves(width) else -z)
    return prices
