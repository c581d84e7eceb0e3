"""A problem from what matters of it in a test."""

from collections.abc import Mapping

from kg.nouns.entities import Better, Hardware, Limit, Objective, Problem, Workload, WorkloadKind
from kg.nouns.values import Settings
from kg.terms.metrics import METRICS


def make_problem(
    operator: str = "copy",
    hardware: str | Hardware = "chip",
    *,
    kind: str = "kernel",
    model: str | None = None,
    shape: Mapping[str, object] | None = None,
    precision: str | None = None,
    traits: Mapping[str, object] | None = None,
    count: int | None = None,
    metric: str = "latency",
    better: Better | None = None,
    unit: str | None = None,
    limits: tuple[Limit, ...] = (),
    bottlenecks: Mapping[str, object] | None = None,
    current: Mapping[str, object] | None = None,
    software: Mapping[str, object] | None = None,
) -> Problem:
    """Work on a device towards an objective; a known metric has its own direction."""
    return Problem(
        workload=Workload(
            kind=WorkloadKind(kind),
            operator=operator,
            model=model,
            shape=Settings(shape),
            precision=precision,
            traits=Settings(traits),
        ),
        hardware=Hardware(name=hardware, count=count) if isinstance(hardware, str) else hardware,
        objective=Objective(metric=metric, better=better or METRICS[metric].better, unit=unit),
        limits=limits,
        bottlenecks=Settings(bottlenecks),
        current=None if current is None else Settings(current),
        software=Settings(software),
    )
