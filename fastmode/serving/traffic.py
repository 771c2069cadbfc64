"""Traffic instead of a fixed batch: requests arrive at random, and the batch follows from how fast they are served.

What a time per output token contains: `Service.tpot_s` at batch B is a step, host work and the interleaved prefill of
the other B - 1 requests (`others_prefill_s`). A request's own prefill is not in it. The time a request holds its place,
prefill_s + (O - 1) TPOT, therefore counts each prefill once for its owner and once as a delay of those who decode.

Little: N = rate x (prefill + (O - 1) TPOT(N + 1)); an arriving request meets N others on average (PASTA) and makes N + 1.
With D(n) = prefill + (O - 1) TPOT(n), seen as processor sharing at a rate that depends on the number, the number has the
distribution p(n) ~ product over k <= n of rate D(k)/k, whatever the lengths (Cohen 1979, "The multiple phase service
network with generalized processor sharing"). So the fixed point is exact where TPOT is affine in the batch and memory
is far; near its mean the number is normal with variance N/(1 - e), e = d ln D/d ln n: a Poisson spread, widened because
whoever is slowed stays longer. Prefills of a replica queue as M/D/1 (Zhong et al. 2024, DistServe, equation 1); this
replaces the waiting behind others in `Service.queue_s`, fitted to benchmarks with a fixed number of clients. A full
batch is a many-server queue of that mean and variance (Halfin and Whitt 1981; spread of lengths: Allen and Cunneen).

Not modelled: prefill on chips of its own, patience, priorities, bunched arrivals. Replicas get arrivals at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.i18n import N_, _
from fastmode.serving.automatic import serve_automatic
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.normal import normal
from fastmode.serving.service import OK as SERVED
from fastmode.serving.service import Service
from fastmode.serving.tables import tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

OK, NOT_SERVED, SATURATED, INVALID_RATE = range(4)
_REASONS = {
    OK: N_("ok"), SATURATED: N_("saturated: at most {most} requests/s"), INVALID_RATE: N_("not a usable request rate"),
}  # fmt: skip
NO_LOAD, CAPACITY, TTFT_LIMIT, TPOT_LIMIT = range(4)
LIMITS = (
    N_("the limits are missed without any load"), N_("memory or prefill is full"), N_("TTFT limit"), N_("TPOT limit"),
)  # fmt: skip

Z95 = 1.6448536269514722  # 95th percentile of the standard normal distribution
TAIL = 0.05
ROOT_STEPS = 60  # at most; false position with a bisection every third step: about ten are used
HALVINGS = 32  # of the bracket of a percentile
PARTS, SEARCH_STEPS = 16, 8  # of the bracket of a load, as fine as 32 halvings
NEWTON_STEPS = 8
UNIFORM_95 = 1.9  # 95th percentile over mean of a uniform wait that starts at 0


@dataclass(frozen=True)
class Traffic:
    """Arrays of length N; figures are NaN where the status is not 0. Rates and `running` are over all chips.

    `service` is what one user sees: all others and the user, `running` + one a replica (at most the largest batch). Its
    totals (tokens/s, energy) are those of that batch, not of the traffic; its `queue_s` and `ttft_s` are those of a fixed
    number of clients. Where nothing is served it carries the reason; where saturated it is empty.
    """

    status: NDArray  # int8: OK, NOT_SERVED (see service.reason), SATURATED, INVALID_RATE
    requests_per_s: NDArray
    service: Service
    running: NDArray  # mean number of requests in prefill or decode
    utilisation: NDArray  # running / largest batch, or / batch limit where that is smaller
    load: NDArray  # rate / saturation rate; above 1 where saturated
    saturation_requests_per_s: NDArray
    tpot_s: NDArray
    tokens_per_s_per_user: NDArray
    prefill_wait_s: NDArray  # mean wait for the prefills of earlier arrivals
    slot_wait_s: NDArray  # mean wait for a place in a full batch
    ttft_s: NDArray  # mean, both waits included
    tpot_p95_s: NDArray
    ttft_p95_s: NDArray
    output_tokens_per_s: NDArray

    @property
    def saturated(self) -> NDArray:
        """Whether requests arrive faster than they can be served."""
        return self.status == SATURATED

    def reason(self, i: int) -> str:
        """Why configuration `i` has no figures, in the reader's language; `ok` when it has."""
        code = int(self.status[i])
        if code == NOT_SERVED:
            return self.service.reason(i)
        return _(_REASONS[code]).format(most=f"{self.saturation_requests_per_s[i]:.3g}")


