"""What the layout of the code is judged by, which :mod:`tools.budgets` prints.

Modules of each folder, public class names that stand twice, imports that go round, names of settings.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import networkx as nx

from kg.terms.meanings import own_names, plain_name, programs, settings_of
from tools.source_tree import SourceModule

MOST_MODULES = 20
SCRIPTS = ("benchmarks", "tools", "examples")
SHORTEST = 5
"""Names of at most so many letters, such as ``dtype``, are words of other things too."""


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
