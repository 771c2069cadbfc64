"""How chips are divided among replicas, stages and shards; what fits in their memory.

One rule set serves HBM and SRAM machines. On HBM the number of stages is chosen (pipeline parallelism); on SRAM it
follows from how many layers one chip, or the smallest group of chips, can hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from fastmode.serving.architecture import Architecture, cached_values

ROUNDING = 1e-9


@dataclass(frozen=True)
class Chip:
    """Arrays of length N gathered from the hardware table, in bytes, bytes/s (link one way), seconds, watts."""

    memory_bytes: NDArray
    bandwidth: NDArray  # infinite for SRAM machines
    link: NDArray
    domain: NDArray  # chips reachable at link speed
    tdp_w: NDArray
    sram: NDArray  # 1 or 0
    usable_share: NDArray
    reserve_bytes: NDArray
    floor_layer_s: NDArray
    fixed_s: NDArray
    hop_s: NDArray
    kernel_s: NDArray
    host_s: NDArray
    latency_s: NDArray
    latency_chip_s: NDArray
    prefill_chunk: NDArray
    bf16_flops: NDArray


@dataclass(frozen=True)
class Load:
    """Bytes to place, for one replica."""

    shared: NDArray  # weights copied to every attention group: attention, dense layers, tables
    experts: NDArray  # routed experts, spread over all chips of a replica
    per_sequence: NDArray  # cache of one sequence
    index: NDArray  # keys of a sparse indexer, one sequence; one head, so every attention chip holds all of them
    state: NDArray  # state of linear layers, one sequence: has many heads, so it is spread over all chips
    activations: NDArray  # per chip
    full_only: bool  # no configuration has an index or a state


@dataclass(frozen=True)
class Layout:
    """Arrays of length N; chips per stage = attention_chips x dp; replicas share the batch."""

    n_chips: NDArray
    fewest: NDArray
    replicas: NDArray
    stages: NDArray
    stage_chips: NDArray
    attention_chips: NDArray
    dp: NDArray
    ep: NDArray


def split_sram(chips: NDArray, layers: NDArray) -> tuple[NDArray, NDArray]:
    """Stages and chips per stage of an SRAM machine: one layer or more per chip while chips <= layers, then groups."""
    whole = np.maximum(np.floor(layers + ROUNDING), 1.0)
    group = np.maximum(np.floor(chips / whole), 1.0)
    return np.minimum(np.floor(chips / group), whole), group


def fewest_sram(chip: Chip, load: Load, layers: NDArray, sequences: NDArray) -> NDArray:
    """Fewest SRAM chips that hold the weights and the cache of `sequences`."""
    whole = np.maximum(np.floor(layers + ROUNDING), 1.0)
    cache = load.per_sequence if load.full_only else load.per_sequence + load.index + load.state
    layer_bytes = (load.shared + load.experts + sequences * cache) / whole
    usable = np.maximum(chip.memory_bytes * chip.usable_share - load.activations, 1.0)
    held = np.floor(usable / layer_bytes + ROUNDING)
    return np.where(held >= 1, np.ceil(whole / np.maximum(held, 1.0)), whole * np.ceil(layer_bytes / usable - ROUNDING))


def fewest_hbm(
    chip: Chip, load: Load, kv_heads: NDArray, tp: NDArray, pp: NDArray, dp: NDArray, sequences: NDArray
) -> NDArray:
    """Fewest chips: powers of two inside the scale-up domain, whole domains as pipeline stages beyond it.

    Per chip: (dp x shared + experts + states)/n + cache/min(n, dp x KV heads), which is solved for n. Keys of an indexer
    count as one copy for each KV head, as if n were at least that. With tp given, the number of stages grows instead.
    """
    free = chip.memory_bytes * chip.usable_share - chip.reserve_bytes - load.activations
    free = np.where(free > 0, free, np.nan)
    dp, fixed_pp = np.maximum(dp, 1.0), np.maximum(pp, 1.0)
    spread, sharded = dp * load.shared + load.experts, load.per_sequence
    if not load.full_only:
        spread, sharded = spread + sequences * load.state, sharded + load.index * kv_heads
    weights, cache = spread / fixed_pp, sequences * sharded / fixed_pp
    shards = dp * kv_heads
    needed = np.maximum((weights + cache) / free, 1.0)
    room = free - cache / shards
    beyond = np.where(room > 0, weights / np.where(room > 0, room, 1.0), np.inf)
    needed = np.where(needed <= shards, needed, np.maximum(beyond, shards))
    power = 2.0 ** np.ceil(np.log2(needed) - ROUNDING)
    inside = np.where(power <= chip.domain, np.maximum(power, dp), chip.domain)
    per_stage = np.where(tp > 0, np.minimum(tp * dp, chip.domain), chip.domain)
    stage_bytes = weights / per_stage + cache / np.minimum(per_stage, shards)
    domains = np.ceil(stage_bytes / free - ROUNDING)
    many = per_stage * np.maximum(domains, 1.0)
    return fixed_pp * np.where((tp > 0) | (needed > chip.domain), many, inside)


def divide(chip: Chip, load: Load, arch: Architecture, asked: dict[str, NDArray], sequences: NDArray) -> Layout:
    """Chips, stages and shards for each configuration; `asked` holds n_chips, tp, pp, dp, ep (0 = automatic).

    tp automatic = chips/(pp x dp); pp automatic = one stage per scale-up domain; dp multiplies chips only up to
    n_chips; chips beyond tp x pp x dp are further replicas.
    """
    tp, pp, dp = asked["tp"], asked["pp"], np.maximum(asked["dp"], 1.0)
    sram = chip.sram > 0
    any_sram = sram.any()
    fewest = fewest_hbm(chip, load, arch.kv_heads, tp, pp, dp, sequences)
    if any_sram:
        fewest = np.where(sram, fewest_sram(chip, load, arch.layers, sequences), fewest)
    n = np.where(asked["n_chips"] > 0, asked["n_chips"], fewest)
    group = tp * dp
    auto_stages = np.where(group > 0, np.where(asked["n_chips"] > 0, 1.0, n / np.maximum(group, 1.0)), n / chip.domain)
    stages = np.minimum(np.where(pp > 0, pp, np.maximum(np.ceil(auto_stages - ROUNDING), 1.0)), n)
    replica = np.where(tp > 0, np.minimum(np.minimum(group, n / stages) * stages, n), n)
    stage_chips = np.maximum(np.floor(replica / stages + ROUNDING), 1.0)
    if any_sram:
        sram_stages, sram_group = split_sram(n, arch.layers)
        stages, stage_chips = np.where(sram, sram_stages, stages), np.where(sram, sram_group, stage_chips)
        replica = np.where(sram, n, replica)
        dp = np.where(sram, 1.0, dp)
    dp = np.minimum(dp, stage_chips)
    return Layout(
        n_chips=n,
        fewest=fewest,
        replicas=np.maximum(np.floor(n / replica + ROUNDING), 1.0),
        stages=stages,
        stage_chips=stage_chips,
        attention_chips=np.maximum(stage_chips / dp, 1.0),
        dp=dp,
        ep=np.minimum(np.maximum(asked["ep"], 1.0), stage_chips),
    )


@dataclass(frozen=True)
class Memory:
    """Bytes per chip, and the largest number of sequences one replica can hold."""

    weights: NDArray
    per_sequence: NDArray  # cache, index and states per chip and sequence of the replica
    usable: NDArray
    sequences: NDArray  # whole number, may be 0; negative where the weights alone do not fit


def fit(chip: Chip, load: Load, layout: Layout, arch: Architecture) -> Memory:
    """Memory of the fullest chip: weights + cache + activations + reserve <= usable share of the capacity.

    The cache of a sequence lies on min(attention chips, KV heads) shards of its attention group: more chips than KV
    heads hold copies. Every chip of the group holds all keys of an indexer, and its share of the heads of linear states.
    """
    whole = np.maximum(np.floor(arch.layers + ROUNDING), 1.0)
    slices = np.where(chip.sram > 0, whole / np.ceil(whole / layout.stages - ROUNDING), layout.stages)
    weights = (load.shared / layout.attention_chips + load.experts / layout.stage_chips) / slices
    # an SRAM group places the cache where there is room; attention groups of HBM shard by head
    shards = np.where(chip.sram > 0, layout.stage_chips, np.minimum(layout.attention_chips, arch.kv_heads) * layout.dp)
    per_sequence = load.per_sequence / slices / shards
    if not load.full_only:
        copies = np.where(chip.sram > 0, layout.stage_chips, layout.dp)
        per_sequence = per_sequence + (load.index / copies + load.state / layout.stage_chips) / slices
    usable = chip.memory_bytes * chip.usable_share
    free = usable - weights - load.activations - chip.reserve_bytes
    sequences = np.where(free >= 0, np.floor(free / per_sequence + ROUNDING), -1.0)
    return Memory(weights, per_sequence, usable, sequences)


def load_bytes(
    arch: Architecture,
    chip: Chip,
    value_bytes: NDArray,
    shared_bytes: tuple[NDArray, NDArray],
    kv_bytes: NDArray,
    context: NDArray,
    fresh: NDArray,
    c: SimpleNamespace,
) -> Load:
    """Bytes to place: `shared_bytes` = (attention, feed-forward) bytes per value; head and input table are bf16.

    A sparse cache is held at full length, whatever is read of it.
    """
    attention, ffn = shared_bytes
    tables = (arch.head_params + arch.stored_params) * c.bytes_bf16
    tokens = np.minimum(np.maximum(fresh, 1.0), chip.prefill_chunk)
    length = np.maximum(context, 1.0)
    full_only = not (arch.any_sparse or arch.any_linear)
    return Load(
        shared=arch.attention_params * attention + arch.ffn_params * ffn + tables,
        experts=arch.expert_params * value_bytes,
        per_sequence=cached_values(arch, length) * kv_bytes,
        index=arch.index_bytes if full_only else arch.index_bytes * length,
        state=arch.state_bytes,
        activations=tokens * arch.hidden * c.activation_values * c.bytes_bf16,
        full_only=full_only,
    )
