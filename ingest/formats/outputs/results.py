"""Results of benchmarks of servers and logs of trainers, by the tables of ``data/outputs``.

A run becomes a case for each metric. Hardware, number of devices, settings and release are those that the
file states, else those of the option and of the launch that was told with it; a result of another model than
the launch's is not taken in.
"""

import re
import statistics
from collections.abc import Iterator, Sequence

from ingest.door.records import Records
from ingest.files.content import Content
from ingest.files.sniffing import Head, read_head
from ingest.formats.format import Format
from ingest.formats.outputs.launched import launched
from ingest.formats.outputs.statements import StatedRun, number_in, runs_of
from ingest.formats.outputs.tool import Tool, part_of, tool_of
from ingest.formats.trackers.experiments import case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.terms.metrics import METRICS
from kg.terms.model_name import read_name
from kg.terms.units import unit

_PROTOCOLS = re.compile(r"openai.*|custom|http|grpc|tgi|none")
"""Words for how a benchmark speaks, not for what serves."""
_OPERATORS = {"serving": "serve", "training": "train"}
_LOAD = re.compile(r"concurrency[_=-]?(\d+)")
"""A load in the name of a file or of its folder, as AIPerf names its folders."""
_SIZES = ("concurrency", "depth", "global_batch", "seq_len")
_WARM = 1.5
"""First steps that take so many times the median are those in which memory is laid out and kernels are
compiled; a choice between the usual spread of some per cent and compilations of many times a step."""
_FEW = 3
"""Steps with a median; of fewer the last is what the others are held against."""
_CLOCK = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d)")
_PARTS = re.compile(r"(?<![\d.])([\d.]++) ?(d|h|m|s)")
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def sniff(head: Head) -> bool:
    """True if the file has the signs of one of the tools."""
    return tool_of(head.text) is not None and not _repeats(head)


def companion(head: Head) -> str:
    """The reason that a file is not read by itself: its summary is, or the runs that it repeats."""
    return "the runs of the sweep beside it are read" if _repeats(head) else part_of(head.text)


def _repeats(head: Head) -> bool:
    """True if it only repeats the runs of a vllm sweep that lie beside it as files."""
    is_summary = head.name == "summary.json" and '"run_number"' in head.text
    return is_summary and any(head.path.parent.glob("run=*.json"))


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each metric of each run."""
    tool = tool_of(read_head(content.path).text)
    for run in runs_of(content, tool) if tool is not None else ():
        if isinstance(run, Fault):
            yield run
        elif tool is not None:
            yield from _cases(run, tool, content, records)


def _cases(run: StatedRun, tool: Tool, content: Content, records: Records) -> Iterator[Case | Fault]:
    outcomes = list(_outcomes(run, tool, records))
    if reason := _why_none(run, tool, outcomes):
        yield Fault(place=run.place, reason=reason)
        return
    record = launched(_record(run, tool, content, records), records)
    if isinstance(record, str):
        yield Fault(place=run.place, reason=record)
        return
    for outcome in outcomes:
        yield case_or_fault(
            records, f"{run.place} {outcome['metric']}".strip(), record | {"outcome": outcome}
        )


def _why_none(run: StatedRun, tool: Tool, outcomes: Sequence[object]) -> str:
    """The reason that a run is no measurement; empty if it is one."""
    if run.faults:
        return "; ".join(run.faults)
    if any(str(run.first([name])).lower() == "true" for name in tool.aborted):
        return "the run was broken off"
    if run.number(tool.facts.get("completed", ())) == 0:
        return "no request was answered"
    if outcomes:
        return ""
    names = ", ".join(one[0].rpartition(" ")[0] for one in tool.metrics.values() if one)
    return f"none of {names} is in it: the run was perhaps cut short, or tells percentiles alone"


def _outcomes(run: StatedRun, tool: Tool, records: Records) -> Iterator[dict[str, object]]:
    taken: set[str] = set()
    for metric, candidates in tool.metrics.items():
        wanted = tool.where.get(metric, {})
        if any((run.number([name]) or 0.0) != value for name, value in wanted.items()):
            continue
        if metric == "throughput" and taken and tool.where:  # the rate of a part stands under its own name
            continue
        medians = tool.medians.get(metric, ())
        found = next(
            filter(None, (_measured(run, tool, one, records) for one in (*candidates, *medians))), None
        )
        if found is None and metric == "step_time" and tool.clock:
            found = _by_clock(run, tool.clock)
        if found is None:
            continue
        taken.add(metric)
        if found.pop("name") in {one.rpartition(" ")[0] for one in medians}:
            records.guess(f"{metric}: the file has no mean; its median is taken")
        spread = _spread(run, tool.spread.get(metric, ()))
        better = {} if metric in METRICS else {"better": "higher"}
        yield {"metric": metric, "status": "ok", **found, **spread, **better}


def _measured(run: StatedRun, tool: Tool, candidate: str, records: Records) -> dict[str, object] | None:
    """The mean of a name's numbers with their unit; None where there is none, or nothing but zero."""
    name, _, symbol = candidate.rpartition(" ")
    numbers = run.numbers(name)[-1:] if name in tool.last else run.numbers(name)
    if tool.phase == "training":
        numbers = _warmed(numbers, name, records)
    if not any(numbers):
        return None
    written = run.units.get(name, symbol)
    if unit(written).dimension is not unit(symbol).dimension:
        run.faults.append(f"{name}: {written}, where {symbol} is expected")
        return None
    if symbol == "steps/s":
        numbers, written = [1 / number for number in numbers if number], "s"
    found: dict[str, object] = {"name": name, "value": statistics.fmean(numbers), "unit": written}
    if len(numbers) > 1:
        found |= {"std": statistics.stdev(numbers), "n": len(numbers)}
    return found