@dataclass(frozen=True)
class Goodput:
    """Arrays of length N: the most a deployment carries within the limits. 0 where they are missed even without load.

    `batch` is the largest whole fixed batch, `requests_per_s` the largest traffic, each over all chips; `batch_limit` and
    `traffic_limit` index LIMITS: what stops them. NaN and -1 where nothing is served (see traffic.service.reason).
    """

    status: NDArray  # int8: OK or NOT_SERVED
    batch: NDArray
    batch_limit: NDArray
    requests_per_s: NDArray
    output_tokens_per_s: NDArray  # goodput: tokens of requests within the limits
    traffic_limit: NDArray
    traffic: Traffic  # at that rate


@dataclass(frozen=True)
class Setup:
    """A deployment with its number of chips settled, alone and with a full batch."""

    values: dict[str, NDArray]
    catalog: Catalog
    served: NDArray  # bool
    replicas: NDArray
    most: NDArray  # largest batch
    light: Service  # one request a replica
    full: Service  # largest batch
    fixed_s: float  # part of TTFT that does not depend on the batch, own prefill excluded
    steps: NDArray  # steps before the first token
    spread_factor: NDArray  # (1 + cv^2)/2 of the output lengths

    def serve(self, *batches: NDArray) -> list[Service]:
        """One answer for each array of batches, from a single call."""
        return _serve_at(self.values, self.served, self.catalog, *batches)

    def repeated(self, times: int) -> Setup:
        """All configurations so many times over, in turn."""
        tiled = {f.name: np.tile(getattr(self, f.name), times) for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)}
        values = {name: np.tile(array, times) for name, array in self.values.items()}
        light, full = (Service(**{f.name: np.tile(getattr(service, f.name), times) for f in fields(Service)}) for service in (self.light, self.full))
        return replace(self, values=values, light=light, full=full, **tiled)

    def residence(self, service: Service) -> NDArray:
        """Seconds a request holds its place: own prefill and the tokens after the first."""
        return service.prefill_s + (self.values["output_tokens"] - 1.0) * service.tpot_s

    @property
    def held_s(self) -> NDArray:
        """Seconds a prefill holds the chips of its replica."""
        fresh = self.values["fresh_tokens"]
        return np.where(fresh > 0, fresh * self.replicas / self.full.prefill_tokens_per_s, 0.0)

    @property
    def saturation(self) -> NDArray:
        """Requests/s at which no root is left: the batch is full, or prefill takes all the time."""
        return np.fmin(self.most / self.residence(self.full), self.replicas / self.held_s)


def _serve_at(values: dict[str, NDArray], served: NDArray, catalog: Catalog, *batches: NDArray) -> list[Service]:
    """One answer for each array of batches, from one call; what is not served keeps its own batch, and its reason."""
    size, times = len(served), len(batches)
    tiled = {name: np.tile(array, times) for name, array in values.items()}
    tiled["batch"] = np.concatenate([np.where(served, batch, values["batch"]) for batch in batches])
    service = serve_automatic(ServingConfig(**tiled), catalog)
    return [service.slice(i * size, (i + 1) * size) for i in range(times)]


