"""Joules per output token, megawatts, and how many chips hold a model: against sums made by hand and the claims that say the same."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.claims.chips import megawatts, params_held
from fastmode.claims.found import Facts
from fastmode.evaluate import evaluate
from fastmode.parts import parts
from fastmode.power import (
    CHIP,
    FACILITY,
    SYSTEM,
    chips_to_hold,
    demand_tokens_per_s,
    joules_ends,
    joules_per_token,
    parameters_held,
    power_w,
    site_for_bytes,
    site_for_traffic,
)

CATALOG = load()
SPARK, OPUS = "gpt-5.3-codex-spark", "opus-4.6"


def rows(*ids):
    return CATALOG.hardware.index.get_indexer(list(ids))


def scenario(preset, **fields):
    return replace(scenarios.default(CATALOG), **scenarios.expand_preset(preset, CATALOG) | fields)


def test_power_is_what_the_sources_give_and_the_facility_takes_the_system_else_the_chip_times_pue():
    found = power_w(rows("h100_sxm", "b200_sxm", "cerebras_wse3", "tpu_v7"), 1.25, CATALOG)
    nan = np.nan
    np.testing.assert_allclose(found[CHIP], [700, 1000, nan, nan])
    np.testing.assert_allclose(found[SYSTEM], [1275, nan, 23000, nan])
    np.testing.assert_allclose(found[FACILITY], [1593.75, 1250, 28750, nan])


def test_joules_are_watts_of_all_chips_over_tokens_of_all_users():
    found = parts(scenario(OPUS), CATALOG)
    s, joules = found.service, found.joules
    h100, wafer = rows("h100_sxm", "cerebras_wse3")
    assert joules[SYSTEM, h100] == pytest.approx(s.n_chips[h100] * 1275 / s.output_tokens_per_s[h100])
    assert joules[FACILITY, h100] == pytest.approx(1.25 * joules[SYSTEM, h100])
    assert np.isnan(joules[CHIP, wafer]) and joules[FACILITY, wafer] == pytest.approx(1.25 * joules[SYSTEM, wafer])
    # Chip energy never exceeds TDP x chips x time: here it is the model's own figure, which is that bound.
    np.testing.assert_allclose(joules[CHIP], s.energy_j_per_token)
    known = np.isfinite(joules[CHIP]) & np.isfinite(joules[SYSTEM])
    assert known.sum() >= 3 and (joules[CHIP] < joules[SYSTEM])[known].all()


def test_the_band_of_the_joules_is_that_of_the_modelled_speed_turned_round():
    e = evaluate(scenario(SPARK), CATALOG)
    joules = joules_per_token(e.now.service, 1.25, CATALOG)
    low, high = joules_ends(e.now.service, 1.25, CATALOG)
    slow, fast = e.bands(90)["modelled_tokens_per_s_per_user"]
    speed = e.now.modelled_tokens_per_s
    assert low[FACILITY] / joules[FACILITY] == pytest.approx(speed / fast)
    assert high[FACILITY] / joules[FACILITY] == pytest.approx(speed / slow)


def test_what_cannot_be_served_takes_no_energy():
    found = evaluate(scenario(SPARK, hardware="apple_m4_max"), CATALOG)
    assert np.isnan(joules_per_token(found.now.service, 1.25, CATALOG)).all()


@pytest.mark.parametrize(
    ("tera", "part", "chips"),
    [(5, "cerebras_wse3", 114), (7, "cerebras_wse3", 160), (5, "gb200_nvl72", 27), (1, "h100_sxm", 13), (0.044, "cerebras_wse3", 1), (0.0441, "cerebras_wse3", 2)],
)
def test_chips_that_hold_so_many_bytes(tera, part, chips):
    assert chips_to_hold(tera * 1e12, rows(part), CATALOG).tolist() == [chips]


def test_five_to_seven_tera_bytes_on_wafers_take_the_megawatts_of_claim_c51():
    claim = megawatts(Facts(CATALOG, str(CATALOG.claims.at["C51", "quantity"])))
    low, high = (site_for_bytes(tb * 1e12, rows("cerebras_wse3"), 1.25, CATALOG).megawatts for tb in (5, 7))
    assert (low[SYSTEM, 0], high[SYSTEM, 0]) == pytest.approx((114 * 0.023, 160 * 0.023))
    assert (claim.low, claim.high) == pytest.approx((114 * 0.023, 160 * 0.023))
    assert low[FACILITY, 0] == pytest.approx(114 * 0.023 * 1.25)
    assert np.isnan(low[CHIP, 0])


def test_bytes_are_as_many_parameters_as_the_format_says_and_claim_c24_counts_the_same():
    held = parameters_held(5e12, CATALOG)
    assert held == pytest.approx({"bf16": 2.5e12, "fp8": 5e12, "fp4": 5e12 / 0.5625})
    claim = params_held(Facts(CATALOG, str(CATALOG.claims.at["C24", "quantity"])))
    assert parameters_held(44e9, CATALOG)["bf16"] / 1e9 == pytest.approx(claim.value) == pytest.approx(22)


def test_a_lone_request_a_second_needs_one_deployment_and_many_need_whole_ones():
    one = evaluate(scenario(SPARK, n_out=8000.0, calls=20.0, requests_per_s=1.0), CATALOG)
    service = one.now.service
    site = site_for_traffic(one, service)
    chips = service.n_chips[0]
    assert demand_tokens_per_s(one) == pytest.approx(400.0)
    assert (site.deployments[0], site.chips[0]) == (1, chips)
    assert site.megawatts[:, 0] == pytest.approx([np.nan, chips * 0.023, chips * 0.02875], nan_ok=True)
    each = float(service.output_tokens_per_s[0])
    for deployments in (3.0, 3.001):
        many = evaluate(scenario(SPARK, n_out=8000.0, calls=20.0, requests_per_s=deployments * each / 400.0), CATALOG)
        assert site_for_traffic(many, many.now.service).deployments[0] == np.ceil(deployments)


def test_in_traffic_the_deployment_that_carries_it_is_the_only_one_also_at_a_quoted_pace():
    e = evaluate(scenario("opus-4.6-fast", load="traffic", requests_per_s=0.5), CATALOG)
    service = e.now.service
    assert service.pace[0] != 1.0
    assert demand_tokens_per_s(e) == pytest.approx(float(service.output_tokens_per_s[0]))
    site = site_for_traffic(e, service)
    assert (site.deployments[0], site.chips[0]) == (1, 8)


def test_an_unknown_speed_leaves_the_megawatts_unknown():
    e = evaluate(scenario(SPARK, hardware="apple_m4_max"), CATALOG)
    site = site_for_traffic(e, e.now.service)
    assert np.isnan(site.chips).all() and np.isnan(site.megawatts).all()
