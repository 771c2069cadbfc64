"""Serving physics against values worked out by hand."""

import numpy as np
import pytest

from fastmode import catalog
from fastmode.serving import PRECISIONS, ServingConfig, serve
from fastmode.serving.architecture import cached_values, expert_coverage, gather, student
from fastmode.serving.layout import split_sram
from fastmode.serving.step import sequences_per_stage
from fastmode.serving.tables import tables

BF16, FP8, NVFP4 = (PRECISIONS.index(name) for name in ("bf16", "fp8", "nvfp4"))


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


@pytest.fixture(scope="module")
def constants(cat):
    return tables(cat).constants


def config(cat, model, hardware, **values):
    rows = {
        "model": cat.models.index.get_loc(model),
        "hardware": cat.hardware.index.get_loc(hardware),
    }
    return ServingConfig(**rows, **values)


def arch_of(cat, model):
    return gather(tables(cat), np.array([cat.models.index.get_loc(model)]))


def test_llama_70b_weights_bound_the_step_on_four_h100(cat):
    """141.1 GB at 2 bytes; the input table of 128256 x 8192 values stays unread; 4 x 3.35 TB/s is the limit."""
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=4, weight_precision=BF16), cat)
    read = 2 * (70.55e9 - 128256 * 8192)
    assert service.weights_bytes[0] == pytest.approx(141.1e9, rel=1e-9)
    assert service.weights_s[0] == pytest.approx(read / (4 * 3.35e12 * 0.8), rel=0.2)
    assert service.step_s[0] > read / (4 * 3.35e12) == pytest.approx(0.010373, rel=1e-3)


def test_weight_time_is_bytes_over_reached_bandwidth(cat, constants):
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=4, weight_precision=BF16), cat)
    read = 2 * (70.55e9 - 128256 * 8192)
    assert service.weights_s[0] == pytest.approx(read / (4 * 3.35e12 * constants.weight_read_share), rel=1e-12)


def test_weights_are_read_once_a_step_whatever_the_batch(cat):
    """A dense model reads the same weights for 1, 8 and 64 requests."""
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=8, weight_precision=FP8, batch=[1, 8, 64]), cat)
    assert service.weights_s == pytest.approx(service.weights_s[0] * np.ones(3), rel=1e-12)


def test_experts_are_read_by_all_chips_and_attention_by_its_group(cat, constants):
    """DeepSeek-R1 at fp8 on 8 B200 with attention on each chip for itself: 64 requests touch 77 % of 256 experts.

    Experts: 58 layers x 256 x 3 x 7168 x 2048 values, over 8 chips; the rest over one.
    """
    c = constants
    service = serve(config(cat, "deepseek-r1", "b200_sxm", n_chips=8, dp=8, weight_precision=FP8, batch=64), cat)
    a = arch_of(cat, "deepseek-r1")
    experts = 58 * 256 * 3 * 7168 * 2048
    touched = 1 - (248 / 256) ** (64**c.coverage_exponent)
    shared = a.attention_params[0] + a.ffn_params[0] + 2 * a.head_params[0]
    rate = 7.7e12 * c.weight_read_share
    expected = shared / rate + experts * touched * c.expert_fp8_factor / (8 * rate)
    assert service.tp[0] == 1
    assert service.weights_s[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("model", "reduced"),
    [("llama-3.1-70b", 0), ("minimax-m2.5", 1)],  # MiniMax norms queries and keys across all heads
)
def test_norms_across_ranks_wait_for_one_more_reduction(cat, constants, model, reduced):
    """An all-reduce more per layer costs its latency; the message of a norm is too small to count."""
    c = constants
    assert cat.models.at[model, "qk_norm_reduced"] == reduced
    layers, hidden = cat.models.loc[model, ["layers", "hidden_size"]]
    service = serve(config(cat, model, "h100_sxm", n_chips=8, batch=1), cat)
    latency = (2 + reduced) * (c.all_reduce_s + 8 * c.all_reduce_per_chip_s)
    moved = 2 * 2 * hidden * 2 * 7 / 8 / (450e9 * c.link_share_decode)
    assert service.collectives_s[0] == pytest.approx(layers * (latency + moved), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [
        ("llama-3.1-70b", 2 * 80 * 8 * 128 * 2),  # K and V, 80 layers, 8 KV heads of 128, 2 bytes
        ("deepseek-r1", 61 * (512 + 64) * 2),  # one latent per layer
        ("qwen3.5-397b-a17b", 2 * 15 * 2 * 256 * 2),  # 15 of 60 layers keep a cache
    ],
)
def test_cache_bytes_per_token(cat, model, bytes_per_token):
    values = cached_values(arch_of(cat, model), np.array([1000.0]))
    assert 2 * values[0] == pytest.approx(1000 * bytes_per_token, rel=1e-12)


