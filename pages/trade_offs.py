"""Trade-offs: the four outcomes against batch, distillation, context or hardware."""

import streamlit as st

from fastmode.ui.frame import through_app

through_app("trade_offs")

from fastmode.ui import trade_offs  # noqa: E402  (only once the page runs inside the app)

trade_offs.draw(st.session_state["scenario"])
