"""The gains of strategies that the rows of a trial store say, as the effects in the graph count them."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kg.nouns.effects import Context, Effect, to_unats
from kg.nouns.entities import Better, Kind, Problem
from kg.nouns.values import Settings
from kg.rows.trials import TrialStore
from kg.rows.trials_file import explained
from kg.terms.circumstances import circumstances, settings_replaced, sizes_of_shape
from kg.triples.finders import families_of_models
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph

_FROM = """
    SELECT DISTINCT p.id, p.hardware, p.model, p.metric, p.better, c.digest, t.metric, t.value,
           t.strategy, t.bottleneck, t.kind, t.baseline, c.content, b.content, v.content
    FROM trials AS t JOIN problems AS p ON p.key = t.problem JOIN settings AS c ON c.key = t.configuration
    JOIN settings AS v ON v.key = t.software
    LEFT JOIN settings AS b ON b.key = t.baseline_configuration
    WHERE t.strategy <> '' AND t.baseline > 0 AND t.value > 0 AND t.batch <= ?1
"""
_OF_SOURCE = """
    AND t.source = (SELECT key FROM words WHERE text = ?2) AND NOT EXISTS (
        SELECT 1 FROM trials AS o WHERE o.problem = t.problem AND o.configuration = t.configuration
        AND o.metric = t.metric AND o.value = t.value AND o.strategy = t.strategy
        AND o.bottleneck = t.bottleneck AND o.kind = t.kind AND o.baseline = t.baseline
        AND (o.batch, o.source) < (t.batch, t.source)
    )
"""


_WITH_SOURCE = """
    SELECT s.text, p.id, p.hardware, p.model, p.metric, p.better, c.digest, t.metric, t.value,
           t.strategy, t.bottleneck, t.kind, t.baseline, c.content, b.content, v.content
    FROM trials AS t JOIN problems AS p ON p.key = t.problem JOIN settings AS c ON c.key = t.configuration
    JOIN settings AS v ON v.key = t.software
    LEFT JOIN settings AS b ON b.key = t.baseline_configuration
    JOIN words AS s ON s.key = t.source
    WHERE t.strategy <> '' AND t.baseline > 0 AND t.value > 0 AND t.batch <= ?1
    ORDER BY t.batch, t.source
"""
_WITH_STRATEGIES = """
    SELECT p.id, p.hardware, p.operator, p.model, p.metric FROM problems AS p
    WHERE p.batch <= ?1 AND EXISTS (
        SELECT 1 FROM trials AS t WHERE t.problem = p.key AND t.strategy <> '' AND t.batch <= ?1
    ) ORDER BY p.id
"""


@dataclass(frozen=True, slots=True)
class StrategyProblems:
    """Problems of one device, operator, model and metric on which strategies were tested.

    Attributes:
        hardware: Id of the device.
        problems: Their ids, sorted.
    """

    hardware: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGain:
    """A gain that a row says.

    Attributes:
        problem: Id of the problem.
        hardware: Its hardware.
        model: Its model; empty if none.
        metric: The measured metric.
        configuration: Digest of what was set.
        strategy: Id of the strategy.
        bottleneck: Id of the bottleneck; empty if none.
        kind: Kind of evidence.
        unats: The gain in millionths of a nat.
        against: What a published baseline had on in its place; empty for the same without it.
        facts: Layout and software, as :func:`kg.terms.circumstances.circumstances` has them.
    """

    problem: str
    hardware: str
    model: str
    metric: str
    configuration: str
    strategy: str
    bottleneck: str
    kind: Kind
    unats: int
    against: Settings = field(default_factory=Settings)
    facts: Settings = field(default_factory=Settings)


def problems_with_strategies(trials: TrialStore) -> list[StrategyProblems]:
    """Return the problems that have a row of some strategy, grouped."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for identifier, *shared in trials.file.read(_WITH_STRATEGIES, trials.acknowledged):
        groups.setdefault(tuple(map(str, shared)), []).append(str(identifier))
    return [StrategyProblems(key[0], tuple(problems)) for key, problems in groups.items()]


def gains(trials: TrialStore, source_id: str | None = None) -> Iterator[RowGain]:
    """Yield the gains in the rows, each once however many sources repeat it.

    Args:
        trials: The store.
        source_id: Only those that this source was the first to say; all if None.
    """
    if source_id is None:
        rows = trials.file.read(_FROM, trials.acknowledged)
    else:
        rows = trials.file.read(_FROM + _OF_SOURCE, trials.acknowledged, source_id)
    with explained(trials.file.path):
        yield from map(_gain, rows)


def gains_with_sources(trials: TrialStore) -> Iterator[tuple[str, RowGain]]:
    """Yield the gains with the id of the source that reported each first; one pass over the rows."""
    reported: set[tuple[object, ...]] = set()
    for source, *row in trials.file.read(_WITH_SOURCE, trials.acknowledged):
        content = tuple(row)
        if content not in reported:
            reported.add(content)
            with explained(trials.file.path):
                yield str(source), _gain(content)


class GainContexts:
    """The contexts of gains in rows: what a row does not say of its problem, the graph does.

    Args:
        graph: The graph, which is only read.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._families = families_of_models(graph)
        self._sizes: dict[str, dict[str, float]] = {}
        self._contexts: dict[tuple[str, str, Settings, Settings], Context] = {}

    def effect(self, gain: RowGain) -> Effect:
        """Return the effect that a gain is of, with nothing in it, whatever its source's trust."""
        return Effect(context=self.of(gain), strategy=gain.strategy, metric=gain.metric, kind=gain.kind)

    def of(self, gain: RowGain) -> Context:
        """Return the context of a gain; gains of one problem share it."""
        key = gain.problem, gain.bottleneck, gain.against, gain.facts
        if key not in self._contexts:
            self._contexts[key] = self._context(gain)
        return self._contexts[key]

    def _context(self, gain: RowGain) -> Context:
        if gain.problem not in self._sizes:
            problem = from_graph(self._graph, Problem, gain.problem)
            self._sizes[gain.problem] = sizes_of_shape(problem.workload.shape)
        return Context(
            bottleneck=gain.bottleneck,
            hardware=gain.hardware,
            family=self._families.get(gain.model, ""),
            against=gain.against,
            facts=Settings({**self._sizes[gain.problem], **gain.facts}),
        )


def _gain(row: Sequence[Any]) -> RowGain:
    problem, hardware, model, metric, better, digest, _, value, strategy, bottleneck, kind, baseline = row[
        :12
    ]
    configuration, before, software = (json.loads(text) if text else {} for text in row[12:])
    gain = math.log(value / baseline)
    return RowGain(
        problem=problem,
        hardware=hardware,
        model=model or "",
        metric=metric,
        configuration=digest,
        strategy=strategy,
        bottleneck=bottleneck,
        kind=Kind(kind),
        unats=to_unats(gain if better == Better.HIGHER else -gain),
        against=settings_replaced(configuration, before, Kind(kind)),
        facts=Settings(circumstances(configuration, before, software, Kind(kind))),
    )
