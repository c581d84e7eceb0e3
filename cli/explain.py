"""``tunegraph explain``: why a recommendation was made."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption


def explain(
    context: typer.Context,
    recommendation_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a recommendation, or its beginning.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Show every filter and number behind a recommendation."""
    from cli import output

    with open_workspace(context) as workspace:
        explanation = workspace.explain(recommendation_id)
    if as_json:
        output.as_json(explanation.to_json())
        return
    print(explanation.headline)
    for section in explanation.sections:
        print(f"\n{section.title}")
        for line in section.lines:
            print(f"  {line}")
