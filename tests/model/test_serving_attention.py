"""Sparse and linear attention and the skew of expert parallelism, against values worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fastmode import catalog
from fastmode.catalog_tables import TABLES
from fastmode.serving import PRECISIONS, ServingConfig, architecture, serve, step
from fastmode.serving.architecture import cached_values, gather, prefill_values, read_values, student
from fastmode.serving.batch_fixed import serve_tables
from fastmode.serving.tables import tables, tables_with

BF16, FP8 = PRECISIONS.index("bf16"), PRECISIONS.index("fp8")
SPARSE = ("deepseek-v3.2", "glm-5", "glm-5.2", "glm-5.3", "minimax-m3")
LINEAR = ("qwen3.5-397b-a17b", "kimi-k3")
LATENT = 512 + 64
# Latent products of a query head: 576 for the score and 512 for the value; expanded 192 and 128.
ABSORBED, EXPANDED = LATENT + 512, 192 + 128


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


@pytest.fixture(scope="module")
def constants(cat):
    return tables(cat).constants


def config(cat, model, hardware="b200_sxm", **values):
    names = {"model": cat.models.index.get_loc(model), "hardware": cat.hardware.index.get_loc(hardware)}
    return ServingConfig(**names | {"n_chips": 8, "weight_precision": FP8, "kv_precision": FP8} | values)


def arch_of(cat, model):
    return gather(tables(cat), np.array([cat.models.index.get_loc(model)]))


def edited(cat, model, **cells):
    """The catalogue with some cells of one model replaced."""
    models = cat.models.copy()
    for column, value in cells.items():
        models.loc[model, column] = value
    return replace(cat, models=models)


def dense(cat, model):
    """The same model with full attention."""
    names = ("sparse_layers", "sparse_tokens", "index_layers", "index_heads", "index_head_dim", "index_bytes_per_token")
    return edited(cat, model, **dict.fromkeys(names, np.nan))


# Sparse attention: facts, reads, memory


def test_sparse_layers_read_the_chosen_tokens_and_all_index_keys(cat, constants):
    """V3.2 at 100,000 tokens: 61 x 2048 latents of 576 bytes are read, and 61 x 132 bytes of keys for every token.

    72.0 MB + 805.2 MB against 3514 MB of a full read; the keys, not the latents, are what is left.
    """
    latents, keys = 61 * 2048 * LATENT, 100_000 * 61 * (128 + 4)
    assert latents == 71_958_528
    assert keys == 805_200_000
    assert 100_000 * 61 * LATENT == 3_513_600_000
    service = serve(config(cat, "deepseek-v3.2", context_tokens=100_000), cat)
    rate = 7.7e12 * constants.kv_read_share
    products = 2 * 61 * 2048 * 128 * ABSORBED / (8 * 2250e12 * constants.attention_compute_share)
    scores = 2 * 100_000 * 61 * 64 * 128 / (2250e12 * constants.index_compute_share)
    assert latents / rate > products
    assert keys / rate > scores
    assert service.kv_s[0] == pytest.approx((latents + keys) / rate, rel=1e-5)


def test_indexer_can_be_bound_by_its_products(cat, constants):
    """Eight drafted tokens are scored against the keys that are read once: then the products take longer."""
    args = (arch_of(cat, "deepseek-v3.2"), SimpleNamespace(sram=0.0, bandwidth=8e12, bf16_flops=2e15))
    one_group = SimpleNamespace(attention_chips=np.array([8.0]))
    once = step.index_time(*args, one_group, 1.0, 1.0, 1000.0, constants)[0]
    many = step.index_time(*args, one_group, 1.0, 9.0, 1000.0, constants)[0]
    assert once == pytest.approx(1000 * 8052 / (8e12 * constants.kv_read_share), rel=1e-9)
    assert many == pytest.approx(2 * 9 * 1000 * 61 * 64 * 128 / (2e15 * constants.index_compute_share), rel=1e-9)


@pytest.mark.parametrize("model", SPARSE)
def test_up_to_the_chosen_tokens_sparse_is_dense(cat, model):
    arch = arch_of(cat, model)
    for context in (1.0, 500.0, 2048.0):
        assert read_values(arch, np.array([context]))[0] == cached_values(arch, np.array([context]))[0]
    assert read_values(arch, np.array([2049.0]))[0] < cached_values(arch, np.array([2049.0]))[0]


def test_every_layer_sparse_reads_no_more_at_any_context(cat):
    arch = arch_of(cat, "glm-5")
    assert read_values(arch, np.array([2048.0]))[0] == read_values(arch, np.array([1e6]))[0] == 78 * LATENT * 2048


def test_block_sparse_model_keeps_three_full_layers(cat):
    """MiniMax-M3: 16 blocks of 128 tokens on 57 layers, everything on 3; 2 x 4 x 128 values a layer and token."""
    read = read_values(arch_of(cat, "minimax-m3"), np.array([100_000.0]))[0]
    assert read == pytest.approx(1024 * (57 * 16 * 128 + 3 * 100_000), rel=1e-12)


def test_several_query_tokens_choose_for_themselves_but_read_no_more_than_is_held(cat):
    arch, context = arch_of(cat, "deepseek-v3.2"), np.array([10_000.0])
    assert read_values(arch, context, 4.0)[0] == 4 * 2048 * 61 * LATENT
    assert read_values(arch, context, 5.0)[0] == cached_values(arch, context)[0] == 10_000 * 61 * LATENT


def test_memory_holds_the_whole_sparse_cache_and_the_keys(cat):
    """V3.2 on 8 chips: every chip holds 576 + 132 bytes a token and layer; reading fewer tokens frees nothing."""
    service = serve(config(cat, "deepseek-v3.2", batch=4, context_tokens=50_000), cat)
    assert service.kv_bytes[0] == pytest.approx(8 * 4 * 50_000 * 61 * (LATENT + 132), rel=1e-12)
    without = serve(config(cat, "deepseek-v3.2", batch=4, context_tokens=50_000), dense(cat, "deepseek-v3.2"))
    assert service.max_batch[0] == pytest.approx(without.max_batch[0] * LATENT / (LATENT + 132), rel=0.02)


def test_index_keys_lie_on_every_tensor_parallel_chip(cat):
    """MiniMax-M3 on 4 chips in bf16: 30,720 bytes of KV and 14,592 of keys a token and chip, as an engine reports."""
    service = serve(config(cat, "minimax-m3", n_chips=4, kv_precision=BF16, context_tokens=1000), cat)
    assert service.kv_bytes[0] / 4 == pytest.approx(1000 * 45_312, rel=1e-12)
    spread = serve(config(cat, "minimax-m3", n_chips=4, dp=4, kv_precision=BF16, context_tokens=1000), cat)
    assert spread.kv_bytes[0] == pytest.approx(1000 * (122_880 + 14_592), rel=1e-12)


@pytest.mark.parametrize(("model", "layers"), [("glm-5", 78), ("glm-5.2", 21)])
def test_layers_that_reuse_a_choice_have_no_keys(cat, model, layers):
    """GLM-5.2 has an indexer on layers 0 to 2 and on every fourth from 6 to 74."""
    assert len([0, 1, 2, *range(6, 78, 4)]) == 21
    arch = arch_of(cat, model)
    assert arch.index_bytes[0] == layers * (128 + 4)
    assert arch.index_products[0] == layers * 32 * 128


def test_long_context_is_where_sparse_attention_pays(cat):
    """Below the chosen tokens the indexer only costs; the gain over dense attention grows with the context."""
    contexts = np.array([1024.0, 8192.0, 32_768.0, 131_072.0])
    sparse = serve(config(cat, "glm-5", batch=8, context_tokens=contexts), cat)
    full = serve(config(cat, "glm-5", batch=8, context_tokens=contexts), dense(cat, "glm-5"))
    ratio = full.tpot_s / sparse.tpot_s
    assert ratio[0] < 1.0
    assert np.all(np.diff(ratio) > 0)
    assert ratio[-1] > 1.0


def test_fewest_chips_hold_the_index_keys(cat):
    """The chips chosen by the rule hold the batch that was asked, keys and states included."""
    for model in (*SPARSE, *LINEAR):
        asked = config(cat, model, n_chips=0, batch=[1, 16, 64, 256], context_tokens=65_536)
        service = serve(asked, cat)
        assert np.all(service.max_batch >= [1, 16, 64, 256]), model


# Sparse attention: prefill


@pytest.mark.parametrize("model", SPARSE)
def test_short_prefill_is_as_dense(cat, model):
    """Up to the chosen tokens only the launches of the indexer are left; one token more and it scores all pairs."""
    asked = config(cat, model, fresh_tokens=[2048.0, 2049.0])
    without_launches = serve_tables(asked, tables_with(cat, {"kernels_index": 0.0})).prefill_s
    full = serve(asked, dense(cat, model)).prefill_s
    assert without_launches[0] == pytest.approx(full[0], rel=1e-12)
    assert without_launches[1] > full[1]
    assert np.all(serve(asked, cat).prefill_s > without_launches)


@pytest.mark.parametrize(("model", "knee"), [("minimax-m3", 2048.0), ("deepseek-v3.2", 2048 * ABSORBED / EXPANDED)])
def test_prefill_mean_agrees_with_a_sum_over_tokens(cat, model, knee):
    """Values met by each fresh token, added up one by one: min(t, knee) in sparse layers, t in the others."""
    arch = arch_of(cat, model)
    per_token = arch.kv_later[0]
    sparse = arch.kv_sparse[0]
    for cached, fresh in ((0, 1000), (0, 30_000), (5000, 4000), (50_000, 10)):
        t = cached + np.arange(fresh) + 0.5
        expected = np.mean(per_token * t - sparse * np.maximum(t - knee, 0.0))
        got = prefill_values(arch, np.array([float(cached)]), np.array([float(fresh)]))[0]
        assert got == pytest.approx(expected, rel=1e-4)


def test_long_prefill_is_cheaper_but_still_quadratic_in_the_indexer(cat):
    """GLM-5, attention of each chip for itself: scores of all pairs remain, so twice the tokens take more than twice the
    time, but less more than with full attention.
    """
    fresh = np.array([65_536.0, 131_072.0])
    sparse = serve(config(cat, "glm-5", dp=8, fresh_tokens=fresh), cat)
    full = serve(config(cat, "glm-5", dp=8, fresh_tokens=fresh), dense(cat, "glm-5"))
    assert np.all(sparse.prefill_s < full.prefill_s)
    assert 2.0 < sparse.prefill_s[1] / sparse.prefill_s[0] < full.prefill_s[1] / full.prefill_s[0]


@pytest.mark.parametrize(
    ("model", "heads", "layers", "dp", "groups"),
    [("glm-5", 32, 78, 1, 1), ("glm-5", 32, 78, 8, 8), ("minimax-m3", 4, 57, 1, 4), ("minimax-m3", 4, 57, 8, 8)],
)
def test_scores_of_a_prefill_by_hand(cat, constants, model, heads, layers, dp, groups):
    """A product of 128 per index head and layer for each pair of tokens. With a latent cache tensor-parallel chips all
    do the same scores and only data-parallel attention shares them; MiniMax-M3 has an index head for each KV head.
    """
    fresh = np.array([65_536.0, 131_072.0])
    asked = config(cat, model, dp=dp, fresh_tokens=fresh)
    gone = serve(asked, edited(cat, model, index_heads=1.0))  # keys and kernels stay
    scores = 2 * 0.5 * fresh**2 * layers * (heads - 1) * 128 / (groups * 2250e12 * constants.index_compute_share)
    assert serve(asked, cat).prefill_s - gone.prefill_s == pytest.approx(scores, rel=1e-6)


# Linear attention


@pytest.mark.parametrize(
    ("model", "layers", "heads", "channels"),
    [("qwen3.5-397b-a17b", 45, 64, 2 * 16 * 128 + 64 * 128), ("kimi-k3", 69, 96, 3 * 96 * 128)],
)
def test_state_bytes(cat, model, layers, heads, channels):
    """A 128 x 128 state a head in float32, and 3 of the 4 inputs of each convolved channel in bf16."""
    expected = layers * (heads * 128 * 128 * 4 + 3 * channels * 2)
    assert cat.models.at[model, "state_bytes_per_sequence"] == expected
    assert arch_of(cat, model).state_bytes[0] == expected


def test_state_of_kimi_k3_agrees_with_an_engine(cat):
    """0.75 MiB a layer and request on each of 8 chips, without the convolution."""
    assert 96 * 128 * 128 * 4 / 8 == 0.75 * 2**20
    assert cat.models.at["kimi-k3", "state_bytes_per_sequence"] / (69 * 8) == pytest.approx(0.75 * 2**20, rel=0.04)


@pytest.mark.parametrize("model", LINEAR)
def test_state_is_read_and_written_whatever_the_context(cat, constants, model):
    """The time beyond that of the growing cache is 2 x state bytes over all chips, at 1,000 and at 200,000 tokens."""
    contexts = np.array([1000.0, 200_000.0])
    asked = config(cat, model, "gb300_nvl72", n_chips=16, weight_precision=-1, batch=8, context_tokens=contexts)
    none = edited(cat, model, state_bytes_per_sequence=np.nan)
    with_state, without = serve(asked, cat), serve(asked, none)
    state = cat.models.at[model, "state_bytes_per_sequence"]
    expected = 2 * 8 * state / (16 * 8e12 * constants.kv_read_share)
    assert with_state.kv_s - without.kv_s == pytest.approx([expected, expected], rel=1e-9)


def test_verifying_drafts_moves_the_state_once(cat, constants):
    arch = arch_of(cat, "kimi-k3")
    chip = SimpleNamespace(bandwidth=8e12, bf16_flops=2e15)
    group = SimpleNamespace(attention_chips=np.array([8.0]))
    one = step.state_time(arch, chip, group, 4.0, 4.0, constants)
    four = step.state_time(arch, chip, group, 4.0, 16.0, constants)
    assert one == four == pytest.approx(2 * 4 * 449_372_160 / (8 * 8e12 * constants.kv_read_share))


def test_memory_of_a_state_does_not_grow(cat):
    """Qwen3.5 on 8 chips: 2 KV heads, so the cache lies there 4 times; the state once, and the same at any context."""
    service = serve(config(cat, "qwen3.5-397b-a17b", batch=2, context_tokens=[1000.0, 50_000.0]), cat)
    cache = 4 * 2 * np.array([1000, 50_000]) * 15_360
    assert service.kv_bytes == pytest.approx(2 * 192_061_440 + cache, rel=1e-12)


def test_largest_batch_of_a_linear_model(cat, constants):
    """What the weights leave on each of 8 chips, over an eighth of the state and half of the cache per sequence.

    At 1,000 tokens the state is 24 MB a chip and the cache 7.7 MB: leaving it out would triple the batch and more.
    """
    service = serve(config(cat, "qwen3.5-397b-a17b", batch=1, context_tokens=1000.0), cat)
    fixed = service.weights_bytes + service.activation_bytes + service.reserve_bytes
    free = (service.capacity_bytes * constants.usable_share_hbm - fixed) / 8
    each = 192_061_440 / 8 + 1000 * 15_360 / 2
    assert service.max_batch[0] == np.floor(free[0] / each)
    none = serve(config(cat, "qwen3.5-397b-a17b", batch=1, context_tokens=1000.0), edited(
        cat, "qwen3.5-397b-a17b", state_bytes_per_sequence=np.nan))  # fmt: skip
    assert none.max_batch[0] > 3 * service.max_batch[0]


def test_prefill_of_linear_layers_grows_with_tokens_only(cat, constants):
    """The state's products: linear_flop_per_state_byte x state bytes a token, on all chips; under 2 % of a prefill."""
    fresh = np.array([4096.0, 8192.0])
    asked = config(cat, "kimi-k3", hardware="b300_sxm", n_chips=16, weight_precision=-1, fresh_tokens=fresh)
    with_state = serve(asked, cat)
    without = serve(asked, edited(cat, "kimi-k3", state_bytes_per_sequence=np.nan))
    extra = with_state.prefill_s - without.prefill_s
    assert extra[1] == pytest.approx(2 * extra[0], rel=1e-6)
    assert np.all((extra > 0) & (extra < 0.02 * without.prefill_s))


