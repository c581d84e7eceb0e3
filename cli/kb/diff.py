"""``tunegraph kb diff``: two versions of the knowledge side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption
from cli.output import say


def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="Name of a version.")],
    second: Annotated[
        str, typer.Argument(help="Name of another; the knowledge as it stands if left out.")
    ] = "now",
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of the knowledge.

    Example: tunegraph kb diff v1 v2
    """
    from cli import output

    with open_workspace(context) as workspace:
        changed = workspace.knowledge.lineage.diff(first, second)
    if as_json:
        output.as_json({"first": first, "second": second, "changed": [item.to_json() for item in changed]})
        return
    for item in changed:
        say(item.about)
        for text in item.gone:
            say(f"  - {text}")
        for text in item.come:
            say(f"  + {text}")
    if not changed:
        say("nothing differs")
