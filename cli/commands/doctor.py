"""``tunegraph doctor``: is everything here in order, and what to do if not."""

from typing import Annotated

import typer

from cli.context import open_workspace, settings, show_step
from cli.options import JsonOption
from cli.output import aside, say


def doctor(
    context: typer.Context,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="First rebuild damaged parts from sound ones; nothing is deleted."),
    ] = False,
    deep: Annotated[
        bool | None,
        typer.Option("--deep/--quick", help="Read every triple, row and vector (default: up to 1 GB)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the workspace.

    Example: tunegraph doctor --deep
    """
    from cli import output
    from kg.errors import WorkspaceError
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    chosen.make(aside)
    if repair:
        for text in UpkeepDesk.repair(chosen.workspace, cache=chosen.cache):
            output.note(text)
    show_step("checking the installation ...")
    findings = UpkeepDesk.check_installation(chosen.cache)
    show_step("reading rows, vectors, files and the graph of the workspace ...")
    examined = UpkeepDesk.examine(chosen.workspace, deep=deep, cache=chosen.cache)
    findings += examined
    show_step("comparing the graph with the rows ...")
    try:
        with open_workspace(context) as workspace:
            findings += workspace.upkeep.check()
    except WorkspaceError as error:
        if not any(finding.severity == "fault" for finding in examined):
            raise
        output.note(f"readers cannot open it: {error}")
    show_step("")
    faults = sum(finding.severity == "fault" for finding in findings)
    if as_json:
        output.as_json(
            {
                "workspace": str(chosen.workspace),
                "faults": faults,
                "findings": [
                    {
                        "about": finding.about,
                        "severity": str(finding.severity),
                        "says": finding.says,
                        "remedy": finding.remedy or None,
                    }
                    for finding in findings
                ],
            }
        )
    else:
        say(f"workspace: {chosen.workspace}")
        output.table(
            ("", "about", "finding", "what to do"),
            ((finding.severity, finding.about, finding.says, finding.remedy) for finding in findings),
        )
    if faults:
        raise typer.Exit(1)
