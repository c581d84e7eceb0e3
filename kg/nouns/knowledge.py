"""The nouns of tuning knowledge: hardware, models, bottlenecks, causes, strategies, faults.

Ids are slugs, unique within their class; every statement carries the source it rests on.
"""

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.entities import Source
from kg.nouns.release import release_order
from kg.nouns.scope import Caveat, ScopeClause
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value, show


class FactKind(StrEnum):
    """The kind of evidence behind a fact, best first."""

    MEASURED = "measured"
    DOCUMENTED = "documented"
    CONFIG = "config"
    DERIVED = "derived"
    SECONDARY = "secondary"
    CLAIMED = "claimed"


class Confidence(StrEnum):
    """The confidence in a statement."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Level(StrEnum):
    """The level of a node in the hardware tree."""

    VENDOR = "vendor"
    ARCHITECTURE = "architecture"
    FAMILY = "family"
    DEVICE = "device"
    SERVER = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One sourced property.

    Attributes:
        name: Property with its SI unit in the name, such as ``"memory_bytes"``.
        value: Number or text.
        source: Its origin.
        kind: Kind of evidence in the source.
        confidence: Confidence in it.
        note: Conditions.
    """

    name: str
    value: Value
    source: Source
    kind: FactKind
    confidence: Confidence
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a number that is not positive and finite: unknown is left out, never zero."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            if not (math.isfinite(self.value) and self.value > 0):
                raise ValueError(f"{self.name}: {self.value} is not a positive number")
        elif self.value is None or self.value == "":
            raise ValueError(f"{self.name}: no value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """The common part of all nodes of the knowledge: id, labels, aliases and definition.

    Attributes:
        id: Slug, unique within its class.
        labels: Preferred name by language (``en``, ``zh``).
        aliases: Other names it goes by.
        definition: One sentence; empty if the label says it.
    """

    id: str
    labels: Mapping[str, str]
    aliases: tuple[str, ...] = ()
    definition: str = ""

    @property
    def label(self) -> str:
        """The English name."""
        return self.labels.get("en", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareProfile(Concept):
    """A node of the hardware tree.

    Attributes:
        level: Vendor, architecture, family, device or server.
        broader: Id of the node above; None for a vendor.
        facts: Properties by name.
        ambiguous: A question that names only this node must choose one of its devices.
        assumed: Device meant by a question that names only this node; empty if none is assumed.
        device: For a server, the id of what it holds.
        device_count: For a server, how many.
    """

    level: Level
    broader: str | None = None
    facts: tuple[Fact, ...] = ()
    ambiguous: bool = False
    assumed: str = ""
    device: str = ""
    device_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily(Concept):
    """A family of models, such as LLaMA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Concept):
    """A model and its architecture facts.

    Attributes:
        family: Id of its family.
        architecture: Encoder, decoder, moe-decoder, vision and so on.
        facts: Properties by name.
    """

    family: str
    architecture: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """A metric with a soft threshold that shows a bottleneck.

    Attributes:
        metric: The metric it is read from.
        comparator: ``"above"`` or ``"below"``.
        threshold: Value at which it is as likely as not, in ``unit``.
        softness: Spread of the published thresholds, in ``unit``.
        unit: SI symbol, or ``"1"``.
        source: Origin of the statement.
    """

    metric: str
    comparator: str
    threshold: float
    softness: float
    unit: str
    source: Source

    def __post_init__(self) -> None:
        """Refuse a comparison that is none."""
        if self.comparator not in {"above", "below"}:
            raise ValueError(f"{self.metric}: comparator {self.comparator!r} is neither above nor below")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseEdge:
    """One thing causes another.

    Attributes:
        cause: Id of the bottleneck or cause behind it.
        confidence: Confidence in the edge.
        source: Origin of the statement.
    """

    cause: str
    confidence: Confidence
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck(Concept):
    """A named pattern of lost time, memory or energy.

    Attributes:
        broader: Id of the more general bottleneck; None for the roots.
        symptoms: Metrics that show it.
        caused_by: Its possible causes.
    """

    broader: str | None = None
    symptoms: tuple[Symptom, ...] = ()
    caused_by: tuple[CauseEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause(Concept):
    """A cause of a bottleneck that is none itself: a setting, code, the environment."""

    source: Source
    caused_by: tuple[CauseEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One parameter that a strategy sets.

    Attributes:
        parameter: Canonical name.
        value: The value it is set to.
        flag: As written on the command line; empty if it is none.
        environment: It is an environment variable.
        carrier: Flag or file whose JSON it stands in, such as ``"--additional-config"``; ``parameter`` is
            then the path of the field, with dots. Empty if it is none.
        software: Id of the software it belongs to; empty if any.
    """

    parameter: str
    value: Value
    flag: str = ""
    environment: bool = False
    carrier: str = ""
    software: str = ""

    @property
    def key(self) -> str:
        """Its key in the registry: a flag, a variable, or the path of a field with what carries it."""
        inside = f"{self.carrier.lstrip('-').replace('-', '_')}.{self.parameter}"
        return inside if self.carrier.startswith("-") else self.flag or self.parameter

    @property
    def text(self) -> str:
        """The assignment as people paste it into a shell: an ``export``, a flag, or ``name=value``."""
        value = "" if self.value is None else show(self.value)
        word = shlex.quote(value) if value else ""
        if self.environment:
            return f"export {self.parameter}={word}"
        if self.carrier:
            field: Value = self.value
            for name in reversed(self.parameter.split(".")):
                field = {name: field}  # type: ignore[assignment]  # nested objects, for JSON alone
            return (
                f"{self.carrier} {shlex.quote(json.dumps(field))}"
                if self.carrier.startswith("-")
                else (f"{self.carrier}: {self.parameter}={value}")
            )
        if self.flag:
            # A flag that is merely present, and one that brings its value along.
            bare = self.value is None or self.value is True or self.flag.endswith(value)
            return self.flag if bare else f"{self.flag} {word}"
        return self.parameter if self.value is None else f"{self.parameter}={word}"

    @property
    def place(self) -> SettingPlace:
        """The place where it is written; code, if it is neither flag nor variable nor field."""
        if self.environment:
            return SettingPlace.ENV
        if self.carrier:
            return SettingPlace.YAML if self.carrier.endswith(".yml") else SettingPlace.JSON
        return SettingPlace.FLAG if self.flag else SettingPlace.CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A sourced relation of a strategy to another node.

    Attributes:
        target: Id of the strategy or bottleneck.
        source: The document that states it.
    """

    target: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBound:
    """The first or last version of a software for which something holds."""

    software: str
    version: str
    source: Source


WORKS = {
    "code": "change the code of the model or the kernel",
    "data": "prepare data, a checkpoint or a draft model",
    "layout": "lay devices and servers out",
    "host": "set up the operating system or the device driver",
    "release": "move to a release or install a package",
    "measure": "find the value by measurement",
    "unset": "take a setting away",
    "operation": "run the job at another time or load",
}
"""Kinds of work that a strategy without settings takes."""

HYPOTHESIS, CONFIRMED, REFUTED = "hypothesis", "confirmed", "refuted"
"""Kinds of strategies that were proposed here: not tested yet, found better by a test, found no better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy(Concept):
    """A way to tune, and what it goes with.

    Attributes:
        kind: How it is known: published, documented or claimed; or what became of one that was proposed here.
        phases: Training, prefill, decode, inference, kernel; empty means any.
        families: Model families or architectures; empty means any.
        hardware: Nodes of the hardware tree; empty means any.
        applies_when: Conditions that must all hold, besides phases, families and hardware.
        caveats: What to know of it that decides nothing.
        sets: Parameters it sets.
        work: The kind of work that it takes where no setting does it, one of ``WORKS``; empty if one does.
        mitigates: Bottlenecks it is for.
        requires: Strategies or conditions it needs.
        conflicts_with: Strategies it cannot be combined with.
        contraindicated_by: Bottlenecks, strategies or conditions with which it does harm.
        since: First versions that have it.
        removed: First versions that lack it again.
        accuracy: ``"unchanged"``, ``"may-change"`` or ``"unknown"``.
        sources: Origins of its description.
        parents: Ids of the strategies that it was made from.
    """

    kind: str
    phases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    applies_when: tuple[ScopeClause, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    sets: tuple[Assignment, ...] = ()
    work: str = ""
    mitigates: tuple[Relation, ...] = ()
    requires: tuple[Relation, ...] = ()
    conflicts_with: tuple[Relation, ...] = ()
    contraindicated_by: tuple[Relation, ...] = ()
    since: tuple[VersionBound, ...] = ()
    removed: tuple[VersionBound, ...] = ()
    accuracy: str = "unknown"
    sources: tuple[Source, ...] = ()
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be: a release that drops it before the one that brings it."""
        for brought in self.since:
            for dropped in self.removed:
                first, last = release_order(brought.version), release_order(dropped.version)
                if brought.software == dropped.software and first and last and last <= first:
                    found = f"removed in {dropped.version}, before it came in {brought.version}"
                    raise ValueError(f"{dropped.software}: {found}")

    @property
    def needs_code(self) -> bool:
        """True if it takes other code of the model or the kernel."""
        return self.work == "code" or any(item.place is SettingPlace.CODE for item in self.sets)

    @property
    def configuration(self) -> Settings:
        """The settings of the strategy as a configuration."""
        return Settings({item.parameter: item.value for item in self.sets})


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPattern(Concept):
    """A known error: how it looks in a log, why, and what to do.

    Attributes:
        codes: Error codes.
        patterns: Literal texts seen in a log.
        cause: Reason of the fault, by language.
        remedy: Repair of the fault, by language.
        strategies: Ids of strategies that help.
        source: Origin of the statement.
        confidence: Confidence in it.
    """

    codes: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    cause: Mapping[str, str] = field(default_factory=dict)
    remedy: Mapping[str, str] = field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    source: Source
    confidence: Confidence
