"""What the ranges do to the answer: paired draws, bands, chances and swings, against draws and formulas worked out here.

Nothing here takes a band from the code under test: scores of the named drivers go through the formulas of the
specification once more, in plain Python.
"""

import json
import math
import subprocess
import sys
from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np
import pytest

from fastmode import band, quality
from fastmode.evaluate import MOST_DRAWN, evaluate
from fastmode.link import to_query
from fastmode.productivity import TaskInputs
from fastmode.ranges import normal_scores, ranges
from fastmode.scenario import all_fields, default, expand_set
from fastmode.serving.bands import ratio_half_width
from fastmode.serving.tables import tables
from fastmode.sweep import sweep
from fastmode.together import some_of
from fastmode.uncertainty import (
    DRAWS,
    DRIVER_LABELS,
    TTFT,
    draws_for,
    driver_label,
    quantiles,
    spread,
)
from tests.conftest import ROOT
from tests.model.test_evaluate import CAT, ENDPOINTS, of, stacked
from tests.model.test_joint_mutations import SERVED_OTHERWISE
from tests.model.test_ranges import ROWS, table

FIELDS = all_fields(CAT)
Z95 = NormalDist().inv_cdf(0.95)
SAME = {"rtol": 1e-12, "atol": 1e-15}
SPARK = "gpt-5.3-codex-spark"
SPARK_ODDS = (41.6 / 58.4) / (22.7 / 77.3)  # Terminal-Bench 2.0, 58.4 against 77.3
CARRIES = math.sqrt(2) * quality.transfer_sd(CAT, "agentic")  # a benchmark and the task, each around the pair's mean
STEP = next(row for row in table("quality_tier_steps.csv") if row["task_family"] == "agentic")
STEP = {name: math.log(float(STEP[f"odds_ratio_{name}"])) for name in ("q25", "median", "q75")}
QUARTILE = NormalDist().inv_cdf(0.75)
BELOW, ABOVE = (STEP["median"] - STEP["q25"]) / QUARTILE, (STEP["q75"] - STEP["median"]) / QUARTILE


def z(driver):
    return normal_scores(driver, DRAWS)


def logit(p):
    return np.log(p) - np.log1p(-p)


def worlds_of(scenario):
    return evaluate(scenario).spread.worlds


def errors(scenario):
    """Error of the option and of the reference in every world."""
    made = worlds_of(scenario)
    return [np.broadcast_to(side.error_rate, (1, DRAWS))[0] for side in (made.now, made.reference)]


def plain_draw(row, score):
    """One value of an assumption, by the rules of the specification, from its row in the table."""
    value, low, high = (float(row[name]) for name in ("default", "low", "high"))
    way = abs(score) / Z95
    end = low if score < 0 else high
    if row["unit"] in ("probability", "share"):
        if value == 0.0:
            made = 0.0 if score < 0 else 1.0 - (1.0 - high) ** way
        else:
            at, to = math.log(value / (1 - value)), math.log(end / (1 - end))
            made = 1 / (1 + math.exp(-(at + way * (to - at))))
    elif value == 0.0:
        made = 0.0 if score < 0 else high * way
    elif end == 0.0:
        made = value * (1.0 - way)
    else:
        made = value * (end / value) ** way
    whole = FIELDS[row["name"]].kind == "whole"
    return min(max(round(made) if whole else made, float(row["min"])), float(row["max"]))


def plain_time(i):
    """Seconds of an accepted task, from a mapping of single inputs: section 2 of the specification, written as a loop."""
    wait = i["start_delay_s"] + i["calls"] * (i["handshake_s"] + i["ttft_s"]) + i["n_out"] / i["tokens_per_s"] + i["tool_time_s"]
    lost = wait
    if wait > i["theta_s"]:
        beyond = wait - i["theta_s"]
        lost = i["theta_s"] + (1 - i["reuse"]) * beyond + i["resume_s"] * (1 - math.exp(-beyond / i["kappa_s"]))
    attempt = lost + 3600 * i["loc"] / i["review_rate_loc_per_h"]
    e, d = i["error_rate"], i["detect"]
    retry_error = 1 - min(1, i["retry_ratio"] * (1 - e))
    time = i["prompt_time_s"] + attempt
    wrong, reached, retries = e, 1.0, 0.0
    for position in range(int(i["max_attempts"])):
        caught = reached * wrong * d
        time += reached * wrong * (1 - d) * i["escape_factor"] * i["fix_time_s"]
        if position == int(i["max_attempts"]) - 1:
            time += caught * i["fix_time_s"]
        else:
            time += caught * (i["reprompt_time_s"] + attempt)
            retries += caught
        reached, wrong = caught, retry_error
    return time, 1 + retries


def plain_cost(i):
    time, attempts = plain_time(i)
    bill = (i["n_in"] * i["price_in_usd_per_mtok"] + i["n_out"] * i["price_out_usd_per_mtok"]) / 1e6
    return attempts * bill + i["wage_usd_per_h"] * time / 3600


def single_worlds(side, draws=DRAWS):
    """The inputs of one side, one mapping a world."""
    columns = {f.name: np.broadcast_to(getattr(side, f.name), (1, DRAWS))[0] for f in fields(TaskInputs)}
    return [{name: float(column[i]) for name, column in columns.items()} for i in range(draws)]


# --- the option that must win -----------------------------------------------------------------------------------------

