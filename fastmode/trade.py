"""Speed for errors: what is judged on the Productivity page, and the plane of all such trades.

A trade is an option told by two figures alone: by how much the whole wait of the reference is divided, and how much larger its
error is. The founding claim, "six times faster for 20 percent more errors is a bad deal", is one in two readings: 20 points
more, or 1.2 times the errors. Everything else of a trade is as in the reference, so it goes through the same evaluation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.i18n import N_
from fastmode.productivity import TaskInputs, TaskResult, task
from fastmode.uncertainty import Swing, Worlds, quantiles

SCENARIO, MORE_POINTS, TIMES_THE_ERRORS = "scenario", "points", "factor"
SUBJECTS = {
    SCENARIO: N_("the option"),
    MORE_POINTS: N_("claim, points"),
    TIMES_THE_ERRORS: N_("claim, factor"),
}
FOUNDING_CLAIM = "C69"  # of data/claims.csv; its quantity reads "6x / 20%"


@dataclass(frozen=True)
class Trade:
    """The whole wait divided by `speed_up`; the error times `factor` and then `points` (a fraction) more, at most 1."""

    speed_up: ArrayLike
    points: ArrayLike = 0.0
    factor: ArrayLike = 1.0

    def of(self, inputs: TaskInputs) -> TaskInputs:
        """The inputs of the option; the trade's arrays and those of `inputs` broadcast.

        Every part of the wait is divided alike: start delay, handshake, TTFT, decoding and tools.
        """
        k = np.asarray(self.speed_up, float)
        parts = {name: getattr(inputs, name) / k for name in ("start_delay_s", "handshake_s", "ttft_s", "tool_time_s")}
        error = np.minimum(inputs.error_rate * self.factor + self.points, 1.0)
        return replace(inputs, tokens_per_s=inputs.tokens_per_s * k, error_rate=error, **parts)


    def is_whole(self, error: ArrayLike) -> NDArray:
        """Where the option's error stays below 1 without being cut there."""
        return np.asarray(error) * self.factor + self.points <= 1.0


def founding(catalog: Catalog) -> dict[str, Trade]:
    """The founding claim in its two readings, from the claim's own row. Raises ValueError where the row has other figures."""
    quantity = str(catalog.claims.at[FOUNDING_CLAIM, "quantity"])
    found = re.fullmatch(r"([\d.]+)x / ([\d.]+)%", quantity)
    if not found:
        raise ValueError(f"data/claims.csv, {FOUNDING_CLAIM}, column quantity: expected like 6x / 20%, got {quantity!r}")
    k, more = float(found[1]), float(found[2]) / 100.0
    return {MORE_POINTS: Trade(k, points=more), TIMES_THE_ERRORS: Trade(k, factor=1.0 + more)}


def trade_of(subject: str, catalog: Catalog) -> Trade | None:
    """The trade a subject stands for; None for the scenario's own option. Raises KeyError for an unknown subject."""
    return None if subject == SCENARIO else founding(catalog)[subject]


