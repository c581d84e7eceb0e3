"""Results of the Kernel Tuning Toolkit, as JSON: each configuration with its status and duration.

``Metadata`` names device and unit of time. A problem size is not stated, so all rows of a kernel on a device
count as one problem. Hardware counters are not kept: a case has one measurement.

Source:
    github.com/HiPerCoRe/KTT, ``ResultStatus.h`` and the JSON serialiser, version 2.1.
"""

from collections.abc import Iterator, Mapping

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream, UnfinishedError
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from kg.errors import Fault
from kg.nouns.entities import Case

STATUSES = {
    "Ok": "ok",
    "ComputationFailed": "failed:ComputationFailed",
    "ValidationFailed": "failed:ValidationFailed",
    "CompilationFailed": "failed:CompilationFailed",
    "DeviceLimitsExceeded": "forbidden:DeviceLimitsExceeded",
}


def sniff(head: Head) -> bool:
    """True if metadata of KTT come with results."""
    text = head.text
    return text.lstrip().startswith("{") and all(
        name in text for name in ('"Metadata"', '"TimeUnit"', '"Results"')
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each result."""
    stream = JsonStream(content)
    metadata: dict[str, object] = {}
    number = -1
    try:
        for member in stream.members():
            if member == "Metadata":
                value = stream.value()
                metadata = value if isinstance(value, dict) else {}
            elif member == "Results":
                for _ in stream.items():
                    number += 1
                    try:
                        yield records.case(_record(stream.value(), metadata, content, records))
                    except RecordError as fault:
                        yield Fault(place=f"Results[{number}]", reason=str(fault))
            else:
                stream.value()
    except UnfinishedError:
        records.guess("the file is unfinished: it breaks off; the results before are whole")
    except ContentError as fault:
        yield Fault(place="" if number < 0 else f"after Results[{number}]", reason=str(fault))


def _record(
    result: object, metadata: Mapping[str, object], content: Content, records: Records
) -> dict[str, object]:
    if not isinstance(result, dict):
        raise RecordError(["a result is an object"])
    pairs = result.get("Configuration")
    if not isinstance(pairs, list):
        raise RecordError(["Configuration: missing"])
    config = {}
    for pair in pairs:
        if not isinstance(pair, dict) or not isinstance(pair.get("Name"), str) or "Value" not in pair:
            raise RecordError(["Configuration: a parameter has a Name and a Value"])
        config[pair["Name"]] = pair["Value"]
    state = str(result.get("Status"))
    outcome: dict[str, object] = {
        "metric": "kernel_time",
        "unit": metadata.get("TimeUnit"),
        "value": None,
        "status": STATUSES.get(state, state),
    }
    if state == "Ok":
        outcome["value"] = result.get("TotalDuration")
    if _has_counters(result):
        records.guess("hardware counters of the runs are not kept")
    records.guess(NO_SIZE)
    record: dict[str, object] = {
        "task": kernel_task(result.get("KernelName")),
        "hardware": {"name": metadata.get("Device")},
        "config": config,
        "outcome": outcome,
        "source": {"title": "Kernel Tuning Toolkit results", "path": content.reference},
    }
    version = metadata.get("KttVersion")
    if isinstance(version, str) and version:
        record["software"] = {"ktt": version}
    return record


NO_SIZE = "the problem size is not in the file: its rows count as one problem for each kernel"


def kernel_task(name: object) -> dict[str, object]:
    """The task of a kernel that is known only by its name."""
    return {"kind": "kernel", "op": name, "shape": {}}


def _has_counters(result: Mapping[str, object]) -> bool:
    runs = result.get("ComputationResults")
    return isinstance(runs, list) and any(isinstance(run, dict) and "ProfilingData" in run for run in runs)


FORMAT = Format(
    name="ktt",
    title="Kernel Tuning Toolkit results (Metadata and Results)",
    sniff=sniff,
    read=read,
)
