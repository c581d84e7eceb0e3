"""Symptoms of an unhealthy search, from its history alone: four diagnoses, each with cause and remedy.

Not converging, out of memory, regression, too long: the four of the founding documents. Each cause is a
statistic with a bound; what a history cannot tell (nothing was measured twice, no times) is said, not judged.

``cost``: log of the first objective, lower is better; nan where it failed. ``gap``: cost above the best.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kg.nouns.entities import Status
from kg.nouns.values import Settings, Value
from recommender.search.evaluations import Evaluation
from recommender.search.report.history import History

NOT_CONVERGING, OUT_OF_MEMORY = "not converging", "out of memory"
REGRESSION, TOO_LONG = "regression", "too long"

LEAST = 12
"""Evaluations that ran, below which nothing is said of convergence: two more than the early stop's ten."""
GAIN = math.log(1.02)
"""Least gain: 2 %, the threshold of the founding documents."""
PATIENCE = 10
"""Evaluations without gain after which a search is over: the early stop of the founding documents."""
NEAR = math.log(1.10)
"""Largest distance that is near the best, where a search that has learned keeps proposing; a choice."""
FEW_NEAR = 0.2
"""Share of the later half near the best, below which a search has not learned; a choice."""
LIKE = 1.25
"""Times that later proposals agree with the best in more settings than chance would, below which nothing was
learned; a choice, tried on kernel spaces: random proposals reach 1.36, our own search is mostly above 1.4."""
BINS = 4
"""Parts into which the values of a number are put where more than twice as many were tried; a choice."""
OFTEN = 0.1
"""Share of evaluations that run out of memory from which it is a problem; a choice."""
WORSE = math.log(1.05)
"""Least loss on measuring again that is a regression, beside twice the noise: the best of many is a little
lucky anyway; a choice."""
SLOW = 3.0
"""Times the median evaluation, from which one is slow; a choice."""
HALF = 0.5
COMPARED = 200
"""Failures and runs that are compared at most; a bound on the time a large table takes."""
_MEMORY = re.compile(
    r"out.of.memory|\boom\b|resource.?exhausted|memory alloc\w{0,20} fail|alloc\w{0,20} failed",
    re.IGNORECASE,
)
_SEPARATES = 0.85
"""Chance that a value of a failure is above one that ran, from which the parameter is named; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSymptom:
    """One diagnosis.

    Attributes:
        name: One of the four.
        cause: What is behind it, with the numbers that say so.
        remedy: What to do.
        evaluations: Places in the history that show it, from 0.
    """

    name: str
    cause: str
    remedy: str
    evaluations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The result of checking a search.

    Attributes:
        symptoms: The diagnoses.
        undetermined: What the history cannot tell, and what to collect.
    """

    symptoms: tuple[SearchSymptom, ...]
    undetermined: tuple[str, ...]


def check(history: History) -> Checkup:
    """Diagnose a search."""
    costs = history.costs
    noise = history.noise
    found: list[SearchSymptom] = []
    undetermined: list[str] = []
    judged = (
        _memory(history.evaluations),
        _unconverged(history),
        _too_long(history, costs),
    )
    found.extend(symptom for symptom in judged if symptom is not None)
    if not (again := history.again):
        undetermined.append(
            "regression: nothing was measured twice; set finalists, or measure the best again"
        )
    elif (worse := _regression(costs, again, noise)) is not None:
        found.append(worse)
    if sum(not math.isnan(cost) for cost in costs) < LEAST:
        undetermined.append(f"convergence: fewer than {LEAST} evaluations ran")
    if all(item.cost_s is None for item in history.evaluations):
        undetermined.append("time: no evaluation says what it took")
    return Checkup(symptoms=tuple(found), undetermined=tuple(undetermined))


# --- out of memory


