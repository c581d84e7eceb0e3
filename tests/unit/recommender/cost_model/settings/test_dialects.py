"""Settings of frameworks in the cost model's words."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.cost_model.settings.dialects import OFF, translate
from recommender.cost_model.settings.plans import SERVING, TRAINING


@pytest.mark.parametrize(
    ("told", "phase", "settings", "untold"),
    [
        (
            {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "micro_batch_size": 1,
             "num_layers_per_virtual_pipeline_stage": 4, "HCCL_BUFFSIZE": 200},
            "training",
            {"tensor_parallel": 2, "pipeline_parallel": 2, "micro_batch": 1, "virtual_stages": 4},
            ("HCCL_BUFFSIZE",),
        ),
        (
            {"use_flash_attn": True, "use_fused_rmsnorm": True, "recompute_granularity": "full", "bf16": True,
             "use_distributed_optimizer": True, "overlap_grad_reduce": False},
            "training",
            {"flash_attention": 1, "fused_ops": 1, "recompute": "full", "precision": "bf16", "zero_stage": 1},
            (),
        ),
        (
            {"tensor_parallel_size": 4, "enforce_eager": True, "enable_expert_parallel": True,
             "quantization": "ascend", "max_num_seqs": 16, "use_flash_attn": True},
            "serving",
            {"tensor_parallel": 4, "graph": 0, "expert_parallel": 16, "precision": "int8", "batch": 16},
            ("use_flash_attn",),
        ),
        ({"cudagraph_mode": "FULL_DECODE_ONLY", "tp-size": 2}, "serving", {"graph": 1, "tensor_parallel": 2}, ()),
    ],
)  # fmt: skip
def test_known_names_are_translated_and_the_others_named(
    told: dict[str, Any], phase: str, settings: dict[str, object], untold: tuple[str, ...]
) -> None:
    found = translate(told, phase, count=16, layers=32)
    assert dict(found.settings) == settings
    assert found.untold == untold


def test_what_is_off_is_a_setting_with_a_value_of_its_own() -> None:
    assert all(name in TRAINING or name in SERVING for name in OFF)
