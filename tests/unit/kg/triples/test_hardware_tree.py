"""Facts handed down and up the tree, and how far devices are apart."""

import pytest

from kg.errors import WorkspaceError
from kg.nouns.entities import Source
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Level
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import Distance, HardwareTree
from kg.triples.serialisation import to_triples
from tests.samples.graphs import store_of

SOURCE = Source(title="a data sheet")


def fact(name: str, value: float | str, kind: FactKind = FactKind.DOCUMENTED) -> Fact:
    return Fact(name=name, value=value, source=SOURCE, kind=kind, confidence=Confidence.HIGH)


def profile(
    id_: str, level: Level, broader: str | None = None, *facts: Fact, **more: object
) -> HardwareProfile:
    return HardwareProfile(id=id_, labels={"en": id_}, level=level, broader=broader, facts=facts, **more)  # type: ignore[arg-type]


@pytest.fixture
def store() -> GraphStore:
    nouns = [
        profile("huawei", Level.VENDOR),
        profile(
            "c220", Level.ARCHITECTURE, "huawei", fact("compute_capability", "dav-c220"), fact("ub_bytes", 1)
        ),
        profile("b", Level.FAMILY, "c220", fact("link_count", 7)),
        profile("b2", Level.DEVICE, "b", fact("memory_bytes", 64), fact("tdp_w", 400), fact("clock_hz", 2.5)),
        profile("b3", Level.DEVICE, "b", fact("memory_bytes", 64), fact("tdp_w", 350), fact("ub_bytes", 2)),
        profile("c", Level.FAMILY, "c220", assumed="c1"),
        profile("c1", Level.DEVICE, "c", fact("memory_bytes", 128)),
        profile("c2", Level.DEVICE, "c", fact("memory_bytes", 256)),
        profile("a-arch", Level.ARCHITECTURE, "huawei"),
        profile("a", Level.DEVICE, "a-arch", fact("memory_bytes", 32)),
        profile("box", Level.SERVER, "huawei", fact("link_count", 8), device="b3", device_count=8),
        profile("nvidia", Level.VENDOR),
        profile("h100", Level.DEVICE, "nvidia"),
    ]
    return store_of(*nouns)


@pytest.fixture
def tree(store: GraphStore) -> HardwareTree:
    return HardwareTree(store)


def test_a_device_has_its_own_facts_before_those_above(tree: HardwareTree) -> None:
    assert tree.facts("b3") == {
        "compute_capability": "dav-c220",
        "ub_bytes": 2,
        "link_count": 7,
        "memory_bytes": 64,
        "tdp_w": 350,
    }


def test_a_family_has_what_all_its_devices_have_alike(tree: HardwareTree) -> None:
    assert tree.facts("b") == {
        "compute_capability": "dav-c220",
        "ub_bytes": 1,
        "link_count": 7,
        "memory_bytes": 64,
    }


def test_a_family_that_stands_for_a_device_has_its_facts(tree: HardwareTree) -> None:
    assert tree.facts("c")["memory_bytes"] == 128


def test_a_server_has_the_facts_of_what_it_holds_and_its_own_first(tree: HardwareTree) -> None:
    facts = tree.facts("box")
    assert (facts["link_count"], facts["memory_bytes"], facts["device_count"]) == (8, 64, 8)
    assert tree.devices("box") == ("b3",)


def test_unknown_hardware_has_no_facts_and_is_far_from_all_but_itself(tree: HardwareTree) -> None:
    assert tree.facts("slug") == {}
    assert tree.node("slug") is None
    assert tree.path("slug") == ()
    assert tree.distance("slug", "slug") is Distance.SAME_DEVICE
    assert tree.distance("slug", "b3") is Distance.OTHER_VENDOR
    assert tree.distance("slug", "other") is Distance.OTHER_VENDOR


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("b3", "b3", Distance.SAME_DEVICE),
        ("b3", "b2", Distance.SIBLING),
        ("b3", "b", Distance.SIBLING),
        ("b3", "box", Distance.SAME_DEVICE),
        ("b3", "c1", Distance.SAME_ARCHITECTURE),
        ("b3", "a", Distance.SAME_VENDOR),
        ("b3", "h100", Distance.OTHER_VENDOR),
    ],
)
def test_distances(tree: HardwareTree, one: str, other: str, distance: Distance) -> None:
    assert tree.distance(one, other) is distance
    assert tree.distance(other, one) is distance


def test_the_path_ends_at_the_vendor(tree: HardwareTree) -> None:
    assert tree.path("b3") == ("b3", "b", "c220", "huawei")
    assert tree.above("b3", Level.ARCHITECTURE) == "c220"
    assert tree.devices("c220") == ("b2", "b3", "c1", "c2")


def test_of_two_facts_of_a_name_the_better_known_counts(store: GraphStore) -> None:
    store.extend(to_triples(profile("b3", Level.DEVICE, "b", fact("tdp_w", 999, FactKind.CLAIMED))))
    assert HardwareTree(store).facts("b3")["tdp_w"] == 350
    store.extend(to_triples(profile("b3", Level.DEVICE, "b", fact("tdp_w", 310, FactKind.MEASURED))))
    facts = HardwareTree(store).facts("b3")
    assert (facts["tdp_w"], facts["memory_bytes"], facts["ub_bytes"]) == (310, 64, 2)


def test_a_tree_that_goes_round_is_refused(store: GraphStore) -> None:
    store.extend(to_triples(profile("x", Level.FAMILY, "y")))
    store.extend(to_triples(profile("y", Level.FAMILY, "x")))
    with pytest.raises(WorkspaceError, match="x > y"):
        HardwareTree(store).facts("x")
