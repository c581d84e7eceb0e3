"""Whatever noun there is, the graph gives it back."""

import dataclasses
from datetime import UTC
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import (
    Better,
    Hardware,
    Kind,
    Limit,
    Objective,
    Problem,
    Source,
    Workload,
    WorkloadKind,
)
from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
    Symptom,
    VersionBound,
)
from kg.nouns.provenance import Batch
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.serialisation import (
    all_of,
    describe,
    description,
    from_graph,
    problem_triples,
    table_of,
    to_triples,
)
from kg.triples.tables.descriptions import TextDescriptions
from kg.triples.vocabulary import NAMESPACE
from tests.samples.graphs import store_of

SHARED = (f"<{NAMESPACE}source/", f"<{NAMESPACE}parameter/")
"""Nodes that stay when a noun goes, because others may point at them."""

texts = st.text(max_size=12)
words = st.text(min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=1e-9, max_value=1e18)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), numbers, texts)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
settings_of_values = st.dictionaries(texts, values, max_size=4).map(Settings)
labels = st.fixed_dictionaries({"en": words}, optional={"zh": words})
optional_labels = st.fixed_dictionaries({}, optional={"en": words, "zh": words})


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


sources = st.builds(Source, title=words, url=texts, path=texts, commit=texts, licence=texts, note=texts)
problems = st.builds(
    Problem,
    workload=st.builds(
        Workload,
        kind=st.sampled_from(WorkloadKind),
        operator=words,
        model=st.none() | texts,
        shape=settings_of_values,
        precision=st.none() | texts,
        traits=settings_of_values,
    ),
    hardware=st.builds(
        Hardware,
        name=words,
        reported=texts,
        count=st.none() | st.integers(1, 9999),
        traits=settings_of_values,
    ),
    objective=st.builds(
        Objective,
        metric=words,
        better=st.sampled_from(Better),
        unit=st.sampled_from([None, "s", "tokens/s", ""]),
    ),
    limits=some(st.builds(Limit, metric=words, maximum=numbers | st.integers(), unit=words)),
    bottlenecks=st.dictionaries(texts, st.none() | st.floats(0, 1), max_size=3).map(Settings),
    current=st.none() | settings_of_values,
    software=settings_of_values,
)
confidences = st.sampled_from(Confidence)
facts = st.builds(
    Fact,
    name=words,
    value=positive | st.integers(1) | words | st.booleans() | st.just((1, 2)),
    source=sources,
    kind=st.sampled_from(FactKind),
    confidence=confidences,
    note=texts,
)
relations = st.builds(Relation, target=words, source=sources)
edges = st.builds(CauseEdge, cause=words, confidence=confidences, source=sources)
bounds = st.builds(VersionBound, software=words, version=words, source=sources)
later_bounds = bounds.map(
    lambda bound: dataclasses.replace(bound, version=f"~{bound.version}")
)  # before no other
concept: dict[str, Any] = {"id": words, "labels": labels, "aliases": some(words), "definition": texts}
kinds_of_knowledge: tuple[st.SearchStrategy[Any], ...] = (
    st.builds(
        HardwareProfile,
        **concept,
        level=st.sampled_from(Level),
        broader=st.none() | words,
        facts=some(facts),
        ambiguous=st.booleans(),
        assumed=texts,
        device=texts,
        device_count=st.none() | st.integers(1),
    ),
    st.builds(ModelFamily, **concept),
    st.builds(Model, **concept, family=words, architecture=words, facts=some(facts)),
    st.builds(
        Bottleneck,
        **concept,
        broader=st.none() | words,
        symptoms=some(
            st.builds(
                Symptom,
                metric=words,
                comparator=st.sampled_from(["above", "below"]),
                threshold=numbers,
                softness=positive,
                unit=st.sampled_from(["1", "s", "parsec"]),
                source=sources,
            )
        ),
        caused_by=some(edges),
    ),
    st.builds(Cause, **concept, source=sources, caused_by=some(edges)),
    st.builds(
        Strategy,
        **concept,
        kind=st.sampled_from(["published", "documented", "claimed"]),
        phases=some(words),
        families=some(words),
        hardware=some(words),
        sets=some(
            st.builds(
                Assignment,
                parameter=words,
                value=values,
                flag=texts,
                environment=st.booleans(),
                software=texts,
            )
        ),
        mitigates=some(relations),
        requires=some(relations),
        conflicts_with=some(relations),
        contraindicated_by=some(relations),
        since=some(bounds),
        removed=some(later_bounds),
        accuracy=st.sampled_from(["unchanged", "may-change", "unknown"]),
        sources=some(sources),
    ),
    st.builds(
        FaultPattern,
        **concept,
        codes=some(words),
        patterns=some(words),
        cause=optional_labels,
        remedy=optional_labels,
        strategies=some(words),
        source=sources,
        confidence=confidences,
    ),
    st.builds(GridRegion, **concept),
    st.builds(
        GreenSchedule,
        region=words,
        start_hour=st.integers(0, 11),
        end_hour=st.integers(12, 24),
        carbon_intensity_g_per_kwh=positive,
        source=sources,
    ),
    st.builds(
        Recipe,
        id=words,
        role=st.sampled_from(Role),
        model=words,
        reported_model=words,
        family=words,
        hardware=texts,
        reported_hardware=texts,
        devices=st.just(8),
        nodes=st.integers(1, 4),
        instances=st.just(2),
        framework=words,
        version=texts,
        context=settings_of_values,
        precision=texts,
        layout=st.sampled_from([Settings(), Settings({"tp": 2, "dp": 2, "ep": 4}), Settings({"ep": 4})]),
        settings=st.lists(
            st.builds(RecipeSetting, where=st.sampled_from(SettingPlace), key=words, value=texts),
            min_size=1,
            max_size=4,
        ).map(tuple),
        title=texts,
        source=st.builds(Source, title=words, url=words),
        authority=st.sampled_from(Authority),
    ),
)
knowledge = st.one_of(*kinds_of_knowledge)
versions = st.one_of([st.tuples(kind, kind) for kind in kinds_of_knowledge])
batches = st.builds(
    Batch,
    number=st.integers(1),
    time=st.datetimes(timezones=st.just(UTC)),
    files=some(texts),
    counts=settings_of_values,
)
contexts = st.builds(Context, bottleneck=texts, hardware=texts, family=texts)


