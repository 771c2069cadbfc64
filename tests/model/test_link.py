"""Links: what is written is read back exactly, and nothing that a link can hold raises."""

from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fastmode.link import MAX_QUERY_CHARACTERS, MAX_SHOWN_CHARACTERS, from_query, parse, to_params, to_query
from fastmode.scenario import Scenario, all_fields, default, expand_preset, expand_profile, snap

FIELDS = all_fields()
DEFAULT = default()


def values_of(field):
    """Every value a field can take."""
    if field.kind == "choice":
        made = st.sampled_from([id_ for id_, _label in field.choices])
    elif field.kind == "scale":
        made = st.sampled_from(field.grid)
    elif field.kind == "text":
        made = st.sampled_from(["none", "of:1:8", "d:0.3:0.7;no:300:9000", "e:0:1"])
    elif field.kind == "whole":
        made = st.integers(int(field.min), int(field.max))
    else:
        made = st.floats(field.min, field.max).map(lambda number: snap(field, number))
    return st.none() | made if field.optional else made


SCENARIOS = st.builds(Scenario, **{name: values_of(f) for name, f in FIELDS.items()})
HOSTILE = st.sampled_from(
    ["nan", "inf", "-inf", "1e999", "-1", "0", "", " ", "None", "1_6", "0x10", "１６", "16.5", "9" * 5000, "a" * 5000,
     "<script>alert(1)</script>", "../../etc/passwd", "%00", "\x00", "'; drop table presets;--", "{0}", "{known}", "%s", "\ud800"]
)  # fmt: skip
KEYS = st.sampled_from([k for name, f in FIELDS.items() for k in (f.key, name)]) | st.text(max_size=30)
PAIRS = st.lists(st.tuples(KEYS, HOSTILE | st.text(max_size=40) | st.floats().map(str)), max_size=8)


@settings(max_examples=300)
@given(SCENARIOS)
def test_what_a_link_holds_is_read_back_exactly(scenario):
    assert from_query(to_query(scenario)) == (scenario, [])


@settings(max_examples=100)
@given(SCENARIOS)
def test_a_link_is_short_plain_text(scenario):
    query = to_query(scenario)
    assert query.isascii() and len(query) < 1_500
    assert set(to_params(scenario)) <= {f.key for f in FIELDS.values()}


def test_the_default_scenario_has_an_empty_link():
    assert to_query(DEFAULT) == ""
    assert from_query("") == (DEFAULT, [])


def test_load_and_limits_are_in_the_link_only_where_they_are_not_the_default():
    scenario = replace(DEFAULT, load="traffic", requests_per_s=0.3, slo_ttft_s=2.0, slo_tpot_s=0.0015)
    assert to_params(scenario) == {"ld": "traffic", "rq": "0.3", "lt": "2", "lp": "0.0015"}
    assert from_query("ld=traffic&rq=0.3&lt=2&lp=0.0015") == (scenario, [])
    assert from_query("load=batch fixed&requests_per_s=1&slo_ttft_s=&slo_tpot_s=") == (DEFAULT, [])
    off_grid, ignored = from_query("rq=0.31")
    assert off_grid.requests_per_s == 0.3 and [i.key for i in ignored] == ["rq"]


def test_labels_are_unique_and_ascii():
    for name, field in FIELDS.items():
        labels = [label for _id, label in field.choices] or [field.text(g) for g in field.grid]
        assert len(set(labels)) == len(labels), name
        assert all(label and label.isascii() for label in labels), name
        ids = dict(field.choices)
        # A label that is another choice's id would be read as that one.
        assert all(id_ == label or label not in ids for id_, label in field.choices), name


def test_ids_and_labels_are_both_read():
    by_id, _ignored = from_query("hw=h100_sxm&b=64&fx=1560")
    by_label, ignored = from_query(urlencode({"hw": "H100", "b": "64", "fx": "26 min"}))
    assert by_id == by_label == replace(DEFAULT, hardware="h100_sxm", batch_size=64.0, fix_time_s=1560.0)
    assert ignored == []


def test_the_anchoring_key_is_not_expanded():
    scenario, ignored = from_query("a=opus-4.6-fast")
    assert scenario == replace(DEFAULT, preset="opus-4.6-fast") and ignored == []


def test_the_profile_key_is_not_expanded():
    scenario, ignored = from_query("t=complex-code")
    assert scenario == replace(DEFAULT, task="complex-code") and ignored == []


