"""Evidence: claims, predicted against measured, and sources."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("evidence")

from fastmode.ui import evidence  # noqa: E402  (only once the page runs inside the app)

evidence.draw(st.session_state["scenario"])
