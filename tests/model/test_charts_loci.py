"""The picture of mechanisms: lines, dots, bands and tiers at their ratios, names that do not touch."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.loci import HEIGHT, HEIGHT_NARROW, Locus, Point, loci_figure

SPEED = np.geomspace(0.5, 5.0, 20)
LOCI = [
    Locus("another batch size", SPEED, SPEED / 1.2, SPEED * 1.2, SPEED**1.5, [f"batch {n}" for n in range(20)], True, "reference"),
    Locus("a newer chip", np.array([1.2, 2.0]), np.array([1.0, 1.5]), np.array([1.5, 2.6]), np.array([0.8, 1.4]), ["on A", "on B"], False, "prefill"),
]
POINTS = [Point("Opus 4.6 fast", 2.5, 6.0, True), Point("Opus 5 fast", 2.5, 2.0, False)]


def drawn(loci=LOCI, points=POINTS, goal=2.5, mode="light", **more):
    figure, narrow = loci_figure(loci, points, goal, "Opus 4.6 fast: 2.5x", mode, **more)
    return {trace["meta"]: trace for trace in figure.data}, figure.layout, narrow


def test_lines_dots_bands_and_tiers_stand_at_their_ratios():
    traces, layout, _narrow = drawn()
    line, dots = traces["locus:another batch size"], traces["locus:a newer chip"]
    np.testing.assert_array_equal(line["x"], SPEED)
    np.testing.assert_array_equal(line["y"], SPEED**1.5)
    np.testing.assert_array_equal(traces["band:another batch size"]["x"], [*SPEED / 1.2, *(SPEED * 1.2)[::-1]])
    assert (line["mode"], dots["mode"]) == ("lines", "markers")
    np.testing.assert_allclose(dots["error_x"]["array"], [0.3, 0.6])
    np.testing.assert_allclose(dots["error_x"]["arrayminus"], [0.2, 0.5])
    assert dots["hovertext"][1] == "a newer chip, on B: 2x the speed, 1.4x the cost per output token"
    assert (traces["tier:Opus 4.6 fast"]["x"][0], traces["tier:Opus 4.6 fast"]["y"][0]) == (2.5, 6.0)
    (goal,) = layout["shapes"]
    assert goal["x0"] == goal["x1"] == 2.5


def test_no_line_without_a_speed_and_plotly_takes_every_property():
    for goal, mode in ((np.nan, "dark"), (2.5, "light")):
        figure, narrow = loci_figure(LOCI, POINTS, goal, "x", mode)
        go.Figure(data=[t.to_plotly_json() for t in figure.data], layout=figure.layout.to_plotly_json())
        go.Layout(narrow)
        assert len(figure.layout["shapes"]) == np.isfinite(goal)


@pytest.mark.parametrize("narrow", [False, True])
def test_names_lie_inside_and_apart(narrow):
    _traces, layout, phone = drawn()
    source = phone if narrow else layout
    margin = {k: source["margin"][k] for k in "lrtb"}
    width, height = (theme.NARROWEST_PX, HEIGHT_NARROW) if narrow else (760, HEIGHT)
    width, height = width - margin["l"] - margin["r"], height - margin["t"] - margin["b"]
    boxes = []
    for note in source["annotations"]:
        if note["name"] == "key":
            continue
        x, y = note["x"] * width + note["xshift"], note["y"] * height + note["yshift"]
        long = theme.text_width_px(re.sub("<[^>]+>", "", note["text"]), note["font"]["size"])
        boxes.append((note["name"], theme.Box.around(x, y, long, note["font"]["size"])))
    names = [name for name, _box in boxes]
    assert "goal" in names and "tier" in names and names.count("locus") >= (1 if narrow else 2)
    for i, (_name, box) in enumerate(boxes):
        assert box.left >= -1 and box.right <= width + 1 and box.bottom >= -1 and box.top <= height + 1
        assert not any(box.overlaps(other) for _other, other in boxes[:i])
