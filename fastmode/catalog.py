"""Facts of data/*.csv as checked tables.

`load()` reads every file once and refuses the whole catalogue, naming file, row and column, when a fact has no source,
a key occurs twice, a number is not a number or lies outside what its unit allows, or a reference points nowhere.
What a file must look like is declared in catalog_tables, catalog_measured and catalog_people; adding a chip, a model or an endpoint is
one row and no code.
"""

import csv
import math
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from fastmode import catalog_tables
from fastmode.catalog_measured import MEASURED_JOINS, MEASURED_TABLES
from fastmode.catalog_people import PEOPLE_JOINS, PEOPLE_TABLES
from fastmode.catalog_schema import TEXT, Column, Join, Table, takes

TABLES = catalog_tables.TABLES | MEASURED_TABLES | PEOPLE_TABLES
JOINS = catalog_tables.JOINS + MEASURED_JOINS + PEOPLE_JOINS
DATA_DIR = Path(__file__).resolve().parent.parent / "data"
MAX_PROBLEMS = 20


class CatalogError(ValueError):
    """Data that cannot be used. `problems` holds up to 20 lines "data/FILE, row R, column C: expected ..., got ..."."""

    def __init__(self, problems: list[str], total: int | None = None):
        self.problems = problems
        more = (total or len(problems)) - len(problems)
        super().__init__("\n".join(problems) + (f"\n... and {more} more" if more else ""))


@dataclass(frozen=True, eq=False)
class Catalog:
    """The checked tables. Shared by everyone who asks for the same folder: copy before changing one.

    Numeric columns are float64 with NaN for an empty cell, text columns are str with "". `models`, `hardware`,
    `endpoints`, `presets`, `profiles` and `claims` are indexed by `id`; `assumptions` and `serving_constants` by
    `name`. `assumptions.default`, `profile_values.value` and `strategies.value` are text, since some are words.
    """

    path: Path
    models: pd.DataFrame
    hardware: pd.DataFrame
    hardware_prices: pd.DataFrame
    endpoints: pd.DataFrame
    presets: pd.DataFrame
    profiles: pd.DataFrame
    profile_values: pd.DataFrame
    assumptions: pd.DataFrame
    serving_constants: pd.DataFrame
    link_schema: pd.DataFrame
    disputed_facts: pd.DataFrame
    events: pd.DataFrame
    quality_pairs: pd.DataFrame
    quality_fit: pd.DataFrame
    quality_tier_steps: pd.DataFrame
    human_time: pd.DataFrame
    strategies: pd.DataFrame
    claims: pd.DataFrame
    sources: pd.DataFrame
    accept_length: pd.DataFrame
    measured: pd.DataFrame
    measured_suspects: pd.DataFrame
    calibration_priors: pd.DataFrame
    calibration_errors: pd.DataFrame
    calibration_left_out: pd.DataFrame
    calibration_sram: pd.DataFrame
    calibration_sram_points: pd.DataFrame
    sram_points: pd.DataFrame
    assumption_sets: pd.DataFrame
    field_trials: pd.DataFrame
    quantisation: pd.DataFrame