def settle(
    config: ServingConfig, length_cv: ArrayLike, batch_limit: ArrayLike, catalog: Catalog, *more: ArrayLike
) -> tuple[Setup, list[NDArray]]:
    """The deployments, and `more` broadcast to their length. Raises ValueError where lengths do not agree."""
    values = config.broadcast()
    arrays = [np.atleast_1d(np.asarray(array, dtype=np.float64)) for array in (length_cv, batch_limit, *more)]
    size = np.broadcast_shapes(values["model"].shape, *(array.shape for array in arrays))
    if len(size) != 1:
        raise ValueError("rates and limits must be scalars or one-dimensional arrays")
    values = {name: np.array(np.broadcast_to(array, size)) for name, array in values.items()}
    length_cv, limit, *asked = (np.array(np.broadcast_to(array, size)) for array in arrays)
    open_chips = values["n_chips"] == 0
    # With chips given, one sequence tells whether they serve at all and how they are divided.
    values["batch"] = np.where(open_chips, values["batch"], 1.0)
    sizing = serve_automatic(ServingConfig(**values), catalog)
    served = sizing.status == SERVED
    # A given tp and open chips mean more stages, given chips mean more replicas: keep the stages that were found.
    values["pp"] = np.where(served & open_chips & (values["tp"] > 0), sizing.stages, values["pp"])
    values["n_chips"] = np.where(served, sizing.n_chips, values["n_chips"])
    replicas = np.where(served, sizing.replicas, 1.0)
    # A scheduler that is given no limit fills the memory; below one request a replica nothing would run.
    most = np.where(served, np.maximum(np.fmin(sizing.max_batch, limit), replicas), 1.0)
    light, full = _serve_at(values, served, catalog, replicas, most)
    # At one request a replica nobody is ahead: what is left of the wait is a fixed time and some steps.
    fixed = tables(catalog).constants.first_token_s
    steps = (light.queue_s - fixed) / first_step_s(light) + 1.0
    factor = 0.5 * (1.0 + length_cv**2)
    return Setup(values, catalog, served, replicas, most, light, full, fixed, steps, factor), asked


def first_step_s(service: Service) -> NDArray:
    """Seconds of the step that gives the first token."""
    return service.ttft_s - service.queue_s - service.prefill_s


def full_batch_probability(running: ArrayLike, spread: ArrayLike, most: ArrayLike, load: ArrayLike) -> NDArray:
    """Probability that an arrival finds all `most` places of a replica taken.

    1/(1 + (1 - load) s Phi(b)/phi(b)), b = (most - running)/s, s = `spread`, the standard deviation of the number
    running: Halfin and Whitt's limit with the variance of processor sharing for that of a Poisson variable. Against the
    exact chain with TPOT affine in the batch: within 0.06 for 1 to 1000 places and TPOT up to doubled by a full batch.
    """
    running, spread = np.asarray(running, dtype=np.float64), np.maximum(spread, 1e-300)
    b = np.maximum((most - running) / spread, 0.0)
    density = np.exp(-0.5 * b * b) / np.sqrt(2.0 * np.pi)
    return density / (density + (1.0 - np.minimum(load, 1.0)) * spread * normal(b))


def prefill_wait(requests_per_s: ArrayLike, held_s: ArrayLike) -> NDArray:
    """Mean wait (s) for prefill on one replica, M/D/1: u h/(2 (1 - u)), u = rate x h, h = `held_s`; infinite from u = 1."""
    busy = np.asarray(requests_per_s, dtype=np.float64) * held_s
    return np.where(busy < 1.0, busy * held_s / (2.0 * np.where(busy < 1.0, 1.0 - busy, 1.0)), np.inf)


def wait_p95(requests_per_s: ArrayLike, held_s: ArrayLike, full: ArrayLike, leave_s: ArrayLike) -> NDArray:
    """95th percentile (s) of the wait for prefill and for a place: the t at which their two tails add up to 5 %.

    The rate is that of one replica. Prefill: 1 - (1 - u) exp(rate t) up to one prefill (exact), beyond it the M/D/1
    tail C exp(-x t/h), u (exp(x) - 1) = x, C = (1 - u)/(u exp(x) - 1). Place: exponential of mean `leave_s` with probability `full`. Adding tails takes a request to be held
    up long by one of the two, not by both. Infinite where either wait has no bound.
    """
    rate, held, full, leave = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in (requests_per_s, held_s, full, leave_s))
    )
    busy = rate * held
    bounded = (busy < 1.0) & np.isfinite(leave)
    used = np.where((busy > 0.0) & (busy < 1.0), busy, 0.5)
    # Newton on a convex function from the right of its positive root: 2 ln(1/u) lies there for every u < 1.
    decay = -2.0 * np.log(used)
    for _step in range(NEWTON_STEPS):
        decay = decay - (used * np.expm1(decay) - decay) / (used * np.exp(decay) - 1.0)
    height = (1.0 - used) / (used * np.exp(decay) - 1.0)
    span = np.where(busy > 0.0, held, 0.0)
    leave = np.where(np.isfinite(leave) & (leave > 0.0), leave, 1e-300)

    def tail(t: NDArray) -> NDArray:
        scaled = t / np.where(span > 0.0, span, 1.0)
        early = 1.0 - (1.0 - used) * np.exp(used * np.minimum(scaled, 1.0))
        queued = np.where(scaled < 1.0, early, height * np.exp(-decay * scaled))
        return np.where(span > 0.0, queued, 0.0) + full * np.exp(-t / leave)

    low, high = np.zeros_like(span), span * (1.0 + np.log(np.maximum(height, TAIL) * 4.0 / TAIL) / decay)
    high = high + leave * np.log(np.maximum(full, TAIL) * 4.0 / TAIL)
    for _step in range(HALVINGS):
        middle = 0.5 * (low + high)
        beyond = tail(middle) > TAIL
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    found = np.where(tail(np.zeros_like(span)) > TAIL, high, 0.0)
    return np.where(np.isnan(busy + full), np.nan, np.where(bounded, found, np.inf))


