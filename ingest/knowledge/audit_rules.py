"""Rules of the audit, shipped ones and those of a user, with every fault of a file and its line."""

from ingest.files.yaml_tree import Entry, Faults, parse
from ingest.knowledge.parts import EntryParts
from kg.errors import CaseFormatError, InputError
from kg.nouns.audit import AuditRule, FindingKind, FindingLevel
from kg.nouns.release import release_key
from kg.terms.conditions import Condition
from kg.terms.meanings import programs
from kg.terms.setting_registry import softwares


def read_audit_rules(text: str, path: str) -> tuple[AuditRule, ...]:
    """The rules of a file (docs/check.md).

    Raises:
        CaseFormatError: All faults of the file, with their lines.
    """
    faults = Faults()
    rules: list[AuditRule] = []
    top = parse(text, faults)
    if top is not None:
        reader = _Reader(top, faults)
        known: set[str] = set()
        for item in top.entries("rules"):
            rule = reader.rule(item)
            if rule.id in known:
                item.fault(f"{rule.id} is there twice", "id")
            known.add(rule.id)
            rules.append(rule)
        top.note_unread()
        if not rules and not faults.all:
            faults.add(1, "no rules are here")
    if faults.all:
        raise CaseFormatError(path, faults.all, hint="docs/check.md describes the form")
    return tuple(rules)


class _Reader(EntryParts):
    """Reads the rules of one file."""

    def rule(self, item: Entry) -> AuditRule:
        """One rule, with a fault for each field that is wrong."""
        identifier = item.text("id", required=True)
        item.rename(f"rules {identifier}")
        rule = AuditRule(
            id=identifier,
            kind=item.choice("kind", FindingKind, FindingKind.COST),
            level=item.choice("level", FindingLevel, FindingLevel.NOTE),
            settings=item.texts("settings"),
            programs=item.texts("programs"),
            since=self._release(item, "since"),
            until=self._release(item, "until"),
            values=item.texts("values"),
            fine=item.texts("fine"),
            below=item.number("below") if "below" in item else None,
            above=item.number("above") if "above" in item else None,
            when=self._condition(item, "when"),
            unless=self._condition(item, "unless"),
            spare=item.flag("spare"),
            says=self._labels(item, "says"),
            cost=self._labels(item, "cost") if "cost" in item else {},
            right=self._labels(item, "right") if "right" in item else {},
            remedy=item.text("remedy"),
            removes=item.texts("removes"),
            source=self._source(item),
        )
        if not rule.settings:
            item.fault("settings are missing")
        for name in rule.programs:
            if name not in softwares() and name not in programs():
                item.fault(f"no settings of a program named {name!r} are known", "programs")
        item.note_unread()
        return rule

    def _release(self, item: Entry, name: str) -> str:
        text = item.text(name)
        try:
            if text:
                release_key(text)
        except ValueError as fault:
            item.fault(str(fault), name)
            return ""
        return text

    def _condition(self, item: Entry, name: str) -> str:
        text = item.text(name)
        try:
            if text:
                Condition(text)
        except InputError as fault:
            item.fault(f"{fault}; {fault.hint}" if fault.hint else str(fault), name)
            return ""
        return text
