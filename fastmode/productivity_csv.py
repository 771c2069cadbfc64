"""Net productivity of a table of tasks: the `productivity` command.

One row in, one row out, in the same order. A row that cannot be evaluated keeps its inputs, gets empty outputs and a
`status` that names the column and what is allowed there.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fastmode.csv_file import CHUNK_ROWS, STATUS, convert
from fastmode.i18n import N_, _
from fastmode.productivity import TaskInputs, TaskResult, task

OK = "ok"

_ANY_POSITIVE = N_("a number above 0")
_NOT_NEGATIVE = N_("a number of 0 or more")
_PROBABILITY = N_("a number from 0 to 1")
_WHOLE = N_("a whole number of 1 or more")

# The numbers the equations accept; far wider than the ranges of the controls on the pages.
_DOMAINS = {
    _ANY_POSITIVE: lambda x: x > 0,
    _NOT_NEGATIVE: lambda x: x >= 0,
    _PROBABILITY: lambda x: (x >= 0) & (x <= 1),
    _WHOLE: lambda x: (x >= 1) & (x == np.floor(x)),
}


class InputColumn(NamedTuple):
    csv: str  # column of the file
    field: str  # field of TaskInputs
    allowed: str  # key of _DOMAINS


INPUTS = (
    InputColumn("n_in", "n_in", _NOT_NEGATIVE),
    InputColumn("n_out", "n_out", _NOT_NEGATIVE),
    InputColumn("calls", "calls", _NOT_NEGATIVE),
    InputColumn("speed", "tokens_per_s", _ANY_POSITIVE),
    InputColumn("ttft", "ttft_s", _NOT_NEGATIVE),
    InputColumn("handshake", "handshake_s", _NOT_NEGATIVE),
    InputColumn("queue", "start_delay_s", _NOT_NEGATIVE),
    InputColumn("tool_time", "tool_time_s", _NOT_NEGATIVE),
    InputColumn("price_in", "price_in_usd_per_mtok", _NOT_NEGATIVE),
    InputColumn("price_out", "price_out_usd_per_mtok", _NOT_NEGATIVE),
    InputColumn("theta", "theta_s", _NOT_NEGATIVE),
    InputColumn("kappa", "kappa_s", _ANY_POSITIVE),
    InputColumn("resume", "resume_s", _NOT_NEGATIVE),
    InputColumn("reuse", "reuse", _PROBABILITY),
    InputColumn("prompt_time", "prompt_time_s", _NOT_NEGATIVE),
    InputColumn("loc", "loc", _NOT_NEGATIVE),
    InputColumn("review_rate", "review_rate_loc_per_h", _ANY_POSITIVE),
    InputColumn("error", "error_rate", _PROBABILITY),
    InputColumn("detect", "detect", _PROBABILITY),
    InputColumn("retry_ratio", "retry_ratio", _NOT_NEGATIVE),
    InputColumn("max_attempts", "max_attempts", _WHOLE),
    InputColumn("reprompt_time", "reprompt_time_s", _NOT_NEGATIVE),
    InputColumn("fix_time", "fix_time_s", _NOT_NEGATIVE),
    InputColumn("escape_factor", "escape_factor", _NOT_NEGATIVE),
    InputColumn("wage", "wage_usd_per_h", _NOT_NEGATIVE),
    InputColumn("baseline", "baseline_s", _NOT_NEGATIVE),
    InputColumn("baseline_error", "baseline_error", _PROBABILITY),
)

# Output column of the file -> field of TaskResult.
OUTPUTS = {
    "wait_s": "wait_s",
    "lost_s": "lost_s",
    "retry_error": "retry_error",
    "attempts": "attempts",
    "p_manual": "p_manual",
    "p_escaped": "p_escaped",
    "time_s": "time_per_task_s",
    "token_cost_usd": "token_cost_usd",
    "cost_usd": "cost_per_task_usd",
    "net_productivity": "net_productivity",
    "saved_s": "saved_s",
    "value_ratio": "value_ratio",
}


def task_inputs(frame: pd.DataFrame | pd.Series) -> TaskInputs:
    """TaskInputs from the file's column names: arrays from a frame, scalars from one row (a Series)."""
    return TaskInputs(**{column.field: np.asarray(frame[column.csv], dtype=float) for column in INPUTS})


