"""analysis.db and cluster_analysis.db: the split of steps and the communication, analysed by the profiler."""

from collections.abc import Mapping

from ingest.profiles.databases.databases import Database, integer, real
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, RankTraffic, StepTime, Transfer
from ingest.profiles.tables.communication import is_p2p
from ingest.profiles.tables.step_tables import step_time

_STEP = {
    "computing": "Computing", "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped", "free": "Free", "stage": "Stage", "bubble": "Bubble",
    "preparing": "Preparing",
}  # fmt: skip
STEP_TABLES = ("StepTraceTime", "ClusterStepTraceTime")
_TIMES = ("CommAnalyzerTime", "ClusterCommAnalyzerTime", "ClusterCommunicationTime")
_BANDWIDTHS = ("CommAnalyzerBandwidth", "ClusterCommAnalyzerBandwidth", "ClusterCommunicationBandwidth")
_MATRICES = ("CommAnalyzerMatrix", "ClusterCommAnalyzerMatrix", "ClusterCommunicationMatrix")
"""Names in the database of a rank, of a cluster, and of a cluster as newer versions write it."""


def read_steps(data: Database) -> list[tuple[str, str, StepTime]]:
    """Steps, with type and index where the table is a cluster's."""
    found = []
    for table in STEP_TABLES:
        for row, cells in data.rows(table):
            renamed = {theirs: cells.get(ours) for ours, theirs in _STEP.items()}
            step = step_time(str(cells.get("step") or ""), renamed, FactPlace(f"{data.file}#{table}", (row,)))
            if step is not None:
                found.append((str(cells.get("type") or ""), str(cells.get("index") or ""), step))
    return found


def read_collectives(data: Database) -> list[tuple[int | None, Collective]]:
    """Communication operators with what they moved over each kind of link, and their rank if a cluster's.

    Milliseconds, megabytes and GB/s, the begin in microseconds: the units of the text files.
    """
    moved = _transfers(data)
    found = []
    for table in _TIMES:
        for row, cells in data.rows(table):
            key = _key(cells)
            elapse = real(cells.get("elapse_time", cells.get("elapsed_time")))
            is_whose_told = key[0] is not None or not table.startswith("Cluster")
            if key[1].startswith("Total") or not elapse >= 0 or not is_whose_told:  # nan, too
                continue
            found.append(
                (
                    key[0],
                    Collective(
                        name=key[1].partition("@")[0],
                        group=str(cells.get("group_name") or ""),
                        step=key[2].removeprefix("step"),
                        is_p2p=cells.get("type") == "p2p" or is_p2p(key[1]),
                        elapse_ms=elapse,
                        transit_ms=_zero(cells.get("transit_time")),
                        wait_ms=_zero(cells.get("wait_time")),
                        start_us=_zero(cells.get("start_timestamp")) or None,
                        transfers=tuple(moved.get(key, {}).values()),
                        place=FactPlace(f"{data.file}#{table}", (row,)),
                    ),
                )
            )
    return found


Key = tuple[int | None, str, str]


def _key(cells: Mapping[str, object]) -> Key:
    """Rank, operator and step; no rank in the table of one."""
    rank = None if cells.get("rank_id") is None else integer(cells["rank_id"])
    return rank, str(cells.get("hccl_op_name") or ""), str(cells.get("step") or "")


def _transfers(data: Database) -> dict[Key, dict[str, Transfer]]:
    """Transfers by rank, operator and step, then by kind of link; a row is one size of packet."""
    found: dict[Key, dict[str, Transfer]] = {}
    for table in _BANDWIDTHS:
        for _, cells in data.rows(table):
            size = _zero(cells.get("transit_size"))
            if size <= 0:
                continue
            transport = str(cells.get("transport_type") or cells.get("band_type") or "")
            packet = (
                _zero(cells.get("package_size")),
                integer(cells.get("count")),
                _zero(cells.get("total_duration")),
            )
            held = found.setdefault(_key(cells), {})
            before = held.get(transport)
            held[transport] = Transfer(
                transport=transport,
                size_mb=size,
                time_ms=_zero(cells.get("transit_time")),
                bandwidth_gb_s=_zero(cells.get("bandwidth")),
                packets=(*(before.packets if before else ()), *([packet] if packet[0] > 0 else [])),
            )
    return found


def read_links(data: Database) -> list[RankTraffic]:
    """Traffic between pairs of ranks."""
    return [
        RankTraffic(
            source=str(cells.get("src_rank")),
            target=str(cells.get("dst_rank")),
            transport=str(cells.get("transport_type") or ""),
            size_mb=_zero(cells.get("transit_size")),
            time_ms=_zero(cells.get("transit_time")),
            bandwidth_gb_s=_zero(cells.get("bandwidth")),
            operator=str(cells.get("hccl_op_name") or ""),
            place=FactPlace(f"{data.file}#{table}", (row,)),
        )
        for table in _MATRICES
        for row, cells in data.rows(table)
    ]


def _zero(value: object) -> float:
    found = real(value)
    return max(0.0, found) if found == found else 0.0  # noqa: PLR0124  nan differs from itself
