"""The bus: requests that arrive at random and are served in batches, continuous and static, side by side.

For the deployment of a scenario (stand-in model, chips, lengths of a call) at its requests/s, with its batch as the most the
scheduler runs at once. Two answers are given together: a closed form (serving/chain.py, serving/static.py) and an event
simulation (serving/simulation.py) of one replica, seeded, its first tenth dropped. Where a quoted speed is scaled, all times
are shorter by its ratio to the model's, `pace`, as in traffic elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog, load
from fastmode.configure import asked, call_shape, flatten
from fastmode.evaluate import evaluate
from fastmode.i18n import _
from fastmode.scenario import NO_MODEL, Scenario
from fastmode.serving import Replica, ServingConfig, balance, replica_of, static_batch
from fastmode.serving.bands import half_width, ratio_half_width
from fastmode.serving.chain import HELD_TO_LOAD
from fastmode.serving.simulation import (
    BLOCKS,
    CONTINUOUS,
    STATIC,
    Simulated,
    continuous_batching,
    lognormal_lengths,
    poisson_arrivals,
    standard_error,
    static_batching,
)
from fastmode.serving.static import HELD_TO_LOAD as STATIC_HELD_TO_LOAD
from fastmode.serving.tables import tables
from fastmode.side import Side

POLICIES = (CONTINUOUS, STATIC)
HELD_TO = {CONTINUOUS: HELD_TO_LOAD, STATIC: STATIC_HELD_TO_LOAD}  # loads up to which a closed form may be shown
REQUESTS, BATCHES, SEED, WARM_UP = 10_000, 100, 20, 0.1
AGREES_WITHIN = 0.03
SHOWN, FRAMES = 16, 40  # requests in the picture, and its moments
LOADS = np.geomspace(0.02, 0.98, 40)  # of saturation, of the curves
# Loads simulated for the curves, with the number of requests: near saturation the batch wanders slowly.
CURVE_RUNS = {0.2: 1000, 0.4: 1000, 0.6: 2000, 0.8: 4000, 0.95: 4000}
STATIC_LOADS = np.append(np.geomspace(0.02, 0.5, 9), [0.6, 0.7, 0.8, 0.9, 0.95])
MEASURES = ("ttft_s", "tpot_s", "time_s")


@dataclass(frozen=True)
class Figures:
    """Means over requests; rates and the batch over all chips."""

    wait_s: float  # from arrival to departure: the start of the prefill
    on_board_s: float  # prefill and decode; static: until the batch is given back
    time_s: float  # both
    ttft_s: float  # with the fixed work and the step before the first token
    tpot_s: float
    batch: float  # requests that hold a place, averaged over time
    requests_per_s: float
    output_tokens_per_s: float


@dataclass(frozen=True)
class Trip:
    """Some requests that follow each other in the simulation, shape (SHOWN,), and moments for playing, shape (FRAMES,).

    Seconds from the arrival of the first. `on_board` and `waiting` count all requests of the replica. `buses`: departure
    and return of the static batches in sight, shape (2, k).
    """

    arrival_s: NDArray
    start_s: NDArray
    first_s: NDArray
    finish_s: NDArray
    moments_s: NDArray
    on_board: NDArray
    waiting: NDArray
    buses: NDArray


@dataclass(frozen=True)
class Ride:
    """One policy at the scenario's traffic; figures are None, and the trip, where it is saturated."""

    policy: str
    load: float  # of its saturation
    saturation_requests_per_s: float
    closed: Figures | None
    simulated: Figures | None
    error: dict[str, float] | None  # standard errors of the simulated wait_s, on_board_s and time_s
    simulated_requests: int
    trip: Trip | None

    @property
    def only_bound(self) -> bool:
        """Whether the load is above what the closed form is held to; that of static batching then is only an estimate between bounds."""
        return self.load > HELD_TO[self.policy]

    @property
    def difference(self) -> float:
        """The larger of the relative differences of closed form and simulation, in time in the system and time per token."""
        pairs = [(getattr(self.closed, name), getattr(self.simulated, name)) for name in ("time_s", "tpot_s")]
        return max((one / other - 1.0 for one, other in pairs if np.isfinite(other)), key=abs)

    @property
    def by_formula(self) -> bool:
        """Whether the closed form is what is shown: within its loads, and where both agree."""
        return self.closed is not None and not self.only_bound and abs(self.difference) <= AGREES_WITHIN

    @property
    def figures(self) -> Figures | None:
        """What is shown: the closed form, or else the simulation."""
        return self.closed if self.by_formula else self.simulated


