"""The Evidence page under AppTest: its figures against the command it prints, its tabs, filters and links."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog, link, validation
from fastmode.claims import claims_table
from fastmode.cli import main
from fastmode.format import number, quantity, share
from fastmode.scenario import all_fields, default
from fastmode.ui import view
from fastmode.validation import View
from tests.app.test_cards import changed_keys, html_texts, move, start
from tests.app.test_pages import PRESETS, notices

CATALOG = catalog.load()
TOTALS = ["all rows", "cells equal", "median over groups"]
PERCENT = ("median", "p90", "bias", "coverage90")
INFERENCEX = "aiconfigurator+silicon_sample+(InferenceX%2FInferenceMAX+dump)"


@pytest.fixture
def left_out():
    """Left-out predictions made for the test: as far off as their way of leaving out says, with a band half as wide again."""
    rows = CATALOG.measured[(CATALOG.measured["model_id"] != "") & (CATALOG.measured["hardware_id"] != "")]
    parts = []
    for way, factor in (("hardware", 1.2), ("model", 0.9), ("engine", 1.4), ("source", 2.0)):
        for what in ("tpot", "ttft"):
            middle = factor * rows[f"{what}_ms"]
            columns = {
                f"{what}_ms": middle,
                f"{what}_ms_low": middle / 1.5,
                f"{what}_ms_high": middle * 1.5,
            }
            parts.append(rows[["row_id"]].assign(left_out=way, **columns).set_index(["row_id", "left_out"]))
    table = pd.concat(parts[::2]).join(pd.concat(parts[1::2])).reset_index()
    shown = catalog.load()  # what the page reads, also where another test has had it loaded anew
    before = shown.calibration_left_out

    def put(with_table):
        object.__setattr__(shown, "calibration_left_out", with_table)
        validation._beside.cache_clear()
        validation._report.cache_clear()

    put(table)
    yield table
    put(before)


def evidence(query: str = "", tab: str = "Validation"):
    """The page opened with a link on one of its tabs."""
    return start("&".join(part for part in (f"tab={tab}" if tab != "Claims" else "", query) if part), "evidence")


def texts(at) -> list[str]:
    return [html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\u00a0", " ") for text in html_texts(at)]


def tables(at) -> list[pd.DataFrame]:
    return [frame.value for frame in at.main.dataframe]


def commands(at) -> list[str]:
    return [code.value for code in at.main.code if code.value.startswith("python -m fastmode")]


def printed(capsys, command: str) -> dict:
    """What a command of the page prints."""
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "fastmode", "validate"]
    capsys.readouterr()
    assert main(words[3:]) == 0
    return json.loads(capsys.readouterr().out)


def charts(at) -> list[dict]:
    payloads = [json.loads(element.proto.json or "null") for element in at.main.get("bidi_component")]
    return [payload for payload in payloads if payload and payload.get("key")]


# --- every number is that of the command --------------------------------------------------------------------------------

VIEWS = ["", "vq=TTFT&vb=model", "vh=H100&ve=vllm&vb=source", f"vs={INFERENCEX}&vx=without+suspects&vb=engine", "vo=hardware", "vo=source&vq=TTFT&vb=model", "vo=engine&vx=only+suspects"]  # fmt: skip


@pytest.mark.parametrize("query", VIEWS)
def test_the_error_tables_are_what_the_command_beside_them_prints(left_out, capsys, query):
    at = evidence(query)
    document = printed(capsys, commands(at)[0])
    assert document["view"] == vars(validation.from_query(query)[0])
    groups = [row for row in document["errors"] if row["group"] in TOTALS or not row["few"]]
    few = [row for row in document["errors"] if row["few"] and row["group"] not in TOTALS]
    found = [table for table in tables(at) if "p90" in table.columns]
    assert len(found) == 1 + bool(few)
    for table, expected in zip(found, [groups, few], strict=False):
        assert list(table["label"]) == [row["label"] for row in expected]
        for name in ("rows", "cells"):
            assert list(table[name]) == [row[name] for row in expected]
        for name in PERCENT:
            figures = np.array([np.nan if row[name] is None else 100 * row[name] for row in expected])
            if name not in table.columns:
                assert np.isnan(figures).all()
            else:
                assert table[name].to_numpy() == pytest.approx(figures, nan_ok=True)


@pytest.mark.parametrize("query", VIEWS)
def test_the_sentences_are_what_the_command_prints(left_out, capsys, query):
    at = evidence(query)
    document = printed(capsys, commands(at)[0])
    view, other = document["view"]["quantity"], "ttft" if document["view"]["quantity"] == "tpot" else "tpot"
    here, there = document["summary"][view], document["summary"][other]
    first, second = texts(at)[:2]
    assert first.startswith(f"Half of {number(here['rows'], 9)} predictions lie within {share(here['median'])} of the measured {view.upper()}, nine in ten within {share(here['p90'])}; ")  # fmt: skip
    assert second.startswith(f"{other.upper()} of {number(there['rows'], 9)} rows: half within {share(there['median'])}, nine in ten within {share(there['p90'])}.")  # fmt: skip
    once = next(row["median"] for row in document["errors"] if row["group"] == "cells equal")
    assert f"With each deployment counted once, half lie within {share(once)}." in second
    side = "below" if here["bias"] < 0 else "above"
    assert f"The middle prediction is {share(abs(round(here['bias'], 3)))} {side} its measurement." in second
    if here["coverage90"] is not None:
        assert f"{share(here['coverage90'])} of the rows lie within their 90 % band." in second


@pytest.mark.parametrize(
    ("way", "words", "error"),
    [("hardware", "its own hardware was left out", "20 %"), ("model", "its own model was left out", "10 %"), ("source", "its own source was left out", "100 %")],
)  # fmt: skip
def test_what_was_left_out_stands_in_the_sentence(left_out, way, words, error):
    first, second = texts(evidence(f"vo={way}"))[:2]
    assert words in first and f"within {error} of the measured TPOT" in first
    share_inside = {"hardware": "100 %", "model": "100 %", "source": "0 %"}[way]
    assert f"{share_inside} of the rows lie within their 90 % band." in second


def test_without_a_leave_out_the_sentence_says_that_the_rows_were_fitted():
    assert "the constants were fitted to these very rows" in texts(evidence())[0]


def test_the_rows_table_is_what_the_command_writes(tmp_path):
    at = evidence("vh=B300&vx=without+suspects")
    at.session_state["evidence_rows"] = True
    at.run()
    command = next(text for text in commands(at) if text.endswith("-o rows.csv"))
    words = shlex.split(command)[3:]
    words[-1] = str(tmp_path / "rows.csv")
    assert main(words) == 0
    written = pd.read_csv(words[-1])
    table = next(table for table in tables(at) if "path" in table.columns and len(table) > 8)
    assert len(table) == len(written) > 100
    for name in ("measured_ms", "predicted_ms", "input_tokens", "concurrency"):
        assert table[name].to_numpy() == pytest.approx(written[name].to_numpy())
    assert table["error"].to_numpy() == pytest.approx(100 * written["error"].to_numpy())
    assert list(table["url"]) == list(written["url"]) and table["url"].str.startswith("https://").all()


def test_sram_machines_are_what_the_command_prints(capsys):
    """The sentences and the table of published speeds, as `validate` prints them."""
    at = evidence("vq=ttft")
    found = printed(capsys, commands(at)[-1])["sram"]
    assert [text.value for text in at.main.markdown if text.value in found["sentences"]] == found["sentences"]
    table = next(table for table in tables(at) if "predicted without it" in table.columns)
    assert table["published"].to_list() == [quantity(row["measured"], "tok/s") for row in found["points"]]
    assert table["inside"].to_list() == [row["inside"] == 1 for row in found["points"]]


def test_the_rows_are_not_sent_before_they_are_asked_for():
    assert max(len(table) for table in tables(evidence()) if "measured_ms" in table.columns) < 20


@pytest.mark.parametrize("query", ["", "hw=H100&m=Llama+3.1+70B&b=64&cx=4k&vh=H100", "preset=opus-4.6-fast"])
def test_the_list_near_the_scenario_is_what_its_command_prints(capsys, query):
    at = evidence(query)
    near = printed(capsys, commands(at)[-2])["nearest"]
    table = next(table for table in tables(at) if "path" in table.columns)
    assert table["concurrency"].to_list() == [row["concurrency"] for row in near["rows"]]
    assert table["measured_ms"].to_numpy() == pytest.approx([row["measured_ms"] for row in near["rows"]])
    assert table["error"].to_numpy() == pytest.approx([100 * row["error"] for row in near["rows"]])
    sentence = next(text.value for text in at.main.markdown if "measured " in text.value)
    if near["same_pair"]:
        assert sentence.startswith(f"{near['near_batch']} measured point") and f"of {near['same_pair']} row" in sentence
    else:
        assert sentence.startswith("No measured row of ")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_option_has_its_neighbours(preset):
    at = evidence(f"preset={preset}")
    hardware = str(CATALOG.presets.at[preset, "hardware"])
    sentence = next(text.value for text in at.main.markdown if "measured " in text.value)
    assert str(CATALOG.hardware.at[hardware, "label"]) in sentence
    assert notices(at) == []


def test_parts_without_rows_are_named_and_counted(capsys):
    at = evidence()
    document = printed(capsys, commands(at)[0])["not_validated"]
    caption = next(text.value for text in at.main.caption if text.value.startswith("Not validated"))
    assert ", ".join(document["hardware"]) in caption
    assert f"{len(document['models'])} of {len(CATALOG.models)} models" in caption


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_has_a_mark_a_row_and_says_so_in_words():
    at = evidence("vh=B300")
    (payload,) = charts(at)
    assert payload["key"] == "validation"
    report = validation.report(View(hardware="b300_sxm"))["summary"]["tpot"]
    assert f"of {number(report['rows'], 9)} rows: half lie within {share(report['median'])}" in payload["alt"]
    marks = [trace for trace in json.loads(payload["figure"])["data"] if trace["meta"] == "rows"]
    assert sum(len(trace["text"]) for trace in marks) == report["rows"] == 210


def test_axes_stand_still_while_filters_move():
    ranges = set()
    for query in ("", "vh=MI300X", "ve=sglang&vx=only+suspects"):
        (payload,) = charts(evidence(query))
        ranges.add(json.dumps(json.loads(payload["figure"])["layout"]["xaxis"]["range"]))
    assert len(ranges) == 1


# --- filters and links ------------------------------------------------------------------------------------------------


def test_a_filter_moved_is_the_filter_of_the_link():
    moved, linked = evidence(), evidence("vh=H100&vq=TTFT")
    moved.selectbox(key="vh").set_value("h100_sxm").run()
    moved.segmented_control(key="vq").set_value("ttft").run()
    assert not moved.exception
    assert texts(moved) == texts(linked) and commands(moved) == commands(linked)
    for a, b in zip(tables(moved), tables(linked), strict=True):
        pd.testing.assert_frame_equal(a, b)


def test_filters_leave_the_scenario_alone():
    at = evidence("b=64")
    at.selectbox(key="vm").set_value("qwen3-32b").run()
    assert changed_keys(at) == {"b": 64.0}
    assert 'validate "b=64&vm=Qwen3-32B"' in commands(at)[-2]
    assert commands(move(at, "b", 32.0))[-2].endswith('validate "b=32&vm=Qwen3-32B"')


def test_an_empty_choice_says_so_and_can_be_taken_back():
    at = evidence("vh=MI300X&vm=gpt-oss-120b")
    assert texts(at)[0] == "No measured TPOT among the chosen rows."
    assert charts(at) == [] and tables(at) == []
    at.button(key="evidence_reset").click().run()
    assert not at.exception
    assert at.selectbox(key="vh").value == at.selectbox(key="vm").value == ""
    assert texts(at)[0].startswith("Half of 1\u202f738 predictions") and len(charts(at)) == 1


def test_a_quantity_that_was_not_measured_can_be_taken_back():
    at = evidence("vq=TTFT&vg=A")
    assert texts(at)[0] == "No measured TTFT among the chosen rows."
    assert texts(at)[1].startswith("TPOT of 77 rows")
    at.button(key="evidence_reset").click().run()
    assert texts(at)[0].startswith("Half of 1\u202f738 predictions") and at.segmented_control(key="vq").value == "tpot"


def test_few_rows_are_not_given_a_percentile():
    first = texts(evidence("vh=A100"))[0]
    assert first.startswith("4 measured rows, too few to say more: half of the predictions lie within")
    assert "nine in ten" not in first


def test_ids_in_a_handmade_link_become_labels():
    at = evidence("vh=h100_sxm&vq=ttft&batch_size=64")
    assert at.query_params == {"tab": "Validation", "vh": "H100", "vq": "TTFT", "b": "64"}
    assert notices(at) == []


def test_a_filter_that_does_not_exist_is_named_in_one_line():
    at = evidence("vh=abacus&vq=TTFT&b=9999")
    assert len(notices(at)) == 1
    assert (
        "vh=abacus (not one of the 7 choices" in notices(at)[0]
        and "b=9999" in notices(at)[0]
        and "vq" not in notices(at)[0]
    )
    assert at.selectbox(key="vh").value == "" and at.segmented_control(key="vq").value == "ttft"


def test_all_filters_of_the_page_are_widgets_with_the_keys_of_the_link():
    at = evidence()
    found = {widget.key for widget in (*at.main.selectbox, *at.main.segmented_control)}
    assert found == set(validation.KEYS.values())
    of_others = {"embed", "embed_options", "x", "all", "points", "j", "present", *view.CHOICES, *view.NUMBERS}
    assert set(link.VIEW_KEYS) - of_others == {*found, "tab", "find"}
    assert not found & {field.key for field in all_fields().values()}


# --- tabs -------------------------------------------------------------------------------------------------------------


def test_only_the_open_tab_is_computed(monkeypatch):
    monkeypatch.setattr(validation, "report", lambda *_: pytest.fail("the Validation tab was computed"))
    assert charts(evidence(tab="Claims")) == []
    assert charts(evidence(tab="Sources")) == []


def test_claims_are_those_of_the_command_with_their_counts(tmp_path):
    at = evidence(tab="Claims")
    (table,) = tables(at)
    assert commands(at) == ["python -m fastmode claims -o claims.csv"]
    assert main(["claims", "-o", str(tmp_path / "claims.csv")]) == 0
    written = pd.read_csv(tmp_path / "claims.csv")
    assert list(table["id"]) == list(written["id"]) and list(table["verdict"]) == list(written["verdict"])
    assert table["ours"].to_numpy() == pytest.approx(written["value"].to_numpy(), nan_ok=True)
    assert list(table["basis"]) == list(claims_table()["basis"])
    counts = written["verdict"].value_counts()
    assert texts(at)[0] == f"{len(written)} claims of the founding articles: " + ", ".join(f"{n} {word}" for word, n in counts.items()) + "."  # fmt: skip


def test_sources_are_counted_and_found_by_words():
    at = evidence(tab="Sources")
    assert texts(at)[0] == f"{len(CATALOG.sources)} cited addresses."
    assert len(tables(at)[0]) == len(CATALOG.sources)
    kinds = next(text.value for text in at.main.caption if "repository" in text.value)
    assert f"repository {(CATALOG.sources['kind'] == 'repository').sum()}" in kinds
    at.text_input(key="find").set_value("GITHUB aiconfigurator").run()
    found = tables(at)[0]
    whole = CATALOG.sources[["publisher", "title", "url", "kind"]].agg(" ".join, axis=1).str.lower()
    assert len(found) == (whole.str.contains("github") & whole.str.contains("aiconfigurator")).sum() > 0
    assert list(tables(evidence("find=GITHUB+aiconfigurator", tab="Sources"))[0]["url"]) == list(found["url"])
    at.text_input(key="find").set_value("no such thing <b>").run()
    assert tables(at)[0].empty and not at.exception


@pytest.mark.parametrize("tab", ["Claims", "Validation", "Sources"])
def test_bad_links_give_one_line_on_every_tab(tab):
    at = evidence("b=9999&zzz=1&w=150", tab)
    assert len(notices(at)) == 1 and changed_keys(at) == {"w": 150.0}


def test_the_page_changes_no_scenario():
    at = evidence()
    assert at.session_state["scenario"] == default() and changed_keys(at) == {}
