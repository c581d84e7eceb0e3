"""Communication that computation does not hide, waiting and transferring apart."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, step_evidence
from recommender.diagnosis.rank.collectives import (
    EXCHANGES,
    collectives_by_name,
    collectives_of,
    idle_us,
    is_of,
    moving_us,
    places,
)
from recommender.diagnosis.rank.groups import CONTEXT, DATA, EXPERTS, STAGES, TENSOR
from recommender.diagnosis.rank.kinds import of_kind
from recommender.diagnosis.rank.program_signs import is_fully_sharded
from recommender.diagnosis.rank.view import PLACES, View, exclusive_shares, in_steps
from recommender.diagnosis.thresholds import Thresholds

_GRADIENT = ("allreduce", "reducescatter")
_SCATTER = ("reducescatter",)
_GATHER = ("allgather",)
"""Where gradients are scattered, a distributed optimizer or FSDP gathers the parameters in the same group."""
_NORMS = ("batchnorm", "syncbatchnorm", "syncbn", "bntraining")
"""In the names of kernels of a batch norm."""


NAMED = 0.9
"""Degree from which a bubble is named by itself, and is no exposed communication besides. Assumed."""
MARKS = 0.5
"""Part of the published marks of exposed communication from which its kinds are named: they are two."""


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of all exposed communication, then of its parts.

    Inference reduces each layer's result before it can go on: that is a loss from the mark of all
    communication on.
    """
    exposed, told = view.step_sum("exposed_us"), collectives_of(view.rank)
    if not told and view.infers:  # without gradients a name says what a collective is for
        told = collectives_by_name(view.rank)
    if view.total_us <= 0 or (exposed <= 0 and not told and not view.rank.links):
        return
    share = exposed / view.total_us
    mark = ("exposed-communication", "communication_not_overlapped_share")
    bad = float(thresholds.shows(*mark, share))
    inline, bad_inline = 0.0, bad
    if view.infers:
        bad_inline = float(thresholds.shows("communication", mark[1], share))
        tensor = [item for item in told if _use(view, item) == TENSOR]
        together = sum(item.elapse_ms for item in told)
        inline = exposed * (sum(item.elapse_ms for item in tensor) / together if together > 0 else 1.0)
    usual = max(_last_us(view) * (1 - bad), inline * (1 - bad_inline))
    if not view.step_sum("bubble_us"):  # else the profiler's own table keeps it apart
        still = sum(idle_us(item) for item in told if item.is_p2p and _use(view, item) != CONTEXT)
        still = min(exposed, still * view.exposed_share)
        bubble = thresholds.shows("pipeline-bubble", "bubble_share", still / view.total_us)
        usual = max(usual, still if bubble >= NAMED else 0.0)
    yield step_evidence(
        view,
        "exposed-communication",
        exposed - usual,
        f"communication that nothing hides is {share:.0%} of the step",
        MetricReading(metric="communication_not_overlapped_share", value=share, unit="1"),
        tuple(step.place for step in view.rank.steps[:3]),
    )
    yield from _waits(view, thresholds, told)
    most_us = exposed - usual if usual > 0 else math.inf
    shown = min(1.0, bad / MARKS)
    yield from _moving(view, told, most_us, shown, bad_inline if view.infers else shown)
    yield from _exchange(view, told, most_us, shown)
    yield from _of_norms(view, thresholds)


def _last_us(view: View) -> float:
    """Exposed time of the last collective of steps of several: nothing is left to compute beside it."""
    kernels = view.rank.kernels
    if kernels is None or not kernels.is_communication.any():
        return 0.0
    own = np.where(kernels.is_communication, kernels.duration_us * exclusive_shares(kernels), 0.0)
    step, end = kernels.texts["step"].codes, kernels.end_ns
    talks = np.flatnonzero(kernels.is_communication & in_steps(view.rank, kernels))
    talks = talks[np.lexsort((end[talks], step[talks]))]
    several = np.bincount(step[talks], minlength=1)[step[talks]] > 1
    is_last = np.append(np.diff(step[talks]) != 0, True)
    return min(float(own[talks[is_last & several]].sum()), view.step_sum("exposed_us"))


