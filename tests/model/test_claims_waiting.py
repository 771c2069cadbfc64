"""Claims on waiting and on fast tiers: figures derived again from the rows, the formulas or the simulation, and what turns each verdict."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest

from fastmode import link
from fastmode.catalog import load
from fastmode.claims import CONTRADICTED, PARTLY, SUPPORTED, UNTESTED, claims_table
from fastmode.claims.found import Unknown
from fastmode.serving import simulate
from fastmode.serving.static import longest_length
from tests.model.test_claims_people import found, with_cells
from tests.model.test_claims_serving import B200, opus, served

WAITING = "C09 C10 C38 C39 C40 C56 C57 C58".split()
TIERS = "C11 C13 C20 C72 C78".split()
STANDARD, FAST, CODEX, SPARK = "opus-4.6", "opus-4.6-fast", "gpt-5.3-codex", "gpt-5.3-codex-spark"
FRESH, TOKENS = 114_000 / 20, 8_000 / 20  # prefilled and written by a call of the default task


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def shipped():
    return claims_table().set_index("id")


def deployment(catalog, model="kimi-k2"):
    """(the founding standard option at its largest batch, seconds a prefill holds the chips, most requests/s)."""
    most = opus(catalog, 64.0, model).max_batch[0]
    full = opus(catalog, most, model)
    held_s = FRESH / full.prefill_tokens_per_s[0]
    return full, held_s, most / (full.prefill_s[0] + (TOKENS - 1) * full.tpot_s[0])


def collected(catalog, spread=1.0):
    """(seconds a batch of 64 is held, seconds of its prefill and first step) where it is collected before it starts."""
    s, held_s = opus(catalog, 64.0), deployment(catalog)[1]
    prefill_s, step_s = s.prefill_s[0] + 63 * held_s, s.tpot_s[0] - s.others_prefill_s[0]
    longest = longest_length(TOKENS, spread, 64.0)[0][0]
    return prefill_s + (longest - 1) * step_s, prefill_s + step_s


def full_rate(catalog):
    """Requests/s of a deployment in which 64 run all the time."""
    s = opus(catalog, 64.0)
    return 64 / (s.prefill_s[0] + (TOKENS - 1) * s.tpot_s[0])


# --- the table


def test_figures_lie_in_their_range_and_the_basis_is_short(shipped):
    rows = shipped.loc[[*WAITING, *TIERS]].drop("C72")
    assert np.isfinite(rows["value"].astype(float)).all() and (rows["unit"] != "").all()
    ranged = rows.dropna(subset=["low", "high"])
    assert len(ranged) == len(rows) - 1  # a count of rows has no band
    assert (ranged["low"] <= ranged["value"] + 1e-9).all() and (ranged["value"] <= ranged["high"] + 1e-9).all()
    assert rows["basis"].str.len().between(40, 420).all()


def test_verdicts_and_kinds_as_shipped(shipped):
    supported, untested = {"C09", "C20", "C78"}, {"C40"}
    for claim in (*WAITING, *TIERS):
        expected = SUPPORTED if claim in supported else UNTESTED if claim in untested else PARTLY
        kind = {"C20": "data", "C72": "data"}.get(claim, "model")
        assert (shipped.loc[claim, "verdict"], shipped.loc[claim, "kind"]) == (expected, kind), claim


def test_links_open_the_option_and_the_tab(shipped):
    tabs = {
        "C09": ("batching", "Fast against cheap", STANDARD), "C10": ("batching", "The bus", STANDARD),
        "C11": ("batching", "First token", STANDARD), "C13": ("batching", "Fast against cheap", FAST),
        "C20": ("hardware", "Where it fits", SPARK), "C38": ("batching", "The bus", STANDARD),
        "C39": ("batching", "The bus", STANDARD), "C40": ("batching", "The bus", STANDARD),
        "C56": ("batching", "First token", CODEX), "C57": ("batching", "First token", SPARK),
        "C58": ("batching", "First token", STANDARD), "C78": ("batching", "Fast against cheap", CODEX),
    }  # fmt: skip
    for claim, (page, tab, preset) in tabs.items():
        address = shipped.loc[claim, "link"]
        scenario, ignored = link.from_query(address)
        query = parse_qs(urlsplit(address).query)
        assert (urlsplit(address).path, query["tab"], scenario.preset, ignored) == (f"/{page}", [tab], preset, [])
    assert parse_qs(urlsplit(shipped.loc["C39", "link"]).query)["bp"] == ["static"]
    assert parse_qs(urlsplit(shipped.loc["C56", "link"]).query)["ph"] == ["yes"]
    busy = link.from_query(shipped.loc["C38", "link"])[0]
    assert (busy.load, busy.requests_per_s) == ("traffic", 4)  # 0.8 of 5.03 on the grid
    assert shipped.loc["C72", "link"].startswith("/overview?")


# --- waiting


def test_c09_every_batch_is_slower_for_a_user_and_gives_more(shipped, catalog):
    alone, many = opus(catalog, 1.0), opus(catalog, 64.0)
    call = [(s.ttft_s + 399 * s.tpot_s)[0] for s in (alone, many)]
    row = shipped.loc["C09"]
    assert row["value"] == pytest.approx(call[1] / call[0])
    assert f"{many.output_tokens_per_s[0] / alone.output_tokens_per_s[0]:.1f}x the output tokens" in row["basis"]
    backwards = catalog.measured.assign(concurrency_or_batch=1.0 / catalog.measured["concurrency_or_batch"])
    assert found(replace(catalog, measured=backwards), "C09").verdict == CONTRADICTED
    chips_only = catalog.measured.assign(output_tok_s_per_user=np.nan, tpot_ms=np.nan)
    assert found(replace(catalog, measured=chips_only), "C09").verdict == PARTLY


def test_c10_a_collected_batch_waits_as_the_simulation_does(shipped, catalog):
    cycle, after_start = collected(catalog)
    rate = 0.5 * 64 / cycle
    s, row = opus(catalog, 64.0), shipped.loc["C10"]
    step, prefill = s.tpot_s[0] - s.others_prefill_s[0], after_start - (s.tpot_s[0] - s.others_prefill_s[0])
    runs = simulate(np.full(64, step), prefill, rate, 64_000, TOKENS, 1.0, 4, policy="static")
    first_s = runs.ttft_s.mean() + step
    assert first_s == pytest.approx(31.5 / rate + after_start, rel=0.02)
    light = opus(catalog, np.array([1.0, 2.0])).ttft_s  # at so little traffic one or two requests run
    assert first_s / light[1] < 1.02 * row["value"] and row["value"] < 1.02 * first_s / light[0]
    assert row["basis"].endswith("Hardly anything is left to remove.")
    assert "At 0.459 requests/s" in row["basis"] and f"{rate:.3f}" == "0.459"


def test_c10_is_supported_where_continuous_batching_has_a_wait_to_remove(catalog):
    long_prompts = with_cells(catalog, "assumptions", "n_in", default="600000")
    assert found(long_prompts, "C10").verdict == SUPPORTED
    assert found(long_prompts, "C10").basis.endswith("That is still there to remove.")
    short = with_cells(catalog, "assumptions", "n_in", default="2000")
    assert found(short, "C10").verdict == PARTLY and found(short, "C38").verdict == SUPPORTED
    assert found(short, "C38").high < 10


def test_c38_waiting_is_that_of_equal_prefills_and_of_the_simulation(shipped, catalog):
    full, held_s, most = deployment(catalog)
    rate = 0.8 * most
    busy = rate * held_s
    wait_s = busy * held_s / (2 * (1 - busy))  # M/D/1; a place is free
    batches = opus(catalog, np.arange(1.0, full.max_batch[0] + 1))
    # Little: N run at the time per token of N and the own one, found on the line between whole batches.
    too_many = batches.batch - 1 - rate * (full.prefill_s[0] + (TOKENS - 1) * batches.tpot_s)
    tpot_s = np.interp(0.0, too_many, batches.tpot_s)
    # With nobody ahead what is left of the wait is a fixed time and some steps.
    fixed_s = catalog.serving_constants.at["first_token_s", "value"]
    steps = (batches.queue_s[0] - fixed_s) / batches.tpot_s[0] + 1
    row = shipped.loc["C38"]
    assert row["value"] == pytest.approx(100 * wait_s / (fixed_s + full.prefill_s[0] + steps * tpot_s + wait_s), rel=1e-3)
    runs = simulate(batches.tpot_s - batches.others_prefill_s, held_s, rate, 100_000, TOKENS, 1.0, 9, prefill_delay_share=1.0)  # fmt: skip
    assert (runs.admitted_s - runs.arrival_s)[10_000:].mean() == pytest.approx(wait_s, rel=0.05)
    assert f"wait {wait_s:.4f} s" in row["basis"]
    assert row["low"] == row["value"] < 10 < row["high"] and row["verdict"] == PARTLY  # the stand-ins differ


def test_c39_the_cost_of_collecting_a_batch(shipped, catalog):
    row = shipped.loc["C39"]
    ratios = {spread: full_rate(catalog) / (64 / collected(catalog, spread)[0]) for spread in (0.0, 0.5, 1.0, 2.0)}
    assert row["value"] == pytest.approx(ratios[1.0])
    assert row["low"] <= ratios[0.5] and row["high"] >= ratios[2.0]
    assert f"{ratios[0.5]:.2f}x to {ratios[2.0]:.2f}x" in row["basis"]
    # The longest answer of a batch is what is paid for: without a spread nothing is saved.
    assert ratios[0.0] == pytest.approx(1.0, abs=0.02)
    equal = with_cells(catalog, "assumptions", "length_cv", default="0", low=0.0, high=0.0)
    assert found(equal, "C39").verdict == CONTRADICTED
    alone = with_cells(catalog, "presets", STANDARD, batch_size=1.0)
    assert found(alone, "C39").value == pytest.approx(1.0, abs=0.02)


def test_c40_how_much_traffic_fills_a_batch_in_a_second(shipped, catalog):
    row = shipped.loc["C40"]
    assert row["value"] == pytest.approx(63 / full_rate(catalog)) and row["verdict"] == UNTESTED
    assert "63 requests/s" in row["basis"] and "Nobody publishes that traffic" in row["basis"]
    small = with_cells(catalog, "presets", STANDARD, batch_size=4.0)
    s = opus(catalog, 4.0)
    assert found(small, "C40").value == pytest.approx(3 / (4 / (s.prefill_s[0] + 399 * s.tpot_s[0])))


def test_c56_traffic_is_no_cause_and_prefill_while_typing_is_one(shipped, catalog):
    row = shipped.loc["C56"]
    alone = served_chat(catalog, 1.0)
    # At a tenth of saturation about one request runs beside the own one.
    nearly = 100 * alone.prefill_s[0] / (alone.ttft_s[0] + 0.1)
    assert 0.8 * nearly < row["value"] < nearly
    far = with_cells(catalog, "presets", CODEX, handshake_s=5.0)
    assert found(far, "C56").verdict == CONTRADICTED and found(far, "C56").value < 1


def served_chat(catalog, batch):
    """The stand-in of Codex answering one chat: its lengths in place of the defaults."""
    base, values = catalog.assumptions.copy(), catalog.profile_values
    chat = values[values["profile"] == "chat"].set_index("field")["value"]
    for name in ("n_in", "n_out", "calls", "context_tokens"):
        base.loc[name, "default"] = chat[name]
    return served(replace(catalog, assumptions=base), "kimi-k2", B200, batch, 8, "fp8")


def test_c57_a_handshake_in_a_fast_and_in_a_slow_call(shipped, catalog):
    row = shipped.loc["C57"]
    # 400 tokens a call; time to first token 0.5 s and 1 s, speeds 1000 and 65 tok/s.
    shares = [100 * h / (h + 0.5 + 0.4) for h in (0.1, 0.02, 0.2)]
    assert list(row[["value", "low", "high"]]) == pytest.approx(shares)
    assert f"{100 * 0.1 / (0.1 + 1 + 400 / 65):.2f} % at 65 tok/s" in row["basis"]
    longer = with_cells(catalog, "assumptions", "handshake_s", low=0.12)
    assert found(longer, "C57").verdict == SUPPORTED
    slow = with_cells(catalog, "endpoints", SPARK, output_tok_s=100.0)
    assert found(slow, "C57").verdict == PARTLY and found(slow, "C57").high < 10
    slower_base = with_cells(slow, "endpoints", CODEX, output_tok_s=2000.0)
    assert found(slower_base, "C57").verdict == CONTRADICTED
    unknown = with_cells(catalog, "endpoints", SPARK, output_tok_s=np.nan)
    with pytest.raises(Unknown):
        found(unknown, "C57")


def test_c58_a_handshake_in_the_time_to_first_token(shipped, catalog):
    first_s = opus(catalog, 64.0).ttft_s[0]
    row = shipped.loc["C58"]
    shares = [100 * h / (h + first_s) for h in (0.1, 0.05, 0.2)]
    assert list(row[["value", "low", "high"]]) == pytest.approx(shares)
    # 0.5, 0.15, 0.1 and 0.05 s are below 0.9 s; 1.207 and 4.1 s are not.
    assert "Of 6 published times to first token 4 are so short" in row["basis"] and "quoted, not measured" in row["basis"]
    measured = with_cells(catalog, "assumptions", "handshake_s", basis="measured_third_party")
    assert found(measured, "C58").verdict == PARTLY  # the ends of 50 to 200 ms differ
    assert found(with_cells(measured, "claims", "C58", quantity="100-200"), "C58").verdict == SUPPORTED
    assert found(with_cells(catalog, "claims", "C58", quantity="1-5"), "C58").verdict == CONTRADICTED


# --- tiers


def test_c11_first_tokens_of_the_fast_tier(shipped, catalog):
    row = shipped.loc["C11"]
    assert row["value"] == pytest.approx(opus(catalog, 4.0).ttft_s[0] / opus(catalog, 64.0).ttft_s[0])
    assert "Claude Opus 5 in fast mode after 4.1 s, standard tiers 0.5 s to 1.21 s" in row["basis"]
    same_batch = with_cells(catalog, "presets", FAST, batch_size=64.0)
    assert (found(same_batch, "C11").value, found(same_batch, "C11").verdict) == (1.0, SUPPORTED)
    promised = catalog.strategies["quantity"] == "opus_fast_speedup"
    promised = with_cells(catalog, "strategies", promised, note="The first token comes sooner too.")
    quick = with_cells(promised, "endpoints", "opus-5-fast", ttft_s=0.3)
    assert found(promised, "C11").verdict == PARTLY and found(quick, "C11").verdict == CONTRADICTED
    # Its own standard tier comes before those of others.
    own = with_cells(promised, "endpoints", "opus-5", ttft_s=5.0, basis="measured_third_party")
    assert found(own, "C11").verdict == CONTRADICTED


def test_c13_the_price_of_empty_seats(shipped, catalog):
    small, large = opus(catalog, 4.0), opus(catalog, 64.0)
    cost = large.output_tokens_per_s[0] / small.output_tokens_per_s[0]
    row = shipped.loc["C13"]
    assert row["value"] == pytest.approx(cost) and 2 < cost < 6  # between today's multiple and the founding one
    decode = large.decode_tokens_per_s[0] / small.decode_tokens_per_s[0]
    assert f"({decode:.2f}x in decoding alone)" in row["basis"] and "16x the seats" in row["basis"]
    tiers = catalog.endpoints.index[(catalog.endpoints["provider"] == "Anthropic") & (catalog.endpoints["mode"] == "fast")]
    dear = with_cells(catalog, "endpoints", tiers, output_usd_per_mtok=150.0)
    assert found(dear, "C13").verdict == SUPPORTED
    cheap = with_cells(catalog, "endpoints", FAST, output_usd_per_mtok=50.0)
    assert found(cheap, "C13").verdict == PARTLY
    no_seats = with_cells(cheap, "presets", FAST, batch_size=64.0)
    free = with_cells(no_seats, "endpoints", tiers, output_usd_per_mtok=10.0)
    assert found(no_seats, "C13").value == 1.0 and found(free, "C13").verdict == CONTRADICTED


def test_c20_who_makes_the_chip(shipped, catalog):
    row = shipped.loc["C20"]
    assert (row["value"], row["verdict"]) == (2.0, SUPPORTED) and "OpenAI on Cerebras WSE-3" in row["basis"]
    assert found(with_cells(catalog, "endpoints", SPARK, basis="community_estimate"), "C20").verdict == PARTLY
    elsewhere = found(with_cells(catalog, "endpoints", SPARK, provider="OpenAI"), "C20")
    assert (elsewhere.value, elsewhere.verdict) == (1.0, CONTRADICTED)


def test_c72_the_month_of_the_announcement_decides(shipped, catalog):
    row = shipped.loc["C72"]
    assert row["verdict"] == PARTLY and "on 2026-01-15" in row["basis"] and "2026-02-12, not before the claimed month" in row["basis"]

    def on(**cells):
        return found(replace(catalog, events=catalog.events.assign(**cells)), "C72").verdict

    assert (on(date="2026-01", basis="vendor_spec"), on(date="2026-02-01"), on(date="2025-12-31")) == (SUPPORTED, CONTRADICTED, CONTRADICTED)
    early = with_cells(catalog, "endpoints", SPARK, date="2025-12-30")
    assert found(early, "C72").verdict == CONTRADICTED and "before the claimed month" in found(early, "C72").basis
    for unknown in (with_cells(catalog, "endpoints", [SPARK, "gpt-5.6-sol-cerebras"], date="2026"), replace(catalog, events=catalog.events[:0])):
        with pytest.raises(Unknown):
            found(unknown, "C72")


def test_c78_tiers_keep_the_weights_and_the_batch_alone_is_not_enough(shipped, catalog):
    s = opus(catalog, np.array([1.0, 64.0])).tokens_per_s_per_user
    row = shipped.loc["C78"]
    assert row["value"] == pytest.approx(s[0] / s[1]) and row["high"] < 15
    rows = catalog.endpoints
    priced = [i for i in rows.index if (own := rows.at[i, "same_model_as"]) and rows.at[own, "provider"] == rows.at[i, "provider"]]
    assert f"{len(priced)} tiers" in row["basis"] and {FAST, "gpt-6.1-sol-ultrafast"} <= set(priced)
    assert "6 endpoints on Cerebras" in row["basis"]
    modest = with_cells(catalog, "endpoints", SPARK, speed_multiplier_vs_standard=5.0)
    assert found(modest, "C78").verdict == PARTLY
    nobody = replace(modest, endpoints=modest.endpoints.assign(same_model_as=pd.Series("", index=rows.index)))
    assert found(nobody, "C78").verdict == CONTRADICTED
