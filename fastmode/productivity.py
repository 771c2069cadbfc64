"""Net productivity: developer time and cost of one accepted task.

One task is attempted by the AI, waited for and reviewed. A right result is accepted. A wrong one that the review misses
is accepted too and costs more later (an escape). A wrong one that is caught is re-prompted, up to `max_attempts`
attempts, and then fixed by hand. Every task ends accepted.

The equations are derived here from that process, not taken from a publication: the number of retries is a truncated
geometric series. Where the default values come from stands row by row in data/assumptions.csv. Times are seconds, money
is USD, token prices are USD per million tokens, probabilities are fractions of one.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from fastmode.units import SECONDS_PER_HOUR, TOKENS_PER_MTOK

# The six slices of task time, in the order in which they are stacked and summed.
TIME_PARTS = ("prompt_s", "waiting_s", "reviewing_s", "reprompt_s", "fixing_s", "escaped_s")
WAIT_PARTS = ("wait_start_s", "wait_calls_s", "wait_decode_s", "wait_tools_s")

# Enough halvings that the closing secant step of break_even_error is exact to about 1e-12.
_BISECTIONS = 20
_SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class TaskInputs:
    """Inputs of one task: scalars, or arrays that broadcast against each other.

    NaN or None means unknown. Ranges are checked where values enter (scenario, CSV), not here.

    n_in, n_out: input tokens billed in full and output tokens, per attempt
    calls: model calls per attempt
    tokens_per_s: output tokens per second of one user
    ttft_s, handshake_s: time to first token without connection set-up, and that set-up, both per call
    start_delay_s: one-off delay before the first call of an attempt
    tool_time_s: tests, builds and file access per attempt
    price_in_usd_per_mtok, price_out_usd_per_mtok: list prices
    theta_s, kappa_s, resume_s: attention threshold, drift constant, cost of a full context switch
    reuse: share of the wait beyond theta_s spent on other work
    prompt_time_s: writing the request
    loc, review_rate_loc_per_h: lines to review and lines reviewed per hour
    error_rate: P(the first output is not right)
    detect: P(review or tests catch a wrong output)
    retry_ratio: success of a retry over success of the first try
    max_attempts: AI attempts before a fix by hand, at least 1
    reprompt_time_s, fix_time_s: diagnosing and re-prompting once, fixing by hand once
    escape_factor: cost of an escaped error, in fixes by hand
    wage_usd_per_h: cost of an hour of the developer
    baseline_s, baseline_error: unaided time, and P(unaided work fails the same bar)
    """

    n_in: ArrayLike
    n_out: ArrayLike
    calls: ArrayLike
    tokens_per_s: ArrayLike
    ttft_s: ArrayLike
    handshake_s: ArrayLike
    start_delay_s: ArrayLike
    tool_time_s: ArrayLike
    price_in_usd_per_mtok: ArrayLike
    price_out_usd_per_mtok: ArrayLike
    theta_s: ArrayLike
    kappa_s: ArrayLike
    resume_s: ArrayLike
    reuse: ArrayLike
    prompt_time_s: ArrayLike
    loc: ArrayLike
    review_rate_loc_per_h: ArrayLike
    error_rate: ArrayLike
    detect: ArrayLike
    retry_ratio: ArrayLike
    max_attempts: ArrayLike
    reprompt_time_s: ArrayLike
    fix_time_s: ArrayLike
    escape_factor: ArrayLike
    wage_usd_per_h: ArrayLike
    baseline_s: ArrayLike
    baseline_error: ArrayLike


@dataclass(frozen=True, eq=False)
class TaskResult:
    """Outputs of `task`; every field has the common shape of the inputs (some are read-only views).

    The six slices of TIME_PARTS add up to time_per_task_s in that order; the four of WAIT_PARTS to wait_s.
    """

    wait_start_s: np.ndarray  # before the first call
    wait_calls_s: np.ndarray  # connection set-up and first tokens of all calls
    wait_decode_s: np.ndarray  # writing the output tokens
    wait_tools_s: np.ndarray  # tests, builds, file access
    wait_s: np.ndarray  # clock time of one attempt, W
    lost_s: np.ndarray  # developer time lost to that wait, L(W)
    review_s: np.ndarray  # one review, V
    attempt_s: np.ndarray  # one attempt, A = L(W) + V
    retry_error: np.ndarray  # P(a retry is not right)
    retries: np.ndarray  # expected, G
    attempts: np.ndarray  # 1 + G
    p_manual: np.ndarray  # P(fixed by hand)
    p_escaped: np.ndarray  # P(an error is accepted)
    prompt_s: np.ndarray
    waiting_s: np.ndarray  # first attempt
    reviewing_s: np.ndarray  # first attempt
    reprompt_s: np.ndarray  # G (F_p + A): everything of the further attempts
    fixing_s: np.ndarray
    escaped_s: np.ndarray
    correction_time_s: np.ndarray  # everything beyond prompt and first attempt
    correction_share: np.ndarray  # of time_per_task_s
    time_per_task_s: np.ndarray  # per accepted task, T
    token_bill_usd: np.ndarray  # one attempt
    token_cost_usd: np.ndarray  # per accepted task
    cost_per_task_usd: np.ndarray  # tokens and developer time, C
    net_productivity: np.ndarray  # unaided time over time_per_task_s
    saved_s: np.ndarray  # unaided time minus time_per_task_s
    value_ratio: np.ndarray  # wage cost of the unaided task over cost_per_task_usd


def _per_unit(count: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """count x unit, zero where count is zero even if unit is unknown: what is not used need not be known."""
    return np.where(count == 0, 0.0, count * unit)


def lost_time_s(
    wait_s: ArrayLike, theta_s: ArrayLike, kappa_s: ArrayLike, resume_s: ArrayLike, reuse: ArrayLike
) -> np.ndarray:
    """Developer time lost to a wait, L(W), in seconds.

    Up to theta_s the developer sits the wait out. Beyond it a share `reuse` goes to other work, and coming back costs
    up to resume_s, approached exponentially over kappa_s. Arguments broadcast.
    """
    with np.errstate(all="ignore"):
        wait = np.asarray(wait_s, dtype=float)
        beyond = np.maximum(wait - theta_s, 0.0)
        # The condition keeps 0/0 out when kappa_s is 0 (an immediate full switch).
        switch = np.where(beyond > 0, -np.expm1(-beyond / kappa_s), 0.0)
        return np.minimum(wait, theta_s) + (1.0 - np.asarray(reuse)) * beyond + resume_s * switch


def expected_error_cost_s(detect: ArrayLike, fix_time_s: ArrayLike, escape_factor: ArrayLike) -> np.ndarray:
    """Expected cost of one wrong output when there is no retry, C_err = d F_m + (1-d) omega F_m, in seconds."""
    detect, fix_time_s = np.asarray(detect, dtype=float), np.asarray(fix_time_s, dtype=float)
    return detect * fix_time_s + (1.0 - detect) * np.asarray(escape_factor, dtype=float) * fix_time_s


def _as_arrays(inputs: TaskInputs) -> TaskInputs:
    return TaskInputs(*(np.asarray(getattr(inputs, field.name), dtype=float) for field in fields(TaskInputs)))


def _attempt(i: TaskInputs):
    """(wait in calls, wait in decoding, wait, time lost to it, review) of one attempt, in seconds."""
    wait_calls = i.calls * (i.handshake_s + i.ttft_s)
    wait_decode = np.where(i.n_out == 0, 0.0, i.n_out / i.tokens_per_s)
    wait = i.start_delay_s + wait_calls + wait_decode + i.tool_time_s
    lost = lost_time_s(wait, i.theta_s, i.kappa_s, i.resume_s, i.reuse)
    review = SECONDS_PER_HOUR * i.loc / i.review_rate_loc_per_h
    return wait_calls, wait_decode, wait, lost, review


def _corrections(error, detect, retry_ratio, max_attempts):
    """(retry_error, retries, p_manual, p_escaped) of the retry process; float arrays that broadcast."""
    retry_error = 1.0 - np.minimum(1.0, retry_ratio * (1.0 - error))
    again = retry_error * detect  # P(a retry is wrong and caught), x
    further = max_attempts - 1.0
    caught = error * detect
    # (1 - x^n) / (1 - x), written with expm1 so that it stays accurate close to x = 1, where it tends to n.
    rest = 1.0 - again
    series = -np.expm1(further * np.log(np.maximum(again, _SMALLEST))) / rest
    retries = caught * np.where(rest > 0, series, further)
    p_manual = caught * again**further
    p_escaped = (1.0 - detect) * (error + retry_error * retries)
    return retry_error, retries, p_manual, p_escaped


def task(inputs: TaskInputs) -> TaskResult:
    """Time, cost and net productivity of one accepted task.

    Every input may be a scalar or an array; all broadcast. An unknown (NaN) input makes NaN only of what depends on it:
    prices do not enter the times, and a count of zero needs no speed or price. Ratios to zero are inf or NaN, without a
    warning. Raises ValueError when shapes do not broadcast.

    Source: own derivation, see the module text; `lost_time_s` and `_corrections` hold the two parts that are not plain sums.
    """
    i = _as_arrays(inputs)
    with np.errstate(all="ignore"):
        wait_calls, wait_decode, wait, lost, review = _attempt(i)
        attempt = lost + review

        retry_error, retries, p_manual, p_escaped = _corrections(i.error_rate, i.detect, i.retry_ratio, i.max_attempts)
        escape_cost = i.escape_factor * i.fix_time_s
        reprompt = _per_unit(retries, i.reprompt_time_s + attempt)
        fixing = p_manual * i.fix_time_s
        escaped = p_escaped * escape_cost
        # Summed in the order of TIME_PARTS: stacking the slices reproduces the total bit for bit.
        time = i.prompt_time_s + lost + review + reprompt + fixing + escaped
        correction = reprompt + fixing + escaped

        attempts = 1.0 + retries
        bill = _per_unit(i.n_in, i.price_in_usd_per_mtok) + _per_unit(i.n_out, i.price_out_usd_per_mtok)
        bill = bill / TOKENS_PER_MTOK
        token_cost = attempts * bill
        cost = token_cost + _per_unit(i.wage_usd_per_h, time) / SECONDS_PER_HOUR

        # Unaided work that fails the same bar is held to it too: its errors escape at the same price.
        unaided = i.baseline_s + i.baseline_error * (1.0 - i.detect) * escape_cost
        result = {
            "wait_start_s": i.start_delay_s,
            "wait_calls_s": wait_calls,
            "wait_decode_s": wait_decode,
            "wait_tools_s": i.tool_time_s,
            "wait_s": wait,
            "lost_s": lost,
            "review_s": review,
            "attempt_s": attempt,
            "retry_error": retry_error,
            "retries": retries,
            "attempts": attempts,
            "p_manual": p_manual,
            "p_escaped": p_escaped,
            "prompt_s": i.prompt_time_s,
            "waiting_s": lost,
            "reviewing_s": review,
            "reprompt_s": reprompt,
            "fixing_s": fixing,
            "escaped_s": escaped,
            "correction_time_s": correction,
            "correction_share": correction / time,
            "time_per_task_s": time,
            "token_bill_usd": bill,
            "token_cost_usd": token_cost,
            "cost_per_task_usd": cost,
            "net_productivity": unaided / time,
            "saved_s": unaided - time,
            "value_ratio": _per_unit(i.wage_usd_per_h, unaided) / SECONDS_PER_HOUR / cost,
        }
    shape = np.broadcast_shapes(*(value.shape for value in result.values()))
    return TaskResult(
        **{name: value if value.shape == shape else np.broadcast_to(value, shape) for name, value in result.items()}
    )


def break_even_error(inputs_fast: TaskInputs, time_reference_s: ArrayLike) -> np.ndarray:
    """Error rate at which the fast option takes as long per accepted task as the reference, e*.

    Below it the fast option pays. `inputs_fast.error_rate` is ignored. NaN where the option does not pay even without
    errors (or an input is unknown), 1.0 where it pays at any error rate. All arguments broadcast.

    Time never falls as the error rises, so bisection finds the only crossing; one secant step
    over the last bracket removes the remaining rounding.
    """
    i = _as_arrays(inputs_fast)
    with np.errstate(all="ignore"):
        *_wait, lost, review = _attempt(i)
        attempt = lost + review
        budget = np.asarray(time_reference_s, dtype=float) - (i.prompt_time_s + lost + review)
        again, escape = i.reprompt_time_s + attempt, i.escape_factor * i.fix_time_s

        def surplus(error):
            _, retries, p_manual, p_escaped = _corrections(error, i.detect, i.retry_ratio, i.max_attempts)
            return retries * again + p_manual * i.fix_time_s + p_escaped * escape - budget

        at_none, at_all = surplus(0.0), surplus(1.0)
        low, high = np.zeros(at_none.shape), np.ones(at_none.shape)
        for _step in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            above = surplus(middle) > 0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        below, above = surplus(low), surplus(high)
        share = np.where(above > below, -below / (above - below), 0.0)
        crossing = low + (high - low) * np.clip(share, 0.0, 1.0)
        crossing = np.where(at_all <= 0, 1.0, crossing)
        return np.where(at_none <= 0, crossing, np.nan)


def break_even_wage(extra_cost_usd: ArrayLike, saved_s: ArrayLike) -> np.ndarray:
    """Wage in USD per hour above which paying extra_cost_usd more in tokens to save saved_s of developer time pays.

    0 where the option saves time and costs no more (it pays at any wage); NaN where it saves no time. Broadcasts.
    """
    extra, saved = np.asarray(extra_cost_usd, dtype=float), np.asarray(saved_s, dtype=float)
    with np.errstate(all="ignore"):
        return np.where(saved > 0, np.maximum(extra, 0.0) / (saved / SECONDS_PER_HOUR), np.nan)


def tolerable_extra_error(
    wait_saved_lost_s: ArrayLike, detect: ArrayLike, fix_time_s: ArrayLike, escape_factor: ArrayLike
) -> np.ndarray:
    """Extra error rate that uses up the developer time saved by waiting less, as a fraction of one.

    wait_saved_lost_s = L(W) - L(W'), in lost time. Exact with one attempt, where time is linear in the error; with
    retries use break_even_error. Negative when waiting gets longer; inf when an error costs nothing.
    """
    with np.errstate(all="ignore"):
        return np.asarray(wait_saved_lost_s, dtype=float) / expected_error_cost_s(detect, fix_time_s, escape_factor)