@dataclass(frozen=True)
class Bus:
    """Both policies on the same deployment; where it cannot be served there is a reason, and no ride."""

    reason: str  # in the reader's language, empty where it is served
    rides: dict[str, Ride]
    requests_per_s: float
    places: int  # requests that run at once over all chips
    asked_places: float
    replicas: int
    prefill_s: float
    output_tokens: float
    length_cv: float
    pace: float  # times are those of the stand-in model divided by it


@dataclass(frozen=True)
class Curve:
    """One policy over traffic: closed form by MEASURES, shape (n,), NaN above the load it is held to; simulated, shape (k,)."""

    policy: str
    requests_per_s: NDArray
    mean: dict[str, NDArray]
    p95: dict[str, NDArray]  # of the closed form, where it has one
    band: dict[str, tuple[NDArray, NDArray]]  # 90 % band of the mean: what the serving model may miss
    simulated_requests_per_s: NDArray
    simulated_load: NDArray
    simulated_mean: dict[str, NDArray]
    simulated_error: dict[str, NDArray]  # standard error of the mean
    simulated_p95: dict[str, NDArray]
    saturation_requests_per_s: float


@dataclass(frozen=True)
class _Deployment:
    """What the waiting depends on, as a key to keep results by: the configuration as it is asked for, in pairs."""

    config: tuple[tuple[str, float], ...]
    length_cv: float
    batch_limit: float


def bus(scenario: Scenario, catalog: Catalog | None = None) -> Bus:
    """Both policies at the scenario's traffic. The scenario holds single values."""
    catalog = catalog or load()
    deployment, side = _deployment(scenario, catalog)
    found = _replica(deployment, catalog)
    rate, pace = float(scenario.requests_per_s), _pace(side)
    if not isinstance(found, Replica):
        reason = _("no stand-in model chosen") if scenario.model == NO_MODEL else found.reason(0)
        return Bus(reason, {}, rate, 0, deployment.batch_limit, 0, np.nan, np.nan, deployment.length_cv, pace)
    places = len(found.tpot_s)
    return Bus(
        "", {policy: _ride(deployment, policy, rate / pace, pace, catalog) for policy in POLICIES}, rate,
        int(places * found.replicas), deployment.batch_limit, int(found.replicas), found.prefill_s / pace, found.asked_tokens,
        deployment.length_cv, pace,
    )  # fmt: skip


def load_curves(scenario: Scenario, catalog: Catalog | None = None) -> tuple[Curve, ...]:
    """Time to first token, per token and in the system over traffic, continuous and static; empty where nothing is served."""
    catalog = catalog or load()
    deployment, side = _deployment(scenario, catalog)
    found, pace = _replica(deployment, catalog), _pace(side)
    if not isinstance(found, Replica):
        return ()
    curves = _continuous_curve(deployment, catalog), _static_curve(deployment, catalog)
    continuous = replace(curves[0], band=_bands(found, curves[0], side, catalog))
    return _at_pace(continuous, pace), _at_pace(curves[1], pace)


def _deployment(scenario: Scenario, catalog: Catalog) -> tuple[_Deployment, Side]:
    """The key of the scenario's deployment, and the scenario alone on it, with its anchor."""
    _shape, v = flatten(scenario)
    config = asked(v, catalog) | call_shape(v) | {"size_ratio": v["distillation"]}
    pairs = tuple(sorted((name, np.ravel(value)[0].item()) for name, value in config.items()))
    alone = evaluate(replace(scenario, load="batch", batch_size=1.0), catalog).now
    return _Deployment(pairs, float(scenario.length_cv), float(scenario.batch_size)), alone


