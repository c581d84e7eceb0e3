"""The program that a command starts, by its own signs and never by what launches it.

The signs are data: ``data/settings/launches.yaml``, with the document that each is from.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from ingest.questions.launches.options import LaunchOptions, parse_options
from kg.terms.meanings import table

MATCHING_OPTIONS = 2
"""Options of its own by which a program without a name of its own is known; a choice."""
_MODULE = frozenset({"-m", "--module"})
_BEFORE_NAMES = frozenset(
    {"--name", "--hostname", "--network", "--job-name", "--container-name", "--entrypoint", "-J"}
)
"""Options of containers and schedulers whose value is a name that people choose."""
POSITIONAL = "positional"
"""Stands among names of options for a word that belongs to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSigns:
    """The signs of a program in launches, and where those state what; the table's head explains each.

    Attributes:
        id: Of the program.
        reader: Kind of its options: server, megatron, mindformers or trainer.
        phase: What it does, where its words do not say otherwise.
        phases: What it does by a word of its command.
        source: Document that they are from.
        starts: Module that reads a file of its settings.
        told: Options by variables that its own script tells them with; without one that script is another's.
    """

    id: str
    reader: str
    phase: str
    source: str
    commands: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    calls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    release: str = ""
    options: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    positional: bool = False
    length: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    lora: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    flagged: bool = False
    sections: tuple[str, ...] = ()
    phases: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    launcher: str = ""
    starts: str = ""
    told: Mapping[str, str] = field(default_factory=dict)


_TOLD, _PARTS = "{}", frozenset({"prefill", "decode"})
"""A part of a deployment that a value of an option says, and those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedProgram:
    """A program that a command starts.

    Attributes:
        signs: Of the program.
        words: Its options and other words.
        command: The words that are its sign, such as ``swift sft``; empty for a script.
        script: Name of the script or module that is run; empty for a command of its own.
        role: Part of a deployment that what wraps it is told; empty where it is told none.
        launchers: Options of what starts it, by the launcher, the outermost first.
    """

    signs: ProgramSigns
    words: tuple[str, ...]
    command: str = ""
    script: str = ""
    role: str = ""
    launchers: Mapping[str, LaunchOptions] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """The phase that a program runs."""
        return self.signs.phases.get(self.command, self.signs.phase)

    def told(self, environment: Mapping[str, str]) -> dict[str, str] | None:
        """The options that variables tell; None for a script that has but the name of the program's own."""
        told = {option: environment[name] for name, option in self.signs.told.items() if name in environment}
        return None if self.command.endswith(".sh") and not told else told

    def devices(self, sizes: str) -> int | None:
        """The number that launchers state: ``all`` devices, those of ``each`` node, or ``nodes``."""
        names: dict[str, list[str]] = {name: launcher_rows()[name].get(sizes, []) for name in self.launchers}
        stated = [self.launchers[name].positive(*options) for name, options in names.items()]
        return next((size for size in reversed(stated) if size is not None), None)

    def configuring(self) -> Iterator[LaunchOptions]:
        """The options of launchers that configure the program too, by flags or a file."""
        yield from (options for name, options in self.launchers.items() if launcher_rows()[name].get("file"))

    def launcher_files(self) -> Iterator[tuple[LaunchOptions, str]]:
        """The files of settings that launchers are given, each with the options of its launcher."""
        for name, options in self.launchers.items():
            for option in launcher_rows()[name].get("file", ()):
                if (file := options.text(option)) is not None:
                    yield options, file


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownStart:
    """A script that a launcher starts and that no program's signs tell.

    Attributes:
        launcher: What starts it.
        script: Its name.
    """

    launcher: str
    script: str


@cache
def program_signs() -> dict[str, ProgramSigns]:
    """The signs of each program, in the order in which they are looked for."""
    rows: dict[str, dict[str, Any]] = table("launches")["programs"]
    names = {item.name for item in fields(ProgramSigns)}
    found = {}
    for name, own in rows.items():
        row: dict[str, Any] = {"id": name, **rows.get(own.get("as", ""), {}), **own}
        content: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item for key, item in row.items()
        }
        found[name] = ProgramSigns(**{key: item for key, item in content.items() if key in names})
    return found


def known_programs() -> str:
    """The programs whose launches are read, in a sentence."""
    return ", ".join(sorted(program_signs()))


