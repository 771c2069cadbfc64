"""The figures of chips in series and of their links."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.series import case_name, links_figure, series_figure, times
from fastmode.evaluate import evaluate
from fastmode.series import RATIOS, link_sensitivity, machines, series
from fastmode.serving.evidence import HBM, WAFER

CATALOG = load()
SPARK, FAST = "gpt-5.3-codex-spark", "opus-4.6-fast"


def evaluated(preset=SPARK):
    return evaluate(replace(scenarios.default(CATALOG), **scenarios.expand_preset(preset, CATALOG)), CATALOG)


def cases(preset=SPARK):
    e = evaluated(preset)
    return link_sensitivity(e, machines(e)[0])


def traces(figure, meta):
    return [trace for trace in figure.data if trace.meta == meta]


def numbers(values):
    return np.asarray(values, float)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("preset", [SPARK, FAST])
def test_plotly_accepts_the_figures(mode, preset):
    for figure, narrow in (series_figure(series(evaluated(preset)), mode, scale=1.3), links_figure(cases(preset), mode, scale=1.3)):
        checked = go.Figure(json.loads(figure.to_json()))
        checked.update_layout(narrow)
        assert len(checked.data) == len(figure.data)


def test_three_panels_hold_time_output_and_output_per_chip():
    found = series(evaluated())
    line = found.line(HBM)
    figure, _narrow = series_figure(found, "light")
    alone, full = traces(figure, "B200:alone"), traces(figure, "B200:full")
    assert [t["yaxis"] for t in alone] == ["y", "y2", "y3"]
    wanted = [
        (1e3 * line.alone.tpot_s, 1e3 * line.full.tpot_s), (line.alone.output_tokens_per_s, line.full.output_tokens_per_s),
        (line.alone.output_tokens_per_s / line.alone.n_chips, line.full.output_tokens_per_s / line.full.n_chips),
    ]  # fmt: skip
    for (one, many), a, f in zip(wanted, alone, full, strict=True):
        assert numbers(a["x"]) == pytest.approx(line.stages)
        assert numbers(a["y"]) == pytest.approx(one) and numbers(f["y"]) == pytest.approx(many)
        assert a["line"]["dash"] == "dash" and f["line"]["dash"] == "solid"
        assert a["line"]["color"] == theme.palette("light").reference


def test_bands_are_around_one_request_in_time_and_the_full_pipeline_in_output():
    found = series(evaluated())
    line = found.line(WAFER)
    figure, _narrow = series_figure(found, "light")
    (band,) = traces(figure, "WSE-3:alone:90")
    n = len(line.stages)
    assert band["yaxis"] == "y"
    assert numbers(band["y"])[:n] == pytest.approx(1e3 * line.alone.tpot_s * np.exp(line.alone_ln[90]))
    assert numbers(band["y"])[n:] == pytest.approx((1e3 * line.alone.tpot_s * np.exp(-line.alone_ln[90]))[::-1])
    assert {t["yaxis"] for t in traces(figure, "WSE-3:full:50")} == {"y2", "y3"}


def test_the_scenario_is_a_large_dot_and_a_single_number_of_stages_a_small_one():
    found = series(evaluated())
    figure, _narrow = series_figure(found, "light")
    dots = traces(figure, "now")
    assert [dot["x"][0] for dot in dots] == [23, 23, 23]
    assert dots[0]["y"][0] == pytest.approx(1e3 * found.own.tpot_s[0]) and dots[0]["marker"]["color"] == theme.palette("light").scenario
    for hollow, filled in zip(traces(figure, "Groq LPU:alone"), traces(figure, "Groq LPU:full"), strict=True):
        assert hollow["mode"] == filled["mode"] == "markers"
        assert hollow["marker"]["color"] == theme.palette("light").ground and filled["marker"]["color"] == theme.palette("light").muted


def test_links_panels_hold_the_ratios_and_their_bands():
    found = cases()
    figure, _narrow = links_figure(found, "light")
    shared = next(case for case in found if case.joined == "shards")
    by_bandwidth, by_latency = traces(figure, "B200:shards")
    assert numbers(by_bandwidth["x"]) == pytest.approx(RATIOS) and numbers(by_bandwidth["y"]) == pytest.approx(shared.by_bandwidth[1])
    assert numbers(by_latency["y"]) == pytest.approx(shared.by_latency[1]) and by_latency["yaxis"] == "y2"
    assert by_latency["line"]["dash"] == "solid"
    band = traces(figure, "B200:shards:90")[1]
    assert numbers(band["y"])[: len(RATIOS)] == pytest.approx(shared.by_latency[2])
    wafer = traces(figure, "WSE-3:stages")[0]
    assert numbers(wafer["y"]) == pytest.approx(np.ones(len(RATIOS))) and wafer["line"]["dash"] == "dash"
    assert not [t for t in traces(figure, "WSE-3:stages:90") if t["yaxis"] == "y"]  # what does not move has no band


def test_the_axis_of_links_is_fixed_and_longer_only_where_needed():
    for preset in (SPARK, FAST):
        figure, _narrow = links_figure(cases(preset), "light")
        assert [10**v for v in figure.layout.yaxis.range] == pytest.approx([0.6, 4])
    steep = [replace(case, by_latency=3 * case.by_latency) for case in cases(FAST)]
    highest = max(case.by_latency.max() for case in steep)
    figure, _narrow = links_figure(steep, "light")
    assert highest > 8 and 10 ** figure.layout.yaxis.range[1] == pytest.approx(16)


def test_names_stand_at_their_lines_without_covering_each_other():
    for figure, _narrow in (series_figure(series(evaluated()), "light"), links_figure(cases(), "light")):
        texts = [note["text"] for note in figure.layout.annotations if note["name"] == "name"]
        assert len(texts) >= 3
    assert {case_name(case) for case in cases()} == {
        "23 WSE-3 in series", "4\u202f508 Groq LPU in series", "8 B200, layers shared", "8 B200 in series",
    }  # fmt: skip


def test_multiples_as_the_axis_writes_them():
    assert [times(r) for r in (0.125, 0.5, 1.0, 8.0)] == ["1/8", "1/2", "1", "8"]
