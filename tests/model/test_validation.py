"""Predicted against measured: rows, errors, nearest rows, links of a view, the command and the picture."""

import base64
import copy
import json
import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmode import link, validation
from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.validation import FACTOR, alternative, validation_figure
from fastmode.cli import main, validation_document
from fastmode.predict import predict
from fastmode.scenario import all_fields, default
from fastmode.validation import ALL_ROWS, CELLS_EQUAL, KEYS, LEFT_OUT, OVER_GROUPS, QUANTITIES, View

CATALOG = load()
MEASURED = CATALOG.measured[(CATALOG.measured["model_id"] != "") & (CATALOG.measured["hardware_id"] != "")]
SUSPECT = set(CATALOG.measured_suspects["row_id"])
INFERENCEX = "aiconfigurator silicon_sample (InferenceX/InferenceMAX dump)"


def with_left_out(table: pd.DataFrame):
    """The catalogue with another table of left-out predictions."""
    catalog = copy.copy(CATALOG)
    object.__setattr__(catalog, "calibration_left_out", table)
    return catalog


def left_out_table(factors: dict[str, float], tpot_spread: float = 2.0) -> pd.DataFrame:
    """Left-out predictions that are a fixed multiple of the measurement, with a band a factor `tpot_spread` wide each way."""
    parts = []
    for left_out, factor in factors.items():
        part = pd.DataFrame({"row_id": MEASURED["row_id"], "left_out": left_out})
        for quantity in QUANTITIES:
            middle = factor * MEASURED[f"{quantity}_ms"]
            part[f"{quantity}_ms"] = middle
            part[f"{quantity}_ms_low"], part[f"{quantity}_ms_high"] = middle / tpot_spread, middle * tpot_spread
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def some(errors, cells=None, hardware="h100_sxm", inside=None) -> pd.DataFrame:
    """Points with given errors, as far as `errors` looks at them."""
    n = len(errors)
    return pd.DataFrame(
        {
            "error": np.asarray(errors, float),
            "cell": cells or ["a"] * n,
            "hardware_id": hardware,
            "hardware": "H100",
            "model_id": "m",
            "model": "M",
            "engine": "vllm",
            "source": "s",
            "inside_band": pd.array(inside or [pd.NA] * n, dtype="boolean"),
        }
    )


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", list(QUANTITIES))
def test_predictions_of_the_current_model_are_those_of_predict(quantity):
    found = validation.points(View(quantity=quantity)).set_index("row_id")
    direct = predict(MEASURED, CATALOG).set_index("row_id")
    both = direct.index[direct[f"{quantity}_ms"].notna() & MEASURED.set_index("row_id")[f"{quantity}_ms"].notna()]
    assert list(found.index) == list(both)
    assert found["predicted_ms"].to_numpy() == pytest.approx(direct.loc[both, f"{quantity}_ms"].to_numpy(float))
    measured = MEASURED.set_index("row_id").loc[both, f"{quantity}_ms"].to_numpy(float)
    assert found["measured_ms"].to_numpy() == pytest.approx(measured)
    assert found["error"].to_numpy() == pytest.approx(found["predicted_ms"].to_numpy() / measured - 1)


def test_every_row_with_both_ids_is_there_and_leads_to_its_source():
    found = validation.points(View())
    assert len(found) == len(MEASURED) == 1738
    urls = CATALOG.sources.set_index("title")["url"]
    assert (found["url"].str.startswith("https://")).all()
    assert list(found["url"]) == [urls[source] for source in MEASURED["source_name"]]
    assert list(found["path"]) == list(MEASURED["source_url_or_repo_path"])
    assert (found["date"] != "").all()
    assert set(found.loc[found["suspect"], "row_id"]) == SUSPECT & set(MEASURED["row_id"])


def test_left_out_predictions_come_from_their_own_fit():
    catalog = with_left_out(left_out_table({"hardware": 1.25, "source": 0.5}))
    for left_out, factor in (("hardware", 1.25), ("source", 0.5)):
        for quantity in QUANTITIES:
            found = validation.points(View(quantity=quantity, left_out=left_out), catalog)
            assert len(found) == MEASURED[f"{quantity}_ms"].notna().sum()
            assert found["error"].to_numpy() == pytest.approx(factor - 1)
            assert found["inside_band"].all()
    assert validation.points(View(left_out="engine"), catalog).empty


