"""``tunegraph explain``: why a recommendation was made."""

from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption
from cli.output import aside, say


def explain(
    context: typer.Context,
    recommendation_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a recommendation, or its beginning.")
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Every filter and number, with the sources' addresses.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Explain why a recommendation was made.

    Example: tunegraph explain f5927c5f1eeb
    """
    from cli import output

    with open_workspace(context) as workspace:
        explanation = workspace.explain(recommendation_id)
    if as_json:
        output.as_json(explanation.to_json())
        return
    say(explanation.headline)
    shown = explanation.summary.sections
    if everything:
        shown = tuple((section.title, section.lines) for section in explanation.sections)
    for title, lines in shown:
        say(f"\n{title}")
        for line in lines:
            say(f"  {line}")
    if not everything:
        aside(f"Every number: tunegraph explain {recommendation_id} --all")
