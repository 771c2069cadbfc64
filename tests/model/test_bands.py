"""Bands of modelled times: half widths worked out from the constants, what widens them, and bands of ratios."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.predict import predict, prepare
from fastmode.serving import ENGINES, PRECISIONS, ServingConfig, serve
from fastmode.serving.bands import LEVELS, half_width, ratio_half_width
from fastmode.serving.evidence import HBM, KINDS, LPU, OUTSIDE, WAFER, outside_words
from fastmode.serving.tables import tables

CAT = catalog.load()
TABLE = tables(CAT)
C = TABLE.constants
QUANTITIES = ("tpot", "ttft")
Z = {50: NormalDist().inv_cdf(0.75), 90: NormalDist().inv_cdf(0.95)}
CASES = [(quantity, level) for quantity in QUANTITIES for level in LEVELS]
INSIDE = {"batch": 64.0, "context_tokens": 2000.0, "n_chips": 8, "weight_precision": PRECISIONS.index("fp8")}


def constant(name):
    return getattr(C, name)


def served(model="llama-3.1-70b", hardware="b200_sxm", **values):
    rows = {"model": CAT.models.index.get_loc(model), "hardware": CAT.hardware.index.get_loc(hardware)}
    service = serve(ServingConfig(**rows | INSIDE | values), CAT)
    assert (service.status == 0).all()
    return service


def measured_range():
    """Largest batch, context and chips of the measured rows, from the table itself."""
    rows = CAT.measured
    rows = rows[(rows["model_id"] != "") & (rows["hardware_id"] != "")]
    rows = rows[~rows["row_id"].isin(CAT.measured_suspects["row_id"])]
    pure = rows["clean_grade"] == "A"  # a pure decode step: the context is the input
    context = rows["input_tokens"] + np.where(pure, 0.0, 0.5 * rows["output_tokens"].fillna(0.0))
    return rows["concurrency_or_batch"].max(), context.max(), rows["n_chips"].max()


# half widths by hand


def test_the_levels_are_those_of_a_normal():
    assert pytest.approx({50: 0.67449, 90: 1.64485}, abs=1e-5) == Z and LEVELS == (50, 90)


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_a_measured_deployment_has_drift_and_shape_alone(quantity, level):
    service = served()
    assert (service.kind[0], service.outside[0], service.novel[0], service.beyond[0]) == (HBM, 0, 0, 0.0)
    expected = Z[level] * np.hypot(constant(f"{quantity}_drift_{level}"), constant(f"{quantity}_shape_{level}"))
    assert half_width(service, TABLE, quantity, level)[0] == pytest.approx(expected, rel=1e-12)


def test_the_band_of_a_measured_deployment_in_plain_numbers():
    """About a third at 90 % of TPOT, more than that of TTFT; the 50 % band is narrower than the 90 % one by more than half."""
    service = served()
    width = {case: half_width(service, TABLE, *case)[0] for case in CASES}
    assert 0.2 < width["tpot", 90] < 0.5 < width["ttft", 90] < 1.2
    assert all(width[quantity, 50] < 0.6 * width[quantity, 90] for quantity in QUANTITIES)


@pytest.mark.parametrize(
    ("model", "hardware", "chips", "kind"),
    [("llama-3.1-70b", "cerebras_wse3", 0, WAFER), ("llama-3.1-70b", "groq_lpu_v1", 0, LPU)],
)
@pytest.mark.parametrize("level", LEVELS)
def test_sram_machines_have_the_scatter_of_published_speeds(model, hardware, chips, kind, level):
    """Their scatter holds drift and shape. Nobody publishes their TTFT, which has the usual parts and the unmeasured one."""
    service = served(model, hardware, n_chips=chips, batch=1.0, weight_precision=-1)
    assert (service.kind[0], service.novel[0], service.beyond[0]) == (kind, 0, 0.0)
    assert half_width(service, TABLE, "tpot", level)[0] == pytest.approx(
        Z[level] * constant(f"{KINDS[kind]}_drift_{level}"), rel=1e-12
    )
    parts = constant(f"ttft_drift_{level}"), constant(f"ttft_shape_{level}"), C.unmeasured_log_sd
    assert half_width(service, TABLE, "ttft", level)[0] == pytest.approx(Z[level] * np.linalg.norm(parts), rel=1e-12)


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_each_part_without_rows_adds_its_own(quantity, level):
    """H200: a chip without rows of a vendor with rows. TPU: neither. `other`: four rows. Drafts: none. Variances add."""
    usual = constant(f"{quantity}_drift_{level}") ** 2 + constant(f"{quantity}_shape_{level}") ** 2
    other = ENGINES.index("other")
    cases = (
        served(), served(hardware="h200_sxm"), served(hardware="tpu_v7"), served(hardware="tpu_v7", engine=other),
        served(hardware="tpu_v7", engine=other, speculation=0, draft_tokens=3),
    )  # fmt: skip
    for count, service in enumerate(cases):
        assert service.novel[0] == count
        expected = Z[level] * np.sqrt(usual + count * C.unmeasured_log_sd**2)
        assert half_width(service, TABLE, quantity, level)[0] == pytest.approx(expected, rel=1e-12)


def test_suspect_rows_do_not_make_a_chip_measured():
    """All rows of GB200 in the measured table are suspect."""
    rows = CAT.measured[CAT.measured["hardware_id"] == "gb200_nvl72"]["row_id"]
    assert len(rows) >= C.measured_rows_enough and rows.isin(CAT.measured_suspects["row_id"]).sum() > len(rows) - 20
    assert "hardware" in outside_words(served(hardware="gb200_nvl72").outside[0])


# outside the measured range


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_twice_the_largest_batch_measured_adds_ln_2_of_the_slope(quantity, level):
    most, _context, _chips = measured_range()
    service = served("llama-3.1-8b", batch=2 * most, context_tokens=100.0, fresh_tokens=50.0)
    assert service.beyond[0] == pytest.approx(np.log(2)) and outside_words(service.outside[0]) == ["batch"]
    slope = np.sqrt(2) * constant(f"{quantity}_shape_{level}") / constant(f"{quantity}_shape_range")
    parts = constant(f"{quantity}_drift_{level}"), constant(f"{quantity}_shape_{level}"), slope * np.log(2)
    assert half_width(service, TABLE, quantity, level)[0] == pytest.approx(Z[level] * np.linalg.norm(parts), rel=1e-12)


def test_distances_outside_add_as_squares():
    """Context four times, chips twice the most measured: sqrt(ln 4^2 + ln 2^2) e-folds."""
    _batch, context, chips = measured_range()
    service = served(context_tokens=[context, 4 * context, 4 * context], n_chips=[8, 8, 2 * chips], batch=1.0)
    assert service.beyond == pytest.approx([0.0, np.log(4), np.hypot(np.log(4), np.log(2))])
    assert [outside_words(bits) for bits in service.outside] == [[], ["context"], ["context", "chips"]]


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_bands_never_narrow_outside(quantity, level):
    """Over the whole catalogue, as batch, context or chips grow alone, no band becomes narrower, and beyond the range it widens."""
    usual = half_width(served(), TABLE, quantity, level)[0]
    model, hardware = (array.ravel() for array in np.meshgrid(np.arange(len(CAT.models)), np.arange(len(CAT.hardware))))
    for name, values in (
        ("batch", [1, 8, 512, 2048, 5000, 20_000]),
        ("context_tokens", [100, 5000, 16_000, 64_000, 400_000]),
        ("n_chips", [8, 16, 64, 500]),
    ):
        common = {"batch": 1.0, "context_tokens": 300.0, "n_chips": 8, "fresh_tokens": 100.0}
        widths, beyond = [], []
        for value in values:
            service = serve(ServingConfig(model=model, hardware=hardware, **common | {name: value}), CAT)
            widths.append(half_width(service, TABLE, quantity, level))
            beyond.append(service.beyond)
        widths, beyond = np.array(widths), np.array(beyond)
        both = np.isfinite(widths[1:]) & np.isfinite(widths[:-1])
        assert both.sum() > 500
        assert np.all(np.diff(widths, axis=0)[both] >= 0)
        assert np.all((np.diff(widths, axis=0) > 0)[both & (np.diff(beyond, axis=0) > 0)])
        hbm = np.isfinite(widths) & (service.kind == HBM)
        assert np.all(widths[hbm] >= usual * (1 - 1e-12))


def test_what_cannot_be_served_has_no_band():
    row = CAT.models.index.get_loc("llama-3.1-405b"), CAT.hardware.index.get_loc("rtx_4090")
    service = serve(ServingConfig(model=row[0], hardware=row[1], n_chips=1), CAT)
    assert service.status[0] != 0
    assert all(np.isnan(half_width(service, TABLE, *case)[0]) for case in CASES)
    assert all(np.isnan(ratio_half_width(service, served(), TABLE, *case)[0]) for case in CASES)


# ratios


def pairs(size=3000):
    """Two random configurations each, many of the same deployment."""
    rng = np.random.default_rng(11)

    def one():
        return {
            "model": rng.integers(0, len(CAT.models), size), "hardware": rng.integers(0, len(CAT.hardware), size),
            "n_chips": rng.choice([8, 16, 64], size), "batch": 2.0 ** rng.integers(0, 14, size),
            "context_tokens": rng.choice([200.0, 4000.0, 60_000.0], size), "engine": rng.integers(0, len(ENGINES), size),
            "size_ratio": rng.choice([1.0, 1.0, 4.0], size), "weight_precision": rng.choice([-1, 1], size),
        }  # fmt: skip

    first, second = one(), one()
    alike = rng.random(size) < 0.6
    for name in ("model", "hardware", "engine", "weight_precision"):
        second[name] = np.where(alike, first[name], second[name])
    services = [serve(ServingConfig(**columns), CAT) for columns in (first, second)]
    ok = np.flatnonzero((services[0].status == 0) & (services[1].status == 0))
    assert 300 < ok.size and 100 < (alike[ok]).sum() < ok.size - 100
    return [replace(s, **{f: getattr(s, f)[ok] for f in s.__dataclass_fields__}) for s in services]


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_a_ratio_of_equal_configurations_is_exact(quantity, level):
    a, _b = pairs()
    assert np.all(ratio_half_width(a, a, TABLE, quantity, level) == 0.0)


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_the_band_of_a_ratio_is_symmetric_and_no_wider_than_two_bands(quantity, level):
    """Independent times: half widths add as squares. Sharing anything can only narrow that."""
    a, b = pairs()
    there, back = ratio_half_width(a, b, TABLE, quantity, level), ratio_half_width(b, a, TABLE, quantity, level)
    np.testing.assert_allclose(there, back, rtol=1e-12, atol=1e-12)
    apart = np.hypot(half_width(a, TABLE, quantity, level), half_width(b, TABLE, quantity, level))
    assert np.all(there <= apart * (1 + 1e-12)) and np.all(there >= 0)
    same = (
        (a.model == b.model)
        & (a.hardware == b.hardware)
        & (a.engine == b.engine)
        & (a.weight_precision == b.weight_precision)
    )
    np.testing.assert_allclose(there[~same], apart[~same], rtol=1e-12)
    assert np.all(there[same] < apart[same])


@pytest.mark.parametrize(("quantity", "level"), CASES)
def test_the_band_of_a_ratio_rises_with_the_distance_in_batch_and_levels_off(quantity, level):
    """From 0 to sqrt(2) of the shape: at far loads of one deployment only its drift is shared."""
    one = served(batch=1.0, fresh_tokens=100.0)
    many = served(batch=2.0 ** np.arange(10), fresh_tokens=100.0)
    width = ratio_half_width(many, one, TABLE, quantity, level)
    shape, reach = constant(f"{quantity}_shape_{level}"), constant(f"{quantity}_shape_range")
    assert width[0] == 0.0 and np.all(np.diff(width) >= 0) and np.all(np.diff(width)[:4] > 0)
    together = np.exp(-((np.log(8) / reach) ** 2))
    assert width[3] == pytest.approx(Z[level] * shape * np.sqrt(2 * (1 - together)), rel=1e-12)
    assert width[-1] <= Z[level] * shape * np.sqrt(2)


@pytest.mark.parametrize("change", [{"n_chips": 16}, {"n_chips": 8, "dp": 4}, {"n_chips": 8, "pp": 2}, {"speculation": 0, "draft_tokens": 3}])  # fmt: skip
def test_whatever_changes_the_step_has_a_band(change):
    """Chips, attention groups and stages part two times as load does; drafts make them strangers."""
    usual = {"n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "kv_precision": PRECISIONS.index("fp8")}
    here, home = served(**{**usual, **change}), served(**usual)
    band = float(ratio_half_width(here, home, TABLE, "tpot", 90)[0])
    if "n_chips" in change:
        distance = sum(np.log(getattr(here, n)[0] / getattr(home, n)[0]) ** 2 for n in ("n_chips", "tp", "stages"))
        shape, reach = constant("tpot_shape_90"), constant("tpot_shape_range")
        assert distance > 0
        expected = Z[90] * shape * np.sqrt(2 * (1 - np.exp(-distance / reach**2)))
        assert band == pytest.approx(expected, rel=1e-9)
    else:
        apart = [float(half_width(s, TABLE, "tpot", 90)[0]) for s in (here, home)]
        assert band == pytest.approx(np.hypot(*apart), rel=1e-12)


def test_what_moves_the_time_in_no_other_way_parts_the_two_by_as_much():
    """Another cache precision: the distance is the logarithm of the ratio itself."""
    usual = {"n_chips": 8, "weight_precision": PRECISIONS.index("fp8"), "context_tokens": 10_000.0, "batch": 64.0}
    here, home = (served(**usual, kv_precision=PRECISIONS.index(name)) for name in ("bf16", "fp8"))
    distance = np.log(here.tpot_s[0] / home.tpot_s[0])
    assert 0.01 < distance < 0.7
    expected = Z[90] * constant("tpot_shape_90") * np.sqrt(2 * (1 - np.exp(-((distance / constant("tpot_shape_range")) ** 2))))
    assert ratio_half_width(here, home, TABLE, "tpot", 90)[0] == pytest.approx(expected, rel=1e-9)


def test_the_band_of_a_ratio_holds_most_pairs_of_measured_rows():
    """Pairs of rows of one cell, suspects left out: between 78 and 95 % of the measured ratios lie in the 90 % band.

    Measured ratios also hold the noise of two measurements, which the band of a ratio of two settings does not.
    """
    known = CAT.measured[(CAT.measured["model_id"] != "") & (CAT.measured["hardware_id"] != "")]
    known = known[~known["row_id"].isin(CAT.measured_suspects["row_id"])].reset_index(drop=True)
    prepared = prepare(known, CAT)
    service = serve(prepared.config, CAT)
    modelled = np.log(np.where(prepared.pure, service.batch / service.decode_tokens_per_s, service.tpot_s))
    measured = np.log(known["tpot_ms"].to_numpy())
    cell = known[["model_id", "hardware_id", "engine", "weight_precision", "engine_version", "source_name"]].astype(str).agg("|".join, axis=1)
    inside = total = 0
    for rows in cell.groupby(cell).indices.values():
        i, j = np.triu_indices(len(rows), 1)
        i, j = rows[i], rows[j]
        part = [type(service)(**{n: getattr(service, n)[k] for n in service.__dataclass_fields__}) for k in (i, j)]
        band = ratio_half_width(*part, TABLE, "tpot", 90)
        off = np.abs((measured[i] - measured[j]) - (modelled[i] - modelled[j]))
        inside, total = inside + int((off <= band).sum()), total + len(off)
    assert total > 10_000
    assert 0.78 < inside / total < 0.95


@pytest.mark.parametrize("level", LEVELS)
def test_another_context_and_a_smaller_model_part_two_times_as_well(level):
    one = served()
    longer = ratio_half_width(one, served(context_tokens=[2000.0, 4000.0, 8000.0]), TABLE, "tpot", level)
    assert longer[0] == 0.0 and np.all(np.diff(longer) > 0)
    smaller = ratio_half_width(one, served(size_ratio=[1.0, 2.0, 8.0, 50.0]), TABLE, "tpot", level)
    assert smaller[0] == 0.0 and np.all(np.diff(smaller) > 0)
    # a student of the same distance loses its share of the drift too
    same_distance = ratio_half_width(one, served(context_tokens=2000.0 * np.exp(np.log(4))), TABLE, "tpot", level)
    assert ratio_half_width(one, served(size_ratio=4.0), TABLE, "tpot", level)[0] > same_distance[0]


def test_a_ratio_outside_the_range_drifts_only_as_far_as_the_two_are_apart():
    """Two large batches close together share what is unknown out there."""
    most, _context, _chips = measured_range()
    a, b = (
        served("llama-3.1-8b", batch=factor * most, context_tokens=100.0, fresh_tokens=50.0) for factor in (3.0, 3.03)
    )
    assert a.beyond[0] > 1.0
    assert ratio_half_width(a, b, TABLE, "tpot", 90)[0] < 0.05 * half_width(a, TABLE, "tpot", 90)[0]


# in the predict table


def table(*changes):
    good = {
        "model_id": "llama-3.1-70b", "hardware_id": "h100_sxm", "n_chips": "8", "weight_precision": "fp8", "engine": "vllm",
        "input_tokens": "1024", "output_tokens": "1024", "concurrency": "16",
    }  # fmt: skip
    return pd.DataFrame([good | change for change in changes])


def test_the_ends_of_a_prediction_are_its_value_times_the_band():
    """value x exp(-h) and value x exp(h), the 90 % band, of both times; none where a time is not predicted."""
    frame = table({}, {"hardware_id": "tpu_v7"}, {"hardware_id": "cerebras_wse3", "n_chips": "", "concurrency": "1"},
                  {"concurrency": "9000"}, {"clean_grade": "A"}, {"model_id": "nobody"})  # fmt: skip
    out = predict(frame, CAT)
    service = serve(prepare(frame, CAT).config, CAT)
    assert out["status"].tolist()[:5] == ["ok"] * 5
    for quantity in QUANTITIES:
        h = half_width(service, TABLE, quantity, 90)
        known = out[f"{quantity}_ms"].notna().to_numpy()
        assert known.tolist() == [True, True, True, True, quantity == "tpot", False]
        for end, sign in (("low", -1), ("high", 1)):
            ends = out[f"{quantity}_ms_{end}"].to_numpy(float)
            np.testing.assert_allclose(ends[known], (out[f"{quantity}_ms"] * np.exp(sign * h))[known], rtol=1e-12)
            assert np.isnan(ends[~known]).all()
    assert np.all(np.diff(np.log(out["tpot_ms_high"] / out["tpot_ms_low"])[[0, 1]]) > 0)


WAFER_ROW = {"model_id": "llama-3.3-70b", "hardware_id": "cerebras_wse3", "n_chips": "", "weight_precision": ""}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "no"),
        ({"hardware_id": "h200_sxm"}, "hardware"),
        ({"model_id": "glm-4.7", "hardware_id": "b200_sxm"}, "model"),
        ({"engine": "an engine of my own"}, "engine"),
        ({"concurrency": "100000"}, "batch"),
        ({"input_tokens": "200000"}, "context"),
        ({"n_chips": "64"}, "chips"),
        ({"output_tokens": ""}, "output_tokens"),
        ({"hardware_id": "mi355x", "n_chips": "64", "concurrency": "100000"}, "hardware+batch+chips"),
        ({**WAFER_ROW, "concurrency": "1", "input_tokens": "60000"}, "no"),  # speeds say nothing of context
        ({**WAFER_ROW, "concurrency": "2"}, "batch"),  # published for one user
        ({"model_id": "nobody"}, ""),
    ],
)  # fmt: skip
def test_the_extrapolation_says_in_which_way(change, words):
    assert predict(table(change), CAT)["extrapolation"][0] == words


def test_each_word_has_a_bit_of_its_own():
    assert [outside_words(1 << i) for i in range(len(OUTSIDE))] == [[word] for word in OUTSIDE]
    assert outside_words(0) == [] and outside_words(2 ** len(OUTSIDE) - 1) == list(OUTSIDE)