def _figures(setup: Setup, running: NDArray) -> tuple[NDArray, Service, dict[str, NDArray]]:
    """(requests/s, what a user sees, figures) at `running` requests: the rate N/D(N + 1) needs no search."""
    replicas, most = setup.replicas, setup.most
    own = np.minimum(running + replicas, most)
    poisson = Z95 * np.sqrt(running * replicas)
    below, above = np.maximum(own - poisson, replicas), np.minimum(own + poisson, most)
    low, service, high = setup.serve(below, own, above)
    residence = setup.residence(service)
    rate = running / residence

    # slopes over the range in which the batch moves; upwards alone for the tail, which ends at a full batch
    width = np.where(above > below, above - below, np.inf)
    slope = np.where(above > own, (high.tpot_s - service.tpot_s) / (above - own), 0.0)
    growth = (setup.residence(high) - setup.residence(low)) / width
    elasticity = np.clip(growth * running / residence, 0.0, 1.0 - 1e-9)
    spread = np.sqrt(running * replicas / (1.0 - elasticity))
    crowded = np.minimum(own + Z95 * spread, most)
    tpot_p95 = np.maximum(service.tpot_s + slope * (crowded - own), service.tpot_s)

    full_load = np.minimum(rate * setup.residence(setup.full) / most, 1.0)
    full = full_batch_probability(running / replicas, spread / replicas, most / replicas, full_load)
    idle = 1.0 - full_load
    leave = setup.residence(setup.full) * replicas / most * setup.spread_factor
    leave = np.where(idle > 0, leave / np.where(idle > 0, idle, 1.0), np.inf)
    slot = np.where(full > 0, full * leave, 0.0)
    ahead = prefill_wait(rate / replicas, setup.held_s)
    wait = wait_p95(rate / replicas, setup.held_s, full, leave)
    first = setup.steps * first_step_s(service)
    late = first * (tpot_p95 / service.tpot_s - 1.0)
    begin = setup.fixed_s + service.prefill_s + first
    mean_wait = np.minimum(ahead + slot, wait)
    ttft_p95 = begin + mean_wait + np.hypot(wait - mean_wait, late)  # independent spreads: their squares add up
    return rate, service, {
        "tpot_s": service.tpot_s, "tokens_per_s_per_user": 1.0 / service.tpot_s, "prefill_wait_s": ahead,
        "slot_wait_s": slot, "ttft_s": begin + ahead + slot, "tpot_p95_s": tpot_p95,
        "ttft_p95_s": np.where(np.isinf(wait), np.inf, ttft_p95),
        "output_tokens_per_s": rate * setup.values["output_tokens"], "running": running, "utilisation": running / most,
    }  # fmt: skip


def _traffic(setup: Setup, running: NDArray, status: NDArray, requests_per_s: NDArray | None = None) -> Traffic:
    """`running` where the status is OK, NaN elsewhere; without a rate given, the rate that goes with `running`."""
    ok = status == OK
    rate, service, figures = _figures(setup, np.where(ok, running, 0.0))
    rate = np.where(ok, rate, np.nan) if requests_per_s is None else requests_per_s
    if not ok.all():
        figures = {name: np.where(ok, values, np.nan) for name, values in figures.items()}
        (empty,), rows = setup.serve(setup.most + 1.0), np.flatnonzero(~ok)  # does not fit: no figures
        service = service.replaced(rows, Service(**{f.name: getattr(empty, f.name)[rows] for f in fields(Service)}))
    saturation = np.where(setup.served, setup.saturation, np.nan)
    return Traffic(
        status=status, requests_per_s=rate, service=service, load=rate / saturation,
        saturation_requests_per_s=saturation, **figures,
    )  # fmt: skip


