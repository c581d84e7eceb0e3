"""Cases put together again: the graph knows problems and sources, the trial store knows rows."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from kg.nouns.entities import Case, Problem, Source, Trust
from kg.rows import trials_sql
from kg.rows.trial_rows import ProblemRow, Trial, trial_of
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph

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
                yield from _cases(row.id, trials.rows(row.id), graph, sources)


def cases_by_batch(graph: GraphStore, trials: TrialStore, after: int) -> Iterator[tuple[int, list[Case]]]:
    """Yield the cases of every batch after one with its number, in the order in which they came."""
    sources: dict[str, Source] = {}
    pairs = trials.file.read(
        "SELECT DISTINCT batch, problem FROM trials WHERE batch > ? AND batch <= ? ORDER BY batch, problem",
        after,
        trials.acknowledged,
    )
    for batch, group in groupby(pairs, key=itemgetter(0)):
        found: list[Case] = []
        for row in trials.summary([key for _, key in group]):
            rows = trials.file.read(trials_sql.OF_BATCH, row.key, trials.acknowledged, batch)
            found += _cases(row.id, map(trial_of, rows), graph, sources)
        yield batch, found


def trusts_after(trials: TrialStore, batch: int) -> dict[str, Trust]:
    """Return the trust of every source whose trust was set after a batch, by the source's id."""
    rows = trials.file.read(
        "SELECT words.text, level FROM trust JOIN words ON words.key = source"
        " WHERE batch > ? AND batch <= ? ORDER BY batch",
        batch,
        trials.acknowledged,
    )
    return {source: Trust(level) for source, level in rows}


def _cases(
    problem_id: str, trials: Iterable[Trial], graph: GraphStore, sources: dict[str, Source]
) -> Iterator[Case]:
    problem = from_graph(graph, Problem, problem_id)
    for trial in trials:
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
