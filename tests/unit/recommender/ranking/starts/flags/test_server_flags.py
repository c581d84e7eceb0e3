"""Addresses by which servers find each other, and a role's settings of its caches."""

from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.flags.server_flags import (
    of_diffusion,
    pooling_settings,
    role_settings,
    server_lines,
    server_settings,
    with_own_sizes,
)
from tests.unit.recommender.ranking.starts.situations import screen, situation

WIDE = ParallelLayout(tp=4, dp=8)


def flags(
    framework: str, layout: ParallelLayout = WIDE, *, moves: bool = False, **facts: Any
) -> dict[str, Any]:
    about = situation(count=layout.devices, framework=framework, **facts)
    return {item.key: item.value for item in server_settings(about, layout, framework, transfers=moves)}


def test_one_server_with_both_roles_needs_nothing() -> None:
    assert flags("vllm") == flags("vllm", nodes=1) == flags("sglang", nodes=1) == {}
    assert server_lines(situation(nodes=1), WIDE, "vllm", transfers=False) == []


def test_replicas_are_shared_out_among_servers() -> None:
    found = flags("vllm-ascend", nodes=2)
    assert found["--data-parallel-size-local"] == 4
    assert {"--data-parallel-address", "--data-parallel-rpc-port"} < set(found)
    [line] = server_lines(situation(nodes=2), WIDE, "vllm-ascend", transfers=False)
    assert "--data-parallel-start-rank 4 * k" in line
    assert "--headless" in line
    assert flags("vllm", nodes=3) == {}  # eight replicas are not shared out among three
    assert set(flags("sglang", nodes=2)) == {"--nnodes", "--node-rank", "--dist-init-addr"}


def test_a_role_states_its_port_and_its_own_sizes() -> None:
    sizes = "kv_transfer_config.kv_connector_extra_config"
    ports = set()
    for role in ("prefill", "decode"):
        found = flags("vllm-ascend", moves=True, role=role)
        assert (found[f"{sizes}.{role}.tp_size"], found[f"{sizes}.{role}.dp_size"]) == (4, 8)
        ports.add(found["kv_transfer_config.kv_port"])
        assert flags("vllm-ascend", role=role) == {}
    assert len(ports) == 2  # both may run on one server
    [line] = server_lines(situation(role="decode"), WIDE, "vllm-ascend", transfers=True)
    assert line.startswith("the prefill servers")


def test_a_script_of_pytorch_is_started_once_for_each_device() -> None:
    about = situation(framework="torch", phase="training", nodes=2)
    [line] = server_lines(about, ParallelLayout(tp=1, dp=16), "torch", transfers=False)
    assert line.endswith(
        "torchrun --nnodes 2 --node-rank SERVER_RANK --master-addr FIRST_SERVER_IP --nproc-per-node 8 SCRIPT"
    )
    one = situation(framework="torch", phase="training", nodes=1)
    assert "--nnodes" not in server_lines(one, ParallelLayout(tp=1, dp=8), "torch", transfers=False)[0]
    assert server_lines(one, ParallelLayout(tp=1, dp=1), "torch", transfers=False) == []
    assert server_lines(about, WIDE, "megatron-lm", transfers=False) == []


def test_a_connector_tells_the_sizes_of_its_own_role_as_the_layout_has_them() -> None:
    extra = "kv_transfer_config.kv_connector_extra_config"
    held = [
        PlanSetting(where=SettingPlace.JSON, key=f"{extra}.{name}", value=2, origin=Origin.CURRENT)
        for name in ("prefill.tp_size", "prefill.dp_size", "decode.tp_size", "prefill.other")
    ]
    made = [*with_own_sizes(held, situation(role="prefill"), WIDE)]
    assert [(item.value, item.origin) for item in made] == [
        (4, Origin.KNOWLEDGE), (8, Origin.KNOWLEDGE), (2, Origin.CURRENT), (2, Origin.CURRENT)
    ]  # fmt: skip
    assert [*with_own_sizes(held, situation(), WIDE)] == [*with_own_sizes(held, situation(), None)] == held


