"""Sentences computed from an evaluation: which option wins, by how much, and the number on which it turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fastmode import format as fmt
from fastmode import productivity
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.trade import Judged, Trade
from fastmode.uncertainty import DRIVER_LABELS, driver_label

SAME_WITHIN = 0.005  # half a percent prints as 0 %
FASTER_WITHIN = 0.05


@dataclass(frozen=True)
class Verdict:
    """The parts of a verdict, each a sentence or empty, and the figures behind them.

    change: time per accepted task against the reference - 1 (NaN = unknown), low and high its 90 % band, p_faster the share of
    plausible worlds in which it is below 0. threshold_error, threshold_wage_usd_per_h: where the verdict turns, NaN where it
    does not apply. hangs_on: what moves the change most, fields of the scenario or other drivers; marked: fields alone.
    """

    finding: str
    why: str
    threshold: str
    caveat: str
    change: float
    low: float
    high: float
    p_faster: float
    change_without_escapes: float
    threshold_error: float
    threshold_wage_usd_per_h: float
    hangs_on: tuple[str, ...]
    marked: tuple[str, ...]

    @property
    def decided(self) -> bool:
        """Whether the whole 90 % band lies on one side of 0."""
        return not self.low <= 0.0 <= self.high

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.finding, self.why, self.threshold) if part)


def option_name(evaluation: Evaluation, edited: bool = False) -> str:
    """Name of the scenario's option, marked where its settings were changed."""
    label = str(evaluation.catalog.presets.at[str(evaluation.scenario.preset), "label"])
    return _("{option} (edited)").format(option=label) if edited else label


def judge(evaluation: Evaluation, edited: bool = False) -> Verdict:
    """Verdict on a scenario that holds single values. Sentences are in the current language.

    edited: the option's settings are not those of its preset.
    """
    e, catalog, scenario = evaluation, evaluation.catalog, evaluation.scenario
    name = option_name(e, edited)
    other = str(catalog.presets.at[str(scenario.reference), "label"])
    change = e.at(e.time_change)
    if not np.isfinite(change):
        return _without_verdict(e, name, other)
    low, high = (e.at(end) for end in e.spread.band("time_change", 90))
    found = {
        "why": "", "threshold": "", "caveat": "", "change": change, "low": low, "high": high, "p_faster": e.at(e.spread.p_faster),
        "change_without_escapes": np.nan, "threshold_error": np.nan, "threshold_wage_usd_per_h": np.nan,
        "hangs_on": tuple(swing.driver for swing in e.swings[:HANGS_ON]),
        "marked": tuple(swing.driver for swing in e.swings if swing.driver not in DRIVER_LABELS)[:HANGS_ON],
    }  # fmt: skip
    if not edited and str(scenario.preset) == str(scenario.reference):
        finding = _("{option} is compared with itself: choose another option, or move a slider.").format(option=name)
        return Verdict(finding, **found)
    words = {"task": _(str(catalog.profiles.at[str(scenario.task), "phrase"])), "option": name, "reference": other}
    made = Verdict(finding_text(change, low, high, found["p_faster"], words), **found)
    error, wage = _thresholds(e)
    without = e.at(e.time_change_without_escapes)
    return replace(
        made,
        finding=" ".join(part for part in (made.finding, undecided_text(made)) if part),
        why=_why(e, change),
        threshold=_threshold_text(e, error, wage),
        caveat=_caveat(made, words, without, e),
        change_without_escapes=without,
        threshold_error=error,
        threshold_wage_usd_per_h=wage,
    )


HANGS_ON = 3


