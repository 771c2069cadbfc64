"""The scenario along one axis: what the Trade-offs curves, the hardware comparison and the Overview's bars are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from fastmode import scenario as scenarios
from fastmode.catalog import Catalog, load
from fastmode.evaluate import Evaluation, evaluate
from fastmode.i18n import N_
from fastmode.scenario import PRESET_FIELDS, TRAFFIC, Scenario
from fastmode.together import some_of

POINTS = 200
FOUNDING = ("opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark")
AXES = {
    "batch": ("batch_size", N_("batch size (running requests)")),
    "distillation": ("distillation", N_("distillation (teacher / student parameters)")),
    "context": ("context_tokens", N_("context (tokens)")),
    "hardware": ("hardware", N_("hardware")),
}

DEFAULT_AXIS = "batch"
# In traffic the batch follows from the rate of requests: the axis of the batch is then that of the rate.
TRAFFIC_AXIS = "traffic"
TITLES = {axis: title for axis, (_field, title) in AXES.items()} | {TRAFFIC_AXIS: N_("traffic (requests/s)")}


@dataclass(frozen=True, eq=False)
class Sweep:
    """An evaluation along an axis, a key of TITLES. x: numbers in rising order, or labels of hardware.

    spans: stretches of x without a figure and why, as (from, to, reason).
    """

    axis: str
    x: np.ndarray | list[str]
    now_x: float | str
    evaluation: Evaluation
    spans: tuple[tuple[float | str, float | str, str], ...]

    def bands(self, level: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Lower and upper ends along x at the 50 or 90 % level: those of `Evaluation.bands`, and those of the draws.

        Curves are drawn at every fourth point and read off in between.
        """
        found = dict(self.evaluation.bands(level))
        drawn = self._drawn
        for name in drawn.spread.quantiles:
            ends = drawn.spread.band(name, level)
            found[name] = ends if self.axis == "hardware" else tuple(self._between(end) for end in ends)
        return found

    @cached_property
    def _drawn(self) -> Evaluation:
        return self.evaluation if self.axis == "hardware" else some_of(self.evaluation, self._at)

    @cached_property
    def _at(self) -> np.ndarray:
        # the second point too: beyond a distillation of 1x another model answers, and the band opens at once
        return np.unique(np.concatenate([[1, len(self.x) - 1], np.arange(0, len(self.x), 4)]))

    def _between(self, end: np.ndarray) -> np.ndarray:
        end = np.broadcast_to(end, self._at.shape)
        return np.interp(np.log(self.x), np.log(self.x[self._at]), end)


def sweep(scenario: Scenario, axis: str, catalog: Catalog | None = None, all_hardware: bool = False) -> Sweep:
    """Evaluate `scenario` with everything held but the field of `axis`.

    On the hardware axis each part gets the fewest chips that fit, the scenario's own part its own number. In traffic the axis of
    the batch is that of the rate of requests. Raises KeyError for an unknown axis.
    """
    return as_sweep(scenario, axis, evaluate(along(scenario, axis, catalog, all_hardware), catalog))


def along(scenario: Scenario, axis: str, catalog: Catalog | None = None, all_hardware: bool = False) -> Scenario:
    """The scenario with an array in the field of `axis` (see `sweep`)."""
    catalog = catalog or load()
    axis, field = _axis_and_field(scenario, axis)
    if axis != "hardware":
        declared = scenarios.all_fields(catalog)[field]
        return replace(scenario, **{field: np.geomspace(declared.min, declared.max, POINTS)})
    table = catalog.hardware
    own = table.index == str(scenario.hardware)
    rows = np.flatnonzero(own | (table["shown"].to_numpy() == 1) | all_hardware)
    chips = np.where(own[rows], float(scenario.n_chips), 0.0)
    return replace(scenario, hardware=table.index.to_numpy(str)[rows], n_chips=chips)


def _axis_and_field(scenario: Scenario, axis: str) -> tuple[str, str]:
    """The axis that is drawn where `axis` is asked for, and the field along it."""
    field, _title = AXES[axis]
    if axis == "batch" and scenario.load == TRAFFIC:
        return TRAFFIC_AXIS, "requests_per_s"
    return axis, field


def as_sweep(scenario: Scenario, axis: str, evaluation: Evaluation) -> Sweep:
    """The evaluation of `along(scenario, axis)` with its x values and the spans without a figure."""
    axis, field = _axis_and_field(scenario, axis)
    if axis != "hardware":
        x = getattr(evaluation.scenario, field)
        return Sweep(axis, x, float(getattr(scenario, field)), evaluation, _spans(x, evaluation))
    labels = evaluation.catalog.hardware["label"]
    names = labels.loc[evaluation.scenario.hardware].tolist()
    missing = np.flatnonzero(~np.isfinite(np.broadcast_to(evaluation.now.tokens_per_s, len(names))))
    spans = tuple((names[i], names[i], evaluation.reason(evaluation.now, int(i))) for i in missing)
    return Sweep(axis, names, str(labels.at[str(scenario.hardware)]), evaluation, spans)


def _spans(x: np.ndarray, e: Evaluation) -> tuple[tuple[float, float, str], ...]:
    speed = np.broadcast_to(e.now.tokens_per_s, x.shape)
    missing = ~np.isfinite(speed)
    if not missing.any():
        return ()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(int)))
    return tuple(
        (float(x[a]), float(x[b - 1]), e.reason(e.now, int(a))) for a, b in zip(edges[::2], edges[1::2], strict=True)
    )


def side_by_side(
    scenario: Scenario, presets: tuple[str, ...], catalog: Catalog | None = None, own_reference: bool = True
) -> Scenario:
    """The presets as published under the scenario's task, people, prices and model of error, one element each.

    own_reference: each against its own group's reference, else all against the scenario's.
    """
    expanded = [scenarios.expand_preset(p, catalog) for p in presets]
    columns: dict[str, object] = {}
    for name in PRESET_FIELDS:
        values = [e[name] for e in expanded]
        columns[name] = None if values[0] is None else np.array(values)
    if not own_reference:
        columns["reference"] = scenario.reference
    return replace(scenario, **columns | {"anchor": scenario.anchor})


def group_of(scenario: Scenario, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Presets with a published speed in the compare groups of the scenario and of its reference."""
    return _with_speed(str(scenario.preset), str(scenario.reference), catalog or load())


@lru_cache(maxsize=1024)
def _with_speed(preset: str, reference: str, catalog: Catalog) -> tuple[str, ...]:
    table = catalog.presets
    groups = {table.at[preset, "compare_group"], table.at[reference, "compare_group"]}
    speeds = catalog.endpoints["output_tok_s"]
    return tuple(p for p in table.index[table["compare_group"].isin(groups)] if np.isfinite(speeds[p]))


@lru_cache(maxsize=8)
def closed_pairs(catalog: Catalog) -> tuple[str, ...]:
    """Closed presets with a published speed whose own reference has one too: real pairs of a faster and a slower option."""
    table, speeds = catalog.presets, catalog.endpoints["output_tok_s"]
    home = table["reference"]
    pairs = (table["closed"] == 1) & (home != table.index) & np.isfinite(speeds[table.index]) & np.isfinite(speeds[home].to_numpy())
    return tuple(table.index[pairs])