FAST_TIERS = (
    ("opus-4.6-fast", "opus-4.6"), ("gpt-6-astra-fast", "gpt-6-astra"), ("gpt-6-astra-ultrafast", "gpt-6-astra"),
    ("gpt-oss-120b-cerebras", "gpt-oss-120b-groq"), ("llama-3.3-70b-specdec-groq", "llama-3.3-70b-groq"),
)  # fmt: skip
TASKS = tuple(CAT.profiles.index)
SETS = ("default", "favours-speed", "favours-accuracy")


@pytest.mark.parametrize(("option", "reference"), FAST_TIERS)
def test_the_same_weights_and_a_shorter_wait_at_the_same_price_win_in_every_world(option, reference):
    price = {name: float(ENDPOINTS.at[reference, column]) for name, column in (("price_in_usd_per_mtok", "input_usd_per_mtok"), ("price_out_usd_per_mtok", "output_usd_per_mtok"))}  # fmt: skip
    scenarios = [
        replace(of(option, task, **price, reference=reference), **expand_set(name, task, CAT)) for task in TASKS for name in SETS
    ]
    e = evaluate(stacked(scenarios))
    np.testing.assert_array_equal(e.spread.p_faster, np.ones(len(scenarios)))
    np.testing.assert_array_equal(e.spread.p_cheaper, np.ones(len(scenarios)))
    assert (e.spread.time_change < 0).all()


@pytest.mark.parametrize("faster", [1.001, 2.0, 50.0])
@pytest.mark.parametrize("preset", ["opus-4.6", "gpt-5.4", "gemini-3.1-pro", "sonnet-4.6", SPARK, "llama-3.1-8b-cerebras"])
def test_any_option_that_is_only_faster_beats_itself_in_every_world(preset, faster):
    speed = float(ENDPOINTS.at[preset, "output_tok_s"])
    for task in ("issue", "chat", "voice"):
        spread = evaluate(of(preset, task, reference=preset, anchor_tokens_per_s=faster * speed)).spread
        assert spread.p_faster.tolist() == [1.0]
        slower = evaluate(of(preset, task, reference=preset, anchor_tokens_per_s=speed / faster)).spread
        assert slower.p_faster.tolist() == [0.0]


@pytest.mark.parametrize("changes", [{}, {"anchor": "model"}, {"context_tokens": 64_000.0}, {"n_in": 200_000}, {"anchor": "model", "n_out": 16_000}])  # fmt: skip
@pytest.mark.parametrize("preset", ["opus-4.6", "gpt-oss-120b-groq"])
def test_an_option_against_itself_is_the_same_in_every_world(preset, changes):
    e = evaluate(of(preset, reference=preset, **changes))
    assert e.time_change.tolist() == [0.0]
    chances = e.spread.p_faster, e.spread.p_cheaper
    assert np.isnan(chances).all()
    np.testing.assert_array_equal(e.spread.time_change, 0.0)
    out = e.outputs()
    assert math.isnan(out["p_faster"].value) and "same in every world" in out["p_faster"].reason


def test_both_sides_live_in_the_same_worlds():
    made = worlds_of(of(SPARK))
    own = {"tokens_per_s", "ttft_s", "handshake_s", "error_rate", "price_in_usd_per_mtok", "price_out_usd_per_mtok"}
    for f in fields(TaskInputs):
        if f.name not in own:
            np.testing.assert_array_equal(getattr(made.now, f.name), getattr(made.reference, f.name), err_msg=f.name)
    assert np.std(made.reference.escape_factor) > 1
    same = worlds_of(of("opus-4.6-fast"))
    np.testing.assert_array_equal(same.now.error_rate, same.reference.error_rate)


def test_every_assumption_that_is_drawn_reaches_the_worlds():
    """Each with a narrow range of its own around its value: the input of the task that it stands for lies within that."""
    for name, row in ROWS.items():
        if name in ("anchor_ttft_s", "acceptance_gap", "agentic_step"):
            continue  # these three act through others: see the tests of TTFT and of errors
        value, f = float(row["default"]), FIELDS[name]
        high = min(value * 1.5 + 2, f.max)
        made = worlds_of(replace(default(), ranges=f"{f.key}:{value}:{high}"))
        inputs = np.broadcast_to(getattr(made.reference, {"error": "error_rate"}.get(name, name)), (1, DRAWS))
        np.testing.assert_allclose(inputs.min(), value, err_msg=name)
        np.testing.assert_allclose(np.quantile(inputs, 0.95, method="hazen"), high, rtol=0.01, err_msg=name)


# --- chances and bands against a recomputation ------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "task"), [(SPARK, "issue"), (SPARK, "prototyping"), ("sonnet-4.6", "issue"), ("gemini-3-flash", "simple-tasks")])
def test_times_chances_and_bands_from_the_drawn_inputs_by_a_plain_loop(preset, task):
    spread = evaluate(of(preset, task)).spread
    now, other = ([plain_time(i)[0] for i in single_worlds(side)] for side in (spread.worlds.now, spread.worlds.reference))
    np.testing.assert_allclose(spread.now.time_per_task_s[0], now, rtol=1e-10)
    np.testing.assert_allclose(spread.reference.time_per_task_s[0], other, rtol=1e-10)
    faster = sum(a < b for a, b in zip(now, other, strict=True)) / DRAWS
    assert 0.05 < faster < 0.95 and spread.p_faster.tolist() == [faster]
    change = np.array(now) / np.array(other) - 1
    for level, ends in ((90, (0.05, 0.95)), (50, (0.25, 0.75))):
        np.testing.assert_allclose(np.ravel(spread.band("time_change", level)), np.quantile(change, ends, method="hazen"), rtol=1e-9)
        np.testing.assert_allclose(np.ravel(spread.band("time_per_task_s", level)), np.quantile(now, ends, method="hazen"), rtol=1e-9)


