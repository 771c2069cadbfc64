"""What an explanation of a tier comes to, in words: the finding, settings of a mechanism, and what follows from the prices."""

from __future__ import annotations

import numpy as np

from fastmode import format as fmt
from fastmode.ab_test import tasks_per_arm
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.explain import Explanation, Solution, StandIn, batch_ratio, batch_share_of_step, decode_price_ratio
from fastmode.i18n import N_, _, ngettext
from fastmode.mechanisms import BATCH, CHIPS, DRAFTS, MIDDLE, NEWER, ROUTING, SHARE, SMALLER, SRAM, part_label

_SETTINGS = {
    BATCH: N_("batch {n}"),
    CHIPS: N_("{x} the chips"),
    DRAFTS: N_("{n} drafted tokens a step"),
    SHARE: N_("{n} places of the batch"),
    NEWER: N_("on {part}"),
    ROUTING: N_("the standard tier on {part}"),
    SRAM: N_("on {part}"),
    SMALLER: N_("a model {x} smaller"),
}


def setting_text(name: str, value: float, catalog: Catalog) -> str:
    """A parameter in words."""
    part = part_label(value, catalog) if name in (NEWER, ROUTING, SRAM) else ""
    return _(_SETTINGS[name]).format(n=_batch(value) if name == BATCH else fmt.number(value), x=fmt.ratio(value), part=part)


def settings_text(s: Solution, catalog: Catalog) -> str:
    """All parameters of a solution, the continuous one with its 90 % ends."""
    text = ", ".join(setting_text(name, value, catalog) for name, value in zip(s.names, s.value, strict=True))
    ends = [_batch(v) if s.names[-1] == BATCH else fmt.ratio(v) for v in sorted((s.low, s.high)) if np.isfinite(v)]
    return text + (f" ({ends[0]}-{ends[1]})" if len(ends) == 2 else "")


def finding(found: Explanation) -> str:
    """What is to be explained and whether smaller batches alone do it, as two or three sentences."""
    t = found.tier
    if found.reason:
        return _("{tier} over {standard}: {reason}.").format(tier=t.label, standard=t.standard, reason=found.reason)
    subject = t.label if not t.own else _("A tier")
    head = _("{tier} is {speed} as fast as {standard} at {price} the price.") if np.isfinite(t.price) else _("{tier} is {speed} as fast as {standard}; no price is published.")
    head = head.format(tier=subject, standard=t.standard, speed=fmt.ratio(t.speed), price=fmt.ratio(t.price))
    batch = found.single(BATCH)
    if batch is not None:
        text = _("A smaller batch alone can do that: {batch} instead of {own}, at {cost} the cost per output token.").format(
            batch=_batch(batch.value[0]), own=fmt.number(found.start.config["batch"]), cost=fmt.ratio(batch.cost[MIDDLE])
        )
        if np.isfinite(batch.margin[MIDDLE]):
            text += " " + _("The price then rises {margin} as much as the cost{range}.").format(margin=fmt.ratio(batch.margin[MIDDLE]), range=_range(batch.margin))
        return f"{head} {text}"
    alone = found.alone[BATCH]
    most = fmt.ratio(float(np.nanmax(alone.speed)))
    singles = [s for s in found.solutions if len(s.names) == 1]
    if singles:
        ways = "; ".join(settings_text(s, found.start.catalog) for s in singles)
        return " ".join([head, _("A smaller batch alone gets to {most}. What reaches it alone: {ways}.").format(most=most, ways=ways)])
    if found.solutions:
        return " ".join([head, _("A smaller batch alone gets to {most}; it takes two mechanisms together.").format(most=most)])
    return " ".join([head, _("No mechanism here, nor two together, gives that: a smaller batch alone gets to {most}.").format(most=most)])


def closed_form_text(found: Explanation) -> str:
    """The two closed forms with their figures; empty without a price above 1."""
    t, s = found.tier, found.start.service
    if found.reason or not batch_ratio(t.speed, t.price) > 1.0:
        return ""
    prefill = 1.0 - float(s.output_tokens_per_s[0] / s.decode_tokens_per_s[0])
    decode = float(decode_price_ratio(t.price, prefill))
    text = _("By hand: if a step grew evenly with the batch and the price followed the cost of decode, {speed} at {price} would be a batch {ratio} smaller, with {share} of the fast step growing with the batch.").format(
        speed=fmt.ratio(t.speed), price=fmt.ratio(t.price), ratio=fmt.ratio(float(batch_ratio(t.speed, t.price))),
        share=fmt.share(float(batch_share_of_step(t.speed, t.price))),
    )  # fmt: skip
    if np.isfinite(decode):
        text += " " + _("With {prefill} of the standard's cost for reading prompts, which a batch does not change, decode alone would be {decode} as dear, and the batch {ratio} smaller.").format(
            prefill=fmt.share(prefill), decode=fmt.ratio(decode), ratio=fmt.ratio(float(batch_ratio(t.speed, decode)))
        )  # fmt: skip
    return text


