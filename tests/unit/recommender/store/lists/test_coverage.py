"""Where evidence is thin: counted by operator and hardware family, and said in words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recommender.store.lists.coverage import Area
from recommender.workspace.workspace import Workspace

TREE = """
  - {id: acme, level: vendor, label: {en: Acme}}
  - {id: acme-arch, level: architecture, broader: acme, label: {en: Arch}}
  - {id: acme-fam, level: family, broader: acme-arch, label: {en: Fam}}
  - {id: acme-1, level: device, broader: acme-fam, label: {en: Acme 1}}
  - {id: acme-2, level: device, broader: acme-fam, label: {en: Acme 2}}
  - {id: other, level: vendor, label: {en: Other}}
  - {id: other-arch, level: architecture, broader: other, label: {en: Other Arch}}
  - {id: other-fam, level: family, broader: other-arch, label: {en: Other Fam}}
  - {id: other-1, level: device, broader: other-fam, label: {en: Other 1}}
"""


@pytest.fixture
def workspace(empty_path: Path, tmp_path: Path) -> Iterator[Workspace]:
    knowledge = tmp_path / "tree.yaml"
    knowledge.write_text(f"hardware:{TREE}")
    with Workspace.open(empty_path, cache=tmp_path / "cache") as opened:
        with opened.edit() as editor:
            editor.add_file("hardware", knowledge)
        opened.refresh()
        yield opened


def lines(
    operator: str, device: str, blocks: int, *, shift: float = 0.0, sizes: int = 1, **more: object
) -> str:
    records = [
        {
            "task": {"kind": "kernel", "op": operator, "shape": {"M": size}},
            "hardware": {"name": device},
            "config": {"block": block},
            "outcome": {"metric": "latency", "unit": "ms", "value": size + block / 7 + shift, "status": "ok"},
            "source": {"repo": "a/b"},
            **more,
        }
        for size in range(sizes)
        for block in range(1, blocks + 1)
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def area(workspace: Workspace, operator: str, family: str) -> Area:
    return next(
        found
        for found in workspace.knowledge.coverage().areas
        if (found.operator, found.family) == (operator, family)
    )


def test_areas_count_what_is_there(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(
        lines("gemm", "Acme 1", 4, sizes=2)
        + lines("gemm", "Acme 2", 1, shift=0.01, kind="published")
        + lines("gemm", "Other 1", 2, shift=0.02)
    )
    workspace.ingest(file)
    found = area(workspace, "gemm", "acme-fam")
    assert (found.workload, found.problems, found.rows, found.timed) == ("kernel", 3, 9, 9)
    assert (found.devices, found.compared) == (["acme-1", "acme-2"], 2)
    assert found.kinds == {"measured": 8, "published": 1}
    assert found.measured_share == pytest.approx(8 / 9)
    assert found.nearest_else == "sibling"
    assert area(workspace, "gemm", "other-fam").nearest_else == "other_vendor"


def test_a_copied_device_is_told_and_counts_once(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(lines("gemm", "Acme 1", 4, sizes=2) + lines("gemm", "Acme 2", 4, sizes=2))
    workspace.ingest(file)
    found = workspace.knowledge.coverage()
    assert found.areas[0].devices == ["acme-1"]
    assert found.areas[0].nearest_else == ""
    assert found.repeats == (
        (
            "gemm by latency: 8 of 8 rows of acme-2 are those of acme-1 to the last digit; both count as one "
            "device"
        ),
    )


def test_rows_that_two_sources_have_are_told(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(lines("gemm", "Acme 1", 4) + lines("gemm", "Acme 1", 3, source={"repo": "c/d"}))
    workspace.ingest(file)
    assert workspace.knowledge.coverage().repeats == ("gemm: 3 rows are in a/b and in c/d; each counts once",)


def test_suggestions_say_what_is_missing(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    untimed: dict[str, Any] = {
        "outcome": {"metric": "latency", "unit": "ms", "value": None, "status": "winner_untimed"}
    }
    file.write_text(
        lines("moe", "Acme 1", 1, sizes=2, **untimed)
        + lines("alone", "Acme 1", 4)
        + lines("bare", "Acme 1", 1, shift=0.5)
        + lines("bare", "Other 1", 5)
        + lines("told", "Acme 1", 4, kind="published")
        + lines("told", "Acme 2", 4, shift=0.3, kind="published")
    )
    workspace.ingest(file)
    said = workspace.knowledge.coverage(most=100).suggestions
    assert said[:2] == (
        "Time moe anywhere: 2 problems are known, none with a time, so no gain can be stated.",
        (
            "Measure alone on a second device: all that is known is from acme-1, so nobody can say what holds "
            "elsewhere."
        ),
    )
    assert any(
        text.startswith("Measure at least 3 configurations of one bare problem on acme-fam") for text in said
    )
    assert "Measure told on acme-fam yourself: its 8 values are published." in said
    assert any("bare on another device like acme-1" in text and "other vendor" in text for text in said)
    assert workspace.knowledge.coverage(most=1).suggestions == said[:1]


def test_an_empty_workspace_has_nothing_to_say(workspace: Workspace) -> None:
    found = workspace.knowledge.coverage()
    assert (found.areas, found.repeats, found.suggestions) == ((), (), ())
