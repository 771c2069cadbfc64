"""Traffic through the spine: a scenario in traffic is what the traffic model says, its goodput what its limits allow."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fastmode import picture
from fastmode.cli import evaluation_document
from fastmode.evaluate import evaluate
from fastmode.feasible import OFFERED_LOAD, nearest
from fastmode.scenario import all_fields
from fastmode.serving import goodput, serve_traffic
from fastmode.slo import goodput_text, traffic_text
from fastmode.sweep import FOUNDING, along, side_by_side, sweep
from fastmode.together import evaluate_together
from tests.model.test_evaluate import CAT, OPEN, PRESETS, asked, compare, of, served, stacked
from tests.model.test_together import assert_same

EXACT = {"rtol": 1e-9, "atol": 0}
FAST, SPARK = "opus-4.6-fast", "gpt-5.3-codex-spark"
PLACES = pytest.mark.parametrize("preset", [FAST, SPARK])
RATES = list(all_fields()["requests_per_s"].grid)


def pace_of(scenario):
    """Quoted speed over the modelled one at the preset with the stand-in chosen; 1 where the model speaks for itself."""
    quoted = scenario.anchor_tokens_per_s or CAT.endpoints.at[scenario.preset, "output_tok_s"]
    drops = not PRESETS.at[scenario.preset, "closed"] and scenario.model != of(scenario.preset).model
    if scenario.anchor == "model" or np.isnan(quoted) or drops:
        return 1.0
    return quoted / float(served(of(scenario.preset, model=scenario.model)).tokens_per_s_per_user[0])


def direct(scenario, rate=None):
    """The traffic model asked directly: a deployment `pace` times as fast runs as many requests at `pace` times the rate."""
    return serve_traffic(asked(scenario), (scenario.requests_per_s if rate is None else rate) / pace_of(scenario), CAT)


def saturation(scenario):
    """The rate at which the deployment meant, not its stand-in, is saturated."""
    return pace_of(scenario) * float(direct(scenario).saturation_requests_per_s[0])


def at_load(preset, load, **changes):
    """A preset in traffic at a share of its saturation rate."""
    scenario = of(preset, load="traffic", **changes)
    return replace(scenario, requests_per_s=load * saturation(scenario))


def at_batch(scenario, batch):
    """The scenario at a fixed batch, where nothing is random and nothing waits."""
    return evaluate(replace(scenario, load="batch", batch_size=float(batch))).now


# Speed, waiting, cost


@PLACES
@pytest.mark.parametrize("load", [0.02, 0.5, 0.9])
def test_a_scenario_in_traffic_is_what_the_traffic_model_says(preset, load):
    scenario = at_load(preset, load)
    t, home, e = direct(scenario), served(of(preset)), evaluate(scenario)
    now, out, pace = e.now, e.outputs(), pace_of(scenario)
    rate, tokens = scenario.requests_per_s, scenario.n_out / scenario.calls
    assert abs(pace - 1.0) > 0.01
    quoted = CAT.endpoints.at[preset, "output_tok_s"]
    np.testing.assert_allclose(now.tokens_per_s, quoted * t.tokens_per_s_per_user / home.tokens_per_s_per_user, **EXACT)
    np.testing.assert_allclose(now.ttft_s, PRESETS.at[preset, "ttft_s"] * t.ttft_s / home.ttft_s, **EXACT)
    # what the traffic is and where it ends is that of the deployment meant ...
    assert out["output_tokens_per_s"].value == pytest.approx(rate * tokens, rel=1e-12)
    assert out["requests_per_s"].value == pytest.approx(rate, rel=1e-12)
    assert out["running_batch"].value == pytest.approx(t.running[0], rel=1e-9)
    assert out["saturation_requests_per_s"].value == pytest.approx(rate / load, rel=1e-12)
    # ... the times and totals of the service are the stand-in's own
    np.testing.assert_allclose(now.service.tpot_s, t.tpot_s, **EXACT)
    np.testing.assert_allclose(now.service.output_tokens_per_s, rate / pace * tokens, **EXACT)
    per_token = t.service.n_chips / (3600 * scenario.utilisation * rate / pace * tokens) * 1e6
    np.testing.assert_allclose(now.provider_usd_per_mtok[1], now.chip_hour_usd * per_token, **EXACT)
    # the parts of waiting still add up
    parts = now.service.queue_s + now.service.prefill_s + (t.service.ttft_s - t.service.queue_s - t.service.prefill_s)
    np.testing.assert_allclose(parts, t.ttft_s, **EXACT)


@PLACES
@pytest.mark.parametrize("anchor", ["model", "published"])
@pytest.mark.parametrize("load", [0.02, 0.6])
def test_little_holds_between_rate_running_and_the_time_a_request_stays(preset, anchor, load):
    """As shown: the prefill runs at the pace of the tokens. Without the anchor that pace is 1: the closed form itself."""
    scenario = at_load(preset, load, anchor=anchor)
    e = evaluate(scenario)
    s, tokens = e.now.service, scenario.n_out / scenario.calls
    stays = s.prefill_s / pace_of(scenario) + (tokens - 1) / e.now.tokens_per_s
    np.testing.assert_allclose(s.running, scenario.requests_per_s * stays, **EXACT)
    np.testing.assert_allclose(s.batch, s.running + 1, **EXACT)
    out = e.outputs()
    assert out["running_batch"].value == s.running[0]
    assert out["requests_per_s"].value == pytest.approx(scenario.requests_per_s, rel=1e-12)
    # TTFT as shown has an anchor of its own and holds waiting beside the prefill, so it only bounds the number from above.
    decoding = scenario.requests_per_s * (tokens - 1) / e.now.tokens_per_s
    assert (decoding < s.running).all() and (s.running < decoding + scenario.requests_per_s * e.now.ttft_s).all()


@pytest.mark.parametrize("load", [0.02, 0.3, 0.9])
def test_little_holds_on_the_cards_where_ttft_is_a_small_part(load):
    """Opus 4.6, 400 tokens a call: six seconds of decoding behind a second of TTFT. A fifth covers what TTFT holds besides
    prefill; a batch of the slower stand-in would be off by its pace, more than twice."""
    scenario = at_load("opus-4.6", load)
    assert pace_of(scenario) > 2
    now, tokens = evaluate(scenario).now, scenario.n_out / scenario.calls
    stays = now.ttft_client_s - now.handshake_s + (tokens - 1) / now.tokens_per_s
    np.testing.assert_allclose(scenario.requests_per_s * stays, now.service.running, rtol=0.2)


@PLACES
def test_traffic_that_brings_the_presets_batch_has_the_published_speed(preset):
    """No search: at batch B run B - 1 others, and the rate is their number over the time a request stays."""
    base, home = of(preset, load="traffic"), served(of(preset))
    tokens, others = base.n_out / base.calls, of(preset).batch_size - 1
    rate = pace_of(base) * others / float(home.prefill_s[0] + (tokens - 1) * home.tpot_s[0])
    chips = int(home.n_chips[0])
    e = evaluate(replace(base, requests_per_s=rate, n_chips=chips))
    np.testing.assert_allclose(e.now.service.running, others, **EXACT)
    np.testing.assert_allclose(e.now.tokens_per_s, CAT.endpoints.at[preset, "output_tok_s"], **EXACT)


def test_saturation_scales_with_the_quoted_speed_and_the_batch_falls():
    """Twice the quoted speed at twice the traffic is the same deployment on a faster clock."""
    scenario, quoted = at_load("opus-4.6", 0.5), np.array([65.0, 130.0, 260.0])
    rate = scenario.requests_per_s
    e = evaluate(replace(scenario, anchor_tokens_per_s=quoted))
    out = e.outputs()
    most = saturation(scenario)
    np.testing.assert_allclose(out["saturation_requests_per_s"].value, most * quoted / 65, **EXACT)
    assert (np.diff(out["running_batch"].value) < 0).all() and (np.diff(e.now.tokens_per_s / quoted) > 0).all()
    together = evaluate(replace(scenario, anchor_tokens_per_s=quoted, requests_per_s=rate * quoted / 65))
    np.testing.assert_allclose(together.now.service.running, direct(scenario).running[0], **EXACT)
    np.testing.assert_allclose(together.now.tokens_per_s / quoted, e.now.tokens_per_s[0] / 65, **EXACT)
    for name in ("price_in_usd_per_mtok", "price_out_usd_per_mtok"):  # list prices move with the batch, not the clock
        np.testing.assert_allclose(getattr(together.now, name), getattr(e.now, name)[0], **EXACT)


def test_another_stand_in_has_its_own_pace_and_without_a_quoted_speed_it_is_one():
    other = at_load("opus-4.6", 0.5, model="glm-4.7")
    assert evaluate(other).outputs()["running_batch"].value == pytest.approx(direct(other).running[0], rel=1e-9)
    assert pace_of(other) != pace_of(of("opus-4.6"))
    moved = next(  # another model in an open preset drops the anchor
        s for s in (at_load(p, 0.5, model="glm-4.7") for p in OPEN if of(p).model != "glm-4.7") if s.requests_per_s > 0
    )
    unquoted = at_load("haiku-4.5", 0.5, model="glm-4.7", hardware="b200_sxm", n_chips=8)
    for scenario in (moved, unquoted, at_load("opus-4.6", 0.5, anchor="model")):
        plain = serve_traffic(asked(scenario), scenario.requests_per_s, CAT)
        out = evaluate(scenario).outputs()
        assert out["running_batch"].value == pytest.approx(plain.running[0], rel=1e-9)
        assert out["saturation_requests_per_s"].value == plain.saturation_requests_per_s[0]


@PLACES
def test_without_traffic_a_user_sees_the_figures_of_batch_one(preset):
    """One deployment: where chips are automatic, the one that holds the preset's batch."""
    chips = int(served(of(preset)).n_chips[0])
    alone = evaluate(of(preset, n_chips=chips, batch_size=1.0))
    empty = evaluate(of(preset, load="traffic", requests_per_s=1e-7))
    for name in ("tokens_per_s", "ttft_s", "error_rate"):
        np.testing.assert_allclose(getattr(empty.now, name), getattr(alone.now, name), rtol=1e-5, err_msg=name)
    for name in ("wait_s", "time_per_task_s", "correction_time_s"):
        np.testing.assert_allclose(getattr(empty.now.task, name), getattr(alone.now.task, name), rtol=1e-5)
    for name in ("tpot_s", "n_chips", "weights_s", "kv_s"):
        np.testing.assert_allclose(getattr(empty.now.service, name), getattr(alone.now.service, name), rtol=1e-5)


