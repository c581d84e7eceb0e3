"""Training methods in one word."""

import pytest

from ingest.questions.training_methods import read_methods, with_method
from kg.errors import InputError


def test_words_state_facts_and_what_is_stated_wins() -> None:
    assert read_methods({"method": "QLoRA", "seq": 1}) == {"seq": 1, "lora": True, "frozen_bits": 4}
    paired = {"lora": True, "objective_kind": "dpo", "rlhf": True, "trained_by": "dpo"}
    assert read_methods({"method": "lora+dpo"}) == paired
    assert read_methods({"finetuning_type": "qlora", "frozen_bits": 8})["frozen_bits"] == 8
    assert read_methods({"training_method": "full sft"}) == {"lora": False}


def test_a_word_that_names_no_method_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'fulll'") as refusal:
        read_methods({"method": "fulll"})
    assert "qlora" in refusal.value.hint


@pytest.mark.parametrize(
    ("phase", "method"),
    [("grpo", "grpo"), ("QLoRA", "qlora"), ("lora finetune", "lora"), ("dpo lora training", "dpo lora")],
)
def test_a_phase_that_is_a_method_is_training_by_it(phase: str, method: str) -> None:
    assert with_method({"phase": phase}) == {"phase": "training", "traits": {"method": method}}
    told = {"phase": phase, "traits": {"method": "kto"}}
    assert with_method(told) == {"phase": "training", "traits": {"method": "kto"}}


@pytest.mark.parametrize("phase", ["training", "serving", "gpro", "lora serving", "", None, 7])
def test_any_other_phase_stays_as_it_is_told(phase: object) -> None:
    assert with_method({"phase": phase}) == {"phase": phase}