def _of_norms(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of collectives between two kernels of one norm: its statistics are those of all ranks."""
    kernels = view.rank.kernels
    if kernels is None or not kernels.is_communication.any():
        return
    order = np.argsort(kernels.start_ns, kind="stable")
    of_norm = of_kind(kernels, _NORMS)[order]
    inside = np.append(False, of_norm[:-1]) & np.append(of_norm[1:], False)
    rows = order[inside & (kernels.is_communication & in_steps(view.rank, kernels))[order]]
    count = len(rows)
    yield step_evidence(
        view,
        "sync-batchnorm",
        float((kernels.duration_us * exclusive_shares(kernels))[rows].sum()),
        f"{count} collectives stand between the statistics of a batch norm and their use",
        MetricReading(metric="sync_batchnorm_count", value=count, unit="1"),
        (FactPlace(kernels.file, tuple(int(row) for row in kernels.rows[rows[:PLACES]])),) if count else (),
        shown=float(thresholds.shows("sync-batchnorm", "sync_batchnorm_count", float(count))),
    )


def _waits(view: View, thresholds: Thresholds, both: Sequence[Collective]) -> Iterator[SoftEvidence]:
    """Evidence of ranks that wait in a collective, and of stages that wait for their neighbour."""
    shared = [c for c in both if not c.is_p2p]
    pairs = [c for c in both if c.is_p2p and view.uses.get(c.group) != CONTEXT]  # a ring within a stage
    waited = sum(idle_us(c) for c in shared) * view.exposed_share
    share = waited / view.total_us
    if shared:
        yield step_evidence(
            view,
            "collective-wait",
            waited,
            f"collectives move data for {sum(map(moving_us, shared)) / 1e3:.1f} of their "
            f"{sum(c.elapse_ms for c in shared):.1f} ms; the rest is waiting",
            MetricReading(metric="collective_wait_share", value=share, unit="1"),
            places(shared),
            shown=float(thresholds.shows("collective-wait", "collective_wait_share", share)),
        )
    bubble = view.step_sum("bubble_us")
    still = max(sum(idle_us(c) for c in pairs) * view.exposed_share, bubble)
    if pairs or bubble:
        share = still / view.total_us
        yield step_evidence(
            view,
            "pipeline-bubble",
            still,
            f"sends and receives between stages stand still for {still / 1e3:.1f} ms",
            MetricReading(metric="bubble_share", value=share, unit="1"),
            places(pairs),
            shown=float(thresholds.shows("pipeline-bubble", "bubble_share", share)),
        )


def _use(view: View, item: Collective) -> str:
    """The use of a collective's group.

    Where nothing describes it, training reduces gradients in it, and inference the parts of a layer's result.
    """
    if item.group in view.uses or item.is_p2p:
        return view.uses.get(item.group, "")
    return TENSOR if view.infers and is_of(item, (*_GRADIENT, *_GATHER)) else DATA


def _moving(
    view: View, told: Sequence[Collective], most_us: float, shown: float, shown_inline: float
) -> Iterator[SoftEvidence]:
    """Evidence of transfers that nothing hides, by what their group is for: no more than all is a loss."""
    shared = [item for item in told if not item.is_p2p]
    inside = [item for item in shared if _use(view, item) == DATA]
    scattering = {item.group for item in inside if is_of(item, _SCATTER)}
    gathers = [item for item in inside if is_of(item, _GATHER) and item.group in scattering]
    gradients = [item for item in inside if is_of(item, _GRADIENT)]
    sharded = is_fully_sharded(view.rank)
    added = [] if sharded else gathers
    words = "reductions and gathers of parameters" if added else "reductions"
    uses = {use: [c for c in told if _use(view, c) == use] for use in (TENSOR, CONTEXT)}
    stages = [item for item in shared if view.uses.get(item.group) == STAGES]
    for node, items, what in (
        ("data-parallel-communication", [*gradients, *added], words),
        ("fsdp-communication", gathers if sharded else [], "gathers of parameters"),
        ("stage-reduction", stages, "reductions across pipeline stages"),
        ("tensor-parallel-communication", uses[TENSOR], "collectives of tensor parallelism"),
        ("context-parallel-communication", uses[CONTEXT], "exchanges of context parallelism"),
    ):  # fmt: skip
        moving = sum(moving_us(c) for c in items) * view.exposed_share
        if items:
            yield step_evidence(
                view,
                node,
                min(moving, most_us),
                f"{what} move data for {moving / 1e3:.1f} ms beside no computation",
                MetricReading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
                places(items),
                shown=shown_inline if node == "tensor-parallel-communication" else shown,
            )


def _exchange(view: View, told: Sequence[Collective], most_us: float, shown: float) -> Iterator[SoftEvidence]:
    """Evidence of exchanges between experts, by all-to-all or gathers: their transfer, and their waiting."""
    mine = [c for c in told if is_of(c, EXCHANGES) or _use(view, c) == EXPERTS]
    if not mine:
        return
    moving = sum(moving_us(c) for c in mine) * view.exposed_share
    yield step_evidence(
        view,
        "all-to-all-communication",
        min(moving, most_us),
        f"tokens go to experts and back for {moving / 1e3:.1f} ms beside no computation",
        MetricReading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
        places(mine),
        shown=shown,
    )
    waited = sum(idle_us(c) for c in mine) * view.exposed_share
    yield step_evidence(
        view,
        "ep-load-imbalance",
        waited,
        f"ranks wait {waited / 1e3:.1f} ms for each other in all-to-all",
        MetricReading(metric="all-to-all wait share", value=waited / view.total_us, unit="1"),
        places(mine),
    )
