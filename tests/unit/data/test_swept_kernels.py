"""The C kernels that ship, and the sweeps of them."""

import gzip
import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import data
from benchmarks.worlds.sweep_spaces import SPACES, THREADS, SweptSpace

KERNELS = {
    "matmul": (["37", "41", "53"], {"tile_m": 8, "rows": 4, "tile_n": 16, "tile_k": 16, "pack": 1}),
    "convolution": (["3", "5", "9", "21", "5"], {"tile_x": 8, "channels": 4, "unroll": 3, "rows": 4}),
    "attention": (["3", "37", "21"], {"tile_q": 4, "tile_keys": 16, "turn": 1, "late": 1}),
    "reduction": (["70", "1003"], {"lanes": 8, "rows": 4, "block": 64, "wide": 0}),
}
"""Sizes that no tile divides, and a configuration."""


def read(name: str) -> list[dict[str, Any]]:
    raw = gzip.decompress(data.resource(f"sweeps/{SPACES[name].operator}.jsonl.gz").read_bytes()).decode()
    assert not re.search(r"/(home|root|tmp|work)\b|host", raw), "a path of a machine"
    return [json.loads(line) for line in raw.splitlines()]


def built(space: SweptSpace, defines: dict[str, int], binary: Path) -> subprocess.CompletedProcess[str]:
    source = str(data.resource(f"kernels/{space.source}"))
    flags = [f"-D{name.upper()}={value}" for name, value in defines.items()]
    command = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", str(binary)]
    return subprocess.run([*command, "-pthread", "-lm"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SPACES)
def test_every_configuration_was_measured_on_every_shape(name: str) -> None:
    space = SPACES[name]
    expected = {json.dumps({**b, "threads": t}, sort_keys=True) for b in space.builds() for t in THREADS}
    by_shape: dict[str, set[str]] = defaultdict(set)
    values: dict[str, list[float]] = defaultdict(list)
    for row in read(name):
        shape = json.dumps(row["task"]["shape"])
        by_shape[shape].add(json.dumps(row["config"], sort_keys=True))
        values[shape].append(row["outcome"]["value"])
    assert set(by_shape) == {json.dumps(dict(zip(space.sizes, shape, strict=True))) for shape in space.shapes}
    assert all(found == expected for found in by_shape.values())
    assert all(max(found) / min(found) > 10 for found in values.values()), "a space worth searching"


@pytest.mark.parametrize("name", SPACES)
def test_each_row_says_how_and_on_what_it_was_measured(name: str) -> None:
    for row in read(name):
        assert (row["kind"], row["outcome"]["status"]) == ("measured", "ok")
        assert row["outcome"]["n"] >= 5
        assert row["outcome"]["std"] >= 0
        assert list(row["software"]) == [row["config"]["compiler"]]
        assert row["hardware"]["name"] == "epyc-virtual-25-17"
        assert "shared with other work" in row["source"]["note"]


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_computes_what_double_precision_says(name: str, tmp_path: Path) -> None:
    sizes, defines = KERNELS[name]
    done = built(SPACES[name], defines, tmp_path / "kernel")
    assert done.returncode == 0, done.stderr
    for threads in ("1", "3"):
        ran = subprocess.run(
            [str(tmp_path / "kernel"), *sizes, threads, "2"], capture_output=True, text=True, check=True
        )
        found = json.loads(ran.stdout)
        assert 0 <= found["max_error"] < 1e-5
        assert found["time_s"] > 0
        assert found["repeats"] == 2


@pytest.mark.usefixtures("compiler")
def test_what_a_kernel_cannot_do_is_refused(tmp_path: Path) -> None:
    lanes = built(SPACES["reduction"], {**KERNELS["reduction"][1], "lanes": 5}, tmp_path / "kernel")
    assert "LANES must divide BLOCK" in lanes.stderr
    unroll = built(SPACES["convolution"], {**KERNELS["convolution"][1], "unroll": 2}, tmp_path / "kernel")
    assert "UNROLL is 1 or 3" in unroll.stderr
    assert built(SPACES["reduction"], KERNELS["reduction"][1], tmp_path / "kernel").returncode == 0
    for wrong in (["8"], ["8", "8", "65", "1"], ["8", "0", "1", "1"]):
        ran = subprocess.run([str(tmp_path / "kernel"), *wrong], capture_output=True, text=True, check=False)
        assert ran.returncode == 2
        assert ran.stderr
