"""Traffic, static batches and goodput: hand-made cases, limits and directions."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastmode import catalog
from fastmode.serving import (
    PRECISIONS,
    ServingConfig,
    goodput,
    meets,
    serve_automatic,
    serve_traffic,
    static,
    static_batch,
    traffic,
)
from fastmode.serving.traffic import (
    CAPACITY,
    INVALID_RATE,
    LIMITS,
    NO_LOAD,
    NOT_SERVED,
    OK,
    SATURATED,
    TPOT_LIMIT,
    full_batch_probability,
    prefill_wait,
    wait_p95,
)
from fastmode.serving.traffic import TTFT_LIMIT as TTFT

CAT = catalog.load()
LOADS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.999])


def config(model="kimi-k2", hardware="b200_sxm", **more):
    values = {
        "n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "context_tokens": 32_000.0, "fresh_tokens": 5_700.0,
        "cached_tokens": 26_300.0, "output_tokens": 400.0,
    } | more  # fmt: skip
    return ServingConfig(model=CAT.models.index.get_loc(model), hardware=CAT.hardware.index.get_loc(hardware), **values)


def llama(**more):
    values = {"n_chips": 4, "tp": 4, "context_tokens": 2_000.0, "fresh_tokens": 1_000.0, "cached_tokens": 0.0}
    return config("llama-3.1-70b", **(values | more))


WAFER = config(
    "llama-3.1-70b", "cerebras_wse3", n_chips=4, weight_precision=0, context_tokens=8_000.0, fresh_tokens=2_000.0
)
CASES = {"kimi": config(), "llama": llama(), "glm": config("glm-4.7"), "wafer": WAFER}
cases = pytest.mark.parametrize("asked", CASES.values(), ids=CASES)


def saturation(asked):
    return serve_traffic(asked, 0.0, CAT).saturation_requests_per_s[0]


def at_batch(asked, batch):
    values = {name: array[0] for name, array in asked.broadcast().items()}
    return serve_automatic(ServingConfig(**(values | {"batch": batch})), CAT)


@pytest.fixture
def affine(monkeypatch):
    """Puts a machine with TPOT = a + b x batch of a replica in the place of the model; everything else is simple."""

    def install(a, b, prefill_s=0.5, most=64.0, replicas=1.0):
        real = serve_automatic

        def fake(asked, cat):
            s, batch = real(config(batch=1.0), cat), asked.broadcast()["batch"]
            size, fresh = len(batch), asked.broadcast()["fresh_tokens"]
            tpot = a + b * batch / replicas
            values = {name: np.repeat(getattr(s, name), size) for name in s.__dataclass_fields__} | {
                "tpot_s": tpot, "prefill_s": np.full(size, prefill_s), "queue_s": np.full(size, 0.1),
                "ttft_s": 0.1 + prefill_s + tpot, "max_batch": np.full(size, most), "batch": batch,
                "replicas": np.full(size, replicas), "prefill_tokens_per_s": fresh * replicas / 0.01,
                "status": np.where(batch > most, 7, 0).astype(np.int8), "others_prefill_s": np.zeros(size),
            }  # fmt: skip
            return type(s)(**values)

        for module in (traffic, static):
            monkeypatch.setattr(module, "serve_automatic", fake)

    return install


def test_constant_tpot_is_rate_times_time(affine):
    """0.5 s of prefill and 399 tokens of 20 ms are 8.48 s; at 3 requests/s 25.44 of them are there."""
    affine(0.02, 0.0)
    t = serve_traffic(config(), 3.0, CAT)
    assert t.running[0] == pytest.approx(25.44, rel=1e-12)
    assert (t.tpot_s[0], t.tpot_p95_s[0]) == (0.02, 0.02)
    assert t.utilisation[0] == pytest.approx(25.44 / 64) and t.output_tokens_per_s[0] == 1200.0
    assert t.saturation_requests_per_s[0] == pytest.approx(64 / 8.48, rel=1e-12)


def test_affine_tpot_by_hand(affine):
    """TPOT = 10 ms + 0.2 ms n: N = 3 (0.5 + 399 (0.0102 + 0.0002 N)) = 13.7094/(1 - 0.2394)."""
    affine(0.01, 0.0002)
    t = serve_traffic(config(), 3.0, CAT)
    running = (1.5 + 3 * 399 * 0.0102) / (1 - 3 * 399 * 0.0002)
    assert t.running[0] == pytest.approx(running, rel=1e-12)
    assert t.tpot_s[0] == pytest.approx(0.01 + 0.0002 * (running + 1), rel=1e-12)
    # spread: elasticity = N b (O - 1)/D = rate b (O - 1)
    tail = 1.6448536 * np.sqrt(running / (1 - 3 * 399 * 0.0002))
    assert t.tpot_p95_s[0] == pytest.approx(t.tpot_s[0] + 0.0002 * tail, rel=1e-6)


def test_a_user_of_one_of_several_replicas_meets_its_share(affine):
    affine(0.01, 0.0002, most=256.0, replicas=4.0)
    t = serve_traffic(config(), 12.0, CAT)
    running = (1.5 + 3 * 399 * 0.0102) / (1 - 3 * 399 * 0.0002)
    assert t.running[0] == pytest.approx(4 * running, rel=1e-12)
    assert t.tpot_s[0] == pytest.approx(0.01 + 0.0002 * (running + 1), rel=1e-12)


def test_one_place_is_served_up_to_its_whole_time(affine):
    """A machine with room for one request: M/G/1, at load 0.5 every second arrival waits; 8.48 s each."""
    affine(0.02, 0.0, most=1.0)
    t = serve_traffic(config(), np.array([0.5 / 8.48, 1.01 / 8.48]), CAT)
    assert t.running[0] == pytest.approx(0.5) and list(t.status) == [OK, SATURATED]
    assert t.slot_wait_s[0] == pytest.approx(8.48, rel=0.12)  # M/M/1: load/(1 - load) x 8.48


def test_a_batch_limit_saturates_sooner(affine):
    """8 of 64 places: 8/8.48 requests/s; a limit above memory changes nothing, one below the replicas is one each."""
    affine(0.02, 0.0)
    t = serve_traffic(config(), 0.5, CAT, batch_limit=np.array([8.0, 64.0, 1000.0, 0.5]))
    np.testing.assert_allclose(t.saturation_requests_per_s, np.array([8.0, 64.0, 64.0, 1.0]) / 8.48)
    np.testing.assert_allclose(t.utilisation[:3], 0.5 * 8.48 / np.array([8.0, 64.0, 64.0]))
    assert list(t.status) == [OK, OK, OK, SATURATED]
    assert t.slot_wait_s[0] > 1e-3 > t.slot_wait_s[1]
    g = goodput(config(), np.nan, np.nan, CAT, batch_limit=8.0)
    assert g.batch[0] == 8.0 and g.requests_per_s[0] == pytest.approx(8 / 8.48, rel=1e-6)
    assert g.batch_limit[0] == g.traffic_limit[0] == CAPACITY


def test_prefill_alone_can_saturate(affine):
    """10 ms of prefill on the chips: 100 requests/s at most, though places would allow 64/0.52."""
    affine(0.02, 0.0)
    t = serve_traffic(config(output_tokens=2.0), np.array([99.0, 101.0]), CAT)
    assert t.saturation_requests_per_s[0] == pytest.approx(100.0) and list(t.status) == [OK, SATURATED]


def test_other_peoples_prefill_is_counted_once():
    """TPOT at the root = step + mix x what arrives during a token x prefill; mix 1 for vLLM.

    Rate x TPOT x hold is the share of prefill in a token. The formula counts those who prefill as decoding, so it is
    high by no more than their share of the batch.
    """
    asked = config()
    t = serve_traffic(asked, 0.5 * saturation(asked), CAT)
    held = 5_700.0 / t.service.prefill_tokens_per_s[0]
    by_rate = t.requests_per_s[0] * t.tpot_s[0] * held
    assert by_rate < t.service.others_prefill_s[0] < by_rate * (1 + 1.05 * t.service.prefill_s[0] / (399 * t.tpot_s[0]))


@cases
def test_the_root_balances_and_is_the_only_one(asked):
    """Residual of Little's law at the root, and D(n)/n falls over the whole bracket."""
    t = serve_traffic(asked, LOADS * saturation(asked), CAT)
    assert (t.status == OK).all()
    tokens = asked.broadcast()["output_tokens"][0]
    stay = t.service.prefill_s + (tokens - 1) * t.tpot_s
    np.testing.assert_allclose(t.running, t.requests_per_s * stay, rtol=1e-11)
    np.testing.assert_allclose(t.load, LOADS)
    grid = np.linspace(1.0, t.service.max_batch[0], 400)
    s = at_batch(asked, grid)
    assert (np.diff((s.prefill_s + (tokens - 1) * s.tpot_s) / grid) < 0).all()
    # what the user sees is the model at all others and the user
    seen = at_batch(asked, np.minimum(t.running + 1, t.service.max_batch[0])).tpot_s
    np.testing.assert_allclose(t.tpot_s, seen, rtol=1e-12)


