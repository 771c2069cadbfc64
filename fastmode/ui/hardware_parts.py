"""The tab "All parts" of the Hardware page: the option's stand-in on every part of the catalogue, side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.evaluate import Evaluation
from fastmode.i18n import _, ngettext
from fastmode.parts import ANNOUNCED, LEVEL, Parts, parts_of
from fastmode.ui.cards import draw_heading
from fastmode.verdict import option_name

ROW_PX, HEAD_PX = 35, 38  # of Streamlit's table


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for a scenario of single values."""
    found = parts_of(evaluation)
    draw_heading(finding(found))
    frame = found.frame()
    words = set(frame.columns) - set(frame.select_dtypes("number").columns)
    numbers = {name: st.column_config.NumberColumn(help=_help(i)) for i, name in enumerate(frame.columns) if name not in words}
    pinned = {frame.columns[0]: st.column_config.TextColumn(pinned=True)}
    shown = frame.apply(lambda column: column if column.name in words else _rounded(column))
    st.dataframe(shown, hide_index=True, width="stretch", height=HEAD_PX + ROW_PX * len(frame), column_config=numbers | pinned, placeholder=fmt.MISSING)
    st.caption(_note(evaluation, found))


def finding(found: Parts) -> str:
    """How many parts have a figure, and which of those on sale are the fastest and the cheapest, as far as their bands tell."""
    speed, cost = found.tokens_per_s, found.usd_per_mtok[1]
    served, priced = int(np.isfinite(speed).sum()), int(np.isfinite(cost).sum())
    if not served:
        return _("No part has a figure: {reason}.").format(reason=found.evaluation.service_reason(found.evaluation.now, int(np.flatnonzero(found.own)[0])))
    sale = found.state != ANNOUNCED
    text = _("{served} of {n} parts can serve it and {priced} have a cost.").format(served=served, n=len(speed), priced=priced)
    fast, cheap = found.best(speed, sale), found.best(-cost, sale)
    if fast >= 0:
        low, high = found.band
        text += " " + _("Fastest on sale: {part}, {speed} tok/s per user ({level} %: {low}-{high}).").format(
            part=found.labels[fast], speed=fmt.number(speed[fast]), level=LEVEL, low=fmt.number(low[fast]), high=fmt.number(high[fast])
        )
        text += _overlap(int((high[sale] > low[fast]).sum()) - 1)
    if cheap >= 0:
        low, high = found.usd_reach
        text += " " + _("Cheapest per output token: {part}, {cost} per Mtok ({low}-{high}).").format(
            part=found.labels[cheap], cost=fmt.money(cost[cheap]), low=fmt.money(low[cheap]), high=fmt.number(high[cheap])
        )
        text += _overlap(int((low[sale] < high[cheap]).sum()) - 1)
    return text


def _overlap(others: int) -> str:
    """How far the first place is sure."""
    if not others:
        return " " + _("No other's band reaches it.")
    return " " + ngettext("The band of {n} other overlaps its own.", "The bands of {n} others overlap its own.", others).format(n=others)


def _rounded(column: pd.Series) -> pd.Series:
    """Three significant digits, as everywhere; whole numbers stay whole."""
    value = column.to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        power = 10.0 ** (np.floor(np.log10(np.abs(value))) - fmt.DIGITS + 1)
        rounded = np.round(np.round(value / power) * power, 9)
    return pd.Series(np.where(value == np.round(value), value, rounded), column.index)


def _help(column: int) -> str:
    """What a column is, where its heading is not enough."""
    return {
        3: _("The fewest chips whose memory holds the weights and the cache of the batch; of the option's own part as many as are set."),
        4: _("Output tokens per second of one user, modelled, without any published speed."),
        7: _("Output tokens per second of all users over all chips, the prefill of the same requests included."),
        8: _("Modelled time to first token with the handshake, at this batch."),
        12: _("FLOP per byte read at which a step needs as long for computing as for reading: peak in the format in use over memory bandwidth."),
        13: _("Peak power of the chips alone (TDP) for as long as they run, per output token."),
        15: _("System power, else that of the chips alone, times PUE."),
        16: _("Provider cost at the 5th percentile of chip-hour prices; the high end is the 95th."),
    }.get(column, "")


def _note(e: Evaluation, found: Parts) -> str:
    return _("{option}'s stand-in at batch {batch}, its lengths and formats, modelled on each part. Range of the speed: {level} % band. Range in brackets of the cheapest: prices of a chip-hour and band of the speed together; {used} utilisation. Announced: not on sale yet, figures are the vendor's plans.").format(
        option=option_name(e), batch=fmt.number(found.batch), level=LEVEL, used=fmt.share(float(e.scenario.utilisation))
    )
