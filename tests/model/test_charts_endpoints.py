"""The picture of the endpoints: where marks and arrows lie, what is hollow, what is flagged, and that no text covers another."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import endpoint_map as offers
from fastmode.catalog import load
from fastmode.charts import theme
from fastmode.charts.endpoints import HEIGHT, HEIGHT_NARROW, MARKS, endpoints_figure
from fastmode.charts.labels import least_width
from fastmode.charts.theme import Box


@pytest.fixture(scope="module")
def catalog():
    return load()


def drawn(catalog, era="late", mode="light", **more):
    every, tiers = [o for o in offers.offers(catalog) if o.drawn], offers.tiers(catalog)
    shown = offers.drawn(catalog, era)
    return endpoints_figure(
        shown, offers.arrows(catalog, era), [t for t in tiers if offers.in_era(t.offer.date, era)], mode,
        other_offers=[o for o in every if o not in shown], other_tiers=[t for t in tiers if not offers.in_era(t.offer.date, era)], **more,
    )  # fmt: skip


def traces(figure):
    return {trace["meta"]: trace for trace in figure.data}


def texts(layout, name):
    return [note["text"] for note in layout["annotations"] if note["name"] == name]


def points(trace):
    return set(zip(np.round(trace["x"], 6).tolist(), np.round(trace["y"], 6).tolist(), strict=True))


def test_offers_stand_at_their_speed_and_price_by_the_word_for_the_speed(catalog):
    found = traces(drawn(catalog)[0])
    assert (103.0, 50.0) in points(found["measured"])  # Opus 5 fast
    assert (300.0, 300.0) in points(found["published"])  # GPT-6 Astra Ultrafast
    assert (280.0, 0.79) in points(found["reported"])
    assert sum(len(found[word]["x"]) for word in MARKS) == len(offers.drawn(catalog, "late"))
    assert (65.0, 25.0) in points(found["other:offers"])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_measured_is_filled_and_the_rest_is_hollow(catalog, mode):
    found, colors = traces(drawn(catalog, mode=mode)[0]), theme.palette(mode)
    fills = {word: found[word]["marker"]["color"] for word in MARKS}
    assert fills == {"measured": colors.published, "published": colors.ground, "reported": colors.ground}
    assert found["reported"]["marker"]["symbol"] == "diamond"
    assert found["plain:advertised"]["marker"]["color"] == colors.ground
    assert found["flagged:realised"]["marker"]["color"] == colors.worse


def test_arrows_lead_from_standard_to_fast(catalog):
    arrow = traces(drawn(catalog, "early")[0])["arrows"]
    ends = np.array([arrow["x"], arrow["y"]]).T.reshape(-1, 3, 2)[:, :2]
    assert [[65.0, 25.0], [170.0, 150.0]] in ends.tolist()
    assert list(arrow["marker"]["size"][:3]) == [0, 11, 0]  # the head at the fast end


def test_tiers_stand_at_the_advertised_multiple_and_at_that_of_two_speeds(catalog):
    early, late = (traces(drawn(catalog, era)[0]) for era in ("early", "late"))
    assert (2.5, 6.0) in points(early["plain:advertised"]) and (2.5, 6.0) not in points(late["plain:advertised"])
    assert (2.5, 2.0) in points(late["plain:advertised"]) and (2.5, 2.0) not in points(early["plain:advertised"])
    assert points(late["flagged:realised"]) == {(round(103 / 62, 6), 2.0)}
    assert points(early["flagged:realised"]) == set()
    assert list(late["flagged:joined"]["x"][:2]) == pytest.approx([2.5, 103 / 62])


def test_a_tier_without_a_price_is_left_out(catalog):
    late = traces(drawn(catalog)[0])
    assert all(x != 14.0 for name in ("plain:advertised", "flagged:advertised") for x, _y in points(late[name]))


def test_axes_stand_still_when_the_era_changes_and_hold_every_mark(catalog):
    early, late = (drawn(catalog, era)[0] for era in ("early", "late"))
    for name in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
        assert early.layout[name]["range"] == late.layout[name]["range"] and early.layout[name]["type"] == "log"
    for trace in early.data:
        tail = str(trace["xaxis"] or "x").removeprefix("x")
        for way in "xy":
            low, high = early.layout[f"{way}axis{tail}"]["range"]
            known = np.asarray(trace[way], float)
            known = np.log10(known[np.isfinite(known)])
            assert ((known >= low) & (known <= high)).all(), trace["meta"]


def test_units_stand_on_the_axes(catalog):
    figure, narrow = drawn(catalog)
    for layout in (figure.layout, narrow):
        titles = [layout[name]["title"]["text"] for name in ("xaxis", "yaxis", "xaxis2", "yaxis2")]
        assert titles == ["output tok/s per user", "output price (USD/Mtok)", "speed multiple", "price multiple"]


def test_panels_stand_side_by_side_and_on_a_phone_one_above_the_other(catalog):
    figure, narrow = drawn(catalog)
    assert figure.layout["xaxis"]["domain"][1] < figure.layout["xaxis2"]["domain"][0]
    assert narrow["yaxis"]["domain"][0] > narrow["yaxis2"]["domain"][1]
    assert tuple(narrow["xaxis"]["domain"]) == tuple(narrow["xaxis2"]["domain"]) == (0.0, 1.0)


def test_hover_tells_the_figures_with_their_words(catalog):
    found = traces(drawn(catalog)[0])
    opus = next(text for text in found["measured"]["hovertext"] if "Opus 5 fast" in text)
    assert opus == "<b>Opus 5 fast</b><br>103 tok/s per user (measured)<br>$50 per Mtok of output<br>2026-07-24"
    (tier,) = found["flagged:realised"]["hovertext"]
    assert tier == "<b>Opus 5 fast</b><br>price: 2x<br>speed, advertised: 2.5x<br>speed, from two speeds: 1.66x of Opus 4.8<br>2026-07-24"


def test_names_that_matter_are_written(catalog):
    early, late = (drawn(catalog, era) for era in ("early", "late"))
    assert {"Opus 4.6 fast", "Opus 4.6"} <= set(texts(early[0].layout, "offer"))
    assert {"Opus 5 fast", "GPT-6 Astra Ultrafast"} <= set(texts(late[0].layout, "offer"))
    for layout in (early[0].layout, early[1]):
        assert "Opus 4.6 fast<br>Opus 4.7 fast" in texts(layout, "tier")
    for layout in (late[0].layout, late[1]):
        assert {"Opus 5 fast", "Opus 4.8 fast<br>Opus 5.5 fast<br>GPT-5.6 Sol fast"} <= set(texts(layout, "tier"))
    assert 3 <= len(texts(late[1], "offer")) <= 7  # few on a phone


@pytest.mark.parametrize("era", ["early", "late"])
@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("phone", [False, True])
def test_no_text_covers_another_or_a_mark(catalog, era, scale, phone):
    figure, narrow = drawn(catalog, era, scale=scale)
    layout = narrow if phone else figure.layout
    if phone:
        scale, size = 1.0, (theme.NARROWEST_PX, HEIGHT_NARROW)
    else:
        size = least_width(scale), scale * HEIGHT
    margin = layout["margin"]
    inner = size[0] - margin["l"] - margin["r"], size[1] - margin["t"] - margin["b"]
    for tail in ("", "2"):
        x_axis, y_axis = layout[f"xaxis{tail}"], layout[f"yaxis{tail}"]
        width, height = ((axis["domain"][1] - axis["domain"][0]) * px for axis, px in ((x_axis, inner[0]), (y_axis, inner[1])))
        boxes = []
        for note in layout["annotations"]:
            if note["name"] not in ("offer", "tier", "as fast") or note["xref"] != f"x{tail} domain":
                continue
            lines = re.sub("</?b>", "", note["text"]).split("<br>")
            across, up = (note["ax"], -note["ay"]) if note["showarrow"] else (note["xshift"], note["yshift"])
            at = note["x"] * width + across, note["y"] * height + up
            px = note["font"]["size"]
            boxes.append((note["text"], Box.around(*at, max(theme.text_width_px(line, px) for line in lines), 1.3 * px * len(lines))))
        for i, (text, box) in enumerate(boxes):
            assert box.left > -1 and box.right < width + 1 and box.bottom > -1 and box.top < height + 1, text
            assert not [other for other, there in boxes[:i] if box.overlaps(there)], text
            for trace in figure.data:
                if str(trace["xaxis"] or "x") != f"x{tail}" or trace["mode"] != "markers" or str(trace["meta"]).startswith("other"):
                    continue
                (x_low, x_high), (y_low, y_high) = x_axis["range"], y_axis["range"]
                for x, y in zip(trace["x"], trace["y"], strict=True):
                    px, py = (np.log10(x) - x_low) / (x_high - x_low) * width, (np.log10(y) - y_low) / (y_high - y_low) * height
                    assert not box.overlaps(Box.around(px, py, 8, 8)), (text, x, y)


def test_every_line_of_the_key_fits_a_phone(catalog):
    _figure, narrow = drawn(catalog)
    (key,) = (note for note in narrow["annotations"] if note["name"] == "key")
    lines = re.sub("<span[^>]*>|</span>", "", key["text"]).split("<br>")
    assert all(theme.text_width_px(line, key["font"]["size"]) <= theme.NARROWEST_PX for line in lines)
    assert 1.35 * key["font"]["size"] * (len(lines) + 1) <= narrow["margin"]["t"]  # and the panel's title below them


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_plotly_takes_both_layouts(catalog, mode):
    figure, narrow = drawn(catalog, mode=mode)
    checked = go.Figure(figure.to_plotly_json())
    checked.update_layout(narrow)


def test_an_empty_map_is_drawn(catalog):
    figure, narrow = endpoints_figure([], [], [], "light")
    assert texts(figure.layout, "offer") == texts(narrow, "tier") == []