def serve_traffic(
    config: ServingConfig,
    requests_per_s: ArrayLike,
    catalog: Catalog,
    length_cv: ArrayLike = 1.0,
    batch_limit: ArrayLike = np.inf,
) -> Traffic:
    """Continuous batching under random (Poisson) arrivals: the smallest root N of N = rate x D(min(N + 1, most)).

    `requests_per_s` is over all chips: replicas share it, so a user meets N/replicas others. It and `length_cv` (standard
    deviation / mean of the output lengths, read by the wait for a place) broadcast with `config`, or ValueError is raised.
    `config.batch` is read only where n_chips is 0: the deployment is then the smallest that holds that many sequences.
    `queue_overflow` is ignored. `most` is the largest batch that fits, or `batch_limit` where the scheduler runs no more than
    that many requests at once over all chips (at least one a replica): with it full, most/D(most) requests/s leave, and
    faster arrivals have no root. One prefill at a time on each replica bounds the rate too, which matters where an engine
    hides part of the others' prefill from TPOT. D(n)/n falls with n, so [0, most] brackets a single root.

    Held against the event simulation in tests: batch and TPOT within 3 % from 0.1 to 0.8 of saturation, 95th percentiles
    within 10 % there. That of TPOT takes each request to see the (normal) batch of one moment, though it averages over
    its life. Nearer to saturation, or with a handful of places, that of TTFT is off by up to 15 %, `length_cv` being right.
    """
    with np.errstate(all="ignore"):
        setup, (rate,) = settle(config, length_cv, batch_limit, catalog, requests_per_s)
        status = np.where(setup.served, OK, NOT_SERVED).astype(np.int8)
        status[setup.served & (rate >= setup.saturation)] = SATURATED
        status[setup.served & ~((rate >= 0.0) & (rate < np.inf))] = INVALID_RATE
        running = _root(setup, np.where(status == OK, rate, 0.0))
        return _traffic(setup, running, status, np.where(status == INVALID_RATE, np.nan, rate))


def _root(setup: Setup, rate: NDArray) -> NDArray:
    """Root of N - rate D(min(N + replicas, most)) in [0, most], all configurations at once.

    False position (Illinois) with a bisection every third step: TPOT is nearly affine, and the bracket always shrinks.
    """
    low, high = np.zeros_like(rate), setup.most.copy()
    at_low = -rate * setup.residence(setup.light)
    at_high = setup.most - rate * setup.residence(setup.full)
    found = np.where(at_low == 0.0, low, high)
    side = np.zeros(rate.shape, dtype=np.int8)
    open_rows = setup.served & (rate > 0.0)
    for step in range(ROOT_STEPS):
        if not open_rows.any():
            break
        cut, middle = low - at_low * (high - low) / (at_high - at_low), 0.5 * (low + high)
        x = middle if step % 3 == 2 else np.where((cut >= low) & (cut <= high), cut, middle)
        (service,) = setup.serve(np.minimum(x + setup.replicas, setup.most))
        y = x - rate * setup.residence(service)
        found = np.where(open_rows, x, found)
        under = y < 0.0
        # Illinois: an end that stays twice counts half, or false position would creep
        new_low = np.where(under, y, np.where(side == 1, 0.5, 1.0) * at_low)
        at_low, at_high = new_low, np.where(under, np.where(side == -1, 0.5, 1.0) * at_high, y)
        low, high = np.where(under, x, low), np.where(under, high, x)
        side = np.where(under, -1, 1).astype(np.int8)
        open_rows = open_rows & (np.abs(y) > 1e-13 * x) & (high - low > 1e-13 * high)
    return found


def meets(ttft_p95_s: ArrayLike, tpot_p95_s: ArrayLike, ttft_limit_s: ArrayLike, tpot_limit_s: ArrayLike) -> NDArray:
    """Whether 95th percentiles (s) stay within their limits (s); a limit of NaN is none, a figure of NaN misses all."""
    first = np.isnan(ttft_limit_s) | (np.asarray(ttft_p95_s) <= ttft_limit_s)
    each = np.isnan(tpot_limit_s) | (np.asarray(tpot_p95_s) <= tpot_limit_s)
    return first & each & ~(np.isnan(ttft_p95_s) | np.isnan(tpot_p95_s))


