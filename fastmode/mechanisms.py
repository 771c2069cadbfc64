"""What can make a deployment faster: mechanisms, each over its parameter, as ratios of speed and of cost to where it starts.

All start from one standard deployment with its weights and lengths. Speed is output tokens/s of one user; cost is chip time times
the price of a chip-hour per output token, the prefill of the same requests included. A mechanism is a hypothesis, not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog
from fastmode.configure import asked, call_shape, flatten
from fastmode.economics import chip_hour
from fastmode.i18n import N_
from fastmode.scenario import Scenario
from fastmode.serving import Service, ServingConfig, accept_curves, serve_automatic
from fastmode.serving.bands import ratio_half_width
from fastmode.serving.tables import tables
from fastmode.side import PRICE_LEVELS

BATCH, CHIPS, DRAFTS, SHARE, NEWER, ROUTING, SRAM, SMALLER = "batch", "chips", "drafts", "share", "newer", "routing", "sram", "smaller"
NAMES = {
    BATCH: N_("another batch size"),
    CHIPS: N_("more chips on a request"),
    DRAFTS: N_("drafted tokens"),
    SHARE: N_("a bigger share of the batch"),
    NEWER: N_("a newer chip"),
    ROUTING: N_("standard tier on older chips"),
    SRAM: N_("an SRAM machine"),
    SMALLER: N_("a smaller model"),
}
CONTINUOUS = (BATCH, SMALLER)
OTHER_WEIGHTS = (SMALLER,)
PARTS = (NEWER, SRAM)  # whose parameter is the row of a part that the fast tier runs on
LEVEL = 90
POINTS, PAIR_POINTS = 160, 24  # of a continuous parameter, alone and in a pair
MOST_BATCH = 16.0  # times the standard's: on faster chips a larger batch may give the speed
MOST_MULTIPLE, SMALLEST = 16.0, 100.0  # chips over the standard's, and how many times smaller a model may be
MIDDLE = 1  # row of a chip-hour price: low, middle, high


@dataclass(frozen=True, eq=False)
class Options:
    """Settings of a mechanism or of several together; arrays of n.

    value: shape (mechanisms, n), the parameter: batch, times the chips, drafted tokens, slots of a request, row of the hardware, times
    smaller. fast, standard: attributes of ServingConfig that differ from the start, for the fast tier and for the tier it is compared
    with. slots: places in the batch that one request takes. curve: row of accept_curves, -1 none.
    """

    names: tuple[str, ...]
    value: NDArray
    slots: NDArray
    fast: dict[str, NDArray] = field(default_factory=dict)
    standard: dict[str, NDArray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.value.shape[1]

    def own(self, start: Start) -> float:
        """The standard's own value of the last mechanism, a continuous one."""
        return float(start.config["batch"]) if self.names[-1] == BATCH else float(start.config["size_ratio"])

    @property
    def continuous(self) -> bool:
        """Whether the last mechanism's parameter runs on without steps."""
        return self.names[-1] in CONTINUOUS


@dataclass(frozen=True, eq=False)
class Outcome:
    """Options with what follows; arrays of n, NaN where it cannot be served.

    half: half width of the LEVEL % band of ln speed. cost: shape (3, n), at the low, chosen and high price of a chip-hour where the
    chips differ from the standard's. input_cost: of a prefilled token.
    """

    options: Options
    speed: NDArray
    half: NDArray
    cost: NDArray
    input_cost: NDArray


@dataclass(frozen=True, eq=False)
class Start:
    """The standard deployment: `config` holds scalars by attribute of ServingConfig, `service` its answer."""

    scenario: Scenario
    config: dict[str, float]
    service: Service
    catalog: Catalog


def start_of(standard: Scenario, catalog: Catalog) -> Start:
    """The deployment of a scenario of single values, at the number of chips it takes."""
    _shape, v = flatten(standard)
    values = asked(v, catalog) | call_shape(v) | {"size_ratio": v["distillation"]}
    config = {name: np.ravel(value)[0].item() for name, value in values.items()}
    service = serve_automatic(ServingConfig(**config, queue_overflow=False), catalog)
    if np.isfinite(service.tpot_s[0]):
        config["n_chips"] = float(service.n_chips[0])
    return Start(standard, config, service, catalog)


def options(start: Start) -> dict[str, Options]:
    """The options of every mechanism that there are for this deployment."""
    made = [
        _batches(start), _chips(start), _drafts(start), _shares(start), _newer(start), _routing(start), _sram(start), _smaller(start),
    ]  # fmt: skip
    return {o.names[0]: o for o in made if o.size}


