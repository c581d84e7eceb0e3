"""What a diagnosis finds in runs with known losses, and that it is silent where there is none."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.details import Details, Iteration
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile
from ingest.profiles.tables.iterations import data_waits
from kg.errors import MissingFactError, WorkspaceError
from kg.triples.oxigraph_store import OxigraphStore
from recommender.answers.diagnose import diagnose_profile
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.repair.fix_tests import repair
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
    assert 1 < first.factor <= first.cause.ceiling * 1.01


@pytest.mark.parametrize(("cause", "given"), FAULTS)
def test_a_repaired_cause_is_gone(
    cause: str, given: dict[str, Any], make: Any, network: Any, thresholds: Any
) -> None:
    profile = make(**given)
    first = diagnose(profile, network, thresholds).findings[0]
    assert first.fix is not None
    assert first.fix.factor > 1.04
    assert first.fix.holds
    evidence = next(e for e in first.cause.evidence if e.node == cause)
    again = diagnose(repair(profile, evidence), network, thresholds)
    assert all(item.cause.node != cause for item in again.findings)


def test_kernels_are_measured_against_what_their_shapes_need(
    make: Any, network: Any, thresholds: Any
) -> None:
    profile = make(pipes={"aic_mac_ratio": 0.2, "aic_mte2_ratio": 0.97}, slower=40.0)
    fix = diagnose(profile, network, thresholds).findings[0].fix
    assert fix is not None
    assert fix.measured_us == pytest.approx(50 * 100 * 40)
    assert fix.modelled_us is not None
    assert fix.measured_us is not None
    assert 0 < fix.modelled_us < fix.measured_us


def test_a_chain_goes_from_the_symptom_to_the_cause(make: Any, network: Any, thresholds: Any) -> None:
    slow, other = make(slower=1.5, rank=0), make(wait_ms=4.0, rank=1)
    found = diagnose(Profile(path="run", ranks=(*slow.ranks, *other.ranks)), network, thresholds)
    assert found.findings[0].cause.chain == ("exposed-communication", "collective-wait", "slow-rank")


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


def test_free_time_of_a_bare_table_accuses_nobody(make: Any, network: Any, thresholds: Any) -> None:
    profile = make(gap_us=200.0)
    [rank] = profile.ranks
    counted = replace(rank.steps[0], is_counted=True)
    bare = replace(profile, ranks=(replace(rank, steps=(counted,)),))
    assert diagnose(bare, network, thresholds).findings == ()


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
        diagnose_profile(OxigraphStore(None), Profile(path="run", ranks=(host,)))


def test_without_thresholds_nothing_is_judged(make: Any) -> None:
    with pytest.raises(WorkspaceError, match="no bottlenecks with thresholds"):
        diagnose_profile(OxigraphStore(None), make())
