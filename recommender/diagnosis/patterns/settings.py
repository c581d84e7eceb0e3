"""Settings that may explain idle time: environment variables, and launches that wait."""

from collections.abc import Iterator

from ingest.profiles.facts.place import FactPlace
from recommender.diagnosis.evidence import SoftEvidence, setting_evidence
from recommender.diagnosis.rank.program_signs import launches_block
from recommender.diagnosis.rank.view import KernelView, View
from recommender.diagnosis.thresholds import Thresholds

_BLOCKING = (
    *("ASCEND_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"),
    *("AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY"),
)
_FILE = FactPlace("profiler_metadata.json")


def find(view: View, _thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of slow settings, where the profile has steps that they could have lengthened."""
    if not view.rank.steps or view.total_us <= 0:
        return
    environment = {name: value.strip() for name, value in view.rank.environment.items()}

    def judged(node: str, name: str, shown: float, says: str) -> Iterator[SoftEvidence]:
        """Evidence for or against, where the profiler noted the variable; empty is its default."""
        if name in environment:
            yield setting_evidence(view, node, says, (_FILE,), shown=shown)

    allocator = environment.get("PYTORCH_NPU_ALLOC_CONF", "")
    # Off by default, as in nearly every run: that it is off tells nothing of this one by itself.
    off = 0.0 if "expandable_segments:true" in allocator.lower() else 0.5
    yield from judged(
        "no-expandable-segments",
        "PYTORCH_NPU_ALLOC_CONF",
        off,
        "PYTORCH_NPU_ALLOC_CONF has no expandable_segments:True",
    )
    for name in _BLOCKING:
        blocks = float(environment.get(name, "") not in {"", "0"})
        yield from judged(
            "launch-blocking-set", name, blocks, f"{name}={environment.get(name)} makes every launch wait"
        )
    if isinstance(view, KernelView) and launches_block(view.kernels):
        says = "each launch returns when its kernel has ended"
        yield setting_evidence(view, "launch-blocking-set", says, view.places(view.kernels.duration_us))
    level = environment.get("ASCEND_GLOBAL_LOG_LEVEL", "")
    yield from judged(
        "debug-log-level", "ASCEND_GLOBAL_LOG_LEVEL", float(level in {"0", "1", "2"}),
        f"ASCEND_GLOBAL_LOG_LEVEL={level} writes more than errors",
    )  # fmt: skip
    queue = float(environment.get("TASK_QUEUE_ENABLE") == "0")
    yield from judged("task-queue-off", "TASK_QUEUE_ENABLE", queue, "TASK_QUEUE_ENABLE=0")
