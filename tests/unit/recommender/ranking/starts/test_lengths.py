"""Lengths of requests: a start takes what is stated, or refuses it."""

from dataclasses import replace

import pytest

from kg.errors import InfeasibleError
from kg.nouns.values import Settings
from kg.terms.setting_registry import registry
from recommender.ranking.starts.lengths import are_stated, longest, stretched_positions, yarn
from recommender.ranking.starts.situation import StartSituation
from tests.unit.recommender.ranking.starts.situations import situation


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
