"""Explains a recommendation on one screen: four questions that a person asks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.gain import factor_text
from recommender.ranking.change import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change

MOST_LINES = 5
"""Lines of one section at most: four sections and their headings stay within a screen of 24 lines."""

MOST_LETTERS = 108
"""Longest line of the summary; a longer one ends in an ellipsis, and stands whole among the details."""

_LIKE = 0.005
"""Log gains that differ by less are called equal: half a per cent is below the noise of any measurement."""

_CHOSEN = "nobody has published its gain: it is a choice that others made"
_MEASURED = frozenset({"timed", "measured"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationSummary(JsonNoun):
    """The four things a person asks.

    Attributes:
        why: Why this.
        next: Why not the next.
        rests: What it rests on.
        change: What would change the answer.
    """

    why: tuple[str, ...] = field(metadata=in_json("why_this"))
    next: tuple[str, ...] = field(metadata=in_json("why_not_the_next"))
    rests: tuple[str, ...] = field(metadata=in_json("rests_on"))
    change: tuple[str, ...] = field(metadata=in_json("what_would_change_the_answer"))

    @property
    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Headings and their lines; a section without a line is left out."""
        found = (
            ("Why this", self.why),
            ("Why not the next", self.next),
            ("What it rests on", self.rests),
            ("What would change the answer", self.change),
        )
        return tuple((title, lines) for title, lines in found if lines)


def summary(answer: Answer, item: Change) -> ExplanationSummary:
    """The four things for one recommendation of an answer."""
    items = list(answer)
    place = items.index(item)
    following = items[place + 1] if place + 1 < len(items) else None
    return ExplanationSummary(
        why=shortened(_why(answer, item)),
        next=shortened(_next(item, following)),
        rests=shortened(_rests(item)),
        change=shortened(_change(answer, item, following)),
    )


def shortened(lines: Iterable[str]) -> tuple[str, ...]:
    """The first lines of a section, none longer than a screen is wide."""
    found = [line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 3]}..." for line in lines]
    return tuple(dict.fromkeys(found))[:MOST_LINES]


def _is_modelled(item: Change) -> bool:
    return any(support.kind == "modelled" for support in item.evidence)


def _why(answer: Answer, item: Change) -> Iterator[str]:
    if item.how:
        yield item.how
    share = answer.problem.bottlenecks.get(item.bottleneck) if item.bottleneck else None
    if item.bottleneck:
        taken = f", {share:.0%} of the time" if isinstance(share, int | float) else ""
        most = "" if item.ceiling is None else f": at most {math.exp(item.ceiling):.2f}x can be won there"
        yield f"it is for {item.bottleneck}, which was observed{taken}{most}"
    elif item.strategy:
        yield "it addresses no bottleneck you reported; it is ranked by its expected gain"
    elif _is_modelled(item) and answer.problem.workload.model:
        yield "the cost model prices it above the start"
    elif _is_modelled(item):
        yield "a tile model on the facts of the device expects it to be among the fastest that fit"
    elif item.tier == MEASURED:
        yield f"it was measured on this very question: {item.title}"
    else:
        yield "similar problems had it among their best, or it is what their parameters say together"
    if item.gain is None and _is_modelled(item):
        yield "its gain is unknown: nothing was measured"
    elif item.gain is None:
        alone = "nothing beside it was measured there: no gain is known"
        yield alone if item.tier == MEASURED else _CHOSEN
    else:
        helps = "" if item.helps is None else f"; {item.helps:.0%} chance that it helps at all"
        yield f"expected {factor_text(item.gain)} against {item.baseline}{helps}"
    if item.accuracy not in {"unchanged", ""} and item.strategy:
        yield f"accuracy: {item.accuracy.replace('-', ' ')}, so measure it"


def _next(item: Change, other: Change | None) -> Iterator[str]:
    if other is None:
        yield "it is the last of the list"
        return
    yield f"next is {other.title} [{other.id}], expected {factor_text(other.gain)}"
    if item.gain is not None and other.gain is not None:
        apart = item.gain.expected - other.gain.expected
        if abs(apart) < _LIKE:
            yield "same expected gain: the order between the two means nothing"
        elif apart > 0:
            overlap = other.gain.high > item.gain.expected
            sure = "but its interval reaches above this one's expectation" if overlap else "even at its best"
            yield f"it is expected to gain {math.expm1(apart):.1%} less, {sure}"
        else:
            yield f"it may gain {math.expm1(-apart):.1%} more, and stands after this one for another reason:"
    if item.bottleneck and other.bottleneck == item.bottleneck:
        yield "it fixes the same bottleneck, so the two do not add up"
    elif item.bottleneck and not other.bottleneck:
        yield "it is for no bottleneck that was observed"
    if other.strategy in item.conflicts or item.strategy in other.conflicts:
        yield "the two exclude each other"
    if _is_measured(item) and not _is_measured(other):
        yield "nobody has measured it; this one was"


def _rests(item: Change) -> Iterator[str]:
    yield item.basis
    for support in item.evidence[:3]:
        weight = "" if support.weight is None else f" (weight {support.weight:.0%})"
        where = f" [{support.problem}]" if support.problem else ""
        yield f"{support.kind}{weight}: {support.says}{where}"
    if item.influence is not None:
        yield str(item.influence)
    if not item.evidence:
        yield "no single source: what is expected of its parameters one by one"


def _change(answer: Answer, item: Change, other: Change | None) -> Iterator[str]:
    if item.gain is not None and other is not None and other.gain is not None:
        bar = math.exp(other.gain.expected)
        if item.gain.expected - other.gain.expected > _LIKE:
            yield f"measured below {bar:.2f}x here, the next would lead"
    yield from item.conditions[:2]
    is_far = item.distance_class not in {"", "same_device"} or not _is_measured(item)
    if is_far and item.tier != MEASURED:
        yield "a measurement on this very hardware would count for more than all of this"
    if item.strategy and not answer.problem.bottlenecks:
        yield "bottlenecks with their shares (--bottleneck NAME=SHARE) would bound the possible gain"
    if item.strategy and answer.problem.current is None:
        yield "your current settings (--current, --from-command) would remove what you do already"
    unread = [note for note in answer.notes if "could not be read" in note]
    if unread:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        yield f"{unread[0]}{more}"
    if answer.refused:
        rules = ", ".join(dict.fromkeys(refusal.rule for refusal in answer.refused))
        yield f"{len(answer.refused)} options are ruled out by: {rules}"


def _is_measured(item: Change) -> bool:
    """Return whether somebody measured it, somewhere."""
    return any(
        support.kind in _MEASURED or support.kind == "published" for support in item.evidence
    ) and bool(item.distance_class)
