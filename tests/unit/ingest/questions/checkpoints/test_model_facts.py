"""Facts of networks from their ``config.json``."""

import pytest

from ingest.questions.checkpoints.model_facts import structure

STATES = {
    "linear_key_heads": 8,
    "linear_value_heads": 64,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 16,
}


@pytest.mark.parametrize(
    "described",
    [
        {"hybrid_override_pattern": "MEM*EM", "n_groups": 8, "mamba_num_heads": 64, "ssm_state_size": 128,
         "mamba_head_dim": 16},
        {"layers_block_type": ["mamba", "moe", "mamba", "attention", "moe", "mamba"], "n_groups": 8,
         "mamba_num_heads": 64, "ssm_state_size": 128, "mamba_head_dim": 16},
        {"layer_types": ["mamba", "mamba", "attention", "mamba"], "mamba_n_groups": 8, "mamba_n_heads": 64,
         "mamba_d_state": 128, "mamba_d_head": 16},
    ],
)  # fmt: skip
def test_states_of_a_hybrid_are_told_from_attention(described: dict[str, object]) -> None:
    found = structure(described)
    assert (found["full_attention_layers"], found["linear_attention_layers"]) == (1, 3)
    assert {name: found[name] for name in STATES} == STATES


def test_linear_attention_may_have_a_part_of_its_own() -> None:
    part = {"num_heads": 96, "head_dim": 128, "full_attn_layers": [4], "kda_layers": [1, 2, 3]}
    found = structure({"linear_attn_config": part, "kv_lora_rank": 512})
    assert (found["linear_value_heads"], found["linear_key_head_dim"]) == (96, 128)
    assert found["attention_kind"] == "latent+linear"