@pytest.mark.parametrize("query", ["preset=opus-4.6-fast&b=8&hw=h200_sxm", "hw=h200_sxm&b=8&preset=opus-4.6-fast", "b=8&preset=opus-4.6-fast&hw=h200_sxm"])  # fmt: skip
def test_a_preset_is_expanded_and_other_keys_win_in_any_order(query):
    scenario, ignored = from_query(query)
    expanded = replace(DEFAULT, **expand_preset("opus-4.6-fast"))
    assert scenario == replace(expanded, batch_size=8.0, hardware="h200_sxm") and ignored == []
    assert (scenario.preset, scenario.reference, scenario.model, scenario.n_chips) == ("opus-4.6-fast", "opus-4.6", "kimi-k2", 8)  # fmt: skip


@pytest.mark.parametrize("query", ["a=opus-4.6&preset=opus-4.6-fast", "preset=opus-4.6-fast&a=opus-4.6"])
def test_the_anchoring_key_wins_over_an_expanded_preset_in_any_order(query):
    expanded = replace(DEFAULT, **expand_preset("opus-4.6-fast"))
    assert from_query(query) == (replace(expanded, preset="opus-4.6"), [])


def test_of_two_presets_the_last_is_used():
    scenario, ignored = from_query("preset=opus-4.6&preset=opus-4.6-fast")
    assert scenario == replace(DEFAULT, **expand_preset("opus-4.6-fast"))
    assert [(i.key, i.value) for i in ignored] == [("preset", "opus-4.6-fast")]


@pytest.mark.parametrize("query", ["task=complex-code&no=9000", "no=9000&task=complex-code"])
def test_a_task_is_expanded_and_other_keys_win_in_any_order(query):
    scenario, ignored = from_query(query)
    assert scenario == replace(DEFAULT, **expand_profile("complex-code") | {"n_out": 9000}) and ignored == []


@pytest.mark.parametrize("query", ["preset=opus-4.6&task=chat", "task=chat&preset=opus-4.6"])
def test_preset_and_task_together(query):
    scenario, ignored = from_query(query)
    assert scenario == replace(DEFAULT, **expand_preset("opus-4.6"), **expand_profile("chat")) and ignored == []


def test_an_expanded_preset_is_expanded_once():
    """The app's own link of an expanded preset names it with `a`: reading that again changes nothing."""
    scenario, _ignored = from_query("preset=opus-4.6-fast&b=8")
    params = to_params(scenario)
    assert params["a"] == "Opus 4.6 fast" and "preset" not in params
    assert from_query(params) == (scenario, [])


def test_a_bad_preset_leaves_the_rest_of_the_link():
    scenario, ignored = from_query("preset=opus-9&b=8")
    assert scenario == replace(DEFAULT, batch_size=8.0)
    assert [(i.key, i.value) for i in ignored] == [("preset", "opus-9")]


def test_off_the_grid_snaps_and_is_reported():
    scenario, ignored = from_query("b=20&u=0.12&no=8000.6")
    assert (scenario.batch_size, scenario.reuse, scenario.n_out) == (24.0, 0.1, 8001)
    assert [(i.key, i.value) for i in ignored] == [("b", "20"), ("u", "0.12"), ("no", "8000.6")]
    assert ignored[0].reason == "not on the grid; used 24"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "-5", "513", "1e999", "many", "0x10", "9" * 5000, "<b>"])
def test_an_unusable_value_is_the_default_and_reported(value):
    scenario, ignored = from_query({"b": value})
    assert scenario == DEFAULT
    assert [i.key for i in ignored] == ["b"] and "allowed: 1 to 512 sequences" in ignored[0].reason
    assert len(ignored[0].value) <= MAX_SHOWN_CHARACTERS + 3


def test_an_unusable_value_leaves_what_the_preset_says():
    assert from_query("preset=opus-4.6&b=nan")[0].batch_size == 64.0


def test_an_unknown_choice_names_some_that_exist():
    scenario, ignored = from_query("hw=abacus")
    assert scenario == DEFAULT
    assert ignored[0].reason.startswith("not one of the 32 choices, such as a100_80_sxm, h100_sxm")


def test_unknown_and_repeated_keys_are_reported():
    scenario, ignored = from_query("b=8&zz=1&b=32")
    assert scenario == replace(DEFAULT, batch_size=32.0)
    assert [(i.key, i.value, i.reason) for i in ignored] == [("zz", "1", "unknown key"), ("b", "32", "given twice; the last one is used")]  # fmt: skip


def test_how_a_page_is_looked_at_is_no_input():
    assert from_query("x=batch&all=1&points=false&embed=true&embed_options=dark_theme") == (DEFAULT, [])


