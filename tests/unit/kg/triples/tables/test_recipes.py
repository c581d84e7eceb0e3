"""Recipes keep the order of what they set in either engine, and their keys can be asked for."""

from kg.nouns.entities import Source
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, from_graph, to_triples


def setting(where: SettingPlace, key: str, value: str) -> RecipeSetting:
    return RecipeSetting(where=where, key=key, value=value)


RECIPE = Recipe(
    id="guide-decode",
    role=Role.DECODE,
    model="qwen3-8b",
    reported_model="Qwen3-8B-W8A8",
    family="qwen3-dense",
    hardware="ascend-a3",
    reported_hardware="A3",
    devices=8,
    nodes=2,
    instances=2,
    framework="vllm-ascend",
    version="v0.13.0",
    context=Settings({"input_len": 2048, "request_rate": 0.5, "dataset": "chat"}),
    precision="w8a8",
    layout=Settings({"tp": 2, "dp": 2, "ep": 4}),
    settings=(
        setting(SettingPlace.FLAG, "--z", "1"),
        setting(SettingPlace.ENV, "A", "1"),
        setting(SettingPlace.FLAG, "--z", "2"),
        setting(SettingPlace.JSON, "compilation_config.cudagraph_mode", "FULL"),
    ),
    title="decode node",
    source=Source(title="guide", url="https://example.org/guide", commit="abc", licence="MIT"),
    authority=Authority.VENDOR_CI,
)


def test_a_recipe_survives_the_graph() -> None:
    store = GraphStore()
    store.extend(to_triples(RECIPE))
    assert from_graph(store, Recipe, RECIPE.id) == RECIPE
    assert list(all_of(store, Recipe)) == [RECIPE]
