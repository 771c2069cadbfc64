"""Time of the model without pages: one evaluation, what a slider move asks for, and many configurations at once.

Run from the repository: python tests/bench/bench_model.py [repeats]. Prints medians; nothing here is a test.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fastmode import picture  # noqa: E402
from fastmode.cards import cards  # noqa: E402
from fastmode.evaluate import evaluate  # noqa: E402
from fastmode.scenario import all_fields, default  # noqa: E402
from fastmode.sweep import along, as_sweep, sweep  # noqa: E402
from fastmode.together import evaluate_together  # noqa: E402

GOAL_MS = 5.0
MANY = 100_000


def median_ms(work: Callable[[int], object], repeats: int) -> float:
    """Median time of `work(i)` in ms after one warm-up call."""
    work(-1)
    times = []
    for i in range(repeats):
        started = time.perf_counter()
        work(i)
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


def main(repeats: int) -> None:
    """Print the table."""
    start = default()
    evaluation = evaluate(start)
    grid = all_fields()["fix_time_s"].grid

    def moved(i: int):
        return replace(start, fix_time_s=grid[i % len(grid)])

    def curves(i: int) -> None:
        """What the goal names: four cards, four curves of 200 points and all hardware."""
        scenario = moved(i)
        asked = [scenario, along(scenario, "batch"), along(scenario, "hardware", all_hardware=True)]
        now, batch, hardware = evaluate_together(asked)
        cards(now)
        as_sweep(scenario, "batch", batch)
        as_sweep(scenario, "hardware", hardware)

    def one_by_one(i: int) -> None:
        """The same, one evaluation after the other."""
        scenario = moved(i)
        cards(evaluate(scenario))
        sweep(scenario, "batch")
        sweep(scenario, "hardware", all_hardware=True)

    rows = {
        "evaluate, one scenario": lambda i: evaluate(moved(i)),
        "cards": lambda _i: cards(evaluation),
        "sweep, 200 points": lambda i: sweep(moved(i), "batch"),
        "Overview with verdict": lambda i: picture.overview(moved(i)),
        "Trade-offs with verdict, no cards": lambda i: picture.trade_offs(moved(i), "batch"),
    }
    for name, work in rows.items():
        print(f"{name:>38}: {median_ms(work, repeats):6.2f} ms")
    together, alone = median_ms(curves, repeats), median_ms(one_by_one, repeats)
    print(
        f"{'cards + 4 x 200 points + all hardware':>38}: {together:6.2f} ms (goal {GOAL_MS:g} ms; one by one {alone:.2f} ms, ratio {together / alone:.2f})"
    )
    many = replace(start, batch_size=np.geomspace(1, 16, MANY), distillation=np.geomspace(1, 100, MANY))
    seconds = median_ms(lambda i: evaluate(many), 3) / 1e3
    print(f"{f'{MANY:,} configurations at once':>38}: {seconds:6.2f} s, {MANY / seconds:,.0f} a second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
