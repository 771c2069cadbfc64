"""What a batch trades: lines are evaluations, costs follow from output per chip, and the finding reads them off the line."""

import numpy as np
import pytest

from fastmode import catalog
from fastmode.evaluate import evaluate
from fastmode.frontier import MARKED, chip_word, chips_text, finding, frontier, small_print, tiers
from tests.model.test_evaluate import of

CAT = catalog.load()


def drawn(preset: str, label: str = "option", marked=(), **changes):
    e = evaluate(of(preset, **changes))
    return e, frontier(e, label, marked)


@pytest.mark.parametrize(("preset", "changes"), [("opus-4.6", {}), ("gpt-5.3-codex-spark", {}), ("opus-4.6-fast", {"anchor": "model"}), ("opus-4.6", {"load": "traffic", "requests_per_s": 1.0})])  # fmt: skip
def test_points_of_a_line_are_evaluations_with_the_chips_held(preset, changes):
    e, found = drawn(preset, marked=[11.0], **changes)
    own = found.own
    assert own.chips == e.at(e.now.service.n_chips) and own.batch[0] == 1.0 and own.batch[-1] == np.floor(e.at(e.now.service.max_batch))
    for batch in (1.0, 4.0, 11.0, own.batch[-1]):
        single = evaluate(of(preset, **changes | {"load": "batch", "batch_size": float(batch), "n_chips": own.chips}))
        s, speed = single.now.service, single.at(single.now.tokens_per_s)
        assert own.read(own.tokens_per_s, batch) == pytest.approx(speed, rel=1e-9)
        per_chip = single.at(s.output_tokens_per_s) * speed / single.at(s.tokens_per_s_per_user) / own.chips
        assert own.read(own.tokens_per_s_per_chip, batch) == pytest.approx(per_chip, rel=1e-9)
        usd = [own.read(row, batch) for row in own.provider_usd_per_mtok]
        np.testing.assert_allclose(usd, np.ravel(single.now.provider_usd_per_mtok), rtol=1e-9)


def test_without_prefill_output_per_chip_is_batch_times_speed_over_chips():
    _e, found = drawn("opus-4.6", n_in=0)
    own = found.own
    np.testing.assert_allclose(own.tokens_per_s_per_chip, own.batch * own.tokens_per_s / 8.0, rtol=1e-9)
    assert own.read(own.cost, 4.0) == pytest.approx(64 * own.read(own.tokens_per_s, 64.0) / (4 * own.read(own.tokens_per_s, 4.0)), rel=1e-9)


def test_costs_are_relative_to_the_batch_of_the_preset_and_fall_with_the_batch():
    _e, found = drawn("opus-4.6", batch_size=16.0)
    own = found.own
    assert (own.home_batch, own.now_batch) == (64.0, 16.0)
    assert own.read(own.cost, 64.0) == own.read(own.decode_cost, 64.0) == 1.0
    assert (np.diff(own.cost) < 0).all() and (np.diff(own.tokens_per_s) < 0).all()
    # prefill is the same however small the batch: the whole cost rises less than that of decoding
    assert own.cost[0] < own.decode_cost[0]


def test_bands_close_at_the_quoted_figure_and_are_those_of_the_evaluation():
    _e, found = drawn("opus-4.6")
    own = found.own
    at = int(np.searchsorted(own.batch, 64.0))
    for level in (50, 90):
        low, high = own.reach[level]
        assert low[at] == high[at] == 1.0 and (np.delete(low, at) < 1.0).all()
        single = evaluate(of("opus-4.6", batch_size=4.0))
        ends = [single.at(end) / single.at(single.now.tokens_per_s) for end in single.bands(level)["tokens_per_s_per_user"]]
        i = int(np.searchsorted(own.batch, 4.0))
        assert (low[i], high[i]) == (pytest.approx(ends[0], rel=1e-9), pytest.approx(ends[1], rel=1e-9))


def test_the_reference_has_a_line_of_its_own_only_where_it_is_another_deployment():
    assert drawn("opus-4.6")[1].compared is None
    assert drawn("opus-4.6", batch_size=8.0)[1].compared is None
    moved = drawn("opus-4.6", hardware="b300_sxm")[1]
    assert (moved.own.part, moved.compared.part, moved.base) == ("B300", "B200", moved.compared)
    spark = drawn("gpt-5.3-codex-spark", "Codex-Spark")[1]
    assert (spark.own.label, spark.compared.label) == ("Codex-Spark", "GPT-5.3-Codex")
    assert (chips_text(spark.own), chips_text(spark.compared)) == ("23 WSE-3 wafers", "8 B200")
    assert (chip_word(spark.own), chip_word(spark.compared)) == ("WSE-3 wafer", "B200")
    assert spark.compared.read(spark.compared.tokens_per_s, 64.0) == 65.0


def test_tiers_are_presets_of_the_same_weights_on_the_same_chip_at_another_batch():
    (fast,) = tiers("opus-4.6", CAT)
    assert (fast.label, fast.batch, fast.speed_ratio, fast.price_ratio) == ("Opus 4.6 fast", 4.0, pytest.approx(170 / 65), 6.0)
    (priority,) = tiers("gpt-5.3-codex", CAT)
    assert priority.batch == 4.0 and np.isnan(priority.speed_ratio)
    assert [t.label for t in tiers("gpt-6-astra", CAT)] == ["GPT-6 Astra fast", "GPT-6 Astra Ultrafast"]
    assert tiers("gpt-5.3-codex-spark", CAT) == ()  # another model
    assert all("Cerebras" not in t.label for t in tiers("gpt-5.6-sol", CAT))  # another chip


