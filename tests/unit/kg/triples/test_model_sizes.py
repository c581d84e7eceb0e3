"""Models are named by their sizes: all decisive ones are told and agree, and no other contradicts."""

from __future__ import annotations

import pytest

from kg.nouns.entities import Source
from kg.nouns.knowledge import Confidence, Fact, FactKind, Model
from kg.triples.model_sizes import models_of_size
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples

SOURCE = Source(title="a document")
SIZES = {"hidden_size": 4096, "layers": 32, "attention_heads": 32}


@pytest.fixture(scope="module")
def store() -> OxigraphStore:
    store = OxigraphStore()
    models = {
        "dense": {**SIZES, "kv_heads": 8, "vocabulary_size": 32000},
        "deeper": {**SIZES, "layers": 40},
        "mixture": {**SIZES, "experts": 8},
    }
    for name, facts in models.items():
        model = Model(
            id=name,
            labels={"en": name},
            family="f",
            architecture="decoder",
            facts=tuple(
                Fact(
                    name=fact,
                    value=value,
                    source=SOURCE,
                    kind=FactKind.DOCUMENTED,
                    confidence=Confidence.HIGH,
                )
                for fact, value in facts.items()
            ),
        )
        store.extend(to_triples(model))
    return store


@pytest.mark.parametrize(
    ("told", "models"),
    [
        ({}, ("dense",)),
        ({"layers": 40}, ("deeper",)),
        ({"layers": 41}, ()),
        ({"kv_heads": 8}, ("dense",)),
        ({"kv_heads": 4}, ()),
        ({"vocabulary_size": 32768}, ("dense",)),  # launches pad it
        ({"experts": 8}, ("dense", "mixture")),  # of which dense says nothing
        ({"experts": 16}, ("dense",)),
        ({"batch": "many"}, ("dense",)),
    ],
)
def test_sizes_name_the_models_that_agree(
    store: OxigraphStore, told: dict[str, object], models: tuple[str, ...]
) -> None:
    assert models_of_size(store, {**SIZES, **told}) == models


@pytest.mark.parametrize("name", sorted(SIZES))
def test_without_a_decisive_size_nothing_is_named(store: OxigraphStore, name: str) -> None:
    assert models_of_size(store, {key: value for key, value in SIZES.items() if key != name}) == ()
