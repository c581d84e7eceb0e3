"""Knowledge files (docs/knowledge-format.md) to the nouns of the knowledge, with every fault and its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ingest.files.yaml_tree import Entry, Faults, parse
from kg.errors import CaseFormatError, InputError
from kg.nouns.entities import Source
from kg.nouns.framework import Framework
from kg.nouns.knowledge import (
    WORKS,
    Assignment,
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
    Symptom,
    VersionBound,
)
from kg.nouns.scope import Caveat, ScopeClause
from kg.terms.conditions import Condition
from kg.terms.phases import SCOPES

if TYPE_CHECKING:
    from collections.abc import Callable

Noun: TypeAlias = (
    HardwareProfile | Model | ModelFamily | Bottleneck | Cause | Strategy | FaultPattern | Framework
)
N = TypeVar("N", bound=Noun)
T = TypeVar("T")

_TEXT_FACTS = frozenset({"compute_capability", "memory_type", "link_type", "release_year"})
_NUMERIC = re.compile(
    r".*_(bytes|bytes_per_s|flops|ops|hz|w|count|cores|units|layers|size|heads|dim|experts)"
)
"""Facts whose names promise a number; the format's other facts may be text."""
_FACT_NAME = re.compile(r"[a-z][a-z0-9_]*")

ARCHITECTURES = (
    "encoder",
    "decoder",
    "encoder-decoder",
    "moe-decoder",
    "vision",
    "diffusion",
    "recommendation",
    "audio",
    "multimodal",
    "other",
)
STRATEGY_KINDS = ("published", "documented", "claimed")
ACCURACIES = ("unchanged", "may-change", "unknown")

_SLUG = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")


def read_knowledge(text: str, path: str) -> list[Noun]:
    """The nouns of a knowledge file.

    Args:
        text: The file's content.
        path: Its name, for the message.

    Raises:
        CaseFormatError: All faults of the file, with their lines.
    """
    faults = Faults()
    nouns: list[Noun] = []
    top = parse(text, faults)
    if top is not None:
        reader = _Reader(top, faults)
        for section, read in reader.sections().items():
            for item in top.entries(section):
                noun = reader.noun(item, section, read)
                if noun is not None:
                    nouns.append(noun)
        top.done()
        if not nouns and not faults.all:
            faults.add(1, f"none of {', '.join(reader.sections())} is here")
    if faults.all:
        raise CaseFormatError(path, faults.all, hint="docs/knowledge-format.md describes the form")
    return nouns


