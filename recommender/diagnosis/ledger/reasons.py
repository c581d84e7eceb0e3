"""The reason for which time went by: what held a kernel up, what communication did, what made a gap."""

from collections.abc import Sequence

import numpy as np

from ingest.profiles.facts.kernels import Floats, Integers, Kernels
from ingest.profiles.facts.run import Collective, Profile
from recommender.diagnosis.rank.collectives import idle_us
from recommender.diagnosis.rank.host_calls import CALLED, RUNTIME
from recommender.diagnosis.rank.kinds import CASTS, COPIES, REARRANGING, of_kind
from recommender.diagnosis.rank.units import BUSY, pipe_use

COMPUTING = (
    *("computing", "cube at work", "vector unit at work", "waits for device memory", "writes to memory"),
    *("writes the cube's results", "scalar unit", "no unit busy"),
    *("on the AI CPU", "rearranges data", "converts types", "copies"),
)
"""Reasons of kernels; the first where no counters were collected."""

_UNITS = {
    "aic_mac_ratio": 1, "aiv_vec_ratio": 2, "aic_mte1_ratio": 3, "aic_mte2_ratio": 3, "aiv_mte2_ratio": 3,
    "aiv_mte3_ratio": 4, "aic_fixpipe_ratio": 5, "aic_scalar_ratio": 6, "aiv_scalar_ratio": 6,
}  # fmt: skip

MOVING, WAITING, UNDIVIDED = "moves data", "waits for peers", "moves data or waits"
LAUNCH, HOST, UNSEEN_HOST = "behind launches", "host, no call explains it", "host, calls not collected"
COPY = "copy by the copy engine"
BEFORE, AFTER = "before the first work of a step", "after the last work of a step"
STOPS = "host, a long stop now and then"
SWITCHES = "host, stops of 5 ms"
QUEUED = "launched work does not begin"
GAPS = (*CALLED, BEFORE, AFTER, STOPS, SWITCHES, QUEUED)
"""Reasons of gaps that calls of the host or their place tell, the surest first."""


def has_runtime_calls(profile: Profile) -> bool:
    """True if any rank has calls of the runtime, which tell gaps apart."""
    return any(call.level in RUNTIME for rank in profile.ranks for call in rank.calls)


def reasons_of(kernels: Kernels) -> Integers:
    """Place in ``COMPUTING`` of the reason of each kernel, shape (n,): what it is, else its busiest unit."""
    names, use, counted = pipe_use(kernels)
    of_unit = np.array([_UNITS[name] for name in names])[use.argmax(axis=0)]
    found = np.where(counted, np.where(use.max(axis=0) >= BUSY, of_unit, COMPUTING.index("no unit busy")), 0)
    for kinds, reason in ((REARRANGING, "rearranges data"), (CASTS, "converts types"), (COPIES, "copies")):
        found[of_kind(kernels, kinds)] = COMPUTING.index(reason)
    found[kernels.is_aicpu] = COMPUTING.index("on the AI CPU")
    return found.astype(np.int64)


def waiting_parts(kernels: Kernels, collectives: Sequence[Collective]) -> Floats:
    """Part of each kernel of communication in which it moves nothing, shape (n,); nan where not told.

    A kernel is known by its row in the trace that states the operator, or by its name and step.
    """
    parts = np.full(len(kernels), np.nan)
    talks = np.flatnonzero(kernels.is_communication)
    if not collectives or not len(talks):
        return parts
    by_row = {(item.place.file, row): item for item in collectives for row in item.place.rows[:1]}
    by_name: dict[tuple[str, str], list[Collective]] = {}
    for item in collectives:
        by_name.setdefault((item.step, item.name), []).append(item)
    for row in talks:
        name, step = kernels.text("name", int(row)).partition("@")[0], kernels.text("step", int(row))
        at = by_row.get((kernels.file, int(kernels.rows[row])))
        same = [at] if at else by_name.get((step, name)) or by_name.get(("", name)) or []
        elapse = sum(item.elapse_ms for item in same) * 1e3
        if elapse > 0:
            parts[row] = min(1.0, sum(map(idle_us, same)) / elapse)
    return parts
