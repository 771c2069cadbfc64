"""The figures: what they draw, in which order and colour, and that their words and numbers are right."""

import itertools
import math
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode.charts import labels, theme, tradeoffs
from fastmode.charts.step_time import step_time_figure
from fastmode.charts.task_time import HEIGHT_NARROW, TaskBar, task_time_figure
from fastmode.charts.tradeoffs import Panel, tradeoffs_figure
from fastmode.format import (
    MISSING,
    THIN_SPACE,
    change,
    count,
    duration,
    duration_parts,
    joules,
    minutes,
    money,
    number,
    points,
    quantity,
    ratio,
    share,
    signed_share,
)

MODES = ("light", "dark")
# Worked examples: GPT-5.3-Codex at 65 tok/s and Codex-Spark at 1,000 tok/s, seconds per accepted task.
CODEX = dict(zip(theme.SLICES, (120.0, 262.8, 450.0, 133.9, 35.1, 538.2), strict=True))
SPARK = dict(zip(theme.SLICES, (120.0, 119.3, 450.0, 201.0, 112.0, 1061.0), strict=True))


# Formats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (25.666, "25.7"),
        (26.0, "26"),
        (0.044707, "0.0447"),
        (9.996, "10"),
        (999.4, "999"),
        (999.6, f"1{THIN_SPACE}000"),
        (1000, f"1{THIN_SPACE}000"),
        (12345, f"12{THIN_SPACE}300"),
        (1234567, f"1{THIN_SPACE}230{THIN_SPACE}000"),
        (-2.5, "-2.5"),
        (0, "0"),
        (np.float64(65.0), "65"),
    ],
)
def test_number_has_three_digits_and_thin_spaces(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(4508, "4\u202f508"), (4508.0, "4\u202f508"), (1_234_567, "1\u202f234\u202f567"), (0, "0"), (np.nan, "-"), (None, "-")])
def test_count_shows_every_digit(value, text):
    assert count(value) == text


@pytest.mark.parametrize("show", [number, duration, minutes, money, ratio, share, points, signed_share, joules])
@pytest.mark.parametrize("nothing", [None, math.nan, math.inf, -math.inf])
def test_nothing_known_is_a_dash(show, nothing):
    assert show(nothing) == MISSING == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.5, "0.5 s"),
        (45, "45 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (1540, "25.7 min"),
        (1560, "26 min"),
        (3594, "59.9 min"),
        (3598, "1 h"),
        (5400, "1.5 h"),
        (-90, "-1.5 min"),
    ],
)
def test_duration_picks_its_unit_after_rounding(seconds, text):
    assert duration(seconds) == text


def test_duration_parts_are_value_and_unit():
    assert duration_parts(1540) == ("25.7", "min")
    assert duration_parts(None) == ("-", "")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.31, "$0.31"),
        (0.0312, "$0.031"),
        (0.3, "$0.30"),
        (4.5, "$4.50"),
        (5, "$5"),
        (43.66, "$43.7"),
        (1234, f"$1{THIN_SPACE}230"),
        (-5, "-$5"),
        (0, "$0"),
    ],
)
def test_money(amount, text):
    assert money(amount) == text


def test_ratio_share_points_and_quantity():
    assert ratio(2.5) == "2.5x"
    assert ratio(15.38) == "15.4x"
    assert share(0.447074) == "44.7 %"
    assert points(0.197074) == "+19.7 points"
    assert points(-0.05) == "-5 points"
    assert points(1e-6) == "0 points"
    assert quantity(141.2, "tok/s") == "141 tok/s"
    assert quantity(2.5, "x") == "2.5x"
    assert quantity(math.nan, "x") == "-"


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        (1.0, 1.0, "same"),
        (1.004, 1.0, "same"),
        (0.996, 1.0, "same"),
        (1.006, 1.0, "+0.6 %"),
        (0.948, 1.0, "-5.2 %"),
        (1.46, 1.0, "+46 %"),
        (0.88, 1.0, "-12 %"),
        (2063.3, 1540.0, "+34 %"),
        (1.99, 1.0, "+99 %"),
        (2.0, 1.0, "2x"),
        (143.0, 65.0, "2.2x"),
        (0.0, 5.0, "-100 %"),
        (0.0, 0.0, "same"),
        (1.0, 0.0, "-"),
        (math.nan, 1.0, "-"),
        (1.0, None, "-"),
    ],
)
def test_change_in_words(new, old, text):
    assert change(new, old) == text


