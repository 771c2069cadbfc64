"""Chips in series: what each stage more does to one user's time and to output, and how much hangs on the links.

A stage holds some of the layers and works on some of the running requests at a time (serving/step.py). One request passes all
stages in turn, so that it meets every hand-over and keeps one stage at work; with as many requests as stages all of them work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastmode.catalog import Catalog
from fastmode.configure import asked, call_shape, flatten
from fastmode.evaluate import Evaluation
from fastmode.serving import Service, ServingConfig, architecture, serve, serve_automatic
from fastmode.serving.bands import LEVELS, half_width, ratio_half_width
from fastmode.serving.evidence import HBM, LPU, WAFER
from fastmode.serving.tables import CHIP, tables

ROUNDING = 1e-9
HOP_NAMES = {WAFER: "hop_wafer_s", LPU: "hop_lpu_s", HBM: "hop_hbm_s"}
DEFAULTS = {WAFER: "cerebras_wse3", LPU: "groq_lpu_v1", HBM: "b200_sxm"}  # where neither side has a part of that kind
RATIOS = 2.0 ** np.linspace(-3.0, 3.0, 13)  # of bandwidth and of latency: 1/8 to 8
AS_BUILT = len(RATIOS) // 2
SHARDS, STAGES = "shards", "stages"  # how the chips are joined
HOP, DOMAIN, LINK = (CHIP.index(name) for name in ("hop_s", "domain", "link"))
LAYOUT = ("n_chips", "tp", "pp", "dp", "ep")


@dataclass(frozen=True, eq=False)
class Machine:
    """One kind of machine that serves the scenario's model. chips: of a stage; tp, dp: of its attention."""

    kind: int  # index of serving.evidence.KINDS
    row: int  # of catalog.hardware
    label: str
    own: bool
    compared: bool
    chips: float
    tp: float
    dp: float
    first: int  # fewest stages that hold the model and one request
    most: int  # stages of one layer each
    hop_s: float
    chips_for_batch: float  # all chips at the scenario's running requests: its own, else the fewest; NaN where so many do not fit


@dataclass(frozen=True, eq=False)
class Line:
    """A machine along its number of stages: arrays of n. alone: one request; full: as many requests as stages.

    Figures are modelled; NaN where that cannot be served. alone_ln, full_ln: half width of the band of ln time per output token by
    level in %, shape (n,).
    """

    machine: Machine
    stages: NDArray
    alone: Service
    full: Service
    alone_ln: dict[int, NDArray]
    full_ln: dict[int, NDArray]

    def total(self, load: Service) -> NDArray:
        """Output tokens/s over all chips, prefill of the same requests included."""
        return load.output_tokens_per_s

    def per_chip(self, load: Service) -> NDArray:
        """Output tokens/s per chip."""
        return load.output_tokens_per_s / load.n_chips

    @property
    def hops_share(self) -> NDArray:
        """Share of a lone request's time per output token in hand-overs."""
        return (self.stages - 1.0) * self.machine.hop_s / self.alone.tpot_s

    @property
    def idle(self) -> NDArray:
        """Share of the stages that wait while one request runs."""
        return 1.0 - 1.0 / self.stages


@dataclass(frozen=True, eq=False)
class Series:
    """lines: one a kind of machine that can serve the model, the scenario's own first. reasons: of the others, by label."""

    lines: list[Line]
    reasons: dict[str, str]
    own_stages: float
    own: Service

    def line(self, kind: int) -> Line | None:
        """The line of a kind of machine, None where it cannot serve the model."""
        return next((line for line in self.lines if line.machine.kind == kind), None)


@dataclass(frozen=True, eq=False)
class Case:
    """Chips joined in one way. Ratios of time per output token to that as built, arrays over RATIOS.

    by_bandwidth, by_latency: shape (3, n), rows lower end, value and upper end of the 90 % band. as_built: one element.
    linked_s: time of an output token in all-reduces and hand-overs. moved_s: what the activations that a stage hands over at once
    would take over the link, which the model leaves out; 0 where the chips share layers.
    """

    machine: Machine
    joined: str  # SHARDS or STAGES
    as_built: Service
    by_bandwidth: NDArray
    by_latency: NDArray
    linked_s: float
    moved_s: float

    @property
    def linked_share(self) -> float:
        """Share of the time per output token that goes into the links."""
        return self.linked_s / float(self.as_built.tpot_s[0])


