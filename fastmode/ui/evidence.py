"""The Evidence page: verdicts on claims, predicted against measured, errors of smaller models, randomised trials and the sources, as tabs."""

from __future__ import annotations

from functools import lru_cache, partial
from urllib.parse import urlencode, urljoin

import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode import link as links
from fastmode import validation, validation_sram
from fastmode.charts.validation import HEIGHT, alternative, validation_figure
from fastmode.claims import claims_table
from fastmode.i18n import N_, _, get_language, ngettext
from fastmode.scenario import Scenario
from fastmode.slo import batch_met
from fastmode.ui import evidence_quality, evidence_trials, state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart
from fastmode.validation import FEW_ROWS, GROUPS, KEYS, QUANTITIES, View

# What the fit knew of the rows it is compared with.
_KNEW = {
    "none": N_("the constants were fitted to these very rows"),
    "hardware": N_("each when its own hardware was left out of the fit"),
    "model": N_("each when its own model was left out of the fit"),
    "engine": N_("each when its own engine was left out of the fit"),
    "source": N_("each when its own source was left out of the fit"),
}
_SELECTS = {
    "hardware": N_("Hardware"),
    "model": N_("Model"),
    "engine": N_("Engine"),
    "source": N_("Source"),
    "grade": N_("Grade"),
    "precision": N_("Precision"),
    "suspects": N_("Suspects"),
}


def draw(scenario: Scenario) -> None:
    """Draw the page; only the open tab is computed."""
    bodies = (_claims, _validation, evidence_quality.draw, evidence_trials.draw, _sources)
    view.draw_open_tab("evidence", *(partial(body, scenario) for body in bodies))


# --- claims -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _verdicts(_language: str) -> pd.DataFrame:
    return claims_table(state.catalog())


_FIGURES = (N_("ours"), N_("low"), N_("high"))


def _claims(_scenario: Scenario) -> None:
    table = _verdicts(get_language())
    counts = table["verdict"].value_counts()
    words = ", ".join(f"{n} {_(verdict)}" for verdict, n in counts.items())
    draw_heading(_("{n} claims of the founding articles: {words}.").format(n=len(table), words=words))
    here = st.context.url or ""
    shown = pd.DataFrame(
        {
            _("id"): table["id"],
            _("verdict"): [_(verdict) for verdict in table["verdict"]],
            _("claim"): table["claim"],
            _("ours"): table["value"],
            _("unit"): table["unit"],
            _("as claimed"): table["published"],
            _("page"): [urljoin(here, f"./{address.lstrip('/')}") if address else None for address in table["link"]],
            _("low"): table["low"],
            _("high"): table["high"],
            _("basis"): table["basis"],
        }
    )
    number, text = st.column_config.NumberColumn, st.column_config.Column
    config = {
        _("id"): text(width=50),
        _("claim"): text(width=480),
        _("unit"): text(width=90),
        _("page"): st.column_config.LinkColumn(display_text=_("open"), width=60),
        _("basis"): text(width="large"),
        **{_(name): number(format="%.3g", width=85) for name in _FIGURES},
    }
    st.dataframe(shown, hide_index=True, width="stretch", height=620, column_config=config, placeholder=fmt.MISSING, key="claims_table")  # fmt: skip
    _command("claims", {}, "-o claims.csv")


# --- validation -------------------------------------------------------------------------------------------------------


def _validation(scenario: Scenario) -> None:
    head = st.container(key="evidence_head", height="content")  # its figures follow from the filters below it
    view = _filters()
    report = validation.report(view, state.catalog())
    with head:
        for line, is_first in _sentences(view, report):
            draw_heading(line) if is_first else draw_note(line)
    points = validation.points(view, state.catalog())
    if points.empty:
        with st.container(border=True, key="evidence_empty"):
            st.write(_("No measured row has all of these properties."))
            st.button(_("Reset filters"), on_click=_reset, key="evidence_reset")
        return
    left, right = st.columns([10, 12], gap="medium")
    with left:
        _chart(scenario, view, points, report)
    with right:
        _errors(view, report)
    _rows(view, points)
    _near(scenario, view)
    _few_groups(view, report)
    _sram()
    _not_validated()


