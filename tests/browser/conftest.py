"""A real server and a real browser. Nothing here is skipped: without a Chromium these tests fail and say so."""

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import driver
from tests.browser.chromium import find_chromium


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[driver.Server]:
    """One warmed-up server for all browser tests."""
    with driver.serve(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def cold_server(tmp_path) -> Iterator[driver.Server]:
    """A fresh server that nobody has visited yet."""
    with driver.serve(tmp_path / "home", warm=False) as running:
        yield running


# Package scope: the browser's event loop must be gone before other packages' tests run.
@pytest.fixture(scope="package")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """Headless Chromium with an empty home folder."""
    path = find_chromium()
    if path is None:
        pytest.fail("no working Chromium found: run `make test`, or set CHROMIUM to its path")
    home = tmp_path_factory.mktemp("browser")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=driver.CHROMIUM_FLAGS, env={**os.environ, "HOME": str(home)}
        )
        yield running
        running.close()


@pytest.fixture
def new_page(browser, request) -> Iterator:
    """Factory of pages, each in a fresh context: ``new_page(width=390, height=844, scheme="dark", ...)``."""
    pages: list[Page] = []

    def make(width: int = 1440, height: int = 900, scheme: str = "light", **options) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale=options.pop("locale", "en-US"),
            timezone_id="UTC",
            reduced_motion="reduce",
            accept_downloads=True,
            permissions=["clipboard-read", "clipboard-write"],
            **options,
        )
        context.set_default_timeout(driver.TIMEOUT_MS)
        pages.append(context.new_page())
        return pages[-1]

    yield make
    # The outcome is known only here, while the pages still show what went wrong.
    if request.node.stash.get(_FAILED, False):
        driver.ARTIFACTS.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", request.node.nodeid.removeprefix("tests/browser/"))
        for number, page in enumerate(pages):
            if not page.is_closed():
                page.screenshot(path=driver.ARTIFACTS / f"failed-{name}-{number}.png")
    for page in pages:
        page.context.close()


@pytest.fixture
def page(new_page) -> Page:
    """A page of 1440x900 in light colours, in a fresh context."""
    return new_page()


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember a failed test, for the picture."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report
