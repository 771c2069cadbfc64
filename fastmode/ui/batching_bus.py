"""The tab "The bus": how long a request waits for departure and how long it rides, in continuous and in static batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.bus import AGREES_WITHIN, CURVE_RUNS, HELD_TO, Bus, Ride, bus, load_curves
from fastmode.charts import bus as bus_chart
from fastmode.charts import load_curve
from fastmode.charts.load_curve import POLICY_WORDS
from fastmode.evaluate import Evaluation
from fastmode.i18n import N_, _, ngettext
from fastmode.scenario import TRAFFIC
from fastmode.serving.simulation import CONTINUOUS, STATIC
from fastmode.ui import state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror

# Rows of the table: field of Figures, its words, what a unit of the field is there.
ROWS = (
    ("wait_s", N_("waiting before departure, s"), 1.0),
    ("on_board_s", N_("on board, s"), 1.0),
    ("time_s", N_("from arrival to the last token, s"), 1.0),
    ("ttft_s", N_("TTFT, without handshake, s"), 1.0),
    ("tpot_s", N_("time per output token, ms"), 1e3),
    ("batch", N_("on board on average, all chips"), 1.0),
    ("requests_per_s", N_("requests/s carried, all chips"), 1.0),
    ("output_tokens_per_s", N_("output tokens/s carried, all chips"), 1.0),
)


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for an evaluation of single values."""
    scenario = evaluation.scenario
    found = bus(scenario, evaluation.catalog)
    if found.reason:
        draw_heading(_("No bus to show: {reason}.").format(reason=found.reason))
        _controls()
        return
    draw_heading(finding(found))
    _controls()
    _picture(found)
    _curves(evaluation, found)
    draw_note(" ".join(notes(found, scenario.load == TRAFFIC)))
    _table(found)