def _filters() -> View:
    """The filter bar: two switches and seven selects, all in the link."""
    known = validation.choices(state.catalog())
    with st.container(horizontal=True, key="evidence_switches", gap="medium", vertical_alignment="bottom"):
        _switch("quantity", _("Quantity"), known, None)
        _switch("left_out", _("Left out of the fit"), known, _("The prediction of each row comes from a fit that never saw rows of the same hardware, model, engine or source."))  # fmt: skip
    with st.container(horizontal=True, key="evidence_selects", gap="small", vertical_alignment="bottom"):
        for name, label in _SELECTS.items():
            labels = known[name]
            st.selectbox(_(label), list(labels), format_func=lambda i, labels=labels: labels.get(i, i), key=KEYS[name], bind="query-params", width=_WIDTHS[name], help=_(_HELP[name]) if name in _HELP else None)  # fmt: skip
    return view.of_validation()


# Seven in one line beside the open sidebar of a laptop.
_WIDTHS = {"hardware": 105, "model": 145, "engine": 105, "source": 140, "grade": 110, "precision": 110, "suspects": 150}
_HELP = {
    "grade": N_("A: engine steps of pure decode. B: served, output at least as long as input. B2: served, input longer, so the time per token holds prefill work of other requests."),
    "suspects": N_("Rows that look mislabelled or capped (data/measured_suspects.csv). They stay in every total unless they are filtered out here."),
}  # fmt: skip


def _switch(name: str, label: str, known: dict[str, dict[str, str]], about: str | None) -> None:
    labels = known[name]
    st.segmented_control(
        label, list(labels), default=getattr(View(), name), format_func=lambda i: labels.get(i, i), key=KEYS[name],
        bind="query-params", required=True, help=about, wrap=True,
    )  # fmt: skip


def _reset() -> None:
    plain = View()
    for name, key in KEYS.items():
        if name not in ("quantity", "left_out", "by"):
            st.session_state[key] = getattr(plain, name)
    # A combination can also be empty because the quantity was not measured; the one that always is stands then.
    st.session_state[KEYS["quantity"]] = plain.quantity


def _sentences(view: View, report: dict) -> list[tuple[str, bool]]:
    """What the picture says, first of the quantity shown, then of the other one and of the band."""
    other = next(quantity for quantity in QUANTITIES if quantity != view.quantity)
    lines = [(_finding(view.quantity, report["summary"][view.quantity], view.left_out), True)]
    rest = [_also(other, report["summary"][other])]
    figures = report["summary"][view.quantity]
    if figures["rows"]:
        once = next(row for row in report["errors"] if row["group"] == validation.CELLS_EQUAL)
        rest.append(
            _("With each deployment counted once, half lie within {median}.").format(median=fmt.share(once["median"]))
        )
        rest.append(_bias(figures["bias"]))
        if figures["coverage90"] is None:
            rest.append(_("No 90 % band is computed for these predictions yet."))
        else:
            rest.append(
                _("{share} of the rows lie within their 90 % band.").format(share=fmt.share(figures["coverage90"]))
            )
            rest.append(
                _("With each deployment counted once that is {share}: many small ones hold suspect rows alone.").format(
                    share=fmt.share(once["coverage90"])
                )
            )
    missing = report["without_figures"]
    if missing:
        rest.append(
            ngettext(
                "{n} chosen row has no figure to compare.", "{n} chosen rows have no figure to compare.", missing
            ).format(n=fmt.count(missing))
        )
    return [*lines, (" ".join(rest), False)]


def _bias(bias: float) -> str:
    size = fmt.share(abs(round(bias, 3)))
    if bias < 0:
        return _("The middle prediction is {size} below its measurement.").format(size=size)
    return _("The middle prediction is {size} above its measurement.").format(size=size)


def _finding(quantity: str, figures: dict, left_out: str) -> str:
    words = {"quantity": _(QUANTITIES[quantity]), "rows": fmt.count(figures["rows"]), "knew": _(_KNEW[left_out])}
    if not figures["rows"]:
        return _("No measured {quantity} among the chosen rows.").format(**words)
    words |= {"median": fmt.share(figures["median"]), "p90": fmt.share(figures["p90"])}
    if figures["rows"] < FEW_ROWS:
        return ngettext(
            "{rows} measured row: its {quantity} is predicted {median} off; {knew}.",
            "{rows} measured rows, too few to say more: half of the predictions lie within {median} of the measured {quantity}; {knew}.",
            figures["rows"],
        ).format(**words)
    return _("Half of {rows} predictions lie within {median} of the measured {quantity}, nine in ten within {p90}; {knew}.").format(**words)  # fmt: skip


def _also(quantity: str, figures: dict) -> str:
    name = _(QUANTITIES[quantity])
    if not figures["rows"]:
        return _("{quantity}: no measured row among these.").format(quantity=name)
    return _("{quantity} of {rows} rows: half within {median}, nine in ten within {p90}.").format(
        quantity=name, rows=fmt.count(figures["rows"]), median=fmt.share(figures["median"]), p90=fmt.share(figures["p90"]),
    )  # fmt: skip


