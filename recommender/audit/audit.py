"""An audit of a launch: its findings, worst first, with what was taken for granted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.values import Settings
from kg.terms.purposes import plain_key
from recommender.audit.rules import shipped_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.audit import AuditRule
    from kg.nouns.entities import Problem
    from recommender.audit.case import AuditCase
    from recommender.audit.finding import SettingFinding
    from recommender.audit.upgrade import Upgrade

_TAKEN_BACK = frozenset({FindingKind.COST, FindingKind.DEBUGGING, FindingKind.OFFLOAD, FindingKind.PRECISION})
"""Kinds that a start is without where they are errors; a warning leaves the choice to the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An audit of a launch.

    Attributes:
        case: What was looked at.
        findings: Worst first.
        place: The hardware in words; empty where it is not known.
        notes: What limits it.
        upgrade: What another release makes of the launch; None where none was asked about.
    """

    case: AuditCase
    findings: tuple[SettingFinding, ...] = ()
    place: str = ""
    notes: tuple[str, ...] = ()
    upgrade: Upgrade | None = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found that matters."""
        return not any(item.level is not FindingLevel.NOTE for item in self.findings)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "program": self.case.program or None,
            "release": self.case.version or None,
            "release_told": self.case.is_told,
            "hardware": self.place or None,
            "settings": len(self.case.settings),
            "clean": self.is_clean,
            "findings": [item.to_json() for item in self.findings],
            "notes": list(self.notes),
            **({} if self.upgrade is None else {"upgrade": self.upgrade.to_json()}),
        }


def all_rules(own: Sequence[AuditRule] = ()) -> tuple[AuditRule, ...]:
    """The shipped rules, and those of a user, which take the place of shipped ones of the same id."""
    return (*shipped_rules(), *own)


def without_costs(problem: Problem, case: AuditCase, findings: Sequence[SettingFinding]) -> Problem:
    """The problem without the settings that only cost: what a start is made for.

    Args:
        problem: What runs.
        case: Its launch.
        findings: On the launch.
    """
    gone: set[str] = set()
    precision = problem.workload.precision
    for item in findings:
        if item.level is not FindingLevel.ERROR or item.kind not in _TAKEN_BACK:
            continue
        for name in (plain_key(item.setting.key), *case.forms[item.setting]):
            gone |= {name, name.rpartition(".")[2], name.removeprefix("no_")}
        precision = None if item.kind is FindingKind.PRECISION else precision
    if not gone:
        return problem
    current = {name: value for name, value in (problem.current or {}).items() if plain_key(name) not in gone}
    work = replace(problem.workload, precision=precision)
    return replace(problem, current=Settings(current), workload=work)
