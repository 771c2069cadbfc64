"""The tab "First token": what it waits for, why a fast tier need not shorten it, and how little the prompt's way counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts.first_token import WAYS_HEIGHT, Bar, first_token_figure, height, ways_figure
from fastmode.evaluate import BASIS_WORDS, Evaluation
from fastmode.first_token import PARTS, Split, at_batches, bytes_text, handshake_shares, short_time, split, waits, ways
from fastmode.frontier import tiers
from fastmode.i18n import _
from fastmode.option_table import preset_table
from fastmode.scenario import expand_preset, option_edited
from fastmode.side import Side
from fastmode.ui import state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart
from fastmode.verdict import option_name

KEPT, HIDDEN = "sk", "ph"  # keys of the link
PACE_APART = 0.1  # as far as the quoted speed may be above the modelled one without a word
YES = "yes"  # its id of a switch that is on


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for an evaluation of single values."""
    e = evaluation
    if not np.isfinite(e.at(split(e.now).total_s)):
        draw_heading(_("No first token to divide: {reason}.").format(reason=e.service_reason(e.now) or e.reason(e.now)))
        return
    head = st.container()
    kept, hidden = _switches()  # read before the finding that hangs on them
    name, batches, alone = _same_option(e)
    text = finding(e, name, batches, alone, kept, hidden)
    with head:
        draw_heading(text)
    bars, axis_s = _bars(e, kept, hidden, name, batches, alone)
    figure, narrow = first_token_figure(bars, mode(), x_max_s=axis_s, scale=state.scale())
    chart(figure, key="first_token", alt=text, height=height(len(bars)), height_narrow=height(len(bars), True), narrow=narrow)
    for line in notes(e, name, batches, alone, hidden):
        draw_note(line)
    _way(e)
    _table(bars, e, kept, hidden)


def _switches() -> tuple[bool, bool]:
    """Whether the socket is kept, and whether prefill is hidden."""
    with st.container(horizontal=True, key="first_token_row", gap="medium"):
        socket = view.choice(KEPT, _("Socket"), _("Kept open for the whole task, one handshake is shared by all its calls."))
        prefill = view.choice(
            HIDDEN, _("Prefill"), _("While typing: the prompt is sent and prefilled while it is typed. Assumed: all of it before Enter, which is the most this can save.")
        )  # fmt: skip
    return socket == YES, prefill == YES


def _same_option(e: Evaluation) -> tuple[str, np.ndarray, Split | None]:
    """The option, or else the reference, that has a tier of another batch: its name, both batches and the model's split at each.

    Where neither has one, the option at its preset's batch and alone.
    """
    s, table = e.scenario, preset_table(e.catalog)
    option, reference = str(s.preset), str(s.reference)
    use_reference = not tiers(option, e.catalog) and bool(tiers(reference, e.catalog))
    preset, side = (reference, e.reference) if use_reference else (option, e.now)
    name = str(e.catalog.presets.at[reference, "label"]) if use_reference else option_name(e, option_edited(s, e.catalog))
    scenario = replace(s, **expand_preset(reference, e.catalog)) if use_reference else s
    if not np.isfinite(e.at(side.service.prefill_s)):
        return name, np.empty(0), None
    beside = [tier.batch for tier in tiers(preset, e.catalog)] or [1.0]
    both = {float(table.serving["batch"][table.rows[preset]]), beside[0]}
    batches, alone = at_batches(scenario, side.service, sorted(both, reverse=True), e.catalog)
    return name, batches, alone


def _bars(
    e: Evaluation, kept: bool, hidden: bool, name: str, batches: np.ndarray, alone: Split | None
) -> tuple[list[Bar], float]:
    """Bars in their order, and the longest of them without any switch (s)."""
    s = e.scenario
    sides: list[tuple[str, str, Side]] = [(option_name(e, option_edited(s, e.catalog)), "scenario", e.now)]
    if str(s.reference) != str(s.preset):
        sides.append((str(e.catalog.presets.at[str(s.reference), "label"]), "reference", e.reference))
    bars, longest = [], 0.0
    for label, kind, side in sides:
        found, plain = split(side, kept, hidden), e.at(split(side).total_s)
        if np.isfinite(plain):
            bars.append(Bar(label, kind, found.parts()))
            longest = max(longest, plain)
    if alone is not None:
        for i, batch in enumerate(batches):
            seconds = {part: value for part, value in alone.parts(i).items() if part != "handshake"}
            label = _("{name}, batch {batch}, model alone").format(name=name, batch=fmt.number(batch))
            bars.append(Bar(label, "model", seconds | ({"prefill": 0.0} if hidden else {})))
            longest = max(longest, sum(seconds.values()))
    return bars, longest