def test_joules_scale_their_unit():
    assert joules(0.35) == "350 mJ"
    assert joules(2) == "2 J"
    assert joules(999.7) == "1 kJ"
    assert joules(1234) == "1.23 kJ"
    assert joules(3.6e6) == "3.6 MJ"


# Colours

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
CVD = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, sight: str | None = None) -> np.ndarray:
    """CIE L*a*b* of a "#rrggbb" colour as seen with a colour vision deficiency."""
    coded = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(CVD[sight]) @ linear, 0, 1) if sight else linear
    xyz = RGB_TO_XYZ @ seen / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_of_known_pairs():
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert theme.contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_fills_and_lines_stand_out_from_the_ground(mode):
    colors = theme.palette(mode)
    fills = [colors.scenario, colors.reference, colors.published, colors.axis]
    for fill in (*fills, *colors.slices.values(), *colors.steps.values()):
        assert theme.contrast(fill, colors.ground) >= 3.0, fill


@pytest.mark.parametrize("mode", MODES)
def test_text_is_readable_on_the_ground_and_on_every_slice(mode):
    colors = theme.palette(mode)
    written = (
        colors.text,
        colors.muted,
        colors.scenario,
        colors.reference,
        colors.better,
        colors.worse,
        colors.verdict,
    )
    for ink in written:
        assert theme.contrast(ink, colors.ground) >= 4.5, ink
    for fill in (*colors.slices.values(), *colors.steps.values()):
        assert theme.contrast(theme.text_on(fill), fill) >= 4.5, fill


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sight", [None, *CVD])
def test_meanings_stay_apart_whatever_the_reader_sees(mode, sight):
    colors = theme.palette(mode)
    seen = {key: lab(color, sight) for key, color in colors.slices.items()}
    pairs = [(a, b) for a, b in itertools.pairwise(theme.SLICES)]
    pairs += [("waiting", key) for key in theme.CORRECTING]
    for a, b in pairs:
        assert np.linalg.norm(seen[a] - seen[b]) > 10, (a, b)
    lines = {name: lab(getattr(colors, name), sight) for name in ("scenario", "reference", "published")}
    for a, b in itertools.combinations(lines, 2):
        assert np.linalg.norm(lines[a] - lines[b]) > 30, (a, b)
    assert np.linalg.norm(lab(colors.better, sight) - lab(colors.worse, sight)) > 30


@pytest.mark.parametrize("mode", MODES)
def test_waiting_and_correcting_are_the_loud_ones(mode):
    slices = theme.palette(mode).slices
    chroma = {key: float(np.hypot(*lab(color)[1:])) for key, color in slices.items()}
    quiet = max(chroma["prompting"], chroma["reviewing"])
    assert quiet < 12
    assert min(chroma["waiting"], *(chroma[key] for key in theme.CORRECTING)) > 3 * quiet


@pytest.mark.parametrize("mode", MODES)
def test_every_meaning_has_its_own_colour(mode):
    colors = theme.palette(mode)
    meant = [*colors.slices.values(), colors.scenario, colors.reference, colors.published, colors.better, colors.worse]
    assert len(set(meant)) == len(meant)
    assert not set(colors.steps.values()) & set(meant)
    assert tuple(colors.slices) == tuple(theme.SLICES)
    assert tuple(colors.steps) == tuple(theme.STEP_PARTS)


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'light' or 'dark'"):
        theme.palette("sepia")


# Axes and places for texts


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0, 4, False, [0, 1, 2, 3, 4]),
        (0, 100, False, [0, 20, 40, 60, 80, 100]),
        (0, 0.7, False, [0, 0.2, 0.4, 0.6]),
        (1, 50, True, [1, 2, 5, 10, 20, 50]),
        (5, 1000, True, [10, 30, 100, 300, 1000]),
        (1, 1e6, True, [1, 1e2, 1e4, 1e6]),
    ],
)
def test_ticks_are_round(low, high, log, ticks):
    assert theme.round_ticks(low, high, log) == pytest.approx(ticks)


def test_axis_places_values_from_zero_to_one():
    axis = theme.Axis(1, 100, True, np.array([1, 10, 100]), ["1", "10", "100"])
    assert axis.place(np.array([1, 10, 100])) == pytest.approx([0, 0.5, 1])
    assert axis.layout()["range"] == pytest.approx([0, 2])
    assert theme.Axis(0, 4, False, np.array([0]), ["0"]).place(3.0) == pytest.approx(0.75)


