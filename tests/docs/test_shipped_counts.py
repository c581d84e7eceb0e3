"""What docs/limits.md says of how much ships is what ships."""

from pathlib import Path

import pytest

from kg.nouns.entities import Kind
from kg.nouns.knowledge import Bottleneck, Cause, FaultPattern, HardwareProfile, Model, Strategy
from kg.nouns.recipe import Recipe
from kg.terms.setting_registry import registry, softwares
from kg.triples.model_facts import SIZED
from kg.triples.serialisation import all_of
from recommender.workspace.workspace import Workspace
from tools.coverage import PAGE as COVERAGE
from tools.coverage import coverage

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


@pytest.mark.long
def test_the_page_counts_what_ships(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "workspace", cache=tmp_path / "cache", text_model=None)
    with Workspace.open(tmp_path / "workspace", cache=tmp_path / "cache") as shipped:
        said = counts_of(shipped)
        table = coverage(shipped)
    text = PAGE.read_text(encoding="utf-8")
    assert [line for line in said if line not in text] == []
    assert COVERAGE.read_text(encoding="utf-8") == table


def counts_of(shipped: Workspace) -> tuple[str, ...]:
    """The lines of the page that count what a workspace holds."""
    graph = shipped.graph
    hardware, models = list(all_of(graph, HardwareProfile)), list(all_of(graph, Model))
    sized = sum(bool(SIZED & {fact.name for fact in model.facts}) for model in models)
    bottlenecks, causes = list(all_of(graph, Bottleneck)), list(all_of(graph, Cause))
    edges = sum(len(item.caused_by) for item in bottlenecks) + sum(len(item.caused_by) for item in causes)
    strategies, recipes = list(all_of(graph, Strategy)), list(all_of(graph, Recipe))
    settings = sum(len(registry(name).settings) for name in softwares())
    faults = list(all_of(graph, FaultPattern))
    counts = shipped.trials.counts()
    own = counts.kinds[Kind.MEASURED]
    return (
        f"| {len(hardware)} nodes, {sum(len(item.facts) for item in hardware):,} facts |",
        f"| {len(models)}, of which {sized} have sizes that a price can rest on |",
        f"| {len(bottlenecks)} and {len(causes)}, with {edges} sourced cause edges |",
        f"| {len(strategies)}, each with its scope ({sum(bool(s.applies_when) for s in strategies)} with",
        f"| {settings:,} of {len(softwares())} programs ",
        f"| {len(recipes):,} in {len({item.family for item in recipes})} families, ",
        f"| {len(faults)}, with {sum(len(item.codes) for item in faults)} error codes |",
        f"| {counts.trials - own:,} rows |",
        f"| {own:,} rows on three shapes |",
    )
