"""Traffic and limits under AppTest: the load switch, what it dims, the cards against the command, saturation, goodput."""

import re

import pytest

from fastmode.cards import cards
from fastmode.cli import evaluation_document
from fastmode.evaluate import evaluate
from fastmode.feasible import nearest
from fastmode.link import from_query
from fastmode.slo import goodput_text, traffic_text
from tests.app.test_cards import changed_groups, changed_keys, expected, html_texts, shown, start, verdict


def choose(at, key, value):
    """Set a select box and run."""
    at.selectbox(key=key).set_value(value).run()
    assert not at.exception
    return at


def rate(at, value):
    """Move the traffic slider and run."""
    at.select_slider(key="rq").set_value(value).run()
    assert not at.exception
    return at


def idle(at):
    """Keys of the shared controls that are dimmed."""
    widgets = [*at.sidebar.select_slider, *at.sidebar.selectbox, *at.sidebar.number_input]
    return {widget.key for widget in widgets if widget.disabled}


def captions(at):
    return [caption.value for caption in at.main.caption]


@pytest.mark.parametrize("page", ["overview", "trade_offs"])
def test_traffic_changes_the_cards_to_what_the_command_prints(page):
    at = start("preset=opus-4.6", page)
    fixed = shown(at)
    choose(at, "ld", "traffic")
    at_one = shown(at)
    assert at_one == expected("preset=opus-4.6&load=traffic")
    rate(at, 3.0)
    assert shown(at) == expected("preset=opus-4.6&load=traffic&requests_per_s=3")
    speeds = [cards_["tokens_per_s_per_user"][0] for cards_ in (fixed, at_one, shown(at))]
    assert len(set(speeds)) == 3
    assert [cards_["error_rate"] for cards_ in (at_one, shown(at))] == [fixed["error_rate"]] * 2
    assert {"ld": "traffic", "rq": 3.0}.items() <= changed_keys(at).items()


def test_the_load_dims_what_it_does_not_use_and_moves_nothing():
    at = start("preset=opus-4.6")
    before = [(type(w), w.key) for w in [*at.sidebar.select_slider, *at.sidebar.selectbox, *at.sidebar.number_input]]
    assert "rq" in idle(at) and "b" not in idle(at)
    choose(at, "ld", "traffic")
    after = [(type(w), w.key) for w in [*at.sidebar.select_slider, *at.sidebar.selectbox, *at.sidebar.number_input]]
    assert before == after
    assert "b" in idle(at) and "rq" not in idle(at)
    sliders = {slider.key: slider.label for slider in at.sidebar.select_slider}
    assert sliders["b"] == "Batch (no effect here)" and sliders["rq"] == "Requests/s"


def test_the_batch_still_sizes_automatic_chips_in_traffic():
    at = start("load=traffic")
    assert "b" not in idle(at)
    at.select_slider(key="b").set_value(64.0).run()
    assert shown(at) == expected("load=traffic&b=64")


def test_the_load_stands_where_the_batch_stands_and_counts_in_no_group():
    at = start("preset=opus-4.6&load=traffic&requests_per_s=2")
    assert changed_groups(at) == []
    for expander in at.sidebar.expander:
        assert {widget.key for widget in expander.select_slider} & {"b", "rq"} == set()
        assert "ld" not in {widget.key for widget in expander.selectbox}
    sliders = [slider.key for slider in at.sidebar.select_slider]
    assert sliders[:2] == ["b", "rq"]


def test_undo_reset_and_another_option_leave_traffic():
    at = choose(start("preset=opus-4.6"), "ld", "traffic")
    assert at.sidebar.markdown[0].value == "**Opus 4.6 (edited)**"
    at.button(key="undo").click().run()
    assert at.selectbox(key="ld").value == "batch" and shown(at) == expected("preset=opus-4.6")
    choose(at, "ld", "traffic")
    at.button(key="reset").click().run()
    assert at.selectbox(key="ld").value == "batch"
    choose(at, "ld", "traffic")
    choose(at, "a", "opus-4.6-fast")
    assert at.selectbox(key="ld").value == "batch" and shown(at)["tokens_per_s_per_user"][0] == "170 tok/s"


