"""Serving: configurations in, memory, time, throughput and energy out (batch-fixed mode)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastmode.serving import architecture
from fastmode.serving import service as s
from fastmode.serving import step as steps
from fastmode.serving.architecture import Architecture
from fastmode.serving.configuration import BF16, ENGINES, FP8, LINK_RATIOS, PRECISIONS, ServingConfig
from fastmode.serving.evidence import HBM, PARTS, Evidence
from fastmode.serving.layout import Chip, Layout, Memory, divide, fit, load_bytes
from fastmode.serving.service import CHECKED, Service
from fastmode.serving.step import Step, Work, decode, prefill, speculative, with_links
from fastmode.serving.tables import FOUR_BIT, Tables, tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

UNKNOWN = (s.INVALID, s.NO_MODEL, s.NO_HARDWARE, s.NO_ARCHITECTURE, s.NO_CHIP_DATA)  # nothing is known of what fits
SGLANG = ENGINES.index("sglang")
_FP8_CACHE = np.array([name in ("fp8", "fp4", "nvfp4") for name in PRECISIONS])


def serve(config: ServingConfig, catalog: Catalog) -> Service:
    """Serve each configuration.

    A configuration that cannot be served has a status and a reason, never an exception. Raises ValueError only when
    the attributes of `config` do not broadcast to one length.
    """
    return serve_tables(config, tables(catalog))


def serve_tables(config: ServingConfig, table: Tables) -> Service:
    """`serve` with the catalogue's arrays given, for instance with other constants (`tables_with`)."""
    with np.errstate(all="ignore"):
        return _serve(config, table)


