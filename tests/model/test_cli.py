"""The command line is a contract: names, keys, statuses and exit codes."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmode.cli import evaluation_document, main
from fastmode.evaluate import evaluate
from fastmode.scenario import all_fields, default
from tests.model.test_evaluate import PRESETS, of

OUTPUTS = (
    "tokens_per_s_per_user", "ttft_s", "cost_multiplier", "error_rate", "net_productivity", "wait_s", "time_per_task_s", "correction_time_s",
    "cost_per_task_usd", "time_change", "p_faster", "provider_cost_usd_per_mtok", "energy_j_per_token",
)  # fmt: skip
NAMES = (
    "preset", "reference", "task", "model", "hardware", "n_chips", "batch_size", "distillation", "fix_time_s", "task_scale", "context_tokens",
)  # fmt: skip


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def test_fields_lists_every_field_with_the_keys_of_the_contract(capsys):
    rows = printed(capsys, "fields")
    assert [row["name"] for row in rows] == list(all_fields())
    assert {"name", "key", "unit", "group", "min", "max", "default", "choices", "help"} <= set(rows[0])
    by_name = {row["name"]: row for row in rows}
    assert set(NAMES) <= set(by_name)
    assert by_name["preset"]["choices"] == by_name["reference"]["choices"] == list(PRESETS.index)
    batch = by_name["batch_size"]
    assert (batch["key"], batch["unit"], batch["min"], batch["max"], batch["default"]) == ("b", "sequences", 1, 512, 16)
    assert by_name["anchor_tokens_per_s"]["default"] is None


def test_evaluate_has_the_keys_of_the_contract(capsys):
    document = printed(capsys, "evaluate", "preset=opus-4.6-fast")
    assert {"status", "verdict", "scenario", "reference", "ignored", "outputs"} <= set(document)
    assert (document["status"], document["ignored"]) == ("ok", [])
    assert list(document["scenario"]) == list(document["reference"]) == list(all_fields())
    assert set(OUTPUTS) <= set(document["outputs"])
    for name, output in document["outputs"].items():
        assert {"value", "low", "high", "unit", "kind", "reference"} <= set(output), name
        assert output["kind"] in ("published", "reported", "measured", "derived", "modelled", "assumed"), name


def test_evaluate_gives_the_figures_of_the_engine(capsys):
    document = printed(capsys, "evaluate", "preset=opus-4.6-fast")
    outputs = document["outputs"]
    assert (outputs["tokens_per_s_per_user"]["value"], outputs["tokens_per_s_per_user"]["reference"]) == (170.0, 65.0)
    assert outputs["cost_multiplier"]["value"] == pytest.approx(6.0) and outputs["error_rate"]["value"] == 0.25
    assert outputs["tokens_per_s_per_user"]["text"] == "170 tok/s"
    assert outputs["p_faster"]["value"] == 1.0  # the same weights, less waiting: in every world
    assert outputs["error_rate"]["low"] == pytest.approx(0.10, abs=2e-3) and outputs["error_rate"]["high"] == pytest.approx(0.50, abs=2e-3)
    for name, output in evaluate(of("opus-4.6-fast")).outputs().items():
        assert outputs[name]["value"] == (None if output.value != output.value else output.value)
    assert "Opus 4.6 fast takes 6.1 % less developer time" in document["verdict"]


def test_the_reference_is_its_own_preset_under_the_same_task(capsys):
    document = printed(capsys, "evaluate", "preset=opus-4.6-fast&b=8&no=9000")
    scenario, reference = document["scenario"], document["reference"]
    assert (scenario["preset"], scenario["batch_size"], scenario["n_out"]) == ("opus-4.6-fast", 8.0, 9000)
    assert (reference["preset"], reference["reference"], reference["batch_size"], reference["n_out"]) == ("opus-4.6", "opus-4.6", 64.0, 9000)


def test_an_empty_query_is_the_default(capsys):
    document = printed(capsys, "evaluate")
    assert document["scenario"] == {name: getattr(default(), name) for name in all_fields()}
    assert document["outputs"]["time_change"]["value"] == pytest.approx(0.3402, abs=5e-5)
    assert document["outputs"]["cost_multiplier"]["value"] is None


def test_ignored_parts_are_listed_and_the_rest_is_used(capsys):
    document = printed(capsys, "evaluate", "http://localhost:8501/trade_offs?preset=opus-4.6&b=65&zz=1&hw=abacus#top")
    assert document["scenario"]["batch_size"] == 64.0 and document["status"] == "ok"
    assert [(i["key"], i["value"]) for i in document["ignored"]] == [("b", "65"), ("zz", "1"), ("hw", "abacus")]
    assert all(i["reason"] for i in document["ignored"])


def test_what_cannot_be_served_is_a_status(capsys):
    document = printed(capsys, "evaluate", "preset=opus-4.6&hw=h100_sxm")
    assert document["status"] == "weights do not fit: needs 24 chips"
    assert document["verdict"].startswith("No verdict: ")
    assert document["outputs"]["tokens_per_s_per_user"]["value"] is None
    assert document["outputs"]["error_rate"]["value"] == 0.25


@pytest.mark.parametrize("query", ["x" * 30_000, "preset=%ff&b=nan&b=nan", "http://[", "?", "a=;&t=;", "\x00", "b=" + "9" * 9_000])
def test_a_bad_link_is_the_default_never_an_exception(capsys, query):
    document = printed(capsys, "evaluate", query)
    assert document["scenario"]["preset"] == "gpt-5.3-codex-spark"
    assert document["status"] == ("link longer than 20000 characters" if len(query) > 20_000 else "ok")


@settings(max_examples=40)
@given(st.text(max_size=100))
def test_any_text_gives_a_document_that_is_strict_json(text):
    document = evaluation_document(text)
    assert json.loads(json.dumps(document, allow_nan=False))["status"]


@pytest.mark.parametrize("preset", PRESETS.index)
def test_every_preset_gives_strict_json(preset):
    document = json.loads(json.dumps(evaluation_document(f"preset={preset}"), allow_nan=False))
    assert document["scenario"]["preset"] == preset and document["ignored"] == []


@pytest.mark.parametrize("command", ["predict", "productivity"])
def test_an_unreadable_file_is_exit_code_2(capsys, tmp_path, command):
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01" * 50)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for path in (tmp_path / "missing.csv", tmp_path, binary, empty):
        assert main([command, str(path), "-o", str(tmp_path / "out.csv")]) == 2, path
        message = capsys.readouterr().err
        assert message.startswith(f"{command}: ") and "Traceback" not in message
    assert not (tmp_path / "out.csv").exists()


def test_an_unwritable_output_is_exit_code_2(capsys, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("model_id,hardware_id,n_chips\nkimi-k2,b200_sxm,8\n")
    assert main(["predict", str(source), "-o", str(tmp_path / "none" / "out.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_program_as_it_is_called(root):
    command = [sys.executable, "-m", "fastmode"]
    done = subprocess.run([*command, "evaluate", "a=%ff&b=1e999"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert [i["key"] for i in json.loads(done.stdout)["ignored"]] == ["a", "b"]
    done = subprocess.run([*command, "predict", "missing.csv", "-o", "out.csv"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr and not done.stdout
    done = subprocess.run([*command, "juggle"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
