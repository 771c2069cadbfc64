"""The two fast modes of February 2026 side by side, each against its own standard model: what is stated, and what follows.

What the sources state is read from endpoints, presets and disputed_facts; what becomes of task time, who makes more errors and whom an
option suits are computed for the people, prices and model of error of the scenario. A statement without a word says that no
source is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode import link as links
from fastmode.catalog import Catalog, load
from fastmode.evaluate import BASIS_WORDS, Evaluation
from fastmode.i18n import N_, _, get_language
from fastmode.scenario import Scenario, expand_preset, expand_profile, set_values
from fastmode.together import evaluate_together
from fastmode.uncertainty import spread

OPTIONS = ("opus-4.6-fast", "gpt-5.3-codex-spark")
TASK_DRAWS = 256  # worlds of each task profile: chances are told to the nearest twentieth
_TWENTIETHS = 20
PUBLISHED, REPORTED, MEASURED, DERIVED, MODELLED, ASSUMED = (
    BASIS_WORDS[basis] for basis in ("vendor_spec", "community_estimate", "measured_third_party", "derived", "modelled", "assumed")
)

QUESTIONS = {
    "model": N_("Who keeps the model?"),
    "chip": N_("Whose chip?"),
    "speed": N_("How much faster are the tokens?"),
    "time": N_("What becomes of it in task time?"),
    "price": N_("What was the price multiple, and what is it today?"),
    "errors": N_("Who makes more errors?"),
    "reliability": N_("Can one rely on it?"),
    "suits": N_("Whom does it suit?"),
}
# Rows of disputed_facts that speak of an option: their second value stands beside what the catalogue holds.
DISPUTES = {
    "opus-4.6-fast": {
        "speed": "Standard output speed of Claude Opus 4.6",
        "delivered": "Actual speed-up delivered by Anthropic fast mode",
    },
    "gpt-5.3-codex-spark": {
        "speed": "Standard output speed of GPT-5.3-Codex",
        "price": "API price of GPT-5.3-Codex-Spark",
        "errors": "GPT-5.3-Codex-Spark score on Terminal-Bench 2.0",
    },
}
# What the notes of an endpoint or preset say in these words, as a sentence; without the words there is no sentence.
NOTED = {
    "smaller separate model": N_("By the vendor's statement a smaller model."),
    "distilled is inference": N_("Distilled from the standard model: an inference, not a statement."),
    "Same weights by vendor statement": N_("By the vendor's statement."),
    "NOT a vendor figure": N_("A multiplied figure, not a measurement."),
    "not on time to first token": N_("The gain is in output speed, not in time to first token."),
}
BENCHMARK, BENCHMARK_NAME = "terminal_bench_2", "Terminal-Bench 2.0"


@dataclass(frozen=True)
class Statement:
    """One thing that is said: where from in one word, as of when, and the source; each may be empty."""

    text: str
    word: str = ""
    date: str = ""
    url: str = ""


@dataclass(frozen=True)
class Row:
    """One question with the statements on each of OPTIONS."""

    key: str
    question: str
    cells: tuple[tuple[Statement, ...], ...]


@dataclass(frozen=True, eq=False)
class Tasks:
    """What each option does on each task profile, arrays of shape (profiles, options).

    change: in time per accepted task (fraction), low and high its 90 % band. p_faster, p_cheaper: share of plausible worlds in which
    it takes less time, and less money with developer time included. NaN where unknown.
    """

    labels: tuple[str, ...]
    change: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_faster: np.ndarray
    p_cheaper: np.ndarray


@dataclass(frozen=True, eq=False)
class Comparison:
    """heading: what became of each option's tokens. options, standards: labels, in the order of OPTIONS."""

    heading: str
    options: tuple[str, ...]
    standards: tuple[str, ...]
    rows: tuple[Row, ...]
    tasks: Tasks


