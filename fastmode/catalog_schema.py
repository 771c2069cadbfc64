"""What each file of data/ must look like: columns with their limits, keys, rules between columns, references.

One declaration a file. `catalog.load` applies them; nothing here reads a file.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

ASSUMED = "assumed"


@dataclass(frozen=True)
class Column:
    """What one column accepts. `low`/`high` make it numeric; `pattern` or `choices` limit a text."""

    expected: str
    required: bool = False
    low: float = math.nan
    high: float = math.nan
    choices: frozenset = frozenset()
    pattern: re.Pattern | None = None
    is_url: bool = False

    @property
    def numeric(self) -> bool:
        return not math.isnan(self.low)


def _text(required: bool = False) -> Column:
    return Column("a text", required)


def number(low: float, high: float, required: bool = False) -> Column:
    return Column(f"a number between {low:g} and {high:g}", required, low, high)


def one_of(words: str, required: bool = True) -> Column:
    return Column("one of " + ", ".join(words.split()), required, choices=frozenset(words.split()))


def like(pattern: str, expected: str, required: bool = True, is_url: bool = False) -> Column:
    return Column(expected, required, pattern=re.compile(pattern), is_url=is_url)


def _optional(spec: Column) -> Column:
    return replace(spec, required=False)


@dataclass(frozen=True)
class Table:
    """One file: its columns, the columns that identify a row, what it is indexed by, and rules between columns.

    ordered: columns that must not decrease from left to right (empty cells are skipped).
    rules: (column, what is expected, function of the table -> rows that are right); the function sees clean columns.
    """

    columns: dict[str, Column]
    key: tuple[str, ...] = ()
    index: str = ""
    unique: tuple[str, ...] = ()
    ordered: tuple[tuple[str, ...], ...] = ()
    rules: tuple[tuple[str, str, Callable], ...] = ()


@dataclass(frozen=True)
class Join:
    """Every non-empty cell of `table.column` (split at ";" when `many`) must occur in `target.target_column`, or be
    the word `otherwise`."""

    table: str
    column: str
    target: str
    target_column: str
    many: bool = False
    otherwise: str = ""


TEXT, TEXT1 = _text(), _text(required=True)
ID = like(r"[a-z0-9][a-z0-9._-]*", "an id of lower-case letters, digits and . _ -")
REF = _optional(ID)
LABEL = like(r"[ -:<-~]{1,40}", "a short ASCII label without ;")
URL = like(r"https?://\S+", "an address starting with http:// or https://", is_url=True)
URL0 = _optional(URL)
DATE = like(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?|-H[12])?", "a date YYYY, YYYY-MM or YYYY-MM-DD")
BASIS = one_of("vendor_spec measured_third_party community_estimate derived assumed measured")
BASIS0 = _optional(BASIS)
FLAG = Column("0 or 1", True, 0, 1)
SHARE = number(0, 1)
PERCENT = number(0, 100)
TOKENS = number(1, 2e7)
TASK_FAMILY = one_of("coding agentic math knowledge tool_use")
PRECISION = one_of("bf16 fp8 int8 fp4")
SOURCE = {"source_url": URL, "source_note": TEXT}
ANY = number(-1e12, 1e12)
ANY1 = number(-1e12, 1e12, required=True)
SIZE_B, SIZE_B1 = number(0.01, 1e5), number(0.01, 1e5, required=True)
RATE, RATIO, COUNT = number(0.01, 1e6), number(1e-3, 1e3), number(1, 1e5)
COUNT1 = number(1, 1e5, required=True)
SUMMARY_RATIO = number(0, 1e4, required=True)


def within_own_limits(t: pd.DataFrame) -> pd.Series:
    value = pd.to_numeric(t["default"], errors="coerce")
    return ~((value < t["min"]) | (value > t["max"]) | (value < t["low"]) | (value > t["high"]))


def default_of_its_kind(t: pd.DataFrame) -> pd.Series:
    """A number (or nothing) where the field has a range, a word where it has none."""
    ranged = t["min"].notna() | t["max"].notna() | (t["grid"] != "")
    is_number = pd.to_numeric(t["default"], errors="coerce").abs() < math.inf
    on_grid = [
        not given or takes(grid, low, high, value)
        for given, grid, low, high, value in zip(
            is_number, t["grid"], t["min"], t["max"], pd.to_numeric(t["default"], errors="coerce"), strict=True
        )
    ]
    return np.where(ranged, (is_number & np.array(on_grid, bool)) | (t["default"] == ""), t["default"] != "")


def grid_of_its_range(t: pd.DataFrame) -> pd.Series:
    """Rising numbers "1;2;4" or a step "step:0.1" where the field has a range, nothing where it has none."""
    return pd.Series(
        [_is_grid(g, low, high) for g, low, high in zip(t["grid"], t["min"], t["max"], strict=True)], t.index
    )


def takes(grid: str, low: float, high: float, value: float) -> bool:
    """Whether a field with this grid and range can hold the value. Steps of 1 mean whole numbers."""
    if not low <= value <= high:
        return False
    if grid.startswith("step:") and _is_grid(grid, low, high):
        steps = value / float(grid.removeprefix("step:"))
        return abs(steps - round(steps)) < 1e-6
    return any(math.isclose(value, float(g)) for g in grid.split(";")) if grid and _is_grid(grid, low, high) else True


def _is_grid(grid: str, low: float, high: float) -> bool:
    if not grid:
        return math.isnan(low) and math.isnan(high)
    try:
        if grid.startswith("step:"):
            return 0 < float(grid.removeprefix("step:")) < math.inf and low < high
        values = [float(g) for g in grid.split(";")]
    except ValueError:
        return False
    return values == sorted(set(values)) and low <= values[0] and values[-1] <= high


def _sourced(t: pd.DataFrame) -> pd.Series:
    return (t["basis"] == ASSUMED) | t["source_url"].str.match(r"https?://\S+$")


def profile_value(t: pd.DataFrame) -> pd.Series:
    value = pd.to_numeric(t["value"], errors="coerce")
    number = value.between(t["low"].fillna(-math.inf), t["high"].fillna(math.inf)) & (value.abs() < math.inf)
    return number.where(t["field"] != "task_family", t["value"].isin(TASK_FAMILY.choices))


def same_group(t: pd.DataFrame) -> pd.Series:
    group = t["reference"].map(dict(zip(t["id"], t["compare_group"], strict=True)))
    return (group == t["compare_group"]) | group.isna()


def ttft_with_basis(t: pd.DataFrame) -> pd.Series:
    return t["ttft_s"].isna() == (t["ttft_basis"] == "")


SOURCED = ("source_url", "an address (only assumed values may do without)", _sourced)
