"""Catalogue tables turned into contiguous arrays, once per catalogue.

Each table has one extra last row of NaN (or neutral values), so that code -1 gathers it: unknown rows need no branch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.serving.configuration import BF16, ENGINES, FP8, PRECISIONS
from fastmode.serving.evidence import Evidence, evidence_of

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

BILLION = 1e9
TERA = 1e12
GIGA = 1e9

ARCHITECTURE = (
    "layers", "hidden", "attention_params", "ffn_params", "head_params", "stored_params", "expert_params", "experts",
    "experts_per_token", "moe_share", "kv_first", "kv_later", "window", "kv_heads", "decode_group", "prefill_group",
    "kernels", "reductions", "attention_bytes_4bit", "kv_sparse", "sparse_tokens", "index_bytes", "index_products",
    "state_bytes",
)  # fmt: skip
CHIP = (
    "memory_bytes", "bandwidth", "link", "domain", "tdp_w", "sram", "usable_share", "reserve_bytes", "floor_layer_s",
    "fixed_s", "hop_s", "kernel_s", "host_s", "latency_s", "latency_chip_s", "prefill_chunk", "bf16_flops",
)  # fmt: skip
ENGINE = ("mix", "first_steps", "burst")

FOUR_BIT = np.array([name in ("fp4", "nvfp4", "mxfp4", "int4", "q4_k_m", "q4_0") for name in PRECISIONS])
_STORAGE_ONLY = ("mxfp4", "int4", "q8_0", "q4_k_m", "q4_0")


@dataclass(frozen=True, eq=False)
class Tables:
    """Column-first arrays: `architecture[column, model]`, `chip[column, hardware]`, `engine[column, engine]`."""

    constants: SimpleNamespace
    architecture: NDArray
    chip: NDArray
    engine: NDArray
    native_precision: NDArray  # [model]
    bytes_per_value: NDArray  # [precision]
    used_precision: NDArray  # [hardware, precision]: what the chip computes with when asked for that
    peak_flops: NDArray  # [hardware, precision]
    prefill_share: NDArray  # [hardware, precision]: reached share of the peak in prefill
    accept_length: NDArray  # [curve, draft tokens]; the last row is 1 (no speculation)
    evidence: Evidence


class _ByIdentity:
    """Hashable handle on a catalogue (its tables are not hashable)."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __hash__(self) -> int:
        return id(self.catalog)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.catalog is other.catalog


def tables(catalog: Catalog) -> Tables:
    """Arrays of a catalogue; built once and kept while the catalogue is among the last few used."""
    return _tables(_ByIdentity(catalog))


@lru_cache(maxsize=8)
def _tables(handle: _ByIdentity) -> Tables:
    return tables_with(handle.catalog, {})


def tables_with(catalog: Catalog, constants: Mapping[str, float]) -> Tables:
    """Arrays of a catalogue with some serving constants replaced by name; nothing is kept.

    Raises KeyError for a name that data/serving_constants.csv does not hold.
    """
    stored = _stored(catalog)
    unknown = set(constants) - set(stored)
    if unknown:
        raise KeyError(f"unknown serving constants: {sorted(unknown)}")
    constants = SimpleNamespace(**stored | {name: float(value) for name, value in constants.items()})
    models, hardware = catalog.models, catalog.hardware
    used, peak, share, bf16 = _precision_tables(hardware, constants)
    return Tables(
        constants=constants,
        architecture=_with_last(_architecture(models, constants), np.nan),
        chip=_with_last(_chips(hardware, constants, bf16), np.nan),
        engine=np.array([[getattr(constants, f"{column}_{engine}") for engine in ENGINES] for column in ENGINE]),
        native_precision=np.append([_native(text) for text in models["native_precision"]], BF16),
        bytes_per_value=np.array([getattr(constants, f"bytes_{name}") for name in PRECISIONS]),
        used_precision=used,
        peak_flops=peak,
        prefill_share=share,
        accept_length=_accept_table(_ByIdentity(catalog))[1],
        evidence=_evidence(_ByIdentity(catalog)),
    )


def _stored(catalog: Catalog) -> dict[str, float]:
    return {str(name): float(value) for name, value in catalog.serving_constants["value"].items()}


@lru_cache(maxsize=8)
def _evidence(handle: _ByIdentity) -> Evidence:
    """What is measured does not change with a fitted constant, so it is gathered once a catalogue."""
    return evidence_of(handle.catalog, SimpleNamespace(**_stored(handle.catalog)))


def accept_curves(catalog: Catalog) -> tuple[str, ...]:
    """Ids of the measured accept-length curves, in the order of the code `ServingConfig.speculation`."""
    return _accept_table(_ByIdentity(catalog))[0]


def _with_last(columns: list[NDArray], fill: float) -> NDArray:
    stacked = np.array(columns, dtype=np.float64)
    return np.ascontiguousarray(np.column_stack([stacked, np.full(len(columns), fill)]))


def _number(frame: pd.DataFrame, column: str) -> NDArray:
    return pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)


