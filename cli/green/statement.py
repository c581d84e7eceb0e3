"""``tunegraph green statement``: what a run emitted, from the logs of its meters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.context import settings
from cli.options import JsonOption
from cli.values import span_s
from kg.errors import InputError


def statement(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Logs: npu-smi, exporter, nvidia-smi, RAPL, Zeus...")],
    region: Annotated[str, typer.Option("--region", help="Region of the grid, as imported.")] = "",
    intensity: Annotated[
        float | None, typer.Option("--intensity", min=0, help="g/kWh where no series covers a log.")
    ] = None,
    pue: Annotated[float | None, typer.Option("--pue", min=1, help="Overhead of the site.")] = None,
    interval: Annotated[
        str, typer.Option("--interval", help="Between readings of a log without times.")
    ] = "1s",
    start: Annotated[str, typer.Option("--start", help="Beginning of a log without times.")] = "",
    title: Annotated[str, typer.Option("--title", help="What the run was.")] = "Carbon statement",
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write .md, .html (for print) or .json.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """State what a run emitted: measured, modelled and assumed.

    Each is told apart from the others.

    Example: tunegraph green statement npu-smi.log
    """
    from cli import output
    from recommender.green.desk import GreenDesk
    from recommender.green.moments import moment_of

    now = datetime.now(UTC).astimezone()
    made = GreenDesk.of_workspace(settings(context).workspace).statement(
        files,
        region=region,
        g_per_kwh=intensity,
        pue=pue,
        interval_s=span_s(interval),
        start=moment_of(start, now) if start else None,
        title=title,
    )
    if output_file is not None:
        import json

        writers: dict[str, Callable[[], str]] = {
            ".md": made.to_markdown,
            ".html": made.to_html,
            ".json": lambda: json.dumps(made.to_json()),
        }
        if output_file.suffix not in writers:
            raise InputError(
                f"{output_file}: no statement ends in {output_file.suffix or 'nothing'}",
                hint=".md, .html or .json",
            )
        output_file.write_text(writers[output_file.suffix](), encoding="utf-8")
    elif as_json:
        output.as_json(made.to_json())
    else:
        print(made.to_markdown(), end="")
