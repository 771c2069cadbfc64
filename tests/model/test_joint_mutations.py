"""Each way of joining serving and people wrongly must turn a named check red, and the right joint none."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fastmode import evaluate as spine
from fastmode.economics import chip_hour
from tests.model.test_evaluate import CAT, ENDPOINTS, EXACT, of, served


def ratio_of(name, home, moved):
    """A modelled figure of a moved scenario over that of its preset, asked of the serving model directly."""
    return getattr(served(moved), name) / getattr(served(home), name)


HOME, MOVED = of("opus-4.6-fast"), of("opus-4.6-fast", batch_size=8.0, context_tokens=64_000.0)


def speed_moves_by_the_modelled_ratio(model):
    wanted = 170 * ratio_of("tokens_per_s_per_user", HOME, MOVED)
    np.testing.assert_allclose(model.evaluate(MOVED).now.tokens_per_s, wanted, **EXACT)


def speed_at_the_preset_is_published(model):
    assert float(model.evaluate(HOME).now.tokens_per_s[0]) == 170.0


def ttft_moves_by_the_modelled_ratio(model):
    np.testing.assert_allclose(model.evaluate(MOVED).now.ttft_s, ratio_of("ttft_s", HOME, MOVED), **EXACT)


def output_price_moves_by_the_decode_cost(model):
    wanted = ENDPOINTS.at["opus-4.6-fast", "output_usd_per_mtok"] / ratio_of("decode_tokens_per_s", HOME, MOVED)
    np.testing.assert_allclose(model.evaluate(MOVED).now.price_out_usd_per_mtok, wanted, **EXACT)


def input_price_moves_by_the_prefill_cost(model):
    longer = of("opus-4.6-fast", batch_size=1.0, n_in=400_000)
    wanted = ENDPOINTS.at["opus-4.6-fast", "input_usd_per_mtok"] / ratio_of("prefill_tokens_per_s", HOME, longer)
    np.testing.assert_allclose(model.evaluate(longer).now.price_in_usd_per_mtok, wanted, **EXACT)


def distillation_raises_the_error(model):
    """Agentic: odds 1/3 x 10^(ln 1.547 / ln 5) = 0.6222."""
    odds = 10 ** (np.log(1.547) / np.log(5)) / 3
    error = model.evaluate(of("opus-4.6", distillation=10.0)).now.error_rate
    np.testing.assert_allclose(error, odds / (1 + odds), rtol=1e-12)


def the_same_benchmark_sets_sparks_error(model):
    assert abs(float(model.evaluate(of("gpt-5.3-codex-spark")).now.error_rate[0]) - 0.447074) < 5e-7


def wait_counts_each_part_once(model):
    e = model.evaluate(of("gpt-5.3-codex"))
    np.testing.assert_allclose(e.now.task.wait_s, 20 * (1.0 + 0.1) + 8000 / 65 + 60, rtol=1e-12)
    np.testing.assert_allclose(e.now.ttft_client_s, 1.1, rtol=1e-12)


def task_scale_multiplies_the_work(model):
    wait = model.evaluate(of("gpt-5.3-codex", task_scale=2.0)).now.task.wait_s
    np.testing.assert_allclose(wait, 2 * (20 * 1.1 + 8000 / 65 + 60), rtol=1e-12)


def a_stand_in_alone_cancels(model):
    now = model.evaluate(of("opus-4.6-fast", model="glm-4.7")).now
    assert (float(now.tokens_per_s[0]), float(now.error_rate[0])) == (170.0, 0.25)


def another_open_model_drops_the_anchor(model):
    moved = of("gpt-oss-120b-groq", model="llama-3.1-8b", hardware="h100_sxm", n_chips=1, weight_precision="fp8")
    now = model.evaluate(moved).now
    np.testing.assert_allclose(now.tokens_per_s, served(moved).tokens_per_s_per_user, **EXACT)
    assert float(now.size_odds_ratio[0]) > 1.5


def the_reference_stays(model):
    e = model.evaluate(of("opus-4.6-fast", batch_size=1.0, distillation=10.0, handshake_s=2.0))
    assert float(e.reference.tokens_per_s[0]) == 65.0 and float(e.reference.error_rate[0]) == 0.25
    np.testing.assert_allclose(e.reference.task.wait_s, 20 * 1.1 + 8000 / 65 + 60, rtol=1e-12)
    np.testing.assert_allclose(e.reference.modelled_tokens_per_s, served(of("opus-4.6")).tokens_per_s_per_user, **EXACT)


def chip_prices_are_chosen_for_each_element(model):
    """16 H200 in place of 8 B200, at the low, middle and high end of both prices."""
    home, moved = of("opus-4.6"), of("opus-4.6", hardware="h200_sxm", n_chips=16)
    rows = np.array([CAT.hardware.index.get_loc(name) for name in ("h200_sxm", "b200_sxm")])
    hour = chip_hour(rows, home.amortisation_years, home.electricity_usd_per_kwh, home.pue, CAT).usd
    wanted = 25 * 2 * hour[:, 0] / hour[:, 1] / ratio_of("decode_tokens_per_s", home, moved)
    now = model.evaluate(of("opus-4.6", hardware="h200_sxm", n_chips=16, chip_price=np.array(["low", "mid", "high"]))).now
    np.testing.assert_allclose(now.price_out_usd_per_mtok, wanted, **EXACT)
    np.testing.assert_allclose(now.chip_hour_usd, hour[:, 0], **EXACT)


def an_unknown_chip_hour_cancels(model):
    """Groq's chip-hour is not published, its list price is."""
    home, moved = of("gpt-oss-120b-groq"), of("gpt-oss-120b-groq", distillation=2.0)
    listed = ENDPOINTS.at["gpt-oss-120b-groq", "output_usd_per_mtok"]
    chips = ratio_of("n_chips", home, moved) / ratio_of("decode_tokens_per_s", home, moved)
    now = model.evaluate(moved).now
    np.testing.assert_allclose(now.price_out_usd_per_mtok, listed * chips, **EXACT)
    assert np.isnan(now.chip_hour_usd[0])