@pytest.mark.parametrize("preset", ["opus-4.6", "opus-4.6-fast"])
@pytest.mark.parametrize("anchor", ["published", "model"])
def test_the_batch_that_makes_opus_as_fast_as_its_fast_tier(preset, anchor):
    _e, found = drawn(preset, anchor=anchor)
    wanted, base = found.wanted, found.base
    assert (wanted.label, wanted.ratio, wanted.price_ratio, wanted.same_weights) == ("Opus 4.6 fast", pytest.approx(170 / 65), 6.0, True)
    batch = wanted.batch[0]
    home, there = (evaluate(of("opus-4.6", batch_size=b)).now.service for b in (64.0, batch))
    assert there.tokens_per_s_per_user[0] / home.tokens_per_s_per_user[0] == pytest.approx(170 / 65, rel=2e-3)
    assert wanted.cost[0] == pytest.approx(home.output_tokens_per_s[0] / there.output_tokens_per_s[0], rel=5e-3)
    assert wanted.decode_cost == pytest.approx(home.decode_tokens_per_s[0] / there.decode_tokens_per_s[0], rel=5e-3)
    # where the line is slower than modelled the speed needs a smaller batch, and costs more
    assert wanted.batch[1] < batch < wanted.batch[2] and wanted.cost[1] > wanted.cost[0] > wanted.cost[2]
    for factor, end in zip(base.apart, wanted.batch[1:], strict=True):
        assert base.read(base.tokens_per_s * factor, end) == pytest.approx(wanted.tokens_per_s, rel=1e-9)


def test_moving_the_own_batch_does_not_move_what_is_wanted():
    one, two = (drawn("opus-4.6-fast", batch_size=b)[1].wanted for b in (4.0, 32.0))
    assert one.batch == two.batch and one.cost == two.cost


def test_what_batch_alone_cannot_reach_is_said():
    e, found = drawn("gpt-5.3-codex-spark", "Codex-Spark")
    assert np.isnan(found.wanted.batch[0]) and found.wanted.ratio == pytest.approx(1000 / 65)
    base = found.compared
    fast, cost = base.tokens_per_s[0] / 65.0, base.cost[0]
    assert finding(found) == (
        f"Batch alone does not make GPT-5.3-Codex 15.4x faster: at batch 1 it is {fast:.3g}x as fast as at batch 64, at {cost:.3g}x the"
        " cost per output token. Codex-Spark, another model, is 15.4x as fast on 23 WSE-3 wafers."
    )
    assert any("no comparison of cost" in line for line in small_print(found))


def test_the_finding_names_batch_cost_and_price():
    e, found = drawn("opus-4.6", "Opus 4.6")
    w = found.wanted
    assert finding(found) == (
        f"To make Opus 4.6 2.62x faster by batch alone takes batch {round(w.batch[0])} instead of 64 and costs {w.cost[0]:.3g}x per"
        " output token; Opus 4.6 fast is sold at 6x the price."
    )
    first, homes, second = small_print(found)
    base = found.base
    at_32 = base.batch_at(base.read(base.tokens_per_s, 32.0) * w.ratio)
    cost = base.read(base.tokens_per_s_per_chip, 32.0) / base.read(base.tokens_per_s_per_chip, at_32)
    assert cost == pytest.approx(3.03, abs=0.01)
    assert homes == f"Nobody publishes the standard batch; 64 is assumed. The same gain: from 32 it costs {cost:.3g}x, from 16 no batch gives it."
    low, high = round(w.batch[1]), round(w.batch[2])
    assert first.startswith(f"90 %: batch {low} to {high} and cost {w.cost[2]:.3g}x to {w.cost[1]:.3g}x.")
    assert "Opus 4.6 fast, at the batch of 4 assumed for it, would be" in second and second.endswith("quoted: 2.62x.")


def test_a_tier_without_a_quoted_speed_is_its_assumed_batch_and_nothing_else():
    e, found = drawn("gpt-5.3-codex-priority")
    assert found.wanted is None and finding(found).startswith("At most, at batch 1, GPT-5.3-Codex is")
    assert small_print(found)[0].endswith("no speed is published.")


def test_what_cannot_be_served_has_no_line():
    e, found = drawn("haiku-4.5")
    assert (found.own, found.compared, found.base, found.wanted) == (None, None, None, None)
    assert finding(found) == "" and small_print(found) == []
    _e, found = drawn("gpt-5.3-codex-spark", n_chips=1)
    assert found.own is None and found.compared.part == "B200"


def test_the_home_batch_ends_where_memory_does():
    _e, found = drawn("gpt-5.3-codex-spark", context_tokens=1_000_000.0, batch_size=1.0)
    line = found.compared
    assert line.home_batch == line.batch[-1] < 64.0 and line.cost[-1] == 1.0
    assert set(MARKED) & set(line.batch) == {b for b in MARKED if b <= line.batch[-1]}


def test_reading_a_batch_off_a_line():
    _e, found = drawn("opus-4.6")
    own = found.own
    assert own.batch_at(own.tokens_per_s[0] * 1.001) != own.batch_at(own.tokens_per_s[0] * 1.001)  # NaN
    assert own.batch_at(own.tokens_per_s[-1] * 0.5) == own.batch[-1]
    assert own.batch_at(65.0) == pytest.approx(64.0)
    assert own.read(own.cost, own.batch[-1] + 1.0) != own.read(own.cost, own.batch[-1] + 1.0)
