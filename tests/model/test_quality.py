"""Error rates from model size, benchmark pairs and the acceptance bar."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmode.quality import (
    WHICH_TEXT,
    acceptance_error,
    benchmark_odds_ratio,
    beta,
    beta_success,
    correlated_step_error_for,
    error_from_odds_ratio,
    error_on_longer_tasks,
    length_exponent_from_horizons,
    odds,
    pass_k,
    quantisation_loss,
    quantised_error,
    retry_success_ratio,
    size_residual,
    step_error_for,
    task_error_over_steps,
    transfer,
    transfer_sd,
    usable_pairs,
)

DATA = Path(__file__).parents[2] / "data"
PROPERTY = settings(max_examples=200, deadline=None)
probability = st.floats(0, 1)
ratios = st.floats(1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class Tables:
    quality_fit: pd.DataFrame
    quality_tier_steps: pd.DataFrame
    assumptions: pd.DataFrame
    quality_pairs: pd.DataFrame
    quantisation: pd.DataFrame


PAIRS = pd.read_csv(DATA / "quality_pairs.csv")
CATALOG = Tables(
    pd.read_csv(DATA / "quality_fit.csv"),
    pd.read_csv(DATA / "quality_tier_steps.csv"),
    pd.DataFrame({"low": [3.0], "high": [10.0]}, index=["agentic_step"]),
    PAIRS,
    pd.read_csv(DATA / "quantisation.csv").set_index("precision"),
)
FAMILIES = ("coding", "agentic", "math", "knowledge", "tool_use")


def logit_error(score):
    return np.log((100 - score) / score)


def fitted_slope(task_family, training):
    """Least squares through the origin on the sized pairs, from the pairs themselves."""
    rows = PAIRS[(PAIRS["use_in_fit"] == 1) & (PAIRS["unit"] == "percent") & (PAIRS["task_family"] == task_family)]
    rows = rows[rows["training"] == training] if training else rows
    rows = rows[rows[["parent_score", "child_score"]].gt(0).all(axis=1)]
    rows = rows[rows[["parent_score", "child_score"]].lt(100).all(axis=1)]
    rows = rows[rows["parent_total_params_b"] / rows["child_total_params_b"] > 1.05]
    x = np.log(rows["parent_total_params_b"] / rows["child_total_params_b"])
    y = logit_error(rows["child_score"]) - logit_error(rows["parent_score"])
    return (x * y).sum() / (x * x).sum()


def test_odds_of_hand_computed_errors():
    np.testing.assert_allclose(odds([0, 0.2, 0.25, 0.5, 0.8]), [0, 0.25, 1 / 3, 1, 4])


def test_certain_error_has_infinite_odds():
    assert np.isinf(odds(1.0))


def test_spark_error_from_its_terminal_bench_scores():
    spark, codex = {"terminal_bench_2": 58.4}, {"terminal_bench_2": 77.3}
    ratio = benchmark_odds_ratio(spark, codex, "terminal_bench_2")
    assert ratio == pytest.approx(2.425683, abs=1e-6)
    assert error_from_odds_ratio(0.25, ratio) == pytest.approx(0.447074264, abs=1e-9)


def test_spark_ratio_from_the_endpoints_table():
    endpoints = pd.read_csv(DATA / "endpoints.csv").set_index("id")
    rows = endpoints.loc[["gpt-5.3-codex-spark", "gpt-5.3-codex", "gpt-5.3-codex-priority"]]
    ratio = benchmark_odds_ratio(rows, endpoints.loc["gpt-5.3-codex"], "terminal_bench_2")
    assert ratio == pytest.approx([2.425683, 1, 1], abs=1e-6)


@pytest.mark.parametrize("score", [np.nan, None, 0, 100])
def test_benchmark_without_finite_odds_gives_no_ratio(score):
    assert np.isnan(benchmark_odds_ratio({"b": score}, {"b": 77.3}, "b"))
    assert np.isnan(benchmark_odds_ratio({"b": 77.3}, {"b": score}, "b"))


def test_odds_ratio_of_one_residual_sd_on_the_default_error():
    # Half a logit either way turns 0.25 into 0.17 .. 0.35.
    found = error_from_odds_ratio(0.25, np.exp([-0.5, 0.5]))
    assert found == pytest.approx([0.1682, 0.3547], abs=1e-4)


@PROPERTY
@given(probability, ratios)
def test_odds_ratio_keeps_errors_between_nothing_and_certainty(error, ratio):
    found = error_from_odds_ratio(error, ratio)
    assert 0 <= found <= 1
    assert (found >= error - 1e-15) if ratio >= 1 else (found <= error + 1e-15)


@PROPERTY
@given(probability, ratios)
def test_odds_ratio_and_its_inverse_cancel(error, ratio):
    assert error_from_odds_ratio(error_from_odds_ratio(error, ratio), 1 / ratio) == pytest.approx(error, abs=1e-12)


def test_unknown_ratio_gives_an_unknown_error():
    assert np.isnan(error_from_odds_ratio([0.25, 0.25], [np.nan, 1])).tolist() == [True, False]


@PROPERTY
@given(probability)
def test_full_model_keeps_its_error_exactly(error):
    assert error_from_odds_ratio(error, 1) == error


def test_error_of_a_hand_computed_student():
    # A student of a 16th of the size at a slope of 0.5: odds 1/3 x 16^0.5 = 4/3, error 4/7.
    assert error_from_odds_ratio(0.25, 16**0.5) == pytest.approx(4 / 7)


def test_halving_multiplies_the_odds_by_the_published_ratio():
    assert 2 ** beta("coding", CATALOG, 5).value == pytest.approx(1.3181, abs=1e-4)


def test_odds_ratio_broadcasts():
    assert error_from_odds_ratio(np.array([[0.1], [0.3]]), np.array([1, 2, 4])).shape == (2, 3)


def test_acceptance_takes_24_points_off():
    assert acceptance_error([0.25, 0.5, 0.9], 0.24) == pytest.approx([0.49, 0.74, 1.0])


@PROPERTY
@given(probability, probability)
def test_acceptance_error_is_one_minus_the_remaining_acceptance(error, gap):
    assert acceptance_error(error, gap) == pytest.approx(1 - max(0, (1 - error) - gap), abs=1e-15)
    assert acceptance_error(error, 0) == error


@pytest.mark.parametrize(
    ("family", "value", "low", "high", "which"),
    [
        ("coding", 0.3985, 0.2543, 0.6417, "distilled"),
        ("math", 0.3256, 0.2775, 0.6162, "distilled"),
        ("knowledge", 0.2642, 0.2132, 0.3741, "all"),  # only two families of distilled pairs
        ("tool_use", 0.1660, 0.0292, 0.2002, "all"),
    ],
)
def test_slope_on_total_parameters(family, value, low, high, which):
    assert beta(family, CATALOG, 5) == (value, low, high, which)


@pytest.mark.parametrize(
    ("family", "training"), [("coding", "distilled"), ("math", "distilled"), ("knowledge", ""), ("tool_use", "")]
)
def test_slope_is_the_least_squares_of_the_pairs(family, training):
    assert beta(family, CATALOG, 5).value == pytest.approx(fitted_slope(family, training), abs=5e-5)


def test_agentic_slope_spreads_the_median_tier_step_over_its_assumed_size():
    slope = beta("agentic", CATALOG, 5)
    assert slope.value == pytest.approx(0.2711, abs=5e-5)
    assert slope.low == pytest.approx(math.log(1.139) / math.log(10))
    assert slope.high == pytest.approx(math.log(3.139) / math.log(3))
    assert slope.which == "tier_step"


def test_agentic_student_of_one_step_has_the_median_odds_ratio():
    step = 4.0
    assert step ** beta("agentic", CATALOG, step).value == pytest.approx(1.547)


def test_agentic_slope_stays_within_its_band_for_any_step():
    slope = beta("agentic", CATALOG, np.array([1.1, 2, 3, 5, 10, 100]))
    assert (slope.low < slope.value).all() and (slope.value < slope.high).all()


def test_only_agentic_work_depends_on_the_tier_step():
    assert beta("coding", CATALOG, 3) == beta("coding", CATALOG, 10)


def test_families_and_steps_broadcast():
    slope = beta(np.array([["coding"], ["agentic"]]), CATALOG, np.array([3.0, 5.0, 10.0]))
    assert slope.value.shape == slope.low.shape == slope.high.shape == slope.which.shape == (2, 3)
    np.testing.assert_allclose(slope.value[0], 0.3985)
    np.testing.assert_allclose(slope.value[1], math.log(1.547) / np.log([3, 5, 10]))
    assert slope.which[:, 0].tolist() == ["distilled", "tier_step"]


def test_every_rule_has_words():
    assert {beta(family, CATALOG, 5).which for family in ("coding", "agentic", "math", "tool_use")} == set(WHICH_TEXT)


def test_unknown_task_family_is_refused_by_name():
    with pytest.raises(ValueError, match="poetry"):
        beta("poetry", CATALOG, 5)


# --- longer tasks and steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "length", "exponent", "expected"),
    [
        (0.5, 2, 1, 0.75),  # half survives each half-life
        (0.5, 4, 0.5, 0.75),  # the square root of 4 half-lives is 2
        (0.25, 0.5, 1, 1 - math.sqrt(0.75)),
        (0.2, 3, 1, 1 - 0.8**3),
        (0.25, 10, 0, 0.25),
        (0, 10, 0.6, 0),
        (1, 10, 0.6, 1),
    ],
)
def test_longer_tasks_of_hand_computed_errors(error, length, exponent, expected):
    assert error_on_longer_tasks(error, length, exponent) == pytest.approx(expected, abs=1e-15)


def test_longer_tasks_follow_the_survival_law_from_its_half_life():
    # P(t) = 2^-(t/T50)^k with T50 = 100, k = 0.6: from t = 30 to t = 90.
    short, long = (1 - 2 ** -((t / 100) ** 0.6) for t in (30, 90))
    assert error_on_longer_tasks(short, 3, 0.6) == pytest.approx(long, rel=1e-14)


@PROPERTY
@given(probability, st.floats(1e-3, 1e3), st.floats(0, 2))
def test_length_one_and_exponent_nought_keep_the_error_bit_for_bit(error, length, exponent):
    assert error_on_longer_tasks(error, 1, exponent) == error
    assert error_on_longer_tasks(error, length, 0) == error


@PROPERTY
@given(probability, st.floats(1, 1e3), st.floats(0.01, 2))
def test_longer_tasks_fail_at_least_as_often(error, length, exponent):
    longer, shorter = error_on_longer_tasks(error, [length, 1 / length], exponent)
    assert 0 <= shorter <= error + 1e-15 and error - 1e-15 <= longer <= 1


def test_longer_tasks_broadcast():
    found = error_on_longer_tasks(np.array([[0.1], [0.5]]), np.array([1, 2, 4]), 1)
    np.testing.assert_allclose(found, [[0.1, 0.19, 0.3439], [0.5, 0.75, 0.9375]])


def test_unknown_error_stays_unknown_on_longer_tasks():
    assert np.isnan(error_on_longer_tasks(np.nan, 2, 1))


def test_exponent_of_the_published_horizons():
    assert length_exponent_from_horizons(718.8, 69.9) == pytest.approx(0.4863, abs=1e-4)
    rows = pd.read_csv(DATA / "human_time.csv").set_index("quantity")["value"]
    found = length_exponent_from_horizons(
        rows["metr_p50_horizon_claude_opus_4_6"], rows["metr_p80_horizon_claude_opus_4_6"]
    )
    assert found == pytest.approx(0.49, abs=0.005)


def test_constant_hazard_has_exponent_one_between_its_horizons():
    assert length_exponent_from_horizons(100, 100 * -math.log2(0.8)) == pytest.approx(1)


def test_exponent_reproduces_the_horizons_it_came_from():
    k = length_exponent_from_horizons(718.8, 69.9)
    assert error_on_longer_tasks(0.5, 69.9 / 718.8, k) == pytest.approx(0.2)


def test_independent_steps():
    assert task_error_over_steps([0.1, 0.01], [2, 20]) == pytest.approx([0.19, 1 - 0.99**20])
    assert 1 - task_error_over_steps(1 - 0.604, 4) == pytest.approx(0.133, abs=5e-4)


@PROPERTY
@given(st.floats(0, 0.999), st.integers(1, 2000))
def test_step_error_and_task_error_are_inverse(error, n):
    assert task_error_over_steps(step_error_for(error, n), n) == pytest.approx(error, abs=1e-12)
    assert step_error_for(error, 1) == error


def test_error_per_call_of_the_default_task():
    assert step_error_for(0.25, 20) == pytest.approx(1 - 0.75**0.05, rel=1e-14)
    assert step_error_for(0.25, 20) == pytest.approx(0.01428, abs=5e-6)


# --- correlated tries -------------------------------------------------------------------------------------------------


def test_beta_success_of_the_tau_bench_rates():
    a, b = beta_success(0.604, 0.491)
    assert (a, b) == pytest.approx((0.540893, 0.354625), abs=1e-6)
    assert pass_k(a, b, 1) == pytest.approx(0.604) and pass_k(a, b, 2) == pytest.approx(0.491)
    assert pass_k(a, b, 4) == pytest.approx(0.392, abs=5e-4)  # published: 0.383
    assert retry_success_ratio(a, b) == pytest.approx(0.472, abs=5e-4)


def test_uniform_success():
    # beta(1, 1): pass^k = 1 / (k + 1), a retry succeeds in 1/3 of the cases instead of 1/2.
    assert beta_success(1 / 2, 1 / 3) == pytest.approx((1, 1))
    assert pass_k(1, 1, np.arange(5)) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert retry_success_ratio(1, 1) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("pass_1", "pass_2"), [(0.6, 0.36), (0.6, 0.3), (0.6, 0.6), (0.6, 0.7), (np.nan, 0.5)])
def test_rates_no_beta_distribution_has_give_none(pass_1, pass_2):
    assert np.isnan(beta_success(pass_1, pass_2)).all()


def test_pass_k_broadcasts_over_tasks_and_tries():
    found = pass_k(np.array([[1.0], [2.0]]), 1.0, np.array([1, 2]))
    np.testing.assert_allclose(found, [[1 / 2, 1 / 3], [2 / 3, 1 / 2]])


@PROPERTY
@given(st.floats(0.05, 50), st.floats(0.05, 50), st.integers(2, 60))
def test_correlated_tries_all_succeed_more_often_than_independent_ones(a, b, k):
    assert pass_k(a, b, k) >= (a / (a + b)) ** k * (1 - 1e-12)


# --- number formats ---------------------------------------------------------------------------------------------------


def test_quantised_error():
    # 75 % right, 2 % of that lost: 73.5 % right.
    assert quantised_error(0.25, 0.02) == pytest.approx(0.265)
    assert quantised_error([0, 1], 0.03) == pytest.approx([0.03, 1])


@PROPERTY
@given(probability)
def test_no_loss_keeps_the_error_exactly(error):
    assert quantised_error(error, 0) == error


def test_losses_are_the_published_ones():
    losses = quantisation_loss(CATALOG)
    assert losses == {"bf16": (0, 0, 0), "fp8": (0, 0, 0), "int8": (0.02, 0.01, 0.03), "fp4": (0.02, 0.01, 0.03)}
    published = pd.read_csv(DATA / "strategies.csv").set_index("quantity").loc["int8_quality_loss"]
    for ours, column in zip(losses["int8"], ("value", "low", "high"), strict=True):
        assert 100 * ours == pytest.approx(float(published[column]))


# --- spread -----------------------------------------------------------------------------------------------------------


def test_usable_pairs_have_finite_odds():
    rows = usable_pairs(CATALOG)
    assert len(rows) == 231 and set(rows["unit"]) == {"percent"} and set(rows["use_in_fit"]) == {1}
    spark = rows[(rows["child"] == "GPT-5.3-Codex-Spark")]["log_odds_ratio"]
    assert spark.tolist() == pytest.approx([math.log(2.425683)], abs=1e-6)


@pytest.mark.parametrize(
    ("family", "sd", "pairs", "rows"),
    [
        ("coding", 0.2939, 15, 39),
        ("agentic", 0.4111, 6, 26),
        ("math", 0.2466, 24, 48),
        ("knowledge", 0.3000, 21, 52),
        ("tool_use", 0.3462, 7, 22),
    ],
)
def test_transfer_between_benchmarks(family, sd, pairs, rows):
    assert transfer(CATALOG, family) == (pytest.approx(sd, abs=5e-5), pairs, rows)
    assert transfer_sd(CATALOG, family) == transfer(CATALOG, family).sd


def test_transfer_of_two_hand_computed_pairs():
    # Odds ratios of one pair 1 and e (deviations +-1/2), of the other 2, 2 and 2 (none); a third has one benchmark.
    def row(child, parent_odds, child_odds):
        scores = [100 / (1 + odds) for odds in (parent_odds, child_odds)]
        return ["F", "p", child, "agentic", *scores, "percent", 1]

    columns = ["family", "parent", "child", "task_family", "parent_score", "child_score", "unit", "use_in_fit"]
    rows = [row("a", 1, 1), row("a", 1, math.e), *[row("b", x, 2 * x) for x in (0.5, 1, 2)], row("c", 1, 9)]
    tables = Tables(CATALOG.quality_fit, CATALOG.quality_tier_steps, CATALOG.assumptions, pd.DataFrame(rows, columns=columns), CATALOG.quantisation)  # fmt: skip
    assert transfer(tables, "agentic") == (pytest.approx(math.sqrt(0.5 / 3)), 2, 5)


def test_no_transfer_without_pairs():
    with pytest.raises(ValueError, match="poetry"):
        transfer_sd(CATALOG, "poetry")


@pytest.mark.parametrize(
    ("family", "below", "above"),
    [
        ("coding", 0.7505, 0.7505),
        ("math", 0.5418, 0.5418),
        ("knowledge", 0.3572, 0.3572),
        ("tool_use", 0.2073, 0.2073),
        # ln(1.547 / 1.139) / 0.67449 and ln(3.139 / 1.547) / 0.67449
        ("agentic", 0.45392, 1.04907),
    ],
)
def test_spread_around_the_slope(family, below, above):
    assert size_residual(CATALOG, family) == pytest.approx((below, above), abs=1e-5)


def test_spread_belongs_to_the_slope_in_use():
    fit = CATALOG.quality_fit.set_index(["size_measure", "task_family", "training"])
    for family in FAMILIES:
        slope = beta(family, CATALOG, 5)
        if slope.which != "tier_step":
            row = fit.loc[("total", family, slope.which)]
            assert (row["beta"], row["residual_sd_logit"]) == (slope.value, size_residual(CATALOG, family).below)


def test_no_spread_for_an_unknown_family():
    with pytest.raises(ValueError, match="poetry"):
        size_residual(CATALOG, "poetry")


@PROPERTY
@given(st.floats(0.001, 0.999), st.integers(1, 60), st.floats(0.05, 50))
def test_correlated_step_error_gives_back_the_task_error(error, n, concentration):
    step = correlated_step_error_for(error, n, concentration)
    assert 1 - pass_k((1 - step) * concentration, step * concentration, n) == pytest.approx(error, abs=1e-9)
    assert step >= step_error_for(error, n) - 1e-12


def test_correlated_step_error_by_hand():
    # beta(1, 1) passes n steps in 1 / (n + 1) of the tasks: a task error of 2/3 over two steps is one of 1/2 a step.
    assert correlated_step_error_for(2 / 3, 2, 2) == pytest.approx(0.5, abs=1e-12)
    assert correlated_step_error_for([0.25, 0.25], [1, 20], 1e9) == pytest.approx([0.25, 1 - 0.75**0.05], abs=1e-7)
    assert np.isnan(correlated_step_error_for([np.nan, 0.5], 20, [1, np.nan])).all()
