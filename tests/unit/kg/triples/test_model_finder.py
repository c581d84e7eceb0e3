"""Models by name."""

from __future__ import annotations

from kg.nouns.knowledge import Model
from kg.triples.model_finder import ModelFinder
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples


def test_a_model_is_found_by_its_name_and_none_by_another() -> None:
    graph = OxigraphStore(None)
    model = Model(id="m-1", labels={"en": "M 1"}, family="m", architecture="decoder")
    graph.extend(to_triples(model))
    finder = ModelFinder(graph)
    assert finder.find("m-1") == model
    assert finder.find("m-1") is finder.find("m-1")
    assert finder.find("other") is finder.find(None) is finder.find("") is None
