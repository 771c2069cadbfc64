"""Field check: net productivity as the model has it beside randomised trials of AI assistance for developers.

A trial is a row of data/field_trials.csv; its figure is the row of data/human_time.csv it names. Trials and model do not
measure the same: the trials had other tasks and older models. So they bound the model rather than fit it, and nothing
here is tuned to them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fastmode import productivity
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.option_table import preset_table
from fastmode.scenario import Scenario, all_fields, expand_preset

LEVELS = ("benchmark", "acceptance")  # choices of the field error_level
_RISES = "output_percent"  # the figure grows with net productivity; the others are times


def net_productivity(value: ArrayLike, converts: ArrayLike) -> np.ndarray:
    """Net productivity that a trial's figure stands for: output with AI over output without, for the same time.

    converts: time_ratio (time with AI over time without, 1/value), time_percent (change in time, 1/(1 + value/100)) or
    output_percent (change in output, 1 + value/100). Shapes broadcast. Raises ValueError for another word.
    """
    value, converts = np.asarray(value, dtype=float), np.asarray(converts)
    if not np.isin(converts, ("time_ratio", "time_percent", _RISES)).all():
        raise ValueError(f"unknown conversion in {converts!r}")
    change = 1.0 + value / 100.0
    return np.where(converts == _RISES, change, 1.0 / np.where(converts == "time_ratio", value, change))


def trials(catalog: Catalog) -> pd.DataFrame:
    """The trials by id, lowest net productivity first.

    Columns: label, who, np, np_low, np_high (the study's own interval, NaN where none was readable), population, year,
    source_url, note. A long time is a low net productivity, so the ends of a time change places.
    """
    rows = catalog.field_trials.set_index("id")
    figures = catalog.human_time.set_index("quantity").loc[rows["quantity"]].set_index(rows.index)
    converts = rows["converts"].to_numpy(str)
    value, low, high = (net_productivity(figures[name].to_numpy(float), converts) for name in ("value", "low", "high"))
    rises = converts == _RISES
    made = rows[["label", "who"]].assign(
        np=value,
        np_low=np.where(rises, low, high),
        np_high=np.where(rises, high, low),
        **{name: figures[name] for name in ("population", "year", "source_url")},
        note=rows["note"],
    )
    return made.sort_values("np", kind="stable")


def model_values(scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """Net productivity of the scenario's reference by LEVELS of error, everything else as the scenario has it.

    Columns: error (of its first output), np, np_low, np_high (90 % band; NaN where none is computed). np is NaN where the
    reference has no speed.
    """
    own = _of_reference(scenario, catalog)
    band = own.outputs()["net_productivity"]
    low, high = (np.nan if end is None else end for end in (band.low, band.high))
    figures = {
        "error": own.reference.error_rate,
        "np": own.reference.task.net_productivity,
        "np_low": low,
        "np_high": high,
    }
    return pd.DataFrame({n: np.broadcast_to(figure, len(LEVELS)) for n, figure in figures.items()}, index=list(LEVELS))


def to_match(scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """For every trial, what would give the scenario's reference the trial's net productivity, one change at a time.

    Columns: label, np; error: of its first output, at the scenario's other assumptions; escape_factor and
    escape_factor_accepted: cost of an escaped error in fixes by hand, at the error of either level. NaN where no error
    between 0 and 1, or no factor within the bounds of its field, does it.

    The error: productivity.break_even_error for the time at which unaided time over time is the trial's figure. The
    factor enters both times linearly, B' = B + b w and T = C + c w, so w = (np C - B) / (b - np c); no search is needed.
    """
    found = trials(catalog)
    wanted = found["np"].to_numpy(float)[:, None]
    side = _of_reference(scenario, catalog).reference
    inputs, task = side.inputs, side.task
    with np.errstate(divide="ignore", invalid="ignore"):
        unaided_s = task.net_productivity * task.time_per_task_s
        error = productivity.break_even_error(inputs, unaided_s / wanted)
        error = np.where(error < 1.0, error, np.nan)  # 1 says that even then the task takes less time
        fix_s = np.asarray(inputs.fix_time_s)
        by_factor_s = task.p_escaped * fix_s
        unaided_by_factor_s = inputs.baseline_error * (1.0 - inputs.detect) * fix_s
        surplus_s = wanted * (task.time_per_task_s - task.escaped_s) - inputs.baseline_s
        factor = surplus_s / (unaided_by_factor_s - wanted * by_factor_s)
    bounds = all_fields(catalog)["escape_factor"]
    factor = np.where((factor >= bounds.min) & (factor <= bounds.max), factor, np.nan)
    columns = np.broadcast_to(factor, (len(found), len(LEVELS)))
    return found[["label", "np"]].assign(
        error=error[:, 0], escape_factor=columns[:, 0], escape_factor_accepted=columns[:, 1]
    )


@lru_cache(maxsize=8)  # a page asks for the values and for what matches them
def _of_reference(scenario: Scenario, catalog: Catalog) -> Evaluation:
    """The scenario's reference as its own option, one element a level of error."""
    preset = str(scenario.reference)
    values = expand_preset(preset, catalog) | {"reference": preset, "anchor": scenario.anchor}
    if str(scenario.preset) == preset:
        # What nobody publishes of it, the user's own figure says of both sides.
        table = preset_table(catalog)
        published = {"anchor_tokens_per_s": table.tokens_per_s, "anchor_ttft_s": table.ttft_s}
        unknown = [name for name, figures in published.items() if np.isnan(figures[table.rows[preset]])]
        values |= {name: getattr(scenario, name) for name in unknown}
    return evaluate(replace(scenario, **values, error_level=np.array(LEVELS)), catalog)
