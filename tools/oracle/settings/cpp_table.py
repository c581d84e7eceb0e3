"""The table of arguments of llama.cpp (``common/arg.cpp``), read by regular expressions.

Defaults are those of the record that the arguments fill (``common/common.h``).
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.oracle.settings.source import Mined

_ENTRY = re.compile(
    r"add_opt\(common_arg\(\s*\{(?P<names>[^}]*)\}(?:,\s*\{(?P<off>[^}]*)\})?(?P<rest>.*?)(?=add_opt\(common_arg\(|\Z)",
    re.DOTALL,
)
_READER = re.compile(r"\[[^\]]*\]\((?:common|gpt)_params &\s*\w*(?P<values>[^)]*)\)")
_USES = re.compile(r"\.set_(?P<kind>examples|excludes)\(\{(?P<programs>[^}]*)\}")
_VARIABLE = re.compile(r'\.set_env\("(\w+)"\)')
_KEPT = r"params\.([\w.]+)\s*=\s*(?:std::sto\w+\()?{}\)?;"
_RECORD = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^    (?:enum |struct )?([\w:]+)\s+(\w+)\s*(?:=\s*([^;{]+?))?\s*;", re.MULTILINE)
_ROOTS = {"common_params", "gpt_params"}
_KINDS = {"bool": "bool", "float": "float", "double": "float", "std::string": "str"} | dict.fromkeys(
    ("int", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t", "uint16_t"), "int"
)


def table_arguments(folder: Path, name: str, program: str) -> Iterator[Mined]:
    """Flags and variables of one of the programs that share the table.

    Args:
        folder: The sources.
        name: The file.
        program: The program, as the table names it: ``"SERVER"``.
    """
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    header = path.with_name("common.h")
    records = {
        record: {field: (kind, value) for kind, field, value in _FIELD.findall(body)}
        for record, body in _RECORD.findall(header.read_text(encoding="utf-8") if header.is_file() else "")
    }
    for field, value in re.findall(rf"ex == LLAMA_EXAMPLE_{program}\) \{{\s*params\.(\w+) = ([^;]+);", text):
        for record in records.keys() & _ROOTS:  # where the program changes what the record states
            records[record][field] = (records[record].get(field, ("", ""))[0], value)
    for entry in _ENTRY.finditer(text):
        uses = {match["kind"]: match["programs"] for match in _USES.finditer(entry["rest"])}
        wanted = {f"LLAMA_EXAMPLE_{program}", "LLAMA_EXAMPLE_COMMON"}
        named = set(re.findall(r"\w+", uses.get("examples", "LLAMA_EXAMPLE_COMMON")))
        if not wanted & named or f"LLAMA_EXAMPLE_{program}" in uses.get("excludes", ""):
            continue
        item = _flag(entry, records)
        item.path, item.line = name, text.count("\n", 0, entry.start()) + 1
        yield item
        if variable := _VARIABLE.search(entry["rest"]):
            yield Mined(key=variable[1], place="env", path=name, line=item.line, type=item.type)


def _flag(entry: re.Match[str], records: dict[str, dict[str, tuple[str, str]]]) -> Mined:
    reader = _READER.search(entry["rest"])
    values = [part for part in reader["values"].split(",") if part.strip()] if reader else []
    first = values[0].strip().split(" ")[0] if values else "bool"
    names, off = ([*re.findall(r'"([^"]+)"', text or "")] for text in (entry["names"], entry["off"]))
    long = next((item for item in names if item.startswith("--")), names[0])
    item = Mined(key=long, place="flag", path="", type={"bool": "bool", "int": "int"}.get(first, "str"))
    item.negation = next((name for name in off if name.startswith("--")), "")
    item.aliases = tuple(name for name in (*names, *off) if name not in {long, item.negation})
    if len(values) > 1:
        item.type, item.nargs = "list", len(values)
    elif not values:
        item.default, item.stated = False, True
    elif kept := re.search(_KEPT.format(values[0].split()[-1].lstrip("&")), entry["rest"]):
        kind, value = _stated(records, kept[1].split("."))
        if kind and not re.search(r'\w == "', entry["rest"]):  # no words beside a number
            item.type = kind
            item.default, item.stated = _value(kind, value)
    return item


def _stated(records: dict[str, dict[str, tuple[str, str]]], parts: list[str]) -> tuple[str, str]:
    """Type and default of a field of the record of parameters; empty where it is none of a plain type."""
    owner = next(iter(_ROOTS & records.keys()), "")
    for part in parts[:-1]:
        owner = records.get(owner, {}).get(part, ("", ""))[0]
    kind, value = records.get(owner, {}).get(parts[-1], ("", ""))
    return _KINDS.get(kind, ""), value


def _value(kind: str, text: str) -> tuple[object, bool]:
    plain = {"true": "True", "false": "False"}.get(text, text.rstrip("f") if kind == "float" else text)
    try:
        value = ast.literal_eval(plain)
    except (ValueError, SyntaxError):
        return None, False
    return (float(value) if kind == "float" else value), True