@PLACES
def test_more_traffic_is_slower_and_cheaper(preset):
    loads = np.array([0.01, 0.1, 0.3, 0.6, 0.9])
    scenario = at_load(preset, 1.0)
    e = evaluate(replace(scenario, requests_per_s=loads * scenario.requests_per_s))
    assert (np.diff(e.now.tokens_per_s) < 0).all() and (np.diff(e.now.ttft_s) > 0).all()
    cost = e.now.provider_usd_per_mtok[1]
    np.testing.assert_allclose(cost * loads, cost[0] * loads[0], **EXACT)  # the chips cost the same at every rate
    if preset == FAST:  # nobody publishes Spark's price
        assert (np.diff(e.now.price_out_usd_per_mtok) < 0).all()
        # input gets cheaper only as long as there is time without any request
        idle = e.now.service.running < 1
        assert 0 < idle.sum() < 4
        falls = np.diff(e.now.price_in_usd_per_mtok)
        assert (falls[idle[:-1]] < 0).all()
        np.testing.assert_allclose(e.now.price_in_usd_per_mtok[~idle], e.now.price_in_usd_per_mtok[-1], **EXACT)
    assert (e.now.speed_ratio != 1.0).all()


@pytest.mark.parametrize("anchor", ["model", "published"])
def test_input_costs_no_more_while_requests_run_and_output_is_shared_by_those_that_run(anchor):
    scenario = at_load("opus-4.6", 0.4, anchor=anchor)
    now = evaluate(scenario).now
    n = float(now.service.running[0])
    assert n > 2
    # prefill is compute-bound: its cost does not depend on the batch, and the chips are never idle
    np.testing.assert_allclose(now.price_in_usd_per_mtok, at_batch(scenario, 2).price_in_usd_per_mtok, **EXACT)
    # a step of n + 1 is paid by the n that run on average
    met = at_batch(scenario, n + 1)
    np.testing.assert_allclose(now.price_out_usd_per_mtok, met.price_out_usd_per_mtok * (n + 1) / n, rtol=1e-6)
    tdp = CAT.hardware.at["b200_sxm", "tdp_w"]
    own = scenario.requests_per_s / pace_of(scenario) * scenario.n_out / scenario.calls  # tokens/s of the stand-in
    np.testing.assert_allclose(now.service.energy_j_per_token, now.service.n_chips * tdp / own, **EXACT)


