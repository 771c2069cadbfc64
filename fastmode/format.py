"""Numbers as people read them: three significant digits, thin spaces between thousands, units in words.

Every card, chart, table and command uses these, so that one quantity looks the same everywhere. All functions take a
scalar and return text; None, NaN and infinities give MISSING. A function ending in `_parts` returns (value, unit) for
layouts that set the unit smaller.
"""

import math

from fastmode.i18n import _

MISSING = "-"
THIN_SPACE = "\u202f"  # narrow and not breaking: a number stays on one line
DIGITS = 3
COUNT_DIGITS = 15  # that float64 keeps
SAME_WITHIN = 0.005  # relative: half a percent would print as 0 %
# Plotly (d3) formats that print what `number` prints, for hover text made in the browser.
D3_NUMBER = ",.3~r"
D3_SEPARATORS = "." + THIN_SPACE

_MINUTE_S = 60.0
_HOUR_S = 3600.0


def is_missing(value: float | None) -> bool:
    """True for None, NaN and infinities: nothing that could be printed as a figure."""
    return value is None or not math.isfinite(value)


def number(value: float | None, digits: int = DIGITS) -> str:
    """`value` to `digits` significant digits, no trailing zeros: 25.666 -> "25.7", 1000 -> "1 000" (thin space)."""
    if is_missing(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(float(value), decimals)  # may carry: 9.996 -> 10.0
    text = f"{rounded:,.{max(decimals, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", THIN_SPACE)


def count(value: float | None) -> str:
    """A number of things, every digit of it: 4508 -> "4 508" (thin space)."""
    return number(None if is_missing(value) else round(value), COUNT_DIGITS)


def duration_parts(seconds: float | None) -> tuple[str, str]:
    """(value, unit) in s below one minute, min below one hour, else h: 1540 -> ("25.7", "min")."""
    if is_missing(seconds):
        return MISSING, ""
    rounded = abs(_round_significant(seconds))
    if rounded < _MINUTE_S:
        return number(seconds), _("s")
    if abs(_round_significant(seconds / _MINUTE_S)) < _HOUR_S / _MINUTE_S:
        return number(_at_least(seconds, _MINUTE_S) / _MINUTE_S), _("min")
    return number(_at_least(seconds, _HOUR_S) / _HOUR_S), _("h")


def duration(seconds: float | None) -> str:
    """A time as text: "45 s", "26 min", "1.5 h"."""
    return join_unit(*duration_parts(seconds))


def minutes(seconds: float | None) -> str:
    """A time in minutes whatever its size, for figures that are read side by side: 119 -> "2 min"."""
    return MISSING if is_missing(seconds) else join_unit(number(seconds / _MINUTE_S), _("min"))


def money(amount: float | None, currency: str = "$") -> str:
    """An amount of money: "$0.31", "$4.50", "$43.7", "$1 230" (thin space); two digits below ten cents: "$0.031"."""
    if is_missing(amount):
        return MISSING
    size = abs(amount)
    if size < 0.0995:
        text = number(size, 2)
    elif size < 9.995:
        text = f"{size:.2f}".removesuffix(".00")
    else:
        text = number(size)
    return f"{'-' if amount < 0 and text != '0' else ''}{currency}{text}"


def ratio(value: float | None) -> str:
    """A multiple: "2.5x"."""
    return MISSING if is_missing(value) else _("{value}x").format(value=number(value))


def share(fraction: float | None) -> str:
    """A fraction as a percentage: 0.447 -> "44.7 %"."""
    return MISSING if is_missing(fraction) else _("{value} %").format(value=number(100.0 * fraction))


def points(fraction: float | None) -> str:
    """A difference between two shares: 0.197 -> "+19.7 points"; less than a hundredth of a point is "0 points"."""
    if is_missing(fraction):
        return MISSING
    value = round(100.0 * fraction, 2)
    return _("{value} points").format(value=_signed(value, number(value)))


def change(new: float | None, old: float | None) -> str:
    """`new` against `old` in a person's words: "same", "+46 %", "-12 %", and from twice upwards "2.2x".

    Whole percents from 10 % on, one decimal below. Both must be positive (or both zero: "same"), else MISSING.
    """
    if is_missing(new) or is_missing(old):
        return MISSING
    if new == old:
        return _("same")
    if old <= 0 or new < 0:
        return MISSING
    relative = new / old - 1.0
    if abs(relative) < SAME_WITHIN:
        return _("same")
    if relative >= 1.0:
        return ratio(new / old)
    return signed_share(relative)


def signed_share(fraction: float | None) -> str:
    """A relative change as a signed percentage: 0.463 -> "+46 %", -0.052 -> "-5.2 %"."""
    if is_missing(fraction):
        return MISSING
    percent = 100.0 * fraction
    percent = round(percent, 1 if abs(percent) < 9.95 else 0)
    return _("{value} %").format(value=_signed(percent, number(percent)))


def joules_parts(energy_j: float | None) -> tuple[str, str]:
    """(value, unit) in mJ, J, kJ or MJ: 1234 -> ("1.23", "kJ")."""
    if is_missing(energy_j):
        return MISSING, ""
    size = abs(_round_significant(energy_j))
    for scale, unit in ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J")):
        if size >= scale or (size == 0 and scale == 1.0):
            return number(energy_j / scale), unit
    return number(energy_j * 1e3), "mJ"


def joules(energy_j: float | None) -> str:
    """An energy as text: "0.35 J" is "350 mJ", "1.23 kJ"."""
    return join_unit(*joules_parts(energy_j))


def quantity(value: float | None, unit: str) -> str:
    """A number with the unit a chart or card names: (141.2, "tok/s") -> "141 tok/s"; an "x" is set close: "2.5x"."""
    if is_missing(value):
        return MISSING
    return ratio(value) if unit == "x" else join_unit(number(value), unit)


def join_unit(value: str, unit: str) -> str:
    """`value` and `unit` with a space between, `value` alone where there is no unit or no figure."""
    return f"{value} {unit}" if unit and value != MISSING else value


def _signed(value: float, text: str) -> str:
    return f"+{text}" if value > 0 else text


def _at_least(value: float, size: float) -> float:
    """`value`, no closer to 0 than `size`: 59.96 s rounds up to a whole minute, not to 0.999 min."""
    return math.copysign(max(abs(value), size), value)


def _round_significant(value: float) -> float:
    return 0.0 if value == 0 else round(float(value), DIGITS - 1 - math.floor(math.log10(abs(value))))
