"""Wafers and small SRAM chips: every published speed is predicted by a fit that has not seen it."""

import numpy as np
import pandas as pd
import pytest

from fastmode.calibration.sram import FITTED, KINDS, METHODS, fit_sram, student_t95, token_times
from fastmode.catalog import load

# 5 % and 95 % points of Student's t as printed in any statistics table
T95 = {2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015, 8: 1.860, 9: 1.833, 30: 1.697}


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def points(catalog):
    return catalog.sram_points


@pytest.fixture(scope="module")
def fit(points, catalog):
    return fit_sram(points, catalog)


def changed(points, name, **cells):
    out = points.copy()
    for column, value in cells.items():
        out.loc[out["id"] == name, column] = value
    return out


def predicted(fit) -> pd.Series:
    return fit.points.set_index("id")["predicted_left_out"]


def used(points, catalog, kind) -> pd.DataFrame:
    """Used rows of a kind with layers and active parameters, in the order of their ids."""
    machine = {"wafer": "cerebras_wse3", "lpu": "groq_lpu_v1"}[kind]
    rows = points[(points["use"] == 1) & (points["hardware_id"] == machine)].sort_values("id", ignore_index=True)
    models = catalog.models.loc[rows["model_id"]]
    return rows.assign(layers=models["layers"].to_numpy(), active=models["active_params_b"].to_numpy())


def error(fit, kind, method) -> pd.Series:
    return fit.errors.set_index(["kind", "method"]).loc[(kind, method)]


# leaving out


@pytest.mark.parametrize(
    "name",
    ["wafer-llama-3.1-8b-2026", "wafer-kimi-k2.6-2026", "lpu-kimi-k2-2025", "lpu-gpt-oss-20b-2025"],
)
def test_a_corrupted_speed_does_not_change_its_own_prediction(name, points, catalog, fit):
    speed = points.set_index("id").at[name, "tokens_per_s"]
    other = predicted(fit_sram(changed(points, name, tokens_per_s=speed * 3), catalog))
    assert other[name] == predicted(fit)[name]
    kind, model = fit.points.set_index("id").loc[name, "kind"], points.set_index("id").at[name, "model_id"]
    rest = points.loc[points["id"].str.startswith(kind) & ~points["model_id"].isin(["", model]), "id"]
    assert (other[rest] != predicted(fit)[rest]).all()


def test_small_chips_do_not_enter_the_fit_of_wafers(points, catalog, fit):
    other = predicted(fit_sram(changed(points, "lpu-kimi-k2-2025", tokens_per_s=2000.0), catalog))
    wafers = other.index.str.startswith("wafer")
    pd.testing.assert_series_equal(other[wafers], predicted(fit)[wafers], check_exact=True)


def test_releases_of_one_architecture_are_left_out_together(points, catalog):
    """Llama 3.1 70B and 3.3 70B have the same layers: one must not help to predict the other."""
    both = changed(points, "wafer-llama-3.1-70b-2024-10", use=1)
    corrupted = changed(both, "wafer-llama-3.1-70b-2024-10", tokens_per_s=100.0)
    name = "wafer-llama-3.3-70b-2025"
    assert predicted(fit_sram(corrupted, catalog))[name] == predicted(fit_sram(both, catalog))[name]


def test_speeds_not_used_change_nothing_but_are_predicted(points, catalog, fit):
    name = "wafer-llama-3.1-70b-2024-08"
    other = fit_sram(changed(points, name, tokens_per_s=9000.0), catalog)
    assert other.constants == fit.constants and other.log_sd == fit.log_sd
    pd.testing.assert_frame_equal(other.errors, fit.errors)
    assert np.isfinite(predicted(fit)[name])


def test_the_order_of_rows_changes_nothing(points, catalog, fit):
    for seed in (1, 2):
        other = fit_sram(points.sample(frac=1.0, random_state=seed), catalog)
        pd.testing.assert_frame_equal(other.points, fit.points, check_exact=True)
        pd.testing.assert_frame_equal(other.errors, fit.errors, check_exact=True)
        assert other.constants == fit.constants


# by hand


