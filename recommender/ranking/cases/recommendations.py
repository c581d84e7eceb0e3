"""Configurations of past cases as recommendations."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from kg.nouns.entities import Kind, Status, Trust
from kg.nouns.gain import Gain
from kg.triples.finders import source_of_problem
from recommender.ranking.cases.circumstances import circumstances
from recommender.ranking.cases.evidence import CaseQuestion
from recommender.ranking.cases.reference import CURRENT, reference_of
from recommender.ranking.change import Change, Support, changes, recommendation_id
from recommender.ranking.paste import plain_flags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.nouns.entities import Configuration, Problem
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from recommender.calibration.outlook import Outlook
    from recommender.ranking.cases.ranker import Ranker, Ranking
    from recommender.ranking.cases.reference import Reference
    from recommender.ranking.feasibility.feasibility import QuestionFeasibility, Refusal
    from recommender.retrieval.neighbours import Neighbour
    from recommender.space.space import SearchSpace


LEAST = 8
"""Timed configurations from which a table's median stands for what one would run without it; a choice."""
MEDIAN = "the median configuration of its own table"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRow:
    """What a table says of one configuration: log cost over its repeats, and the standard error of that."""

    cost: float
    error: float


@dataclass(frozen=True, slots=True)
class _Reading:
    """One row: log cost, and the standard error that it states of itself; None if it states none."""

    cost: float
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """The measurements of exactly the asked problem.

    Attributes:
        rows: By digest of the configuration.
        reference: What gains are told against.
        name: What that is, in words.
    """

    rows: Mapping[str, TimedRow]
    reference: TimedRow
    name: str

    def gain(self, digest: str) -> Gain | None:
        """Gain of a configuration with its 90 % interval; None if not measured."""
        row = self.rows.get(digest)
        if row is None:
            return None
        return Gain.around(self.reference.cost - row.cost, math.hypot(row.error, self.reference.error))


