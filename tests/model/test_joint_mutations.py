"""Each way of joining serving and people wrongly must turn a named check red, and the right joint none.

A mistake is made in the source text of the spine (evaluate.py) or of one side of it (side.py), which together must hold the right
text exactly once: a text that is no longer there is an error, never a mistake noticed.
"""

import numpy as np
import pytest

from fastmode import evaluate as spine
from fastmode import side as one_side
from fastmode.economics import chip_hour
from tests.model.mutation import mutated
from tests.model.test_evaluate import CAT, ENDPOINTS, EXACT, PRESETS, of, served


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


SERVED_OTHERWISE = (
    {"batch_size": 1.0}, {"batch_size": 300.0}, {"hardware": "h200_sxm", "n_chips": 16}, {"hardware": "cerebras_wse3", "n_chips": 0},
    {"n_chips": 64}, {"tp": 4, "pp": 2, "n_chips": 8}, {"engine": "sglang"},
    {"speculation": "deepseek-v4-pro-mtp-on", "draft_tokens": 3}, {"speculation": "deepseek-v4-pro-mtp-on", "draft_tokens": 8},
)  # fmt: skip


def serving_never_moves_the_error(model):
    """Hardware, batch, layout, engine and exact speculation leave the error of every option as it is, to the last bit."""
    for preset in ("opus-4.6", "opus-4.6-fast", "gpt-5.3-codex-spark", "gpt-oss-120b-groq"):
        home = of(preset)
        at_home = float(model.evaluate(home).now.error_rate[0])
        for change in SERVED_OTHERWISE:
            now = model.evaluate(of(preset, **change)).now
            assert float(now.error_rate[0]) == at_home, (preset, change)


CHECKS = (
    speed_moves_by_the_modelled_ratio, speed_at_the_preset_is_published, ttft_moves_by_the_modelled_ratio,
    output_price_moves_by_the_decode_cost, input_price_moves_by_the_prefill_cost, distillation_raises_the_error,
    the_same_benchmark_sets_sparks_error, wait_counts_each_part_once, task_scale_multiplies_the_work,
    a_stand_in_alone_cancels, another_open_model_drops_the_anchor, the_reference_stays,
    chip_prices_are_chosen_for_each_element, an_unknown_chip_hour_cancels, more_chips_cost_more, serving_never_moves_the_error,
)  # fmt: skip

ERROR = 'quality.error_from_odds_ratio(v["error"], odds_ratio * setup.size_odds_ratio)'


def error_times(factor):
    """The error with its odds multiplied by something of the way of serving."""
    return f'quality.error_from_odds_ratio(v["error"], odds_ratio * setup.size_odds_ratio * {factor})'