def _pace(alone: Side) -> float:
    """How much faster the quoted deployment runs than its stand-in; 1 where nothing is quoted or the model cannot serve."""
    with np.errstate(invalid="ignore", divide="ignore"):
        pace = float(np.ravel(alone.tokens_per_s / alone.modelled_tokens_per_s)[0])
    return pace if np.isfinite(pace) else 1.0


@lru_cache(maxsize=32)
def _replica(deployment: _Deployment, catalog: Catalog):
    config = ServingConfig(**dict(deployment.config))
    return replica_of(config, deployment.length_cv, deployment.batch_limit, catalog)


# one point of traffic


@lru_cache(maxsize=64)
def _ride(deployment: _Deployment, policy: str, requests_per_s: float, pace: float, catalog: Catalog) -> Ride:
    """A policy at requests/s of the stand-in; what is returned is at the pace of the deployment meant."""
    found = _replica(deployment, catalog)
    requests = REQUESTS if policy == CONTINUOUS else max(REQUESTS, BATCHES * len(found.tpot_s))
    if policy == CONTINUOUS:
        saturation = found.saturation_requests_per_s * found.replicas
    else:
        saturation = float(_static(found, np.array([requests_per_s]), catalog).saturation_requests_per_s[0])
    load = requests_per_s / saturation
    if not load < 1.0:
        return Ride(policy, load, saturation * pace, None, None, None, 0, None)
    run = _run(found, policy, requests_per_s / found.replicas, requests)
    simulated, error = _simulated(run, found, policy, pace)
    closed = _closed(found, policy, requests_per_s, pace, catalog)
    return Ride(policy, load, saturation * pace, closed, simulated, error, len(run.arrival_s), _trip(run, len(found.tpot_s), policy, pace))


def _static(found: Replica, requests_per_s: NDArray, catalog: Catalog):
    """Static batches of as many requests as there are places."""
    places = len(found.tpot_s) * found.replicas
    return static_batch(ServingConfig(**found.values | {"batch": places}), requests_per_s, found.length_cv, catalog)


def _first_s(found: Replica, running: NDArray | float) -> NDArray:
    """Seconds between the end of a prefill and the first token, with that many others running on the replica."""
    return np.interp(np.asarray(running) + 1.0, np.arange(1.0, len(found.first_s) + 1.0), found.first_s)


@lru_cache(maxsize=32)
def _draws(tokens: float, cv: float, requests: int) -> tuple[NDArray, NDArray]:
    """Arrivals at one request a second, and output lengths.

    Arrivals are random given their number in the whole time: the rate is then the one asked for, not that of a lucky draw.
    """
    arrivals = poisson_arrivals(1.0, requests, SEED)
    return arrivals * (requests / arrivals[-1]), lognormal_lengths(tokens, cv, requests, SEED + 1)


def _run(found: Replica, policy: str, rate: float, requests: int) -> Simulated:
    arrivals, lengths = _draws(found.asked_tokens, found.length_cv, requests)
    arrivals = arrivals / rate
    if policy == CONTINUOUS:
        return continuous_batching(found.step_s, found.prefill_s, arrivals, lengths, found.delay_share, found.held_s)
    places = len(found.step_s)
    prefill = found.prefill_s + (places - 1.0) * found.held_s
    return static_batching(float(found.step_s[-1]), prefill, places, arrivals, lengths)


def _settled(run: Simulated, values: NDArray) -> NDArray:
    return values[int(WARM_UP * len(run.arrival_s)) :]


def _mean_tpot(run: Simulated, found: Replica, policy: str) -> float:
    """Mean over tokens; NaN where no request writes a second one."""
    if policy == STATIC:
        return float(found.step_s[-1])
    after_first = _settled(run, run.output_tokens - 1.0).sum()
    decode = _settled(run, run.finish_s - run.first_token_s).sum()
    return float(decode / after_first) if after_first > 0.0 else np.nan


