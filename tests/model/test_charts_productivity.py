"""The figures of the Productivity page: break-even map, tornado, chain of speed-ups, throughput, and the bars' whiskers."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.utils import PlotlyJSONEncoder

from fastmode.charts import break_even, labels, speed_chain, task_time, theme, throughput, tornado
from fastmode.charts.break_even import MapPoint, break_even_figure, crossing, tones
from fastmode.charts.speed_chain import Link, speed_chain_figure
from fastmode.charts.task_time import TaskBar, task_time_figure
from fastmode.charts.throughput import Stream, throughput_figure
from fastmode.charts.tornado import Swing, tornado_figure
from fastmode.productivity import task
from fastmode.productivity_csv import task_inputs
from tests.model.test_charts import CODEX, MODES, SPARK, layout_of, noted, plain

EXAMPLES = pd.read_csv(Path(__file__).parents[1] / "data" / "productivity_examples.csv")
DEFAULT = task_inputs(EXAMPLES.iloc[0])
WIDTHS = {"wide": (760, 1040, 1900), "narrow": (theme.NARROWEST_PX, 358, 740)}


def trace(fig: go.Figure, meta: str):
    """The only trace of that meta."""
    (found,) = (t for t in fig.data if t.meta == meta)
    return found


def metas(fig: go.Figure) -> list[str]:
    return [t.meta for t in fig.data]


def decoded(fig: go.Figure) -> dict:
    """The figure's layout with its arrays as lists."""
    return json.loads(json.dumps(fig._layout, cls=PlotlyJSONEncoder))


def boxes(layout: dict, width: float, height: float) -> list[theme.Box]:
    """Room of the texts inside the plot of a figure of that size, px; letters at half their size, narrower than they are."""
    margin, found = layout["margin"], []
    width, height = width - margin["l"] - margin["r"], height - margin["t"] - margin["b"]
    for note in layout["annotations"]:
        if str(note["xref"]).endswith(" domain"):
            rows, size = note["text"].split("<br>"), note["font"]["size"]
            long = max(0.5 * size * len(plain(row)) for row in rows)
            across, up = (note["ax"], -note["ay"]) if note["showarrow"] else (note["xshift"], note["yshift"])
            at = note["x"] * width + across, note["y"] * height + up
            found.append(theme.Box.around(*at, long, size * len(rows)))
    return found


def no_overlap(fig: go.Figure, narrow: dict, heights: tuple[int, int], scale: float = 1.0) -> int:
    """Number of texts looked at; fails where two share room at any width of its layout."""
    seen, wide = 0, WIDTHS["wide"] if scale == 1.0 else (labels.PRESENTED_PX, 1456, 1900)
    for layout, height, widths in ((layout_of(fig), scale * heights[0], wide), (narrow, heights[1], WIDTHS["narrow"])):
        for width in widths:
            found = boxes(layout, width, height)
            assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2)), width
            seen += len(found)
    return seen


# Break-even map


def whole_wait(k, **more):
    """The default set with its whole wait divided by k."""
    of_time = {name: getattr(DEFAULT, name) / k for name in ("ttft_s", "handshake_s", "start_delay_s", "tool_time_s")}
    return replace(DEFAULT, tokens_per_s=DEFAULT.tokens_per_s * k, **of_time, **more)


X, Y = np.geomspace(1, 30, 40), np.linspace(-0.05, 0.3, 36)


def field(x: np.ndarray = X, y: np.ndarray = Y, **more) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fast = whole_wait(x[None, :], error_rate=0.25 + y[:, None], **more)
    slow = task(replace(DEFAULT, **more)).time_per_task_s
    return x, y, task(fast).time_per_task_s / slow - 1.0


NOW = MapPoint("Codex-Spark", "now", 2.616, 0.197, 0.077, 0.327, 0.340, 15.385)
POINTS = [
    NOW,
    MapPoint("claim: +20 points", "claim", 6, 0.20, change=0.294),
    MapPoint("claim: errors x1.2", "claim", 6, 0.05, change=-0.052),
    MapPoint("Opus 4.6 fast", "published", 1.563, 0.0, change=-0.059, token_speed_up=2.5),
    MapPoint("GPT-5 less thinking", "published", 3.109, 0.067, 0.03, 0.10, 0.022),
]
TICKS = [(1.0, "1x"), (1.429, "2x"), (1.819, "4x"), (2.174, "10x"), (2.274, "15x"), (2.382, "30x"), (2.4612, "100x")]


def draw_map(points=POINTS, mode="light", limit=2.501, of=None, **more) -> tuple[go.Figure, dict]:
    return break_even_figure(*(of or field()), points, TICKS, mode, limit=limit, **more)


def test_crossing_is_linear_between_rows_and_goes_on_beyond_them():
    y = np.array([0.0, 10.0, 20.0])
    change = np.array([[-0.1, 0.1, -0.5, 0.2, np.nan, np.nan], [0.1, 0.3, -0.3, 0.2, -0.1, 0.1], [0.3, 0.5, -0.1, 0.2, 0.1, 0.3]])
    # the fourth column does not rise; the last reaches 0 only where nothing is known
    np.testing.assert_allclose(crossing(y, change), [5.0, -5.0, 25.0, np.nan, 15.0, np.nan], atol=1e-12)
    np.testing.assert_allclose(crossing(y, change, 0.2), [15.0, 5.0, 35.0, np.nan, 25.0, 15.0], atol=1e-12)


@pytest.mark.parametrize(("k", "points"), [(1.5, 2.59), (2, 4.00), (2.5, 4.91), (4, 6.43), (6, 7.38), (10, 8.23), (15, 8.69)])
def test_the_break_even_line_of_the_default_task_is_the_published_one(k, points):
    _x, y, change = field(np.array([1.0, k]))
    assert crossing(100 * y, change)[1] == pytest.approx(points, abs=0.006)


def test_the_map_holds_the_field_in_percent_and_the_lines_of_equal_change():
    x, y, change = field()
    fig, _narrow = draw_map()
    drawn = trace(fig, "field")
    np.testing.assert_allclose(drawn.x, x)
    np.testing.assert_allclose(drawn.y, 100 * y)
    np.testing.assert_allclose(drawn.z, 100 * change, rtol=1e-5, atol=1e-5)
    for level in (-0.4, -0.2, 0.0, 0.2, 0.4):
        np.testing.assert_allclose(trace(fig, f"contour:{level:g}").y, crossing(100 * y, change, level))
    assert trace(fig, "contour:0").line.width >= 3 * trace(fig, "contour:0.2").line.width
    assert set(noted(layout_of(fig), "contour")) == {"<b>break-even</b>", "+20 %", "-20 %", "+40 %"}


