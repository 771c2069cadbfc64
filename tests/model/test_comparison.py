"""The two fast modes side by side: each statement with its word and source, each computed figure that of its own evaluation."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from fastmode import comparison as module
from fastmode.catalog import load
from fastmode.comparison import DISPUTES, NOTED, OPTIONS, QUESTIONS, Row, Statement, comparison, newest_tiers
from fastmode.evaluate import BASIS_WORDS, evaluate
from fastmode.scenario import default, expand_preset, expand_profile
from fastmode.ui.comparison import table_html

OPUS, SPARK = range(2)


@pytest.fixture(scope="module")
def catalog():
    return load()


@pytest.fixture(scope="module")
def scenario(catalog):
    return default(catalog)


@pytest.fixture(scope="module")
def made(scenario, catalog):
    return comparison(scenario, catalog)


def cell(made, key, option):
    (row,) = (row for row in made.rows if row.key == key)
    return row.cells[option]


def text(made, key, option):
    return " ".join(said.text for said in cell(made, key, option))


def words(made, key, option):
    return [said.word for said in cell(made, key, option)]


# --- the six answers


def test_rows_are_the_questions_with_both_options(made):
    assert [row.key for row in made.rows] == list(QUESTIONS)
    assert (made.options, made.standards) == (("Opus 4.6 fast", "Codex-Spark"), ("Opus 4.6", "GPT-5.3-Codex"))


def test_who_keeps_the_model(made):
    assert text(made, "model", OPUS) == "Opus 4.6 fast keeps it: the same weights as Opus 4.6. By the vendor's statement."
    assert text(made, "model", SPARK).startswith(
        "Codex-Spark does not: it is a separate model, not GPT-5.3-Codex. By the vendor's statement a smaller model."
    )
    assert words(made, "model", OPUS) == ["published"]
    assert words(made, "model", SPARK) == ["published", "assumed"]  # that it is distilled nobody states


def test_whose_chip(made):
    assert words(made, "chip", OPUS) == ["", "assumed"]
    assert "Not published." in text(made, "chip", OPUS) and "small-batch hypothesis" in text(made, "chip", OPUS)
    assert cell(made, "chip", SPARK)[0] == Statement("Cerebras WSE-3.", "published", "2026-02-12", "https://www.irc-junkie.org/?p=6758")


def test_speed_and_multiple_with_what_others_report(made):
    assert text(made, "speed", OPUS).startswith(
        "Up to 2.5x the tokens/s of Opus 4.6. 170 tok/s, 2.62x the 65 tok/s of Opus 4.6. A multiplied figure, not a measurement."
    )
    assert words(made, "speed", OPUS) == ["published", "reported", "reported", "measured"]
    assert "51 tok/s" in text(made, "speed", OPUS) and "103 tok/s" in text(made, "speed", OPUS)
    # 1000 / 65 = 15.4: one speed published, the other reported, so the ratio is neither
    assert "15.4x the 65 tok/s that are reported of GPT-5.3-Codex." in text(made, "speed", SPARK)
    assert words(made, "speed", SPARK) == ["published", "derived", "reported"]


def test_price_multiple_then_and_today(made):
    assert text(made, "price", OPUS) == (
        "Then 6x: $150 instead of $25 per Mtok of output. Today, for the same weights: 2x (Opus 5.5 fast, up to 2.5x the speed)."
    )
    assert [said.date for said in cell(made, "price", OPUS)] == ["2026-02-07", "2026-09-22"]
    assert text(made, "price", SPARK).startswith("Then: not published. A catalogue lists 1.75 / 14 USD per Mtok: not used")
    assert "Today, not of Codex-Spark, but of a newer model with its weights kept: 2x (GPT-6.1 Sol fast)." in text(made, "price", SPARK)
    assert "6x (GPT-6.1 Sol Ultrafast, up to 8x the speed)" in text(made, "price", SPARK)


@pytest.mark.parametrize("i", [OPUS, SPARK])
def test_task_time_is_that_of_the_options_own_evaluation(made, scenario, catalog, i):
    alone = evaluate(replace(scenario, **expand_preset(OPTIONS[i], catalog)), catalog)
    low, high = (alone.at(end) for end in alone.spread.band("time_change", 90))
    change = alone.at(alone.time_change)
    said = text(made, "time", i)
    assert said.startswith(f"{module.fmt.signed_share(change)} time per accepted task, from ")
    assert f"90 %: {module.fmt.signed_share(low)} to {module.fmt.signed_share(high)}" in said
    assert f"in {module.fmt.share(round(alone.at(alone.spread.p_faster), 2))} of plausible worlds" in said
    assert words(made, "time", i) == ["modelled"]


def test_token_speed_up_and_task_time_in_the_heading(made):
    assert made.heading == (
        "Opus 4.6 fast keeps the model: 2.62x the tokens/s become 6.1 % less time per accepted task. "
        "Codex-Spark is another model: 15.4x the tokens/s become 34 % more time per accepted task (not decided)."
    )


def test_who_makes_more_errors(made):
    assert text(made, "errors", OPUS) == "Neither: as many as Opus 4.6, which has the same weights. 25 % of first outputs are not right, for both."
    assert words(made, "errors", OPUS) == ["published", "assumed"]
    # odds 1/3 times (41.6 / 58.4) / (22.7 / 77.3) = 0.8086, so 44.7 %
    assert text(made, "errors", SPARK).startswith("Codex-Spark: 44.7 % of first outputs are not right, with GPT-5.3-Codex 25 %.")
    assert "58.4 against 77.3 on Terminal-Bench 2.0." in text(made, "errors", SPARK)
    assert "77.3% (same as GPT-5.3-Codex): not used." in text(made, "errors", SPARK)
    assert words(made, "errors", SPARK) == ["derived", "modelled", "published", "reported"]


def test_whom_each_suits(made):
    said = text(made, "suits", OPUS)
    assert said.startswith("Surely saves time on all 11 kinds of task: -1.5 % to -17 %.")
    assert "saves money too, developer time included (in this share of plausible worlds): Advanced reasoning" in said
    said = text(made, "suits", SPARK)
    assert said.startswith("More likely saves time (in this share of plausible worlds): Prototyping (60 %). More likely costs time (saves it in this share): Simple tasks (40 %), ")
    assert said.endswith("Money: open, its price is not published.")


def test_what_is_not_known_of_reliability_is_said_without_a_word(made):
    for option in (OPUS, SPARK):
        assert cell(made, "reliability", option)[-1] == Statement("Rate limits and outages: no source held.")
    assert "Status: retired." in text(made, "reliability", OPUS)
    assert "Context 128\u202f000 tokens; GPT-5.3-Codex: 400\u202f000." in text(made, "reliability", SPARK)


# --- the tasks


def test_tasks_are_those_of_the_profiles_own_evaluations(made, scenario, catalog):
    shape = len(catalog.profiles), len(OPTIONS)
    assert made.tasks.change.shape == made.tasks.p_cheaper.shape == shape
    for row in (0, 5, 10):
        task = expand_profile(str(catalog.profiles.index[row]), catalog)
        for i, option in enumerate(OPTIONS):
            alone = evaluate(replace(scenario, **task | expand_preset(option, catalog)), catalog)
            assert made.tasks.change[row, i] == pytest.approx(alone.at(alone.time_change))
            # of an eighth as many draws
            assert made.tasks.p_faster[row, i] == pytest.approx(alone.at(alone.spread.p_faster), abs=0.08)
    assert np.isnan(made.tasks.p_cheaper[:, SPARK]).all() and np.isfinite(made.tasks.p_cheaper[:, OPUS]).all()


def test_people_of_the_scenario_count_and_its_option_does_not(made, scenario, catalog):
    other = comparison(replace(scenario, **expand_preset("opus-4.6", catalog)), catalog)
    assert other.heading == made.heading and (other.tasks.change == made.tasks.change).all()
    dearer = comparison(replace(scenario, wage_usd_per_h=400.0), catalog)
    assert (dearer.tasks.p_cheaper[:, OPUS] >= made.tasks.p_cheaper[:, OPUS]).all()
    assert dearer.tasks.p_cheaper[0, OPUS] > made.tasks.p_cheaper[0, OPUS]


def test_an_assumption_set_stays_as_it_says_on_every_task(scenario, catalog):
    stance = str(next(iter(catalog.assumption_sets["set"].unique())))
    chosen = replace(scenario, assumption_set=stance, **module.set_values(stance, catalog))
    row = list(catalog.profiles.index).index("prototyping")
    task = expand_profile("prototyping", catalog) | module.set_values(stance, catalog)
    alone = evaluate(replace(chosen, **task | expand_preset(OPTIONS[SPARK], catalog)), catalog)
    assert comparison(chosen, catalog).tasks.change[row, SPARK] == pytest.approx(alone.at(alone.time_change))


def test_without_quoted_speeds_the_model_answers(scenario, catalog, made):
    modelled = comparison(replace(scenario, anchor="model"), catalog)
    assert modelled.heading != made.heading
    assert text(modelled, "speed", OPUS) == text(made, "speed", OPUS)  # what is stated stays


def suits(change, low, high, faster, cheaper, catalog, scenario):
    """The last row's sentences for Opus fast with figures of its own on three tasks."""
    columns = (np.column_stack([np.asarray(values, float)] * 2) for values in (change, low, high, faster, cheaper))
    tasks = module.Tasks(("A", "B", "C"), *columns)
    view = module._View(module._options(catalog, "en")[OPUS], scenario, OPUS, None)
    vars(view)["page"] = "./productivity"
    return " ".join(said.text for said in module._suits(tasks, view))