def _simulated(run: Simulated, found: Replica, policy: str, pace: float) -> tuple[Figures, dict[str, float]]:
    start = int(WARM_UP * len(run.arrival_s))
    times = {"wait_s": run.admitted_s - run.arrival_s, "on_board_s": run.finish_s - run.admitted_s, "time_s": run.finish_s - run.arrival_s}
    times = {name: _settled(run, values) / pace for name, values in times.items()}
    running = run.mean_batch(start)
    ends = np.quantile(run.finish_s, [WARM_UP, 1.0 - WARM_UP])
    done = float(len(run.finish_s) * (1.0 - 2.0 * WARM_UP) / (ends[1] - ends[0]) * found.replicas * pace)
    others = running if policy == CONTINUOUS else len(found.step_s) - 1.0
    means = {name: float(values.mean()) for name, values in times.items()}
    figures = Figures(
        **means, ttft_s=float(_settled(run, run.ttft_s).mean() + _first_s(found, others)) / pace,
        tpot_s=_mean_tpot(run, found, policy) / pace, batch=running * found.replicas, requests_per_s=done,
        output_tokens_per_s=done * float(_settled(run, run.output_tokens).mean()),
    )  # fmt: skip
    return figures, {name: standard_error(values) for name, values in times.items()}


def _closed(found: Replica, policy: str, requests_per_s: float, pace: float, catalog: Catalog) -> Figures:
    rate, tokens = requests_per_s, requests_per_s * found.output_tokens * pace
    if policy == CONTINUOUS:
        b = balance(found, rate / found.replicas)
        wait, stay, tpot, ttft = (float(x[0]) / pace for x in (b.wait_s, b.stay_s, b.tpot_s, b.ttft_s))
        return Figures(wait, stay, wait + stay, ttft, tpot, float(b.running[0] * found.replicas), rate * pace, tokens)
    s = _static(found, np.array([rate]), catalog)
    wait, stay, tpot = (float(x[0]) / pace for x in (s.fill_wait_s + s.backlog_s, s.cycle_s, s.step_s))
    ttft = wait + float(s.prefill_s[0] + _first_s(found, len(found.step_s) - 1.0)) / pace
    return Figures(wait, stay, wait + stay, ttft, tpot, rate * pace * stay, rate * pace, tokens)


