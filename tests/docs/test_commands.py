"""Every command line and every Python block of README.md and docs/ runs as it is written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recommender.green.desk import GreenDesk
from tests.docs.blocks import PAGES, ROOT, UNTESTED, Command, blocks, commands, table_commands
from tests.docs.files import write_files

pytestmark = pytest.mark.long

COMMANDS = [command for page in PAGES for block in blocks(page) for command in commands(block)]
COMMANDS += [
    command
    for command in table_commands(ROOT / "README.md")
    if not {"FILES", "PROFILE"} & set(command.text.split())
]
PYTHON = [block for page in PAGES for block in blocks(page) if block.language == "python" and block.is_tested]


LONGEST_S = 300


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, shipped_path: Path) -> Path:
    """A workspace of the shipped knowledge, which all pages share."""
    place = tmp_path_factory.mktemp("reader") / "workspace"
    shutil.copytree(shipped_path, place)
    write_files(place.parent)
    GreenDesk.of_workspace(place).add(
        [place.parent / "de.csv"], region="DE", zone="Europe/Berlin", kind="average"
    )
    return place


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> dict[str, Path]:
    """A folder for each page, with the files that the pages name."""
    made = {}
    for page in PAGES:
        made[page.name] = tmp_path_factory.mktemp(page.stem.lower())
        write_files(made[page.name])
        (made[page.name] / "workspace").symlink_to(workspace)
    return made


def surroundings(desk: Path) -> dict[str, str]:
    """The environment of a reader who installed tunegraph and stands in that folder."""
    scripts = Path(sys.executable).parent
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("TUNEGRAPH_")},
        "PATH": os.pathsep.join([str(desk / "bin"), str(scripts), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "TUNEGRAPH_WORKSPACE": str(desk / "workspace"),
        "TUNEGRAPH_CACHE": str(desk / "cache"),
        "COLUMNS": "120",
    }


def ran(words: list[str], desk: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=desk,
        env=surroundings(desk),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.where)
def test_every_command_runs_as_it_is_written(command: Command, desks: dict[str, Path]) -> None:
    desk = desks[command.where.partition(":")[0]]
    done = ran(["bash", "-o", "pipefail", "-c", command.text], desk)
    if command.refusal:
        assert done.returncode == 2, done.stderr
        assert command.refusal in done.stderr.splitlines()
    else:
        assert done.returncode == 0, f"{command.text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    "place", range(len(PYTHON)), ids=lambda place: f"{PYTHON[place].page}:{PYTHON[place].line}"
)
def test_every_python_block_runs_as_it_is_written(place: int, desks: dict[str, Path]) -> None:
    desk = desks[PYTHON[place].page]
    done = ran([sys.executable, "-c", PYTHON[place].text], desk)
    assert done.returncode == 0, done.stderr[-2000:]


def test_few_blocks_are_not_tested() -> None:
    reasons = [
        line
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith(UNTESTED)
    ]
    assert len(COMMANDS) > 30
    assert len(reasons) <= 16, "\n".join(reasons)
