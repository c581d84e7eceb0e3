"""Collectives of GPUs beside those of the other ranks of their group: waiting apart from transferring.

A kernel of NCCL lasts from the arrival of its own rank until the data is there. Of a collective that needs
all ranks, the one that arrives last waits for nobody: its kernel lasts as long as the transfer, and what the
kernels of the others last longer is waiting. That compares lengths, so the clocks of ranks need not agree.
A trace without its peers, a group of which one is missing, and operations in which some rank need not wait
for the others (send, receive, broadcast, reduce, gather, scatter) tell no such thing: nothing is claimed, but
that of many calls of one size none moves data longer than the shortest lasts (:func:`bound_waiting`).

Source:
    PyTorch, ``ParamCommsUtils``: names of the arguments; NVIDIA, NCCL user guide, collective operations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ingest.profiles.facts.details import GroupCall
from ingest.profiles.facts.run import Collective, Rank, Transfer

_NEEDS_ALL = ("allreduce", "allgather", "reducescatter", "alltoall", "barrier")
_PAIRS = ("send", "recv")
LEAST_CALLS = 8
"""Calls of one size from which the shortest is one that hardly waited. Assumed."""
NCCL = "NCCL"
"""Stands for the kind of link, which a trace does not name."""

Key = tuple[str, tuple[int, ...]]


def separate_waiting(ranks: Sequence[Rank]) -> list[Rank]:
    """The ranks, with the collectives of each group all of whose members were read."""
    groups: dict[Key, dict[int, list[GroupCall]]] = {}
    for place, rank in enumerate(ranks):
        for call in rank.details.group_calls:
            groups.setdefault((call.group, call.ranks), {}).setdefault(place, []).append(call)
    found: dict[int, list[Collective]] = {}
    for held in groups.values():
        numbers = [ranks[place].rank for place in held]
        members = {call.members for calls in held.values() for call in calls}
        if members != {len(held)} or len(held) < 2 or len(set(numbers)) < len(numbers):
            continue
        for calls in _together(held):
            shortest = min(call.lasted_us for call in calls.values())
            for place, call in calls.items():
                found.setdefault(place, []).append(_collective(call, shortest))
    pairs: dict[tuple[str, float | None], list[tuple[int, GroupCall]]] = {}
    for place, rank in enumerate(ranks):
        for call in rank.details.group_calls:
            if _is_pair(call):
                pairs.setdefault((call.group, call.size_mb), []).append((place, call))
    for alike in pairs.values():  # of many one hardly waited, on whatever rank
        if len(alike) >= LEAST_CALLS and len({place for place, _ in alike}) > 1:
            shortest = min(call.lasted_us for _, call in alike)
            for place, call in alike:
                found.setdefault(place, []).append(_collective(call, shortest))
    return [
        replace(rank, collectives=tuple(sorted(found[place], key=lambda item: item.start_us or 0.0)))
        if place in found and not rank.collectives
        else rank
        for place, rank in enumerate(ranks)
    ]


def bound_waiting(calls: Sequence[GroupCall]) -> tuple[Collective, ...]:
    """Collectives of one rank: what one lasts beyond the shortest of its size, it waits."""
    alike: dict[tuple[str, str, float | None], list[GroupCall]] = {}
    for call in calls:
        if call.size_mb is not None and (_needs_all(call) or _is_pair(call)):
            alike.setdefault((call.group, call.name, call.size_mb), []).append(call)
    return tuple(
        _collective(call, min(item.lasted_us for item in same))
        for same in alike.values()
        if len(same) >= LEAST_CALLS
        for call in same
    )


def _needs_all(call: GroupCall) -> bool:
    return call.name.lower().replace("_", "").startswith(_NEEDS_ALL)


def _is_pair(call: GroupCall) -> bool:
    return call.name.lower().startswith(_PAIRS)


def _together(held: dict[int, list[GroupCall]]) -> Iterable[dict[int, GroupCall]]:
    """Calls that are one collective: of the same number, or, without numbers, at the same place in order."""
    numbered = all(call.sequence is not None for calls in held.values() for call in calls)
    if numbered:
        by_number = {
            place: {(call.sequence, call.name, call.size_mb): call for call in calls}
            for place, calls in held.items()
        }
        if any(len(by_number[place]) < len(calls) for place, calls in held.items()):
            return
        common = set.intersection(*(set(calls) for calls in by_number.values()))
        rows = [{place: calls[key] for place, calls in by_number.items()} for key in common]
    else:
        ordered = {place: sorted(calls, key=lambda call: call.start_ns) for place, calls in held.items()}
        sequences = {tuple((call.name, call.size_mb) for call in calls) for calls in ordered.values()}
        if len(sequences) > 1:  # recorded from different calls on: which belong together is not told
            return
        rows = [dict(zip(ordered, calls, strict=True)) for calls in zip(*ordered.values(), strict=True)]
    for row in rows:
        if _needs_all(next(iter(row.values()))):
            yield row


def _collective(call: GroupCall, transit_us: float) -> Collective:
    wait_ms = (call.lasted_us - transit_us) / 1e3
    transit_ms = transit_us / 1e3
    moved: tuple[Transfer, ...] = ()
    if call.size_mb and transit_ms > 0:
        rate = call.size_mb / transit_ms  # megabytes a millisecond are gigabytes a second
        moved = (Transfer(transport=NCCL, size_mb=call.size_mb, time_ms=transit_ms, bandwidth_gb_s=rate),)
    return Collective(
        name=call.name,
        group=call.group,
        step="",
        is_p2p=_is_pair(call),
        elapse_ms=call.lasted_us / 1e3,
        transit_ms=transit_ms,
        wait_ms=wait_ms,
        start_us=call.start_ns / 1e3,
        transfers=moved,
        place=call.place,
        members=call.members,
    )
