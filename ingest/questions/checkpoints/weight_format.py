"""The number format in which a checkpoint holds its weights, as its ``config.json`` states it."""

from collections.abc import Mapping
from types import MappingProxyType

_METHODS = MappingProxyType({"fp8": "fp8", "mxfp4": "mxfp4", "ascend": "w8a8"})
_GROUPS: Mapping[tuple[str, str, bool], str] = MappingProxyType(
    {
        ("int", "4", False): "w4a16",
        ("int", "8", True): "w8a8",
        ("float", "8", True): "fp8",
        ("float", "4", True): "nvfp4",
    }
)
"""Formats of compressed-tensors: type and bits of the weights, and whether inputs are quantised too."""


def weight_format(described: Mapping[str, object]) -> str:
    """The format of the weights; empty where they are not quantised, or by a method that is not known here.

    Args:
        described: A ``config.json``, whose ``quantization_config`` is that of transformers
            (https://huggingface.co/docs/transformers/main_classes/quantization), compressed-tensors
            (https://github.com/vllm-project/compressed-tensors) or msModelSlim.
    """
    stored = described.get("quantization_config") or described.get("compression_config")
    if not isinstance(stored, dict):
        return ""
    method = str(stored.get("quant_method"))
    if method in {"awq", "gptq"}:
        return "w4a16" if (stored.get("bits") or stored.get("w_bit")) == 4 else ""
    groups = stored.get("config_groups")
    if method == "compressed-tensors" and isinstance(groups, dict):
        found = {_of_group(group) for group in groups.values() if isinstance(group, dict)}
        return found.pop() if len(found) == 1 else ""
    return _METHODS.get(method, "")


def _of_group(group: Mapping[str, object]) -> str:
    weights = group.get("weights")
    if not isinstance(weights, dict):
        return ""
    if str(group.get("format")).startswith("mxfp4"):
        return "mxfp4"
    inputs = group.get("input_activations") is not None
    return _GROUPS.get((str(weights.get("type")), str(weights.get("num_bits")), inputs), "")
