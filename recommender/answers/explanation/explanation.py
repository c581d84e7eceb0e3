"""Explains a change or a start: the question, the alternatives left out, every number."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg.nouns.gain import factor_text
from kg.terms.meanings import phrase_of
from recommender.answers.explanation.summary import ExplanationSummary, shortened, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.nouns.values import Settings
    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change
    from recommender.ranking.start import StartConfiguration

SHOWN = 6
"""Lines of one kind shown to people; the JSON has all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(ABC):
    """An explanation of a recommendation.

    Attributes:
        answer: The answer that it is part of.
        asked_id: Id that was asked for; another than that of the item where the knowledge has changed since.
    """

    answer: Answer
    asked_id: str

    @property
    @abstractmethod
    def headline(self) -> str:
        """One line that names what is explained: its place, and the gain to expect."""

    @property
    @abstractmethod
    def summary(self) -> ExplanationSummary:
        """The same on one screen."""

    @abstractmethod
    def all_sections(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Titles with their lines."""

    @property
    @abstractmethod
    def explained(self) -> str:
        """Id of what is explained."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections that have something to say."""
        found = ((title, tuple(made)) for title, made in self.all_sections())
        return tuple(Section(title=title, lines=lines) for title, lines in found if lines)

    def to_json(self) -> dict[str, Any]:
        """The whole answer, and the part of it that is explained."""
        return {
            "explained": self.explained,
            "headline": self.headline,
            "summary": self.summary.to_json(),
            "sections": [{"title": section.title, "lines": list(section.lines)} for section in self.sections],
            "answer": self.answer.to_json(),
        }

    def __str__(self) -> str:
        told = (line for section in self.sections for line in (section.title, *section.lines))
        return "\n".join([self.headline, *told])

    @property
    def _since(self) -> str:
        """A note that the knowledge has changed since the recommendation; empty if it has not."""
        was = self.asked_id
        return "" if was == self.explained else f" (was {was}: the knowledge has changed since)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartExplanation(Explanation):
    """An explanation of a plan's start, or of an alternative to it.

    Attributes:
        start: The start, or an alternative.
    """

    start: StartConfiguration

    @property
    def explained(self) -> str:
        """Id of the start."""
        return self.start.id

    @property
    def headline(self) -> str:
        """Its layout, and whether the plan begins with it."""
        place = "the start" if self.start is self.answer.starts[0] else "an alternative to the start"
        return f"{self._layout} [{self.start.id}]{self._since}: {place}"

    @property
    def summary(self) -> ExplanationSummary:
        """The same on one screen."""
        return ExplanationSummary(
            why=shortened(self._why()),
            next=shortened(self._others()),
            rests=shortened(self._origins()),
            change=shortened(self._change()),
        )

    def all_sections(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Titles with their lines."""
        yield "What was asked", question_lines(self.answer)
        yield "Why this", self._why()
        yield "What it sets", iter((*self.start.paste_lines, *self._meanings()))
        yield "What it rests on", self._origins()
        yield "Why not another", self._others()
        yield "What would change the answer", self._change()

    @property
    def _layout(self) -> str:
        return str(self.start.layout or self.start.framework or "start")

    def _why(self) -> Iterator[str]:
        for value in self.start.expected:
            yield (
                f"{value.metric} {value.value:.4g} {value.unit}, 90 % interval {value.low:.4g} to "
                f"{value.high:.4g}, {value.tier}"
            )
        yield from (*self.start.needs, *self.start.because)

    def _meanings(self) -> Iterator[str]:
        """Meanings of its settings, in words."""
        for item in self.start.settings:
            if phrase := phrase_of(item.key, self.start.framework):
                yield f"{item.key} sets {phrase}"

    def _origins(self) -> Iterator[str]:
        """Its settings by what they come from."""
        for origin in dict.fromkeys(item.origin for item in self.start.settings):
            mine = [item for item in self.start.settings if item.origin is origin]
            yield f"{origin}: " + ", ".join(
                item.name + ("" if item.agreement is None else f" ({item.agreement:.0%} of the recipes)")
                for item in mine
            )
        yield from dict.fromkeys(item.source for item in self.start.settings if item.source)

    def _others(self) -> Iterator[str]:
        for other in self.answer.starts:
            if other is not self.start:
                first = next(iter(other.expected), None)
                reached = other.because[0] if other.because else "nothing is known of it"
                if first is not None:
                    reached = f"{first.metric} {first.value:.4g} {first.unit} ({first.tier})"
                yield f"{other.layout or other.framework} [{other.id}]: {reached}"

    def _change(self) -> Iterator[str]:
        for fact in self.answer.assumed:
            if fact.words:
                yield f"assumed: {fact.words}" + (f" ({fact.otherwise})" if fact.otherwise else "")
        if not self.start.is_measured:
            yield "three measured runs of this question, ingested, decide it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeExplanation(Explanation):
    """An explanation of a change or a configuration.

    Attributes:
        item: The recommendation.
    """

    item: Change

    @property
    def explained(self) -> str:
        """Id of the recommendation."""
        return self.item.id

    @property
    def headline(self) -> str:
        """The recommendation in one line: its place, and what to expect."""
        place = [other.id for other in self.answer].index(self.item.id) + 1
        return (
            f"{self.item.title} [{self.item.id}]{self._since}: number {place} of "
            f"{len(self.answer.recommendations)}, expected gain {factor_text(self.item.gain)}"
        )

    @property
    def summary(self) -> ExplanationSummary:
        """The same on one screen."""
        return summary(self.answer, self.item)

    def all_sections(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Titles with their lines."""
        yield "What was asked", question_lines(self.answer)
        yield "Where it looked", self._looked()
        yield "What was left out", self._left_out()
        yield "What it sets", iter(self.item.flags)
        yield "The numbers", self._numbers()
        yield "What it rests on", self._rests()
        yield "Why not the next", self._next()
        yield "What would change the answer", self._change()

    def _looked(self) -> Iterator[str]:
        for item in self.answer.neighbours[:SHOWN]:
            count = f" x {item['count']}" if item["count"] else ""
            task = "the same task" if item["same_task"] else f"{item['operator']}, {item['distance']} away"
            kind = str(item["distance_class"]).replace("_", " ")
            yield f"{item['hardware']}{count} ({kind}): {task} [{item['problem']}]"

    def _left_out(self) -> Iterator[str]:
        for refusal in self.answer.refused[:SHOWN]:
            source = f" <{refusal.source}>" if refusal.source else ""
            yield f"{refusal.rule}: {refusal.reason}{source}"
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


def question_lines(answer: Answer) -> Iterator[str]:
    """The question, and what the answer was computed from, line by line."""
    problem = answer.problem
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
    yield from answer.notes
    yield f"answered from knowledge {answer.version}"


def explain(answer: Answer, asked_id: str, configuration: Settings | None = None) -> Explanation:
    """The explanation of one change or start of an answer.

    Args:
        answer: The answer, of today.
        asked_id: Id of what is asked about.
        configuration: What it set, if anything: by that it is found where the knowledge, and with it its id,
            has changed.

    Raises:
        KeyError: The answer has it no more.
    """
    for by_id in (True, False) if configuration else (True,):
        for start in answer.starts:
            if (start.id == asked_id) if by_id else (start.configuration == configuration):
                return StartExplanation(answer=answer, start=start, asked_id=asked_id)
        for item in answer:
            if (item.id == asked_id) if by_id else (item.configuration == configuration):
                return ChangeExplanation(answer=answer, item=item, asked_id=asked_id)
    raise KeyError(asked_id)
