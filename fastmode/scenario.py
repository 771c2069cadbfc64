"""Every input of the model, declared once.

From this one declaration come the widgets, the link, the validation messages, the assumptions shown in the app and the
command line. What a field *is* (key, group, wording, kind) is declared on the `Scenario` dataclass; its numbers
(default, range, grid, unit, basis, source) are the row of the same name in data/assumptions.csv.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from fastmode.catalog import Catalog, CatalogError, load
from fastmode.field import Declaration, Field
from fastmode.field import snap as snap  # part of what a scenario offers
from fastmode.i18n import N_

TABLE, SERVING, TASK, PEOPLE, PRICES, ERROR = "table", "serving", "task", "people", "prices", "error"
GROUPS = {
    TABLE: N_("On the table"),
    SERVING: N_("Serving"),
    TASK: N_("Task"),
    PEOPLE: N_("People"),
    PRICES: N_("Prices"),
    ERROR: N_("Model of error"),
}
NO_MODEL = "none"
NO_RANGES = "none"
DEFAULT_SET = "default"
TRAFFIC = "traffic"  # the choice of `load` in which the batch follows from the rate of requests


def _input(key: str, group: str, kind: str, label: str, help: str, **more: Any) -> Any:
    return field(metadata={"declaration": Declaration(key, group, kind, label, help, **more)})


@dataclass(frozen=True)
class Scenario:
    """One question to the model. Numeric fields, `preset`, `model` and `hardware` may be arrays; all broadcast.

    `None` in an optional field means "as published for the preset" (own speed, own price) or "no limit" (SLO).
    """

    # fmt: off
    preset: Any = _input(
        "a", TABLE, "choice", N_("Option"),
        N_("The serving option whose published speed and price anchor the figures."),
        choices="presets")
    reference: Any = _input(
        "v", TABLE, "choice", N_("Compare with"),
        N_("The reference: every change shown is against it."),
        choices="presets")
    task: Any = _input(
        "t", TABLE, "choice", N_("Task"),
        N_("A profile: a set of assumptions about the work and what an error costs."),
        choices="profiles")
    batch_size: Any = _input(
        "b", TABLE, "scale", N_("Batch"),
        N_("Requests decoded together. Larger batches share the weight reads, so each user is slower and each token cheaper. In traffic with automatic chips: what the chips must hold."),
        symbol="B")
    hardware: Any = _input(
        "hw", TABLE, "choice", N_("Hardware"),
        N_("The chip that serves the model."),
        choices="hardware")
    distillation: Any = _input(
        "r", TABLE, "scale", N_("Distillation"),
        N_("Total parameters of the teacher over those of the student. 1x = full model."),
        symbol="r", show="ratio")
    fix_time_s: Any = _input(
        "fx", TABLE, "scale", N_("Cost of an error"),
        N_("Time to fix a wrong result by hand."),
        symbol="F_m", csv="fix_time", show="duration")
    anchor: Any = _input(
        "an", SERVING, "choice", N_("Speed shown"),
        N_("Published speed scaled by the model's ratio, or the model alone."),
        choices=(("published", N_("published anchor")), ("model", N_("model only"))))
    model: Any = _input(
        "m", SERVING, "choice", N_("Stand-in model"),
        N_("Open model whose architecture stands in for a closed one."),
        choices="models")
    n_chips: Any = _input(
        "n", SERVING, "whole", N_("Chips"),
        N_("Chips that hold one copy of the model. 0 = the fewest that fit."),
        symbol="n")
    weight_precision: Any = _input(
        "wp", SERVING, "choice", N_("Weight precision"),
        N_("Number format of the weights. A format the chip lacks becomes the next higher one."),
        choices=(("bf16", "bf16"), ("fp8", "fp8"), ("int8", "int8"), ("fp4", "fp4")))
    kv_precision: Any = _input(
        "kp", SERVING, "choice", N_("KV cache precision"),
        N_("Number format of the KV cache. Automatic: fp8 with fp8 or 4-bit weights, else bf16."),
        choices=(("auto", N_("automatic")), ("bf16", "bf16"), ("fp8", "fp8")))
    tp: Any = _input(
        "tp", SERVING, "whole", N_("Tensor parallel"),
        N_("Chips that share each layer. 0 = automatic."))
    pp: Any = _input(
        "pp", SERVING, "whole", N_("Pipeline stages"),
        N_("Groups of layers in series. 0 = automatic."))
    dp: Any = _input(
        "dp", SERVING, "whole", N_("Attention replicas"),
        N_("Data-parallel attention groups. 0 = automatic."))
    ep: Any = _input(
        "ep", SERVING, "whole", N_("Expert parallel"),
        N_("Chips over which experts are spread. 0 = automatic."))
    engine: Any = _input(
        "en", SERVING, "choice", N_("Engine"),
        N_("Serving engine whose overheads apply."),
        choices=(("vllm", "vLLM"), ("trtllm", "TensorRT-LLM"), ("sglang", "SGLang")))
    speculation: Any = _input(
        "sp", SERVING, "choice", N_("Speculative decoding"),
        N_("Measured accept-length curve used. Speed changes, errors do not."),
        choices="accept_length")
    draft_tokens: Any = _input(
        "dt", SERVING, "whole", N_("Draft tokens"),
        N_("Tokens drafted per step when speculation is on."))
    context_tokens: Any = _input(
        "cx", SERVING, "scale", N_("Context"),
        N_("Mean tokens a call attends to; what is not fresh input is a cached prefix."),
        symbol="S", show="tokens")
    handshake_s: Any = _input(
        "hs", SERVING, "number", N_("Handshake per call"),
        N_("Connection set-up before each call."),
        symbol="h", csv="handshake")
    anchor_tokens_per_s: Any = _input(
        "sv", SERVING, "number", N_("Own output speed"),
        N_("Output tokens per second per user, if you know better than the published figure. Empty = as published."),
        symbol="v", csv="speed")
    anchor_ttft_s: Any = _input(
        "st", SERVING, "number", N_("Own TTFT"),
        N_("Time to first token per call without the handshake, if you measured it. Empty = as the preset says."),
        symbol="tau", csv="ttft")
    load: Any = _input(
        "ld", SERVING, "choice", N_("Load"),
        N_("Batch fixed: so many requests always run. Traffic: requests arrive at random, and the batch follows from how fast they are served."),
        choices=(("batch", N_("batch fixed")), (TRAFFIC, N_("traffic"))))
    requests_per_s: Any = _input(
        "rq", SERVING, "scale", N_("Requests/s"),
        N_("Calls that arrive each second, over all chips of the deployment, while it serves; Utilisation says for what share of the time that is."),
        symbol="lambda")
    length_cv: Any = _input(
        "lc", SERVING, "number", N_("Spread of output lengths"),
        N_("Standard deviation of the output tokens of a call over their mean. 0 = all alike; 1 = many short, few long. Read by waiting for a place."))
    slo_ttft_s: Any = _input(
        "lt", SERVING, "number", N_("Limit on TTFT"),
        N_("What the TTFT of 19 in 20 calls (p95), handshake included, must not exceed. Gives the goodput. Empty = no limit."))
    slo_tpot_s: Any = _input(
        "lp", SERVING, "number", N_("Limit on time per output token"),
        N_("What the mean time per output token of 19 in 20 calls (p95) must not exceed. Gives the goodput. Empty = no limit."))
    task_scale: Any = _input(
        "ts", TASK, "scale", N_("Machine time per task"),
        N_("Multiplies tokens, calls and tool time alike: how long the machine works on a task."),
        show="ratio")
    n_in: Any = _input(
        "ni", TASK, "whole", N_("Input tokens"),
        N_("Fresh input tokens a task, billed in full."),
        symbol="N_in", csv="n_in")
    n_out: Any = _input(
        "no", TASK, "whole", N_("Output tokens"),
        N_("Output tokens a task."),
        symbol="N_out", csv="n_out")
    calls: Any = _input(
        "c", TASK, "whole", N_("Model calls"),
        N_("Calls to the model a task; each pays handshake and TTFT."),
        symbol="c", csv="calls")
    tool_time_s: Any = _input(
        "tt", TASK, "number", N_("Tool time"),
        N_("Tests, builds and file access a task. A faster model does not shorten it."),
        symbol="T_tool", csv="tool_time")
    start_delay_s: Any = _input(
        "sd", TASK, "number", N_("Start delay"),
        N_("One-off wait before the first call."),
        symbol="q", csv="queue")
    baseline_s: Any = _input(
        "bl", TASK, "number", N_("Time without AI"),
        N_("How long the task takes unaided."),
        symbol="B", csv="baseline")
    baseline_error: Any = _input(
        "be", TASK, "number", N_("Error without AI"),
        N_("Share of unaided work that fails the same bar."),
        symbol="e_h", csv="baseline_error")
    assumption_set: Any = _input(
        "s", PEOPLE, "choice", N_("Assumption set"),
        N_("Thirteen assumptions about people and errors taken together: as the task says, or as those who favour speed or accuracy would set them."),
        choices=((DEFAULT_SET, N_("default")), ("favours-speed", N_("favours speed")), ("favours-accuracy", N_("favours accuracy"))))
    prompt_time_s: Any = _input(
        "pt", PEOPLE, "number", N_("Prompting"),
        N_("Time to write the request."),
        symbol="P0", csv="prompt_time")
    loc: Any = _input(
        "l", PEOPLE, "whole", N_("Lines to review"),
        N_("Lines a person reads to accept or reject the output."),
        symbol="l", csv="loc")
    review_rate_loc_per_h: Any = _input(
        "rr", PEOPLE, "number", N_("Review rate"),
        N_("Lines read per hour."),
        symbol="r", csv="review_rate")
    detect: Any = _input(
        "d", PEOPLE, "number", N_("Errors caught"),
        N_("Probability that review or tests catch a wrong output."),
        symbol="d", csv="detect")
    retry_ratio: Any = _input(
        "re", PEOPLE, "number", N_("Retry success"),
        N_("Success rate of a retry over that of a first try."),
        symbol="s", csv="retry_ratio")
    max_attempts: Any = _input(
        "k", PEOPLE, "whole", N_("AI attempts"),
        N_("Attempts before a person fixes it by hand."),
        symbol="K", csv="max_attempts")
    reprompt_time_s: Any = _input(
        "rp", PEOPLE, "number", N_("Re-prompting"),
        N_("Time to diagnose and ask again after a caught error."),
        symbol="F_p", csv="reprompt_time")
    escape_factor: Any = _input(
        "of", PEOPLE, "number", N_("Cost of an escaped error"),
        N_("Cost of an error nobody caught, in multiples of the time to fix by hand."),
        symbol="omega", csv="escape_factor")
    theta_s: Any = _input(
        "th", PEOPLE, "number", N_("Attention span"),
        N_("Wait up to which attention stays on the task."),
        symbol="theta", csv="theta")
    kappa_s: Any = _input(
        "ka", PEOPLE, "number", N_("Drift time"),
        N_("How fast attention drifts on longer waits."),
        symbol="kappa", csv="kappa")
    resume_s: Any = _input(
        "rs", PEOPLE, "number", N_("Cost of a switch"),
        N_("Time to get back into the task after a long wait."),
        symbol="R", csv="resume")
    reuse: Any = _input(
        "u", PEOPLE, "number", N_("Waiting put to use"),
        N_("Share of a long wait used on other work."),
        symbol="u", csv="reuse")
    wage_usd_per_h: Any = _input(
        "w", PEOPLE, "number", N_("Wage"),
        N_("Cost of an hour of the person's time."),
        symbol="w", csv="wage")
    team_size: Any = _input(
        "tm", PEOPLE, "whole", N_("Team"),
        N_("Developers who work this way."))
    tasks_per_month: Any = _input(
        "tk", PEOPLE, "whole", N_("Tasks a month"),
        N_("Accepted tasks a developer hands over in a month."))
    fast_share: Any = _input(
        "fs", PEOPLE, "number", N_("Share on the option"),
        N_("Share of the tasks that go to the option; the others stay on the reference."))
    agents: Any = _input(
        "ga", PEOPLE, "whole", N_("Parallel agents"),
        N_("Runs that one developer keeps going at the same time."))
    price_in_usd_per_mtok: Any = _input(
        "pi", PRICES, "number", N_("Own input price"),
        N_("Price of a million input tokens. Empty = list price."),
        symbol="p_in", csv="price_in")
    price_out_usd_per_mtok: Any = _input(
        "po", PRICES, "number", N_("Own output price"),
        N_("Price of a million output tokens. Empty = list price."),
        symbol="p_out", csv="price_out")
    chip_price: Any = _input(
        "cp", PRICES, "choice", N_("Chip-hour price"),
        N_("Which end of the rental range the provider cost uses."),
        choices=(("low", N_("low")), ("mid", N_("middle")), ("high", N_("high"))))
    utilisation: Any = _input(
        "ut", PRICES, "number", N_("Utilisation"),
        N_("Share of paid chip time that serves requests."))
    amortisation_years: Any = _input(
        "ay", PRICES, "number", N_("Years to pay off"),
        N_("Life of a bought chip, used only where no rental price exists."))
    electricity_usd_per_kwh: Any = _input(
        "ek", PRICES, "number", N_("Electricity"),
        N_("Price of a kilowatt-hour, used only where no rental price exists."))
    pue: Any = _input(
        "pu", PRICES, "number", N_("Facility overhead"),
        N_("Facility power over system power (PUE)."))
    error: Any = _input(
        "e", ERROR, "number", N_("Error of the reference"),
        N_("Probability that the first output of each group's reference is not right."),
        symbol="e", csv="error")
    error_level: Any = _input(
        "el", ERROR, "choice", N_("Judged by"),
        N_("Benchmark graders, or the people who accept the work and accept less."),
        choices=(("benchmark", N_("benchmark")), ("acceptance", N_("acceptance"))))
    acceptance_gap: Any = _input(
        "ag", ERROR, "number", N_("Acceptance gap"),
        N_("How much less people accept than graders pass."))
    length_exponent: Any = _input(
        "le", ERROR, "number", N_("Longer tasks fail more"),
        N_("How fast the error grows with the machine time per task: success = (success at 1x) ^ (length ^ exponent). 0 = it does not."),
        symbol="k")
    task_family: Any = _input(
        "tf", ERROR, "choice", N_("Task family"),
        N_("Which measured slope of errors against model size applies."),
        choices=(("agentic", N_("agentic")), ("coding", N_("coding")), ("math", N_("math")), ("knowledge", N_("knowledge")), ("tool_use", N_("tool use"))))
    agentic_step: Any = _input(
        "as", ERROR, "number", N_("Size of a tier step"),
        N_("Size ratio assumed for one vendor tier step."))
    ranges: Any = _input(
        "rg", ERROR, "text", N_("Own ranges"),
        N_("Ranges of your own, 5th to 95th percentile, as key:low:high separated by ; such as of:1:8. none = as the sources say."))
    # fmt: on


def _choices(declared: tuple[tuple[str, str], ...] | str, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """Pairs (id, label). A label is part of links, so it is the same in every language."""
    if not isinstance(declared, str):
        return declared
    if declared == "accept_length":
        curves = catalog.accept_length["id"].unique()
        return (("none", "none"), *((str(i), str(i)) for i in curves))
    table = getattr(catalog, declared)
    pairs = tuple(zip(table.index.astype(str), table["label"].astype(str), strict=True))
    return ((NO_MODEL, "no stand-in"), *pairs) if declared == "models" else pairs


@lru_cache(maxsize=8)
def _all_fields(catalog: Catalog) -> dict[str, Field]:
    rows = catalog.assumptions
    made = {}
    for item in fields(Scenario):
        declared: Declaration = item.metadata["declaration"]
        if item.name not in rows.index:
            raise CatalogError([f"data/assumptions.csv: no row named {item.name}"])
        row = rows.loc[item.name]
        numeric = declared.kind not in ("choice", "text")
        raw = str(row["default"])
        default: Any = raw
        if numeric:
            default = None if raw == "" else int(float(raw)) if declared.kind == "whole" else float(raw)
        choices = _choices(declared.choices, catalog) if declared.choices else ()
        if choices and raw not in dict(choices):
            raise CatalogError(
                [f"data/assumptions.csv, name {item.name}, column default: expected one of its choices, got {raw!r}"]
            )
        grid = str(row["grid"])
        steps = tuple(float(g) for g in grid.split(";")) if declared.kind == "scale" else ()
        step = float(grid.removeprefix("step:")) if grid.startswith("step:") else math.nan
        made[item.name] = Field(
            item.name, declared, str(row["unit"]), default, float(row["low"]), float(row["high"]), float(row["min"]),
            float(row["max"]), step, steps, str(row["basis"]), str(row["source_url"]), str(row["note"]),
            choices, bool(row["drawn"] == 1),
        )  # fmt: skip
    return made


def all_fields(catalog: Catalog | None = None) -> dict[str, Field]:
    """All fields by name, in the order of declaration, with the numbers of the catalogue."""
    return _all_fields(catalog or load())


def default(catalog: Catalog | None = None) -> Scenario:
    """The scenario of an empty link."""
    return Scenario(**{name: f.default for name, f in all_fields(catalog).items()})


# What a preset decides; the rest of a scenario belongs to the task, the people and the prices.
_PRESET_COLUMNS = (
    "reference", "model", "hardware", "n_chips", "weight_precision", "batch_size", "speculation", "draft_tokens", "handshake_s",
)  # fmt: skip
_PRESET_RESETS = {
    "distillation": 1.0, "load": "batch", "anchor": "published", "kv_precision": "auto", "tp": 0, "pp": 0, "dp": 0, "ep": 0,
    "anchor_tokens_per_s": None, "anchor_ttft_s": None, "price_in_usd_per_mtok": None, "price_out_usd_per_mtok": None,
}  # fmt: skip
PRESET_FIELDS = ("preset", *_PRESET_COLUMNS, *_PRESET_RESETS)


def expand_preset(preset: str, catalog: Catalog | None = None) -> dict[str, Any]:
    """Field values a preset stands for.

    Raises KeyError for an unknown preset.
    """
    return dict(_expanded_preset(preset, catalog or load()))


@lru_cache(maxsize=1024)
def _expanded_preset(preset: str, catalog: Catalog) -> dict[str, Any]:
    row = catalog.presets.loc[preset]
    declared = all_fields(catalog)
    values: dict[str, Any] = {"preset": preset}
    for name in _PRESET_COLUMNS:
        value = row[name]
        if declared[name].kind == "choice":
            values[name] = str(value) or (NO_MODEL if name == "model" else declared[name].default)
        elif value != value:  # an empty cell: the default of the field
            values[name] = declared[name].default
        else:
            values[name] = int(value) if declared[name].kind == "whole" else float(value)
    return values | _PRESET_RESETS


def profile_fields(catalog: Catalog | None = None) -> tuple[str, ...]:
    """Fields that a task profile decides."""
    return tuple(dict.fromkeys((catalog or load()).profile_values["field"]))


def expand_profile(task: str, catalog: Catalog | None = None) -> dict[str, Any]:
    """Field values a task profile stands for; what it does not name is the default.

    Raises KeyError for an unknown profile.
    """
    return dict(_expanded_profile(task, catalog or load()))


@lru_cache(maxsize=256)
def _expanded_profile(task: str, catalog: Catalog) -> dict[str, Any]:
    if task not in catalog.profiles.index:
        raise KeyError(task)
    declared = all_fields(catalog)
    values: dict[str, Any] = {"task": task} | {name: declared[name].default for name in profile_fields(catalog)}
    rows = catalog.profile_values
    for name, value in rows.loc[rows["profile"] == task, ["field", "value"]].itertuples(index=False):
        kind = declared[name].kind
        values[name] = str(value) if kind == "choice" else int(float(value)) if kind == "whole" else float(value)
    return values


@lru_cache(maxsize=64)
def set_values(name: str, catalog: Catalog) -> dict[str, Any]:
    """Field values an assumption set names; none for the default set."""
    rows, declared = catalog.assumption_sets, all_fields(catalog)
    pairs = rows.loc[rows["set"] == name, ["field", "value"]].itertuples(index=False)
    return {f: int(value) if declared[f].kind == "whole" else float(value) for f, value in pairs}


def expand_set(name: str, task: str, catalog: Catalog | None = None) -> dict[str, Any]:
    """Field values an assumption set stands for; what only other sets name is as the task profile says.

    Raises KeyError for an unknown profile.
    """
    catalog = catalog or load()
    profile, declared = expand_profile(task, catalog), all_fields(catalog)
    named = dict.fromkeys(catalog.assumption_sets["field"])
    return {"assumption_set": name} | {f: profile.get(f, declared[f].default) for f in named} | set_values(name, catalog)


def plain_values(scenario: Scenario, catalog: Catalog | None = None) -> dict[str, Any]:
    """Every field as the scenario's preset, profile and assumption set, and else the defaults, say it."""
    catalog = catalog or load()
    plain = {name: f.default for name, f in all_fields(catalog).items()}
    plain |= expand_preset(str(scenario.preset), catalog) | expand_profile(str(scenario.task), catalog)
    return plain | {"assumption_set": scenario.assumption_set} | set_values(str(scenario.assumption_set), catalog)


