"""The engine that writes answers beside what training keeps."""

import math

import pytest

from kg.terms.setting_registry import registry
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.memory_fit import memory_bytes
from recommender.ranking.plan_setting import Origin, settings_by_key
from recommender.ranking.starts.layout_options import layout_options
from recommender.ranking.starts.rollout import LARGEST_SHARE, STEP, in_one_count, rollout_of, rollout_settings
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.starts.situations import draft, situation
from tests.unit.recommender.ranking.starts.test_pricing import asked

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


def trained(shipped: Workspace, program: str, length: int, count: int) -> tuple[Question, PricedStep]:
    made = asked(
        shipped, draft(), phase="training", software={program: ""}, shape={"seq_len": length}, count=count
    )
    assert made is not None
    return made.question, layout_options(made)[0]


@pytest.mark.parametrize("program", ["verl", "verl-megatron", "mindspeed-rl", "openrlhf-ppo"])
def test_what_lies_on_the_host_makes_room(shipped: Workspace, program: str) -> None:
    question, option = trained(shipped, program, 8192, 16)
    found = rollout_of(question, option, {})
    assert found is not None
    assert 0 < found.share <= LARGEST_SHARE
    assert question.model.heads % found.tensors == 0
    kept = rollout_of(question, option, {"host_optimizer": 0, "host_weights": 0, "host_gradients": 0})
    assert kept is None or (kept.moved == () and kept.share <= found.share)
    assert program != "openrlhf-ppo" or "weights" not in found.moved  # DeepSpeed keeps them
    longer = rollout_of(question, option, {"input_len": 4000})
    assert longer is not None
    assert longer.share == found.share
    wide = rollout_of(question, option, {"rollout_tensor": 4})
    assert wide is not None
    assert wide.tensors == 4


@pytest.mark.parametrize(("program", "stays"), [("verl-megatron", True), ("verl", False)])
def test_the_engine_has_what_training_leaves(shipped: Workspace, program: str, stays: bool) -> None:
    """Nothing is moved: the share is the largest step beside the states, with gradients where a buffer stays."""
    question, option = trained(shipped, program, 4096, 16)
    found = rollout_of(question, option, {"host_optimizer": 0, "host_weights": 0, "host_gradients": 0})
    told = {**question.settings, **option.settings, **option.layout.degrees()}
    device = question.machine.device
    parts = memory_bytes(
        question.model, "training", [told], 16, engine=question.engine, reserved=device.reserved_bytes
    )
    held = {name: float(part[0]) for name, part in parts.items()}
    states = held["weights"] + held["optimizer"] + stays * held["gradients"] + held["reserved"]
    left = 1 - states / device.memory_capacity
    assert found is not None
    assert found.moved == ()
    assert found.share == pytest.approx(min(math.floor(left / STEP) * STEP, LARGEST_SHARE))


def test_a_share_that_training_leaves_no_room_for_is_refused(shipped: Workspace) -> None:
    question, option = trained(shipped, "verl", 4096, 8)
    assert rollout_of(question, option, {"memory_share": 0.99}) is None
    assert rollout_of(question, option, {"memory_share": 0.5}) is not None


def test_the_engine_is_written_where_one_has_room(shipped: Workspace) -> None:
    question, option = trained(shipped, "verl", 4096, 8)
    found = rollout_of(question, option, {})
    assert found is not None
    for share, is_written in ((found.share, True), (0.99, False)):
        asked = situation(
            framework="verl", phase="training", current={f"{ROLLOUT}.gpu_memory_utilization": share}
        )
        made = {item.key: item.value for item in rollout_settings(asked, question, option, is_packed=False)}
        assert (f"{ROLLOUT}.tensor_model_parallel_size" in made) is is_written
        assert not is_written or made[f"{ROLLOUT}.tensor_model_parallel_size"] == found.tensors


def test_devices_of_a_server_are_a_whole_number(shipped: Workspace) -> None:
    question, option = trained(shipped, "openrlhf-ppo", 4096, 16)
    asked = situation(framework="openrlhf-ppo", phase="training")
    made = {item.key: item.value for item in rollout_settings(asked, question, option, is_packed=False)}
    counts = [value for key, value in made.items() if key.endswith("gpus_per_node")]
    assert counts
    assert all(isinstance(value, int) for value in counts)


def test_samples_are_counted_one_way_as_what_runs_counts_them() -> None:
    packed, counted = f"{ACTOR}.use_dynamic_bsz", f"{ACTOR}.ppo_micro_batch_size_per_gpu"
    both = settings_by_key({packed: True, counted: 4}, Origin.RECIPE)
    for current, kept in (({counted: 2}, counted), ({packed: True}, packed), ({}, packed)):
        asked = situation(phase="training", framework="verl", current=current)
        found, is_packed = in_one_count(both, asked)
        assert ([item.key for item in found], is_packed) == ([kept], kept == packed)
    assert registry("verl").at().look_up("TASK_QUEUE_ENABLE").usable  # of what is beneath
