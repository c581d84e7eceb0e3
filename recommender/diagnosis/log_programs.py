"""Programs that write logs: how their own lines show them, and what part they have."""

import re
from collections.abc import Mapping
from functools import cache
from string import digits
from typing import TypeAlias

ProgramMark: TypeAlias = tuple[str, re.Pattern[bytes]]
"""A program, and what finds one of its marks in a line."""
_MARKS: Mapping[str, tuple[str, ...]] = {
    "vllm-ascend": ("vllm-ascend", "vllm_ascend"),
    "vllm": (
        *("vllm", "enginecore", "apiserver pid="),
        *(rf"\b{level} \d\d-\d\d \d\d:\d\d:\d\d " for level in ("info", "warning", "error")),
    ),
    "sglang": (
        *("sglang", "server_args=", "#queue-req", "#retracted_reqs", "mem-fraction-static"),
        *(r"^\[[-\d]+ [:\d]+ dp\d", r"^\[[-\d]+ [:\d]+ tp\d"),
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
    "torch_npu": ("torch_npu", r"\bnpu\b"),
    "torch": ("torch",),
    "rccl": (r"\brccl\b",),
    "nccl": (r"\bnccl\b",),
    "hccl": (r"\bhccl",),
    "cann": (r"\bascendcl\b",),
}
"""Texts, and expressions that begin or go on with a backslash, by which lower-case lines show a program."""
BASES = {
    "vllm-ascend": "vllm",
    "mindspeed-llm": "mindspeed",
    "triton-ascend": "triton",
    "torch_npu": "torch",
    "rccl": "nccl",
}
"""Programs within which others run: what the one says the other says too."""
CODES = {"hccl": re.compile(rb"\bE[IJ]\d{4}:"), "cann": re.compile(rb"\bE[EFHKLZ1-4]\d{4}:")}
"""Codes that show a program."""
_SHORTEST = 3
"""Letters by which a mark is looked for."""
_NO_TEXT = re.compile(r"\\[wbd]|\[.*?\]|\(\?.*?\)")
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


@cache
def program_marks() -> list[tuple[str, ProgramMark]]:
    """Programs with what finds a mark in a line, by texts of each: the mark or its words."""
    items: list[tuple[str, ProgramMark]] = []
    for name, mark in ((name, mark) for name, marks in _MARKS.items() for mark in marks):
        is_text = "\\" not in mark and "{" not in mark
        words = re.findall(" ?[a-z]{2,}[ =]?", _NO_TEXT.sub("\n", mark))
        text = mark if is_text else "{_}".join(words)
        found = re.compile((re.escape(mark) if is_text else mark).encode(), re.IGNORECASE)
        ends = digits if len(text.strip()) < _SHORTEST else [""]  # such as " dp": a number of a rank follows
        items += [(text + end, (name, found)) for end in ends]
    return items


def server_of(programs: tuple[str, ...]) -> str:
    """The server among the programs of a log, the most special first; empty where none serves."""
    return next((name for name in SERVERS if name in programs), "")


def owner_of(programs: tuple[str, ...]) -> str:
    """The program whose settings a run is started with; empty where none is shown."""
    return next((name for name in (*_BOTH, *SERVERS, *TRAINERS) if name in programs), "")
