"""The rule leaves out exactly the configurations that fail in the cost model."""

import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.entities import Limit, Status
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.machine import machine
from recommender.cost_model.question import Question
from recommender.search.engine.search import Search
from recommender.search.objectives.modelled import CostModel
from recommender.search.run.number_sources import fit_notes, fit_tally
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task
from recommender.space.made.memory_rule import MARGIN, MemoryRule, fit_constraint
from recommender.space.space import SearchSpace
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace

PARAMETERS: dict[str, list[object]] = {
    "tensor_parallel": [1, 2, 3, 4, 8],
    "pipeline_parallel": [1, 2, 4, 5],
    "micro_batch": [1, 2, 8, 32],
    "zero_stage": [0, 1, 3],
    "recompute": ["none", "full"],
    "precision": ["bf16", "fp8"],
}
FIXED: dict[str, object] = {"seq_len": 4096, "global_batch": 128}


def cost_model(shipped: Workspace, name: str = "qwen3-8b", count: int = 8) -> CostModel:
    problem, _ = shipped.problem({"model": name, "phase": "training", "hardware": "ascend-910b3"})
    sizes = shipped.ask.model_facts(problem)
    where = machine(
        "ascend-910b3",
        shipped.hardware.facts("ascend-910b3"),
        count=count,
        server="atlas-800t-a2",
        server_facts=shipped.hardware.facts("atlas-800t-a2"),
    )
    model = model_of(name, str(sizes.get("architecture", "")), sizes)
    return CostModel(question=Question(model=model, machine=where, phase="training", settings=FIXED))


def space_of(objective: CostModel, margin: float = 0.0) -> SearchSpace:
    fits, unasked = fit_constraint(objective.question, margin=margin)
    assert fits is not None
    assert unasked == ""
    declared = read_space({"parameters": PARAMETERS})
    return SearchSpace(parameters=declared.parameters, constraints=(fits,))


@pytest.mark.long
def test_it_leaves_out_what_fails_and_nothing_else(shipped: Workspace) -> None:
    objective = cost_model(shipped)
    space = space_of(objective)
    inside = {item.digest for item in space.enumerate()}
    for item in space.declared.enumerate():
        ran = objective.evaluate(item, threading.Event()).status is Status.OK
        assert (item.digest in inside) == ran, item
        assert (space.violated(item) is None) == ran
    tally = fit_tally(space, most=10_000)
    assert tally is not None
    assert tally.remaining == len(inside)
    assert all(tally.removed.values())
    assert all(name in str(tally) for name in ("modelled memory", "layout", "precision", "memory"))


def test_no_search_proposes_what_cannot_run(shipped: Workspace) -> None:
    objective = cost_model(shipped)
    throughput = read_task(
        TaskFile({"parameters": PARAMETERS, "objectives": ["throughput"]}, name="t")
    ).objectives
    search = Search(space=space_of(objective), objectives=throughput)
    asked = search.ask(30)
    assert all(
        objective.evaluate(item.configuration, threading.Event()).status is Status.OK for item in asked
    )


def test_a_margin_lets_more_through(shipped: Workspace) -> None:
    objective = cost_model(shipped, "qwen3-14b")
    tight, wide = space_of(objective), space_of(objective, margin=MARGIN)
    strict = {item.digest for item in tight.enumerate()}
    loose = {item.digest for item in wide.enumerate()}
    assert strict < loose
    assert tight.digest == wide.digest == tight.declared.digest  # facts are no part of what was declared


def test_a_limit_on_the_memory_counts_like_the_capacity(shipped: Workspace) -> None:
    limit = Limit(metric="peak_memory", maximum=30e9, unit="B")
    fits, _ = fit_constraint(cost_model(shipped).question, [limit])
    assert fits is not None
    assert cast("MemoryRule", fits.holds).most_bytes == 30e9


