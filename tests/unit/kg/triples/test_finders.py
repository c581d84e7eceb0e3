"""Finders give nouns and ids for what is asked of a strategy, a bottleneck or a problem."""

from datetime import UTC, datetime

import pytest

from kg.errors import UnknownEntityError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind, Source
from kg.nouns.knowledge import Assignment, Bottleneck, Cause, CauseEdge, Confidence, Model, Relation, Strategy
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.nouns.values import Settings
from kg.triples import finders
from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples

SOURCE = Source(title="a document")


def strategy(identifier: str, **more: object) -> Strategy:
    return Strategy(id=identifier, labels={"en": identifier}, kind="documented", sources=(SOURCE,), **more)  # type: ignore[arg-type]


def outcome(identifier: str, day: int, *, pairs: int = 5, failures: int = 0) -> Outcome:
    return Outcome(
        id=identifier, problem="p", metric="latency", configuration=Settings({"tile": 1}), verdict="undecided",
        scheme="interleaved", pairs=pairs, alpha=0.01, margin=0.0, time=datetime(2026, 1, day, tzinfo=UTC),
        source=SOURCE, failures=failures, strategy="overlap",
    )  # fmt: skip


@pytest.fixture
def store() -> GraphStore:
    store = GraphStore()
    edge = CauseEdge(cause="cable", confidence=Confidence.MEDIUM, source=SOURCE)
    for noun in (
        strategy(
            "overlap",
            sets=(Assignment(parameter="tile", value=1),),
            phases=("training",),
            hardware=("ascend",),
            mitigates=(Relation(target="wait", source=SOURCE),),
        ),
        strategy(
            "larger", sets=(Assignment(parameter="tile", value=2), Assignment(parameter="depth", value=1))
        ),
        strategy("other", sets=(Assignment(parameter="depth", value=2),)),
        Bottleneck(id="wait", labels={"en": "wait"}, caused_by=(edge,)),
        Bottleneck(id="link-wait", labels={"en": "link wait"}, broader="wait"),
        Cause(id="cable", labels={"en": "cable"}, source=SOURCE),
        Effect(
            context=Context(hardware="ascend"), strategy="overlap", metric="latency", kind=Kind.MEASURED, n=1
        ),
        outcome("later", 2),
        outcome("sooner", 1),
        outcome("broken", 3, pairs=0, failures=2),
        outcome("shaky", 4, failures=1),
    ):
        store.extend(to_triples(noun))
    return store


def test_outcomes_of_a_strategy_come_oldest_first_without_its_effects(store: GraphStore) -> None:
    assert [item.id for item in finders.outcomes_of(store, "overlap")] == [
        "sooner",
        "later",
        "broken",
        "shaky",
    ]
    assert finders.outcomes_of(store, "other") == []


def test_only_an_outcome_whose_treatment_never_ran_failed(store: GraphStore) -> None:
    assert [item.id for item in finders.failed_outcomes(store)] == ["broken"]


def test_effects_of_a_strategy_come_without_its_outcomes(store: GraphStore) -> None:
    [effect] = finders.effects_of(store, "overlap")
    assert effect.context.hardware == "ascend"
    assert finders.sources_of_effect(store, effect) == ()


def test_strategies_are_found_by_the_parameter_they_set(store: GraphStore) -> None:
    assert finders.strategies_setting(store, "tile") == ("larger", "overlap")
    finder = finders.StrategyFinder(store)
    assert [item.id for item in finder.setting("depth")] == ["larger", "other"]
    assert finder.strategy("overlap").phases == ("training",)
    with pytest.raises(UnknownEntityError):
        finder.strategy("none")


def test_scopes_are_read_for_all_strategies_at_once(store: GraphStore) -> None:
    assert finders.strategy_kinds(store) == dict.fromkeys(("overlap", "larger", "other"), "documented")
    phases, families, hardware = finders.strategy_scopes(store)
    assert (phases, families) == ({"overlap": frozenset({"training"})}, {})
    assert hardware == {"overlap": frozenset({"ascend"})}
    assert finders.mitigated(store) == {"overlap": frozenset({"wait"})}


def test_bottlenecks_lead_to_their_kinds_and_causes(store: GraphStore) -> None:
    assert finders.broader(store, "link-wait") == ["wait"]
    assert finders.narrower(store, "wait") == ["link-wait"]
    assert finders.causes_of(store, "wait") == ["cable"]


def test_a_model_is_found_by_its_name_and_none_by_another() -> None:
    graph = GraphStore()
    model = Model(id="m-1", labels={"en": "M 1"}, family="m", architecture="decoder")
    graph.extend(to_triples(model))
    finder = finders.ModelFinder(graph)
    assert finder.find("m-1") == model
    assert finder.find("m-1") is finder.find("m-1")
    assert finder.find("other") is finder.find(None) is finder.find("") is None


def test_batches_say_their_rows_and_seal_in_order() -> None:
    graph = GraphStore()
    time = datetime(2026, 1, 1, tzinfo=UTC)
    for number, seal in ((10, "ab12"), (2, "")):
        graph.extend(to_triples(Batch(number=number, time=time, counts=Settings({"trials": 7}), seal=seal)))
    graph.extend(to_triples(Batch(number=11, time=time)))
    records = finders.batch_records(graph)
    assert [(number, one.rows, one.seal) for number, one in records.items()] == [
        (2, 7, ""), (10, 7, "ab12"), (11, 0, "")
    ]  # fmt: skip
