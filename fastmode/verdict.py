"""Sentences computed from an evaluation: which option wins, by how much, and the number on which it turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fastmode import format as fmt
from fastmode import productivity
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.scenario import Field, Scenario, all_fields

SAME_WITHIN = 0.005  # half a percent prints as 0 %
FASTER_WITHIN = 0.05


@dataclass(frozen=True)
class Verdict:
    """The parts of a verdict, each a sentence or empty, and the figures behind them.

    change: time per accepted task against the reference - 1 (NaN = unknown). threshold_error, threshold_wage_usd_per_h: where
    the verdict turns, NaN where it does not apply.
    """

    finding: str
    why: str
    threshold: str
    caveat: str
    change: float
    change_without_escapes: float
    threshold_error: float
    threshold_wage_usd_per_h: float
    hangs_on: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.finding, self.why, self.threshold) if part)


def option_name(evaluation: Evaluation, edited: bool = False) -> str:
    """Name of the scenario's option, marked where its settings were changed."""
    label = str(evaluation.catalog.presets.at[str(evaluation.scenario.preset), "label"])
    return _("{option} (edited)").format(option=label) if edited else label


def judge(evaluation: Evaluation, swung: Evaluation, edited: bool = False) -> Verdict:
    """Verdict on a scenario that holds single values. Sentences are in the current language.

    swung: the evaluation of `swings(scenario)`. edited: the option's settings are not those of its preset.
    """
    e, catalog, scenario = evaluation, evaluation.catalog, evaluation.scenario
    name = option_name(e, edited)
    other = str(catalog.presets.at[str(scenario.reference), "label"])
    task = _(str(catalog.profiles.at[str(scenario.task), "phrase"]))
    change = e.at(e.time_change)
    if not np.isfinite(change):
        side, who = (e.now, name) if not np.isfinite(e.at(e.now.task.time_per_task_s)) else (e.reference, other)
        if side is e.reference:
            finding = _(
                "No verdict: the reference {option} has no speed to compare with ({reason}); compare with another."
            )
        else:
            finding = _("No verdict: {option} cannot be evaluated ({reason}).")
        finding = finding.format(
            option=who, reason=e.reason(side).partition(";")[0] if side is e.reference else e.reason(side)
        )
        return Verdict(finding, "", "", "", np.nan, np.nan, np.nan, np.nan, ())
    same = abs(change) < SAME_WITHIN
    words = {"task": task, "option": name, "reference": other, "x": fmt.signed_share(abs(change)).lstrip("+")}
    if not edited and str(scenario.preset) == str(scenario.reference):
        finding = _("{option} is compared with itself: choose another option, or move a slider.").format(option=name)
        return Verdict(finding, "", "", "", change, np.nan, np.nan, np.nan, hangs_on(swung))
    if same:
        finding = _("For {task}, {option} takes the same developer time per accepted task as {reference}.").format(
            **words
        )
    elif change < 0:
        finding = _("For {task}, {option} takes {x} less developer time per accepted task than {reference}.").format(
            **words
        )
    else:
        finding = _("For {task}, {option} takes {x} more developer time per accepted task than {reference}.").format(
            **words
        )
    change_without = e.at(e.time_change_without_escapes)
    turning = hangs_on(swung)
    error, wage = _thresholds(e)
    threshold = _threshold_text(e, error, wage)
    caveat = _caveat(name, other, turning, change_without, e)
    return Verdict(finding, _why(e, change), threshold, caveat, change, change_without, error, wage, turning)


def _caveat(name: str, other: str, turning: tuple[str, ...], without: float, e: Evaluation) -> str:
    """How sure the verdict is, as far as that is known without bands."""
    labels = ", ".join(all_fields(e.catalog)[field].label.lower() for field in turning)
    sure = _("How sure: speed and cost have bands, the verdict has none yet; it hangs most on {fields}.").format(fields=labels)
    words = {"option": name, "reference": other, "x": fmt.signed_share(abs(without)).lstrip("+")}
    if abs(without) < SAME_WITHIN:
        escapes = _("If errors that escape review cost nothing, {option} and {reference} tie.")
    elif without < 0:
        escapes = _("If errors that escape review cost nothing, {option} takes {x} less.")
    else:
        escapes = _("If errors that escape review cost nothing, {option} still takes {x} more.")
    return " ".join(part for part in (_speed_caveat(e), sure, escapes.format(**words)) if part)


