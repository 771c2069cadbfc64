"""Break one formula of the serving physics at a time: a named check must turn red.

Each check is first shown to hold; then one function is replaced by a plausible mistake and the same check must fail.
Mistakes inside a longer function are made in its source text, which must hold the right text exactly once.
That speculation must not touch the error is checked where error and speed meet, in test_joint_mutations.py.
"""

import inspect
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.predict import predict
from fastmode.serving import PRECISIONS, ServingConfig, architecture, batch_fixed, layout, serve, step
from fastmode.serving import tables as catalogue_tables
from tests.model import test_serving_values as values

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
    """gpt-oss-120b at up to 8 requests, measured by third parties: within twice the drift of a deployment's level.

    The level of a deployment drifts by 9 % (tpot_drift_50), of which a fit to all of them can take nothing away;
    reading all experts is off by 90 % and more.
    """
    limit = 2 * cat.serving_constants.at["tpot_drift_50", "value"]
    rows = [
        measured(cat, part, "gpt-oss-120b", "mxfp4", "vllm", concurrency_or_batch=(1, 8))
        for part in ("b200_sxm", "h100_sxm")
    ]
    return all(median_error(cat, part) < limit for part in rows)


def many_requests_on_a_mixture_of_experts(cat) -> bool:
    """Kimi K2.5 on B200 at 16 to 64 requests: within 8 % in the median."""
    rows = measured(cat, "b200_sxm", "kimi-k2.5", "nvfp4", "vllm", concurrency_or_batch=(16, 64))
    return median_error(cat, rows) < 0.08


def latent_cache_by_hand(cat) -> bool:
    """DeepSeek-R1 on 8 B200: 61 x 576 bytes a token at fp8, on each chip; read by 128 absorbed heads.

    8 sequences of 10,000 tokens: bytes 2.81e9 over the reached bandwidth; products 2 x 8e4 x 61 x 128 x (576 + 512). With
    attention on each chip for itself the reading is shared by 8 as well, and the products take longer.
    """
    c = cat.serving_constants["value"]
    service = serve(
        ServingConfig(
            model=cat.models.index.get_loc("deepseek-r1"), hardware=cat.hardware.index.get_loc("b200_sxm"), n_chips=8,
            dp=[1, 8], weight_precision=FP8, batch=8, context_tokens=10_000,
        ), cat,
    )  # fmt: skip
    read = 8 * 10_000 * 61 * 576 / (7.7e12 * c["kv_read_share"])
    products = 2 * 8 * 10_000 * 61 * 128 * (576 + 512) / (8 * 2250e12 * c["attention_compute_share"])
    held = 8 * (8 * 10_000 * 61 * 576)
    assert read > products > read / 8
    return bool(
        np.allclose(service.kv_s, [read, products], rtol=1e-5) and np.isclose(service.kv_bytes[0], held, rtol=1e-9)
    )


def long_prompts_of_other_requests(cat) -> bool:
    """Qwen3-32B on H100, inputs longer than outputs, 16 requests and more: within 7 % in the median."""
    rows = measured(cat, "h100_sxm", "qwen3-32b", "bf16", "vllm", concurrency_or_batch=(16, 1024))
    return median_error(cat, rows[rows["clean_grade"] == "B2"]) < 0.07


def small_model_on_eight_chips(cat) -> bool:
    """Llama 8B on 8 H100, where all-reduces are a large part of the step: within 15 % in the median."""
    rows = measured(cat, "h100_sxm", "llama-3.1-8b", "bf16", "trtllm", tp=(8, 8))
    return median_error(cat, rows) < 0.15


def held_by(test, *arguments):
    """A test of another file as a check, under its own name."""

    def check(cat) -> bool:
        given = {"cat": cat, "constants": catalogue_tables.tables(cat).constants}
        try:
            test(*arguments, **{name: given[name] for name in inspect.signature(test).parameters if name in given})
        except AssertionError:
            return False
        return True

    check.__name__ = test.__name__
    return check


def altered(module, name, right, wrong):
    """`module.name` from the module's source with `right` replaced by `wrong`."""
    source = inspect.getsource(module)
    if source.count(right) != 1:
        raise ValueError(f"{right!r} must stand exactly once in {module.__name__}")
    changed = ModuleType(module.__name__)
    exec(compile(source.replace(right, wrong), f"altered {module.__name__}", "exec"), changed.__dict__)
    return getattr(changed, name)


def all_experts(arch, tokens, exponent):
    return np.ones_like(tokens * arch.experts)


def top_k_only(arch, tokens, exponent):
    return arch.experts_per_token / arch.experts + 0 * tokens


