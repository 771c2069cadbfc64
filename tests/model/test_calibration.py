"""The refit: constants recovered from rows made with known ones, leaving out that really leaves out, figures recomputed by hand.

Fits are made on rows of the shipped measured table, the model's own times put in where the truth must be known. A full refit takes more
than a minute and is not repeated here; one fit to all rows is (`shipped`).
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.calibration import Calibration, judge, write
from fastmode.calibration.command import METHOD
from fastmode.calibration.fit import FACTS_PER_CELL, QUANTITIES, SUSPECT_WEIGHT, fit, row_weights
from fastmode.calibration.judge import (
    ALL_ROWS,
    CELLS_EQUAL,
    FEW_ROWS,
    GROUPS,
    NONE,
    OVER_GROUPS,
    LeftOut,
    error_table,
    leave_out,
    score,
)
from fastmode.calibration.rows import CELL, measured_rows, predicted
from fastmode.calibration.spread import Z, pooled, shape_range, spread, weighted_quantile
from fastmode.predict import predict
from fastmode.serving.tables import tables_with

CAT = catalog.load()
PRIORS = CAT.calibration_priors.set_index("name")
STORED = CAT.serving_constants["value"]
TPOT_NAMES, TTFT_NAMES = (PRIORS.index[PRIORS["quantity"] == quantity].tolist() for quantity in QUANTITIES)
NOISE = 0.03


def of_rows(frame, suspects=False):
    """The catalogue with these measured rows only."""
    listed = CAT.measured_suspects if suspects else CAT.measured_suspects.iloc[:0]
    return replace(CAT, measured=frame, measured_suspects=listed)


def known_rows():
    rows = CAT.measured
    return rows[(rows["model_id"] != "") & (rows["hardware_id"] != "")].sort_values("row_id")


def fitted(cat, use=None):
    rows = measured_rows(cat)
    return fit(rows, np.ones(len(rows), bool) if use is None else use, cat)


def truth():
    """Constants half a prior's width (at most 15 %) off the stored ones, alternately up and down."""
    out = {}
    for i, (name, row) in enumerate(PRIORS.iterrows()):
        value = STORED[name] * np.exp((-1) ** i * 0.5 * min(row["log_sd"], 0.3))
        out[name] = min(value, 0.95) if np.isfinite(row["at_most"]) else value
    return out


def made_with(constants, frame, noise, seed):
    """The rows with times the model gives with `constants`, times log-normal noise; every row a deployment of its own."""
    rng = np.random.default_rng(seed)
    base = of_rows(frame)
    tpot, ttft, _service = predicted(measured_rows(base), tables_with(base, constants))
    return frame.sort_values("row_id").assign(
        tpot_ms=1e3 * tpot * np.exp(noise * rng.standard_normal(len(frame))),
        ttft_ms=1e3 * ttft * np.exp(noise * rng.standard_normal(len(frame))),
        engine_version=[f"version {i}" for i in range(len(frame))],
    )


def moved(new, old):
    return {name: abs(new[name] / old[name] - 1) for name in old}


# the fit


@pytest.fixture(scope="module")
def synthetic():
    return made_with(truth(), known_rows(), NOISE, seed=1)


@pytest.fixture(scope="module")
def recovered(synthetic):
    return fitted(of_rows(synthetic))


@pytest.fixture(scope="module")
def shipped():
    """One fit to all shipped rows: a few seconds."""
    return fitted(CAT)


def test_constants_behind_made_up_rows_are_recovered(recovered):
    """Within 4 % of what made them (priors pull by some of it); within 7 % for the schedules of the engines.

    Not determined by the rows, and so left near their priors: the launch of a prefill (hidden under the prefill), and the common
    schedule, of which four rows speak.
    """
    off = moved(recovered, truth())
    assert max(off[name] for name in TPOT_NAMES) < 0.04
    schedules = [name for name in TTFT_NAMES if name.startswith(("first_", "burst_")) and not name.endswith("_other")]
    assert len(schedules) == 7
    assert max(off[name] for name in schedules) < 0.07


def test_times_behind_made_up_rows_are_recovered(synthetic, recovered):
    """A fit to noisy rows is closer to the truth than the rows: 0.3 % in TPOT, 3 % in TTFT in the median."""
    base = of_rows(synthetic)
    true, found = (predicted(measured_rows(base), tables_with(base, c)) for c in (truth(), recovered))
    tpot, ttft = (np.abs(found[i] / true[i] - 1) for i in range(2))
    assert np.median(tpot) < 0.003 and np.quantile(tpot, 0.9) < 0.01
    assert np.nanmedian(ttft) < 0.03


