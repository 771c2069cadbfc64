"""Draws the verdict, the four cards, and findings and notes of the tabs."""

from __future__ import annotations

from html import escape
from typing import get_args

import numpy as np
import streamlit as st

from fastmode.cards import SAME, Card, cards
from fastmode.charts.theme import Mode
from fastmode.evaluate import Evaluation
from fastmode.feasible import nearest
from fastmode.i18n import _
from fastmode.scenario import all_fields
from fastmode.ui import state
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
            with st.popover(_("basis"), type="tertiary", key=f"basis_{card.key}"):
                basis(card, evaluation)


def card_html(card: Card, theme: Mode) -> str:
    """One card as HTML; every text is escaped."""
    is_figure = any(character.isdigit() for character in card.value)
    tone = "" if card.tone == SAME else card.tone
    if not is_figure:
        tone = "reason"
    lines = "".join(f'<div class="card-line">{_text(line)}</div>' for line in card.lines)
    tag = f'<span class="card-tag">{escape(card.tag)}</span>' if card.tag else ""
    unit = f'<span class="card-unit">{escape(card.unit)}</span>' if card.unit and is_figure else ""
    value = f'<div><span class="card-value{"" if is_figure else " words"}">{escape(card.value)}</span>{unit}</div>'
    change = f'<div class="card-change {tone}">{_text(card.change)}</div>'
    # Time against the reference is what a person asks first, so it leads; the gain over no AI stands below it.
    change_leads = card.key == "net_productivity" and is_figure
    body = change + value if change_leads else value + change
    # Also without a band, so that nothing moves when a slider leaves the preset.
    body += f'<div class="card-band">{_text(card.band)}</div>'
    return (
        f'<div class="fm-card fm-{theme}{" change-leads" if change_leads else ""}" data-card="{card.key}">'
        f'<div class="card-label"><span title="{escape(card.hint)}">{escape(card.label)}</span>'
        f'<span class="card-word">{escape(card.word)}</span></div>{body}{lines}{tag}</div>'
    )


def draw_verdict(verdict: Verdict, evaluation: Evaluation, second: str = "", with_caveat: bool = True) -> None:
    """The verdict as the first thing on a page, with the caveat under it; a way out where there is no verdict."""
    rest = " ".join(part for part in (verdict.why, verdict.threshold) if part)
    paragraphs = [("fm-second", second), ("fm-note", verdict.caveat if with_caveat else "")]
    st.html(
        f'<div data-verdict="1" aria-live="polite"><p class="fm-verdict" role="heading" aria-level="1">{_text(verdict.finding)} <span class="fm-why">{_text(rest)}</span></p>'
        + "".join(f'<p class="{style}">{_text(text)}</p>' for style, text in paragraphs if text)
        + "</div>"
    )
    change = nearest(evaluation) if not np.isfinite(verdict.change) else {}
    if change:
        declared = all_fields()
        words = ", ".join(f"{declared[name].label} {declared[name].text(value)}" for name, value in change.items())
        label = _("Use the nearest setting that works: {words}").format(words=words)
        st.button(label, key="nearest", on_click=state.set_fields, args=(change,))


def draw_heading(text: str) -> None:
    """A finding as the first thing on a tab."""
    st.html(f'<p class="fm-verdict" role="heading" aria-level="1">{_text(text)}</p>')


def draw_note(text: str) -> None:
    """Small print below a finding."""
    st.html(f'<p class="fm-note">{_text(text)}</p>')


def _text(text: str) -> str:
    """Escaped, and with figures kept on one line with their percent sign."""
    return escape(text).replace(" %", "&nbsp;%")
