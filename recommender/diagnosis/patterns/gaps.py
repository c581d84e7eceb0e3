"""Gaps of a device: each account of the ledger is a loss with that account's time, and calls say the rest."""

import csv
import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from data import text
from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.intervals import gaps
from ingest.profiles.facts.kernels import UNKNOWN_NS, Kernels, Mask
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.stretches import overlap_us, union
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, setting_evidence, step_evidence
from recommender.diagnosis.ledger.reasons import (
    AFTER,
    BEFORE,
    COPY,
    HOST,
    LAUNCH,
    QUEUED,
    STOPS,
    SWITCHES,
)
from recommender.diagnosis.rank.collectives import collectives_of
from recommender.diagnosis.rank.host_calls import (
    ALLOCATES,
    COLLECTS,
    COMPILES,
    COMPUTES,
    ITEM,
    LOADS,
    SAVES,
    USUAL_LAUNCH_US,
    WAITS,
    calls_of,
    launch_us,
    reason_of,
    spent_us,
)
from recommender.diagnosis.rank.kinds import PRODUCTS, of_kind
from recommender.diagnosis.rank.program_signs import trains
from recommender.diagnosis.rank.view import PLACES, KernelView, View, exclusive_shares
from recommender.diagnosis.thresholds import Thresholds, soft

NODES = {
    COLLECTS: "python-gc-high-latency",
    LOADS: "slow-dataloader",
    SAVES: "checkpoint-stall",
    COMPILES: "operator-compilation-latency",
    ALLOCATES: "memory-allocation-stall",
    COMPUTES: "code-high-latency-function",
    WAITS: "host-device-synchronisation",
    SWITCHES: "gil-lock-preemption",
    LAUNCH: "kernel-launch-overhead",
    QUEUED: "shared-device",
}
"""The loss that each reason of a gap is; what no reason tells is of an idle host and nothing more."""
PLACED = {LOADS: BEFORE, SAVES: AFTER, COLLECTS: STOPS}
"""Reasons that the place of a gap in a step of training tells: what comes before its work is its input."""
CONJECTURE = 0.7
"""Most confidence that a long stop now and then is a collection of garbage, that stops of one length are
waits for Python's lock, and that a device which does not begin what was launched runs another program.
Assumed."""
_RUNTIME_TELLS = (COMPILES, ALLOCATES, WAITS)
"""Reasons that a GPU's recorded runtime would show: where it does not, there was no such call."""
BEHIND = 2.0
"""Times of its peers' launches from which a rank's own take longer through its host. Assumed."""
COPY_OF_SAVING = 1e-3
"""Least time of copying a state over that of writing it: a disk of 64 MB/s behind a PCIe 5.0 link of 64 GB/s
each way. A loss that is read back takes less."""
_TILING = "_Tiling"


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of all free time, of each of its accounts, and of what the calls in them are.

    Between its steps a server reads what it made and launches the next: that turn is a loss from the
    published share of scheduling on.
    """
    if not view.rank.steps or view.total_us <= 0:
        return
    free = sum(us for reason, us in view.gap_us.items() if reason not in {COPY, QUEUED})
    is_stage = any(item.is_p2p for item in collectives_of(view.rank))
    if is_stage:  # it ends before the others: that is the pipeline's
        free -= max(0.0, view.gap_us.get(AFTER, 0.0) - view.peers_after_us)
    share = free / view.total_us
    turning = 0.0 if trains(view.rank) else view.gap_us.get(BEFORE, 0.0) + view.gap_us.get(AFTER, 0.0)
    bad = float(thresholds.shows("scheduling", "scheduling_share", turning / view.total_us))
    functions, open_us, waits_us = _functions(view)
    told_us = sum(us for us, _ in functions.values()) - waits_us
    named_us = sum(us for node, (us, _) in functions.items() if node not in NODES.values())
    mean_us = launch_us(view.rank.calls)
    slow = f"; a launch takes {mean_us:.3g} us, usual are 5 to 20" if mean_us > USUAL_LAUNCH_US else ""
    is_behind = mean_us > BEHIND * view.peers_launch_us
    if is_behind:
        slow = f"; a launch takes {mean_us:.3g} us, on the other ranks {view.peers_launch_us:.3g}"
    yield step_evidence(
        view,
        "host-bound",
        free - named_us - max(0.0, turning - named_us) * (1 - bad),
        f"nothing runs on the device for {share:.0%} of the step" + slow,
        MetricReading(metric="free_share", value=share, unit="1"),
        tuple(step.place for step in view.rank.steps[:3]),
        shown=1.0 if _is_reliable(view) else UNSURE,
    )
    yield from _copies(view)
    recorded = view.rank.layout in GPU_LAYOUTS and any(c.level == "runtime" for c in view.rank.calls)
    for reason, node in NODES.items():
        calls = calls_of(view.rank.calls, reason)
        by_place = PLACED.get(reason, "")
        if recorded and not _copies_back(view):  # who saves a state copies it to the host
            by_place = {SAVES: "", COMPUTES: AFTER}.get(reason, by_place)
        placed = view.gap_us.get(by_place, 0.0) if trains(view.rank) or (calls and reason == LOADS) else 0.0
        if calls and reason == LOADS:  # its loader is recorded: what its peers do not have is another's
            placed = min(placed, view.peers_before_us)
        if by_place == AFTER and is_stage:  # stages end one by one
            placed = min(placed, view.peers_after_us)
        placed *= 1 - told_us / max(open_us, 1e-9)
        function_us, function = functions.pop(node, (0.0, ""))
        placed = max(placed, function_us) if reason == COMPUTES else placed + function_us
        lost = view.gap_us.get(reason, 0.0) + placed - (waits_us if reason == WAITS else 0.0)
        if reason == LAUNCH and is_behind:  # the same kernels on slower cores: no fewer of them would end it
            lost *= view.peers_launch_us / mean_us
        looked = reason == LAUNCH and isinstance(view, KernelView) and _has_starts(view.kernels)
        tells = recorded and (reason in _RUNTIME_TELLS or (reason in PLACED and not trains(view.rank)))
        if lost <= 0 and not calls and not looked and not tells:
            continue
        yield step_evidence(
            view,
            node,
            lost,
            _says(view, reason, placed, function),
            MetricReading(
                metric=f"time of gaps: {by_place if placed else reason}", value=lost * 1e-6, unit="s"
            ),
            tuple(call.place for call in calls[:3]) or tuple(step.place for step in view.rank.steps[:1]),
            sure=CONJECTURE
            if reason in {SWITCHES, QUEUED} or (by_place == STOPS and placed > lost / 2)
            else 1.0,
        )
    for node, (us, function) in functions.items():
        yield step_evidence(
            view,
            node,
            us,
            f"{us / 1e3:.2f} ms of gaps while the host is in {function[:80]}",
            MetricReading(metric="time of gaps in a function", value=us * 1e-6, unit="s"),
            tuple(step.place for step in view.rank.steps[:1]),
        )
    yield from _reads(view)
    yield from _dynamic(view, free)


FUNCTIONS = "profiles/host_functions.csv"
"""The loss that a function of the host is by what stands in its name, the first that fits; none of those that
wait, that are PyTorch's, or that the place of their gap tells better."""


