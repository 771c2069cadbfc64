"""The spine: Scenario -> Evaluation.

Joins the physics of serving to the hours of the person who reads, rejects and repairs the output. Two sides are evaluated
the same way: the scenario itself and the reference it is compared with. Published speed, TTFT and price enter only as
anchors: each is multiplied by the ratio of two model results, the scenario's over the preset's own settings, so that at the
preset it is exactly the published figure and every slider moves it as the physics says.

Everything is array-first: a scenario may hold arrays, all of which broadcast; one call of the serving model serves the
scenario, its anchor and the reference together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from fastmode import band, quality
from fastmode.catalog import Catalog, load
from fastmode.configure import asked, call_shape, equal, flatten, rows_of, serve_together
from fastmode.i18n import N_, _
from fastmode.option_table import code_maps, preset_table, profile_shapes
from fastmode.productivity import task
from fastmode.scenario import TRAFFIC, Scenario, all_fields
from fastmode.serving import Goodput, Service, ServiceInTraffic, ServingConfig, goodput, in_traffic
from fastmode.side import OWN_FIGURES, Setup, Side, side
from fastmode.uncertainty import Spread, Swing, Worlds, spread, swings

# The words for where a figure comes from by the basis of the endpoint row.
BASIS_WORDS = {
    "vendor_spec": N_("published"),
    "community_estimate": N_("reported"),
    "measured_third_party": N_("measured"),
    "derived": N_("derived"),
    "modelled": N_("modelled"),
    "assumed": N_("assumed"),
}

TRAFFIC_OUTPUTS = ("requests_per_s", "running_batch", "saturation_requests_per_s")
GOODPUT_OUTPUTS = ("slo_batch", "goodput_requests_per_s", "goodput_tokens_per_s")
GOODPUT_FIGURES = ("batch", "requests_per_s", "output_tokens_per_s")  # of Goodput, in the same order

MOST_DRAWN = 300  # elements; the draws of each take memory
LEAST_SWING = 1e-12  # of a change in time; what is smaller is rounding
SERVED_FIELDS = ("n_in", "n_out", "calls")  # drawn assumptions that the serving model reads too

_NAMES = tuple(f.name for f in dataclass_fields(Scenario))


@dataclass(frozen=True)
class Output:
    """One figure as the command line and the cards give it. `kind` is one of the words of BASIS_WORDS."""

    value: Any
    unit: str
    kind: str
    reference: Any = None
    low: Any = None
    high: Any = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every intermediate of a scenario and of its reference; each chart is a view of it."""

    scenario: Scenario
    catalog: Catalog
    shape: tuple[int, ...]
    now: Side
    reference: Side
    cost_multiplier: np.ndarray
    time_change: np.ndarray

    @property
    def time_change_without_escapes(self) -> np.ndarray:
        """`time_change` if an error that nobody catches cost nothing: the same tasks less their escaped slice."""
        with np.errstate(invalid="ignore", divide="ignore"):
            now, other = (s.task.time_per_task_s - s.task.escaped_s for s in (self.now, self.reference))
            return now / other - 1.0

    @cached_property
    def widths(self) -> tuple[band.Widths, band.Widths]:
        """Half widths of the bands of both sides' speed, TTFT and price."""
        return band.widths(self.now, self.catalog), band.widths(self.reference, self.catalog)

    @cached_property
    def spread(self) -> Spread:
        """Both sides in every plausible world (see uncertainty.py). Takes as long as an evaluation or two."""
        scenario = self.scenario
        if len(self.shape) > 1:  # the sides are flat
            held = {name: getattr(scenario, name) for name in _NAMES}
            arrays = {name: value for name, value in held.items() if np.ndim(value)}
            scenario = replace(scenario, **{n: np.broadcast_to(value, self.shape).ravel() for n, value in arrays.items()})
        return spread(scenario, self.now, self.reference, self.widths, self.catalog)

    @cached_property
    def swings(self) -> list[Swing]:
        """What moves the difference in time, most first, of a scenario with single values."""
        return self.swings_of(lambda worlds: Spread(worlds, task(worlds.now), task(worlds.reference)).time_change, lambda e: e.time_change)

    def swings_of(self, in_worlds: Callable[[Worlds], np.ndarray], evaluated: Callable[[Evaluation], np.ndarray]) -> list[Swing]:
        """The same of any change, in a set of worlds, shape (1, worlds), and of an evaluation; drivers that move nothing are left out.

        What the serving model reads of a task is evaluated in full, so that a slider set to an end shows the same.
        """
        sides, drivers = (self.now, self.reference), self.spread.worlds.drivers
        found = swings(self.scenario, sides, self.widths, self.catalog, drivers, in_worlds)
        served = [s for s in found if s.driver in SERVED_FIELDS]
        again = {}
        if served:
            held = {s.driver: np.repeat(float(getattr(self.scenario, s.driver)), 2 * len(served)) for s in served}
            for i, s in enumerate(served):
                held[s.driver][2 * i : 2 * i + 2] = s.low, s.high
            moved = evaluated(evaluate(replace(self.scenario, **held), self.catalog))
            moved = np.broadcast_to(moved, 2 * len(served)).reshape(-1, 2)
            # an end that cannot be served keeps what it would be at the same speed
            for s, (low, high) in zip(served, np.where(np.isfinite(moved), moved, [[s.change_low, s.change_high] for s in served]), strict=True):
                again[s.driver] = replace(s, change_low=float(low), change_high=float(high))
        found = [again.get(s.driver, s) for s in found]
        return sorted((s for s in found if s.size > LEAST_SWING), key=lambda s: -s.size)

    def bands(self, level: int) -> dict[str, band.Ends]:
        """Lower and upper ends at the 50 or 90 % level by name of output, for what has a band.

        The two ends meet at a quoted figure. The cost multiplier's is how far modelled speed may move a modelled price. Those
        of error, times, money and productivity come from the draws: `spread`.
        """
        sides = list(zip((self.now, self.reference), self.widths, strict=True))
        bills = [band.bill_band(side, wide, level) for side, wide in sides]
        now, wide = sides[0]
        return {
            "tokens_per_s_per_user": band.speed_band(now, wide, level),
            "ttft_s": band.ttft_band(now, wide, level),
            "cost_multiplier": band.ratio_band(self.cost_multiplier, *bills, self._same_bill()),
            "modelled_tokens_per_s_per_user": band.modelled_speed_band(now, wide, level),
        }

    def _same_bill(self) -> np.ndarray:
        """Where both sides are the same option at the same time per token, so that its uncertainty cancels."""
        now, other = self.now, self.reference
        return (now.preset == other.preset) & (now.service.tpot_s == other.service.tpot_s) & (self.cost_multiplier == 1.0)

    def at(self, array: np.ndarray, index: int = 0) -> float:
        """One element of a result, whatever it was broadcast from."""
        flat = np.ravel(array)
        return float(flat[index if flat.size > 1 else 0])

    def reason(self, side: Side, index: int = 0) -> str:
        """Why the speed of an element is unknown, or an empty string."""
        if np.isfinite(self.at(side.tokens_per_s, index)):
            return ""
        if np.isnan(self.at(side.published_tokens_per_s, index)) and self._no_stand_in(side, index):
            return _("speed not published; enter one under Serving")
        return self.service_reason(side, index) or _(
            "the preset's own settings cannot be modelled, so there is no ratio to scale by"
        )

    def service_reason(self, side: Side, index: int = 0) -> str:
        """Why the serving model has no figures for an element, or an empty string."""
        position = index if np.size(side.service.status) > 1 else 0
        if not int(np.ravel(side.service.status)[position]):
            return ""
        return _("no stand-in model chosen") if self._no_stand_in(side, index) else side.service.reason(position)

    def _no_stand_in(self, side: Side, index: int) -> bool:
        return self.at(side.model, index) < 0

    def vendor_speed_multiple(self, side: Side) -> np.ndarray:
        """The vendor's own "up to" multiple over its standard tier: a statement of its own, not used in any other figure."""
        return preset_table(self.catalog).speed_multiple[side.preset]

    @cached_property
    def goodput(self) -> Goodput | None:
        """The most the scenario's own deployment carries within its limits (SLO); None where none is given.

        The limits are on TTFT and time per output token as shown. TTFT holds the handshake; where the rest of it, or the
        speed, is the model's times the published over the model's at the preset, the limits are divided by the same. NaN
        where that is unknown. Computed when first asked for: it takes as long as some thirty evaluations.
        """
        if self.scenario.slo_ttft_s is None and self.scenario.slo_tpot_s is None:
            return None
        _shape, v = flatten(self.scenario)
        first, each = v["slo_ttft_s"], v["slo_tpot_s"]
        unlimited = np.isnan(first) & np.isnan(each)
        if unlimited.all():
            return None
        # The factors do not depend on the load; at batch 1 there are figures wherever there are any.
        alone = evaluate(replace(self.scenario, load="batch", batch_size=1.0), self.catalog).now
        with np.errstate(invalid="ignore", divide="ignore"):
            shown_ttft = np.where(np.isnan(first), 1.0, alone.ttft_s / alone.service.ttft_s)
            slower = alone.modelled_tokens_per_s / alone.tokens_per_s
            shown_tpot = np.where(np.isnan(each), 1.0, slower)
        config = ServingConfig(**asked(v, self.catalog), **call_shape(v), size_ratio=v["distillation"])
        found = goodput(config, (first - v["handshake_s"]) / shown_ttft, each / shown_tpot, self.catalog, v["length_cv"])
        unknown = unlimited | np.isnan(shown_ttft * shown_tpot)
        figures = {n: np.where(unknown, np.nan, getattr(found, n)) for n in GOODPUT_FIGURES}
        for rate in ("requests_per_s", "output_tokens_per_s"):  # at the pace of the figures shown
            figures[rate] = figures[rate] / np.where(np.isnan(slower), 1.0, slower)
        return replace(found, **figures)

    def outputs(self) -> dict[str, Output]:
        """The figures of the contract of the command `evaluate`, values shaped like the scenario.

        What comes from draws (bands of error, time and money, chances) is left out above MOST_DRAWN elements.
        """
        return self._outputs

    @cached_property
    def _outputs(self) -> dict[str, Output]:
        now, ref = self.now, self.reference
        speed_word = self._speed_word(now)
        modelled, derived = "modelled", "derived"
        drawn, none = int(np.prod(self.shape)) <= MOST_DRAWN, np.full(1, np.nan)
        rows = {
            "tokens_per_s_per_user": (now.tokens_per_s, ref.tokens_per_s, "tok/s", speed_word),
            "ttft_s": (now.ttft_client_s, ref.ttft_client_s, "s", self._ttft_word(now)),
            "cost_multiplier": (self.cost_multiplier, np.ones(1), "x", derived),
            "error_rate": (now.error_rate, ref.error_rate, "probability", derived),
            "net_productivity": (now.task.net_productivity, ref.task.net_productivity, "x", modelled),
            "wait_s": (now.task.wait_s, ref.task.wait_s, "s", modelled),
            "time_per_task_s": (now.task.time_per_task_s, ref.task.time_per_task_s, "s", modelled),
            "correction_time_s": (now.task.correction_time_s, ref.task.correction_time_s, "s", modelled),
            "cost_per_task_usd": (now.task.cost_per_task_usd, ref.task.cost_per_task_usd, "USD", modelled),
            "time_change": (self.time_change, np.zeros(1), "share", modelled),
            "time_change_without_escapes": (self.time_change_without_escapes, np.zeros(1), "share", modelled),
            "p_faster": (self.spread.p_faster if drawn else none, none, "share of plausible worlds", modelled),
            "p_cheaper": (self.spread.p_cheaper if drawn else none, none, "share of plausible worlds", modelled),
            "provider_cost_usd_per_mtok": (now.provider_usd_per_mtok[1], ref.provider_usd_per_mtok[1], "USD/Mtok of output", modelled),
            "energy_j_per_token": (now.service.energy_j_per_token, ref.service.energy_j_per_token, "J/output token, chips at TDP", modelled),
            "modelled_tokens_per_s_per_user": (now.modelled_tokens_per_s, ref.modelled_tokens_per_s, "tok/s", modelled),
            "published_tokens_per_s_per_user": (now.published_tokens_per_s, ref.published_tokens_per_s, "tok/s", self._quoted_word(now)),
            "speed_ratio": (now.tokens_per_s / ref.tokens_per_s, np.ones(1), "x", derived),
            "vendor_speed_multiplier": (self.vendor_speed_multiple(now), self.vendor_speed_multiple(ref), "x", "published"),
            "modelled_tpot_s": (now.service.tpot_s, ref.service.tpot_s, "s", modelled),
            "token_bill_usd": (now.task.token_bill_usd, ref.task.token_bill_usd, "USD", derived),
            "correction_share": (now.task.correction_share, ref.task.correction_share, "share", modelled),
            "output_tokens_per_s": (self._carried(now.service), ref.service.output_tokens_per_s, "tok/s, all chips", modelled),
            "n_chips": (now.service.n_chips, ref.service.n_chips, "chips", modelled),
            "max_batch": (now.service.max_batch, ref.service.max_batch, "sequences", modelled),
        }  # fmt: skip
        rows |= self._load_rows()
        made = {}
        bands = self.bands(90)
        if drawn:
            bands |= {name: self.spread.band(name, 90) for name in self.spread.quantiles}
        for name, (value, reference, unit, kind) in rows.items():
            shaped = self._shaped(value)
            low = high = None
            if name == "provider_cost_usd_per_mtok":  # the range of chip-hour prices, not a statistical band
                low, high = self._shaped(now.provider_usd_per_mtok[0]), self._shaped(now.provider_usd_per_mtok[2])
            elif name in bands:  # a quoted figure is what it is: no band
                ends = np.broadcast_arrays(*(np.ravel(end) for end in bands[name]))
                low, high = (self._shaped(np.where(ends[0] < ends[1], end, np.nan)) for end in ends)
            made[name] = Output(shaped, unit, kind, self._shaped(reference), low, high, self._missing(name, value))
        return made

    def _load_rows(self) -> dict[str, tuple[np.ndarray, np.ndarray, str, str]]:
        """Figures of traffic and of goodput, NaN where there is none; the reference has a fixed batch and no limits."""
        none = np.full(1, np.nan)
        own = self.now.service if isinstance(self.now.service, ServiceInTraffic) else None
        rows = {
            "requests_per_s": (self._asked_rate(own) if own else none, none, "requests/s, all chips", "assumed"),
            "running_batch": (own.running if own else none, none, "requests", "modelled"),
            "saturation_requests_per_s": (own.saturation_requests_per_s if own else none, none, "requests/s, all chips", "modelled"),
        }  # fmt: skip
        units = ("requests", "requests/s, all chips", "tok/s, all chips")
        for name, figure, unit in zip(GOODPUT_OUTPUTS, GOODPUT_FIGURES, units, strict=True):
            rows[name] = (getattr(self.goodput, figure) if self.goodput else none, none, unit, "modelled")
        return rows

    def _asked_rate(self, service: ServiceInTraffic) -> np.ndarray:
        """Requests/s as asked: dividing by the pace and multiplying again would leave a last digit."""
        rate = np.broadcast_to(np.asarray(self.scenario.requests_per_s, float), self.shape).ravel()
        return np.where(np.isnan(service.requests_per_s), np.nan, rate)

    @staticmethod
    def _carried(service: Service) -> np.ndarray:
        """Output tokens/s over all chips: of the stand-in at a fixed batch, of the traffic itself in traffic."""
        return service.output_tokens_per_s * getattr(service, "pace", 1.0)

    def to_frame(self):
        """One row an element: the fields of the scenario and every output."""
        import pandas as pd

        size = int(np.prod(self.shape)) if self.shape else 1
        columns = {
            name: np.broadcast_to(np.asarray(getattr(self.scenario, name), object).ravel(), size) for name in _NAMES
        }
        columns |= {name: np.broadcast_to(np.ravel(o.value), size) for name, o in self.outputs().items()}
        return pd.DataFrame(columns)

    def _shaped(self, array: np.ndarray) -> Any:
        flat = np.asarray(array, float).ravel()
        if not self.shape:
            return float(flat[0])
        return np.broadcast_to(flat, int(np.prod(self.shape))).reshape(self.shape)

    def _endpoint_word(self, side: Side) -> str:
        basis = str(self.catalog.endpoints.loc[self.catalog.presets.index[int(np.ravel(side.preset)[0])], "basis"])
        return BASIS_WORDS.get(basis, basis)

    def _speed_word(self, side: Side) -> str:
        if not bool(np.ravel(side.anchored)[0]):
            return "modelled"
        if np.ravel(side.speed_ratio)[0] != 1.0:
            return "modelled"
        return self._quoted_word(side)

    def _quoted_word(self, side: Side) -> str:
        """Where the quoted speed comes from, the user's own included."""
        own = self.scenario.anchor_tokens_per_s is not None and side is self.now
        return "assumed" if own else self._endpoint_word(side)

    def _ttft_word(self, side: Side) -> str:
        if not bool(np.ravel(_is_published(self.scenario.anchor))[0]) or self.at(side.speed_ratio) != 1.0:
            return "modelled"
        if self.scenario.anchor_ttft_s is not None:
            return "assumed"
        preset = self.catalog.presets.index[int(np.ravel(side.preset)[0])]
        if np.isfinite(self.catalog.endpoints.at[preset, "ttft_s"]):
            return self._endpoint_word(side)
        basis = str(self.catalog.presets.at[preset, "ttft_basis"])
        return BASIS_WORDS.get(basis, "modelled")

    def _missing(self, name: str, value: np.ndarray) -> str:
        if np.isfinite(np.ravel(value)[0]):
            return ""
        if name in GOODPUT_OUTPUTS:
            return self._no_goodput()
        if name in TRAFFIC_OUTPUTS and np.ravel(self.scenario.load)[0] != TRAFFIC:
            return _("the batch is fixed: choose traffic as load")
        if name in ("p_faster", "p_cheaper") and int(np.prod(self.shape)) > MOST_DRAWN:
            return _("not drawn for more than {n} elements").format(n=MOST_DRAWN)
        if name in ("p_faster", "p_cheaper") and np.isfinite(self.at(self.time_change)):
            if name == "p_cheaper" and not np.isfinite(self.at(self.now.task.cost_per_task_usd)):
                return self._missing("cost_per_task_usd", self.now.task.cost_per_task_usd)
            if name == "p_cheaper" and not np.isfinite(self.at(self.reference.task.cost_per_task_usd)):
                return _("the reference's price is not published")
            return _("both sides are the same in every world")
        if name in ("cost_multiplier", "token_bill_usd", "cost_per_task_usd") and np.isfinite(
            self.at(self.now.tokens_per_s)
        ):
            if np.isfinite(self.at(self.now.list_price_out_usd_per_mtok)):
                return _("no chip-hour price of this hardware is known; enter a price under Prices")
            return _("price not published; enter one under Prices")
        if name == "energy_j_per_token" and np.isfinite(self.at(self.now.service.tpot_s)):
            return _("chip power not published")
        return self.reason(self.now) or self.service_reason(self.now) or _("not published")

    def _no_goodput(self) -> str:
        """Why the first element has no goodput."""
        found = self.goodput
        if found is None or all(_first_is_nan(value) for value in (self.scenario.slo_ttft_s, self.scenario.slo_tpot_s)):
            return _("enter a limit under Serving")
        if found.status[0]:
            return _("no stand-in model chosen") if self._no_stand_in(self.now, 0) else found.traffic.service.reason(0)
        return _("the preset's own settings cannot be modelled, so there is no ratio to scale by")


