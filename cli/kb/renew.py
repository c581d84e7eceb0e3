"""``tunegraph kb renew``: an older workspace put on the knowledge that ships now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from cli.context import settings
from cli.options import JsonOption
from cli.output import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recommender.store.merging import Conflict

SHOWN = 10
"""Names and conflicts that are printed; --json lists a hundred."""


def renew(context: typer.Context, as_json: JsonOption = False) -> None:
    """Renew the shipped knowledge; keep what is yours.

    After an update of tunegraph.

    Example: tunegraph kb renew
    """
    from cli import output
    from recommender.workspace.upkeep import UpkeepDesk

    chosen = settings(context)
    done = UpkeepDesk.renew(chosen.workspace, cache=chosen.cache)
    if as_json:
        output.as_json(done.to_json())
        return
    if not done.is_new:
        say("the workspace has the knowledge that ships with this program")
        return
    show_conflicts(done.conflicts, done.conflict_count)
    for text in done.notes:
        output.note(text)
    say(f"of the shipped knowledge it renewed {_names(done.changed)}")
    say(f"yours: {done.added.rows:,} rows, {done.added.problems:,} problems; {_names(done.nodes)}")
    if done.added.repeated:
        say(f"{done.added.repeated:,} of your rows ship by now")


def show_conflicts(conflicts: Sequence[Conflict], count: int) -> None:
    """Print the first conflicts, and how many there are."""
    for item in conflicts[:SHOWN]:
        print(f"conflict: {item.about}: ours {item.ours}; theirs {item.theirs}", file=sys.stderr)
    if count > SHOWN:
        print(f"conflict: ... {count} in all; --json lists a hundred", file=sys.stderr)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names):,} described things" + (f" ({shown})" if names else "")
