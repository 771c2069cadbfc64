"""Several scenarios in one evaluation give what each would give alone."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import picture
from fastmode.evaluate import evaluate
from fastmode.scenario import default
from fastmode.sweep import FOUNDING, along, side_by_side
from fastmode.together import evaluate_together, some_of
from tests.model.test_evaluate import of


def assert_same(one, other):
    assert one.shape == other.shape
    for name, output in other.outputs().items():
        np.testing.assert_allclose(one.outputs()[name].value, output.value, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(one.outputs()[name].reference, output.reference, rtol=1e-12, err_msg=name)
        assert one.outputs()[name].reason == output.reason


def test_together_equals_alone():
    scenario = of("opus-4.6-fast", batch_size=8.0)
    asked = [
        scenario,
        replace(scenario, fix_time_s=np.array([300.0, 2520.0])),
        along(scenario, "context"),
        along(scenario, "hardware"),
        side_by_side(scenario, FOUNDING),
        replace(of("haiku-4.5"), anchor_tokens_per_s=120.0),
        of("gpt-5.3-codex-spark", "chat"),
    ]
    for one, scenario in zip(evaluate_together(asked), asked, strict=True):
        assert_same(one, evaluate(scenario))


def test_one_scenario_and_equal_scenarios():
    (alone,) = evaluate_together([default()])
    assert_same(alone, evaluate(default()))
    for one in evaluate_together([default(), default()]):
        assert_same(one, evaluate(default()))


def test_some_elements_are_those_of_the_whole():
    batches = np.array([1.0, 4.0, 16.0, 64.0])
    whole = evaluate(of("opus-4.6", batch_size=batches))
    index = np.array([3, 1])
    assert_same(some_of(whole, index), evaluate(of("opus-4.6", batch_size=batches[index])))


def test_arrays_of_different_lengths_in_one_scenario_are_refused():
    with pytest.raises(ValueError, match="2, 3"):
        evaluate_together([replace(default(), detect=np.array([0.1, 0.2]), calls=np.array([1, 2, 3]))])


def test_a_picture_holds_what_its_parts_give_alone():
    scenario = of("gpt-5.3-codex-spark", batch_size=64.0)
    overview, trade_offs = picture.overview(scenario), picture.trade_offs(scenario, "batch")
    assert_same(overview.now, evaluate(scenario))
    assert_same(trade_offs.now, evaluate(scenario))
    assert_same(trade_offs.sweep.evaluation, evaluate(along(scenario, "batch")))
    assert_same(overview.founding, evaluate(side_by_side(scenario, FOUNDING)))
    assert str(overview.second.scenario.preset) == "opus-4.6-fast" and overview.edited
    assert overview.verdict.text == trade_offs.verdict.text
    assert overview.verdict.hangs_on == trade_offs.verdict.hangs_on
    assert (
        overview.verdict.change == trade_offs.verdict.change == pytest.approx(float(evaluate(scenario).time_change[0]))
    )
    assert list(trade_offs.published.now.published_tokens_per_s) == [65.0, 1000.0]


def test_a_group_without_published_speeds_has_no_points():
    assert picture.trade_offs(of("haiku-4.5"), "batch").published is None
