"""What is served, on what, and how: the input of the serving model.

Every attribute of `ServingConfig` is a scalar or a one-dimensional array; all broadcast together to one length N.
Choices (model, hardware, precision, engine, speculation) are integer codes so that nothing is looked up by name in the
inner loop. Code -1 stands for unknown (model, hardware), the default rule (precisions) or none (speculation).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

PRECISIONS: tuple[str, ...] = (
    "bf16", "fp8", "int8", "fp4", "nvfp4", "mxfp4", "int4", "q8_0", "q4_k_m", "q4_0",
)  # fmt: skip
ENGINES: tuple[str, ...] = ("vllm", "trtllm", "sglang", "other")

_PRECISION_ALIASES = {
    "fp16": "bf16", "bfloat16": "bf16", "float16": "bf16", "f16": "bf16", "w8a8": "int8", "int8_wo": "int8",
    "fp8_block": "fp8", "e4m3": "fp8", "float8": "fp8", "w4afp8": "int4", "awq": "int4", "gptq": "int4",
    "w4a16": "int4", "q4": "q4_k_m", "q8": "q8_0",
}  # fmt: skip
_ENGINE_ALIASES = {
    "vllm": "vllm", "trtllm": "trtllm", "trt-llm": "trtllm", "tensorrt-llm": "trtllm", "tensorrt_llm": "trtllm",
    "sglang": "sglang", "sgl": "sglang",
}  # fmt: skip

BF16, FP8 = PRECISIONS.index("bf16"), PRECISIONS.index("fp8")


def precision_code(name: str) -> int | None:
    """Code of a precision name or of a usual alias (`fp16`, `awq`); -1 for an empty name, None for an unknown one."""
    key = name.strip().lower()
    if key in ("", "auto", "default"):
        return -1
    key = _PRECISION_ALIASES.get(key, key)
    return PRECISIONS.index(key) if key in PRECISIONS else None


def engine_code(name: str) -> int:
    """Code of an engine family; a name that is none of the three fitted families is `other`."""
    return ENGINES.index(_ENGINE_ALIASES.get(name.strip().lower(), "other"))


@dataclass(frozen=True)
class ServingConfig:
    """Configurations to serve; attributes broadcast to N. Counts are chips, tokens or sequences."""

    model: ArrayLike  # row of catalog.models, -1 unknown
    hardware: ArrayLike  # row of catalog.hardware, -1 unknown
    n_chips: ArrayLike = 0  # 0 = the fewest that fit
    tp: ArrayLike = 0  # 0 = automatic, here and in the next three
    pp: ArrayLike = 0
    dp: ArrayLike = 0  # data-parallel attention inside the group of chips
    ep: ArrayLike = 0
    weight_precision: ArrayLike = -1  # code in PRECISIONS, -1 = as the checkpoint was released
    kv_precision: ArrayLike = -1
    engine: ArrayLike = 0  # code in ENGINES
    batch: ArrayLike = 1.0  # running sequences; offered concurrency when queue_overflow
    context_tokens: ArrayLike = 1024.0  # mean context of a decode step
    fresh_tokens: ArrayLike = 1024.0  # prefilled per call
    cached_tokens: ArrayLike = 0.0  # attended to by the fresh tokens, not recomputed
    output_tokens: ArrayLike = 1024.0
    speculation: ArrayLike = -1  # row of accept_curves(catalog), -1 none
    draft_tokens: ArrayLike = 0
    size_ratio: ArrayLike = 1.0  # total parameters of teacher / student
    link_ratio: ArrayLike = 1.0  # what if: bandwidth between chips over that of the hardware
    hop_ratio: ArrayLike = 1.0  # what if: time of an all-reduce or hand-over before any byte moves, over the usual one
    queue_overflow: bool = False  # True: what does not fit waits; False: it is infeasible

    def broadcast(self) -> dict[str, NDArray]:
        """All attributes but `queue_overflow` as arrays of one length N: codes int64, the rest float64.

        Raises ValueError when the lengths do not agree, or where a ratio of links is not a positive number.
        """
        names = [field.name for field in fields(self) if field.name != "queue_overflow"]
        arrays = [np.atleast_1d(getattr(self, name)) for name in names]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        if len(shape) != 1:
            raise ValueError("serving configurations must be scalars or one-dimensional arrays")
        for name in LINK_RATIOS:
            ratio = np.asarray(getattr(self, name))
            if not ((ratio > 0) & (ratio < np.inf)).all():
                raise ValueError(f"{name} must be positive and finite")
        out = {}
        for name, array in zip(names, arrays, strict=True):
            array = array.astype(np.int64 if name in CODES else np.float64, copy=False)
            out[name] = array if array.shape == shape else np.full(shape, array[0])
        return out


LINK_RATIOS = ("link_ratio", "hop_ratio")
CODES = frozenset({"model", "hardware", "weight_precision", "kv_precision", "engine", "speculation"})