# The other kinds


def test_windows_and_chunks_read_all_they_hold(cat):
    """gpt-oss-120b: 18 of 36 layers stop at 128 tokens; Llama 4 Scout: 36 of 48 layers at chunks of 8,192."""
    for model, values, full, short, window in (
        ("gpt-oss-120b", 2 * 8 * 64, 18, 18, 128), ("llama-4-scout", 2 * 8 * 128, 12, 36, 8192),
    ):  # fmt: skip
        arch = arch_of(cat, model)
        for context in (100.0, 100_000.0):
            expected = values * (full * context + short * min(context, window))
            assert read_values(arch, np.array([context]))[0] == cached_values(arch, np.array([context]))[0] == expected


def test_models_without_these_facts_have_neither_term(cat):
    concerned = cat.models.index.isin(SPARSE + LINEAR)
    arch = gather(tables(cat), np.arange(len(cat.models)))
    for values in (arch.kv_sparse, arch.sparse_tokens, arch.index_bytes, arch.index_products, arch.state_bytes):
        assert np.all(values[~concerned] == 0)
    assert np.all(arch.index_bytes[cat.models.index.isin(SPARSE)] > 0)
    assert np.all(arch.state_bytes[cat.models.index.isin(LINEAR)] > 0)


def test_a_model_does_not_depend_on_its_neighbours(cat):
    """Served together with sparse and linear models, any model gets exactly the figures it gets alone."""
    every = np.arange(len(cat.models))
    shared = {"hardware": cat.hardware.index.get_loc("b300_sxm"), "n_chips": 16, "batch": 4.0, "context_tokens": 9000.0}
    together = serve(ServingConfig(model=every, **shared), cat)
    for i in every:
        alone = serve(ServingConfig(model=i, **shared), cat)
        for name in ("tpot_s", "prefill_s", "kv_bytes", "max_batch"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[i])


