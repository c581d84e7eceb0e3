"""Coordinates: configurations as rows, parameters as columns, in [0, 1]; nan where one is inactive."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Coordinates: TypeAlias = NDArray[np.float64]
"""Shape (n, d), in the order in which a space declares its d parameters."""
