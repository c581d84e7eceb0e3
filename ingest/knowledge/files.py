"""Knowledge files (docs/knowledge-format.md) to the nouns of the knowledge, with every fault and its line."""

import re
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from ingest.files.yaml_tree import Entry, Faults, parse
from ingest.knowledge.parts import EntryParts
from kg.errors import CaseFormatError
from kg.nouns.framework import Framework
from kg.nouns.knowledge import (
    WORKS,
    Assignment,
    Bottleneck,
    Cause,
    Confidence,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Strategy,
)
from kg.terms.phases import SCOPES

Noun: TypeAlias = (
    HardwareProfile | Model | ModelFamily | Bottleneck | Cause | Strategy | FaultPattern | Framework
)
N = TypeVar("N", bound=Noun)

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
        top.note_unread()
        if not nouns and not faults.all:
            faults.add(1, f"none of {', '.join(reader.sections())} is here")
    if faults.all:
        raise CaseFormatError(path, faults.all, hint="docs/knowledge-format.md describes the form")
    return nouns


class _Reader(EntryParts):
    """Reads the sections of one file."""

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
        item.note_unread()
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
            contains.note_unread()
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
