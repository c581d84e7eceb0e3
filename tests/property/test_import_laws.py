"""Any part of an export, imported, is refused whole or leaves every reader working; and it can be taken back."""

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg.errors import InputError
from kg.triples.serialisation import TABLES, all_of
from recommender.workspace.workspace import Workspace

KNOWLEDGE = """
hardware:
  - {id: acme, level: vendor, label: {en: Acme}}
  - {id: acme-one, level: device, broader: acme, label: {en: Acme One}}
"""
CASE = (
    '{"task": {"kind": "kernel", "op": "toy", "shape": {"M": 8}}, "hardware": {"name": "Acme One"},'
    ' "config": {"block": 8}, "kind": "published", "strategy": "tile-it", "bottleneck": "memory",'
    ' "baseline": {"value": 2.0}, "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.0,'
    ' "better": "lower", "status": "ok"}, "source": {"repo": "a/b"}}\n'
)
NUMBER = re.compile(r'(?<=")[^"]+(?="\^\^<http://www.w3.org/2001/XMLSchema#(?:double|decimal|integer)>)')
POISONS = ("NaN", "INF", "-1", "0", "1e999", "1000000000", "9" * 30, "9" * 400, "x")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """An empty workspace, and the lines of the export of one with devices and cases."""
    place = tmp_path_factory.mktemp("import")
    for name in ("empty", "full"):
        Workspace.create(place / name, cache=place / "cache", text_model=None, with_shipped=False)
    (place / "chip.yaml").write_text(KNOWLEDGE)
    (place / "cases.jsonl").write_text(CASE)
    with Workspace.editor(place / "full", cache=place / "cache") as editor:
        editor.add_file("hardware", place / "chip.yaml")
        assert editor.ingest([place / "cases.jsonl"]).good == 1
    with Workspace.open(place / "full", cache=place / "cache") as workspace:
        workspace.knowledge.export(place / "graph.nt")
    return place, (place / "graph.nt").read_text().splitlines(keepends=True)


def reads(path: Path) -> int:
    """Read all that a workspace holds; return its number of triples."""
    with Workspace.open(path, cache=path.parent / "cache") as workspace:
        for noun in TABLES:
            list(all_of(workspace.graph, noun))
        assert workspace.hardware.ids() is not None
        workspace.knowledge.stats()
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
        assert workspace.knowledge.validate() == []
        return len(workspace.graph)


@pytest.mark.long
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_any_part_of_an_export_is_refused_whole_or_leaves_every_reader_working(
    exported: tuple[Path, list[str]], data: st.DataObject
) -> None:
    place, lines = exported
    chosen = data.draw(
        st.one_of(
            st.integers(0, len(lines)).map(lambda cut: lines[:cut]),
            st.lists(st.sampled_from(lines), max_size=4, unique=True),
        )
    )
    ours, file = place / "ours", place / "part.nt"
    shutil.rmtree(ours, ignore_errors=True)
    shutil.copytree(place / "empty", ours)
    file.write_text("".join(chosen))
    before = reads(ours)
    try:
        with Workspace.editor(ours, cache=place / "cache") as editor:
            added = editor.import_graph(file)
    except InputError:
        assert reads(ours) == before
        return
    assert reads(ours) >= before + added


def test_a_full_export_is_taken_in_and_taken_back(exported: tuple[Path, list[str]]) -> None:
    place, _ = exported
    ours = place / "whole"
    shutil.copytree(place / "empty", ours)
    with Workspace.editor(ours, cache=place / "cache") as editor:
        assert editor.import_graph(place / "graph.nt") > 30
        batch = editor.batch
    full = reads(ours)
    with Workspace.editor(ours, cache=place / "cache") as editor:
        assert editor.import_graph(place / "graph.nt") == 0
        assert editor.undo(batch) > 30
        with pytest.raises(InputError, match="taken back already"):
            editor.undo(batch)
    assert reads(ours) < full
    with Workspace.open(ours, cache=place / "cache") as workspace:
        assert workspace.hardware.ids() == []


@pytest.mark.parametrize(
    "line",
    [
        (
            "<https://w3id.org/tunegraph/effect/evil> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
            " <https://w3id.org/tunegraph/ns#Effect> ."
        ),
        (
            "<https://w3id.org/tunegraph/hardware/evil> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
            " <https://w3id.org/tunegraph/ns#HardwareProfile> ."
        ),
        (
            "<https://w3id.org/tunegraph/hardware/acme> <http://www.w3.org/2004/02/skos/core#broader>"
            " <https://w3id.org/tunegraph/hardware/acme-one> ."
        ),
        '<https://w3id.org/tunegraph/source/x> <https://w3id.org/tunegraph/ns#trust> "absolute" .',
    ],
)
def test_what_no_reader_could_read_is_refused(exported: tuple[Path, list[str]], line: str) -> None:
    place, _ = exported
    (place / "evil.nt").write_text(line + "\n")
    with (
        Workspace.editor(place / "full", cache=place / "cache") as editor,
        pytest.raises(InputError),
    ):
        editor.import_graph(place / "evil.nt")


@pytest.mark.parametrize("number", ['"abc"', "9223372036854775807", '"1000000000000000000000000000000"'])
def test_a_batch_number_is_nobodys_to_import(exported: tuple[Path, list[str]], number: str) -> None:
    place, _ = exported
    typed = number if number.startswith('"') else f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    (place / "batch.nt").write_text(f"<urn:x> <https://w3id.org/tunegraph/ns#batchNumber> {typed} .\n")
    with Workspace.editor(place / "full", cache=place / "cache") as editor:
        assert editor.import_graph(place / "batch.nt") == 0


@pytest.mark.long
def test_no_number_of_an_export_breaks_a_reader_or_the_next_writer(exported: tuple[Path, list[str]]) -> None:
    """Every kind of number, batch numbers and sums too, as what it cannot be."""
    place, lines = exported
    ours, file, more = place / "ours", place / "poisoned.nt", place / "more.jsonl"
    more.write_text(CASE.replace('"M": 8', '"M": 16'))
    numbers = {line.split()[1]: at for at, line in enumerate(lines) if NUMBER.search(line)}
    assert any("batchNumber" in name for name in numbers)
    assert len(numbers) >= 5
    refused = 0
    for at in numbers.values():
        for poison in POISONS:
            shutil.rmtree(ours, ignore_errors=True)
            shutil.copytree(place / "empty", ours)
            file.write_text("".join([*lines[:at], NUMBER.sub(poison, lines[at]), *lines[at + 1 :]]))
            with Workspace.editor(ours, cache=place / "cache") as editor:
                try:
                    editor.import_graph(file)
                except InputError:
                    refused += 1
                assert editor.ingest([more]).bad == 0
            assert reads(ours)
    assert refused >= len(POISONS)
