"""Laws of the shipped tuning knowledge and of the effects that rest on it."""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml

import data
from ingest.knowledge.cross_references import check_knowledge
from ingest.knowledge.files import Noun, read_knowledge
from kg.nouns.knowledge import Bottleneck, Cause, Concept, Confidence, FaultPattern, Strategy
from kg.triples.names import normalise

SHARED = Path(os.environ.get("TUNEGRAPH_SHARED", Path(data.__file__).parents[2] / "shared")) / "data"
EFFECTS_TABLE = SHARED / "tuning_effects.csv"
FILES = ("bottlenecks", "strategies", "faults")
ROOTS = {"compute", "memory", "communication", "scheduling", "synchronisation", "data-loading"}
NOT_EFFECTS = {
    "t060",  # a cost in milliseconds without the time it is added to
    "late8",  # its baseline ran on half the devices
}


def nouns_of(folder: str) -> list[Noun]:
    return [noun for name in data.files(folder, ".yaml") for noun in read_knowledge(data.text(name), name)]


@cache
def sources_of(name: str) -> dict[str, dict[str, Any]]:
    text = data.text(f"knowledge/{name}.yaml")
    tree: dict[str, dict[str, dict[str, Any]]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return tree["sources"]


def effects() -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.text("cases/effects.jsonl").splitlines()]


KNOWLEDGE = nouns_of("knowledge")
BOTTLENECKS = [noun for noun in KNOWLEDGE if isinstance(noun, Bottleneck)]
CAUSES = [noun for noun in KNOWLEDGE if isinstance(noun, Cause)]
CAUSAL: list[Bottleneck | Cause] = [*BOTTLENECKS, *CAUSES]
STRATEGIES = [noun for noun in KNOWLEDGE if isinstance(noun, Strategy)]
FAULTS = [noun for noun in KNOWLEDGE if isinstance(noun, FaultPattern)]
EFFECTS = effects()


def causal_graph() -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    for noun in CAUSAL:
        graph.add_edges_from((noun.id, edge.cause) for edge in noun.caused_by)
    return graph


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


