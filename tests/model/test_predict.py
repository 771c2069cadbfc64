"""The predict table: measured deployments, odd cells, shape of the output."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.cli import main
from fastmode.predict import OUTPUTS, main_predict, predict

GOOD = {
    "model_id": "llama-3.1-70b", "hardware_id": "h100_sxm", "n_chips": "8", "tp": "8", "pp": "1", "ep": "1", "dp": "1",
    "weight_precision": "fp8", "kv_precision": "", "engine": "vllm", "spec_decode": "none", "input_tokens": "1024",
    "output_tokens": "1024", "concurrency": "16",
}  # fmt: skip


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


def table(*changes):
    return pd.DataFrame([{**GOOD, **change} for change in changes])


# Measured by others: model, hardware, chips, precision, engine.
MEASURED = [
    ("llama-3.1-70b", "h100_sxm", 8, "fp8", "vllm"),
    ("llama-3.1-70b", "b200_sxm", 4, "fp8", "vllm"),
    ("llama-3.1-70b", "b200_sxm", 1, "nvfp4", "trtllm"),
    ("qwen3-32b", "h100_sxm", 4, "bf16", "vllm"),
    ("qwen3-32b", "h100_sxm", 8, "fp8", "trtllm"),
    ("qwen3-32b", "b300_sxm", 2, "bf16", "vllm"),
    ("llama-3.1-8b", "h100_sxm", 1, "bf16", "trtllm"),
    ("gpt-oss-120b", "b200_sxm", 2, "mxfp4", "vllm"),
    ("kimi-k2.5", "b200_sxm", 4, "nvfp4", "vllm"),
    ("deepseek-r1", "b200_sxm", 8, "nvfp4", "trtllm"),
    ("minimax-m2.5", "b200_sxm", 4, "fp8", "vllm"),
]


@pytest.mark.parametrize(("model", "hardware", "chips", "precision", "engine"), MEASURED)
def test_measured_deployments(cat, model, hardware, chips, precision, engine):
    """Median error of time per output token over each deployment's rows below 20 %."""
    rows = cat.measured
    keep = (rows["model_id"] == model) & (rows["hardware_id"] == hardware) & (rows["n_chips"] == chips)
    keep &= (rows["weight_precision"] == precision) & (rows["engine"] == engine)
    keep &= ~rows["row_id"].isin(cat.measured_suspects["row_id"])
    rows = rows[keep]
    out = predict(rows, cat)
    assert len(rows) >= 5 and (out["status"] == "ok").all()
    assert np.median(np.abs(out["tpot_ms"] / rows["tpot_ms"] - 1)) < 0.20


def test_all_catalogued_measured_rows_get_an_answer(cat):
    rows = cat.measured[(cat.measured["model_id"] != "") & (cat.measured["hardware_id"] != "")]
    out = predict(rows, cat)
    assert (out["status"] == "ok").all()
    error = np.abs(out["tpot_ms"] / rows["tpot_ms"] - 1)
    assert np.median(error) < 0.09
    assert np.quantile(error, 0.9) < 0.32


def test_limits_refuse_no_measured_row(cat):
    status = predict(cat.measured, cat)["status"]
    known = (cat.measured["model_id"] != "") & (cat.measured["hardware_id"] != "")
    assert known.sum() >= 1738 and (status[known] == "ok").all()
    assert status[~known].str.endswith(": empty").all()


def test_columns_and_order(cat):
    frame = table({"note": "b"}, {"note": "a", "model_id": "nobody"})
    out = predict(frame, cat)
    assert list(out.columns) == [*frame.columns, *OUTPUTS]
    assert out["note"].tolist() == ["b", "a"]
    assert out["status"].tolist() == ["ok", "unknown model_id: nobody"]
    assert out["extrapolation"].tolist() == ["no", ""]
    assert np.isnan(out["tpot_ms"][1]) and np.isnan(out["tpot_ms_low"][1])
    assert out["tpot_ms_low"][0] < out["tpot_ms"][0] < out["tpot_ms_high"][0]
    assert out["output_tok_s_per_user"][0] == pytest.approx(1000 / out["tpot_ms"][0])