def _first_is_nan(value: Any) -> bool:
    return value is None or bool(np.isnan(np.ravel(value)[0]))


@lru_cache(maxsize=64)
def _betas(catalog: Catalog, agentic_step: float) -> dict[str, float]:
    families = [i for i, _label in all_fields(catalog)["task_family"].choices]
    return {f: float(quality.beta(f, catalog, agentic_step).value) for f in families}


def evaluate(scenario: Scenario, catalog: Catalog | None = None) -> Evaluation:
    """Evaluate a scenario and its reference.

    Fields may be arrays; they broadcast. What cannot be evaluated is NaN with a reason (`Evaluation.reason`), never an
    exception. Raises KeyError only for a preset, reference or task that the catalogue does not hold.
    """
    catalog = catalog or load()
    shape, v = flatten(scenario)
    presets, codes = preset_table(catalog), code_maps(catalog)
    option = rows_of(v["preset"], presets.rows, "preset")
    compared = rows_of(v["reference"], presets.rows, "reference")
    task = rows_of(v["task"], codes["task"], "task")
    home = {
        f: table[task] for f, table in profile_shapes(catalog).items()
    }  # the task shape the published figures hold at

    own = asked(v, catalog)
    plain = {"kv_precision": np.array([-1]), "engine": own["engine"]} | {
        k: np.zeros(1) for k in ("tp", "pp", "dp", "ep")
    }
    shape_now, shape_home = call_shape(v), call_shape(home)
    preset_own = {k: table[option] for k, table in presets.serving.items()} | {"model": own["model"]}
    reference_own = {k: table[compared] for k, table in presets.serving.items()}
    one = {"size_ratio": np.ones(1)}
    configs = (
        own | shape_now | {"size_ratio": v["distillation"]},
        preset_own | plain | shape_home | one,
        reference_own | plain | shape_now | one,
        reference_own | plain | shape_home | one,
    )
    scenario_service, anchor_service, reference_service, home_service = serve_together(configs, catalog)
    keeps_model = presets.closed[option] | (own["model"] == presets.serving["model"][option])
    at_preset, traffic = equal(configs[0], configs[1]), np.asarray(v["load"]).ravel() == TRAFFIC
    if traffic.any():  # the reference and the anchors stay at the batch of their presets
        config = ServingConfig(**configs[0])
        pace = _pace(v, option, anchor_service, keeps_model, catalog)
        scenario_service = in_traffic(config, v["requests_per_s"] / pace, traffic, scenario_service, catalog, v["length_cv"]).at_pace(pace)
        at_preset = at_preset & ~traffic
    betas = _betas_of(v, catalog)
    size_ratio = np.where(keeps_model, 1.0, presets.total_params_b[option] / presets.model_params_b[own["model"]])
    size_ratio = size_ratio * v["distillation"]
    now = side(
        Setup(
            preset=option, model=own["model"], hardware=own["hardware"], service=scenario_service, anchor=anchor_service,
            at_preset=at_preset, keeps_model=keeps_model,
            size_ratio=size_ratio, size_odds_ratio=np.where(size_ratio == 1.0, 1.0, size_ratio**betas), handshake_s=v["handshake_s"],
            own={name: v[name] for name in OWN_FIGURES},
        ), v, catalog,
    )  # fmt: skip
    # What nobody publishes of an option is also unknown of the same option as reference: the user's figure serves both.
    known = {
        "anchor_tokens_per_s": presets.tokens_per_s, "anchor_ttft_s": presets.ttft_s,
        "price_in_usd_per_mtok": presets.price_in, "price_out_usd_per_mtok": presets.price_out,
    }  # fmt: skip
    lent = {n: np.where((option == compared) & np.isnan(known[n][compared]), v[n], np.nan) for n in OWN_FIGURES}
    reference = side(
        Setup(
            preset=compared, model=reference_own["model"], hardware=reference_own["hardware"], service=reference_service,
            anchor=home_service, at_preset=equal(configs[2], configs[3]), keeps_model=np.ones(1, bool),
            size_ratio=np.ones(1), size_odds_ratio=np.ones(1), handshake_s=presets.handshake_s[compared], own=lent,
        ), v, catalog,
    )  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        multiplier = now.task.token_bill_usd / reference.task.token_bill_usd
        change = now.task.time_per_task_s / reference.task.time_per_task_s - 1.0
    return Evaluation(scenario, catalog, shape, now, reference, multiplier, change)