def test_a_map_without_break_even_has_no_such_label():
    _x, _y, change = field()
    fig, narrow = draw_map(of=(*field()[:2], np.abs(change) + 0.05))
    assert "<b>break-even</b>" not in noted(layout_of(fig), "contour") + noted(narrow, "contour")


@pytest.mark.parametrize("mode", MODES)
def test_tones_go_from_better_over_the_ground_to_worse(mode):
    colors, scale = theme.palette(mode), tones(mode)
    assert [scale[0][0], scale[-1][0], len(scale)] == [0, 1, 24]
    assert [edge for edge, _tone in scale[2::2]] == pytest.approx([k / 12 for k in range(1, 12)])
    shades = [tone for _edge, tone in scale[::2]]

    def towards(color: str, tone: str) -> float:
        rgb = [np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)], float) for c in (color, colors.ground, tone)]
        share = (rgb[2] - rgb[1]) @ (rgb[0] - rgb[1]) / np.sum((rgb[0] - rgb[1]) ** 2)
        np.testing.assert_allclose(rgb[1] + share * (rgb[0] - rgb[1]), rgb[2], atol=1.0)
        return share

    worse = [towards(colors.worse, tone) for tone in shades[6:]]
    better = [towards(colors.better, tone) for tone in shades[5::-1]]
    assert worse == pytest.approx(better, abs=0.01)
    assert worse[0] < 0.06 and all(np.diff(worse) > 0.05)
    for ink in (colors.text, colors.published):  # lines and marks stay visible on every tone
        assert min(theme.contrast(ink, tone) for tone in shades) >= 3.0
    assert layout_of(draw_map(mode=mode)[0])["coloraxis"]["cmin"] == -60.0


def test_colour_ends_are_fixed_whatever_the_field_holds():
    x, y, change = field()
    for of in ((x, y, change), (x, y, 10 * change)):
        layout = layout_of(draw_map(of=of)[0])
        assert (layout["coloraxis"]["cmin"], layout["coloraxis"]["cmax"]) == (-60.0, 60.0)
        assert layout["xaxis"]["range"] == pytest.approx([0, math.log10(30)])
        assert layout["yaxis"]["range"] == pytest.approx([-5, 30])


@pytest.mark.parametrize("mode", MODES)
def test_points_stand_where_they_belong_in_the_look_of_their_kind(mode):
    colors = theme.palette(mode)
    fig, _narrow = draw_map(mode=mode)
    now, claim, published = (trace(fig, kind) for kind in ("now", "claim", "published"))
    assert (list(now.x), list(now.y), now.marker.color) == ([2.616], pytest.approx([19.7]), colors.scenario)
    assert (list(claim.y), set(claim.marker.symbol)) == (pytest.approx([20, 5]), {"diamond"})
    assert (list(published.x), published.marker.color) == (pytest.approx([1.563, 3.109]), colors.ground)
    assert published.marker.line.color == colors.published
    band = trace(fig, "band:now")
    np.testing.assert_allclose(band.y[:2], [7.7, 32.7])
    assert "band:claim" not in metas(fig)
    assert now.hovertext[0].split("<br>") == [
        "<b>Codex-Spark</b>", "whole wait: 2.62x", "tokens: 15.4x", "extra error: +19.7 points (90 %: 7.7 to 32.7)",
        "time per accepted task: +34 %",
    ]  # fmt: skip


def test_a_thin_line_leads_from_the_wait_to_the_tokens():
    fig, narrow = draw_map()
    line, ends = trace(fig, "tokens"), trace(fig, "token ends")
    np.testing.assert_allclose(line.x[[0, 1, 3, 4]], [2.616, 15.385, 1.563, 2.5])
    np.testing.assert_allclose(line.y[[0, 1, 3, 4]], [19.7, 19.7, 0, 0])
    assert list(ends.x) == pytest.approx([15.385, 2.5])
    assert set(noted(layout_of(fig), "tokens")) == {"15.4x tokens", "Opus 4.6 fast: 2.5x tokens"}
    assert noted(narrow, "tokens") == ["15.4x tokens"]  # a phone has room for the scenario's own
    fig, _narrow = draw_map([replace(NOW, token_speed_up=400.0)])
    assert trace(fig, "token ends").x[0] == 30 and noted(layout_of(fig), "tokens") == ["400x tokens"]
    fig, _narrow = draw_map([replace(NOW, token_speed_up=math.nan)])
    assert "tokens" not in metas(fig)


CLUSTER = [  # published pairs of the default scenario: six at the left, four of them on one line
    MapPoint("Opus 4.6 fast", "published", 1.589, 0.0, change=-0.061, token_speed_up=2.615),
    MapPoint("Sonnet 4.6", "published", 1.206, 0.054, -0.107, 0.276, 0.088, 1.466),
    MapPoint("GPT-5.6 Sol on Cerebras", "published", 1.992, 0.0, change=-0.079, token_speed_up=9.615),
    MapPoint("GPT-6 Astra fast", "published", 1.562, 0.0, change=-0.078, token_speed_up=1.96),
    MapPoint("GPT-6 Astra Ultrafast", "published", 2.840, 0.0, change=-0.146, token_speed_up=8.499),
    MapPoint("Gemini 3 Flash", "published", 1.364, 0.031, -0.123, 0.248, 0.032, 1.77),
]


def crossed(note: dict, found: list[theme.Box], width: float, height: float) -> bool:
    """True where the line from a text to its point runs through another text."""
    x, y = note["x"] * width, note["y"] * height
    steps = np.linspace(0, 1, 200)
    along_x, along_y = x + steps * note["ax"], y - steps * note["ay"]
    inside = [(along_x > b.left) & (along_x < b.right) & (along_y > b.bottom) & (along_y < b.top) for b in found]
    return sum(np.any(hits) for hits in inside) > 1  # it ends in its own


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_points_close_together_are_named_with_lines_that_lead_to_them(scale):
    fig, narrow = draw_map([*POINTS[:3], *CLUSTER], scale=scale)
    layout, wide = layout_of(fig), 760 if scale == 1.0 else labels.PRESENTED_PX
    texts = [plain(text) for text in noted(layout, "published")]
    unnamed = [point.label for point in CLUSTER if not any(text.startswith(point.label) for text in texts)]
    assert len(texts) >= 5 and set(unnamed) <= {"Opus 4.6 fast", "GPT-6 Astra fast"}  # these two marks lie on each other
    led = [note for note in layout["annotations"] if note["showarrow"]]
    size = wide, scale * break_even.HEIGHT
    plot = size[0] - layout["margin"]["l"] - layout["margin"]["r"], size[1] - layout["margin"]["t"] - layout["margin"]["b"]
    assert led and not any(crossed(note, boxes(layout, *size), *plot) for note in led)
    assert no_overlap(fig, narrow, (break_even.HEIGHT, break_even.HEIGHT_NARROW), scale) > 30


