"""Event simulation: hand-made cases, conservation laws, and the closed forms of traffic held against it."""

import numpy as np
import pytest

from fastmode import catalog
from fastmode.serving import PRECISIONS, ServingConfig, serve_automatic, serve_traffic, simulate, static_batch
from fastmode.serving.simulation import (
    continuous_batching,
    lognormal_lengths,
    poisson_arrivals,
    standard_error,
    static_batching,
)
from fastmode.serving.static import longest_length
from fastmode.serving.traffic import prefill_wait, wait_p95

CAT = catalog.load()
WARM_UP = 0.1  # share of the requests left out at the start


def config(model="kimi-k2", hardware="b200_sxm", **more):
    values = {
        "n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "context_tokens": 32_000.0, "fresh_tokens": 5_700.0,
        "cached_tokens": 26_300.0, "output_tokens": 400.0,
    } | more  # fmt: skip
    return ServingConfig(model=CAT.models.index.get_loc(model), hardware=CAT.hardware.index.get_loc(hardware), **values)


# Latent cache with long prefills, grouped-query attention with short ones, long outputs, a wafer with few places.
CASES = {
    "kimi": config(),
    "llama": config("llama-3.1-70b", n_chips=4, context_tokens=2_000.0, fresh_tokens=1_000.0, cached_tokens=0.0, output_tokens=500.0),
    "glm": config("glm-4.7", fresh_tokens=500.0, cached_tokens=31_500.0, output_tokens=1_500.0),
    "wafer": config("llama-3.1-70b", "cerebras_wse3", n_chips=4, weight_precision=0, context_tokens=8_000.0,
                    fresh_tokens=2_000.0, cached_tokens=0.0, output_tokens=500.0),
}  # fmt: skip


def table(asked):
    """TPOT, pure step, own prefill, time a prefill holds the chips: batch 1, 2, ... up to the largest (one replica)."""
    most = serve_automatic(asked, CAT).max_batch[0]
    values = {name: array[0] for name, array in asked.broadcast().items()} | {"batch": np.arange(1.0, most + 1.0)}
    s = serve_automatic(ServingConfig(**values), CAT)
    assert (s.status == 0).all() and (s.replicas == 1).all()
    return s.tpot_s, s.tpot_s - s.others_prefill_s, s.prefill_s[0], values["fresh_tokens"] / s.prefill_tokens_per_s[0]


def settled(simulated, values):
    return values[int(WARM_UP * len(simulated.arrival_s)) :]


def test_two_requests_by_hand():
    """Steps of 1 s alone, 2 s together. A: prefill 0-1, decodes 2 tokens. B arrives at 2, prefill 2-3.

    A: from 1 to 2 alone, one token; from 2 on two hold a place, its second token takes 2 s: done at 4.
    B: from 3 to 4 together half a token, then alone: 1.5 tokens in 1.5 s, done at 5.5.
    """
    s = continuous_batching([1.0, 2.0], 1.0, [0.0, 2.0], [3.0, 3.0])
    np.testing.assert_allclose(s.first_token_s, [1.0, 3.0])
    np.testing.assert_allclose(s.finish_s, [4.0, 5.5])
    np.testing.assert_allclose(s.tpot_s, [1.5, 1.25])
    np.testing.assert_array_equal(s.batch_met, [0.0, 1.0])


def test_a_prefill_that_stops_decoding_by_hand():
    """As above with pure steps: A decodes nothing from 2 to 3; then both, 2 s a token, until A is done at 5.

    B then has one of its two tokens and ends alone at 6. With half of the prefill as delay A has half a token at 3.
    """
    stopped = continuous_batching([1.0, 2.0], 1.0, [0.0, 2.0], [3.0, 3.0], prefill_delay_share=1.0)
    np.testing.assert_allclose(stopped.finish_s, [5.0, 6.0])
    slowed = continuous_batching([1.0, 2.0], 1.0, [0.0, 2.0], [3.0, 3.0], prefill_delay_share=0.5)
    np.testing.assert_allclose(slowed.finish_s, [4.0, 5.5])


