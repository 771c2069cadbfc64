"""The tab "Fast against cheap": what a batch trades, standard and fast on it, and the most that meets the limits given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts.frontier import HEIGHT, HEIGHT_NARROW, Mark, frontier_figure
from fastmode.evaluate import Evaluation
from fastmode.frontier import Frontier, Line, chip_word, finding, frontier, small_print
from fastmode.i18n import _
from fastmode.scenario import option_edited
from fastmode.slo import goodput_text
from fastmode.ui import state
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror
from fastmode.verdict import option_name


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for an evaluation of single values."""
    e = evaluation
    within = _slo_batch(e)
    found = frontier(e, option_name(e, option_edited(e.scenario, e.catalog)), [within] if np.isfinite(within) else [])
    if found.own is None:
        draw_heading(_("No line to show: {reason}.").format(reason=e.service_reason(e.now)))
        _limits(e)
        return
    text = finding(found)
    draw_heading(text)
    lines = [line for line in (found.own, found.compared) if line is not None]
    figure, narrow = frontier_figure(lines, marks(found, e, within), mode(), scale=state.scale())
    chart(figure, key="frontier", alt=text, height=HEIGHT, height_narrow=HEIGHT_NARROW, narrow=narrow)
    for line in _captions(found, e):
        draw_note(line)
    _limits(e)
    _table(lines)


def marks(found: Frontier, e: Evaluation, within: float) -> list[Mark]:
    """What is named on the lines. within: the largest batch that meets the limits given, NaN without one."""
    own, base = found.own, 0 if found.compared is None else 1
    line = found.base
    made = [Mark(0, own.now_batch, _("{option} now").format(option=own.label), "now")]
    if base:
        made.append(Mark(1, line.home_batch, line.label, "home"))
    elif own.home_batch != own.now_batch:
        made.append(Mark(0, own.home_batch, str(e.catalog.presets.at[str(e.scenario.preset), "label"]), "home"))
    at: dict[float, list[str]] = {}
    for tier in found.tiers:
        at.setdefault(tier.batch, []).append(tier.label)
    made += [Mark(base, batch, _("{tier}, assumed").format(tier=", ".join(names)), "tier") for batch, names in at.items()]
    wanted = found.wanted
    if wanted is not None and np.isfinite(wanted.batch[0]):
        speed = _("{ratio} as fast ({speed} tok/s)").format(ratio=fmt.ratio(wanted.ratio), speed=fmt.number(wanted.tokens_per_s))
        made.append(Mark(base, wanted.batch[0], speed, "wanted"))
    if np.isfinite(within):
        made.append(Mark(0, within, _("limits met up to here"), "slo"))
    return made


def _slo_batch(e: Evaluation) -> float:
    """The largest batch within the scenario's limits; NaN where there is no limit or none meets it."""
    good = e.goodput
    batch = np.nan if good is None else e.at(good.batch)
    return batch if batch >= 1.0 else np.nan


def _captions(found: Frontier, e: Evaluation) -> list[str]:
    speeds = _("Speeds are the quoted ones moved by the model's ratio; their bands close at the quoted figure.")
    if e.scenario.anchor == "model":
        speeds = _("Speeds are the model's alone.")
    made = [
        *small_print(found),
        speeds + " " + _("The bands hold what the model misses in the time per output token, by which speed and output move together; they do not hold the choice of the stand-in model and of the assumed batches, which nobody publishes."),
    ]  # fmt: skip
    if e.scenario.load != "batch":
        made.append(_("In traffic the filled mark stands at the batch that a request meets on average; the line itself is of fixed batches."))
    return made


def _limits(e: Evaluation) -> None:
    """The limits as second controls, and the most that meets them."""
    st.subheader(_("How large a batch still meets a limit?"), anchor=False)
    left, right, answer = st.columns([1, 1, 2], vertical_alignment="bottom")
    with left:
        mirror("slo_ttft_s")
    with right:
        mirror("slo_tpot_s")
    answer.caption(
        goodput_text(e) or _("Enter a limit on TTFT or on the time per output token for the largest batch and the most traffic that keep it in 19 of 20 calls (p95).")
    )  # fmt: skip


def _table(lines: list[Line]) -> None:
    with st.expander(_("The lines as a table"), key="frontier_table"):
        frames = []
        for line in lines:
            (low, high), usd = line.reach[90], line.provider_usd_per_mtok
            frames.append(
                pd.DataFrame(
                    {
                        _("option"): line.label,
                        _("batch"): line.batch,
                        _("tok/s of one user"): line.tokens_per_s,
                        _("90 %: from"): line.tokens_per_s * low,
                        _("90 %: to"): line.tokens_per_s * high,
                        _("per"): chip_word(line),
                        _("output tok/s per chip"): line.tokens_per_s_per_chip,
                        _("cost of a token, x"): line.cost,
                        _("without prefill, x"): line.decode_cost,
                        _("provider cost, USD per Mtok"): usd[1],
                        _("at low chip-hour prices"): usd[0],
                        _("at high chip-hour prices"): usd[2],
                    }
                )
            )
        table = pd.concat(frames)
        numbers = {c: st.column_config.NumberColumn(format="%.3g") for c in table.columns if table[c].dtype.kind == "f"}
        st.dataframe(table, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)
        st.caption(
            _("Output per chip counts the prefill of the same requests and runs at the pace of the speed shown; the provider's cost is the stand-in's at its own pace and the utilisation under Prices.")
        )  # fmt: skip
