"""Speed for errors through the spine: section 4 of the specification from links and scenarios, and the plane of all trades."""

import csv
import math
import re
from dataclasses import fields, replace

import numpy as np
import pytest

from fastmode.evaluate import evaluate
from fastmode.link import from_query
from fastmode.productivity import WAIT_PARTS, TaskInputs, break_even_error, break_even_wage, task
from fastmode.productivity_csv import task_inputs
from fastmode.scenario import expand_set
from fastmode.trade import (
    FOUNDING_CLAIM,
    MORE_POINTS,
    SCENARIO,
    SPEED_UPS,
    SUBJECTS,
    TIMES_THE_ERRORS,
    Judged,
    Trade,
    founding,
    plane,
    trade_of,
)
from fastmode.uncertainty import DRAWS, TTFT
from tests.conftest import ROOT
from tests.model import test_productivity_examples as spec
from tests.model.test_evaluate import CAT, of
from tests.model.test_uncertainty import plain_time, single_worlds

CLAIM = founding(CAT)
SETS = ("default", "favours-speed", "favours-accuracy")
TIER_STEP = 1.547  # odds of one vendor tier step; at that assumed size of a step the odds grow with the size itself


def linked(query):
    """The evaluation of a link that is used as written."""
    scenario, ignored = from_query(query)
    assert not ignored
    return evaluate(scenario, CAT)


def standard(name="default", **changes):
    """Opus 4.6 at an issue-sized task under an assumption set, with changes."""
    scenario = replace(of("opus-4.6"), **expand_set(name, "issue", CAT))
    return evaluate(replace(scenario, **changes), CAT)


def percent(fraction, digits=1):
    return round(100 * float(fraction), digits)


def with_faster_tokens(e, tokens_per_s, error):
    """The option of `e` with that speed, and the error raised by a smaller model; TTFT, handshake and tools as they are.

    Speed and TTFT of one's own are scaled by the model, so that they are given before it.
    """
    before, after = (x / (1 - x) for x in (float(e.scenario.error), error))
    moved = replace(e.scenario, distillation=after / before, agentic_step=TIER_STEP)
    tried = evaluate(moved, CAT)
    ttft = tried.at(tried.now.ttft_s)
    own = {"anchor_tokens_per_s": tokens_per_s / tried.at(tried.now.speed_ratio), "anchor_ttft_s": 1.0 / ttft}
    made = evaluate(replace(moved, **own), CAT)
    assert made.at(made.now.tokens_per_s) == pytest.approx(tokens_per_s, rel=1e-12)
    assert made.at(made.now.ttft_s) == pytest.approx(1.0, rel=1e-12)
    assert made.at(made.now.error_rate) == pytest.approx(error, rel=1e-9)
    return made


# --- a trade ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1.0, 1.5, 2.6, 6.0, 15.0, 1e6])
def test_every_part_of_the_wait_is_divided_by_the_same_figure(k):
    inputs = task_inputs(spec.EXAMPLES)
    before, after = task(inputs), task(Trade(k).of(inputs))
    for part in (*WAIT_PARTS, "wait_s"):
        np.testing.assert_allclose(getattr(after, part), getattr(before, part) / k, rtol=1e-14, err_msg=part)


def test_an_infinite_speed_up_leaves_no_wait():
    assert task(Trade(math.inf).of(standard(start_delay_s=7.0).reference.inputs)).wait_s.tolist() == [0.0]


def test_the_error_is_multiplied_and_then_raised_and_stays_a_probability():
    before = standard(error=0.25).reference.inputs
    assert Trade(6.0).of(before).error_rate.tolist() == [0.25]
    assert Trade(6.0, points=0.2).of(before).error_rate.tolist() == [0.45]
    assert Trade(6.0, factor=1.2).of(before).error_rate.tolist() == [pytest.approx(0.30, rel=1e-15)]
    assert Trade(6.0, factor=1.2, points=0.1).of(before).error_rate.tolist() == [pytest.approx(0.40, rel=1e-15)]
    assert Trade(6.0, points=0.8).of(before).error_rate.tolist() == [1.0]
    assert Trade(6.0, factor=5.0).of(before).error_rate.tolist() == [1.0]


