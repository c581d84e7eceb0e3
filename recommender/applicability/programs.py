"""The programs that a question names: known ones by their ids, and those that are read but not modelled."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

import data
from kg.errors import NoEvidenceError, UnknownEntityError
from kg.nouns.entities import Problem
from kg.nouns.framework import Framework
from kg.nouns.values import Settings
from kg.terms.setting_registry import softwares
from kg.triples.names import normalise
from recommender.cost_model.question import BELOW_ENGINES, is_step

FILE = "runtime/programs.csv"
ALIKE = 0.6
"""Likeness (``difflib``'s ratio) from which an unknown name is taken for a misspelling; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmodelledProgram:
    """A program whose launches people have and whose layouts nothing models.

    Attributes:
        names: All that it goes by, its id first.
        phases: What it does: training, inference.
    """

    names: tuple[str, ...]
    phases: tuple[str, ...]


@cache
def unmodelled() -> Mapping[str, UnmodelledProgram]:
    """The programs that nothing models, by id."""
    rows = csv.DictReader(data.text(FILE).splitlines())
    return {
        row["program"]: UnmodelledProgram(
            names=(row["program"], *row["names"].split()), phases=tuple(row["phases"].split())
        )
        for row in rows
    }


def with_programs(problem: Problem, frameworks: Sequence[Framework]) -> Problem:
    """The question with its programs under their ids; other questions than those about a model stay.

    Raises:
        UnknownEntityError: A program that nothing knows; the hint has the nearest.
    """
    if not problem.software or not is_step(problem):
        return problem
    software = {known_program(name, frameworks): version for name, version in problem.software.items()}
    return problem if software == dict(problem.software) else replace(problem, software=Settings(software))


def known_program(name: str, frameworks: Sequence[Framework]) -> str:
    """The id of a program by any of its names.

    Raises:
        UnknownEntityError: Nothing knows it; the hint has the nearest.
    """
    ids = program_names(frameworks)
    found = ids.get(normalise(name))
    if found is None:
        near = get_close_matches(normalise(name), ids, 1, ALIKE)
        known = ", ".join(sorted({item.id for item in frameworks} | set(unmodelled())))
        raise UnknownEntityError(
            f"no program named {name!r} is known",
            hint=f"did you mean {ids[near[0]]}?" if near else f"known: {known}",
        )
    return found


def refuse_unmodelled(problem: Problem, frameworks: Sequence[Framework], facts: str, fit: str = "") -> None:
    """Abstain where the only program that a question names is one that nothing models.

    Args:
        problem: The question, its programs under their ids.
        frameworks: Those that the graph knows.
        facts: What is known of model and hardware, in a sentence.
        fit: Whether it fits as it is told, in a sentence; empty where that is not modelled.

    Raises:
        NoEvidenceError: It is.
    """
    named = [name for name in problem.software if name not in BELOW_ENGINES]
    if "verl" in named and _is_of_samples(problem.current or {}):
        raise NoEvidenceError(
            f"verl's supervised trainer is read, but its layouts are not modelled: {facts}",
            hint="its reinforcement learning is; tunegraph check SCRIPT judges what runs",
        )
    others = sorted(set(named) & set(unmodelled()))
    beneath = {name for item in frameworks for name in item.stack} - set(others)
    if set(named) <= beneath or set(named) & {item.id for item in frameworks}:
        return
    if not others:
        raise NoEvidenceError(
            f"{named[0]} is no program that this workspace knows",
            hint="tunegraph workspace renew takes in what ships now; tunegraph support lists what is known",
        )
    if fit:
        raise NoEvidenceError(
            f"{others[0]} is read, but its layouts are not modelled: {facts}; {fit}",
            hint="tunegraph estimate shows the parts of its memory; tunegraph check SCRIPT judges what runs",
        )
    raise NoEvidenceError(
        f"{others[0]} is read, but neither its layouts nor its memory are modelled: {facts}",
        hint="tunegraph check SCRIPT judges what runs; tunegraph support lists what is modelled",
    )


def _is_of_samples(current: Mapping[str, object]) -> bool:
    """True if the settings are of verl's trainer on samples, not of its trainer on rewards."""
    is_of_samples = any(name.startswith(("data.micro_batch", "model.")) for name in current)
    return is_of_samples and not any("rollout" in name for name in current)


def program_names(frameworks: Sequence[Framework]) -> dict[str, str]:
    """Ids of programs by every name that is known of them, without case and punctuation."""
    ids = {normalise(name): name for item in frameworks for name in item.stack}
    ids |= {normalise(name): name for name in BELOW_ENGINES | set(softwares())}
    ids |= {normalise(name): key for key, item in unmodelled().items() for name in item.names}
    for item in frameworks:
        ids |= dict.fromkeys(map(normalise, (*item.labels.values(), *item.aliases, item.id)), item.id)
    return ids