@pytest.mark.parametrize(
    ("name", "facts", "told"),
    [
        ("qwen3-embedding-8b", {}, {"--task": "embed"}),
        ("Qwen3-Reranker-4B", {}, {"--task": "score", "hf_overrides.is_original_qwen3_reranker": True}),
        ("small", {"pooling": True}, {"--task": "embed"}),
        ("small", {"pooling": False}, {}),
        ("qwen3-embedding-8b", {"phase": "training"}, {}),
    ],
)
def test_a_server_is_told_that_it_answers_with_a_vector_or_a_score(
    name: str, facts: dict[str, Any], told: dict[str, Any]
) -> None:
    of_vllm = {key: value for key, value in told.items() if key != "--task"}
    for framework, version, spelt in (
        ("vllm", "0.8.5", told),
        ("vllm", "0.18.0", {"--runner": "pooling", **of_vllm}),
        ("vllm-ascend", "0.18.0", {"--runner": "pooling", **of_vllm}),
        ("sglang", "", {"--is-embedding": True}),
    ):
        about = situation(framework=framework, version=version, **facts)
        named = Situation.of([StatedFact(name="named", value=name, origin=FactOrigin.TOLD)])
        about = replace(about, problem=replace(about.problem, situation=named))
        release = screen(about).release()
        made = {item.key: item.value for item in pooling_settings(about, release, [])}
        assert made.items() >= (spelt if told else {}).items()
        assert bool(made) == bool(told)
        assert len({"--task", "--runner"} & made.keys()) <= 1
        for key in ("--runner", "hf_overrides.architectures", "--convert"):
            said = PlanSetting(where=SettingPlace.FLAG, key=key, value="x", origin=Origin.CURRENT)
            assert pooling_settings(about, release, [said]) == []
            runs = replace(about, problem=replace(about.problem, current=Settings({key: "x"})))
            assert pooling_settings(runs, release, []) == []


def test_a_role_is_stated_once_and_as_the_maker_of_the_device_has_it() -> None:
    roles = {}
    for maker in ("huawei", "nvidia"):
        about = situation(framework="sglang", role="prefill")
        about = replace(about, facts={**about.facts, "hardware": frozenset({maker})})
        roles[maker] = {item.key: item.value for item in role_settings(about, "sglang", [])}
    assert roles["nvidia"] == {"--disaggregation-mode": "prefill"}
    assert roles["huawei"] == roles["nvidia"] | {"--disaggregation-transfer-backend": "ascend"}
    [held] = role_settings(about, "sglang", [])
    assert role_settings(about, "sglang", [held]) == role_settings(situation(), "sglang", []) == []


def test_a_server_that_denoises_divides_over_what_it_is_given() -> None:
    for layout, devices in ((None, 1), (WIDE, 32)):
        start = of_diffusion(StartConfiguration(framework="sglang", layout=layout))
        assert ([item.value for item in start.settings], start.layout) == ([devices], None)


def test_replicas_and_experts_of_one_engine_are_said_where_it_has_no_flag_for_them() -> None:
    def lines(framework: str, layout: ParallelLayout, **facts: Any) -> list[str]:
        about = situation(framework=framework, **facts)
        return server_lines(about, layout, framework, transfers=False)

    for layout, each in ((WIDE, "4 devices"), (ParallelLayout(tp=1, dp=8), "a device")):
        [line] = lines("llama.cpp", layout)
        assert line == f"{layout.dp} of these servers behind one balancer, each with {each} of its own"
        assert lines("vllm", layout) == []
        assert lines("llama.cpp", layout, phase="training") == []
    assert lines("llama.cpp", ParallelLayout(tp=4, dp=1)) == []
    assert lines("mindie", ParallelLayout(tp=8, dp=1), nodes=2)[0].startswith("on each server its MIES")
    assert lines("mindie", ParallelLayout(tp=8, dp=1)) == []
    spread, runs = ParallelLayout(tp=8, dp=1, ep=8), {"--enable-dp-attention": True}
    assert "EP 8 keeps experts whole" in lines("sglang", spread, current=runs)[0]
    assert lines("sglang", spread, current={**runs, "--ep-size": 2}) == []
    assert lines("sglang", spread, current={}) == []
    assert flags("mindie", nodes=2) == {
        "BackendConfig.multiNodesInferEnabled": True,
        "BackendConfig.interNodeTLSEnabled": False,
    }
    assert flags("mindie") == {}
