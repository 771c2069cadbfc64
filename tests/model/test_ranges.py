"""Ranges of the assumptions: where they come from, what a user's own do to them, and the values drawn from them."""

import csv
import math
import subprocess
import sys
from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmode import catalog
from fastmode.field import Declaration, Field
from fastmode.link import from_query, to_query
from fastmode.ranges import Range, deviation, draw, drawn, normal_scores, own_ranges, ranges, ranges_text
from fastmode.scenario import Scenario, all_fields, default, expand_profile, expand_set
from tests.conftest import ROOT
from tests.model.test_evaluate import of, stacked

CAT = catalog.load()
FIELDS = all_fields(CAT)
DRAWN = {name: f for name, f in FIELDS.items() if f.drawn}
Z95 = NormalDist().inv_cdf(0.95)
HALF = 0.5 * Z95  # halfway to an end of a range
SETS = ("favours-speed", "favours-accuracy")


def table(name):
    with (ROOT / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# What is drawn, read from the files themselves.
ROWS = {row["name"]: row for row in table("assumptions.csv") if row["drawn"] == "1"}
PROFILES = table("profile_values.csv")
NAMED = {name: {r["field"]: float(r["value"]) for r in table("assumption_sets.csv") if r["set"] == name} for name in SETS}


def made_up(unit, low=0.0, high=1e6, kind="number"):
    """A field of its own for the shape of a draw."""
    declared, nan = Declaration("mu", "task", kind, "Made up", ""), math.nan
    return Field("made_up", declared, unit, None, nan, nan, low, high, nan, (), "", "", "", ())


PLAIN, CHANCE = made_up("s"), made_up("probability", high=1.0)


def ends(r):
    return r.value, r.low, r.high


# --- where a range comes from -----------------------------------------------------------------------------------------


def test_the_default_scenario_has_the_ranges_of_the_table():
    found = ranges(default(), CAT)
    assert set(found) == set(ROWS)
    for name, row in ROWS.items():
        value = math.nan if row["default"] == "" else float(row["default"])
        np.testing.assert_array_equal(ends(found[name]), (value, float(row["low"]), float(row["high"])), err_msg=name)


def test_spot_values_of_the_specification():
    found = ranges(default(), CAT)
    assert ends(found["escape_factor"]) == (3.0, 1.0, 15.0)
    assert ends(found["fix_time_s"]) == (1560.0, 300.0, 2520.0)
    assert ends(found["detect"]) == (0.6, 0.25, 0.9)
    assert ends(found["error"]) == (0.25, 0.1, 0.5)
    assert ends(found["reuse"]) == (0.0, 0.0, 0.8)
    assert ends(found["n_out"]) == (8000.0, 300.0, 80_000.0)
    assert {"batch_size", "distillation", "task_scale", "utilisation", "team_size"}.isdisjoint(found)


@pytest.mark.parametrize("profile", sorted({row["profile"] for row in PROFILES}))
def test_a_profile_brings_its_own_value_low_and_high(profile):
    found = ranges(of("opus-4.6", profile), CAT)
    own = {row["field"]: row for row in PROFILES if row["profile"] == profile and row["field"] in ROWS}
    assert own
    for name, row in own.items():
        low, high = float(row["low"]), float(row["high"])
        if low < high:
            assert ends(found[name]) == (float(row["value"]), low, high), name
    for name in set(ROWS) - set(own):  # what the profile does not name is as in the table
        np.testing.assert_array_equal(found[name].low, float(ROWS[name]["low"]), err_msg=name)
        np.testing.assert_array_equal(found[name].high, float(ROWS[name]["high"]), err_msg=name)


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row["default"]])
def test_a_value_the_user_has_set_is_a_point_and_leaves_the_others(name):
    before = ranges(default(), CAT)
    f = FIELDS[name]
    mine = float(f.default) + 1 if f.max > 1 else 0.37
    after = ranges(replace(default(), **{name: mine}), CAT)
    assert name in before and name not in after
    assert {n: ends(r) for n, r in after.items() if n != "anchor_ttft_s"} == {
        n: ends(r) for n, r in before.items() if n not in (name, "anchor_ttft_s")
    }


