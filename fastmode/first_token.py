"""What the first token waits for: handshake, queue, prefill and one step, and what a prompt's way to the chips costs.

Where a published or guessed TTFT is shown, the modelled parts are scaled to it as the rest of the app scales it: they tell how a
TTFT divides, not how long each part was measured to take. A decode batch does not enter a prefill at all; it enters the wait behind
the prefills of others, and the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.evaluate import evaluate
from fastmode.i18n import N_, _
from fastmode.scenario import Scenario
from fastmode.serving import Service, architecture
from fastmode.serving.tables import FOUR_BIT, tables
from fastmode.side import Side

# Parts of a TTFT in their order, with the words for them.
PARTS = {
    "handshake": N_("handshake"),
    "queue": N_("queue"),
    "prefill": N_("prefill"),
    "step": N_("first step"),
}
BITS_PER_BYTE = 8.0
GIGA = 1e9


@dataclass(frozen=True, eq=False)
class Split:
    """Seconds of one call before its first token, arrays that broadcast. scaled: shown over modelled (1 = the model alone)."""

    handshake: NDArray
    queue: NDArray
    prefill: NDArray
    step: NDArray
    scaled: NDArray

    @property
    def total_s(self) -> NDArray:
        return self.handshake + self.queue + self.prefill + self.step

    def parts(self, index: int = 0) -> dict[str, float]:
        """One element by the keys of PARTS."""
        values = {name: np.ravel(getattr(self, name)) for name in PARTS}
        return {name: float(array[index if array.size > 1 else 0]) for name, array in values.items()}


def split(side: Side, kept: bool = False, hidden: bool = False) -> Split:
    """A side's TTFT as a client sees it, by parts.

    kept: the connection stays open for a task, so a call bears 1/calls of a handshake. hidden: all of the prompt was streamed and
    prefilled while it was typed; an upper bound, and only of a call that begins with typing.
    """
    service = side.service
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = side.ttft_s / service.ttft_s
        step = service.ttft_s - service.queue_s - service.prefill_s
        handshake = side.handshake_s / np.maximum(side.inputs.calls, 1.0) if kept else side.handshake_s
    prefill = np.zeros_like(scaled) if hidden else scaled * service.prefill_s
    return Split(np.asarray(handshake, float), scaled * service.queue_s, prefill, scaled * step, scaled)


@dataclass(frozen=True, eq=False)
class Waits:
    """Seconds one attempt at a task waits for the model: before first tokens, and while it writes. Tools are not in it."""

    first_s: NDArray
    writing_s: NDArray

    @property
    def first_share(self) -> NDArray:
        return self.first_s / (self.first_s + self.writing_s)


def waits(side: Side, kept: bool = False, hidden: bool = False) -> Waits:
    """calls x (handshake + TTFT) and n_out / speed, as in the wait of a task; kept: one handshake; hidden: one prefill less."""
    v = side.inputs
    first = v.calls * side.ttft_s + side.handshake_s * (1.0 if kept else v.calls)
    if hidden:  # a task begins with typing once; its other calls are sent by the machine
        first = first - split(side).prefill
    with np.errstate(invalid="ignore", divide="ignore"):
        return Waits(first, v.n_out / side.tokens_per_s)


def at_batches(scenario: Scenario, service: Service, batches: Sequence[float], catalog: Catalog) -> tuple[NDArray, Split]:
    """(batches that fit, the model's own split at each) of a deployment with its chips held; no quoted figure in it."""
    fits = np.array([b for b in batches if b <= service.max_batch[0]])
    held = {"pp": float(service.stages[0])} if scenario.n_chips == 0 and scenario.tp else {}
    asked = replace(
        scenario, load="batch", batch_size=fits, n_chips=float(service.n_chips[0]), anchor="model", anchor_ttft_s=None,
        slo_ttft_s=None, slo_tpot_s=None, **held,
    )  # fmt: skip
    return fits, split(evaluate(asked, catalog).now)


def handshake_shares(handshake_s: ArrayLike, ttft_s: ArrayLike, tokens: ArrayLike, tokens_per_s: ArrayLike) -> tuple[NDArray, NDArray]:
    """Share of a handshake in the TTFT a client sees, and in the whole call: handshake + ttft_s + tokens / speed."""
    h, first = np.asarray(handshake_s, float), np.asarray(ttft_s, float)
    return h / (h + first), h / (h + first + np.asarray(tokens, float) / tokens_per_s)


# --- the way of a prompt


def token_bytes(vocabulary: ArrayLike) -> NDArray:
    """Bytes of a token's number: the fewest, in powers of two, that tell the vocabulary apart."""
    return 2.0 ** np.ceil(np.log2(np.ceil(np.log2(vocabulary) / BITS_PER_BYTE)))


def host_link_bytes_per_s(catalog: Catalog) -> float:
    """One direction of the slowest PCIe link of any part; the catalogue has both directions together."""
    hardware = catalog.hardware
    pcie = hardware[hardware["interconnect_name"].str.startswith("PCIe")]["interconnect_gb_s_per_chip"].min()
    return float(pcie) * GIGA / 2.0


def upload(tokens: ArrayLike, vocabulary: ArrayLike, catalog: Catalog) -> tuple[NDArray, NDArray]:
    """(bytes, seconds) of a prompt's token numbers over the host link."""
    size = np.asarray(tokens, float) * token_bytes(vocabulary)
    return size, size / host_link_bytes_per_s(catalog)


def step_bytes(service: Service, catalog: Catalog) -> tuple[NDArray, NDArray]:
    """(weights, KV cache) bytes that one step reads, each value once however many copies are held; shape of the service.

    Weights: the shared ones and the routed experts that the step's tokens touch. KV: of every sequence that runs. In a pipeline a
    stage works on its part of the batch, and so much is read for one pass. As in serving/step.py.
    """
    table = tables(catalog)
    c = table.constants
    arch = architecture.student(architecture.gather(table, service.model), service.size_ratio)
    value = table.bytes_per_value[service.weight_precision]
    wider = FOUR_BIT[service.weight_precision] & (arch.attention_bytes_4bit > 0)
    shared = arch.attention_params * np.where(wider, arch.attention_bytes_4bit, value)
    shared = shared + arch.ffn_params * value + arch.head_params * c.bytes_bf16
    together = np.maximum(service.batch / service.replicas / service.stages, 1.0)
    touched = architecture.expert_coverage(arch, together, c.coverage_exponent)
    cache = architecture.read_values(arch, service.context_tokens) * table.bytes_per_value[service.kv_precision]
    return shared + arch.expert_params * value * touched, together * cache


@dataclass(frozen=True)
class Way:
    """What moves, over what, how much and how long."""

    label: str
    bytes: float
    seconds: float


def ways(side: Side, catalog: Catalog) -> list[Way]:
    """The prompt over the host link beside what one step reads from memory, of a side of single values.

    Empty where the model gives no time to reading weights: nothing is served, or SRAM machines, where it is within the time of
    a layer.
    """
    service = side.service
    read_s = float(service.weights_s[0])
    if not read_s > 0.0:
        return []
    vocabulary = float(catalog.models["vocab_size"].iloc[int(service.model[0])])
    size, seconds = upload(float(service.context_tokens[0]), vocabulary, catalog)
    weights, cache = (float(array[0]) for array in step_bytes(service, catalog))
    return [
        Way(_("the prompt, over the host link"), float(size), float(seconds)),
        Way(_("attention over the KV cache, one step"), cache, float(service.kv_s[0])),
        Way(_("weights, read by one step"), weights, read_s),
    ]


def bytes_text(size: float) -> str:
    """An amount of data: "128 kB", "1.2 TB"."""
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= scale * 0.9995:
            return fmt.join_unit(fmt.number(size / scale), unit)
    return fmt.join_unit(fmt.number(size), "B")


def short_time(seconds: float) -> str:
    """A time below a second in the unit that suits it: "8 \u00b5s", "103 ms"; else as everywhere."""
    for scale, unit in ((1e-6, "\u00b5s"), (1e-3, "ms")):
        if 0.0 < seconds < 1e3 * scale * 0.9995:
            return fmt.join_unit(fmt.number(seconds / scale), unit)
    return fmt.duration(seconds)