def judge_trade(judged: Judged) -> Verdict:
    """Verdict on a trade of speed for errors against the reference of its evaluation."""
    e, trade = judged.evaluation, judged.trade
    scenario, catalog = e.scenario, e.catalog
    other = str(catalog.presets.at[str(scenario.reference), "label"])
    change = judged.change
    if not np.isfinite(change):
        return _without_verdict(e, other, other)
    low, high = judged.band(90)
    words = {"task": _(str(catalog.profiles.at[str(scenario.task), "phrase"])), "option": trade_name(trade), "reference": other}
    error = e.at(productivity.break_even_error(judged.inputs, judged.reference.time_per_task_s))
    made = Verdict(
        finding_text(change, low, high, judged.p_faster, words), _trade_why(judged), _error_threshold(error, e.at(judged.inputs.error_rate)), "",
        change, low, high, judged.p_faster, judged.change_without_escapes, error, np.nan,
        tuple(swing.driver for swing in judged.swings[:HANGS_ON]),
        tuple(swing.driver for swing in judged.swings if swing.driver not in DRIVER_LABELS)[:HANGS_ON],
    )  # fmt: skip
    escapes = _escapes_text(made.change_without_escapes, words) if float(scenario.escape_factor) else ""
    parts = (_worlds_text(np.nan, float(np.median(judged.changes))), _hangs_text(made), escapes)
    return replace(
        made,
        finding=" ".join(part for part in (made.finding, undecided_text(made)) if part),
        caveat=" ".join(part for part in parts if part),
    )


def trade_name(trade: Trade) -> str:
    """A trade as the subject of a sentence."""
    words = {"k": fmt.ratio(float(trade.speed_up)), "points": fmt.points(float(trade.points)).lstrip("+"), "factor": fmt.ratio(float(trade.factor))}
    if trade.points:
        return _("an option whose wait is {k} shorter, with {points} more error,").format(**words)
    return _("an option whose wait is {k} shorter, with {factor} the errors,").format(**words)


def _trade_why(judged: Judged) -> str:
    e = judged.evaluation
    grows = e.at(judged.task.correction_time_s) - e.at(judged.reference.correction_time_s)
    words = {
        "waiting": fmt.duration(e.at(judged.reference.waiting_s) - e.at(judged.task.waiting_s)),
        "correcting": fmt.duration(abs(grows)),
        "now": fmt.share(e.at(judged.inputs.error_rate)),
        "other": fmt.share(e.at(e.reference.error_rate)),
    }
    if grows < 0:
        return _("Time lost to waiting shrinks by {waiting}, and correcting by {correcting} ({now} wrong instead of {other}).").format(**words)
    return _("Time lost to waiting shrinks by {waiting}, correcting grows by {correcting} ({now} wrong instead of {other}).").format(**words)


def _without_verdict(e: Evaluation, name: str, other: str) -> Verdict:
    side, who = (e.now, name) if not np.isfinite(e.at(e.now.task.time_per_task_s)) else (e.reference, other)
    finding = _("No verdict: {option} cannot be evaluated ({reason}).")
    reason = e.reason(side)
    if side is e.reference:
        finding = _("No verdict: the reference {option} has no speed to compare with ({reason}); compare with another.")
        reason = reason.partition(";")[0]
    return Verdict(finding.format(option=who, reason=reason), "", "", "", *(np.nan,) * 7, hangs_on=(), marked=())


def finding_text(change: float, low: float, high: float, p_faster: float, words: dict[str, str]) -> str:
    """Which takes less time, by how much and with what band; words: task, option, reference."""
    band = band_text(low, high)
    if band and np.isfinite(p_faster):
        band = _("{band}, less in {faster} of plausible worlds").format(band=band, faster=fmt.share(_round(p_faster)))
    words = words | {"x": fmt.signed_share(abs(change)).lstrip("+"), "band": f" ({band})" if band else ""}
    if abs(change) < SAME_WITHIN:
        text = _("For {task}, {option} takes the same developer time per accepted task as {reference}{band}.")
    elif change < 0:
        text = _("For {task}, {option} takes {x} less developer time per accepted task than {reference}{band}.")
    else:
        text = _("For {task}, {option} takes {x} more developer time per accepted task than {reference}{band}.")
    return text.format(**words)


def band_text(low: float, high: float) -> str:
    """The 90 % band of a change; empty where there is none."""
    if not low < high:
        return ""
    ends = {"low": fmt.signed_share(low), "high": fmt.signed_share(high)}
    return _("90 %: {low} to {high}").format(**ends)


def undecided_text(verdict: Verdict) -> str:
    """That the evidence does not decide, and what it hangs on; empty where it does."""
    if verdict.decided or not verdict.low < verdict.high or not verdict.hangs_on:
        return ""
    return _("The evidence does not decide; it hangs on {driver}.").format(driver=driver_text(verdict.hangs_on[0]))


