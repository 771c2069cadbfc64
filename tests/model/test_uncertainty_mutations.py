"""Each way of getting ranges, worlds, trades or flips wrong must turn a named check red, and the right ones none.

A mistake is made in the source text of one of four modules, which together must hold the right text exactly once: a text
that is no longer there is an error, never a mistake noticed. The modules that build on it are loaded anew upon it.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from types import ModuleType

import numpy as np
import pytest

from fastmode import flips, quality, ranges, trade, uncertainty
from fastmode.evaluate import evaluate
from fastmode.scenario import all_fields, default, expand_set
from tests.model.mutation import mutated
from tests.model.test_evaluate import CAT, of

MODULES = (ranges, uncertainty, trade, flips)  # each may use those before it
FIELDS = all_fields(CAT)
Z95 = NormalDist().inv_cdf(0.95)
SPARK = of("gpt-5.3-codex-spark")
SPARK_ODDS = (41.6 / 58.4) / (22.7 / 77.3)
CARRIES = math.sqrt(2) * quality.transfer_sd(CAT, "agentic")
DRAWS = uncertainty.DRAWS
TRADE = {"speed_up": 6.0, "points": 0.2}


@dataclass(frozen=True)
class Model:
    """The four modules, right or with one mistake."""

    ranges: ModuleType
    uncertainty: ModuleType
    trade: ModuleType
    flips: ModuleType

    def spread(self, scenario):
        e = evaluate(scenario, CAT)
        return self.uncertainty.spread(scenario, e.now, e.reference, e.widths, CAT)

    def judged(self, scenario, **figures):
        return self.trade.Judged(evaluate(scenario, CAT), self.trade.Trade(**figures or TRADE))

    def flips_of(self, scenario, **figures):
        traded = self.trade.Trade(**figures) if figures else None
        return {flip.field: flip for flip in self.flips.flips(scenario, traded, CAT)}


def z(driver):
    return uncertainty.normal_scores(driver, DRAWS)


def logit(p):
    return np.log(p) - np.log1p(-p)


def full(values):
    return np.broadcast_to(values, (1, DRAWS))[0]


def drawn_error():
    """Logit-normal, 0.25 (0.10 to 0.50): ln 3 in log odds to either end."""
    return 1 / (1 + 3 * np.exp(-math.log(3) * z("error") / Z95))


# --- checks of ranges -------------------------------------------------------------------------------------------------


def a_profile_brings_its_range(m):
    found = m.ranges.ranges(of("opus-4.6", "critical-work"), CAT)
    assert found.get("escape_factor") == m.ranges.Range(10.0, 3.0, 30.0)


def what_the_user_sets_is_a_point(m):
    assert "detect" not in m.ranges.ranges(replace(default(), detect=0.42), CAT)


def what_a_set_names_is_a_point(m):
    scenario = replace(default(), **expand_set("favours-accuracy", "issue", CAT))
    assert "max_attempts" not in m.ranges.ranges(scenario, CAT)  # 2 in the set as in the table


def own_ranges_hold_the_value(m):
    found = m.ranges.ranges(replace(default(), ranges="of:5:8"), CAT)["escape_factor"]
    assert (found.value, found.low, found.high) == (3.0, 3.0, 8.0)


def ends_are_the_5th_and_95th_percentile(m):
    f, r = FIELDS["fix_time_s"], m.ranges.Range(1560.0, 300.0, 2520.0)
    np.testing.assert_allclose(m.ranges.draw(f, r, np.array([-Z95, 0.0, Z95])), [300.0, 1560.0, 2520.0], rtol=1e-12)


def a_probability_moves_in_log_odds(m):
    got = m.ranges.draw(FIELDS["error"], m.ranges.Range(0.25, 0.1, 0.5), z("error"))
    np.testing.assert_allclose(got, drawn_error(), rtol=1e-12)


def a_draw_stays_within_the_field(m):
    f = FIELDS["fix_time_s"]
    assert m.ranges.draw(f, m.ranges.Range(1560.0, 60.0, 7200.0), np.array([-8.0, 8.0])).tolist() == [60.0, 7200.0]


def whole_quantities_are_whole(m):
    got = m.ranges.draw(FIELDS["max_attempts"], m.ranges.Range(2, 1.0, 4.0), np.linspace(-2, 2, 9))
    np.testing.assert_array_equal(got, np.round(got))


def names_are_drawn_apart(m):
    scores = [m.ranges.normal_scores(name, DRAWS) for name in ("error", "detect", "escape_factor")]
    assert np.abs(np.corrcoef(scores) - np.eye(3)).max() < 0.2


def each_slice_is_hit_in_its_middle(m):
    got = sorted(NormalDist().cdf(score) for score in m.ranges.normal_scores("error", 64))
    np.testing.assert_allclose(got, (np.arange(64) + 0.5) / 64, atol=1e-12)


def a_residual_has_both_bands(m):
    got = m.ranges.deviation(np.array([NormalDist().inv_cdf(0.75), Z95]), 0.2, 0.8)
    np.testing.assert_allclose(got, [0.2, 0.8], rtol=1e-12)


# --- checks of worlds -------------------------------------------------------------------------------------------------


def the_same_weights_and_a_shorter_wait_win_in_every_world(m):
    found = m.spread(of("opus-4.6-fast", price_in_usd_per_mtok=5.0, price_out_usd_per_mtok=25.0))
    chances = float(found.p_faster[0]), float(found.p_cheaper[0])
    assert chances == (1.0, 1.0)


def an_option_against_itself_has_no_chance_to_name(m):
    chance = float(m.spread(of("opus-4.6", reference="opus-4.6")).p_faster[0])
    assert math.isnan(chance)


def sparks_error_in_every_world(m):
    made = m.spread(SPARK).worlds
    shift = CARRIES * z("benchmark")
    np.testing.assert_allclose(logit(full(made.now.error_rate)), logit(drawn_error()) + math.log(SPARK_ODDS) + shift, rtol=1e-9)
    np.testing.assert_allclose(full(made.reference.error_rate), drawn_error(), rtol=1e-12)


def vendors_are_not_alike(m):
    made = m.spread(of("opus-4.6-fast", reference="gpt-5.3-codex")).worlds
    apart = logit(full(made.now.error_rate)) - logit(full(made.reference.error_rate))
    np.testing.assert_allclose(apart, CARRIES * z("vendors"), atol=1e-9)


def a_curve_over_sizes_is_one_draw(m):
    sizes = np.array([1.0, 1.001, 3.0, 30.0])
    error = m.spread(of("opus-4.6", distillation=sizes, agentic_step=4.0)).worlds.now.error_rate
    residual = logit(error) - logit(drawn_error()) - np.log(sizes)[:, None] * math.log(1.547) / math.log(4)
    np.testing.assert_allclose(residual[0], 0.0, atol=1e-12)
    assert np.std(residual[1]) > 0.5
    np.testing.assert_allclose(residual[2:], np.stack([residual[1]] * 2), atol=1e-9)


def the_size_of_a_step_is_drawn(m):
    error = m.spread(of("opus-4.6", distillation=np.array([2.0, 20.0]))).worlds.now.error_rate
    slope = (logit(error[1]) - logit(error[0])) / math.log(10)
    wanted = math.log(1.547) / np.log(np.array([3.0, 5.0, 10.0]))
    np.testing.assert_allclose(np.quantile(slope, [0.95, 0.5, 0.05], method="hazen"), wanted, rtol=0.01)


def serving_moves_no_error(m):
    for home in (SPARK, of("opus-4.6", distillation=3.0)):
        at_home = m.spread(home).worlds.now.error_rate
        for change in ({"batch_size": 1.0}, {"hardware": "h200_sxm", "n_chips": 16}, {"anchor": "model"}, {"speculation": "deepseek-v4-pro-mtp-on"}):
            np.testing.assert_array_equal(m.spread(replace(home, **change)).worlds.now.error_rate, at_home)


def people_accept_less_in_every_world(m):
    made = m.spread(of("opus-4.6-fast", error_level="acceptance")).worlds
    gap = full(made.now.error_rate) - drawn_error()
    np.testing.assert_allclose(np.quantile(gap, [0.05, 0.95], method="hazen"), [0.19, 0.30], rtol=0.01)


def longer_tasks_fail_more_in_every_world(m):
    made = m.spread(of("opus-4.6-fast", task_scale=4.0, length_exponent=0.5)).worlds
    np.testing.assert_allclose(1 - full(made.now.error_rate), (1 - drawn_error()) ** 2, rtol=1e-10)


def coarse_formats_lose_within_their_range(m):
    made = m.spread(of("opus-4.6", weight_precision="fp4")).worlds
    loss = 1 - (1 - full(made.now.error_rate)) / (1 - drawn_error())
    np.testing.assert_allclose(np.quantile(loss, [0.05, 0.95], method="hazen"), [0.01, 0.03], rtol=0.01)


def the_scale_of_the_task_holds_in_every_world(m):
    one, two = (m.spread(of("opus-4.6-fast", task_scale=scale)).worlds.now for scale in (1.0, 2.0))
    for name in ("n_in", "n_out", "calls", "tool_time_s"):
        np.testing.assert_allclose(getattr(two, name), 2 * getattr(one, name), rtol=1e-12, err_msg=name)


def a_quoted_speed_is_what_it_is(m):
    made = m.spread(of("opus-4.6-fast")).worlds
    assert set(full(made.now.tokens_per_s)) == {170.0} and set(full(made.reference.tokens_per_s)) == {65.0}


def a_modelled_speed_has_the_band_of_the_model(m):
    scenario = of("opus-4.6-fast", anchor="model")
    wide = evaluate(scenario, CAT).widths[0].speed
    speed = np.log(full(m.spread(scenario).worlds.now.tokens_per_s))
    for level, end in ((90, 0.95), (50, 0.75)):
        half = np.quantile(speed, end, method="hazen") - np.median(speed)
        assert abs(half - wide[level][0]) < 3e-3


def one_deployment_is_off_once(m):
    made = m.spread(of("opus-4.6", reference="opus-4.6", anchor="model")).worlds
    np.testing.assert_array_equal(made.now.tokens_per_s, made.reference.tokens_per_s)


def a_dearer_world_is_a_slower_one(m):
    made = m.spread(of("opus-4.6-fast", anchor="model")).worlds.now
    product = full(made.price_out_usd_per_mtok * made.tokens_per_s)
    np.testing.assert_allclose(product, product[0], rtol=1e-9)


def quantiles_are_numpys(m):
    values = np.random.default_rng(2).normal(size=(3, 64))
    wanted = np.quantile(values, [0.05, 0.25, 0.75, 0.95], axis=-1, method="hazen")
    np.testing.assert_allclose(m.uncertainty.quantiles(values), wanted, rtol=1e-12)


def a_swing_goes_from_end_to_end(m):
    e = evaluate(SPARK, CAT)
    found = m.uncertainty.swings(SPARK, (e.now, e.reference), e.widths, CAT, e.spread.worlds.drivers)
    swing = next(s for s in found if s.driver == "detect")
    wanted = [float(evaluate(replace(SPARK, detect=end), CAT).time_change[0]) for end in (0.25, 0.9)]
    np.testing.assert_allclose([swing.change_low, swing.change_high], wanted, rtol=1e-9)


# --- checks of trades and flips ---------------------------------------------------------------------------------------


def the_founding_claim_is_a_bad_deal_in_points(m):
    """+29.38 % also where the option on the table is Spark."""
    for scenario in (SPARK, of("opus-4.6")):
        judged = m.trade.Judged(evaluate(scenario, CAT), m.trade.founding(CAT)["points"])
        assert round(100 * judged.change, 2) == 29.38


def the_whole_wait_is_divided(m):
    assert abs(m.judged(of("opus-4.6", start_delay_s=5.0)).wait_speed_up - 6.0) < 1e-12


def first_times_then_plus(m):
    assert abs(m.judged(of("opus-4.6"), speed_up=6.0, points=0.1, factor=1.2).error_change - 0.15) < 1e-12


def an_error_stays_a_probability(m):
    assert abs(m.judged(of("opus-4.6", error=0.9)).error_change - 0.1) < 1e-12


def a_trade_starts_from_the_reference_of_each_world(m):
    """With Spark on the table the trade is still one of Codex for Codex."""
    spark, codex = (m.judged(of(preset, reference="gpt-5.3-codex")).changes for preset in ("gpt-5.3-codex-spark", "gpt-5.3-codex"))
    np.testing.assert_allclose(spark, codex, rtol=1e-12)


def an_error_band_is_that_of_the_trade(m):
    low, high = m.judged(of("opus-4.6")).error_band()
    assert abs(low - 0.2) < 1e-9 and abs(high - 0.2) < 1e-9


def infinitely_fast_tokens_leave_82_seconds(m):
    made = m.trade.plane(evaluate(of("opus-4.6"), CAT), 0.0, 0.5)
    assert abs(made.limit - (8000 / 65 + 82) / 82) < 1e-12
    assert abs(dict(map(reversed, made.tokens))[2.0] - (8000 / 65 + 82) / (4000 / 65 + 82)) < 1e-12


def no_trade_changes_nothing_on_the_plane(m):
    made = m.trade.plane(evaluate(SPARK, CAT), -0.1, 0.5)
    assert abs(made.change[10, 0]) < 1e-12


def errors_below_none_are_not_on_the_plane(m):
    assert np.isnan(m.trade.plane(evaluate(of("opus-4.6", error=0.05), CAT), -0.1, 0.5).change[0]).all()


def an_escape_of_half_a_fix_turns_the_claim(m):
    found = m.flips_of(of("opus-4.6"), **TRADE)
    assert "escape_factor" in found
    flip = found["escape_factor"].flip
    judged = m.judged(of("opus-4.6", escape_factor=flip))
    assert abs(flip - 0.45) < 0.005 and abs(judged.change) < 1e-6


def the_nearer_of_two_flips_is_named(m):
    """Tool time of a small edit, 5 s: it turns at 0.38 s and at 10.7 s."""
    assert abs(m.flips_of(of("sonnet-4.6", "simple-tasks"))["tool_time_s"].flip - 10.72) < 0.01


def a_flip_downwards_is_as_far_as_it_is(m):
    flip = m.flips_of(of("opus-4.6"), **TRADE)["escape_factor"]
    assert abs(flip.distance - Z95 * math.log(3 / flip.flip) / math.log(3)) < 5e-3


def what_moves_nothing_flips_nothing(m):
    assert "wage_usd_per_h" not in m.flips_of(of("opus-4.6"), **TRADE)


CHECKS = (
    a_profile_brings_its_range, what_the_user_sets_is_a_point, what_a_set_names_is_a_point, own_ranges_hold_the_value,
    ends_are_the_5th_and_95th_percentile, a_probability_moves_in_log_odds, a_draw_stays_within_the_field, whole_quantities_are_whole,
    names_are_drawn_apart, each_slice_is_hit_in_its_middle, a_residual_has_both_bands,
    the_same_weights_and_a_shorter_wait_win_in_every_world, an_option_against_itself_has_no_chance_to_name,
    sparks_error_in_every_world, vendors_are_not_alike, a_curve_over_sizes_is_one_draw, the_size_of_a_step_is_drawn,
    serving_moves_no_error, people_accept_less_in_every_world, longer_tasks_fail_more_in_every_world,
    coarse_formats_lose_within_their_range, the_scale_of_the_task_holds_in_every_world, a_quoted_speed_is_what_it_is,
    a_modelled_speed_has_the_band_of_the_model, one_deployment_is_off_once, a_dearer_world_is_a_slower_one, quantiles_are_numpys,
    a_swing_goes_from_end_to_end, the_founding_claim_is_a_bad_deal_in_points, the_whole_wait_is_divided, first_times_then_plus,
    an_error_stays_a_probability, a_trade_starts_from_the_reference_of_each_world, an_error_band_is_that_of_the_trade,
    infinitely_fast_tokens_leave_82_seconds, no_trade_changes_nothing_on_the_plane, errors_below_none_are_not_on_the_plane,
    an_escape_of_half_a_fix_turns_the_claim, the_nearer_of_two_flips_is_named, a_flip_downwards_is_as_far_as_it_is,
    what_moves_nothing_flips_nothing,
)  # fmt: skip

WIN = the_same_weights_and_a_shorter_wait_win_in_every_world
PARTS = '("start_delay_s", "handshake_s", "ttft_s", "tool_time_s")'

# What goes wrong: (right text, wrong text, check that must notice).
MUTATIONS = {
    "range of the profile ignored": ("if name in profile.index:", "if False:", a_profile_brings_its_range),
    "value of the profile ignored": ('{"task": task, "preset": preset}', '{"preset": preset}', a_profile_brings_its_range),
    "own value still drawn": ("(value == known.value) | np.isnan(value)", "np.ones(np.shape(value), bool)", what_the_user_sets_is_a_point),
    "assumption set still drawn": ("if not f.drawn or name in fixed:", "if not f.drawn:", what_a_set_names_is_a_point),
    "own range beside the value": ("np.fmin(own[0], value)", "own[0]", own_ranges_hold_the_value),
    "ends taken as 99th percentiles": (", score / Z95)", ", score / 2.326)", ends_are_the_5th_and_95th_percentile),
    "probability log-normal": ('_BOUNDED = ("probability", "share")', '_BOUNDED = ("share",)', a_probability_moves_in_log_odds),
    "draws beyond the field": ("return np.clip(made, f.min, f.max)", "return made", a_draw_stays_within_the_field),
    "fractions of attempts": ('if f.kind == "whole":', "if False:", whole_quantities_are_whole),
    "one order for all names": ("crc32(name.encode())", "7", names_are_drawn_apart),
    "slices hit at an edge": ("(i + 0.5) / draws", "(i + 0.2) / draws", each_slice_is_hit_in_its_middle),
    "50 % band of a residual ignored": ("np.asarray(near) * of_near", "np.asarray(far) * of_near", a_residual_has_both_bands),
    "unpaired draws": (
        "replace(inputs, **shared, **own)",
        "replace(inputs, **{n: np.roll(x, position, axis=-1) for n, x in shared.items()}, **own)",
        WIN,
    ),
    "unpaired errors": (
        "quality.error_from_odds_ratio(error, odds)",
        "quality.error_from_odds_ratio(np.roll(error, side is now, axis=-1), odds)",
        WIN,
    ),
    "ties are wins": ("np.mean(now < other, axis=-1)", "np.mean(now <= other, axis=-1)", an_option_against_itself_has_no_chance_to_name),
    "chance with the sign turned": ("np.mean(now < other, axis=-1), np.mean(now > other", "np.mean(now > other, axis=-1), np.mean(now < other", WIN),
    "a benchmark says all": ("known.carries * z, _one_model", "0.0 * z, _one_model", sparks_error_in_every_world),
    "benchmark ratio left out": ("odds = _column(side.benchmark_odds_ratio)", "odds = np.ones((1, 1))", sparks_error_in_every_world),
    "error of the reference not drawn": ('values.get("error", _column(scenario.error))', "_column(scenario.error)", sparks_error_in_every_world),
    "vendors taken as alike": ("apart * known.carries * score(VENDORS)", "0.0 * apart * score(VENDORS)", vendors_are_not_alike),
    "residual that grows with the size": (
        "np.exp(_one_model(known, score(SIZE)))",
        "np.exp(_one_model(known, score(SIZE)) * np.log(ratio))",
        a_curve_over_sizes_is_one_draw,
    ),
    "a residual for each size": (
        "np.exp(_one_model(known, score(SIZE)))",
        "np.exp(_one_model(known, np.stack([np.roll(score(SIZE)[0], i) for i in range(len(ratio))])))",
        a_curve_over_sizes_is_one_draw,
    ),
    "no residual of one model": ("np.exp(_one_model(known, score(SIZE)))", "1.0", a_curve_over_sizes_is_one_draw),
    "residual on the teacher too": (
        "return np.where(ratio != 1.0, ratio**slope",
        "return np.where(ratio > 0.0, ratio**slope",
        a_curve_over_sizes_is_one_draw,
    ),
    "size of a step not drawn": ('values.get("agentic_step", _column(scenario.agentic_step))', "_column(scenario.agentic_step)", the_size_of_a_step_is_drawn),
    "error moved by the batch": (
        "odds = _column(side.benchmark_odds_ratio)",
        "odds = _column(side.benchmark_odds_ratio) * _column(side.service.batch) ** 0.01",
        serving_moves_no_error,
    ),
    "error moved by the speed": (
        "odds = _column(side.benchmark_odds_ratio)",
        "odds = _column(side.benchmark_odds_ratio) * _column(side.tokens_per_s) ** 0.001",
        serving_moves_no_error,
    ),
    "gap as it is": ('values.get("acceptance_gap", _column(scenario.acceptance_gap))', "_column(scenario.acceptance_gap)", people_accept_less_in_every_world),
    "longer tasks fail no more": ("_column(scenario.length_exponent)", "_column(0.0)", longer_tasks_fail_more_in_every_world),
    "quantisation as it is": ("np.minimum(loss * factor, 1.0)", "loss + 0.0 * factor", coarse_formats_lose_within_their_range),
    "scale left out of the draws": ("values[name] * scale for name", "values[name] for name", the_scale_of_the_task_holds_in_every_world),
    "quoted speed with a band": (
        "_column(side.tokens_per_s) * _off(w.speed, z)", "_column(side.tokens_per_s) * _off(w.modelled_speed, score(SPEED))", a_quoted_speed_is_what_it_is
    ),
    "modelled speed without a band": ("_column(side.tokens_per_s) * _off(w.speed, z)", "_column(side.tokens_per_s)", a_modelled_speed_has_the_band_of_the_model),
    "one deployment off twice": ("_column(band.shared_share(*sides, wide, quantity, catalog))", "np.zeros((1, 1))", one_deployment_is_off_once),
    "a dearer world is a faster one": ("or not _moves(width) else -z)", "or not _moves(width) else z)", a_dearer_world_is_a_slower_one),
    "ranks off by half": ("* n - 0.5", "* n - 1.0", quantiles_are_numpys),
    "swings of one standard deviation": ("= -Z95, Z95", "= -1.0, 1.0", a_swing_goes_from_end_to_end),
    "only tokens divided": (f"for name in {PARTS}", "for name in ()", the_whole_wait_is_divided),
    "tools not divided": (PARTS, '("start_delay_s", "handshake_s", "ttft_s")', the_whole_wait_is_divided),
    "tokens not divided": ("tokens_per_s=inputs.tokens_per_s * k, ", "", the_whole_wait_is_divided),
    "points before the factor": (
        "inputs.error_rate * self.factor + self.points", "(inputs.error_rate + self.points) * self.factor", first_times_then_plus
    ),
    "errors above one": ("np.minimum(inputs.error_rate * self.factor + self.points, 1.0)", "inputs.error_rate * self.factor + self.points", an_error_stays_a_probability),
    "percent as a fraction": ("float(found[2]) / 100.0", "float(found[2])", the_founding_claim_is_a_bad_deal_in_points),
    "trade of the option": ("self.trade.of(e.reference.inputs)", "self.trade.of(e.now.inputs)", the_founding_claim_is_a_bad_deal_in_points),
    "trade of the option in the worlds": (
        "self.trade.of(worlds.reference)\n        with", "self.trade.of(worlds.now)\n        with", a_trade_starts_from_the_reference_of_each_world
    ),
    "worlds against the option": (
        "task(option).time_per_task_s / task(worlds.reference)", "task(option).time_per_task_s / task(worlds.now)",
        a_trade_starts_from_the_reference_of_each_world,
    ),
    "error band of the other side": (
        "option.error_rate - worlds.reference.error_rate, (1, draws)", "option.error_rate, (1, draws)", an_error_band_is_that_of_the_trade
    ),
    "limit of the decoding": ("wait / rest if rest > 0", "wait / decode if rest > 0", infinitely_fast_tokens_leave_82_seconds),
    "ticks of the whole wait": ("(rest + decode / k), k)", "((rest + decode) / k), k)", infinitely_fast_tokens_leave_82_seconds),
    "plane against the option": ("e.at(reference.task.time_per_task_s) - 1.0", "e.at(e.now.task.time_per_task_s) - 1.0", no_trade_changes_nothing_on_the_plane),
    "errors below none drawn": ("(error >= 0.0) & (error <= 1.0)", "error <= 1.0", errors_below_none_are_not_on_the_plane),
    "flips without a closer look": ("LOOKS = 3", "LOOKS = 0", an_escape_of_half_a_fix_turns_the_claim),
    "flips of the option for those of a trade": ("change = task(trade.of(e.reference.inputs)).time_per_task_s", "change = e.now.task.time_per_task_s", an_escape_of_half_a_fix_turns_the_claim),
    "the first flip for the nearest": ("away[:, :-1] + share * (away[:, 1:] - away[:, :-1]), np.inf)", "0.0, np.inf)", the_nearer_of_two_flips_is_named),
    "flips downwards nearest": ("distance = abs(float(_scores(f, r, np.array([flip]))[0])) if", "distance = float(_scores(f, r, np.array([flip]))[0]) if", a_flip_downwards_is_as_far_as_it_is),
    "rows that move nothing": ("if not moves:", "if False:", what_moves_nothing_flips_nothing),
}  # fmt: skip


def mutant(monkeypatch, right, wrong):
    return Model(*mutated(monkeypatch, MODULES, right, wrong))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_right_model_passes_the_check(check):
    check(Model(*MODULES))


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_turns_its_check_red(monkeypatch, name):
    right, wrong, check = MUTATIONS[name]
    wrong_model = mutant(monkeypatch, right, wrong)
    with pytest.raises(AssertionError):
        check(wrong_model)


def test_a_text_that_is_gone_is_an_error_and_no_mistake_noticed(monkeypatch):
    with pytest.raises(ValueError, match="exactly once"):
        mutant(monkeypatch, "a text that none of them holds", "")


def test_modules_loaded_anew_without_a_mistake_pass(monkeypatch):
    same = mutant(monkeypatch, ", score / Z95)", ",  score / Z95)")
    assert same.ranges is not ranges and same.flips is not flips
    for check in (ends_are_the_5th_and_95th_percentile, WIN, an_escape_of_half_a_fix_turns_the_claim):
        check(same)
