"""Hypotheses judged by tests: confirmed, refuted, or still open."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.nouns.knowledge import CONFIRMED, HYPOTHESIS, REFUTED, Strategy
from kg.triples.finders import outcomes_of
from kg.triples.serialisation import all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.outcomes import Outcome
    from kg.triples.graph import GraphStore


def judge_hypotheses(graph: GraphStore) -> list[tuple[Strategy, str]]:
    """Proposed strategies whose state outcomes have changed, as they are now, each with the reason.

    A later outcome may confirm what an earlier refuted, and the other way round.
    """
    changed = []
    for strategy in all_of(graph, Strategy):
        if strategy.kind not in {HYPOTHESIS, CONFIRMED, REFUTED}:
            continue
        outcomes = outcomes_of(graph, strategy.id)
        kind, reason = verdict(outcomes)
        if kind and kind != strategy.kind:
            changed.append((replace(strategy, kind=kind), reason))
    return changed


def verdict(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Judge a hypothesis by outcomes, with the reason; empty while no test has decided.

    Each decided test counts once: more that found it better than not confirm it, as many or fewer refute it.
    """
    decided = [item for item in outcomes if item.verdict != "undecided" or item.treatment_never_ran]
    if not decided:
        return "", ""
    better = [item for item in decided if item.verdict == "better" and not item.treatment_never_ran]
    newest = decided[-1]
    if newest.treatment_never_ran and not better:
        return REFUTED, f"it never ran: {newest.failures} runs failed ({newest.source.title})"
    gain = "" if newest.gain is None else f" {math.exp(newest.gain):.3g}x"
    reason = (
        f"{len(better)} of {len(decided)} tests found it better, the newest{gain} ({newest.source.title})"
    )
    return (CONFIRMED if 2 * len(better) > len(decided) else REFUTED), reason