def test_the_chance_of_being_cheaper_from_the_drawn_inputs():
    spread = evaluate(of("opus-4.6-fast", price_in_usd_per_mtok=10.0, price_out_usd_per_mtok=50.0)).spread
    now, other = ([plain_cost(i) for i in single_worlds(side)] for side in (spread.worlds.now, spread.worlds.reference))
    cheaper = sum(a < b for a, b in zip(now, other, strict=True)) / DRAWS
    assert 0.1 < cheaper < 0.9 and spread.p_cheaper.tolist() == [cheaper]
    np.testing.assert_allclose(spread.now.cost_per_task_usd[0], now, rtol=1e-10)


def test_whole_worlds_of_spark_drawn_here():
    """24 worlds from the table of assumptions, the scores of each name and the two benchmark scores alone."""
    spread = evaluate(default()).spread
    time, other = [], []
    for i in range(24):
        drawn = {name: plain_draw(row, z(name)[i]) for name, row in ROWS.items() if row["default"]}
        shared = {name: value for name, value in drawn.items() if name not in ("error", "acceptance_gap", "agentic_step")}
        odds = drawn["error"] / (1 - drawn["error"]) * SPARK_ODDS * math.exp(CARRIES * z("benchmark")[i])
        ttft = [float(np.broadcast_to(side.ttft_s, (1, DRAWS))[0, i]) for side in (spread.worlds.now, spread.worlds.reference)]
        time.append(plain_time(shared | {"error_rate": odds / (1 + odds), "tokens_per_s": 1000, "handshake_s": 0.02, "ttft_s": ttft[0]})[0])
        other.append(plain_time(shared | {"error_rate": drawn["error"], "tokens_per_s": 65, "handshake_s": 0.1, "ttft_s": ttft[1]})[0])
    np.testing.assert_allclose(spread.now.time_per_task_s[0, :24], time, rtol=1e-9)
    np.testing.assert_allclose(spread.reference.time_per_task_s[0, :24], other, rtol=1e-9)


@pytest.mark.parametrize("n", [20, 64, 512])
def test_quantiles_are_those_of_numpy(n):
    values = np.random.default_rng(5).lognormal(size=(7, n))
    wanted = np.quantile(values, [0.05, 0.25, 0.75, 0.95], axis=-1, method="hazen")
    np.testing.assert_allclose(quantiles(values), wanted, rtol=1e-12)


def test_quantiles_of_what_is_the_same_in_every_world_and_of_unknown_worlds():
    np.testing.assert_array_equal(quantiles(np.array([[3.0], [4.0]])), [[3.0, 4.0]] * 4)
    unknown = np.ones((2, 64))
    unknown[1] = np.nan
    np.testing.assert_array_equal(quantiles(unknown), [[1.0, np.nan]] * 4)


DRAWN_OUTPUTS = (
    "error_rate", "time_change", "cost_per_task_usd", "net_productivity", "wait_s", "time_per_task_s", "correction_time_s", "correction_share",
)  # fmt: skip


@pytest.mark.parametrize("scenario", [of("opus-4.6-fast"), of("sonnet-4.6", "chat", batch_size=1.0)], ids=["fast", "sonnet"])
def test_outputs_carry_the_90_percent_band_of_the_draws(scenario):
    e = evaluate(scenario)
    out = e.outputs()
    assert set(e.spread.quantiles) == set(DRAWN_OUTPUTS)
    for name in DRAWN_OUTPUTS:
        low, high = (float(end[0]) for end in e.spread.band(name, 90))
        assert (out[name].low, out[name].high) == (low, high) and low < high, name
        inner = [float(end[0]) for end in e.spread.band(name, 50)]
        assert low < inner[0] < inner[1] < high, name
        assert low <= out[name].value <= high, name
    assert out["p_faster"].value == e.spread.p_faster[0] and out["p_cheaper"].value == e.spread.p_cheaper[0]
    assert out["p_faster"].low is None and out["p_faster"].high is None


def test_what_cannot_be_served_has_neither_band_nor_chance():
    e = evaluate(of("haiku-4.5"))
    assert np.isnan(e.spread.p_faster).all() and np.isnan(e.spread.p_cheaper).all()
    assert all(np.isnan(end).all() for end in e.spread.band("time_change", 90))
    assert math.isnan(e.outputs()["time_change"].low)
    # what does not hang on the speed is still known
    low, high = e.spread.band("error_rate", 90)
    assert (low[0], high[0]) == (pytest.approx(0.1, abs=1e-3), pytest.approx(0.5, abs=1e-3))


def test_an_unpublished_price_leaves_the_chance_of_being_faster():
    spread = evaluate(default()).spread
    assert np.isnan(spread.p_cheaper).all() and 0 < spread.p_faster[0] < 1


