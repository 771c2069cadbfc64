"""One model on every part of the catalogue: what each needs, how fast it is, what a token takes and costs on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.band import around
from fastmode.catalog import Catalog, load
from fastmode.evaluate import Evaluation, evaluate
from fastmode.i18n import N_, _
from fastmode.power import joules_per_token, power_w
from fastmode.scenario import Scenario
from fastmode.serving import Service
from fastmode.serving.bands import half_width
from fastmode.serving.evidence import PARTS, outside_words
from fastmode.serving.tables import tables

TERA = 1e12
LEVEL = 90  # % of the bands of speed
ON_SALE, ANNOUNCED, DESKTOP = N_("on sale"), N_("announced"), N_("desktop")
DATA_CENTRE_MEMORY = ("HBM", "SRAM")
PEAKS = ("bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops")
AUTOMATIC = ("n_chips", "tp", "pp", "dp", "ep")


@dataclass(frozen=True, eq=False)
class Parts:
    """Arrays of length n, one element a row of data/hardware.csv in its order; NaN = unknown, why in `reasons`.

    Speeds, TTFT, energy and money are modelled; memory, bandwidth and power are those of the data.
    """

    evaluation: Evaluation  # the scenario along the hardware, at a fixed batch
    own: NDArray  # bool: the scenario's part
    batch: float

    @property
    def service(self) -> Service:
        return self.evaluation.now.service

    @property
    def catalog(self) -> Catalog:
        return self.evaluation.catalog

    @property
    def labels(self) -> list[str]:
        return self.catalog.hardware["label"].tolist()

    @property
    def tokens_per_s(self) -> NDArray:
        """Output tokens/s of one user, the model's own."""
        return self.evaluation.now.modelled_tokens_per_s

    @cached_property
    def half_width_ln(self) -> NDArray:
        """Half width of the LEVEL % band of ln time per output token."""
        return half_width(self.service, tables(self.catalog), "tpot", LEVEL)

    @property
    def band(self) -> tuple[NDArray, NDArray]:
        """Lower and upper end of `tokens_per_s`."""
        return around(self.tokens_per_s, self.half_width_ln)

    @property
    def tokens_per_s_per_chip(self) -> NDArray:
        """Output tokens/s of all users per chip, the prefill of the same requests included."""
        return self.service.output_tokens_per_s / self.service.n_chips

    @cached_property
    def usd_per_mtok(self) -> NDArray:
        """Provider cost of a million output tokens in USD, shape (3, n): low, chosen and high price of a chip-hour."""
        return np.where(np.isfinite(self.tokens_per_s), self.evaluation.now.provider_usd_per_mtok, np.nan)

    @property
    def usd_ends(self) -> tuple[NDArray, NDArray]:
        """What the speed's band does to the cost at the chosen price, without its range."""
        return around(self.usd_per_mtok[1], self.half_width_ln)

    @property
    def usd_reach(self) -> tuple[NDArray, NDArray]:
        """Range of prices and band of the speed together, as independent: their distances in the logarithm add as squares."""
        low, mid, high = self.usd_per_mtok
        ends = np.log(mid / low), np.log(high / mid)
        return mid * np.exp(-np.hypot(ends[0], self.half_width_ln)), mid * np.exp(np.hypot(ends[1], self.half_width_ln))

    @cached_property
    def joules(self) -> NDArray:
        """Joules per output token, shape (3, n): chips alone, system, facility."""
        return joules_per_token(self.service, float(self.evaluation.scenario.pue), self.catalog)

    @cached_property
    def ridge(self) -> NDArray:
        """FLOP per byte at which compute takes as long as reading memory: peak in the format it computes in over bandwidth."""
        table, hardware = tables(self.catalog), self.catalog.hardware
        rows = np.arange(len(hardware))
        code = np.where(self.service.weight_precision < 0, 0, self.service.weight_precision)
        peak = table.peak_flops[rows, table.used_precision[rows, code]]
        known = hardware[list(PEAKS)].notna().any(axis=1).to_numpy() & np.isfinite(self.tokens_per_s)
        return np.where(known, peak / (hardware["memory_bw_tb_s"].to_numpy(float) * TERA), np.nan)

    @property
    def state(self) -> NDArray:
        """ON_SALE, ANNOUNCED or DESKTOP (untranslated) of each part.

        The catalogue keeps announced parts and people's own machines from the ordinary lists; memory tells the two apart.
        """
        hardware = self.catalog.hardware
        data_centre = hardware["memory_kind"].isin(DATA_CENTRE_MEMORY).to_numpy()
        return np.where(hardware["shown"].to_numpy() == 1, ON_SALE, np.where(data_centre, ANNOUNCED, DESKTOP))

    @property
    def tags(self) -> list[str]:
        """In which way a part's figures lie outside what has been measured, in words."""
        made = []
        for bits in self.service.outside.astype(int):
            novel, ranges = bits & ((1 << PARTS) - 1), bits >> PARTS << PARTS
            said = [_("not validated: {what}").format(what=_words(novel))] if novel else []
            said += [_("extrapolation: {what}").format(what=_words(ranges))] if ranges else []
            made.append("; ".join(said))
        return [tag if np.isfinite(speed) else "" for tag, speed in zip(made, self.tokens_per_s, strict=True)]

    @property
    def price_words(self) -> list[str]:
        """What the price of a chip-hour is made of."""
        derived = np.broadcast_to(self.evaluation.now.chip_hour_derived, self.own.shape)
        known = np.isfinite(np.broadcast_to(self.evaluation.now.chip_hour_usd, self.own.shape))
        words = np.where(derived, _("derived: purchase, estimates"), _("rental"))
        return np.where(known, words, "").tolist()

    @property
    def reasons(self) -> list[str]:
        """Why a row has an empty cell, or an empty text."""
        e, made = self.evaluation, []
        power = power_w(np.arange(len(self.own)), 1.0, self.catalog)
        priced = np.isfinite(np.broadcast_to(e.now.chip_hour_usd, self.own.shape))
        peaks = self.catalog.hardware[list(PEAKS)].notna().any(axis=1).to_numpy()
        for i, speed in enumerate(self.tokens_per_s):
            said = [] if np.isfinite(speed) else [e.service_reason(e.now, i)]
            if np.isnan(power[:2, i]).all():
                said.append(_("power not published"))
            elif np.isnan(power[0, i]):
                said.append(_("power of the chip alone not published"))
            elif np.isnan(power[1, i]):
                said.append(_("system power not published"))
            said += [] if priced[i] else [_("no price known")]
            said += [] if peaks[i] else [_("peak FLOP/s not published")]
            made.append("; ".join(said))
        return made

    @property
    def order(self) -> NDArray:
        """Rows for a table: the scenario's own first, then those with a speed, fastest first, then the rest as in the data."""
        speed = np.where(np.isfinite(self.tokens_per_s), self.tokens_per_s, -1.0)
        return np.lexsort((np.arange(len(speed)), -speed, ~self.own))

    def best(self, value: NDArray, of: NDArray) -> int:
        """Row of the largest finite value among the rows `of` (bool), -1 where there is none."""
        held = np.where(of & np.isfinite(value), value, -np.inf)
        return int(held.argmax()) if np.isfinite(held).any() else -1

    def frame(self) -> pd.DataFrame:
        """The table, in the order `order`: figures as float64 in the units of the headings, NaN = empty."""
        hardware, s = self.catalog.hardware, self.service
        low, high = self.band
        served = np.isfinite(self.tokens_per_s)
        columns = {
            _("part"): self.labels,
            _("the option's"): np.where(self.own, "\u25cf", ""),
            _("state"): [_(word) for word in self.state],
            _("chips"): s.n_chips,
            _("tok/s per user"): self.tokens_per_s,
            _("tok/s per user, 90 % low"): low,
            _("tok/s per user, 90 % high"): high,
            _("output tok/s per chip"): self.tokens_per_s_per_chip,
            _("TTFT, s"): s.ttft_s + float(self.evaluation.scenario.handshake_s),
            _("largest batch"): np.where(served, s.max_batch, np.nan),
            _("memory, GB per chip"): hardware["memory_gb"].to_numpy(float),
            _("bandwidth, TB/s per chip"): hardware["memory_bw_tb_s"].to_numpy(float),
            _("ridge, FLOP/byte"): self.ridge,
            _("J per output token, chips alone"): self.joules[0],
            _("J per output token, system"): self.joules[1],
            _("J per output token, facility"): self.joules[2],
            _("USD per Mtok of output, low"): self.usd_per_mtok[0],
            _("USD per Mtok of output, middle"): self.usd_per_mtok[1],
            _("USD per Mtok of output, high"): self.usd_per_mtok[2],
            _("price from"): self.price_words,
            _("evidence"): self.tags,
            _("empty because"): self.reasons,
        }
        return pd.DataFrame({name: np.asarray(values)[self.order] for name, values in columns.items()})


def parts(scenario: Scenario, catalog: Catalog | None = None, batch: float | None = None) -> Parts:
    """The scenario's stand-in, lengths and formats on all parts in one call: the fewest chips that fit, laid out automatically; the
    scenario's own part as it is set. batch: running requests, the scenario's by default.

    A scenario of single values. What cannot be served has NaN and a reason.
    """
    catalog = catalog or load()
    ids = catalog.hardware.index.to_numpy(str)
    own = ids == str(scenario.hardware)
    layout = {name: np.where(own, float(getattr(scenario, name)), 0.0) for name in AUTOMATIC}
    batch = float(scenario.batch_size if batch is None else batch)
    along = replace(scenario, hardware=ids, load="batch", batch_size=batch, **layout)
    return Parts(evaluate(along, catalog), own, batch)


def parts_of(e: Evaluation) -> Parts:
    """`parts` of an evaluated scenario: in traffic at the batch its users meet on its own deployment."""
    met = e.at(e.now.service.batch)
    return parts(e.scenario, e.catalog, met if np.isfinite(met) else None)


def _words(bits: int) -> str:
    return ", ".join(_(word) for word in outside_words(bits))
