"""Writes ``docs/reference.md`` and ``docs/coverage.csv``: what ships, as tables.

``python -m tools.reference`` makes a workspace of what ships. The page lists the formats that are read,
settings by program, models by program and vendor of the chip, and the classes of the graph. A cell of the
coverage says the best of ``measured`` (a case is of the model), ``recipe`` (an official recipe is) and
``modelled`` (its layouts are priced there).
"""

import argparse
import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import rdflib
from rdflib import RDF, SH

import data
from ingest.formats.outputs.tool import tools
from ingest.formats.registry import FORMATS
from kg.nouns.entities import Kind
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, Cause, FaultPattern, HardwareProfile, Model, Strategy
from kg.nouns.recipe import Recipe
from kg.terms.setting_registry import registry, softwares
from kg.triples.model_facts import SIZED
from kg.triples.serialisation import all_of
from recommender.store.lists.support import SupportLevel, measured_problems, published_recipes, support
from recommender.workspace.workspace import Workspace
from tools.source_tree import ROOT

PAGE = ROOT / "docs" / "reference.md"
COVERAGE = ROOT / "docs" / "coverage.csv"
HEAD = """# Reference

Written by `python -m tools.reference` from what ships. Fields of each form are in
[formats.md](formats.md) and [knowledge-format.md](knowledge-format.md), settings by release in
`tunegraph kb list settings`, each model in
[coverage.csv](coverage.csv), each class and property in words in
[`data/ontology/tuning.ttl`](../data/ontology/tuning.ttl).
"""
_OURS = "https://w3id.org/tunegraph/ns#"
_LAYERED = frozenset({"layers", "hidden_size"})
"""Facts without which no layout of a model is priced."""


def coverage(workspace: Workspace) -> str:
    """The table as CSV: a model a row, a program on a vendor's chips a column."""
    graph, tree = workspace.graph, workspace.hardware
    found: dict[tuple[str, str, str], dict[str, SupportLevel]] = {}

    def add(evidence: tuple[str, str, str, str], level: SupportLevel) -> None:
        program, phase, device, model = evidence
        if path := tree.path(device):
            found.setdefault((program, phase, path[-1]), {}).setdefault(model, level)

    models = {item.id: {fact.name for fact in item.facts} for item in all_of(graph, Model)}
    for one in measured_problems(workspace.trials, all_of(graph, Framework)):
        add(one, SupportLevel.MEASURED)
    for one in published_recipes(graph):
        add(one, SupportLevel.RECIPE)
    for row in support(graph, workspace.trials, tree):
        for model, facts in models.items() if row.is_modelled else ():
            if facts >= _LAYERED:
                add((row.program, row.phase, row.chip, model), SupportLevel.MODELLED)
    columns = sorted(found)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["model", *(f"{program} {phase} on {vendor}" for program, phase, vendor in columns)])
    for model in sorted(models):
        levels = [str(found[column].get(model, "")) for column in columns]
        if any(levels):
            table.writerow([model, *levels])
    return text.getvalue()


def reference(workspace: Workspace, models: str) -> str:
    """The page, with the models of a coverage table counted."""
    cells = list(csv.reader(io.StringIO(models)))
    columns = list(zip(*cells[1:], strict=True))[1:]
    levels = (SupportLevel.MEASURED, SupportLevel.RECIPE, SupportLevel.MODELLED)
    covered = [
        f"|{name}|{'|'.join(str(column.count(level) or '') for level in levels)}|"
        for name, column in zip(cells[0][1:], columns, strict=True)
    ]
    settings = [
        f"|{name}|{len(held.settings):,}|{held.releases[0]} to {held.releases[-1]}|"
        for name, held in ((name, registry(name)) for name in sorted(softwares()))
        if held.software == name  # a variant goes by the releases of another
    ]
    parts = {
        "What ships": ["|what|how much|", "|---|---|", *counts(workspace)],
        "Formats of cases": [f"* {item.title}" for item in FORMATS],
        "Results of benchmarks and trainers": [f"* {tool.title}" for tool in tools()],
        "Settings": ["|program|settings|releases|", "|---|---|---|", *settings],
        "Models": ["|program, phase, vendor|measured|recipe|modelled|", "|---|---|---|---|", *covered],
        "Classes of the graph": list(_classes()),
    }
    body = "\n".join(f"\n## {title}\n\n" + "\n".join(lines) for title, lines in parts.items())
    return f"{HEAD}{body}\n"


def counts(workspace: Workspace) -> list[str]:
    """Numbers of entries in a workspace of the shipped knowledge, as rows of a table."""
    graph = workspace.graph
    hardware, models = list(all_of(graph, HardwareProfile)), list(all_of(graph, Model))
    sized = sum(bool(SIZED & {fact.name for fact in model.facts}) for model in models)
    patterns: list[Bottleneck | Cause] = [*all_of(graph, Bottleneck), *all_of(graph, Cause)]
    strategies, recipes = list(all_of(graph, Strategy)), list(all_of(graph, Recipe))
    faults, trials = list(all_of(graph, FaultPattern)), workspace.trials.counts()
    own = trials.kinds[Kind.MEASURED]
    return [
        f"|hardware|{len(hardware)} nodes, {sum(len(item.facts) for item in hardware):,} facts|",
        f"|models|{len(models)}, of which {sized} have sizes that a price can rest on|",
        f"|bottlenecks and causes|{len(patterns)}, with {sum(len(one.caused_by) for one in patterns)} edges|",
        f"|strategies|{len(strategies)}, {sum(bool(one.applies_when) for one in strategies)} conditional|",
        f"|official recipes|{len(recipes):,} in {len({one.family for one in recipes})} families|",
        f"|faults|{len(faults)}, with {sum(len(one.codes) for one in faults)} error codes|",
        f"|cases and effects|{trials.trials - own:,} published rows, {own:,} of our own sweeps|",
    ]


def _classes() -> Iterator[str]:
    """Each class with the properties that its shape names, then all other properties."""
    words, shapes = (
        rdflib.Graph().parse(data=data.text(f"ontology/{name}.ttl")) for name in ("tuning", "shapes")
    )
    named: dict[str, set[str]] = {str(one): set() for one in words.subjects(RDF.type, rdflib.RDFS.Class)}
    for shape, target in shapes.subject_objects(SH.targetClass):
        paths = {str(shapes.value(part, SH.path)) for part in shapes.objects(shape, SH.property)}
        named.setdefault(str(target), set()).update(path for path in paths if path.startswith(_OURS))
    for name, paths in sorted(named.items()):
        yield f"* **{_short(name)}** {', '.join(sorted(map(_short, paths)))}".rstrip()
    every = {str(one) for one in words.subjects(RDF.type, RDF.Property)}
    yield f"* others: {', '.join(sorted(map(_short, every - set().union(*named.values()))))}"


def _short(iri: str) -> str:
    return iri.removeprefix(_OURS)


def main() -> None:
    """Write the table."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, cache = Path(folder) / "workspace", Path(folder) / "cache"
        Workspace.create(place, cache=cache, text_model=None)
        with Workspace.open(place, cache=cache) as workspace:
            COVERAGE.write_text(models := coverage(workspace), encoding="utf-8")
            PAGE.write_text(reference(workspace, models), encoding="utf-8")


if __name__ == "__main__":
    main()