def test_many_elements_are_not_drawn_and_say_so():
    e = evaluate(of("opus-4.6-fast", batch_size=np.linspace(1, 64, MOST_DRAWN + 1)))
    out = e.outputs()
    assert np.isnan(out["p_faster"].value).all() and str(MOST_DRAWN) in out["p_faster"].reason
    assert out["time_change"].low is None and np.isfinite(out["time_change"].value).all()


# --- errors -----------------------------------------------------------------------------------------------------------


def drawn_error():
    row = ROWS["error"]
    return np.array([plain_draw(row, score) for score in z("error")])


def test_sparks_error_in_every_world():
    """Logit-normal error of the reference, the ratio of one benchmark, and how far it carries over to the task."""
    now, other = errors(default())
    np.testing.assert_allclose(other, drawn_error(), rtol=1e-12)
    np.testing.assert_allclose(logit(now), logit(drawn_error()) + math.log(SPARK_ODDS) + CARRIES * z("benchmark"), rtol=1e-10)


def test_sparks_error_band_by_hand():
    """Log odds: -ln 3 with a 90 % half width of ln 3, plus ln 2.426, plus a standard deviation of about sqrt(2) x 0.41 = 0.58."""
    assert 0.57 < CARRIES < 0.59
    middle, sd = math.log(SPARK_ODDS) - math.log(3), math.hypot(math.log(3) / Z95, CARRIES)
    spread = evaluate(default()).spread
    for level, score in ((90, Z95), (50, QUARTILE)):
        wanted = [1 / (1 + math.exp(-(middle + side * score * sd))) for side in (-1, 1)]
        np.testing.assert_allclose(np.ravel(spread.band("error_rate", level)), wanted, atol=0.02)
    # without what a benchmark does not tell of a task the band would be 0.21 to 0.71
    assert [round(1 / (1 + math.exp(-(middle + s * math.log(3)))), 2) for s in (-1, 1)] == [0.21, 0.71]


AGENTIC_STEP = ROWS["agentic_step"]


def agentic_slope():
    return STEP["median"] / np.log([plain_draw(AGENTIC_STEP, score) for score in z("agentic_step")])


def one_model():
    return np.where(z("size") < 0, BELOW * z("size"), ABOVE * z("size"))


@pytest.mark.parametrize("r", [1.5, 10.0, 100.0])
def test_a_distilled_model_in_agentic_work_in_every_world(r):
    now, other = errors(of("opus-4.6", distillation=r))
    np.testing.assert_allclose(logit(now), logit(drawn_error()) + agentic_slope() * math.log(r) + one_model(), rtol=1e-9)
    np.testing.assert_array_equal(other, errors(of("opus-4.6"))[1])


def test_a_distilled_model_in_coding_in_every_world():
    """Slope over distilled models, total parameters: 0.3985 (0.2543 to 0.6417), residual 0.7505 logits."""
    row = next(r for r in table("quality_fit.csv") if (r["size_measure"], r["task_family"], r["training"]) == ("total", "coding", "distilled"))
    value, low, high, sd = (float(row[name]) for name in ("beta", "beta_p05", "beta_p95", "residual_sd_logit"))
    assert (value, low, high, sd) == (0.3985, 0.2543, 0.6417, 0.7505)
    score = z("slope") / Z95
    slope = value + np.where(score < 0, score * (value - low), score * (high - value))
    now, _other = errors(of("opus-4.6", task_family="coding", distillation=10.0))
    np.testing.assert_allclose(logit(now), logit(drawn_error()) + slope * math.log(10) + sd * z("size"), rtol=1e-9)


def test_a_curve_over_sizes_is_one_draw_whose_band_opens_at_once():
    sizes = np.array([1.0, 1.001, 3.0, 30.0, 100.0])
    e = evaluate(of("opus-4.6", distillation=sizes))
    assert e.now.error_rate[1] == pytest.approx(0.25, abs=1e-4)  # the curve itself is continuous
    error = e.spread.worlds.now.error_rate
    residual = logit(error) - logit(drawn_error()) - np.log(sizes)[:, None] * agentic_slope()
    np.testing.assert_allclose(residual[0], 0.0, atol=1e-12)
    for row in residual[1:]:
        np.testing.assert_allclose(row, one_model(), atol=1e-9)
    low, high = e.spread.band("error_rate", 90)
    assert (high - low)[1] > 1.2 * (high - low)[0]
    assert np.std(residual[1]) > 0.5


def test_another_open_model_has_the_residual_of_a_size():
    """gpt-oss-120b replaced by llama-3.1-8b: the size rule, with the ratio of total parameters."""
    e = evaluate(of("gpt-oss-120b-groq", model="llama-3.1-8b", hardware="h100_sxm", n_chips=1, weight_precision="fp8"))
    r = float(CAT.models.at["gpt-oss-120b", "total_params_b"]) / float(CAT.models.at["llama-3.1-8b", "total_params_b"])
    wanted = logit(drawn_error()) + agentic_slope() * math.log(r) + one_model()
    np.testing.assert_allclose(logit(e.spread.worlds.now.error_rate[0]), wanted, rtol=1e-9)


def test_an_option_without_a_benchmark_lies_around_its_reference_as_one_model_of_its_size():
    now, other = errors(of("kimi-k2.6-turbo-fireworks"))
    shift = np.where(z("benchmark") < 0, BELOW, ABOVE) * z("benchmark")
    np.testing.assert_allclose(logit(now), logit(other) + shift, rtol=1e-9)


