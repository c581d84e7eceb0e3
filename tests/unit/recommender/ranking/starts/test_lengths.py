"""Lengths and numbers of requests: a start takes what is stated, or refuses it."""

from dataclasses import replace

import pytest

from kg.errors import InfeasibleError
from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Settings
from kg.terms.setting_registry import registry
from recommender.ranking.starts.lengths import (
    adapted,
    are_stated,
    falls_short,
    longest,
    most_tokens,
    slots_of,
    stretched_positions,
    yarn,
)
from recommender.ranking.starts.situation import StartSituation
from tests.unit.recommender.ranking.starts.situations import agreed, situation

ASKED = situation(input_len=2000, output_len=100, concurrency=30)


def asked(most: int | None = 40960, framework: str = "", **facts: float) -> StartSituation:
    about = situation()
    about = replace(about, facts={**about.facts, **facts})
    runs = replace(about.framework, id=framework or about.framework.id)
    return replace(about, model=replace(about.model, most_tokens=most), framework=runs)


def test_a_length_is_rounded_up_and_never_beyond_the_model() -> None:
    assert longest(asked(input_len=1000, output_len=24)) == 1024
    assert longest(asked(most=3000, input_len=2000, output_len=900)) == 3000
    assert longest(asked()) is None
    assert longest(asked(seq_len=5000)) == 5120
    assert not are_stated(asked(input_len=1000))


@pytest.mark.parametrize(
    ("framework", "release", "key"),
    [
        ("vllm", "0.11.0", "rope_scaling.factor"),
        ("vllm-ascend", "0.23.0", "hf_overrides.rope_parameters.factor"),
        ("sglang", "0.5.23", "json_model_override_args.rope_scaling.factor"),
    ],
)
def test_beyond_the_model_the_positions_are_stretched(framework: str, release: str, key: str) -> None:
    about = asked(framework=framework, input_len=60_000, output_len=1000)
    stretched = stretched_positions(about, registry(framework).at(release))
    assert {item.key: item.value for item in stretched}[key] == 1.5


def test_within_the_model_nothing_is_stretched() -> None:
    assert stretched_positions(asked(input_len=40_000, output_len=960), None) == []
    assert stretched_positions(asked(most=None, input_len=4e6), None) == []


@pytest.mark.parametrize(("framework", "prompt"), [("vllm", 200_000), ("mindie", 41_000)])
def test_what_no_setting_makes_possible_is_refused(framework: str, prompt: int) -> None:
    with pytest.raises(InfeasibleError, match="takes 40,960"):
        stretched_positions(asked(framework=framework, input_len=prompt, output_len=100), None)


@pytest.mark.parametrize("framework", ["vllm", "vllm-ascend", "sglang"])
def test_what_a_launch_is_told_is_stretched_as_the_model_was_trained(framework: str) -> None:
    release = registry(framework).at()
    length = "--context-length" if framework == "sglang" else "--max-model-len"

    def stretched(tokens: int, **more: object) -> dict[str, object]:
        about = asked(framework=framework)
        problem = replace(about.problem, current=Settings({length: tokens, **more}))
        about = replace(about, problem=problem, model=replace(about.model, id="qwen3-32b"))
        return {item.key.rpartition(".")[2]: item.value for item in stretched_positions(about, release)}

    assert stretched(40960) == {}
    for tokens in (65536, 131072):
        made = stretched(tokens)
        assert made["factor"] == tokens / 32768
        assert made["original_max_position_embeddings"] == 32768
        assert made.get("rope_theta", 1000000) == 1000000
        flag = yarn(framework, release, tokens, 32768, 1000000)
        assert all(f'"{name}"' in flag for name in made)
    assert stretched(200_000) == {}
    assert yarn(framework, release, 200_000, 32768, 1000000) == ""
    assert stretched(65536, hf_overrides="{}") == {}


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("--max-model-len", "3072", "input and output lengths"),
        ("--context-length", "3072", "input and output lengths"),
        ("--max-num-seqs", "8", "requests at once"),  # 30 requests on four engines
        ("--max-running-requests", "30", "requests at once"),  # over all of them
        ("--max-num-batched-tokens", "8", "requests at once"),  # a token of each request in a step
        ("--block-size", "7", ""),
    ],
)
def test_lengths_and_requests_follow_from_the_question(key: str, value: str, why: str) -> None:
    assert adapted(agreed(key, "7"), ASKED, ParallelLayout(tp=2, dp=4), load=30) == (value, why)


def test_without_them_the_value_of_the_recipe_stays() -> None:
    for key in ("--max-model-len", "--max-num-seqs", "--max-running-requests"):
        assert adapted(agreed(key, "7"), situation(), None) == ("7", "")


@pytest.mark.parametrize(
    ("key", "value", "at_once", "short"),
    [
        ("compilation_config.cudagraph_capture_sizes", "[1, 8, 80]", 128, True),
        ("compilation_config.cudagraph_capture_sizes", "[1, 8, 80]", 80, False),
        ("--cuda-graph-max-bs", "64", 256, True),
        ("--cuda-graph-max-bs", "64", None, False),
        ("--block-size", "1", 256, False),
    ],
)
def test_graphs_are_captured_for_the_load(key: str, value: str, at_once: float | None, short: bool) -> None:
    assert falls_short(agreed(key, value), at_once) is short


@pytest.mark.parametrize(
    ("listed", "load", "cut"),
    [
        ("1 2 4 8 16", 6, "1 2 4 6"),
        ("16 32 64", 4, "1 2 4"),
        ("[1, 2, 4, 8]", 4, "[1, 2, 4]"),
        ("1 2 4", 64, "1 2 4"),
        ("16 32", 1, "1"),
    ],
)
def test_captured_sizes_are_cut_to_the_load_of_an_engine(listed: str, load: float, cut: str) -> None:
    assert adapted(agreed("--cuda-graph-bs", listed), situation(), ParallelLayout(tp=4), load)[0] == cut
    halves = adapted(agreed("--cuda-graph-bs", listed), situation(), ParallelLayout(tp=2, dp=2), 2 * load)[0]
    assert halves == cut


@pytest.mark.parametrize(
    ("framework", "settings", "slots", "most"),
    [
        ("llama.cpp", {"ctx_size": 8192}, 6, 8192),  # of 1,280 tokens: 1,152 in whole pages
        ("llama.cpp", {"ctx_size": 8192, "parallel": 16}, None, 512),
        ("llama.cpp", {"batch_size": 512}, None, 40960),
        ("vllm", {"max_model_len": 8192}, None, 8192),
    ],
)
def test_slots_share_the_context_of_llama_cpp(
    framework: str, settings: dict[str, int], slots: int | None, most: int
) -> None:
    about = asked(framework=framework)
    about = replace(about, problem=replace(about.problem, current=Settings(settings)))
    assert slots_of(about) == slots
    assert most_tokens(about) == most
