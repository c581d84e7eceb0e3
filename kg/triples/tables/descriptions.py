"""Statements about one subject after another, as terms to look at or as text to write.

A triple made of terms costs ten times the line that says the same, so what is only written is text.
"""

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from pyoxigraph import NamedNode, Triple

from kg.triples.graph import Term

Pair: TypeAlias = tuple[NamedNode, Term]


class Descriptions(Protocol):
    """Takes in what is said of subjects."""

    def describe(self, subject: NamedNode, pairs: Iterable[Pair]) -> None:
        """Add predicates and objects of a subject."""

    def is_new(self, noun: object, subject: NamedNode) -> bool:
        """Return whether a noun that others refer to has still to be described."""


class TripleDescriptions(list[Triple]):
    """Statements as triples."""

    def describe(self, subject: NamedNode, pairs: Iterable[Pair]) -> None:
        """Add predicates and objects of a subject."""
        self.extend([Triple(subject, *pair) for pair in pairs])

    def is_new(self, noun: object, subject: NamedNode) -> bool:  # noqa: ARG002 - every reference is whole
        """Return True: triples are few, and whoever asks for those of a noun gets all."""
        return True


class TextDescriptions(list[str]):
    """Statements as N-Triples: a text for each description, so that equal descriptions are equal texts.

    Example:
        >>> from pyoxigraph import Literal, NamedNode
        >>> said = TextDescriptions()
        >>> said.describe(
        ...     NamedNode("tg:a"), [(NamedNode("tg:b"), Literal("c")), (NamedNode("tg:d"), Literal(1))]
        ... )
        >>> print(said[0], end="")
        <tg:a> <tg:b> "c" .
        <tg:a> <tg:d> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__(texts)
        self._described: dict[NamedNode, object] = {}

    def is_new(self, noun: object, subject: NamedNode) -> bool:
        """Return whether a noun that others refer to has still to be described."""
        if self._described.get(subject) is noun:
            return False
        self._described[subject] = noun
        return True

    def describe(self, subject: NamedNode, pairs: Iterable[Pair]) -> None:
        """Add predicates and objects of a subject."""
        about = str(subject)
        self.append("".join([f"{about} {predicate} {term} .\n" for predicate, term in pairs]))


def plain(triples: Iterable[Triple]) -> list[str]:
    """Return triples as N-Triples, a text for each."""
    return [f"{triple} .\n" for triple in triples]
