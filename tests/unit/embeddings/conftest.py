"""A small hardware tree, real, and problems to place in it."""

from collections.abc import Callable

import pytest

from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.knowledge import Level
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree
from tests.samples.hardware_nodes import facts, node, tree_of

LARGE, SMALL = facts(memory_bytes=64e9), facts(memory_bytes=1e9)
NODES = (
    node("huawei", Level.VENDOR),
    node("a2", Level.ARCHITECTURE, "huawei"),
    node("ascend-910b", Level.FAMILY, "a2"),
    node("ascend-910b2", Level.DEVICE, "ascend-910b", facts=LARGE),
    node("ascend-910b3", Level.DEVICE, "ascend-910b", facts=LARGE),
    node("box-a2", Level.SERVER, "huawei", device="ascend-910b3"),
    node("nvidia", Level.VENDOR),
    node("small", Level.DEVICE, "nvidia", facts=SMALL),
    node("unknown-facts", Level.DEVICE, "nvidia"),
)


@pytest.fixture(scope="session")
def tree() -> HardwareTree:
    return tree_of(*NODES)


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
