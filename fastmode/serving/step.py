"""Time of one decode step and of one prefill: one pipeline for HBM and SRAM machines.

A token passes all stages in turn; each stage works on b = max(1, B/stages) sequences. Times below are sums over the
stages, so they are the time of one token; the output rate is B / that time. A lone request (B = 1) meets the same
layers, weights and cache on however many stages they are laid, plus the hand-overs: it gains nothing from more stages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from fastmode.serving import architecture
from fastmode.serving.architecture import Architecture
from fastmode.serving.layout import Chip, Layout

# Expected largest of n standard normals, by n = 0, 1, 2 ... (Blom 1958: the quantile (n - 3/8)/(n + 1/4)); 0 at n = 1.
_LARGEST_NORMAL = np.array([0.0, *(NormalDist().inv_cdf((n - 0.375) / (n + 0.25)) for n in range(1, 1025))])


@dataclass(frozen=True)
class Work:
    """What a configuration computes with: bytes and FLOP/s per chip (arrays of length N)."""

    shared_bytes: NDArray  # read by every step: attention, dense layers, shared experts, head
    expert_bytes: NDArray  # all routed experts
    expert_factor: NDArray  # extra reading time of the experts' format
    kv_bytes: NDArray  # per cached value
    flops: NDArray  # peak in the weights' precision
    prefill_share: NDArray


@dataclass(frozen=True)
class Step:
    """Seconds of one step, by part; the parts add up to the step."""

    weights: NDArray
    attention: NDArray
    compute: NDArray  # by how much products outlast the reads (and the floor of SRAM machines)
    collectives: NDArray
    overhead: NDArray

    @property
    def total(self) -> NDArray:
        return self.weights + self.attention + self.compute + self.collectives + self.overhead


def sequences_per_stage(batch: NDArray, stages: NDArray) -> NDArray:
    """Sequences a stage works on at a time: at least one, however many stages there are."""
    return np.maximum(batch / stages, 1.0)


def with_links(
    chip: Chip, c: SimpleNamespace, link_ratio: NDArray, hop_ratio: NDArray
) -> tuple[Chip, SimpleNamespace]:
    """Chips and constants with links of `link_ratio` times the bandwidth, and `hop_ratio` times the latency.

    Bandwidth: the link of a chip and the network beyond its domain, of decode and prefill. Latency: hand-overs between stages,
    and what an all-reduce takes before any byte moves.
    """
    chip = replace(
        chip, link=chip.link * link_ratio, hop_s=chip.hop_s * hop_ratio, latency_s=chip.latency_s * hop_ratio,
        latency_chip_s=chip.latency_chip_s * hop_ratio,
    )  # fmt: skip
    network = {
        "network_bytes_per_s": c.network_bytes_per_s * link_ratio, "network_latency_s": c.network_latency_s * hop_ratio,
    }  # fmt: skip
    return chip, SimpleNamespace(**vars(c) | network)


def collectives(arch: Architecture, chip: Chip, layout: Layout, tokens: NDArray, c: SimpleNamespace) -> NDArray:
    """Two all-reduces a layer, each latency(chips) + 2 (n-1)/n x bytes over the link; beyond the domain the network.

    With expert parallelism the second one is dispatch (1 byte a value) and combine (2 bytes) of k copies of each token.
    """
    n = layout.stage_chips
    outside = n > chip.domain
    link = np.where(outside, c.network_bytes_per_s, chip.link)
    latency = chip.latency_s + chip.latency_chip_s * n + np.where(outside, c.network_latency_s, 0.0)
    ring = 2.0 * c.bytes_bf16 * (n - 1.0) / n
    spread = np.where(layout.ep > 1, arch.moe_share, 0.0)
    routed = (c.bytes_fp8 + c.bytes_bf16) * arch.experts_per_token * (n - 1.0) / n / n
    moved = tokens * arch.hidden * (ring * (2.0 - spread) + routed * spread)
    seconds = arch.layers * (arch.reductions * latency + moved / (link * c.link_share_decode))
    return np.where((n > 1) & (chip.sram == 0), seconds, 0.0)


def expert_skew(arch: Architecture, layout: Layout, coverage: NDArray, tokens: NDArray) -> tuple[NDArray, NDArray]:
    """How much more than the mean chip the busiest one of an expert-parallel group reads, and computes (both >= 1).

    Experts lie on ep chips (groups of chips), m = E/ep on each; every layer waits for the busiest. Touched experts on a
    chip: mean m p, variance m p (1 - p), p = `coverage`; tokens sent to it: mean and variance k tokens/ep, both with the
    total given. The largest of ep such counts is the mean + z sd, z(ep) the expected largest of ep standard normals; it
    is at least one, and at most all m experts or all tokens. Tends to 1 with many tokens, is 1 at ep = 1. Experts are
    chosen at random and alike; how much of the skew engines leave, by placing and copying experts by load, is the caller's. Source: our own, order statistics of balls thrown into bins; nothing is fitted.
    """
    ep = layout.ep
    # fmin: ep is NaN where the model is unknown, and so is all that follows
    z = _LARGEST_NORMAL[np.fmin(ep, len(_LARGEST_NORMAL) - 1.0).astype(np.int64)]
    per_touched = ep / (arch.experts * coverage)
    read = np.minimum(np.maximum(1.0 + z * np.sqrt((1.0 - coverage) * per_touched), per_touched), 1.0 / coverage)
    per_sent = ep / (arch.experts_per_token * np.maximum(tokens, 1.0))
    compute = np.minimum(np.maximum(1.0 + z * np.sqrt(per_sent), per_sent), ep)
    return np.where(ep > 1.0, read, 1.0), compute


def index_time(
    arch: Architecture,
    chip: Chip,
    layout: Layout,
    sequences: NDArray,
    tokens: NDArray,
    context: NDArray,
    c: SimpleNamespace,
) -> NDArray:
    """Seconds a step's sparse indexers take: max(key bytes / bandwidth, FLOP / peak); 0 for a model without.

    `sequences` and `tokens` (query tokens) of one attention group, `context` cached tokens a sequence. All keys are read
    however few tokens are chosen. Engines keep all keys on every chip of a tensor-parallel group, so reading gains nothing
    from more chips there; products do as far as index heads belong to KV heads (never for a latent cache, where the
    indexer is copied). An SRAM group shares both. Source: DeepSeek-V3.2, arXiv 2512.02556: score = sum over index heads
    of weight x ReLU(query x key).
    """
    group = np.where(chip.sram > 0, layout.attention_chips, 1.0)
    heads = np.maximum(np.minimum(layout.attention_chips, arch.kv_heads), group)
    read = sequences * context * arch.index_bytes / (group * chip.bandwidth * c.kv_read_share)
    products = 2.0 * tokens * context * arch.index_products / (heads * chip.bf16_flops * c.index_compute_share)
    return np.maximum(read, products)


def state_time(
    arch: Architecture, chip: Chip, layout: Layout, sequences: NDArray, tokens: NDArray, c: SimpleNamespace
) -> NDArray:
    """Seconds a step's linear layers take for their states: max(bytes read and written / bandwidth, FLOP / peak).

    `sequences` and `tokens` of one attention group, over whose chips the heads are shared. The same at any context; 0
    for a model without. Source: gated delta rule S = S (I - b k k') decay + b v k', output S q (arXiv 2412.06464; Kimi
    Linear arXiv 2510.26692): the state moves twice a step, however many tokens a step verifies.
    """
    n = layout.attention_chips
    moved = 2.0 * sequences * arch.state_bytes / (n * chip.bandwidth * c.kv_read_share)
    flop = tokens * arch.state_bytes * c.linear_flop_per_state_byte
    return np.maximum(moved, flop / (n * chip.bf16_flops * c.attention_compute_share))


def decode(
    arch: Architecture,
    chip: Chip,
    layout: Layout,
    work: Work,
    batch: NDArray,
    context: NDArray,
    queries: NDArray,
    c: SimpleNamespace,
) -> Step:
    """One step of `batch` sequences of one replica, each with `queries` new tokens (1, or drafted + 1 when verifying).

    Weights: max(bytes read / bandwidth, FLOP / peak), for the shared part on the attention group and for the experts
    touched on all chips of a stage, the busiest of an expert-parallel group. Attention: max(cache bytes / (shards x
    bandwidth), FLOP / peak), indexers and states of linear layers. Then collectives, kernel launches and traffic of
    activations, hand-overs; SRAM machines have a fixed time and a floor per layer.
    """
    b = sequences_per_stage(batch, layout.stages)
    tokens = b * queries
    local = b / layout.dp
    local_tokens = local * queries
    rate = chip.bandwidth * c.weight_read_share
    peak = work.flops * c.decode_compute_share

    coverage = architecture.expert_coverage(arch, tokens, c.coverage_exponent)
    read_shared = work.shared_bytes / (layout.attention_chips * rate)
    read_experts = work.expert_bytes * coverage * work.expert_factor / (layout.stage_chips * rate)
    shared_params = arch.attention_params + arch.ffn_params + arch.head_params
    active = arch.expert_params * (arch.experts_per_token / arch.experts)
    flop_shared = 2.0 * shared_params * np.maximum(local_tokens, 1.0) / (layout.attention_chips * peak)
    flop_experts = 2.0 * active * tokens / (layout.stage_chips * peak)
    if (layout.ep > 1).any():
        skew_read, skew_compute = expert_skew(arch, layout, coverage, tokens)
        read_experts = read_experts * (1.0 + c.expert_skew_left * (skew_read - 1.0))
        flop_experts = flop_experts * (1.0 + c.expert_skew_left * (skew_compute - 1.0))
    floor = chip.floor_layer_s * arch.layers
    excess = np.maximum(flop_shared - read_shared, 0.0) + np.maximum(flop_experts - read_experts, 0.0)

    values = architecture.read_values(arch, context)
    drafted_sparse = arch.any_sparse and np.any(queries > 1)
    read = architecture.read_values(arch, context, queries) if drafted_sparse else values
    shards = np.minimum(layout.attention_chips, arch.kv_heads)
    read_cache = local * read * work.kv_bytes / (shards * chip.bandwidth * c.kv_read_share)
    products = 2.0 * local_tokens * values * arch.decode_group
    flop_cache = products / (layout.attention_chips * chip.bf16_flops * c.attention_compute_share)
    attention = np.maximum(read_cache, flop_cache)
    if arch.any_sparse:
        attention = attention + index_time(arch, chip, layout, local, local_tokens, context, c)
    if arch.any_linear:
        attention = attention + state_time(arch, chip, layout, local, local_tokens, c)

    overhead = (
        chip.fixed_s
        + floor
        + chip.hop_s * (layout.stages - 1.0)
        + arch.layers
        * (arch.kernels * chip.kernel_s + c.activation_passes * local_tokens * arch.hidden / chip.bandwidth)
    )
    return Step(
        weights=read_shared + read_experts,
        attention=attention,
        compute=np.maximum(excess - floor, 0.0),
        collectives=collectives(arch, chip, layout, tokens, c),
        overhead=overhead,
    )


def speculative(
    step: Step,
    arch: Architecture,
    chip: Chip,
    layout: Layout,
    work: Work,
    draft: NDArray,
    accepted: NDArray,
    c: SimpleNamespace,
) -> tuple[Step, NDArray]:
    """Parts per output token of a verification step with its drafts, and the wall time of that step.

    A drafted token costs `draft_layers` of the target's layers and one reading of the head; the drafts run one after
    the other. The error of the output does not change: drafts are verified.
    """
    share = 1.0 + draft * c.draft_layers / arch.layers
    head = draft * arch.head_params * c.bytes_bf16 / (
        layout.attention_chips * chip.bandwidth * c.weight_read_share
    )  # fmt: skip
    with_draft = Step(
        weights=step.weights * share + head,
        attention=step.attention * share,
        compute=step.compute * share,
        collectives=step.collectives * share,
        overhead=step.overhead * share,
    )
    wall = with_draft.total
    per_token = Step(*(getattr(with_draft, part) / accepted for part in Step.__dataclass_fields__))
    return per_token, wall


def _prefill_index_and_state(
    arch: Architecture, chip: Chip, layout: Layout, fresh: NDArray, cached: NDArray, c: SimpleNamespace
) -> NDArray:
    """Seconds a prefill takes for what full attention does not have.

    Indexer: each fresh token scores all tokens before it, quadratic but light; on the chips of `index_time`, nothing
    while everything is chosen anyway (engines skip it up to `sparse_tokens`). Linear layers: the same work for every
    token, on all chips.
    """
    n = layout.stage_chips
    seconds = np.zeros_like(fresh)
    if arch.any_sparse:
        scored = np.where(cached + fresh > arch.sparse_tokens, (cached + 0.5 * fresh) * fresh, 0.0)
        heads = np.where(chip.sram > 0, n, np.minimum(layout.attention_chips, arch.kv_heads) * layout.dp)
        seconds = 2.0 * scored * arch.index_products / (heads * chip.bf16_flops * c.index_compute_share)
    if arch.any_linear:
        flop = fresh * arch.state_bytes * c.linear_flop_per_state_byte
        seconds = seconds + flop / (n * chip.bf16_flops * c.prefill_share_attention)
    return seconds


def prefill(
    arch: Architecture, chip: Chip, layout: Layout, work: Work, fresh: NDArray, cached: NDArray, c: SimpleNamespace
) -> tuple[NDArray, NDArray]:
    """Latency of one prefill, and the time it holds a stage (both seconds per request).

    Products of all active parameters over the fresh tokens; causal attention of the fresh tokens to each other and to
    the cached prefix (not beyond a window or what a sparse layer chooses), indexers and linear states; all-reduces and
    activation traffic. Chunks follow each other through the stages, so c chunks over p stages take (c + p - 1)/(c p) of
    the work of one stage.
    """
    n = layout.stage_chips
    active = (
        arch.attention_params + arch.ffn_params + arch.head_params
        + arch.expert_params * (arch.experts_per_token / arch.experts)
    )  # fmt: skip
    products = 2.0 * active * (fresh + c.prefill_short_tokens) / (n * work.flops * work.prefill_share)
    seen = architecture.prefill_values(arch, cached, fresh)
    attention = 2.0 * arch.prefill_group * seen * fresh / (n * chip.bf16_flops * c.prefill_share_attention)
    if arch.any_sparse or arch.any_linear:
        attention = attention + _prefill_index_and_state(arch, chip, layout, fresh, cached, c)
    link = np.where(n > chip.domain, c.network_bytes_per_s, chip.link)
    reduced = 4.0 * c.bytes_bf16 * fresh * arch.hidden * (n - 1.0) / n / (link * c.link_share_prefill)
    traffic = c.activation_passes * fresh * arch.hidden / chip.bandwidth
    work_s = np.where(fresh > 0, products + attention + arch.layers * (reduced + traffic), 0.0)
    chunks = np.maximum(fresh / chip.prefill_chunk, 1.0)
    latency = work_s * (chunks + layout.stages - 1.0) / (chunks * layout.stages)
    launch = np.where(fresh > 0, arch.layers * arch.kernels * np.where(chip.sram > 0, 0.0, c.prefill_launch_s), 0.0)
    return latency + launch + np.where(fresh > 0, chip.fixed_s, 0.0), work_s / layout.stages


def others_prefill(batch: NDArray, output: NDArray, held_s: NDArray, mix: NDArray) -> NDArray:
    """Seconds each output token waits for the prefill of other requests: mix (B - 1)/O x time a prefill holds a stage.

    While one request gives its O tokens, each of the other B - 1 ends and is replaced once, and the replacement's
    prefill runs on the same chips.
    """
    return mix * np.maximum(batch - 1.0, 0.0) / output * held_s
