"""Transfers that slow down beside kernels."""

from typing import Any

import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, Profile, Rank, StepTime, Transfer
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import contention
from recommender.diagnosis.rank.view import view_of


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
                idle_ms=0.0, start_us=None, transfers=(moved,), place=FactPlace("communication.json"),
            )
        )  # fmt: skip

    for place in range(10):
        reduce(True, rate_beside, place)
        if rate_alone is not None:
            reduce(False, rate_alone, place)
    kernels = builder.done()
    counted = split_steps(kernels)[0]
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


def test_contention_is_named(network: Any, thresholds: Any) -> None:
    found = diagnose(shared(6.0, 18.0), network, thresholds).findings
    assert "bandwidth-contention" in {item.cause.node for item in found}
