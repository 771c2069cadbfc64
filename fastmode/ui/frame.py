"""What every page shares: navigation, style, the sidebar, notices and the footer."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import streamlit as st

from fastmode.catalog import CatalogError, load
from fastmode.charts.theme import Mode, palette
from fastmode.i18n import N_, _
from fastmode.ui import state
from fastmode.ui.address import one_entry_per_page
from fastmode.ui.controls import sidebar

# url name -> (script, title, head of the navigation)
PAGES = {
    "overview": ("pages/overview.py", N_("Overview"), N_("Decide")),
    "trade_offs": ("pages/trade_offs.py", N_("Trade-offs"), N_("Decide")),
    "productivity": ("pages/productivity.py", N_("Productivity"), N_("Decide")),
    "batching": ("pages/batching.py", N_("Batching"), N_("Understand")),
    "hardware": ("pages/hardware.py", N_("Hardware"), N_("Understand")),
    "explain": ("pages/explain.py", N_("Explain a tier"), N_("Understand")),
    "evidence": ("pages/evidence.py", N_("Evidence"), N_("Check")),
}
HOME = "overview"
TARGET = "_page"
# A file of our own: an icon by name would be fetched from the network.
ICON = str(Path(__file__).resolve().parents[2] / "static" / "favicon.svg")
RELEASE = "0.1"


def navigate():
    """Register the pages and return the chosen one, with the link made canonical. Stops the app if data/ is broken."""
    st.html(f"<style>{_style()}</style>")
    # The default page answers at the root, yet reserves a path of its own; its name must find it too.
    made = {
        name: st.Page(script, title=_(title), url_path=name if name != HOME else "home", default=name == HOME)
        for name, (script, title, _head) in PAGES.items()
    }
    alias = st.Page(PAGES[HOME][0], title=_(PAGES[HOME][1]), url_path=HOME, visibility="hidden")
    heads: dict[str, list] = {}
    for name, (_script, _title, head) in PAGES.items():
        heads.setdefault(_(head), []).append(made[name])
    # One head alone would hide its pages in a menu.
    listed = heads if len(heads) > 1 else {"": list(made.values())}
    page = st.navigation(listed | {" ": [alias]}, position="top")
    st.set_page_config(page_title=f"{page.title} - fastmode", page_icon=ICON, layout="wide")
    _stop_on_broken_data()
    target = st.query_params.get(TARGET)
    if target is not None:  # a deep link that a just-started server gave to the page script alone
        rest = {key: st.query_params.get_all(key) for key in st.query_params if key != TARGET}
        st.switch_page(made.get(target, page), query_params={key: values[-1] for key, values in rest.items()})
    state.make_link_canonical(page)
    return page


def through_app(name: str) -> None:
    """First line of every page script: a page that runs without app.py sends the visitor through it, link kept."""
    if "scenario" not in st.session_state:
        st.switch_page("app.py", query_params={**st.query_params.to_dict(), TARGET: name})


def controls(page) -> None:
    """The sidebar, and one quiet line if the link could not be used as written."""
    one_entry_per_page()
    _presentation()
    name = page.url_path or HOME
    verdict = state.picture(state.start_values(), name).verdict
    sidebar(name, verdict.marked if verdict else ())
    notes = state.ignored()
    if notes:
        with st.container(key="link_notice"):
            items = "; ".join(f"{n.key}={n.value} ({n.reason})" for n in notes[:5])
            more = _(" and {n} more").format(n=len(notes) - 5) if len(notes) > 5 else ""
            left, right = st.columns([6, 1], vertical_alignment="center")
            left.text(_("Not used from this link: {items}{more}").format(items=items, more=more))
            with right.popover(_("what is this?")):
                st.write(
                    _(
                        "The link holds values this app does not know or cannot use. The default, or the nearest allowed value, stands in their place. Everything else of the link is as written."
                    )
                )


def _presentation() -> None:
    """The presentation switch of the link: hides the sidebar and enlarges type; the way back is above the page."""
    if not state.presenting():
        return
    st.html("<style>[data-testid='stSidebar'], [data-testid='stExpandSidebarButton'] { display: none; } html { font-size: 130%; }</style>")
    st.button(_("Leave presentation"), key="leave_presentation", on_click=_leave, type="tertiary")


def _leave() -> None:
    st.session_state[state.PRESENT] = False


def footer() -> None:
    """One line: release, data date, how to report a wrong number, privacy, no affiliation."""
    dates = load().endpoints["date"]
    st.caption(
        _(
            "fastmode {release}; data of {date}. A number looks wrong? Open its basis, then report the row of data/ it names. Nothing you enter is stored. Not affiliated with the vendors named."
        ).format(release=RELEASE, date=dates.max())
    )


def _stop_on_broken_data() -> None:
    try:
        load()
    except CatalogError as error:
        st.error(_("The data files cannot be used. Mend the rows below and start again."))
        st.code(str(error), language=None)
        st.stop()


def _style() -> str:
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    for theme in get_args(Mode):
        for tone in ("better", "worse"):
            style += f"\n.fm-{theme} .{tone} {{ color: {getattr(palette(theme), tone)}; }}"
    return style
