"""Predicted against published errors, and steps that fail together."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest

from fastmode import catalog, quality
from fastmode.quality_check import ALL, TASK_FAMILIES, not_predicted, predicted_pairs, steps, summary, tries

CATALOG = catalog.load()
Z50, Z90 = 0.67449, 1.64485


def rows(**wanted):
    found = predicted_pairs(CATALOG)
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found


def logit(error):
    return np.log(error / (1 - error))


def test_every_sized_pair_and_every_agentic_step_is_predicted():
    pairs = predicted_pairs(CATALOG)
    assert pairs.groupby("task_family").size().to_dict() == {
        "coding": 41, "agentic": 35, "math": 41, "knowledge": 41, "tool_use": 17,
    }  # fmt: skip
    assert pairs["size_ratio"].isna().sum() == 32 and set(pairs.loc[pairs["size_ratio"].isna(), "rule"]) == {
        "tier_step"
    }
    assert len(pairs) + not_predicted(CATALOG) == (CATALOG.quality_pairs["use_in_fit"] == 1).sum() == 231


def test_a_sized_pair_by_hand():
    # R1 distilled into Qwen 1.5B, LiveCodeBench 65.9 -> 16.9 %: 671 / 1.5 parameters, slope 0.3985 (0.2543 .. 0.6417), spread 0.7505.
    (row,) = rows(child="R1-Distill-Qwen-1.5B", task_family="coding").to_dict("records")
    x = math.log(671 / 1.5)
    assert (row["size_ratio"], row["rule"]) == (pytest.approx(671 / 1.5), "distilled")
    assert (row["parent_error"], row["published_error"]) == pytest.approx((0.341, 0.831))
    middle = logit(0.341) + 0.3985 * x
    assert logit(row["predicted_error"]) == pytest.approx(middle)
    assert row["residual_logit"] == pytest.approx(logit(0.831) - middle)
    for level, z in ((50, Z50), (90, Z90)):
        down = z * math.hypot(0.7505, x * (0.3985 - 0.2543) / Z90)
        up = z * math.hypot(0.7505, x * (0.6417 - 0.3985) / Z90)
        assert logit(row[f"low_{level}"]) == pytest.approx(middle - down, abs=1e-4)
        assert logit(row[f"high_{level}"]) == pytest.approx(middle + up, abs=1e-4)
    assert row["url"].startswith("https://github.com/deepseek-ai/DeepSeek-R1")


def test_spark_is_one_tier_step_by_hand():
    # Terminal-Bench 2.0, 77.3 -> 58.4 %; the median step multiplies the odds by 1.547, the quartiles by 1.139 and 3.139.
    (row,) = rows(child="GPT-5.3-Codex-Spark").to_dict("records")
    odds = 0.227 / 0.773
    assert math.isnan(row["size_ratio"]) and row["rule"] == "tier_step"
    for column, factor in (("predicted_error", 1.547), ("low_50", 1.139), ("high_50", 3.139)):
        assert row[column] == pytest.approx(odds * factor / (1 + odds * factor), rel=1e-9)
    assert row["residual_logit"] == pytest.approx(math.log(2.425683 / 1.547), abs=1e-6)
    assert row["inside_50"] and row["inside_90"]


def test_a_sized_agentic_pair_has_the_range_of_the_assumed_step():
    # GLM-4.5 to Air, 355 / 106: odds x r^(ln 1.547 / ln 5), the step between 3 and 10.
    (row,) = rows(child="GLM-4.5-Air", benchmark="SWE-bench Verified").to_dict("records")
    x, median = math.log(355 / 106), math.log(1.547)
    middle = logit(1 - 0.642) + x * median / math.log(5)
    up = Z90 * math.hypot(math.log(3.139 / 1.547) / Z50, x * median * (1 / math.log(3) - 1 / math.log(5)) / Z90)
    assert logit(row["predicted_error"]) == pytest.approx(middle)
    assert logit(row["high_90"]) == pytest.approx(middle + up, abs=1e-4)


def test_bands_hold_what_they_say():
    pairs = predicted_pairs(CATALOG)
    for level in (50, 90):
        inside = (pairs["published_error"] >= pairs[f"low_{level}"]) & (
            pairs["published_error"] <= pairs[f"high_{level}"]
        )
        assert (inside == pairs[f"inside_{level}"]).all()
    assert (pairs["low_90"] < pairs["low_50"]).all() and (pairs["high_50"] < pairs["high_90"]).all()
    np.testing.assert_allclose(
        logit(pairs["published_error"]) - logit(pairs["predicted_error"]), pairs["residual_logit"]
    )


def test_a_family_left_out_by_hand():
    """Coding without DeepSeek-R1: slope and spread from the distilled pairs of Gemma and Llama alone."""
    usable = quality.usable_pairs(CATALOG)
    ratio = usable["parent_total_params_b"] / usable["child_total_params_b"]
    kept = (
        (usable["task_family"] == "coding") & (usable["training"] == "distilled") & (usable["family"] != "DeepSeek-R1")
    )
    points = [
        (math.log(r), y) for r, y in zip(ratio[kept], usable.loc[kept, "log_odds_ratio"], strict=True) if r > 1.05
    ]
    slope = sum(x * y for x, y in points) / sum(x * x for x, _y in points)
    spread = math.sqrt(sum((y - slope * x) ** 2 for x, y in points) / (len(points) - 1))
    left = predicted_pairs(CATALOG, leave_out=True)
    (row,) = left[(left["child"] == "R1-Distill-Qwen-1.5B") & (left["task_family"] == "coding")].to_dict("records")
    x = math.log(671 / 1.5)
    assert logit(row["predicted_error"]) - logit(0.341) == pytest.approx(slope * x)
    up = Z90 * math.hypot(spread, x * (0.6417 - 0.3985) / Z90)
    assert logit(row["high_90"]) == pytest.approx(logit(0.341) + slope * x + up, abs=1e-4)
    assert abs(slope - 0.3985) > 0.05  # this family matters


def test_families_not_in_the_fit_are_predicted_alike():
    """Coding's slope is that of distilled pairs: leaving out a pretrained family changes nothing."""
    full, left = predicted_pairs(CATALOG), predicted_pairs(CATALOG, leave_out=True)
    here = (full["task_family"] == "coding") & (full["family"] == "Qwen2.5")
    assert here.sum() == 6
    np.testing.assert_allclose(left.loc[here, "predicted_error"], full.loc[here, "predicted_error"], rtol=1e-4)


