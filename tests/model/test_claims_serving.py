"""Claims decided by stored parts and by the serving model: each value derived again from the rows, and that a changed fact moves it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fastmode import link
from fastmode.catalog import load
from fastmode.claims import CONTRADICTED, PARTLY, SUPPORTED, VERDICTS, claims_table
from fastmode.claims.batches import measured_steps
from fastmode.claims.found import Facts, agreed, parts
from fastmode.evaluate import evaluate
from fastmode.scenario import default as default_scenario
from fastmode.scenario import expand_preset
from fastmode.serving import PRECISIONS, ServingConfig, accept_curves, serve_automatic
from fastmode.serving.bands import half_width
from fastmode.serving.tables import tables

HERE = (
    "C06 C07 C08 C12 C14 C21 C22 C23 C24 C25 C26 C27 C30 C32 C33 C34 C35 C36 C37 C43 C44 C46 C51 C52 C54 C55 C77"
).split()
COLUMNS = ["verdict", "kind", "value", "low", "high"]
WAFER, GROQ, B200 = "cerebras_wse3", "groq_lpu_v1", "b200_sxm"
MEASURED_ON_WAFERS = {
    "glm-4.7": "glm-4.7-cerebras",
    "gpt-oss-120b": "gpt-oss-120b-cerebras",
    "llama-4-maverick": "llama-4-maverick-cerebras",
    "kimi-k2.6": "kimi-k2.6-cerebras",
}


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def shipped():
    return claims_table().set_index("id")


def changed(table, key, base=None, **cells):
    """A catalogue with some cells of one row, or of several, changed."""
    catalog = base or load()
    frame = getattr(catalog, table).copy()
    for column, value in cells.items():
        frame.loc[key, column] = value
    return replace(catalog, **{table: frame})


def scaled(table, key, factor, *columns, base=None):
    frame = getattr(base or load(), table)
    return changed(table, key, base, **{column: frame.loc[key, column] * factor for column in columns})


def verdicts(catalog):
    return claims_table(catalog).set_index("id")


def moved(before, after):
    same = (before[COLUMNS] == after[COLUMNS]) | (before[COLUMNS].isna() & after[COLUMNS].isna())
    return list(before.index[~same.all(axis=1)])


def served(catalog, model, hardware, batch, n_chips=0, precision="bf16", **more):
    """The serving model with the default task, written out: 20 calls of 5 700 fresh tokens and 400 answered ones at 32 000."""
    default = catalog.assumptions["default"]
    calls = float(default["calls"])
    fresh, context = float(default["n_in"]) / calls, float(default["context_tokens"])
    config = ServingConfig(
        model=catalog.models.index.get_loc(model),
        hardware=catalog.hardware.index.get_loc(hardware),
        n_chips=n_chips,
        batch=batch,
        weight_precision=PRECISIONS.index(precision),
        context_tokens=context,
        fresh_tokens=fresh,
        cached_tokens=context - fresh,
        output_tokens=float(default["n_out"]) / calls,
        **more,
    )
    return serve_automatic(config, catalog)


def opus(catalog, batch, model="kimi-k2", **more):
    return served(catalog, model, B200, batch, 8, "fp8", **more)


def test_every_figure_is_finite_and_inside_its_range(shipped):
    assert set(HERE) <= set(VERDICTS)
    rows = shipped.loc[HERE]
    assert np.isfinite(rows["value"]).all()
    ranged = rows.dropna(subset=["low", "high"])
    assert (ranged["low"] <= ranged["value"] + 1e-9).all() and (ranged["value"] <= ranged["high"] + 1e-9).all()
    assert rows["basis"].str.len().between(40, 420).all() and rows["unit"].str.len().gt(0).all()
    assert set(rows["verdict"]) <= {SUPPORTED, PARTLY, CONTRADICTED}


def test_model_and_data_are_told_apart(shipped):
    data = ["C21", "C22", "C23", "C24", "C25", "C51", "C54", "C55"]
    assert [claim for claim in HERE if shipped.loc[claim, "kind"] == "data"] == data


def test_links_open_the_option_and_the_state(shipped):
    expected = {
        "C06": ("opus-4.6", {}),
        "C12": ("opus-4.6", {"batch_size": 4}),
        "C27": ("gpt-5.3-codex", {"hardware": WAFER, "n_chips": 0, "batch_size": 1}),
        "C34": ("gpt-5.3-codex-spark", {"batch_size": 1, "n_chips": 92}),
        "C43": ("opus-4.6", {"hardware": "gb200_nvl72"}),
    }
    for claim, (preset, fields) in expected.items():
        scenario, ignored = link.from_query(shipped.loc[claim, "link"])
        assert ignored == [] and scenario.preset == preset
        assert {name: getattr(scenario, name) for name in fields} == fields
    assert shipped.loc["C06", "link"].startswith("/trade_offs?")


# --- which claims rest on a fact


@pytest.mark.parametrize(
    ("table", "key", "factor", "column", "claims"),
    [
        ("hardware", "h100_sxm", 0.5, "memory_bw_tb_s", ["C43", "C54", "C80"]),
        ("hardware", "h100_sxm", 2, "die_area_mm2", ["C21"]),
        ("hardware", "h100_sxm", 4, "onchip_sram_mb", ["C23"]),
        ("hardware", WAFER, 2, "system_power_w_per_chip", ["C36", "C51", "C52"]),
        ("hardware", WAFER, 2, "interconnect_gb_s_per_chip", ["C25"]),
        ("endpoints", "kimi-k2.6-cerebras", 0.5, "output_tok_s", ["C25"]),
        ("endpoints", "opus-4.6-fast", 0.6, "speed_multiplier_vs_standard", ["C01", "C43", "C44"]),
        ("endpoints", "gpt-5.3-codex-spark", 1.5, "output_tok_s", ["C15", "C16", "C17", "C28", "C31", "C50", "C57", "C64", "C79"]),
    ],
)
def test_a_changed_fact_moves_exactly_what_rests_on_it(shipped, table, key, factor, column, claims):
    assert moved(shipped, verdicts(scaled(table, key, factor, column))) == claims


def test_the_wafer_memory_moves_what_is_held_on_wafers_and_nothing_else(shipped):
    after = verdicts(scaled("hardware", WAFER, 2, "memory_gb"))
    touched = set(moved(shipped, after))
    assert {"C22", "C24", "C25", "C27", "C30", "C32", "C33", "C34", "C51", "C55", "C77"} <= touched
    assert touched <= {
        "C22",
        "C24",
        "C25",
        "C27",
        "C29",
        "C30",
        "C32",
        "C33",
        "C34",
        "C35",
        "C36",
        "C50",
        "C51",
        "C52",
        "C54",
        "C55",
        "C77",
    }


# --- rules


def test_a_part_that_its_band_does_not_decide_makes_the_verdict_partly():
    assert [parts(True, True), parts(True, False), parts(False, False)] == [SUPPORTED, PARTLY, CONTRADICTED]
    assert [parts(None), parts(True, None), parts(False, None)] == [PARTLY] * 3


def test_a_verdict_over_a_range_is_the_one_that_all_of_it_shares():
    assert [agreed(v, v, v) for v in (SUPPORTED, PARTLY, CONTRADICTED)] == [SUPPORTED, PARTLY, CONTRADICTED]
    assert agreed(SUPPORTED, SUPPORTED, CONTRADICTED) == agreed(SUPPORTED, PARTLY) == PARTLY


# --- single parts


def test_c21_square_inches(shipped):
    assert shipped.loc["C21", "value"] == pytest.approx(46225 / 645.16)
    assert shipped.loc["C21", "verdict"] == SUPPORTED and "1.26" in shipped.loc["C21", "basis"]
    twice = verdicts(scaled("hardware", WAFER, 2, "die_area_mm2")).loc["C21"]
    assert (twice["value"], twice["verdict"]) == (pytest.approx(2 * 46225 / 645.16), PARTLY)
    both = scaled("hardware", [WAFER, "h100_sxm"], 2, "die_area_mm2")
    assert verdicts(both).loc["C21", "verdict"] == CONTRADICTED


def test_c22_memory_of_the_newest_wafer(shipped, catalog):
    assert (shipped.loc["C22", "value"], shipped.loc["C22", "verdict"]) == (44.0, SUPPORTED)
    newer = (
        catalog.hardware.loc[[WAFER]].rename(index={WAFER: "wse4"}).assign(memory_gb=60.0, release_date="2027-01-01")
    )
    row = verdicts(replace(catalog, hardware=pd.concat([catalog.hardware, newer]))).loc["C22"]
    assert (row["value"], row["verdict"]) == (60.0, CONTRADICTED)
    estimate = changed("hardware", WAFER, basis="community_estimate")
    assert verdicts(estimate).loc["C22", "verdict"] == PARTLY


def test_c23_gpu_sram(shipped, catalog):
    assert list(shipped.loc["C23", ["value", "low", "high"]]) == [50.0, 40.0, 256.0]
    assert shipped.loc["C23", "verdict"] == PARTLY
    assert verdicts(changed("hardware", "h100_sxm", onchip_sram_mb=250.0)).loc["C23", "verdict"] == CONTRADICTED
    gpus = catalog.hardware.index[catalog.hardware["vendor"].isin(["NVIDIA", "AMD"])]
    firm = changed("hardware", gpus, basis="vendor_spec", onchip_sram_mb=60.0)
    row = verdicts(firm).loc["C23"]
    assert (row["value"], row["low"], row["high"], row["verdict"]) == (60.0, 60.0, 60.0, SUPPORTED)


def test_c24_parameters_on_a_wafer(shipped):
    row = shipped.loc["C24"]
    assert (row["value"], row["high"], row["verdict"]) == (44 / 2, 44 / 2, SUPPORTED)
    doubled = verdicts(changed("hardware", WAFER, memory_gb=88.0)).loc["C24"]
    assert (doubled["value"], doubled["low"], doubled["verdict"]) == (2 * row["value"], 2 * row["low"], CONTRADICTED)
    less = verdicts(changed("serving_constants", "usable_share_sram", value=0.7)).loc["C24"]
    assert (less["value"], less["low"]) == (22.0, pytest.approx(0.7 * 22))


def test_c43_bandwidth_of_the_newer_gpu(shipped, catalog):
    row = shipped.loc["C43"]
    assert row["value"] == pytest.approx(8.0 / 3.35) and row["verdict"] == PARTLY
    fewest = max(served(catalog, "kimi-k2", part, 64.0, 0, "fp8").n_chips[0] for part in ("h100_sxm", "gb200_nvl72"))
    old, new = (
        served(catalog, "kimi-k2", part, 64.0, fewest, "fp8").tokens_per_s_per_user[0]
        for part in ("h100_sxm", "gb200_nvl72")
    )
    assert row["low"] == pytest.approx(new / old) and row["high"] == row["value"]
    halved = verdicts(scaled("hardware", "h100_sxm", 0.5, "memory_bw_tb_s")).loc["C43"]
    assert halved["value"] == pytest.approx(4.776, abs=1e-3) and halved["verdict"] == CONTRADICTED
    assert halved["low"] > row["low"]
    slower_claim = changed("endpoints", "opus-4.6-fast", speed_multiplier_vs_standard=row["low"])
    assert verdicts(slower_claim).loc["C43", "verdict"] == SUPPORTED


def test_c51_megawatts(shipped):
    row = shipped.loc["C51"]
    # 5, 6 and 7 TB on 44 GB: 113.6, 136.4 and 159.1 wafers, of 23 kW each.
    assert list(row[["low", "value", "high"]]) == pytest.approx([114 * 0.023, 137 * 0.023, 160 * 0.023])
    assert row["verdict"] == SUPPORTED
    # The published figure is a size, ours a power: the basis names the unit of each.
    assert (row["published"], row["unit"]) == ("5-7", "MW")
    assert "the size of the model, 5 to 7 TB" in row["basis"] and "power in MW" in row["basis"]
    doubled = verdicts(changed("hardware", WAFER, system_power_w_per_chip=46000.0)).loc["C51"]
    assert list(doubled[["low", "value", "high"]]) == pytest.approx(
        list(2 * row[["low", "value", "high"]].astype(float))
    )
    for watts, verdict in ((15000.0, PARTLY), (5000.0, CONTRADICTED)):
        assert verdicts(changed("hardware", WAFER, system_power_w_per_chip=watts)).loc["C51", "verdict"] == verdict


def test_c54_memory_tiers(shipped, catalog):
    row = shipped.loc["C54"]
    # All three parts hold, but every purchase price is an estimate, and so is the row of Groq's chip.
    assert (row["value"], row["verdict"]) == (pytest.approx(21000 / 3.35), PARTLY)
    assert (row["low"], row["high"]) == (pytest.approx(80 / 8.0), pytest.approx(21000 / 0.819))
    assert "Measured or stated by the vendor: 0 of 14 prices" in row["basis"]
    shown = catalog.hardware.index[catalog.hardware["shown"] == 1]
    parts_firm = changed("hardware", shown, basis="vendor_spec")
    prices_firm = {"table": "hardware_prices", "key": catalog.hardware_prices.index, "basis": "vendor_spec"}
    assert verdicts(parts_firm).loc["C54", "verdict"] == PARTLY
    assert verdicts(changed(**prices_firm)).loc["C54", "verdict"] == PARTLY
    assert verdicts(changed(**prices_firm, base=parts_firm)).loc["C54", "verdict"] == SUPPORTED
    assert verdicts(scaled("hardware", WAFER, 0.5, "memory_bw_tb_s")).loc["C54", "value"] == row["value"] / 2
    wafers = catalog.hardware_prices.index[catalog.hardware_prices["hardware_id"] == WAFER]
    cheap = scaled("hardware_prices", wafers, 0.01, "purchase_usd_per_chip")
    assert verdicts(cheap).loc["C54", "verdict"] == PARTLY
    slow = changed("hardware", WAFER, memory_bw_tb_s=1.0, memory_gb=500.0, base=cheap)
    assert verdicts(slow).loc["C54", "verdict"] == CONTRADICTED


def test_c55_external_and_internal_memory(shipped):
    assert (shipped.loc["C55", "value"], shipped.loc["C55", "verdict"]) == (pytest.approx(80 / 44), SUPPORTED)
    large = verdicts(changed("hardware", "h100_sxm", memory_gb=160.0)).loc["C55"]
    assert (large["value"], large["verdict"]) == (pytest.approx(160 / 44), PARTLY)
    assert verdicts(changed("hardware", WAFER, onchip_sram_mb=500.0)).loc["C55", "verdict"] == PARTLY


# --- batch, prompt, speculation


def test_c06_the_price_of_speed(shipped, catalog):
    batch = np.arange(1.0, 65.0)
    s = opus(catalog, batch)
    speed = s.tokens_per_s_per_user / s.tokens_per_s_per_user[-1]
    cost = s.decode_tokens_per_s[-1] / s.decode_tokens_per_s
    last = np.flatnonzero(speed >= 2.5)[-1]  # the largest batch that is still fast enough
    part = (speed[last] - 2.5) / (speed[last] - speed[last + 1])
    row = shipped.loc["C06"]
    assert row["value"] == pytest.approx(cost[last] + part * (cost[last + 1] - cost[last]))
    assert row["verdict"] == PARTLY and "15x" in row["basis"]
    # The provider's cost per output token holds the prefill, as the evaluation has it.
    base = default_scenario(catalog)
    settings = expand_preset("opus-4.6", catalog) | {"reference": "opus-4.6", "batch_size": batch}
    dollars = evaluate(replace(base, **settings), catalog).now.provider_usd_per_mtok[1]
    whole = dollars / dollars[-1]
    reached = whole[last] + part * (whole[last + 1] - whole[last])
    # Prefill is the same at either batch, so the whole cost rises by less than that of decoding.
    assert 1 < reached < row["value"]
    assert f"prefill included: {reached:.2f}x" in row["basis"]
    # (2.5 - 1)/(2.5 x 6 - 1)
    assert f"{100 * 1.5 / 14:.1f} %" in row["basis"]


def test_c06_follows_the_claim_and_the_batch(shipped):
    value = shipped.loc["C06", "value"]
    agreed = changed("claims", "C06", quantity=f"{value:.2f}x / 2.5x")
    assert verdicts(agreed).loc["C06", "verdict"] == SUPPORTED
    slower = verdicts(changed("claims", "C06", quantity="6x / 1.5x")).loc["C06"]
    assert slower["value"] < value
    out_of_reach = verdicts(changed("presets", "opus-4.6", batch_size=2.0)).loc["C06"]
    assert out_of_reach["verdict"] == CONTRADICTED and math.isnan(out_of_reach["value"])


def test_c07_memory_or_compute(shipped, catalog):
    batch = np.arange(1.0, 65.0)
    s = opus(catalog, batch)
    share = 100 * (1 - opus(changed("hardware", B200, memory_bw_tb_s=np.inf), batch).tpot_s / s.tpot_s)
    # Never more than the reads themselves: what they hide does not go away with them.
    assert (share <= 100 * (s.weights_s + s.kv_s + s.overhead_s) / s.tpot_s).all()
    row = shipped.loc["C07"]
    assert list(row[["value", "low", "high"]]) == pytest.approx([share[-1], share.min(), share.max()])
    assert row["verdict"] == PARTLY
    quick = verdicts(scaled("hardware", B200, 100, "memory_bw_tb_s")).loc["C07"]
    assert quick["value"] < row["value"] and quick["verdict"] == CONTRADICTED
    slow = verdicts(scaled("hardware", B200, 0.02, "memory_bw_tb_s")).loc["C07"]
    assert slow["value"] > row["value"] and slow["verdict"] == SUPPORTED


def test_c08_the_copy_of_the_prompt(shipped, catalog):
    # 32 000 numbers of 4 bytes (163 840 words need 18 bits) over 32 GB/s one way.
    first_s = opus(catalog, 64.0).ttft_s[0]
    row = shipped.loc["C08"]
    assert row["value"] == pytest.approx(100 * (32000 * 4 / 32e9) / first_s)
    assert row["verdict"] == CONTRADICTED
    half = verdicts(changed("hardware", "l40s", interconnect_gb_s_per_chip=32.0)).loc["C08"]
    assert half["value"] == pytest.approx(2 * row["value"])
    # A link as slow as 0.5 MB/s would make the copy the main wait.
    crawling = verdicts(changed("hardware", "l40s", interconnect_gb_s_per_chip=1e-4)).loc["C08"]
    assert crawling["verdict"] == SUPPORTED and crawling["value"] > 100 * 0.5


def test_c12_throughput_of_small_batches(shipped, catalog):
    small, large = opus(catalog, 4.0), opus(catalog, 64.0)
    row = shipped.loc["C12"]
    assert row["value"] == pytest.approx(small.output_tokens_per_s[0] / large.output_tokens_per_s[0])
    assert row["verdict"] == SUPPORTED and row["high"] < 1
    larger = verdicts(changed("presets", "opus-4.6-fast", batch_size=16.0)).loc["C12"]
    assert row["value"] < larger["value"] < 1
    backwards = catalog.measured.assign(concurrency_or_batch=1.0 / catalog.measured["concurrency_or_batch"])
    assert verdicts(replace(catalog, measured=backwards)).loc["C12", "verdict"] == PARTLY


def test_measured_pairs_differ_in_concurrency_alone(catalog):
    one = catalog.measured.dropna(subset=["output_tok_s_per_chip"]).iloc[[0]]
    rows = pd.concat([one] * 5, ignore_index=True)
    rows["concurrency_or_batch"] = [16.0, 1.0, 4.0, 1.0, 2.0]
    rows["output_tok_s_per_chip"] = [90.0, 10.0, 40.0, 30.0, 5.0]
    rows.loc[4, "engine"] = "another"  # alone in its setting: no pair
    # Two rows at 1 count as their median 20; then 40 at 4 and 90 at 16.
    assert measured_steps(Facts(replace(catalog, measured=rows), ""), "output_tok_s_per_chip") == (2, 0)
    rows["output_tok_s_per_chip"] = [30.0, 10.0, 40.0, 30.0, 5.0]
    assert measured_steps(Facts(replace(catalog, measured=rows), ""), "output_tok_s_per_chip") == (1, 1)


def test_c14_where_the_saved_time_lies(shipped, catalog):
    small, large = opus(catalog, 4.0), opus(catalog, 64.0)
    first = large.ttft_s[0] - small.ttft_s[0]
    later = 400 * (large.tpot_s[0] - small.tpot_s[0])
    row = shipped.loc["C14"]
    assert row["value"] == pytest.approx(100 * later / (first + later))
    assert row["verdict"] == SUPPORTED
    short = verdicts(changed("assumptions", "n_out", default="80")).loc["C14"]  # four tokens a call
    assert short["value"] < row["value"] and short["verdict"] == PARTLY


def test_c44_speculation_alone(shipped, catalog):
    curves, drafts = np.arange(len(accept_curves(catalog))), np.arange(1, 9)
    plain = opus(catalog, 64.0).tokens_per_s_per_user[0]
    pairs = np.array([(c, d) for c in curves for d in drafts])
    fast = opus(catalog, 64.0, speculation=pairs[:, 0], draft_tokens=pairs[:, 1]).tokens_per_s_per_user
    best = fast.reshape(len(curves), len(drafts)).max(axis=1) / plain
    row = shipped.loc["C44"]
    assert list(row[["low", "value", "high"]]) == pytest.approx([best.min(), best.max(), best.max()])
    assert row["verdict"] == PARTLY
    accepted = catalog.accept_length
    better = replace(catalog, accept_length=accepted.assign(mean_accept_length=10 * accepted["mean_accept_length"]))
    enough = verdicts(better).loc["C44"]
    assert row["value"] < enough["value"] < 10 * row["value"] and enough["verdict"] == CONTRADICTED
    in_use = changed("endpoints", "opus-4.6", mode="speculative decoding")
    assert verdicts(in_use).loc["C44", "verdict"] == SUPPORTED


def test_c46_plain_batching_is_cheaper_and_slower(shipped, catalog):
    s = opus(catalog, np.array([1.0, 64.0]))
    row = shipped.loc["C46"]
    assert row["value"] == pytest.approx(s.tokens_per_s_per_user[1] / s.tokens_per_s_per_user[0])
    assert row["high"] < 1 and row["verdict"] == PARTLY
    assert f"{s.output_tokens_per_s[0] / s.output_tokens_per_s[1]:.2g}"[:4] in row["basis"]
    smaller = verdicts(changed("presets", "opus-4.6", batch_size=8.0)).loc["C46"]
    assert row["value"] < smaller["value"] < 1


# --- wafers and small SRAM chips


def least_reads(catalog):
    found = []
    for model, endpoint in MEASURED_ON_WAFERS.items():
        row = catalog.models.loc[model]
        wafers = row["total_params_b"] / 44  # at one byte a parameter; the bytes cancel
        found.append(catalog.endpoints.at[endpoint, "output_tok_s"] * row["active_params_b"] / (wafers * 150))
    return found


def test_c25_weights_must_lie_in_sram(shipped, catalog):
    reads = least_reads(catalog)
    row = shipped.loc["C25"]
    assert list(row[["value", "low", "high"]]) == pytest.approx([min(reads), min(reads), max(reads)])
    assert row["verdict"] == SUPPORTED
    slow = verdicts(changed("endpoints", "kimi-k2.6-cerebras", output_tok_s=100.0)).loc["C25"]
    assert slow["value"] == pytest.approx(reads[3] * 100 / 981) and slow["verdict"] == PARTLY
    wide = verdicts(scaled("hardware", WAFER, 40, "interconnect_gb_s_per_chip")).loc["C25"]
    assert wide["verdict"] == CONTRADICTED


def test_c26_gpus_with_the_bandwidth_of_a_wafer(shipped, catalog):
    batch = np.array([64.0, 1.0])
    s = opus(catalog, batch)
    gains = s.tpot_s / opus(changed("hardware", B200, memory_bw_tb_s=21000.0), batch).tpot_s
    assert (gains <= s.tpot_s / (s.tpot_s - s.weights_s - s.kv_s - s.overhead_s)).all()
    row = shipped.loc["C26"]
    assert row["value"] == pytest.approx(gains[0]) and row["low"] == pytest.approx(gains.min())
    assert row["verdict"] == PARTLY
    # 21 PB/s over 32 billion active parameters of two bytes
    assert f"{21e15 / 64e9 / 1e3:.0f}\u202f000 tok/s" in row["basis"]
    assert verdicts(changed("claims", "C26", quantity="1.5")).loc["C26", "verdict"] == SUPPORTED
    quick = verdicts(scaled("hardware", B200, 1000, "memory_bw_tb_s")).loc["C26"]
    assert quick["value"] < 1.1 and quick["verdict"] == CONTRADICTED


def test_c27_codex_on_wafers(shipped, catalog):
    row = shipped.loc["C27"]
    assert row["value"] == served(catalog, "kimi-k2", WAFER, 1.0).n_chips[0] > 1
    # 1 026 billion parameters at 17/32 byte on 44 GB
    assert row["low"] == math.ceil(1026 * 0.53125 / 44) and row["verdict"] == PARTLY
    unserved = verdicts(changed("endpoints", "kimi-k2.6-cerebras", output_tok_s=np.nan)).loc["C27"]
    assert (unserved["value"], unserved["verdict"]) == (row["value"], SUPPORTED)
    huge = verdicts(changed("hardware", WAFER, memory_gb=3000.0)).loc["C27"]
    assert (huge["value"], huge["low"], huge["verdict"]) == (1.0, 1.0, CONTRADICTED)


def test_c30_one_chip_or_many(shipped, catalog):
    row = shipped.loc["C30"]
    assert row["value"] == served(catalog, "kimi-k2.6", WAFER, 1.0).n_chips[0]
    assert row["verdict"] == PARTLY and "4 models" in row["basis"]
    linked = changed("hardware", WAFER, scaleup_domain_chips=128.0)
    assert verdicts(linked).loc["C30", "verdict"] == SUPPORTED
    unmeasured = changed("endpoints", list(MEASURED_ON_WAFERS.values()), basis="vendor_spec")
    assert verdicts(unmeasured).loc["C30", "verdict"] == CONTRADICTED
    roomy = verdicts(scaled("hardware", WAFER, 4, "memory_gb")).loc["C30"]
    assert roomy["value"] < row["value"]


HOP = "hop_wafer_s"


def hop_of(factor):
    """The hand-over between wafers and its range, scaled."""
    return scaled("serving_constants", HOP, factor, "value", "low", "high")


def hop_text(catalog):
    """Hand-over and the ends of its range, in microseconds."""
    return [f"{1e6 * hop:.3g}" for hop in catalog.serving_constants.loc[HOP, ["value", "low", "high"]]]


def hop_range(catalog):
    """Catalogues with the hand-over anywhere in its range, both ends included."""
    low, high = catalog.serving_constants.loc[HOP, ["low", "high"]]
    return [changed("serving_constants", HOP, value=hop) for hop in np.linspace(low, high, 7)]


def lone(catalog, n_chips):
    return served(catalog, "glm-4.7", WAFER, 1.0, n_chips)


def test_c32_hand_overs_between_wafers(shipped, catalog):
    def share(changed_catalog, n_chips):
        s = lone(changed_catalog, n_chips)
        return 100 * changed_catalog.serving_constants.at[HOP, "value"] * (s.stages[0] - 1) / s.tpot_s[0]

    row = shipped.loc["C32"]
    over = [share(other, 0) for other in hop_range(catalog)]
    assert list(row[["value", "low", "high"]]) == pytest.approx([share(catalog, 0), min(over), max(over)], rel=1e-6)
    assert row["low"] < row["value"] < row["high"] < 50
    # Never most of the time, but one of many wafers at work: the second part alone, whatever the hand-over takes.
    assert row["verdict"] == PARTLY and f"{share(catalog, 92):.1f} % on 92" in row["basis"]
    assert "hand-overs of {} microseconds, assumed from {} to {}".format(*hop_text(catalog)) in row["basis"]
    assert "By construction" in row["basis"]
    wide = verdicts(changed("serving_constants", HOP, high=3.7e-4)).loc["C32"]
    assert wide["high"] > 50 and wide["verdict"] == PARTLY
    far = verdicts(hop_of(100)).loc["C32"]
    assert far["value"] > row["value"] and far["verdict"] == SUPPORTED
    # Everything on one wafer: no hand-over, and all of its bandwidth is in use.
    whole = verdicts(changed("hardware", WAFER, memory_gb=3000.0)).loc["C32"]
    assert (whole["value"], whole["verdict"]) == (pytest.approx(0, abs=1e-9), CONTRADICTED)


def test_c33_throughput_of_a_pipeline(shipped, catalog):
    few = served(catalog, "glm-4.7", WAFER, 16.0).n_chips[0]
    short, long = (served(catalog, "glm-4.7", WAFER, 16.0, n).output_tokens_per_s[0] for n in (few, 92))
    filled = served(catalog, "glm-4.7", WAFER, 16.0 * 92 / few, 92).output_tokens_per_s[0]
    row = shipped.loc["C33"]

    def output(changed_catalog, batch, n_chips):
        return served(changed_catalog, "glm-4.7", WAFER, batch, n_chips).output_tokens_per_s[0]

    over = np.array([[output(c, 16.0, 92) / output(c, 16.0, few), output(c, 1.0, 92) / output(c, 1.0, few)]
                     for c in hop_range(catalog)])  # fmt: skip
    assert row["value"] == pytest.approx(long / short)
    assert list(row[["low", "high"]]) == pytest.approx([over[:, 0].min(), over[:, 0].max()])
    assert f"{filled / short:.3g}x (" in row["basis"] and f"({over[:, 1].min():.3g}x to " in row["basis"]
    assert "hand-overs of {} microseconds assumed ({} to {})".format(*hop_text(catalog)) in row["basis"]
    # A lone request keeps its speed at some lengths of a hand-over and not at others.
    assert row["verdict"] == PARTLY and over[:, 1].min() < 0.9
    near = verdicts(hop_of(0)).loc["C33"]
    assert near["low"] == near["value"] == near["high"] > 1 and near["verdict"] == SUPPORTED
    unsure = verdicts(changed("serving_constants", HOP, value=0.0, low=0.0)).loc["C33"]
    assert unsure["value"] == near["value"] and unsure["verdict"] == PARTLY
    assert verdicts(hop_of(100)).loc["C33", "value"] < row["value"]


def test_c34_speed_of_a_long_pipeline(shipped, catalog):
    row = shipped.loc["C34"]
    assert row["value"] == pytest.approx(lone(catalog, 0).tpot_s[0] / lone(catalog, 92).tpot_s[0])
    on_wafers = catalog.presets[(catalog.presets["hardware"] == WAFER) & (catalog.presets["standin_basis"] == "vendor")]
    over = []
    for other in hop_range(catalog):
        for model in {"glm-4.7", *on_wafers["model"]}:
            fewest = served(other, model, WAFER, 1.0)
            layers = float(catalog.models.at[model, "layers"])
            if fewest.stages[0] < layers:
                over.append(fewest.tpot_s[0] / served(other, model, WAFER, 1.0, layers).tpot_s[0])
    assert list(row[["low", "high"]]) == pytest.approx([min(over), max(over)])
    assert row["low"] < row["value"] < row["high"] < 1 and row["verdict"] == SUPPORTED
    assert "By construction of the model" in row["basis"]
    assert "hand-overs of {} microseconds, and".format(*hop_text(catalog)) in row["basis"]
    assert "assumed range of {1} to {2}".format(*hop_text(catalog)) in row["basis"]
    assert verdicts(changed("serving_constants", HOP, low=0.0)).loc["C34", "verdict"] == PARTLY
    assert verdicts(hop_of(2)).loc["C34", "value"] < row["value"]
    near = verdicts(hop_of(0)).loc["C34"]
    assert near["value"] == pytest.approx(1.0) and near["verdict"] == CONTRADICTED


def test_c35_many_small_chips(shipped, catalog):
    row = shipped.loc["C35"]
    assert row["value"] == served(catalog, "gpt-oss-120b", GROQ, 1.0).n_chips[0]
    assert row["low"] == math.ceil(117 * 0.53125 / 0.23) and row["verdict"] == SUPPORTED
    assert verdicts(changed("endpoints", "gpt-oss-120b-groq", basis="vendor_spec")).loc["C35", "verdict"] == PARTLY
    double = verdicts(scaled("hardware", GROQ, 2, "memory_gb")).loc["C35"]
    assert double["value"] < row["value"] and double["low"] == math.ceil(117 * 0.53125 / 0.46)


def test_c37_links_between_gpus(shipped, catalog):
    s = opus(catalog, np.arange(1.0, 65.0))
    share = 100 * s.collectives_s / s.tpot_s
    row = shipped.loc["C37"]
    assert list(row[["value", "low", "high"]]) == pytest.approx([share[3], share.min(), share.max()])
    assert row["verdict"] == SUPPORTED
    slower = verdicts(scaled("hardware", B200, 0.1, "interconnect_gb_s_per_chip")).loc["C37"]
    assert slower["value"] > row["value"]
    constants = ["all_reduce_s", "all_reduce_per_chip_s"]
    free = scaled(
        "hardware", B200, 1e4, "interconnect_gb_s_per_chip", base=scaled("serving_constants", constants, 0, "value")
    )
    quick = verdicts(free).loc["C37"]
    assert quick["value"] < row["value"] and quick["verdict"] == PARTLY


def test_c77_models_on_one_wafer(shipped, catalog):
    wafers = [served(catalog, model, WAFER, 1.0).n_chips[0] for model in catalog.models.index]
    row = shipped.loc["C77"]
    assert row["value"] == sum(n == 1 for n in wafers) and row["verdict"] == PARTLY
    assert row["high"] == (catalog.models["total_params_b"] * 0.53125 <= 44).sum()
    roomy = verdicts(scaled("hardware", WAFER, 4, "memory_gb")).loc["C77"]
    assert roomy["value"] > row["value"]
    opened = changed("presets", catalog.presets.index, closed=0.0)
    assert verdicts(opened).loc["C77", "verdict"] == CONTRADICTED


# --- energy


def joules(catalog, model, part):
    """Least joules per output token over the batches of the slider, by the power of the system, and the half width of ln."""
    grid = [float(b) for b in catalog.assumptions.at["batch_size", "grid"].split(";")]
    watts = catalog.hardware.at[part, "system_power_w_per_chip"]
    s = served(catalog, model, part, np.array(grid))
    each = watts * s.n_chips / s.output_tokens_per_s
    best = np.nanargmin(each)
    return each[best], half_width(s, tables(catalog), "tpot", 90)[best]


def test_c36_and_c52_joules_a_token(shipped, catalog):
    ratio, low, high = {}, [], []
    for model in MEASURED_ON_WAFERS:
        wafer, half = joules(catalog, model, WAFER)
        gpu, gpu_half = min(joules(catalog, model, p) for p in ("gb200_nvl72", "h100_sxm"))
        ratio[model] = wafer / gpu
        low.append(ratio[model] * math.exp(-math.sqrt(half**2 + gpu_half**2)))
        high.append(ratio[model] * math.exp(math.sqrt(half**2 + gpu_half**2)))
        # Nobody publishes the speed of a wafer at such a batch: its band is the wider one.
        assert half > gpu_half
    row = shipped.loc["C36"]
    assert row["value"] == pytest.approx(ratio["glm-4.7"])
    assert list(row[["low", "high"]]) == pytest.approx([min(low), max(high)])
    assert f"{min(ratio.values()):.3g}x to {max(ratio.values()):.3g}x over 4 models" in row["basis"]
    # The best dedicated machine with a published system power is the wafer, the best GPU is Nvidia's.
    other = shipped.loc["C52"]
    assert other["value"] == pytest.approx(1 / row["value"])
    assert list(other[["low", "high"]]) == pytest.approx([1 / row["high"], 1 / row["low"]])


def test_an_energy_verdict_follows_from_where_the_band_lies(shipped, catalog):
    power = catalog.hardware.at[WAFER, "system_power_w_per_chip"]
    undecided = "The band does not decide."
    low, high = shipped.loc["C36", ["low", "high"]].astype(float)
    assert low < 1 < high  # as shipped
    for claim in ("C36", "C52"):
        assert shipped.loc[claim, "verdict"] == PARTLY and shipped.loc[claim, "basis"].endswith(undecided)
    # Watts of a wafer at which the ends of the band are these; energy is proportional to them.
    cases = [
        (1.01 / low, PARTLY, False, CONTRADICTED, False),  # all of it above 1: Nvidia needs less, the others do not
        (0.99 / low, PARTLY, True, PARTLY, True),
        (1.01 / high, PARTLY, True, PARTLY, True),
        (0.99 / high, CONTRADICTED, False, PARTLY, True),  # all below 1, but at least twice the tokens?
        (0.51 / high, CONTRADICTED, False, PARTLY, True),
        (0.49 / high, CONTRADICTED, False, SUPPORTED, False),
    ]
    for factor, rivals, rivals_open, dedicated, dedicated_open in cases:
        table = verdicts(changed("hardware", WAFER, system_power_w_per_chip=power * factor))
        found = [(table.loc[c, "verdict"], table.loc[c, "basis"].endswith(undecided)) for c in ("C36", "C52")]
        assert found == [(rivals, rivals_open), (dedicated, dedicated_open)], factor


def test_power_moves_both_energy_claims(shipped):
    twice = verdicts(changed("hardware", WAFER, system_power_w_per_chip=46000.0))
    for column in ("value", "low", "high"):
        assert twice.loc["C36", column] == pytest.approx(2 * shipped.loc["C36", column])
        assert twice.loc["C52", column] == pytest.approx(shipped.loc["C52", column] / 2)
    frugal = verdicts(changed("hardware", WAFER, system_power_w_per_chip=1000.0))
    assert (frugal.loc["C36", "verdict"], frugal.loc["C52", "verdict"]) == (CONTRADICTED, SUPPORTED)
    # Chip power alone is a lower bound: a frugal chip whose system is not published proves nothing, a published one does.
    nothing_else = changed("hardware", ["gb200_nvl72", "h100_sxm"], system_power_w_per_chip=1e6)
    assert verdicts(nothing_else).loc["C36", "verdict"] == CONTRADICTED
    unproven = changed("hardware", GROQ, base=nothing_else, tdp_w=0.001)
    assert verdicts(unproven).loc["C36", "verdict"] == CONTRADICTED
    proven = verdicts(changed("hardware", GROQ, base=nothing_else, system_power_w_per_chip=0.001)).loc["C36"]
    assert proven["verdict"] == PARTLY and "band does not decide" not in proven["basis"]


def test_a_surer_speed_narrows_the_band_of_energy(shipped):
    sure = verdicts(scaled("serving_constants", ["wafer_drift_90", "tpot_drift_90", "tpot_shape_90"], 0.01, "value"))
    for claim in ("C36", "C52"):
        own, before = sure.loc[claim], shipped.loc[claim]
        assert own["value"] == before["value"]
        assert before["low"] < own["low"] <= own["value"] <= own["high"] < before["high"]