def comparison(scenario: Scenario, catalog: Catalog | None = None) -> Comparison:
    """The comparison under a scenario that holds single values; its own option plays no part.

    One evaluation serves both options, at the scenario's task and at every task profile. Texts are in the current language.
    """
    catalog = catalog or load()
    stance = set_values(str(scenario.assumption_set), catalog)
    profiles = [expand_profile(str(task), catalog) | stance for task in catalog.profiles.index]
    here = [expand_preset(option, catalog) | {"anchor": scenario.anchor} for option in OPTIONS]
    now, everywhere = evaluate_together(
        [_elements(scenario, here), _elements(scenario, [task | option for task in profiles for option in here])], catalog
    )
    tasks = _tasks(everywhere, catalog)
    views = [_View(option, scenario, i, now) for i, option in enumerate(_options(catalog, get_language()))]
    computed = {
        "time": [_time(view) for view in views],
        "errors": [_errors(view) for view in views],
        "suits": [_suits(tasks, view) for view in views],
    }
    rows = tuple(
        Row(key, _(question), tuple(_merged(said) for said in computed.get(key) or [view.option.stated[key] for view in views]))
        for key, question in QUESTIONS.items()
    )
    labels = ((view.option.label, view.option.standard_label) for view in views)
    return Comparison(" ".join(map(_heading, views)), *zip(*labels, strict=True), rows, tasks)


def _merged(said: Sequence[Statement]) -> tuple[Statement, ...]:
    """Neighbours of one word, date and source as one statement."""
    merged: list[Statement] = []
    for one in said:
        if merged and replace(merged[-1], text=one.text) == one:
            merged[-1] = replace(one, text=f"{merged[-1].text} {one.text}")
        else:
            merged.append(one)
    return tuple(merged)


def _elements(scenario: Scenario, changes: Sequence[dict[str, Any]]) -> Scenario:
    """The scenario with one element for each dict of field values; all name the same fields."""
    columns: dict[str, Any] = {}
    for name, first in changes[0].items():
        values = [change[name] for change in changes]
        columns[name] = first if all(value == first for value in values) else np.array(values)
    return replace(scenario, **columns)


@dataclass(frozen=True, eq=False)
class _Option:
    """One option's rows in the catalogue."""

    catalog: Catalog
    id: str
    endpoint: dict[str, Any]
    preset: dict[str, Any]
    standard: dict[str, Any]  # endpoint of its reference
    label: str
    standard_label: str

    @property
    def keeps_model(self) -> bool:
        return self.endpoint["same_model_as"] == self.preset["reference"]

    @property
    def words(self) -> dict[str, str]:
        return {"option": self.label, "standard": self.standard_label}

    @cached_property
    def stated(self) -> dict[str, list[Statement]]:
        """What the sources state, by the key of a row of the comparison."""
        return {
            "model": _model(self),
            "chip": _chip(self),
            "speed": _speed(self),
            "price": _price(self),
            "scores": _scores(self),
            "reliability": _reliability(self),
        }

    def says(self, text: str, word: str = PUBLISHED) -> Statement:
        """A statement of the option's own endpoint row."""
        return Statement(text, word, self.endpoint["date"], self.endpoint["source_url"])

    def supposed(self, text: str) -> Statement:
        """An assumption of the preset's row."""
        return Statement(text, ASSUMED, self.preset["date"], self.preset["source_url"])

    def noted(self, phrase: str) -> list[Statement]:
        """The sentence of NOTED, where the notes of the endpoint say so, or as an assumption where those of the preset do."""
        if phrase in self.endpoint["notes"]:
            return [self.says(_(NOTED[phrase]))]
        return [self.supposed(_(NOTED[phrase]))] if phrase in self.preset["note"] else []

    def elsewhere(self, about: str, text: str, word: str = REPORTED) -> list[Statement]:
        """What another source says, by the key of DISPUTES; text: with {value}."""
        facts = self.catalog.disputed_facts
        rows = facts.loc[facts["claim"] == DISPUTES[self.id].get(about), ["value_b", "source_b"]].to_numpy()
        return [Statement(text.format(value=_(value), **self.words), word, "", url) for value, url in rows]


@lru_cache(maxsize=8)
def _options(catalog: Catalog, _language: str) -> tuple[_Option, ...]:
    """Both options, kept for a language because what they state is text."""
    made = []
    for option in OPTIONS:
        preset = catalog.presets.loc[option].to_dict()
        endpoint, standard = (catalog.endpoints.loc[row].to_dict() for row in (option, preset["reference"]))
        other = str(catalog.presets.at[preset["reference"], "label"])
        made.append(_Option(catalog, option, endpoint, preset, standard, preset["label"], other))
    return tuple(made)


