"""Device memory that the allocator reserves and cannot use, or returns to the driver and reserves again."""

from collections.abc import Iterator

import numpy as np

from recommender.diagnosis.evidence import MetricReading, SoftEvidence, setting_evidence
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.thresholds import Thresholds, soft

NODE = "memory-fragmentation"
METRIC = "reserved_unused_share"
RETURNED = 0.5
"""Share of the peak that went back to the driver, from which the allocator is said to churn. A caching
allocator gives memory back only when a request failed or the program empties the cache; what a workspace of
some operators takes and frees is less than half of the peak. Assumed: no source states a number."""


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of fragmentation: reserved memory unused at the peak, or given back to the driver.

    It costs no time of its own. What it costs shows as stalls of the allocator, which it explains.
    """
    memory = view.rank.memory
    if not thresholds.has(NODE, METRIC) or memory is None or not memory.peak_reserved_mb > 0:
        return
    unused = max(0.0, 1 - memory.peak_allocated_mb / memory.peak_reserved_mb)
    returned = memory.returned_mb / memory.peak_reserved_mb
    idle = float(thresholds.shows(NODE, METRIC, unused))
    churn = float(soft(np.asarray(returned), RETURNED, RETURNED))
    yield setting_evidence(
        view,
        NODE,
        f"of {memory.peak_reserved_mb:.0f} MiB that the allocator reserved {unused:.0%} were never in "
        f"use; {memory.returned_mb:.0f} MiB went back to the driver",
        (memory.place,),
        shown=max(idle, churn),
        readings=(
            MetricReading(metric=METRIC, value=unused, unit="1"),
            MetricReading(metric="reserved_returned_share", value=returned, unit="1"),
        ),
    )
