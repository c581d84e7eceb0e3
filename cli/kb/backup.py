"""``tunegraph kb backup`` and ``kb restore``: the workspace to one file and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace, settings


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="File to write; only you can read it.", dir_okay=False)],
) -> None:
    """Copy the workspace to one file, checked as it is written.

    Others may read and write meanwhile.

    Example: tunegraph kb backup copy.tar
    """
    with open_workspace(context) as workspace:
        made = workspace.upkeep.backup(file)
    print(
        f"wrote {made.rows:,} rows up to batch {made.batch} to {file} ({made.size_bytes / 1e6:,.1f} MB)",
        file=sys.stderr,
    )


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that kb backup wrote.", dir_okay=False)],
) -> None:
    """Put a backup in the place of the workspace.

    All of it or nothing; the old workspace is renamed.

    Example: tunegraph kb restore copy.tar
    """
    from recommender.workspace.upkeep import UpkeepDesk

    path = settings(context).workspace
    restored = UpkeepDesk.restore(path, file)
    print(f"{path} holds {restored.rows:,} rows up to batch {restored.batch} now", file=sys.stderr)
    if restored.replaced is not None:
        print(f"  what was there is {restored.replaced}", file=sys.stderr)
