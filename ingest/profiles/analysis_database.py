"""analysis.db and cluster_analysis.db: the split of steps and the communication, analysed by the profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.profiles.databases import real, whole
from ingest.profiles.facts import Collective, Link, Place, StepTime, Transfer
from ingest.profiles.step_tables import step_time

if TYPE_CHECKING:
    from ingest.profiles.databases import Database

_STEP = {
    "computing": "Computing", "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped", "free": "Free", "stage": "Stage", "bubble": "Bubble",
    "preparing": "Preparing",
}  # fmt: skip
STEP_TABLES = ("StepTraceTime", "ClusterStepTraceTime")


def read_steps(data: Database) -> list[tuple[str, str, StepTime]]:
    """Steps, with type and index where the table is a cluster's."""
    found = []
    for table in STEP_TABLES:
        for row, cells in data.rows(table):
            renamed = {theirs: cells.get(ours) for ours, theirs in _STEP.items()}
            step = step_time(str(cells.get("step") or ""), renamed, Place(f"{data.file}#{table}", (row,)))
            if step is not None:
                found.append((str(cells.get("type") or ""), str(cells.get("index") or ""), step))
    return found


def read_collectives(data: Database) -> list[Collective]:
    """Communication operators with what they moved over each kind of link."""
    moved = _transfers(data)
    found = []
    for row, cells in data.rows("CommAnalyzerTime"):
        name, step = str(cells.get("hccl_op_name") or ""), str(cells.get("step") or "")
        if name == "Total Op Info":
            continue
        elapse = real(cells.get("elapse_time", cells.get("elapsed_time")))
        if elapse != elapse:  # noqa: PLR0124  nan is what differs from itself
            continue
        found.append(
            Collective(
                name=name,
                group=str(cells.get("group_name") or ""),
                step=step.removeprefix("step"),
                is_p2p=cells.get("type") == "p2p" or "send" in name.lower() or "recv" in name.lower(),
                elapse_ms=elapse,
                transit_ms=_zero(cells.get("transit_time")),
                wait_ms=_zero(cells.get("wait_time")),
                synchronisation_ms=_zero(cells.get("synchronization_time")),
                idle_ms=_zero(cells.get("idle_time")),
                start_us=_zero(cells.get("start_timestamp")) or None,
                transfers=tuple(moved.get((name, step), {}).values()),
                place=Place(f"{data.file}#CommAnalyzerTime", (row,)),
            )
        )
    return found


def _transfers(data: Database) -> dict[tuple[str, str], dict[str, Transfer]]:
    """By operator and step, then by kind of link; a row is one size of packet."""
    found: dict[tuple[str, str], dict[str, Transfer]] = {}
    for _, cells in data.rows("CommAnalyzerBandwidth"):
        size = _zero(cells.get("transit_size"))
        if size <= 0:
            continue
        key = str(cells.get("hccl_op_name") or ""), str(cells.get("step") or "")
        transport = str(cells.get("transport_type") or "")
        packet = (
            _zero(cells.get("package_size")),
            whole(cells.get("count")),
            _zero(cells.get("total_duration")),
        )
        before = found.setdefault(key, {}).get(transport)
        found[key][transport] = Transfer(
            transport=transport,
            size_mb=size,
            time_ms=_zero(cells.get("transit_time")),
            bandwidth_gb_s=_zero(cells.get("bandwidth")),
            packets=(*(before.packets if before else ()), *([packet] if packet[0] > 0 else [])),
        )
    return found


def read_links(data: Database) -> list[Link]:
    """Traffic between pairs of ranks."""
    return [
        Link(
            source=str(cells.get("src_rank")),
            target=str(cells.get("dst_rank")),
            transport=str(cells.get("transport_type") or ""),
            size_mb=_zero(cells.get("transit_size")),
            time_ms=_zero(cells.get("transit_time")),
            bandwidth_gb_s=_zero(cells.get("bandwidth")),
            operator=str(cells.get("hccl_op_name") or ""),
            place=Place(f"{data.file}#CommAnalyzerMatrix", (row,)),
        )
        for row, cells in data.rows("CommAnalyzerMatrix")
    ]


def _zero(value: object) -> float:
    found = real(value)
    return 0.0 if found != found else found  # noqa: PLR0124  nan
