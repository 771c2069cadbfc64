"""Claims on the batch, the prompt and speculation on GPUs (C06-C08, C12, C14, C44, C46).

All of them look at the founding standard option under the default task, and at the same option on the stand-in models its
row lists as alternatives, which gives low and high.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode.claims.found import (
    CODEX,
    CONTRADICTED,
    FAST,
    MOST,
    PARTLY,
    ROUNDING,
    STANDARD,
    SUPPORTED,
    Facts,
    Finding,
    Unknown,
    known,
    only,
    over_standins,
    pairs_agree,
    parts,
    same,
)  # fmt: skip
from fastmode.first_token import host_link_bytes_per_s, upload
from fastmode.i18n import _
from fastmode.serving import Service

PER_CHIP, PER_USER = "output_tok_s_per_chip", "output_tok_s_per_user"
# What must agree for two measured rows to differ in concurrency alone.
_SETTING = [
    "model_id", "hardware_id", "clean_grade", "source_name", "n_chips", "tp", "pp", "ep", "dp", "weight_precision",
    "kv_precision", "engine", "engine_version", "spec_decode", "input_tokens", "output_tokens",
]  # fmt: skip


def measured_steps(f: Facts, column: str) -> tuple[int, int]:
    """(pairs in which the column rises, pairs in which it falls) among measured rows that differ in concurrency alone.

    Each row is paired with the one of the next higher concurrency.
    """
    rows = f.catalog.measured
    speed = rows[PER_USER].fillna(1e3 / rows["tpot_ms"])
    rows = rows.assign(**{PER_USER: speed}).dropna(subset=[column, "concurrency_or_batch"])
    rows = rows.assign(setting=rows.groupby(_SETTING, dropna=False).ngroup())
    steps = rows.groupby(["setting", "concurrency_or_batch"])[column].median().groupby("setting").diff().dropna()
    return int((steps > 0).sum()), int((steps < 0).sum())


def _sequences(f: Facts) -> NDArray:
    """Every batch from one request to that of the founding standard option."""
    return np.arange(1.0, f.setting(STANDARD, "batch_size") + 1.0)


def _by_standin(f: Facts, batch: NDArray) -> Service:
    """The founding standard option at each batch, for its stand-in (the first row) and each alternative."""
    return f.served(STANDARD, model=np.array(f.standins(STANDARD))[:, None], batch_size=batch[None, :])


def _small_over_large(f: Facts) -> tuple[Service, int, NDArray]:
    """The founding option at the fast and at the standard batch: the service, models in it, and both batches."""
    batch = np.array([f.setting(FAST, "batch_size"), f.setting(STANDARD, "batch_size")])
    return _by_standin(f, batch), len(f.standins(STANDARD)), batch


def price_of_speed(f: Facts) -> Finding:
    """C06: decode-cost ratio of the batch at which the claimed speed ratio is reached; the same ratio as claimed is supported,
    the speed reached at another cost is partly supported.

    Speed: output tokens of one user, prefill of the others included; cost: chip time per decoded token, a price that follows
    cost. The basis gives the ratio of the provider's whole cost as well: chip time per output token, prefill of the same requests
    included, which does not shrink with the batch. Closed form for a decode step affine in batch, t = a + c B, at a price that follows t/B: batch ratio r_v r_p, batch-dependent share of the fast
    step (r_v - 1)/(r_v r_p - 1).
    """
    price, gain = f.claimed(2)
    batch = _sequences(f)
    s = _by_standin(f, batch)
    speed, decode = (a.reshape(-1, batch.size) for a in (s.tokens_per_s_per_user, s.decode_tokens_per_s))
    known(speed[0], decode[0])
    output = s.output_tokens_per_s.reshape(decode.shape)[0]  # all chips, the prefill of the same requests included
    speed, cost, whole_cost = speed / speed[:, -1:], decode[:, -1:] / decode, output[-1] / output
    if speed[0].max() < gain:
        basis = _(
            "{model} on the founding hardware never gets {gain} the speed of batch {batch}: alone it is {most}."
        ).format(
            model=f.model_name(STANDARD),
            gain=fmt.ratio(gain),
            batch=fmt.number(batch[-1]),
            most=fmt.ratio(speed[0].max()),
        )
        return Finding(
            CONTRADICTED, "model", unit="x price", basis=basis, link=f.state("/trade_offs", STANDARD, "batch")
        )
    # Speed does not rise with batch, so the curve is read backwards. A model that does not get there has no figure.
    reached = np.array([np.interp(gain, v[::-1], c[::-1], right=np.nan) for v, c in zip(speed, cost, strict=True)])
    at_batch, whole = (float(np.interp(gain, speed[0][::-1], a[::-1])) for a in (batch, whole_cost))
    value, low, high = over_standins(reached)
    factor = gain * price
    closed = float(np.interp(batch[-1] / factor, batch, speed[0]))
    basis = _(
        "Batch {large} to {small} gives {gain} at a decode cost of {cost} (the provider's whole cost, prefill included: {whole}), a slope of {slope} where the prices have {claimed}. Price following cost, {price} needs a batch {factor} smaller and a fast step of which {share} grows with batch; ours is {closed} as fast there."
    ).format(
        large=fmt.number(batch[-1]), small=fmt.number(at_batch), gain=fmt.ratio(gain), cost=fmt.ratio(value),
        whole=fmt.ratio(whole), slope=fmt.number(np.log(value) / np.log(gain)), claimed=fmt.number(np.log(price) / np.log(gain)),
        price=fmt.ratio(price), factor=fmt.ratio(factor), share=fmt.share((gain - 1.0) / (factor - 1.0)),
        closed=fmt.ratio(closed),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, "batch", batch_size=at_batch)
    return Finding(SUPPORTED if same(value, price) else PARTLY, "model", value, "x price", basis, place, low, high)


def memory_bound(f: Facts) -> Finding:
    """C07: share of the time per output token that reading memory costs at the standard batch: what a memory without end to its
    bandwidth would save. Products that reads hide come to light then, so it is not merely the time of the reads.

    Supported where it is most of the time at every batch from one request to that; partly supported where it is more than what
    computing costs (endless FLOP/s, prefill of others included) at every batch. low and high: over the batches.
    """
    batch, part = _sequences(f), f.setting(CODEX, "hardware")
    columns = ("bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops")
    fast_memory = f.with_part(part, memory_bw_tb_s=np.inf)
    fast_products = f.with_part(part, **dict.fromkeys(columns, np.inf))
    whole, no_reads, no_products = (x.served(CODEX, batch_size=batch).tpot_s for x in (f, fast_memory, fast_products))
    known(whole, no_reads, no_products)
    memory, computing = 1.0 - no_reads / whole, 1.0 - no_products / whole
    verdict = SUPPORTED if (memory > MOST).all() else PARTLY if (memory > computing).all() else CONTRADICTED
    basis = _(
        "{model}: memory without limit would save {memory} of the time per token at batch {batch}, products without limit {computing}, prefill of others included; at batch 1 {alone} and {alone_computing}."
    ).format(
        model=f.model_name(CODEX), memory=fmt.share(memory[-1]), batch=fmt.number(batch[-1]),
        computing=fmt.share(computing[-1]), alone=fmt.share(memory[0]), alone_computing=fmt.share(computing[0]),
    )  # fmt: skip
    place = f.state("/trade_offs", CODEX, batch_size=batch[-1])
    low, high = 100 * memory.min(), 100 * memory.max()
    return Finding(verdict, "model", 100 * memory[-1], "%", basis, place, low, high)


def prompt_upload(f: Facts) -> Finding:
    """C08: time to copy the token numbers of the whole context to the GPU as a share of the time to first token.

    Bytes and link: see first_token.py. Supported where copying takes most of that time, partly where it takes more than ROUNDING of it.
    """
    tokens = max(f.default("context_tokens"), f.default("n_in") / f.default("calls"))
    vocabulary = float(f.catalog.models.at[f.setting(CODEX, "model"), "vocab_size"])
    s = f.served(CODEX)
    first_s, reads_s = only(s.ttft_s), only(s.weights_s + s.kv_s)
    known(vocabulary, host_link_bytes_per_s(f.catalog), first_s, reads_s)
    size, copy_s = (float(a) for a in upload(tokens, vocabulary, f.catalog))
    share = copy_s / first_s
    verdict = SUPPORTED if share > MOST else PARTLY if share > ROUNDING else CONTRADICTED
    basis = _(
        "{tokens} token numbers are {size} MB: {copy} ms over the slowest PCIe link, in a time to first token of {first}; one step then spends {reads} ms on weights and attention."
    ).format(
        tokens=fmt.number(tokens), size=fmt.number(size / 1e6), copy=fmt.number(1e3 * copy_s),
        first=fmt.duration(first_s), reads=fmt.number(1e3 * reads_s),
    )  # fmt: skip
    return Finding(verdict, "model", 100 * share, "%", basis, f.state("", CODEX))


def throughput(f: Facts) -> Finding:
    """C12: output of a chip at the fast batch over that at the standard one; the model must fall over the whole range, and so
    must measured rows from a higher to a lower concurrency."""
    whole = f.served(STANDARD, batch_size=_sequences(f))
    s, models, batch = _small_over_large(f)
    output = (s.output_tokens_per_s / s.n_chips).reshape(models, 2)
    value, low, high = over_standins(output[:, 0] / output[:, 1])
    rises, falls = measured_steps(f, PER_CHIP)
    known(whole.output_tokens_per_s)
    modelled = bool((np.diff(whole.output_tokens_per_s / whole.n_chips) > 0).all())
    basis = _(
        "A chip gives {small_rate} tok/s at batch {small} and {large_rate} at {large}; of {pairs} measured pairs that differ in concurrency alone, {rises} give more per chip at the larger one."
    ).format(
        small_rate=fmt.number(output[0, 0]), small=fmt.number(batch[0]), large_rate=fmt.number(output[0, 1]),
        large=fmt.number(batch[1]), pairs=fmt.number(rises + falls), rises=fmt.number(rises),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, "batch", batch_size=batch[0])
    return Finding(parts(modelled, pairs_agree(rises, falls)), "model", value, "x", basis, place, low, high)


def after_first_token(f: Facts) -> Finding:
    """C14: share of the time a call saves by the fast instead of the standard batch that is saved after its first token.

    Two parts: the wait before the first token is at most ROUNDING of the saving, and measured users get their tokens faster at
    lower concurrency.
    """
    s, models, batch = _small_over_large(f)
    tokens = max(f.default("n_out") / f.default("calls"), 1.0)
    first, each = (a.reshape(models, 2) for a in (s.ttft_s, s.tpot_s))
    saved_first, saved_each = first[:, 1] - first[:, 0], tokens * (each[:, 1] - each[:, 0])
    value, low, high = over_standins(100 * saved_each / (saved_first + saved_each))
    rises, falls = measured_steps(f, PER_USER)
    basis = _(
        "Batch {large} to {small} saves {first} before the first token of a call and {later} in its {tokens} tokens; of {pairs} measured pairs that differ in concurrency alone, {falls} give a user fewer tokens per second at the larger one."
    ).format(
        large=fmt.number(batch[1]), small=fmt.number(batch[0]), first=fmt.duration(saved_first[0]),
        later=fmt.duration(saved_each[0]), tokens=fmt.number(tokens), pairs=fmt.number(rises + falls),
        falls=fmt.number(falls),
    )  # fmt: skip
    verdict = parts(value >= 100 * (1.0 - ROUNDING), pairs_agree(falls, rises))
    place = f.state("/trade_offs", STANDARD, "batch", batch_size=batch[0])
    return Finding(verdict, "model", value, "%", basis, place, low, high)


def speculation(f: Facts) -> Finding:
    """C44: the most that speculative decoding alone adds to the speed at the standard batch, over all measured accept-length
    curves and draft lengths; low: over the curves, the least of their best.

    Two parts: it falls short of the multiple the vendor states, and the vendor is known to use it already.
    """
    stated = f.number(FAST, "speed_multiplier_vs_standard")
    curves = [str(curve) for curve in f.catalog.accept_length["id"].unique()]
    drafts = np.arange(1.0, f.catalog.accept_length["draft_tokens"].max() + 1.0)
    batch = np.array([f.setting(STANDARD, "batch_size"), f.setting(FAST, "batch_size")])
    s = f.served(
        STANDARD, batch_size=batch[:, None, None], speculation=np.array(["none", *curves])[:, None], draft_tokens=drafts
    )
    speed = s.tokens_per_s_per_user.reshape(batch.size, -1, drafts.size)
    best = (speed[:, 1:] / speed[:, :1]).max(axis=2)
    if not best.size:
        raise Unknown
    known(best)
    value, small = float(best[0].max()), float(best[1].max())
    endpoints = f.catalog.endpoints
    own = endpoints[endpoints["provider"] == f.text(FAST, "provider")]
    in_use = bool(own["mode"].str.contains("speculative").any())
    basis = _(
        "At batch {batch} the best of {curves} measured accept-length curves adds {value}, at batch {few} {small}; the vendor states {stated}."
    ).format(
        batch=fmt.number(batch[0]), curves=len(curves), value=fmt.ratio(value), few=fmt.number(batch[1]), small=fmt.ratio(small), stated=fmt.ratio(stated),
    )  # fmt: skip
    use = _("It uses speculation already.") if in_use else _("Whether it uses speculation already is not published.")
    verdict = parts(value < stated * (1.0 - ROUNDING), in_use)
    place = f.state("/trade_offs", STANDARD, "batch", speculation=curves[best[0].argmax()])
    return Finding(verdict, "model", value, "x", f"{basis} {use}", place, float(best[0].min()), value)


def plain_batching(f: Facts) -> Finding:
    """C46: speed of one user at the standard batch over that of a lone request; of its two parts, the cost falls with batch and
    the speed of a user rises with it.

    Either must hold in the model at every batch and, for the speed, in measured rows.
    """
    batch = _sequences(f)
    s = _by_standin(f, batch)
    speed, rate = (a.reshape(-1, batch.size) for a in (s.tokens_per_s_per_user, s.output_tokens_per_s))
    known(speed[0], rate[0])
    value, low, high = over_standins(speed[:, -1] / speed[:, 0])
    rises, falls = measured_steps(f, PER_USER)
    cheaper = bool((np.diff(rate[0]) > 0).all())
    faster = bool((np.diff(speed[0]) > 0).all()) and pairs_agree(rises, falls)
    basis = _(
        "From batch 1 to {batch} the provider's cost per token falls to {cost} and the speed of a user to {speed}; all users together get {rate}. Of {pairs} measured pairs that differ in concurrency alone, {falls} are slower for a user at the larger one."
    ).format(
        batch=fmt.number(batch[-1]), cost=fmt.ratio(rate[0, 0] / rate[0, -1]), speed=fmt.ratio(value),
        rate=fmt.ratio(rate[0, -1] / rate[0, 0]), pairs=fmt.number(rises + falls), falls=fmt.number(falls),
    )  # fmt: skip
    place = f.state("/trade_offs", STANDARD, "batch", batch_size=batch[-1])
    return Finding(parts(cheaper, faster), "model", value, "x", basis, place, low, high)
