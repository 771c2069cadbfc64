"""What a batch trades: speed of one user against output of a chip, for the scenario's deployment and for its reference.

A line is one deployment at a fixed number of chips and every batch that fits. Speeds are those the page shows: a quoted speed
scaled by the model's ratio, or the model alone. Output per chip is the model's own, prefill of the same requests included, at the
pace of the speed shown, so that at a small prefill it is batch x speed / chips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.option_table import preset_table
from fastmode.scenario import PRESET_FIELDS, Scenario, expand_preset
from fastmode.serving.bands import LEVELS, ratio_half_width
from fastmode.serving.evidence import KINDS, WAFER
from fastmode.serving.service import OK, Service
from fastmode.serving.tables import tables
from fastmode.together import evaluate_together

HOME_SHARES = (0.5, 0.25)  # of the assumed standard batch, to see what hangs on it
POINTS = 48  # a line is smooth: more are not seen
MARKED = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)  # batches that are named along a line
NOT_THE_DEPLOYMENT = ("preset", "reference", "batch_size", "load", "handshake_s", "anchor")


@dataclass(frozen=True, eq=False)
class Line:
    """One deployment along its batch; arrays of length n, NaN where there is no figure.

    reach: by level 50 and 90 the factors, each (low, high), by which the speed may be off; output per chip goes with it, since
    both follow from the time per output token. apart: the same at 90 % of the speed over that at `home_batch`.
    """

    label: str
    part: str  # name of the chip
    wafer: bool
    chips: float
    home_batch: float  # assumed by the preset; costs are relative to it
    now_batch: float  # running now
    batch: np.ndarray  # rising: 1 to the largest that fits
    tokens_per_s: np.ndarray  # output tokens/s of one user
    tokens_per_s_per_chip: np.ndarray  # output tokens/s
    decode_tokens_per_s: np.ndarray  # all chips, without prefill
    provider_usd_per_mtok: np.ndarray  # (3, n): low, chosen and high chip-hour price; of the stand-in at its own pace
    reach: dict[int, tuple[np.ndarray, np.ndarray]]
    apart: tuple[np.ndarray, np.ndarray]

    def read(self, figure: np.ndarray, batch: float) -> float:
        """A figure along the line at a batch; NaN beyond its ends. Exact at the batches named on the line."""
        return float(np.interp(batch, self.batch, figure, left=np.nan, right=np.nan))

    @property
    def cost(self) -> np.ndarray:
        """Cost of an output token over that at `home_batch`: chip time, prefill of the same requests included."""
        return self.read(self.tokens_per_s_per_chip, self.home_batch) / self.tokens_per_s_per_chip

    @property
    def decode_cost(self) -> np.ndarray:
        """The same without prefill, which a smaller batch does not make dearer."""
        return self.read(self.decode_tokens_per_s, self.home_batch) / self.decode_tokens_per_s

    def batch_at(self, tokens_per_s: float, factor: np.ndarray | float = 1.0) -> float:
        """The largest batch at which a user gets that speed, `factor` being how far the line may be off; NaN where none does."""
        speed = self.tokens_per_s * factor
        if not np.isfinite(speed).all() or tokens_per_s > speed.max():
            return np.nan
        fast = np.flatnonzero(speed >= tokens_per_s)[-1]
        if fast == len(speed) - 1:
            return float(self.batch[-1])
        return float(np.interp(tokens_per_s, speed[[fast + 1, fast]], self.batch[[fast + 1, fast]]))


@dataclass(frozen=True)
class Tier:
    """A preset of the same weights on the same kind of chip, at the batch it is assumed to run.

    speed_ratio: quoted speed over that of the preset it is compared with; price_ratio: of output list prices. NaN = not published.
    """

    label: str
    batch: float
    speed_ratio: float
    price_ratio: float


@dataclass(frozen=True, eq=False)
class Wanted:
    """The speed of another option or tier, and what the batch alone would make of it on a line.

    batch, cost: where the line reaches the speed, with 90 % ends; NaN where it does not. cost: per output token over that at the
    line's home batch.
    """

    label: str
    ratio: float
    tokens_per_s: float
    price_ratio: float
    same_weights: bool
    batch: tuple[float, float, float]
    cost: tuple[float, float, float]
    decode_cost: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """own: the scenario's line. compared: the reference's, None where it is the same deployment. tiers: of the base's weights."""

    own: Line | None
    compared: Line | None
    tiers: tuple[Tier, ...]
    wanted: Wanted | None

    @property
    def base(self) -> Line | None:
        """The line from which a batch is to make something faster: the reference's where there is one."""
        return self.compared or self.own


