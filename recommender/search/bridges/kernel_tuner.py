"""Our search as a strategy of Kernel Tuner: ``tune_kernel(..., strategy=SearchStrategy(...))``.

Kernel Tuner takes any object with ``tune(searchspace, runner, tuning_options)`` for a strategy. It enumerates
the space, compiles, times, checks and keeps its cache as ever; which configuration comes next is ours.
Several objectives of Kernel Tuner are several here. Imports Kernel Tuner, so it is itself imported late.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from kernel_tuner.strategies.common import CostFunc
from kernel_tuner.util import StopCriterionReached

from kg.errors import InputError
from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.space.foreign_spaces import space_of_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.search.evaluations import SourceTable


class SearchStrategy:
    """Proposes what a search proposes.

    Args:
        sources: What is known of the kernel on other devices or of similar kernels, for the first objective.
        default: Timed first after the best of the sources; None if there is none.
        evaluations: Evaluations at most; None leaves that to Kernel Tuner (``max_fevals``, ``time_limit``).
        patience: Evaluations in a row without gain that end it; None for never.
        seed: Of the search.
    """

    def __init__(
        self,
        *,
        sources: Sequence[SourceTable] = (),
        default: Mapping[str, object] | None = None,
        evaluations: int | None = None,
        patience: int | None = None,
        seed: int = 0,
    ) -> None:
        self._sources, self._seed = tuple(sources), seed
        self._default = None if default is None else Settings(default)
        self._evaluations, self._patience = evaluations, patience

    def tune(self, searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        """Search, and return every result as Kernel Tuner keeps it.

        Args:
            searchspace: Kernel Tuner's ``Searchspace``: only its restricted configurations are proposed.
            runner: What compiles and times.
            tuning_options: With the objectives and Kernel Tuner's own budget.

        Raises:
            InputError: The space is empty, or the default is no configuration of it.
        """
        evaluate = CostFunc(searchspace, tuning_options, runner, scaling=False, snap=False)
        names = list(searchspace.tune_params)
        native = {Settings(dict(zip(names, point, strict=True))): point for point in searchspace.list}
        if self._default is not None and self._default not in native:
            raise InputError(f"the default {self._default} is no configuration of the space")
        higher = tuning_options.objective_higher_is_better
        objectives = tuple(
            Objective(metric=name, better=Better.HIGHER if more else Better.LOWER)
            for name, more in zip(tuning_options.objective, higher, strict=True)
        )
        search = Search(
            space=space_of_table(native),
            objectives=objectives,
            sources=self._sources,
            default=self._default,
            budget=self._evaluations,
            patience=self._patience,
            seed=self._seed,
        )
        try:
            while search.stop_reason is None and (asked := search.ask()):
                configuration = asked[0].configuration
                evaluate(native[configuration], check_restrictions=False)
                result = evaluate.results[-1]
                search.tell(_evaluation(configuration, result, objectives), asked[0].number)
        except StopCriterionReached as reached:
            if tuning_options.verbose:
                print(reached)  # noqa: T201  as Kernel Tuner's own strategies do
        return list(evaluate.results)


def _evaluation(
    configuration: Settings, result: Mapping[str, Any], objectives: Sequence[Objective]
) -> Evaluation:
    """What came out; a value that is no positive number failed, because it has no logarithm."""
    found = [result.get(item.metric) for item in objectives]
    values = tuple(float(value) for value in found if isinstance(value, int | float | np.number))
    good = len(values) == len(found) and all(math.isfinite(value) and value > 0 for value in values)
    if "__error__" in result or not good:
        failure = result.get("__error__", found[0])
        reason = failure if isinstance(failure, str) else type(failure).__name__
        return Evaluation(
            configuration=configuration, values=(None,) * len(found), status=Status.FAILED, reason=str(reason)
        )
    return Evaluation(configuration=configuration, values=values)