def test_half_filled_sparse_facts_are_refused(cat):
    (rule,) = (right for column, _expected, right in TABLES["models"].rules if column == "sparse_tokens")
    assert rule(cat.models).all()
    assert not rule(edited(cat, "glm-5", index_heads=np.nan).models)["glm-5"]


def test_student_shrinks_index_and_state(cat):
    """An eighth of the parameters: half the layers and half the width, so half the keys and a quarter of the heads x layers."""
    for model in ("deepseek-v3.2", "kimi-k3"):
        teacher = arch_of(cat, model)
        small = student(teacher, np.array([8.0]))
        assert small.kv_sparse[0] == pytest.approx(teacher.kv_sparse[0] / 2, rel=1e-12)
        assert small.index_bytes[0] == pytest.approx(teacher.index_bytes[0] / 2, rel=1e-12)
        assert small.index_products[0] == pytest.approx(teacher.index_products[0] / 4, rel=1e-12)
        assert small.state_bytes[0] == pytest.approx(teacher.state_bytes[0] / 4, rel=1e-12)


def test_unmeasured_kind_of_attention_widens_the_band(cat):
    """No measured row is of a sparse or linear model: one unknown more than for its full-attention relative."""
    novel = serve(config(cat, "deepseek-v3.2"), cat).novel[0] - serve(config(cat, "deepseek-v3"), cat).novel[0]
    assert novel == 1


