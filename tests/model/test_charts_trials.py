"""The picture of the field trials: where the dots and whiskers lie, in which colours, and that no text covers another."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.trials import HEIGHT_NARROW, TrialRow, trials_figure
from fastmode.field_trials import trials

TRIALS = [
    TrialRow("METR 2025", "16 developers, own repositories", 0.842, 0.717, 0.987, about=("246 issues",)),
    TrialRow("Microsoft and others", "5,000 developers, pull requests", 1.26, 1.06, 1.46),
    TrialRow("Google 2024", "96 engineers, one set task", 1.27, np.nan, np.nan),
]
MODEL = [
    TrialRow("Model, by benchmark", "GPT-5.3-Codex, 25 % wrong", 2.53, 1.14, 4.56, modelled=True),
    TrialRow("Model, as accepted", "GPT-5.3-Codex, 49 % wrong", 1.61, np.nan, np.nan, modelled=True),
]


def drawn(rows=(*TRIALS, *MODEL), mode="light", **more):
    figure, narrow = trials_figure(rows, mode, **more)
    return figure.data, figure.layout, narrow


def texts(layout, name):
    return [note["text"] for note in layout["annotations"] if note["name"] == name]


def test_dots_lie_at_their_values_and_whiskers_end_at_their_intervals():
    (trials, model), _layout, _narrow = drawn()
    assert list(trials["x"]) == [0.842, 1.26, 1.27] and list(model["x"]) == [2.53, 1.61]
    assert trials["x"] - trials["error_x"]["arrayminus"] == pytest.approx([0.717, 1.06, 1.27])
    assert trials["x"] + trials["error_x"]["array"] == pytest.approx([0.987, 1.46, 1.27])
    assert model["x"] - model["error_x"]["arrayminus"] == pytest.approx([1.14, 1.61])
    assert model["x"] + model["error_x"]["array"] == pytest.approx([4.56, 1.61])


def test_rows_run_downwards_with_a_gap_before_the_model():
    (trials, model), layout, _narrow = drawn()
    y = np.append(trials["y"], model["y"])
    assert np.diff(y) == pytest.approx([1, 1, 1.3, 1])
    bottom, top = layout["yaxis"]["range"]
    assert bottom > y.max() and top < y.min()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_trials_are_hollow_and_the_model_is_filled_in_the_colour_of_the_reference(mode):
    (trials, model), _layout, _narrow = drawn(mode=mode)
    colors = theme.palette(mode)
    assert (trials["marker"]["color"], trials["marker"]["line"]["color"]) == (colors.ground, colors.published)
    assert (model["marker"]["color"], model["error_x"]["color"]) == (colors.reference, colors.reference)


def test_the_line_at_one_is_drawn_and_named_on_both_sides():
    _data, layout, narrow = drawn()
    (line,) = layout["shapes"]
    assert (line["x0"], line["x1"]) == (1.0, 1.0)
    assert texts(layout, "side") == ["\u25c2 slower with AI", "faster with AI \u25b8"]
    assert [note["x"] for note in layout["annotations"] if note["name"] == "side"] == [0.0, 0.0]  # log10(1)
    assert texts(narrow, "side") == ["\u25c2 slower", "faster \u25b8"]


def test_figures_are_written_with_their_interval_or_without_one():
    _data, layout, narrow = drawn()
    plain = [text.replace("<b>", "").replace("</b>", "").split("<span")[0] for text in texts(layout, "figure")]
    assert plain == ["0.842 ", "1.26 ", "1.27 ", "2.53 ", "1.61 "]
    assert "(0.717-0.987)" in texts(layout, "figure")[0] and "no interval" in texts(layout, "figure")[2]
    assert texts(narrow, "figure")[0] == texts(layout, "figure")[0] and "interval" not in texts(narrow, "figure")[2]


def test_hover_tells_who_was_studied():
    (trials, _model), _layout, _narrow = drawn()
    assert trials["hovertext"][0] == (
        "<b>METR 2025</b><br>16 developers, own repositories<br>0.842 (0.717-0.987)<br>246 issues"
    )


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        (MODEL, (0.5, 5.0)),
        ([TrialRow("Model", "", 4.9, np.nan, np.nan, True)], (0.5, 10.0)),  # not on the very edge
        ([TrialRow("Model", "", 0.23, 0.069, 0.69, True)], (0.05, 5.0)),
        ([TrialRow("Model", "", 12.0, 5.0, 60.0, True)], (0.5, 100.0)),
    ],
)
def test_the_axis_stands_still_until_a_row_leaves_it(model, bounds):
    _data, layout, _narrow = drawn([*TRIALS, *model])
    assert layout["xaxis"]["range"] == pytest.approx(np.log10(bounds))
    assert layout["xaxis"]["type"] == "log"
    ticks = layout["xaxis"]["tickvals"]
    assert 1.0 in ticks and (ticks >= bounds[0] * 0.999).all() and (ticks <= bounds[1] * 1.001).all()
    assert 4 <= len(ticks) <= 9


def plain(text):
    return re.sub("<[^>]+>", "", text).strip()


def test_names_and_figures_of_a_row_share_a_phones_line_without_touching():
    long = TrialRow("A trial with a name that leaves no room", "who", 1.26, 1.06, 1.46)
    longer = TrialRow("Trial", "a line on who was studied that is too long for a phone", 1.26, 1.06, 1.46)
    rows = [*TRIALS, long, longer, *MODEL]
    _data, _layout, narrow = drawn(rows)
    room = theme.NARROWEST_PX - narrow["margin"]["l"] - narrow["margin"]["r"]
    heads = [note for note in narrow["annotations"] if note["name"] == "head"]
    figures = [note for note in narrow["annotations"] if note["name"] == "figure"]
    for head, figure, row in zip(heads, figures, rows, strict=True):
        assert head["y"] == figure["y"] and (head["xanchor"], figure["xanchor"]) == ("left", "right")
        texts_px = [theme.text_width_px(plain(note["text"]), note["font"]["size"]) for note in (head, figure)]
        assert sum(texts_px) < room, row.label
    written = [(plain(head["text"]), plain(figure["text"])) for head, figure in zip(heads, figures, strict=True)]
    assert written[0] == ("METR 2025", "0.842 (0.717-0.987)")
    assert written[1] == ("Microsoft and others", "1.26 (1.06-1.46)")
    assert written[2] == ("Google 2024 96 engineers, one set task", "1.27")  # room for the second line
    assert written[3] == (long.label, "1.26")
    assert written[4] == ("Trial", "1.26 (1.06-1.46)")


def test_the_shipped_trials_keep_their_intervals_on_a_phone():
    rows = [TrialRow(r.label, r.who, r.np, r.np_low, r.np_high) for r in trials(load()).itertuples()]
    _data, layout, narrow = drawn(rows)
    for wide, phone in zip(texts(layout, "figure"), texts(narrow, "figure"), strict=True):
        assert plain(phone) == plain(wide).removesuffix("no interval").strip()


def test_rows_of_a_phone_are_far_enough_apart_for_a_name_and_a_whisker():
    (trials, model), _layout, narrow = drawn()
    bottom, top = narrow["yaxis"]["range"]
    px = (HEIGHT_NARROW - narrow["margin"]["t"] - narrow["margin"]["b"]) / (bottom - top)
    # With all eight rows of the page: six trials, two levels.
    eight = px * (bottom - top) / (8.3 + 0.4 + 0.75 - 1)
    line = 1.3 * theme.SMALL_SIZE
    assert np.diff(np.append(trials["y"], model["y"])).min() * eight > line + 11


def test_type_grows_in_a_meeting_but_not_on_a_phone():
    _data, plain, plain_narrow = drawn()
    _data, large, large_narrow = drawn(scale=1.3)
    assert large["font"]["size"] == pytest.approx(1.3 * plain["font"]["size"])
    assert large["margin"]["l"] == pytest.approx(1.3 * plain["margin"]["l"])
    np.testing.assert_equal(large_narrow, plain_narrow)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_figure_holds_only_what_plotly_knows(mode):
    figure, narrow = trials_figure([*TRIALS, *MODEL], mode)
    parts = figure.to_plotly_json()
    go.Figure(data=parts["data"], layout=parts["layout"])  # raises for an unknown property
    go.Figure(layout={**narrow, "shapes": []})
    assert parts["layout"]["paper_bgcolor"] == parts["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"


@pytest.mark.parametrize("value", [0.0, np.nan, -1.0])
def test_a_row_without_a_place_on_the_axis_is_refused(value):
    with pytest.raises(ValueError, match="positive net productivity"):
        trials_figure([*TRIALS, TrialRow("Model", "", value, np.nan, np.nan, True)], "light")
    with pytest.raises(ValueError, match="positive net productivity"):
        trials_figure([], "light")