def tiers(preset: str, catalog: Catalog) -> tuple[Tier, ...]:
    """Other presets of the same weights (by the vendor's statement) on the same kind of chip whose assumed batch differs."""
    table, row = preset_table(catalog), preset_table(catalog).rows[preset]
    mine = table.weights == table.weights[row]
    for name in ("model", "hardware"):
        mine &= table.serving[name] == table.serving[name][row]
    batch = table.serving["batch"]
    found = np.flatnonzero(mine & (batch != batch[row]))
    return tuple(
        Tier(
            str(catalog.presets["label"].iloc[i]), float(batch[i]),
            float(table.tokens_per_s[i] / table.tokens_per_s[row]), float(table.price_out[i] / table.price_out[row]),
        )
        for i in found
    )  # fmt: skip


def frontier(e: Evaluation, label: str, marked: Sequence[float] = ()) -> Frontier:
    """Lines and marks of a scenario of single values, one call of the spine.

    label: name of the scenario's option. marked: more batches that the lines hold exactly.
    """
    s, catalog, table = e.scenario, e.catalog, preset_table(e.catalog)
    reference = str(s.reference)
    home = {p: float(table.serving["batch"][table.rows[p]]) for p in (str(s.preset), reference)}
    # Under the scenario's task; what a user has set of a deployment is the option's alone.
    other = replace(s, **expand_preset(reference, catalog) | {"reference": reference, "anchor": s.anchor})
    alone = str(s.preset) == reference and all(
        getattr(s, name) == getattr(other, name) for name in PRESET_FIELDS if name not in NOT_THE_DEPLOYMENT
    )
    beside = tiers(reference, catalog)
    extra = [*marked, *(t.batch for t in beside), *home.values()]
    asked = [(s, e.now.service, label, home[str(s.preset)])]
    if not alone:
        asked.append((other, e.reference.service, str(catalog.presets.at[reference, "label"]), home[reference]))
    drawn = [(_along(scenario, service, extra), service, *rest) for scenario, service, *rest in asked]
    served = [along for along, *_rest in drawn if along is not None]
    done = evaluate_together(served, catalog) if served else []
    lines = [None if along is None else _line(done.pop(0), service, label, at) for along, service, label, at in drawn]
    own, compared = lines[0], None if alone else lines[1]
    base = compared or own
    return Frontier(own, compared, beside, None if base is None else _wanted(e, base, beside))


def _along(s: Scenario, service: Service, extra: Sequence[float]) -> Scenario | None:
    """The scenario at every batch its chips hold; None where it cannot be served."""
    if int(service.status[0]) != OK:
        return None
    most = float(np.floor(service.max_batch[0] + 1e-9))
    batch = np.concatenate([np.geomspace(1.0, most, POINTS), MARKED, [float(service.batch[0])], extra])
    # Chips given mean replicas where a group is given: the stages that were found are kept.
    held = {"pp": float(service.stages[0])} if s.n_chips == 0 and s.tp else {}
    batch = np.unique(batch[(batch >= 1.0) & (batch <= most)])
    return replace(s, load="batch", batch_size=batch, n_chips=float(service.n_chips[0]), slo_ttft_s=None, slo_tpot_s=None, **held)


