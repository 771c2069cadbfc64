"""The scenario along one axis: what the Trade-offs curves, the hardware comparison and the Overview's bars are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fastmode import scenario as scenarios
from fastmode.catalog import Catalog, load
from fastmode.evaluate import Evaluation, evaluate
from fastmode.i18n import N_
from fastmode.scenario import PRESET_FIELDS, Scenario

POINTS = 200
FOUNDING = ("opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark")
AXES = {
    "batch": ("batch_size", N_("batch size (running requests)")),
    "distillation": ("distillation", N_("distillation (teacher / student parameters)")),
    "context": ("context_tokens", N_("context (tokens)")),
    "hardware": ("hardware", N_("hardware")),
}


@dataclass(frozen=True, eq=False)
class Sweep:
    """An evaluation along an axis. x: numbers in rising order, or labels of hardware.

    spans: stretches of x without a figure and why, as (from, to, reason).
    """

    axis: str
    x: np.ndarray | list[str]
    now_x: float | str
    evaluation: Evaluation
    spans: tuple[tuple[float | str, float | str, str], ...]


def sweep(scenario: Scenario, axis: str, catalog: Catalog | None = None, all_hardware: bool = False) -> Sweep:
    """Evaluate `scenario` with everything held but the field of `axis`.

    On the hardware axis each part gets the fewest chips that fit, the scenario's own part its own number. Raises KeyError for
    an unknown axis.
    """
    catalog = catalog or load()
    field, _title = AXES[axis]
    if axis == "hardware":
        return _hardware_sweep(scenario, catalog, all_hardware)
    declared = scenarios.all_fields(catalog)[field]
    now = float(getattr(scenario, field))
    x = np.geomspace(declared.min if axis != "context" else declared.grid[0], declared.max, POINTS)
    evaluation = evaluate(replace(scenario, **{field: x}), catalog)
    return Sweep(axis, x, now, evaluation, _spans(x, evaluation))


def _spans(x: np.ndarray, e: Evaluation) -> tuple[tuple[float, float, str], ...]:
    speed = np.broadcast_to(e.now.tokens_per_s, x.shape)
    missing = ~np.isfinite(speed)
    if not missing.any():
        return ()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(int)))
    return tuple(
        (float(x[a]), float(x[b - 1]), e.reason(e.now, int(a))) for a, b in zip(edges[::2], edges[1::2], strict=True)
    )


def _hardware_sweep(scenario: Scenario, catalog: Catalog, everything: bool) -> Sweep:
    table = catalog.hardware
    own = str(scenario.hardware)
    own_row = table.index == own
    rows = np.flatnonzero(own_row | (table["shown"].to_numpy() == 1) | everything)
    chips = np.where(own_row[rows], float(scenario.n_chips), 0.0)
    evaluation = evaluate(replace(scenario, hardware=table.index.to_numpy(str)[rows], n_chips=chips), catalog)
    labels = table["label"].to_numpy(str)[rows].tolist()
    missing = np.flatnonzero(~np.isfinite(np.broadcast_to(evaluation.now.tokens_per_s, rows.size)))
    spans = tuple((labels[i], labels[i], evaluation.reason(evaluation.now, int(i))) for i in missing)
    return Sweep("hardware", labels, str(table.at[own, "label"]), evaluation, spans)


def presets_side_by_side(scenario: Scenario, presets: tuple[str, ...], catalog: Catalog | None = None) -> Evaluation:
    """The presets as published under the scenario's task, people, prices and model of error, one element each."""
    catalog = catalog or load()
    expanded = [scenarios.expand_preset(p, catalog) for p in presets]
    columns = {}
    for name in PRESET_FIELDS:
        values = [e[name] for e in expanded]
        if values[0] is None or all(v == values[0] for v in values):
            columns[name] = values[0]
        else:
            columns[name] = np.array(values)
    columns["preset"] = np.array(presets)
    columns["anchor"] = scenario.anchor
    return evaluate(replace(scenario, **columns), catalog)


def group_of(scenario: Scenario, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Presets with a published speed in the compare groups of the scenario and of its reference."""
    table = (catalog or load()).presets
    groups = {table.at[str(scenario.preset), "compare_group"], table.at[str(scenario.reference), "compare_group"]}
    speeds = (catalog or load()).endpoints["output_tok_s"]
    return tuple(p for p in table.index[table["compare_group"].isin(groups)] if np.isfinite(speeds[p]))


def bars(scenario: Scenario, catalog: Catalog | None = None) -> Evaluation:
    """The four founding options under the scenario's task and people."""
    return presets_side_by_side(scenario, FOUNDING, catalog)