def standins_text(made: tuple[StandIn, ...], speed: float) -> str:
    """What smaller batches alone can and cannot do, over the stand-ins."""
    if not made:
        return ""
    there = [m for m in made if np.isfinite(m.batch)]
    words = {"n": len(made), "m": len(there), "speed": fmt.ratio(speed)}
    if not there:
        return _("On none of {n} stand-ins do smaller batches alone give {speed}: at batch 1 they give {low} to {high}.").format(
            **words, low=fmt.ratio(min(m.most for m in made)), high=fmt.ratio(max(m.most for m in made))
        )
    ends = {
        "small": _batch(min(m.batch for m in there)), "large": _batch(max(m.batch for m in there)),
        "cheap": fmt.ratio(min(m.cost for m in there)), "dear": fmt.ratio(max(m.cost for m in there)),
        "low": fmt.ratio(min(m.most for m in made)), "high": fmt.ratio(max(m.most for m in made)),
    }  # fmt: skip
    return _("Over {n} stand-ins smaller batches alone give {speed} on {m}: at batch {small} to {large}, for {cheap} to {dear} the cost. The most they give, at batch 1, is {low} to {high}. They change neither what reading a prompt costs nor the errors.").format(
        **words, **ends
    )  # fmt: skip


def later_text(found: Explanation, preset: str) -> str:
    """What later fast tiers of the same vendor say about the price; empty where there are none at another price."""
    catalog, t = found.start.catalog, found.tier
    batch = found.single(BATCH)
    rows = catalog.endpoints
    if preset not in rows.index or batch is None or t.own:
        return ""
    me = rows.loc[preset]
    same = (rows["provider"] == me["provider"]) & (rows["mode"] == me["mode"]) & (rows["speed_multiplier_vs_standard"] == me["speed_multiplier_vs_standard"])
    prices = rows["output_usd_per_mtok"] / rows["same_model_as"].map(rows["output_usd_per_mtok"])
    later = rows.index[same & (rows["date"] > str(me["date"])) & prices.notna() & (prices < t.price)]
    if not len(later):
        return ""
    first = later[int(np.argmin(rows.loc[later, "date"]))]
    price = float(prices[first])
    names = catalog.presets["label"]
    return ngettext(
        "Later the vendor sold the same advertised speed-up at {price} ({tier}, {date}). If batches made it, that is {margin} of what the cost rises: the first price was no measure of the cost.",
        "Later the vendor sold the same advertised speed-up at {price} ({tier}, {date}, and {n} more). If batches made it, that is {margin} of what the cost rises: the first price was no measure of the cost.",
        len(later),
    ).format(
        price=fmt.ratio(price), tier=names.get(first, first), date=rows.at[first, "date"], n=len(later) - 1, margin=fmt.ratio(price / batch.cost[MIDDLE])
    )  # fmt: skip


def input_text(found: Explanation) -> str:
    """What the input price says; empty where it does not rise."""
    t = found.tier
    if found.reason or not t.input_price > 1.0:
        return ""
    return _("The input price rises {price} as well. Running small decode batches leaves the reading of prompts as it is, so that part of the price is not explained by them: chips of their own for the fast tier, or a price set by what it is worth, would.").format(
        price=fmt.ratio(t.input_price)
    )  # fmt: skip


def ab_text(e: Evaluation) -> str:
    """What an A/B with the scenario's own error rates takes, in one or two sentences."""
    base, other = e.at(e.reference.error_rate), e.at(e.now.error_rate)
    names = {"option": str(e.catalog.presets.at[str(e.scenario.preset), "label"]), "standard": str(e.catalog.presets.at[str(e.scenario.reference), "label"])}
    n = float(tasks_per_arm(base, other))
    if not np.isfinite(base):
        return _("No error rate is known here.")
    if not np.isfinite(n):
        return _("{option} is taken to err as often as {standard} does, {error}: no number of tasks tells them apart. If it were not the full model, the table says how many would.").format(
            error=fmt.share(base), **names
        )  # fmt: skip
    return _("{standard} errs in {base} and {option} in {other} of first outputs here: {n} tasks on each would show the difference in four of five trials.").format(
        base=fmt.share(base), other=fmt.share(other), n=fmt.count(n), **names
    )  # fmt: skip


def _range(ends: tuple[float, float, float]) -> str:
    if not np.isfinite([ends[0], ends[2]]).all():
        return ""
    return _(" (90 %: {low} to {high})").format(low=fmt.ratio(ends[0]), high=fmt.ratio(ends[2]))


def _batch(value: float) -> str:
    return fmt.number(round(value)) if value >= 2.0 else fmt.number(value, 2)
