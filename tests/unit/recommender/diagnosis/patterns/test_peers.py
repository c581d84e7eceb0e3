"""Ranks beside each other: stages of unlike length."""

from dataclasses import replace
from typing import Any

import pytest

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