def test_best_place_avoids_what_is_taken_and_what_lies_outside():
    free, covered, outside = (theme.Box.around(x, 50, 20, 10) for x in (50, 20, 98))
    taken = [theme.Box.around(25, 50, 20, 10)]
    none = np.empty((0, 2))
    assert theme.best_place([outside, covered, free], 100, 100, taken, none, must=False) == free
    assert theme.best_place([outside, covered], 100, 100, taken, none, must=False) is None
    assert theme.best_place([outside, covered], 100, 100, taken, none, must=True) == covered
    curve = np.column_stack([np.linspace(41, 59, 10), np.full(10, 50)])
    assert theme.best_place([free], 100, 100, [], curve, must=False) is None
    above = theme.Box.around(50, 70, 20, 10)
    assert theme.best_place([free, above], 100, 100, [], none, must=False, lines=[51]) == above
    assert theme.best_place([free], 100, 100, [], none, must=False, lines=[51]) == free


# Time per accepted task


def bar(label: str, parts: dict, group: str, **more) -> TaskBar:
    return TaskBar(label, "65 tok/s", "1x price", parts, sum(parts.values()), group, **more)


def four() -> list[TaskBar]:
    return [
        bar("Opus 4.6", CODEX, "opus"),
        bar("Opus 4.6 fast", {**CODEX, "waiting": 180.0}, "opus", change_text="-5.4 %", change_better=True),
        bar("GPT-5.3-Codex", CODEX, "codex"),
        bar("Codex-Spark", SPARK, "codex", highlighted=True, change_text="+34 %", change_better=False),
    ]


def noted(layout: dict, name: str) -> list[str]:
    return [note["text"] for note in layout["annotations"] if note["name"] == name]


def layout_of(fig: go.Figure) -> dict:
    return fig.to_plotly_json()["layout"]


@pytest.mark.parametrize("mode", MODES)
def test_slices_come_in_order_in_the_colours_of_their_meaning(mode):
    fig, _narrow = task_time_figure(four(), mode, 2400)
    assert [trace.meta for trace in fig.data] == list(theme.SLICES)
    assert [trace.marker.color for trace in fig.data] == list(theme.palette(mode).slices.values())
    assert fig.layout.barmode == "stack"


def test_bars_hold_minutes_and_sum_to_the_totals():
    rows = four()
    fig, _narrow = task_time_figure(rows, "light", 2400)
    stacked = np.sum([trace.x for trace in fig.data], axis=0)
    assert stacked == pytest.approx([row.total_s / 60 for row in rows])
    assert fig.data[1].x == pytest.approx([4.38, 3.0, 4.38, 119.3 / 60])
    assert fig.data[1].hovertext[3] == "Codex-Spark, waiting: 1.99 min, 5.78 % of the task"
    assert list(fig.data[1].text) == ["4.4", "3.0", "4.4", "2.0"]


def test_bars_run_downwards_with_a_gap_between_groups():
    fig, _narrow = task_time_figure(four(), "light", 2400)
    gaps = np.diff(fig.data[0].y)
    assert gaps[0] == gaps[2] == 1.0
    assert gaps[1] > 1.2
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]


def test_bar_heads_and_totals_are_written_wide_and_narrow():
    fig, narrow = task_time_figure(four(), "light", 2400)
    for layout, unit in ((layout_of(fig), " min"), (narrow, "</b>")):  # on a phone the axis has the unit
        heads, totals = noted(layout, "head"), noted(layout, "total")
        assert ["Opus 4.6" in heads[0], "Codex-Spark" in heads[3], "65 tok/s, 1x price" in heads[0]] == [True] * 3
        assert [f"25.7{unit}" in totals[0], f"34.4{unit}" in totals[3]] == [True, True]
        (key,) = noted(layout, "key")
        assert [key.index(label.replace(" ", "\u00a0")) for label in theme.SLICES.values()] == sorted(
            key.index(label.replace(" ", "\u00a0")) for label in theme.SLICES.values()
        )
    colors = theme.palette("light")
    assert colors.scenario in noted(narrow, "head")[3]
    assert colors.better in noted(narrow, "change")[0] and len(noted(narrow, "change")) == 1
    assert colors.worse in noted(narrow, "total")[3] and "+34 %" in noted(narrow, "total")[3]  # no room behind the bar


