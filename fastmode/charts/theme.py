"""What all figures share: one colour per meaning in light and dark, axes with round labels, room for texts.

Colours are chosen to stay apart under protanopia, deuteranopia and tritanopia (tested), with a contrast of at least 3:1
against the ground for fills and lines and 4.5:1 for text. Waiting (orange) and correcting (three crimsons) are the loud
ones; prompting and reviewing are greys. Hardware and vendors have no colour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from fastmode.format import D3_SEPARATORS
from fastmode.i18n import N_, _

Mode = Literal["light", "dark"]

TEXT_SIZE = 14
SMALL_SIZE = 12
NARROWEST_PX = 288  # a phone of 320 px less the page's margins: what is cut to fit in a narrow layout fits there

_SLIM, _BROAD = frozenset("ijlftr.,:;'|/!()[]- \u00a0\u2009\u202f"), frozenset("mwMW%@")

# Order of the slices in every bar, with the words for them.
SLICES = MappingProxyType(
    {
        "prompting": N_("prompting"),
        "waiting": N_("waiting"),
        "reviewing": N_("reviewing"),
        "re-prompting": N_("re-prompting"),
        "fixing": N_("fixing by hand"),
        "escaped": N_("escaped errors"),
    }
)
CORRECTING = ("re-prompting", "fixing", "escaped")
# Terms of one decoding step; the keys a caller uses, with the words for them.
STEP_PARTS = MappingProxyType(
    {
        "weights": N_("weights"),
        "kv": N_("KV cache"),
        "compute": N_("compute"),
        "collectives": N_("collectives"),
        "overhead": N_("overhead"),
        "prefill": N_("others' prefill"),
    }
)


@dataclass(frozen=True)
class Palette:
    """Colours by meaning for one mode; `slices` and `steps` by the keys of SLICES and STEP_PARTS."""

    mode: Mode
    ground: str
    text: str
    muted: str
    grid: str
    axis: str
    hatch: str
    scenario: str
    reference: str
    published: str
    better: str
    worse: str
    verdict: str
    slices: Mapping[str, str]
    steps: Mapping[str, str]


_LIGHT = Palette(
    mode="light",
    ground="#ffffff",
    text="#1b2027",
    muted="#57606b",
    grid="#e6e9ed",
    axis="#8a929c",
    hatch="#c5cad1",
    scenario="#1f5fa8",
    reference="#7d6a00",
    published="#22272e",
    better="#00756b",
    worse="#b5420b",
    verdict="#1f5fa8",
    slices=MappingProxyType(
        {
            "prompting": "#5f6874",
            "waiting": "#dd7a00",
            "reviewing": "#8d959f",
            "re-prompting": "#6e0f2a",
            "fixing": "#a3173d",
            "escaped": "#dc2f55",
        }
    ),
    steps=MappingProxyType(
        {
            "weights": "#3b4a63",
            "kv": "#5f7fb0",
            "compute": "#2b8a80",
            "collectives": "#8b6bb5",
            "overhead": "#8a8f98",
            "prefill": "#a86f3d",
        }
    ),
)
_DARK = Palette(
    mode="dark",
    ground="#0e1116",
    text="#e8ebf0",
    muted="#a3acb8",
    grid="#262c35",
    axis="#6f7986",
    hatch="#454d59",
    scenario="#7ab0f5",
    reference="#b9a94a",
    published="#e6e9ee",
    better="#5fd3c0",
    worse="#ff8a5c",
    verdict="#7ab0f5",
    slices=MappingProxyType(
        {
            "prompting": "#97a1af",
            "waiting": "#ffb340",
            "reviewing": "#667080",
            "re-prompting": "#ff9cc4",
            "fixing": "#f4608f",
            "escaped": "#dd3f5f",
        }
    ),
    steps=MappingProxyType(
        {
            "weights": "#8fa3c4",
            "kv": "#5b7fbd",
            "compute": "#4db6a9",
            "collectives": "#ad8fdb",
            "overhead": "#828b98",
            "prefill": "#cf9660",
        }
    ),
)
_PALETTES = {"light": _LIGHT, "dark": _DARK}


@dataclass(frozen=True)
class Axis:
    """A value axis with a fixed range and round labels; `place` maps values to 0..1 along it."""

    low: float
    high: float
    log: bool
    ticks: np.ndarray
    texts: list[str]

    def place(self, value: np.ndarray | float) -> np.ndarray:
        """Position on the axis, 0 at its start and 1 at its end; NaN where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                return np.log(np.asarray(value, float) / self.low) / np.log(self.high / self.low)
            return (np.asarray(value, float) - self.low) / (self.high - self.low)

    def layout(self) -> dict:
        bounds = [self.low, self.high]
        return {
            "type": "log" if self.log else "linear",
            "range": [float(v) for v in (np.log10(bounds) if self.log else bounds)],
            "tickvals": self.ticks,
            "ticktext": self.texts,
        }