def test_a_row_outside_its_band_is_outside_and_one_without_a_band_is_neither():
    table = left_out_table({"model": 3.0}, tpot_spread=2.0)  # from 1.5 to 6 times the measurement
    table.loc[0, ["tpot_ms_low", "tpot_ms_high"]] = np.nan
    found = validation.points(View(left_out="model"), with_left_out(table))
    assert found["inside_band"].isna().tolist() == [True] + [False] * 1737
    assert not found["inside_band"].iloc[1:].any()


def test_rows_without_a_figure_are_counted():
    table = left_out_table({"engine": 1.0})
    table.loc[:9, "tpot_ms"] = np.nan
    report = validation.report(View(left_out="engine"), with_left_out(table))
    assert report["without_figures"] == 10
    assert report["summary"]["tpot"]["rows"] == 1728
    assert validation.report(View(quantity="ttft"))["without_figures"] == MEASURED["ttft_ms"].isna().sum()


COLUMN = {"hardware": "hardware_id", "model": "model_id", "engine": "engine", "source": "source_name", "grade": "clean_grade"}  # fmt: skip


@pytest.mark.parametrize("name", list(COLUMN))
def test_a_filter_keeps_exactly_the_rows_that_have_the_property(name):
    total = 0
    for wanted in validation.choices()[name]:
        if wanted:
            found = validation.points(replace(View(), **{name: wanted}))
            raw = "" if (name, wanted) == ("engine", "other") else wanted
            assert list(found["row_id"]) == list(MEASURED.loc[MEASURED[COLUMN[name]] == raw, "row_id"])
            total += len(found)
    assert total == len(MEASURED)


def test_filters_are_joined_by_and():
    found = validation.points(View(hardware="h100_sxm", engine="vllm", precision="bf16", grade="B2"))
    m = MEASURED
    keep = (m["hardware_id"] == "h100_sxm") & (m["engine"] == "vllm") & (m["weight_precision"] == "bf16") & (m["clean_grade"] == "B2")  # fmt: skip
    assert len(found) > 0 and list(found["row_id"]) == list(m.loc[keep, "row_id"])


def test_suspects_are_the_rows_that_without_lacks():
    ids = {way: set(validation.points(View(suspects=way))["row_id"]) for way in validation.SUSPECTS}
    assert ids["only"] == SUSPECT & set(MEASURED["row_id"])
    assert ids["without"] == ids["with"] - ids["only"]


@pytest.mark.parametrize("view", [View(), View(quantity="ttft")])
def test_limits_are_round_and_hold_every_figure(view):
    low, high = validation.limits_ms(view)
    figures = validation.points(view)[["measured_ms", "predicted_ms"]].to_numpy()
    assert low <= figures.min() and figures.max() <= high
    for end in (low, high):
        assert end / 10.0 ** math.floor(math.log10(end) + 1e-9) == pytest.approx(1, abs=1e-9) or f"{end:g}".strip("0.") in "125"  # fmt: skip
    assert figures.min() < 2.5 * low and figures.max() > high / 2.5  # no emptier than one step
    assert validation.limits_ms(replace(view, hardware="mi300x")) == (low, high)


# --- errors -----------------------------------------------------------------------------------------------------------


def totals(points, by="hardware"):
    return validation.errors(points, by).set_index("group")


