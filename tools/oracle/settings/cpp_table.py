"""The table of arguments of llama.cpp (``common/arg.cpp``), read by regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.oracle.settings.source import Mined

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENTRY = re.compile(
    r"add_opt\(common_arg\(\s*\{(?P<names>[^}]*)\}(?P<rest>.*?)(?=add_opt\(common_arg\(|\Z)", re.DOTALL
)
_READER = re.compile(r"\[[^\]]*\]\(common_params &\s*\w*(?P<values>[^)]*)\)")
_USES = re.compile(r"\.set_(?P<kind>examples|excludes)\(\{(?P<programs>[^}]*)\}")
_VARIABLE = re.compile(r'\.set_env\("(\w+)"\)')


def table_arguments(folder: Path, name: str, program: str) -> Iterator[Mined]:
    """Flags and variables of one of the programs that share the table.

    Args:
        folder: The sources.
        name: The file.
        program: The program, as the table names it: ``"SERVER"``.
    """
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for entry in _ENTRY.finditer(text):
        uses = {match["kind"]: match["programs"] for match in _USES.finditer(entry["rest"])}
        wanted = {f"LLAMA_EXAMPLE_{program}", "LLAMA_EXAMPLE_COMMON"}
        named = set(re.findall(r"\w+", uses.get("examples", "LLAMA_EXAMPLE_COMMON")))
        if not wanted & named or f"LLAMA_EXAMPLE_{program}" in uses.get("excludes", ""):
            continue
        reader = _READER.search(entry["rest"])
        values = [part for part in reader["values"].split(",") if part.strip()] if reader else []
        kind = "bool" if not values else "int" if values[0].strip().startswith("int") else "str"
        names = re.findall(r'"([^"]+)"', entry["names"])
        line = text.count("\n", 0, entry.start()) + 1
        long = next((item for item in names if item.startswith("--")), names[0])
        yield Mined(
            key=long,
            place="flag",
            path=name,
            line=line,
            aliases=tuple(item for item in names if item != long),
            type=kind if len(values) < 2 else "list",
            nargs=len(values) if len(values) > 1 else None,
        )
        if variable := _VARIABLE.search(entry["rest"]):
            yield Mined(key=variable[1], place="env", path=name, line=line, type=kind)
