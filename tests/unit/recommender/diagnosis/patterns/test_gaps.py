"""Gaps of a device: what calls cover them, where they lie, what nothing explains."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles.mechanisms import of_traces
from benchmarks.profiles.traced_runs import WORLDS, Run, World, length_us, with_hook, write
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Collective, Profile
from ingest.profiles.folders import read_profile
from recommender.diagnosis.analysis import analyse, evidence_by_rank, views
from recommender.diagnosis.diagnosis import diagnose

TRAINS, SERVES = WORLDS["trains on A100"], WORLDS["serves on MI300X"]


def traced(world: World, change: of_traces.Change, folder: Path, share: float = 0.3) -> Profile:
    """A capture with a fault that costs a share of its step."""
    random = np.random.default_rng(5)
    step = length_us(world, random) / world.steps
    altered = change(world, step * share / (1 - share), random)
    assert altered is not None
    return read_profile(write(altered, random, folder / "run.pt.trace.json"))


def call(level: str, name: str, total_us: float, count: int = 1) -> Call:
    return Call(
        level=level, name=name, total_us=total_us, count=count, max_us=None, place=FactPlace("api.csv", (3,))
    )


def test_items_are_the_reason_where_they_took_the_time(make: Any, thresholds: Any) -> None:
    def seen(item_us: float) -> float:
        calls = [call("acl", "aclrtSynchronizeStream", 15_000.0, 100), call("op", "aten::item", item_us, 100)]
        return analyse(make(gap_us=150.0, calls=calls), thresholds)["item-calls"].shown

    assert seen(14_000.0) > 0.9
    assert seen(100.0) < 0.1  # as many calls, and no time in them


def test_a_blocking_copy_has_the_gap_that_it_covers(tmp_path: Path, network: Any, thresholds: Any) -> None:
    run = traced(SERVES, of_traces.before_the_capture, tmp_path)
    [first, *others] = diagnose(run, network, thresholds).findings
    assert first.cause.node == "host-device-synchronisation"
    assert "hipMemcpyAsync" in first.cause.evidence[-1].says
    assert "before the recording" in first.cause.evidence[-1].says
    assert not any("item-calls" in item.cause.chain for item in others)


def test_calls_inside_calls_are_counted_once(make: Any, thresholds: Any) -> None:
    calls = [
        call("acl", "aclrtSynchronizeStream", 900.0, 30),
        call("runtime", "StreamSynchronize", 1000.0, 40),
        call("runtime", "DeviceSynchronize", 0.0, 500),
    ]
    assert analyse(make(gap_us=100.0, calls=calls), thresholds)[
        "host-device-synchronisation"
    ].lost_us == pytest.approx(1000.0)


def test_what_the_collector_takes_is_no_synchronisation(make: Any, thresholds: Any) -> None:
    waits, pause = call("runtime", "cudaStreamSynchronize", 50_000.0, 99), call("gc", "gc.collect", 5500.0, 3)

    def lost(*made: Call) -> float:
        return analyse(make(gap_us=60.0, calls=made), thresholds)["host-device-synchronisation"].lost_us

    assert lost(waits, pause) < lost(waits)


def test_beside_an_earlier_run_waits_have_no_more_than_they_grew_by(
    make: Any, network: Any, thresholds: Any
) -> None:
    """The table of calls is the same, and the gaps are longer: what made them so is not known."""
    calls = [
        call("acl", "aclrtSynchronizeStream", 40_000.0, 500),
        call("acl", "aclrtLaunchKernel", 900.0, 300),
    ]
    found = diagnose(
        make(gap_us=150.0, calls=calls), network, thresholds, before=make(gap_us=60.0, calls=calls)
    )
    assert [item.cause.node for item in found.findings] == ["host-bound"]
    more = [
        call("acl", "aclrtSynchronizeStream", 90_000.0, 500),
        call("acl", "aclrtLaunchKernel", 900.0, 300),
    ]
    found = diagnose(
        make(gap_us=150.0, calls=more), network, thresholds, before=make(gap_us=60.0, calls=calls)
    )
    assert found.findings[0].cause.node == "host-device-synchronisation"


def test_before_the_first_work_of_a_step_is_its_input(tmp_path: Path, network: Any, thresholds: Any) -> None:
    found = diagnose(traced(TRAINS, of_traces.starved_unseen, tmp_path), network, thresholds)
    assert found.findings[0].cause.node == "slow-dataloader"
    assert "before the first work" in found.findings[0].cause.evidence[-1].says


def test_a_gap_within_a_step_that_no_call_covers_is_of_the_host(
    tmp_path: Path, network: Any, thresholds: Any
) -> None:
    found = diagnose(traced(TRAINS, of_traces.standstill, tmp_path), network, thresholds)
    assert [item.cause.node for item in found.findings] == ["host-bound"]


def test_memory_that_is_taken_once_is_told_as_a_first_step(
    tmp_path: Path, network: Any, thresholds: Any
) -> None:
    found = diagnose(traced(TRAINS, of_traces.first_step, tmp_path), network, thresholds)
    assert found.findings[0].cause.node == "memory-allocation-stall"
    assert "first step of the recording" in found.findings[0].cause.evidence[-1].says


def test_a_teacher_before_the_student_is_no_recomputation(
    tmp_path: Path, network: Any, thresholds: Any
) -> None:
    for name, world in WORLDS.items():
        run = traced(world, of_traces.teacher, tmp_path)
        assert analyse(run, thresholds)["recompute-overhead"].lost_us == 0, name
        if world.is_training:
            again = traced(world, of_traces.recomputed, tmp_path)
            assert analyse(again, thresholds)["recompute-overhead"].share > 0.1, name


def test_times_of_calls_stand_on_the_clock_of_kernels(tmp_path: Path) -> None:
    path = write(TRAINS, np.random.default_rng(1), tmp_path / "run.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "baseTimeNanoseconds": 1_700_000_000_000_000_000}))
    (rank,) = read_profile(path).ranks
    assert rank.details.spans is not None
    assert rank.kernels is not None
    assert abs(int(rank.details.spans.start_ns.min()) - int(rank.kernels.start_ns.min())) < 10**9


def test_copies_count_where_no_kernel_runs(make: Any, thresholds: Any) -> None:
    work = [*[("MEMCPY_ASYNC", "MEMCPY", 400.0)] * 5, ("RmsNorm", "AI_VECTOR_CORE", 50.0)]
    (rank,) = make(work, gap_us=10.0).ranks
    free = sum(step.free_us for step in rank.steps)
    assert free >= 5 * 400.0
    found = analyse(Profile(path="run", ranks=(rank,)), thresholds)["host-to-device-copy"]
    assert found.lost_us == pytest.approx(5 * 400.0)
    busy = replace(rank, steps=tuple(replace(step, free_us=0.0) for step in rank.steps))
    assert analyse(Profile(path="run", ranks=(busy,)), thresholds)["host-to-device-copy"].lost_us == 0


def test_while_a_device_copies_its_host_is_not_what_it_waits_for(thresholds: Any) -> None:
    from ingest.profiles.checks import KINETO
    from ingest.profiles.facts.intervals import split_steps
    from ingest.profiles.facts.kernels import COPY_CORE, KernelBuilder
    from ingest.profiles.facts.run import Profile, Rank
    from recommender.diagnosis.analysis import analyse

    builder = KernelBuilder("trace.json")
    for row, (name, core, start, lasts) in enumerate(
        (
            ("gemm", "GPU", 0, 100),
            ("Memcpy DtoD (Device -> Device)", COPY_CORE, 100, 40),
            ("Memcpy HtoD (Pageable -> Device)", COPY_CORE, 150, 30),
            ("gemm", "GPU", 200, 100),
        )
    ):
        builder.add(row, start * 1000, duration_us=float(lasts), name=name, core=core)
    kernels = builder.build()
    rank = Rank(rank=0, folder="", layout=KINETO, kernels=kernels, steps=tuple(split_steps(kernels)))
    found = analyse(Profile(path="", ranks=(rank,)), thresholds)
    assert found["host-bound"].lost_us == 30.0
    assert found["memory-copies"].lost_us == 40.0
    assert found["host-to-device-copy"].lost_us == 30.0


def test_a_clock_that_jumps_is_no_gap(tmp_path: Path, network: Any, thresholds: Any) -> None:
    path = write(TRAINS, np.random.default_rng(1), tmp_path / "run.json")
    content = json.loads(path.read_text())
    events = content["traceEvents"]
    middle = events[len(events) // 2]["ts"]
    later = [{**item, "ts": item["ts"] + (3.6e9 if item["ts"] > middle else 0)} for item in events]
    path.write_text(json.dumps({**content, "traceEvents": later}))
    run = read_profile(path)
    assert any("the clock jumped" in note for note in run.ranks[0].notes)
    found = diagnose(run, network, thresholds)
    assert found.findings == ()
    assert found.ledger.error < 1e-6


@pytest.mark.parametrize(("turn_us", "is_named"), [(150.0, False), (600.0, True)])
def test_the_turn_between_steps_of_a_server_is_a_loss_beyond_the_published_share(
    network: Any, thresholds: Any, turn_us: float, is_named: bool
) -> None:
    length = turn_us + 1000.0
    work = [("Gemm", "GPU", "", 0.0, 1000.0)]
    run = Profile(path="run", ranks=(planned(work, length, steps=6),))
    named = [item.cause.node for item in diagnose(run, network, thresholds).findings]
    assert ("host-bound" in named) is is_named


def planned(
    work: list[tuple[str, str, str, float, float]], length: float, *, steps: int = 4, number: int = 0,
    calls: tuple[Call, ...] = (), sizes: Any = lambda step: "",
) -> Any:  # fmt: skip
    """A rank of steps alike: kinds, cores and names of kernels, with start and length in their step."""
    from ingest.profiles.checks import KINETO
    from ingest.profiles.facts.kernels import KernelBuilder
    from ingest.profiles.facts.run import Rank, StepTime

    builder = KernelBuilder("trace.json")
    for step in range(steps):
        for row, (kind, core, name, start, lasts) in enumerate(work):
            builder.add(
                100 * step + row, round((step * length + start) * 1e3), duration_us=lasts, name=name or kind,
                kind=kind, core=core, step=str(step), stream="7", input_shapes=sizes(step),
            )  # fmt: skip
    busy = sum(lasts for _, core, _, _, lasts in work if core == "GPU")
    talks = sum(lasts for _, core, _, _, lasts in work if core == "COMMUNICATION")
    times = tuple(
        StepTime(
            step=str(step), step_us=length, computing_us=busy, exposed_us=talks, overlapped_us=0.0,
            free_us=length - busy - talks, preparing_us=length, place=FactPlace("trace.json"),
        )
        for step in range(steps)
    )  # fmt: skip
    return Rank(
        rank=number, folder="", layout=KINETO, kernels=builder.build(), steps=times, calls=(LAUNCHES, *calls)
    )


@pytest.mark.parametrize(("copied_us", "is_state"), [(2.0, False), (60.0, True)])
def test_a_loss_that_is_read_is_no_state_that_is_saved(
    tmp_path: Path, thresholds: Any, copied_us: float, is_state: bool
) -> None:
    def ends(run: Run, step: int, place: str) -> None:
        if place == "end":
            run.copy("DtoH (Device -> Pageable)", copied_us, copied_us + 4)
            run.pause(20_000.0)

    world = with_hook(TRAINS, ends)
    run = read_profile(write(world, np.random.default_rng(6), tmp_path / "run.pt.trace.json"))
    saved = analyse(run, thresholds).get("checkpoint-stall")
    assert (saved is not None and saved.share > 0.3) is is_state


def test_waits_within_a_function_that_tells_its_loss_are_of_it(
    network: Any, thresholds: Any, tmp_path: Path
) -> None:
    """What times kernels waits for each of them."""

    def times(run: Run, step: int, place: str) -> None:
        if place == "layer" and step % 2:
            began = run.now
            for _ in range(6):
                run.launch("_fused_moe_kernel", 40.0)
                run.wait()
                run.pause(300.0)
                run.wait()
            run.frame("triton/runtime/autotuner.py(138): _bench", began, run.now - began)

    run = read_profile(
        write(with_hook(SERVES, times), np.random.default_rng(6), tmp_path / "run.pt.trace.json")
    )
    [found, *_] = diagnose(run, network, thresholds).findings
    assert found.cause.node == "operator-compilation-latency"


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("deepspeed/ops/adam/cpu_adam.py(150): step", "code-high-latency-function"),
        ("mine/stream.py(7): next_batch", "slow-dataloader"),
        ("/usr/lib/python3.11/threading.py(320): wait", "slow-dataloader"),
    ],
)
def test_a_function_of_the_program_has_the_gaps_it_covers(
    network: Any, thresholds: Any, tmp_path: Path, name: str, named: str
) -> None:
    """Before a step's first work too; a loader's own, and a library's in which any thread waits, tell no more."""

    def begins(run: Run, step: int, place: str) -> None:
        if place == "begin":
            run.pause(8000.0, ("python_function", name))

    run = read_profile(
        write(with_hook(TRAINS, begins), np.random.default_rng(6), tmp_path / "run.pt.trace.json")
    )
    cause = diagnose(run, network, thresholds).findings[0].cause
    assert cause.node == named
    assert (name.partition("(")[0] in cause.evidence[-1].says) == (named == "code-high-latency-function")


