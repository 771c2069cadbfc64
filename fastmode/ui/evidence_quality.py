"""The tab "Quality" of the Evidence page: predicted against published errors, students, and from calls to tasks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode import quality_check
from fastmode.charts.quality import HEIGHT, alternative, quality_figure
from fastmode.evaluate import evaluate
from fastmode.i18n import _, ngettext
from fastmode.quality import WHICH_TEXT
from fastmode.quality_check import ALL, FAMILIES, STUDENT_TOLERANCE, TASK_FAMILIES
from fastmode.scenario import Scenario
from fastmode.ui import state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart


def draw(scenario: Scenario) -> None:
    """Draw the tab."""
    head = st.container(key="quality_head", height="content")  # its figures follow from the filters below it
    with st.container(horizontal=True, key="quality_switches", gap="medium", vertical_alignment="bottom"):
        family = view.choice("qf", _("Task family"))
        fit = view.choice(
            "qi", _("Own model family"),
            _("Left out: slope and spread come from the other model families only, as for a model nobody has measured."),
        )  # fmt: skip
    left_out = fit == "out"
    summary = quality_check.summary(state.catalog())
    row = summary.set_index("task_family", drop=False).loc[family].to_dict()
    pairs = quality_check.predicted_pairs(state.catalog(), left_out)
    pairs = pairs if family == ALL else pairs[pairs["task_family"] == family]
    own = _own_model(scenario)
    with head:
        _sentences(row, own)
    left, right = st.columns([10, 12], gap="medium")
    with left:
        figure, narrow = quality_figure(pairs, mode(), own=own)
        shown = row | {name: row[f"left_{name}"] for name in ("median_error", "inside_90") if left_out}
        chart(figure, key="quality", alt=alternative(shown), height=HEIGHT, narrow=narrow)
    with right:
        _summary_table(summary, left_out)
    with st.expander(_("The scores as a table"), key="quality_rows", on_change="rerun") as rows:
        if rows.open:
            _pair_table(pairs)
    _students()
    _steps(scenario)


def _own_model(scenario: Scenario) -> str:
    """Name of the model that the scenario's option serves, as published scores write it."""
    return str(state.catalog().endpoints.at[str(scenario.preset), "model"])


# --- predicted against published --------------------------------------------------------------------------------------


def _sentences(row: dict, own: str) -> None:
    words = {
        "rows": fmt.count(row["rows"]),
        "median": fmt.number(100.0 * row["median_error"]),
        "inside": fmt.share(row["inside_90"]),
        "left": fmt.share(row["left_inside_90"]),
        "left_median": fmt.number(100.0 * row["left_median_error"]),
    }
    if row["task_family"] == ALL:
        first = _("Half of {rows} published errors of smaller models lie within {median} points of their prediction; the 90 % band holds {inside} of them, {left} with their own family left out of the fit.")  # fmt: skip
    else:
        first = _("Half of {rows} published errors of smaller models in {family} lie within {median} points of their prediction; the 90 % band holds {inside} of them, {left} with their own family left out of the fit.")  # fmt: skip
        words["family"] = _(TASK_FAMILIES[row["task_family"]])
    draw_heading(first.format(**words))
    rest = [_("With its own family left out, half lie within {left_median} points.").format(**words)]
    if row["task_family"] != ALL:
        rest.append(_("Rule: {rule}.").format(rule=_(WHICH_TEXT[row["rule"]])))
    missing = quality_check.not_predicted(state.catalog())
    rest.append(
        ngettext(
            "{n} more published score has no prediction: sizes unpublished, and only agentic work uses tier steps.",
            "{n} more published scores have no prediction: sizes unpublished, and only agentic work uses tier steps.",
            missing,
        ).format(n=fmt.count(missing))
    )
    pairs = quality_check.predicted_pairs(state.catalog())
    rest += [
        _("{child} on {benchmark}: published {error}, predicted {predicted} ({low} to {high}).").format(
            child=own, benchmark=pair["benchmark"], error=fmt.share(pair["published_error"]), predicted=fmt.share(pair["predicted_error"]),
            low=fmt.share(pair["low_90"]), high=fmt.share(pair["high_90"]),
        )
        for pair in pairs[pairs["child"] == own].head(2).to_dict("records")
    ]  # fmt: skip
    draw_note(" ".join(rest))