@dataclass(frozen=True, eq=False)
class _View:
    """One option and its element of the evaluation of the scenario's task."""

    option: _Option
    scenario: Scenario
    index: int
    e: Evaluation

    def at(self, array: np.ndarray) -> float:
        return self.e.at(array, self.index)

    @cached_property
    def page(self) -> str:
        """The option on the Productivity page, with everything else as it is."""
        chosen = replace(self.scenario, **expand_preset(self.option.id, self.e.catalog))
        return f"./productivity?{urlencode(links.to_params(chosen))}".removesuffix("?")

    def modelled(self, text: str, word: str = MODELLED) -> Statement:
        """A computed statement."""
        return Statement(text, word, "", self.page)

    @property
    def reason(self) -> str:
        """Why there is no figure of task time."""
        e = self.e
        side = e.now if not np.isfinite(self.at(e.now.task.time_per_task_s)) else e.reference
        return e.reason(side, self.index)


# what the sources state


def _model(option: _Option) -> list[Statement]:
    if option.keeps_model:
        text = _("{option} keeps it: the same weights as {standard}.").format(**option.words)
        return [option.says(text), *option.noted("Same weights by vendor statement")]
    text = _("{option} does not: it is a separate model, not {standard}.").format(**option.words)
    return [option.says(text), *option.noted("smaller separate model"), *option.noted("distilled is inference")]


def _chip(option: _Option) -> list[Statement]:
    chip = option.endpoint["provider"].partition(" on ")[2]
    hypothesis = _("Modelled as: {hypothesis}.").format(hypothesis=_(option.preset["hypothesis"]))
    first = option.says(_("{chip}.").format(chip=chip)) if chip else Statement(_("Not published."))
    hardware = str(option.catalog.hardware.at[option.preset["hardware"], "label"])
    rest = [] if chip else [_("Supposed: {hardware}, the chips of {standard}.").format(hardware=hardware, **option.words)]
    return [first, *map(option.supposed, [*rest, hypothesis])]


def _speed(option: _Option) -> list[Statement]:
    own, other = option.endpoint["output_tok_s"], option.standard["output_tok_s"]
    words = {"speed": fmt.number(own), "other": fmt.number(other), "ratio": fmt.ratio(own / other)} | option.words
    said = []
    if option.keeps_model:
        stated = fmt.ratio(option.endpoint["speed_multiplier_vs_standard"])
        said.append(option.says(_("Up to {stated} the tokens/s of {standard}.").format(stated=stated, **option.words)))
    basis = BASIS_WORDS[option.endpoint["basis"]]
    source = option.standard["date"], option.standard["source_url"]
    if basis == BASIS_WORDS[option.standard["basis"]]:  # one report gives both
        said.append(Statement(_("{speed} tok/s, {ratio} the {other} tok/s of {standard}.").format(**words), basis, *source))
        said += [replace(note, word=basis, date=source[0], url=source[1]) for note in option.noted("NOT a vendor figure")]
    else:
        said.append(option.says(_("{speed} tok/s.").format(**words), basis))
        said.append(Statement(_("{ratio} the {other} tok/s that are reported of {standard}.").format(**words), DERIVED, *source))
    said += option.elsewhere("speed", _("{standard} by other reports: {value}."))
    return said + option.elsewhere("delivered", _("Later: {value}."), MEASURED)


def _price(option: _Option) -> list[Statement]:
    ends = {"now": option.endpoint["output_usd_per_mtok"], "other": option.standard["output_usd_per_mtok"]}
    if np.isfinite(ends["now"]):
        prices = {name: fmt.money(value) for name, value in ends.items()}
        text = _("Then {multiple}: {now} instead of {other} per Mtok of output.")
        said = [option.says(text.format(multiple=fmt.ratio(ends["now"] / ends["other"]), **prices))]
    else:
        said = [option.says(_("Then: not published.")), *option.elsewhere("price", _("A catalogue lists {value}: not used, it copies {standard}."))]
    # An option of its own weights has no tier beside it: what the vendor sells today is another model's.
    here = _("for the same weights") if option.keeps_model else _("not of {option}, but of a newer model with its weights kept").format(**option.words)
    newest = newest_tiers(option.catalog, option.endpoint["provider"])
    labels = option.catalog.presets["label"]
    for tier in newest.itertuples():
        multiple = fmt.ratio(tier.price_multiplier_vs_standard)
        text = _("Today, {what}: {multiple} ({option}).").format(what=here, multiple=multiple, option=labels.get(tier.Index, tier.model))
        if np.isfinite(tier.speed_multiplier_vs_standard):
            stated = fmt.ratio(tier.speed_multiplier_vs_standard)
            text = _("Today, {what}: {multiple} ({option}, up to {stated} the speed).").format(
                what=here, multiple=multiple, option=labels.get(tier.Index, tier.model), stated=stated
            )
        said.append(Statement(text, PUBLISHED, tier.date, tier.source_url))
    return said


