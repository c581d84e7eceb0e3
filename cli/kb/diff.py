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
    "renamed": "replaced",
    "removed": "removed",
    "default": "another default",
    "takes": "other values",
    "added": "new, with its default",
}
"""Headings of the kinds of change."""
_IN_SHORT = {"renamed": 24, "removed": 8, "default": 8, "takes": 0, "added": 0}
"""Changes of each kind that a short list names; a choice."""
_PLACES = ("flag", "json", "yaml", "code", "env")
_OF_PLACE = {"flag": "flags", "env": "variables"}


def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="Name of a version.")] = "",
    second: Annotated[
        str, typer.Argument(help="Name of another; the knowledge as it stands if left out.")
    ] = "now",
    software: Annotated[
        list[str] | None, typer.Option("--software", help="A release to compare, twice: vllm=0.18.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Name every setting that differs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of the knowledge, or two releases.

    Example: tunegraph kb diff --software vllm=0.18 --software vllm=0.33
    """
    from cli import output

    if bool(first) == bool(software):
        raise InputError("diff takes a version, or --software with two releases")
    if software:
        _settings(software, every=every, as_json=as_json)
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


def _settings(stated: list[str], *, every: bool, as_json: bool) -> None:
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
    left = 0
    for what, title in _TITLES.items():
        changes = sorted(
            (item for item in compared.changes if item.what == what),
            key=lambda item: (_is_inner(item), _PLACES.index(item.place)),
        )
        if not changes:
            continue
        shown = changes if every else changes[: _IN_SHORT[what]]
        counts = Counter(_OF_PLACE.get(item.place, "fields") for item in changes)
        say(f"{title} ({len(changes)}): {'; '.join(f'{count} {name}' for name, count in counts.items())}")
        for text in dict.fromkeys(_line(item, shown) for item in shown):
            say(f"  {text}")
        left += len(changes) - len(shown)
    if left:
        say(f"{left} more are named with --all")
    if not compared.changes:
        say("nothing differs")


def _is_inner(change: SettingChange) -> bool:
    """True if a setting stands deep in an object, as copies of others and settings of one backend do."""
    return change.key.count(".") > 1


def _line(change: SettingChange, others: list[SettingChange]) -> str:
    """A change in a line; of settings with one successor, one line for all of them."""
    since = f"  [{change.since}]"
    before, after = (in_short(text) for text in (change.before, change.after))
    match change.what:
        case "renamed":
            same = (item.key for item in others if (item.after, item.since) == (change.after, change.since))
            return f"{', '.join(same)} -> {change.after}{since}"
        case "takes":
            signed = "".join(f" {sign} {text}" for sign, text in (("-", before), ("+", after)) if text)
            return f"{change.key}:{signed}{since}"
        case "default":
            return f"{change.key}: {before or 'none'} -> {after or 'none'}{since}"
    return f"{change.key}{f' = {after}' if after else ''}{since}"
