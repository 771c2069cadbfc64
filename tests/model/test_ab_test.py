"""Tasks until two error rates are told apart, against figures worked by hand and against draws."""

import numpy as np
import pytest

from fastmode.ab_test import tasks_per_arm


@pytest.mark.parametrize(
    ("error", "other", "power", "tasks"),
    [
        # (1.95996 + 0.84162)^2 = 7.8489; 7.8489 x (0.1875 + 0.21) / 0.0025 = 1247.97
        (0.25, 0.30, 0.8, 1248),
        # 7.8489 x (0.1875 + 0.2475) / 0.04 = 85.36
        (0.25, 0.45, 0.8, 86),
        # (1.95996 + 1.28155)^2 = 10.5074; 10.5074 x 0.3975 / 0.0025 = 1670.7
        (0.25, 0.30, 0.9, 1671),
        # 7.8489 x (0.0099 + 0.0196) / 0.0001 = 2315.4
        (0.01, 0.02, 0.8, 2316),
    ],
)
def test_worked_by_hand(error, other, power, tasks):
    assert tasks_per_arm(error, other, power) == tasks == tasks_per_arm(other, error, power)


def test_the_same_tasks_on_both_take_fewer():
    # 7.8489 x (0.3975 - 2 x 0.5 x sqrt(0.1875 x 0.21)) / 0.0025 = 625.0
    assert tasks_per_arm(0.25, 0.30, correlation=0.5) == 625
    assert tasks_per_arm(0.25, 0.30, correlation=0.9) < tasks_per_arm(0.25, 0.30, correlation=0.5) < tasks_per_arm(0.25, 0.30)


def test_equal_rates_are_never_told_apart_and_no_probability_has_no_answer():
    assert tasks_per_arm(0.25, 0.25) == np.inf
    assert np.isnan(tasks_per_arm([-0.1, 1.2, np.nan, 0.2], [0.2, 0.3, 0.3, 0.4], [0.8, 0.8, 0.8, 1.0])).all()
    assert np.isnan(tasks_per_arm(0.2, 0.3, correlation=1.5)) and tasks_per_arm(0.0, 1.0) == 1.0


def test_half_the_difference_takes_about_four_times_the_tasks():
    wide, narrow = tasks_per_arm(0.25, [0.35, 0.30])
    assert narrow / wide == pytest.approx(4 * (0.1875 + 0.21) / (0.1875 + 0.2275), rel=0.01)


def test_so_many_tasks_see_the_difference_as_often_as_said():
    n = int(tasks_per_arm(0.25, 0.35, 0.8))
    draws = np.random.default_rng(1).binomial(n, [[0.25], [0.35]], (2, 40_000)) / n
    spread = np.sqrt((draws * (1 - draws)).sum(axis=0) / n)
    seen = np.mean(np.abs(draws[1] - draws[0]) / spread > 1.959964)
    assert seen == pytest.approx(0.8, abs=0.012)  # the approximation; four standard errors of the draws are 0.008
