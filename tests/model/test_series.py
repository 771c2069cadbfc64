"""Chips in series and their links: hand-overs and idle stages by hand, in step with the claims, and the link factors of the serving model."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.claims.found import FAST, SPARK, STANDARD, Facts
from fastmode.claims.pipelines import interconnect, long_pipeline
from fastmode.claims.pipelines import series as series_claim
from fastmode.evaluate import evaluate
from fastmode.series import (
    AS_BUILT,
    RATIOS,
    SHARDS,
    STAGES,
    hand_over_range,
    link_sensitivity,
    machines,
    series,
    slowdown,
    slowdown_over_hand_over,
)
from fastmode.serving import ServingConfig, serve
from fastmode.serving.evidence import HBM, LPU, WAFER

LONE_H100 = {"hardware": "h100_sxm", "reference": "llama-3.1-8b-groq", "batch_size": 1.0}


@pytest.fixture(scope="module")
def catalog():
    return load()


def evaluated(catalog, preset=SPARK, **changes):
    fields = scenarios.expand_preset(preset, catalog)
    return evaluate(replace(scenarios.default(catalog), **fields | {"reference": STANDARD} | changes), catalog)


def constant(catalog, name):
    return float(catalog.serving_constants.at[name, "value"])


def joined(e, kind, how):
    (case,) = (c for c in link_sensitivity(e, machines(e)[0]) if c.machine.kind == kind and c.joined == how)
    return case


# --- factors of the serving model


def served(catalog, hardware, **settings):
    rows = {"model": catalog.models.index.get_loc("llama-3.3-70b"), "hardware": catalog.hardware.index.get_loc(hardware)}
    return serve(ServingConfig(**rows | {"batch": 32.0} | settings), catalog)


def test_link_factors_move_what_a_link_takes_and_nothing_else(catalog):
    s = served(catalog, "h100_sxm", n_chips=8, link_ratio=[1.0, 0.5, 1.0, 2.0], hop_ratio=[1.0, 1.0, 2.0, 1.0])
    plain = served(catalog, "h100_sxm", n_chips=8)
    assert s.tpot_s[0] == plain.tpot_s[0] and s.ttft_s[0] == plain.ttft_s[0]
    # 80 layers x 2 all-reduces of latency(8), and 32 tokens x 8192 values x 2 bytes x 2 x 7/8 twice a layer over 450 GB/s.
    latency = 80 * 2 * (constant(catalog, "all_reduce_s") + 8 * constant(catalog, "all_reduce_per_chip_s"))
    moved = 80 * 2 * 32 * 8192 * 2 * 2 * 7 / 8 / (450e9 * constant(catalog, "link_share_decode"))
    assert s.collectives_s == pytest.approx([latency + moved, latency + 2 * moved, 2 * latency + moved, latency + moved / 2])
    for name in ("weights_s", "kv_s", "compute_s", "n_chips", "max_batch"):
        assert np.ptp(getattr(s, name)) == 0


def test_link_factors_beyond_the_domain_move_the_network(catalog):
    s = served(catalog, "h100_sxm", n_chips=16, tp=16, pp=1, link_ratio=[1.0, 4.0], hop_ratio=[1.0, 3.0])
    layers, n = 80, s.tp[0]
    latency = constant(catalog, "all_reduce_s") + n * constant(catalog, "all_reduce_per_chip_s")
    latency += constant(catalog, "network_latency_s") * (n > 8)
    rate = constant(catalog, "network_bytes_per_s") if n > 8 else 450e9
    moved = 32 * 8192 * 2 * 2 * (n - 1) / n / (rate * constant(catalog, "link_share_decode"))
    assert n == 16
    assert s.collectives_s == pytest.approx([layers * 2 * (latency + moved), layers * 2 * (3 * latency + moved / 4)])


def test_a_hand_over_takes_its_factor(catalog):
    s = served(catalog, "cerebras_wse3", n_chips=20, batch=1.0, hop_ratio=[1.0, 3.0])
    assert s.stages[0] == 20
    assert np.diff(s.tpot_s) == pytest.approx(2 * 19 * constant(catalog, "hop_wafer_s"))


@pytest.mark.parametrize("name", ["link_ratio", "hop_ratio"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_a_factor_that_is_not_positive_is_refused(catalog, name, value):
    with pytest.raises(ValueError, match=name):
        served(catalog, "h100_sxm", **{name: value})


# --- chips in series


def test_machines_are_one_of_each_kind_with_both_sides_parts(catalog):
    found, reasons = machines(evaluated(catalog))
    assert [(m.kind, m.label, m.own, m.compared) for m in found] == [
        (WAFER, "WSE-3", True, False), (LPU, "Groq LPU", False, False), (HBM, "B200", False, True),
    ]  # fmt: skip
    assert not reasons
    wafer, lpu, gpu = found
    assert (wafer.chips, wafer.most, wafer.first) == (1, 92, 19)  # GLM-4.7 has 92 layers
    assert lpu.first == lpu.most == 92 and lpu.chips > 1  # a layer needs more than one of them
    assert gpu.first == 1 and gpu.chips == 8
    own = machines(evaluated(catalog, "llama-3.1-8b-groq", **LONE_H100))[0]
    assert [(m.label, m.own) for m in own] == [("H100", True), ("WSE-3", False), ("Groq LPU", False)]
    assert own[0].chips_for_batch == 1


def test_a_lone_request_pays_one_hand_over_a_stage(catalog):
    line = series(evaluated(catalog)).line(WAFER)
    hop = constant(catalog, "hop_wafer_s")
    assert np.array_equal(line.stages, np.arange(19.0, 93.0)) and np.array_equal(line.alone.stages, line.stages)
    assert np.diff(line.alone.tpot_s) == pytest.approx(np.full(73, hop))
    assert line.hops_share == pytest.approx((line.stages - 1) * hop / line.alone.tpot_s)
    assert line.idle[-1] == pytest.approx(91 / 92)
    assert hand_over_range(line.machine, catalog) == (1e-6, hop, 1e-5)


def test_gpus_in_series_keep_their_group_and_pay_hand_overs(catalog):
    line = series(evaluated(catalog, FAST)).line(HBM)
    assert line.machine.own and np.array_equal(line.alone.n_chips, 8 * line.stages) and (line.alone.tp == line.alone.tp[0]).all()
    assert np.diff(line.alone.overhead_s) == pytest.approx(np.full(60, constant(catalog, "hop_hbm_s")), rel=0.02)  # host work overlaps


def test_one_request_leaves_all_but_one_stage_idle_and_a_full_pipeline_none(catalog):
    line = series(evaluated(catalog)).line(HBM)
    ends = [0, -1]
    alone, full = line.per_chip(line.alone)[ends], line.per_chip(line.full)[ends]
    assert alone[0] == pytest.approx(full[0])  # one stage, one request
    assert alone[1] / alone[0] == pytest.approx(1 / 92, rel=0.06)
    assert 0.9 < full[1] / full[0] < 1.0
    assert line.total(line.full)[-1] == pytest.approx(full[1] * 92 * 8)


def test_full_pipelines_are_left_out_where_so_many_do_not_fit(catalog):
    line = series(evaluated(catalog)).line(WAFER)
    assert np.isnan(line.full.tpot_s[0]) and line.full.max_batch[0] < 19
    fits = line.full.max_batch >= line.stages
    assert np.array_equal(np.isfinite(line.full.tpot_s), fits) and fits[-1]
    lpu = series(evaluated(catalog)).line(LPU)
    assert lpu.full.batch[0] == 92 and lpu.full.n_chips[0] > lpu.alone.n_chips[0]


def test_agrees_with_the_claims_on_long_pipelines(catalog):
    e = evaluated(catalog)
    line = series(e).line(WAFER)
    c34, c33 = long_pipeline(Facts(catalog, "")), series_claim(Facts(catalog, ""))
    assert line.alone.tpot_s[0] / line.alone.tpot_s[-1] == pytest.approx(c34.value)
    low, value, high = slowdown(line, catalog)
    assert value == pytest.approx(1 / c34.value) and 1 < low < value < high
    # C33: the preset's batch on one layer a wafer over the fewest that hold it.
    few = machines(e)[0][0].chips_for_batch
    sizes = {n: evaluated(catalog, n_chips=n).now.service.output_tokens_per_s[0] for n in (int(few), 92)}
    assert sizes[92] / sizes[int(few)] == pytest.approx(c33.value)


@pytest.mark.parametrize(("preset", "kind", "name"), [(SPARK, WAFER, "hop_wafer_s"), (FAST, HBM, "hop_hbm_s")])
def test_slowdown_over_the_range_of_a_hand_over_is_that_of_the_model_there(catalog, preset, kind, name):
    ends = slowdown_over_hand_over(series(evaluated(catalog, preset)).line(kind), catalog)
    facts = Facts(catalog, "")
    for hop, found in zip(facts.constant_range(name)[1:], ends, strict=True):
        there = facts.with_constant(name, hop).catalog
        assert found == pytest.approx(slowdown(series(evaluated(there, preset)).line(kind), there)[1], rel=1e-3)


# --- links


def test_bandwidth_and_latency_of_shared_layers(catalog):
    case = joined(evaluated(catalog, FAST), HBM, SHARDS)
    s = case.as_built
    assert s.n_chips[0] == 8 and s.stages[0] == 1
    assert case.by_bandwidth[:, AS_BUILT] == pytest.approx(1) and case.by_latency[:, AS_BUILT] == pytest.approx(1)
    layers = 61 * 2 * (constant(catalog, "all_reduce_s") + 8 * constant(catalog, "all_reduce_per_chip_s"))
    twice = case.by_latency[1, AS_BUILT + 2] - 1
    assert RATIOS[AS_BUILT + 2] == 2 and twice == pytest.approx(layers / s.tpot_s[0], rel=0.02)  # host work overlaps
    assert (np.diff(case.by_bandwidth[1]) < 0).all() and (np.diff(case.by_latency[1]) > 0).all()
    assert (case.by_latency[0] <= case.by_latency[1]).all() and (case.by_latency[1] <= case.by_latency[2]).all()


def test_links_share_is_the_claims(catalog):
    assert 100 * joined(evaluated(catalog, FAST), HBM, SHARDS).linked_share == pytest.approx(interconnect(Facts(catalog, "")).value, rel=1e-3)


def test_series_hang_on_latency_alone(catalog):
    e = evaluated(catalog)
    wafers, gpus = joined(e, WAFER, STAGES), joined(e, HBM, STAGES)
    assert wafers.as_built.n_chips[0] == e.now.service.n_chips[0] == 23
    assert wafers.as_built.tpot_s[0] == pytest.approx(e.now.service.tpot_s[0])
    assert wafers.by_bandwidth[1] == pytest.approx(np.ones(len(RATIOS)))
    hop = constant(catalog, "hop_wafer_s")
    assert wafers.by_latency[1] == pytest.approx(1 + (RATIOS - 1) * 22 * hop / wafers.as_built.tpot_s[0])
    assert wafers.linked_share == pytest.approx(22 * hop / wafers.as_built.tpot_s[0])
    # One request a stage hands over 5120 values of two bytes; 150 GB/s both ways.
    assert wafers.moved_s == pytest.approx(5120 * 2 / 75e9)
    assert gpus.as_built.n_chips[0] == 8 and gpus.as_built.stages[0] == 8 and gpus.moved_s == pytest.approx(16 / 8 * 5120 * 2 / 900e9)


def test_one_chip_that_holds_it_all_is_joined_as_a_server(catalog):
    e = evaluated(catalog, "llama-3.1-8b-groq", **LONE_H100)
    case = joined(e, HBM, SHARDS)
    assert case.as_built.n_chips[0] == case.as_built.tp[0] == 8


def test_what_cannot_be_served_is_left_out(catalog):
    e = evaluated(catalog, model="none")
    found = series(e)
    assert found.lines == [] and set(found.reasons) == {"WSE-3", "Groq LPU", "B200"} and found.line(WAFER) is None
    assert link_sensitivity(e, machines(e)[0]) == []
