"""Draws the verdict and the four cards."""

from __future__ import annotations

from html import escape
from typing import get_args

import streamlit as st

from fastmode.cards import SAME, Card, cards
from fastmode.charts.theme import Mode
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.ui.basis import basis
from fastmode.verdict import Verdict


def mode() -> Mode:
    """The viewer's theme, light unless known to be dark."""
    kind = st.context.theme.type
    return kind if kind in get_args(Mode) else "light"


def draw_cards(evaluation: Evaluation) -> None:
    """The four cards in one row (one column on a phone), each with its basis."""
    for column, card in zip(st.columns(4, gap="small"), cards(evaluation), strict=True):
        with column:
            st.html(card_html(card, mode()))
            with st.popover(_("basis"), width="stretch", key=f"basis_{card.key}"):
                basis(card, evaluation)


def card_html(card: Card, theme: Mode) -> str:
    """One card as HTML; every text is escaped."""
    tone = "" if card.tone == SAME else card.tone
    lines = "".join(f'<div class="card-line">{escape(line)}</div>' for line in card.lines)
    tag = f'<span class="card-tag">{escape(card.tag)}</span>' if card.tag else ""
    unit = f'<span class="card-unit">{escape(card.unit)}</span>' if card.unit else ""
    big = " big-change" if card.key == "net_productivity" else ""
    return (
        f'<div class="fm-card fm-{theme}{big}" data-card="{card.key}">'
        f'<div class="card-label"><span>{escape(card.label)}</span><span class="card-word">{escape(card.word)}</span></div>'
        f'<div><span class="card-value">{escape(card.value)}</span>{unit}</div>'
        f'<div class="card-change {tone}">{escape(card.change)}</div>{lines}{tag}</div>'
    )


def draw_verdict(verdict: Verdict, second: str = "") -> None:
    """The verdict as the first thing on a page, with the caveat under it."""
    rest = " ".join(part for part in (verdict.why, verdict.threshold) if part)
    st.html(
        f'<div data-verdict="1"><p class="fm-verdict">{escape(verdict.finding)} <span class="fm-why">{escape(rest)}</span></p>'
        + (f'<p class="fm-note">{escape(second)}</p>' if second else "")
        + (f'<p class="fm-note">{escape(verdict.caveat)}</p>' if verdict.caveat else "")
        + "</div>"
    )
