"""The verdict's figures, the four cards and the shared controls under AppTest, against the command `evaluate`."""

import html
import re
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from fastmode import link
from fastmode import scenario as scenarios
from fastmode.cards import SAME, Card, cards
from fastmode.cli import evaluation_document
from fastmode.evaluate import evaluate
from fastmode.format import join_unit
from fastmode.ui.cards import card_html
from tests.conftest import ROOT

CARDS = ["tokens_per_s_per_user", "cost_multiplier", "error_rate", "net_productivity"]
DEFAULT_KEYS = {f.key: f.default for f in scenarios.all_fields().values()}


def start(query: str = "", page: str = "overview") -> AppTest:
    """The app opened with a link, on a page, without an exception."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    for key, value in parse_qsl(query, keep_blank_values=True):
        at.query_params[key] = [*at.query_params.get(key, []), value]
    at.run()
    if page != "overview":
        at.switch_page(f"pages/{page}.py").run()
    assert not at.exception
    return at


def html_texts(at: AppTest) -> list[str]:
    """The HTML the pages wrote themselves, without the style sheet."""
    return [element.proto.body for element in at.get("html") if "<style>" not in element.proto.body]


def shown(at: AppTest) -> dict[str, tuple[str, str]]:
    """Cards in page order: id -> (value with unit, change)."""
    found = {}
    for text in html_texts(at):
        key = re.search(r'data-card="(\w+)"', text)
        if key:
            value, unit, change = (
                html.unescape("".join(re.findall(rf'class="{name}[^"]*">([^<]*)<', text))).replace("\u00a0", " ")
                for name in ("card-value", "card-unit", "card-change")
            )
            found[key[1]] = (join_unit(value, unit), change)
    return found


def expected(query: str) -> dict[str, tuple[str, str]]:
    """What the command `evaluate` prints for a link, and the change that belongs to it."""
    outputs = evaluation_document(query)["outputs"]
    changes = {card.key: card.change for card in cards(evaluate(link.from_query(query)[0]))}
    return {name: (outputs[name]["text"], changes[name]) for name in CARDS}


def held(at: AppTest) -> dict[str, object]:
    """Every shared control's value, by link key."""
    widgets = [*at.sidebar.select_slider, *at.sidebar.selectbox, *at.sidebar.number_input, *at.sidebar.text_input]
    return {widget.key: widget.value for widget in widgets}


def changed_keys(at: AppTest) -> dict[str, object]:
    """The shared controls whose value is not the default of an empty link."""
    now = held(at)
    assert set(now) == set(DEFAULT_KEYS)
    return {key: value for key, value in now.items() if value != DEFAULT_KEYS[key]}


def changed_groups(at: AppTest) -> list[str]:
    """What the heads of the sidebar's groups say of changes."""
    heads = (re.match(r"\w[\w ]*, \d+ changed", expander.label) for expander in at.sidebar.expander)
    return [head[0] for head in heads if head]


