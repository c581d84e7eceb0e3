"""Number formats of checkpoints, from what their configurations say."""

from typing import Any

import pytest

from ingest.questions.checkpoints.weight_format import weight_format

GROUP = {"weights": {"type": "int", "num_bits": 4}, "input_activations": None}
FOUR = {"weights": {"type": "float", "num_bits": 4}, "format": "mxfp4-pack-quantized"}
PAIR = {"weights": {"type": "float", "num_bits": 8}, "input_activations": {"num_bits": 8}}


@pytest.mark.parametrize(
    ("stored", "format_"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "w4a16"),
        ({"quant_method": "gptq", "bits": 8}, ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": GROUP}}, "w4a16"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": FOUR}}, "mxfp4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": GROUP, "b": PAIR}}, ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": None}}}, ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": [4]}}}}, ""),
        ("fp8", ""),
    ],
)
def test_formats(stored: Any, format_: str) -> None:
    assert weight_format({"quantization_config": stored}) == format_
