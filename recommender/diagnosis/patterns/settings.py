"""Settings that the profiler noted and that may explain idle time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.profiles.facts.run import FactPlace
from recommender.diagnosis.evidence import of_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds

_FILE = FactPlace("profiler_metadata.json")


def find(view: View, _thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Variables of the environment, where steps are there that they could have lengthened."""
    if not view.rank.steps or view.total_us <= 0:
        return
    told = view.rank.environment
    allocator = told.get("PYTORCH_NPU_ALLOC_CONF")
    if allocator is not None and "expandable_segments:true" not in allocator.lower():
        says = "PYTORCH_NPU_ALLOC_CONF has no expandable_segments:True"
        yield of_setting(view, "no-expandable-segments", says, (_FILE,))
    if told.get("ASCEND_LAUNCH_BLOCKING", "").strip() == "1":
        says = "ASCEND_LAUNCH_BLOCKING=1 makes every launch wait"
        yield of_setting(view, "launch-blocking-set", says, (_FILE,))
    level = told.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip()
    if level in {"0", "1", "2"}:
        says = f"ASCEND_GLOBAL_LOG_LEVEL={level} writes more than errors"
        yield of_setting(view, "debug-log-level", says, (_FILE,))
    if told.get("TASK_QUEUE_ENABLE", "").strip() == "0":
        yield of_setting(view, "task-queue-off", "TASK_QUEUE_ENABLE=0", (_FILE,))