def _is_published(anchor: Any) -> np.ndarray:
    return np.asarray(anchor) == "published"


def _pace(
    v: dict[str, Any], option: np.ndarray, anchor: Service, keeps_model: np.ndarray, catalog: Catalog
) -> np.ndarray:
    """How much faster the quoted deployment runs than its stand-in; 1 where no quoted speed is scaled.

    All its times are taken to be shorter by this factor, so that it carries so much more traffic at the same batch.
    """
    quoted = preset_table(catalog).tokens_per_s[option]
    quoted = np.where(np.isnan(v["anchor_tokens_per_s"]), quoted, v["anchor_tokens_per_s"])
    with np.errstate(invalid="ignore", divide="ignore"):
        pace = quoted / anchor.tokens_per_s_per_user
    return np.where(_is_published(v["anchor"]) & keeps_model & np.isfinite(pace), pace, 1.0)


def _betas_of(v: dict[str, Any], catalog: Catalog) -> np.ndarray:
    """Slope of errors against size for each element's task family."""
    family = v["task_family"]
    steps = np.unique(v["agentic_step"])
    if isinstance(family, str) and steps.size == 1:
        return np.array([_betas(catalog, float(steps[0]))[family]])
    families, steps = np.broadcast_arrays(np.asarray(family, dtype=str).ravel(), v["agentic_step"])
    pairs, inverse = np.unique(np.stack([families, steps.astype(str)]), axis=1, return_inverse=True)
    return np.array([_betas(catalog, float(s))[str(f)] for f, s in pairs.T])[np.ravel(inverse)]
