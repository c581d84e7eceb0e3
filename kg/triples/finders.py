"""Finders: what a graph knows of a strategy, a bottleneck, a problem or a batch, as nouns and ids.

What is above ``kg`` asks these instead of walking over triples.
"""

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from kg.errors import UnknownEntityError
from kg.nouns.effects import Effect
from kg.nouns.entities import Problem, Source
from kg.nouns.knowledge import Confidence, Fact, FactKind, Model, Strategy
from kg.nouns.outcomes import Outcome
from kg.nouns.recipe import Recipe
from kg.terms.model_name import positions_of
from kg.triples import nodes
from kg.triples.graph import GraphStore, Triple
from kg.triples.iris import (
    batch_iri,
    bottleneck_iri,
    model_iri,
    name_of,
    parameter_iri,
    problem_iri,
    strategy_iri,
)
from kg.triples.model_facts import COUNTED, stated_sizes
from kg.triples.serialisation import batch_numbers, from_graph, table_of
from kg.triples.tables.effects import EFFECT
from kg.triples.tables.fields import Node
from kg.triples.vocabulary import RDF_TYPE, TG, Shared

Texts: TypeAlias = dict[str, frozenset[str]]


def outcomes_of(graph: GraphStore, strategy: str) -> list[Outcome]:
    """Return the outcomes of the A/B tests of a strategy, oldest first."""
    outcomes = [
        from_graph(graph, Outcome, name_of(node))
        for node in nodes.subjects(graph, TG.OF_STRATEGY, strategy_iri(strategy))
        if any(graph.triples(node, RDF_TYPE, TG.OUTCOME))
    ]
    return sorted(outcomes, key=lambda outcome: (outcome.time, outcome.id))


def failed_outcomes(graph: GraphStore) -> list[Outcome]:
    """Return the outcomes in which the treatment of a strategy failed and never ran."""
    failed = [from_graph(graph, Outcome, name_of(node)) for node in nodes.subjects(graph, TG.FAILED_RUNS)]
    return [outcome for outcome in failed if outcome.strategy and outcome.treatment_never_ran]


def start_outcomes(graph: GraphStore) -> list[Outcome]:
    """Return the outcomes of start configurations, oldest first."""
    outcomes = [
        from_graph(graph, Outcome, name_of(node))
        for node in nodes.subjects(graph, TG.LAYOUT)
        if any(graph.triples(node, RDF_TYPE, TG.OUTCOME))
    ]
    return sorted(outcomes, key=lambda outcome: (outcome.time, outcome.id))


def effects_of(graph: GraphStore, strategy: str) -> Iterator[Effect]:
    """Yield the effects of a strategy."""
    for node in nodes.subjects(graph, TG.OF_STRATEGY, strategy_iri(strategy)):
        if any(graph.triples(node, RDF_TYPE, TG.EFFECT)):
            yield EFFECT.read(EFFECT.node(graph, node))


def recipes_of(
    graph: GraphStore, framework: str, roles: AbstractSet[str], is_near: Callable[[str], bool]
) -> list[Recipe]:
    """Return the recipes of a framework for some roles, by id, of hardware that is near or not told."""
    table = table_of(Recipe)
    found = []
    for node in nodes.subjects(graph, TG.SOFTWARE, Literal(framework)):
        stated = (triple.object for triple in graph.triples(node, TG.HARDWARE))
        if not all(is_near(name_of(one)) for one in stated if isinstance(one, NamedNode)):
            continue  # before the rest of it is read
        described = Node(graph, node)
        if TG.RECIPE in described.values.get(RDF_TYPE, ()):
            role = described.literals(TG.ROLE)
            if role and role[0].value in roles:
                found.append(table.read(described))
    return sorted(found, key=lambda recipe: recipe.id)


def strategies_setting(graph: GraphStore, parameter: str) -> tuple[str, ...]:
    """Return the ids of the strategies that set a parameter, sorted."""
    return tuple(
        sorted(
            {
                name_of(strategy)
                for assignment in nodes.subjects(graph, TG.OF_PARAMETER, parameter_iri(parameter))
                for strategy in nodes.subjects(graph, TG.SETS, assignment)
            }
        )
    )


def strategy_kinds(graph: GraphStore) -> dict[str, str]:
    """Return the kind of every strategy, by id."""
    kinds = nodes.texts_by_name(graph, TG.STRATEGY_KIND, strategy_iri("").value)
    return {strategy: min(kind) for strategy, kind in kinds.items()}


def families_of_models(graph: GraphStore) -> dict[str, str]:
    """Return the family of every model, by the model's id."""
    of_models = model_iri("").value
    return {
        name_of(node): name_of(family)
        for node, family in nodes.edges(graph, TG.FAMILY)
        if node.value.startswith(of_models)
    }


def strategy_scopes(graph: GraphStore) -> tuple[Texts, Texts, Texts]:
    """Return the phases, the model families and the hardware that strategies are limited to, by id."""
    return (
        nodes.texts_by_name(graph, TG.PHASE),
        nodes.texts_by_name(graph, TG.FOR_FAMILY),
        nodes.links_by_name(graph, TG.FOR_HARDWARE),
    )


def mitigated(graph: GraphStore) -> dict[str, frozenset[str]]:
    """Return the bottlenecks that each strategy mitigates, by the strategy's id."""
    return nodes.links_by_name(graph, TG.MITIGATES)


def broader(graph: GraphStore, bottleneck: str) -> list[str]:
    """Return the bottlenecks that a bottleneck is one kind of."""
    return [name_of(node) for node in nodes.objects(graph, bottleneck_iri(bottleneck), Shared.BROADER)]


