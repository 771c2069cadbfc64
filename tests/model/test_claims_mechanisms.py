"""Claims on how a fast tier is made, how large Spark is, and how simple a model may be."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from fastmode import link
from fastmode.catalog import load
from fastmode.claims import CONTRADICTED, PARTLY, SUPPORTED, VERDICTS
from fastmode.claims.found import Facts, Unknown
from fastmode.ui import frame

CAT = load()
MECHANISMS, SIZES = ("C05", "C41", "C42", "C76"), ("C28", "C29", "C31", "C50", "C63", "C80")


def found(claim, catalog=CAT):
    return VERDICTS[claim](Facts(catalog, str(catalog.claims.at[claim, "quantity"])))


def with_cells(table, key, **cells):
    rows = getattr(CAT, table).copy()
    for column, value in cells.items():
        rows.loc[key, column] = value
    return replace(CAT, **{table: rows})


@pytest.fixture(scope="module")
def shipped():
    return {claim: found(claim) for claim in (*MECHANISMS, *SIZES)}


def test_every_link_opens_a_page_of_the_app_and_is_read_whole(shipped):
    for claim, row in shipped.items():
        path = urlsplit(row.link).path
        assert path.strip("/") in frame.PAGES, claim
        assert link.from_query(row.link)[1] == [], claim
        assert 40 <= len(row.basis) <= 460, (claim, len(row.basis))
    assert {claim: urlsplit(row.link).path for claim, row in shipped.items() if claim in MECHANISMS} == dict.fromkeys(MECHANISMS, "/explain")
    assert parse_qs(urlsplit(shipped["C29"].link).query)["tab"] == ["Where it fits"]


def test_c05_batches_alone_give_the_speed_but_so_do_others(shipped):
    row = shipped["C05"]
    assert (row.verdict, row.kind, row.unit) == (PARTLY, "model", "requests")
    assert (row.value, row.low, row.high) == pytest.approx((11.44, 5.78, 17.59), abs=0.01)
    assert "some batch does on 5 of 5 stand-ins" in row.basis and "The input price, 6x, is not explained by it." in row.basis
    faster = with_cells("endpoints", "opus-4.6-fast", output_tok_s=65.0 * 20)
    assert found("C05", faster).verdict == CONTRADICTED


def test_c41_three_places_come_near_the_speed(shipped):
    row = shipped["C41"]
    drafts = CAT.accept_length[CAT.accept_length["draft_tokens"] == 2]["mean_accept_length"].median()
    assert (row.verdict, row.value) == (PARTLY, 3.0) and f"give {drafts:.3g}x of the 2.62x" in row.basis
    faster = with_cells("endpoints", "opus-4.6-fast", output_tok_s=65.0 * 8)
    assert found("C41", faster).verdict == CONTRADICTED


def test_c42_no_part_of_that_day_gives_it_alone(shipped):
    row = shipped["C42"]
    assert row.verdict == PARTLY and row.value == pytest.approx(1.045, abs=1e-3) and row.high < 170 / 65
    assert "the fastest part of that day is GB200" in row.basis and "on GB200, batch 12" in row.basis
    faster = with_cells("endpoints", "opus-4.6-fast", output_tok_s=65.0 * 30)
    assert found("C42", faster).verdict == CONTRADICTED
    later = with_cells("endpoints", "opus-4.6-fast", date="2028-01")
    assert "MI455X" in found("C42", later).basis and found("C42", later).value == pytest.approx(2.159, abs=1e-3)


def test_c76_profit_is_uncertain_at_twice_the_price_and_not_at_six_times(shipped):
    row = shipped["C76"]
    assert row.verdict == PARTLY and row.low < 1.0 < row.high and row.value == pytest.approx(0.98, abs=0.01)
    assert "keeps 2.78x of the standard's price over cost (90 %: 1.4x to 4.29x)" in row.basis
    dear = with_cells("endpoints", "opus-5.5-fast", output_usd_per_mtok=200.0)  # ten times the standard price
    assert found("C76", dear).low > 1.0 and found("C76", dear).value == pytest.approx(5 * row.value)


def test_c28_speed_does_not_tell_the_size(shipped):
    row = shipped["C28"]
    assert (row.verdict, row.kind, row.value, row.low, row.high) == (PARTLY, "data", (1400 + 1850) / 2, 981.0, 2600.0)
    assert "Llama 3.1 405B, with 406B, runs at 969." in row.basis
    slow = with_cells("endpoints", "gpt-5.3-codex-spark", output_tok_s=300.0)
    assert found("C28", slow).verdict == CONTRADICTED


def test_c29_every_stand_in_takes_several_wafers(shipped):
    row = shipped["C29"]
    assert (row.verdict, row.value, row.low) == (SUPPORTED, 23.0, 6.0) and "Qwen3-32B, 6" in row.basis
    huge = with_cells("hardware", "cerebras_wse3", memory_gb=3000.0)
    assert found("C29", huge).verdict == CONTRADICTED and found("C29", huge).value == 1.0


def test_c31_larger_models_run_faster_but_another_is_nearer(shipped):
    row = shipped["C31"]
    assert (row.verdict, row.value) == (PARTLY, 1.201)
    assert "6 open models of more than 40B" in row.basis and "Kimi K2.6" in row.basis
    near = with_cells("endpoints", "gpt-5.3-codex-spark", output_tok_s=1200.0)
    assert found("C31", near).verdict == SUPPORTED


def test_c50_fast_on_wafers_but_its_errors_are_unmeasured(shipped):
    row = shipped["C50"]
    assert row.verdict == PARTLY and row.value == pytest.approx(54.43, abs=0.01) and "on 61 wafers at batch 16" in row.basis
    faster = with_cells("endpoints", "gpt-5.3-codex-spark", output_tok_s=9000.0)
    assert found("C50", faster).verdict == CONTRADICTED


def test_c63_only_with_a_speculative_endpoint(shipped):
    row = shipped["C63"]
    assert (row.verdict, row.kind, row.value) == (SUPPORTED, "data", 1665.0) and row.basis.endswith("the most is 1\u202f000.")
    without = replace(CAT, sram_points=CAT.sram_points[CAT.sram_points["speculation"] != "on"])
    assert found("C63", without).verdict == CONTRADICTED  # a floor, taken without tolerance


def test_c80_bandwidth_alone_misses_more_than_the_calibrated_model(shipped):
    row = shipped["C80"]
    assert (row.verdict, row.unit) == (SUPPORTED, "%") and row.low < row.value < row.high
    assert row.value == pytest.approx(240, abs=1) and "misses it by 9.37 %, and by less than 25 % in nine of ten" in row.basis
    worse = CAT.calibration_errors.copy()
    mine = (worse["quantity"] == "tpot") & (worse["left_out"] == "hardware") & (worse["group"] == "median over groups")
    worse.loc[mine, ["median", "p90"]] = [0.5, 3.0]
    assert found("C80", replace(CAT, calibration_errors=worse)).verdict == PARTLY


@pytest.mark.parametrize(("claim", "table", "key", "cells"), [("C28", "endpoints", "gpt-5.3-codex-spark", {"output_tok_s": np.nan}), ("C76", "endpoints", "opus-5.5", {"output_usd_per_mtok": np.nan})])
def test_a_missing_figure_leaves_the_claim_untested(claim, table, key, cells):
    with pytest.raises(Unknown):
        found(claim, with_cells(table, key, **cells))