@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("each", [0.001, 0.3])
def test_chips_that_wait_are_paid_by_input_and_output(each, replicas):
    """Utilisation law: the share of time with a request is rate x time of one request, both on one replica."""
    base = of(
        "opus-4.6", load="traffic", anchor="model", hardware="h200_sxm", model="glm-4.7", tp=8, n_chips=8 * replicas
    )
    # `each` requests a replica: Little's law at the batch an arrival makes, each + 1
    met = at_batch(base, replicas * (each + 1)).service
    assert met.replicas[0] == replicas
    tokens = base.n_out / base.calls
    scenario = replace(base, requests_per_s=replicas * each / float(met.prefill_s[0] + (tokens - 1) * met.tpot_s[0]))
    now, alone = evaluate(scenario).now, at_batch(base, replicas)
    np.testing.assert_allclose(now.service.running, replicas * each, rtol=1e-6)
    for_one = float((each + 1) * replicas * tokens / met.output_tokens_per_s[0])  # chip time of one request
    busy = scenario.requests_per_s / replicas * for_one
    assert busy == pytest.approx(each, rel=0.05)
    np.testing.assert_allclose(now.price_in_usd_per_mtok, alone.price_in_usd_per_mtok / busy, rtol=1e-6)
    met_price = at_batch(base, replicas * (each + 1)).price_out_usd_per_mtok
    np.testing.assert_allclose(now.price_out_usd_per_mtok, met_price * (each + 1) / busy, rtol=1e-6)


