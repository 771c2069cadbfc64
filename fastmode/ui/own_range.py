"""A range of the user's own for any assumption."""

from __future__ import annotations

import math

import streamlit as st

from fastmode.i18n import _
from fastmode.ranges import own_ranges, ranges, source_range
from fastmode.scenario import Field, Scenario, all_fields
from fastmode.ui import state
from fastmode.ui.mirror import decimals

_FIELD, _LOW, _HIGH = "own_range_field", "own_range_low", "own_range_high"


def own_range(scenario: Scenario) -> None:
    """Choose an assumption, see its range, replace it; the ranges in use, each with its way back."""
    drawn = {name: f for name, f in all_fields().items() if f.drawn}
    own, _wrong = own_ranges(str(scenario.ranges), state.catalog())
    title = _("A range of your own ({n} set)").format(n=len(own)) if own else _("A range of your own")
    with st.expander(title, key="own_ranges"):
        st.caption(_("The 5th and 95th percentile of what you hold possible. It replaces the range of the source in every band, and is part of the link."))
        columns = st.columns([3, 2, 2, 1], vertical_alignment="bottom")
        name = columns[0].selectbox(_("Assumption"), list(drawn), format_func=lambda n: _label(drawn[n]), key=_FIELD, on_change=_forget)
        f = drawn[name]
        low, high = _ends(f, scenario)
        limits = {"min_value": float(f.min), "max_value": float(f.max), "format": decimals(f)}
        limits["step"] = float(f.step) if math.isfinite(f.step) else 1.0
        columns[1].number_input(_("5th percentile"), value=low, key=f"{_LOW}_{f.key}", **limits)
        columns[2].number_input(_("95th percentile"), value=high, key=f"{_HIGH}_{f.key}", **limits)
        columns[3].button(_("Use"), key="own_range_use", on_click=_use, args=(name,))
        if st.session_state.pop("own_range_wrong", ""):
            st.error(
                _("{field}: the 5th percentile must be lower than the 95th; both between {low} and {high} {unit}.").format(
                    field=f.label, low=f"{f.min:g}", high=f"{f.max:g}", unit=f.unit
                )
            )
        with st.container(gap=None):
            for taken, (start, stop) in own.items():
                text = _("{field}: {low} to {high}; back to the source").format(
                    field=drawn[taken].label, low=drawn[taken].words(start), high=drawn[taken].words(stop)
                )
                key = f"own_range_{drawn[taken].key}"
                st.button(text, key=key, on_click=state.set_range, args=(taken, None, None), type="tertiary")


def _label(f: Field) -> str:
    return f"{f.label} ({f.unit})" if f.unit else f.label


def _ends(f: Field, scenario: Scenario) -> tuple[float, float]:
    """The range in use, or that of the source."""
    known = ranges(scenario, state.catalog()).get(f.name)
    return (float(known.low), float(known.high)) if known else (f.low, f.high)


def _forget() -> None:
    """Another assumption: its own numbers stand in the boxes."""
    for key in [key for key in st.session_state if str(key).startswith((_LOW, _HIGH))]:
        del st.session_state[key]


def _use(name: str) -> None:
    key = all_fields()[name].key
    low, high = st.session_state[f"{_LOW}_{key}"], st.session_state[f"{_HIGH}_{key}"]
    if low is None or high is None or not low < high:
        st.session_state["own_range_wrong"] = name
        return
    scenario = st.session_state[state.SCENARIO]
    source = source_range(name, str(scenario.task), state.catalog())
    taken_back = source is not None and (source.low, source.high) == (low, high) and source.value == getattr(scenario, name)
    state.set_range(name, *((None, None) if taken_back else (float(low), float(high))))
