"""Ranks beside each other: stages of unlike length."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder, TextColumn
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, Profile, Rank
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose

STAGES = {"pipeline_model_parallel_size": 2, "world_size": 2}


@pytest.mark.parametrize(("slower", "is_there"), [(1.5, True), (1.01, False)])
def test_a_stage_that_computes_longer_makes_the_others_wait(
    make: Any, thresholds: Any, slower: float, is_there: bool
) -> None:
    (waits,), (works,) = make(wait_ms=3.0).ranks, make(rank=1, slower=slower).ranks
    waits = replace(
        waits, parallel=STAGES, collectives=tuple(replace(item, is_p2p=True) for item in waits.collectives)
    )
    run = Profile(path="run", ranks=(waits, replace(works, parallel=STAGES)))
    found = analyse(run, thresholds)["pipeline-imbalance"]
    assert (found.shown > 0.5) is is_there
    if is_there:
        assert 1000.0 < found.lost_us <= 3000.0
        assert found.rank == 0


@pytest.mark.parametrize(("tokens", "named"), [(6144, "dp-load-imbalance"), (4096, "slow-rank")])
def test_a_rank_of_a_gpu_without_attention_is_slow_for_its_work_or_for_itself(
    make: Any, thresholds: Any, tokens: int, named: str
) -> None:
    def products(number: int, tokens: int, slower: float) -> Any:
        [rank] = make(rank=number, slower=slower).ranks
        texts = dict(rank.kernels.texts)
        for name, text in (("kind", "Gemm"), ("input_shapes", f"{tokens},4096;4096,4096")):
            texts[name] = TextColumn(texts[name].codes, (text,) * len(texts[name].labels))
        return replace(rank, kernels=replace(rank.kernels, texts=texts))

    ranks = tuple(
        products(number, tokens if number == 2 else 4096, 1.5 if number == 2 else 1.0) for number in range(4)
    )
    found = analyse(Profile(path="run", ranks=ranks), thresholds)
    assert found["slow-rank"].shown > 0.9
    assert found["slow-rank"].rank == 2
    assert (found["dp-load-imbalance"].shown > 0.5) is (named == "dp-load-imbalance")


@pytest.mark.parametrize(("longer", "named"), [("experts", "ep-load-imbalance"), ("all", "slow-rank")])
def test_a_rank_with_more_tokens_is_slow_between_the_exchanges_alone(
    network: Any, thresholds: Any, longer: str, named: str
) -> None:
    def rank(number: int, experts_us: float, others_us: float) -> Rank:
        """Five layers of attention, dispatch, experts and combine; who is early waits in the combine."""
        builder = KernelBuilder("trace.json")
        calls, at, row = [], 0.0, 0
        for _ in range(5):
            for kind, lasts in (("Gemm", others_us), ("", 20.0), ("Gemm", experts_us), ("", 0.0)):
                lasted = lasts or 520.0 + 1000.0 - others_us - experts_us
                core = "GPU" if kind else "COMMUNICATION"
                builder.add(
                    row, round(at * 1e3), duration_us=lasted, name=kind or "a2a", core=core, kind=kind
                )
                if not kind:
                    calls.append(
                        Collective(
                            name="all_to_all", group="", step="", is_p2p=False, elapse_ms=lasted / 1e3,
                            transit_ms=0.02, wait_ms=lasted / 1e3 - 0.02, start_us=at, transfers=(),
                            place=FactPlace("trace.json", (row,)),
                        )
                    )  # fmt: skip
                at, row = at + lasted, row + 1
        kernels = builder.build()
        return Rank(
            rank=number, folder="", layout="test", kernels=kernels, steps=tuple(split_steps(kernels)),
            collectives=tuple(calls),
        )  # fmt: skip

    slow = rank(2, 900.0, 500.0) if longer == "experts" else rank(2, 700.0, 700.0)
    ranks = (rank(0, 500.0, 500.0), rank(1, 500.0, 500.0), slow)
    found = analyse(Profile(path="run", ranks=ranks), thresholds)
    assert (found["slow-rank"].lost_us > 1000.0) is (named == "slow-rank")
    assert found["ep-load-imbalance"].lost_us > 1000.0


@pytest.mark.parametrize(("what", "is_named"), [("memory", True), ("clock", False)])
def test_a_rank_whose_kernels_wait_for_memory_alone_has_slow_memory(
    make: Any, network: Any, thresholds: Any, what: str, is_named: bool
) -> None:
    factor = 1.5
    [slow] = make(rank=0, slower=factor).ranks
    if what == "memory":  # reading takes longer, and the units compute as long as they did
        pipes = {
            name: np.minimum(1.0, column * factor) if "mte2" in name else column / factor
            for name, column in slow.kernels.pipes.items()
            if name.endswith("_ratio")
        }
        slow = replace(slow, kernels=replace(slow.kernels, pipes={**slow.kernels.pipes, **pipes}))
    run = Profile(path="run", ranks=(slow, *make(wait_ms=4.0, rank=1).ranks))
    found = diagnose(run, network, thresholds).findings[0].cause
    assert found.node == ("slow-memory-access" if is_named else "slow-rank")


def test_without_counters_no_kernel_is_said_to_wait_for_memory(
    make: Any, network: Any, thresholds: Any
) -> None:
    [slow], [other] = make(rank=0, slower=1.5).ranks, make(wait_ms=4.0, rank=1).ranks
    ranks = tuple(replace(rank, kernels=replace(rank.kernels, pipes={})) for rank in (slow, other))
    found = diagnose(Profile(path="run", ranks=ranks), network, thresholds)
    assert found.findings[0].cause.node == "slow-rank"
