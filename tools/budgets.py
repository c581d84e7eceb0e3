"""Budgets of the features: what each holds now beside the mark that it may not grow past.

``python -m tools.budgets`` prints the table and fails where a figure grew past its mark. ``--lower`` sets
each mark to what is there now and a hundredth more, and never raises one. ``--add FEATURE --paid-by TEXT``
marks a row that is new in ``features.yaml``; the text names the deletion that makes room for it. A row keeps
the last of its texts, what stands behind the last semicolon; git log has those before. A mark is raised by
hand alone, and only where another goes down by as much in the same change. Lines saved by packing show
themselves, since lines of code stand beside all lines. It fails too where a class name stands twice, imports
go round or a folder holds too many modules.
"""

import argparse
import ast
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import yaml

from tools.house import (
    MOST_MODULES,
    SCRIPTS,
    import_cycles,
    modules_by_folder,
    names_of_settings,
    shared_names,
)
from tools.source_tree import PACKAGES, ROOT, SourceModule

Row: TypeAlias = dict[str, int]

COLUMNS = ("lines", "code", "rooms", "names", "chain", "words")
"""All lines and those of code, small rooms with one door, names of settings in the code, the longest chain of
classes, words of prose."""
ROOM = 110
"""Most lines of a small room, a module that one other alone imports."""
MARGIN = 0.01
"""Part of a figure that a mark leaves free: a choice, so that a mended fault needs no new mark."""
FEATURES = Path(__file__).with_name("features.yaml")
MARKS = Path(__file__).with_name("marks.yaml")
_HEADER = "# Made by `python -m tools.budgets --lower`; a new row by --add. See tools/budgets.py.\n"


_source = cache(SourceModule)
"""A module, parsed once."""


@cache
def folders_of_features() -> dict[str, str]:
    """Feature by folder or file."""
    table: dict[str, list[str]] = yaml.safe_load(FEATURES.read_text(encoding="utf-8"))
    return {folder: feature for feature, folders in table.items() for folder in folders}


def feature_of(path: str, folders: Mapping[str, str]) -> str | None:
    """The feature of a file, by the longest path that it begins with."""
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        if feature := folders.get("/".join(parts[:end])):
            return feature
    return None