def _warmed(numbers: list[float], name: str, records: Records) -> list[float]:
    """The steps without those at the beginning that are out of line."""
    middle = statistics.median(numbers) if len(numbers) >= _FEW else numbers[-1] if numbers else 0.0
    first = next((at for at, number in enumerate(numbers) if middle / _WARM <= number <= middle * _WARM), 0)
    if first:
        records.guess(f"{name}: the first {first} of {len(numbers)} steps are left out, as they warm up")
    return numbers[first:]


def _by_clock(run: StatedRun, clock: Sequence[str]) -> dict[str, object] | None:
    """Seconds a step between the first and the last line that tell time and steps."""
    times, steps = (run.values.get(name, []) for name in clock)
    told = [(_seconds(str(time)), number_in(step)) for time, step in zip(times, steps, strict=False)]
    points = [(time, step) for time, step in told if time is not None and step is not None]
    if not points or points[-1][1] <= points[0][1] or points[-1][0] <= points[0][0]:
        return None
    (start, first), (end, last) = points[0], points[-1]
    return {"name": clock[0], "value": (end - start) / (last - first), "unit": "s"}


def _seconds(text: str) -> float | None:
    """Seconds of ``0:01:30``, ``1 day, 2:03:04`` or ``1h 2m 3s``."""
    if (clock := _CLOCK.fullmatch(text.strip())) is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    parts = _PARTS.findall(text)
    return sum(float(size) * _SECONDS[name] for size, name in parts) if parts else None


def _spread(run: StatedRun, names: Sequence[str]) -> dict[str, object]:
    """Standard deviation and number of repeats of the run as a whole."""
    deviation, repeats = run.number(names[:1]), run.number(names[1:2])
    if deviation is None or (repeats is not None and repeats <= 1):
        return {}
    counted: dict[str, object] = {} if repeats is None else {"n": int(repeats)}
    return {"std": deviation, **counted}


def _record(run: StatedRun, tool: Tool, content: Content, records: Records) -> dict[str, object]:
    """The run's record without its outcome, as far as the file states it."""
    facts = tool.facts
    shape: dict[str, object] = {}
    for name in _SIZES:
        if size := run.number(facts.get(name, ())):
            shape[name] = round(size)
    stated = {name for name in ("concurrency", "request_rate") if run.first(facts.get(name, ())) is not None}
    named = (
        None
        if stated or tool.phase == "training"
        else _LOAD.search("/".join(content.path.absolute().parts[-2:]))
    )
    if named is not None:
        shape["concurrency"] = int(named[1])
        records.guess("the file states no load; the number of requests at once is taken from its name")
    completed = run.number(facts.get("completed", ()))
    for name in ("input", "output"):
        total = run.number(facts.get(f"{name}_total", ()))
        size = total / completed if total and completed else run.number(facts.get(f"{name}_len", ()))
        if size:
            shape[f"{name}_len"] = round(size)
    traits: dict[str, object] = dict(tool.traits)
    if rate := run.number(facts.get("request_rate", ())):
        traits["request_rate"] = rate
    if failed := run.number(facts.get("failed", ())):
        records.guess(f"{failed:.0f} requests failed; the figures are those of the answered ones")
    weights = run.first(facts.get("weights", ()))
    if isinstance(weights, str):
        traits["weights"] = weights
    model = str(run.first(facts.get("model", ())) or "").rstrip("/").rsplit("/", maxsplit=1)[-1]
    model = model.removesuffix(".gguf")
    task: dict[str, object] = {
        "kind": tool.phase,
        "op": _OPERATORS[tool.phase],
        "shape": shape,
        "traits": traits,
    }
    if model:
        task["model"] = model
    precision = run.first(facts.get("precision", ())) or read_name(model).weights
    if isinstance(precision, str) and precision:
        task["dtype"] = precision
    given = [(name, run.first([key])) for key, name in tool.settings.items()]
    record: dict[str, object] = {
        "task": task,
        "config": {name: value for name, value in given if value is not None},
        "source": {"title": tool.title.partition(" (")[0], "path": content.reference},
    }
    engine = tool.engine or str(run.first(facts.get("engine", ())) or "").lower()
    if engine and not _PROTOCOLS.fullmatch(engine):
        version = run.first(facts.get("version", ()))
        record["software"] = {engine.partition("-oai")[0]: "" if version is None else str(version)}
    hardware, count = run.first(facts.get("hardware", ())), run.number(facts.get("count", ()))
    machine: dict[str, object] = {"name": hardware.strip()} if isinstance(hardware, str) else {}
    record["hardware"] = machine | ({"count": int(count)} if count else {})
    return record


FORMAT = Format(
    name="results",
    title="results of benchmarks and trainers (docs/formats.md names them)",
    sniff=sniff,
    read=read,
    companion=companion,
)