def test_an_own_ttft_is_a_point():
    assert "anchor_ttft_s" in ranges(default(), CAT)
    assert "anchor_ttft_s" not in ranges(replace(default(), anchor_ttft_s=1.0), CAT)


def test_the_value_of_another_profile_is_the_users_own():
    """2,520 s is what critical work says; under an issue it can only be the user's."""
    assert "fix_time_s" not in ranges(of("opus-4.6", "issue", fix_time_s=2520.0), CAT)
    assert ends(ranges(of("opus-4.6", "critical-work"), CAT)["fix_time_s"]) == (2520.0, 1560.0, 5400.0)
    assert "fix_time_s" not in ranges(of("opus-4.6", "critical-work", fix_time_s=1560.0), CAT)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("task", ["issue", "critical-work"])
def test_what_an_assumption_set_names_is_a_point_and_the_rest_keeps_its_range(name, task):
    plain = ranges(of("opus-4.6", task), CAT)
    found = ranges(replace(of("opus-4.6", task), **expand_set(name, task, CAT)), CAT)
    assert set(found) == set(plain) - set(NAMED[name])
    for kept in set(found) - {"anchor_ttft_s"}:
        assert ends(found[kept]) == ends(plain[kept])
    # a set's field is no assumption of the source again when the user moves it
    moved = replace(of("opus-4.6", task), **expand_set(name, task, CAT) | {"detect": 0.42})
    assert "detect" not in ranges(moved, CAT)
    owned = replace(moved, ranges="d:0.3:0.7")
    assert ends(ranges(owned, CAT)["detect"]) == (0.42, 0.3, 0.7)


# --- ranges of the user -----------------------------------------------------------------------------------------------


def test_an_own_range_replaces_that_of_the_source_and_may_surround_an_own_value():
    assert ends(ranges(replace(default(), ranges="of:2:8"), CAT)["escape_factor"]) == (3.0, 2.0, 8.0)
    assert ends(ranges(replace(default(), ranges="of:2:8", escape_factor=4.0), CAT)["escape_factor"]) == (4.0, 2.0, 8.0)


def test_an_own_range_is_widened_to_hold_the_value():
    assert ends(ranges(replace(default(), ranges="of:5:8"), CAT)["escape_factor"]) == (3.0, 3.0, 8.0)
    assert ends(ranges(replace(default(), ranges="of:1:2"), CAT)["escape_factor"]) == (3.0, 1.0, 3.0)


def test_an_own_range_of_one_value_makes_a_point():
    assert "escape_factor" not in ranges(replace(default(), ranges="of:3:3"), CAT)


def test_an_own_range_of_a_field_without_a_value_stands_alone():
    found = ranges(replace(default(), ranges="st:0.5:2"), CAT)["anchor_ttft_s"]
    np.testing.assert_array_equal(ends(found), (math.nan, 0.5, 2.0))


def test_keys_and_names_are_read_and_keys_are_written():
    found, wrong = own_ranges("of:1:8; detect : 0.3 : 0.7 ;e:.2:.3", CAT)
    assert found == {"escape_factor": (1.0, 8.0), "detect": (0.3, 0.7), "error": (0.2, 0.3)} and not wrong
    assert ranges_text(found, CAT) == "of:1:8;d:0.3:0.7;e:0.2:0.3"


@pytest.mark.parametrize("text", ["", "  ", "none", ";", " ; "])
def test_no_ranges(text):
    assert own_ranges(text, CAT) == ({}, []) and ranges_text({}, CAT) == "none"


@pytest.mark.parametrize(
    "part",
    ["d:0.7:0.3", "d:0.3", "d:0.3:0.7:0.9", "d:0.3:1.1", "d:-0.1:0.7", "d:nan:0.7", "d:0.3:inf", "d:1_0:2", "d::", "d:a:b", "d", "d:٠:١"],
)  # fmt: skip
def test_a_wrong_part_is_named_with_its_field_and_limits_and_the_others_stand(part):
    found, wrong = own_ranges(f"of:1:8;{part};rp:30:600", CAT)
    assert found == {"escape_factor": (1.0, 8.0), "reprompt_time_s": (30.0, 600.0)}
    (sentence,) = wrong
    assert sentence.startswith(part) and FIELDS["detect"].label in sentence
    assert "between 0 and 1 probability" in sentence


