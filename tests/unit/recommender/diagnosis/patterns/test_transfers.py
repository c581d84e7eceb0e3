"""Exposed communication, and which part of it is to blame."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.details import Details, GroupCall, ProcessGroup
from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder, TextColumn
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Collective
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import transfers
from recommender.diagnosis.rank.groups import CONTEXT, DATA, STAGES, TENSOR, uses_of_groups
from recommender.diagnosis.rank.view import view_of


def exposing(make: Any, share: float) -> Any:
    """A run whose step exposes this share of communication, by its table of steps."""
    [rank] = make(wait_ms=1.0).ranks
    [step] = rank.steps
    exposed = share * step.step_us
    return replace(rank, steps=(replace(step, exposed_us=exposed, computing_us=step.step_us - exposed),))


@pytest.mark.parametrize("share", [0.12, 0.26])
def test_exposed_time_is_named_by_what_it_moves(
    make: Any, network: Any, thresholds: Any, share: float
) -> None:
    [found] = diagnose(replace(make(), ranks=(moving(make, share),)), network, thresholds).findings
    assert found.cause.chain == ("exposed-communication", "data-parallel-communication")
    assert found.cause.share == pytest.approx(share)


def test_a_quarter_of_the_step_exposed_is_named_though_nothing_tells_its_parts(
    make: Any, network: Any, thresholds: Any
) -> None:
    rank = replace(exposing(make, 0.26), collectives=())
    found = diagnose(replace(make(), ranks=(rank,)), network, thresholds).findings
    assert [item.cause.node for item in found] == ["exposed-communication"]


def moving(make: Any, share: float) -> Any:
    """A run that exposes a reduction without waiting."""
    rank = exposing(make, share)
    return replace(rank, collectives=(moved("hcom_allReduce__1", "d", rank.steps[0].exposed_us / 1e3),))


def moved(name: str, group: str, ms: float, *, is_p2p: bool = False, wait_ms: float = 0.0) -> Collective:
    """An operator that moves data for so long, and waits."""
    return Collective(
        name=name, group=group, step="", is_p2p=is_p2p, elapse_ms=ms + wait_ms, transit_ms=ms, wait_ms=wait_ms,
        start_us=None, transfers=(), place=FactPlace("communication.json"),
    )  # fmt: skip


def costs_ms(
    make: Any, thresholds: Any, items: tuple[Collective, ...], uses: dict[str, str]
) -> dict[str, float]:
    """Milliseconds that each pattern of transfers costs, where nothing is hidden."""
    rank = replace(exposing(make, 0.5), collectives=items)
    found = transfers.find(replace(view_of(rank), uses=uses), thresholds)
    return {item.node: round(item.lost_us / 1e3, 3) for item in found}


def test_transfers_are_told_apart_by_what_their_group_is_for(make: Any, thresholds: Any) -> None:
    items = (
        moved("hcom_reduceScatter__1", "d", 3.0),
        moved("hcom_allGather__2", "d", 2.0),
        moved("hcom_allReduce__3", "s", 4.0),
        moved("hcom_reduceScatter__4", "t", 5.0),
        moved("hcom_allGather__5", "t", 6.0),
        moved("hcom_allGather__6", "other", 7.0),  # nothing is scattered there: of what it is, is not known
    )
    costs = costs_ms(make, thresholds, items, {"d": DATA, "s": STAGES, "t": TENSOR})
    assert costs["data-parallel-communication"] == 5.0
    assert costs["stage-reduction"] == 4.0
    assert costs["tensor-parallel-communication"] == 11.0
    unnamed = costs_ms(make, thresholds, items, {})
    assert unnamed["data-parallel-communication"] == 20.0
    assert "stage-reduction" not in unnamed
    assert "tensor-parallel-communication" not in unnamed


def test_gathers_of_a_fully_sharded_model_are_of_their_own(make: Any, thresholds: Any) -> None:
    place = FactPlace("trace.json")
    call = Call(level="mark", name="FSDP::forward", total_us=1.0, count=1, max_us=1.0, place=place)
    items = (moved("reduce_scatter", "d", 3.0), moved("all_gather", "d", 2.0))
    rank = replace(exposing(make, 0.5), collectives=items, calls=(call,))
    costs = {item.node: item.lost_us for item in transfers.find(view_of(rank), thresholds)}
    assert costs["data-parallel-communication"] == pytest.approx(3000.0)
    assert costs["fsdp-communication"] == pytest.approx(2000.0)


def test_a_ring_of_context_parallelism_is_no_pipeline(make: Any, thresholds: Any) -> None:
    ring = moved("hcom_batchSendRecv__1", "c", 3.0, is_p2p=True, wait_ms=8.0)
    assert costs_ms(make, thresholds, (ring,), {})["pipeline-bubble"] == 8.0
    costs = costs_ms(make, thresholds, (ring,), {"c": CONTEXT})
    assert costs["context-parallel-communication"] == 3.0
    assert costs.get("pipeline-bubble", 0.0) == 0.0


def test_reductions_between_stages_are_named(make: Any, network: Any, thresholds: Any) -> None:
    groups = (
        ProcessGroup(name="s", about="embd", ranks=(0, 2)),
        ProcessGroup(name="d", about="dp", ranks=(0, 1)),
    )
    rank = exposing(make, 0.5)
    exposed_ms = rank.steps[0].exposed_us / 1e3
    rank = replace(
        rank, collectives=(moved("hcom_allReduce__3", "s", exposed_ms),), details=Details(groups=groups),
        parallel={"pipeline_model_parallel_size": 2, "world_size": 4},
    )  # fmt: skip
    [found] = diagnose(replace(make(), ranks=(rank,)), network, thresholds).findings
    assert found.cause.chain == ("exposed-communication", "stage-reduction")
    assert [name for name, _ in found.cause.perhaps] == ["tied-embeddings"]


@pytest.mark.parametrize(("collectives", "is_named"), [(4, False), (1, True)])
def test_the_last_of_several_reductions_has_nothing_left_to_hide_it(
    make: Any, network: Any, thresholds: Any, collectives: int, is_named: bool
) -> None:
    """Where one reduction is all there is, more of it could run beside the backward pass."""
    builder = KernelBuilder("trace.json")
    for row in range(10):
        builder.add(row, row * 100_000, duration_us=100.0, name="Gemm", core="GPU", kind="Gemm", stream="7")
    for row in range(collectives):
        start = 1_000_000 - row * 200_000
        builder.add(99 + row, start, duration_us=80.0, name="ncclAllReduce", core="COMMUNICATION", stream="9")
    kernels = builder.build()
    step = split_steps(kernels)[0]
    rank = replace(make().ranks[0], kernels=kernels, steps=(step,), collectives=())
    lost = {item.node: item.share for item in transfers.find(view_of(rank), thresholds)}
    assert (lost.get("exposed-communication", 0.0) > 0.05) is is_named


def infers_on(make: Any, share: float) -> Any:
    """A GPU's step of products alone that exposes a reduction of each layer."""
    rank = exposing(make, share)
    texts = dict(rank.kernels.texts)
    texts["kind"] = TextColumn(texts["kind"].codes, ("Gemm",) * len(texts["kind"].labels))
    return replace(
        rank,
        layout=GPU_LAYOUTS[0],
        kernels=replace(rank.kernels, texts=texts),
        collectives=(moved("allreduce", "0", share * rank.steps[0].step_us / 1e3),),
    )


