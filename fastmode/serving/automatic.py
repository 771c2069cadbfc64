"""Automatic layout: how many attention groups a deployment runs where nobody has said so."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastmode.serving.batch_fixed import serve
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.service import OK, Service
from fastmode.serving.tables import tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog


def serve_automatic(config: ServingConfig, catalog: Catalog) -> Service:
    """`serve`, with dp = 0 read as the better of one attention group and one group per chip of a server.

    Models with a latent cache (MLA) cannot shard it by head: under tensor parallelism every chip holds a copy, so a large
    batch runs out of memory, while a small one gains from sharing the attention weights. Whoever serves such a model picks
    by batch; so does this. Better = fewer chips where the number is automatic, then more tokens/s per user. The larger of two
    speeds that do not rise with batch does not rise either. Other models, SRAM machines and dp > 0 are served as asked.
    """
    v = config.broadcast()
    table = tables(catalog)
    size = len(v["model"])
    latent, domains = _grouping(catalog)
    open_rows = np.flatnonzero((v["dp"] == 0) & latent[v["model"]] & (domains[v["hardware"]] > 0))
    if not open_rows.size:
        return serve(config, catalog)
    chips = np.where(v["n_chips"][open_rows] > 0, v["n_chips"][open_rows], domains[v["hardware"][open_rows]])
    groups = np.minimum(chips, table.constants.auto_dp_chips)
    # Where the chips of a group are asked for, as many groups as a scale-up domain has room for.
    asked = v["tp"][open_rows]
    room = np.maximum(np.floor(domains[v["hardware"][open_rows]] / np.maximum(asked, 1.0)), 1.0)
    groups = np.where(asked > 0, np.minimum(groups, room), groups)
    rows = np.concatenate([np.arange(size), open_rows])
    joined = {name: values[rows] for name, values in v.items()}
    joined["dp"][size:] = groups
    both = serve(ServingConfig(**joined, queue_overflow=config.queue_overflow), catalog)
    one, many = both.slice(0, size), both.slice(size, len(rows))
    return _choose(one, many, open_rows)


def _choose(one: Service, many: Service, open_rows: NDArray) -> Service:
    here = {f.name: getattr(one, f.name)[open_rows] for f in fields(Service)}
    works = many.status == OK
    fewer = many.n_chips < here["n_chips"]
    faster = (many.n_chips == here["n_chips"]) & (many.tokens_per_s_per_user > here["tokens_per_s_per_user"])
    # Where neither works, the reason with the larger batch in it is the useful one.
    closer = (here["status"] != OK) & (many.max_batch > here["max_batch"])
    better = np.where(works, (here["status"] != OK) | fewer | faster, closer)
    chosen = open_rows[better]
    out = {}
    for f in fields(Service):
        values = getattr(one, f.name)
        if chosen.size:
            values = values.copy()
            values[chosen] = getattr(many, f.name)[better]
        out[f.name] = values
    neither = ~works & (here["status"] != OK)
    out["fewest_chips"] = out["fewest_chips"].copy()
    out["fewest_chips"][open_rows] = np.where(
        neither, np.fmin(here["fewest_chips"], many.fewest_chips), out["fewest_chips"][open_rows]
    )
    # The largest batch is that of either layout: the better one is chosen for the batch asked, not for the largest.
    out["max_batch"] = one.max_batch.copy()
    same_chips = (many.n_chips == here["n_chips"]) | ~works
    chosen_max = np.where(better, many.max_batch, here["max_batch"])
    out["max_batch"][open_rows] = np.where(same_chips, np.fmax(here["max_batch"], many.max_batch), chosen_max)
    return Service(**out)


@lru_cache(maxsize=8)
def _grouping(catalog: Catalog) -> tuple[NDArray, NDArray]:
    """(model keeps a latent cache, chips of the scale-up domain where groups are possible, else 0); last row = unknown."""
    latent = catalog.models["attention_kind"].str.startswith("MLA").to_numpy()
    table = catalog.hardware
    domain = table["scaleup_domain_chips"].where(table["memory_kind"] != "SRAM", 0.0).fillna(0.0).to_numpy(float)
    return np.append(latent, False), np.append(np.where(domain > 1, domain, 0.0), 0.0)
