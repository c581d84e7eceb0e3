"""A name of a model says family, size, role, date and format by the form of its words alone."""

import pytest

from kg.terms.model_name import Part, positions_of, quantised_format, read_name


@pytest.mark.parametrize(
    ("text", "organisation", "network", "weights"),
    [
        ("acme/Wolf-7B-Instruct", "acme", "wolf-7b-instruct", ""),
        ("models--acme--Wolf-7B-AWQ", "acme", "wolf-7b", "w4a16"),
        ("/data/hub/models--acme--Wolf-7B/snapshots/" + "0a" * 20, "acme", "wolf-7b", ""),
        ("/models/Wolf-7B-w8a8-QuaRot/", "", "wolf-7b", "int8"),
        ("Wolf-7B-UD-Q6_K_XL.gguf", "", "wolf-7b", "q6_k"),
        ("Wolf-7B-Q4_K_M-00001-of-00003.gguf", "", "wolf-7b", "q4_k_m"),
        ("wolf-7b.IQ3_XXS.gguf", "", "wolf-7b", "iq3_xxs"),
        ("Wolf-7B-bnb-4bit", "", "wolf-7b", "w4a16"),
        ("Wolf-7B-FP8-dynamic", "", "wolf-7b", "fp8"),
    ],
)
def test_a_name_is_told_from_where_it_lies_and_how_it_is_packed(
    text: str, organisation: str, network: str, weights: str
) -> None:
    name = read_name(text)
    assert (name.organisation, name.weights) == (organisation, weights)
    assert name.without(Part.FORMAT, Part.PACKING, Part.RUN) == network


@pytest.mark.parametrize(
    ("text", "size", "active", "experts"),
    [
        ("wolf-235b-a22b", 235e9, 22e9, None),
        ("wolf3_06b", 0.6e9, None, None),
        ("wolf-350m", 350e6, None, None),
        ("wolf-2.4T-A95B", 2.4e12, 95e9, None),
        ("wolf-8x7b", 56e9, None, None),
        ("wolf-4-17B-16E", 17e9, None, 16.0),
        ("wolf-v3", None, None, None),
    ],
)
def test_sizes_are_read_by_their_letters(
    text: str, size: float | None, active: float | None, experts: float | None
) -> None:
    name = read_name(text)
    assert (name.size, name.active, name.experts) == (size, active, experts)


@pytest.mark.parametrize(
    ("text", "role", "date"),
    [
        ("wolf-7b-thinking-2507", "thinking", "2507"),
        ("wolf-7b-it", "it", ""),
        ("wolf-7b-instruct-v0.2", "instruct v0.2", ""),
        ("wolf-v3-0324", "", "0324"),
        ("wolf-large-chat-20241022", "chat", "20241022"),
    ],
)
def test_a_role_and_a_date_are_no_part_of_the_network(text: str, role: str, date: str) -> None:
    words = read_name(text).words
    assert " ".join(word.text for word in words if word.part is Part.ROLE) == role
    assert " ".join(word.text for word in words if word.part is Part.DATE) == date


def test_a_folder_that_names_no_model_gives_way_to_the_one_above() -> None:
    assert read_name("/ckpt/wolf2.1/pretrain").without() == "wolf2.1"
    assert read_name("wolf").units == (("wolf", ""),)
    assert read_name("").words == ()


@pytest.mark.parametrize(
    ("method", "weights"),
    [
        ("awq_marlin", "w4a16"), ("gptq", "w4a16"), ("bitsandbytes", "w4a16"), ("moe_wna16", "w4a16"),
        ("fp8", "fp8"), ("modelopt", "fp8"), ("modelopt_fp4", "nvfp4"), ("mxfp4", "mxfp4"),
        ("ascend", "int8"), ("w8a8_int8", "int8"), ("compressed-tensors", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_word_of_quantization_says_a_format_or_nothing(method: str, weights: str) -> None:
    assert quantised_format(method) == weights


@pytest.mark.parametrize(
    ("checkpoint", "model", "most", "expected"),
    [
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b", 40960, 262144),
        ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b", 40960, 40960),
        ("org/Model-8B-Instruct-2509", "model-8b", 40960, None),
        ("org/Small-2506", "small", 131072, 131072),
        ("org/Llama-3-8B-Instruct-1048k", "llama-3-8b", 8192, 1_048_000),
        ("runs/pretrain_qwen3_8b_4k", "qwen3-8b", 40960, 40960),
    ],
)
def test_a_checkpoint_takes_what_its_name_or_date_says(
    checkpoint: str, model: str, most: int, expected: int | None
) -> None:
    assert positions_of(checkpoint, model, [model, "Small-2506"], most) == expected
