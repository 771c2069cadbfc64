"""Productivity: when speed is worth its errors, where the time goes, and when the verdict flips."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("productivity")

from fastmode.ui import productivity  # noqa: E402  (only once the page runs inside the app)

productivity.draw(st.session_state["scenario"])
