"""The files of settings that a launch names, and the options that they add to it."""

import re
from collections.abc import Callable
from posixpath import normpath

from ingest.files.content import ContentError
from ingest.questions.launches.options import LaunchOptions, add_file
from ingest.questions.launches.program import POSITIONAL, StartedProgram
from ingest.questions.launches.script import UNKNOWN
from kg.errors import InputError
from kg.nouns.situation import STAYS
from kg.nouns.values import load_toml

Beside = Callable[[str], str | None]
"""The text of a file by the name that a launch gives it; None where it is not there."""
_BEGINS = re.compile(r"[ \t]*(?:sudo[ \t]+)?(?:cat|tee)[ \t]([^|;&\n]{0,500})$")
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_TARGET = re.compile(r"(?:>|(?<!\S)(?=[^-<>\s]))[ \t]*([^\s<>'\"$`]+)")


def with_written(text: str, beside: Beside) -> Beside:
    """The files beside a script, with those that it writes itself: ``cat > FILE <<EOF``."""
    written: dict[str, str] = {}
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begun = _BEGINS.match(lines[at])
        here = _HERE.search(begun[1]) if begun is not None else None
        at += 1
        if begun is None or here is None:
            continue
        first = at
        while at < len(lines) and lines[at].strip() != here[2]:
            at += 1
        if (named := _TARGET.search(_HERE.sub(" ", begun[1]))) is not None:
            written[normpath(named[1])] = "\n".join(lines[first:at]) + "\n"
    if not written:
        return beside
    return lambda name: written[normpath(name)] if normpath(name) in written else beside(name)


def add_files(started: StartedProgram, given: LaunchOptions, beside: Beside) -> set[str]:
    """Add the settings of the files that a launch names, where those are there; which were read."""
    if started.signs.reader == "mindformers":  # which reads its file itself
        return set()
    contents = file_contents(started, given, beside)
    of_launchers = {name for _, name in started.launcher_files()}
    for name, content in contents.items():
        if name in of_launchers:
            continue
        own, stays = set(given.values), name in staying_files(started, given).values()
        add_file(given, content)
        if started.signs.flagged and not stays:
            given.places |= {key: f"--{key}" for key in given.values.keys() - own if "." not in key}
        if stays:
            given.places |= dict.fromkeys(given.values.keys() - own, STAYS)
    for options, name in started.launcher_files():
        own = set(options.values)
        add_file(options, contents.get(name, {}))
        options.places |= dict.fromkeys(options.values.keys() - own, name)
    for options in started.configuring():
        given.places |= dict.fromkeys(options.values.keys() - given.values.keys(), STAYS)
        add_file(given, options.values)
    return set(contents)


def staying_files(started: StartedProgram, options: LaunchOptions) -> dict[str, str]:
    """The JSON files that options of a trainer name, by option: their settings stay there."""
    told = {name: str(options.values[name]) for name in started.signs.file if name in options.values}
    is_trainer = started.signs.reader == "trainer"
    return {name: word for name, word in told.items() if is_trainer and word.endswith(".json")}


def table_in(text: str) -> dict[object, object]:
    """A text of YAML as a table; an empty one where it is something else, or broken."""
    from ingest.files.safe_yaml import load_yaml  # a question without files needs no parser

    try:
        content = load_yaml(text.encode())
    except ContentError:
        return {}
    return content if isinstance(content, dict) else {}


def names_in(name: str, beside: Beside) -> frozenset[str]:
    """The names of the settings in a file; none where it is not there, or is no table."""
    text = beside(name) if UNKNOWN not in name else None
    return frozenset(map(str, table_in(text or "")))  # a broken one is refused where it is read


_NAMED = "config_name"
"""Option by which Hydra is told a file by its name alone."""


def file_contents(
    started: StartedProgram, options: LaunchOptions, beside: Beside
) -> dict[str, dict[str, object]]:
    """The contents of the files of settings that a launch names, and those name, where those are there.

    Raises:
        InputError: One is there and is no YAML.
    """
    from ingest.files.safe_yaml import load_yaml  # a question without files needs no parser

    read: dict[str, dict[str, object]] = {}
    told = [(name, str(options.values[name])) for name in started.signs.file if name in options.values]
    names = [word for _, word in told if "." in word]
    names += [f"configs/{word}.yaml" for name, word in told if name == _NAMED and "." not in word]
    if POSITIONAL in started.signs.file or started.signs.reader == "megatron":
        names += [word for word in options.others if word.endswith((".yaml", ".yml", ".json"))]
    names += [name for _, name in started.launcher_files()]
    names = names or list(started.signs.beside)
    for name in names:  # which grows by what a file names
        text = beside(name) if UNKNOWN not in name and name not in read else None
        try:
            is_toml = name.endswith(".toml")
            content = None if text is None else load_toml(text) if is_toml else load_yaml(text.encode())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name}: {error}") from None
        if isinstance(content, dict):
            read[name] = content
            names += [word for key in started.signs.file if "." in (word := str(content.get(key, "")))]
    return read