def newest_tiers(catalog: Catalog, provider: str) -> pd.DataFrame:
    """Rows of endpoints: priced speed tiers of the standard model whose tier is a vendor's newest, the cheapest first."""
    table = catalog.endpoints
    vendors = table["provider"].str.partition(" on ")[0]
    priced = table[(vendors == provider.partition(" on ")[0]) & (table["same_model_as"] != "") & table["price_multiplier_vs_standard"].notna()]
    newest = priced.at[priced["date"].idxmax(), "same_model_as"] if len(priced) else ""
    return priced[priced["same_model_as"] == newest].sort_values("price_multiplier_vs_standard")


def _scores(option: _Option) -> list[Statement]:
    own, other = option.endpoint[BENCHMARK], option.standard[BENCHMARK]
    if option.keeps_model or not np.isfinite(own + other):
        return []
    text = _("{score} against {other} on {benchmark}.").format(score=fmt.number(own), other=fmt.number(other), benchmark=BENCHMARK_NAME)
    return [option.says(text), *option.elsewhere("errors", _("One page gives it {value}: not used."))]


def _reliability(option: _Option) -> list[Statement]:
    row, standard = option.endpoint, option.standard
    context, other = row["context_tokens"], standard["context_tokens"]
    words = {"context": fmt.number(context), "other": fmt.number(other)} | option.words
    text = _("Context {context} tokens, as {standard}.") if context == other else _("Context {context} tokens; {standard}: {other}.")
    said = [
        Statement(_("Status: {status}.").format(status=_(row["status"])), REPORTED, "", row["source_url"]),
        option.says(text.format(**words)),
        *option.noted("not on time to first token"),
    ]
    return [*said, Statement(_("Rate limits and outages: no source held."))]


# what follows


def _time(view: _View) -> list[Statement]:
    e, change = view.e, view.at(view.e.time_change)
    if not np.isfinite(change):
        return [Statement(_("No figure: {reason}.").format(reason=view.reason))]
    low, high = (view.at(end) for end in e.spread.band("time_change", 90))
    words = {
        "change": fmt.signed_share(change),
        "now": fmt.duration(view.at(e.now.task.time_per_task_s)),
        "other": fmt.duration(view.at(e.reference.task.time_per_task_s)),
        "low": fmt.signed_share(low),
        "high": fmt.signed_share(high),
        "faster": _chance(view.at(e.spread.p_faster)),
        "task": _(str(e.catalog.profiles.at[str(view.scenario.task), "phrase"])),
        "speed": fmt.ratio(view.at(e.now.tokens_per_s) / view.at(e.reference.tokens_per_s)),
    } | view.option.words
    return [
        view.modelled(_("{change} time per accepted task, from {speed} the tokens/s.").format(**words)),
        view.modelled(_("90 %: {low} to {high}; less time in {faster} of plausible worlds.").format(**words)),
        view.modelled(_("{now} instead of {other} for {task}.").format(**words)),
    ]


def _errors(view: _View) -> list[Statement]:
    e = view.e
    now, other = view.at(e.now.error_rate), view.at(e.reference.error_rate)
    low, high = (fmt.share(view.at(end)) for end in e.spread.band("error_rate", 90))
    words = {"now": fmt.share(now), "other": fmt.share(other), "low": low, "high": high} | view.option.words
    if now == other:
        said = [view.option.says(_("Neither: as many as {standard}, which has the same weights.").format(**words))] if view.option.keeps_model else []
        return [*said, view.modelled(_("{now} of first outputs are not right, for both.").format(**words), ASSUMED)]
    text = _("{option}: {now} of first outputs are not right, with {standard} {other}.")
    if now < other:
        text = _("{standard}: {other} of first outputs are not right, with {option} {now}.")
    said = [view.modelled(text.format(**words), DERIVED), view.modelled(_("90 %: {low} to {high}.").format(**words))]
    return said + view.option.stated["scores"]