@pytest.mark.parametrize("demand", [0.03, 0.3, 0.8, 3.0])
def test_replicas_at_as_many_requests_each_have_the_prices_of_one(demand):
    """Four machines side by side with four times the traffic: everything a user or a payer sees is that of one."""
    shape = {"load": "traffic", "hardware": "h200_sxm", "model": "glm-4.7", "tp": 8}
    base = of("opus-4.6", n_chips=8, **shape)
    rate = demand / float(direct(base, 1e-6).running[0] / 1e-6)  # over the seconds a request stays where it is alone
    one = evaluate(replace(base, requests_per_s=rate)).now
    four = evaluate(replace(base, n_chips=32, requests_per_s=4 * rate)).now
    assert (one.service.running >= demand).all() and np.isfinite(one.service.running).all()
    assert (one.service.replicas[0], four.service.replicas[0]) == (1, 4)
    np.testing.assert_allclose(four.service.running, 4 * one.service.running, **EXACT)
    for name in ("tokens_per_s", "ttft_s", "price_in_usd_per_mtok", "price_out_usd_per_mtok", "provider_usd_per_mtok"):
        np.testing.assert_allclose(getattr(four, name), getattr(one, name), err_msg=name, **EXACT)


@PLACES
@pytest.mark.parametrize("load", [0.001, 0.02, 0.1, 0.5, 0.9])
def test_the_prices_of_the_model_pay_for_the_chips_at_every_load(preset, load):
    """Input and output together bring in what the chips cost, waiting included. Within 8 %: the steps of a user who meets one
    request more than run on average stand for all steps, and the work outside of the chips is in neither price."""
    scenario = at_load(preset, load, anchor="model")
    now = evaluate(scenario).now
    paid = scenario.n_in * now.price_in_usd_per_mtok + scenario.n_out * now.price_out_usd_per_mtok
    income = scenario.requests_per_s / scenario.calls * paid / 1e6
    cost = now.service.n_chips * now.chip_hour_usd / 3600 / scenario.utilisation
    np.testing.assert_allclose(income, cost, rtol=0.08)


def test_in_traffic_the_batch_asked_for_only_sizes_automatic_chips():
    given = evaluate(of(FAST, load="traffic", batch_size=np.array([1.0, 4.0, 100.0])))
    assert len(set(np.ravel(given.now.tokens_per_s))) == 1
    batches = np.array([1.0, 16.0, 64.0])
    sized = evaluate(of(SPARK, load="traffic", batch_size=batches))
    fewest = [float(served(of(SPARK, batch_size=b)).n_chips[0]) for b in batches]
    assert list(sized.now.service.n_chips) == fewest and fewest[0] < fewest[2]
    assert (np.diff(sized.outputs()["saturation_requests_per_s"].value) > 0).all()


@PLACES
def test_the_reference_keeps_its_fixed_batch(preset):
    fixed, traffic = evaluate(of(preset)), evaluate(at_load(preset, 0.7))
    for name in ("tokens_per_s", "ttft_s", "price_out_usd_per_mtok", "error_rate"):
        np.testing.assert_array_equal(getattr(traffic.reference, name), getattr(fixed.reference, name))
    np.testing.assert_array_equal(traffic.reference.task.time_per_task_s, fixed.reference.task.time_per_task_s)
    np.testing.assert_array_equal(traffic.now.error_rate, fixed.now.error_rate)


# Saturated, not served


