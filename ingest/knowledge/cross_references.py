"""Checks across knowledge: references that exist, and trees and causes without circles."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ingest.knowledge.files import ARCHITECTURES, Noun
from kg.errors import Fault
from kg.nouns.framework import Framework
from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    FaultPattern,
    HardwareProfile,
    Model,
    ModelFamily,
    Relation,
    Strategy,
)
from kg.triples.networks import circle

CLASSES: dict[type[Noun], str] = {
    HardwareProfile: "hardware",
    Model: "models",
    ModelFamily: "families",
    Bottleneck: "bottlenecks",
    Cause: "causes",
    Strategy: "strategies",
    FaultPattern: "faults",
    Framework: "frameworks",
}
"""Sections of a knowledge file, which are also the classes that ids are unique in."""

GENERAL_FAMILIES = frozenset({*ARCHITECTURES, "transformer"})
"""Names that a strategy may use as its families besides families: an architecture, or any transformer."""


def check_knowledge(
    nouns: Sequence[Noun], known_ids: Mapping[str, AbstractSet[str]] | None = None
) -> list[Fault]:
    """Faults between nouns that are valid one by one.

    Args:
        nouns: From one or several files.
        known_ids: Ids that exist already, by section name; none if not given.

    Returns:
        Ids given twice, references to nothing, circles; empty if all is well.
    """
    ids = {section: set(known_ids.get(section, ())) if known_ids else set() for section in CLASSES.values()}
    faults = []
    counts = Counter((CLASSES[type(noun)], noun.id) for noun in nouns)
    for (section, identifier), count in counts.items():
        ids[section].add(identifier)
        if count > 1:
            faults.append(Fault(place=f"{section} {identifier}", reason=f"there {count} times"))
    for noun in nouns:
        for target, sections in _references(noun):
            if not any(target in ids[section] for section in sections):
                place = f"{CLASSES[type(noun)]} {noun.id}"
                faults.append(Fault(place=place, reason=f"{target!r} is not in {' or '.join(sections)}"))
    faults.extend(_circles(nouns))
    return faults


def with_symmetric_conflicts(nouns: Sequence[Noun]) -> list[Noun]:
    """The nouns, with each conflict stated by both of its strategies.

    A file may state a conflict once; the graph has it on both sides, with the same source.
    """
    stated = {noun.id: noun for noun in nouns if isinstance(noun, Strategy)}
    missing: dict[str, list[Relation]] = {}
    for strategy in stated.values():
        for conflict in strategy.conflicts_with:
            other = stated.get(conflict.target)
            if other is not None and all(item.target != strategy.id for item in other.conflicts_with):
                missing.setdefault(other.id, []).append(Relation(target=strategy.id, source=conflict.source))
    return [
        replace(noun, conflicts_with=(*noun.conflicts_with, *missing[noun.id]))
        if isinstance(noun, Strategy) and noun.id in missing
        else noun
        for noun in nouns
    ]


def _references(noun: Noun) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Ids that a noun refers to, and the sections in which they may be."""
    match noun:
        case HardwareProfile():
            yield from (
                (target, ("hardware",)) for target in (noun.broader, noun.assumed, noun.device) if target
            )
        case Model():
            yield noun.family, ("families",)
        case Bottleneck() | Cause():
            if isinstance(noun, Bottleneck) and noun.broader:
                yield noun.broader, ("bottlenecks",)
            yield from ((edge.cause, ("bottlenecks", "causes")) for edge in noun.caused_by)
        case Strategy():
            yield from ((target, ("hardware",)) for target in noun.hardware)
            yield from ((name, ("families",)) for name in noun.families if name not in GENERAL_FAMILIES)
            yield from ((item.target, ("bottlenecks",)) for item in noun.mitigates if item.target)
            related = (*noun.requires, *noun.conflicts_with)
            yield from ((item.target, ("strategies",)) for item in related if item.target)
            harm = noun.contraindicated_by
            yield from ((item.target, ("bottlenecks", "strategies")) for item in harm if item.target)
        case Framework():
            yield from ((target, ("hardware",)) for target in noun.hardware)
        case FaultPattern():
            yield from ((target, ("strategies",)) for target in noun.strategies)


def _circles(nouns: Iterable[Noun]) -> Iterator[Fault]:
    broader: dict[str, list[tuple[str, str]]] = {"hardware": [], "bottlenecks": []}
    causes: list[tuple[str, str]] = []
    for noun in nouns:
        if isinstance(noun, HardwareProfile | Bottleneck) and noun.broader:
            broader[CLASSES[type(noun)]].append((noun.id, noun.broader))
        if isinstance(noun, Bottleneck | Cause):
            causes += [(noun.id, edge.cause) for edge in noun.caused_by]
    for edges, section in (
        (broader["hardware"], "broader"),
        (broader["bottlenecks"], "broader"),
        (causes, "caused_by"),
    ):
        if members := circle(edges):
            yield Fault(place=section, reason=f"a circle: {' > '.join(members)}")
