"""Command lines in a process of their own, and files to give them."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import pytest

import cli.main
from benchmarks.kinds.command_line import CommandLine
from cli.options import command_text
from cli.text.language import use_language
from recommender.workspace.workspace import Workspace
from tests.forker import Forker
from tests.samples.toy_cases import case_line

QUESTIONS = frozenset(
    {
        "recommend",
        "check",
        "size",
        "estimate",
        "predict",
        "similar",
        "support",
        "diagnose",
        "explain",
        "report",
        "search space",
        "kb list",
        "kb stats",
        "kb diff",
        "kb effects",
    }
)
"""Commands that only read: asked of the shipped workspace, they are run in this process, which has it open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a run of the script."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        content = json.loads(self.out)
        assert content["schema_version"] == 2
        return content

    @property
    def fault(self) -> str:
        """The line that says what is wrong; what is assumed or noted on the way is none."""
        [line] = [line for line in self.err.splitlines() if line.startswith("tunegraph: ")]
        return line.removeprefix("tunegraph: ")


class Run(Protocol):
    """Runs the script."""

    def __call__(
        self,
        *arguments: object,
        workspace: Path | None = ...,
        before: Sequence[str] = ...,
        environment: Mapping[str, str] | None = ...,
        folder: Path | None = ...,
    ) -> Ran: ...


@pytest.fixture(scope="session")
def script() -> str:
    """The installed script."""
    beside = Path(sys.executable).with_name("tunegraph")
    found = str(beside) if beside.is_file() else shutil.which("tunegraph")
    assert found, "the project is not installed"
    return found


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory, shipped_path: Path) -> dict[str, str]:
    """An environment in which the script finds nothing of whoever runs the tests."""
    home = tmp_path_factory.mktemp("home")
    names = {"PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH"}  # the last says which checkout is tested
    kept = {name: value for name, value in os.environ.items() if name in names}
    return {
        **kept,
        "HOME": str(home),
        "COLUMNS": "500",  # whole sentences are looked for; test_width has screens
        "TUNEGRAPH_CACHE": str(shipped_path.parent / "cache"),
    }


@pytest.fixture(scope="session")
def forker(clean: dict[str, str]) -> Iterator[Forker]:
    """A process that has imported the project, and forks a child for each command line.

    Most of what a short command takes is to import; ``test_start`` and what needs a shell, another user or
    another Python start the installed script itself.
    """
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    made = Forker(Path(cli.main.__file__).parent.parent, clean | threads)
    yield made
    made.close()


@pytest.fixture(scope="session")
def run(
    script: str,
    clean: dict[str, str],
    shipped_path: Path,
    forker: Forker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Run]:
    """Runs a command line on the shipped workspace or another, and sees that no traceback comes out."""
    held, streams = [_held(shipped_path)], tmp_path_factory.mktemp("streams")
    files = {"stdin": os.devnull, "stdout": str(streams / "out"), "stderr": str(streams / "err")}

    def call(
        *arguments: object,
        workspace: Path | None = None,
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Ran:
        words = ["--workspace", str(workspace or shipped_path), *map(str, arguments)]
        surroundings = {**clean, **(environment or {})}
        if before or any(name.startswith("PYTHON") for name in environment or ()):
            done = subprocess.run(
                [*before, script, *words],
                capture_output=True,
                env=surroundings,
                cwd=folder,
                check=False,
                timeout=120,
            )
            ran = Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())
        elif workspace is None and _is_question(words):
            ran = _run_here(asked, words, surroundings, folder or Path.cwd())
        else:
            place = str(folder or Path.cwd())
            end = forker.ask({"folder": place, "arguments": words, "environment": surroundings, **files})
            assert isinstance(end["code"], int), end["code"]
            out, err = (Path(files[name]).read_bytes().decode() for name in ("stdout", "stderr"))
            ran = Ran(code=end["code"], out=out, err=err)
        assert "Traceback" not in ran.err, ran.err
        held.append(_held(shipped_path))  # so that the test that writes is the one that fails
        assert held[-1] == held[-2], f"{words} writes to the workspace that tests share"
        return ran

    with CommandLine(shipped_path, shipped_path.parent / "cache", budget_s=120) as asked:
        yield call


def _is_question(words: list[str]) -> bool:
    verb = words[4:] if words[2:3] == ["--lang"] else words[2:]
    return "--help" in words or bool(QUESTIONS & {*verb[:1], " ".join(verb[:2])})


def _run_here(line: CommandLine, words: list[str], environment: Mapping[str, str], folder: Path) -> Ran:
    """Run a question in this process, with its environment and folder, and leave no trace of them."""
    before = signal.getsignal(signal.SIGINT)
    with (
        patch.dict(os.environ, environment, clear=True),
        chdir(folder),
        Path(os.devnull).open() as nothing,
        patch.object(sys, "stdin", nothing),
    ):
        try:
            done = line.run(words)
        finally:
            command_text.cache_clear()
            use_language("en")
            signal.signal(signal.SIGINT, before)
    assert done.code >= 0, done.err
    return Ran(code=done.code, out=done.out, err=done.err)


def _held(workspace: Path) -> tuple[bool, int]:
    """Local data that answers of a workspace rest on: anchors of its own, and batches."""
    with closing(sqlite3.connect(f"file:{workspace / 'trials.sqlite3'}?mode=ro", uri=True)) as store:
        [[batches]] = store.execute("SELECT count(*) FROM batches")
    return (workspace / "anchors.json").exists(), batches


@pytest.fixture
def line() -> Any:
    """Makes a line of case JSONL."""
    return case_line


@pytest.fixture(scope="session")
def toy_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy's files and its workspace, not to be written to."""
    place = tmp_path_factory.mktemp("toy")
    Workspace.create(place / "workspace", cache=place / "cache", text_model=None, with_shipped=False)
    cases, chip = place / "toy.jsonl", place / "chip.yaml"
    cases.write_text("".join(case_line(block / 10, block=block) for block in (8, 16, 32, 64, 128)))
    chip.write_text(
        "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - {id: acme-one, level: device, broader: acme, label: {en: Acme One}}\n"
    )
    with Workspace.editor(place / "workspace", cache=place / "cache") as editor:
        editor.ingest([cases])
        editor.add_file("hardware", chip)
    return place


@pytest.fixture
def toy_path(toy_place: Path, tmp_path: Path) -> Path:
    """A workspace with five cases of one operator and one device, Acme One; its files lie beside it."""
    for name in ("toy.jsonl", "chip.yaml"):
        shutil.copyfile(toy_place / name, tmp_path / name)
    return shutil.copytree(toy_place / "workspace", tmp_path / "workspace")


@pytest.fixture
def seal() -> Iterator[Callable[[Path], Path]]:
    """Takes away the permission to write to a folder and all in it, for the time of the test."""
    sealed: list[Path] = []

    def close(folder: Path) -> Path:
        subprocess.run(["chmod", "-R", "a-w", str(folder)], check=True)
        sealed.append(folder)
        return folder

    yield close
    for folder in sealed:
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)


@pytest.fixture
def bound_by_permissions() -> list[str]:
    """Words before a command that take root's power over permissions away.

    Root may write everywhere; without the capabilities that let it, it is bound like anybody.
    """
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("runs as root, and there is no setpriv to give up its power over permissions")
    powers = "-dac_override,-dac_read_search,-fowner"
    before = ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("runs as root, which cannot give up its power over permissions here")
    return before


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to search in."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
