"""Serving configurations a second on one core, in pieces and bounded memory, beside a loop over rows.

Run from the repository: python tests/bench/bench_serving.py [configurations]. Prints; nothing here is a test.
"""

import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fastmode.catalog import load  # noqa: E402
from fastmode.serving import ServingConfig, serve  # noqa: E402
from fastmode.serving.in_chunks import CHUNK, serve_chunks  # noqa: E402

GOAL = 1e6
LOOP = 500


def configurations(catalog, size: int) -> ServingConfig:
    """Every model on every part, at random batch, context and chips."""
    random = np.random.default_rng(1)
    return ServingConfig(
        model=random.integers(0, len(catalog.models), size), hardware=random.integers(0, len(catalog.hardware), size),
        n_chips=random.choice([0, 1, 2, 4, 8, 16], size), batch=random.integers(1, 257, size).astype(float),
        context_tokens=random.uniform(500, 1e5, size), fresh_tokens=random.uniform(100, 1e4, size),
        output_tokens=random.uniform(100, 2000, size), engine=random.integers(0, 4, size),
    )  # fmt: skip


def main(size: int) -> None:
    """Print the table. Processor time of this process alone, so that a busy machine does not count."""
    catalog = load()
    config = configurations(catalog, size)
    serve(configurations(catalog, 10), catalog)
    started = time.process_time()
    served = sum(int((piece.status == 0).sum()) for piece in serve_chunks(config, catalog))
    pieces_s = time.process_time() - started
    tracemalloc.start()
    for _piece in serve_chunks(configurations(catalog, 5 * CHUNK), catalog):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = [
        ServingConfig(**{k: v[i] for k, v in config.broadcast().items()}, queue_overflow=False) for i in range(LOOP)
    ]
    started = time.process_time()
    for row in rows:
        serve(row, catalog)
    loop_s = time.process_time() - started
    rate, loop_rate = size / pieces_s, LOOP / loop_s
    print(f"{size:,} configurations in pieces of {CHUNK:,}: {pieces_s:.2f} s, {rate:,.0f} a second (goal {GOAL:,.0f})")
    print(f"{'of which can be served':>38}: {served:,}")
    print(f"{'one row at a time':>38}: {loop_rate:,.0f} a second, ratio {rate / loop_rate:,.0f}")
    print(f"{'memory beyond the input, at most':>38}: {peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
