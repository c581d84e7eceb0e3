"""``tunegraph workspace``: the workspace as a whole: saved, put back, renewed, joined, undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_for_writing, open_workspace, settings, show_step
from cli.late import LateTyper
from cli.options import JsonOption
from cli.output import aside, say

if TYPE_CHECKING:
    from recommender.store.merging import Conflict

app = LateTyper(
    name="workspace",
    help="Back up, restore, renew and join workspaces.",
    add_completion=False,
)

SHOWN = 10
"""Names and conflicts that are printed; --json lists a hundred."""


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="File to write; only you can read it.", dir_okay=False)],
) -> None:
    """Copy the workspace to one file, checked as it is written.

    Others may read and write meanwhile.

    Example: tunegraph workspace backup copy.tar
    """
    with open_workspace(context) as workspace:
        show_step("copying and checking the workspace ...")
        made = workspace.upkeep.backup(file)
        show_step("")
    aside(f"wrote {made.rows:,} rows up to batch {made.batch} to {file} ({made.size_bytes / 1e6:,.1f} MB)")


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that workspace backup wrote.", dir_okay=False)],
) -> None:
    """Put a backup in the place of the workspace.

    All of it or nothing; the old workspace is renamed.

    Example: tunegraph workspace restore copy.tar
    """
    from recommender.workspace.upkeep import UpkeepDesk

    path = settings(context).workspace
    show_step("checking and unpacking the backup ...")
    restored = UpkeepDesk.restore(path, file)
    show_step("")
    aside(f"{path} holds {restored.rows:,} rows up to batch {restored.batch} now")
    if restored.replaced is not None:
        aside(f"  what was there is {restored.replaced}")


@app.command()
def renew(
    context: typer.Context,
    with_text: Annotated[
        bool,
        typer.Option(
            "--text-model", help="Find problems by their words too, with the text model installed now."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Renew the shipped knowledge; keep what is yours.

    After an update of tunegraph.

    Example: tunegraph workspace renew
    """
    from cli import output
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    done = UpkeepDesk.renew(chosen.workspace, cache=chosen.cache, with_text=with_text)
    if as_json:
        output.as_json(done.to_json())
        return
    if not done.is_new:
        say("the workspace has the knowledge that ships with this program")
        return
    show_conflicts(done.conflicts, done.conflict_count)
    say(f"of the shipped knowledge it renewed {_names(done.changed)}")
    say(f"yours: {done.added.rows:,} rows, {done.added.problems:,} problems; {_names(done.nodes)}")
    if done.added.repeated:
        say(f"{done.added.repeated:,} of your rows ship by now")


@app.command()
def merge(
    context: typer.Context,
    other: Annotated[Path, typer.Argument(help="Another workspace, or a backup of one; it is only read.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")
    ] = False,
    label: Annotated[
        str, typer.Option("--label", help="Its name in the provenance; by default its directory's.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Join another workspace: cases, knowledge and effects.

    Where the two differ, ours stays, and the difference is listed.

    Example: tunegraph workspace merge other-workspace --dry-run
    """
    from cli import output

    with open_workspace(context) as workspace:
        merged = workspace.knowledge.merge(other, label=label, dry_run=dry_run)
    if as_json:
        output.as_json(merged.to_json())
        return
    show_conflicts(merged.conflicts, merged.conflict_count)
    added, what = merged.added, "would come" if dry_run else "came"
    say(
        f"{added.rows:,} rows, {added.problems:,} problems, {len(merged.knowledge):,} described things and "
        f"{merged.effects:,} effects without cases {what} from {merged.label}"
    )
    aside(f"{added.repeated:,} rows were known")


@app.command()
def undo(
    context: typer.Context,
    batch: Annotated[int, typer.Argument(help="Number of the batch of an import.")],
) -> None:
    """Undo one import.

    Example: tunegraph workspace undo 3
    """
    with open_for_writing(context) as editor:
        count = editor.undo(batch)
    aside(f"took back {count:,} triples")


def show_conflicts(conflicts: Sequence[Conflict], count: int) -> None:
    """Print the first conflicts, and how many there are."""
    for item in conflicts[:SHOWN]:
        aside(f"conflict: {item.about}: ours {item.ours}; theirs {item.theirs}")
    if count > SHOWN:
        aside(f"conflict: ... {count} in all; --json lists a hundred")


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names):,} described things" + (f" ({shown})" if names else "")