class _Reader:
    """Reads the sections of one file, which share its sources."""

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
                item.done()

    def sections(self) -> dict[str, Callable[[Entry, str], Noun]]:
        """The reader of each section's items."""
        return {
            "hardware": self._hardware,
            "models": self._model,
            "families": self._family,
            "bottlenecks": self._bottleneck,
            "causes": self._cause,
            "strategies": self._strategy,
            "faults": self._fault,
            "frameworks": self._framework,
        }

    def noun(self, item: Entry, section: str, read: Callable[[Entry, str], N]) -> N | None:
        """One item; None, with faults, if it is invalid."""
        before = len(self._faults.all)
        identifier = item.text("id", required=True)
        if identifier:
            item.rename(f"{section} {identifier}")
            if not _SLUG.fullmatch(identifier):
                item.fault("an id has lower-case letters, digits, hyphens and dots", "id")
        try:
            noun = read(item, identifier)
        except ValueError as fault:
            item.fault(str(fault))
            return None
        item.done()
        return noun if len(self._faults.all) == before else None

    def _hardware(self, item: Entry, identifier: str) -> HardwareProfile:
        level = item.choice("level", Level, Level.DEVICE)
        broader = item.text("broader") or None
        if broader is None and level is not Level.VENDOR:
            item.fault("broader is missing: only a vendor has nothing above it")
        contains = item.entry("contains")
        device, count = "", None
        if contains is not None:
            device, count = contains.text("device", required=True), contains.count("count")
            contains.done()
        return HardwareProfile(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            level=level,
            broader=broader,
            facts=self._facts(item),
            ambiguous=item.flag("ambiguous"),
            assumed=item.text("assumed"),
            device=device,
            device_count=count,
        )

    def _model(self, item: Entry, identifier: str) -> Model:
        return Model(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            family=item.text("family", required=True),
            architecture=_one_of(item, "architecture", ARCHITECTURES),
            facts=self._facts(item),
        )

    def _family(self, item: Entry, identifier: str) -> ModelFamily:
        return ModelFamily(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
        )

    def _bottleneck(self, item: Entry, identifier: str) -> Bottleneck:
        return Bottleneck(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            broader=item.text("broader") or None,
            symptoms=self._each(item, "symptoms", self._symptom),
            caused_by=self._each(item, "caused_by", self._edge),
        )

    def _cause(self, item: Entry, identifier: str) -> Cause:
        return Cause(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            source=self._source(item),
            caused_by=self._each(item, "caused_by", self._edge),
        )

    def _strategy(self, item: Entry, identifier: str) -> Strategy:
        phases = item.texts("phases")
        for phase in phases:
            if phase and phase not in SCOPES:
                item.fault(f"phase {phase!r} is none of {', '.join(SCOPES)}", "phases")
        accuracy = _one_of(item, "accuracy", ACCURACIES) if "accuracy" in item else "unknown"
        sources = item.texts("sources")
        if not sources:
            item.fault("sources are missing")
        return Strategy(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            kind=_one_of(item, "kind", STRATEGY_KINDS),
            phases=phases,
            families=item.texts("families"),
            hardware=item.texts("hardware"),
            applies_when=self._each(item, "applies_when", self._clause),
            caveats=self._each(item, "caveats", self._caveat),
            sets=self._each(item, "sets", _assignment),
            work=_one_of(item, "work", tuple(WORKS)) if "work" in item else "",
            mitigates=self._each(item, "mitigates", self._relation),
            requires=self._each(item, "requires", self._relation),
            conflicts_with=self._each(item, "conflicts_with", self._relation),
            contraindicated_by=self._each(item, "contraindicated_by", self._relation),
            since=self._each(item, "since", self._version),
            removed=self._each(item, "removed", self._version),
            accuracy=accuracy,
            sources=tuple(self._named_source(item, name, "sources") for name in sources),
        )

    def _framework(self, item: Entry, identifier: str) -> Framework:
        return Framework(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            phases=item.texts("phases"),
            hardware=item.texts("hardware"),
            stack=item.texts("stack"),
            sources=tuple(self._named_source(item, name, "sources") for name in item.texts("sources")),
        )

    def _fault(self, item: Entry, identifier: str) -> FaultPattern:
        codes, patterns = item.texts("codes"), item.texts("patterns")
        if not codes and not patterns:
            item.fault("neither codes nor patterns: nothing to know it by")
        return FaultPattern(
            id=identifier,
            labels=self._labels(item, "label"),
            aliases=item.texts("aliases"),
            definition=item.text("definition"),
            codes=codes,
            patterns=patterns,
            cause=self._labels(item, "cause"),
            remedy=self._labels(item, "remedy"),
            strategies=item.texts("strategies"),
            source=self._source(item),
            confidence=item.choice("confidence", Confidence, Confidence.LOW),
        )

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
                entry.done()
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
            entry.done()
        return tuple(found)

    def _source(self, entry: Entry) -> Source:
        name = entry.text("source", required=True)
        return self._named_source(entry, name, "source") if name else _NOBODY

    def _named_source(self, entry: Entry, name: str, field: str) -> Source:
        known = self._sources.get(name)
        if known is None and name:
            entry.fault(f"source {name!r} is not in the sources of this file", field)
        return known or _NOBODY


_NOBODY = Source(title="missing")
"""Stands in while the faults of a file are collected; a file with faults yields nothing."""


def _assignment(entry: Entry) -> Assignment:
    return Assignment(
        parameter=entry.text("parameter", required=True),
        value=entry.scalar("value", required=True),
        flag=entry.text("flag"),
        environment=entry.flag("environment"),
        carrier=entry.text("carrier"),
        software=entry.text("software"),
    )


def _one_of(item: Entry, name: str, choices: tuple[str, ...]) -> str:
    value = item.text(name, required=True)
    if value and value not in choices:
        item.fault(f"{name} {value!r} is none of {', '.join(choices)}", name)
    return value
