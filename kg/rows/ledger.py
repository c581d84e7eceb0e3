"""Effects brought up to date: gains that come in, and gains whose source is trusted otherwise now."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Triple

from kg.nouns.effects import UNATS_PER_NAT, Context, DatedGain, Effect, to_unats
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.rows.gains import GainContexts, gains
from kg.terms.circumstances import circumstances, settings_replaced, sizes_of_shape
from kg.triples import nodes
from kg.triples.iris import name_of, source_iri
from kg.triples.serialisation import from_graph
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import NAMESPACE, Shared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from kg.nouns.entities import Case, Trust
    from kg.nouns.values import Value
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.tables.fields import Node


class Ledger:
    """The effects that one batch changes, as they stand with it.

    Args:
        graph: The graph, which is only read.
        families: Model family of each model.
        now: When the batch comes in; outcomes have a time of their own.
    """

    def __init__(self, graph: GraphStore, families: Mapping[str, str], now: datetime) -> None:
        self._graph = graph
        self._families = families
        self._now = now
        self._effects: dict[NamedNode, Effect] = {}
        self._before: dict[NamedNode, Node] = {}
        self._seen: defaultdict[NamedNode, list[DatedGain]] = defaultdict(list)
        self._stated: dict[tuple[object, ...], tuple[Mapping[str, Value], Settings]] = {}
        self._sources: list[tuple[NamedNode, NamedNode]] = []
        self._dropped: list[Triple] = []

    def count(self, case: Case, trust: Trust, outcome: Outcome | None = None) -> None:
        """Count the gain of a case.

        Args:
            case: The case; one without a gain or a strategy changes nothing.
            trust: Trust in its source.
            outcome: The test that it is from, if it is from one.
        """
        if case.log_gain is None or not case.strategy:
            return
        empty = Effect(
            context=self._context(case),
            strategy=case.strategy,
            metric=case.problem.objective.metric,
            kind=case.kind,
            trust=trust,
        )
        iri, before = self._standing(empty)
        if outcome is None:
            self._effects[iri] = before.add([case.log_gain], now=self._now)
        else:
            dated = DatedGain(time=outcome.time, id=outcome.id, unats=to_unats(case.log_gain))
            self._seen[iri].append(dated)
        self._sources.append((iri, source_iri(case.source.id)))

    def move(self, trials: TrialStore, source_id: str, before: Trust, after: Trust) -> None:
        """Take the gains of a source from the effects of one trust to those of another.

        Args:
            trials: The rows, without those of this batch.
            source_id: Of the source.
            before: Its trust so far.
            after: Its trust from now on.
        """
        if not self._has_effects(source_id):  # its rows need not be looked through
            return
        self._settle()
        outcomes, contexts = self._outcomes(source_id), GainContexts(self._graph)
        for gain in gains(trials, source_id):
            old = Effect(
                context=contexts.of(gain),
                strategy=gain.strategy,
                metric=gain.metric,
                kind=gain.kind,
                trust=before,
            )
            outcome = outcomes.get(gain.configuration)
            iri, standing = self._standing(old)
            last = standing.last_evidence
            self._effects[iri] = standing.without([gain.unats], [outcome.id] if outcome else [])
            self._dropped.append(Triple(iri, Shared.DERIVED_FROM, source_iri(source_id)))
            iri, standing = self._standing(replace(old, trust=after))
            self._effects[iri] = (
                standing.add([gain.unats / UNATS_PER_NAT], now=last)
                if outcome is None
                else standing.see([DatedGain(time=outcome.time, id=outcome.id, unats=gain.unats)])
            )
            self._sources.append((iri, source_iri(source_id)))

    def triples(self) -> tuple[list[Triple], list[Triple]]:
        """Return the triples to remove and to add; an effect without gains is removed."""
        self._settle()
        removed, added = list(self._dropped), list[Triple]()
        for iri, effect in self._effects.items():
            before = self._before[iri]
            if effect.n and before.values:  # its context and what it is of stand
                obsolete = {
                    Triple(iri, predicate, term)
                    for predicate, terms in before.values.items()
                    if predicate != Shared.DERIVED_FROM
                    for term in terms
                }
                current = {Triple(iri, *pair) for pair in EFFECT.pairs(effect, iri, [])}
                added += current - obsolete
                removed += obsolete - current
            elif effect.n:
                EFFECT.write(effect, iri, added)
            else:
                removed += [*self._graph.triples(iri), *self._graph.triples(None, None, iri)]
        added += [Triple(iri, Shared.DERIVED_FROM, source) for iri, source in self._sources]
        return removed, added

    def _settle(self) -> None:
        """Let effects see the dated gains of the batch, all of an effect at once."""
        for iri, gains_seen in self._seen.items():
            self._effects[iri] = self._effects[iri].see(gains_seen)
        self._seen.clear()

    def _context(self, case: Case) -> Context:
        work, before = case.problem.workload, case.baseline and case.baseline.configuration
        key = (case.configuration, before or None, case.software or None, case.kind)
        if key not in self._stated:  # a batch tries few configurations on many problems
            self._stated[key] = (
                circumstances(case.configuration, before or {}, case.software, case.kind),
                settings_replaced(case.configuration, before or {}, case.kind),
            )
        stated, against = self._stated[key]
        return Context(
            bottleneck=case.bottleneck,
            hardware=case.problem.hardware.name,
            family=self._families.get(work.model or "", ""),
            against=against,
            facts=Settings({**sizes_of_shape(work.shape), **stated}),
        )

    def _standing(self, empty: Effect) -> tuple[NamedNode, Effect]:
        iri = EFFECT.iri(empty)
        if iri not in self._effects:
            self._before[iri] = node = EFFECT.node(self._graph, iri)
            self._effects[iri] = EFFECT.read(node) if node.values else empty
        return iri, self._effects[iri]

    def _has_effects(self, source_id: str) -> bool:
        derived = nodes.subjects(self._graph, Shared.DERIVED_FROM, source_iri(source_id))
        return any(node.value.startswith(f"{NAMESPACE}effect/") for node in derived)

    def _outcomes(self, source_id: str) -> dict[str, Outcome]:
        """Return the outcomes of a source by the configuration they tested."""
        found = nodes.subjects(self._graph, Shared.SOURCE, source_iri(source_id))
        outcomes = [from_graph(self._graph, Outcome, name_of(node)) for node in found]
        return {outcome.configuration.digest: outcome for outcome in outcomes}