@PLACES
def test_saturated_is_a_reason_with_the_rate_and_the_way_out_is_below_it(preset):
    scenario = at_load(preset, 1.5)
    most = saturation(scenario)
    e = evaluate(scenario)
    reason = f"saturated: more than {float(f'{most:.3g}'):g} requests/s cannot be served"
    assert e.reason(e.now) == reason
    out = e.outputs()
    for name in ("tokens_per_s_per_user", "ttft_s", "net_productivity", "output_tokens_per_s", "running_batch"):
        assert np.isnan(out[name].value) and out[name].reason == reason, name
    rates = [out[name].value for name in ("requests_per_s", "saturation_requests_per_s")]
    np.testing.assert_allclose(rates, [scenario.requests_per_s, most], **EXACT)
    assert traffic_text(e) == ""
    offered = max(rate for rate in RATES if rate <= OFFERED_LOAD * most)
    assert nearest(e) == {"requests_per_s": offered}
    mended = evaluate(replace(scenario, **nearest(e)))
    assert np.isfinite(mended.now.tokens_per_s).all() and mended.reason(mended.now) == ""


def test_just_below_saturation_is_served_and_at_it_not():
    rates = at_load(FAST, 1.0).requests_per_s * np.array([0.999, 1.0 + 1e-9])
    speed = evaluate(of(FAST, load="traffic", requests_per_s=rates)).now.tokens_per_s
    assert list(np.isfinite(speed)) == [True, False]


@pytest.mark.parametrize(("change", "reason"), [
    ({"hardware": "h100_sxm"}, "weights do not fit: needs "),
    ({"model": "none"}, "no stand-in model chosen"),
    ({"requests_per_s": -1.0}, "not a usable request rate"),
])  # fmt: skip
def test_what_cannot_be_served_in_traffic_has_a_reason(change, reason):
    e = evaluate(of(FAST, load="traffic", **change))
    assert np.isnan(e.now.tokens_per_s[0]) and e.reason(e.now).startswith(reason)
    assert np.isnan(e.outputs()["saturation_requests_per_s"].value) or "requests_per_s" in change


def test_a_deployment_too_slow_for_every_rate_offers_a_fixed_batch():
    """Outputs so long that even the lowest rate saturates: the only way out is another load."""
    scenario = of("opus-4.6", load="traffic", n_out=2_000_000, calls=1, requests_per_s=1.0)
    most = saturation(scenario)
    assert 0 < most * OFFERED_LOAD < RATES[0]
    change = nearest(evaluate(scenario))
    assert change["load"] == "batch" and change["batch_size"] < scenario.batch_size  # 64 contexts this long do not fit
    assert nearest(evaluate(replace(scenario, n_in=1000))) == {"load": "batch"}
    assert np.isfinite(evaluate(replace(scenario, **change)).now.tokens_per_s).all()


# Arrays


def test_arrays_of_loads_rates_and_limits_equal_single_scenarios():
    scenarios = [
        at_load(FAST, 0.3), of(FAST), at_load(SPARK, 0.8, slo_ttft_s=1.0), at_load(SPARK, 2.0), of(SPARK, slo_tpot_s=0.002),
        of("haiku-4.5", load="traffic"), of("opus-4.6", load="traffic", n_chips=0, slo_ttft_s=2.0, slo_tpot_s=0.01),
    ]  # fmt: skip
    compare(evaluate(stacked(scenarios)), scenarios)


def test_two_dimensional_shapes_broadcast_in_traffic():
    rates, hardware = np.array([[0.1], [2.0], [50.0]]), np.array(["b200_sxm", "h200_sxm"])
    base = of("opus-4.6", load="traffic", n_chips=16)
    e = evaluate(replace(base, requests_per_s=rates, hardware=hardware))
    assert e.shape == (3, 2)
    compare(e, [replace(base, requests_per_s=r, hardware=h) for r in np.ravel(rates) for h in hardware])


def test_scenarios_with_and_without_traffic_together_equal_alone():
    scenario = at_load(SPARK, 0.5, slo_tpot_s=0.005)
    scenarios = [
        scenario, replace(scenario, fix_time_s=np.array([300.0, 2520.0])), along(scenario, "batch"), along(scenario, "hardware"), of(FAST),
        side_by_side(scenario, FOUNDING), at_load("opus-4.6", 3.0),
    ]  # fmt: skip
    for one, single in zip(evaluate_together(scenarios), scenarios, strict=True):
        alone = evaluate(single)
        assert_same(one, alone)
        assert one.reason(one.now) == alone.reason(alone.now)


# Along an axis


