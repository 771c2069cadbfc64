"""The four panels of the Trade-offs figure, from a sweep."""

from __future__ import annotations

import math

import numpy as np

from fastmode.charts.tradeoffs import Panel
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.serving.bands import LEVELS
from fastmode.sweep import Sweep

TICKS = {
    "batch": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    "distillation": (1, 2, 5, 10, 20, 50, 100),
    "context": (1e3, 1e4, 1e5, 1e6),
}
# Ends of the productivity axis; it steps up only when a curve would leave it, so it stands still while a slider moves.
_PRODUCTIVITY_ENDS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


def panels(along: Sweep, now: Evaluation, points: Evaluation | None) -> list[Panel]:
    """Tokens/s, cost, error rate and net productivity against the sweep's axis.

    now: the evaluation of the scenario itself, marked filled. points: presets with a published speed, marked hollow.
    """
    e, n = along.evaluation, len(along.x)

    def curve(array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.asarray(array, float), n)

    bands = {level: along.bands(level) for level in LEVELS}

    def edges(outcome: str, scale: float = 1.0, where: np.ndarray | bool = True) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {
            f"band{level}": tuple(np.where(where, scale * curve(end), np.nan) for end in bands[level][outcome]) for level in LEVELS
        }

    speed, speed_edges = curve(e.now.tokens_per_s), edges("tokens_per_s_per_user")
    error = 100.0 * curve(e.now.error_rate)
    productivity = curve(e.now.task.net_productivity)
    marks = _marks(along, points)
    shown = np.isfinite(speed)
    why = "" if along.spans else now.reason(now.now)  # a hatched span already says why
    productivity_now = now.at(now.now.task.net_productivity)
    productivity_edges = edges("net_productivity")
    highest = np.nanmax(
        np.concatenate(
            [productivity[shown], productivity_edges["band90"][1][shown], [1.0, productivity_now, now.at(now.reference.task.net_productivity)]]
        )
    )
    return [
        Panel(
            "tokens_per_s", _("Tokens/s per user"), _("tok/s"), speed, now.at(now.now.tokens_per_s), now.at(now.reference.tokens_per_s),
            marks("tokens_per_s"), _decades(*speed_edges["band90"], speed, now.at(now.now.tokens_per_s), now.at(now.reference.tokens_per_s)), log_y=True,
            missing=why, **speed_edges,
        ),
        _cost_panel(e, now, curve, marks, bool(along.spans), edges("cost_multiplier")),
        Panel(
            "error_rate", _("Error rate"), "%", np.where(shown, error, np.nan), 100.0 * now.at(now.now.error_rate),
            100.0 * now.at(now.reference.error_rate), marks("error_rate"), (0.0, 100.0), **edges("error_rate", 100.0, shown),
        ),
        Panel(
            "net_productivity", _("Net productivity"), "x", productivity, productivity_now, now.at(now.reference.task.net_productivity),
            marks("net_productivity"), (0.0, next((end for end in _PRODUCTIVITY_ENDS if end >= highest * 1.05), float(highest) * 1.2)),
            baseline=1.0, baseline_label=_("same as without AI"), missing=why, **productivity_edges,
        ),
    ]  # fmt: skip


def _cost_panel(e: Evaluation, now: Evaluation, curve, marks, hatched: bool, edges: dict) -> Panel:
    """The cost multiplier, or the provider's cost where a price is not published."""
    multiplier = curve(e.cost_multiplier)
    if np.isfinite(multiplier).any() or not np.isfinite(curve(e.now.provider_usd_per_mtok[1])).any():
        here = now.at(now.cost_multiplier)
        return Panel(
            "cost_multiplier", _("Cost multiplier"), "x", multiplier, here, 1.0, marks("cost_multiplier"),
            _decades(*edges["band90"], multiplier, here, 1.0), log_y=True, missing="" if hatched else _("price not published"),
            **edges,
        )  # fmt: skip
    provider, reference = now.at(now.now.provider_usd_per_mtok[1]), now.at(now.reference.provider_usd_per_mtok[1])
    y = curve(e.now.provider_usd_per_mtok[1])
    return Panel(
        "provider_cost", _("Provider cost, no list price"), _("USD/Mtok"), y, provider, reference, (),
        _decades(y, provider, reference), log_y=True,
    )  # fmt: skip


def _marks(along: Sweep, points: Evaluation | None):
    """Published points by outcome: (x its preset assumes, y, label)."""
    if points is None:
        return lambda _outcome: ()
    table = points.catalog.presets
    presets = [str(p) for p in np.ravel(points.scenario.preset)]
    hardware = points.catalog.hardware["label"]
    home = points.catalog.assumptions
    xs = {
        "batch": lambda p: float(table.at[p, "batch_size"]),
        "distillation": lambda _p: 1.0,
        "context": lambda _p: float(home.at["context_tokens", "default"]),
        "hardware": lambda p: str(hardware[table.at[p, "hardware"]]),
    }[along.axis]
    side = points.now
    values = {
        "tokens_per_s": side.published_tokens_per_s,
        "cost_multiplier": points.cost_multiplier,
        "error_rate": 100.0 * side.error_rate,
        "net_productivity": side.task.net_productivity,
    }

    def of(outcome: str) -> list[tuple[float | str, float, str]]:
        ys = np.broadcast_to(values[outcome], len(presets))
        rows = [
            (xs(p), float(y), str(table.at[p, "label"])) for p, y in zip(presets, ys, strict=True) if np.isfinite(y)
        ]
        return [row for row in rows if along.axis != "hardware" or row[0] in along.x]

    return of


def _decades(*values: np.ndarray | float) -> tuple[float, float]:
    """A range of whole decades (and halves of one) around all values."""
    flat = np.concatenate([np.ravel(v) for v in values])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    if not flat.size:
        return (0.1, 10.0)
    low, high = math.log10(flat.min()), math.log10(flat.max())
    # A mark on the very edge would be cut in half.
    bottom = math.floor(low) - (0.15 if low - math.floor(low) < 0.04 else 0.0)
    return (10.0**bottom, 10.0 ** math.ceil(high + 0.04))
