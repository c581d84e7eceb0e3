"""``tunegraph kb diff``: two versions of the knowledge, or two releases of a program, side by side."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace
from cli.kb.listing import in_short
from cli.options import JsonOption
from cli.output import say
from cli.text.language import localised
from kg.errors import InputError

if TYPE_CHECKING:
    from kg.terms.setting_changes import SettingChange

_TITLES = {
    "removed": "removed",
    "renamed": "renamed",
    "added": "added, with its default",
    "default": "another default",
    "takes": "other values",
}
"""What is said above each kind of change."""


def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="Name of a version.")] = "",
    second: Annotated[
        str, typer.Argument(help="Name of another; the knowledge as it stands if left out.")
    ] = "now",
    software: Annotated[
        list[str] | None, typer.Option("--software", help="A release to compare, twice: vllm=0.18.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of the knowledge, or two releases.

    Example: tunegraph kb diff --software vllm=0.18 --software vllm=0.33
    """
    from cli import output

    if bool(first) == bool(software):
        raise InputError("diff takes a version, or --software with two releases")
    if software:
        _settings(software, as_json=as_json)
        return
    with open_workspace(context) as workspace:
        changed = workspace.knowledge.lineage.diff(first, second)
    if as_json:
        output.as_json({"first": first, "second": second, "changed": [item.to_json() for item in changed]})
        return
    for item in changed:
        say(_named(item.about))
        for text in item.gone:
            say(f"  - {_named(text)}")
        for text in item.come:
            say(f"  + {_named(text)}")
    if not changed:
        say("nothing differs")


def _named(text: str) -> str:
    """A text with the names of its nodes behind their ids, in another language than English."""
    return re.sub(
        r"\b[a-z]+/[\w.-]+",
        lambda found: found[0] if (name := localised(found[0])) == found[0] else f"{found[0]}（{name}）",
        text,
    )


def _settings(stated: list[str], *, as_json: bool) -> None:
    """Print the settings that differ between two releases of a program."""
    from cli import output
    from kg.terms.setting_changes import setting_changes

    named = [text.partition("=") for text in stated]
    if len(named) != 2 or not all(name and release for name, _, release in named):
        raise InputError(
            f"{' '.join(stated)!r} names no two releases", hint="--software vllm=0.18 --software vllm=0.33"
        )
    if named[0][0] != named[1][0]:
        raise InputError(
            f"{named[0][0]} and {named[1][0]} are two programs", hint="two releases of one program differ"
        )
    compared = setting_changes(named[0][0], named[0][2], named[1][2])
    if as_json:
        output.as_json(compared.to_json())
        return
    for text in compared.notes:
        output.note(text)
    first, second = compared.read
    say(f"settings of {compared.software}: from {first} to {second}")
    counts = Counter(item.what for item in compared.changes)
    if counts:
        words = {what: title.partition(",")[0] for what, title in _TITLES.items()}
        say(", ".join(f"{counts[what]} {word}" for what, word in words.items() if counts[what]))
    for what, title in _TITLES.items():
        changes = [item for item in compared.changes if item.what == what]
        if changes:
            say(f"{title} ({len(changes)})")
        for item in changes:
            say(f"  {item.key}{_difference(item)}  [{item.since}]")
    if not compared.changes:
        say("nothing differs")


def _difference(change: SettingChange) -> str:
    if change.what in {"removed", "added"}:
        return f" = {in_short(change.after)}" if change.after else ""
    before, after = (in_short(text) for text in (change.before, change.after))
    if change.what == "takes":
        return ":" + "".join(f" {sign} {text}" for sign, text in (("-", before), ("+", after)) if text)
    return f" -> {after}" if change.what == "renamed" else f": {before or 'none'} -> {after or 'none'}"
