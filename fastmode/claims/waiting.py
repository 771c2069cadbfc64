"""Claims on waiting: for a batch, for its prompt and for the connection (C09, C10, C38-C40, C56-C58).

Waiting in traffic is that of requests which arrive at random (serving.traffic), with the spread of output lengths at its default;
a batch that is collected first is serving.traffic.static_batch. low and high are those of the stand-in models a preset lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode import scenario as scenarios
from fastmode.catalog import Catalog
from fastmode.claims.batches import PER_CHIP, PER_USER, measured_steps
from fastmode.i18n import _
from fastmode.serving import ServingConfig, StaticBatch, Traffic, serve_traffic, simulate, static_batch
from fastmode.serving.static import HELD_TO_LOAD

from fastmode.claims.found import (  # isort: skip
    CODEX, CONTRADICTED, MEASURED, MOST, PARTLY, ROUNDING, SPARK, STANDARD, SUPPORTED, UNTESTED, Facts, Finding, agreed,
    known, only, over_standins, pairs_agree, parts,
)  # fmt: skip

LOADS = np.array([0.1, 0.8, 0.9])  # of the saturation rate; the traffic model is checked against the simulation up to 0.8
LIGHT, BUSY, BUSIER = range(3)
INSTANT_S = 1.0  # "almost instantly"
REQUESTS, DROPPED, SEED = 10_000, 1_000, 1
CHAT = "chat"


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A preset on each of its stand-in models: figures of shape (models, loads), the stand-in of the preset first."""

    config: ServingConfig  # one deployment a model, at the preset's batch
    traffic: Traffic

    def of(self, name: str) -> NDArray:
        """A figure of the traffic. Raises Unknown where the first model has none."""
        values = getattr(self.traffic, name).reshape(-1, LOADS.size)
        known(values[0])
        return values

    @property
    def waiting_s(self) -> NDArray:
        """Mean wait for earlier prefills and for a place."""
        return self.of("prefill_wait_s") + self.of("slot_wait_s")


@lru_cache(maxsize=8)
def _loaded(catalog: Catalog, preset: str, task: str) -> _Loaded:
    f, field = Facts(catalog, ""), scenarios.expand_profile(task, catalog)
    value = {name: float(field.get(name, f.default(name))) for name in ("n_in", "n_out", "calls", "context_tokens")}
    s = f.served(preset, model=np.array(f.standins(preset)), **field)
    fresh = value["n_in"] / value["calls"]
    context = max(value["context_tokens"], fresh)

    def config(times: int) -> ServingConfig:
        own = ("model", "hardware", "n_chips", "engine", "weight_precision", "kv_precision")
        return ServingConfig(
            **{name: np.repeat(getattr(s, name), times) for name in own}, batch=f.setting(preset, "batch_size"),
            context_tokens=context, fresh_tokens=fresh, cached_tokens=context - fresh,
            output_tokens=max(value["n_out"] / value["calls"], 1.0),
        )  # fmt: skip

    spread = f.default("length_cv")
    most = serve_traffic(config(1), 0.0, catalog, spread).saturation_requests_per_s
    rates = most[:, None] * LOADS
    return _Loaded(config(1), serve_traffic(config(LOADS.size), rates.ravel(), catalog, spread))


def _standard(f: Facts) -> _Loaded:
    return _loaded(f.catalog, STANDARD, str(f.default("task")))


def _tab(address: str, tab: str) -> str:
    return f"{address}&{urlencode({'tab': tab})}"