@dataclass(frozen=True, eq=False)
class Judged:
    """What is judged against the reference of an evaluation of single values: its own option, or a trade."""

    evaluation: Evaluation
    trade: Trade | None

    @cached_property
    def inputs(self) -> TaskInputs:
        """Of the option that is judged."""
        e = self.evaluation
        return e.now.inputs if self.trade is None else self.trade.of(e.reference.inputs)

    @cached_property
    def task(self) -> TaskResult:
        """Of the option that is judged."""
        return self.evaluation.now.task if self.trade is None else task(self.inputs)

    @property
    def reference(self) -> TaskResult:
        """What it is compared with."""
        return self.evaluation.reference.task

    @property
    def change(self) -> float:
        """Time per accepted task against the reference, minus 1."""
        return self.evaluation.at(self.task.time_per_task_s) / self.evaluation.at(self.reference.time_per_task_s) - 1.0

    @property
    def change_without_escapes(self) -> float:
        """The same if an error nobody catches cost nothing."""
        now, other = (self.evaluation.at(t.time_per_task_s - t.escaped_s) for t in (self.task, self.reference))
        return now / other - 1.0

    @property
    def error_change(self) -> float:
        """Error of the option less that of the reference, a fraction."""
        e = self.evaluation
        return e.at(self.inputs.error_rate) - e.at(e.reference.error_rate)

    @property
    def wait_speed_up(self) -> float:
        """Wait of the reference over that of the option."""
        return self.evaluation.at(self.reference.wait_s) / self.evaluation.at(self.task.wait_s)

    @property
    def token_speed_up(self) -> float:
        """Output speed over that of the reference; NaN for a trade, which says nothing of it."""
        e = self.evaluation
        return np.nan if self.trade else e.at(e.now.tokens_per_s) / e.at(e.reference.tokens_per_s)

    def _change_in(self, worlds: Worlds) -> NDArray:
        option = worlds.now if self.trade is None else self.trade.of(worlds.reference)
        with np.errstate(invalid="ignore", divide="ignore"):
            return task(option).time_per_task_s / task(worlds.reference).time_per_task_s - 1.0

    @cached_property
    def changes(self) -> NDArray:
        """Change in every plausible world."""
        spread = self.evaluation.spread
        made = spread.time_change if self.trade is None else self._change_in(spread.worlds)
        return np.broadcast_to(made, (1, spread.draws))

    def band(self, level: int) -> tuple[float, float]:
        """Ends of the change at the 50 or 90 % level."""
        found = quantiles(self.changes)[:, 0]
        return (float(found[0]), float(found[3])) if level == 90 else (float(found[1]), float(found[2]))

    def error_band(self) -> tuple[float, float]:
        """90 % band of `error_change`; both sides in the same worlds."""
        worlds = self.evaluation.spread.worlds
        option = worlds.now if self.trade is None else self.trade.of(worlds.reference)
        draws = self.evaluation.spread.draws
        found = quantiles(np.broadcast_to(option.error_rate - worlds.reference.error_rate, (1, draws)))[:, 0]
        return float(found[0]), float(found[3])

    @property
    def p_faster(self) -> float:
        """Share of plausible worlds in which it saves time; NaN where all are the same."""
        if self.trade is None:
            return self.evaluation.at(self.evaluation.spread.p_faster)
        if not np.isfinite(self.changes).all() or not self.changes.any():
            return np.nan
        return float(np.mean(self.changes < 0.0))

    @cached_property
    def swings(self) -> list[Swing]:
        """What moves the change most, widest first."""
        e = self.evaluation
        if self.trade is None:
            return e.swings
        return e.swings_of(self._change_in, lambda moved: change_of(moved, self.trade))


def change_of(e: Evaluation, trade: Trade | None, whole: bool = False) -> NDArray:
    """Time per accepted task of what is judged against the reference, minus 1, for each element of an evaluation.

    whole: NaN where the error of a trade would pass 1, since it is that trade no longer.
    """
    if trade is None:
        return e.time_change
    with np.errstate(invalid="ignore", divide="ignore"):
        change = task(trade.of(e.reference.inputs)).time_per_task_s / e.reference.task.time_per_task_s - 1.0
        return np.where(trade.is_whole(e.reference.error_rate), change, np.nan) if whole else change


# --- the plane of all trades ------------------------------------------------------------------------------------------

SPEED_UPS = np.geomspace(1.0, 30.0, 61)
TOKEN_TICKS = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 100.0)


@dataclass(frozen=True, eq=False)
class Plane:
    """Change in time per accepted task for every speed-up of the whole wait, shape (nx,), and extra error, (ny,).

    change has shape (ny, nx). tokens: pairs (speed-up of the whole wait, speed-up of the tokens that gives it at this task).
    limit: the speed-up of the wait that infinitely fast tokens give.
    """

    speed_up: NDArray
    extra_error: NDArray
    change: NDArray
    tokens: tuple[tuple[float, float], ...]
    limit: float


def plane(e: Evaluation, lowest: float, highest: float) -> Plane:
    """The plane around the reference of an evaluation of single values, extra error from `lowest` to `highest` (fractions).

    An error below 0 or above 1 has no change (NaN).
    """
    reference = e.reference
    extra = np.linspace(lowest, highest, 61)
    error = e.at(reference.error_rate) + extra
    made = task(Trade(SPEED_UPS[None, :], points=extra[:, None]).of(reference.inputs))
    change = made.time_per_task_s / e.at(reference.task.time_per_task_s) - 1.0
    change = np.where(((error >= 0.0) & (error <= 1.0))[:, None], change, np.nan)
    decode, wait = e.at(reference.task.wait_decode_s), e.at(reference.task.wait_s)
    rest = wait - decode
    tokens = tuple((wait / (rest + decode / k), k) for k in TOKEN_TICKS)
    return Plane(SPEED_UPS, extra, change, tokens, wait / rest if rest > 0 else np.inf)

