"""The tab "Where it fits" of the Hardware page: tiers of memory with what the model takes, and the roofline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts import memory_tiers as tiers_chart
from fastmode.charts import roofline as roofline_chart
from fastmode.charts.memory_tiers import bytes_text, time_text
from fastmode.charts.theme import step_label
from fastmode.evaluate import Evaluation
from fastmode.i18n import _, ngettext
from fastmode.memory_tiers import GIGA, TERA, Tiers, memory_tiers
from fastmode.roofline import BATCHES, Roof, roofs
from fastmode.side import Side
from fastmode.ui import state
from fastmode.ui.cards import draw_heading, mode
from fastmode.ui.chart import chart
from fastmode.ui.trade_offs import STEP_FIELDS
from fastmode.verdict import option_name


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for a scenario of single values."""
    e = evaluation
    reason = e.service_reason(e.now)
    if reason:
        draw_heading(_("No figure for {option}: {reason}.").format(option=option_name(e), reason=reason))
        return
    _tiers(e)
    _roofline(e)


def _model(e: Evaluation) -> str:
    return str(e.catalog.models.at[str(e.scenario.model), "label"])


# --- memory -----------------------------------------------------------------------------------------------------------


def _tiers(e: Evaluation) -> None:
    found = memory_tiers(e, bool(st.session_state.get("all")))
    finding = _finding(e, found)
    draw_heading(finding)
    figure, narrow = tiers_chart.memory_tiers_figure(found, _model(e), mode(), scale=state.scale())
    chart(figure, key="memory_tiers", alt=finding, height=tiers_chart.HEIGHT, height_narrow=tiers_chart.HEIGHT_NARROW, narrow=narrow)
    st.caption(
        _(
            "Memory and bandwidth: published or reported. Dashed line: weights and cache on the scenario's own chips, copies included. Chips: modelled, the fewest that hold it; the scenario's own part as set. Some memory is always kept back, so a mark on the line does not hold it."
        )
    )
    _tiers_table(e, found)


def _finding(e: Evaluation, t: Tiers) -> str:
    """What the model takes, how many chips that is, and how fast the parts read what they hold."""
    sides = [int(i) for i in (*np.flatnonzero(t.own), *np.flatnonzero(t.compared))]
    taken = _(" or ").join(_chips(t.chips[i], t.labels[i]) for i in sides if np.isfinite(t.chips[i]))
    one = int(t.one_chip.sum())
    holds = _("none of {parts} parts holds it on one chip")
    if one:
        holds = ngettext("{n} of {parts} parts holds it on one chip", "{n} of {parts} parts hold it on one chip", one)
    reads = " ".join(
        _("A {part} reads all its {memory} in {time}.").format(part=t.labels[i], memory=bytes_text(t.memory_bytes[i]), time=time_text(t.read_once_s[i]))
        for i in sides
    )
    return _("{model} with the cache of {requests} takes {size}: {taken}; {holds}. {reads}").format(
        model=_model(e), requests=_requests(t.batch), size=bytes_text(t.needed_bytes), taken=taken, holds=holds.format(n=one, parts=len(t.rows)), reads=reads
    )


def _requests(n: float) -> str:
    return ngettext("{n} request", "{n} requests", 1 if n == 1 else 2).format(n=fmt.number(n))


def _chips(n: float, part: str) -> str:
    return ngettext("{n} {part} chip", "{n} {part} chips", round(n)).format(n=fmt.count(n), part=part)


def _tiers_table(e: Evaluation, t: Tiers) -> None:
    with st.expander(_("The parts as a table"), key="tiers_table"):
        order = np.lexsort((t.chips, ~t.compared, ~t.own))
        columns = {
            _("part"): np.array(t.labels),
            _("chips for {model}").format(model=_model(e)): t.chips,
            _("memory, GB per chip"): t.memory_bytes / GIGA,
            _("bandwidth, TB/s per chip"): t.bandwidth / TERA,
            _("all memory read once, ms"): 1e3 * t.read_once_s,
            _("memory of all its chips, GB"): t.chips * t.memory_bytes / GIGA,
            _("SRAM beside main memory, MB"): t.cache_bytes / 1e6,
            _("on sale"): np.where(t.on_sale, _("yes"), _("no: announced or desktop")),
            _("no figure because"): np.array(t.reasons),
        }
        frame = pd.DataFrame({name: values[order] for name, values in columns.items()})
        st.dataframe(frame, hide_index=True, width="stretch", column_config=_three_digits(frame), placeholder=fmt.MISSING)


