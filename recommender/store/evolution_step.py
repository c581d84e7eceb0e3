"""A step of evolution written to a workspace, and an older version gone back to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.entities import Trust
from kg.triples.hardware_tree import HardwareTree
from kg.triples.knowledge_content import knowledge_content, trusts, without_trust
from kg.triples.serialisation import description, table_of, to_triples
from recommender.evolution import components
from recommender.evolution.step import evolve
from recommender.files import write_json
from recommender.store import versions

if TYPE_CHECKING:
    from datetime import datetime

    from kg.triples.graph import Triple
    from recommender.evolution.step import EvolutionChanges
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
    saved = versions.versions(layout)
    if name:
        versions.free_name(layout, name)
    if not saved:
        saved = [_save(writer, versions.free_name(layout), ["as it was before the first step"], now)]
    name = versions.free_name(layout, name)
    evolved = evolve(
        graph,
        writer.trials,
        tree,
        known_hardware=saved[-1].hardware,
        components=components.load(layout.components),
        most=most,
    )
    removed: list[Triple] = []
    added: list[Triple] = []
    for strategy in evolved.strategies:
        removed += description(graph, table_of(type(strategy)).iri(strategy))
        added += to_triples(strategy)
    writer.revise(removed, added, evolved.trusts, mark=f"version/{name}")
    shares = evolved.components
    write_json(layout.components, {"hardware": shares.hardware, "family": shares.family, "own": shares.own})
    changelog = evolved.changelog or ("nothing to change",)
    return EvolutionStep(evolved=evolved, version=_save(writer, name, list(changelog), now))


def revert(writer: Writer, now: datetime, name: str) -> versions.Version:
    """Go back to a version, and save that as the newest.

    Raises:
        UnknownEntityError: There is none of this name.
        WorkspaceError: It is damaged; nothing was changed.
    """
    layout, graph = writer.layout, writer.graph
    then, current = versions.content(layout, name), knowledge_content(graph)
    before, after = trusts(current), trusts(then)
    changed = {
        key: after.get(key, Trust.MEDIUM)
        for key in before.keys() | after.keys()
        if before.get(key) is not after.get(key)
    }
    new = versions.free_name(layout)
    removed, added = without_trust(current - then), without_trust(then - current)
    writer.revise(removed, added, changed, mark=f"version/{new}")
    versions.restore_learned(layout, name)
    return _save(writer, new, [f"went back to {name}"], now)


def _save(writer: Writer, name: str, changelog: list[str], now: datetime) -> versions.Version:
    return versions.save(
        writer.layout,
        writer.graph,
        name,
        changelog,
        batch=writer.batch,
        hardware=HardwareTree(writer.graph).ids(),
        now=now,
    )