# What goes wrong: (right text, wrong text, check that must notice).
MUTATIONS = {
    "published speed as it is": ("quoted * ratio,", "quoted,", speed_moves_by_the_modelled_ratio),
    "ratio upside down": (
        "modelled.tokens_per_s_per_user / anchor.tokens_per_s_per_user",
        "anchor.tokens_per_s_per_user / modelled.tokens_per_s_per_user",
        speed_moves_by_the_modelled_ratio,
    ),
    "model alone with the anchor on": (
        "np.where(anchored, quoted * ratio, modelled.tokens_per_s_per_user)",
        "modelled.tokens_per_s_per_user",
        speed_at_the_preset_is_published,
    ),
    "preset's TTFT as a constant": ("quoted_ttft * ttft_ratio", "quoted_ttft", ttft_moves_by_the_modelled_ratio),
    "list output price as a constant": (
        "np.where(setup.at_preset, 1.0, chips_ratio * anchor_rate / rate)",
        "1.0",
        output_price_moves_by_the_decode_cost,
    ),
    "list input price as a constant": (
        "np.where(setup.at_preset, 1.0, chips_ratio * anchor_rate / rate)",
        "np.where(setup.at_preset | (listed is list_in), 1.0, chips_ratio * anchor_rate / rate)",
        input_price_moves_by_the_prefill_cost,
    ),
    "input price by the decode cost": (
        "here.prefill_tokens_per_s, anchor.prefill_tokens_per_s",
        "here.decode_tokens_per_s, anchor.decode_tokens_per_s",
        input_price_moves_by_the_prefill_cost,
    ),
    "error of the preset as a constant": (
        ERROR, 'quality.error_from_odds_ratio(v["error"], odds_ratio)', distillation_raises_the_error
    ),
    "benchmark ratio left out": (
        ERROR, 'quality.error_from_odds_ratio(v["error"], setup.size_odds_ratio)', the_same_benchmark_sets_sparks_error
    ),
    "quality of speculation": (
        ERROR,
        error_times('np.where(np.asarray(v["speculation"]).ravel() == "none", 1.0, 1.1)'),
        serving_never_moves_the_error,
    ),
    "quality of drafted tokens": (ERROR, error_times('1.02 ** v["draft_tokens"]'), serving_never_moves_the_error),
    "quality of the batch": (ERROR, error_times('v["batch_size"] ** 0.01'), serving_never_moves_the_error),
    "quality of the hardware": (
        ERROR, error_times("np.where(setup.hardware == setup.preset, 1.01, 1.0 + 0.001 * setup.hardware)"),
        serving_never_moves_the_error,
    ),
    "quality of speed": (ERROR, error_times("setup.service.tokens_per_s_per_user ** 0.001"), serving_never_moves_the_error),
    "handshake counted twice in the wait": (
        "**{name: figures[name] for name in taken}",
        '**{name: figures[name] + (figures["handshake_s"] if name == "ttft_s" else 0.0) for name in taken}',
        wait_counts_each_part_once,
    ),
    "handshake left out of the TTFT seen": ("return self.ttft_s + self.handshake_s", "return self.ttft_s", wait_counts_each_part_once),
    "tool time not scaled": (
        'v[name] * v["task_scale"]',
        'v[name] * np.where(name == "tool_time_s", 1.0, v["task_scale"])',
        task_scale_multiplies_the_work,
    ),
    "calls not scaled": (
        'v[name] * v["task_scale"]', 'v[name] * np.where(name == "calls", 1.0, v["task_scale"])', task_scale_multiplies_the_work
    ),
    "stand-in against the preset's own": (' | {"model": own["model"]}', "", a_stand_in_alone_cancels),
    "size rule on a closed preset": (
        "keeps_model = presets.closed[option] | (own",
        "keeps_model = (own",
        a_stand_in_alone_cancels,
    ),
    "anchor kept for another model": (
        '_is(v["anchor"], "published") & setup.keeps_model',
        '_is(v["anchor"], "published")',
        another_open_model_drops_the_anchor,
    ),
    "reference served at the scenario's settings": (
        "reference_own = {k: table[compared] for k, table in presets.serving.items()}",
        "reference_own = own",
        the_reference_stays,
    ),
    "reference with the scenario's handshake": ("handshake_s=presets.handshake_s[compared]", 'handshake_s=v["handshake_s"]', the_reference_stays),
    "price of a chip nobody rents": (
        "np.where(setup.hardware == anchor_hardware, 1.0, hour_usd / anchor_usd)", "hour_usd / anchor_usd", an_unknown_chip_hour_cancels
    ),
    "chips of the scenario only": ("here.n_chips / anchor.n_chips * hour_ratio", "hour_ratio", more_chips_cost_more),
    "one chip price for all": ("*inputs, catalog).usd, level)", "*inputs, catalog).usd, level[:1])", chip_prices_are_chosen_for_each_element),
}  # fmt: skip


def mutant(monkeypatch, right, wrong):
    """The spine with the mistake in it, or with a side that has it."""
    return mutated(monkeypatch, (one_side, spine), right, wrong)[-1]


def test_stand_ins_of_the_checks_fit():
    assert (served(MOVED).status == 0).all() and CAT.presets.at["opus-4.6-fast", "closed"] == 1


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_right_joint_passes_the_check(check):
    check(spine)


@pytest.mark.parametrize("name", MUTATIONS)
def test_wrong_joint_turns_its_check_red(monkeypatch, name):
    right, wrong, check = MUTATIONS[name]
    wrong_joint = mutant(monkeypatch, right, wrong)
    with pytest.raises(AssertionError):
        check(wrong_joint)


def test_a_text_that_is_gone_is_an_error_and_no_mistake_noticed(monkeypatch):
    with pytest.raises(ValueError, match="exactly once"):
        mutant(monkeypatch, "a text that the spine does not hold", "")


def test_hardware_batch_and_speculation_never_change_the_error_of_any_option():
    """Every preset, several ways of serving it: the error of the profile's task is the same to the last bit."""
    compared = 0
    for preset in PRESETS.index:
        home = spine.evaluate(of(preset)).now.error_rate
        for change in SERVED_OTHERWISE:
            moved = spine.evaluate(of(preset, **change)).now.error_rate
            np.testing.assert_array_equal(moved, home, err_msg=f"{preset} {change}")
            compared += int(np.isfinite(home[0]))
    assert compared > 100