def test_a_trade_moves_nothing_but_wait_and_error():
    before = standard(start_delay_s=7.0).reference.inputs
    after = Trade(6.0, points=0.2).of(before)
    moved = {"start_delay_s", "handshake_s", "ttft_s", "tool_time_s", "tokens_per_s", "error_rate"}
    for f in fields(TaskInputs):
        assert np.array_equal(getattr(before, f.name), getattr(after, f.name)) == (f.name not in moved), f.name


def test_many_trades_at_once_are_each_of_them():
    before = standard().reference.inputs
    many = task(Trade(np.array([2.0, 6.0]), points=np.array([[0.0], [0.2], [0.8]])).of(before)).time_per_task_s
    assert many.shape == (3, 2)
    for i, points in enumerate((0.0, 0.2, 0.8)):
        for j, k in enumerate((2.0, 6.0)):
            assert many[i, j] == task(Trade(k, points=points).of(before)).time_per_task_s[0]


# --- the founding claim's figures are data ----------------------------------------------------------------------------


def test_the_founding_claim_in_two_readings_from_its_own_row():
    with (ROOT / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        row = next(r for r in csv.DictReader(file) if r["id"] == FOUNDING_CLAIM)
    assert row["quantity"] == "6x / 20%" and "Six times faster" in row["claim"]
    assert {MORE_POINTS: Trade(6.0, points=0.2), TIMES_THE_ERRORS: Trade(6.0, factor=1.2)} == CLAIM
    assert set(SUBJECTS) == {SCENARIO, *CLAIM}


class Changed:
    """The catalogue with another quantity of the founding claim."""

    def __init__(self, quantity):
        self.claims = CAT.claims.copy()
        self.claims.loc[FOUNDING_CLAIM, "quantity"] = quantity


def test_another_figure_in_the_row_is_another_trade():
    made = founding(Changed("2.5x / 7.5%"))
    assert made == {MORE_POINTS: Trade(2.5, points=0.075), TIMES_THE_ERRORS: Trade(2.5, factor=1.075)}


@pytest.mark.parametrize("quantity", ["6x", "six / 20%", "6x / 20% more", "", "6 / 20"])
def test_a_row_that_says_something_else_is_named(quantity):
    with pytest.raises(ValueError, match=re.escape(f"{FOUNDING_CLAIM}, column quantity: expected like 6x / 20%, got {quantity!r}")):
        founding(Changed(quantity))


def test_subjects():
    assert trade_of(SCENARIO, CAT) is None
    assert trade_of(MORE_POINTS, CAT) == Trade(6.0, points=0.2)
    with pytest.raises(KeyError):
        trade_of("colour", CAT)


# --- section 4 of the specification -----------------------------------------------------------------------------------


def test_the_default_set_is_the_specifications():
    e = linked("preset=opus-4.6&reference=opus-4.6")
    assert round(e.at(e.reference.task.wait_s), 6) == 205.076923
    assert round(e.at(e.reference.task.lost_s), 6) == 262.753451
    assert round(e.at(e.reference.task.time_per_task_s), 6) == 1539.966469
    assert round(e.at(e.reference.task.net_productivity), 6) == 2.532523
    assert round(e.at(e.reference.task.cost_per_task_usd), 6) == 43.662346


@pytest.mark.parametrize("query", ["preset=opus-4.6&reference=opus-4.6", "preset=gpt-5.3-codex-spark", ""])
def test_the_founding_claim_from_a_link(query):
    """+29.38 % and -5.16 %: both references wait 205 s."""
    judged = {name: Judged(linked(query), trade) for name, trade in CLAIM.items()}
    assert percent(judged[MORE_POINTS].change, 2) == 29.38
    assert percent(judged[TIMES_THE_ERRORS].change, 2) == -5.16


@pytest.mark.parametrize(
    ("name", "points", "factor"), [("default", 29.4, -5.2), ("favours-speed", -33.2, -42.3), ("favours-accuracy", 35.2, 17.2)]
)
def test_the_whole_wait_divided_under_each_assumption_set(name, points, factor):
    e = linked(f"preset=opus-4.6&reference=opus-4.6&assumption_set={name}")
    assert e.at(e.reference.task.wait_s) == pytest.approx(205.076923, abs=1e-6)
    assert percent(Judged(e, CLAIM[MORE_POINTS]).change) == points
    assert percent(Judged(e, CLAIM[TIMES_THE_ERRORS]).change) == factor


@pytest.mark.parametrize(
    ("name", "error", "points", "factor"),
    [("default", 0.25, 37.3, 2.2), ("favours-speed", 0.10, 2.5, -11.3), ("favours-accuracy", 0.50, 35.3, 17.3)],
)
def test_only_the_tokens_six_times_as_fast_under_each_assumption_set(name, error, points, factor):
    e = standard(name)
    assert e.scenario.error == error
    assert percent(with_faster_tokens(e, 6 * 65.0, error + 0.2).time_change[0]) == points
    assert percent(with_faster_tokens(e, 6 * 65.0, error * 1.2).time_change[0]) == factor


@pytest.mark.parametrize(("name", "change"), [("default", 44.8), ("favours-speed", 8.7), ("favours-accuracy", 35.4)])
def test_a_thousand_tokens_a_second_against_opus_fast_at_twenty_points(name, change):
    scenario = replace(of("opus-4.6-fast", reference="opus-4.6-fast"), **expand_set(name, "issue", CAT))
    e = evaluate(scenario, CAT)
    assert percent(with_faster_tokens(e, 1000.0, e.scenario.error + 0.2).time_change[0]) == change


@pytest.mark.parametrize(("name", "change"), [("default", 34.0), ("favours-speed", -10.7), ("favours-accuracy", 36.8)])
def test_spark_against_codex(name, change):
    e = linked(f"assumption_set={name}")
    judged = Judged(e, None)
    assert percent(judged.change) == change
    assert round(judged.wait_speed_up, 2) == 2.62 and round(e.at(e.now.task.wait_s), 1) == 78.4
    assert round(judged.token_speed_up, 2) == 15.38
    if name == "default":
        assert round(judged.error_change, 4) == round(0.447074 - 0.25, 4)
        assert [round(e.at(s.task.time_per_task_s)) for s in (e.reference, e.now)] == [1540, 2064]


@pytest.mark.parametrize(("longer", "seconds", "points", "factor"), [(4.0, 820, -3.8, -28.0), (10.0, 2051, -33.6, -49.0)])
def test_longer_runs(longer, seconds, points, factor):
    e = standard(task_scale=longer)
    assert round(e.at(e.reference.task.wait_s)) == seconds
    assert percent(Judged(e, CLAIM[MORE_POINTS]).change) == points
    assert percent(Judged(e, CLAIM[TIMES_THE_ERRORS]).change) == factor


@pytest.mark.parametrize("row", spec.OMEGA.to_dict("records"), ids=lambda row: f"omega {row['omega']:g}")
def test_the_table_of_what_an_escaped_error_costs(row):
    e = linked(f"preset=opus-4.6&of={row['omega']:g}")
    judged = {name: Judged(e, trade) for name, trade in CLAIM.items()}
    found = {
        "time": round(e.at(e.reference.task.time_per_task_s)),
        "np": round(e.at(e.reference.task.net_productivity), 2),
        "plus20_tokens": percent(with_faster_tokens(e, 390.0, 0.45).time_change[0]),
        "plus20_whole": percent(judged[MORE_POINTS].change),
        "x12_tokens": percent(with_faster_tokens(e, 390.0, 0.30).time_change[0]),
        "x12_whole": percent(judged[TIMES_THE_ERRORS].change),
        "spark": percent(Judged(linked(f"of={row['omega']:g}"), None).change),
        "escaped": percent(e.at(e.reference.task.escaped_s / e.reference.task.time_per_task_s)),
    }
    assert found == {name: row[name] for name in found}


def test_an_escape_that_costs_nothing_is_shown_at_every_setting():
    """The slices without the escaped one are those at escape factor 0."""
    e = standard(start_delay_s=3.0)
    assert percent(Judged(standard(), CLAIM[MORE_POINTS]).change_without_escapes) == -7.9
    assert percent(Judged(standard(), CLAIM[TIMES_THE_ERRORS]).change_without_escapes) == -20.4
    assert percent(Judged(linked(""), None).change_without_escapes) == 0.1
    free = evaluate(replace(e.scenario, escape_factor=0.0), CAT)
    for trade in CLAIM.values():
        assert Judged(e, trade).change_without_escapes == pytest.approx(Judged(free, trade).change, rel=1e-12)


@pytest.mark.parametrize(
    ("error", "time", "gain", "points", "factor"),
    [(0.10, 1090.4, 3.58, 33.9, -15.4), (0.25, 1540.0, 2.53, 29.4, -5.2), (0.40, 2065.4, 1.89, 25.9, 2.1), (0.50, 2457.8, 1.59, 24.0, 5.8)],
)
def test_the_founding_claim_at_other_errors_of_the_reference(error, time, gain, points, factor):
    e = linked(f"preset=opus-4.6&e={error}")
    assert round(e.at(e.reference.task.time_per_task_s), 1) == time and round(e.at(e.reference.task.net_productivity), 2) == gain
    assert percent(Judged(e, CLAIM[MORE_POINTS]).change) == points
    assert percent(Judged(e, CLAIM[TIMES_THE_ERRORS]).change) == factor


# --- break-even errors ------------------------------------------------------------------------------------------------


def extra_error(e, k):
    """Extra error, points, at which the whole wait over k takes as long as the reference; up to all errors where it always pays."""
    found = break_even_error(Trade(k).of(e.reference.inputs), e.reference.task.time_per_task_s)
    return 100 * (float(found[0]) - float(e.scenario.error))


@pytest.mark.parametrize(("name", "points"), [("default", 7.4), ("favours-speed", 53.4), ("favours-accuracy", 0.14)])
def test_how_many_points_more_the_claims_speed_is_worth(name, points):
    assert round(extra_error(standard(name), 6.0), 2 if points < 1 else 1) == points


AT_205_S = dict(zip(spec.SPEED_UPS, spec.BREAK_EVEN_POINTS[spec.WAITS.index(205)], strict=True))


@pytest.mark.parametrize(("wait", "points"), list(zip(spec.WAITS, spec.BREAK_EVEN_POINTS, strict=True)))
def test_the_break_even_table(wait, points):
    e = standard(task_scale=wait * 13 / 2666)
    assert e.at(e.reference.task.wait_s) == pytest.approx(wait, rel=1e-12)
    assert [round(extra_error(e, k), 2) for k in spec.SPEED_UPS] == points


# --- the plane --------------------------------------------------------------------------------------------------------


def test_the_plane_is_the_task_at_each_of_its_points():
    e = standard()
    made = plane(e, -0.1, 0.5)
    assert made.change.shape == (len(made.extra_error), len(SPEED_UPS)) == (61, 61)
    assert (made.speed_up[0], made.speed_up[-1]) == (1.0, pytest.approx(30.0))
    assert (made.extra_error[0], made.extra_error[-1]) == (-0.1, 0.5)
    base = {f.name: float(np.ravel(getattr(e.reference.inputs, f.name))[0]) for f in fields(TaskInputs)}
    time = plain_time(base)[0]
    for i, j in ((0, 0), (0, 60), (10, 0), (30, 17), (60, 60), (47, 33)):
        k, more = float(made.speed_up[j]), float(made.extra_error[i])
        moved = {name: base[name] / k for name in ("start_delay_s", "handshake_s", "ttft_s", "tool_time_s")}
        moved |= {"tokens_per_s": base["tokens_per_s"] * k, "error_rate": base["error_rate"] + more}
        assert made.change[i, j] == pytest.approx(plain_time(base | moved)[0] / time - 1, rel=1e-10), (i, j)
    # no trade at all
    assert made.change[10, 0] == pytest.approx(0.0, abs=1e-12) and made.extra_error[10] == pytest.approx(0.0, abs=1e-15)


def test_the_planes_line_of_no_change_is_the_break_even_table():
    made = plane(standard(), -0.1, 0.5)
    for k, points in AT_205_S.items():
        if k == math.inf:
            continue
        along = np.array([np.interp(math.log(k), np.log(made.speed_up), row) for row in made.change])
        assert 100 * np.interp(0.0, along, made.extra_error) == pytest.approx(points, abs=0.15), k


def test_errors_that_cannot_be_have_no_change():
    made = plane(standard(error=0.05), -0.1, 0.5)
    known = np.isfinite(made.change)
    np.testing.assert_array_equal(known.all(axis=1), made.extra_error + 0.05 >= -1e-12)
    np.testing.assert_array_equal(known.any(axis=1), known.all(axis=1))
    high = plane(standard(error=0.8), 0.0, 0.5)
    assert np.isfinite(high.change[0]).all() and np.isnan(high.change[-1]).all()


def test_what_faster_tokens_reach_of_the_wait():
    """205.08 s of which 123.08 decode: infinitely fast tokens leave 82 s, 2.50 times less; 15 times faster ones 2.27."""
    made = plane(standard(), 0.0, 0.5)
    decode, rest = 8000 / 65, 82.0
    assert made.limit == pytest.approx((decode + rest) / rest, rel=1e-12) and round(made.limit, 2) == 2.50
    assert [k for _wait, k in made.tokens] == [1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 100.0]
    for wait, k in made.tokens:
        assert wait == pytest.approx((decode + rest) / (decode / k + rest), rel=1e-12) and wait < made.limit
    # the same through the spine: tokens 20 times as fast
    e = standard()
    fast = evaluate(replace(e.scenario, anchor_tokens_per_s=20 * 65.0), CAT)
    assert {k: wait for wait, k in made.tokens}[20.0] == pytest.approx(Judged(fast, None).wait_speed_up, rel=1e-12)


def test_a_wait_of_decoding_alone_has_no_limit():
    e = standard(tool_time_s=0.0)
    only = replace(e.reference.inputs, handshake_s=np.zeros(1), ttft_s=np.zeros(1))
    bare = replace(e, reference=replace(e.reference, inputs=only, task=task(only)))
    assert plane(bare, 0.0, 0.5).limit == math.inf


# --- money ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "name", "wage", "extra"),
    [
        ("sv=162.5", "default", 174, 4.43), ("sv=162.5&pi=10&po=50", "default", 35, 0.89),
        ("", "default", 169, 4.43), ("pi=10&po=50", "default", 34, 0.89),
        ("sv=162.5", "favours-speed", 166, None), ("sv=162.5&pi=10&po=50", "favours-speed", 33, None),
        ("sv=162.5", "favours-accuracy", 938, None), ("sv=162.5&pi=10&po=50", "favours-accuracy", 188, None),
    ],
)  # fmt: skip
def test_the_wage_above_which_opus_fast_pays(query, name, wage, extra):
    e = linked(f"preset=opus-4.6-fast&assumption_set={name}&{query}")
    now, other = e.now.task, e.reference.task
    more = now.token_cost_usd - other.token_cost_usd
    assert round(float(break_even_wage(more, other.time_per_task_s - now.time_per_task_s)[0])) == wage
    if extra:
        assert round(e.at(more), 2) == extra


