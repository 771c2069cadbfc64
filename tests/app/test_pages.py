"""Every page under AppTest: all options and tasks, links that cannot be used as written, broken data."""

import csv
import shutil
from urllib.parse import urlencode

import pytest

from fastmode import catalog, link
from fastmode.ui import frame, state, view
from tests.app.test_cards import CARDS, changed_keys, expected, html_texts, move, shown, start, verdict

PRESETS = list(catalog.load().presets.index)
TASKS = list(catalog.load().profiles.index)
PAGES = [page for page in frame.PAGES if page not in view.TABS and page not in state.SERVING_PAGES]  # with cards; the others have files of their own
NOTICE = "Not used from this link: "


def notices(at) -> list[str]:
    """The lines that say what of the link was ignored."""
    return [text.value for text in at.text if text.value.startswith(NOTICE)]


def test_the_pages_of_the_navigation_are_those_of_the_folder(root):
    assert sorted(script for script, _title, _head in frame.PAGES.values()) == sorted(
        f"pages/{path.name}" for path in (root / "pages").glob("*.py")
    )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_page_shows_every_option_as_the_command_does(preset, page):
    at = start(f"preset={preset}", page)
    assert list(shown(at)) == CARDS
    assert shown(at) == expected(f"preset={preset}")
    assert str(catalog.load().presets.at[preset, "label"]) in verdict(at)
    assert notices(at) == []


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("task", TASKS)
def test_every_page_shows_every_task_as_the_command_does(task, page):
    at = start(f"task={task}", page)
    assert shown(at) == expected(f"task={task}")
    assert f"For {catalog.load().profiles.at[task, 'phrase']}, " in verdict(at)


@pytest.mark.parametrize("axis", ["distillation", "context", "hardware"])
def test_the_x_axis_of_the_curves_changes_no_card(axis):
    at = start(f"x={axis}&b=32", "overview")
    at.switch_page("pages/trade_offs.py").run()
    at.segmented_control(key="x").set_value(axis).run()
    assert not at.exception
    assert shown(at) == expected("b=32")


def test_state_survives_a_change_of_page():
    at = move(start(), "b", 64.0)
    at.switch_page("pages/trade_offs.py").run()
    assert changed_keys(at) == {"b": 64.0} and shown(at) == expected("b=64")
    move(at, "r", 10.0)
    at.switch_page("pages/overview.py").run()
    assert changed_keys(at) == {"b": 64.0, "r": 10.0} and shown(at) == expected("b=64&r=10")


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_handmade_link_becomes_the_one_the_app_writes():
    at = start("batch_size=64&hardware=b200_sxm&fix_time_s=300&preset=gpt-5.3-codex-spark")
    assert at.query_params == {"b": "64", "hw": "B200", "fx": "5 min"}
    assert notices(at) == []
    assert shown(at) == expected("b=64&hw=B200&fx=300")


@pytest.mark.parametrize("page", PAGES)
def test_bad_values_give_one_notice_and_the_defaults_elsewhere(page):
    at = start("b=9999&hw=abacus&r=abc&zzz=1&w=150", page)
    assert len(notices(at)) == 1
    for named in ("b=9999 (", "hw=abacus (", "r=abc (", "zzz=1 (unknown key)"):
        assert named in notices(at)[0]
    assert "w=150" not in notices(at)[0]
    assert changed_keys(at) == {"w": 150.0}
    assert shown(at) == expected("w=150")
    assert not at.error and not at.warning


def test_a_value_off_the_grid_becomes_the_nearest_and_is_named():
    at = start("b=63")
    assert notices(at) == [NOTICE + "b=63 (not on the grid; used 64)"]
    assert changed_keys(at) == {"b": 64.0} and shown(at) == expected("b=64")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "", " ", "1e999", "-1", "0", "1,5", "٣٣٣x", "16;32"])
def test_unusable_numbers_leave_the_default(value):
    at = start(urlencode({"b": value}))
    assert changed_keys(at) == {}
    assert len(notices(at)) == 1 and shown(at) == expected("")


def test_a_key_given_twice_is_named_and_the_last_one_stands():
    at = start("b=32&b=64")
    assert len(notices(at)) == 1 and "given twice" in notices(at)[0]
    assert changed_keys(at) == {"b": 64.0}


def test_many_bad_values_still_give_one_short_notice():
    at = start(urlencode([(f"bad{i}", "x" * 500) for i in range(40)]))
    assert len(notices(at)) == 1
    assert notices(at)[0].endswith(" and 35 more") and len(notices(at)[0]) < 800


HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[a](javascript:alert(1)) ![b](https://example.org/b.png)",
    "**bold** :red[x] $x^2$ `code`",
    "{0} {n} %s \u202e\u0000",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_of_a_link_are_shown_as_plain_text(text):
    at = start(urlencode({"hw": text, text: "1"}))
    scenario, ignored = link.from_query({"hw": text, text: "1"})
    assert len(notices(at)) == 1  # st.text: neither Markdown nor HTML
    assert all(f"{item.key}={item.value}" in notices(at)[0] for item in ignored) and len(ignored) == 2
    others = [*html_texts(at), *(e.value for e in (*at.markdown, *at.caption, *at.code))]
    assert not any(text in other for other in others)
    assert changed_keys(at) == {} and shown(at) == expected("")


# --- broken data ------------------------------------------------------------------------------------------------------


def broken_copy(folder, file: str, row: int, column: str, value: str):
    """A copy of data/ with one cell overwritten; rows count from 1 for the header."""
    shutil.copytree(catalog.DATA_DIR, folder)
    path = folder / file
    with path.open(encoding="utf-8", newline="") as source:
        records = list(csv.reader(source))
    records[row - 1][records[0].index(column)] = value
    with path.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(records)
    return folder


@pytest.mark.parametrize(
    ("file", "row", "column", "value"),
    [("assumptions.csv", 5, "default", "sixteen"), ("presets.csv", 3, "batch_size", "-4"), ("endpoints.csv", 2, "output_usd_per_mtok", "a lot")],
)  # fmt: skip
def test_a_broken_data_file_stops_the_app_with_file_row_and_column(tmp_path, monkeypatch, file, row, column, value):
    folder = broken_copy(tmp_path / "data", file, row, column, value)
    monkeypatch.setattr(frame, "load", lambda: catalog.load(folder))
    at = start()  # no exception, so no traceback
    assert len(at.error) == 1
    assert len(at.code) == 1
    assert at.code[0].value.startswith(f"data/{file}, row {row}, column {column}: expected ")
    assert value in at.code[0].value
    assert shown(at) == {} and not at.sidebar.children
    said = at.error[0].value + at.code[0].value
    assert "Traceback" not in said and str(tmp_path) not in said
