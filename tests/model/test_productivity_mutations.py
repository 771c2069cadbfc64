"""Each way of getting a formula wrong must turn a named check red, and the right formulas none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode import productivity
from fastmode.productivity_csv import OUTPUTS, task_inputs
from tests.model.mutation import mutated

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv")
ALL = task_inputs(EXAMPLES)
DEFAULT = task_inputs(EXAMPLES.iloc[0])


def worked_examples(model):
    result = model.task(ALL)
    for column, field in OUTPUTS.items():
        np.testing.assert_allclose(getattr(result, field), EXAMPLES[column], rtol=0, atol=1e-6, err_msg=column)


def one_way_to_end(model):
    result = model.task(ALL)
    right = 1 - ALL.error_rate + result.retries * (1 - result.retry_error)
    np.testing.assert_allclose(right + result.p_manual + result.p_escaped, 1, atol=1e-12)


def slices_add_up(model):
    result = model.task(ALL)
    total = sum(getattr(result, name) for name in model.TIME_PARTS)
    np.testing.assert_allclose(total, result.time_per_task_s, rtol=1e-14)


def wait_parts_add_up(model):
    result = model.task(ALL)
    np.testing.assert_allclose(sum(getattr(result, name) for name in model.WAIT_PARTS), result.wait_s, rtol=1e-14)


def certain_errors_use_every_attempt(model):
    result = model.task(replace(DEFAULT, error_rate=1, detect=1, max_attempts=np.array([1, 2, 5])))
    np.testing.assert_allclose(result.attempts, [1, 2, 5])


def near_certain_errors(model):
    error = 1 - 1e-9
    result = model.task(replace(DEFAULT, error_rate=error, detect=1, max_attempts=4))
    np.testing.assert_allclose(result.retries, error + error**2 + error**3, rtol=1e-12)


def unknown_prices_leave_time(model):
    result = model.task(replace(DEFAULT, price_in_usd_per_mtok=np.nan))
    assert np.isfinite(result.time_per_task_s) and np.isnan(result.token_bill_usd)


def unused_tokens_need_no_price(model):
    assert np.isfinite(model.task(replace(DEFAULT, n_in=0, price_in_usd_per_mtok=np.nan)).token_bill_usd)


def own_time_breaks_even_at_own_error(model):
    time_s = productivity.task(ALL).time_per_task_s
    np.testing.assert_allclose(model.break_even_error(ALL, time_s), ALL.error_rate, atol=1e-9)


def never_and_always_pay(model):
    found = model.break_even_error(DEFAULT, np.array([800, 1e6]))
    np.testing.assert_array_equal(found, [np.nan, 1.0])


def opus_fast_wage(model):
    assert abs(float(model.break_even_wage(4.4275, 91.399619)) - 174.388) < 1e-2


def one_attempt_line(model):
    assert abs(float(model.tolerable_extra_error(100, 0.6, 1560, 3)) - 100 / 2808) < 1e-12


CHECKS = (
    worked_examples, one_way_to_end, slices_add_up, wait_parts_add_up, certain_errors_use_every_attempt,
    near_certain_errors, unknown_prices_leave_time, unused_tokens_need_no_price, own_time_breaks_even_at_own_error,
    never_and_always_pay, opus_fast_wage, one_attempt_line,
)  # fmt: skip

# What goes wrong: (right text, wrong text, check that must notice).
MUTATIONS = {
    "error in percent": ("(i.error_rate, i.detect, i.retry", "(i.error_rate / 100, i.detect, i.retry", worked_examples),
    "escape factor ignored": (
        "escape_cost = i.escape_factor * i.fix_time_s",
        "escape_cost = i.fix_time_s",
        worked_examples,
    ),
    "one attempt too many": (
        "further = max_attempts - 1.0",
        "further = max_attempts",
        certain_errors_use_every_attempt,
    ),
    "one power too many": ("caught * again**further", "caught * again**max_attempts", one_way_to_end),
    "retry ratio ignored": ("retry_ratio * (1.0 - error)", "(1.0 - error)", worked_examples),
    "retry success above one": (
        "np.minimum(1.0, retry_ratio * (1.0 - error))",
        "retry_ratio * (1.0 - error)",
        worked_examples,
    ),
    "retries never miss": ("(error + retry_error * retries)", "error", one_way_to_end),
    "caught and missed swapped": ("caught = error * detect", "caught = error * (1.0 - detect)", one_way_to_end),
    "no limit at x = 1": ("np.where(rest > 0, series, further)", "series", certain_errors_use_every_attempt),
    "powers subtracted from one": (
        "-np.expm1(further * np.log(np.maximum(again, _SMALLEST)))",
        "(1.0 - again**further)",
        near_certain_errors,
    ),
    "retry costs no attempt": ("i.reprompt_time_s + attempt)", "i.reprompt_time_s)", worked_examples),
    "re-prompt free": ("i.reprompt_time_s + attempt)", "attempt)", worked_examples),
    "manual fix on every retry": ("fixing = p_manual", "fixing = retries", worked_examples),
    "a slice left out of the total": (
        "reprompt + fixing + escaped\n        correction =",
        "reprompt + escaped\n        correction =",
        slices_add_up,
    ),
    "set-up once, not per call": (
        "i.calls * (i.handshake_s + i.ttft_s)",
        "i.handshake_s + i.calls * i.ttft_s",
        worked_examples,
    ),
    "tools left out of the wait": ("+ wait_decode + i.tool_time_s", "+ wait_decode", wait_parts_add_up),
    "start delay left out": ("wait = i.start_delay_s + wait_calls", "wait = wait_calls", wait_parts_add_up),
    "short waits below zero": ("np.maximum(wait - theta_s, 0.0)", "wait - theta_s", worked_examples),
    "full switch at once": ("-np.expm1(-beyond / kappa_s), 0.0", "1.0, 0.0", worked_examples),
    "reuse of the whole wait": (
        "np.minimum(wait, theta_s) +",
        "(1.0 - np.asarray(reuse)) * np.minimum(wait, theta_s) +",
        worked_examples,
    ),
    "review rate per minute": ("SECONDS_PER_HOUR * i.loc", "60.0 * i.loc", worked_examples),
    "tokens of one attempt only": ("token_cost = attempts * bill", "token_cost = bill", worked_examples),
    "prices per thousand": ("bill = bill / TOKENS_PER_MTOK", "bill = bill / 1e3", worked_examples),
    "prices swapped": (
        "_per_unit(i.n_in, i.price_in_usd_per_mtok)",
        "_per_unit(i.n_in, i.price_out_usd_per_mtok)",
        worked_examples,
    ),
    "unknown price of nothing": (
        "np.where(count == 0, 0.0, count * unit)",
        "count * unit",
        unused_tokens_need_no_price,
    ),
    "wage per second": (
        "_per_unit(i.wage_usd_per_h, time) / SECONDS_PER_HOUR",
        "_per_unit(i.wage_usd_per_h, time)",
        worked_examples,
    ),
    "price inside the time": (
        "wait = i.start_delay_s",
        "wait = 0 * i.price_in_usd_per_mtok + i.start_delay_s",
        unknown_prices_leave_time,
    ),
    "unaided errors ignored": (
        "i.baseline_s + i.baseline_error * (1.0 - i.detect) * escape_cost",
        "i.baseline_s",
        worked_examples,
    ),
    "unaided errors all escape": ("i.baseline_error * (1.0 - i.detect)", "i.baseline_error", worked_examples),
    "ratio upside down": ("unaided / time", "time / unaided", worked_examples),
    "break-even forgets the prompt": ("(i.prompt_time_s + lost + review)", "attempt", own_time_breaks_even_at_own_error),
    "break-even forgets escapes": (" + p_escaped * escape - budget", " - budget", own_time_breaks_even_at_own_error),
    "break-even too coarse": (
        "share = np.where(above > below, -below / (above - below), 0.0)",
        "share = 0.0",
        own_time_breaks_even_at_own_error,
    ),
    "never pays read as zero": (
        "np.where(at_none <= 0, crossing, np.nan)",
        "np.where(at_none <= 0, crossing, 0.0)",
        never_and_always_pay,
    ),
    "wage in USD per second": ("(saved / SECONDS_PER_HOUR)", "saved", opus_fast_wage),
    "all errors caught": (
        "+ (1.0 - detect) * np.asarray(escape_factor, dtype=float) * fix_time_s",
        "",
        one_attempt_line,
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_right_formulas_pass_the_check(check):
    check(productivity)


@pytest.mark.parametrize("name", MUTATIONS)
def test_wrong_formula_turns_its_check_red(monkeypatch, name):
    right, wrong, check = MUTATIONS[name]
    with pytest.raises(AssertionError):
        check(mutated(monkeypatch, [productivity], right, wrong)[0])
