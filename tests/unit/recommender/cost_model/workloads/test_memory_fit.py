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


def test_an_engine_that_prefills_in_pieces_holds_activations_of_one_piece() -> None:
    """A prompt of 128k tokens takes no more activations than the tokens of a step; without an engine all of them."""

    def activations(engine: str, **settings: object) -> float:
        parts = memory_bytes(LLAMA, "serving", [{"batch": 1, **settings}], 1, engine=engine)
        return float(parts["activations"][0])

    long, short = {"input_len": 131072}, {"input_len": 4096}
    assert activations("vllm", **long) == activations("vllm", input_len=8192) < activations("sglang", **long)
    assert activations("sglang", **long) < activations("", **long) == activations("tensorrt-llm", **long)
    assert activations("vllm", **short) == activations("", **short)
    assert activations("vllm", **long, chunk=2048) < activations("vllm", **long)
