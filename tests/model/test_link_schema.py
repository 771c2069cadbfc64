"""Keys, labels and defaults of links are frozen: a shared link must open the same picture in every later release.

New rows and new labels may be added (`python -m tests.model.test_link_schema` appends them to data/link_schema.csv); an
existing row may not change. A changed default or meaning needs a new key.
"""

import csv
from pathlib import Path

import pytest

from fastmode.link import UNUSABLE, parse
from fastmode.scenario import all_fields

FILE = Path(__file__).parents[2] / "data" / "link_schema.csv"
COLUMNS = ("key", "name", "kind", "default", "labels", "values")
FIELDS = all_fields()


def row_of(field) -> dict[str, str]:
    """What a field is in links today; `values` are what its labels stand for, in the same order."""
    pairs = field.choices or [(f"{g:g}", field.text(g)) for g in field.grid]
    return {
        "key": field.key, "name": field.name, "kind": field.kind, "default": field.text(field.default),
        "labels": ";".join(label for _value, label in pairs), "values": ";".join(value for value, _label in pairs),
    }  # fmt: skip


def frozen() -> list[dict[str, str]]:
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def meanings(row: dict[str, str]) -> dict[str, str]:
    return dict(zip(row["labels"].split(";"), row["values"].split(";"), strict=True))


def test_the_file_has_one_row_a_key():
    rows = frozen()
    assert tuple(rows[0]) == COLUMNS
    assert len({row["key"] for row in rows}) == len(rows) == len({row["name"] for row in rows})


def test_every_field_is_frozen():
    assert set(FIELDS) - {row["name"] for row in frozen()} == set(), "append the new rows to data/link_schema.csv"


@pytest.mark.parametrize("row", frozen(), ids=lambda row: row["key"])
def test_a_frozen_key_means_what_it_meant(row):
    today = row_of(FIELDS[row["name"]])
    assert {c: today[c] for c in COLUMNS[:4]} == {c: row[c] for c in COLUMNS[:4]}
    then, now = meanings(row), meanings(today)
    assert {label: now.get(label) for label in then} == then


@pytest.mark.parametrize("row", [row for row in frozen() if row["labels"]], ids=lambda row: row["key"])
def test_every_frozen_label_and_value_is_still_read(row):
    field = FIELDS[row["name"]]
    for label, value in meanings(row).items():
        wanted = value if field.kind == "choice" else float(value)
        assert parse(field, label) == (wanted, "") and parse(field, value) == (wanted, "")


@pytest.mark.parametrize("row", frozen(), ids=lambda row: row["key"])
def test_every_frozen_default_is_read_as_the_default(row):
    value, reason = parse(FIELDS[row["name"]], row["default"])
    assert value is not UNUSABLE and (value, reason) == (FIELDS[row["name"]].default, "")


def test_no_label_holds_the_separator():
    for field in FIELDS.values():
        assert not [label for _id, label in field.choices if ";" in label], field.name


def append() -> None:
    """Add what is new to the file; what is frozen stays as it is."""
    rows = {row["name"]: row for row in frozen()}
    for name, field in FIELDS.items():
        today = row_of(field)
        if name not in rows:
            rows[name] = today
        elif today["labels"]:
            merged = meanings(today) | meanings(rows[name])
            rows[name] |= {"labels": ";".join(merged), "values": ";".join(merged.values())}
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


if __name__ == "__main__":
    append()
