"""The answer of the serving model."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fastmode.i18n import N_, _

OK, INVALID, NO_MODEL, NO_HARDWARE, NO_ARCHITECTURE, NO_CHIP_DATA, TOO_FEW_CHIPS, BATCH, NO_LINK, NEVER = range(10)

_REASONS = {
    OK: N_("ok"),
    INVALID: N_("not a usable configuration: {column}"),
    NO_MODEL: N_("unknown model"),
    NO_HARDWARE: N_("unknown hardware"),
    NO_ARCHITECTURE: N_("no architecture for this model"),
    NO_CHIP_DATA: N_("memory, bandwidth or peak of this hardware is not published"),
    TOO_FEW_CHIPS: N_("weights do not fit: needs {chips} chips"),
    BATCH: N_("batch {batch} does not fit: at most {most} at this context"),
    NO_LINK: N_("{asked} chips of this kind cannot be linked; the model needs {chips}"),
    NEVER: N_("one sequence of this context does not fit on any number of chips"),
}


@dataclass(frozen=True)
class Service:
    """One-dimensional arrays of length N; figures are NaN where the status is not 0.

    Bytes are summed over all chips, copies included. Times are seconds; the six `..._s` parts of an output token
    (weights, kv, compute, collectives, overhead, others_prefill) add up to `tpot_s` exactly.
    """

    status: NDArray  # int8, 0 = ok
    problem: NDArray  # int16, index of the field an invalid configuration fails on, -1 none
    batch: NDArray  # running sequences over all chips
    asked_batch: NDArray
    asked_chips: NDArray
    n_chips: NDArray
    tp: NDArray  # chips an attention group spans
    stages: NDArray
    replicas: NDArray
    weight_precision: NDArray  # int, code used
    kv_precision: NDArray  # int, code used
    max_batch: NDArray  # at this number of chips and context
    fewest_chips: NDArray
    weights_bytes: NDArray
    kv_bytes: NDArray
    activation_bytes: NDArray
    reserve_bytes: NDArray
    capacity_bytes: NDArray
    weights_s: NDArray
    kv_s: NDArray
    compute_s: NDArray
    collectives_s: NDArray
    overhead_s: NDArray
    others_prefill_s: NDArray
    step_s: NDArray  # pure decode step; with speculation one verification step and its drafts
    tpot_s: NDArray
    tokens_per_s_per_user: NDArray
    prefill_s: NDArray
    queue_s: NDArray
    ttft_s: NDArray
    output_tokens_per_s: NDArray  # all chips, the prefill of the same requests included
    prefill_tokens_per_s: NDArray  # all chips, prefill only
    decode_tokens_per_s: NDArray  # all chips, decode only
    energy_j_per_token: NDArray  # chips at TDP per output token
    model: NDArray  # the configuration as served, for comparing two: row of catalog.models
    hardware: NDArray
    engine: NDArray
    context_tokens: NDArray
    size_ratio: NDArray
    kind: NDArray  # of the machine, index of evidence.KINDS
    outside: NDArray  # int16, bits of evidence.OUTSIDE: in which way this lies outside what has been measured
    novel: NDArray  # how many of chip, its vendor, engine, kind of attention and speculation have no measured rows
    beyond: NDArray  # e-folds outside the measured range of batch, context and chips together; 0 inside

    def reason(self, i: int) -> str:
        """Why configuration `i` has no figures, in the reader's language; `ok` when it has."""
        code = int(self.status[i])
        return _(_REASONS[code]).format(
            column=CHECKED[int(self.problem[i])] if code == INVALID else "",
            chips=_whole(self.fewest_chips[i]),
            asked=_whole(self.asked_chips[i]),
            batch=_whole(self.asked_batch[i]),
            most=_whole(max(float(self.max_batch[i]), 0.0)),
        )

    def slice(self, start: int, stop: int) -> Service:
        """The configurations start..stop as a Service of their own (views, no copy)."""
        return Service(**{field.name: getattr(self, field.name)[start:stop] for field in fields(self)})

    def replaced(self, rows: NDArray, other: Service) -> Service:
        """A copy in which the configurations `rows` (indices) are those of `other`, in order."""
        values = {}
        for field in fields(self):
            array = getattr(self, field.name).copy()
            array[rows] = getattr(other, field.name)
            values[field.name] = array
        return Service(**values)


CHECKED = (
    "n_chips", "tp", "pp", "dp", "ep", "batch", "context_tokens", "fresh_tokens", "cached_tokens", "output_tokens",
    "draft_tokens", "size_ratio", "weight_precision", "kv_precision", "engine", "speculation",
)  # fmt: skip


def _whole(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else "?"