def test_a_stage_that_ends_early_saves_no_checkpoint(thresholds: Any) -> None:
    """Where stages hand their work on, those behind have less to do at the end."""

    def ranks(*, is_p2p: bool) -> tuple[Any, ...]:
        late = [("Gemm", "GPU", "", 5.0, 300.0), ("AdamBackward", "GPU", "", 305.0, 690.0)]
        early = [("Gemm", "GPU", "", 5.0, 300.0), ("AdamBackward", "GPU", "", 305.0, 290.0)]
        sent = Collective(
            name="send", group="pp", step="", is_p2p=is_p2p, elapse_ms=0.01, transit_ms=0.01, wait_ms=0.0,
            start_us=None, transfers=(), place=FactPlace("communication.json"),
        )  # fmt: skip
        runs = [planned(work, 1000.0, number=at) for at, work in enumerate((late, early))]
        return tuple(
            replace(
                run,
                layout="",
                collectives=(sent,),
                steps=tuple(replace(step, preparing_us=5.0) for step in run.steps),
            )
            for run in runs
        )

    for is_p2p in (True, False):
        found = analyse(Profile(path="run", ranks=ranks(is_p2p=is_p2p)), thresholds)
        assert (found["checkpoint-stall"].share < 0.05) is is_p2p


LAUNCHES = call("runtime", "cudaLaunchKernel", 50.0, 10)
LOADER = call("loader", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 90.0, 4)
STEP = [("Gemm", "GPU", "", 400.0, 300.0), ("AdamBackward", "GPU", "", 700.0, 300.0)]
PEER = [("Gemm", "GPU", "", 5.0, 300.0), ("AdamBackward", "GPU", "", 305.0, 690.0)]


