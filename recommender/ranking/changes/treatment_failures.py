"""Strategies that failed and never ran on the hardware and model family of a question."""

from kg.errors import UnknownEntityError
from kg.nouns.entities import Problem
from kg.nouns.outcomes import Outcome
from kg.triples.finders import ModelFinder, effects_of, failed_outcomes
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph


class TreatmentFailures:
    """The outcomes of a graph whose treatment never ran; read once.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._models = ModelFinder(graph)
        self._by_strategy: dict[str, list[Outcome]] = {}
        for outcome in failed_outcomes(graph):
            self._by_strategy.setdefault(outcome.strategy, []).append(outcome)

    def of(self, strategy: str, problem: Problem) -> Outcome | None:
        """Return the newest failure of a strategy on the hardware and model family of a problem.

        None if it never failed there, or ran there too: then it depends on something else.

        Args:
            strategy: Its id.
            problem: The question.
        """
        if strategy not in self._by_strategy:
            return None
        place = (problem.hardware.name, self._family(problem))

        def is_there(outcome: Outcome) -> bool:
            try:
                tested = from_graph(self._graph, Problem, outcome.problem)
            except UnknownEntityError:
                return False
            return (tested.hardware.name, self._family(tested)) == place

        failures = [outcome for outcome in self._by_strategy[strategy] if is_there(outcome)]
        if not failures or self._ran(strategy, place):
            return None
        return max(failures, key=lambda outcome: (outcome.time, outcome.id))

    def _family(self, problem: Problem) -> str:
        known = self._models.find(problem.workload.model)
        return known.family if known else ""

    def _ran(self, strategy: str, place: tuple[str, str]) -> bool:
        return any(
            effect.n and (effect.context.hardware, effect.context.family) == place
            for effect in effects_of(self._graph, strategy)
        )