def test_saturated_cards_have_a_reason_and_a_way_out():
    query = "preset=opus-4.6&load=traffic&requests_per_s=1000"
    at = start(query)
    reason = evaluation_document(query)["status"]
    assert reason.startswith("saturated: more than ") and reason.endswith(" requests/s cannot be served")
    assert shown(at)["tokens_per_s_per_user"][0] == "-" and shown(at) == expected(query)
    speed = next(text for text in html_texts(at) if 'data-card="tokens_per_s_per_user"' in text)
    assert reason in speed and reason in verdict(at)
    offered = nearest(evaluate(from_query(query)[0]))["requests_per_s"]
    button = at.button(key="nearest")
    assert button.label == f"Use the nearest setting that works: Requests/s {offered:g}"
    button.click().run()
    assert at.select_slider(key="rq").value == offered
    assert shown(at) == expected(f"preset=opus-4.6&load=traffic&requests_per_s={offered}")
    assert re.search(r"\d", shown(at)["tokens_per_s_per_user"][0])


def test_limits_show_the_goodput_below_the_cards_and_the_traffic_its_load():
    query = "preset=opus-4.6&load=traffic&requests_per_s=2"
    at = start(query, page="trade_offs")
    assert traffic_text(evaluate(from_query(query)[0])) in captions(at)
    assert not any("p95 TPOT" in text for text in captions(at))
    at.number_input(key="lp").set_value(0.02).run()
    at.number_input(key="lt").set_value(2.0).run()
    text = goodput_text(evaluate(from_query(query + "&slo_ttft_s=2&slo_tpot_s=0.02")[0]))
    assert text.startswith("Meets p95 TTFT 2 s and TPOT 20 ms up to batch ") and text in captions(at)
    assert at.number_input(key="lp").placeholder == "no limit" != at.number_input(key="st").placeholder
    assert changed_groups(at) == ["Serving, 2 changed"]


def carried(at):
    """Rate, requests running and rate at saturation from the caption of the traffic."""
    text = next(text for text in captions(at) if text.startswith("Traffic, "))
    found = re.match(
        r"Traffic, (\S+) per second: (\S+) requests run on average; load \S+ %, saturated at (\S+) per second", text
    )
    return [float(figure.replace(",", "")) for figure in found.groups()]


def test_the_batch_and_saturation_of_the_caption_belong_to_the_speed_on_the_card():
    """Little's law on what is read: 400 tokens a call at the speed shown. TTFT, a sixth of that, is left out: hence 25 %."""
    at = start("preset=opus-4.6&load=traffic&requests_per_s=3", page="trade_offs")
    rate_, running, most = carried(at)
    speed = float(re.match(r"(\d+) tok/s", shown(at)["tokens_per_s_per_user"][0])[1])
    scenario = from_query("preset=opus-4.6&load=traffic")[0]
    decoding = rate_ * (scenario.n_out / scenario.calls - 1) / speed
    assert rate_ == 3 and decoding < running < 1.25 * decoding
    # The model alone is slower than the published 65 tok/s: the same traffic is more requests, and less of it can be carried.
    choose(at, "an", "model")
    _rate, more, less = carried(at)
    at_home = evaluate(from_query("preset=opus-4.6")[0])
    assert more > running
    assert less == pytest.approx(most * at_home.at(at_home.now.modelled_tokens_per_s) / 65, rel=0.01)  # three digits


def test_the_axis_of_the_batch_is_the_rate_and_the_choice_of_axis_stays():
    at = start("preset=opus-4.6", page="trade_offs")
    table = at.dataframe[0].value
    assert table.columns[0] == "batch size (running requests)"
    choose(at, "ld", "traffic")
    table = at.dataframe[0].value
    assert table.columns[0] == "traffic (requests/s)"
    saturated = table["no figure because"].str.startswith("saturated")
    assert list(saturated) == list(table["tokens/s per user"].isna()) and 0 < saturated.sum() < 200
    at.session_state["x"] = "hardware"
    at.run()
    assert at.dataframe[0].value.columns[0] == "hardware"
    choose(at, "ld", "batch")
    assert at.session_state["x"] == "hardware" and at.dataframe[0].value.columns[0] == "hardware"
    choose(at, "ld", "traffic")
    assert at.session_state["x"] == "hardware"


def test_a_link_opens_the_same_traffic():
    query = "ld=traffic&rq=5&lt=1&lp=0.002"
    at = start(query, page="trade_offs")
    assert changed_keys(at) == {"ld": "traffic", "rq": 5.0, "lt": 1.0, "lp": 0.002}
    assert shown(at) == expected(query)
    assert query in next(code.value for code in at.sidebar.code)
    assert [card.value for card in cards(evaluate(from_query(query)[0]))][0] in shown(at)["tokens_per_s_per_user"][0]
