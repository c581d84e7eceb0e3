"""Programs that write logs: how their own lines show them, and what part they have."""

from __future__ import annotations

import re

_MARKS = {
    "vllm-ascend": "vllm[_-]ascend",
    "vllm": r"vllm|EngineCore|APIServer pid=|\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d ",
    "sglang": r"sglang|server_args=|#queue-req|#retracted_reqs|mem-fraction-static|^\[[-\d]+ [:\d]+ [DT]P\d",
    "mindie": r"mindie|\[MIE0",
    "lmdeploy": "lmdeploy|turbomind",
    "llama.cpp": r"llama_|ggml_|llama-server|llama\.cpp",
    "tensorrt-llm": r"TRT-LLM\]|TensorRT-LLM\]|tensorrt_llm",
    "ray": r"\bray[/.:]|raylet|\(\w+ pid=\d+, ip=",
    "megatron-core": "megatron",
    "mindspeed-llm": "mindspeed[_-]llm",
    "mindspeed": "mindspeed",
    "deepspeed": "deepspeed",
    "llamafactory": "llamafactory|llama-factory",
    "ms-swift": r"\bswift\b|ms-swift",
    "verl": r"\bverl\b",
    "transformers": "transformers",
    "accelerate": "accelerate",
    "triton-ascend": "triton.{0,40}ascend|ttadapter|bishengir",
    "triton": "triton",
    "torch_npu": r"torch_npu|\bnpu\b",
    "torch": "torch",
    "nccl": r"\bnccl\b",
    "hccl": r"\bhccl|\bE[IJ]\d{4}:",
    "cann": r"\bE[EFHKLZ]\d{4}:|\bE[1-4]\d{4}:|\bascendcl\b",
}
"""Words of a line, or the form of its head, by which it shows a program; more special names first."""
_BASES = {
    "vllm-ascend": "vllm",
    "mindspeed-llm": "mindspeed",
    "triton-ascend": "triton",
    "torch_npu": "torch",
}
"""Programs within which others run: what the one says the other says too."""
_NAMES = tuple(_MARKS)
_MARKED = re.compile("|".join(f"({text})" for text in _MARKS.values()), re.IGNORECASE)
SERVERS = ("vllm-ascend", "vllm", "sglang", "mindie", "lmdeploy", "tensorrt-llm", "llama.cpp")
"""Programs that serve; the others train or are parts of either."""
TRAINERS = (
    "ms-swift",
    "llamafactory",
    "mindspeed-llm",
    "megatron-core",
    "deepspeed",
    "transformers",
    "accelerate",
)
"""Programs that train, those that run another one first."""
_BOTH = ("verl",)
"""Programs that run a server and a trainer, and set both."""


def programs_marked(line: str) -> set[str]:
    """Programs whose marks stand in a line."""
    names = {_NAMES[(found.lastindex or 1) - 1] for found in _MARKED.finditer(line)}
    return names | {_BASES[name] for name in names if name in _BASES}


def server_of(programs: tuple[str, ...]) -> str:
    """The server among the programs of a log, the most special first; empty where none serves."""
    return next((name for name in SERVERS if name in programs), "")


def owner_of(programs: tuple[str, ...]) -> str:
    """The program whose settings a run is started with; empty where none is shown."""
    return next((name for name in (*_BOTH, *SERVERS, *TRAINERS) if name in programs), "")
