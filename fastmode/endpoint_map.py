"""Endpoints by output speed and price, and what fast tiers of the same weights cost for what speed-up.

Two eras of the catalogue: up to April 2026, and from May 2026. The cut is there, not at the middle of the year, because the first
fast tier at 2x instead of 6x of the standard price is dated 2026-05-28: a cut after June would show both prices on one side. A
row dated by its year alone belongs to both sides where that year holds the cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.evaluate import BASIS_WORDS
from fastmode.i18n import N_, _

EARLY, LATE = "early", "late"
LATE_FROM = "2026-05"  # year and month of the cut
TOLERANCE = 0.10  # relative: as far as a speed-up may lie from the advertised multiple and still agree with it
MEASURED = "measured_third_party"  # basis of an endpoint
STANDARD = "standard"  # mode of an endpoint
# How the speed-up that two speeds give stands to the advertised "up to".
BELOW, ABOVE, AGREES, UNMEASURED, UNCHECKED = "below", "above", "agrees", "unmeasured", "unchecked"
VERDICTS = {
    BELOW: N_("below the ceiling"),
    ABOVE: N_("contradicts it"),
    AGREES: N_("agrees"),
    UNMEASURED: N_("not checked: the speed is not measured"),
    UNCHECKED: N_("not checked: no speed held"),
}
_SPEED, _PRICE = "output_tok_s", "output_usd_per_mtok"
_STATED, _MULTIPLE = "speed_multiplier_vs_standard", "price_multiplier_vs_standard"


@dataclass(frozen=True)
class Offer:
    """One endpoint with an output speed (tok/s of one user) and an output price (USD/Mtok), NaN for what is not known.

    word: one of BASIS_WORDS' values for the speed. standard: id of the endpoint of the same weights it is a tier of, or "".
    """

    id: str
    label: str
    provider: str
    model: str
    mode: str
    tokens_per_s: float
    usd_per_mtok: float
    word: str
    standard: str
    date: str
    notes: str
    source_url: str

    @property
    def drawn(self) -> bool:
        """Whether it has both a speed and a price."""
        return bool(np.isfinite(self.tokens_per_s + self.usd_per_mtok))


@dataclass(frozen=True)
class Tier:
    """A faster offer of the same weights against its standard offer; multiples, NaN where not known.

    advertised: the vendor's own "up to". realised: output speed over that of `against`, which is its own standard offer, or, where
    no speed of that is held (own_standard false), the vendor's latest earlier standard model of the same line. same_vendor: whether
    the standard offer is its vendor's own. verdict: a key of VERDICTS, "" where nothing is advertised.
    """

    offer: Offer
    price_multiple: float
    advertised: float
    realised: float
    against: Offer | None
    own_standard: bool
    same_vendor: bool
    verdict: str


@dataclass(frozen=True)
class Fall:
    """How the price multiple of a vendor's fast tiers fell at one advertised speed multiple; and what the old one buys since."""

    before: Tier
    after: Tier
    same_price: Tier | None  # the latest tier as dear as `before` with a higher advertised multiple


def in_era(date: str, era: str) -> bool:
    """Whether a date (year, year-month or year-month-day) belongs to an era, EARLY or LATE."""
    month, year = date[:7], date[:4]
    late, early = month >= LATE_FROM, month < LATE_FROM
    undecided = len(date) == 4 and year == LATE_FROM[:4]
    return undecided or (late if era == LATE else early)


@lru_cache(maxsize=8)
def offers(catalog: Catalog) -> tuple[Offer, ...]:
    """Every endpoint of the catalogue, in its order."""
    table = catalog.endpoints
    labels = catalog.presets["label"].reindex(table.index)
    named = [
        label if isinstance(label, str) else _name(model, mode)
        for label, model, mode in zip(labels, table["model"], table["mode"], strict=True)
    ]
    table = table.assign(word=table["basis"].map(BASIS_WORDS))
    columns = ["provider", "model", "mode", _SPEED, _PRICE, "word", "same_model_as", "date", "notes", "source_url"]  # as in Offer
    cells = table[columns].itertuples(index=False, name=None)
    return tuple(Offer(i, label, *row) for i, label, row in zip(table.index, named, cells, strict=True))


def _name(model: str, mode: str) -> str:
    return model if mode == STANDARD else f"{model} {mode}"


def drawn(catalog: Catalog, era: str) -> list[Offer]:
    """Offers of an era with both a speed and a price."""
    return [offer for offer in offers(catalog) if offer.drawn and in_era(offer.date, era)]


def undrawn(catalog: Catalog) -> pd.DataFrame:
    """Endpoints without a place on the map: label, provider, date, and whether speed and price are held."""
    rows = [
        (o.label, o.provider, o.date, np.isfinite(o.tokens_per_s), np.isfinite(o.usd_per_mtok))
        for o in offers(catalog)
        if not o.drawn
    ]
    return pd.DataFrame(rows, columns=["label", "provider", "date", "has_speed", "has_price"])


def arrows(catalog: Catalog, era: str) -> list[tuple[Offer, Offer]]:
    """(standard offer, faster offer) of the same weights, both on the map, by the era of the latter."""
    known = {offer.id: offer for offer in offers(catalog) if offer.drawn}
    return [(known[o.standard], o) for o in drawn(catalog, era) if o.standard in known]


