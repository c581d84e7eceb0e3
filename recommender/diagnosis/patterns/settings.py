"""Environment variables in the profile that may explain idle time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.profiles.facts.place import FactPlace
from recommender.diagnosis.evidence import setting_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds

_FILE = FactPlace("profiler_metadata.json")


def find(view: View, _thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of slow settings, where the profile has steps that they could have lengthened."""
    if not view.rank.steps or view.total_us <= 0:
        return
    environment = view.rank.environment
    allocator = environment.get("PYTORCH_NPU_ALLOC_CONF")
    if allocator is not None and "expandable_segments:true" not in allocator.lower():
        says = "PYTORCH_NPU_ALLOC_CONF has no expandable_segments:True"
        # As in nearly every run, for it is off by default: it tells nothing of this one by itself.
        yield setting_evidence(view, "no-expandable-segments", says, (_FILE,), shown=0.5)
    if environment.get("ASCEND_LAUNCH_BLOCKING", "").strip() == "1":
        says = "ASCEND_LAUNCH_BLOCKING=1 makes every launch wait"
        yield setting_evidence(view, "launch-blocking-set", says, (_FILE,))
    level = environment.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip()
    if level in {"0", "1", "2"}:
        says = f"ASCEND_GLOBAL_LOG_LEVEL={level} writes more than errors"
        yield setting_evidence(view, "debug-log-level", says, (_FILE,))
    if environment.get("TASK_QUEUE_ENABLE", "").strip() == "0":
        yield setting_evidence(view, "task-queue-off", "TASK_QUEUE_ENABLE=0", (_FILE,))