def test_totals_of_a_hand_computed_case():
    table = totals(some([0.1, -0.2, 0.3, 0.4, 1.0], ["a"] * 4 + ["b"]))
    assert table.at[ALL_ROWS, "median"] == pytest.approx(0.3)
    assert table.at[ALL_ROWS, "p90"] == pytest.approx(0.4 + 0.6 * 0.6)
    # The medians of the two cells are 0.25 and 1.
    assert table.at[CELLS_EQUAL, "median"] == pytest.approx((0.25 + 1.0) / 2)
    assert table.at[CELLS_EQUAL, "p90"] == pytest.approx(0.25 + 0.9 * 0.75)
    # Their ratios in the middle are the geometric mean of 1.1 and 1.3, and 2.
    assert table.at[CELLS_EQUAL, "bias"] == pytest.approx(((1.1 * 1.3) ** 0.5 * 2.0) ** 0.5 - 1)
    assert (table.at[ALL_ROWS, "rows"], table.at[ALL_ROWS, "cells"]) == (5, 2)
    assert OVER_GROUPS not in table.index  # no group is large enough


def test_cells_equal_takes_the_mean_of_the_cells_coverages():
    points = some([0.0] * 5, ["a"] * 4 + ["b"], inside=[True, True, True, False, False])
    table = totals(points)
    assert table.at[ALL_ROWS, "coverage90"] == pytest.approx(3 / 5)
    assert table.at[CELLS_EQUAL, "coverage90"] == pytest.approx((3 / 4 + 0) / 2)


def test_bias_is_the_middle_of_the_log_ratio():
    assert totals(some([-0.1, 0.5, -0.4])).at[ALL_ROWS, "bias"] == pytest.approx(-0.1)
    # Twice too high and twice too low cancel: the mean ratio of 1.25 would not say so.
    assert totals(some([1.0, -0.5])).at[ALL_ROWS, "bias"] == pytest.approx(0.0, abs=1e-12)


@given(st.lists(st.floats(-0.99, 10), min_size=1, max_size=60))
def test_quantiles_of_rows_are_numpys(errors):
    table = totals(some(errors))
    for name, share in (("median", 0.5), ("p90", 0.9)):
        expected = np.quantile(np.abs(errors), share)
        assert table.at[ALL_ROWS, name] == pytest.approx(expected)
        assert table.at[CELLS_EQUAL, name] == pytest.approx(np.median(np.abs(errors)))  # one cell
        assert table.at["h100_sxm", name] == pytest.approx(expected)


def test_repeating_the_rows_of_one_cell_moves_all_rows_and_not_cells_equal():
    once = totals(some([0.1] * 10 + [0.9] * 10, ["a"] * 10 + ["b"] * 10))
    often = totals(some([0.1] * 500 + [0.9] * 10, ["a"] * 500 + ["b"] * 10))
    for name in ("median", "p90"):
        assert once.at[CELLS_EQUAL, name] == often.at[CELLS_EQUAL, name]
    assert once.at[ALL_ROWS, "p90"] == pytest.approx(0.9) and often.at[ALL_ROWS, "p90"] == pytest.approx(0.1)


def test_median_over_groups_counts_each_large_group_once():
    parts = [
        some([0.1] * 50),
        some([0.5] * 30, hardware="b"),
        some([0.7] * 20, hardware="c"),
        some([9.0] * 19, hardware="d"),
    ]
    table = totals(pd.concat(parts))
    assert table.at[OVER_GROUPS, "median"] == pytest.approx(0.5) and table.at[OVER_GROUPS, "rows"] == 100
    assert list(table.index) == [ALL_ROWS, CELLS_EQUAL, OVER_GROUPS, "h100_sxm", "b", "c", "d"]
    assert table["few"].tolist() == [False, False, False, False, False, False, True]


@pytest.mark.parametrize("quantity", list(QUANTITIES))
@pytest.mark.parametrize("left_out", validation.GROUPS)
def test_figures_are_those_the_calibration_stored(quantity, left_out):
    stored = CATALOG.calibration_errors
    stored = stored[(stored["quantity"] == quantity) & (stored["left_out"] == left_out)].set_index("group")
    found = totals(validation.points(View(quantity, left_out)), left_out)
    assert set(found.index) == set(stored.index)
    stored = stored.loc[found.index]
    for name in ("rows", "cells"):
        assert list(found[name]) == list(stored[name])
    # Both files are rounded, the predictions to about four digits of a millisecond figure.
    for name in ("median", "p90"):
        assert found[name].to_numpy(float) == pytest.approx(stored[name].to_numpy(), rel=5e-3, abs=1e-3)
    assert np.log1p(found["bias"].to_numpy(float)) == pytest.approx(stored["bias"].to_numpy(), rel=5e-3, abs=1e-3)
    # A row on the rim of its band may fall to the other side by rounding.
    apart = np.abs(found["coverage90"].to_numpy(float) - stored["coverage90"].to_numpy()) * stored["rows"].to_numpy()
    assert (apart <= 1.01 + 0.005 * stored["rows"].to_numpy()).all()