def _serve(config: ServingConfig, table: Tables) -> Service:
    c = table.constants
    v = config.broadcast()
    model = _known(v["model"], table.architecture.shape[1])
    hardware = _known(v["hardware"], table.chip.shape[1])
    problem = _problem(v, table)
    v = _harmless(v, problem)

    arch = architecture.student(architecture.gather(table, model), v["size_ratio"])
    chip = Chip(*table.chip[:, hardware])
    if any((v[name] != 1.0).any() for name in LINK_RATIOS):
        chip, c = with_links(chip, c, v["link_ratio"], v["hop_ratio"])
    mix, first_steps, burst = table.engine[:, v["engine"]]

    # precision: as released unless asked for; a precision the chip lacks becomes the next higher one
    asked = np.where(v["weight_precision"] < 0, table.native_precision[model], v["weight_precision"])
    weight = table.used_precision[hardware, asked]
    small_cache = _FP8_CACHE[weight] & (v["engine"] != SGLANG)
    cache = np.where(v["kv_precision"] < 0, np.where(small_cache, FP8, BF16), v["kv_precision"])
    value_bytes, kv_bytes = table.bytes_per_value[weight], table.bytes_per_value[cache]
    # 4-bit checkpoints of mixtures of experts keep attention wider
    kept = FOUR_BIT[weight] & (arch.attention_bytes_4bit > 0)
    attention_bytes = np.where(kept, arch.attention_bytes_4bit, value_bytes)

    load = load_bytes(
        arch, chip, value_bytes, (attention_bytes, value_bytes), kv_bytes, v["context_tokens"], v["fresh_tokens"], c
    )
    batch = v["batch"]
    needed = np.ones_like(batch) if config.queue_overflow else batch
    layout = divide(chip, load, arch, v, needed)
    memory = fit(chip, load, layout, arch)
    max_batch = memory.sequences * layout.replicas
    status = _status(model, hardware, problem, arch, chip, layout, memory, max_batch, batch, config.queue_overflow)

    head_bytes = arch.head_params * c.bytes_bf16
    work = Work(
        shared_bytes=arch.attention_params * attention_bytes + arch.ffn_params * value_bytes + head_bytes,
        expert_bytes=load.experts,
        expert_factor=np.where(weight == FP8, c.expert_fp8_factor, 1.0),
        kv_bytes=kv_bytes,
        flops=table.peak_flops[hardware, weight],
        prefill_share=table.prefill_share[hardware, weight],
    )
    draft = np.minimum(v["draft_tokens"], table.accept_length.shape[1] - 1.0)
    draft = np.where(v["speculation"] >= 0, draft, 0.0)
    accepted = table.accept_length[v["speculation"], draft.astype(np.int64)]
    drafting = bool((draft > 0).any())
    prefill_s, held_s = prefill(arch, chip, layout, work, v["fresh_tokens"], v["cached_tokens"], c)
    output = v["output_tokens"]

    def timed(sequences: NDArray) -> tuple[Step, NDArray, NDArray, NDArray]:
        """Parts per output token, step, host work and prefill of the others per token; `sequences` of a replica."""
        step = decode(arch, chip, layout, work, sequences, v["context_tokens"], 1.0 + draft, c)
        if drafting:
            step, wall = speculative(step, arch, chip, layout, work, draft, accepted, c)
        else:
            wall = step.total
        host = (np.cbrt(wall**3 + chip.host_s**3) - wall) / accepted
        others = steps.others_prefill(sequences, output, held_s, mix)
        return step, wall, host, others

    offered = batch / layout.replicas
    running = np.minimum(offered, np.maximum(memory.sequences, 1.0)) if config.queue_overflow else offered
    step, wall, host, others = timed(np.maximum(running, 1.0))
    if config.queue_overflow:
        # Little's law, one pass: while a request waits for its first token it does not decode
        tpot = step.total + host + others
        queue, one = _queue(
            v, chip, layout, running, wall + (host + others) * accepted, prefill_s, first_steps, burst, c
        )
        decoding = output * tpot
        running = np.maximum(running * decoding / (queue + prefill_s + one + decoding), 1.0)
        step, wall, host, others = timed(running)
    tpot = step.total + host + others
    one = wall + (host + others) * accepted
    held = np.maximum(running, 1.0)
    queue, one = _queue(v, chip, layout, held, one, prefill_s, first_steps, burst, c)
    capacity = np.maximum(memory.sequences, 1.0)
    if config.queue_overflow:
        queue = queue + np.maximum(offered - capacity, 0.0) / capacity * output * tpot

    per_chip = layout.replicas * layout.stages * layout.stage_chips
    # All prefills take the chips' time, also the part that prefill-first engines let fall into TTFT instead of decoding.
    output_rate = running * layout.replicas / (tpot - others + np.maximum(running, 1.0) * held_s / output)
    out = {
        "n_chips": layout.n_chips, "tp": layout.attention_chips, "stages": layout.stages, "replicas": layout.replicas,
        "weights_bytes": memory.weights * per_chip, "kv_bytes": memory.per_sequence * running * per_chip,
        "activation_bytes": load.activations * per_chip, "reserve_bytes": chip.reserve_bytes * per_chip,
        "capacity_bytes": chip.memory_bytes * layout.n_chips,
        "weights_s": step.weights, "kv_s": step.attention, "compute_s": step.compute, "collectives_s": step.collectives,
        "overhead_s": step.overhead + host, "others_prefill_s": others,
        "step_s": wall, "tpot_s": tpot, "tokens_per_s_per_user": 1.0 / tpot,
        "prefill_s": prefill_s, "queue_s": queue, "ttft_s": queue + prefill_s + one,
        "output_tokens_per_s": output_rate,
        "prefill_tokens_per_s": np.where(held_s > 0, v["fresh_tokens"] / held_s * layout.replicas, np.nan),
        "decode_tokens_per_s": running * layout.replicas * accepted / wall,
        "energy_j_per_token": layout.n_chips * chip.tdp_w / output_rate,
        "batch": running * layout.replicas,
    }  # fmt: skip
    bad = status != s.OK
    if bad.any():
        out = {name: np.where(bad, np.nan, values) for name, values in out.items()}
    return Service(
        status=status,
        problem=problem,
        asked_batch=batch,
        asked_chips=layout.n_chips,
        weight_precision=weight,
        kv_precision=cache,
        max_batch=np.where(np.isin(status, UNKNOWN), np.nan, np.maximum(max_batch, 0.0)),
        fewest_chips=layout.fewest,
        model=model,
        hardware=hardware,
        engine=v["engine"],
        context_tokens=v["context_tokens"],
        size_ratio=v["size_ratio"],
        **_outside(table.evidence, model, hardware, v["engine"], draft > 0, (batch, v["context_tokens"], layout.n_chips)),
        **out,
    )


def _outside(
    known: Evidence,
    model: NDArray,
    hardware: NDArray,
    engine: NDArray,
    drafting: NDArray,
    load: tuple[NDArray, NDArray, NDArray],
) -> dict[str, NDArray]:
    """In which way, and how far, each configuration lies outside what has been measured. load: batch, context, chips.

    No measured row tells a draft method that the catalogue has a curve of, so speculation always counts as not measured.
    """
    kind = known.kind[hardware]
    measured_model = known.model[np.minimum(kind, 1), model]
    # Speeds of SRAM machines come from their makers' own software, whatever engine is named.
    strange = ~known.engine[engine] & (kind == HBM)
    bits = ~known.hardware[hardware] * 1 + ~measured_model * 2 + strange * 4 + drafting * 8
    novel = ~known.hardware[hardware] * 1 + ~known.vendor[hardware] * 1 + ~known.attention[model] * 1 + strange * 1 + drafting
    squared = np.zeros(model.shape)
    for i, value in enumerate(load):
        most = known.most[i, kind]
        over = value > most
        if over.any():
            bits = bits + over * (1 << (PARTS + i))
            squared = squared + np.where(over, np.log(value / most), 0.0) ** 2
    return {"kind": kind, "outside": bits.astype(np.int16), "novel": novel, "beyond": np.sqrt(squared)}


