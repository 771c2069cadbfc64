"""What could have made a published fast tier: every mechanism and pair of mechanisms that reaches its speed, and what that costs.

A tier is a speed ratio and a price ratio to its standard tier. The mechanisms (mechanisms.py) start from the standard tier's own
deployment. For a price that follows cost and a decode step affine in the batch, t = a + c B, two closed forms hold beside the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.i18n import N_, _
from fastmode.mechanisms import (
    BATCH,
    CHIPS,
    CONTINUOUS,
    DRAFTS,
    MIDDLE,
    NEWER,
    OTHER_WEIGHTS,
    PARTS,
    ROUTING,
    SHARE,
    SRAM,
    Options,
    Outcome,
    Start,
    later,
    options,
    outcomes,
    part_label,
    start_of,
    thinned,
    together,
)
from fastmode.option_table import preset_table
from fastmode.two_ways import deployment_of

# Two that set the same thing, or do the same to a step, make no pair.
NO_PAIR = {frozenset(pair) for pair in ((DRAFTS, SHARE), (NEWER, SRAM), (CHIPS, SRAM), (ROUTING, SRAM))}
CHANGED = 0.05  # ln: a parameter this close to the standard's own is no part of an explanation
EXACT = 1e-9  # ln
INPUT_FALLS_SHORT = 1.5  # the input price is that much above what its cost would make it
SURE, BAND, AGAINST = N_("possible"), N_("only within the band"), N_("against what is published")
PLAUSIBILITY = (SURE, BAND, AGAINST)


# --- closed form ---------------------------------------------------------------------------------------------------------------


def batch_ratio(speed_ratio, price_ratio):
    """Standard batch over fast batch, where price follows t/B and t = a + c B: r_v r_p. Broadcasts."""
    return np.asarray(speed_ratio) * np.asarray(price_ratio)


def batch_share_of_step(speed_ratio, price_ratio):
    """Share of the fast step that grows with the batch under the same assumptions: (r_v - 1) / (r_v r_p - 1). Broadcasts.

    From r_v = t_standard / t_fast = 1 - f + f B_standard / B_fast. NaN where the two ratios leave the batch as it is.
    """
    product = batch_ratio(speed_ratio, price_ratio)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(product > 1.0, (np.asarray(speed_ratio) - 1.0) / (product - 1.0), np.nan)


def decode_price_ratio(price_ratio, prefill_share):
    """Price ratio of decode alone, where a share of the standard price pays for prefill, which a batch does not make dearer:
    (r_p - phi) / (1 - phi). Broadcasts; NaN for a share of 1 or more, or a price below that share."""
    price, share = np.asarray(price_ratio, float), np.asarray(prefill_share, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((share < 1.0) & (price > share), (price - share) / (1.0 - share), np.nan)


# --- the tier ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tier:
    """What is to be explained. Ratios to the standard tier; NaN = not published. own: some of them the user has typed.

    same_weights: the vendor says so. date: ISO, when the tier came, empty = unknown.
    """

    label: str
    standard: str
    speed: float
    price: float
    input_price: float
    same_weights: bool
    date: str
    own: bool = False


def tier_of(e: Evaluation, speed: float | None = None, price: float | None = None, input_price: float | None = None) -> Tier:
    """The scenario's option over its reference as published, where no ratio is given."""
    table, s = preset_table(e.catalog), e.scenario
    option, other = table.rows[str(s.preset)], table.rows[str(s.reference)]
    quoted = table.tokens_per_s[option] / table.tokens_per_s[other]
    if not np.isfinite(quoted):
        quoted = table.speed_multiple[option]
    ratios = (quoted, table.price_out[option] / table.price_out[other], table.price_in[option] / table.price_in[other])
    given = (speed, price, input_price)
    used = [float(r) if g is None else float(g) for r, g in zip(ratios, given, strict=True)]
    names = e.catalog.presets["label"]
    return Tier(
        str(names.iloc[option]), str(names.iloc[other]), *used, bool(table.weights[option] == table.weights[other]),
        str(e.catalog.endpoints["date"].get(str(s.preset), "")), any(g is not None for g in given),
    )  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """Parameters that give the tier's speed.

    value: by mechanism. low, high: of a continuous parameter (the last mechanism's) over the LEVEL % band of the model's speed, NaN
    where the band's end is not reached or nothing is continuous. speed: of the model at this setting. cost: per output token over the
    standard's, at the tier's speed: (low, middle, high) over that band and the price of a chip-hour. input_cost: of a prefilled token.
    sure: the model itself gets there, not only its band.
    """

    value: tuple[float, ...]
    low: float
    high: float
    speed: float
    cost: tuple[float, float, float]
    input_cost: float
    sure: bool


