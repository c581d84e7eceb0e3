"""The file of search files: names and values as YAML or the log has them, into a task.

The log keeps the content of the file with the facts of the cost model looked up, so that a search goes on
without the file and without the workspace; both are read here.
"""

from dataclasses import replace

from ingest.questions.limits import parse_limit
from kg.errors import InputError
from kg.nouns.entities import Better, Limit, Objective, WorkloadKind
from kg.terms.metrics import METRICS, MODELLED_UNITS, canonical_metric
from kg.terms.units import unit
from recommender.measuring.readings import OutputReading
from recommender.search.run.estimate import read_estimate
from recommender.search.run.number_sources import read_memory_rule, read_number_source
from recommender.search.run.objective import Accuracy
from recommender.search.run.task import Stop, Task
from recommender.search.run.task_file import SPACE_KEYS, TaskFile, check_keys, number
from recommender.space.constraint import Constraint
from recommender.space.parts import SearchPart
from recommender.space.parts_file import read_parts
from recommender.space.space import SearchSpace

KEYS = (
    *("name", *SPACE_KEYS, "default", "problem", "metrics", "objectives", "limits", "accuracy", "stop"),
    *("command", "inputs", "repeats", "warmup", "timeout_s", "file_bytes", "disk_bytes", "environment"),
    *("versions", "parts", "cost_model", "modelled_memory", "jobs", "finalists", "estimate"),
)
"""Keys of a search file."""
STOP_KEYS = ("evaluations", "time_s", "cost", "price_per_hour", "patience", "minimum_gain")


def read_task(file: TaskFile, *, allow_unmeasured_accuracy: bool = False) -> Task:
    """The task that a search file describes.

    Args:
        file: With ``KEYS``; the facts of the cost model are in it once they were looked up.
        allow_unmeasured_accuracy: Also propose settings whose loss of accuracy is unknown.

    Raises:
        InputError: A key or value is wrong; the message names it.
        MissingFactError: A size of the model is unknown.
    """
    check_keys(KEYS, file.raw, "")
    readings = _readings(file)
    objectives = _objectives(file, readings)
    limits = _limits(file, readings)
    accuracy = _accuracy(file)
    space = file.space
    if not allow_unmeasured_accuracy and all(item.metric != "accuracy_loss" for item in readings):
        space = _without_unknown_losses(space, accuracy)
    default = file.settings("default")
    if default is not None and (broken := space.violated(default)) is not None:
        raise InputError(f"the default breaks a constraint: {broken}")
    number_source = read_number_source(file)
    fits, memory_unchecked = read_memory_rule(file, number_source, limits)
    if fits is not None:
        space = replace(space, constraints=(*space.constraints, fits))
    return Task(
        name=str(file.raw.get("name") or file.name),
        space=space,
        objectives=objectives,
        limits=limits,
        readings=readings,
        default=default,
        accuracy=accuracy,
        stop=_stop(file),
        number_source=number_source,
        problem=file.problem(),
        versions=_versions(file),
        memory_unchecked=memory_unchecked,
        jobs=file.count("jobs", 1, least=1),
        finalists=file.count("finalists", 0, least=0),
        parts=_parts(file, space, objectives, readings),
        estimate=read_estimate(file, space),
    )


def _without_unknown_losses(space: SearchSpace, accuracy: Accuracy) -> SearchSpace:
    """The space without settings whose loss of accuracy is unknown."""
    values = {parameter.name: parameter.values for parameter in space.parameters}
    reason = "its loss of accuracy is unknown; --allow-unmeasured-accuracy proposes it"
    more = [
        Constraint(expression=f"{name} != {value!r}", reason=reason)
        for name, value in accuracy.unknown()
        if value in values.get(name, ())
    ]
    return replace(space, constraints=(*space.constraints, *more)) if more else space


def _readings(file: TaskFile) -> tuple[OutputReading, ...]:
    """The metrics that a command prints, each with its place in the output."""
    readings = []
    for name, item in file.table("metrics").items():
        content = {"path": item} if isinstance(item, str) else item
        if not isinstance(content, dict):
            raise InputError(f"metrics: {name}: expected path or pattern, not {str(item)[:60]!r}")
        check_keys(("path", "pattern", "unit", "better"), content, f"metrics.{name}.")
        metric = canonical_metric(name, WorkloadKind.OPERATOR)
        symbol = content.get("unit")
        readings.append(
            OutputReading(
                metric=metric,
                better=_better(metric, content.get("better")),
                unit=None if symbol is None else str(symbol),
                path=str(content.get("path") or ""),
                pattern=str(content.get("pattern") or ""),
            )
        )
    return tuple(readings)