def test_x_axis_is_in_minutes_and_does_not_follow_the_bars():
    for end in (1800, 3600):
        fig, _narrow = task_time_figure(four(), "dark", end)
        assert fig.layout.xaxis.range == (0.0, end / 60)
    assert "minutes" in fig.layout.xaxis.title.text


def test_an_option_that_cannot_be_computed_shows_its_reason_and_no_bar():
    rows = four()
    rows[1] = TaskBar("Deep Think", "-", "-", {}, math.nan, "opus", available=False, reason="no published speed")
    fig, narrow = task_time_figure(rows, "light", 2400)
    assert all(np.isnan(trace.x[1]) for trace in fig.data)
    for layout in (layout_of(fig), narrow):
        assert noted(layout, "reason") == ["no published speed"]
        assert len(noted(layout, "total")) == 3


def test_parts_that_do_not_make_the_total_are_refused():
    with pytest.raises(ValueError, match="sum to"):
        task_time_figure([TaskBar("A", "", "", CODEX, 1600.0, "g")], "light", 2400)
    with pytest.raises(ValueError, match="parts must be"):
        task_time_figure([TaskBar("A", "", "", {"waiting": 5.0}, 5.0, "g")], "light", 2400)


def test_phone_labels_fit_beside_each_other():
    _fig, narrow = task_time_figure(four(), "light", 2400)
    margin, px_per_row = narrow["margin"], narrow["yaxis"]["range"]
    height = HEIGHT_NARROW - margin["t"] - margin["b"]
    row_px = height / (px_per_row[0] - px_per_row[1])
    assert (1 - 0.66) * row_px >= 15  # the line above a bar of 0.66
    for head, total in zip(noted(narrow, "head"), noted(narrow, "total"), strict=True):
        assert theme.text_width_px(f"{plain(head)} {plain(total)}", 13) < theme.NARROWEST_PX - 16


@pytest.mark.parametrize(
    ("label", "speed", "price", "head"),
    [
        ("GPT-5.3-Codex", "65 tok/s", "1x price", "GPT-5.3-Codex 65 tok/s, 1x price"),
        ("GPT-5.3-Codex", "65 tok/s", "price not published", "GPT-5.3-Codex 65 tok/s"),
        ("GPT-5.3-Codex", "1000 tok/s modelled", "1x price", "GPT-5.3-Codex"),
    ],
)
def test_on_a_phone_the_price_gives_way_first_and_then_the_speed(label, speed, price, head):
    row = TaskBar(label, speed, price, CODEX, sum(CODEX.values()), "g")
    _fig, narrow = task_time_figure([row], "light", 2400)
    assert plain(noted(narrow, "head")[0]).strip() == head


def plain(text: str) -> str:
    """The text without its tags."""
    return re.sub(r"<[^>]*>", "", text)


# Trade-offs

BATCH = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
SPEED = np.array([400.0, 390, 350, 300, 220, 150, 90, 50])


def four_panels(**of_speed) -> list[Panel]:
    speed = {"published": [(4, 170, "Opus 4.6 fast")], "y_range": (10, 1000), "log_y": True, **of_speed}
    return [
        Panel("speed", "Tokens/s per user", "tok/s", SPEED, 150, 65, **speed),
        Panel("cost", "Cost multiplier", "x", 8 / BATCH**0.5, 1.41, 1, y_range=(0, 10)),
        Panel("error", "Error rate", "%", np.full(8, 45.1), 45.1, 25, y_range=(0, 100)),
        Panel("net", "Net productivity", "x", SPEED / 100, 1.5, 2.5, baseline=1, baseline_label="as without AI"),
    ]


def draw(panels: list[Panel] | None = None, mode: str = "light", **more) -> tuple[go.Figure, dict]:
    return tradeoffs_figure(
        BATCH, "batch size", True, BATCH, panels or four_panels(), mode, 32, "GPT-5.3-Codex", **more
    )


def traces(fig: go.Figure, kind: str) -> list:
    return [trace for trace in fig.data if trace.meta.endswith(":" + kind)]


