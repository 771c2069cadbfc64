"""What an input of the model is: its declaration, its numbers, and how a value of it is written and rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fastmode import format as fmt
from fastmode.i18n import _


@dataclass(frozen=True)
class Declaration:
    """What a field is: wording and form; its numbers live in data/assumptions.csv."""

    key: str
    group: str
    kind: str  # choice | scale (slider over a grid) | number | whole | text
    label: str
    help: str
    symbol: str = ""
    csv: str = ""
    show: str = "count"  # how a grid value is written: count | ratio | duration | tokens
    choices: tuple[tuple[str, str], ...] | str = ()  # pairs (id, label) or the name of a catalogue table


@dataclass(frozen=True)
class Field:
    """A declared field joined with its numbers; what every layer above reads."""

    name: str
    declaration: Declaration
    unit: str
    default: Any
    low: float
    high: float
    min: float
    max: float
    step: float
    grid: tuple[float, ...]
    basis: str
    source_url: str
    note: str
    choices: tuple[tuple[str, str], ...]
    drawn: bool = False  # low .. high is what nobody knows of it, not what a user may choose

    @property
    def numeric(self) -> bool:
        return self.kind not in ("choice", "text")

    @property
    def key(self) -> str:
        return self.declaration.key

    @property
    def kind(self) -> str:
        return self.declaration.kind

    @property
    def group(self) -> str:
        return self.declaration.group

    @property
    def label(self) -> str:
        return _(self.declaration.label)

    @property
    def help(self) -> str:
        return _(self.declaration.help)

    @property
    def optional(self) -> bool:
        return self.default is None

    def text(self, value: Any) -> str:
        """A value as links and sliders write it: short, ASCII, unique on the grid."""
        if value is None:
            return ""
        if self.kind == "choice":
            return dict(self.choices).get(str(value), str(value))
        if self.kind == "text":
            return str(value)
        if self.kind == "scale":
            return _grid_text(float(value), self.declaration.show)
        return f"{value:.10g}"

    def words(self, value: float) -> str:
        """A number of this field as people read it, with its unit."""
        if self.unit == "s":
            return fmt.duration(value)
        if self.unit in ("probability", "share"):
            return fmt.share(value)
        if self.unit in ("x", "ratio"):
            return fmt.ratio(value)
        if self.unit.startswith("x "):
            return f"{fmt.ratio(value)}{self.unit[1:]}"
        return fmt.join_unit(fmt.number(value), self.unit)


def _grid_text(value: float, show: str) -> str:
    if show == "ratio":
        return f"{value:g}x"
    if show == "duration":
        scale, unit = (1, "s") if value < 60 else (60, "min") if value < 5400 else (3600, "h")
        return f"{value / scale:g} {unit}"
    if show == "tokens":
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:g}"


def snap(field_: Field, number: float) -> float | int:
    """The nearest value of the field's grid (by ratio on a scale, by distance on a step)."""
    if field_.kind == "scale":
        return min(field_.grid, key=lambda g: abs(math.log(g / number)))
    if field_.kind == "whole":
        return int(round(number))
    decimals = max(0, -math.floor(math.log10(field_.step)))
    return min(max(round(round(number / field_.step) * field_.step, decimals), field_.min), field_.max)