def test_numbers_may_be_written_as_decimals_or_be_numbers(cat):
    plain = predict(table({}), cat)
    decimal = predict(table({"n_chips": "8.0", "tp": "8.0", "concurrency": "16.0", "input_tokens": " 1024 "}), cat)
    typed = predict(table({"n_chips": 8, "tp": 8.0, "concurrency": 16, "input_tokens": 1024.0}), cat)
    assert decimal["tpot_ms"][0] == typed["tpot_ms"][0] == plain["tpot_ms"][0]


@pytest.mark.parametrize(
    ("column", "cell"),
    [(column, cell) for column in ("input_tokens", "output_tokens", "concurrency", "n_chips", "tp", "pp", "ep", "dp")
     for cell in ("abc", "-3", "inf", "1e999")]
    + [("input_tokens", ""), ("input_tokens", np.nan), ("concurrency", ""), ("concurrency", "nan"),
       ("concurrency", "0"), ("tp", "2.5"), ("weight_precision", "fp3"), ("kv_precision", "q"),
       ("model_id", ""), ("hardware_id", np.nan)],
)  # fmt: skip
def test_an_unusable_cell_is_named(cat, column, cell):
    out = predict(table({}, {column: cell}, {}), cat)
    assert column in out["status"][1] and out["status"][1] != "ok"
    assert np.isnan(out["tpot_ms"][1]) and np.isnan(out["ttft_ms"][1])
    assert out["status"].tolist()[::2] == ["ok", "ok"]


DRAFTS = "spec_decode: drafted tokens not a whole number from 0 to 16: "


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"input_tokens": "1e308"}, "input_tokens: not a number from 0 to 20,000,000: 1e308"),
        ({"input_tokens": "20000001"}, "input_tokens: not a number from 0 to 20,000,000: 20000001"),
        ({"output_tokens": "1e99"}, "output_tokens: not a number from 1 to 20,000,000: 1e99"),
        ({"concurrency": "1e308"}, "concurrency: not a number from 1 to 100,000: 1e308"),
        ({"concurrency": "100001"}, "concurrency: not a number from 1 to 100,000: 100001"),
        ({"n_chips": "1e30"}, "n_chips: not a whole number from 0 to 4,096: 1e30"),
        ({"tp": "1e9", "n_chips": "1"}, "tp: not a whole number from 0 to 512: 1e9"),
        ({"pp": "513"}, "pp: not a whole number from 0 to 512: 513"),
        ({"dp": "1e99"}, "dp: not a whole number from 0 to 512: 1e99"),
        ({"ep": "1e99"}, "ep: not a whole number from 0 to 512: 1e99"),
        ({"tp": "3", "pp": "7", "dp": "5", "n_chips": "1"}, "tp x pp is 21: must be from 1 to 1 (n_chips)"),
        ({"tp": "", "pp": "9"}, "tp x pp is 9: must be from 1 to 8 (n_chips)"),
        ({"tp": "512", "pp": "9", "n_chips": ""}, "tp x pp x dp is 4,608: must be from 1 to 4,096 (n_chips)"),
        ({"spec_decode": "mtp99999999999999999999"}, DRAFTS + "mtp99999999999999999999"),
        ({"spec_decode": "eagle3:17"}, DRAFTS + "eagle3:17"),
        ({"spec_decode": "mtp" + "9" * 5000}, DRAFTS + "mtp" + "9" * 37),
    ],
)
def test_an_implausible_cell_names_the_column_and_the_range(cat, change, status):
    out = predict(table({}, change, {}), cat)
    assert out["status"].tolist() == ["ok", status, "ok"]
    assert out.loc[1, list(OUTPUTS[:-2])].isna().all() and out["extrapolation"][1] == ""


@pytest.mark.parametrize(
    "change",
    [
        {"input_tokens": "20000000", "output_tokens": "20000000", "concurrency": "100000"},
        {"input_tokens": "0", "output_tokens": "1", "concurrency": "1"},
        {"input_tokens": "1e-320"},
        {"n_chips": "4096", "tp": "512", "pp": "8"},
        {"tp": "8", "dp": "8", "ep": "512"},
        {"spec_decode": "mtp16"},
        {"spec_decode": "mtp:0003"},
    ],
)
def test_a_cell_on_its_limit_is_served_with_ordinary_numbers(cat, change):
    out = predict(table(change), cat)
    figures = out[["ttft_ms", "tpot_ms", "output_tok_s_per_user", "output_tok_s_per_chip"]].iloc[0].astype(float)
    assert out["status"][0] == "ok"
    assert ((figures > 1e-12) & (figures < 1e18)).all()


