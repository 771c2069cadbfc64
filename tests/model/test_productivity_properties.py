"""Twelve properties of the net productivity model, each over more than 10,000 cases; a test's name starts with its number.

A property is a function from Cases to what must hold, case by case. Hypothesis draws the cases and shrinks those that fail.
"""

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

from fastmode import productivity
from fastmode.productivity import TaskInputs, break_even_error, expected_error_cost_s, lost_time_s, task
from tests.model.mutation import mutated
from tests.model.productivity_cases import CASES, COLUMNS, FIELDS, batches, fixed_cases, spelled_out, wait_of
from tests.model.test_productivity_mutations import DEFAULT, MUTATIONS

BATCHES = 52
AT_LEAST = 10_000
EVER = 1e9  # attempts; stands for no limit
ROUNDING = 1e-12  # relative to the largest time in a sum
# Fields that stretching every time multiplies by a constant, and those it divides.
TIMES = (
    "theta_s", "kappa_s", "ttft_s", "handshake_s", "start_delay_s", "tool_time_s", "prompt_time_s", "reprompt_time_s",
    "fix_time_s", "baseline_s", "resume_s",
)  # fmt: skip
RATES = ("tokens_per_s", "review_rate_loc_per_h")


class Found(NamedTuple):
    holds: dict[str, np.ndarray]  # what must be true of a case, by name
    applies: np.ndarray | bool = True  # cases the property speaks of; the others are not counted


def first_failure(cases, found):
    """Words for the first case that breaks the property, or an empty text."""
    for name, holds in found.holds.items():
        broken = np.flatnonzero(~holds & found.applies)
        if broken.size:
            return f"not true that {name}: {cases.text(broken[0])}"
    return ""


def over_many_cases(check):
    """The test of a property: no failing case, and at least AT_LEAST different cases to which it applies."""
    seen = set()

    @settings(max_examples=BATCHES, deadline=None)
    @given(batches())
    def search(cases):
        found = check(cases)
        failure = first_failure(cases, found)
        assert not failure, failure
        applies = np.broadcast_to(found.applies, len(cases.keys))
        seen.update(key for key, counts in zip(cases.keys, applies, strict=True) if counts)

    def test():
        seen.clear()
        search()
        assert len(seen) >= AT_LEAST

    test.__name__, test.check = check.__name__, check
    return test


def time_of(inputs, **changes):
    return task(replace(inputs, **changes)).time_per_task_s


def close(found, expected, rounding=ROUNDING, scale=0.0):
    """Equal up to rounding, relative to the expected value or to `scale` where it is a small difference of large terms."""
    return np.abs(found - expected) <= rounding * np.maximum(np.abs(expected), scale)


def log_span(unit, low, high):
    return low * (high / low) ** unit


@over_many_cases
def test_1_without_errors_a_task_is_prompt_and_one_attempt(cases):
    result = task(replace(cases.inputs, error_rate=0))
    ends = {name: getattr(result, name) == 0 for name in ("retries", "p_manual", "p_escaped", "correction_time_s")}
    return Found(ends | {"T = P0 + A": close(result.time_per_task_s, cases.inputs.prompt_time_s + result.attempt_s)})


@over_many_cases
def test_2_one_attempt_pays_the_expected_cost_of_one_error(cases):
    i = cases.inputs
    result = task(replace(i, max_attempts=1))
    cost = i.error_rate * (i.detect * i.fix_time_s + (1 - i.detect) * i.escape_factor * i.fix_time_s)
    return Found({
        "G = 0": result.retries == 0,
        "T": close(result.time_per_task_s, i.prompt_time_s + result.attempt_s + cost),
    })  # fmt: skip


@over_many_cases
def test_3_without_detection_there_is_one_attempt_and_every_error_escapes(cases):
    i = cases.inputs
    result = task(replace(i, detect=0))
    cost = i.error_rate * i.escape_factor * i.fix_time_s
    return Found({
        "one attempt": result.attempts == 1,
        "Pm = 0": result.p_manual == 0,
        "Pe = e": result.p_escaped == i.error_rate,
        "T": close(result.time_per_task_s, i.prompt_time_s + result.attempt_s + cost),
    })  # fmt: skip


