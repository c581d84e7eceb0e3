"""The search engine: ask for configurations, tell their evaluations; without storage, clock or console.

What is proposed depends on the space, the sources, the seed, what was told (in order) and what is still
being evaluated; so telling a new search all that an old one was told continues the old one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.entities import Better, Limit, Objective
from kg.nouns.values import Settings
from recommender.search.belief.mixture import Mixture
from recommender.search.belief.source_covariance import Doubt
from recommender.search.engine.candidates import PROMOTED, SCREENED, Candidates
from recommender.search.engine.composition import CandidateOutlook, Composition
from recommender.search.engine.feasibility import FeasibilityModel
from recommender.search.engine.pareto import non_dominated
from recommender.search.engine.proposal import Beliefs, StopRule, propose
from recommender.search.engine.sources import Sources
from recommender.search.engine.tally import Tally
from recommender.search.evaluations import Evaluation, Origin, SourceTable, Suggestion, cost_of, value_of
from recommender.space.constraint import Coordinates
from recommender.space.parts import SearchPart
from recommender.space.space import SearchSpace

DESIGN = 4
"""Configurations before a model speaks where there is no source: the first at random, each other as far as
can be from those before. Random ones took 1.4 times the evaluations on the kernels of
the public collection; 10 were slower than 4."""

_FRUITLESS = 5
"""Evaluations without gain after which parts and whole propose in turns; a choice."""


class Search:
    """A search over one space.

    Args:
        space: What may be proposed.
        objectives: What decides; several give a Pareto front.
        limits: Bounds on other metrics; an evaluation's values hold them after the objectives'.
        sources: What is known of similar problems, for the first objective.
        default: Proposed among the first, if given.
        seed: Of the search's own randomness.
        budget: Evaluations after which ``stop_reason`` speaks; None for no bound.
        patience: Evaluations without gain after which ``stop_reason`` speaks; None for no bound.
        minimum_gain: Expected gain (log, 0.01 is 1 %) below which ``stop_reason`` speaks; 0 for never.
        parts: What the first objective is the sum of; empty where it is one thing.

    Raises:
        InputError: No objective, parts of several objectives, or a default that is no point of the space.
        InfeasibleError: Nothing satisfies the constraints.

    Example:
        >>> from recommender.search.evaluations import Evaluation
        >>> from recommender.space.space_file import read_space
        >>> space = read_space({"parameters": {"tile": [16, 32, 64, 128]}})
        >>> time = Objective(metric="kernel_time", better=Better.LOWER, unit="s")
        >>> search = Search(space=space, objectives=(time,))
        >>> for _ in range(4):
        ...     [suggestion] = search.ask()
        ...     seconds = abs(suggestion.configuration["tile"] - 32) + 1.0
        ...     result = Evaluation(configuration=suggestion.configuration, values=(seconds,))
        ...     search.tell(result, suggestion.number)
        >>> print(search.incumbent.configuration)
        tile=32
        >>> search.ask()
        []
    """

    def __init__(
        self,
        *,
        space: SearchSpace,
        objectives: tuple[Objective, ...],
        limits: tuple[Limit, ...] = (),
        sources: Sequence[SourceTable] = (),
        default: Settings | None = None,
        seed: int = 0,
        budget: int | None = None,
        patience: int | None = None,
        minimum_gain: float = 0.0,
        parts: Sequence[SearchPart] = (),
    ) -> None:
        if not objectives:
            raise InputError("a search needs an objective")
        if parts and len(objectives) > 1:
            raise InputError("parts add up to one objective", hint="leave out the parts, or all but one")
        self.objectives: tuple[Objective, ...] = objectives
        self.space, self.limits = space, limits
        self._rule = StopRule(budget=budget, patience=patience, minimum_gain=minimum_gain)
        self._seed = seed
        self._pool = Candidates(space, np.random.default_rng([seed, 0]))
        self._sources = Sources(space, sources, soft=self._soft)
        self._predictions = self._sources.predictions(self._pool.waiting)
        self._asked: dict[int, tuple[Suggestion, int]] = {}
        self._numbers = 0
        self._next_look = 2 * DESIGN
        self._tally = Tally(objectives=objectives, limits=limits)
        self._first: list[tuple[int, Origin]] = []
        if len(self._pool.reserve):
            self._promote(-self._predictions @ self._sources.shares, SCREENED - len(self._pool))
        for source in self._sources.models[:1]:
            self._start_with([source.points[i] for i in source.best()[:1]], "source")
        if default is not None:
            self._start_with([space.encode([default])[0]], "default")
        self._beliefs = Beliefs(
            objectives=tuple(self._mixture(k == 0, soft=self._soft) for k in range(len(objectives))),
            limits=tuple(self._mixture(trusting=False, soft=False) for _ in limits),
            feasibility=FeasibilityModel(self._pool.features),
        )
        self._parts = _composition(space, parts, seed) if parts else None
        self._sources.teach(self._beliefs.feasibility)

    # --- ask and tell

    def ask(self, n: int = 1) -> list[Suggestion]:
        """Up to ``n`` configurations to evaluate next, none proposed before; fewer if no more exist."""
        found: list[Suggestion] = []
        believed = [row for _, row in self._asked.values()]
        kept = self._beliefs.snapshot() if believed or n > 1 else None
        if believed:
            self._beliefs.believe(believed)
        try:
            for _ in range(n):
                chosen = self._next()
                if chosen is None:
                    break
                row, origin = chosen
                self._pool.open[row] = False
                found.append(self._suggestion(row, origin))
                if len(found) < n:
                    self._beliefs.believe([row])
        finally:
            if kept is not None:
                self._beliefs.restore(kept)
        return found

    def tell(self, evaluation: Evaluation, number: int | None = None) -> None:
        """Take in what came out, of a suggestion (its ``number``) or of anything else in the space.

        Raises:
            InputError: The configuration is no point of the space, or another than was suggested; the
                values do not fit objectives and limits.
        """
        if number is not None and number in self._asked:
            asked, row = self._asked[number]
            if asked.configuration != evaluation.configuration:
                raise InputError(f"suggestion {number} was another configuration")
        else:
            row = self._row_of(evaluation.configuration)
        costs = self._costs(evaluation)
        if number is not None:
            self._asked.pop(number, None)
        self._pool.open[row] = False
        gained = self._tally.add(evaluation, row)
        self._beliefs.tell(row, costs, 1.0 / evaluation.repeats)
        self._beliefs.feasibility.add(self._pool.features[[row]], np.array([not evaluation.ok]))
        if self._parts is not None:
            self._parts.tell(evaluation, kept=evaluation.ok and self.keeps_limits(evaluation))
        count = len(self._tally.evaluations)
        if len(self._pool.reserve) and self._tally.has_run and count >= self._next_look:
            self._next_look = 2 * count
            self._look_further()
        if gained and not self._pool.complete:
            rng = np.random.default_rng([self._seed, 1, count])
            self._grow(self._pool.neighbours(row, rng), proposable=True)

    def hold(self, configuration: Settings) -> int:
        """Note that a configuration is being evaluated elsewhere; the number for ``tell``.

        Raises:
            InputError: It is no point of the space.
        """
        row = self._row_of(configuration)
        self._pool.open[row] = False
        return self._suggestion(row, "model").number

    def repeats(self, n: int) -> list[Suggestion]:
        """Finalists to measure again: the best ``n`` configurations so far, fewest measurements first."""
        return [self._suggestion(row, "repeat") for row in self._tally.finalists(n)]

    # --- what is believed

    def outlook(self) -> CandidateOutlook:
        """The posterior of the candidates' first log cost."""
        objective = self._beliefs.objectives[0]
        return CandidateOutlook(
            u=self._pool.u,
            mean=objective.mean,
            stdev=np.sqrt(objective.variance),
            allowed=self._beliefs.log_allowed(),
            open=self._pool.open,
        )

    @contextmanager
    def believing(self, configurations: Sequence[Settings]) -> Iterator[None]:
        """Take what is predicted of configurations for their results, for as long as this lasts."""
        rows = [self._row_of(configuration) for configuration in configurations]
        kept = self._beliefs.snapshot() if rows and self._tally.has_run else None
        if kept is not None:
            self._beliefs.believe(rows)
        try:
            yield
        finally:
            if kept is not None:
                self._beliefs.restore(kept)

    # --- what came out

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """All that was told, in order."""
        return tuple(self._tally.evaluations)

    @property
    def incumbent(self) -> Evaluation | None:
        """The best by the first objective that keeps all limits, repeats averaged; None before one."""
        return self._tally.incumbent

    @property
    def front(self) -> list[Evaluation]:
        """Evaluations within the limits that no other beats in every objective; best first."""
        kept, costs = self._tally.comparable()
        best = [e for e, on in zip(kept, non_dominated(costs), strict=True) if on]
        return sorted(best, key=lambda e: cost_of(e.values[0] or 0.0, self.objectives[0]))

    @property
    def stop_reason(self) -> str | None:
        """The reason to stop now, for people; None to go on."""
        expected = None
        if self._rule.minimum_gain > 0 and len(self.objectives) == 1:
            expected = self._beliefs.expected_gain(self._pool.open, self._tally.best)
        return self._rule.reason(
            evaluations=len(self._tally.evaluations),
            idle=self._tally.idle,
            open_points=self._pool.remaining if not self._pool.open.any() else None,
            expected=expected,
        )

    def keeps_limits(self, evaluation: Evaluation) -> bool:
        """True where all limits are known to be kept."""
        return self._tally.keeps_limits(evaluation)

    # --- below

    def _next(self) -> tuple[int, Origin] | None:
        """The row to propose next and why; None if none is left."""
        if not self._pool.open.any():
            if not len(self._pool.reserve):
                return None
            self._look_further()
            return self._next()
        for row, origin in self._first:
            if self._pool.open[row]:
                return row, origin
        step = len(self._tally.evaluations) + len(self._asked)
        rng = np.random.default_rng([self._seed, 2, step])
        enough = self._sources or (step >= DESIGN and self._tally.has_run)
        if not enough:
            if 0 < step < DESIGN and not self._pool.open.all():
                return self._pool.farthest(), "spread"
            return int(rng.choice(np.flatnonzero(self._pool.open))), "random"
        composed = self._composed(step)
        if composed is not None:
            return composed, "parts"
        row = propose(self._beliefs, self._pool.open, self._tally, rng, step)
        return row, "model"

    def _composed(self, step: int) -> int | None:
        """The row that the parts together propose; None where it is not their turn."""
        incumbent = self._tally.incumbent
        if self._parts is None or incumbent is None or not incumbent.parts:
            return None
        in_turns = self._tally.idle >= _FRUITLESS
        if step % 2 == 1 if in_turns else self._sources:  # sources know the whole: it goes first
            return None
        found = self._parts.propose(
            incumbent,
            fresh=self._pool.fresh,
            pending=[suggestion.configuration for suggestion, _ in self._asked.values()],
        )
        if found is None:
            return None
        self._grow(found[None], proposable=True)
        return self._pool.row(found)

    def _row_of(self, configuration: Settings) -> int:
        """The row of a configuration, which enters the pool if it was not there."""
        u = self.space.encode([configuration])
        self._grow(u, proposable=False)
        row = self._pool.row(u[0])
        if row is None:
            raise InputError(f"{configuration} is no point of the space")
        return row

    def _look_further(self) -> None:
        """Promote what the model now thinks well of among those that wait."""
        _, costs = self._tally.comparable()
        hopes = np.zeros(len(self._predictions))
        if len(costs):
            hopes = self._beliefs.promise(self._pool.waiting, self._predictions, costs.min(axis=0).tolist())
        before = len(self._pool)
        self._promote(hopes, PROMOTED)
        if len(self._pool) > before:
            features = self._pool.features[before:]
            self._beliefs.append(features, self._sources.predictions(features))

    def _promote(self, hopes: NDArray[np.float64], most: int) -> None:
        gone = self._pool.promote(hopes, most)
        self._predictions = np.delete(self._predictions, gone, axis=0)

    def _suggestion(self, row: int, origin: Origin) -> Suggestion:
        expected, stdev = self._beliefs.expected(row) if self._tally.has_run else (None, None)
        suggestion = Suggestion(
            number=self._numbers,
            configuration=self._pool.configuration(row),
            origin=origin,
            expected=None
            if expected is None
            else tuple(value_of(c, o) for c, o in zip(expected, self.objectives, strict=True)),
            stdev=stdev,
        )
        self._asked[self._numbers] = (suggestion, row)
        self._numbers += 1
        return suggestion

    def _costs(self, evaluation: Evaluation) -> list[float | None]:
        """Log cost by objective (inf: failed), then limits as they are; None where unknown."""
        count = len(self.objectives) + len(self.limits)
        if not evaluation.ok:
            return [np.inf] * len(self.objectives) + [None] * len(self.limits)
        if len(evaluation.values) > count:
            raise InputError(f"{len(evaluation.values)} values, but {count} objectives and limits")
        values = list(evaluation.values) + [None] * (count - len(evaluation.values))
        costs = [None if v is None else cost_of(v, o) for v, o in zip(values, self.objectives, strict=False)]
        scales = [max(abs(limit.maximum), 1e-12) for limit in self.limits]
        bounds = values[len(self.objectives) :]
        return costs + [
            None if v is None else (v - limit.maximum) / scale
            for v, limit, scale in zip(bounds, self.limits, scales, strict=True)
        ]

    @property
    def _soft(self) -> bool:
        """True if costs are warped; not where the trade-off between objectives counts."""
        return len(self.objectives) == 1

    def _mixture(self, trusting: bool, *, soft: bool) -> Mixture:
        features = self._pool.features
        known = self._sources if trusting and self._sources else None
        return Mixture(
            features=features,
            groups=self.space.groups,
            predictions=known.predictions(features) if known else np.zeros((len(features), 0)),
            shares=known.shares if known else np.zeros(0),
            doubt=Doubt(known.models, known.shares, features) if known else None,
            soft=soft,
        )

    def _start_with(self, points: list[NDArray[np.float64]], origin: Origin) -> None:
        u: Coordinates = np.array(points).reshape(-1, len(self.space.parameters))
        u = u[self.space.allowed(u)]
        self._pool.add(u, proposable=True)
        self._first.extend((row, origin) for row in map(self._pool.row, u) if row is not None)

    def _grow(self, u: Coordinates, *, proposable: bool) -> None:
        """Put configurations into the pool and into what is believed of it."""
        new = self._pool.add(u, proposable=proposable)
        if len(new):
            features = self._pool.features[new]
            self._beliefs.append(features, self._sources.predictions(features))


def _composition(space: SearchSpace, parts: Sequence[SearchPart], seed: int) -> Composition:
    """Parts, each with a search over its own space that learns what it costs."""
    cost = (Objective(metric="cost", better=Better.LOWER),)
    searches = [Search(space=part.space, objectives=cost, seed=seed) for part in parts]
    return Composition(space, parts, searches)
