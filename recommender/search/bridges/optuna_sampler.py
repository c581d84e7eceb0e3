"""Our search as a sampler of Optuna: ``optuna.create_study(sampler=SearchSampler(...))``.

Optuna keeps the trials; the sampler tells a search those that ended, holds those that run elsewhere, and
asks. Nothing infeasible is sampled and, as long as the space lasts, nothing twice. Imports Optuna, so it is
itself imported late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import optuna
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import TrialState

from kg.errors import InfeasibleError, InputError
from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.space.foreign_spaces import space_of_distributions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from recommender.search.evaluations import SourceTable
    from recommender.space.constraint import Constraint


class SearchSampler(BaseSampler):
    """Samples what a search proposes.

    Args:
        distributions: The space, as the objective will suggest it.
        constraints: What every configuration satisfies.
        sources: What is known of similar problems, for the first objective.
        seed: Of the search.

    Raises:
        InputError: The space is none.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        *,
        constraints: Sequence[Constraint] = (),
        sources: Sequence[SourceTable] = (),
        seed: int = 0,
    ) -> None:
        self._distributions = dict(distributions)
        self._space = space_of_distributions(distributions, constraints)
        self._sources, self._seed = tuple(sources), seed
        self._search: Search | None = None
        self._told: set[int] = set()
        self._held: dict[int, int] = {}
        self._independent = RandomSampler(seed=seed)

    def infer_relative_search_space(
        self,
        study: Study,  # noqa: ARG002 - the signature is Optuna's
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """The space as it was declared."""
        return dict(self._distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next proposal; empty once nothing is left, so that Optuna samples at random."""
        search = self._following(study, trial)
        asked = search.ask()
        if not asked:
            return {}
        self._held[trial.number] = asked[0].number
        configuration = asked[0].configuration
        return {name: _choice(search_space[name], configuration[name]) for name in configuration}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that was not declared: at random."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """For parallel workers: another seed, and a search that starts from the log."""
        self._independent.reseed_rng()
        self._seed += 1
        self._search, self._told, self._held = None, set(), {}

    def _following(self, study: Study, current: FrozenTrial) -> Search:
        """The search, told all that the study knows."""
        if self._search is None:
            objectives = tuple(
                Objective(
                    metric=f"objective_{k}",
                    better=Better.HIGHER if way == optuna.study.StudyDirection.MAXIMIZE else Better.LOWER,
                )
                for k, way in enumerate(study.directions)
            )
            self._search = Search(
                space=self._space, objectives=objectives, sources=self._sources, seed=self._seed
            )
        for trial in study.get_trials(deepcopy=False):
            if trial.number == current.number or trial.number in self._told:
                continue
            settings = Settings({k: v for k, v in trial.params.items() if k in self._distributions})
            try:
                if trial.state in {TrialState.COMPLETE, TrialState.FAIL}:
                    self._search.tell(_evaluation(trial, settings), self._held.pop(trial.number, None))
                    self._told.add(trial.number)
                elif trial.state is TrialState.RUNNING and trial.number not in self._held and settings:
                    self._held[trial.number] = self._search.hold(settings)
            except InputError:
                self._told.add(trial.number)  # a trial of another space, or without a logarithm
        return self._search


def _evaluation(trial: FrozenTrial, settings: Settings) -> Evaluation:
    if trial.state is TrialState.COMPLETE and trial.values:
        return Evaluation(configuration=settings, values=tuple(trial.values))
    return Evaluation(configuration=settings, values=(None,), status=Status.FAILED, reason="failed")


def _choice(distribution: BaseDistribution, value: Any) -> Any:
    """A value in the type that its distribution has: 16 and 16.0, lists and tuples are one to us."""
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        for choice in distribution.choices:
            if choice == value and isinstance(choice, bool) == isinstance(value, bool):
                return choice
        raise InfeasibleError(f"{value!r} is no choice of its distribution")
    return int(value) if isinstance(distribution, optuna.distributions.IntDistribution) else float(value)
