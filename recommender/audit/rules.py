"""The rules of the audit: those that ship, and those of a user."""

from __future__ import annotations

from functools import cache

import data
from ingest.knowledge.audit_rules import read_audit_rules
from kg.nouns.audit import AuditRule

FOLDER = "audit"


@cache
def shipped_rules() -> tuple[AuditRule, ...]:
    """The rules that ship, by file and place."""
    return tuple(
        rule for name in data.files(FOLDER, ".yaml") for rule in read_audit_rules(data.text(name), name)
    )