def test_between_vendors_nothing_says_that_errors_are_alike():
    now, other = errors(of(SPARK, reference="opus-4.6"))
    np.testing.assert_allclose(other, drawn_error(), rtol=1e-12)
    shift = CARRIES * (z("benchmark") + z("vendors"))
    np.testing.assert_allclose(logit(now), logit(drawn_error()) + math.log(SPARK_ODDS) + shift, rtol=1e-10)
    now, other = errors(of("opus-4.6-fast", reference="gpt-5.3-codex"))
    np.testing.assert_allclose(logit(now), logit(other) + CARRIES * z("vendors"), rtol=1e-10)
    assert "vendors" not in worlds_of(of(SPARK)).drivers


def test_two_benchmarks_of_one_group_are_drawn_apart_and_one_model_once():
    odds = (100 - float(ENDPOINTS.at["sonnet-4.6", CAT.presets.at["sonnet-4.6", "benchmark"]])) / float(ENDPOINTS.at["sonnet-4.6", CAT.presets.at["sonnet-4.6", "benchmark"]])  # fmt: skip
    home = float(ENDPOINTS.at["opus-4.6", CAT.presets.at["sonnet-4.6", "benchmark"]])
    odds /= (100 - home) / home
    now, other = errors(of("opus-4.6-fast", reference="sonnet-4.6"))
    np.testing.assert_allclose(now, drawn_error(), rtol=1e-12)
    np.testing.assert_allclose(logit(other), logit(drawn_error()) + math.log(odds) + CARRIES * z("other_benchmark"), rtol=1e-9)
    now, other = errors(of("sonnet-4.6", reference="sonnet-4.6", anchor_tokens_per_s=300.0))
    np.testing.assert_array_equal(now, other)
    np.testing.assert_allclose(logit(now), logit(drawn_error()) + math.log(odds) + CARRIES * z("benchmark"), rtol=1e-9)


def test_a_coarser_format_loses_within_its_range():
    """Two percent of the successes, one to three."""
    now, other = errors(of("opus-4.6", weight_precision="fp4"))
    score = z("quantisation") / Z95
    loss = 0.02 * np.where(score < 0, 0.5**-score, 1.5**score)
    np.testing.assert_allclose(now, other + loss * (1 - other), rtol=1e-12)
    np.testing.assert_allclose(np.quantile(loss, [0.05, 0.95], method="hazen"), [0.01, 0.03], rtol=1e-3)
    assert "quantisation" not in worlds_of(of("opus-4.6")).drivers


def test_longer_tasks_fail_more_in_every_world():
    now, other = errors(of("opus-4.6", reference="gpt-5.3-codex", task_scale=4.0, length_exponent=0.6))
    np.testing.assert_allclose(1 - other, (1 - drawn_error()) ** (4.0**0.6), rtol=1e-10)
    assert (now != other).any()


def test_acceptance_draws_its_gap():
    now, other = errors(of("opus-4.6-fast", error_level="acceptance"))
    gap = np.array([plain_draw(ROWS["acceptance_gap"], score) for score in z("acceptance_gap")])
    np.testing.assert_allclose(other, np.minimum(1.0, drawn_error() + gap), rtol=1e-12)
    np.testing.assert_array_equal(now, other)
    spark, _other = errors(of(SPARK, error_level="acceptance"))
    odds = np.exp(logit(drawn_error()) + math.log(SPARK_ODDS) + CARRIES * z("benchmark"))
    np.testing.assert_allclose(spark, np.minimum(1.0, odds / (1 + odds) + gap), rtol=1e-9)
    assert "acceptance_gap" not in worlds_of(default()).drivers
    own, _other = errors(of("opus-4.6-fast", error_level="acceptance", acceptance_gap=0.1))
    np.testing.assert_allclose(own, np.minimum(1.0, drawn_error() + 0.1), rtol=1e-12)


@pytest.mark.parametrize("home", [of("opus-4.6"), of(SPARK), of("gpt-oss-120b-groq"), of("opus-4.6", distillation=4.0)], ids=["opus", "spark", "open", "distilled"])
def test_the_way_of_serving_moves_no_error_in_any_world(home):
    at_home = errors(home)[0]
    assert np.std(at_home) > 0.05
    for change in (*SERVED_OTHERWISE, {"anchor": "model"}, {"anchor_tokens_per_s": 500.0}, {"context_tokens": 16_000.0}):
        np.testing.assert_array_equal(errors(replace(home, **change))[0], at_home, err_msg=str(change))


# --- speed, TTFT and price --------------------------------------------------------------------------------------------


def speeds(scenario):
    made = worlds_of(scenario)
    return [np.broadcast_to(side.tokens_per_s, (1, DRAWS))[0] for side in (made.now, made.reference)]


def ttfts(scenario):
    made = worlds_of(scenario)
    return [np.broadcast_to(side.ttft_s, (1, DRAWS))[0] for side in (made.now, made.reference)]


def test_a_quoted_speed_is_what_it_is_in_every_world():
    now, other = speeds(of("opus-4.6-fast"))
    assert set(now) == {170.0} and set(other) == {65.0}
    assert set(speeds(of("opus-4.6", anchor_tokens_per_s=91.5))[0]) == {91.5}
    assert not {"speed", "other_speed"} & set(worlds_of(of("opus-4.6-fast")).drivers)