def test_two_predictions_by_hand(points, catalog, fit):
    """Llama 3.1 8B: 16 GB of weights fit one wafer of 44 GB; on chips of 0.23 GB each of the 32 layers is a stage.

    The constants come from a fit to a table without the row; attention adds less than 0.2 % at one request.
    """
    hop = catalog.serving_constants["value"]
    wafer = fit_sram(points[points["id"] != "wafer-llama-3.1-8b-2026"], catalog).constants
    by_hand = wafer["fixed_wafer_s"].value + 32 * wafer["floor_layer_wafer_s"].value
    assert predicted(fit)["wafer-llama-3.1-8b-2026"] == pytest.approx(1 / by_hand, rel=2e-3)

    lpu = fit_sram(points[points["id"] != "lpu-llama-3.1-8b-2025"], catalog).constants
    by_hand = lpu["fixed_lpu_s"].value + 32 * lpu["floor_layer_lpu_s"].value + 31 * hop["hop_lpu_s"]
    assert predicted(fit)["lpu-llama-3.1-8b-2025"] == pytest.approx(1 / by_hand, rel=2e-3)
    assert lpu["fixed_lpu_s"].value == fit.constants["fixed_wafer_s"].value


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_the_left_out_times(kind, points, catalog, fit):
    table = fit.points[(fit.points["kind"] == kind) & fit.points["use"]]
    ratio = (table["measured"] / table["predicted_left_out"]).to_numpy()  # predicted time over measured time
    got = error(fit, kind, "physics")
    assert got["rows"] == len(table) == fit.rows[kind]
    assert got["median"] == pytest.approx(np.median(np.abs(ratio - 1)))
    assert got["max"] == pytest.approx(np.abs(ratio - 1).max())
    assert got["bias"] == pytest.approx(np.median(ratio) - 1)
    assert got["factor"] == pytest.approx(np.exp(np.mean(np.abs(np.log(ratio)))))
    assert fit.log_sd[kind] == pytest.approx(np.sqrt(np.mean(np.log(ratio) ** 2)))


