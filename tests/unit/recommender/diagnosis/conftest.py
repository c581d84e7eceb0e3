"""Profiles made in memory, with known losses."""

from collections.abc import Callable, Sequence

import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Collective, Profile, Rank, StepTime, Transfer
from kg.nouns.knowledge import Bottleneck, Cause
from recommender.diagnosis.causes.network import CauseNetwork
from recommender.diagnosis.thresholds import Thresholds
from recommender.store.shipped_knowledge import knowledge

NODES = [noun for noun in knowledge() if isinstance(noun, (Bottleneck, Cause))]


@pytest.fixture(scope="session")
def network() -> CauseNetwork:
    return CauseNetwork.of(NODES)


@pytest.fixture(scope="session")
def thresholds() -> Thresholds:
    return Thresholds.of(node for node in NODES if isinstance(node, Bottleneck))


CUBE = {
    "aicore_time(us)": 100.0,
    "aic_total_cycles": 100.0 * 1800 * 24,
    "aic_mac_ratio": 0.9,
    "aic_mte2_ratio": 0.7,
}
VECTOR = {
    "aiv_time(us)": 50.0,
    "aiv_total_cycles": 50.0 * 1800 * 48,
    "aiv_vec_ratio": 0.6,
    "aiv_mte2_ratio": 0.6,
}


@pytest.fixture
def make() -> Callable[..., Profile]:
    """A run of one rank: fifty products and norms, and what is added to them."""

    def build(
        extra: Sequence[tuple[str, str, float]] = (),
        *,
        gap_us: float = 0.5,
        calls: Sequence[Call] = (),
        wait_ms: float = 0.0,
        pipes: dict[str, float] | None = None,
        types: str = "DT_BF16;DT_BF16",
        environment: dict[str, str] | None = None,
        rank: int = 0,
        slower: float = 1.0,
    ) -> Profile:
        builder = KernelBuilder("kernel_details.csv")
        at = 0.0
        work = [("MatMulV3", "AI_CORE", 100.0), ("RmsNorm", "AI_VECTOR_CORE", 50.0)] * 50
        for row, (kind, core, spent) in enumerate([*work, *extra], 2):
            lasted = spent * slower
            counters = CUBE | (pipes or {}) if core == "AI_CORE" else VECTOR
            counters = {k: v * slower if "time" in k or "cycles" in k else v for k, v in counters.items()}
            builder.add(
                row, round(at * 1e3), duration_us=lasted, blocks=24.0 if core == "AI_CORE" else 48.0, name=kind,
                kind=kind, core=core, state="static", stream="2", input_types=types,
                input_shapes="4096,4096;4096,4096", pipes={} if core == "AI_CPU" else counters,
            )  # fmt: skip
            at += lasted + gap_us
        collectives = []
        if wait_ms:
            builder.add(999, round(at * 1e3), duration_us=wait_ms * 1e3 + 100, name="hcom_allReduce__1",
                        kind="hcom_allReduce_", core="COMMUNICATION")  # fmt: skip
            moved = Transfer(transport="HCCS", size_mb=2.0, time_ms=0.1, bandwidth_gb_s=20.0)
            collectives.append(
                Collective(
                    name="hcom_allReduce__1", group="", step="", is_p2p=False, elapse_ms=wait_ms + 0.1, transit_ms=0.1,
                    wait_ms=wait_ms, start_us=None, transfers=(moved,),
                    place=FactPlace("communication.json"),
                )
            )  # fmt: skip
        kernels = builder.build()
        counted = split_steps(kernels)[0]
        told = StepTime(
            step="7", step_us=counted.step_us, computing_us=counted.computing_us, exposed_us=counted.exposed_us,
            overlapped_us=counted.overlapped_us, free_us=counted.free_us, place=FactPlace("step_trace_time.csv", (2,)),
        )  # fmt: skip
        one = Rank(
            rank=rank, folder=f"rank{rank}", layout="test", steps=(told,), kernels=kernels,
            collectives=tuple(collectives), calls=tuple(calls), environment=environment or {},
        )  # fmt: skip
        return Profile(path="run", ranks=(one,))

    return build
