"""The bus: the chain by hand, closed forms against the simulation on real deployments, and what the tab says."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import bus as buses
from fastmode import catalog, scenario
from fastmode.bus import Figures, Ride, bus, load_curves
from fastmode.serving import PRECISIONS, Replica, ServingConfig, balance, replica_of, serve_traffic, static_batch
from fastmode.serving.simulation import (
    continuous_batching,
    lognormal_lengths,
    poisson_arrivals,
    standard_error,
    static_batching,
)
from fastmode.serving.static import backlog

CAT = catalog.load()
START = scenario.default(CAT)  # GLM-4.7 on wafers, batch 16, 400 tokens a call


def config(model, hardware, **more):
    return ServingConfig(model=CAT.models.index.get_loc(model), hardware=CAT.hardware.index.get_loc(hardware), **more)


DEPLOYMENTS = {
    "dense": config("llama-3.1-70b", "b200_sxm", n_chips=4, tp=4, weight_precision=PRECISIONS.index("fp8"), context_tokens=2_000.0, fresh_tokens=1_000.0, output_tokens=500.0),
    "mixture": config("kimi-k2", "b200_sxm", n_chips=8, weight_precision=PRECISIONS.index("fp8"), context_tokens=32_000.0, fresh_tokens=5_700.0, cached_tokens=26_300.0, output_tokens=400.0),
    "long": config("glm-4.7", "b200_sxm", n_chips=8, weight_precision=PRECISIONS.index("fp8"), context_tokens=32_000.0, fresh_tokens=500.0, cached_tokens=31_500.0, output_tokens=1_500.0),
    "wafer": config("llama-3.1-70b", "cerebras_wse3", n_chips=4, weight_precision=0, context_tokens=8_000.0, fresh_tokens=2_000.0, output_tokens=500.0),
}  # fmt: skip


def by_hand(tpot_s, prefill_s=0.0, held_s=0.0, tokens=101.0, cv=0.0) -> Replica:
    """A replica with the given seconds per token at 1, 2, ... requests."""
    tpot = np.asarray(tpot_s, dtype=float)
    return Replica(None, {}, 1.0, tpot, tpot, np.full(len(tpot), 0.5), prefill_s, held_s, 1.0, tokens, tokens, cv)


# The chain


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.0])
def test_one_place_is_the_queue_of_pollaczek_and_khinchine(cv):
    """Stays of 1 s on average at 0.6/s: 0.6 (1 + cv^2) / (2 x 0.4) s of waiting; 1 + 0.6 x 1 s = half of the prefill is fixed."""
    b = balance(by_hand([0.01], tokens=101.0, cv=cv), [0.6])
    stay = 100 * 0.01
    spread = cv * 101 / 100  # of the tokens after the first
    assert b.running[0] == pytest.approx(0.6, rel=1e-9) and b.full[0] == pytest.approx(0.6, rel=1e-9)
    assert b.slot_wait_s[0] == pytest.approx(0.6 * (1 + spread**2) * stay / 0.8, rel=2e-3)
    assert b.tpot_s[0] == pytest.approx(0.01) and b.time_s[0] == pytest.approx(b.wait_s[0] + 1.0)
    assert b.ttft_s[0] == pytest.approx(0.5 + b.wait_s[0])


def test_two_places_of_constant_speed_are_erlangs():
    """1 request of work for 2 places: p = (1/3, 1/3, 1/6 and as much beyond), so one arrival in three waits.

    The first of two equal stays of 1 s is done after 1/3 s; w = 1/3 s: (0.5 x 2 x 1/3 + 0.5 x 1/2) x 1/3 = 7/36 s.
    """
    b = balance(by_hand([0.01, 0.01]), [1.0])
    assert b.full[0] == pytest.approx(1 / 3) and b.running[0] == pytest.approx(1.0)
    assert b.slot_wait_s[0] == pytest.approx(7 / 36, rel=1e-6)


def test_a_slower_full_batch_by_hand():
    """1 s alone, 1.5 s each in a pair, at 0.5/s: weights 1, 1/2, 3/16, and beyond (1/(1 - 3/8)) 3/10; sum 9/5."""
    b = balance(by_hand([0.01, 0.015]), [0.5])
    assert b.full[0] == pytest.approx(1 / 6) and b.running[0] == pytest.approx((0.5 + 2 * 0.3) / 1.8)
    assert b.tpot_s[0] == pytest.approx(b.running[0] / 0.5 / 100)


def test_prefills_of_others_are_waited_for_by_those_who_find_a_place():
    """2 s of prefill hold the chips for 0.5 s: at 1/s M/D/1 waits 0.5 x 0.5/(2 x 0.5) s; 400 places are never full."""
    b = balance(by_hand(np.full(400, 0.01), prefill_s=2.0, held_s=0.5), [1.0])
    assert b.prefill_wait_s[0] == pytest.approx(0.25) and b.slot_wait_s[0] == pytest.approx(0.0, abs=1e-12)
    assert b.stay_s[0] == pytest.approx(3.0) and b.ttft_s[0] == pytest.approx(0.25 + 2.0 + 0.5)


def test_saturation_has_no_steady_state_and_prefill_may_be_what_saturates():
    replica = by_hand([0.01, 0.015])
    assert replica.saturation_requests_per_s == pytest.approx(2 / 1.5)
    b = balance(replica, [1.33, 1.34, -1.0])
    assert np.isfinite(b.time_s[0]) and np.isnan(b.time_s[1:]).all()
    assert by_hand(np.full(9, 0.01), prefill_s=1.0, held_s=0.5).saturation_requests_per_s == pytest.approx(2.0)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_batch_limit_is_shared_by_the_replicas_and_capped_by_memory(name):
    asked = DEPLOYMENTS[name]
    memory = replica_of(asked, 1.0, np.inf, CAT)
    most = len(memory.tpot_s)
    four, beyond = (replica_of(asked, 1.0, limit, CAT) for limit in (4.0, 10 * most))
    assert len(four.tpot_s) == 4 and len(beyond.tpot_s) == most
    np.testing.assert_allclose(four.tpot_s, memory.tpot_s[:4], rtol=1e-12)
    assert four.saturation_requests_per_s == pytest.approx(serve_traffic(asked, 0.0, CAT, 1.0, 4.0).saturation_requests_per_s[0], rel=1e-4)


def test_replicas_share_the_limit_evenly():
    two = replica_of(replace(DEPLOYMENTS["dense"], n_chips=8), 1.0, 9.0, CAT)
    assert two.replicas == 2 and len(two.tpot_s) == 4
    assert len(replica_of(replace(DEPLOYMENTS["dense"], n_chips=8), 1.0, 1.0, CAT).tpot_s) == 1


def test_what_is_not_served_keeps_its_reason():
    assert "do not fit" in replica_of(replace(DEPLOYMENTS["mixture"], n_chips=1), 1.0, 4.0, CAT).reason(0)


# Closed form and simulation


def settled(values):
    return values[len(values) // 10 :]


LIMITS = [("dense", 16, 1.0), ("dense", 64, 0.6), ("mixture", 12, 0.6), ("mixture", 164, 1.0), ("long", 48, 1.0), ("wafer", 6, 0.3), ("wafer", 2, 0.5)]  # fmt: skip
SEEDS = {0.1: 5, 0.3: 5, 0.5: 5, 0.8: 5}


@pytest.mark.parametrize("load", SEEDS)
@pytest.mark.parametrize(("name", "limit", "cv"), LIMITS)
def test_continuous_batching_agrees_with_the_simulation_within_three_percent(name, limit, cv, load):
    """Mean time in the system, TPOT and batch; warm-up dropped, as many requests as a standard error below 1 % takes."""
    replica = replica_of(DEPLOYMENTS[name], cv, limit, CAT)
    assert len(replica.tpot_s) == limit
    rate = load * replica.saturation_requests_per_s
    closed = balance(replica, rate)
    for requests in (20_000, 80_000, 320_000, 640_000):
        arrivals = poisson_arrivals(rate, requests, SEEDS[load])
        run = continuous_batching(replica.step_s, replica.prefill_s, arrivals, lognormal_lengths(replica.asked_tokens, cv, requests, 6), replica.delay_share, replica.held_s)  # fmt: skip
        time = settled(run.finish_s - run.arrival_s)
        error = standard_error(time) / time.mean()
        if error < 0.01:
            break
    assert error < 0.01
    tpot = settled(run.finish_s - run.first_token_s).sum() / settled(run.output_tokens - 1.0).sum()
    assert closed.time_s[0] == pytest.approx(time.mean(), rel=0.03)
    assert closed.tpot_s[0] == pytest.approx(tpot, rel=0.03)
    assert closed.running[0] == pytest.approx(run.mean_batch(requests // 10), rel=0.03)


@pytest.mark.parametrize("load", [0.1, 0.3, 0.5])
@pytest.mark.parametrize(("name", "limit", "cv"), [("dense", 1, 1.0), ("dense", 64, 1.0), ("mixture", 4, 0.6), ("mixture", 16, 1.0), ("wafer", 2, 1.0), ("wafer", 6, 0.0)])  # fmt: skip
def test_static_batching_agrees_with_the_simulation_within_three_percent(name, limit, cv, load):
    replica = replica_of(DEPLOYMENTS[name], cv, limit, CAT)
    asked = replace(DEPLOYMENTS[name], batch=float(limit))
    rate = load * static_batch(asked, 1.0, cv, CAT).saturation_requests_per_s[0]
    closed = static_batch(asked, rate, cv, CAT)
    requests = 800_000
    prefill = replica.prefill_s + (limit - 1) * replica.held_s
    run = static_batching(float(replica.step_s[-1]), prefill, limit, poisson_arrivals(rate, requests, 5), lognormal_lengths(replica.asked_tokens, cv, requests, 6))  # fmt: skip
    time = settled(run.finish_s - run.arrival_s)
    assert standard_error(time) < 0.01 * time.mean()
    assert not closed.only_bound[0]
    assert closed.finish_s[0] == pytest.approx(time.mean(), rel=0.03)
    assert closed.load[0] / closed.service.batch[0] * limit == pytest.approx(load)


def test_the_backlog_by_hand():
    """One place: 0.5 x 1 x (1 + 0.25)/(2 x 0.5). Pairs at 1/s, cycles of 1 s: load 1/2, a = 1/2, b = 0, e^(-2 x .5 x .25/(3 x .5 x .5))."""
    assert backlog(1.0, 0.5, 1.0, 0.25)[0] == pytest.approx(0.625)
    mean, bound = backlog(2.0, 1.0, 1.0, 0.0)
    assert mean == pytest.approx(0.5 * 0.5 / (2 * 0.5) * np.exp(-1 / 3)) and bound == pytest.approx(2 / (2 * 0.5 * 2))
    assert np.isinf(backlog(2.0, 2.5, 1.0, 0.0)).all()


# The bus of a scenario


def test_a_static_bus_of_sixteen_fills_in_seven_and_a_half_seconds():
    """15/2 arrivals at 1/s; in continuous batches hardly anybody waits."""
    found = bus(START, CAT)
    static, continuous = found.rides["static"], found.rides["continuous"]
    assert (found.reason, found.places, found.replicas) == ("", 16, 1)
    assert static.closed.wait_s == pytest.approx(7.5, rel=1e-6) and continuous.figures.wait_s < 1e-3
    assert static.by_formula and continuous.by_formula
    for ride in (static, continuous):
        assert ride.simulated_requests == 10_000
        assert ride.simulated.time_s == pytest.approx(ride.closed.time_s, abs=4 * ride.error["time_s"])
        assert ride.closed.time_s == pytest.approx(ride.closed.wait_s + ride.closed.on_board_s)
        assert ride.closed.batch == pytest.approx(ride.closed.on_board_s * 1.0, rel=1e-9)  # Little, at 1/s
        assert ride.closed.output_tokens_per_s == pytest.approx(400.0, rel=1e-4)
        assert ride.simulated.requests_per_s == pytest.approx(1.0, rel=0.03)
    assert continuous.saturation_requests_per_s > 2 * static.saturation_requests_per_s


def test_quoted_speed_shortens_all_times_alike():
    """The published deployment at its own traffic is the stand-in at less, with all times divided by the pace."""
    paced = bus(START, CAT)
    alone = bus(replace(START, anchor="model", requests_per_s=1.0 / paced.pace), CAT)
    assert alone.pace == 1.0 and paced.pace != 1.0
    for policy in buses.POLICIES:
        one, other = paced.rides[policy], alone.rides[policy]
        assert one.load == pytest.approx(other.load, rel=1e-9)
        for name in ("wait_s", "on_board_s", "ttft_s", "tpot_s"):
            assert getattr(one.closed, name) == pytest.approx(getattr(other.closed, name) / paced.pace, rel=1e-9)
        assert one.simulated.time_s == pytest.approx(other.simulated.time_s / paced.pace, rel=1e-6)
        assert one.closed.requests_per_s == pytest.approx(1.0)


def test_the_saturation_is_that_of_the_cards_in_traffic():
    from fastmode.evaluate import evaluate

    huge = replace(START, hardware="b200_sxm", n_chips=16, anchor="model", batch_size=512.0)
    memory = evaluate(replace(huge, load="traffic"), CAT).now.service
    assert memory.max_batch[0] < 512
    assert bus(huge, CAT).rides["continuous"].saturation_requests_per_s == pytest.approx(memory.saturation_requests_per_s[0], rel=5e-3)


def test_above_its_loads_the_simulation_is_shown():
    busy = bus(replace(START, requests_per_s=10.0), CAT).rides
    assert 0.5 < busy["static"].load < 1.0 and busy["static"].only_bound and not busy["static"].by_formula
    assert busy["static"].figures is busy["static"].simulated and busy["continuous"].by_formula
    full = bus(replace(START, requests_per_s=35.0), CAT).rides
    assert 0.8 < full["continuous"].load < 1.0 and full["continuous"].figures is full["continuous"].simulated
    assert full["static"].figures is None and full["static"].trip is None and full["static"].load > 1.0


def test_a_closed_form_that_is_off_is_not_shown():
    one = Figures(1.0, 1.0, 2.0, 1.2, 0.01, 1.0, 1.0, 100.0)
    for time, shown in ((1.95, True), (1.9, False)):  # 2.6 and 5.3 %
        ride = Ride("continuous", 0.5, 2.0, one, replace(one, time_s=time), {}, 10_000, None)
        assert ride.by_formula is shown and ride.figures is (ride.closed if shown else ride.simulated)
        assert ride.difference == pytest.approx(2.0 / time - 1.0)
    slow = Ride("continuous", 0.5, 2.0, one, replace(one, tpot_s=0.0096), {}, 10_000, None)
    assert slow.difference == pytest.approx(1 / 0.96 - 1) and not slow.by_formula


def test_a_deployment_that_does_not_fit_has_a_reason_and_no_ride():
    for changed, words in (({"n_chips": 1}, "do not fit"), ({"model": "none"}, "no stand-in model chosen")):
        found = bus(replace(START, **changed), CAT)
        assert words in found.reason and found.rides == {}
        assert load_curves(replace(START, **changed), CAT) == ()


def test_the_static_picture_shows_the_end_of_one_bus_and_the_beginning_of_the_next():
    trip = bus(START, CAT).rides["static"].trip
    assert len(trip.arrival_s) == 16 and trip.arrival_s[0] == 0.0
    assert len(np.unique(trip.start_s[:8])) == len(np.unique(trip.start_s[8:])) == 1
    assert trip.start_s[0] == pytest.approx(trip.arrival_s[7])  # the last one to come lets the bus depart
    np.testing.assert_allclose(trip.buses[:, 0], [trip.start_s[0], trip.finish_s[0]])
    away = (trip.moments_s >= trip.buses[0, 0]) & (trip.moments_s < trip.buses[1, 0])
    assert (trip.on_board[away] == 16).all()
    assert trip.on_board[trip.moments_s < trip.start_s[0]].max() == 0
    assert trip.waiting[0] == 9  # eight who came before, and the first in sight


def test_the_continuous_picture_counts_who_is_on_board():
    trip = bus(replace(START, requests_per_s=20.0), CAT).rides["continuous"].trip
    assert (np.diff(trip.arrival_s) >= 0).all() and (trip.start_s >= trip.arrival_s).all()
    assert (trip.finish_s > trip.first_s).all() and trip.buses.shape == (2, 0)
    inside = ((trip.start_s <= trip.moments_s[5]) & (trip.finish_s > trip.moments_s[5])).sum()
    assert inside <= trip.on_board[5] <= 16


# Over traffic


def test_curves_meet_the_bus_at_its_own_traffic():
    found, curves = bus(replace(START, requests_per_s=5.0), CAT), load_curves(START, CAT)
    for curve in curves:
        closed = found.rides[curve.policy].closed
        for name in buses.MEASURES:
            at = np.interp(np.log(5.0), np.log(curve.requests_per_s), np.log(curve.mean[name]))
            assert np.exp(at) == pytest.approx(getattr(closed, name), rel=0.01)
        assert curve.saturation_requests_per_s == pytest.approx(found.rides[curve.policy].saturation_requests_per_s)


def test_closed_forms_end_where_they_are_held_to_and_the_simulation_goes_on():
    for curve, limit in zip(load_curves(START, CAT), (0.8, 0.5), strict=True):
        for name in buses.MEASURES:
            known = np.isfinite(curve.mean[name])
            assert (curve.requests_per_s[known] <= limit * curve.saturation_requests_per_s * (1 + 1e-6)).all()
            assert known.any() and not known.all()
            assert np.isfinite(curve.simulated_mean[name]).all()
            within = curve.simulated_load <= limit
            closed = np.interp(curve.simulated_requests_per_s[within], curve.requests_per_s[known], curve.mean[name][known])
            apart = np.abs(curve.simulated_mean[name][within] - closed)
            assert (apart <= 4 * curve.simulated_error[name][within] + 0.03 * closed).all()
        assert curve.simulated_load.max() == 0.95
        assert (curve.simulated_p95["time_s"] > curve.simulated_mean["time_s"]).all()


def test_the_band_of_the_time_per_token_closes_at_the_preset_and_is_the_models_otherwise():
    from fastmode.evaluate import evaluate

    model = replace(START, anchor="model")
    (low, high), mean = load_curves(model, CAT)[0].band["tpot_s"], load_curves(model, CAT)[0].mean["tpot_s"]
    known = np.isfinite(mean)
    np.testing.assert_allclose(low[known] * high[known], mean[known] ** 2)
    at_batch = [evaluate(replace(model, batch_size=b), CAT).bands(90)["tokens_per_s_per_user"] for b in (1.0, 16.0)]
    ratios = sorted(float(np.ravel(end[1] / end[0])[0]) for end in at_batch)
    width = (high / low)[known]
    assert ratios[0] * 0.99 <= width.min() and width.max() <= ratios[1] * 1.01
    paced = load_curves(START, CAT)[0]
    below, above = paced.band["tpot_s"]
    near, far = (above / below)[known][-1], (above / below)[known][0]
    assert near < far  # the more alike the batch is to the published one, the surer


def test_a_wage_does_not_start_a_new_simulation():
    bus(START, CAT), load_curves(START, CAT)
    before = buses._ride.cache_info().misses, buses._continuous_curve.cache_info().misses
    bus(replace(START, wage_usd_per_h=50.0), CAT), load_curves(replace(START, requests_per_s=3.0), CAT)
    assert (buses._ride.cache_info().misses, buses._continuous_curve.cache_info().misses) == before
