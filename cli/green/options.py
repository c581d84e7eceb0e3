"""Options that the commands of ``tunegraph green`` share."""

from __future__ import annotations

from typing import Annotated

import typer

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
WordsArgument = Annotated[
    list[str] | None, typer.Argument(help="After --: program and arguments.", show_default=False)
]
