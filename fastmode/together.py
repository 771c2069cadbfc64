"""Several scenarios in one evaluation: the fixed cost of a call is paid once, and each gets its own Evaluation back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.productivity import TaskInputs, TaskResult
from fastmode.scenario import Scenario
from fastmode.serving import Service
from fastmode.side import Side


def evaluate_together(scenarios: Sequence[Scenario], catalog: Catalog | None = None) -> list[Evaluation]:
    """The evaluations of `scenarios`, in order; each as `evaluate` alone would give it.

    A scenario holds single values or one-dimensional arrays of one length. Raises ValueError where lengths do not agree.
    """
    names = _names(Scenario)
    sizes = [_size(s) for s in scenarios]
    stops = np.cumsum(sizes)
    total = int(stops[-1])
    columns: dict[str, Any] = {}
    for name in names:
        values = [getattr(s, name) for s in scenarios]
        first = values[0]
        if not any(_is_array(v) for v in values) and all(v == first for v in values):
            columns[name] = first
            continue
        values = [np.nan if v is None else v for v in values]
        column = np.empty(total, dtype=np.result_type(*(np.asarray(v) for v in values)))
        for value, size, stop in zip(values, sizes, stops, strict=True):
            column[stop - size : stop] = value
        columns[name] = column
    whole = evaluate(Scenario(**columns), catalog)
    return [
        Evaluation(
            **{name: _cut(getattr(whole, name), slice(int(stop) - size, int(stop)), total) for name in _names(Evaluation)}
            | {"scenario": scenario, "shape": (size,) if _holds_arrays(scenario) else ()}
        )
        for scenario, size, stop in zip(scenarios, sizes, stops, strict=True)
    ]


@lru_cache(maxsize=16)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _holds_arrays(scenario: Scenario) -> bool:
    return any(_is_array(getattr(scenario, name)) for name in _names(Scenario))


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, list, tuple))


def _size(scenario: Scenario) -> int:
    sizes = {np.size(v) for v in (getattr(scenario, name) for name in _names(Scenario)) if _is_array(v)}
    if len(sizes - {1}) > 1:
        raise ValueError(f"arrays of lengths {sorted(sizes)} in one scenario")
    return max(sizes, default=1)


def some_of(evaluation: Evaluation, index: np.ndarray) -> Evaluation:
    """The evaluation of the elements `index` of a one-dimensional scenario."""
    total = evaluation.shape[0]
    held = {name: getattr(evaluation.scenario, name) for name in _names(Scenario)}
    arrays = {name: np.asarray(value)[index] for name, value in held.items() if _is_array(value) and np.size(value) == total}
    parts = {name: _cut(getattr(evaluation, name), index, total) for name in _names(Evaluation)}
    return Evaluation(**parts | {"scenario": replace(evaluation.scenario, **arrays), "shape": (len(index),)})


def _cut(value: Any, part: slice | np.ndarray, total: int) -> Any:
    """Elements `part` of every array of the full length inside `value`; what is shared by all stays as it is."""
    if isinstance(value, np.ndarray):
        return value[..., part] if value.ndim and value.shape[-1] == total else value
    if isinstance(value, (Side, Service, TaskInputs, TaskResult)):
        kind = type(value)
        return kind(**{name: _cut(getattr(value, name), part, total) for name in _names(kind)})
    return value