def longer_wait(f: Facts) -> Finding:
    """C09: time of a call at the standard batch over that of a lone request: time to first token and a time per token for each.

    Two parts, the throughput of a chip rises and so does the time of a call, each over every batch in the model and in nine in ten
    measured pairs, there as output tokens/s per chip and per user.
    """
    batch = np.arange(1.0, f.setting(STANDARD, "batch_size") + 1.0)
    s = f.served(STANDARD, model=np.array(f.standins(STANDARD))[:, None], batch_size=batch)
    tokens = max(f.default("n_out") / f.default("calls"), 1.0)
    call, rate = ((a.reshape(-1, batch.size)) for a in (s.ttft_s + (tokens - 1.0) * s.tpot_s, s.output_tokens_per_s))
    known(call[0], rate[0])
    value, low, high = over_standins(call[:, -1] / call[:, 0])
    more, less = measured_steps(f, PER_CHIP)
    faster, slower = measured_steps(f, PER_USER)
    throughput = bool((np.diff(rate[0]) > 0).all()) and pairs_agree(more, less)
    waits = bool((np.diff(call[0]) > 0).all()) and pairs_agree(slower, faster)
    basis = _(
        "From batch 1 to {batch} a chip gives {rate} the output tokens and a call takes {last} instead of {first}. Of measured pairs that differ in concurrency alone, {more} of {chips} give more per chip at the larger one and {slower} of {users} fewer tokens per second to a user."
    ).format(
        batch=fmt.number(batch[-1]), rate=fmt.ratio(rate[0, -1] / rate[0, 0]), last=fmt.duration(call[0, -1]),
        first=fmt.duration(call[0, 0]), more=fmt.number(more), chips=fmt.count(more + less), slower=fmt.number(slower),
        users=fmt.number(faster + slower),
    )  # fmt: skip
    place = _tab(f.state("/batching", STANDARD, batch_size=batch[-1]), "Fast against cheap")
    return Finding(parts(throughput, waits), "model", value, "x wait of a call", basis, place, low, high)


def _static(f: Facts, loaded: _Loaded, load: float, spread: float) -> StaticBatch:
    """The same deployments if a batch is collected first, at a share of what they then carry."""
    most = static_batch(loaded.config, 1.0, spread, f.catalog).saturation_requests_per_s
    return static_batch(loaded.config, load * most, spread, f.catalog)


def batching_wait(f: Facts) -> Finding:
    """C10: time to first token where a batch of the standard size is collected first, over that where requests join the running
    one, at the same traffic: half of what the collected batch carries.

    Two parts: removing that wait shortens the time to first token, and continuous batching leaves one to be removed: more than
    ROUNDING of the time to first token at a load of 0.8, not decided where the stand-in models differ on that.
    """
    loaded, spread = _standard(f), f.default("length_cv")
    collected = _static(f, loaded, HELD_TO_LOAD, spread)
    rate = collected.load * collected.saturation_requests_per_s
    joined = serve_traffic(loaded.config, rate, f.catalog, spread)
    value, low, high = over_standins(collected.ttft_s / joined.ttft_s)
    share = loaded.waiting_s[:, BUSY] / loaded.of("ttft_s")[:, BUSY]
    left, least, most = over_standins(share)
    remains = True if least > ROUNDING else False if most <= ROUNDING else None
    basis = _(
        "At {rate} requests/s a batch of {batch} collected first gives the first token after {collected}, one that requests join after {joined}. In the second, at a load of {load}, waiting is {left} of the time to first token ({least} to {most} over the stand-ins). {rest}"
    ).format(
        rate=fmt.number(only(rate)), batch=fmt.number(f.setting(STANDARD, "batch_size")),
        collected=fmt.duration(only(collected.ttft_s)), joined=fmt.duration(only(joined.ttft_s)), load=fmt.number(LOADS[BUSY]),
        left=fmt.share(left), least=fmt.share(least), most=fmt.share(most),
        rest=_("That is still there to remove.") if remains else _("Hardly anything is left to remove."),
    )  # fmt: skip
    place = f.state("/batching", STANDARD, load=scenarios.TRAFFIC, requests_per_s=only(rate))
    return Finding(parts(value > 1.0, remains), "model", value, "x TTFT", basis, _tab(place, "The bus"), low, high)