def narrower(graph: GraphStore, bottleneck: str) -> list[str]:
    """Return the bottlenecks that are kinds of a bottleneck."""
    return [name_of(node) for node in nodes.subjects(graph, Shared.BROADER, bottleneck_iri(bottleneck))]


def causes_of(graph: GraphStore, bottleneck: str) -> list[str]:
    """Return the direct causes of a bottleneck or cause."""
    return [name_of(node) for node in nodes.objects(graph, bottleneck_iri(bottleneck), TG.CAUSED_BY)]


def sources_of_effect(graph: GraphStore, effect: Effect) -> tuple[Source, ...]:
    """Return the sources whose gains an effect counts."""
    iris = nodes.objects(graph, EFFECT.iri(effect), Shared.DERIVED_FROM)
    return tuple(from_graph(graph, Source, name_of(iri)) for iri in iris)


def source_of_problem(graph: GraphStore, problem_id: str) -> Source | None:
    """Return the first source of a problem's measurements; None if the graph names none."""
    iri = next(nodes.objects(graph, problem_iri(problem_id), Shared.DERIVED_FROM), None)
    return None if iri is None else from_graph(graph, Source, name_of(iri))


def problem_ids(graph: GraphStore) -> set[str]:
    """Return the ids of all problems that a batch brought."""
    return {name_of(node) for node in nodes.subjects(graph, TG.BATCH_OF)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """The rows that a graph says a batch brought.

    Attributes:
        rows: How many.
        seal: Their digest, chained; empty if it does not say.
    """

    rows: int = 0
    seal: str = ""


def batch_records(graph: GraphStore) -> dict[int, BatchRecord]:
    """Return every acknowledged batch by number, in order."""
    found = {}
    for number in sorted(batch_numbers(graph)):
        node = batch_iri(number)
        counts = next(nodes.literals(graph, node, TG.COUNTS), None)
        seal = next(nodes.literals(graph, node, TG.SEAL), None)
        rows = json.loads(counts.value).get("trials", 0) if counts is not None else 0
        found[number] = BatchRecord(rows=int(rows), seal=seal.value if seal is not None else "")
    return found


def completion_marks(graph: GraphStore) -> list[str]:
    """Return the marks of everything that batches took in completely."""
    return [mark.value for mark in nodes.literals(graph, None, TG.COMPLETED)]


def users_of(graph: GraphStore, removed: AbstractSet[Triple]) -> list[str]:
    """Return the nodes that would still point at a node which would have no description left, sorted."""
    users: set[str] = set()
    for node in {triple.subject for triple in removed if isinstance(triple.subject, NamedNode)}:
        if all(triple in removed for triple in graph.triples(node)):
            others = (triple for triple in graph.triples(None, None, node) if triple not in removed)
            users.update(str(triple.subject) for triple in others)
    return sorted(users)


def name_keys(graph: GraphStore) -> list[str]:
    """Return every node with each key that finds it, as sorted texts; they change when a name does."""
    return sorted(f"{triple.subject} {triple.object}" for triple in graph.triples(None, TG.KEY))


class StrategyFinder:
    """The strategies of one graph, each read when it is first needed.

    Args:
        graph: The graph; it stays open as long as the finder is used.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._by_id: dict[str, Strategy] = {}
        self._by_parameter: dict[str, tuple[str, ...]] = {}

    def strategy(self, strategy_id: str) -> Strategy:
        """Return a strategy.

        Raises:
            UnknownEntityError: The graph has none of this id.
        """
        if strategy_id not in self._by_id:
            self._by_id[strategy_id] = from_graph(self._graph, Strategy, strategy_id)
        return self._by_id[strategy_id]

    def setting(self, parameter: str) -> tuple[Strategy, ...]:
        """Return the strategies that set a parameter, sorted by id."""
        if parameter not in self._by_parameter:
            self._by_parameter[parameter] = strategies_setting(self._graph, parameter)
        return tuple(self.strategy(name) for name in self._by_parameter[parameter])


class ModelFinder:
    """Models of a graph by name."""

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._models: dict[str, Model | None] = {}

    def find(self, name: str | None) -> Model | None:
        """The model of a name; None for no name or one that the graph does not have."""
        if not name:
            return None
        if name not in self._models:
            try:
                self._models[name] = from_graph(self._graph, Model, name)
            except UnknownEntityError:
                self._models[name] = None
        return self._models[name]

    def of(self, problem: Problem) -> Model | None:
        """The model of a question: the graph's, as long as its checkpoint, with the sizes that are stated."""
        name = problem.workload.model
        found, stated = self.find(name), stated_sizes(problem)
        if found is not None and problem.situation.model_name:
            found = _as_long_as(found, problem.situation.model_name)
        if not name or not stated:
            return found
        facts = [
            Fact(name=fact, value=value, source=_QUESTION, kind=FactKind.CONFIG, confidence=Confidence.HIGH)
            for fact, value in stated.items()
            if value not in ("", 0)
        ]
        if found is not None:
            facts += [fact for fact in found.facts if fact.name not in {*stated, *COUNTED}]
            return replace(found, facts=tuple(facts))
        architecture = str(stated.get("architecture", ""))
        return Model(id=name, labels={"en": name}, family="", architecture=architecture, facts=tuple(facts))


_QUESTION = Source(title="the question")


def _as_long_as(model: Model, checkpoint: str) -> Model:
    """The model with the tokens that its checkpoint takes; without them where those are not known."""
    known = next((fact for fact in model.facts if fact.name == "max_positions"), None)
    if known is None or not isinstance(known.value, int):
        return model
    names = [model.id, *model.aliases, *model.labels.values()]
    most = positions_of(checkpoint, model.id, names, known.value)
    if most == known.value:
        return model
    others = [fact for fact in model.facts if fact is not known]
    return replace(model, facts=(*others, *([] if most is None else [replace(known, value=most)])))
