"""A step of evolution written to a workspace, and an older version gone back to."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kg.nouns.entities import Trust
from kg.triples.graph import GraphStore, Triple
from kg.triples.hardware_tree import HardwareTree
from kg.triples.knowledge_content import (
    knowledge_among,
    knowledge_content,
    trusts,
    without_trust,
)
from kg.triples.serialisation import description, table_of, to_triples
from recommender.evolution import components
from recommender.evolution.step import EvolutionChanges, evolve
from recommender.store import versions
from recommender.store.upkeep.learned import keep_learned
from recommender.store.writing.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionStep:
    """A step that was taken.

    Attributes:
        evolved: What it changed.
        version: The version it was saved as.
    """

    evolved: EvolutionChanges
    version: versions.Version


def take_step(writer: Writer, now: datetime, *, name: str = "", most: int = 10) -> EvolutionStep:
    """Take a step and save it as a version; before the first, the knowledge is saved as it is.

    Args:
        writer: Entered.
        now: The time.
        name: Of the version; the next number if empty.
        most: New hypotheses at most.

    Raises:
        InputError: The name is none, or is taken.
    """
    layout, graph = writer.layout, writer.graph
    tree = HardwareTree(graph)
    saved = versions.versions(layout, writer.batch)
    if name:
        versions.free_name(saved, name)
    first = None if saved else _version("v0", ["as it was before the first step"], now, writer.batch, tree)
    if first is not None:
        saved = [first]
    name = versions.free_name(saved, name)
    learned = layout.learned(writer.batch)
    evolved = evolve(
        graph,
        writer.trials,
        tree,
        known_hardware=saved[-1].hardware,
        components=components.load(learned.components),
        most=most,
    )
    removed: list[Triple] = []
    added: list[Triple] = []
    for strategy in evolved.strategies:
        removed += description(graph, table_of(type(strategy)).iri(strategy))
        added += to_triples(strategy)
    shares = evolved.components
    fitted = {"hardware": shares.hardware, "family": shares.family, "own": shares.own}
    before, current = learned.contents(), knowledge_content(graph)
    after = {**before, learned.components.name: json.dumps(fitted, indent=2).encode()}
    changelog = evolved.changelog or ("nothing to change",)
    version = _version(name, changelog, now, writer.batch, tree)

    def prepare(batch: int, gone: Sequence[Triple], come: Sequence[Triple]) -> versions.Version:
        if first is not None:
            versions.save(layout, replace(first, since=batch), current, before)
        knowledge = _revised(current, gone, come)
        complete = replace(version, batch=batch, since=batch)
        versions.save(layout, complete, knowledge, after)
        keep_learned(layout, batch, after)
        return complete

    complete = writer.revise(removed, added, evolved.trusts, mark=f"version/{name}", prepare=prepare)
    return EvolutionStep(evolved=evolved, version=complete)


def revert(writer: Writer, now: datetime, name: str) -> versions.Version:
    """Go back to a version, and save that as the newest.

    Raises:
        UnknownEntityError: There is none of this name.
        WorkspaceError: It is damaged; nothing was changed.
    """
    layout, graph = writer.layout, writer.graph
    then, current = versions.content(layout, name), knowledge_content(graph)
    learned = versions.learned_then(layout, name)
    before, after = trusts(current), trusts(then)
    changed = {
        key: after.get(key, Trust.MEDIUM)
        for key in before.keys() | after.keys()
        if before.get(key) is not after.get(key)
    }
    new = versions.free_name(versions.versions(layout, writer.batch))
    removed, added = without_trust(current - then), without_trust(then - current)

    def prepare(batch: int, gone: Sequence[Triple], come: Sequence[Triple]) -> versions.Version:
        knowledge, draft = _revised(current, gone, come), GraphStore()
        draft.extend(knowledge)
        version = _version(new, [f"went back to {name}"], now, batch, HardwareTree(draft))
        versions.save(layout, version, knowledge, learned)
        keep_learned(layout, batch, learned)
        return version

    return writer.revise(removed, added, changed, mark=f"version/{new}", prepare=prepare)


def _revised(current: set[Triple], gone: Iterable[Triple], come: Iterable[Triple]) -> set[Triple]:
    """Return the knowledge as it will be after a revision."""
    return knowledge_among(current.difference(gone).union(come))


def _version(
    name: str, changelog: Sequence[str], now: datetime, batch: int, tree: HardwareTree
) -> versions.Version:
    return versions.Version(
        name=name,
        time=now.isoformat(timespec="microseconds"),
        batch=batch,
        since=batch,
        hardware=frozenset(tree.ids()),
        changelog=tuple(changelog),
    )
