"""A smaller batch on the same chips against the same batch on a newer chip: ratios, their costs, and claim C43, which is a part of it."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.claims.chips import newer_gpu
from fastmode.claims.found import Facts
from fastmode.evaluate import evaluate
from fastmode.two_ways import deployment_of, published_tiers, two_ways

CATALOG = load()


def scenario(preset, **fields):
    return replace(scenarios.default(CATALOG), **scenarios.expand_preset(preset, CATALOG) | fields)


@pytest.fixture(scope="module")
def opus():
    return two_ways(deployment_of(evaluate(scenario("opus-4.6-fast"), CATALOG)), CATALOG)


def test_both_ways_start_at_the_references_own_deployment(opus):
    d = opus.deployment
    assert (d.preset, d.hardware, d.batch_size, d.weight_precision, d.load) == ("opus-4.6", "b200_sxm", 64, "fp8", "batch")
    assert opus.chips == 8 and opus.reason == ""
    assert (opus.smaller.batch[0], opus.smaller.batch[-1]) == (1, 64)
    assert opus.smaller.speed[-1] == opus.smaller.speed_low[-1] == opus.smaller.speed_high[-1] == 1.0
    np.testing.assert_allclose(opus.smaller.cost[:, -1], 1.0)


def test_a_smaller_batch_is_faster_and_dearer_all_the_way_on_the_same_chips(opus):
    way = opus.smaller
    assert (np.diff(way.speed) < 0).all() and (np.diff(way.cost[1]) < 0).all()
    assert (way.chips == 8).all() and (way.batch == np.round(way.batch)).all()
    np.testing.assert_array_equal(way.cost[0], way.cost[2])  # the price of the same chips cancels


def test_ratios_are_those_of_two_evaluations():
    found = two_ways(scenario("opus-4.6"), CATALOG)
    one, other = (evaluate(scenario("opus-4.6", batch_size=float(b)), CATALOG).now for b in (8, 64))
    i = int(np.flatnonzero(found.smaller.batch == 8)[0])
    assert found.smaller.speed[i] == pytest.approx(float(one.modelled_tokens_per_s[0] / other.modelled_tokens_per_s[0]))
    assert found.smaller.cost[1, i] == pytest.approx(float(one.provider_usd_per_mtok[1, 0] / other.provider_usd_per_mtok[1, 0]))
    chips = {"rubin_vr200": 8, "cerebras_wse3": 0}  # as many as the reference has, or the fewest that fit where that is more
    for part, n in chips.items():
        there = evaluate(scenario("opus-4.6", hardware=part, n_chips=n), CATALOG).now
        j = found.hardware.tolist().index(part)
        assert found.newer.speed[j] == pytest.approx(float(there.modelled_tokens_per_s[0] / other.modelled_tokens_per_s[0]))
        np.testing.assert_allclose(found.newer.cost[:, j], there.provider_usd_per_mtok[:, 0] / other.provider_usd_per_mtok[1, 0])
        assert found.newer.chips[j] == there.service.n_chips[0]


def test_newer_is_of_the_same_year_or_later_for_data_centres_and_any_sram_machine(opus):
    chosen = set(opus.hardware)
    assert {"gb200_nvl72", "b300_sxm", "rubin_vr200", "groq_lpu_v1", "cerebras_wse3"} <= chosen
    assert not chosen & {"b200_sxm", "h200_sxm", "mi300x", "h100_sxm", "rtx_5090", "l40s", "apple_m4_max"}
    assert set(opus.hardware[opus.sram]) == {"groq_lpu_v1", "groq3_lpu", "cerebras_wse3"}


def test_the_speed_of_a_gb200_over_an_h100_is_that_of_claim_c43():
    claim = newer_gpu(Facts(CATALOG, str(CATALOG.claims.at["C43", "quantity"])))
    found = two_ways(scenario("opus-4.6", hardware="h100_sxm", n_chips=0), CATALOG)
    i = found.hardware.tolist().index("gb200_nvl72")
    assert found.newer.chips[i] == found.chips
    assert found.newer.speed[i] == pytest.approx(claim.low)  # the modelled gain, less than that of the bandwidth
    assert claim.low < claim.high == pytest.approx(8.0 / 3.35)


def test_the_largest_batch_and_the_cheapest_parts_that_get_there(opus):
    way = opus.smaller
    at = opus.batch_for(2.5)
    assert way.speed[at] >= 2.5 > way.speed[at + 1]
    assert opus.batch_for(1.0) == len(way.batch) - 1
    assert opus.batch_for(float(way.speed[0])) == 0 and opus.batch_for(1000.0) == -1
    reached = opus.parts_for(5.0)
    assert set(opus.hardware[reached]) == {"cerebras_wse3", "groq_lpu_v1", "groq3_lpu"}
    assert opus.hardware[reached[0]] == "cerebras_wse3"  # the only one with a price
    assert opus.parts_for(1000.0).size == 0


def test_bands_hold_the_ratio_and_are_wider_for_other_chips(opus):
    for way in (opus.smaller, opus.newer):
        known = np.isfinite(way.speed)
        assert (way.speed_low <= way.speed)[known].all() and (way.speed <= way.speed_high)[known].all()
    other = opus.newer.speed_high[opus.hardware.tolist().index("b300_sxm")] / opus.newer.speed[opus.hardware.tolist().index("b300_sxm")]
    near = opus.smaller.speed_high[-2] / opus.smaller.speed[-2]
    assert near < 1.1 < other


def test_chips_without_a_price_cost_themselves_but_leave_other_parts_without_a_ratio():
    found = two_ways(scenario("gpt-oss-120b-groq"), CATALOG)
    assert np.isfinite(found.smaller.cost).all() and np.isnan(found.newer.cost).all()


def test_other_parts_take_the_place_of_an_sram_machine_with_the_fewest_that_fit():
    found = two_ways(scenario("gpt-oss-120b-groq"), CATALOG)
    i = found.hardware.tolist().index("b200_sxm")
    alone = evaluate(scenario("gpt-oss-120b-groq", hardware="b200_sxm", n_chips=0), CATALOG).now.service
    assert found.chips > 1000 and found.newer.chips[i] == alone.n_chips[0] < 10
    assert found.newer.speed[i] == pytest.approx(float(alone.tokens_per_s_per_user[0] / found_speed(found.deployment)))


def found_speed(deployment):
    return evaluate(deployment, CATALOG).now.modelled_tokens_per_s[0]


def test_a_context_too_long_for_the_references_batch_starts_at_the_largest_that_fits():
    e = evaluate(scenario("gpt-5.3-codex-spark", context_tokens=1e6), CATALOG)
    d = deployment_of(e)
    assert d.batch_size == e.reference.service.batch[0] < 64
    found = two_ways(d, CATALOG)
    assert found.reason == "" and found.smaller.batch[-1] == d.batch_size and found.smaller.speed[-1] == 1.0


def test_a_batch_that_does_not_fit_is_a_reason():
    found = two_ways(scenario("opus-4.6", batch_size=512.0), CATALOG)
    assert found.reason.startswith("batch 512 does not fit") and np.isnan(found.newer.speed).all()


def test_a_reference_without_a_stand_in_says_so():
    found = two_ways(scenario("haiku-4.5"), CATALOG)
    assert found.reason == "no stand-in model chosen"
    assert np.isnan(found.smaller.speed).all() and np.isnan(found.newer.speed).all()


def test_published_tiers_are_the_founding_one_and_those_of_today():
    tiers = {t.label: t for t in published_tiers(CATALOG)}
    founding, measured = tiers["Opus 4.6 fast"], tiers["GPT-6 Astra fast"]
    assert (founding.speed, founding.price, founding.measured) == (2.5, 6.0, False)
    assert (measured.speed, measured.price, measured.measured) == (pytest.approx(69.2 / 35.3), 2.0, True)
    assert tiers["GPT-6 Astra Ultrafast"].price == 6.0 and tiers["GPT-6 Astra Ultrafast"].speed == 8.0
    assert not {"Opus 4.7 fast", "Opus 4.8 fast"} & set(tiers)  # retired, removed
    assert "GPT-6.1 Sol fast" not in tiers  # nobody publishes how much faster it is
