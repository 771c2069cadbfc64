"""The real pages: slider key press to the last repaint of the page's main chart, median in headless Chromium.

Run from the repository: python tests/bench/bench_pages.py [presses]. Goal of this release: 450 ms at the median on two cores.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser import driver  # noqa: E402
from tests.browser.chromium import find_chromium  # noqa: E402

GOAL_MS = 450
OTHER = {"ArrowRight": "ArrowLeft", "ArrowLeft": "ArrowRight"}
# page, its last chart, the slider that is moved: one way, then back and beyond, so that half of the moves are to a setting not seen before
CASES = (
    ("/", "task_time", "Cost of an error"),
    ("/trade_offs?preset=opus-4.6-fast", "tradeoffs", "Batch"),
    ("/trade_offs", "tradeoffs", "Distillation"),
    ("/productivity", "throughput", "Cost of an error"),
    ("/batching", "load_curve", "Requests/s"),
    ("/batching", "load_curve", "Batch"),
    ("/batching?tab=Fast+against+cheap", "frontier", "Batch"),
    ("/batching?tab=First+token", "first_token", "Batch"),
    ("/hardware", "roofline", "Batch"),
    ("/hardware?tab=Series+and+links", "links", "Batch"),
    ("/hardware?tab=Power+and+money", "two_ways", "Batch"),
)


def at_end(page: Page, label: str, key: str) -> bool:
    """Whether a slider stands at the end that the key leads to."""
    return driver.slider(page, label).evaluate("(e, end) => e.value === e[end]", "max" if key == "ArrowRight" else "min")


def repaint_ms(page: Page, chart: str, label: str, key: str) -> float:
    """Milliseconds from one key press on a slider to the chart's next repaint, by the page's own clock."""
    thumb = driver.slider(page, label)
    thumb.focus()
    page.locator(f"[data-chart-key={chart}]").scroll_into_view_if_needed()  # one out of view is left for later
    before = page.evaluate("k => window.__fastmodeChartPaints[k].count", chart)
    page.evaluate(
        "() => addEventListener('keydown', () => { window.__pressed = performance.now() }, {once: true, capture: true})"
    )
    page.keyboard.press(key)
    page.wait_for_function("([k, n]) => window.__fastmodeChartPaints[k].count > n", arg=[chart, before])
    page.wait_for_timeout(400)  # a later repaint of the same move would still count
    return page.evaluate("k => window.__fastmodeChartPaints[k].at - window.__pressed", chart)


def main(presses: int) -> None:
    with tempfile.TemporaryDirectory() as home, driver.serve(Path(home)) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find_chromium(), args=driver.CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for path, chart, label in CASES:
            driver.open(page, server.link(path), charts=True)
            times, key = [], "ArrowRight"
            for i in range(presses):
                if i == presses // 4 or at_end(page, label, key):
                    key = OTHER[key]
                times.append(repaint_ms(page, chart, label, key))
            median = statistics.median(times)
            print(
                f"{path:36} {label:18} median {median:5.0f} ms ({min(times):.0f}-{max(times):.0f}), {median / GOAL_MS:.2f} of the goal {GOAL_MS} ms"
            )
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