def test_a_tier_step_left_out_by_hand():
    """Spark without its own family: quartiles of the other 29 steps."""
    usable = quality.usable_pairs(CATALOG)
    unsized = usable["parent_active_params_b"].isna() & usable["child_active_params_b"].isna()
    others = usable[(usable["task_family"] == "agentic") & unsized & (usable["family"] != "GPT-5.3-Codex")]
    low, middle, high = statistics.quantiles(others["log_odds_ratio"], n=4)
    left = predicted_pairs(CATALOG, leave_out=True)
    (row,) = left[left["child"] == "GPT-5.3-Codex-Spark"].to_dict("records")
    assert len(others) == 29
    for column, expected in (("predicted_error", middle), ("low_50", low), ("high_50", high)):
        assert logit(row[column]) - logit(0.227) == pytest.approx(expected)


def test_summary_by_hand():
    table = summary(CATALOG).set_index("task_family")
    assert list(table.index) == [*TASK_FAMILIES, ALL]
    for task_family, row in table.iterrows():
        pairs = predicted_pairs(CATALOG) if task_family == ALL else rows(task_family=task_family)
        off = sorted(abs(p - q) for p, q in zip(pairs["predicted_error"], pairs["published_error"], strict=True))
        assert row["rows"] == len(off) and row["families"] == len(set(pairs["family"]))
        assert row["median_error"] == pytest.approx(statistics.median(off))
        assert row["inside_90"] == pytest.approx(sum(pairs["inside_90"]) / len(off))
        assert row["bias"] == pytest.approx(statistics.median(pairs["predicted_error"] - pairs["published_error"]))


def test_figures_of_the_published_pairs():
    """What the page says; the bands hold less where the model family was not in the fit."""
    row = summary(CATALOG).set_index("task_family").loc[ALL]
    assert (row["median_error"], row["inside_50"], row["inside_90"]) == pytest.approx((0.040, 0.680, 0.966), abs=1e-3)
    assert (row["left_median_error"], row["left_inside_50"], row["left_inside_90"]) == pytest.approx(
        (0.050, 0.560, 0.817), abs=1e-3
    )


def test_other_scores_change_the_check():
    """A child that lost nothing is predicted as before and lies below its prediction."""
    pairs = CATALOG.quality_pairs.copy()
    spark = pairs["child"] == "GPT-5.3-Codex-Spark"
    pairs.loc[spark, "child_score"] = pairs.loc[spark, "parent_score"]
    changed = replace(CATALOG, quality_pairs=pairs)
    found = predicted_pairs(changed)
    (row,) = found[(found["child"] == "GPT-5.3-Codex-Spark") & (found["benchmark"] == "Terminal-Bench 2.0")].to_dict(
        "records"
    )
    assert row["residual_logit"] == pytest.approx(-math.log(1.547))
    assert not row["inside_50"]


# --- from one call to a whole task ------------------------------------------------------------------------------------


def test_published_tries_beside_both_readings():
    found = tries(CATALOG)
    assert found.tries.tolist() == [1, 2, 3, 4]
    assert found.published.tolist() == [0.604, 0.491, 0.430, 0.383]
    assert found.independent == pytest.approx([0.604**k for k in (1, 2, 3, 4)])
    assert found.correlated == pytest.approx([0.604, 0.491, 0.4309, 0.3916], abs=1e-4)
    assert found.retry_ratio == pytest.approx(0.4724, abs=1e-4)
    assert found.concentration == pytest.approx(0.8955, abs=1e-4)
    assert found.population == "GPT-4o" and "sierra-research/tau-bench" in found.url


def test_error_per_call_of_the_default_task():
    found = steps(0.25, 20, CATALOG)
    assert found.independent == pytest.approx(1 - 0.75**0.05)
    assert found.twice_independent == pytest.approx(1 - 0.75**2)
    c = tries(CATALOG).concentration
    product = 1.0
    for i in range(40):
        product *= ((1 - found.correlated) * c + i) / (c + i)
        if i == 19:
            assert product == pytest.approx(0.75, rel=1e-9)
    assert found.twice_correlated == pytest.approx(1 - product)
    assert found.correlated > 5 * found.independent
    assert found.twice_correlated < found.twice_independent


def test_one_call_is_the_task():
    found = steps(0.25, 1, CATALOG)
    assert (found.independent, found.correlated) == pytest.approx((0.25, 0.25))


def test_unknown_error_has_unknown_steps():
    assert np.isnan(steps(math.nan, 20, CATALOG)).all()