@over_many_cases
def test_4_with_perfect_detection_nothing_escapes_and_endless_retries_are_geometric(cases):
    i = cases.inputs
    error = np.minimum(i.error_rate, 1 - 1e-6)
    result = task(replace(i, detect=1, retry_ratio=1, error_rate=error, max_attempts=EVER))
    attempts = (result.attempt_s + error * i.reprompt_time_s) / (1 - error)
    return Found({
        "Pe = 0": task(replace(i, detect=1)).p_escaped == 0,
        "T": close(result.time_per_task_s, i.prompt_time_s + attempts),
    })  # fmt: skip


@over_many_cases
def test_5_certain_and_caught_errors_use_every_attempt_and_a_fix(cases):
    i = cases.inputs
    result = task(replace(i, error_rate=1, detect=1))
    k = i.max_attempts
    expected = i.prompt_time_s + k * result.attempt_s + (k - 1) * i.reprompt_time_s + i.fix_time_s
    return Found({
        "K attempts": result.attempts == k,
        "Pm = 1": result.p_manual == 1,
        "Pe = 0": result.p_escaped == 0,
        "T": close(result.time_per_task_s, expected),
    })  # fmt: skip


@over_many_cases
def test_6_time_strictly_increases_with_the_error_rate(cases):
    i = replace(cases.inputs, reuse=np.minimum(cases.inputs.reuse, COLUMNS["reuse"].edges[-1]))
    higher = i.error_rate + (1 - i.error_rate) * cases.one
    before, after = task(i), time_of(i, error_rate=higher)
    # Every further error costs at least an escape if missed, and if caught a fix or another attempt.
    caught = np.where(i.max_attempts == 1, i.fix_time_s, before.attempt_s + i.reprompt_time_s)
    slope = (1 - i.detect) * i.escape_factor * i.fix_time_s + i.detect * caught
    least = (higher - i.error_rate) * slope
    rounding = ROUNDING * after
    visible = (expected_error_cost_s(i.detect, i.fix_time_s, i.escape_factor) > 0) & (least > rounding)
    return Found({
        "T does not fall": after >= before.time_per_task_s - rounding,
        "T rises": (after > before.time_per_task_s) | ~visible,
        "T rises by the least an error costs": after - before.time_per_task_s >= least - rounding,
    }, visible)  # fmt: skip


@over_many_cases
def test_6_time_strictly_increases_with_every_wait(cases):
    i = replace(cases.inputs, reuse=np.minimum(cases.inputs.reuse, COLUMNS["reuse"].edges[-1]))
    before, more = task(i), log_span(cases.one, 0.1, 1000)
    holds = {}
    for name, per_second in (("ttft_s", i.calls), ("handshake_s", i.calls), ("start_delay_s", 1), ("tool_time_s", 1)):
        rise = time_of(i, **{name: getattr(i, name) + more}) - before.time_per_task_s
        least = before.attempts * (1 - i.reuse) * per_second * more
        holds[f"T rises with {name}"] = rise > 0
        rounding = ROUNDING * before.time_per_task_s + 1e-9 * least
        holds[f"T rises by the wait not reused, {name}"] = rise >= least - rounding
    return Found(holds)


@over_many_cases
def test_6_time_never_falls_with_the_cost_of_an_error(cases):
    i, more = cases.inputs, log_span(cases.one, 1, 1000)
    before = task(i)
    # Field, probability by which it is multiplied, and what one unit of it costs with that probability.
    rows = (
        ("reprompt_time_s", before.retries, before.retries),
        ("fix_time_s", before.p_manual + before.p_escaped * i.escape_factor, before.p_manual + before.p_escaped * i.escape_factor),
        ("escape_factor", before.p_escaped * (i.fix_time_s > 0), before.p_escaped * i.fix_time_s),
    )  # fmt: skip
    holds = {}
    for name, probability, each in rows:
        after = time_of(i, **{name: getattr(i, name) + more})
        rise = after - before.time_per_task_s
        holds[f"T does not fall with {name}"] = rise >= 0
        holds[f"T rises with {name}"] = (rise > 0) | (probability <= 1e-6)
        holds[f"T is linear in {name}"] = close(rise, each * more, scale=after)
    return Found(holds, before.p_escaped * i.fix_time_s + before.p_manual > 1e-6)


