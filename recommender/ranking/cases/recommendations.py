"""Configurations of past cases as recommendations."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance

import numpy as np

from kg.errors import InputError
from kg.nouns.entities import Configuration, Kind, Measurement, Problem, Status, Trust
from kg.nouns.gain import Gain
from kg.rows.trials import TrialStore
from kg.triples.finders import source_of_problem
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph
from recommender.calibration.outlook import Outlook
from recommender.cost_model.measured.correction import UNLIKE
from recommender.ranking.cases.circumstances import circumstances
from recommender.ranking.cases.evidence import CaseQuestion
from recommender.ranking.cases.ranker import Ranker, Ranking
from recommender.ranking.cases.reference import CURRENT, Reference, reference_of
from recommender.ranking.change import MEASURED, Change, Support, changes, recommendation_id
from recommender.ranking.feasibility.feasibility import QuestionFeasibility, Refusal
from recommender.ranking.paste import plain_flags
from recommender.retrieval.neighbours import Neighbour
from recommender.space.space import SearchSpace

LEAST = 8
"""Timed configurations from which a table's median stands for what one would run without it; a choice."""
MEDIAN = "the median configuration of its own table"
FEW = "the median of the few configurations timed here"
ALONE = "three times faster than all others, which lie together: see that it computes what it should"
_RANKED = 64
"""Configurations of one's own table that are ranked, the best of which are shown; a choice."""
_FEW_OTHERS = 3
"""Others from which one is told to be far from them; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRow:
    """Row of a table for one configuration.

    Attributes:
        cost: Log cost over its repeats.
        error: Standard error of that; None where neither it nor the table states a spread.
        value: Mean with its unit.
        repeats: How often it was timed.
        kind: How it became known.
    """

    cost: float
    error: float | None
    value: str
    repeats: int
    kind: Kind

    @property
    def words(self) -> str:
        """Its number and what that rests on, for people."""
        often = "once" if self.repeats == 1 else f"{self.repeats} times"
        return f"{self.value}, timed {often}" + (", no spread" if self.error is None else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """The measurements of exactly the asked problem.

    Attributes:
        rows: By digest of the configuration.
        reference: What gains are told against; None where one configuration alone was timed.
        against: What that is, in words.
        sizes: What it was timed with, where the question states no sizes; else empty.
    """

    rows: Mapping[str, TimedRow]
    reference: TimedRow | None
    against: str
    sizes: str = ""

    def said_of(self, row: TimedRow) -> tuple[str, ...]:
        """Notes on a row: the sizes it was timed with, and that it is far from all others."""
        said = (f"timed with {self.sizes}, the only sizes known here",) if self.sizes else ()
        slower = sorted(one.cost for one in self.rows.values() if one is not row)
        apart = slower[0] - row.cost if len(slower) >= _FEW_OTHERS else 0.0
        is_alone = apart > max(UNLIKE, slower[-1] - slower[0]) if apart > 0 else False
        return (*said, ALONE) if is_alone else said

    def gain(self, row: TimedRow) -> Gain | None:
        """Gain of a row with its 90 % interval, which is of no width where no spread is known."""
        if self.reference is None:
            return None
        known = row.error is not None and self.reference.error is not None
        error = math.hypot(row.error or 0.0, self.reference.error or 0.0) if known else 0.0
        return Gain.around(self.reference.cost - row.cost, error)


def own_table(
    problem: Problem, neighbours: Sequence[Neighbour], trials: TrialStore, sizes_of: Callable[[str], str]
) -> OwnTable | None:
    """The table of the very problem on the very device; None without one.

    Args:
        problem: The question, with the current configuration if there is one.
        neighbours: The known problems that are asked.
        trials: Has the rows.
        sizes_of: Sizes of a known problem, in words.
    """
    is_silent = not problem.workload.shape and not problem.workload.model
    own = [
        source.problem
        for source in neighbours
        if (source.same_task or (is_silent and source.problem.operator == problem.workload.operator))
        and source.problem.hardware == problem.hardware.name
        and source.problem.metric == problem.objective.metric
        and source.problem.count in {None, problem.hardware.count}
    ]
    if is_silent and len(own) > 1:  # which of them is meant?
        own = [one for one in own if one.task_id == problem.task_id]
    readings: dict[str, list[Measurement]] = defaultdict(list)
    kinds: dict[str, Kind] = {}
    current = ""
    for trial in (trial for table in own for trial in trials.rows(table.id)):
        measured, digest = trial.measurement, trial.configuration.digest
        if measured.metric != problem.objective.metric or trial.kind is Kind.MODELLED:
            continue
        if measured.status is not Status.OK or not measured.value or measured.value <= 0:
            continue
        readings[digest].append(measured)
        kinds[digest] = trial.kind
        if problem.current and all(problem.current.get(n) == v for n, v in trial.configuration.items()):
            current = digest
    if not readings:
        return None
    rows = _timed(readings, kinds, 1 if own[0].better == "lower" else -1)
    ordered = sorted(rows.values(), key=lambda row: row.cost)
    middle = ordered[len(ordered) // 2] if len(ordered) > 1 else None
    return OwnTable(
        rows=rows,
        reference=rows[current] if current else middle,
        against=CURRENT if current else MEDIAN if len(rows) >= LEAST else FEW,
        sizes=sizes_of(own[0].id) if is_silent and own[0].task_id != problem.task_id else "",
    )


def _timed(
    readings: Mapping[str, Sequence[Measurement]], kinds: Mapping[str, Kind], sign: int
) -> dict[str, TimedRow]:
    """The mean of each configuration's repeats, with the error that they and their spread state.

    The best of several repeats would be told too fast. Rows that state no spread have that between the
    repeats of the table.
    """
    costs = {digest: [sign * math.log(one.value or 1.0) for one in row] for digest, row in readings.items()}
    repeated = [row for row in costs.values() if len(row) > 1]
    degrees = sum(len(row) - 1 for row in repeated)
    between = sum(variance(row) * (len(row) - 1) for row in repeated) / degrees if degrees else None
    found: dict[str, TimedRow] = {}
    for digest, row in readings.items():
        stated = [(one.stdev or 0) / (one.value or 1) / math.sqrt(one.repeats or 1) for one in row]
        squares = [error**2 or between for error in stated]
        known = [square for square in squares if square is not None]
        single = fmean(known) if len(known) == len(row) else None
        if single is not None and len(row) > 1 and between is not None:
            single = max(single, between)
        found[digest] = TimedRow(
            cost=fmean(costs[digest]),
            error=None if single is None else math.sqrt(single / len(row)),
            value=_figure(math.exp(sign * fmean(costs[digest])), row[0].unit or ""),
            repeats=sum(one.repeats or 1 for one in row),
            kind=kinds[digest],
        )
    return found


def _figure(value: float, unit: str) -> str:
    if unit == "s" and value < 1:
        value, unit = (value * 1e3, "ms") if value >= 1e-3 else (value * 1e6, "us")
    return f"{value:.4g} {unit}"


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
        own = own_table(problem, neighbours, self._ranker.trials, self._sizes)

        def feasible(_: Problem, configuration: Configuration) -> bool:
            if space is not None and not _is_in(space, configuration):
                return False
            broken = rules.check(configuration)
            refused.extend(broken)
            return not broken

        among = k if own is None else max(k, min(len(own.rows), _RANKED))
        ranking = self._ranker.rank(problem, neighbours, CaseQuestion(), among, feasible)
        reference = reference_of(problem, ranking)
        order = [place for place in ranking.order if not _only_failed(ranking, place)]
        if order and not problem.workload.model:  # parameters of another program are no choice beside
            names = set(ranking.configuration(order[0]))
            order = [place for place in order if not names.isdisjoint(ranking.configuration(place))]
        timed = {} if own is None else {at: own.rows.get(ranking.configuration(at).digest) for at in order}
        order.sort(key=lambda at: math.inf if (row := timed.get(at)) is None else row.cost)
        order = order[:k]
        recommendations = tuple(
            self._recommendation(problem, ranking, place, reference, own) for place in order
        )
        if not recommendations or reference is None:
            return CaseChoice(recommendations=recommendations, refused=tuple(refused))
        regret = self._outlook.regret(circumstances(ranking, order[0], reference))
        if timed.get(order[0]) is not None:  # its time is known
            regret = {}
        first, *others = range(len(recommendations))
        scores = ranking.scores
        hopeful = min(
            others, key=lambda at: scores.expected[order[at]] - scores.spread[order[at]], default=None
        )
        return CaseChoice(
            recommendations=recommendations,
            refused=tuple(refused),
            regret={k: value for k, value in regret.items() if k <= len(recommendations)},
            telling=tuple(recommendations[at].id for at in (first, hopeful) if at is not None),
        )

    def _sizes(self, problem_id: str) -> str:
        shape = from_graph(self._graph, Problem, problem_id).workload.shape
        return ", ".join(f"{name}={value}" for name, value in shape.items())

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
        title = "configuration of similar cases" if gain else "choice of others"
        timed = None if own is None else own.rows.get(ranking.configuration(place).digest)
        if own is not None and timed is not None:
            gain, against = own.gain(timed), own.against
            title = "; ".join((timed.words, *own.said_of(timed)))
            probability = gain.probability_of_gain if gain is not None and gain.deviation > 0 else None
        return Change(
            id=recommendation_id(problem, configuration, self._version),
            title=title,
            configuration=configuration,
            flags=plain_flags(configuration),
            gain=gain,
            probability=probability,
            against=against,
            basis=_basis(ranking, place),
            tier=_tier(timed, is_timed=gain is not None),
            distance_class="" if ranking.distance is None else ranking.distance.name.lower(),
            parts={
                "expected log regret": float(scores.expected[place]),
                "spread between what is known": float(scores.spread[place]),
                **{name: float(values[place]) for name, (_, values) in list(scores.parts.items())[:8]},
            },
            evidence=tuple(self._evidence(ranking, place)),
            conditions=own.said_of(timed)
            if own and timed
            else ()
            if gain
            else ("published as somebody's choice, without its time",),
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


def _only_failed(ranking: Ranking, place: int) -> bool:
    """True if the configuration failed in every problem that tried it."""
    evidence, column = ranking.evidence, ranking.scores.chosen[place]
    saw = np.isfinite(evidence.ratios[:, column]).any() or evidence.votes[:, column].any()
    return bool(evidence.failed[:, column].any()) and not saw


def _tier(own: TimedRow | None, *, is_timed: bool) -> str:
    """The tier of a configuration's evidence, from its row in the question's own table."""
    if own is None:
        return "measured elsewhere" if is_timed else "documented"
    return MEASURED if own.kind is Kind.MEASURED else "published"


def _is_in(space: SearchSpace, configuration: Configuration) -> bool:
    """True if a configuration sets what a space has, nothing else, and keeps its rules."""
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
