"""``tunegraph kb``: the knowledge asked, checked, added to, carried out and in."""

from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Triple

from kg.triples.graph import GraphStore
from kg.triples.iris import hardware_iri
from kg.triples.snapshots import publish
from kg.triples.vocabulary import RDF_TYPE, TG
from recommender.files import WorkspaceFiles


def test_stats_count_what_is_there(run: Any) -> None:
    stats = run("kb", "stats", "--json").json
    assert stats["knowledge"]["Strategy"] > 100
    assert stats["cases"]["rows"] == sum(stats["rows_by_kind"].values()) > 900
    table = run("kb", "stats")
    assert table.code == 0
    assert f"{stats['cases']['rows']:,}" in table.out


def test_what_its_shapes_do_not_allow_is_found(run: Any, toy_path: Path) -> None:
    ran = run("kb", "validate", "--json", workspace=toy_path)
    assert ran.code == 0
    assert ran.json == {"schema_version": 2, "conforms": True, "violations": []}
    nameless = Triple(hardware_iri("nameless"), RDF_TYPE, TG.HARDWARE_PROFILE)
    files = WorkspaceFiles(toy_path)
    with GraphStore(files.live) as graph:
        graph.extend([nameless])
        publish(graph, files.graph)
    broken = run("kb", "validate", workspace=toy_path)
    assert broken.code == 1
    assert "nameless" in broken.out


def test_the_catalogue_is_listed_and_asked_by_name(run: Any) -> None:
    listed = run("kb", "query", "--json").json
    assert listed["columns"] == ["query", "takes", "answers"]
    assert "cause-chain" in {row[0] for row in listed["rows"]}
    chain = run("kb", "query", "cause-chain", "--with", "bottleneck=collective-wait", "--json").json
    assert chain["rows"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nonsense",), "no query named 'nonsense'"),
        (("effects",), "the query effects takes bottleneck"),
        (("effects", "--with", "bottleneck"), "--with 'bottleneck': expected name=value"),
        (("SELECT * { ?s ?p",), "the query has a fault: line 1, column 17"),
        (("ASK { ?s ?p ?o }", "--with", "a=b"), "parameters go with a query of the catalogue"),
        (
            ("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", "--deadline", "0.2"),
            "did not end within 0.2 s",
        ),
    ],
)
def test_a_bad_query_is_one_line(run: Any, arguments: tuple[str, ...], says: str) -> None:
    ran = run("kb", "query", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.fault


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_is_a_number_of_seconds(run: Any, seconds: str) -> None:
    ran = run("kb", "query", "ASK { ?s ?p ?o }", "--deadline", seconds)
    assert (ran.code, ran.out) == (2, "")
    assert "--deadline" in ran.err


def test_own_hardware_can_be_added_and_asked_about(run: Any, empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "chip.yaml"
    file.write_text(
        "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - {id: acme-one, level: device, broader: acme, label: {en: Acme One, zh: 一号}}\n"
    )
    ran = run("kb", "add", "hardware", file, "--json", workspace=empty_path)
    assert ran.code == 0
    assert ran.json["added"] == [
        {"class": "HardwareProfile", "id": "acme"},
        {"class": "HardwareProfile", "id": "acme-one"},
    ]
    found = run("similar", "--model", "x", "--hardware", "一号", workspace=empty_path)
    assert "no model named 'x'" in found.fault  # the device is known


@pytest.mark.long
def test_what_is_exported_can_be_imported(run: Any, toy_path: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph.ttl"
    exported = run("kb", "export", graph, "--knowledge", workspace=toy_path)
    assert (exported.code, exported.out) == (0, "")
    again = run("kb", "export", graph, workspace=toy_path)
    assert (again.code, again.fault) == (2, f"{graph} is there already")
    assert run("kb", "export", graph, "--knowledge", "--force", workspace=toy_path).code == 0
    imported = run("kb", "import", graph, workspace=toy_path)
    assert (imported.code, imported.out) == (0, "")
    assert "triples" in imported.err


def test_recipes_are_listed_by_what_they_are_for(run: Any) -> None:
    listed = run("kb", "list", "recipes", "--model", "DeepSeek-V4-Flash", "--role", "decode", "--json").json
    found = listed["recipes"]
    assert found
    assert {(item["model"], item["role"]) for item in found} == {("deepseek-v4-flash", "decode")}
    shown = run("kb", "list", "recipes", found[0]["id"])
    assert shown.code == 0
    assert found[0]["source"] in shown.out
    for setting in found[0]["settings"]:
        assert f"{setting['key']} = {setting['value']}" in shown.out


def test_recipes_are_found_by_a_part_of_their_id(run: Any) -> None:
    ids = [
        item["id"] for item in run("kb", "list", "recipes", "--like", "Qwen3 32B", "--json").json["recipes"]
    ]
    assert ids
    assert [name for name in ids if "qwen3-32b" not in name] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cases",), "no list of 'cases'"),
        (("recipes", "--role", "decoder"), "no role 'decoder'"),
        (("recipes", "nothing"), "no recipe of id 'nothing'"),
        (("recipes", "--family", "qwen9"), "no recipe of family 'qwen9'"),
        (("recipes", "--vendor", "huawei"), "--vendor is not for kb list recipes"),
        (("models", "qwen3-8b"), "ID is not for kb list models"),
        (("models", "--framework", "vllm"), "--framework is not for kb list models"),
    ],
)
def test_a_wrong_list_is_refused(run: Any, arguments: tuple[str, ...], says: str) -> None:
    ran = run("kb", "list", *arguments)
    assert ran.code == 2
    assert says in ran.fault