def test_window_layers_stop_growing(cat):
    """gpt-oss-120b: 36 layers of 8 x 64 K and V; past 128 tokens 18 of them grow."""
    arch = arch_of(cat, "gpt-oss-120b")
    per_layer = 2 * 8 * 64
    assert cached_values(arch, np.array([100.0]))[0] == 100 * 36 * per_layer
    assert cached_values(arch, np.array([1000.0]))[0] == per_layer * (18 * 128 + 18 * 1000)


def test_cache_bytes_of_the_service(cat):
    """64 sequences of 4000 tokens of a 70B at 2 bytes: 64 x 4000 x 327680 = 83.9 GB, once on 8 chips."""
    service = serve(
        config(cat, "llama-3.1-70b", "h100_sxm", n_chips=8, weight_precision=BF16, batch=64, context_tokens=4000), cat
    )
    assert service.kv_bytes[0] == pytest.approx(64 * 4000 * 327680, rel=1e-12)


def test_more_chips_than_kv_heads_hold_copies(cat):
    """Qwen3-235B has 4 KV heads: 8 chips hold its cache twice. A latent cache is on all 8."""
    twice = serve(config(cat, "qwen3-235b-a22b", "h200_sxm", n_chips=8, kv_precision=BF16, context_tokens=1000), cat)
    assert twice.kv_bytes[0] == pytest.approx(2 * 1000 * 192512, rel=1e-12)
    eight = serve(config(cat, "deepseek-r1", "b200_sxm", n_chips=8, kv_precision=BF16, context_tokens=1000), cat)
    assert eight.kv_bytes[0] == pytest.approx(8 * 1000 * 70272, rel=1e-12)


def test_expert_coverage(cat):
    """DeepSeek: 8 of 256 for a token; 1 - (248/256)^(64^0.92) for 64; all in the limit; 1 for a dense model."""
    arch = arch_of(cat, "deepseek-r1")
    tokens = np.array([1.0, 64.0, 1e6])
    expected = [8 / 256, 1 - (248 / 256) ** (64**0.92), 1.0]
    assert expert_coverage(arch, tokens, 0.92) == pytest.approx(expected, rel=1e-12)
    assert expected[1] == pytest.approx(0.76690, abs=2e-4)
    assert expert_coverage(arch, np.array([0.2]), 0.92)[0] == pytest.approx(8 / 256)
    assert expert_coverage(arch_of(cat, "llama-3.1-70b"), np.array([3.0]), 0.92)[0] == 1.0


@pytest.mark.parametrize(
    ("model", "billions"),
    [("deepseek-r1", 36.6), ("glm-4.5", 32.9), ("kimi-k2", 31.7), ("qwen3-30b-a3b", 3.0), ("gpt-oss-20b", 3.6)],
)
def test_active_parameters_without_the_input_table(cat, model, billions):
    """Published notes of the model table recompute these from the configuration; vendors round totals."""
    a = arch_of(cat, model)
    active = a.attention_params + a.ffn_params + a.head_params + a.expert_params * a.experts_per_token / a.experts
    assert active[0] / 1e9 == pytest.approx(billions, rel=0.03)


def test_latent_attention_parameters(cat):
    """One DeepSeek attention layer has 187 million parameters (128 heads, latents of 1536, 512 and 64)."""
    a = arch_of(cat, "deepseek-r1")
    assert a.attention_params[0] / 61 == pytest.approx(187.1e6, rel=0.02)