def test_the_end_of_a_token_line_is_written_only_for_points_with_a_name_and_for_two_at_most():
    fig, narrow = draw_map([*POINTS[:3], *CLUSTER])
    own, *others = sorted(noted(layout_of(fig), "tokens"))
    assert own == "15.4x tokens" and 1 <= len(others) <= 2
    names = [plain(text) for text in noted(layout_of(fig), "published")]
    assert all(any(name.startswith(text.partition(":")[0]) for name in names) for text in others)
    assert noted(narrow, "tokens") == ["15.4x tokens"]


def test_both_readings_of_the_claim_have_their_label_on_a_phone():
    claims = [replace(POINTS[1], label="6x faster, +20 points"), replace(POINTS[2], label="6x faster, 1.2x errors")]
    _fig, narrow = draw_map([NOW, *claims, *CLUSTER])
    assert [plain(text) for text in noted(narrow, "claim")] == ["6x faster, +20 points +29 %", "6x faster, 1.2x errors -5.2 %"]


def test_every_label_carries_its_change_in_the_colour_of_better_or_worse():
    colors = theme.palette("light")
    fig, _narrow = draw_map([*POINTS, MapPoint("twin", "published", 12.0, 0.09, change=0.001)])
    (now,), claims = noted(layout_of(fig), "now"), noted(layout_of(fig), "claim")
    assert plain(now) == "Codex-Spark +34 %" and colors.worse in now
    assert [plain(text) for text in claims] == ["claim: +20 points +29 %", "claim: errors x1.2 -5.2 %"]
    assert colors.better in claims[1]
    twin = next(text for text in noted(layout_of(fig), "published") if "twin" in text)
    assert colors.worse not in twin and colors.better not in twin  # the same within half a percent


def test_a_point_beyond_the_map_is_an_arrow_on_its_edge():
    far = [
        replace(NOW, extra_error=0.6),
        MapPoint("far right", "claim", 90, 0.1, change=0.1),
        MapPoint("below", "published", 2, -0.2, change=-0.4),
        MapPoint("no speed", "published", math.nan, 0.1, change=0.1),
    ]
    fig, _narrow = draw_map(far)
    now, claim, published = (trace(fig, kind) for kind in ("now", "claim", "published"))
    assert (now.y[0], now.marker.symbol[0]) == (30, "triangle-up")
    assert (claim.x[0], claim.marker.symbol[0]) == (30, "triangle-right")
    assert (list(published.y), list(published.marker.symbol)) == ([-5], ["triangle-down"])
    assert "+60 points" in now.hovertext[0]
    assert len(noted(layout_of(fig), "now")) == 1


def test_texts_of_the_map_do_not_cover_each_other_at_any_width():
    rng = np.random.default_rng(7)
    crowd = [
        MapPoint(f"option number {i}", "published", x, y, y - 0.03, y + 0.04, 0.1, x * t)
        for i, (x, y, t) in enumerate(zip(rng.uniform(1.2, 4, 10), rng.uniform(-0.03, 0.2, 10), rng.uniform(1, 4, 10), strict=True))
    ]
    for scale in (1.0, 1.3):
        for points in (POINTS, [*POINTS, *crowd], [replace(NOW, extra_error=0.7), *POINTS[1:], *crowd]):
            fig, narrow = draw_map(points, scale=scale)
            assert no_overlap(fig, narrow, (break_even.HEIGHT, break_even.HEIGHT_NARROW), scale) > 30


def test_the_scale_of_token_speeds_stands_above_and_leaves_out_what_has_no_room():
    fig, narrow = draw_map()
    for layout, width in ((decoded(fig), 760), (narrow, theme.NARROWEST_PX)):
        axis, plot = layout["xaxis2"], width - layout["margin"]["l"] - layout["margin"]["r"]
        assert (axis["side"], axis["overlaying"], axis["range"]) == ("top", "x", layout["xaxis"]["range"])
        assert [{text: x for x, text in TICKS}[text] for text in axis["ticktext"]] == pytest.approx(list(axis["tickvals"]))
        for axis in (layout["xaxis"], layout["xaxis2"]):
            at = np.log(axis["tickvals"]) / math.log(30) * plot
            half = [theme.text_width_px(text, axis["tickfont"]["size"]) / 2 for text in axis["ticktext"]]
            assert all(b - hb >= a + ha for (a, ha), (b, hb) in itertools.pairwise(zip(at, half, strict=True)))
        assert len(noted(layout, "scale")) == 1
    assert list(layout_of(fig)["xaxis2"]["ticktext"]) == ["1x", "2x", "4x", "10x"]
    fig, _narrow = break_even_figure(*field(), POINTS, [], "light")
    assert noted(layout_of(fig), "scale") == [] and "limit" not in metas(fig)


def test_the_limit_of_faster_tokens_is_a_dashed_line_with_its_value():
    fig, narrow = draw_map()
    line = trace(fig, "limit")
    assert (list(line.x), list(line.y), line.line.dash) == ([2.501] * 2, [-5, 30], "dash")
    assert noted(layout_of(fig), "limit") == ["tokens alone: at most 2.5x"]
    assert noted(narrow, "limit") == ["tokens alone:<br>at most 2.5x"]
    for nowhere in (math.nan, math.inf, 31.0):
        assert "limit" not in metas(draw_map(limit=nowhere)[0])


def test_a_field_of_another_shape_is_refused():
    x, y, change = field()
    with pytest.raises(ValueError, match=r"\(40, 36\)"):
        break_even_figure(x, y, change.T, POINTS, TICKS, "light")


def test_a_place_is_clear_only_inside_and_off_every_text():
    axis = theme.Axis(0, 100, False, np.array([0]), ["0"])
    pen = labels.Writer(axis, axis, 100, 100, 12, theme.palette("light"), 1.0, "", np.empty((0, 2)), [])
    pen.taken.append(theme.Box.around(50, 50, 20, 10))
    off, on, out = (theme.Box.around(x, 50, 20, 10) for x in (75, 60, 95))
    assert [labels.clear(pen, box) for box in (off, on, out)] == [True, False, False]
    assert labels.clear_place(pen, [out, on, off]) == off
    assert labels.clear_place(pen, [out, on]) is None


