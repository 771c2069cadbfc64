"""The pictures of the bus: bars of requests, the clock's frames, and load against latency."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import catalog, scenario
from fastmode.bus import Curve, Trip, bus, load_curves
from fastmode.charts import bus as bus_chart
from fastmode.charts import load_curve, theme
from fastmode.charts.bus import bus_figure
from fastmode.charts.load_curve import PANELS, load_curve_figure
from tests.model.test_charts import MODES, layout_of, noted
from tests.model.test_charts_productivity import metas, no_overlap, trace

CAT = catalog.load()
START = scenario.default(CAT)
TRIP = Trip(
    arrival_s=np.array([0.0, 2.0, 5.0]), start_s=np.array([2.0, 2.0, 9.0]), first_s=np.array([3.0, 3.0, 10.0]), finish_s=np.array([8.0, 8.0, 12.0]),
    moments_s=np.array([0.0, 6.0, 12.0]), on_board=np.array([0, 2, 0]), waiting=np.array([1, 1, 0]), buses=np.array([[2.0, 9.0], [8.0, 12.0]]),
)  # fmt: skip


def curve(policy, **more) -> Curve:
    rates, means = np.array([1.0, 2.0, 4.0]), {name: np.array([0.1, 0.2, np.nan]) for name in PANELS}
    points = {name: np.array([0.11, 0.5]) for name in PANELS}
    values = {
        "policy": policy, "requests_per_s": rates, "mean": means, "p95": {"ttft_s": means["ttft_s"] * 2}, "band": {},
        "simulated_requests_per_s": np.array([1.0, 4.0]), "simulated_load": np.array([0.2, 0.8]), "simulated_mean": points,
        "simulated_error": {name: y / 10 for name, y in points.items()}, "simulated_p95": {name: 2 * y for name, y in points.items()}, "saturation_requests_per_s": 5.0,
    }  # fmt: skip
    return Curve(**values | more)


# The picture


def test_a_bar_a_piece_of_every_request():
    fig, _narrow = bus_figure(TRIP, 2, "light")
    for meta, start, end in (("waiting", TRIP.arrival_s, TRIP.start_s), ("prefill", TRIP.start_s, TRIP.first_s), ("decode", TRIP.first_s, TRIP.finish_s)):
        bars = trace(fig, meta)
        np.testing.assert_allclose(bars.base, start)
        np.testing.assert_allclose(np.add(bars.base, bars.x), end)
        np.testing.assert_allclose(bars.y, [0, 1, 2])
    assert trace(fig, "waiting").hovertext[2] == "waiting for departure: 4 s"
    low, high = layout_of(fig)["yaxis"]["range"]
    assert low > high  # the first request is at the top


def test_bands_stand_where_the_bus_is_away_and_are_named():
    fig, narrow = bus_figure(TRIP, 2, "light")
    for layout in (layout_of(fig), {**layout_of(fig), **narrow}):
        assert [(s["x0"], s["x1"]) for s in layout["shapes"]] == [(2.0, 8.0), (9.0, 12.0)]
        assert "the\u00a0bus\u00a0is\u00a0away" in noted(layout, "key")[0]
    without, _narrow = bus_figure(replace(TRIP, buses=np.empty((2, 0))), 2, "light")
    assert layout_of(without)["shapes"] in ((), []) and "away" not in noted(layout_of(without), "key")[0]


def test_the_clock_moves_and_counts_only_when_played():
    fig, _narrow = bus_figure(TRIP, 2, "light")
    clock, count = metas(fig).index("clock"), metas(fig).index("count")
    assert list(fig.data[clock].x) == [0.0, 0.0] and fig.data[count].text == ("",) or list(fig.data[count].text) == [""]
    assert [frame.traces for frame in fig.frames] == [(clock, count)] * 3
    assert [frame.data[0].x[0] for frame in fig.frames] == [0.0, 6.0, 12.0]
    assert [frame.data[1].text[0] for frame in fig.frames] == [
        "on board 0 of 2, waiting 1", "on board 2 of 2, waiting 1", "on board 0 of 2, waiting 0",
    ]  # fmt: skip
    (menu,) = layout_of(fig)["updatemenus"]
    play, pause = menu["buttons"]
    assert (play["label"], pause["label"]) == ("Play", "Pause") and play["method"] == pause["method"] == "animate"
    assert play["args"][0] is None and pause["args"][0] == [None]


def test_long_trips_are_in_minutes():
    names = ("arrival_s", "start_s", "first_s", "finish_s", "moments_s", "buses")
    slow = replace(TRIP, **{name: 60 * getattr(TRIP, name) for name in names})
    fig, _narrow = bus_figure(slow, 2, "light")
    np.testing.assert_allclose(np.add(trace(fig, "decode").base, trace(fig, "decode").x), TRIP.finish_s)
    assert layout_of(fig)["xaxis"]["title"]["text"].endswith(", min") and layout_of(fig)["shapes"][0]["x0"] == 2.0


@pytest.mark.parametrize("mode", MODES)
def test_the_pieces_have_colours_of_their_own_and_plotly_knows_every_property(mode):
    fig, narrow = bus_figure(TRIP, 2, mode)
    fills = [trace(fig, meta).marker.color for meta in ("waiting", "prefill", "decode")]
    assert len(set(fills)) == 3 and all(theme.contrast(fill, theme.palette(mode).ground) >= 3 for fill in fills)
    go.Figure(data=fig.to_dict()["data"], layout={**fig.to_dict()["layout"]})
    go.Layout(narrow)
    loads, narrow = load_curve_figure([curve("continuous"), curve("static")], 2.0, mode)
    go.Figure(loads.to_dict()["data"], loads.to_dict()["layout"])
    go.Layout(narrow)


# Load against latency


def test_lines_are_the_closed_form_and_dots_the_simulation():
    fig, _narrow = load_curve_figure([curve("continuous"), curve("static")], 2.0, "light")
    line = trace(fig, "continuous:tpot_s:mean")
    np.testing.assert_allclose(line.y, [100.0, 200.0, np.nan])  # ms
    np.testing.assert_allclose(trace(fig, "static:time_s:mean").y, [0.1, 0.2, np.nan])
    np.testing.assert_allclose(trace(fig, "static:ttft_s:p95").y, [0.2, 0.4, np.nan])
    assert "static:tpot_s:p95" not in metas(fig)  # no closed form
    dots = trace(fig, "continuous:tpot_s:p95:simulated")
    np.testing.assert_allclose(dots.y, [220.0, 1000.0])
    np.testing.assert_allclose(trace(fig, "static:time_s:mean:simulated").error_y.array, [0.022, 0.1])  # two standard errors
    # beyond the line the simulation goes on from its end; without a line it is joined throughout
    beyond = trace(fig, "continuous:ttft_s:mean:beyond")
    np.testing.assert_allclose([beyond.x, beyond.y], [[2.0, 4.0], [0.2, 0.5]])
    np.testing.assert_allclose(trace(fig, "static:tpot_s:p95:beyond").x, [1.0, 4.0])


def test_saturation_and_the_traffic_now_are_marked_in_every_panel():
    curves = [curve("continuous", saturation_requests_per_s=9.0), curve("static")]
    fig, narrow = load_curve_figure(curves, 2.0, "light")
    for layout in (layout_of(fig), narrow):
        for tail in ("", "2", "3"):
            assert [s["x0"] for s in layout["shapes"] if s["xref"] == f"x{tail}"] == [9.0, 5.0, 2.0]
        said = [text.replace("<br>", " ") for text in noted(layout, "upright")]
        assert sorted(said) == ["continuous full at 9/s", "now 2/s", "static full at 5/s"]
    far, _narrow = load_curve_figure(curves, 1e6, "light")  # beyond the axis
    assert [s["x0"] for s in layout_of(far)["shapes"]] == [9.0, 5.0] * 3


def test_a_band_is_drawn_where_there_is_one_and_fits_the_axis():
    low, high = np.array([0.01, 0.05, np.nan]), np.array([0.9, 0.8, np.nan])
    fig, _narrow = load_curve_figure([curve("continuous", band={"tpot_s": (low, high)})], 2.0, "light")
    band = trace(fig, "continuous:tpot_s:band")
    np.testing.assert_allclose(band.y, [900.0, 800.0, 50.0, 10.0])
    np.testing.assert_allclose(band.x, [1.0, 2.0, 2.0, 1.0])
    bottom, top = layout_of(fig)["yaxis2"]["range"]
    assert bottom < 1.0 and top > np.log10(900.0)


def test_no_curve_is_refused():
    with pytest.raises(ValueError, match="curve"):
        load_curve_figure([], 1.0, "light")


SCENARIOS = {
    "start": START,
    "busy": replace(START, batch_size=8.0, requests_per_s=8.0),
    "chips": replace(START, hardware="b200_sxm", n_chips=16, requests_per_s=1.0, anchor="model", batch_size=64.0),
}


@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("name", SCENARIOS)
def test_texts_do_not_cover_each_other(name, scale):
    asked = SCENARIOS[name]
    found = load_curve_figure(load_curves(asked, CAT), asked.requests_per_s, "light", scale=scale)
    assert no_overlap(*found, (load_curve.HEIGHT, load_curve.HEIGHT_NARROW), scale) > 0
    for ride in bus(asked, CAT).rides.values():
        if ride.trip is not None:
            fig, _narrow = bus_figure(ride.trip, 16, "light", scale=scale)
            ends = layout_of(fig)["xaxis"]["range"]
            assert ends[0] == 0.0 and ends[1] >= ride.trip.finish_s.max()
    assert bus_chart.HEIGHT >= 16 * 18  # a bar a request stays tall enough to see
