"""Ray Tune: a folder a trial, with ``params.json`` and ``result.json`` or ``error.txt``.

The file with the end of a trial is read together with its parameters. A trial that reported several
times counts once, with its last report, as Ray itself has it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ingest.door.columns import quantity
from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.documents import SMALL
from ingest.files.json_lines import json_lines, parse
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, subject_of
from kg.errors import Fault
from kg.nouns.entities import Case

_RAY = {
    *(
        "timestamp",
        "checkpoint_dir_name",
        "done",
        "training_iteration",
        "trial_id",
        "date",
        "pid",
        "hostname",
    ),
    *("time_this_iter_s", "time_total_s", "node_ip", "config", "time_since_restore", "experiment_id"),
    *("iterations_since_restore", "experiment_tag", "timesteps_total", "episodes_total", "should_checkpoint"),
    *("timesteps_since_restore", "warmup_time", "trial_log_path"),
}
"""Fields that Ray adds to each report."""
_LAST = 4096


def sniff(head: Head) -> bool:
    """True if it is the result or the error of a trial."""
    if '"trial_id"' in head.text and '"training_iteration"' in head.text:
        return head.name == "result.json" or ('"config"' in head.text and head.name.endswith("json"))
    return head.name == "error.txt" and head.path.with_name("params.json").is_file() and not head.flaw


def companion(head: Head) -> str:
    """The reason why a trial's other files are not read by themselves; empty for other files."""
    if head.name != "params.json":
        return ""
    ends = [name for name in ("result.json", "error.txt") if head.path.with_name(name).is_file()]
    return f"read together with {ends[0]} beside it" if ends else ""


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The case of the trial, one for each of its metrics."""
    folder = content.path.absolute().parent
    error = folder / "error.txt"
    try:
        if content.path.name == "error.txt":
            yield from _failed(content, records, folder)
            return
        last, count = None, 0
        for place, line in json_lines(content):
            if isinstance(line, Fault):
                yield line
            elif isinstance(line, dict):
                last, count = line, count + 1
            else:
                yield Fault(place=place, reason="a report is an object")
        if last is None:
            yield Fault(place="", reason="no report")
        elif error.is_file() and last.get("done") is not True:
            records.guess(f"{count} reports before the trial's error are passed over; error.txt has its end")
        else:
            if count > 1:
                records.guess("of several reports of a trial the last one is taken, as Ray does")
            yield from _ended(content, records, last)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))


def _ended(content: Content, records: Records, report: dict[str, object]) -> Iterator[Case | Fault]:
    config = report.get("config")
    if not isinstance(config, dict):
        config = _parameters(content.path.absolute().parent)
    found = {
        name: (measured, value)
        for name, value in report.items()
        if name not in _RAY and not isinstance(value, bool) and isinstance(value, int | float)
        if (measured := quantity(name)) is not None and measured.unit
    }
    if not found:
        names = ", ".join(sorted(set(report) - _RAY)) or "none"
        raise ContentError(f"no metric with a unit in its name among: {names[:200]}")
    for measured, value in found.values():
        outcome = {"metric": measured.metric, "unit": measured.unit, "value": value, "status": "ok"}
        yield case_or_fault(records, "last report", _record(content, records, config, outcome))


def _failed(content: Content, records: Records, folder: Path) -> Iterator[Case | Fault]:
    """The failure of a trial, by the metrics that its neighbours report."""
    result = folder / "result.json"
    if result.is_file() and _last_report(result).get("done") is True:
        records.guess("the trial ended well after the error in error.txt, which is passed over")
        return
    words = content.read_all(SMALL).decode(errors="replace").strip().splitlines()
    reason = words[-1].strip()[:500] if words else "no words"
    metrics = _metrics_of_neighbours(folder)
    if not metrics:
        raise ContentError("no other trial tells which metric this one failed to give")
    config = _parameters(folder)
    for metric, symbol in metrics:
        outcome = {"metric": metric, "unit": symbol, "value": None, "status": "failed", "reason": reason}
        yield case_or_fault(records, "", _record(content, records, config, outcome))


def _record(
    content: Content, records: Records, config: dict[str, object], outcome: Mapping[str, object]
) -> dict[str, object]:
    folder = content.path.absolute().parent
    about = subject_of(
        {}, records, name=folder.parent.name, hints=[folder.name], what=f"experiment {folder.parent.name!r}"
    )
    return {
        "task": about.task,
        "hardware": about.hardware,
        "config": config,
        "outcome": outcome,
        "source": {"title": f"Ray Tune experiment {folder.parent.name}", "path": content.reference},
    }


def _metrics_of_neighbours(folder: Path) -> list[tuple[str, str]]:
    for result in sorted(folder.parent.glob("*/result.json")):
        report = _last_report(result)
        measured = [quantity(name) for name in report if name not in _RAY]
        if found := [(item.metric, item.unit) for item in measured if item is not None and item.unit]:
            return found
    return []


def _last_report(path: Path) -> dict[str, object]:
    """The last whole line of a result; empty if it has none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - (1 << 20)))
            lines = stream.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines[-_LAST:]):
        try:
            report = parse(line)
        except ContentError:
            continue
        if isinstance(report, dict):
            return report
    return {}


def _parameters(folder: Path) -> dict[str, object]:
    """The content of ``params.json``.

    Raises:
        ContentError: There is none, or it is no object.
    """
    path = folder / "params.json"
    try:
        if path.stat().st_size > SMALL:
            raise ContentError("params.json beside it is too long")
        found = parse(path.read_bytes())
    except OSError as fault:
        raise ContentError(f"params.json beside it cannot be read ({fault.strerror})") from fault
    if not isinstance(found, dict):
        raise ContentError("params.json beside it is no object")
    return found


FORMAT = Format(
    name="ray-tune",
    title="Ray Tune trial (result.json or error.txt, with params.json)",
    sniff=sniff,
    read=read,
    beside=None,
    companion=companion,
)
