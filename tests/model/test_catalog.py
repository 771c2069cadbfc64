"""The catalogue: shipped facts, one-row additions, and refusal of every kind of broken file."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest

from fastmode.catalog import DATA_DIR, CatalogError, load
from fastmode.catalog_tables import TABLES


def read(folder, name):
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(folder, name, rows):
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def small_copy(tmp_path_factory):
    """A copy of data/ with the one large file shortened, so that many broken variants stay cheap to load."""
    folder = tmp_path_factory.mktemp("small") / "data"
    shutil.copytree(DATA_DIR, folder)
    suspects = read(folder, "measured_suspects")[:3]
    ids = {row["row_id"] for row in suspects}
    write(folder, "measured_suspects", suspects)
    write(folder, "measured", [row for row in read(folder, "measured") if row["row_id"] in ids])
    return folder


@pytest.fixture
def folder(small_copy, tmp_path):
    return shutil.copytree(small_copy, tmp_path / "data")


def change(folder, name, row, **cells):
    """Change cells of the row with this number in the file (header = row 1)."""
    rows = read(folder, name)
    rows[row - 2].update(cells)
    write(folder, name, rows)


def add(folder, name, like, **cells):
    """Append a copy of the row whose id is `like`, with some cells changed."""
    rows = read(folder, name)
    write(folder, name, [*rows, {**next(row for row in rows if row["id"] == like), **cells}])


def row_of(name, identity):
    return next(i for i, row in enumerate(read(DATA_DIR, name), 2) if row["id"] == identity)


def problems(folder):
    with pytest.raises(CatalogError) as error:
        load(folder)
    return error.value.problems


# shipped facts


def test_spot_values_of_the_shipped_tables():
    c = load()
    assert c.hardware.at["h100_sxm", "memory_bw_tb_s"] == 3.35
    assert c.hardware.at["h100_sxm", "label"] == "H100"
    assert c.hardware.at["cerebras_wse3", "memory_gb"] == 44
    assert c.models.at["kimi-k2", "label"] == "Kimi K2"
    assert c.endpoints.at["gpt-5.3-codex-spark", "terminal_bench_2"] == 58.4
    assert c.endpoints.at["gpt-5.3-codex", "terminal_bench_2"] == 77.3
    assert np.isnan(c.endpoints.at["gpt-5.3-codex-spark", "output_usd_per_mtok"])
    assert len(c.measured) == 1907 and len(c.quality_pairs) == 247 and len(c.claims) == 80


def test_the_founding_price_multiple_is_six_on_input_and_output():
    e = load().endpoints
    fast, standard = e.loc["opus-4.6-fast"], e.loc["opus-4.6"]
    assert fast["input_usd_per_mtok"] / standard["input_usd_per_mtok"] == 30 / 5 == 6
    assert fast["output_usd_per_mtok"] / standard["output_usd_per_mtok"] == 150 / 25 == 6


def test_empty_cells_are_nan_in_numbers_and_blank_in_text():
    e = load().endpoints
    assert e["output_tok_s"].dtype == np.float64
    assert e.at["opus-4.6", "same_model_as"] == "" and e["notes"].map(type).eq(str).all()
    assert not e.isna().to_numpy()[:, [e.columns.get_loc("status"), e.columns.get_loc("date")]].any()


def test_key_value_bytes_follow_from_the_architecture():
    m = load().models
    plain = m[m["attention_kind"] == "GQA"]
    expected = 2 * plain["layers"] * plain["n_kv_heads"] * plain["head_dim"] * 2
    assert len(plain) == 17
    assert (plain["kv_bytes_per_token_bf16"] == expected).all()


def test_unshipped_and_consumer_parts_are_behind_all_hardware():
    h = load().hardware
    assert set(h.index[h["shown"] == 0]) == {
        "rubin_vr200", "mi455x", "tpu_8i", "tpu_8t", "groq3_lpu", "sambanova_sn50", "apple_m4_max", "apple_m3_ultra",
        "rtx_4090", "rtx_5090",
    }  # fmt: skip


def test_accept_length_curves_are_told_apart_by_id():
    curves = load().accept_length
    assert curves["id"].nunique() == 14
    assert curves.groupby("id")["draft_tokens"].apply(list).map(lambda n: n == list(range(1, 9))).all()
    mtp = curves[curves["id"] == "deepseek-v4-pro-mtp-on"].set_index("draft_tokens")["mean_accept_length"]
    assert mtp[1] == 1.79 and mtp[3] == 2.49


def test_every_cited_address_is_listed_in_sources():
    unlisted = load().sources.query("kind == 'unlisted'")["url"].tolist()
    assert unlisted == [], "add these to data/sources.csv"


# presets


def test_presets_cover_what_the_founding_articles_name():
    named = {
        "opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark", "gpt-5.1-codex-mini", "sonnet-seed",
        "haiku-4.5", "gpt-5.2-pro", "gemini-deep-think", "glm-4.7-cerebras", "llama-3.3-70b-groq", "gpt-oss-120b-groq",
    }  # fmt: skip
    assert named <= set(load().presets.index)


def test_founding_presets_state_the_agreed_stand_ins():
    p = load().presets
    where = ["reference", "model", "hardware", "n_chips", "weight_precision", "batch_size"]
    assert p.loc["opus-4.6", where].tolist() == ["opus-4.6", "kimi-k2", "b200_sxm", 8, "fp8", 64]
    assert p.loc["opus-4.6-fast", where].tolist() == ["opus-4.6", "kimi-k2", "b200_sxm", 8, "fp8", 4]
    assert p.loc["gpt-5.3-codex", where].tolist() == ["gpt-5.3-codex", "kimi-k2", "b200_sxm", 8, "fp8", 64]
    assert p.loc["gpt-5.3-codex-spark", where].tolist() == ["gpt-5.3-codex", "glm-4.7", "cerebras_wse3", 0, "bf16", 16]
    assert p.loc["gpt-5.3-codex-spark", ["ttft_s", "handshake_s"]].tolist() == [0.5, 0.02]
    assert p.loc["opus-4.6-fast", ["ttft_s", "handshake_s"]].tolist() == [1.0, 0.1]


def test_stand_ins_of_closed_models_are_marked_assumed_and_unknown_models_have_none():
    p = load().presets
    unknown = p["model"] == ""
    assert set(p.index[unknown]) == {"haiku-4.5", "haiku-5.5", "gemini-deep-think", "gpt-5.2-pro"}
    assert (p.loc[(p["closed"] == 1) & ~unknown, "standin_basis"] == "assumed").all()
    assert (p.loc[p["closed"] == 0, "standin_basis"] == "vendor").all()


def test_presets_name_exactly_the_unpublished_prices_speeds_and_ttft():
    c = load()
    for column in ("input_usd_per_mtok", "output_usd_per_mtok", "output_tok_s", "ttft_s"):
        said = c.presets["missing"].str.split(";").map(lambda names, column=column: column in names)
        assert said.equals(c.endpoints.loc[c.presets.index, column].isna()), column


def test_unpublished_figures_of_the_founding_systems_stay_unpublished():
    missing = load().presets["missing"].str.split(";").map(set)
    assert {"input_usd_per_mtok", "output_usd_per_mtok"} < missing["gpt-5.3-codex-spark"]
    assert {"input_usd_per_mtok", "output_usd_per_mtok", "output_tok_s", "ttft_s"} == missing["gemini-deep-think"]
    assert "output_tok_s" in missing["haiku-4.5"] and "output_tok_s" in missing["gpt-5.2-pro"]


def test_a_published_ttft_is_used_with_its_own_basis():
    c = load()
    published = c.endpoints.loc[c.presets.index, "ttft_s"].dropna()
    assert set(published.index) == {
        "opus-5-fast", "sonnet-4.6", "gemini-3-flash", "llama-3.3-70b-groq", "llama-3.3-70b-specdec-groq",
        "llama-3.1-8b-groq",
    }  # fmt: skip
    assert c.presets.loc[published.index, "ttft_s"].equals(published)
    assert (c.presets.loc[published.index, "ttft_basis"] == c.endpoints.loc[published.index, "basis"]).all()


def test_error_odds_use_one_benchmark_that_both_endpoints_have():
    c = load()
    used = c.presets[c.presets["benchmark"] != ""]
    assert set(used.index) == {"gpt-5.3-codex-spark", "gpt-5.1-codex-mini", "sonnet-4.6", "gemini-3-flash"}
    for name, row in used.iterrows():
        assert c.endpoints.loc[[name, row["reference"]], row["benchmark"]].notna().all()
        assert c.endpoints.at[name, "same_model_as"] == ""


def test_a_group_has_one_reference_and_it_is_its_own():
    p = load().presets
    assert (p.groupby("compare_group")["reference"].nunique() == 1).all()
    assert (p.loc[p["reference"], "reference"].to_numpy() == p["reference"].to_numpy()).all()


def test_same_weights_stay_in_one_group():
    c = load()
    same = c.endpoints.loc[c.presets.index, "same_model_as"]
    same = same[same != ""]
    groups = c.presets["compare_group"]
    assert (groups[same.index].to_numpy() == groups[same].to_numpy()).all()


# profiles


def test_the_default_profile_is_the_assumptions_themselves():
    c = load()
    assert c.profiles["order"].idxmin() == "issue" and len(c.profiles) == 11
    assert set(c.profile_values["profile"]) == set(c.profiles.index) - {"issue"}


def test_profile_values_lie_on_the_grid_of_their_field():
    c = load()
    for _, row in c.profile_values[c.profile_values["field"] != "task_family"].iterrows():
        field, value = c.assumptions.loc[row["field"]], float(row["value"])
        assert field["min"] <= value <= field["max"], (row["profile"], row["field"])
        if field["grid"].startswith("step:"):
            steps = (value - field["min"]) / float(field["grid"].removeprefix("step:"))
            assert abs(steps - round(steps)) < 1e-9, (row["profile"], row["field"])
        elif field["grid"]:
            assert value in [float(v) for v in field["grid"].split(";")], (row["profile"], row["field"])


# one row, no code


def test_one_row_adds_a_chip(folder):
    add(folder, "hardware", "b200_sxm", id="b400_sxm", label="B400", source_url="https://example.org/b400",
        source_note="Vendor page (2027)", memory_bw_tb_s="16")  # fmt: skip
    c = load(folder)
    assert c.hardware.at["b400_sxm", "memory_bw_tb_s"] == 16
    assert c.sources.set_index("url").at["https://example.org/b400", "title"] == "Vendor page (2027)"


def test_one_row_adds_a_model(folder):
    add(folder, "models", "kimi-k2", id="kimi-k9", label="Kimi K9", total_params_b="2000")
    assert load(folder).models.at["kimi-k9", "total_params_b"] == 2000


def test_one_row_each_adds_an_endpoint_and_its_preset(folder):
    add(folder, "endpoints", "opus-4.6", id="opus-9", model="Claude Opus 9", output_tok_s="90")
    add(folder, "presets", "opus-4.6", id="opus-9", label="Opus 9", compare_group="opus-9", reference="opus-9")
    c = load(folder)
    assert c.endpoints.at[c.presets.loc["opus-9"].name, "output_tok_s"] == 90


def test_files_written_later_may_be_absent(folder):
    for name in [name for name, table in TABLES.items() if table.optional]:
        (folder / f"{name}.csv").unlink(missing_ok=True)
    c = load(folder)
    assert len(c.assumptions) == 0 and "default" in c.assumptions.columns


# refusals

H100, SPARK = row_of("hardware", "h100_sxm"), row_of("presets", "gpt-5.3-codex-spark")


@pytest.mark.parametrize(
    ("name", "row", "cells", "expected"),
    [
        ("hardware", H100, {"memory_gb": "abc"},
         f"data/hardware.csv, row {H100}, column memory_gb: expected a number between 0.1 and 4000, got 'abc'"),
        ("hardware", H100, {"memory_gb": ""},
         f"data/hardware.csv, row {H100}, column memory_gb: expected a number between 0.1 and 4000, got nothing"),
        ("hardware", H100, {"tdp_w": "nan"}, "column tdp_w: expected a number between 5 and 100000, got 'nan'"),
        ("hardware", H100, {"tdp_w": "inf"}, "column tdp_w: expected a number between 5 and 100000, got 'inf'"),
        ("hardware", H100, {"tdp_w": "7_00"}, f"row {H100}, column tdp_w: expected a number"),
        ("hardware", H100, {"tdp_w": "-700"}, f"row {H100}, column tdp_w: expected a number"),
        ("hardware", H100, {"memory_bw_tb_s": "3350"},
         f"row {H100}, column memory_bw_tb_s: expected TB/s, at most 100 unless the weights sit in SRAM, got '3350'"),
        ("hardware", H100, {"source_url": ""}, f"row {H100}, column source_url: expected an address"),
        ("hardware", H100, {"id": "a100_80_sxm"}, f"row {H100}, column id: 'a100_80_sxm' occurs twice"),
        ("hardware", H100, {"label": "A100"}, f"row {H100}, column label: 'A100' occurs twice"),
        ("hardware", H100, {"basis": "guess"}, f"row {H100}, column basis: expected one of"),
        ("hardware", H100, {"release_date": "2022-13"}, f"row {H100}, column release_date: expected a date"),
        ("models", 2, {"active_params_b": "9000"}, "data/models.csv, row 2, column active_params_b: expected at most"),
        ("hardware_prices", 2, {"hardware_id": "b999"},
         "data/hardware_prices.csv, row 2, column hardware_id: expected a known id of hardware.csv, got 'b999'"),
        ("endpoints", 2, {"same_model_as": "nobody"},
         "data/endpoints.csv, row 2, column same_model_as: expected a known id of endpoints.csv, got 'nobody'"),
        ("endpoints", 2, {"output_usd_per_mtok": "2500000"}, "row 2, column output_usd_per_mtok: expected a number"),
        ("presets", SPARK, {"model": "gpt-2"},
         f"data/presets.csv, row {SPARK}, column model: expected a known id of models.csv, got 'gpt-2'"),
        ("presets", SPARK, {"alternatives": "glm-4.6;gpt-2"}, f"row {SPARK}, column alternatives: expected a known id"),
        ("presets", SPARK, {"hardware": "abacus"}, f"row {SPARK}, column hardware: expected a known id"),
        ("presets", SPARK, {"speculation": "telepathy"}, f"row {SPARK}, column speculation: expected a known id"),
        ("presets", SPARK, {"reference": "opus-4.6"},
         f"row {SPARK}, column reference: expected a preset of the same compare_group, got 'opus-4.6'"),
        ("profile_values", 2, {"profile": "nobody"}, "row 2, column profile: expected a known id of profiles.csv"),
        ("profile_values", 2, {"field": "mood"}, "data/profile_values.csv, row 2, column field: expected one of"),
        ("profile_values", 2, {"value": "soon"}, "row 2, column value: expected a number between low and high"),
        ("profile_values", 2, {"basis": "derived", "source_url": ""}, "row 2, column source_url: expected an address"),
        ("measured", 2, {"model_id": "gpt-2"}, "row 2, column model_id: expected a known id of models.csv"),
        ("measured", 2, {"source_name": "hearsay"}, "column source_name: expected a known title of sources.csv"),
        ("quality_pairs", 2, {"parent_score": "101"}, "row 2, column parent_score: expected at most 100"),
        ("accept_length", 2, {"mean_accept_length": "2.5"}, "mean_accept_length: expected at most draft_tokens + 1"),
    ],
)  # fmt: skip
def test_a_broken_cell_is_refused_with_file_row_and_column(folder, name, row, cells, expected):
    change(folder, name, row, **cells)
    found = problems(folder)
    assert any(expected in line and line.startswith(f"data/{name}.csv, row ") for line in found), found


def assumption_row(**cells):
    empty = dict.fromkeys(TABLES["assumptions"].columns, "") | {"name": "n_in", "basis": "assumed"}
    return empty | {"default": "5", "low": "1", "high": "9", "min": "0", "max": "10", "grid": "step:1"} | cells


@pytest.mark.parametrize(
    ("cells", "column"),
    [({"default": "12"}, "default"), ({"low": "6"}, "default"), ({"high": "11"}, "high"), ({"basis": "felt"}, "basis"),
     ({"basis": "derived"}, "source_url"),
     ({"default": "sixteen"}, "default"), ({"grid": "1;3;2"}, "grid"), ({"grid": "1;2;11"}, "grid"),
     ({"grid": "step:0"}, "grid"), ({"grid": "step:x"}, "grid"), ({"grid": ""}, "grid"), ({"grid": "1;two"}, "grid")],
)  # fmt: skip
def test_assumptions_keep_their_own_limits(folder, cells, column):
    write(folder, "assumptions", [assumption_row(**cells)])
    found = problems(folder)
    assert any(f"data/assumptions.csv, row 2, column {column}: expected" in line for line in found), found


def test_an_assumption_may_have_a_word_as_default(folder):
    fields = {row["field"] for row in read(folder, "profile_values")}
    word = assumption_row(name="engine", default="vllm", low="", high="", min="", max="", grid="")
    write(folder, "assumptions", [*(assumption_row(name=name) for name in fields), word])
    assert load(folder).assumptions.at["engine", "default"] == "vllm"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "data/claims.csv: the file is empty"),
        (b"id,document,claim\n", "row 1, column quantity: the column is missing"),
        (b"id,id,document\n", "row 1, column id: the column occurs twice"),
        (b"id,document\nC01,\xff\xfe\n", "data/claims.csv, row 2: is not UTF-8 text"),
        (b'id,document\nC01,"open', "data/claims.csv: cannot be read as CSV"),
    ],
)
def test_an_unusable_file_is_refused(folder, content, expected):
    (folder / "claims.csv").write_bytes(content)
    assert any(expected in line for line in problems(folder))


def test_a_missing_file_a_bare_header_and_a_ragged_row_are_refused(folder):
    (folder / "profiles.csv").unlink()
    lines = (folder / "claims.csv").read_text("utf-8").splitlines()
    (folder / "claims.csv").write_text(lines[0] + "\n", "utf-8")
    with open(folder / "quality_tier_steps.csv", "a", encoding="utf-8") as file:
        file.write("coding,1\n")
    found = "\n".join(problems(folder))
    assert "data/profiles.csv: cannot be read (No such file or directory)" in found
    assert "data/claims.csv: has a header but no rows" in found
    assert "data/quality_tier_steps.csv, row 7: expected 7 cells, got 2" in found


def test_blank_lines_do_not_shift_row_numbers(folder):
    lines = (folder / "hardware.csv").read_text("utf-8").splitlines()
    (folder / "hardware.csv").write_text("\n".join([lines[0], "", *lines[1:], lines[1]]) + "\n", "utf-8")
    assert problems(folder)[0] == f"data/hardware.csv, row {len(lines) + 2}, column id: 'a100_80_sxm' occurs twice"


def test_only_the_first_twenty_problems_are_listed(folder):
    rows = read(folder, "claims")
    write(folder, "claims", [row | {"claim": ""} for row in rows])
    with pytest.raises(CatalogError, match="and 60 more") as error:
        load(folder)
    assert len(error.value.problems) == 20
    assert error.value.problems[0] == "data/claims.csv, row 2, column claim: expected a text, got nothing"


def test_the_same_folder_is_read_once():
    assert load() is load()
    assert isinstance(load().models, pd.DataFrame)
