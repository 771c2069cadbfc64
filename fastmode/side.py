"""One side of the comparison: what an option's speed, price, error and time per task are, and where they come from.

Published figures are anchors. A published speed or TTFT is multiplied by modelled(here) / modelled(at the preset), a list
price by the same ratio of provider cost; the error starts from the profile and is multiplied in odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fastmode import economics, productivity, quality
from fastmode.catalog import Catalog
from fastmode.option_table import coded, preset_table
from fastmode.serving import PRECISIONS, Service

PRICE_LEVELS = {"low": 0, "mid": 1, "high": 2}  # rows of a chip-hour price
# What a user may know better than the sources; NaN = as published.
OWN_FIGURES = ("anchor_tokens_per_s", "anchor_ttft_s", "price_in_usd_per_mtok", "price_out_usd_per_mtok")
# Inputs of the task that are the same for both sides.
SHARED = (
    "theta_s", "kappa_s", "resume_s", "reuse", "prompt_time_s", "loc", "review_rate_loc_per_h", "detect", "retry_ratio",
    "max_attempts", "reprompt_time_s", "fix_time_s", "escape_factor", "wage_usd_per_h", "baseline_s", "baseline_error",
    "start_delay_s",
)  # fmt: skip
SCALED = ("n_in", "n_out", "calls", "tool_time_s")


@dataclass(frozen=True, eq=False)
class Side:
    """One option of the comparison; every attribute is an array that broadcasts to the evaluation's shape.

    NaN = unknown or not feasible. Speeds are output tokens per second of one user.
    """

    preset: np.ndarray  # row of the presets table
    model: np.ndarray  # row of the models table, -1 = no stand-in
    service: Service  # the serving model's own answer, in full
    published_tokens_per_s: np.ndarray
    modelled_tokens_per_s: np.ndarray
    tokens_per_s: np.ndarray  # what is shown and what productivity uses
    speed_ratio: np.ndarray  # modelled scenario / modelled preset; 1 at the preset
    anchored: np.ndarray
    ttft_s: np.ndarray  # per call, without the handshake
    handshake_s: np.ndarray
    # What the bands need (see fastmode/band.py).
    anchor_service: Service  # the preset's own settings, whose quoted figures are scaled
    at_preset: np.ndarray
    anchored_ttft: np.ndarray
    anchored_price: np.ndarray  # list price scaled by the model
    own_price_in: np.ndarray  # the user's own
    own_price_out: np.ndarray
    list_price_in_usd_per_mtok: np.ndarray
    list_price_out_usd_per_mtok: np.ndarray
    price_in_usd_per_mtok: np.ndarray
    price_out_usd_per_mtok: np.ndarray
    provider_usd_per_mtok: np.ndarray  # shape (3, n): low, chosen, high per output token, prefill included
    chip_hour_usd: np.ndarray
    chip_hour_derived: np.ndarray
    error_benchmark: np.ndarray
    error_rate: np.ndarray
    benchmark_odds_ratio: np.ndarray
    size_ratio: np.ndarray  # total parameters of the preset's own model over those of the scenario's
    size_odds_ratio: np.ndarray
    quantisation_loss: np.ndarray  # share of successes lost to a coarser format than the preset's own
    inputs: productivity.TaskInputs
    task: productivity.TaskResult

    @property
    def ttft_client_s(self) -> np.ndarray:
        """TTFT as a client sees it: handshake + queue + prefill + one step, per call."""
        return self.ttft_s + self.handshake_s


@dataclass(frozen=True, eq=False)
class Setup:
    """How one side is set up; arrays of length 1 or n.

    preset, model, hardware: rows of their tables. service: served as set. anchor: served as the preset is. at_preset: whether both
    are the same in every setting. keeps_model: whether the published figures still speak of this model. own: OWN_FIGURES.
    """

    preset: np.ndarray
    model: np.ndarray
    hardware: np.ndarray
    service: Service
    anchor: Service
    at_preset: np.ndarray
    keeps_model: np.ndarray
    size_ratio: np.ndarray
    size_odds_ratio: np.ndarray
    handshake_s: np.ndarray
    own: dict[str, np.ndarray]


def side(setup: Setup, v: dict[str, Any], catalog: Catalog) -> Side:
    """Evaluate one side. `v`: the scenario's fields, flat."""
    with np.errstate(invalid="ignore", divide="ignore"):
        wants_anchor = _is(v["anchor"], "published") & setup.keeps_model
        figures = (
            _speed(setup, wants_anchor, catalog)
            | _prices(setup, wants_anchor, v, catalog)
            | _error(setup, v, catalog)
            | {"handshake_s": setup.handshake_s}
        )
        taken = (
            "tokens_per_s",
            "ttft_s",
            "handshake_s",
            "error_rate",
            "price_in_usd_per_mtok",
            "price_out_usd_per_mtok",
        )
        inputs = productivity.TaskInputs(
            **{name: figures[name] for name in taken},
            **{name: v[name] for name in SHARED},
            **{name: v[name] * v["task_scale"] for name in SCALED},
        )
    return Side(
        preset=setup.preset, model=setup.model, service=setup.service, inputs=inputs, task=productivity.task(inputs), **figures
    )  # fmt: skip


