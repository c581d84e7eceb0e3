"""The settings that a launch runs with, each as it is written and with its line.

Nothing is left out and nothing is renamed: flags, fields of JSON objects, ``key=value`` overrides, variables
that reach the program, and keys of the files that it names.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.questions.launches.configurations import own_name, with_itself
from ingest.questions.launches.launch import MOST_WORDS, Launch, read_launches
from ingest.questions.launches.launch_files import Beside, file_contents, with_written
from ingest.questions.launches.options import TRUTHS, parse_options
from ingest.questions.launches.own_script import ALONE, OWN
from ingest.questions.launches.script import UNKNOWN, readable
from ingest.questions.launches.variables import is_variable
from kg.errors import InputError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import parse_json
from kg.terms.setting_registry import registry, softwares

_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=(.*)", re.DOTALL)
_ANY_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)", re.DOTALL)

_NAME = re.compile(r"\w[\w.-]*")

_SECTIONS = ("fsdp_config.", "deepspeed_config.")
"""Sections of accelerate's file: each of their keys is that of an option."""

Stated = tuple[str, str, SettingPlace]
"""A setting with its value and its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSetting:
    """One setting of a launch.

    Attributes:
        key: As it is written: ``"--max-num-seqs"``, ``"NCCL_DEBUG"``, ``"compilation_config.level"``.
        value: Its text; ``"true"`` for a switch.
        place: Where it stands.
        line: Line of the script, or of its file, from 1; None where it could not be found.
        is_known: Whether its value is known without running the script.
        file: The file that it stands in, as the launch names it; empty in the script.
        has_truth: Whether its value is a word of its own behind a flag, which a switch does not take.
    """

    key: str
    value: str
    place: SettingPlace
    line: int | None = None
    is_known: bool = True
    file: str = ""
    has_truth: bool = False


def running_settings(
    text: str, *, beside: Beside = lambda _: None, server: int | None = None
) -> tuple[RunningSetting, ...]:
    """The settings of a launch in a script, a manifest or a log; none where nothing is launched.

    Args:
        text: The script; it is read, never executed.
        beside: Reads the files that it names.
        server: Number of the launch among several, from 1; None for the first.
    """
    beside = with_written(text, beside)
    launches = read_launches(text, "", beside)
    if not launches:
        return ()
    launch = launches[min(max(server or 1, 1), len(launches)) - 1]
    stated = {"": [*_variables(launch), *_words(launch)]}
    for name, found in _of_files(launch, with_itself(text, beside)).items():
        stated["" if name == own_name(text) else name] = found
    settings: dict[tuple[str, SettingPlace], RunningSetting] = {}
    if (count := sum(map(len, stated.values()))) > MOST_WORDS:
        raise InputError(f"a launch of {count} settings: at most {MOST_WORDS} are read")
    truths = _with_truth(launch.started.words)
    for file, found in stated.items():
        lines = ((beside(file) or "") if file else text).splitlines()
        named = _lines_by_name(lines)
        for key, value, place in found:
            settings.setdefault(
                (key, place),
                RunningSetting(
                    key=key,
                    value=readable(value),
                    place=place,
                    line=_line(lines, named, key, readable(value)),
                    is_known=UNKNOWN not in value,
                    file=file,
                    has_truth=not file and (key, value) in truths,
                ),
            )
    return tuple(settings.values())


def _variables(launch: Launch) -> Iterator[Stated]:
    """Variables of the program; one that the script itself reads is its own, unless the program has it."""
    for name, value in launch.variables.items():
        if name not in launch.used or is_variable(name, launch.started.signs.id):
            yield name, value, SettingPlace.ENV


def _words(launch: Launch) -> Iterator[Stated]:
    words, signs = launch.started.words, launch.started.signs
    for options in launch.started.configuring():
        for name, value in options.values.items():
            if not options.places.get(name, "-").startswith("-"):
                continue  # it stands in the launcher's file
            yield f"--{name}", "true" if value is True else str(value), SettingPlace.FLAG
    is_any = signs.id in {OWN, *ALONE} or (signs.id in softwares() and registry(signs.id).overrides)
    override = _ANY_OVERRIDE if is_any else _OVERRIDE
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if (found := override.fullmatch(word)) is not None:
            yield found[1], found[2], SettingPlace.YAML
        elif _is_flag(word):
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
            while (
                not equals and at < len(words) and not (_is_flag(words[at]) or override.fullmatch(words[at]))
            ):
                values.append(words[at])
                at += 1
            yield from _flag(flag, values, is_object="." in flag and signs.reader == "server")


def _with_truth(words: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Flags with the truth that stands behind them."""
    pairs = [
        *pairwise(words),
        *(tuple(word.split("=", 1)) for word in words if "=" in word),
    ]
    return frozenset((flag, value) for flag, value in pairs if _is_flag(flag) and value.lower() in TRUTHS)


