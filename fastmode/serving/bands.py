"""Bands of modelled times: how far a deployment may lie from its prediction, from residuals of rows a fit never saw.

ln(real / modelled) is the sum of the drift of a deployment (software version, publisher, tuning), of the shape that load and
lengths change within it, and of what is added outside the measured range; see fastmode/calibration/spread.py for how the first two
are estimated. Half widths are of the natural logarithm: the band of a time t is t exp(-h) .. t exp(h), that of a
speed the same around the speed.

A ratio of two modelled times is surer than each of them. Where both are the same chips, model, precision and engine they share the
drift, and near loads share most of the shape, so a ratio is exact where it is 1 by construction and widens as the settings part.
"""

from __future__ import annotations

from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from fastmode.serving.evidence import HBM, KINDS
from fastmode.serving.service import Service
from fastmode.serving.tables import Tables

LEVELS = (50, 90)
Z = {level: NormalDist().inv_cdf(0.5 + level / 200) for level in LEVELS}


def half_width(service: Service, table: Tables, quantity: str, level: int) -> NDArray:
    """Half width of the `level` % band of ln("tpot" or "ttft") of each configuration; NaN where it cannot be served."""
    return Z[level] * np.sqrt(_variance(service, table.constants, quantity, level))


def ratio_half_width(a: Service, b: Service, table: Tables, quantity: str, level: int) -> NDArray:
    """Half width of the band of ln(time of a / time of b); the two broadcast against each other.

    The same deployment (hardware, model, precision of the weights, engine, with or without drafts): 2 shape^2 (1 - r), r = exp(-(d / range)^2), d the
    distance in ln batch, ln context, ln chips, ln chips of an attention group and ln stages, at least ln of the ratio itself; plus slope^2 x what lies
    outside the measured range. A smaller model of the same family loses the common drift the same way, in ln size.
    Anything else: the variances add.
    """
    c = table.constants
    same = (a.model == b.model) & (a.hardware == b.hardware) & (a.engine == b.engine) & (a.novel == b.novel)
    same = same & (a.weight_precision == b.weight_precision)
    reach = getattr(c, f"{quantity}_shape_range")
    drift, shape = _parts(a, c, quantity, level)
    load = np.log(a.batch / b.batch) ** 2
    for name in ("context_tokens", "n_chips", "tp", "stages"):
        one, other = getattr(a, name), getattr(b, name)
        if one is not other and np.any(one != other):
            load = load + np.log(np.maximum(one, 1.0) / np.maximum(other, 1.0)) ** 2
    size = np.log(a.size_ratio / b.size_ratio) ** 2
    # Whatever else moves the time (lengths of prompts and outputs, traffic) is as far as it moves it.
    moved = np.log(getattr(a, f"{quantity}_s") / getattr(b, f"{quantity}_s")) ** 2
    load = np.fmax(load, moved - size)
    together = np.exp(-(load + size) / reach**2)
    beyond = a.beyond**2 + b.beyond**2
    alike = 2.0 * shape**2 * (1.0 - together) + 2.0 * drift**2 * (1.0 - np.exp(-size / reach**2))
    # Outside the range both sides drift apart only as far as they are apart themselves.
    alike = alike + _slope(c, quantity, level) ** 2 * np.minimum(beyond, load + size)
    apart = _variance(a, c, quantity, level) + _variance(b, c, quantity, level)
    return Z[level] * np.sqrt(np.where(same, alike, apart))


def _parts(service: Service, c: SimpleNamespace, quantity: str, level: int) -> tuple[NDArray, NDArray]:
    """Standard deviations of drift and shape. The published speeds of SRAM machines are too few to tell one from the other."""
    shape = getattr(c, f"{quantity}_shape_{level}")
    if quantity == "tpot":
        drifts = [np.nan] * len(KINDS)
        drifts[HBM] = c.__dict__[f"tpot_drift_{level}"]
        for kind in range(HBM + 1, len(KINDS)):
            # their scatter holds both parts
            total = c.__dict__[f"{KINDS[kind]}_drift_{level}"]
            drifts[kind] = np.sqrt(max(total**2 - shape**2, 0.0))
        return np.array(drifts)[service.kind], np.full(1, shape)
    return np.full(1, getattr(c, f"{quantity}_drift_{level}")), np.full(1, shape)


def _slope(c: SimpleNamespace, quantity: str, level: int) -> float:
    """Standard deviation per e-fold beyond the measured range: the start of the law that holds within it."""
    return np.sqrt(2.0) * getattr(c, f"{quantity}_shape_{level}") / getattr(c, f"{quantity}_shape_range")


def _variance(service: Service, c: SimpleNamespace, quantity: str, level: int) -> NDArray:
    drift, shape = _parts(service, c, quantity, level)
    novel = service.novel + (service.kind != HBM) * (quantity == "ttft")  # nobody publishes the TTFT of such machines
    added = novel * c.unmeasured_log_sd**2 + (_slope(c, quantity, level) * service.beyond) ** 2
    return np.where(service.status == 0, drift**2 + shape**2 + added, np.nan)

