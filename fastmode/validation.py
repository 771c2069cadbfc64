"""Predicted against measured: every measured row beside the model's prediction of it, errors by group, rows near a scenario.

The Validation tab and `python -m fastmode validate` are two views of this module. A prediction is either that of the
current model (`left_out` "none": its constants were fitted to these very rows) or that of a fit which never saw the row's
own hardware, model, engine or source (data/calibration_left_out.csv).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pandas as pd

from fastmode.calibration.rows import CELL, GROUPS, UNNAMED_ENGINE
from fastmode.catalog import Catalog, load
from fastmode.i18n import N_, _, get_language, ngettext
from fastmode.predict import PURE_DECODE, predict

QUANTITIES = {"tpot": N_("TPOT"), "ttft": N_("TTFT")}
NOTHING = "none"
LEFT_OUT = {
    NOTHING: N_("nothing"),
    "hardware": N_("hardware"),
    "model": N_("model"),
    "engine": N_("engine"),
    "source": N_("source"),
}
SUSPECTS = {"with": N_("with suspects"), "without": N_("without suspects"), "only": N_("only suspects")}
GRADES = {"A": N_("A: decode step"), "B": N_("B: long output"), "B2": N_("B2: long input")}
ALL_ROWS, CELLS_EQUAL, OVER_GROUPS = N_("all rows"), N_("cells equal"), N_("median over groups")
NOT_STATED = N_("not stated")
FEW_ROWS = 20  # below it a group's 90th percentile is one row or two
NEAR_FACTOR = 2.0
MAX_FIELDS = 500
MAX_SHOWN_CHARACTERS = 80
NOTE_CHARACTERS = 140

# Field of a view -> its key in a link. No key is one of the scenario's.
KEYS = {
    "quantity": "vq", "left_out": "vo", "by": "vb", "hardware": "vh", "model": "vm", "engine": "ve", "source": "vs",
    "grade": "vg", "precision": "vp", "suspects": "vx",
}  # fmt: skip
_COLUMN = {
    "hardware": "hardware_id", "model": "model_id", "engine": "engine", "source": "source", "grade": "grade",
    "precision": "precision",
}  # fmt: skip
ERROR_COLUMNS = ("group", "label", "rows", "cells", "median", "p90", "bias", "coverage90", "few")


@dataclass(frozen=True)
class View:
    """Which measured rows are looked at, and how. Ids throughout; "" = all. `by`: what the error table is grouped by."""

    quantity: str = "tpot"
    left_out: str = NOTHING
    by: str = "hardware"
    hardware: str = ""
    model: str = ""
    engine: str = ""
    source: str = ""
    grade: str = ""
    precision: str = ""
    suspects: str = "with"


@dataclass(frozen=True, eq=False)
class Nearest:
    """Measured rows nearest to a scenario, and how many rows of its own model and hardware lie within a factor 2.

    rows: the columns of `points` (of TPOT, the current model's prediction) with `distance` and `same_pair`, nearest first.
    same_pair counts all rows of that model on that hardware; the others those near in batch, in context and in both.
    """

    rows: pd.DataFrame
    same_pair: int
    near_batch: int
    near_context: int
    near_both: int


# --- links ------------------------------------------------------------------------------------------------------------


def choices(catalog: Catalog | None = None) -> dict[str, dict[str, str]]:
    """Field of a view -> the ids it takes, each with its label in the current language.

    What is listed never depends on the other filters, so that a filter can always be opened and changed.
    """
    catalog = catalog or load()
    fixed = {"quantity": QUANTITIES, "left_out": LEFT_OUT, "by": {g: LEFT_OUT[g] for g in GROUPS}, "suspects": SUSPECTS}
    found: dict[str, dict[str, str]] = {
        name: {i: _(label) for i, label in words.items()} for name, words in fixed.items()
    }
    for name, labels in _labels(catalog).items():
        found[name] = {"": _("all")} | {i: _(GRADES.get(label, label)) for i, label in labels.items()}
    return {name: found[name] for name in KEYS}


@lru_cache(maxsize=8)
def _labels(catalog: Catalog) -> dict[str, dict[str, str]]:
    """Field of a view -> the ids among the measured rows with their untranslated labels, sorted by label."""
    rows, found = measured_rows(catalog), {}
    for name, column in _COLUMN.items():
        pairs = zip(rows[column].tolist(), rows[_label_column(name)].tolist(), strict=True)
        found[name] = dict(sorted(set(pairs), key=lambda pair: pair[1].casefold()))
    return found


def from_query(
    query: str | Mapping[str, Any] | Iterable[tuple[str, str]], catalog: Catalog | None = None
) -> tuple[View, list[tuple[str, str, str]]]:
    """Read an address, a query string or its pairs: the view, and (key, value, reason) of what it could not use.

    Takes ids and labels; of a key given twice the last value. Keys that are not a view's are left to others. Never raises
    for a bad link.
    """
    names = {key: name for name, key in KEYS.items()}
    known = choices(catalog)
    view, ignored = View(), []
    for key, text in _pairs(query):
        if key not in names:
            continue
        name, value = names[key], text.strip()
        by_label = {label: i for i, label in known[name].items()}
        value = by_label.get(value, value)
        if value in known[name]:
            view = replace(view, **{name: value})
        else:
            some = ", ".join([label for label in by_label if label][:4])
            reason = _("not one of the {n} choices, such as {known}").format(n=len(by_label), known=some)
            ignored.append((key, text[:MAX_SHOWN_CHARACTERS], reason))
    return view, ignored


def to_params(view: View, catalog: Catalog | None = None) -> dict[str, str]:
    """The link of a view as the app writes it: keys and labels, non-default values only."""
    known, plain = choices(catalog), View()
    return {
        key: known[name][getattr(view, name)]
        for name, key in KEYS.items()
        if getattr(view, name) != getattr(plain, name)
    }


def to_query(view: View, catalog: Catalog | None = None) -> str:
    """`to_params` as a query string."""
    return urlencode(to_params(view, catalog))


def _pairs(query: str | Mapping[str, Any] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    if isinstance(query, Mapping):
        return [(str(k), str(v)) for k, vs in query.items() for v in (vs if isinstance(vs, list) else [vs])]
    if not isinstance(query, str):
        return [(str(k), str(v)) for k, v in query]
    text = query.strip().split("#", 1)[0]
    if re.match(r"(https?://|/|\?)", text):
        text = text.partition("?")[2]
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return []


def _label_column(name: str) -> str:
    return {"hardware": "hardware", "model": "model"}.get(name, _COLUMN[name])


# --- rows -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def measured_rows(catalog: Catalog) -> pd.DataFrame:
    """Every measured row whose model and hardware the catalogue knows, suspects included; shared, do not change.

    Times in ms. `context_tokens` is the mean context of a sequence, as `predict` takes it: input + output / 2, the input
    alone for a pure decode step or where no output is stated. `url` is the source's address in data/sources.csv, `path`
    where in it the row stands.
    """
    m = catalog.measured
    m = m[(m["model_id"] != "") & (m["hardware_id"] != "")].reset_index(drop=True)
    addresses = catalog.sources.drop_duplicates("title").set_index("title")["url"]
    engine = m["engine"].where(m["engine"] != "", UNNAMED_ENGINE)
    output = m["output_tokens"].where(m["clean_grade"] != PURE_DECODE).fillna(0.0)
    return pd.DataFrame(
        {
            "row_id": m["row_id"],
            "model_id": m["model_id"],
            "hardware_id": m["hardware_id"],
            "model": m["model_id"].map(catalog.models["label"]),
            "hardware": m["hardware_id"].map(catalog.hardware["label"]),
            "n_chips": m["n_chips"],
            "engine": engine,
            "engine_version": m["engine_version"],
            "precision": m["weight_precision"].where(m["weight_precision"] != "", NOT_STATED),
            "grade": m["clean_grade"],
            "input_tokens": m["input_tokens"],
            "output_tokens": m["output_tokens"],
            "concurrency": m["concurrency_or_batch"],
            "context_tokens": m["input_tokens"] + 0.5 * output,
            "source": m["source_name"],
            "url": m["source_name"].map(addresses).fillna(""),
            "path": m["source_url_or_repo_path"],
            "date": m["source_commit_or_date"],
            "notes": m["notes"].str.slice(0, NOTE_CHARACTERS),
            "suspect": m["row_id"].isin(catalog.measured_suspects["row_id"]),
            "cell": m.assign(engine=engine)[list(CELL)].astype(str).agg("|".join, axis=1),
            "tpot_ms": m["tpot_ms"],
            "ttft_ms": m["ttft_ms"],
        }
    )


@lru_cache(maxsize=64)
def _beside(quantity: str, left_out: str, catalog: Catalog) -> pd.DataFrame:
    """All measured rows with their prediction, whether or not both figures exist."""
    rows = measured_rows(catalog)
    if left_out == NOTHING:
        measured = catalog.measured
        found = predict(measured[measured["row_id"].isin(rows["row_id"])], catalog)
    else:
        found = catalog.calibration_left_out
        found = found[found["left_out"] == left_out]
    found = found.set_index("row_id").reindex(rows["row_id"])
    predicted, low, high = (
        found[f"{quantity}_ms{end}"].to_numpy(np.float64, na_value=np.nan) for end in ("", "_low", "_high")
    )
    measured_ms = rows[f"{quantity}_ms"].to_numpy(np.float64)
    inside = pd.array((measured_ms >= low) & (measured_ms <= high), dtype="boolean")
    inside[np.isnan(low) | np.isnan(high)] = pd.NA
    figures = {
        "measured_ms": measured_ms,
        "predicted_ms": predicted,
        "low_ms": low,
        "high_ms": high,
        "error": predicted / measured_ms - 1.0,
        "inside_band": inside,
    }
    return rows.drop(columns=["tpot_ms", "ttft_ms"]).assign(**figures)


def points(view: View, catalog: Catalog | None = None) -> pd.DataFrame:
    """The rows of a view that have a measured and a predicted figure, in the order of the file.

    Columns: those of `measured_rows` (row_id, model, hardware, source, url, path, date, notes, suspect, cell ...) and
    measured_ms, predicted_ms, low_ms and high_ms (90 % band, NaN where there is none), error = predicted / measured - 1,
    inside_band (NA without a band).
    """
    chosen = _chosen(view, catalog or load())
    return chosen[_both(chosen)].reset_index(drop=True)


def limits_ms(view: View, catalog: Catalog | None = None) -> tuple[float, float]:
    """Round ends of an axis that holds every measured and predicted figure of a view's quantity, whatever its filters."""
    rows = _beside(view.quantity, view.left_out, catalog or load())
    figures = rows.loc[_both(rows), ["measured_ms", "predicted_ms"]].to_numpy(np.float64)
    if not figures.size:
        return 1.0, 1000.0
    low, high = float(figures.min()), float(figures.max())
    rounded = np.outer(10.0 ** np.arange(math.floor(math.log10(low)), math.log10(high) + 1), (1, 2, 5, 10)).ravel()
    return float(rounded[rounded <= low].max()), float(rounded[rounded >= high].min())


def _chosen(view: View, catalog: Catalog) -> pd.DataFrame:
    rows = _beside(view.quantity, view.left_out, catalog)
    keep = np.ones(len(rows), dtype=bool)
    for name, column in _COLUMN.items():
        wanted = getattr(view, name)
        if wanted:
            keep &= (rows[column] == wanted).to_numpy()
    if view.suspects != "with":
        keep &= rows["suspect"].to_numpy() == (view.suspects == "only")
    return rows[keep]


def _both(rows: pd.DataFrame) -> np.ndarray:
    return (np.isfinite(rows["measured_ms"]) & np.isfinite(rows["predicted_ms"])).to_numpy()


# --- errors -----------------------------------------------------------------------------------------------------------


def errors(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Errors of some `points` by group, with the totals first; groups with most rows first. Columns ERROR_COLUMNS.

    median and p90: quantiles of |predicted / measured - 1|; bias: exp(median ln(predicted / measured)) - 1, so -0.1 is
    a tenth too low; coverage90: share of the rows with a band that lie inside their 90 % band (NaN without any band). All
    are fractions. "cells equal" counts every cell (one deployment: model, hardware, engine and version, precision, source)
    once however many rows it has: median and 90th percentile of the cells' medians, median of their biases, mean of their
    coverages. "median over groups" is the median of the groups' own figures, of groups with at least FEW_ROWS rows, and
    missing where there is none; these are the totals of data/calibration_errors.csv. few: under FEW_ROWS rows.
    Raises ValueError when `by` is not one of GROUPS.
    """
    if by not in GROUPS:
        raise ValueError(f"by must be one of {', '.join(GROUPS)}, got {by!r}")
    if rows.empty:
        return pd.DataFrame(columns=list(ERROR_COLUMNS))
    names = [_COLUMN[by], _label_column(by)]
    grouped = [
        {
            "group": part[names[0]].iloc[0],
            "label": part[names[1]].iloc[0],
            **_figures(part),
            "few": len(part) < FEW_ROWS,
        }
        for _name, part in rows.groupby(names[0], sort=True)
    ]
    grouped.sort(key=lambda group: -group["rows"])
    cells = pd.DataFrame([_figures(cell) for _name, cell in rows.groupby("cell")])
    whole = {"rows": len(rows), "cells": len(cells), "few": len(rows) < FEW_ROWS}
    equal = {
        "median": cells["median"].median(),
        "p90": cells["median"].quantile(0.9),
        "bias": math.expm1(np.log1p(cells["bias"]).median()),
        "coverage90": cells["coverage90"].mean(),
    }
    table = [
        {"group": ALL_ROWS, "label": _(ALL_ROWS), **_figures(rows), "few": whole["few"]},
        {"group": CELLS_EQUAL, "label": _(CELLS_EQUAL), **whole, **equal},
    ]
    large = pd.DataFrame([group for group in grouped if not group["few"]])
    if len(large):
        over = {name: large[name].median() for name in ("median", "p90", "coverage90")}
        over |= {"bias": math.expm1(np.log1p(large["bias"]).median())}
        over |= {"rows": int(large["rows"].sum()), "cells": int(large["cells"].sum()), "few": False}
        table.append({"group": OVER_GROUPS, "label": _(OVER_GROUPS), **over})
    return pd.DataFrame(table + grouped, columns=list(ERROR_COLUMNS))


def _figures(rows: pd.DataFrame) -> dict[str, float]:
    error = rows["error"].to_numpy(np.float64)
    inside = rows["inside_band"].to_numpy(np.float64, na_value=np.nan)
    banded = inside[~np.isnan(inside)]
    return {
        "rows": len(rows),
        "cells": rows["cell"].nunique(),
        "median": float(np.median(np.abs(error))),
        "p90": float(np.quantile(np.abs(error), 0.9)),
        "bias": math.expm1(float(np.median(np.log1p(error)))),
        "coverage90": float(banded.mean()) if banded.size else math.nan,
    }


# --- near a scenario --------------------------------------------------------------------------------------------------


def nearest(
    model_id: str,
    hardware_id: str,
    engine: str,
    batch: float,
    context_tokens: float,
    catalog: Catalog | None = None,
    count: int = 8,
) -> Nearest:
    """Measured rows nearest to a deployment of `batch` running sequences of `context_tokens` mean context.

    A context of no token counts as one. Rows of the same model on the same hardware come first, then those of the same model, then of the same hardware, then
    all others; within these by |ln(batch ratio)| + |ln(context ratio)|, the same engine first among equals. A row's batch
    is its concurrency. ids that no row has are no error: nothing then shares them.
    """
    rows = points(View(), catalog)
    same_model = (rows["model_id"] == model_id).to_numpy()
    same_hardware = (rows["hardware_id"] == hardware_id).to_numpy()
    pair = same_model & same_hardware
    off_batch = np.abs(np.log(rows["concurrency"].to_numpy(np.float64) / batch))
    off_context = np.abs(
        np.log(np.maximum(rows["context_tokens"].to_numpy(np.float64), 1.0) / max(context_tokens, 1.0))
    )
    rank = np.select([pair, same_model, same_hardware], [0, 1, 2], 3)
    other_engine = (rows["engine"] != engine).to_numpy()
    distance = off_batch + off_context
    order = np.lexsort((np.arange(len(rows)), other_engine, distance, rank))[:count]
    limit = math.log(NEAR_FACTOR) * (1 + 1e-12)
    in_batch, in_context = pair & (off_batch <= limit), pair & (off_context <= limit)
    listed = rows.assign(distance=distance, same_pair=pair).iloc[order].reset_index(drop=True)
    return Nearest(
        listed, int(pair.sum()), int(in_batch.sum()), int(in_context.sum()), int((in_batch & in_context).sum())
    )


def nearest_sentence(near: Nearest, model: str, hardware: str) -> str:
    """How well measured rows support a scenario, in one line; model and hardware are labels."""
    pair = {"model": model, "hardware": hardware}
    if not near.same_pair:
        return _("No measured row of {model} on {hardware}: its modelled speed is extrapolated.").format(**pair)
    batch = ngettext(
        "{n} measured point within 2x of this batch", "{n} measured points within 2x of this batch", near.near_batch
    ).format(n=near.near_batch)
    context = ngettext(
        "{n} within 2x of this context", "{n} within 2x of this context", near.near_context
    ).format(n=near.near_context)  # fmt: skip
    both = ngettext("{n} within 2x of both", "{n} within 2x of both", near.near_both).format(n=near.near_both)
    total = ngettext(
        "of {n} row of {model} on {hardware}", "of {n} rows of {model} on {hardware}", near.same_pair
    ).format(n=near.same_pair, **pair)  # fmt: skip
    return _("{batch}, {context}, {both}, {total}.").format(batch=batch, context=context, both=both, total=total)


@lru_cache(maxsize=8)
def _unmeasured(catalog: Catalog) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rows = measured_rows(catalog)
    shown = catalog.hardware[catalog.hardware["shown"] == 1]
    hardware = shown.loc[~shown.index.isin(rows["hardware_id"]), "label"]
    models = catalog.models.loc[~catalog.models.index.isin(rows["model_id"]), "label"]
    return tuple(hardware), tuple(models)


def unmeasured(catalog: Catalog | None = None) -> tuple[list[str], list[str]]:
    """Labels of the shown hardware and of the models that no measured row supports, in the order of the catalogue."""
    hardware, models = _unmeasured(catalog or load())
    return list(hardware), list(models)


# --- the command ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _report(view: View, catalog: Catalog, _language: str) -> dict[str, Any]:
    summary = {}
    for quantity in QUANTITIES:
        rows = points(replace(view, quantity=quantity), catalog)
        summary[quantity] = _figures(rows) if len(rows) else {"rows": 0}
    rows = points(view, catalog)
    return {
        "view": asdict(view),
        "query": to_query(view, catalog),
        "summary": {quantity: _plain(figures) for quantity, figures in summary.items()},
        "without_figures": len(_chosen(view, catalog)) - len(rows),
        "errors": [_plain(row) for row in errors(rows, view.by).to_dict("records")],
        "not_validated": dict(zip(("hardware", "models"), unmeasured(catalog), strict=True)),
    }


def report(view: View, catalog: Catalog | None = None) -> dict[str, Any]:
    """All figures of the Validation tab for a view, as the command prints them: plain numbers, None for unknown.

    summary: rows, median, p90, bias and coverage90 over all chosen rows for TPOT and TTFT; without_figures: chosen rows
    that lack a measured or a predicted figure of the view's quantity; errors: the table of `errors`; not_validated:
    `unmeasured`. Shared between callers, not to be changed.
    """
    return _report(view, catalog or load(), get_language())


def nearest_document(near: Nearest) -> dict[str, Any]:
    """`Nearest` as plain values for the command."""
    columns = [
        "row_id", "model_id", "hardware_id", "n_chips", "engine", "precision", "concurrency", "context_tokens", "measured_ms",
        "predicted_ms", "error", "source", "date",
    ]  # fmt: skip
    counts = {name: getattr(near, name) for name in ("same_pair", "near_batch", "near_context", "near_both")}
    return counts | {"rows": [_plain(row) for row in near.rows[columns].to_dict("records")]}


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _plain_value(value) for name, value in record.items()}


def _plain_value(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
