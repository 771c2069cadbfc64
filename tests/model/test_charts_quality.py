"""The figure of predicted against published errors."""

import json
import math

import numpy as np
import plotly.graph_objects as go
import pytest

from fastmode import catalog
from fastmode.charts import theme
from fastmode.charts.quality import alternative, quality_figure
from fastmode.quality_check import predicted_pairs, summary

PAIRS = predicted_pairs(catalog.load())
AGENTIC = PAIRS[PAIRS["task_family"] == "agentic"]
SPARK = "GPT-5.3-Codex-Spark"


def logit(error):
    return math.log(error / (1 - error))


def traces(figure, meta):
    return [trace for trace in figure.data if trace.meta == meta]


def place(axis_values):
    return np.asarray(axis_values, float)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_plotly_accepts_the_figure(mode):
    figure, narrow = quality_figure(PAIRS, mode, own=SPARK, scale=1.3)
    checked = go.Figure(json.loads(figure.to_json()))
    checked.update_layout(narrow)
    assert len(checked.data) == len(figure.data)


def test_each_score_is_one_mark_at_its_log_odds():
    figure, _narrow = quality_figure(AGENTIC, "light")
    x = np.concatenate([place(trace["x"]) for trace in traces(figure, "rows")])
    y = np.concatenate([place(trace["y"]) for trace in traces(figure, "rows")])
    assert sorted(x) == pytest.approx(sorted(map(logit, AGENTIC["published_error"])))
    assert sorted(y) == pytest.approx(sorted(map(logit, AGENTIC["predicted_error"])))


def test_own_model_is_drawn_in_its_colour_with_its_numbers():
    figure, _narrow = quality_figure(AGENTIC, "light", own=SPARK)
    (own,) = traces(figure, "own")
    assert own["name"] == SPARK and own["marker"]["color"] == theme.palette("light").scenario
    # Terminal-Bench 2.0: 22.7 % of the larger model, odds x 1.547 predicted, 41.6 % published.
    assert place(own["x"]) == pytest.approx([logit(0.416)])
    assert place(own["y"]) == pytest.approx([logit(0.227) + math.log(1.547)])
    (text,) = own["text"]
    assert "<b>GPT-5.3-Codex-Spark</b> from GPT-5.3-Codex" in text and "Terminal-Bench 2.0" in text
    assert "published 41.6 %" in text and "predicted 31.2 % (90 %: 17.7 % to 71.8 %)" in text
    assert "one tier step, sizes unpublished" in text
    assert sum(len(trace["x"]) for trace in traces(figure, "rows")) == len(AGENTIC) - 1


@pytest.mark.parametrize(
    ("residual", "inside", "colour"), [(1, True, "published"), (1, False, "worse"), (-1, False, "better")]
)
def test_colour_says_whether_the_band_held(residual, inside, colour):
    one = AGENTIC.head(1).assign(residual_logit=float(residual), inside_90=inside)
    figure, _narrow = quality_figure(one, "dark")
    (trace,) = traces(figure, "rows")
    assert trace["marker"]["color"] == getattr(theme.palette("dark"), colour)


def test_whiskers_are_the_band_where_they_leave_room():
    figure, _narrow = quality_figure(AGENTIC.head(1), "light")
    (trace,), row = traces(figure, "rows"), AGENTIC.iloc[0]
    assert place(trace["error_y"]["array"]) == pytest.approx([logit(row["high_90"]) - logit(row["predicted_error"])])
    assert place(trace["error_y"]["arrayminus"]) == pytest.approx(
        [logit(row["predicted_error"]) - logit(row["low_90"])]
    )
    crowded, _narrow = quality_figure(PAIRS, "light")
    assert len(PAIRS) > 60 and all(t.error_y.array is None for t in traces(crowded, "rows"))


def test_axes_are_alike_and_fixed():
    few, narrow = quality_figure(AGENTIC, "light")
    all_of_them, _narrow = quality_figure(PAIRS, "light")
    for figure in (few, all_of_them):
        for axis in (figure.layout.xaxis, figure.layout.yaxis):
            assert axis["range"] == pytest.approx([logit(0.01), logit(0.99)])
            at = dict(zip(axis["ticktext"], place(axis["tickvals"]), strict=True))
            assert at["50 %"] == pytest.approx(0) and at["80 %"] == pytest.approx(logit(0.8))
    (line,) = traces(few, "equal")
    assert place(line["x"]) == pytest.approx(place(line["y"]))
    assert set(narrow) == {"xaxis"} and len(narrow["xaxis"]["tickvals"]) == len(narrow["xaxis"]["ticktext"]) == 6


def test_errors_beyond_the_axes_stand_at_their_edge():
    one = AGENTIC.head(1).assign(published_error=0.999)
    (trace,) = traces(quality_figure(one, "light")[0], "rows")
    assert place(trace["x"]) == pytest.approx([logit(0.99)])


def test_words_for_the_figure():
    row = summary(catalog.load()).set_index("task_family").loc["agentic"].to_dict()
    text = alternative(row)
    assert "of 35 smaller models' scores" in text and "within 5.63 points" in text and "97.1 % within" in text
