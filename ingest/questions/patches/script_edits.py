"""Settings written into a launch where a person would write them, and proven. Nothing is executed."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ingest.questions.launches.engine_calls import RUN
from ingest.questions.launches.launch import Launch, LaunchForm, read_launches
from ingest.questions.launches.launch_files import Beside
from ingest.questions.launches.options import parse_options
from ingest.questions.launches.own_script import ALONE
from ingest.questions.launches.program import known_programs
from ingest.questions.launches.serving import ADDRESSES
from ingest.questions.patches.call_editor import CallEditor
from ingest.questions.patches.manifest_editor import BlockLaunch, ContainerLaunch, is_yaml, scalars
from ingest.questions.patches.nested_editor import LaunchEditor, NestedEditor, script_editor
from ingest.questions.patches.setting_file import SettingFile
from ingest.questions.patches.shell_editor import NEW_LINE, SettingEdit, names_of
from kg.errors import InputError
from kg.nouns.codec import NOT_IN_JSON

_COPIED = "--format prints the start, to be copied there"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEdits:
    """Settings to write into a script.

    Attributes:
        variables: Values of environment variables by name.
        flags: The words of the value by flag, with its dashes; none for a flag without one.
        fields: JSON objects by the flag that carries them: these fields are set, others stay.
        removed: Flags, with their values, and variables to take away.
        elsewhere: Those of them that stand in a file which the script names.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    elsewhere: frozenset[str] = field(default=frozenset(), metadata=NOT_IN_JSON)

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
        files: Files of settings that the new text names, new ones, by the names of those they were made from.
    """

    text: str
    form: LaunchForm = LaunchForm.SCRIPT
    unwritten: tuple[str, ...] = ()
    commands: int = 0
    edits: int = 0
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def edited(
    text: str,
    edits: ScriptEdits,
    server: int | None = None,
    *,
    beside: Beside = lambda _: None,
    stem: str = "tuned",
) -> EditedScript:
    """A launch script, a manifest or a program in Python with settings written into it.

    Args:
        text: The script.
        edits: What to set.
        server: Number of the launch among several, from 1; None for the first, and for all that are like it.
        beside: Reads the files that it names.
        stem: Beginning of the names of new files.

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
    chosen = _chosen(launches, server)
    if is_setting_file(launches[chosen[0]], plain):
        return _in_setting_file(plain, edits, ends)
    files = _files(launches, chosen, beside)
    for number in chosen:
        editor = _editor(plain, number)
        launch = launches[number]
        mine = [file for name, _ in _named(launch) if (file := files.get(name)) is not None]
        told = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in launch.started.words}
        tried = [
            (
                edit,
                _make(edit, editor, () if is_set and names_of(edit.name) & told else mine, edits.elsewhere),
            )
            for edit in edits.each()
            for is_set in [edit.words is not None or edit.fields is not None]
        ]
        tried += [
            (edit, editor.make(edit))
            for file in mine
            if file.edits
            for edit in [SettingEdit(name=file.flag, words=(file.renamed(stem),))]
        ]
        unwritten += [f"{edit}: {reason}" for edit, reason in tried if reason]
        plain, commands, written = editor.text, editor.commands, written + editor.edits
    for number, edit in _to_peers(launches, chosen, edits):
        editor = _editor(plain, number)
        if reason := editor.make(edit):
            unwritten.append(f"{edit} of launch {number + 1}: {reason}")
        plain, written = editor.text, written + editor.edits
    return EditedScript(
        text=plain.replace("\n", ends),
        unwritten=tuple(dict.fromkeys(unwritten)),
        commands=commands,
        edits=written + sum(file.edits for file in files.values()),
        form=LaunchForm.MANIFEST if is_yaml(plain) else launches[0].form,
        files={file.name: (file.renamed(stem), file.text) for file in files.values() if file.edits},
    )


def is_setting_file(launch: Launch, text: str) -> bool:
    """True if a text is a file of settings, in YAML, that is written into."""
    return launch.form is LaunchForm.CONFIGURATION and text.lstrip()[:1] not in {"{", "["}


def _in_setting_file(text: str, edits: ScriptEdits, ends: str) -> EditedScript:
    """A file of settings with others."""
    file = SettingFile(name="", flag="", text=text)
    tried = [(edit, file.put(edit)) for edit in edits.each()]
    return EditedScript(
        text=file.text.replace("\n", ends),
        unwritten=tuple(f"{edit}: {reason}" for edit, reason in tried if reason),
        edits=file.edits,
        form=LaunchForm.CONFIGURATION,
    )