@pytest.mark.parametrize("kind", KINDS)
def test_baselines_by_hand(kind, points, catalog, fit):
    rows = used(points, catalog, kind)
    mean, power = [], []
    for i in range(len(rows)):
        others, speed = rows.drop(index=i), rows.at[i, "tokens_per_s"]
        mean.append(speed / others["tokens_per_s"].mean())
        matrix = np.column_stack([np.ones(len(others)), np.log(others["active"])])
        (level, slope), *_ = np.linalg.lstsq(matrix, np.log(others["tokens_per_s"]), rcond=None)
        power.append(speed / np.exp(level + slope * np.log(rows.at[i, "active"])))
    for method, ratio in (("mean", np.array(mean)), ("power", np.array(power))):
        got = error(fit, kind, method)
        assert got["median"] == pytest.approx(np.median(np.abs(ratio - 1)))
        assert got["max"] == pytest.approx(np.abs(ratio - 1).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_named_method_is_the_one_with_the_smallest_error(kind, fit):
    factors = {method: error(fit, kind, method)["factor"] for method in METHODS}
    assert fit.better[kind] == min(factors, key=factors.get)
    beaten = [
        error(fit, kind, "physics")[figure] < error(fit, kind, baseline)[figure]
        for figure in ("median", "max")
        for baseline in ("mean", "power")
    ]
    assert fit.beats_both[kind] == all(beaten)


def test_on_wafers_the_physics_is_closer_than_the_published_power_law(points, catalog, fit):
    """3322 / active^0.294 tokens/s as published, though two of the points are its anchors."""
    rows = used(points, catalog, "wafer")
    ratio = rows["tokens_per_s"] / (3322 / rows["active"] ** 0.294)
    assert error(fit, "wafer", "physics")["factor"] < np.exp(np.mean(np.abs(np.log(ratio))))
    assert error(fit, "wafer", "physics")["median"] < np.median(np.abs(ratio - 1))
    assert fit.beats_both["wafer"]


# the fit itself


def exact(points, catalog, constants) -> pd.DataFrame:
    """The points with the speeds the serving model gives for these constants."""
    out = points[points["model_id"] != ""].copy()
    return out.assign(tokens_per_s=1 / token_times(out, catalog, constants))


TRUTH = {"fixed_wafer_s": 2e-4, "floor_layer_wafer_s": 6e-6, "fixed_lpu_s": 2e-4, "floor_layer_lpu_s": 4e-5}


def test_speeds_made_by_the_serving_model_give_its_constants_back(points, catalog):
    made = fit_sram(exact(points, catalog, TRUTH), catalog)
    for name, value in TRUTH.items():
        constant = made.constants[name]
        assert constant.value == pytest.approx(value, rel=1e-6)
        assert constant.low == pytest.approx(value, rel=1e-4) and constant.high == pytest.approx(value, rel=1e-4)
    assert made.errors.set_index("method").loc["physics", "max"].max() < 1e-6
    assert set(made.better.values()) == {"physics"} and all(made.beats_both.values())


def test_one_wild_speed_hardly_moves_the_others(points, catalog):
    """Huber's loss: a speed ten times too high pulls no more than one 1.35 times too high."""
    made = exact(points, catalog, TRUTH)
    speed = made.set_index("id").at["wafer-qwen3-32b-2025", "tokens_per_s"]
    for factor in (10.0, 100.0):
        wild = fit_sram(changed(made, "wafer-qwen3-32b-2025", tokens_per_s=speed * factor), catalog)
        table = wild.points[(wild.points["kind"] == "wafer") & (wild.points["id"] != "wafer-qwen3-32b-2025")]
        assert np.abs(np.log(table["predicted_left_out"] / table["measured"])).median() < 0.06


def test_constants_are_within_their_limits_and_held_ones_are_the_catalogue_s(catalog, fit):
    for name, constant in fit.constants.items():
        assert 0 <= constant.low < constant.value < constant.high, name
        assert constant.held == (name not in FITTED["wafer"] + FITTED["lpu"])
    stored = catalog.serving_constants["value"]
    assert fit.constants["hop_wafer_s"].value == stored["hop_wafer_s"]
    assert fit.constants["hop_lpu_s"].value == stored["hop_lpu_s"]
    assert set(fit.constants) <= set(stored.index)


def test_without_wafers_the_fixed_time_is_the_catalogue_s(points, catalog):
    alone = fit_sram(points[points["hardware_id"] == "groq_lpu_v1"], catalog)
    assert set(alone.rows) == {"lpu"} and set(alone.errors["kind"]) == {"lpu"}
    assert alone.constants["fixed_lpu_s"].value == catalog.serving_constants.at["fixed_lpu_s", "value"]


# bands


@pytest.mark.parametrize("freedom", T95)
def test_students_t(freedom):
    assert student_t95(freedom) == pytest.approx(T95[freedom], abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_bands(kind, fit):
    table = fit.points[fit.points["kind"] == kind]
    half = student_t95(fit.rows[kind] - len(FITTED[kind])) * fit.log_sd[kind]
    assert fit.log_half_width[kind] == pytest.approx(half)
    assert np.log(table["high"] / table["predicted_left_out"]).to_numpy() == pytest.approx(half)
    assert np.log(table["predicted_left_out"] / table["low"]).to_numpy() == pytest.approx(half)
    assert (table["inside"] == table["measured"].between(table["low"], table["high"])).all()


def test_nine_of_ten_used_speeds_lie_in_their_bands_and_the_speed_of_the_launch_does_not(fit):
    table = fit.points.set_index("id")
    shares = table[table["use"]].groupby("kind")[["inside", "inside_others"]].mean()
    assert (shares["inside"] >= 0.9).all() and (shares["inside_others"] >= 0.8).all()
    assert not table.at["wafer-llama-3.1-70b-2024-08", "inside"], "450 tok/s became 2100 by software"
    assert not table.at["lpu-llama-3.1-70b-specdec-2024", "inside"], "speculative decoding is not in the fit"


def test_a_band_from_the_others_does_not_know_the_point(points, catalog, fit):
    table = fit.points[(fit.points["kind"] == "lpu") & fit.points["use"]].set_index("id")
    distance = np.log(table["measured"] / table["predicted_left_out"])
    for name in table.index:
        others = np.sqrt((distance.drop(name) ** 2).mean())
        assert table.at[name, "inside_others"] == (abs(distance[name]) <= student_t95(len(table) - 2) * others)


# refusals


def test_what_cannot_be_fitted_is_refused(points, catalog):
    with pytest.raises(ValueError, match="at least 5 architectures"):
        fit_sram(points[~points["id"].isin(used(points, catalog, "lpu")["id"][:5])], catalog)
    with pytest.raises(ValueError, match="positive"):
        fit_sram(changed(points, "lpu-kimi-k2-2025", tokens_per_s=0.0), catalog)
    with pytest.raises(ValueError, match="positive"):
        fit_sram(changed(points, "lpu-kimi-k2-2025", tokens_per_s=np.nan), catalog)
    with pytest.raises(ValueError, match="degree of freedom"):
        student_t95(0)


# the data


def test_one_speed_per_machine_and_architecture_is_used_and_it_is_the_newest(points, catalog):
    plain = points[(points["model_id"] != "") & ~points["why_not"].str.startswith("a separate endpoint")]
    shape = catalog.models.loc[plain["model_id"], ["layers", "hidden_size", "total_params_b"]].reset_index(drop=True)
    plain = plain.reset_index(drop=True).join(shape)
    for key, rows in plain.groupby(["hardware_id", *shape]):
        assert rows["use"].sum() == 1, key
        assert rows.loc[rows["use"] == 1, "date"].iloc[0] == rows["date"].max(), key
    assert points.loc[(points["speculation"] == "on") & (points["hardware_id"] == "groq_lpu_v1"), "use"].sum() == 0


def test_the_published_speeds_of_the_shipped_endpoints_are_among_the_points(points, catalog):
    shipped = [
        "gpt-5.3-codex-spark", "gpt-5.6-sol-cerebras", "glm-4.7-cerebras", "gpt-oss-120b-cerebras",
        "gpt-oss-120b-groq", "llama-3.3-70b-groq", "llama-3.3-70b-specdec-groq", "llama-3.1-8b-groq",
        "qwen3-32b-cerebras", "qwen3-235b-cerebras", "llama-3.1-8b-cerebras", "llama-3.1-70b-cerebras",
        "llama-3.1-405b-cerebras", "llama-4-maverick-cerebras", "kimi-k2.6-cerebras", "qwen3.8-27b-cerebras",
    ]  # fmt: skip
    known = set(zip(points["hardware_id"], points["tokens_per_s"], strict=True))
    for name, speed in catalog.endpoints.loc[shipped, "output_tok_s"].items():
        assert ("groq_lpu_v1" if name.endswith("groq") else "cerebras_wse3", speed) in known, name
    counts = points[points["use"] == 1].groupby("hardware_id").size()
    assert counts["cerebras_wse3"] >= 11 and counts["groq_lpu_v1"] >= 9
