"""A small workspace with something of everything, and a description of all that its readers see."""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recommender.store.editor import Editor
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace

NOW = datetime(2026, 6, 1, tzinfo=UTC)

KNOWLEDGE = """
sources:
  manual: {title: Manual, url: https://example.org/manual}
hardware:
  - {id: acme, level: vendor, label: {en: Acme}}
  - {id: chip, level: device, broader: acme, label: {en: Chip}}
  - {id: sister, level: device, broader: acme, label: {en: Sister}}
"""
STRATEGIES = ("overlap", "fuse", "pack", "swap", "pin")
TABLE = "arm,kernel_time\n" + "".join(f"control,{118 + n % 4}\ntreatment,{100 + n % 3}\n" for n in range(20))


def cases(start: int, number: int, source: str = "a/b", hardware: str = "Chip", every: int = 2) -> str:
    """Lines of cases; every second, or as said, is the gain of a strategy."""
    lines = []
    for size in range(start, start + number):
        case: dict[str, Any] = {
            "task": {"kind": "kernel", "op": "toy", "shape": {"M": size, "N": 64}},
            "hardware": {"name": hardware},
            "config": {"block": 8 << size % 4},
            "outcome": {
                "metric": "kernel_time", "unit": "ms", "value": 1 + size % 13 / 10, "better": "lower",
                "status": "ok",
            },
            "source": {"repo": source, "path": "c.json", "commit": "d", "licence": "MIT"},
        }  # fmt: skip
        if size % every == 1:
            gain = {
                "kind": "published",
                "strategy": STRATEGIES[size % len(STRATEGIES)],
                "bottleneck": "memory",
                "baseline": {"value": 2.0},
            }
            case |= gain
        lines.append(json.dumps(case) + "\n")
    return "".join(lines)


def editor(path: Path, now: datetime = NOW) -> Editor:
    """The writing side of a workspace at a fixed time, so that the same work leaves the same content."""
    return Workspace.editor(path, cache=path.parent / "cache", clock=lambda: now)


def reader(path: Path) -> Workspace:
    """The reading side of a workspace."""
    return Workspace(path, cache=path.parent / "cache", clock=lambda: NOW)


def make(place: Path) -> None:
    """Make in a folder the workspaces ``empty``, ``base``, ``grown``, ``other``, ``more``, and files for commands."""
    (place / "chip.yaml").write_text(KNOWLEDGE)
    (place / "first.jsonl").write_text(cases(0, 24))
    (place / "second.jsonl").write_text(cases(100, 16, "c/d"))
    (place / "third.jsonl").write_text(cases(200, 12, "e/f", "Sister"))
    (place / "table.csv").write_text(TABLE)
    (place / "fourth.jsonl").write_text(cases(300, 6, "g/h", every=10**6))
    for name in ("empty", "base", "other", "more"):
        Workspace.create(place / name, cache=place / "cache", text_model=None, with_shipped=False)
    for name, file in (("base", "first.jsonl"), ("other", "third.jsonl"), ("more", "fourth.jsonl")):
        with editor(place / name) as writing:
            writing.add_file("hardware", place / "chip.yaml")
            writing.ingest([place / file])
    for name, graph in (("other", "graph.nt"), ("more", "more.nt")):
        with reader(place / name) as workspace:
            workspace.knowledge.export(place / graph)
    with editor(place / "base") as writing:
        writing.evolve(NOW)
    with editor(place / "base") as writing:
        writing.import_graph(place / "graph.nt")
        (place / "imported").write_text(str(writing.batch))
    with reader(place / "base") as workspace:
        workspace.upkeep.backup(place / "backup")
    shutil.copytree(place / "base", place / "grown")
    with editor(place / "grown") as writing:
        writing.ingest([place / "second.jsonl"])


def content(path: Path) -> dict[str, object]:
    """The content of a workspace for readers, without the numbers of batches.

    Raises:
        TuningError: It cannot be read.
    """
    from kg.rows.cases import all_cases

    with reader(path) as workspace:
        triples = sorted(
            str(triple)
            for triple in workspace.graph.triples()
            if "/batch/" not in str(triple.subject) and "/batch/" not in str(triple.object)
        )
        rows = sorted(repr(case) for case in all_cases(workspace.graph, workspace.trials))
        learned = workspace.snapshot.learned.contents()
        vectors = workspace.snapshot.index.keys(workspace.snapshot.batch).tolist()
        experiments = workspace.experiments
        kept = {name: len(experiments.find(name).samples) for name in experiments.names()}
        return {
            "rows": len(rows),
            "vectors": len(vectors),
            "versions": [(item.name, item.changelog) for item in workspace.knowledge.lineage.versions()],
            "tests": kept,
            "shipped": workspace.snapshot.manifest.get("shipped"),
            "encoder": workspace.snapshot.manifest.get("encoder"),
            "digest": _digest("".join(triples), "".join(rows), *map(str, sorted(learned.items()))),
        }


def faults(path: Path) -> list[str]:
    """Faults that doctor finds.

    Raises:
        TuningError: It cannot be opened at all, which doctor says too.
    """
    found = list(UpkeepDesk.examine(path, deep=True))
    if not any(item.severity == "fault" for item in found):
        with reader(path) as workspace:
            found += workspace.upkeep.check()
    return [f"{item.about}: {item.says}" for item in found if item.severity == "fault"]


def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()