def test_panels_keep_their_order_and_draw_their_values():
    fig, _narrow = draw()
    curves = traces(fig, "curve")
    assert [trace.meta for trace in curves] == ["speed:curve", "cost:curve", "error:curve", "net:curve"]
    assert [trace.xaxis for trace in curves] == ["x", "x2", "x3", "x4"]
    assert curves[0].x == pytest.approx(BATCH)
    assert curves[0].y == pytest.approx(SPEED)
    assert curves[1].y == pytest.approx(8 / BATCH**0.5, rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_now_is_filled_reference_dotted_and_published_hollow(mode):
    colors = theme.palette(mode)
    fig, _narrow = draw(mode=mode)
    now, reference, published = (traces(fig, kind)[0] for kind in ("now", "reference", "published"))
    assert (now.x[0], now.y[0], now.marker.color) == (32, 150, colors.scenario)
    assert (reference.line.dash, reference.line.color, list(reference.y)) == ("dot", colors.reference, [65, 65])
    assert (published.x[0], published.y[0], published.marker.line.color) == (4, 170, colors.published)
    assert published.marker.color == "rgba(0,0,0,0)"
    assert traces(fig, "curve")[0].line.color == colors.scenario


def test_hover_on_any_panel_tells_all_four_values():
    fig, _narrow = draw()
    for i, trace in enumerate(traces(fig, "curve")):
        assert trace.customdata[5] == pytest.approx([150, 8 / 32**0.5, 45.1, 1.5], rel=1e-6)
        lines = trace.hovertemplate.removesuffix("<extra></extra>").split("<br>")
        assert lines[0] == "batch size: %{x:,.3~r}"
        assert [line.startswith("<b>") for line in lines[1:]] == [j == i for j in range(4)]
        assert "Tokens/s per user: %{customdata[0]:,.3~r} tok/s" in lines[1]
        assert "Cost multiplier: %{customdata[1]:,.3~r}x" in lines[2]


def test_a_value_that_is_missing_hovers_as_a_dash():
    panels = four_panels()
    panels[1] = Panel("cost", "Cost multiplier", "x", np.full(8, np.nan), missing="price not published")
    panels[3] = Panel("net", "Net productivity", "x", np.where(BATCH < 64, 2.0, np.nan))
    fig, narrow = draw(panels)
    curve = traces(fig, "curve")[0]
    assert "Cost multiplier: -" in curve.hovertemplate
    assert list(curve.customdata[7]) == ["50", "-", "45.1", "-"]
    assert noted(layout_of(fig), "missing") == noted(narrow, "missing") == ["price not published"]
    assert fig.layout.yaxis2.showticklabels is False


def test_axes_share_x_and_are_fixed():
    fig, _narrow = draw()
    layout = fig.layout
    assert [layout[f"xaxis{i}"].matches for i in (2, 3, 4)] == ["x"] * 3
    assert layout.xaxis.range == pytest.approx((0, math.log10(128)))
    assert list(layout.xaxis.ticktext) == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert layout.yaxis.type == "log" and layout.yaxis.range == pytest.approx((1, 3))
    assert layout.yaxis3.type == "linear" and layout.yaxis3.range == (0, 100)
    assert [note["text"] for note in layout_of(fig)["annotations"] if note["name"] == "title"][1] == (
        "<b>Cost multiplier</b>"
    )


def test_range_from_the_data_holds_everything_drawn():
    panels = four_panels(y_range=None, log_y=False)
    low, high = draw(panels)[0].layout.yaxis.range
    assert low == 0 and high > 400
    panels = four_panels(y_range=None, log_y=True)
    low, high = draw(panels)[0].layout.yaxis.range
    assert low < math.log10(50) and high > math.log10(400)


def test_legend_names_each_kind_once():
    band = (SPEED * 0.8, SPEED * 1.2)
    fig, _narrow = draw(four_panels(band50=band, band90=band), infeasible=[(100, 128, "needs 11 chips")])
    named = [trace.name for trace in sorted(fig.data, key=lambda t: t.legendrank) if trace.showlegend]
    assert named == [
        "now", "modelled", "GPT-5.3-Codex", "published", "90 % band", "50 % band", "needs 11 chips",
    ]  # fmt: skip


def test_infeasible_spans_are_hatched_say_why_and_end_the_curve():
    fig, narrow = draw(infeasible=[(50, 128, "needs 11 chips")])
    hatch = traces(fig, "infeasible")
    assert len(hatch) == 4
    assert hatch[0].fillpattern.shape == "/"
    assert (np.nanmin(hatch[0].x), np.nanmax(hatch[0].x)) == (50, 128)
    assert (np.nanmin(hatch[0].y), np.nanmax(hatch[0].y)) == (10, 1000)
    assert np.isnan(traces(fig, "curve")[0].y[6:]).all() and np.isfinite(traces(fig, "curve")[0].y[:6]).all()
    for layout in (layout_of(fig), narrow):
        assert set(noted(layout, "reason")) == {"needs 11 chips"}


def test_hover_tells_the_band_of_the_panel_it_is_on():
    """The first panel of the four carries the band; the others' hovers name no ends."""
    fig, _narrow = draw(four_panels(band90=(SPEED * 0.7, SPEED * 1.4)))
    curves = [t for t in fig.data if (t.meta or "").endswith(":curve")]
    assert "(90 %: %{customdata[4]" in curves[0].hovertemplate and "-%{customdata[5]" in curves[0].hovertemplate
    np.testing.assert_allclose(np.asarray(curves[0].customdata)[:, 4:], np.column_stack([SPEED * 0.7, SPEED * 1.4]), rtol=1e-6)
    assert all("90 %" not in c.hovertemplate and np.shape(c.customdata)[1] == 4 for c in curves[1:])


def test_bands_enclose_the_curve():
    fig, _narrow = draw(four_panels(band90=(SPEED * 0.7, SPEED * 1.4)))
    (band,) = traces(fig, "90 % band")
    assert band.y[:8] == pytest.approx(SPEED * 0.7, rel=1e-6)
    assert band.y[8:] == pytest.approx(SPEED[::-1] * 1.4, rel=1e-6)
    assert band.fill == "toself"


def test_hardware_is_drawn_as_dots_in_the_order_given():
    names = ["B200", "H100", "WSE-3"]
    y = np.array([140.0, 65.0, 1000.0])
    panels = [
        Panel(key, key, "x", y, 140.0, 65.0, [("WSE-3", 900.0, "Spark")], (10, 2000), True)
        for key in ("a", "b", "c", "d")
    ]
    spans = [("H100", "H100", "needs 11 chips")]
    fig, _narrow = tradeoffs_figure(names, "hardware", False, None, panels, "light", "B200", "Codex", infeasible=spans)
    curve = traces(fig, "curve")[0]
    assert curve.mode == "markers"
    assert list(fig.layout.xaxis.ticktext) == names
    assert curve.y[0] == 140 and np.isnan(curve.y[1]) and curve.y[2] == 1000
    assert traces(fig, "now")[0].x[0] == 0
    assert traces(fig, "published")[0].x[0] == 2
    assert list(traces(fig, "impossible")[0].hovertext) == ["H100: needs 11 chips"]


def test_narrow_layout_stacks_the_panels_without_overlap():
    fig, narrow = draw()
    wide = [(fig.layout[f"xaxis{i or ''}"].domain, fig.layout[f"yaxis{i or ''}"].domain) for i in ("", 2, 3, 4)]
    assert wide[0][0] == wide[2][0] and wide[0][1] == wide[1][1]
    assert wide[0][0][1] < wide[1][0][0] and wide[2][1][1] < wide[0][1][0]
    stacked = [narrow[f"yaxis{i}"]["domain"] for i in ("", 2, 3, 4)]
    assert all(lower[1] < upper[0] for upper, lower in itertools.pairwise(stacked))
    assert all(narrow[f"xaxis{i}"]["domain"] == [0, 1] for i in ("", 2, 3, 4))


@pytest.mark.parametrize("now_x", [1, 16, 128])
def test_texts_in_a_panel_do_not_cover_each_other(now_x):
    close = [(x, y, f"endpoint {x}") for x, y in ((2, 120), (3, 130), (4, 125), (4, 110), (64, 130), (128, 60))]
    panels = four_panels(published=close)
    fig, narrow = tradeoffs_figure(
        BATCH, "batch size", True, BATCH, panels, "light", now_x, "Codex", infeasible=[(100, 128, "needs 11 chips")]
    )
    for layout, width, height in ((layout_of(fig), 760, 600), (narrow, theme.NARROWEST_PX, tradeoffs.HEIGHT_NARROW)):
        boxes = inside(layout, width, height)
        assert len(boxes) >= 3
        assert not any(a.overlaps(b) for panel in boxes.values() for a, b in itertools.combinations(panel, 2))


def inside(layout: dict, width: float, height: float) -> dict[str, list[theme.Box]]:
    """Room of the texts in each panel of a figure of that size, px, by the panel's axis."""
    boxes: dict[str, list[theme.Box]] = {}
    margin = layout["margin"]
    width = (width - margin["l"] - margin["r"]) * np.ptp(layout["xaxis"]["domain"])
    height = (height - margin["t"] - margin["b"]) * np.ptp(layout["yaxis"]["domain"])
    for note in layout["annotations"]:
        if note["xref"].endswith(" domain"):
            text = plain(note["text"])
            long, line = 0.5 * note["font"]["size"] * len(text), note["font"]["size"]
            size = (line, long) if note.get("textangle") else (long, line)
            at = note["x"] * width + note["xshift"], note["y"] * height + note["yshift"]
            boxes.setdefault(note["xref"], []).append(theme.Box.around(*at, *size))
    return boxes


@pytest.mark.parametrize("mode", MODES)
def test_no_line_runs_through_a_text(mode):
    fig, narrow = draw(mode=mode, infeasible=[(100, 128, "needs 11 chips")])
    ground = theme.translucent(theme.palette(mode).ground, 0.9)
    for layout in (layout_of(fig), narrow):
        texts = [note for note in layout["annotations"] if note["xref"].endswith(" domain")]
        assert {note["name"] for note in texts} == {"now", "published", "reason", "baseline"}
        assert {note["bgcolor"] for note in texts} == {ground}


def test_a_label_keeps_its_distance_from_its_point_at_every_width():
    fig, narrow = draw()
    for layout in (layout_of(fig), narrow):
        now = next(note for note in layout["annotations"] if note["name"] == "now")
        assert now["x"] == pytest.approx(math.log(32) / math.log(128))
        assert now["y"] == pytest.approx(math.log10(150 / 10) / 2)
        assert abs(now["xshift"]) + abs(now["yshift"]) < 60


def test_a_label_that_would_seem_to_name_another_point_is_not_offered():
    near, far = theme.Box.around(50, 60, 30, 10), theme.Box.around(50, 90, 30, 10)
    assert labels.nearest_to((50, 50), [(50, 50), (50, 100)], [near, far]) == [near]


def test_points_of_a_curve_are_close_whatever_its_values_and_stop_at_a_gap():
    points = labels.curve_points(np.array([0.0, 40, 80, 120]), np.array([0.0, 0, np.nan, 40]))
    assert points[:, 0].tolist() == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 120]
    assert points[-1].tolist() == [120, 40]