def verdict(at: AppTest) -> str:
    """The verdict with its caveat as plain text, wherever on the page the caveat stands."""
    text = " ".join(text for text in html_texts(at) if "data-verdict" in text or "fm-note" in text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


# --- the default link: the founding pair ------------------------------------------------------------------------------


def test_cards_of_the_default_link_are_the_founding_figures():
    at = start()
    found = shown(at)
    assert list(found) == CARDS
    assert found["tokens_per_s_per_user"] == ("1\u202f000 tok/s", "15.4x vs GPT-5.3-Codex")
    assert found["error_rate"][0] == "44.7 %" and found["error_rate"][1].startswith("+19.7 points vs GPT-5.3-Codex")
    assert found["net_productivity"][0] == "1.89x vs no AI"
    assert found["net_productivity"][1].startswith("+34 % ")
    assert not re.search(r"\d", "".join(found["cost_multiplier"]))  # its price is not published: no figure, no guess


@pytest.mark.parametrize("page", ["overview", "trade_offs"])
def test_cards_of_the_default_link_are_what_the_command_prints(page):
    assert shown(start(page=page)) == expected("")


def test_reference_card_shows_25_percent_errors_and_25_7_minutes():
    at = start("preset=gpt-5.3-codex")
    assert shown(at)["error_rate"][0] == "25 %"
    assert any("25.7 min per accepted task" in text for text in html_texts(at))


def test_default_card_shows_34_4_minutes():
    card = next(text for text in html_texts(start()) if 'data-card="net_productivity"' in text)
    assert "34.4 min per accepted task" in card


def test_bars_table_holds_the_founding_times():
    table = start().dataframe[0].value.set_index("option")
    total_s = table["total, s"].to_dict()
    assert total_s == {"Opus 4.6": 1540.0, "Opus 4.6 fast": 1445.7, "GPT-5.3-Codex": 1540.0, "Codex-Spark": 2063.9}
    assert round(total_s["GPT-5.3-Codex"] / 60, 1) == 25.7 and round(total_s["Codex-Spark"] / 60, 1) == 34.4
    assert round(100 * (total_s["Codex-Spark"] / total_s["GPT-5.3-Codex"] - 1)) == 34
    parts = table.drop(columns=["total, s", "correcting, %"])
    assert parts.sum(axis=1).to_list() == pytest.approx(list(total_s.values()), abs=0.3)


def test_basis_fills_in_the_founding_waits_and_errors():
    lines = "\n".join(element.value for element in start().markdown)
    assert "calls 20 x TTFT 0.52 s + output 8\u202f000 / 1\u202f000 + tools 60 s + start 0 s = 78.4 s" in lines
    assert re.search(r"reference: 1\u202f540 s per accepted task, wait 205\.1 s", lines)
    assert "(GPT-5.3-Codex): 0.25, profile" in lines and "error = odds / (1 + odds) = 0.4471" in lines


def test_basis_says_which_precision_a_chip_without_the_one_asked_for_uses():
    assert "fp8 (the chip lacks fp4)" in " ".join(m.value for m in start("preset=opus-4.6&hw=H100&wp=fp4", "trade_offs").main.markdown)


def test_basis_names_the_command_of_this_scenario():
    commands = [text.value for text in start("b=64&w=150").code if text.value.startswith("python")]
    assert commands == ['python -m fastmode evaluate "b=64&w=150"'] * 4


def test_verdict_states_the_founding_comparison():
    text = verdict(start())
    assert "Codex-Spark takes 34 % more developer time per accepted task than GPT-5.3-Codex" in text
    for figure in ("15.4x", "2.39 min", "11.1 min", "30.1 %", "44.7 %"):
        assert figure in text
    assert "Opus 4.6 fast takes 6.1 % less " in text and "$169" in text


# --- moving controls --------------------------------------------------------------------------------------------------

MOVES = {"batch": ("b", 64.0), "hardware": ("hw", "b200_sxm"), "distillation": ("r", 10.0)}
WIDGETS = {"b": "select_slider", "hw": "selectbox", "r": "select_slider", "an": "selectbox"}


def move(at: AppTest, key: str, value: object) -> AppTest:
    """Set one shared control and run."""
    kind = WIDGETS.get(key) or ("select_slider" if key in ("fx", "cx", "ts") else "number_input")
    getattr(at, kind)(key=key).set_value(value).run()
    assert not at.exception
    return at


@pytest.mark.parametrize("anchor", ["published", "model"])
@pytest.mark.parametrize("page", ["overview", "trade_offs"])
@pytest.mark.parametrize("names", [["batch"], ["hardware"], ["distillation"], list(MOVES)], ids="-".join)
def test_moved_controls_change_the_cards_to_what_the_command_prints(page, names, anchor):
    at = start(f"an={anchor}", page)
    before = shown(at)
    for name in names:
        move(at, *MOVES[name])
    fields = {"anchor": anchor} | {
        {"b": "batch_size", "hw": "hardware", "r": "distillation"}[MOVES[n][0]]: MOVES[n][1] for n in names
    }
    query = "&".join(f"{name}={value}" for name, value in fields.items())
    assert shown(at) == expected(query)
    assert shown(at)["tokens_per_s_per_user"] != before["tokens_per_s_per_user"]


def test_batch_and_hardware_leave_the_error_alone_and_distillation_raises_it():
    at = start()
    for name in ("batch", "hardware"):
        assert shown(move(at, *MOVES[name]))["error_rate"][0] == "44.7 %"
    raised = shown(move(at, *MOVES["distillation"]))["error_rate"][0]
    assert float(raised.removesuffix(" %")) > 44.7


def test_an_edited_option_is_called_edited():
    at = start()
    assert at.sidebar.markdown[0].value == "**Codex-Spark**"
    assert move(at, "b", 64.0).sidebar.markdown[0].value == "**Codex-Spark (edited)**"


@pytest.mark.parametrize("task", ["critical-work", "prototyping", "chat"])
def test_profile_buttons_set_everything_the_profile_stands_for(task):
    at = start()
    at.button(key=f"profile_{task}").click().run()
    values = scenarios.expand_profile(task)
    declared = scenarios.all_fields()
    assert {declared[name].key: value for name, value in values.items()}.items() <= held(at).items()
    assert shown(at) == expected(f"task={task}")
    assert at.sidebar.markdown[0].value == "**Codex-Spark**"


def test_choosing_another_task_takes_back_what_the_last_one_set():
    at = start()
    at.button(key="profile_chat").click().run()
    at.selectbox(key="t").set_value("issue").run()
    assert changed_keys(at) == {}


def test_choosing_an_option_sets_everything_it_stands_for():
    at = start()
    at.selectbox(key="a").set_value("opus-4.6-fast").run()
    assert changed_keys(at) == {
        "a": "opus-4.6-fast", "v": "opus-4.6", "b": 4.0, "hw": "b200_sxm", "m": "kimi-k2", "n": 8, "wp": "fp8", "hs": 0.1,
    }  # fmt: skip
    assert shown(at) == expected("preset=opus-4.6-fast")
    assert shown(at)["tokens_per_s_per_user"] == ("170 tok/s", "2.62x vs Opus 4.6")
    assert shown(at)["cost_multiplier"][0] == "6x"


def test_undo_takes_back_one_change_after_another():
    at = start()
    assert at.button(key="undo").disabled
    move(at, "b", 64.0)
    move(at, "w", 150.0)
    at.selectbox(key="a").set_value("opus-4.6-fast").run()
    assert held(at)["b"] == 4.0
    at.button(key="undo").click().run()
    assert changed_keys(at) == {"b": 64.0, "w": 150.0}
    at.button(key="undo").click().run()
    assert changed_keys(at) == {"b": 64.0}
    assert shown(at) == expected("b=64")
    at.button(key="undo").click().run()
    assert changed_keys(at) == {}
    assert at.button(key="undo").disabled and shown(at) == expected("")


def test_undo_works_again_after_a_change_that_follows_an_undo():
    at = move(start(), "b", 64.0)
    at.button(key="undo").click().run()
    move(at, "b", 4.0)
    assert not at.button(key="undo").disabled
    at.button(key="undo").click().run()
    assert changed_keys(at) == {}


def test_reset_goes_back_to_option_and_task():
    at = start("preset=opus-4.6-fast&task=chat&b=64&w=150&no=900")
    assert not at.button(key="reset").disabled
    at.button(key="reset").click().run()
    assert shown(at) == expected("preset=opus-4.6-fast&task=chat")
    assert (held(at)["b"], held(at)["w"], held(at)["a"], held(at)["t"]) == (4.0, 100.0, "opus-4.6-fast", "chat")
    assert at.button(key="reset").disabled


def test_reset_group_leaves_other_groups_alone():
    at = start("w=150&th=20&no=900&b=64")
    assert changed_groups(at) == ["Task, 1 changed", "People, 2 changed"]
    at.button(key="reset_people").click().run()
    assert changed_keys(at) == {"no": 900, "b": 64.0}
    assert changed_groups(at) == ["Task, 1 changed"]
    assert shown(at) == expected("no=900&b=64")


@pytest.mark.parametrize(("key", "value"), [("ts", 5.0), ("fx", 300.0)])
def test_the_two_sliders_of_the_overview_and_the_sidebar_move_together(key, value):
    at = start()
    at.select_slider(key=f"mirror_{key}").set_value(value).run()
    assert changed_keys(at) == {key: value}
    assert shown(at) == expected(f"{key}={value}")
    move(at, key, 2 * value)
    assert at.select_slider(key=f"mirror_{key}").value == 2 * value
    assert shown(at) == expected(f"{key}={2 * value}")


def test_undo_takes_back_a_move_of_an_overview_slider():
    at = start()
    at.select_slider(key="mirror_ts").set_value(5.0).run()
    at.button(key="undo").click().run()
    assert changed_keys(at) == {} and at.select_slider(key="mirror_ts").value == 1.0


def test_own_price_gives_the_cost_card_a_figure():
    at = start()
    move(at, "pi", 1.75)
    move(at, "po", 14.0)
    # 114 000 x 1.75 + 8 000 x 14 USD per million = 0.3115 USD, the bill of the reference at the same prices
    assert shown(at)["cost_multiplier"][0] == "1x"
    assert shown(at) == expected("pi=1.75&po=14")


def test_texts_of_a_card_are_escaped():
    hostile = '<img src=x onerror="alert(1)">&'
    made = card_html(Card("error_rate", hostile, hostile, hostile, hostile, SAME, (hostile,), hostile, hostile), "light")
    assert "<img" not in made
    assert made.count(html.escape(hostile)) == 7


def test_other_people_do_not_edit_the_option():
    at = start()
    assert move(at, "w", 60.0).sidebar.markdown[0].value == "**Codex-Spark**"
    assert not at.button(key="reset").disabled  # yet there is something to take back


def test_a_value_typed_and_not_yet_seen_is_what_undo_takes_back():
    at = move(start(), "w", 50.0)
    at.number_input(key="w").set_value(66.0)
    at.button(key="undo").click().run()
    assert at.number_input(key="w").value == 50.0
    at.button(key="undo").click().run()
    assert at.number_input(key="w").value == 100.0


def test_the_shared_link_keeps_how_the_page_is_looked_at():
    at = start("b=8&all=true", page="trade_offs")
    at.session_state["x"] = "hardware"
    at.run()
    shared = next(code.value for code in at.sidebar.code if "python" not in code.value)
    assert "b=8" in shared and "x=hardware" in shared and "all=true" in shared


def test_steps_of_the_curves_are_explained_by_the_chips_that_are_added():
    captions = [caption.value for caption in start(page="trade_offs").main.caption]
    assert any("goes from 19 to 184 along" in text for text in captions)
    fixed = [caption.value for caption in start("preset=opus-4.6-fast", page="trade_offs").main.caption]
    assert not any("Steps in the curves" in text for text in fixed)
