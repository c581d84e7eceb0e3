"""``tunegraph evolve``: one step of learning from outcomes, saved as a version."""

from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace
from cli.options import JsonOption
from cli.output import aside, say


def evolve(
    context: typer.Context,
    name: Annotated[
        str, typer.Option("--name", help="Name of the version; the next number if left out.")
    ] = "",
    most: Annotated[int, typer.Option("--most", min=0, max=1000, help="New hypotheses at most.")] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change; write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn from outcomes: judge sources, propose what to try next.

    One step; it saves a version of the knowledge.

    Example: tunegraph evolve
    """
    from datetime import UTC, datetime

    from cli import output

    saved: dict[str, object] | None = None
    if dry_run:
        with open_workspace(context) as workspace:
            evolved = workspace.knowledge.lineage.next_step(most=most)
    else:
        with open_for_writing(context) as editor:
            step = editor.evolve(datetime.now(UTC), name=name, most=most)
        evolved, saved = step.evolved, step.version.to_json()
    if as_json:
        shares = evolved.components
        output.as_json(
            {
                "version": saved,
                "changelog": list(evolved.changelog),
                "hypotheses": [item.to_json() for item in evolved.hypotheses],
                "distrusted": sorted(evolved.trusts),
                "components": {"hardware": shares.hardware, "family": shares.family, "own": shares.own},
            }
        )
        return
    for line in evolved.changelog or ("nothing to change",):
        say(line)
    if saved is not None:
        say(f"\nSaved as {saved['name']}. Undo: tunegraph kb revert NAME; see tunegraph kb versions.")
        if evolved.hypotheses:
            aside("Try one: tunegraph ab run --problem FILE --strategy ID.")
