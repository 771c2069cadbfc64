"""Overview: which of two options wins, by how much, and what it hangs on."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("overview")

from fastmode.ui import overview  # noqa: E402  (only once the page runs inside the app)

overview.draw(st.session_state["scenario"])
