"""The four cards say what the evaluation of the same scenario says."""

import pytest

from fastmode import format as fmt
from fastmode.cards import cards, output_texts
from fastmode.evaluate import evaluate
from fastmode.link import from_query
from fastmode.scenario import default
from fastmode.sweep import FOUNDING
from tests.model.test_evaluate import CAT, of

ORDER = ("tokens_per_s_per_user", "cost_multiplier", "error_rate", "net_productivity")


def shown(scenario):
    return {card.key: card for card in cards(evaluate(scenario))}


def no_figure(text):
    """A card that has no figure says so in words or with a dash, never with a number."""
    return bool(text) and not any(letter.isdigit() for letter in text) and "nan" not in text


def holds(card, *texts):
    """Each text stands in some line of the card."""
    return [text for text in texts if not any(text in line for line in card.lines)] == []


def test_four_cards_in_their_order_each_with_its_term_explained():
    made = cards(evaluate(default()))
    assert tuple(card.key for card in made) == ORDER
    assert [card.label for card in made] == ["Tokens/s per user", "Cost multiplier", "Error rate", "Net productivity"]
    assert all(card.hint.endswith(".") for card in made)


def test_spark():
    c = shown(default())
    speed, cost, error, net = (c[key] for key in ORDER)
    assert (speed.value, speed.unit, speed.tone, speed.word) == ("1\u202f000", "tok/s", "better", "published")
    assert speed.change.startswith("15.4x vs GPT-5.3-Codex") and holds(speed, "TTFT 0.52 s per call", "quoted 1\u202f000")
    assert no_figure(cost.value) and cost.tone == "same" and "under Prices" in " ".join((cost.change, *cost.lines))
    assert holds(cost, "provider cost $")
    assert (error.value, error.tone, error.word) == ("44.7 %", "worse", "derived")
    assert error.change.startswith("+19.7 points vs GPT-5.3-Codex") and holds(error, "odds x2.43 on Terminal-Bench 2.0")
    assert (net.value, net.unit, net.tone) == ("1.89x", "vs no AI", "worse")
    assert net.change.startswith("+34 % time per task vs GPT-5.3-Codex")
    assert holds(net, "34.4 min per accepted task", "correction time 22.9 min, 66.6 % of it")


def test_what_the_shorter_wait_pays_for_is_the_exact_break_even():
    """Not the rule for one attempt, (262.75 - 119.21) s / 2808 s = 5.11 points: with two attempts 30.08 - 25 points."""
    assert holds(shown(default())["net_productivity"], "pays for +5.08 points of error")
    speed = shown(from_query("assumption_set=favours-speed")[0])["net_productivity"]
    assert holds(speed, "pays for +24.1 points of error")  # the verdict: below 34.1 %, the reference has 10 %


def test_opus_fast():
    c = shown(of("opus-4.6-fast"))
    speed, cost, error, net = (c[key] for key in ORDER)
    assert (speed.value, speed.word) == ("170", "reported") and speed.change.startswith("2.62x vs Opus 4.6")
    assert holds(speed, "the vendor states up to 2.5x")
    assert (cost.value, cost.tone, cost.word) == ("6x", "worse", "published")
    assert "$4.62" in cost.change and "$0.77" in cost.change and holds(cost, "all-in $45.5", "+4.1 %")
    assert (error.value, error.tone, error.word) == ("25 %", "same", "assumed") and error.change.startswith("same")
    assert holds(error, "same weights")
    assert (net.value, net.tone) == ("2.7x", "better") and net.change.startswith("-6.1 % time per task vs Opus 4.6")


def test_an_option_against_itself_is_the_same():
    c = shown(of("opus-4.6"))
    assert [card.tone for card in c.values()] == ["same"] * 4
    assert c["cost_multiplier"].value == "1x" and c["tokens_per_s_per_user"].change == "same as Opus 4.6"
    assert c["net_productivity"].change == "same time per task as Opus 4.6"


