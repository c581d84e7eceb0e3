"""Names in a question that nothing reads, as notes: a misspelt name must not be passed over in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from kg.nouns.entities import Problem
from kg.nouns.look_up import Standing
from kg.nouns.situation import FactOrigin
from kg.nouns.values import Settings, Value
from kg.terms.facts import FACTS
from kg.terms.meanings import degree_of, meaning_of, own_names
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings, softwares
from recommender.applicability.programs import unmodelled
from recommender.cost_model.question import BELOW_ENGINES

ALIKE = 0.8
"""Likeness (``difflib``'s ratio) from which an unknown name is taken for a misspelling; a choice."""
_LENGTHS = frozenset({"seq_len", "input_len", "output_len"})
_OTHERS = frozenset({"architecture", "block_shape"})
"""Traits that the feasibility of a question reads."""


def unread_names(
    problem: Problem,
    facts: Mapping[str, Value],
    frameworks: Iterable[str],
    release: ReleaseSettings | None,
) -> list[str]:
    """What is said of names in a question about a model that nothing reads.

    Args:
        problem: The question.
        facts: The model's facts, whose names a question may state.
        frameworks: Ids of the frameworks of the graph.
        release: Settings of the release in use; None where none ship.
    """
    work = problem.workload
    notes = [*_unread("size", work.shape, facts), *_unread("trait", work.traits, facts)]
    if facts.get("architecture") == "vision":
        lengths = sorted(_LENGTHS & {*work.shape})
        notes += [f"a model of images has no sequences: {name} is not read" for name in lengths]
    notes += _unknown_programs(problem.software, frameworks)
    notes += _replaced(problem)
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
    """The question without the sizes and traits that nothing reads, so that they decide nothing.

    Args:
        problem: A question about a model.
        facts: The model's facts.
    """
    work = problem.workload
    shape, traits = (
        Settings({name: value for name, value in table.items() if not [*_unread("", (name,), facts)]})
        for table in (work.shape, work.traits)
    )
    if len(shape) == len(work.shape) and len(traits) == len(work.traits):
        return problem
    return replace(problem, workload=replace(work, shape=shape, traits=traits))


def _unread(kind: str, names: Iterable[str], facts: Collection[str]) -> Iterator[str]:
    for name in names:
        stem = name.partition("[")[0]
        if stem in _OTHERS or stem in FACTS or meaning_of(name) is not None:
            continue
        near = get_close_matches(name, sorted({*FACTS, *own_names()}), 1, ALIKE)
        if near:
            yield f"nothing reads the {kind} {name}; did you mean {near[0]}?"
        elif name not in facts:
            yield f"nothing reads the {kind} {name}"


def _unknown_programs(software: Iterable[str], frameworks: Iterable[str]) -> Iterator[str]:
    known = {*frameworks, *softwares(), *BELOW_ENGINES}
    for name in software:
        near = [] if name in known else get_close_matches(name, sorted(known), 1, ALIKE)
        if near:
            yield f"no program named {name} is known; did you mean {near[0]}?"


def _replaced(problem: Problem) -> Iterator[str]:
    """That the plan is for another program than the script starts, because it was told so."""
    facts = problem.situation.facts
    for name in sorted(set(problem.software) & set(unmodelled())):
        fact, others = facts.get(f"software.{name}"), sorted(set(problem.software) - {name})
        if fact is not None and fact.origin is FactOrigin.SCRIPT and others:
            told = ", ".join(others)
            yield f"your script starts {name}, which nothing models; this is for {told}, as you told"


def _unknown_settings(names: Iterable[str], release: ReleaseSettings) -> Iterator[str]:
    for name in names:
        if name in FACTS or plain_key(name) in own_names() or degree_of(name) is not None:
            continue
        found = release.look_up(name)
        if found.standing is Standing.UNKNOWN and found.nearest:
            software = f"{release.registry.software} {release.release}"
            yield f"{software} has no setting {name}; did you mean {found.nearest[0]}?"
