"""The tabs Quality and Field trials of the Evidence page under AppTest: their figures against the functions behind them."""

import numpy as np
import pytest

from fastmode import format as fmt
from fastmode import quality_check
from fastmode.catalog import load
from fastmode.field_trials import model_values, to_match, trials
from fastmode.scenario import default
from tests.app.test_cards import start
from tests.app.test_evidence import evidence, tables, texts

CATALOG = load()


def table_with(at, column):
    return next(frame for frame in tables(at) if column in frame.columns)


def test_the_quality_tab_says_what_the_check_found():
    at = evidence(tab="Quality")
    row = quality_check.summary(CATALOG).set_index("task_family", drop=False).loc["all"]
    said = " ".join(texts(at))
    assert f"Half of {fmt.number(row['rows'], 9)} published errors of smaller models lie within {fmt.number(100 * row['median_error'])} points" in said
    assert f"the 90 % band holds {fmt.share(row['inside_90'])} of them, {fmt.share(row['left_inside_90'])} with their own family left out" in said
    table = next(frame for frame in tables(at) if {"task_family", "rows", "families"} <= set(frame.columns))
    np.testing.assert_array_equal(table["rows"], quality_check.summary(CATALOG)["rows"])


def test_a_family_and_the_way_of_judging_come_from_the_link():
    at = evidence("qf=coding&qi=left+out+of+the+fit", tab="Quality")
    row = quality_check.summary(CATALOG).set_index("task_family", drop=False).loc["coding"]
    assert f"in coding lie within {fmt.number(100 * row['median_error'])} points" in " ".join(texts(at))
    assert at.session_state["qf"] == "coding" and at.session_state["qi"] == "out"


def test_unknown_choices_of_the_quality_tab_are_left_out():
    at = evidence("qf=alchemy&qi=7", tab="Quality")
    assert (at.session_state["qf"], at.session_state["qi"]) == ("all", "in")


def test_the_student_table_names_every_family_and_whether_it_holds():
    at = evidence(tab="Quality")
    made = quality_check.student_table(CATALOG)
    table = next(frame for frame in tables(at) if len(frame) == len(made) and "active" in " ".join(map(str, frame.columns)))
    assert len(table) == 9


@pytest.mark.parametrize("calls", [1, 20, 2000])
def test_from_one_call_to_a_task(calls):
    """An error of 25 % over n independent calls is 1 - 0.75^(1/n) a call."""
    at = evidence(f"preset=opus-4.6&c={calls}", tab="Quality")
    said = " ".join(markdown.value for markdown in at.main.markdown)
    assert f"is {fmt.share(1 - 0.75 ** (1 / calls))} a call if calls fail independently" in said


def test_the_trials_tab_shows_the_model_beside_every_trial():
    at = evidence(tab="Field+trials".replace("+", " "))
    values, found = model_values(default(), CATALOG), trials(CATALOG)
    said = " ".join(texts(at))
    assert f"gets {fmt.ratio(values.at['benchmark', 'np'])} as much done as without AI" in said
    assert values.at["benchmark", "np"] == pytest.approx(2.532523, abs=1e-6)
    needed = to_match(default(), CATALOG)
    table = table_with(at, "trial")
    assert list(table["trial"]) == list(found["label"]) == list(needed["label"])
    assert list(table["found"]) == [fmt.number(v) for v in found["np"]]
    google = needed.set_index("label")["error"].filter(like="Google").iloc[0]
    assert google == pytest.approx(0.644, abs=5e-4)


def test_an_option_without_a_speed_has_trials_but_no_model():
    at = start("tab=Field trials&v=haiku-4.5&preset=haiku-4.5", "evidence")
    assert not at.exception and "Haiku 4.5" in " ".join(texts(at))
