"""MLPerf training logs: ``:::MLLOG`` lines in the noise of a console, with the system's JSON beside them.

The time to train is ``run_stop`` less ``run_start``, and counts only if ``run_stop`` says success. Settings
are the values logged before the run starts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ingest.door.records import Records
from ingest.files.content import MAXIMUM_LINE, Content, ContentError
from ingest.files.documents import SMALL
from ingest.files.json_lines import parse
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case

_MARK = b":::MLLOG"
_SHAPE = {"max_sequence_length", "sequence_length", "train_samples"}
_NOT_SET = re.compile(
    r"submission_.*|cache_clear|init_(start|stop)|run_(start|stop)|seed|eval_.*|.*_(start|stop)|status|"
    r"tracked_stats|train_loss|samples_count|target_accuracy|reference_.*|s[0-9]_.*"
)
_LOOKED_AT = 200
"""JSON files beside a log, or of all systems, that are looked at."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """The run that a log describes, as far as it has been read."""

    benchmark: str = ""
    start_ms: float | None = None
    stop_ms: float | None = None
    status: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    lines: int = 0


def sniff(head: Head) -> bool:
    """True if it has a line of MLPerf's."""
    return ":::MLLOG" in head.text


def companion(head: Head) -> str:
    """The reason why a system's description is not read by itself; empty for other files."""
    is_one = '"accelerator_model_name"' in head.text and '"number_of_nodes"' in head.text
    return "the system of MLPerf logs, read together with them" if is_one else ""


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The case of the run, if the log is complete."""
    run = _Run()
    try:
        for place, line in content.lines():
            if line is None:
                yield Fault(place=f"line {place}", reason=f"longer than {MAXIMUM_LINE >> 20} MiB")
                continue
            at = line.find(_MARK)
            if at < 0:
                continue
            try:
                _take(run, parse(line[at + len(_MARK) :]))
            except ContentError as fault:
                yield Fault(place=f"line {place}", reason=str(fault))
        yield case_or_fault(records, "", _record(run, content, records))
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))


def _take(run: _Run, event: object) -> None:
    if not isinstance(event, dict) or not isinstance(event.get("key"), str):
        raise ContentError("an event has a key")
    run.lines += 1
    key, value = event["key"], event.get("value")
    metadata = event.get("metadata")
    at = event.get("time_ms")
    moment = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
    if key == "run_start" and run.start_ms is None:
        run.start_ms = moment
    elif key == "run_stop" and run.stop_ms is None:
        run.stop_ms = moment
        status = metadata.get("status") if isinstance(metadata, dict) else None
        run.status = str(status or (value if isinstance(value, str) else ""))
    elif key == "submission_benchmark" and isinstance(value, str):
        run.benchmark = value
    elif run.start_ms is None and _NOT_SET.fullmatch(key) is None and isinstance(value, int | float | str):
        run.settings.setdefault(key, value)


def _record(run: _Run, content: Content, records: Records) -> dict[str, object]:
    missing = [
        name
        for name, item in (
            ("submission_benchmark", run.benchmark or None),
            ("run_start", run.start_ms),
            ("run_stop", run.stop_ms),
        )
        if item is None
    ]
    if missing:
        raise ContentError(
            f"without {', '.join(missing)} among its {run.lines} events there is no time to train"
        )
    outcome: dict[str, object] = {"metric": "run_time", "unit": "ms", "value": None}
    if run.status == "success":
        outcome |= {"value": (run.stop_ms or 0.0) - (run.start_ms or 0.0), "status": "ok"}
    else:
        outcome |= {"status": "failed", "reason": f"run_stop says {run.status or 'nothing of success'}"[:200]}
    hardware, software = _system(content.path.absolute(), records)
    shape = {name: value for name, value in run.settings.items() if name in _SHAPE}
    return {
        "task": {"kind": "training", "op": "time_to_train", "model": run.benchmark, "shape": shape},
        "hardware": hardware,
        "config": {name: value for name, value in run.settings.items() if name not in _SHAPE},
        "outcome": outcome,
        "software": software,
        "source": {"title": "MLPerf training log", "path": content.reference},
    }


def _system(log: Path, records: Records) -> tuple[dict[str, object], dict[str, object]]:
    """Hardware and software of the system that a log is from.

    Raises:
        ContentError: No description is there, or several.
    """
    found = _descriptions(log.parent)
    if not found and len(log.parents) > 3:  # results/SYSTEM/BENCHMARK/result_0.txt, systems/SYSTEM.json
        found = _descriptions(log.parents[3] / "systems", name=f"{log.parents[1].name}.json")
    if len(found) > 1:
        raise ContentError(f"{len(found)} system descriptions beside it: which one it ran on is not said")
    if not found:
        if records.context.hardware:
            return {"name": records.context.hardware}, {}
        raise ContentError("no system description (JSON) beside it; tell the hardware with --hardware")
    system = found[0]
    nodes, each = _count(system.get("number_of_nodes")), _count(system.get("accelerators_per_node"))
    hardware: dict[str, object] = {"name": system["accelerator_model_name"]}
    if nodes and each:
        hardware |= {"count": nodes * each, "nodes": nodes}
    link = system.get("accelerator_interconnect")
    if isinstance(link, str) and link.strip():
        hardware["interconnect"] = link.strip()
    framework = system.get("framework")
    return hardware, {"framework": framework} if isinstance(framework, str) and framework.strip() else {}


def _descriptions(folder: Path, name: str = "*.json") -> list[dict[str, object]]:
    found = []
    if not folder.is_dir():
        return []
    for path in sorted(folder.glob(name))[:_LOOKED_AT]:
        try:
            system = parse(path.read_bytes()) if path.stat().st_size <= SMALL else None
        except (OSError, ContentError):
            continue
        if isinstance(system, dict) and isinstance(system.get("accelerator_model_name"), str):
            found.append(system)
    return found


def _count(raw: object) -> int:
    """A number of things from text; 0 if it is none."""
    return int(str(raw)) if str(raw).isdigit() and len(str(raw)) < 8 else 0


FORMAT = Format(
    name="mllog",
    title="MLPerf log (:::MLLOG lines)",
    sniff=sniff,
    read=read,
    beside=None,
    companion=companion,
)