def test_a_full_batch_makes_the_next_wait_and_prefills_follow_each_other():
    full = continuous_batching([1.0], 1.0, [0.0, 0.5, 0.6], [3.0, 2.0, 2.0])
    np.testing.assert_allclose(full.admitted_s, [0.0, 3.0, 5.0])
    serial = continuous_batching([1.0, 1.0, 1.0], 1.0, [0.0, 0.5, 0.6], [1.0, 1.0, 1.0], prefill_delay_share=1.0)
    np.testing.assert_allclose(serial.first_token_s, [1.0, 2.0, 3.0])


def test_a_prefill_that_holds_the_chips_for_less_than_it_takes():
    """Latency 3 s, chips held 1 s: the next prefill starts after 1 s, while decoding stands still. Steps of 1 s, 3 tokens.

    A: 0-3, B (arrives at 0.5): 1-4, C (arrives at 3.5): 3.5-6.5. A decodes from 3 to 3.5 and, after C let go of the chips, from 4.5
    on: 1.5 tokens later, with B beside it, at 6. B has 1.5 tokens at 6 and ends at 6.5; C decodes alone until 8.5.
    """
    s = continuous_batching([1.0, 1.0, 1.0], 3.0, [0.0, 0.5, 3.5], [3.0, 3.0, 3.0], 1.0, 1.0)
    np.testing.assert_allclose(s.admitted_s, [0.0, 1.0, 3.5])
    np.testing.assert_allclose(s.first_token_s, [3.0, 4.0, 6.5])
    np.testing.assert_allclose(s.finish_s, [6.0, 6.5, 8.5])


def test_standard_error_of_independent_values_is_the_usual_one():
    values = np.random.default_rng(1).standard_normal(400_000)
    assert standard_error(values) == pytest.approx(1 / np.sqrt(400_000), rel=0.35)
    assert standard_error(np.repeat(values[:4_000], 100)) > 5 * standard_error(values)


def test_static_batches_by_hand():
    """Pairs; prefill 1 s, 1 s a token. First: full at 2, longest 4 tokens, done at 2 + 1 + 3. Second waits for it."""
    s = static_batching(1.0, 1.0, 2, [0.0, 2.0, 3.0, 4.0, 9.0], [4.0, 2.0, 1.0, 3.0, 1.0])
    np.testing.assert_allclose(s.admitted_s, [2.0, 2.0, 6.0, 6.0])
    np.testing.assert_allclose(s.finish_s, [6.0, 6.0, 9.0, 9.0])
    np.testing.assert_allclose(s.ttft_s, [3.0, 1.0, 4.0, 3.0])


def test_draws_have_their_mean_and_spread():
    lengths = lognormal_lengths(400.0, 0.6, 200_000, 1)
    assert lengths.mean() == pytest.approx(400.0, rel=0.01) and lengths.std() / lengths.mean() == pytest.approx(
        0.6, rel=0.02
    )
    assert (lognormal_lengths(400.0, 0.0, 5, 1) == 400.0).all() and lognormal_lengths(2.0, 3.0, 1000, 1).min() == 1.0
    gaps = np.diff(poisson_arrivals(4.0, 200_000, 1))
    assert gaps.mean() == pytest.approx(0.25, rel=0.01) and gaps.std() == pytest.approx(gaps.mean(), rel=0.02)


def test_the_seed_decides():
    a, b, c = (simulate([0.01, 0.012], 0.1, 1.0, 500, 50.0, 0.5, seed).finish_s for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="policy"):
        simulate([0.01], 0.1, 1.0, 10, 50.0, 0.5, 1, policy="dynamic")


