"""The questions of a workspace asked for two releases of a framework, and what differs in their plans."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg.errors import InputError, NoEvidenceError, TuningError
from kg.nouns.codec import JsonNoun
from kg.terms.setting_registry import registry
from kg.triples.knowledge_content import Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from recommender.answers.answer import Answer

    Ask = Callable[[Mapping[str, object]], Answer]
    """Answers a question as people put it."""

MOST_QUESTIONS = 50
"""Asked again, newest first: each takes two plans, some 0.2 CPU s together. A choice."""


_NOT_HERE = "not here"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff(JsonNoun):
    """The differences that a change of release makes to questions.

    Attributes:
        software: The framework.
        releases: Both releases, as they were named.
        read: The releases whose settings were read for them: the nearest where one was not.
        asked: How many questions concern the framework.
        left_out: Older questions that were not asked again.
        changed: A difference for each question whose plan differs, named by the question.
    """

    software: str
    releases: tuple[str, str]
    read: tuple[str, str]
    asked: int
    left_out: int
    changed: tuple[Difference, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know beside the differences."""
        notes = [
            f"{self.software} {release} was not read; the nearest release is {read}"
            for release, read in zip(self.releases, self.read, strict=True)
            if not read.startswith(release)
        ]
        notes.append(f"{self.asked} of your questions are about {self.software}")
        if self.left_out:
            notes.append(f"{self.left_out} older ones were not asked again")
        return tuple(notes)


def release_diff(text: str, questions: Iterable[str], ask: Ask) -> ReleaseDiff:
    """Ask saved questions for two releases.

    Args:
        text: Framework and releases, as ``vllm-ascend=0.20..0.23``.
        questions: The questions as JSON, newest first.
        ask: Answers one.

    Raises:
        InputError: The text is no framework with two releases.
        UnknownEntityError: The framework is unknown, or a name is none of a release.
    """
    name, _, span = text.partition("=")
    low, dots, high = span.partition("..")
    if not (name and dots and low.strip() and high.strip()) or low == high:
        raise InputError(f"{text!r} names no framework and two releases", hint="as vllm-ascend=0.20..0.23")
    settings = registry(name)
    read = settings.at(low).release, settings.at(high).release
    asked = left_out = 0
    changed: list[Difference] = []
    seen: set[str] = set()
    for raw in map(json.loads, questions):
        versions = raw.get("software") or {}
        about = json.dumps({**raw, "software": {**versions, settings.software: ""}}, sort_keys=True)
        if about in seen or not _concerns(raw, settings.software, ask):
            continue
        seen.add(about)
        if asked == MOST_QUESTIONS:
            left_out += 1
            continue
        asked += 1
        sides = [_statements(raw, settings.software, release, ask) for release in (low, high)]
        gone, come = (
            tuple(sorted(text for key, text in one.items() if _differs(key, text, other)))
            for one, other in (sides, sides[::-1])
        )
        if gone or come:
            changed.append(Difference(about=_in_words(raw), gone=gone, come=come))
    return ReleaseDiff(
        software=settings.software,
        releases=(low, high),
        read=read,
        asked=asked,
        left_out=left_out,
        changed=tuple(changed),
    )


def _concerns(raw: Mapping[str, Any], software: str, ask: Ask) -> bool:
    """Whether a question is answered with a plan for a framework; one that names none is asked."""
    stated = raw.get("software") or {}
    if not raw.get("model") or (stated and software not in stated):
        return False
    if stated:
        return True
    try:
        starts = ask(raw).starts
    except TuningError:
        return False
    return bool(starts) and starts[0].framework == software


def _differs(key: tuple[str, ...], text: str, other: Mapping[tuple[str, ...], str]) -> bool:
    """Whether the other plan does not say it; what is not for here in both is so for whatever reason."""
    return key not in other if key[0] == _NOT_HERE else other.get(key) != text


def _statements(raw: Mapping[str, Any], software: str, release: str, ask: Ask) -> dict[tuple[str, ...], str]:
    """What a plan for a release says, in words, by what it is about."""
    try:
        answer = ask({**raw, "software": {**(raw.get("software") or {}), software: release}}).to_json()
    except NoEvidenceError as error:
        return {("answer",): f"abstains: {error}"}
    except InputError as error:
        return {("answer",): f"refused: {error}"}
    start: dict[str, Any] = answer.get("start") or {}
    found: dict[tuple[str, ...], str] = {}
    if layout := start.get("layout"):
        found["layout",] = "start: " + ", ".join(f"{key} {value}" for key, value in layout.items())
    for item in start.get("settings", ()):
        role = f"{item['role']}: " if item["role"] else ""
        found["start", role, item["key"]] = f"start: {role}{item['key']} {item['value']}"
    for item in answer.get("changes", ()):
        what = " ".join(f"{setting['key']} {setting['value']}" for setting in item["settings"])
        condition = f" if {item['if']}" if item["if"] else ""
        found["change", item["strategy"], what] = f"to test: {item['title']}: {what}{condition}"
    for item in answer.get("not_here", ()):
        found[_NOT_HERE, item["strategy"]] = f"not here: {item['strategy']}: {item['because']}"
    return found


def _in_words(raw: Mapping[str, Any]) -> str:
    devices = f" x{raw['count']}" if raw.get("count") else ""
    words = [raw.get("model"), raw.get("phase"), f"on {raw.get('hardware')}{devices}"]
    words += [", ".join(f"{key} {value}" for key, value in (raw.get("shape") or {}).items())]
    return " ".join(str(word) for word in words if word)
