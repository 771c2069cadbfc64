"""What could have made a published tier: the closed form, the inversion of every mechanism, and what speaks against one."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.evaluate import evaluate
from fastmode.explain import (
    AGAINST,
    BAND,
    SURE,
    Tier,
    batch_ratio,
    batch_share_of_step,
    by_standin,
    decode_price_ratio,
    explain,
    explain_from,
    tier_of,
)
from fastmode.frontier import frontier
from fastmode.mechanisms import (
    BATCH,
    CHIPS,
    DRAFTS,
    MIDDLE,
    NEWER,
    ROUTING,
    SHARE,
    SMALLER,
    SRAM,
    options,
    outcomes,
    share_lengths,
    start_of,
    together,
)
from fastmode.two_ways import deployment_of

CAT = load()


def scenario(preset, **changes):
    return replace(scenarios.default(CAT), **scenarios.expand_preset(preset, CAT) | changes)


def started(preset="opus-4.6-fast", **changes):
    return start_of(deployment_of(evaluate(scenario(preset, **changes), CAT)), CAT)


@pytest.fixture(scope="module")
def start():
    return started()


@pytest.fixture(scope="module")
def opus():
    e = evaluate(scenario("opus-4.6-fast"), CAT)
    return explain(e, tier_of(e))


# closed form


def test_closed_form_of_the_founding_tier():
    assert batch_ratio(2.5, 6.0) == 15.0
    assert batch_share_of_step(2.5, 6.0) == pytest.approx(1.5 / 14.0) == pytest.approx(0.107, abs=5e-4)
    assert decode_price_ratio(6.0, 0.2) == pytest.approx(7.25) and decode_price_ratio(6.0, 0.0) == 6.0
    assert np.isnan(decode_price_ratio(6.0, 1.0)) and np.isnan(decode_price_ratio(0.1, 0.2)) and np.isnan(batch_share_of_step(1.0, 1.0))


@pytest.mark.parametrize(("fixed", "each", "large", "small"), [(1.0, 0.05, 64.0, 4.0), (0.2, 0.01, 300.0, 1.0), (5.0, 0.001, 32.0, 31.0)])
def test_closed_form_returns_the_batches_of_an_affine_step(fixed, each, large, small):
    slow, fast = fixed + each * large, fixed + each * small
    speed, price = slow / fast, (fast / small) / (slow / large)
    assert batch_ratio(speed, price) == pytest.approx(large / small, rel=1e-12)
    assert batch_share_of_step(speed, price) == pytest.approx(each * small / fast, rel=1e-9)


# inversion


def tier(speed, price, same_weights=True, date=""):
    return Tier("made", "standard", float(speed), float(price), float(price), same_weights, date)


@pytest.mark.parametrize(("name", "value"), [(BATCH, 40.0), (BATCH, 20.0), (BATCH, 3.3), (SMALLER, 1.7), (SMALLER, 6.0), (SMALLER, 40.0)])
def test_a_continuous_parameter_is_found_to_one_percent(start, name, value):
    own = options(start)[name]
    attribute = {BATCH: "batch", SMALLER: "size_ratio"}[name]
    one = replace(own, value=np.array([[value]]), slots=np.ones(1), fast={attribute: np.array([value])})
    (made,) = outcomes(start, [one])
    found = explain_from(start, tier(made.speed[0], made.cost[MIDDLE, 0], same_weights=False)).single(name)
    assert found.value[0] == pytest.approx(value, rel=0.01)
    assert found.margin[MIDDLE] == pytest.approx(1.0, abs=0.01)
    assert found.plausibility == SURE
    # At the slow end of the band the batch must be smaller, the model smaller still; where nothing gets there, the end is unknown.
    slow, fast = (found.low, found.high) if name == BATCH else (-found.low, -found.high)
    here = value if name == BATCH else -value
    assert fast > here and (np.isnan(slow) or slow < here)
    assert np.isnan(found.low) == ((name, value) in {(BATCH, 3.3), (SMALLER, 40.0)})


@pytest.mark.parametrize("name", [SHARE, DRAFTS, NEWER, ROUTING, SRAM])
def test_a_discrete_parameter_is_found_exactly(start, name):
    own = options(start)[name]
    (made,) = outcomes(start, [own])
    faster = np.flatnonzero(made.speed > 1.0)
    assert faster.size
    for i in faster:
        found = explain_from(start, tier(made.speed[i], made.cost[MIDDLE, i])).single(name)
        same = np.flatnonzero(np.isclose(made.speed, made.speed[i], rtol=1e-9))
        assert found.value[0] in own.value[0, same] and found.speed == pytest.approx(made.speed[i], rel=1e-12)
        if np.isfinite(made.cost[MIDDLE, i]) and len(same) == 1:
            assert found.margin[MIDDLE] == pytest.approx(1.0, rel=1e-9)


def test_more_chips_are_found_where_the_domain_has_room():
    wide = started("opus-4.6", hardware="gb200_nvl72", reference="opus-4.6")
    wide = start_of(replace(wide.scenario, hardware="gb200_nvl72", n_chips=8), CAT)
    own = options(wide)[CHIPS]
    assert own.value[0].tolist() == [2.0, 3.0, 4.0, 6.0, 8.0]
    (made,) = outcomes(wide, [own])
    for i in np.flatnonzero(made.speed > 1.0):
        assert explain_from(wide, tier(made.speed[i], made.cost[MIDDLE, i])).single(CHIPS).value[0] == own.value[0, i]


def test_a_full_domain_leaves_no_more_chips_for_a_request(start):
    assert start.config["n_chips"] == 8 and CHIPS not in options(start)


@pytest.mark.parametrize("row", [4, 5])
def test_a_pair_is_found_with_both_parameters(start, row):
    o = options(start)
    one = replace(o[BATCH], value=np.array([[10.0]]), slots=np.ones(1), fast={"batch": np.array([10.0])})
    (made,) = outcomes(start, [together(o[NEWER], one)])
    i = int(np.flatnonzero(made.options.value[0] == row)[0])
    found = next(s for s in explain_from(start, tier(made.speed[i], made.cost[MIDDLE, i])).solutions if s.names == (NEWER, BATCH))
    assert found.value[0] == row and found.value[1] == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("speed", [500.0, 1e6])
def test_an_impossible_tier_has_no_solution(start, speed):
    found = explain_from(start, tier(speed, 1.0))
    assert found.solutions == () and found.reason == ""


@pytest.mark.parametrize("speed", [1.0, 0.5, np.nan])
def test_a_tier_that_is_not_faster_is_refused_with_a_reason(start, speed):
    found = explain_from(start, tier(speed, 2.0))
    assert found.solutions == () and found.reason == "a speed ratio above 1 is needed"


def test_without_a_stand_in_there_is_a_reason():
    e = evaluate(scenario("opus-4.6-fast"), CAT)
    start = start_of(replace(deployment_of(e), model="none"), CAT)
    assert explain_from(start, tier_of(e)).reason == "no stand-in model chosen"


# the founding tier


def test_opus_fast_by_batches_is_what_the_frontier_says(opus):
    e = evaluate(scenario("opus-4.6-fast"), CAT)
    wanted, found = frontier(e, "Opus 4.6 fast").wanted, opus.single(BATCH)
    assert opus.tier.speed == pytest.approx(170 / 65) and opus.tier.price == 6.0 and opus.tier.input_price == 6.0
    assert found.value[0] == pytest.approx(wanted.batch[0], rel=0.01)
    assert found.cost[MIDDLE] == pytest.approx(wanted.cost[0], rel=0.01)
    assert sorted((found.low, found.high)) == pytest.approx(sorted(wanted.batch[1:]), rel=0.02)
    assert sorted((found.cost[0], found.cost[2])) == pytest.approx(sorted(wanted.cost[1:]), rel=0.03)
    assert found.margin[MIDDLE] == pytest.approx(6.0 / wanted.cost[0], rel=0.01)
    assert opus.solutions[0] == found and found.plausibility == SURE


def test_input_price_is_not_explained_by_small_batches(opus):
    assert opus.single(BATCH).input_cost == pytest.approx(1.0, abs=1e-9)
    assert "reading input costs 1x as much, yet its price is 6x" in opus.single(BATCH).reasons
    cheap = explain_from(opus.start, replace(opus.tier, input_price=1.0))
    assert not any("reading input" in reason for s in cheap.solutions for reason in s.reasons)


def test_a_smaller_model_speaks_against_the_vendor(opus):
    found = opus.single(SMALLER)
    assert found.plausibility == AGAINST and found.reasons[0] == "the vendor says it is the same model"
    other = explain_from(opus.start, replace(opus.tier, same_weights=False))
    assert other.single(SMALLER).plausibility == SURE
    assert "keeps the model, so it does not explain more errors" in other.single(BATCH).reasons


def test_a_part_that_came_later_is_taken_only_where_no_other_does(opus):
    late = opus.single(NEWER)
    assert late.plausibility == AGAINST and late.reasons[0] == "Rubin came later (2026-H2)"
    today = explain_from(opus.start, replace(opus.tier, date="2027-01"))
    assert today.single(NEWER).plausibility == BAND and not any("came later" in r for r in today.single(NEWER).reasons)


def test_twice_the_price_is_about_what_batches_cost():
    e = evaluate(scenario("opus-4.8-fast"), CAT)
    found = explain(e, tier_of(e)).single(BATCH)
    assert tier_of(e).price == 2.0 and tier_of(e).speed == 2.5  # no speed is listed: the vendor's "up to"
    assert found.margin[0] < 1.0 < found.margin[2] and found.margin[MIDDLE] == pytest.approx(0.98, abs=0.01)


def test_spark_takes_an_sram_machine_or_another_model():
    e = evaluate(scenario("gpt-5.3-codex-spark"), CAT)
    found = explain(e, tier_of(e))
    assert found.single(BATCH) is None and not found.tier.same_weights and np.isnan(found.tier.price)
    assert CAT.hardware.index[int(found.single(SRAM).value[0])] == "cerebras_wse3"
    assert np.isnan(found.single(SRAM).margin).all() and found.single(SMALLER).value[0] > 50


def test_typed_ratios_replace_the_published_ones():
    e = evaluate(scenario("opus-4.6-fast"), CAT)
    typed = tier_of(e, speed=2.0, price=3.0)
    assert (typed.speed, typed.price, typed.input_price, typed.own) == (2.0, 3.0, 6.0, True)
    assert not tier_of(e).own


def test_slots_of_a_request_give_the_measured_acceptance_lengths():
    least, middle, most = share_lengths(CAT)
    rows = CAT.accept_length[CAT.accept_length["draft_tokens"] == 3]["mean_accept_length"]
    assert (least[3], middle[3], most[3]) == (rows.min(), rows.median(), rows.max()) and middle[0] == 1.0


def test_every_stand_in_is_tried_with_small_batches(opus):
    made = by_standin(opus.start, opus.tier, CAT)
    assert [m.model for m in made] == ["Kimi K2", "DeepSeek-V3", "GLM-5", "Kimi K2.5", "Qwen3-Coder-480B-A35B"]
    assert made[0].batch == pytest.approx(opus.single(BATCH).value[0]) and made[0].cost == pytest.approx(opus.single(BATCH).cost[MIDDLE])
    assert made[0].most == pytest.approx(5.406, abs=0.01) and made[0].most_cost == pytest.approx(12.11, abs=0.01)
    fast = explain_from(opus.start, replace(opus.tier, speed=6.0))
    assert [np.isfinite(m.batch) for m in by_standin(fast.start, fast.tier, CAT)] == [False, True, False, False, True]