def test_figures_that_are_not_finite_are_a_status(cat, monkeypatch):
    """Whatever the engine returns: no infinite, empty or denormal figure is `ok`."""
    import fastmode.predict as module

    def broken(config, catalog):
        service = serve(config, catalog)
        ttft = service.ttft_s * np.array([1.0, np.inf, np.nan, 1e-320])
        return replace(service, ttft_s=ttft)

    serve = module.serve
    monkeypatch.setattr(module, "serve", broken)
    out = predict(table({}, {}, {}, {}), cat)
    assert out["status"].tolist() == ["ok"] + ["not defined for these inputs"] * 3
    assert out["tpot_ms"].isna().tolist() == out["ttft_ms"].isna().tolist() == [False, True, True, True]


def test_empty_layout_means_tensor_parallel(cat):
    out = predict(table({}, {"tp": "", "pp": "", "ep": "", "dp": ""}, {"tp": "0", "pp": "0", "ep": "0", "dp": "0"}), cat)
    assert out["tpot_ms"].nunique() == 1


def test_data_parallel_attention_multiplies_chips_only_up_to_their_number(cat):
    """4 chips, dp 4 with tp 1 or tp 4: in both each chip keeps whole sequences."""
    base = {"model_id": "kimi-k2.5", "hardware_id": "b200_sxm", "weight_precision": "nvfp4", "n_chips": "4", "ep": "4"}
    out = predict(table({**base, "tp": "1", "dp": "4"}, {**base, "tp": "4", "dp": "4"}), cat)
    assert out["tpot_ms"][0] == out["tpot_ms"][1]


def test_more_tensor_parallel_than_kv_heads_replicates_them(cat):
    """Qwen3-235B has 4 KV heads: from 4 to 8 chips the weights are read twice as fast, the cache is not."""
    base = {"model_id": "qwen3-235b-a22b", "hardware_id": "b200_sxm", "weight_precision": "fp8", "concurrency": "64"}
    base |= {"clean_grade": "A", "input_tokens": "100000"}
    out = predict(table({**base, "n_chips": "4", "tp": "4"}, {**base, "n_chips": "8", "tp": "8"}), cat)
    assert out["status"].tolist() == ["ok", "ok"]
    cache_s = 64 * 100_000 * 192512 / 2 / (4 * 7.7e12 * cat.serving_constants["value"]["kv_read_share"])
    assert (out["tpot_ms"] > 1000 * cache_s).all()


def test_pure_decode_rows_have_no_scheduler_and_no_first_token(cat):
    out = predict(table({"clean_grade": "A", "output_tokens": ""}, {"clean_grade": "B"}), cat)
    assert out["status"].tolist() == ["ok", "ok"]
    assert np.isnan(out["ttft_ms"][0]) and out["ttft_ms"][1] > 0
    assert out["tpot_ms"][0] < out["tpot_ms"][1]


def test_requests_beyond_the_memory_wait(cat):
    """70B at fp8 on two H100: a few dozen sequences fit, hundreds wait; time per token stops growing, TTFT does not."""
    base = {"n_chips": "2", "tp": "2"}
    out = predict(table({**base, "concurrency": "1000"}, {**base, "concurrency": "2000"}), cat)
    assert out["tpot_ms"][1] == pytest.approx(out["tpot_ms"][0], rel=1e-6)
    assert out["ttft_ms"][1] > 1.5 * out["ttft_ms"][0]


def test_weights_that_do_not_fit(cat):
    out = predict(table({"weight_precision": "bf16", "n_chips": "1", "tp": "1"}), cat)
    assert out["status"][0] == "weights do not fit: needs 2 chips"


def test_concurrency_or_batch_is_an_alias(cat):
    renamed = table({}).rename(columns={"concurrency": "concurrency_or_batch"})
    assert predict(renamed, cat)["tpot_ms"][0] == predict(table({}), cat)["tpot_ms"][0]


def test_drafted_tokens_speed_a_lone_request_up(cat):
    base = {"model_id": "deepseek-r1", "hardware_id": "b200_sxm", "concurrency": "1"}
    out = predict(table(base, {**base, "spec_decode": "mtp3"}, {**base, "spec_decode": "mtp:3"}), cat)
    assert 1.5 < out["tpot_ms"][0] / out["tpot_ms"][1] < 3.2
    assert out["tpot_ms"][1] == out["tpot_ms"][2]


