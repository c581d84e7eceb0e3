"""``tunegraph evolve``, ``kb versions|diff|revert|effects`` and ``recommend --verify`` as people run them."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kg.nouns.outcomes import Outcome
from kg.triples.serialisation import all_of
from recommender.workspace.workspace import Workspace

QUESTION = ("--model", "qwen3-32b", "--phase", "serving", "--hardware", "ascend-910c")
MATMUL = (
    "--op", "blocked_matmul", "--phase", "kernel", "--shape", "M=96,N=96,K=96", "--precision", "float32",
    "--hardware", "xeon-virtual-6-167", "--objective", "kernel_time",
)  # fmt: skip
NOW = "flags=-O2,tile_m=64,rows=1,tile_n=32,tile_k=32,pack=0,threads=1"
COMMAND = "sh {kernels}/matmul.sh {flags} {tile_m} {tile_n} {tile_k} {rows} {pack} {threads} {M} {N} {K} 3"


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
        (("recommend", *QUESTION, "--metric", "a=b:s"), "are for --verify"),
        (("recommend", *MATMUL, "--verify", COMMAND), "what is set now"),
        (
            ("recommend", *MATMUL, "--current", NOW, "--verify", "true"),
            "nothing of the answer can be verified",
        ),
        (("recommend", *MATMUL, "--current", NOW, "--verify", "true {other}"), "nothing of the answer"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    run: Any, shipped_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert says in ran.err


@pytest.mark.long
@pytest.mark.usefixtures("compiler")
def test_the_first_three_are_verified_on_the_real_kernel_and_the_graph_learns(run: Any, place: Path) -> None:
    ran = run(
        "recommend", *MATMUL, "--current", NOW, "-k", 3, "--alpha", "0.05", "--verify-pairs", 8,
        "--metric", "kernel_time=time_s:s", "--verify", COMMAND, "--json", workspace=place,
    )  # fmt: skip
    assert ran.code in {0, 5}, ran.err  # how fast a processor is, is its own affair
    arms = [item["arm"] for item in ran.json["treatments"]]
    assert arms == ["number-1", "number-2", "number-3"]
    assert ran.json["design"]["arms"]["control"]["tile_m"] == 64
    assert ran.json["told"] == "the graph has this case now"
    assert all(item["pairs"] or item["failures"] for item in ran.json["treatments"])
    with Workspace.open(place, cache=place.parent / "cache") as workspace:
        outcomes = list(all_of(workspace.graph, Outcome))
        assert len(outcomes) == 3
        assert all(item.recommendation and item.metric == "kernel_time" for item in outcomes)
        assert {json.dumps(item.control.to_json()["tile_m"]) for item in outcomes} == {"64"}
    name = ran.json["name"]
    again = run("ab", "run", "--resume", name, "--json", workspace=place)  # told twice, it counts once
    assert again.json["told"] == "the graph knew this outcome already"
