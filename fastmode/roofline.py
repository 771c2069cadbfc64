"""Roofline: what a chip can compute at a given number of operations per byte, and where decode and prefill of a deployment lie.

Intensity is FLOP over bytes moved between a chip and its memory; peak and bandwidth are those of the data, so the roof is the
published one, and what decode and prefill reach below it is modelled. Source of the picture: Williams, Waterman, Patterson 2009,
"Roofline: an insightful visual performance model".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog
from fastmode.configure import asked, call_shape, flatten
from fastmode.evaluate import Evaluation
from fastmode.serving import Service, ServingConfig, architecture, serve_automatic
from fastmode.serving.architecture import Architecture
from fastmode.serving.bands import half_width
from fastmode.serving.service import OK
from fastmode.serving.tables import CHIP, FOUR_BIT, tables
from fastmode.side import Side

TERA = 1e12
LEVEL = 90  # % of the bands
BATCHES = (1.0, 4.0, 16.0, 64.0, 256.0)
PEAKS = ("bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops")
SEARCHED = np.geomspace(1.0, 1e7, 701)  # sequences of a stage
PREFILL_CHUNK = CHIP.index("prefill_chunk")


@dataclass(frozen=True, eq=False)
class Moved:
    """FLOP and bytes of one step of one stage group of chips, arrays of n: all chips of a replica's stages together.

    Useful products only; bytes as often as they are read, so copies of a cache count.
    """

    flop: NDArray
    weights_bytes: NDArray
    cache_bytes: NDArray  # with keys of an indexer and states of linear layers
    activation_bytes: NDArray

    @property
    def intensity(self) -> NDArray:
        """FLOP per byte."""
        return self.flop / (self.weights_bytes + self.cache_bytes + self.activation_bytes)


@dataclass(frozen=True, eq=False)
class Deployment:
    """What is counted: arrays of length 1 or n, from a Service. Chips of an attention group, groups in a stage, formats in bytes."""

    arch: Architecture
    attention_chips: NDArray
    groups: NDArray
    sram: NDArray  # bool
    shared_bytes: NDArray
    expert_bytes: NDArray
    value_bytes: NDArray  # per cached value
    context: NDArray


def deployment(service: Service, catalog: Catalog) -> Deployment:
    """What `service` keeps in memory, by the rules of serving/batch_fixed.py; NaN where it cannot be served."""
    table = tables(catalog)
    c = table.constants
    arch = architecture.student(architecture.gather(table, service.model), service.size_ratio)
    value_bytes = table.bytes_per_value[service.weight_precision]
    kept = FOUR_BIT[service.weight_precision] & (arch.attention_bytes_4bit > 0)
    attention_bytes = np.where(kept, arch.attention_bytes_4bit, value_bytes)
    stage_chips = np.maximum(np.floor(service.n_chips / (service.replicas * service.stages)), 1.0)
    return Deployment(
        arch=arch,
        attention_chips=service.tp,
        groups=stage_chips / service.tp,
        sram=np.isinf(table.chip[CHIP.index("bandwidth"), service.hardware]),
        shared_bytes=arch.attention_params * attention_bytes + arch.ffn_params * value_bytes + arch.head_params * c.bytes_bf16,
        expert_bytes=arch.expert_params * value_bytes,
        value_bytes=table.bytes_per_value[service.kv_precision],
        context=service.context_tokens,
    )


def active_parameters(arch: Architecture) -> NDArray:
    """Parameters that one token is multiplied with."""
    routed = arch.expert_params * (arch.experts_per_token / arch.experts)
    return arch.attention_params + arch.ffn_params + arch.head_params + routed


def decode_moved(d: Deployment, sequences: NDArray, queries: NDArray, catalog: Catalog) -> Moved:
    """One decode step of `sequences` running requests of a stage, each with `queries` new tokens (drafts + 1).

    2 FLOP a parameter and token; attention 2 x cached values x query heads a KV head. All weights of the shared part and the
    experts that the tokens touch are read once; each shard of a cache as often as chips hold it (serving/step.py).
    """
    c = tables(catalog).constants
    tokens = sequences * queries
    values = architecture.read_values(d.arch, d.context)
    per_token = 2.0 * (active_parameters(d.arch) + values * d.arch.decode_group + d.context * d.arch.index_products)
    flop = tokens * (per_token + d.arch.state_bytes * c.linear_flop_per_state_byte)
    coverage = architecture.expert_coverage(d.arch, tokens, c.coverage_exponent)
    copies = d.attention_chips / np.minimum(d.attention_chips, d.arch.kv_heads)
    read = architecture.read_values(d.arch, d.context, queries) * d.value_bytes * copies
    keys = d.context * d.arch.index_bytes * np.where(d.sram, 1.0, d.attention_chips)
    return Moved(
        flop=flop,
        weights_bytes=d.shared_bytes * d.groups + d.expert_bytes * coverage,
        cache_bytes=sequences * (read + keys + 2.0 * d.arch.state_bytes),
        activation_bytes=_activations(d, tokens / d.groups, c.activation_passes),
    )


def prefill_moved(d: Deployment, tokens: NDArray, fresh: NDArray, cached: NDArray, catalog: Catalog) -> Moved:
    """One chunk of `tokens` prompt tokens, from as many prompts of `fresh` tokens after `cached` ones as it has room for.

    Weights are read once a chunk, what is cached once for each prompt in it.
    """
    c = tables(catalog).constants
    with np.errstate(divide="ignore"):  # without fresh tokens there is no prefill: NaN follows
        prompts = np.maximum(tokens / fresh, 1.0)
    seen = architecture.prefill_values(d.arch, cached, fresh)
    per_token = 2.0 * (active_parameters(d.arch) + d.arch.prefill_group * seen)
    scored = np.where(cached + fresh > d.arch.sparse_tokens, cached + 0.5 * fresh, 0.0)
    per_token = per_token + 2.0 * scored * d.arch.index_products + d.arch.state_bytes * c.linear_flop_per_state_byte
    coverage = architecture.expert_coverage(d.arch, tokens, c.coverage_exponent)
    copies = d.attention_chips / np.minimum(d.attention_chips, d.arch.kv_heads)
    read = architecture.cached_values(d.arch, cached + 0.5 * fresh) * d.value_bytes * copies
    return Moved(
        flop=tokens * per_token,
        weights_bytes=d.shared_bytes * d.groups + d.expert_bytes * coverage,
        cache_bytes=prompts * (read + 2.0 * d.arch.state_bytes),
        activation_bytes=_activations(d, tokens, c.activation_passes),
    )


def _activations(d: Deployment, tokens_per_chip: NDArray, passes: float) -> NDArray:
    """Bytes of activations through the memory of all chips of a stage group (serving/step.py: `activation_passes` per token and layer)."""
    return d.arch.layers * passes * tokens_per_chip * d.arch.hidden * d.attention_chips * d.groups


@dataclass(frozen=True, eq=False)
class Roof:
    """One chip's roof and what the deployment does under it. Rates in FLOP/s per chip; arrays run over BATCHES.

    attained: modelled, NaN where the batch does not fit; low and high are its 90 % band, from that of time per output token.
    limit: intensity with ever more requests. bound_batch: requests over all chips from which decode is compute-bound, NaN = never.
    """

    label: str
    reference: bool
    peak_flops: float
    bandwidth: float
    peak_assumed: bool  # nobody publishes any peak of the part
    intensity: NDArray
    attained: NDArray
    low: NDArray
    high: NDArray
    batch: float  # of the side itself
    own_intensity: float
    own_attained: float
    prefill_intensity: float
    prefill_attained: float
    prefill_tokens: float  # of a chunk
    limit: float
    bound_batch: float
    max_batch: float
    service: Service  # one element a batch

    @property
    def ridge(self) -> float:
        """FLOP per byte from which the peak is the limit."""
        return self.peak_flops / self.bandwidth

    @property
    def memory_bound(self) -> bool:
        """Whether the side's own decode lies on the memory side of the ridge."""
        return self.own_intensity < self.ridge

    def attainable(self, intensity: NDArray) -> NDArray:
        """The roof: min(peak, bandwidth x intensity), FLOP/s per chip."""
        return np.minimum(self.peak_flops, self.bandwidth * np.asarray(intensity))