def _speed(setup: Setup, wants_anchor: np.ndarray, catalog: Catalog) -> dict[str, np.ndarray]:
    """Speed and TTFT: quoted x modelled here / modelled at the preset, or the model alone where nothing is quoted."""
    presets = preset_table(catalog)
    modelled, anchor = setup.service, setup.anchor
    # A ratio is exactly 1 at the preset, also where no stand-in can be modelled.
    ratio = np.where(setup.at_preset, 1.0, modelled.tokens_per_s_per_user / anchor.tokens_per_s_per_user)
    ttft_ratio = np.where(setup.at_preset, 1.0, modelled.ttft_s / anchor.ttft_s)
    quoted = _own_or(setup.own["anchor_tokens_per_s"], presets.tokens_per_s[setup.preset])
    quoted_ttft = _own_or(setup.own["anchor_ttft_s"], presets.ttft_s[setup.preset])
    anchored, anchored_ttft = wants_anchor & ~np.isnan(quoted), wants_anchor & ~np.isnan(quoted_ttft)
    return {
        "anchor_service": anchor,
        "at_preset": setup.at_preset,
        "anchored_ttft": anchored_ttft,
        "published_tokens_per_s": quoted,
        "modelled_tokens_per_s": modelled.tokens_per_s_per_user,
        "tokens_per_s": np.where(anchored, quoted * ratio, modelled.tokens_per_s_per_user),
        "speed_ratio": ratio,
        "anchored": anchored,
        "ttft_s": np.where(anchored_ttft, quoted_ttft * ttft_ratio, modelled.ttft_s),
    }


