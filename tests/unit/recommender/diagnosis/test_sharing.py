"""Products written out for a small operator, fused interfaces, fragmentation, and transfers beside kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.intervals import split
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Collective, MemoryUse, Profile, Rank, StepTime, Transfer
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import contention, epilogues, interfaces, memory
from recommender.diagnosis.rank.view import view_of

PRODUCT = ("MatMulV3", "AI_CORE", 100.0, "4096,4096;4096,4096", "4096,4096")


def run(work: list[tuple[str, str, float, str, str]]) -> Profile:
    builder = KernelBuilder("kernel_details.csv")
    at = 0.0
    for row, (kind, core, spent, reads, writes) in enumerate(work, 2):
        builder.add(
            row, round(at * 1e3), duration_us=spent, name=kind, kind=kind, core=core, stream="2",
            input_shapes=reads, output_shapes=writes,
        )  # fmt: skip
        at += spent + 0.5
    kernels = builder.done()
    step = replace(split(kernels)[0], is_counted=False)
    return Profile(
        path="run", ranks=(Rank(rank=0, folder="r", layout="test", steps=(step,), kernels=kernels),)
    )


def test_a_bias_after_each_product_is_a_round_trip_of_all_but_its_other_input(thresholds: Any) -> None:
    bias = ("Add", "AI_VECTOR_CORE", 30.0, "4096,4096;4096", "4096,4096")
    view = view_of(run([PRODUCT, bias] * 40).ranks[0])
    [found] = list(epilogues.find(view, thresholds))
    assert found.lost_us == pytest.approx(40 * 30.0, rel=0.01)
    assert found.places[0].rows[0] % 2 == 1  # the operators, not the products
    residual = ("Add", "AI_VECTOR_CORE", 30.0, "4096,4096;4096,4096", "4096,4096")
    [half] = list(epilogues.find(view_of(run([PRODUCT, residual] * 40).ranks[0]), thresholds))
    assert half.lost_us == pytest.approx(40 * 30.0 * 2 / 3, rel=0.01)


@pytest.mark.parametrize(
    "second",
    [
        ("Add", "AI_VECTOR_CORE", 30.0, "128,4096;4096", "128,4096"),  # reads something else
        ("Cast", "AI_VECTOR_CORE", 30.0, "4096,4096", "4096,4096"),  # told as a cast
        ("RmsNorm", "AI_VECTOR_CORE", 30.0, "4096,4096;4096", "4096,4096"),  # needs whole rows
    ],
)
def test_what_no_epilogue_holds_is_no_round_trip(second: Any, thresholds: Any) -> None:
    [found] = list(epilogues.find(view_of(run([PRODUCT, second] * 40).ranks[0]), thresholds))
    assert found.lost_us == 0


def test_without_shapes_of_results_nothing_is_said(thresholds: Any) -> None:
    bare = [(kind, core, spent, "", "") for kind, core, spent, _, _ in [PRODUCT] * 10]
    assert list(epilogues.find(view_of(run(bare).ranks[0]), thresholds)) == []


def test_a_round_trip_is_named_and_gone_when_repaired(network: Any, thresholds: Any) -> None:
    gelu = ("Gelu", "AI_VECTOR_CORE", 40.0, "4096,4096", "4096,4096")
    found = diagnose(run([PRODUCT, gelu] * 40), network, thresholds).findings
    assert [item.cause.node for item in found] == ["cube-vector-round-trip"]
    assert found[0].fix is not None
    assert found[0].fix.holds


def test_a_norm_in_small_operators_has_an_interface(network: Any, thresholds: Any) -> None:
    norm = [
        (k, "AI_VECTOR_CORE", 20.0, "8,8", "8,8") for k in ("Square", "ReduceMean", "Add", "Rsqrt", "Mul")
    ]
    profile = run([PRODUCT, *norm, ("FlashAttentionScore", "MIX_AIC", 90.0, "8,8", "8,8")] * 12)
    [found] = list(interfaces.find(view_of(profile.ranks[0]), thresholds))
    assert found.says.startswith("could stand for what ran: torch_npu.npu_rms_norm (12x)")
    assert found.shown > 0.9
    first = diagnose(profile, network, thresholds).findings[0].cause
    assert first.chain[-2:] == ("unfused-operators", "affinity-api-not-used")


@pytest.mark.parametrize(
    ("kinds", "interface"),
    [
        (("Addcmul", "Sqrt"), "torch_npu.optim.NpuFusedAdam or NpuFusedAdamW"),
        (("ForeachMulScalar", "ForeachAddList"), "torch_npu.optim.NpuFusedSGD"),
        (("Neg", "ConcatD", "Cast", "Mul", "Add"), "torch_npu.npu_rotary_mul"),
        (("BatchMatMulV2", "Muls", "SoftmaxV2", "BatchMatMulV2"), "torch_npu.npu_fusion_attention"),
        (("Swish", "Mul"), "torch_npu.npu_swiglu"),
    ],
)
def test_each_sequence_is_told_by_its_interface(
    kinds: tuple[str, ...], interface: str, thresholds: Any
) -> None:
    work = [(kind, "AI_VECTOR_CORE", 5.0, "8,8", "8,8") for kind in (*kinds, "TopKV2")]
    [found] = list(interfaces.find(view_of(run(work * 3).ranks[0]), thresholds))
    assert f"{interface} (3x)" in found.says


def test_operators_on_two_streams_are_no_sequence(thresholds: Any) -> None:
    builder = KernelBuilder("k.csv")
    for row in range(20):
        builder.add(
            row + 2, row * 10_000, duration_us=5.0, kind=("Swish", "Mul")[row % 2], stream=str(row % 2)
        )
    kernels = builder.done()
    rank = Rank(rank=0, folder="r", layout="t", steps=tuple(split(kernels)), kernels=kernels)
    [found] = list(interfaces.find(view_of(rank), thresholds))
    assert found.says == "no fused interface fits what ran"
    assert found.shown < 0.1


def held(reserved: float, allocated: float, returned: float = 0.0) -> MemoryUse:
    return MemoryUse(
        peak_reserved_mb=reserved, peak_allocated_mb=allocated, timeline=(), allocations=None,
        place=FactPlace("memory_record.csv"), returned_mb=returned,
    )  # fmt: skip


def test_memory_in_pieces_is_seen_without_a_stall_and_accused_only_with_one(
    make: Any, network: Any, thresholds: Any
) -> None:
    stall = Call(
        level="acl",
        name="aclrtFreePhysical",
        total_us=15_000.0,
        count=10,
        max_us=1500.0,
        place=FactPlace("api.csv"),
    )
    for calls, causes in (((), []), ((stall,), ["memory-fragmentation"])):
        profile = make(gap_us=150.0 if calls else 0.5, calls=calls)
        [rank] = profile.ranks
        profile = replace(profile, ranks=(replace(rank, memory=held(60_000.0, 35_000.0)),))
        assert analyse(profile, thresholds)["memory-fragmentation"].shown > 0.9
        found = diagnose(profile, network, thresholds)
        assert [item.cause.node for item in found.findings] == causes
        assert [item.node for item in found.besides] == ([] if causes else ["memory-fragmentation"])
    compact = replace(profile, ranks=(replace(profile.ranks[0], memory=held(60_000.0, 59_000.0)),))
    [first] = diagnose(compact, network, thresholds).findings
    assert first.cause.node == "memory-allocation-stall"


def test_memory_that_goes_to_and_fro_is_churn(make: Any, thresholds: Any) -> None:
    [rank] = make().ranks
    still, moving = (
        next(memory.find(view_of(replace(rank, memory=held(1000.0, 990.0, returned))), thresholds)).shown
        for returned in (0.0, 3000.0)
    )
    assert still < 0.2
    assert moving > 0.9


def shared(rate_beside: float, rate_alone: float | None) -> Profile:
    """Ten reductions under a long product's first half, and as many beside nothing."""
    builder = KernelBuilder("kernel_details.csv")
    items = []
    at, row = 0.0, 2

    def reduce(beside: bool, rate: float, place: int) -> None:
        nonlocal at, row
        spent = 18_000 / rate
        name = f"hcom_allReduce__{int(beside)}_{place}"
        if beside:
            builder.add(row, round(at * 1e3), duration_us=0.6 * spent, name="MatMulV3", kind="MatMulV3",
                        core="AI_CORE", stream="2")  # fmt: skip
            row += 1
        builder.add(row, round(at * 1e3), duration_us=spent, name=name, kind="hcom_allReduce_",
                    core="COMMUNICATION", stream="9")  # fmt: skip
        row += 1
        at += spent
        moved = Transfer(transport="SDMA", size_mb=18.0, time_ms=spent / 1e3, bandwidth_gb_s=rate)
        items.append(
            Collective(
                name=name, group="", step="", is_p2p=False, elapse_ms=spent / 1e3, transit_ms=spent / 1e3, wait_ms=0.0,
                synchronisation_ms=0.0, idle_ms=0.0, start_us=None, transfers=(moved,), place=FactPlace("communication.json"),
            )
        )  # fmt: skip

    for place in range(10):
        reduce(True, rate_beside, place)
        if rate_alone is not None:
            reduce(False, rate_alone, place)
    kernels = builder.done()
    counted = split(kernels)[0]
    step = StepTime(
        step="1", step_us=counted.step_us, computing_us=counted.computing_us, exposed_us=counted.exposed_us,
        overlapped_us=counted.overlapped_us, free_us=counted.free_us, place=FactPlace("step_trace_time.csv", (2,)),
    )  # fmt: skip
    rank = Rank(rank=0, folder="r", layout="t", steps=(step,), kernels=kernels, collectives=tuple(items))
    return Profile(path="run", ranks=(rank,))


@pytest.mark.parametrize(("alone", "there"), [(18.0, True), (9.0, False), (None, True)])
def test_transfers_slow_beside_kernels_compete_for_bandwidth(
    alone: float | None, there: bool, thresholds: Any
) -> None:
    [found] = list(contention.find(view_of(shared(9.0, alone).ranks[0]), thresholds))
    assert found.readings[0].value == pytest.approx(9.0 / (alone or 18.0))
    assert (found.share > 0.1) is there
    assert bool(found.places) is there


def test_contention_is_named_and_its_repair_eases_the_symptom(network: Any, thresholds: Any) -> None:
    found = diagnose(shared(6.0, 18.0), network, thresholds).findings
    item = next(item for item in found if item.cause.node == "bandwidth-contention")
    assert item.fix is not None
    assert item.fix.holds
