"""The shared controls of the sidebar, made from the declarations of the scenario's fields."""

from __future__ import annotations

import streamlit as st

from fastmode import scenario as scenarios
from fastmode.i18n import N_, _
from fastmode.ranges import own_ranges
from fastmode.scenario import ERROR, GROUPS, PEOPLE, TABLE, TRAFFIC, Field, Scenario
from fastmode.ui import state

PRESET_GROUPS = {"founding": N_("Founding articles"), "today": N_("Today's tiers"), "open": N_("Open models")}
_GROUP_TABS = {"founding": N_("First"), "today": N_("Today"), "open": N_("Open")}
_PUBLISHED_COLUMNS = {
    "output_tok_s": N_("speed"),
    "input_usd_per_mtok": N_("price"),
    "output_usd_per_mtok": N_("price"),
    "ttft_s": N_("TTFT"),
}
# The values a closed group shows in its head, each with the word that tells what it is.
_HEAD_VALUES = {
    "serving": (("context_tokens", N_("context")), ("weight_precision", "")),
    "task": (("n_out", N_("tokens out")), ("calls", N_("calls"))),
    "people": (("detect", N_("caught")), ("wage_usd_per_h", N_("USD/h"))),
    "prices": (("utilisation", N_("used")), ("chip_price", "")),
    "error": (("error", N_("wrong")), ("error_level", "")),
}
# A field that acts only when others have certain values.
_ACTS_ONLY_WHEN = {
    "draft_tokens": lambda s: s.speculation != "none",
    "acceptance_gap": lambda s: s.error_level == "acceptance",
    "agentic_step": lambda s: s.task_family == "agentic",
    # In traffic the batch follows from the rate; the one asked for still says how many automatic chips there are.
    "batch_size": lambda s: s.load != TRAFFIC or s.n_chips == 0,
    "requests_per_s": lambda s: s.load == TRAFFIC,
}
# What a page reads whatever the load: the bus departs with at most a batch, at the pace of the traffic.
_ALWAYS_ACT = {
    "batching": {"batch_size", "requests_per_s"}, "hardware": {"requests_per_s"}, "explain": {"team_size", "tasks_per_month"},
}  # fmt: skip
# Groups that a page of serving does not read.
_UNREAD = {"batching": (PEOPLE, ERROR), "hardware": (PEOPLE, ERROR), "explain": (PEOPLE,)}
# One control of three parts, drawn where the batch stands: which load, the fixed batch, the traffic.
_LOAD = ("load", "batch_size", "requests_per_s")
# What an empty field means, where it is not "as published".
_EMPTY = {"slo_ttft_s": N_("no limit"), "slo_tpot_s": N_("no limit")}


def sidebar(page: str, marked: tuple[str, ...] = ()) -> Scenario:
    """Draw all shared controls and return the scenario they hold. `marked`: fields the verdict hangs on most."""
    now = state.start_values()
    idle = _idle(page, now)
    changed = set(scenarios.changed_from_preset(now))
    declared = scenarios.all_fields()
    with st.sidebar:
        _head(page, now, changed)
        for f in declared.values():
            if f.group == TABLE:
                for name in _LOAD if f.name in _LOAD else (f.name,):
                    _control(declared[name], now, name in idle, marked)
        for group, title in GROUPS.items():
            if group != TABLE:
                members = [f for f in declared.values() if f.group == group and f.name not in _LOAD]
                _group(group, title, members, now, changed, idle, marked)
    return state.read_widgets()


def _head(page: str, now: Scenario, changed: set[str]) -> None:
    label = str(state.catalog().presets.at[str(now.preset), "label"])
    edited = scenarios.option_edited(now)
    st.markdown(f"**{_('{option} (edited)').format(option=label) if edited else label}**")
    with st.container(horizontal=True, gap="small", key="actions"):
        st.button(
            _("Undo"),
            on_click=state.undo,
            disabled=not state.can_undo(),
            key="undo",
            type="tertiary",
            help=_("Take back the last change"),
        )
        st.button(
            _("Reset"),
            on_click=state.reset,
            disabled=not changed,
            key="reset",
            type="tertiary",
            help=_("Back to the preset and the task profile"),
        )
        with st.popover(_("Share"), type="tertiary", key="share", help=_("A link to exactly this picture")):
            st.write(_("This link shows a colleague the same picture."))
            st.code(state.link(now, page), language=None, wrap_lines=True)
        st.toggle(
            _("Present"),
            key=state.PRESENT,
            bind="query-params",
            help=_("Hides this sidebar and enlarges type, for a projector. It is part of the link."),
        )


def _group(
    group: str, title: str, members: list[Field], now: Scenario, changed: set[str], idle: set[str], marked: tuple[str, ...]
) -> None:
    mine = [f.name for f in members if f.name in changed]
    label = _("{group}, {n} changed").format(group=_(title), n=len(mine)) if mine else _(title)
    with st.expander(f"{label} :small[:gray[{_summary(group, members, now)}]]", key=f"group_{group}"):
        if mine:
            st.button(_("Reset group"), on_click=state.reset, args=(mine,), key=f"reset_{group}")
        for f in members:
            _control(f, now, f.name in idle, marked)


