"""The picture of joules and megawatts: where the marks of the three levels lie, what is hollow, and that no text covers another."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.power import (
    CHIP,
    FACILITY,
    SYSTEM,
    PowerRow,
    ends_text,
    height,
    height_narrow,
    power_figure,
    row_text,
)

NAN = np.nan
ROWS = [
    PowerRow("Codex-Spark", "23 WSE-3, batch 16", "scenario", (NAN, 30.9, 38.7), 21.3, 70.4, (NAN, 0.529, 0.661), 23, False),
    PowerRow("GPT-5.3-Codex", "8 B200, batch 64", "reference", (5.58, NAN, 6.98), 4.96, 9.81, (0.008, NAN, 0.01), 8, True),
    PowerRow("Rubin (announced)", "4 chips, batch 16", "part", (9.73, 17.3, 21.6), 11.0, 42.2, (0.0072, 0.0128, 0.016), 4, False),
    PowerRow("TPU v7", "8 chips, batch 16", "part", (NAN, NAN, NAN), NAN, NAN, (NAN, NAN, NAN), 8, True),
]


def drawn(rows=ROWS, mode="light", **more):
    figure, narrow = power_figure(rows, "to serve 1 request/s", mode, **more)
    return {trace["meta"]: trace for trace in figure.data}, figure.layout, narrow


def plain(text):
    return re.sub("<[^>]+>", "", text).strip()


def notes(layout, name):
    return [note for note in layout["annotations"] if note["name"] == name]


def test_marks_lie_at_their_values_one_trace_a_level_and_panel():
    traces, _layout, _narrow = drawn()
    for level in (CHIP, SYSTEM, FACILITY):
        np.testing.assert_array_equal(traces[f"joules:{level}"]["x"], [row.joules[level] for row in ROWS])
        np.testing.assert_array_equal(traces[f"megawatts:{level}"]["x"], [row.megawatts[level] for row in ROWS])
        assert traces[f"megawatts:{level}"]["xaxis"] == "x2" and traces[f"joules:{level}"]["xaxis"] == "x"
        np.testing.assert_array_equal(traces[f"joules:{level}"]["y"], [0, 1, 2, 3])


def test_a_line_joins_the_levels_and_a_pale_one_is_the_band_of_the_facility():
    traces, _layout, _narrow = drawn()
    assert list(traces["joules:line:2"]["x"]) == [9.73, 21.6]
    assert list(traces["band:0"]["x"]) == [21.3, 70.4] and list(traces["band:2"]["x"]) == [11.0, 42.2]
    assert "joules:line:3" not in traces and "band:3" not in traces
    assert traces["band:0"]["line"]["color"] == theme.translucent(theme.palette("light").scenario, 0.25)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_facility_from_the_chips_alone_is_hollow_and_colours_tell_option_and_reference(mode):
    traces, layout, _narrow = drawn(mode=mode)
    colors = theme.palette(mode)
    marker = traces[f"joules:{FACILITY}"]["marker"]
    assert list(marker["color"]) == [colors.scenario, colors.ground, colors.text, colors.ground]
    assert list(marker["line"]["color"]) == [colors.scenario, colors.reference, colors.text, colors.text]
    assert "facility, from the chips alone" in plain(notes(layout, "key")[0]["text"]).replace("\u00a0", " ")
    _traces, without, _narrow = drawn([ROWS[0]])
    assert "from the chips alone" not in plain(notes(without, "key")[0]["text"]).replace("\u00a0", " ")


def test_figures_name_the_facility_its_band_and_the_chips():
    _traces, layout, narrow = drawn()
    written = [plain(note["text"]) for note in notes(layout, "figure")]
    assert written[:2] == ["38.7 J (21.3-70.4)", "0.661 MW (23 chips)"]
    assert written[-2:] == ["no figure", "no figure"]
    assert [plain(n["text"]) for n in notes(layout, "title")] == ["energy per output token", "to serve 1 request/s"]
    assert [plain(n["text"]) for n in notes(narrow, "figure")][1] == "0.661 MW (23 chips)"


def test_a_band_is_written_in_the_unit_of_its_figure():
    assert ends_text(1970.0, 1000.0, 3880.0) == "1-3.88"
    assert ends_text(38.7, 21.3, 70.4) == "21.3-70.4"
    assert ends_text(0.5, 0.25, 1.0) == "250-1\u202f000"


def test_axes_are_logarithmic_with_round_ends_that_hold_all_marks_and_bands():
    _traces, layout, _narrow = drawn()
    assert layout["xaxis"]["type"] == layout["xaxis2"]["type"] == "log"
    assert layout["xaxis"]["range"] == pytest.approx(np.log10([2.0, 100.0]))
    assert layout["xaxis2"]["range"] == pytest.approx(np.log10([0.005, 1.0]))


def test_hover_says_which_level_and_of_what():
    traces, _layout, _narrow = drawn()
    assert traces[f"joules:{SYSTEM}"]["hovertext"][0] == "Codex-Spark, system: 30.9 J per output token"
    assert traces[f"megawatts:{FACILITY}"]["hovertext"][1] == "GPT-5.3-Codex, facility, from the chips alone: 0.01 MW"


def test_a_row_in_words():
    assert row_text(ROWS[0]) == "Codex-Spark: 38.7 J per output token at the facility, 0.661 MW"
    assert row_text(ROWS[3]) == "TPU v7: no figure"


def test_on_a_phone_the_panels_stand_below_each_other_and_texts_of_a_row_do_not_touch():
    _traces, layout, narrow = drawn()
    assert narrow["yaxis"]["domain"][0] > narrow["yaxis2"]["domain"][1]
    assert layout["xaxis"]["domain"][1] < layout["xaxis2"]["domain"][0]
    room = theme.NARROWEST_PX - narrow["margin"]["l"] - narrow["margin"]["r"]
    for head, figure in zip(notes(narrow, "head"), notes(narrow, "figure"), strict=True):
        assert (head["xanchor"], figure["xanchor"]) == ("left", "right") and head["y"] == figure["y"]
        width = sum(theme.text_width_px(plain(note["text"]), note["font"]["size"]) for note in (head, figure))
        assert width < room, plain(head["text"])


def test_the_room_of_the_figures_in_the_wide_layout_holds_them():
    _traces, layout, _narrow = drawn()
    plot = 760 - layout["margin"]["l"] - layout["margin"]["r"]
    gap = plot * (layout["xaxis2"]["domain"][0] - layout["xaxis"]["domain"][1])
    for i, note in enumerate(notes(layout, "figure")):
        width = theme.text_width_px(plain(note["text"]), note["font"]["size"]) + note["xshift"]
        assert width < (layout["margin"]["r"] if i % 2 else gap), plain(note["text"])


def test_heights_grow_with_the_rows():
    assert height(5) - height(4) == 46 and height_narrow(5) - height_narrow(4) == 92


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_figure_holds_only_what_plotly_knows(mode):
    figure, narrow = power_figure(ROWS, "to hold 5 TB of weights", mode)
    parts = figure.to_plotly_json()
    go.Figure(data=parts["data"], layout=parts["layout"])
    go.Figure(layout=narrow)


def test_type_grows_in_a_meeting_but_not_on_a_phone():
    _traces, usual, usual_narrow = drawn()
    _traces, large, large_narrow = drawn(scale=1.3)
    assert large["font"]["size"] == pytest.approx(1.3 * usual["font"]["size"])
    assert large["margin"]["r"] == pytest.approx(1.3 * usual["margin"]["r"])
    np.testing.assert_equal(large_narrow, usual_narrow)


def test_without_rows_there_is_no_figure():
    with pytest.raises(ValueError, match="no rows"):
        power_figure([], "", "light")
