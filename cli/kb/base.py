"""``tunegraph kb init``, ``kb rebase`` and ``kb push``: a workspace of one's own above a team's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.context import settings
from cli.options import JsonOption
from cli.output import say

if TYPE_CHECKING:
    from collections.abc import Sequence

TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", help="File with the token that the server asks for.", dir_okay=False),
]
SHOWN = 10
"""Names and conflicts that are printed; --json lists a hundred."""


def init(
    context: typer.Context,
    base: Annotated[str, typer.Option("--base", help="A workspace's folder, a backup file or its address.")],
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace of your own above a team's.

    The team's is only read; your cases and outcomes lie above it.

    Example: tunegraph --workspace mine kb init --base /srv/team
    """
    from cli import output
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    made = UpkeepDesk.create_on(chosen.workspace, base, cache=chosen.cache, token=server_token(token_file))
    if as_json:
        output.as_json({"workspace": str(chosen.workspace), "base": made.place, "batch": made.batch})
    else:
        say(f"{chosen.workspace} rests on {made.place} up to its batch {made.batch}")


def rebase(
    context: typer.Context,
    base: Annotated[
        str | None, typer.Option("--base", help="Rest on this from now on: folder, backup or address.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also where the base is as it was.")] = False,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Renew what your workspace rests on; keep what is yours.

    A workspace rests on a team's (kb init) or on the shipped knowledge.

    Example: tunegraph kb rebase
    """
    from cli import output
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    done = UpkeepDesk.rebase(
        chosen.workspace, base, cache=chosen.cache, token=server_token(token_file), again=again
    )
    if as_json:
        output.as_json(done.to_json())
        return
    if not done.is_new:
        say(f"{done.base.name} is as it was (batch {done.base.batch})")
        return
    show_conflicts(done.conflicts, done.conflict_count)
    for text in done.notes:
        output.note(text)
    say(f"{chosen.workspace} rests on {done.base.name} up to batch {done.base.batch} now")
    say(f"of the knowledge it renewed {_names(done.changed)}")
    say(f"yours: {done.added.rows:,} rows, {done.added.problems:,} problems; {_names(done.nodes)}")
    if done.added.repeated:
        say(f"{done.added.repeated:,} of your rows are in the base by now")


def push(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="file",
            help="File to write, which only you can read; or the address of tunegraph serve --write.",
        ),
    ],
    label: Annotated[str, typer.Option("--label", help="What the base calls it, with an address.")] = "push",
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give what is yours to the base: in a file for kb merge, or over HTTP.

    Cases, outcomes and knowledge; no names of files, no questions.

    Example: tunegraph kb push mine.backup
    """
    from cli import output
    from kg.web import is_address
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    if is_address(target):
        merged = UpkeepDesk.push_to(
            chosen.workspace, target, cache=chosen.cache, token=server_token(token_file), label=label
        )
        if as_json:
            output.as_json(merged.to_json())
            return
        show_conflicts(merged.conflicts, merged.conflict_count)
        added = merged.added
        say(f"{added.rows:,} rows, {added.problems:,} problems, {_names(merged.knowledge)} came to {target}")
        print(f"{added.repeated:,} rows were there already", file=sys.stderr)
        return
    file = Path(target)
    made, given, nodes = UpkeepDesk.push(chosen.workspace, file, cache=chosen.cache)
    if as_json:
        content = {"file": str(file), "rows": given.rows, "problems": given.problems, "knowledge": nodes}
        output.as_json({**content, "size_bytes": made.size_bytes})
    else:
        say(f"wrote {given.rows:,} rows, {given.problems:,} problems and {_names(nodes)} to {file}")
        print(f"the owner of the base takes it in: tunegraph kb merge {file.name}", file=sys.stderr)


def show_conflicts(conflicts: Sequence[Any], count: int) -> None:
    """Print the first conflicts, and how many there are."""
    for item in conflicts[:SHOWN]:
        print(f"conflict: {item.about}: ours {item.ours}; theirs {item.theirs}", file=sys.stderr)
    if count > SHOWN:
        print(f"conflict: ... {count} in all; --json lists a hundred", file=sys.stderr)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names):,} described things" + (f" ({shown})" if names else "")


def server_token(file: Path | None) -> str:
    """The token in a file or in TUNEGRAPH_TOKEN; empty where there is none."""
    from recommender.service.access import read_token

    if file is None:
        return os.environ.get("TUNEGRAPH_TOKEN", "")
    return read_token(file).decode("ascii")
