"""Another workspace joined to this one: its cases, its knowledge, and what it knows of effects.

Cases go through the writer batch by batch, so effects are reckoned from the cases that come in and nothing
counts twice. Effects that the other has without their cases, from an imported graph, are added once and
remembered. Where both describe the same thing differently, ours stays and the conflict is told. The other
workspace is only read; a crash leaves both whole, and merging again goes on.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from ingest.door.gain_limits import highest_gain, implausible_gain
from kg.errors import InputError
from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.effects import UNATS_PER_NAT, Effect
from kg.nouns.entities import Case
from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    FaultPattern,
    HardwareProfile,
    Model,
    ModelFamily,
    Strategy,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.recipe import Recipe
from kg.nouns.values import digest
from kg.rows.cases import all_cases
from kg.rows.interchange import beyond_cases
from kg.rows.joining import LISTED, Contradiction, compare
from kg.rows.trials import TrialStore
from kg.triples.finders import completion_marks
from kg.triples.graph import GraphStore
from kg.triples.iris import outcome_iri
from kg.triples.serialisation import all_of, description, newest_batch, table_of
from kg.triples.snapshots import open_newest
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import NAMESPACE
from recommender.files import WorkspaceFiles, folder_beside
from recommender.store.base import open_base_graph
from recommender.store.upkeep.backup import unpack_backup
from recommender.store.writing.writer import BATCH_ROWS, Additions, Writer

KNOWLEDGE: tuple[type[Any], ...] = (
    HardwareProfile,
    ModelFamily,
    Model,
    Bottleneck,
    Cause,
    Strategy,
    FaultPattern,
    GridRegion,
    GreenSchedule,
    Recipe,
)
"""Nouns that people describe, and may describe differently."""
SHOWN_CHARACTERS = 300
"""Most characters shown of each side of a conflict; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict(JsonNoun):
    """An entry that both workspaces have, with different content.

    Attributes:
        about: What it is.
        ours: What this workspace says, and goes on saying.
        theirs: What the other says.
    """

    about: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult(JsonNoun):
    """The result of a merge, done or simulated.

    Attributes:
        label: What the other workspace is called in the provenance of its batches.
        dry_run: Nothing was written.
        added: Rows and problems.
        knowledge: Names of the described things that were new.
        effects: Effects without cases that were added.
        conflicts: The first hundred.
        conflict_count: How many there are.
    """

    label: str
    dry_run: bool
    added: Additions = field(metadata=in_json(is_spread=True))
    knowledge: tuple[str, ...] = field(metadata=in_json("knowledge_new"))
    effects: int = field(metadata=in_json("effects_merged"))
    conflicts: tuple[Conflict, ...]
    conflict_count: int


def merge(
    here: WorkspaceFiles,
    graph: GraphStore,
    trials: TrialStore,
    writer: Writer | None,
    other: Path,
    *,
    label: str = "",
) -> MergeResult:
    """Join another workspace.

    Args:
        here: This workspace.
        graph: Its graph.
        trials: Its rows.
        writer: Takes what is new; None for a dry run.
        other: Directory of the other workspace, or a backup of it.
        label: What to call it; its directory's name if empty.

    Raises:
        InputError: It is this very workspace.
        WorkspaceError: It is none, or is damaged, or of another version.
    """
    if other.is_file():  # what workspace backup wrote
        with folder_beside(here.root, "merge") as folder:
            unpack_backup(other, Path(folder) / "other")
            return merge(here, graph, trials, writer, Path(folder) / "other", label=label or other.name)
    there = WorkspaceFiles(other)
    if there.root.resolve() == here.root.resolve():
        raise InputError(f"{other} is this workspace itself")
    there.read()
    label = label or there.root.resolve().name
    with open_newest(there.graph) as their_graph:
        theirs = newest_batch(their_graph)
        with TrialStore(there.trials, read_only=True, acknowledged=theirs) as their_trials:
            ours = newest_batch(graph)
            rows = compare(here.trials, there.trials, acknowledged=(ours, theirs))
            nouns, described = _knowledge(graph, their_graph, there)
            effects, marks, odd = effects_to_join(graph, trials, their_graph, their_trials)
            conflicts = [*described, *odd, *conflicts_of(rows.contradictions)]
            added = Additions(
                rows=rows.new_rows, repeated=rows.rows - rows.new_rows, problems=rows.new_problems
            )
            beyond: list[Conflict] = []
            if writer is None:
                beyond += (case for case in map(_doubt, all_cases(their_graph, their_trials)) if case)
            else:
                if nouns:
                    writer.add_knowledge(nouns)
                added = Additions()
                outcomes = {item.source.id: item for item in _outcomes(graph, their_graph)}
                for batch in _batches(_believed(all_cases(their_graph, their_trials), beyond)):
                    about = [outcomes.pop(key) for key in {c.source.id for c in batch} if key in outcomes]
                    added += writer.add(batch, origin=label, about=about)
                if outcomes:
                    writer.add_knowledge(outcomes.values())
                if effects:
                    writer.add_effects(effects, completed=marks, origin=label)
    return MergeResult(
        label=label,
        dry_run=writer is None,
        added=added,
        knowledge=tuple(
            dict.fromkeys(table_of(type(noun)).iri(noun).value.removeprefix(NAMESPACE) for noun in nouns)
        ),
        effects=len(effects),
        conflicts=tuple([*beyond, *conflicts][:LISTED]),
        conflict_count=len(beyond) + len(described) + len(odd) + rows.contradiction_count,
    )