@dataclass(frozen=True)
class Solution(Setting):
    """A mechanism, or two together, with its setting.

    margin: price ratio / cost ratio, (low, middle, high): how much more of its price than the standard tier's the vendor keeps.
    """

    names: tuple[str, ...]
    margin: tuple[float, float, float]
    plausibility: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """All solutions of a tier, the most plausible first, and what each mechanism alone can do.

    reason: why there is none, empty where there is one. alone: by mechanism, its outcome over the parameter.
    """

    tier: Tier
    start: Start
    reason: str
    alone: dict[str, Outcome]
    solutions: tuple[Solution, ...]

    def single(self, name: str) -> Solution | None:
        """The solution of one mechanism alone."""
        return next((s for s in self.solutions if s.names == (name,)), None)


def explain(e: Evaluation, tier: Tier) -> Explanation:
    """Every mechanism and pair of mechanisms that reaches the tier's speed, from the reference's deployment of the evaluation."""
    return explain_from(start_of(deployment_of(e), e.catalog), tier)


def explain_from(start: Start, tier: Tier) -> Explanation:
    """The same from a deployment of one's own."""
    if not np.isfinite(start.service.tpot_s[0]):
        reason = start.service.reason(0) if start.config["model"] >= 0 else _("no stand-in model chosen")
        return Explanation(tier, start, reason, {}, ())
    singles = options(start)
    pairs = [
        together(*sorted((thinned(a), thinned(b)), key=lambda o: CONTINUOUS.index(o.names[0]) - len(CONTINUOUS) if o.continuous else -9))
        for a, b in combinations(singles.values(), 2)
        if frozenset(a.names + b.names) not in NO_PAIR
    ]
    found = outcomes(start, [*singles.values(), *pairs])
    alone = dict(zip(singles, found, strict=False))
    reason = "" if tier.speed > 1.0 else _("a speed ratio above 1 is needed")
    solved = [] if reason else [s for one in found if (s := solve(start, one, tier)) is not None]
    return Explanation(tier, start, reason, alone, tuple(sorted(solved, key=lambda s: _rank(s, tier))))


def _rank(s: Solution, tier: Tier) -> tuple:
    """The more plausible first, then those of fewer mechanisms, then those whose cost lies nearest to the price, or is least."""
    off = abs(np.log(s.margin[MIDDLE])) if np.isfinite(s.margin[MIDDLE]) else 10.0 + np.nan_to_num(s.cost[MIDDLE], nan=1e3)
    return PLAUSIBILITY.index(s.plausibility), len(s.names), off


# --- solving -------------------------------------------------------------------------------------------------------------------


def solve(start: Start, o: Outcome, tier: Tier) -> Solution | None:
    """The setting of one outcome that gives the tier's speed; None where none does within the LEVEL % band of the model.

    Where several do, the one whose cost lies nearest to the price, or is least where no price is published; of discrete settings the
    nearest in speed, those with a known cost first. Parts that came after the tier only where no other does.
    """
    late = later(start, o.options, tier.date)
    find = _continuous if o.options.continuous else _discrete
    found = find(start, o, tier, ~late)
    if found is None and late.any():
        found = find(start, o, tier, np.ones(len(late), bool))
    if found is None:
        return None
    names = o.options.names
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = tuple(float(m) for m in tier.price / np.array(found.cost[::-1]))
    against = _against(start, o.options, found.value, tier)
    plausibility = AGAINST if against else SURE if found.sure else BAND
    reasons = tuple(against + _notes(found, names, margin, tier))
    return Solution(**vars(found), names=names, margin=margin, plausibility=plausibility, reasons=reasons)