def _memory(evaluations: Sequence[Evaluation]) -> SearchSymptom | None:
    failed = [place for place, item in enumerate(evaluations) if _is_memory(item)]
    if len(failed) < 2 or len(failed) < OFTEN * len(evaluations):
        return None
    ran = [item.configuration for item in evaluations if item.ok]
    cause = f"{len(failed)} of {len(evaluations)} evaluations ran out of memory"
    remedy = "limit peak memory in the search file, or leave out what needs most"
    split = _separating([evaluations[place].configuration for place in failed], ran)
    if split is not None:
        name, bound, upward = split
        cause += f", with {name} {'from' if upward else 'down to'} {bound} on"
        remedy = f"add the constraint {name} {'<' if upward else '>'} {bound}, or shard and recompute more"
    return SearchSymptom(name=OUT_OF_MEMORY, cause=cause, remedy=remedy, evaluations=tuple(failed))


def _is_memory(item: Evaluation) -> bool:
    return item.status is Status.OUT_OF_MEMORY or (not item.ok and bool(_MEMORY.search(item.reason)))


def _separating(failed: Sequence[Settings], ran: Sequence[Settings]) -> tuple[str, Value, bool] | None:
    """The number that best tells failures from runs: name, bound, and whether failures are above it."""
    best: tuple[float, str, Value, bool] | None = None
    for name in sorted({name for item in failed for name in item}):
        bad = [value for item in _some(failed) if (value := _number(item, name)) is not None]
        good = [value for item in _some(ran) if (value := _number(item, name)) is not None]
        if len(bad) < len(_some(failed)) or not good:
            continue
        above = statistics.fmean((a > b) + 0.5 * (a == b) for a in bad for b in good)
        for chance, upward in ((above, True), (1 - above, False)):
            if chance >= _SEPARATES and (best is None or chance > best[0]):
                # the least loss on either side: what most failures reach and few runs do
                bounds = sorted(set(bad), reverse=not upward)
                bound = max(bounds, key=lambda at: _split(at, bad, good, upward=upward))
                best = (chance, name, bound, upward)
    return None if best is None else best[1:]