def driver_text(driver: str) -> str:
    """A driver inside a sentence."""
    label = driver_label(driver)
    return label if label.split(" ")[0].isupper() else label[:1].lower() + label[1:]


def _caveat(verdict: Verdict, words: dict[str, str], without: float, e: Evaluation) -> str:
    """How sure the verdict is, what it hangs on, and what is left of it if escaped errors cost nothing."""
    sure = _worlds_text(e.at(e.spread.p_cheaper), float(np.median(e.spread.time_change))) if verdict.low < verdict.high else ""
    escapes = _escapes_text(without, words) if float(e.scenario.escape_factor) else ""
    return " ".join(part for part in (_speed_caveat(e), sure, _hangs_text(verdict), escapes) if part)


def _hangs_text(verdict: Verdict) -> str:
    drivers = ", ".join(driver_text(driver) for driver in verdict.hangs_on)
    return _("It hangs most on: {drivers}.").format(drivers=drivers) if drivers else ""


def _escapes_text(without: float, words: dict[str, str]) -> str:
    words = words | {"x": fmt.signed_share(abs(without)).lstrip("+")}
    if abs(without) < SAME_WITHIN:
        escapes = _("If errors that escape review cost nothing, {option} and {reference} take the same time.")
    elif without < 0:
        escapes = _("If errors that escape review cost nothing, {option} takes {x} less.")
    else:
        escapes = _("If errors that escape review cost nothing, {option} still takes {x} more.")
    text = escapes.format(**words)
    return text[:1].upper() + text[1:]


def _worlds_text(cheaper: float, middle: float) -> str:
    """The change in the middle one of the plausible worlds, and in how many an accepted task costs less."""
    words = {"middle": fmt.signed_share(middle), "cheaper": fmt.share(_round(cheaper))}
    if np.isfinite(cheaper):
        return _("In the middle one of the plausible worlds time changes by {middle}; money, developer time included, is saved in {cheaper} of them.").format(**words)
    return _("In the middle one of the plausible worlds time changes by {middle}.").format(**words)


def _round(share: float) -> float:
    """Whole percents: draws are too few for more; only all worlds are 100 %, only none 0 %."""
    return share if share in (0.0, 1.0) or not np.isfinite(share) else min(max(round(share, 2), 0.01), 0.99)


def _thresholds(e: Evaluation) -> tuple[float, float]:
    """(break-even error, break-even wage): NaN where the option is not slower to accept, or not dearer."""
    error = wage = np.nan
    if e.at(e.now.error_rate) != e.at(e.reference.error_rate):
        error = e.at(productivity.break_even_error(e.now.inputs, e.reference.task.time_per_task_s))
    saved = e.at(e.reference.task.time_per_task_s) - e.at(e.now.task.time_per_task_s)
    extra = e.at(e.now.task.token_cost_usd) - e.at(e.reference.task.token_cost_usd)
    if np.isfinite(extra) and extra > 0 and saved > 0:
        wage = e.at(productivity.break_even_wage(np.array([extra]), np.array([saved])))
    return error, wage


def _why(e: Evaluation, change: float) -> str:
    speed = e.at(e.now.tokens_per_s) / e.at(e.reference.tokens_per_s)
    if speed < 1.0 + FASTER_WITHIN:
        return ""
    correcting = e.at(e.now.task.correction_time_s) - e.at(e.reference.task.correction_time_s)
    waiting = e.at(e.reference.task.waiting_s) - e.at(e.now.task.waiting_s)
    escaped = e.at(e.now.task.escaped_s) - e.at(e.reference.task.escaped_s)
    published = _speeds_published(e)
    words = {
        "writes": _("It writes") if published == 2 else _("By the model it writes"),
        "speed": fmt.ratio(speed),
        "correcting": fmt.duration(abs(correcting)),
        "waiting": fmt.duration(waiting),
        "escaped": fmt.duration(escaped),
    }
    if waiting <= 0:
        return _("{writes} {speed} as fast, but time lost to waiting does not shrink.").format(**words)
    if correcting > waiting and change > SAME_WITHIN:
        return _(
            "{writes} {speed} as fast, but time lost to waiting shrinks by only {waiting} and correcting grows by {correcting}, {escaped} of it escaped errors."
        ).format(**words)
    if correcting > 1.0 and escaped < 1.0:
        return _("{writes} {speed} as fast: time lost to waiting shrinks by {waiting}, correcting grows by {correcting}.").format(**words)
    if correcting > 1.0:
        return _(
            "{writes} {speed} as fast: time lost to waiting shrinks by {waiting}, correcting grows by {correcting}, {escaped} of it escaped errors."
        ).format(**words)
    return _("{writes} {speed} as fast, and time lost to waiting shrinks by {waiting}.").format(**words)


