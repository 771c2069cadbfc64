"""The Evidence page in a browser: tabs and filters in the link, the picture's marks, phone and dark colours."""

import json
import shlex

import pytest
from playwright.sync_api import Page, expect

from fastmode import validation
from fastmode.cli import main
from fastmode.format import number, share
from tests.browser import driver
from tests.browser.test_links import expected as card_figures
from tests.browser.test_links import figures, go_to, history_length, notices, path_of
from tests.browser.test_pages import colour, listen

VALIDATION = "/evidence?tab=Validation"
_MARKS = """
() => document.querySelector('.fastmode-chart .js-plotly-plot').data
  .filter(trace => trace.meta === 'rows').reduce((sum, trace) => sum + trace.text.length, 0)
"""


def heading(page: Page) -> str:
    """The open tab's sentence, once the page is at rest."""
    driver.wait_idle(page, stable_ms=300)
    return page.get_by_role("heading", level=1).inner_text().replace("\u00a0", " ")


def sentence(query: str) -> str:
    """How the Validation tab's sentence begins for a query."""
    view, _ignored = validation.from_query(query)
    figures_ = validation.report(view)["summary"][view.quantity]
    return (
        f"Half of {number(figures_['rows'], 9)} predictions lie within {share(figures_['median'])} of the measured "
        f"{view.quantity.upper()}, nine in ten within {share(figures_['p90'])}; "
    )


def choose_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    driver.wait_idle(page, stable_ms=500)


def switch(page: Page, key: str, name: str) -> None:
    """Press one part of a segmented control."""
    page.locator(f".st-key-{key}").get_by_text(name, exact=True).click()
    driver.wait_idle(page, stable_ms=500)


def marks(page: Page, expected: int) -> None:
    """Wait until the picture has so many marks."""
    page.wait_for_function(
        f"() => document.querySelector('.fastmode-chart .js-plotly-plot')?.data && ({_MARKS})() === {expected}"
    )


def test_the_page_is_found_under_its_head_and_back_returns(server, page):
    driver.open(page, server.link("/?b=64"))
    go_to(page, "Evidence")
    assert "claims of the founding articles" in heading(page)
    assert driver.link_state(page) == {"b": ["64"]}
    page.go_back()
    page.wait_for_url(lambda url: path_of(url) == "/")
    driver.wait_idle(page, stable_ms=500)
    assert figures(page) == card_figures("b=64")


def test_deep_link_on_a_cold_server_shows_tab_filters_and_picture(cold_server, page):
    query = "b=64&vh=B300&vq=TTFT&vb=model"
    driver.open(page, cold_server.link(f"{VALIDATION}&{query}"), charts=True)
    assert heading(page).startswith(sentence(query))
    assert driver.link_state(page) == {
        "tab": ["Validation"],
        "b": ["64"],
        "vh": ["B300"],
        "vq": ["TTFT"],
        "vb": ["model"],
    }
    marks(page, validation.report(validation.from_query(query)[0])["summary"]["ttft"]["rows"])
    assert driver.slider_value(page, "Batch") == "64" and notices(page) == [] and driver.errors_shown(page) == []


def test_filters_are_in_the_address_and_open_elsewhere_alike(server, page, new_page):
    driver.open(page, server.link(VALIDATION), charts=True)
    entries = history_length(page)
    marks(page, 1738)
    driver.choose(page, "Precision", "fp8")
    driver.choose(page, "Suspects", "without suspects")
    switch(page, "vb", "engine")
    query = "vp=fp8&vx=without+suspects&vb=engine"
    assert driver.link_state(page) == {
        "tab": ["Validation"],
        "vp": ["fp8"],
        "vx": ["without suspects"],
        "vb": ["engine"],
    }
    assert heading(page).startswith(sentence(query)) and history_length(page) == entries
    rows = validation.report(validation.from_query(query)[0])["summary"]["tpot"]["rows"]
    marks(page, rows)
    other = new_page()
    driver.open(other, page.url, charts=True)
    assert heading(other) == heading(page)
    marks(other, rows)
    page.reload(wait_until="domcontentloaded")
    assert heading(page) == heading(other)


def test_the_shared_link_is_that_of_the_picture(server, page):
    driver.open(page, server.link(VALIDATION + "&b=64&vh=H100"), charts=True)
    driver.choose(page, "Precision", "bf16")
    driver.press(page, "Share")
    shared = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert path_of(shared) == "/evidence"
    assert validation.from_query(shared) == (validation.View(hardware="h100_sxm", precision="bf16"), [])
    assert "tab=Validation" in shared and "b=64" in shared


def test_tabs_are_in_the_address(server, page):
    driver.open(page, server.link("/evidence"))
    choose_tab(page, "Sources")
    assert driver.link_state(page) == {"tab": ["Sources"]} and "cited addresses" in heading(page)
    choose_tab(page, "Validation")
    assert driver.link_state(page) == {"tab": ["Validation"]} and heading(page).startswith(sentence(""))
    choose_tab(page, "Claims")
    assert driver.link_state(page) == {} and "claims of the founding articles" in heading(page)