def finding(found: Bus) -> str:
    """What the traffic of the scenario waits for in both kinds of batches, as one sentence."""
    continuous, static = (found.rides[policy] for policy in (CONTINUOUS, STATIC))
    rate = ngettext("{n} request/s", "{n} requests/s", 1 if found.requests_per_s == 1.0 else 2)
    words = {
        "rate": rate.format(n=fmt.number(found.requests_per_s)), "places": fmt.number(found.places // found.replicas),
        "full": fmt.number(continuous.saturation_requests_per_s), "bus": fmt.number(static.saturation_requests_per_s),
    }  # fmt: skip
    if continuous.figures is None and static.figures is None:
        return _("{rate} is more than this deployment can serve: continuous batching is full at {full}/s, a static bus of {places} at {bus}/s.").format(**words)
    if static.figures is None:
        text = _("At {rate} continuous batching lets a request wait {wait}; a static bus of {places} cannot carry that, it is full at {bus}/s.")
        return text.format(**words, wait=span(continuous.figures.wait_s))
    if continuous.figures is None:
        text = _("At {rate} a static bus of {places} lets a request wait {later} before departure; continuous batching cannot carry that, it is full at {full}/s.")
        return text.format(**words, later=span(static.figures.wait_s))
    text = _("At {rate} continuous batching lets a request wait {wait}; a static bus of {places} lets it wait {later} before departure.")
    return text.format(**words, wait=span(continuous.figures.wait_s), later=span(static.figures.wait_s))


def span(seconds: float) -> str:
    """A time as text that is in milliseconds below one second."""
    if fmt.is_missing(seconds) or seconds >= 1.0:
        return fmt.duration(seconds)
    return _("less than 1 ms") if seconds < 1e-3 else fmt.join_unit(fmt.number(1e3 * seconds), "ms")


def _controls() -> None:
    rate, limit, spread = st.columns([2, 2, 1], vertical_alignment="bottom")
    with rate:
        mirror("requests_per_s")
    with limit:
        mirror("batch_size", _("Batch limit"))
    with spread:
        mirror("length_cv")


def _picture(found: Bus) -> None:
    policy = view.choice("bp", _("Batches"), _("Continuous: a request gets on as soon as there is a place. Static: the bus departs when it is full and comes back when its last passenger is done."))
    ride = found.rides[policy]
    text = ride_text(ride)
    if ride.trip is None:
        st.caption(text)
        return
    figure, narrow = bus_chart.bus_figure(ride.trip, found.places // found.replicas, mode(), scale=state.scale())
    chart(figure, key="bus", alt=text, height=bus_chart.HEIGHT, height_narrow=bus_chart.HEIGHT_NARROW, narrow=narrow)
    st.caption(text)


def ride_text(ride: Ride) -> str:
    """One policy in words: its load, waiting and riding, and which answer that is."""
    word = _(POLICY_WORDS[ride.policy])
    if ride.figures is None or ride.error is None:
        return _("{policy} batches are saturated: more than {rate} requests/s cannot be carried, and the queue only grows.").format(
            policy=word.capitalize(), rate=fmt.number(ride.saturation_requests_per_s)
        )
    f = ride.figures
    text = _("{policy} batches, {load} of the {most} requests/s they can carry: {wait} waiting, {board} on board.").format(
        policy=word.capitalize(), load=fmt.share(ride.load), most=fmt.number(ride.saturation_requests_per_s), wait=span(f.wait_s), board=span(f.on_board_s)
    )  # fmt: skip
    return " ".join([text, _basis(ride)])


def _basis(ride: Ride) -> str:
    """Which of the two answers is shown, and why."""
    error = ride.error["time_s"] / ride.simulated.time_s
    words = {
        "requests": fmt.number(ride.simulated_requests), "error": fmt.share(error), "difference": fmt.signed_share(ride.difference),
        "limit": fmt.share(HELD_TO[ride.policy]), "within": fmt.share(AGREES_WITHIN),
    }  # fmt: skip
    if ride.by_formula:
        return _("Shown is the closed form; it differs by {difference} from a simulation of {requests} requests (standard error {error}).").format(**words)
    if ride.only_bound and ride.policy == STATIC:
        return _("Shown is a simulation of {requests} requests (standard error {error}): above a load of {limit} the closed form is only a bound.").format(**words)
    if ride.only_bound:
        return _("Shown is a simulation of {requests} requests (standard error {error}): the closed form is held to loads up to {limit}.").format(**words)
    return _("Shown is a simulation of {requests} requests (standard error {error}): the closed form differs by {difference}, more than {within}.").format(**words)


def _curves(evaluation: Evaluation, found: Bus) -> None:
    st.subheader(_("What does more traffic cost?"), anchor=False)
    curves = load_curves(evaluation.scenario, evaluation.catalog)
    figure, narrow = load_curve.load_curve_figure(curves, found.requests_per_s, mode(), scale=state.scale())
    full = [fmt.number(c.saturation_requests_per_s) for c in curves]
    alt = _("Time to the first token, per token and to the last token over requests/s. Continuous batching is full at {continuous}/s, static at {static}/s; now {now}/s.").format(
        continuous=full[0], static=full[1], now=fmt.number(found.requests_per_s)
    )  # fmt: skip
    chart(figure, key="load_curve", alt=alt, height=load_curve.HEIGHT, height_narrow=load_curve.HEIGHT_NARROW, narrow=narrow)
    st.caption(
        _("Lines are the closed form up to a load of {continuous} (continuous) and {static} (static); dots and thin lines simulations, of {few} to {many} requests in continuous batches. Shaded: 90 % band of the mean time per token, what the serving model may miss; it holds neither the traffic nor the choice of the stand-in. The last token of a static batch is that of its longest answer.").format(
            continuous=fmt.share(HELD_TO[CONTINUOUS]), static=fmt.share(HELD_TO[STATIC]),
            few=fmt.number(min(CURVE_RUNS.values())), many=fmt.number(max(CURVE_RUNS.values())),
        )
    )  # fmt: skip


def notes(found: Bus, in_traffic: bool) -> list[str]:
    """What the figures rest on, and what is left out."""
    made = [
        _("Modelled, for the stand-in model: requests arrive at random, their answers are {tokens} tokens long on average with a spread of {spread}, each reads its prompt for {prefill}.").format(
            tokens=fmt.number(found.output_tokens), spread=fmt.number(found.length_cv), prefill=span(found.prefill_s)
        )
    ]  # fmt: skip
    if found.pace != 1.0:
        made.append(_("All times are the model's over {pace}, as the published speed is to the modelled one; TTFT too, which the cards of other pages scale to the published or assumed TTFT.").format(pace=fmt.ratio(found.pace)))
    if found.places != found.asked_places:
        made.append(_("Of a batch limit of {asked}, {places} run at once: what memory holds, shared evenly by the copies of the model.").format(asked=fmt.number(found.asked_places), places=fmt.number(found.places)))
    if found.replicas > 1:
        made.append(_("The {n} copies of the model get arrivals at random; pictures show one of them.").format(n=fmt.number(found.replicas)))
    if not in_traffic:
        made.append(_("The cards of the other pages are at the batch itself: there it is a fixed number of requests, here the most that run at once."))
    made.append(_("Not modelled: callers who give up, bunched arrivals, priorities, prompts read on chips of their own, and a static bus that departs before it is full."))
    return made


def table(found: Bus) -> pd.DataFrame:
    """Both policies by closed form and simulation, one row a figure; empty of figures where a policy is saturated."""
    rows = []
    for ride in found.rides.values():
        for name, words, unit in ROWS:
            closed, simulated = (np.nan if f is None else unit * getattr(f, name) for f in (ride.closed, ride.simulated))
            error = np.nan if ride.error is None else unit * ride.error.get(name, np.nan)
            same = closed == simulated
            gap = 0.0 if same else closed / simulated - 1.0 if simulated else np.nan
            rows.append((_(POLICY_WORDS[ride.policy]), _(words), closed, simulated, error, 100.0 * gap, _("closed form") if ride.by_formula else _("simulation")))
    columns = (_("batches"), _("figure"), _("closed form"), _("simulation"), _("standard error"), _("difference, %"), _("shown"))
    return pd.DataFrame(rows, columns=columns)


def _table(found: Bus) -> None:
    with st.expander(_("The bus in numbers"), key="bus_table"):
        frame = table(found)
        numbers = {c: st.column_config.NumberColumn(format="%.3g") for c in frame.columns if frame[c].dtype.kind == "f"}
        st.dataframe(frame, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)
        static = found.rides[STATIC]
        if static.only_bound and static.closed is not None:
            st.caption(_("Above a load of {limit} the closed form of static batching is only a bound: the wait lies between the filling of the bus alone and that plus the largest backlog.").format(limit=fmt.share(HELD_TO[STATIC])))
