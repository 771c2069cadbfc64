"""How a page is looked at, as far as its link says it: the open tab, choices of a page, search and filters of the Evidence page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from fastmode import validation
from fastmode.i18n import N_, _
from fastmode.quality_check import FAMILIES, FITS
from fastmode.trade import SUBJECTS

SUBJECT = "j"  # what the Productivity page judges
# Choices of pages by key of the link: ids with the words that stand in the address, the default first.
CHOICES = {
    SUBJECT: SUBJECTS,
    "qf": FAMILIES,
    "qi": FITS,
    "bp": {"continuous": N_("continuous"), "static": N_("static")},
    "sk": {"no": N_("opened for each call"), "yes": N_("kept open")},
    "ph": {"no": N_("after Enter"), "yes": N_("while typing")},
    "tb": {"own": N_("the stand-in"), "1": N_("1 TB"), "5": N_("5 TB"), "7": N_("7 TB")},
    "er": {"early": N_("early 2026"), "late": N_("late 2026")},
}
# Numbers of pages by key of the link: label, least and most; empty = as published.
NUMBERS = {
    "xv": (N_("Speed, over the standard tier's"), 1.0, 1000.0),
    "xp": (N_("Output price, over the standard tier's"), 0.01, 1000.0),
    "xi": (N_("Input price, over the standard tier's"), 0.01, 1000.0),
}
# Which page has which of them.
_OF_PAGE = {
    "overview": ("er",),
    "productivity": (SUBJECT,),
    "batching": ("bp", "sk", "ph"),
    "hardware": ("tb",),
    "explain": ("xv", "xp", "xi"),
    "evidence": ("qf", "qi"),
}
# Of the pages that have tabs; the first one is open.
TABS = {
    "batching": (N_("The bus"), N_("Fast against cheap"), N_("First token")),
    "hardware": (N_("Where it fits"), N_("Series and links"), N_("Power and money"), N_("All parts")),
    "evidence": (N_("Claims"), N_("Validation"), N_("Quality"), N_("Field trials"), N_("Sources")),
}


def chosen(key: str) -> str:
    """The id chosen under a key of CHOICES: what its control holds, before that exists what the link says, else the default."""
    ids = CHOICES[key]
    asked = st.session_state.get(key) or st.query_params.get(key, "")
    return asked if asked in ids else {word: i for i, word in ids.items()}.get(asked, next(iter(ids)))


def choice(key: str, label: str, help: str = "") -> str:
    """Draw the control of a key of CHOICES, bound to the link; the id it holds."""
    words = CHOICES[key]
    return st.segmented_control(
        label, list(words), format_func=lambda i: _(words[i]), default=next(iter(words)), key=key, bind="query-params", required=True, help=help or None, wrap=True,
    )  # fmt: skip


def number(key: str) -> float | None:
    """Draw the box of a key of NUMBERS, bound to the link; the number it holds, None where it is empty."""
    label, least, most = NUMBERS[key]
    return st.number_input(
        _(label), min_value=least, max_value=most, value=None, step=0.1, format="%.2f", key=key, bind="query-params", placeholder=_("as published"),
    )  # fmt: skip


def number_text(key: str, text: str) -> str:
    """How a number of a page is written in the address; empty for what is none or out of range."""
    _label, least, most = NUMBERS[key]
    try:
        value = float(text)
    except ValueError:
        return ""
    return f"{value:.10g}" if least <= value <= most else ""


def draw_open_tab(page: str, *draws: Callable[[], None]) -> None:
    """The tabs of a page, in the order of TABS; only the open one is drawn."""
    shown = st.tabs([_(title) for title in TABS[page]], key="tab", bind="query-params")
    for tab, draw in zip(shown, draws, strict=True):
        if tab.open:
            with tab:
                draw()


def word_of(key: str, text: str) -> str:
    """How Streamlit writes a choice of a page into the address, from its id or that word; empty for any other text."""
    words = CHOICES[key]
    return words.get(text) or (text if text in words.values() else "")


def params(page: str) -> dict[str, str]:
    """The keys and words of the link for a page: open tab, choices, search and filters."""
    mine = _OF_PAGE.get(page, ())
    held = {key: CHOICES[key][chosen(key)] for key in mine if key in CHOICES and chosen(key) != next(iter(CHOICES[key]))}
    numbers = {key: st.session_state.get(key, st.query_params.get(key)) for key in mine if key in NUMBERS}
    held |= {key: f"{float(value):.10g}" for key, value in numbers.items() if value not in (None, "")}
    if page in TABS:
        tab = st.session_state.get("tab", st.query_params.get("tab", ""))
        held |= {"tab": tab} if tab in map(_, TABS[page][1:]) else {}
    if page == "evidence":
        find = st.session_state.get("find", st.query_params.get("find", ""))
        held |= ({"find": find} if find else {}) | validation.to_params(of_validation())
    return held


def of_validation() -> validation.View:
    """The view that the widgets of the Validation tab hold; before they exist, that of the link."""
    held_by_link, _unused = validation.from_query(st.query_params.to_dict())
    held = {name: st.session_state[key] for name, key in validation.KEYS.items() if key in st.session_state}
    return replace(held_by_link, **{name: value for name, value in held.items() if value is not None})