def test_drafted_tokens_are_read_after_a_method_that_ends_in_a_digit(cat):
    """`eagle3` alone takes the default of 3 drafted tokens; after a separator their number is read."""
    out = predict(table(*({"spec_decode": text} for text in ("eagle3", "eagle3:3", "eagle3:5", "eagle3-5"))), cat)
    assert out["tpot_ms"][0] == out["tpot_ms"][1] != out["tpot_ms"][2] == out["tpot_ms"][3]


def test_hardware_and_models_without_measured_rows_are_flagged(cat):
    out = predict(table({"hardware_id": "tpu_v7"}, {"model_id": "glm-4.7", "hardware_id": "b200_sxm"},
                        {"output_tokens": ""}), cat)  # fmt: skip
    assert out["extrapolation"].tolist() == ["hardware", "model", "output_tokens"]


def test_empty_table(cat):
    out = predict(table({}).iloc[:0], cat)
    assert len(out) == 0 and list(out.columns)[-len(OUTPUTS) :] == list(OUTPUTS)


def test_file_to_file(cat, tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    table({}, {"input_tokens": "many"}).to_csv(source, index=False)
    main_predict(source, target)
    out = pd.read_csv(target, keep_default_na=False)
    assert len(out) == 2 and out["status"][0] == "ok" and "input_tokens" in out["status"][1]


def lines_of_table(*changes):
    return table(*changes).to_csv(index=False).splitlines()


def predicted(tmp_path, text):
    (tmp_path / "in.csv").write_bytes(text.encode("utf-8"))
    main_predict(tmp_path / "in.csv", tmp_path / "out.csv")
    return pd.read_csv(tmp_path / "out.csv", keep_default_na=False)


@pytest.mark.parametrize("header_end", ["", ",", ",,"])
def test_trailing_commas_shift_nothing(cat, tmp_path, header_end):
    header, first, second = lines_of_table({}, {"concurrency": "32"})
    out = predicted(tmp_path, f"{header}{header_end}\n{first},,\n{second},,\n")
    assert out["status"].tolist() == ["ok", "ok"]
    assert out["model_id"].tolist() == ["llama-3.1-70b"] * 2 and out["concurrency"].tolist() == [16, 32]
    assert out["tpot_ms"][0] == pytest.approx(predict(table({}), cat)["tpot_ms"][0], rel=1e-12)


def test_row_with_surplus_cells_is_refused_alone(cat, tmp_path):
    header, first, second = lines_of_table({}, {"concurrency": "32"})
    out = predicted(tmp_path, f"{header}\n{first}\nmine,{second}\n{second},mine\n{second}\n")
    surplus = "row has more cells than the header"
    assert out["status"].tolist() == ["ok", surplus, surplus, "ok"]
    assert out.loc[1:2, list(OUTPUTS[:-1])].eq("").all(axis=None)
    alone = predict(table({"concurrency": "32"}), cat)
    assert float(out["tpot_ms"][3]) == pytest.approx(alone["tpot_ms"][0], rel=1e-12)


def test_short_row_is_refused_alone(tmp_path):
    header, first = lines_of_table({})
    out = predicted(tmp_path, f"{header}\n{first.rsplit(',', 1)[0]}\n{first}\n")
    assert out["status"].tolist() == ["concurrency is empty", "ok"]


def test_file_of_a_spreadsheet_is_read(tmp_path):
    header, first = lines_of_table({})
    out = predicted(tmp_path, f"\ufeff{header.replace(',', ' , ')}\r\n{first}\r\n")
    assert out["status"].tolist() == ["ok"] and out.columns[0] == "model_id"


TASKS = (Path(__file__).parents[1] / "data" / "productivity_examples.csv").read_text(encoding="utf-8").splitlines()
FILES = [("predict", lines_of_table({})), ("productivity", TASKS)]


@pytest.mark.parametrize(("command", "lines"), FILES, ids=["predict", "productivity"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda text: text.replace(",", ";"), "columns seem to be separated by ';', commas are expected"),
        (lambda text: text.replace(",", ";").replace(".", ","), "columns seem to be separated by ';', commas are"),
        (lambda text: '"a";"b, c";"d"\n"1";"2";"3"\n', "columns seem to be separated by ';', commas are expected"),
        (lambda text: "note,x, note\n" + text, "note: column appears more than once"),
        (lambda text: "", "the file is empty"),
        (lambda text: "\ufeff\n", "the file is empty"),
        (lambda text: text + "\0", "not a text file in UTF-8"),
        (lambda text: text + '"open\n', "not a CSV file (unexpected end of data)"),
    ],
    ids=["semicolons", "decimal commas", "quoted", "column twice", "empty", "blank line", "binary", "open quote"],
)
def test_both_commands_refuse_a_file_alike(capsys, tmp_path, command, lines, spoil, reason):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(spoil("\n".join(lines) + "\n").encode("utf-8"))
    assert main([command, str(source), "-o", str(target)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{command}: cannot read {source}: {reason}") and not target.exists()


@pytest.mark.parametrize(("command", "lines"), FILES, ids=["predict", "productivity"])
def test_both_commands_refuse_folders_alike(capsys, tmp_path, command, lines):
    source = tmp_path / "in.csv"
    source.write_text("\n".join(lines))
    assert main([command, str(tmp_path), "-o", str(tmp_path / "out.csv")]) == 2
    assert capsys.readouterr().err == f"{command}: cannot read {tmp_path}: Is a directory\n"
    assert main([command, str(source), "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{command}: cannot write {tmp_path}: Is a directory\n"
    assert main([command, str(source), "-o", str(tmp_path / "no" / "out.csv")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{command}: cannot write {tmp_path}/no/out.csv: ")


@pytest.mark.parametrize(("command", "lines"), FILES, ids=["predict", "productivity"])
def test_a_semicolon_in_a_cell_is_no_separator(tmp_path, command, lines):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f"note; mine,{lines[0]}\na;b;c,{lines[1]}\n")
    assert main([command, str(source), "-o", str(target)]) == 0
    out = pd.read_csv(target)
    assert (out["note; mine"][0], out["status"][0]) == ("a;b;c", "ok")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b"a,b\n1,2,3,4\n", b"model_id,hardware_id\nx,y\n"])
def test_a_file_that_cannot_be_used_is_refused(tmp_path, content):
    source = tmp_path / "in.csv"
    source.write_bytes(content)
    with pytest.raises(ValueError, match=r"in\.csv"):
        main_predict(source, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot read"):
        main_predict(tmp_path / "nothing.csv", tmp_path / "out.csv")


def test_waiting_for_memory_has_no_ttft_without_output_tokens(cat):
    """Llama 70B on one H100 does not fit at bf16; at fp8 a few sequences do, and 64 requests wait for unknown outputs."""
    row = {"model_id": "llama-3.1-70b", "hardware_id": "h100_sxm", "n_chips": "2", "tp": "", "pp": "", "weight_precision": "fp8", "input_tokens": "16000"}
    out = predict(table({**row, "concurrency": "200", "output_tokens": ""}, {**row, "concurrency": "200", "output_tokens": "1000"},
                        {**row, "concurrency": "2", "output_tokens": ""}), cat)  # fmt: skip
    assert out["status"].tolist() == ["ok"] * 3
    assert np.isnan(out["ttft_ms"][0]) and np.isnan(out["ttft_ms_high"][0]) and np.isfinite(out["tpot_ms"][0])
    assert out["ttft_ms"][1] > 1000 and out["ttft_ms"][2] < 10_000


def test_an_unknown_draft_method_is_predicted_without_drafts_and_said(cat):
    """Neither a number, a format nor `on` names a method; the band is as wide as with drafts that have a curve."""
    words = ("medusa", "on", "5", "nvfp4", "n/a", "mtp3")
    out = predict(table(*({"spec_decode": word} for word in words)), cat)
    plain = predict(table({"spec_decode": "none"}), cat)
    width = np.log(out["tpot_ms_high"] / out["tpot_ms_low"])
    assert out["extrapolation"].tolist() == ["speculation"] * 4 + ["no", "speculation"]
    assert out["tpot_ms"][:5].tolist() == [plain["tpot_ms"][0]] * 5 and out["tpot_ms"][5] < plain["tpot_ms"][0]
    assert width[:4].to_numpy() == pytest.approx(width[5]) and width[4] < 0.9 * width[5]
