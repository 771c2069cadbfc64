"""The picture of costs by part: ranges, bands and the list price at their values, and room for every row."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.price_range import ROW_NARROW_PX, ROW_PX, PriceRow, height, height_narrow, price_range_figure

ROWS = [
    PriceRow("Gaudi 3", "part", 13.8, 13.8, 13.8, 5.7, 33.4, True),
    PriceRow("Rubin", "announced", 19.4, 31.7, 44.0, 16.2, 61.9, True),
    PriceRow("B200", "scenario", 33.6, 72.1, 131.0, 51.3, 101.0, False, 150.0),
    PriceRow("RTX PRO 6000", "part", 73.5, 73.5, 73.5, 30.4, 178.0, False),
]


def drawn(rows=ROWS, mode="light", **more):
    figure, narrow = price_range_figure(rows, mode, **more)
    return {trace["meta"]: trace for trace in figure.data}, figure.layout, narrow


def plain(text):
    return re.sub("<[^>]+>", "", text).replace("\u00a0", " ").strip()


def notes(layout, name):
    return [plain(note["text"]) for note in layout["annotations"] if note["name"] == name]


def test_prices_bands_and_middles_lie_at_their_values():
    traces, _layout, _narrow = drawn()
    assert list(traces["cost"]["x"]) == [13.8, 31.7, 72.1, 73.5] and list(traces["cost"]["y"]) == [0, 1, 2, 3]
    assert list(traces["price:2"]["x"]) == [33.6, 131.0] and list(traces["price:2"]["y"]) == [2, 2]
    assert list(traces["band:2"]["x"]) == [51.3, 101.0]
    assert traces["price:2"]["line"]["width"] > 3 * traces["band:2"]["line"]["width"]


def test_a_derived_price_is_a_square_and_a_rental_one_a_circle():
    traces, _layout, _narrow = drawn()
    assert list(traces["cost"]["marker"]["symbol"]) == ["square", "square", "circle", "circle"]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_list_price_is_a_hollow_mark_in_the_options_row_with_a_line_through_all(mode):
    traces, layout, _narrow = drawn(mode=mode)
    colors = theme.palette(mode)
    np.testing.assert_array_equal(traces["list"]["x"], [np.nan, np.nan, 150.0, np.nan])
    assert (traces["list"]["marker"]["color"], traces["list"]["marker"]["line"]["color"]) == (colors.ground, colors.published)
    (line,) = layout["shapes"]
    assert (line["x0"], line["x1"]) == (150.0, 150.0)
    assert "list price of the option, $150" in notes(layout, "key")[0]
    _traces, without, _narrow = drawn(ROWS[:2], mode)
    assert not without["shapes"] and "list price" not in notes(without, "key")[0]


def test_rows_are_named_the_options_in_bold_and_announced_ones_in_grey():
    _traces, layout, _narrow = drawn()
    colors = theme.palette("light")
    texts = layout["yaxis"]["ticktext"]
    assert [plain(text) for text in texts] == ["Gaudi 3", "Rubin", "B200", "RTX PRO 6000"]
    assert "<b>B200</b>" in texts[2] and colors.scenario in texts[2] and colors.muted in texts[1]
    assert "grey: announced" in notes(layout, "key")[0]


def test_figures_give_the_middle_and_where_there_is_one_the_range():
    _traces, layout, narrow = drawn()
    assert notes(layout, "figure") == ["$13.8", "$31.7 $19.4-44", "$72.1 $33.6-131", "$73.5"]
    assert notes(narrow, "figure") == ["$13.8", "$31.7", "$72.1", "$73.5"]


def test_the_axis_is_logarithmic_and_holds_all_in_round_ends():
    _traces, layout, narrow = drawn()
    assert layout["xaxis"]["type"] == "log" and layout["xaxis"]["range"] == pytest.approx(np.log10([5.0, 200.0]))
    assert set(narrow["xaxis"]["tickvals"]) <= set(np.outer([1, 10, 100], [1, 2, 3, 5]).ravel())
    assert layout["xaxis"]["title"]["text"] == "USD per million output tokens (Mtok)"


def test_hover_tells_range_band_and_basis():
    traces, _layout, _narrow = drawn()
    assert traces["cost"]["hovertext"][2] == (
        "B200: $72.1 per Mtok of output, $33.6-$131 by price of a chip-hour, $51.3-$101 by the 90 % band of the speed<br>rental price"
    )
    assert traces["list"]["hovertext"][2] == "B200: list price $150 per Mtok of output"


def test_names_and_figures_have_room_beside_the_plot_at_every_width():
    _traces, layout, narrow = drawn()
    for place in (layout, narrow):
        size = place["yaxis"]["tickfont"]["size"]
        assert max(theme.text_width_px(plain(t), size) for t in place["yaxis"]["ticktext"]) < place["margin"]["l"]
        assert max(theme.text_width_px(t, size) + 8 for t in notes(place, "figure")) < place["margin"]["r"]
    assert min(ROW_PX, ROW_NARROW_PX) > 1.3 * theme.SMALL_SIZE
    assert height(9) - height(8) == ROW_PX and height_narrow(9) - height_narrow(8) == ROW_NARROW_PX


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_figure_holds_only_what_plotly_knows(mode):
    figure, narrow = price_range_figure(ROWS, mode)
    parts = figure.to_plotly_json()
    go.Figure(data=parts["data"], layout=parts["layout"])
    go.Figure(layout=narrow)


def test_type_grows_in_a_meeting_but_not_on_a_phone():
    _traces, usual, usual_narrow = drawn()
    _traces, large, large_narrow = drawn(scale=1.3)
    assert large["font"]["size"] == pytest.approx(1.3 * usual["font"]["size"])
    np.testing.assert_equal(large_narrow, usual_narrow)


@pytest.mark.parametrize("rows", [[], [PriceRow("A", "part", 0, 0, 0, 0, 0, False)], [PriceRow("A", "part", 1, np.nan, 2, 1, 2, False)]])
def test_a_cost_without_a_place_on_the_axis_is_refused(rows):
    with pytest.raises(ValueError, match="positive cost"):
        price_range_figure(rows, "light")