def finding(e: Evaluation, name: str, batches: np.ndarray, alone: Split | None, kept: bool, hidden: bool) -> str:
    """What a smaller batch shortens of the first token and what not, and what first tokens are of a task's wait."""
    parts = []
    if alone is not None and len(batches) == 2:
        (one, two), (first, second) = batches, (alone.parts(0), alone.parts(1))
        parts.append(
            _("A smaller batch shortens the queue before the first token ({wait} at batch {one}, {less} at batch {two}), not the prefill of {name} ({first} and {second}).").format(
                name=name, first=short_time(first["prefill"]), one=fmt.number(one), second=short_time(second["prefill"]), two=fmt.number(two),
                wait=short_time(first["queue"]), less=short_time(second["queue"]),
            )
        )  # fmt: skip
    now, other = (waits(side, kept, hidden) for side in (e.now, e.reference))
    mine = option_name(e, option_edited(e.scenario, e.catalog))
    if str(e.scenario.preset) == str(e.scenario.reference) or not np.isfinite(e.at(other.first_share)):
        parts.append(
            _("Of the wait for {name} in a task, {first} is first tokens and {rest} is writing.").format(
                name=mine, first=fmt.share(e.at(now.first_share)), rest=fmt.share(1.0 - e.at(now.first_share))
            )
        )
    else:
        parts.append(
            _("First tokens are {first} of the wait for {reference} in a task and {share} of that for {name}; the rest is writing.").format(
                first=fmt.share(e.at(other.first_share)), reference=str(e.catalog.presets.at[str(e.scenario.reference), "label"]),
                share=fmt.share(e.at(now.first_share)), name=mine,
            )
        )  # fmt: skip
    return " ".join(parts)


def notes(e: Evaluation, name: str, batches: np.ndarray, alone: Split | None, hidden: bool) -> list[str]:
    """What stands below the bars: the queue, where the TTFT comes from, what is assumed, and what a handshake weighs."""
    made = []
    if alone is not None and len(batches) == 2:
        made.append(
            _("What a smaller batch shortens is the queue, from {first} to {second}: the wait behind the prefills of the others. The model takes it from benchmarks with a fixed number of clients; in traffic it follows from how many requests arrive.").format(
                first=short_time(alone.parts(0)["queue"]), second=short_time(alone.parts(1)["queue"])
            )
        )  # fmt: skip
    for side, preset in ((e.now, str(e.scenario.preset)), (e.reference, str(e.scenario.reference))):
        scaled = e.at(split(side).scaled)
        if not np.isfinite(scaled) or abs(scaled - 1.0) < 1e-9 or (side is e.reference and str(e.scenario.preset) == preset):
            continue
        made.append(
            _("{name}: its TTFT is {basis}, and the modelled parts are scaled by {factor} to it; nobody has measured the parts.").format(
                name=str(e.catalog.presets.at[preset, "label"]), basis=_basis(e, side, preset), factor=fmt.ratio(scaled)
            )
        )  # fmt: skip
    calls = e.at(e.now.inputs.calls)
    if hidden:
        made.append(
            _("Prefill hidden: all of the prompt is taken to be prefilled before Enter, the most that streaming can save. Only a call that begins with typing can hide it: one of the {calls} calls of a task, and the share of a task's wait above counts it so.").format(calls=fmt.number(calls))
        )  # fmt: skip
    if all(np.isfinite(e.at(side.tokens_per_s)) for side in (e.now, e.reference)):
        made.append(_handshake(e))
    low, high = (e.at(end) for end in e.bands(90)["ttft_s"])
    if low < high:
        made.append(
            _("TTFT of the option with its handshake, 90 %: {low} to {high}; the band holds what the model misses, not how far the assumed TTFT of a preset may be off.").format(low=short_time(low), high=short_time(high))
        )  # fmt: skip
    return made


def _basis(e: Evaluation, side: Side, preset: str) -> str:
    """The word for where a TTFT that is not the model's own comes from."""
    if side is e.now and e.scenario.anchor_ttft_s is not None:
        return _("assumed")
    row = "basis" if np.isfinite(e.catalog.endpoints.at[preset, "ttft_s"]) else "ttft_basis"
    return _(BASIS_WORDS[str((e.catalog.endpoints if row == "basis" else e.catalog.presets).at[preset, row])])