def machines(e: Evaluation) -> tuple[list[Machine], dict[str, str]]:
    """A wafer, a machine of small SRAM chips and a GPU (any chip with a main memory): the scenario's part or the reference's where it
    is of that kind, else DEFAULTS; and why those left out cannot serve the model.

    The scenario's part has the layout of the scenario; the others the fewest chips for one request, laid out automatically.
    """
    catalog, table = e.catalog, tables(e.catalog)
    kinds = table.evidence.kind
    own, other = (int(side.service.hardware[0]) for side in (e.now, e.reference))
    rows = {kind: catalog.hardware.index.get_loc(name) for kind, name in DEFAULTS.items()}
    rows |= {int(kinds[other]): other} | {int(kinds[own]): own}
    order = sorted(rows, key=lambda kind: (rows[kind] != own, kind != WAFER, kind != LPU))
    n, here = len(order), e.now.service
    batch = e.at(here.batch)
    # one request, and as many as the scenario runs: a mean of traffic need not be whole, what has to fit is
    batches = np.repeat([1.0, np.floor(batch) if batch > 1.0 else 1.0], n)
    fewest = serve_automatic(ServingConfig(**_asked(e) | _automatic(np.tile([rows[kind] for kind in order], 2), batches)), catalog)
    made, reasons = [], {}
    for i, kind in enumerate(order):
        label = str(catalog.hardware["label"].iloc[rows[kind]])
        if fewest.status[i]:
            reasons[label] = fewest.reason(i)
            continue
        mine = rows[kind] == own and not here.status[0]
        service, at = (here, 0) if mine and kind == HBM else (fewest, i)
        layers = architecture.student(architecture.gather(table, service.model), service.size_ratio).layers[at]
        most = max(int(np.floor(layers + ROUNDING)), 1)
        chips = float(np.floor(service.n_chips[at] / (service.replicas[at] * service.stages[at])))
        # A group of GPUs may be larger than what the model needs.
        first = int(np.ceil(fewest.fewest_chips[i] / chips - ROUNDING)) if kind == HBM else int(service.stages[at])
        made.append(
            Machine(
                kind=kind, row=rows[kind], label=label, own=rows[kind] == own, compared=rows[kind] == other != own, chips=chips,
                tp=float(service.tp[at]), dp=chips / float(service.tp[at]), first=min(max(first, 1), most), most=most,
                hop_s=float(table.chip[HOP, rows[kind]]),
                chips_for_batch=float(here.n_chips[0] if mine else fewest.n_chips[n + i]),
            )  # fmt: skip
        )
    return made, reasons


def slowdown(line: Line, catalog: Catalog) -> tuple[float, float, float]:
    """A lone request's time per output token on the most stages over that on the fewest: lower end, value and upper end of the 90 % band."""
    n = len(line.stages)
    short, long = line.alone.slice(0, 1), line.alone.slice(n - 1, n)
    value = float(long.tpot_s[0] / short.tpot_s[0])
    half = float(ratio_half_width(long, short, tables(catalog), "tpot", 90)[0])
    return value * np.exp(-half), value, value * np.exp(half)


def hand_over_range(machine: Machine, catalog: Catalog) -> tuple[float, float, float]:
    """Time of a hand-over in s between stages of that kind of machine, as stored: low, value and high."""
    row = catalog.serving_constants.loc[HOP_NAMES[machine.kind]]
    return float(row["low"]), float(row["value"]), float(row["high"])


def slowdown_over_hand_over(line: Line, catalog: Catalog) -> tuple[float, float]:
    """The value of `slowdown` with a hand-over at the low and at the high end of its range: what the band does not hold.

    Times are affine in it, but for host work that a longer step of GPUs hides (a few microseconds).
    """
    ends = [0, -1]
    low, value, high = hand_over_range(line.machine, catalog)
    seconds = [line.alone.tpot_s[ends] + (line.stages[ends] - 1.0) * (hop - value) for hop in (low, high)]
    return tuple(float(long / short) for short, long in seconds)


def series(e: Evaluation) -> Series:
    """Each machine from its fewest stages to one layer a stage; a machine whose chips hold less than a layer has one point.

    An evaluation of single values, with the scenario's model, formats and lengths.
    """
    found, reasons = machines(e)
    blocks = []
    stages = [np.arange(m.first, m.most + 1.0) for m in found]
    for m, s in zip(found, stages, strict=True):
        alone, full = _laid_out(m, s) | {"batch": np.ones(len(s))}, _laid_out(m, s) | {"batch": s}
        if m.kind != HBM and m.chips > 1:  # its stages are all layers anyway: as many chips as the requests take
            full["n_chips"] = np.zeros(len(s))
        blocks += [alone, full]
    served, table = _serve_all(e, blocks), tables(e.catalog)
    widths = [{level: half_width(s, table, "tpot", level) for level in LEVELS} for s in served]
    lines = [
        Line(m, s, served[2 * i], served[2 * i + 1], widths[2 * i], widths[2 * i + 1])
        for i, (m, s) in enumerate(zip(found, stages, strict=True))
    ]
    return Series(lines, reasons, e.at(e.now.service.stages), e.now.service)


