"""What a workspace's own cases teach about retrieval and about what to expect."""

import json
import math
import random
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.lock import WriterLock
from kg.nouns.gain import Gain
from recommender.answers.answer import Answer
from recommender.calibration.outlook import Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from recommender.workspace.workspace import Workspace
from tests.shipped_hardware import add_hardware

DEVICES = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "AMD Instinct MI300X")


def case(device: str, size: int, tile: int, cost: float) -> str:
    record = {
        "task": {"kind": "operator", "op": "copy", "shape": {"size": size}},
        "hardware": {"vendor": "amd" if "AMD" in device else "nvidia", "name": device, "count": 1},
        "config": {"tile": tile},
        "outcome": {"metric": "latency", "unit": "ms", "value": cost, "better": "lower", "status": "ok"},
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
    }
    return json.dumps(record)


def cases(sizes: int) -> str:
    """The best tile follows the size; devices differ by a little noise."""
    rng = random.Random(0)
    lines = []
    for device in DEVICES:
        for at in range(sizes):
            size = 2 ** (6 + at % 12) + 16 * at
            for tile in (16, 32, 64, 128, 256):
                off = abs(math.log2(size) / 2 - math.log2(tile) + 1)
                lines.append(case(device, size, tile, math.exp(0.3 * off + rng.gauss(0, 0.02))))
    return "\n".join(lines) + "\n"


def workspace(path: Path, folder: Path, sizes: int) -> Workspace:
    file = folder / "cases.jsonl"
    file.write_text(cases(sizes))
    with Workspace.editor(path, cache=folder) as editor:
        add_hardware(editor, "nvidia", "h100-sxm", "a100-sxm4-80gb", "l40s")
        add_hardware(editor, "amd", "instinct-mi300x")
        editor.ingest([file])
    return Workspace.open(path, cache=folder)


def ask(opened: Workspace) -> Answer:
    problem, _ = opened.problem({"op": "copy", "hardware": "NVIDIA L40S", "shape": {"size": 700}, "count": 1})
    return opened.recommend(problem, 3)


def _width(answer: Answer) -> float:
    gain = next(iter(answer)).gain
    assert isinstance(gain, Gain)
    return gain.high - gain.low


@pytest.mark.long
def test_enough_cases_of_its_own_replace_what_ships(empty_path: Path, tmp_path: Path) -> None:
    with workspace(empty_path, tmp_path, 40) as opened:
        before = opened.snapshot.knowledge_version
        first = ask(opened)
        told: list[str] = []
        done = opened.upkeep.recalibrate(told.append)
        assert done.outlook is not None
        assert done.outlook.checked >= 200
        assert any("copy by latency" in line for line in told)
        assert opened.snapshot.knowledge_version != before
        again = ask(opened)
        assert [i.configuration for i in again] == [i.configuration for i in first]
    reopened = Outlook.load(opened.snapshot.learned.outlook, CIRCUMSTANCES)
    assert reopened.origin.startswith("calibrate --retrieval")
    # Its own errors are small, so its intervals are narrower than what ships for all the world.
    assert _width(again) < _width(first)


@pytest.mark.long
def test_a_few_cases_leave_what_ships(empty_path: Path, tmp_path: Path) -> None:
    with workspace(empty_path, tmp_path, 3) as opened:
        before = opened.snapshot.knowledge_version
        done = opened.upkeep.recalibrate()
        assert done.outlook is None
        assert done.similarity is None
        assert [note.split(" as ")[0] for note in done.notes] == ["similarity stays", "intervals stay"]
        assert opened.snapshot.knowledge_version == before
        assert not opened.snapshot.learned.outlook.exists()


@pytest.mark.long
def test_recalibration_waits_for_no_other_writer_and_leaves_its_files(
    empty_path: Path, tmp_path: Path
) -> None:
    with workspace(empty_path, tmp_path, 40) as opened:
        with (
            WriterLock(opened.layout.lock, command="tunegraph ingest"),
            pytest.raises(WorkspaceError) as error,
        ):
            opened.upkeep.recalibrate()
        assert "tunegraph ingest" in str(error.value)
        assert not opened.snapshot.learned.outlook.exists()


def test_an_empty_workspace_teaches_nothing(empty_path: Path, tmp_path: Path) -> None:
    with Workspace.open(empty_path, cache=tmp_path) as opened:
        assert opened.upkeep.recalibrate().outlook is None


def test_a_damaged_outlook_falls_back(empty_path: Path, tmp_path: Path) -> None:
    workspace(empty_path, tmp_path, 3).close()
    for damage in ("", "{", '{"scale": 1}'):
        (empty_path / "outlook.json").write_text(damage)
        with Workspace.open(empty_path, cache=tmp_path) as opened:
            assert next(iter(ask(opened))).gain is not None
