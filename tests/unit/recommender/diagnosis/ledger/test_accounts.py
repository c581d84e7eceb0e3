"""The ledger of a run: sums, operators, reasons."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile, StepTime
from recommender.diagnosis.ledger.accounts import NOT_COLLECTED, Account, keep_ledger
from recommender.diagnosis.ledger.reasons import (
    BEFORE,
    COPY,
    HOST,
    LAUNCH,
    MOVING,
    UNSEEN_HOST,
    WAITING,
)


def call(level: str, name: str, total_us: float, count: int = 1) -> Call:
    return Call(
        level=level, name=name, total_us=total_us, count=count, max_us=total_us, place=FactPlace("a", (1,))
    )


def test_every_microsecond_is_booked_once_with_operator_and_reason(make: Any) -> None:
    profile = make(wait_ms=4.0, extra=[("Cast", "AI_VECTOR_CORE", 60.0)] * 10)
    [rank] = keep_ledger(profile).ranks
    assert rank.error < 1e-9
    booked = rank.mean_us
    assert booked[Account("computing", "MatMulV3", "cube at work")] == pytest.approx(5000)
    assert booked[Account("computing", "Cast", "converts types")] == pytest.approx(600)
    assert booked[Account("exposed", "hcom_allReduce", WAITING)] == pytest.approx(4000)
    assert booked[Account("exposed", "hcom_allReduce", MOVING)] == pytest.approx(100)
    assert booked[Account("free", "gap", LAUNCH)] == pytest.approx(110 * 0.5)
    assert sum(booked.values()) == pytest.approx(rank.mean_step_us)


def test_long_gaps_go_to_calls_as_far_as_they_last(make: Any) -> None:
    calls = [call("gc", "GC", 1500.0), call("acl", "aclrtSynchronizeStream", 4000.0, 20)]
    [rank] = keep_ledger(make(gap_us=100.0, calls=calls)).ranks
    booked = {account.reason: us for account, us in rank.mean_us.items() if account.part == "free"}
    assert booked["garbage collection"] == pytest.approx(1500)
    assert booked["synchronising calls"] == pytest.approx(20 * 100)
    assert booked[HOST] == pytest.approx(99 * 100 - 3500)
    [bare] = keep_ledger(make(gap_us=100.0)).ranks
    assert {a.reason for a in bare.accounts if a.part == "free"} == {UNSEEN_HOST}


def test_what_the_kernels_leave_of_the_step_is_not_called_theirs(make: Any) -> None:
    profile = make()
    [rank] = profile.ranks
    longer = replace(rank.steps[0], step_us=20_000.0, computing_us=12_000.0, free_us=6_000.0)
    [book] = keep_ledger(replace(profile, ranks=(replace(rank, steps=(longer,)),))).ranks
    parts = {account: us for account, us in book.mean_us.items() if account.operator in {NOT_COLLECTED, ""}}
    assert parts[Account("computing", NOT_COLLECTED, "computing")] == pytest.approx(12_000 - 7_500)
    assert parts[Account("unexplained", "", "")] == pytest.approx(2_000)
    assert book.error < 1e-9


def test_parts_that_exceed_their_step_are_an_error(make: Any) -> None:
    [rank] = make().ranks
    twice = replace(rank.steps[0], step_us=rank.steps[0].step_us * 0.9)
    run = keep_ledger(Profile(path="", ranks=(replace(rank, steps=(twice,)),)))
    assert run.error == pytest.approx(1 / 0.9 - 1, rel=1e-6)


def test_a_rank_without_kernels_has_its_parts(make: Any) -> None:
    [rank] = make(wait_ms=4.0).ranks
    [book] = keep_ledger(Profile(path="", ranks=(replace(rank, kernels=None),))).ranks
    assert book.error < 1e-9
    assert book.mean_us[Account("exposed", "hcom_allReduce", WAITING)] == pytest.approx(4000)
    assert book.mean_us[Account("computing", NOT_COLLECTED, "computing")] == pytest.approx(7500)


def test_steps_whose_kernels_name_none_are_one(make: Any) -> None:
    [rank] = make().ranks
    half = rank.steps[0].step_us / 2
    steps = tuple(
        StepTime(step=name, step_us=half, computing_us=3750.0, exposed_us=0.0, overlapped_us=0.0,
                 free_us=half - 3750, place=FactPlace("s"))
        for name in "12"
    )  # fmt: skip
    [book] = keep_ledger(Profile(path="", ranks=(replace(rank, steps=steps),))).ranks
    assert book.steps == ("all",)
    assert book.error < 1e-9


def test_a_copy_before_the_first_kernel_of_a_step_is_no_gap() -> None:
    from ingest.profiles.facts.kernels import COPY_CORE, KernelBuilder
    from ingest.profiles.facts.run import Rank

    builder = KernelBuilder("trace.json")
    for row, (core, start, lasts) in enumerate(((COPY_CORE, 100, 500), ("GPU", 700, 300))):
        builder.add(row, start * 1000, duration_us=float(lasts), name="a", core=core, step="1")
    step = StepTime(
        step="1", step_us=1000.0, computing_us=300.0, exposed_us=0.0, overlapped_us=0.0, free_us=700.0,
        preparing_us=700.0, place=FactPlace("trace.json"),
    )  # fmt: skip
    rank = Rank(rank=0, folder="", layout="test", kernels=builder.build(), steps=(step,))
    [book] = keep_ledger(Profile(path="", ranks=(rank,))).ranks
    free = {account.reason: us for account, us in book.mean_us.items() if account.part == "free"}
    assert free == {COPY: pytest.approx(500.0), BEFORE: pytest.approx(200.0)}