def changed_from_preset(scenario: Scenario, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Names of the fields whose value is not plain; choosing what to compare with is no edit of the option."""
    plain = plain_values(scenario, catalog) | {"reference": scenario.reference}
    return tuple(name for name, value in plain.items() if getattr(scenario, name) != value)


def option_edited(scenario: Scenario, catalog: Catalog | None = None) -> bool:
    """Whether the option itself is not as its preset says; another task or other people do not edit it."""
    return bool(set(changed_from_preset(scenario, catalog)) & set(PRESET_FIELDS))


def describe(catalog: Catalog | None = None) -> list[dict[str, Any]]:
    """All fields as plain data, for the command `fields` and the assumptions table."""

    def number(value: float) -> float | None:
        return None if isinstance(value, float) and math.isnan(value) else value

    return [
        {
            "name": name, "key": f.key, "label": f.label, "symbol": f.declaration.symbol, "csv": f.declaration.csv,
            "unit": f.unit, "group": f.group, "kind": f.kind, "min": number(f.min), "max": number(f.max),
            "default": f.default, "low": number(f.low), "high": number(f.high), "drawn": f.drawn, "grid": list(f.grid) or None,
            "step": number(f.step), "choices": [i for i, _label in f.choices] or None, "help": f.help,
            "basis": f.basis, "source_url": f.source_url, "note": f.note,
        }
        for name, f in all_fields(catalog).items()
    ]  # fmt: skip
