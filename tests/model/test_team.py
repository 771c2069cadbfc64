"""What a task is worth to a team: hours and money a month, and who is the bottleneck when agents run in parallel."""

from collections import deque
from dataclasses import fields, replace
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fastmode.productivity import break_even_wage, task
from fastmode.productivity_csv import task_inputs
from fastmode.team import Monthly, Throughput, monthly, throughput
from tests.model.productivity_cases import fixed_cases

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv", index_col="example")
INPUTS = {name[0]: task_inputs(row) for name, row in EXAMPLES.iterrows()}
RESULTS = {letter: task(inputs) for letter, inputs in INPUTS.items()}
STANDARD, OPUS_FAST_6X, OPUS_FAST_2X, SPARK = (RESULTS[letter] for letter in "AFGI")
# Default set: G = 0.15, W = 205.076923, P0 = 120, V = 450, F_p = 180, Pm F_m = 35.1, Pe M = 538.2.
DEFAULT_PERSON_S = 120 + 1.15 * 450 + 0.15 * 180 + 35.1 + 538.2
DEFAULT_MACHINE_S = 1.15 * 205.076923

DONE = -1  # in place of the number of attempts of a task that ends with this work

CASES = fixed_cases(400)
ANY, OTHER = task(CASES.inputs), task(fixed_cases(800).inputs)
OTHER = replace(OTHER, **{field.name: getattr(OTHER, field.name)[400:] for field in fields(OTHER)})
MONTHLY = [field.name for field in fields(Monthly)]


def amounts(figures):
    return np.array([getattr(figures, name) for name in MONTHLY])


def test_a_month_of_ten_developers_who_move_half_of_their_tasks_to_opus_fast():
    # 1000 tasks; 500 of them take 1448.566850 s instead of 1539.966469 s and 1.15 x 4.62 USD instead of 1.15 x 0.77 USD.
    found = monthly(OPUS_FAST_6X, STANDARD, 10, 100, 0.5, 100)
    assert found.tasks == 1000
    assert found.hours_reference == pytest.approx(1000 * 1539.966469 / 3600, abs=1e-6)
    assert found.hours_now == pytest.approx(500 * (1539.966469 + 1448.566850) / 3600, abs=1e-6)
    assert found.hours_saved == pytest.approx(500 * 91.399619 / 3600, abs=1e-6)
    assert found.token_usd_reference == pytest.approx(1000 * 0.8855)
    assert found.token_usd_now == pytest.approx(500 * 0.8855 + 500 * 5.313)
    assert found.token_usd_extra == pytest.approx(500 * 4.4275)
    assert found.wage_usd_saved == pytest.approx(1269.439, abs=1e-3)
    assert found.net_usd == pytest.approx(1269.439 - 2213.75, abs=1e-3)


def test_the_same_month_at_twice_the_price_pays():
    found = monthly(OPUS_FAST_2X, STANDARD, 10, 100, 0.5, 100)
    assert found.token_usd_extra == pytest.approx(500 * 0.8855)
    assert found.net_usd == pytest.approx(1269.439 - 442.75, abs=1e-3)


def test_spark_costs_hours_and_saves_tokens():
    # 100 tasks of 2063.855687 s instead of 1539.966469 s, and 1.268245 x 0.3115 USD instead of 0.8855 USD.
    found = monthly(SPARK, STANDARD, 1, 100, 1, 100)
    assert found.hours_saved == pytest.approx(-100 * 523.889218 / 3600, abs=1e-6)
    assert found.token_usd_extra == pytest.approx(100 * (1.2682445584 * 0.3115 - 0.8855), abs=1e-6)
    assert found.net_usd == pytest.approx(-1455.24783 + 49.04418, abs=1e-4)


@pytest.mark.parametrize(("option", "wage"), [(OPUS_FAST_6X, 174.388), (OPUS_FAST_2X, 34.878)], ids=["6x", "2x"])
def test_net_is_zero_at_the_break_even_wage_whatever_the_share(option, wage):
    saved_s = STANDARD.time_per_task_s - option.time_per_task_s
    found = break_even_wage(option.token_cost_usd - STANDARD.token_cost_usd, saved_s)
    assert found == pytest.approx(wage, abs=1e-3)
    share = np.array([0.1, 0.5, 1])
    below, at, above = (monthly(option, STANDARD, 10, 100, share, found + change).net_usd for change in (-1, 0, 1))
    assert (below < 0).all() and (above > 0).all()
    np.testing.assert_allclose(at, 0, atol=1e-9)