@over_many_cases
def test_6_time_never_rises_with_speed_or_retry_success(cases):
    i = cases.inputs
    before = time_of(i)
    faster = time_of(i, tokens_per_s=i.tokens_per_s * log_span(cases.one, 1, 1e4))
    better = time_of(i, retry_ratio=i.retry_ratio + 3 * cases.one)
    limit = before * (1 + ROUNDING)
    return Found({"T does not rise with v": faster <= limit, "T does not rise with s": better <= limit})


@over_many_cases
def test_6_catching_more_pays_only_if_another_attempt_is_cheaper_than_an_escape(cases):
    # Derivatives of the two special cases. K = 1: e (F_m - M). s = 1 without limit: of the sign of F_p + A - (1 - e) M.
    i = cases.inputs
    error, escape = np.minimum(i.error_rate, 1 - 1e-6), i.escape_factor * i.fix_time_s
    low, high = i.detect, i.detect + (1 - i.detect) * cases.one
    once = replace(i, max_attempts=1)
    before, after = time_of(once), time_of(once, detect=high)
    linear = i.error_rate * (high - low) * (i.fix_time_s - escape)
    ever = replace(i, max_attempts=EVER, retry_ratio=1, error_rate=error)
    least, most = task(ever), time_of(ever, detect=high)
    dearer = i.reprompt_time_s + least.attempt_s - (1 - error) * escape
    change = error * (high - low) * dearer / ((1 - error * low) * (1 - error * high))
    return Found({
        "one attempt": close(after - before, linear, scale=np.maximum(before, after)),
        "no limit": close(most - least.time_per_task_s, change, 1e-9, scale=np.maximum(most, least.time_per_task_s)),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("escape_factor", "times"),
    [(3, (1826.987993, 1539.966469, 1255.922977)), (0, (894.644292, 1001.766469, 1112.597977))],
    ids=["catching pays", "catching costs"],
)
def test_6_time_is_not_monotone_in_detection(escape_factor, times):
    # Default set, d = 0.25, 0.6, 0.9: T = 832.753451 + 223.188363 d + 97.5 d^2 + M (1 - d)(0.25 + 0.0625 d), M = 4680 or 0.
    inputs = replace(DEFAULT, escape_factor=escape_factor, detect=np.array([0.25, 0.6, 0.9]))
    np.testing.assert_allclose(task(inputs).time_per_task_s, times, atol=2e-6)


@over_many_cases
def test_7_infinite_token_speed_leaves_the_rest_of_the_wait(cases):
    i = cases.inputs
    rest = i.start_delay_s + i.calls * (i.handshake_s + i.ttft_s) + i.tool_time_s
    floor, nearly = task(replace(i, tokens_per_s=np.inf)), task(replace(i, tokens_per_s=1e15))
    # The last tokens still cost at most the wait itself and the start of a switch.
    left = nearly.attempts * (i.n_out / 1e15) * (1 + i.resume_s / i.kappa_s)
    return Found({
        "W": close(floor.wait_s, rest),
        "T is that of no output": floor.time_per_task_s == time_of(i, n_out=0),
        "T is above the floor": task(i).time_per_task_s >= floor.time_per_task_s,
        "T tends to the floor": close(nearly.time_per_task_s, floor.time_per_task_s + left / 2, scale=left / ROUNDING),
    })  # fmt: skip


@over_many_cases
def test_7_speed_up_of_the_wait_is_bounded_by_the_share_of_decoding(cases):
    i, factor = cases.inputs, log_span(cases.one, 1, 1e9)
    slow, fast = task(i), task(replace(i, tokens_per_s=i.tokens_per_s * factor))
    rest = 1 - slow.wait_decode_s / slow.wait_s
    # rest is a difference that loses digits where nearly all of the wait is decoding.
    rounding = ROUNDING + 4 * np.finfo(float).eps / rest
    return Found({
        "bound": slow.wait_s / fast.wait_s <= (1 + rounding) / rest,
        "Amdahl": close(slow.wait_s / fast.wait_s, 1 / (rest + (1 - rest) / factor), rounding),
    })  # fmt: skip


@over_many_cases
def test_8_lost_time_is_continuous_at_the_threshold(cases):
    i, step = cases.inputs, log_span(cases.one, 1e-9, 1)

    def lost(wait):
        return lost_time_s(wait, i.theta_s, i.kappa_s, i.resume_s, i.reuse)

    steepest, rounding = 1 + i.resume_s / i.kappa_s, ROUNDING * (i.theta_s + i.resume_s)
    return Found({
        "L(theta) = theta": lost(i.theta_s) == i.theta_s,
        "from above": np.abs(lost(i.theta_s + step) - i.theta_s) <= steepest * step + rounding,
        "from below": close(lost(i.theta_s - step), i.theta_s - step),
    })  # fmt: skip


@over_many_cases
def test_8_lost_time_increases_and_never_exceeds_wait_and_switch(cases):
    i = replace(cases.inputs, reuse=np.minimum(cases.inputs.reuse, COLUMNS["reuse"].edges[-1]))
    wait, more = wait_of(i), log_span(cases.one, 1e-3, 1e4)
    lost, later = (lost_time_s(w, i.theta_s, i.kappa_s, i.resume_s, i.reuse) for w in (wait, wait + more))
    steepest, rounding = 1 + i.resume_s / i.kappa_s, ROUNDING * (wait + more + i.resume_s)
    return Found({
        "L rises": (later > lost) | ((1 - i.reuse) * more <= rounding),
        "L rises by the wait not reused": later - lost >= (1 - i.reuse) * more - rounding,
        "L has no jump": later - lost <= steepest * more + rounding,
        "L <= W + R": lost <= wait + i.resume_s + rounding,
        "L >= min(W, theta)": lost >= np.minimum(wait, i.theta_s),
        "the model's own": lost == task(i).lost_s,
    }, (1 - i.reuse) * more > rounding)  # fmt: skip


@over_many_cases
def test_9_every_task_ends_in_exactly_one_way(cases):
    result = task(cases.inputs)
    accepted = result.retries * (1 - result.retry_error)
    ends = np.array([1 - cases.inputs.error_rate, accepted, result.p_manual, result.p_escaped])
    return Found({
        "sum": np.abs(ends.sum(axis=0) - 1) <= ROUNDING,
        "from 0": (ends >= 0).all(axis=0),
        "to 1": (ends <= 1 + ROUNDING).all(axis=0),
    })  # fmt: skip


@over_many_cases
def test_10_free_time_leaves_the_token_cost(cases):
    i = cases.inputs
    result = task(replace(i, wage_usd_per_h=0))
    tokens = result.attempts * (i.n_in * i.price_in_usd_per_mtok + i.n_out * i.price_out_usd_per_mtok) / 1e6
    return Found({
        "C is the token cost": result.cost_per_task_usd == result.token_cost_usd,
        "token cost": close(result.token_cost_usd, tokens),
    })  # fmt: skip


@over_many_cases
def test_10_cost_is_linear_in_wage_and_prices(cases):
    i, result = cases.inputs, task(cases.inputs)
    holds = {}
    for name, each in (
        ("wage_usd_per_h", result.time_per_task_s / 3600),
        ("price_in_usd_per_mtok", result.attempts * i.n_in / 1e6),
        ("price_out_usd_per_mtok", result.attempts * i.n_out / 1e6),
    ):
        more = 1000 * cases.one
        after = task(replace(i, **{name: getattr(i, name) + more})).cost_per_task_usd
        holds[name] = close(after - result.cost_per_task_usd, each * more, scale=after)
    return Found(holds)


@over_many_cases
def test_11_stretching_every_time_leaves_net_productivity(cases):
    def stretched(factor):
        times = {name: getattr(cases.inputs, name) * factor for name in TIMES}
        return task(replace(cases.inputs, **times, **{name: getattr(cases.inputs, name) / factor for name in RATES}))

    factor, doubled = log_span(cases.one, 0.01, 100), 2.0 ** np.round(20 * cases.other - 10)
    before, after, exact = task(cases.inputs), stretched(factor), stretched(doubled)
    return Found({
        "NP": close(after.net_productivity, before.net_productivity, 1e-9),
        "T": close(after.time_per_task_s, factor * before.time_per_task_s, 1e-9),
        # Powers of two shift the exponent only: not a digit may change.
        "NP exactly": exact.net_productivity == before.net_productivity,
        "T exactly": exact.time_per_task_s == doubled * before.time_per_task_s,
    })  # fmt: skip


@over_many_cases
def test_12_one_attempt_break_even_is_wait_saved_over_the_cost_of_an_error(cases):
    slow = replace(cases.inputs, max_attempts=1)
    fast = replace(slow, tokens_per_s=slow.tokens_per_s * log_span(cases.one, 0.1, 100))
    cost = expected_error_cost_s(slow.detect, slow.fix_time_s, slow.escape_factor)
    before, after = task(slow), task(fast)
    with np.errstate(all="ignore"):
        expected = slow.error_rate + (before.lost_s - after.lost_s) / cost
        rounding = ROUNDING + 8 * np.finfo(float).eps * (before.time_per_task_s + after.time_per_task_s) / cost
    found = break_even_error(fast, before.time_per_task_s)
    inside = (expected > rounding) & (expected < 1 - rounding)
    return Found({
        "e*": (np.abs(found - expected) <= rounding) | ~inside,
        "never pays": np.isnan(found) | ~(expected < -rounding),
        "always pays": (found == 1) | ~(expected > 1 + rounding),
    }, (cost > 0) & (np.abs(expected) > rounding) & (np.abs(expected - 1) > rounding))  # fmt: skip


@over_many_cases
def test_every_output_is_that_of_the_process_spelled_out_attempt_by_attempt(cases):
    i, result, expected = cases.inputs, task(cases.inputs), spelled_out(cases.inputs)
    # Sums may lose digits where they nearly cancel; all of their terms are below these.
    scale = {"lost_s": expected["wait_s"] + i.resume_s, "saved_s": i.baseline_s + 2 * expected["time_per_task_s"]}
    scale |= {"retry_error": 1, "attempts": 1, "p_manual": 1, "p_escaped": 1}
    holds = {name: close(getattr(result, name), value, scale=scale.get(name, 0)) for name, value in expected.items()}
    holds["value_ratio"] |= np.isnan(result.value_ratio) & (result.cost_per_task_usd == 0)  # nothing over nothing
    return Found(holds)


@over_many_cases
def test_break_even_error_separates_paying_from_not_paying(cases):
    i = cases.inputs
    reference_s = time_of(i) * log_span(cases.one, 0.5, 2)
    found = break_even_error(i, reference_s)
    never, always = np.isnan(found), found == 1
    at = time_of(i, error_rate=np.where(never, 0, found))
    return Found({
        "never pays": (at > reference_s * (1 - ROUNDING)) | ~never,
        "always pays": (at <= reference_s * (1 + 1e-9)) | ~always,
        "ties at e*": close(at, reference_s, 1e-9) | never | always,
    })  # fmt: skip


# Property -> a mistake it must notice: the name of one in MUTATIONS, or right and wrong text.
NOTICED = (
    (test_1_without_errors_a_task_is_prompt_and_one_attempt, ("caught = error * detect", "caught = detect")),
    (test_2_one_attempt_pays_the_expected_cost_of_one_error, "escape factor ignored"),
    (test_3_without_detection_there_is_one_attempt_and_every_error_escapes, "caught and missed swapped"),
    (test_4_with_perfect_detection_nothing_escapes_and_endless_retries_are_geometric, "retry costs no attempt"),
    (test_5_certain_and_caught_errors_use_every_attempt_and_a_fix, "no limit at x = 1"),
    (test_6_time_strictly_increases_with_the_error_rate, "manual fix on every retry"),
    (test_6_time_strictly_increases_with_every_wait, "set-up once, not per call"),
    (test_6_time_never_falls_with_the_cost_of_an_error, "re-prompt free"),
    (test_6_time_never_rises_with_speed_or_retry_success, "retry success above one"),
    (test_6_catching_more_pays_only_if_another_attempt_is_cheaper_than_an_escape, "retries never miss"),
    (test_7_infinite_token_speed_leaves_the_rest_of_the_wait, "tools left out of the wait"),
    (
        test_7_speed_up_of_the_wait_is_bounded_by_the_share_of_decoding,
        ("i.n_out / i.tokens_per_s", "i.n_out / i.tokens_per_s**0.9"),
    ),
    (test_8_lost_time_is_continuous_at_the_threshold, "full switch at once"),
    (test_8_lost_time_increases_and_never_exceeds_wait_and_switch, "reuse of the whole wait"),
    (test_9_every_task_ends_in_exactly_one_way, "one power too many"),
    (test_10_free_time_leaves_the_token_cost, "tokens of one attempt only"),
    (test_10_cost_is_linear_in_wage_and_prices, "wage per second"),
    (test_11_stretching_every_time_leaves_net_productivity, ("(-beyond / kappa_s)", "(-beyond / 60.0)")),
    (test_12_one_attempt_break_even_is_wait_saved_over_the_cost_of_an_error, "break-even too coarse"),
    (test_every_output_is_that_of_the_process_spelled_out_attempt_by_attempt, "unaided errors all escape"),
    (test_every_output_is_that_of_the_process_spelled_out_attempt_by_attempt, "retry ratio ignored"),
    (test_every_output_is_that_of_the_process_spelled_out_attempt_by_attempt, "review rate per minute"),
    (test_every_output_is_that_of_the_process_spelled_out_attempt_by_attempt, "powers subtracted from one"),
    (test_break_even_error_separates_paying_from_not_paying, "break-even forgets escapes"),
)


@pytest.mark.parametrize(("prop", "mistake"), NOTICED, ids=[f"{prop.__name__}-{mistake}" for prop, mistake in NOTICED])
def test_a_wrong_formula_breaks_the_property(prop, mistake, monkeypatch):
    right, wrong = MUTATIONS[mistake][:2] if isinstance(mistake, str) else mistake
    model = mutated(monkeypatch, [productivity], right, wrong)[0]
    for name in ("break_even_error", "expected_error_cost_s", "lost_time_s", "task"):
        monkeypatch.setattr(sys.modules[__name__], name, getattr(model, name))
    cases = fixed_cases(2 * CASES)
    with np.errstate(all="ignore"):
        assert first_failure(cases, prop.check(cases)) != ""


def test_every_property_has_a_mistake_to_notice():
    properties = {value for name, value in globals().items() if name.startswith("test_") and hasattr(value, "check")}
    assert properties == {prop for prop, _mistake in NOTICED}


def test_a_failing_property_names_the_case_and_what_is_not_true():
    cases = fixed_cases(8)
    found = Found({"first": np.arange(8) < 9, "second": np.arange(8) < 3}, np.arange(8) != 3)
    assert first_failure(cases, found) == f"not true that second: {cases.text(4)}"
    assert cases.text(4).startswith(f"n_in={float(cases.inputs.n_in[4])!r}, n_out=")


def test_a_property_that_applies_to_too_few_cases_is_refused():
    test = over_many_cases(lambda cases: Found({"nothing": np.ones(CASES, dtype=bool)}, np.arange(CASES) < CASES // 2))
    with pytest.raises(AssertionError):
        test()


def test_drawn_cases_reach_every_edge_and_the_places_where_formulas_change():
    drawn = []

    @settings(max_examples=BATCHES, deadline=None)
    @given(batches())
    def search(cases):
        drawn.append(cases)

    search()
    values = {name: np.concatenate([getattr(cases.inputs, name) for cases in drawn]) for name in FIELDS}
    values |= {name: np.concatenate([getattr(cases, name) for cases in drawn]) for name in ("one", "other")}
    edges = [(name, edge) for name, column in COLUMNS.items() for edge in column.edges]
    assert [(name, edge) for name, edge in edges if (values[name] == edge).sum() < 10] == []
    i = TaskInputs(*(values[name] for name in FIELDS))
    again = (1 - np.minimum(1, i.retry_ratio * (1 - i.error_rate))) * i.detect
    wait, rounding = wait_of(i), np.spacing(wait_of(i))
    places = {
        "x = 1": again == 1,
        "x near 1": (again < 1) & (again > 1 - 1e-5),
        "x = 0": again == 0,
        "retries better than certain": i.retry_ratio * (1 - i.error_rate) > 1,
        "K = 1": i.max_attempts == 1,
        "threshold on the wait": i.theta_s == wait,
        "threshold just above": (i.theta_s > wait) & (i.theta_s <= wait + 2 * rounding),
        "threshold just below": (i.theta_s < wait) & (i.theta_s >= wait - 2 * rounding),
        "wait within the threshold": wait < 0.9 * i.theta_s,
        "u near 1": (i.reuse > 0.999) & (i.reuse < 1),
        "nothing drawn on an edge of the retries": (again > 0.01) & (again < 0.99) & (i.max_attempts > 2),
    }
    assert {place: int(here.sum()) for place, here in places.items() if here.sum() < 20} == {}
    inside = {name: (values[name] >= column.low) & (values[name] <= column.high) for name, column in COLUMNS.items()}
    # Beyond the controls: no output, a fix that takes no time, thresholds as long as the wait.
    assert {name for name, within in inside.items() if not within.all()} <= {"n_out", "fix_time_s", "theta_s"}
