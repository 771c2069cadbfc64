"""Where the verdict flips: the specification's figures, each checked at the flip and on both sides of it."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fastmode.evaluate import evaluate
from fastmode.flips import flips
from fastmode.link import from_query
from fastmode.scenario import all_fields, expand_set
from fastmode.trade import MORE_POINTS, TIMES_THE_ERRORS, Judged
from tests.model import test_productivity_examples as spec
from tests.model.test_evaluate import CAT, of
from tests.model.test_ranges import DRAWN, Z95
from tests.model.test_trade import CLAIM
from tests.model.test_uncertainty import PEOPLE

FIELDS = all_fields(CAT)
STANDARD = of("opus-4.6")
SETS = ("default", "favours-speed", "favours-accuracy")


def found(scenario, subject=None):
    """Flips by field."""
    return {flip.field: flip for flip in flips(scenario, CLAIM.get(subject), CAT)}


def change(scenario, subject, **moved):
    return Judged(evaluate(replace(scenario, **moved), CAT), CLAIM.get(subject)).change


def under(name, scenario=STANDARD):
    return replace(scenario, **expand_set(name, str(scenario.task), CAT))


# --- the specification ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "field", "wanted", "digits"),
    [
        (MORE_POINTS, "fix_time_s", 404, 0), (MORE_POINTS, "escape_factor", 0.45, 2), (MORE_POINTS, "resume_s", 721, 0),
        (TIMES_THE_ERRORS, "fix_time_s", 2447, 0), (TIMES_THE_ERRORS, "escape_factor", 4.9, 1), (TIMES_THE_ERRORS, "detect", 0.18, 2),
        (TIMES_THE_ERRORS, "error", 0.35, 2), (TIMES_THE_ERRORS, "reuse", 0.41, 2), (TIMES_THE_ERRORS, "reprompt_time_s", 2831, 0),
    ],
)  # fmt: skip
def test_one_change_at_a_time_from_the_default(subject, field, wanted, digits):
    assert round(found(STANDARD, subject)[field].flip, digits) == wanted


def test_more_than_344_lines_to_review():
    assert 344 < found(STANDARD, TIMES_THE_ERRORS)["loc"].flip < 345


@pytest.mark.parametrize(("subject", "seconds"), [(MORE_POINTS, 726), (TIMES_THE_ERRORS, 117)])
def test_the_wait_above_which_it_pays(subject, seconds):
    flip = found(STANDARD, subject)["task_scale"]
    assert round(flip.wait_s) == seconds
    assert flip.wait_s == pytest.approx(flip.flip * 2666 / 13, rel=2e-4)


def test_what_never_flips_it():
    """A caught error still costs a re-prompt and a second review; no cost of a switch or drift turns the smaller reading."""
    points, factor = found(STANDARD, MORE_POINTS), found(STANDARD, TIMES_THE_ERRORS)
    assert math.isnan(points["detect"].flip)
    assert math.isnan(factor["resume_s"].flip) and math.isnan(factor["kappa_s"].flip)
    turned = {name for name in PEOPLE if math.isfinite(factor[name].flip)}
    assert turned == {"fix_time_s", "escape_factor", "detect", "error", "reuse", "reprompt_time_s", "loc", "review_rate_loc_per_h"}


@pytest.mark.parametrize("row", spec.OMEGA.to_dict("records"), ids=lambda row: f"omega {row['omega']:g}")
def test_the_waits_above_which_it_pays_by_what_an_escaped_error_costs(row):
    scenario = replace(STANDARD, escape_factor=float(row["omega"]))
    for subject, wanted in ((MORE_POINTS, row["plus20_above"]), (TIMES_THE_ERRORS, row["x12_above"])):
        flip = found(scenario, subject)["task_scale"].flip
        assert round(flip * 2666 / 13) == wanted


@pytest.mark.parametrize(
    ("name", "points", "factor"), [("default", 726, 117), ("favours-speed", 12, 5), ("favours-accuracy", None, 15_231)]
)
def test_the_waits_above_which_it_pays_by_assumption_set(name, points, factor):
    """Under the set that favours accuracy the larger reading pays above 31,242 s: a hundred times the task is 20,508 s."""
    scenario = under(name)
    for subject, wanted in ((MORE_POINTS, points), (TIMES_THE_ERRORS, factor)):
        flip = found(scenario, subject)["task_scale"]
        if wanted is None:
            assert math.isnan(flip.flip) and math.isnan(flip.wait_s) and flip.distance == math.inf
        else:
            assert round(flip.flip * 2666 / 13) == wanted


def test_spark_pays_below_an_error_rate_of_codex_near_four_percent_and_at_no_escape_factor():
    """Its own error must fall below 0.301 at the default; at this ratio of odds that is another error of Codex altogether."""
    scenario, _ignored = from_query("")
    flips_of = found(scenario)
    assert math.isnan(flips_of["escape_factor"].flip)  # a tie at 0, no more
    assert 0.0 < change(scenario, None, escape_factor=0.0) < 0.001
    error = flips_of["error"].flip
    assert 0.04 < error < 0.05 and change(scenario, None, error=error) == pytest.approx(0.0, abs=1e-6)


# --- each flip --------------------------------------------------------------------------------------------------------

# What the serving model reads as well: where fewer requests fit beside a longer context, the change leaps over 0.
TOKENS = ("n_in", "n_out", "calls")

CASES = {
    "points": (STANDARD, MORE_POINTS),
    "factor": (STANDARD, TIMES_THE_ERRORS),
    "spark": (of("gpt-5.3-codex-spark"), None),
    "spark at chat": (of("gpt-5.3-codex-spark", "chat"), None),
    "sonnet": (of("sonnet-4.6", "prototyping"), None),
    "sonnet, small edits": (of("sonnet-4.6", "simple-tasks"), None),
    "fast": (of("opus-4.6-fast"), None),
    "acceptance": (of("gemini-3-flash", error_level="acceptance"), TIMES_THE_ERRORS),
    "distilled": (of("opus-4.6", distillation=2.0, batch_size=4.0), None),
    "speed set": (under("favours-speed"), MORE_POINTS),
    "accuracy set": (under("favours-accuracy", of("gpt-5.3-codex-spark")), None),
}


@pytest.mark.parametrize("case", CASES)
def test_at_a_flip_both_take_the_same_time_and_beside_it_not_on_the_same_side(case):
    scenario, subject = CASES[case]
    checked = 0
    for name, flip in found(scenario, subject).items():
        assert flip.value == getattr(scenario, name)
        if not math.isfinite(flip.flip):
            continue
        f = FIELDS[name]
        assert f.min <= flip.flip <= f.max
        if name not in TOKENS:
            assert abs(change(scenario, subject, **{name: flip.flip})) < 1e-6, name
        step = 1e-3 * flip.flip
        sides = [change(scenario, subject, **{name: x}) for x in (flip.flip - step, min(flip.flip + step, f.max))]
        assert sides[0] * sides[1] < 0, (name, sides)
        checked += 1
    assert checked


@pytest.mark.parametrize("case", CASES)
def test_nearest_first_and_what_never_flips_last(case):
    made = flips(*(CASES[case][0], CLAIM.get(CASES[case][1])), CAT)
    distances = [flip.distance for flip in made]
    assert distances == sorted(distances) and len({flip.field for flip in made}) == len(made)
    assert all(math.isfinite(flip.flip) == math.isfinite(flip.distance) for flip in made)
    assert all(math.isnan(flip.wait_s) == math.isnan(flip.flip) for flip in made)
    assert any(math.isnan(flip.flip) for flip in made)


@pytest.mark.parametrize("case", CASES)
def test_no_verdict_turns_between_the_present_value_and_a_flip(case):
    """On a grid twenty times as fine, for what the serving model does not read: none missed, none made up, none nearer."""
    scenario, subject = CASES[case]
    listed = found(scenario, subject)
    for name in PEOPLE:
        f, value = FIELDS[name], float(getattr(scenario, name))
        grid = np.linspace(f.min, f.max, 1301) if f.max <= 1 else np.append(f.min, np.geomspace(max(f.min, 1e-5 * f.max), f.max, 1300))
        grid = np.sort(np.append(grid, value))
        if name == "error" and subject:  # beyond it the trade's error would pass 1: another trade
            trade = CLAIM[subject]
            grid = grid[grid * trade.factor + trade.points <= 1.0]
        e = evaluate(replace(scenario, **{name: grid}), CAT)
        moved = np.broadcast_to(Judged(e, CLAIM.get(subject)).task.time_per_task_s / e.reference.task.time_per_task_s - 1, grid.shape)
        turns = np.flatnonzero(moved[:-1] * moved[1:] < 0)
        if name not in listed:
            assert np.ptp(moved) == 0.0, name
            continue
        flip = listed[name].flip
        if not turns.size:
            assert math.isnan(flip), name
            continue
        assert any(grid[i] <= flip <= grid[i + 1] for i in turns), name
        lower, upper = sorted((value, flip))
        between = [i for i in turns if lower < grid[i] and grid[i + 1] < upper]
        assert not between, (name, flip, grid[between])


def test_a_flip_needs_a_change_of_sign():
    """A wait put to full use costs nothing, so that both tie at the end of the slider: a verdict turns nowhere."""
    scenario = under("favours-accuracy", of("opus-4.6-fast"))
    assert change(scenario, None, reuse=1.0) == 0.0 and change(scenario, None, reuse=0.99) < 0
    assert math.isnan(found(scenario)["reuse"].flip)


def test_twenty_points_more_are_twenty_points_more_at_a_flip_too():
    """Above an error of 0.8 the claim's 20 points no longer fit below 1: another trade, not another assumption."""
    flip = found(STANDARD, MORE_POINTS)["error"].flip
    assert math.isnan(flip) or flip <= 0.8