def cache_doubled(arch, tokens):
    return np.where(arch.kv_heads == 1, 2, 1) * original_cache(arch, tokens)


def cache_as_if_every_head_had_keys_and_values(arch, tokens):
    return 2 * arch.layers * 128 * 128 * tokens


def no_prefill_of_others(batch, output, held_s, mix):
    return 0.0 * batch * output


def no_collectives(arch, chip, placed, tokens, c):
    return 0.0 * tokens


def percent_for_fraction(catalog):
    """Reached share of the bandwidth taken as 83 instead of 0.83."""
    share = catalog.serving_constants.at["weight_read_share", "value"]
    return catalogue_tables.tables_with(catalog, {"weight_read_share": 100 * share})


def percent_for_fraction_of_memory(catalog):
    share = catalog.serving_constants.at["usable_share_hbm", "value"]
    return catalogue_tables.tables_with(catalog, {"usable_share_hbm": share / 100})


weights_per_request = altered(
    step, "decode", "read_shared = work.shared_bytes", "read_shared = local * work.shared_bytes"
)
weights_per_request.__name__ = "weights_per_request"
tp_for_n = altered(step, "decode", "work.expert_factor / (layout.stage_chips * rate)", "work.expert_factor / (layout.attention_chips * rate)")  # fmt: skip
tp_for_n.__name__ = "tp_for_n"
no_products_in_prefill = altered(
    step, "prefill", "np.where(fresh > 0, products + attention", "np.where(fresh > 0, attention"
)
no_products_in_prefill.__name__ = "no_products_in_prefill"
latent_products_doubled = altered(architecture, "gather", "Architecture(*table.architecture[:, model])", "replace(Architecture(*table.architecture[:, model]), decode_group=2 * table.architecture[14, model])")  # fmt: skip
latent_products_doubled.__name__ = "latent_products_doubled"

original_cache = architecture.cached_values
COVERAGE = ((architecture, "expert_coverage"),)
CACHE = ((architecture, "cached_values"), (layout, "cached_values"))
DECODE, PREFILL, TABLES = ((batch_fixed, "decode"),), ((batch_fixed, "prefill"),), ((batch_fixed, "tables"),)
MUTATIONS = (
    (many_requests_on_a_mixture_of_experts, DECODE, weights_per_request),
    (held_by(values.test_weights_are_read_once_a_step_whatever_the_batch), DECODE, weights_per_request),
    (few_requests_on_a_mixture_of_experts, COVERAGE, all_experts),
    (held_by(values.test_expert_coverage), ((values, "expert_coverage"),), all_experts),
    (many_requests_on_a_mixture_of_experts, COVERAGE, top_k_only),
    (held_by(values.test_expert_coverage), ((values, "expert_coverage"),), top_k_only),
    (held_by(values.test_llama_70b_weights_bound_the_step_on_four_h100), TABLES, percent_for_fraction),
    (held_by(values.test_memory_by_hand), TABLES, percent_for_fraction_of_memory),
    (latent_cache_by_hand, CACHE, cache_doubled),
    (latent_cache_by_hand, CACHE, cache_as_if_every_head_had_keys_and_values),
    (latent_cache_by_hand, ((architecture, "gather"),), latent_products_doubled),
    (long_prompts_of_other_requests, ((step, "others_prefill"),), no_prefill_of_others),
    (held_by(values.test_interleaved_prefill), ((step, "others_prefill"),), no_prefill_of_others),
    (held_by(values.test_prefill_time), PREFILL, no_products_in_prefill),
    (held_by(values.test_experts_are_read_by_all_chips_and_attention_by_its_group), DECODE, tp_for_n),
    (small_model_on_eight_chips, ((step, "collectives"),), no_collectives),
)


@pytest.mark.parametrize(
    ("check", "where", "mistake"), MUTATIONS, ids=[f"{m[2].__name__}-{m[0].__name__}" for m in MUTATIONS]
)
def test_mistake_turns_the_check_red(cat, monkeypatch, check, where, mistake):
    assert check(cat), f"{check.__name__} does not hold"
    for module, name in where:
        monkeypatch.setattr(module, name, mistake)
    assert not check(cat), f"{check.__name__} does not notice {mistake.__name__}"


def test_every_mistake_of_the_list_is_tried():
    """The mistakes a serving model is most often made with; one check at least must notice each."""
    tried = {mutation[2].__name__ for mutation in MUTATIONS}
    assert tried >= {
        "weights_per_request", "all_experts", "top_k_only", "percent_for_fraction", "cache_doubled", "no_prefill_of_others",
        "tp_for_n",
    }  # fmt: skip