def _queue(
    v: dict[str, NDArray],
    chip: Chip,
    layout: Layout,
    batch: NDArray,
    one: NDArray,
    prefill_s: NDArray,
    first_steps: NDArray,
    burst: NDArray,
    c: object,
) -> tuple[NDArray, NDArray]:
    """Waiting before the own prefill, and the time of the first token's step (seconds)."""
    behind = burst * np.maximum(batch - 1.0, 0.0) ** c.burst_exponent * (prefill_s + 0.5 * one)
    chunks = np.maximum(v["fresh_tokens"] / chip.prefill_chunk - 1.0, 0.0)
    chunks = np.where(chip.sram > 0, 0.0, chunks)
    return c.first_token_s + (first_steps - 1.0) * one + behind + chunks * one, one


def _known(code: NDArray, size: int) -> NDArray:
    return np.where((code >= 0) & (code < size - 1), code, -1)


def _problem(v: dict[str, NDArray], table: Tables) -> NDArray:
    """Index in CHECKED of the first unusable field, -1 where all are usable."""
    problem = np.full(v["model"].shape, -1, dtype=np.int16)
    highest = {
        "weight_precision": len(PRECISIONS), "kv_precision": len(PRECISIONS), "engine": len(ENGINES),
        "speculation": table.accept_length.shape[0] - 1,
    }  # fmt: skip
    for i in range(len(CHECKED) - 1, -1, -1):
        name = CHECKED[i]
        value = v[name]
        if name in highest:
            right = (value >= (0 if name == "engine" else -1)) & (value < highest[name])
        else:
            least = 1.0 if name in ("batch", "output_tokens", "size_ratio") else 0.0
            right = (value >= least) & (value < np.inf)
        if not right.all():
            problem[~right] = i
    return problem


def _harmless(v: dict[str, NDArray], problem: NDArray) -> dict[str, NDArray]:
    """Unusable rows replaced by usable values, so that the arithmetic passes over them; their status stays."""
    bad = problem >= 0
    if not bad.any():
        return v
    out = dict(v)
    for name in CHECKED:
        neutral = 1 if name in ("batch", "output_tokens", "size_ratio") else 0
        out[name] = np.where(bad, neutral, v[name])
    return out


def _status(
    model: NDArray,
    hardware: NDArray,
    problem: NDArray,
    arch: Architecture,
    chip: Chip,
    layout: Layout,
    memory: Memory,
    max_batch: NDArray,
    batch: NDArray,
    queue_overflow: bool,
) -> NDArray:
    """First reason that applies, 0 = none.

    A deployment that somebody runs (queue_overflow) is refused only when its weights exceed the physical memory: it
    may have been squeezed in with settings we do not know. Its running batch is then one.
    """
    described = arch.layers + arch.hidden + arch.attention_params + arch.kv_first + arch.kv_later + arch.decode_group
    described = described + arch.expert_params + arch.experts_per_token / arch.experts
    chip_data = chip.memory_bytes + chip.bf16_flops
    whole = np.floor(batch + 1e-9)
    short = memory.weights > chip.memory_bytes if queue_overflow else max_batch < np.minimum(whole, 1.0)
    status = np.zeros(model.shape, dtype=np.int8)
    conditions = (
        (s.BATCH, (max_batch < whole - 1e-9) & (not queue_overflow)),
        (s.TOO_FEW_CHIPS, short),
        (s.NO_LINK, (chip.sram == 0) & (chip.domain == 1) & (layout.n_chips > 1)),
        (s.NEVER, ~np.isfinite(layout.fewest) & (max_batch < 1)),
        (s.NO_CHIP_DATA, np.isnan(chip_data)),
        (s.NO_ARCHITECTURE, np.isnan(described)),
        (s.NO_HARDWARE, hardware < 0),
        (s.NO_MODEL, model < 0),
        (s.INVALID, problem >= 0),
    )
    for code, where in conditions:
        status[where] = code
    return status