# --- how far off ------------------------------------------------------------------------------------------------------


def test_distance_is_the_score_of_the_flip_in_the_assumptions_range():
    points, factor = found(STANDARD, MORE_POINTS), found(STANDARD, TIMES_THE_ERRORS)
    below = {"fix_time_s": (1560, 300), "escape_factor": (3, 1)}
    for name, (value, low) in below.items():
        wanted = Z95 * math.log(value / points[name].flip) / math.log(value / low)
        assert points[name].distance == pytest.approx(wanted, abs=2e-3), name
    wanted = Z95 * math.log(721.16 / 60) / math.log(600 / 60)
    assert points["resume_s"].distance == pytest.approx(wanted, abs=2e-3)
    wanted = Z95 * math.log(factor["escape_factor"].flip / 3) / math.log(15 / 3)
    assert factor["escape_factor"].distance == pytest.approx(wanted, abs=2e-3)
    wanted = Z95 * math.log(1 - factor["reuse"].flip) / math.log(1 - 0.8)
    assert factor["reuse"].distance == pytest.approx(wanted, abs=2e-3)

    def logit(p):
        return math.log(p / (1 - p))

    wanted = Z95 * (logit(factor["error"].flip) - logit(0.25)) / (logit(0.5) - logit(0.25))
    assert factor["error"].distance == pytest.approx(wanted, abs=2e-3)
    assert factor["escape_factor"].plausible and factor["error"].plausible and not points["resume_s"].plausible
    assert (points["escape_factor"].low, points["escape_factor"].high) == (1.0, 15.0) and not points["escape_factor"].plausible


