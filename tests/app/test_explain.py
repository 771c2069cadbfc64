"""The page Explain a tier under AppTest: every option, typed ratios in the link, and what cannot be used of them."""

import re

import pytest

from fastmode.catalog import load
from tests.app.test_cards import html_texts, start
from tests.app.test_pages import notices

PRESETS = list(load().presets.index)


def texts(at):
    return [re.sub("<[^>]+>", "", text).replace("&nbsp;", " ").replace("&#x27;", "'") for text in html_texts(at)]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_option_gets_a_finding(preset):
    at = start(f"preset={preset}", "explain")
    assert notices(at) == [] and not at.error and not at.warning
    (finding,) = (t for t, h in zip(texts(at), html_texts(at), strict=True) if 'role="heading"' in h)
    assert finding.endswith(".") and not any(word in " ".join(texts(at)) for word in ("nan", "inf ", "None"))


def test_typed_ratios_come_from_the_link_and_change_the_finding():
    at = start("preset=opus-4.6-fast&xv=2&xp=3", "explain")
    assert texts(at)[0].startswith("A tier is 2x as fast as Opus 4.6 at 3x the price. A smaller batch alone can do that: 20 instead of 64, at 1.62x")
    assert [at.number_input(key=key).value for key in ("xv", "xp", "xi")] == [2.0, 3.0, None]


def test_the_table_starts_with_the_most_plausible():
    table = start("preset=opus-4.6-fast", "explain").main.dataframe[0].value
    first = table.iloc[0]
    assert (first["how"], first["plausibility"], first["cost"], first["price over cost"]) == ("batch 11 (6-18)", "possible", "2.16x (1.4x-4.29x)", "2.78x (1.4x-4.29x)")
    assert list(dict.fromkeys(table["plausibility"])) == ["possible", "only within the band", "against what is published"]


def test_the_tasks_of_an_ab_test_follow_the_error_and_the_team():
    table = start("preset=opus-4.6-fast", "explain").main.dataframe[1].value
    five = table[table["errs more by"] == "+5 points"].iloc[0]
    assert list(five[1:]) == ["1\u202f248", "1\u202f671", "4.16"]  # 2 x 1248 / (10 developers x 60 tasks)
    more = start("preset=opus-4.6-fast&tm=20&e=0.9", "explain").main.dataframe[1].value
    assert more["tasks on each, seen 80 %"].iloc[-1] == "-"  # 110 % is no error rate
    assert float(more["months of the team"].iloc[0]) == pytest.approx(2 * float(more["tasks on each, seen 80 %"].iloc[0].replace("\u202f", "")) / 1200, rel=0.01)


@pytest.mark.parametrize(("text", "limits"), [("0", "1 to 1000"), ("abc", "1 to 1000"), ("nan", "1 to 1000"), ("1e9", "1 to 1000"), ("<b>", "1 to 1000")])
def test_a_ratio_that_cannot_be_used_is_named(text, limits):
    at = start(f"preset=opus-4.6-fast&xv={text}", "explain")
    assert f"xv={text} (not a number from {limits})" in notices(at)[0]
    assert at.number_input(key="xv").value is None


@pytest.mark.parametrize("query", ["b=512&cx=1M", "n=4096", "m=none", "ld=traffic&rq=1000", "r=100", "hw=Groq+LPU", "pi=0&po=0", "no=1", "b=1"])
def test_extreme_settings_give_a_finding_or_a_reason(query):
    at = start(query, "explain")
    assert not at.error and not at.warning
    assert not any(word in " ".join(texts(at)) for word in ("nan", "inf ", "None"))