@cases
def test_saturation_is_where_the_root_disappears(asked):
    most = saturation(asked)
    t = serve_traffic(asked, most * np.array([1 - 1e-9, 1 + 1e-9, 2.0]), CAT)
    assert list(t.status) == [OK, SATURATED, SATURATED] and list(t.saturated) == [False, True, True]
    full = at_batch(asked, t.service.max_batch[0])
    tokens = asked.broadcast()["output_tokens"][0]
    places = t.service.max_batch[0] / (full.prefill_s[0] + (tokens - 1) * full.tpot_s[0])
    assert most <= places * (1 + 1e-12)
    if most == pytest.approx(places):
        assert t.utilisation[0] == pytest.approx(1.0, abs=1e-6)
    for values in (t.running, t.tpot_s, t.ttft_s, t.tpot_p95_s, t.ttft_p95_s, t.output_tokens_per_s, t.service.tpot_s):
        assert np.isfinite(values[0]) and np.isnan(values[1:]).all()
    np.testing.assert_allclose(t.saturation_requests_per_s, most)
    assert t.reason(0) == "ok" and t.reason(1) == f"saturated: at most {most:.3g} requests/s"


@cases
def test_without_traffic_a_user_is_alone(asked):
    t, alone = serve_traffic(asked, np.array([0.0, 1e-9]), CAT), at_batch(asked, 1.0)
    np.testing.assert_allclose(t.tpot_s, alone.tpot_s[0], rtol=1e-6)
    np.testing.assert_allclose(t.ttft_s, alone.ttft_s[0], rtol=1e-6)
    np.testing.assert_allclose(t.tpot_p95_s, alone.tpot_s[0], rtol=1e-3)
    assert t.running[0] == 0.0 and t.output_tokens_per_s[0] == 0.0