def roofs(e: Evaluation) -> list[Roof]:
    """Roofs of the scenario's chip and, where it is another part or format, of the reference's; sides without figures are left out.

    An evaluation of single values. Both serve the task's lengths on their own chips, laid out for each batch as the side asks or
    automatically; `limit` and `bound_batch` are those of the layout at the largest batch drawn.
    """
    _shape, v = flatten(e.scenario)
    now = _roof(e.now, asked(v, e.catalog) | call_shape(v), False, e.catalog)
    plain = {"speculation": np.array([-1]), "draft_tokens": np.zeros(1)} | {name: np.zeros(1) for name in ("tp", "pp", "dp", "ep")}
    other = _roof(e.reference, asked(v, e.catalog) | call_shape(v) | plain, True, e.catalog)
    if now and other and (now.label, now.peak_flops) == (other.label, other.peak_flops):
        other = None
    return [roof for roof in (now, other) if roof]


def _roof(side: Side, v: dict[str, NDArray], reference: bool, catalog: Catalog) -> Roof | None:
    service = side.service
    if service.status[0] != OK:
        return None
    table = tables(catalog)
    row = catalog.hardware.iloc[int(service.hardware[0])]
    draft = np.where(v["speculation"] >= 0, np.minimum(v["draft_tokens"], table.accept_length.shape[1] - 1.0), 0.0)
    queries = 1.0 + draft
    served = serve_automatic(_at_batches(service, v), catalog)
    (intensity, attained), (own, reached) = (_under_roof(s, queries, catalog) for s in (served, service))
    half = half_width(served, table, "tpot", LEVEL)
    fits = np.flatnonzero(served.status == OK)
    widest = served.slice(fits[-1], fits[-1] + 1) if fits.size else service
    chunk = table.chip[PREFILL_CHUNK, service.hardware]
    prompt = prefill_moved(deployment(service, catalog), chunk, v["fresh_tokens"], v["cached_tokens"], catalog)
    prefill = prompt.flop / chunk * service.prefill_tokens_per_s / service.n_chips
    peak = float(table.peak_flops[service.hardware, service.weight_precision][0])
    bandwidth = float(row["memory_bw_tb_s"]) * TERA
    return Roof(
        label=str(row["label"]), reference=reference, peak_flops=peak, bandwidth=bandwidth,
        peak_assumed=all(np.isnan(float(row[name])) for name in PEAKS),
        intensity=intensity, attained=attained, low=attained * np.exp(-half), high=attained * np.exp(half),
        batch=float(service.batch[0]), own_intensity=float(own[0]), own_attained=float(reached[0]),
        prefill_intensity=float(prompt.intensity[0]), prefill_attained=float(prefill[0]), prefill_tokens=float(chunk[0]),
        limit=_limit(deployment(widest, catalog), queries, catalog), bound_batch=_bound_batch(widest, queries, peak / bandwidth, catalog),
        max_batch=float(widest.max_batch[0]), service=served,
    )  # fmt: skip