def test_in_traffic_the_axis_of_the_batch_is_the_rate():
    scenario = at_load("opus-4.6", 0.5)
    swept = sweep(scenario, "batch")
    assert swept.axis == "traffic" and swept.now_x == scenario.requests_per_s
    assert (swept.x[0], swept.x[-1]) == (pytest.approx(RATES[0]), pytest.approx(RATES[-1]))
    most = 2 * scenario.requests_per_s
    ((start, end, reason),) = swept.spans
    assert start == swept.x[swept.x > most][0] and end == swept.x[-1] and reason.startswith("saturated: more than ")
    for i in (0, 57, int(np.sum(swept.x < most)) - 1):
        single = evaluate(replace(scenario, requests_per_s=float(swept.x[i])))
        np.testing.assert_allclose(swept.evaluation.now.tokens_per_s[i], single.now.tokens_per_s[0], **EXACT)


@pytest.mark.parametrize(("axis", "field"), [("distillation", "distillation"), ("context", "context_tokens")])
def test_other_axes_are_drawn_in_traffic(axis, field):
    scenario = at_load("opus-4.6", 0.5)
    swept = sweep(scenario, axis)
    assert swept.axis == axis
    for i in (0, 100):
        single = evaluate(replace(scenario, **{field: float(swept.x[i])}))
        np.testing.assert_allclose(swept.evaluation.now.tokens_per_s[i], single.now.tokens_per_s[0], **EXACT)


def test_what_is_published_stays_at_its_batch_beside_a_scenario_in_traffic():
    scenario = at_load("opus-4.6", 0.5)
    e = evaluate(side_by_side(scenario, FOUNDING))
    np.testing.assert_array_equal(e.now.tokens_per_s, [65, 170, 65, 1000])
    drawn = picture.trade_offs(scenario, "batch")
    np.testing.assert_array_equal(drawn.published.now.tokens_per_s, drawn.published.now.published_tokens_per_s)
    assert drawn.edited and drawn.now.at(drawn.now.now.tokens_per_s) == pytest.approx(
        evaluate(scenario).now.tokens_per_s[0], rel=1e-9
    )


# Limits and goodput


def test_no_limit_no_goodput_and_no_work_for_it():
    e = evaluate(of(SPARK))
    out = e.outputs()
    for name in ("slo_batch", "goodput_requests_per_s", "goodput_tokens_per_s"):
        assert np.isnan(out[name].value) and out[name].reason == "enter a limit under Serving"
    for name in ("requests_per_s", "running_batch", "saturation_requests_per_s"):
        assert np.isnan(out[name].value) and out[name].reason == "the batch is fixed: choose traffic as load"
    assert e.goodput is None and goodput_text(e) == traffic_text(e) == ""


def test_goodput_is_computed_only_when_asked_for_and_once():
    scenario = of(SPARK, slo_tpot_s=0.005)
    swept = sweep(scenario, "batch").evaluation
    e = evaluate(scenario)
    assert "goodput" not in vars(swept) and "goodput" not in vars(e)
    assert e.outputs()["slo_batch"].value == e.goodput.batch[0]
    assert e.goodput is e.goodput


@pytest.mark.parametrize("load", ["batch", "traffic"])
def test_without_the_anchor_goodput_is_what_the_model_says(load):
    scenario = of(FAST, load=load, anchor="model", slo_ttft_s=1.0, slo_tpot_s=0.02)
    g, out = goodput(asked(scenario), 1.0 - scenario.handshake_s, 0.02, CAT), evaluate(scenario).outputs()
    assert g.batch[0] > 1
    assert out["slo_batch"].value == g.batch[0]
    assert out["goodput_requests_per_s"].value == pytest.approx(g.requests_per_s[0], rel=1e-9)
    tokens = g.requests_per_s[0] * scenario.n_out / scenario.calls
    assert out["goodput_tokens_per_s"].value == pytest.approx(tokens, rel=1e-9)


@PLACES
@pytest.mark.parametrize("limits", [{"slo_tpot_s": 1.3}, {"slo_ttft_s": 1.4}, {"slo_ttft_s": 1.5, "slo_tpot_s": 1.2}])
def test_with_the_anchor_goodput_is_the_models_at_its_own_pace(preset, limits):
    """Limits as multiples of what is published. In the stand-in's time each is its own figure times the same multiple."""
    home, quoted = served(of(preset)), CAT.endpoints.at[preset, "output_tok_s"]
    first, each = limits.get("slo_ttft_s", np.nan), limits.get("slo_tpot_s", np.nan)
    shown = {"slo_ttft_s": of(preset).handshake_s + first * PRESETS.at[preset, "ttft_s"], "slo_tpot_s": each / quoted}
    scenario = of(preset, **{name: shown[name] for name in limits})
    g = goodput(asked(scenario), first * home.ttft_s[0], each * home.tpot_s[0], CAT)
    out, pace = evaluate(scenario).outputs(), pace_of(scenario)
    assert out["slo_batch"].value == g.batch[0] > 0
    rate = out["goodput_requests_per_s"].value
    assert rate == pytest.approx(pace * g.requests_per_s[0], rel=1e-6) and rate > 0
    assert out["goodput_tokens_per_s"].value == pytest.approx(rate * scenario.n_out / scenario.calls, rel=1e-9)


