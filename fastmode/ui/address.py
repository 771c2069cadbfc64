"""One entry of the browser's history per page: Back moves between pages, never through single slider moves."""

from __future__ import annotations

import streamlit as st

# Streamlit replaces the address when a person moves a bound widget, but adds an entry for each widget that a callback
# sets (presets, undo, the Overview's own sliders). Same page, same entry.
_SCRIPT = """
export default function () {
  if (window.fastmodeOneEntryPerPage) return;
  window.fastmodeOneEntryPerPage = true;
  const push = window.history.pushState;
  window.history.pushState = function (state, unused, url) {
    const samePage = url != null && new URL(url, window.location.href).pathname === window.location.pathname;
    if (samePage) return window.history.replaceState(state, unused, url);
    return push.call(this, state, unused, url);
  };
}
"""
_mount = st.components.v2.component("fastmode_address", js=_SCRIPT, isolate_styles=False)


def one_entry_per_page() -> None:
    """Install the rule in the visitor's browser; does nothing when it is there already."""
    _mount(key="address", height=1)
