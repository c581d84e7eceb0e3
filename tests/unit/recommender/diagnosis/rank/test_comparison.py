"""Regressions since an earlier run: more kernels, or the same held up by something."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import TextColumn, concatenate
from ingest.profiles.facts.run import Profile
from recommender.diagnosis.analysis import analyse, views
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.rank.view import view_of

SEARCHES = [("TopKV2", "AI_VECTOR_CORE", 40.0), ("MatMulV3", "AI_CORE", 40.0)] * 24
CASTS = [("Cast", "AI_VECTOR_CORE", 60.0)] * 30
HELD_UP = {"aiv_vec_ratio": 0.1, "aiv_mte2_ratio": 0.15, "aiv_scalar_ratio": 0.96}


def held_up(
    profile: Profile, kind: str, factor: float, pipes: dict[str, float], cycles: float = 1.0
) -> Profile:
    """Kernels of a kind ``factor`` times as long, with other counters; what follows them begins later."""
    (rank,) = profile.ranks
    kernels = rank.kernels
    assert kernels is not None
    mask = kernels.label.where(name == kind for name in kernels.label.labels)
    more = np.where(mask, kernels.duration_us * (factor - 1), 0.0)
    before = np.concatenate([[0.0], np.cumsum(more)[:-1]])
    columns = {name: values.copy() for name, values in kernels.pipes.items()}
    for name, value in pipes.items():
        columns.setdefault(name, np.full(len(kernels), 0.1))[mask] = value
    for name, by in (("aiv_time(us)", factor), ("aiv_total_cycles", factor * cycles)):
        columns[name][mask] *= by
    kernels = kernels.with_values(
        start_ns=kernels.start_ns + np.rint(before * 1e3).astype(np.int64),
        duration_us=kernels.duration_us + more,
    )
    kernels = replace(kernels, pipes=columns)
    counted = split_steps(kernels)[0]
    step = replace(rank.steps[0], step_us=counted.step_us, computing_us=counted.computing_us)
    return Profile(path="after", ranks=(replace(rank, kernels=kernels, steps=(step,)),))


def test_casts_that_were_there_before_are_not_what_became_worse(
    make: Any, network: Any, thresholds: Any
) -> None:
    before = make(CASTS)
    after = held_up(before, "Cast", 2.0, HELD_UP)
    answer = diagnose(after, network, thresholds, before=before)
    assert json.loads(json.dumps(answer.to_json()))["against"] == before.path
    found = answer.findings
    assert [item.cause.node for item in found] == ["scalar-bound"]
    longer = after.ranks[0].steps[0].step_us - before.ranks[0].steps[0].step_us
    assert found[0].cause.lost_us == pytest.approx(longer, rel=0.15)  # as sure as the threshold is


def test_a_kernel_slowed_by_its_clock_alone_is_held_up_by_no_pipe(make: Any, thresholds: Any) -> None:
    pipes = {"aiv_vec_ratio": 0.3, "aiv_mte2_ratio": 0.95}
    before = held_up(make(SEARCHES), "TopKV2", 1.0, pipes)
    after = held_up(before, "TopKV2", 2.0, pipes, cycles=0.5)
    assert analyse(after, thresholds, before)["memory-bandwidth"].lost_us == 0
    assert analyse(after, thresholds)["memory-bandwidth"].lost_us > 1000


def test_two_steps_beside_one_of_the_same_are_no_regression(make: Any, network: Any, thresholds: Any) -> None:
    before = make(CASTS, gap_us=30.0)
    (rank,) = before.ranks
    assert rank.kernels is not None
    twice = concatenate([rank.kernels, rank.kernels])
    later = twice.start_ns.copy()
    later[len(rank.kernels) :] += round(rank.steps[0].step_us * 1e3) + 30_000
    after = Profile(
        path="after",
        ranks=(replace(rank, kernels=twice.with_values(start_ns=later), steps=rank.steps * 2),),
    )
    assert diagnose(after, network, thresholds, before=before).findings == ()


def test_a_type_that_runs_on_a_core_elsewhere_is_not_why_one_ran_on_the_ai_cpu(
    make: Any, thresholds: Any
) -> None:
    one = [("Add", "AI_CPU", 2000.0)]
    alone = analyse(make(one, types="INT64;INT64"), thresholds)
    beside = analyse(make([*one, ("Add", "AI_VECTOR_CORE", 5.0)], types="INT64;INT64"), thresholds)
    assert alone["unsupported-dtype"].lost_us == pytest.approx(2000.0, rel=0.05)
    assert beside["unsupported-dtype"].lost_us == 0
    assert beside["aicpu-operator"].lost_us == alone["aicpu-operator"].lost_us


def test_ranks_agree_on_how_many_cores_there_are(make: Any, network: Any, thresholds: Any) -> None:
    (rank,) = make(rank=2).ranks
    assert rank.kernels is not None
    cycles = (
        rank.kernels.pipes["aic_total_cycles"] * 0.875
    )  # the clock fell for all but a kernel of few blocks
    blocks = rank.kernels.numbers["blocks"].copy()
    cycles[0], blocks[0] = 100.0 * 1800 * 12, 12.0
    kernels = replace(
        rank.kernels.with_values(blocks=blocks), pipes={**rank.kernels.pipes, "aic_total_cycles": cycles}
    )
    struck = replace(rank, kernels=kernels)
    assert view_of(struck).cores == 21
    run = Profile(path="run", ranks=(*make(rank=0).ranks, *make(rank=1).ranks, struck))
    now, _ = views(run)
    assert {view.cores for view in now} == {24.0}
    shown: Any = diagnose(run, network, thresholds).to_json()["ranks"]
    assert [rank["cube_cores"] for rank in shown] == [24.0, 24.0, 24.0]
    now, _ = views(Profile(path="run", ranks=(struck,)), make(rank=2))
    assert now[0].cores == 24


def test_one_rank_each_are_a_pair_whatever_their_numbers(make: Any, network: Any, thresholds: Any) -> None:
    found = diagnose(make(CASTS * 2, rank=0), network, thresholds, before=make(CASTS, rank=7))
    assert found.doubts == ()
    assert [item.cause.node for item in found.findings] == ["cast-traffic"]
    assert found.findings[0].cause.lost_us == pytest.approx(30 * 60.0)


def test_a_rank_that_the_earlier_run_lacks_is_told(make: Any, network: Any, thresholds: Any) -> None:
    both = Profile(path="run", ranks=(*make(rank=0).ranks, *make(rank=1).ranks))
    assert any("no rank 1" in text for text in diagnose(both, network, thresholds, before=make(rank=0)).notes)


def test_kernels_of_two_levels_are_alike_by_their_names(make: Any, network: Any, thresholds: Any) -> None:
    """The lower level tells neither kinds, cores, shapes, types nor blocks."""
    (rank,) = make(CASTS).ranks
    kernels = rank.kernels
    assert kernels is not None
    blank = TextColumn(np.zeros(len(kernels), np.int32), ("",))
    texts = {name: column if name == "name" else blank for name, column in kernels.texts.items()}
    low = replace(kernels.with_values(blocks=np.zeros(len(kernels))), texts=texts, pipes={})
    before = Profile(path="low", ranks=(replace(rank, kernels=low),))
    for after, earlier in ((make(CASTS), before), (before, make(CASTS))):
        found = diagnose(after, network, thresholds, before=earlier)
        assert found.doubts == ()
        assert found.findings == ()
