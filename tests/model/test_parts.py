"""All parts side by side: every row is there, equals the part evaluated alone, and says why a cell is empty."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.evaluate import evaluate
from fastmode.parts import ANNOUNCED, DESKTOP, ON_SALE, parts, parts_of

CATALOG = load()
PARTS = CATALOG.hardware.index
SPARK, OPUS_FAST = "gpt-5.3-codex-spark", "opus-4.6-fast"
MOST_WITHOUT = 8
MODELLED = [p for p in CATALOG.presets.index[CATALOG.presets["group"].isin(["founding", "today"])] if CATALOG.presets.at[p, "model"]]


def scenario(preset, **fields):
    return replace(scenarios.default(CATALOG), **scenarios.expand_preset(preset, CATALOG) | fields)


def row(part):
    return int(PARTS.get_loc(part))


@pytest.mark.parametrize("preset", MODELLED)
def test_all_rows_are_listed_and_at_most_eight_answer_with_a_reason(preset):
    found = parts(scenario(preset), CATALOG)
    speed = found.tokens_per_s
    assert len(found.frame()) == len(PARTS) == 32
    assert np.isnan(speed).sum() <= MOST_WITHOUT
    assert all(reason for reason, value in zip(found.reasons, speed, strict=True) if np.isnan(value))


@pytest.mark.parametrize("preset", [SPARK, OPUS_FAST])
@pytest.mark.parametrize("part", ["h100_sxm", "gb200_nvl72", "tpu_v7", "groq_lpu_v1", "cerebras_wse3", "apple_m4_max", "b200_sxm"])
def test_a_part_in_the_table_is_what_it_is_alone(preset, part):
    s = scenario(preset)
    found, i = parts(s, CATALOG), row(part)
    alone = evaluate(s if part == s.hardware else replace(s, hardware=part, n_chips=0), CATALOG)
    for name in ("n_chips", "tokens_per_s_per_user", "output_tokens_per_s", "ttft_s", "max_batch"):
        np.testing.assert_allclose(getattr(found.service, name)[i], getattr(alone.now.service, name)[0])
    np.testing.assert_allclose(found.usd_per_mtok[:, i], alone.now.provider_usd_per_mtok[:, 0])
    ends = alone.bands(90)["modelled_tokens_per_s_per_user"]
    np.testing.assert_allclose([end[i] for end in found.band], [end[0] for end in ends])


def test_rates_per_chip_and_costs_are_those_of_all_chips_shared_out():
    found, i = parts(scenario(SPARK), CATALOG), row("cerebras_wse3")
    s = found.service
    assert found.tokens_per_s_per_chip[i] == pytest.approx(s.output_tokens_per_s[i] / s.n_chips[i])
    hour = float(found.evaluation.now.chip_hour_usd[i])
    assert found.usd_per_mtok[1, i] == pytest.approx(1e6 * hour / (3600 * found.tokens_per_s_per_chip[i] * 0.5))  # utilisation 0.5
    low, mid, high = found.usd_per_mtok[:, i]
    assert low < mid < high


def test_the_reach_of_a_cost_adds_prices_and_speed_as_squares():
    found, i = parts(scenario(SPARK), CATALOG), row("cerebras_wse3")
    low, mid, high = found.usd_per_mtok[:, i]
    half = found.half_width_ln[i]
    assert found.usd_ends[1][i] / mid == pytest.approx(found.band[1][i] / found.tokens_per_s[i])  # a slower machine costs as much more
    assert np.log(mid / found.usd_reach[0][i]) == pytest.approx(np.hypot(np.log(mid / low), half))
    assert np.log(found.usd_reach[1][i] / mid) == pytest.approx(np.hypot(np.log(high / mid), half))


def test_the_ridge_is_peak_over_bandwidth_in_the_format_in_use():
    wide, narrow = parts(scenario(SPARK), CATALOG), parts(scenario(OPUS_FAST), CATALOG)  # 16 bit, 8 bit
    assert wide.ridge[row("h100_sxm")] == pytest.approx(989 / 3.35)
    assert narrow.ridge[row("h100_sxm")] == pytest.approx(1979 / 3.35)
    assert narrow.ridge[row("a100_80_sxm")] == pytest.approx(312 / 2.039)  # has no 8 bit units
    assert wide.ridge[row("cerebras_wse3")] == pytest.approx(15000 / 21000)
    small = parts(scenario("llama-3.1-8b-groq"), CATALOG)
    i = row("apple_m4_max")  # served, but nobody publishes its peak
    assert np.isfinite(small.tokens_per_s[i]) and np.isnan(small.ridge[i]) and "peak FLOP/s not published" in small.reasons[i]


def test_announced_parts_and_peoples_own_machines_are_told_from_those_on_sale():
    state = parts(scenario(SPARK), CATALOG).state
    assert set(PARTS[state == ANNOUNCED]) == {"mi455x", "tpu_8i", "tpu_8t", "groq3_lpu", "sambanova_sn50", "rubin_vr200"}
    assert set(PARTS[state == DESKTOP]) == {"rtx_4090", "rtx_5090", "apple_m4_max", "apple_m3_ultra"}
    assert (state == ON_SALE).sum() == 22


def test_every_empty_figure_has_its_reason():
    found = parts(scenario(SPARK), CATALOG)
    words = dict(zip(PARTS, found.reasons, strict=True))
    assert words["tpu_v7"] == "power not published"
    assert words["b200_sxm"] == "system power not published"
    assert words["cerebras_wse3"] == "power of the chip alone not published"
    assert words["groq_lpu_v1"] == "system power not published; no price known"
    assert words["gb200_nvl72"] == ""
    assert words["apple_m4_max"].startswith("8 chips of this kind cannot be linked")
    for i in range(len(PARTS)):
        empty = np.isnan([found.tokens_per_s[i], found.usd_per_mtok[1, i], *found.joules[:, i], found.ridge[i]])
        assert bool(found.reasons[i]) == empty.any(), PARTS[i]


def test_where_a_price_comes_from_is_said():
    found = parts(scenario(SPARK), CATALOG)
    words = dict(zip(PARTS, found.price_words, strict=True))
    assert (words["h100_sxm"], words["cerebras_wse3"], words["groq_lpu_v1"]) == ("rental", "derived: purchase, estimates", "")


def test_tags_say_what_is_not_validated_and_what_is_extrapolated():
    found = parts(scenario(OPUS_FAST), CATALOG)
    words = dict(zip(PARTS, found.tags, strict=True))
    assert "not validated: hardware" in words["tpu_v7"] and "not validated: hardware" not in words["h100_sxm"]
    assert words["cerebras_wse3"] == "extrapolation: batch"  # speeds of wafers are published for a lone user
    assert words["apple_m4_max"] == ""


def test_the_scenarios_part_comes_first_and_then_the_fastest():
    frame = parts(scenario(OPUS_FAST), CATALOG).frame()
    assert frame["part"].iloc[0] == "B200" and frame["the option's"].tolist() == ["\u25cf"] + [""] * 31
    speed = frame["tok/s per user"].to_numpy()[1:]
    known = speed[np.isfinite(speed)]
    assert (np.diff(known) <= 0).all() and np.isnan(speed[len(known) :]).all()


def test_the_best_of_some_rows_skips_what_has_no_figure():
    found = parts(scenario(SPARK), CATALOG)
    value = np.full(32, np.nan)
    value[[3, 7]] = 1.0, 2.0
    assert found.best(value, np.ones(32, bool)) == 7
    assert found.best(value, np.arange(32) != 7) == 3
    assert found.best(value, np.arange(32) == 0) == -1


def test_without_a_stand_in_all_rows_stay_with_their_reason():
    found = parts(scenario("haiku-4.5"), CATALOG)
    frame = found.frame()
    assert len(frame) == 32 and np.isnan(found.tokens_per_s).all() and np.isnan(found.usd_per_mtok).all()
    assert all("no stand-in model chosen" in reason for reason in found.reasons)
    assert frame["memory, GB per chip"].notna().all()


def test_in_traffic_all_parts_run_the_batch_that_its_users_meet():
    e = evaluate(scenario(OPUS_FAST, load="traffic", requests_per_s=0.5), CATALOG)
    found = parts_of(e)
    assert found.batch == pytest.approx(float(e.now.service.batch[0])) and found.batch > 1.0
    served = np.isfinite(found.tokens_per_s)
    assert served.sum() >= 24 and found.service.batch[served] == pytest.approx(found.batch)