@cache
def _causes_of_functions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = csv.DictReader(text(FUNCTIONS).splitlines())
    return tuple((row["cause"], re.compile(row["in_the_frame"])) for row in rows)


def _functions(view: View) -> tuple[dict[str, tuple[float, str]], float, float]:
    """The time in functions of the program in which the host is while the device waits and no call says why.

    A function whose name tells its loss goes before those that do not, and has waits for the device too: what
    times kernels has to wait for them.

    Returns:
        By the loss that they are their time and the function of most, the time of all such gaps, and that of
        waits which functions have.
    """
    open_us = sum(view.gap_us.get(reason, 0.0) for reason in (HOST, STOPS, BEFORE, AFTER))
    found: dict[str, tuple[float, str]] = {}
    for item in view.rank.details.idle_functions:
        node = next((cause for cause, name in _causes_of_functions() if name.search(item.name)), "")
        if node:
            us, first = found.get(node, (0.0, item.name))
            found[node] = us + item.us, first
    plain_us, function = found.pop(NODES[COMPUTES], (0.0, ""))
    named_us = sum(us for us, _ in found.values())
    waits_us = min(view.gap_us.get(WAITS, 0.0), max(0.0, named_us - open_us))
    scale = min(1.0, (open_us + waits_us) / max(named_us, 1e-9))
    told = {node: (us * scale, name) for node, (us, name) in found.items()}
    if function:
        told[NODES[COMPUTES]] = min(plain_us, max(0.0, open_us - named_us)), function
    return told, open_us, waits_us