def _continuous(start: Start, o: Outcome, tier: Tier, allowed: NDArray) -> Setting | None:
    """Along the last parameter of every setting of the others: where the speed is first reached."""
    steps = o.options.value[-1]
    n = int(np.flatnonzero(steps == steps[0])[1]) if np.count_nonzero(steps == steps[0]) > 1 else o.options.size
    speed, half, param, into = (a.reshape(-1, n) for a in (o.speed, o.half, steps, o.input_cost))
    cost, aim, own = o.cost.reshape(3, *speed.shape), np.log(tier.speed), o.options.own(start)
    first = o.options.value[0].reshape(-1, n)[:, 0]
    # A part of an explanation changes something.
    moves = allowed.reshape(-1, n)[:, 0].copy()
    if len(o.options.names) > 1 and o.options.names[0] in CONTINUOUS:
        moves &= np.abs(np.log(first / (start.config["batch"] if o.options.names[0] == BATCH else start.config["size_ratio"]))) >= CHANGED
    for sure in (True, False):
        at = _crossing(np.log(speed) + (0.0 if sure else half), aim)
        with np.errstate(invalid="ignore"):
            rows = np.flatnonzero(moves & (np.abs(np.log(_read(param, at) / own)) >= CHANGED))
        if rows.size:
            break
    else:
        return None
    middle = _read(cost[MIDDLE], at)[rows]
    off = np.abs(np.log(tier.price / middle)) if np.isfinite(tier.price) else np.log(middle)
    row = int(rows[np.argmin(np.where(np.isnan(off), np.inf, off))])
    ends = [_crossing(np.log(speed[[row]]) + sign * half[[row]], aim)[0] for sign in (-1.0, 1.0)]
    # Output moves with the speed: where the chips are slower than modelled, the same speed needs a setting that costs more.
    dear, cheap = (
        _at(cost[k, row], end) / np.exp(sign * _at(half[row], end)) for k, end, sign in ((2, ends[0], -1.0), (0, ends[1], 1.0))
    )
    here = float(at[row])
    value = tuple(float(v.reshape(-1, n)[row, 0]) for v in o.options.value[:-1]) + (_at(param[row], here),)
    low, high = (_at(param[row], end) for end in ends)
    cheap, dear = sorted((cheap, dear)) if np.isfinite(cheap + dear) else (cheap, dear)
    costs = (cheap, _at(cost[MIDDLE, row], here), dear)
    return Setting(value, low, high, _at(speed[row], here), costs, _at(into[row], here), sure)


def _discrete(start: Start, o: Outcome, tier: Tier, allowed: NDArray) -> Setting | None:
    with np.errstate(invalid="ignore"):
        off = np.log(o.speed / tier.speed)
        # A part that is faster than the tier can also be run more slowly.
        enough = (off > o.half) & bool(set(o.options.names) & set(PARTS))
        reached = allowed & ((np.abs(off) <= o.half) | enough)
    if not reached.any():
        return None
    # The same speed before all else, then what the model itself reaches, then what has a known cost, then the nearest.
    rows = np.flatnonzero(reached)
    away, unsure, unpriced = np.abs(off[rows]), ~(enough | (np.abs(off) < CHANGED))[rows], ~np.isfinite(o.cost[MIDDLE, rows])
    i = int(rows[np.lexsort((away, unpriced, unsure, away > EXACT))[0]])
    # If it runs at the tier's speed, its output is as much larger or smaller.
    low, middle, high = (float(c) for c in o.cost[:, i] * o.speed[i] / tier.speed)
    return Setting(
        tuple(float(v) for v in o.options.value[:, i]), np.nan, np.nan, float(o.speed[i]), (low, middle, high), float(o.input_cost[i]), bool(enough[i] or abs(off[i]) < CHANGED)
    )  # fmt: skip


