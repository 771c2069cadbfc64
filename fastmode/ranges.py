"""How far each assumption may lie from its value: ranges of the sources and of the user, and draws from them.

low and high of an assumption are its 5th and 95th percentile, its value the median. What the user has set is a point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.catalog import Catalog
from fastmode.i18n import _
from fastmode.scenario import DEFAULT_SET, NO_RANGES, Field, Scenario, all_fields, plain_values, set_values

Z95 = NormalDist().inv_cdf(0.95)
MOST_RANGES = 100  # parts of a text of own ranges that are read
MOST_SHOWN = 80  # characters of a part; no range is longer
MOST_WRONG = 3  # sentences on what is wrong
_BOUNDED = ("probability", "share")  # units of what lies between 0 and 1


@dataclass(frozen=True)
class Range:
    """5th and 95th percentile of an assumption around its value; arrays broadcast against the scenario's."""

    value: Any
    low: Any
    high: Any


def ranges(scenario: Scenario, catalog: Catalog) -> dict[str, Range]:
    """Range of every assumption that has one, by field name; numbers, or arrays of shape (elements, 1).

    An assumption the user has set, or the chosen assumption set names, is a point unless the user gives it a range; a
    range is widened to hold the value. In a scenario of arrays that is so element by element. The value of a field that is
    empty ("as published") is NaN.
    """
    stances = (scenario.task, scenario.assumption_set, scenario.ranges)
    held = {name: getattr(scenario, name) for name, f in all_fields(catalog).items() if f.drawn}
    held = {name: math.nan if value is None else value for name, value in held.items()}
    if all(isinstance(word, str) for word in stances) and not any(isinstance(v, _ARRAYS) for v in held.values()):
        own, known = own_ranges(scenario.ranges, catalog)[0], _known(scenario.task, scenario.assumption_set, catalog)
        found = {name: _of_field(np.float64(value), own.get(name), known.get(name)) for name, value in held.items()}
        return {name: Range(*map(float, (r.value, r.low, r.high))) for name, r in found.items() if r.low < r.high}
    columns = np.broadcast_arrays(*(np.asarray(word, dtype=str).ravel() for word in stances), *(np.ravel(v) for v in held.values()))
    words, numbers = columns[: len(stances)], [np.asarray(c, float) for c in columns[len(stances) :]]
    made = {name: np.stack([c, c, c]) for name, c in zip(held, numbers, strict=True)}
    for stance in set(zip(*(c.tolist() for c in words), strict=True)):
        here = np.logical_and.reduce([c == word for c, word in zip(words, stance, strict=True)])
        own, known = own_ranges(stance[2], catalog)[0], _known(*stance[:2], catalog)
        for name, c in zip(held, numbers, strict=True):
            r = _of_field(c[here], own.get(name), known.get(name))
            made[name][:, here] = r.value, r.low, r.high
    wide = {name: ends for name, ends in made.items() if (ends[1] < ends[2]).any()}
    return {name: Range(*(row[:, None] for row in ends)) for name, ends in wide.items()}


def source_range(name: str, task: str, catalog: Catalog) -> Range | None:
    """Range of an assumption under a task profile, whatever the user has set; None where it has none."""
    return _known(task, DEFAULT_SET, catalog).get(name)


_ARRAYS = (np.ndarray, list, tuple)


def _of_field(value: NDArray, own: tuple[float, float] | None, known: Range | None) -> Range:
    """Range of one field at values, from the user's own range or the source's; no wider than the value where it is a point."""
    if own:
        return Range(value, np.fmin(own[0], value), np.fmax(own[1], value))
    if known is None:
        return Range(value, value, value)
    plain = (value == known.value) | np.isnan(value)
    return Range(value, np.where(plain, known.low, value), np.where(plain, known.high, value))


@lru_cache(maxsize=256)
def _known(task: str, assumption_set: str, catalog: Catalog) -> dict[str, Range]:
    """Ranges of the sources under a task profile and an assumption set."""
    declared = all_fields(catalog)
    fixed = set_values(assumption_set, catalog)
    rows = catalog.profile_values
    profile = rows.loc[rows["profile"] == task].set_index("field")
    preset = str(declared["preset"].default)  # decides none of the drawn fields
    plain = plain_values(Scenario(**{n: f.default for n, f in declared.items()} | {"task": task, "preset": preset}), catalog)
    found = {}
    for name, f in declared.items():
        if not f.drawn or name in fixed:
            continue
        low, high = f.low, f.high
        if name in profile.index:
            low, high = (float(profile.at[name, end]) for end in ("low", "high"))
        if math.isfinite(low) and math.isfinite(high) and low < high:
            found[name] = Range(math.nan if plain[name] is None else plain[name], low, high)
    return found


