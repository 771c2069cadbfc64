"""The figure of the tiers of memory."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.labels import least_width
from fastmode.charts.memory_tiers import HEIGHT, HEIGHT_NARROW, bytes_text, memory_tiers_figure, time_text
from fastmode.evaluate import evaluate
from fastmode.memory_tiers import memory_tiers

CATALOG = load()


def tiers(all_hardware=True, **changes):
    return memory_tiers(evaluate(replace(scenarios.default(CATALOG), **changes), CATALOG), all_hardware)


def traces(figure, meta):
    return [trace for trace in figure.data if trace.meta == meta]


def boxes(layout, size_px, narrow=False):
    """Rectangles of the texts in the figure, px from the lower left corner."""
    width, height = size_px[0] - layout["margin"]["l"] - layout["margin"]["r"], size_px[1] - layout["margin"]["t"] - layout["margin"]["b"]
    made = []
    for note in layout["annotations"]:
        if note["name"] == "key":
            continue
        rows = note["text"].replace("<b>", "").replace("</b>", "").split("<br>")
        size = note["font"]["size"]
        led = note["showarrow"]
        x = note["x"] * width + (note["ax"] if led else note["xshift"])
        y = note["y"] * height + (-note["ay"] if led else note["yshift"])
        made.append(theme.Box.around(x, y, max(theme.text_width_px(row, size) for row in rows), 1.3 * size * len(rows)))
    return made, width, height


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_plotly_accepts_the_figure(mode):
    figure, narrow = memory_tiers_figure(tiers(), "GLM-4.7", mode, scale=1.3)
    checked = go.Figure(json.loads(figure.to_json()))
    checked.update_layout(narrow)
    assert len(checked.data) == len(figure.data)


def test_every_part_is_one_mark_at_its_memory_and_bandwidth():
    figure, _narrow = memory_tiers_figure(tiers(), "GLM-4.7", "light")
    marks = [t for name in ("others", "announced", "scenario", "reference") for t in traces(figure, name)]
    x, y = (np.concatenate([np.asarray(t[axis], float) for t in marks]) for axis in "xy")
    assert sorted(x) == pytest.approx(sorted(CATALOG.hardware["memory_gb"]))
    assert sorted(y) == pytest.approx(sorted(CATALOG.hardware["memory_bw_tb_s"]))
    (own,), (other,) = traces(figure, "scenario"), traces(figure, "reference")
    assert (own["x"][0], own["y"][0]) == pytest.approx((44, 21000)) and own["marker"]["color"] == theme.palette("light").scenario
    assert "23 chips" in own["hovertext"][0] and "2.1" in own["hovertext"][0]
    assert other["x"][0] == pytest.approx(180) and other["marker"]["color"] == theme.palette("light").reference
    (hidden,) = traces(figure, "announced")
    assert hidden["marker"]["symbol"] == "diamond-open" and any("cannot be linked" in text for text in hidden["hovertext"])


def test_sram_of_chips_with_main_memory_is_small_and_hollow():
    figure, _narrow = memory_tiers_figure(tiers(), "GLM-4.7", "light")
    (cache,) = traces(figure, "cache")
    known = CATALOG.hardware[(CATALOG.hardware["memory_kind"] != "SRAM")][["onchip_sram_mb", "onchip_sram_bw_tb_s"]].dropna()
    assert sorted(cache["x"]) == pytest.approx(sorted(known["onchip_sram_mb"] / 1000)) and len(known) > 3
    assert cache["marker"]["symbol"] == "circle-open" and cache["marker"]["size"] < 9


def test_slanted_lines_read_all_memory_in_their_time_and_the_upright_is_what_the_model_takes():
    t = tiers()
    figure, _narrow = memory_tiers_figure(t, "GLM-4.7", "light")
    (line,) = traces(figure, "read:0.01")
    assert np.asarray(line["x"]) / np.asarray(line["y"]) == pytest.approx(10)  # GB over TB/s is ms
    (upright,) = traces(figure, "needed")
    assert upright["x"] == pytest.approx(np.full(2, t.needed_bytes / 1e9)) and t.needed_bytes > 710e9


def test_axes_are_fixed_and_parts_not_on_sale_may_be_left_out():
    few, many = (memory_tiers_figure(tiers(everything), "GLM-4.7", "light")[0] for everything in (False, True))
    assert few.layout.xaxis.range == many.layout.xaxis.range and few.layout.yaxis.range == many.layout.yaxis.range
    assert not traces(few, "announced")
    assert 10 ** few.layout.xaxis.range[0] < 0.05 and 10 ** few.layout.yaxis.range[1] > 21000


@pytest.mark.parametrize("preset", ["gpt-5.3-codex-spark", "opus-4.6-fast", "llama-3.1-8b-groq"])
@pytest.mark.parametrize("everything", [False, True])
def test_no_text_covers_another(preset, everything):
    t = tiers(everything, **scenarios.expand_preset(preset, CATALOG))
    figure, narrow = memory_tiers_figure(t, "GLM-4.7", "light")
    for layout, size in ((figure.layout.to_plotly_json(), (least_width(1.0), HEIGHT)), (narrow, (theme.NARROWEST_PX, HEIGHT_NARROW))):
        texts, width, height = boxes(layout, size)
        assert len(texts) > 8
        for i, box in enumerate(texts):
            assert box.left >= -1 and box.right <= width + 1 and box.bottom >= -1 and box.top <= height + 1
            assert not any(box.overlaps(other) for other in texts[:i])


def test_times_and_bytes_as_text():
    assert [time_text(t) for t in (2.1e-6, 9.996e-4, 0.0234, 1.5)] == ["2.1 \u00b5s", "1 ms", "23.4 ms", "1.5 s"]
    assert [bytes_text(b) for b in (40e6, 16.06e9, 1.06e12)] == ["40 MB", "16.1 GB", "1.06 TB"]