def test_tasks_are_grouped_by_how_sure_the_saving_is(catalog, scenario):
    nan = [np.nan] * 3
    said = suits([-0.2, -0.1, 0.3], [-0.3, -0.3, 0.1], [-0.1, 0.2, 0.5], [1.0, 0.71, 0.0], nan, catalog, scenario)
    assert said == "Surely saves time: A. More likely saves time (in this share of plausible worlds): B (70 %). Surely costs time: C. Money: open, its price is not published."
    said = suits([0.0, 0.1, 0.2], [-0.3] * 3, [0.3] * 3, [0.51, 0.3, 0.4], [0.1, 0.2, 0.3], catalog, scenario)
    assert said == (
        "As likely saves as costs time: A. More likely costs time (saves it in this share): C (40 %), B (30 %). "
        "More likely costs money, developer time included, on every kind of task."
    )
    said = suits([0.1, 0.3, 0.2], [0.05] * 3, [0.5] * 3, [0.0] * 3, [0.9, 0.6, 0.5], catalog, scenario)
    assert said == (
        "Surely costs time on all 3 kinds of task: +10 % to +30 %. More likely saves money too, developer time included (in this share of plausible worlds): A (90 %), B (60 %)."
    )


# --- data and markup


def test_every_statement_with_a_word_has_one_of_the_six_and_a_source(made, catalog):
    sources = set(catalog.sources["url"])
    for row in made.rows:
        for said in (said for cell in row.cells for said in cell):
            if not said.word:
                assert not said.date and not said.url
                continue
            assert said.word in BASIS_WORDS.values()
            assert said.url in sources or said.url.startswith("./productivity")
            if said.url in sources and said.word != "reported":
                assert said.date or said.url in set(catalog.disputed_facts["source_b"])
        assert all(any(said.word for said in cell) for cell in row.cells), row.key