@dataclass
class _Check:
    """Collects what is wrong while the files of one folder are read."""

    folder: Path
    problems: list[str] = field(default_factory=list)

    def say(self, table: str, message: str, row: int | None = None, column: str | None = None) -> None:
        where = f"{self.folder.name}/{table}.csv" + (f", row {row}" if row else "")
        self.problems.append(where + (f", column {column}" if column else "") + f": {message}")

    def cell(self, table: str, row: int, column: str, expected: str, got: str) -> None:
        self.say(table, f"expected {expected}, got " + (repr(got) if got else "nothing"), row, column)

    def read(self, name: str, spec: Table) -> tuple[list[int], dict[str, list[str]]] | None:
        """Row numbers of the file (header = 1) and its stripped cells by column; None when unusable."""
        path = self.folder / f"{name}.csv"
        try:
            raw = path.read_bytes()
            text = raw.decode("utf-8-sig")
            records = list(csv.reader(StringIO(text, newline=""), strict=True))
        except UnicodeDecodeError as error:
            return self.say(name, "is not UTF-8 text", raw.count(b"\n", 0, error.start) + 1)
        except csv.Error as error:
            return self.say(name, f"cannot be read as CSV ({error})")
        except OSError as error:
            return self.say(name, f"cannot be read ({error.strerror})")
        header = [cell.strip() for cell in records[0]] if records else []
        if not any(header):
            return self.say(name, "the file is empty")
        found = len(self.problems)
        for column in dict.fromkeys(header):
            if header.count(column) > 1:
                self.say(name, "the column occurs twice", 1, column)
        for column in spec.columns:
            if column not in header:
                self.say(name, "the column is missing", 1, column)
        rows = [number for number, record in enumerate(records, 1) if number > 1 and any(map(str.strip, record))]
        if not rows:
            self.say(name, "has a header but no rows")
        for number in rows:
            if len(records[number - 1]) != len(header):
                self.say(name, f"expected {len(header)} cells, got {len(records[number - 1])}", number)
        if len(self.problems) > found:
            return None
        cells = ([records[number - 1][i].strip() for number in rows] for i in range(len(header)))
        return rows, dict(zip(header, cells, strict=True))

    def convert(self, name: str, column: str, spec: Column, rows: list[int], cells: list[str]) -> pd.Series:
        """One column as float64 or str; cells that break its rule are reported and become empty."""
        if spec.numeric:
            values = np.full(len(cells), np.nan)
            for i, cell in enumerate(cells):
                try:
                    values[i] = float(cell) if cell else np.nan
                except ValueError:
                    pass
            # A number with an underscore or in non-Latin digits is a typing error even though Python reads it.
            right = np.array([cell.isascii() and "_" not in cell for cell in cells], dtype=bool)
            with np.errstate(invalid="ignore"):
                right &= (values >= spec.low) & (values <= spec.high)
            result = pd.Series(np.where(right, values, np.nan))
        else:
            right = np.ones(len(cells), dtype=bool)
            if spec.choices:
                right = np.array([cell in spec.choices for cell in cells], dtype=bool)
            elif spec.pattern:
                right = np.array([bool(spec.pattern.fullmatch(cell)) for cell in cells], dtype=bool)
            result = pd.Series(cells, dtype="str")
        empty = np.array([not cell for cell in cells], dtype=bool)
        right = np.where(empty, not spec.required, right)
        for i in np.flatnonzero(~right):
            self.cell(name, rows[i], column, spec.expected, cells[i])
        return result

    def table(self, name: str, spec: Table) -> pd.DataFrame | None:
        """The file as a table whose index is the row number in the file."""
        content = self.read(name, spec)
        if content is None:
            return None
        rows, cells = content
        found = len(self.problems)
        columns = {c: self.convert(name, c, spec.columns.get(c, TEXT), rows, cells[c]) for c in cells}
        frame = pd.DataFrame(columns)
        frame.index = pd.Index(rows, dtype="int64")
        for key in filter(None, (spec.key, *((column,) for column in spec.unique))):
            for row in frame.index[frame.duplicated(list(key))]:
                value = ", ".join(str(frame.at[row, column]) for column in key)
                self.say(name, f"{value!r} occurs twice", row, key[-1] if len(key) == 1 else " + ".join(key))
        if len(self.problems) > found:
            return frame  # rules between columns would only repeat what is already reported
        for group in spec.ordered:
            for i, left in enumerate(group):
                for right in group[i + 1 :]:
                    for row in frame.index[frame[left] > frame[right]]:
                        self.cell(
                            name, row, left, f"at most {right} ({frame.at[row, right]:g})", f"{frame.at[row, left]:g}"
                        )
        for column, expected, is_right in spec.rules if len(frame) else ():
            for row in frame.index[~is_right(frame)]:
                value = frame.at[row, column]
                self.cell(name, row, column, expected, value if isinstance(value, str) else f"{value:g}")
        return frame

    def join(self, tables: dict[str, pd.DataFrame | None], join: Join) -> None:
        left, right = tables[join.table], tables[join.target]
        if left is None or right is None:
            return
        known = set(right[join.target_column])
        for row, cell in left[join.column].items():
            for value in cell.split(";") if join.many else [cell]:
                if cell and value not in known and value != join.otherwise:
                    self.cell(join.table, row, join.column, f"a known {join.target_column} of {join.target}.csv", value)

    def on_grids(self, tables: dict[str, pd.DataFrame | None]) -> None:
        """Values of presets and profiles are values their fields can take: a link must be able to carry them."""
        fields, presets, profiles = (tables[name] for name in ("assumptions", "presets", "profile_values"))
        if fields is None:
            return
        limits = fields.set_index("name")
        if presets is not None:
            for column in presets.columns.intersection(limits.index):
                if presets[column].dtype.kind == "f":
                    for row, value in presets[column].dropna().items():
                        self._on_grid("presets", row, column, value, limits.loc[column])
        if profiles is not None:
            values = pd.to_numeric(profiles["value"], errors="coerce")
            for row, field in profiles["field"].items():
                if field in limits.index and math.isfinite(values[row]):
                    self._on_grid("profile_values", row, "value", values[row], limits.loc[field])

    def _on_grid(self, table: str, row: int, column: str, value: float, field: pd.Series) -> None:
        if not takes(field["grid"], field["min"], field["max"], value):
            expected = f"between {field['min']:g} and {field['max']:g} on the grid {field['grid']} of assumptions.csv"
            self.cell(table, row, column, expected, f"{value:g}")


def _complete_sources(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """sources.csv plus one row for every address a fact cites that it does not list yet, so that one row is enough
    to add a fact; its title is then the fact's own source note."""
    sources = tables["sources"]
    known = set(sources["url"])
    extra = {}
    for name, spec in TABLES.items():
        for column in [c for c, s in spec.columns.items() if s.is_url or c == "source_url"]:
            frame = tables[name]
            notes = frame["source_note"] if "source_note" in frame else [""] * len(frame)
            for url, note in zip(frame[column], notes, strict=True):
                if url.startswith("http") and url not in known:
                    extra.setdefault(url, note or url)
    if not extra:
        return sources
    rows = {
        "id": [f"unlisted-{i}" for i in range(1, len(extra) + 1)],
        "url": list(extra),
        "publisher": [urlsplit(url).netloc.removeprefix("www.") for url in extra],
        "title": list(extra.values()),
        "kind": ["unlisted"] * len(extra),
        "license_note": [""] * len(extra),
    }
    return pd.concat([sources, pd.DataFrame(rows, dtype="str")], ignore_index=True)


@lru_cache(maxsize=8)
def load(path: Path | str = DATA_DIR) -> Catalog:
    """Read and check every table of the folder `path`.

    Raises CatalogError with the first 20 problems, each naming file, row (header = row 1) and column. The result is
    shared between callers and must not be changed in place.
    """
    check = _Check(Path(path).resolve())
    tables = {name: check.table(name, spec) for name, spec in TABLES.items()}
    for join in JOINS:
        check.join(tables, join)
    check.on_grids(tables)
    if check.problems:
        raise CatalogError(check.problems[:MAX_PROBLEMS], len(check.problems))
    tables["sources"] = _complete_sources(tables)
    for name, spec in TABLES.items():
        tables[name] = tables[name].set_index(spec.index) if spec.index else tables[name].reset_index(drop=True)
    return Catalog(path=check.folder, **tables)
