"""Splits of measured tables into known and asked: a device, a vendor or a task is left out."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.harness import Run
from benchmarks.protocols.subset_ranker import SubsetRanker
from benchmarks.worlds.world import World, sampled
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.nouns.knowledge import Level
from kg.triples.hardware_tree import Distance
from recommender.calibration.mixture import ExpertMixture

CLASSES = ("same_vendor", "other_class", "other_vendor", "known_device")
TASK_FOLDS = 5
QUICK_ASKED = 25
"""Problems asked of one device with ``--quick``."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One thing to know and many to ask.

    Attributes:
        name: Corpus, as it is reported.
        family: Operator and metric.
        classes: Where results count.
        known: Keys of the known problems.
        asked: Keys of the asked problems.
        hides_tasks: Whether known problems of the asked task are hidden as well.
    """

    name: str
    family: tuple[str, str]
    classes: tuple[str, ...]
    known: tuple[int, ...]
    asked: tuple[int, ...]
    hides_tasks: bool = False

    def ranker(
        self,
        known: World,
        asked: World,
        mixture: ExpertMixture | None = None,
        left_out: Callable[[Problem], BlockWeights] | None = None,
    ) -> SubsetRanker:
        """The ranker of this fold's known problems alone; it mixes and weighs as the shipped one if None."""
        tasks = (
            frozenset(asked.problems[key].task_id for key in self.asked) if self.hides_tasks else frozenset()
        )
        problems = {key: known.problems[key] for key in self.known}
        return SubsetRanker(
            known.workspace.snapshot,
            problems,
            hides_tasks=self.hides_tasks,
            tasks=tasks,
            mixture=mixture,
            left_out=left_out,
        )


def folds(known: World, asked: World, *, quick: bool, drawn: Run | None = None) -> list[Fold]:
    """Folds of problems to hold back and to ask, the largest first.

    With one world given twice one device is left out at a time; for ``other_vendor`` one foreign device is known
    at a time; then one task in five is left out. With two, a device that is known in the first is asked about
    with its own tasks hidden. A run that rotates asks devices and tasks that its seed draws, all of them hidden.
    """
    rotates = drawn is not None and not drawn.all
    same = known is asked
    scorable = _scorable(asked)
    made: list[Fold] = []
    for (corpus, operator, metric), keys in sorted(asked.families.items()):
        family = (operator, metric)
        source = [
            key for (_, *other), mine in known.families.items() if tuple(other) == family for key in mine
        ]
        targets: dict[str, list[int]] = defaultdict(list)
        for key in keys:
            if key in scorable:
                targets[asked.problems[key].hardware.name].append(key)
        if quick:
            targets = {
                device: sorted(mine, key=lambda key: asked.problems[key].id)[:QUICK_ASKED]
                for device, mine in targets.items()
            }
        name = reported_name(corpus, operator)
        held = drawn.draw(f"device, {name}", targets) if drawn and rotates else frozenset(targets)
        salt = f"{drawn.seed} " if drawn and rotates else ""
        family_folds = _Family(name, family, known, asked, tuple(source), salt)
        made += family_folds.by_task(targets) if same else []
        if rotates and same:
            left = tuple(key for key in source if known.problems[key].hardware.name not in held)
            family_folds = replace(family_folds, source=left)
        for device in sorted(held):
            made += family_folds.by_device(device, targets[device], is_same=same)
    return sorted(made, key=lambda fold: -len(fold.asked))


def sampled_folds(world: World, most: int) -> list[Fold]:
    """All folds of one world, each with so many questions at most, drawn at random."""
    rng = random.Random(0)
    return [
        replace(fold, asked=tuple(rng.sample(fold.asked, min(most, len(fold.asked)))))
        for fold in folds(world, world, quick=False)
    ]


@dataclass(frozen=True, slots=True)
class _Family:
    """One operator and metric: its known problems, to be left out in several ways."""

    name: str
    family: tuple[str, str]
    known: World
    asked: World
    source: tuple[int, ...]
    salt: str = ""

    def by_device(self, device: str, wanted: list[int], *, is_same: bool) -> list[Fold]:
        """The device itself hidden; of other vendors, each device known alone."""
        tree = self.known.hardware
        on = self._by_hardware()
        twins = [name for name in on if tree.distance(device, name) is Distance.SAME_DEVICE]
        if twins and not is_same:
            return [self._fold(("known_device",), self.source, wanted, hides_tasks=True)]
        rest = [name for name in on if name not in twins]
        related = [name for name in rest if tree.distance(device, name) is not Distance.OTHER_VENDOR]
        near = [name for name in related if tree.distance(device, name) < Distance.SAME_VENDOR]
        made: list[Fold] = []
        if related:
            classes = ("same_vendor",) if near else ("same_vendor", "other_class")
            made.append(self._fold(classes, [key for name in rest for key in on[name]], wanted))
        made += [
            self._fold(("other_vendor",), on[name], wanted)
            for name in rest
            if name not in related and tree.above(name, Level.VENDOR)
        ]
        return made

    def by_task(self, targets: dict[str, list[int]]) -> list[Fold]:
        """One task in five hidden (a drawn fifth alone where the run rotates), on devices that ran more than one."""
        on = self._by_hardware()
        wanted = [
            key
            for device, keys in targets.items()
            if len({self.known.problems[one].task_id for one in on.get(device, ())}) > 1
            for key in keys
        ]
        asked = range(1 if self.salt else TASK_FOLDS)
        parts = ([key for key in wanted if self._part(key) == part] for part in asked)
        return [self._fold(("known_device",), self.source, keys, hides_tasks=True) for keys in parts if keys]

    def _by_hardware(self) -> dict[str, list[int]]:
        on: dict[str, list[int]] = defaultdict(list)
        for key in self.source:
            on[self.known.problems[key].hardware.name].append(key)
        return on

    def _part(self, key: int) -> int:
        """The fold of a task, by another chance than the one that samples tasks."""
        name = f"fold {self.salt}{self.asked.problems[key].task_id}"
        return next(part for part in range(TASK_FOLDS) if sampled(name, (part + 1) / TASK_FOLDS))

    def _fold(
        self,
        classes: tuple[str, ...],
        known: list[int] | tuple[int, ...],
        asked: list[int],
        *,
        hides_tasks: bool = False,
    ) -> Fold:
        return Fold(self.name, self.family, classes, tuple(sorted(known)), tuple(sorted(asked)), hides_tasks)


def reported_name(corpus: str, operator: str) -> str:
    """The name under which a corpus is reported."""
    if corpus.startswith("kerneltuner_"):
        return "kernels"
    return "moe_layout" if operator == "moe_layer" else corpus


def _scorable(world: World) -> set[int]:
    trials = world.trials
    return {key for key in world.problems if np.isfinite(trials.table(key, 2).costs).sum() >= 2}


def standard_error(values: Sequence[float], groups: Sequence[str]) -> float | None:
    """Standard error of the mean of values that are alike within groups; None with fewer than two groups.

    The cluster-robust one of a mean: ``sqrt(G / (G - 1) * sum of squared group sums of residuals) / n``.

    Source:
        Cameron and Miller, A Practitioner's Guide to Cluster-Robust Inference, 2015.
    """
    mean = math.fsum(values) / len(values)
    sums: dict[str, float] = defaultdict(float)
    for value, group in zip(values, groups, strict=True):
        sums[group] += value - mean
    count = len(sums)
    if count < 2:
        return None
    return math.sqrt(count / (count - 1) * sum(item**2 for item in sums.values())) / len(values)
