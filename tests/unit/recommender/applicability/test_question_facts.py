"""The facts of a question: what it states, what its model and device state, and nothing else."""

from dataclasses import replace
from typing import Any

from kg.nouns.entities import Better, Hardware, Limit, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.knowledge import Level, Model
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.question_facts import question_facts, table_bytes
from recommender.workspace.workspace import Workspace
from tests.samples.hardware_nodes import facts, node, tree_of


def tree() -> HardwareTree:
    stated = facts(memory_bytes=64 << 30, peak_fp16_flops=3e14, peak_bf16_flops=3e14)
    return tree_of(node("huawei", Level.VENDOR), node("npu", Level.DEVICE, "huawei", facts=stated))


def problem(**changes: Any) -> Problem:
    fields: dict[str, Any] = {
        "workload": Workload(
            kind=WorkloadKind.SERVING,
            operator="serve",
            model="m",
            shape=Settings({"input_len": 3500}),
            traits=Settings({"concurrency": 128, "speculative": "mtp", "colour": "red"}),
        ),
        "hardware": Hardware(name="npu", count=4),
        "objective": Objective(metric="throughput", better=Better.HIGHER),
        "limits": (Limit(metric="tpot", maximum=0.05, unit="s"),),
        "bottlenecks": Settings({"host-bound": 0.4}),
        "current": Settings({"--tensor-parallel-size": 4}),
        "software": Settings({"vllm-ascend": "0.23.0"}),
    }
    return Problem(**(fields | changes))


MOE = Model(
    id="m",
    labels={"en": "M"},
    family="qwen",
    architecture="moe-decoder",
    facts=facts(experts=128, attention_kind="latent", parameters=30e9),
)


def test_a_question_states_its_facts_by_the_names_that_conditions_read() -> None:
    facts = question_facts(problem(), tree(), MOE)
    assert facts["model"] == frozenset({"m", "qwen", "moe-decoder", "transformer"})
    assert facts["hardware"] == frozenset({"npu", "huawei"})
    assert (facts["experts"], facts["attention"], facts["draft_layers"]) == (
        128,
        frozenset({"latent"}),
        0,
    )
    assert (facts["has_bf16"], facts["has_fp8"]) == (True, False)
    assert (facts["input_len"], facts["concurrency"], facts["speculative"]) == (3500, 128, True)
    assert (facts["tpot_limit"], facts["tp"], facts["devices"]) == (0.05, 4, 4)
    assert facts["bottleneck[host-bound]"] == 0.4
    assert facts["software[vllm-ascend]"] == "0.23.0"
    assert facts["setting[--tensor-parallel-size]"] == 4
    assert 0.2 < float(facts["weight_share"]) < 0.23  # type: ignore[arg-type]


def test_cards_that_pcie_alone_joins_have_its_topology(shipped: Workspace) -> None:
    found = {
        name: question_facts(problem(hardware=Hardware(name=name)), shipped.hardware, None).get("topology")
        for name in ("geforce-rtx-4090", "h100-sxm", "ascend-910b1")
    }
    assert found.pop("geforce-rtx-4090") == "pcie"
    assert "pcie" not in found.values()


def test_what_nobody_states_is_unknown() -> None:
    facts = question_facts(problem(hardware=Hardware(name="elsewhere")), tree(), None)
    assert not {"model", "experts", "hardware", "memory_bytes", "devices", "shared_prefix_share"} & set(facts)


def test_a_configuration_that_was_read_names_the_layers_that_draft() -> None:
    [sheet] = facts(layers=48)
    read = replace(sheet, source=Source(title="c", url="https://hub/m/blob/main/config.json"))
    unread = replace(MOE, facts=(sheet,))
    assert "draft_layers" not in question_facts(problem(), tree(), unread)
    assert question_facts(problem(), tree(), replace(unread, facts=(read,)))["draft_layers"] == 0


def test_software_without_a_release_is_in_use_all_the_same() -> None:
    facts = question_facts(problem(software=Settings({"tensorrt-llm": "", "cuda": "12.8"})), tree(), MOE)
    assert facts["framework"] == frozenset({"tensorrt-llm", "cuda"})
    assert "software[tensorrt-llm]" not in facts


def test_embedding_tables_have_their_stated_bytes_or_those_of_float32() -> None:
    assert table_bytes({"embedding_rows": 10, "embedding_dim": 8}) == 320
    assert table_bytes({"embedding_rows": 10, "embedding_dim": 8, "embedding_table_bytes": 160}) == 160
    assert table_bytes({"embedding_rows": 10}) == 0
