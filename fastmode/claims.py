"""Each claim of the founding articles against the catalogue and the model.

A verdict is a small function of stored rows or of an evaluation, registered under the claim's id in VERDICTS; the claimed
numbers are read from the claim's own row. A claim without a function is "untested", one marked as outside scope in its row
says so. What the rules mean by agreement:

* a claimed figure and ours are the same when they differ by at most ROUNDING, since the claims are rounded figures;
* "supported" asks for rows that are measured, or for a fact the vendor sets by itself (a price); agreement with a figure
  that is only stated or reported is "partly supported";
* a floor ("more than") is taken without tolerance, and a ceiling ("up to") is not contradicted by a lower speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode import productivity
from fastmode import scenario as scenarios
from fastmode.catalog import Catalog, load
from fastmode.evaluate import BASIS_WORDS, evaluate
from fastmode.i18n import N_, _
from fastmode.side import Side

SUPPORTED, PARTLY, CONTRADICTED = N_("supported"), N_("partly supported"), N_("contradicted")
UNTESTED, OUTSIDE = N_("untested"), N_("outside scope")
VERDICT_WORDS = (SUPPORTED, PARTLY, CONTRADICTED, UNTESTED, OUTSIDE)
COLUMNS = ("id", "claim", "verdict", "kind", "value", "unit", "low", "high", "published", "basis", "link")

ROUNDING = 0.1  # "about 170", "15 times": a tenth either way is the same figure
MOST = 0.5  # "most of the time" is more than half of it
MEASURED = "measured_third_party"
HOOK = "which_model_feature_would_reproduce_or_test_it"
STANDARD, FAST = "opus-4.6", "opus-4.6-fast"
CODEX, SPARK = "gpt-5.3-codex", "gpt-5.3-codex-spark"


class _Unknown(LookupError):
    """A figure that a verdict rests on is not in the data."""


@dataclass(frozen=True)
class Finding:
    """What one claim comes to. kind: "data" from stored rows alone, "model" from an evaluation, "none" without either.

    Raises ValueError for a verdict that is none of VERDICT_WORDS.
    """

    verdict: str
    kind: str = "none"
    value: float = np.nan
    unit: str = ""
    basis: str = ""
    link: str = ""
    low: float = np.nan
    high: float = np.nan

    def __post_init__(self) -> None:
        if self.verdict not in VERDICT_WORDS:
            raise ValueError(f"not a verdict: {self.verdict!r}")


@dataclass(frozen=True)
class _Facts:
    """What a verdict may look at: the catalogue and its own claim."""

    catalog: Catalog
    quantity: str

    def claimed(self, count: int) -> list[float]:
        """The numbers in the claim's quantity, in their order."""
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", self.quantity)]
        if len(numbers) != count:
            raise _Unknown
        return numbers

    def number(self, endpoint: str, column: str) -> float:
        rows = self.catalog.endpoints
        value = float(rows.at[endpoint, column]) if endpoint in rows.index else np.nan
        if not np.isfinite(value):
            raise _Unknown
        return value

    def speed(self, endpoint: str) -> float:
        return self.number(endpoint, "output_tok_s")

    def text(self, endpoint: str, column: str) -> str:
        return str(self.catalog.endpoints.at[endpoint, column])

    def word(self, endpoint: str) -> str:
        """Where the endpoint's speed comes from, as people read it."""
        basis = self.text(endpoint, "basis")
        return _(BASIS_WORDS.get(basis, basis))

    def measured(self, *endpoints: str) -> bool:
        return all(self.text(endpoint, "basis") == MEASURED for endpoint in endpoints)

    def fast_tiers(self) -> pd.DataFrame:
        """Fast modes of the founding vendor."""
        rows = self.catalog.endpoints
        return rows[(rows["provider"] == self.text(FAST, "provider")) & (rows["mode"] == self.text(FAST, "mode"))]


def _same(found: float, claimed: float) -> bool:
    return abs(found / claimed - 1.0) <= ROUNDING


def _link(path: str = "", **params: str) -> str:
    return f"{path}?{urlencode(params)}"


