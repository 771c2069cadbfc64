"""Wafers and small SRAM chips on the Validation tab: figures of the stored files, and which method the words name."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode import catalog, validation_sram
from fastmode import format as fmt


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


def altered(cat, kind, method, **figures):
    table = cat.calibration_sram.copy()
    table.loc[(table["kind"] == kind) & (table["method"] == method), list(figures)] = list(figures.values())
    return replace(cat, calibration_sram=table)


def test_errors_are_those_of_the_points(cat):
    """Median, largest and mean-factor error of the model, again from the stored left-out speeds of the points in use."""
    points = validation_sram.points(cat)
    for kind in ("wafer", "lpu"):
        used = points[(points["kind"] == kind) & (points["use"] == 1)]
        ratio = (used["measured"] / used["predicted_left_out"]).to_numpy()  # of times
        row = cat.calibration_sram.set_index(["kind", "method"]).loc[(kind, "physics")]
        assert row["rows"] == len(used)
        assert row["median"] == pytest.approx(np.median(np.abs(ratio - 1)), abs=2e-3)
        assert row["max"] == pytest.approx(np.abs(ratio - 1).max(), abs=2e-3)
        assert row["factor"] == pytest.approx(np.exp(np.abs(np.log(ratio)).mean()), rel=2e-3)
        inside = (used["measured"] >= used["low"]) & (used["measured"] <= used["high"])
        assert (inside == (used["inside"] == 1)).all() and inside.all()


def test_sentences_hold_the_figures_and_name_what_is_used(cat):
    wafer, small = validation_sram.sentences(cat)
    row = cat.calibration_sram.set_index(["kind", "method"]).loc[("wafer", "physics")]
    assert f"{fmt.share(row['median'])} off in the median, {fmt.share(row['max'])} at most" in wafer
    assert wafer.endswith("The model beats both and is used.")
    assert "does not beat both on every figure; it is used" in small and small.startswith("Machines of many small SRAM")


def test_a_better_baseline_is_named(cat):
    changed = altered(cat, "wafer", "mean", median=0.01, max=0.02, factor=1.01)
    assert validation_sram.better(changed, "wafer") == "mean"
    assert "The mean speed has the smaller mean factor, 1.01x against" in validation_sram.sentences(changed)[0]
    assert validation_sram.better(cat, "wafer") == "physics"
    assert validation_sram.better(altered(cat, "lpu", "physics", factor=1.9), "lpu") != "physics"


def test_the_command_prints_the_same(cat):
    found = validation_sram.document(cat)
    assert found["sentences"] == validation_sram.sentences(cat)
    assert len(found["points"]) == len(cat.calibration_sram_points) and len(found["errors"]) == 6
