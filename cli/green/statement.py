"""``tunegraph green statement``: what a run emitted, from the logs of its meters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import settings
from cli.options import JsonOption
from cli.values import span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from recommender.green.statement import CarbonStatement


RegionOption = Annotated[str, typer.Option("--region", help="Region of the grid, as imported.")]
ZoneOption = Annotated[
    str, typer.Option("--zone", help="Clock of times without a zone, such as Europe/Berlin.")
]
DurationOption = Annotated[str, typer.Option("--duration", help="How long it runs, such as 8h or 90min.")]
ByOption = Annotated[
    str, typer.Option("--by", help="When it must be done: 'tomorrow 08:00', +24h, '2026-11-24 08:00'.")
]
SplitOption = Annotated[bool, typer.Option("--split", help="It may be paused and go on later.")]
LeastOption = Annotated[str, typer.Option("--least-run", help="Least length of a piece, such as 1h.")]
RestartOption = Annotated[str, typer.Option("--restart", help="Work that each restart costs again.")]
CautionOption = Annotated[
    float | None,
    typer.Option("--caution", min=0, max=1, help="Greatest chance to end dirtier with which it waits."),
]
WordsArgument = Annotated[
    list[str] | None, typer.Argument(help="After --: program and arguments.", show_default=False)
]


def statement(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(help="Logs of npu-smi, exporters, RAPL, ...; NAME=LOG of a machine.")
    ],
    region: RegionOption = "",
    intensity: Annotated[
        float | None, typer.Option("--intensity", min=0, help="g/kWh where no series covers a log.")
    ] = None,
    pue: Annotated[float | None, typer.Option("--pue", min=1, help="Overhead of the site.")] = None,
    interval: Annotated[
        str, typer.Option("--interval", help="Between readings of a log without times.")
    ] = "1s",
    start: Annotated[str, typer.Option("--start", help="Beginning of a log without times.")] = "",
    zone: ZoneOption = "",
    title: Annotated[str, typer.Option("--title", help="What the run was.")] = "Carbon statement",
    work: Annotated[
        float | None, typer.Option("--work", help="Work done, such as tokens: gives work per gram.")
    ] = None,
    before: Annotated[
        Path | None, typer.Option("--before", help="Log of the same work before tuning: gives GTI.")
    ] = None,
    tuning: Annotated[str, typer.Option("--tuning", help="How long the tuning took.")] = "",
    against: Annotated[str, typer.Option("--against", help="Tuning time to compare with.")] = "",
    as_json: JsonOption = False,
) -> None:
    """State what a run emitted: measured, modelled and assumed.

    Each is told apart from the others.

    Example: tunegraph green statement npu-smi.log
    """
    from cli import output
    from recommender.green.desk import GreenDesk
    from recommender.green.indices import indices_of
    from recommender.green.moments import moment_of

    desk = GreenDesk.of_workspace(settings(context).workspace)
    named = [_host_of(text) for text in files]

    def state(logs: Sequence[tuple[str, Path]]) -> CarbonStatement:
        return desk.statement(
            [path for _, path in logs],
            region=region,
            g_per_kwh=intensity,
            pue=pue,
            interval_s=span_s(interval),
            start=moment_of(start, datetime.now(UTC)) if start else None,
            title=title,
            zone=zone,
            hosts={path: host for host, path in logs if host},
        )

    made = state(named)
    if before is not None and work is None:
        raise InputError("--before without --work", hint="--work 1e6: what both runs did")
    if work is not None:
        earlier = None if before is None else state([("", before)]).run(work)
        spent_s, reference_s = (span_s(text) if text else None for text in (tuning, against))
        indices = indices_of(made.run(work), earlier, tuning_s=spent_s or 0.0, reference_s=reference_s)
        made = replace(made, indices=indices)
    if as_json:
        output.as_json(made.to_json())
    else:
        print(made.to_markdown(), end="")


def _host_of(text: str) -> tuple[str, Path]:
    """Machine and log of ``NAME=LOG``; no machine of a log alone."""
    host, equals, path = text.partition("=")
    return (host, Path(path)) if equals and not Path(text).exists() else ("", Path(text))