# Skew of expert parallelism


def skew(experts, chosen, ep, tokens, coverage=None):
    """(read, compute) for experts chosen independently, unless a coverage is given."""
    tokens, ep = np.atleast_1d(np.asarray(tokens, float)), np.atleast_1d(np.asarray(ep, float))
    covered = 1 - (1 - chosen / experts) ** tokens if coverage is None else np.atleast_1d(coverage)
    arch = SimpleNamespace(experts=np.array([float(experts)]), experts_per_token=np.array([float(chosen)]))
    return step.expert_skew(arch, SimpleNamespace(ep=ep), covered, tokens)


@pytest.mark.parametrize(
    ("experts", "chosen", "ep", "tolerance"),
    [(256, 8, 8, 0.09), (128, 4, 2, 0.04), (128, 4, 4, 0.08), (256, 8, 32, 0.25)],
)
def test_skew_agrees_with_a_draw_of_experts(experts, chosen, ep, tolerance):
    """The busiest of ep chips in 400 random draws; a normal law is a little low where a chip sees less than one token."""
    random = np.random.default_rng(7)
    for tokens in (1, 4, 16, 64, 256):
        busiest = []
        for _ in range(400):
            picks = random.random((tokens, experts)).argpartition(chosen, axis=1)[:, :chosen]
            load = np.bincount(picks.ravel(), minlength=experts).reshape(ep, -1)
            busiest.append(((load > 0).sum(axis=1).max(), load.sum(axis=1).max()))
        touched, sent = np.mean(busiest, axis=0)
        coverage = 1 - (1 - chosen / experts) ** tokens
        read, compute = skew(experts, chosen, ep, tokens)
        assert read[0] == pytest.approx(touched / (experts / ep * coverage), rel=tolerance)
        assert compute[0] == pytest.approx(sent / (tokens * chosen / ep), rel=tolerance)