@pytest.mark.parametrize(("name", "change"), [("default", -5.9), ("favours-speed", -8.3), ("favours-accuracy", -0.1)])
def test_the_vendors_two_and_a_half_times(name, change):
    assert percent(Judged(linked(f"preset=opus-4.6-fast&sv=162.5&assumption_set={name}"), None).change) == change


@pytest.mark.parametrize("omega", [0.0, 3.0, 15.0])
def test_what_an_escaped_error_costs_does_not_enter_the_wage(omega):
    e = linked(f"preset=opus-4.6-fast&sv=162.5&of={omega:g}")
    more = e.now.task.token_cost_usd - e.reference.task.token_cost_usd
    saved = e.reference.task.time_per_task_s - e.now.task.time_per_task_s
    assert round(float(break_even_wage(more, saved)[0]), 2) == 174.39


# --- what is judged ---------------------------------------------------------------------------------------------------


def test_without_a_trade_the_option_of_the_scenario_is_judged():
    e = linked("preset=sonnet-4.6")
    judged = Judged(e, None)
    assert judged.change == e.at(e.time_change) == pytest.approx(e.at(e.now.task.time_per_task_s / e.reference.task.time_per_task_s) - 1)
    assert judged.p_faster == e.at(e.spread.p_faster)
    assert judged.band(90) == tuple(e.at(end) for end in e.spread.band("time_change", 90))
    assert judged.band(50) == tuple(e.at(end) for end in e.spread.band("time_change", 50))
    assert [s.driver for s in judged.swings] == [s.driver for s in e.swings]
    assert judged.token_speed_up == pytest.approx(95.3 / 65)