@pytest.mark.parametrize(("share", "named"), [(0.12, []), (0.4, ["tensor-parallel-communication"])])
def test_what_inference_reduces_is_of_its_tensors_and_a_loss_from_the_mark_of_all_communication(
    make: Any, network: Any, thresholds: Any, share: float, named: list[str]
) -> None:
    found = diagnose(replace(make(), ranks=(infers_on(make, share),)), network, thresholds).findings
    assert [item.cause.node for item in found] == named


@pytest.mark.parametrize(
    ("about", "use"),
    [
        ("TENSOR_MODEL_PARALLEL_GROUP", TENSOR),
        ("DATA_PARALLEL_GROUP_WITH_CP", DATA),
        ("mesh_tp", TENSOR),
        ("", None),
    ],
)
def test_calls_of_one_rank_tell_what_their_group_is_for(make: Any, about: str, use: str | None) -> None:
    calls = tuple(
        GroupCall(
            name="allreduce", group="5", ranks=(), members=8, sequence=None, start_ns=at, lasted_us=9.0,
            size_mb=8.0, place=FactPlace("trace.json"), about=about,
        )
        for at in range(8)
    )  # fmt: skip
    [rank] = make().ranks
    assert uses_of_groups((replace(rank, details=Details(group_calls=calls)),)).get("5") == use


@pytest.mark.parametrize(("wait_share", "is_named"), [(0.9, True), (0.1, False)])
def test_a_bubble_that_is_named_is_no_exposed_communication_besides(
    make: Any, thresholds: Any, wait_share: float, is_named: bool
) -> None:
    exposed_ms = exposing(make, 0.5).steps[0].exposed_us / 1e3
    receive = moved(
        "hcom_receive__1", "p", exposed_ms * (1 - wait_share), is_p2p=True, wait_ms=exposed_ms * wait_share
    )
    cost = costs_ms(make, thresholds, (receive,), {})["exposed-communication"]
    assert cost == pytest.approx(exposed_ms * (1 - wait_share if is_named else 1), rel=0.01)
