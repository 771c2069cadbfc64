"""Links in a browser: what a link opens, what the address bar holds, Back, reload and a second tab."""

import random
import statistics
import time
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from fastmode import link
from fastmode import scenario as scenarios
from fastmode.cards import cards
from fastmode.cli import evaluation_document
from fastmode.evaluate import evaluate
from fastmode.format import join_unit
from fastmode.ui.frame import PAGES
from tests.browser import driver

N_LINKS = 50
NOTICE = "Not used from this link: "
CARDS = ("tokens_per_s_per_user", "cost_multiplier", "error_rate", "net_productivity")
_FIGURES = """
() => Object.fromEntries([...document.querySelectorAll('[data-card]')].map(card => [card.dataset.card,
  ['.card-value', '.card-unit', '.card-change'].map(part => card.querySelector(part)?.innerText.replaceAll('\u00a0', ' ').trim() ?? '')]))
"""


def figures(page: Page) -> dict[str, tuple[str, str]]:
    """Cards in page order: id -> (value with unit, change)."""
    page.locator("[data-card]").nth(len(CARDS) - 1).wait_for(timeout=driver.TIMEOUT_MS)
    return {key: (join_unit(value, unit), change) for key, (value, unit, change) in page.evaluate(_FIGURES).items()}


def expected(query: str) -> dict[str, tuple[str, str]]:
    """What the command `evaluate` prints for a link, and the change that belongs to it."""
    outputs = evaluation_document(query)["outputs"]
    changes = {card.key: card.change for card in cards(evaluate(link.from_query(query)[0]))}
    return {name: (outputs[name]["text"], changes[name]) for name in CARDS}


def scenario_of(url: str) -> scenarios.Scenario:
    """The scenario an address stands for; the address must be one the app could have written."""
    scenario, ignored = link.from_query(url)
    assert ignored == []
    return scenario


def chosen(page: Page, label: str) -> str:
    """What the select box labelled ``label`` shows."""
    boxes = page.locator('[data-testid="stSelectbox"]')
    return boxes.filter(has=page.get_by_text(label, exact=True)).locator("input").first.input_value()


def notices(page: Page) -> list[str]:
    """The lines that say what of the link was ignored."""
    return page.locator('[data-testid="stText"]', has_text=NOTICE).all_inner_texts()


def go_to(page: Page, title: str) -> None:
    """Change the page by the navigation at the top."""
    name, head = next((name, head) for name, (_script, shown, head) in PAGES.items() if shown == title)
    page.get_by_test_id("stTopNavSection").filter(has_text=head).click()
    page.get_by_test_id("stTopNavDropdownLink").filter(has_text=title).click()
    page.wait_for_url(lambda url: path_of(url) == ("/" if name == "overview" else f"/{name}"))
    driver.wait_idle(page, stable_ms=500)


def path_of(url: str) -> str:
    """Path of an address, without its query."""
    return "/" + url.split("?")[0].split("/", 3)[3]


def history_length(page: Page) -> int:
    return page.evaluate("history.length")


# --- generated links --------------------------------------------------------------------------------------------------

BAD = ("", "abc", "nan", "-1", "1e99", "<b>x</b>", "None", "9,5", "☃")


def random_text(field: scenarios.Field, rng: random.Random) -> str:
    """A value of a field as somebody might write it in a link: label, raw id, number on or off the grid, rubbish."""
    if rng.random() < 0.08:
        return rng.choice(BAD)
    if field.kind == "choice":
        return rng.choice(rng.choice(field.choices))
    if field.kind == "scale":
        value = rng.choice(field.grid)
        return rng.choice([field.text(value), f"{value:g}", f"{value * rng.uniform(0.9, 1.1):.6g}"])
    if field.kind == "text":
        return rng.choice(["of:1:8", "d:0.3:0.7;no:300:9000", "none", "zz:1:2"])
    low = field.low if field.low == field.low else field.min
    high = field.high if field.high == field.high else field.max
    number = scenarios.snap(field, rng.uniform(low, high))
    return rng.choice([f"{number:.10g}", f"{float(number)}", f"{number + rng.choice([0, 0.3]) * field.step:.10g}"])


def random_link(rng: random.Random) -> str:
    """Path and query over all fields; options and tasks also as the words that expand."""
    fields = list(scenarios.all_fields().values())
    pairs = []
    if rng.random() < 0.5:
        pairs.append(("preset", rng.choice(rng.choice(next(f for f in fields if f.name == "preset").choices))))
    if rng.random() < 0.3:
        pairs.append(("task", rng.choice(rng.choice(next(f for f in fields if f.name == "task").choices))))
    for field in rng.sample(fields, rng.choice([0, 1, 2, 3, 5, 8, 13, len(fields)])):
        pairs.append((rng.choice([field.key, field.name]), random_text(field, rng)))
    if rng.random() < 0.1:
        pairs.append(("nonsense", "1"))
    rng.shuffle(pairs)
    return rng.choice(["/", "/trade_offs"]) + "?" + urlencode(pairs)