def test_few_starts_below_twenty_rows():
    assert totals(some([0.1] * 20)).at["h100_sxm", "few"] == False  # noqa: E712
    assert totals(some([0.1] * 19)).at["h100_sxm", "few"] == True  # noqa: E712


def test_coverage_counts_rows_with_a_band_only():
    table = totals(some([0.0] * 4, inside=[True, False, True, pd.NA]))
    assert table.at[ALL_ROWS, "coverage90"] == pytest.approx(2 / 3)
    assert np.isnan(totals(some([0.0] * 4)).at[ALL_ROWS, "coverage90"])


def test_errors_of_no_rows_and_of_an_unknown_grouping():
    assert validation.errors(some([]), "model").empty
    with pytest.raises(ValueError, match="by must be one of hardware, model, engine, source, got 'colour'"):
        validation.errors(some([0.1]), "colour")


@pytest.mark.parametrize("by", validation.GROUPS)
def test_groups_share_out_the_rows(by):
    table = totals(validation.points(View()), by)
    groups = table.drop([ALL_ROWS, CELLS_EQUAL, OVER_GROUPS])
    assert table.at[OVER_GROUPS, "rows"] == groups.loc[groups["few"] == False, "rows"].sum()  # noqa: E712
    assert groups["rows"].sum() == table.at[ALL_ROWS, "rows"] == 1738
    assert (groups["rows"].diff().dropna() <= 0).all()
    assert (table["median"] <= table["p90"]).all()


# --- near a scenario --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "hardware", "batch", "context"),
    [("llama-3.1-70b", "h100_sxm", 16, 4000), ("qwen3-32b", "b200_sxm", 100, 700), ("deepseek-r1", "mi300x", 1, 1e6)],
)
def test_counts_and_order_of_the_nearest_rows_by_going_through_all(model, hardware, batch, context):
    near = validation.nearest(model, hardware, "vllm", batch, context, count=2000)
    counts, places = [0, 0, 0, 0], {}
    for row in MEASURED.itertuples():
        decode = row.clean_grade == "A" or row.output_tokens != row.output_tokens
        length = max(
            row.input_tokens + (0 if decode else row.output_tokens / 2), 1
        )  # a decode step may start from nothing
        off_batch, off_context = (max(a / b, b / a) for a, b in ((row.concurrency_or_batch, batch), (length, context)))
        same = (row.model_id == model, row.hardware_id == hardware)
        if all(same):
            counts = [n + hit for n, hit in zip(counts, (True, off_batch <= 2, off_context <= 2, off_batch <= 2 >= off_context), strict=True)]  # fmt: skip
        rank = {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}[same]
        places[row.row_id] = (rank, math.log(off_batch) + math.log(off_context))
    assert [near.same_pair, near.near_batch, near.near_context, near.near_both] == counts
    found = [places[row_id] for row_id in near.rows["row_id"]]
    assert len(found) == 1738 and all(a[0] <= b[0] for a, b in zip(found, found[1:], strict=False))
    assert all(a[0] < b[0] or a[1] <= b[1] + 1e-9 for a, b in zip(found, found[1:], strict=False))
    assert near.rows["distance"].to_numpy() == pytest.approx([place[1] for place in found])


def test_a_measured_row_is_nearest_to_its_own_deployment():
    row = MEASURED[(MEASURED["model_id"] == "gpt-oss-120b") & (MEASURED["clean_grade"] == "B")].iloc[7]
    context = row["input_tokens"] + row["output_tokens"] / 2
    near = validation.nearest(row["model_id"], row["hardware_id"], row["engine"], row["concurrency_or_batch"], context)
    first = near.rows.iloc[0]
    assert first["distance"] == pytest.approx(0) and len(near.rows) == 8
    assert (first["model_id"], first["hardware_id"], first["engine"], first["concurrency"]) == (row["model_id"], row["hardware_id"], row["engine"], row["concurrency_or_batch"])  # fmt: skip


