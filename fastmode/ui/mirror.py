"""Controls of the sidebar shown a second time on a page: they hold the same value and write it back."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from fastmode import scenario as scenarios
from fastmode.i18n import _
from fastmode.scenario import Field


def mirror(name: str, label: str = "", on_change: Callable[[str], None] | None = None) -> None:
    """A second control of a field, unbound. on_change: called with the new value instead of only passing it on."""
    f = scenarios.all_fields()[name]
    key = f"mirror_{f.key}"
    st.session_state[key] = st.session_state[f.key]
    common = {"key": key, "on_change": _pass_on, "args": (key, f.key, on_change), "help": f.help}
    if f.kind == "scale":
        st.select_slider(label or f.label, f.grid, format_func=f.text, **common)
    elif f.kind == "choice":
        labels = dict(f.choices)
        st.segmented_control(label or f.label, list(labels), format_func=lambda i: _(labels[i]), required=True, wrap=True, **common)
    elif f.kind == "whole":
        st.number_input(label or f.label, min_value=int(f.min), max_value=int(f.max), step=int(f.step), **common)
    else:
        st.number_input(label or f.label, min_value=float(f.min), max_value=float(f.max), step=float(f.step), format=decimals(f), **common)


def decimals(f: Field) -> str:
    """How a number box writes values of a field: with as many decimals as its step."""
    return f"%.{len(f'{f.step:.10f}'.rstrip('0').partition('.')[2]) if math.isfinite(f.step) else 0}f"


def _pass_on(mirrored: str, key: str, on_change: Callable[[str], None] | None) -> None:
    st.session_state[key] = st.session_state[mirrored]
    if on_change:
        on_change(st.session_state[mirrored])