def test_the_start_was_not_the_answer(recovered):
    """The constants that made the rows are not those a fit starts from, nor the stored ones."""
    true = truth()
    assert np.median([abs(true[name] / PRIORS.at[name, "prior"] - 1) for name in TPOT_NAMES]) > 0.05
    assert np.median(list(moved(true, STORED[list(true)].to_dict()).values())) > 0.05
    assert np.median(list(moved(recovered, STORED[list(true)].to_dict()).values())) > 0.05


def test_one_row_in_ten_mislabelled_moves_no_constant_by_three_percent(synthetic, recovered):
    """Times three as long, as of a wrong batch or model: Cauchy's likelihood lets them go."""
    wrong = np.random.default_rng(5).random(len(synthetic)) < 0.1
    spoilt = synthetic.assign(**{f"{q}_ms": synthetic[f"{q}_ms"] * np.where(wrong, 3.0, 1.0) for q in QUANTITIES})
    assert 0.08 < wrong.mean() < 0.12
    assert max(moved(fitted(of_rows(spoilt)), recovered).values()) < 0.03


def test_one_shipped_row_in_ten_mislabelled_hardly_moves_the_predictions(shipped):
    """The shipped rows scatter ten times as much: constants of TPOT move by some percent, its predictions by one."""
    rows = measured_rows(CAT)
    wrong = np.random.default_rng(0).random(len(rows)) < 0.1
    spoilt = replace(
        rows, tpot_s=rows.tpot_s * np.where(wrong, 3.0, 1.0), ttft_s=rows.ttft_s * np.where(wrong, 3.0, 1.0)
    )
    found = fit(spoilt, np.ones(len(rows), bool), CAT)
    assert max(moved(found, shipped)[name] for name in TPOT_NAMES) < 0.05
    before, after = (predicted(rows, tables_with(CAT, c)) for c in (shipped, found))
    assert np.nanmedian(np.abs(after[0] / before[0] - 1)) < 0.015
    assert np.nanmedian(np.abs(after[1] / before[1] - 1)) < 0.06


def test_the_order_of_rows_changes_nothing():
    """Every eighth measured row, in order and shuffled: the same constants to the last bit."""
    frame = known_rows().iloc[::8]
    shuffled = frame.sample(frac=1.0, random_state=3)
    assert list(shuffled["row_id"]) != list(frame["row_id"])
    suspects = CAT.measured_suspects.sample(frac=1.0, random_state=4)
    one = fitted(of_rows(frame, suspects=True))
    assert fitted(replace(of_rows(shuffled), measured_suspects=suspects)) == one


def test_an_engine_without_rows_gets_the_common_values():
    """Without rows of vLLM its factors stay at one, so its schedule is the common one, which an unknown engine has."""
    frame = known_rows()
    frame = frame[frame["engine"] != "vllm"].iloc[::4]
    cat = of_rows(frame)
    found = fitted(cat)
    assert found["first_steps_vllm"] == pytest.approx(found["first_steps_other"], rel=1e-12)
    assert found["burst_vllm"] == pytest.approx(found["burst_other"], rel=1e-12)
    assert found["first_steps_trtllm"] != pytest.approx(found["first_steps_other"], rel=0.02)
    row = frame[(frame["engine"] == "trtllm") & frame["ttft_ms"].notna()].iloc[:1]
    tables = tables_with(CAT, found)
    assert np.array_equal(tables.engine[1:, 0], tables.engine[1:, 3])
    asked = pd.concat([row.assign(engine=name) for name in ("an engine nobody knows", "other")])
    assert predict(asked, CAT)["ttft_ms"].nunique() == 1


def test_weights_of_rows_by_hand():
    """Cells of 4 and 1 rows, one of the four suspect: in proportion to 1/2 (a fifth of it) and 1, eight facts in all."""
    rows = SimpleNamespace(cell=np.array(["a"] * 4 + ["b"]), suspect=np.array([True, False, False, False, False]))
    weight = row_weights(rows, np.ones(5, bool))
    plain = np.array([0.5 * SUSPECT_WEIGHT, 0.5, 0.5, 0.5, 1.0])
    assert weight == pytest.approx(plain * 2 * FACTS_PER_CELL / plain.sum())
    only = row_weights(rows, np.array([False, True, False, False, True]))
    assert only == pytest.approx(np.array([0, 1, 0, 0, 1]) * FACTS_PER_CELL)