def test_a_rank_whose_loader_is_recorded_stands_still_alone_for_another_reason(
    network: Any, thresholds: Any
) -> None:
    def first(*peers: Any) -> str:
        ranks = (planned(STEP, 1000.0, calls=(LOADER,)), *peers)
        return diagnose(Profile(path="run", ranks=ranks), network, thresholds).findings[0].cause.node

    assert first() == "slow-dataloader"
    assert first(planned(STEP, 1000.0, number=1, calls=(LOADER,))) == "slow-dataloader"
    peers = (planned(PEER, 1000.0, number=number, calls=(LOADER,)) for number in (1, 2))
    assert first(*peers) == "host-bound"


@pytest.mark.parametrize("changes", [True, False])
def test_memory_is_allocated_again_for_shapes_that_change(
    network: Any, thresholds: Any, changes: bool
) -> None:
    takes = call("runtime", "cudaMalloc", 1200.0, 4)
    work = [("Gemm", "GPU", "", 0.0, 350.0), ("Gemm", "GPU", "", 650.0, 350.0)]
    rank = planned(
        work, 1000.0, calls=(takes,), sizes=lambda step: f"{64 + (step if changes else 0)},64;64,64"
    )
    [found, *_] = diagnose(Profile(path="run", ranks=(rank,)), network, thresholds).findings
    assert found.cause.node == ("dynamic-shape" if changes else "memory-allocation-stall")
    assert "memory-allocation-stall" in found.cause.chain


