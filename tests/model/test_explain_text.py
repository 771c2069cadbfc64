"""The words of an explanation: finding, settings, closed form, stand-ins, later price, input price."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import explain_text as words
from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.evaluate import evaluate
from fastmode.explain import by_standin, explain, tier_of
from fastmode.mechanisms import BATCH, DRAFTS, NEWER, ROUTING, SHARE, SMALLER

CAT = load()


def explained(preset, **typed):
    e = evaluate(replace(scenarios.default(CAT), **scenarios.expand_preset(preset, CAT)), CAT)
    return explain(e, tier_of(e, **typed))


@pytest.fixture(scope="module")
def opus():
    return explained("opus-4.6-fast")


def test_the_finding_names_speed_price_batch_and_cost(opus):
    assert words.finding(opus) == (
        "Opus 4.6 fast is 2.62x as fast as Opus 4.6 at 6x the price. A smaller batch alone can do that: 11 instead of 64, at 2.16x the"
        " cost per output token. The price then rises 2.78x as much as the cost (90 %: 1.4x to 4.29x)."
    )


def test_without_a_price_the_finding_says_what_reaches_the_speed():
    assert words.finding(explained("gpt-5.3-codex-spark")) == (
        "Codex-Spark is 15.4x as fast as GPT-5.3-Codex; no price is published. A smaller batch alone gets to 5.41x. What reaches it alone: a"
        " model 88.8x smaller; on WSE-3."
    )


def test_a_typed_tier_has_no_name_and_an_impossible_one_no_way():
    assert words.finding(explained("opus-4.6-fast", speed=500.0, price=2.0)) == (
        "A tier is 500x as fast as Opus 4.6 at 2x the price. No mechanism here, nor two together, gives that: a smaller batch alone gets to"
        " 5.41x."
    )
    assert words.finding(explained("haiku-4.5")) == "Haiku 4.5 over Haiku 4.5: no stand-in model chosen."


def test_settings_in_words(opus):
    assert words.settings_text(opus.single(BATCH), CAT) == "batch 11 (6-18)"
    row = float(CAT.hardware.index.get_loc("gb200_nvl72"))
    assert [words.setting_text(n, v, CAT) for n, v in ((DRAFTS, 6), (SHARE, 3), (NEWER, row), (ROUTING, row), (SMALLER, 3.716))] == [
        "6 drafted tokens a step", "3 places of the batch", "on GB200", "the standard tier on GB200", "a model 3.72x smaller",
    ]  # fmt: skip


def test_closed_form_with_its_figures(opus):
    # 170/65 x 6 = 15.69; (2.615 - 1) / 14.69 = 0.11; a third of the cost is prefill: (6 - 0.336) / 0.664 = 8.53
    text = words.closed_form_text(opus)
    assert "2.62x at 6x would be a batch 15.7x smaller, with 11 % of the fast step growing with the batch" in text
    assert "With 33.6 % of the standard's cost for reading prompts" in text and "decode alone would be 8.53x as dear, and the batch 22.3x smaller" in text
    assert words.closed_form_text(explained("gpt-5.3-codex-spark")) == ""


def test_stand_ins_and_what_batches_do_not_change(opus):
    made = by_standin(opus.start, opus.tier, CAT)
    assert words.standins_text(made, opus.tier.speed).startswith(
        "Over 5 stand-ins smaller batches alone give 2.62x on 5: at batch 6 to 13, for 1.92x to 4.12x the cost. The most they give, at batch 1, is 3.57x to 6.2x."
    )
    far = explained("gpt-5.3-codex-spark")
    assert words.standins_text(by_standin(far.start, far.tier, CAT), far.tier.speed) == (
        "On none of 5 stand-ins do smaller batches alone give 15.4x: at batch 1 they give 3.57x to 6.2x."
    )


def test_the_later_price_is_set_against_the_cost(opus):
    text = words.later_text(opus, "opus-4.6-fast")
    assert "sold the same advertised speed-up at 2x (Opus 4.8 fast, 2026-05-28, and 2 more)" in text
    assert "that is 0.927x of what the cost rises" in text  # 2 / 2.158
    assert words.later_text(explained("opus-4.8-fast"), "opus-4.8-fast") == ""
    assert words.later_text(explained("opus-4.6-fast", price=4.0), "opus-4.6-fast") == ""


def test_an_ab_test_takes_the_scenarios_own_rates():
    e = evaluate(scenarios.default(CAT), CAT)
    error = e.at(e.now.error_rate)
    n = 7.84888 * (0.1875 + error * (1 - error)) / (error - 0.25) ** 2  # (1.95996 + 0.84162)^2
    assert words.ab_text(e) == (
        f"GPT-5.3-Codex errs in 25 % and Codex-Spark in 44.7 % of first outputs here: {int(np.ceil(n))} tasks on each would show the difference in four of five trials."
    )
    same = evaluate(replace(scenarios.default(CAT), **scenarios.expand_preset("opus-4.6-fast", CAT)), CAT)
    assert words.ab_text(same).startswith("Opus 4.6 fast is taken to err as often as Opus 4.6 does, 25 %: no number of tasks tells them apart.")


def test_the_input_price_is_named_only_where_it_rises(opus):
    assert words.input_text(opus).startswith("The input price rises 6x as well.")
    assert words.input_text(explained("opus-4.6-fast", input_price=1.0)) == ""
