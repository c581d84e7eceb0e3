"""Edits of a launch in YAML: the command and the variables of a container, or a script in a block of text.

Each edit changes the lines of its own item. The proof: all other commands, the variables and every other
value of the documents read as before, so that a value which two containers share is not changed for one.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ingest.files.yaml_nodes import YamlNode, yaml_documents
from ingest.questions.launches.manifests import Container, containers, variables_of
from ingest.questions.launches.script import UNKNOWN, place_of_text, readable
from ingest.questions.launches.shell import read_script
from ingest.questions.patches.nested_editor import LaunchEditor, script_editor
from ingest.questions.patches.regions import Region, difference, scalar_region
from ingest.questions.patches.shell_editor import ELSEWHERE, SettingEdit
from ingest.questions.patches.yaml_items import (
    added,
    end_before,
    quoted,
    replaced,
    with_items,
    with_key,
    without,
)

_KEY = re.compile(r"[\w./-]+")


class ContainerLaunch:
    """A launch that is the command of a container."""

    refusal = "another place has it too: it is an anchor"

    def __init__(self, text: str, path: Sequence[int]) -> None:
        self.text = text
        self.path = path
        self.all = containers(text)
        self.container: Container = self.all[path[0]]
        words, nodes = self.container.command.words, self.container.words
        self.place = place_of_text(words, [word.rpartition("/")[2] for word in words]) if path[1:] else None
        node = nodes[-1 if self.place is None else self.place]
        is_text = self.place is not None or nodes[-2:-1] == (node,)
        self.region: Region | None = None if node is None or not is_text else scalar_region(text, node)
        if self.region is not None and self.place is None and "\\\n" not in self.region.says:
            self.region = replace(
                self.region, says=self.region.says.replace("\n", " ")
            )  # compose splits it so

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""
        return len(self.all)

    def within(self, *, filled: bool = False) -> LaunchEditor:
        """Edits of the command as a script; nothing around it fills anything in."""
        del filled
        if self.region is None:
            return script_editor(" ".join(map(_token, self.container.command.words)), (0,), " ")
        return script_editor(self.region.says, (0,) if self.place is None else self.path[1:])

    def put(self, script: str) -> str | None:
        """The text with another command."""
        if self.region is not None:
            return self.region.put(script)
        return self._with_words(_read_words(script, self.container.command.words))

    def _with_words(self, words: Sequence[str]) -> str | None:
        before = self.container.command.words
        marks = {word: chr(number + 1) for number, word in enumerate(dict.fromkeys((*before, *words)))}
        first, last, end = difference("".join(map(marks.get, before)), "".join(map(marks.get, words)))  # type: ignore[arg-type]  # every word has a mark
        return with_items(self.text, self.container.words, first, last, words[first:end])

    def is_proven(self, text: str, script: str) -> bool:
        """True if all containers and documents read as before, but for the command as it was edited."""
        words = [*self.container.command.words]
        if self.place is not None:
            words[self.place] = script
        elif self.region is None:
            words = _read_words(script, words)
        else:
            one = [
                word
                for word, node in zip(words, self.container.words, strict=True)
                if node is not self.container.words[-1]
            ]
            words = [*one, *_read_words(script, ())]
        return self._is_as_before(text, words, dict(self.container.command.environment))

    def _is_as_before(self, text: str, words: Sequence[str], environment: dict[str, str]) -> bool:
        after = containers(text)
        if len(after) != len(self.all):
            return False
        for number, (old, new) in enumerate(zip(self.all, after, strict=True)):
            wanted = (
                (tuple(words), environment)
                if number == self.path[0]
                else (old.command.words, old.command.environment)
            )
            if (new.command.words, new.command.environment) != wanted:
                return False
        return _plain(self.text, self.container) == _plain(text, after[self.path[0]])

    def with_variable(self, edit: SettingEdit) -> tuple[str, str] | None:
        """The text with a variable of the container; None where its own script sets it."""
        command, name = self.container.command, edit.name
        value = None if edit.words is None else edit.words[0]
        if self.place is not None and self.region is not None and name not in command.environment:
            inner = read_script(self.region.says).commands
            if value is None or any(name in one.environment for one in inner):
                return None
        if command.environment.get(name) == value:
            return self.text, ""
        environment = {one: said for one, said in command.environment.items() if one != name}
        if value is not None:
            environment[name] = value
        text = self._with_variable(name, value)
        if text is None:
            return self.text, ELSEWHERE
        return text, "" if self._is_as_before(text, command.words, environment) else self.refusal

    def _with_variable(self, name: str, value: str | None) -> str | None:
        node = self.container.variables
        held = {one: place for one, _, place in variables_of(node)}
        if name in held:
            place = held[name]
            if value is None:
                return self._without_variable(name, place)
            is_word = node is not None and place in (node.items or ())
            return replaced(self.text, place, f"{name}={value}" if is_word else value)
        if value is None or (node is not None and not node.parts):
            return None
        if node is None:
            return self._with_first(name, value)
        written = quoted(value, None)
        if node.pairs:
            key, last = node.pairs[-1]
            if node.is_flow:
                return f"{self.text[: last.end]}, {name}: {written}{self.text[last.end :]}"
            return with_key(self.text, key, last, name, f" {written}")
        if not (items := node.items):
            return None
        if items[-1].is_scalar:
            return added(self.text, items[-1], quoted(f"{name}={value}", items[-1]), items)
        if items[-1].is_flow:
            return added(self.text, items[-1], f"{{name: {name}, value: {written}}}", items)
        return added(self.text, items[-1], f"name: {name}\n{' ' * items[-1].column}value: {written}")

    def _with_first(self, name: str, value: str) -> str | None:
        """The text with variables for a container that has none, behind its image or its command."""
        entry, command, variables = self.container.keys
        own = [
            (key, one)
            for key, one in self.container.node.pairs or ()
            if key.text in {"image", command, entry}
        ]
        if not own or self.container.node.is_flow:
            return None
        key, last = own[-1]
        column = " " * key.column
        if variables == "env":
            written = f"\n{column}- name: {name}\n{column}  value: {quoted(value, None)}"
        else:
            written = f"\n{column}  {name}: {quoted(value, None)}"
        return with_key(self.text, key, last, variables, written)

    def _without_variable(self, name: str, place: YamlNode) -> str | None:
        node = self.container.variables
        if node is None:
            return None
        for key, value in node.pairs or ():
            if key.text == name:
                before = end_before([one for _, one in node.pairs or ()], key.start)
                return without(self.text, key.start, value.end, before, is_pair=not node.is_flow)
        item = next((one for one in node.items or () if place is one or place in one.parts), None)
        if item is None:
            return None
        return without(self.text, item.start, item.behind, end_before(node.items or (), item.start))


class BlockLaunch:
    """A launch in a script that YAML holds as a block of text, as a ConfigMap or a pipeline does."""

    refusal = ELSEWHERE

    def __init__(self, text: str, start: int, path: Sequence[int]) -> None:
        self.text = text
        self.start = start
        self.path = path
        self.region = scalar_region(text, next(node for node in scalars(text) if node.start == start))

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""
        return len(read_script(self.region.says).commands)

    def within(self, *, filled: bool = False) -> LaunchEditor:
        """Edits of the script; nothing around it fills anything in."""
        del filled
        return script_editor(self.region.says, self.path)

    def put(self, script: str) -> str | None:
        """The text with another script in the block."""
        return self.region.put(script)

    def is_proven(self, text: str, script: str) -> bool:
        """True if the documents read as before, but for the script as it was edited."""
        before = [script if node.start == self.start else node.text for node in scalars(self.text)]
        return before == [node.text for node in scalars(text)]

    def with_variable(self, edit: SettingEdit) -> None:
        """None: the script has it to do."""


def is_yaml(text: str) -> bool:
    """True if a text is YAML with names or items, and no command that happens to read so."""
    roots = yaml_documents(text) if ":" in text or "- " in text else []
    return bool(roots) and all(
        root.items is not None
        or (bool(root.pairs) and all(_KEY.fullmatch(key.text) for key, _ in root.pairs or ()))
        for root in roots
    )


def scalars(text: str) -> list[YamlNode]:
    """The scalars of what is YAML with keys or items, in their order, each once."""
    waiting = [node for node in yaml_documents(text) if not node.is_scalar]
    found: dict[int, YamlNode] = {}
    while waiting:
        node = waiting.pop()
        waiting += node.parts
        if node.is_scalar:
            found[node.start] = node
    return [found[start] for start in sorted(found)]


def _plain(text: str, container: Container) -> list[object]:
    """The documents of a text as plain values, without what launches a container."""

    def plain(node: YamlNode) -> object:
        if node.is_scalar:
            return node.tag, node.text
        left = container.keys if node.start == container.node.start else ()
        pairs = [(plain(key), plain(value)) for key, value in node.pairs or () if key.text not in left]
        return pairs, [plain(item) for item in node.items or ()]

    return [plain(node) for node in yaml_documents(text)]


def _token(word: str) -> str:
    """A word for a script; a value that is not known is one that the script computes."""
    if UNKNOWN not in word:
        return shlex.quote(word)
    name, equals, value = readable(word).partition("=")
    is_flag = bool(equals) and name.startswith("-") and word.index(UNKNOWN) > len(name)
    return f'{name}="$(echo {shlex.quote(value)})"' if is_flag else f'"$(echo {shlex.quote(readable(word))})"'


def _read_words(script: str, before: Sequence[str]) -> list[str]:
    """The words of a script of one command, those that are not known as they were before."""
    unknown = iter([word for word in before if UNKNOWN in word])
    words = [word for one in read_script(script).commands for word in one.words]
    return [next(unknown, word) if UNKNOWN in word and before else word for word in words]
