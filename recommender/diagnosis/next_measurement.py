"""The one measurement that would tell most of what a profile leaves open.

Each account of the ledger whose reason is not known has a measurement that would split it; the largest
counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.profiles.checks import GPU_LAYOUTS, ROCPROF
from ingest.profiles.facts.run import Profile
from kg.nouns.codec import JsonNoun, in_json
from recommender.diagnosis.ledger.accounts import EXPOSED, NOT_COLLECTED, RunLedger
from recommender.diagnosis.ledger.reasons import HOST, UNDIVIDED, UNSEEN_HOST

LEAST_SHARE = 0.05
"""Share of a step from which what is open is worth a measurement: the mark of a significant cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMeasurement(JsonNoun):
    """A measurement and what it would tell apart.

    Attributes:
        how: What to do.
        tells: What it would tell apart, in words.
        open_us: Time of a step that is open until then.
        share: That as a share of the step.
    """

    how: str
    tells: str
    open_us: float = field(metadata=in_json(digits=3))
    share: float = field(metadata=in_json(digits=4))


def next_measurement(profile: Profile, ledger: RunLedger) -> NextMeasurement | None:
    """The measurement that would tell most; None where little of the step is open.

    Args:
        profile: The run.
        ledger: Its accounts.
    """
    step_us = ledger.mean_step_us
    if step_us <= 0:
        return None
    best = max(_offers(profile, ledger), key=lambda offer: offer[2], default=None)
    if best is None or best[2] < LEAST_SHARE * step_us:
        return None
    how, tells, open_us = best
    return NextMeasurement(how=how, tells=tells, open_us=open_us, share=min(1.0, open_us / step_us))


def _offers(profile: Profile, ledger: RunLedger) -> Iterator[tuple[str, str, float]]:
    """Measurements with what each tells and how much of a step is open until then."""
    layouts = {rank.layout for rank in profile.ranks}
    is_gpu = layouts <= set(GPU_LAYOUTS)
    by_reason: dict[tuple[str, str], float] = {}
    for account, us in ledger.mean_us.items():
        reason = NOT_COLLECTED if account.operator == NOT_COLLECTED else account.reason
        key = (account.part if reason in {NOT_COLLECTED, UNDIVIDED} else "", reason)
        by_reason[key] = by_reason.get(key, 0.0) + us
    yield (
        "profile all ranks of a group in the same steps, and lay them into one folder"
        if is_gpu
        else "profile with profiler_level=Level1 and keep communication.json",
        "waiting for other ranks from moving data",
        by_reason.get((EXPOSED, UNDIVIDED), 0.0),
    )
    stacks = (
        "sample the host beside it (py-spy record --native)"
        if layouts <= {ROCPROF}
        else "profile with with_stack=True, or sample the host (py-spy record --native)"
    )
    if not any(rank.details.idle_frames for rank in profile.ranks):
        yield (
            stacks,
            "what the program does while the device has nothing to do",
            by_reason.get(("", HOST), 0.0),
        )
    yield (
        "record the host too: activities=[CPU, CUDA]"
        if is_gpu
        else "record activities=[CPU, NPU] and Level1",
        "which calls of the host the device waits for",
        by_reason.get(("", UNSEEN_HOST), 0.0),
    )
    computing = by_reason.get(("computing", NOT_COLLECTED), 0.0)
    yield (
        "record the device's kernels, with their starts"
        if is_gpu
        else "keep kernel_details.csv of every rank",
        "which operators the computing is",
        computing,
    )
    if not is_gpu:
        yield (
            "profile with profiler_level=Level1 and aic_metrics=PipeUtilization",
            "what holds the operators up: memory, the cube, the vector or the scalar unit",
            by_reason.get(("", "computing"), 0.0),
        )
