"""What holds for every configuration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmode import catalog
from fastmode.serving import ServingConfig, serve
from fastmode.serving.architecture import gather
from fastmode.serving.tables import tables

CATALOG = catalog.load()
PARTS = ("weights_s", "kv_s", "compute_s", "collectives_s", "overhead_s", "others_prefill_s")
models = st.integers(0, len(CATALOG.models) - 1)
parts = st.integers(0, len(CATALOG.hardware) - 1)
chips = st.sampled_from([0, 1, 2, 4, 8, 16, 64, 700])
tokens = st.floats(1, 60_000)


@settings(max_examples=60, deadline=None)
@given(models, parts, chips, st.floats(1, 500), tokens, tokens, st.integers(-1, 5), st.integers(0, 8))
def test_parts_add_up(model, hardware, n, batch, context, output, curve, draft):
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch, context_tokens=context,
                      output_tokens=output, speculation=curve, draft_tokens=draft), CATALOG,
    )  # fmt: skip
    total = sum(getattr(service, part)[0] for part in PARTS)
    if service.status[0] == 0:
        assert total == pytest.approx(service.tpot_s[0], rel=1e-12)
        assert all(getattr(service, part)[0] >= 0 for part in PARTS)
        memory = service.weights_bytes + service.kv_bytes + service.activation_bytes + service.reserve_bytes
        assert memory[0] <= service.capacity_bytes[0]
    else:
        assert np.isnan(total) and service.reason(0) != "ok"


@settings(max_examples=60, deadline=None)
@given(models, parts, st.sampled_from([1, 4, 8, 64, 700]), tokens)
def test_speed_does_not_rise_with_the_batch(model, hardware, n, context):
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=[1, 2, 5, 20, 100, 400],
                      context_tokens=context), CATALOG,
    )  # fmt: skip
    speed = service.tokens_per_s_per_user[service.status == 0]
    assert np.all(np.diff(speed) <= 1e-9 * speed[:-1])


@settings(max_examples=60, deadline=None)
@given(models, parts, st.sampled_from([1, 2, 4, 8]), st.floats(1, 300), tokens)
def test_no_step_beats_the_bytes_it_reads(model, hardware, n, batch, context):
    """The weights one token needs, at the bytes of the precision used, over all chips at their full bandwidth."""
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch, context_tokens=context), CATALOG
    )
    row = CATALOG.hardware.iloc[hardware]
    if service.status[0] == 0 and row["memory_kind"] != "SRAM":
        a = gather(tables(CATALOG), np.array([model]))
        active = a.attention_params + a.ffn_params + a.head_params + a.expert_params * a.experts_per_token / a.experts
        bytes_read = active * tables(CATALOG).bytes_per_value[service.weight_precision]
        assert service.step_s[0] > bytes_read[0] / (n * row["memory_bw_tb_s"] * 1e12)


@settings(max_examples=40, deadline=None)
@given(models, parts, st.sampled_from([4, 8, 64, 700]), st.floats(1, 300))
def test_energy_stays_below_tdp(model, hardware, n, batch):
    service = serve(ServingConfig(model=model, hardware=hardware, n_chips=n, batch=batch), CATALOG)
    tdp = CATALOG.hardware["tdp_w"].iloc[hardware]
    if service.status[0] == 0 and np.isfinite(tdp):
        watts = service.energy_j_per_token[0] * service.output_tokens_per_s[0]
        assert watts <= n * tdp * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(models, parts, st.floats(1, 200), tokens)
def test_an_automatic_chip_count_fits(model, hardware, batch, context):
    """The fewest chips that fit do fit, and answering takes no more of them than stated."""
    service = serve(
        ServingConfig(model=model, hardware=hardware, n_chips=0, batch=batch, context_tokens=context), CATALOG
    )
    if service.status[0] == 0:
        assert service.n_chips[0] == service.fewest_chips[0]
        assert service.max_batch[0] >= np.floor(batch)
    else:
        assert "does not fit" not in service.reason(0) or "any number" in service.reason(0)


def test_one_call_equals_many():
    """Broadcasting changes nothing: 300 configurations in one call and one by one."""
    rng = np.random.default_rng(1)
    columns = {
        "model": rng.integers(-1, len(CATALOG.models), 300), "hardware": rng.integers(-1, len(CATALOG.hardware), 300),
        "n_chips": rng.choice([0, 8], 300), "batch": rng.integers(1, 80, 300).astype(float),
        "size_ratio": rng.choice([1.0, 3.0], 300), "speculation": rng.integers(-1, 4, 300),
        "draft_tokens": rng.integers(0, 5, 300),
    }  # fmt: skip
    together = serve(ServingConfig(**columns), CATALOG)
    for i in range(0, 300, 7):
        alone = serve(ServingConfig(**{name: values[i] for name, values in columns.items()}), CATALOG)
        assert alone.status[0] == together.status[i]
        assert alone.tpot_s[0] == pytest.approx(together.tpot_s[i], rel=1e-12, nan_ok=True)
        assert alone.ttft_s[0] == pytest.approx(together.ttft_s[i], rel=1e-12, nan_ok=True)
