"""A small hardware tree, real, and problems to place in it."""

from collections.abc import Callable

import pytest

from kg.nouns.entities import Better, Hardware, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Level
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples


def fact(name: str, value: float) -> Fact:
    return Fact(
        name=name,
        value=value,
        source=Source(title="a data sheet"),
        kind=FactKind.DOCUMENTED,
        confidence=Confidence.HIGH,
    )


NODES = (
    HardwareProfile(id="huawei", labels={"en": "Huawei"}, level=Level.VENDOR),
    HardwareProfile(id="a2", labels={"en": "A2"}, level=Level.ARCHITECTURE, broader="huawei"),
    HardwareProfile(id="ascend-910b", labels={"en": "910B"}, level=Level.FAMILY, broader="a2"),
    HardwareProfile(
        id="ascend-910b2",
        labels={"en": "910B2"},
        level=Level.DEVICE,
        broader="ascend-910b",
        facts=(fact("memory_bytes", 64e9),),
    ),
    HardwareProfile(
        id="ascend-910b3",
        labels={"en": "910B3"},
        level=Level.DEVICE,
        broader="ascend-910b",
        facts=(fact("memory_bytes", 64e9),),
    ),
    HardwareProfile(
        id="box-a2", labels={"en": "Box"}, level=Level.SERVER, broader="huawei", device="ascend-910b3"
    ),
    HardwareProfile(id="nvidia", labels={"en": "NVIDIA"}, level=Level.VENDOR),
    HardwareProfile(
        id="small",
        labels={"en": "Small"},
        level=Level.DEVICE,
        broader="nvidia",
        facts=(fact("memory_bytes", 1e9),),
    ),
    HardwareProfile(id="unknown-facts", labels={"en": "U"}, level=Level.DEVICE, broader="nvidia"),
)


@pytest.fixture(scope="session")
def tree() -> HardwareTree:
    store = OxigraphStore()
    for node in NODES:
        store.extend(to_triples(node))
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
