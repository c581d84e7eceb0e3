"""Settings and states beside the costs: seen where they are, silent where they are not, and accused of no cost."""

from typing import Any

import pytest

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
    assert analyse(make(environment={variable: good}), thresholds)[node].shown == 0
    assert node not in analyse(make(environment={}), thresholds)
    assert diagnose(make(environment={variable: bad}), network, thresholds).findings == ()


def test_an_idle_device_is_laid_to_the_setting_that_explains_it(
    make: Any, network: Any, thresholds: Any
) -> None:
    idle = make(gap_us=140.0, environment={"TASK_QUEUE_ENABLE": "0"})
    first = diagnose(idle, network, thresholds).findings[0].cause
    assert first.chain == ("host-bound", "task-queue-off")
