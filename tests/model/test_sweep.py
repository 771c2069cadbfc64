"""The scenario along one axis: its points are evaluations, its gaps have reasons."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fastmode import catalog
from fastmode.evaluate import evaluate
from fastmode.sweep import FOUNDING, group_of, side_by_side, sweep
from tests.model.test_evaluate import of

CAT = catalog.load()


@pytest.mark.parametrize(("axis", "field", "low", "high"), [("batch", "batch_size", 1, 512), ("distillation", "distillation", 1, 100), ("context", "context_tokens", 1_000, 1_000_000)])  # fmt: skip
def test_an_axis_has_200_points_from_end_to_end_and_they_are_evaluations(axis, field, low, high):
    scenario = of("opus-4.6")
    swept = sweep(scenario, axis)
    assert len(swept.x) == 200 and (np.diff(np.log(swept.x)) > 0).all()
    assert (swept.x[0], swept.x[-1]) == (pytest.approx(low), pytest.approx(high))
    assert swept.now_x == getattr(scenario, field)
    outputs = swept.evaluation.outputs()
    for i in (0, 57, 120, 199):
        single = evaluate(replace(scenario, **{field: float(swept.x[i])})).outputs()
        for name in ("tokens_per_s_per_user", "error_rate", "cost_multiplier", "time_change", "provider_cost_usd_per_mtok"):
            np.testing.assert_allclose(outputs[name].value[i], single[name].value, rtol=1e-9, err_msg=name)


def test_spans_cover_exactly_the_points_without_a_speed():
    scenario = of("opus-4.6", context_tokens=128_000.0)
    swept = sweep(scenario, "batch")
    missing = np.isnan(swept.evaluation.outputs()["tokens_per_s_per_user"].value)
    assert missing.any() and not missing.all()
    (start, end, reason), = swept.spans
    assert start == swept.x[missing][0] and end == swept.x[missing][-1] == pytest.approx(512)
    most = int(swept.evaluation.at(swept.evaluation.now.service.max_batch, 199))
    assert reason.startswith("batch ") and reason.endswith(f"does not fit: at most {most} at this context")


def test_a_full_axis_has_no_spans():
    assert sweep(of("opus-4.6"), "distillation").spans == ()


def test_an_axis_nobody_can_serve_is_one_span():
    swept = sweep(of("haiku-4.5"), "batch")
    # at its own batch nothing can be modelled either: there is no stand-in
    assert [(round(a, 6), round(b, 6)) for a, b, _reason in swept.spans] == [(1.0, 512.0)]
    assert swept.spans[0][2].startswith("speed not published")


def test_each_part_gets_the_fewest_chips_and_the_own_part_its_own_number():
    swept = sweep(of("opus-4.6"), "hardware")
    shown = CAT.hardware[CAT.hardware["shown"] == 1]
    assert swept.x == list(shown["label"]) and swept.now_x == "B200"
    chips = dict(zip(swept.x, swept.evaluation.outputs()["n_chips"].value, strict=True))
    assert chips["B200"] == 8
    for label in ("H100", "H200", "MI300X"):
        hardware = shown.index[shown["label"] == label][0]
        single = evaluate(of("opus-4.6", hardware=hardware, n_chips=0))
        assert chips[label] == single.at(single.now.service.n_chips) > 1
    assert swept.evaluation.outputs()["tokens_per_s_per_user"].value[swept.x.index("B200")] == 65.0


def test_parts_without_a_figure_are_named_with_a_reason():
    swept = sweep(of("opus-4.6"), "hardware")
    speed = swept.evaluation.outputs()["tokens_per_s_per_user"].value
    assert [a for a, _b, _r in swept.spans] == [x for x, s in zip(swept.x, speed, strict=True) if math.isnan(s)]
    assert all(a == b and reason for a, b, reason in swept.spans)


def test_all_hardware_and_the_own_hidden_part():
    assert sweep(of("opus-4.6"), "hardware", all_hardware=True).x == list(CAT.hardware["label"])
    hidden = CAT.hardware.index[CAT.hardware["shown"] == 0][0]
    swept = sweep(of("opus-4.6", hardware=hidden), "hardware")
    assert len(swept.x) == int((CAT.hardware["shown"] == 1).sum()) + 1
    assert swept.now_x == CAT.hardware.at[hidden, "label"] and swept.now_x in swept.x


def test_an_unknown_axis_is_a_key_error():
    with pytest.raises(KeyError):
        sweep(of("opus-4.6"), "colour")


def test_the_bars_are_the_four_founding_options_under_the_scenarios_task():
    e = evaluate(side_by_side(of("gpt-5.3-codex-spark", "chat", batch_size=2.0, distillation=10.0), FOUNDING))
    assert FOUNDING == ("opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark")
    outputs = e.outputs()
    np.testing.assert_array_equal(outputs["tokens_per_s_per_user"].value, [65, 170, 65, 1000])
    for i, preset in enumerate(FOUNDING):
        single = evaluate(of(preset, "chat")).outputs()
        for name in ("time_per_task_s", "error_rate", "time_change", "wait_s"):
            np.testing.assert_allclose(outputs[name].value[i], single[name].value, rtol=1e-9, err_msg=name)


def test_presets_side_by_side_take_the_anchor_of_the_scenario():
    e = evaluate(side_by_side(of("opus-4.6", anchor="model"), ("opus-4.6", "opus-4.6-fast")))
    np.testing.assert_array_equal(e.now.tokens_per_s, e.now.service.tokens_per_s_per_user)


def test_the_group_is_what_has_a_published_speed_beside_option_and_reference():
    opus, codex = group_of(of("opus-4.6-fast")), group_of(of("gpt-5.3-codex-spark"))
    assert [p for p in opus if p in ("opus-4.6", "opus-4.6-fast", "sonnet-4.6")] == ["opus-4.6", "opus-4.6-fast", "sonnet-4.6"]
    assert codex[:2] == ("gpt-5.3-codex", "gpt-5.3-codex-spark")
    # Of the same groups, but without a published speed.
    assert {"gpt-5.3-codex-priority", "gpt-5.1-codex-mini"}.isdisjoint(codex)