def test_an_empty_optional_value_means_as_published():
    scenario, ignored = from_query("preset=opus-4.6&sv=&pi=")
    assert (scenario.anchor_tokens_per_s, scenario.price_in_usd_per_mtok, ignored) == (None, None, [])
    assert [i.key for i in from_query("b=")[1]] == ["b"]


@pytest.mark.parametrize("address", ["http://localhost:8501/?b=8&zz=1", "https://fastmode.example/trade_offs?b=8&zz=1#top", "?b=8&zz=1", "b=8&zz=1", "/overview?b=8&zz=1", "  b=8&zz=1 "])  # fmt: skip
def test_full_addresses_are_accepted(address):
    scenario, ignored = from_query(address)
    assert scenario == replace(DEFAULT, batch_size=8.0) and [i.key for i in ignored] == ["zz"]


@pytest.mark.parametrize("address", ["http://localhost:8501/", "https://fastmode.example", "/overview", "?", "http://[::1"])
def test_an_address_without_a_query_is_the_default(address):
    assert from_query(address)[0] == DEFAULT


def test_an_endless_link_is_refused_as_a_whole():
    for query in ("b=8&" + "x" * MAX_QUERY_CHARACTERS, "b=8&" * 600):
        scenario, ignored = from_query(query)
        assert scenario == DEFAULT and len(ignored) == 1 and ignored[0].reason


def usable(scenario, ignored):
    """The result of any link is a scenario that can be linked again, and what is reported is short."""
    assert from_query(to_query(scenario)) == (scenario, [])
    assert all(len(i.key) <= MAX_SHOWN_CHARACTERS and len(i.value) <= MAX_SHOWN_CHARACTERS + 3 and i.reason for i in ignored)  # fmt: skip


@settings(max_examples=400)
@given(PAIRS)
def test_hostile_pairs_never_raise(pairs):
    scenario, ignored = from_query(dict(pairs))
    usable(scenario, ignored)
    named = {f.key for f in FIELDS.values()} | set(FIELDS)
    known = {key: text for key, text in dict(pairs).items() if key in named}
    if not known:
        assert scenario == DEFAULT


@settings(max_examples=400)
@given(st.text(max_size=200))
@example("?")
@example("http://[")
@example("a=%ff%fe&b=%")
@example(";&=;=&")
@example("preset=preset&task=task")
def test_hostile_text_never_raises(text):
    usable(*from_query(text))


@settings(max_examples=200)
@given(PAIRS)
def test_encoded_hostile_pairs_never_raise(pairs):
    usable(*from_query("https://fastmode.example/?" + urlencode(pairs, errors="replace")))


def test_a_near_miss_names_the_choice_that_was_meant():
    _scenario, ignored = from_query("preset=opus-46-fast")
    assert "opus-4.6-fast" in ignored[0].reason


def test_only_an_address_is_cut_at_its_question_mark():
    scenario, ignored = from_query("preset=opus-4.6-fast&w=1?2")
    assert scenario.preset == "opus-4.6-fast" and [i.key for i in ignored] == ["w"]
    assert from_query("https://example.org/trade_offs?b=8#top")[0].batch_size == 8.0
    assert from_query("b=8#top") == from_query("b=8")


def test_only_plain_numbers_are_numbers():
    for text in ("1_6", "\uff11\uff16", "0x10", "1,6"):
        _scenario, ignored = from_query({"b": text})
        assert ignored and "not a number" in ignored[0].reason, text


def test_a_label_wins_over_an_equal_id():
    f = all_fields()["hardware"]
    twisted = replace(f, choices=(("b200_sxm", "B200"), ("other", "b200_sxm")))
    assert parse(twisted, "b200_sxm") == ("other", "")


def test_an_assumption_set_named_by_its_short_key_alone_stands_for_its_values():
    """A link of the app carries some of the values; then they are what counts."""
    typed, named = from_query("s=favours-speed")[0], from_query("assumption_set=favours-speed")[0]
    assert typed == named and (typed.error, typed.fix_time_s, typed.assumption_set) == (0.1, 300.0, "favours-speed")
    written = from_query("s=favours+speed&e=0.2")[0]
    assert (written.error, written.fix_time_s) == (0.2, DEFAULT.fix_time_s)
    assert from_query(to_query(typed))[0] == typed


def test_a_hostile_range_is_answered_in_a_few_words():
    for text in ("x" * 6000, "of:1:8;" * 1250, ";".join(f"k{i}:1:2" for i in range(500))):
        reasons = [note.reason for note in from_query({"rg": text})[1]]
        assert 1 <= len(reasons) <= 2 and max(map(len, reasons)) < 600
