"""Time of the draws: bands and chances of one scenario and of a curve, swings, flips, and the plane of trades.

Run from the repository: python tests/bench/bench_uncertainty.py [repeats]. Prints medians and how they compare with the plain
evaluation of the same scenario; nothing here is a test.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fastmode.catalog import load  # noqa: E402
from fastmode.evaluate import Evaluation, evaluate  # noqa: E402
from fastmode.flips import flips  # noqa: E402
from fastmode.scenario import Scenario, all_fields, default  # noqa: E402
from fastmode.sweep import along, as_sweep  # noqa: E402
from fastmode.trade import MORE_POINTS, Judged, founding, plane  # noqa: E402
from fastmode.uncertainty import CURVE_DRAWS, DRAWS, spread, swings  # noqa: E402
from tests.bench.bench_model import median_ms  # noqa: E402

GOAL_MS = 25.0
POINTS = 60


def main(repeats: int) -> None:
    """Print the table."""
    catalog = load()
    start = default()
    curves = {
        "batch": replace(start, batch_size=np.geomspace(1, 64, POINTS)),
        "distillation": replace(start, distillation=np.geomspace(1, 100, POINTS)),
        "an assumption": replace(start, detect=np.linspace(0.1, 0.9, POINTS)),
    }
    grid = all_fields(catalog)["fix_time_s"].grid
    evaluated = {0: [evaluate(replace(start, fix_time_s=value), catalog) for value in grid]}
    evaluated |= {name: [evaluate(scenario, catalog)] for name, scenario in curves.items()}

    def drawn(name) -> Callable[[int], object]:
        """Draws, chances and bands on an evaluation whose widths are known; each call draws anew."""
        made = evaluated[name]
        for e in made:
            assert e.widths

        def work(i: int) -> None:
            e = made[i % len(made)]
            found = spread(e.scenario, e.now, e.reference, e.widths, catalog)
            assert found.quantiles and found.p_faster.size and found.p_cheaper.size

        return work

    def plain(name) -> Callable[[int], object]:
        made = [e.scenario for e in evaluated[name]]
        return lambda i: evaluate(made[i % len(made)], catalog)

    def whole_outputs(i: int) -> object:
        e: Evaluation = evaluated[0][i % len(grid)]
        return evaluate(e.scenario, catalog).outputs()

    def tornado(i: int) -> object:
        e = evaluated[0][i % len(grid)]
        return swings(e.scenario, (e.now, e.reference), e.widths, catalog, e.spread.worlds.drivers)

    def curve(i: int) -> object:
        """The bands of a curve of 200 points, of which every fourth is drawn."""
        scenario: Scenario = along(start, "batch", catalog)
        return as_sweep(start, "batch", evaluate(scenario, catalog)).bands(90)

    trade = founding(catalog)[MORE_POINTS]
    judged = evaluated[0]
    one = median_ms(plain(0), repeats)
    print(f"{'evaluate, one scenario':>46}: {one:7.2f} ms")
    rows = {
        f"{DRAWS} draws, one point": drawn(0),
        "evaluate with all outputs and their bands": whole_outputs,
        "swings, one scenario": tornado,
        "flips of the option": lambda i: flips(judged[i % len(grid)].scenario, None, catalog),
        "flips of the founding claim": lambda i: flips(judged[i % len(grid)].scenario, trade, catalog),
        "founding claim in all worlds": lambda i: Judged(judged[i % len(grid)], trade).changes,
        "plane of trades": lambda i: plane(judged[i % len(grid)], -0.1, 0.5),
        "curve of 200 points with its band": curve,
    }
    for name, work in rows.items():
        took = median_ms(work, repeats)
        print(f"{name:>46}: {took:7.2f} ms ({took / one:.1f} x one evaluation)")
    for name in curves:
        took, base = median_ms(drawn(name), repeats), median_ms(plain(name), repeats)
        label = f"{CURVE_DRAWS} draws x {POINTS} points over {name}"
        print(f"{label:>46}: {took:7.2f} ms (goal {GOAL_MS:g} ms; {took / base:.1f} x its evaluation of {base:.2f} ms)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
