"""The four cards: what each says, in words and figures. Shared by the pages and the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fastmode import format as fmt
from fastmode import productivity
from fastmode.evaluate import BASIS_WORDS, Evaluation
from fastmode.i18n import N_, _
from fastmode.serving.evidence import PARTS, outside_words
from fastmode.verdict import band_text

BETTER, WORSE, SAME = "better", "worse", "same"
# Columns of the endpoints table, by the benchmarks' own names.
BENCHMARKS = {
    "swe_bench_verified": "SWE-bench Verified",
    "swe_bench_pro": "SWE-Bench Pro",
    "terminal_bench_2": "Terminal-Bench 2.0",
}
_HINTS = {
    "tokens_per_s_per_user": N_(
        "Output tokens a second that one user sees. TTFT is the time to the first of them, as a client sees it."
    ),
    "cost_multiplier": N_("Token bill of one attempt over that of the reference, at list price."),
    "error_rate": N_("Probability that the first output of a task is not right."),
    "net_productivity": N_("Time without AI over time with it, per accepted task; 1x = no gain."),
}


@dataclass(frozen=True)
class Card:
    """One card as text. `word` is one of the six words of where a figure comes from; `tone` says better or worse."""

    key: str
    label: str
    value: str
    unit: str
    change: str
    tone: str
    lines: tuple[str, ...]
    word: str
    tag: str = ""
    hint: str = ""  # the term in one sentence
    band: str = ""  # the 90 % band; empty where there is none


def cards(evaluation: Evaluation) -> list[Card]:
    """The cards in their fixed order: tokens/s, cost multiplier, error rate, net productivity."""
    made = [_speed(evaluation), _cost(evaluation), _error(evaluation), _productivity(evaluation)]
    return [replace(card, hint=_(_HINTS[card.key])) for card in made]


def output_texts(evaluation: Evaluation) -> dict[str, str]:
    """Each card's figure as the page writes it, by output name."""
    return {card.key: fmt.join_unit(card.value, card.unit) for card in cards(evaluation)}


def _band(e: Evaluation, name: str, form: Callable[[float], str]) -> str:
    """The 90 % band of an output as text; empty where it has none, as a quoted figure."""
    output = e.outputs()[name]
    if output.low is None or not np.isfinite(np.ravel(output.low)[0]):
        return ""
    low, high = (form(float(np.ravel(end)[0])) for end in (output.low, output.high))
    return _("90 %: {low}-{high}").format(low=low, high=high)


def outside_range(e: Evaluation) -> str:
    """In which way the scenario lies outside what has been measured, in words; empty where it does not."""
    bits = int(np.ravel(e.now.service.outside)[0])
    parts, ranges = bits & ((1 << PARTS) - 1), bits >> PARTS << PARTS
    said = []
    if parts:
        said.append(_("not validated: {what}").format(what=", ".join(_(w) for w in outside_words(parts))))
    if ranges:
        said.append(_("outside measured range: {what}").format(what=", ".join(_(w) for w in outside_words(ranges))))
    return "; ".join(said)


def _tone(new: float, old: float, more_is_better: bool) -> str:
    if not (np.isfinite(new) and np.isfinite(old)) or abs(new / old - 1.0 if old else new) < fmt.SAME_WITHIN:
        return SAME
    return BETTER if (new > old) == more_is_better else WORSE


def _reference(e: Evaluation) -> str:
    return str(e.catalog.presets.at[str(e.scenario.reference), "label"])


def _against(e: Evaluation, new: float, old: float) -> str:
    text = fmt.change(new, old)
    if text == fmt.change(1, 1):
        return _("same as {reference}").format(reference=_reference(e))
    return "" if text == fmt.MISSING else _("{change} vs {reference}").format(change=text, reference=_reference(e))


