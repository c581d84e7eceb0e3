"""Scopes of strategies: conditions that must hold, and caveats."""

from dataclasses import dataclass

from kg.nouns.entities import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeClause:
    """A condition that must hold for a strategy to apply.

    Attributes:
        condition: An expression over facts of the question (:mod:`kg.terms.conditions`).
        source: The document that states it.
        reason: Why, in words; empty if the condition says it.
    """

    condition: str
    source: Source
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """A warning about a strategy, which decides nothing.

    Attributes:
        text: In words.
        source: The document that states it.
    """

    text: str
    source: Source