def _line(along: Evaluation, service: Service, label: str, home_batch: float) -> Line:
    now, batch = along.now, along.scenario.batch_size
    size, home_batch = len(batch), min(home_batch, float(batch[-1]))

    def full(array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(array, np.shape(array)[:-1] + (size,))

    speed, chips, part = full(now.tokens_per_s), float(service.n_chips[0]), int(service.hardware[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        pace = speed / now.service.tokens_per_s_per_user
        per_chip = now.service.output_tokens_per_s * pace / chips
    wide, home = along.widths[0].speed, int(np.searchsorted(batch, home_batch))
    apart = full(ratio_half_width(now.service, now.service.slice(home, home + 1), tables(along.catalog), "tpot", 90))
    return Line(
        label=label, part=str(along.catalog.hardware["label"].iloc[part]), wafer=KINDS[int(service.kind[0])] == KINDS[WAFER],
        chips=chips, home_batch=home_batch, now_batch=float(service.batch[0]),
        batch=batch, tokens_per_s=speed, tokens_per_s_per_chip=full(per_chip),
        decode_tokens_per_s=full(now.service.decode_tokens_per_s), provider_usd_per_mtok=full(now.provider_usd_per_mtok),
        reach={level: (np.exp(-full(wide[level])), np.exp(full(wide[level]))) for level in LEVELS},
        apart=(np.exp(-apart), np.exp(apart)),
    )  # fmt: skip


def _wanted(e: Evaluation, base: Line, beside: tuple[Tier, ...]) -> Wanted | None:
    """The faster thing that the base is held against: the scenario's option, or the first quicker tier of the same weights."""
    table, rows = preset_table(e.catalog), preset_table(e.catalog).rows
    option, other = rows[str(e.scenario.preset)], rows[str(e.scenario.reference)]
    if option != other:
        label, same = str(e.catalog.presets["label"].iloc[option]), bool(table.weights[option] == table.weights[other])
        tier = same and table.serving["hardware"][option] == table.serving["hardware"][other]
        quoted = e.at(e.now.published_tokens_per_s) / e.at(e.reference.published_tokens_per_s)
        # A tier of the same weights and chips as it is quoted, whatever batch is set; another deployment as it is set.
        ratio = quoted if tier else e.at(e.now.tokens_per_s) / e.at(e.reference.tokens_per_s)
        price = float(table.price_out[option] / table.price_out[other])
    else:
        quicker = [t for t in beside if t.speed_ratio > 1.0]
        if not quicker:
            return None
        label, same, ratio, price = quicker[0].label, True, quicker[0].speed_ratio, quicker[0].price_ratio
    home = base.read(base.tokens_per_s, base.home_batch)
    if not ratio > 1.0 or not np.isfinite(home):
        return None
    speed = home * ratio
    # Output per chip moves with the speed: at its low end the same speed needs a smaller batch.
    batches, costs = [], []
    for factor in (np.ones(1), *base.apart):
        batch = base.batch_at(speed, factor)
        output = base.tokens_per_s_per_chip * factor
        batches.append(batch)
        costs.append(base.read(output, base.home_batch) / base.read(output, batch))
    return Wanted(
        label, ratio, speed, price, same, tuple(batches), tuple(costs), base.read(base.decode_cost, batches[0])
    )


def finding(found: Frontier) -> str:
    """What batch alone does to the base, as one sentence; empty where nothing can be served."""
    base, wanted = found.base, found.wanted
    if base is None:
        return ""
    name = base.label
    slow, fast = base.read(base.tokens_per_s, base.home_batch), float(base.tokens_per_s[0])
    most = {"name": name, "most": fmt.ratio(fast / slow), "home": fmt.number(base.home_batch), "cost": fmt.ratio(float(base.cost[0]))}
    if wanted is None:
        return _("At most, at batch 1, {name} is {most} as fast as at batch {home}, at {cost} the cost per output token.").format(**most)
    other = _("{option}, another model,").format(option=wanted.label) if not wanted.same_weights else wanted.label
    if np.isnan(wanted.batch[0]):
        text = _("Batch alone does not make {name} {ratio} faster: at batch 1 it is {most} as fast as at batch {home}, at {cost} the cost per output token. {option} is {ratio} as fast")
        text = text.format(ratio=fmt.ratio(wanted.ratio), option=other, **most)
        elsewhere = found.own is not None and found.own.part != base.part
        return text + (_(" on {chips}").format(chips=chips_text(found.own)) if elsewhere else "") + "."
    text = _("To make {name} {ratio} faster by batch alone takes batch {batch} instead of {home} and costs {cost} per output token").format(
        name=name, ratio=fmt.ratio(wanted.ratio), batch=_whole(wanted.batch[0]), home=fmt.number(base.home_batch), cost=fmt.ratio(wanted.cost[0])
    )  # fmt: skip
    price = _("; {option} is sold at {price} the price").format(option=other, price=fmt.ratio(wanted.price_ratio))
    return text + (price if np.isfinite(wanted.price_ratio) else "") + "."


def small_print(found: Frontier) -> list[str]:
    """What stands below the picture: the range of the finding, the assumed batches, and how figures may be compared."""
    base, wanted, lines = found.base, found.wanted, []
    if wanted is not None and np.isfinite(wanted.batch[0]):
        low, high = wanted.batch[1:]
        ends = sorted(wanted.cost[1:])
        if np.isfinite(ends).all():
            lines.append(
                _("90 %: batch {low} to {high} and cost {cheap} to {dear}. Without prefill, which a smaller batch does not make dearer, the cost is {decode}.").format(
                    low=_whole(min(low, high)), high=_whole(max(low, high)), cheap=fmt.ratio(ends[0]), dear=fmt.ratio(ends[1]), decode=fmt.ratio(wanted.decode_cost)
                )
            )  # fmt: skip
        else:
            lines.append(
                _("At the slow end of the 90 % band no batch gets there. Without prefill, which a smaller batch does not make dearer, the cost is {decode}.").format(decode=fmt.ratio(wanted.decode_cost))
            )  # fmt: skip
        lines.append(_homes_text(base, wanted))
    if base is not None:
        for tier in found.tiers:
            ratio = base.read(base.tokens_per_s, tier.batch) / base.read(base.tokens_per_s, base.home_batch)
            if not np.isfinite(ratio):
                continue
            words = {
                "tier": tier.label, "batch": fmt.number(tier.batch), "ratio": fmt.ratio(ratio),
                "cost": fmt.ratio(base.read(base.cost, tier.batch)), "quoted": fmt.ratio(tier.speed_ratio),
            }  # fmt: skip
            text = _("{tier}, at the batch of {batch} assumed for it, would be {ratio} as fast at {cost} the cost; quoted: {quoted}.")
            if np.isnan(tier.speed_ratio):
                text = _("{tier}, at the batch of {batch} assumed for it, would be {ratio} as fast at {cost} the cost; no speed is published.")
            lines.append(text.format(**words))
    if found.own is not None and found.compared is not None and found.own.part != found.compared.part:
        lines.append(
            _("Output per {one} and per {other} is no comparison of cost: the chips differ in price. The provider's cost per million tokens stands in the hover and in the table.").format(
                one=chip_word(found.own), other=chip_word(found.compared)
            )
        )  # fmt: skip
    return lines


def _homes_text(base: Line, wanted: Wanted) -> str:
    """The same speed-up from smaller batches than the assumed one."""
    made = []
    for share in HOME_SHARES:
        home = base.home_batch * share
        batch = base.batch_at(base.read(base.tokens_per_s, home) * wanted.ratio)
        cost = base.read(base.tokens_per_s_per_chip, home) / base.read(base.tokens_per_s_per_chip, batch)
        form = _("from {home} it costs {cost}") if np.isfinite(cost) else _("from {home} no batch gives it")
        made.append(form.format(home=_whole(home), cost=fmt.ratio(cost)))
    return _("Nobody publishes the standard batch; {home} is assumed. The same gain: {others}.").format(home=_whole(base.home_batch), others=", ".join(made))


def chip_word(line: Line) -> str:
    """What the output of a line is per: the chip's name, a wafer where it is one."""
    return _("{part} wafer").format(part=line.part) if line.wafer else line.part


def chips_text(line: Line) -> str:
    """Number and kind of the chips of a line."""
    form = _("{n} {part} wafers") if line.wafer and line.chips != 1 else _("{n} {part} wafer") if line.wafer else _("{n} {part}")
    return form.format(n=fmt.count(line.chips), part=line.part)


def _whole(batch: float) -> str:
    """A batch read off a line, to the request."""
    return fmt.number(round(batch)) if batch >= 2.0 else fmt.number(batch, 2)
