"""The aim of a question: the metric that decides, and limits on others."""

from dataclasses import dataclass
from difflib import get_close_matches

from ingest.questions.limits import parse_limit
from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Better, Limit, Objective, WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric, metric_of_words


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOperator:
    """An operator as the cases describe it.

    Attributes:
        name: Its name in the cases.
        kind: Scale at which it is described.
        metric: The metric that most of its problems are decided by.
        better: Direction of that metric.
    """

    name: str
    kind: WorkloadKind
    metric: str
    better: Better


def objective_of(name: str | None, kind: WorkloadKind, default: KnownOperator | None) -> Objective:
    """The objective of a question.

    Args:
        name: The metric as people call it; None for the usual one.
        kind: Scale of the workload.
        default: The operator that is asked about, as the cases have it; None for another workload.

    Raises:
        InputError: It is a limit.
        UnknownEntityError: There is no such metric.
    """
    if name is not None and set("<>=") & set(name):
        raise InputError(f"objective {name!r}: a bound is a limit", hint=f"--limit {name!r}, with its unit")
    if name is None:
        if default is not None:
            return Objective(metric=default.metric, better=default.better)
        metric = "throughput" if kind in {WorkloadKind.TRAINING, WorkloadKind.SERVING} else "latency"
        return Objective(metric=metric, better=METRICS[metric].better)
    metric = canonical_metric(name, kind)
    if metric not in METRICS and (meant := metric_of_words(name)) is not None:
        metric = meant.metric  # the best of one is the best of its inverse
    if metric in METRICS:
        return Objective(metric=metric, better=METRICS[metric].better)
    if default is not None and metric == default.metric:
        return Objective(metric=metric, better=default.better)
    raise _unknown_metric(name)


def limits_of(raw: object, default: KnownOperator | None) -> tuple[Limit, ...]:
    """The limits of a question, by the names of their metrics.

    Args:
        raw: A list of texts such as ``peak_memory<=32GB``, a mapping of upper limits, or None.
        default: The operator that is asked about; its metric may be limited as well.

    Raises:
        InputError: One cannot be read, or two contradict each other.
        UnknownEntityError: There is no such metric.
    """
    if raw is None:
        return ()
    if isinstance(raw, dict):
        texts = [f"{name}<={value}" for name, value in raw.items()]
    elif isinstance(raw, list):
        texts = [str(item) for item in raw]
    else:
        raise InputError(f"limits: expected a list such as ['peak_memory<=32GB'], not {raw!r}")
    limits: dict[str, Limit] = {}
    for text in texts:
        limit = parse_limit(text)
        if limit.metric not in METRICS and (default is None or limit.metric != default.metric):
            raise _unknown_metric(limit.metric)
        if limit.metric in limits and limits[limit.metric] != limit:
            raise InputError(f"limits on {limit.metric} contradict each other: {', '.join(texts)}")
        limits[limit.metric] = limit
    return tuple(limits[name] for name in sorted(limits))


def _unknown_metric(name: str) -> UnknownEntityError:
    near = get_close_matches(name.lower(), METRICS, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(sorted(METRICS))}"
    return UnknownEntityError(f"no metric named {name!r}", hint=hint)