def test_a_name_is_not_put_nearer_to_another_point():
    axis = theme.Axis(0, 200, False, np.array([0]), ["0"])
    pen = labels.Writer(axis, axis, 200, 200, 12, theme.palette("light"), 1.0, "", np.empty((0, 2)), [])
    alone, beside = (labels.place_near(pen, (100, 100), marks, "name") for marks in ([(100, 100)], [(100, 100), (100, 130)]))
    assert alone.bottom == 110  # above, the first choice
    assert beside.top == 90  # below: 12 px from the point, not 4 from the other
    around = [(100 + dx, 100 + dy) for dx in (-30, 0, 30) for dy in (-22, 0, 22)]
    assert labels.place_near(pen, (100, 100), around, "name") is None
    assert labels.place_near(pen, (100, 100), around, "name", must=True) is not None


# Tornado

SWINGS = [
    Swing("Cost of an escaped error", "1 fix", "15 fixes", 0.148, 0.709, "below 0.02 fixes"),
    Swing("Lines to review", "20", "200", 0.40, 0.22, "not within 0 to 5 000"),
    Swing("Error of the reference", "10 %", "50 %", 0.155, 0.29),
    Swing("Prices", "low", "high", 0.34, 0.34),
    Swing("Wait used for other work", "0 %", "80 %", 0.34, 0.47),
]


def test_tornado_bars_start_at_now_and_end_at_the_changes():
    fig, _narrow = tornado_figure(SWINGS, 0.34, "light")
    for meta, name in (("low", "change_low"), ("high", "change_high")):
        bars = trace(fig, meta)
        np.testing.assert_allclose(bars.base, 34.0)
        np.testing.assert_allclose(bars.base + bars.x, [100 * getattr(row, name) for row in SWINGS])
        assert list(bars.y) == [0, 1, 2, 3, 4]
    assert trace(fig, "low").hovertext[0] == "Cost of an escaped error 1 fix: +15 % time per accepted task"
    assert trace(fig, "high").hovertext[2] == "Error of the reference 50 %: +29 % time per accepted task"
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]  # first row on top


def test_a_row_with_both_ends_on_one_side_is_split_lengthwise():
    fig, _narrow = tornado_figure(SWINGS, 0.34, "light")
    low, high = trace(fig, "low"), trace(fig, "high")
    spans = [(bar.y[i] + bar.offset[i], bar.y[i] + bar.offset[i] + bar.width[i]) for bar in (low, high) for i in (0, 2)]
    assert spans[0] == spans[2] == pytest.approx((-0.28, 0.28))  # ends on both sides: one bar of full height
    assert spans[1] == pytest.approx((1.72, 2.0)) and spans[3] == pytest.approx((2.0, 2.28))
    shifts = [note["yshift"] for note in layout_of(fig)["annotations"] if note["name"] in ("low", "high") and note["y"] == 2]
    assert shifts[0] > 10 - shifts[0] and shifts[1] == -shifts[0]  # the texts are a line apart


def test_the_ends_of_a_bar_are_two_tones_of_one_hue_named_in_the_key():
    colors = theme.palette("dark")
    fig, narrow = tornado_figure(SWINGS, 0.34, "dark")
    assert trace(fig, "high").marker.color == colors.scenario
    assert trace(fig, "low").marker.color == theme.translucent(colors.scenario, 0.45)
    for layout in (layout_of(fig), narrow):
        (key,) = noted(layout, "key")
        assert plain(key).replace("\u00a0", " ").startswith("\u25a0 at its low value   \u25a0 at its high value")


def ends_px(layout: dict, width: float) -> list[tuple[float, float, str]]:
    """(start, stop, text) of every value beside a bar, px from the left edge of the plot."""
    low, high = layout["xaxis"]["range"]
    plot, found = width - layout["margin"]["l"] - layout["margin"]["r"], []
    for note in layout["annotations"]:
        if note["name"] in ("low", "high"):
            at = (note["x"] - low) / (high - low) * plot + note["xshift"]
            long = theme.text_width_px(note["text"], note["font"]["size"])
            found.append((at, at + long, note["text"]) if note["xanchor"] == "left" else (at - long, at, note["text"]))
    return found


def test_values_stand_outside_their_ends_and_within_the_axis():
    fig, narrow = tornado_figure(SWINGS, 0.34, "light")
    for layout, width in ((layout_of(fig), 760), (narrow, theme.NARROWEST_PX)):
        plot = width - layout["margin"]["l"] - layout["margin"]["r"]
        assert all(start >= 0 and stop <= plot for start, stop, _text in ends_px(layout, width))
        anchors = {note["text"]: note["xanchor"] for note in layout["annotations"] if note["name"] in ("low", "high")}
        sides = ("1 fix", "15 fixes", "20", "200", "10 %", "50 %", "low", "high", "0 %", "80 %")
        assert [anchors[text] for text in sides] == [
            "right", "left", "left", "right", "right", "right", "right", "left", "right", "left",
        ]  # fmt: skip


def test_the_axis_of_the_tornado_moves_in_steps_and_holds_zero_and_now():
    for now in (0.34, 0.341, 0.0, -0.3):
        fig, narrow = tornado_figure(SWINGS[:2], now, "light")
        for layout in (layout_of(fig), narrow):
            low, high = layout["xaxis"]["range"]
            assert low <= min(0, 100 * now) and high >= max(70.9, 100 * now)
            assert [low % 20, high % 20] == pytest.approx([0, 0], abs=1e-9)
    same = [layout_of(tornado_figure(SWINGS[:2], now, "light")[0])["xaxis"]["range"] for now in (0.34, 0.345)]
    assert same[0] == same[1]


EXTREME = [replace(SWINGS[0], change_high=1500.0), *SWINGS[1:]]


def test_a_bar_far_longer_than_the_others_is_cut_with_its_value_at_the_edge():
    fig, narrow = tornado_figure(EXTREME, 0.34, "light")
    for layout in (layout_of(fig), narrow):
        high = layout["xaxis"]["range"][1]
        assert high <= 300
        (cut,) = [note for note in layout["annotations"] if "\u25b8" in note["text"] and note["name"] == "high"]
        assert (cut["text"], cut["x"], cut["xanchor"]) == ("15 fixes:<br>+150\u202f000 % \u25b8", high, "right")
    assert trace(fig, "high").hovertext[0] == "Cost of an escaped error 15 fixes: +150\u202f000 % time per accepted task"
    both = [replace(SWINGS[2], change_low=20.0, change_high=30.0), *SWINGS[:2]]
    texts = noted(layout_of(tornado_figure(both, 0.34, "light")[0]), "high")
    assert texts[0] == "50 %: +3\u202f000 % \u25b8"  # the two share the height of the bar