def _under_roof(s: Service, queries: NDArray, catalog: Catalog) -> tuple[NDArray, NDArray]:
    """Intensity of decode, and the FLOP/s per chip that it reaches; NaN where it cannot be served."""
    d = deployment(s, catalog)
    intensity = decode_moved(d, np.maximum(s.batch / (s.stages * s.replicas), 1.0), queries, catalog).intensity
    # A step serves all running requests once, however the stages take turns.
    per_request = decode_moved(d, np.ones(1), queries, catalog).flop
    return intensity, s.batch * per_request / (s.step_s * s.n_chips)


def _limit(d: Deployment, queries: NDArray, catalog: Catalog) -> float:
    """Intensity where the weights are shared by ever more requests: of cache and activations alone."""
    one = decode_moved(d, np.ones(1), queries, catalog)
    return float(replace(one, weights_bytes=np.zeros(1)).intensity[0])


def _bound_batch(s: Service, queries: NDArray, ridge: float, catalog: Catalog) -> float:
    """Fewest running requests with which a step of this layout is compute-bound, in between read off the logarithms; NaN = none.

    1 where a lone request is.
    """
    intensity = decode_moved(deployment(s, catalog), SEARCHED, queries, catalog).intensity
    beyond = np.flatnonzero(intensity >= ridge)
    if not beyond.size:
        return np.nan
    first = beyond[0]
    if not first:
        return 1.0
    part = slice(first - 1, first + 1)
    sequences = np.exp(np.interp(np.log(ridge), np.log(intensity[part]), np.log(SEARCHED[part])))
    return float(sequences * s.stages[0] * s.replicas[0])


def _at_batches(service: Service, v: dict[str, NDArray]) -> ServingConfig:
    """The side's own chips and formats at each of BATCHES."""
    names = ("context_tokens", "fresh_tokens", "cached_tokens", "output_tokens", "speculation", "draft_tokens", "tp", "pp", "dp", "ep")
    return ServingConfig(
        model=service.model, hardware=service.hardware, n_chips=service.n_chips, weight_precision=service.weight_precision,
        kv_precision=service.kv_precision, engine=service.engine, batch=np.array(BATCHES),
        size_ratio=service.size_ratio, **{name: v[name] for name in names},
    )  # fmt: skip