def test_without_a_share_nothing_changes_and_with_all_of_it_only_the_option_counts():
    none, all_of_it = monthly(ANY, OTHER, 7, 30, 0, 90), monthly(ANY, OTHER, 7, 30, 1, 90)
    for zero in (none.hours_saved, none.token_usd_extra, none.wage_usd_saved, none.net_usd):
        assert (zero == 0).all()
    np.testing.assert_array_equal(none.hours_now, none.hours_reference)
    np.testing.assert_array_equal(none.token_usd_now, none.token_usd_reference)
    np.testing.assert_allclose(all_of_it.hours_now, 210 * ANY.time_per_task_s / 3600, rtol=1e-12)
    np.testing.assert_allclose(all_of_it.token_usd_now, 210 * ANY.token_cost_usd, rtol=1e-12)


def test_an_option_against_itself_changes_nothing():
    found = monthly(ANY, ANY, 12, 40, 0.3, 100)
    for zero in (found.hours_saved, found.token_usd_extra, found.wage_usd_saved, found.net_usd):
        assert (zero == 0).all()


def test_saved_is_before_minus_after_and_net_is_what_the_bills_differ_by():
    found = monthly(ANY, OTHER, 7, 30, 0.4, 90)
    scale = found.hours_reference + found.hours_now
    assert (np.abs(found.hours_reference - found.hours_now - found.hours_saved) <= 1e-12 * scale).all()
    usd = found.token_usd_reference + found.token_usd_now
    assert (np.abs(found.token_usd_now - found.token_usd_reference - found.token_usd_extra) <= 1e-12 * usd).all()
    bills = [result.token_cost_usd + 90 / 3600 * result.time_per_task_s for result in (OTHER, ANY)]
    assert (np.abs(found.net_usd - 210 * 0.4 * (bills[0] - bills[1])) <= 1e-12 * (90 * scale + usd)).all()


def test_every_amount_is_linear_in_team_and_tasks():
    team, tasks, share, factor = np.random.default_rng(0).random((4, 1000)) * [[500], [1000], [1], [10]]
    once = amounts(monthly(SPARK, STANDARD, team, tasks, share, 80))
    assert (once[0] > 0).all()
    np.testing.assert_allclose(amounts(monthly(SPARK, STANDARD, factor * team, tasks, share, 80)), factor * once)
    np.testing.assert_allclose(amounts(monthly(SPARK, STANDARD, team, factor * tasks, share, 80)), factor * once)


def test_every_amount_is_linear_in_the_share():
    none, part, half, all_of_it = (amounts(monthly(SPARK, STANDARD, 10, 100, share, 80)) for share in (0, 0.2, 0.5, 1))
    np.testing.assert_allclose(part, 0.8 * none + 0.2 * all_of_it)
    np.testing.assert_allclose(half, (none + all_of_it) / 2)
    moved = [name for name, first, last in zip(MONTHLY, none, all_of_it, strict=True) if first != last]
    assert moved == [name for name in MONTHLY if name not in ("tasks", "hours_reference", "token_usd_reference")]


def test_an_unknown_price_of_the_option_leaves_hours_and_the_bill_of_the_reference():
    known, unknown = STANDARD, task(replace(INPUTS["F"], price_in_usd_per_mtok=np.nan))
    found = monthly(unknown, known, 10, 100, np.array([0.5, 0.0]), 100)
    gone = [name for name in MONTHLY if np.isnan(getattr(found, name)[0])]
    assert gone == ["token_usd_now", "token_usd_extra", "net_usd"]
    # Where no task is on the option its price does not matter.
    assert np.isfinite(amounts(found)[:, 1]).all()


def test_an_unknown_price_of_the_reference_leaves_the_bill_of_the_option_where_all_tasks_are_on_it():
    unknown = task(replace(INPUTS["A"], price_out_usd_per_mtok=np.nan))
    found = monthly(OPUS_FAST_2X, unknown, 10, 100, 1, 100)
    gone = ["token_usd_reference", "token_usd_extra", "net_usd"]
    assert [name for name in MONTHLY if np.isnan(getattr(found, name))] == gone
    assert found.token_usd_now == pytest.approx(1000 * 1.771)


def test_an_unknown_wage_leaves_hours_and_tokens():
    found = monthly(SPARK, STANDARD, 10, 100, 1, np.nan)
    assert [name for name in MONTHLY if np.isnan(getattr(found, name))] == ["wage_usd_saved", "net_usd"]


def test_an_unknown_speed_leaves_the_token_amounts():
    found = monthly(task(replace(INPUTS["F"], tokens_per_s=np.nan)), STANDARD, 10, 100, 0.5, 100)
    gone = ["hours_now", "hours_saved", "wage_usd_saved", "net_usd"]
    assert [name for name in MONTHLY if np.isnan(getattr(found, name))] == gone
    assert found.token_usd_extra == pytest.approx(500 * 4.4275)