def repeated(values: Iterable[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_references_resolve_in_the_files_together() -> None:
    everything = [*KNOWLEDGE, *nouns_of("hardware"), *nouns_of("models")]
    assert check_knowledge(everything) == []


def test_bottlenecks_and_causes_share_one_space_of_ids() -> None:
    assert repeated(noun.id for noun in CAUSAL) == []


def test_the_roots_are_the_six_of_the_format() -> None:
    assert {noun.id for noun in BOTTLENECKS if noun.broader is None} == ROOTS


def test_causes_form_no_circle_and_reach_three_deep() -> None:
    graph = causal_graph()
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.dag_longest_path_length(graph) >= 3


def test_below_every_root_but_data_loading_causes_run_three_deep() -> None:
    graph = causal_graph()
    root_of = {noun.id: noun.broader for noun in BOTTLENECKS}
    deep = set()
    for noun in BOTTLENECKS:
        top = noun.id
        while (above := root_of[top]) is not None:
            top = above
        if noun.id in graph:
            reached = nx.single_source_shortest_path_length(graph, noun.id)
            if max(reached.values()) >= 2:
                deep.add(top)
    assert deep == ROOTS - {"data-loading"}  # nobody published more than one step there


def test_every_cause_is_the_cause_of_something() -> None:
    graph = causal_graph()
    assert [noun.id for noun in CAUSES if noun.id not in graph or not graph.in_degree(noun.id)] == []


def test_soft_thresholds_are_finite_and_not_hard() -> None:
    for noun in BOTTLENECKS:
        for symptom in noun.symptoms:
            assert math.isfinite(symptom.threshold), noun.id
            assert symptom.softness > 0, noun.id
            shares = symptom.metric.endswith(("_share", "_utilisation"))
            assert not shares or 0 < symptom.threshold < 1, (noun.id, symptom.metric)


def test_one_source_says_what_shows_one_metric_once() -> None:
    rows = [
        f"{noun.id} {symptom.metric} {symptom.source.title} {symptom.threshold}"
        for noun in BOTTLENECKS
        for symptom in noun.symptoms
    ]
    assert repeated(rows) == []


@pytest.mark.parametrize("nouns", [BOTTLENECKS, CAUSES, STRATEGIES, FAULTS], ids=lambda nouns: nouns[0].id)
def test_names_are_bilingual_and_lead_to_one_noun(nouns: Sequence[Concept]) -> None:
    for noun in nouns:
        assert set(noun.labels) == {"en", "zh"}, noun.id
        assert noun.labels["en"].isascii(), noun.id
        assert is_chinese(noun.labels["zh"]), noun.id
    owners: dict[str, set[str]] = {}
    for noun in nouns:
        for name in (noun.id, *noun.labels.values(), *noun.aliases):
            owners.setdefault(normalise(name), set()).add(noun.id)
    assert {name: ids for name, ids in owners.items() if len(ids) > 1} == {}


@pytest.mark.parametrize("nouns", [BOTTLENECKS, CAUSES, STRATEGIES, FAULTS], ids=lambda nouns: nouns[0].id)
def test_no_alias_repeats_a_name_of_its_noun(nouns: Sequence[Concept]) -> None:
    for noun in nouns:
        names = [normalise(name) for name in (*noun.labels.values(), *noun.aliases)]
        assert repeated(names) == [], noun.id


def test_what_a_fault_says_is_said_in_both_languages() -> None:
    for fault in FAULTS:
        for text in (fault.cause, fault.remedy):
            assert set(text) == {"en", "zh"}, fault.id
            assert is_chinese(text["zh"]), fault.id


def test_a_code_or_text_belongs_to_one_fault() -> None:
    assert repeated(code for fault in FAULTS for code in fault.codes) == []
    assert repeated(text for fault in FAULTS for text in fault.patterns) == []


def test_only_claims_rest_on_a_source_without_an_address() -> None:
    for noun in CAUSAL:
        for edge in noun.caused_by:
            assert edge.source.url or edge.confidence is Confidence.LOW, (noun.id, edge.cause)
    for fault in FAULTS:
        assert fault.source.url or fault.confidence is Confidence.LOW, fault.id
    for strategy in STRATEGIES:
        assert strategy.sources, strategy.id
        if not any(source.url for source in strategy.sources):
            assert strategy.kind == "claimed", strategy.id


def test_a_source_id_means_one_source_in_all_files() -> None:
    address: dict[str, object] = {}
    for name in FILES:
        for identifier, source in sources_of(name).items():
            assert address.setdefault(identifier, source.get("url")) == source.get("url"), identifier
            assert source.get("url", "https://").startswith("https://"), identifier


def test_sources_without_an_address_say_that_they_are_claims() -> None:
    for name in FILES:
        for identifier, source in sources_of(name).items():
            assert ("url" in source) is not identifier.startswith("seed-"), identifier
            assert "url" in source or "claim" in source["note"], identifier


def test_parameters_are_canonical_and_flags_spell_them() -> None:
    for strategy in STRATEGIES:
        for item in strategy.sets:
            assert not item.parameter.startswith("-"), strategy.id
            assert "-" not in item.parameter, strategy.id
            if item.flag:
                assert item.flag.lstrip("-").replace("-", "_") == item.parameter, strategy.id
            assert item.environment <= item.parameter.isupper(), strategy.id


def test_no_strategy_excludes_what_it_requires() -> None:
    for strategy in STRATEGIES:
        needed = {item.target for item in strategy.requires if item.target}
        excluded = {item.target for item in strategy.conflicts_with if item.target}
        assert not needed & excluded, strategy.id
        assert strategy.id not in needed | excluded


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("flashcomm", "8192"),
        ("grouped-matmul", "32768"),
        ("expert-parallel", "A2"),
        ("speculative-decoding", "chunked prefill"),
        ("context-parallel", "memory is not short"),
    ],
)
def test_the_conditions_under_which_a_sign_flips_are_kept(strategy: str, words: str) -> None:
    (found,) = [noun for noun in STRATEGIES if noun.id == strategy]
    texts = [item.text for item in found.caveats] + [item.reason for item in found.applies_when]
    assert any(words in text for text in texts)


def test_full_decode_graphs_go_with_multi_token_prediction() -> None:
    (found,) = [noun for noun in STRATEGIES if noun.id == "full-decode-graph"]
    assert "multi-token-prediction" not in {item.target for item in found.conflicts_with}


