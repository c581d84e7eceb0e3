"""Fragmentation of device memory."""

from dataclasses import replace
from typing import Any

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, MemoryUse
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import memory
from recommender.diagnosis.rank.view import view_of


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