@pytest.mark.parametrize("changes", [{"batch_size": 16.0}, {"context_tokens": 64_000.0}, {"anchor": "model"}, {"hardware": "h200_sxm", "n_chips": 16}])
def test_a_modelled_speed_has_exactly_the_bands_of_the_model(changes):
    e = evaluate(of("opus-4.6-fast", **changes))
    for side, wide in zip((e.now, e.reference), e.widths, strict=True):
        made = e.spread.worlds.now if side is e.now else e.spread.worlds.reference
        for level, ends in ((90, [0.05, 0.95]), (50, [0.25, 0.75])):
            low, high = band.speed_band(side, wide, level)
            got = np.quantile(np.broadcast_to(made.tokens_per_s, (1, DRAWS)), ends, method="hazen")
            # scores of a sum of two drivers are not stratified: a little looser on the reference
            np.testing.assert_allclose(np.log(got / side.tokens_per_s), np.log([low[0], high[0]] / side.tokens_per_s), atol=2e-3 if side is e.now else 0.08)
    assert e.widths[0].speed[90][0] > 0.05


def test_a_modelled_ttft_has_the_bands_of_the_model():
    e = evaluate(of("opus-4.6-fast", anchor="model"))
    ttft = np.broadcast_to(e.spread.worlds.now.ttft_s, (1, DRAWS))
    for level, ends in ((90, [0.05, 0.95]), (50, [0.25, 0.75])):
        low, high = band.ttft_band(e.now, e.widths[0], level)
        np.testing.assert_allclose(np.quantile(ttft, ends, method="hazen") + 0.1, [low[0], high[0]], rtol=5e-3)


def test_two_figures_of_one_deployment_share_what_the_model_misses():
    """The same option at the same load: one residual. At another batch: the band of the ratio, not of two strangers."""
    now, other = speeds(of("opus-4.6", reference="opus-4.6", anchor="model"))
    np.testing.assert_array_equal(now, other)
    assert np.std(np.log(now)) > 0.1
    e = evaluate(of("opus-4.6-fast", anchor="model"))
    now, other = speeds(e.scenario)
    wanted = float(ratio_half_width(e.now.service, e.reference.service, tables(CAT), "tpot", 90)[0])
    got = np.quantile(np.log(now / other), [0.05, 0.95], method="hazen") - np.log(e.now.tokens_per_s / e.reference.tokens_per_s)
    np.testing.assert_allclose(got, [-wanted, wanted], rtol=0.2)
    apart = math.hypot(*(float(w.speed[90][0]) for w in e.widths))
    assert wanted < 0.8 * apart


def test_two_deployments_are_off_each_by_itself():
    now, other = speeds(of(SPARK, anchor="model"))
    assert abs(np.corrcoef(np.log(now), np.log(other))[0, 1]) < 0.15
    assert np.std(np.log(other)) > 0.1


def test_two_figures_of_one_deployment_share_what_the_model_misses_of_ttft():
    now, other = ttfts(of("opus-4.6", reference="opus-4.6", anchor="model"))
    np.testing.assert_array_equal(now, other)
    assert np.std(np.log(now)) > 0.1


def test_a_modelled_price_goes_against_the_speed_of_the_same_machine():
    e = evaluate(of("opus-4.6-fast", anchor="model"))
    made, side = e.spread.worlds.now, e.now
    np.testing.assert_allclose(made.price_out_usd_per_mtok * made.tokens_per_s, np.full((1, DRAWS), side.price_out_usd_per_mtok * side.tokens_per_s), rtol=1e-12)
    listed = worlds_of(of("opus-4.6-fast")).now
    assert set(np.ravel(listed.price_out_usd_per_mtok)) == {150.0} and set(np.ravel(listed.price_in_usd_per_mtok)) == {30.0}


def test_a_ttft_nobody_publishes_is_off_by_the_same_factor_on_both_sides():
    """1 s, 0.2 to 10 s."""
    now, other = ttfts(of("opus-4.6-fast"))
    np.testing.assert_array_equal(now, other)
    np.testing.assert_allclose(np.quantile(other, [0.05, 0.5, 0.95], method="hazen"), [0.2, 1.0, 10.0], rtol=0.01)
    score = z(TTFT) / Z95
    np.testing.assert_allclose(other, np.minimum(np.where(score < 0, 0.2 ** -score, 10.0**score), 120.0), rtol=1e-12)  # the field's limit


def test_an_own_range_of_ttft_replaces_that_of_the_table():
    now, other = ttfts(of("opus-4.6-fast", ranges="st:0.5:2"))
    np.testing.assert_array_equal(now, other)
    np.testing.assert_allclose(np.quantile(other, [0.05, 0.95], method="hazen"), [0.5, 2.0], rtol=0.01)


def test_a_published_ttft_is_what_it_is():
    now, other = ttfts(of("llama-3.3-70b-specdec-groq"))
    assert set(now) == {0.1} and set(other) == {0.15}


def test_an_own_ttft_of_the_option_says_nothing_of_the_references():
    now, other = ttfts(of("opus-4.6-fast", anchor_ttft_s=1.0))
    assert set(now) == {1.0}
    np.testing.assert_allclose(np.quantile(other, [0.05, 0.95], method="hazen"), [0.2, 10.0], rtol=0.01)


