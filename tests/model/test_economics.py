"""Chip-hours to USD per million tokens, against figures worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import catalog
from fastmode.economics import chip_hour, cost_usd_per_mtok
from fastmode.evaluate import evaluate
from fastmode.scenario import all_fields, default, expand_preset

CAT = catalog.load()
ROW = CAT.hardware.index.get_loc
TERMS = (4.0, 0.08, 1.25)  # years, USD per kWh, facility over system power


def usd(hardware, terms=TERMS):
    return chip_hour(np.array([ROW(hardware)]), *terms, CAT).usd[:, 0]


def test_a_million_tokens_by_hand():
    # 8 chips x 3 USD = 24 USD an hour; 1000 tok/s x 3600 s x 50 % = 1.8 million tokens an hour
    assert cost_usd_per_mtok(8, 3.0, 1000.0, 0.5) == pytest.approx(24 / 1.8, rel=1e-15)
    np.testing.assert_allclose(cost_usd_per_mtok(1, np.array([3.6, 7.2]), 1000.0, 1.0), [1.0, 2.0], rtol=1e-15)


def test_cost_scales_with_chips_and_price_and_falls_with_speed_and_use():
    base = cost_usd_per_mtok(8, 3.0, 1000.0, 0.5)
    for doubled in (cost_usd_per_mtok(16, 3.0, 1000.0, 0.5), cost_usd_per_mtok(8, 6.0, 1000.0, 0.5)):
        assert doubled == pytest.approx(2 * base)
    for halved in (cost_usd_per_mtok(8, 3.0, 2000.0, 0.5), cost_usd_per_mtok(8, 3.0, 1000.0, 1.0)):
        assert halved == pytest.approx(base / 2)


def test_rental_prices_are_percentiles_of_what_providers_list():
    # 12, 6, 8.4 and 5.4 USD; analysts' estimates are not rental prices. Sorted positions 0.15, 1.5 and 2.85.
    np.testing.assert_allclose(usd("tpu_v7"), [5.4 + 0.15 * 0.6, 7.2, 8.4 + 0.85 * 3.6], rtol=1e-12)
    np.testing.assert_allclose(usd("rtx_pro_6000_server"), [1.69] * 3, rtol=1e-15)
    np.testing.assert_allclose(usd("l40s"), [0.55, 1.0, 1.0 + 0.9 * 0.5484], rtol=1e-12)
    assert not chip_hour(np.array([ROW("tpu_v7")]), *TERMS, CAT).derived[0]


def test_a_rental_price_needs_no_purchase_terms():
    np.testing.assert_array_equal(usd("tpu_v7"), usd("tpu_v7", (1.0, 1.0, 2.0)))


def test_wafers_are_derived_from_purchase_and_power():
    # Bought at 1.0, 2.0 and 2.5 million USD: 5th percentile 1.1, 95th 2.45 million. 4 years = 35,040 h.
    # Power: 23 kW x 1.25 x 0.08 = 2.3 USD an hour. An analyst's hour is 41.96 USD: the middle lies between the two.
    wanted = [1.1e6 / 35_040 + 2.3, (41.96 + 2e6 / 35_040 + 2.3) / 2, 2.45e6 / 35_040 + 2.3]
    np.testing.assert_allclose(usd("cerebras_wse3"), wanted, rtol=1e-12)
    assert wanted[0] < wanted[1] < wanted[2]
    assert chip_hour(np.array([ROW("cerebras_wse3")]), *TERMS, CAT).derived[0]


def test_a_bought_chip_without_an_estimate_is_paid_off_over_its_life():
    # 15,625 USD over 35,040 h and 900 W x 1.25 x 0.08
    np.testing.assert_allclose(usd("gaudi3"), [15_625 / 35_040 + 0.09] * 3, rtol=1e-12)
    np.testing.assert_allclose(usd("gaudi3", (2.0, 0.16, 1.25)), [15_625 / 17_520 + 0.18] * 3, rtol=1e-12)


def test_without_any_price_the_hour_is_unknown_and_never_rental():
    hour = chip_hour(np.array([ROW("groq_lpu_v1")]), *TERMS, CAT)
    assert np.isnan(hour.usd).all() and hour.derived[0]


def test_prices_are_positive_and_in_order_for_every_part():
    hour = chip_hour(np.arange(len(CAT.hardware)), *TERMS, CAT)
    known = np.isfinite(hour.usd).all(axis=0)
    assert (np.isfinite(hour.usd).any(axis=0) == known).all()
    low, mid, high = hour.usd[:, known]
    assert (low > 0).all() and (low <= mid).all() and (mid <= high).all()
    rented = set(CAT.hardware_prices.loc[CAT.hardware_prices["kind"].isin(["on_demand", "reserved", "spot"]), "hardware_id"])
    assert {h for h, d in zip(CAT.hardware.index, hour.derived, strict=True) if not d} == rented


def test_rows_of_hardware_take_any_shape():
    rows = np.array([[0, 1, 2], [3, 4, 5]])
    hour = chip_hour(rows, *TERMS, CAT)
    assert hour.usd.shape == (3, 2, 3) and hour.derived.shape == (2, 3)


def test_the_provider_band_of_a_scenario_is_the_price_range():
    base = replace(default(), **expand_preset("opus-4.6"))
    now = evaluate(base).now
    low, mid, high = usd("b200_sxm")
    wanted = [8 * p * 1e6 / (3600 * float(now.service.output_tokens_per_s[0]) * 0.5) for p in (low, mid, high)]
    np.testing.assert_allclose(now.provider_usd_per_mtok[:, 0], wanted, rtol=1e-12)
    dear = evaluate(replace(base, chip_price="high")).now
    np.testing.assert_allclose(dear.provider_usd_per_mtok[:, 0], [wanted[0], wanted[2], wanted[2]], rtol=1e-12)


def test_units_are_named():
    units = {name: f.unit for name, f in all_fields().items()}
    assert units["amortisation_years"] == "years" and units["electricity_usd_per_kwh"] == "USD/kWh"
    assert evaluate(default()).outputs()["provider_cost_usd_per_mtok"].unit.startswith("USD/Mtok")