def own_table(problem: Problem, ranking: Ranking, trials: TrialStore) -> OwnTable | None:
    """The table of the very problem on the very device; None without one, or where spreads are not known.

    Args:
        problem: The question, with the current configuration if there is one.
        ranking: The answer of the cases.
        trials: Has the rows.
    """
    own = next(
        (
            source.problem
            for source in ranking.evidence.sources
            if source.same_task
            and source.problem.hardware == problem.hardware.name
            and source.problem.metric == problem.objective.metric
            and source.problem.count in {None, problem.hardware.count}
        ),
        None,
    )
    if own is None:
        return None
    readings: dict[str, list[_Reading]] = defaultdict(list)
    current = ""
    for trial in trials.rows(own.id):
        measured = trial.measurement
        if measured.metric != own.metric or measured.status is not Status.OK or not measured.value:
            continue
        if measured.value <= 0 or trial.kind is Kind.MODELLED:
            continue
        stated = measured.stdev and measured.stdev / measured.value / math.sqrt(measured.repeats or 1)
        sign = 1 if own.better == "lower" else -1
        readings[trial.configuration.digest].append(_Reading(sign * math.log(measured.value), stated))
        if problem.current and all(problem.current.get(n) == v for n, v in trial.configuration.items()):
            current = trial.configuration.digest
    rows = _timed(readings)
    if len(rows) < LEAST:
        return None
    ordered = sorted(rows.values(), key=lambda row: row.cost)
    reference = rows[current] if current else ordered[len(ordered) // 2]
    return OwnTable(rows=rows, reference=reference, name=CURRENT if current else MEDIAN)


def _timed(readings: Mapping[str, Sequence[_Reading]]) -> dict[str, TimedRow]:
    """The mean of each configuration's repeats, with the error that they and their spread state.

    The best of several repeats would be told too fast. Rows that state no spread have that between the
    repeats of the table; without any they are left out.
    """
    repeated = [[reading.cost for reading in row] for row in readings.values() if len(row) > 1]
    degrees = sum(len(costs) - 1 for costs in repeated)
    between = sum(variance(costs) * (len(costs) - 1) for costs in repeated) / degrees if degrees else None
    found: dict[str, TimedRow] = {}
    for digest, row in readings.items():
        squares = [between if reading.error is None else reading.error**2 for reading in row]
        known = [square for square in squares if square is not None]
        if len(known) < len(row):
            continue
        single = fmean(known)
        if len(row) > 1 and between is not None:
            single = max(single, between)
        found[digest] = TimedRow(
            cost=fmean(reading.cost for reading in row), error=math.sqrt(single / len(row))
        )
    return found


SHOWN_SOURCES = 3

_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChoice:
    """The recommendations that rest on past cases, and the configurations that were refused.

    Attributes:
        recommendations: Best first.
        refused: What was left out on the way, with the rule.
        regret: Expected log regret of the best of the first k, by k; empty if nothing was timed.
        telling: Ids of the two whose measurement would tell most: the best, and of the others the one that
            may be better still.
    """

    recommendations: tuple[Change, ...]
    refused: tuple[Refusal, ...] = ()
    regret: Mapping[int, float] = field(default_factory=dict)
    telling: tuple[str, ...] = ()


class CaseChooser:
    """Chooses among the configurations of similar cases.

    Args:
        ranker: Ranks the candidates.
        graph: Where sources are looked up.
        version: Identifier of the knowledge.
        outlook: What may be expected of an answer by its circumstances.
    """

    def __init__(self, ranker: Ranker, graph: GraphStore, version: str, outlook: Outlook) -> None:
        self._ranker = ranker
        self._graph = graph
        self._version = version
        self._outlook = outlook
        self._cited: dict[str, str] = {}

    def choose(
        self,
        problem: Problem,
        neighbours: Sequence[Neighbour],
        k: int,
        rules: QuestionFeasibility,
        space: SearchSpace | None = None,
    ) -> CaseChoice:
        """Choose the k best configurations; list those that were refused.

        Args:
            problem: The question.
            neighbours: The known problems to ask.
            k: How many at most.
            rules: What can run.
            space: What the configurations must be points of; None for any.
        """
        refused: list[Refusal] = []

        def feasible(_: Problem, configuration: Configuration) -> bool:
            if space is not None and not _is_in(space, configuration):
                return False
            broken = rules.check(configuration)
            refused.extend(broken)
            return not broken

        ranking = self._ranker.rank(problem, neighbours, CaseQuestion(), k, feasible)
        reference = reference_of(problem, ranking)
        own = own_table(problem, ranking, self._ranker.trials)
        recommendations = tuple(
            self._recommendation(problem, ranking, place, reference, own) for place in ranking.order
        )
        if not recommendations or reference is None:
            return CaseChoice(recommendations=recommendations, refused=tuple(refused))
        first, *others = range(len(recommendations))
        scores, order = ranking.scores, ranking.order
        hopeful = min(
            others, key=lambda at: scores.expected[order[at]] - scores.spread[order[at]], default=None
        )
        return CaseChoice(
            recommendations=recommendations,
            refused=tuple(refused),
            regret={
                k: value
                for k, value in self._outlook.regret(circumstances(ranking, order[0], reference)).items()
                if k <= len(recommendations)
            },
            telling=tuple(recommendations[at].id for at in (first, hopeful) if at is not None),
        )

    def _recommendation(
        self,
        problem: Problem,
        ranking: Ranking,
        place: int,
        reference: Reference | None,
        own: OwnTable | None,
    ) -> Change:
        configuration = changes(ranking.configuration(place), problem.current)
        scores = ranking.scores
        gain, probability = None, None
        if reference is not None and ranking.distance is not None:
            row = circumstances(ranking, place, reference)
            raw = reference.expected - float(scores.expected[place])
            forecast = self._outlook.forecast(row, ranking.distance, raw)
            gain = Gain(expected=forecast.expected, low=forecast.low, high=forecast.high)
            probability = forecast.probability
        against = "" if reference is None else reference.name
        if own is not None and (measured := own.gain(ranking.configuration(place).digest)) is not None:
            gain, probability, against = measured, measured.probability_of_gain, own.name
        return Change(
            id=recommendation_id(problem, configuration, self._version),
            title="configuration of similar cases" if gain else "choice of others",
            configuration=configuration,
            flags=plain_flags(configuration),
            gain=gain,
            probability=probability,
            against=against,
            basis=_basis(ranking, place),
            distance_class="" if ranking.distance is None else ranking.distance.name.lower(),
            parts={
                "expected log regret": float(scores.expected[place]),
                "spread between what is known": float(scores.spread[place]),
                **{name: float(values[place]) for name, (_, values) in list(scores.parts.items())[:8]},
            },
            evidence=tuple(self._evidence(ranking, place)),
            conditions=() if gain else ("published as somebody's choice, without its time",),
            trust=_trust(ranking, place),
        )

    def _evidence(self, ranking: Ranking, place: int) -> Iterator[Support]:
        evidence, scores = ranking.evidence, ranking.scores
        column = scores.chosen[place]
        total = float(scores.weights.sum())
        ratios, votes = evidence.ratios[:, column], evidence.votes[:, column]
        saying = np.flatnonzero(np.isfinite(ratios) | votes)
        for row in saying[np.argsort(-scores.weights[saying], kind="stable")][:SHOWN_SOURCES].tolist():
            source, ratio = evidence.sources[row], float(ratios[row])
            count = f" x {source.problem.count}" if source.problem.count else ""
            task = "the same task" if source.same_task else "a similar task"
            is_timed = math.isfinite(ratio)
            result = f"{math.exp(ratio):.2f}x the best time" if is_timed else "the published choice"
            yield Support(
                kind="timed" if is_timed else "winner",
                says=f"{result} of {task} on {source.problem.hardware}{count}",
                weight=float(scores.weights[row]) / total if total > 0 else None,
                problem=source.problem.id,
                source=self._citation(source.problem.id),
            )

    def _citation(self, problem_id: str) -> str:
        """Return title and place of the first source of a problem."""
        if problem_id not in self._cited:
            if len(self._cited) > _REMEMBERED:
                self._cited.clear()
            self._cited[problem_id] = ""
            source = source_of_problem(self._graph, problem_id)
            if source is not None:
                parts = (source.title, source.url, source.path)
                self._cited[problem_id] = " ".join(part for part in parts if part)
        return self._cited[problem_id]


def _is_in(space: SearchSpace, configuration: Configuration) -> bool:
    """Whether a configuration sets what a space has, nothing else, and keeps its rules."""
    try:
        return space.violated(configuration) is None
    except InputError:  # a parameter that the space lacks, or a value
        return False


def _trust(ranking: Ranking, place: int) -> Trust:
    """Trust of the most trusted source that has the configuration; the least of all where it is composed."""
    evidence = ranking.evidence
    column = ranking.scores.chosen[place]
    saying = np.flatnonzero(np.isfinite(evidence.ratios[:, column]) | evidence.votes[:, column]).tolist()
    rows = saying or range(len(evidence.sources))
    pick = max if saying else min
    trusts = (evidence.sources[row].problem.trust for row in rows)
    return pick(trusts, key=lambda trust: trust.weight, default=Trust.MEDIUM)


def _basis(ranking: Ranking, place: int) -> str:
    evidence = ranking.evidence
    column = ranking.scores.chosen[place]
    timed = int(np.isfinite(evidence.ratios[:, column]).sum())
    votes = int(evidence.votes[:, column].sum())
    parts = []
    if timed:
        parts.append(f"timed in {timed} similar problem{'s' if timed > 1 else ''}")
    if votes:
        parts.append(f"the choice of {votes} tuning{'s' if votes > 1 else ''}")
    if not parts:
        parts.append("expected from similar configurations")
    if ranking.distance is not None:
        parts.append(f"nearest: {ranking.distance.name.lower().replace('_', ' ')}")
    return ", ".join(parts)
