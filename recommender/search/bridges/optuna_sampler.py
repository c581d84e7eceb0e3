"""Our search as a sampler of Optuna: ``optuna.create_study(sampler=SearchSampler())``.

Optuna keeps the trials; the sampler tells a search those that ended, holds those that run elsewhere, and
asks. Nothing infeasible is sampled and, as long as the space lasts, nothing twice, by however many threads or
processes. Imports Optuna, so it is itself imported late.
"""

from __future__ import annotations

import secrets
from threading import RLock
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from optuna.samplers import BaseSampler, RandomSampler

from recommender.search.bridges.observed_space import joined
from recommender.search.bridges.study_search import PROPOSAL, StudySearch
from recommender.space.foreign_spaces import space_of_distributions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial, TrialState

    from recommender.search.evaluations import SourceTable
    from recommender.space.constraint import Constraint

_REDRAWS = 32
"""Draws of a parameter at random before a configuration that was there is taken; a choice."""

_RIVALS = 16
"""Proposals given up to other workers before one is kept all the same; a choice."""


class SearchSampler(BaseSampler):
    """Samples what a search proposes.

    Args:
        distributions: The space, as the objective will suggest it; None to learn it from the trials.
        constraints: What every configuration satisfies.
        sources: What is known of similar problems, for the first objective, which is then above zero.
        seed: Of the search; None for another one every time.

    Raises:
        InputError: The space is none, or a constraint speaks of something else.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution] | None = None,
        *,
        constraints: Sequence[Constraint] = (),
        sources: Sequence[SourceTable] = (),
        seed: int | None = None,
    ) -> None:
        self._declared = dict(distributions or {})
        if distributions is not None:
            space_of_distributions(distributions, constraints)  # refused here, not in the first trial
        self._constraints, self._sources = tuple(constraints), tuple(sources)
        self._seed = secrets.randbits(31) if seed is None else seed
        self._lock = RLock()
        self._forget(None)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: it reads the rest from the study."""
        return {
            "_declared": self._declared,
            "_constraints": self._constraints,
            "_sources": self._sources,
            "_seed": self._seed,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy that has seen no study."""
        for name, value in state.items():
            setattr(self, name, value)
        self._lock = RLock()
        self._forget(None)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The space as it was declared, or as the trials that ended have shown it."""
        if self._declared:
            return dict(self._declared)
        with self._lock:
            self._attend(study)
            for other in study.get_trials(deepcopy=False):
                if other.state.is_finished() and other.number not in self._seen:
                    self._seen.add(other.number)
                    for name, distribution in other.distributions.items():
                        self._shown[name] = joined(self._shown.get(name), distribution)
            if not self._shown:
                self._drawn[trial.number] = {}
            return dict(self._shown)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next proposal; once nothing is left, something at random."""
        if not search_space or set(search_space) <= set(trial.system_attrs.get("fixed_params", ())):
            return {}
        with self._lock:
            self._attend(study)
            search = self._following(study, search_space)
            rng = np.random.default_rng([self._seed, trial.number])
            attempt = 0
            while True:
                search.follow(study.get_trials(deepcopy=False), trial.number)
                proposal = search.propose(trial.number, skip=int(rng.integers(attempt + 1)))
                if proposal is None:
                    return self._taken(trial, search.params(search.again(rng)))
                attempt += 1
                params = search.params(proposal)
                drawn = (n for n, held in self._drawn.items() if n != trial.number and held == params)
                if attempt < _RIVALS and (other := next(drawn, None)) is not None:
                    search.give_way(trial.number, other)  # which a thread drew, and has not written yet
                    continue
                internal = search.internal(proposal)  # where Optuna's own samplers keep such things
                study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, internal)
                if attempt == _RIVALS or not search.rival(trial.number, study.get_trials(deepcopy=False)):
                    return self._taken(trial, params)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that no proposal has: at random, by the numbers of trial and parameter."""
        with self._lock:
            self._attend(study)
            earlier = self._drawn.get(trial.number)
            others = [] if earlier is None else self._others(study, trial.number)
            value = None
            for draw in range(_REDRAWS):
                seed = np.random.default_rng([self._seed, trial.number, crc32(param_name.encode()), draw])
                random = RandomSampler(seed=int(seed.integers(2**31)))
                value = random.sample_independent(study, trial, param_name, param_distribution)
                if earlier is None or {**earlier, param_name: value} not in others:
                    break
            if earlier is not None:
                earlier[param_name] = value
            return value

    def after_trial(
        self,
        study: Study,  # noqa: ARG002 - the signature is Optuna's
        trial: FrozenTrial,
        state: TrialState,  # noqa: ARG002
        values: Sequence[float] | None,  # noqa: ARG002
    ) -> None:
        """Forget what an ending trial drew: the study has it."""
        with self._lock:
            self._drawn.pop(trial.number, None)

    def reseed_rng(self) -> None:
        """Nothing: draws depend on the number of the trial, so copies in parallel never draw alike."""

    # --- below

    def _forget(self, study: tuple[int, int] | None) -> None:
        self._study = study
        self._shown: dict[str, BaseDistribution] = {}
        self._seen: set[int] = set()
        self._drawn: dict[int, dict[str, Any]] = {}
        self._search: tuple[dict[str, BaseDistribution], StudySearch] | None = None

    def _attend(self, study: Study) -> None:
        """Begin anew where the sampler meets another study."""
        key = (id(study._storage), study._study_id)
        if self._study != key:
            self._forget(key)

    def _taken(self, trial: FrozenTrial, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a trial, which no other in this process draws from now on."""
        self._drawn[trial.number] = dict(params)
        return params

    def _following(self, study: Study, search_space: dict[str, BaseDistribution]) -> StudySearch:
        if self._search is None or self._search[0] != search_space:
            search = StudySearch(
                search_space,
                study.directions,
                constraints=self._constraints,
                sources=self._sources,
                seed=self._seed,
            )
            self._search = (dict(search_space), search)
        return self._search[1]

    def _others(self, study: Study, number: int) -> list[dict[str, Any]]:
        """What other trials have drawn, those of other threads as far as they are."""
        stored = [other.params for other in study.get_trials(deepcopy=False) if other.number != number]
        return stored + [drawn for other, drawn in self._drawn.items() if other != number]
