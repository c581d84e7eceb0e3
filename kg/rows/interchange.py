"""The graph as it leaves a workspace and comes in again, so that the union of two exports is a merge.

What only means something inside one workspace is left out or named by its content: a batch by the digest of
what it says, an effect by the gains that make it up, each a node of its own, to be summed by whoever reads.
Equal gains of two workspaces are one node. How far a source is trusted is each workspace's own affair: only
distrust goes along.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import Literal, NamedNode, Triple

from kg.errors import InputError
from kg.nouns.effects import Effect
from kg.nouns.entities import Trust
from kg.nouns.outcomes import Outcome
from kg.nouns.values import digest
from kg.rows.gains import GainContexts, gains, gains_with_sources
from kg.rows.trials import TrialStore
from kg.triples import iris, nodes
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import HEADER, NAMESPACE, RDF_TYPE, TG, Shared

Sums = tuple[int, int, int]
"""Number of gains, their sum, and the sum of their squares."""

_SUM_TERMS = (TG.SAMPLES, TG.SUM, TG.SUM_SQUARES)
"""Terms of the number of gains, their sum, and the sum of their squares."""
_BATCH = f"{NAMESPACE}batch/"
_SUMMED = frozenset({*_SUM_TERMS, TG.LAST_EVIDENCE, TG.RECENT_GAINS})


def interchange(graph: GraphStore, trials: TrialStore) -> Iterator[Triple]:
    """Yield a workspace's graph in the form that other workspaces and stores can be joined with.

    Args:
        graph: The graph.
        trials: The rows that its effects count.
    """
    yield from HEADER
    names = {node: _batch_name(graph, node) for node in nodes.subjects(graph, RDF_TYPE, TG.BATCH)}
    effects = {node: _neutral(graph, node) for node in nodes.subjects(graph, RDF_TYPE, TG.EFFECT)}
    for triple in graph.triples():
        subject, predicate, value = triple.subject, triple.predicate, triple.object
        if subject in effects and (predicate in _SUMMED or predicate == TG.TRUST):
            continue
        if predicate == TG.TRUST and value != _LOW:
            continue
        about = names.get(subject) or effects.get(subject) or subject  # type: ignore[arg-type]
        what = names.get(value) or effects.get(value) or value  # type: ignore[arg-type]
        yield Triple(about, predicate, what)
        if predicate == TG.BATCH_OF:
            yield Triple(about, Shared.GENERATED_BY, what)
    yield from _evidence(graph, trials)


def beyond_cases(graph: GraphStore, trials: TrialStore) -> Iterator[tuple[Effect, Sums]]:
    """Yield effects that the cases of their workspace do not account for, with the rest of their sums.

    How far a source is trusted is each workspace's own affair: effects that differ by that alone are one.
    """
    contexts = GainContexts(graph)
    accounted: dict[str, Sums] = {}
    for gain in gains(trials):
        iri = EFFECT.iri(contexts.effect(gain)).value
        n, total, squares = accounted.get(iri, (0, 0, 0))
        accounted[iri] = n + 1, total + gain.unats, squares + gain.unats**2
    totals: dict[str, Effect] = {}
    for effect in all_of(graph, Effect):
        neutral = replace(effect, trust=Trust.MEDIUM, recent=())
        iri = EFFECT.iri(neutral).value
        totals[iri] = totals[iri].merge(neutral) if iri in totals else neutral
    for iri, effect in totals.items():
        n, total, squares = accounted.get(iri, (0, 0, 0))
        left = (effect.n - n, effect.sum_unats - total, effect.sum_squares_unats2 - squares)
        if left != (0, 0, 0):
            yield effect, left


def fold_evidence(incoming: GraphStore, base: GraphStore) -> None:
    """Sum the evidence of a document into its effects, and leave out the sums that the graph has already.

    Args:
        incoming: The document; changed.
        base: The graph that it is to join.

    Raises:
        InputError: Evidence is no numbers, or an effect has other gains here than there.
    """
    removed: list[Triple] = []
    totals: dict[NamedNode, list[int]] = {}
    for node in nodes.subjects(incoming, RDF_TYPE, TG.EVIDENCE):
        said = _stated(incoming, node)
        effects = [
            t.object for t in incoming.triples(node, TG.EVIDENCE_OF) if isinstance(t.object, NamedNode)
        ]
        if said is None or len(effects) != 1:
            raise InputError(f"{node.value} is no evidence of one effect, with three whole numbers")
        before = totals.setdefault(effects[0], [0, 0, 0])
        totals[effects[0]] = [one + other for one, other in zip(before, said, strict=True)]
        removed += incoming.triples(node)
    added = [
        Triple(effect, predicate, Literal(value))
        for effect, sums in totals.items()
        for predicate, value in zip(_SUM_TERMS, sums, strict=True)
    ]
    incoming.replace(removed, added)
    removed = []
    for effect in nodes.subjects(incoming, RDF_TYPE, TG.EFFECT):
        here, there = _stated(base, effect), _stated(incoming, effect)
        if here is not None and here != there:
            raise InputError(
                f"{effect.value} rests on {here[0]} gains here and on others there",
                hint="join the two workspaces instead: tunegraph workspace merge",
            )
        if here is not None:
            removed += [triple for name in _SUMMED for triple in incoming.triples(effect, name)]
    incoming.replace(removed, [])


def _evidence(graph: GraphStore, trials: TrialStore) -> Iterator[Triple]:
    """Yield a node for each gain that a row says, and one for the rest of each effect."""
    contexts = GainContexts(graph)
    repeated: Counter[str] = Counter()
    outcomes = {(item.source.id, item.configuration.digest): item.id for item in all_of(graph, Outcome)}
    for source, gain in gains_with_sources(trials):
        effect = contexts.effect(gain)
        key = digest(EFFECT.iri(effect).value, gain.problem, gain.configuration, gain.unats)
        node = iris.evidence_iri(digest(key, repeated[key]))
        repeated[key] += 1  # two rows of one source may say the same gain
        yield from _sums(node, effect, (1, gain.unats, gain.unats**2))
        yield Triple(node, Shared.DERIVED_FROM, iris.source_iri(source))
        if test := outcomes.get((source, gain.configuration)):
            yield Triple(node, Shared.GENERATED_BY, iris.outcome_iri(test))
    for effect, sums in beyond_cases(graph, trials):
        yield from _sums(iris.evidence_iri(digest(EFFECT.iri(effect).value, *sums)), effect, sums)


def _sums(node: NamedNode, effect: Effect, sums: Sums) -> Iterator[Triple]:
    iri = EFFECT.iri(effect)
    yield Triple(node, RDF_TYPE, TG.EVIDENCE)
    yield Triple(node, TG.EVIDENCE_OF, iri)
    for predicate, value in zip(_SUM_TERMS, sums, strict=True):
        yield Triple(node, predicate, Literal(value))


def _batch_name(graph: GraphStore, node: NamedNode) -> NamedNode:
    """Return the IRI of a batch by what it says: its number means another batch elsewhere."""
    said = sorted(f"{triple.predicate} {triple.object}" for triple in graph.triples(node))
    return NamedNode(_BATCH + digest(said))


def _neutral(graph: GraphStore, node: NamedNode) -> NamedNode:
    """Return the IRI of an effect without the trust of its sources."""
    effect = EFFECT.read(EFFECT.node(graph, node))
    return node if effect.trust is Trust.MEDIUM else EFFECT.iri(replace(effect, trust=Trust.MEDIUM))


_LOW = Literal(Trust.LOW.value)


def _stated(store: GraphStore, node: NamedNode) -> list[int] | None:
    found = []
    for predicate in _SUM_TERMS:
        values = [term.value for term in nodes.literals(store, node, predicate)]
        if len(values) != 1 or not values[0].lstrip("-").isdecimal() or len(values[0]) > _DIGITS:
            return None
        found.append(int(values[0]))
    return found


_DIGITS = 30
"""More than any sum of gains has."""
