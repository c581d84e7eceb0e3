"""The benchmark of first recommendations over one folder and over two, by the parts that answer."""

import gzip
import json
import math
import sys
from pathlib import Path

import pytest

from benchmarks.answers import unseen

DEVICES = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X")


def fill(
    folder: Path,
    devices: tuple[str, ...],
    size_from: int,
    *,
    name: str = "copy",
    sizes: int = 4,
    slower: float = 1.0,
    better: str = "lower",
) -> Path:
    """Tables of a kernel whose best tile is 64 everywhere."""
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / f"{name}.jsonl.gz", "wt") as stream:
        for device in devices:
            for size in range(size_from, size_from + sizes):
                for tile in (16, 32, 64, 128):
                    case = {
                        "task": {"kind": "operator", "op": "copy", "shape": {"size": 64 * size}},
                        "hardware": {"name": device, "count": 1},
                        "config": {"tile": tile},
                        "outcome": {
                            "metric": "latency",
                            "unit": "ms",
                            "value": slower * math.exp(abs(math.log2(tile) - 6)),
                            "better": better,
                            "status": "ok",
                        },
                        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
                    }
                    stream.write(json.dumps(case) + "\n")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("quick", [True, False])
def test_two_folders_with_a_device_in_both(
    quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = fill(tmp_path / "known", DEVICES, 1)
    asked = fill(tmp_path / "asked", DEVICES[:1], 3)
    options = ["--quick"] if quick else []
    arguments = ["unseen", "--known", str(known), "--asked", str(asked), "--all", "--jobs", "1", *options]
    monkeypatch.setattr(sys, "argv", arguments)
    unseen.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    device = figures["copy"]["known_device"]
    assert (device["n"], device["k1"], device["coverage"]) == (4, 1.0, 1.0)
    assert figures["copy"]["same_vendor"] is None
    assert figures["baselines"]["random"]["copy"]["known_device"]["k1"] == 0.25


@pytest.mark.long
def test_one_folder_leaves_devices_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = str(fill(tmp_path / "known", DEVICES, 1))
    monkeypatch.setattr(sys, "argv", ["unseen", "--known", known, "--asked", known, "--all", "--jobs", "1"])
    unseen.main()
    tree = json.loads(capsys.readouterr().out.splitlines()[-1])
    figures = tree["copy"]
    assert {part: figures[part]["n"] for part in ("same_vendor", "other_vendor", "known_device")} == {
        "same_vendor": 8,
        "other_vendor": 16,
        "known_device": 12,
    }
    assert tree["above_copying"]["copy"]["same_vendor"] == {
        "k1": 0.0,
        "k1_se": 0.0,
        "log_regret_k1": 0.0,
        "log_regret_k1_se": 0.0,
    }
    assert figures["same_vendor"]["se"] == {"k1": 0.0, "log_regret_k1": 0.0}


@pytest.mark.long
def test_a_corpus_of_one_device_and_task_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = str(fill(tmp_path / "alone", DEVICES[:1], 1, sizes=1))
    monkeypatch.setattr(sys, "argv", ["unseen", "--known", alone, "--asked", alone, "--all", "--jobs", "1"])
    with pytest.raises(SystemExit) as ended:
        unseen.main()
    assert ended.value.code == 2
    assert "alone: 1 problems on h100-sxm, none of which can be asked" in capsys.readouterr().err


@pytest.mark.long
def test_contradictory_copies_and_another_sign_neither_stop_nor_turn_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The better of two times of one configuration counts; a latency that is better higher is refused."""
    folder = fill(tmp_path / "known", DEVICES, 1)
    fill(folder, DEVICES[:1], 1, name="again", slower=2.0)
    fill(folder, DEVICES[1:], 1, name="turned", better="higher")
    monkeypatch.setattr(
        sys, "argv", ["unseen", "--known", str(folder), "--asked", str(folder), "--all", "--jobs", "1"]
    )
    unseen.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["nested"] is True
    assert len(figures["constants"]) == 12
    asked = [figures[name]["known_device"] for name in ("again", "copy") if name in figures]
    assert sum(part["n"] for part in asked if part) == 12
    assert all(part["k1"] == 1.0 for part in asked if part)


def test_weights_of_another_program_stop_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unseen, "program", lambda: "another")
    monkeypatch.setattr(sys, "argv", ["unseen", "--known", str(tmp_path), "--asked", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        unseen.main()
    assert ended.value.code == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert "the program's are another: python -m tools.fitting.fit_ranking" in told[0]