def _numbers(cells: pd.Series) -> np.ndarray:
    if pd.api.types.is_bool_dtype(cells):  # yes/no is not a quantity
        return np.full(len(cells), np.nan)
    return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)


def _is_empty(cells: pd.Series) -> np.ndarray:
    return (cells.isna() | (cells.astype(str).str.strip() == "")).to_numpy(dtype=bool)


class _Reasons:
    """Reasons collected row by row; a row without any is `ok`."""

    def __init__(self, n_rows: int):
        self._by_row: list[list[str]] = [[] for _row in range(n_rows)]

    def add(self, rows: np.ndarray, reason: str) -> None:
        for row in np.flatnonzero(rows):
            self._by_row[row].append(reason)

    def bad(self) -> np.ndarray:
        return np.array([bool(reasons) for reasons in self._by_row], dtype=bool)

    def texts(self) -> list[str]:
        return ["; ".join(reasons) or OK for reasons in self._by_row]


def _checked_inputs(frame: pd.DataFrame, reasons: _Reasons) -> TaskInputs:
    """Inputs of all rows, NaN where a cell is refused; the refusals go to `reasons`."""
    values = {}
    everywhere = np.ones(len(frame), dtype=bool)
    for column in INPUTS:
        count = int((frame.columns == column.csv).sum())
        if count != 1:
            reason = _("{column}: column missing") if count == 0 else _("{column}: column appears more than once")
            reasons.add(everywhere, reason.format(column=column.csv))
            values[column.field] = np.full(len(frame), np.nan)
            continue
        cells = frame[column.csv]
        number, empty = _numbers(cells), _is_empty(cells)
        finite = np.isfinite(number)
        allowed = finite & _DOMAINS[column.allowed](np.where(finite, number, 0.0))
        rule = {"column": column.csv, "allowed": _(column.allowed)}
        reasons.add(empty, _("{column}: missing, must be {allowed}").format(**rule))
        reasons.add(~empty & ~finite, _("{column}: not a finite number, must be {allowed}").format(**rule))
        reasons.add(finite & ~allowed, _("{column}: out of range, must be {allowed}").format(**rule))
        values[column.field] = np.where(allowed, number, np.nan)
    return TaskInputs(**values)


def productivity_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Evaluate every row of a table of tasks.

    frame: the input columns of INPUTS as numbers or text, in any order; other columns pass through untouched. Output
    columns already present and `status` are replaced. Returns the same rows in the same order with the columns of
    OUTPUTS and `status` appended. `status` is "ok" or the reasons, joined by "; ". An output that is not defined (a
    ratio to zero) is empty and named in `status`. Raises nothing for bad cells or missing columns.
    """
    frame = frame.rename(columns=lambda name: str(name).strip())
    passed = frame.loc[:, [name not in OUTPUTS and name != STATUS for name in frame.columns]]
    reasons = _Reasons(len(frame))
    result: TaskResult = task(_checked_inputs(passed, reasons))
    bad = reasons.bad()
    outputs = {}
    for name, field in OUTPUTS.items():
        value = np.where(bad, np.nan, getattr(result, field))
        undefined = ~bad & ~np.isfinite(value)
        reasons.add(undefined, _("{column}: not defined for these inputs").format(column=name))
        outputs[name] = np.where(undefined, np.nan, value)
    outputs[STATUS] = reasons.texts()
    return pd.concat([passed, pd.DataFrame(outputs, index=passed.index)], axis=1)


def run(
    in_path: str | Path, out_path: str | Path, rows: int = CHUNK_ROWS, progress: Callable[[int], None] | None = None
) -> None:
    """Read a CSV file, evaluate it with productivity_table and write the result, `rows` rows at a time.

    progress: called now and then with the bytes read so far. Raises ValueError, with a message for the user, when the file
    cannot be read (or the result not written); what was at `out_path` then stays. Rows with more cells than the header
    are refused as rows.
    """
    convert(in_path, out_path, productivity_table, tuple(OUTPUTS), rows, progress)