def _chart(scenario: Scenario, view: View, points: pd.DataFrame, report: dict) -> None:
    quantity = _(QUANTITIES[view.quantity])
    model, hardware = str(scenario.model), str(scenario.hardware)
    pair = _("{model} on {hardware}").format(model=_label("models", model), hardware=_label("hardware", hardware))
    limits = validation.limits_ms(view, state.catalog())
    figure, narrow = validation_figure(points, quantity, limits, mode(), own=(model, hardware, pair))
    alt = alternative(quantity, report["summary"][view.quantity])
    chart(figure, key="validation", alt=alt, height=HEIGHT, narrow=narrow)


def _errors(view: View, report: dict) -> None:
    _switch("by", _("Errors by"), {"by": {g: _(validation.LEFT_OUT[g]) for g in GROUPS}}, None)
    _error_table(
        [row for row in report["errors"] if row["group"] in _TOTALS or not row["few"]], "errors_table", view.by
    )
    _command("validate", validation.to_params(view, state.catalog()))


_TOTALS = (validation.ALL_ROWS, validation.CELLS_EQUAL, validation.OVER_GROUPS)


def _error_table(rows: list[dict], key: str, by: str) -> None:
    percent = st.column_config.NumberColumn
    columns = {
        "label": st.column_config.Column(_(validation.LEFT_OUT[by]), pinned=True, width=152),
        "rows": percent(_("rows"), width=50, help=_("Measured rows in the group.")),
        "cells": percent(_("cells"), width=48, help=_("Deployments: model, hardware, engine and version, precision, source. The line on equal cells counts each of them once, by its median.")),
        "median": percent(_("median"), width=68, format="%.1f %%", help=_("Half of the rows are at most this far from the prediction.")),
        "p90": percent(_("90th"), width=72, format="%.1f %%", help=_("Nine in ten rows are at most this far from the prediction.")),
        "bias": percent(_("bias"), width=68, format="%+.1f %%", help=_("The middle row's prediction against its measurement; below zero, the model is too fast.")),
        "coverage90": percent(_("in band"), width=62, format="%.0f %%", help=_("Share of the rows that lie within the prediction's 90 % band; empty where no band is computed.")),
    }  # fmt: skip
    table = pd.DataFrame(rows, columns=list(columns))
    for name in ("median", "p90", "bias", "coverage90"):
        table[name] = 100.0 * table[name].astype(float)
    if table["coverage90"].isna().all():
        table = table.drop(columns="coverage90")  # the sentence above says that there is none
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=columns, key=key)


def _rows(view: View, points: pd.DataFrame) -> None:
    with st.expander(_("The rows as a table"), key="evidence_rows", on_change="rerun") as rows:
        if not rows.open:
            return
        _row_table(points, "rows_table", 420)
        _command("validate", validation.to_params(view, state.catalog()), "-o rows.csv")


def _row_table(points: pd.DataFrame, key: str, height: int | str) -> None:
    number, text = st.column_config.NumberColumn, st.column_config.Column
    columns = {
        "model": text(_("model"), width=112, pinned=True),
        "hardware": text(_("hardware"), width=70),
        "n_chips": number(_("chips"), width=50),
        "engine": text(_("engine"), width=65),
        "engine_version": text(_("version"), width=60),
        "precision": text(_("precision"), width=70),
        "input_tokens": number(_("tokens in"), width=72),
        "output_tokens": number(_("tokens out"), width=76),
        "concurrency": number(_("batch"), width=55, help=_("Requests in flight, the most that can run together.")),
        "measured_ms": number(_("measured"), width=75, format="%.3g ms"),
        "predicted_ms": number(_("predicted"), width=75, format="%.3g ms"),
        "error": number(_("error"), format="%+.1f %%", width=70),
        "url": st.column_config.LinkColumn(_("source"), display_text=_("open"), width=60),
        "suspect": st.column_config.CheckboxColumn(_("suspect"), width=65),
        "source": text(_("name of the source")),
        "date": text(_("date or version")),
        "path": text(_("place in the source")),
        "notes": text(_("notes")),
    }
    table = points[list(columns)].assign(error=100.0 * points["error"])
    st.dataframe(table, hide_index=True, width="stretch", height=height, column_config=columns, key=key)


