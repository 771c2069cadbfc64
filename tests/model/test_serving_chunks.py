"""Configurations served in pieces are those served at once."""

from dataclasses import fields

import numpy as np
import pytest

from fastmode import catalog
from fastmode.serving import Service, ServingConfig, serve
from fastmode.serving.in_chunks import serve_chunks


@pytest.fixture(scope="module")
def cat():
    return catalog.load()


def many(cat, size):
    random = np.random.default_rng(7)
    return ServingConfig(
        model=random.integers(-1, len(cat.models), size), hardware=random.integers(-1, len(cat.hardware), size),
        n_chips=8, batch=random.integers(1, 300, size).astype(float), context_tokens=random.uniform(100, 1e5, size),
        engine=random.integers(0, 4, size), queue_overflow=True,
    )  # fmt: skip


@pytest.mark.parametrize("rows", [1, 7, 100, 1000])
def test_pieces_are_the_whole(cat, rows):
    config = many(cat, 100)
    whole, pieces = serve(config, cat), list(serve_chunks(config, cat, rows))
    assert [len(p.status) for p in pieces] == [min(rows, 100 - i) for i in range(0, 100, rows)]
    for field in fields(Service):
        joined = np.concatenate([getattr(piece, field.name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(whole, field.name), err_msg=field.name)


def test_scalars_alone_are_one_piece_and_bad_input_is_refused(cat):
    (only,) = serve_chunks(ServingConfig(model=0, hardware=1, n_chips=8), cat)
    assert only.tpot_s[0] == serve(ServingConfig(model=0, hardware=1, n_chips=8), cat).tpot_s[0]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        next(serve_chunks(many(cat, 5), cat, 0))
    with pytest.raises(ValueError):
        next(serve_chunks(ServingConfig(model=np.zeros(3), hardware=np.zeros(2)), cat))