def test_an_option_that_is_its_own_reference_is_named_once():
    fig, _narrow = tradeoffs_figure(
        BATCH, "batch size", True, BATCH, four_panels(), "light", 32, "Opus 4.6", scenario_label="Opus 4.6"
    )
    assert [traces(fig, kind)[0].name for kind in ("curve", "reference")] == ["Opus 4.6", "reference"]


def test_the_legend_has_its_lines_above_the_first_title_of_a_phone():
    two_columns = draw()[1]["margin"]["t"]
    one_column = draw(infeasible=[(100, 128, "batch 166 does not fit: at most 164 at this context")])[1]["margin"]["t"]
    assert two_columns == 30 + 19 * 4  # "GPT-5.3-Codex" twice is wider than the plot on the narrowest phone
    assert one_column == 30 + 19 * 6  # five entries, the last of two lines
    fig, _narrow = draw(infeasible=[(100, 128, "batch 166 does not fit: at most 164 at this context")])
    assert traces(fig, "infeasible")[0].name == "batch 166 does not fit: at<br>most 164 at this context"


def test_a_long_title_fits_the_narrowest_phone():
    panels = four_panels()
    panels[1] = Panel("provider_cost", "Provider cost per token, no list price", "USD/Mtok", SPEED)
    _fig, narrow = draw(panels)
    title = [note for note in narrow["annotations"] if note["name"] == "title"][1]
    assert title["xshift"] == -narrow["margin"]["l"]
    assert theme.text_width_px(plain(title["text"]), title["font"]["size"]) < theme.NARROWEST_PX
    assert title["font"]["size"] < 13


