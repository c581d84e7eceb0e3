"""Programs that a question names: known under every spelling, refused where nothing knows them."""

import pytest

from kg.errors import NoEvidenceError, UnknownEntityError
from kg.nouns.entities import Problem
from kg.nouns.framework import Framework
from recommender.applicability.programs import refuse_unmodelled, unmodelled, with_programs
from tests.samples.problems import make_problem

FRAMEWORKS = [
    Framework(id="tensorrt-llm", labels={"en": "TensorRT-LLM"}, phases=("inference",), hardware=("nvidia",)),
    Framework(id="megatron-lm", labels={}, phases=("training",), hardware=("nvidia",), stack=("torch",)),
]


def question(*software: str, phase: str = "training", model: str | None = "m") -> Problem:
    return make_problem(
        phase, "chip", kind=phase, model=model, metric="throughput", software=dict.fromkeys(software, "1.0")
    )


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("TensorRT_LLM", "tensorrt-llm"), ("torch", "torch"), ("DeepSpeed", "deepspeed"),
        ("llamafactory", "llama-factory"), ("fsdp2", "fsdp"),
    ],
)  # fmt: skip
def test_a_program_goes_by_every_spelling(written: str, known: str) -> None:
    assert dict(with_programs(question(written), FRAMEWORKS).software) == {known: "1.0"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [("deepspeeed", "deepspeed"), ("trtllm", "tensorrt-llm"), ("megatronlm2", "megatron-lm")],
)
def test_a_misspelt_program_is_refused_with_what_was_meant(written: str, meant: str) -> None:
    with pytest.raises(UnknownEntityError, match=written) as refused:
        with_programs(question(written), FRAMEWORKS)
    assert refused.value.hint == f"did you mean {meant}?"


def test_nothing_near_is_refused_with_all_that_is_known() -> None:
    with pytest.raises(UnknownEntityError) as refused:
        with_programs(question("qqqqqqqqqq"), FRAMEWORKS)
    assert "megatron-lm" in refused.value.hint
    assert "xtuner" in refused.value.hint


def test_a_question_about_no_model_keeps_its_programs() -> None:
    asked = question("of-nobody", model=None)
    assert with_programs(asked, FRAMEWORKS) is asked


@pytest.mark.parametrize("name", sorted(unmodelled()))
def test_a_program_that_nothing_models_is_never_replaced(name: str) -> None:
    """Not by one that is built on it either."""
    above = Framework(id="above", labels={}, phases=("training",), hardware=(), stack=(name,))
    with pytest.raises(NoEvidenceError, match=f"{name} is read, but neither") as refused:
        refuse_unmodelled(question(name), [*FRAMEWORKS, above], "8 GB")
    assert "8 GB" in str(refused.value)
    assert "tunegraph support" in refused.value.hint


def test_a_program_that_an_older_workspace_does_not_know_is_never_replaced() -> None:
    with pytest.raises(NoEvidenceError, match="verl is no program that this workspace knows") as refused:
        refuse_unmodelled(question("verl"), FRAMEWORKS, "")
    assert "workspace renew" in refused.value.hint


def test_beside_a_modelled_program_it_is_no_reason_to_abstain() -> None:
    refuse_unmodelled(question("deepspeed", "megatron-lm"), FRAMEWORKS, "")
    refuse_unmodelled(question("torch"), FRAMEWORKS, "")
