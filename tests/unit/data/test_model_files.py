"""Laws of the shipped model files: every name means one model, every fact has a page, sizes add up."""

import csv
import gzip
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import data
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.questions.checkpoints.model_facts import KINDS as KINDS_OF_ATTENTION
from kg.errors import MissingFactError, UnknownEntityError
from kg.terms.model_name import read_name
from recommender.cost_model.facts.model import ModelSizes, model_of

FILES = tuple(data.files("models", ".yaml"))
SHARED = Path(os.environ.get("TUNEGRAPH_SHARED", Path(data.__file__).parents[2] / "shared"))

ARCHITECTURES = {
    "encoder", "decoder", "encoder-decoder", "moe-decoder", "vision", "diffusion", "recommendation", "audio",
    "multimodal", "other",
}  # fmt: skip
FACTS = {
    "parameters", "active_parameters", "layers", "hidden_size", "intermediate_size", "attention_heads",
    "kv_heads", "head_dim", "vocabulary_size", "experts", "experts_per_token", "shared_experts",
    "moe_intermediate_size", "max_positions", "kv_lora_rank", "image_size", "flops_per_sample",
    "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "attention_kind",
    "full_attention_layers", "sliding_attention_layers", "linear_attention_layers", "sparse_attention_layers",
    "compressed_4_layers", "compressed_128_layers", "sliding_window", "sparse_top_k", "index_heads", "index_layers",
    "index_head_dim", "global_kv_heads", "global_head_dim", "linear_key_heads", "linear_value_heads",
    "linear_key_head_dim", "linear_value_head_dim", "dense_layers", "shared_intermediate_size", "embedding_table_bytes",
    "mtp_layers", "pooling", "weight_format", "embedding_tables", "embedding_rows", "embedding_dim",
}  # fmt: skip
WEIGHT_FORMATS = {"w4a16", "w8a8", "fp8", "mxfp4"}
"""Formats that the weights of a model are published in, where they are not of 16 bits."""
KINDS = {"measured", "documented", "config", "derived", "secondary", "claimed"}

APART = {
    f"nemotron-{name}"
    for name in ("3-nano", "3-ultra", "3-super", "3-5-lightning", "h-56b", "h-8b", "nano-12b-v2")
} | {"nvidia-nemotron-nano-9b-v2"}
"""Their feed-forward parts are layers of their own."""


