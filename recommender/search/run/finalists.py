"""The best few of a search, to be measured again so that the winner is not the luckiest."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from kg.nouns.entities import Better

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.values import Settings
    from recommender.search.engine.search import Search
    from recommender.search.log.trial_record import LoggedTrial

REPEATS = 4
"""How often each finalist is measured again, in turns so that drift favours none; a choice."""
NEAR = 0.25
"""How far from the best a finalist may be, beyond the second; what is slower will not turn out faster; a
choice."""


def turns(trials: Sequence[LoggedTrial], search: Search, count: int) -> list[Settings]:
    """The configurations to measure again, in the order in which every worker does it.

    Args:
        trials: Of the search; what repetitions gave does not change who is a finalist.
        search: Tells what keeps the limits.
        count: Finalists at most.

    Returns:
        Each finalist ``REPEATS`` times; none where there is but one.
    """
    best = _best(trials, search, count)
    return [configuration for _ in range(REPEATS) for configuration in best] if len(best) > 1 else []


def _best(trials: Sequence[LoggedTrial], search: Search, count: int) -> list[Settings]:
    """The configurations with the best values of the first objective that keep the limits, near the best."""
    objective = next(iter(search.objectives))
    sign = 1 if objective.better is Better.LOWER else -1
    by_configuration: dict[Settings, list[float]] = {}
    for trial in trials:
        item = trial.evaluation
        if item is None or trial.origin == "repeat" or not item.ok or not search.keeps_limits(item):
            continue
        value = next(iter(item.values), None)
        if value is not None:
            by_configuration.setdefault(item.configuration, []).append(sign * value)
    means = {item: statistics.fmean(values) for item, values in by_configuration.items()}
    ordered = sorted(means, key=lambda item: (means[item], item.digest))[:count]
    near = [item for item in ordered if abs(means[item] - means[ordered[0]]) <= NEAR * abs(means[ordered[0]])]
    return near if len(near) > 1 else ordered[:2]  # one that stands alone may have been lucky