@pytest.mark.parametrize("share", [None, 0.0, 0.55, 1.0])
def test_order_work_and_littles_law_of_the_simulation_itself(share):
    """Nobody starts before arriving or passes an earlier one; area under the batch = sum of the times in it."""
    s = simulate(0.01 + 0.0004 * np.arange(1, 41), 0.05, 2.5, 20_000, 300.0, 0.8, 5, prefill_delay_share=share)
    assert (s.admitted_s >= s.arrival_s).all() and (np.diff(s.admitted_s) >= 0).all()
    np.testing.assert_allclose(s.first_token_s - s.admitted_s, 0.05, rtol=1e-6)
    assert 20 < s.batch_met.max() <= 40
    # the closed interval from the first arrival to the last, from arrays of entries and exits alone
    end = s.arrival_s[-1]
    inside = np.maximum(np.minimum(s.finish_s, end) - np.minimum(s.admitted_s, end), 0.0).sum()
    assert s.mean_batch() * (end - s.arrival_s[0]) == pytest.approx(inside, rel=1e-9)
    # Little: rate x mean time = mean batch, up to what is cut at the two ends
    start = len(s.arrival_s) // 10
    rate = (len(s.arrival_s) - start) / (end - s.arrival_s[start])
    assert s.mean_batch(start) == pytest.approx(rate * (s.finish_s - s.admitted_s)[start:].mean(), rel=0.01)


def test_arrivals_meet_the_time_average():
    s = simulate(0.01 + 0.0004 * np.arange(1, 201), 0.05, 2.5, 60_000, 300.0, 0.8, 5)
    met = settled(s, s.batch_met)
    assert abs(met.mean() - s.mean_batch(6_000)) < 3 * standard_error(met)


@pytest.mark.parametrize("cv", [0.0, 1.0])
def test_the_mean_does_not_depend_on_the_spread_of_lengths(cv):
    """Processor sharing is insensitive. TPOT = 0.01 + 0.0004 n, O = 300: N = 2.5 (0.05 + 299 (0.0104 + 0.0004 N))."""
    exact = 2.5 * (0.05 + 299 * 0.0104) / (1 - 2.5 * 299 * 0.0004)
    s = simulate(0.01 + 0.0004 * np.arange(1, 201), 0.05, 2.5, 150_000, 300.0, cv, 8)
    assert s.mean_batch(15_000) == pytest.approx(exact, rel=0.015)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("load", [0.1, 0.3, 0.5, 0.8])
