"""Names in a question that nothing reads: a misspelt size is refused, others are told in notes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from ingest.questions.launches.megatron import SIZES
from kg.errors import InputError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.look_up import Standing
from kg.nouns.situation import FactOrigin
from kg.nouns.values import Settings, Value
from kg.terms.circumstances import SIZE_KINDS
from kg.terms.facts import FACTS
from kg.terms.meanings import degree_of, meaning_of, own_names
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings, softwares
from kg.triples.model_facts import SIZED
from recommender.applicability.programs import unmodelled
from recommender.cost_model.machine import TOLD_FACTS
from recommender.cost_model.question import BELOW_ENGINES

ALIKE = 0.8  # likeness (difflib's ratio) from which an unknown name is taken for a misspelling; a choice
_TOLD_BY = {
    **{name: name for name in ("phase", "model", "hardware", "count", "objective", "software")},
    **dict.fromkeys(("framework", "engine", "program"), "software"),
}
"""Facts of a question that no trait states, and the option that does."""
_LENGTHS = frozenset(SIZE_KINDS["lengths"])
_OTHERS = frozenset(
    {"architecture", "block_shape", "trained_by", *TOLD_FACTS}
)  # what feasibility and prices read


def refuse_misspelt(problem: Problem) -> None:
    """Refuse a question about a model whose sizes or traits nothing reads, where it reads names like them.

    Raises:
        InputError: There are some, all of them named.
    """
    work = problem.workload
    misplaced = [f"trait: {name} is told by --{_TOLD_BY[name]}" for name in work.traits if name in _TOLD_BY]
    if misplaced:
        raise InputError("; ".join(misplaced))
    unread = [*_unread("size", work.shape, SIZES.values()), *_unread("trait", work.traits, ())]
    misspelt = [text for text in unread if "did you mean" in text]
    if misspelt and work.model and work.kind in {WorkloadKind.SERVING, WorkloadKind.TRAINING}:
        raise InputError("; ".join(misspelt))


def unread_names(
    problem: Problem,
    facts: Mapping[str, Value],
    frameworks: Iterable[str],
    release: ReleaseSettings | None,
) -> list[str]:
    """Notes about names in a question that nothing reads.

    Args:
        problem: The question.
        facts: The model's facts, whose names a question may state.
        frameworks: Ids of the frameworks of the graph.
        release: Settings of the release in use; None where none ship.
    """
    work = problem.workload
    if not ("architecture" in facts or SIZED & {*facts}):  # of a model without sizes nothing is read
        facts = {}
    notes = [*_unread("size", work.shape, facts), *_unread("trait", work.traits, facts)]
    if facts.get("architecture") == "vision":
        said = "a model of images has no sequences: {} is not read"
        notes += map(said.format, sorted(_LENGTHS & {*work.shape}))
    notes += [*_unknown_programs(problem.software, frameworks), *_replaced(problem)]
    if release is not None:
        notes += [release.note] if release.note else []
        stated = problem.situation.facts
        written = (
            str(stated[f"places.{name}"].value) if f"places.{name}" in stated else name
            for name in problem.current or ()
        )
        notes += _unknown_settings(written, release)
    return notes


def without_unread(problem: Problem, facts: Collection[str]) -> Problem:
    """A question about a model as cases state it: lengths are sizes, and what nothing reads is left out."""
    work = problem.workload
    lengths = {name: work.traits[name] for name in work.traits if name in _LENGTHS}
    shape, traits = (
        Settings({name: value for name, value in table.items() if not [*_unread("", (name,), facts)]})
        for table in ({**lengths, **work.shape}, {k: v for k, v in work.traits.items() if k not in lengths})
    )
    return replace(problem, workload=replace(work, shape=shape, traits=traits))


def _unread(kind: str, names: Iterable[str], facts: Collection[str]) -> Iterator[str]:
    for name in names:
        stem = name.partition("[")[0]
        if stem in _OTHERS or stem in FACTS or meaning_of(name) is not None:
            continue
        if name not in facts:
            near = get_close_matches(name, sorted({*FACTS, *own_names()}), 1, ALIKE)
            yield f"nothing reads the {kind} {name}" + (f"; did you mean {near[0]}?" if near else "")


def _unknown_programs(software: Iterable[str], frameworks: Iterable[str]) -> Iterator[str]:
    known = {*frameworks, *softwares(), *BELOW_ENGINES}
    for name in software:
        near = [] if name in known else get_close_matches(name, sorted(known), 1, ALIKE)
        if near:
            yield f"no program named {name} is known; did you mean {near[0]}?"


def _replaced(problem: Problem) -> Iterator[str]:
    """A note that the plan is for another program than the script starts, because the question says so."""
    facts = problem.situation.facts
    for name in sorted(set(problem.software) & set(unmodelled())):
        fact, others = facts.get(f"software.{name}"), sorted(set(problem.software) - {name})
        if fact is not None and fact.origin is FactOrigin.SCRIPT and others:
            yield f"your script starts {name}, which nothing models; this is for {', '.join(others)}, as told"


def _unknown_settings(names: Iterable[str], release: ReleaseSettings) -> Iterator[str]:
    for name in names:
        if name in FACTS or plain_key(name) in own_names() or degree_of(name) is not None:
            continue
        if "." in name and meaning_of(name, release.registry.software) is not None:
            continue
        found = release.look_up(name)
        if found.standing is Standing.UNKNOWN and found.nearest:
            software, meant = f"{release.registry.software} {release.release}", found.nearest[0]
            yield f"{software} has no setting {name}; did you mean {meant}?"
