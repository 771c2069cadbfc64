"""Second opinion: tasks simulated event by event, from prompt to acceptance, written without the closed forms."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode.catalog import load
from fastmode.productivity import TaskInputs, task
from fastmode.productivity_csv import task_inputs
from tests.model.productivity_cases import ASSUMPTION, FIELDS

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv", index_col="example")
RUNS = 100_000
N_RANDOM = 24
SEED = 20


def random_inputs() -> TaskInputs:
    """N_RANDOM tasks within the low and high ends of the assumptions; the ends of detection and attempts occur."""
    rng, assumptions = np.random.default_rng(SEED), load().assumptions
    values = {}
    for name in FIELDS:
        row = assumptions.loc[ASSUMPTION.get(name, name)]
        low, high = (row["min"], row["max"]) if pd.isna(row["low"]) else (row["low"], row["high"])
        values[name] = rng.uniform(float(low), float(high), N_RANDOM)
    values["calls"] = np.round(values["calls"])
    values["error_rate"] = rng.uniform(0.05, 0.95, N_RANDOM)
    values["retry_ratio"] = np.resize([0.0, 0.54, 1.0, 1.4, 3.0], N_RANDOM)
    values["max_attempts"] = np.resize([10, 1, 2, 3, 5, 7, 10], N_RANDOM)
    values["detect"] = np.where(np.arange(N_RANDOM) < 6, np.resize([0.0, 1.0], N_RANDOM), values["detect"])
    return TaskInputs(**values)


RANDOM = random_inputs()
CASES = {name: task_inputs(row) for name, row in EXAMPLES.iterrows()}
CASES |= {f"random {n}": TaskInputs(*(getattr(RANDOM, name)[n] for name in FIELDS)) for n in range(N_RANDOM)}


def attempt_seconds(case):
    """Developer time of one attempt and its review."""
    wait = case.start_delay_s + case.tool_time_s + case.n_out / case.tokens_per_s
    for _call in range(int(case.calls)):
        wait += case.handshake_s + case.ttft_s
    if wait > case.theta_s:
        drift = 1 - math.exp(-(wait - case.theta_s) / case.kappa_s)
        wait = case.theta_s + (wait - case.theta_s) * (1 - case.reuse) + case.resume_s * drift
    return wait + case.loc / case.review_rate_loc_per_h * 3600


def simulate(case, rng):
    """What happens in RUNS tasks, each (RUNS,): seconds, attempts, fixed by hand, escaped, USD, seconds of the unaided task.

    All tasks go on in step: in each round those still open make one attempt.
    """
    attempt_s, escape_s = attempt_seconds(case), case.escape_factor * case.fix_time_s
    bill = (case.n_in * case.price_in_usd_per_mtok + case.n_out * case.price_out_usd_per_mtok) / 1e6
    seconds, attempts, manual, escaped = np.full(RUNS, float(case.prompt_time_s)), *np.zeros((3, RUNS))
    is_open, chance = np.ones(RUNS, dtype=bool), 1 - case.error_rate
    while is_open.any():
        seconds[is_open] += attempt_s
        attempts[is_open] += 1
        wrong = is_open & (rng.random(RUNS) >= chance)
        seen = wrong & (rng.random(RUNS) < case.detect)
        missed, given_up = wrong & ~seen, seen & (attempts == case.max_attempts)
        seconds[missed] += escape_s
        escaped[missed] = 1
        seconds[given_up] += case.fix_time_s
        manual[given_up] = 1
        is_open = seen & ~given_up
        seconds[is_open] += case.reprompt_time_s
        chance = min(1.0, case.retry_ratio * (1 - case.error_rate))
    unaided_slips = (rng.random(RUNS) < case.baseline_error) & (rng.random(RUNS) >= case.detect)
    unaided = case.baseline_s + escape_s * unaided_slips
    return seconds, attempts, manual, escaped, attempts * bill + seconds * case.wage_usd_per_h / 3600, unaided


def deviations(case, model_case, rng):
    """Simulated mean of `case` minus closed form of `model_case`, in standard errors, for each quantity of `simulate`."""
    runs, result = np.array(simulate(case, rng)), task(model_case)
    unaided = result.net_productivity * result.time_per_task_s
    expected = np.array([
        result.time_per_task_s, result.attempts, result.p_manual, result.p_escaped, result.cost_per_task_usd, unaided,
    ])  # fmt: skip
    mean = runs.mean(axis=1)
    # The floor is for what is too rare to spread within the runs: two such tasks more or less are within four errors.
    error = np.maximum(runs.std(axis=1) / math.sqrt(RUNS), 0.5 / RUNS * np.maximum(runs.max(axis=1), 1))
    # Where nothing is left to chance both are the same constant, to rounding.
    constant = np.isclose(mean, expected, rtol=1e-9, atol=1e-12)
    return np.where(constant, 0.0, (mean - expected) / error)


def generator(name):
    return np.random.default_rng([SEED, *name.encode()])


@pytest.mark.parametrize("name", CASES)
def test_simulated_tasks_agree_with_the_closed_form(name):
    np.testing.assert_array_less(np.abs(deviations(CASES[name], CASES[name], generator(name))), 4)


def test_cases_cover_the_process():
    assert len(EXAMPLES) == 22 and len(CASES) == 22 + N_RANDOM
    assert {0, 1} < set(RANDOM.detect) and {1, 10} < set(RANDOM.max_attempts)
    assert ((RANDOM.retry_ratio > 1) & (RANDOM.detect > 0) & (RANDOM.max_attempts > 2)).sum() >= 5
    assert set(RANDOM.retry_ratio[(RANDOM.detect == 1) & (RANDOM.max_attempts > 1)]) >= {0.0, 1.4}


@pytest.mark.parametrize(
    "changes",
    [
        {"error_rate": 0.26},
        {"detect": 0.62},
        {"retry_ratio": 0.9},
        {"max_attempts": 3},
        {"escape_factor": 3.2},
        {"reprompt_time_s": 420},
        {"prompt_time_s": 150},
        {"n_out": 10_000},
        {"wage_usd_per_h": 104},
        {"baseline_error": 0.02},
    ],
    ids=str,
)
def test_the_closed_form_of_a_slightly_different_task_is_refused(changes):
    default = CASES["A default"]
    assert np.abs(deviations(default, replace(default, **changes), generator("other"))).max() > 4
