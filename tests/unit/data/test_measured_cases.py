"""The sweeps of the C kernel that ship as cases, and the kernel itself."""

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import data
from kg.nouns.values import Settings
from recommender.search.run.task_file import read_task_file
from recommender.search.run.task_reader import read_task

RAW = gzip.decompress(data.resource("cases/blocked_matmul.jsonl.gz").read_bytes()).decode()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in RAW.splitlines()]


def test_every_configuration_was_measured_on_every_shape() -> None:
    shapes = {json.dumps(row["task"]["shape"]) for row in ROWS}
    assert len(shapes) == 3
    assert len(ROWS) == 3 * 540
    for shape in shapes:
        own = [row for row in ROWS if json.dumps(row["task"]["shape"]) == shape]
        assert len({json.dumps(row["config"], sort_keys=True) for row in own}) == 540
        values = [row["outcome"]["value"] for row in own]
        assert max(values) / min(values) > 10, "a space worth searching"


def test_each_row_says_how_and_on_what_it_was_measured_and_names_no_machine() -> None:
    for row in ROWS:
        assert row["kind"] == "measured"
        assert (row["outcome"]["status"], row["outcome"]["n"]) == ("ok", 5)
        assert row["outcome"]["std"] >= 0
        assert row["software"]["gcc"]
        assert row["hardware"]["name"] == "xeon-virtual-6-167"
        assert "shared with other work" in row["source"]["note"]
    assert not re.search(r"/(home|root|tmp|work)\b|host", RAW)


def test_the_shipped_space_holds_the_measured_configurations() -> None:
    content = read_task_file("matmul")
    task = read_task(content)
    for row in ROWS[::50]:
        assert task.space.violated(Settings(row["config"])) is None
    assert task.space.size(10_000) == 540


@pytest.mark.usefixtures("compiler")
def test_the_kernel_multiplies_and_tells_its_time() -> None:
    script = Path(str(data.resource("kernels/matmul.sh")))
    sizes = ["37", "41", "53", "2"]  # none a multiple of a tile
    command = ["sh", str(script), "-O1 -Wall -Werror", "8", "16", "16", "4", "1", "2", *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["max_error"] < 1e-5
    assert told["time_s"] > 0
    broken = subprocess.run([*command[:3], "6", *command[4:]], capture_output=True, text=True, check=False)
    assert broken.returncode != 0
    assert "ROWS must divide TILE_M" in broken.stderr