@PLACES
def test_limits_are_on_what_is_shown(preset):
    """At the preset the published speed is shown: a limit of exactly that speed is met up to exactly its batch."""
    quoted, batch = CAT.endpoints.at[preset, "output_tok_s"], of(preset).batch_size
    limits = np.array([1 + 1e-9, 1 - 1e-9]) / quoted
    met, missed = evaluate(of(preset, slo_tpot_s=limits)).outputs()["slo_batch"].value
    assert met >= batch > missed
    shown = evaluate(of(preset, n_chips=int(served(of(preset)).n_chips[0]), batch_size=np.array([met, missed]))).now
    assert list(1 / shown.tokens_per_s <= limits) == [True, True]


@pytest.mark.parametrize(
    "limits", [{"slo_ttft_s": 1.5}, {"slo_tpot_s": 1 / 100}, {"slo_ttft_s": 2.0, "slo_tpot_s": 1 / 80}]
)
def test_the_goodput_is_the_last_traffic_whose_shown_percentiles_meet_the_limits(limits):
    scenario = of("opus-4.6", load="traffic", **limits)
    edge = evaluate(scenario).outputs()["goodput_requests_per_s"].value
    assert 0 < edge < saturation(scenario)
    around = direct(scenario, edge * np.array([1 - 1e-5, 1 + 1e-5]))
    home = served(of("opus-4.6"))
    first = scenario.handshake_s + around.ttft_p95_s * PRESETS.at["opus-4.6", "ttft_s"] / home.ttft_s
    each = around.tpot_p95_s * home.tokens_per_s_per_user / 65.0
    met = (first <= limits.get("slo_ttft_s", np.inf)) & (each <= limits.get("slo_tpot_s", np.inf))
    assert list(met) == [True, False]


@PLACES
def test_goodput_does_not_depend_on_the_load_chosen(preset):
    figures = []
    for change in ({}, {"load": "traffic"}, {"load": "traffic", "requests_per_s": 1000.0}):
        e = evaluate(of(preset, slo_ttft_s=2.0, slo_tpot_s=0.02, **change))
        figures.append([e.outputs()[n].value for n in ("slo_batch", "goodput_requests_per_s", "goodput_tokens_per_s")])
    assert figures[0] == figures[1] == figures[2] and figures[0][1] > 0


@PLACES
def test_goodput_never_falls_when_a_limit_is_eased(preset):
    quoted = CAT.endpoints.at[preset, "output_tok_s"]
    for limits in (
        {"slo_tpot_s": np.array([0.01, 0.5, 1.0, 1.5, 2.0, 4.0, 50.0]) / quoted},
        {"slo_ttft_s": np.array([0.01, 0.3, 0.5, 1.0, 1.5, 3.0, 30.0])},
    ):
        out = evaluate(of(preset, **limits)).outputs()
        for name in ("slo_batch", "goodput_requests_per_s", "goodput_tokens_per_s"):
            values = out[name].value
            assert (np.diff(values) >= 0).all() and values[0] == 0.0 < values[-1], name


def test_a_goodput_nobody_can_know_has_a_reason():
    shown = evaluate(of("haiku-4.5", slo_tpot_s=0.05))
    assert shown.outputs()["slo_batch"].reason == "no stand-in model chosen"
    unfit = evaluate(of(FAST, hardware="h100_sxm", slo_tpot_s=0.05))
    assert unfit.outputs()["goodput_requests_per_s"].reason.startswith("weights do not fit")
    assert goodput_text(unfit).startswith("p95 TPOT 50 ms: no figure, weights do not fit: needs ")