def _objectives(file: TaskFile, readings: tuple[OutputReading, ...]) -> tuple[Objective, ...]:
    """The objectives as listed, else the first metric."""
    listed = file.raw.get("objectives")
    if listed is None:
        listed = [readings[0].metric] if readings else []
    if isinstance(listed, str):
        listed = [listed]
    if not isinstance(listed, list) or not listed:
        raise InputError("objectives: list at least one metric", hint="objectives: [throughput]")
    by_metric = {item.metric: item.objective for item in readings}
    objectives = []
    for item in listed:
        content = item if isinstance(item, dict) else {"metric": item}
        check_keys(("metric", "unit", "better"), content, "objectives.")
        metric = canonical_metric(str(content.get("metric") or ""), WorkloadKind.OPERATOR)
        if metric in by_metric and "unit" not in content and "better" not in content:
            objectives.append(by_metric[metric])
            continue
        if readings:
            known = ", ".join(by_metric)
            raise InputError(f"objectives: {metric} is not among the metrics", hint=f"metrics: {known}")
        if "cost_model" in file.raw and metric not in MODELLED_UNITS:
            hint = f"known: {', '.join(MODELLED_UNITS)}"
            raise InputError(f"objectives: the cost model has no {metric}", hint=hint)
        symbol = content.get("unit", MODELLED_UNITS.get(metric) if "cost_model" in file.raw else None)
        objectives.append(
            Objective(metric=metric, better=_better(metric, content.get("better")), unit=_symbol(symbol))
        )
    if len({item.metric for item in objectives}) < len(objectives):
        raise InputError("objectives: a metric is listed twice")
    return tuple(objectives)


def _parts(
    file: TaskFile, space: SearchSpace, objectives: tuple[Objective, ...], readings: tuple[OutputReading, ...]
) -> tuple[SearchPart, ...]:
    """The parts of which the objective is the sum."""
    if file.raw.get("parts") is None:
        return ()
    if len(objectives) > 1:
        raise InputError("parts add up to one objective", hint="leave out the parts, or all but one")
    if file.raw.get("cost_model"):
        raise InputError("parts: the cost model tells no times of parts", hint="search the whole")
    measured = {item.metric: item.objective for item in readings}
    return read_parts(file.raw["parts"], space, measured if file.raw.get("command") else None)


def _limits(file: TaskFile, readings: tuple[OutputReading, ...]) -> tuple[Limit, ...]:
    """Bounds; each on something that is measured, modelled or published."""
    listed = file.raw.get("limits") or []
    if isinstance(listed, dict):
        listed = [f"{name}<={value}" for name, value in listed.items()]
    if not isinstance(listed, list):
        raise InputError("limits: expected a list such as ['peak_memory<=32GB']")
    limits = tuple(parse_limit(str(item)) for item in listed)
    for item in limits:
        if readings and item.metric not in {*(reading.metric for reading in readings), "accuracy_loss"}:
            raise InputError(f"limits: nothing measures {item.metric}", hint="add it to metrics")
    return limits


def _accuracy(file: TaskFile) -> Accuracy:
    """The loss of accuracy by setting, each with its source, or unknown."""
    losses: dict[str, dict[object, tuple[float, str] | None]] = {}
    for name, item in file.table("accuracy").items():
        if not isinstance(item, dict):
            raise InputError(f"accuracy: {name}: expected a loss for each value")
        for value, loss in item.items():
            losses.setdefault(name, {})[value] = _loss(f"accuracy: {name}={value}", loss)
    return Accuracy(losses=losses)


def _loss(where: str, content: object) -> tuple[float, str] | None:
    if content == "unknown" or content is None:
        return None
    if isinstance(content, dict):
        check_keys(("loss", "source"), content, "accuracy.")
        loss, source = number(where, content.get("loss")), str(content.get("source") or "")
    else:
        loss, source = number(where, content), ""
    if loss and not source:
        raise InputError(f"{where}: a loss needs a source", hint="or say: unknown")
    return loss, source


def _stop(file: TaskFile) -> Stop:
    """The bounds that end the search."""
    content = file.table("stop")
    check_keys(STOP_KEYS, content, "stop.")
    bounds = {key: number(f"stop.{key}", item) for key, item in content.items() if item is not None}
    for key in ("evaluations", "patience"):
        if bounds.get(key, 1) < 1 or bounds.get(key, 1) % 1:
            raise InputError(f"stop.{key}: {bounds[key]:g} is no number of evaluations")
    counts = {key: int(bounds[key]) for key in ("evaluations", "patience") if key in bounds}
    return Stop(**(bounds | counts))  # type: ignore[arg-type]  # STOP_KEYS are its fields


def _versions(file: TaskFile) -> dict[str, list[str]]:
    """Commands that print the version of a program, by its name."""
    content = file.raw.get("versions") or {}
    if not isinstance(content, dict) or not all(isinstance(item, list) for item in content.values()):
        raise InputError(
            "versions: expected for each name a command as a list, such as gcc: [cc, -dumpversion]"
        )
    return {str(key): list(map(str, item)) for key, item in content.items()}


def _better(metric: str, direction: object) -> Better:
    if direction is not None:
        try:
            return Better(str(direction).lower())
        except ValueError:
            raise InputError(f"{metric}: better is lower or higher, not {direction!r}") from None
    if metric in METRICS:
        return METRICS[metric].better
    raise InputError(f"{metric}: say which way is better", hint="better: lower, or better: higher")


def _symbol(text: object) -> str | None:
    if text is None:
        return None
    try:
        return unit(str(text)).symbol
    except ValueError as fault:
        raise InputError(str(fault)) from None