@cases
def test_speed_falls_and_waiting_rises_with_traffic(asked):
    t = serve_traffic(asked, LOADS * saturation(asked), CAT)
    slower = np.diff(t.tokens_per_s_per_user) < 0
    assert (slower | (t.running[:-1] + 1 >= t.service.max_batch[1:])).all()  # the batch cannot exceed the largest
    for values in (t.running, t.prefill_wait_s, t.slot_wait_s, t.ttft_s, t.ttft_p95_s, t.tpot_p95_s):
        assert (np.diff(values) >= 0).all()
    assert (t.tpot_p95_s >= t.tpot_s).all() and (t.utilisation <= 1).all()


def test_twice_the_replicas_at_twice_the_rate_is_the_same_for_a_user():
    one, two = serve_traffic(llama(), 3.0, CAT), serve_traffic(llama(n_chips=8), 6.0, CAT)
    assert two.service.replicas[0] == 2
    for name in ("tpot_s", "ttft_s", "tpot_p95_s", "ttft_p95_s", "slot_wait_s", "prefill_wait_s", "utilisation"):
        assert getattr(two, name)[0] == pytest.approx(getattr(one, name)[0], rel=1e-9)
    assert two.running[0] == pytest.approx(2 * one.running[0])
    assert two.saturation_requests_per_s[0] == pytest.approx(2 * one.saturation_requests_per_s[0])


@pytest.mark.parametrize("tp", [0, 2])
def test_open_chips_are_the_fewest_for_the_batch_asked(tp):
    asked = llama(n_chips=0, tp=tp, batch=32.0)
    sized = serve_automatic(asked, CAT)
    t = serve_traffic(asked, 0.5, CAT)
    assert t.status[0] == OK and t.service.n_chips[0] == sized.n_chips[0] and t.service.stages[0] == sized.stages[0]
    assert t.service.max_batch[0] == sized.max_batch[0] >= 32


def test_what_is_not_served_keeps_its_reason_and_bad_rates_have_one():
    models = np.array([-1, *[CAT.models.index.get_loc("kimi-k2")] * 4])
    asked = ServingConfig(models, CAT.hardware.index.get_loc("b200_sxm"), n_chips=np.array([8, 1, 8, 8, 8]))
    t = serve_traffic(asked, np.array([1.0, 1.0, -1.0, np.nan, 1.0]), CAT)
    assert list(t.status) == [NOT_SERVED, NOT_SERVED, INVALID_RATE, INVALID_RATE, OK]
    assert t.reason(0) == "unknown model" and t.reason(1).startswith("weights do not fit")
    assert t.reason(2) == t.reason(3) == "not a usable request rate"
    assert np.isnan(t.tpot_s[:4]).all() and np.isnan(t.saturation_requests_per_s[:2]).all()
    g = goodput(asked, np.nan, np.nan, CAT)
    assert (
        np.isnan(g.batch[:2]).all() and np.isnan(g.requests_per_s[:2]).all() and list(g.traffic_limit[:2]) == [-1, -1]
    )


