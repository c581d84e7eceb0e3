"""Spaces of the cost model, wholly estimated, as searches of kernels see a space; with the step's parts."""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from benchmarks.searches.kernel_searches import evaluation as plain_evaluation
from benchmarks.searches.search_cost_model import World
from benchmarks.worlds.kernel_spaces import Space
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.values import Settings
from recommender.cost_model.estimate import estimate_question
from recommender.search.evaluations import Evaluation
from recommender.search.run.assembly import model_of_task
from recommender.space.parts import SearchPart, subspace
from recommender.space.space import SearchSpace

SPLIT = {
    "device": (
        ("flash_attention", "fused_ops", "fused_optimizer"),
        ("compute", "memory", "scheduling", "bubble", "synchronisation"),
    ),
    "communication": (
        ("overlap_gradients", "sequence_parallel", "overlap_tensor_parallel"),
        ("communication_exposed",),
    ),
    "host": (("graph",), ("host", "data_loading")),
}
"""Parts of a training step: which parameters act on it, and which of the model's times are its."""

_LEAST_S = 1e-6
"""Time a part counts at least: ratios need one above zero."""


class ModelSpace(Space):
    """One space of the cost model by its first objective; what breaks the memory limit counts as failed."""

    def __init__(self, file: str, shipped: ShippedKnowledge) -> None:
        super().__init__(kernel=file, task="training", device=file)
        world = World(file, shipped)
        self.task_space = world.task.space
        costs = {settings: world.costs(settings, 1) for settings in world.values}
        self.costs = {s: math.inf if found is None else math.exp(found[0]) for s, found in costs.items()}
        model = model_of_task(world.task)
        steps = estimate_question(model.question, list(self.costs))
        self.rows = {settings: row for row, settings in enumerate(self.costs)}
        self.times = np.stack(
            [np.sum([steps.split_s[name] for name in names], axis=0) for _, names in SPLIT.values()], axis=1
        )

    @cached_property
    def space(self) -> SearchSpace:
        return self.task_space

    @cached_property
    def parts(self) -> tuple[SearchPart, ...]:
        owned = {name for own, _ in SPLIT.values() for name in own}
        shared = [name for name in self.space.names if name not in owned]
        return tuple(
            SearchPart(name=name, space=subspace(self.space, {*own, *shared}), metrics=metrics)
            for name, (own, metrics) in SPLIT.items()
        )

    def evaluation(self, settings: Settings) -> Evaluation:
        told = plain_evaluation(self, settings)
        if not told.ok:
            return told
        return replace(told, parts=tuple(np.maximum(self.times[self.rows[settings]], _LEAST_S).tolist()))
