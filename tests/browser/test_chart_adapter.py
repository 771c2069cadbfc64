"""The chart adapter in a browser, on a small app of its own: two charts on one page, one on another."""

import shutil
import textwrap

import pytest
from playwright.sync_api import Page

from fastmode.ui.plotly_bundle import ensure_bundle
from tests.browser import driver

APP = """
    import streamlit as st

    st.set_page_config(layout="wide")
    page = st.navigation([st.Page("pages/first.py", default=True), st.Page("pages/second.py"), st.Page("pages/third.py")])
    page.run()
"""
FIRST = """
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from fastmode.ui.chart import chart

    slope = st.slider("Slope", 1, 9, 2, key="slope")
    st.markdown(f"slope {slope}")
    if slope > 4:
        st.info("steep")
    x = np.arange(10.0)
    lines = [dict(type="scatter", name=name, x=x, y=y) for name, y in (("line", slope * x), ("flat", 0 * x + 5))]
    axes = dict(xaxis=dict(range=[0, 9]), yaxis=dict(range=[0, 81]), template="none")
    chart(
        go.Figure(data=lines, layout=axes), key="above", alt=f"Rises by {slope}", height=400, height_narrow=500,
        narrow=dict(xaxis=dict(title=dict(text="narrow title")), margin=dict(l=30, r=5)),
    )
    st.markdown("between")
    holes = dict(type="scatter", x=x, y=np.where(x == 3, np.nan, x))
    red = go.Figure(data=[holes], layout=dict(font=dict(color="#ff0000")))
    chart(red, key="below", alt="Does not change", height=250)
"""
SECOND = """
    import plotly.graph_objects as go
    import streamlit as st

    from fastmode.ui.chart import chart

    hidden, shown = st.tabs(["Without", "With"])
    with shown:
        chart(go.Figure(data=[dict(type="bar", x=[1, 2], y=[3, 4])]), key="bars", alt="Two bars", height=300)
"""
THIRD = """
    import plotly.graph_objects as go
    import streamlit as st

    from fastmode.ui.chart import chart

    size = st.slider("Size", 1, 9, 2, key="size")
    st.markdown(f"size {size}")
    traces = [dict(type="bar", x=[1, 2], y=[size, 4]), dict(type="scatter", mode="text", x=[1], y=[1], text=["still"])]
    frames = [dict(name=f"{i}", traces=[1], data=[dict(text=[f"moment {i} of {size}"])]) for i in range(20)]
    play = dict(frame=dict(duration=100, redraw=True), transition=dict(duration=0), fromcurrent=True, mode="immediate")
    menus = [dict(type="buttons", buttons=[dict(label="Play", method="animate", args=[None, play])])]
    figure = go.Figure(data=traces, layout=dict(template="none", updatemenus=menus), frames=frames)
    chart(figure, key="moving", alt="A film", height=300)
"""


@pytest.fixture(scope="module")
def app_url(tmp_path_factory):
    """Address of a running app with the project's own settings."""
    folder = tmp_path_factory.mktemp("chart_app")
    (folder / "pages").mkdir()
    for name, text in (("app.py", APP), ("pages/first.py", FIRST), ("pages/second.py", SECOND), ("pages/third.py", THIRD)):
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    shutil.copytree(driver.ROOT / ".streamlit", folder / ".streamlit")
    (folder / "fastmode").symlink_to(driver.ROOT / "fastmode")
    assert ensure_bundle(folder / "static")
    with driver.serve(tmp_path_factory.mktemp("chart_home"), folder, warm=False) as server:
        yield server.url


def painted(page: Page, key: str) -> int:
    return int(page.locator(f".fastmode-chart[data-chart-key={key}]").get_attribute("data-painted"))


def wait_painted(page: Page, key: str, more_than: int = 0) -> None:
    page.wait_for_function(
        "([key, n]) => Number(document.querySelector(`[data-chart-key=${key}]`)?.dataset.painted) > n",
        arg=[key, more_than],
    )


def open_first(page: Page, url: str) -> None:
    page.goto(url)
    wait_painted(page, "above")
    wait_painted(page, "below")
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(300)


def move_slider(page: Page, to: int) -> None:
    before = painted(page, "above")
    page.locator("[data-testid=stSlider] input[type=range]").focus()
    at = int(page.locator("[data-testid=stSlider] input[type=range]").get_attribute("value"))
    for _ in range(abs(to - at)):
        page.keyboard.press("ArrowRight" if to > at else "ArrowLeft")
    page.locator(f"text=slope {to}").wait_for()
    wait_painted(page, "above", before)