def hardware(n: int) -> tuple[go.Figure, dict]:
    names = [f"chip {i:02d}" for i in range(n)]
    panels = [Panel(key, key, "x", np.linspace(1, 2, n), 1.5, 1.0) for key in ("a", "b", "c", "d")]
    return tradeoffs_figure(names, "hardware", False, None, panels, "light", "chip 03", "Codex")


@pytest.mark.parametrize("n", [20, 32])
def test_many_names_stand_upright_below_the_lowest_panels_only(n):
    fig, narrow = hardware(n)
    for layout, shown in ((layout_of(fig), [False, False, True, True]), (narrow, [False, False, False, True])):
        axes = [layout[f"xaxis{i}"] for i in ("", 2, 3, 4)]
        assert [axis["showticklabels"] for axis in axes] == shown
        assert {axis["tickangle"] for axis in axes} == {-90}
        assert len(axes[3]["ticktext"]) == n
        assert layout["margin"]["b"] >= theme.text_width_px("chip 00", 10) + 40


def test_names_without_room_are_thinned_and_the_scenarios_own_stays():
    _fig, narrow = hardware(60)
    assert narrow["xaxis4"]["ticktext"][:3] == ["chip 01", "chip 03", "chip 05"]
    assert list(narrow["xaxis4"]["tickvals"][:3]) == [1, 3, 5]


