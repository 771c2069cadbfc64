"""The spine: published figures through it, what moves them and what must not, and arrays against single scenarios."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings

from fastmode import catalog, productivity, quality
from fastmode.evaluate import evaluate
from fastmode.scenario import Scenario, default, expand_preset, expand_profile
from fastmode.serving import ENGINES, PRECISIONS, ServingConfig, serve_automatic
from tests.model.test_link import SCENARIOS

CAT = catalog.load()
PRESETS, ENDPOINTS, MODELS = CAT.presets, CAT.endpoints, CAT.models
PUBLISHED = [p for p in PRESETS.index if math.isfinite(ENDPOINTS.at[p, "output_tok_s"])]
CLOSED = [p for p in PUBLISHED if PRESETS.at[p, "closed"] == 1]
OPEN = [p for p in PUBLISHED if PRESETS.at[p, "closed"] == 0]
FOUNDING = ("opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark")
NO_SPEED = ("haiku-4.5", "gemini-deep-think", "gpt-5.2-pro")
EXACT = {"rtol": 1e-12, "atol": 0}


def of(preset, task="issue", **changes):
    """The scenario of a preset and a profile, with changes."""
    return replace(default(), **expand_preset(preset) | expand_profile(task) | changes)


def stacked(scenarios, shape=None):
    """Many scenarios as one whose fields are arrays; None becomes NaN."""
    columns = {}
    for f in fields(Scenario):
        values = [getattr(s, f.name) for s in scenarios]
        values = [math.nan if v is None else v for v in values]
        columns[f.name] = np.array(values).reshape(shape or len(values))
    return Scenario(**columns)


def full(array, n):
    return np.broadcast_to(np.ravel(array), n)


def asked(s):
    """What a scenario asks of the serving model for its own calls."""
    fresh = s.n_in / s.calls
    curves = list(CAT.accept_length["id"].unique())
    return ServingConfig(
        model=MODELS.index.get_loc(s.model), hardware=CAT.hardware.index.get_loc(s.hardware), n_chips=s.n_chips,
        tp=s.tp, pp=s.pp, dp=s.dp, ep=s.ep, weight_precision=PRECISIONS.index(s.weight_precision),
        kv_precision=-1 if s.kv_precision == "auto" else PRECISIONS.index(s.kv_precision), engine=ENGINES.index(s.engine),
        batch=s.batch_size, context_tokens=max(s.context_tokens, fresh), fresh_tokens=fresh,
        cached_tokens=max(s.context_tokens, fresh) - fresh, output_tokens=s.n_out / s.calls,
        speculation=-1 if s.speculation == "none" else curves.index(s.speculation), draft_tokens=s.draft_tokens,
        size_ratio=s.distillation,
    )  # fmt: skip


def served(s):
    """The serving model asked directly for the calls of one scenario."""
    return serve_automatic(asked(s), CAT)


# Founding figures


def test_opus_fast_is_2_615_times_as_fast_at_six_times_the_bill_with_the_same_error():
    e = evaluate(of("opus-4.6-fast"))
    out = e.outputs()
    assert (out["tokens_per_s_per_user"].value, out["tokens_per_s_per_user"].reference) == (170.0, 65.0)
    assert round(170 / 65, 3) == round(e.at(e.now.tokens_per_s) / e.at(e.reference.tokens_per_s), 3) == 2.615
    assert out["cost_multiplier"].value == pytest.approx(6.0, rel=1e-12)
    # 114,000 tokens in and 8,000 out at 5 and 25 USD per Mtok: 0.57 + 0.20
    assert out["token_bill_usd"].reference == pytest.approx(0.77, rel=1e-12)
    assert out["error_rate"].value == out["error_rate"].reference == 0.25


def test_the_vendors_multiple_is_a_figure_of_its_own():
    assert ENDPOINTS.at["opus-4.6-fast", "speed_multiplier_vs_standard"] == 2.5
    e = evaluate(of("opus-4.6-fast"))
    assert e.at(e.now.published_tokens_per_s) == 170.0 != 2.5 * 65


def test_spark_waits_less_and_takes_longer():
    e = evaluate(default())
    now, reference = e.now.task, e.reference.task
    # 20 x 1.1 + 8000/65 + 60 and 20 x 0.52 + 8000/1000 + 60
    assert e.at(reference.wait_s) == pytest.approx(205.0769230769, abs=1e-9)
    assert e.at(now.wait_s) == pytest.approx(78.4, abs=1e-9)
    # Terminal-Bench 2.0: 77.3 and 58.4 %, so the odds of an error are multiplied by 2.4258
    ratio = (100 - 58.4) / 58.4 * 77.3 / (100 - 77.3)
    assert e.at(e.now.benchmark_odds_ratio) == pytest.approx(ratio, rel=1e-12)
    assert e.at(e.reference.error_rate) == 0.25 and e.at(e.now.error_rate) == pytest.approx(0.447074, abs=5e-7)
    assert e.at(reference.time_per_task_s) == pytest.approx(1539.966, abs=5e-4)
    assert e.at(now.time_per_task_s) == pytest.approx(2063.856, abs=5e-4)
    assert e.at(e.time_change) == pytest.approx(0.3402, abs=5e-5)


def test_modelled_and_published_speeds_are_both_there_and_differ():
    for preset in FOUNDING:
        out = evaluate(of(preset)).outputs()
        published, modelled = (out[f"{name}_tokens_per_s_per_user"].value for name in ("published", "modelled"))
        assert published == ENDPOINTS.at[preset, "output_tok_s"]
        assert modelled == pytest.approx(float(served(of(preset)).tokens_per_s_per_user[0]), rel=1e-12)
        assert abs(modelled / published - 1) > 0.01, preset


# At the preset


def test_at_every_preset_and_profile_speed_and_price_are_exactly_the_published_ones():
    scenarios = [of(p, t) for p in PUBLISHED for t in CAT.profiles.index]
    rows = [s.preset for s in scenarios]
    now = evaluate(stacked(scenarios)).now
    np.testing.assert_array_equal(full(now.tokens_per_s, len(rows)), ENDPOINTS.loc[rows, "output_tok_s"])
    np.testing.assert_array_equal(full(now.price_in_usd_per_mtok, len(rows)), ENDPOINTS.loc[rows, "input_usd_per_mtok"])
    np.testing.assert_array_equal(
        full(now.price_out_usd_per_mtok, len(rows)), ENDPOINTS.loc[rows, "output_usd_per_mtok"]
    )
    ttft = ENDPOINTS.loc[rows, "ttft_s"].fillna(CAT.endpoints["ttft_s"].reindex(PRESETS.index).fillna(PRESETS["ttft_s"])[rows])
    np.testing.assert_array_equal(full(now.ttft_s, len(rows)), ttft)
    np.testing.assert_array_equal(full(now.handshake_s, len(rows)), PRESETS.loc[rows, "handshake_s"])
    assert (full(now.speed_ratio, len(rows)) == 1.0).all() and full(now.anchored, len(rows)).all()


def test_the_error_of_each_groups_reference_is_the_profiles():
    references = sorted(set(PRESETS["reference"]))
    scenarios = [of(p, t) for p in references for t in CAT.profiles.index]
    e = evaluate(stacked(scenarios))
    np.testing.assert_array_equal(full(e.now.error_rate, len(scenarios)), [s.error for s in scenarios])
    np.testing.assert_array_equal(full(e.reference.error_rate, len(scenarios)), [s.error for s in scenarios])


def test_no_benchmark_ratio_crosses_vendors():
    """Spark against Opus: both keep the error their own group gives them."""
    e = evaluate(of("gpt-5.3-codex-spark", reference="opus-4.6"))
    assert e.at(e.now.error_rate) == pytest.approx(0.447074, abs=5e-7) and e.at(e.reference.error_rate) == 0.25


# Off the preset

MOVES = {
    "batch": {"batch_size": 8.0}, "hardware": {"hardware": "h200_sxm", "n_chips": 16}, "distillation": {"distillation": 4.0},
    "context": {"context_tokens": 128_000.0}, "cache": {"kv_precision": "bf16"}, "layout": {"dp": 4},
    "speculation": {"speculation": "glm-5.2-fp8-mtp-on", "draft_tokens": 3}, "work": {"n_out": 20_000, "calls": 40},
    "together": {"batch_size": 2.0, "distillation": 2.0, "context_tokens": 8_000.0, "weight_precision": "fp4"},
}  # fmt: skip


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("preset", [p for p in FOUNDING if p != "gpt-5.3-codex"])
def test_off_the_preset_speed_moves_by_exactly_the_modelled_ratio(preset, move):
    home, moved = of(preset), of(preset, **MOVES[move])
    there, here = served(moved), served(home)
    ratio = float(there.tokens_per_s_per_user[0] / here.tokens_per_s_per_user[0])
    now = evaluate(moved).now
    np.testing.assert_allclose(now.tokens_per_s, ENDPOINTS.at[preset, "output_tok_s"] * ratio, **EXACT)
    np.testing.assert_allclose(now.ttft_s, PRESETS.at[preset, "ttft_s"] * there.ttft_s / here.ttft_s, **EXACT)
    # Wafers keep the cache beside the weights and do not split attention: these two change nothing there.
    assert (ratio == 1.0) == (preset == "gpt-5.3-codex-spark" and move in ("cache", "layout"))
    hour = now.chip_hour_usd / evaluate(home).now.chip_hour_usd * there.n_chips / here.n_chips
    decode = hour * here.decode_tokens_per_s / there.decode_tokens_per_s
    prefill = hour * here.prefill_tokens_per_s / there.prefill_tokens_per_s
    np.testing.assert_allclose(
        now.price_out_usd_per_mtok, ENDPOINTS.at[preset, "output_usd_per_mtok"] * decode, **EXACT
    )
    np.testing.assert_allclose(now.price_in_usd_per_mtok, ENDPOINTS.at[preset, "input_usd_per_mtok"] * prefill, **EXACT)


def test_without_the_anchor_the_modelled_figures_show():
    scenarios = [of(p, anchor="model") for p in PUBLISHED if p not in NO_SPEED]
    now = evaluate(stacked(scenarios)).now
    np.testing.assert_array_equal(now.tokens_per_s, now.service.tokens_per_s_per_user)
    np.testing.assert_array_equal(now.ttft_s, now.service.ttft_s)
    assert not now.anchored.any()
    assert evaluate(of("opus-4.6", anchor="model")).outputs()["tokens_per_s_per_user"].kind == "modelled"


def test_your_own_speed_ttft_and_prices_replace_the_published_ones():
    own = {
        "anchor_tokens_per_s": 100.0,
        "anchor_ttft_s": 2.0,
        "price_in_usd_per_mtok": 10.0,
        "price_out_usd_per_mtok": 50.0,
    }
    now = evaluate(of("opus-4.6-fast", **own)).now
    figures = now.tokens_per_s, now.ttft_s, now.price_in_usd_per_mtok, now.price_out_usd_per_mtok
    assert [float(v[0]) for v in figures] == [100.0, 2.0, 10.0, 50.0]
    moved = evaluate(of("opus-4.6-fast", batch_size=8.0, **own)).now
    ratio = (
        served(of("opus-4.6-fast", batch_size=8.0)).tokens_per_s_per_user
        / served(of("opus-4.6-fast")).tokens_per_s_per_user
    )
    np.testing.assert_allclose(moved.tokens_per_s, 100.0 * ratio, **EXACT)


def test_a_closed_presets_stand_in_alone_changes_neither_speed_price_nor_error():
    scenarios = [of(p, model=m) for p in CLOSED for m in ("none", *MODELS.index)]
    now, plain = evaluate(stacked(scenarios)).now, evaluate(stacked([of(s.preset) for s in scenarios])).now
    for name in ("tokens_per_s", "ttft_s", "price_in_usd_per_mtok", "price_out_usd_per_mtok", "error_rate"):
        np.testing.assert_array_equal(getattr(now, name), getattr(plain, name), name)


@pytest.mark.parametrize("preset", ["gpt-oss-120b-groq", "qwen3-32b-cerebras", "kimi-k2.6-fireworks"])
def test_another_model_on_an_open_preset_drops_the_anchor_and_follows_the_size_rule(preset):
    moved = of(preset, model="llama-3.1-8b", weight_precision="fp8", hardware="h100_sxm", n_chips=1)
    now = evaluate(moved).now
    assert not now.anchored[0]
    np.testing.assert_allclose(now.tokens_per_s, served(moved).tokens_per_s_per_user, **EXACT)
    ratio = MODELS.at[PRESETS.at[preset, "model"], "total_params_b"] / MODELS.at["llama-3.1-8b", "total_params_b"]
    beta = math.log(1.547) / math.log(5)  # agentic: the median tier step over an assumed step of five
    own_ratio = float(now.benchmark_odds_ratio[0])
    odds = 0.25 / 0.75 * own_ratio * ratio**beta
    np.testing.assert_allclose(now.error_rate, odds / (1 + odds), rtol=1e-12)


@pytest.mark.parametrize("change", [
    {"batch_size": 1.0}, {"batch_size": 512.0}, {"hardware": "h100_sxm"}, {"speculation": "glm-5.2-fp8-mtp-on"},
    {"kv_precision": "fp8"}, {"engine": "sglang"}, {"n_chips": 64}, {"tp": 8}, {"context_tokens": 200_000.0}, {"anchor": "model"},
])  # fmt: skip
def test_how_a_model_is_served_never_moves_its_error(change):
    e = evaluate(stacked([of(p, **change) for p in PRESETS.index]))
    plain = evaluate(stacked([of(p) for p in PRESETS.index]))
    np.testing.assert_array_equal(e.now.error_rate, plain.now.error_rate)
    np.testing.assert_array_equal(e.reference.error_rate, plain.reference.error_rate)


def test_a_coarser_format_than_the_presets_own_loses_successes_and_a_finer_one_gains_none():
    """Opus at fp8: 4-bit loses 2 % of the successes (1 - 0.75 x 0.98), bf16 none. A hundredth of the loss is of the data."""
    error = {p: float(evaluate(of("opus-4.6", weight_precision=p, n_chips=16)).now.error_rate[0]) for p in ("bf16", "fp8", "fp4")}
    assert error["bf16"] == error["fp8"] == 0.25 and error["fp4"] == pytest.approx(0.265, abs=1e-12)
    e = evaluate(of("gpt-oss-120b-groq", weight_precision="fp4"))
    assert e.now.quantisation_loss[0] == 0.0  # what the preset itself is served with


def test_longer_tasks_fail_more_only_where_the_exponent_says_so():
    plain, longer = evaluate(of("opus-4.6", task_scale=4.0)), evaluate(of("opus-4.6", task_scale=4.0, length_exponent=0.6))
    assert plain.now.error_rate[0] == 0.25
    assert longer.now.error_rate[0] == longer.reference.error_rate[0] == pytest.approx(1 - 0.75 ** (4**0.6), rel=1e-12)


@pytest.mark.parametrize(("task", "family"), [("issue", "agentic"), ("simple-tasks", "coding"), ("chat", "knowledge"), ("advanced-reasoning", "math"), ("customer-support", "tool_use")])  # fmt: skip
def test_distillation_multiplies_the_odds_by_r_to_the_beta(task, family):
    r = np.array([1.0, 1.2, 3.0, 10.0, 100.0])
    now = evaluate(of("gpt-5.3-codex-spark", task, distillation=r)).now
    beta = float(quality.beta(family, CAT, 5.0).value)
    assert beta > 0
    error = of("opus-4.6", task).error
    odds = error / (1 - error) * (41.6 / 58.4) / (22.7 / 77.3) * r**beta
    np.testing.assert_allclose(now.error_rate, odds / (1 + odds), rtol=1e-12)


def test_acceptance_adds_its_gap():
    e = evaluate(of("opus-4.6", error_level="acceptance"))
    assert (e.at(e.now.error_benchmark), e.at(e.now.error_rate)) == (0.25, pytest.approx(0.49, abs=1e-12))


def test_the_reference_keeps_its_own_settings():
    changes = [
        {"batch_size": 1.0}, {"hardware": "h100_sxm"}, {"n_chips": 64}, {"distillation": 10.0}, {"handshake_s": 1.0}, {"dp": 2},
        {"weight_precision": "fp4"}, {"anchor_tokens_per_s": 9.0}, {"anchor_ttft_s": 9.0}, {"price_out_usd_per_mtok": 1.0},
        {"model": "llama-3.1-8b"}, {"speculation": "glm-5.2-fp8-mtp-on"}, {"engine": "sglang"}, {"kv_precision": "bf16"},
    ]  # fmt: skip
    reference = evaluate(stacked([of("gpt-5.3-codex-spark", **c) for c in changes])).reference
    plain = evaluate(default()).reference
    for name in ("time_per_task_s", "wait_s", "token_bill_usd", "cost_per_task_usd", "net_productivity"):
        np.testing.assert_array_equal(getattr(reference.task, name), float(getattr(plain.task, name)[0]), name)


def test_the_reference_does_the_same_task():
    """A longer context slows the reference too, by its own modelled ratio."""
    e = evaluate(of("gpt-5.3-codex-spark", context_tokens=48_000.0))
    long, short = served(of("gpt-5.3-codex", context_tokens=48_000.0)), served(of("gpt-5.3-codex"))
    expected = 65 * long.tokens_per_s_per_user / short.tokens_per_s_per_user
    assert 0 < expected[0] < 65
    np.testing.assert_allclose(e.reference.tokens_per_s, expected, **EXACT)


def test_a_preset_whose_batch_does_not_fit_the_context_is_modelled_at_the_largest_that_does():
    """Only the scenario's own batch is the user's word: reference and anchor take the largest that fits."""
    context = 96_000.0
    most = float(served(of("gpt-5.3-codex", context_tokens=context)).max_batch[0])
    assert 1 < most < 64
    fits = served(of("gpt-5.3-codex", context_tokens=context, batch_size=float(np.floor(most))))
    e = evaluate(of("gpt-5.3-codex-spark", context_tokens=context))
    np.testing.assert_allclose(
        e.reference.tokens_per_s,
        65 * fits.tokens_per_s_per_user / served(of("gpt-5.3-codex")).tokens_per_s_per_user,
        **EXACT,
    )
    own = evaluate(of("gpt-5.3-codex", context_tokens=context))
    assert np.isnan(own.now.tokens_per_s[0]) and "at most" in own.reason(own.now)
    long_task = evaluate(of("gpt-5.3-codex", "complex-code", batch_size=32.0))
    assert long_task.now.tokens_per_s[0] > 65


def test_what_is_unknown_of_an_option_is_lent_to_itself_as_reference():
    e = evaluate(of("haiku-4.5", anchor_tokens_per_s=120.0))
    assert (e.at(e.now.tokens_per_s), e.at(e.reference.tokens_per_s)) == (120.0, 120.0)
    known = evaluate(of("opus-4.6", anchor_tokens_per_s=120.0))
    assert (known.at(known.now.tokens_per_s), known.at(known.reference.tokens_per_s)) == (120.0, 65.0)


# Waiting, prices, unknowns


@settings(max_examples=60)
@given(SCENARIOS)
def test_wait_is_calls_times_ttft_as_seen_plus_writing_plus_tools_plus_start(scenario):
    e = evaluate(scenario)
    now, s, scale = e.now, scenario, scenario.task_scale
    wait = (
        s.calls * scale * now.ttft_client_s
        + s.n_out * scale / now.tokens_per_s
        + s.tool_time_s * scale
        + s.start_delay_s
    )
    np.testing.assert_allclose(now.task.wait_s, wait, rtol=1e-12)
    assert np.isnan(now.tokens_per_s[0]) == bool(e.reason(now))
    bill = scale * (s.n_in * now.price_in_usd_per_mtok + s.n_out * now.price_out_usd_per_mtok) / 1e6
    if s.n_in:
        np.testing.assert_allclose(now.task.token_bill_usd, bill, rtol=1e-12)


def test_an_unpublished_price_stays_unknown_and_leaves_the_times():
    out = evaluate(default()).outputs()
    for name in ("cost_multiplier", "token_bill_usd", "cost_per_task_usd"):
        assert math.isnan(out[name].value) and out[name].reason.startswith("price not published")
    assert out["token_bill_usd"].reference == pytest.approx(0.3115, rel=1e-12)  # 0.114 x 1.75 + 0.008 x 14
    assert out["time_per_task_s"].value == pytest.approx(2063.856, abs=5e-4)
    assert (
        0
        < out["provider_cost_usd_per_mtok"].low
        < out["provider_cost_usd_per_mtok"].value
        < out["provider_cost_usd_per_mtok"].high
    )


def test_a_part_without_a_chip_hour_price_says_so():
    out = evaluate(of("opus-4.6", hardware="groq_lpu_v1", n_chips=0)).outputs()["cost_multiplier"]
    assert math.isnan(out.value) and out.reason.startswith("no chip-hour price of this hardware is known")


@pytest.mark.parametrize("preset", NO_SPEED)
def test_an_unknown_speed_is_null_until_one_is_entered(preset):
    e = evaluate(of(preset))
    assert np.isnan(e.now.tokens_per_s[0]) and np.isnan(e.now.task.time_per_task_s[0])
    assert e.reason(e.now).startswith("speed not published")
    entered = evaluate(of(preset, anchor_tokens_per_s=100.0, reference="opus-4.6"))
    now = entered.now
    assert (entered.at(now.tokens_per_s), entered.reason(now)) == (100.0, "")
    assert entered.at(now.task.wait_s) == pytest.approx(20 * 1.1 + 8000 / 100 + 60, abs=1e-9)
    expected = productivity.task(replace(evaluate(of("opus-4.6")).now.inputs, tokens_per_s=100.0)).time_per_task_s
    np.testing.assert_allclose(now.task.time_per_task_s, expected, rtol=1e-12)
    np.testing.assert_allclose(entered.time_change, expected / 1539.96646903 - 1, rtol=1e-9)


# Arrays


def compare(evaluation, scenarios):
    """Every output of an array evaluation equals that of each scenario alone."""
    outputs = evaluation.outputs()
    for i, s in enumerate(scenarios):
        for name, single in evaluate(s).outputs().items():
            both = outputs[name]
            np.testing.assert_allclose(np.ravel(both.value)[i], single.value, rtol=1e-9, err_msg=f"{name} of {s}")
            np.testing.assert_allclose(np.ravel(both.reference)[i], single.reference, rtol=1e-9, err_msg=name)


@settings(max_examples=15)
@given(SCENARIOS, SCENARIOS, SCENARIOS)
def test_arrays_of_anything_equal_single_scenarios(a, b, c):
    compare(evaluate(stacked([a, b, c])), [a, b, c])


def test_two_dimensional_shapes_broadcast():
    batch, hardware = np.array([[1.0], [8.0], [64.0]]), np.array(["b200_sxm", "h200_sxm"])
    e = evaluate(of("opus-4.6", batch_size=batch, hardware=hardware, n_chips=16))
    assert e.shape == (3, 2) and e.outputs()["tokens_per_s_per_user"].value.shape == (3, 2)
    compare(e, [of("opus-4.6", batch_size=b, hardware=h, n_chips=16) for b in (1.0, 8.0, 64.0) for h in hardware])


def test_arrays_of_models_and_presets_broadcast():
    models, presets = np.array(["llama-3.1-8b", "kimi-k2", "glm-4.7"]), np.array([["opus-4.6"], ["gpt-oss-120b-groq"]])
    e = evaluate(replace(of("opus-4.6", batch_size=8.0), model=models, preset=presets))
    assert e.shape == (2, 3)
    compare(e, [replace(of("opus-4.6", batch_size=8.0), model=m, preset=p) for p in presets.ravel() for m in models])


def test_arrays_of_words_broadcast():
    words = {"chip_price": ["low", "mid", "high"], "anchor": ["published", "model"], "task_family": ["math", "coding"], "error_level": ["benchmark", "acceptance"], "task": ["issue", "chat"], "engine": ["vllm", "sglang"], "reference": ["opus-4.6", "gpt-5.3-codex"], "load": ["batch", "traffic"]}  # fmt: skip
    for name, values in words.items():
        base = of("opus-4.6", batch_size=8.0, distillation=2.0)
        compare(evaluate(replace(base, **{name: np.array(values)})), [replace(base, **{name: v}) for v in values])


def test_frame_has_one_row_an_element():
    frame = evaluate(of("opus-4.6", batch_size=np.array([1.0, 64.0]))).to_frame()
    assert (
        len(frame) == 2 and list(frame["batch_size"]) == [1.0, 64.0] and frame["tokens_per_s_per_user"].iloc[1] == 65.0
    )


def test_every_preset_on_every_hardware_has_figures_or_a_reason():
    hardware = CAT.hardware.index
    scenarios = [of(p, hardware=h, n_chips=0) for p in PRESETS.index for h in hardware]
    e = evaluate(stacked(scenarios, (len(PRESETS), len(hardware))))
    speed = e.outputs()["tokens_per_s_per_user"].value
    assert speed.shape == (len(PRESETS), len(hardware))
    reasons = [e.reason(e.now, i) for i in range(speed.size)]
    assert [bool(r) for r in reasons] == list(np.isnan(speed.ravel()))
    assert np.isfinite(speed).mean() > 0.5 and (speed[np.isfinite(speed)] > 0).all()


@pytest.mark.parametrize(("change", "reason"), [
    ({"hardware": "h100_sxm"}, "weights do not fit: needs 24 chips"),
    ({"batch_size": 512.0}, "does not fit: at most"),
    ({"model": "none", "batch_size": 8.0}, "no stand-in model chosen"),
])  # fmt: skip
def test_what_cannot_be_served_has_a_reason(change, reason):
    e = evaluate(of("opus-4.6", **change))
    assert np.isnan(e.now.tokens_per_s[0]) and reason in e.reason(e.now)
    assert e.at(e.reference.tokens_per_s) == 65.0


@pytest.mark.parametrize("change", [{"preset": "opus-9"}, {"reference": "opus-9"}, {"task": "juggling"}])
def test_an_unknown_preset_reference_or_task_is_a_key_error(change):
    with pytest.raises(KeyError):
        evaluate(replace(default(), **change))


def test_the_same_option_twice_costs_exactly_the_same():
    """A shorter context moves both prices alike: a ratio of 1 has no band, though each price has one."""
    e = evaluate(of("opus-4.6", context_tokens=4000.0))
    low, high = e.bands(90)["cost_multiplier"]
    assert e.cost_multiplier[0] == low[0] == high[0] == 1.0
    assert e.outputs()["cost_multiplier"].low is None or np.isnan(e.outputs()["cost_multiplier"].low)


def test_a_speed_the_user_enters_is_assumed_at_the_preset_and_modelled_away_from_it():
    at_home, away = (evaluate(of("opus-4.6", anchor_tokens_per_s=80.0, batch_size=b)).outputs() for b in (64.0, 8.0))
    assert at_home["tokens_per_s_per_user"].kind == at_home["published_tokens_per_s_per_user"].kind == "assumed"
    assert away["tokens_per_s_per_user"].kind == "modelled"