def test_generated_links_are_alike_every_time_and_cover_the_fields():
    rng = random.Random(53)
    links = [random_link(rng) for _ in range(N_LINKS)]
    rng = random.Random(53)
    assert links == [random_link(rng) for _ in range(N_LINKS)]
    read = [link.from_query(address) for address in links]
    plain = scenarios.default()
    moved = {name for name in scenarios.all_fields() if any(getattr(s, name) != getattr(plain, name) for s, _i in read)}
    assert moved == set(scenarios.all_fields())
    assert 10 < sum(bool(ignored) for _s, ignored in read) < 45


def test_generated_links_open_to_what_the_command_prints(cold_server, new_page, capsys):
    rng = random.Random(53)
    page = new_page()
    wrong, seconds = [], []
    for address in (random_link(rng) for _ in range(N_LINKS)):
        started = time.perf_counter()
        driver.open(page, cold_server.link(address))
        found = figures(page)
        seconds.append(time.perf_counter() - started)
        if found != expected(address):
            wrong.append((address, found, expected(address)))
        if driver.errors_shown(page):
            wrong.append((address, driver.errors_shown(page)))
        if len(notices(page)) != bool(link.from_query(address)[1]):
            wrong.append((address, notices(page)))
        if link.from_query(page.url) != (link.from_query(address)[0], []):
            wrong.append((address, page.url))
    with capsys.disabled():
        print(f"\n{N_LINKS} links: first {seconds[0]:.2f} s, median {statistics.median(seconds):.2f} s a link")
    assert wrong == []


# --- one link ---------------------------------------------------------------------------------------------------------


def test_deep_link_on_a_cold_server_opens_page_controls_and_cards(cold_server, page):
    query = "b=64&hw=B200&r=10x&fx=5+min&an=model+only&w=150"
    driver.open(page, cold_server.link(f"/trade_offs?{query}"))
    assert figures(page) == expected(query)
    assert path_of(page.url) == "/trade_offs"
    assert scenario_of(page.url) == scenario_of(query)
    assert page.get_by_role("heading", name="Where does the step go?").is_visible()
    assert driver.slider_value(page, "Batch") == "64" and driver.slider_value(page, "Distillation") == "10x"
    assert chosen(page, "Hardware") == "B200" and chosen(page, "Option") == "Codex-Spark"
    assert driver.errors_shown(page) == [] and notices(page) == []


def test_view_of_a_deep_link_survives_a_cold_start(cold_server, page):
    driver.open(page, cold_server.link("/trade_offs?b=64&x=distillation"))
    assert driver.link_state(page) == {"b": ["64"], "x": ["distillation"]}
    assert page.get_by_role("radio", name="distillation").is_checked()


def test_reload_keeps_the_state(server, page):
    driver.open(page, server.link("/"))
    driver.nudge(page, "Batch", 2)  # 16 -> 24 -> 32
    driver.choose(page, "Hardware", "B200")
    before, address = figures(page), page.url
    page.reload(wait_until="domcontentloaded")
    driver.wait_idle(page)
    assert figures(page) == before == expected("b=32&hw=B200")
    assert page.url == address and driver.slider_value(page, "Batch") == "32"


def test_moved_slider_is_in_the_address_and_opens_elsewhere_alike(server, page, new_page):
    driver.open(page, server.link("/trade_offs"))
    assert driver.link_state(page) == {}
    assert driver.nudge(page, "Batch", 2) == "32"  # 16 -> 24 -> 32
    driver.nudge(page, "Distillation", 10)  # 1x -> 10x
    assert driver.link_state(page) == {"b": ["32"], "r": ["10x"]}
    other = new_page()
    driver.open(other, page.url)
    assert figures(other) == figures(page) == expected("b=32&r=10")
    assert driver.slider_value(other, "Distillation") == "10x"


def test_bad_link_gives_one_quiet_line(server, page):
    driver.open(page, server.link("/?b=9999&hw=abacus&zzz=1&w=150"))
    assert figures(page) == expected("w=150")
    assert len(notices(page)) == 1
    assert all(named in notices(page)[0] for named in ("b=9999", "hw=abacus", "zzz=1")) and "w=150" not in notices(page)[0]
    assert driver.link_state(page) == {"w": ["150"]}
    assert page.locator('[data-testid="stAlert"]').count() == 0 and driver.errors_shown(page) == []
    driver.press(page, "what is this?")
    assert page.get_by_text("The link holds values this app does not know or cannot use.").is_visible()


