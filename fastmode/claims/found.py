"""What every verdict is made of: the words, the rules of agreement, the facts it may look at, and the finding.

The rules stand in the docstring of the package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode import scenario as scenarios
from fastmode.catalog import Catalog
from fastmode.evaluate import BASIS_WORDS, evaluate
from fastmode.i18n import N_, _
from fastmode.serving import Service

SUPPORTED, PARTLY, CONTRADICTED = N_("supported"), N_("partly supported"), N_("contradicted")
UNTESTED, OUTSIDE = N_("untested"), N_("outside scope")
VERDICT_WORDS = (SUPPORTED, PARTLY, CONTRADICTED, UNTESTED, OUTSIDE)

ROUNDING = 0.1  # "about 170", "15 times": a tenth either way is the same figure
MOST = 0.5  # "most of the time" is more than half of it
MEASURED = "measured_third_party"
FIRM = ("vendor_spec", MEASURED)  # a property of a part as its vendor states it, or measured
SRAM = "SRAM"
STANDARD, FAST = "opus-4.6", "opus-4.6-fast"
CODEX, SPARK = "gpt-5.3-codex", "gpt-5.3-codex-spark"
H100, GB200 = "h100_sxm", "gb200_nvl72"
GIGA, BILLION, TERA = 1e9, 1e9, 1e12


class Unknown(LookupError):
    """A figure that a verdict rests on is not in the data."""


@dataclass(frozen=True)
class Finding:
    """What one claim comes to. kind: "data" from stored rows alone, "model" from an evaluation, "none" without either.

    Raises ValueError for a verdict that is none of VERDICT_WORDS.
    """

    verdict: str
    kind: str = "none"
    value: float = np.nan
    unit: str = ""
    basis: str = ""
    link: str = ""
    low: float = np.nan
    high: float = np.nan

    def __post_init__(self) -> None:
        if self.verdict not in VERDICT_WORDS:
            raise ValueError(f"not a verdict: {self.verdict!r}")


def same(found: float, claimed: float) -> bool:
    """Whether a figure is the claimed one, which is rounded."""
    return bool(abs(found / claimed - 1.0) <= ROUNDING)


def parts(*holds: bool | None) -> str:
    """Verdict on a claim of several parts: all hold, some, or none; None is a part that its band does not decide."""
    undecided = any(part is None for part in holds)
    return PARTLY if undecided else SUPPORTED if all(holds) else PARTLY if any(holds) else CONTRADICTED


def agreed(*verdicts: str) -> str:
    """Verdict over a range of an assumed constant, from the verdicts within it: theirs where they agree."""
    return verdicts[0] if len(set(verdicts)) == 1 else PARTLY


def address(path: str = "", **params: str) -> str:
    """An address of the app relative to its root."""
    return f"{path}?{urlencode(params)}"


def known(*values: Any) -> None:
    """Raises Unknown unless every number given is finite."""
    if not all(np.isfinite(np.asarray(value, float)).all() for value in values):
        raise Unknown


def only(array: NDArray) -> float:
    """The one element of a result, or its first."""
    return float(np.ravel(array)[0])


@lru_cache(maxsize=4)
def _with_part(catalog: Catalog, part: str, cells: tuple[tuple[str, float], ...]) -> Catalog:
    rows = catalog.hardware.copy()
    for column, value in cells:
        rows.loc[part, column] = value
    return replace(catalog, hardware=rows)


@lru_cache(maxsize=4)
def _with_constant(catalog: Catalog, name: str, value: float) -> Catalog:
    rows = catalog.serving_constants.copy()
    rows.loc[name, "value"] = value
    return replace(catalog, serving_constants=rows)


def pairs_agree(agree: int, against: int) -> bool:
    """Whether nine in ten measured pairs go the same way."""
    return agree + against > 0 and agree >= (1.0 - ROUNDING) * (agree + against)


def over_standins(values: NDArray) -> tuple[float, float, float]:
    """(value of the stand-in, lowest, highest over the alternatives that can be served). Raises Unknown without a value."""
    known(values[0])
    return float(values[0]), float(np.nanmin(values)), float(np.nanmax(values))


@dataclass(frozen=True)
class Facts:
    """What a verdict may look at: the catalogue, the model at its current data, and its own claim."""

    catalog: Catalog
    quantity: str

    def claimed(self, count: int) -> list[float]:
        """The numbers in the claim's quantity, in their order."""
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", self.quantity)]
        if len(numbers) != count:
            raise Unknown
        return numbers

    # --- endpoints

    def number(self, endpoint: str, column: str) -> float:
        rows = self.catalog.endpoints
        value = float(rows.at[endpoint, column]) if endpoint in rows.index else np.nan
        if not np.isfinite(value):
            raise Unknown
        return value

    def speed(self, endpoint: str) -> float:
        return self.number(endpoint, "output_tok_s")

    def text(self, endpoint: str, column: str) -> str:
        return str(self.catalog.endpoints.at[endpoint, column])

    def word(self, endpoint: str) -> str:
        """Where the endpoint's speed comes from, as people read it."""
        basis = self.text(endpoint, "basis")
        return _(BASIS_WORDS.get(basis, basis))

    def measured(self, *endpoints: str) -> bool:
        return all(self.text(endpoint, "basis") == MEASURED for endpoint in endpoints)

    def fast_tiers(self) -> pd.DataFrame:
        """Fast modes of the founding vendor."""
        rows = self.catalog.endpoints
        return rows[(rows["provider"] == self.text(FAST, "provider")) & (rows["mode"] == self.text(FAST, "mode"))]

    # --- parts and models

    def part(self, hardware: str, column: str) -> float:
        """A figure of a part. Raises Unknown where it is not published."""
        rows = self.catalog.hardware
        value = float(rows.at[hardware, column]) if hardware in rows.index else np.nan
        known(value)
        return value

    def part_name(self, hardware: str) -> str:
        return str(self.catalog.hardware.at[hardware, "label"])

    def firm(self, *hardware: str) -> bool:
        """Whether every one of these parts is described by its vendor or measured."""
        return bool(self.catalog.hardware.loc[list(hardware), "basis"].isin(FIRM).all())

    @property
    def wafer(self) -> str:
        """The part that Spark runs on."""
        return self.setting(SPARK, "hardware")

    def setting(self, preset: str, column: str) -> Any:
        rows = self.catalog.presets
        if preset not in rows.index:
            raise Unknown
        value = rows.at[preset, column]
        return str(value) if isinstance(value, str) else float(value)

    def _standin(self, preset: str) -> str:
        model = self.setting(preset, "model")
        if not model:
            raise Unknown
        return model

    def model_name(self, preset: str) -> str:
        """The open model that stands in for a preset's own."""
        return str(self.catalog.models.at[self._standin(preset), "label"])

    def size(self, preset: str, column: str = "total_params_b") -> float:
        """Parameters of a preset's stand-in model."""
        value = float(self.catalog.models.at[self._standin(preset), column]) * BILLION
        known(value)
        return value

    def constant(self, name: str) -> float:
        return float(self.catalog.serving_constants.at[name, "value"])

    def constant_range(self, name: str) -> tuple[float, float, float]:
        """(value, low, high) of a serving constant. Raises Unknown without a range."""
        value, low, high = (float(cell) for cell in self.catalog.serving_constants.loc[name, ["value", "low", "high"]])
        known(value, low, high)
        return value, low, high

    def smallest_bytes_per_value(self) -> float:
        """Bytes per parameter of the smallest number format the model knows."""
        values = self.catalog.serving_constants["value"]
        return float(values[values.index.str.startswith("bytes_")].min())

    def standins(self, preset: str) -> list[str]:
        """The preset's stand-in model and the alternatives its row lists."""
        listed = self.setting(preset, "alternatives").split(";")
        return [self.setting(preset, "model"), *(name for name in listed if name)]

    def measured_on(self, hardware: str) -> list[str]:
        """Presets on this part whose model's architecture is stored and whose speed somebody else has measured."""
        presets, endpoints = self.catalog.presets, self.catalog.endpoints.reindex(self.catalog.presets.index)
        rows = (presets["hardware"] == hardware) & (presets["standin_basis"] == "vendor")
        return list(presets.index[rows & (endpoints["basis"] == MEASURED) & endpoints["output_tok_s"].notna()])

    # --- the model

    def with_part(self, hardware: str, **cells: float) -> Facts:
        """The same facts with some figures of one part replaced: what if it were that fast?"""
        return replace(self, catalog=_with_part(self.catalog, hardware, tuple(cells.items())))

    def with_constant(self, name: str, value: float) -> Facts:
        """The same facts with one serving constant replaced."""
        return replace(self, catalog=_with_constant(self.catalog, name, value))

    def default(self, field: str) -> Any:
        return scenarios.all_fields(self.catalog)[field].default

    def grid(self, field: str) -> NDArray:
        """The values of a slider, in rising order."""
        return np.array(scenarios.all_fields(self.catalog)[field].grid)

    def served(self, presets: str | Sequence[str], **changes: Any) -> Service:
        """The serving model's answer for a preset under the default task, with some fields changed.

        Several presets and changed fields broadcast; the answer is one-dimensional, in C order.
        """
        base = scenarios.default(self.catalog)
        if not set([presets] if isinstance(presets, str) else presets) <= set(self.catalog.presets.index):
            raise Unknown
        if isinstance(presets, str):
            fields = scenarios.expand_preset(presets, self.catalog)
        else:
            each = [scenarios.expand_preset(preset, self.catalog) for preset in presets]
            fields = {name: np.array([e[name] for e in each]) for name in each[0] if each[0][name] is not None}
        scenario = replace(base, **(fields | {"reference": fields["preset"]} | changes))
        return evaluate(scenario, self.catalog).now.service

    def state(self, path: str, preset: str, axis: str = "", **fields: Any) -> str:
        """Address of a page in the state of a preset with some fields changed, each on its slider's nearest value."""
        declared = scenarios.all_fields(self.catalog)
        params = {"preset": preset} | ({"x": axis} if axis else {})
        for name, value in fields.items():
            field = declared[name]
            params[field.key] = field.text(value if field.kind == "choice" else scenarios.snap(field, float(value)))
        return address(path, **params)