def _summary_table(summary: pd.DataFrame, left_out: bool) -> None:
    number = st.column_config.NumberColumn
    points, percent = "%.1f", "%.0f %%"
    columns = {
        "task_family": st.column_config.Column(_("task family"), pinned=True, width=105),
        "rows": number(_("scores"), width=65),
        "families": number(_("families"), width=70, help=_("Model families the scores come from; few of them say little.")),
        "median_error": number(_("off by"), width=65, format=points, help=_("Points; half of the published errors are at most this far from the prediction.")),
        "bias": number(_("bias"), width=60, format="%+.1f", help=_("Points; the middle prediction against its published error. Above zero the rule expects too many errors.")),
        "inside_50": number(_("in 50 %"), width=70, format=percent, help=_("Share of the published errors inside the 50 % band.")),
        "inside_90": number(_("in 90 %"), width=70, format=percent, help=_("Share of the published errors inside the 90 % band.")),
    }  # fmt: skip
    rates = ("median_error", "bias", "inside_50", "inside_90")
    shown = summary[["rows", "families"]].assign(task_family=[_(FAMILIES[name]) for name in summary["task_family"]])
    for name in rates:
        shown[name] = (100.0 * summary[f"left_{name}" if left_out else name]).round(1) + 0.0  # no "-0.0"
    st.dataframe(shown[list(columns)], hide_index=True, width="stretch", height="content", column_config=columns, key="quality_summary")  # fmt: skip
    st.caption(
        _("Each model family predicted from the others alone. Where the 90 % band holds fewer than 90 %, it is too narrow for a family that nobody has measured.")
        if left_out
        else _("Slopes and spreads were fitted to these very scores. Left out of the fit is the fairer test.")
    )  # fmt: skip


def _pair_table(pairs: pd.DataFrame) -> None:
    number, text = st.column_config.NumberColumn, st.column_config.Column
    percent = "%.1f %%"
    columns = {
        "parent": text(_("larger model"), width=115, pinned=True),
        "child": text(_("smaller model"), width=145, pinned=True),
        "training": text(_("made by"), width=80),
        "benchmark": text(_("benchmark"), width=150),
        "size_ratio": number(_("smaller by"), width=72, format="%.3gx", help=_("Total parameters; empty where a vendor publishes no size: then it counts as one tier step.")),
        "parent_error": number(_("larger"), width=60, help=_("Published error of the larger model."), format=percent),
        "published_error": number(_("published"), width=72, format=percent),
        "predicted_error": number(_("predicted"), width=72, format=percent),
        "low_90": number(_("90 % from"), width=72, format=percent),
        "high_90": number(_("to"), width=60, format=percent),
        "residual_logit": number(_("residual"), width=65, format="%+.2f", help=_("Log odds of the published error over those of the predicted one.")),
        "url": st.column_config.LinkColumn(_("source"), display_text=_("open"), width=55),
    }  # fmt: skip
    shown = pairs[list(columns)].copy()
    shown["training"] = [word.replace("_", " ") for word in shown["training"]]
    rates = ["parent_error", "published_error", "predicted_error", "low_90", "high_90"]
    shown[rates] *= 100.0
    st.dataframe(shown, hide_index=True, width="stretch", height=420, column_config=columns, placeholder=fmt.MISSING, key="quality_pairs")  # fmt: skip


# --- students ---------------------------------------------------------------------------------------------------------


