"""Models are found by what a name says, word by word, or by their sizes: all decisive ones agree."""

import pytest

from kg.errors import AmbiguousEntityError, UnknownEntityError, UnsizedModelError
from kg.nouns.knowledge import Model, ModelFamily
from kg.triples.graph import GraphStore
from kg.triples.model_finder import FoundModel, ModelSearch, find_model, models_of_size
from kg.triples.names import Names
from kg.triples.serialisation import to_triples
from tests.samples.hardware_nodes import facts

SIZES = {"hidden_size": 4096, "layers": 32, "attention_heads": 32}


@pytest.fixture(scope="module")
def store() -> GraphStore:
    store = GraphStore()
    models = {
        "dense": {**SIZES, "kv_heads": 8, "vocabulary_size": 32000},
        "deeper": {**SIZES, "layers": 40},
        "long-deeper": {**SIZES, "layers": 40, "max_positions": 8192},
        "mixture": {**SIZES, "experts": 8},
    }
    for name, stated in models.items():
        model = Model(
            id=name,
            labels={"en": name},
            family="f",
            architecture="decoder",
            facts=facts(**stated),
        )
        store.extend(to_triples(model))
    return store


@pytest.mark.parametrize(
    ("told", "models"),
    [
        ({}, ("dense",)),
        ({"layers": 40}, ("deeper", "long-deeper")),
        ({"layers": 40, "max_positions": 8192}, ("long-deeper", "deeper")),
        ({"layers": 41}, ()),
        ({"kv_heads": 8}, ("dense",)),
        ({"kv_heads": 4}, ()),
        ({"vocabulary_size": 32768}, ("dense",)),  # launches pad it
        ({"vocabulary_size": 128256}, ()),  # but not so far
        ({"vocabulary_size": 31999}, ()),  # and never cut it
        ({"experts": 8}, ("mixture", "dense")),  # of which dense says nothing
        ({"experts": 16}, ("dense",)),
        ({"batch": "many"}, ("dense",)),
    ],
)
def test_sizes_name_the_models_that_agree(
    store: GraphStore, told: dict[str, object], models: tuple[str, ...]
) -> None:
    assert models_of_size(store, {**SIZES, **told}) == models


@pytest.mark.parametrize("name", sorted(SIZES))
def test_without_a_decisive_size_nothing_is_named(store: GraphStore, name: str) -> None:
    assert models_of_size(store, {key: value for key, value in SIZES.items() if key != name}) == ()


@pytest.fixture(scope="module")
def zoo() -> GraphStore:
    store = GraphStore()
    for family, label in (("wolf", "Wolf"), ("fox", "Fox")):
        store.extend(to_triples(ModelFamily(id=family, labels={"en": label})))
    for name, family, parameters in (
        ("Wolf3-8B", "wolf", 8.2e9),
        ("Wolf3-30B-A3B", "wolf", 30.5e9),
        ("Wolf3-VL-8B", "wolf", 8.8e9),
        ("Wolf-V3", "wolf", 671e9),
        ("Wolf-V3.2", "wolf", 671e9),
        ("Wolf-M2.7", "wolf", 229e9),
        ("Fx4", "fox", 295e9),
        ("Fox-1.3B", "fox", 1.3e9),
        ("Fox-13B", "fox", 13e9),
        ("Fox-2.7B", "fox", 2.7e9),
        ("Fx4-preview", "fox", 295e9),
        ("Fox-Air-2", "fox", 106e9),
    ):
        store.extend(
            to_triples(
                Model(
                    id=name.lower().replace(".", "-"),
                    labels={"en": name},
                    family=family,
                    architecture="decoder",
                    facts=facts(parameters=parameters),
                )
            )
        )
    return store


def search(store: GraphStore, text: str) -> ModelSearch:
    return find_model(store, text, Names(store))


@pytest.mark.parametrize(
    ("text", "model", "passed_over"),
    [
        ("acme/Wolf3-8B-Instruct-2507-AWQ", "wolf3-8b", ()),
        ("wolf3_8b_tp2pp1", "wolf3-8b", ()),
        ("Wolf3-8B-Medusa", "wolf3-8b", ("medusa",)),
        ("wolf32_671b", "wolf-v3-2", ()),
        ("wolf_m2p7", "wolf-m2-7", ()),
        ("fox4_299b", "fx4", ()),
        ("Wolf-V3-Wolf3-8B", "wolf3-8b", ("wolf", "v3")),
        ("fox_13b", "fox-13b", ()),
        ("fox_2_7b", "fox-2-7b", ()),
        ("Wolf-V3-Nightly", "wolf-v3", ("nightly",)),
    ],
)
def test_family_version_and_size_say_the_network(
    zoo: GraphStore, text: str, model: str, passed_over: tuple[str, ...]
) -> None:
    (found,) = search(zoo, text).matches
    assert (found.id, found.passed_over) == (model, passed_over)
    assert found.base is (text == "Wolf-V3-Wolf3-8B")