def test_a_row_does_not_depend_on_its_neighbours():
    rates = LOADS * saturation(config())
    together = serve_traffic(config(), rates, CAT)
    for i, rate in enumerate(rates):
        alone = serve_traffic(config(), rate, CAT)
        for name in ("running", "tpot_s", "ttft_p95_s"):
            np.testing.assert_allclose(getattr(alone, name)[0], getattr(together, name)[i], rtol=1e-9)


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(ValueError):
        serve_traffic(config(context_tokens=np.array([1e3, 2e3])), np.ones(3), CAT)
    with pytest.raises(ValueError):
        serve_traffic(config(), np.ones((2, 2)), CAT)


def test_waits_by_hand():
    """M/D/1 at half load waits half a prefill; nobody more than one in twenty waits at 5 % load."""
    assert prefill_wait(0.5, 1.0) == 0.5 and prefill_wait(1.0, 1.0) == np.inf
    # up to one prefill P(W > t) = 1 - (1 - u) exp(u t): u = 0.2 gives t = ln(0.95/0.8)/0.2
    assert wait_p95(0.2, 1.0, 0.0, 0.0)[0] == pytest.approx(np.log(0.95 / 0.8) / 0.2, rel=1e-6)
    assert wait_p95(0.05, 1.0, 0.0, 0.0)[0] == pytest.approx(0.0, abs=1e-6)
    # places alone: 0.5 exp(-t/3) = 0.05
    assert wait_p95(0.0, 1.0, 0.5, 3.0)[0] == pytest.approx(3 * np.log(10), rel=1e-6)
    assert wait_p95(1.2, 1.0, 0.0, 0.0)[0] == wait_p95(0.5, 1.0, 1.0, np.inf)[0] == np.inf


@pytest.mark.parametrize("places", [1, 2, 5, 20, 100, 1000])
@pytest.mark.parametrize("growth", [0.0, 0.3, 1.0])
def test_full_batch_against_the_exact_chain(places, growth):
    """p(n) ~ product of rate D(k)/k up to n; D = 1 + growth k/places; geometric beyond the last place."""
    k = np.arange(1, places + 1)
    time = 1 + growth * k / places
    for load in (0.3, 0.6, 0.8, 0.9, 0.97):
        rate = load * places / time[-1]
        weight = np.concatenate([[0.0], np.cumsum(np.log(rate * time / k))])
        weight = np.exp(weight - weight.max())
        beyond = weight[-1] / (1 - load)
        exact = beyond / (weight[:-1].sum() + beyond)
        slope = growth / places
        n = rate * (1 + slope) / (1 - rate * slope)
        n = min(n, load * places) if n + 1 > places else n
        spread = np.sqrt(n / (1 - n * slope / (1 + slope * min(n + 1, places))))
        assert full_batch_probability(n, spread, places, load) == pytest.approx(exact, abs=0.06)


def test_limits_met_or_missed():
    nan = np.nan
    got = meets(
        [1.0, 1.0, 2.0, 2.0, nan], [0.1, 0.1, 0.1, 0.1, 0.1], [1.0, nan, 1.0, nan, nan], [0.1, 0.05, nan, nan, nan]
    )
    assert list(got) == [True, False, False, True, False]


@cases
def test_goodput_is_on_the_edge_of_its_limit(asked):
    """A hair less traffic meets the limits, a hair more misses them."""
    mid = serve_traffic(asked, 0.6 * saturation(asked), CAT)
    for ttft, tpot in ((mid.ttft_p95_s[0], np.nan), (np.nan, mid.tpot_p95_s[0])):
        g = goodput(asked, ttft, tpot, CAT)
        around = serve_traffic(asked, g.requests_per_s[0] * np.array([1 - 1e-6, 1 + 1e-6]), CAT)
        met = meets(around.ttft_p95_s, around.tpot_p95_s, ttft, tpot)
        if g.traffic_limit[0] != CAPACITY:
            assert list(met) == [True, False]
            assert g.traffic_limit[0] == (TPOT_LIMIT if np.isnan(ttft) else TTFT)
        assert g.requests_per_s[0] >= 0.6 * saturation(asked) * (1 - 1e-6)
        assert g.output_tokens_per_s[0] == pytest.approx(g.requests_per_s[0] * asked.broadcast()["output_tokens"][0])


