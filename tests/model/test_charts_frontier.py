"""The figure of the tab "Fast against cheap": what is drawn is the line, its bands and its marks, and no text covers another."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import theme
from fastmode.charts.frontier import HEIGHT, HEIGHT_NARROW, Mark, batch_text, frontier_figure
from fastmode.frontier import Line
from tests.model.test_charts import MODES, layout_of, noted, plain
from tests.model.test_charts_productivity import metas, no_overlap, trace

BATCH = np.array([1.0, 2.0, 4.0, 16.0, 64.0, 128.0])


def line(label="Opus 4.6", faster=1.0, **changes) -> Line:
    """Speed 200, 160, 128, 80, 40, 25 tok/s of one user on 8 chips; output per chip batch x speed / 8."""
    speed = faster * np.array([200.0, 160.0, 128.0, 80.0, 40.0, 25.0])
    wide = np.array([0.3, 0.3, 0.2, 0.1, 0.0, 0.1])
    made = Line(
        label=label, part="B200", wafer=False, chips=8.0, home_batch=64.0, now_batch=64.0, batch=BATCH, tokens_per_s=speed,
        tokens_per_s_per_chip=BATCH * speed / 8.0, decode_tokens_per_s=BATCH * speed,
        provider_usd_per_mtok=np.array([[1.0], [2.0], [4.0]]) * 100.0 / BATCH,
        reach={50: (np.exp(-wide / 2), np.exp(wide / 2)), 90: (np.exp(-wide), np.exp(wide))}, apart=(np.exp(-wide), np.exp(wide)),
    )  # fmt: skip
    return replace(made, **changes)


OWN = line("Opus 4.6 fast", 0.5, now_batch=4.0, home_batch=4.0)
OTHER = line()
MARKS = [
    Mark(0, 4.0, "Opus 4.6 fast now", "now"), Mark(1, 64.0, "Opus 4.6", "home"), Mark(1, 4.0, "Opus 4.6 fast, assumed", "tier"),
    Mark(1, 10.0, "2.62x as fast (105 tok/s)", "wanted"), Mark(0, 30.0, "limits met up to here", "slo"),
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_the_lines_are_the_data_and_the_figure_is_valid(mode):
    fig, narrow = frontier_figure([OWN, OTHER], MARKS, mode)
    go.Figure(fig.to_dict())  # Plotly's own check of every property
    go.Figure(fig.to_dict()).update_layout(narrow)
    for kind, drawn in (("scenario", OWN), ("reference", OTHER)):
        found = trace(fig, f"{kind}:line")
        np.testing.assert_array_equal(found.x, drawn.tokens_per_s)
        np.testing.assert_array_equal(found.y, drawn.tokens_per_s_per_chip)
        np.testing.assert_array_equal(np.asarray(found.customdata)[:, :2], np.column_stack([BATCH, drawn.cost]))
        assert found.line.color == getattr(theme.palette(mode), kind)


def test_a_band_moves_speed_and_output_together_and_closes_at_the_quoted_batch():
    fig, _narrow = frontier_figure([OTHER], [], "light")
    for level in (50, 90):
        band, (low, high) = trace(fig, f"scenario:band{level}"), OTHER.reach[level]
        np.testing.assert_allclose(band.x, np.concatenate([OTHER.tokens_per_s * low, (OTHER.tokens_per_s * high)[::-1]]))
        np.testing.assert_allclose(band.y / band.x, np.concatenate([BATCH / 8, BATCH[::-1] / 8]))
        assert (band.x[4], band.y[4]) == (40.0, 320.0)


def test_marks_stand_on_their_lines_and_one_beyond_the_end_is_left_out():
    fig, _narrow = frontier_figure([OWN, OTHER], [*MARKS, Mark(0, 500.0, "too large", "slo")], "light")
    at = {meta: (t.x[0], t.y[0]) for meta in metas(fig) if meta.startswith("mark:") for t in [trace(fig, meta)]}
    assert at["mark:now"] == (64.0, 32.0) and at["mark:home"] == (40.0, 320.0) and at["mark:tier"] == (128.0, 64.0)
    assert at["mark:wanted"] == (104.0, pytest.approx(64 + 0.5 * 96)) and len(at) == 5
    assert trace(fig, "mark:now").marker.symbol == "circle" and trace(fig, "mark:tier").marker.symbol == "circle-open"


def test_costs_stand_at_the_dots_and_in_the_marks_away_from_the_batch_of_the_preset():
    fig, _narrow = frontier_figure([OTHER], [Mark(0, 64.0, "Opus 4.6 now", "now"), Mark(0, 4.0, "Opus 4.6 fast, assumed", "tier")], "light")
    # 64 x 40 over 4 x 128, and over 1 x 200 and 16 x 80
    assert [plain(text) for text in noted(layout_of(fig), "tier")] == ["Opus 4.6 fast, assumed: batch 4, cost 5x"]
    assert [plain(text) for text in noted(layout_of(fig), "now")] == ["Opus 4.6 now: batch 64"]
    assert {"1: 12.8x", "16: 2x"} <= set(noted(layout_of(fig), "dot"))
    dots = trace(fig, "scenario:dots")
    assert dots.x.tolist() == [200.0, 80.0]  # 4 and 64 are marked


def test_the_hover_gives_cost_and_the_range_of_the_provider_cost_where_it_is_known():
    fig, _narrow = frontier_figure([OTHER], [], "light")
    template = trace(fig, "scenario:line").hovertemplate
    assert "tok/s per B200" in template and "that at batch 64" in template and "USD per Mtok" in template
    np.testing.assert_array_equal(np.asarray(trace(fig, "scenario:line").customdata)[2], [4.0, 5.0, 25.0, 50.0, 100.0])
    unpriced = line(provider_usd_per_mtok=np.full((3, 6), np.nan))
    fig, _narrow = frontier_figure([unpriced], [], "light")
    assert "USD" not in trace(fig, "scenario:line").hovertemplate


def test_two_kinds_of_chip_are_named_on_the_axis():
    wafers = line("Codex-Spark", 4.0, part="WSE-3", wafer=True, chips=23.0)
    fig, narrow = frontier_figure([wafers, OTHER], [], "light")
    assert layout_of(fig)["yaxis"]["title"]["text"] == "output tok/s per WSE-3 wafer or B200"
    key = plain(noted(layout_of(fig), "key")[0]).replace("\u00a0", " ")
    assert "Codex-Spark, 23 WSE-3 wafers" in key and "Opus 4.6, 8 B200" in key
    assert plain(narrow["annotations"][0]["text"]).startswith("\u25a0")


def test_axes_hold_all_bands_and_do_not_move_with_a_mark():
    one, two = (layout_of(frontier_figure([OWN, OTHER], marks, "light")[0]) for marks in ([], MARKS))
    for axis, figure in (("xaxis", "tokens_per_s"), ("yaxis", "tokens_per_s_per_chip")):
        low, high = 10.0 ** np.array(one[axis]["range"])
        for drawn in (OWN, OTHER):
            values = getattr(drawn, figure)
            assert low <= (values * drawn.reach[90][0]).min() * (1 + 1e-9) and high >= (values * drawn.reach[90][1]).max() * (1 - 1e-9)
        assert list(one[axis]["range"]) == list(two[axis]["range"])


@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("lines", [[OTHER], [OWN, OTHER]])
def test_no_text_covers_another(lines, scale):
    marks = [mark if len(lines) == 2 else replace(mark, line=0) for mark in MARKS[-3:] + MARKS[:2]]
    fig, narrow = frontier_figure(lines, marks, "light", scale=scale)
    assert no_overlap(fig, narrow, (HEIGHT, HEIGHT_NARROW), scale) > 20


def test_without_a_line_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no line"):
        frontier_figure([], [], "light")


def test_a_batch_is_written_to_the_request_and_below_two_to_a_tenth():
    assert [batch_text(v) for v in (1.0, 1.26, 2.4, 10.93)] == ["1", "1.3", "2", "11"]