def _is_flag(word: str) -> bool:
    return bool(_FLAG.fullmatch(word.partition("=")[0]))


def _flag(flag: str, values: Sequence[str], *, is_object: bool) -> Iterator[Stated]:
    """Settings of a flag; of a server, one with dots is a field of an object."""
    text = " ".join(values)
    if is_object:
        yield flag.lstrip("-"), text or "true", SettingPlace.JSON
    elif text.lstrip().startswith("{"):
        content = parse_json(text)
        if content == text:
            yield flag, text, SettingPlace.FLAG
            return
        carrier = flag.lstrip("-").replace("-", "_")
        yield from ((key, value, SettingPlace.JSON) for key, value in _leaves(content, carrier))
    else:
        yield flag, text if values else "true", SettingPlace.FLAG


def _of_files(launch: Launch, beside: Beside) -> dict[str, list[Stated]]:
    """Keys of the files that the launch names, by file."""
    given = parse_options(launch.started.words)
    given.values |= launch.started.told(launch.variables) or {}
    contents = file_contents(launch.started, given, beside)
    return {name: [*_of_file(launch, content)] for name, content in contents.items()}


def _of_file(launch: Launch, content: Mapping[str, object]) -> Iterator[Stated]:
    """The keys of a file; a server's are flags where its files have no such key."""
    program = launch.started.signs.id
    fields = registry(program).at("") if program in softwares() else None
    is_server = launch.started.signs.reader == "server"
    for key, value in _leaves(content, ""):
        is_own = fields and fields.look_up(key, SettingPlace.YAML, suggest=False).setting is not None
        if is_server and "." not in key and not is_own:
            yield f"--{key.replace('_', '-')}", value, SettingPlace.FLAG
        else:
            section = next((one for one in _SECTIONS if key.startswith(one)), "")
            yield key.removeprefix(section), value, SettingPlace.YAML


def _leaves(content: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0]  # the models of MindIE's file
    if isinstance(content, dict) and content:
        for name, inner in content.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    else:
        yield path, content if isinstance(content, str) else json.dumps(content, default=str)


def _lines_by_name(lines: Sequence[str]) -> dict[str, list[int]]:
    """Numbers, from 1, of the lines that hold a name and are no comment."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("#"):
            words = {word.replace("-", "_") for word in _NAME.findall(line)}
            for name in words | {part for word in words for part in word.split(".")}:
                found[name].append(number)
    return found


def _line(lines: Sequence[str], by_name: Mapping[str, Sequence[int]], key: str, value: str) -> int | None:
    """The line that a setting stands in: with its whole path, else its last name.

    Where several name it, the last of those with its value.
    """
    last = key.lstrip("-") if key.startswith("-") else re.split("[./]", key)[-1]
    whole, last = (re.sub(r"[-_]+", "_", name) for name in (key.lstrip("-"), last))
    named = by_name.get(whole) or by_name.get(last, ())
    with_value = (number for number in reversed(named) if value in lines[number - 1])
    return next(with_value, named[-1]) if named else None