def more_chips_cost_more(model):
    home, moved = of("opus-4.6"), of("opus-4.6", n_chips=16)
    wanted = 25 * 2 / ratio_of("decode_tokens_per_s", home, moved)
    np.testing.assert_allclose(model.evaluate(moved).now.price_out_usd_per_mtok, wanted, **EXACT)


CHECKS = (
    speed_moves_by_the_modelled_ratio, speed_at_the_preset_is_published, ttft_moves_by_the_modelled_ratio,
    output_price_moves_by_the_decode_cost, input_price_moves_by_the_prefill_cost, distillation_raises_the_error,
    the_same_benchmark_sets_sparks_error, wait_counts_each_part_once, task_scale_multiplies_the_work,
    a_stand_in_alone_cancels, another_open_model_drops_the_anchor, the_reference_stays,
    chip_prices_are_chosen_for_each_element, an_unknown_chip_hour_cancels, more_chips_cost_more,
)  # fmt: skip

# What goes wrong: (right text, wrong text, check that must notice).
MUTATIONS = {
    "published speed as it is": ("published * speed_ratio", "published", speed_moves_by_the_modelled_ratio),
    "ratio upside down": (
        "service.tokens_per_s_per_user / anchor.tokens_per_s_per_user",
        "anchor.tokens_per_s_per_user / service.tokens_per_s_per_user",
        speed_moves_by_the_modelled_ratio,
    ),
    "model alone with the anchor on": (
        "np.where(anchored, published * speed_ratio, service.tokens_per_s_per_user)",
        "service.tokens_per_s_per_user",
        speed_at_the_preset_is_published,
    ),
    "preset's TTFT as a constant": ("published_ttft * ttft_ratio", "published_ttft", ttft_moves_by_the_modelled_ratio),
    "list output price as a constant": (
        "list_out * np.where(at_preset, 1.0, decode_ratio)",
        "list_out",
        output_price_moves_by_the_decode_cost,
    ),
    "list input price as a constant": (
        "list_in * np.where(at_preset, 1.0, prefill_ratio)",
        "list_in",
        input_price_moves_by_the_prefill_cost,
    ),
    "input price by the decode cost": ("np.where(at_preset, 1.0, prefill_ratio)", "np.where(at_preset, 1.0, decode_ratio)", input_price_moves_by_the_prefill_cost),
    "error of the preset as a constant": ("odds_ratio * size_odds)", "odds_ratio)", distillation_raises_the_error),
    "benchmark ratio left out": ("odds_ratio * size_odds)", "size_odds)", the_same_benchmark_sets_sparks_error),
    "handshake counted twice in the wait": (
        "ttft_s=ttft, handshake_s=handshake,",
        "ttft_s=ttft + handshake, handshake_s=handshake,",
        wait_counts_each_part_once,
    ),
    "handshake left out of the TTFT seen": ("return self.ttft_s + self.handshake_s", "return self.ttft_s", wait_counts_each_part_once),
    "tool time not scaled": ('tool_time_s=v["tool_time_s"] * scale', 'tool_time_s=v["tool_time_s"]', task_scale_multiplies_the_work),
    "calls not scaled": ('calls=v["calls"] * scale', 'calls=v["calls"]', task_scale_multiplies_the_work),
    "stand-in against the preset's own": (' | {"model": own["model"]}', "", a_stand_in_alone_cancels),
    "size rule on a closed preset": (
        "keeps_model = presets.closed[option] | (model_now",
        "keeps_model = (model_now",
        a_stand_in_alone_cancels,
    ),
    "anchor kept for another model": (
        'wants_anchor = _is(v["anchor"], "published") & keeps_model',
        'wants_anchor = _is(v["anchor"], "published")',
        another_open_model_drops_the_anchor,
    ),
    "reference served at the scenario's settings": (
        "reference_own = {k: table[compared] for k, table in presets.serving.items()}",
        "reference_own = own",
        the_reference_stays,
    ),
    "reference with the scenario's handshake": ("presets.handshake_s[compared])", 'v["handshake_s"])', the_reference_stays),
    "price of a chip nobody rents": ("np.where(hardware == anchor_hardware, 1.0, hour_usd / anchor_usd)", "hour_usd / anchor_usd", an_unknown_chip_hour_cancels),
    "chips of the scenario only": ("service.n_chips / anchor.n_chips * hour_ratio", "hour_ratio", more_chips_cost_more),
    "one chip price for all": ("_at_level(anchor_hour.usd, level)", "_at_level(anchor_hour.usd, level[:1])", chip_prices_are_chosen_for_each_element),
}  # fmt: skip


def mutant(monkeypatch, right, wrong):
    source = Path(spine.__file__).read_text(encoding="utf-8")
    assert source.count(right) == 1, f"{right!r} must stand exactly once in the spine"
    module = ModuleType("mutant")
    monkeypatch.setitem(sys.modules, "mutant", module)  # dataclasses look their module up
    exec(compile(source.replace(right, wrong), "mutant", "exec"), module.__dict__)
    return module


def test_stand_ins_of_the_checks_fit():
    assert (served(MOVED).status == 0).all() and CAT.presets.at["opus-4.6-fast", "closed"] == 1


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_right_joint_passes_the_check(check):
    check(spine)


@pytest.mark.parametrize("name", MUTATIONS)
def test_wrong_joint_turns_its_check_red(monkeypatch, name):
    right, wrong, check = MUTATIONS[name]
    with pytest.raises(AssertionError):
        check(mutant(monkeypatch, right, wrong))