def link_sensitivity(e: Evaluation, found: list[Machine]) -> list[Case]:
    """Time per output token against bandwidth and latency of the links, at the scenario's running requests: GPUs that share each layer,
    as many GPUs in series, wafers and small SRAM chips in series. found: of `machines`; what does not hold so many requests, or
    is one chip, is left out.

    Bandwidth is that of all-reduces, in the prefill of others too; a hand-over between stages is modelled as a time without bytes, so
    it moves with latency alone. The layers of small SRAM chips include moves between the chips of a layer, which stay.
    """
    batch = e.at(e.now.service.batch)
    ways, blocks = [], []
    for m in found:
        chips = m.chips_for_batch
        joins = [(STAGES, {"n_chips": chips, "tp": 0.0, "pp": 0.0, "dp": 0.0})]
        if m.kind == HBM:
            chips = m.chips if m.chips > 1 else _server(m, e.catalog)
            tp = m.tp if m.chips > 1 else chips
            joins = [(SHARDS, {"n_chips": chips, "tp": tp, "pp": 1.0, "dp": chips / tp})]
            joins += [(STAGES, {"n_chips": chips, "tp": 1.0, "pp": chips, "dp": 1.0})] if chips <= m.most else []
        if chips > 1 and np.isfinite(batch):
            ways += [(m, joined) for joined, _layout in joins]
            blocks += [_moved_links(m, layout, batch) for _joined, layout in joins]
    served = _serve_all(e, blocks)
    cases = [_case(m, joined, s, e.catalog) for (m, joined), s in zip(ways, served, strict=True)]
    return [case for case in cases if not case.as_built.status[0]]


def _moved_links(m: Machine, layout: dict[str, float], batch: float) -> dict[str, NDArray]:
    """RATIOS of bandwidth, then RATIOS of latency."""
    n = len(RATIOS)
    link, hop = np.ones(2 * n), np.ones(2 * n)
    link[:n], hop[n:] = RATIOS, RATIOS
    held = {name: np.full(2 * n, value) for name, value in layout.items()}
    return held | {"hardware": np.full(2 * n, m.row), "batch": np.full(2 * n, batch), "link_ratio": link, "hop_ratio": hop}


def _case(m: Machine, joined: str, s: Service, catalog: Catalog) -> Case:
    n, table = len(RATIOS), tables(catalog)
    as_built = s.slice(AS_BUILT, AS_BUILT + 1)
    ratios = []
    for part in (s.slice(0, n), s.slice(n, 2 * n)):
        value, half = part.tpot_s / as_built.tpot_s, ratio_half_width(part, as_built, table, "tpot", 90)
        ratios.append(np.stack([value * np.exp(-half), value, value * np.exp(half)]))
    linked = float(as_built.collectives_s[0] + (as_built.stages[0] - 1.0) * m.hop_s)
    hidden = architecture.student(architecture.gather(table, as_built.model), as_built.size_ratio).hidden
    sequences = np.maximum(as_built.batch / (as_built.replicas * as_built.stages), 1.0)
    moved = sequences * hidden * table.constants.bytes_bf16 / table.chip[LINK, m.row]
    return Case(m, joined, as_built, *ratios, linked, float(moved[0]) if joined == STAGES else 0.0)


def _asked(e: Evaluation) -> dict[str, NDArray]:
    _shape, v = flatten(e.scenario)
    return asked(v, e.catalog) | call_shape(v) | {"size_ratio": v["distillation"]}


def _automatic(rows: NDArray, batch: NDArray) -> dict[str, NDArray | float]:
    return {"hardware": rows, "batch": batch} | dict.fromkeys(LAYOUT, 0.0)


def _laid_out(m: Machine, stages: NDArray) -> dict[str, NDArray]:
    """The machine with so many stages; SRAM machines follow from their number of chips."""
    given = {"tp": m.tp, "pp": stages, "dp": m.dp} if m.kind == HBM else {"tp": 0.0, "pp": 0.0, "dp": 0.0}
    n = len(stages)
    held = {name: np.broadcast_to(value, n) for name, value in given.items()}
    return held | {"hardware": np.full(n, m.row), "n_chips": m.chips * stages, "link_ratio": np.ones(n), "hop_ratio": np.ones(n)}


def _server(m: Machine, catalog: Catalog) -> float:
    """Linked chips of a server of that part, at least one."""
    table = tables(catalog)
    return float(min(table.chip[DOMAIN, m.row], table.constants.chips_per_host))


def _serve_all(e: Evaluation, blocks: list[dict[str, NDArray]]) -> list[Service]:
    """One call for several blocks of configurations, each with the scenario's model, formats and lengths."""
    if not blocks:
        return []
    joined = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    served = serve(ServingConfig(**_asked(e) | {"ep": 0.0} | joined), e.catalog)
    stops = np.cumsum([len(block["batch"]) for block in blocks])
    return [served.slice(int(stop) - len(block["batch"]), int(stop)) for block, stop in zip(blocks, stops, strict=True)]
