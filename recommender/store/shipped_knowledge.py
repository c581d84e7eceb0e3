"""Shipped knowledge and cases, read through the same doors as a user's own files."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING

import data
from kg.triples.names import ResolvedModel

if TYPE_CHECKING:
    from ingest.knowledge.files import Noun
    from kg.nouns.recipe import Recipe

KNOWLEDGE = ("hardware", "models", "knowledge")
"""Folders of knowledge files, in the order they build on each other."""
CASES = "cases"
IDENTIFIERS = "identifiers"
RECIPES = "recipes"
"""A file for each family of models, so that a family can be left out whole."""


def knowledge_files() -> list[str]:
    """Return names of the shipped knowledge files."""
    return [name for folder in KNOWLEDGE for name in data.files(folder, ".yaml")]


def identifier_files() -> list[str]:
    """Names of the shipped tables of identifiers."""
    return list(data.files(IDENTIFIERS, ".csv"))


def case_files() -> list[str]:
    """Return names of the shipped case files."""
    return sorted([*data.files(CASES, ".jsonl"), *data.files(CASES, ".jsonl.gz")])


def recipe_files() -> list[str]:
    """Names of the shipped recipe files."""
    return list(data.files(RECIPES, ".jsonl"))


@cache
def version() -> str:
    """Return the identifier of everything shipped; a new one means a workspace can be updated."""
    seen = hashlib.sha256()
    for name in [*knowledge_files(), *identifier_files(), *case_files(), *recipe_files()]:
        seen.update(name.encode() + b"\0" + data.resource(name).read_bytes())
    return seen.hexdigest()[:16]


@cache
def knowledge() -> tuple[Noun, ...]:
    """Return all shipped nouns.

    Raises:
        CaseFormatError: A shipped file is wrong; a test keeps that from happening.
    """
    # Read when a workspace is made; a question needs no YAML.
    from ingest.knowledge.cross_references import check_knowledge, with_symmetric_conflicts
    from ingest.knowledge.files import read_knowledge
    from ingest.knowledge.identifiers import with_identifiers
    from kg.errors import CaseFormatError

    stated = [noun for name in knowledge_files() for noun in read_knowledge(data.text(name), name)]
    for name in identifier_files():
        stated = with_identifiers(stated, data.text(name), name)
    nouns = with_symmetric_conflicts(stated)
    faults = check_knowledge(nouns)
    if faults:
        raise CaseFormatError("shipped knowledge", faults)
    return tuple(nouns)


def recipes() -> list[Recipe]:
    """All shipped recipes, whose files name models and hardware by id.

    Raises:
        CaseFormatError: A shipped file is wrong; a test keeps that from happening.
    """
    from ingest.door.records import RecordError, Records
    from ingest.formats.recipes.recipe_records import recipe
    from kg.errors import CaseFormatError, Fault

    records = Records(_Ids())
    found: list[Recipe] = []
    for name in recipe_files():
        for number, line in enumerate(data.text(name).splitlines(), 1):
            try:
                found.append(recipe(json.loads(line), records))
            except RecordError as fault:
                raise CaseFormatError(name, [Fault(place=f"line {number}", reason=str(fault))]) from None
    return found


class _Ids:
    """Takes every name for the id that it is in a shipped file."""

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        """The text as it is, taken as known."""
        return text, True

    def model(self, text: str) -> ResolvedModel:
        """The text as it is."""
        return ResolvedModel(id=text)
