"""What the physics needs of a model: parameter counts by part, cache per token, heads; and its smaller students."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastmode.serving.tables import Tables


@dataclass(frozen=True)
class Architecture:
    """Arrays of length N. Parameters and cache entries are counted in values, not bytes."""

    layers: NDArray
    hidden: NDArray
    attention_params: NDArray
    ffn_params: NDArray  # dense feed-forward layers and shared experts
    head_params: NDArray  # output head
    stored_params: NDArray  # kept in memory, never read in a step: the input table
    expert_params: NDArray  # routed experts
    experts: NDArray
    experts_per_token: NDArray
    moe_share: NDArray  # share of the layers that have routed experts
    kv_first: NDArray  # cache values per token inside the window, all layers
    kv_later: NDArray  # per token beyond it
    window: NDArray  # tokens; 0 = none
    kv_heads: NDArray  # 1 for a latent cache
    decode_group: NDArray  # multiply-adds per cached value and query token, decode
    prefill_group: NDArray
    kernels: NDArray  # launched per layer
    reductions: NDArray  # all-reduces per layer that a tensor-parallel step waits for
    attention_bytes_4bit: NDArray  # bytes per attention value in a 4-bit checkpoint; 0 = 4-bit as well


def gather(table: Tables, model: NDArray) -> Architecture:
    """Architecture of each model code; NaN for code -1."""
    return Architecture(*table.architecture[:, model])


def student(arch: Architecture, size_ratio: NDArray) -> Architecture:
    """A model of the same family with 1/size_ratio of the parameters, total and active.

    Depth and width each shrink by size_ratio^(-1/3), so layers x width^2 shrinks by size_ratio; experts and
    feed-forward layers are as much narrower. Head size and KV heads stay, so query heads shrink with the width, the
    cache with the depth. The tables shrink like the rest: the total is exactly 1/size_ratio. At 1 nothing changes.
    Llama 405B divided by 50 gives 34 layers of width 4430; Llama 8B has 32 of 4096.
    """
    if np.all(size_ratio == 1.0):
        return arch
    edge = size_ratio ** (-1.0 / 3.0)
    return replace(
        arch,
        layers=arch.layers * edge,
        hidden=arch.hidden * edge,
        attention_params=arch.attention_params / size_ratio,
        ffn_params=arch.ffn_params / size_ratio,
        head_params=arch.head_params / size_ratio,
        stored_params=arch.stored_params / size_ratio,
        expert_params=arch.expert_params / size_ratio,
        kv_first=arch.kv_first * edge,
        kv_later=arch.kv_later * edge,
        decode_group=arch.decode_group * edge,
        prefill_group=arch.prefill_group * edge,
    )


def cached_values(arch: Architecture, tokens: NDArray) -> NDArray:
    """Cache values held for one sequence of `tokens`: layers with a window stop growing beyond it."""
    return arch.kv_later * tokens + (arch.kv_first - arch.kv_later) * np.minimum(tokens, arch.window)


def expert_coverage(arch: Architecture, tokens: NDArray, exponent: float) -> NDArray:
    """Expected share of the routed experts that `tokens` of one step touch: 1 - (1 - k/E)^(tokens^exponent).

    At least one token's worth, k/E; 1 for a dense model. The exponent below 1 allows for neighbouring tokens
    choosing overlapping experts.
    """
    missed = 1.0 - arch.experts_per_token / arch.experts
    return 1.0 - missed ** (np.maximum(tokens, 1.0) ** exponent)
