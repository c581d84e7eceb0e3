"""Common parts of Kernel Tuner's file formats: rows with a time each, and names that only file names have."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.door.records import RecordError, Records
from ingest.files.content import Content
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.nouns.values import as_value
from kg.terms.units import unit

EXTRA_METRICS = {
    "nvml_energy": ("energy", "J"),
    "ps_energy": ("energy", "J"),
    "nvml_power": ("power", "W"),
    "ps_power": ("power", "W"),
}
"""Instruments' readings, each a measurement of its own. Rates such as GFLOP/s say the time once more."""

_FORBIDDEN = {"InvalidConfig", "constraints"}
_SUFFIXES = {"t1", "t4", "unfinished"}


@dataclass(slots=True)
class Space:
    """Facts that all rows of a file have in common.

    Attributes:
        operator: Name of the benchmark.
        device: Name of the device, as reported.
        problem_size: As the file has it; None if it does not say.
        fixed: Parameters with one value: part of the problem.
        precision: Number format; None if no file says.
        time_unit: Unit of the times.
        source: Where the rows are from.
    """

    operator: str
    device: str
    problem_size: object = None
    fixed: dict[str, object] = field(default_factory=dict)
    precision: str | None = None
    time_unit: str = "ms"
    source: dict[str, object] = field(default_factory=dict)

    def cases(
        self,
        configuration: Mapping[str, object],
        readings: Mapping[str, object],
        place: str,
        records: Records,
    ) -> Iterator[Case | Fault]:
        """A case for each metric of one row.

        Args:
            configuration: Parameter to value.
            readings: ``time`` with a number or the name of a failure, ``times``, and other instruments.
            place: Where the row is, for faults.
            records: The door.
        """
        shape: dict[str, object] = {}
        if self.problem_size is not None:
            shape["problem_size"] = self.problem_size
        if self.fixed:
            shape["fixed"] = self.fixed
        task = {"kind": "kernel", "op": self.operator, "shape": shape, "dtype": self.precision}
        config = {name: item for name, item in configuration.items() if name not in self.fixed}
        time = _outcome("kernel_time", self.time_unit, readings.get("time"))
        times = readings.get("times")
        if isinstance(times, list) and time["value"] is not None:
            time |= spread(times)
        outcomes = [time]
        if time["status"] == "ok":
            outcomes += [
                _outcome(metric, unit, readings[name])
                for name, (metric, unit) in EXTRA_METRICS.items()
                if isinstance(readings.get(name), int | float)
            ]
            outcomes += _energy(outcomes, time, records)
        for outcome in outcomes:
            try:
                yield records.case(
                    {
                        "task": task,
                        "hardware": {"name": self.device},
                        "config": config,
                        "outcome": outcome,
                        "source": self.source,
                    }
                )
            except RecordError as fault:
                yield Fault(place=place, reason=str(fault))


def _energy(
    outcomes: list[dict[str, object]], time: Mapping[str, object], records: Records
) -> list[dict[str, object]]:
    """The energy of a row that has power and time alone."""
    values = {str(outcome["metric"]): outcome["value"] for outcome in outcomes}
    power, seconds = values.get("power"), time["value"]
    if "energy" in values or not isinstance(power, int | float) or not isinstance(seconds, int | float):
        return []
    records.guess("energy is not in the file; it is power times time")
    joule = float(power) * unit(str(time["unit"])).to_si(float(seconds))
    return [_outcome("energy", "J", joule)]


def space_of(
    content: Content, records: Records, *, kernel: str = "", device: str = "", problem_size: object = None
) -> Space:
    """The facts that the rows of a file share, from the file, its name, and a T1 file read before.

    Args:
        content: The file.
        records: The door; takes note of what had to be guessed.
        kernel: Name of the kernel that the file states; empty if none.
        device: Name of the device that the file states; empty if none.
        problem_size: Size that the file states; None if none.
    """
    named, found = name_and_device(content.path, records)
    stated = device or records.context.hardware
    is_named = bool(found) and (not stated or records.hardware(found)[0] == records.hardware(stated)[0])
    operator = (named if is_named else "") or kernel or _stem(content.path)
    if operator != kernel:
        says = f"; the file calls its kernel {kernel!r}" if kernel else ""
        records.guess(f"operator {operator!r} is taken from the file name{says}")
    if not device and (device := records.context.hardware):
        records.guess(f"the file names no hardware; the option's {device!r} is taken")
    elif not device:
        device = found or "unknown"
        origin = "is taken from the file name" if found else "stands for a device that the file does not name"
        records.guess(f"hardware {device!r} {origin}")
    source: dict[str, object] = {"title": "Kernel Tuner results", "path": content.reference}
    if kernel and kernel != operator:
        source["note"] = f"kernel {kernel}"
    space = Space(operator=operator, device=device, problem_size=problem_size, source=source)
    declared = records.spaces.get(operator)
    if declared is not None:
        space.precision = declared.precision
        space.fixed = dict(declared.fixed_parameters())
        if problem_size is None:
            space.problem_size = declared.problem_size
    return space


def name_and_device(path: Path, records: Records) -> tuple[str, str]:
    """Benchmark and device in a file name such as ``convolution_A100.json.gz`` or ``convolution/A100.json``.

    Returns:
        Both empty if no part of the name is known hardware. The device is the longest such part.
    """
    words = _stem(path).split("_")
    runs = [(end - start, start) for start in range(len(words)) for end in range(start + 1, len(words) + 1)]
    for length, start in sorted(runs, key=lambda run: (-run[0], run[1])):
        device = " ".join(words[start : start + length])
        is_whole = length == len(words)
        if length <= 6 and (records.hardware(device)[1] if is_whole else records.is_device(device)):
            return "_".join(words[:start]) or path.parent.name, device
    return "", ""


def spread(times: list[object]) -> dict[str, object]:
    """Sample standard deviation and number of repeated times; empty if they are no numbers."""
    numbers = [float(item) for item in times if isinstance(item, int | float) and not isinstance(item, bool)]
    count = len(numbers)
    if count != len(times) or count == 0 or not all(0 < number < 1e20 for number in numbers):
        return {}
    if count == 1:
        return {"n": 1}
    mean = math.fsum(numbers) / count
    variance = math.fsum((number - mean) ** 2 for number in numbers) / (count - 1)
    return {"n": count, "std": math.sqrt(variance)}


def single_values(rows: list[Mapping[str, object]]) -> dict[str, object]:
    """Parameters that have one value in all of several rows."""
    if len(rows) < 2:
        return {}
    first = rows[0]
    return {
        name: value
        for name, value in first.items()
        if all(name in row and row[name] == value for row in rows)
    }


def single_choices(parameters: object) -> dict[str, object]:
    """Parameters of a ``tune_params`` table that have one value to choose from."""
    if not isinstance(parameters, dict):
        return {}
    return {
        name: values[0]
        for name, values in parameters.items()
        if isinstance(values, list) and len(values) == 1
    }


def is_storable(raw: object) -> bool:
    """True if something is a number, text or list of such."""
    try:
        as_value(raw)
    except ValueError:
        return False
    return True


def _outcome(metric: str, unit: str, value: object) -> dict[str, object]:
    if isinstance(value, str):
        status = f"forbidden:{value}" if value in _FORBIDDEN else f"failed:{value}"
        return {"metric": metric, "unit": unit, "value": None, "status": status}
    return {"metric": metric, "unit": unit, "value": value, "status": "ok"}


def _stem(path: Path) -> str:
    words = path.name.split(".")[0].split("_")
    while len(words) > 1 and words[-1].lower() in _SUFFIXES:
        words.pop()
    return "_".join(words)
