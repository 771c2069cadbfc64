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
    error_from_odds_ratio,
    odds,
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


CATALOG = Tables(
    pd.read_csv(DATA / "quality_fit.csv"),
    pd.read_csv(DATA / "quality_tier_steps.csv"),
    pd.DataFrame({"low": [3.0], "high": [10.0]}, index=["agentic_step"]),
)
PAIRS = pd.read_csv(DATA / "quality_pairs.csv")


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