def test_an_own_range_around_an_own_ttft_is_drawn():
    now, _other = ttfts(of("opus-4.6-fast", anchor_ttft_s=1.0, ranges="st:0.5:2"))
    np.testing.assert_allclose(np.quantile(now, [0.05, 0.95], method="hazen"), [0.5, 2.0], rtol=0.01)


@pytest.mark.parametrize(("option", "reference"), [("llama-3.1-8b-cerebras", "llama-3.1-8b-groq"), ("opus-4.6-fast", "sonnet-4.6"), ("opus-4.6-fast", "gpt-5.3-codex")])
def test_a_guessed_ttft_keeps_the_range_of_its_source_whatever_it_is_compared_with(option, reference):
    """The guess is 1 s, 0.2 to 10 s; the reference's own may be published."""
    now, _other = ttfts(of(option, reference=reference))
    np.testing.assert_allclose(np.quantile(now, [0.05, 0.95], method="hazen"), [0.2, 10.0], rtol=0.01)


def test_a_ttft_derived_from_a_guess_moves_with_it():
    """Spark's 0.5 s is the vendor's -50 % of Codex's 1 s, which is a guess."""
    assert CAT.presets.at[SPARK, "ttft_basis"] == "derived" and CAT.presets.at["gpt-5.3-codex", "ttft_basis"] == "assumed"
    now, other = ttfts(default())
    np.testing.assert_allclose(now, 0.5 * other, rtol=1e-12)


# --- one and many -----------------------------------------------------------------------------------------------------


def several():
    return [
        of("opus-4.6-fast"),
        of(SPARK),
        of(SPARK, "critical-work", reference="opus-4.6"),
        of("opus-4.6-fast", "chat", ranges="of:1:8;d:0.3:0.7"),
        replace(of(SPARK), **expand_set("favours-speed", "issue", CAT)),
        replace(of("sonnet-4.6"), **expand_set("favours-accuracy", "issue", CAT)),
        of("opus-4.6", task_family="coding", distillation=6.0),
        of("opus-4.6", distillation=20.0, error_level="acceptance"),
        of("opus-4.6-fast", anchor="model", batch_size=8.0),
        of("opus-4.6", weight_precision="fp4", detect=0.42),
        of("gpt-oss-120b-groq", model="llama-3.1-8b", hardware="h100_sxm", n_chips=1, weight_precision="fp8"),
        of("opus-4.6-fast", task_scale=4.0, length_exponent=0.5, anchor_ttft_s=2.0),
    ]


def assert_same_worlds(many, index, one):
    for name in one.quantiles:
        for level in (50, 90):
            got = [np.broadcast_to(end, len(many.now.time_per_task_s))[index] for end in many.band(name, level)]
            np.testing.assert_allclose(got, np.ravel(one.band(name, level)), rtol=1e-9, atol=1e-12, err_msg=f"{index} {name}")
    for name in ("p_faster", "p_cheaper"):
        np.testing.assert_array_equal(getattr(many, name)[index], getattr(one, name)[0], err_msg=f"{index} {name}")
    np.testing.assert_allclose(many.time_change[index], np.broadcast_to(one.time_change, (1, DRAWS))[0], rtol=1e-9, atol=1e-12)


def test_a_scenario_of_arrays_has_the_worlds_of_each_element():
    scenarios = several()
    many = evaluate(stacked(scenarios)).spread
    for i, scenario in enumerate(scenarios):
        assert_same_worlds(many, i, evaluate(scenario).spread)


def test_two_dimensions_are_flat_worlds_and_shaped_outputs():
    scenarios = several()
    e = evaluate(stacked(scenarios, (3, 4)))
    out = e.outputs()
    assert out["time_change"].low.shape == out["p_faster"].value.shape == (3, 4)
    for i in (0, 5, 11):
        single = evaluate(scenarios[i]).outputs()
        for name in ("time_change", "error_rate", "wait_s"):
            np.testing.assert_allclose(out[name].low.ravel()[i], single[name].low, rtol=1e-9, err_msg=name)
            np.testing.assert_allclose(out[name].high.ravel()[i], single[name].high, rtol=1e-9, err_msg=name)
        np.testing.assert_array_equal(out["p_faster"].value.ravel()[i], single["p_faster"].value)


def test_some_elements_of_an_evaluation_have_the_worlds_they_had():
    e = evaluate(stacked(several()))
    picked = np.array([2, 7, 9])
    part = some_of(e, picked).spread
    for position, i in enumerate(picked):
        np.testing.assert_allclose(part.time_change[position], e.spread.time_change[i], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("axis", "field", "points"), [("batch", "batch_size", (0, 1, 96, 199)), ("distillation", "distillation", (0, 1, 96, 199)), ("hardware", "hardware", (0, 1, 3))])
def test_the_bands_of_a_curve_are_those_of_its_points(axis, field, points):
    swept = sweep(of("opus-4.6-fast"), axis)
    bands, held = swept.bands(90), swept.evaluation.scenario
    for i in points:
        moved = {field: getattr(held, field)[i].item()} | ({"n_chips": float(held.n_chips[i])} if axis == "hardware" else {})
        alone = evaluate(replace(held, **moved))
        one = spread(alone.scenario, alone.now, alone.reference, alone.widths, CAT, draws_for(len(bands["error_rate"][0])))
        for name in DRAWN_OUTPUTS:
            got = [np.broadcast_to(end, len(swept.x))[i] for end in bands[name]]
            np.testing.assert_allclose(got, np.ravel(one.band(name, 90)), rtol=1e-9, atol=1e-12, err_msg=f"{axis} {i} {name}")