def _speed(e: Evaluation) -> Card:
    output = e.outputs()["tokens_per_s_per_user"]
    now, reference = e.at(e.now.tokens_per_s), e.at(e.reference.tokens_per_s)
    modelled, published = e.at(e.now.modelled_tokens_per_s), e.at(e.now.published_tokens_per_s)
    waits = [fmt.duration(e.at(side.task.wait_s)) for side in (e.now, e.reference)]
    ttft = _("TTFT {ttft} per call").format(ttft=fmt.duration(e.at(e.now.ttft_client_s)))
    ttft_band = _band(e, "ttft_s", fmt.duration)
    lines = [
        f"{ttft} ({ttft_band})" if ttft_band else ttft,
        _("waits {wait} an attempt").format(wait=waits[0])
        if waits[0] == waits[1]
        else _("waits {wait} an attempt, not {other}").format(wait=waits[0], other=waits[1]),
    ]
    if np.isfinite(modelled) and np.isfinite(published):
        lines.append(
            _("model alone {modelled}, quoted {published}").format(
                modelled=fmt.number(modelled), published=fmt.number(published)
            )
        )
    elif np.isfinite(modelled):
        lines.append(_("no published speed; stand-in model"))
    stated = e.at(e.vendor_speed_multiple(e.now))
    if np.isfinite(stated) and stated != 1.0:
        lines.append(_("the vendor states up to {multiple}").format(multiple=fmt.ratio(stated)))
    if output.reason:
        lines = [output.reason]
    preset_batch = float(e.catalog.presets.at[str(e.scenario.reference), "batch_size"])
    batch = e.at(e.reference.service.batch)
    if np.isfinite(batch) and batch < preset_batch:
        lines.append(
            _("{reference} modelled at batch {batch}: {preset} does not fit").format(
                reference=_reference(e), batch=fmt.number(batch), preset=fmt.number(preset_batch)
            )
        )
    unfit = bool(e.service_reason(e.now)) and np.isfinite(now) and np.ravel(e.now.model)[0] >= 0
    tag = (
        _("does not fit by the model")
        if unfit
        else outside_range(e)
        if np.isfinite(modelled) and output.kind == "modelled"
        else ""
    )
    return Card("tokens_per_s_per_user", _("Tokens/s per user"), fmt.number(now), _("tok/s"), _against(e, now, reference), _tone(now, reference, True), tuple(lines), _word(output.kind), tag, band=_band(e, "tokens_per_s_per_user", fmt.number))  # fmt: skip


def _cost(e: Evaluation) -> Card:
    multiplier = e.at(e.cost_multiplier)
    low, mid, high = (e.at(row) for row in e.now.provider_usd_per_mtok)
    lines = []
    if np.isfinite(mid):
        spread = fmt.money(mid) if np.isclose(low, high) else f"{fmt.money(low)}-{fmt.money(high)}"
        lines.append(_("provider cost {spread} per Mtok of output (stand-in)").format(spread=spread))
    cost, reference_cost = e.at(e.now.task.cost_per_task_usd), e.at(e.reference.task.cost_per_task_usd)
    if np.isfinite(cost):
        lines.append(
            _("all-in {cost} a task ({change})").format(cost=fmt.money(cost), change=fmt.change(cost, reference_cost))
        )
    if not np.isfinite(multiplier):
        value, change = fmt.MISSING, e.reason(e.now)
        if not np.isfinite(e.at(e.now.task.token_bill_usd)) and np.isfinite(e.at(e.now.tokens_per_s)):
            value, change = _("not published"), e.outputs()["cost_multiplier"].reason
        elif not change:
            change = _("the reference's price is not published")
        return Card("cost_multiplier", _("Cost multiplier"), value, "", change, SAME, tuple(lines), "")
    bills = (fmt.money(e.at(side.task.token_bill_usd)) for side in (e.now, e.reference))
    change = _("{bill} an attempt vs {other}").format(**dict(zip(("bill", "other"), bills, strict=True)))
    if _price_word(e) == _("modelled") and e.scenario.anchor == "published":
        lines.insert(0, _("modelled from list price"))
    return Card(
        "cost_multiplier",
        _("Cost multiplier"),
        fmt.ratio(multiplier),
        "",
        change,
        _tone(multiplier, 1.0, False),
        tuple(lines),
        _price_word(e),
        band=_band(e, "cost_multiplier", fmt.ratio),
    )


def _price_word(e: Evaluation) -> str:
    if e.scenario.price_out_usd_per_mtok is not None or e.scenario.price_in_usd_per_mtok is not None:
        return _("assumed")
    listed = e.at(e.now.price_out_usd_per_mtok) == e.at(e.now.list_price_out_usd_per_mtok) and e.at(
        e.now.price_in_usd_per_mtok
    ) == e.at(e.now.list_price_in_usd_per_mtok)
    if listed:
        return _("published")
    return _("modelled")