def started_program(
    words: Sequence[str], names_in: Callable[[str], Collection[str]] = lambda _: ()
) -> StartedProgram | UnknownStart | None:
    """The program that a command starts; None where it launches nothing.

    Args:
        words: Of the command, with those of its launchers, containers and schedulers.
        names_in: The names of the settings in a file that stands first behind a script, which then are its
            options (``HfArgumentParser.parse_json_file`` and ``parse_yaml_file`` of transformers).
    """
    names = [word.rstrip("/").rpartition("/")[2] for word in words]
    launchers: list[tuple[str, int]] = []
    for at, word in enumerate(words):
        if launcher := _launcher(names, words, at):
            launchers.append((launcher, at))
            if launcher == "msrun" and names[at].endswith(".sh") and at + 1 < len(words):
                return _of_launcher_script(words, at)
            continue
        signs, length = _by_name(words, names, at)
        if signs is not None and not (length == 1 and at and words[at - 1] in _BEFORE_NAMES):
            return StartedProgram(
                signs=signs,
                words=_behind(words, at + length),
                command=" ".join((names[at], *words[at + 1 : at + length])),
                role=_role(words, at + length),
                launchers=_options_of(launchers, words, at),
            )
        is_module = at > 0 and words[at - 1] in _MODULE
        if names[at].endswith(".py") or (is_module and launchers):
            signs = _by_script(word, words[at + 1 :], launchers, names_in)
            if signs is not None:
                return StartedProgram(
                    signs=signs,
                    words=tuple(words[at + 1 :]),
                    script=names[at],
                    launchers=_options_of(launchers, words, at),
                )
            return UnknownStart(launcher=launchers[-1][0], script=word) if launchers else None
    return _by_image(words)


def _of_launcher_script(words: Sequence[str], at: int) -> StartedProgram | UnknownStart | None:
    """MindFormers' own script: the command in one word, and the number of workers behind it."""
    inner, rest = words[at + 1].split(), words[at + 2 :]
    script = next((place for place, word in enumerate(inner) if word.endswith(".py")), 0)
    options = LaunchOptions()
    if rest and rest[0].isdigit():
        options.values["worker_num"] = int(rest[0])
    signs = _by_script(inner[script], (), [("msrun", at)]) if inner else None
    if signs is None:
        return None
    return StartedProgram(
        signs=signs, words=tuple(inner[script + 1 :]), script=inner[script], launchers={"msrun": options}
    )


def _by_name(words: Sequence[str], names: Sequence[str], at: int) -> tuple[ProgramSigns | None, int]:
    """The program whose command or module begins at a word, and how many words that takes."""
    found: tuple[ProgramSigns | None, int] = None, 0
    if "." not in words[at] and names[at] not in _first_words():
        return found
    for signs in program_signs().values():
        for command in signs.commands:
            parts = command.split()
            if (
                names[at] == parts[0]
                and [*words[at + 1 : at + len(parts)]] == parts[1:]
                and len(parts) > found[1]
            ):
                found = signs, len(parts)
        is_module = "." in words[at] and not {"=", "/"} & {*words[at]} and not found[1]
        if is_module and any(fnmatchcase(words[at], pattern) for pattern in signs.modules):
            found = signs, 1
    return found


def _by_script(
    word: str,
    rest: Sequence[str],
    launchers: Sequence[tuple[str, int]],
    names_in: Callable[[str], Collection[str]] = lambda _: (),
) -> ProgramSigns | None:
    """The program of a script: by the folders that it is in, its name, its options, or what launches it."""
    name, signs = PurePosixPath(word).name, program_signs().values()
    options = parse_options(rest)
    is_file = bool(rest) and rest[0].endswith((".json", ".yaml", ".yml"))
    given = {*options.values, *options.unknown, *(names_in(rest[0]) if is_file else ())}
    above = {launcher for launcher, _ in launchers}
    tests: tuple[Callable[[ProgramSigns], bool], ...] = (
        lambda one: any(f"/{part}/" in f"/{word}" for part in one.paths),
        lambda one: any(fnmatchcase(name, pattern) for pattern in one.scripts) and not _is_other(one, given),
        lambda one: bool(given & {*one.alone}) or len(given & {*one.options}) >= MATCHING_OPTIONS,
        lambda one: bool(one.launcher) and one.launcher in above,
    )
    return next((one for test in tests for one in signs if test(one)), None)