def _heading(view: _View) -> str:
    e, change = view.e, view.at(view.e.time_change)
    if not np.isfinite(change):
        return _("{option}: no figure ({reason}).").format(reason=view.reason, **view.option.words)
    low, high = (view.at(end) for end in e.spread.band("time_change", 90))
    words = {"speed": fmt.ratio(view.at(e.now.tokens_per_s) / view.at(e.reference.tokens_per_s)), "x": fmt.signed_share(abs(change)).lstrip("+")}
    head = _("{option} keeps the model:") if view.option.keeps_model else _("{option} is another model:")
    tail = _("{speed} the tokens/s become {x} less time per accepted task") if change < 0 else _("{speed} the tokens/s become {x} more time per accepted task")
    undecided = _(" (not decided)") if low <= 0 <= high else ""
    return f"{head.format(**view.option.words)} {tail.format(**words)}{undecided}."


# whom it suits


def _tasks(e: Evaluation, catalog: Catalog) -> Tasks:
    drawn = spread(e.scenario, e.now, e.reference, e.widths, catalog, draws=TASK_DRAWS)
    labels = tuple(_(str(label)) for label in catalog.profiles["label"])
    columns = (e.time_change, *drawn.band("time_change", 90), drawn.p_faster, drawn.p_cheaper)
    shape = len(labels), len(OPTIONS)
    return Tasks(labels, *(np.broadcast_to(np.ravel(c), shape[0] * shape[1]).reshape(shape) for c in columns))


def _suits(tasks: Tasks, view: _View) -> list[Statement]:
    """Task profiles by how sure it is that the option saves time on them, and where it saves money too."""
    change, low, high = (a[:, view.index] for a in (tasks.change, tasks.low, tasks.high))
    faster, cheaper = (_twentieths(a[:, view.index]) for a in (tasks.p_faster, tasks.p_cheaper))
    known = np.isfinite(change)
    if not known.any():
        return _time(view)
    saves, costs = known & (high < 0), known & (low > 0)
    if saves[known].all() or costs[known].all():
        text = _("Surely saves time on all {n} kinds of task: {least} to {most}.")
        if costs.any():
            text = _("Surely costs time on all {n} kinds of task: {least} to {most}.")
        ends = sorted(change[known], key=abs)
        said = [view.modelled(text.format(n=known.sum(), least=fmt.signed_share(ends[0]), most=fmt.signed_share(ends[-1])))]
    else:
        left = known & ~saves & ~costs
        groups = (
            (_("Surely saves time: {tasks}."), saves, False),
            (_("More likely saves time (in this share of plausible worlds): {tasks}."), left & (faster > 0.5), True),
            (_("As likely saves as costs time: {tasks}."), left & (faster == 0.5), False),
            (_("More likely costs time (saves it in this share): {tasks}."), left & (faster < 0.5), True),
            (_("Surely costs time: {tasks}."), costs, False),
        )
        said = [view.modelled(text.format(tasks=_named(tasks.labels, chosen, faster, told))) for text, chosen, told in groups if chosen.any()]
    if not np.isfinite(cheaper).any():
        return [*said, Statement(_("Money: open, its price is not published."))]
    if not (cheaper > 0.5).any():
        return [*said, view.modelled(_("More likely costs money, developer time included, on every kind of task."))]
    text = _("More likely saves money too, developer time included (in this share of plausible worlds): {tasks}.")
    return [*said, view.modelled(text.format(tasks=_named(tasks.labels, cheaper > 0.5, cheaper, True)))]


def _named(labels: Sequence[str], chosen: np.ndarray, chances: np.ndarray, told: bool) -> str:
    """Tasks as a list, the likeliest first, each with its chance where it is told."""
    order = [i for i in np.argsort(-chances, kind="stable") if chosen[i]]
    return ", ".join(f"{labels[i]} ({fmt.share(chances[i])})" if told else labels[i] for i in order)


def _twentieths(chances: np.ndarray) -> np.ndarray:
    """As fine as so few draws tell them."""
    return np.round(chances * _TWENTIETHS) / _TWENTIETHS


def _chance(p: float) -> str:
    """Whole percents; only all worlds are 100 %, only none 0 %."""
    return fmt.share(p if p in (0.0, 1.0) or not np.isfinite(p) else min(max(round(p, 2), 0.01), 0.99))