def test_plausible_flips_come_before_the_others():
    """5th to 95th percentile: a distance of 1.645."""
    for scenario, subject in CASES.values():
        for flip in flips(scenario, CLAIM.get(subject), CAT):
            if math.isfinite(flip.flip) and flip.low < flip.flip < flip.high:
                assert flip.plausible and flip.distance <= Z95 + 0.05
            else:
                assert not flip.plausible or flip.flip in (flip.low, flip.high)


def test_of_two_flips_the_one_nearer_in_plausibility_is_named():
    """Drift time at quality first: 28.6 s and 297 s around 60 s (30 to 300); the second is the nearer by its score."""
    flip = found(of("opus-4.6", "quality-first"), TIMES_THE_ERRORS)["kappa_s"]
    below, above = (Z95 * math.log(ratio) / math.log(end) for ratio, end in ((60 / 28.58, 2), (297.4 / 60, 5)))
    assert above < below and flip.distance == pytest.approx(above, abs=0.01)


def test_the_range_of_a_value_the_user_has_set_is_the_profiles():
    """Critical work: 26 to 90 minutes to fix by hand, not the 5 to 42 minutes of an issue."""
    flip = found(of("gpt-5.3-codex-spark", "critical-work", fix_time_s=1800.0))["fix_time_s"]
    assert (flip.low, flip.high) == (1560.0, 5400.0)