def _handshake(e: Evaluation) -> str:
    """What the reference's handshake is of a TTFT, and of a whole call at both speeds."""
    h, first = e.at(e.reference.handshake_s), e.at(e.reference.ttft_s)
    tokens = e.at(e.now.inputs.n_out) / e.at(e.now.inputs.calls)
    speeds = [e.at(side.tokens_per_s) for side in (e.reference, e.now)]
    firsts = [e.at(side.ttft_s) for side in (e.reference, e.now)]
    of_first = float(handshake_shares(h, first, tokens, speeds[0])[0])
    shares = [float(handshake_shares(h, ttft, tokens, speed)[1]) for ttft, speed in zip(firsts, speeds, strict=True)]
    return _("A handshake of {h} is {first} of a TTFT of {ttft}. Of a whole call of {tokens} output tokens it is {slow} at {slow_speed} tok/s and {fast} at {fast_speed} tok/s and a TTFT of {fast_ttft}.").format(
        h=short_time(h), first=fmt.share(of_first), ttft=short_time(h + first), tokens=fmt.number(tokens), slow=fmt.share(shares[0]),
        slow_speed=fmt.number(speeds[0]), fast=fmt.share(shares[1]), fast_speed=fmt.number(speeds[1]), fast_ttft=short_time(h + firsts[1]),
    )  # fmt: skip


def _way(e: Evaluation) -> None:
    """The prompt's way beside the reads of a step, of the first side whose reads take time."""
    names = (str(e.scenario.preset), str(e.scenario.reference))
    own = ways(e.now, e.catalog)
    found, side, preset = (own, e.now, names[0]) if own else (ways(e.reference, e.catalog), e.reference, names[1])
    if not found:
        return
    label = str(e.catalog.presets.at[preset, "label"])
    prompt, weights = found[0], found[-1]
    st.subheader(
        _("Sending the prompt takes {prompt}; reading the weights for one step takes {weights}").format(
            prompt=short_time(prompt.seconds), weights=short_time(weights.seconds)
        ),
        anchor=False,
    )
    figure, narrow = ways_figure(found, mode(), scale=state.scale())
    alt = "; ".join(f"{way.label}: {bytes_text(way.bytes)}, {short_time(way.seconds)}" for way in found)
    chart(figure, key="prompt_way", alt=alt, height=WAYS_HEIGHT, narrow=narrow)
    text = _("{name}, all modelled: a prompt travels as numbers of tokens over the slowest PCIe link of any part, once a call; weights and cache are read anew for every token, by all chips together, {batch} requests sharing a read of the weights. Attention takes the longer of reading the cache and computing with it.").format(
        name=label, batch=fmt.number(e.at(side.service.batch))
    )  # fmt: skip
    quoted, modelled = e.at(side.tokens_per_s), e.at(side.modelled_tokens_per_s)
    if quoted > modelled * (1.0 + PACE_APART):
        text += " " + _("The stand-in runs at {modelled} tok/s, where {quoted} are quoted: the real one reads less or faster.").format(
            modelled=fmt.number(modelled), quoted=fmt.number(quoted)
        )
    if not own:
        text += " " + _("The option itself holds its weights in SRAM on the chip: their reading is within the time of a layer.")
    draw_note(text)


def _table(bars: list[Bar], e: Evaluation, kept: bool, hidden: bool) -> None:
    with st.expander(_("The parts as a table"), key="first_token_table"):
        columns: dict[str, list] = {_("bar"): [bar.label for bar in bars]}
        for key, word in PARTS.items():
            columns[_("{part}, ms").format(part=_(word))] = [1e3 * bar.seconds.get(key, np.nan) for bar in bars]
        table = pd.DataFrame(columns)
        numbers = {c: st.column_config.NumberColumn(format="%.3g") for c in table.columns[1:]}
        st.dataframe(table, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)
        rows = []
        for side, preset in ((e.now, str(e.scenario.preset)), (e.reference, str(e.scenario.reference))):
            wait = waits(side, kept, hidden)
            rows.append((str(e.catalog.presets.at[preset, "label"]), e.at(wait.first_s), e.at(wait.writing_s), 100 * e.at(wait.first_share)))
        table = pd.DataFrame(
            rows, columns=[_("one attempt at a task"), _("first tokens, s"), _("writing, s"), _("first tokens, % of the wait for the model")]
        )
        numbers = {c: st.column_config.NumberColumn(format="%.3g") for c in table.columns[1:]}
        st.dataframe(table, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)