def test_every_field_of_a_month_has_the_common_shape():
    found = monthly(task(task_inputs(EXAMPLES)), STANDARD, np.array([[1], [20]]), 100, 0.5, 100)
    assert {getattr(found, name).shape for name in MONTHLY} == {(2, 22)}
    with pytest.raises(ValueError):
        monthly(SPARK, STANDARD, np.ones(3), np.ones(2), 0.5, 100)


def test_one_agent_outruns_the_developer_of_the_default_task():
    found = throughput(STANDARD, INPUTS["A"], 1, 1)
    assert found.machine_per_h == pytest.approx(3600 / DEFAULT_MACHINE_S)  # 15.26 tasks an hour
    assert found.reviewers_per_h == pytest.approx(3600 / DEFAULT_PERSON_S)  # 2.908
    assert found.per_h == found.reviewers_per_h
    assert found.review_bound
    assert found.kink_agents == pytest.approx(DEFAULT_MACHINE_S / DEFAULT_PERSON_S)  # 0.19


def test_a_task_ten_times_longer_keeps_one_developer_waiting_for_one_agent():
    # W = 2050.769231, so an agent delivers every 2358.4 s what takes the developer 1237.8 s: two agents are enough.
    found = throughput(RESULTS["T"], INPUTS["T"], np.array([1, 2, 4]), 1)
    assert found.kink_agents == pytest.approx(np.full(3, 2358.384615 / DEFAULT_PERSON_S))
    assert found.review_bound.tolist() == [False, True, True]
    assert found.per_h == pytest.approx([3600 / 2358.384615, 3600 / DEFAULT_PERSON_S, 3600 / DEFAULT_PERSON_S])


def test_with_review_as_the_bottleneck_spark_is_slower_although_its_agents_are_faster():
    found, standard = throughput(SPARK, INPUTS["I"], 4, 10), throughput(STANDARD, INPUTS["A"], 4, 10)
    # Person: 120 + 1.2682445584 x 450 + 0.2682445584 x 180 + 0.0719549904 x 1560 + 0.2267994... x 4680.
    escaped = 0.4 * (0.447074264 + 0.447074264 * 0.2682445584)
    person_s = 120 + 1.2682445584 * 450 + 0.2682445584 * 180 + (0.447074264 * 0.6) ** 2 * 1560 + escaped * 4680
    assert found.per_h == pytest.approx(10 * 3600 / person_s, rel=1e-8)
    assert found.machine_per_h == pytest.approx(10 * 4 * 3600 / (1.2682445584 * 78.4), rel=1e-8)
    assert found.machine_per_h > 2 * standard.machine_per_h
    assert found.per_h == pytest.approx(0.6472 * standard.per_h, rel=1e-3)


def test_person_time_is_task_time_without_the_lost_waits():
    found = throughput(ANY, CASES.inputs, 1, 1)
    np.testing.assert_allclose(
        found.reviewers_per_h, 3600 / (ANY.time_per_task_s - ANY.attempts * ANY.lost_s), rtol=1e-6
    )


def test_throughput_is_below_both_rates_and_reaches_them_at_the_kink():
    found = throughput(ANY, CASES.inputs, 3, 5)
    slower = np.where(found.machine_per_h < found.reviewers_per_h, found.machine_per_h, found.reviewers_per_h)
    assert (found.per_h == slower).all()
    assert (found.review_bound == (3 >= found.kink_agents)).all()
    assert set(found.review_bound) == {True, False}
    at = throughput(ANY, CASES.inputs, found.kink_agents, 5)
    np.testing.assert_allclose(at.machine_per_h, at.reviewers_per_h, rtol=1e-12)
    assert at.review_bound.all()


def test_throughput_is_linear_in_the_team_and_in_agents_up_to_the_kink():
    one, five = throughput(ANY, CASES.inputs, 1, 1), throughput(ANY, CASES.inputs, 1, 5)
    np.testing.assert_allclose(five.per_h, 5 * one.per_h, rtol=1e-12)
    np.testing.assert_array_equal(five.kink_agents, one.kink_agents)
    half = throughput(ANY, CASES.inputs, 0.5 * one.kink_agents, 1)
    np.testing.assert_allclose(half.per_h, 0.5 * half.reviewers_per_h, rtol=1e-12)


def test_more_agents_never_lower_the_throughput():
    per_h = throughput(RESULTS["T"], INPUTS["T"], np.linspace(0, 5, 51), 3).per_h
    assert (np.diff(per_h) >= 0).all() and per_h[0] == 0
    assert per_h[-1] == pytest.approx(3 * 3600 / DEFAULT_PERSON_S)


