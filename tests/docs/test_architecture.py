"""The page on architecture names files that exist, in the order in which a run of each way enters them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.files import write_files

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("\n## One workspace")[0]
WAYS = dict(re.findall(r"^\*\*An? (\w+)\*\*, .*\n\n((?:\d\. .*\n(?:   .*\n)*)+)", PAGE, flags=re.MULTILINE))

KERNELS = """Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)
0,a,MatMul,AI_CORE,1000,300
0,hcom_allReduce__1_0_1,hcom_allReduce_,COMMUNICATION,1310,700
0,b,LayerNormGrad,AI_VECTOR_CORE,2020,400
0,a,MatMul,AI_CORE,2500,300
"""
ARM = "import os, sys\nprint('time', int(sys.argv[1]) + os.getpid() % 7 / 100, 'ms')\n"
RUNS = {
    "question": "recommend --model bert-large --phase training --hardware ascend-910 --count 8",
    "case": "ingest benchmark_hub/cachefiles/gemm/A100.json",
    "profile": "diagnose kernel_details.csv",
    "outcome": "ab run --problem bert-large-8x910.yaml --strategy nz-weights --control size=3 --treatment size=2 "
    "--pattern 'step_time:ms=time (.+) ms' --pairs 8 -- python3 arm.py {size}",
    "search": "search run loop.yaml -n 3",
}
"""A command for each way; the first files of it are those of the command line and of opening the workspace."""


def steps_of(way: str) -> list[list[str]]:
    return [
        re.findall(r"`([\w/]+\.py)`", step) for step in re.split(r"^\d\. ", WAYS[way], flags=re.MULTILINE)[1:]
    ]


def test_every_file_it_names_exists() -> None:
    paths = set(re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", PAGE))
    assert len(paths) > 30
    assert [path for path in paths if path.endswith((".py", "/")) and not (ROOT / path).exists()] == []


def test_each_way_has_five_steps_with_files() -> None:
    assert set(WAYS) == set(RUNS)
    assert [way for way in WAYS if len(steps_of(way)) != 5 or not all(steps_of(way))] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trips")
    write_files(made)
    (made / "kernel_details.csv").write_text(KERNELS)
    (made / "arm.py").write_text(ARM)
    return made


@pytest.fixture(scope="module")
def workspace(folder: Path, shipped_path: Path) -> Path:
    return shutil.copytree(shipped_path, folder / "workspace")


@pytest.mark.parametrize("way", RUNS)
def test_a_run_enters_the_files_of_a_way_in_its_order(way: str, folder: Path, workspace: Path) -> None:
    """A step is done when all its files were entered; what the program opens first may be entered before."""
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    own["PATH"] = f"{Path(sys.executable).parent}:{own['PATH']}"
    command = [
        sys.executable,
        "-m",
        "tests.docs.trips",
        "--workspace",
        str(workspace),
        *shlex.split(RUNS[way]),
    ]
    ran = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=True)
    trip = json.loads(ran.stdout.splitlines()[-1])
    place = {path: at for at, path in enumerate(trip["files"])}
    missing = [path for step in steps_of(way) for path in step if path not in place]
    assert missing == [], ran.stderr[-2000:]
    done = [max(place[path] for path in step) for step in steps_of(way)]
    assert done == sorted(done)
    print(f"{way}: {len(trip['files'])} files, {trip['functions']} functions")