def normalised(name: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKC", name).lower() if letter.isalnum())


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.load(data.text(name), Loader=yaml.CSafeLoader)
    return content


def stated(model: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Facts of an entry by name, each source's own where two disagree; the largest value first."""
    facts = model.get("facts", {}).items()
    rows = [(name, one) for name, fact in facts for one in (fact if isinstance(fact, list) else [fact])]
    return sorted(rows, key=lambda row: (row[0], -row[1]["value"] if isinstance(row[1]["value"], int) else 0))


DOCUMENTS = {name: load(name) for name in FILES}
MODELS: list[tuple[str, dict[str, Any]]] = [
    (name, model) for name, content in DOCUMENTS.items() for model in content["models"]
]
FAMILIES = [family for content in DOCUMENTS.values() for family in content["families"]]
VALUES = {model["id"]: {name: fact["value"] for name, fact in stated(model)} for _, model in MODELS}


def names_of(model: dict[str, Any]) -> set[tuple[str, float | None]]:
    spelt = [*model["label"].values(), *model.get("aliases", [])]
    return {(normalised(name), read_name(name).size) for name in spelt}


@cache
def resolve(name: str) -> str | None:
    try:
        found = ShippedKnowledge.load().names.model(name)
    except UnknownEntityError:
        return None
    return found.id if found.exact else None


def test_ids_are_unique_slugs() -> None:
    for ids in ([model["id"] for _, model in MODELS], [family["id"] for family in FAMILIES]):
        assert [name for name, count in Counter(ids).items() if count > 1] == []
        assert [name for name in ids if name != name.lower() or not name.replace("-", "").isalnum()] == []


def test_every_name_means_one_model() -> None:
    meant: dict[tuple[str, float | None], set[str]] = {}
    for _, model in MODELS:
        for name in names_of(model):
            meant.setdefault(name, set()).add(model["id"])
    assert {name: ids for name, ids in meant.items() if len(ids) > 1 or not name[0]} == {}
    assert {model["id"] for _, model in MODELS if resolve(model["id"]) != model["id"]} == set()


def test_families_and_architectures_exist() -> None:
    known = {family["id"] for family in FAMILIES}
    assert {model["family"] for _, model in MODELS} == known
    assert {model["architecture"] for _, model in MODELS} <= ARCHITECTURES


def test_no_label_is_repeated_as_alias() -> None:
    repeated = []
    for _, model in MODELS:
        label = normalised(model["label"]["en"])
        aliases = [normalised(alias) for alias in model.get("aliases", [])]
        repeated += [model["id"]] if label in aliases or len(set(aliases)) < len(aliases) else []
    assert repeated == []


@pytest.mark.parametrize("name", FILES)
def test_sources_can_be_opened_and_are_used(name: str) -> None:
    content = DOCUMENTS[name]
    cited = {fact["source"] for model in content["models"] for _, fact in stated(model)}
    assert cited == set(content["sources"])
    for source in content["sources"].values():
        assert source["url"].startswith("https://")
        assert source["title"]


def test_facts_are_positive_numbers_of_a_known_kind() -> None:
    for _, model in MODELS:
        for name, fact in stated(model):
            assert name in FACTS, model["id"]
            if name == "weight_format":
                assert fact["value"] in WEIGHT_FORMATS, model["id"]
            elif name == "attention_kind":
                assert set(fact["value"].split("+")) <= set(KINDS_OF_ATTENTION), model["id"]
            else:
                assert isinstance(fact["value"], int), (model["id"], name)
                assert fact["value"] > 0, (model["id"], name)
            assert fact["kind"] in KINDS
            assert fact["confidence"] in {"high", "medium", "low"}


def test_layers_of_all_kinds_of_attention_are_all_layers() -> None:
    for model, fact in VALUES.items():
        split = [fact[name] for name in fact if name.endswith("_attention_layers")]
        if split and "layers" in fact:
            assert (sum(split) < fact["layers"]) == (model in APART), model
            assert sum(split) <= fact["layers"], model
        if "compressed_4_layers" in fact:
            assert fact["compressed_4_layers"] + fact["compressed_128_layers"] <= fact["layers"], model
        kinds = str(fact.get("attention_kind", "full")).split("+")
        assert ("kv_lora_rank" in fact) == ("latent" in kinds) or "attention_kind" not in fact, model
        assert ("sliding_window" in fact) <= bool({"sliding", "compressed"} & set(kinds)), model


def test_groups_and_experts_are_consistent() -> None:
    for model, fact in VALUES.items():
        if {"attention_heads", "kv_heads"} <= fact.keys():
            assert fact["attention_heads"] % fact["kv_heads"] == 0, model
        if "experts" in fact:
            assert fact["experts_per_token"] < fact["experts"], model
        if {"parameters", "active_parameters"} <= fact.keys():
            assert fact["active_parameters"] < fact["parameters"], model


SIZED = re.compile(r"(?<![A-Za-z\d.])(\d+(?:\.(\d+))?)([BM])(?![a-z])")
"""A number of parameters in a name: not that of a token (A3B), nor that of an expert (8x7B)."""
BY_NAME = {"mpt-70b", "llama-30b", "gemma-7b"}
"""Models whose name is further from their parameters than any rounding: 64.9, 32.5 and 8.5 billion."""
BY_LAYER = {"decilm-7b"}
"""Groups of heads differ by layer; one number for all is stated."""


def sizes_of_models() -> Iterator[tuple[ModelSizes, str]]:
    for _, model in MODELS:
        with suppress(MissingFactError):
            sizes = model_of(model["id"], model["architecture"], VALUES[model["id"]])
            if sizes.layers and sizes.vocabulary and sizes.id not in BY_LAYER:
                yield sizes, model["label"]["en"]


def test_parameters_are_what_the_cost_model_makes_of_the_sizes() -> None:
    wrong, seen = {}, 0
    for sizes, _ in sizes_of_models():
        if sizes.known_parameters and not sizes.sees:
            table, seen = sizes.vocabulary * sizes.hidden, seen + 1
            implied = (sizes.parameters, sizes.parameters + table)  # with tied and with separate tables
            if min(abs(total / sizes.known_parameters - 1) for total in implied) > 0.08:
                wrong[sizes.id] = (sizes.known_parameters, implied)
    assert wrong == {}
    assert seen >= 230


def test_a_name_says_what_the_sizes_imply() -> None:
    """A name counts with or without the tables of the vocabulary, to 5 % or to its last digit."""
    wrong, seen = {}, 0
    for sizes, label in sizes_of_models():
        if (found := SIZED.findall(label)) and sizes.id not in BY_NAME:
            number, decimals, unit = found[-1]
            one, seen = {"B": 1e9, "M": 1e6}[unit], seen + 1
            named, last = float(number) * one, one / 10 ** len(decimals)
            near = max(0.05 * named, last / 2)
            table = sizes.vocabulary * sizes.hidden
            least = sizes.parameters - table
            most = (
                least + (sizes.embeddings if sizes.known_parameters else 2) * table + sizes.tower_parameters
            )
            if not least - near <= named <= most + near:
                wrong[sizes.id] = (named, least, most)
    assert wrong == {}
    assert seen >= 220


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen3-32B-W8A8", "qwen3-32b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("Llama3-8B", "llama-3-8b"),
        ("llama3_8b", "llama-3-8b"),
        ("vllm-ascend/DeepSeek-R1-0528-W8A8", "deepseek-r1"),
        ("bert-large-uncased", "bert-large"),
        ("盘古", "pangu"),
    ],
)
def test_usual_spellings_resolve(name: str, model: str) -> None:
    assert resolve(name) == model


