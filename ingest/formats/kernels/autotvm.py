"""Logs of TVM's AutoTVM, and TopHub's files of them: one JSON record a line, ``#`` before comments.

Two dialects: ``input``/``config``/``result``, and ``i``/``c``/``r``; the oldest have the configuration as the
last item of the input. Times are in seconds; a failure is an error number. The device is only named by
``-model=`` in the target, and the operator's arguments are its shape.

Source:
    Apache TVM, ``tvm/autotvm/record.py`` and ``measure.py`` (MeasureErrorNo), versions 0.4 to 0.14.
"""

import math
import re
import shlex
from collections.abc import Iterator

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.json_lines import json_lines
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.kernels.kernel_tuner import spread
from kg.errors import Fault
from kg.nouns.entities import Case

_STATUSES = {
    1: "forbidden:the template refuses the configuration",
    2: "failed:compilation on the host failed",
    3: "failed:compilation for the device failed",
    4: "failed:run on the device failed",
    5: "failed:wrong answer",
    6: "timeout:building timed out",
    7: "timeout:run timed out",
    8: "failed:unknown error",
}
"""Status of a measurement by TVM's error number; 0 is success."""

_TOPHUB = re.compile(r"(?:OLD_)?([a-z_]+)_v\d+\.\d+\.log")
_METASCHEDULE = ('["GetBlock"', '["EnterPostproc"', '["SampleCategorical"')
"""Instructions of a trace of MetaSchedule (TVM 0.22.0, ``src/tir/schedule/instruction.cc``)."""
_OLD, _NEW = ('"i"', '"r"'), ('"input"', '"config"', '"result"')


def sniff(head: Head) -> bool:
    """True if any line is a record of one of the dialects."""
    return any(
        line.startswith("{") and any(all(f"{key}:" in line for key in keys) for keys in (_NEW, _OLD))
        for line in (line.lstrip() for line in head.text.splitlines())
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each line."""
    named = _TOPHUB.fullmatch(content.path.name.removesuffix(".gz"))
    source = {"title": "AutoTVM tuning log", "path": content.reference}
    for place, value in json_lines(content, comment="#"):
        if isinstance(value, Fault):
            yield value
            continue
        try:
            yield records.case(_record(value, named[1] if named else "", records) | {"source": source})
        except RecordError as fault:
            yield Fault(place=place, reason=str(fault))
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))


def _record(line: object, backend: str, records: Records) -> dict[str, object]:
    """The record of a line.

    Raises:
        ContentError: It is none of AutoTVM.
    """
    if not isinstance(line, dict):
        raise ContentError("a record is an object")
    given, result = line.get("input", line.get("i")), line.get("result", line.get("r"))
    if isinstance(given, list) and given and isinstance(given[0], list):
        raise ContentError("a record of TVM's auto-scheduler: its schedule has no named parameters")
    if not isinstance(given, list) or not isinstance(result, list) or len(given) < 3:
        raise ContentError("a record has an input (target, operator, arguments) and a result")
    target, operator, arguments = given[:3]
    if not isinstance(target, str) or not isinstance(operator, str):
        raise ContentError("the input begins with target and operator")
    config = line.get("config", line.get("c", given[5] if len(given) > 5 else None))
    record: dict[str, object] = {
        "task": {"kind": "kernel", "op": operator, "shape": {"args": arguments}},
        "hardware": _hardware(target, backend, records),
        "config": _configuration(config),
        "outcome": _outcome(result),
    }
    version = line.get("tvm_version", line.get("t"))
    if isinstance(version, str) and version:
        record["software"] = {"tvm": version}
    return record


def _hardware(target: str, backend: str, records: Records) -> dict[str, object]:
    """The device of a target such as ``"opencl -device=mali -model=rk3399"``, and how code reaches it."""
    try:
        words = shlex.split(target)
    except ValueError as fault:
        raise ContentError("the target has an open quotation") from fault
    parts = (word.lstrip("-").partition("=") for word in words if word.startswith("-"))
    options = {name: value for name, _, value in parts}
    model = options.get("model", "")
    if not model or model == "unknown":
        model = records.context.hardware
        if not model and (model := options.get("mcpu", "")):
            records.guess(f"hardware {model!r} is taken from -mcpu, as the target has no -model")
        if not model:
            raise ContentError(f"the target names no device (-model=): {target[:80]!r}")
    kind = words[0] if words else ""
    return {"name": model, "backend": backend or options.get("device") or kind, "target": target}


def _configuration(raw: object) -> dict[str, object]:
    """Knob to value; a tile knob has a list. The place in the template's space is kept as the last."""
    if not isinstance(raw, dict):
        raise ContentError("a record has a configuration")
    entities = raw.get("entity", raw.get("e"))
    if not isinstance(entities, list):
        raise ContentError("the configuration lists no knobs (entity)")
    found: dict[str, object] = {}
    for entity in entities:
        if not isinstance(entity, list) or len(entity) != 3 or not isinstance(entity[0], str):
            raise ContentError("a knob has a name, a kind and a value")
        found[entity[0]] = entity[2]
    if isinstance(raw.get("t"), str) and raw["t"]:
        found["template"] = raw["t"]
    index = raw.get("index", raw.get("i"))
    if index is not None:
        found["template_index"] = index
    return found


def _outcome(result: list[object]) -> dict[str, object]:
    """Mean time, or the failure."""
    outcome: dict[str, object] = {"metric": "kernel_time", "unit": "s", "value": None}
    if len(result) < 2:
        raise ContentError("a result has costs and an error number")
    costs, error = result[:2]
    if isinstance(error, bool) or not isinstance(error, int):
        raise ContentError("a result has costs and an error number")
    if error != 0:
        return outcome | {"status": _STATUSES.get(error, f"failed:error {error}")}
    if not isinstance(costs, list) or not costs or not all(_is_time(cost) for cost in costs):
        raise ContentError("the costs are no times, though the error number is 0")
    return outcome | {"value": math.fsum(costs) / len(costs), "status": "ok"} | spread(costs)


def _is_time(cost: object) -> bool:
    return isinstance(cost, int | float) and not isinstance(cost, bool) and abs(cost) < 1e300


def companion(head: Head) -> str:
    """The reason why records of TVM's later tuner are not read; empty for other files."""
    is_trace = head.text.lstrip().startswith("[") and any(mark in head.text for mark in _METASCHEDULE)
    return "records of TVM's MetaSchedule: its traces have no named parameters" if is_trace else ""


FORMAT = Format(
    name="autotvm",
    title="AutoTVM or TopHub log (input, config, result)",
    sniff=sniff,
    read=read,
    companion=companion,
)
