"""Any number of configurations in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from fastmode.serving.batch_fixed import serve
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.service import Service

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

# Some forty intermediate arrays of this length stay within a processor's cache; both shorter and longer pieces are slower.
CHUNK = 8_000


def serve_chunks(config: ServingConfig, catalog: Catalog, rows: int = CHUNK) -> Iterator[Service]:
    """`serve`, `rows` configurations at a time and in order: only one piece of the answer is in memory at once.

    Attributes of `config` that are scalars or of length 1 stay so; the rest are cut, not copied. Raises ValueError when the lengths do
    not agree or `rows` is below 1.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    names = [f.name for f in fields(ServingConfig) if f.name != "queue_overflow"]
    arrays = {name: np.atleast_1d(getattr(config, name)) for name in names}
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    if len(shape) != 1:
        raise ValueError("serving configurations must be scalars or one-dimensional arrays")
    for start in range(0, shape[0], rows):
        part = slice(start, start + rows)
        size = min(rows, shape[0] - start)
        cut = {name: array[part] if len(array) == shape[0] else np.full(size, array[0]) for name, array in arrays.items()}
        yield serve(ServingConfig(**cut, queue_overflow=config.queue_overflow), catalog)
