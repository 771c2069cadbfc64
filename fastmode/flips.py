"""When the verdict flips: for every assumption the nearest value at which the option takes as long as the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.ranges import Range, draw, own_ranges, ranges, source_range
from fastmode.scenario import Field, Scenario, all_fields
from fastmode.trade import Trade, change_of

POINTS = 33  # of the first look over a field's whole range
CLOSER = 13  # of each closer look
LOOKS = 3
_SCORES = np.array(sorted(np.linspace(-40.0, 40.0, 3201), key=abs))
# What the user chooses, yet a verdict is often asked to name: how long the machine works on a task.
_CHOSEN = ("task_scale",)


@dataclass(frozen=True)
class Flip:
    """Where one assumption, moved alone, makes the option and the reference take the same time.

    value: now. flip: where it turns, NaN where it does not within the field's limits. low, high: its plausible range, the
    source's or the user's own; a value the user has set may lie outside.
    distance: how far off that is, in standard normal scores of the assumption's range (1.64 is the 5th or 95th percentile).
    wait_s: of the reference at the flip.
    """

    field: str
    value: float
    flip: float
    low: float
    high: float
    distance: float
    wait_s: float

    @property
    def plausible(self) -> bool:
        """Whether it turns within the assumption's range."""
        return bool(self.low <= self.flip <= self.high)


