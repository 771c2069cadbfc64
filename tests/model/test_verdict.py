"""What the verdict says, its figures, and the numbers on which it turns.

Names, figures and direction are pinned, not every word, so that a sentence may be put better.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from fastmode import productivity
from fastmode.evaluate import evaluate
from fastmode.scenario import all_fields, default
from fastmode.sweep import FOUNDING
from fastmode.trade import MORE_POINTS, TIMES_THE_ERRORS, Judged, founding
from fastmode.uncertainty import DRIVER_LABELS
from fastmode.verdict import judge, judge_trade, option_name, short
from tests.model.test_evaluate import CAT, PUBLISHED, of


def verdict(scenario, edited=False):
    return judge(evaluate(scenario), edited)


def figures(text):
    """Every number of a sentence with its unit, in order; names of options left out."""
    for label in CAT.presets["label"]:
        text = text.replace(label, "")
    return re.findall(r"\$?\d+(?:\.\d+)?(?: %|x\b| min\b| s\b| h\b)?", text)


def test_faster_and_worse():
    v = verdict(default())
    first = "For an issue-sized coding task, Codex-Spark takes 34 % more developer time per accepted task than GPT-5.3-Codex (90 %: "
    assert v.finding.startswith(first)
    assert v.finding.endswith(" The evidence does not decide; it hangs on whether the benchmark's gap holds on this task.")
    # Time lost to waiting: 10 + 195.077 + 60 (1 - e^-3.2513) s against 10 + 68.4 + 60 (1 - e^-1.14) s
    # escaped: (.226800 - .115) x 4680 s
    assert figures(v.why) == ["15.4x", "2.39 min", "11.1 min", "8.72 min"] and "only" in v.why
    assert figures(v.threshold) == ["30.1 %", "44.7 %"]
    assert v.text == " ".join((v.finding, v.why, v.threshold))
    assert v.change == pytest.approx(0.3402, abs=5e-5) and v.threshold_error == pytest.approx(0.3008, abs=5e-5)
    assert math.isnan(v.threshold_wage_usd_per_h)  # it saves no time, so no wage makes it pay


def test_the_threshold_is_where_both_take_as_long():
    e = evaluate(default())
    threshold = verdict(default()).threshold_error
    there = productivity.task(replace(e.now.inputs, error_rate=threshold)).time_per_task_s
    np.testing.assert_allclose(there, e.reference.task.time_per_task_s, rtol=1e-9)


def test_faster_and_dearer_with_the_same_weights():
    v = verdict(of("opus-4.6-fast"))
    first = "For an issue-sized coding task, Opus 4.6 fast takes 6.1 % less developer time per accepted task than Opus 4.6 (90 %: "
    assert v.finding.startswith(first) and "does not decide" not in v.finding
    assert v.decided and v.p_faster == 1.0 and "less in 100 % of plausible worlds)" in v.finding
    # 205.077 - 129.059 s of waiting, and what drifting attention adds to it
    assert figures(v.why) == ["2.62x", "1.37 min"]
    assert figures(v.threshold) == ["6x", "$169", "$100"] and "does not" in v.threshold
    assert v.threshold_wage_usd_per_h == pytest.approx(169.14, abs=0.005) and math.isnan(v.threshold_error)


def test_the_wage_at_twice_the_price():
    v = verdict(of("opus-4.6-fast", price_in_usd_per_mtok=10.0, price_out_usd_per_mtok=50.0), edited=True)
    # a fifth of the extra bill of 6x: 169.14 / 5
    assert v.threshold_wage_usd_per_h == pytest.approx(33.83, abs=0.005)
    assert figures(v.threshold) == ["2x", "$34", "$100"] and "does not" not in v.threshold


def test_at_the_threshold_wage_both_cost_the_same():
    wage = verdict(of("opus-4.6-fast")).threshold_wage_usd_per_h
    e = evaluate(of("opus-4.6-fast", wage_usd_per_h=wage))
    np.testing.assert_allclose(e.now.task.cost_per_task_usd, e.reference.task.cost_per_task_usd, rtol=1e-12)


def test_what_cannot_be_served_has_no_verdict_but_a_reason():
    v = verdict(of("opus-4.6-fast", hardware="h100_sxm"))
    assert v.finding == "No verdict: Opus 4.6 fast cannot be evaluated (weights do not fit: needs 16 chips)."
    assert v.text == v.finding and math.isnan(v.change) and v.hangs_on == ()


def test_a_reference_that_cannot_be_evaluated_is_named():
    v = verdict(of("opus-4.6-fast", reference="haiku-4.5"))
    assert v.finding.startswith("No verdict: the reference Haiku 4.5 has no speed to compare with (speed not published);")


def test_an_option_compared_with_itself():
    v = verdict(of("opus-4.6"))
    assert v.text == "Opus 4.6 is compared with itself: choose another option, or move a slider."
    assert v.change == 0.0


def test_the_same_time_is_said_so():
    v = verdict(of("gpt-5.3-codex", reference="opus-4.6"))
    assert v.finding.startswith("For an issue-sized coding task, GPT-5.3-Codex takes the same developer time per accepted task as Opus 4.6 (90 %: ")
    assert v.finding.endswith("it hangs on how alike the two vendors' errors are.")
    assert v.threshold == "" and abs(v.change) < 1e-12


def test_an_unpublished_price_leaves_money_open():
    v = verdict(of("gpt-5.3-codex-spark", "voice", error=0.0))
    assert v.change < 0 and "open: price not published" in v.threshold


def test_never_and_always():
    never = verdict(of("gpt-5.3-codex-spark", anchor_tokens_per_s=1.0), True)
    assert math.isnan(never.threshold_error) and re.search(r"not|no error rate", never.threshold) and not figures(never.threshold)
    always = verdict(of("gpt-5.3-codex-spark", fix_time_s=60.0, escape_factor=0.0, reprompt_time_s=0.0, detect=0.0), True)
    assert always.threshold_error == 1.0 and "at any error rate" in always.threshold and "not" not in always.threshold[:30]


def test_escapes_that_cost_nothing_are_in_the_caveat():
    v = verdict(default())
    free = evaluate(replace(default(), escape_factor=0.0))
    assert v.change_without_escapes == pytest.approx(free.at(free.time_change), rel=1e-12)
    assert v.change_without_escapes == pytest.approx(0.000665, abs=1e-6)
    assert "escape" in v.caveat and "plausible worlds" in v.caveat
    fast = verdict(of("opus-4.6-fast"))
    assert fast.change_without_escapes == pytest.approx(-0.0941, abs=5e-5) and "9.4 %" in fast.caveat


def test_a_faster_option_that_waits_longer_is_not_said_to_shrink_by_a_negative_time():
    v = verdict(of("opus-4.6-fast", handshake_s=5.0), edited=True)
    # 20 calls x 4.9 s of handshake more than 8000 (1/65 - 1/170) s of writing less
    assert v.change > 0 and figures(v.why) == ["2.62x"] and "not shrink" in v.why


def test_an_edited_option_is_marked():
    e = evaluate(of("opus-4.6-fast", batch_size=8.0))
    assert option_name(e) == "Opus 4.6 fast" and option_name(e, edited=True) != option_name(e)
    assert option_name(e, edited=True) in verdict(e.scenario, edited=True).finding


def test_the_band_of_the_verdict_is_that_of_the_draws_and_decides():
    """Bands, chances and words of one verdict agree, for every founding pair and several tasks."""
    words = set()
    for preset in FOUNDING:
        for task in ("issue", "chat", "prototyping", "critical-work"):
            e = evaluate(of(preset, task, anchor_tokens_per_s=900.0))
            v = judge(e, edited=True)
            low, high = np.quantile(e.spread.time_change, [0.05, 0.95])
            assert (v.low, v.high) == pytest.approx((low, high), abs=0.01)
            assert v.decided == (low > 0 or high < 0) == ("does not decide" not in v.finding)
            assert v.p_faster == np.mean(e.spread.time_change < 0)
            words.add(v.decided)
    assert words == {True, False}


def test_what_the_verdict_hangs_on_is_the_largest_swing_low_to_high():
    """By evaluating each assumption at both ends of its range, what the serving model reads of the task included."""
    scenario = default()
    swings = {s.driver: s for s in evaluate(scenario).swings}
    for name in ("escape_factor", "fix_time_s", "detect", "loc", "error", "reuse", "n_in", "n_out", "calls"):
        f = all_fields()[name]
        ends = [evaluate(replace(scenario, **{name: value})) for value in (f.low, f.high)]
        changes = [e.at(e.time_change) for e in ends]
        assert (swings[name].change_low, swings[name].change_high) == pytest.approx(changes, rel=1e-9), name
    v = verdict(scenario)
    assert v.hangs_on == tuple(swings)[:3] and v.hangs_on[0] == "benchmark"
    assert v.marked == tuple(name for name in swings if name not in DRIVER_LABELS)[:3] == ("escape_factor", "n_out", "fix_time_s")
    assert [s.size for s in swings.values()] == sorted((s.size for s in swings.values()), reverse=True)


@pytest.mark.parametrize(("subject", "change", "without"), [(MORE_POINTS, "29 % more", "takes 7.9 % less"), (TIMES_THE_ERRORS, "5.2 % less", "takes 20 % less")])  # fmt: skip
def test_the_founding_claim_as_a_verdict(subject, change, without):
    e = evaluate(default())
    v = judge_trade(Judged(e, founding(CAT)[subject]))
    assert v.finding.startswith("For an issue-sized coding task, an option whose wait is 6x shorter, with ") and change in v.finding
    assert without in v.caveat and "plausible worlds" in v.caveat
    assert v.threshold_error == pytest.approx(0.25 + 0.074, abs=5e-4)  # +7.4 points, whichever reading


def test_short_sentences_on_a_pair():
    spark = short(evaluate(default()))
    assert spark.startswith("Codex-Spark takes 34 % more time than GPT-5.3-Codex (90 %: ") and figures(spark)[-2:] == ["30.1 %", "44.7 %"]
    fast = short(evaluate(of("opus-4.6-fast")))
    assert fast.startswith("Opus 4.6 fast takes 6.1 % less time than Opus 4.6 (90 %: ") and figures(fast)[-3:] == ["6x", "$169", "$100"]
    assert short(evaluate(of("opus-4.6"))) == "Opus 4.6 takes as long as Opus 4.6."
    assert short(evaluate(of("haiku-4.5"))) == ""


@pytest.mark.parametrize("preset", CAT.presets.index)
def test_every_preset_in_every_profile_gets_a_sentence_of_words_and_figures(preset):
    for task in CAT.profiles.index:
        v = verdict(of(preset, task))
        assert v.finding.endswith(".") and "nan" not in v.text and "{" not in v.text
        assert v.finding.startswith("No verdict: ") == math.isnan(v.change)
        if preset in PUBLISHED and CAT.presets.at[preset, "reference"] in PUBLISHED:
            assert not math.isnan(v.change), task


@pytest.mark.parametrize("preset", FOUNDING)
def test_every_hardware_gets_a_verdict_or_a_reason(preset):
    for hardware in CAT.hardware.index:
        v = verdict(of(preset, hardware=hardware, n_chips=0), edited=True)
        assert v.finding.startswith("No verdict: ") == math.isnan(v.change)
        assert "nan" not in v.text and "()" not in v.text


def test_a_verdict_says_where_its_speeds_are_not_published():
    both = verdict(of("gpt-6.1-sol-ultrafast"))
    assert both.why.startswith("By the model it writes") and "Neither speed is published" in both.caveat
    assert "up to 8x" in both.caveat
    mixed = verdict(of("glm-4.7-cerebras"))
    assert mixed.why.startswith("By the model it writes") and "mixes both" in mixed.caveat
    founding = verdict(default())
    assert founding.why.startswith("It writes") and "published" not in founding.caveat
