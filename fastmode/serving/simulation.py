"""Event simulation of one replica: the truth against which the closed forms of traffic.py, chain.py and static.py are held.

Between two events (the end of a prefill, the end of a request, the next admission) the batch does not change, so every
decoding request gains tokens at the same rate, 1 / step(batch). One clock V of tokens gained therefore serves them all: a
request that starts to decode at V finishes at V + O - 1. A heap of those numbers gives the next finish, and the simulation is
exact with a handful of steps a request, however many tokens each writes. Lengths are treated as continuous.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.serving.normal import inverse_normal

CONTINUOUS, STATIC = "continuous", "static"
BLOCKS = 20  # of neighbouring requests, whose means tell the standard error


@dataclass(frozen=True)
class Simulated:
    """One entry a request, in the order of arrival, in seconds from the start."""

    arrival_s: NDArray
    admitted_s: NDArray  # takes its place in the batch; its prefill starts
    first_token_s: NDArray  # its prefill ends
    finish_s: NDArray  # static batching: when the batch is given back
    output_tokens: NDArray

    @property
    def ttft_s(self) -> NDArray:
        """Seconds from arrival to first token."""
        return self.first_token_s - self.arrival_s

    @property
    def tpot_s(self) -> NDArray:
        """Mean seconds per output token after the first, of each request; NaN where it writes a single one."""
        after_first = self.output_tokens - 1.0
        return (self.finish_s - self.first_token_s) / np.where(after_first > 0, after_first, np.nan)

    @property
    def batch_met(self) -> NDArray:
        """Requests holding a place just before each arrives."""
        entered, left = (np.searchsorted(np.sort(times), self.arrival_s) for times in (self.admitted_s, self.finish_s))
        return (entered - left).astype(np.float64)

    def mean_batch(self, start: int = 0, stop: int = -1) -> float:
        """Requests holding a place, averaged over time between the arrivals `start` and `stop`."""
        begin, end = self.arrival_s[start], self.arrival_s[stop]
        held = np.clip(self.finish_s, begin, end) - np.clip(self.admitted_s, begin, end)
        return float(held.sum() / (end - begin))


def standard_error(values: NDArray) -> float:
    """Standard error of a mean of values that depend on their neighbours, from the means of BLOCKS blocks; shape (n,)."""
    means = values[: len(values) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(BLOCKS))


def poisson_arrivals(requests_per_s: float, requests: int, seed: int) -> NDArray:
    """Arrival times (s) of a Poisson process, shape (requests,)."""
    return np.cumsum(np.random.default_rng(seed).exponential(1.0 / requests_per_s, requests))


def lognormal_lengths(mean_tokens: float, cv: float, requests: int, seed: int) -> NDArray:
    """Output lengths of log-normal distribution, not rounded; `cv` = standard deviation / mean, 0 = all equal.

    One from each of `requests` equally likely ranges, in random order: each is a fair draw, and their mean hardly varies.
    Lengths below one token become one, which raises the mean a little where mean and spread are such that they occur.
    """
    log_variance = np.log1p(cv * cv)
    generator = np.random.default_rng(seed)
    ranks = generator.permutation(requests) + generator.random(requests)
    draws = inverse_normal(ranks / requests)
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
    held_s: float | None = None,
) -> Simulated:
    """Continuous batching, first come first served, at most len(step_s) requests at a time.

    `prefill_delay_share` None: `step_s` is a TPOT that already contains the prefill of the others; each request holds its
    place for `prefill_s`, side by side with whatever else runs, and counts in the batch from its admission. A share in
    [0, 1]: `step_s` is a pure step; each prefill holds the chips for `held_s` (default: `prefill_s`, which it takes for its
    owner), the next one waits that long, and decoding slows to 1 - share of its rate; a request counts in the batch of the steps
    once its prefill is done. The second form contains no formula for the delay by prefills: it happens.

    `step_s` has shape (largest batch,), `arrival_s` (sorted) and `output_tokens` (at least 1) shape (requests,).
    """
    arrivals = np.asarray(arrival_s, dtype=np.float64)
    lengths = np.asarray(output_tokens, dtype=np.float64)
    together = prefill_delay_share is None
    slowed = 1.0 if together else 1.0 - prefill_delay_share
    held = 0.0 if together else prefill_s if held_s is None else held_s
    rates = [0.0, *(1.0 / np.atleast_1d(np.asarray(step_s, dtype=np.float64))).tolist()]
    places, work, no_more = len(rates) - 1, (lengths - 1.0).tolist(), float("inf")

    now = clock = chips_free = 0.0  # seconds, tokens gained, end of the last prefill
    holding = decoding = joined = 0
    next_first = next_goal = no_more
    firsts: deque[float] = deque()  # ends of prefills to come
    heap: list[float] = []  # clocks at which those who decode finish
    goals: list[float] = []  # the same of all, in the order of arrival
    admitted: list[float] = []
    left: list[float] = []  # times of the finishes, in the order of the clock
    # After the last arrival, the rest is run out: an admission that never comes.
    for arrival in _with_end(arrivals):
        start = arrival if arrival > chips_free else chips_free
        while now < start or holding == places:
            until = start if now < start else no_more
            if next_first < until:
                until = next_first
            rate = rates[holding if together else decoding]
            if now < chips_free:
                rate *= slowed
                if chips_free < until:
                    until = chips_free
            if decoding and (rate == 0.0 or clock + rate * (until - now) < next_goal):
                clock += rate * (until - now)
            elif decoding:
                now += (next_goal - clock) / rate
                clock = heappop(heap)
                left.append(now)
                decoding -= 1
                holding -= 1
                next_goal = heap[0] if decoding else no_more
                continue
            if until == no_more:
                break  # nothing is left to happen
            now = until
            if now == next_first:
                firsts.popleft()
                next_first = firsts[0] if firsts else no_more
                goal = clock + work[joined]
                joined += 1
                goals.append(goal)
                heappush(heap, goal)
                decoding += 1
                if goal < next_goal:
                    next_goal = goal
        if arrival == no_more:
            break
        admitted.append(now)
        holding += 1
        chips_free = now + held
        firsts.append(now + prefill_s)
        if next_first == no_more:
            next_first = now + prefill_s
    begin, finish = np.array(admitted), np.empty(len(work))
    finish[np.argsort(goals, kind="stable")] = left
    return Simulated(arrivals, begin, begin + prefill_s, finish, lengths)


def _with_end(arrival_s: NDArray) -> Iterator[float]:
    yield from arrival_s.tolist()
    yield float("inf")


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
    return Simulated(
        arrival_s=arrivals,
        admitted_s=start,
        first_token_s=start + prefill_s,
        finish_s=np.repeat(end, batch),
        output_tokens=lengths,
    )
