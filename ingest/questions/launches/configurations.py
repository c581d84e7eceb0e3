"""Files of settings that are given without the command that reads them, and that command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.files.content import ContentError
from ingest.questions.launches.manifests import chart_commands, is_manifest
from ingest.questions.launches.program import (
    MATCHING_OPTIONS,
    POSITIONAL,
    ProgramSigns,
    launcher_rows,
    program_signs,
)
from ingest.questions.launches.script import ShellCommand
from kg.nouns.setting import SettingPlace
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry, softwares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.launch_files import Beside

_LOOKS = re.compile(r"(?:\s*(?:#.*|---)\n)*\s*(?:\{|[\w-]+[ ]*:(?:\s|$))")
"""Beginning of a table of settings: a brace, or a key, behind comments."""
_SCRIPT = "train.py"
"""Name of the user's own script where a program has no command of its own."""


def own_name(text: str, place: str = "") -> str:
    """The name by which a command that is made for a text of settings names it: its own, where it has one."""
    is_file = place.endswith((".json", ".yaml", ".yml"))
    return place if is_file else "settings.json" if text.lstrip().startswith("{") else "settings.yaml"


def with_itself(text: str, beside: Beside, place: str = "") -> Beside:
    """The files beside a text, with the text among them."""
    return lambda name: text if name == own_name(text, place) else beside(name)


def configuration_command(text: str, place: str) -> list[ShellCommand]:
    """The command that reads a text as the settings of its program; none for another text."""
    content = _content(text)
    if not content:
        return []
    itself = own_name(text, place)
    for name, row in launcher_rows().items():
        if set(row.get("sections", ())) & content.keys():
            words = (name, *row.get("words", ()), f"--{row['file'][0]}", itself, _SCRIPT)
            return [ShellCommand(words=words)]
    signs = next((one for one in program_signs().values() if _is_of(one, content)), None)
    if signs is None:
        return []
    command = signs.commands[0].split() if signs.commands else ("python", _SCRIPT)
    option = () if POSITIONAL in signs.file else (f"--{signs.file[0]}",)
    return [ShellCommand(words=(*command, *option, itself))]


def is_launch(text: str, place: str) -> bool:
    """True if a file is a launch; the file of a question is a table, too, of other keys."""
    if place.endswith((".json", ".yaml", ".yml")) or _LOOKS.match(text):
        return bool(is_manifest(text) or chart_commands(text) or configuration_command(text, place))
    return bool(text.strip())


def _content(text: str) -> Mapping[str, object]:
    """A text as a table of settings, by their names with ``_``; none where it is something else."""
    from ingest.files.safe_yaml import load_yaml  # a question without files needs no parser

    if not _LOOKS.match(text):
        return {}
    try:
        content = load_yaml(text.encode())
    except ContentError:
        return {}
    return (
        {str(key).replace("-", "_"): item for key, item in content.items()}
        if isinstance(content, dict)
        else {}
    )


def _is_of(signs: ProgramSigns, content: Mapping[str, object]) -> bool:
    """True if a table holds settings of a program that reads files: by their names, or by its registry."""
    names = content.keys()
    if not signs.file or not names:
        return False
    if names & {*signs.sections, *signs.alone} or len(names & {*signs.options}) >= MATCHING_OPTIONS:
        return True
    if signs.reader != "server" or signs.id not in softwares() or len(names) < MATCHING_OPTIONS:
        return False
    release = registry(signs.id).at("")
    answers = (
        release.look_up(f"--{name.replace('_', '-')}", SettingPlace.FLAG, suggest=False) for name in names
    )
    known = {plain_key(answer.setting.key) for answer in answers if answer.setting is not None}
    return known == names  # in full: a file abbreviates nothing
