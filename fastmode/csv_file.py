"""CSV files that people hand to the commands: forgiving about rows, strict about what is no CSV at all, of any size.

`convert` is the whole of a file command but its arithmetic: rows are read, worked on and written some thousand at a time.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

import numpy as np
import pandas as pd

from fastmode.i18n import _

CHUNK_ROWS = 10_000
STATUS = "status"
_BLOCK = 1 << 18  # bytes decoded at once


class Chunk(NamedTuple):
    """Some rows of a file, one after the other."""

    frame: pd.DataFrame  # all cells as text
    too_long: np.ndarray  # bool: the row holds more cells than the header
    bytes_read: int  # of the file so far; a block of it may still wait to be parsed


def read_csv(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """All cells as text, and which rows hold more cells than the header. Raises ValueError when unusable.

    Surplus cells without text are dropped: spreadsheets end rows with commas.
    """
    (chunk,) = read_chunks(path, sys.maxsize)
    return chunk.frame, chunk.too_long


def read_chunks(path: Path, rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
    """The file `rows` rows at a time; a file without rows gives one chunk of none. Close it when stopping early.

    Raises ValueError as `read_csv` does, but only when it gets to the place that makes the file unusable.
    """
    try:
        with open(path, "rb") as file:
            yield from _chunks(file, path, rows)
    except OSError as error:
        raise ValueError(_("cannot read {path}: {reason}").format(path=path, reason=error.strerror or error)) from error
    except UnicodeDecodeError as error:
        raise ValueError(_("cannot read {path}: not a text file in UTF-8").format(path=path)) from error
    except csv.Error as error:
        raise ValueError(_("cannot read {path}: not a CSV file ({reason})").format(path=path, reason=error)) from error


def convert(
    in_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    work: Callable[[pd.DataFrame], pd.DataFrame],
    outputs: Sequence[str],
    rows: int = CHUNK_ROWS,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write `work` of the rows of a CSV to another, `rows` rows at a time; the result is the same for every `rows`.

    work: table of texts -> table with the same rows, the columns `outputs` and `status` among them; it must treat each
    row by itself. Rows with more cells than the header are refused as rows, for their values cannot be told apart: their
    outputs become empty. progress: called after each chunk with the bytes read so far. Raises ValueError, with a message
    for the user, when the file cannot be read or the result not written; what was at `out_path` then stays as it was,
    also where it is the input.
    """

    def worked(chunk: Chunk) -> pd.DataFrame:
        table = work(chunk.frame)
        table[STATUS] = table[STATUS].mask(chunk.too_long, _("row has more cells than the header"))
        table.loc[chunk.too_long, [name for name in outputs if name != STATUS]] = np.nan
        return table

    with closing(read_chunks(Path(in_path), rows)) as chunks:
        chunk: Chunk | None = next(chunks)
        table = worked(chunk)  # an input that cannot be used is told before an output that cannot be written
        try:
            with replaced(Path(out_path)) as file:
                header = True
                while chunk is not None:
                    table.to_csv(file, index=False, header=header, lineterminator="\n")
                    if progress is not None:
                        progress(chunk.bytes_read)
                    header, chunk = False, next(chunks, None)
                    table = None if chunk is None else worked(chunk)
        except OSError as error:
            message = _("cannot write {path}: {reason}").format(path=out_path, reason=error.strerror or error)
            raise ValueError(message) from error


@contextmanager
def replaced(path: Path) -> Iterator[TextIO]:
    """A text file to write in UTF-8 that takes the place of `path` when the block ends well, and else leaves no trace.

    It is written beside `path` and moved there. Where that cannot be (a device, a pipe, a folder closed to new files) it
    is written elsewhere and copied at the end. Raises OSError where `path` cannot be written.
    """
    exists, special = path.exists(), path.exists() and not path.is_file() and not path.is_dir()
    if exists and not special:
        open(path, "ab").close()  # raises for a folder and for a file that must not be written
    if not special:
        path = Path(os.path.realpath(path))  # a link stays a link
        beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            file = open(beside, "x", encoding="utf-8", newline="")
        except PermissionError:
            if not exists:
                raise
        else:
            try:
                with file:
                    yield file
                _move(beside, path, exists)
            finally:
                beside.unlink(missing_ok=True)
            return
    with tempfile.TemporaryFile() as store:
        file = io.TextIOWrapper(store, encoding="utf-8", newline="")
        yield file
        file.detach()
        store.seek(0)
        with open(path, "wb") as target:
            shutil.copyfileobj(store, target)


def _move(source: Path, target: Path, exists: bool) -> None:
    """Put `source` in the place of `target`, with the permissions the target has where it exists."""
    try:
        if exists:
            shutil.copymode(target, source)
        os.replace(source, target)
    except OSError:
        if not exists:
            raise
        shutil.copyfile(source, target)  # may be written, not replaced: another owner's, or a mount point


def _chunks(file: BinaryIO, path: Path, rows: int) -> Iterator[Chunk]:
    lines = _Lines(file, path)
    # strict: a quote that is never closed would take the rest of the file into one cell
    records = (record for record in csv.reader(lines, strict=True) if record)
    header = [name.strip() for name in next(records, [])]
    if not header:
        raise ValueError(_("cannot read {path}: the file is empty").format(path=path))
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        message = _("cannot read {path}: {column}: column appears more than once")
        raise ValueError(message.format(path=path, column=", ".join(twice)))
    width = len(header)
    body = list(islice(records, rows))
    while True:
        too_long = np.array([any(cell.strip() for cell in row[width:]) for row in body], dtype=bool)
        cells = [row[:width] + [""] * (width - len(row)) for row in body]
        yield Chunk(pd.DataFrame(cells, columns=header, dtype=object), too_long, lines.bytes_read)
        body = list(islice(records, rows))
        if not body:
            return


class _Lines:
    """Lines of a UTF-8 file with their ends as they are; refuses what no spreadsheet or editor writes."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.bytes_read = 0

    def _blocks(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        while block := self.file.read(_BLOCK):
            self.bytes_read += len(block)
            yield decoder.decode(block)
        decoder.decode(b"", final=True)  # raises where the file ends within a character

    def __iter__(self) -> Iterator[str]:
        rest, checked = "", False
        for block in self._blocks():
            if "\0" in block:  # valid UTF-8 all the same
                raise ValueError(_("cannot read {path}: not a text file in UTF-8").format(path=self.path))
            lines = list(io.StringIO(rest + block, newline=""))
            rest = lines.pop() if lines else ""  # may go on in the next block
            for line in lines:
                checked = checked or self._separators_are_commas(line)
                yield line
        if rest:
            checked = checked or self._separators_are_commas(rest)
            yield rest

    def _separators_are_commas(self, line: str) -> bool:
        """False for a blank line, which does not tell. Raises ValueError for semicolons."""
        first = re.sub(r'"[^"]*("|$)', "", line)
        if first.count(";") > first.count(","):
            message = _("cannot read {path}: columns seem to be separated by ';', commas are expected")
            raise ValueError(message.format(path=self.path))
        return bool(line.strip())