def almost_no_wait(f: Facts) -> Finding:
    """C38: share of the time to first token that a request waits for earlier prefills and for a place, at a load of 0.8.

    Up to ROUNDING of it is supported and up to MOST partly supported; the verdict is the one of all stand-in models, else partly.
    The wait of the stand-in is simulated as well, each prefill as an event of its own, and stands in the basis.
    """
    loaded = _standard(f)
    waits, first = loaded.waiting_s, loaded.of("ttft_s")
    share = waits[:, BUSY] / first[:, BUSY]
    value, low, high = over_standins(100 * share)
    judged = [SUPPORTED if x <= ROUNDING else PARTLY if x <= MOST else CONTRADICTED for x in share[np.isfinite(share)]]
    clients = f.served(STANDARD)
    busiest = waits[0, BUSIER] / first[0, BUSIER]
    basis = _(
        "Requests that arrive at random at {load} of saturation wait {wait} of {first} for their first token (simulated wait {simulated}), {call} of the whole call; at {more} of saturation {busiest} of the time to first token. A fixed {batch} clients who all come back at once wait {queue} of {fixed}."
    ).format(
        load=fmt.number(LOADS[BUSY]), wait=fmt.duration(waits[0, BUSY]), first=fmt.duration(first[0, BUSY]),
        simulated=fmt.duration(_simulated_wait_s(f, loaded)), call=fmt.share(waits[0, BUSY] / _call_s(loaded)[0, BUSY]),
        more=fmt.number(LOADS[BUSIER]), busiest=fmt.share(busiest), batch=fmt.number(only(clients.batch)),
        queue=fmt.duration(only(clients.queue_s)), fixed=fmt.duration(only(clients.ttft_s)),
    )  # fmt: skip
    rate = loaded.of("requests_per_s")[0, BUSY]
    place = _tab(f.state("/batching", STANDARD, load=scenarios.TRAFFIC, requests_per_s=rate), "The bus")
    return Finding(agreed(*judged), "model", value, "% of TTFT", basis, place, low, high)


def _call_s(loaded: _Loaded) -> NDArray:
    tokens = float(np.ravel(loaded.config.output_tokens)[0])
    return loaded.of("ttft_s") + (tokens - 1.0) * loaded.of("tpot_s")


def _simulated_wait_s(f: Facts, loaded: _Loaded) -> float:
    """Mean wait of the stand-in at the busy load in the event simulation; prefills run one after the other."""
    most = loaded.traffic.service.max_batch[0]
    s = f.served(STANDARD, batch_size=np.arange(1.0, most + 1.0))
    held_s = float(loaded.config.fresh_tokens) / s.prefill_tokens_per_s[0] * s.replicas[0]
    rate, tokens = loaded.of("requests_per_s")[0, BUSY], float(loaded.config.output_tokens)
    runs = simulate(s.tpot_s - s.others_prefill_s, held_s, rate, REQUESTS, tokens, f.default("length_cv"), SEED, prefill_delay_share=1.0)  # fmt: skip
    return float((runs.admitted_s - runs.arrival_s)[DROPPED:].mean())


def _full_rate(loaded: _Loaded, collected: StaticBatch) -> NDArray:
    """Requests/s of each deployment while a batch of the standard size runs all the time: batch over time in it, or its prefill."""
    s, config = collected.service, loaded.config
    stay_s = s.prefill_s + (float(config.output_tokens) - 1.0) * s.tpot_s
    return np.fmin(s.batch / stay_s, s.prefill_tokens_per_s / float(config.fresh_tokens))


def cheap_by_joining(f: Facts) -> Finding:
    """C39: cost per output token with batches collected first and held to the longest answer, over that with requests joining, of
    the same chips and batch, both as full as they get.

    A cause without a claimed figure: it explains more than ROUNDING over the whole range of the spread of lengths ("partly
    supported") or not at all ("contradicted"); that cheapness needs nothing else cannot be shown by changing one thing. low and
    high: over that range and the stand-in models.
    """
    loaded, spread = _standard(f), scenarios.all_fields(f.catalog)["length_cv"]
    ratios = []
    for cv in (spread.default, spread.low, spread.high, 0.0):
        collected = _static(f, loaded, HELD_TO_LOAD, cv)
        ratios.append(_full_rate(loaded, collected) / collected.saturation_requests_per_s)
    value, low, high = over_standins(np.concatenate(ratios[:3]))
    ends = [float(ratio[0]) for ratio in ratios[:3]]
    known(ends)
    verdict = agreed(*(PARTLY if ratio > 1.0 + ROUNDING else CONTRADICTED for ratio in ends))
    collected = _static(f, loaded, HELD_TO_LOAD, spread.default)
    basis = _(
        "At batch {batch} collecting first costs {value} as much per output token: {low} to {high} for a spread of answer lengths of {cv_low} to {cv_high}, and with equal lengths {equal}. The first token then comes after {first} at half load. Price and speed rest on batch and chips too, and nobody publishes how Claude Code is scheduled."
    ).format(
        batch=fmt.number(f.setting(STANDARD, "batch_size")), value=fmt.ratio(value), low=fmt.ratio(min(ends)),
        high=fmt.ratio(max(ends)), cv_low=fmt.number(spread.low), cv_high=fmt.number(spread.high), equal=fmt.ratio(only(ratios[3])),
        first=fmt.duration(only(collected.ttft_s)),
    )  # fmt: skip
    place = _tab(f.state("/batching", STANDARD), "The bus") + "&bp=static"
    return Finding(verdict, "model", value, "x cost", basis, place, low, high)