def test_prefill_time(cat, constants):
    """8192 tokens of a 70B on 8 H100 at bf16: products, causal attention, all-reduces, traffic, launches."""
    c = constants
    service = serve(
        config(cat, "llama-3.1-70b", "h100_sxm", n_chips=8, weight_precision=BF16, fresh_tokens=8192), cat
    )
    read = 70.55e9 - 128256 * 8192
    peak = 8 * 989e12 * c.prefill_share_bf16
    products = 2 * read * (8192 + 300) / peak
    attention = 4 * 80 * 64 * 128 * 8192 * 4096 / (8 * 989e12 * c.prefill_share_attention)
    reduced = 80 * 4 * 8192 * 8192 * 2 * 7 / 8 / (450e9 * 0.7)
    traffic = 80 * 20 * 8192 * 8192 / 3.35e12
    launches = 80 * 10 * c.prefill_launch_s
    assert service.prefill_s[0] == pytest.approx(products + attention + reduced + traffic + launches, rel=1e-12)
    assert 0.1492 < products < 2 * 0.1492  # between the dense peak and half of it


def test_cached_prefix_is_attended_to_but_not_recomputed(cat, constants):
    """1000 new tokens behind 100,000 cached: attention over 100,500 on average instead of 500."""
    values = {"n_chips": 8, "weight_precision": BF16, "fresh_tokens": 1000, "cached_tokens": [0, 100_000]}
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", **values), cat)
    more = 4 * 80 * 64 * 128 * 1000 * 100_000 / (8 * 989e12 * constants.prefill_share_attention)
    assert service.prefill_s[1] - service.prefill_s[0] == pytest.approx(more, rel=1e-9)


def test_interleaved_prefill(cat):
    """33 sequences: each of my 100 tokens waits for 32 prefills / 100."""
    values = {"n_chips": 8, "weight_precision": FP8, "batch": 33, "output_tokens": 100, "fresh_tokens": 4096}
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", **values), cat)
    one = 4096 / service.prefill_tokens_per_s[0]
    assert service.others_prefill_s[0] == pytest.approx(0.32 * one, rel=1e-12)


def test_ttft_is_queue_prefill_and_a_step(cat):
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=8, batch=[1, 64]), cat)
    assert service.ttft_s == pytest.approx(service.queue_s + service.prefill_s + service.tpot_s, rel=1e-12)


def test_memory_by_hand(cat, constants):
    """70B at bf16 on 4 H100 of 80 GB: what is left after weights, activations and reserve, over 4000 x 327680 bytes."""
    c = constants
    values = {"n_chips": 4, "weight_precision": BF16, "context_tokens": 4000, "fresh_tokens": 4096, "batch": 1}
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", **values), cat)
    activations = 4096 * 8192 * c.activation_values * 2
    free = 80e9 * c.usable_share_hbm - 141.1e9 / 4 - activations - c.reserve_bytes
    assert service.max_batch[0] == np.floor(free / (4000 * 327680 / 4))
    assert service.capacity_bytes[0] == 320e9


def test_batch_that_does_not_fit_is_refused_with_the_largest_that_does(cat):
    values = {"n_chips": 4, "weight_precision": BF16, "context_tokens": 4000}
    most = serve(config(cat, "llama-3.1-70b", "h100_sxm", **values), cat).max_batch[0]
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", batch=[most, most + 1], **values), cat)
    assert service.status.tolist()[0] == 0
    assert service.reason(1) == f"batch {most + 1:.0f} does not fit: at most {most:.0f} at this context"
    queued = serve(config(cat, "llama-3.1-70b", "h100_sxm", batch=most + 1, queue_overflow=True, **values), cat)
    assert queued.status[0] == 0 and queued.batch[0] <= most


@pytest.mark.parametrize(
    ("model", "hardware", "precision", "chips"),
    [
        ("llama-3.1-8b", "h100_sxm", BF16, 1),
        ("llama-3.1-70b", "h100_sxm", BF16, 2),  # 141 GB of 2 x 73.6 usable
        ("llama-3.1-70b", "h100_sxm", FP8, 2),  # 72.7 GB with a wide head and table, 1.5 GB reserve: more than 73.6 usable
        ("deepseek-r1", "h200_sxm", FP8, 8),  # 671 GB over 4 x 130
        ("llama-3.1-405b", "h100_sxm", BF16, 16),  # 812 GB: two hosts
        ("llama-3.1-70b", "cerebras_wse3", BF16, 4),  # vendor: four wafers
        ("llama-3.1-405b", "cerebras_wse3", BF16, 21),  # estimated 19 to 22
    ],
)
def test_fewest_chips(cat, model, hardware, precision, chips):
    service = serve(
        config(cat, model, hardware, weight_precision=precision, context_tokens=1000, fresh_tokens=512), cat
    )
    assert service.n_chips[0] == chips
    assert service.fewest_chips[0] == chips