@pytest.mark.parametrize(
    ("highs", "now", "cap"),
    [
        ((0.7, 0.5, 0.4), 0.3, 1.0),
        ((9.0, 0.5, 0.4), 0.3, 1.0),
        ((9.0, 4.0, 2.0), 0.3, 2.0),
        ((9.0, 8.0, 7.0), 0.3, 3.0),
        ((1.4, 0.5, 0.4), 0.3, 1.4),  # too little beyond 1 to be worth a cut
        ((9.0, 8.0, 7.0), 4.0, 6.0),
        ((), -0.2, 1.0),
    ],
)
def test_bars_are_cut_at_the_third_longest_within_limits_and_beyond_now(highs, now, cap):
    ends = np.array([(0.0, high) for high in highs]).reshape(-1, 2)
    assert tornado._View(theme.palette("light"), [], ends, now).cap() == pytest.approx(cap)


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_a_name_without_room_at_the_left_has_two_lines(scale):
    label = "Whether the benchmark's gap holds on this task"
    layout = layout_of(tornado_figure([replace(SWINGS[0], label=label), SWINGS[1]], 0.34, "light", scale=scale)[0])
    long, short = (note for note in layout["annotations"] if note["name"] == "head")
    lines = long["text"].split("<br>")
    assert (" ".join(lines), len(lines), short["text"]) == (label, 2, "Lines to review")
    assert all(theme.text_width_px(line, long["font"]["size"]) <= layout["margin"]["l"] - 8 for line in lines)


def test_in_a_presentation_the_bars_of_the_tornado_keep_their_room():
    long = [replace(row, label=f"{row.label} of the whole team", low_text="80 000 tokens", high_text="300 tokens") for row in SWINGS]
    for rows in (SWINGS, long):
        low, high = layout_of(tornado_figure(rows, 0.34, "light", scale=1.3)[0])["xaxis"]["range"]
        assert -100 <= low and high <= 160


def test_values_have_the_ground_behind_them_and_no_time_below_none_is_marked():
    fig, narrow = tornado_figure(SWINGS, 0.34, "dark")
    for layout in (decoded(fig), narrow):
        grounds = {note.get("bgcolor") for note in layout["annotations"] if note["name"] in ("low", "high")}
        assert grounds == {"rgba(14,17,22,0.85)"}
        assert min(layout["xaxis"]["tickvals"]) >= -100 and len(layout["xaxis"]["tickvals"]) >= 2


def test_zero_reads_same_time_and_now_is_named():
    fig, narrow = tornado_figure(SWINGS, 0.34, "light")
    colors = theme.palette("light")
    for layout in (decoded(fig), narrow):
        ticks = dict(zip(layout["xaxis"]["tickvals"], layout["xaxis"]["ticktext"], strict=True))
        assert ticks[0] == "same time"
        assert noted(layout, "now") == ["<b>now +34 %</b>"]
        lines = {shape["x0"] for shape in layout["shapes"] if shape["type"] == "line"}
        assert lines == {0.0, 34.0}
        sides = [(shape["x0"], shape["x1"], shape["fillcolor"]) for shape in layout["shapes"] if shape["type"] == "rect"]
        low, high = layout["xaxis"]["range"]
        assert sides == [(low, 0.0, theme.translucent(colors.better, 0.09)), (0.0, high, theme.translucent(colors.worse, 0.09))]


def test_where_the_verdict_changes_stands_at_the_right():
    fig, narrow = tornado_figure(SWINGS, 0.34, "light")
    for layout in (layout_of(fig), narrow):
        flips = [note for note in layout["annotations"] if note["name"] == "flip"]
        assert [(note["text"], note["xanchor"]) for note in flips] == [
            ("below 0.02 fixes", "right"), ("not within 0 to 5 000", "right"),
        ]  # fmt: skip
    wide = layout_of(fig)
    assert wide["margin"]["r"] >= theme.text_width_px("not within 0 to 5 000", flips[0]["font"]["size"])


def test_no_line_of_the_tornado_runs_through_a_name_on_a_phone():
    _fig, narrow = tornado_figure(SWINGS, 0.34, "light")
    heights = tornado.heights(len(SWINGS))[1] - narrow["margin"]["t"] - narrow["margin"]["b"]
    per_row = heights / (narrow["yaxis"]["range"][0] - narrow["yaxis"]["range"][1])
    names = [note for note in narrow["annotations"] if note["name"] == "head"]
    stops = [shape["y1"] for shape in narrow["shapes"] if shape["type"] == "line" and shape["x0"] == 34.0]
    assert len(names) == len(stops) == 5
    for above, name in zip(stops, names[1:], strict=False):  # from the end of a line down to the next bar
        assert (name["y"] - above) * per_row >= name["font"]["size"]


def test_a_tornado_of_more_rows_than_can_be_read_or_of_unknown_ends_is_refused():
    assert tornado.heights(tornado.MAX_ROWS) == (tornado.HEIGHT, tornado.HEIGHT_NARROW)
    with pytest.raises(ValueError, match="13 rows"):
        tornado_figure([SWINGS[0]] * 13, 0.34, "light")
    for rows, now in (([replace(SWINGS[0], change_low=math.nan)], 0.3), (SWINGS, math.nan)):
        with pytest.raises(ValueError, match="both ends"):
            tornado_figure(rows, now, "light")


# Chain of speed-ups

# Worked examples A and I: 65 against 1,000 tok/s with the shorter first token and handshake, 25 % against 44.7 % errors.
CHAIN = [
    Link("writing tokens", 123.077, 8.0, 15.385),
    Link("the whole wait: + calls and tools", 205.077, 78.4, 2.616),
    Link("time lost to it (attention)", 262.753, 119.211, 2.204),
    Link("first attempt with review", 832.753, 689.211, 1.208),
    Link("whole task with corrections", 1539.966, 2063.856, 0.746),
]


def test_the_chain_falls_from_tokens_to_the_task_as_ratios_from_no_gain():
    fig, narrow = speed_chain_figure(CHAIN, "light")
    colors, bars = theme.palette("light"), trace(fig, "chain")
    np.testing.assert_allclose(bars.base, 1.0)
    np.testing.assert_allclose(bars.base + bars.x, [15.385, 2.616, 2.204, 1.208, 0.746])
    assert list(bars.marker.color) == [colors.scenario] * 4 + [colors.worse]
    assert bars.hovertext[1] == "the whole wait: + calls and tools: 2.62x (3.42 min \u2192 1.31 min)"
    for layout in (layout_of(fig), narrow):
        assert [plain(text) for text in noted(layout, "ratio")] == ["15.4x", "2.62x", "2.2x", "1.21x", "0.746x"]
        inks = [note["font"]["color"] for note in layout["annotations"] if note["name"] == "ratio"]
        assert inks == [colors.scenario] * 4 + [colors.worse]
        assert layout["xaxis"]["type"] == "log" and "1x" in layout["xaxis"]["ticktext"]
        assert noted(layout, "one") == ["no gain"]
        at = [note["x"] for note in layout["annotations"] if note["name"] == "ratio"]
        assert at == pytest.approx([math.log10(v) for v in (15.385, 2.616, 2.204, 1.208, 1.0)])