def test_the_largest_batch_is_on_the_edge_of_its_limit():
    edge = at_batch(config(), 40.0)
    g = goodput(config(), np.nan, edge.tpot_s[0] * np.array([1.0, 1 - 1e-9]), CAT)
    assert list(g.batch) == [40.0, 39.0] and (g.batch_limit == TPOT_LIMIT).all()


@cases
def test_goodput_never_falls_when_a_limit_is_eased(asked):
    alone = serve_traffic(asked, 0.0, CAT)
    ease = np.array([0.9, 1.001, 1.05, 1.2, 1.5, 2.0, 4.0, 8.0, 50.0, np.nan])
    for g in (
        goodput(asked, alone.ttft_p95_s[0] * ease, np.nan, CAT),
        goodput(asked, np.nan, alone.tpot_p95_s[0] * ease, CAT),
        goodput(asked, alone.ttft_p95_s[0] * 2, alone.tpot_p95_s[0] * ease, CAT),
    ):
        for values in (g.batch, g.requests_per_s, g.output_tokens_per_s):
            assert (np.diff(values) >= 0).all()
        assert g.batch[0] == g.requests_per_s[0] == 0.0 and g.traffic_limit[0] == g.batch_limit[0] == NO_LOAD
        assert LIMITS[g.traffic_limit[0]] == "the limits are missed without any load"


@cases
def test_without_limits_goodput_is_what_the_deployment_carries(asked):
    g = goodput(asked, np.nan, np.nan, CAT)
    assert g.requests_per_s[0] == pytest.approx(saturation(asked), rel=1e-6) and g.traffic_limit[0] == CAPACITY
    assert g.batch[0] == serve_traffic(asked, 0.0, CAT).service.max_batch[0] and g.batch_limit[0] == CAPACITY


def test_static_batch_by_hand(affine):
    """4 equal requests of 400 tokens: prefill 0.5 + 3 x 0.01, 399 tokens of 20 ms; at 0.1/s the batch fills in 15 s."""
    affine(0.02, 0.0)
    s = static_batch(config(batch=4.0), np.array([0.1, 1.0, 0.0]), 0.0, CAT)
    cycle = 0.53 + 399 * 0.02
    assert s.cycle_s[0] == pytest.approx(cycle) and s.saturation_requests_per_s[0] == pytest.approx(4 / cycle)
    # load 0.21275 x 8.51 s x 1/4 / (2 x 0.78725) x exp(-2 x 0.78725 x 9/16 / (3 x 0.21275 / 4)): 1.1 ms behind the bus before
    assert s.backlog_s[0] == pytest.approx(0.0011, rel=0.02)
    assert s.fill_wait_s[0] == pytest.approx(15.0) and s.finish_s[0] == pytest.approx(15.0011 + cycle, abs=1e-4)
    assert s.ttft_s[0] == pytest.approx(15.0011 + 0.53 + 0.02, abs=1e-4) and s.output_tokens_per_s[0] == pytest.approx(40.0)
    assert list(s.status) == [OK, SATURATED, INVALID_RATE] and np.isnan(s.finish_s[1:]).all()
    # Kingman: variance of 4 exponential gaps of 10 s, over 2 (1 - load) x 40 s
    assert s.backlog_bound_s[0] == pytest.approx(400.0 / (2 * (1 - s.load[0]) * 40.0))


def test_a_static_batch_pays_for_the_spread_of_lengths():
    s = static_batch(config(batch=32.0), 0.1, np.array([0.0, 0.3, 0.6, 1.0]), CAT)
    assert (np.diff(s.longest_tokens) > 0).all() and (np.diff(s.saturation_requests_per_s) < 0).all()
    assert s.longest_tokens[0] == pytest.approx(400.0)
    single = static_batch(config(batch=1.0), 0.1, 1.0, CAT)
    assert single.longest_tokens[0] == pytest.approx(400.0, rel=1e-3) and single.fill_wait_s[0] == 0.0


def test_continuous_batching_carries_more_than_static_of_the_same_batch_where_lengths_differ():
    """Same places, same steps: without prefill only the held places differ."""
    asked = config(fresh_tokens=0.0, cached_tokens=32_000.0)
    most = serve_traffic(asked, 0.0, CAT).service.max_batch[0]
    values = SimpleNamespace(**{k: v[0] for k, v in asked.broadcast().items()})
    full = ServingConfig(**(vars(values) | {"batch": most}))
    held = static_batch(full, 0.01, np.array([0.0, 0.6]), CAT).saturation_requests_per_s
    assert saturation(asked) == pytest.approx(held[0], rel=1e-6) and saturation(asked) > 2 * held[1]
