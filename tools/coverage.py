"""Writes ``docs/coverage.csv``: how well each model is supported by program, phase and vendor of the chip.

``python -m tools.coverage`` makes a workspace of what ships. A cell says the best of ``measured`` (a case is
of the model), ``recipe`` (an official recipe is) and ``modelled`` (its layouts are priced there).
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from pathlib import Path

from kg.nouns.framework import Framework
from kg.nouns.knowledge import Model
from kg.nouns.recipe import Recipe
from kg.triples.serialisation import all_of
from recommender.store.lists.support import SupportLevel, measured_problems, published_recipes, support
from recommender.workspace.workspace import Workspace
from tools.source_tree import ROOT

PAGE = ROOT / "docs" / "coverage.csv"
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
    for one in published_recipes(all_of(graph, Recipe)):
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


def main() -> None:
    """Write the table."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, cache = Path(folder) / "workspace", Path(folder) / "cache"
        Workspace.create(place, cache=cache, text_model=None)
        with Workspace.open(place, cache=cache) as workspace:
            PAGE.write_text(coverage(workspace), encoding="utf-8")


if __name__ == "__main__":
    main()
