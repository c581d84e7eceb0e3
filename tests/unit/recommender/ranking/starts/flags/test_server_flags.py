"""Addresses by which servers find each other, and a role's settings of its caches."""

from typing import Any

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.flags.server_flags import server_lines, server_settings, with_own_sizes
from tests.unit.recommender.ranking.starts.situations import situation

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
