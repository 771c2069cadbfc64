"""Named anchors: predictions of measured deployments, pinned so that no change of the physics goes unnoticed.

serving_anchors.csv holds the prediction of each anchor beside the measured time. A change of a formula, of a constant or of a
catalogue row that moves one by more than 2 % turns its test red. Where the move is meant, renew the file and read what it changes:

    python -m tests.model.test_serving_anchors
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastmode import catalog
from fastmode.calibration.rows import CELL
from fastmode.predict import predict

FILE = Path(__file__).with_name("serving_anchors.csv")
CAT = catalog.load()
QUANTITIES = ("tpot_ms", "ttft_ms")
TOLERANCE = 0.02
FEW = 10
NAMES = [
    "model_id",
    "hardware_id",
    "n_chips",
    "weight_precision",
    "engine",
    "clean_grade",
    "input_tokens",
    "output_tokens",
    "concurrency_or_batch",
]


def chosen() -> pd.DataFrame:
    """The measured rows that are anchors, by a rule that never looks at a prediction.

    Among the rows that are not suspect, ordered by batch, input, output and row_id:
    the middle row of each cell (one software version of one publisher) of at least ten rows; the middle row of each chip that no such
    cell has; and the ends of what has been measured: largest batch, longest context, most chips.
    """
    rows = CAT.measured
    rows = rows[(rows["model_id"] != "") & (rows["hardware_id"] != "")]
    rows = rows[~rows["row_id"].isin(CAT.measured_suspects["row_id"])]
    rows = rows.sort_values(["concurrency_or_batch", "input_tokens", "output_tokens", "row_id"], na_position="first")
    size = rows.groupby(list(CELL))["row_id"].transform("size")
    large, small = rows[size >= FEW], rows[size < FEW]
    small = small[~small["hardware_id"].isin(large["hardware_id"])]

    def middle(frame, keys):
        return [group["row_id"].iloc[len(group) // 2] for _name, group in frame.groupby(keys)]

    context = rows["input_tokens"] + rows["output_tokens"].fillna(0.0)
    ends = [rows.loc[values.idxmax(), "row_id"] for values in (rows["concurrency_or_batch"], context, rows["n_chips"])]
    wanted = dict.fromkeys(middle(large, list(CELL)) + middle(small, ["hardware_id"]) + ends)
    return rows.set_index("row_id", drop=False).loc[list(wanted)].sort_index()


def anchors_now() -> pd.DataFrame:
    """The table as the file should hold it: names, measured and predicted milliseconds."""
    rows = chosen()
    out = predict(rows, CAT)
    assert (out["status"] == "ok").all()
    table = rows[NAMES].copy()
    for quantity in QUANTITIES:
        table[f"measured_{quantity}"] = rows[quantity]
        table[quantity] = [float(f"{value:.5g}") for value in out[quantity]]
    return table


PINNED = pd.read_csv(FILE, index_col="row_id") if FILE.exists() else pd.DataFrame(columns=QUANTITIES)


@pytest.fixture(scope="module")
def now() -> pd.DataFrame:
    return anchors_now()


def test_the_anchors_are_those_of_the_rule(now):
    """New measurements may shift a cell's middle: renew the file then."""
    assert list(PINNED.index) == list(now.index)
    assert 30 <= len(PINNED) <= 45


def test_the_anchors_span_what_has_been_measured(now):
    """Every chip with a row that is not suspect, every grade, all engine families, widths from 4 to 16 bit."""
    rows = CAT.measured[~CAT.measured["row_id"].isin(CAT.measured_suspects["row_id"])]
    rows = rows[(rows["model_id"] != "") & (rows["hardware_id"] != "")]
    assert set(now["hardware_id"]) == set(rows["hardware_id"])
    assert set(now["clean_grade"]) == {"A", "B", "B2"}
    assert set(now["engine"]) >= {"vllm", "trtllm", "sglang", "llama.cpp"}
    assert set(now["weight_precision"]) >= {"bf16", "fp8", "nvfp4", "mxfp4", "int4", "q4_k_m"}
    assert len(set(now["model_id"])) >= 9
    assert set(now["n_chips"]) >= {1, 2, 4, 8, 16}
    assert now["concurrency_or_batch"].min() == 1 and now["concurrency_or_batch"].max() >= 1024


@pytest.mark.parametrize("name", PINNED.index)
def test_prediction_of_an_anchor_is_the_pinned_one(name, now):
    for quantity in QUANTITIES:
        assert now.at[name, quantity] == pytest.approx(PINNED.at[name, quantity], rel=TOLERANCE, nan_ok=True)


def test_measured_values_are_those_of_the_data():
    rows = CAT.measured.set_index("row_id").loc[PINNED.index]
    for quantity in QUANTITIES:
        np.testing.assert_allclose(PINNED[f"measured_{quantity}"], rows[quantity], rtol=1e-9)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_most_anchors_were_measured_inside_their_bands(quantity):
    """At least 85 % inside the 90 % band. These rows are among those fitted; coverage of unseen ones is in test_calibration.py."""
    rows = chosen()
    out = predict(rows, CAT)
    known = rows[quantity].notna() & out[quantity].notna()
    inside = rows[quantity].between(out[f"{quantity}_low"], out[f"{quantity}_high"])[known]
    assert known.sum() >= 30
    assert inside.mean() >= 0.85


if __name__ == "__main__":
    anchors_now().to_csv(FILE, index_label="row_id", lineterminator="\n")
    print(f"{FILE}: {len(pd.read_csv(FILE))} anchors")