def test_the_chain_says_the_times_under_the_names_in_every_row():
    fig, narrow = speed_chain_figure(CHAIN, "light")
    for layout in (layout_of(fig), narrow):
        heads = [plain(text.replace("<br>", "|")) for text in noted(layout, "head")]
        assert heads[0] == "writing tokens|2.05 min \u2192 8 s" and heads[4] == "whole task with corrections|25.7 min \u2192 34.4 min"
        places = {(n["xref"], n["x"], n["xanchor"], n["xshift"]) for n in layout["annotations"] if n["name"] == "head"}
        assert len(places) == 1


def test_names_and_times_fit_between_the_bars_of_a_phone():
    _fig, narrow = speed_chain_figure(CHAIN, "light")
    height = speed_chain.HEIGHT_NARROW - narrow["margin"]["t"] - narrow["margin"]["b"]
    row_px = height / (narrow["yaxis"]["range"][0] - narrow["yaxis"]["range"][1])
    two_lines = 1.3 * (2 * note_of(narrow, "head")["font"]["size"] - 1) + note_of(narrow, "head")["yshift"]
    assert (1 - trace(_fig, "chain").width) * row_px >= two_lines
    assert (-narrow["yaxis"]["range"][1] - trace(_fig, "chain").width / 2) * row_px >= two_lines


def test_the_axis_of_the_chain_moves_in_steps_and_leaves_room_for_the_ratio():
    ranges = [layout_of(speed_chain_figure([replace(CHAIN[0], ratio=r), *CHAIN[1:]], "light")[0])["xaxis"]["range"] for r in (12.5, 15.4)]
    assert ranges[0] == ranges[1]
    for links in (CHAIN, [Link("a", 10, 1, 20.0)], [Link("a", 10, 1000, 0.01)], [Link("a", 3.6e7, 1, 3.6e7)]):
        fig, narrow = speed_chain_figure(links, "light")
        for layout, width in ((layout_of(fig), 760), (narrow, theme.NARROWEST_PX)):
            low, high = layout["xaxis"]["range"]
            assert low <= min(math.log10(link.ratio) for link in links) and low < 0
            plot = width - layout["margin"]["l"] - layout["margin"]["r"]
            for note in (n for n in layout["annotations"] if n["name"] == "ratio"):
                stop = (note["x"] - low) / (high - low) * plot + note["xshift"]
                assert stop + theme.text_width_px(plain(note["text"]), note["font"]["size"], bold=True) <= plot


def test_a_step_that_is_not_known_has_no_bar_and_a_dash():
    fig, _narrow = speed_chain_figure([replace(CHAIN[0], before_s=math.nan, ratio=math.nan), *CHAIN[1:]], "light")
    assert np.isnan(trace(fig, "chain").x[0]) and np.isfinite(trace(fig, "chain").x[1:]).all()
    assert plain(noted(layout_of(fig), "ratio")[0]) == "-"
    assert "- \u2192 8 s" in plain(noted(layout_of(fig), "head")[0])
    with pytest.raises(ValueError, match="positive"):
        speed_chain_figure([Link("a", 1, 1, -2.0)], "light")


def test_falls_lead_from_the_end_of_a_bar_down_to_the_next():
    fig, narrow = speed_chain_figure(CHAIN, "light")
    falls = [shape for shape in layout_of(fig)["shapes"] if shape["x0"] != 1]
    assert [(shape["x0"], shape["y0"], shape["y1"]) for shape in falls] == [
        (15.385, 0.21, 0.79), (2.616, 1.21, 1.79), (2.204, 2.21, 2.79), (1.208, 3.21, 3.79),
    ]  # fmt: skip
    assert {shape["x0"] for shape in narrow["shapes"]} == {1}  # phones have the names there


# Throughput

AGENTS = np.linspace(0, 8, 33)
# Ten developers: tasks an hour of one agent each, and what their reviewers manage.
SLOW = Stream("GPT-5.3-Codex", "reference", 15.0 * AGENTS, 30.0)
FAST = Stream("Codex-Spark", "scenario", 36.0 * AGENTS, 18.9)


def draw_throughput(streams=(SLOW, FAST), now=1.0, agents=AGENTS, mode="light", **more) -> tuple[go.Figure, dict]:
    return throughput_figure(agents, list(streams), now, mode, **more)


def test_accepted_is_the_smaller_of_machine_and_reviewers_with_a_sharp_corner():
    fig, _narrow = draw_throughput()
    slow, fast = trace(fig, "reference:accepted"), trace(fig, "scenario:accepted")
    assert np.interp([1, 1.5, 2, 5], slow.x, slow.y) == pytest.approx([15, 22.5, 30, 30])
    assert np.interp([0.25, 0.525, 1, 8], fast.x, fast.y) == pytest.approx([9, 18.9, 18.9, 18.9])
    assert np.isclose(fast.x, 0.525).any()  # between two of the agents given
    assert (trace(fig, "reference:kink").x[0], trace(fig, "reference:kink").y[0]) == (2.0, 30.0)
    assert trace(fig, "scenario:kink").x[0] == pytest.approx(0.525)


def test_the_machine_alone_is_dashed_where_it_is_not_used():
    fig, _narrow = draw_throughput()
    line = trace(fig, "reference:machine")
    assert line.line.dash == "dash"
    drawn = dict(zip(line.x, line.y, strict=True))
    assert drawn[4.0] == pytest.approx(60) and drawn[2.0] == pytest.approx(30)
    assert drawn[1.0] == pytest.approx(15)  # one line below the corner
    assert trace(fig, "reference:accepted").line.dash is None


@pytest.mark.parametrize(
    ("stream", "dashed"),
    [
        (SLOW, True),
        (replace(SLOW, reviewers_per_h=120.0), False),  # the machine never has more
        (replace(SLOW, machine_per_h=15.0 + 15.0 * AGENTS, reviewers_per_h=9.0), False),  # it starts at 15, beyond the axis
        (replace(SLOW, machine_per_h=np.full(33, np.inf)), False),
    ],
)
def test_the_key_speaks_of_dashes_only_where_some_are_drawn(stream, dashed):
    fig, narrow = draw_throughput([stream])
    for layout in (layout_of(fig), narrow):
        assert ("dashed" in noted(layout, "key")[0]) == dashed
        assert layout["yaxis"]["title"]["text"] == "accepted tasks an hour, whole team"


