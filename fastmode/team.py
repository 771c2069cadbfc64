"""What one task is worth to a team: hours and money a month, and accepted tasks an hour when agents run in parallel.

Both are our own derivation from the times and costs of one accepted task (productivity.py).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastmode.productivity import TaskInputs, TaskResult
from fastmode.units import SECONDS_PER_HOUR


@dataclass(frozen=True, eq=False)
class Monthly:
    """Figures of the whole team for one month; every field has the common shape of the arguments of `monthly`."""

    tasks: np.ndarray  # accepted tasks
    hours_reference: np.ndarray  # developer time with every task on the reference
    hours_now: np.ndarray  # with the share of tasks on the option
    hours_saved: np.ndarray  # negative when the option takes longer
    token_usd_reference: np.ndarray
    token_usd_now: np.ndarray
    token_usd_extra: np.ndarray
    wage_usd_saved: np.ndarray  # hours_saved at the wage
    net_usd: np.ndarray  # wage saved minus extra tokens


@dataclass(frozen=True, eq=False)
class Throughput:
    """Accepted tasks an hour of the whole team; every field has the common shape of the arguments of `throughput`."""

    machine_per_h: np.ndarray  # what the agents can attempt
    reviewers_per_h: np.ndarray  # what the developers can prompt, review and correct
    per_h: np.ndarray  # the smaller of the two
    review_bound: np.ndarray  # bool: more agents would not help; False where either rate is unknown
    kink_agents: np.ndarray  # agents per developer from which review is the bottleneck; need not be whole


def _times(count: np.ndarray, each: np.ndarray) -> np.ndarray:
    """count x each, zero where count is zero even if each is unknown: what is not used need not be known."""
    return np.where(count == 0, 0.0, count * each)


def monthly(
    now: TaskResult,
    reference: TaskResult,
    team_size: ArrayLike,
    tasks_per_month: ArrayLike,
    fast_share: ArrayLike,
    wage_usd_per_h: ArrayLike,
) -> Monthly:
    """Hours and USD a month for a team that moves a share of its tasks from the reference to the option.

    now, reference: one task on the option and on the reference
    team_size, tasks_per_month: developers, and accepted tasks of one developer
    fast_share: fraction of the tasks done on the option; the rest stays on the reference
    wage_usd_per_h: cost of an hour of a developer

    Arguments broadcast; ValueError when their shapes do not. tasks = team_size x tasks_per_month and
    hours_saved = tasks x fast_share x (T_reference - T_now) / 3600, likewise for tokens: every amount is linear in
    team_size, tasks_per_month and fast_share. The number of tasks is the same either way; time saved is not filled
    with more of them. Hours are those of `time_per_task_s`, so they contain the later cost of escaped errors. An unknown (NaN)
    price makes NaN of the token amounts it enters and of net_usd only.
    """
    team, per_head, fast, wage = (
        np.asarray(value, dtype=float) for value in (team_size, tasks_per_month, fast_share, wage_usd_per_h)
    )
    with np.errstate(all="ignore"):
        tasks = team * per_head
        on_option, on_reference = tasks * fast, tasks * (1.0 - fast)
        hours, hours_before = (result.time_per_task_s / SECONDS_PER_HOUR for result in (now, reference))
        usd, usd_before = now.token_cost_usd, reference.token_cost_usd
        hours_saved = _times(on_option, hours_before - hours)
        token_usd_extra = _times(on_option, usd - usd_before)
        wage_usd_saved = _times(hours_saved, wage)
        values = (
            tasks,
            _times(tasks, hours_before),
            _times(on_reference, hours_before) + _times(on_option, hours),
            hours_saved,
            _times(tasks, usd_before),
            _times(on_reference, usd_before) + _times(on_option, usd),
            token_usd_extra,
            wage_usd_saved,
            wage_usd_saved - token_usd_extra,
        )
    return Monthly(*np.broadcast_arrays(*values))


def throughput(task: TaskResult, inputs: TaskInputs, agents: ArrayLike, team_size: ArrayLike) -> Throughput:
    """Accepted tasks an hour when every developer keeps several agents busy.

    task, inputs: results and inputs of one task
    agents: agents running side by side per developer
    team_size: developers

    Arguments broadcast; ValueError when their shapes do not.

    An accepted task needs two workers in turn: an agent for (1+G) attempts of W seconds of clock time each, and a person
    for H seconds of work that is not waiting,

        H = P0 + (1+G) V + G F_p + Pm F_m + Pe M.

    As long as tasks are ready to be picked up, neither waits for the other: an agent starts the next task while the last
    one lies in review, and a person whose agent runs reviews the result of another one. Over a long time each side
    handles at most its capacity over the work of one task, and the slower of the two sets the pace:

        machine = team x agents x 3600 / ((1+G) W),   reviewers = team x 3600 / H,   throughput = min of both.

    They meet at kink_agents = (1+G) W / H; from there on review is the bottleneck, and a shorter wait adds nothing.

    This is an upper bound. It leaves out the lost time L(W), hence attention threshold, context switches and reuse of the
    wait: a person with enough agents never waits, but is assumed to go from task to task for free. With few tasks ready
    the two sides do wait for each other, most so near the kink. Without waiting (W = 0) machine_per_h is inf and the kink
    0; where no person is needed (H = 0) reviewers_per_h and the kink are inf.
    """
    agents, team = np.asarray(agents, dtype=float), np.asarray(team_size, dtype=float)
    with np.errstate(all="ignore"):
        machine_s = task.attempts * task.wait_s
        person_s = (
            task.prompt_s
            + task.attempts * task.review_s
            + _times(task.retries, np.asarray(inputs.reprompt_time_s, dtype=float))
            + task.fixing_s
            + task.escaped_s
        )
        machine_per_h = team * agents * SECONDS_PER_HOUR / machine_s
        reviewers_per_h = team * SECONDS_PER_HOUR / person_s
        kink = machine_s / person_s
        # Asked of the agents, not of the two rates, so that the kink itself is on the side its name says.
        values = (
            machine_per_h,
            reviewers_per_h,
            np.minimum(machine_per_h, reviewers_per_h),
            agents >= kink,
            kink,
        )
    return Throughput(*np.broadcast_arrays(*values))
