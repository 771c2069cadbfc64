"""Wafers and machines of many small SRAM chips: published speeds against the model and two plain baselines.

Each architecture was left out of the fit that predicts it (data/calibration_sram*.csv, written by `calibrate`).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.i18n import N_, _

KIND_LABELS = {"wafer": N_("wafers"), "lpu": N_("machines of many small SRAM chips")}
METHOD_LABELS = {"physics": N_("model"), "mean": N_("mean speed"), "power": N_("power law of active parameters")}
MODEL = "physics"


def errors(catalog: Catalog) -> pd.DataFrame:
    """One row per kind and method: kind, method, rows, median and max of |predicted/published - 1| of time per token, bias
    (median of predicted/published - 1) and factor (exp of the mean |ln|, the same for times and speeds)."""
    return catalog.calibration_sram.copy()


def points(catalog: Catalog) -> pd.DataFrame:
    """One row per published speed with an architecture, tokens/s: columns of data/calibration_sram_points.csv and, from
    data/sram_points.csv, model, hardware_id, date, basis, speculation, why_not and source_url."""
    about = catalog.sram_points.set_index("id")[
        ["model", "hardware_id", "date", "basis", "speculation", "why_not", "source_url"]
    ]
    return catalog.calibration_sram_points.join(about, on="id")


def better(catalog: Catalog, kind: str) -> str:
    """Method with the smallest mean factor, the figure that does not depend on whether times or speeds are compared."""
    table = errors(catalog)
    table = table[table["kind"] == kind].set_index("method")["factor"]
    return str(table.idxmin())


def sentences(catalog: Catalog) -> list[str]:
    """What the figures say, one sentence or two for each kind that has points."""
    table = errors(catalog).set_index(["kind", "method"])
    inside = points(catalog)
    inside = inside[inside["use"] == 1]
    said = []
    for kind in KIND_LABELS:
        if (kind, MODEL) not in table.index:
            continue
        own, rivals = table.loc[(kind, MODEL)], table.loc[kind].drop(MODEL)
        mine = inside[inside["kind"] == kind]
        said.append(
            _(
                "{kind}, {rows} published speeds: time per token is {median} off in the median, {most} at most; {baselines}. {held} of {rows} lie inside their 90 % band, {others} inside a band from the other speeds alone. {decision}"
            ).format(
                kind=_first_upper(_(KIND_LABELS[kind])), rows=int(own["rows"]), median=fmt.share(own["median"]),
                most=fmt.share(own["max"]), held=int(mine["inside"].sum()), others=int(mine["inside_others"].sum()), decision=_decision(own, rivals, better(catalog, kind)),
                baselines="; ".join(
                    _("{method} {median}, {most}").format(method=_(METHOD_LABELS[name]), median=fmt.share(row["median"]), most=fmt.share(row["max"]))
                    for name, row in rivals.iterrows()
                ),
            )
        )  # fmt: skip
    return said


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _decision(own: pd.Series, rivals: pd.DataFrame, best: str) -> str:
    beaten = (own["median"] < rivals["median"]).all() and (own["max"] < rivals["max"]).all()
    if beaten:
        return _("The model beats both and is used.")
    if best == MODEL:
        return _(
            "The model does not beat both on every figure; it is used since its mean factor is the smallest, {own} against {rivals}."
        ).format(
            own=fmt.ratio(own["factor"]), rivals=_(" and ").join(fmt.ratio(f) for f in rivals["factor"])
        )  # fmt: skip
    return _(
        "The {best} has the smaller mean factor, {rival} against {own}: take the modelled speed of such machines as no better than that."
    ).format(
        best=_(METHOD_LABELS[best]), rival=fmt.ratio(rivals.at[best, "factor"]), own=fmt.ratio(own["factor"])
    )  # fmt: skip


def document(catalog: Catalog) -> dict[str, Any]:
    """The same for the command `validate`, as plain values."""
    listed = points(catalog)[["id", "kind", "use", "measured", "predicted_left_out", "low", "high", "inside", "inside_others"]]
    return {
        "sentences": sentences(catalog),
        "errors": errors(catalog).to_dict("records"),
        "points": listed.to_dict("records"),
    }