def test_skew_is_one_without_expert_parallelism_and_rises_with_it():
    read, compute = skew(256, 8, [1, 2, 4, 8, 16, 32, 64], 16)
    assert read[0] == compute[0] == 1.0
    assert np.all(np.diff(read) > 0)
    assert np.all(np.diff(compute) > 0)


def test_skew_vanishes_with_many_tokens():
    read, compute = skew(256, 8, 8, [1, 8, 64, 512, 1e7])
    assert np.all(np.diff(compute) < 0)
    assert np.all(np.diff(read) < 0)
    assert compute[-1] < 1.001
    assert read[-1] == pytest.approx(1.0, abs=1e-9)


def test_busiest_chip_has_at_least_one_expert_and_at_most_all(cat):
    """One token of 8 experts on 64 chips: the busiest chip reads at least one of its 4, the mean chip an eighth.

    Where half of two experts a chip are touched, it cannot hold more than twice the mean.
    """
    read, compute = skew(256, 8, 64, 1)
    assert read[0] == compute[0] == 8.0
    assert skew(128, 4, 64, 1, coverage=0.5)[0][0] == 2.0
    dense_read, dense_compute = skew(1, 1, 8, [1, 64])
    assert np.all(np.isfinite(dense_read) & np.isfinite(dense_compute) & (dense_read == 1.0))


