"""Physics of serving: memory, decode, attention, prefill, parallelism, speculation."""

from fastmode.serving.automatic import serve_automatic
from fastmode.serving.batch_fixed import serve
from fastmode.serving.chain import Balance, Replica, balance, replica_of
from fastmode.serving.configuration import ENGINES, PRECISIONS, ServingConfig, engine_code, precision_code
from fastmode.serving.service import Service
from fastmode.serving.simulation import Simulated, simulate
from fastmode.serving.static import StaticBatch, static_batch
from fastmode.serving.tables import accept_curves
from fastmode.serving.traffic import Goodput, Traffic, goodput, meets, serve_traffic
from fastmode.serving.under_load import ServiceInTraffic, in_traffic

__all__ = [
    "ENGINES", "PRECISIONS", "Balance", "Goodput", "Replica", "Service", "ServiceInTraffic", "ServingConfig", "Simulated",
    "StaticBatch", "Traffic", "accept_curves", "balance", "engine_code", "goodput", "in_traffic", "meets", "precision_code",
    "replica_of", "serve", "serve_automatic", "serve_traffic", "simulate", "static_batch",
]  # fmt: skip
