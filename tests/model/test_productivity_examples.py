"""Stored figures of the net productivity model: worked examples, tables and break-evens."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode.productivity import break_even_error, break_even_wage, task, tolerable_extra_error
from fastmode.productivity_csv import OUTPUTS, task_inputs

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv")
DEFAULT = task_inputs(EXAMPLES.iloc[0])
SPARK = task_inputs(EXAMPLES[EXAMPLES["example"].str.startswith("I ")].iloc[0])
SETS = task_inputs(EXAMPLES.iloc[:3])  # default, favours speed, favours accuracy

# Default set with the escape factor varied; changes of time in percent, waits in seconds.
OMEGA = pd.DataFrame(
    [
        (0, 1002, 3.89, 4.2, -7.9, 115, -9.1, -20.4, 22, 0.1, 0.0),
        (1, 1181, 3.30, 18.6, 8.3, 322, -4.2, -13.8, 47, 14.8, 15.2),
        (2, 1361, 2.87, 29.1, 20.2, 528, -0.6, -8.9, 78, 25.7, 26.4),
        (3, 1540, 2.53, 37.3, 29.4, 726, 2.2, -5.2, 117, 34.0, 34.9),
        (5, 1899, 2.05, 48.9, 42.5, 1112, 6.1, 0.2, 209, 46.0, 47.2),
        (10, 2796, 1.39, 64.9, 60.6, 2060, 11.6, 7.5, 448, 62.4, 64.2),
        (15, 3693, 1.06, 73.1, 69.8, 3005, 14.4, 11.3, 677, 70.9, 72.9),
    ],
    columns=[
        "omega", "time", "np", "plus20_tokens", "plus20_whole", "plus20_above", "x12_tokens", "x12_whole", "x12_above",
        "spark", "escaped",
    ],
)  # fmt: skip
BY_OMEGA = replace(DEFAULT, escape_factor=OMEGA["omega"])

# Break-even extra error in points, default set, whole wait divided by k; 75 stands for "any".
ANY = 75.0
WAITS = [10, 60, 205, 600, 1200, 3600]
SPEED_UPS = [1.5, 2, 2.5, 4, 6, 10, 15, np.inf]
BREAK_EVEN_POINTS = [
    [0.12, 0.19, 0.22, 0.28, 0.31, 0.33, 0.35, 0.37],
    [1.11, 1.71, 2.10, 2.71, 3.06, 3.21, 3.28, 3.43],
    [2.59, 4.00, 4.91, 6.43, 7.38, 8.23, 8.69, 9.30],
    [6.61, 9.94, 11.96, 15.11, 17.03, 18.79, 19.80, 21.92],
    [12.07, 18.18, 21.88, 27.46, 30.64, 33.36, 34.89, 38.70],
    [27.43, 42.09, 51.17, 65.15, 73.09, ANY, ANY, ANY],
]


def time_of(inputs, **changes):
    return task(replace(inputs, **changes)).time_per_task_s


def tokens_faster(inputs, k):
    return replace(inputs, tokens_per_s=inputs.tokens_per_s * k)


def with_wait(inputs, wait_s):
    return replace(inputs, calls=0, n_out=0, start_delay_s=0, tool_time_s=wait_s)


def whole_wait_faster(inputs, k):
    return with_wait(inputs, task(inputs).wait_s / k)


def change_percent(fast, slow, **changes):
    return 100 * (time_of(fast, **changes) / time_of(slow) - 1)


def pays_above_s(inputs, error):
    """Wait from which dividing it by six makes up for the error, by bisection."""
    low, high = np.zeros(np.shape(time_of(inputs))), 1e5
    for _halving in range(60):
        middle = (low + high) / 2
        pays = time_of(with_wait(inputs, middle / 6), error_rate=error) < time_of(with_wait(inputs, middle))
        low, high = np.where(pays, low, middle), np.where(pays, middle, high)
    return high


@pytest.mark.parametrize("column", OUTPUTS)
def test_all_22_worked_examples(column):
    assert len(EXAMPLES) == 22
    found = getattr(task(task_inputs(EXAMPLES)), OUTPUTS[column])
    np.testing.assert_allclose(found, EXAMPLES[column], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("column", "found", "decimals"),
    [
        ("time", lambda: time_of(BY_OMEGA), 0),
        ("np", lambda: task(BY_OMEGA).net_productivity, 2),
        ("escaped", lambda: 100 * task(BY_OMEGA).escaped_s / time_of(BY_OMEGA), 1),
        ("plus20_tokens", lambda: change_percent(tokens_faster(BY_OMEGA, 6), BY_OMEGA, error_rate=0.45), 1),
        ("plus20_whole", lambda: change_percent(whole_wait_faster(BY_OMEGA, 6), BY_OMEGA, error_rate=0.45), 1),
        ("plus20_above", lambda: pays_above_s(BY_OMEGA, 0.45), 0),
        ("x12_tokens", lambda: change_percent(tokens_faster(BY_OMEGA, 6), BY_OMEGA, error_rate=0.30), 1),
        ("x12_whole", lambda: change_percent(whole_wait_faster(BY_OMEGA, 6), BY_OMEGA, error_rate=0.30), 1),
        ("x12_above", lambda: pays_above_s(BY_OMEGA, 0.30), 0),
        ("spark", lambda: change_percent(replace(SPARK, escape_factor=OMEGA["omega"]), BY_OMEGA), 1),
    ],
)
def test_table_of_escape_factors_0_to_15(column, found, decimals):
    np.testing.assert_allclose(found(), OMEGA[column], rtol=0, atol=0.5001 * 10.0**-decimals)


@pytest.mark.parametrize(
    ("error", "faster", "stored"),
    [
        (lambda e: e + 0.2, tokens_faster, [37.3, 2.5, 35.3]),
        (lambda e: e + 0.2, whole_wait_faster, [29.4, -33.2, 35.2]),
        (lambda e: e * 1.2, tokens_faster, [2.2, -11.3, 17.3]),
        (lambda e: e * 1.2, whole_wait_faster, [-5.2, -42.3, 17.2]),
    ],
)
def test_claim_table_of_the_three_assumption_sets(error, faster, stored):
    found = change_percent(faster(SETS, 6), SETS, error_rate=error(SETS.error_rate))
    np.testing.assert_allclose(found, stored, rtol=0, atol=0.05001)


def test_waits_above_which_six_times_faster_pays_in_the_three_sets():
    np.testing.assert_allclose(pays_above_s(SETS, SETS.error_rate + 0.2), [726, 12, 31242], rtol=0, atol=0.5)
    np.testing.assert_allclose(pays_above_s(SETS, SETS.error_rate * 1.2), [117, 5, 15231], rtol=0, atol=0.5)


def test_break_even_of_the_whole_wait_over_six_in_the_three_sets():
    extra = break_even_error(whole_wait_faster(SETS, 6), time_of(SETS)) - SETS.error_rate
    assert 100 * extra == pytest.approx([7.4, 53.4, 0.14], abs=0.05)


def test_break_even_table_of_waits_and_speed_ups():
    waits = np.array(WAITS, dtype=float)[:, None]
    slow = time_of(with_wait(DEFAULT, waits))
    found = break_even_error(with_wait(DEFAULT, waits / np.array(SPEED_UPS)), slow)
    np.testing.assert_allclose(100 * (found - 0.25), BREAK_EVEN_POINTS, rtol=0, atol=0.00501)


def test_break_even_error_of_spark_against_codex():
    assert break_even_error(SPARK, time_of(DEFAULT)) == pytest.approx(0.301, abs=0.0005)


def test_infinite_token_speed_tolerates_4_9_points():
    found = break_even_error(replace(DEFAULT, tokens_per_s=np.inf), time_of(DEFAULT))
    assert 100 * (found - 0.25) == pytest.approx(4.9, abs=0.05)


@pytest.mark.parametrize(
    ("tokens_per_s", "example", "usd_per_h"), [(162.5, "F", 174), (162.5, "G", 35), (170, "F", 169), (170, "G", 34)]
)
def test_wage_above_which_opus_fast_pays(tokens_per_s, example, usd_per_h):
    row = EXAMPLES[EXAMPLES["example"].str.startswith(example)].iloc[0]
    slow, fast = task(DEFAULT), task(replace(task_inputs(row), tokens_per_s=tokens_per_s))
    wage = break_even_wage(fast.token_cost_usd - slow.token_cost_usd, slow.time_per_task_s - fast.time_per_task_s)
    assert wage == pytest.approx(usd_per_h, abs=0.5)


def test_wages_above_which_opus_fast_pays_in_the_other_sets():
    price_in = np.array([[30], [10]])
    fast = task(replace(SETS, tokens_per_s=162.5, price_in_usd_per_mtok=price_in, price_out_usd_per_mtok=5 * price_in))
    slow = task(SETS)
    wage = break_even_wage(fast.token_cost_usd - slow.token_cost_usd, slow.time_per_task_s - fast.time_per_task_s)
    np.testing.assert_allclose(wage, [[174, 166, 938], [35, 33, 188]], rtol=0, atol=0.5)


def test_one_attempt_line_of_the_whole_wait_over_six():
    saved = task(DEFAULT).lost_s - task(whole_wait_faster(DEFAULT, 6)).lost_s
    # L(205.08) = 262.753451; L(34.18) = 34.179487 + 60 (1 - exp(-24.179487 / 60)) = 54.080; 208.67 / 2808 s.
    assert tolerable_extra_error(saved, 0.6, 1560, 3) == pytest.approx(0.07431, abs=2e-5)


@pytest.mark.parametrize(
    ("error", "time_s", "net", "plus20", "x12"),
    [
        (0.10, 1090.4, 3.58, 33.9, -15.4),
        (0.25, 1540.0, 2.53, 29.4, -5.2),
        (0.40, 2065.4, 1.89, 25.9, 2.1),
        (0.50, 2457.8, 1.59, 24.0, 5.8),
    ],
)
def test_table_of_error_rates_against_field_studies(error, time_s, net, plus20, x12):
    slow = replace(DEFAULT, error_rate=error)
    fast = whole_wait_faster(slow, 6)
    assert time_of(slow) == pytest.approx(time_s, abs=0.05)
    assert task(slow).net_productivity == pytest.approx(net, abs=0.005)
    assert change_percent(fast, slow, error_rate=error + 0.2) == pytest.approx(plus20, abs=0.05)
    assert change_percent(fast, slow, error_rate=error * 1.2) == pytest.approx(x12, abs=0.05)