def full_layout(page: Page, key: str, expression: str):
    return page.evaluate(
        f"() => (({{_fullLayout: layout, _fullData: data}}) => {expression})"
        f"(document.querySelector('[data-chart-key={key}] .js-plotly-plot'))"
    )


def test_new_data_are_painted_on_the_same_element(page, app_url):
    open_first(page, app_url)
    page.evaluate("() => { document.querySelector('[data-chart-key=above] .main-svg').dataset.mine = 'kept'; }")
    unchanged = painted(page, "below")
    move_slider(page, 3)
    chart = page.locator("[data-chart-key=above]")
    assert full_layout(page, "above", "Array.from(data[0].y).slice(0, 4)") == [0, 3, 6, 9]
    assert chart.locator(".main-svg").first.get_attribute("data-mine") == "kept"
    assert chart.get_attribute("aria-label") == "Rises by 3"
    assert painted(page, "below") == unchanged
    paints = page.evaluate("() => window.__fastmodeChartPaints")
    assert paints["above"]["count"] == painted(page, "above")
    assert paints["above"]["at"] > paints["below"]["at"]


def test_chart_out_of_view_waits_with_new_data_until_it_is_seen_or_a_while_has_passed(page, app_url):
    open_first(page, app_url)
    page.set_viewport_size({"width": 1000, "height": 120})  # the slider alone is in view
    page.wait_for_timeout(600)
    before, above = painted(page, "above"), page.locator("[data-chart-key=above]")
    page.evaluate("() => { const real = window.setTimeout; window.setTimeout = (call, ms, ...more) => (ms === 250 ? 0 : real(call, ms, ...more)); window.realTimeout = real; }")
    page.locator("[data-testid=stSlider] input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.locator("[data-chart-key=above][data-waiting=true]").wait_for(state="attached")
    page.wait_for_timeout(600)
    assert painted(page, "above") == before and above.get_attribute("aria-label") == "Rises by 3"
    above.scroll_into_view_if_needed()
    wait_painted(page, "above", before)
    assert full_layout(page, "above", "data[0].y[1]") == 3 and above.get_attribute("data-waiting") == "false"
    page.evaluate("() => { window.setTimeout = window.realTimeout; }")
    page.evaluate("() => document.querySelector('[data-testid=stSlider]').scrollIntoView()")
    page.wait_for_timeout(300)
    move_slider(page, 4)  # waits for its paint
    assert full_layout(page, "above", "data[0].y[1]") == 4


def test_text_alternative_replaces_the_drawing(page, app_url):
    open_first(page, app_url)
    assert page.get_by_role("img", name="Rises by 2", exact=True).count() == 1
    assert page.get_by_role("img", name="Does not change", exact=True).count() == 1


def test_zoom_and_hidden_lines_stay_when_data_change_or_an_element_appears_above(page, app_url):
    open_first(page, app_url)
    box = page.locator("[data-chart-key=above] .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
    page.mouse.up()
    page.locator("[data-chart-key=above] .legendtoggle").nth(1).click()
    page.wait_for_function(
        "() => document.querySelector('[data-chart-key=above] .js-plotly-plot')._fullData[1].visible === 'legendonly'"
    )
    zoomed = full_layout(page, "above", "layout.xaxis.range")
    assert zoomed == pytest.approx([1.8, 4.5], abs=0.1)
    move_slider(page, 7)
    page.locator("text=steep").wait_for()
    assert full_layout(page, "above", "layout.xaxis.range") == zoomed
    assert full_layout(page, "above", "data[1].visible") == "legendonly"
    assert full_layout(page, "above", "data[0].y[1]") == 7
    page.set_viewport_size({"width": 640, "height": 900})
    page.wait_for_function("() => document.querySelector('[data-chart-key=above]').clientWidth < 650")
    page.wait_for_timeout(500)
    assert full_layout(page, "above", "layout.xaxis.range") == zoomed


def test_width_follows_the_page_and_the_narrow_layout_applies_below_760_px(page, app_url):
    open_first(page, app_url)
    chart = page.locator("[data-chart-key=above]")
    assert full_layout(page, "above", "layout.width") == int(chart.bounding_box()["width"]) > 600
    assert chart.bounding_box()["height"] == 400
    assert full_layout(page, "above", "layout.dragmode") == "zoom"
    before = painted(page, "above")
    page.set_viewport_size({"width": 390, "height": 844})
    wait_painted(page, "above", before)
    page.wait_for_function("() => document.querySelector('[data-chart-key=above]').clientWidth < 390")
    page.wait_for_timeout(500)
    assert full_layout(page, "above", "layout.width") == int(chart.bounding_box()["width"])
    assert full_layout(page, "above", "layout.height") == chart.bounding_box()["height"] == 500
    assert full_layout(page, "above", "layout.xaxis.title.text") == "narrow title"
    assert full_layout(page, "above", "layout.xaxis.range") == [0, 9]
    assert full_layout(page, "above", "layout.margin.l") == 30
    assert full_layout(page, "above", "layout.dragmode") is False
    container = page.locator("[data-testid=stElementContainer]").filter(has=chart)
    assert container.bounding_box()["height"] == 500
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    page.set_viewport_size({"width": 1300, "height": 900})
    page.wait_for_function("() => document.querySelector('[data-chart-key=above]').dataset.narrow === 'false'")
    page.wait_for_timeout(500)
    assert full_layout(page, "above", "layout.height") == 400
    assert full_layout(page, "above", "layout.xaxis.title.text") != "narrow title"


@pytest.mark.parametrize(("screen", "narrow"), [(700, "true"), (1200, "true"), (1300, "false")])
def test_layout_follows_the_width_of_the_page_not_of_the_screen(page, app_url, screen, narrow):
    page.set_viewport_size({"width": screen, "height": 900})
    open_first(page, app_url)
    chart = page.locator("[data-chart-key=above]")
    assert chart.get_attribute("data-narrow") == narrow
    assert (chart.bounding_box()["width"] < 760) == (narrow == "true")
    container = page.locator("[data-testid=stElementContainer]").filter(has=chart)
    assert container.bounding_box()["height"] == chart.bounding_box()["height"] == (500 if narrow == "true" else 400)


def test_height_is_reserved_while_the_bundle_loads(page, app_url):
    waiting = []
    page.route("**/plotly.min.js*", lambda route: waiting.append(route))
    page.goto(app_url)
    page.locator("[data-chart-key=below]").wait_for()
    below = page.locator("text=between").bounding_box()["y"]
    assert page.locator("[data-chart-key=above]").bounding_box()["height"] == 400
    assert painted(page, "above") == 0
    page.wait_for_timeout(300)
    waiting[0].continue_()
    wait_painted(page, "below")
    assert page.locator("text=between").bounding_box()["y"] == below
    assert len(waiting) == 1


RECORD_HEIGHTS = """
window.heights = [];
const sample = () => {
  const chart = document.querySelector('.st-key-above');
  if (chart) window.heights.push(chart.getBoundingClientRect().height);
  requestAnimationFrame(sample);
};
sample();
"""


def test_a_chart_has_its_final_height_from_the_first_frame(page, app_url):
    page.add_init_script(RECORD_HEIGHTS)
    open_first(page, app_url)
    assert set(page.evaluate("() => window.heights")) == {400}


@pytest.mark.parametrize("screen", [390, 1200])  # 1200: less the sidebar
def test_a_narrow_chart_has_its_final_height_from_the_first_frame_after_a_page_switch(page, app_url, screen):
    page.set_viewport_size({"width": screen, "height": 900})
    page.add_init_script(RECORD_HEIGHTS)
    open_first(page, app_url)
    go_to(page, "second")
    page.get_by_role("tab", name="With", exact=True).click()
    wait_painted(page, "bars")
    page.evaluate("() => { window.heights.length = 0; }")
    go_to(page, "first")
    wait_painted(page, "above")
    assert set(page.evaluate("() => window.heights")) == {500}


def go_to(page: Page, name: str) -> None:
    """Follow a link of the navigation, which is outside the screen on a phone."""
    page.get_by_role("link", name=name).dispatch_event("click")


def test_finger_scrolls_the_page_over_a_narrow_chart(new_page, app_url):
    page = new_page(width=390, height=600, has_touch=True, is_mobile=True)
    open_first(page, app_url)
    box = page.locator("[data-chart-key=above] .nsewdrag").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 150
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        touch = {"x": x, "y": y - 20 * step}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [touch]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop > 80")


def test_message_in_place_of_a_chart_whose_bundle_cannot_be_loaded(page, app_url):
    page.route("**/plotly.min.js*", lambda route: route.abort())
    page.goto(app_url)
    chart = page.locator("[data-chart-key=above]")
    chart.locator("text=Reload the page").wait_for()
    assert "Rises by 2" in chart.inner_text()
    assert chart.bounding_box()["height"] == 400
    page.unroute("**/plotly.min.js*")
    move_slider(page, 3)
    assert "Reload the page" not in chart.inner_text()
    assert full_layout(page, "above", "data[0].y[1]") == 3


def test_theme_colours_text_without_a_colour_of_its_own(page, app_url):
    page.emulate_media(color_scheme="light")
    open_first(page, app_url)
    light = full_layout(page, "above", "layout.font.color")
    before = painted(page, "above")
    page.emulate_media(color_scheme="dark")
    wait_painted(page, "above", before)
    page.wait_for_timeout(500)
    dark = full_layout(page, "above", "layout.font.color")
    assert brightness(light) < 0.3 < 0.8 < brightness(dark)
    assert full_layout(page, "above", "layout.paper_bgcolor") == "rgba(0,0,0,0)"
    assert full_layout(page, "above", "layout.plot_bgcolor") == "rgba(0,0,0,0)"
    assert full_layout(page, "below", "layout.font.color") == "#ff0000"


def brightness(css_colour: str) -> float:
    red, green, blue = (float(part) for part in css_colour.strip("rgba()").split(",")[:3])
    return (red + green + blue) / (3 * 255)


def test_missing_values_are_gaps(page, app_url):
    open_first(page, app_url)
    assert page.evaluate(
        "() => document.querySelector('[data-chart-key=below] .js-plotly-plot').calcdata[0].map((p) => p.y ?? null)"
    ) == [0, 1, 2, None, 4, 5, 6, 7, 8, 9]


def open_third(page: Page, url: str) -> None:
    page.goto(f"{url}/third")
    wait_painted(page, "moving")
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(300)


def test_frames_play_when_asked_and_stop_when_the_data_change(page, app_url):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.emulate_media(reduced_motion="no-preference")
    open_third(page, app_url)
    moving = page.locator("[data-chart-key=moving]")
    page.wait_for_timeout(500)
    assert "still" in moving.text_content()
    moving.locator(".updatemenu-button").click()
    moving.locator("text=moment 3 of 2").wait_for()
    before = painted(page, "moving")
    page.locator("[data-testid=stSlider] input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.locator("text=size 3").wait_for()
    wait_painted(page, "moving", before)
    page.wait_for_timeout(500)
    assert full_layout(page, "moving", "data[0].y[0]") == 3
    assert "still" in moving.text_content() and "of 2" not in moving.text_content()
    moving.locator(".updatemenu-button").click()
    moving.locator("text=moment 19 of 3").wait_for()
    assert set(errors) <= {"undefined"}  # Plotly gives up the promise of what is stopped, without a reason


def test_frames_have_no_button_where_less_motion_is_asked_for(page, app_url):
    page.emulate_media(reduced_motion="reduce")
    open_third(page, app_url)
    moving = page.locator("[data-chart-key=moving]")
    assert moving.locator(".updatemenu-button").count() == 0 and "still" in moving.text_content()


def test_page_switches_leave_nothing_behind_and_use_no_other_host(page, app_url):
    page.add_init_script(
        """
        window.observing = 0;
        const Native = window.ResizeObserver;
        window.ResizeObserver = class extends Native {
          observe(node, ...rest) {
            if (node.className === 'fastmode-chart') { this.chart = true; window.observing += 1; }
            super.observe(node, ...rest);
          }
          disconnect() { if (this.chart) { this.chart = false; window.observing -= 1; } super.disconnect(); }
        };
        """
    )
    hosts, errors = set(), []
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]) if request.url.startswith("http") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_first(page, app_url)
    listeners = []
    for _ in range(6):
        go_to(page, "second")
        page.get_by_role("tab", name="With", exact=True).click()
        wait_painted(page, "bars")
        assert page.evaluate("() => [window.observing, Object.keys(window.__fastmodeChartPaints)]") == [1, ["bars"]]
        go_to(page, "first")
        wait_painted(page, "above")
        wait_painted(page, "below")
        page.wait_for_timeout(200)
        assert page.evaluate("() => window.observing") == 2
        listeners.append(live_listeners(page))
    assert sorted(page.evaluate("() => Object.keys(window.__fastmodeChartPaints)")) == ["above", "below"]
    assert listeners[5] <= listeners[1]
    assert hosts == {app_url.removeprefix("http://")}
    assert errors == []


def live_listeners(page: Page) -> int:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    values = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return int(values["JSEventListeners"])
