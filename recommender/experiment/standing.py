"""The state of an experiment: every treatment beside the control, the best arm, what it cost, what is left.

With k treatments every interval has alpha / k, so all of them hold at once with probability 1 - alpha. The
best arm is named once its intervals against every other arm, control included, lie above zero: to name a
wrong one, one of the k intervals between the truly best arm and the others must miss, which happens with
probability at most alpha. An arm below another one by the same intervals is run no more.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from kg.nouns.codec import OR_NULL, fields_json, in_json
from recommender.experiment.comparison import ArmComparison, ArmPair, compare, effect, interval_of, log_of
from recommender.experiment.design import CONTROL, ExperimentDesign
from recommender.experiment.mixture import pairs_needed, pairs_to_equivalence
from recommender.experiment.samples import Sample
from recommender.experiment.samples import rounds as counted
from recommender.experiment.schemes import Scheme, trend
from recommender.experiment.verdict import Verdict

_CLOCK_JUMP_S = 5.0
"""Disagreement of the two clocks between two runs that is told; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentState:
    """The state of an experiment.

    Attributes:
        best: The arm that is better than every other; empty if none is known to be.
        contenders: Arms that no other is known to beat; control included.
        rounds: Rounds that count.
        cost_s: Time of all runs.
        pairs_left: Rounds that a decision is expected to need yet; None if it cannot be told.
        stop: Why it is over; empty while it is not.
        notes: What else is to be known.
        comparisons: Each treatment beside the control.
    """

    best: str = field(metadata=OR_NULL)
    contenders: tuple[str, ...]
    rounds: int
    cost_s: float = field(metadata=in_json(digits=3))
    pairs_left: int | None
    stop: str = field(metadata=OR_NULL)
    notes: tuple[str, ...]
    comparisons: tuple[ArmComparison, ...] = field(metadata=in_json("treatments"))

    @property
    def verdict(self) -> Verdict:
        """Verdict of one treatment; of several ``BETTER`` if any is, else what all have in common."""
        found = {item.verdict for item in self.comparisons}
        if Verdict.BETTER in found:
            return Verdict.BETTER
        return found.pop() if len(found) == 1 else Verdict.UNDECIDED

    @property
    def is_decided(self) -> bool:
        """True if every treatment has a verdict, or the best arm is known."""
        return bool(self.best) or all(item.verdict is not Verdict.UNDECIDED for item in self.comparisons)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {"verdict": str(self.verdict), "decided": self.is_decided, **fields_json(self)}


def standing(samples: Sequence[Sample], design: ExperimentDesign) -> ExperimentState:
    """Compute the state of an experiment after some samples."""
    rounds = counted(samples, design)
    comparisons = tuple(compare(samples, rounds, arm, CONTROL, design) for arm in design.treatments)
    best, contenders = _best(samples, rounds, comparisons, design)
    is_tied = len(contenders) > 1 and _is_tied(samples, rounds, contenders, design)
    cost_s = sum(sample.cost_s for sample in samples)
    return ExperimentState(
        comparisons=comparisons,
        best=best,
        contenders=contenders,
        rounds=len(rounds),
        cost_s=cost_s,
        pairs_left=_pairs_left(comparisons, design, len(rounds)),
        stop=_stop(comparisons, best, contenders, rounds, cost_s, design, is_tied=is_tied),
        notes=(*_scheme(design), *_drift(rounds, design), *_clock(samples), *_by_input(rounds, design)),
    )


def _stop(
    comparisons: Sequence[ArmComparison],
    best: str,
    contenders: Sequence[str],
    rounds: Sequence[Mapping[str, Sample]],
    cost_s: float,
    design: ExperimentDesign,
    *,
    is_tied: bool,
) -> str:
    running = [item for item in comparisons if item.arm in contenders]
    if len(comparisons) == 1 and comparisons[0].is_settled:
        return "the treatment has its verdict"
    if len(comparisons) > 1 and all(item.is_settled for item in running):
        if best:
            return f"the best arm is known: {best}"
        if is_tied:
            return f"the best arms do not differ by more than the margin: {', '.join(contenders)}"
    failed = [item for item in rounds if not any(sample.ok for sample in item.values())]
    if len(failed) == len(rounds) >= design.least:
        return f"all runs of {len(rounds)} rounds failed"
    if len(rounds) >= design.pairs:
        return f"the budget of {design.pairs} pairs is used up"
    if design.budget_s is not None and cost_s >= design.budget_s:
        return f"the budget of {design.budget_s:g} s is used up"
    return ""


def _is_tied(
    samples: Sequence[Sample],
    rounds: Sequence[Mapping[str, Sample]],
    contenders: Sequence[str],
    design: ExperimentDesign,
) -> bool:
    """Return whether all arms that may be the best are equivalent to each other."""
    for one, other in combinations(contenders, 2):
        pair = ArmPair(one=one, other=other, value=log_of(design.metric, design.better))
        interval, _ = effect(samples, rounds, pair, design, design.level)
        if interval.verdict(design.margin) is not Verdict.EQUIVALENT:
            return False
    return True


