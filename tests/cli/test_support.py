"""``tunegraph support``: what is known of programs, and unknown ones by name."""

from typing import Any


def test_the_levels_come_from_what_is_known(run: Any) -> None:
    rows = run("support", "--json").json["support"]
    by_place = {(row["program"], row["phase"], row["chip"]): row for row in rows}
    ascend = by_place["vllm-ascend", "serving", "huawei"]
    assert (ascend["level"], ascend["modelled"]) == ("measured", True)
    assert ascend["recipes"] > 0
    assert by_place["megatron-lm", "training", "nvidia"]["level"] == "recipe"
    assert by_place["llama-factory", "training", "huawei"]["level"] == "recipe"
    assert by_place["llama-factory", "training", "huawei"]["settings_of"]
    assert by_place["mindie", "serving", "huawei"]["modelled"]
    assert by_place["ollama", "serving", "any"]["level"] == "unknown"
    levels = [row["level"] for row in rows]
    assert levels == sorted(levels, key=["measured", "recipe", "modelled", "read only", "unknown"].index)
    assert not {"triton", "cann"} & {row["program"] for row in rows}


def test_one_program_on_one_chip(run: Any) -> None:
    (row,) = run("support", "SGLang", "H200", "--json").json["support"]
    assert (row["program"], row["chip"], row["level"]) == ("sglang", "h200", "recipe")
    (row,) = run("support", "llamafactory", "910B3", "--json").json["support"]
    assert (row["level"], row["modelled"], row["launches_read"]) == ("recipe", True, True)
    (row,) = run("support", "verl", "910B3", "--json").json["support"]
    assert (row["level"], row["modelled"], row["launches_read"]) == ("recipe", True, True)
    assert "read only" in run("support", "xtuner", "h100-sxm").out


def test_what_is_not_known_is_refused_by_name(run: Any) -> None:
    refused = run("support", "deepspeeed")
    assert refused.code == 2
    assert "did you mean deepspeed?" in refused.err
    assert run("support", "vllm", "of-nobody").code == 2
    assert run("support", "triton").code == 3
