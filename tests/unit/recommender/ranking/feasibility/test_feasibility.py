"""Impossible configurations are refused with rule and source; those that cannot be judged are not."""

from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.entities import Hardware, Limit, WorkloadKind
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.ranking.feasibility.exclusions import Exclusions
from recommender.ranking.feasibility.feasibility import QuestionFeasibility, by_rules
from recommender.ranking.feasibility.task_history import TaskHistory, TrialFailures
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.known_cases import problem

ASCEND: dict[str, Any] = {
    "cube_macs_per_cycle_fp16": 4096,
    "peak_fp16_flops": 3e14,
    "peak_bf16_flops": 3e14,
    "memory_bytes": 64e9,
}
LLAMA: dict[str, Any] = {
    "layers": 32, "hidden_size": 4096, "attention_heads": 32, "intermediate_size": 11008,
    "vocabulary_size": 32000, "architecture": "decoder",
}  # fmt: skip


def asked(kind: WorkloadKind = WorkloadKind.TRAINING, *, count: int | None = 8, **changes: Any) -> Any:
    base = problem()
    shape = Settings(changes.pop("shape", {"seq_len": 4096}))
    precision = changes.pop("precision", "bfloat16")
    work = replace(base.workload, kind=kind, model="llama-2-7b", shape=shape, precision=precision)
    return replace(base, workload=work, hardware=Hardware(name="same", count=count), **changes)


def broken(configuration: dict[str, Any], question: Any = None, **facts: Any) -> dict[str, str]:
    rules = QuestionFeasibility(question or asked(), LLAMA, {**ASCEND, **facts})
    return {item.rule: item.reason for item in rules.check(Settings(configuration))}


def plain(configuration: dict[str, Any], count: int | None = 8, **shape: int) -> list[str]:
    question = problem()
    question = replace(
        question,
        workload=replace(question.workload, shape=Settings(shape)),
        hardware=Hardware(name="same", count=count),
    )
    return [item.reason for item in QuestionFeasibility(question, {}).check(Settings(configuration))]


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({"moe_tp_size": 4, "moe_ep_size": 4}, "4 x 4 is not 8"),
        ({"tensor_parallel_size": 3}, "inter is 1024, not divisible by 3"),
        ({"ep": 16}, "experts is 8, not divisible by 16"),
    ],
)
def test_arithmetic_that_does_not_work_out_is_refused(configuration: dict[str, Any], reason: str) -> None:
    assert plain(configuration, inter=1024, experts=8) == [reason]


def test_what_works_out_or_cannot_be_known_is_not_refused() -> None:
    assert plain({"moe_tp_size": 4, "moe_ep_size": 2}, inter=1024, experts=8) == []
    assert plain({"moe_tp_size": 4, "moe_ep_size": 4}, count=None, inter=1024, experts=8) == []
    assert plain({"tensor_parallel_size": 3}) == []
    assert plain({"tensor_parallel_size": "auto", "ep": True}, inter=1024, experts=8) == []


