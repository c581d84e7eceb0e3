"""Layouts as frameworks write them."""

import pytest

from kg.nouns.layout import ParallelLayout
from recommender.ranking.plan_setting import Origin
from recommender.ranking.starts.flags.layout_flags import SPLITTING, layout_settings, of_one_server


def flags(
    framework: str, *, experts: bool = False, layers: int = 0, attention: bool = False, **sizes: int
) -> dict[str, object]:
    made = layout_settings(
        ParallelLayout(dp_attention=attention, **sizes),
        framework,
        experts=experts,
        layers=layers,
        source="https://e",
    )
    assert {(item.origin, item.source) for item in made} <= {(Origin.COST_MODEL, "https://e")}
    return {item.key: item.value for item in made}


@pytest.mark.parametrize("framework", ["vllm", "vllm-ascend"])
def test_vllm_is_told_what_is_split(framework: str) -> None:
    assert flags(framework, tp=4) == {"--tensor-parallel-size": 4}
    assert flags(framework, experts=True, tp=4, pp=2, dp=2, ep=8) == {
        "--tensor-parallel-size": 4,
        "--pipeline-parallel-size": 2,
        "--data-parallel-size": 2,
        "--enable-expert-parallel": True,
    }
    assert "--enable-expert-parallel" not in flags(framework, tp=4, ep=4)


def test_sglang_counts_the_replicas_of_attention_inside() -> None:
    assert flags("sglang", attention=True, tp=16, dp=4) == {
        "--tp-size": 16,
        "--dp-size": 4,
        "--enable-dp-attention": True,
    }
    assert flags("sglang", tp=4, dp=2) == {"--tp-size": 4, "--dp-size": 2}


def test_tensorrt_llm_copies_attention_to_every_device_or_divides_it() -> None:
    said = flags("tensorrt-llm", attention=True, experts=True, tp=8, dp=8, ep=8)
    assert said == {"--tp_size": 8, "--pp_size": 1, "--ep_size": 8, "enable_attention_dp": True}


def test_megatron_works_out_the_replicas_itself() -> None:
    assert flags("megatron-lm", tp=2, pp=4, dp=8, cp=2, ep=4) == {
        "--tensor-model-parallel-size": 2,
        "--pipeline-model-parallel-size": 4,
        "--context-parallel-size": 2,
    }
    assert flags("mindspeed-llm", experts=True, tp=2, ep=4)["--expert-model-parallel-size"] == 4


def test_a_trainer_that_shards_is_told_over_how_many_devices_if_it_does_not_count_them() -> None:
    assert flags("mindspeed-llm-fsdp", dp=8) == {"parallel.fsdp_size": 8}
    assert flags("verl", dp=8) == {}


def test_stages_of_blocks_that_do_not_divide_are_filled_or_end_early() -> None:
    filled = flags("mindspeed-llm", layers=94, pp=8, dp=2)
    assert (filled["--num-layers"], filled["--noop-layers"]) == (96, "94,95")
    assert flags("megatron-lm", layers=94, pp=8)["--decoder-last-pipeline-num-layers"] == 10
    for framework, layers, stages in (("mindspeed-llm", 96, 8), ("megatron-lm", 61, 32), ("vllm", 94, 8)):
        named = flags(framework, layers=layers, pp=stages)
        assert not {"--num-layers", "--noop-layers", "--decoder-last-pipeline-num-layers"} & set(named)


def test_mindie_is_told_how_attention_and_experts_divide_its_devices() -> None:
    assert [key.rpartition(".")[2] for key in flags("mindie", tp=8)] == ["worldSize"]
    dense = {key.rpartition(".")[2]: size for key, size in flags("mindie", tp=4, dp=2).items()}
    assert dense == {"worldSize": 8, "dp": 2, "tp": 4}
    mixture = flags("mindie", experts=True, tp=4, dp=4, ep=8)
    sizes = {key.rpartition(".")[2]: size for key, size in mixture.items()}
    assert sizes == {"worldSize": 16, "dp": 4, "tp": 4, "moe_ep": 8, "moe_tp": 2}


def test_a_launcher_that_is_told_the_devices_alone_gets_no_flag() -> None:
    assert "torch-npu" not in SPLITTING
    assert flags("torch-npu", dp=8) == {}


@pytest.mark.parametrize(
    ("framework", "sizes", "replicas", "copies"),
    [
        ("vllm", {"tp": 1, "dp": 24, "ep": 8}, 8, 3),  # one server of 24 would spread them over all
        ("vllm-ascend", {"tp": 4, "dp": 4, "ep": 8}, 2, 2),
        ("vllm", {"tp": 2, "dp": 8, "ep": 16}, 8, 1),
        ("vllm", {"tp": 2, "dp": 8}, 8, 1),
        ("vllm", {"tp": 8, "dp": 2, "ep": 4}, 2, 1),  # no server has such groups
        ("sglang", {"tp": 1, "dp": 16, "ep": 8}, 16, 1),
        ("tgi", {"tp": 2, "dp": 4}, 1, 4),
    ],
)
def test_experts_inside_groups_are_servers_of_their_own(
    framework: str, sizes: dict[str, int], replicas: int, copies: int
) -> None:
    layout = ParallelLayout.from_json(sizes)
    one, number = of_one_server(layout, framework)
    assert (one.dp, number) == (replicas, copies)
    assert one.devices * number == layout.devices
