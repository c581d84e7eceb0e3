"""Identifiers that others have for hardware and models: a table of facts beside the knowledge files."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import CaseFormatError, Fault
from kg.nouns.entities import Source
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.knowledge.files import Noun

_SECTIONS = {HardwareProfile: "hardware", Model: "model"}
_COLUMNS = 4


def with_identifiers(nouns: Sequence[Noun], text: str, path: str) -> list[Noun]:
    """The nouns with the facts of a table of identifiers.

    Args:
        nouns: Hardware, models and others.
        text: A CSV table: node, fact, value and source. First come the sources, whose node begins with ``=``,
            with title and address; a node is ``hardware/ID`` or ``model/ID``.
        path: Its name, for the message.

    Raises:
        CaseFormatError: A row is no such row, or names a node or a source that is not there.
    """
    sources: dict[str, Source] = {}
    facts: dict[str, list[Fact]] = {}
    faults = []
    there = {f"{_SECTIONS[type(noun)]}/{noun.id}" for noun in nouns if type(noun) in _SECTIONS}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if number == 1:
            continue
        if len(row) != _COLUMNS:
            faults.append(Fault(place=f"line {number}", reason=f"{len(row)} cells, not {_COLUMNS}"))
        elif row[0].startswith("="):
            sources[row[0][1:]] = Source(title=row[1], url=row[2])
        elif row[0] not in there or row[3] not in sources:
            faults.append(Fault(place=f"line {number}", reason=f"no {row[0]!r}, or no source {row[3]!r}"))
        else:
            fact = Fact(
                name=row[1],
                value=row[2],
                source=sources[row[3]],
                kind=FactKind.DOCUMENTED,
                confidence=Confidence.HIGH,
            )
            facts.setdefault(row[0], []).append(fact)
    if faults:
        raise CaseFormatError(path, faults)
    return [
        replace(noun, facts=(*noun.facts, *facts.get(f"{_SECTIONS[type(noun)]}/{noun.id}", ())))
        if isinstance(noun, HardwareProfile | Model)
        else noun
        for noun in nouns
    ]
