"""The last line of every benchmark: one JSON object on stdout.

Shares are 0 to 1; errors that end in ``_mape``, ``_median`` or ``_p90`` are per cent; regrets are natural logs; what
has no cases is null.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence


def plain(value: object) -> object:
    """The same as JSON takes it: numbers of numpy as numbers, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def last_line(figures: Mapping[str, object]) -> None:
    """Print the figures as one line of JSON."""
    sys.stdout.write(json.dumps(plain(figures), allow_nan=False) + "\n")