def fills_at_once(f: Facts) -> Finding:
    """C40: busy deployments whose traffic together fills a batch of the standard size within INSTANT_S.

    Untested whatever the figure: it is decided by a traffic that nobody publishes. One deployment on its own never does it, for at
    the rate it carries a batch fills in about the time that a request stays in it.
    """
    loaded, batch = _standard(f), f.setting(STANDARD, "batch_size")
    own = _full_rate(loaded, _static(f, loaded, HELD_TO_LOAD, f.default("length_cv")))
    needed = (batch - 1.0) / INSTANT_S  # from the first of a batch to its last
    value, low, high = over_standins(needed / own)
    basis = _(
        "A batch of {batch} fills within {instant} from {needed} requests/s on. One deployment with such a batch carries {own}, and at that rate filling takes {own_s}; only the traffic of {value} of them, led to one after the other, would do. Nobody publishes that traffic, and with continuous batching no batch has to fill."
    ).format(
        batch=fmt.number(batch), instant=fmt.duration(INSTANT_S), needed=fmt.number(needed), own=fmt.number(only(own)),
        own_s=fmt.duration((batch - 1.0) / only(own)), value=fmt.number(value),
    )  # fmt: skip
    place = _tab(f.state("/batching", STANDARD, load=scenarios.TRAFFIC, requests_per_s=only(own)), "The bus")
    return Finding(UNTESTED, "model", value, "busy deployments", basis, place, low, high)


def answers_at_once(f: Facts) -> Finding:
    """C56: share of the time to first token of a chat, handshake included, that sending the prompt while it is typed can hide.

    Two causes: more traffic shortens the time to first token (from a load of 0.1 to 0.8), and prefill while typing hides more than
    ROUNDING of it. That ChatGPT does the second is not published, which the basis says.
    """
    loaded, handshake_s = _loaded(f.catalog, CODEX, CHAT), f.setting(CODEX, "handshake_s")
    first = loaded.of("ttft_s") + handshake_s
    value, low, high = over_standins(100 * loaded.traffic.service.prefill_s.reshape(first.shape)[:, LIGHT] / first[:, LIGHT])
    huge, ahead = bool(first[0, BUSY] < first[0, LIGHT]), value > 100 * ROUNDING
    basis = _(
        "A chat on {model} has its first token after {light} at a tenth of saturation and {busy} at {load} of it, handshake of {handshake} included: {traffic}. Prefill while typing hides {hidden} of the first and a kept connection the handshake. What ChatGPT does is not published."
    ).format(
        model=f.model_name(CODEX), light=fmt.duration(first[0, LIGHT]), busy=fmt.duration(first[0, BUSY]), load=fmt.number(LOADS[BUSY]),
        handshake=fmt.duration(handshake_s), hidden=fmt.share(value / 100),
        traffic=_("traffic makes it sooner") if huge else _("traffic makes it later, not sooner"),
    )  # fmt: skip
    place = _tab(f.state("/batching", CODEX, task=CHAT), "First token") + "&ph=yes"
    return Finding(parts(huge, ahead), "model", value, "% of TTFT", basis, place, low, high)