def served_per_h(case, agents, rng, tasks=20_000, ready=40):
    """Accepted tasks an hour of one developer and his agents, simulated: `ready` tasks are under way at any time."""
    case = SimpleNamespace(**{field.name: float(getattr(case, field.name)) for field in fields(case)})
    wait_s = case.start_delay_s + case.calls * (case.handshake_s + case.ttft_s) + case.n_out / case.tokens_per_s
    wait_s += case.tool_time_s
    review_s = 3600 * case.loc / case.review_rate_loc_per_h
    # What waits for a worker: the attempts made for the agents; for the developer attempts made and seconds of work before.
    for_agents, for_person = deque(), deque((0, case.prompt_time_s) for _task in range(ready))
    events, order, now, done, is_busy = [], count(), 0.0, 0, False
    while done < tasks:
        while for_agents and agents:
            agents -= 1
            heappush(events, (now + wait_s, next(order), "agent", for_agents.popleft()))
        if for_person and not is_busy:
            is_busy = True
            attempts, seconds = for_person.popleft()
            heappush(events, (now + seconds, next(order), "person", attempts))
        now, _order, who, attempts = heappop(events)
        if who == "person":
            is_busy = False
            if attempts == DONE:
                done += 1
                for_person.append((0, case.prompt_time_s))
            else:
                for_agents.append(attempts)
            continue
        agents, attempts = agents + 1, attempts + 1
        chance = 1 - case.error_rate if attempts == 1 else case.retry_ratio * (1 - case.error_rate)
        if rng.random() < chance:
            for_person.append((DONE, review_s))
        elif rng.random() >= case.detect:
            for_person.append((DONE, review_s + case.escape_factor * case.fix_time_s))
        elif attempts == case.max_attempts:
            for_person.append((DONE, review_s + case.fix_time_s))
        else:
            for_person.append((attempts, review_s + case.reprompt_time_s))
    return 3600 * done / now


@pytest.mark.parametrize(("letter", "agents"), [("A", 1), ("T", 1), ("T", 2), ("T", 3), ("I", 2)])
def test_throughput_of_tasks_simulated_one_by_one(letter, agents):
    found = throughput(RESULTS[letter], INPUTS[letter], agents, 1)
    simulated = served_per_h(INPUTS[letter], agents, np.random.default_rng(ord(letter) + agents))
    # An escape of 4680 s in 11.5 % of the tasks spreads a developer's time by 1490 s: four standard errors are 3.4 %.
    assert simulated == pytest.approx(float(found.per_h), rel=0.034)


def test_without_waiting_the_machine_is_never_the_bottleneck():
    inputs = replace(INPUTS["A"], calls=0, n_out=0, tool_time_s=0)
    found = throughput(task(inputs), inputs, np.array([1, 8]), 1)
    assert np.isinf(found.machine_per_h).all() and found.review_bound.all() and (found.kink_agents == 0).all()
    assert found.per_h == pytest.approx(np.full(2, 3600 / DEFAULT_PERSON_S))


def test_where_no_person_is_needed_agents_set_the_pace():
    inputs = replace(INPUTS["A"], prompt_time_s=0, loc=0, error_rate=0)
    found = throughput(task(inputs), inputs, 6, 2)
    assert np.isinf(found.reviewers_per_h) and np.isinf(found.kink_agents) and not found.review_bound
    assert found.per_h == pytest.approx(2 * 6 * 3600 / 205.076923)


def test_an_unknown_wait_leaves_what_the_developers_can_do():
    inputs = replace(INPUTS["A"], tokens_per_s=np.array([65, np.nan]))
    found = throughput(task(inputs), inputs, 2, 1)
    assert found.review_bound.tolist() == [True, False]
    for name in ("machine_per_h", "per_h", "kink_agents"):
        assert np.isnan(getattr(found, name)).tolist() == [False, True]
    assert found.reviewers_per_h == pytest.approx(np.full(2, 3600 / DEFAULT_PERSON_S))


def test_an_unknown_re_prompt_does_not_matter_with_one_attempt():
    inputs = replace(INPUTS["K"], reprompt_time_s=np.nan)
    # Retries are 0: 120 + 450 + 0.15 x 1560 + 0.1 x 4680.
    assert throughput(task(inputs), inputs, 1, 1).reviewers_per_h == pytest.approx(3600 / 1272)


def test_every_field_of_the_throughput_has_the_common_shape():
    inputs = task_inputs(EXAMPLES)
    found = throughput(task(inputs), inputs, np.array([[1], [4]]), 10)
    assert {getattr(found, field.name).shape for field in fields(Throughput)} == {(2, 22)}
    assert found.review_bound.dtype == bool
    with pytest.raises(ValueError):
        throughput(task(inputs), inputs, np.ones(3), 1)