def _is_other(signs: ProgramSigns, given: set[str]) -> bool:
    """True if the options are not those of a program whose script names others use too: ``pretrain_x.py``."""
    return bool(
        given and signs.alone and signs.reader == "megatron" and not given & {*signs.options, *signs.alone}
    )


def _by_image(words: Sequence[str]) -> StartedProgram | None:
    """The program that is the entry point of a container's image."""
    for at, word in enumerate(words):
        image = word.partition("@")[0].rpartition(":")[0] or word
        for one, signs in _images().get(image.rpartition("/")[2], ()):
            if not word.startswith("-") and f"/{image}".endswith(f"/{one}"):
                if _runs_another(words, at + 1):
                    return None
                return StartedProgram(signs=signs, words=_behind(words, at + 1))
    return None


@cache
def _first_words() -> frozenset[str]:
    """The words that commands of programs begin with."""
    return frozenset(command.split()[0] for signs in program_signs().values() for command in signs.commands)


@cache
def _images() -> dict[str, list[tuple[str, ProgramSigns]]]:
    """Images of containers with their programs, by the last part of their names."""
    found: dict[str, list[tuple[str, ProgramSigns]]] = {}
    for signs in program_signs().values():
        for one in signs.images:
            found.setdefault(one.rpartition("/")[2], []).append((one, signs))
    return found


def _behind(words: Sequence[str], at: int) -> tuple[str, ...]:
    """The words from a place on, without the verb of a command line that a module or image stands for.

    What wraps an engine passes its options on: its own are left out, and the engine's have its names again.
    """
    behind = tuple(words[at + 1 :] if words[at : at + 1] == ("serve",) else words[at:])
    row = _wrapper(words, at)
    return behind if row is None else tuple(_passed_on(behind, row["own"], row.get("named", {})))


def _wrapper(words: Sequence[str], at: int) -> Mapping[str, Any] | None:
    """What is known of the image or module before a place, where that wraps an engine; else None."""
    name = words[at - 1].partition(":")[0] if at else ""
    row: Mapping[str, Any] | None = table("launches")["wrappers"].get(name.rpartition("/")[2])
    return row


def _passed_on(words: Sequence[str], own: Collection[str], named: Mapping[str, str]) -> Iterator[str]:
    is_own = False
    for word in words:
        option, equals, value = word.partition("=")
        plain = option.lstrip("-").replace("-", "_")
        if option.startswith("-"):
            is_own = any(fnmatchcase(plain, pattern) for pattern in own)
        if not is_own:
            is_named = option.startswith("--") and plain in named
            yield f"--{named[plain]}{equals}{value}" if is_named else word


def _role(words: Sequence[str], at: int) -> str:
    """The part of a deployment that a wrapper is told; empty where it is told none."""
    roles = (_wrapper(words, at) or {}).get("roles", {})
    values = parse_options(words[at:]).values
    told = (str(values[name]) if part == _TOLD else part for name, part in roles.items() if name in values)
    return next((part for part in told if part in _PARTS), "")


def _runs_another(words: Sequence[str], at: int) -> bool:
    """True if a wrapper is told an engine that is none of the programs'."""
    others = (_wrapper(words, at) or {}).get("others", {})
    values = parse_options(words[at:]).values if others else {}
    return any(values.get(name) in engines for name, engines in others.items())


def _launcher(names: Sequence[str], words: Sequence[str], at: int) -> str:
    for name, row in launcher_rows().items():
        if names[at] == name or words[at] in row.get("also", ()) or names[at] in row.get("also", ()):
            return (
                name if [*words[at + 1 : at + 1 + len(row.get("words", ()))]] == row.get("words", []) else ""
            )
    return ""


@cache
def launcher_rows() -> dict[str, dict[str, Any]]:
    """Launchers with their options, by name; the table's head explains each."""
    return dict(table("launches")["launchers"])


def _options_of(
    launchers: Sequence[tuple[str, int]], words: Sequence[str], end: int
) -> dict[str, LaunchOptions]:
    """The options of each launcher, up to the next one or the program."""
    ends = [*(at for _, at in launchers[1:]), end][: len(launchers)]
    return {
        name: parse_options(words[at + 1 : stop]) for (name, at), stop in zip(launchers, ends, strict=True)
    }
