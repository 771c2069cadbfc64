"""Presets and task profiles as aligned arrays and codes, ready for the spine; built once per catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fastmode import quality
from fastmode.catalog import Catalog
from fastmode.scenario import all_fields, expand_profile
from fastmode.serving import ENGINES, PRECISIONS

# The task shape that belongs to a profile: at its own values a published speed holds as it is.
SHAPE_FIELDS = ("n_in", "n_out", "calls", "context_tokens")


@dataclass(frozen=True, eq=False)
class PresetTable:
    """Presets as aligned arrays, row = position in catalog.presets."""

    rows: dict[str, int]
    serving: dict[str, np.ndarray]  # ServingConfig attribute -> value per preset
    tokens_per_s: np.ndarray
    price_in: np.ndarray
    price_out: np.ndarray
    handshake_s: np.ndarray
    ttft_s: np.ndarray
    closed: np.ndarray
    speed_multiple: np.ndarray  # the vendor's own "up to" multiple over the standard tier; NaN = none stated
    odds_ratio: np.ndarray  # against the reference of its own group, same benchmark
    benchmarked: np.ndarray  # whether that ratio is measured: else it is 1 for want of a figure, or for the same weights
    home: np.ndarray  # row of the reference of its own group
    weights: np.ndarray  # presets of one number serve the same model, by the vendor's statement
    group: np.ndarray  # presets of one number start from the same reference's error
    ttft_guess_s: np.ndarray  # the guess its TTFT is, or is derived from; NaN where it rests on a published one
    total_params_b: np.ndarray  # of the preset's own model, NaN without one
    model_params_b: np.ndarray  # row = position in catalog.models; the last, row -1, is NaN: no model


@lru_cache(maxsize=8)
def preset_table(catalog: Catalog) -> PresetTable:
    presets, endpoints = catalog.presets, catalog.endpoints.reindex(catalog.presets.index)
    codes = code_maps(catalog)
    declared = all_fields(catalog)

    def number(name: str) -> np.ndarray:
        return presets[name].to_numpy(float)

    def coded(name: str, table: dict[str, int]) -> np.ndarray:
        return np.array([table.get(str(v), -1) for v in presets[name]])

    draft = number("draft_tokens")
    serving = {
        "model": coded("model", codes["model"]),
        "hardware": coded("hardware", codes["hardware"]),
        "n_chips": np.nan_to_num(number("n_chips")),
        "weight_precision": coded("weight_precision", codes["weight_precision"]),
        "batch": np.where(np.isnan(number("batch_size")), declared["batch_size"].default, number("batch_size")),
        "speculation": coded("speculation", codes["speculation"]),
        "draft_tokens": np.where(np.isnan(draft), declared["draft_tokens"].default, draft),
    }
    odds, measured = np.ones(len(presets)), np.zeros(len(presets), bool)
    for row, (preset, reference, benchmark) in enumerate(
        zip(presets.index, presets["reference"], presets["benchmark"], strict=True)
    ):
        if benchmark and reference != preset:
            odds[row] = quality.benchmark_odds_ratio(
                catalog.endpoints.loc[preset], catalog.endpoints.loc[reference], benchmark
            )
            measured[row] = True
    same_as = endpoints["same_model_as"].to_numpy(str)
    weights = np.where(same_as == "", presets.index.to_numpy(str), same_as)
    rows = {str(p): i for i, p in enumerate(presets.index)}
    home = np.array([rows[str(r)] for r in presets["reference"]])
    guess = np.where(endpoints["ttft_s"].isna() & (presets["ttft_basis"] == "assumed"), number("ttft_s"), np.nan)
    derived = (endpoints["ttft_s"].isna() & (presets["ttft_basis"] == "derived")).to_numpy(bool)
    guess = np.where(derived, guess[home], guess)
    sizes = np.append(catalog.models["total_params_b"].to_numpy(float), np.nan)
    return PresetTable(
        rows=rows,
        serving=serving,
        tokens_per_s=endpoints["output_tok_s"].to_numpy(float),
        price_in=endpoints["input_usd_per_mtok"].to_numpy(float),
        price_out=endpoints["output_usd_per_mtok"].to_numpy(float),
        handshake_s=number("handshake_s"),
        ttft_s=endpoints["ttft_s"].fillna(presets["ttft_s"]).to_numpy(float),
        closed=number("closed") == 1,
        speed_multiple=endpoints["speed_multiplier_vs_standard"].to_numpy(float),
        odds_ratio=odds,
        benchmarked=measured,
        home=home,
        weights=np.unique(weights, return_inverse=True)[1],
        group=np.unique(presets["compare_group"].to_numpy(str), return_inverse=True)[1],
        ttft_guess_s=guess,
        total_params_b=sizes[serving["model"]],
        model_params_b=sizes,
    )


@lru_cache(maxsize=8)
def code_maps(catalog: Catalog) -> dict[str, dict[str, int]]:
    precision = {name: code for code, name in enumerate(PRECISIONS)}
    return {
        "model": {str(m): i for i, m in enumerate(catalog.models.index)},
        "hardware": {str(h): i for i, h in enumerate(catalog.hardware.index)},
        "weight_precision": precision,
        "kv_precision": {"auto": -1} | precision,
        "engine": {name: code for code, name in enumerate(ENGINES)},
        "speculation": {str(c): i for i, c in enumerate(catalog.accept_length["id"].unique())},
        "task": {str(t): i for i, t in enumerate(catalog.profiles.index)},
    }


@lru_cache(maxsize=8)
def profile_shapes(catalog: Catalog) -> dict[str, np.ndarray]:
    """The task shape of each profile by field, one value a profile."""
    declared = all_fields(catalog)
    expanded = [expand_profile(str(t), catalog) for t in catalog.profiles.index]
    return {f: np.array([float(e.get(f, declared[f].default)) for e in expanded]) for f in SHAPE_FIELDS}


def coded(value: Any, table: dict[str, int]) -> np.ndarray:
    """Ids, one or an array of them, as codes; -1 for what the table does not know."""
    if isinstance(value, str):
        return np.array([table.get(value, -1)])
    ids, inverse = np.unique(np.asarray(value, dtype=str).ravel(), return_inverse=True)
    return np.array([table.get(str(i), -1) for i in ids])[inverse]