def _is_reliable(view: View) -> bool:
    """True if free time is of the profiler's own table, or counted where calls were collected too.

    A recording without marks of steps in which the device hardly worked is of something else than its work.
    """
    if not all(step.is_counted for step in view.rank.steps):
        return True
    works = view.total_us - view.step_sum("free_us") >= LEAST_WORK * view.total_us
    return bool(view.rank.calls) and (works or any(step.step for step in view.rank.steps))


LEAST_WORK = 0.05
"""Part of a recording without marks in which a device works at least. Assumed."""
UNSURE = 0.5
"""Weight of free time counted from one table alone, which may be an excerpt: it says nothing either way."""


def _has_starts(kernels: Kernels) -> bool:
    return len(kernels) > 1 and bool((kernels.start_ns != UNKNOWN_NS).any())


def _says(view: View, reason: str, placed_us: float, function: str) -> str:
    """The account in words, with the call that has most of it."""
    us = view.gap_us.get(reason, 0.0)
    if reason == LAUNCH:
        return f"the device waits {us / 1e3:.2f} ms for launches, in gaps up to a launch or two"
    if reason == QUEUED:
        return (
            f"the device stands still for {us / 1e3:.2f} ms though the next kernel was launched: "
            "it runs another program meanwhile, or a driver holds it"
        )
    if reason == SWITCHES:
        return (
            f"{us / 1e3:.2f} ms of gaps last 5 ms or a multiple, as a thread does that waits for its turn "
            "while another one keeps Python's lock"
        )
    calls = calls_of(view.rank.calls, reason)
    name, covered_us = _covering(view, reason)
    name = name or (calls[0].name if calls else "")
    parts = []
    if us > 0:
        count = sum(call.count for call in calls)
        many = f"; {count} calls take {spent_us(calls, reason) / 1e3:.1f} ms" if count else ""
        told = f" ({name[:60]}{many})" if name else ""
        parts.append(f"{us / 1e3:.2f} ms of gaps: {reason}{told}")
    why = "and no call explains them"
    if placed_us > 0:
        if function:
            parts.append(f"{placed_us / 1e3:.2f} ms of gaps while the host is in {function[:80]}")
            placed_us = 0.0
        elif reason == COMPUTES:
            why = "without a call or a copy: Python's own work, such as a collection of garbage"
    if placed_us > 0:
        parts.append(f"{placed_us / 1e3:.2f} ms of gaps: {PLACED.get(reason, AFTER)}, {why}")
    if (
        reason == ALLOCATES
        and us > 0
        and len(view.gaps_by_step[reason]) > 1
        and view.gaps_by_step[reason][0] > us / 2
    ):
        parts.append(
            "most of it in the first step of the recording, which takes its memory from the driver once"
        )
    if reason == WAITS and 0 < us < 2 * covered_us:
        parts.append(
            "no work shows on the device while the host waits in it: what it waits for was launched before "
            "the recording, or is not in it"
        )
    return "; ".join(parts) or f"no gap: {reason}"


def _covering(view: View, reason: str) -> tuple[str, float]:
    """The call that covers most of the gaps, and the time that all of its kind cover; empty if not known."""
    spans, kernels = view.rank.details.spans, view.rank.kernels
    if spans is None or kernels is None or not view.gap_us.get(reason):
        return "", 0.0
    start, end = gaps(kernels)

    def is_wanted(level: str, name: str) -> bool:
        return reason_of(level, name) == reason

    covered = overlap_us(start, end, *union(*spans.of(is_wanted)))
    return spans.longest(is_wanted, start, end), float(covered.sum())


def _reads(view: View) -> Iterator[SoftEvidence]:
    """Evidence that the synchronising calls are values read by the program, by their time."""
    items = sorted((c for c in view.rank.calls if c.name in ITEM), key=lambda call: -call.total_us)
    spent = spent_us(view.rank.calls, WAITS)
    if not items or not view.gap_us.get(WAITS):
        return
    read = next((call for call in items if call.name == "aten::item"), items[0])
    part = min(1.0, read.total_us / spent) if spent > 0 else 1.0
    yield setting_evidence(
        view,
        "item-calls",
        f"{read.count} calls of .item() and its kin take {read.total_us / 1e3:.2f} ms",
        tuple(call.place for call in items[:3]),
        shown=float(soft(np.asarray(part), 0.5, 0.25)),
        readings=(
            MetricReading(metric="time in item calls over time in synchronising calls", value=part, unit="1"),
        ),
    )


