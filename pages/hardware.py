"""Hardware: where a model fits, what chips in series cost, power and money, and all parts side by side."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("hardware")

from fastmode.ui import hardware  # noqa: E402  (only once the page runs inside the app)

hardware.draw(st.session_state["scenario"])
