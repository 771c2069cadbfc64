"""Slider key press to last repaint: st.plotly_chart against the in-place chart of fastmode/ui/chart.py.

Run from the repository: python tests/bench/bench_repaint.py [presses]. Writes its app into a temporary folder, starts a
server on a free port and drives headless Chromium. A repaint ends with the frame after the last change inside a chart.
"""

import shutil
import statistics
import sys
import tempfile
import textwrap
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fastmode.ui.plotly_bundle import ensure_bundle  # noqa: E402
from tests.browser import driver  # noqa: E402
from tests.browser.chromium import find_chromium  # noqa: E402

APP = textwrap.dedent("""
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from fastmode.ui.chart import chart

    st.set_page_config(layout="wide")
    with st.sidebar:
        st.selectbox("Option", ["a", "b"], key="option")
        st.selectbox("Compare with", ["a", "b"], key="reference")
        batch = st.slider("Batch", 1, 200, 60, key="batch")
        st.selectbox("Hardware", ["h", "k"], key="hardware")
        st.slider("Distillation", 1.0, 30.0, 1.0, key="distillation")
        st.slider("Fix time", 1, 240, 30, key="fix")
        st.number_input("Wage", 0, 500, 100, key="wage")
        st.toggle("Anchor", key="anchor")
        st.radio("Axis", ["batch", "hardware"], key="axis")
        st.text_input("Name", key="name")
    for column, name in zip(st.columns(4), ("Tokens/s", "Cost", "Error", "Net"), strict=True):
        column.metric(name, f"{batch * 1.7:.1f}", border=True)

    x = np.linspace(1.0, 200.0, 200)
    data, layout = [], {"template": "none", "showlegend": False}
    for i in range(4):
        axis = "" if i == 0 else str(i + 1)
        y = (i + 1) * x / (1 + x / batch)
        here = (i + 1) * batch / 2
        where = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        data.append({"type": "scatter", "mode": "lines", "x": x, "y": y, **where})
        data.append({"type": "scatter", "mode": "markers", "x": [batch], "y": [here], **where})
        left, low = 0.55 * (i % 2), 0.55 * (i < 2)
        layout[f"xaxis{axis}"] = {"domain": [left, left + 0.45], "anchor": f"y{axis}", "range": [0, 200]}
        layout[f"yaxis{axis}"] = {"domain": [low, low + 0.45], "anchor": f"x{axis}", "range": [0, 100 * (i + 1)]}
    figure = go.Figure(data=data, layout=layout)
    if st.query_params.get("kind") == "plotly_chart":
        st.plotly_chart(figure, key="panels", height=640, config={"displayModeBar": False})
    else:
        chart(figure, key="panels", alt="Four panels", height=640)
""")

WATCH = """
() => {
  const inChart = (node) => (node.nodeType === 1 ? node : node.parentElement)
    ?.closest('[data-testid=stPlotlyChart], .fastmode-chart');
  window.bench = { pressed: 0, painted: 0, settled: 0 };
  document.addEventListener('keydown', () => { bench.pressed = performance.now(); }, true);
  new MutationObserver((changes) => {
    const adds = (change) => [...change.addedNodes].some((node) => node.querySelector?.('.js-plotly-plot'));
    if (!changes.some((change) => inChart(change.target) || adds(change))) return;
    bench.settled = performance.now();
    requestAnimationFrame(() => setTimeout(() => { bench.painted = performance.now(); }));
  }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
}
"""
QUIET = """
() => bench.settled > bench.pressed && bench.painted >= bench.settled && performance.now() - bench.settled > 600
"""


def repaint_times_ms(page: Page, url: str, presses: int) -> list[float]:
    """Time from key press to last repaint, ms, one a press; the first two presses are not counted."""
    page.goto(url)
    page.locator(".js-plotly-plot .main-svg").first.wait_for(state="attached", timeout=60_000)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_timeout(1_500)
    page.evaluate(WATCH)
    slider = page.locator("[data-testid=stSlider]").filter(has_text="Batch").locator("input[type=range]")
    slider.focus()
    times = []
    for _ in range(presses + 2):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(QUIET, timeout=20_000)
        times.append(page.evaluate("() => bench.painted - bench.pressed"))
    return times[2:]


def main(presses: int) -> None:
    """Print the median of both and their ratio."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary) / "app"
        folder.mkdir()
        (folder / "app.py").write_text(APP, encoding="utf-8")
        shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
        (folder / "fastmode").symlink_to(ROOT / "fastmode")
        ensure_bundle(folder / "static")
        medians = {}
        with driver.serve(Path(temporary) / "home", folder, warm=False) as server:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=driver.CHROMIUM_FLAGS)
            for kind in ("plotly_chart", "component"):
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                times = repaint_times_ms(page, server.link(f"/?kind={kind}"), presses)
                medians[kind] = statistics.median(times)
                print(f"{kind:>12}: median {medians[kind]:4.0f} ms, {min(times):.0f} to {max(times):.0f}, n={presses}")
                page.close()
            browser.close()
        print(f"       ratio: {medians['plotly_chart'] / medians['component']:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
