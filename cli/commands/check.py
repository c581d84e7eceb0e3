"""``tunegraph check``: what the settings of a launch script cost, and what an upgrade makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace, with_defaults
from cli.options import JsonOption
from cli.output import say
from cli.problem_options import ProblemOptions, asks
from data import __version__
from kg.errors import InputError

if TYPE_CHECKING:
    from kg.nouns.audit import AuditRule
    from recommender.audit.audit import Audit

RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="Rules of your own beside those that ship (docs/check.md).")
]
ToOption = Annotated[
    str, typer.Option("--to", help="What another release makes of the script, as vllm=0.33.")
]
FINDINGS = 1
"""Exit code where something was found."""


@asks("file", "operator", "from_command", "bottleneck", "smi", "trace")
def check(
    context: typer.Context,
    script: Annotated[str, typer.Argument(help="A launch script, read and never run; - for standard input.")],
    question: ProblemOptions,
    rules: RulesOption = None,
    to: ToOption = "",
    sarif: Annotated[bool, typer.Option("--sarif", help="For code scanners and pipelines.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge a launch script: what its settings cost, what to write.

    Example: tunegraph check serve.sh --hardware 910B3
    """
    from cli import output
    from cli.diagnosis.finding_text import launch_settings  # as the help of all commands needs none of it

    if sarif and as_json:
        raise InputError("--sarif and --json are two forms", hint="leave one out")
    own = _own_rules(rules)
    target = _target(to)
    asked = replace(question, from_command=script)
    raw = asked.raw()
    running = launch_settings(script, question.server)
    with open_workspace(context) as workspace:
        raw = with_defaults(context, workspace, raw)
        audit = workspace.launches.check(raw, running, rules=own, to=target)
    content = {"path": script, **audit.to_json()}
    if sarif:
        from recommender.report.sarif import audit_sarif

        output.as_foreign_json(audit_sarif(content, __version__))
    elif as_json:
        output.as_json(content)
    elif audit.upgrade is not None:
        from cli.diagnosis.finding_text import show_upgrade

        show_upgrade(script, audit.upgrade)
    else:
        _show(script, audit)
    if not audit.is_clean if audit.upgrade is None else audit.upgrade.breaks:
        raise typer.Exit(FINDINGS)


def _target(text: str) -> tuple[str, str] | None:
    """The program and the release that are asked about.

    Raises:
        InputError: It is no such pair.
    """
    program, equals, version = text.partition("=")
    if not text:
        return None
    if not (program.strip() and equals and version.strip()):
        raise InputError(f"--to {text!r}: no program with a release", hint="such as --to vllm=0.33")
    return program.strip(), version.strip()


def _own_rules(path: Path | None) -> tuple[AuditRule, ...]:
    """The rules of a user's file.

    Raises:
        CaseFormatError: All that is wrong with it.
    """
    if path is None:
        return ()
    from ingest.knowledge.audit_rules import read_audit_rules
    from ingest.questions.launches.launch_facts import read_text

    return read_audit_rules(read_text(path), str(path))


def _show(script: str, audit: Audit) -> None:
    from cli import output
    from cli.diagnosis.finding_text import show_finding

    for note in audit.notes:
        output.note(note)
    release = f"{audit.case.program} {audit.case.version}".strip()
    assumed = "" if audit.case.is_told or not release else " (assumed)"
    what = f"{release}{assumed}" + (f" on {audit.place}" if audit.place else "")
    count = len(audit.findings)
    found = f"{count} finding{'s' * (count > 1)}" if count else "nothing found"
    say(f"{script}: {found}" + (f", {what}" if what else ""))
    say()
    for place, item in enumerate(audit.findings, 1):
        show_finding(place, item)