def round_ticks(low: float, high: float, log: bool, most: int = 6) -> np.ndarray:
    """Round values within low..high: 1, 2, 5 or 1 times powers of ten (log), multiples of 1, 2 or 5 (linear)."""
    if log:
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            ticks = np.outer(decades, digits).ravel()
            ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
            if len(ticks) <= most:
                return ticks
        return ticks[:: -(-len(ticks) // most)]
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(m for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9)) * power
    return np.round(np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step, 12)


def palette(mode: Mode) -> Palette:
    """The colours for "light" or "dark"; ValueError for another mode."""
    if mode not in _PALETTES:
        raise ValueError(f"mode must be 'light' or 'dark', got {mode!r}")
    return _PALETTES[mode]


def contrast(color_a: str, color_b: str) -> float:
    """Contrast ratio (1 to 21) of two "#rrggbb" colours (WCAG 2.2, relative luminance)."""
    high, low = sorted((_luminance(color_a), _luminance(color_b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def text_on(fill: str) -> str:
    """Black or white, whichever is easier to read on `fill`; one of them always reaches 4.5:1."""
    return max(("#ffffff", "#000000"), key=lambda ink: contrast(ink, fill))


def translucent(color: str, alpha: float) -> str:
    """`color` as "rgba(...)" with the given opacity."""
    red, green, blue = _channels(color)
    return f"rgba({red},{green},{blue},{alpha})"


def key_entry(color: str, label: str) -> str:
    """A coloured square and its name, for keys written as text."""
    return f'<span style="color:{color}">\u25a0</span>\u00a0{label.replace(" ", chr(0xA0))}'


def slice_label(key: str) -> str:
    """The word for one slice of task time, in the reader's language."""
    return _(SLICES[key])


def step_label(key: str) -> str:
    """The word for one term of a decoding step; a name that is not one of STEP_PARTS stands for itself."""
    return _(STEP_PARTS[key]) if key in STEP_PARTS else key


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, y upwards: the room a text or a marker takes."""

    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> "Box":
        """The rectangle of that size centred on (x, y)."""
        return cls(x - width / 2, x + width / 2, y - height / 2, y + height / 2)

    def overlaps(self, other: "Box") -> bool:
        """True where the two share more than an edge."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top


def best_place(
    candidates: list[Box],
    width: float,
    height: float,
    taken: list[Box],
    drawn: np.ndarray,
    must: bool,
    lines: Sequence[float] = (),
) -> Box | None:
    """The first candidate inside the panel that covers no `taken` box and the least of the curve and the lines.

    drawn: points of the curve, shape (n, 2), px. lines: heights of horizontal lines, px; one counts as three points.
    Without `must`, None when each candidate covers a box, leaves the panel or hides more than four points; with it, the
    least bad one.
    """
    if not candidates:
        return None
    left, right, bottom, top = edges(candidates)
    x, y = drawn.T if len(drawn) else np.empty((2, 0))
    heights = np.asarray(lines, dtype=np.float64)
    outside = ((left < 0) | (right > width) | (bottom < 0) | (top > height))[:, 0]
    covered = np.sum((x > left) & (x < right) & (y > bottom) & (y < top), axis=1)
    crossed = np.sum((bottom - 1 < heights) & (heights < top + 1), axis=1)
    cost = 1000 * outside + 100 * hits(candidates, taken) + covered + 3 * crossed + 0.01 * np.arange(len(candidates))
    best = int(np.argmin(cost))
    return candidates[best] if must or cost[best] < 5 else None


def edges(boxes: Sequence[Box]) -> np.ndarray:
    """Left, right, bottom and top of each box, shape (4, n, 1), px."""
    return np.array([(box.left, box.right, box.bottom, box.top) for box in boxes]).reshape(-1, 4).T[..., None]


def hits(boxes: Sequence[Box], taken: Sequence[Box]) -> np.ndarray:
    """How many of the `taken` each box overlaps (Box.overlaps), shape (len(boxes),)."""
    left, right, bottom, top = edges(boxes)
    a, b, c, d = edges(taken)[..., 0]
    return np.sum((left < b) & (a < right) & (bottom < d) & (c < top), axis=1)


def text_width_px(text: str, size: float, bold: bool = False) -> float:
    """Rough width of a line of plain text, on the wide side of common sans-serif fonts."""
    ems = sum(0.36 if c in _SLIM else 0.92 if c in _BROAD else 0.69 if c.isupper() else 0.61 for c in text)
    return ems * size * (1.1 if bold else 1.0)


def figure(data: list[dict], layout: dict) -> go.Figure:
    """A figure from plain dicts, without Plotly's check of every property (11 of 15 ms); a test checks them instead."""
    return go.Figure(data=data, layout=layout, _validate=False)


def legend(colors: Palette, size: float) -> dict:
    """A row of entries at the top of the figure that does nothing when clicked."""
    return {
        "orientation": "h",
        "xref": "container",
        "yref": "container",
        "x": 0.0,
        "y": 1.0,
        "xanchor": "left",
        "yanchor": "top",
        "font": {"size": size, "color": colors.text},
        "itemclick": False,
        "itemdoubleclick": False,
        "traceorder": "normal",
        "bgcolor": "rgba(0,0,0,0)",
    }


def base_layout(colors: Palette, scale: float, **layout: object) -> dict:
    """Layout shared by all figures; `scale` enlarges type (1.3 in a meeting). The family is the page's."""
    return {
        "template": "none",
        "font": {"size": TEXT_SIZE * scale, "color": colors.text},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "separators": D3_SEPARATORS,
        "hoverlabel": {
            "bgcolor": colors.ground,
            "bordercolor": colors.axis,
            "font": {"size": TEXT_SIZE * scale, "color": colors.text},
            "align": "left",
        },
        **layout,
    }


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _luminance(color: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255.0 for v in _channels(color))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
