"""Cases on which the productivity model is tested: inputs drawn over the whole range of the controls, edges included.

A case is a row of bytes, one for each column of COLUMNS. The first codes of a column are its edges, the others lie
between its smallest and largest value. Bytes are cheap to draw by the thousand, and Hypothesis shrinks them towards 0,
the first edge. Each row is read several times, each time from another byte on, which makes as many cases of it.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from fastmode.catalog import load
from fastmode.productivity import TaskInputs

ROWS = 64  # drawn for one batch
STARTS = (0, 7, 15, 22)  # bytes from which a row is read
CASES = ROWS * len(STARTS)  # of one batch
_CODES = 256

# Fields of TaskInputs whose row of data/assumptions.csv is named otherwise.
ASSUMPTION = {"error_rate": "error", "tokens_per_s": "anchor_tokens_per_s", "ttft_s": "anchor_ttft_s"}
WHOLE = ("calls", "max_attempts")
# Close to where a formula divides by zero, loses its digits or changes its branch.
NEAR = {
    "error_rate": (1e-9, 1 - 1e-6, 1 - 1e-12),
    "detect": (1e-9, 1 - 1e-6, 1 - 1e-12),
    "reuse": (1 - 1e-6,),
    "retry_ratio": (1 - 1e-9, 1 + 1e-9),
    "n_out": (0.0,),
    "fix_time_s": (0.0,),
}
# More of their cases lie on an edge, so that edges of several of them meet.
OFTEN = ("error_rate", "detect", "retry_ratio", "max_attempts", "reuse")
TIES = 12  # codes of the last byte that put the threshold on the wait, or one rounding below or above it


class Column(NamedTuple):
    edges: np.ndarray
    low: float
    high: float
    edge_codes: int
    power: int  # 1: evenly spread; 4: spread over the decades
    whole: bool


def _column(name: str, assumptions) -> Column:
    row = assumptions.loc[ASSUMPTION.get(name, name)]
    figures = [float(x) for x in row[["default", "low", "high", "min", "max"]] if x not in (None, "") and x == x]
    low, high = float(row["min"]), float(row["max"])
    edges = np.array(list(dict.fromkeys([*figures, *NEAR.get(name, ())])))
    return Column(edges, low, high, 64 if name in OFTEN else 24, 4 if high > 10 else 1, name in WHOLE)


FIELDS = tuple(field.name for field in fields(TaskInputs))
_UNIT = Column(np.array([0.0, 1.0, 1e-9, 1e-6, 1 - 1e-9]), 0.0, 1.0, 32, 1, False)
_ASSUMPTIONS = load().assumptions
COLUMNS = {name: _column(name, _ASSUMPTIONS) for name in FIELDS} | {"one": _UNIT, "other": _UNIT}
WIDTH = len(COLUMNS) + 1  # one byte says whether threshold and wait tie


@dataclass(frozen=True, eq=False, repr=False)
class Cases:
    """inputs: arrays of one shape (n,); one, other: numbers from 0 to 1 for whatever a property needs besides, (n,)."""

    inputs: TaskInputs
    one: np.ndarray
    other: np.ndarray
    keys: list[bytes]  # (n,) what tells one case from another

    def __repr__(self) -> str:
        return f"{len(self.keys)} cases"

    def text(self, row: int) -> str:
        """One case in words, to be read (and typed in) when a property fails."""
        arrays = {name: getattr(self.inputs, name) for name in FIELDS} | {"one": self.one, "other": self.other}
        return ", ".join(f"{name}={float(values[row])!r}" for name, values in arrays.items())


def _values(column: Column, codes: np.ndarray, offset: float) -> np.ndarray:
    between = (codes - column.edge_codes + offset) / (_CODES - column.edge_codes)
    value = column.low + (column.high - column.low) * np.maximum(between, 0.0) ** column.power
    value = np.round(value) if column.whole else value
    return np.where(codes < column.edge_codes, column.edges[codes % len(column.edges)], value)


def wait_of(inputs: TaskInputs) -> np.ndarray:
    """Wait of one attempt in seconds, in the words of the specification: q + c (h + tau) + N_out / v + T_tool."""
    decoding = inputs.n_out / inputs.tokens_per_s
    return inputs.start_delay_s + inputs.calls * (inputs.handshake_s + inputs.ttft_s) + decoding + inputs.tool_time_s


def spelled_out(i: TaskInputs) -> dict[str, np.ndarray]:
    """The twelve outputs of the productivity command, attempt by attempt: a second writing, without the closed forms.

    Attempts are followed up to the largest limit of the control.
    """
    wait = wait_of(i)
    beyond = wait - i.theta_s
    switch = i.resume_s * (1 - np.exp(-np.maximum(beyond, 0) / i.kappa_s))
    lost = np.where(beyond <= 0, wait, i.theta_s + (1 - i.reuse) * beyond + switch)
    attempt = lost + 3600 * i.loc / i.review_rate_loc_per_h
    escape = i.escape_factor * i.fix_time_s

    retry_error = np.maximum(0, 1 - i.retry_ratio * (1 - i.error_rate))
    tried, wrong = np.ones(wait.shape), i.error_rate  # P(this attempt is made), P(it is wrong)
    attempts, manual, escaped = (np.zeros(wait.shape) for _sum in range(3))
    for number in range(1, int(COLUMNS["max_attempts"].high) + 1):
        caught = tried * wrong * i.detect
        attempts, escaped = attempts + tried, escaped + tried * wrong * (1 - i.detect)
        manual = manual + np.where(number == i.max_attempts, caught, 0)
        tried, wrong = np.where(number >= i.max_attempts, 0, caught), retry_error

    time = i.prompt_time_s + attempts * attempt + (attempts - 1) * i.reprompt_time_s
    time = time + manual * i.fix_time_s + escaped * escape
    tokens = attempts * (i.n_in * i.price_in_usd_per_mtok + i.n_out * i.price_out_usd_per_mtok) / 1e6
    cost = tokens + i.wage_usd_per_h * time / 3600
    unaided = i.baseline_s + i.baseline_error * (1 - i.detect) * escape
    with np.errstate(all="ignore"):
        value = i.wage_usd_per_h * unaided / 3600 / cost
    return {
        "wait_s": wait,
        "lost_s": lost,
        "retry_error": retry_error,
        "attempts": attempts,
        "p_manual": manual,
        "p_escaped": escaped,
        "time_per_task_s": time,
        "token_cost_usd": tokens,
        "cost_per_task_usd": cost,
        "net_productivity": unaided / time,
        "saved_s": unaided - time,
        "value_ratio": value,
    }


def cases(rows: bytes, offset: float) -> Cases:
    """Cases from rows of WIDTH bytes, len(STARTS) of each.

    offset: from 0 to 1, moves the values between the edges by this part of the step from one code to the next.
    """
    drawn = np.frombuffer(rows, np.uint8).reshape(-1, WIDTH)
    codes = np.concatenate([np.roll(drawn, -start, axis=1) for start in STARTS])
    keys = [row.tobytes() + str(offset).encode() for row in codes]
    codes = codes.astype(int)
    values = {name: _values(column, codes[:, i], offset) for i, (name, column) in enumerate(COLUMNS.items())}
    one, other = values.pop("one"), values.pop("other")
    inputs = TaskInputs(**values)
    tie = codes[:, -1] - (_CODES - TIES)
    tied = wait_of(inputs) * (1 + (tie % 3 - 1) * np.finfo(float).eps)
    inputs = replace(inputs, theta_s=np.where(tie >= 0, tied, inputs.theta_s))
    return Cases(inputs, one, other, keys)


@st.composite
def batches(draw) -> Cases:
    """CASES cases at once."""
    size = ROWS * WIDTH
    return cases(draw(st.binary(min_size=size, max_size=size)), draw(st.floats(0, 1, exclude_max=True)))


def fixed_cases(n: int) -> Cases:
    """The same n cases (a multiple of len(STARTS)) on every call, for checks that need no search."""
    return cases(np.random.default_rng(0).bytes(n // len(STARTS) * WIDTH), 0.5)
