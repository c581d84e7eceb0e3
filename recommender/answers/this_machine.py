"""This machine as a question names it: its devices, how many, and the framework that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from ingest.questions.launches.program import program_signs
from ingest.questions.smi import read_smi
from kg.errors import InputError
from recommender.applicability.framework import LIBRARY
from recommender.measuring.environment import device_listing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.framework import Framework
    from kg.triples.names import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """The hardware and the framework of this machine.

    Attributes:
        hardware: Id of the device; empty if the graph does not know it, or there is none.
        has_accelerators: Whether there are any.
        count: Their number.
        framework: Id of the framework that is installed; empty if none is.
        version: Its release.
        sources: Where each is from, by its name.
        notes: What could not be told, and why.
    """

    hardware: str = ""
    has_accelerators: bool = False
    count: int | None = None
    framework: str = ""
    version: str = ""
    sources: Mapping[str, str]
    notes: tuple[str, ...] = ()


def machine_facts(names: Names, frameworks: Sequence[Framework]) -> MachineFacts:
    """The devices that npu-smi or nvidia-smi tells, with what is installed beside them.

    What a machine without accelerators is, and has installed, says nothing of where its jobs run.
    """
    text, tool = device_listing()
    notes: list[str] = []
    stated, count = "", None
    if text:
        try:
            facts = read_smi(text, tool)
        except InputError as error:
            notes.append(str(error))
        else:
            question = facts.question
            stated, count = str(question.get("hardware") or ""), question.get("count")
            notes += facts.notes
    hardware = ""
    if stated:
        try:
            hardware = names.hardware(stated).id
        except InputError as error:
            notes.append(f"{error}; {error.hint}")
    framework, release = _installed(frameworks) if text else ("", "")
    return MachineFacts(
        hardware=hardware,
        has_accelerators=bool(text),
        count=count if isinstance(count, int) and hardware else None,
        framework=framework,
        version=release,
        sources={"hardware": f"{tool}: {stated}", "count": tool, "framework": "installed here"},
        notes=tuple(notes),
    )


def _installed(frameworks: Sequence[Framework]) -> tuple[str, str]:
    """The framework that is installed, of several the one that runs on the others, and its release."""
    releases: dict[str, str] = {}
    for item in frameworks:
        try:
            releases[item.id] = version(item.id)
        except PackageNotFoundError:
            continue
    held = [item for item in frameworks if item.id in releases and item.id != LIBRARY]
    if not held:
        return "", ""
    # of those that nothing tells apart, one that is launched and no language of kernels
    launched = program_signs()
    top = max(held, key=lambda one: (sum(one.reads(other.id) for other in held), one.id in launched, one.id))
    return top.id, releases[top.id].partition("+")[0]
