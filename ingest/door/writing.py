"""A case as a record: the way back through the door. Reading the record gives the same case."""

from kg.nouns.entities import Case, Hardware, Kind, Problem, Source, Status, Workload

_STATUSES = {
    Status.OK: "ok",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "timeout",
    Status.OUT_OF_MEMORY: "oom",
    Status.FORBIDDEN: "forbidden",
    Status.NOT_MEASURED: "not_measured",
    Status.UNKNOWN: "unknown",
}


def to_record(case: Case) -> dict[str, object]:
    """The record of a case, in canonical names and SI units; fields that say nothing are left out."""
    problem, measurement = case.problem, case.measurement
    is_winner = case.kind is Kind.WINNER and measurement.status is Status.NOT_MEASURED
    outcome: dict[str, object] = {
        "metric": measurement.metric,
        "unit": problem.objective.unit,
        "value": measurement.value,
        "better": problem.objective.better.value,
        "status": "winner_untimed" if is_winner else _STATUSES[measurement.status],
        "reason": measurement.reason or None,
        "std": measurement.stdev,
        "n": measurement.repeats,
        "reported_unit": measurement.reported_unit or None,
    }
    record: dict[str, object] = {
        "task": _task(problem.workload),
        "hardware": _hardware(problem.hardware),
        "config": case.configuration.to_json(),
        "outcome": {name: item for name, item in outcome.items() if item is not None or name == "value"},
        "source": _source(case.source),
        "kind": case.kind.value,
        "strategy": case.strategy or None,
        "bottleneck": case.bottleneck or None,
        "software": case.software.to_json() or None,
        "problem": _extras(problem) or None,
    }
    if case.baseline is not None:
        record["baseline"] = {
            "value": case.baseline.value,
            "config": case.baseline.configuration.to_json(),
        }
    return {name: item for name, item in record.items() if item is not None}


def _task(workload: Workload) -> dict[str, object]:
    task: dict[str, object] = {
        "kind": workload.kind.value,
        "op": workload.operator,
        "model": workload.model,
        "shape": workload.shape.to_json(),
        "dtype": workload.precision,
        "traits": workload.traits.to_json() or None,
    }
    return {name: item for name, item in task.items() if item is not None}


def _hardware(hardware: Hardware) -> dict[str, object]:
    raw: dict[str, object] = {
        "name": hardware.name,
        "reported_name": hardware.reported or None,
        "count": hardware.count,
        "traits": hardware.traits.to_json() or None,
    }
    return {name: item for name, item in raw.items() if item is not None}


def _source(source: Source) -> dict[str, object]:
    raw = {
        "title": source.title,
        "url": source.url,
        "path": source.path,
        "commit": source.commit,
        "licence": source.licence,
        "note": source.note,
    }
    return {name: item for name, item in raw.items() if item}


def _extras(problem: Problem) -> dict[str, object]:
    extras: dict[str, object] = {}
    if problem.limits:
        extras["limits"] = [
            {"metric": limit.metric, "maximum": limit.maximum, "unit": limit.unit} for limit in problem.limits
        ]
    if problem.bottlenecks:
        extras["bottlenecks"] = problem.bottlenecks.to_json()
    if problem.current is not None:
        extras["current"] = problem.current.to_json()
    if problem.software:
        extras["software"] = problem.software.to_json()
    return extras
