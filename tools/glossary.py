"""Writes docs/glossary.md: every public noun, its one home, its units, and what it is in one line.

``python -m tools.glossary`` writes the page, ``--check`` only says whether it is stale (exit 1). The nouns
are the public classes of ``kg.nouns``; the line is the first of the class's docstring; units are those that
the names of its fields carry.
"""

import argparse
import ast
import sys
from dataclasses import dataclass

from tools.source_tree import ROOT, modules

PAGE = ROOT / "docs" / "glossary.md"
UNITS = {
    "_bytes": "B",
    "_s": "s",
    "_ms": "ms",
    "_us": "us",
    "_mhz": "MHz",
    "_w": "W",
    "_j": "J",
    "_wh": "Wh",
    "_g": "g",
    "_g_per_kwh": "gCO2/kWh",
    "_per_hour": "1/h",
    "_bytes_per_s": "B/s",
}
"""Endings of field names, and the unit each stands for; the longest that fits counts."""

_HEAD = """# Glossary

The words of the code under the one module that defines them, with the units of their fields in brackets.
`python -m tools.glossary` makes this page from the code; a test fails when it is stale.
"""


@dataclass(frozen=True, slots=True)
class Term:
    """One word.

    Attributes:
        name: The class.
        home: Module that defines it.
        line: First line of its docstring.
        units: Units of its fields.
    """

    name: str
    home: str
    line: str
    units: tuple[str, ...]

    def __str__(self) -> str:
        units = f" [{', '.join(self.units)}]" if self.units else ""
        return f"* `{self.name}`{units}: {self.line}"


def term(node: ast.ClassDef, home: str) -> Term:
    """The word that a class is."""
    doc = ast.get_docstring(node) or ""
    fields = [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    units = list(dict.fromkeys(unit for name in fields if (unit := _unit(name))))
    if "nats" in doc and "nats" not in units:
        units.append("nats")
    return Term(node.name, home, doc.split("\n", maxsplit=1)[0], tuple(units))


def _unit(name: str) -> str:
    endings = [ending for ending in UNITS if name.endswith(ending)]
    return UNITS[max(endings, key=len)] if endings else ""


def nouns() -> list[Term]:
    """The public classes of ``kg.nouns``."""
    return sorted(
        (
            term(node, item.name)
            for item in modules()
            if item.name.startswith("kg.nouns.")
            for node in item.classes
        ),
        key=lambda one: one.name,
    )


def page() -> str:
    """The page."""
    parts, terms = [_HEAD], nouns()
    for home in sorted({one.home for one in terms}):
        parts.append(f"\n## `{home}`\n\n")
        parts += [f"{one}\n" for one in terms if one.home == home]
    return "".join(parts)


def main() -> None:
    """Write the page, or say that it is stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    options = parser.parse_args()
    text = page()
    if options.check:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit("docs/glossary.md is stale: run python -m tools.glossary")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
