"""Measurements made elsewhere as an experiment: read, and their design judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kg.errors import InputError
from kg.nouns.entities import WorkloadKind
from kg.nouns.values import Settings, digest
from kg.terms.metrics import canonical_metric
from recommender.experiment.design import CONTROL, MOST_PAIRS, UNTOLD, ExperimentDesign, Guard
from recommender.experiment.metrics import direction, readings_of
from recommender.experiment.recorded import read_logs, read_table, samples_of
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
    *,
    metrics: Sequence[str] = (),
    patterns: Sequence[str] = (),
    better: str = "",
    names: tuple[str, str] = ("", ""),
    settings: tuple[Settings, Settings] = (Settings(), Settings()),
    guards: Sequence[str] = (),
    alpha: float = 0.01,
    margin: float = 0.01,
    warmup: int = 0,
    in_order: bool = False,
) -> Recorded:
    """Read and judge measurements.

    Args:
        files: A table or JSON file, or two logs: the control's and the treatment's.
        metrics: For a table the metric's column, with ``:UNIT`` where the table does not say it; for logs
            as in ``readings_of``.
        patterns: For logs, as in ``readings_of``.
        better: ``lower`` or ``higher``, where the metric's name does not tell.
        names: Of control and treatment in a table; recognised if empty.
        settings: Of control and treatment; empty if not told.
        guards: Further metrics that must not be spoilt: columns of the table.
        alpha: Chance of a wrong verdict.
        margin: Log ratio that does not matter.
        warmup: First values of each arm that do not count.
        in_order: The rows are in the order taken.

    Raises:
        InputError: The files cannot be read as such, or their arms cannot be compared.
    """
    guarded = tuple(map(Guard.parse, guards))
    if len(files) == 2:
        readings = readings_of(metrics, patterns, better=better)
        if readings[0].is_wall:
            hint = r"--pattern 'step_time:ms=step (\S+) ms'"
            raise InputError("say where the logs have their metric", hint=hint)
        if guards:
            raise InputError("two logs have one metric; a guard needs a table", hint="record CSV or JSON")
        metric, way, names = readings[0].metric, readings[0].better, ("", "")
        measured = read_logs(files[0], files[1], readings)
    else:
        if len(files) != 1:
            hint = "one table, or two logs: the control's, the treatment's"
            raise InputError(f"{len(files)} files", hint=hint)
        if len(metrics) != 1 or patterns:
            raise InputError("say which column is the metric", hint="--metric step_time:ms")
        column, _, symbol = metrics[0].partition(":")
        metric = canonical_metric(column, WorkloadKind.OPERATOR)
        way = direction(metric, better)
        measured = read_table(
            files[0],
            column,
            control=names[0],
            treatment=names[1],
            symbol=symbol or None,
            others=[guard.metric for guard in guarded],
            in_order=in_order,
        )
        measured = [
            replace(item, values={metric if name == column else name: v for name, v in item.values.items()})
            for item in measured
        ]
    samples, scheme, unit = samples_of(measured, metric, control=names[0], treatment=names[1], warmup=warmup)
    design = ExperimentDesign(
        metric=metric,
        better=way,
        unit=unit,
        arms={
            CONTROL: settings[0] or Settings({UNTOLD: "control"}),
            "treatment": settings[1] or Settings({UNTOLD: "treatment"}),
        },
        alpha=alpha,
        margin=margin,
        guards=guarded,
        pairs=MOST_PAIRS,
        warmup=0,
        scheme=scheme,
    )
    content = digest(design.to_json(), [item.to_json() for item in samples])
    return Recorded(name=f"record-{content[:10]}", design=design, samples=tuple(samples))
