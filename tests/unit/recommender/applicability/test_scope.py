"""Which strategies fit: versions, what is set already, what excludes what, and scopes."""

from collections.abc import Mapping

import pytest

from kg.nouns.entities import Problem, Source, WorkloadKind
from kg.nouns.knowledge import Assignment, Confidence, Fact, FactKind, Model, Relation, Strategy, VersionBound
from recommender.applicability.scope import Scopes, already_set, exclusions, kinds_of, version_conflict
from tests.samples.graphs import store_of
from tests.samples.problems import make_problem

MANUAL = Source(title="Manual", url="https://example.org/manual")
RELEASE = Source(title="Release notes", url="https://example.org/release")


def strategy(identifier: str = "s", **more: object) -> Strategy:
    return Strategy(id=identifier, labels={"en": identifier}, kind="documented", **more)  # type: ignore[arg-type]


def bound(version: str, source: Source = MANUAL) -> tuple[VersionBound]:
    return (VersionBound(software="cann", version=version, source=source),)


@pytest.mark.parametrize(
    ("used", "since", "has"),
    [
        ("8.0", "8.0", True),
        ("8", "8.0", True),
        ("8.0.0", "8", True),
        ("8.0.RC2", "8.0", False),
        ("8.0.rc10", "8.0.RC2", True),
        ("v0.11.0rc1", "0.10", True),
        ("main", "8.0", True),
        ("0.11.0", "pull request 2550", True),
    ],
)
def test_versions_are_compared_as_versions(used: str, since: str, has: bool) -> None:
    conflict = version_conflict(strategy(since=bound(since)), {"cann": used})
    assert (conflict is None) == has


def test_a_version_conflict_names_the_bound_that_is_broken_and_its_source() -> None:
    both = strategy(since=bound("6.0"), removed=bound("8.0", RELEASE))
    assert version_conflict(both, {"cann": "7.0"}) is None
    assert version_conflict(both, {"cann": "8.0"}) == ("was removed in cann 8.0, 8.0 is in use", RELEASE)
    assert version_conflict(both, {"cann": "5.1"}) == ("needs cann 6.0, 5.1 is in use", MANUAL)
    assert version_conflict(both, {"torch": "1.0"}) is None


@pytest.mark.parametrize(
    ("current", "is_set"),
    [
        (None, False),
        ({}, False),
        ({"a": 1}, False),
        ({"a": 1, "b": "anything"}, True),
        ({"a": 2, "b": "anything"}, False),
    ],
)
def test_a_strategy_is_set_when_all_it_sets_is(current: Mapping[str, object] | None, is_set: bool) -> None:
    sets = (Assignment(parameter="a", value=1), Assignment(parameter="b", value=None))
    assert already_set(strategy(sets=sets), current) == is_set
    assert not already_set(strategy(), current)


def test_exclusion_goes_both_ways_and_keeps_its_source() -> None:
    one = strategy("one", conflicts_with=(Relation(target="two", source=MANUAL),))
    two, three = strategy("two"), strategy("three")
    assert [(other.id, relation.source) for other, relation in exclusions(one, [two, three])] == [
        ("two", MANUAL)
    ]
    assert [(other.id, relation.source) for other, relation in exclusions(two, [one, three])] == [
        ("one", MANUAL)
    ]
    assert list(exclusions(three, [one, two])) == []


def a_model(architecture: str, *facts: str) -> Model:
    stated = tuple(
        Fact(name=name, value=1, source=MANUAL, kind=FactKind.CONFIG, confidence=Confidence.HIGH)
        for name in facts
    )
    return Model(
        id="llama-x", labels={"en": "Llama X"}, family="llama", architecture=architecture, facts=stated
    )


LLAMA = a_model("decoder")


def fitting(problem: Problem, model: Model | None = LLAMA) -> set[str]:
    graph = store_of(
        strategy("anything"),
        strategy("train", phases=("training",)),
        strategy("serve", phases=("inference",)),
        strategy("prefill", phases=("prefill",)),
        strategy("any-transformer", families=("transformer",)),
        strategy("only-moe", families=("moe-decoder",)),
        strategy("llama-only", families=("llama",)),
        strategy("on-a2", hardware=("ascend-a2",)),
    )
    path = (
        ("ascend-910b3", "ascend-910b", "ascend-a2", "huawei")
        if "910b" in problem.hardware.name
        else ("h100",)
    )
    return set(Scopes(graph).fitting(problem, kinds_of(model), path))


def problem(kind: WorkloadKind, operator: str, hardware: str = "ascend-910b3") -> Problem:
    return make_problem(operator, hardware, kind=kind, model="m", metric="throughput")


def test_phase_family_and_hardware_decide_what_fits() -> None:
    training = fitting(problem(WorkloadKind.TRAINING, "train"))
    assert training == {"anything", "train", "any-transformer", "llama-only", "on-a2"}
    assert "on-a2" not in fitting(problem(WorkloadKind.TRAINING, "train", "h100"))
    assert {"serve", "prefill"} <= fitting(problem(WorkloadKind.SERVING, "serve"))
    decoding = fitting(problem(WorkloadKind.SERVING, "decode"))
    assert "serve" in decoding
    assert "prefill" not in decoding


def test_a_model_that_also_sees_is_a_decoder_where_its_language_layers_are_known() -> None:
    assert kinds_of(a_model("multimodal", "layers")) >= {"multimodal", "decoder", "transformer"}
    assert "moe-decoder" in kinds_of(a_model("multimodal", "layers", "experts"))
    assert "decoder" not in kinds_of(a_model("multimodal"))
    assert kinds_of(None) == frozenset()


@pytest.mark.parametrize(
    ("current", "value", "is_set"),
    [("1", 1, True), (1, "1", True), (True, "1", True), ("on", True, True), (0, "1", False)],
)
def test_a_value_from_an_environment_is_the_same_as_text(
    current: object, value: object, is_set: bool
) -> None:
    sets = (Assignment(parameter="TASK_QUEUE_ENABLE", value=value),)  # type: ignore[arg-type]
    assert already_set(strategy(sets=sets), {"TASK_QUEUE_ENABLE": current}) == is_set


def test_a_strategy_without_settings_is_seen_by_what_shows_it() -> None:
    stages = strategy("virtual-pipeline")
    assert already_set(stages, {"--num-layers-per-virtual-pipeline-stage": 1})
    assert not already_set(stages, {"--num-layers": 32})
