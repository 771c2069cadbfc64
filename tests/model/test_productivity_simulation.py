"""Second opinion: a run-by-run simulation of attempt, review and correction, written without the closed forms."""

import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fastmode.productivity import task
from fastmode.productivity_csv import task_inputs

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv", index_col="example")
RUNS = 20_000


def attempt_seconds(case):
    wait = case.queue + case.tool_time + case.n_out / case.speed
    for _call in range(int(case.calls)):
        wait += case.handshake + case.ttft
    if wait > case.theta:
        drift = 1 - math.exp(-(wait - case.theta) / case.kappa)
        wait = case.theta + (wait - case.theta) * (1 - case.reuse) + case.resume * drift
    return wait + case.loc / case.review_rate * 3600


def one_run(case, attempt_s, rng):
    """(seconds, attempts, fixed by hand, escaped) of one task from prompt to acceptance."""
    seconds, attempts = case.prompt_time, 0
    chance = 1 - case.error
    while True:
        seconds, attempts = seconds + attempt_s, attempts + 1
        if rng.random() < chance:
            return seconds, attempts, 0, 0
        if rng.random() >= case.detect:
            return seconds + case.escape_factor * case.fix_time, attempts, 0, 1
        if attempts == case.max_attempts:
            return seconds + case.fix_time, attempts, 1, 0
        seconds += case.reprompt_time
        chance = min(1.0, case.retry_ratio * (1 - case.error))


@pytest.mark.parametrize("example", [name for name in EXAMPLES.index if name[0] in "ABCDIKLMNOU"])
def test_simulated_tasks_agree_with_the_closed_form(example):
    row = EXAMPLES.loc[example]
    case = SimpleNamespace(**row)
    rng, attempt_s = random.Random(f"tasks {example}"), attempt_seconds(case)
    runs = np.array([one_run(case, attempt_s, rng) for _run in range(RUNS)])
    result = task(task_inputs(row))
    expected = np.array([result.time_per_task_s, result.attempts, result.p_manual, result.p_escaped])
    # Four standard errors; the floor covers outcomes too rare (or too certain) to vary within the runs.
    tolerance = 4 * runs.std(axis=0) / math.sqrt(RUNS) + np.array([1e-6 * result.time_per_task_s, 1e-4, 1e-4, 1e-4])
    assert (np.abs(runs.mean(axis=0) - expected) < tolerance).all()