def _speeds_published(e: Evaluation) -> int:
    """How many of the two speeds rest on a published one."""
    return sum(bool(np.ravel(side.anchored)[0]) for side in (e.now, e.reference))


def _speed_caveat(e: Evaluation) -> str:
    """A warning where the speeds of the two sides do not come from the same kind of source."""
    stated = e.at(e.vendor_speed_multiple(e.now))
    vendor = (
        _(" The vendor states up to {multiple}.").format(multiple=fmt.ratio(stated))
        if np.isfinite(stated) and stated != 1
        else ""
    )
    if e.scenario.anchor != "published" or _speeds_published(e) == 2:
        return ""
    if _speeds_published(e) == 1:
        return (
            _("One of the two speeds is published, the other is a stand-in's modelled speed: their ratio mixes both.")
            + vendor
        )
    return _("Neither speed is published: both are modelled for assumed stand-ins.") + vendor


def _threshold_text(e: Evaluation, error: float, wage: float) -> str:
    parts = []
    now, other = e.at(e.now.error_rate), e.at(e.reference.error_rate)
    if now != other:
        parts.append(_error_threshold(error, now))
    if np.isfinite(wage):
        words = {
            "multiple": fmt.ratio(e.at(e.cost_multiplier)),
            "wage": fmt.money(round(wage) if wage >= 1 else wage),
            "now": fmt.money(float(e.scenario.wage_usd_per_h)),
        }
        if wage > float(e.scenario.wage_usd_per_h):
            text = _("At {multiple} the price it pays when an hour of work costs over {wage} (now {now}: it does not).")
        else:
            text = _("At {multiple} the price it pays when an hour of work costs over {wage} (now {now}: it does).")
        parts.append(text.format(**words))
    elif e.at(e.time_change) > SAME_WITHIN and e.at(e.cost_multiplier) > 1.0 + SAME_WITHIN:
        parts.append(_("It also costs {multiple} the price.").format(multiple=fmt.ratio(e.at(e.cost_multiplier))))
    elif not np.isfinite(e.at(e.cost_multiplier)) and e.at(e.time_change) < 0:
        why = e.outputs()["cost_multiplier"].reason.partition(";")[0]
        parts.append(_("Whether it pays in money is open: {why}.").format(why=why))
    return " ".join(parts)


def _error_threshold(error: float, now: float) -> str:
    if np.isnan(error):
        return _("It would not save time at any error rate.")
    if error >= 1.0:
        return _("It saves time at any error rate.")
    words = {"error": fmt.share(error), "now": fmt.share(now)}
    return _("It saves time when fewer than {error} of its outputs are wrong (now {now}).").format(**words)


def short(evaluation: Evaluation) -> str:
    """One short sentence on a pair, for the second pair of the Overview."""
    e = evaluation
    change = e.at(e.time_change)
    if not np.isfinite(change):
        return ""
    name = option_name(e)
    other = str(e.catalog.presets.at[str(e.scenario.reference), "label"])
    band = band_text(*(e.at(end) for end in e.spread.band("time_change", 90)))
    words = {"option": name, "reference": other, "x": fmt.signed_share(abs(change)).lstrip("+"), "band": f" ({band})" if band else ""}
    if abs(change) < SAME_WITHIN:
        first = _("{option} takes as long as {reference}{band}.").format(**words)
    elif change < 0:
        first = _("{option} takes {x} less time than {reference}{band}.").format(**words)
    else:
        first = _("{option} takes {x} more time than {reference}{band}.").format(**words)
    return " ".join(part for part in (first, _threshold_text(e, *_thresholds(e))) if part)