def flips(scenario: Scenario, trade: Trade | None, catalog: Catalog) -> list[Flip]:
    """One flip an assumption of a scenario with single values, nearest first; those that never flip stand last, those that
    move nothing are left out.

    trade: what is judged, None for the scenario's own option; where a larger error would pass 1 it is that trade no longer. Every
    value is evaluated in full, so a field set to the flip shows both taking the same time, unless the serving model leaps
    there (a chip more, a smaller batch) and the change with it. Empty where there is no verdict.
    """
    fields = [f for f in all_fields(catalog).values() if _is_asked(f, scenario)]
    values = np.array([float(getattr(scenario, f.name)) for f in fields])
    now = evaluate(scenario, catalog)
    whole = trade is not None and bool(trade.is_whole(now.at(now.reference.error_rate)))
    grid = np.stack([_grid(f, value) for f, value in zip(fields, values, strict=True)])
    change = _change(evaluate(_moved(scenario, fields, values, grid), catalog), trade, whole).reshape(grid.shape)
    if not np.isfinite(change).any():
        return []
    known = [_range(f, value, scenario, catalog) for f, value in zip(fields, values.tolist(), strict=True)]
    places = np.stack([_scores(f, r, row) for f, r, row in zip(fields, known, grid, strict=True)])
    low, high = _brackets(grid, change, np.abs(places))
    acts = np.fmax.reduce(change, axis=1) > np.fmin.reduce(change, axis=1)
    for _look in range(LOOKS):
        closer = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, CLOSER)
        change = _change(evaluate(_moved(scenario, fields, values, _or(closer, values)), catalog), trade, whole).reshape(closer.shape)
        nearer = np.abs(values - low) < np.abs(values - high)
        steps = np.arange(CLOSER, dtype=float)
        low, high = _brackets(closer, change, np.where(nearer[:, None], steps, steps[::-1]))
    ends = np.stack([low, high], axis=1)
    last = evaluate(_moved(scenario, fields, values, _or(ends, values)), catalog)
    change = _change(last, trade, whole).reshape(ends.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(change[:, 0] / (change[:, 0] - change[:, 1]), 0.0, 1.0)
        share = np.where(np.isfinite(share), share, 0.0)
        found = low + share * (high - low)
    wait = np.broadcast_to(last.reference.task.wait_s, 2 * len(fields)).reshape(-1, 2)
    wait = wait[:, 0] + share * (wait[:, 1] - wait[:, 0])
    made = []
    own = own_ranges(str(scenario.ranges), catalog)[0]
    rows = zip(fields, known, values.tolist(), found.tolist(), wait.tolist(), acts.tolist(), strict=True)
    for f, r, value, flip, at, moves in rows:
        if not moves:
            continue
        turns = bool(np.isfinite(flip))
        distance = abs(float(_scores(f, r, np.array([flip]))[0])) if turns else np.inf
        shown = r if f.name in own else source_range(f.name, str(scenario.task), catalog) or Range(value, f.low, f.high)
        made.append(Flip(f.name, value, flip, float(shown.low), float(shown.high), distance, at if turns else np.nan))
    return sorted(made, key=lambda one: (not np.isfinite(one.distance), one.distance))


def _is_asked(f: Field, scenario: Scenario) -> bool:
    if f.name == "acceptance_gap" and scenario.error_level != "acceptance":
        return False
    return f.name in _CHOSEN or (f.drawn and f.numeric and getattr(scenario, f.name) is not None)


def _grid(f: Field, value: float) -> NDArray:
    """Values from the field's lowest to its highest, denser where small ones differ, the present one among them."""
    if f.max <= 1.0:
        made = np.linspace(f.min, f.max, POINTS - 1)
    elif f.kind == "whole" and f.max - f.min < POINTS - 1:
        made = np.minimum(f.min + np.arange(POINTS - 1), f.max)
    else:
        least = f.min if f.min > 0 else min(f.step, f.low or f.step) if np.isfinite(f.step) else f.max * 1e-4
        made = np.concatenate([[f.min], np.geomspace(least, f.max, POINTS - 2)])
    return np.sort(np.append(made, value))


def _moved(scenario: Scenario, fields: list[Field], values: NDArray, grid: NDArray) -> Scenario:
    """The scenario once for every cell of the grid, with the field of its row at the value of the cell."""
    columns = {}
    for row, f in enumerate(fields):
        column = np.repeat(values[row], grid.size).reshape(grid.shape)
        column[row] = grid[row]
        columns[f.name] = column.ravel()
    return replace(scenario, **columns)


def _or(grid: NDArray, values: NDArray) -> NDArray:
    """The grid, with the present value where a row has none."""
    return np.where(np.isnan(grid), values[:, None], grid)


def _change(e: Evaluation, trade: Trade | None, whole: bool) -> NDArray:
    return np.broadcast_to(change_of(e, trade, whole), e.shape)


def _brackets(grid: NDArray, change: NDArray, away: NDArray) -> tuple[NDArray, NDArray]:
    """Neighbouring values of each row between which the change passes from one sign to the other; NaN without.

    away: how far off each value is; of several crossings the nearest is taken, each read off in a straight line. A change that
    only touches 0, as at the end of a slider, is no crossing.
    """
    sign = _signs(change)
    turns = sign[:, :-1] * sign[:, 1:] < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(change[:, :-1] / (change[:, :-1] - change[:, 1:]), 0.0, 1.0)
        off = np.where(turns, away[:, :-1] + share * (away[:, 1:] - away[:, :-1]), np.inf)
    nearest, rows = np.argmin(off, axis=1), np.arange(len(grid))
    any_turn = turns.any(axis=1)
    return (
        np.where(any_turn, grid[rows, nearest], np.nan),
        np.where(any_turn, grid[rows, nearest + 1], np.nan),
    )


def _signs(change: NDArray) -> NDArray:
    """Signs of each row; a 0 has the sign before it, or the first one after it. NaN stays."""
    sign = np.sign(change)
    for row in (sign, sign[:, ::-1]):  # a view: fills what is left from the other side
        at = np.where(row != 0, np.arange(row.shape[1]), 0)
        at = np.maximum.accumulate(at, axis=1)
        row[:] = np.take_along_axis(row, at, axis=1)
    return sign


def _range(f: Field, value: float, scenario: Scenario, catalog: Catalog) -> Range:
    """The assumption's range; of a value the user has set, that of the source under the task, widened to hold it."""
    known = ranges(scenario, catalog).get(f.name)
    if known:
        return known
    source = source_range(f.name, str(scenario.task), catalog) or Range(value, f.low, f.high)
    return Range(value, float(np.fmin(source.low, value)), float(np.fmax(source.high, value)))


def _scores(f: Field, r: Range, values: NDArray) -> NDArray:
    """Standard normal scores of values in the assumption's range; beyond 40 nobody asks how far."""
    made, first = np.unique(draw(f, r, _SCORES), return_index=True)  # several scores may give one value: the least of them
    return np.interp(values, made, _SCORES[first])
