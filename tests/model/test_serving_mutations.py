"""Break one formula of the serving physics at a time: a named check must turn red.

Each check is first shown to hold; then one function is replaced by a plausible mistake and the same check must fail.
"""

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.predict import predict
from fastmode.serving import PRECISIONS, ServingConfig, architecture, layout, serve, step

FP8, BF16 = PRECISIONS.index("fp8"), PRECISIONS.index("bf16")


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


def measured(cat, hardware, model, precision, engine, **ranges):
    """Measured rows of one deployment, suspects left out; `ranges` limits columns."""
    rows = cat.measured
    keep = (rows["hardware_id"] == hardware) & (rows["model_id"] == model) & (rows["engine"] == engine)
    keep &= (rows["weight_precision"] == precision) & ~rows["row_id"].isin(cat.measured_suspects["row_id"])
    for column, (low, high) in ranges.items():
        keep &= rows[column].between(low, high)
    assert keep.sum() >= 10
    return rows[keep]


def median_error(cat, rows: pd.DataFrame) -> float:
    out = predict(rows, cat)
    assert (out["status"] == "ok").all()
    return float(np.median(np.abs(out["tpot_ms"] / rows["tpot_ms"] - 1)))


def few_requests_on_a_mixture_of_experts(cat) -> bool:
    """gpt-oss-120b on B200 at up to 8 requests, measured by third parties: within 6 % in the median."""
    rows = measured(cat, "b200_sxm", "gpt-oss-120b", "mxfp4", "vllm", concurrency_or_batch=(1, 8))
    return median_error(cat, rows) < 0.06


def many_requests_on_a_mixture_of_experts(cat) -> bool:
    """Kimi K2.5 on B200 at 16 to 64 requests: within 8 % in the median."""
    rows = measured(cat, "b200_sxm", "kimi-k2.5", "nvfp4", "vllm", concurrency_or_batch=(16, 64))
    return median_error(cat, rows) < 0.08


def latent_cache_by_hand(cat) -> bool:
    """DeepSeek-R1 on 8 B200: 61 x 576 bytes a token at fp8, on each chip; read by 128 absorbed heads.

    8 sequences of 10,000 tokens: bytes 2.81e9 over 7.7e12 x 0.67; products 2 x 8e4 x 61 x 128 x (576 + 512).
    """
    c = cat.serving_constants["value"]
    service = serve(
        ServingConfig(
            model=cat.models.index.get_loc("deepseek-r1"), hardware=cat.hardware.index.get_loc("b200_sxm"), n_chips=8,
            weight_precision=FP8, batch=8, context_tokens=10_000,
        ), cat,
    )  # fmt: skip
    read = 8 * 10_000 * 61 * 576 / (7.7e12 * c["kv_read_share"])
    products = 2 * 8 * 10_000 * 61 * 128 * (576 + 512) / (8 * 2250e12 * c["attention_compute_share"])
    held = 8 * (8 * 10_000 * 61 * 576)
    return bool(
        np.isclose(service.kv_s[0], max(read, products), rtol=1e-5) and np.isclose(service.kv_bytes[0], held, rtol=1e-9)
    )


def long_prompts_of_other_requests(cat) -> bool:
    """Qwen3-32B on H100, inputs longer than outputs, 16 requests and more: within 7 % in the median."""
    rows = measured(cat, "h100_sxm", "qwen3-32b", "bf16", "vllm", concurrency_or_batch=(16, 1024))
    return median_error(cat, rows[rows["clean_grade"] == "B2"]) < 0.07


def small_model_on_eight_chips(cat) -> bool:
    """Llama 8B on 8 H100, where all-reduces are a large part of the step: within 15 % in the median."""
    rows = measured(cat, "h100_sxm", "llama-3.1-8b", "bf16", "trtllm", tp=(8, 8))
    return median_error(cat, rows) < 0.15


def all_experts(arch, tokens, exponent):
    return np.ones_like(tokens * arch.experts)


def top_k_only(arch, tokens, exponent):
    return arch.experts_per_token / arch.experts + 0 * tokens


def cache_doubled(arch, tokens):
    return 2 * original_cache(arch, tokens)


def cache_as_if_every_head_had_keys_and_values(arch, tokens):
    return 2 * arch.layers * 128 * 128 * tokens


def no_prefill_of_others(batch, output, held_s, mix):
    return 0.0 * batch * output


def no_collectives(arch, chip, placed, tokens, c):
    return 0.0 * tokens


original_cache = architecture.cached_values
COVERAGE = ((architecture, "expert_coverage"),)
CACHE = ((architecture, "cached_values"), (layout, "cached_values"))
MUTATIONS = (
    (few_requests_on_a_mixture_of_experts, COVERAGE, all_experts),
    (many_requests_on_a_mixture_of_experts, COVERAGE, top_k_only),
    (latent_cache_by_hand, CACHE, cache_doubled),
    (latent_cache_by_hand, CACHE, cache_as_if_every_head_had_keys_and_values),
    (long_prompts_of_other_requests, ((step, "others_prefill"),), no_prefill_of_others),
    (small_model_on_eight_chips, ((step, "collectives"),), no_collectives),
)


@pytest.mark.parametrize(("check", "where", "mistake"), MUTATIONS, ids=[m[2].__name__ for m in MUTATIONS])
def test_mistake_turns_the_check_red(cat, monkeypatch, check, where, mistake):
    assert check(cat), f"{check.__name__} does not hold"
    for module, name in where:
        monkeypatch.setattr(module, name, mistake)
    assert not check(cat), f"{check.__name__} does not notice {mistake.__name__}"