def test_skew_touches_the_experts_time_only(cat, constants):
    """DeepSeek-R1 at fp8 on 8 B200, 16 requests: the experts' read time grows by the part of the skew that is left."""
    batch = np.array([16.0])
    whole = serve(config(cat, "deepseek-r1", batch=batch, ep=1), cat)
    parallel = serve(config(cat, "deepseek-r1", batch=batch, ep=8), cat)
    arch = arch_of(cat, "deepseek-r1")
    coverage = architecture.expert_coverage(arch, batch, constants.coverage_exponent)
    read = arch.expert_params * coverage * constants.expert_fp8_factor / (8 * 7.7e12 * constants.weight_read_share)
    factor = skew(256, 8, 8, batch, coverage)[0]
    assert 1.1 < factor[0] < 1.7
    assert parallel.weights_s - whole.weights_s == pytest.approx(read * constants.expert_skew_left * (factor - 1), rel=1e-3)
    for part in ("kv_s", "overhead_s"):
        assert getattr(parallel, part) == pytest.approx(getattr(whole, part), rel=1e-2)
    assert parallel.prefill_s == pytest.approx(whole.prefill_s, rel=1e-12)
    assert parallel.kv_bytes == pytest.approx(whole.kv_bytes, rel=1e-12)


def test_unknown_model_beside_an_expert_parallel_one(cat):
    """An unknown model stays a stated reason and leaves its neighbour alone."""
    known = cat.models.index.get_loc("deepseek-r1")
    shared = {"hardware": cat.hardware.index.get_loc("b200_sxm"), "n_chips": 8, "batch": 4}
    pair = serve(ServingConfig(model=[-1, known], ep=[8, 8], **shared), cat)
    assert np.isnan(pair.tpot_s[0])
    assert pair.reason(0) != ""
    assert pair.tpot_s[1] == serve(ServingConfig(model=known, ep=8, **shared), cat).tpot_s[0]


def test_dense_model_feels_no_skew(cat):
    for model in ("llama-3.1-70b", "qwen3-32b"):
        weights = serve(config(cat, model, batch=8, ep=[1, 8]), cat).weights_s
        assert weights[0] == weights[1]