def small_rooms(sources: Sequence[SourceModule]) -> list[SourceModule]:
    """Modules of few lines that exactly one other imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for item in sources:
        for name in set(item.imports) - {item.name}:
            importers[name].add(item.name)
    return [
        item
        for item in sources
        if item.path.name != "__init__.py"
        and len(item.text.splitlines()) <= ROOM
        and len(importers[item.name]) == 1
    ]


def class_chains(sources: Iterable[SourceModule]) -> dict[str, int]:
    """The longest chain of our own base classes, by module with classes."""
    bases: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    for item in sources:
        for node in item.classes:
            bases[node.name] = [one.id for one in node.bases if isinstance(one, ast.Name)]
            homes[node.name] = item.name

    def length(name: str) -> int:
        return 1 + max((length(one) for one in bases[name] if one in bases), default=0)

    longest: dict[str, int] = defaultdict(int)
    for name in bases:
        longest[homes[name]] = max(longest[homes[name]], length(name))
    return longest


def _listed(root: Path) -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    return [path for path in done.stdout.splitlines() if (root / path).is_file()]


def count(paths: Iterable[str], folders: Mapping[str, str], *, root: Path = ROOT) -> dict[str, Row]:
    """Figures by feature; a Python file of no feature is an error."""
    table: dict[str, Row] = {feature: dict.fromkeys(COLUMNS, 0) for feature in folders.values()}
    product: list[SourceModule] = []
    for path in paths:
        feature = feature_of(path, folders)
        if path.endswith(".py"):
            if feature is None:
                raise SystemExit(f"{path}: no feature has it; name its folder in tools/features.yaml")
            item = _source(Path(path), root)
            table[feature]["lines"] += len(item.text.splitlines())
            table[feature]["code"] += item.code_lines
            if item.path.parts[0] in PACKAGES:
                product.append(item)
        elif feature is not None and path.endswith(".md"):
            table[feature]["words"] += len((root / path).read_text(encoding="utf-8").split())
    home = {item.name: feature_of(str(item.path), folders) or "" for item in product}
    for item in small_rooms(product):
        table[home[item.name]]["rooms"] += 1
    for module, number in Counter(place.partition(":")[0] for place in names_of_settings(product)).items():
        table[home[module]]["names"] += number
    for module, length in class_chains(product).items():
        table[home[module]]["chain"] = max(table[home[module]]["chain"], length)
    return table


def lowered(mark: Row, figures: Row) -> Row:
    """A mark at what is there and a hundredth more, rounded up to ten lines; never above what it was."""
    return {column: min(mark[column], allowed(column, figures[column])) for column in COLUMNS}


def allowed(column: str, figure: int) -> int:
    """The mark of a figure: a hundredth above for lines and words, itself for what is counted one by one."""
    if column not in {"lines", "code", "words"}:
        return figure
    return math.ceil(figure * (1 + MARGIN) / 10) * 10


def grown(figures: Mapping[str, Row], marks: Mapping[str, Row]) -> list[str]:
    """One line for each figure that is past its mark, and for each feature without one."""
    past = [
        f"{feature}: {column} {row[column]}, mark {marks[feature][column]}"
        for feature, row in figures.items()
        if feature in marks
        for column in COLUMNS
        if row[column] > marks[feature][column]
    ]
    return past + [
        f"{feature}: no mark; python -m tools.budgets --add '{feature}' --paid-by 'WHAT WAS DELETED'"
        for feature in figures
        if feature not in marks
    ]


def disorder(paths: Iterable[str]) -> list[str]:
    """One line for each class name that stands twice, circle of imports, and folder of too many modules."""
    own = [path for path in paths if path.endswith(".py") and path.split("/")[0] in (*PACKAGES, *SCRIPTS)]
    sources = [_source(Path(path), ROOT) for path in own]
    product = [item for item in sources if item.path.parts[0] in PACKAGES]
    return [
        *(f"class {name} in {', '.join(homes)}" for name, homes in shared_names(product).items()),
        *(f"imports go round: {', '.join(circle)}" for circle in import_cycles(product)),
        *(
            f"{folder}: {number} modules, at most {MOST_MODULES}"
            for folder, number in modules_by_folder(sources).items()
            if number > MOST_MODULES
        ),
    ]


def drawn(figures: Mapping[str, Row], marks: Mapping[str, Row]) -> str:
    """The table: each figure, and its mark behind a slash."""
    lines = [f"{'feature':12}" + "".join(f"{column:>16}" for column in COLUMNS)]
    in_product = {
        feature for folder, feature in folders_of_features().items() if folder.split("/")[0] in PACKAGES
    }
    total = {
        column: (max if column == "chain" else sum)(
            [row[column] for feature, row in figures.items() if feature in in_product]
        )
        for column in COLUMNS
    }
    for feature, row in [*figures.items(), ("the product", total)]:
        mark = marks.get(feature)
        cells = (
            "" if not row[column] else f"{row[column]}/{mark[column]}" if mark else str(row[column])
            for column in COLUMNS
        )
        lines.append(f"{feature:12}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(lines)


def kept() -> tuple[dict[str, Row], dict[str, str]]:
    """Marks by feature, and what paid for each."""
    text = MARKS.read_text(encoding="utf-8") if MARKS.exists() else ""
    rows: dict[str, dict[str, int | str]] = yaml.safe_load(text) or {}
    marks = {name: {column: int(row[column]) for column in COLUMNS} for name, row in rows.items()}
    return marks, {name: str(row["paid_by"]) for name, row in rows.items()}


def _keep(marks: Mapping[str, Row], paid: Mapping[str, str]) -> None:
    rows = {name: {**row, "paid_by": paid[name].rpartition(";")[2].strip()} for name, row in marks.items()}
    MARKS.write_text(
        _HEADER + yaml.safe_dump(rows, sort_keys=False, default_flow_style=None, width=110), encoding="utf-8"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a figure is past its mark, or modules are in disorder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="lower the marks to what is there now")
    parser.add_argument("--add", metavar="FEATURE", help="mark a feature that has none")
    parser.add_argument("--paid-by", metavar="TEXT", help="the deletion that makes room for it")
    options = parser.parse_args(arguments)
    figures = count(_listed(ROOT), folders_of_features())
    marks, paid = kept()
    if options.add:
        if options.add not in figures or options.add in marks or not options.paid_by:
            parser.error("--add takes a feature of features.yaml without a mark, and --paid-by")
        marks[options.add] = {column: allowed(column, figures[options.add][column]) for column in COLUMNS}
        paid[options.add] = options.paid_by
    if options.lower:
        marks = {name: lowered(mark, figures[name]) for name, mark in marks.items() if name in figures}
    if options.add or options.lower:
        _keep(marks, paid)
    print(drawn(figures, marks))
    past = grown(figures, marks)
    for line in past:
        print(f"past its mark: {line}", file=sys.stderr)
    faults = disorder(_listed(ROOT))
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if past or faults else 0


if __name__ == "__main__":
    sys.exit(main())
