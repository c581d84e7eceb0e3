"""Communication analysed by the profiler: communication.json, its matrix, and those of a cluster.

Times there are milliseconds (begin: microseconds), sizes megabytes of 10**6 byte, bandwidth GB/s.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ingest.profiles.cells import count, number
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, RankTraffic, Transfer

TOTAL = "Total"
"""Beginning of the names of sums, such as ``Total Op Info``."""
TIMES = "Communication Time Info"
LARGEST = 1 << 29
"""Bytes of a communication file; a cluster of thousands stays below."""


def load(path: Path, on_fault: Callable[[str], None]) -> Mapping[str, object]:
    """The object of a JSON file; empty, with the reason reported, if it is none."""
    try:
        if path.stat().st_size > LARGEST:
            on_fault(f"{path.name}: larger than {LARGEST >> 20} MiB, and not read")
            return {}
        content = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as fault:
        on_fault(f"{path.name}: no JSON, or cut off ({str(fault)[:80]})")
        return {}
    if not isinstance(content, dict):
        on_fault(f"{path.name}: not an object with steps")
        return {}
    return content


def read_collectives(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Collective]:
    """Communication operators of one rank."""
    found = []
    for step, kinds in load(path, on_fault).items():
        if isinstance(kinds, dict) and TIMES in kinds:  # msprof's own: operators without steps
            found.append(_collective(step, kinds, "", is_p2p_group=False, place=FactPlace(file)))
            continue
        for kind, operators in _items(kinds):
            for name, info in _items(operators):
                found.append(_collective(name, info, step, is_p2p_group=kind == "p2p", place=FactPlace(file)))
    return [item for item in found if item is not None]


def read_cluster(path: Path, file: str, on_fault: Callable[[str], None]) -> dict[int, list[Collective]]:
    """Communication operators of every rank, from a cluster's analysis."""
    found: dict[int, list[Collective]] = {}
    for group, steps in load(path, on_fault).items():
        for step, operators in _items(steps):
            for name, ranks in _items(operators):
                for rank, info in _items(ranks):
                    if not rank.isdecimal():
                        continue
                    item = _collective(name, info, step, is_p2p_group=group == "p2p", place=FactPlace(file))
                    if item is not None:
                        found.setdefault(int(rank), []).append(item)
    return found


def read_links(path: Path, file: str, on_fault: Callable[[str], None]) -> list[RankTraffic]:
    """Traffic between pairs of ranks: communication_matrix.json and cluster_communication_matrix.json."""
    found = []
    for name, level in load(path, on_fault).items():
        for kind, operators in _items(level):
            if isinstance(operators, dict) and "Transport Type" in operators:  # msprof's own, without steps
                found += _pairs({kind: operators}, name, file)
                continue
            for operator, pairs in _items(operators):
                found += _pairs(pairs, operator, file)
    return found


def _pairs(pairs: object, operator: str, file: str) -> list[RankTraffic]:
    found = []
    for pair, info in _items(pairs):
        source, dash, target = pair.partition("-")
        if not dash or not isinstance(info, dict):
            continue
        found.append(
            RankTraffic(
                source=source,
                target=target,
                transport=str(info.get("Transport Type", "")),
                size_mb=_zero(info.get("Transit Size(MB)")),
                time_ms=_zero(info.get("Transit Time(ms)")),
                bandwidth_gb_s=_zero(info.get("Bandwidth(GB/s)")),
                operator=operator.partition("@")[0],
                place=FactPlace(file),
            )
        )
    return found


def _collective(
    name: str, info: object, step: str, *, is_p2p_group: bool, place: FactPlace
) -> Collective | None:
    if not isinstance(info, dict) or name.startswith(TOTAL):
        return None
    times = info.get(TIMES)
    if not isinstance(times, dict):
        return None
    elapse = number(times.get("Elapse Time(ms)"))
    if math.isnan(elapse) or elapse < 0:
        return None
    start = number(times.get("Start Timestamp(us)"))
    operator, _, group = name.partition("@")
    return Collective(
        name=operator,
        group=group,
        step=step.removeprefix("step"),
        is_p2p=is_p2p_group or is_p2p(operator),
        elapse_ms=elapse,
        transit_ms=_zero(times.get("Transit Time(ms)")),
        wait_ms=_zero(times.get("Wait Time(ms)")),
        start_us=None if math.isnan(start) else start,
        transfers=tuple(_transfers(info.get("Communication Bandwidth Info"))),
        place=place,
    )


def is_p2p(operator: str) -> bool:
    """True if an operator of this name moves data between two ranks."""
    low = operator.lower()
    return "send" in low or "recv" in low or "receive" in low


def _transfers(bandwidth: object) -> Iterator[Transfer]:
    for transport, info in _items(bandwidth):
        if not isinstance(info, dict) or _zero(info.get("Transit Size(MB)")) <= 0:
            continue
        packets = []
        for size, packet in _items(info.get("Size Distribution")):
            if isinstance(packet, list) and len(packet) >= 2 and number(size) > 0:
                packets.append((number(size), count(packet[0]), _zero(packet[1])))
        yield Transfer(
            transport=transport,
            size_mb=_zero(info.get("Transit Size(MB)")),
            time_ms=_zero(info.get("Transit Time(ms)")),
            bandwidth_gb_s=_zero(info.get("Bandwidth(GB/s)")),
            packets=tuple(packets),
        )


def _items(content: object) -> list[tuple[str, object]]:
    return [(str(k), v) for k, v in content.items()] if isinstance(content, dict) else []


def _zero(cell: object) -> float:
    value = number(cell)
    return max(0.0, value) if value == value else 0.0  # noqa: PLR0124  nan differs from itself
