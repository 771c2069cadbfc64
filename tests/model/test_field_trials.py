"""The field check: trials as net productivity, the model beside them, and what it takes to match each."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from fastmode.catalog import DATA_DIR, CatalogError, load
from fastmode.evaluate import evaluate
from fastmode.field_trials import LEVELS, model_values, net_productivity, to_match, trials
from fastmode.scenario import all_fields, default, expand_preset, expand_profile


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def scenario(catalog):
    return default(catalog)


# --- the trials


@pytest.mark.parametrize(
    ("value", "converts", "found"),
    [
        (1.25, "time_ratio", 0.8),
        (-20.0, "time_percent", 1.25),
        (25.0, "time_percent", 0.8),
        (26.0, "output_percent", 1.26),
        (0.0, "time_percent", 1.0),
    ],
)
def test_a_figure_becomes_output_with_ai_over_output_without(value, converts, found):
    assert net_productivity(value, converts) == pytest.approx(found)


def test_an_unknown_conversion_is_refused():
    with pytest.raises(ValueError, match="unknown conversion"):
        net_productivity([1.0, 2.0], ["time_ratio", "output"])


@pytest.mark.parametrize(
    ("trial", "np_", "low", "high", "year"),
    [
        ("metr-2025", 0.842, 0.717, 0.987, 2025),  # 1/1.188, 1/1.394, 1/1.013
        ("metr-2026-new", 1.042, 0.917, 1.176, 2026),  # 1/0.96, 1/1.09, 1/0.85
        ("metr-2026-returning", 1.220, 0.917, 1.613, 2026),  # 1/0.82, 1/1.09, 1/0.62
        ("microsoft-accenture", 1.261, 1.059, 1.463, 2024),
        ("google-2024", 1.266, np.nan, np.nan, 2024),  # 1/0.79
        ("copilot-2023", 2.262, np.nan, np.nan, 2023),  # 1/0.442
    ],
)
def test_trials_as_shipped(catalog, trial, np_, low, high, year):
    row = trials(catalog).loc[trial]
    assert [row["np"], row["np_low"], row["np_high"]] == pytest.approx([np_, low, high], abs=5e-4, nan_ok=True)
    assert row["year"] == year and row["source_url"].startswith("https://") and row["population"] and row["who"]


def test_trials_come_in_rising_order_with_their_ends_the_right_way_round(catalog):
    table = trials(catalog)
    assert len(table) == len(catalog.field_trials) == 6
    assert table["np"].is_monotonic_increasing
    ranged = table.dropna(subset=["np_low", "np_high"])
    assert len(ranged) == 4
    assert (ranged["np_low"] < ranged["np"]).all() and (ranged["np"] < ranged["np_high"]).all()


def test_each_trial_is_converted_as_the_unit_of_its_figure_says(catalog):
    units = catalog.human_time.set_index("quantity")["unit"]
    opening = {
        "time_ratio": "ratio of time with AI",
        "time_percent": "percent change in ",
        "output_percent": "percent more ",
    }
    for row in catalog.field_trials.itertuples():
        assert units[row.quantity].startswith(opening[row.converts]), row.id
    assert set(catalog.human_time.set_index("quantity").loc[catalog.field_trials["quantity"], "method"]) == {"RCT"}


def test_a_trial_that_names_no_figure_is_refused(tmp_path):
    folder = shutil.copytree(DATA_DIR, tmp_path / "data")
    path = folder / "field_trials.csv"
    path.write_text(path.read_text("utf-8").replace("google_rct_time_change", "google_rct"), "utf-8")
    with pytest.raises(CatalogError, match="google_rct"):
        load(folder)


# --- the model beside them


def test_the_model_at_both_levels(catalog, scenario):
    table = model_values(scenario, catalog)
    assert list(table.index) == list(LEVELS)
    assert list(table["error"]) == pytest.approx([0.25, 0.49])
    # Example A of the worked examples: 3 900 s over 1 539.966 s.
    assert table.loc["benchmark", "np"] == pytest.approx(3900 / 1539.966469, abs=1e-6)
    # By hand at 0.49: caught .294, retries .294, manual .294 x .294, escaped .4 x (.49 + .49 x .294); attempt 712.753 s.
    time_s = 120 + 1.294 * 712.753451 + 0.294 * 180 + 0.294**2 * 1560 + 0.4 * 0.49 * 1.294 * 4680
    assert table.loc["acceptance", "np"] == pytest.approx(3900 / time_s, abs=1e-6)


def test_half_of_the_outputs_wrong_gives_1_59(catalog, scenario):
    table = model_values(replace(scenario, error=0.5), catalog)
    assert table.loc["benchmark", "np"] == pytest.approx(1.586798, abs=5e-6)  # example U


def test_it_is_the_reference_that_is_shown_whatever_the_option_does(catalog, scenario):
    plain = model_values(scenario, catalog)
    edited = replace(scenario, distillation=8.0, batch_size=4.0, anchor_tokens_per_s=30.0, load="traffic")
    np.testing.assert_array_equal(model_values(edited, catalog)["np"], plain["np"])
    spark = model_values(replace(scenario, reference="gpt-5.3-codex-spark"), catalog)
    assert spark.loc["benchmark", "error"] == pytest.approx(0.447074, abs=1e-6)
    assert spark.loc["benchmark", "np"] == pytest.approx(1.889667, abs=5e-6)  # example I


def test_its_band_is_that_of_the_reference_as_an_option_of_its_own(catalog, scenario):
    table = model_values(scenario, catalog)
    for level in LEVELS:
        own = replace(scenario, **expand_preset("gpt-5.3-codex", catalog), error_level=level)
        band = evaluate(own, catalog).outputs()["net_productivity"]
        assert list(table.loc[level, ["np_low", "np_high"]]) == pytest.approx([band.low, band.high])
    assert (table["np_low"] < table["np"]).all() and (table["np"] < table["np_high"]).all()


def test_the_task_and_the_people_are_the_scenarios(catalog, scenario):
    chat = replace(scenario, **expand_profile("chat", catalog))
    e = evaluate(chat, catalog)
    assert model_values(chat, catalog).loc["benchmark", "np"] == pytest.approx(e.at(e.reference.task.net_productivity))
    assert model_values(replace(scenario, baseline_s=7800), catalog).loc["benchmark", "np"] == pytest.approx(
        2 * 2.5325, abs=1e-3
    )


def test_a_reference_without_a_speed_has_no_figure_until_the_user_gives_one(catalog, scenario):
    haiku = replace(scenario, **expand_preset("haiku-4.5", catalog))
    assert model_values(haiku, catalog)["np"].isna().all()
    assert to_match(haiku, catalog)[["error", "escape_factor", "escape_factor_accepted"]].isna().all(axis=None)
    told = model_values(replace(haiku, anchor_tokens_per_s=65.0), catalog)
    assert told.loc["benchmark", "np"] == pytest.approx(
        2.532523, abs=5e-6
    )  # as example A: the same speed, TTFT and handshake


# --- what it takes to match


def test_what_it_takes_as_the_worked_figures_say(catalog, scenario):
    table = to_match(replace(scenario, acceptance_gap=0.25), catalog)  # half of the outputs wrong as accepted
    assert table.loc["google-2024", "error"] == pytest.approx(0.64, abs=0.005)
    assert table.loc["google-2024", "escape_factor_accepted"] == pytest.approx(4.5, abs=0.05)
    assert table.loc["metr-2025", "error"] == pytest.approx(0.95, abs=0.005)
    assert table.loc["metr-2025", "escape_factor_accepted"] == pytest.approx(8.4, abs=0.05)
    half = to_match(replace(scenario, error=0.5), catalog)
    np.testing.assert_allclose(half["escape_factor"], table["escape_factor_accepted"], rtol=1e-12)
    np.testing.assert_allclose(half["error"], table["error"], rtol=1e-9)


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("issue", {}),
        ("issue", {"baseline_error": 0.32, "detect": 0.3}),
        ("issue", {"retry_ratio": 0.54, "max_attempts": 5, "reuse": 0.4}),
        ("chat", {}),
        ("critical-work", {"reference": "opus-4.6-fast"}),
    ],
)
def test_with_the_values_found_the_model_gives_the_trials_figure(catalog, scenario, task, changes):
    case = replace(scenario, **expand_profile(task, catalog) | changes)
    table = to_match(case, catalog)
    assert np.isfinite(table[["error", "escape_factor", "escape_factor_accepted"]]).any(axis=None)
    for row in table.itertuples():
        for change in (
            {"error": row.error, "error_level": "benchmark"},
            {"escape_factor": row.escape_factor, "error_level": "benchmark"},
            {"escape_factor": row.escape_factor_accepted, "error_level": "acceptance"},
        ):
            if np.isfinite(next(iter(change.values()))):
                side = evaluate(replace(case, **change), catalog).reference
                assert float(side.task.net_productivity[0]) == pytest.approx(row.np, rel=1e-6), (row.Index, change)


def test_what_no_value_matches_is_nan(catalog, scenario):
    bounds = all_fields(catalog)["escape_factor"]
    # Errors cost next to nothing: 2.26 of Copilot and all below lie under every net productivity the model can have.
    harmless = replace(scenario, baseline_s=39_000.0, escape_factor=0.0, fix_time_s=60.0)
    table = to_match(harmless, catalog)
    assert table["error"].isna().all()
    # With free escapes the model is far above; a factor above the highest of the field would be needed.
    assert table["escape_factor"].isna().all() and bounds.max == 100
    # A wait of hours: even without an error it is slower than every trial, and no cost of escapes mends that.
    slow = to_match(replace(scenario, tool_time_s=20_000.0), catalog)
    assert slow[["error", "escape_factor", "escape_factor_accepted"]].isna().all(axis=None)


def test_the_ends_are_within_the_field_and_just_beyond_it_is_nan(catalog, scenario):
    target = to_match(scenario, catalog).loc["copilot-2023", "escape_factor"]
    assert target == pytest.approx(4.0247, abs=1e-3)
    # At a longer unaided time the factor needed grows without bound: from 100 on there is none.
    for baseline, within in ((24_000.0, True), (60_000.0, False)):
        needed = to_match(replace(scenario, baseline_s=baseline), catalog).loc["copilot-2023", "escape_factor"]
        # By hand: T without escapes 1 001.766 s, 0.115 x 1 560 s more for each unit of the factor.
        by_hand = (baseline / (1 / 0.442) - 1001.766) / (0.115 * 1560)
        assert (by_hand <= 100) == within
        assert needed == pytest.approx(by_hand, rel=1e-4) if within else np.isnan(needed)