def test_the_command_on_the_page_prints_the_figures_on_the_page(server, page, capsys):
    driver.open(page, server.link(VALIDATION + "&vm=Qwen3-32B&vq=TTFT"), charts=True)
    command = page.locator('[data-testid="stCode"] code').filter(has_text="fastmode validate").first.inner_text()
    capsys.readouterr()
    assert main(shlex.split(command)[3:]) == 0
    figures_ = json.loads(capsys.readouterr().out)["summary"]["ttft"]
    assert f"within {share(figures_['median'])} of the measured TTFT" in heading(page)
    marks(page, figures_["rows"])


def test_a_mark_says_where_it_comes_from(server, page):
    driver.open(page, server.link(VALIDATION + "&vh=MI300X"), charts=True)
    marks(page, 12)
    # Point at a mark by the picture's own axes.
    x, y = page.evaluate(
        """() => {
          const plot = document.querySelector('.fastmode-chart .js-plotly-plot');
          const trace = plot._fullData.find(t => t.meta === 'rows');
          const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.d2p(trace.x[0]), box.top + yaxis._offset + yaxis.d2p(trace.y[0])];
        }"""
    )
    page.mouse.move(x, y)
    hover = page.locator(".fastmode-chart .hoverlayer .hovertext")
    expect(hover.first).to_be_visible()
    said = hover.first.text_content() or ""
    for word in ("MI300X", "dstack benchmarks", "measured TPOT", "predicted", "concurrency", "tokens"):
        assert word in said


def test_empty_choice_is_reset_by_its_button(server, page):
    driver.open(page, server.link(VALIDATION + "&vh=MI300X&vm=gpt-oss-120b"))
    assert heading(page) == "No measured TPOT among the chosen rows."
    driver.press(page, "Reset filters")
    driver.wait_charts(page)
    assert driver.link_state(page) == {"tab": ["Validation"]} and heading(page).startswith(sentence(""))
    marks(page, 1738)


def test_bad_filter_gives_one_quiet_line(server, page):
    driver.open(page, server.link(VALIDATION + "&vh=abacus&vx=only+suspects"), charts=True)
    assert len(notices(page)) == 1 and "vh=abacus" in notices(page)[0]
    assert driver.link_state(page) == {"tab": ["Validation"], "vx": ["only suspects"]}


def test_rows_are_one_click_away(server, page):
    driver.open(page, server.link(VALIDATION + "&vh=MI300X"), charts=True)
    tables = page.locator('[data-testid="stDataFrame"]').count()
    page.get_by_text("The rows as a table").click()
    driver.wait_idle(page, stable_ms=500)
    assert page.locator('[data-testid="stDataFrame"]').count() == tables + 1
    assert page.locator('[data-testid="stCode"] code').filter(has_text="-o rows.csv").is_visible()


@pytest.mark.parametrize("path", ["/evidence", VALIDATION, "/evidence?tab=Sources"])
def test_phone_has_no_sideways_scrolling(server, new_page, path):
    page = new_page(width=390, height=844)
    driver.open(page, server.link(path), charts="Validation" in path)
    assert driver.overflow_px(page) == 0
    selectors = (
        ".fm-verdict, .fastmode-chart, [data-testid=stDataFrame], [data-testid=stSelectbox], [data-testid=stCode]"
    )
    widest = page.evaluate(
        "s => Math.max(...[...document.querySelectorAll('[data-testid=stMain]')].flatMap(m => [...m.querySelectorAll(s)])"
        ".map(e => e.getBoundingClientRect().right))",
        selectors,
    )
    assert widest <= 390


def test_nothing_covers_the_axis_title_on_a_phone(server, new_page):
    page = new_page(width=390, height=844)
    driver.open(page, server.link(VALIDATION), charts=True)
    title = page.locator(".fastmode-chart .xtitle").bounding_box()
    below = page.locator(".st-key-vb").bounding_box()
    assert title["y"] + title["height"] <= below["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_scheme_of_the_viewer_is_used(server, new_page, scheme):
    page = new_page(scheme=scheme)
    driver.open(page, server.link(VALIDATION), charts=True)
    title = page.locator(".fastmode-chart .xtitle").first
    lightness = title.evaluate(
        "e => getComputedStyle(e).fill.match(/\\d+/g).slice(0, 3).reduce((a, c) => a + +c, 0) / 3"
    )
    assert lightness > 140 if scheme == "dark" else lightness < 115
    assert colour(page, ".fm-verdict") == {"light": "rgb(26, 31, 38)", "dark": "rgb(230, 233, 238)"}[scheme]


@pytest.mark.parametrize(
    "query", ["", "?tab=Validation", "?tab=Validation&preset=haiku-5.5&vq=TTFT", "?tab=Sources&find=github"]
)
def test_no_error_is_logged_or_shown(server, page, query):
    errors = listen(page)
    driver.open(page, server.link("/evidence" + query), charts="Validation" in query)
    assert heading(page)
    assert driver.errors_shown(page) == [] and errors == []