@pytest.mark.parametrize(
    ("configuration", "rule"),
    [
        ({"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 4}, "the layout fits the devices"),
        ({"tp": 8, "ep": 320}, "experts are spread over no more devices than there are"),
        ({"tensor_model_parallel_size": 5}, "tensor parallel size divides what it splits"),
        ({"tp": 1, "pipeline_model_parallel_size": 64}, "there are no more stages than layers"),
        ({"tp": 8, "fp8": True}, "the chip computes in the number format"),
        ({"tp": 8, "precision": "float8_e4m3"}, "the chip computes in the number format"),
        ({"tp": 1, "micro_batch_size": 64}, "weights, states, cache and activations fit the memory"),
    ],
)
def test_each_rule_refuses_what_breaks_it(configuration: dict[str, Any], rule: str) -> None:
    assert rule in broken(configuration)


def test_a_refusal_names_its_source_and_how_certain_it_is() -> None:
    rules = QuestionFeasibility(asked(), LLAMA, ASCEND)
    [refusal] = rules.check(Settings({"tp": 1, "micro_batch_size": 64}))
    assert refusal.to_json()["certainty"] == "lower"
    assert refusal.source.startswith("modelled")
    [refusal] = rules.check(Settings({"tp": 8, "fp8": True}))
    assert refusal.to_json()["certainty"] == "high"
    assert "hardware-facts" in refusal.source


def test_a_chip_with_fp8_may_use_it_and_one_that_is_not_described_whole_is_not_refused() -> None:
    assert not broken({"tp": 8, "fp8": True}, peak_fp8_flops=1e15)
    rules = QuestionFeasibility(asked(), LLAMA, {"memory_bytes": 80e9, "peak_fp16_flops": 3e14})
    assert not rules.check(Settings({"tp": 8, "fp8": True}))


def test_a_missing_fact_skips_the_rule_and_is_said() -> None:
    rules = QuestionFeasibility(asked(), {"layers": 32}, ASCEND)
    assert not rules.check(Settings({"tp": 1, "micro_batch_size": 64}))
    assert rules.skipped == (
        "the memory that is needed was not checked: llama-2-7b: hidden_size is not known",
    )
    assert "memory_bytes" in QuestionFeasibility(asked(), LLAMA, {}).skipped[0]


def test_a_limit_below_the_device_is_kept() -> None:
    configuration = {"tp": 8, "zero_stage": 1, "micro_batch_size": 1}
    assert broken(configuration) == {}
    limit = (Limit(metric="peak_memory", maximum=5e9, unit="B"),)
    question = asked(limits=limit, current=Settings())
    assert list(broken(configuration, question)) == ["the limit on peak_memory is kept"]
    rules = QuestionFeasibility(question, LLAMA, ASCEND)
    assert rules.checks("peak_memory", [Settings(configuration)])
    assert not rules.checks("accuracy_loss", [Settings(configuration)])


def test_the_cache_of_a_server_counts() -> None:
    question = asked(WorkloadKind.SERVING, count=1, shape={"input_len": 8192, "output_len": 1024})
    assert broken({"batch": 1}, question) == {}
    assert "fit the memory" in str(broken({"batch": 256}, question))


def test_a_paged_cache_lets_sequences_wait_but_the_weights_must_fit() -> None:
    question = asked(WorkloadKind.SERVING, count=1, shape={"input_len": 8192, "output_len": 1024})
    assert broken({"max_num_seqs": 256}, question) == {}
    assert "fit the memory" in str(broken({"max_num_seqs": 256}, question, memory_bytes=12e9))
    rules = QuestionFeasibility(question, LLAMA, ASCEND)
    assert not rules.checks("peak_memory", [Settings({"max_num_seqs": 8})])
    assert rules.checks("peak_memory", [Settings({"batch": 8})])


def test_what_is_not_told_of_training_is_taken_as_what_needs_least() -> None:
    configuration = {"tp": 2, "micro_batch_size": 4}
    assert broken(configuration) == {}
    assert "fit the memory" in str(broken(configuration, asked(current=Settings({"use_flash_attn": True}))))


def test_what_is_broken_already_is_not_held_against_a_change() -> None:
    question = asked(current=Settings({"tp": 16}))
    assert broken({"use_flash_attn": True}, question) == {}
    assert "16 x 2 does not divide 8" in broken({"pp": 2}, question).values()


def test_a_limit_that_is_broken_already_is_still_held_against_every_answer() -> None:
    limit = (Limit(metric="peak_memory", maximum=1e6, unit="B"),)
    question = asked(limits=limit, current=Settings({"tp": 8, "zero_stage": 1}))
    assert list(broken({"HCCL_BUFFSIZE": 200}, question)) == ["the limit on peak_memory is kept"]


@pytest.mark.parametrize(
    ("configuration", "facts", "rule"),
    [
        ({"block_size_x": 64, "block_size_y": 32}, {"compute_capability": "8.0"}, "no more threads"),
        ({"block_size_x": 64, "block_size_y": 16}, {"max_threads_per_block": 512}, "no more threads"),
        (
            {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 128, "num_stages": 4},
            {"shared_memory_bytes": 167936},
            "shared memory",
        ),
        ({"baseM": 128, "baseN": 128, "baseK": 512}, {"l0a_bytes": 65536}, "L0A"),
        ({"baseM": 256, "baseN": 256, "baseK": 16}, {"l0c_bytes": 131072}, "L0C"),
    ],
)
def test_tiles_that_overfill_a_buffer(
    configuration: dict[str, Any], facts: dict[str, Any], rule: str
) -> None:
    question = asked(WorkloadKind.KERNEL)
    found = QuestionFeasibility(question, {}, facts).check(Settings(configuration))
    assert [rule in item.rule for item in found] == [True]
    smaller = {name: max(int(str(value)) // 8, 1) for name, value in configuration.items()}
    assert not QuestionFeasibility(question, {}, facts).check(Settings(smaller))
    assert not QuestionFeasibility(question, {}, {}).check(Settings(configuration))


def test_a_stencil_stages_its_tile_with_the_halo_of_the_filter() -> None:
    configuration = {
        "block_size_x": 32,
        "block_size_y": 16,
        "tile_size_x": 4,
        "tile_size_y": 4,
        "use_padding": 1,
    }
    question = asked(
        WorkloadKind.KERNEL, shape={"fixed.filter_width": 15, "fixed.filter_height": 15}, precision="float32"
    )

    def found(facts: dict[str, Any], **changes: int) -> list[str]:
        told = Settings({**configuration, **changes})
        return [item.reason for item in QuestionFeasibility(question, {}, facts).check(told)]

    cuda = {"compute_capability": "7.5"}
    # (32 x 4 + 14) x (16 x 4 + 14) floats
    assert found(cuda, tile_size_y=8) == ["142 x 142 x 4 B is 80656 B, above 49152 B"]
    assert found(cuda) == []
    assert found(cuda, tile_size_y=8, use_shmem=0) == []
    assert found({}, tile_size_y=8) == []


def test_strategies_that_exclude_each_other_are_not_set_together(shipped: Workspace) -> None:
    exclusions = Exclusions(shipped.graph)
    names = frozenset({"recompute_granularity", "recompute_method", "smart_swap", "recompute_activations",
                       "tensor_model_parallel_size"})  # fmt: skip
    pairs = exclusions.among(names)
    assert pairs
    one, two, said, source = next(pair for pair in pairs if not set(pair[0]) & set(pair[1]))
    rules = QuestionFeasibility(asked(), LLAMA, ASCEND, None, exclusions)
    found = [item for item in rules.check(Settings({**one, **two})) if "excludes" in item.rule]
    assert (said, source) in {(item.reason, item.source) for item in found}
    assert not [item for item in rules.check(one) if "excludes" in item.rule]


class _Store:
    """Tables of a few configurations: which failed, and which ran."""

    acknowledged = 1

    def __init__(self, failed: dict[int, set[str]], ran: dict[int, set[str]]) -> None:
        self._failed, self._ran = failed, ran

    def failed(self, key: int) -> frozenset[str]:
        return frozenset(self._failed.get(key, ()))

    def configuration_id(self, configuration: Any) -> str:
        return str(configuration.digest)

    def costs(self, key: int, ids: list[str]) -> list[float]:
        return [1.0 if ids[0] in self._ran.get(key, ()) else float("nan")]


def neighbour(key: int, distance: Distance, *, same_task: bool = True) -> Any:
    row = type("Row", (), {"key": key, "hardware": f"chip-{key}", "id": f"p{key}"})()
    return type(
        "Near", (), {"problem": row, "device": distance, "same_task": same_task, "same_count": True}
    )()


def test_a_failure_weighs_by_how_near_it_was() -> None:
    configuration = Settings({"block": 8})
    for distance, rule, warns in (
        (Distance.SAME_DEVICE, "it failed there before", False),
        (Distance.SIBLING, "it failed on a sibling before", False),
        (Distance.OTHER_VENDOR, None, True),
    ):
        store: Any = _Store({1: {configuration.digest}}, {})
        tried = TaskHistory(TrialFailures(store), [neighbour(1, distance)])
        rules = QuestionFeasibility(asked(WorkloadKind.KERNEL), {}, {}, tried)
        assert [item.rule for item in rules.check(configuration)] == ([rule] if rule else [])
        assert bool(rules.warnings(configuration)) is warns


def test_what_ran_as_near_speaks_against_a_failure() -> None:
    configuration = Settings({"block": 8})
    store: Any = _Store({1: {configuration.digest}}, {2: {configuration.digest}})
    near = [neighbour(1, Distance.SIBLING), neighbour(2, Distance.SAME_DEVICE)]
    assert TaskHistory(TrialFailures(store), near).broken(configuration) is None
    assert (
        TaskHistory(TrialFailures(store), [neighbour(1, Distance.SIBLING, same_task=False)]).broken(
            configuration
        )
        is None
    )


def test_what_ran_on_the_device_is_not_refused_for_its_modelled_memory() -> None:
    configuration = Settings({"tp": 1, "micro_batch_size": 64})
    store: Any = _Store({}, {1: {configuration.digest}})
    tried = TaskHistory(TrialFailures(store), [neighbour(1, Distance.SAME_DEVICE)])
    assert not QuestionFeasibility(asked(), LLAMA, ASCEND, tried).check(configuration)


def test_rules_without_a_workspace_follow_the_question() -> None:
    can_run = by_rules(lambda _: {})
    wide, narrow = (asked(shape={"heads": 8, "experts": 8, "inter": inter}) for inter in (128, 6))
    layout = Settings({"moe_tp_size": 4, "moe_ep_size": 2})
    assert [can_run(wide, layout), can_run(narrow, layout), can_run(wide, layout)] == [True, False, True]


@pytest.mark.parametrize(
    ("capability", "is_refused"),
    [("7.0", True), ("7.5", True), ("8.0", False), ("gfx1100", False), ("", False)],
)
def test_bfloat16_is_refused_on_chips_that_are_known_to_lack_it(capability: str, is_refused: bool) -> None:
    facts: dict[str, float | str] = {
        "memory_bytes": 80e9,
        "peak_fp16_flops": 3e14,
        "compute_capability": capability,
    }
    rules = QuestionFeasibility(asked(), LLAMA, facts)
    reasons = [item.reason for item in rules.check(Settings())]
    assert reasons == (["same has no bf16 matrix unit; it computes fp16"] if is_refused else [])
    assert not QuestionFeasibility(asked(precision="float16"), LLAMA, facts).check(Settings())
    assert not QuestionFeasibility(asked(), LLAMA, {**facts, "peak_bf16_flops": 3e14}).check(Settings())


def test_a_format_that_is_told_is_refused_whatever_runs() -> None:
    told = Situation.of([StatedFact(name="precision", value="fp8", origin=FactOrigin.TOLD)])
    question = asked(precision="fp8", current=Settings({"tp": 8}), situation=told)
    assert "the chip computes in the number format" in broken({}, question)
    runs = Situation.of([StatedFact(name="precision", value="fp8", origin=FactOrigin.SCRIPT)])
    assert not broken({}, replace(question, situation=runs))


@pytest.mark.parametrize(
    ("capability", "is_refused"),
    [
        ("8.0", True),
        ("8.9", False),
        ("9.0", False),
        ("gfx90a", True),
        ("gfx1100", True),
        ("gfx942", False),
        ("", False),
    ],
)
def test_training_in_fp8_is_refused_on_chips_that_are_known_to_lack_it(
    capability: str, is_refused: bool
) -> None:
    facts: dict[str, float | str] = {
        "memory_bytes": 80e9,
        "peak_fp16_flops": 3e14,
        "peak_bf16_flops": 3e14,
        "compute_capability": capability,
    }
    refused = QuestionFeasibility(asked(precision="fp8"), LLAMA, facts).check(Settings())
    assert [item.reason for item in refused] == (["same has no fp8 matrix unit"] if is_refused else [])
    served = asked(precision="fp8", kind=WorkloadKind.SERVING)
    assert not QuestionFeasibility(served, LLAMA, facts).check(Settings())
