"""Traffic as a Service: what a deployment with requests arriving at random gives a user and costs, in the fields of `Service`.

Whatever reads a Service (speed, price, energy, the parts of a step) then reads a deployment in traffic without knowing it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
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


@dataclass(frozen=True)
class ServiceInTraffic(Service):
    """Arrays of length N. The fields of its own are NaN where the batch is fixed; rates are over all chips.

    `batch` is what a user meets, all others and the user; `running` the mean number in prefill or decode. Output tokens/s are
    those of the traffic; decode and prefill tokens/s what the chips could do at the mean load, less about the share of time without
    any request, so that input and output share the cost of chips that wait. Energy per token counts chips at TDP, also
    while they wait.
    """

    traffic_status: NDArray  # int8: BATCH_FIXED, or as in Traffic
    requests_per_s: NDArray
    running: NDArray
    saturation_requests_per_s: NDArray  # also where saturated
    ttft_p95_s: NDArray
    tpot_p95_s: NDArray
    pace: NDArray  # 1, or how much faster the deployment meant runs than this one (see `at_pace`)

    def at_pace(self, pace: NDArray) -> ServiceInTraffic:
        """The same for a deployment whose times are all shorter by `pace`, as far as traffic is concerned.

        Asked at requests_per_s / pace it runs as many requests at once; the rates asked for and at saturation are those
        of the faster deployment. Times and totals in tokens/s stay the slower one's own.
        """
        pace = np.where(self.traffic_status == BATCH_FIXED, 1.0, pace)
        faster = {name: getattr(self, name) * pace for name in ("requests_per_s", "saturation_requests_per_s")}
        return replace(self, **faster, pace=self.pace * pace)

    def reason(self, i: int) -> str:
        """Why configuration `i` has no figures, in the reader's language; `ok` when it has."""
        if int(self.traffic_status[i]) == SATURATED:
            most = float(f"{self.saturation_requests_per_s[i]:.3g}")
            return _("saturated: more than {most} requests/s cannot be served").format(most=f"{most:.10g}")
        if int(self.traffic_status[i]) == INVALID_RATE:
            return _("not a usable request rate")
        return super().reason(i)


def in_traffic(
    config: ServingConfig,
    requests_per_s: ArrayLike,
    rows: ArrayLike,
    fixed: Service,
    catalog: Catalog,
    length_cv: ArrayLike = 1.0,
) -> ServiceInTraffic:
    """`fixed` (the answer to `config` at its own batch) with the configurations where `rows` is true put in traffic.

    `config`, `requests_per_s`, `rows` and `length_cv` broadcast to N; a `fixed` of length 1 is repeated. Traffic as in `serve_traffic`, which
    reads `config.batch` only where n_chips is 0. Raises ValueError where lengths do not agree.
    """
    values = config.broadcast()
    shape = np.broadcast_shapes(values["model"].shape, np.shape(requests_per_s), np.shape(rows), np.shape(length_cv))
    values = {name: np.broadcast_to(array, shape) for name, array in values.items()}
    chosen = np.flatnonzero(np.broadcast_to(rows, shape))
    rate = np.broadcast_to(np.asarray(requests_per_s, float), shape)[chosen]
    spread = np.broadcast_to(np.asarray(length_cv, float), shape)[chosen]
    traffic = serve_traffic(ServingConfig(**{name: array[chosen] for name, array in values.items()}), rate, catalog, spread)
    figures = {f.name: np.array(np.broadcast_to(getattr(fixed, f.name), shape)) for f in fields(Service)}
    for name, array in _figures(traffic).items():
        figures[name][chosen] = array
    own = {name: np.full(shape, np.nan) for name in ("requests_per_s", "running", "saturation_requests_per_s", "ttft_p95_s", "tpot_p95_s")}  # fmt: skip
    for name, array in own.items():
        array[chosen] = getattr(traffic, name)
    status = np.full(shape, BATCH_FIXED, np.int8)
    status[chosen] = traffic.status
    return ServiceInTraffic(**figures, traffic_status=status, pace=np.ones(shape), **own)


def _figures(traffic: Traffic) -> dict[str, NDArray]:
    """The fields of `Service` in traffic. Where the traffic has no figures `traffic.service` has none, and a status to match."""
    seen = traffic.service
    values = {f.name: getattr(seen, f.name) for f in fields(Service)}
    with np.errstate(divide="ignore", invalid="ignore"):
        used = traffic.output_tokens_per_s / seen.output_tokens_per_s
        # On each replica a user meets one request more than run on average; what is missing beyond that is time without any.
        share = np.maximum(traffic.running, seen.replicas) / seen.batch
        busy = np.minimum(used / share, 1.0)
        values["output_tokens_per_s"] = traffic.output_tokens_per_s
        values["decode_tokens_per_s"] = seen.decode_tokens_per_s * share * busy
        values["prefill_tokens_per_s"] = seen.prefill_tokens_per_s * busy
        values["energy_j_per_token"] = seen.energy_j_per_token / used
    values["ttft_s"] = traffic.ttft_s
    values["queue_s"] = seen.queue_s + (traffic.ttft_s - seen.ttft_s)
    return values