def _up_to(f: _Facts) -> Finding:
    """C01: the vendor's stated multiple is the claimed one; supported once a measured fast tier reaches it.

    A measured fast tier is set against its own standard tier where that one's speed is known, else against the founding one.
    """
    (claimed,) = f.claimed(1)
    stated = f.number(FAST, "speed_multiplier_vs_standard")
    link = _link(preset=FAST)
    tiers = f.fast_tiers()
    tiers = tiers[(tiers["basis"] == MEASURED) & tiers["output_tok_s"].notna()]
    speeds = f.catalog.endpoints["output_tok_s"]
    if tiers.empty:
        verdict = PARTLY if _same(stated, claimed) else CONTRADICTED
        basis = _("The vendor states {stated}; no fast tier has a measured speed.").format(stated=fmt.ratio(stated))
        return Finding(verdict, "data", stated, "x", basis, link)
    own = tiers["same_model_as"].map(speeds)
    gains = tiers["output_tok_s"] / own.fillna(f.speed(STANDARD))
    best = str(gains.idxmax())
    gain, standard = float(gains[best]), f.text(best, "same_model_as") if np.isfinite(own[best]) else STANDARD
    reached = SUPPORTED if gain >= claimed * (1.0 - ROUNDING) else PARTLY
    basis = _(
        "The vendor states {stated}; measured: {fast} fast at {speed} tok/s, {gain} the {base} tok/s of {standard} standard."
    ).format(
        stated=fmt.ratio(stated), fast=f.text(best, "model"), speed=fmt.number(f.speed(best)), gain=fmt.ratio(gain),
        base=fmt.number(f.speed(standard)), standard=f.text(standard, "model"),
    )  # fmt: skip
    verdict = reached if _same(stated, claimed) else CONTRADICTED
    return Finding(verdict, "data", stated, "x", basis, link, min(gain, stated), max(gain, stated))


def _two_speeds(f: _Facts) -> Finding:
    """C02: both stored speeds are the claimed ones; supported only if both are measured."""
    claimed = f.claimed(2)
    fast, standard = f.speed(FAST), f.speed(STANDARD)
    agrees = _same(fast, claimed[0]) and _same(standard, claimed[1])
    verdict = CONTRADICTED if not agrees else SUPPORTED if f.measured(FAST, STANDARD) else PARTLY
    basis = _("{fast} tok/s ({fast_word}) over {base} tok/s ({base_word}); the vendor states a multiple of {stated}.").format(
        fast=fmt.number(fast), fast_word=f.word(FAST), base=fmt.number(standard), base_word=f.word(STANDARD),
        stated=fmt.ratio(f.number(FAST, "speed_multiplier_vs_standard")),
    )  # fmt: skip
    return Finding(verdict, "data", fast / standard, "x", basis, _link(preset=FAST))


def _price_ratio(f: _Facts) -> Finding:
    """C03: list prices of output and of input both stand in the claimed ratio; one of the two is partly supported.

    low and high: the output price ratios of all fast tiers of this vendor.
    """
    (claimed,) = f.claimed(1)
    columns = ("output_usd_per_mtok", "input_usd_per_mtok")
    ratios = [f.number(FAST, column) / f.number(STANDARD, column) for column in columns]
    agree = [_same(ratio, claimed) for ratio in ratios]
    verdict = SUPPORTED if all(agree) else PARTLY if any(agree) else CONTRADICTED
    prices = f.catalog.endpoints[columns[0]]
    tiers = f.fast_tiers()
    all_ratios = (tiers[columns[0]] / tiers["same_model_as"].map(prices)).dropna()
    low, high = float(all_ratios.min()), float(all_ratios.max())
    basis = _(
        "List prices dated {date}: output {out}, input {into} the standard price; fast tiers of this vendor span {low} to {high}."
    ).format(
        date=f.text(FAST, "date"), out=fmt.ratio(ratios[0]), into=fmt.ratio(ratios[1]), low=fmt.ratio(low),
        high=fmt.ratio(high),
    )  # fmt: skip
    return Finding(verdict, "data", ratios[0], "x", basis, _link(preset=FAST), low, high)


def _spark_speed(f: _Facts) -> Finding:
    """C15: a floor, taken without tolerance; supported only if the speed is measured."""
    (claimed,) = f.claimed(1)
    speed = f.speed(SPARK)
    verdict = CONTRADICTED if speed < claimed else SUPPORTED if f.measured(SPARK) else PARTLY
    basis = _("{model}: {speed} tok/s ({word}).").format(
        model=f.text(SPARK, "model"), speed=fmt.number(speed), word=f.word(SPARK)
    )
    return Finding(verdict, "data", speed, "tok/s", basis, _link(preset=SPARK))


def _speed_ratio(slow: str) -> Callable[[_Facts], Finding]:
    """C16, C17: Spark's speed over that of `slow` is the claimed ratio; supported only if both speeds are measured."""

    def verdict_on(f: _Facts) -> Finding:
        (claimed,) = f.claimed(1)
        fast, base = f.speed(SPARK), f.speed(slow)
        verdict = CONTRADICTED if not _same(fast / base, claimed) else SUPPORTED if f.measured(SPARK, slow) else PARTLY
        basis = _("{fast} tok/s ({fast_word}) over {base} tok/s ({base_word}).").format(
            fast=fmt.number(fast), fast_word=f.word(SPARK), base=fmt.number(base), base_word=f.word(slow)
        )
        return Finding(verdict, "data", fast / base, "x", basis, _link(preset=SPARK, reference=slow))

    return verdict_on


