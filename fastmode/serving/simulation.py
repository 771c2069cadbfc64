"""Event simulation of one replica: the truth against which the closed forms of traffic.py are held.

Between two events (an arrival, the end of a prefill, the end of a request) the batch does not change, so every decoding
request gains tokens at the same rate, 1 / step(batch). One clock V of tokens gained therefore serves them all: a request
that starts to decode at V finishes at V + O - 1. A heap on that number gives the next finish, and the simulation is exact
with three events a request, however many tokens each writes. Lengths are treated as continuous.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONTINUOUS, STATIC = "continuous", "static"


@dataclass(frozen=True)
class Simulated:
    """One entry a request, in the order of arrival, in seconds from the start; `batch_met` counts requests."""

    arrival_s: NDArray
    admitted_s: NDArray  # takes its place in the batch; its prefill starts
    first_token_s: NDArray  # its prefill ends
    finish_s: NDArray  # static batching: when the batch is given back
    output_tokens: NDArray
    batch_met: NDArray  # requests holding a place just before this one arrives; NaN for static batching
    area_s: NDArray  # integral of the batch over time up to this arrival; NaN for static batching

    @property
    def ttft_s(self) -> NDArray:
        """Seconds from arrival to first token."""
        return self.first_token_s - self.arrival_s

    @property
    def tpot_s(self) -> NDArray:
        """Mean seconds per output token after the first, of each request; NaN where it writes a single one."""
        after_first = self.output_tokens - 1.0
        return (self.finish_s - self.first_token_s) / np.where(after_first > 0, after_first, np.nan)

    def mean_batch(self, start: int = 0, stop: int = -1) -> float:
        """Batch averaged over time between the arrivals `start` and `stop`; NaN for static batching."""
        return float((self.area_s[stop] - self.area_s[start]) / (self.arrival_s[stop] - self.arrival_s[start]))


def poisson_arrivals(requests_per_s: float, requests: int, seed: int) -> NDArray:
    """Arrival times (s) of a Poisson process, shape (requests,)."""
    return np.cumsum(np.random.default_rng(seed).exponential(1.0 / requests_per_s, requests))


def lognormal_lengths(mean_tokens: float, cv: float, requests: int, seed: int) -> NDArray:
    """Output lengths of log-normal distribution, not rounded; `cv` = standard deviation / mean, 0 = all equal.

    Lengths below one token become one, which raises the mean a little where mean and spread are such that they occur.
    """
    log_variance = np.log1p(cv * cv)
    draws = np.random.default_rng(seed).standard_normal(requests)
    return np.maximum(mean_tokens * np.exp(np.sqrt(log_variance) * draws - 0.5 * log_variance), 1.0)


def simulate(
    step_s: ArrayLike,
    prefill_s: float,
    requests_per_s: float,
    requests: int,
    mean_output_tokens: float,
    output_cv: float,
    seed: int,
    policy: str = CONTINUOUS,
    prefill_delay_share: float | None = None,
) -> Simulated:
    """Poisson arrivals with log-normal output lengths on one replica.

    `step_s`: seconds per token at batch 1, 2, ... up to the largest batch. Continuous batching: as
    `continuous_batching`. Static batching: the batch is the length of `step_s`, of which only the last entry counts, and
    `prefill_s` is the prefill of the whole batch. Requests of a last batch that never fills are left out.
    Raises ValueError for an unknown policy.
    """
    arrivals = poisson_arrivals(requests_per_s, requests, seed)
    lengths = lognormal_lengths(mean_output_tokens, output_cv, requests, seed + 1)
    steps = np.asarray(step_s, dtype=np.float64)
    if policy == CONTINUOUS:
        return continuous_batching(steps, prefill_s, arrivals, lengths, prefill_delay_share)
    if policy == STATIC:
        return static_batching(float(steps[-1]), prefill_s, len(steps), arrivals, lengths)
    raise ValueError(f"unknown batching policy: {policy}")


def continuous_batching(
    step_s: ArrayLike,
    prefill_s: float,
    arrival_s: ArrayLike,
    output_tokens: ArrayLike,
    prefill_delay_share: float | None = None,
) -> Simulated:
    """Continuous batching, first come first served, at most len(step_s) requests at a time.

    `prefill_delay_share` None: `step_s` is a TPOT that already contains the prefill of the others; each request holds its
    place for `prefill_s`, side by side with whatever else runs, and counts in the batch from its admission. A share in
    [0, 1]: `step_s` is a pure step; prefills run one after the other (the rest of the arrivals wait), each slows
    decoding to 1 - share of its rate while it lasts, and a request counts in the batch of the steps once its prefill is
    done. The second form contains no formula for the delay by prefills: it happens.

    `step_s` has shape (largest batch,), `arrival_s` (sorted) and `output_tokens` (at least 1) shape (requests,).
    """
    steps = [float(value) for value in np.atleast_1d(step_s)]
    arrivals = np.asarray(arrival_s, dtype=np.float64)
    work = (np.asarray(output_tokens, dtype=np.float64) - 1.0).tolist()
    times = [*arrivals.tolist(), np.inf]
    serial = prefill_delay_share is not None
    slowed = 1.0 - prefill_delay_share if serial else 1.0
    requests, slots = len(work), len(steps)
    admitted, first, finish = np.empty((3, requests)).tolist()
    met, area_at = [0] * requests, [0.0] * requests

    now = area = clock = 0.0  # seconds, requests x seconds, tokens gained
    arrived = entered = 0  # requests that have arrived, that hold or held a place
    prefilling: deque[tuple[float, int]] = deque()  # (end of prefill, request): equal prefills end in order
    decoding: list[tuple[float, int]] = []  # heap of (value of the clock at the finish, request)
    while arrived < requests or prefilling or decoding or entered < arrived:
        batch = len(prefilling) + len(decoding)
        rate = 0.0
        if decoding:
            rate = 1.0 / steps[(len(decoding) if serial else batch) - 1]
            if prefilling:
                rate *= slowed
        next_finish = now + (decoding[0][0] - clock) / rate if rate > 0.0 else np.inf
        next_first = prefilling[0][0] if prefilling else np.inf
        event = min(times[arrived], next_first, next_finish)
        area += batch * (event - now)
        clock += rate * (event - now)
        now = event
        if event == next_finish:
            clock, i = heappop(decoding)
            finish[i] = now
        elif event == next_first:
            _, i = prefilling.popleft()
            first[i] = now
            heappush(decoding, (clock + work[i], i))
        else:
            met[arrived], area_at[arrived] = batch, area
            arrived += 1
        while entered < arrived and len(prefilling) + len(decoding) < slots and not (serial and prefilling):
            admitted[entered] = now
            prefilling.append((now + prefill_s, entered))
            entered += 1
    return Simulated(
        arrival_s=arrivals,
        admitted_s=np.array(admitted),
        first_token_s=np.array(first),
        finish_s=np.array(finish),
        output_tokens=np.asarray(output_tokens, dtype=np.float64),
        batch_met=np.array(met, dtype=np.float64),
        area_s=np.array(area_at),
    )


def static_batching(
    step_s: float, prefill_s: float, batch: int, arrival_s: ArrayLike, output_tokens: ArrayLike
) -> Simulated:
    """Static batching: `batch` requests are collected, prefilled together and held until the longest is done.

    A batch starts when it is full and the one before is gone: end_k = max(full_k, end_(k-1)) + C_k, which unrolls to
    end_k = sum of C up to k + max over j <= k of (full_j - sum of C up to j - 1). Arrays of shape (requests,) in, whole
    batches out; the rest, which would wait for ever, is cut off.
    """
    arrivals = np.asarray(arrival_s, dtype=np.float64)
    whole = len(arrivals) // batch
    arrivals = arrivals[: whole * batch]
    lengths = np.asarray(output_tokens, dtype=np.float64)[: whole * batch]
    cycle = prefill_s + (lengths.reshape(whole, batch).max(axis=1) - 1.0) * step_s
    until = np.cumsum(cycle)
    end = until + np.maximum.accumulate(arrivals.reshape(whole, batch)[:, -1] - (until - cycle))
    start = np.repeat(end - cycle, batch)
    unknown = np.full(len(arrivals), np.nan)
    return Simulated(
        arrival_s=arrivals,
        admitted_s=start,
        first_token_s=start + prefill_s,
        finish_s=np.repeat(end, batch),
        output_tokens=lengths,
        batch_met=unknown,
        area_s=unknown,
    )
