"""The scenario of a session: read from the link, held by the widgets, undone and reset.

Widgets are bound to the link by Streamlit; this module makes sure that a link is canonical before the first widget exists,
so that one rule (link.from_query) reads links for pages and command line alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields as dataclass_fields
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from fastmode import link as links
from fastmode import picture as pictures
from fastmode import scenario as scenarios
from fastmode import validation
from fastmode.catalog import Catalog, load
from fastmode.i18n import _
from fastmode.link import Ignored
from fastmode.picture import Picture
from fastmode.ranges import own_ranges, ranges_text
from fastmode.scenario import Field, Scenario
from fastmode.sweep import AXES, DEFAULT_AXIS
from fastmode.ui import view

MAX_UNDO = 50
SERVING_PAGES = ("batching", "hardware", "explain")  # what people and errors are assumed to do has no effect there
PRESENT = "present"  # key of the link: the presentation switch
# Session keys that belong to no widget.
SCENARIO, IGNORED, HISTORY, EXPECTED, UNDOING = "scenario", "ignored", "history", "expected", "undoing"


def catalog() -> Catalog:
    """The catalogue, loaded once for the process."""
    return load()


def make_link_canonical(page) -> None:
    """On a session's first run: rewrite a hand-made or broken link into the one the app would write.

    Must run after st.navigation and before any widget. Keeps what was ignored for one quiet line.
    """
    if SCENARIO in st.session_state or EXPECTED in st.session_state:
        return
    raw = {key: st.query_params.get_all(key) for key in st.query_params}
    scenario, ignored = links.from_query(raw)
    st.session_state[IGNORED] = ignored
    st.session_state[EXPECTED] = scenario
    wanted = links.to_params(scenario)
    looked_at = {key: values[-1] for key, values in raw.items() if key in links.VIEW_KEYS}
    for key in sorted(view.CHOICES.keys() & looked_at.keys()):
        text = looked_at.pop(key)
        word = view.word_of(key, text)
        if word:
            looked_at[key] = word
        else:
            known = ", ".join(view.CHOICES[key])
            ignored.append(Ignored(key, text[: links.MAX_SHOWN_CHARACTERS], _("not one of {known}").format(known=known)))
    for key in sorted(view.NUMBERS.keys() & looked_at.keys()):
        text = looked_at.pop(key)
        if number := view.number_text(key, text):
            looked_at[key] = number
        else:
            _label, least, most = view.NUMBERS[key]
            reason = _("not a number from {low} to {high}").format(low=f"{least:g}", high=f"{most:g}")
            ignored.append(Ignored(key, text[: links.MAX_SHOWN_CHARACTERS], reason))
    if looked_at.keys() & set(validation.KEYS.values()):
        checked, unused = validation.from_query(looked_at)
        ignored += [Ignored(*part) for part in unused]
        looked_at = {key: text for key, text in looked_at.items() if key not in validation.KEYS.values()}
        looked_at |= validation.to_params(checked)
    if raw != {key: [value] for key, value in (wanted | looked_at).items()}:
        st.switch_page(page, query_params=wanted | looked_at)


def start_values() -> Scenario:
    """The scenario the widgets are about to show: that of the link on the first run, then what they hold."""
    declared = scenarios.all_fields()
    if all(f.key in st.session_state for f in declared.values()):
        return _held(declared)
    return st.session_state.get(EXPECTED) or scenarios.default()


def _held(declared: dict[str, Field]) -> Scenario:
    return Scenario(**{name: _clean(f, st.session_state.get(f.key, f.default)) for name, f in declared.items()})


def read_widgets() -> Scenario:
    """The scenario that the widgets hold now; keeps the one before for undo."""
    scenario = _held(scenarios.all_fields())
    before = st.session_state.get(SCENARIO)
    undoing = st.session_state.pop(UNDOING, False)
    if before is not None and before != scenario and not undoing:
        history = st.session_state.setdefault(HISTORY, [])
        history.append(before)
        del history[:-MAX_UNDO]
    st.session_state[SCENARIO] = scenario
    return scenario


def _clean(f: Field, value: Any) -> Any:
    if f.kind == "choice":
        return str(value)
    if f.kind == "text":
        return links.parse(f, str(value or ""))[0]
    if value is None:
        return None if f.optional else f.default
    value = scenarios.snap(f, min(max(float(value), f.min), f.max))
    return int(value) if f.kind == "whole" else float(value)


def set_fields(values: dict[str, Any]) -> None:
    """Give widgets new values. Only for callbacks: widgets take them at the start of the next run."""
    declared = scenarios.all_fields()
    for name, value in values.items():
        st.session_state[declared[name].key] = value


def choose_preset() -> None:
    """The option was changed: take everything the preset stands for."""
    set_fields(scenarios.expand_preset(st.session_state[scenarios.all_fields()["preset"].key]))


def choose_profile(task: str | None = None) -> None:
    """The task was changed: take everything the profile stands for; what an assumption set names stays as the set says."""
    declared = scenarios.all_fields()
    task = task or st.session_state[declared["task"].key]
    stance = st.session_state[declared["assumption_set"].key]
    set_fields(scenarios.expand_profile(task) | scenarios.set_values(stance, catalog()))


def choose_set(stance: str | None = None) -> None:
    """The assumption set was changed: take everything it stands for under the task."""
    declared = scenarios.all_fields()
    stance = stance or st.session_state[declared["assumption_set"].key]
    set_fields(scenarios.expand_set(stance, st.session_state[declared["task"].key]))


def reset(names: Iterable[str] | None = None) -> None:
    """Back to what preset, profile and defaults say, for all fields or the named ones."""
    now: Scenario = st.session_state[SCENARIO]
    plain = scenarios.plain_values(now)
    set_fields({name: value for name, value in plain.items() if names is None or name in set(names)})


def undo() -> None:
    """Take back the last change."""
    history = st.session_state.get(HISTORY, [])
    seen: Scenario = st.session_state[SCENARIO]
    # A value typed but not yet seen by a run arrives with the click: it is the last change.
    pending = _held(scenarios.all_fields()) != seen
    if pending or history:
        last: Scenario = seen if pending else history.pop()
        st.session_state[UNDOING] = True
        set_fields({f.name: getattr(last, f.name) for f in dataclass_fields(Scenario)})


def ignored() -> list[Ignored]:
    """What of the session's first link was not used as written."""
    return st.session_state.get(IGNORED, [])


