"""Measurements made elsewhere as an experiment: read, and their design judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.metrics import canonical_metric
from kg.entities import WorkloadKind
from kg.errors import InputError
from kg.values import Settings, digest
from recommender.experiment.design import CONTROL, MOST_PAIRS, UNTOLD, Design
from recommender.experiment.metrics import direction, readings_of
from recommender.experiment.recorded import read_logs, read_table, samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recommender.experiment.design import Guard
    from recommender.experiment.recorded import Measured
    from recommender.experiment.samples import Sample
    from recommender.measuring.readings import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Measurements made elsewhere.

    Attributes:
        name: Follows from the content, so the same file is the same experiment.
        design: What they can be taken for.
        samples: The measurements.
    """

    name: str
    design: Design
    samples: tuple[Sample, ...]


def recorded(
    files: Sequence[Path],
    *,
    metrics: Sequence[str] = (),
    patterns: Sequence[str] = (),
    better: str = "",
    names: tuple[str, str] = ("", ""),
    settings: tuple[Settings, Settings] = (Settings(), Settings()),
    guards: tuple[Guard, ...] = (),
    alpha: float = 0.01,
    margin: float = 0.01,
    warmup: int = 0,
    in_order: bool = False,
) -> Recorded:
    """Read and judge measurements.

    Args:
        files: A table or JSON file, or two logs: the control's and the treatment's.
        metrics: For a table the metric's name, with ``:UNIT`` if the table does not say it; for logs as in
            ``readings_of``.
        patterns: For logs, as in ``readings_of``.
        better: ``lower`` or ``higher``, where the metric's name does not tell.
        names: Of control and treatment in the file; recognised if empty.
        settings: Of control and treatment; empty if not told.
        guards: Further metrics that must not be spoilt: columns of the table.
        alpha: Chance of a wrong verdict.
        margin: Log ratio that does not matter.
        warmup: First values of each arm that do not count.
        in_order: The rows are in the order taken.

    Raises:
        InputError: The files cannot be read as such, or their arms cannot be compared.
    """
    if len(files) == 2:
        readings = readings_of(metrics, patterns, better=better)
        if readings[0].is_wall:
            hint = r"--pattern 'step_time:ms=step (\S+) ms'"
            raise InputError("say where the logs have their metric", hint=hint)
        if guards:
            raise InputError(
                "two logs have one metric; a guard needs a table", hint="record a CSV or JSON file"
            )
        measured = read_logs(files[0], files[1], readings)
        return _of(measured, readings[0], ("", ""), settings, guards, alpha, margin, warmup)
    if len(files) != 1:
        raise InputError(f"{len(files)} files", hint="one table, or two logs: the control's, the treatment's")
    if len(metrics) != 1 or patterns:
        raise InputError("say which column is the metric", hint="--metric step_time:ms")
    column, _, symbol = metrics[0].partition(":")
    metric = canonical_metric(column, WorkloadKind.OPERATOR)
    measured = read_table(
        files[0],
        column,
        control=names[0],
        treatment=names[1],
        symbol=symbol or None,
        others=[guard.metric for guard in guards],
        in_order=in_order,
    )
    from recommender.measuring.readings import Reading

    reading = Reading(metric=metric, better=direction(metric, better), unit=symbol or None, path=column)
    if metric != column:
        from dataclasses import replace

        measured = [
            replace(item, values={metric if key == column else key: v for key, v in item.values.items()})
            for item in measured
        ]
    return _of(measured, reading, names, settings, guards, alpha, margin, warmup)


def _of(
    measured: Sequence[Measured],
    reading: Reading,
    names: tuple[str, str],
    settings: tuple[Settings, Settings],
    guards: tuple[Guard, ...],
    alpha: float,
    margin: float,
    warmup: int,
) -> Recorded:
    samples, scheme, unit = samples_of(
        measured, reading.metric, control=names[0], treatment=names[1], warmup=warmup
    )
    told = [settings[0] or Settings({UNTOLD: "control"}), settings[1] or Settings({UNTOLD: "treatment"})]
    design = Design(
        metric=reading.metric,
        better=reading.better,
        unit=unit,
        arms={CONTROL: told[0], "treatment": told[1]},
        alpha=alpha,
        margin=margin,
        guards=guards,
        pairs=MOST_PAIRS,
        warmup=0,
        scheme=scheme,
    )
    content = digest(design.to_json(), [item.to_json() for item in samples])
    return Recorded(name=f"record-{content[:10]}", design=design, samples=tuple(samples))