def test_an_own_range_tells_how_far_off():
    narrow = found(replace(STANDARD, ranges="of:1.5:4"), MORE_POINTS)["escape_factor"]
    assert (narrow.low, narrow.high) == (1.5, 4.0)
    assert narrow.distance == pytest.approx(Z95 * math.log(3 / narrow.flip) / math.log(3 / 1.5), abs=5e-3)


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_every_assumption_with_a_value_is_asked_and_what_moves_nothing_is_left_out():
    points = found(STANDARD, MORE_POINTS)
    nothing = {"wage_usd_per_h", "baseline_s", "baseline_error", "agentic_step", "acceptance_gap", "anchor_ttft_s"}
    assert set(points) == set(DRAWN) - nothing | {"task_scale"}
    assert "agentic_step" in found(of("opus-4.6", distillation=3.0, batch_size=4.0))
    assert "acceptance_gap" in found(of("gpt-5.3-codex-spark", error_level="acceptance"))
    assert "anchor_ttft_s" in found(of("gpt-5.3-codex-spark", anchor_ttft_s=0.5))


def test_without_a_verdict_nothing_flips():
    for scenario in (of("haiku-4.5"), of("opus-4.6", context_tokens=1_000_000.0), of("gemini-deep-think")):
        assert flips(scenario, None, CAT) == []
    assert flips(of("haiku-4.5", reference="haiku-4.5"), CLAIM[MORE_POINTS], CAT) == []


def test_an_option_against_itself_has_nothing_to_flip():
    assert flips(of("opus-4.6", reference="opus-4.6"), None, CAT) == []


def test_no_warning_is_raised():
    scenarios = [*CASES.values(), (of("haiku-4.5"), None), (of("opus-4.6", context_tokens=1_000_000.0), None), (of("opus-4.6", error=1.0), MORE_POINTS), (of("opus-4.6", error=0.0, reuse=1.0, n_out=1), TIMES_THE_ERRORS)]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scenario, subject in scenarios:
            flips(scenario, CLAIM.get(subject), CAT)


def test_the_first_row_changes_with_the_escape_factor():
    """At 3 the claim's nearest flip is a longer task; at 0 it is a bargain that an escape of half a fix turns."""
    three, none = (flips(replace(STANDARD, escape_factor=x), CLAIM[MORE_POINTS], CAT)[0] for x in (3.0, 0.0))
    assert (three.field, round(three.flip, 2)) == ("task_scale", 3.54)
    assert (none.field, none.value, round(none.flip, 2)) == ("escape_factor", 0.0, 0.45)


def test_a_trade_whose_error_is_cut_at_1_still_turns():
    """From 90 % wrong, 20 points more are 100 %: judged so, and turned by what makes the waiting longer or errors cheaper."""
    listed = found(of("opus-4.6", error=0.9), MORE_POINTS)
    for name in ("tool_time_s", "fix_time_s"):
        moved = evaluate(of("opus-4.6", error=0.9, **{name: listed[name].flip}), CAT)
        assert Judged(moved, CLAIM[MORE_POINTS]).change == pytest.approx(0.0, abs=1e-6)


def test_a_value_of_the_users_own_does_not_make_its_flip_plausible():
    """1 to 15 fixes by hand is the source's range, also where the user has set none."""
    free, plain = (found(of("opus-4.6", escape_factor=value), MORE_POINTS)["escape_factor"] for value in (0.0, 3.0))
    assert free.flip == pytest.approx(plain.flip, rel=1e-6) and not free.plausible and not plain.plausible
    assert (free.low, free.high) == (1.0, 15.0)
