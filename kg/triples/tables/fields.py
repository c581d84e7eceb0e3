"""Fields: one attribute of a noun written as triples and read back.

Each :class:`Field` knows the attribute, the predicate it stands under and both directions, so what is
written and what is read cannot drift apart. Plain collections are sets in the graph and come back in
alphabetical order.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from kg.nouns.values import Settings, canonical_json
from kg.triples.iris import iri_of, labels_of, language_literal, literal, name_of, value_of
from kg.triples.vocabulary import NAMESPACE, RDF_JSON, RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from enum import StrEnum

    from kg.triples.graph import GraphStore, Term
    from kg.triples.tables.descriptions import Descriptions, Pair


MOST_TRIPLES = 64
"""Triples of a subject that are read one by one; where there are more, each wanted predicate is asked for."""


class Node:
    """All statements of a graph about one subject.

    Attributes:
        iri: The subject.
        store: Where its parts are read.
        values: Objects by predicate.

    Args:
        store: As above.
        iri: As above.
        wanted: Predicates to read of a subject of which much is said, such as an effect of ten thousand
            sources; everything if empty.
    """

    def __init__(self, store: GraphStore, iri: NamedNode, wanted: Sequence[NamedNode] = ()) -> None:
        self.iri = iri
        self.store = store
        self.values: dict[NamedNode, list[Term]] = {}
        for number, triple in enumerate(store.triples(iri)):
            if wanted and number == MOST_TRIPLES:
                found = {name: [item.object for item in store.triples(iri, name)] for name in wanted}
                self.values = {name: terms for name, terms in found.items() if terms}
                break
            self.values.setdefault(triple.predicate, []).append(triple.object)

    def literals(self, predicate: NamedNode) -> list[Literal]:
        """Return the literals under a predicate, in alphabetical order."""
        literals = (term for term in self.values.get(predicate, ()) if isinstance(term, Literal))
        return sorted(literals, key=lambda term: term.value)

    def nodes(self, predicate: NamedNode) -> list[NamedNode]:
        """Return the named nodes under a predicate, in alphabetical order."""
        nodes = (term for term in self.values.get(predicate, ()) if isinstance(term, NamedNode))
        return sorted(nodes, key=lambda term: term.value)


class SubjectDraft:
    """The statements being written about one subject.

    Attributes:
        noun: What is being described.
        subject: Its node; for a statement, the node that the statement is about.
        values: Predicates and objects.
        others: Takes what is said of its parts.
    """

    __slots__ = ("noun", "others", "subject", "values")

    def __init__(self, noun: object, subject: NamedNode, others: Descriptions) -> None:
        self.noun = noun
        self.subject = subject
        self.values: list[Pair] = []
        self.others = others

    def add(self, predicate: NamedNode, term: Term) -> None:
        """Add a statement about the subject."""
        self.values.append((predicate, term))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(ABC):
    """One attribute of a noun.

    Attributes:
        name: The attribute.
        predicate: What it stands under.
        always: Written even where it has its default.
    """

    name: str
    predicate: NamedNode
    always: bool = False

    @abstractmethod
    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write the value."""

    @abstractmethod
    def read(self, node: Node) -> object:
        """Return the value; ``dataclasses.MISSING`` where the graph has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralField(Field):
    """A number, truth value or text as a typed literal."""

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write one literal."""
        draft.add(self.predicate, literal(value))

    def read(self, node: Node) -> object:
        """Return the literal's value."""
        literals = node.literals(self.predicate)
        return value_of(literals[0]) if literals else MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded(Field):
    """A value that is written as a text and parsed from it.

    Attributes:
        encode: To the text.
        decode: From the text.
        datatype: Datatype of the literal.
    """

    encode: Callable[[Any], str]
    decode: Callable[[str], object]
    datatype: NamedNode

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write one literal."""
        draft.add(self.predicate, Literal(self.encode(value), datatype=self.datatype))

    def read(self, node: Node) -> object:
        """Return the parsed text."""
        literals = node.literals(self.predicate)
        return self.decode(literals[0].value) if literals else MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumField(Field):
    """A member of an enumeration, by its text."""

    choices: type[StrEnum]

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write one literal."""
        draft.add(self.predicate, Literal(value.value))

    def read(self, node: Node) -> object:
        """Return the member."""
        literals = node.literals(self.predicate)
        return self.choices(literals[0].value) if literals else MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsField(Field):
    """Several texts."""

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write a literal for each text."""
        for text in value:
            draft.add(self.predicate, Literal(text))

    def read(self, node: Node) -> object:
        """Return all texts."""
        return tuple(term.value for term in node.literals(self.predicate)) or MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageField(Field):
    """A text, or several, with the tag of the language that its letters tell.

    Attributes:
        otherwise: Tag of a text without Chinese characters; None for a name, which is of no language.
        many: A tuple of texts.
    """

    otherwise: str | None = None
    many: bool = False

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write a literal for each text."""
        for text in value if self.many else (value,):
            draft.add(self.predicate, language_literal(text, self.otherwise))

    def read(self, node: Node) -> object:
        """Return the texts."""
        texts = tuple(term.value for term in node.literals(self.predicate))
        return MISSING if not texts else texts if self.many else texts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels(Field):
    """A text in several languages."""

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write a language-tagged literal for each text."""
        for language, text in value.items():
            draft.add(self.predicate, Literal(text, language=language))

    def read(self, node: Node) -> object:
        """Return the texts by language."""
        return labels_of(node.literals(self.predicate)) or MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkField(Field):
    """The id of another node, or several.

    Attributes:
        iri: From the id to its IRI.
        many: A tuple of ids.
        about: More to say of the node that is linked to, such as its class.
    """

    iri: Callable[[str], NamedNode]
    many: bool = False
    about: Callable[[str], Iterable[Pair]] | None = None

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write an edge for each id."""
        for name in value if self.many else (value,):
            target = self.iri(name)
            draft.add(self.predicate, target)
            if self.about is not None:
                draft.others.describe(target, self.about(name))

    def read(self, node: Node) -> object:
        """Return the ids."""
        names = tuple(name_of(iri) for iri in node.nodes(self.predicate))
        if not names:
            return MISSING
        return names if self.many else names[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread(Field):
    """Settings, each under a predicate of its own.

    Attributes:
        predicate: Unused.
        path: What the predicates share, such as ``"dimension"``.
    """

    path: str
    predicate: NamedNode = RDF_TYPE

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write a literal for each setting."""
        for name, item in value.items():
            draft.add(iri_of(self.path, name), literal(item))

    def read(self, node: Node) -> object:
        """Return all settings."""
        prefix = f"{NAMESPACE}{self.path}/"
        predicates = [predicate for predicate in node.values if predicate.value.startswith(prefix)]
        return Settings({name_of(p): value_of(node.literals(p)[0]) for p in predicates})


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Field):
    """Settings as one JSON object: for what is read whole and never asked for by part."""

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write one literal."""
        draft.add(self.predicate, Literal(canonical_json(value.to_json()), datatype=RDF_JSON))

    def read(self, node: Node) -> object:
        """Return the settings."""
        literals = node.literals(self.predicate)
        return Settings(json.loads(literals[0].value)) if literals else MISSING
