"""The figures of the tab "First token": stacked parts in ms, and amounts and times of a prompt's way."""

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.first_token import Bar, first_token_figure, height, ways_figure
from fastmode.first_token import PARTS, Way
from tests.model.test_charts import MODES, layout_of, noted, plain
from tests.model.test_charts_productivity import trace

BARS = [
    Bar("Codex-Spark", "scenario", {"handshake": 0.02, "queue": 0.4, "prefill": 0.08, "step": 0.01}),
    Bar("GPT-5.3-Codex", "reference", {"handshake": 0.1, "queue": 0.8, "prefill": 0.13, "step": 0.07}),
    Bar("GPT-5.3-Codex, batch 4, model alone", "model", {"queue": 0.086, "prefill": 0.103, "step": 0.011}),
]
WAYS = [Way("the prompt", 128_000.0, 4e-6), Way("KV cache", 72e9, 2.4e-3), Way("weights", 640e9, 18.6e-3)]


@pytest.mark.parametrize("mode", MODES)
def test_parts_are_stacked_in_ms_in_their_order(mode):
    fig, narrow = first_token_figure(BARS, mode, x_max_s=1.1)
    go.Figure(fig.to_dict()).update_layout(narrow)  # Plotly's own check of every property
    assert [t.meta for t in fig.data] == list(PARTS) and layout_of(fig)["barmode"] == "stack"
    np.testing.assert_allclose(trace(fig, "queue").x, [400, 800, 86])
    np.testing.assert_allclose(trace(fig, "handshake").x, [20, 100, np.nan])
    assert list(trace(fig, "prefill").text) == ["prefill 80", "prefill 130", "prefill 103"]


def test_totals_and_names_stand_at_their_bars():
    fig, narrow = first_token_figure(BARS, "light", x_max_s=1.1)
    for notes in (layout_of(fig), narrow):
        assert [plain(text) for text in noted(notes, "total")] == ["510 ms", "1.1 s", "200 ms"]
        assert [plain(text) for text in noted(notes, "head")] == [bar.label for bar in BARS]
    colors = theme.palette("light")
    inks = [colors.scenario, colors.reference, colors.muted]
    assert all(ink in note["text"] for ink, note in zip(inks, [n for n in narrow["annotations"] if n["name"] == "head"], strict=True))


def test_hover_gives_time_and_share():
    fig, _narrow = first_token_figure(BARS, "light", x_max_s=1.1)
    assert list(trace(fig, "queue").hovertext)[1] == "GPT-5.3-Codex, queue: 800 ms, 72.7 % of the first token's wait"


def test_the_axis_ends_where_asked_however_short_the_bars():
    whole, cut = (first_token_figure(bars, "light", x_max_s=1.1)[0] for bars in (BARS, BARS[2:]))
    assert layout_of(whole)["xaxis"]["range"] == layout_of(cut)["xaxis"]["range"] == [0.0, pytest.approx(1122.0)]
    assert height(3) - height(2) == height(3, True) - height(2, True) > 0


@pytest.mark.parametrize("seconds", [{"queue": -0.1}, {"tools": 1.0}])
def test_a_wrong_part_is_refused(seconds):
    with pytest.raises(ValueError, match="a part"):
        first_token_figure([Bar("x", "scenario", seconds)], "light", x_max_s=1.0)


@pytest.mark.parametrize("mode", MODES)
def test_ways_are_bars_from_the_start_of_a_logarithmic_axis(mode):
    fig, narrow = ways_figure(WAYS, mode)
    go.Figure(fig.to_dict()).update_layout(narrow)
    (bars,) = fig.data
    np.testing.assert_allclose(bars.base + bars.x, [4e-6, 2.4e-3, 18.6e-3])
    assert bars.base == 1e-6 and layout_of(fig)["xaxis"]["type"] == "log"
    assert [plain(text) for text in noted(layout_of(fig), "end")] == ["4 \u00b5s for 128 kB", "2.4 ms for 72 GB", "18.6 ms for 640 GB"]
    low, high = layout_of(fig)["xaxis"]["range"]
    assert low == pytest.approx(-6.0, abs=2e-3) and high == pytest.approx(np.log10(18.6e-3 * 60))
    assert narrow["xaxis"]["range"][1] > high  # the text at the longest bar needs more of a phone's width
    assert layout_of(fig)["xaxis"]["ticktext"][:2] == ["1 \u00b5s", "10 \u00b5s"]


def test_a_shorter_time_than_a_microsecond_starts_its_own_axis_and_none_is_refused():
    fig, _narrow = ways_figure([Way("a", 1.0, 4e-8)], "light")
    assert fig.data[0].base == 1e-8
    with pytest.raises(ValueError, match="not positive"):
        ways_figure([Way("a", 1.0, 0.0)], "light")
