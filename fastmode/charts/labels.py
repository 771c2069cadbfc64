"""Texts in one panel of a figure, placed so that none covers another, a marker or (as far as possible) a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from fastmode.charts import theme
from fastmode.charts.theme import Axis, Box, text_width_px

_BACKING = 0.9  # opacity of the ground behind a text: what runs under it stays visible, but not through the letters
_GAP_PX = 4.0  # between two texts side by side
AWAY = (10, 26, 42)  # px from a point to its label, nearest first
LED_AWAY = (14, 26, 40, 56, 74, 94, 116, 140)  # px from a point to a label that a thin line joins to it
# Their directions: up to the right, where charts of speed-ups have most room, before the others.
_LED_ANGLES = (np.radians(np.arange(15, 91, 15)), np.radians(np.arange(105, 375, 15)))
_MARK_PX = 9.0  # radius around a point where such a line is not looked at: it starts in a mark
_WIDE_PX = 760  # least width of the wide layout
PRESENTED_PX = 1100  # least width of a chart in a presentation: a window of 1280 px less the page's margins
_STEP_PX = 4.0  # between two of the points that stand for a curve when a text looks for its place


def least_width(scale: float) -> int:
    """The least width of the wide layout, px. Larger type (scale > 1) is for presentations, whose charts are wider."""
    return PRESENTED_PX if scale > 1.0 else _WIDE_PX


def shortened(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text, or as much of its start as fits `room` px with an ellipsis behind it; at least one letter."""
    if text_width_px(text, size, bold) <= room:
        return text
    cuts = (f"{text[:n].rstrip()}\u2026" for n in range(len(text) - 1, 0, -1))
    return next((cut for cut in cuts if text_width_px(cut, size, bold) <= room), f"{text[:1]}\u2026")


@dataclass
class Writer:
    """Collects the annotations of one panel of `width` x `height` px; `size` of the type, px, at scale 1.

    tail: number of its axes as Plotly writes it. drawn: points of the curve, shape (n, 2), px (see `curve_points`).
    lines: heights of its horizontal lines, px.
    """

    x_axis: Axis
    y_axis: Axis
    width: float
    height: float
    size: float
    colors: theme.Palette
    scale: float
    tail: str
    drawn: np.ndarray
    lines: list[float]
    taken: list[Box] = field(default_factory=list)
    notes: list[dict] = field(default_factory=list)

    def mark(self, x: float, y: float, radius: float) -> tuple[float, float] | None:
        """Keep the room of a marker free and return its place, px; None where it lies beyond the axes."""
        px, py = float(self.x_axis.place(x) * self.width), float(self.y_axis.place(y) * self.height)
        if not (0 <= px <= self.width and 0 <= py <= self.height):
            return None
        self.taken.append(Box.around(px, py, 2 * radius, 2 * radius))
        return px, py

    def best(self, candidates: list[Box], must: bool = False) -> Box | None:
        """The best of the places (theme.best_place)."""
        return theme.best_place(candidates, self.width, self.height, self.taken, self.drawn, must, self.lines)

    def write(
        self,
        box: Box,
        text: str,
        color: str,
        name: str,
        at: tuple[float, float] | None = None,
        led: bool = False,
        **more: object,
    ) -> None:
        """A text in `box`. at: the point it belongs to, px; it keeps its distance from there at every width.

        led: a thin line joins it to that point, and later texts keep off the line.
        """
        self.taken.append(Box(box.left - _GAP_PX, box.right + _GAP_PX, box.bottom, box.top))
        x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        to_x, to_y = at or (x, y)
        across, up = (x - to_x) * self.scale, (y - to_y) * self.scale
        place = {"showarrow": False, "xshift": across, "yshift": up}
        if led:
            self.taken += [Box.around(*point, _STEP_PX, _STEP_PX) for point in _leader(box, (to_x, to_y))]
            line = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": self.colors.text, "standoff": 6 * self.scale}
            place = {"showarrow": True, "ax": across, "ay": -up, **line}
        self.notes.append(
            {
                "name": name,
                "text": text,
                "font": {"size": self.size * self.scale, "color": color},
                "xref": f"x{self.tail} domain",
                "yref": f"y{self.tail} domain",
                "xanchor": "center",
                "yanchor": "middle",
                "x": to_x / self.width,
                "y": to_y / self.height,
                **place,
                "bgcolor": theme.translucent(self.colors.ground, _BACKING),
                "borderpad": 1,
                **more,
            }
        )