def test_beyond_the_domain_stages_are_hosts(cat):
    service = serve(config(cat, "llama-3.1-405b", "h100_sxm", weight_precision=BF16, context_tokens=1000), cat)
    assert (service.n_chips[0], service.stages[0], service.tp[0]) == (16, 2, 8)


def test_too_few_chips_names_how_many_are_needed(cat):
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=1, weight_precision=BF16), cat)
    assert service.reason(0) == "weights do not fit: needs 2 chips"
    assert np.isnan(service.tpot_s[0])


def test_sram_groups():
    """80 layers on 4 wafers: 4 stages of one wafer; on 683 small chips: 80 stages of 8; at most one stage a layer."""
    stages, group = split_sram(np.array([4.0, 683.0, 100.0]), np.array([80.0, 80.0, 80.0]))
    assert stages.tolist() == [4, 80, 80]
    assert group.tolist() == [1, 8, 1]


def test_sram_token_time_by_hand(cat, constants):
    """One request of a 70B on 4 wafers: fixed + 80 layers x floor + 3 hops; the products are shorter."""
    c = constants
    service = serve(config(cat, "llama-3.1-70b", "cerebras_wse3", n_chips=4, weight_precision=BF16), cat)
    by_hand = c.fixed_wafer_s + 80 * c.floor_layer_wafer_s + 3 * c.hop_wafer_s
    assert service.weights_s[0] == 0
    assert service.step_s[0] == pytest.approx(by_hand, rel=0.01)
    assert service.overhead_s[0] == pytest.approx(by_hand, rel=1e-12)


def test_sram_compute_takes_over_at_large_batch(cat, constants):
    """4 wafers, 400 sequences: stages of 100, 2 x 69.5e9 x 100 FLOP at 0.6 x 15e15 per s outlast the floor."""
    values = {"n_chips": 4, "weight_precision": BF16, "batch": 400, "context_tokens": 50, "fresh_tokens": 50}
    service = serve(config(cat, "llama-3.1-70b", "cerebras_wse3", **values), cat)
    products = 2 * (70.55e9 - 128256 * 8192) * 100 / (15e15 * constants.decode_compute_share)
    assert service.compute_s[0] == pytest.approx(products - 80 * constants.floor_layer_wafer_s, rel=1e-9)


@pytest.mark.parametrize("hardware", ["cerebras_wse3", "h100_sxm"])
def test_a_lone_request_gains_nothing_from_more_stages(cat, hardware):
    values = {"weight_precision": BF16, "batch": 1, "tp": 0 if hardware == "cerebras_wse3" else 4}
    stages = np.array([1, 2, 4])
    if hardware == "cerebras_wse3":
        stages = np.array([4, 8, 16])
        service = serve(config(cat, "llama-3.1-70b", hardware, n_chips=stages, **values), cat)
    else:
        service = serve(config(cat, "llama-3.1-70b", hardware, n_chips=4 * stages, pp=stages, **values), cat)
    assert service.stages.tolist() == stages.tolist()
    assert np.all(np.diff(service.tpot_s) > 0)


def test_throughput_fills_as_the_batch_approaches_the_stages(cat):
    """16 wafers: up to 16 requests at the speed of one, so 16 times the tokens."""
    service = serve(config(cat, "llama-3.1-70b", "cerebras_wse3", n_chips=16, batch=[1, 8, 16], fresh_tokens=0), cat)
    assert service.decode_tokens_per_s == pytest.approx(service.decode_tokens_per_s[0] * np.array([1, 8, 16]))
    assert sequences_per_stage(np.array([8.0, 16.0, 40.0]), np.array([16.0, 16.0, 16.0])).tolist() == [1, 1, 2.5]


