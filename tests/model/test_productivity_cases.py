"""Single cases the specification names: where the founding trade flips, longer runs, published pairs, field trials."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode.productivity import break_even_error, break_even_wage, task
from tests.model.test_productivity_examples import (
    DEFAULT,
    EXAMPLES,
    SETS,
    SPARK,
    change_percent,
    time_of,
    tokens_faster,
    whole_wait_faster,
    with_wait,
)

# Terminal-Bench 2.0: Codex 77.3, Spark 58.4 percent solved.
SPARK_ODDS_RATIO = ((100 - 58.4) / 58.4) / ((100 - 77.3) / 77.3)
PLUS_20, TIMES_12 = "+20 points", "x1.2"
WORSE = {PLUS_20: lambda error: error + 0.20, TIMES_12: lambda error: error * 1.2}
# Field of the inputs, and the range of its control.
RANGES = {
    "fix_time_s": (60, 7200),
    "escape_factor": (0, 100),
    "resume_s": (0, 3600),
    "kappa_s": (1, 3600),
    "theta_s": (0, 600),
    "detect": (0, 1),
    "retry_ratio": (0, 3),
    "error_rate": (0.01, 0.8),
    "reuse": (0, 1),
    "reprompt_time_s": (0, 7200),
    "loc": (0, 5000),
    "review_rate_loc_per_h": (10, 5000),
    "prompt_time_s": (0, 7200),
}
STEPS = 20_000


def change(inputs, trade, faster=whole_wait_faster):
    """Change of time per task in percent when the option is six times faster and errors get worse as `trade` says."""
    return change_percent(faster(inputs, 6), inputs, error_rate=WORSE[trade](inputs.error_rate))


def flips(name, trade, faster=whole_wait_faster):
    """(does the trade pay at the low end, values of the field at which that changes), the rest of the default set kept."""
    values = np.linspace(*RANGES[name], STEPS + 1)
    pays = change(replace(DEFAULT, **{name: values}), trade, faster) < 0
    at = np.flatnonzero(pays[1:] != pays[:-1])
    return bool(pays[0]), (values[at] + values[at + 1]) / 2


def tolerance(name, digit):
    """Half of the last digit that was printed, and the distance between two values tried."""
    low, high = RANGES[name]
    return 0.5 * digit + (high - low) / STEPS


@pytest.mark.parametrize(
    ("name", "trade", "pays_below", "value", "digit"),
    [
        ("fix_time_s", PLUS_20, True, 404, 1),
        ("escape_factor", PLUS_20, True, 0.45, 0.01),
        ("resume_s", PLUS_20, False, 721, 1),
        ("fix_time_s", TIMES_12, True, 2447, 1),
        ("escape_factor", TIMES_12, True, 4.9, 0.1),
        ("detect", TIMES_12, False, 0.18, 0.01),
        ("error_rate", TIMES_12, True, 0.35, 0.01),
        ("reuse", TIMES_12, True, 0.41, 0.01),
        ("reprompt_time_s", TIMES_12, True, 2831, 1),
        ("loc", TIMES_12, True, 344, 1),
    ],
)
def test_one_assumption_at_which_the_trade_flips(name, trade, pays_below, value, digit):
    below, found = flips(name, trade)
    assert below == pays_below
    assert found == pytest.approx([value], abs=tolerance(name, digit))


@pytest.mark.parametrize(
    ("trade", "pays", "never"),
    [
        (PLUS_20, False, ["detect", "retry_ratio", "error_rate", "reuse", "reprompt_time_s", "loc", "kappa_s", "theta_s", "prompt_time_s"]),
        (TIMES_12, True, ["resume_s", "kappa_s", "theta_s", "retry_ratio", "prompt_time_s"]),
    ],
)  # fmt: skip
def test_assumptions_that_never_flip_the_trade(trade, pays, never):
    for name in never:
        below, found = flips(name, trade)
        assert (name, below, found.size) == (name, pays, 0)


def test_escape_factors_below_which_faster_tokens_alone_pay():
    never, nowhere = flips("escape_factor", PLUS_20, tokens_faster)
    assert not never and nowhere.size == 0
    below, found = flips("escape_factor", TIMES_12, tokens_faster)
    assert below and found == pytest.approx([2.2], abs=tolerance("escape_factor", 0.1))


@pytest.mark.parametrize(("times", "plus20", "x12"), [(4, -3.8, -28.0), (10, -33.6, -49.0)])
def test_longer_runs_make_both_trades_pay(times, plus20, x12):
    longer = replace(DEFAULT, n_out=times * 8000, calls=times * 20, tool_time_s=times * 60)
    assert task(longer).wait_s == pytest.approx({4: 820, 10: 2051}[times], abs=0.5)
    assert change(longer, PLUS_20) == pytest.approx(plus20, abs=0.05)
    assert change(longer, TIMES_12) == pytest.approx(x12, abs=0.05)


def test_a_wait_of_ten_seconds_alone_makes_neither_trade_pay():
    # By hand: nothing is lost to a switch, so A = 460 s before and 451.667 s after.
    short = with_wait(DEFAULT, 10.0)
    before = 120 + 460 + 0.15 * 640 + 0.0225 * 1560 + 0.115 * 4680
    plus20 = 120 + 451.666667 + 0.27 * 631.666667 + 0.0729 * 1560 + 0.4 * (0.45 + 0.45 * 0.27) * 4680
    x12 = 120 + 451.666667 + 0.18 * 631.666667 + 0.0324 * 1560 + 0.4 * (0.30 + 0.30 * 0.18) * 4680
    assert time_of(short) == pytest.approx(before)
    assert change(short, PLUS_20) == pytest.approx(100 * (plus20 / before - 1), abs=1e-6)
    assert change(short, TIMES_12) == pytest.approx(100 * (x12 / before - 1), abs=1e-6)
    assert plus20 > x12 > before


def test_errors_take_39_percent_of_the_default_task():
    # Retries without their waiting and reviewing, which count there: re-prompts, fixes by hand, escapes.
    result = task(DEFAULT)
    errors = result.retries * DEFAULT.reprompt_time_s + result.fixing_s + result.escaped_s
    assert errors / result.time_per_task_s == pytest.approx(0.39, abs=0.005)


def test_break_even_of_the_set_that_favours_accuracy_to_two_digits():
    extra = break_even_error(whole_wait_faster(SETS, 6), time_of(SETS)) - SETS.error_rate
    assert 100 * extra[2] == pytest.approx(0.14, abs=0.005)


def test_fifteen_times_the_token_speed_is_2_6_times_less_waiting():
    slow, fast = task(DEFAULT), task(SPARK)
    assert (slow.wait_s, fast.wait_s) == (pytest.approx(205.1, abs=0.05), pytest.approx(78.4, abs=0.05))
    assert slow.wait_s / fast.wait_s == pytest.approx(2.6, abs=0.05)
    assert SPARK.tokens_per_s / DEFAULT.tokens_per_s == pytest.approx(15, abs=0.5)


def test_spark_with_its_measured_odds_in_the_three_sets():
    odds = SPARK_ODDS_RATIO * SETS.error_rate / (1 - SETS.error_rate)
    error = odds / (1 + odds)
    assert error[0] == pytest.approx(0.447, abs=0.0005)
    spark = replace(SETS, tokens_per_s=1000, ttft_s=0.5, handshake_s=0.02, error_rate=error)
    np.testing.assert_allclose(change_percent(spark, SETS), [34.0, -10.7, 36.8], atol=0.05)
    assert time_of(spark)[0] == pytest.approx(2064, abs=0.5)


def test_spark_pays_at_no_escape_factor():
    factors = np.linspace(0, 100, 1001)
    changes = change_percent(replace(SPARK, escape_factor=factors), replace(DEFAULT, escape_factor=factors))
    assert changes.min() == changes[0] == pytest.approx(0.1, abs=0.05)


def test_spark_against_opus_fast_with_20_points_more_errors():
    spark = replace(SETS, tokens_per_s=1000, error_rate=SETS.error_rate + 0.2)
    opus_fast = replace(SETS, tokens_per_s=170)
    assert spark.tokens_per_s / opus_fast.tokens_per_s == pytest.approx(5.9, abs=0.05)
    np.testing.assert_allclose(change_percent(spark, opus_fast), [44.8, 8.7, 35.4], atol=0.05)


def test_opus_fast_in_the_three_sets():
    np.testing.assert_allclose(change_percent(tokens_faster(SETS, 2.5), SETS), [-5.9, -8.3, -0.1], atol=0.05)


@pytest.mark.parametrize(("price_in", "price_out", "usd"), [(30, 150, 4.43), (10, 50, 0.89)])
def test_extra_tokens_of_opus_fast(price_in, price_out, usd):
    fast = task(replace(DEFAULT, tokens_per_s=162.5, price_in_usd_per_mtok=price_in, price_out_usd_per_mtok=price_out))
    assert fast.token_cost_usd - task(DEFAULT).token_cost_usd == pytest.approx(usd, abs=0.005)


def test_the_escape_factor_does_not_enter_the_wage_above_which_opus_fast_pays():
    standard = replace(DEFAULT, escape_factor=np.array([0, 3, 15]))
    opus_fast = replace(standard, tokens_per_s=162.5, price_in_usd_per_mtok=30, price_out_usd_per_mtok=150)
    slow, fast = task(standard), task(opus_fast)
    wage = break_even_wage(fast.token_cost_usd - slow.token_cost_usd, slow.time_per_task_s - fast.time_per_task_s)
    assert wage == pytest.approx(np.full(3, 174.388), abs=1e-3)


def test_less_thinking_on_the_same_model():
    high, low = replace(with_wait(DEFAULT, 194.0), error_rate=0.12), replace(with_wait(DEFAULT, 62.4), error_rate=0.187)
    assert time_of(high) == pytest.approx(1134, abs=0.5)
    assert time_of(low) == pytest.approx(1158, abs=0.5)
    assert change_percent(low, high) == pytest.approx(2.2, abs=0.05)


@pytest.mark.parametrize(
    ("net", "error", "factor"), [(1.27, 0.64, 4.5), (0.84, 0.95, 8.4)], ids=["Google", "METR 2025"]
)
def test_what_it_takes_to_match_a_trial(net, error, factor):
    # Net productivity falls with both, so half a digit to either side must enclose the trial's.
    by_error = task(replace(DEFAULT, error_rate=error + np.array([-0.005, 0.005]))).net_productivity
    assert by_error[0] > net > by_error[1]
    around = replace(DEFAULT, error_rate=0.5, escape_factor=factor + np.array([-0.05, 0.05]))
    by_factor = task(around).net_productivity
    assert by_factor[0] > net > by_factor[1]


def test_without_a_limit_of_attempts_time_and_break_even_have_closed_forms():
    # T = P0 + (A + e (d F_p + (1-d) M)) / (1 - e d) = 120 + (712.753451 + 0.25 x 1980) / 0.85.
    ever = replace(DEFAULT, max_attempts=np.inf)
    assert time_of(ever) == pytest.approx(120 + (712.753451 + 0.25 * 1980) / 0.85, abs=1e-6)
    # e* = (T0 - P0 - A') / (d F_p + (1-d) M + d (T0 - P0)).
    fast = whole_wait_faster(ever, np.array([1, 1.5, 2.5, 6, 15, np.inf]))
    budget = time_of(ever) - 120
    expected = (budget - task(fast).attempt_s) / (1980 + 0.6 * budget)
    np.testing.assert_allclose(break_even_error(fast, time_of(ever)), expected, atol=1e-12)
    assert expected[0] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("k", "wait_s", "extra"), [(6, 205, 7.38), (2.5, 1200, 21.88), (10, 60, 3.21)], ids=["6x", "2.5x", "10x"]
)
def test_break_even_error_is_where_the_times_meet(k, wait_s, extra):
    slow, fast = with_wait(DEFAULT, float(wait_s)), with_wait(DEFAULT, wait_s / k)
    error = 0.25 + (extra + np.array([-0.006, 0.006])) / 100
    below, above = time_of(fast, error_rate=error) - time_of(slow)
    assert below < 0 < above


def test_the_examples_used_here_are_the_rows_they_are_taken_for():
    assert EXAMPLES["example"].iloc[0] == "A default" and float(DEFAULT.escape_factor) == 3
    assert SETS.escape_factor.tolist() == [3, 1, 15] and SETS.loc.tolist() == [50, 20, 200]
    assert (float(SPARK.tokens_per_s), float(SPARK.ttft_s), float(SPARK.handshake_s)) == (1000, 0.5, 0.02)