@pytest.mark.parametrize("trade", CLAIM.values(), ids=CLAIM)
def test_a_trade_in_every_plausible_world(trade):
    """The reference of each world, its wait over six and its error more, by a plain loop."""
    e = standard()
    judged = Judged(e, trade)
    changes, errors = [], []
    for i in single_worlds(e.spread.worlds.reference):
        error = min(1.0, i["error_rate"] * trade.factor + trade.points)
        parts = {name: i[name] / 6 for name in ("start_delay_s", "handshake_s", "ttft_s", "tool_time_s")}
        moved = i | parts | {"tokens_per_s": 6 * i["tokens_per_s"], "error_rate": error}
        changes.append(plain_time(moved)[0] / plain_time(i)[0] - 1)
        errors.append(error - i["error_rate"])
    np.testing.assert_allclose(judged.changes, [changes], rtol=1e-9, atol=1e-12)
    assert judged.p_faster == sum(c < 0 for c in changes) / DRAWS and 0.2 < judged.p_faster < 0.8
    assert judged.band(90) == pytest.approx(np.quantile(changes, [0.05, 0.95], method="hazen"), rel=1e-9)
    assert judged.band(50) == pytest.approx(np.quantile(changes, [0.25, 0.75], method="hazen"), rel=1e-9)
    assert judged.error_band() == pytest.approx(np.quantile(errors, [0.05, 0.95], method="hazen"), rel=1e-9)
    assert judged.error_change == pytest.approx(0.2 if trade.points else 0.05)
    assert judged.wait_speed_up == pytest.approx(6.0, rel=1e-14) and math.isnan(judged.token_speed_up)