@st.composite
def effects(draw: st.DrawFn) -> Effect:
    """An effect of gains up to e to the 20th, far beyond any strategy."""
    empty = Effect(
        context=draw(contexts), strategy=draw(words), metric=draw(words), kind=draw(st.sampled_from(Kind))
    )
    gains = draw(st.lists(st.floats(-20, 20), max_size=4))
    return empty.add(gains, now=draw(st.none() | st.datetimes(timezones=st.just(UTC))))


def in_order(noun: Any) -> Any:
    """The noun with every set of names and statements in the order in which the graph gives it back."""
    changes = {}
    for item in dataclasses.fields(noun):
        value = getattr(noun, item.name)
        if isinstance(value, tuple) and item.name != "value":
            changes[item.name] = tuple(
                sorted(dict.fromkeys(value), key=lambda v: v if isinstance(v, str) else repr(v))
            )
    return dataclasses.replace(noun, **changes)


@given(problem=problems)
def test_a_problem_survives_the_graph(problem: Problem) -> None:
    store = store_of(problem)
    back = from_graph(store, Problem, problem.id)
    assert back == problem
    assert back.id == problem.id


@given(noun=knowledge)
def test_knowledge_survives_the_graph(noun: Any) -> None:
    store = store_of(noun)
    assert in_order(from_graph(store, type(noun), noun.id)) == in_order(noun)


@given(batch=batches)
def test_a_batch_survives_the_graph(batch: Batch) -> None:
    store = store_of(batch)
    assert from_graph(store, Batch, batch.number) == in_order(batch)


@given(effect=effects())
def test_an_effect_survives_the_graph(effect: Effect) -> None:
    store = store_of(effect)
    assert list(all_of(store, Effect)) == [effect]
    assert list(all_of(store, Context)) == [effect.context]


@given(problem=problems, noun=knowledge, found_in=st.lists(sources, max_size=2))
def test_every_node_has_a_name_of_its_own(problem: Problem, noun: Any, found_in: list[Source]) -> None:
    for triple in [*problem_triples(problem, 1, found_in), *to_triples(noun)]:
        assert not isinstance(triple.object, BlankNode)
        assert str(triple.subject).startswith(f"<{NAMESPACE}")


@given(problem=problems, noun=knowledge)
def test_writing_twice_changes_nothing(problem: Problem, noun: Any) -> None:
    store = GraphStore()
    for _ in range(2):
        store.extend(to_triples(problem) + to_triples(noun))
    assert len(store) == len({*to_triples(problem), *to_triples(noun)})


@given(problem=problems, noun=knowledge, effect=effects(), batch=batches)
def test_text_says_what_triples_say(problem: Problem, noun: Any, effect: Effect, batch: Batch) -> None:
    nouns, texts = (problem, noun, effect, batch, effect), TextDescriptions()
    for item in nouns:
        describe(item, texts)
    of_terms, loaded, written, changed = (GraphStore() for _ in range(4))
    of_terms.extend(triple for item in nouns for triple in to_triples(item))
    loaded.load_plain("".join(texts).encode())
    written.replace_plain(b"", "".join(texts).encode())
    obsolete = Triple(NamedNode("https://example.org/a"), NamedNode("https://example.org/b"), Literal(1))
    changed.extend([obsolete])
    changed.replace_plain(f"{obsolete} .\n".encode(), "".join(texts).encode())
    for store in (loaded, written, changed):
        assert {*store.triples()} == {*of_terms.triples()}


@settings(max_examples=20)
@given(pair=versions)
def test_a_newer_version_leaves_nothing_of_the_old_one(pair: tuple[Any, Any]) -> None:
    old, new = pair
    kept = ("region", "start_hour", "end_hour") if isinstance(old, GreenSchedule) else ("id",)
    new = dataclasses.replace(new, **{name: getattr(old, name) for name in kept})
    node = table_of(type(old)).iri(old)
    store = store_of(old)
    store.replace(description(store, node), to_triples(new))
    assert in_order(from_graph(store, type(new), new.id)) == in_order(new)
    shared = {triple for triple in to_triples(old) if str(triple.subject).startswith(SHARED)}
    assert {*store.triples()} - shared == {*to_triples(new)} - shared
