"""Spaces made from model and machine: everything in them can be estimated, and what is not says why."""

import pytest

from kg.errors import InfeasibleError, InputError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.machine import Machine, machine
from recommender.cost_model.question import Question
from recommender.space.made.generated import GeneratedSpace
from recommender.space.made.layouts import layout_space
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace


def model(shipped: Workspace, name: str) -> ModelSizes:
    problem, _ = shipped.problem({"model": name, "phase": "serving", "hardware": "ascend-910b3"})
    facts = shipped.ask.model_facts(problem)
    return model_of(name, str(facts.get("architecture", "")), facts)


def where(
    shipped: Workspace, count: int, device: str = "ascend-910b3", server: str = "atlas-800t-a2"
) -> Machine:
    facts = shipped.hardware.facts(device)
    held = shipped.hardware.facts(server)
    return machine(device, facts, count=count, server=server, server_facts=held)


def asked(
    model: ModelSizes, machine: Machine, phase: str = "serving", fixed: dict[str, object] | None = None
) -> Question:
    return Question(model=model, machine=machine, phase=phase, settings=fixed or {})


def configurations(made: GeneratedSpace) -> list[dict[str, object]]:
    found = read_space(
        {"parameters": dict(made.parameters), "constraints": [dict(x) for x in made.constraints]}
    )
    return [item.to_json() for item in found.enumerate()]


@pytest.mark.parametrize(
    ("name", "count", "phase", "fixed"),
    [
        ("bert-large", 8, "training", {"seq_len": 128, "global_batch": 512}),
        ("qwen3-8b", 4, "training", {"seq_len": 4096, "global_batch": 64}),
        ("qwen3-30b-a3b", 8, "training", {"seq_len": 2048, "global_batch": 64}),
        ("qwen3-32b", 4, "serving", {"input_len": 1024, "output_len": 128}),
        ("qwen3-30b-a3b", 8, "serving", {"input_len": 1024, "output_len": 128}),
        ("qwen3-8b", 1, "serving", {}),
    ],
)
def test_every_configuration_is_a_layout_that_the_cost_model_takes(
    shipped: Workspace, name: str, count: int, phase: str, fixed: dict[str, object]
) -> None:
    sizes, machine_ = model(shipped, name), where(shipped, count)
    made = layout_space(asked(sizes, machine_, phase, fixed))
    settings = [{**fixed, **item} for item in configurations(made)]
    steps = estimate(model=sizes, machine=machine_, phase=phase, settings=settings)
    assert made.skipped == ()
    assert int(steps.fits.sum()) == made.configurations
    for parameter, values in made.parameters.items():
        fitting = {item.get(parameter) for item, fits in zip(settings, steps.fits, strict=True) if fits}
        assert fitting == set(values)


def test_what_is_left_out_names_rule_and_source(shipped: Workspace) -> None:
    made = layout_space(asked(model(shipped, "qwen3-32b"), where(shipped, 8)))
    left = {item.what: item for item in made.excluded}
    assert "no fp8" in left["precision=fp8"].why
    assert all(item.why and item.source for item in made.excluded)
    assert all(rule["reason"] and rule["source"] for rule in made.constraints)


def test_a_missing_fact_skips_its_rule_and_is_said(shipped: Workspace) -> None:
    whole = where(shipped, 8)
    facts = {name: value for name, value in whole.device.facts.items() if "memory_bytes" not in name}
    bare = machine("unknown-chip", facts, count=8)
    made = layout_space(asked(model(shipped, "qwen3-8b"), bare))
    assert any("memory_bytes" in text for text in made.skipped)


def test_an_empty_space_names_what_emptied_it(shipped: Workspace) -> None:
    small, eight = where(shipped, 1), where(shipped, 8)
    large, model_ = model(shipped, "deepseek-v3"), model(shipped, "qwen3-8b")
    with pytest.raises(InfeasibleError, match="nothing fits: at least"):
        layout_space(asked(large, small, "training", {"seq_len": 4096}))
    with pytest.raises(InfeasibleError, match="no precision"):
        layout_space(asked(model_, eight, "serving", {"precision": "fp8"}))
    with pytest.raises(InputError, match="sequence length"):
        layout_space(asked(model_, small, "training"))
    with pytest.raises(InputError, match="no phase"):
        asked(model_, small, "dreaming")