def _codex(catalog: Catalog, **changes: float | np.ndarray) -> Side:
    """The founding standard option under the default assumptions."""
    return evaluate(replace(scenarios.default(catalog), reference=CODEX, **changes), catalog).reference


def _correcting(f: _Facts) -> Finding:
    """C68: share of the task time that goes into correcting; supported above half, partly while it exceeds waiting.

    low and high: the same share at the low and the high end of the default error rate.
    """
    error = scenarios.all_fields(f.catalog)["error"]
    task = _codex(f.catalog, error=np.array([error.default, error.low, error.high])).task
    share, low, high = (float(s) for s in task.correction_share)
    waiting = float(np.ravel(task.waiting_s / task.time_per_task_s)[0])
    if not np.isfinite([share, waiting]).all():
        raise _Unknown
    verdict = SUPPORTED if share > MOST else PARTLY if share > waiting else CONTRADICTED
    basis = _(
        "Default task with {model}: {share} of the time goes into correcting, {waiting} into the first wait; range for an error rate of {low} to {high}."
    ).format(
        model=f.text(CODEX, "model"), share=fmt.share(share), waiting=fmt.share(waiting), low=fmt.share(error.low),
        high=fmt.share(error.high),
    )  # fmt: skip
    return Finding(verdict, "model", 100 * share, "%", basis, _link(preset=CODEX), 100 * low, 100 * high)


def _founding_trade(f: _Facts) -> Finding:
    """C69: change in time per accepted task when the whole wait is divided by the claimed factor and errors rise.

    Two readings of the claimed percentage: points added to the error rate (value), and a factor on it. A bad deal under both
    is supported, under one partly supported. low and high: the two readings.
    """
    factor, percent = f.claimed(2)
    inputs = _codex(f.catalog).inputs
    waits = ("ttft_s", "handshake_s", "start_delay_s", "tool_time_s")
    faster = {name: getattr(inputs, name) / factor for name in waits} | {"tokens_per_s": inputs.tokens_per_s * factor}
    readings = np.minimum(np.array([inputs.error_rate + percent / 100, inputs.error_rate * (1 + percent / 100)]), 1.0)
    fast = productivity.task(replace(inputs, error_rate=readings.ravel(), **faster)).time_per_task_s
    points, times = (float(c) for c in fast / productivity.task(inputs).time_per_task_s - 1.0)
    if not np.isfinite([points, times]).all():
        raise _Unknown
    bad = (points > 0) + (times > 0)
    verdict = (CONTRADICTED, PARTLY, SUPPORTED)[bad]
    basis = _(
        "Default task with {model}, whole wait divided by {factor}: time {points} if errors rise by {percent} points, {times} if by {percent} %."
    ).format(
        model=f.text(CODEX, "model"), factor=fmt.number(factor), percent=fmt.number(percent), points=fmt.signed_share(points),
        times=fmt.signed_share(times),
    )  # fmt: skip
    low, high = sorted((100 * points, 100 * times))
    return Finding(verdict, "model", 100 * points, "%", basis, _link("/trade_offs", preset=SPARK), low, high)


VERDICTS: dict[str, Callable[[_Facts], Finding]] = {
    "C01": _up_to,
    "C02": _two_speeds,
    "C03": _price_ratio,
    "C15": _spark_speed,
    "C16": _speed_ratio(CODEX),
    "C17": _speed_ratio(FAST),
    "C68": _correcting,
    "C69": _founding_trade,
}


def _find(identity: str, row: pd.Series, catalog: Catalog) -> Finding:
    if row[HOOK] == OUTSIDE:
        return Finding(OUTSIDE, basis=_("An opinion or a forecast that no figure here can test."))
    if identity not in VERDICTS:
        return Finding(UNTESTED, unit=str(row["unit"]), basis=_("No calculation yet."))
    try:
        return VERDICTS[identity](_Facts(catalog, str(row["quantity"])))
    except _Unknown:
        return Finding(UNTESTED, unit=str(row["unit"]), basis=_("A figure it rests on is not in the data."))


def claims_table(catalog: Catalog | None = None) -> pd.DataFrame:
    """One row a claim, in the order of the data, with the columns COLUMNS.

    verdict is one of VERDICT_WORDS, untranslated; value, low and high are float64 in `unit`, NaN where there is no figure;
    published is the claim's own quantity as written; link is an address of the app relative to its root, "" where no
    page shows the claim. Texts of basis are in the current language.
    """
    catalog = catalog or load()
    rows = []
    for identity, row in catalog.claims.iterrows():
        finding = _find(str(identity), row, catalog)
        own = {"id": identity, "claim": row["claim"], "published": row["quantity"]}
        rows.append(own | {name: getattr(finding, name) for name in COLUMNS if name not in own})
    return pd.DataFrame(rows, columns=list(COLUMNS))