def own_ranges(text: str, catalog: Catalog) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """(ranges by field name, what is wrong) of a text such as "of:1:8;d:0.3:0.7", with keys of the link.

    Each wrong part is one sentence that names the field and what is allowed; the other parts stand.
    """
    if text.strip() in ("", NO_RANGES):
        return {}, []
    by_key = {f.key: f for f in all_fields(catalog).values() if f.drawn} | {f.name: f for f in all_fields(catalog).values() if f.drawn}
    found: dict[str, tuple[float, float]] = {}
    wrong = []
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if len(parts) > MOST_RANGES:
        wrong.append(_("only the first {n} ranges are read").format(n=MOST_RANGES))
    for part in parts[:MOST_RANGES]:
        if len(part) > MOST_SHOWN:
            wrong.append(_("{part}...: too long for a range").format(part=part[:MOST_SHOWN]))
            continue
        key, *ends = (piece.strip() for piece in part.split(":"))
        f = by_key.get(key)
        if f is None:
            wrong.append(_("{part}: no assumption with such a key").format(part=part))
            continue
        allowed = _("{field} takes two numbers between {low} and {high} {unit}, the lower one first").format(
            field=f.label, low=f"{f.min:g}", high=f"{f.max:g}", unit=f.unit
        )
        numbers = [_number(end) for end in ends]
        if len(numbers) != 2 or not f.min <= numbers[0] <= numbers[1] <= f.max:
            wrong.append(f"{part}: {allowed}")
            continue
        if f.name in found:
            wrong.append(_("{part}: given twice; the last one is used").format(part=part))
        found[f.name] = (numbers[0], numbers[1])
    wrong = list(dict.fromkeys(wrong))
    return found, wrong[:MOST_WRONG]


def ranges_text(own: dict[str, tuple[float, float]], catalog: Catalog) -> str:
    """The text that `own_ranges` reads, as links carry it."""
    declared = all_fields(catalog)
    parts = [f"{declared[name].key}:{low:.10g}:{high:.10g}" for name, (low, high) in own.items()]
    return ";".join(parts) or NO_RANGES


def _number(text: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


# --- draws ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def normal_scores(name: str, draws: int) -> NDArray:
    """`draws` standard normal scores of one assumption, in an order of its own.

    One score from the middle of each of `draws` equally likely slices (Latin hypercube, McKay, Beckman and Conover 1979), so
    that few draws cover each assumption evenly. The order follows from the name alone: a link gives the same draws in
    every session, and a new assumption leaves those of the others as they are.
    """
    scores = np.random.default_rng(crc32(name.encode())).permutation(_slices(draws))
    scores.flags.writeable = False  # kept, and the same array for everyone
    return scores


@lru_cache(maxsize=8)
def _slices(draws: int) -> NDArray:
    normal = NormalDist()
    return np.array([normal.inv_cdf((i + 0.5) / draws) for i in range(draws)])


@lru_cache(maxsize=512)
def _drawn(f: Field, value: float, low: float, high: float, draws: int) -> NDArray:
    made = draw(f, Range(value, low, high), normal_scores(f.name, draws))
    made.flags.writeable = False
    return made


def drawn(f: Field, r: Range, draws: int) -> NDArray:
    """`draws` values of field `f`; kept, since most scenarios share most of them."""
    return _drawn(f, r.value, r.low, r.high, draws)


def draw(f: Field, r: Range, score: NDArray) -> NDArray:
    """Values of field `f` at standard normal scores: the median at 0, low and high at -Z95 and Z95.

    Log-normal for positive quantities and logit-normal for probabilities, each half with a spread of its own. An end at 0
    or 1, where these have no percentile, is reached in a straight line; a median there moves along 1 - (1 - high)^(score / Z95).
    Whole quantities are rounded. Nothing leaves the field's own limits.
    """
    bend = _bounded if f.unit in _BOUNDED else _positive
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        made = bend(np.asarray(r.value, float), np.asarray(r.low, float), np.asarray(r.high, float), score / Z95)
    if f.kind == "whole":
        made = np.round(made)
    return np.clip(made, f.min, f.max)


def _positive(value: NDArray, low: NDArray, high: NDArray, way: NDArray) -> NDArray:
    down = np.where(low > 0, value * np.exp(-way * np.log(low / value)), value * (1.0 + way))
    up = np.where(value > 0, value * np.exp(way * np.log(high / value)), high * way)
    return np.where(value > 0, np.where(way < 0, down, up), np.where(way < 0, value, up))


def _bounded(value: NDArray, low: NDArray, high: NDArray, way: NDArray) -> NDArray:
    down = _toward(value, low, -way)
    up = 1.0 - _toward(1.0 - value, 1.0 - high, way)
    return np.where(way < 0, down, np.where(way > 0, up, value))


def _toward(value: NDArray, end: NDArray, way: NDArray) -> NDArray:
    """From a probability at way 0 to a lower one at way 1 and on; never below 0."""
    step = np.log(end) - np.log1p(-end) - np.log(value) + np.log1p(-value)
    inner = 1.0 / (1.0 + (1.0 - value) / value * np.exp(-way * step))
    straight = np.maximum(value * (1.0 - way), 0.0)
    falling = np.where(end > 0, end, 0.0) ** np.maximum(way, 0.0)  # from 1 downwards
    return np.where(value >= 1.0, falling, np.where(end > 0, inner, straight))


def deviation(score: NDArray, near: ArrayLike, far: ArrayLike) -> NDArray:
    """Residual of a logarithm at standard normal scores, from the half widths of its 50 % (near) and 90 % (far) bands.

    The residuals are not normal: the quantiles run in straight lines through both bands and on beyond the outer one.
    """
    inner = NormalDist().inv_cdf(0.75)
    size, sign = np.abs(score), np.sign(score)
    way = np.clip((size - inner) / (Z95 - inner), 0.0, 1.0)  # from the inner band's end to the outer one's
    of_near = sign * np.where(size <= inner, size / inner, 1.0 - way)
    of_far = sign * np.where(size <= Z95, way, size / Z95)
    return np.asarray(near) * of_near + np.asarray(far) * of_far
