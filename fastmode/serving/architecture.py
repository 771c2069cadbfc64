"""What the physics needs of a model: parameter counts by part, cache per token, heads; and its smaller students.

Kinds of attention, which a model may mix by layer:
full      the cache grows with the context and all of it is read for every token (GQA, MLA);
windowed  the cache stops growing at a window (sliding, chunked, compressed): `cached_values`;
sparse    the cache grows, a light indexer scores all of it and attention reads the best tokens only: `read_values`;
linear    no cache but a state of constant size per sequence, `state_bytes`, read and written by every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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
    kv_sparse: NDArray  # cache values per token in layers that read only the tokens chosen by an indexer
    sparse_tokens: NDArray  # tokens such a layer reads for each query token
    index_bytes: NDArray  # keys of the indexer per cached token, all layers; in bytes: their precision is fixed
    index_products: NDArray  # multiply-adds of the indexer per cached token and query token, all layers
    state_bytes: NDArray  # state of the linear layers per sequence, all layers; in bytes: their precision is fixed

    @cached_property
    def any_sparse(self) -> bool:
        """Whether any of the models has sparse attention: where none has, its terms need not be worked out."""
        return bool((self.sparse_tokens > 0).any())

    @cached_property
    def any_linear(self) -> bool:
        """Whether any of the models has linear layers."""
        return bool((self.state_bytes > 0).any())


def gather(table: Tables, model: NDArray) -> Architecture:
    """Architecture of each model code; NaN for code -1."""
    return Architecture(*table.architecture[:, model])


def student(arch: Architecture, size_ratio: NDArray) -> Architecture:
    """A model of the same family with 1/size_ratio of the parameters, total and active.

    Depth and width each shrink by size_ratio^(-1/3), so layers x width^2 shrinks by size_ratio; experts and feed-forward
    layers are as much narrower, their number stays. Head size and KV heads stay, so query heads (of attention, of an
    indexer, of linear layers) shrink with the width, the cache and the indexer's keys with the depth. The tables shrink
    like the rest: the total is exactly 1/size_ratio. At 1 nothing changes.

    Against real siblings (quality_check.student_table) active parameters, cache and step time are within 30 % for Llama
    3.1, Qwen3 (dense and mixture) and Mixtral. They are not where the smaller mixture has fewer experts as well: active
    parameters come out 32 % too few for DeepSeek-V4-Flash and 74 % for gpt-oss-20b (cache and step still within 30 %),
    and for Llama 4 Scout, as deep and wide as Maverick, all three come out too small (active 76 %, cache 35 %, step up
    to 58 %). Fewer experts of the same size as the rule would mend DeepSeek alone and miss Qwen3 and Mixtral: no rule
    on total size serves both ways.
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
        kv_sparse=arch.kv_sparse * edge,
        index_bytes=arch.index_bytes * edge,
        index_products=arch.index_products * edge * edge,
        state_bytes=arch.state_bytes * edge * edge,
    )


def cached_values(arch: Architecture, tokens: NDArray) -> NDArray:
    """Cache values held for one sequence of `tokens`: layers with a window stop growing beyond it."""
    return arch.kv_later * tokens + (arch.kv_first - arch.kv_later) * np.minimum(tokens, arch.window)


def read_values(arch: Architecture, context: NDArray, queries: NDArray | float = 1.0) -> NDArray:
    """Cache values that `queries` query tokens of one sequence read at a context of `context` tokens.

    All that is held, but in sparse layers at most `sparse_tokens` tokens a query (top-k selection, DeepSeek-V3.2,
    arXiv 2512.02556; MiniMax-M3 selects whole blocks, arXiv 2606.13392). Each query chooses its own: several read at most
    so many times more, never more than is held. Equal to `cached_values` up to `sparse_tokens` of context.
    """
    held = cached_values(arch, context)
    if not arch.any_sparse:
        return held
    return held - arch.kv_sparse * np.maximum(context - arch.sparse_tokens * queries, 0.0)


def prefill_values(arch: Architecture, cached: NDArray, fresh: NDArray) -> NDArray:
    """Cache values that a fresh token of a prefill is multiplied with, mean over `fresh` tokens after `cached` ones.

    Causal: the mean context is cached + fresh/2. A sparse layer takes the cheaper of two ways, as engines do: all tokens
    with the chosen ones masked (`prefill_group` products a value), or `sparse_tokens` chosen ones (`decode_group`
    products, since a latent is then read absorbed). So it stops growing at sparse_tokens x decode_group/prefill_group,
    which is sparse_tokens for GQA. Source: DeepSeek-V3.2, arXiv 2512.02556 (masked short prefills). The mean of
    max(t - knee, 0) over t from cached to cached + fresh is a difference of squares.
    """
    mean_context = cached + 0.5 * fresh
    seen = arch.kv_later * mean_context + (arch.kv_first - arch.kv_later) * np.minimum(mean_context, arch.window)
    if not arch.any_sparse:
        return seen
    knee = arch.sparse_tokens * arch.decode_group / arch.prefill_group
    past = cached - knee
    above, below = np.maximum(past + fresh, 0.0), np.maximum(past, 0.0)
    return seen - arch.kv_sparse * (above**2 - below**2) / np.maximum(2.0 * fresh, 1.0)


def expert_coverage(arch: Architecture, tokens: NDArray, exponent: float) -> NDArray:
    """Expected share of the routed experts that `tokens` of one step touch: 1 - (1 - k/E)^(tokens^exponent).

    At least one token's worth, k/E; 1 for a dense model. The exponent below 1 allows for neighbouring tokens
    choosing overlapping experts.
    """
    missed = 1.0 - arch.experts_per_token / arch.experts
    return 1.0 - missed ** (np.maximum(tokens, 1.0) ** exponent)
