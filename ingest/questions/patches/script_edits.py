"""Settings written into a launch where a person would write them, and proven. Nothing is executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.questions.launches.launch import Launch, LaunchForm, read_launches
from ingest.questions.launches.program import known_programs
from ingest.questions.patches.call_editor import CallEditor
from ingest.questions.patches.held_editor import HeldEditor, LaunchEditor, script_editor
from ingest.questions.patches.manifest_editor import BlockLaunch, ContainerLaunch, is_yaml, scalars
from ingest.questions.patches.shell_editor import NEW_LINE, SettingEdit
from kg.errors import InputError

_COPIED = "--format prints the start, to be copied there"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEdits:
    """Settings to write into a script.

    Attributes:
        variables: Values of environment variables by name.
        flags: The words of the value by flag, with its dashes; none for a flag without one.
        fields: JSON objects by the flag that carries them: these fields are set, others stay.
        removed: Flags, with their values, and variables to take away.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    def each(self) -> Iterator[SettingEdit]:
        """The edits one by one."""
        yield from (SettingEdit(name=name, words=tuple(words)) for name, words in self.flags.items())
        yield from (SettingEdit(name=name, fields=content) for name, content in self.fields.items())
        yield from (SettingEdit(name=name, words=(value,)) for name, value in self.variables.items())
        yield from (SettingEdit(name=name) for name in self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedScript:
    """A script with its edits.

    Attributes:
        text: The new text.
        unwritten: Settings that could not be written, with the reason.
        commands: How many commands were read again.
        edits: How many settings were written.
        form: Kind of the text.
    """

    text: str
    form: LaunchForm = LaunchForm.SCRIPT
    unwritten: tuple[str, ...] = ()
    commands: int = 0
    edits: int = 0


def edited(text: str, edits: ScriptEdits, server: int | None = None) -> EditedScript:
    """A launch script, a manifest or a program in Python with settings written into it.

    Args:
        text: The script.
        edits: What to set.
        server: Number of the launch among several, from 1; None for the first, and for all that are like it.

    Raises:
        InputError: It launches nothing, is of a form that is read only, or has line ends of two kinds.
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    if text.count("\n") != text.count(ends):
        raise InputError("its lines end in two ways, with and without CR", hint="dos2unix makes them one")
    plain = text.replace("\r\n", "\n")
    unwritten: list[str] = []
    commands = written = 0
    launches = read_launches(plain, "")
    for number in _chosen(launches, server):
        editor = _editor(plain, number)
        tried = ((edit, editor.make(edit)) for edit in edits.each())
        unwritten += [f"{edit}: {reason}" for edit, reason in tried if reason]
        plain, commands, written = editor.text, editor.commands, written + editor.edits
    return EditedScript(
        text=plain.replace("\n", ends),
        unwritten=tuple(dict.fromkeys(unwritten)),
        commands=commands,
        edits=written,
        form=LaunchForm.MANIFEST if is_yaml(plain) else launches[0].form,
    )


def _chosen(launches: Sequence[Launch], server: int | None) -> list[int]:
    """The numbers of the launches that are edited.

    Raises:
        InputError: There is none.
    """
    if not launches:
        raise InputError("no launch stands in the script", hint=f"known: {known_programs()}")
    if server is not None:
        return [server - 1]
    first = launches[0].facts.question
    return [number for number, one in enumerate(launches) if one.facts.question == first]


def _editor(text: str, number: int) -> LaunchEditor:
    """What edits a launch of a text.

    Raises:
        InputError: Launches of its form are read only.
    """
    launch = read_launches(text, "")[number]
    match launch.form:
        case LaunchForm.MANIFEST:
            return HeldEditor(text, lambda one: ContainerLaunch(one, launch.path))
        case LaunchForm.CALL:
            return CallEditor(text, launch.path[0])
        case LaunchForm.SCRIPT:
            return _script(text, launch)
    raise InputError(f"{launch.form} is read and not written", hint=_COPIED)


def _script(text: str, launch: Launch) -> LaunchEditor:
    """What edits a launch of a script, or of a script in a block of YAML.

    Raises:
        InputError: It stands in YAML otherwise.
    """
    begin = launch.command.start
    if not is_yaml(text):
        return script_editor(text, launch.path, NEW_LINE)
    node = next((one for one in scalars(text) if one.start <= begin < one.end), None)
    start = 0 if node is None else node.start
    before = [one for one in read_launches(text, "") if one.command.start < begin]
    place = sum(1 for one in before if one.command.start >= start)
    inner = read_launches(node.text, "") if node is not None and node.style in {"|", ">"} else ()
    if place >= len(inner):
        raise InputError("the launch stands in YAML that is read and not written", hint=_COPIED)
    return HeldEditor(text, lambda one: BlockLaunch(one, start, inner[place].path))
