"""The Productivity page in a browser: phone, projector, in-place painting, links that others open."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import driver
from tests.browser.test_links import expected, figures, go_to, history_length, scenario_of
from tests.browser.test_pages import listen, undo

PATH = "/productivity"
CHARTS = ["break_even", "where_time", "tornado", "chain", "throughput"]


def ready(page: Page) -> None:
    """Return once all charts are painted and the page is at rest."""
    driver.wait_charts(page, len(CHARTS))


def verdict(page: Page) -> str:
    return page.locator("[data-verdict]").inner_text().replace("\u00a0", " ")


def subject(page: Page) -> str:
    """What the page judges, as its switch says."""
    return page.locator(".st-key-j [role=radio][aria-checked=true]").inner_text()


def switch(page: Page, key: str, name: str) -> None:
    page.locator(f".st-key-{key}").get_by_text(name, exact=True).click()
    driver.wait_idle(page, stable_ms=500)


def chart(page: Page, key: str):
    return page.locator(f".fastmode-chart[data-chart-key={key}]")


def drawn(page: Page) -> list[str]:
    return page.locator(".fastmode-chart").evaluate_all("charts => charts.map(chart => chart.dataset.chartKey)")


def map_texts(page: Page) -> str:
    """What the map says on its points."""
    return " ".join(chart(page, "break_even").locator(".annotation-text").all_text_contents())


def picture(page: Page) -> tuple:
    """What a reader takes from the page."""
    alts = page.locator(".fastmode-chart").evaluate_all("charts => charts.map(chart => chart.getAttribute('aria-label'))")
    return verdict(page), subject(page), figures(page), alts


def own(errors: list[str]) -> list[str]:
    """Errors of ours: Streamlit looks for its server below the page's own address first."""
    return [error for error in errors if f"{PATH}/_stcore/" not in error]


def scroll_width(page: Page) -> int:
    return page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")


# --- phone ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?present=true", "?j=points&of=0"])
def test_phone_shows_verdict_cards_and_charts_in_one_column_without_sideways_scrolling(server, new_page, query):
    page = new_page(width=390, height=844)
    driver.open(page, server.link(PATH + query))
    ready(page)
    assert driver.overflow_px(page) == 0 and scroll_width(page) == 390
    order = page.evaluate(
        "() => ['[data-verdict]', '.st-key-subject_row', '[data-card]', '.fastmode-chart']"
        ".flatMap(s => [...document.querySelectorAll(s)]).map(e => e.getBoundingClientRect())"
        ".map(r => [Math.round(r.left), Math.round(r.top), Math.round(r.right), Math.round(r.bottom)])"
    )
    assert len(order) == 2 + 4 + len(CHARTS)
    assert all(0 <= left and right <= 390 for left, _top, right, _bottom in order)
    assert all(above[3] <= below[1] for above, below in zip(order, order[1:], strict=False))  # one below the other
    assert chart(page, "break_even").get_attribute("data-narrow") == "true"
    assert drawn(page) == CHARTS


def test_phone_keeps_its_type_in_a_presentation(server, new_page):
    page = new_page(width=390, height=844)
    driver.open(page, server.link(PATH + "?present=true"))
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"


@pytest.mark.parametrize(("size", "scheme"), [((1440, 900), "light"), ((1024, 768), "dark")])
def test_page_fits_and_logs_no_error(server, new_page, size, scheme):
    page = new_page(width=size[0], height=size[1], scheme=scheme)
    errors = listen(page)
    driver.open(page, server.link(PATH))
    ready(page)
    assert drawn(page) == CHARTS and driver.overflow_px(page) == 0
    assert figures(page) == expected("")
    for key in ("map_table", "own_ranges"):
        page.locator(f".st-key-{key} summary").click()
        driver.wait_idle(page, stable_ms=300)
    assert driver.overflow_px(page) == 0
    assert driver.errors_shown(page) == [] and own(errors) == []


def test_wide_cards_of_a_row_end_on_one_line(server, page):
    driver.open(page, server.link(PATH))
    boxes = [card.bounding_box() for card in page.locator("[data-card]").all()]
    assert len({round(box["y"]) for box in boxes}) == 1 and len({round(box["y"] + box["height"]) for box in boxes}) == 1


# --- painting in place ------------------------------------------------------------------------------------------------


def test_a_slider_repaints_the_map_on_the_same_element_and_on_standing_axes(server, page):
    driver.open(page, server.link(PATH + "?j=points"))
    ready(page)
    marked = chart(page, "break_even").locator(".main-svg").first
    marked.evaluate("e => { e.dataset.mine = 'kept'; }")
    axes = "() => { const l = document.querySelector('[data-chart-key=break_even] .js-plotly-plot')._fullLayout; return [l.xaxis.range, l.yaxis.range, l.height]; }"
    before, painted = page.evaluate(axes), int(chart(page, "break_even").get_attribute("data-painted"))
    assert "6x faster, +20 points +29 %" in map_texts(page)
    assert driver.nudge(page, "Cost of an error", -2) == "15 min"
    page.wait_for_function("n => Number(document.querySelector('[data-chart-key=break_even]').dataset.painted) > n", arg=painted)
    assert "6x faster, +20 points +15 %" in map_texts(page)  # 14.97 % by the written-out formula
    assert marked.get_attribute("data-mine") == "kept"
    assert page.evaluate(axes) == before
    assert drawn(page) == CHARTS


