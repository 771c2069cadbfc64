"""Tiers of memory: figures of the data, times to read them, and how many chips the scenario's model takes."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.evaluate import evaluate
from fastmode.memory_tiers import memory_tiers
from fastmode.parts import parts_of


@pytest.fixture(scope="module")
def catalog():
    return load()


def evaluated(catalog, preset="gpt-5.3-codex-spark", **changes):
    fields = scenarios.expand_preset(preset, catalog)
    return evaluate(replace(scenarios.default(catalog), **fields | changes), catalog)


def of(tiers, label, name):
    return getattr(tiers, name)[tiers.labels.index(label)]


def test_memory_bandwidth_and_time_to_read_it_once(catalog):
    t = memory_tiers(evaluated(catalog))
    assert of(t, "H100", "memory_bytes") == 80e9 and of(t, "H100", "bandwidth") == pytest.approx(3.35e12)
    assert of(t, "H100", "read_once_s") == pytest.approx(80 / 3350)
    assert of(t, "WSE-3", "read_once_s") == pytest.approx(44e9 / 21e15)
    assert of(t, "H100", "cache_bytes") == 50e6 and of(t, "H100", "cache_bandwidth") == pytest.approx(5.5e12)
    assert np.isnan(of(t, "WSE-3", "cache_bytes"))  # its SRAM is its memory


def test_sides_are_marked_and_announced_parts_hidden(catalog):
    e = evaluated(catalog)
    shown, everything = memory_tiers(e), memory_tiers(e, all_hardware=True)
    assert len(everything.labels) == len(catalog.hardware) == 32
    assert len(shown.labels) == int(catalog.hardware["shown"].sum()) and shown.on_sale.all()
    assert "Rubin" in everything.labels and "Rubin" not in shown.labels
    assert [t for t, own in zip(shown.labels, shown.own, strict=True) if own] == ["WSE-3"]
    assert [t for t, other in zip(shown.labels, shown.compared, strict=True) if other] == ["B200"]
    same = memory_tiers(evaluated(catalog, "opus-4.6-fast"))
    assert same.own.sum() == 1 and not same.compared.any()
    own = memory_tiers(evaluated(catalog, hardware="rubin_vr200"))
    assert of(own, "Rubin", "own") and not of(own, "Rubin", "on_sale")


def test_chips_are_those_of_all_parts_table(catalog):
    e = evaluated(catalog)
    t, found = memory_tiers(e, all_hardware=True), parts_of(e)
    assert np.array_equal(t.chips, found.service.n_chips, equal_nan=True)
    # GLM-4.7 in bf16: 355 G parameters x 2 bytes = 710 GB, and the cache of 16 requests.
    assert of(t, "WSE-3", "chips") == e.now.service.n_chips[0]
    assert t.needed_bytes == pytest.approx(float(e.now.service.weights_bytes[0] + e.now.service.kv_bytes[0]))
    assert t.needed_bytes > 710e9 and not t.one_chip.any()


def test_a_small_model_fits_on_one_chip_where_its_bytes_do(catalog):
    # Llama 3.1 8B in bf16 is 16 GB: not on a TPU v5e of 16 GB, on every larger main memory.
    t = memory_tiers(evaluated(catalog, "llama-3.1-8b-groq", batch_size=1.0, context_tokens=1000.0, n_in=1000, calls=10))
    main = t.memory_bytes > 30e9
    wafer = t.labels.index("WSE-3")
    assert t.one_chip[main].all() and t.one_chip[wafer]
    assert not of(t, "TPU v5e", "one_chip") and not of(t, "Groq LPU", "one_chip")
    assert t.batch == 1


def test_own_chips_are_as_set_and_a_reason_stands_where_none_fit(catalog):
    t = memory_tiers(evaluated(catalog, n_chips=30), all_hardware=True)
    assert of(t, "WSE-3", "chips") == 30
    i = t.labels.index("M3 Ultra")
    assert np.isnan(t.chips[i]) and "cannot be linked" in t.reasons[i]
    assert t.reasons[t.labels.index("B200")] == ""


def test_traffic_takes_the_requests_that_a_user_meets(catalog):
    e = evaluated(catalog, "opus-4.6", load="traffic", requests_per_s=0.5)
    t = memory_tiers(e)
    assert t.batch == pytest.approx(float(e.now.service.batch[0])) and 1 < t.batch < 64
    assert of(t, "B200", "chips") == 8
