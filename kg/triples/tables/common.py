"""Parts of many nouns' tables: sources, units, names, and the keys that find nodes."""

from collections.abc import Iterator
from dataclasses import MISSING
from functools import lru_cache

from pyoxigraph import Literal, NamedNode

from kg.nouns.entities import Limit, Objective, Source, Trust
from kg.nouns.framework import Framework
from kg.nouns.grid import GridRegion
from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    Concept,
    FaultPattern,
    HardwareProfile,
    Model,
    ModelFamily,
    Strategy,
    Symptom,
)
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.names import normalise
from kg.triples.tables.descriptions import Pair
from kg.triples.tables.fields import (
    Decoded,
    EnumField,
    Field,
    Labels,
    LanguageField,
    LiteralField,
    Node,
    SubjectDraft,
)
from kg.triples.tables.table import NounTable, Refer
from kg.triples.vocabulary import TG, Shared


def concept_fields() -> tuple[Field, ...]:
    """Return the fields of names and definition."""
    return (
        Labels(name="labels", predicate=Shared.PREF_LABEL),
        LanguageField(name="aliases", predicate=Shared.ALT_LABEL, many=True),
        LanguageField(name="definition", predicate=Shared.DEFINITION, otherwise="en"),
    )


def keys(*texts: str) -> Iterator[Pair]:
    """Yield the keys that find a node directly."""
    for key in dict.fromkeys(map(normalise, texts)):
        if key:
            yield TG.KEY, Literal(key)


SCHEMES: dict[type[Concept], NamedNode] = {
    noun: iris.iri_of("scheme", name)
    for noun, name in (
        (HardwareProfile, "hardware"),
        (ModelFamily, "model"),
        (Model, "model"),
        (Bottleneck, "pattern"),
        (Cause, "pattern"),
        (Strategy, "strategy"),
        (FaultPattern, "fault"),
        (Framework, "framework"),
        (GridRegion, "region"),
    )
}
"""The concept scheme of each kind of concept."""


def concept_keys(concept: Concept) -> Iterator[Pair]:
    """Yield the keys of a concept: its id, labels and aliases."""
    yield names.RDF_TYPE, Shared.CONCEPT
    yield Shared.IN_SCHEME, SCHEMES[type(concept)]
    yield from keys(concept.id, *concept.labels.values(), *concept.aliases)


def unit_of(noun: Objective | Limit | Symptom) -> Iterator[Pair]:
    """Yield the QUDT unit, where QUDT has it."""
    if noun.unit is not None and noun.unit in names.UNITS:
        yield Shared.UNIT, names.UNITS[noun.unit]


@lru_cache(maxsize=4096)
def _source_iri(source: Source) -> NamedNode:
    return iris.source_iri(source.id)


class _LicenceField(LiteralField):
    """A licence: the page of SPDX where it has one, else the words of the source."""

    __slots__ = ()

    def write(self, value: str, draft: SubjectDraft) -> None:
        """Write an IRI or a text."""
        if value in names.LICENCES:
            draft.add(self.predicate, NamedNode(names.SPDX + value))
        else:
            draft.add(Shared.RIGHTS, Literal(value))

    def read(self, node: Node) -> object:
        """Return the licence."""
        pages = [iri.value.removeprefix(names.SPDX) for iri in node.nodes(self.predicate)]
        texts = [term.value for term in node.literals(Shared.RIGHTS)]
        return next(iter([*pages, *texts]), MISSING)


SOURCE = NounTable(
    Source,
    TG.SOURCE,
    LiteralField(name="title", predicate=Shared.TITLE),
    Decoded(name="url", predicate=TG.URL, encode=str, decode=str, datatype=names.XSD_ANY_URI),
    LiteralField(name="path", predicate=TG.PATH),
    LiteralField(name="commit", predicate=TG.COMMIT),
    _LicenceField(name="licence", predicate=Shared.LICENCE),
    LiteralField(name="note", predicate=Shared.NOTE),
    EnumField(name="trust", predicate=TG.TRUST, choices=Trust),
    iri=_source_iri,
    from_id=iris.source_iri,
)


def derived_from(
    name: str = "source", *, predicate: NamedNode = Shared.DERIVED_FROM, many: bool = False
) -> Field:
    """Return the field of a noun's sources."""
    return Refer(name=name, predicate=predicate, table=SOURCE, many=many)
