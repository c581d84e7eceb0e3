"""Training methods in one word."""

import pytest

from ingest.questions.training_methods import read_methods
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
