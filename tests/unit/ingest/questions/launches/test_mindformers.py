"""The YAML of a MindFormers task states network, layout, length and devices."""

import pytest

from ingest.questions.launches.mindformers import read_mindformers
from kg.errors import InputError

TASK = """
run_mode: train
trainer: {model_name: wolf_70b}
runner_config: {batch_size: 2, sink_mode: true}
parallel_config: {data_parallel: 2, model_parallel: 8, pipeline_stage: 4, use_seq_parallel: true}
recompute_config: {recompute: false, select_recompute: [1, 2]}
moe_config: {expert_num: 8, num_experts_chosen: 2}
model:
  model_config:
    {type: LlamaConfig, seq_length: 8192, hidden_size: 8192, num_layers: 80, num_heads: 64, n_kv_heads: 8,
     ffn_dim_multiplier: 1.3, multiple_of: 256, vocab_size: 128256, compute_dtype: bfloat16}
"""


def test_a_task_is_a_question() -> None:
    told = read_mindformers(TASK.encode(), "t.yaml").question
    assert told["sizes"] == {
        "layers": 80, "hidden_size": 8192, "attention_heads": 64, "kv_heads": 8, "intermediate_size": 28672,
        "vocabulary_size": 128256, "experts": 8, "experts_per_token": 2, "attention_kind": "full",
        "architecture": "moe-decoder",
    }  # fmt: skip
    assert (told["model"], told["precision"], told["phase"], told["count"]) == (
        "wolf-70b",
        "bfloat16",
        "training",
        64,
    )
    assert told["shape"] == {"seq_len": 8192}
    assert told["software"] == {"mindformers": ""}
    assert told["current"] == {
        "parallel_config.data_parallel": 2, "parallel_config.model_parallel": 8,
        "parallel_config.pipeline_stage": 4, "parallel_config.use_seq_parallel": True,
        "recompute_config.recompute": False, "runner_config.batch_size": 2, "runner_config.sink_mode": True,
    }  # fmt: skip


def test_a_width_that_is_stated_is_not_made_up() -> None:
    wide = TASK.replace("multiple_of: 256", "intermediate_size: 30000").replace("train\n", "predict\n", 1)
    told = read_mindformers(wide.encode(), "t.yaml").question
    assert isinstance(told["sizes"], dict)
    assert told["sizes"]["intermediate_size"] == 30000
    assert (told["phase"], told["shape"]) == ("serving", {"input_len": 8192})


@pytest.mark.parametrize(
    "raw", [b"- 1", b"model: 3", b"a: [", b"model: {model_config: {num_layers: 2}}", b"\xff"]
)
def test_another_yaml_is_bad_input(raw: bytes) -> None:
    with pytest.raises(InputError, match=r"t\.yaml"):
        read_mindformers(raw, "t.yaml")