def test_what_the_code_looks_for_in_the_data_is_there(catalog):
    claims = set(catalog.disputed_facts["claim"])
    assert {claim for named in DISPUTES.values() for claim in named.values()} <= claims
    notes = " ".join([*catalog.endpoints.loc[list(OPTIONS), "notes"], *catalog.presets.loc[list(OPTIONS), "note"]])
    assert [phrase for phrase in NOTED if phrase not in notes] == []


def test_a_note_that_is_gone_takes_its_sentence_along(scenario, catalog):
    table = catalog.endpoints.copy()
    table.loc[list(OPTIONS), "notes"] = ""
    silent = comparison(scenario, replace(catalog, endpoints=table))
    assert text(silent, "model", OPUS) == "Opus 4.6 fast keeps it: the same weights as Opus 4.6."
    assert "not a measurement" not in text(silent, "speed", OPUS)


def test_newest_tiers_are_those_of_one_standard_model_the_cheapest_first(catalog):
    assert list(newest_tiers(catalog, "OpenAI on Cerebras WSE-3").index) == ["gpt-6.1-sol-fast", "gpt-6.1-sol-ultrafast"]
    assert list(newest_tiers(catalog, "Anthropic").index) == ["opus-5.5-fast"]
    assert newest_tiers(catalog, "Nobody").empty


class Cells(HTMLParser):
    """Table cells by row, and every link."""

    def __init__(self):
        super().__init__()
        self.rows, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if tag == "tr" and "data-row" in attrs:
            self.rows.append((attrs["data-row"], []))
        if tag == "td":
            self.rows[-1][1].append(attrs["data-option"])
        if tag == "a":
            self.links.append((attrs["href"], attrs.get("target")))


def test_the_table_has_a_named_cell_for_each_option_and_sources_open_beside_the_page(made):
    found = Cells()
    found.feed(table_html(made))
    assert found.rows == [(key, ["Opus 4.6 fast", "Codex-Spark"]) for key in QUESTIONS]
    assert all(target == ("_blank" if href.startswith("https://") else None) for href, target in found.links)
    assert len(found.links) == sum(bool(said.url) for row in made.rows for cell in row.cells for said in cell)


def test_the_table_escapes_every_text(made):
    bad = Statement('<script>"1 & 2"</script>', "published", "<b>", 'https://x.org/"><script>')
    row = Row('"><script>', "<script>?", ((bad,), (bad,)))
    html = table_html(replace(made, options=("<script>", '"><script>'), standards=("<script>",) * 2, rows=(row,)))
    found = Cells()
    found.feed(html)
    assert "script" not in found.tags and "b" not in found.tags
    assert "&lt;script&gt;&quot;1 &amp; 2&quot;&lt;/script&gt;" in html
