"""The picture of the two ways: path, marks and whiskers at their ratios, the option's speed, and names that do not touch."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.two_ways import HEIGHT, Mark, Path, two_ways_figure

PATH = Path(
    np.array([1.0, 2, 4, 8, 16, 24, 32, 64]),
    np.array([5.4, 4.8, 4.0, 3.1, 2.2, 1.8, 1.5, 1.0]),
    np.array([4.0, 3.6, 3.0, 2.3, 1.8, 1.5, 1.4, 1.0]),
    np.array([7.4, 6.6, 5.5, 4.1, 2.8, 2.1, 1.7, 1.0]),
    np.array([12.1, 6.7, 4.0, 2.6, 1.8, 1.5, 1.3, 1.0]),
)
MARKS = [
    Mark("GB200", "newer", 1.05, 1.74, 0.49, 2.21, 0.85, 1.75, "8 chips, batch 64"),
    Mark("WSE-3", "sram", 45.6, 1.47, 20.9, 99.3, 0.98, 2.09),
    Mark("Rubin", "announced", 1.97, 0.54, 0.93, 4.17, 0.33, 0.75),
    Mark("Opus 4.6 fast", "tier", 2.5, 6.0, about="the vendor's word"),
]


def drawn(marks=MARKS, goal=2.62, mode="light", **more):
    figure, narrow = two_ways_figure(PATH, marks, "Opus 4.6 on 8 B200 at batch 64", goal, "Opus 4.6 fast: 2.62x", mode, **more)
    return {trace["meta"]: trace for trace in figure.data}, figure.layout, narrow


def plain(text):
    return re.sub("<[^>]+>", "", text).replace("\u00a0", " ").strip()


def notes(layout, name):
    return [note for note in layout["annotations"] if note["name"] == name]


def test_the_path_runs_through_its_ratios_with_its_band():
    traces, _layout, _narrow = drawn()
    np.testing.assert_array_equal(traces["path"]["x"], PATH.speed)
    np.testing.assert_array_equal(traces["path"]["y"], PATH.cost)
    np.testing.assert_array_equal(traces["band"]["x"], [*PATH.speed_low, *PATH.speed_high[::-1]])
    np.testing.assert_array_equal(traces["band"]["y"], [*PATH.cost, *PATH.cost[::-1]])
    assert list(traces["batches"]["x"]) == [5.4, 4.8, 4.0, 3.1, 2.2, 1.5, 1.0]  # 24 is not marked
    assert traces["path"]["hovertext"][3] == "batch 8: 3.1x the speed, 2.6x the cost per output token"


def test_marks_have_whiskers_of_speed_and_price_and_tiers_have_none():
    traces, _layout, _narrow = drawn()
    mark = traces["newer:GB200"]
    assert (mark["x"][0], mark["y"][0]) == (1.05, 1.74)
    assert mark["x"][0] - mark["error_x"]["arrayminus"][0] == pytest.approx(0.49)
    assert mark["x"][0] + mark["error_x"]["array"][0] == pytest.approx(2.21)
    assert mark["y"][0] - mark["error_y"]["arrayminus"][0] == pytest.approx(0.85)
    assert mark["y"][0] + mark["error_y"]["array"][0] == pytest.approx(1.75)
    tier = traces["tier:Opus 4.6 fast"]
    assert [tier[axis][end][0] for axis in ("error_x", "error_y") for end in ("array", "arrayminus")] == [0, 0, 0, 0]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_tiers_are_hollow_in_the_colour_of_what_is_published_and_the_path_has_the_references(mode):
    traces, layout, _narrow = drawn(mode=mode)
    colors = theme.palette(mode)
    marker = traces["tier:Opus 4.6 fast"]["marker"]
    assert (marker["color"], marker["line"]["color"], marker["symbol"]) == (colors.ground, colors.published, "diamond")
    assert traces["path"]["line"]["color"] == colors.reference
    inks = {meta: traces[meta]["marker"]["color"] for meta in ("newer:GB200", "sram:WSE-3", "announced:Rubin")}
    assert len(set(inks.values())) == 3
    (line,) = layout["shapes"]
    assert (line["x0"], line["x1"], line["line"]["color"]) == (2.62, 2.62, colors.scenario)


def test_without_a_faster_option_there_is_no_upright_line():
    _traces, layout, _narrow = drawn(goal=np.nan)
    assert not layout["shapes"] and not notes(layout, "goal")


def test_the_key_names_the_kinds_that_are_drawn():
    _traces, layout, _narrow = drawn()
    key = plain(notes(layout, "key")[0]["text"])
    for words in ("smaller batch, same chips", "newer chip, same batch", "SRAM machine, same batch", "announced", "published tier, list price"):
        assert words in key
    _traces, less, _narrow = drawn(MARKS[:1])
    assert "SRAM" not in plain(notes(less, "key")[0]["text"])


def test_axes_are_logarithmic_and_hold_every_mark_and_whisker():
    _traces, layout, _narrow = drawn()
    x, y = (10.0 ** np.array(layout[axis]["range"]) for axis in ("xaxis", "yaxis"))
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"
    assert x[0] < 0.49 and x[1] > 99.3 and y[0] < 0.33 and y[1] > 12.1
    assert layout["xaxis"]["title"]["text"] == "speed of one user, over that of Opus 4.6 on 8 B200 at batch 64"


def boxes(layout, width, height):
    """Where the names lie, px from the lower left corner of the plot."""
    found = []
    for note in layout["annotations"]:
        if note["name"] in ("name", "batch", "goal"):
            dx, dy = (note["ax"], -note["ay"]) if note["showarrow"] else (note["xshift"], note["yshift"])
            text = theme.text_width_px(plain(note["text"]), note["font"]["size"])
            found.append((plain(note["text"]), theme.Box.around(note["x"] * width + dx, note["y"] * height + dy, text, note["font"]["size"])))
    return found


def test_names_do_not_touch_each_other_at_the_least_width():
    _traces, layout, _narrow = drawn()
    margin = layout["margin"]
    found = boxes(layout, 760 - margin["l"] - margin["r"], HEIGHT - margin["t"] - margin["b"])
    assert {"GB200", "WSE-3", "Rubin", "Opus 4.6 fast", "batch 1"} <= {text for text, _box in found}
    for i, (text, box) in enumerate(found):
        for other, place in found[:i]:
            assert not box.overlaps(place), (text, other)


def test_hover_tells_a_list_price_from_a_cost():
    traces, _layout, _narrow = drawn()
    assert traces["tier:Opus 4.6 fast"]["hovertext"][0] == "Opus 4.6 fast: 2.5x the speed, 6x the list price<br>the vendor's word"
    assert traces["newer:GB200"]["hovertext"][0] == "GB200: 1.05x the speed, 1.74x the cost per output token<br>8 chips, batch 64"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_figure_holds_only_what_plotly_knows(mode):
    figure, narrow = two_ways_figure(PATH, MARKS, "home", 2.62, "goal", mode)
    parts = figure.to_plotly_json()
    go.Figure(data=parts["data"], layout=parts["layout"])
    go.Figure(layout=narrow)


def test_type_grows_in_a_meeting_but_not_on_a_phone():
    _traces, usual, usual_narrow = drawn()
    _traces, large, large_narrow = drawn(scale=1.3)
    assert large["font"]["size"] == pytest.approx(1.3 * usual["font"]["size"])
    np.testing.assert_equal(large_narrow, usual_narrow)
