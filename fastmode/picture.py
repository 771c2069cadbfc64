"""All that a page shows of one scenario, evaluated in one call: the work of one slider move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fastmode.catalog import Catalog, load
from fastmode.evaluate import Evaluation, evaluate
from fastmode.flips import Flip, flips
from fastmode.scenario import Scenario, expand_preset, option_edited
from fastmode.sweep import FOUNDING, Sweep, along, as_sweep, closed_pairs, group_of, side_by_side
from fastmode.together import evaluate_together
from fastmode.trade import Judged, trade_of
from fastmode.verdict import Verdict, judge, judge_trade


@dataclass(frozen=True, eq=False)
class Picture:
    """now: the scenario itself. The rest is what the page asked for, else None.

    founding: the four options of the founding articles. second: the founding pair the scenario is not about. sweep: along the
    axis. verdict: None on the pages of serving alone. published: presets of the same groups with a published speed (None also where there is none); on the Productivity
    page closed options with a published speed and their own reference's, each against that. judged, flips: what the
    Productivity page judges, and when it turns.
    """

    now: Evaluation
    verdict: Verdict | None
    edited: bool
    founding: Evaluation | None = None
    second: Evaluation | None = None
    sweep: Sweep | None = None
    published: Evaluation | None = None
    judged: Judged | None = None
    flips: tuple[Flip, ...] = ()


def overview(scenario: Scenario, catalog: Catalog | None = None) -> Picture:
    """What the Overview shows."""
    catalog = catalog or load()
    other = FOUNDING[1] if str(scenario.preset) != FOUNDING[1] else FOUNDING[3]
    now, founding, second = evaluate_together(
        [
            scenario,
            side_by_side(scenario, FOUNDING, catalog),
            replace(scenario, **expand_preset(other, catalog)),
        ],
        catalog,
    )
    edited = option_edited(scenario, catalog)
    return Picture(now, judge(now, edited), edited, founding=founding, second=second)


def productivity(scenario: Scenario, subject: str, catalog: Catalog | None = None) -> Picture:
    """What the Productivity page shows. Raises KeyError for an unknown subject."""
    catalog = catalog or load()
    trade = trade_of(subject, catalog)
    now, published = evaluate_together([scenario, side_by_side(scenario, closed_pairs(catalog), catalog)], catalog)
    judged, edited = Judged(now, trade), option_edited(scenario, catalog)
    verdict = judge(now, edited) if trade is None else judge_trade(judged)
    found = tuple(flips(scenario, trade, catalog)) if np.isfinite(verdict.change) else ()
    return Picture(now, verdict, edited, published=published, judged=judged, flips=found)


def serving(scenario: Scenario, catalog: Catalog | None = None) -> Picture:
    """What the pages of serving alone show: no verdict, for no errors and no people are in it."""
    return Picture(evaluate(scenario, catalog), None, option_edited(scenario, catalog))


def trade_offs(scenario: Scenario, axis: str, catalog: Catalog | None = None, all_hardware: bool = False) -> Picture:
    """What the Trade-offs page shows. Raises KeyError for an unknown axis."""
    catalog = catalog or load()
    group = group_of(scenario, catalog)
    asked = [scenario, along(scenario, axis, catalog, all_hardware)]
    if group:
        asked.append(side_by_side(scenario, group, catalog, own_reference=False))
    now, swept, *published = evaluate_together(asked, catalog)
    edited = option_edited(scenario, catalog)
    verdict = judge(now, edited)
    return Picture(
        now, verdict, edited, sweep=as_sweep(scenario, axis, swept), published=published[0] if published else None
    )