def test_limits_in_the_sentence_are_those_of_the_field():
    (sentence,) = own_ranges("fx:10:2520", CAT)[1]
    assert "between 60 and 7200 s" in sentence and FIELDS["fix_time_s"].label in sentence


@pytest.mark.parametrize("key", ["zz", "b", "a", "m", "", "D"])
def test_a_key_that_is_no_assumption_is_named(key):
    found, wrong = own_ranges(f"{key}:1:2;of:1:8", CAT)
    assert found == {"escape_factor": (1.0, 8.0)}
    assert len(wrong) == 1 and f"{key}:1:2" in wrong[0]


def test_a_long_text_never_gives_another_range_than_written():
    """Cut short, d:0.3:0.75 would read as 0.3 to 0.7."""
    for padding in range(1980, 2010):
        found, wrong = own_ranges(";" * padding + "d:0.3:0.75", CAT)
        assert found.get("detect", (0.3, 0.75)) == (0.3, 0.75)
        assert "detect" in found or wrong, "the last part is gone without a word"


@st.composite
def owns(draw_one):
    """Own ranges within the fields' limits, of numbers with few digits."""
    names = draw_one(st.lists(st.sampled_from(sorted(DRAWN)), unique=True, max_size=5))
    found = {}
    for name in names:
        f = DRAWN[name]
        pair = [float(f"{f.min + (f.max - f.min) * draw_one(st.floats(0, 1)):.6g}") for _end in range(2)]
        found[name] = tuple(sorted(min(max(x, f.min), f.max) for x in pair))
    return found


@given(owns())
def test_what_is_printed_is_read_back(own):
    assert own_ranges(ranges_text(own, CAT), CAT) == (own, [])


def test_a_link_carries_ranges_and_says_what_it_could_not_read():
    scenario, ignored = from_query("rg=of:1:8;d:0.3:2;zz:1:2")
    assert scenario.ranges == "of:1:8"
    (row,) = ignored
    assert row.key == "rg" and FIELDS["detect"].label in row.reason and "zz" in row.reason
    again, nothing = from_query(to_query(scenario))
    assert again == scenario and not nothing
    assert "rg=" not in to_query(default())


# --- scenarios of arrays ----------------------------------------------------------------------------------------------


def several():
    """Scenarios that differ in all that decides a range."""
    one = of("opus-4.6-fast")
    return [
        one,
        of("opus-4.6-fast", "critical-work"),
        of("opus-4.6-fast", "chat", ranges="of:1:8;d:0.3:0.7"),
        replace(one, **expand_set("favours-speed", "issue", CAT)),
        replace(one, **expand_set("favours-accuracy", "voice", CAT) | expand_profile("voice") | {"assumption_set": "favours-accuracy"}),
        replace(one, detect=0.42, escape_factor=1.0),
        replace(one, detect=0.42, ranges="d:0.5:0.6"),
        replace(one, anchor_ttft_s=2.0),
    ]


def test_a_scenario_of_arrays_has_the_ranges_of_each_element():
    scenarios = several()
    together = ranges(stacked(scenarios), CAT)
    alone = [ranges(s, CAT) for s in scenarios]
    assert set(together) == set().union(*alone)
    for name, r in together.items():
        for i, scenario in enumerate(scenarios):
            held = getattr(scenario, name)
            value = math.nan if held is None else float(held)
            wanted = ends(alone[i][name]) if name in alone[i] else (value, value, value)
            np.testing.assert_array_equal([column[i, 0] for column in ends(r)], wanted, err_msg=f"{name} {i}")


def test_draws_of_arrays_are_those_of_each_element():
    scenarios = several()
    together = ranges(stacked(scenarios), CAT)
    for name in set(together) - {"anchor_ttft_s"}:
        f, score = FIELDS[name], normal_scores(name, 64)
        made = draw(f, together[name], score[None, :])
        for i, scenario in enumerate(scenarios):
            own = ranges(scenario, CAT)
            wanted = drawn(f, own[name], 64) if name in own else np.full(64, float(getattr(scenario, name)))
            np.testing.assert_allclose(made[i], wanted, rtol=1e-12, err_msg=f"{name} {i}")


