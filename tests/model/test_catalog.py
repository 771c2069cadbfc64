"""The catalogue: shipped facts, one-row additions, and refusal of every kind of broken file."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest

from fastmode.catalog import DATA_DIR, CatalogError, load
from fastmode.catalog_tables import TABLES
from fastmode.option_table import preset_table


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
    """A copy of data/ with the large files shortened, so that many broken variants stay cheap to load."""
    folder = tmp_path_factory.mktemp("small") / "data"
    shutil.copytree(DATA_DIR, folder)
    suspects = read(folder, "measured_suspects")[:3]
    ids = {row["row_id"] for row in suspects}
    write(folder, "measured_suspects", suspects)
    for name in ("measured", "calibration_left_out"):
        kept = [row for row in read(folder, name) if row["row_id"] in ids]
        write(folder, name, kept or read(folder, name)[:0])
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


# shipped facts: each holds for data/ and for data/ with one more row of every common kind


def extend(folder):
    """One more chip, model, pair of tiers with their presets (one with a published TTFT), preset without a model, and
    measured row."""
    add(folder, "hardware", "b200_sxm", id="b900_sxm", label="B900")
    add(folder, "hardware", "rtx_5090", id="rtx_6090", label="RTX 6090")
    add(folder, "models", "qwen3-32b", id="qwen9-32b", label="Qwen9 32B")
    add(folder, "endpoints", "opus-5", id="opus-99", model="Claude Opus 99", ttft_s="")
    add(folder, "endpoints", "opus-5-fast", id="opus-99-fast", model="Claude Opus 99", same_model_as="opus-99", ttft_s="0.7")
    # A tier of an endpoint that is no preset.
    add(folder, "endpoints", "kimi-k2.7-code-highspeed", id="kimi-9-fast", same_model_as="kimi-k2.7-code")
    own = {"compare_group": "kimi-9", "reference": "kimi-9-fast", "label": "Kimi 9 fast"}
    add(folder, "presets", "kimi-k2.6-turbo-fireworks", id="kimi-9-fast", **own)
    group = {"compare_group": "opus-99", "reference": "opus-99"}
    add(folder, "presets", "opus-5", id="opus-99", label="Opus 99", hardware="b900_sxm", model="qwen9-32b", **group)
    add(folder, "presets", "opus-5-fast", id="opus-99-fast", label="Opus 99 fast", **group)
    add(folder, "endpoints", "haiku-5.5", id="haiku-9")
    add(folder, "presets", "haiku-5.5", id="haiku-9", label="Haiku 9", compare_group="haiku-9", reference="haiku-9")
    # A smaller sibling, compared on a benchmark that both have.
    add(folder, "endpoints", "sonnet-4.6", id="sonnet-9")
    add(folder, "presets", "sonnet-4.6", id="sonnet-9", label="Sonnet 9")
    rows = read(folder, "measured")
    write(folder, "measured", [*rows, {**rows[0], "row_id": "one-more"}])


@pytest.fixture(scope="module", params=["shipped", "one more of each"])
def catalog(request, tmp_path_factory):
    if request.param == "shipped":
        return load()
    folder = tmp_path_factory.mktemp("more") / "data"
    shutil.copytree(DATA_DIR, folder)
    extend(folder)
    return load(folder)


def names(rows) -> list[str]:
    """Index of the rows for which a boolean column is true: what a failing rule prints."""
    return list(rows.index[rows])


def test_spot_values_of_the_shipped_tables(catalog):
    c = catalog
    assert c.hardware.at["h100_sxm", "memory_bw_tb_s"] == 3.35
    assert c.hardware.at["h100_sxm", "label"] == "H100"
    assert c.hardware.at["cerebras_wse3", "memory_gb"] == 44
    assert c.models.at["kimi-k2", "label"] == "Kimi K2"
    assert c.endpoints.at["gpt-5.3-codex-spark", "terminal_bench_2"] == 58.4
    assert c.endpoints.at["gpt-5.3-codex", "terminal_bench_2"] == 77.3
    assert np.isnan(c.endpoints.at["gpt-5.3-codex-spark", "output_usd_per_mtok"])
    assert len(c.measured) >= 1907 and len(c.quality_pairs) >= 247 and len(c.claims) >= 80


def test_the_founding_price_multiple_is_six_on_input_and_output(catalog):
    fast, standard = catalog.endpoints.loc["opus-4.6-fast"], catalog.endpoints.loc["opus-4.6"]
    assert fast["input_usd_per_mtok"] / standard["input_usd_per_mtok"] == 30 / 5 == 6
    assert fast["output_usd_per_mtok"] / standard["output_usd_per_mtok"] == 150 / 25 == 6


def test_empty_cells_are_nan_in_numbers_and_blank_in_text(catalog):
    e = catalog.endpoints
    assert e["output_tok_s"].dtype == np.float64
    assert e.at["opus-4.6", "same_model_as"] == "" and e["notes"].map(type).eq(str).all()
    assert not e.isna().to_numpy()[:, [e.columns.get_loc("status"), e.columns.get_loc("date")]].any()


def test_key_value_bytes_follow_from_the_architecture(catalog):
    m = catalog.models
    plain = m[(m["attention_kind"] == "GQA") & m[["n_kv_heads", "head_dim", "kv_bytes_per_token_bf16"]].notna().all(axis=1)]
    expected = 2 * plain["layers"] * plain["n_kv_heads"] * plain["head_dim"] * 2
    assert len(plain) >= 17
    assert names(plain["kv_bytes_per_token_bf16"] != expected) == []
    assert expected[["llama-3.1-70b", "glm-4.7", "mixtral-8x7b"]].tolist() == [327680, 376832, 131072]


def test_unshipped_and_consumer_parts_are_behind_all_hardware(catalog):
    shown = catalog.hardware["shown"]
    behind = {
        "rubin_vr200", "mi455x", "tpu_8i", "tpu_8t", "groq3_lpu", "sambanova_sn50", "apple_m4_max", "apple_m3_ultra",
        "rtx_4090", "rtx_5090",
    }  # fmt: skip
    assert (shown[list(behind)] == 0).all()
    assert (shown[["h100_sxm", "b200_sxm", "mi300x", "tpu_v7", "groq_lpu_v1", "cerebras_wse3"]] == 1).all()
    assert names(shown[catalog.presets["hardware"].unique()] == 0) == []


def test_accept_length_curves_are_told_apart_by_id(catalog):
    drafts = catalog.accept_length.groupby("id")["draft_tokens"].apply(list)
    assert len(drafts) >= 14
    assert names(drafts.map(lambda n: n != list(range(1, len(n) + 1)))) == []
    curves = catalog.accept_length
    mtp = curves[curves["id"] == "deepseek-v4-pro-mtp-on"].set_index("draft_tokens")["mean_accept_length"]
    assert mtp[1] == 1.79 and mtp[3] == 2.49 and list(mtp.index) == list(range(1, 9))


def test_every_cited_address_is_listed_in_sources(catalog):
    unlisted = catalog.sources.query("kind == 'unlisted'")["url"].tolist()
    assert unlisted == [], "add these to data/sources.csv"


# presets


def test_presets_cover_what_the_founding_articles_name(catalog):
    named = {
        "opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark", "gpt-5.1-codex-mini", "sonnet-seed",
        "haiku-4.5", "gpt-5.2-pro", "gemini-deep-think", "glm-4.7-cerebras", "llama-3.3-70b-groq", "gpt-oss-120b-groq",
    }  # fmt: skip
    assert named <= set(catalog.presets.index)


def test_founding_presets_state_the_agreed_stand_ins(catalog):
    p = catalog.presets
    where = ["reference", "model", "hardware", "n_chips", "weight_precision", "batch_size"]
    assert p.loc["opus-4.6", where].tolist() == ["opus-4.6", "kimi-k2", "b200_sxm", 8, "fp8", 64]
    assert p.loc["opus-4.6-fast", where].tolist() == ["opus-4.6", "kimi-k2", "b200_sxm", 8, "fp8", 4]
    assert p.loc["gpt-5.3-codex", where].tolist() == ["gpt-5.3-codex", "kimi-k2", "b200_sxm", 8, "fp8", 64]
    assert p.loc["gpt-5.3-codex-spark", where].tolist() == ["gpt-5.3-codex", "glm-4.7", "cerebras_wse3", 0, "bf16", 16]
    assert p.loc["gpt-5.3-codex-spark", ["ttft_s", "handshake_s"]].tolist() == [0.5, 0.02]
    assert p.loc["opus-4.6-fast", ["ttft_s", "handshake_s"]].tolist() == [1.0, 0.1]


def test_stand_ins_of_closed_models_are_marked_assumed_and_unknown_models_have_none(catalog):
    p = catalog.presets
    assert (p.loc[["haiku-4.5", "haiku-5.5", "gemini-deep-think", "gpt-5.2-pro"], ["model", "standin_basis"]] == "").all(axis=None)
    assert names((p["closed"] == 1) & (p["model"] != "") & (p["standin_basis"] != "assumed")) == []
    assert p.loc[["opus-4.6", "gpt-5.3-codex-spark"], "standin_basis"].tolist() == ["assumed", "assumed"]
    assert p.loc[["glm-4.7-zai", "gpt-oss-120b-groq", "llama-3.1-8b-cerebras"], "standin_basis"].eq("vendor").all()


def test_unpublished_figures_of_the_founding_systems_stay_unpublished(catalog):
    e = catalog.endpoints
    price = ["input_usd_per_mtok", "output_usd_per_mtok"]
    assert e.loc["gpt-5.3-codex-spark", price].isna().all()
    assert e.loc["gemini-deep-think", [*price, "output_tok_s", "ttft_s"]].isna().all()
    assert e.loc[["haiku-4.5", "gpt-5.2-pro"], "output_tok_s"].isna().all()


def test_a_published_ttft_wins_over_the_assumed_one(catalog):
    used = pd.Series(preset_table(catalog).ttft_s, catalog.presets.index)
    published = catalog.endpoints.loc[catalog.presets.index, "ttft_s"]
    wanted = published.fillna(catalog.presets["ttft_s"])
    assert names((used != wanted) & ~(used.isna() & wanted.isna())) == []
    shipped = {
        "opus-5-fast": 4.1, "sonnet-4.6": 1.207, "gemini-3-flash": 0.5, "llama-3.3-70b-groq": 0.15,
        "llama-3.3-70b-specdec-groq": 0.1, "llama-3.1-8b-groq": 0.05, "gpt-5.3-codex-spark": 0.5, "opus-4.6": 1.0,
    }  # fmt: skip
    assert used[list(shipped)].to_dict() == shipped
    assert used.get("opus-99-fast", 0.7) == 0.7


def test_error_odds_use_one_benchmark_that_both_endpoints_have(catalog):
    used = catalog.presets[catalog.presets["benchmark"] != ""]
    assert used.loc[["gpt-5.3-codex-spark", "gpt-5.1-codex-mini", "sonnet-4.6"], "benchmark"].eq("terminal_bench_2").all()
    assert used.at["gemini-3-flash", "benchmark"] == "swe_bench_verified"
    for name, row in used.iterrows():
        assert catalog.endpoints.loc[[name, row["reference"]], row["benchmark"]].notna().all(), name
        assert catalog.endpoints.at[name, "same_model_as"] == "", name


def test_a_group_has_one_reference_and_it_is_its_own(catalog):
    p = catalog.presets
    assert names(p.groupby("compare_group")["reference"].nunique() != 1) == []
    assert names(p["reference"] != p.loc[p["reference"], "reference"].to_numpy()) == []


def test_same_weights_stay_in_one_group(catalog):
    groups = catalog.presets["compare_group"]
    same = catalog.endpoints.loc[groups.index, "same_model_as"]
    same = same[same.isin(groups.index)]
    apart = names(groups[same.index] != groups[same].to_numpy())
    assert apart == [], "these presets are in another compare_group than the preset their endpoint's same_model_as names"
    assert same["opus-4.6-fast"] == "opus-4.6" and same["glm-4.7-cerebras"] == "glm-4.7-zai"


# profiles


def test_the_default_profile_is_the_assumptions_themselves(catalog):
    assert catalog.profiles.index[0] == "issue" and len(catalog.profiles) >= 11
    changing = set(catalog.profile_values["profile"])
    assert "issue" not in changing and len(changing) >= 10


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
        ("profile_values", 2, {"value": "300.5"},
         "row 2, column value: expected between 0 and 36000 on the grid step:1 of assumptions.csv, got '300.5'"),
        ("presets", SPARK, {"batch_size": "17"}, f"row {SPARK}, column batch_size: expected between 1 and 512 on the grid"),
        ("profile_values", 2, {"basis": "derived", "source_url": ""}, "row 2, column source_url: expected an address"),
        ("measured", 2, {"model_id": "gpt-2"}, "row 2, column model_id: expected a known id of models.csv"),
        ("measured", 2, {"source_name": "hearsay"}, "column source_name: expected a known title of sources.csv"),
        ("sram_points", 2, {"model_id": "gpt-2"}, "row 2, column model_id: expected a known id of models.csv"),
        ("sram_points", 2, {"model_id": ""}, "row 2, column model_id: expected a model where the row is used"),
        ("sram_points", 2, {"use": "0"}, "row 2, column why_not: expected a reason where the row is not used"),
        ("sram_points", 2, {"hardware_id": "abacus"}, "row 2, column hardware_id: expected a known id of hardware.csv"),
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
    return empty | {"default": "5", "low": "1", "high": "9", "min": "0", "max": "10", "drawn": "1", "grid": "step:1"} | cells


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
    word = assumption_row(name="dialect", default="vllm", low="", high="", min="", max="", grid="")
    write(folder, "assumptions", [*read(folder, "assumptions"), word])
    assert load(folder).assumptions.at["dialect", "default"] == "vllm"


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
    short = len(read(folder, "quality_tier_steps")) + 2
    with open(folder / "quality_tier_steps.csv", "a", encoding="utf-8") as file:
        file.write("coding,1\n")
    found = "\n".join(problems(folder))
    assert "data/profiles.csv: cannot be read (No such file or directory)" in found
    assert "data/claims.csv: has a header but no rows" in found
    assert f"data/quality_tier_steps.csv, row {short}: expected 7 cells, got 2" in found


def test_blank_lines_do_not_shift_row_numbers(folder):
    lines = (folder / "hardware.csv").read_text("utf-8").splitlines()
    (folder / "hardware.csv").write_text("\n".join([lines[0], "", *lines[1:], lines[1]]) + "\n", "utf-8")
    first = lines[1].split(",")[0]
    assert problems(folder)[0] == f"data/hardware.csv, row {len(lines) + 2}, column id: {first!r} occurs twice"


def test_only_the_first_twenty_problems_are_listed(folder):
    rows = read(folder, "claims")
    write(folder, "claims", [row | {"claim": ""} for row in rows])
    with pytest.raises(CatalogError, match=f"and {len(rows) - 20} more") as error:
        load(folder)
    assert len(error.value.problems) == 20
    assert error.value.problems[0] == "data/claims.csv, row 2, column claim: expected a text, got nothing"


def test_the_same_folder_is_read_once():
    assert load() is load()
    assert isinstance(load().models, pd.DataFrame)
