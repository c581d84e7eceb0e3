"""An audit of a launch: its findings, worst first, with what was taken for granted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import data
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.setting import read_value
from kg.nouns.values import Settings
from kg.terms.dialects import statement
from kg.terms.purposes import plain_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.audit import AuditRule
    from kg.nouns.entities import Problem
    from kg.nouns.values import Value
    from recommender.audit.case import AuditCase
    from recommender.audit.finding import SettingFinding
    from recommender.audit.upgrade import Upgrade


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
        """True if there is no finding above a note."""
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


@cache
def shipped_rules() -> tuple[AuditRule, ...]:
    """The rules that ship, by file and place."""
    from ingest.knowledge.audit_rules import read_audit_rules  # a question without settings parses no YAML

    names = data.files("audit", ".yaml")
    return tuple(rule for name in names for rule in read_audit_rules(data.text(name), name))


def all_rules(own: Sequence[AuditRule] = ()) -> tuple[AuditRule, ...]:
    """The shipped rules, and those of a user, which take the place of shipped ones of the same id."""
    return (*shipped_rules(), *own)


def without_costs(
    problem: Problem, case: AuditCase, findings: Sequence[SettingFinding], *, limits: bool = False
) -> Problem:
    """The problem without what only costs, and with what is to be written for values that cannot stay.

    Args:
        problem: What runs.
        case: Its launch.
        findings: On the launch.
        limits: Without its limits too: what they cost is told by that.
    """
    gone: set[str] = set()
    raised: dict[str, Value] = {}
    added: dict[str, Value] = {}
    precision = problem.workload.precision
    for item in findings:
        names = {plain_key(item.setting.key), *case.forms.get(item.setting, ())}
        if item.is_rewritten:
            for key, value in item.rewrites:
                number = read_value(value, "int")
                written = names if key == item.setting.key else {plain_key(key)}
                written |= {name.rpartition(".")[2] for name in written}
                raised |= dict.fromkeys(written, value if number is None else number)
                said = statement({key: value}, case.program).facts.get("precision")
                if (item.adds or said) and plain_key(key) not in map(plain_key, problem.current or {}):
                    added[plain_key(key)] = value if number is None else number
                precision = precision if said is None else str(said)
        elif item.is_taken_back or (limits and item.kind is FindingKind.LIMIT):
            names |= {plain_key(name) for name in item.removals}
            gone |= names | {name.rpartition(".")[2] for name in names}
            gone |= {name.removeprefix("no_") for name in names}
            precision = None if item.kind is FindingKind.PRECISION else precision
    if not gone and not raised:
        return problem
    current = {
        name: raised.get(plain_key(name), value)
        for name, value in (problem.current or {}).items()
        if plain_key(name) not in gone
    }
    work = replace(problem.workload, precision=precision)
    return replace(problem, current=Settings({**current, **added}), workload=work)
