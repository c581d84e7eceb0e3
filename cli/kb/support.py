"""``tunegraph support``: how well each program is supported for each phase on each chip."""

from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption
from kg.errors import NoEvidenceError


def support(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="A program, such as vllm-ascend; all without one.")] = "",
    chip: Annotated[str, typer.Argument(help="A device or vendor, such as 910B3.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show what is measured, modelled or only read of programs.

    Example: tunegraph support sglang h200
    """
    from cli import output

    with open_workspace(context) as workspace:
        rows = workspace.knowledge.support(program, chip)
    if not rows:
        raise NoEvidenceError(f"{program} runs no models: nothing of it is supported")
    if as_json:
        output.as_json({"support": [row.to_json() for row in rows]})
        return
    output.table(
        ("program", "phase", "chip", "support", "cases", "recipes", "priced", "settings of"),
        (
            (
                row.program,
                row.phase,
                row.chip,
                str(row.level),
                row.cases or "",
                row.recipes or "",
                "yes" if row.is_modelled else "",
                row.settings[:14],
            )
            for row in rows
        ),
    )
