"""Words of a problem: what the text model reads.

Words only. Sizes, counts and shares are features with a scale (:mod:`embeddings.features`), and a
language model reads numbers badly. So there are few distinct texts, each of them encoded once.

Names are resolved before they come here: a term in Chinese is the id of its concept by then, which
matters because the shipped text model reads no Chinese.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from embeddings.features import places

if TYPE_CHECKING:
    from embeddings.features import HardwareFacts
    from kg.nouns.entities import Problem

_SIZE = re.compile(r"a?\d+([.x]\d+)*[bmkt]?", re.IGNORECASE)
_VERBS = {"lower": "minimise", "higher": "maximise"}


def words(problem: Problem, hardware: HardwareFacts) -> str:
    """Describe a problem in words: activity, model, hardware, bottlenecks, objective.

    Args:
        problem: A problem with canonical names.
        hardware: The tree that knows what a device belongs to.

    Returns:
        Such as ``"pretrain training of qwen2 on dgx h100, hopper, nvidia; slow link; maximise
        throughput"``; the same for problems that differ in numbers alone.
    """
    workload = problem.workload
    parts = [f"{_plain(workload.operator)} {workload.kind}"]
    if workload.model:
        parts.append(f"of {_without_sizes(workload.model)}")
    parts.append("on " + ", ".join(_plain(node) for node in places(hardware, problem.hardware.name)))
    text = " ".join(parts)
    limits = ", ".join(_plain(name) for name in problem.bottlenecks)
    wanted = f"{_VERBS[problem.objective.better]} {_plain(problem.objective.metric)}"
    return "; ".join(part for part in (text, limits, wanted) if part)


def _plain(name: str) -> str:
    return " ".join(re.split(r"[\s_\-./]+", name.lower())).strip()


def _without_sizes(model: str) -> str:
    """Return family words of a model: ``meta-llama/Llama-3-8B`` gives ``meta llama``."""
    kept = [word for word in _plain(model).split() if not _SIZE.fullmatch(word)]
    return " ".join(dict.fromkeys(kept)) or _plain(model)