def test_exactly_twice_the_batch_is_within_a_factor_of_two():
    loads = set(MEASURED.loc[(MEASURED["model_id"] == "llama-3.1-405b"), "concurrency_or_batch"])
    pair = ("llama-3.1-405b", MEASURED.loc[MEASURED["model_id"] == "llama-3.1-405b", "hardware_id"].iloc[0])
    least = min(loads)
    assert validation.nearest(*pair, "vllm", least / 2, 1000).near_batch > 0
    assert validation.nearest(*pair, "vllm", least / 2.01, 1000).near_batch == 0


def test_the_sentence_counts_in_words():
    near = validation.Nearest(pd.DataFrame(), 5, 3, 1, 0)
    assert validation.nearest_sentence(near, "Kimi K2.5", "B200") == (
        "3 measured points within 2x of this batch, 1 within 2x of this context, 0 within 2x of both, of 5 rows of Kimi K2.5 on B200."
    )
    one = validation.nearest_sentence(validation.Nearest(pd.DataFrame(), 1, 1, 1, 1), "M", "H")
    assert one.startswith("1 measured point within") and one.endswith("of 1 row of M on H.")
    none = validation.nearest_sentence(validation.Nearest(pd.DataFrame(), 0, 0, 0, 0), "GLM-4.7", "WSE-3")
    assert none == "No measured row of GLM-4.7 on WSE-3: its modelled speed is extrapolated."


def test_what_has_no_rows_is_named():
    hardware, models = validation.unmeasured()
    labels = CATALOG.hardware.loc[sorted(set(MEASURED["hardware_id"])), "label"]
    assert set(hardware) == set(CATALOG.hardware.loc[CATALOG.hardware["shown"] == 1, "label"]) - set(labels)
    assert "WSE-3" in hardware and "H100" not in hardware
    assert "GLM-4.7" in models and "DeepSeek-R1" not in models
    assert len(models) == len(CATALOG.models) - MEASURED["model_id"].nunique()


# --- links ------------------------------------------------------------------------------------------------------------

CHOICES = validation.choices()
VIEWS = st.builds(View, **{name: st.sampled_from(list(CHOICES[name])) for name in KEYS})


@given(VIEWS)
def test_what_a_link_holds_is_read_back_exactly(view):
    assert validation.from_query(validation.to_query(view)) == (view, [])
    ids = {KEYS[f.name]: getattr(view, f.name) for f in fields(View) if getattr(view, f.name)}
    assert validation.from_query(ids) == (view, [])


def test_the_default_view_has_an_empty_link_and_every_field_a_key():
    assert validation.to_query(View()) == ""
    assert list(KEYS) == list(CHOICES) and set(KEYS) == {f.name for f in fields(View)}
    assert len(set(KEYS.values())) == len(KEYS)


def test_keys_are_none_of_the_scenarios_and_the_scenario_leaves_them_alone():
    taken = set(all_fields()) | {f.key for f in all_fields().values()}
    assert not taken & set(KEYS.values()) and set(KEYS.values()) < set(link.VIEW_KEYS)
    query = validation.to_query(View("ttft", "model", "engine", "h100_sxm", suspects="only"))
    assert link.from_query(query) == (default(), [])
    assert validation.from_query("b=64&preset=opus-4.6&tab=Sources&zzz=1") == (View(), [])


def test_an_unusable_value_is_named_and_leaves_the_rest():
    view, ignored = validation.from_query("https://example.org/evidence?vh=abacus&vq=TTFT&vm=#top")
    assert view == View(quantity="ttft")
    assert [(key, value) for key, value, _reason in ignored] == [("vh", "abacus")]
    assert ignored[0][2] == "not one of the 7 choices, such as all, A100, B200, B300"