def _students() -> None:
    st.subheader(_("A smaller model's architecture"), anchor=False)
    table = quality_check.student_table(state.catalog())
    outside = table.loc[~table["within"], "child"]
    st.write(
        _("The distillation slider shrinks depth and width alike. Against {n} real siblings, {within} come out within {tolerance} on active parameters, KV cache and step time; not {outside}, which have fewer experts as well, so that the rule gives them too few active parameters and too fast a step.").format(
            n=len(table), within=int(table["within"].sum()), tolerance=fmt.share(STUDENT_TOLERANCE), outside=", ".join(outside),
        )
    )  # fmt: skip
    number, times = st.column_config.NumberColumn, "%.2fx"
    columns = {
        "teacher": st.column_config.Column(_("teacher"), pinned=True),
        "child": st.column_config.Column(_("real sibling")),
        "size_ratio": number(_("smaller by"), format="%.3gx", help=_("Total parameters.")),
        "active_rule_b": number(_("active, rule"), format="%.1f B", help=_("Parameters read for a token, billions.")),
        "active_real_b": number(_("active, real"), format="%.1f B"),
        "active": number(_("active"), format=times, help=_("Rule over real.")),
        "kv": number(_("KV cache"), format=times, help=_("Rule over real, bytes of one sequence.")),
        "step_low": number(_("step, least"), format=times, help=_("Rule over real, modelled decode step; the lowest over batches and contexts.")),
        "step_high": number(_("step, most"), format=times),
        "within": st.column_config.CheckboxColumn(_("within")),
    }  # fmt: skip
    st.dataframe(table[list(columns)], hide_index=True, width="stretch", height="content", column_config=columns, key="quality_students")  # fmt: skip
    label = state.catalog().hardware.at[quality_check.STEP_HARDWARE, "label"]
    st.caption(
        _("Steps on {chips} {hardware} with {precision} weights, batch {batches}, context {contexts} tokens.").format(
            chips=quality_check.STEP_CHIPS, hardware=label, precision=quality_check.STEP_PRECISION,
            batches=", ".join(map(fmt.number, quality_check.STEP_BATCHES)), contexts=", ".join(fmt.count(n) for n in quality_check.STEP_CONTEXTS),
        )
    )  # fmt: skip


# --- from one call to a whole task ------------------------------------------------------------------------------------


def _steps(scenario: Scenario) -> None:
    st.subheader(_("From one call to a whole task"), anchor=False)
    now = evaluate(scenario, state.catalog()).now
    error, calls = float(now.error_rate[0]), max(round(float(now.inputs.calls[0])), 1)
    tries = quality_check.tries(state.catalog())
    if fmt.is_missing(error):
        st.write(_("This scenario has no error rate."))
    else:
        found = quality_check.steps(error, calls, state.catalog())
        st.write(
            _("An error of {error} over {calls} is {single} a call if calls fail independently. If calls of one task are as alike as repeated tries of it are in {benchmark}, it is {alike} a call. With twice as many calls {twice} of the tasks fail, or {twice_alike}.").format(
                error=fmt.share(error), calls=ngettext("{n} call", "{n} calls", calls).format(n=fmt.count(calls)), single=fmt.share(found.independent), alike=fmt.share(found.correlated),
                twice=fmt.share(found.twice_independent), twice_alike=fmt.share(found.twice_correlated), benchmark=_("tau-bench"),
            )
        )  # fmt: skip
    percent = st.column_config.NumberColumn
    shown = pd.DataFrame(
        {
            "tries": tries.tries,
            "published": 100.0 * tries.published,
            "independent": 100.0 * tries.independent,
            "correlated": 100.0 * tries.correlated,
        }
    )
    columns = {
        "tries": percent(_("tries"), width=60),
        "published": percent(_("all succeed, published"), format="%.1f %%"),
        "independent": percent(_("if independent"), format="%.1f %%"),
        "correlated": percent(_("if tasks differ"), format="%.1f %%", help=_("Each task has its own rate of success, beta distributed; set by the first two published rates.")),
    }  # fmt: skip
    with st.container(width=620):
        st.dataframe(shown, hide_index=True, height="content", column_config=columns, key="quality_tries")
    st.caption(
        _("{model} on tau-bench retail ([source]({url})). Failures come together: after one failure a blind retry succeeds {ratio} as often as a first try.").format(
            model=tries.population, url=tries.url, ratio=fmt.ratio(tries.retry_ratio)
        )
    )  # fmt: skip