@pytest.mark.parametrize("text", ["<img src=x onerror=window.hit=1>", "![](https://example.org/x.png)", "<script>hit=1</script>"])
def test_hostile_text_of_a_link_is_only_text(server, page, text):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    driver.open(page, server.link("/?" + urlencode({"hw": text, text: "1"})))
    assert text in notices(page)[0]
    assert page.evaluate("window.hit") is None
    assert not any("example.org/x.png" in url.split("?")[0] for url in asked)
    assert page.locator("img[src=x]").count() == 0
    assert figures(page) == expected("")


# --- history and tabs -------------------------------------------------------------------------------------------------


def test_moving_sliders_adds_no_history(server, page):
    driver.open(page, server.link("/?b=64"))
    entries = history_length(page)
    driver.nudge(page, "Batch", 2)
    driver.nudge(page, "Distillation", 3)
    driver.nudge(page, "Cost of an error", -1)
    assert history_length(page) == entries
    page.go_back()
    assert page.url == "about:blank"


def test_moving_a_slider_of_the_overview_adds_no_history(server, page):
    driver.open(page, server.link("/?b=64"))
    entries = history_length(page)
    handle = page.locator(".st-key-mirror_ts").locator('input[type="range"], [role="slider"]').first
    handle.focus()
    for scale in ("1.4x", "2x"):  # one run each: the handle stays in place and keeps the focus
        page.keyboard.press("ArrowRight")
        page.wait_for_url(lambda url, scale=scale: url.endswith(f"ts={scale}"))
        driver.wait_idle(page, stable_ms=500)
    assert driver.link_state(page) == {"b": ["64"], "ts": ["2x"]}
    assert figures(page) == expected("b=64&ts=2x")
    assert history_length(page) == entries


@pytest.mark.parametrize("change", ["option", "task", "undo", "reset"])
def test_changing_many_fields_adds_no_history(server, page, change):
    driver.open(page, server.link("/?b=64"))
    if change == "undo":
        driver.choose(page, "Option", "Opus 4.6 fast")
    before, entries = figures(page), history_length(page)
    if change == "option":
        driver.choose(page, "Option", "Opus 4.6 fast")
    elif change == "task":
        driver.press(page, "Chat")
    else:
        page.locator(f".st-key-{change} button").first.click()
        driver.wait_idle(page, stable_ms=500)
    assert figures(page) != before and figures(page) == expected(page.url)
    assert history_length(page) == entries


def test_change_of_page_keeps_the_state_and_back_returns(server, page):
    driver.open(page, server.link("/?b=64&w=150"))
    go_to(page, "Trade-offs")
    assert driver.link_state(page) == {"b": ["64"], "w": ["150"]}
    assert figures(page) == expected("b=64&w=150") and driver.slider_value(page, "Batch") == "64"
    page.go_back()
    page.wait_for_url(lambda url: path_of(url) == "/")
    driver.wait_idle(page, stable_ms=500)
    assert driver.link_state(page) == {"b": ["64"], "w": ["150"]}
    assert figures(page) == expected("b=64&w=150") and driver.slider_value(page, "Batch") == "64"
    assert page.get_by_text("The bars as a table").is_visible()


def test_back_brings_the_state_the_page_before_was_left_with(server, page):
    driver.open(page, server.link("/?b=64"))
    driver.nudge(page, "Distillation", 10)
    go_to(page, "Trade-offs")
    driver.nudge(page, "Batch", 2)  # 64 -> 96 -> 128
    assert figures(page) == expected("b=128&r=10")
    page.go_back()
    page.wait_for_url(lambda url: path_of(url) == "/")
    driver.wait_idle(page, stable_ms=500)
    assert scenario_of(page.url) == scenario_of("b=64&r=10x")
    assert figures(page) == expected("b=64&r=10") and driver.slider_value(page, "Batch") == "64"


def test_two_tabs_do_not_mix(server, page):
    second = page.context.new_page()
    driver.open(page, server.link("/?b=64"))
    driver.open(second, server.link("/trade_offs?b=4&preset=opus-4.6-fast&task=chat"))
    driver.nudge(page, "Batch", 2)
    driver.nudge(second, "Distillation", 10)
    driver.nudge(page, "Distillation", 1)
    assert figures(page) == expected("b=128&r=1.2")
    assert figures(second) == expected("preset=opus-4.6-fast&task=chat&r=10")
    second.reload(wait_until="domcontentloaded")
    driver.wait_idle(second)
    assert figures(second) == expected("preset=opus-4.6-fast&task=chat&r=10")
    assert figures(page) == expected("b=128&r=1.2")
    second.close()