def test_speculation_pays_verification_and_drafts(cat):
    """Three drafts accepted 2 to 3 at a time: a longer step, shared by more tokens; long batches gain less."""
    from fastmode.serving import accept_curves

    curve = accept_curves(cat).index("deepseek-v4-pro-mtp-on")
    values = {"n_chips": 8, "fresh_tokens": 0, "batch": [1, 1, 64, 64]}
    service = serve(
        config(cat, "deepseek-r1", "b200_sxm", speculation=[-1, curve, -1, curve], draft_tokens=3, **values), cat
    )
    assert np.all(service.step_s[[1, 3]] > service.step_s[[0, 2]])
    gain = service.tokens_per_s_per_user[[1, 3]] / service.tokens_per_s_per_user[[0, 2]]
    assert 1.0 < gain[1] < gain[0] < 2.49  # 2.49 = tokens accepted per step on this curve


def test_precision_the_chip_lacks_becomes_the_next_higher(cat):
    values = {"weight_precision": [FP8, NVFP4], "n_chips": 8}
    on_a100 = serve(config(cat, "llama-3.1-70b", "a100_80_sxm", **values), cat)
    on_h100 = serve(config(cat, "llama-3.1-70b", "h100_sxm", **values), cat)
    on_b200 = serve(config(cat, "llama-3.1-70b", "b200_sxm", **values), cat)
    assert on_a100.weight_precision.tolist() == [BF16, BF16]
    assert on_h100.weight_precision.tolist() == [FP8, FP8]
    assert on_b200.weight_precision.tolist() == [FP8, NVFP4]


def test_student_divides_parameters_and_keeps_heads(cat):
    """Llama 405B over 50.5: about 34 layers of width 4430 and 139 kB a token; the 8B has 32, 4096 and 131 kB."""
    teacher = arch_of(cat, "llama-3.1-405b")
    small = student(teacher, np.array([405.85 / 8.03]))
    assert small.layers[0] == pytest.approx(32, rel=0.08)
    assert small.hidden[0] == pytest.approx(4096, rel=0.09)
    assert 2 * small.kv_first[0] == pytest.approx(131072, rel=0.07)
    total = small.attention_params + small.ffn_params + small.head_params + small.stored_params
    assert total[0] == pytest.approx(8.03e9, rel=1e-9)
    assert small.kv_heads[0] == 8


def test_student_at_one_is_the_teacher(cat):
    teacher = arch_of(cat, "glm-4.7")
    same = student(teacher, np.array([1.0]))
    row = cat.models.index.get_loc("glm-4.7")
    mixed = student(gather(tables(cat), np.array([row, row])), np.array([1.0, 2.0]))
    assert same is teacher
    for name in teacher.__dataclass_fields__:
        assert getattr(mixed, name)[0] == getattr(teacher, name)[0]


def test_energy_is_tdp_over_the_output(cat):
    service = serve(config(cat, "llama-3.1-70b", "h100_sxm", n_chips=8, batch=16), cat)
    assert service.energy_j_per_token[0] == pytest.approx(8 * 700 / service.output_tokens_per_s[0])
    unknown = serve(config(cat, "llama-3.1-70b", "tpu_v7", n_chips=8, batch=16), cat)
    assert unknown.status[0] == 0 and np.isnan(unknown.energy_j_per_token[0])


def test_every_part_with_room_for_a_small_model_answers(cat):
    """16 GB of weights at bf16: one chip, or the chips of one scale-up domain, of 40 GB and more."""
    service = serve(
        ServingConfig(model=cat.models.index.get_loc("llama-3.1-8b"), hardware=np.arange(len(cat.hardware))), cat
    )
    room = cat.hardware["memory_gb"] * cat.hardware["scaleup_domain_chips"].fillna(1) >= 40
    assert room.sum() >= 25
    assert list(cat.hardware.index[room & (service.status != 0)]) == []
    assert all(service.reason(i) for i in range(len(cat.hardware)))


def test_bad_values_give_a_reason(cat):
    service = serve(
        ServingConfig(model=[-1, 1, 1, 1, 1], hardware=[1, -1, 1, 1, 1], batch=[1, 1, np.nan, -3, 1],
                      size_ratio=[1, 1, 1, 1, 0.5]), cat
    )  # fmt: skip
    assert [service.reason(i) for i in range(5)] == [
        "unknown model", "unknown hardware", "not a usable configuration: batch", "not a usable configuration: batch",
        "not a usable configuration: size_ratio",
    ]  # fmt: skip
    assert np.isnan(service.tpot_s).all()
