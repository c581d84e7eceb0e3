"""``tunegraph kb diff``: two versions of the knowledge, or two releases of a framework, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption
from cli.output import say
from kg.errors import InputError


def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="Name of a version.")] = "",
    second: Annotated[
        str, typer.Argument(help="Name of another; the knowledge as it stands if left out.")
    ] = "now",
    software: Annotated[
        str, typer.Option("--software", help="Compare releases: vllm-ascend=0.20..0.23.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of the knowledge, or two releases.

    Of releases: what changes for the questions that you asked.

    Example: tunegraph kb diff --software vllm-ascend=0.20..0.23
    """
    from cli import output

    if bool(first) == bool(software):
        raise InputError("diff takes a version, or --software with two releases")
    content: dict[str, object]
    with open_workspace(context) as workspace:
        if software:
            compared = workspace.ask.release_diff(software)
            changed, content = compared.changed, compared.to_json()
            notes = compared.notes
        else:
            changed, notes = tuple(workspace.knowledge.lineage.diff(first, second)), ()
            content = {"first": first, "second": second, "changed": [item.to_json() for item in changed]}
    if as_json:
        output.as_json(content)
        return
    for text in notes:
        output.note(text)
    for item in changed:
        say(item.about)
        for text in item.gone:
            say(f"  - {text}")
        for text in item.come:
            say(f"  + {text}")
    if not changed:
        say("nothing differs")
