"""Diagnoses of runs with known losses, and silence where there is none."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.details import Details, Iteration
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile
from ingest.profiles.tables.iterations import data_waits
from kg.errors import MissingFactError, WorkspaceError
from kg.triples.graph import GraphStore
from recommender.answers.diagnose import diagnose_profile
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.thresholds import significance


def call(level: str, name: str, total_us: float, count: int = 10) -> Call:
    return Call(
        level=level,
        name=name,
        total_us=total_us,
        count=count,
        max_us=total_us / count,
        place=FactPlace("api.csv", (3,)),
    )


def test_a_healthy_run_is_silent(make: Any, network: Any, thresholds: Any) -> None:
    found = diagnose(make(), network, thresholds)
    assert found.findings == ()


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("layout-transform", {"extra": [("TransData", "AI_VECTOR_CORE", 60.0)] * 30}),
    ("cast-traffic", {"extra": [("Cast", "AI_VECTOR_CORE", 60.0)] * 30}),
    ("aicpu-operator", {"extra": [("Erfinv", "AI_CPU", 2000.0)]}),
    ("unfused-operators", {"extra": [(k, "AI_VECTOR_CORE", 20.0) for k in ("Mul", "Rsqrt", "Add", "Square")] * 40}),
    ("memory-bandwidth", {"pipes": {"aic_mac_ratio": 0.2, "aic_mte2_ratio": 0.97}}),
    ("precision-excess", {"types": "FLOAT;FLOAT"}),
    ("host-bound", {"gap_us": 140.0}),
    ("kernel-launch-overhead", {"extra": [("Tiny", "AI_VECTOR_CORE", 2.0)] * 400, "gap_us": 20.0}),
    ("python-gc-high-latency", {"gap_us": 90.0, "calls": [call("gc", "GC", 9000.0, 2)]}),
    ("slow-dataloader", {"gap_us": 150.0, "calls": [call("loader", "DataLoader", 15_000.0, 1)]}),
    ("memory-allocation-stall", {"gap_us": 150.0, "calls": [call("acl", "aclrtFreePhysical", 15_000.0)]}),
    ("host-device-synchronisation",
     {"gap_us": 150.0, "calls": [call("acl", "aclrtSynchronizeStream", 15_000.0, 200)]}),
    ("collective-wait", {"wait_ms": 4.0}),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "given"), FAULTS)
def test_a_known_loss_is_named_first_with_where_it_stands(
    cause: str, given: dict[str, Any], make: Any, network: Any, thresholds: Any
) -> None:
    profile = make(**given)
    found = diagnose(profile, network, thresholds)
    first = found.findings[0]
    assert first.cause.node == cause
    assert first.cause.evidence[-1].places or first.cause.evidence[-1].rank == 0
    assert 0.05 < first.cause.share < 1
    assert first.cause.ceiling == pytest.approx(1 / (1 - first.cause.share))


def test_a_chain_goes_from_the_symptom_to_the_cause(make: Any, network: Any, thresholds: Any) -> None:
    slow, other = make(slower=1.5, rank=0), make(wait_ms=4.0, rank=1)
    found = diagnose(Profile(path="run", ranks=(*slow.ranks, *other.ranks)), network, thresholds)
    assert found.findings[0].cause.chain == ("exposed-communication", "collective-wait", "slow-rank")


def two(make: Any, *, late_waits_ms: float, other_waits_ms: float) -> Profile:
    """Rank 0 is held up by its host; rank 1 waits in the collective."""
    late, other = make(gap_us=100.0, wait_ms=late_waits_ms, rank=0), make(wait_ms=other_waits_ms, rank=1)
    return Profile(path="run", ranks=(*late.ranks, *other.ranks))


def test_who_waits_as_long_as_its_peer_does_not_hold_it_up(make: Any, network: Any, thresholds: Any) -> None:
    late, other = make(gap_us=100.0, wait_ms=5.0, rank=0), make(wait_ms=4.0, rank=1, slower=2.45)
    profile = Profile(path="run", ranks=(*late.ranks, *other.ranks))
    found = diagnose(profile, network, thresholds).findings
    assert found[0].cause.node != "host-bound"


def test_a_rank_that_is_longer_than_its_peers_is_its_own_symptom(
    make: Any, network: Any, thresholds: Any
) -> None:
    found = diagnose(two(make, late_waits_ms=5.0, other_waits_ms=4.0), network, thresholds).findings
    assert found[0].cause.chain == ("host-bound",)


def test_idle_time_that_all_ranks_have_explains_no_waiting(make: Any, network: Any, thresholds: Any) -> None:
    ranks = [*make(gap_us=100.0, wait_ms=6.0, rank=0).ranks, *make(gap_us=98.0, wait_ms=6.0, rank=1).ranks]
    found = diagnose(Profile(path="run", ranks=tuple(ranks)), network, thresholds).findings
    chains = {item.cause.node: item.cause.chain for item in found}
    assert chains["host-bound"] == ("host-bound",)
    assert chains["collective-wait"] == ("exposed-communication", "collective-wait")


def test_what_all_ranks_lose_alike_makes_none_the_slow_one(make: Any, network: Any, thresholds: Any) -> None:
    casts = [("Cast", "AI_VECTOR_CORE", 60.0)] * 30
    alike = Profile(path="run", ranks=(*make(casts, rank=0).ranks, *make(casts, rank=1, slower=1.5).ranks))
    found = diagnose(alike, network, thresholds).findings
    assert next(item.cause.chain for item in found if item.cause.node == "cast-traffic") == ("cast-traffic",)
    assert any(item.cause.node == "slow-rank" for item in found)
    own = Profile(path="run", ranks=(*make(rank=0).ranks, *make(casts, rank=1).ranks))
    first = diagnose(own, network, thresholds).findings[0].cause
    assert first.chain[-2:] == ("slow-rank", "cast-traffic")


def test_a_rank_that_comes_late_is_why_the_other_waits(make: Any, network: Any, thresholds: Any) -> None:
    found = diagnose(two(make, late_waits_ms=0.1, other_waits_ms=4.0), network, thresholds).findings
    chain = ("exposed-communication", "collective-wait", "host-bound")
    assert next(item.cause.chain for item in found if item.cause.node == "host-bound") == chain


def test_what_was_there_before_is_not_what_became_worse(make: Any, network: Any, thresholds: Any) -> None:
    casts = [("Cast", "AI_VECTOR_CORE", 60.0)] * 40
    before = make(extra=casts)
    after = make(extra=[*casts, *[("TransData", "AI_VECTOR_CORE", 60.0)] * 40])
    found = diagnose(after, network, thresholds, before=before)
    assert [item.cause.node for item in found.findings] == ["layout-transform"]
    assert diagnose(before, network, thresholds, before=before).findings == ()


def test_ranks_in_another_order_say_the_same(make: Any, network: Any, thresholds: Any) -> None:
    one, two = make(slower=1.4, rank=0).ranks, make(wait_ms=3.0, rank=1).ranks
    found = [
        [
            (f.cause.node, f.cause.chance)
            for f in diagnose(Profile(path="", ranks=r), network, thresholds).findings
        ]
        for r in ((*one, *two), (*two, *one))
    ]
    assert found[0] == found[1]


def test_significance_is_a_half_between_the_marks_and_asked_for_less() -> None:
    assert significance(0.04) == pytest.approx(0.5)
    assert significance(0.02) < 0.1 < significance(0.02, 0.01)


def test_the_content_is_plain_json(make: Any, network: Any, thresholds: Any) -> None:
    found = diagnose(make(extra=[("Cast", "AI_VECTOR_CORE", 60.0)] * 30), network, thresholds)
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["causes"][0]["cause"] == "cast-traffic"
    assert content["causes"][0]["evidence"][-1]["places"][0]["rows"]
    assert found.bottlenecks() == {"cast-traffic": content["causes"][0]["share"]}


def test_iterations_that_wait_for_data_are_a_slow_loader(make: Any, network: Any, thresholds: Any) -> None:
    (rank,) = make(gap_us=150.0).ranks
    waits = Iteration(
        number="1", model="", length_us=20_000.0, end_ns=None,
        data_us=14_000.0, place=FactPlace("step_trace_0.csv", (2,)),
    )  # fmt: skip
    told = replace(rank, details=Details(iterations=(waits,)), calls=tuple(data_waits([waits])))
    first = diagnose(Profile(path="run", ranks=(told,)), network, thresholds).findings[0].cause
    assert first.node == "slow-dataloader"
    assert first.evidence[-1].places == (FactPlace("step_trace_0.csv", (2,)),)
    assert first.lost_us == pytest.approx(14_000.0)


def test_a_profile_of_the_host_alone_is_no_healthy_one(make: Any) -> None:
    (rank,) = make(calls=[call("op", "aten::add", 100.0)]).ranks
    host = replace(rank, kernels=None, steps=())
    with pytest.raises(MissingFactError, match="no activity of a device"):
        diagnose_profile(GraphStore(), Profile(path="run", ranks=(host,)))


def test_without_thresholds_nothing_is_judged(make: Any) -> None:
    with pytest.raises(WorkspaceError, match="no bottlenecks with thresholds"):
        diagnose_profile(GraphStore(), make())
