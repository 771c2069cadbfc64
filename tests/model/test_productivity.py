"""Shapes, parts, unknown inputs and break-evens of the net productivity model."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode.productivity import (
    TIME_PARTS,
    WAIT_PARTS,
    TaskResult,
    break_even_error,
    break_even_wage,
    expected_error_cost_s,
    lost_time_s,
    task,
    tolerable_extra_error,
)
from fastmode.productivity_csv import task_inputs

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv")
DEFAULT = task_inputs(EXAMPLES.iloc[0])
ALL = task_inputs(EXAMPLES)
NEEDS_TIME = ("time_per_task_s", "cost_per_task_usd", "net_productivity", "saved_s", "value_ratio")


def times_of(result, names):
    return [getattr(result, name) for name in names]


def test_six_time_slices_add_up_to_the_task_time_bit_for_bit():
    result = task(ALL)
    assert np.array_equal(sum(times_of(result, TIME_PARTS)), result.time_per_task_s)


def test_slices_of_the_default_task():
    # Hand computed from the case: L = 262.753451, V = 450, G = 0.15, Pm = 0.0225, Pe = 0.115, F_p = 180, M = 4680.
    expected = (120, 262.753451, 450, 0.15 * (180 + 712.753451), 0.0225 * 1560, 0.115 * 4680)
    assert times_of(task(DEFAULT), TIME_PARTS) == pytest.approx(expected, abs=1e-6)


def test_correction_is_everything_beyond_prompt_and_first_attempt():
    result = task(ALL)
    beyond = result.time_per_task_s - result.prompt_s - result.attempt_s
    np.testing.assert_allclose(result.correction_time_s, beyond, atol=1e-9)


def test_correction_share_of_the_default_task():
    assert task(DEFAULT).correction_share == pytest.approx((133.913018 + 35.1 + 538.2) / 1539.966469, abs=1e-9)


def test_waiting_reviewing_and_correcting_shares_of_the_default_set():
    # All waiting 20 %, all reviewing 34 %, escaped errors 35 points of the correction.
    result = task(DEFAULT)
    shares = [result.attempts * result.lost_s, result.attempts * result.review_s, result.escaped_s]
    assert [round(100 * float(part / result.time_per_task_s)) for part in shares] == [20, 34, 35]


def test_four_wait_parts_add_up_to_the_wait():
    result = task(ALL)
    np.testing.assert_allclose(sum(times_of(result, WAIT_PARTS)), result.wait_s, rtol=1e-15)


def test_wait_parts_of_the_default_task():
    assert times_of(task(DEFAULT), WAIT_PARTS) == pytest.approx((0, 22, 8000 / 65, 60), abs=1e-12)


def test_token_bill_is_that_of_one_attempt():
    result = task(DEFAULT)
    assert result.token_bill_usd == pytest.approx(0.77, abs=1e-12)
    assert result.token_cost_usd == pytest.approx(1.15 * 0.77, abs=1e-12)


def test_attempts_are_the_first_one_and_the_retries():
    result = task(ALL)
    assert np.array_equal(result.attempts, 1 + result.retries)


def test_every_output_has_the_common_shape():
    inputs = replace(DEFAULT, error_rate=np.linspace(0, 1, 5), tokens_per_s=np.array([[65.0], [390.0]]), max_attempts=3)
    result = task(inputs)
    assert {getattr(result, field.name).shape for field in fields(TaskResult)} == {(2, 5)}


def test_arrays_give_what_scalars_give_one_by_one():
    together = task(ALL)
    for row in range(len(EXAMPLES)):
        alone = task(task_inputs(EXAMPLES.iloc[row]))
        assert all(
            getattr(alone, field.name) == pytest.approx(getattr(together, field.name)[row], rel=1e-14)
            for field in fields(TaskResult)
        )


def test_max_attempts_may_be_an_array():
    # G = e d (1 - x^(K-1)) / (1 - x) with e = 0.25, d = 0.6, x = 0.15: 0, 0.15, 0.15 x 1.15, 0.15 / 0.85.
    result = task(replace(DEFAULT, max_attempts=np.array([1, 2, 3, np.inf])))
    assert result.retries == pytest.approx([0, 0.15, 0.1725, 0.15 / 0.85], abs=1e-12)
    assert result.p_manual == pytest.approx([0.15, 0.0225, 0.003375, 0], abs=1e-12)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError):
        task(replace(DEFAULT, error_rate=np.zeros(3), calls=np.ones(4)))


@pytest.mark.filterwarnings("error")
def test_no_warning_at_the_extremes():
    extremes = replace(
        DEFAULT,
        tokens_per_s=np.array([0, np.inf, np.nan, 65]),
        error_rate=np.array([0, 1, 0.5, np.nan]),
        detect=np.array([[0], [1]]),
        kappa_s=0,
        max_attempts=np.inf,
    )
    result = task(extremes)
    assert result.time_per_task_s.shape == (2, 4)
    assert np.isinf(result.time_per_task_s[0, 0]) and np.isnan(result.time_per_task_s[0, 2:]).all()


def test_unknown_speed_leaves_what_does_not_depend_on_it():
    known, unknown = task(DEFAULT), task(replace(DEFAULT, tokens_per_s=np.nan))
    assert all(np.isnan(getattr(unknown, name)) for name in (*NEEDS_TIME, "wait_s", "lost_s", "waiting_s"))
    kept = ("token_bill_usd", "token_cost_usd", "attempts", "p_manual", "p_escaped", "reviewing_s", "escaped_s")
    assert times_of(unknown, kept) == times_of(known, kept)


def test_unknown_prices_leave_the_times_and_net_productivity():
    known, unknown = task(DEFAULT), task(replace(DEFAULT, price_in_usd_per_mtok=None, price_out_usd_per_mtok=np.nan))
    assert all(np.isnan(getattr(unknown, name)) for name in ("token_bill_usd", "token_cost_usd", "cost_per_task_usd"))
    kept = (*TIME_PARTS, "time_per_task_s", "net_productivity", "saved_s", "correction_share")
    assert times_of(unknown, kept) == times_of(known, kept)


def test_unknown_speed_does_not_matter_without_output_tokens():
    assert task(replace(DEFAULT, n_out=0, tokens_per_s=np.nan)).wait_s == 82


def test_unknown_input_price_does_not_matter_without_input_tokens():
    assert task(replace(DEFAULT, n_in=0, price_in_usd_per_mtok=np.nan)).token_bill_usd == pytest.approx(0.2)


def test_one_unknown_element_does_not_spoil_the_others():
    result = task(replace(DEFAULT, tokens_per_s=np.array([65, np.nan, 390])))
    assert np.isnan(result.time_per_task_s).tolist() == [False, True, False]
    assert result.time_per_task_s[0] == pytest.approx(1539.966469, abs=1e-6)


@pytest.mark.parametrize("distance", [0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_retries_stay_exact_as_x_tends_to_one(distance):
    # e = 1 - distance, d = 1, s = 1: x = e and G = e + e^2 + ... + e^(K-1).
    error = 1 - distance
    result = task(replace(DEFAULT, error_rate=error, detect=1, max_attempts=6))
    assert result.retries == pytest.approx(sum(error**n for n in range(1, 6)), rel=1e-12)


def test_lost_time_of_hand_computed_waits():
    # theta 10, kappa 60, R 60: L(70) = 10 + 60 + 60 (1 - 1/e); with u = 0.5 the middle term halves.
    gone = 60 * (1 - np.exp(-1))
    lost = lost_time_s(np.array([0, 4, 10, 70]), 10, 60, 60, np.array([[0], [0.5]]))
    np.testing.assert_allclose(lost, [[0, 4, 10, 70 + gone], [0, 4, 10, 40 + gone]], rtol=1e-15)


def test_without_drift_time_every_longer_wait_costs_a_full_switch():
    assert lost_time_s(np.array([10, 10.5]), 10, 0, 60, 0).tolist() == [10, 70.5]


def test_expected_error_cost_of_the_default_set():
    assert expected_error_cost_s(0.6, 1560, 3) == pytest.approx(2808)


def test_100_seconds_saved_buy_3_6_points_of_error():
    assert tolerable_extra_error(100, 0.6, 1560, 3) == pytest.approx(100 / 2808)


def test_free_errors_tolerate_any_extra_error():
    assert np.isinf(tolerable_extra_error(100, 0.6, 0, 3))


def test_break_even_of_an_option_against_itself_is_its_own_error():
    reference = task(ALL)
    found = break_even_error(ALL, reference.time_per_task_s)
    # The 22 rows cover one to ten attempts, no and full detection, and retry ratios on both sides of one.
    np.testing.assert_allclose(found, EXAMPLES["error"], atol=1e-9)


def test_break_even_is_nan_when_even_no_errors_are_too_slow():
    assert np.isnan(break_even_error(DEFAULT, 832.7))


def test_break_even_is_one_when_any_error_pays():
    assert break_even_error(DEFAULT, 1e6) == 1.0
    assert break_even_error(replace(DEFAULT, fix_time_s=0, reprompt_time_s=0, max_attempts=1), 832.8) == 1.0


def test_break_even_is_nan_when_the_speed_is_unknown():
    found = break_even_error(replace(DEFAULT, tokens_per_s=np.array([65, np.nan])), 1600)
    assert np.isnan(found).tolist() == [False, True]


def test_break_even_does_not_read_the_error_of_the_fast_option():
    assert break_even_error(replace(DEFAULT, error_rate=np.nan), 1600) == break_even_error(DEFAULT, 1600)


def test_time_at_the_break_even_error_is_the_reference_time():
    times = np.array([900, 1200, 1600, 2400, 3600])
    found = break_even_error(replace(DEFAULT, max_attempts=4, retry_ratio=1.3), times)
    again = task(replace(DEFAULT, max_attempts=4, retry_ratio=1.3, error_rate=found))
    np.testing.assert_allclose(again.time_per_task_s, times, atol=1e-6)


def test_break_even_wage_is_extra_money_over_time_saved():
    assert break_even_wage(4.0, 90) == pytest.approx(160)


def test_break_even_wage_is_zero_when_faster_and_cheaper():
    assert break_even_wage(-1.0, 90) == 0


def test_break_even_wage_is_nan_when_no_time_is_saved():
    assert np.isnan(break_even_wage([4.0, 4.0, -4.0, np.nan], [0, -90, -90, np.nan])).all()
