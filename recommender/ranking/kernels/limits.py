"""Limits of a kernel in words: how full its buffers are, what does not fit, what does nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.ranking.change import NotHere
from recommender.space.expressions import Expression
from recommender.space.made import triton_ascend
from recommender.space.made.needs import is_amd, is_nvidia

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.nouns.values import Value
    from recommender.ranking.feasibility.rules import Broken
    from recommender.ranking.kernels.domain import KernelDomain
    from recommender.ranking.kernels.question import KernelQuestion

TUTORIAL = (
    "https://github.com/triton-lang/triton/blob/7649d87cce6c12361bb9da234b9b227b2880b499"
    "/python/tutorials/03-matrix-multiplication.py"
)
_AMD = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
_FULL = 0.5
"""Share of a buffer from which its limit is told; a choice."""


def limit_lines(domain: KernelDomain, configuration: Mapping[str, Value]) -> Iterator[str]:
    """Yield how much of each limited thing a configuration takes, where it is at least half."""
    numbers = {
        name: np.array([float(value)])
        for name, value in configuration.items()
        if isinstance(value, int | float)
    }
    for item in domain.space.constraints:
        left, sign, right = item.expression.partition("<=")
        if not sign:
            continue
        known = frozenset(domain.space.names)
        sides = [Expression.parse(side, known) for side in (left, right)]
        if not all(side.names <= set(numbers) for side in sides):
            continue
        used, held = (float(np.ravel(side.numbers(numbers))[0]) for side in sides)
        if held > 0 and _FULL <= used / held <= 1:
            reason = item.reason.rpartition(", ")[0] or item.reason
            yield f"{reason}: {used:.0f} of {held:.0f}" + (f" <{item.source}>" if item.source else "")


def not_fitting(current: Mapping[str, Value], broken: Sequence[Broken]) -> tuple[NotHere, ...]:
    """What is set now and cannot run, with the limit; empty where nothing is broken."""
    stated = ", ".join(f"{name}={value}" for name, value in current.items())
    return tuple(
        NotHere(
            strategy=stated,
            because=f"what is set now cannot run: {item.rule}: {item.reason}",
            fact=item.reason,
            source=item.source,
        )
        for item in broken
    )


def foreign_settings(question: KernelQuestion, domain: KernelDomain) -> tuple[NotHere, ...]:
    """Settings of such kernels that do nothing here, and values that the shape rules out."""
    unused = [item for item in domain.left if "=" not in item.what]
    found = [
        NotHere(
            strategy=", ".join(item.what for item in unused),
            because=unused[0].why,
            fact=question.device.id,
            source=unused[0].source,
        )
        for _ in unused[:1]
    ]
    if question.form == "triton" and is_nvidia(question.device):
        found.append(
            NotHere(
                strategy=", ".join(_AMD),
                because="of Triton's backend for AMD",
                fact=question.device.id,
                source=TUTORIAL,
            )
        )
    if question.form == "triton" and (is_nvidia(question.device) or is_amd(question.device)):
        found.append(
            NotHere(
                strategy="multibuffer",
                because="of Triton's backend for Ascend; num_stages overlaps transfers here",
                fact=question.device.id,
                source=triton_ascend.CORES,
            )
        )
    if not question.device.get("peak_fp8_flops"):
        found.append(
            NotHere(
                strategy="8-bit floating point",
                because="no such unit is known of it",
                fact=question.device.id,
            )
        )
    by_reason: dict[str, list[str]] = {}
    for item in domain.left:
        if "=" in item.what:
            by_reason.setdefault(item.why, []).append(item.what)
    return (
        *found,
        *(
            NotHere(strategy=", ".join(values), because=why, fact="the shape of the question")
            for why, values in by_reason.items()
        ),
    )
