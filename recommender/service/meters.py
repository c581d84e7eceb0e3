"""Counters of a server, as text for Prometheus."""

from __future__ import annotations

from collections import Counter
from threading import Lock

BOUNDS_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
"""Upper bounds of the classes of durations: doublings around the goals of 15 and 40 ms. A choice."""


class Meters:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._classes: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter of floats
            for bound in BOUNDS_S:
                if seconds <= bound:
                    self._classes[route, bound] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """All figures in the text format 0.0.4, gauges with the name that they are given by."""
        lines = ["# TYPE tunegraph_requests_total counter"]
        with self._lock:
            totals: Counter[str] = Counter()
            for (route, status), number in sorted(self._requests.items()):
                totals[route] += number
                lines.append(f'tunegraph_requests_total{{route="{route}",status="{status}"}} {number}')
            lines.append("# TYPE tunegraph_request_seconds histogram")
            for route, number in sorted(totals.items()):
                for bound in BOUNDS_S:
                    below = self._classes[route, bound]
                    lines.append(f'tunegraph_request_seconds_bucket{{route="{route}",le="{bound}"}} {below}')
                lines.append(f'tunegraph_request_seconds_bucket{{route="{route}",le="+Inf"}} {number}')
                lines.append(f'tunegraph_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
                lines.append(f'tunegraph_request_seconds_count{{route="{route}"}} {number}')
        for name, value in gauges.items():
            lines += [f"# TYPE tunegraph_{name} gauge", f"tunegraph_{name} {value:g}"]
        return "\n".join(lines) + "\n"
