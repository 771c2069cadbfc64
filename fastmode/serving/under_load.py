"""Traffic as a Service: what a deployment with requests arriving at random gives a user and costs, in the fields of `Service`.

Whatever reads a Service (speed, price, energy, the parts of a step) then reads a deployment in traffic without knowing it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmode.i18n import _
from fastmode.serving.configuration import ServingConfig
from fastmode.serving.service import Service
from fastmode.serving.traffic import INVALID_RATE, SATURATED, Traffic, serve_traffic

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

BATCH_FIXED = -1
_TOTALS = ("output_tokens_per_s", "prefill_tokens_per_s", "decode_tokens_per_s")


@dataclass(frozen=True)
class ServiceInTraffic(Service):
    """Arrays of length N. The fields of its own are NaN where the batch is fixed; rates are over all chips.

    `batch` is what a user meets, all others and the user; `running` the mean number in prefill or decode. The three totals
    in tokens/s are those of the traffic, idle time included: all are lower than at `batch` by one factor, so that input
    and output share the cost of chips that wait as they share that of chips that work. Energy per token is higher by the
    same factor (chips at TDP, also while they wait).
    """

    traffic_status: NDArray  # int8: BATCH_FIXED, or as in Traffic
    requests_per_s: NDArray
    running: NDArray
    saturation_requests_per_s: NDArray  # also where saturated
    ttft_p95_s: NDArray
    tpot_p95_s: NDArray

    def reason(self, i: int) -> str:
        """Why configuration `i` has no figures, in the reader's language; `ok` when it has."""
        if int(self.traffic_status[i]) == SATURATED:
            most = float(f"{self.saturation_requests_per_s[i]:.3g}")
            return _("saturated: more than {most} requests/s cannot be served").format(most=f"{most:.10g}")
        if int(self.traffic_status[i]) == INVALID_RATE:
            return _("not a usable request rate")
        return super().reason(i)


def in_traffic(
    config: ServingConfig, requests_per_s: ArrayLike, rows: ArrayLike, fixed: Service, catalog: Catalog
) -> ServiceInTraffic:
    """`fixed` (the answer to `config` at its own batch) with the configurations where `rows` is true put in traffic.

    `config`, `requests_per_s` and `rows` broadcast to N; a `fixed` of length 1 is repeated. Traffic as in `serve_traffic`, which
    reads `config.batch` only where n_chips is 0. Raises ValueError where lengths do not agree.
    """
    values = config.broadcast()
    shape = np.broadcast_shapes(values["model"].shape, np.shape(requests_per_s), np.shape(rows))
    values = {name: np.broadcast_to(array, shape) for name, array in values.items()}
    chosen = np.flatnonzero(np.broadcast_to(rows, shape))
    rate = np.broadcast_to(np.asarray(requests_per_s, float), shape)[chosen]
    traffic = serve_traffic(ServingConfig(**{name: array[chosen] for name, array in values.items()}), rate, catalog)
    figures = {f.name: np.array(np.broadcast_to(getattr(fixed, f.name), shape)) for f in fields(Service)}
    for name, array in _figures(traffic).items():
        figures[name][chosen] = array
    own = {name: np.full(shape, np.nan) for name in ("requests_per_s", "running", "saturation_requests_per_s", "ttft_p95_s", "tpot_p95_s")}  # fmt: skip
    for name, array in own.items():
        array[chosen] = getattr(traffic, name)
    status = np.full(shape, BATCH_FIXED, np.int8)
    status[chosen] = traffic.status
    return ServiceInTraffic(**figures, traffic_status=status, **own)


def _figures(traffic: Traffic) -> dict[str, NDArray]:
    """The fields of `Service` in traffic. Where the traffic has no figures `traffic.service` has none, and a status to match."""
    seen = traffic.service
    values = {f.name: getattr(seen, f.name) for f in fields(Service)}
    with np.errstate(divide="ignore", invalid="ignore"):
        # A deployment that is never idle puts out `seen.output_tokens_per_s`.
        used = traffic.output_tokens_per_s / seen.output_tokens_per_s
        values |= {name: values[name] * used for name in _TOTALS}
        values["energy_j_per_token"] = seen.energy_j_per_token / used
    values["ttft_s"] = traffic.ttft_s
    values["queue_s"] = seen.queue_s + (traffic.ttft_s - seen.ttft_s)
    return values
