"""Releases of torch_npu, which people name by the PyTorch release that it extends."""

import re

ASCEND_RELEASES = {
    "1.11": "6.0.rc2", "2.0": "5.0.0", "2.1": "7.2.0", "2.2": "6.0.rc2", "2.3": "7.0.0", "2.4": "7.0.0",
    "2.5": "7.1.0", "2.6": "7.3.0", "2.7": "26.0.0", "2.8": "26.0.0", "2.9": "26.0.0", "2.10": "26.0.0",
}  # fmt: skip
"""Newest Ascend release by PyTorch release, from the version matching tables of Ascend Extension for PyTorch:
https://gitcode.com/Ascend/pytorch/blob/master/README.md and
https://www.hiascend.com/document/detail/zh/Pytorch/600/quickstart/releasenote/releasenote_0001.html ."""

TORCH_NPU = "torch-npu"
_TORCH = re.compile(r"v?([12])\.(\d+)\b")


def ascend_release(software: str, version: str) -> str:
    """The Ascend release of torch_npu that a version means; any other version as it is.

    Example:
        >>> ascend_release("torch-npu", "2.6.0.post3"), ascend_release("torch-npu", "7.1.0")
        ('7.3.0', '7.1.0')
    """
    match = _TORCH.match(version.strip()) if software == TORCH_NPU else None
    if match is None:
        return version
    return ASCEND_RELEASES.get(f"{match[1]}.{match[2]}", version)
