"""Measurements made elsewhere as an experiment: read, and their design judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.entities import WorkloadKind
from kg.nouns.values import Settings, digest
from kg.terms.metrics import canonical_metric
from recommender.experiment.design import CONTROL, MOST_PAIRS, UNTOLD, ExperimentDesign, Guard
from recommender.experiment.metrics import direction
from recommender.experiment.recorded import read_logs, read_table, samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kg.nouns.entities import Better
    from recommender.experiment.preparing import ExperimentRequest
    from recommender.experiment.recorded import Measured
    from recommender.experiment.samples import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Measurements made elsewhere.

    Attributes:
        name: Follows from the content, so the same file is the same experiment.
        design: What they can be taken for.
        samples: The measurements.
    """

    name: str
    design: ExperimentDesign
    samples: tuple[Sample, ...]


def recorded(
    files: Sequence[Path],
    request: ExperimentRequest,
    names: tuple[str, str] = ("", ""),
    *,
    in_order: bool = False,
) -> Recorded:
    """Read and judge measurements.

    Args:
        files: A table or JSON file, or two logs: the control's and the treatment's.
        request: Metric, guardrails and the settings of the two arms; of warm-up the first values of each arm.
        names: Of control and treatment in a table; recognised if empty.
        in_order: The rows are in the order taken.

    Raises:
        InputError: The files cannot be read as such, or their arms cannot be compared.
    """
    if len(files) == 2:
        readings = request.readings()
        if readings[0].is_wall:
            hint = r"--pattern 'step_time:ms=step (\S+) ms'"
            raise InputError("say where the logs have their metric", hint=hint)
        if request.guards:
            raise InputError("two logs have one metric; a guard needs a table", hint="record CSV or JSON")
        measured = read_logs(files[0], files[1], readings)
        return _of(measured, readings[0].metric, readings[0].better, request, ("", ""))
    if len(files) != 1:
        raise InputError(f"{len(files)} files", hint="one table, or two logs: the control's, the treatment's")
    if len(request.metrics) != 1 or request.patterns:
        raise InputError("say which column is the metric", hint="--metric step_time:ms")
    column, _, symbol = request.metrics[0].partition(":")
    metric = canonical_metric(column, WorkloadKind.OPERATOR)
    better = direction(metric, request.better)
    measured = read_table(
        files[0],
        column,
        control=names[0],
        treatment=names[1],
        symbol=symbol or None,
        others=[Guard.parse(text).metric for text in request.guards],
        in_order=in_order,
    )
    if metric != column:
        measured = [
            replace(item, values={metric if name == column else name: v for name, v in item.values.items()})
            for item in measured
        ]
    return _of(measured, metric, better, request, names)


def _of(
    measured: Sequence[Measured],
    metric: str,
    better: Better,
    request: ExperimentRequest,
    names: tuple[str, str],
) -> Recorded:
    samples, scheme, unit = samples_of(
        measured, metric, control=names[0], treatment=names[1], warmup=request.warmup
    )
    control = request.control or Settings({UNTOLD: "control"})
    treatment = next(filter(None, request.treatments), Settings({UNTOLD: "treatment"}))
    design = ExperimentDesign(
        metric=metric,
        better=better,
        unit=unit,
        arms={CONTROL: control, "treatment": treatment},
        alpha=request.alpha,
        margin=request.margin,
        guards=tuple(map(Guard.parse, request.guards)),
        pairs=MOST_PAIRS,
        warmup=0,
        scheme=scheme,
    )
    content = digest(design.to_json(), [item.to_json() for item in samples])
    return Recorded(name=f"record-{content[:10]}", design=design, samples=tuple(samples))