# leaving out


@pytest.fixture(scope="module")
def few():
    """120 rows of two chips, two models, two engines and two sources."""
    rows = known_rows()
    picked = [
        rows[(rows["hardware_id"] == "h100_sxm") & (rows["model_id"] == "qwen3-32b") & (rows["engine"] == "trtllm")],
        rows[(rows["hardware_id"] == "h100_sxm") & (rows["model_id"] == "minimax-m2.5") & (rows["engine"] == "vllm")],
        rows[(rows["hardware_id"] == "b200_sxm") & (rows["model_id"] == "minimax-m2.5") & (rows["engine"] == "vllm")],
    ]
    return pd.concat([frame.iloc[:: max(len(frame) // 40, 1)].iloc[:40] for frame in picked])


def test_leaving_out_really_leaves_out(few, monkeypatch):
    """A chip's rows made three times as long: what is predicted of them without them stays to the last bit; the rest moves.

    Their bands may move: they come from how far the other groups miss, whose fits have seen these rows.
    """
    monkeypatch.setattr(judge, "GROUPS", ("hardware",))  # two groups are enough to see it, and so is a coarse fit
    monkeypatch.setattr("fastmode.calibration.fit.ITERATIONS", 5)
    before = leave_out(measured_rows(of_rows(few)), of_rows(few))
    spoilt_rows = few.assign(tpot_ms=few["tpot_ms"] * np.where(few["hardware_id"] == "b200_sxm", 3.0, 1.0))
    spoilt = of_rows(spoilt_rows)
    after = leave_out(measured_rows(spoilt), spoilt)
    mine = before.rows.groups["hardware"] == "b200_sxm"
    assert 20 <= mine.sum() <= 60 and len(before.constants) == 1 + 2
    key = ("hardware", "b200_sxm")
    assert after.constants[key] == before.constants[key]
    for quantity in QUANTITIES:
        assert np.array_equal(
            after.times[quantity, "hardware"][mine], before.times[quantity, "hardware"][mine], equal_nan=True
        )
    others = after.times["tpot", "hardware"][~mine] / before.times["tpot", "hardware"][~mine]
    assert np.abs(others - 1).max() > 0.01
    assert after.constants[NONE, ALL_ROWS] != before.constants[NONE, ALL_ROWS]


def test_nothing_to_fit_is_refused(few, monkeypatch):
    monkeypatch.setattr("fastmode.calibration.fit.ITERATIONS", 1)
    alone = of_rows(few[few["hardware_id"] == "b200_sxm"])
    with pytest.raises(ValueError, match="every row has the hardware b200_sxm"):
        leave_out(measured_rows(alone), alone)


@pytest.fixture(scope="module")
def made_up():
    """24 rows whose left-out predictions are chosen: errors known without any fit.

    Hardware x (cells one, two) and y (cell three), 10 + 2 + 12 rows; predicted/measured = 1.1, 1.5 and 0.8 + 0.05 i; bands ln 1.12 and ln 1.21.
    """
    ratio = np.concatenate([np.full(10, 1.1), np.full(2, 1.5), 0.8 + 0.05 * np.arange(12)])
    cell = np.repeat(["one", "two", "three"], [10, 2, 12])
    measured = np.full(24, 0.02)
    groups = {kind: np.repeat(["x", "y"], 12) for kind in GROUPS}
    rows = SimpleNamespace(cell=cell, groups=groups, measured=lambda quantity: measured)
    times = {(quantity, kind): measured * ratio for quantity in QUANTITIES for kind in (NONE, *GROUPS)}
    half = {50: np.log(1.12), 90: np.log(1.21)}
    bands = {(q, k, level): np.full(24, half[level]) for q in QUANTITIES for k in GROUPS for level in half}
    return LeftOut(rows, {}, times, bands)


def test_error_table_by_hand(made_up):
    """Group x: ten errors of 0.1, two of 0.5. Group y: errors 0.2 to 0 and up to 0.35, medians and shares counted by hand."""
    table = error_table(made_up).set_index(["quantity", "left_out", "group"])
    x = table.loc[("tpot", "hardware", "x")]
    assert (x["rows"], x["cells"]) == (12, 2)
    assert x["median"] == pytest.approx(0.1) and x["p90"] == pytest.approx(0.5 - 0.1 * 0.4)  # 9.9th of 0..11
    assert x["bias"] == pytest.approx(np.log(1.1))
    assert (x["coverage50"], x["coverage90"]) == pytest.approx((10 / 12, 10 / 12))
    y = table.loc[("tpot", "hardware", "y")]  # ratios 0.80 0.85 0.90 0.95 1.00 1.05 1.10 1.15 1.20 1.25 1.30 1.35
    errors = sorted([0.2, 0.15, 0.1, 0.05, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35])
    assert y["median"] == pytest.approx((errors[5] + errors[6]) / 2) == pytest.approx(0.15)
    assert y["p90"] == pytest.approx(errors[9] + 0.9 * (errors[10] - errors[9]))
    assert y["bias"] == pytest.approx(0.5 * (np.log(1.05) + np.log(1.10)))
    # within a factor of 1.21: 0.85 to 1.2 (0.80 is 1/1.25); within 1.12: 0.90 to 1.10
    assert (y["coverage50"], y["coverage90"]) == pytest.approx((5 / 12, 8 / 12))


def test_cells_equal_by_hand(made_up):
    """Three cells with medians 0.1, 0.5 and 0.15, whatever their size; coverage is their mean."""
    row = error_table(made_up).set_index(["quantity", "left_out", "group"]).loc[("tpot", "model", CELLS_EQUAL)]
    assert (row["rows"], row["cells"]) == (24, 3)
    assert row["median"] == pytest.approx(0.15)
    assert row["p90"] == pytest.approx(0.15 + 0.8 * 0.35)  # 1.8th of 0.1, 0.15, 0.5
    assert row["coverage90"] == pytest.approx((1 + 0 + 8 / 12) / 3)
    assert row["bias"] == pytest.approx(np.median([np.log(1.1), np.log(1.5), 0.5 * np.log(1.05 * 1.10)]))


def test_a_fit_that_saw_the_rows_has_no_coverage(made_up):
    table = error_table(made_up)
    seen = table[table["left_out"] == NONE]
    assert len(seen) == 4 and seen[["coverage50", "coverage90"]].isna().all(axis=None)
    assert (table["group"] != OVER_GROUPS).all()  # both groups have fewer rows than a figure of their own needs
    assert FEW_ROWS > 12


# what is written


def found(score_now, stored):
    table = pd.DataFrame({"name": ["a"], "value": [0.123456789]})
    sram = SimpleNamespace(errors=pd.DataFrame({"kind": ["wafer"]}), points=pd.DataFrame({"inside": [True]}))
    return Calibration(table, table, table, sram, score_now, stored)


def test_a_worse_fit_is_not_written(tmp_path):
    """The message names the figures; the files stay to the last byte; --force writes them."""
    kept = tmp_path / "serving_constants.csv"
    kept.write_text("as it was\n")
    worse = found({"median": 0.0951, "p90": 0.2}, {"median": 0.0825, "p90": 0.27})
    with pytest.raises(ValueError, match=r"worse \(left-out median 0\.0951, stored 0\.0825\); --force"):
        write(worse, tmp_path)
    assert kept.read_text() == "as it was\n" and [path.name for path in tmp_path.iterdir()] == [kept.name]
    both = found({"median": 0.0951, "p90": 0.3}, {"median": 0.0825, "p90": 0.27})
    with pytest.raises(ValueError, match=r"median 0\.0951.*p90 0\.3000, stored 0\.2700"):
        write(both, tmp_path)
    paths = write(worse, tmp_path, force=True)
    assert len(paths) == 5 and all(path.exists() for path in paths) and not list(tmp_path.glob("*.part"))
    assert kept.read_text().startswith("name,value")


def test_a_fit_as_good_is_written_with_four_digits(tmp_path):
    """Rounding is no worsening, and the folder is made."""
    same = found({"median": 0.08252, "p90": 0.27}, {"median": 0.0825, "p90": 0.27})
    paths = write(same, tmp_path / "new")
    assert {path.name for path in paths} == {
        "serving_constants.csv", "calibration_errors.csv", "calibration_left_out.csv", "calibration_sram.csv",
        "calibration_sram_points.csv",
    }  # fmt: skip
    assert (tmp_path / "new" / "calibration_errors.csv").read_text() == "name,value\na,0.1235\n"
    assert (tmp_path / "new" / "calibration_sram_points.csv").read_text() == "inside\n1\n"
    assert write(found({"median": 0.1, "p90": 0.3}, {}), tmp_path / "first")  # nothing stored yet


def test_the_score_is_the_mean_over_the_four_kinds(made_up):
    assert score(error_table(made_up))["median"] == pytest.approx(0.1)  # 24 errors, the middle two are 0.1
    rows = CAT.calibration_errors
    rows = rows[(rows["quantity"] == "tpot") & (rows["group"] == ALL_ROWS)].set_index("left_out")
    assert score(CAT.calibration_errors)["p90"] == pytest.approx(rows.loc[list(GROUPS), "p90"].mean())


# the spread behind the bands


def cells(rng, drift, shape, count=400, size=40):
    """Rows of `count` cells of `size` rows and residuals with a known level and a known scatter within cells."""
    cell = np.repeat([f"cell {i:03d}" for i in range(count)], size)
    level = np.repeat(drift * rng.standard_normal(count), size)
    return SimpleNamespace(cell=cell, suspect=np.zeros(len(cell), bool)), level + shape * rng.standard_normal(len(cell))


@pytest.mark.parametrize(("drift", "shape"), [(0.2, 0.1), (0.05, 0.15)])
def test_drift_and_shape_of_simulated_cells_are_recovered(drift, shape):
    """Normal cells, so the 50 and the 90 % level agree. The level of 40 rows carries some of their scatter:
    the median of 40 has the standard deviation 1.25 shape/sqrt(40). (Cells of a dozen rows give a shape some 10 % low at the 50 % level.)"""
    rows, residual = cells(np.random.default_rng(2), drift, shape)
    one = spread(residual, rows, np.ones(len(residual), bool))
    level = np.hypot(drift, 1.25 * shape / np.sqrt(40))
    for p in (50, 90):
        assert one.drift[p] == pytest.approx(level, rel=0.1)
        assert one.shape[p] == pytest.approx(shape, rel=0.08)
        assert one.half_width(p) == pytest.approx(Z[p] * np.hypot(one.drift[p], one.shape[p]))
    inside = np.abs(residual) <= one.half_width(90)
    assert inside.mean() == pytest.approx(0.9, abs=0.03)


def test_a_common_bias_widens_the_band():
    rows, residual = cells(np.random.default_rng(2), 0.1, 0.05)
    everything = np.ones(len(residual), bool)
    assert spread(residual + 0.3, rows, everything).drift[50] > 2 * spread(residual, rows, everything).drift[50]
    half = spread(residual, rows, everything)
    assert pooled([half, half]).drift == pytest.approx(half.drift)


@pytest.mark.parametrize("reach", [0.8, 2.0])
def test_range_of_the_shape_is_recovered(reach):
    """Within a cell residuals follow a Gaussian process in ln batch; only pairs at the same context and chips are compared."""
    rng = np.random.default_rng(7)
    batch = 2.0 ** np.arange(11)
    log = np.log(batch)
    covariance = np.exp(-(((log[:, None] - log) / reach) ** 2)) + 1e-9 * np.eye(len(log))
    process = np.linalg.cholesky(covariance)
    count = 400
    residual = np.concatenate(
        [0.2 * rng.standard_normal() + 0.1 * process @ rng.standard_normal(len(log)) for _cell in range(count)]
    )
    config = SimpleNamespace(
        batch=np.tile(batch, count), context_tokens=np.full(len(residual), 2000.0), n_chips=np.ones(len(residual))
    )
    rows = SimpleNamespace(
        cell=np.repeat([f"cell {i:03d}" for i in range(count)], len(log)), suspect=np.zeros(len(residual), bool),
        prepared=SimpleNamespace(config=config),
    )  # fmt: skip
    everything = np.ones(len(residual), bool)
    assert shape_range(residual, rows, everything) == pytest.approx(reach, rel=0.2)
    with pytest.raises(ValueError, match="too few pairs"):
        shape_range(residual, rows, everything & (np.arange(len(residual)) < 3))


def test_weighted_quantile_by_hand():
    """Weights 1, 1, 2: midpoints at 1/8, 3/8 and 3/4 of the total."""
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])
    assert weighted_quantile(values, weights, 3 / 8) == pytest.approx(2.0)
    assert weighted_quantile(values, weights, 0.5) == pytest.approx(2.0 + (0.5 - 0.375) / 0.375)
    assert weighted_quantile(values, weights, 0.01) == 1.0 and weighted_quantile(values, weights, 0.99) == 3.0


# what is shipped


def test_the_shipped_constants_are_a_fit_of_the_shipped_rows(shipped):
    for name, value in shipped.items():
        assert STORED[name] == pytest.approx(value, rel=5e-4), name  # half a unit of the fourth digit
    written = CAT.serving_constants
    assert set(written.index[written["method"] == METHOD]) == set(shipped)


def test_at_most_twelve_constants_of_tpot_are_fitted():
    assert len(TPOT_NAMES) <= 12 and not set(TPOT_NAMES) & set(TTFT_NAMES)


def left_out_errors():
    """Each left-out prediction of data/calibration_left_out.csv beside its measured row."""
    rows = CAT.measured.set_index("row_id")
    table = CAT.calibration_left_out.reset_index(drop=True).copy()
    named = rows.assign(engine=rows["engine"].where(rows["engine"] != "", "other"))
    columns = {"hardware": "hardware_id", "model": "model_id", "engine": "engine", "source": "source_name"}
    groups = pd.DataFrame({kind: named[column] for kind, column in columns.items()}).loc[table["row_id"]]
    table["group"] = [groups[kind].iloc[i] for i, kind in enumerate(table["left_out"])]
    table["cell"] = named[list(CELL)].astype(str).agg("|".join, axis=1).loc[table["row_id"]].to_numpy()
    for quantity in QUANTITIES:
        table[f"measured_{quantity}"] = rows.loc[table["row_id"], f"{quantity}_ms"].to_numpy()
    return table


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("kind", GROUPS)
def test_the_shipped_error_table_follows_from_the_shipped_predictions(quantity, kind):
    """Median, p90 and coverage of every group, by pandas from the two files; four digits each, so a row on the edge may tip."""
    stored = CAT.calibration_errors
    stored = stored[(stored["quantity"] == quantity) & (stored["left_out"] == kind)].set_index("group")
    table = left_out_errors()
    table = table[(table["left_out"] == kind) & table[f"{quantity}_ms"].notna() & table[f"measured_{quantity}"].notna()]
    table["error"] = (table[f"{quantity}_ms"] / table[f"measured_{quantity}"] - 1).abs()
    table["inside"] = table[f"measured_{quantity}"].between(table[f"{quantity}_ms_low"], table[f"{quantity}_ms_high"])
    names = [ALL_ROWS, *table["group"].unique()]
    assert set(names) | {CELLS_EQUAL, OVER_GROUPS} == set(stored.index)
    for name in names:
        mine = table if name == ALL_ROWS else table[table["group"] == name]
        row = stored.loc[name]
        assert row["rows"] == len(mine) and row["cells"] == mine["cell"].nunique()
        assert row["median"] == pytest.approx(mine["error"].median(), abs=2e-3, rel=2e-3), name
        assert row["p90"] == pytest.approx(mine["error"].quantile(0.9), abs=2e-3, rel=2e-3), name
        assert row["coverage90"] == pytest.approx(mine["inside"].mean(), abs=2e-3), name
    by_cell = table.groupby("cell")
    equal = stored.loc[CELLS_EQUAL]
    assert equal["median"] == pytest.approx(by_cell["error"].median().median(), abs=2e-3)
    assert equal["p90"] == pytest.approx(by_cell["error"].median().quantile(0.9), abs=2e-3, rel=2e-3)
    assert equal["coverage90"] == pytest.approx(by_cell["inside"].mean().mean(), abs=2e-3)


@pytest.mark.parametrize(
    ("kind", "median", "p90"),
    [("hardware", 0.09, 0.30), ("model", 0.09, 0.30), ("engine", 0.09, 0.30), ("source", 0.12, 0.32)],
)
def test_left_out_errors_meet_their_bars(kind, median, p90):
    rows = CAT.calibration_errors.set_index(["quantity", "left_out", "group"])
    row = rows.loc[("tpot", kind, ALL_ROWS)]
    assert row["median"] <= median and row["p90"] <= p90
    assert row["rows"] == len(known_rows())  # suspects included


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_nine_of_ten_left_out_rows_lie_in_their_bands(quantity, kind):
    row = CAT.calibration_errors.set_index(["quantity", "left_out", "group"]).loc[(quantity, kind, ALL_ROWS)]
    assert 0.85 <= row["coverage90"] <= 0.95
    assert 0.40 <= row["coverage50"] <= 0.60


def test_every_used_speed_of_an_sram_machine_lies_in_its_band():
    points = CAT.calibration_sram_points
    used = points[points["use"] == 1]
    assert len(used) >= 15
    assert used["measured"].between(used["low"], used["high"]).all()
    assert (used["inside"] == 1).all()