def _near(scenario: Scenario, view: View) -> None:
    st.subheader(_("Near your scenario"), anchor=False)
    model, hardware = str(scenario.model), str(scenario.hardware)
    near = validation.nearest(model, hardware, str(scenario.engine), batch_met(scenario, state.catalog()), float(scenario.context_tokens), state.catalog())  # fmt: skip
    sentence = validation.nearest_sentence(near, _label("models", model), _label("hardware", hardware))
    st.write(sentence)
    st.caption(_("The nearest measured rows, with the TPOT the current model predicts for them:"))
    _row_table(near.rows, "near_table", "content")
    _command("validate", links.to_params(scenario) | validation.to_params(view, state.catalog()))


def _label(table: str, row: str) -> str:
    frame = getattr(state.catalog(), table)
    return str(frame.at[row, "label"]) if row in frame.index else row or _("an unknown model")


def _few_groups(view: View, report: dict) -> None:
    few = [row for row in report["errors"] if row["few"] and row["group"] not in _TOTALS]
    if few:
        st.subheader(_("Groups under {n} rows").format(n=FEW_ROWS), anchor=False)
        st.caption(_("Each as it is; so few rows bear no rule."))
        _error_table(few, "few_table", view.by)


def _sram() -> None:
    """Machines without measured rows: published speeds of a lone user, each predicted without its architecture."""
    st.subheader(_("Wafers and small SRAM chips"), anchor=False)
    for sentence in validation_sram.sentences(state.catalog()):
        st.write(sentence)
    table = validation_sram.points(state.catalog())
    shown = pd.DataFrame(
        {
            _("model"): table["model"],
            _("machine"): [_label("hardware", row) for row in table["hardware_id"]],
            _("date"): table["date"],
            _("published"): [fmt.quantity(v, "tok/s") for v in table["measured"]],
            _("predicted without it"): [fmt.quantity(v, "tok/s") for v in table["predicted_left_out"]],
            _("90 % band"): [f"{fmt.number(a)}-{fmt.number(b)}" for a, b in zip(table["low"], table["high"], strict=True)],
            _("inside"): table["inside"] == 1,
            _("not used, because"): table["why_not"],
            _("source"): table["source_url"],
        }
    )
    with st.expander(_("The {n} published speeds").format(n=len(shown))):
        st.dataframe(
            shown, hide_index=True, key="sram_table",
            column_config={_("source"): st.column_config.LinkColumn(display_text=_("open"))},
        )  # fmt: skip
    _command("validate", {})


def _not_validated() -> None:
    hardware, models = validation.unmeasured(state.catalog())
    st.caption(
        _(
            "Not validated, for want of measured rows: {hardware}; {n} of {all} models, among them {models}; speculation, which no row uses. SRAM machines rest on published speeds of their own kind."
        ).format(
            hardware=", ".join(hardware), n=len(models), all=len(state.catalog().models), models=", ".join(models[:8])
        )
    )


# --- sources ----------------------------------------------------------------------------------------------------------


def _sources(_scenario: Scenario) -> None:
    table = state.catalog().sources
    draw_heading(ngettext("{n} cited address.", "{n} cited addresses.", len(table)).format(n=len(table)))
    st.caption(" · ".join(f"{_(kind)} {n}" for kind, n in table["kind"].value_counts().items()))
    wanted = st.text_input(_("Find"), key="find", bind="query-params", max_chars=80, placeholder=_("publisher, title, address or kind"))  # fmt: skip
    texts = table[["publisher", "title", "url", "kind"]].agg(" ".join, axis=1).str.casefold()
    found = table[[all(word in text for word in (wanted or "").casefold().split()) for text in texts]]
    if wanted:
        st.caption(ngettext("{n} address found", "{n} addresses found", len(found)).format(n=len(found)))
    columns = {
        "publisher": st.column_config.Column(_("publisher")),
        "title": st.column_config.Column(_("title"), width="large"),
        "kind": st.column_config.Column(_("kind")),
        "license_note": st.column_config.Column(_("licence note")),
        "url": st.column_config.LinkColumn(_("address"), width="large"),
    }
    st.dataframe(found[list(columns)], hide_index=True, width="stretch", height=620, column_config=columns, key="sources_table")  # fmt: skip


# --- shared -----------------------------------------------------------------------------------------------------------


def _command(name: str, params: dict[str, str], output: str = "") -> None:
    """The command that prints the figures above it."""
    words = ["python -m fastmode", name, f'"{urlencode(params)}"' if params else "", output]
    st.code(" ".join(word for word in words if word), language="bash", wrap_lines=True)