def test_controls_stand_still_while_the_subject_changes(server, page):
    driver.open(page, server.link(PATH))
    ready(page)
    box = page.locator(".st-key-subject_row").bounding_box()
    switch(page, "j", "claim, points")
    after = page.locator(".st-key-subject_row").bounding_box()
    assert after["height"] == box["height"] and after["x"] == box["x"]
    assert abs(after["y"] - box["y"]) < 30  # at most a line of the verdict
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


def test_charts_have_their_height_before_they_are_drawn(server, page):
    waiting = []
    page.route("**/plotly.min.js*", lambda route: waiting.append(route))
    driver.open(page, server.link(PATH))
    page.wait_for_timeout(500)
    before = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    waiting[0].continue_()
    ready(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") == before


# --- links ------------------------------------------------------------------------------------------------------------


def test_the_address_and_the_shared_link_open_the_same_picture_in_a_fresh_browser(server, page, new_page):
    driver.open(page, server.link(PATH))
    switch(page, "j", "claim, factor")
    switch(page, "mirror_s", "favours speed")
    switch(page, "mirror_el", "acceptance")
    page.locator(".st-key-mirror_tm input").fill("25")
    page.keyboard.press("Enter")
    driver.wait_idle(page, stable_ms=500)
    ready(page)
    seen = picture(page)
    assert seen[1] == "claim, factor" and " 25 developers" in page.locator("[data-testid=stMain]").inner_text()
    scenario = scenario_of(page.url)
    assert (scenario.assumption_set, scenario.error_level, scenario.team_size) == ("favours-speed", "acceptance", 25)
    driver.press(page, "Share")
    shared = page.locator("[data-testid=stPopoverBody] code").inner_text()
    for address in (page.url, shared):
        other = new_page()
        driver.open(other, address)
        ready(other)
        assert picture(other) == seen
        assert scenario_of(other.url) == scenario


def test_reload_and_page_switch_keep_the_picture(server, page):
    driver.open(page, server.link(PATH))
    switch(page, "j", "claim, points")
    driver.nudge(page, "Cost of an error", -2)
    ready(page)
    seen = picture(page)
    page.reload(wait_until="domcontentloaded")
    driver.wait_idle(page, stable_ms=500)
    ready(page)
    assert picture(page) == seen
    go_to(page, "Overview")
    go_to(page, "Productivity")
    ready(page)
    assert picture(page) == seen


def test_switches_of_the_page_make_no_entries_of_the_history_and_undo_takes_them_back(server, page):
    driver.open(page, server.link(PATH))
    entries = history_length(page)
    switch(page, "mirror_s", "favours accuracy")
    switch(page, "mirror_el", "acceptance")
    assert history_length(page) == entries
    undo(page)
    undo(page)
    assert driver.link_state(page) == {}
    assert figures(page) == expected("")


def test_a_range_of_ones_own_is_in_the_address_and_back_at_the_source(server, page):
    driver.open(page, server.link(PATH))
    page.locator(".st-key-own_ranges summary").click()
    driver.wait_idle(page, stable_ms=300)
    page.locator(".st-key-own_range_low_fx input").fill("3000")
    driver.press(page, "Use")
    expect(page.get_by_test_id("stAlert")).to_contain_text("the 5th percentile must be lower than the 95th")
    page.locator(".st-key-own_range_low_fx input").fill("1200")
    driver.press(page, "Use")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    assert driver.link_state(page) == {"rg": ["fx:1200:2520"]}
    driver.press(page, "Cost of an error: 20 min to 42 min; back to the source")
    assert driver.link_state(page) == {}


# --- a room -----------------------------------------------------------------------------------------------------------


def test_presentation_on_a_projector_has_no_sidebar_larger_type_and_more_width(server, new_page):
    page = new_page(width=1920, height=1080)
    driver.open(page, server.link(PATH))
    ready(page)
    size = "() => ['.fm-verdict', '.card-value', '.fm-note'].map(s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize))"
    plain, width = page.evaluate(size), chart(page, "break_even").bounding_box()["width"]
    tick = "() => parseFloat(getComputedStyle(document.querySelector('[data-chart-key=break_even] .xtitle')).fontSize)"
    plain_tick = page.evaluate(tick)
    page.get_by_test_id("stSidebar").get_by_text("Present", exact=True).click()
    driver.wait_idle(page, stable_ms=800)
    ready(page)
    assert driver.link_state(page) == {"present": ["true"]}
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_hidden()
    assert page.evaluate(size) == pytest.approx([1.3 * px for px in plain])
    assert page.evaluate(tick) == pytest.approx(1.3 * plain_tick)
    assert chart(page, "break_even").bounding_box()["width"] == pytest.approx(1.3 * width, abs=2)
    assert driver.overflow_px(page) == 0
    cards = page.locator("[data-card]").last.bounding_box()
    assert cards["y"] + cards["height"] < 1080  # verdict and cards on the first screen
    other = new_page(width=1920, height=1080)
    driver.open(other, page.url)
    ready(other)
    expect(other.get_by_test_id("stSidebar")).to_be_hidden()
    assert picture(other) == picture(page)
    driver.press(page, "Leave presentation")
    assert driver.link_state(page) == {}
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    assert page.evaluate(size) == pytest.approx(plain)