def test_a_point_beyond_the_axes_is_not_labelled():
    fig, _narrow = draw(four_panels(y_range=(10, 100), published=[(4, 170, "too fast")]))
    assert "x domain" not in inside(layout_of(fig), 760, 600)


def test_y_of_another_length_than_x_is_refused():
    with pytest.raises(ValueError, match="speed: y has shape"):
        draw([Panel("speed", "Tokens/s", "tok/s", SPEED[:3])])


# Step time

STEP = {
    "overhead": 0.0023,
    "weights": 0.0042,
    "kv": 0.0021,
    "compute": 0.0009,
    "collectives": 0.0016,
    "prefill": 0.0041,
}


@pytest.mark.parametrize("mode", MODES)
def test_step_parts_are_milliseconds_in_a_fixed_order_and_sum_to_the_total(mode):
    fig, narrow = step_time_figure({"Codex-Spark": STEP}, mode)
    assert [trace.meta for trace in fig.data] == list(theme.STEP_PARTS)
    assert [trace.marker.color for trace in fig.data] == list(theme.palette(mode).steps.values())
    assert [trace.x[0] for trace in fig.data] == pytest.approx([4.2, 2.1, 0.9, 1.6, 2.3, 4.1])
    assert fig.data[0].text[0] == "weights 4.2"
    assert fig.data[0].hovertext[0] == "Codex-Spark, weights: 4.2 ms, 27.6 % of the step"
    for layout in (layout_of(fig), narrow):
        assert noted(layout, "total") == ["<b>15.2 ms</b>"]


def test_step_reference_is_a_second_bar_in_its_own_colour():
    fig, _narrow = step_time_figure({"Spark": STEP, "Codex": {"weights": 0.004}}, "light")
    assert list(fig.data[0].x) == pytest.approx([4.2, 4.0])
    assert np.isnan(fig.data[1].x[1])
    assert noted(layout_of(fig), "total") == ["<b>15.2 ms</b>", "<b>4 ms</b>"]
    heads = noted(layout_of(fig), "head")
    assert theme.palette("light").scenario in heads[0] and theme.palette("light").reference in heads[1]


def test_a_negative_step_part_is_refused():
    with pytest.raises(ValueError, match="negative"):
        step_time_figure({"Spark": {"weights": -0.001}}, "light")


# All figures


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "build",
    [
        lambda mode: task_time_figure(four(), mode, 2400),
        lambda mode: draw(four_panels(band50=(SPEED, SPEED * 1.1)), mode, infeasible=[(100, 128, "does not fit")]),
        lambda mode: step_time_figure({"Spark": STEP}, mode),
    ],
    ids=["task_time", "tradeoffs", "step_time"],
)
def test_figures_hold_only_what_plotly_knows_and_no_ground_of_their_own(build, mode):
    fig, narrow = build(mode)
    drawn = fig.to_plotly_json()
    assert len(go.Figure(data=drawn["data"], layout=drawn["layout"]).data) == len(fig.data)  # checked by Plotly
    go.Figure(layout=narrow)
    assert drawn["layout"]["template"] == "none"
    assert drawn["layout"]["paper_bgcolor"] == drawn["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert set(narrow) <= set(drawn["layout"])


def test_type_grows_in_a_meeting_but_not_on_a_phone():
    (normal, narrow), (large, narrow_large) = draw(), draw(scale=1.3)
    assert large.layout.font.size == pytest.approx(1.3 * normal.layout.font.size)
    assert narrow_large["font"] == narrow["font"]
