"""``tunegraph evolve``, ``kb versions|diff|revert|effects`` as people run them."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def place(shipped_path: Path, tmp_path: Path) -> Path:
    """A workspace of the shipped knowledge that may be written to."""
    return shutil.copytree(shipped_path, tmp_path / "workspace")


@pytest.mark.long
def test_a_step_is_shown_saved_told_apart_and_undone(run: Any, place: Path) -> None:
    dry = run("evolve", "--most", 2, "--dry-run", "--json", workspace=place).json
    assert dry["version"] is None
    ran = run("evolve", "--most", 2, "--json", workspace=place)
    assert ran.code == 0
    assert ran.json["changelog"] == dry["changelog"]
    assert (ran.json["version"]["name"], len(ran.json["hypotheses"])) == ("v1", 2)
    first = ran.json["hypotheses"][0]
    changed = run("kb", "diff", "v0", "v1", "--json", workspace=place).json["changed"]
    assert f"strategy/{first['strategy']}" in {item["about"] for item in changed}
    chinese = run("--lang", "zh", "kb", "diff", "v0", "v1", workspace=place).out
    assert re.search(r"pattern/[\w-]+\W[\u4e00-\u9fff]", chinese)
    shown = run("kb", "versions", workspace=place).out
    assert all(line in shown for line in ran.json["changelog"])
    back = run("kb", "revert", "v0", workspace=place)
    assert (back.code, back.out) == (0, "went back to v0; saved as v2\n")
    assert run("kb", "diff", "v0", workspace=place).out == "nothing differs\n"
    [one] = run("kb", "effects", "--strategy", "serving-cpu-binding", "--json", workspace=place).json[
        "effects"
    ]
    assert {"n", "last_evidence", "drift", "trust"} <= set(one)
    assert one["posterior"]["low_factor"] < one["posterior"]["expected_factor"] < one["mean_factor"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("kb", "revert", "v9"), "no version 'v9'"),
        (("kb", "diff", "v9"), "no version 'v9'"),
        (("evolve", "--name", "a/b"), "no name for a version"),
        (("evolve", "--most", "-1"), "most"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    run: Any, shipped_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert says in ran.err