def _native(text: str) -> int:
    """Precision of the released weights; of the routed experts where the two differ."""
    expert = re.search(r"(mxfp4|nvfp4|int4|fp4)", text)
    name = expert.group(1) if expert else text.strip()
    return PRECISIONS.index(name) if name in PRECISIONS else BF16


def _architecture(models: pd.DataFrame, c: SimpleNamespace) -> list[NDArray]:
    """Columns ARCHITECTURE. Parameter counts in values, KV in values per token over all layers.

    The part every token reads is total - experts - input table. Rounded totals can hide a few billion (and one total
    includes a draft layer), so it is capped by the published active count plus one table, which vendors may leave out.
    """
    kind = models["attention_kind"].astype(str).to_numpy()
    layers, hidden = _number(models, "layers"), _number(models, "hidden_size")
    heads, kv_heads = _number(models, "n_heads"), _number(models, "n_kv_heads")
    total, active = _number(models, "total_params_b") * BILLION, _number(models, "active_params_b") * BILLION
    routed = np.nan_to_num(_number(models, "expert_params_b")) * BILLION
    dense = routed == 0
    experts = np.where(dense, 1.0, _number(models, "n_experts"))
    per_token = np.where(dense, 1.0, _number(models, "experts_per_token"))
    moe_layers = np.where(dense, 0.0, _number(models, "moe_layers"))
    shared = np.where(dense, 0.0, np.nan_to_num(_number(models, "shared_experts")))
    table = _number(models, "vocab_size") * hidden
    tied = models["notes"].astype(str).str.contains("tied embeddings").to_numpy()
    read = np.minimum(total - routed - np.where(tied, 0.0, table), active - routed * per_token / experts + table)
    read = np.where(dense, total - np.where(tied, 0.0, table), read)
    ffn = moe_layers * shared * 3 * hidden * np.nan_to_num(_number(models, "expert_ffn_size"))
    ffn += (layers - moe_layers) * 3 * hidden * np.nan_to_num(_number(models, "dense_ffn_size"))
    body = read - table
    ffn = np.minimum(ffn, body)

    latent = np.char.startswith(kind.astype("U"), "MLA")
    compressed = kind == "hybrid-compressed"
    later = _number(models, "kv_bytes_per_token_bf16_beyond_window") / 2
    first = _number(models, "kv_bytes_per_token_bf16") / 2
    first = np.where(np.isnan(first), layers * kv_heads * _number(models, "head_dim"), first)
    group = heads / np.where(latent, 1.0, kv_heads)
    # score and value products per cached value: GQA reads K and V once each; a latent serves as both
    decode = np.where(latent, heads * c.mla_decode_factor, np.where(compressed, 2 * group, group))
    prefill = np.where(latent, heads * c.mla_prefill_factor, decode)
    # sparse attention and linear layers: an empty cell is 0 and means none
    sparse_layers, index_layers = (np.nan_to_num(_number(models, f"{name}_layers")) for name in ("sparse", "index"))
    index_size = np.nan_to_num(_number(models, "index_heads") * _number(models, "index_head_dim"))
    kernels = (
        c.kernels_dense
        + moe_layers / layers * (c.kernels_moe + np.where(shared > 0, c.kernels_shared, 0.0))
        + np.where(latent, c.kernels_mla, 0.0)
        + np.where(compressed, c.kernels_compressed, 0.0)
        + index_layers / layers * c.kernels_index
    )
    native = models["native_precision"].astype(str)
    columns = {
        "layers": layers, "hidden": hidden, "attention_params": body - ffn, "ffn_params": ffn, "head_params": table,
        "stored_params": np.maximum(total - routed - read, 0.0), "expert_params": routed, "experts": experts,
        "experts_per_token": per_token, "moe_share": moe_layers / layers, "kv_first": first, "kv_later": later,
        "window": np.nan_to_num(_number(models, "window_tokens")), "kv_heads": np.where(latent, 1.0, kv_heads),
        "decode_group": decode, "prefill_group": prefill, "kernels": kernels,
        "reductions": c.reductions_per_layer + np.nan_to_num(_number(models, "qk_norm_reduced")),
        "attention_bytes_4bit": np.where(
            dense, 0.0, np.where(native.str.startswith("fp8"), c.bytes_fp8, c.bytes_bf16)),
        "kv_sparse": np.where(sparse_layers > 0, later * (sparse_layers / layers), 0.0),
        "sparse_tokens": np.nan_to_num(_number(models, "sparse_tokens")),
        "index_bytes": np.nan_to_num(_number(models, "index_bytes_per_token")),
        "index_products": index_layers * index_size,
        "state_bytes": np.nan_to_num(_number(models, "state_bytes_per_sequence")),
    }  # fmt: skip
    return [columns[name] for name in ARCHITECTURE]


