"""The figure of the rooflines."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.roofline import roofline_figure
from fastmode.evaluate import evaluate
from fastmode.roofline import roofs

CATALOG = load()


def found(preset="gpt-5.3-codex-spark", **changes):
    fields = scenarios.expand_preset(preset, CATALOG)
    return roofs(evaluate(replace(scenarios.default(CATALOG), **fields | changes), CATALOG))


def trace(figure, meta):
    (one,) = (trace for trace in figure.data if trace.meta == meta)
    return one


def numbers(values):
    return np.asarray(values, float)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_plotly_accepts_the_figure(mode):
    figure, narrow = roofline_figure(found(), mode, scale=1.3)
    checked = go.Figure(json.loads(figure.to_json()))
    checked.update_layout(narrow)
    assert len(checked.data) == len(figure.data) == 10


def test_the_roof_breaks_at_the_ridge():
    gpu = found()[1]
    figure, _narrow = roofline_figure(found(), "light")
    roof = trace(figure, "reference:roof")
    x, y = numbers(roof["x"]), numbers(roof["y"])
    assert x[1] == pytest.approx(4500 / 7.7) and y[1:] == pytest.approx(4500)
    assert y[0] == pytest.approx(7.7 * x[0])
    ridge = trace(figure, "reference:ridge")
    assert (ridge["x"][0], ridge["y"][0]) == pytest.approx((gpu.ridge, 4500)) and ridge["marker"]["symbol"] == "diamond"


def test_decode_prefill_and_own_marks_are_those_of_the_model():
    wafer, gpu = found()
    figure, _narrow = roofline_figure([wafer, gpu], "light")
    decode = trace(figure, "reference:decode")
    drawn = np.isfinite(gpu.attained)
    assert numbers(decode["x"]) == pytest.approx(gpu.intensity[drawn]) and numbers(decode["y"]) == pytest.approx(gpu.attained[drawn] / 1e12)
    whiskers = decode["error_y"]
    assert numbers(decode["y"]) + numbers(whiskers["array"]) == pytest.approx(gpu.high[drawn] / 1e12)
    assert numbers(decode["y"]) - numbers(whiskers["arrayminus"]) == pytest.approx(gpu.low[drawn] / 1e12)
    own, prefill = trace(figure, "scenario:own"), trace(figure, "scenario:prefill")
    assert (own["x"][0], own["y"][0]) == pytest.approx((wafer.own_intensity, wafer.own_attained / 1e12))
    assert prefill["marker"]["symbol"] == "square" and prefill["y"][0] == pytest.approx(wafer.prefill_attained / 1e12)
    assert own["marker"]["color"] == theme.palette("light").scenario and decode["marker"]["color"] == theme.palette("light").reference


def test_ridges_and_batches_are_named_once():
    figure, narrow = roofline_figure(found(), "light")
    wide = figure.layout.to_plotly_json()
    for layout, named in ((wide, ("WSE-3 ridge: 0.714 FLOP/byte", "B200 ridge: 584 FLOP/byte")), (narrow, ("ridge: 0.714", "ridge: 584"))):
        texts = [note["text"] for note in layout["annotations"] if note["name"] == "at"]
        assert all(any(name in text for text in texts) for name in named)
        assert texts.count("<b>64</b>") == 1 and "<b>256</b>" not in texts  # 256 do not fit


def test_axes_are_fixed():
    one, two = (roofline_figure(found(preset), "dark")[0] for preset in ("opus-4.6-fast", "llama-3.1-8b-groq"))
    assert one.layout.xaxis.range == two.layout.xaxis.range and one.layout.yaxis.range == two.layout.yaxis.range
    assert not [t for t in one.data if t.meta.startswith("reference")]
