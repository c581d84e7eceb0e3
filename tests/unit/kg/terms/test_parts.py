"""Parts that settings configure."""

import pytest

from kg.terms.parts import part_of, parts


@pytest.mark.parametrize(
    ("key", "value", "software", "name"),
    [
        ("--moe-token-dispatcher-type", "alltoall", "", "experts"),
        ("megatron_training.moe_token_dispatcher_type", "alltoall", "mindspeed-rl", "experts"),
        ("--use-fused-ring-attention-update", True, "mindspeed-llm", "second context rank"),
        ("--mm-encoder-tp-mode", "data", "vllm", "encoder of images or sound"),
        ("limit_mm_per_prompt.image", 0, "", "vision encoder"),
        ("speculative_config.method", "deepseek_mtp", "vllm", "draft layers"),
        ("--runner", "pooling", "vllm", "pooling head"),
        ("--steps_per_generation", 4, "ms-swift", "training from preferences or rewards"),
    ],
)
def test_a_setting_belongs_to_the_part_that_its_place_value_or_name_says(
    key: str, value: str | int | bool, software: str, name: str
) -> None:
    part = part_of(key, value, software)
    assert part is not None
    assert part.name == name


@pytest.mark.parametrize("key", ["--use-flash-attn", "--attention-backend", "--task", "--runner", "--seed"])
def test_a_setting_of_any_model_belongs_to_none(key: str) -> None:
    assert part_of(key, None, "vllm") is None


def test_a_flag_belongs_to_the_configuration_whose_field_it_is_also_of_a_program_above() -> None:
    for software in ("vllm", "vllm-ascend"):
        part = part_of("--skip-mm-profiling", None, software)
        assert part is not None
        assert part.name == "encoder of images or sound"


def test_a_part_that_is_not_there_is_one_fact_and_an_unknown_one_is_none() -> None:
    experts = next(part for part in parts() if part.name == "experts")
    assert experts.lacking({"experts": 0}) == "no experts"
    assert not experts.lacking({"experts": 64})
    assert not experts.lacking({})


def test_what_is_kept_by_name_is_read_by_the_policy_that_names() -> None:
    part = part_of("key_proj", "device", "maxtext")
    assert part is not None
    assert part == part_of("decoder_layer_input", "offload", "maxtext")
    for policy, missing in (("full", True), ("minimal", True), ("custom", False)):
        assert bool(part.lacking({"setting[remat_policy]": policy})) is missing
    assert not part.lacking({})


def test_parts_of_the_work_are_no_parts_of_the_model() -> None:
    assert {part.name for part in parts() if not part.is_built} >= {
        "second pipeline stage",
        "second context rank",
    }
