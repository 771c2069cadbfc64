"""Claims on how a fast tier is made and whether it pays (C05, C41, C42, C76): the founding tier explained from its standard tier.

Which mechanism a vendor uses is not published. A mechanism that gives the published speed in the model, with nothing published
against it, leaves the claim "partly supported" as long as another does too, "supported" where it is the only one alone; one that
does not even give it within its 90 % band contradicts the claim.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fastmode import format as fmt
from fastmode import scenario as scenarios
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.explain import AGAINST, SURE, Explanation, by_standin, explain, tier_of
from fastmode.explain_text import settings_text
from fastmode.i18n import _
from fastmode.mechanisms import BATCH, MIDDLE, NEWER, SHARE, later, part_label

from fastmode.claims.found import (  # isort: skip
    CONTRADICTED, FAST, PARTLY, SPARK, STANDARD, SUPPORTED, Facts, Finding, Unknown, known, parts,
)  # fmt: skip

CERTAIN = 0.95  # of plausible worlds: as in claims/people.py


@lru_cache(maxsize=4)
def _evaluated(preset: str, catalog: Catalog) -> Evaluation:
    if preset not in catalog.presets.index:
        raise Unknown
    plain = scenarios.expand_preset(preset, catalog)
    return evaluate(replace(scenarios.default(catalog), **plain), catalog)


@lru_cache(maxsize=4)
def _explained(preset: str, catalog: Catalog) -> Explanation:
    e = _evaluated(preset, catalog)
    found = explain(e, tier_of(e))
    if found.reason:
        raise Unknown
    return found


def _verdict(found: Explanation, name: str) -> str:
    single = found.single(name)
    if single is None or single.plausibility == AGAINST:
        return CONTRADICTED
    others = [s for s in found.solutions if s.names != (name,) and s.plausibility == SURE]
    return SUPPORTED if single.plausibility == SURE and not others else PARTLY


def _others(found: Explanation, name: str) -> str:
    """How many other ways reach the speed as well."""
    sure = [s for s in found.solutions if s.plausibility == SURE and s.names != (name,)]
    alone = sum(len(s.names) == 1 for s in sure)
    return _("Of the other mechanisms {alone} alone and {pairs} in pairs give it as well; the vendor does not say.").format(alone=alone, pairs=len(sure) - alone)


def small_batches(f: Facts) -> Finding:
    """C05: the batch that alone gives the founding fast tier's speed, with the 90 % band of the model's speed."""
    found = _explained(FAST, f.catalog)
    single, place = found.single(BATCH), f.state("/explain", FAST)
    if single is None:
        basis = _("On {model} no batch gives {speed}.").format(model=f.model_name(STANDARD), speed=fmt.ratio(found.tier.speed))
        return Finding(CONTRADICTED, "model", unit="requests", basis=basis, link=place)
    made = by_standin(found.start, found.tier, f.catalog)
    there = sum(bool(np.isfinite(m.batch)) for m in made)
    basis = _("Batch {batch} instead of {own} gives {speed} on {model}, some batch does on {there} of {n} stand-ins. {others}").format(
        batch=fmt.number(round(single.value[0])), own=fmt.number(found.start.config["batch"]), speed=fmt.ratio(found.tier.speed),
        model=f.model_name(STANDARD), there=there, n=len(made), others=_others(found, BATCH),
    )  # fmt: skip
    if found.tier.input_price > 1.0:
        basis += " " + _("The input price, {price}, is not explained by it.").format(price=fmt.ratio(found.tier.input_price))
    return Finding(_verdict(found, BATCH), "model", single.value[0], "requests", basis, place, single.low, single.high)


def bigger_share(f: Facts) -> Finding:
    """C41: places of the batch that one request takes, its drafts filling them, to reach the founding speed; cost per output token
    in the basis."""
    found = _explained(FAST, f.catalog)
    single, place = found.single(SHARE), f.state("/explain", FAST)
    most = float(np.nanmax(found.alone[SHARE].speed)) if SHARE in found.alone else np.nan
    if single is None:
        basis = _("Drafts that fill more places give at most {most}.").format(most=fmt.ratio(most))
        return Finding(CONTRADICTED, "model", unit="places", basis=basis, link=place)
    basis = _("{places} places filled with drafts give {speed} of the {goal}, at {cost} the cost per output token, where the price is {price}; acceptance as measured on open models. {others}").format(
        places=fmt.number(single.value[0]), speed=fmt.ratio(single.speed), goal=fmt.ratio(found.tier.speed), cost=fmt.ratio(single.cost[MIDDLE]),
        price=fmt.ratio(found.tier.price), others=_others(found, SHARE),
    )  # fmt: skip
    return Finding(_verdict(found, SHARE), "model", single.value[0], "places", basis, place)


def newest_hardware(f: Facts) -> Finding:
    """C42: the most that the same batch gains on another part that was there when the founding tier came; low and high: its 90 % band."""
    found = _explained(FAST, f.catalog)
    if NEWER not in found.alone:
        raise Unknown
    o, place = found.alone[NEWER], f.state("/explain", FAST)
    speed = np.where(later(found.start, o.options, found.tier.date), np.nan, o.speed)
    if not np.isfinite(speed).any():
        raise Unknown
    i = int(np.nanargmax(speed))
    low, high = (float(speed[i] * np.exp(sign * o.half[i])) for sign in (-1.0, 1.0))
    basis = _("At the same batch the fastest part of that day is {part}: {speed} the speed of {home}, where the tier is {goal}.").format(
        part=part_label(o.options.value[0, i], f.catalog), speed=fmt.ratio(speed[i]), home=f.part_name(f.setting(STANDARD, "hardware")),
        goal=fmt.ratio(found.tier.speed),
    )  # fmt: skip
    both = [s for s in found.solutions if NEWER in s.names and len(s.names) > 1 and s.plausibility == SURE]
    if both:
        basis += " " + _("With a second mechanism it does: {how}.").format(how=settings_text(both[0], f.catalog))
    verdict = PARTLY if both or high >= found.tier.speed else CONTRADICTED
    return Finding(verdict, "model", float(speed[i]), "x", basis, place, low, high)


def uncertain(f: Facts) -> Finding:
    """C76: price over cost of the latest fast tier of the founding vendor, were it made by batches alone; low and high: the 90 % band.

    Four parts, each "it is uncertain": profit at the founding price, profit at the latest price (the band holds 1), usefulness of the
    founding tier and of Spark (neither in at least CERTAIN of the plausible worlds nor in at most the rest does it save time).
    """
    tiers = f.fast_tiers().sort_values("date")
    latest = [str(i) for i in tiers.index if i in f.catalog.presets.index][-1:]
    if not latest:
        raise Unknown
    margins = [_margin(preset, f.catalog) for preset in (FAST, latest[0])]
    shares = [float(np.ravel(_evaluated(preset, f.catalog).spread.p_faster)[0]) for preset in (FAST, SPARK)]
    known(margins[1][MIDDLE], shares)
    unsure = [bool(low < 1.0 < high) for low, _middle, high in margins] + [bool(1.0 - CERTAIN < share < CERTAIN) for share in shares]
    basis = _("Made by batches alone, {first} keeps {early} of the standard's price over cost (90 %: {early_low} to {early_high}), {last} {late} ({low} to {high}). It saves time in {opus} of plausible worlds, Codex-Spark in {spark}.").format(
        first=f.text(FAST, "model") + " fast", early=fmt.ratio(margins[0][1]), early_low=fmt.ratio(margins[0][0]), early_high=fmt.ratio(margins[0][2]),
        last=f.text(latest[0], "model") + " fast", late=fmt.ratio(margins[1][1]), low=fmt.ratio(margins[1][0]), high=fmt.ratio(margins[1][2]),
        opus=fmt.share(shares[0]), spark=fmt.share(shares[1]),
    )  # fmt: skip
    low, value, high = margins[1]
    return Finding(parts(*unsure), "model", value, "x price over cost", basis, f.state("/explain", latest[0]), low, high)


def _margin(preset: str, catalog: Catalog) -> tuple[float, float, float]:
    single = _explained(preset, catalog).single(BATCH)
    if single is None:
        raise Unknown
    return single.margin
