"""The page Explain a tier in a browser: drawn without an error, no sideways scrolling on a phone, a typed ratio in the link."""

import pytest

from tests.browser import driver
from tests.browser.test_evidence import heading
from tests.browser.test_pages import listen


@pytest.mark.parametrize("query", ["", "?preset=opus-4.6-fast", "?preset=opus-4.6-fast&present=true"])
def test_the_page_draws_its_chart_without_an_error(server, page, query):
    errors = listen(page)
    driver.open(page, server.link(f"/explain{query}"), charts=True)
    assert page.locator(".fastmode-chart").evaluate_all("charts => charts.map(c => c.dataset.chartKey)") == ["loci"]
    assert heading(page)
    assert driver.errors_shown(page) == [] and errors == [] and driver.overflow_px(page) == 0


def test_phone_has_no_sideways_scrolling(server, new_page):
    page = new_page(width=390, height=844, scheme="dark")
    driver.open(page, server.link("/explain?preset=opus-4.6-fast"), charts=True)
    assert driver.overflow_px(page) == 0


def test_a_typed_ratio_moves_the_finding_and_stands_in_the_link(server, page):
    driver.open(page, server.link("/explain?preset=opus-4.6-fast"), charts=True)
    box = page.get_by_label("Speed, over the standard tier's")
    box.fill("2")
    box.press("Enter")
    driver.wait_idle(page, stable_ms=500)
    assert heading(page).startswith("A tier is 2x as fast as Opus 4.6 at 6x the price.")
    assert driver.link_state(page)["xv"] == ["2"]
