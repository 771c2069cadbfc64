"""Endpoints by speed and price: which are drawn, what tiers cost for what speed-up, and where vendors' figures disagree."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import endpoint_map as offers
from fastmode.catalog import load
from fastmode.endpoint_map import ABOVE, AGREES, BELOW, EARLY, LATE, UNCHECKED, UNMEASURED


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def tiers(catalog):
    return {tier.offer.id: tier for tier in offers.tiers(catalog)}


def changed(catalog, endpoint, **cells):
    """A catalogue with other figures in one row of endpoints."""
    table = catalog.endpoints.copy()
    for column, value in cells.items():
        table.at[endpoint, column] = value
    return replace(catalog, endpoints=table)


# --- eras


@pytest.mark.parametrize(
    ("date", "early", "late"),
    [
        ("2026-04-30", True, False),
        ("2026-04", True, False),
        ("2026-05", False, True),
        ("2026-05-28", False, True),
        ("2024-10", True, False),
        ("2025", True, False),
        ("2026", True, True),
        ("2027", False, True),
    ],
)
def test_a_year_alone_belongs_to_both_sides_of_the_cut_where_it_holds_the_cut(date, early, late):
    assert (offers.in_era(date, EARLY), offers.in_era(date, LATE)) == (early, late)


def test_the_cut_parts_the_tiers_at_six_times_from_those_at_two_times_the_price(catalog):
    anthropic = [t for t in offers.tiers(catalog) if t.offer.provider == "Anthropic"]
    early, late = ({t.price_multiple for t in anthropic if offers.in_era(t.offer.date, era)} for era in (EARLY, LATE))
    assert (early, late) == ({6.0}, {2.0})


# --- what is drawn


def test_every_endpoint_is_drawn_or_listed_with_what_is_missing(catalog):
    table = catalog.endpoints
    both = table["output_tok_s"].notna() & table["output_usd_per_mtok"].notna()
    drawn = {o.id for era in (EARLY, LATE) for o in offers.drawn(catalog, era)}
    assert drawn == set(table.index[both])
    missing = offers.undrawn(catalog)
    assert len(missing) + len(drawn) == len(table)
    spark = missing.set_index("label").loc["Codex-Spark"]
    assert bool(spark["has_speed"]) and not spark["has_price"]
    opus = missing.set_index("label").loc["Opus 4.7 fast"]
    assert not opus["has_speed"] and bool(opus["has_price"])


def test_names_are_those_of_the_presets_or_model_and_mode(catalog):
    named = {o.id: o.label for o in offers.offers(catalog)}
    assert named["opus-4.6-fast"] == "Opus 4.6 fast"
    assert named["kimi-k2.7-code"] == "Kimi K2.7 Code" and named["kimi-k2.7-code-highspeed"] == "Kimi K2.7 Code highspeed"


def test_arrows_lead_from_the_standard_offer_to_the_faster_one_of_the_same_weights(catalog):
    early = {(a.id, b.id) for a, b in offers.arrows(catalog, EARLY)}
    late = {(a.id, b.id) for a, b in offers.arrows(catalog, LATE)}
    assert ("opus-4.6", "opus-4.6-fast") in early and ("opus-4.6", "opus-4.6-fast") not in late
    assert {("gpt-6-astra", "gpt-6-astra-fast"), ("gpt-6-astra", "gpt-6-astra-ultrafast")} <= late - early
    for standard, fast in offers.arrows(catalog, LATE):
        assert standard.drawn and fast.drawn and fast.standard == standard.id


# --- tiers


def test_multiples_of_the_founding_fast_mode(tiers):
    tier = tiers["opus-4.6-fast"]
    assert (tier.price_multiple, tier.advertised) == (6.0, 2.5)
    assert tier.realised == pytest.approx(170 / 65) and tier.against.id == "opus-4.6"
    assert tier.verdict == UNMEASURED  # 170 is 65 times the multiple, rounded: that it agrees says nothing


def test_price_multiples_are_those_of_the_list_prices(catalog, tiers):
    known = {o.id: o for o in offers.offers(catalog)}
    checked = 0
    for tier in tiers.values():
        prices = tier.offer.usd_per_mtok, known[tier.offer.standard].usd_per_mtok
        if np.isfinite(prices).all():
            assert tier.price_multiple == pytest.approx(prices[0] / prices[1], rel=0.01)
            checked += 1
    assert checked >= 10


def test_a_multiple_that_is_a_ratio_of_two_speeds_is_not_called_advertised(tiers):
    tier = tiers["gpt-6-astra-fast"]
    assert np.isnan(tier.advertised) and tier.realised == pytest.approx(69.2 / 35.3) and tier.verdict == ""


def test_a_tier_without_a_standard_speed_is_set_against_the_earlier_model_of_the_line(tiers):
    tier = tiers["opus-5-fast"]
    assert not tier.own_standard and tier.against.id == "opus-4.8"  # not Sonnet, not Opus 4.6
    assert tier.realised == pytest.approx(103 / 62) and tier.verdict == BELOW


def test_the_vendors_own_speed_is_checked_too(tiers):
    tier = tiers["gpt-5.6-sol-cerebras"]
    assert tier.realised == pytest.approx(750 / 78) and tier.advertised == 14 and tier.verdict == BELOW
    assert tier.same_vendor and np.isnan(tier.price_multiple)


def test_the_same_weights_elsewhere_are_no_tier_of_the_vendor(tiers):
    tier = tiers["gpt-oss-120b-cerebras"]
    assert not tier.same_vendor and tier.realised == pytest.approx(2059 / 476) and tier.verdict == ""
    assert "kimi-k2.6-fireworks" not in tiers  # as fast and as dear: no faster tier


def test_tiers_without_a_speed_are_not_checked_and_flags_are_the_rest(catalog, tiers):
    assert tiers["opus-5.5-fast"].verdict == UNCHECKED and tiers["opus-5.5-fast"].against is None
    assert [t.offer.id for t in offers.flagged(catalog)] == ["opus-5-fast", "gpt-5.6-sol-cerebras"]


@pytest.mark.parametrize(
    ("speed", "verdict"),
    [(65 * 2.5, AGREES), (65 * 2.26, AGREES), (65 * 2.24, BELOW), (65 * 2.74, AGREES), (65 * 2.76, ABOVE)],
)
def test_a_tenth_on_either_side_agrees(catalog, speed, verdict):
    # 2.5 is the ratio itself in the first case, but a ratio is only taken for one where the speeds say so to the digit
    other = changed(catalog, "opus-4.6-fast", output_tok_s=speed + 1.0 if speed == 65 * 2.5 else speed, basis="measured_third_party")
    (tier,) = (t for t in offers.tiers(other) if t.offer.id == "opus-4.6-fast")
    assert tier.verdict == verdict


# --- the finding


def test_the_price_fell_from_six_times_to_two_times_at_the_same_advertised_speed(catalog):
    fall = offers.price_fall(catalog)
    assert (fall.before.offer.id, fall.after.offer.id) == ("opus-4.6-fast", "opus-4.8-fast")
    assert fall.same_price.offer.id == "gpt-6.1-sol-ultrafast"
    assert offers.fall_text(fall) == (
        "The price of a fast tier fell from 6x (Opus 4.6 fast, 2026-02) to 2x (Opus 4.8 fast, 2026-05) at the same advertised 2.5x. "
        "6x the price now buys up to 8x (GPT-6.1 Sol Ultrafast, 2026-10)."
    )


def test_without_a_fall_the_finding_says_so(catalog):
    table = catalog.endpoints.copy()
    table["price_multiplier_vs_standard"] = 2.0
    fall = offers.price_fall(replace(catalog, endpoints=table))
    assert fall is None
    assert offers.fall_text(fall) == "At no advertised speed multiple did a vendor's price multiple fall."


def test_a_check_names_both_speeds_their_words_and_what_stands_in(tiers):
    assert offers.check_text(tiers["opus-5-fast"]) == (
        "Opus 5 fast: 103 tok/s (measured) is 1.66x the 62 tok/s (measured) of Opus 4.8, for want of a speed of its own standard tier; "
        "advertised up to 2.5x: below the ceiling."
    )
    assert offers.check_text(tiers["gpt-5.6-sol-cerebras"]) == (
        "GPT-5.6 Sol on Cerebras: 750 tok/s (published) is 9.62x the 78 tok/s (measured) of GPT-5.6 Sol; advertised up to 14x: below the ceiling."
    )
