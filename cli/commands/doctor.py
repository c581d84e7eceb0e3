"""``tunegraph doctor``: is everything here in order, and what to do if not."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace, settings
from cli.options import JsonOption


def doctor(
    context: typer.Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="First sweep what a crash left and make damaged indexes anew.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the workspace: all parts in step, text model there."""
    from cli import output
    from recommender.workspace import Workspace

    chosen = settings(context)
    if repair:
        with open_for_writing(context) as editor:
            editor.repair()
    findings = Workspace.check_installation(chosen.cache)
    with open_workspace(context) as workspace:
        findings += workspace.check()
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
        print(f"workspace: {chosen.workspace}")
        output.table(
            ("", "about", "finding", "what to do"),
            ((finding.severity, finding.about, finding.says, finding.remedy) for finding in findings),
        )
    if faults:
        raise typer.Exit(1)
