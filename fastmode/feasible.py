"""The nearest setting that works, for a scenario that cannot be evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fastmode.evaluate import Evaluation, evaluate
from fastmode.scenario import TRAFFIC, Scenario, all_fields, expand_preset
from fastmode.serving import ServiceInTraffic

# Of the saturation rate: the most that is offered. Closer to it, waiting grows without bound.
OFFERED_LOAD = 0.9


def nearest(evaluation: Evaluation) -> dict[str, Any]:
    """Fields to change, with their new values, so that the scenario can be evaluated; empty if no such change is known.

    Where only the reference has no speed: the option's own reference. Else tried in this order: in traffic the largest rate
    below saturation (OFFERED_LOAD of it at most), the largest batch that fits, the fewest chips that hold the batch, the number
    of chips left to the model, the preset's own serving settings, and in traffic a fixed batch. Every answer has been evaluated.
    """
    e = evaluation
    if np.isfinite(e.at(e.now.tokens_per_s)):
        own = str(e.catalog.presets.at[str(e.scenario.preset), "reference"])
        for reference in (own, str(e.scenario.preset)) if np.isnan(e.at(e.reference.tokens_per_s)) else ():
            if _works(replace(e.scenario, reference=reference), e):
                return {"reference": reference}
        return {}
    most, fewest = e.at(e.now.service.max_batch), e.at(e.now.service.fewest_chips)
    grid = [g for g in all_fields(e.catalog)["batch_size"].grid if g <= most]
    candidates: list[dict[str, Any]] = []
    if isinstance(e.now.service, ServiceInTraffic):
        carried = OFFERED_LOAD * e.at(e.now.service.saturation_requests_per_s)
        rates = [g for g in all_fields(e.catalog)["requests_per_s"].grid if g <= carried]
        candidates += [{"requests_per_s": rate} for rate in rates[-1:]]
    if grid:
        candidates.append({"batch_size": grid[-1]})
    if np.isfinite(fewest):
        candidates.append({"n_chips": int(fewest)})
    candidates.append({"n_chips": 0})
    own = expand_preset(str(e.scenario.preset), e.catalog)
    candidates.append({name: own[name] for name in ("hardware", "n_chips", "batch_size", "weight_precision")})
    if e.scenario.load == TRAFFIC:
        candidates += [{"load": "batch"}] + [{"load": "batch", "batch_size": size} for size in grid[-1:]]
    for change in candidates:
        if _works(replace(e.scenario, **change), e, reference_too=False):
            return change
    return {}


def _works(scenario: Scenario, e: Evaluation, reference_too: bool = True) -> bool:
    tried = evaluate(scenario, e.catalog)
    sides = (tried.now, tried.reference) if reference_too else (tried.now,)
    return all(np.isfinite(tried.at(side.tokens_per_s)) for side in sides)
