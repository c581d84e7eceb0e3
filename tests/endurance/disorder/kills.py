"""Kills with signal 9 at random moments of every command that writes."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.endurance.disorder.acts import ACTS, EVALUATIONS, ONE_STEP, act, look
from tests.endurance.disorder.children import run
from tests.endurance.disorder.conditions import clear

START = {"restore": "grown"}
"""Workspace that a command begins with; ``base`` for the others."""


@dataclass(slots=True)
class KillFigures:
    """The outcome of kills.

    Attributes:
        kills: Children that died before their end.
        ended_before: Children that were done before their moment.
        torn: Workspaces that were neither as before nor as after, or had a fault.
        broken: Workspaces that could not be opened afterwards.
        rows_lost: Rows or evaluations that were acknowledged and gone.
        unlike: Workspaces in which the command, done again, ended elsewhere.
        by_act: Kills of each command.
    """

    kills: int = 0
    ended_before: int = 0
    torn: int = 0
    broken: int = 0
    rows_lost: int = 0
    unlike: int = 0
    by_act: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Reference:
    """A command that nobody disturbed.

    Attributes:
        before: Content of the workspace before it.
        after: Content after it.
        duration_s: How long it took.
    """

    before: dict[str, object]
    after: dict[str, object]
    duration_s: float


def kill_often(
    place: Path, number: int, rng: Random, say: Callable[[str], None], acts: tuple[str, ...] = ACTS
) -> KillFigures:
    """Kill commands in turn.

    Args:
        place: What ``places.make`` has filled.
        number: How many kills.
        rng: Chooses the moments.
        say: Gets a line for whatever is wrong.
        acts: Commands.
    """
    figures = KillFigures()
    references = {name: undisturbed(place, name) for name in acts}
    path = place / "work"
    while figures.kills < number:
        name = acts[(figures.kills + figures.ended_before) % len(acts)]
        reference = references[name]
        fresh(place, name, path)
        moment = rng.uniform(0, 1.05 * reference.duration_s)
        ended = run(act, name, place, path, kill_after_s=moment)
        if ended.was_killed:
            figures.kills += 1
            figures.by_act[name] += 1
        else:
            figures.ended_before += 1
            if ended.error:
                say(f"{name}: undisturbed but {ended.error}")
                figures.broken += 1
        for fault in judge(figures, place, path, name, reference, ended.told):
            say(f"{name} killed after {moment:.3f} of {reference.duration_s:.3f} s: {fault}")
    clear(path)
    return figures


def judge(
    figures: KillFigures, place: Path, path: Path, name: str, reference: Reference, told: Any
) -> list[str]:
    """Look at what a killed command left, count what is wrong, and say it."""
    seen = run(look, path)
    if seen.value is None:
        figures.broken += 1
        return [f"cannot be opened: {seen.error}"]
    wrong = [f"fault {fault}" for fault in seen.value["faults"]]
    states = (reference.before, reference.after)
    if name in ONE_STEP:
        wrong += [
            f"{when} neither as before nor as after"
            for when in ("first", "then")
            if seen.value[when] not in states
        ]
    figures.torn += bool(wrong)
    if name not in ONE_STEP:
        gained = seen.value["then"]["rows"] - reference.before["rows"] if name == "ingest" else 0
        kept = seen.value["ended"] if name == "search" else gained
        if isinstance(told, int) and kept < told:
            figures.rows_lost += told - kept
            wrong.append(f"{told} were acknowledged, {kept} are there")
        again = run(act, name, place, path)
        seen = run(look, path)
        left = None if seen.value is None else seen.value["then"]
        is_short = name == "search" and seen.value is not None and seen.value["ended"] != EVALUATIONS
        if again.error or left != reference.after or is_short:
            figures.unlike += 1
            reason = again.error or seen.error or _difference(left, reference.after)
            wrong.append(f"done again it ends elsewhere: {reason or seen.value['ended']}")
    return wrong


def _difference(one: dict[str, object] | None, other: dict[str, object]) -> str:
    if one is None:
        return ""
    return ", ".join(f"{name} {one[name]} for {other[name]}" for name in other if one[name] != other[name])


def undisturbed(place: Path, name: str) -> Reference:
    """Do a command that nobody disturbs; the content before and after it."""
    path = place / "work"
    fresh(place, name, path)
    before = run(look, path)
    done = run(act, name, place, path)
    after = run(look, path)
    if before.value is None or after.value is None or done.error:
        raise RuntimeError(f"{name}: {before.error or done.error or after.error}")
    if after.value["faults"]:
        raise RuntimeError(f"{name}: {after.value['faults']}")
    return Reference(before.value["then"], after.value["then"], done.duration_s)


def fresh(place: Path, name: str, path: Path) -> None:
    """Put the workspace that a command begins with in its place."""
    clear(path)
    shutil.copytree(place / START.get(name, "base"), path)
