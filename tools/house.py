"""Prints the figures by which the layout of the code is judged; the last line is JSON.

``python -m tools.house`` counts: modules of the fullest folder, public class names that stand twice,
imports that go round (those for types alone counted too), modules above ``kg`` that import pyoxigraph,
places that put a question to the cost model together, places that name a setting, and lines of code.
"""

import argparse
import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import networkx as nx

from kg.terms.meanings import own_names, plain_name, programs, settings_of
from tools.source_tree import PACKAGES, SourceModule, modules

MOST_MODULES = 20
SCRIPTS = ("benchmarks", "tools", "examples")
QUESTION = "recommender.cost_model.question"
"""The one module that puts facts of model, device and server together."""
SHORTEST = 5
"""Names of at most so many letters, such as ``dtype``, are words of other things too."""
_PUT_TOGETHER = frozenset({"machine", "model_of"})
"""Functions that a question for the cost model is made with."""


def modules_by_folder(sources: Iterable[SourceModule]) -> Counter[str]:
    """Modules of each folder, ``__init__`` left out."""
    return Counter(str(item.path.parent) for item in sources if item.path.name != "__init__.py")


def shared_names(sources: Iterable[SourceModule]) -> dict[str, list[str]]:
    """Public class names that stand in more than one module, with the modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for item in sources:
        for node in item.classes:
            homes[node.name].append(item.name)
    return {name: places for name, places in sorted(homes.items()) if len(places) > 1}


def import_cycles(sources: Sequence[SourceModule]) -> list[list[str]]:
    """Groups of modules that import each other in a circle; an import for types alone counts as well."""
    names = {item.name for item in sources}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for item in sources:
        graph.add_edges_from((item.name, other) for other in item.imports if other in names - {item.name})
    return sorted(sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1)


def importers(sources: Iterable[SourceModule], library: str, *, outside: str) -> list[str]:
    """Modules outside a package that import a library."""
    return [
        item.name
        for item in sources
        if item.path.parts[0] != outside and any(name.split(".")[0] == library for name in item.imports)
    ]


def question_builders(sources: Iterable[SourceModule]) -> list[str]:
    """Modules that call what a question for the cost model is made of, beside the module that is its home."""
    found = []
    for item in sources:
        if item.name == QUESTION or item.name.startswith("recommender.cost_model.facts"):
            continue
        imported = {name.rpartition(".")[2] for name in item.imports if "cost_model" in name} & _PUT_TOGETHER
        calls = {
            node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            for node in ast.walk(item.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        }
        through = any(name.endswith("cost_model.estimate") for name in item.imports)
        if calls & _PUT_TOGETHER & (imported or (_PUT_TOGETHER if through else frozenset())):
            found.append(item.name)
    return found


def names_of_settings(sources: Iterable[SourceModule]) -> list[str]:
    """Places in the code that name a setting of a program, which ``data/settings`` should do alone."""
    own = {plain_name(name) for name in own_names()}
    known = {
        plain_name(name)
        for program in programs()
        for one in settings_of(program)
        for name in (one.key, *one.also)
        if len(plain_name(name)) > SHORTEST
    } - own.union(map(plain_name, programs()))
    return [
        f"{item.name}:{node.lineno} {node.value}"
        for item in sources
        for node in ast.walk(item.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and plain_name(node.value) in known
    ]


def figures() -> dict[str, object]:
    """All figures that need no run."""
    sources = modules()
    folders = modules_by_folder([*sources, *modules(*SCRIPTS)])
    fullest = max(folders, key=lambda name: folders[name])
    cycles = import_cycles(sources)
    lines: Counter[str] = Counter()
    for item in [*sources, *modules("tests", *SCRIPTS)]:
        lines[item.path.parts[0]] += item.code_lines
    return {
        "most_modules_in_a_folder": folders[fullest],
        "fullest_folder": fullest,
        "public_classes": sum(len(list(item.classes)) for item in sources),
        "public_class_names_twice": len(shared_names(sources)),
        "import_cycles": len(cycles),
        "modules_in_cycles": sum(len(group) for group in cycles),
        "pyoxigraph_above_kg": len(importers(sources, "pyoxigraph", outside="kg")),
        "question_builders": len(question_builders(sources)),
        "names_of_settings_in_code": len(names_of_settings(sources)),
        "lines_of_code": dict(sorted(lines.items())),
    }


def show(named: Mapping[str, Sequence[object]]) -> None:
    """Print the items behind the counts that should be zero."""
    for title, items in named.items():
        print(f"{title}: {len(items)}", file=sys.stderr)
        for item in items:
            print(f"  {item}", file=sys.stderr)


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    sources = modules(*PACKAGES)
    folders = modules_by_folder([*sources, *modules(*SCRIPTS)])
    show(
        {
            "folders with too many modules": [
                f"{name}: {count}" for name, count in folders.items() if count > MOST_MODULES
            ],
            "names that stand twice": [
                f"{name}: {', '.join(places)}" for name, places in shared_names(sources).items()
            ],
            "circles": [" <-> ".join(group) for group in import_cycles(sources)],
            "pyoxigraph above kg": importers(sources, "pyoxigraph", outside="kg"),
            "builders of a question for the cost model": question_builders(sources),
            "names of settings outside data/settings": names_of_settings(sources),
        }
    )
    print(json.dumps(figures()))


if __name__ == "__main__":
    main()
