"""Rows per second of `predict` over a large table, beside the same work one row at a time, and the memory it takes.

Run from the repository: python tests/bench/bench_predict.py [rows]. The table repeats data/measured.csv with other
concurrencies; nothing here is a test.
"""

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fastmode import catalog  # noqa: E402
from fastmode.csv_file import CHUNK_ROWS  # noqa: E402
from fastmode.predict import main_predict, predict  # noqa: E402

ROWS = 200_000
ONE_BY_ONE = 300


def large_table(rows: int) -> pd.DataFrame:
    """Measured rows over and over as text, each time with one request more in flight."""
    measured = pd.read_csv(ROOT / "data" / "measured.csv", dtype=str, keep_default_na=False)
    measured = measured[(measured["model_id"] != "") & (measured["hardware_id"] != "")]
    copies = -(-rows // len(measured))
    in_flight = pd.to_numeric(measured["concurrency_or_batch"])
    tables = [measured.assign(concurrency_or_batch=(in_flight + more).astype(str)) for more in range(copies)]
    return pd.concat(tables, ignore_index=True).iloc[:rows]


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mb(work: Callable[[], object]) -> float:
    """Largest memory allocated during the call beyond what was there before."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(rows: int) -> None:
    """Print the table."""
    known = catalog.load()
    table = large_table(rows)
    predict(table.iloc[:100], known)
    some = min(ONE_BY_ONE, rows)

    def one_by_one() -> None:
        for i in range(some):
            predict(table.iloc[i : i + 1], known)

    arrays = rows / seconds(lambda: predict(table, known))
    loop = some / seconds(one_by_one)
    print(f"predict, all {rows:,} rows at once      {arrays:12,.0f} rows/s")
    print(f"predict, one row at a time ({some:,} rows)  {loop:10,.0f} rows/s   ratio {arrays / loop:,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.csv"), Path(folder, "out.csv")
        table.to_csv(source, index=False)
        size = source.stat().st_size / 1e6
        stream = rows / seconds(lambda: main_predict(source, target))
        print(f"file to file ({size:,.0f} MB, {CHUNK_ROWS:,} rows a chunk) {stream:9,.0f} rows/s")
        tenth, half = max(1, rows // 10), max(1, rows // 2)
        for part, chunk in ((tenth, CHUNK_ROWS), (half, CHUNK_ROWS), (half, half)):
            table.iloc[:part].to_csv(source, index=False)
            peak = peak_mb(lambda chunk=chunk: main_predict(source, target, rows=chunk))
            print(f"peak memory, {part:9,} rows, {chunk:9,} a chunk {peak:8,.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