def test_the_dashed_line_starts_at_the_corner():
    fast = replace(FAST, machine_per_h=359.7 * AGENTS, reviewers_per_h=18.83)
    line = trace(draw_throughput([fast])[0], "scenario:machine")
    (corner,) = line.y[np.isclose(line.x, 18.83 / 359.7)]
    assert corner == pytest.approx(18.83)


def test_now_is_marked_on_both_lines_and_said():
    fig, narrow = draw_throughput()
    assert [(trace(fig, f"{kind}:now").x[0], trace(fig, f"{kind}:now").y[0]) for kind in ("reference", "scenario")] == [
        (1.0, pytest.approx(15.0)), (1.0, pytest.approx(18.9)),
    ]  # fmt: skip
    for layout in (layout_of(fig), narrow):
        assert {plain(text) for text in noted(layout, "now")} == {"now 15 an hour", "now 18.9 an hour"}
    fig, _narrow = draw_throughput(now=20.0)
    assert noted(layout_of(fig), "now") == [] and np.isnan(trace(fig, "scenario:now").y[0])


@pytest.mark.parametrize(
    ("stream", "text", "kink"),
    [
        (SLOW, "review is the bottleneck from 2 agents", 2.0),
        (replace(SLOW, reviewers_per_h=31.0), "review is the bottleneck from 3 agents", 31 / 15),
        (FAST, "review is the bottleneck from the first agent", 0.525),
        (replace(SLOW, machine_per_h=15.0 + 15.0 * AGENTS, reviewers_per_h=9.0), "review is the bottleneck from the first agent", 0.0),
        (replace(SLOW, reviewers_per_h=500.0), "the machine is the bottleneck", math.nan),
    ],
)
def test_where_review_takes_over_is_said_in_whole_agents(stream, text, kink):
    assert stream.kink(AGENTS) == pytest.approx(kink, nan_ok=True)
    fig, _narrow = draw_throughput([stream])
    assert noted(layout_of(fig), "bottleneck") == [text]


def test_an_instant_machine_leaves_only_the_reviewers_and_an_unknown_one_nothing():
    fig, _narrow = draw_throughput([replace(SLOW, machine_per_h=np.full(33, np.inf))])
    np.testing.assert_allclose(trace(fig, "reference:accepted").y, 30.0)
    assert np.isnan(trace(fig, "reference:machine").y).all()
    fig, narrow = draw_throughput([replace(SLOW, machine_per_h=np.full(33, np.nan))])
    assert np.isnan(trace(fig, "reference:accepted").y).all()
    assert noted(layout_of(fig), "bottleneck") == noted(narrow, "now") == []


def test_the_axes_of_the_throughput_are_round_and_fixed():
    layout = layout_of(draw_throughput()[0])
    assert layout["yaxis"]["range"] == [0.0, 50.0]  # 1.5 x 30, the next round end
    assert layout["xaxis"]["range"] == [0.0, 8.0] and layout["xaxis"]["type"] == "linear"
    assert list(layout["xaxis"]["ticktext"]) == [str(i) for i in range(9)]
    wide = np.geomspace(1, 100, 40)
    fig, _narrow = draw_throughput([replace(SLOW, machine_per_h=wide)], 4.0, wide)
    assert fig.layout.xaxis.type == "log" and list(fig.layout.xaxis.ticktext) == ["1", "2", "5", "10", "20", "50", "100"]


def test_texts_of_the_throughput_do_not_cover_each_other():
    for scale in (1.0, 1.3):
        for reviewers in (5.0, 18.0, 19.5, 30.0, 300.0):
            for now in (0.5, 1.0, 2.0, 8.0):
                fig, narrow = draw_throughput([SLOW, replace(FAST, reviewers_per_h=reviewers)], now, scale=scale)
                assert no_overlap(fig, narrow, (throughput.HEIGHT, throughput.HEIGHT_NARROW), scale) >= 18


def test_options_keep_their_colours_and_another_length_is_refused():
    colors = theme.palette("dark")
    fig, _narrow = draw_throughput(mode="dark")
    assert trace(fig, "scenario:accepted").line.color == colors.scenario
    assert trace(fig, "reference:accepted").line.color == colors.reference
    with pytest.raises(ValueError, match="GPT-5.3-Codex: machine_per_h"):
        draw_throughput([replace(SLOW, machine_per_h=np.ones(3))])


# Whiskers of the bars


def bar(parts: dict, low_min: float = math.nan, high_min: float = math.nan, change_text: str = "", **more) -> TaskBar:
    band = {"low_s": 60 * low_min, "high_s": 60 * high_min}
    return TaskBar("Codex-Spark", "1000 tok/s", "", parts, sum(parts.values()), "g", change_text=change_text, **band, **more)


def note_of(layout: dict, name: str) -> dict:
    return next(note for note in layout["annotations"] if note["name"] == name)


def test_a_band_is_a_whisker_clear_of_the_figures_in_the_bar():
    fig, _narrow = task_time_figure([bar(CODEX), bar(SPARK, 23, 52)], "light", 3600)
    whisker = trace(fig, "band")
    np.testing.assert_allclose(whisker.x[:2], [23, 52])
    assert whisker.marker.symbol == "line-ns" and len(whisker.x) == 3  # one row, one gap
    assert whisker.hovertext[0] == "Codex-Spark, 90 %: 23 min to 52 min"
    margin, (bottom, top) = fig.layout.margin, fig.layout.yaxis.range
    row_px = (task_time.HEIGHT - margin.t - margin.b) / (bottom - top)
    assert 0.5 * theme.TEXT_SIZE < (whisker.y[0] - 1.0) * row_px < 0.33 * row_px  # under the figure, in the bar


def test_the_total_stands_behind_the_whisker():
    fig, narrow = task_time_figure([bar(SPARK, 23, 52, "+34 %")], "light", 3600)
    assert note_of(layout_of(fig), "total")["x"] == pytest.approx(52)
    assert noted(narrow, "change") == [] and "+34 %" in noted(narrow, "total")[0]  # no room behind it on a phone
    fig, narrow = task_time_figure([bar(CODEX, 19, 30, "+34 %")], "light", 3600)
    assert note_of(narrow, "change")["x"] == pytest.approx(30)
    fig, _narrow = task_time_figure([bar(SPARK, 23, 80)], "light", 3600)
    assert note_of(layout_of(fig), "total")["x"] == pytest.approx(60)  # cut at the end of the axis


