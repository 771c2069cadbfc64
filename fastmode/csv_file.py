"""Reading the CSV files that people hand to the commands: forgiving about rows, strict about what is no CSV at all."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from fastmode.i18n import _


def read_csv(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """All cells as text, and which rows hold more cells than the header. Raises ValueError when unusable.

    Surplus cells without text are dropped: spreadsheets end rows with commas.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise ValueError(_("cannot read {path}: {reason}").format(path=path, reason=error.strerror or error)) from error
    except UnicodeDecodeError as error:
        raise ValueError(_("cannot read {path}: not a text file in UTF-8").format(path=path)) from error
    if "\0" in text:  # valid UTF-8, but no spreadsheet or editor writes it
        raise ValueError(_("cannot read {path}: not a text file in UTF-8").format(path=path))
    first = re.sub(r'"[^"]*("|$)', "", next((line for line in text.splitlines() if line.strip()), ""))
    if first.count(";") > first.count(","):
        message = _("cannot read {path}: columns seem to be separated by ';', commas are expected")
        raise ValueError(message.format(path=path))
    try:  # strict: a quote that is never closed would take the rest of the file into one cell
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise ValueError(_("cannot read {path}: not a CSV file ({reason})").format(path=path, reason=error)) from error
    if not rows:
        raise ValueError(_("cannot read {path}: the file is empty").format(path=path))
    header, body = [name.strip() for name in rows[0]], rows[1:]
    width = len(header)
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        message = _("cannot read {path}: {column}: column appears more than once")
        raise ValueError(message.format(path=path, column=", ".join(twice)))
    too_long = np.array([any(cell.strip() for cell in row[width:]) for row in body], dtype=bool)
    cells = [row[:width] + [""] * (width - len(row)) for row in body]
    return pd.DataFrame(cells, columns=header, dtype=object), too_long
