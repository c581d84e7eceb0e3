"""The fields of a Rust program's ``struct Args`` that clap makes options of, read by regular expressions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.oracle.settings.source import Mined

_STRUCT = re.compile(r"^struct Args \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"#\[clap\((?P<said>[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?P<name>\w+): (?P<kind>[\w<>:]+),")
_ENUM = r"enum {} \{{\n(.*?)^\}}"
_VARIANT = re.compile(r'(?:#\[clap\(name = "([^"]+)"\)\]\s*)?^\s+([A-Z]\w*),', re.MULTILINE)
_KINDS = {"bool": "bool", "f32": "float", "String": "str", "usize": "int"} | dict.fromkeys(
    ("u16", "u32", "u64", "i32"), "int"
)


def clap_arguments(folder: Path, name: str) -> Iterator[Mined]:
    """Options and variables of the program whose main file this is.

    Args:
        folder: The sources.
        name: The file.
    """
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = _STRUCT.search(text)
    for field in _FIELD.finditer(found[1]) if found else ():
        said, kind = field["said"], re.sub(r"^Option<(.*)>$", r"\1", field["kind"])
        item = Mined(key=f"--{field['name'].replace('_', '-')}", place="flag", path=name)
        item.line = text.count("\n", 0, (found.start(1) if found else 0) + field.start("name")) + 1
        item.type = "list" if kind.startswith("Vec<") else _KINDS.get(kind, "str")
        variants = re.search(_ENUM.format(kind), text, re.DOTALL | re.MULTILINE)
        item.choices = tuple(
            given or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", made).lower()
            for given, made in _VARIANT.findall(variants[1] if variants else "")
        )
        item.nargs = "?" if "num_args = 0..=1" in said else item.nargs
        if default := re.search(r'default_value = "([^"]*)"', said):
            told = default[1].capitalize() if item.type == "bool" else default[1]
            item.default = told if item.type == "str" else ast.literal_eval(told)
            item.stated = True
        elif kind == field["kind"] == "bool":
            item.default, item.stated = False, True
        yield item
        if re.search(r"\benv\b", said):
            yield Mined(key=field["name"].upper(), place="env", path=name, line=item.line, type=item.type)
