"""Settings and states beside the costs: seen where they are, silent where they are not, and accused of no cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose

SETTINGS = [
    ("no-expandable-segments", "PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:128", "expandable_segments:True"),
    ("launch-blocking-set", "ASCEND_LAUNCH_BLOCKING", "1", "0"),
    ("debug-log-level", "ASCEND_GLOBAL_LOG_LEVEL", "1", "3"),
    ("task-queue-off", "TASK_QUEUE_ENABLE", "0", "1"),
]


@pytest.mark.parametrize(("node", "variable", "bad", "good"), SETTINGS)
def test_a_setting_is_seen_and_costs_nothing(
    node: str, variable: str, bad: str, good: str, make: Any, network: Any, thresholds: Any
) -> None:
    found = analyse(make(environment={variable: bad}), thresholds)
    assert found[node].is_setting
    assert found[node].lost_us == 0
    assert node not in analyse(make(environment={variable: good}), thresholds)
    assert diagnose(make(environment={variable: bad}), network, thresholds).findings == ()


def test_an_idle_device_is_laid_to_the_setting_that_explains_it(
    make: Any, network: Any, thresholds: Any
) -> None:
    idle = make(gap_us=140.0, environment={"TASK_QUEUE_ENABLE": "0"})
    first = diagnose(idle, network, thresholds).findings[0].cause
    assert first.chain == ("host-bound", "task-queue-off")


def test_items_stop_the_host(make: Any, thresholds: Any) -> None:
    def seen(items: int) -> float:
        calls = [
            Call(level="acl", name="aclrtSynchronizeStream", total_us=15_000.0, count=100, max_us=None,
                 place=FactPlace("api.csv", (3,))),
            Call(level="op", name="aten::item", total_us=15_000.0, count=items, max_us=None,
                 place=FactPlace("operator_details.csv", (9,))),
        ]  # fmt: skip
        return analyse(make(gap_us=150.0, calls=calls), thresholds)["item-calls"].shown

    assert seen(90) > 0.9
    assert seen(5) < 0.1


def test_copies_count_where_no_kernel_runs(make: Any, thresholds: Any) -> None:
    work = [*[("MEMCPY_ASYNC", "MEMCPY", 400.0)] * 5, ("RmsNorm", "AI_VECTOR_CORE", 50.0)]
    (rank,) = make(work, gap_us=10.0).ranks
    free = sum(step.free_us for step in rank.steps)
    assert free >= 5 * 400.0
    found = analyse(Profile(path="run", ranks=(rank,)), thresholds)["host-to-device-copy"]
    assert found.lost_us == pytest.approx(5 * 400.0)
    busy = replace(rank, steps=tuple(replace(step, free_us=0.0) for step in rank.steps))
    assert analyse(Profile(path="run", ranks=(busy,)), thresholds)["host-to-device-copy"].lost_us == 0


def test_what_breaks_a_fusion_is_named(make: Any, thresholds: Any) -> None:
    chain = [(kind, "AI_VECTOR_CORE", 20.0) for kind in ("Mul", "Add", "Reshape", "Mul", "Add")]
    found = analyse(make(chain * 20), thresholds)
    assert found["fusion-broken-by-reshape"].shown > 0.9
    assert "fusion-broken-by-dropout" not in found