@lru_cache(maxsize=8)
def tiers(catalog: Catalog) -> tuple[Tier, ...]:
    """Faster offers of the same weights: whatever has two of a price multiple, an advertised and a realised speed multiple."""
    table, known = catalog.endpoints, {offer.id: offer for offer in offers(catalog)}
    found = [_tier(o, known, float(table.at[o.id, _STATED]), float(table.at[o.id, _MULTIPLE])) for o in known.values() if o.standard]
    found = [t for t in found if t.advertised != 1.0]  # the same weights at another vendor's standard speed
    return tuple(t for t in found if np.isfinite([t.price_multiple, t.advertised, t.realised]).sum() > 1)


def _tier(offer: Offer, known: dict[str, Offer], stated: float, price_multiple: float) -> Tier:
    standard = known[offer.standard]
    own = bool(np.isfinite(standard.tokens_per_s))
    same_vendor = vendor(offer.provider) == vendor(standard.provider)
    against = standard if own else _earlier(offer, known) if same_vendor else None
    realised = offer.tokens_per_s / against.tokens_per_s if against else np.nan
    # A stored multiple that is just the row's own two speeds, to the digits written, was advertised by nobody.
    if own and abs(stated - realised) < 0.005:
        stated = np.nan
    if not np.isfinite(realised):
        against = None
    return Tier(offer, price_multiple, stated, realised, against, own, same_vendor, _verdict(stated, realised, offer.word == BASIS_WORDS[MEASURED]))


def _verdict(advertised: float, realised: float, measured: bool) -> str:
    """A speed that nobody measured may have been made from the multiple: that it agrees says nothing."""
    if np.isnan(advertised):
        return ""
    if np.isnan(realised):
        return UNCHECKED
    if realised < advertised * (1.0 - TOLERANCE):
        return BELOW
    if realised > advertised * (1.0 + TOLERANCE):
        return ABOVE
    return AGREES if measured else UNMEASURED


def vendor(provider: str) -> str:
    """Who sells an offer, without the chip it is said to run on: "OpenAI on Cerebras" -> "OpenAI"."""
    return provider.partition(" on ")[0]


def _earlier(offer: Offer, known: dict[str, Offer]) -> Offer | None:
    """The vendor's latest earlier standard model of the same line (name up to its version) with a speed."""
    line = _line(offer.model)
    earlier = [
        o for o in known.values()
        if o.mode == STANDARD and o.provider == offer.provider and _line(o.model) == line
        and o.date < offer.date and np.isfinite(o.tokens_per_s)
    ]  # fmt: skip
    return max(earlier, key=lambda o: o.date, default=None)


def _line(model: str) -> str:
    return re.split(r"\d", model)[0]


def flagged(catalog: Catalog) -> list[Tier]:
    """Tiers whose realised speed-up does not agree with the advertised one."""
    return [t for t in tiers(catalog) if t.verdict in (BELOW, ABOVE)]


def price_fall(catalog: Catalog) -> Fall | None:
    """The deepest fall of a vendor's price multiple at one advertised speed multiple, to its first cheaper tier; None where none fell."""
    priced = [t for t in tiers(catalog) if t.same_vendor and np.isfinite(t.price_multiple + t.advertised)]
    found = None
    for first in priced:
        later = [
            t for t in priced
            if t.offer.date > first.offer.date and vendor(t.offer.provider) == vendor(first.offer.provider)
            and t.advertised == first.advertised and t.price_multiple < first.price_multiple
        ]  # fmt: skip
        if not later:
            continue
        after = min(later, key=lambda t: t.offer.date)
        depth = first.price_multiple / after.price_multiple
        if found is None or depth > found.before.price_multiple / found.after.price_multiple:
            more = [t for t in priced if t.price_multiple == first.price_multiple and t.advertised > first.advertised]
            found = Fall(first, after, max(more, key=lambda t: t.offer.date, default=None))
    return found


# sentences


def fall_text(fall: Fall | None) -> str:
    """The finding of the page: what the price multiple was, what it is, and what the old one buys."""
    if fall is None:
        return _("At no advertised speed multiple did a vendor's price multiple fall.")
    before, after, now = fall.before, fall.after, fall.same_price
    text = _("The price of a fast tier fell from {old} ({first}, {then}) to {new} ({second}, {since}) at the same advertised {speed}.").format(
        old=fmt.ratio(before.price_multiple), first=before.offer.label, then=before.offer.date[:7],
        new=fmt.ratio(after.price_multiple), second=after.offer.label, since=after.offer.date[:7], speed=fmt.ratio(before.advertised),
    )  # fmt: skip
    if now is None:
        return text
    rest = _("{old} the price now buys up to {speed} ({tier}, {date}).").format(
        old=fmt.ratio(now.price_multiple), speed=fmt.ratio(now.advertised), tier=now.offer.label, date=now.offer.date[:7]
    )
    return f"{text} {rest}"


def check_text(tier: Tier) -> str:
    """How the speed-up of a tier with a speed stands to what is advertised, in one sentence."""
    against = tier.against
    words = {
        "tier": tier.offer.label,
        "speed": fmt.number(tier.offer.tokens_per_s),
        "word": _(tier.offer.word),
        "ratio": fmt.ratio(tier.realised),
        "other": against.label,
        "base": fmt.number(against.tokens_per_s),
        "base_word": _(against.word),
        "stated": fmt.ratio(tier.advertised),
        "verdict": _(VERDICTS[tier.verdict]),
    }
    text = _("{tier}: {speed} tok/s ({word}) is {ratio} the {base} tok/s ({base_word}) of {other}; advertised up to {stated}: {verdict}.")
    if not tier.own_standard:
        text = _("{tier}: {speed} tok/s ({word}) is {ratio} the {base} tok/s ({base_word}) of {other}, for want of a speed of its own standard tier; advertised up to {stated}: {verdict}.")
    return text.format(**words)