def _some(items: Sequence[Settings]) -> Sequence[Settings]:
    """At most :data:`COMPARED` of them, spread evenly."""
    return items[:: 1 + len(items) // COMPARED]


def _split(bound: float, bad: Sequence[float], good: Sequence[float], *, upward: bool) -> float:
    def beyond(values: Sequence[float]) -> float:
        return statistics.fmean(value >= bound if upward else value <= bound for value in values)

    return beyond(bad) - beyond(good)


def _number(item: Settings, name: str) -> float | None:
    value = item.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


# --- not converging


def _unconverged(history: History) -> SearchSymptom | None:
    """Still gaining at the end, noise beyond the differences, or proposals no better than at first."""
    evaluations, costs, noise, repeats = history.evaluations, history.costs, history.noise, history.repeats
    ran = [(p, cost) for p, cost in enumerate(costs) if not math.isnan(cost) and p not in repeats]
    if len(ran) < LEAST:
        return None
    values = [cost for _, cost in ran]
    best = min(values)
    later = [place for place, _ in ran[len(ran) // 2 :]]
    near = statistics.fmean(costs[place] - best <= NEAR for place in later)
    if noise is not None and noise > NEAR:
        return SearchSymptom(
            name=NOT_CONVERGING,
            cause=f"one measurement varies by {100 * noise:.1f} %, more than what is to be told apart",
            remedy="repeat each measurement (repeats, warmup), fix clocks, and measure finalists again",
            evaluations=tuple(later),
        )
    recent = [place for place in range(len(costs)) if place not in repeats][-PATIENCE:]
    before = min((cost for place, cost in ran if place < recent[0]), default=math.inf)
    if math.isfinite(before) and before - best > GAIN and near < HALF:
        gained = [place for place, cost in ran if place >= recent[0] and cost < before - GAIN]
        return SearchSymptom(
            name=NOT_CONVERGING,
            cause=f"the last {PATIENCE} evaluations still gained {math.expm1(before - best):.0%}",
            remedy="go on: tunegraph search resume, with more evaluations and a patience of ten",
            evaluations=tuple(gained),
        )
    if near < FEW_NEAR:
        like, chance = _likeness(evaluations, min(ran, key=lambda pair: pair[1])[0], later)
        if like < LIKE * chance:
            return SearchSymptom(
                name=NOT_CONVERGING,
                cause=f"{near:.0%} of the later proposals are within 10 % of the best, and they are as unlike"
                f" it as chance is (equal in {like:.0%} of the settings, {chance:.0%} by chance)",
                remedy="exploit more: warm-start, fewer parameters at a time, a search that models costs",
                evaluations=tuple(later),
            )
    return None


def _likeness(evaluations: Sequence[Evaluation], best: int, later: Sequence[int]) -> tuple[float, float]:
    """Share of settings in which later proposals equal the best one, and what chance gives."""
    shares, chances = [], []
    found = evaluations[best].configuration
    others = [place for place in later if evaluations[place].configuration != found]
    for name in found:
        part = _parts([item.configuration.get(name) for item in evaluations])
        if len(set(part)) > 1 and others:
            shares.append(statistics.fmean(part[place] == part[best] for place in others))
            chances.append(1 / len(set(part)))
    return (statistics.fmean(shares), statistics.fmean(chances)) if shares else (0.0, 0.0)


def _parts(values: Sequence[Value]) -> list[Value]:
    """Values as they are; of numbers with many values, which part of these it is in."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    seen = sorted(set(numbers))
    if len(numbers) < len(values) or len(seen) <= 2 * BINS:
        return list(values)
    place = {value: BINS * rank // len(seen) for rank, value in enumerate(seen)}
    return [place[value] for value in numbers]


# --- regression


def _regression(
    costs: Sequence[float], again: dict[str, list[int]], noise: float | None
) -> SearchSymptom | None:
    """The best does not hold when measured again, or everything grows slower with time."""
    least = max(WORSE, 2 * (noise or 0.0))
    falls = {
        key: statistics.fmean(costs[place] for place in places[1:]) - costs[places[0]]
        for key, places in again.items()
    }
    rising = [fall for fall in falls.values() if fall > least]
    if len(falls) >= 3 and len(rising) > HALF * len(falls):
        more = math.expm1(statistics.median(rising))
        return SearchSymptom(
            name=REGRESSION,
            cause=f"{len(rising)} of {len(falls)} configurations measured again were {more:.0%} worse",
            remedy="the machine changed (clocks, heat, neighbours): control it, or compare in pairs (ab run)",
            evaluations=tuple(place for places in again.values() for place in places[1:]),
        )
    first = min(again, key=lambda key: costs[again[key][0]])
    if falls[first] > least:
        return SearchSymptom(
            name=REGRESSION,
            cause=f"what was best at first was {math.expm1(falls[first]):.0%} worse when measured again",
            remedy="luck, or fit to one input: measure finalists again, on several inputs; confirm by ab run",
            evaluations=tuple(again[first]),
        )
    return None


# --- too long


def _too_long(history: History, costs: Sequence[float]) -> SearchSymptom | None:
    """Most of the time went where nothing could be gained."""
    if all(math.isnan(cost) for cost in costs):
        return None
    after = history.since_gain
    spent = [item.cost_s or 0.0 for item in history.evaluations]
    whole = sum(spent)
    if whole and len(spent) >= LEAST and not history.is_modelled:
        slow = [place for place, cost in enumerate(spent) if cost > SLOW * statistics.median(spent)]
        share = sum(spent[place] for place in slow) / whole
        if slow and share > HALF:
            return SearchSymptom(
                name=TOO_LONG,
                cause=f"{len(slow)} slow evaluations took {share:.0%} of the time",
                remedy=f"set timeout_s to {SLOW * statistics.median(spent):.3g}, {SLOW:.0f} times the median",
                evaluations=tuple(slow),
            )
    again = len(costs) - len({item.configuration.digest for item in history.evaluations})
    if again > HALF * len(costs):
        return SearchSymptom(
            name=TOO_LONG,
            cause=f"{again} of {len(costs)} evaluations measured what was measured before",
            remedy="keep the log and propose nothing twice; repeats within an evaluation cost less",
        )
    if len(after) >= 2 * PATIENCE and len(after) > HALF * len(costs):
        time = f", {sum(spent[place] for place in after) / whole:.0%} of the time" if whole else ""
        return SearchSymptom(
            name=TOO_LONG,
            cause=f"{len(after)} of {len(costs)} evaluations{time} came after the last gain",
            remedy=f"stop early (patience: {PATIENCE}), prune the space (search space), warm-start",
            evaluations=tuple(after),
        )
    return None