def test_what_it_cannot_tell_is_said(shipped: Workspace) -> None:
    question = cost_model(shipped).question
    facts = {name: x for name, x in question.machine.device.facts.items() if "memory_bytes" not in name}
    bare = machine("chip", facts, count=8)
    fits, unasked = fit_constraint(
        Question(model=question.model, machine=bare, phase="training", settings=FIXED)
    )
    assert fits is not None
    assert "memory_bytes of chip is not known" in unasked
    small = model_of("small-net", "cnn", {"parameters": 1e6, "flops_per_sample": 1e9})
    none, why = fit_constraint(Question(model=small, machine=bare, phase="training"))
    assert none is None
    assert "is not known" in why


def test_a_space_that_is_sampled_is_checked_as_it_is_drawn(shipped: Workspace) -> None:
    objective = cost_model(shipped)
    fits, _ = fit_constraint(objective.question)
    assert fits is not None
    declared = read_space({"parameters": {**PARAMETERS, "expert_imbalance": {"low": 1.0, "high": 2.0}}})
    space = SearchSpace(parameters=declared.parameters, constraints=(fits,))
    drawn = space.sample(np.random.default_rng(0), 20)
    assert all(objective.evaluate(item, threading.Event()).status is Status.OK for item in drawn)


def raw(**more: object) -> dict[str, object]:
    about = {"model": "qwen3-14b", "hardware": "ascend-910b3", "count": 8}
    return {
        "problem": {**about, "phase": "training"},
        "parameters": {**PARAMETERS, "precision": ["bf16"]},
        **more,
    }


MODELLED = {
    "cost_model": {"phase": "training", "server": "atlas-800t-a2", "fixed": FIXED},
    "objectives": ["throughput"],
}
MEASURED: dict[str, Any] = {
    "command": ["true", *(f"{{{name}}}" for name in PARAMETERS)],
    "metrics": {"step_time": {"path": "t", "unit": "s"}},
}


def test_a_search_says_what_was_left_out(shipped: Workspace, tmp_path: Path) -> None:
    def notes(**more: object) -> str:
        told = raw(**{name: item for name, item in more.items() if name != "parameters"})
        told |= {"parameters": more["parameters"]} if "parameters" in more else {}
        found = shipped.searches.prepare(
            TaskFile(told, name="x", folder=tmp_path), base={"PATH": "/usr/bin:/bin"}
        )
        return "\n".join(found.metadata.notes)

    assert "by memory" in notes(**MODELLED)
    assert "modelled memory" not in notes(**MEASURED)  # what is measured is not forbidden unasked
    section = {"phase": "training", "fixed": FIXED}
    told = notes(**MEASURED, modelled_memory=section)
    assert "by memory" in told
    assert "margin: off" in told
    own = {**PARAMETERS, "precision": ["bf16"], "own_knob": [1, 2]}
    command = {"command": [*MEASURED["command"], "{own_knob}"], "metrics": MEASURED["metrics"]}
    assert "by memory" in notes(**command, modelled_memory=section, parameters=own)
    assert "leaves out" not in notes(**MEASURED, modelled_memory={**section, "margin": False})
    with pytest.raises(InputError, match="margin"):
        notes(**MEASURED, modelled_memory={**section, "margin": "much"})
    with pytest.raises(InputError, match="for what is measured"):
        notes(**MODELLED, modelled_memory=section)
    with pytest.raises(InputError, match="no setting named"):
        notes(**MODELLED | {"parameters": {"tile": [1, 2]}})


def test_where_nothing_fits_the_search_does_not_begin(shipped: Workspace, tmp_path: Path) -> None:
    small = {**MODELLED, "parameters": {"micro_batch": [16], "tensor_parallel": [1]}}
    with pytest.raises(InfeasibleError, match="nothing is left") as caught:
        shipped.searches.prepare(TaskFile(raw(**small), name="x", folder=tmp_path), base={})
    assert "GB of a device are needed" in caught.value.hint


def test_a_default_that_does_not_fit_is_not_tried(shipped: Workspace, tmp_path: Path) -> None:
    default = {
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "micro_batch": 32,
        "zero_stage": 0,
        "recompute": "none",
        "precision": "bf16",
    }
    found = shipped.searches.prepare(
        TaskFile(raw(**MODELLED, default=default), name="x", folder=tmp_path), base={}
    )
    assert any("the default is among them" in note for note in fit_notes(found.task))
