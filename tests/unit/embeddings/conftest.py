"""A small hardware tree, real, and problems to place in it."""

from collections.abc import Callable
from typing import Any

import pytest

from kg.nouns.entities import Better, Hardware, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Level
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree
from tests.samples.graphs import store_of


def fact(name: str, value: float) -> Fact:
    return Fact(
        name=name,
        value=value,
        source=Source(title="a data sheet"),
        kind=FactKind.DOCUMENTED,
        confidence=Confidence.HIGH,
    )


def node(name: str, label: str, level: Level, broader: str | None = None, **more: Any) -> HardwareProfile:
    return HardwareProfile(id=name, labels={"en": label}, level=level, broader=broader, **more)


LARGE, SMALL = (fact("memory_bytes", 64e9),), (fact("memory_bytes", 1e9),)
NODES = (
    node("huawei", "Huawei", Level.VENDOR),
    node("a2", "A2", Level.ARCHITECTURE, "huawei"),
    node("ascend-910b", "910B", Level.FAMILY, "a2"),
    node("ascend-910b2", "910B2", Level.DEVICE, "ascend-910b", facts=LARGE),
    node("ascend-910b3", "910B3", Level.DEVICE, "ascend-910b", facts=LARGE),
    node("box-a2", "Box", Level.SERVER, "huawei", device="ascend-910b3"),
    node("nvidia", "NVIDIA", Level.VENDOR),
    node("small", "Small", Level.DEVICE, "nvidia", facts=SMALL),
    node("unknown-facts", "U", Level.DEVICE, "nvidia"),
)


@pytest.fixture(scope="session")
def tree() -> HardwareTree:
    store = store_of(*NODES)
    return HardwareTree(store)


@pytest.fixture(scope="session")
def problem() -> Callable[..., Problem]:
    """A matrix product on one Ascend 910B3, or what the arguments make of it."""

    def make(
        *,
        kind: WorkloadKind = WorkloadKind.OPERATOR,
        operator: str = "gemm",
        model: str | None = None,
        shape: dict[str, object] | None = None,
        precision: str | None = "bfloat16",
        hardware: str = "ascend-910b3",
        count: int | None = 1,
        metric: str = "latency",
        better: Better = Better.LOWER,
        **more: object,
    ) -> Problem:
        workload = Workload(
            kind=kind,
            operator=operator,
            model=model,
            shape=Settings({"M": 4096, "N": 4096, "K": 4096} if shape is None else shape),
            precision=precision,
        )
        return Problem(
            workload=workload,
            hardware=Hardware(name=hardware, count=count),
            objective=Objective(metric=metric, better=better),
            **more,  # type: ignore[arg-type]
        )

    return make