@pytest.mark.parametrize(
    ("bottleneck", "strategies"),
    [
        ("normalisation-traffic", {"fused-layer-norm", "fused-add-layer-norm"}),
        ("precision-excess", {"mixed-precision-o1", "mixed-precision-o2"}),
        ("activation-spill", {"selective-recompute", "gradient-checkpointing", "micro-batch-size"}),
        ("collective-wait", {"ddp-overlap"}),
        ("data-parallel-communication", {"ddp-overlap", "gradient-bucket-size", "gradient-accumulation"}),
        ("optimizer-traffic", {"fused-optimizer", "combine-gradients"}),
        ("slow-dataloader", {"data-prefetch", "pinned-memory"}),
    ],
)
def test_the_first_generation_trains_bert_with_these(bottleneck: str, strategies: set[str]) -> None:
    there = {
        strategy.id
        for strategy in STRATEGIES
        if any(item.target == bottleneck for item in strategy.mitigates)
        and (not strategy.phases or "training" in strategy.phases)
        and not set(strategy.hardware) & {"ascend-a2", "ascend-a3"}
    }
    assert strategies <= there


def test_effects_name_known_strategies_and_bottlenecks() -> None:
    strategies = {noun.id for noun in STRATEGIES}
    bottlenecks = {noun.id for noun in BOTTLENECKS}
    for case in EFFECTS:
        assert case["strategy"] in strategies, case["case_id"]
        assert case["bottleneck"] in bottlenecks, case["case_id"]
        assert case["kind"] == "published"
        assert case["source"]["url"].startswith("https://"), case["case_id"]


def test_an_effect_is_on_a_bottleneck_that_its_strategy_mitigates() -> None:
    mitigated = {noun.id: {item.target for item in noun.mitigates} for noun in STRATEGIES}
    for case in EFFECTS:
        assert case["bottleneck"] in mitigated[case["strategy"]], case["case_id"]


def test_effects_change_something_and_have_their_own_ids() -> None:
    assert repeated(case["case_id"] for case in EFFECTS) == []
    for case in EFFECTS:
        assert case["config"] != case["baseline"]["config"], case["case_id"]
        assert case["outcome"]["value"] > 0 < case["baseline"]["value"]


def gains(cases: Iterable[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Case id and gain in per cent; positive is better."""
    for case in cases:
        ratio = case["outcome"]["value"] / case["baseline"]["value"]
        gain = ratio - 1 if case["outcome"]["better"] == "higher" else 1 - ratio
        yield case["case_id"].removeprefix("effects/"), gain * 100


def test_what_was_tried_and_did_harm_is_among_the_effects() -> None:
    assert {name for name, gain in gains(EFFECTS) if gain < 0} == {"t015", "t022", "t043", "t047", "t125"}


@pytest.mark.skipif(not EFFECTS_TABLE.is_file(), reason="the material beside the project is not here")
def test_gains_are_those_of_the_source() -> None:
    with EFFECTS_TABLE.open(encoding="utf-8", newline="") as lines:
        published = {row["id"]: float(row["gain_percent"] or "nan") for row in csv.DictReader(lines)}
    found = dict(gains(EFFECTS))
    assert set(found) == set(published) - NOT_EFFECTS
    for name, gain in found.items():
        assert gain == pytest.approx(published[name], abs=0.2), name


def test_every_strategy_has_a_scope_and_every_setting_its_software() -> None:
    for strategy in STRATEGIES:
        assert strategy.families or strategy.hardware or strategy.applies_when, strategy.id
        assert bool(strategy.sets) is not bool(strategy.work), strategy.id
        assert all(item.software for item in strategy.sets), strategy.id


def test_gains_that_only_promotion_claims_are_claims() -> None:
    claims = [json.loads(line) for line in data.text("cases/claims.jsonl").splitlines()]
    strategies = {noun.id for noun in STRATEGIES}
    assert repeated(case["case_id"] for case in claims) == []
    for case in claims:
        assert (case["kind"], case["strategy"] in strategies) == ("claimed", True), case["case_id"]
        assert "url" not in case["source"]
