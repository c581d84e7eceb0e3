"""Edits of a file of settings that a launch names, or that is one: flat YAML, as of ``vllm serve --config``.

A key's value is changed in its place, its line taken away, or a line added. The proof: read again, the file
has what it had but for the key; so a value that an anchor gives to two keys is not changed for one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ingest.door.values import parse_value
from ingest.files.safe_yaml import load_yaml
from ingest.files.yaml_nodes import yaml_documents
from ingest.questions.patches.shell_editor import (
    ELSEWHERE,
    SettingEdit,
    merged_fields,
    names_of,
    without_field,
)
from ingest.questions.patches.yaml_items import end_before, replaced, with_key, without, yaml_text
from kg.nouns.values import parse_json


@dataclass(slots=True, kw_only=True)
class SettingFile:
    """A file of settings, one setting edited at a time, each proven before it is kept.

    Attributes:
        name: As the launch gives it.
        flag: The flag that gives it.
        text: Of the file, with the edits.
        refusal: Why nothing in it is edited; empty where it may be.
        edits: How many settings were written.
    """

    name: str
    flag: str
    text: str
    refusal: str = ""
    edits: int = 0

    @property
    def content(self) -> dict[str, object]:
        """The file as it reads."""
        content = load_yaml(self.text.encode())
        return content if isinstance(content, dict) else {}

    def key_of(self, name: str) -> str:
        """The key of the file that is a flag, or has its field; empty where none is."""
        carrier = name if name.startswith("-") else name.partition(".")[0]
        names = names_of(carrier)
        return next((key for key in self.content if str(key).replace("-", "_") in names), "")

    def renamed(self, stem: str) -> str:
        """The name of the new file, beside the old one."""
        path = PurePosixPath(self.name)
        return str(path.with_name(f"{stem}-{path.name}"))

    def make(self, edit: SettingEdit) -> str:
        """Make an edit of a key that is there; why it could not be made, or an empty text."""
        key, content = self.key_of(edit.name), self.content
        if self.refusal:
            return f"it stands in {self.name}, {self.refusal}"
        held = content[key]
        wanted: object = held
        path = edit.name.partition(".")[2]
        if edit.fields is not None or path:
            fields = _object(held)
            if fields is None:
                return ELSEWHERE
            made = merged_fields(fields, edit.fields) if edit.fields else without_field(fields, path)
            wanted = None if not made else json.dumps(made) if isinstance(held, str) else made
        else:
            wanted = None if edit.words is None else _value(edit.words)
        if wanted == held:
            return ""
        after = {name: value for name, value in content.items() if name != key or wanted is not None}
        after |= {} if wanted is None else {key: wanted}
        text = self._with(key, wanted)
        if text is None or load_yaml(text.encode()) != after:
            return ELSEWHERE
        self.text, self.edits = text, self.edits + 1
        return ""

    def put(self, edit: SettingEdit) -> str:
        """Make an edit in a file that is the launch itself, which may lack the key; why not, or no text."""
        if self.key_of(edit.name):
            return self.make(edit)
        if not edit.is_flag:
            return "it is a variable of the environment"
        if edit.words is None and edit.fields is None:
            return "" if edit.name.startswith("-") else ELSEWHERE
        roots, content = yaml_documents(self.text), self.content
        pairs = roots[0].pairs or () if len(roots) == 1 else ()
        has_dashes, has_lines = (any(mark in str(key) for key in content) for mark in "-_")
        name = edit.name.lstrip("-")
        if has_dashes != has_lines:  # as the other keys are written
            name = name.replace("_", "-") if has_dashes else name.replace("-", "_")
        value = edit.fields if edit.words is None else _value(edit.words)
        if not pairs or "." in name:
            return ELSEWHERE
        text = with_key(self.text, *pairs[-1], name, f" {yaml_text(value, None)}")
        if text is None or load_yaml(text.encode()) != {**content, name: value}:
            return ELSEWHERE
        self.text, self.edits = text, self.edits + 1
        return ""

    def in_command(self, edit: SettingEdit) -> SettingEdit:
        """The edit for the command, whose object takes the place of that of the file."""
        held = _object(self.content[self.key_of(edit.name)])
        return replace(edit, fields=merged_fields(held, edit.fields)) if held and edit.fields else edit

    def _with(self, name: str, value: object) -> str | None:
        """The text with another value of a key, or without it; None where that cannot be written there."""
        roots = yaml_documents(self.text)
        pairs = roots[0].pairs or () if len(roots) == 1 else ()
        key, node = next((pair for pair in pairs if pair[0].text == name), (None, None))
        if key is None or node is None:
            return None
        if value is None:
            before = end_before([one for _, one in pairs], key.start)
            return without(self.text, key.start, node.behind, before, is_pair=not roots[0].is_flow)
        if not isinstance(value, dict):
            return replaced(self.text, node, value) if node.is_scalar else None
        if node.is_flow:
            return self.text[: node.start] + json.dumps(value) + self.text[node.end :]
        text, there = self.text, list(node.pairs or ())
        held = {key.text: one for key, one in there}
        for field, item in reversed(value.items()):  # what stands behind is written first
            if there and field not in held:
                text = with_key(text, *there[-1], field, f" {yaml_text(item, None)}") or text
        for field, item in reversed(value.items()):
            if field in held and held[field].is_scalar:
                text = replaced(text, held[field], item)
        return text


def _value(words: tuple[str, ...]) -> object:
    """The words of a flag as a value of YAML: a switch is true."""
    values = [parse_json(word) if word[:1] in {"{", "["} else parse_value(word) for word in words]
    return True if not values else values[0] if len(values) == 1 else values


def _object(value: object) -> Mapping[str, object] | None:
    """An object of the file, or the text of one; None of another value."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = parse_json(value)
    return value if isinstance(value, dict) else None