def _of_call(f: Facts, preset: str, handshake_s: NDArray) -> NDArray:
    """Share of a call's time that a handshake takes at the preset's speed and time to first token as shown."""
    tokens = f.default("n_out") / f.default("calls")
    rest_s = f.setting(preset, "ttft_s") + tokens / f.speed(preset)
    known(rest_s)
    return handshake_s / (handshake_s + rest_s)


def kept_connection(f: Facts) -> Finding:
    """C57: share of a call that a handshake takes at Spark's speed; low and high: over the range of the assumed handshake.

    Two parts: at Spark's speed it is more than ROUNDING, not decided where the ends of that range differ; at the standard speed it
    is not. The vendor's reason is its own word; whether it was the reason is not tested.
    """
    field, usual = scenarios.all_fields(f.catalog)["handshake_s"], f.setting(CODEX, "handshake_s")
    ends = np.array([usual, field.low, field.high])
    fast, slow = _of_call(f, SPARK, ends), _of_call(f, CODEX, ends)
    matters = True if fast[1] > ROUNDING else False if fast[2] <= ROUNDING else None
    cut = f.catalog.strategies.set_index("quantity")["value"].get("websocket_roundtrip_cut", "")
    stated = _("The vendor states {cut} % less overhead per round trip.").format(cut=fmt.number(float(cut))) if cut else ""
    basis = _(
        "A handshake of {usual} is {fast} of a call of {tokens} tokens at {speed} tok/s and {slow} at {base} tok/s; from {low_s} (connection kept) to {high_s} it is {low} to {high} of the fast call. {stated} That this was the reason is its own word."
    ).format(
        usual=fmt.duration(usual), fast=fmt.share(fast[0]), tokens=fmt.number(f.default("n_out") / f.default("calls")), slow=fmt.share(slow[0]),
        speed=fmt.number(f.speed(SPARK)), base=fmt.number(f.speed(CODEX)), low_s=fmt.duration(field.low),
        high_s=fmt.duration(field.high), low=fmt.share(fast[1]), high=fmt.share(fast[2]), stated=stated,
    )  # fmt: skip
    value, low, high = (float(x) for x in 100 * fast)
    place = _tab(f.state("/batching", SPARK, handshake_s=usual), "First token")
    return Finding(parts(matters, bool(slow[2] <= ROUNDING)), "model", value, "% of a call", basis, place, low, high)


def handshake(f: Facts) -> Finding:
    """C58: share of the time to first token, handshake included, that the preset's handshake takes with the founding standard
    option; low and high: for the claimed times.

    Two parts: the claimed times are measured somewhere, and the share is more than ROUNDING at either of them (not decided where
    they differ).
    """
    least, most = (ms / 1e3 for ms in f.claimed(2))
    usual, first_s = f.setting(STANDARD, "handshake_s"), only(f.served(STANDARD).ttft_s)
    known(first_s)
    ends = np.array([usual, least, most])
    value, low, high = ends / (ends + first_s)
    weighs = True if low > ROUNDING else False if high <= ROUNDING else None
    measured = str(f.catalog.assumptions.at["handshake_s", "basis"]) == MEASURED
    published = f.catalog.endpoints["ttft_s"].dropna()
    heavy = int((usual / (usual + published) > ROUNDING).sum())
    basis = _(
        "{usual} is {value} of a modelled time to first token of {first} at batch {batch}, {least} is {low} and {most} is {high}. Of {n} published times to first token {heavy} are so short that {usual} makes more than a tenth."
    ).format(
        usual=fmt.duration(usual), value=fmt.share(value), first=fmt.duration(first_s), batch=fmt.number(f.setting(STANDARD, "batch_size")),
        least=fmt.duration(least), low=fmt.share(low), most=fmt.duration(most), high=fmt.share(high), n=len(published), heavy=heavy,
    )  # fmt: skip
    source = _("The times are measured.") if measured else _("The times are quoted, not measured.")
    place = _tab(f.state("/batching", STANDARD, handshake_s=usual), "First token")
    verdict = parts(measured, weighs)
    return Finding(verdict, "model", float(100 * value), "% of TTFT", f"{basis} {source}", place, float(100 * low), float(100 * high))
