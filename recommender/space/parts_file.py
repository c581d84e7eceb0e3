"""The reader of the parts that a search file declares."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from kg.errors import InputError
from kg.nouns.entities import Better, Objective, WorkloadKind
from kg.terms.metrics import canonical_metric
from recommender.space.expressions import Expression
from recommender.space.parts import SearchPart, subspace
from recommender.space.space import SearchSpace

_KEYS = ("parameters", "metric")


def read_parts(
    raw: object, space: SearchSpace, measured: Mapping[str, Objective] | None
) -> tuple[SearchPart, ...]:
    """The parts that a search file declares.

    A parameter that no part names is shared: it acts on all of them.

    Args:
        raw: ``{attention: {parameters: [...], metric: attention_time}, ...}``; a metric may be a list.
        space: The whole space.
        measured: Metrics there are; None where only the evaluations will tell.

    Raises:
        InputError: Something is wrong with it; the message has every fault.
    """
    if not isinstance(raw, dict) or len(raw) < 2:
        raise InputError(
            "parts: expected at least two names with parameters and metric",
            hint="parts: {attention: {parameters: [a], metric: attention_time}, ...}",
        )
    parts = {str(name): _read_part(item) for name, item in raw.items()}
    owners = Counter(parameter for parameters, _, _ in parts.values() for parameter in set(parameters))
    faults = [
        f"{name}: {fault}"
        for name, (parameters, metrics, wrong) in parts.items()
        for fault in (
            *wrong,
            *(f"no parameter {x!r}{_near(x, space.names)}" for x in parameters if x not in space.names),
            *_metrics(metrics, measured),
            *_conditions(space, parameters, {x for x in owners if x not in parameters}),
        )
    ]
    taken = Counter(metric for _, metrics, _ in parts.values() for metric in set(metrics))
    faults += [f"parameter {x!r} is in {n} parts" for x, n in owners.items() if n > 1]
    faults += [f"metric {x!r} is of {n} parts" for x, n in taken.items() if n > 1]
    units = sorted({str(measured[x].unit) for x in taken if x in measured}) if measured else []
    if len(units) > 1:
        faults.append(f"times add up in one unit, not in {' and '.join(units)}")
    if not owners:
        faults.append("no part has a parameter of its own")
    if faults:
        raise InputError(f"parts: {'; '.join(faults)}")
    shared = [name for name in space.names if name not in owners]
    return tuple(
        SearchPart(name=name, space=subspace(space, {*parameters, *shared}), metrics=tuple(metrics))
        for name, (parameters, metrics, _) in parts.items()
        if parameters or shared  # else nothing acts on it
    )


def _read_part(item: object) -> tuple[list[str], list[str], list[str]]:
    """Parameters, metrics and faults of one part."""
    if not isinstance(item, dict):
        return [], [], [f"expected parameters and metric, not {str(item)[:40]!r}"]
    faults = [f"no key {key!r} (known: {', '.join(_KEYS)})" for key in item if key not in _KEYS]
    parameters, metrics = item.get("parameters", []), item.get("metric")
    if not isinstance(parameters, list):
        faults.append("parameters is a list")
        parameters = []
    if isinstance(metrics, str):
        metrics = [metrics]
    if not isinstance(metrics, list) or not metrics:
        faults.append("say which metric is its time (metric: attention_time)")
        metrics = []
    return (
        [str(x) for x in parameters],
        [canonical_metric(str(x), WorkloadKind.OPERATOR) for x in metrics],
        faults,
    )


def _near(name: str, known: Collection[str]) -> str:
    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {found[0]}?)" if found else f" (there are {', '.join(sorted(known))})"


def _metrics(metrics: Sequence[str], measured: Mapping[str, Objective] | None) -> list[str]:
    """Faults in the metrics of a part."""
    if measured is None:
        return []
    unknown = [f"nothing measures {x!r}{_near(x, measured)}" for x in metrics if x not in measured]
    wrong = [x for x in metrics if x in measured and measured[x].better is not Better.LOWER]
    return unknown + [f"{x} is better higher; parts add up to a time or another cost" for x in wrong]


def _conditions(space: SearchSpace, parameters: Sequence[str], others: Collection[str]) -> list[str]:
    """Parameters of a part that exist only where one of another part says so."""
    known = frozenset(space.names)
    return [
        f"{parameter.name} depends on {name}, which is another part's"
        for parameter in space.parameters
        if parameter.name in parameters and parameter.when
        for name in sorted(Expression.parse(parameter.when, known).names & set(others))
    ]