def _three_digits(frame: pd.DataFrame) -> dict:
    return {name: st.column_config.NumberColumn(format="%.4g") for name in frame.columns if frame[name].dtype == float}


# --- roofline ---------------------------------------------------------------------------------------------------------


def _roofline(e: Evaluation) -> None:
    st.subheader(_("What holds a step back, memory or compute?"), anchor=False)
    found = roofs(e)
    said = " ".join(_side(roof, e.reference if roof.reference else e.now) for roof in found)
    st.markdown(said)
    figure, narrow = roofline_chart.roofline_figure(found, mode(), scale=state.scale())
    chart(figure, key="roofline", alt=said, height=roofline_chart.HEIGHT, height_narrow=roofline_chart.HEIGHT_NARROW, narrow=narrow)
    note = _("Roof: the part's dense peak in the format of the products, and the bandwidth of its memory, from the data. Decode and prefill: modelled. Only useful products count; bytes are those of weights, cache and activations, copies included. Batches that do not fit are left out. Whiskers: 90 % band of the time per output token; prefill has none of its own.")
    if any(roof.peak_assumed for roof in found):
        note += " " + _("Nobody publishes the peak of {parts}: assumed from its bandwidth.").format(parts=", ".join(r.label for r in found if r.peak_assumed))
    st.caption(note)
    _roofline_table(found)


def _side(roof: Roof, side: Side) -> str:
    """On which side of the ridge decode lies, from which batch that changes, and what takes the time."""
    service = side.service
    shares = {part: float(getattr(service, name)[0] / service.tpot_s[0]) for part, name in STEP_FIELDS.items()}
    longest = max(shares, key=shares.__getitem__)
    words = {
        "part": roof.label, "n": fmt.number(roof.batch), "intensity": fmt.number(roof.own_intensity), "ridge": fmt.number(roof.ridge),
        "reached": fmt.share(roof.own_attained / float(roof.attainable(roof.own_intensity))), "longest": step_label(longest),
        "share": fmt.share(shares[longest]),
    }  # fmt: skip
    text = _("**{part}**: decode at batch {n} makes {intensity} FLOP a byte, the ridge is at {ridge}: by its roof it is bound by memory, of which it reaches {reached}; most of its time goes into {longest} ({share}).")
    if not roof.memory_bound:
        text = _("**{part}**: decode at batch {n} makes {intensity} FLOP a byte, the ridge is at {ridge}: by its roof it is bound by compute, of which it reaches {reached}; most of its time goes into {longest} ({share}).")
    return " ".join(filter(None, [text.format(**words), _when_bound(roof) if roof.memory_bound else ""]))


def _when_bound(roof: Roof) -> str:
    """From which batch decode is bound by compute, or why it never is."""
    if np.isnan(roof.bound_batch):
        return _("At this context no batch changes that: each request moves its own cache and activations, and however many share the weights it stays below {limit}.").format(
            limit=fmt.number(roof.limit)
        )
    words = {"batch": fmt.number(roof.bound_batch), "most": fmt.number(roof.max_batch)}
    if roof.bound_batch > roof.max_batch:
        return _("Compute would bind from batch {batch}, more than the {most} that fit.").format(**words)
    return _("Compute binds from batch {batch} on; {most} fit.").format(**words)


def _roofline_table(found: list[Roof]) -> None:
    with st.expander(_("The roofline as a table"), key="roofline_table"):
        rows = []
        for roof in found:
            points = [(_("decode"), *point) for point in zip(BATCHES, roof.intensity, roof.attained, roof.low, roof.high, strict=True)]
            points.append((_("prefill"), roof.prefill_tokens, roof.prefill_intensity, roof.prefill_attained, np.nan, np.nan))
            rows += [
                (roof.label, phase, n, intensity, float(roof.attainable(intensity)) / TERA, *(value / TERA for value in flops))
                for phase, n, intensity, *flops in points
            ]
        names = (
            _("part"), _("phase"), _("requests, or prompt tokens at a time"), _("FLOP per byte"), _("roof, TFLOP/s per chip"),
            _("reached, TFLOP/s per chip"), _("90 % low"), _("90 % high"),
        )  # fmt: skip
        frame = pd.DataFrame(rows, columns=list(names))
        st.dataframe(frame, hide_index=True, width="stretch", column_config=_three_digits(frame), placeholder=fmt.MISSING)
