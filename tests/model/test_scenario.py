"""Inputs of the model: one declaration, and every value that presets and profiles give lies on it."""

from dataclasses import fields, replace

import pytest

from fastmode import catalog
from fastmode import scenario as scenarios
from fastmode.scenario import Scenario, all_fields, changed_from_preset, describe, expand_preset, expand_profile, snap

CATALOG = catalog.load()
FIELDS = all_fields()


def allowed(name, value):
    """Whether a value is one the field can take without snapping."""
    field = FIELDS[name]
    if value is None:
        return field.optional
    if field.kind == "choice":
        return value in dict(field.choices)
    if field.kind == "scale":
        return value in field.grid
    if field.kind == "text":
        return value == "none"
    return field.min <= value <= field.max and snap(field, value) == value


def test_declared_fields_are_the_rows_of_the_assumptions_table():
    declared = {f.name for f in fields(Scenario)}
    assert declared == set(CATALOG.assumptions.index)
    assert list(FIELDS) == [f.name for f in fields(Scenario)]


def test_seven_fields_are_on_the_table():
    table = [name for name, f in FIELDS.items() if f.group == "table"]
    assert table == ["preset", "reference", "task", "batch_size", "hardware", "distillation", "fix_time_s"]


def test_every_field_has_a_group_a_help_and_its_own_short_key():
    keys = [f.key for f in FIELDS.values()]
    assert len(set(keys)) == len(keys) and max(map(len, keys)) <= 2
    assert {f.group for f in FIELDS.values()} == set(scenarios.GROUPS)
    assert all(f.label and f.help for f in FIELDS.values())
    # A key that is the name of another field would be ambiguous.
    assert [name for name, f in FIELDS.items() if f.key in FIELDS and f.key != name] == []


def test_default_preset_and_profile_are_the_defaults():
    default = scenarios.default()
    assert (default.preset, default.reference, default.task) == ("gpt-5.3-codex-spark", "gpt-5.3-codex", "issue")
    assert replace(default, **expand_preset(default.preset), **expand_profile(default.task)) == default
    assert changed_from_preset(default) == ()


def test_defaults_are_those_of_the_productivity_model():
    d = scenarios.default()
    assert (d.n_in, d.n_out, d.calls, d.tool_time_s, d.start_delay_s) == (114_000, 8_000, 20, 60, 0)
    assert (d.theta_s, d.kappa_s, d.resume_s, d.reuse) == (10, 60, 60, 0)
    assert (d.prompt_time_s, d.loc, d.review_rate_loc_per_h, d.error) == (120, 50, 400, 0.25)
    assert (d.detect, d.retry_ratio, d.max_attempts, d.reprompt_time_s) == (0.6, 1, 2, 180)
    assert (d.fix_time_s, d.escape_factor, d.wage_usd_per_h, d.baseline_s, d.baseline_error) == (1560, 3, 100, 3900, 0)


@pytest.mark.parametrize("preset", CATALOG.presets.index)
def test_values_of_a_preset_lie_on_grid_and_bounds(preset):
    values = expand_preset(preset)
    assert {name: value for name, value in values.items() if not allowed(name, value)} == {}
    assert values["preset"] == preset and set(values) == set(scenarios.PRESET_FIELDS)


@pytest.mark.parametrize("task", CATALOG.profiles.index)
def test_values_of_a_profile_lie_on_grid_and_bounds(task):
    values = expand_profile(task)
    assert {name: value for name, value in values.items() if not allowed(name, value)} == {}
    assert values["task"] == task and set(values) == {"task", *scenarios.profile_fields()}


def test_defaults_lie_on_grid_and_bounds():
    assert {name: f.default for name, f in FIELDS.items() if not allowed(name, f.default)} == {}


def test_presets_and_profiles_decide_different_fields():
    assert set(scenarios.PRESET_FIELDS).isdisjoint(scenarios.profile_fields())


def test_limits_enclose_the_likely_range():
    for name, f in FIELDS.items():
        if f.low == f.low:
            assert f.min <= f.low <= f.high <= f.max, name


def test_profile_without_rows_returns_to_the_defaults():
    """Going from a profile back to the issue leaves nothing of the first."""
    issue = replace(scenarios.default(), **expand_profile("complex-code"))
    assert issue.n_out == 40_000
    assert replace(issue, **expand_profile("issue")) == scenarios.default()


def test_a_preset_means_a_fixed_batch_and_leaves_rate_and_limits_alone():
    """A published speed goes with a batch; what traffic a user has and wants to hold is no property of an option."""
    assert {expand_preset(p)["load"] for p in CATALOG.presets.index} == {"batch"}
    assert {"requests_per_s", "slo_ttft_s", "slo_tpot_s"}.isdisjoint(scenarios.PRESET_FIELDS)
    default = scenarios.default()
    assert scenarios.option_edited(replace(default, load="traffic"))
    assert not scenarios.option_edited(replace(default, requests_per_s=5.0, slo_ttft_s=1.0))
    assert (default.slo_ttft_s, default.slo_tpot_s) == (None, None)


def test_unknown_preset_or_profile_is_a_key_error():
    for expand in (expand_preset, expand_profile):
        with pytest.raises(KeyError):
            expand("nothing-of-that-name")


def test_snap_is_to_the_nearest_by_ratio_on_a_scale_and_by_distance_on_a_step():
    assert snap(FIELDS["batch_size"], 20) == 24  # 24/20 = 1.2 is less than 20/16 = 1.25, though 16 and 24 are as far
    assert snap(FIELDS["batch_size"], 19) == 16
    assert snap(FIELDS["reuse"], 0.12) == 0.1
    assert snap(FIELDS["prompt_time_s"], 126) == 130
    assert snap(FIELDS["n_out"], 8000.4) == 8000
    assert snap(FIELDS["agentic_step"], 1.12) == 1.1


def test_only_what_the_user_changed_counts_as_changed():
    default = scenarios.default()
    assert changed_from_preset(replace(default, batch_size=32.0, wage_usd_per_h=80.0)) == ("batch_size", "wage_usd_per_h")
    assert changed_from_preset(replace(default, reference="opus-4.6")) == ()


def test_description_has_the_numbers_and_choices_of_every_field():
    rows = {row["name"]: row for row in describe()}
    assert list(rows) == list(FIELDS)
    assert rows["batch_size"] | {"help": "", "note": "", "basis": "", "source_url": ""} == {
        "name": "batch_size", "key": "b", "label": "Batch", "symbol": "B", "csv": "", "unit": "sequences",
        "group": "table", "kind": "scale", "min": 1.0, "max": 512.0, "default": 16.0, "low": 1.0, "high": 64.0,
        "drawn": False, "grid": list(FIELDS["batch_size"].grid), "step": None, "choices": None,
        "help": "", "basis": "", "source_url": "", "note": "",
    }  # fmt: skip
    assert rows["chip_price"]["choices"] == ["low", "mid", "high"] and rows["chip_price"]["min"] is None
    assert rows["preset"]["choices"] == list(CATALOG.presets.index)