def _crossing(ln_speed: NDArray, aim: float) -> NDArray:
    """Position (index with a fraction) along the last axis where the speed first reaches the aim from below; NaN where it does not."""
    over = ln_speed - aim
    with np.errstate(invalid="ignore"):
        meets = (over[..., :-1] < 0.0) & (over[..., 1:] >= 0.0)
    i = np.argmax(meets, axis=-1)
    rows = np.arange(len(over))
    below, above = over[rows, i], over[rows, i + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(meets.any(axis=-1), i + below / (below - above), np.nan)


def _read(values: NDArray, at: NDArray) -> NDArray:
    """Rows of values at positions, interpolated in ln; NaN where the position is."""
    return np.array([_at(v, p) for v, p in zip(values, at, strict=True)])


def _at(values: NDArray, position: float) -> float:
    if not np.isfinite(position):
        return np.nan
    i = min(int(position), len(values) - 2)
    part = position - i
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.exp((1.0 - part) * np.log(values[i]) + part * np.log(values[i + 1])))


# --- what speaks for and against -------------------------------------------------------------------------------------------------


def _against(start: Start, o: Options, value: tuple[float, ...], tier: Tier) -> list[str]:
    """Published facts that a mechanism contradicts."""
    made = []
    if tier.same_weights and set(o.names) & set(OTHER_WEIGHTS):
        made.append(_("the vendor says it is the same model"))
    chosen = Options(o.names, np.array(value)[:, None], np.ones(1))
    if later(start, chosen, tier.date)[0]:
        row = next(v for name, v in zip(o.names, value, strict=True) if name in PARTS)
        came = str(start.catalog.hardware["release_date"].iloc[int(row)])
        made.append(_("{part} came later ({date})").format(part=part_label(row, start.catalog), date=came))
    return made


def _notes(found: Setting, names: tuple[str, ...], margin: tuple[float, float, float], tier: Tier) -> list[str]:
    """What the explanation leaves open."""
    made = []
    if found.sure and found.speed > tier.speed * (1.0 + CHANGED):
        made.append(_("the model makes it {speed} as fast").format(speed=fmt.ratio(found.speed)))
    if not tier.same_weights and not set(names) & set(OTHER_WEIGHTS):
        made.append(_("keeps the model, so it does not explain more errors"))
    if margin[2] < 1.0:
        made.append(_("the price rises less than the cost"))
    if tier.input_price > 1.0 and found.input_cost < tier.input_price / INPUT_FALLS_SHORT:
        made.append(
            _("reading input costs {cost} as much, yet its price is {price}").format(cost=fmt.ratio(found.input_cost), price=fmt.ratio(tier.input_price))
        )
    return made


# --- stand-ins -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StandIn:
    """What batches alone do on one stand-in model: the batch and cost at the tier's speed (NaN = not reached), and the most."""

    model: str
    batch: float
    cost: float
    most: float
    most_cost: float


def by_standin(start: Start, tier: Tier, catalog: Catalog) -> tuple[StandIn, ...]:
    """Smaller batches alone on the deployment's stand-in and on the alternatives that the preset's row lists."""
    row = catalog.presets.loc[str(start.scenario.preset)]
    ids = [str(row["model"]), *(name for name in str(row["alternatives"]).split(";") if name)]
    codes = {str(m): i for i, m in enumerate(catalog.models.index)}
    own = options(start).get(BATCH)
    if own is None:
        return ()
    asked = [
        Options(own.names, own.value, own.slots, own.fast | {"model": np.full(own.size, codes[i])}, {"model": np.full(own.size, codes[i])})
        for i in ids
        if i in codes
    ]
    made = []
    for name, o in zip([i for i in ids if i in codes], outcomes(start, asked), strict=True):
        at = _crossing(np.log(o.speed[None]), np.log(tier.speed))[0]
        cost = o.cost[MIDDLE]
        made.append(StandIn(str(catalog.models.at[name, "label"]), _at(own.value[0], at), _at(cost, at), float(o.speed[-1]), float(cost[-1])))
    return tuple(made)
