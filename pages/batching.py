"""Batching: how a batch trades one user's speed for everyone's price, and what the first token waits for."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("batching")

from fastmode.ui import batching  # noqa: E402  (only once the page runs inside the app)

batching.draw(st.session_state["scenario"])