def test_an_array_in_one_field_makes_points_of_the_values_that_are_set():
    found = ranges(replace(default(), detect=np.array([0.6, 0.5])), CAT)["detect"]
    np.testing.assert_array_equal(np.stack(ends(found))[:, :, 0], [[0.6, 0.5], [0.25, 0.5], [0.9, 0.5]])


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(ROWS) - {"anchor_ttft_s"}))
def test_the_ends_of_a_range_are_the_5th_and_95th_percentile_and_the_value_the_median(name):
    f, r = FIELDS[name], ranges(default(), CAT)[name]
    np.testing.assert_allclose(draw(f, r, np.array([-Z95, 0.0, Z95])), (r.low, r.value, r.high), rtol=1e-12)
    values = drawn(f, r, 512)
    got = np.quantile(values, [0.05, 0.5, 0.95], method="hazen")
    np.testing.assert_allclose(got, (r.low, r.value, r.high), rtol=2e-3, atol=2e-3 * (r.high - r.low))


@pytest.mark.parametrize(
    ("name", "score", "wanted"),
    [
        ("fix_time_s", -HALF, math.sqrt(1560 * 300)),  # halfway in the logarithm
        ("fix_time_s", HALF, math.sqrt(1560 * 2520)),
        ("fix_time_s", 2 * Z95, 1560 * (2520 / 1560) ** 2),
        ("escape_factor", HALF, math.sqrt(3 * 15)),
        ("detect", Z95 / 2, 1 / (1 + math.sqrt((0.4 / 0.6) * (0.1 / 0.9)))),  # halfway in log odds
        ("detect", -HALF, 1 / (1 + math.sqrt((0.4 / 0.6) * (0.75 / 0.25)))),
        ("detect", 2 * Z95, 1 / (1 + (0.4 / 0.6) * ((0.1 / 0.9) / (0.4 / 0.6)) ** 2)),
        ("tool_time_s", -HALF, 30.0),  # no percentile at 0 in a logarithm: a straight line
        ("tool_time_s", -2 * Z95, 0.0),
        ("start_delay_s", HALF, 30.0),
        ("start_delay_s", -HALF, 0.0),
        ("reuse", HALF, 1 - math.sqrt(0.2)),
        ("reuse", -HALF, 0.0),
        ("reuse", 2 * Z95, 1 - 0.2**2),
        ("baseline_error", HALF, 1 - math.sqrt(0.68)),
        ("max_attempts", 0.1, 2.0),
        ("max_attempts", HALF, 3.0),  # 2 sqrt(2) = 2.83
        ("loc", -HALF, 32.0),  # sqrt(50 x 20) = 31.6
    ],
)
def test_between_and_beyond_the_ends(name, score, wanted):
    np.testing.assert_allclose(draw(FIELDS[name], ranges(default(), CAT)[name], np.array([score])), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("f", "r", "wanted"),
    [
        (CHANCE, Range(0.4, 0.0, 1.0), (0.0, 0.2, 0.4, 0.7, 1.0)),  # both ends without a percentile
        (CHANCE, Range(1.0, 0.25, 1.0), (0.25, 0.5, 1.0, 1.0, 1.0)),
        (CHANCE, Range(0.0, 0.0, 0.75), (0.0, 0.0, 0.0, 0.5, 0.75)),
        (CHANCE, Range(0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5, 0.5)),
        (CHANCE, Range(0.2, 0.2, 0.5), (0.2, 0.2, 0.2, 1 / 3, 0.5)),  # odds 1/4 to 1, halfway 1/2
        (PLAIN, Range(4.0, 1.0, 16.0), (1.0, 2.0, 4.0, 8.0, 16.0)),
        (PLAIN, Range(4.0, 4.0, 16.0), (4.0, 4.0, 4.0, 8.0, 16.0)),
        (PLAIN, Range(4.0, 0.0, 4.0), (0.0, 2.0, 4.0, 4.0, 4.0)),
        (PLAIN, Range(0.0, 0.0, 6.0), (0.0, 0.0, 0.0, 3.0, 6.0)),
        (PLAIN, Range(0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_open_and_one_ended_ranges(f, r, wanted):
    got = draw(f, r, np.array([-Z95, -HALF, 0.0, HALF, Z95]))
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-15)


@st.composite
def fields_and_ranges(draw_one):
    f = DRAWN[draw_one(st.sampled_from(sorted(DRAWN)))]
    low, value, high = sorted(f.min + (f.max - f.min) * draw_one(st.sampled_from([0.0, 1.0]) | st.floats(0, 1)) for _i in range(3))
    return f, Range(min(value, f.max), min(low, f.max), min(high, f.max))


@given(fields_and_ranges())
def test_no_draw_leaves_the_fields_limits_or_turns_back(pair):
    f, r = pair
    values = draw(f, r, np.linspace(-8.0, 8.0, 201))
    assert np.isfinite(values).all() and values.min() >= f.min and values.max() <= f.max
    slack = 1e-9 * np.abs(values[:-1])
    assert (np.diff(values) >= -slack).all()
    assert np.array_equal(values, np.round(values)) or f.kind != "whole"


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [1, 2, 64, 512])
def test_each_slice_of_the_normal_distribution_is_hit_once(draws):
    scores = normal_scores("escape_factor", draws)
    slices = np.floor(np.array([NormalDist().cdf(z) for z in scores]) * draws).astype(int)
    assert sorted(slices.tolist()) == list(range(draws))
    # and in the middle of its slice
    middles = sorted((NormalDist().cdf(z) * draws) % 1 for z in scores)
    np.testing.assert_allclose(middles, 0.5, atol=1e-9)


def test_names_have_orders_of_their_own():
    names = [*DRAWN, "benchmark", "size", "slope", "speed", "ttft", "vendors"]
    together = np.corrcoef([normal_scores(n, 512) for n in names])
    np.fill_diagonal(together, 0.0)
    # 1 / sqrt(511) = 0.044 is the spread of the correlation of two random orders; the largest of 561 stays below 4 of them
    assert np.abs(together).max() < 4 / math.sqrt(511)
    assert np.sqrt((together**2).sum() / (len(names) * (len(names) - 1))) < 1.3 / math.sqrt(511)


def test_scores_follow_from_the_name_alone_in_every_process():
    code = "from fastmode.ranges import normal_scores as n; print([round(float(n(k, 8)[i]), 12) for k in ('detect', 'error') for i in range(8)])"
    said = set()
    for seed in ("0", "1", "4711"):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True, check=True)
        said.add(done.stdout.strip())
    here = [round(float(normal_scores(k, 8)[i]), 12) for k in ("detect", "error") for i in range(8)]
    assert said == {str(here)}


def test_another_assumption_leaves_the_draws_of_the_others():
    before = {name: drawn(FIELDS[name], r, 64).copy() for name, r in ranges(default(), CAT).items() if name != "anchor_ttft_s"}
    after = ranges(replace(default(), detect=0.42, ranges="of:2:8"), CAT)
    assert set(before) - set(after) == {"detect"}
    for name in set(before) - {"detect", "escape_factor"}:
        np.testing.assert_array_equal(drawn(FIELDS[name], after[name], 64), before[name], err_msg=name)
    assert not np.array_equal(drawn(FIELDS["escape_factor"], after["escape_factor"], 64), before["escape_factor"])


def test_a_residual_reproduces_both_bands_and_is_odd():
    z50 = NormalDist().inv_cdf(0.75)
    scores = np.array([-2 * Z95, -Z95, -z50, -z50 / 2, 0.0, z50 / 2, z50, (z50 + Z95) / 2, Z95, 2 * Z95])
    got = deviation(scores, 0.2, 0.8)
    np.testing.assert_allclose(got, [-1.6, -0.8, -0.2, -0.1, 0.0, 0.1, 0.2, 0.5, 0.8, 1.6], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(deviation(scores[None, :], [[0.2], [0.0]], [[0.8], [0.0]])[1], 0.0, atol=0)


def test_the_quantiles_of_many_residuals_are_the_bands():
    made = deviation(normal_scores("speed", 4096), 0.15, 0.9)
    np.testing.assert_allclose(np.quantile(made, [0.05, 0.25, 0.5, 0.75, 0.95], method="hazen"), [-0.9, -0.15, 0.0, 0.15, 0.9], atol=2e-3)


def test_every_field_of_a_scenario_is_either_drawn_or_not():
    assert set(DRAWN) == set(ROWS) and set(DRAWN) < {f.name for f in fields(Scenario)}
