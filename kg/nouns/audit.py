"""A rule of the audit: a setting that costs where it stands in a launch, with where it is right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.entities import Source
from kg.nouns.release import release_key


class FindingKind(StrEnum):
    """Kinds of fault in a setting that runs."""

    REFUSED = "refused"
    """The program does not start with it."""
    IGNORED = "ignored"
    """The release does not read it."""
    CONTRADICTION = "contradiction"
    """It undoes another setting of the same launch."""
    DEBUGGING = "debugging"
    """It is for looking for a fault, and was left on."""
    COST = "cost"
    """It switches off what makes the program fast."""
    LIMIT = "limit"
    """It bounds the work below what is asked, or below what the device holds."""
    OFFLOAD = "offload"
    """It moves away, or computes again, what the memory holds."""
    PRECISION = "precision"
    """Its numbers are wider than the work needs."""


class FindingLevel(StrEnum):
    """Weights of findings, the heaviest first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRule:
    """A setting that costs, with the release and the place where it does.

    Attributes:
        id: Its name.
        kind: What is wrong with it.
        level: How much it matters.
        settings: Spellings of the setting; any of them counts.
        programs: Programs that it is of; empty for what any program reads.
        since: First release of the program that it is true of; empty for all.
        until: First release that it is no more true of; empty for none.
        values: Values that cost, as text; empty with no bound means any.
        fine: Values that do not.
        below: Numbers below it cost; None for no such bound.
        above: Numbers above it cost.
        when: Condition that must hold; empty for none.
        unless: Condition under which it is right; empty for none.
        spare: It costs only where the work fits the memory without it.
        says: What it switches off or does, by language.
        cost: What that costs, by language.
        right: Where it is right, by language.
        remedy: Setting to write in its place, as ``"--dtype auto"``, or another value of it, as ``"4"``;
            empty to take it away.
        removes: Settings to take away where that is not the setting alone; empty for the setting.
        source: The document that states it.
    """

    id: str
    kind: FindingKind
    level: FindingLevel
    settings: tuple[str, ...]
    programs: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    values: tuple[str, ...] = ()
    fine: tuple[str, ...] = ()
    below: float | None = None
    above: float | None = None
    when: str = ""
    unless: str = ""
    spare: bool = False
    says: Mapping[str, str] = field(default_factory=dict)
    cost: Mapping[str, str] = field(default_factory=dict)
    right: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""
    removes: tuple[str, ...] = ()
    source: Source

    def is_of(self, programs: Mapping[str, str]) -> bool:
        """True if it applies to one of these programs, each with its release."""
        if not self.programs:
            return True
        return any(self._holds_in(programs[name]) for name in self.programs if name in programs)

    def _holds_in(self, release: str) -> bool:
        if not release:
            return True
        key = release_key(release)
        return not (self.since and key < release_key(self.since)) and not (
            self.until and key >= release_key(self.until)
        )

    def costs(self, value: str) -> bool:
        """True if a value of the setting is one that costs."""
        text = plain_value(value)
        if text in {plain_value(item) for item in self.fine}:
            return False
        if self.below is None and self.above is None:
            return not self.values or text in {plain_value(item) for item in self.values}
        try:
            number = float(text)
        except ValueError:
            return False
        return (self.below is None or number < self.below) and (self.above is None or number > self.above)


def plain_value(value: str) -> str:
    """A value as it is compared: lower case, a truth as ``1`` or ``0``."""
    text = value.strip().lower()
    return {"true": "1", "on": "1", "yes": "1", "false": "0", "off": "0", "no": "0"}.get(text, text)