def together(a: Options, b: Options) -> Options:
    """Every option of `a` with every option of `b`, those of b running fastest. A setting of `b` goes before that of `a`."""
    n, m = a.size, b.size

    def spread(values: NDArray, first: bool) -> NDArray:
        return np.repeat(values, m, axis=-1) if first else np.tile(values, n)

    fast, standard = (
        {name: spread(v, True) for name, v in one.items()} | {name: spread(v, False) for name, v in other.items()}
        for one, other in ((a.fast, b.fast), (a.standard, b.standard))
    )
    value = np.concatenate([spread(a.value, True), np.tile(b.value, n)])
    return Options(a.names + b.names, value, spread(a.slots, True) * spread(b.slots, False), fast, standard)


def thinned(o: Options) -> Options:
    """A continuous parameter with fewer points, its first and last kept; others as they are."""
    if not o.continuous:
        return o
    keep = np.unique(np.linspace(0, o.size - 1, PAIR_POINTS).round().astype(int))
    return Options(o.names, o.value[:, keep], o.slots[keep], {n: v[keep] for n, v in o.fast.items()}, {n: v[keep] for n, v in o.standard.items()})


def outcomes(start: Start, asked_for: Sequence[Options]) -> list[Outcome]:
    """What follows from each of the options, one call of the serving model for all of them."""
    sizes = [o.size for o in asked_for]
    rows = [(o.fast, o.size) for o in asked_for] + [(o.standard, o.size) for o in asked_for]
    total = 2 * sum(sizes)
    base = {name: np.full(total, value) for name, value in start.config.items()}
    at = 0
    for changes, size in rows:
        for name, values in changes.items():
            base[name][at : at + size] = values
        at += size
    served = serve_automatic(ServingConfig(**base, queue_overflow=False), start.catalog)
    half_way = total // 2
    fast, standard = served.slice(0, half_way), served.slice(half_way, total)
    usd = _chip_hours(start, served)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = ratio_half_width(fast, standard, tables(start.catalog), "tpot", LEVEL)
        speed = fast.tokens_per_s_per_user / standard.tokens_per_s_per_user
        # A chip-hour of the same part cancels, whatever it costs.
        same = fast.hardware == standard.hardware
        hour = np.where(same, 1.0, usd[:, :half_way] / usd[MIDDLE, half_way:])
        cost = hour * (fast.n_chips / fast.output_tokens_per_s) / (standard.n_chips / standard.output_tokens_per_s)
        into = hour[MIDDLE] * (fast.n_chips / fast.prefill_tokens_per_s) / (standard.n_chips / standard.prefill_tokens_per_s)
    made, at = [], 0
    for o in asked_for:
        part = slice(at, at + o.size)
        gain, spread = _accepted(start, o)
        made.append(Outcome(o, speed[part] * gain, np.hypot(half[part], spread), cost[:, part] * o.slots / gain, into[part]))
        at += o.size
    return made


def _chip_hours(start: Start, served: Service) -> NDArray:
    """USD per chip-hour, low, chosen and high, shape (3, n)."""
    s = start.scenario
    usd = chip_hour(served.hardware, s.amortisation_years, s.electricity_usd_per_kwh, s.pue, start.catalog).usd
    return np.stack([usd[0], usd[PRICE_LEVELS[str(s.chip_price)]], usd[2]])


def _accepted(start: Start, o: Options) -> tuple[NDArray, NDArray]:
    """(tokens a step gives to a request, half width of their ln). The drafts of a request fill its places, all read in one step."""
    if SHARE not in o.names:
        return np.ones(o.size), np.zeros(o.size)
    low, middle, high = share_lengths(start.catalog)
    row = o.value[o.names.index(SHARE)].astype(int) - 1
    return middle[row], 0.5 * np.log(high / low)[row]


def share_lengths(catalog: Catalog) -> NDArray:
    """Accepted tokens a step with 1, 2, ... places for one request: least, median and most of the measured curves, shape (3, n)."""
    by_length = catalog.accept_length.groupby("draft_tokens")["mean_accept_length"]
    made = np.stack([by_length.agg(how).sort_index().to_numpy(float) for how in ("min", "median", "max")])
    return np.column_stack([np.ones(3), made])


# --- the mechanisms -----------------------------------------------------------------------------------------------------------


def _one(name: str, value: NDArray, fast: dict[str, NDArray], standard: dict[str, NDArray] | None = None, slots: NDArray | None = None) -> Options:
    value = np.asarray(value, dtype=np.float64)
    return Options((name,), value[None, :], np.ones(len(value)) if slots is None else slots, fast, standard or {})


def _batches(start: Start) -> Options:
    """From larger to smaller, so that the speed rises."""
    batch = np.geomspace(MOST_BATCH * start.config["batch"], 1.0, POINTS)
    return _one(BATCH, batch, {"batch": batch})


