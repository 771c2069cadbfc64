"""The pages Batching and Hardware under AppTest: every option on every tab, links, and which controls have no effect there."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from fastmode import scenario as scenarios
from fastmode.catalog import load
from fastmode.ui import view
from tests.app.test_cards import changed_keys, html_texts, start
from tests.app.test_pages import notices

PRESETS = list(load().presets.index)
FINDING = 'role="heading"'
TABS = [(page, tab) for page in ("batching", "hardware") for tab in view.TABS[page]]
CHOICES = [("batching", "The bus", "bp"), ("batching", "First token", "sk"), ("batching", "First token", "ph"), ("hardware", "Power and money", "tb")]  # fmt: skip


def open_tab(page: str, tab: str, query: str = ""):
    """The page opened with a link on one of its tabs."""
    first = tab == view.TABS[page][0]
    return start("&".join(part for part in (query, "" if first else urlencode({"tab": tab})) if part), page)


def charts(at) -> int:
    return len(at.main.get("bidi_component"))


def shared(at) -> dict[str, list[str]]:
    """What the link under Share holds."""
    return parse_qs(urlsplit(at.sidebar.code[0].value).query)


@pytest.mark.parametrize(("page", "tab"), TABS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_option_shows_a_finding_on_every_tab(preset, page, tab):
    at = open_tab(page, tab, f"preset={preset}")
    assert notices(at) == [] and not at.error and not at.warning
    assert any(FINDING in text for text in html_texts(at))


@pytest.mark.parametrize(("page", "tab"), TABS)
@pytest.mark.parametrize(
    "query",
    ["b=512&cx=1M", "n=1", "n=4096", "tp=512", "pp=512", "hw=Groq+LPU", "m=none", "ld=traffic&rq=1000", "ld=traffic&rq=0.01", "lc=0", "lc=3", "ni=0", "no=1", "no=2000000&c=1",
     "c=2000", "ts=100", "r=100", "lt=0.01&lp=0.0001", "an=model+only", "cp=high&ut=0.01", "pi=0&po=0"],
)  # fmt: skip
def test_extreme_settings_give_a_finding_or_a_reason(query, page, tab):
    at = open_tab(page, tab, query)
    assert not at.error and not at.warning
    said = " ".join([*html_texts(at), *(e.value for e in (*at.main.markdown, *at.main.caption))])
    assert FINDING in said and not any(word in said for word in (">nan", " nan", "inf ", "None"))


@pytest.mark.parametrize(("page", "tab", "key"), CHOICES)
def test_a_choice_is_read_from_the_link_and_written_to_it(page, tab, key):
    default, *others = view.CHOICES[key]
    for chosen in others:
        for text in (chosen, view.CHOICES[key][chosen]):
            at = open_tab(page, tab, urlencode({key: text}))
            assert at.segmented_control(key=key).value == chosen and notices(at) == []
            assert shared(at)[key] == [view.CHOICES[key][chosen]]
    at = open_tab(page, tab, urlencode({key: "<b>"}))
    assert at.segmented_control(key=key).value == default and len(notices(at)) == 1
    assert key not in shared(at)


@pytest.mark.parametrize(("page", "tab"), TABS)
def test_bad_links_give_one_line(page, tab):
    at = open_tab(page, tab, "b=9999&zzz=1&w=150")
    assert len(notices(at)) == 1 and changed_keys(at) == {"w": 150.0}


@pytest.mark.parametrize("page", ["batching", "hardware"])
def test_people_and_errors_have_no_effect_there(page):
    at = open_tab(page, view.TABS[page][0])
    controls = [*at.sidebar.select_slider, *at.sidebar.number_input, *at.sidebar.selectbox, *at.sidebar.text_input]
    idle = {widget.key for widget in controls if widget.disabled}
    declared = scenarios.all_fields()
    people = {f.key for f in declared.values() if f.group in (scenarios.PEOPLE, scenarios.ERROR)}
    assert people | {"fx"} <= idle
    assert not idle & {"b", "hw", "cx", "no", "c", "ut"}
    assert "rq" not in idle  # both pages read the traffic whatever the load
    assert all("(no effect here)" in widget.label for widget in controls if widget.key in idle)


def test_a_tab_of_another_page_opens_the_first():
    at = start("tab=Validation", "batching")
    assert not at.exception and charts(at) >= 1


def test_energy_and_cost_are_also_given_at_the_quoted_speeds():
    text = " ".join(html_texts(open_tab("hardware", "Power and money")))
    assert "GPT-5.3-Codex is modelled at 22.5 tok/s where 65 are quoted; at the quoted speed it would be 2.42 J and $6.19." in text
    assert "Codex-Spark is modelled" not in text  # within a tenth of what is quoted
    alone = html_texts(open_tab("hardware", "Power and money", "an=model+only"))
    assert not any("at the quoted speed" in part for part in alone)
