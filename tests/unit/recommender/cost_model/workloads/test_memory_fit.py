"""Memory of configurations."""

import pytest

from kg.errors import InputError
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.workloads.memory_fit import memory_bytes

LLAMA = model_of(
    "llama", "decoder",
    {"layers": 32, "hidden_size": 4096, "attention_heads": 32, "intermediate_size": 11008, "vocabulary_size": 32000},
)  # fmt: skip


def test_memory_grows_with_what_is_kept_and_falls_with_the_split() -> None:
    def total(**settings: object) -> float:
        parts = memory_bytes(LLAMA, "training", [{"seq_len": 4096, **settings}], 8)
        return float(sum(part[0] for part in parts.values()))

    assert total(tp=2) < total(tp=1)
    assert total(tp=2, micro_batch=2) > total(tp=2)
    assert total(tp=2, zero_stage=1) < total(tp=2)
    assert total(tp=2, fused_ops=0) > total(tp=2)


def test_memory_of_an_impossible_layout_names_the_rule() -> None:
    with pytest.raises(InputError, match="must divide"):
        memory_bytes(LLAMA, "training", [{"seq_len": 4096, "tp": 3}], 8)
