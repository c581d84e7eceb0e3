"""The critical path goes to the rank that came last, ends at its operators, and tells who is not there."""

from typing import Any

import pytest

from ingest.profiles.facts.details import Details, ProcessGroup
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, Profile, Rank, RankTraffic, StepTime
from recommender.diagnosis.critical.path import critical_path, meetings_of
from recommender.diagnosis.ledger.accounts import GAP
from recommender.diagnosis.rank.groups import DATA, STAGES, group_of, uses_of_groups

MOVES = 100.0
PLACE = FactPlace("communication.json")


def rank(
    number: int,
    work: list[tuple[str, float]],
    waits: list[float],
    *,
    clock_us: float = 0.0,
    group: str = "g0",
    pair: bool = False,
    **more: Any,
) -> Rank:
    """A rank that works, then waits in a meeting and moves data, and so on; its clock may be off."""
    builder = KernelBuilder(f"rank{number}.csv")
    at, met = clock_us, []
    for row, ((name, lasts), wait) in enumerate(zip(work, waits, strict=True)):
        builder.add(row, round(at * 1e3), duration_us=lasts, name=name, kind=name, core="AI_CORE")
        at += lasts
        kind = "hcom_send__1" if pair else f"hcom_allReduce__{row}"
        builder.add(
            row,
            round(at * 1e3),
            duration_us=wait + MOVES,
            name=kind,
            kind=kind.rstrip("0123456789"),
            core="COMMUNICATION",
        )
        met.append(
            Collective(
                name=kind, group=group, step="", is_p2p=pair, elapse_ms=(wait + MOVES) / 1e3, transit_ms=MOVES / 1e3,
                wait_ms=wait / 1e3, idle_ms=0.0, start_us=at, transfers=(), place=PLACE,
            )
        )  # fmt: skip
        at += wait + MOVES
    length = at - clock_us
    step = StepTime(
        step="", step_us=length, computing_us=sum(us for _, us in work), exposed_us=0.0, overlapped_us=0.0,
        free_us=0.0, place=PLACE,
    )  # fmt: skip
    return Rank(
        rank=number, folder=str(number), layout="Ascend PyTorch Profiler", steps=(step,),
        kernels=builder.done(), collectives=tuple(met), **more,
    )  # fmt: skip


def run(*ranks: Rank) -> Profile:
    return Profile(path="run", ranks=ranks)


@pytest.mark.parametrize("clock_us", [0.0, 7e6])
def test_the_path_runs_through_those_that_came_last(clock_us: float) -> None:
    first = rank(0, [("Quick", 500.0), ("Slow", 3000.0)], [2500.0, 0.0])
    second = rank(1, [("Slow", 3000.0), ("Quick", 500.0)], [0.0, 2500.0], clock_us=clock_us)
    path = critical_path(run(first, second))
    assert path is not None
    assert path.operators == {(0, "Slow"): 3000.0, (1, "Slow"): 3000.0, (0, "hcom_allReduce"): 200.0}
    assert path.step_us == pytest.approx(first.steps[0].step_us)
    assert path.unseen_us == 0


def test_a_gap_of_the_late_rank_is_on_the_path() -> None:
    late = rank(1, [("Work", 400.0), ("Work", 400.0)], [0.0, 0.0])
    builder = KernelBuilder("rank1.csv")
    builder.add(0, 0, duration_us=400.0, name="Work", kind="Work", core="AI_CORE")
    builder.add(1, 3_000_000, duration_us=100.0, name="hcom_allReduce__0", core="COMMUNICATION")
    meeting = late.collectives[0]
    from dataclasses import replace

    late = replace(late, kernels=builder.done(), collectives=(replace(meeting, start_us=3000.0),))
    path = critical_path(run(rank(0, [("Work", 500.0)], [2500.0]), late))
    assert path is not None
    assert path.operators[1, GAP] == 2600.0


def test_ranks_that_were_not_profiled_are_told() -> None:
    world = ProcessGroup(name="g0", about="default_group", ranks=(0, 1, 2, 3))
    both = [rank(n, [("Work", 500.0)], [1500.0 + 100 * n], details=Details(groups=(world,))) for n in (0, 1)]
    path = critical_path(run(*both))
    assert path is not None
    assert path.waits == {(0, (2, 3), "default_group"): 1500.0}
    assert path.unseen_us == 1500.0
    assert path.step_us == pytest.approx(500.0 + 1500.0 + MOVES)


def test_links_name_ranks_where_no_group_does() -> None:
    link = RankTraffic(
        source="0", target="5", transport="HCCS", size_mb=1.0, time_ms=1.0, bandwidth_gb_s=1.0, operator="x", place=PLACE
    )  # fmt: skip
    path = critical_path(run(rank(0, [("Work", 500.0)], [900.0], links=(link,))))
    assert path is not None
    assert path.waits == {(0, (5,), ""): 900.0}


def test_without_meetings_there_is_no_path() -> None:
    assert critical_path(run(rank(0, [("Work", 500.0)], [0.0]))) is None
    assert critical_path(run(Rank(rank=0, folder="", layout="x"))) is None
    twice = rank(0, [("Work", 500.0)], [900.0])
    assert critical_path(run(twice, twice)) is None


def test_the_groups_of_megatron_are_told_apart() -> None:
    groups = (
        ProcessGroup(name="group_name_0", about="default_group", ranks=(0, 1, 2, 3)),
        ProcessGroup(name="group_name_5", about="dp_cp", ranks=(0, 1)),
        ProcessGroup(name="group_name_13", about="mp", ranks=(0, 2)),
        ProcessGroup(name="group_name_19", about="pp", ranks=(0, 2)),
        ProcessGroup(name="group_name_20", about="embd", ranks=(0, 2)),
    )
    ranks = [Rank(rank=n, folder="", layout="x", details=Details(groups=groups)) for n in (0, 1)]

    def about(present: tuple[int, ...], kind: str) -> str:
        found = group_of("hash", present, {kind}, ranks)
        return "" if found is None else found.about

    assert about((0,), "hcombatchsendrecv") == "pp"
    assert about((0,), "hcomallreduce") == "embd"
    assert about((0, 1), "hcomreducescatter") == "dp_cp"
    assert group_of("group_name_13", (0,), set(), ranks) == groups[2]


def test_a_reduction_between_stages_is_no_gradient() -> None:
    groups = (
        ProcessGroup(name="a", about="dp_cp", ranks=(0, 1)),
        ProcessGroup(name="b", about="embd", ranks=(0, 2)),
    )
    sizes = {"pipeline_model_parallel_size": 2, "world_size": 4}
    first = rank(0, [("A", 1.0)], [0.0], group="b", details=Details(groups=groups), parallel=sizes)
    second = rank(1, [("A", 1.0)], [0.0], group="a", details=Details(groups=groups), parallel=sizes)
    assert uses_of_groups([first, second]) == {"a": DATA, "b": STAGES}


def test_operators_that_do_not_pair_stand_alone() -> None:
    first = rank(0, [("A", 1.0), ("A", 1.0)], [0.0, 0.0])
    second = rank(1, [("A", 1.0)], [0.0])
    assert [len(item.operators) for item in meetings_of([first, second], "")] == [1, 1, 1]