@pytest.mark.parametrize("text", ["Wolf3-Omni", "Wolf-V3-Flash", "Fox-Omni", "acme/Wolf-V4"])
def test_another_network_of_a_family_is_not_taken_for_one_that_is_known(zoo: GraphStore, text: str) -> None:
    assert search(zoo, text) == ModelSearch(family=True)
    with pytest.raises(UnsizedModelError, match="are not known") as caught:
        Names(zoo).model(text)
    assert caught.value.exit_code == 3
    assert "--config-json" in caught.value.hint


def test_a_size_that_a_family_lacks_is_refused_with_those_it_has(zoo: GraphStore) -> None:
    assert search(zoo, "Wolf3-70B").sizes == ("wolf3-8b", "wolf3-30b-a3b", "wolf-v3")
    with pytest.raises(UnknownEntityError, match="has no model of that size") as caught:
        Names(zoo).model("acme/Wolf3-70B-Instruct")
    assert caught.value.hint.startswith("it has wolf3-8b, wolf3-30b-a3b")
    assert caught.value.exit_code == 2


def test_a_name_without_its_size_is_asked_back_unless_there_is_one(zoo: GraphStore) -> None:
    with pytest.raises(AmbiguousEntityError) as caught:
        Names(zoo).model("acme/Fox-Instruct")
    assert caught.value.choices == ("fox-1-3b", "fox-2-7b", "fox-13b")
    assert search(zoo, "Wolf3-VL-AWQ").matches == (FoundModel(id="wolf3-vl-8b", is_unique=True),)
    found = Names(zoo).model("Wolf3-VL")
    assert (found.exact, found.note) == (
        False,
        "Wolf3-VL is taken as wolf3-vl-8b: no other size of it is known",
    )
    assert Names(zoo).model("Wolf3-VL-8B").exact


def test_a_point_in_a_size_is_not_passed_over(zoo: GraphStore) -> None:
    for text in ("Fox-27B", "Fox-0.27B"):
        assert search(zoo, text) == ModelSearch(sizes=("fox-1-3b", "fox-2-7b", "fox-13b"), family=True)
    assert search(zoo, "Wolf3-8.0B").matches == (FoundModel(id="wolf3-8b"),)


def test_a_name_that_fits_two_models_is_asked_back(zoo: GraphStore) -> None:
    zoo.extend(
        to_triples(
            Model(id="wolf3-next-8b", labels={"en": "Wolf3-Next-90B"}, family="wolf", architecture="x")
        )
    )
    zoo.extend(
        to_triples(Model(id="wolf3-air-8b", labels={"en": "Wolf3-Air-90B"}, family="wolf", architecture="x"))
    )
    with pytest.raises(AmbiguousEntityError) as caught:
        Names(zoo).model("Wolf3-90B")
    assert caught.value.choices == ("wolf3-air-8b", "wolf3-next-8b")


@pytest.mark.parametrize(
    ("text", "code"),
    [("bear", 2), ("Wolf-V4", 2), ("acme/bear-7b", 3), ("wulf3-8b", 2), ("acme/wulf3-8b", 2)],
)
def test_an_unknown_name_is_bad_input_unless_somebody_published_it(
    zoo: GraphStore, text: str, code: int
) -> None:
    with pytest.raises(UnknownEntityError) as caught:
        Names(zoo).model(text)
    assert caught.value.exit_code == code


def test_the_format_in_a_name_is_told(zoo: GraphStore) -> None:
    assert Names(zoo).model("acme/Wolf3-8B-GPTQ-Int4").weights == "w4a16"
    assert (
        Names(zoo).model("Wolf3-8B-Medusa").note
        == "Wolf3-8B-Medusa is taken as wolf3-8b: not known is medusa"
    )
    assert (
        Names(zoo).model("Wolf-V3-Wolf3-8B").note
        == "Wolf-V3-Wolf3-8B is taken as wolf3-8b, on which it is built"
    )