def test_between_two_drawn_points_of_a_curve_the_band_lies_between_theirs():
    swept = sweep(of("opus-4.6"), "distillation")
    for end in swept.bands(90)["error_rate"]:
        assert (np.diff(end[4:9]) > 0).all()
        halfway = end[4] + (end[8] - end[4]) * 0.5  # the points lie evenly in the logarithm
        assert end[6] == pytest.approx(halfway, rel=1e-9)


def test_the_same_link_gives_the_same_draws_in_every_process():
    scenario = of("sonnet-4.6", "chat", distillation=4.0, ranges="of:1:8")
    code = (
        "import json, sys; from fastmode.link import from_query; from fastmode.evaluate import evaluate\n"
        "out = evaluate(from_query(sys.argv[1])[0]).outputs()\n"
        "print(json.dumps({n: [o.value, o.low, o.high] for n, o in out.items() if n in ('time_change', 'error_rate', 'p_faster', 'wait_s')}))"
    )
    said = set()
    for seed in ("0", "4711"):
        done = subprocess.run([sys.executable, "-c", code, to_query(scenario)], cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True, check=True)
        said.add(done.stdout.strip())
    (text,) = said
    out = evaluate(scenario).outputs()
    for name, (value, low, high) in json.loads(text).items():
        assert (value, low if low == low else None, high if high == high else None) == (
            out[name].value, *(None if end is None or end != end else end for end in (out[name].low, out[name].high)),
        )  # fmt: skip


# --- swings -----------------------------------------------------------------------------------------------------------

# Inputs of the task that no part of the serving model reads.
PEOPLE = (
    "fix_time_s", "tool_time_s", "start_delay_s", "prompt_time_s", "loc", "review_rate_loc_per_h", "detect", "retry_ratio",
    "max_attempts", "reprompt_time_s", "escape_factor", "theta_s", "kappa_s", "resume_s", "reuse", "error",
)  # fmt: skip


@pytest.mark.parametrize("scenario", [default(), of("sonnet-4.6", "critical-work"), of("opus-4.6", distillation=5.0, reference="gpt-5.3-codex")], ids=["spark", "sonnet", "distilled"])
def test_a_swing_is_the_scenario_with_one_assumption_at_its_ends(scenario):
    e = evaluate(scenario)
    found = {swing.driver: swing for swing in e.swings}
    known = ranges(scenario, CAT)
    for name in PEOPLE:
        low, high = known[name].low, known[name].high
        wanted = [evaluate(replace(scenario, **{name: end})).at(evaluate(replace(scenario, **{name: end})).time_change) for end in (low, high)]
        if wanted[0] == wanted[1]:
            assert name not in found
            continue
        swing = found[name]
        np.testing.assert_allclose([swing.change_low, swing.change_high], wanted, rtol=1e-9, atol=1e-12, err_msg=name)
        assert (swing.value, swing.low, swing.high) == (known[name].value, low, high)
        assert swing.label == FIELDS[name].label


def test_swings_are_sorted_and_leave_out_what_moves_nothing():
    e = evaluate(default())
    sizes = [swing.size for swing in e.swings]
    assert sizes == sorted(sizes, reverse=True) and min(sizes) > 0
    drivers = [swing.driver for swing in e.swings]
    # price of time and of the unaided task, and the size of a step where nothing is distilled, move no time
    assert {"wage_usd_per_h", "baseline_s", "baseline_error", "agentic_step"}.isdisjoint(drivers)
    assert {"n_in", "n_out", "calls", TTFT, "benchmark", *PEOPLE} - {"start_delay_s"} <= set(drivers)


def test_swings_of_what_is_no_field():
    """Spark with its odds moved by what a benchmark does not tell."""
    swing = next(s for s in evaluate(default()).swings if s.driver == "benchmark")
    for side, got in ((-1, swing.change_low), (1, swing.change_high)):
        odds = SPARK_ODDS / 3 * math.exp(side * Z95 * CARRIES)
        shared = {name: float(row["default"]) for name, row in ROWS.items() if row["default"]}
        now = plain_time(shared | {"error_rate": odds / (1 + odds), "tokens_per_s": 1000, "handshake_s": 0.02, "ttft_s": 0.5})[0]
        other = plain_time(shared | {"error_rate": 0.25, "tokens_per_s": 65, "handshake_s": 0.1, "ttft_s": 1.0})[0]
        assert got == pytest.approx(now / other - 1, rel=1e-9)
    assert math.isnan(swing.value) and swing.label == driver_label("benchmark") == "whether the benchmark's gap holds on this task"


def test_every_driver_has_words():
    for scenario in several():
        for driver in worlds_of(scenario).drivers:
            assert driver in DRIVER_LABELS or driver in FIELDS
            assert driver_label(driver)


def test_an_own_range_swings_within_itself():
    e = evaluate(replace(default(), ranges="of:2:4"))
    swing = next(s for s in e.swings if s.driver == "escape_factor")
    assert (swing.low, swing.value, swing.high) == (2.0, 3.0, 4.0)
    wide = next(s for s in evaluate(default()).swings if s.driver == "escape_factor")
    assert swing.size < wide.size
