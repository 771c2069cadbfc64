"""Tables of any size: parts of predict, rows in chunks, results put in place at the end, the progress bar."""

import csv
import errno
import io
import os
import stat
import subprocess
import sys
import termios
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog, cli, csv_file, productivity_csv
from fastmode import predict as module
from fastmode.cli import main
from fastmode.csv_file import read_chunks, read_csv, replaced
from fastmode.predict import OUTPUTS, main_predict, predict, prepare, times
from fastmode.serving import serve

ROOT = Path(__file__).resolve().parents[2]
TASKS = ROOT / "tests" / "data" / "productivity_examples.csv"
GOOD = {
    "model_id": "llama-3.1-70b", "hardware_id": "h100_sxm", "n_chips": "8", "tp": "8", "weight_precision": "fp8",
    "engine": "vllm", "input_tokens": "1024", "output_tokens": "512", "concurrency": "16", "clean_grade": "", "note": "",
}  # fmt: skip
HEADER = ",".join(GOOD)
ALL = sys.maxsize


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


def table(*changes):
    return pd.DataFrame([{**GOOD, **change} for change in changes])


def line(**change):
    """One line of the file, quoted where it must be."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow({**GOOD, **change}.values())
    return out.getvalue()


def rows_of(count):
    return "".join(line(input_tokens=str(1 + i), concurrency=str(1 + i % 300), note=f"n{i}") for i in range(count))


MIXED = "".join(
    [
        "\ufeff" + HEADER.replace(",", " , ") + ",\r\n",
        line(),
        line(note='two\nlines, "quoted"'),
        "\n",
        line(model_id="nobody"),
        line().rstrip("\n") + ",,\n",
        "mine,yours," + line(note="x"),
        line(clean_grade="A", output_tokens="", note="é€𝄞"),
        line(output_tokens=""),
        line(n_chips="1", tp="1", weight_precision="bf16"),
        "llama-3.1-70b,h100_sxm\n",
        line(note="a\r\nb"),
        line(input_tokens="1e999", note="\r\n\n"),
        *(line(concurrency=str(count)) for count in range(1, 40, 3)),
        line(hardware_id="tpu_v7").rstrip("\n"),
    ]
)  # fmt: skip


def written(folder, text, name="in.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


# The parts of predict


def test_prepared_rows_are_the_configurations_of_the_table(cat):
    prepared = prepare(table({}, {"clean_grade": "a"}, {"output_tokens": ""}, {"tp": "x"}), cat)
    assert prepared.pure.tolist() == [False, True, False, False]
    assert prepared.unknown_output.tolist() == [False, False, True, False]
    assert [bool(text) for text in prepared.status] == [False, False, False, True]
    config = prepared.config
    assert config.queue_overflow is True
    assert config.context_tokens.tolist() == [1024 + 256, 1024, 1024, 1024 + 256]
    assert config.fresh_tokens.tolist() == [1024, 0, 1024, 1024]
    assert config.output_tokens[0] == 512 and (config.output_tokens[1:3] > 1e6).all()
    assert cat.models.index[config.model[0]] == "llama-3.1-70b"


def test_times_are_those_of_predict_and_of_the_service(cat):
    frame = table(
        {}, {"clean_grade": "A"}, {"model_id": "nobody"}, {"n_chips": "1", "tp": "1", "weight_precision": "bf16"}
    )
    prepared = prepare(frame, cat)
    service = serve(prepared.config, cat)
    tpot, ttft, rate = times(prepared, service)
    assert np.isnan([tpot[2:], ttft[2:], rate[2:]]).all() and np.isfinite([tpot[:2], rate[:2]]).all()
    assert (tpot[0], ttft[0]) == (service.tpot_s[0], service.ttft_s[0])
    assert rate[0] == pytest.approx(service.output_tokens_per_s[0] / 8, rel=1e-12)
    # A pure step: 16 sequences each get one token a step, on 8 chips; nothing is prefilled, so there is no first token.
    # The running sequences come from a bisection: 16 to about eight digits.
    assert np.isnan(ttft[1]) and 16 / tpot[1] / 8 == pytest.approx(rate[1], rel=1e-6)
    assert tpot[1] == pytest.approx(service.step_s[1], rel=1e-6)
    out = predict(frame, cat)
    np.testing.assert_array_equal(out["tpot_ms"], tpot * 1e3)
    np.testing.assert_array_equal(out["ttft_ms"], ttft * 1e3)
    np.testing.assert_array_equal(out["output_tok_s_per_chip"], rate)


# Chunks


@pytest.mark.parametrize("rows", [1, 7, ALL])
def test_the_result_is_the_same_to_the_byte_for_every_chunk_size(cat, tmp_path, rows):
    """Against `predict` of the whole table, read with the standard library alone."""
    header, *body = [row for row in csv.reader(io.StringIO(MIXED.removeprefix("\ufeff"), newline="")) if row]
    width, surplus = len(header), [i for i, row in enumerate(body) if any(row[len(header) :])]
    assert len(body) > 20 and len(surplus) == 1
    cells = [(row + [""] * width)[:width] for row in body]
    whole = predict(pd.DataFrame(cells, columns=[name.strip() for name in header]), cat)
    whole.loc[surplus, list(OUTPUTS)] = np.nan
    whole.loc[surplus, "status"] = "row has more cells than the header"
    assert {"ok", "weights do not fit: needs 2 chips", "unknown model_id: nobody"} <= set(whole["status"])
    main_predict(written(tmp_path, MIXED), tmp_path / "out.csv", rows=rows)
    assert (tmp_path / "out.csv").read_bytes() == whole.to_csv(index=False, lineterminator="\n").encode("utf-8")


@pytest.mark.parametrize("rows", [1, 7, ALL])
def test_productivity_is_the_same_for_every_chunk_size_too(tmp_path, rows):
    text = TASKS.read_text(encoding="utf-8").replace("0.25", "1.25")  # some rows out of range
    text += "one," + text.splitlines()[1] + "\n"
    source = written(tmp_path, text)
    productivity_csv.run(source, tmp_path / "out.csv", rows=rows)
    frame, too_long = read_csv(source)
    whole = productivity_csv.productivity_table(frame)
    assert too_long.tolist() == [False] * (len(frame) - 1) + [True]
    out = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    texts = pd.read_csv(io.StringIO(whole.to_csv(index=False)), dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(out[:-1], texts[:-1])
    assert out["status"].iloc[-1] == "row has more cells than the header" and out["time_s"].iloc[-1] == ""
    assert 0 < (out["status"] == "ok").sum() < len(out) - 1


def test_measured_rows_predict_alike_in_chunks_and_in_one(cat, tmp_path):
    source = tmp_path / "in.csv"
    cat.measured.iloc[::3].to_csv(source, index=False)
    results = []
    for rows in (50, ALL):
        main_predict(source, tmp_path / "out.csv", rows=rows)
        results.append((tmp_path / "out.csv").read_bytes())
    assert results[0] == results[1] and results[0].count(b",ok\n") > 500


def test_chunks_hold_the_rows_asked_for_in_order(tmp_path):
    source = written(tmp_path, HEADER + "\n" + rows_of(10))
    chunks = list(read_chunks(source, 4))
    assert [len(chunk.frame) for chunk in chunks] == [4, 4, 2] == [len(chunk.too_long) for chunk in chunks]
    assert [note for chunk in chunks for note in chunk.frame["note"]] == [f"n{i}" for i in range(10)]
    assert chunks[-1].bytes_read == source.stat().st_size
    assert [len(chunk.frame) for chunk in read_chunks(source, 5)] == [5, 5]


def test_a_header_alone_gives_one_empty_chunk_and_the_full_header(tmp_path):
    source = written(tmp_path, HEADER + "\n")
    (chunk,) = read_chunks(source, 3)
    assert chunk.frame.shape == (0, len(GOOD)) and chunk.too_long.shape == (0,)
    main_predict(source, tmp_path / "out.csv", rows=3)
    assert (tmp_path / "out.csv").read_text() == ",".join([HEADER, *OUTPUTS]) + "\n"


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_no_row_depends_on_where_the_blocks_of_the_file_end(tmp_path, monkeypatch, block):
    """Ends of lines, characters of several bytes, quoted line breaks and the byte order mark cut in two."""
    text = '\ufeffa,b\r\n"x\r\ny",é€𝄞\r\r\n\n"",1\n"q""\n",2\r"last",3'
    monkeypatch.setattr(csv_file, "_BLOCK", block)
    rows = [row for row in csv.reader(io.StringIO(text[1:], newline=""), strict=True) if row]
    frame, too_long = read_csv(written(tmp_path, text))
    assert [list(frame.columns), *frame.to_numpy().tolist()] == rows and not too_long.any()
    assert [row[1] for row in rows] == ["b", "é€𝄞", "1", "2", "3"]


def test_only_a_chunk_is_held_in_memory(tmp_path):
    """The largest memory of 4,000 rows in chunks is that of a few chunks, not of the file."""
    source = written(tmp_path, HEADER + "\n" + rows_of(4_000))
    main_predict(source, tmp_path / "warm.csv")
    peaks = []
    for rows in (100, ALL):
        tracemalloc.start()
        main_predict(source, tmp_path / "out.csv", rows=rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 0.25 * peaks[1]


def test_a_file_is_read_only_as_far_as_asked(tmp_path):
    source = written(tmp_path, (HEADER + "\n" + rows_of(20_000)).encode() + b"\xff")
    chunks = read_chunks(source, 10)
    assert next(chunks).bytes_read < source.stat().st_size / 2
    chunks.close()
    with pytest.raises(ValueError, match="not a text file in UTF-8"):
        list(read_chunks(source, 10))


# What stands at the target


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b'"open\n', "not a CSV file (unexpected end of data)"),
        (b"a\0b\n", "not a text file in UTF-8"),
        (b"caf\xe9\n", "not a text file in UTF-8"),
        (b"cut \xe2\x82", "not a text file in UTF-8"),
        (b"a" * 200_000, "not a CSV file (field larger than field limit (131072))"),
    ],
    ids=["open quote", "binary", "other encoding", "cut character", "endless cell"],
)
@pytest.mark.parametrize("before", [None, "precious\n"])
def test_a_file_spoilt_at_its_end_leaves_the_target_as_it_was(capsys, tmp_path, monkeypatch, end, reason, before):
    monkeypatch.setattr(csv_file, "_BLOCK", 512)
    monkeypatch.setattr(cli, "PROGRESS_AFTER_S", 0.0)
    source, target = written(tmp_path, (HEADER + "\n" + rows_of(60)).encode() + end), tmp_path / "out.csv"
    if before is not None:
        target.write_text(before)
    files = sorted(os.listdir(tmp_path))
    with pytest.raises(ValueError, match="cannot read"):
        main_predict(source, target, rows=5)
    assert main(["predict", str(source), "-o", str(target)]) == 2
    assert capsys.readouterr().err == f"predict: cannot read {source}: {reason}\n"
    assert sorted(os.listdir(tmp_path)) == files
    assert before is None or target.read_text() == before


def test_work_stopped_half_way_leaves_the_target_as_it_was(tmp_path, monkeypatch):
    source, target = written(tmp_path, HEADER + "\n" + rows_of(9)), written(tmp_path, "precious\n", "out.csv")
    done = []

    def stopped(frame, cat):
        done.append(len(frame))
        if len(done) == 3:
            raise KeyboardInterrupt
        return predict(frame, cat)

    monkeypatch.setattr(module, "predict", stopped)
    with pytest.raises(KeyboardInterrupt):
        main_predict(source, target, rows=2)
    assert done == [2, 2, 2]
    assert target.read_text() == "precious\n" and sorted(os.listdir(tmp_path)) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("link", ["same path", "symbolic link", "hard link"])
def test_the_input_may_be_the_output(tmp_path, link):
    source = written(tmp_path, HEADER + "\n" + rows_of(25))
    main_predict(source, tmp_path / "apart.csv", rows=4)
    target = tmp_path / "link.csv"
    if link == "same path":
        target = source
    elif link == "symbolic link":
        target.symlink_to(source)
    else:
        os.link(source, target)
    main_predict(source, target, rows=4)
    assert target.read_bytes() == (tmp_path / "apart.csv").read_bytes()
    assert target.is_symlink() == (link == "symbolic link")


def test_predicting_a_result_again_changes_nothing(tmp_path):
    source = written(tmp_path, MIXED.replace("mine,yours,", ""))
    main_predict(source, source, rows=3)
    once = source.read_bytes()
    main_predict(source, source, rows=5)
    assert source.read_bytes() == once


def test_permissions_are_those_of_the_file_there_or_of_any_new_file(tmp_path):
    source, target = written(tmp_path, HEADER + "\n" + line()), written(tmp_path, "", "old.csv")
    target.chmod(0o640)
    main_predict(source, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    main_predict(source, tmp_path / "new.csv")
    assert (tmp_path / "new.csv").stat().st_mode == source.stat().st_mode


@pytest.mark.parametrize("refused", ["create", "move"])
def test_a_file_that_may_be_written_but_not_replaced_is_written(tmp_path, monkeypatch, refused):
    """A folder closed to new files; a file of another owner in a shared folder or a mount point."""
    target = written(tmp_path, "a much longer text than the new one\n", "out.csv")

    def refuse(*_arguments, **_keywords):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def open_(path, mode="r", **keywords):
        if mode == "x":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open(path, mode, **keywords)

    if refused == "create":
        monkeypatch.setattr(csv_file, "open", open_, raising=False)
    else:
        monkeypatch.setattr(csv_file.os, "replace", refuse)
    with replaced(target) as file:
        file.write("é\n")
    assert target.read_bytes() == "é\n".encode() and os.listdir(tmp_path) == ["out.csv"]
    with pytest.raises(OSError), replaced(tmp_path / "new.csv") as file:
        file.write("x")
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_missing_column_is_told_before_a_target_that_cannot_be_written(tmp_path):
    source = written(tmp_path, "model_id,hardware_id\nx,y\n")
    with pytest.raises(ValueError, match="lacks the columns input_tokens, concurrency"):
        main_predict(source, tmp_path / "none" / "out.csv")


def test_pipes_in_and_out(tmp_path):
    text = HEADER + "\n" + rows_of(30)
    main_predict(written(tmp_path, text), tmp_path / "out.csv")
    command = [sys.executable, "-m", "fastmode", "predict", "/dev/stdin", "-o", "/dev/stdout"]
    done = subprocess.run(command, cwd=ROOT, input=text.encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (tmp_path / "out.csv").read_bytes()
    spoilt = subprocess.run(command, cwd=ROOT, input=text.encode() + b'"', capture_output=True)
    assert (spoilt.returncode, spoilt.stdout) == (2, b"") and b"not a CSV file" in spoilt.stderr


# The progress bar


class Screen(io.StringIO):
    """Standard error of a person at a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def long_file(tmp_path, monkeypatch):
    """A file of several chunks and a clock that moves 0.4 s with each of them; no test waits."""
    import tqdm.std

    now = [1000.0]
    monkeypatch.setattr(tqdm.std, "time", lambda: now[0])

    def slow(work):
        def slowed(*arguments):
            now[0] += 0.4
            return work(*arguments)

        return slowed

    monkeypatch.setattr(module, "predict", slow(predict))
    monkeypatch.setattr(productivity_csv, "productivity_table", slow(productivity_csv.productivity_table))
    monkeypatch.setattr(csv_file, "_BLOCK", 256)
    return tmp_path