def conflicts_of(contradictions: Iterable[Contradiction]) -> list[Conflict]:
    """Return rows of two stores that contradict each other as conflicts."""
    return [
        Conflict(
            about=f"{row.metric} of {row.operator} on {row.hardware} with {row.configuration}",
            ours=row.ours,
            theirs=row.theirs,
        )
        for row in contradictions
    ]


def _believed(cases: Iterable[Case], beyond: list[Conflict]) -> Iterator[Case]:
    """Yield the cases whose gain can be; the others are passed over, and said in ``beyond``."""
    for case in cases:
        if doubt := _doubt(case):
            beyond.append(doubt)
        else:
            yield case


def _doubt(case: Case) -> Conflict | None:
    metric = case.measurement.metric
    reason = implausible_gain(metric, case.measurement.value, case.baseline, case.strategy)
    if not reason:
        return None
    return Conflict(
        about=f"{metric} of {case.problem.workload.operator} by {case.strategy}",
        ours="what no strategy does is passed over",
        theirs=reason,
    )


def _outcomes(ours: GraphStore, theirs: GraphStore) -> list[Outcome]:
    """Return outcomes of A/B tests that only the other has; their cases come with the others."""
    here = {iri.value for iri in table_of(Outcome).subjects(ours)}
    return [item for item in all_of(theirs, Outcome) if outcome_iri(item.id).value not in here]


def _batches(cases: Iterator[Case]) -> Iterator[list[Case]]:
    batch: list[Case] = []
    for case in cases:
        batch.append(case)
        if len(batch) == BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _knowledge(
    ours: GraphStore, theirs: GraphStore, files: WorkspaceFiles
) -> tuple[list[Any], list[Conflict]]:
    """Return nouns that only the other has, and conflicts of those that both describe differently.

    A bottleneck and a cause may share a node; it is taken over whole or not at all. What the other has as it
    was shipped stays there: this program ships what holds now.
    """
    here: dict[str, list[Any]] = {}
    there: dict[str, list[Any]] = {}
    for graph, nouns_of in ((ours, here), (theirs, there)):
        for kind in KNOWLEDGE:
            table = table_of(kind)
            for noun in all_of(graph, kind):
                nouns_of.setdefault(table.iri(noun).value, []).append(noun)
    missing: list[Any] = []
    conflicts = []
    for iri, nouns in there.items():
        described = here.get(iri)
        if described is None:
            missing += nouns
        elif described != nouns:
            about = iri.removeprefix(NAMESPACE)
            conflicts.append(
                Conflict(about=about, ours=_differing(described, nouns), theirs=_differing(nouns, described))
            )
    if not missing:
        return missing, conflicts
    with open_base_graph(files) as shipped:

        def is_shipped(noun: Any) -> bool:
            iri = table_of(type(noun)).iri(noun)
            return set(description(theirs, iri)) == set(description(shipped, iri))

        return [noun for noun in missing if not is_shipped(noun)], conflicts


def _differing(nouns: list[Any], others: list[Any]) -> str:
    """Describe what nouns say that the others of the same node do not: of lists the items alone."""
    parts = []
    for noun in nouns:
        twin = next((item for item in others if type(item) is type(noun)), None)
        for name in noun.__dataclass_fields__:
            value, other = getattr(noun, name), getattr(twin, name, None)
            if value == other:
                continue
            if isinstance(value, tuple) and isinstance(other, tuple):
                own = [item for item in value if item not in other]
                if own:
                    parts.append(f"{name} {', '.join(map(_brief, own))}")
            else:
                parts.append(f"{name} {_brief(value)}")
    return shorten("; ".join(parts), SHOWN_CHARACTERS, placeholder=" ...") or "nothing more"


def _brief(item: object) -> str:
    """An item in a few words: a fact by name and value, a relation by what it points to."""
    if not is_dataclass(item):
        return str(item)
    name, value = getattr(item, "name", None), getattr(item, "value", None)
    if name is not None and value is not None:
        return f"{name}={value}"
    words = (getattr(item, attribute, None) for attribute in ("target", "parameter", "title", "name", "id"))
    return next((str(text) for text in words if text), str(item))


def effects_to_join(
    graph: GraphStore, trials: TrialStore, their_graph: GraphStore, their_trials: TrialStore
) -> tuple[list[Effect], list[str], list[Conflict]]:
    """Return the other's effects beyond its cases that we lack, their marks, and contradictions."""
    marks = set(completion_marks(graph))
    ours = {EFFECT.iri(effect).value: sums for effect, sums in beyond_cases(graph, trials)}
    effects, fresh, odd = [], [], []
    for effect, (n, total, squares) in beyond_cases(their_graph, their_trials):
        iri = EFFECT.iri(effect).value
        mark = f"effect/{digest(iri, n, total, squares)}"
        if mark in marks or ours.get(iri) == (n, total, squares):
            continue
        is_odd = n < 1 or total**2 > n * squares
        if is_odd or abs(total) > n * UNATS_PER_NAT * math.log(highest_gain(effect.metric)):
            because = "its own cases contradict" if is_odd else "are more than any strategy does"
            odd.append(
                Conflict(
                    about=f"effect of {effect.strategy} on {effect.metric}",
                    ours="what the cases say",
                    theirs=f"{effect.n} gains, which {because}: passed over",
                )
            )
            continue
        effects.append(replace(effect, n=n, sum_unats=total, sum_squares_unats2=squares))
        fresh.append(mark)
    return effects, fresh, odd
