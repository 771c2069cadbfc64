"""The pages Batching and Hardware in a browser: every tab drawn, light and dark, wide and on a phone; tabs in the link."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from fastmode.ui import view
from tests.browser import driver
from tests.browser.test_evidence import choose_tab, heading
from tests.browser.test_links import go_to, path_of
from tests.browser.test_pages import GROUND, colour, listen

CHARTS = {
    "The bus": ["bus", "load_curve"],
    "Fast against cheap": ["frontier"],
    "First token": ["first_token", "prompt_way"],
    "Where it fits": ["memory_tiers", "roofline"],
    "Series and links": ["series", "links"],
    "Power and money": ["power", "price_range", "two_ways"],
    "All parts": [],
}
TABS = [(page, tab) for page in ("batching", "hardware") for tab in view.TABS[page]]


def address(page: str, tab: str, query: str = "") -> str:
    named = "" if tab == view.TABS[page][0] else urlencode({"tab": tab})
    return f"/{page}?{'&'.join(part for part in (query, named) if part)}"


def drawn(page: Page) -> list[str]:
    return page.locator(".fastmode-chart").evaluate_all("charts => charts.map(c => c.dataset.chartKey)")


def open_tab(page: Page, server, tab: tuple[str, str], query: str = "") -> None:
    driver.open(page, server.link(address(*tab, query)))
    if CHARTS[tab[1]]:
        driver.wait_charts(page, len(CHARTS[tab[1]]))


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("query", ["", "preset=opus-4.6-fast"])
def test_every_tab_draws_its_charts_without_an_error(server, page, tab, query):
    errors = listen(page)
    open_tab(page, server, tab, query)
    assert drawn(page) == CHARTS[tab[1]]
    assert heading(page)
    assert driver.errors_shown(page) == [] and errors == [] and driver.overflow_px(page) == 0


@pytest.mark.parametrize("tab", TABS)
def test_phone_has_no_sideways_scrolling(server, new_page, tab):
    page = new_page(width=390, height=844, scheme="dark")
    open_tab(page, server, tab)
    assert driver.overflow_px(page) == 0
    widest = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.fm-verdict, .fastmode-chart')].map(e => e.getBoundingClientRect().right))"
    )
    assert widest <= 390
    assert colour(page, ".fm-verdict") == GROUND["dark"][1]


def test_tabs_stand_in_the_link_and_another_page_has_its_own(server, page):
    driver.open(page, server.link("/?b=64"))
    go_to(page, "Batching")
    choose_tab(page, "First token")
    assert driver.link_state(page) == {"b": ["64"], "tab": ["First token"]}
    go_to(page, "Hardware")
    assert path_of(page.url) == "/hardware" and driver.link_state(page) == {"b": ["64"]}
    choose_tab(page, "All parts")
    page.go_back()
    driver.wait_idle(page, stable_ms=500)
    shown = page.get_by_role("tab", selected=True).inner_text().strip()
    assert path_of(page.url) == "/batching" and [shown] == driver.link_state(page).get("tab", ["The bus"])


def test_a_slider_moves_the_finding_in_place(server, page):
    open_tab(page, server, ("hardware", "Where it fits"))
    before, marked = heading(page), page.locator(".fastmode-chart").first.evaluate("c => (c.dataset.seen = 'yes')")
    assert driver.nudge(page, "Batch", 2)
    assert heading(page) != before
    assert page.locator(".fastmode-chart").first.evaluate("c => c.dataset.seen") == marked  # the same element, drawn again
