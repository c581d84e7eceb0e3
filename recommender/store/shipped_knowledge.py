"""Shipped knowledge and cases, read through the same doors as a user's own files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import data

if TYPE_CHECKING:
    from ingest.knowledge.files import Noun

KNOWLEDGE = ("hardware", "models", "knowledge")
"""Folders of knowledge files, in the order they build on each other."""
CASES = "cases"


def knowledge_files() -> list[str]:
    """Return names of the shipped knowledge files."""
    return [name for folder in KNOWLEDGE for name in data.files(folder, ".yaml")]


def case_files() -> list[str]:
    """Return names of the shipped case files."""
    return sorted([*data.files(CASES, ".jsonl"), *data.files(CASES, ".jsonl.gz")])


def version() -> str:
    """Return the identifier of everything shipped; a new one means a workspace can be updated."""
    seen = hashlib.sha256()
    for name in [*knowledge_files(), *case_files()]:
        seen.update(name.encode() + b"\0" + data.resource(name).read_bytes())
    return seen.hexdigest()[:16]


def knowledge() -> list[Noun]:
    """Return all shipped nouns.

    Raises:
        CaseFormatError: A shipped file is wrong; a test keeps that from happening.
    """
    # Read when a workspace is made; a question needs neither YAML nor networkx.
    from ingest.knowledge.cross_references import check_knowledge, with_symmetric_conflicts
    from ingest.knowledge.files import read_knowledge
    from kg.errors import CaseFormatError

    nouns = with_symmetric_conflicts(
        [noun for name in knowledge_files() for noun in read_knowledge(data.text(name), name)]
    )
    faults = check_knowledge(nouns)
    if faults:
        raise CaseFormatError("shipped knowledge", faults)
    return nouns