def test_every_shipped_case_names_a_known_model() -> None:
    unknown = set()
    for file in data.files("cases", ".jsonl"):
        for line in data.text(file).splitlines():
            name = json.loads(line)["task"].get("model")
            if name and resolve(name) is None:
                unknown.add((file, name))
    assert unknown == set()


needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the material beside the project is not here")


@needs_shared
def test_every_model_of_the_case_corpora_is_known() -> None:
    met: set[str] = set()
    for path in sorted((SHARED / "data" / "cases").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            first = next(lines)
            if '"model":' not in first:
                continue
            met |= {json.loads(line)["task"]["model"] for line in (first, *lines)}
    for name in ("ascend_endtoend.csv", "ascend_expert_configs.csv"):
        with (SHARED / "data" / name).open(encoding="utf-8", newline="") as rows:
            met |= {row["model"] for row in csv.DictReader(rows)}
    assert len(met) > 300
    assert {name for name in met if resolve(name) is None} == set()


@needs_shared
def test_layer_sizes_agree_with_a_published_profile() -> None:
    names = {
        "n_embd": "hidden_size",
        "n_head": "attention_heads",
        "n_kv_head": "kv_heads",
        "n_ff": "intermediate_size",
    }
    path = SHARED / "data" / "cases" / "vidur_tp_layer_times.jsonl.gz"
    profiled = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            task = json.loads(line)["task"]
            profiled[task["model"]] = {names[key]: task["shape"][key] for key in names}
    assert len(profiled) == 7
    for name, sizes in profiled.items():
        model = resolve(name)
        assert model is not None
        assert {key: VALUES[model][key] for key in sizes} == sizes, name