def can_undo() -> bool:
    """Whether there is a change to take back."""
    before = st.session_state.get(SCENARIO)
    # The button is drawn before read_widgets has seen the change that started this run.
    just_changed = before is not None and not st.session_state.get(UNDOING, False) and before != start_values()
    return just_changed or bool(st.session_state.get(HISTORY))


def picture(scenario: Scenario, page: str) -> Picture:
    """All that a page shows of a scenario, kept while the session asks for the same."""
    axis, everything = st.session_state.get("x") or st.query_params.get("x"), bool(st.session_state.get("all"))
    axis = axis if axis in AXES else DEFAULT_AXIS
    asked = (scenario, page, axis, everything, view.chosen(view.SUBJECT))
    known = st.session_state.get("picture")
    if known is None or known[0] != asked:
        if page == "trade_offs":
            drawn = pictures.trade_offs(scenario, axis, None, everything)
        elif page == "productivity":
            drawn = pictures.productivity(scenario, view.chosen(view.SUBJECT))
        elif page in SERVING_PAGES:
            drawn = pictures.serving(scenario)
        else:
            drawn = pictures.overview(scenario)
        known = asked, drawn
        st.session_state["picture"] = known
    return known[1]


def presenting() -> bool:
    """Whether the page is shown to a room: no sidebar, larger type."""
    return bool(st.session_state.get(PRESENT, st.query_params.get(PRESENT) == "true"))


def scale() -> float:
    """Size of type in charts."""
    return 1.3 if presenting() else 1.0


def set_range(name: str, low: float | None, high: float | None) -> None:
    """Give an assumption a range of the user's own; None takes it back."""
    f = scenarios.all_fields()["ranges"]
    own = own_ranges(str(st.session_state[f.key]), catalog())[0]
    own.pop(name, None)
    if low is not None and high is not None:
        own[name] = (low, high)
    st.session_state[f.key] = ranges_text(own, catalog())


def link(scenario: Scenario, page: str) -> str:
    """The address of what is shown: the scenario and how the page is looked at."""
    looked_at = {}
    if st.session_state.get("x", DEFAULT_AXIS) != DEFAULT_AXIS:
        looked_at["x"] = st.session_state["x"]
    if st.session_state.get("all"):
        looked_at["all"] = "true"
    if not st.session_state.get("points", True):
        looked_at["points"] = "false"
    if presenting():
        looked_at[PRESENT] = "true"
    looked_at |= view.params(page)
    return f"{st.context.url or ''}?{urlencode(links.to_params(scenario) | looked_at)}".removesuffix("?")
