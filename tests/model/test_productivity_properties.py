"""Twelve properties of the net productivity model, over the whole range of inputs; a test's name starts with its number."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fastmode.productivity import TaskInputs, break_even_error, expected_error_cost_s, lost_time_s, task

EXAMPLES = settings(max_examples=200, deadline=None)


def number(low, high):
    return st.floats(low, high, allow_nan=False)


probability = number(0, 1)
TASKS = st.builds(
    TaskInputs,
    n_in=number(0, 5e5),
    n_out=number(1, 8e4),
    calls=st.integers(1, 200),
    tokens_per_s=number(5, 5000),
    ttft_s=number(0.01, 20),
    handshake_s=number(0, 1),
    start_delay_s=number(0, 300),
    tool_time_s=number(0, 3600),
    price_in_usd_per_mtok=number(0, 100),
    price_out_usd_per_mtok=number(0, 500),
    theta_s=number(0, 120),
    kappa_s=number(1, 600),
    resume_s=number(0, 1200),
    reuse=number(0, 0.95),
    prompt_time_s=number(1, 600),
    loc=number(0, 500),
    review_rate_loc_per_h=number(50, 1000),
    error_rate=probability,
    detect=probability,
    retry_ratio=number(0, 2),
    max_attempts=st.integers(1, 10),
    reprompt_time_s=number(0, 1200),
    fix_time_s=number(0, 7200),
    escape_factor=number(0, 30),
    wage_usd_per_h=number(0, 300),
    baseline_s=number(60, 2e4),
    baseline_error=probability,
)
# Fields that stretching every time multiplies by a constant, and those it divides.
TIMES = (
    "theta_s", "kappa_s", "ttft_s", "handshake_s", "start_delay_s", "tool_time_s", "prompt_time_s", "reprompt_time_s",
    "fix_time_s", "baseline_s", "resume_s",
)  # fmt: skip
RATES = ("tokens_per_s", "review_rate_loc_per_h")


def time_of(inputs, **changes):
    return float(task(replace(inputs, **changes)).time_per_task_s)


@EXAMPLES
@given(TASKS)
def test_1_without_errors_a_task_is_prompt_and_one_attempt(inputs):
    result = task(replace(inputs, error_rate=0, retry_ratio=max(1, inputs.retry_ratio)))
    assert (result.retries, result.p_manual, result.p_escaped) == (0, 0, 0)
    assert result.time_per_task_s == pytest.approx(inputs.prompt_time_s + result.attempt_s)


@EXAMPLES
@given(TASKS)
def test_2_one_attempt_pays_the_expected_cost_of_one_error(inputs):
    result = task(replace(inputs, max_attempts=1))
    fix, escape = inputs.fix_time_s, inputs.escape_factor * inputs.fix_time_s
    cost = inputs.error_rate * (inputs.detect * fix + (1 - inputs.detect) * escape)
    assert result.time_per_task_s == pytest.approx(inputs.prompt_time_s + result.attempt_s + cost)


@EXAMPLES
@given(TASKS)
def test_3_without_detection_there_is_one_attempt_and_every_error_escapes(inputs):
    result = task(replace(inputs, detect=0))
    assert result.attempts == 1
    cost = inputs.error_rate * inputs.escape_factor * inputs.fix_time_s
    assert result.time_per_task_s == pytest.approx(inputs.prompt_time_s + result.attempt_s + cost)


@EXAMPLES
@given(TASKS, number(0, 0.95))
def test_4_with_perfect_detection_nothing_escapes_and_retries_are_geometric(inputs, error):
    result = task(replace(inputs, detect=1, retry_ratio=1, error_rate=error, max_attempts=1000))
    attempts = (result.attempt_s + error * inputs.reprompt_time_s) / (1 - error)
    assert result.p_escaped == 0
    assert result.time_per_task_s == pytest.approx(inputs.prompt_time_s + attempts)


@EXAMPLES
@given(TASKS)
def test_5_certain_and_caught_errors_use_every_attempt_and_a_fix(inputs):
    result = task(replace(inputs, error_rate=1, detect=1))
    k = inputs.max_attempts
    expected = inputs.prompt_time_s + k * result.attempt_s + (k - 1) * inputs.reprompt_time_s + inputs.fix_time_s
    assert result.p_manual == 1
    assert result.time_per_task_s == pytest.approx(expected)


@EXAMPLES
@given(TASKS, probability, probability)
def test_6_time_strictly_increases_with_the_error_rate(inputs, one, other):
    low, high = sorted((one, other))
    assume(high - low > 1e-4 and expected_error_cost_s(inputs.detect, inputs.fix_time_s, inputs.escape_factor) > 1)
    assert time_of(inputs, error_rate=low) < time_of(inputs, error_rate=high)


@EXAMPLES
@given(TASKS, st.sampled_from(["ttft_s", "handshake_s", "start_delay_s", "tool_time_s"]), number(0.1, 1000))
def test_6_time_strictly_increases_with_every_wait(inputs, name, more):
    assert time_of(inputs, **{name: getattr(inputs, name) + more}) > time_of(inputs)


@EXAMPLES
@given(TASKS, st.sampled_from(["reprompt_time_s", "fix_time_s", "escape_factor"]), number(1, 1000))
def test_6_time_never_falls_with_the_cost_of_an_error(inputs, name, more):
    result = task(inputs)
    escape = result.p_escaped * inputs.escape_factor
    weight = {
        "reprompt_time_s": result.retries,
        "fix_time_s": result.p_manual + escape,
        "escape_factor": result.p_escaped * inputs.fix_time_s,
    }[name]
    grown, before = time_of(inputs, **{name: getattr(inputs, name) + more}), time_of(inputs)
    assert grown > before if weight > 1e-6 else grown >= before


@EXAMPLES
@given(TASKS, number(1, 100))
def test_6_time_never_rises_with_speed(inputs, factor):
    assert time_of(inputs, tokens_per_s=inputs.tokens_per_s * factor) <= time_of(inputs) * (1 + 1e-12)


@EXAMPLES
@given(TASKS, number(0, 1))
def test_6_time_never_rises_with_retry_success(inputs, more):
    assert time_of(inputs, retry_ratio=inputs.retry_ratio + more) <= time_of(inputs) * (1 + 1e-12)


@EXAMPLES
@given(TASKS)
def test_7_infinite_token_speed_leaves_the_rest_of_the_wait(inputs):
    result = task(replace(inputs, tokens_per_s=1e18))
    rest = inputs.start_delay_s + inputs.calls * (inputs.handshake_s + inputs.ttft_s) + inputs.tool_time_s
    assert result.wait_s == pytest.approx(rest)
    assert result.time_per_task_s == pytest.approx(time_of(inputs, n_out=0))


@EXAMPLES
@given(TASKS, number(1, 1e9))
def test_7_speed_up_of_the_wait_is_bounded_by_the_share_of_decoding(inputs, factor):
    slow, fast = task(inputs), task(replace(inputs, tokens_per_s=inputs.tokens_per_s * factor))
    bound = 1 / (1 - slow.wait_decode_s / slow.wait_s)
    assert slow.wait_s / fast.wait_s <= bound * (1 + 1e-9)


@EXAMPLES
@given(TASKS)
def test_8_lost_time_is_continuous_at_the_threshold(inputs):
    step = 1e-9
    around = np.array([-step, 0, step]) + inputs.theta_s
    lost = lost_time_s(around, inputs.theta_s, inputs.kappa_s, inputs.resume_s, inputs.reuse)
    assert np.abs(np.diff(lost)).max() < step * (2 + inputs.resume_s / inputs.kappa_s) + 1e-12


@EXAMPLES
@given(TASKS, number(0, 1e4), number(1e-3, 1e4))
def test_8_lost_time_increases_and_never_exceeds_wait_and_switch(inputs, wait, more):
    waits = np.array([wait, wait + more])
    lost = lost_time_s(waits, inputs.theta_s, inputs.kappa_s, inputs.resume_s, inputs.reuse)
    assert lost[0] < lost[1]
    assert (lost <= waits + inputs.resume_s + 1e-9).all()


@EXAMPLES
@given(TASKS)
def test_9_every_task_ends_in_exactly_one_way(inputs):
    result = task(inputs)
    ends = np.array([
        1 - inputs.error_rate, result.retries * (1 - result.retry_error), result.p_manual, result.p_escaped,
    ])  # fmt: skip
    assert ends.sum() == pytest.approx(1, abs=1e-12)
    assert (ends >= 0).all() and (ends <= 1 + 1e-12).all()


@EXAMPLES
@given(TASKS)
def test_10_free_time_leaves_the_token_cost(inputs):
    result = task(replace(inputs, wage_usd_per_h=0))
    assert result.cost_per_task_usd == result.token_cost_usd


@EXAMPLES
@given(TASKS, number(0, 10))
def test_10_cost_is_linear_in_wage_and_prices(inputs, factor):
    result, time_h = task(inputs), time_of(inputs) / 3600
    dearer = replace(
        inputs,
        price_in_usd_per_mtok=factor * inputs.price_in_usd_per_mtok,
        price_out_usd_per_mtok=factor * inputs.price_out_usd_per_mtok,
        wage_usd_per_h=inputs.wage_usd_per_h + factor,
    )
    expected = factor * result.token_cost_usd + (inputs.wage_usd_per_h + factor) * time_h
    assert task(dearer).cost_per_task_usd == pytest.approx(expected, rel=1e-9, abs=1e-12)


@EXAMPLES
@given(TASKS, number(0.01, 100))
def test_11_stretching_every_time_leaves_net_productivity(inputs, factor):
    stretched = {name: getattr(inputs, name) * factor for name in TIMES}
    stretched |= {name: getattr(inputs, name) / factor for name in RATES}
    after, before = task(replace(inputs, **stretched)), task(inputs)
    assert after.net_productivity == pytest.approx(float(before.net_productivity), rel=1e-9)
    assert after.time_per_task_s == pytest.approx(factor * float(before.time_per_task_s), rel=1e-9)


@EXAMPLES
@given(TASKS, number(1.01, 100))
def test_12_one_attempt_break_even_is_wait_saved_over_the_cost_of_an_error(inputs, speed_up):
    slow = replace(inputs, max_attempts=1)
    fast = replace(slow, tokens_per_s=slow.tokens_per_s * speed_up)
    cost = expected_error_cost_s(inputs.detect, inputs.fix_time_s, inputs.escape_factor)
    assume(cost > 1)
    expected = inputs.error_rate + (task(slow).lost_s - task(fast).lost_s) / cost
    assert break_even_error(fast, time_of(slow)) == pytest.approx(min(1.0, float(expected)), abs=1e-9)


@EXAMPLES
@given(TASKS, number(0.5, 2))
def test_break_even_error_separates_paying_from_not_paying(inputs, ratio):
    assume(expected_error_cost_s(inputs.detect, inputs.fix_time_s, inputs.escape_factor) > 1)
    reference_s = ratio * time_of(inputs)
    found = float(break_even_error(inputs, reference_s))
    if np.isnan(found):
        assert time_of(inputs, error_rate=0) > reference_s
    elif found == 1:
        assert time_of(inputs, error_rate=1) <= reference_s * (1 + 1e-9)
    else:
        assert time_of(inputs, error_rate=found) == pytest.approx(reference_s, rel=1e-9)
