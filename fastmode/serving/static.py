"""Static batching: a number of requests is collected, served together and held until the longest of them is done.

The bus of the articles: it departs when it is full and comes back when its last passenger is where he wants to be. Who comes
while it is away, or before it is full, waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.serving.automatic import serve_automatic
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.normal import NORMAL, Z
from fastmode.serving.service import OK as SERVED
from fastmode.serving.service import Service
from fastmode.serving.traffic import INVALID_RATE, NOT_SERVED, OK, SATURATED

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

HELD_TO_LOAD = 0.5  # the closed form is held against the simulation up to here, within 3 % of the mean time in system


@dataclass(frozen=True)
class StaticBatch:
    """Arrays of length N; figures are NaN where the status is not 0. Rates are over all chips.

    Where `only_bound` is True the waiting is known between two bounds alone: `fill_wait_s`, and that plus
    `backlog_bound_s`; `backlog_s`, and with it `ttft_s` and `finish_s`, is then an estimate that nothing holds to 3 %.
    """

    status: NDArray  # int8, as in Traffic
    service: Service  # at config.batch; its tpot_s holds prefill of arrivals, which a static batch does not admit
    saturation_requests_per_s: NDArray
    load: NDArray
    longest_tokens: NDArray  # expected longest output of a batch
    step_s: NDArray  # per token of every member, until the longest is done
    prefill_s: NDArray  # of the whole batch
    cycle_s: NDArray
    fill_wait_s: NDArray  # mean wait until the batch is full
    backlog_s: NDArray  # mean wait of a full batch for the one before
    backlog_bound_s: NDArray  # upper bound of it
    ttft_s: NDArray
    finish_s: NDArray  # from arrival to the end of the batch
    output_tokens_per_s: NDArray
    only_bound: NDArray  # bool


def longest_length(mean_tokens: ArrayLike, cv: ArrayLike, batch: ArrayLike) -> tuple[NDArray, NDArray]:
    """Mean and variance of the longest of `batch` log-normal lengths (at least 1 token): quadrature over F^batch."""
    mean, cv, batch = (np.atleast_1d(np.asarray(x, dtype=np.float64))[:, None] for x in (mean_tokens, cv, batch))
    variance = np.log1p(cv * cv)
    middle = 0.5 * (Z[1:] + Z[:-1])
    length = np.maximum(mean * np.exp(np.sqrt(variance) * middle - 0.5 * variance), 1.0)
    mass = np.diff(NORMAL**batch, axis=1)
    longest = (length * mass).sum(axis=1)
    return longest, (np.square(length - longest[:, None]) * mass).sum(axis=1)


def backlog(
    members: ArrayLike, requests_per_s: ArrayLike, cycle_s: ArrayLike, cycle_variance: ArrayLike
) -> tuple[NDArray, NDArray]:
    """Mean wait (s) of a full batch for the end of the one before, and an upper bound; infinite where batches fill faster.

    Whole batches arrive at gaps of mean f = members/rate and variance members/rate^2; each takes a cycle. Bound (Kingman):
    (both variances)/(2 (1 - load) f), load = cycle/f. The mean is that of Kraemer and Langenbach-Belz (1976): load x cycle x
    (a + b)/(2 (1 - load)) x exp(-2 (1 - load) (1 - a)^2/(3 load (a + b))), a = 1/members and b the two squared coefficients
    of variation; exact for a batch of one (Pollaczek-Khinchine).
    """
    members, rate, cycle, variance = (
        np.asarray(value, dtype=np.float64) for value in (members, requests_per_s, cycle_s, cycle_variance)
    )
    gap = members / rate
    load = cycle / gap
    room = np.where(load < 1.0, 1.0 - load, np.nan)
    early, spread = 1.0 / members, variance / cycle**2
    both = np.maximum(early + spread, 1e-300)
    mean = load * cycle * both / (2.0 * room) * np.exp(-2.0 * room * (1.0 - early) ** 2 / (3.0 * load * both))
    bound = (members / rate**2 + variance) / (2.0 * room * gap)
    return np.where(load < 1.0, mean, np.inf), np.where(load < 1.0, bound, np.inf)


def static_batch(
    config: ServingConfig, requests_per_s: ArrayLike, length_cv: ArrayLike, catalog: Catalog
) -> StaticBatch:
    """Static batching: `config.batch` requests (split over the replicas) are collected, then held to the longest output.

    Lengths are log-normal with mean config.output_tokens; shapes broadcast as in `serve_traffic`. Cycle C = prefill of
    all + (longest - 1) x step. A request waits for its batch to fill, (B - 1)/(2 rate) on average, and with it for the batch
    before (`backlog`). `only_bound` marks loads above HELD_TO_LOAD. A batch started before it is full is not modelled.
    """
    with np.errstate(all="ignore"):
        values = config.broadcast()
        rate, cv, *_rest = np.broadcast_arrays(np.atleast_1d(requests_per_s), np.atleast_1d(length_cv), values["model"])
        rate, cv = rate.astype(np.float64), cv.astype(np.float64)
        values = {name: np.array(np.broadcast_to(array, rate.shape)) for name, array in values.items()}
        service = serve_automatic(ServingConfig(**values), catalog)
        members, fresh = service.batch / service.replicas, values["fresh_tokens"]
        held = np.where(fresh > 0, fresh * service.replicas / service.prefill_tokens_per_s, 0.0)
        step, prefill = service.tpot_s - service.others_prefill_s, service.prefill_s + (members - 1.0) * held
        longest, longest_variance = longest_length(values["output_tokens"], cv, members)
        cycle = prefill + (longest - 1.0) * step
        saturation = service.batch / cycle
        own_rate = rate / service.replicas
        fill_wait = (members - 1.0) / (2.0 * own_rate)
        behind, bound = backlog(members, own_rate, cycle, longest_variance * step**2)
        status = np.where(service.status == SERVED, OK, NOT_SERVED).astype(np.int8)
        status[(status == OK) & (rate >= saturation)] = SATURATED
        status[(status != NOT_SERVED) & ~((rate > 0.0) & (rate < np.inf))] = INVALID_RATE
        ok = status == OK
        figures = {
            "longest_tokens": longest, "step_s": step, "prefill_s": prefill, "cycle_s": cycle, "fill_wait_s": fill_wait,
            "backlog_s": behind, "backlog_bound_s": bound, "ttft_s": fill_wait + behind + prefill + step,
            "finish_s": fill_wait + behind + cycle, "output_tokens_per_s": rate * values["output_tokens"],
        }  # fmt: skip
        return StaticBatch(
            status=status, service=service, saturation_requests_per_s=saturation, load=rate / saturation,
            only_bound=ok & (rate > HELD_TO_LOAD * saturation),
            **{name: np.where(ok, array, np.nan) for name, array in figures.items()},
        )  # fmt: skip
