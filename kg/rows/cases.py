"""Cases put together again: the graph knows problems and sources, the trial store knows rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.entities import Case, Problem, Source
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kg.rows.trial_rows import ProblemRow
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore

CHUNK = 4096
"""Problems looked up at once."""


def all_cases(
    graph: GraphStore, trials: TrialStore, wanted: Callable[[ProblemRow], bool] | None = None
) -> Iterator[Case]:
    """Yield every case, problem by problem in the order in which they came.

    Args:
        graph: Knows problems and sources.
        trials: Knows rows; opened with what ``graph`` acknowledges.
        wanted: Problems to leave out are those it refuses; None for all.
    """
    sources: dict[str, Source] = {}
    keys = trials.keys().tolist()
    for start in range(0, len(keys), CHUNK):
        for row in trials.summary(keys[start : start + CHUNK]):
            if wanted is None or wanted(row):
                yield from _cases_of(row, graph, trials, sources)


def _cases_of(
    row: ProblemRow, graph: GraphStore, trials: TrialStore, sources: dict[str, Source]
) -> Iterator[Case]:
    problem = from_graph(graph, Problem, row.id)
    for trial in trials.rows(row.id):
        source = sources.get(trial.source_id)
        if source is None:
            source = sources[trial.source_id] = from_graph(graph, Source, trial.source_id)
        yield Case(
            problem=problem,
            configuration=trial.configuration,
            measurement=trial.measurement,
            kind=trial.kind,
            source=source,
            baseline=trial.baseline,
            strategy=trial.strategy,
            bottleneck=trial.bottleneck,
            software=trial.software,
        )