def _best(
    samples: Sequence[Sample],
    rounds: Sequence[Mapping[str, Sample]],
    comparisons: Sequence[ArmComparison],
    design: ExperimentDesign,
) -> tuple[str, tuple[str, ...]]:
    spoilt = {item.arm for item in comparisons if item.verdict is Verdict.WORSE}
    beaten: set[str] = set(spoilt)
    wins: dict[str, set[str]] = {arm: set(spoilt) - {arm} for arm in design.arms}
    names = list(design.arms)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if {one, other} & spoilt:
                continue
            if one == CONTROL:
                found = next(item for item in comparisons if item.arm == other)
                side = {Verdict.BETTER: other, Verdict.WORSE: one}.get(found.verdict)
            else:
                pair = ArmPair(one=one, other=other, value=log_of(design.metric, design.better))
                interval, _ = effect(samples, rounds, pair, design, design.level)
                side = one if interval.low > 0 else other if interval.high < 0 else None
            if side is not None:
                beaten.add(other if side == one else one)
                wins[side].add(other if side == one else one)
    winners = [arm for arm in names if arm not in spoilt and len(wins[arm]) == len(names) - 1]
    return winners[0] if winners else "", tuple(arm for arm in names if arm not in beaten)


def _pairs_left(comparisons: Sequence[ArmComparison], design: ExperimentDesign, done: int) -> int | None:
    """Rounds to go if the effects are what they seem now; of several treatments the longest."""
    left: list[int] = []
    if not design.scheme.is_paired:
        return None
    for item in comparisons:
        if item.is_settled:
            left.append(0)
            continue
        found = item.interval
        if not math.isfinite(found.noise) or found.pairs < 2:
            return None
        needed = [
            count
            for count in (
                pairs_needed(found.mean, found.noise, design.level),
                pairs_to_equivalence(found.mean, found.noise, design.margin, design.level),
            )
            if count is not None
        ]
        if not needed:
            return None
        left.append(max(1, min(needed) - found.pairs))
    return min(max(left), max(0, design.pairs - done)) if left else None


def _scheme(design: ExperimentDesign) -> list[str]:
    return [design.scheme.warning] if design.scheme is not Scheme.RANDOMISED else []


def _drift(rounds: Sequence[Mapping[str, Sample]], design: ExperimentDesign) -> list[str]:
    """Test whether the control changes over the rounds."""
    logs = [item[CONTROL].log(design.metric) for item in rounds if CONTROL in item and item[CONTROL].ok]
    logs = [value for value in logs if not math.isnan(value)]
    slope = trend(logs)
    if slope is None:
        return []
    change = 100 * math.expm1(slope * (len(logs) - 1))
    return [f"the control drifted by {change:+.1f} % over {len(logs)} rounds"]


def _clock(samples: Sequence[Sample]) -> list[str]:
    """Test whether the system's clock jumped: it disagrees with the one that cannot."""
    from datetime import datetime

    worst = 0.0
    for before, after in pairwise(samples):
        if before.session != after.session or not before.time or not after.time:
            continue
        told = (datetime.fromisoformat(after.time) - datetime.fromisoformat(before.time)).total_seconds()
        if abs(told - (after.at_s - before.at_s)) > abs(worst):
            worst = told - (after.at_s - before.at_s)
    if abs(worst) < _CLOCK_JUMP_S:
        return []
    return [f"the system's clock jumped by {worst:+.0f} s; times here are from a clock that does not"]


def _by_input(rounds: Sequence[Mapping[str, Sample]], design: ExperimentDesign) -> list[str]:
    """Test whether the effect turns around between inputs."""
    if len(design.inputs) < 2:
        return []
    notes = []
    sign = 1.0 if str(design.better) == "higher" else -1.0
    for arm in design.treatments:
        means = []
        for place in range(len(design.inputs)):
            logs = [
                sign * (_log_mean(item[arm], place, design) - _log_mean(item[CONTROL], place, design))
                for item in rounds
                if arm in item and item[arm].ok and item[CONTROL].ok
            ]
            interval, _ = interval_of(logs, design.level / len(design.inputs))
            means.append(interval)
        up = [place + 1 for place, item in enumerate(means) if item.low > 0]
        down = [place + 1 for place, item in enumerate(means) if item.high < 0]
        if up and down:
            notes.append(f"{arm} is better on input {up} and worse on input {down}: choose by input")
    return notes


def _log_mean(sample: Sample, place: int, design: ExperimentDesign) -> float:
    return statistics.fmean(math.log(run[design.metric]) for run in sample.runs[place])
