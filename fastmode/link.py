"""Links: reading an address into a scenario and writing the address of a scenario.

One rule for the pages and the command line. The app writes short keys and non-default values only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastmode.catalog import Catalog, load
from fastmode.i18n import _
from fastmode.ranges import own_ranges, ranges_text
from fastmode.scenario import (
    DEFAULT_SET,
    Field,
    Scenario,
    all_fields,
    expand_preset,
    expand_profile,
    expand_set,
    set_values,
    snap,
)

# Keys a link may carry that are no inputs of the model: how a page is looked at.
VIEW_KEYS = (
    "x", "all", "points", "tab", "find", "vq", "vo", "vb", "vh", "vm", "ve", "vs", "vg", "vp", "vx", "j", "qf", "qi", "bp", "sk", "ph", "tb", "er", "xv", "xp", "xi", "present", "embed", "embed_options",
)  # fmt: skip
MAX_QUERY_CHARACTERS = 20_000
MAX_SHOWN_CHARACTERS = 80
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Ignored:
    """A part of a link that was not used as written."""

    key: str
    value: str
    reason: str


UNUSABLE = object()  # a text that gives no value; whatever default, preset or profile says stands


def parse(field_: Field, text: str) -> tuple[Any, str]:
    """(value, reason): the value of a text, with a reason where it is not used as written.

    A value off the grid snaps to the nearest; a text that gives no value gives UNUSABLE.
    """
    text = text.strip()
    if field_.kind == "choice":
        by_label = {label: id_ for id_, label in field_.choices}
        found = by_label.get(text, text)  # the app writes labels, so a label wins over an equal id
        if found in dict(field_.choices):
            return found, ""
        ids = [id_ for id_, _label in field_.choices]
        known = ", ".join(get_close_matches(text[:MAX_SHOWN_CHARACTERS], ids, 3, 0.5) or ids[:4])
        return UNUSABLE, _("not one of the {n} choices, such as {known}").format(n=len(ids), known=known)
    if field_.kind == "text":
        own, wrong = own_ranges(text, load())
        return ranges_text(own, load()), "; ".join(wrong)
    if not text and field_.optional:
        return None, ""
    by_label = {field_.text(value): value for value in field_.grid}
    if text in by_label:
        return by_label[text], ""
    allowed = _("allowed: {low} to {high} {unit}").format(
        low=f"{field_.min:g}", high=f"{field_.max:g}", unit=field_.unit
    )
    if not _NUMBER.fullmatch(text):
        return UNUSABLE, _("not a number; {allowed}").format(allowed=allowed)
    number = float(text)
    if not math.isfinite(number) or not field_.min <= number <= field_.max:
        return UNUSABLE, _("out of range; {allowed}").format(allowed=allowed)
    snapped = snap(field_, number)
    if math.isclose(snapped, number, rel_tol=1e-9, abs_tol=1e-12):
        return snapped, ""
    return snapped, _("not on the grid; used {used}").format(used=field_.text(snapped))


def pairs_of(query: str | Mapping[str, Any] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Key and value pairs of an address, a query string or a mapping.

    Raises ValueError for a query that is too long to be a link of this app.
    """
    if isinstance(query, Mapping):
        return [(str(k), str(v)) for k, vs in query.items() for v in (vs if isinstance(vs, list) else [vs])]
    if not isinstance(query, str):
        return [(str(k), str(v)) for k, v in query]
    if len(query) > MAX_QUERY_CHARACTERS:
        raise ValueError(_("link longer than {n} characters").format(n=MAX_QUERY_CHARACTERS))
    text = query.strip().split("#", 1)[0]
    if re.match(r"(https?://|/|\?)", text):
        text = text.partition("?")[2]
    return parse_qsl(text, keep_blank_values=True, max_num_fields=500)


def from_query(query: str | Mapping[str, Any], catalog: Catalog | None = None) -> tuple[Scenario, list[Ignored]]:
    """Read a link: the scenario and what of the link was not used as written.

    `a` (written by the app) only names the anchoring preset and `t` only the profile; hand-made `preset=` and `task=`
    are expanded into the values they stand for, and so is `assumption_set=` (`s` only names it); other keys win over them.
    Never raises for a bad link.
    """
    catalog = catalog or load()
    declared = all_fields(catalog)
    names = {f.key: name for name, f in declared.items()} | {name: name for name in declared}
    ignored: list[Ignored] = []

    def note(key: str, value: str, reason: str) -> None:
        short = value if len(value) <= MAX_SHOWN_CHARACTERS else value[:MAX_SHOWN_CHARACTERS] + "..."
        ignored.append(Ignored(key[:MAX_SHOWN_CHARACTERS], short, reason))

    try:
        pairs = pairs_of(query)
    except ValueError as error:
        note("", "", str(error) or _("unreadable link"))
        pairs = []
    expand = {"preset": expand_preset, "task": expand_profile, "assumption_set": None}
    seen: set[str] = set()
    given: dict[str, Any] = {}
    expanded: dict[str, Any] = {}
    chosen = ""
    for key, text in pairs:
        if key in VIEW_KEYS:
            continue
        name = names.get(key)
        if name is None:
            note(key, text, _("unknown key"))
            continue
        value, reason = parse(declared[name], text)
        if reason:
            note(key, text, reason)
        if value is UNUSABLE:
            continue
        target = key if key in expand else declared[name].key
        if target in seen:
            note(key, text, _("given twice; the last one is used"))
        seen.add(target)
        if key == "assumption_set":
            chosen = value  # it is told apart from the profile once that is known
        elif key in expand:
            expanded |= expand[key](value, catalog)
        else:
            given[name] = value
    values = {name: f.default for name, f in declared.items()} | expanded
    # A link of the app carries the values of a set beside its name; a short key typed alone means them all the same.
    named = str(given.get("assumption_set", DEFAULT_SET))
    if not chosen and named != DEFAULT_SET and not set_values(named, catalog).keys() & given.keys():
        chosen = named
    if chosen:
        values |= expand_set(chosen, str(given.get("task", values["task"])), catalog)
    values |= given
    return Scenario(**values), ignored


def to_params(scenario: Scenario, catalog: Catalog | None = None) -> dict[str, str]:
    """The link of a scenario as the app writes it: short keys, non-default values only."""
    params = {}
    for name, f in all_fields(catalog).items():
        value = getattr(scenario, name)
        if value != f.default:
            params[f.key] = f.text(value)
    return params


def to_query(scenario: Scenario, catalog: Catalog | None = None) -> str:
    """`to_params` as a query string."""
    return urlencode(to_params(scenario, catalog))