def _summary(group: str, members: list[Field], now: Scenario) -> str:
    """The group's main values in one line."""
    by_name = {f.name: f for f in members}
    return " · ".join(
        f"{by_name[name].text(getattr(now, name))} {_(word)}".strip() for name, word in _HEAD_VALUES[group]
    )


def _idle(page: str, now: Scenario) -> set[str]:
    """Fields that have no effect on what the page shows."""
    idle = {name for name, acts in _ACTS_ONLY_WHEN.items() if not acts(now)}
    if page not in state.SERVING_PAGES:
        return idle
    unread = {f.name for f in scenarios.all_fields().values() if f.group in _UNREAD[page]}
    return (idle | unread | {"fix_time_s", "start_delay_s", "baseline_s", "baseline_error"}) - _ALWAYS_ACT[page]


def _control(f: Field, now: Scenario, idle: bool, marked: tuple[str, ...]) -> None:
    label = f.label + (f" ({f.unit})" if f.unit and f.kind in ("number", "whole") else "")
    if f.name in marked:
        label += " " + _("(decides)")
    if idle:
        label += " " + _("(no effect here)")
    common = {"key": f.key, "bind": "query-params", "help": _help(f), "disabled": idle}
    if f.kind == "choice":
        _choice(f, label, now, common)
    elif f.kind == "text":
        st.text_input(label, value=f.default, max_chars=2000, **common)
        for wrong in own_ranges(st.session_state[f.key] or "", state.catalog())[1]:
            st.caption(f":red[{wrong}]")
    elif f.kind == "scale":
        st.select_slider(label, f.grid, value=None if f.default is None else f.default, format_func=f.text, **common)
    elif f.kind == "whole":
        st.number_input(label, min_value=int(f.min), max_value=int(f.max), value=f.default, step=int(f.step), **common)
    else:
        decimals = max(0, len(f"{f.step:.10f}".rstrip("0").split(".")[1]))
        st.number_input(label, min_value=float(f.min), max_value=float(f.max), value=f.default, step=float(f.step), format=f"%.{decimals}f", placeholder=_(_EMPTY.get(f.name, N_("as published"))), **common)  # fmt: skip


def _choice(f: Field, label: str, now: Scenario, common: dict) -> None:
    labels = dict(f.choices)
    options = list(labels)
    on_change = {"preset": state.choose_preset, "task": state.choose_profile, "assumption_set": state.choose_set}.get(f.name)
    if f.name == "preset":
        shown = _group_shown(str(now.preset))
        options = [i for i in options if shown[i] or i in _always(f, now)]
    if f.name == "hardware":
        everything = st.session_state.get("all", False)
        hidden = state.catalog().hardware["shown"] != 1
        options = [i for i in options if everything or not hidden[i] or i in _always(f, now)]
    st.selectbox(
        label,
        options,
        index=options.index(f.default),
        format_func=lambda i: labels.get(i, i),
        on_change=on_change,
        **common,
    )
    if f.name == "preset":
        row = state.catalog().presets.loc[str(now.preset)]
        st.caption(f"{_(PRESET_GROUPS[row['group']])}. {_(row['hypothesis'])}. {_not_published(str(now.preset))}")
    if f.name == "hardware":
        st.toggle(
            _("all hardware"),
            key="all",
            bind="query-params",
            help=_("Also announced and unshipped chips, phones and laptops"),
        )


def _always(f: Field, now: Scenario) -> set[str]:
    """Choices a shortened list keeps: the default, what is chosen, and what the address asks for (also after Back)."""
    asked = {label: i for i, label in f.choices}.get(st.query_params.get(f.key, ""), f.default)
    return {f.default, str(getattr(now, f.name)), asked}


def _group_shown(chosen: str):
    """Which presets belong to the group whose options are listed, by preset."""
    groups = state.catalog().presets["group"]
    names = {group: _(label) for group, label in _GROUP_TABS.items()}
    st.segmented_control(
        _("Options listed"),
        list(names),
        default=groups[chosen],
        format_func=names.get,
        key="preset_group",
        required=True,
        help=_(
            "Which options the list below holds: the first fast tiers and what the founding articles name, today's tiers, or open models."
        ),
    )
    return groups == st.session_state["preset_group"]


def _not_published(preset: str) -> str:
    """What of a preset no source states."""
    endpoint = state.catalog().endpoints.loc[preset]
    words = dict.fromkeys(
        _(word) for column, word in _PUBLISHED_COLUMNS.items() if endpoint[column] != endpoint[column]
    )
    return _("Not published: {what}.").format(what=", ".join(words)) if words else ""


def _help(f: Field) -> str:
    parts = [f.help]
    if f.note:
        parts.append(f.note + ".")
    if f.source_url.startswith("http"):
        parts.append(f"[{_('source')}]({f.source_url})")
    return " ".join(parts)