def test_a_trade_that_is_only_faster_wins_in_every_world_and_one_with_only_more_errors_in_none():
    e = standard()
    assert Judged(e, Trade(6.0)).p_faster == 1.0 and Judged(e, Trade(1.0, points=0.1)).p_faster == 0.0


def test_a_trade_that_trades_nothing_has_no_chance_to_name():
    judged = Judged(standard(), Trade(1.0))
    change, chance = judged.change, judged.p_faster
    assert change == 0.0 and math.isnan(chance)


def test_a_trade_against_an_unknown_reference_has_no_chance_to_name():
    judged = Judged(linked("preset=haiku-4.5&reference=haiku-4.5"), CLAIM[MORE_POINTS])
    found = judged.change, *judged.band(90), judged.p_faster
    assert np.isnan(found).all()


@pytest.mark.parametrize("trade", CLAIM.values(), ids=CLAIM)
def test_swings_of_a_trade_are_the_trade_with_one_assumption_at_its_ends(trade):
    e = standard()
    swings = {swing.driver: swing for swing in Judged(e, trade).swings}
    for name, low, high in (("escape_factor", 1.0, 15.0), ("detect", 0.25, 0.9), ("error", 0.1, 0.5), ("fix_time_s", 300.0, 2520.0), ("reuse", 0.0, 0.8)):
        wanted = [Judged(standard(**{name: end}), trade).change for end in (low, high)]
        assert [swings[name].change_low, swings[name].change_high] == pytest.approx(wanted, rel=1e-9), name
    # speed, TTFT and tokens swing the wait of both; nothing of the option's own is drawn
    assert {"n_out", "calls", TTFT, "tool_time_s"} <= set(swings) and {"benchmark", "speed"}.isdisjoint(swings)
    sizes = [swing.size for swing in Judged(e, trade).swings]
    assert sizes == sorted(sizes, reverse=True)
