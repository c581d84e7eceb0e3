"""The facts of one release of a program that its judge needs: flags, fields of their JSON, variables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import data
from kg.errors import UnknownEntityError
from kg.nouns.release import release_key
from kg.terms.setting_registry import FOLDER, registry
from tools.oracle.settings.history import state_in

LAUNCHERS = frozenset({"host"})
Entry = dict[str, Any]
"""A setting as the registry's file holds it, in one release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Settings of one release of a program, and of the programs beneath it.

    Attributes:
        program: Its name in the registry.
        release: Its name there.
        flags: Settings of its parser by their key.
        fields: Settings of files and of JSON objects by their path.
        variables: Environment variables by name, with their older names.
        abbreviates: The parser takes the beginning of a flag for the flag.
        dotted: The parser reads ``_`` in a flag as ``-``, and ``--flag.field value`` as JSON.
        dashed: The parser takes ``-`` and ``_`` in a flag for the same.
        positional: How many words without a flag it takes.
        file: How its settings are written where they are no flags: ``"json"``, ``"yaml"``, ``"overrides"``.
    """

    program: str
    release: str
    flags: Mapping[str, Entry]
    fields: Mapping[str, Entry]
    variables: Mapping[str, Entry]
    abbreviates: bool
    dotted: bool
    dashed: bool
    positional: int
    file: str


def releases(program: str) -> tuple[str, ...]:
    """The releases of a program that were read, oldest first.

    Raises:
        UnknownEntityError: No program of that name was read.
    """
    return registry(program).releases


@cache
def facts(program: str, release: str) -> Facts:
    """The facts of a release, under any form of its name; another release never stands in for it.

    Raises:
        UnknownEntityError: The program or the release was not read; the hint lists those that were.
    """
    known = releases(program)
    name = release if release in known else _same(release, known)
    if not name:
        raise UnknownEntityError(f"{program} {release} was not read", hint=f"read: {', '.join(known)}")
    flags: dict[str, Entry] = {}
    fields: dict[str, Entry] = {}
    variables: dict[str, Entry] = {}
    heads: list[Mapping[str, Any]] = []
    for layer in registry(program).at(name).layers():
        content = _content(layer.registry.software)
        heads.append(content)
        for (place, key), entry in state_in(content, layer.release).items():
            if "gone" in entry:
                continue
            if place == "flag" and layer.registry.software in LAUNCHERS:
                continue  # those of torchrun stand before the program
            if place == "flag":
                flags[key] = _joined(flags[key], entry) if key in flags else entry
            elif place == "env":
                for spelling in (key, *entry.get("aliases", ())):
                    variables.setdefault(spelling, entry)
            else:
                fields.setdefault(key, entry)
    parser = next(
        (head for head in heads if any(item["place"] == "flag" for item in head["settings"])), heads[0]
    )
    return Facts(
        program=program,
        release=name,
        flags=flags,
        fields=fields,
        variables=variables,
        abbreviates=parser.get("abbreviates", False),
        dotted=parser.get("dotted", False),
        dashed=parser.get("dashed", False),
        positional=parser.get("positional", 0),
        file=heads[0].get("file", ""),
    )


@cache
def _content(software: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(data.text(f"{FOLDER}/{software}.json"))
    return content


def _same(release: str, known: tuple[str, ...]) -> str:
    try:
        key = release_key(release)
    except ValueError:
        return ""
    return next((name for name in known if release_key(name) == key), "")


def _joined(entry: Entry, beneath: Entry) -> Entry:
    """A flag that two programs state: the one above adds choices to the one beneath, or states it anew."""
    if set(entry) > {"key", "place", "at", "choices", "since", "removed"} or not beneath.get("choices"):
        return entry
    extended = {**beneath, "conflicts": []}  # what the one beneath checks, the one above has replaced
    return {**extended, "choices": [*beneath["choices"], *entry.get("choices", ())]}
