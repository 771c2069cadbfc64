"""What the browser tests do again and again: serve, open, wait, move sliders, take pictures.

Words for readers of a test: ``page`` is Playwright's page.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "tests" / "artifacts"
TIMEOUT_MS = 30_000
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A running dashboard: base ``url`` without a trailing slash, its ``log`` file and process id."""

    url: str
    log: Path
    pid: int

    def link(self, path: str = "/") -> str:
        """Full address of a path with or without a query, such as ``/tradeoffs?batch=64``."""
        return urljoin(self.url + "/", path)


def free_port() -> int:
    """A TCP port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serve(home: Path, folder: Path = ROOT, warm: bool = True) -> Iterator[Server]:
    """Run ``streamlit run app.py`` of ``folder`` with ``home`` as home folder; end all its processes at the end.

    Another ``folder`` brings its own .streamlit/config.toml. ``warm`` opens one session on "/" first, as a deployment
    does; False leaves the server as a restart does.
    """
    home.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), home / "server.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    environment |= {"HOME": str(home), "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    server = Server(f"http://localhost:{port}", log, process.pid)
    try:
        _wait_for_health(server, process)
        if warm:
            warm_up = [sys.executable, str(ROOT / "deploy" / "warm_up.py"), server.url]
            done = subprocess.run(warm_up, env=environment, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise RuntimeError(f"{done.stderr}\n{_tail(log)}")
        yield server
    finally:
        _end(process)


def _wait_for_health(server: Server, process: subprocess.Popen, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with code {process.returncode}\n{_tail(server.log)}")
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not answer within {seconds:.0f} s\n{_tail(server.log)}")


def _tail(log: Path, characters: int = 3000) -> str:
    return log.read_text(errors="replace")[-characters:]


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=10)
            break
        except subprocess.TimeoutExpired:
            continue


# --- opening and waiting ----------------------------------------------------------------------------------------------

# True once the script is not running, nothing on the page is stale, and both have held for the given time.
_IDLE = """
([epoch, stableMs]) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const quiet = app !== null && app.dataset.testScriptState === 'notRunning'
    && document.querySelector('[data-stale="true"], [data-waiting="true"], [data-testid="stSkeleton"]') === null;
  const idle = window.__idle && window.__idle.epoch === epoch ? window.__idle : (window.__idle = {epoch, since: null});
  if (!quiet) { idle.since = null; return false; }
  idle.since = idle.since ?? performance.now();
  return performance.now() - idle.since >= stableMs;
}
"""


def wait_idle(page: Page, stable_ms: int = 200, timeout_ms: int = TIMEOUT_MS) -> None:
    """Return once the app's script has been at rest for ``stable_ms`` and no chart waits to be painted."""
    page.wait_for_function(_IDLE, arg=[time.monotonic_ns() % 2**50, stable_ms], timeout=timeout_ms)


def open(page: Page, url: str, charts: bool = False) -> None:  # noqa: A001
    """Go to ``url`` and wait until the page is at rest; with ``charts`` also until the first chart is drawn."""
    page.goto(url, wait_until="domcontentloaded", timeout=TIMEOUT_MS)
    wait_idle(page)
    if charts:
        wait_charts(page)


def wait_charts(page: Page, at_least: int = 1) -> None:
    """Return once ``at_least`` Plotly charts are drawn and the page is at rest."""
    drawn = page.locator(".js-plotly-plot .main-svg:first-child")
    drawn.nth(at_least - 1).wait_for(state="attached", timeout=TIMEOUT_MS)
    wait_idle(page)


def errors_shown(page: Page) -> list[str]:
    """Texts of the exception boxes on the page; empty when all is well."""
    return page.locator('[data-testid="stException"]').all_inner_texts()


def link_state(page: Page) -> dict[str, list[str]]:
    """Parameters in the address bar, each with its values in order."""
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


# --- moving controls --------------------------------------------------------------------------------------------------


def slider(page: Page, label: str) -> Locator:
    """The handle of the slider or select slider whose label is ``label``, with or without a mark like "(decides)"."""
    widget = page.locator('[data-testid="stSlider"], [data-testid="stSelectSlider"]')
    exact = page.locator('[data-testid="stWidgetLabel"]', has_text=re.compile(rf"^\s*{re.escape(label)}(\s*\([^)]*\))?\s*$"))
    return widget.filter(has=exact).locator('input[type="range"], [role="slider"]').first


def slider_value(page: Page, label: str) -> str:
    """The value as the slider announces it."""
    return slider(page, label).get_attribute("aria-valuetext") or ""


def nudge(page: Page, label: str, steps: int = 1) -> str:
    """Move a slider by ``steps`` (negative: to the left) with the arrow keys; the value it announces afterwards."""
    handle = slider(page, label)
    before = slider_value(page, label)
    handle.focus()
    for _step in range(abs(steps)):
        handle.press("ArrowRight" if steps > 0 else "ArrowLeft")
    expect(handle).not_to_have_attribute("aria-valuetext", before, timeout=TIMEOUT_MS)
    # The slider sends its value a moment after the last key; only then does the script start.
    wait_idle(page, stable_ms=500)
    return slider_value(page, label)


def choose(page: Page, label: str, option: str) -> None:
    """Pick ``option`` in the select box labelled ``label``."""
    box = page.locator('[data-testid="stSelectbox"]').filter(
        has=page.locator('[data-testid="stWidgetLabel"]', has_text=re.compile(rf"^\s*{re.escape(label)}(\s*\([^)]*\))?\s*$"))
    )
    # Scrolling closes an open list, so it has to be over before the click.
    box.scroll_into_view_if_needed()
    wait_idle(page, stable_ms=300)
    box.locator("input").first.click()
    page.get_by_role("option", name=option, exact=True).click()
    wait_idle(page, stable_ms=300)


def press(page: Page, name: str) -> None:
    """Press the button called ``name`` and wait until the page is at rest."""
    page.get_by_role("button", name=name, exact=True).first.click()
    wait_idle(page, stable_ms=300)


# --- pictures ---------------------------------------------------------------------------------------------------------


def screenshot(page: Page, name: str, scheme: str = "light", width: int = 1440, height: int = 900) -> Path:
    """Picture of the window in the given colour scheme and size, under tests/artifacts/; its path."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
    wait_idle(page, stable_ms=500)
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTIFACTS / f"{name}-{scheme}-{width}x{height}.png"
    page.screenshot(path=path, animations="disabled")
    return path


def overflow_px(page: Page) -> int:
    """How far the page, or the part of it that scrolls, can be moved sideways; 0 on a page that fits."""
    return page.evaluate(
        """() => {
            const main = document.querySelector('[data-testid="stMain"]');
            const inner = main ? main.scrollWidth - main.clientWidth : 0;
            return Math.max(0, document.documentElement.scrollWidth - window.innerWidth, inner);
        }"""
    )