def swings(scenario: Scenario, catalog: Catalog) -> Scenario:
    """The scenario with each assumption in turn at the low and the high end of its range, all others as they are."""
    ranged = _ranged(catalog)
    swung = {}
    for position, f in enumerate(ranged):
        values = np.full((len(ranged), 2), float(getattr(scenario, f.name)))
        values[position] = f.low, f.high
        swung[f.name] = values.ravel()
    return replace(scenario, **swung)


def hangs_on(swung: Evaluation) -> tuple[str, ...]:
    """The three assumptions that move the difference in time most, from the evaluation of `swings`."""
    ranged = _ranged(swung.catalog)
    change = np.broadcast_to(swung.time_change, 2 * len(ranged)).reshape(len(ranged), 2)
    moved = np.nan_to_num(np.ptp(change, axis=1))
    return tuple(ranged[i].name for i in np.argsort(-moved, kind="stable")[:3])


def _ranged(catalog: Catalog) -> list[Field]:
    return [
        f
        for f in all_fields(catalog).values()
        if f.group in _HANGING_GROUPS
        and f.kind != "choice"
        and np.isfinite(f.low)
        and f.name not in _NOT_IN_THE_DIFFERENCE
    ]


_HANGING_GROUPS = ("table", "task", "people", "error")
# They move both sides' value, not the difference in time; the gap only acts at acceptance level; batch and distillation
# are what the user chooses, not what the verdict assumes.
_NOT_IN_THE_DIFFERENCE = (
    "wage_usd_per_h",
    "baseline_s",
    "baseline_error",
    "acceptance_gap",
    "batch_size",
    "distillation",
)


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
    published = _speeds_published(e)
    words = {
        "writes": _("It writes") if published == 2 else _("By the model it writes"),
        "speed": fmt.ratio(speed),
        "correcting": fmt.duration(abs(correcting)),
        "waiting": fmt.duration(waiting),
        "escaped": fmt.duration(e.at(e.now.task.escaped_s) - e.at(e.reference.task.escaped_s)),
    }
    if waiting <= 0:
        return _("{writes} {speed} as fast, but time lost to waiting does not shrink.").format(**words)
    if correcting > waiting and change > SAME_WITHIN:
        return _(
            "{writes} {speed} as fast, but time lost to waiting shrinks by only {waiting} and correcting errors grows by {correcting}, {escaped} of it errors that escape review."
        ).format(**words)
    if correcting > 1.0:
        return _(
            "{writes} {speed} as fast: time lost to waiting shrinks by {waiting}, correcting errors grows by {correcting}, {escaped} of it errors that escape review."
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
        if np.isnan(error):
            parts.append(_("It would not save time at any error rate."))
        elif error >= 1.0:
            parts.append(_("It saves time at any error rate."))
        else:
            words = {"error": fmt.share(error), "now": fmt.share(now)}
            parts.append(
                _("It saves time when fewer than {error} of its outputs are wrong (now {now}).").format(**words)
            )
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


def short(evaluation: Evaluation) -> str:
    """One short sentence on a pair, for the second pair of the Overview."""
    e = evaluation
    change = e.at(e.time_change)
    if not np.isfinite(change):
        return ""
    name = option_name(e)
    other = str(e.catalog.presets.at[str(e.scenario.reference), "label"])
    words = {"option": name, "reference": other, "x": fmt.signed_share(abs(change)).lstrip("+")}
    if abs(change) < SAME_WITHIN:
        first = _("{option} takes as long as {reference}.").format(**words)
    elif change < 0:
        first = _("{option} takes {x} less time than {reference}.").format(**words)
    else:
        first = _("{option} takes {x} more time than {reference}.").format(**words)
    return " ".join(part for part in (first, _threshold_text(e, *_thresholds(e))) if part)
