"""The course of a search, ours or imported: how fast it came near its best, how steady, what it wasted.

``cost``: the first objective on the log scale, lower is better; nan where an evaluation failed.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kg.errors import InputError, NoEvidenceError
from kg.nouns.entities import Case, Limit, Objective, Status
from recommender.search.evaluations import Evaluation, cost_of, value_of

NEAR = 0.95
"""Share of the best performance that counts as near it: 95 %, as the founding documents have it."""
LATE = 10
"""Evaluations at the end over which steadiness is told; a choice, the length of their early stop."""


_NOT_RUN = frozenset({Status.OK, Status.FORBIDDEN, Status.NOT_MEASURED, Status.UNKNOWN})
"""States that are no failure of a run."""


@dataclass(frozen=True, kw_only=True)
class History:
    """The evaluations of a search, in order.

    Attributes:
        objective: What decided.
        evaluations: All of them.
        limits: Bounds whose values stand in each evaluation after those of the objectives.
        objectives: How many objectives there were.
        is_modelled: Whether the cost model gave the numbers: how long it took says nothing.
    """

    objective: Objective
    evaluations: tuple[Evaluation, ...]
    limits: tuple[Limit, ...] = ()
    objectives: int = 1
    is_modelled: bool = False

    @cached_property
    def costs(self) -> list[float]:
        """Log costs by evaluation; nan for a failure or where a limit is broken or unknown."""
        return [self._cost(item) for item in self.evaluations]

    @cached_property
    def again(self) -> dict[str, list[int]]:
        """Places of configurations that ran more than once, by digest."""
        places: dict[str, list[int]] = {}
        for place, item in enumerate(self.evaluations):
            if not math.isnan(self.costs[place]):
                places.setdefault(item.configuration.digest, []).append(place)
        return {key: members for key, members in places.items() if len(members) > 1}

    @cached_property
    def repeats(self) -> frozenset[int]:
        """Places of evaluations whose configuration had run before."""
        return frozenset(place for places in self.again.values() for place in places[1:])

    @cached_property
    def settled(self) -> list[float]:
        """The same, each of them of the mean of all that its configuration gave: luck evens out."""
        found = list(self.costs)
        for places in self.again.values():
            mean = statistics.fmean(value_of(self.costs[place], self.objective) for place in places)
            for place in places:
                found[place] = cost_of(mean, self.objective)
        return found

    @property
    def best_so_far(self) -> list[float]:
        """Lowest settled log cost up to each evaluation; inf before the first success."""
        best, found, least = math.inf, [], self.best
        for cost in self.settled:
            best = best if math.isnan(cost) else max(least, min(best, cost))
            found.append(best)
        return found

    @cached_property
    def best(self) -> float:
        """The lowest settled log cost, of those measured again if two or more were; inf if none ran."""
        places = [members[0] for members in self.again.values()]
        costs = [self.settled[place] for place in places] if len(places) > 1 else self.settled
        return min((cost for cost in costs if not math.isnan(cost)), default=math.inf)

    @property
    def since_gain(self) -> list[int]:
        """Places of new configurations after the last gain, as it was read then."""
        best, last = math.inf, 0
        for place, cost in enumerate(self.costs):
            if cost < best:
                best, last = cost, place
        return [place for place in range(last + 1, len(self.costs)) if place not in self.repeats]

    @cached_property
    def noise(self) -> float | None:
        """Standard deviation of the log of one measurement: of repeats, else of what was measured again."""
        spreads = [
            item.stdev[0] / abs(item.values[0])
            for item in self.evaluations
            if item.stdev and item.stdev[0] is not None and item.values and item.values[0]
        ]
        if spreads:
            return statistics.median(spreads)
        changes = [
            self.costs[b] - self.costs[a] for places in self.again.values() for a, b in pairwise(places)
        ]
        # about their mean: a machine that slows down shifts all of them, and is no noise
        return statistics.stdev(changes) / math.sqrt(2) if len(changes) >= 3 else None

    def figures(self) -> dict[str, object]:
        """The figures of the search.

        ``evaluations_to_95_percent``: evaluations until 95 % of the best performance that it found, and
        ``time_to_95_percent_s`` how long they took, None where the time of one is not known;
        ``regret``: mean over all evaluations, from the first success, of the factor between the best so far
        and the best at last, less 1; ``late_spread``: standard deviation of the log cost of the last ten
        configurations; ``noise``: of one measurement; ``since_gain``: new configurations since the last gain.
        What was measured several times counts with its mean. None where nothing tells.

        Raises:
            NoEvidenceError: Nothing succeeded.
        """
        costs, running = self.settled, self.best_so_far
        good = [cost for cost in costs if not math.isnan(cost)]
        if not good:
            raise NoEvidenceError(
                f"none of {len(costs)} evaluations succeeded within the limits",
                hint="their reasons: tunegraph search status",
            )
        best = self.best
        near = best - math.log(NEAR)
        known = [cost for cost in running if math.isfinite(cost)]
        late = [
            cost for place, cost in enumerate(costs) if place not in self.repeats and not math.isnan(cost)
        ][-LATE:]
        to_near = next(k for k, cost in enumerate(running, 1) if cost <= near)
        spans = [item.cost_s for item in self.evaluations[:to_near]]
        repeated = len(self.evaluations) - len({item.configuration.digest for item in self.evaluations})
        failed = [item for item in self.evaluations if item.status not in _NOT_RUN]
        return {
            "evaluations": len(costs),
            "failed": len(failed),
            "out_of_memory": sum("out of memory" in item.reason for item in failed),
            "over_limits": len(costs) - len(failed) - len(good),
            "repeated": repeated,
            "best": value_of(best, self.objective),
            "metric": self.objective.metric,
            "unit": self.objective.unit,
            "evaluations_to_95_percent": to_near,
            "time_to_95_percent_s": None if None in spans else sum(span or 0.0 for span in spans),
            "since_gain": len(self.since_gain),
            "regret": statistics.fmean(math.expm1(cost - best) for cost in known),
            "late_spread": statistics.stdev(late) if len(late) > 1 else None,
            "noise": self.noise,
            "time_s": sum(item.cost_s or 0.0 for item in self.evaluations) or None,
        }

    def _cost(self, item: Evaluation) -> float:
        value = item.values[0] if item.ok else None
        bounds = item.values[self.objectives :]
        held = all(
            bound is not None and bound <= limit.maximum
            for bound, limit in zip(bounds, self.limits, strict=False)
        )
        if value is None or value <= 0 or (self.limits and not held):
            return math.nan
        return cost_of(value, self.objective)


def histories_of(cases: Iterable[Case], *, metric: str = "") -> dict[str, History]:
    """Histories in a file of another tool, by problem, in the order of the file.

    Args:
        cases: Its cases.
        metric: Only this one; all if empty.

    Raises:
        InputError: There is no case of the metric.
    """
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if metric in {"", case.measurement.metric}:
            groups.setdefault(case.problem.id, []).append(case)
    if not groups:
        raise InputError(f"no case of {metric or 'any metric'} in it")
    return {_title(members[0]): _history(members) for members in groups.values()}


def _history(cases: Sequence[Case]) -> History:
    return History(
        objective=cases[0].problem.objective,
        evaluations=tuple(
            Evaluation(
                configuration=case.configuration,
                values=(case.measurement.value,),
                status=case.measurement.status
                if case.measurement.status is not Status.UNKNOWN
                else Status.NOT_MEASURED,
                reason=case.measurement.reason,
                stdev=None if case.measurement.stdev is None else (case.measurement.stdev,),
                repeats=case.measurement.repeats or 1,
            )
            for case in cases
        ),
    )


def _title(case: Case) -> str:
    problem = case.problem
    what = " ".join(part for part in (problem.workload.model, problem.workload.operator) if part)
    shape = f" ({problem.workload.shape})" if problem.workload.shape else ""
    return f"{what}{shape} on {problem.hardware.name} by {problem.objective.metric} [{problem.id[:8]}]"