@pytest.mark.parametrize(("step", "accused"), [("", []), ("7", ["host-bound"])])
def test_a_recording_without_steps_and_work_accuses_no_host(
    make: Any, network: Any, thresholds: Any, step: str, accused: list[str]
) -> None:
    call = Call(
        level="acl", name="aclrtMemset", total_us=1.0, count=1, max_us=1.0, place=FactPlace("msprof.db")
    )
    [rank] = make(gap_us=4000.0, calls=[call]).ranks
    counted = replace(rank.steps[0], is_counted=True, step=step)
    run = replace(make(), ranks=(replace(rank, steps=(counted,)),))
    found = diagnose(run, network, thresholds)
    assert [item.cause.node for item in found.findings] == accused


def test_a_rank_whose_launches_take_longer_than_its_peers_has_a_slow_host(make: Any, thresholds: Any) -> None:
    def lost(peer_us: float) -> float:
        ranks = [
            *make(gap_us=30.0, calls=[call("node", "launch", 100 * 18.0, 100)]).ranks,
            *make(rank=1, calls=[call("node", "launch", 100 * peer_us, 100)]).ranks,
        ]
        found = evidence_by_rank(views(Profile(path="run", ranks=tuple(ranks)))[0], thresholds)
        return found["kernel-launch-overhead", 0].lost_us

    assert lost(6.0) == pytest.approx(lost(18.0) / 3)