def _precision_tables(hardware: pd.DataFrame, c: SimpleNamespace) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Precision used, peak FLOP/s and reached prefill share, each [hardware + 1, precision], and the BF16 peak.

    An unpublished wider peak is the narrower one divided by `peak_ratio_per_halving`; a chip without any published
    peak gets `unpublished_peak_flop_per_byte` times its bandwidth.
    """
    bf16, fp8, fp4 = (_number(hardware, f"{name}_dense_tflops") * TERA for name in ("bf16", "fp8", "fp4"))
    bandwidth = _number(hardware, "memory_bw_tb_s") * TERA
    fp8 = np.where(np.isnan(fp8), fp4 / c.peak_ratio_per_halving, fp8)
    bf16 = np.where(np.isnan(bf16), fp8 / c.peak_ratio_per_halving, bf16)
    bf16 = np.where(np.isnan(bf16), bandwidth * c.unpublished_peak_flop_per_byte, bf16)
    has8, has4 = ~np.isnan(fp8), ~np.isnan(fp4)
    sram = (hardware["memory_kind"] == "SRAM").to_numpy()
    rows, width = len(hardware) + 1, len(PRECISIONS)
    used = np.tile(np.arange(width), (rows, 1))
    peak = np.full((rows, width), np.nan)
    share = np.full((rows, width), np.nan)
    higher = np.where(has8, FP8, BF16)
    for code, name in enumerate(PRECISIONS):
        if name == "fp8":
            used[:-1, code] = higher
        elif name in ("fp4", "nvfp4"):
            used[:-1, code] = np.where(has4, code, higher)
        elif name in _STORAGE_ONLY:
            used[:-1, code] = np.where(sram, higher, code)
        # width in which the products are made: weight-only formats are widened first
        wide4 = has4 if name in ("fp4", "nvfp4") else np.zeros_like(has4)
        wide8 = has8 if name in ("fp8", "int8", "fp4", "nvfp4") else has8 & has4 if name == "mxfp4" else wide4 & False
        peak[:-1, code] = np.where(wide4, fp4, np.where(wide8, fp8, bf16))
        share[:-1, code] = np.where(
            wide4, c.prefill_share_fp4, np.where(wide8, c.prefill_share_fp8, c.prefill_share_bf16)
        )
    return used, peak, share, bf16


def _chips(hardware: pd.DataFrame, c: SimpleNamespace, bf16_flops: NDArray) -> list[NDArray]:
    """Columns CHIP in bytes, bytes/s (link: one way) and seconds.

    SRAM machines get an unlimited bandwidth, no kernel launches and a floor per layer instead; wafers and small chips
    have their own floors.
    """
    sram = (hardware["memory_kind"] == "SRAM").to_numpy()
    memory = _number(hardware, "memory_gb") * GIGA
    wafer = memory >= c.wafer_memory_bytes
    link = _number(hardware, "interconnect_gb_s_per_chip") * GIGA
    linked = ~np.isnan(link)
    domain = np.nan_to_num(_number(hardware, "scaleup_domain_chips"), nan=1.0)
    zero = np.zeros(len(hardware))
    columns = {
        "memory_bytes": memory,
        "bandwidth": np.where(sram, np.inf, _number(hardware, "memory_bw_tb_s") * TERA),
        "link": np.where(linked, link, c.unpublished_link_bytes_per_s) / 2,
        "domain": np.where(linked, np.maximum(domain, c.chips_per_host), domain),
        "tdp_w": _number(hardware, "tdp_w"),
        "sram": sram.astype(float),
        "usable_share": np.where(sram, c.usable_share_sram, c.usable_share_hbm),
        "reserve_bytes": np.where(sram, 0.0, c.reserve_bytes),
        "floor_layer_s": np.where(sram, np.where(wafer, c.floor_layer_wafer_s, c.floor_layer_lpu_s), 0.0),
        "fixed_s": np.where(sram, np.where(wafer, c.fixed_wafer_s, c.fixed_lpu_s), 0.0),
        "hop_s": np.where(sram, np.where(wafer, c.hop_wafer_s, c.hop_lpu_s), c.hop_hbm_s),
        "kernel_s": np.where(sram, 0.0, c.kernel_s) + zero,
        "host_s": np.where(sram, 0.0, c.host_s) + zero,
        "latency_s": np.where(sram, 0.0, c.all_reduce_s) + zero,
        "latency_chip_s": np.where(sram, 0.0, c.all_reduce_per_chip_s) + zero,
        "prefill_chunk": np.where(sram, c.prefill_chunk_sram_tokens, c.prefill_chunk_tokens),
        "bf16_flops": bf16_flops,
    }
    return [columns[name] for name in CHIP]


@lru_cache(maxsize=8)
def _accept_table(handle: _ByIdentity) -> tuple[tuple[str, ...], NDArray]:
    """Curve ids (first seen first), tokens per verification step [curve + 1, 0..longest draft]; gaps interpolated."""
    frame = handle.catalog.accept_length
    longest = int(frame["draft_tokens"].max()) if len(frame) else 0
    grid = np.arange(longest + 1)
    ids = tuple(frame["id"].unique())
    curves = []
    for name in ids:
        rows = frame[frame["id"] == name].sort_values("draft_tokens")
        x = np.append(0.0, rows["draft_tokens"].to_numpy(dtype=float))
        y = np.append(1.0, rows["mean_accept_length"].to_numpy(dtype=float))
        curves.append(np.interp(grid, x, y))
    return ids, np.array([*curves, np.ones(longest + 1)])
