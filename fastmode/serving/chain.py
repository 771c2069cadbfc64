"""Continuous batching with a given number of places, as a chain of states: exact where traffic.py takes the limit of many places.

The number holding a place has the distribution p(n) ~ product over k <= n of rate D(k)/k up to all `places`, and
falls by rate D(places)/places with every request that waits beyond them; D(n) = prefill + (O - 1) TPOT(n). Up to a full batch
that is processor sharing at a rate that depends on the number, whatever the lengths (Cohen 1979). Waiting for a place
counts the spread of lengths by the interpolation of Tijms, van Hoorn and Federgruen (1981) for many servers: with w the
wait for exponential times, ((1 - load) x places x g / D + load (1 + c^2)/2) w, g the mean time until the first of a full
batch is done, seen at a random moment, c the spread of the time a place is held. It is exact for one place.

Waiting for the prefills of others is that of traffic.py, for those who find a place. What is simplified: TPOT holds the
others' prefill as a mean, and the two waits are taken one after the other. Held against the event simulation in tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.serving.automatic import serve_automatic
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.normal import NORMAL, Z
from fastmode.serving.service import Service
from fastmode.serving.static import longest_length
from fastmode.serving.tables import tables
from fastmode.serving.traffic import first_step_s, prefill_wait, settle, wait_p95

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

HELD_TO_LOAD = 0.8  # the closed form is held against the simulation up to here, within 3 % of time in system and TPOT


@dataclass(frozen=True)
class Replica:
    """One of the equal replicas of a deployment, by the number of requests that hold a place: arrays of shape (places,)."""

    service: Service  # at 1, 2, ... requests a replica
    values: dict[str, NDArray]  # the configuration with its chips settled, attributes of ServingConfig, shape (1,)
    replicas: float
    tpot_s: NDArray  # the prefill of the others in it
    step_s: NDArray  # without
    first_s: NDArray  # between the end of the prefill and the first token
    prefill_s: float
    held_s: float  # for which a prefill holds the chips
    delay_share: float  # of decoding, lost while another's prefill runs
    output_tokens: float  # mean, of lengths of at least one token
    asked_tokens: float  # mean as asked for
    length_cv: float  # asked for

    @property
    def stay_s(self) -> NDArray:
        """Seconds a place is held when that many are: own prefill and the tokens after the first."""
        return self.prefill_s + (self.output_tokens - 1.0) * self.tpot_s

    @property
    def saturation_requests_per_s(self) -> float:
        """Of this replica: its batch is full, or prefill takes all the time."""
        by_prefill = 1.0 / self.held_s if self.held_s > 0.0 else np.inf
        return float(min(len(self.tpot_s) / self.stay_s[-1], by_prefill))


@dataclass(frozen=True)
class Balance:
    """A replica in steady traffic, arrays of shape (n,); NaN from saturation on."""

    running: NDArray  # mean number of requests that hold a place
    full: NDArray  # probability that an arrival finds all places taken
    slot_wait_s: NDArray
    prefill_wait_s: NDArray
    tpot_s: NDArray  # mean over tokens
    stay_s: NDArray  # mean time a place is held
    ttft_s: NDArray
    ttft_p95_s: NDArray

    @property
    def wait_s(self) -> NDArray:
        """Mean time from arrival to the start of the prefill."""
        return self.slot_wait_s + self.prefill_wait_s

    @property
    def time_s(self) -> NDArray:
        """Mean time in the system, from arrival to the last token."""
        return self.wait_s + self.stay_s


def replica_of(config: ServingConfig, length_cv: float, batch_limit: float, catalog: Catalog) -> Replica | Service:
    """The replica of one configuration under a batch limit over all chips; the Service with the reason where there is none.

    Chips are settled as in `serve_traffic`. A limit that the replicas do not share evenly is rounded down, to at least one each.
    """
    with np.errstate(all="ignore"):
        setup, _more = settle(config, length_cv, batch_limit, catalog)
    if not setup.served[0]:
        return setup.light
    replicas = float(setup.replicas[0])
    places = max(int(setup.most[0] / replicas + 1e-9), 1)
    values = {name: array[:1] for name, array in setup.values.items()}
    service = serve_automatic(ServingConfig(**values | {"batch": replicas * np.arange(1.0, places + 1.0)}), catalog)
    asked = float(setup.values["output_tokens"][0])
    return Replica(
        service=service, values=values, replicas=replicas, tpot_s=service.tpot_s,
        step_s=service.tpot_s - service.others_prefill_s,
        first_s=setup.fixed_s + float(setup.steps[0]) * first_step_s(service), prefill_s=float(service.prefill_s[0]),
        held_s=float(setup.held_s[0]), delay_share=float(tables(catalog).engine[0, int(setup.values["engine"][0])]),
        output_tokens=float(longest_length(asked, length_cv, 1.0)[0][0]), asked_tokens=asked, length_cv=length_cv,
    )  # fmt: skip


def balance(replica: Replica, requests_per_s: ArrayLike) -> Balance:
    """Steady state of one replica at requests/s of its own, scalar or shape (n,)."""
    rate = np.atleast_1d(np.asarray(requests_per_s, dtype=np.float64))
    rate = np.where((rate > 0.0) & (rate < replica.saturation_requests_per_s), rate, np.nan)[:, None]
    places, stay = len(replica.tpot_s), replica.stay_s
    number = np.arange(places + 1.0)
    weight = np.concatenate([np.zeros_like(rate), np.cumsum(np.log(rate * stay / number[1:]), axis=1)], axis=1)
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    load = rate[:, 0] * stay[-1] / places
    weight[:, -1] /= 1.0 - load  # all who wait beyond the places, a geometric series
    chance = weight / weight.sum(axis=1, keepdims=True)
    running, full, rate = chance @ number, chance[:, -1], rate[:, 0]
    stay_s = running / rate
    after_first = replica.output_tokens - 1.0
    decode_s = stay_s - replica.prefill_s
    tpot = decode_s / after_first if after_first > 0.0 else np.full_like(rate, replica.tpot_s[0])

    exponential = full * stay[-1] / places / (1.0 - load)
    first_done, spread = _of_a_full_batch(replica)
    slot = exponential * ((1.0 - load) * places * first_done / stay[-1] + load * 0.5 * (1.0 + spread**2))
    ahead = prefill_wait(rate, replica.held_s) * (1.0 - full)
    late = wait_p95(rate, replica.held_s, full, slot / np.where(full > 0.0, full, 1.0))
    begin = replica.prefill_s + np.interp(running + 1.0, number[1:], replica.first_s)
    return Balance(
        running=running, full=full, slot_wait_s=slot, prefill_wait_s=ahead, tpot_s=tpot,
        stay_s=stay_s, ttft_s=begin + slot + ahead, ttft_p95_s=begin + np.maximum(late, slot + ahead),
    )  # fmt: skip


def _of_a_full_batch(replica: Replica) -> tuple[float, float]:
    """Mean time (s) until the first of a full batch is done, seen at a random moment, and the spread (standard deviation /
    mean) of the time a place is held in it."""
    log_variance = np.log1p(replica.length_cv**2)
    lengths = np.maximum(replica.asked_tokens * np.exp(np.sqrt(log_variance) * Z - 0.5 * log_variance), 1.0)
    stay = replica.prefill_s + (lengths - 1.0) * replica.tpot_s[-1]
    # The rest of a stay that is under way lasts longer than t with probability (integral of 1 - F beyond t) / mean.
    steps = np.diff(stay) * (1.0 - 0.5 * (NORMAL[1:] + NORMAL[:-1]))
    beyond = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    mean = stay[0] + beyond[0]  # nobody leaves before the shortest stay
    lasts, power = (beyond / mean) ** len(replica.tpot_s), len(replica.tpot_s) + 1.0
    before = mean / power * (1.0 - (beyond[0] / mean) ** power)  # up to the shortest stay it falls as (1 - t / mean)^places
    first_done = float(before + (np.diff(stay) * 0.5 * (lasts[1:] + lasts[:-1])).sum())
    mass = np.diff(NORMAL)
    middle = 0.5 * (stay[1:] + stay[:-1])
    variance = float((mass * (middle - (mass * middle).sum()) ** 2).sum())
    return first_done, float(np.sqrt(variance) / mean)
