"""Exports name models as others do, and what they say comes back as the same model."""

from pathlib import Path

from kg.nouns.knowledge import Model
from kg.rows.cases import all_cases
from kg.triples.serialisation import all_of
from recommender.store.lists.listings import as_published
from recommender.workspace.workspace import Workspace


def test_a_published_name_of_a_model_is_read_as_the_model(shipped_path: Path) -> None:
    with Workspace.open(shipped_path, cache=shipped_path.parent / "cache") as workspace:
        labels = {model.id: model.label for model in all_of(workspace.graph, Model)}
        read = {name: workspace.names.model(label) for name, label in labels.items()}
        cases = all_cases(workspace.graph, workspace.trials)
        published = {case.problem.workload.model for case in as_published(cases, workspace.graph)}
    assert {name: (model.id, model.exact) for name, model in read.items()} == {
        name: (name, True) for name in labels
    }
    assert labels["llama-3-1-8b"] == "Llama-3.1-8B"
    assert not {name for name in published & labels.keys() if name and labels[name] != name}