def test_limits_on_a_published_speed_that_cannot_be_scaled_have_a_reason():
    """The option's own chips cannot hold this model, so there is no factor between the model and the published speed."""
    bulky = next(
        m for m in CAT.models.index
        if served(of("opus-4.6", model=m)).status[0] and not served(of("opus-4.6", model=m, n_chips=0)).status[0]
    )  # fmt: skip
    scenario = of("opus-4.6", model=bulky, n_chips=0, slo_tpot_s=0.1)
    assert np.isfinite(evaluate(replace(scenario, anchor="model")).outputs()["slo_batch"].value)
    out = evaluate(scenario).outputs()["slo_batch"]
    assert np.isnan(out.value) and out.reason.startswith("the preset's own settings cannot be modelled")


# Words


def test_texts_name_limits_figures_and_what_stops():
    e = evaluate(at_load(FAST, 0.5, slo_ttft_s=2.0, slo_tpot_s=0.01))
    out = e.outputs()
    text = goodput_text(e)
    assert text.startswith(f"Meets p95 TTFT 2 s and TPOT 10 ms up to batch {out['slo_batch'].value:g} (")
    assert "tok/s (TPOT limit)." in text or "tok/s (TTFT limit)." in text
    assert goodput_text(evaluate(of(FAST, slo_tpot_s=1e-4))) == "Misses p95 TPOT 0.1 ms even without load."
    traffic = traffic_text(e)
    assert "load 50 %" in traffic and traffic.startswith("Traffic, ")


def test_shown_percentiles_are_not_below_what_they_are_percentiles_of():
    """Mean TTFT on the card holds the handshake; so does its percentile."""
    e = evaluate(of(SPARK, load="traffic", requests_per_s=1e-6, handshake_s=0.2))
    shown = float(re.search(r"p95 TTFT (\d+) ms", traffic_text(e))[1]) / 1e3
    assert shown == pytest.approx(e.at(e.now.ttft_client_s), abs=6e-4) and shown > 0.2


def test_the_command_prints_traffic_and_goodput():
    document = evaluation_document("preset=opus-4.6&load=traffic&requests_per_s=2&slo_tpot_s=0.02")
    outputs, scenario = document["outputs"], of("opus-4.6", load="traffic", requests_per_s=2.0, slo_tpot_s=0.02)
    t = direct(scenario)
    assert document["status"] == "ok" and document["scenario"]["load"] == "traffic"
    assert (
        outputs["requests_per_s"]["value"] == pytest.approx(2.0, rel=1e-12)
        and outputs["requests_per_s"]["kind"] == "assumed"
    )
    assert outputs["running_batch"]["value"] == pytest.approx(t.running[0], rel=1e-9)
    assert outputs["saturation_requests_per_s"]["value"] == pytest.approx(saturation(scenario), rel=1e-9)
    assert outputs["output_tokens_per_s"]["value"] == pytest.approx(2.0 * scenario.n_out / scenario.calls, rel=1e-12)
    assert outputs["goodput_requests_per_s"]["value"] > 0 and outputs["goodput_requests_per_s"]["reference"] is None
    saturated = evaluation_document("preset=opus-4.6&load=traffic&requests_per_s=1000")
    assert saturated["status"].startswith("saturated: more than ")
    assert saturated["outputs"]["tokens_per_s_per_user"]["value"] is None


def test_near_saturation_the_text_says_that_the_slow_end_of_the_band_is_not_served():
    """The low end of the speed is this share of the speed; traffic above that share of saturation is at risk."""
    words = "At the slow end of the speed's 90 % band"
    for load in (0.3, 0.97):
        found = evaluate(at_load("opus-4.6-fast", load, anchor="model"))
        low, _high = found.bands(90)["tokens_per_s_per_user"]
        at_risk = load > found.at(low) / found.at(found.now.tokens_per_s)
        assert at_risk == (load > 0.5)
        assert (words in traffic_text(found)) == at_risk


def test_the_spread_of_lengths_moves_the_wait_for_a_place_and_the_goodput():
    spreads = np.array([0.0, 1.0, 2.0])
    near_full = at_load("opus-4.6", 0.95)
    late = evaluate(replace(near_full, length_cv=spreads)).now.service.ttft_p95_s
    alone = [evaluate(replace(near_full, length_cv=float(cv))).now.service.ttft_p95_s[0] for cv in spreads]
    np.testing.assert_allclose(late, alone, rtol=1e-12)
    assert late[0] < late[1] < late[2]
    limited = of("opus-4.6", slo_ttft_s=1.5 * float(evaluate(of("opus-4.6")).now.ttft_client_s[0]))
    found = evaluate(replace(limited, length_cv=spreads)).goodput.requests_per_s
    assert found[0] >= found[1] >= found[2] > 0.0 and found[0] > found[2]
