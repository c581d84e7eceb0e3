"""Parts of entries in knowledge files: labels, facts, symptoms, relations, conditions, with their sources."""

import re
from collections.abc import Callable
from typing import TypeVar

from ingest.files.yaml_tree import Entry, Faults
from kg.errors import InputError
from kg.nouns.entities import Source
from kg.nouns.knowledge import CauseEdge, Confidence, Fact, FactKind, Relation, Symptom, VersionBound
from kg.nouns.scope import Caveat, ScopeClause
from kg.terms.conditions import Condition

T = TypeVar("T")

_TEXT_FACTS = frozenset({"compute_capability", "memory_type", "link_type", "release_year"})
_NUMERIC = re.compile(
    r".*_(bytes|bytes_per_s|flops|ops|hz|w|count|cores|units|layers|size|heads|dim|experts)"
)
"""Facts whose names promise a number; the format's other facts may be text."""
_FACT_NAME = re.compile(r"[a-z][a-z0-9_]*")

_NOBODY = Source(title="missing")
"""Stands in while the faults of a file are collected; a file with faults yields nothing."""


class EntryParts:
    """Reads what entries of one file are made of; they share its sources.

    Args:
        top: The file.
        faults: Collects what is wrong.
    """

    def __init__(self, top: Entry, faults: Faults) -> None:
        self._faults = faults
        self._sources: dict[str, Source] = {}
        table = top.entry("sources")
        for name in table.names() if table is not None else ():
            item = table.entry(name) if table is not None else None
            title = "" if item is None else item.text("title", required=True)
            if item is not None and title:
                self._sources[name] = Source(
                    title=title,
                    url=item.text("url"),
                    path=item.text("path"),
                    commit=item.text("commit"),
                    licence=item.text("licence"),
                    note=item.text("note"),
                )
                item.note_unread()

    def _labels(self, item: Entry, name: str) -> dict[str, str]:
        table = item.entry(name)
        if table is None:
            item.fault(f"{name} is missing")
            return {}
        labels = {language: table.text(language) for language in table.names()}
        if not labels:
            item.fault(f"{name} is empty", name)
        for language, text in labels.items():
            if name == "label" and ("\n" in text or "\r" in text):
                table.fault("a name with a line end", language)
            if language not in {"en", "zh"}:
                table.fault(f"language {language!r} is neither en nor zh", language)
        return labels

    def _facts(self, item: Entry) -> tuple[Fact, ...]:
        table = item.entry("facts")
        facts = []
        for name in table.names() if table is not None else ():
            for entry in table.one_or_more(name) if table is not None else ():
                fact = self._fact(name, entry)
                entry.note_unread()
                if fact is not None:
                    facts.append(fact)
        return tuple(facts)

    def _fact(self, name: str, entry: Entry) -> Fact | None:
        if not _FACT_NAME.fullmatch(name):
            entry.fault("a fact name has lower-case letters, digits and underscores")
        value: bool | int | float | str | None
        if name not in _TEXT_FACTS and _NUMERIC.fullmatch(name):
            number = entry.number("value")
            value = int(number) if number.is_integer() else number
        else:
            value = entry.scalar("value", required=True)
            if value is None:
                return None
        source = self._source(entry)
        kind = entry.choice("kind", FactKind, FactKind.CLAIMED)
        confidence = entry.choice("confidence", Confidence, Confidence.LOW)
        try:
            return Fact(
                name=name,
                value=value,
                source=source,
                kind=kind,
                confidence=confidence,
                note=entry.text("note"),
            )
        except ValueError as fault:
            entry.fault(str(fault), "value")
            return None

    def _symptom(self, entry: Entry) -> Symptom:
        softness = entry.number("softness")
        if softness < 0:
            entry.fault("softness is negative", "softness")
        return Symptom(
            metric=entry.text("metric", required=True),
            comparator=entry.text("comparator", required=True),
            threshold=entry.number("threshold"),
            softness=softness,
            unit=entry.text("unit", required=True),
            source=self._source(entry),
        )

    def _edge(self, entry: Entry) -> CauseEdge:
        return CauseEdge(
            cause=entry.text("cause", required=True),
            confidence=entry.choice("confidence", Confidence, Confidence.LOW),
            source=self._source(entry),
        )

    def _relation(self, entry: Entry) -> Relation:
        targets = [name for name in ("strategy", "bottleneck") if name in entry]
        return Relation(
            target=entry.text(targets[0] if targets else "strategy", required=True),
            source=self._source(entry),
        )

    def _clause(self, entry: Entry) -> ScopeClause:
        text = entry.text("when", required=True)
        try:
            if text:
                Condition(text)
        except InputError as fault:
            entry.fault(f"{fault}; {fault.hint}" if fault.hint else str(fault), "when")
        return ScopeClause(condition=text, source=self._source(entry), reason=entry.text("because"))

    def _caveat(self, entry: Entry) -> Caveat:
        return Caveat(text=entry.text("text", required=True), source=self._source(entry))

    def _version(self, entry: Entry) -> VersionBound:
        return VersionBound(
            software=entry.text("software", required=True),
            version=entry.text("version", required=True),
            source=self._source(entry),
        )

    def _each(self, item: Entry, name: str, read: Callable[[Entry], T]) -> tuple[T, ...]:
        found = []
        for entry in item.entries(name):
            try:
                found.append(read(entry))
            except ValueError as fault:
                entry.fault(str(fault))
            entry.note_unread()
        return tuple(found)

    def _source(self, entry: Entry) -> Source:
        name = entry.text("source", required=True)
        return self._named_source(entry, name, "source") if name else _NOBODY

    def _named_source(self, entry: Entry, name: str, field: str) -> Source:
        known = self._sources.get(name)
        if known is None and name:
            entry.fault(f"source {name!r} is not in the sources of this file", field)
        return known or _NOBODY
