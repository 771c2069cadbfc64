"""Time of one decode step and of one prefill: one pipeline for HBM and SRAM machines.

A token passes all stages in turn; each stage works on b = max(1, B/stages) sequences. Times below are sums over the
stages, so they are the time of one token; the output rate is B / that time. A lone request (B = 1) meets the same
layers, weights and cache on however many stages they are laid, plus the hand-overs: it gains nothing from more stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from fastmode.serving import architecture
from fastmode.serving.architecture import Architecture
from fastmode.serving.layout import Chip, Layout


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
    touched on all chips of a stage. Attention: max(cache bytes / (shards x bandwidth), FLOP / peak). Then collectives,
    kernel launches and traffic of activations, hand-overs; SRAM machines have a fixed time and a floor per layer.
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
    floor = chip.floor_layer_s * arch.layers
    excess = np.maximum(flop_shared - read_shared, 0.0) + np.maximum(flop_experts - read_experts, 0.0)

    values = architecture.cached_values(arch, context)
    shards = np.minimum(layout.attention_chips, arch.kv_heads)
    read_cache = local * values * work.kv_bytes / (shards * chip.bandwidth * c.kv_read_share)
    products = 2.0 * local_tokens * values * arch.decode_group
    flop_cache = products / (layout.attention_chips * chip.bf16_flops * c.attention_compute_share)

    overhead = (
        chip.fixed_s
        + floor
        + chip.hop_s * (layout.stages - 1.0)
        + arch.layers
        * (arch.kernels * chip.kernel_s + c.activation_passes * local_tokens * arch.hidden / chip.bandwidth)
    )
    return Step(
        weights=read_shared + read_experts,
        attention=np.maximum(read_cache, flop_cache),
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


def prefill(
    arch: Architecture, chip: Chip, layout: Layout, work: Work, fresh: NDArray, cached: NDArray, c: SimpleNamespace
) -> tuple[NDArray, NDArray]:
    """Latency of one prefill, and the time it holds a stage (both seconds per request).

    Products of all active parameters over the fresh tokens; causal attention of the fresh tokens to each other and to
    the cached prefix; all-reduces and activation traffic. Chunks follow each other through the stages, so c chunks
    over p stages take (c + p - 1)/(c p) of the work of one stage.
    """
    n = layout.stage_chips
    active = (
        arch.attention_params + arch.ffn_params + arch.head_params
        + arch.expert_params * (arch.experts_per_token / arch.experts)
    )  # fmt: skip
    products = 2.0 * active * (fresh + c.prefill_short_tokens) / (n * work.flops * work.prefill_share)
    mean_context = cached + 0.5 * fresh
    seen = arch.kv_later * mean_context + (arch.kv_first - arch.kv_later) * np.minimum(mean_context, arch.window)
    attention = 2.0 * arch.prefill_group * seen * fresh / (n * chip.bf16_flops * c.prefill_share_attention)
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