@pytest.mark.parametrize(("change", "word"), [({}, "reported"), ({"batch_size": 8.0}, "modelled"), ({"anchor": "model"}, "modelled"), ({"anchor_tokens_per_s": 90.0}, "assumed")])  # fmt: skip
def test_a_speed_says_where_it_comes_from(change, word):
    assert shown(of("opus-4.6", **change))["tokens_per_s_per_user"].word == word


@pytest.mark.parametrize(("change", "word"), [({}, "published"), ({"batch_size": 8.0}, "modelled"), ({"anchor": "model"}, "modelled"), ({"price_out_usd_per_mtok": 9.0}, "assumed")])  # fmt: skip
def test_a_price_says_where_it_comes_from(change, word):
    cost = shown(of("opus-4.6", **change))["cost_multiplier"]
    assert cost.word == word
    assert holds(cost, "modelled from list price") == (change == {"batch_size": 8.0})


def test_the_error_card_names_its_rules():
    error = shown(of("opus-4.6", distillation=10.0, error_level="acceptance"))["error_rate"]
    # 10^(ln 1.547 / ln 5) = 1.87
    assert holds(error, "odds x1.87 from model size", "plus the acceptance gap", "acceptance")
    other = shown(of("gpt-5.3-codex-spark", reference="opus-4.6"))["error_rate"]
    assert holds(other, "different vendors") and not holds(error, "different vendors")


def test_what_cannot_be_served_says_why_on_each_card():
    c = shown(of("opus-4.6", hardware="h100_sxm"))
    reason = "weights do not fit: needs 24 chips"
    assert no_figure(c["tokens_per_s_per_user"].value) and no_figure(c["net_productivity"].value)
    assert holds(c["tokens_per_s_per_user"], reason)
    assert no_figure(c["cost_multiplier"].value) and c["net_productivity"].change == reason
    assert c["error_rate"].value == "25 %"


def test_an_unknown_speed_keeps_the_known_price():
    c = shown(of("haiku-4.5", reference="opus-4.6"))
    assert holds(c["tokens_per_s_per_user"], "speed not published")
    assert (c["cost_multiplier"].value, c["cost_multiplier"].tone) == ("0.2x", "better")  # 1 and 5 USD against 5 and 25


def test_an_unpublished_reference_price_is_named():
    cost = shown(of("gpt-5.3-codex", reference="gpt-5.3-codex-spark"))["cost_multiplier"]
    assert no_figure(cost.value) and "reference's price is not published" in " ".join((cost.change, *cost.lines))


def test_outputs_are_written_as_on_the_page():
    assert output_texts(evaluate(of("opus-4.6-fast"))) == {
        "tokens_per_s_per_user": "170 tok/s", "cost_multiplier": "6x", "error_rate": "25 %", "net_productivity": "2.7x vs no AI",
    }  # fmt: skip
    assert no_figure(output_texts(evaluate(default()))["cost_multiplier"])


@pytest.mark.parametrize("preset", CAT.presets.index)
def test_cards_of_every_preset_equal_the_evaluation(preset):
    for task in CAT.profiles.index:
        e = evaluate(of(preset, task))
        out, c = e.outputs(), {card.key: card for card in cards(e)}
        for key, written in zip(ORDER, (fmt.number, fmt.ratio, fmt.share, fmt.ratio), strict=True):
            value = out[key].value
            assert c[key].value == written(value) if value == value else no_figure(c[key].value), (key, task)


@pytest.mark.parametrize("preset", FOUNDING)
def test_cards_of_every_hardware_hold_words_or_figures(preset):
    for hardware in CAT.hardware.index:
        for card in cards(evaluate(of(preset, hardware=hardware, n_chips=0))):
            words = " ".join((card.value, card.unit, card.change, card.word, card.tag, *card.lines)).split()
            assert card.value and not {"nan", "inf", "$nan", "$inf", "nanx", "None"} & set(words)