def _dynamic(view: View, free: float) -> Iterator[SoftEvidence]:
    """Evidence of operators whose shapes change: their tiling, compiling and memory."""
    if not isinstance(view, KernelView):
        return
    state = view.kernels.texts["state"]
    both = [*calls_of(view.rank.calls, COMPILES), *(c for c in view.rank.calls if c.name.endswith(_TILING))]
    again = float(view.gaps_by_step.get(ALLOCATES, np.zeros(0))[1:].sum())
    if both and any(state.labels):
        dynamic = float(state.where(label == "dynamic" for label in state.labels).mean())
        tiling = sum(call.total_us for call in both if call.name.endswith(_TILING))
        spent, what = spent_us(both, COMPILES) + tiling, "tiling and compiling take"
    elif again > 0 and (dynamic := _changing(view.kernels)) > 0:
        both, spent, what = calls_of(view.rank.calls, ALLOCATES), again, "memory for them takes"
    else:
        return
    yield step_evidence(
        view,
        "dynamic-shape",
        min(free, spent) * dynamic,
        f"{dynamic:.0%} of operators have dynamic shapes; {what} {spent / 1e3:.1f} ms",
        MetricReading(metric="dynamic_operator_share", value=dynamic, unit="1"),
        tuple(call.place for call in both[:3]),
        level=dynamic,
    )


def _changing(kernels: Kernels) -> float:
    """Share of the time of products with shapes that they have in no other step."""
    mine = kernels.where(of_kind(kernels, PRODUCTS))
    shapes, step = mine.texts["input_shapes"], mine.texts["step"].codes
    if not len(mine) or not any(shapes.labels[code] for code in np.unique(shapes.codes)):
        return 0.0
    known = shapes.where(bool(text) for text in shapes.labels)
    forms, form = np.unique(np.stack([mine.label.codes, shapes.codes]), axis=1, return_inverse=True)
    pairs = np.unique(np.stack([form.ravel(), step]), axis=1)
    steps = np.bincount(pairs[0], minlength=forms.shape[1])
    once = known & (steps[form.ravel()] == 1) & (len(np.unique(step)) > 2)
    return float(mine.duration_us[once].sum() / mine.duration_us[known].sum())


def _copies_back(view: View) -> bool:
    """True if enough was copied from the device to the host for what comes after its work to be saving."""
    kernels = view.rank.kernels
    if kernels is None or not (back := _back(kernels)).any():
        return False
    return float(kernels.duration_us[back].sum()) >= COPY_OF_SAVING * view.gap_us.get(AFTER, 0.0)


def _back(kernels: Kernels) -> Mask:
    name = kernels.texts["name"]
    return kernels.is_copy & name.where("DtoH" in label or "Device -> " in label for label in name.labels)


_WITHIN = re.compile(r"Memset|Memcpy (?:DtoD|PtoP)")
"""Copies of a GPU that stay on the device, or go to another one, as traces name them."""


def _within(kernels: Kernels) -> Mask:
    """Copies that stay on the device or go to another one, shape (n,)."""
    name = kernels.texts["name"]
    return kernels.is_copy & name.where(_WITHIN.match(label) is not None for label in name.labels)


def _copies(view: View) -> Iterator[SoftEvidence]:
    """Evidence of copies beside which no kernel runs: between host and device, and within the device."""
    kernels = view.rank.kernels
    if kernels is None or not kernels.is_copy.any():
        return
    within = _within(kernels)
    bare = kernels.duration_us * exclusive_shares(kernels)
    back, name = _back(kernels), kernels.texts["name"]
    paged = kernels.is_copy & name.where("Managed" in label for label in name.labels)
    for node, copies, where in (
        ("host-to-device-copy", kernels.is_copy & ~within & ~back & ~paged, "between host and device"),
        ("device-to-host-copies", back & ~paged, "from the device to the host"),
        ("activation-spill", paged, "of pages of unified memory, which does not fit the device,"),
        ("memory-copies", within, "within the device"),
    ):
        if not copies.any():
            continue
        bare_us = float(bare[copies].sum())
        lost = min(bare_us, view.step_sum("free_us"))
        yield step_evidence(
            view,
            node,
            lost,
            f"{int(copies.sum())} copies {where}, {bare_us / 1e3:.2f} ms of them beside no kernel",
            MetricReading(metric="copies", value=float(copies.sum()), unit="1"),
            (FactPlace(kernels.file, tuple(int(row) for row in kernels.rows[copies][:PLACES])),),
        )