@given(st.text(max_size=200) | st.dictionaries(st.sampled_from([*KEYS.values(), "x"]), st.text(max_size=100)))
def test_hostile_links_never_raise(query):
    view, ignored = validation.from_query(query)
    assert all(getattr(view, name) in CHOICES[name] for name in KEYS)
    assert all(len(value) <= validation.MAX_SHOWN_CHARACTERS for _key, value, _reason in ignored)


def test_choices_are_those_among_the_rows_whatever_is_chosen():
    assert set(CHOICES["hardware"]) == {"", *MEASURED["hardware_id"]}
    assert CHOICES["hardware"]["h100_sxm"] == "H100" and CHOICES["hardware"][""] == "all"
    for labels in CHOICES.values():
        assert len(set(labels.values())) == len(labels)


# --- the command ------------------------------------------------------------------------------------------------------

QUERIES = [
    "",
    "vq=TTFT&vb=model",
    "vh=H100&ve=vllm&vx=without+suspects&b=64",
    "vm=nothing-such&vs=" + INFERENCEX.replace(" ", "+"),
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_command_prints_the_report(capsys, query):
    assert main(["validate", query]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    view, ignored = validation.from_query(query)
    report = json.loads(json.dumps(validation.report(view)))
    assert {key: document[key] for key in report} == report
    assert document == json.loads(json.dumps(validation_document(query)))
    assert [part["key"] for part in document["ignored"]] == [key for key, _value, _reason in ignored]
    assert ("vm=nothing-such" in err) == bool(ignored)
    rows = validation.points(view)
    assert document["summary"][view.quantity]["rows"] == document["errors"][0]["rows"] == len(rows)
    assert document["errors"][0]["median"] == pytest.approx(float(np.median(np.abs(rows["error"]))))


def test_the_command_writes_the_points(tmp_path):
    path = tmp_path / "rows.csv"
    assert main(["validate", "vh=B300&vq=TTFT", "-o", str(path)]) == 0
    written, points = pd.read_csv(path), validation.points(View("ttft", hardware="b300_sxm"))
    assert list(written["row_id"]) == list(points["row_id"]) and len(written) > 100
    for name in ("measured_ms", "predicted_ms", "error"):
        assert written[name].to_numpy() == pytest.approx(points[name].to_numpy())
    assert list(written.columns) == list(points.columns)


def test_the_command_says_when_nothing_is_left(capsys):
    assert main(["validate", "vh=MI300X&vm=gpt-oss-120b"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"] == {"tpot": {"rows": 0}, "ttft": {"rows": 0}} and document["errors"] == []


def test_the_command_looks_near_the_scenario_of_the_link():
    document = validation_document("hw=H100&m=Llama+3.1+70B&b=64&cx=4000")
    near = validation.nearest("llama-3.1-70b", "h100_sxm", "vllm", 64, link.from_query("cx=4000")[0].context_tokens)
    assert document["nearest"] == validation.nearest_document(near)
    assert document["nearest"]["same_pair"] == 45
    assert {row["model_id"] for row in document["nearest"]["rows"]} == {"llama-3.1-70b"}


def test_a_command_that_cannot_write_ends_with_two(capsys, tmp_path):
    assert main(["validate", "-o", str(tmp_path / "no" / "such" / "rows.csv")]) == 2
    assert capsys.readouterr().err.startswith("validate: ")


# --- the picture ------------------------------------------------------------------------------------------------------


def plain(value):
    """A figure's part with its packed arrays unpacked."""
    if isinstance(value, dict) and "bdata" in value:
        flat = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
        return flat.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else flat
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def drawn(view=None, mode="light", own=("", "", "")):
    view = view or View()
    points, limits = validation.points(view), validation.limits_ms(view)
    figure, _narrow = validation_figure(points, "TPOT", limits, mode, own=own)
    return points, limits, plain(figure.to_dict())


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_plotly_accepts_the_figure(mode):
    _points, _limits, figure = drawn(mode=mode, own=("llama-3.1-70b", "h100_sxm", "Llama 3.1 70B on H100"))
    go.Figure(figure)  # checks every property


def test_every_row_is_one_mark_at_its_place():
    points, _limits, figure = drawn(View(hardware="h100_sxm"))
    marks = [trace for trace in figure["data"] if trace["meta"] == "rows"]
    x, y = (np.concatenate([trace[axis] for trace in marks]) for axis in "xy")
    expected = points.sort_values(["measured_ms", "predicted_ms"])[["measured_ms", "predicted_ms"]].to_numpy()
    found = np.column_stack([x, y])[np.lexsort((y, x))]
    assert np.sort(x) == pytest.approx(np.sort(expected[:, 0]), rel=1e-6)
    assert np.sort(found[:, 1] / found[:, 0]) == pytest.approx(np.sort(expected[:, 1] / expected[:, 0]), rel=1e-6)
    crosses = sum(symbol == "x-thin" for trace in marks for symbol in np.broadcast_to(trace["marker"]["symbol"], len(trace["x"])))  # fmt: skip
    assert crosses == points["suspect"].sum() > 0


def test_hover_names_the_row_and_its_source():
    points, _limits, figure = drawn(View(model="deepseek-r1", source=INFERENCEX))
    trace = next(trace for trace in figure["data"] if trace["meta"] == "rows")
    cell = points[points["cell"] == sorted(points["cell"])[0]]
    hover = trace["hovertemplate"].replace("<br>", " ")
    for word in (
        "DeepSeek-R1",
        cell["hardware"].iloc[0],
        cell["engine"].iloc[0],
        cell["precision"].iloc[0],
        INFERENCEX,
    ):
        assert word in hover
    assert trace["customdata"] == pytest.approx(
        cell[["error", "n_chips", "input_tokens", "output_tokens", "concurrency"]].to_numpy(float) * [100, 1, 1, 1, 1]
    )
    assert [text.split(",")[0] for text in trace["text"]] == list(cell["date"])


def test_axes_are_equal_and_the_line_is_where_both_are_the_same():
    _points, limits, figure = drawn()
    x, y = figure["layout"]["xaxis"], figure["layout"]["yaxis"]
    assert x["range"] == y["range"] == pytest.approx(np.log10(limits)) and x["type"] == y["type"] == "log"
    assert y["scaleanchor"] == "x" and list(x["tickvals"]) == list(y["tickvals"])
    line = next(trace for trace in figure["data"] if trace["meta"] == "equal")
    assert list(line["x"]) == list(line["y"]) == list(limits)
    band = next(trace for trace in figure["data"] if trace["meta"] == "band")
    assert band["y"] / band["x"] == pytest.approx([1 + FACTOR] * 2 + [1 - FACTOR] * 2)
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["+30 %", "-30 %"]


def test_only_the_scenarios_own_rows_have_its_colour():
    own = ("llama-3.1-70b", "b200_sxm", "Llama 3.1 70B on B200")
    points, _limits, figure = drawn(own=own)
    colour = theme.palette("light").scenario
    mine = [trace for trace in figure["data"] if trace["meta"] == "rows" and trace["marker"]["line"]["color"] == colour]
    assert sum(len(trace["x"]) for trace in mine) == ((points["model_id"] == own[0]) & (points["hardware_id"] == own[1])).sum() > 0  # fmt: skip
    assert [trace["name"] for trace in figure["data"] if trace["meta"] == "key"] == [
        "measured row",
        "suspect row",
        own[2],
    ]
    _points, _limits, other = drawn(View(suspects="without"), own=("glm-4.7", "cerebras_wse3", "GLM-4.7 on WSE-3"))
    assert [trace["name"] for trace in other["data"] if trace["meta"] == "key"] == ["measured row"]


def test_the_text_alternative_states_the_finding():
    text = alternative("TPOT", {"rows": 1738, "median": 0.07, "p90": 0.26, "bias": -0.012})
    assert text == (
        "Predicted against measured TPOT of 1\u202f738 rows: half lie within 7 % of the line of equality, nine in ten within 26 %; the middle row is -1.2 % off."
    )


def test_left_out_ways_are_the_groups_and_nothing():
    assert tuple(LEFT_OUT) == ("none", *validation.GROUPS)
