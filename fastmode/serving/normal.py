"""The standard normal distribution on a grid: read off by interpolation, so that no library beyond numpy is needed."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z = np.linspace(-9.0, 9.0, 1801)
NORMAL = np.array([0.5 * erfc(-z / sqrt(2.0)) for z in Z])  # distribution function at Z


def normal(z: ArrayLike) -> NDArray:
    """Distribution function."""
    return np.interp(z, Z, NORMAL)


def inverse_normal(probability: ArrayLike) -> NDArray:
    """Value that a standard normal variable stays below with the given probability, in -9..9."""
    return np.interp(probability, NORMAL, Z)
