"""The benchmark of first recommendations over one folder and over two, by the parts that answer."""

from __future__ import annotations

import gzip
import json
import math
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.answers import unseen

if TYPE_CHECKING:
    from pathlib import Path

DEVICES = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X")


def fill(folder: Path, devices: tuple[str, ...], size_from: int) -> Path:
    """Tables of a kernel whose best tile is 64 everywhere."""
    folder.mkdir()
    with gzip.open(folder / "copy.jsonl.gz", "wt") as stream:
        for device in devices:
            for size in range(size_from, size_from + 4):
                for tile in (16, 32, 64, 128):
                    case = {
                        "task": {"kind": "operator", "op": "copy", "shape": {"size": 64 * size}},
                        "hardware": {"name": device, "count": 1},
                        "config": {"tile": tile},
                        "outcome": {
                            "metric": "latency",
                            "unit": "ms",
                            "value": math.exp(abs(math.log2(tile) - 6)),
                            "better": "lower",
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
    arguments = ["unseen", "--known", str(known), "--asked", str(asked), "--jobs", "1", *options]
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
    monkeypatch.setattr(sys, "argv", ["unseen", "--known", known, "--asked", known, "--jobs", "1"])
    unseen.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["copy"]
    assert {part: figures[part]["n"] for part in ("same_vendor", "other_vendor", "known_device")} == {
        "same_vendor": 8,
        "other_vendor": 16,
        "known_device": 12,
    }
    assert figures["same_vendor"]["k1_se"] == 0.0