def _trip(run: Simulated, places: int, policy: str, pace: float) -> Trip:
    """Requests after the warm-up; of static batches larger than the picture the end of one and the beginning of the next."""
    start = int(WARM_UP * len(run.arrival_s))
    if policy == STATIC:
        start = -(-start // places) * places - (SHOWN // 2 if places >= SHOWN else 0)
    rows = slice(start, start + SHOWN)
    zero = run.arrival_s[start]
    arrival, begin, first, finish = (times[rows] - zero for times in (run.arrival_s, run.admitted_s, run.first_token_s, run.finish_s))
    moments = np.linspace(0.0, finish.max(), FRAMES)
    # Counting sees a moment as after whatever happens at it.
    came, entered, left = (np.searchsorted(np.sort(t), moments + zero, side="right") for t in (run.arrival_s, run.admitted_s, run.finish_s))
    buses = np.empty((2, 0))
    if policy == STATIC:
        going = (run.finish_s[::places] > zero) & (run.admitted_s[::places] < zero + moments[-1])
        buses = np.stack([run.admitted_s[::places][going], run.finish_s[::places][going]]) - zero
    return Trip(arrival / pace, begin / pace, first / pace, finish / pace, moments / pace, entered - left, came - entered, buses / pace)


# over traffic


@lru_cache(maxsize=16)
def _continuous_curve(deployment: _Deployment, catalog: Catalog) -> Curve:
    found = _replica(deployment, catalog)
    saturation = found.saturation_requests_per_s
    b = balance(found, LOADS * saturation)
    held = LOADS <= HELD_TO[CONTINUOUS] * (1.0 + 1e-9)
    mean = {"ttft_s": b.ttft_s, "tpot_s": b.tpot_s, "time_s": b.time_s}
    p95 = {"ttft_s": b.ttft_p95_s}
    loads = np.array(list(CURVE_RUNS))
    runs = [_run(found, CONTINUOUS, load * saturation, n) for load, n in CURVE_RUNS.items()]
    sims = _measured(found, CONTINUOUS, runs)
    return Curve(
        CONTINUOUS, LOADS * saturation * found.replicas, *({n: np.where(held, x, np.nan) for n, x in y.items()} for y in (mean, p95)),
        {}, loads * saturation * found.replicas, loads, *sims, saturation * found.replicas,
    )  # fmt: skip


@lru_cache(maxsize=16)
def _static_curve(deployment: _Deployment, catalog: Catalog) -> Curve:
    found = _replica(deployment, catalog)
    saturation = float(_static(found, np.ones(1), catalog).saturation_requests_per_s[0])
    s = _static(found, LOADS * saturation, catalog)
    held = LOADS <= HELD_TO[STATIC] * (1.0 + 1e-9)
    places = len(found.step_s)
    ttft = s.fill_wait_s + s.backlog_s + s.prefill_s + _first_s(found, places - 1.0)
    mean = {"ttft_s": ttft, "tpot_s": s.step_s, "time_s": s.finish_s}
    requests = max(REQUESTS, BATCHES * places) // 2
    runs = [_run(found, STATIC, load * saturation / found.replicas, requests) for load in STATIC_LOADS]
    return Curve(
        STATIC, LOADS * saturation, {n: np.where(held, x, np.nan) for n, x in mean.items()}, {}, {}, STATIC_LOADS * saturation,
        STATIC_LOADS, *_measured(found, STATIC, runs), saturation,
    )  # fmt: skip


def _measured(found: Replica, policy: str, runs: list[Simulated]) -> tuple[dict[str, NDArray], ...]:
    """Means, their standard errors and 95th percentiles of MEASURES, shape (runs,)."""
    means, errors, p95s = ({name: np.full(len(runs), np.nan) for name in MEASURES} for _times in range(3))
    for i, run in enumerate(runs):
        others = run.mean_batch(int(WARM_UP * len(run.arrival_s))) if policy == CONTINUOUS else len(found.step_s) - 1.0
        tpot = run.tpot_s if policy == CONTINUOUS else np.full(len(run.arrival_s), found.step_s[-1])
        values = {"ttft_s": run.ttft_s + _first_s(found, others), "tpot_s": tpot, "time_s": run.finish_s - run.arrival_s}
        for name, per_request in values.items():
            settled = _settled(run, per_request)
            settled = settled[np.isfinite(settled)]
            if settled.size >= BLOCKS:
                means[name][i], errors[name][i], p95s[name][i] = settled.mean(), standard_error(settled), np.quantile(settled, 0.95)
        means["tpot_s"][i] = _mean_tpot(run, found, policy)
    return means, errors, p95s


def _bands(found: Replica, curve: Curve, alone: Side, catalog: Catalog) -> dict[str, tuple[NDArray, NDArray]]:
    """90 % band of the mean TPOT: that of the time at the batch a user meets, against the anchor where a quoted speed is scaled."""
    table, service = tables(catalog), found.service
    if bool(np.ravel(alone.anchored)[0]):
        width = ratio_half_width(service, alone.anchor_service, table, "tpot", 90)
    else:
        width = half_width(service, table, "tpot", 90)
    running = balance(found, curve.requests_per_s / found.replicas).running
    half = np.interp(running + 1.0, np.arange(1.0, len(width) + 1.0), width)
    mean = curve.mean["tpot_s"]
    return {"tpot_s": (mean * np.exp(-half), mean * np.exp(half))}


def _at_pace(curve: Curve, pace: float) -> Curve:
    """The curve of a deployment whose times are all shorter by `pace`."""
    times = {
        name: {n: x / pace for n, x in getattr(curve, name).items()} for name in ("mean", "p95", "simulated_mean", "simulated_error", "simulated_p95")
    }  # fmt: skip
    return replace(
        curve, **times, band={n: (low / pace, high / pace) for n, (low, high) in curve.band.items()},
        requests_per_s=curve.requests_per_s * pace, simulated_requests_per_s=curve.simulated_requests_per_s * pace,
        saturation_requests_per_s=curve.saturation_requests_per_s * pace,
    )  # fmt: skip