def _prices(setup: Setup, wants_anchor: np.ndarray, v: dict[str, Any], catalog: Catalog) -> dict[str, np.ndarray]:
    """Provider cost, and the price: list price x modelled cost here / at the preset, or the provider's cost without anchor."""
    presets = preset_table(catalog)
    here, anchor = setup.service, setup.anchor
    inputs = (v["amortisation_years"], v["electricity_usd_per_kwh"], v["pue"])
    anchor_hardware = presets.serving["hardware"][setup.preset]
    hour = economics.chip_hour(setup.hardware, *inputs, catalog)
    level = coded(v["chip_price"], PRICE_LEVELS)
    hour_usd = _at_level(hour.usd, level)
    anchor_usd = _at_level(economics.chip_hour(anchor_hardware, *inputs, catalog).usd, level)
    used = v["utilisation"]

    def cost(usd: np.ndarray, tokens_per_s: np.ndarray) -> np.ndarray:
        return economics.cost_usd_per_mtok(here.n_chips, usd, tokens_per_s, used)

    # On the preset's own part the chip-hour cancels, also where nobody publishes it.
    hour_ratio = np.where(setup.hardware == anchor_hardware, 1.0, hour_usd / anchor_usd)
    chips_ratio = here.n_chips / anchor.n_chips * hour_ratio
    list_in, list_out = presets.price_in[setup.preset], presets.price_out[setup.preset]

    def price(listed: np.ndarray, rate: np.ndarray, anchor_rate: np.ndarray, own: np.ndarray) -> np.ndarray:
        scaled = listed * np.where(setup.at_preset, 1.0, chips_ratio * anchor_rate / rate)
        return _own_or(own, np.where(wants_anchor, scaled, cost(hour_usd, rate)))

    own = setup.own
    return {
        "anchored_price": wants_anchor,
        "own_price_in": ~np.isnan(own["price_in_usd_per_mtok"]),
        "own_price_out": ~np.isnan(own["price_out_usd_per_mtok"]),
        "list_price_in_usd_per_mtok": list_in,
        "list_price_out_usd_per_mtok": list_out,
        "price_in_usd_per_mtok": price(
            list_in, here.prefill_tokens_per_s, anchor.prefill_tokens_per_s, setup.own["price_in_usd_per_mtok"]
        ),
        "price_out_usd_per_mtok": price(
            list_out, here.decode_tokens_per_s, anchor.decode_tokens_per_s, setup.own["price_out_usd_per_mtok"]
        ),
        "provider_usd_per_mtok": cost(
            np.stack(np.broadcast_arrays(hour.usd[0], hour_usd, hour.usd[2])), here.output_tokens_per_s
        ),
        "chip_hour_usd": hour_usd,
        "chip_hour_derived": hour.derived,
    }


def _error(setup: Setup, v: dict[str, Any], catalog: Catalog) -> dict[str, np.ndarray]:
    """The profile's error by the rules of quality.py: benchmark, size, length, quantisation, acceptance."""
    odds_ratio = preset_table(catalog).odds_ratio[setup.preset]
    loss = _quantisation_loss(setup, catalog)
    gap = np.where(_is(v["error_level"], "acceptance"), v["acceptance_gap"], 0.0)
    benchmark = quality.error_from_odds_ratio(v["error"], odds_ratio * setup.size_odds_ratio)
    benchmark = as_worked(benchmark, v["task_scale"], v["length_exponent"], loss)
    return {
        "error_benchmark": benchmark,
        "error_rate": quality.acceptance_error(benchmark, gap),
        "benchmark_odds_ratio": odds_ratio,
        "size_ratio": setup.size_ratio,
        "size_odds_ratio": setup.size_odds_ratio,
        "quantisation_loss": loss,
    }


def as_worked(error: np.ndarray, length: np.ndarray, exponent: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Error of a task `length` times as long, with a share `loss` of the successes lost to quantisation."""
    return quality.quantised_error(quality.error_on_longer_tasks(error, length, exponent), loss)


def _quantisation_loss(setup: Setup, catalog: Catalog) -> np.ndarray:
    """Loss of the format in use against that of the preset's own settings; a finer one gains nothing."""
    table = _losses(catalog)
    here, home = (table[service.weight_precision] for service in (setup.service, setup.anchor))
    return np.maximum(1.0 - (1.0 - here) / (1.0 - home), 0.0)


@lru_cache(maxsize=8)
def _losses(catalog: Catalog) -> np.ndarray:
    """Loss by code of the format; none for code -1."""
    known = quality.quantisation_loss(catalog)
    return np.array([*(known[name][0] if name in known else 0.0 for name in PRECISIONS), 0.0])


def _own_or(own: np.ndarray, published: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(own), published, own)


def _at_level(usd: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Rows of (3, n) prices chosen by level, one for all or one an element."""
    return usd[level, np.arange(usd.shape[1])]


def _is(value: Any, word: str) -> np.ndarray:
    return np.asarray(value).ravel() == word
