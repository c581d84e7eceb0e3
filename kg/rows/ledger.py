"""Effects brought up to date: gains that come in, and gains whose source is trusted otherwise now."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kg.nouns.effects import UNATS_PER_NAT, Context, DatedGain, Effect, to_unats
from kg.nouns.entities import Case, Trust
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings, Value
from kg.rows.gains import GainContexts, gains
from kg.rows.trials import TrialStore
from kg.terms.circumstances import circumstances, settings_replaced, sizes_of_shape
from kg.triples import nodes
from kg.triples.graph import GraphStore
from kg.triples.iris import name_of, source_iri
from kg.triples.serialisation import from_graph
from kg.triples.tables.descriptions import Descriptions, TextDescriptions
from kg.triples.tables.effects import EFFECT
from kg.triples.tables.fields import Node
from kg.triples.vocabulary import NAMESPACE, Shared

_Stated: TypeAlias = "tuple[tuple[tuple[str, Value], ...], Settings]"
"""Circumstances that a case states beside its problem, and what a published baseline had on."""

_IDENTITY = ("context", "strategy", "metric", "kind", "trust")
"""Attributes that the IRI of an effect follows from."""


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
        self._stated: dict[tuple[object, ...], _Stated] = {}
        self._contexts: dict[tuple[object, ...], Context] = {}
        self._counted_in: dict[tuple[object, ...], NamedNode] = {}
        self._sources: defaultdict[NamedNode, list[NamedNode]] = defaultdict(list)
        self._dropped: list[Triple] = []

    def count(self, case: Case, trust: Trust, outcome: Outcome | None = None) -> None:
        """Count the gain of a case.

        Args:
            case: The case; one without a gain or a strategy changes nothing.
            trust: Trust in its source.
            outcome: The test that it is from, if it is from one.
        """
        gain = case.log_gain
        if gain is None or not case.strategy:
            return
        iri = self._counting(case, trust)
        if outcome is None:
            self._effects[iri] = self._effects[iri].add([gain], now=self._now)
        else:
            dated = DatedGain(time=outcome.time, id=outcome.id, unats=to_unats(gain))
            self._seen[iri].append(dated)
        self._sources[iri].append(source_iri(case.source.id))

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
            self._sources[iri].append(source_iri(source_id))

    def settle(self, out: Descriptions) -> list[Triple]:
        """Describe the effects as they stand; return the triples to remove.

        Of an effect that was there, only what differs is described; one without gains is removed.
        """
        self._settle()
        removed, aside = list(self._dropped), TextDescriptions()
        for iri, effect in self._effects.items():
            before = self._before[iri]
            if effect.n and before.values:  # its context and what it is of stand
                obsolete = {
                    (predicate, term)
                    for predicate, terms in before.values.items()
                    if predicate != Shared.DERIVED_FROM
                    for term in terms
                }
                current = dict.fromkeys(EFFECT.pairs(effect, iri, aside))
                out.describe(iri, [pair for pair in current if pair not in obsolete])
                removed += [Triple(iri, *pair) for pair in obsolete if pair not in current]
            elif effect.n:
                EFFECT.write(effect, iri, out)
            else:
                removed += [*self._graph.triples(iri), *self._graph.triples(None, None, iri)]
        for iri, sources in self._sources.items():
            out.describe(iri, [(Shared.DERIVED_FROM, source) for source in sources])
        return removed

    def _settle(self) -> None:
        """Update effects with the dated gains of the batch, all of an effect at once."""
        for iri, gains_seen in self._seen.items():
            self._effects[iri] = self._effects[iri].see(gains_seen)
        self._seen.clear()

    def _counting(self, case: Case, trust: Trust) -> NamedNode:
        """Return the effect that counts the gain of a case, which is read when it is first needed."""
        stated = self._stated_by(case)
        key = (case.problem.id, case.bottleneck, stated, case.strategy, case.kind, trust)
        iri = self._counted_in.get(key)
        if iri is None:
            empty = Effect(
                context=self._context(case, stated),
                strategy=case.strategy,
                metric=case.problem.objective.metric,
                kind=case.kind,
                trust=trust,
            )
            iri = self._counted_in[key] = self._standing(empty)[0]
        return iri

    def _stated_by(self, case: Case) -> _Stated:
        before = case.baseline and case.baseline.configuration
        key = (case.configuration, before or None, case.software or None, case.kind)
        if key not in self._stated:  # a batch tries few configurations on many problems
            facts = circumstances(case.configuration, before or {}, case.software, case.kind)
            against = settings_replaced(case.configuration, before or {}, case.kind)
            self._stated[key] = tuple(facts.items()), against
        return self._stated[key]

    def _context(self, case: Case, stated: _Stated) -> Context:
        key = (case.problem.id, case.bottleneck, stated)
        if key not in self._contexts:
            work = case.problem.workload
            self._contexts[key] = Context(
                bottleneck=case.bottleneck,
                hardware=case.problem.hardware.name,
                family=self._families.get(work.model or "", ""),
                against=stated[1],
                facts=Settings({**sizes_of_shape(work.shape), **dict(stated[0])}),
            )
        return self._contexts[key]

    def _standing(self, empty: Effect) -> tuple[NamedNode, Effect]:
        iri = EFFECT.iri(empty)
        if iri not in self._effects:
            self._before[iri] = node = EFFECT.node(self._graph, iri)
            self._effects[iri] = empty
            if node.values:
                about = {name: getattr(empty, name) for name in _IDENTITY}
                self._effects[iri] = EFFECT.read(node, **about)
        return iri, self._effects[iri]

    def _has_effects(self, source_id: str) -> bool:
        derived = nodes.subjects(self._graph, Shared.DERIVED_FROM, source_iri(source_id))
        return any(node.value.startswith(f"{NAMESPACE}effect/") for node in derived)

    def _outcomes(self, source_id: str) -> dict[str, Outcome]:
        """Return the outcomes of a source by the configuration they tested."""
        found = nodes.subjects(self._graph, Shared.SOURCE, source_iri(source_id))
        outcomes = [from_graph(self._graph, Outcome, name_of(node)) for node in found]
        return {outcome.configuration.digest: outcome for outcome in outcomes}
