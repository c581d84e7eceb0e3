"""Programs that write logs: how their own lines show them, and what part they have."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MARKS: Mapping[str, tuple[str, ...]] = {
    "vllm-ascend": ("vllm-ascend", "vllm_ascend"),
    "vllm": ("vllm", "enginecore", "apiserver pid=", r"\b(?:info|warning|error) \d\d-\d\d \d\d:\d\d:\d\d "),
    "sglang": (
        *("sglang", "server_args=", "#queue-req", "#retracted_reqs", "mem-fraction-static"),
        r"^\[[-\d]+ [:\d]+ [dt]p\d",
    ),
    "mindie": ("mindie", "[mie0"),
    "lmdeploy": ("lmdeploy", "turbomind"),
    "llama.cpp": ("llama_", "ggml_", "llama-server", "llama.cpp"),
    "tensorrt-llm": ("trt-llm]", "tensorrt-llm]", "tensorrt_llm"),
    "ray": ("raylet", r"\bray[/.:]", r"\(\w+ pid=\d+, ip="),
    "megatron-core": ("megatron",),
    "mindspeed-llm": ("mindspeed-llm", "mindspeed_llm"),
    "mindspeed": ("mindspeed",),
    "mindformers": ("mindformers",),
    "deepspeed": ("deepspeed",),
    "llamafactory": ("llamafactory", "llama-factory"),
    "ms-swift": ("ms-swift", r"\bswift\b"),
    "verl": (r"\bverl\b",),
    "transformers": ("transformers",),
    "accelerate": ("accelerate",),
    "triton-ascend": ("ttadapter", "bishengir", r"triton.{0,40}ascend"),
    "triton": ("triton",),
    "torch_npu": ("torch_npu", r"npu(?<!\wnpu)\b"),
    "torch": ("torch",),
    "rccl": (r"\brccl\b",),
    "nccl": (r"\bnccl\b",),
    "hccl": (r"\bhccl", r"e(?<!\we)[ij]\d{4}:"),
    "cann": (r"e(?<!\we)[efhklz1-4]\d{4}:", r"\bascendcl\b"),
}
"""Texts, and expressions that begin or go on with a backslash, by which lower-case lines show a program."""
_BASES = {
    "vllm-ascend": "vllm",
    "mindspeed-llm": "mindspeed",
    "triton-ascend": "triton",
    "torch_npu": "torch",
    "rccl": "nccl",
}
"""Programs within which others run: what the one says the other says too."""
_NO_TEXT = re.compile(r"\\[wbd]|\[.*?\]|\(\?.*?\)")
_EXPRESSIONS = {
    text: (
        re.compile(text, re.MULTILINE),
        max(re.findall("[a-z]{3,}", _NO_TEXT.sub(" ", text)), key=len, default=""),
    )
    for texts in _MARKS.values()
    for text in texts
    if "\\" in text or "{" in text
}
"""Expressions by their text, each with a word that it needs."""
SERVERS = ("vllm-ascend", "vllm", "sglang", "mindie", "lmdeploy", "tensorrt-llm", "llama.cpp")
"""Programs that serve; the others train or are parts of either."""
TRAINERS = (
    "ms-swift",
    "llamafactory",
    "mindspeed-llm",
    "mindformers",
    "megatron-core",
    "deepspeed",
    "transformers",
    "accelerate",
)
"""Programs that train, those that run another one first."""
_BOTH = ("verl",)
"""Programs that run a server and a trainer, and set both."""


def programs_marked(text: str) -> set[str]:
    """Programs whose marks stand in lines, each looked for until its first mark."""
    lowered = text.lower()
    names = {name for name, marks in _MARKS.items() if any(_stands(mark, lowered) for mark in marks)}
    return names | {_BASES[name] for name in names if name in _BASES}


def _stands(mark: str, lowered: str) -> bool:
    expression, needed = _EXPRESSIONS.get(mark, (None, mark))
    return needed in lowered and (expression is None or expression.search(lowered) is not None)


def server_of(programs: tuple[str, ...]) -> str:
    """The server among the programs of a log, the most special first; empty where none serves."""
    return next((name for name in SERVERS if name in programs), "")


def owner_of(programs: tuple[str, ...]) -> str:
    """The program whose settings a run is started with; empty where none is shown."""
    return next((name for name in (*_BOTH, *SERVERS, *TRAINERS) if name in programs), "")
