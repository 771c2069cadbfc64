"""Roofline: FLOP and bytes of a step by hand, in step with the serving model, and which side of the ridge decode lies on."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.evaluate import evaluate
from fastmode.roofline import BATCHES, decode_moved, deployment, prefill_moved, roofs
from fastmode.serving import ServingConfig, precision_code, serve
from fastmode.serving.tables import tables

TERA = 1e12
BF16, INT4 = precision_code("bf16"), precision_code("int4")


@pytest.fixture(scope="module")
def catalog():
    return load()


def served(catalog, model, hardware, **settings):
    rows = {"model": catalog.models.index.get_loc(model), "hardware": catalog.hardware.index.get_loc(hardware)}
    return serve(ServingConfig(**rows | settings), catalog)


def evaluated(catalog, preset, **changes):
    fields = scenarios.expand_preset(preset, catalog)
    return evaluate(replace(scenarios.default(catalog), **fields | changes), catalog)


def test_a_dense_models_step_by_hand(catalog):
    # Llama 3.1 8B: 8.03 G parameters, table 128256 x 4096 = 0.525 G not read; bf16. Cache: 32 layers x 8 heads x 128 x 2 = 65536 values.
    service = served(catalog, "llama-3.1-8b", "h100_sxm", n_chips=1, batch=8.0, context_tokens=2000.0)
    moved = decode_moved(deployment(service, catalog), np.array([8.0]), np.ones(1), catalog)
    parameters = 8.03e9 - 128256 * 4096
    values = 65536 * 2000.0
    assert moved.weights_bytes == pytest.approx(2 * parameters)
    assert moved.cache_bytes == pytest.approx(8 * values * 2)
    assert moved.activation_bytes == pytest.approx(32 * 20 * 8 * 4096)
    assert moved.flop == pytest.approx(8 * (2 * parameters + 2 * values * 4))  # 4 query heads a KV head
    assert moved.intensity == pytest.approx(moved.flop / (2 * parameters + 16 * values + 32 * 20 * 8 * 4096))


@pytest.mark.parametrize(
    ("model", "hardware", "settings"),
    [
        ("llama-3.3-70b", "h100_sxm", {"n_chips": 8}),
        ("llama-3.3-70b", "h100_sxm", {"n_chips": 16, "tp": 8, "pp": 2}),
        ("kimi-k2.5", "b200_sxm", {"n_chips": 8, "dp": 8, "weight_precision": INT4}),
        ("kimi-k2.5", "b200_sxm", {"n_chips": 8, "weight_precision": INT4}),
        ("deepseek-v3.2", "b200_sxm", {"n_chips": 8, "weight_precision": INT4}),
        ("glm-4.7", "b200_sxm", {"n_chips": 8}),
        ("gpt-oss-120b", "h100_sxm", {"n_chips": 2, "weight_precision": -1}),
        ("qwen3.5-397b-a17b", "b200_sxm", {"n_chips": 8}),
    ],
)
def test_bytes_are_those_of_the_serving_model(catalog, model, hardware, settings):
    c = tables(catalog).constants
    # fp8 experts take longer to read than their bytes, so that other formats are compared
    settings = {"weight_precision": BF16} | settings
    s = served(catalog, model, hardware, batch=16.0, context_tokens=8000.0, **settings)
    assert s.status[0] == 0
    bandwidth = catalog.hardware.at[hardware, "memory_bw_tb_s"] * TERA
    chips = s.n_chips / (s.replicas * s.stages)  # the parts of a step are sums over the stages
    moved = decode_moved(deployment(s, catalog), 16.0 / s.stages, np.ones(1), catalog)
    assert s.weights_s * bandwidth * c.weight_read_share * chips == pytest.approx(moved.weights_bytes)
    assert s.kv_s * bandwidth * c.kv_read_share * chips == pytest.approx(moved.cache_bytes)


def test_prefill_reads_the_weights_once_a_chunk(catalog):
    s = served(catalog, "llama-3.1-8b", "h100_sxm", n_chips=1)
    d = deployment(s, catalog)
    parameters = 8.03e9 - 128256 * 4096
    moved = prefill_moved(d, np.array([8192.0]), np.array([1024.0]), np.array([3072.0]), catalog)
    mean = 65536 * (3072 + 512)  # cached values that a fresh token sees
    assert moved.weights_bytes == pytest.approx(2 * parameters)
    assert moved.cache_bytes == pytest.approx(8 * mean * 2)  # eight prompts in the chunk
    assert moved.flop == pytest.approx(8192 * (2 * parameters + 2 * mean * 4))


def test_drafts_raise_the_intensity_of_a_step(catalog):
    s = served(catalog, "llama-3.3-70b", "h100_sxm", n_chips=4, batch=1.0)
    d = deployment(s, catalog)
    plain, drafted = (decode_moved(d, np.ones(1), np.array([q]), catalog) for q in (1.0, 4.0))
    assert drafted.flop == pytest.approx(4 * plain.flop)
    assert drafted.weights_bytes == pytest.approx(plain.weights_bytes)


def test_roof_ridge_and_marks_of_the_founding_fast_option(catalog):
    (roof,) = roofs(evaluated(catalog, "opus-4.6-fast"))  # reference: the same part and format
    assert (roof.label, roof.reference) == ("B200", False)
    assert roof.peak_flops == 4500e12 and roof.bandwidth == pytest.approx(7.7e12)
    assert roof.ridge == pytest.approx(4500 / 7.7)
    assert roof.attainable(np.array([10.0, 1e4])) == pytest.approx([77e12, 4500e12])
    at = BATCHES.index(4.0)
    assert roof.batch == 4 and roof.own_intensity == pytest.approx(roof.intensity[at]) and roof.own_attained == pytest.approx(roof.attained[at])
    assert np.isnan(roof.attained[BATCHES.index(256.0)]) and roof.max_batch < 256
    known = np.isfinite(roof.attained)
    assert (roof.attained[known] < roof.attainable(roof.intensity[known])).all()
    assert (roof.low[known] < roof.attained[known]).all() and (roof.attained[known] < roof.high[known]).all()
    assert roof.prefill_attained < roof.attainable(roof.prefill_intensity)


def test_attention_keeps_decode_on_the_memory_side_at_long_context_only(catalog):
    options = {"hardware": "h100_sxm", "n_chips": 1, "batch_size": 1.0, "n_in": 100, "calls": 1}
    long, short = (roofs(evaluated(catalog, "llama-3.1-8b-groq", context_tokens=c, **options))[0] for c in (32000.0, 200.0))
    # Per request 2 x 7.5 G FLOP and 4 x 2 a cached value, over 65536 x 2 bytes a token and the activations.
    parameters, values, activations = 8.03e9 - 128256 * 4096, 65536 * 32000.0, 32 * 20 * 4096
    assert long.limit == pytest.approx(2 * (parameters + 4 * values) / (2 * values + activations))
    assert long.memory_bound and np.isnan(long.bound_batch) and long.limit < long.ridge
    assert short.limit > short.ridge and short.memory_bound
    # The batch at which 2 FLOP a parameter make up for the ridge: b F = ridge (W + b K).
    flop, own = 2 * (parameters + 4 * 65536 * 200), 2 * 65536 * 200 + activations
    assert short.bound_batch == pytest.approx(short.ridge * 2 * parameters / (flop - short.ridge * own), rel=2e-3)


def test_a_wafer_is_bound_by_compute_from_the_first_request(catalog):
    wafer, gpu = roofs(evaluated(catalog, "gpt-5.3-codex-spark"))
    assert (wafer.label, wafer.reference, gpu.reference) == ("WSE-3", False, True)
    assert wafer.ridge == pytest.approx(15 / 21)  # 15 PFLOP/s over 21 PB/s
    assert not wafer.memory_bound and wafer.bound_batch == 1
    assert wafer.own_attained < 0.05 * wafer.peak_flops  # fixed times, not its roof, hold it back
    # With fewer requests than stages each works on one: the same intensity, and output in proportion.
    assert wafer.intensity[:2] == pytest.approx(wafer.intensity[0]) and wafer.attained[1] == pytest.approx(4 * wafer.attained[0])


def test_what_cannot_be_served_has_no_roof(catalog):
    assert [r.reference for r in roofs(evaluated(catalog, "gpt-5.3-codex-spark", model="none"))] == [True]
    assert roofs(evaluated(catalog, "gpt-5.3-codex-spark", hardware="apple_m3_ultra", n_chips=0))[0].reference
    phone = roofs(evaluated(catalog, "llama-3.1-8b-groq", hardware="apple_m4_max", n_chips=1, batch_size=1.0))[0]
    assert phone.peak_assumed and phone.label == "M4 Max"