def curve_points(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Points about 4 px apart on the line through (x, y), px, shape (n, 2); a NaN is a gap."""
    points = np.column_stack([x, y])
    whole = points[np.isfinite(points).all(axis=1)]
    ends = np.isfinite(points[:-1]).all(axis=1) & np.isfinite(points[1:]).all(axis=1)
    start, step = points[:-1][ends], np.diff(points, axis=0)[ends]
    longest = float(np.hypot(*step.T).max(initial=0.0))
    shares = np.linspace(0, 1, min(int(longest / _STEP_PX) + 1, 40), endpoint=False)
    dense = (start[:, None, :] + shares[None, :, None] * step[:, None, :]).reshape(-1, 2)
    # One a cell: a curve of many values must not weigh more than one of few.
    cells = np.round(np.concatenate([dense, whole]) / _STEP_PX)
    return np.unique(cells, axis=0) * _STEP_PX


def around(at: tuple[float, float], text: str, size: float, away: float, bold: bool = False) -> list[Box]:
    """Places for a label beside a point, best first: above, below, right, left, above and below to the sides, diagonal."""
    width, line = text_width_px(text, size, bold), 1.3 * size
    up, side = away + line / 2, away + width / 2
    steps = [(0, up), (0, -up), (side, 0), (-side, 0)]
    steps += [(dx * (width / 2 - 4), dy) for dy in (up, -up) for dx in (1, -1)]
    steps += [(dx * side, dy) for dy in (line, -line) for dx in (1, -1)]
    return [Box.around(at[0] + dx, at[1] + dy, width, line) for dx, dy in steps]


def nearest_to(at: tuple[float, float], others: Sequence[tuple[float, float]], boxes: list[Box]) -> list[Box]:
    """The boxes that no other point is nearer to than `at`, px: elsewhere a label would seem to name that other point."""

    def away(box: Box, x: float, y: float) -> float:
        return float(np.hypot(max(box.left - x, 0.0, x - box.right), max(box.bottom - y, 0.0, y - box.top)))

    return [box for box in boxes if all(away(box, *at) <= away(box, *other) for other in others)]


def along(label: str, y: float, size: float, width: float) -> list[Box]:
    """Places for a label just below or above a horizontal line."""
    text_width, line = text_width_px(label, size), 1.3 * size
    centres = np.linspace(text_width / 2 + 4, max(width - text_width / 2 - 4, text_width / 2 + 4), 6)
    return [Box.around(x, y + dy, text_width, line) for dy in (-line / 2 - 3, line / 2 + 3) for x in centres]


def reason_places(
    span: tuple[float, float], spans: Sequence[tuple[float, float]], reason: str, height: float, size: float
) -> list[tuple[int, list[Box]]]:
    """(text angle, places): across the span (px) where it is wide enough, else upright in it, else beside all spans."""
    left, right = span
    middle, long, line = (left + right) / 2, text_width_px(reason, size), 1.3 * size
    across = [Box.around(middle, y, long, line) for y in (height - 6 - line / 2, 6 + line / 2)]
    upright = [Box.around(middle, y, line, long) for y in (height - 6 - long / 2, 6 + long / 2)]
    sides = [left - 4 - long / 2, right + 4 + long / 2]
    beside = [Box.around(x, y, long, line) for x in sides for y in (height - 6 - line / 2, 6 + line / 2)]
    beside = [box for box in beside if not any(box.left < b and a < box.right for a, b in spans)]
    places = [(0, across)] if long + 8 <= right - left else []
    places += [(-90, upright)] if line <= right - left else []
    return [*places, (0, beside)]


def place_near(
    pen: Writer,
    at: tuple[float, float],
    marks: Sequence[tuple[float, float]],
    text: str,
    rings: Sequence[float] = AWAY,
    must: bool = False,
) -> Box | None:
    """The nearest clear place beside a point that is nearer to it than to any other mark; with `must`, some place in any case."""
    others = [mark for mark in marks if np.isfinite(mark).all()]
    boxes = []
    for away in rings:
        ring = around(at, text, pen.size, away, bold=True)
        boxes += ring
        if box := clear_place(pen, _nearer(ring, at, others)):
            return box
    return pen.best(boxes, must=True) if must else None


def place_led(pen: Writer, at: tuple[float, float], text: str) -> Box | None:
    """The nearest clear place around a point to which a straight line leads that crosses no other text and no mark."""
    width, line = text_width_px(text, pen.size, bold=True), 1.3 * pen.size
    taken = theme.edges(pen.taken)
    for angles, away in product(_LED_ANGLES, LED_AWAY):
        steps = [(np.cos(a) * (away + width / 2), np.sin(a) * (away + line / 2)) for a in angles]
        boxes = _clear_of(pen, [Box.around(at[0] + dx, at[1] + dy, width, line) for dx, dy in steps])
        if boxes := [box for box in boxes if _free(_leader(box, at), taken)]:
            return pen.best(boxes, must=True)
    return None


def _leader(box: Box, at: tuple[float, float]) -> np.ndarray:
    """Points about 4 px apart on the line from a point's mark to a box, shape (n, 2), px."""
    to = np.array([(box.left + box.right) / 2, (box.bottom + box.top) / 2])
    long = float(np.hypot(*(to - at)))
    points = at + np.arange(_MARK_PX, max(long, _MARK_PX), _STEP_PX)[:, None] * (to - at) / long
    x, y = points.T
    return points[(x < box.left) | (x > box.right) | (y < box.bottom) | (y > box.top)]


def _free(points: np.ndarray, taken: np.ndarray) -> bool:
    """True where no point lies in a box. taken: left, right, bottom and top of each, shape (4, n, 1)."""
    (x, y), (left, right, bottom, top) = points.T, taken
    return not np.any((x > left) & (x < right) & (y > bottom) & (y < top))


def _nearer(boxes: list[Box], at: tuple[float, float], others: Sequence[tuple[float, float]]) -> list[Box]:
    """The boxes that none of the other points is nearer to than `at` (nearest_to for many points)."""
    left, right, bottom, top = theme.edges(boxes)
    x, y = np.array([at, *others]).T
    across = np.maximum(np.maximum(left - x, x - right), 0.0)
    away = np.hypot(across, np.maximum(np.maximum(bottom - y, y - top), 0.0))
    return [box for box, own, rest in zip(boxes, away[:, 0], away.min(axis=1), strict=True) if own <= rest]


def beside_upright(x: float, lines: Sequence[str], size: float, height: float) -> list[Box]:
    """Places for lines of text beside an upright line, at its upper end first, all px."""
    long, tall = max(text_width_px(line, size) for line in lines), 1.3 * size * len(lines)
    heights = np.linspace(height - tall / 2 - 4, tall / 2 + 4, 12)
    return [Box.around(x + side * (long / 2 + 5), y, long, tall) for side in (1, -1) for y in heights]


def on_curve(curve: np.ndarray, text: str, size: float, height: float) -> Iterator[Box]:
    """Places for a text in a line that it interrupts, those towards the line's end first. curve: shape (n, 2), px."""
    whole = curve[(curve[:, 1] >= 0) & (curve[:, 1] <= height)]
    order = np.argsort(np.abs(np.arange(len(whole)) - 0.85 * len(whole)), kind="stable")
    return (Box.around(*whole[i], text_width_px(text, size, bold=True), 1.3 * size) for i in order)


def clear(pen: Writer, box: Box) -> bool:
    """True where a text would lie in the panel and cover no other text and no mark; it may hide a piece of a line."""
    return bool(_clear_of(pen, [box]))


def _clear_of(pen: Writer, boxes: list[Box]) -> list[Box]:
    """The clear ones of the boxes."""
    inside = [box for box in boxes if box.left >= 0 and box.right <= pen.width and box.bottom >= 0 and box.top <= pen.height]
    return [box for box, hit in zip(inside, theme.hits(inside, pen.taken), strict=True) if not hit]


def clear_place(pen: Writer, boxes: list[Box]) -> Box | None:
    """The best of the clear places, None where there is none."""
    return pen.best(_clear_of(pen, boxes), must=True)