def _make(
    edit: SettingEdit, editor: LaunchEditor, files: Sequence[SettingFile], elsewhere: frozenset[str]
) -> str:
    """Make an edit where the setting stands; the command wins, and has what cannot be changed in a file."""
    held = next((file for file in files if edit.is_flag and file.key_of(edit.name)), None)
    is_removal = edit.words is None and edit.fields is None
    if held is None:
        is_hidden = is_removal and edit.name in elsewhere
        return "it stands in a file that the script names" if is_hidden else editor.make(edit)
    said = editor.make(edit) if is_removal else ""  # it may stand in both
    reason = said or held.make(edit)
    return reason if is_removal or not reason else editor.make(held.in_command(edit))


def _to_peers(
    launches: Sequence[Launch], chosen: Sequence[int], edits: ScriptEdits
) -> Iterator[tuple[int, SettingEdit]]:
    """The sizes of a role that change, for the connectors of its peers, which have to say the same."""
    role, extra = launches[chosen[0]].role, "kv_connector_extra_config"
    for flag, content in edits.fields.items():
        sizes = content.get(extra, {}).get(role)
        for number, launch in enumerate(launches):
            current = launch.facts.question.get("current")
            held = (
                [name for name in current if f"{extra}.{role}." in name] if isinstance(current, dict) else []
            )
            if sizes and held and number not in chosen:
                yield number, SettingEdit(name=flag, fields={extra: {role: sizes}})


def _named(launch: Launch) -> Iterator[tuple[str, str]]:
    """The files of YAML that a server is told its settings by, each with the flag."""
    signs, given = launch.started.signs, parse_options(launch.started.words)
    for name in signs.file if signs.reader == "server" else ():
        if (file := str(given.values.get(name, ""))).endswith((".yaml", ".yml")):
            yield file, f"--{name.replace('_', '-')}"


def _files(launches: Sequence[Launch], chosen: Sequence[int], beside: Beside) -> dict[str, SettingFile]:
    """The files of the chosen launches that are there, by name."""
    others = {
        name for number, launch in enumerate(launches) if number not in chosen for name, _ in _named(launch)
    }
    return {
        name: SettingFile(name=name, flag=flag, text=text, refusal=_why_left(name, others))
        for number in chosen
        for name, flag in _named(launches[number])
        if (text := beside(name)) is not None
    }


def _why_left(name: str, others: Container[str]) -> str:
    """The reason to leave a file as it is; empty where a new one may stand beside it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return "which lies outside the folder of the script"
    return "which another launch reads too" if name in others else ""


def _chosen(launches: Sequence[Launch], server: int | None) -> list[int]:
    """The numbers of the launches that are edited: one, those alike, and those that make one engine with it.

    Raises:
        InputError: There is none.
    """
    if not launches:
        raise InputError("no launch stands in the script", hint=f"known: {known_programs()}")
    first = launches[(server or 1) - 1]
    meets = _meeting_point(first)
    return [
        number
        for number, one in enumerate(launches)
        if one is first
        or (meets and _meeting_point(one) == meets)
        or (server is None and one.facts.question == first.facts.question)
    ]


def _meeting_point(launch: Launch) -> str:
    """The address by which the commands of one engine on several servers find each other; empty for none."""
    given = parse_options(launch.started.words)
    found = (
        str(given.values.get(name, given.unknown.get(name, ""))) for name in ADDRESSES if "_addr" in name
    )
    return next(filter(None, found), "") if launch.started.signs.reader == "server" else ""


def _editor(text: str, number: int) -> LaunchEditor:
    """The editor for a launch of a text.

    Raises:
        InputError: Launches of its form are read only.
    """
    launch = read_launches(text, "")[number]
    match launch.form:
        case LaunchForm.MANIFEST:
            return NestedEditor(text, lambda one: ContainerLaunch(one, launch.path))
        case LaunchForm.CALL if launch.started.signs.id in ALONE:
            raise InputError(
                "a script whose library computes answers itself takes no settings of a server", hint=_COPIED
            )
        case LaunchForm.CALL if launch.command.words[: len(RUN)] == RUN:
            raise InputError("a loop of your own is read and not written", hint=_COPIED)
        case LaunchForm.CALL:
            return CallEditor(text, launch.path[0])
        case LaunchForm.SCRIPT:
            return _script(text, launch)
    raise InputError(f"{launch.form} is read and not written", hint=_COPIED)


def _script(text: str, launch: Launch) -> LaunchEditor:
    """The editor for a launch of a script, or of a script in a block of YAML.

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
    return NestedEditor(text, lambda one: BlockLaunch(one, start, inner[place].path))
