"""From the fields of a scenario to configurations of the serving model, and one call for several of them."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from itertools import accumulate
from typing import Any

import numpy as np

from fastmode.catalog import Catalog
from fastmode.option_table import code_maps, coded
from fastmode.scenario import Scenario
from fastmode.serving import Service, ServingConfig, serve_automatic
from fastmode.serving.configuration import CODES
from fastmode.serving.service import BATCH

_NAMES = tuple(f.name for f in dataclass_fields(Scenario))


def flatten(scenario: Scenario) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The common shape and every field as a str or a 1-D array of length 1 or n."""
    raw = {name: getattr(scenario, name) for name in _NAMES}
    arrays = {k: np.asarray(v) for k, v in raw.items() if not isinstance(v, (str, int, float)) and v is not None}
    shape = np.broadcast_shapes(*(a.shape for a in arrays.values())) if arrays else ()
    flat: dict[str, Any] = {}
    for name, value in raw.items():
        if isinstance(value, str):
            flat[name] = value
        elif name in arrays:
            array = arrays[name]
            flat[name] = array.ravel() if array.ndim < 2 and len(shape) < 2 else np.broadcast_to(array, shape).ravel()
        else:
            flat[name] = np.array([np.nan if value is None else float(value)])
    return shape, flat


def rows_of(ids: Any, table: dict[str, int], field: str) -> np.ndarray:
    rows = coded(ids, table)
    if (rows < 0).any():
        raise KeyError(f"{field}: unknown id in {ids!r}")
    return rows


def asked(v: dict[str, Any], catalog: Catalog) -> dict[str, np.ndarray]:
    """The serving settings of the scenario itself, as attributes of ServingConfig."""
    codes = code_maps(catalog)
    names = ("model", "hardware", "weight_precision", "speculation", "kv_precision", "engine")
    return {name: coded(v[name], codes[name]) for name in names} | {
        "batch": v["batch_size"], "n_chips": v["n_chips"], "draft_tokens": v["draft_tokens"],
        "tp": v["tp"], "pp": v["pp"], "dp": v["dp"], "ep": v["ep"],
    }  # fmt: skip


def call_shape(v: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tokens of one call: fresh input is prefilled, the rest of the context is a cached prefix."""
    fresh = v["n_in"] / v["calls"]
    context = np.maximum(v["context_tokens"], fresh)
    return {
        "context_tokens": context,
        "fresh_tokens": fresh,
        "cached_tokens": context - fresh,
        "output_tokens": np.maximum(v["n_out"] / v["calls"], 1.0),
    }


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> np.ndarray:
    """Where two configurations are the same in every attribute."""
    same = np.ones(1, bool)
    for key, value in a.items():
        same = same & (value == b[key])
    return same


def serve_together(configs: tuple[dict[str, np.ndarray], ...], catalog: Catalog) -> list[Service]:
    """One call of the serving model for several configurations of different sizes."""
    sizes = [max(np.size(v) for v in c.values()) for c in configs]
    stops = list(accumulate(sizes))
    parts = [slice(stop - n, stop) for stop, n in zip(stops, sizes, strict=True)]
    joined = {name: np.empty(stops[-1], int if name in CODES else float) for name in configs[0]}
    for config, part in zip(configs, parts, strict=True):
        for name, value in config.items():
            joined[name][part] = value
    service = serve_automatic(ServingConfig(**joined, queue_overflow=False), catalog)
    # A preset's own batch is assumed. Where a task's context is too long for it, whoever serves that task runs the largest
    # batch that fits; only the scenario's own batch is the user's word.
    short = (service.status == BATCH) & (service.max_batch >= 1)
    short[parts[0]] = False
    rows = np.flatnonzero(short)
    if rows.size:
        fewer = {name: values[rows] for name, values in joined.items()} | {"batch": np.floor(service.max_batch[rows])}
        service = service.replaced(rows, serve_automatic(ServingConfig(**fewer, queue_overflow=False), catalog))
    return [service.slice(part.start, part.stop) for part in parts]
