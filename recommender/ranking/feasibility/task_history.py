"""Results of a configuration in the same task: on this device, a sibling, or elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kg.nouns.entities import Configuration
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import Distance
from recommender.ranking.feasibility.rules import Broken
from recommender.retrieval.neighbours import Neighbour

MOST_TABLES = 8
"""Tables looked at for one question, the nearest first."""


@dataclass(frozen=True, slots=True)
class NearestFailure:
    """The nearest failure of a configuration.

    Attributes:
        distance: How far that is.
        hardware: The device.
        problem: Id of the problem.
    """

    distance: Distance
    hardware: str
    problem: str


class TrialFailures:
    """The failures of a trial store, read once for each problem.

    Args:
        trials: What was measured; what is acknowledged does not change while it is open.
    """

    def __init__(self, trials: TrialStore) -> None:
        self.trials = trials
        self._known: dict[int, frozenset[str]] = {}

    def of(self, key: int) -> frozenset[str]:
        """Return the digests of configurations that failed on a problem and were not timed there."""
        if key not in self._known:
            self._known[key] = self.trials.failed(key)
        return self._known[key]


class TaskHistory:
    """The results of configurations in the same task on as many devices.

    Args:
        failures: What failed.
        neighbours: The known problems near the question, nearest first.
    """

    def __init__(self, failures: TrialFailures, neighbours: Sequence[Neighbour]) -> None:
        same = [item for item in neighbours if item.same_task and item.same_count][:MOST_TABLES]
        self._trials = failures.trials
        self._sources = sorted(same, key=lambda item: item.device)
        self._failed: dict[str, NearestFailure] = {}
        for item in self._sources:
            seen = NearestFailure(item.device, item.problem.hardware, item.problem.id)
            for digest in failures.of(item.problem.key):
                self._failed.setdefault(digest, seen)

    def ran_here(self, configuration: Configuration) -> bool:
        """Return whether a configuration was timed on this very device."""
        return self._ran(configuration, Distance.SAME_DEVICE)

    def failed(self, configuration: Configuration) -> NearestFailure | None:
        """Return the nearest failure; None if there is none, or the configuration ran as near."""
        if not self._failed:
            return None
        seen = self._failed.get(configuration.digest)
        return None if seen is None or self._ran(configuration, seen.distance) else seen

    def broken(self, configuration: Configuration) -> Broken | None:
        """Refuse a configuration that failed on the device or, less certainly, on a sibling."""
        seen = self.failed(configuration)
        if seen is None or seen.distance > Distance.SIBLING:
            return None
        is_here = seen.distance is Distance.SAME_DEVICE
        return Broken(
            rule="it failed there before" if is_here else "it failed on a sibling before",
            reason=f"on {seen.hardware}",
            source=f"case {seen.problem}",
            is_certain=is_here,
        )

    def warning(self, configuration: Configuration) -> str:
        """Return a warning about a failure farther away; empty if there is none."""
        seen = self.failed(configuration)
        if seen is None or seen.distance <= Distance.SIBLING:
            return ""
        return f"it failed on {seen.hardware} [{seen.problem}]"

    def _ran(self, configuration: Configuration, most: Distance) -> bool:
        """Return whether a configuration was timed on a device at most this far away."""
        near = [item for item in self._sources if item.device <= most]
        key = self._trials.configuration_id(configuration) if near else None
        if key is None:
            return False
        return any(math.isfinite(self._trials.costs(item.problem.key, [key])[0]) for item in near)
