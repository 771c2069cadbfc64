"""The way out of a setting that cannot be evaluated works, and is only offered where it is needed."""

from dataclasses import replace

import numpy as np
import pytest

from fastmode.evaluate import evaluate
from fastmode.feasible import nearest
from tests.model.test_evaluate import of


@pytest.mark.parametrize(
    ("scenario", "change"),
    [
        (of("gpt-5.3-codex", batch_size=256.0), {"batch_size": 128.0}),
        (of("gpt-5.3-codex", hardware="h100_sxm"), {"n_chips": 24}),
        (of("gpt-5.3-codex-spark", reference="haiku-4.5"), {"reference": "gpt-5.3-codex"}),
    ],
)
def test_the_nearest_setting_that_works(scenario, change):
    assert nearest(evaluate(scenario)) == change
    mended = evaluate(replace(scenario, **change))
    assert np.isfinite(mended.time_change).all()


def test_nothing_is_offered_where_all_is_well_or_only_a_figure_helps():
    assert nearest(evaluate(of("opus-4.6-fast"))) == {}
    assert nearest(evaluate(of("haiku-4.5"))) == {}


def test_fewer_output_tokens_than_calls_is_a_scenario():
    e = evaluate(of("gpt-5.3-codex-spark", n_out=10))
    assert np.isfinite(e.time_change).all()
