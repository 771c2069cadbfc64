"""The productivity command's table: contract, reasons for refused rows, unreadable files."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode.productivity import TaskInputs
from fastmode.productivity_csv import INPUTS, OUTPUTS, productivity_table, run, task_inputs
from fastmode.scenario import Scenario

PATH = Path(__file__).parents[1] / "data" / "productivity_examples.csv"
EXAMPLES = pd.read_csv(PATH)
OUT = list(OUTPUTS)
QUESTIONS = EXAMPLES.drop(columns=OUT)
# Names of the scenario whose meaning is "the user's own figure", hence not those of the equations.
SCENARIO_NAMES = {"anchor_tokens_per_s": "tokens_per_s", "anchor_ttft_s": "ttft_s", "error": "error_rate"}


def changed(row, **cells):
    """The 22 questions as text, with the cells of one row replaced."""
    frame = QUESTIONS.astype(str)
    for column, text in cells.items():
        frame.loc[row, column] = text
    return frame


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode(encoding))
    return path


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_columns_are_those_of_the_examples_and_a_status():
    assert list(productivity_table(QUESTIONS).columns) == [*EXAMPLES.columns, "status"]


@pytest.mark.parametrize("frame", [QUESTIONS, QUESTIONS.astype(str), EXAMPLES], ids=["numbers", "text", "with outputs"])
def test_examples_are_reproduced(frame):
    table = productivity_table(frame)
    np.testing.assert_allclose(table[OUT], EXAMPLES[OUT], rtol=0, atol=1e-6)
    assert set(table["status"]) == {"ok"}


def test_every_input_of_the_equations_has_one_column():
    assert sorted(column.field for column in INPUTS) == sorted(field.name for field in fields(TaskInputs))
    assert {column.csv for column in INPUTS} == set(QUESTIONS.columns) - {"example"}


def test_column_names_are_those_the_scenario_declares():
    declared = {field.metadata["declaration"].csv: field.name for field in fields(Scenario)}
    declared.pop("", None)
    assert {column.csv: column.field for column in INPUTS} == {
        csv: SCENARIO_NAMES.get(name, name) for csv, name in declared.items()
    }


def test_inputs_of_one_row_are_scalars():
    assert task_inputs(EXAMPLES.iloc[1]).resume_s == 600


def test_stale_outputs_and_status_are_replaced():
    table = productivity_table(EXAMPLES.assign(time_s=-1.0, status="old"))
    np.testing.assert_allclose(table["time_s"], EXAMPLES["time_s"], atol=1e-6)
    assert list(table.columns).count("status") == 1


def test_order_of_columns_and_of_rows_is_kept():
    shuffled = QUESTIONS.iloc[::-1, ::-1]
    table = productivity_table(shuffled)
    assert list(table.columns) == [*shuffled.columns, *OUT, "status"]
    assert list(table["example"]) == list(EXAMPLES["example"][::-1])


def test_other_columns_pass_through_untouched():
    table = productivity_table(QUESTIONS.assign(note=[f" 0{row} " for row in range(22)]))
    assert table["note"].tolist() == [f" 0{row} " for row in range(22)]


def test_example_names_are_not_needed():
    assert set(productivity_table(QUESTIONS.drop(columns="example"))["status"]) == {"ok"}


def test_no_rows_give_no_rows():
    table = productivity_table(QUESTIONS.iloc[:0])
    assert len(table) == 0
    assert list(table.columns) == [*EXAMPLES.columns, "status"]


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("error", "1.2", "error: out of range, must be a number from 0 to 1"),
        ("detect", "-0.1", "detect: out of range, must be a number from 0 to 1"),
        ("reuse", "60", "reuse: out of range, must be a number from 0 to 1"),
        ("baseline_error", "1.0001", "baseline_error: out of range, must be a number from 0 to 1"),
        ("speed", "0", "speed: out of range, must be a number above 0"),
        ("speed", "-65", "speed: out of range, must be a number above 0"),
        ("kappa", "0", "kappa: out of range, must be a number above 0"),
        ("review_rate", "0", "review_rate: out of range, must be a number above 0"),
        ("max_attempts", "0", "max_attempts: out of range, must be a whole number of 1 or more"),
        ("max_attempts", "1.5", "max_attempts: out of range, must be a whole number of 1 or more"),
        ("wage", "-1", "wage: out of range, must be a number of 0 or more"),
        ("price_out", "", "price_out: missing, must be a number of 0 or more"),
        ("n_in", "   ", "n_in: missing, must be a number of 0 or more"),
        ("error", "25%", "error: not a finite number, must be a number from 0 to 1"),
        ("error", "0,25", "error: not a finite number, must be a number from 0 to 1"),
        ("speed", "inf", "speed: not a finite number, must be a number above 0"),
        ("speed", "nan", "speed: not a finite number, must be a number above 0"),
        ("calls", "<script>", "calls: not a finite number, must be a number of 0 or more"),
        ("fix_time", "1e999", "fix_time: not a finite number, must be a number of 0 or more"),
    ],
)
def test_bad_cell_gives_a_reason_and_empty_outputs_in_its_row_only(column, text, reason):
    table = productivity_table(changed(3, **{column: text}))
    assert table.loc[3, "status"] == reason
    assert table.loc[3, OUT].isna().all()
    assert table.loc[3, column] == text
    others = table.drop(index=3)
    assert set(others["status"]) == {"ok"}
    np.testing.assert_allclose(others[OUT], EXAMPLES[OUT].drop(index=3), rtol=0, atol=1e-6)


def test_every_bad_column_of_a_row_is_named():
    status = productivity_table(changed(0, error="2", speed="fast")).loc[0, "status"]
    assert [part.split(":")[0] for part in status.split("; ")] == ["speed", "error"]


def test_missing_column_is_the_reason_of_every_row():
    table = productivity_table(QUESTIONS.drop(columns="escape_factor"))
    assert set(table["status"]) == {"escape_factor: column missing"}
    assert table[OUT].isna().all(axis=None) and len(table) == 22


def test_column_given_twice_is_refused():
    twice = pd.concat([QUESTIONS, QUESTIONS[["speed"]]], axis=1)
    assert set(productivity_table(twice)["status"]) == {"speed: column appears more than once"}


def test_yes_and_no_are_not_numbers():
    table = productivity_table(QUESTIONS.assign(calls=True))
    assert set(table["status"]) == {"calls: not a finite number, must be a number of 0 or more"}


def test_output_that_is_not_defined_is_empty_and_named():
    free = changed(0, wage="0", price_in="0", price_out="0")
    row = productivity_table(free).loc[0]
    assert row["status"] == "value_ratio: not defined for these inputs"
    assert np.isnan(row["value_ratio"])
    assert row["time_s"] == pytest.approx(1539.966469, abs=1e-6)


def test_file_to_file(tmp_path):
    out = tmp_path / "out.csv"
    run(PATH, out)
    table = pd.read_csv(out)
    assert list(table.columns) == [*EXAMPLES.columns, "status"]
    np.testing.assert_allclose(table[OUT], EXAMPLES[OUT], rtol=0, atol=1e-6)


def test_file_keeps_the_text_of_inputs(tmp_path):
    run(PATH, tmp_path / "out.csv")
    given, found = (pd.read_csv(path, dtype=str) for path in (PATH, tmp_path / "out.csv"))
    pd.testing.assert_frame_equal(found[QUESTIONS.columns], given[QUESTIONS.columns])


def test_file_of_a_spreadsheet_is_read(tmp_path):
    text = "\ufeff" + PATH.read_text(encoding="utf-8").replace("\n", "\r\n")
    run(written(tmp_path, text), tmp_path / "out.csv")
    assert set(pd.read_csv(tmp_path / "out.csv")["status"]) == {"ok"}


def test_blanks_around_column_names_do_not_matter(tmp_path):
    header, *rows = lines_of(PATH)
    run(written(tmp_path, "\n".join([header.replace(",", " , "), *rows])), tmp_path / "out.csv")
    assert set(pd.read_csv(tmp_path / "out.csv")["status"]) == {"ok"}


def test_short_row_lacks_its_last_columns(tmp_path):
    header, first, second = lines_of(PATH)[:3]
    run(written(tmp_path, "\n".join([header, ",".join(first.split(",")[:20]), second])), tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["status"][0].startswith("retry_ratio: missing") and table["status"][1] == "ok"


def test_row_with_surplus_cells_is_refused_alone(tmp_path):
    # An unquoted comma in the name shifts every cell: nothing in the row can be trusted.
    header, first, second = lines_of(PATH)[:3]
    run(written(tmp_path, "\n".join([header, "one, " + first, second])), tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["status"].tolist() == ["row has more cells than the header", "ok"]
    assert table.loc[0, OUT].isna().all()


@pytest.mark.parametrize("header_end", ["", ",", ",,"])
def test_trailing_commas_shift_nothing(tmp_path, header_end):
    header, *rows = lines_of(PATH)
    text = "\n".join([header + header_end, *(row + ",," for row in rows)])
    run(written(tmp_path, text), tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(table[OUT], EXAMPLES[OUT], rtol=0, atol=1e-6)
    assert set(table["status"]) == {"ok"}


def test_every_column_given_twice_is_named(tmp_path):
    header, first = lines_of(PATH)[:2]
    text = f"{header}, speed ,loc\n{first},1,2\n"
    with pytest.raises(ValueError, match="speed, loc: column appears more than once"):
        run(written(tmp_path, text), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_header_alone_gives_a_header(tmp_path):
    run(written(tmp_path, lines_of(PATH)[0] + "\n"), tmp_path / "out.csv")
    assert lines_of(tmp_path / "out.csv") == [lines_of(PATH)[0] + ",status"]


@pytest.mark.parametrize(
    ("text", "encoding", "reason"),
    [
        ("", "utf-8", "the file is empty"),
        ("\n\n", "utf-8", "the file is empty"),
        ("example\na\x00b\n", "utf-8", "not a text file in UTF-8"),
        ("example\n" + "a" * 200_000, "utf-8", "not a CSV file"),
        ('example\n"a\nb\n', "utf-8", "not a CSV file"),
        ("example;n_in\na;1\n", "utf-8", "columns seem to be separated by ';', commas are expected"),
        ("example,caf\u00e9\n", "latin-1", "not a text file in UTF-8"),
        ("example,n_in\n", "utf-16", "not a text file in UTF-8"),
    ],
    ids=[
        "empty",
        "blank lines",
        "binary",
        "endless cell",
        "open quote",
        "semicolons",
        "other encoding",
        "two bytes a character",
    ],
)
def test_unreadable_file_is_refused_with_its_reason(tmp_path, text, encoding, reason):
    path = written(tmp_path, text, encoding)
    with pytest.raises(ValueError, match=reason):
        run(path, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_missing_file_and_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(ValueError, match="cannot read"):
            run(path, tmp_path / "out.csv")


def test_result_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot write"):
        run(PATH, tmp_path / "no folder" / "out.csv")