def _chips(start: Start) -> Options:
    """Multiples that one scale-up domain holds: beyond it, further chips are further copies, which is a smaller batch."""
    room = float(np.nan_to_num(start.catalog.hardware["scaleup_domain_chips"].iloc[_home(start)], nan=1.0))
    multiple = np.array([2.0, 3.0, 4.0, 6.0, 8.0, 12.0, MOST_MULTIPLE])
    multiple = multiple[multiple * start.config["n_chips"] <= room]
    return _one(CHIPS, multiple, {"n_chips": multiple * start.config["n_chips"]} | _layout(len(multiple)))


def _drafts(start: Start) -> Options:
    """The least, the middle and the most accepting of the measured curves, with every length they were measured at."""
    if start.config["speculation"] >= 0:  # the standard tier drafts already
        return _one(DRAFTS, np.empty(0), {})
    curves = {name: row for row, name in enumerate(accept_curves(start.catalog))}
    table = start.catalog.accept_length
    order = table.groupby("id")["mean_accept_length"].mean().sort_values().index
    table = table[table["id"].isin([order[0], order[len(order) // 2], order[-1]])]
    tokens = table["draft_tokens"].to_numpy(float)
    code = np.array([curves[str(i)] for i in table["id"]])
    return _one(DRAFTS, tokens, {"speculation": code, "draft_tokens": tokens})


def _shares(start: Start) -> Options:
    if start.config["speculation"] >= 0:
        return _one(SHARE, np.empty(0), {})
    slots = np.arange(2.0, share_lengths(start.catalog).shape[1] + 1.0)
    return _one(SHARE, slots, {}, slots=slots)


def _newer(start: Start) -> Options:
    return _parts(NEWER, start, [r for r in _data_centre(start) if _year(start, r) >= _year(start, _home(start))])


def _routing(start: Start) -> Options:
    """The fast tier on the chips of the start, the standard one on older ones of the same vendor."""
    vendor = start.catalog.hardware["vendor"].to_numpy(str)
    rows = [r for r in _data_centre(start) if _year(start, r) < _year(start, _home(start)) and vendor[r] == vendor[_home(start)]]
    moved = _parts(ROUTING, start, rows)
    return Options(moved.names, moved.value, moved.slots, {}, moved.fast)


def _sram(start: Start) -> Options:
    kind = start.catalog.hardware["memory_kind"].to_numpy(str)
    return _parts(SRAM, start, [r for r in np.flatnonzero(kind == "SRAM") if r != _home(start)])


def _smaller(start: Start) -> Options:
    own = float(start.config["size_ratio"])
    ratio = np.geomspace(own, max(SMALLEST, own), POINTS)
    return _one(SMALLER, ratio, {"size_ratio": ratio})


def _parts(name: str, start: Start, rows: Sequence[int]) -> Options:
    """The same batch on other parts, on as many chips, or the fewest that fit where that is more; of SRAM machines the fewest."""
    hardware = np.array(rows, dtype=np.int64)
    if not hardware.size:
        return _one(name, np.empty(0), {})
    config = start.config | _layout(1) | {"hardware": hardware, "n_chips": 0.0}
    fewest = serve_automatic(ServingConfig(**config, queue_overflow=False), start.catalog).n_chips
    sram = start.catalog.hardware["memory_kind"].to_numpy(str) == "SRAM"
    # Hundreds of small chips are no measure for others, nor others for them.
    at_least = np.where(sram[hardware] | sram[_home(start)], 0.0, start.config["n_chips"])
    chips = np.where(np.isfinite(fewest), np.fmax(fewest, at_least), 0.0)
    return _one(name, hardware, {"hardware": hardware, "n_chips": chips} | _layout(len(rows)))


def _layout(size: int) -> dict[str, NDArray]:
    return {name: np.zeros(size) for name in ("tp", "pp", "dp", "ep")}


def _home(start: Start) -> int:
    return int(start.config["hardware"])


def _year(start: Start, row: int) -> float:
    return float(str(start.catalog.hardware["release_date"].iloc[row])[:4])


def _data_centre(start: Start) -> list[int]:
    kind = start.catalog.hardware["memory_kind"].to_numpy(str)
    return [int(r) for r in np.flatnonzero(kind == "HBM") if r != _home(start)]


def later(start: Start, o: Options, date: str) -> NDArray:
    """Which options need a part that came after an ISO date, shape (n,); none where the date is not known."""
    late = np.zeros(o.size, bool)
    came = start.catalog.hardware["release_date"].to_numpy(str)
    for name, value in zip(o.names, o.value, strict=True):
        if name in PARTS and date:
            late |= np.array([came[int(v)][: len(date)] > date[: len(came[int(v)])] for v in value])
    return late


def part_label(row: float, catalog: Catalog) -> str:
    """Name of the part of a row of the hardware."""
    return str(catalog.hardware["label"].iloc[int(row)])