def _error(e: Evaluation) -> Card:
    now, reference = e.at(e.now.error_rate), e.at(e.reference.error_rate)
    points = fmt.points(now - reference)
    change = (
        _("{points} vs {reference} ({other})").format(
            points=points, reference=_reference(e), other=fmt.share(reference)
        )
        if now != reference
        else _("same as {reference}").format(reference=_reference(e))
    )
    lines = [
        _("first output not right ({level})").format(
            level=_("benchmark") if e.scenario.error_level == "benchmark" else _("acceptance")
        ),
        *error_rules(e),
    ]
    same_group = _group(e, str(e.scenario.preset)) == _group(e, str(e.scenario.reference))
    if not same_group:
        lines.append(_("different vendors: each group starts from the profile's error"))
    word = _("assumed") if now == reference else _("derived")
    return Card(
        "error_rate", _("Error rate"), fmt.share(now), "", change, _tone(now, reference, False), tuple(lines), word,
        band=_band(e, "error_rate", fmt.share),
    )  # fmt: skip


def _group(e: Evaluation, preset: str) -> str:
    return str(e.catalog.presets.at[preset, "compare_group"])


def error_rules(e: Evaluation) -> list[str]:
    """Which rules turned the profile's error into this scenario's."""
    rules = []
    benchmark_ratio, size_ratio = e.at(e.now.benchmark_odds_ratio), e.at(e.now.size_odds_ratio)
    if benchmark_ratio != 1.0:
        benchmark = BENCHMARKS[str(e.catalog.presets.at[str(e.scenario.preset), "benchmark"])]
        rules.append(_("odds x{ratio} on {benchmark}").format(ratio=fmt.number(benchmark_ratio), benchmark=benchmark))
    if size_ratio != 1.0:
        rules.append(_("odds x{ratio} from model size").format(ratio=fmt.number(size_ratio)))
    if e.scenario.error_level == "acceptance":
        rules.append(_("plus the acceptance gap"))
    if not rules:
        same = _same_weights(e, str(e.scenario.preset), str(e.scenario.reference))
        rules.append(_("same weights: the profile's error") if same else _("the profile's error"))
    return rules


def _same_weights(e: Evaluation, preset: str, reference: str) -> bool:
    """Whether two presets are the same model by the vendor's statement."""
    weights = e.catalog.endpoints["same_model_as"]
    return (weights[preset] or preset) == (weights[reference] or reference)


def _productivity(e: Evaluation) -> Card:
    task, reference = e.now.task, e.reference.task
    time, other = e.at(task.time_per_task_s), e.at(reference.time_per_task_s)
    change = fmt.change(time, other)
    unknown = change == fmt.MISSING
    reason = e.reason(e.now) or e.reason(e.reference)
    lines = (
        _("{time} per accepted task").format(time=fmt.duration(time)),
        _("correction time {time}, {share} of it").format(
            time=fmt.duration(e.at(task.correction_time_s)), share=fmt.share(e.at(task.correction_share))
        ),
    )
    # The exact break-even of as many attempts as there are, not the rule of thumb for one.
    tolerable = e.at(productivity.break_even_error(e.now.inputs, other)) - e.at(e.reference.error_rate)
    if np.isfinite(tolerable) and tolerable > 0:
        lines += (_("the shorter wait pays for {points} of error").format(points=fmt.points(float(tolerable))),)
    if np.isfinite(time):
        shown = (
            _("same time per task as {reference}")
            if change == fmt.change(1, 1)
            else _("{change} time per task vs {reference}")
        )
        words = shown.format(change=change, reference=_reference(e)) if not unknown else reason
    else:
        words, lines = reason, ()
    return Card(
        "net_productivity", _("Net productivity"), fmt.ratio(e.at(task.net_productivity)), _("vs no AI"), words,
        _tone(time, other, False), lines, _("modelled"), band=_productivity_band(e),
    )  # fmt: skip


def _productivity_band(e: Evaluation) -> str:
    """Bands of both figures of the card: the change in time, and net productivity."""
    band = _band(e, "net_productivity", fmt.ratio)
    output = e.outputs()["time_change"]
    change = band_text(float(np.ravel(output.low)[0]), float(np.ravel(output.high)[0]))
    if not (band and change):
        return band
    return _("{change} of time; {band}").format(change=change, band=band.partition(": ")[2])


def _word(kind: str) -> str:
    return _(BASIS_WORDS.get(kind, kind)) if kind else ""
