"""GPTune's history databases: every evaluation of a function with its task, parameters and results.

Several objectives give a case each. Numbers may stand as text; null is a run that failed. A crash leaves the
same file under ``.json.temp``, sometimes cut off: its complete part is read. Units are not stated: a time
is taken as seconds, anything else as a pure number, and less is better, as GPTune minimises.
"""

import math
from collections.abc import Iterator, Mapping

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream, UnfinishedError
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.kernels.kernel_tuner import spread
from ingest.questions.bounds import number_of
from kg.errors import Fault
from kg.nouns.entities import Case

_TIMES = {"r", "time", "runtime", "run_time", "elapsed", "walltime", "wall_time", "execution_time"}
"""Names of objectives that are seconds; ``r`` is what GPTune's own examples call the run time."""


def sniff(head: Head) -> bool:
    """True if the file names a tuning problem, or lists evaluations of one."""
    text = head.text
    return text.lstrip().startswith("{") and (
        '"tuning_problem_name"' in text or ('"func_eval"' in text and '"tuning_parameter"' in text)
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each evaluation and objective."""
    stream = JsonStream(content)
    name = ""
    number = -1
    try:
        for member in stream.members():
            if member == "func_eval":
                for _ in stream.items():
                    number += 1
                    evaluation = stream.value()
                    yield from _cases(evaluation, name, f"func_eval[{number}]", content, records)
            elif member == "tuning_problem_name":
                value = stream.value()
                name = value if isinstance(value, str) else ""
            else:
                stream.value()
    except UnfinishedError:
        records.guess("the file is unfinished: it breaks off; the evaluations before are whole")
    except ContentError as fault:
        yield Fault(place="" if number < 0 else f"after func_eval[{number}]", reason=str(fault))


def _cases(
    evaluation: object, name: str, place: str, content: Content, records: Records
) -> Iterator[Case | Fault]:
    if not isinstance(evaluation, dict):
        yield Fault(place=place, reason="an evaluation is an object")
        return
    results = evaluation.get("evaluation_result")
    if not isinstance(results, dict) or not results:
        yield Fault(place=place, reason="an evaluation without evaluation_result")
        return
    if not name:
        name = content.path.name.partition(".")[0]
        records.guess(f"operator {name!r} is taken from the file name")
    details = evaluation.get("evaluation_detail")
    for metric, value in results.items():
        shape = evaluation.get("task_parameter")
        record = {
            "task": {"kind": "hpc", "op": name, "shape": shape, "objective": metric},
            "hardware": _hardware(evaluation, records),
            "config": evaluation.get("tuning_parameter"),
            "outcome": _outcome(metric, value, details, records),
            "source": {"title": "GPTune history database", "path": content.reference},
            "software": _software(evaluation.get("software_configuration")),
        }
        try:
            yield records.case(record)
        except RecordError as fault:
            yield Fault(place=f"{place}.{metric[:40]}", reason=str(fault))


def _hardware(evaluation: Mapping[str, object], records: Records) -> dict[str, object]:
    machine = evaluation.get("machine_configuration")
    if not isinstance(machine, dict) or not isinstance(machine.get("machine_name"), str):
        name = records.context.hardware
        if not name:
            name = "unknown"
            records.guess("hardware 'unknown' stands for a machine that the file does not name")
        named: dict[str, object] = {"name": name}
        return {**named, "machine": machine} if isinstance(machine, dict) and machine else named
    return {"name": machine["machine_name"], "machine": machine}


def _outcome(metric: str, value: object, details: object, records: Records) -> dict[str, object]:
    is_time = metric.lower() in _TIMES
    meant = "seconds" if is_time else "a pure number"
    records.guess(f"objective {metric!r}: {meant}, less is better; no unit is stated")
    outcome: dict[str, object] = {
        "metric": metric,
        "unit": "s" if is_time else "",
        "value": None,
        "better": "lower",
    }
    number = number_of(value)
    if value is None:
        return outcome | {"status": "failed:no result"}
    if number is None:
        return outcome | {"status": "ok", "value": value}
    if not math.isfinite(number):
        return outcome | {"status": f"failed:a result of {number} marks a failure"}
    repeated = details.get(metric) if isinstance(details, dict) else None
    times = repeated.get("evaluations") if isinstance(repeated, dict) else None
    repeats = spread(times) if isinstance(times, list) else {}
    return outcome | {"status": "ok", "value": number} | repeats


def _software(raw: object) -> dict[str, str]:
    """Versions by name: ``{"gcc": {"version_split": [8, 3, 0]}}`` is gcc 8.3.0."""
    found = {}
    for name, item in raw.items() if isinstance(raw, dict) else ():
        version = item.get("version_split", item.get("version")) if isinstance(item, dict) else item
        if isinstance(version, list) and version:
            found[str(name)] = ".".join(str(part) for part in version[:8])
        elif isinstance(version, str | int | float) and not isinstance(version, bool):
            found[str(name)] = str(version)
    return found


FORMAT = Format(
    name="gptune",
    title="GPTune history database (tuning_problem_name and func_eval)",
    sniff=sniff,
    read=read,
)
