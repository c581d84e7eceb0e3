"""The judge against launches that releases are known to accept or to refuse."""

import pytest

from kg.errors import UnknownEntityError
from tools.oracle.judge import judge, options, releases


@pytest.mark.parametrize(
    ("argv", "complaints"),
    [
        (["--max_model_len", "32768", "--max-num-seq", "8"], ()),
        (["--tensor-parallel-size"], ("argument --tensor-parallel-size/-tp: expected one argument",)),
        (["--seed", "1.5"], ("argument --seed: invalid int value: '1.5'",)),
        (["--no-enable-prefix-caching=1"], ("ignored explicit argument '1'",)),
        (["--compilation-config", '{"mode": 3, "modes": 3}'], ("compilation_config.modes: unexpected",)),
        (["--compilation-config", "{mode: 3}"], ("argument --compilation-config: invalid JSON",)),
        (["--compilation-config.cudagraph_capture_sizes", "[1, 2]"], ()),
        (["--additional-config", '{"x": 1}'], ()),
        (["--bogus=3", "--seed", "1"], ("unrecognized arguments: --bogus",)),
    ],
)
def test_a_release_of_vllm_says_what_its_parser_says(argv: list[str], complaints: tuple[str, ...]) -> None:
    said = judge("vllm", "0.25.1", ["vllm", "serve", "model", *argv])
    assert len(said) == len(complaints)
    assert all(part in line for part, line in zip(complaints, said, strict=True))


def test_a_combination_that_validation_refuses_is_refused() -> None:
    traced = ["--collect-detailed-traces", "all"]
    [said] = judge("vllm", "0.25.1", traced)
    assert said.startswith("conflicting settings: --collect-detailed-traces")
    assert judge("vllm", "0.25.1", [*traced, "--otlp-traces-endpoint", "http://here"]) == ()


def test_a_flag_is_judged_by_the_release() -> None:
    assert judge("sglang", "0.5.9", ["--model-path", "m", "--cuda-graph-bs", "1", "2"]) == ()
    [said] = judge("sglang", "0.5.23", ["--model-path", "m", "--cuda-graph-bs", "1", "2"])
    assert said.startswith(("unrecognized", "ambiguous"))


def test_a_program_above_adds_its_own_to_the_one_beneath() -> None:
    argv = ["vllm", "serve", "m", "--additional-config", '{"enable_cpu_binding": "maybe"}', "--seed", "x"]
    said = judge("vllm-ascend", "0.18.0", argv, {"VLLM_ASCEND_ENABLE_NZ": "many"})
    assert [line.partition(":")[0] for line in said] == [
        "argument --seed",
        "additional_config.enable_cpu_binding",
        "VLLM_ASCEND_ENABLE_NZ",
    ]


def test_another_release_never_stands_in() -> None:
    assert judge("vllm", "v0.25.1", []) == ()
    with pytest.raises(UnknownEntityError, match="was not read") as caught:
        judge("vllm", "77.0", [])
    assert "0.25.1" in caught.value.hint
    assert "0.25.1" in releases("vllm")


@pytest.mark.parametrize(
    ("argv", "left"),
    [
        ("vllm serve m --x", ("m", "--x")),
        ("python3 -m sglang.launch_server --x", ("--x",)),
        ("torchrun --nproc_per_node 8 pretrain_gpt.py --x", ("--x",)),
        ("--x serve", ("--x", "serve")),
    ],
)
def test_the_words_that_start_a_program_are_left_out(argv: str, left: tuple[str, ...]) -> None:
    assert options(argv.split()) == left


@pytest.mark.parametrize("verb", [(), ("serve",)])
def test_the_verb_of_a_server_may_be_left_out(verb: tuple[str, ...]) -> None:
    assert judge("tensorrt-llm", "1.3.0rc3", ["trtllm-serve", *verb, "a/B", "--tp_size", "2"]) == ()
    assert judge("tensorrt-llm", "1.3.0rc3", ["trtllm-serve", *verb, "a/B", "c/D"]) != ()
