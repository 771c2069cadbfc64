"""The chart adapter under AppTest, and the bundle it needs."""

import base64
import json
import logging

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from fastmode.ui.chart import chart
from fastmode.ui.plotly_bundle import FILE_NAME, ensure_bundle, installed_bundle


def script() -> None:
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from fastmode.ui.chart import chart

    slope = st.slider("Slope", 1, 9, 2, key="slope")
    line = {"type": "scatter", "x": np.arange(3.0), "y": np.array([0.0, np.nan, 2.0 * slope])}
    chart(go.Figure(data=[line]), key="first", alt=f"Rises by {slope}", height=400)
    narrow = {"xaxis": {"domain": np.array([0.0, 0.5])}, "annotations": []}
    chart(go.Figure(data=[line]), key="second", alt="Again", height=300, height_narrow=450, narrow=narrow)


def payloads(at: AppTest) -> list[dict]:
    """What each chart of the page was given; `figure` is Plotly's JSON as text."""
    return [json.loads(element.proto.json) for element in at.get("bidi_component")]


def test_charts_are_in_the_tree_with_figure_and_alternative():
    at = AppTest.from_function(script).run()
    assert not at.exception
    first, second = payloads(at)
    assert (first["key"], first["alt"], first["height"], first["heightNarrow"]) == ("first", "Rises by 2", 400, 400)
    assert (second["key"], second["height"], second["heightNarrow"]) == ("second", 300, 450)
    assert first["narrow"] == {}
    assert second["narrow"] == {"xaxis": {"domain": [0.0, 0.5]}, "annotations": []}
    trace = json.loads(first["figure"])["data"][0]
    assert trace["type"] == "scatter"


def test_new_data_reach_the_same_element():
    at = AppTest.from_function(script).run()
    before = at.get("bidi_component")[0].proto.id
    at.slider(key="slope").set_value(3).run()
    assert not at.exception
    assert at.get("bidi_component")[0].proto.id == before
    assert payloads(at)[0]["alt"] == "Rises by 3"


def test_figure_of_the_payload_is_complete_json():
    at = AppTest.from_function(script).run()
    y = json.loads(payloads(at)[0]["figure"], parse_constant=pytest.fail)["data"][0]["y"]
    assert decoded(y) == [0.0, None, 4.0]


def decoded(values) -> list:
    """Numbers of a trace, packed or not; a missing one is None."""
    if isinstance(values, dict):
        numbers = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
        return [None if np.isnan(number) else float(number) for number in numbers]
    return values


def test_key_that_is_no_css_name_is_refused():
    with pytest.raises(ValueError, match="'two words'"):
        chart(go.Figure(), key="two words", alt="", height=100)


@pytest.mark.parametrize(
    ("base", "expected"), [("", "/app/static/plotly.min.js"), ("fast/mode", "/fast/mode/app/static/plotly.min.js")]
)
def test_bundle_address_starts_at_the_servers_root(monkeypatch, base, expected):
    import streamlit as st

    original = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: base if name == "server.baseUrlPath" else original(name))
    at = AppTest.from_function(script).run()
    assert payloads(at)[0]["bundle"].split("?")[0] == expected


def test_bundle_is_copied_once_and_replaced_when_it_differs(tmp_path):
    target = tmp_path / "static" / FILE_NAME
    assert ensure_bundle(target.parent)
    assert target.read_bytes() == installed_bundle().read_bytes()
    written = target.stat().st_mtime_ns
    assert ensure_bundle(target.parent)
    assert target.stat().st_mtime_ns == written
    target.write_text("older")
    assert ensure_bundle(target.parent)
    assert target.stat().st_size == installed_bundle().stat().st_size
    assert [path.name for path in target.parent.iterdir()] == [FILE_NAME]


def test_folder_that_cannot_be_made_is_reported(tmp_path, caplog):
    blocked = tmp_path / "static"
    blocked.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert ensure_bundle(blocked) is False
    assert "charts cannot be drawn" in caplog.text
