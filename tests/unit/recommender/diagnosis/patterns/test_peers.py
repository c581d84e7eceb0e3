"""Ranks beside each other: stages of unlike length."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.kernels import TextColumn
from ingest.profiles.facts.run import Profile
from recommender.diagnosis.analysis import analyse

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