def test_continuous_batching_agrees_with_the_simulation(name, load):
    """Mean batch and mean TPOT within 3 %, prefill as a part of TPOT and as an event of its own.

    A tenth of the requests is dropped: the standard error of the mean TPOT stays below 1 %.
    """
    asked = CASES[name]
    tpot, step, prefill, held = table(asked)
    rate = load * serve_traffic(asked, 0.0, CAT).saturation_requests_per_s[0]
    closed = serve_traffic(asked, rate, CAT)
    requests = 200_000 if load > 0.5 else 60_000  # near saturation the batch wanders slowly
    for share, steps, own in ((None, tpot, prefill), (1.0, step, held)):
        s = simulate(steps, own, rate, requests, asked.output_tokens, 0.6, 11, prefill_delay_share=share)
        times = settled(s, s.tpot_s)
        assert standard_error(times) < 0.01 * times.mean()
        assert closed.tpot_s[0] == pytest.approx(times.mean(), rel=0.03)
        if share is None:  # with prefill as an event a place is held for its time on the chips, not for its latency
            assert closed.running[0] == pytest.approx(s.mean_batch(requests // 10), rel=0.03)
        assert closed.tpot_p95_s[0] == pytest.approx(np.percentile(times, 95), rel=0.10)


@pytest.mark.parametrize("name", ["kimi", "llama", "glm"])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_tail_of_ttft_agrees_with_the_simulation(name, load):
    """Fixed parts of the closed form plus the simulated tail of the waiting, within 10 %."""
    asked = CASES[name]
    _tpot, step, _prefill, held = table(asked)
    rate = load * serve_traffic(asked, 0.0, CAT).saturation_requests_per_s[0]
    closed = serve_traffic(asked, rate, CAT, length_cv=0.6)
    s = simulate(step, held, rate, 60_000, asked.output_tokens, 0.6, 3, prefill_delay_share=1.0)
    wait = settled(s, s.admitted_s - s.arrival_s)
    fixed = (closed.ttft_s - closed.prefill_wait_s - closed.slot_wait_s)[0]
    assert closed.ttft_p95_s[0] == pytest.approx(fixed + np.percentile(wait, 95), rel=0.10)


@pytest.mark.parametrize("busy", [0.1, 0.25, 0.4, 0.7])
def test_waiting_for_prefill_is_that_of_equal_prefills(busy):
    """One token each, so only the line of prefills is left: M/D/1, mean and 95th percentile."""
    s = continuous_batching(np.ones(1000), 1.0, poisson_arrivals(busy, 300_000, 2), np.ones(300_000), 1.0)
    wait = s.admitted_s - s.arrival_s
    assert prefill_wait(busy, 1.0) == pytest.approx(wait.mean(), rel=0.03)
    assert wait_p95(busy, 1.0, 0.0, 0.0)[0] == pytest.approx(np.percentile(wait, 95), rel=0.03)


@pytest.mark.parametrize(("cv", "load"), [(0.0, 0.8), (0.6, 0.8), (1.0, 0.8), (0.6, 0.95)])
def test_waiting_for_a_place_agrees_with_the_simulation(cv, load):
    """Six places of a wafer: mean within 15 %, its dependence on the spread of lengths included."""
    asked = CASES["wafer"]
    tpot, _step, prefill, _held = table(asked)
    rate = load * serve_traffic(asked, 0.0, CAT).saturation_requests_per_s[0]
    s = simulate(tpot, prefill, rate, 300_000, asked.output_tokens, cv, 3)
    wait = settled(s, s.admitted_s - s.arrival_s)
    assert serve_traffic(asked, rate, CAT, length_cv=cv).slot_wait_s[0] == pytest.approx(wait.mean(), rel=0.15)


def test_saturation_of_the_simulation_is_that_of_the_closed_form():
    """Far beyond it the replica hands out what a full batch does."""
    asked = CASES["wafer"]
    tpot, _step, prefill, _held = table(asked)
    most = serve_traffic(asked, 0.0, CAT).saturation_requests_per_s[0]
    s = simulate(tpot, prefill, 3 * most, 30_000, asked.output_tokens, 0.6, 3)
    out = np.sort(s.finish_s)
    assert (len(out) // 2) / (out[3 * len(out) // 4] - out[len(out) // 4]) == pytest.approx(most, rel=0.02)


@pytest.mark.parametrize("load", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("batch", [16.0, 64.0])
def test_static_batching_agrees_with_the_simulation(batch, load):
    asked = config(batch=batch)
    rate = load * static_batch(asked, 1.0, 0.6, CAT).saturation_requests_per_s[0]
    closed = static_batch(asked, rate, 0.6, CAT)
    s = simulate(
        np.full(int(batch), closed.step_s[0]), closed.prefill_s[0], rate, 200_000, 400.0, 0.6, 4, policy="static"
    )
    longest = s.output_tokens.reshape(-1, int(batch)).max(axis=1).mean()
    assert not closed.only_bound[0]
    assert closed.longest_tokens[0] == pytest.approx(longest, rel=0.01)
    assert closed.fill_wait_s[0] + closed.backlog_s[0] == pytest.approx((s.admitted_s - s.arrival_s).mean(), rel=0.03)
    assert closed.finish_s[0] == pytest.approx((s.finish_s - s.arrival_s).mean(), rel=0.03)


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_a_busy_static_batch_lies_between_its_bounds_and_says_so(load):
    asked = config(batch=8.0)
    rate = load * static_batch(asked, 1.0, 0.6, CAT).saturation_requests_per_s[0]
    closed = static_batch(asked, rate, 0.6, CAT)
    s = simulate(np.full(8, closed.step_s[0]), closed.prefill_s[0], rate, 200_000, 400.0, 0.6, 4, policy="static")
    wait = (s.admitted_s - s.arrival_s).mean()
    assert closed.only_bound[0]
    assert closed.fill_wait_s[0] < 0.98 * wait
    assert wait < closed.fill_wait_s[0] + closed.backlog_bound_s[0]


def test_the_longest_of_a_batch():
    mean, variance = longest_length([400.0, 400.0, 400.0], [0.0, 0.6, 0.6], [64.0, 1.0, 64.0])
    draws = lognormal_lengths(400.0, 0.6, 640_000, 9).reshape(-1, 64).max(axis=1)
    np.testing.assert_allclose(mean, [400.0, 400.0, draws.mean()], rtol=0.005)
    np.testing.assert_allclose(np.sqrt(variance), [0.0, 240.0, draws.std()], rtol=0.03, atol=1e-4)
