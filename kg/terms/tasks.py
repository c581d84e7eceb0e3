"""Tasks of models that follow from their names, and the lengths of their requests."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from kg.terms.meanings import table

_TASKS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "embedding": re.compile(r"(^|[^a-z])(embed|embedding|embeddings|bge|gte|e5)($|[^a-z])"),
        "reranking": re.compile(r"(^|[^a-z])(rerank|reranker|reranking)($|[^a-z])"),
        "transcription": re.compile(r"(^|[^a-z])(whisper|asr)($|[^a-z])"),
    }
)
"""Words of the names under which such models are published."""

LENGTHS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "embedding": {"output_len": 1},
        "reranking": {"output_len": 1},
        # 30 s of sound are 1,500 positions of the encoder, of at most 448 tokens half are taken (Radford et
        # al., Robust Speech Recognition via Large-Scale Weak Supervision, 2022, section 2.2)
        "transcription": {"input_len": 1500, "output_len": 224},
    }
)
"""Tokens of a request by task: a vector or a score takes one pass and no answer."""


def serves(program: str, model: str) -> bool | None:
    """True if a program's released list has a model that is no language model; None where it names none."""
    row = table("launches")["programs"].get(program, {})
    name = model.lower().rpartition("/")[2]
    for key, said in (("refuses", False), ("serves", True)):
        if any(fnmatchcase(name, pattern) for pattern in row.get(key, ())):
            return said
    return None


def task_of(model: str) -> str:
    """The task that the name of a model states; empty where it states none.

    >>> task_of("qwen3-reranker-8b"), task_of("qwen3-8b")
    ('reranking', '')
    """
    name = model.lower()
    found = [task for task, pattern in _TASKS.items() if pattern.search(name)]
    return found[-1] if found else ""
