"""fastmode: page setup, navigation and the shared controls; nothing else."""

import streamlit as st

from fastmode.ui import frame

st.set_page_config(page_title="fastmode", page_icon=frame.ICON, layout="wide")
page = frame.navigate()
frame.controls(page)
page.run()
frame.footer()
