"""Why a recommendation was made: what was asked, where it looked, what it left out, and every number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg.nouns.gain import factor_text
from recommender.answers.explanation.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.answers.answer import Answer
    from recommender.answers.explanation.summary import ExplanationSummary
    from recommender.ranking.change import Change

SHOWN = 6
"""Lines of one kind shown to people; the JSON has all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a recommendation was made.

    Attributes:
        answer: The answer that it is part of.
        item: The recommendation.
    """

    answer: Answer
    item: Change

    @property
    def headline(self) -> str:
        """The recommendation in one line: its place, and what to expect."""
        place = [other.id for other in self.answer].index(self.item.id) + 1
        return (
            f"{self.item.title} [{self.item.id}]: number {place} of {len(self.answer.recommendations)}, "
            f"expected gain {factor_text(self.item.gain)}"
        )

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections that have something to say."""
        found = (
            ("What was asked", self._question()),
            ("Where it looked", self._looked()),
            ("What was left out", self._left_out()),
            ("What it sets", iter(self.item.flags)),
            ("The numbers", self._numbers()),
            ("What it rests on", self._rests()),
            ("Why not the next", self._next()),
            ("What would change the answer", self._change()),
        )
        return tuple(Section(title=title, lines=lines) for title, made in found if (lines := tuple(made)))

    @property
    def summary(self) -> ExplanationSummary:
        """The same on one screen."""
        return summary(self.answer, self.item)

    def to_json(self) -> dict[str, Any]:
        """Everything: the whole answer, and which of its recommendations is explained."""
        return {
            "explained": self.item.id,
            "headline": self.headline,
            "summary": self.summary.to_json(),
            "sections": [{"title": section.title, "lines": list(section.lines)} for section in self.sections],
            "answer": self.answer.to_json(),
        }

    def __str__(self) -> str:
        return self._repr_mimebundle_()["text/plain"]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """The same in words, for notebooks."""
        from recommender.report.notebook import told_bundle

        return told_bundle(self.headline, ((section.title, section.lines) for section in self.sections))

    def _question(self) -> Iterator[str]:
        problem = self.answer.problem
        work, hardware = problem.workload, problem.hardware
        yield " ".join(
            part
            for part in (
                str(work.kind),
                work.operator,
                work.model or "",
                str(work.shape),
                work.precision or "",
                "on",
                f"{hardware.count} x" if hardware.count else "",
                hardware.name,
                f"(as told: {hardware.reported})" if hardware.reported else "",
            )
            if part
        )
        yield f"decided by {problem.objective.metric}, {problem.objective.better} is better"
        for name, share in problem.bottlenecks.items():
            yield f"observed bottleneck {name}" + (f", {share:.0%} of the time" if share is not None else "")
        if problem.current:
            yield f"set now, and not advised again: {problem.current}"
        yield from self.answer.notes
        yield f"answered from knowledge {self.answer.version}"

    def _looked(self) -> Iterator[str]:
        for item in self.answer.neighbours[:SHOWN]:
            count = f" x {item['count']}" if item["count"] else ""
            task = "the same task" if item["same_task"] else f"{item['operator']}, {item['distance']} away"
            kind = str(item["distance_class"]).replace("_", " ")
            yield f"{item['hardware']}{count} ({kind}): {task} [{item['problem']}]"

    def _left_out(self) -> Iterator[str]:
        for refusal in self.answer.refused[:SHOWN]:
            yield f"{refusal.rule}: {refusal.reason} <{refusal.source}>"
        if len(self.answer.refused) > SHOWN:
            yield f"... {len(self.answer.refused)} in all"
        for limit in self.answer.unchecked:
            yield f"nothing can check yet: {limit}"

    def _numbers(self) -> Iterator[str]:
        item = self.item
        if item.gain is not None:
            yield f"gain {factor_text(item.gain)} against {item.baseline}; 90 % interval"
            yield f"probability that it helps at all: {item.gain.probability_of_gain:.0%}"
        if item.ceiling is not None:
            yield f"ceiling {math.exp(item.ceiling):.2f}x: what its bottleneck takes cannot be won twice"
        for name, value in item.parts.items():
            yield f"{name}: {value:.4g}"

    def _rests(self) -> Iterator[str]:
        yield self.item.basis
        for support in self.item.evidence:
            weight = "" if support.weight is None else f", weight {support.weight:.0%}"
            source = f" <{support.source}>" if support.source else ""
            yield f"{support.kind}{weight}: {support.says}{source}"
        if self.item.influence is not None:
            yield f"the source that moves it most: {self.item.influence}"

    def _next(self) -> Iterator[str]:
        items = list(self.answer)
        place = [other.id for other in items].index(self.item.id)
        if place + 1 < len(items):
            other = items[place + 1]
            differs = other.configuration.changed_from(self.item.configuration)
            yield f"{other.title} [{other.id}] expects {factor_text(other.gain)}" + (
                f"; it sets {differs}" if differs else ""
            )

    def _change(self) -> Iterator[str]:
        yield from self.item.conditions
        if self.item.conflicts:
            yield f"cannot be combined with {', '.join(self.item.conflicts)}"
        if self.item.distance_class not in {"", "same_device"}:
            yield "a measurement on this very hardware would count for more than all of the above"
        if not self.answer.problem.bottlenecks and self.item.strategy:
            yield "bottlenecks with their shares (--bottleneck NAME=SHARE) would bound the possible gain"


def explain(answer: Answer, recommendation_id: str) -> Explanation:
    """The explanation of one recommendation of an answer.

    Raises:
        KeyError: The answer has none of this id.
    """
    for item in answer:
        if item.id == recommendation_id:
            return Explanation(answer=answer, item=item)
    raise KeyError(recommendation_id)
