"""Physics of serving: memory, decode, attention, prefill, parallelism, speculation."""

from fastmode.serving.automatic import serve_automatic
from fastmode.serving.batch_fixed import serve
from fastmode.serving.configuration import ENGINES, PRECISIONS, ServingConfig, engine_code, precision_code
from fastmode.serving.service import Service
from fastmode.serving.tables import accept_curves

__all__ = [
    "ENGINES", "PRECISIONS", "Service", "ServingConfig", "accept_curves", "engine_code", "precision_code", "serve",
    "serve_automatic",
]  # fmt: skip
