"""Explain a tier: what could have made a published speed at a published price, and what that would cost."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("explain")

from fastmode.ui import explain  # noqa: E402  (only once the page runs inside the app)

explain.draw(st.session_state["scenario"])
