"""The pages in a browser: options, tasks and undo; phone, dark colours, and that nothing leaves the machine."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from fastmode.ui import frame
from tests.browser import driver
from tests.browser.test_links import expected, figures, go_to, scenario_of

PAGES = ["/", "/trade_offs", "/productivity"]
CHARTS = {
    "/": ["task_time", "endpoints"],
    "/trade_offs": ["tradeoffs", "step"],
    "/productivity": ["break_even", "where_time", "tornado", "chain", "throughput"],
}
# On a page with an address of its own Streamlit looks for its server below that address first.
STREAMLIT_PROBES = tuple(
    f"/{page}/_stcore/{probe}" for page in frame.PAGES for probe in ("health", "host-config")
)


def listen(page: Page) -> list[str]:
    """Errors that the page writes to the console from now on."""
    errors: list[str] = []

    def note(message) -> None:
        if message.type == "error" and urlsplit(message.location["url"]).path not in STREAMLIT_PROBES:
            errors.append(f"{message.text} {message.location['url']}")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def undo_button(page: Page) -> Locator:
    # Streamlit draws a button with a tooltip twice: the second is for touch screens.
    return page.locator(".st-key-undo button").first


def undo(page: Page) -> None:
    undo_button(page).click()
    driver.wait_idle(page, stable_ms=500)


def colour(page: Page, selector: str, name: str = "color") -> str:
    return page.locator(selector).first.evaluate("(e, name) => getComputedStyle(e)[name]", name)


# --- option, task, undo -----------------------------------------------------------------------------------------------


def test_option_then_undo(server, page):
    driver.open(page, server.link("/?b=64"))
    driver.choose(page, "Option", "Opus 4.6 fast")
    assert figures(page) == expected("preset=opus-4.6-fast")
    assert figures(page)["tokens_per_s_per_user"] == ("170 tok/s", "2.62x vs Opus 4.6")
    assert scenario_of(page.url) == scenario_of("preset=opus-4.6-fast")
    undo(page)
    assert figures(page) == expected("b=64")
    assert driver.link_state(page) == {"b": ["64"]}


def test_undo_is_ready_after_the_first_change(server, page):
    driver.open(page, server.link("/"))
    expect(undo_button(page)).to_be_disabled()
    driver.nudge(page, "Batch", 1)
    undo(page)
    assert driver.link_state(page) == {} and driver.slider_value(page, "Batch") == "16"
    expect(undo_button(page)).to_be_disabled()


def test_task_button_then_undo(server, page):
    driver.open(page, server.link("/"))
    driver.press(page, "Chat")
    assert figures(page) == expected("task=chat")
    assert scenario_of(page.url) == scenario_of("task=chat")
    undo(page)
    assert figures(page) == expected("") and driver.link_state(page) == {}


def test_overview_sliders_move_those_of_the_sidebar(server, page):
    driver.open(page, server.link("/"))
    assert driver.nudge(page, "What an error costs to fix", -2) == "15 min"
    assert driver.link_state(page) == {"fx": ["15 min"]}
    sidebar = page.locator(".st-key-fx").locator('input[type="range"], [role="slider"]').first
    assert sidebar.get_attribute("aria-valuetext") == "15 min"
    assert figures(page) == expected("fx=900")


def test_reset_goes_back_to_the_option(server, page):
    driver.open(page, server.link("/?preset=opus-4.6-fast&b=64&w=150"))
    page.locator(".st-key-reset button").first.click()
    driver.wait_idle(page, stable_ms=500)
    assert figures(page) == expected("preset=opus-4.6-fast")
    assert scenario_of(page.url) == scenario_of("preset=opus-4.6-fast")


# --- phone ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_phone_has_no_sideways_scrolling_and_a_closed_sidebar(server, new_page, path):
    page = new_page(width=390, height=844)
    driver.open(page, server.link(path), charts=True)
    assert driver.overflow_px(page) == 0
    expect(page.locator('[data-testid="stSidebar"]')).not_to_be_in_viewport()
    widest = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('[data-card], [data-verdict], .fastmode-chart')]"
        ".map(e => e.getBoundingClientRect().right))"
    )
    assert widest <= 390
    assert figures(page) == expected("")


def test_phone_shows_verdict_and_picture_above_the_fold(server, new_page):
    page = new_page(width=390, height=844)
    driver.open(page, server.link("/"), charts=True)
    verdict = page.locator("[data-verdict]").bounding_box()
    picture = page.locator('.fastmode-chart[data-chart-key="task_time"]').bounding_box()
    assert 0 < verdict["y"] and verdict["y"] + verdict["height"] <= picture["y"]
    assert picture["y"] + picture["height"] < 844


def test_desktop_shows_verdict_and_picture_above_the_fold(server, page):
    driver.open(page, server.link("/"), charts=True)
    picture = page.locator('.fastmode-chart[data-chart-key="task_time"]').bounding_box()
    assert page.locator("[data-verdict]").bounding_box()["y"] < picture["y"]
    assert picture["y"] + picture["height"] < 900
    assert driver.overflow_px(page) == 0


def test_phone_sidebar_opens_as_a_drawer(server, new_page):
    page = new_page(width=390, height=844)
    driver.open(page, server.link("/"))
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.locator('[data-testid="stSidebar"]')).to_be_in_viewport()
    assert driver.nudge(page, "Batch", 1) == "24"
    assert figures(page) == expected("b=24")


# --- colours, network, console ----------------------------------------------------------------------------------------

GROUND = {"light": ("rgb(255, 255, 255)", "rgb(26, 31, 38)"), "dark": ("rgb(14, 17, 22)", "rgb(230, 233, 238)")}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_scheme_of_the_viewer_is_used(server, new_page, path, scheme):
    page = new_page(scheme=scheme)
    driver.open(page, server.link(path), charts=True)
    background, text = GROUND[scheme]
    assert colour(page, '[data-testid="stApp"]', "backgroundColor") == background
    assert colour(page, ".fm-verdict") == text and colour(page, "[data-card] .card-value") == text
    assert page.locator(f"[data-card].fm-{scheme}").count() == 4
    drawn = page.locator(".fastmode-chart").evaluate_all("charts => charts.map(chart => chart.dataset.chartKey)")
    assert drawn == CHARTS[path]
    title = page.locator(".fastmode-chart .xtitle").first
    lightness = title.evaluate("e => getComputedStyle(e).fill.match(/\\d+/g).slice(0, 3).reduce((a, c) => a + +c, 0) / 3")
    assert lightness > 140 if scheme == "dark" else lightness < 115
    assert figures(page) == expected("")


def test_no_request_leaves_the_machine_and_no_error_is_logged(server, page):
    hosts, errors = set(), listen(page)
    page.context.on("request", lambda request: hosts.add(urlsplit(request.url)))
    page.on("websocket", lambda socket: hosts.add(urlsplit(socket.url)))
    driver.open(page, server.link("/"), charts=True)
    driver.nudge(page, "Batch", 2)
    driver.press(page, "Chat")
    page.locator(".st-key-basis_error_rate button").first.click()
    driver.wait_idle(page)
    page.keyboard.press("Escape")
    go_to(page, "Trade-offs")
    driver.wait_charts(page, 2)
    page.get_by_text("The curves as a table").click()
    driver.wait_idle(page, stable_ms=500)
    asked = {(url.scheme, url.hostname) for url in hosts if url.scheme not in ("data", "blob")}
    assert asked == {("http", "localhost"), ("ws", "localhost")}
    assert errors == []
    assert figures(page) == expected("task=chat&b=32")


@pytest.mark.parametrize("query", ["", "?preset=haiku-5.5", "?hw=RTX+4090&b=512", "?preset=gemini-deep-think&task=voice"])
@pytest.mark.parametrize("path", PAGES)
def test_no_error_is_logged_or_shown(server, page, path, query):
    errors = listen(page)
    driver.open(page, server.link(path + query))
    assert figures(page) == expected(query)
    # Without a verdict the Productivity page has nothing to draw.
    judged = expected(query)["net_productivity"][0] != "-"
    if judged or path != "/productivity":
        driver.wait_charts(page)
    else:
        assert page.locator(".js-plotly-plot").count() == 0
    assert driver.errors_shown(page) == [] and errors == []


def test_options_are_listed_by_group_and_an_option_of_another_group_survives_back(server, page):
    driver.open(page, server.link("/?preset=opus-5-fast"))
    assert "a=Opus+5+fast" in page.url
    page.get_by_test_id("stSidebar").get_by_role("radio", name="First").or_(
        page.get_by_test_id("stSidebar").get_by_role("button", name="First")
    ).first.click()
    driver.wait_idle(page)
    assert "a=Opus+5+fast" in page.url  # listing other options changes nothing
    go_to(page, "Trade-offs")
    driver.choose(page, "Option", "Opus 4.6 fast")
    assert "a=Opus+4.6+fast" in page.url
    page.go_back()
    driver.wait_idle(page, stable_ms=500)
    assert "a=Opus+5+fast" in page.url
