"""Measured deployments among the cases of a workspace: rows with a load and a throughput of each device."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.answers.served_work import Work
from kg.nouns.entities import Configuration, Kind, Problem, Trust, WorkloadKind
from kg.nouns.values import Value
from kg.rows.trials import TrialStore
from kg.terms.dialects import degrees_of, layout_of
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph
from recommender.ranking.deployments.deployment import Deployment
from recommender.ranking.measured.runs import framework_id

RATE = "tokens/s/device"
"""Unit of a throughput that counts input and output tokens of each device in use."""
_MEASURED = frozenset({Kind.MEASURED, Kind.PUBLISHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCase:
    """A measured deployment.

    Attributes:
        work: What it served.
        deployment: How.
        rate: Input and output tokens a second of each device.
    """

    work: Work
    deployment: Deployment
    rate: float


def served_cases(graph: GraphStore, trials: TrialStore) -> list[ServedCase]:
    """Measured deployments of a workspace; a configuration measured several times has their median."""
    rates: dict[tuple[Work, Deployment], list[float]] = {}
    for row in trials.summary(trials.measured_in("throughput", RATE)):
        if not row.model:
            continue
        problem = from_graph(graph, Problem, row.id)
        work = work_of(problem)
        if work is None:
            continue
        stated = problem.workload.shape.get("concurrency")
        for trial in trials.rows(row.id):
            value = trial.measurement.value
            deployment = deployment_of(trial.configuration, stated)
            if value and deployment and trial.kind in _MEASURED and trial.trust is not Trust.LOW:
                rates.setdefault((work, deployment), []).append(value)
    return [
        ServedCase(work=work, deployment=deployment, rate=median(values))
        for (work, deployment), values in rates.items()
    ]


def work_of(problem: Problem) -> Work | None:
    """The served work of a problem; None if lengths, model or precision are not stated."""
    work = problem.workload
    lengths = [work.shape.get(name) for name in ("input_len", "output_len")]
    if work.kind is not WorkloadKind.SERVING or not work.model or not work.precision:
        return None
    if not all(isinstance(item, int | float) and item > 0 for item in lengths):
        return None
    return Work(
        device=problem.hardware.name,
        model=work.model,
        precision=work.precision,
        input_len=float(str(lengths[0])),
        output_len=float(str(lengths[1])),
    )


def deployment_of(configuration: Configuration, concurrency: Value = None) -> Deployment | None:
    """The deployment that a measured configuration describes; None if it is of another kind.

    Instances that prefill and decode apart are another kind.
    """
    at_once = configuration.get("concurrency", concurrency)
    if configuration.get("disaggregated") or not isinstance(at_once, int | float):
        return None
    layout = layout_of(configuration)
    if "tp" not in degrees_of(configuration):
        return None
    if layout.devices != (_count(configuration, "num_gpus", "devices") or layout.devices) or at_once < 1:
        return None
    drafting = str(configuration.get("spec_decoding", configuration.get("speculative_algorithm", "none")))
    return Deployment(
        framework=framework_id(str(configuration.get("framework", ""))),
        layout=layout,
        drafts=drafting.lower() not in {"none", "false", ""},
        concurrency=float(at_once),
    )


def _count(configuration: Mapping[str, Value], *names: str) -> int:
    for name in names:
        value = configuration.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1:
            return int(value)
    return 0