def test_without_a_band_nothing_changes_place():
    without, with_band = (task_time_figure([bar(CODEX, *band)], "light", 3600) for band in ((), (19, 30)))
    assert metas(without[0]) == list(theme.SLICES) and metas(with_band[0]) == [*theme.SLICES, "band"]
    for a, b in zip((layout_of(without[0]), without[1]), (layout_of(with_band[0]), with_band[1]), strict=True):
        assert (a["margin"], a["yaxis"]["range"]) == (b["margin"], b["yaxis"]["range"])
    assert with_band[0].layout.xaxis.title.text == f"{without[0].layout.xaxis.title.text}; whisker: 90 %"
    unavailable = TaskBar("A", "", "", {}, math.nan, "g", available=False, reason="no speed", low_s=60.0, high_s=90.0)
    assert "band" not in metas(task_time_figure([unavailable], "light", 3600)[0])


LONG = "+34 % (90 %: -11 to +60 %)"


@pytest.mark.parametrize(
    ("parts", "band", "text", "lines"),
    [
        (CODEX, (), "+34 %", ["25.7 min +34 %"]),
        (CODEX, (), LONG, [f"25.7 min {LONG}"]),
        (SPARK, (23, 40), LONG, ["34.4 min", LONG]),
        (SPARK, (23, 52), LONG, ["34.4 min +34 %", "(90 %: -11 to +60 %)"]),
        (SPARK, (23, 60), LONG, ["34.4 min", "+34 %"]),
    ],
)
def test_a_long_change_is_broken_at_its_bracket_and_then_left_out(parts, band, text, lines):
    fig, _narrow = task_time_figure([bar(parts, *band, change_text=text, change_better=False)], "light", 3600)
    shown = note_of(layout_of(fig), "total")
    assert plain(shown["text"].replace("<br>", "|")).split("|") == lines
    plot = 760 - fig.layout.margin.l
    at = shown["x"] / 60 * (plot - fig.layout.margin.r) + shown["xshift"]
    assert all(at + theme.text_width_px(line, theme.TEXT_SIZE, bold=True) <= plot for line in lines)
    assert len(lines) <= 2 and theme.palette("light").worse in shown["text"]


@pytest.mark.parametrize("band", [(), (23, 40), (23, 60)])
def test_a_long_change_leaves_name_and_total_their_room_on_a_phone(band):
    _fig, narrow = task_time_figure([bar(SPARK, *band, change_text=LONG)], "light", 3600)
    head, total = plain(noted(narrow, "head")[0]), plain(noted(narrow, "total")[0])
    assert theme.text_width_px(head + total, 13, bold=True) < theme.NARROWEST_PX
    assert "+34 %" in total + "".join(noted(narrow, "change"))


@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("label", ["6x faster, 1.2x errors", "A model with a very long name of its own on another machine"])
def test_a_bold_name_ends_before_the_bars(label, scale):
    fig, narrow = task_time_figure([replace(bar(CODEX), label=label)], "light", 3600, scale=scale)
    head, left = note_of(layout_of(fig), "head"), fig.layout.margin.l
    name = plain(head["text"].partition("<br>")[0])
    assert head["xshift"] + theme.text_width_px(name, head["font"]["size"], bold=True) <= 0
    assert (name == label) if label.startswith("6x") else (name.endswith("\u2026") and name[:-1] == label[: len(name) - 1])
    assert left <= 320 * scale
    on_phone = plain(note_of(narrow, "head")["text"]) + plain(note_of(narrow, "total")["text"])
    assert theme.text_width_px(on_phone, note_of(narrow, "head")["font"]["size"], bold=True) <= theme.NARROWEST_PX - 16


def test_a_text_is_shortened_only_where_it_has_no_room():
    assert labels.shortened("Codex-Spark", 200, 14) == "Codex-Spark"
    short = labels.shortened("Codex-Spark", 60, 14)
    assert short.endswith("\u2026") and "Codex-Spark".startswith(short[:-1])
    assert theme.text_width_px(short, 14) <= 60 < theme.text_width_px("Codex-Spark"[: len(short)] + "\u2026", 14)
    assert labels.shortened("Codex-Spark", 1, 14) == "C\u2026"


# All of them


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "build",
    [
        lambda mode: draw_map(mode=mode),
        lambda mode: tornado_figure(SWINGS, 0.34, mode),
        lambda mode: speed_chain_figure(CHAIN, mode),
        lambda mode: draw_throughput(mode=mode),
        lambda mode: task_time_figure([bar(SPARK, 23, 52, LONG)], mode, 3600),
    ],
    ids=["break_even", "tornado", "speed_chain", "throughput", "task_time"],
)
def test_figures_hold_only_what_plotly_knows_and_no_ground_of_their_own(build, mode):
    fig, narrow = build(mode)
    drawn = fig.to_plotly_json()
    assert len(go.Figure(data=drawn["data"], layout=drawn["layout"]).data) == len(fig.data)  # checked by Plotly
    go.Figure(layout=narrow)
    assert drawn["layout"]["template"] == "none"
    assert drawn["layout"]["paper_bgcolor"] == drawn["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert set(narrow) <= set(drawn["layout"])


@pytest.mark.parametrize(
    "build",
    [
        lambda scale: draw_map(scale=scale),
        lambda scale: tornado_figure(SWINGS, 0.34, "light", scale=scale),
        lambda scale: speed_chain_figure(CHAIN, "light", scale=scale),
        lambda scale: draw_throughput(scale=scale),
    ],
    ids=["break_even", "tornado", "speed_chain", "throughput"],
)
def test_type_and_margins_grow_in_a_meeting_but_not_on_a_phone(build):
    (normal, narrow), (large, narrow_large) = build(1.0), build(1.3)
    assert json.dumps(narrow_large, cls=PlotlyJSONEncoder) == json.dumps(narrow, cls=PlotlyJSONEncoder)
    assert large.layout.margin.t == pytest.approx(1.3 * normal.layout.margin.t)
    sizes = [{n["name"]: n["font"]["size"] for n in layout_of(fig)["annotations"]} for fig in (normal, large)]
    shared = sizes[0].keys() & sizes[1].keys()
    assert "key" in shared or "head" in shared
    assert all(sizes[1][name] >= 1.2 * sizes[0][name] for name in shared)


def test_heights_are_those_of_the_layouts():
    assert (speed_chain.HEIGHT, break_even.HEIGHT, throughput.HEIGHT) == (360, 540, 360)
