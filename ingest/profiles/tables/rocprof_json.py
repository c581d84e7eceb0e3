"""JSON of rocprofv3 (``--output-format json``) as the rows that its tables have.

One object per process: names of kinds and operations, symbols of kernels, then records. Records are read one
by one. What stands in the tables as names is numbers here: a kind, an operation, a kernel, an agent.

Source:
    AMD, rocprofiler-sdk, "Using rocprofv3", output formats; its tests of the tool's JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream

MARK = '"rocprofiler-sdk-tool"'
"""Member by which the file is known."""
_RECORDS = frozenset(
    {"kernel_dispatch", "memory_copy", "hip_api", "hsa_api", "marker_api", "rccl_api", "memory_allocation"}
)


def is_rocprof_json(head: str) -> bool:
    """True if a JSON file that begins like this is rocprofv3's."""
    return MARK in head[:4096]


class _Names:
    """Names of one process: what its numbers stand for."""

    def __init__(self) -> None:
        self.operations: list[tuple[str, list[str]]] = []
        self.kernels: dict[int, str] = {}
        self.agents: dict[object, str] = {}
        self.texts: dict[object, str] = {}

    def take(self, member: str, value: object) -> None:
        """Take one member that stands before the records."""
        rows = value if isinstance(value, list) else []
        if member == "strings" and isinstance(value, dict):
            for kind in _objects(value.get("buffer_records")):
                operations = kind.get("operations")
                names = list(map(str, operations)) if isinstance(operations, list) else []
                self.operations.append((str(kind.get("kind", "")), names))
            for text in _objects(value.get("marker_api")):
                self.texts[text.get("key")] = str(text.get("value", ""))
        elif member == "kernel_symbols":
            for place, symbol in enumerate(_objects(rows)):
                number = symbol.get("kernel_id", place)
                name = symbol.get("formatted_kernel_name") or symbol.get("kernel_name", "")
                if isinstance(number, int):
                    self.kernels[number] = str(name)
        elif member == "agents":
            for place, agent in enumerate(_objects(rows)):
                self.agents[_handle(agent.get("id"))] = str(agent.get("node_id", place))

    def operation(self, record: Mapping[str, object]) -> tuple[str, str]:
        """The kind and the operation of a record; empty where it has none."""
        kind, operation = record.get("kind"), record.get("operation")
        if not isinstance(kind, int) or not 0 <= kind < len(self.operations):
            return "", ""
        name, operations = self.operations[kind]
        is_known = isinstance(operation, int) and 0 <= operation < len(operations)
        return name, operations[operation] if is_known and isinstance(operation, int) else ""


def read_rocprof_json(path: Path, on_fault: Callable[[str], None]) -> Iterator[tuple[int, dict[str, str]]]:
    """The records of all processes with their number, as rows of tables; up to a break, if there is one."""
    count = 0
    try:
        with Content(path) as content:
            stream = JsonStream(content)
            for member in stream.members():
                if member != MARK.strip('"'):
                    stream.value()
                    continue
                for record in _processes(stream):
                    count += 1
                    yield count, record
    except ContentError as fault:
        on_fault(f"{path.name}: {fault}; read up to there ({count} records)")


def _processes(stream: JsonStream) -> Iterator[dict[str, str]]:
    if stream.peek() == "{":  # one process alone
        yield from _of_process(stream)
        return
    for _ in stream.items():
        yield from _of_process(stream)


def _of_process(stream: JsonStream) -> Iterator[dict[str, str]]:
    names = _Names()
    for member in stream.members():
        if member != "buffer_records":
            names.take(member, stream.value())
            continue
        for kind in stream.members():
            if kind not in _RECORDS or stream.peek() != "[":
                stream.value()
                continue
            for _ in stream.items():
                record = stream.value()
                if isinstance(record, dict):
                    yield from _row(kind, record, names)


def _row(kind: str, record: Mapping[str, object], names: _Names) -> Iterator[dict[str, str]]:
    row = {
        "Start_Timestamp": str(record.get("start_timestamp", "")),
        "End_Timestamp": str(record.get("end_timestamp", "")),
        "Stream_Id": str(_handle(record.get("stream_id", ""))),
    }
    if kind == "kernel_dispatch":
        info = record.get("dispatch_info")
        if not isinstance(info, dict):
            return
        number = info.get("kernel_id")
        row["Kernel_Name"] = names.kernels.get(number, "") if isinstance(number, int) else ""
        row["Agent_Id"] = names.agents.get(_handle(info.get("agent_id")), "")
        row["Queue_Id"] = str(_handle(info.get("queue_id", "")))
        for ours, theirs in (("Grid_Size", "grid_size"), ("Workgroup_Size", "workgroup_size")):
            sizes = info.get(theirs)
            if isinstance(sizes, dict):
                row |= {f"{ours}_{axis}": str(sizes.get(axis.lower(), "")) for axis in "XYZ"}
        yield row
    elif kind == "memory_copy":
        way = names.operation(record)[1]
        row["Direction"] = way if way.startswith("MEMORY_COPY_") else f"MEMORY_COPY_{way}"
        for ours, theirs in (("Source_Agent_Id", "src_agent_id"), ("Destination_Agent_Id", "dst_agent_id")):
            row[ours] = names.agents.get(_handle(record.get(theirs)), "")
        yield row
    else:
        domain, function = names.operation(record)
        if kind == "marker_api":
            correlation = record.get("correlation_id")
            internal = correlation.get("internal") if isinstance(correlation, dict) else correlation
            function = names.texts.get(internal, function)
        yield {**row, "Domain": domain or kind.upper(), "Function": function}


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _handle(value: object) -> object:
    """The number in ``{"handle": 7}``, or the value itself."""
    found = value.get("handle") if isinstance(value, dict) else value
    return found if isinstance(found, int | str) else ""