def goodput(
    config: ServingConfig,
    ttft_p95_s: ArrayLike,
    tpot_p95_s: ArrayLike,
    catalog: Catalog,
    length_cv: ArrayLike = 1.0,
    batch_limit: ArrayLike = np.inf,
) -> Goodput:
    """Largest fixed batch and largest traffic whose 95th percentiles of TTFT and TPOT (s) stay within the limits.

    NaN = no limit. Both percentiles rise with batch and traffic, so each load is found in ever finer brackets; in traffic those
    are of the number running, and its rate, N/D(N + 1), follows. Chips, shapes and percentiles in traffic as in `serve_traffic`.
    Without limits the traffic is the saturation rate itself, where waiting has no bound.

    At a fixed batch the number of clients does not move and TPOT has no spread of its own (single late tokens behind a
    long prefill are not counted); the waiting behind other arrivals is taken as uniform from 0 to twice its mean, as
    for a place drawn at random in a line. No measured percentiles are at hand to check that.
    """
    with np.errstate(all="ignore"):
        setup, (ttft, tpot) = settle(config, length_cv, batch_limit, catalog, ttft_p95_s, tpot_p95_s)
        served = setup.served

        def at_batch(setup: Setup, batch: NDArray) -> tuple[NDArray, NDArray, NDArray]:
            (service,) = setup.serve(np.clip(batch, 1.0, setup.most))
            own_queue = setup.fixed_s + (setup.steps - 1.0) * first_step_s(service)
            behind = np.maximum(service.queue_s - own_queue, 0.0)
            return service.ttft_s + (UNIFORM_95 - 1.0) * behind, service.tpot_s, batch <= setup.most

        def at_running(setup: Setup, running: NDArray) -> tuple[NDArray, NDArray, NDArray]:
            rate, _service, figures = _figures(setup, running)
            return figures["ttft_p95_s"], figures["tpot_p95_s"], rate <= setup.saturation

        batch, batch_limit = _largest(at_batch, setup, setup.most + 1.0, ttft, tpot, whole=True)
        running, traffic_limit = _largest(at_running, setup, setup.most, ttft, tpot, whole=False)
        traffic = _traffic(setup, running, np.where(served, OK, NOT_SERVED).astype(np.int8))
    limits = (np.where(served, limit, -1) for limit in (batch_limit, traffic_limit))
    return Goodput(
        traffic.status, np.where(served, batch, np.nan), next(limits), traffic.requests_per_s,
        traffic.output_tokens_per_s, next(limits), traffic,
    )  # fmt: skip


def _largest(
    percentiles: Callable, setup: Setup, high: NDArray, ttft: NDArray, tpot: NDArray, whole: bool
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Largest load below `high` within the limits (0 where none) and the index in LIMITS of what stops it.

    `percentiles(setup, load)` gives TTFT, TPOT and whether the load can be carried at all. A bracket is cut into PARTS, whose
    inner ends are asked for in one call: a call costs more than its elements.
    """
    low, least = np.zeros_like(high), np.full_like(high, 1.0 if whole else 0.0)
    at_ttft, at_tpot, _carried = percentiles(setup, least)
    alone = meets(at_ttft, at_tpot, ttft, tpot)
    many = setup.repeated(PARTS - 1)
    share = np.arange(1, PARTS)[:, None] / PARTS
    for _step in range(SEARCH_STEPS):
        inner = low + share * (high - low)  # shape (PARTS - 1, N), rising
        inner = np.floor(inner) if whole else inner
        at_ttft, at_tpot, carried = (x.reshape(inner.shape) for x in percentiles(many, inner.ravel()))
        met = (alone & carried & meets(at_ttft, at_tpot, ttft, tpot)) | (inner <= low)
        passed = np.logical_and.accumulate(met).sum(axis=0)  # of the inner ends, from below
        ends = np.vstack([low, inner, high])
        low, high = (np.take_along_axis(ends, (passed + i)[None], axis=0)[0] for i in (0, 1))
        if whole and not (high - low > 1.0).any():
            break
    at_ttft, at_tpot, carried = percentiles(setup, high)
    limit = np.where(carried & (at_ttft > ttft), TTFT_LIMIT, CAPACITY)
    limit = np.where(carried & (at_tpot > tpot), TPOT_LIMIT, limit)
    return low, np.where(alone, limit, NO_LOAD).astype(np.int8)
