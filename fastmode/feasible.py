"""The nearest setting that works, for a scenario that cannot be evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fastmode.evaluate import Evaluation, evaluate
from fastmode.scenario import all_fields, expand_preset


def nearest(evaluation: Evaluation) -> dict[str, Any]:
    """Fields to change, with their new values, so that the scenario can be evaluated; empty if no such change is known.

    Tried in this order: the largest batch that fits, the fewest chips that hold the batch, both, and the preset's own serving
    settings. Every answer has been evaluated.
    """
    e = evaluation
    if np.isfinite(e.at(e.now.tokens_per_s)):
        return {}
    most, fewest = e.at(e.now.service.max_batch), e.at(e.now.service.fewest_chips)
    grid = [g for g in all_fields(e.catalog)["batch_size"].grid if g <= most]
    candidates: list[dict[str, Any]] = []
    if grid:
        candidates.append({"batch_size": grid[-1]})
    if np.isfinite(fewest):
        candidates.append({"n_chips": int(fewest)})
    candidates.append({"n_chips": 0})
    own = expand_preset(str(e.scenario.preset), e.catalog)
    candidates.append({name: own[name] for name in ("hardware", "n_chips", "batch_size", "weight_precision")})
    for change in candidates:
        if np.isfinite(e.at(evaluate(replace(e.scenario, **change), e.catalog).now.tokens_per_s)):
            return change
    return {}