def run_in_chunks(command, folder, monkeypatch, rows):
    """The command over `rows` rows, two at a time."""
    text = HEADER + "\n" + rows_of(rows)
    if command == "productivity":
        header, first = TASKS.read_text(encoding="utf-8").splitlines()[:2]
        text = "\n".join([header] + [first] * rows)
    source = written(folder, text)
    for part, name in ((module, "main_predict"), (productivity_csv, "run")):
        whole = getattr(part, name)
        monkeypatch.setattr(part, name, lambda i, o, progress, whole=whole: whole(i, o, rows=2, progress=progress))
    return main([command, str(source), "-o", str(folder / "out.csv")])


@pytest.mark.parametrize("command", ["predict", "productivity"])
def test_long_work_shows_a_bar_on_a_terminal(long_file, monkeypatch, command):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert run_in_chunks(command, long_file, monkeypatch, 20) == 0
    shown = [part for part in screen.getvalue().split("\r") if part.strip()]
    shares = [int(part.split("%")[0].split()[-1]) for part in shown]
    assert all(part.startswith(f"{command}: ") for part in shown)
    assert len(shares) >= 3 and shares == sorted(shares) and shares[0] < 60 and shares[-1] == 100
    assert screen.getvalue().endswith("\r") and "\n" not in screen.getvalue()  # nothing is left on the line


@pytest.mark.parametrize("command", ["predict", "productivity"])
def test_work_within_a_second_shows_none(long_file, monkeypatch, command):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert run_in_chunks(command, long_file, monkeypatch, 4) == 0
    assert screen.getvalue() == ""


@pytest.mark.parametrize("command", ["predict", "productivity"])
def test_without_a_terminal_there_is_none(long_file, monkeypatch, capsys, command):
    assert run_in_chunks(command, long_file, monkeypatch, 20) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("columns", [0, 60])
def test_the_bar_fits_the_terminal_and_is_there_where_it_does_not_tell_its_width(long_file, monkeypatch, columns):
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)  # no bar is an error, not a wait
    termios.tcsetwinsize(theirs, (24 if columns else 0, columns))
    with open(theirs, "w", encoding="utf-8") as screen:
        monkeypatch.setattr(sys, "stderr", screen)
        assert run_in_chunks("predict", long_file, monkeypatch, 20) == 0
        screen.flush()
        shown = os.read(ours, 1 << 16).decode("utf-8").split("\r")
    os.close(ours)
    assert {len(part) for part in shown if "%" in part} == {columns or 80}
