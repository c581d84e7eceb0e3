"""Mechanisms of the simulated world put at fault, one or two at a time, and how often they are named."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.profiles import profile_files
from benchmarks.profiles.simulated_runs import HOME, LEFT_OUT, Chip, World, simulate
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile


def _pauses(count: int, each: float, random: np.random.Generator) -> dict[int, float]:
    return {int(random.integers(1, 110)): each for _ in range(count)}


def break_it(world: World, node: str, random: np.random.Generator) -> bool:
    """Put one mechanism at fault; false for faults this world has no mechanism for."""
    strength = float(random.uniform(1.0, 2.5))
    if node == "host-bound":
        world.launch_us = 350 * strength
    elif node == "python-gc-high-latency":
        world.gc_us = [9000 * strength] * 2
        world.pauses_us |= {30: 9000 * strength, 80: 9000 * strength}
    elif node == "slow-dataloader":
        world.loader_us = 18_000 * strength
        world.pauses_us |= {1: 18_000 * strength}
    elif node == "memory-allocation-stall":
        pauses = _pauses(25, 1500 * strength, random)
        world.pauses_us |= pauses
        world.calls += [("acl", "aclrtFreePhysical", sum(pauses.values()), len(pauses))]
    elif node == "slow-rank":
        world.work = [1 + 0.25 * strength, 1.0, 1.0, 1.0]
    elif node == "frequency-drop":
        world.clock = [1 - 0.15 * strength, 1.0, 1.0, 1.0]
    elif node == "slow-link":
        world.link_gb_s = [20.0, 20.0, 20.0, 20.0 / (4 * strength)]
    elif node == "small-packets":
        world.packet_mb = 0.0655
    elif node == "aicpu-operator":
        world.fallback = 0.15 * strength
    elif node == "layout-transform":
        world.extra += [("TransData", 300 * strength, 6)]
    elif node == "cast-traffic":
        world.extra += [("Cast", 300 * strength, 6)]
    elif node == "bandwidth-contention":
        world.contention = 0.4 + 0.1 * strength
    else:
        return False
    return True


def worlds(nodes: tuple[str, ...], chip: Chip, random: np.random.Generator) -> tuple[World, World] | None:
    """A sound world and the same with mechanisms at fault; None where one is lacking."""
    sound, broken = World(chip=chip), World(chip=chip)
    if "bandwidth-contention" in nodes:
        for world in (sound, broken):
            world.overlap, world.gradients_mb = True, 50.0
    return (sound, broken) if all(break_it(broken, node, random) for node in nodes) else None


@dataclass(frozen=True)
class Ways:
    """How to name causes, how to count, and what is scored."""

    named: dict[str, Callable[..., Any]]
    kind: type
    faults: tuple[Any, ...]
    diagnose_alone: Callable[..., Any]
    where: Path


def score(random: np.random.Generator, ways: Ways, *, runs: int) -> dict[str, object]:
    """Figures of all ways on simulated runs; pairs, and ours on chips left out, apart."""
    scores = {name: ways.kind() for name in ways.named}
    singles(scores, random, ways, HOME, runs)
    nodes = [fault for fault in ways.faults if break_it(World(), fault.node, np.random.default_rng(0))]
    for _ in range(8 * runs):
        first, second = (nodes[i] for i in random.choice(len(nodes), 2, replace=False))
        if first.node in second.chain or second.node in first.chain:
            continue
        pair = both((first.node, second.node), HOME, random, ways)
        if pair is None:
            continue
        before, after = pair
        for name, result in scores.items():
            told = {found for found, _, _ in ways.named[name](after, before)}
            result.pairs.append({first.node, second.node} <= told)
    figures = {name: result.figures() for name, result in scores.items()}
    mine = figures.pop("ours")
    mine["kinds"] = {node: [float(np.mean([a for a, _ in rows])), float(np.mean([b for _, b in rows]))]
                     for node, rows in sorted(scores["ours"].singles.items())}  # fmt: skip
    left_out = {}
    for chip in LEFT_OUT:
        apart = {"ours": ways.kind()}
        singles(apart, random, ways, chip, runs)
        left_out[chip.name] = apart["ours"].figures()
    return {**mine, "baselines": figures, "left_out_chips": left_out}


def singles(scores: dict[str, Any], random: np.random.Generator, ways: Ways, chip: Chip, runs: int) -> None:
    """Count single faults and healthy runs on one chip."""
    for fault in ways.faults:
        for _ in range(runs):
            pair = both((fault.node,), chip, random, ways)
            if pair is None:
                break
            for name, result in scores.items():
                result.single(fault, ways.named[name](pair[1], pair[0]))
    for _ in range(4 * runs):
        sound = _profile(World(chip=chip), int(random.integers(1 << 30)), ways.where)
        for name, result in scores.items():
            if name == "ours":
                result.healthy.append(ways.diagnose_alone(sound))
            else:
                result.healthy.append(bool(ways.named[name](sound, sound)))


LEAST_GROWTH = 1.1
"""Factor by which mechanisms at fault must lengthen the step to be scored: a host that has run ahead hides a
pause, and then there is nothing to find."""
TRIES = 20


def both(
    nodes: tuple[str, ...], chip: Chip, random: np.random.Generator, ways: Ways
) -> tuple[Profile, Profile] | None:
    """A sound run and a broken one of the same job; None where a mechanism is lacking, or hides each time."""
    for _ in range(TRIES):
        pair = worlds(nodes, chip, random)
        if pair is None:
            return None
        state = int(random.integers(1 << 30))
        before, after = (_profile(world, state, ways.where) for world in pair)
        if _length(after) >= LEAST_GROWTH * _length(before):
            return before, after
    return None


def _length(profile: Profile) -> float:
    return max(float(step.step_us) for rank in profile.ranks for step in rank.steps)


def _profile(world: World, state: int, where: Path) -> Profile:
    folder = where / "simulated"
    if folder.exists():
        shutil.rmtree(folder)
    return read_profile(profile_files.write(simulate(world, np.random.default_rng(state)), folder))
