"""Records what chains of questions are answered, and what they write."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from queue import Queue
from typing import Any

from tools.recording.forker import Forker
from tools.recording.questions import Chain, write_file

LONGEST_TEXT = 40_000
"""Characters of a written file up to which its text is recorded; of a longer one its digest."""
UNRECORDED_FILES = ("*.journal", "*.journal.*", "*.db", "*.sqlite3", "*.parquet", "calls*")
"""Written files that hold times, or whose bytes follow the library that writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders of a recording.

    Attributes:
        tree: The checkout whose command line is asked.
        work: A folder for everything that is made on the way.
        cache: Where the text model is kept.
        shared: The folder of shared data; None if there is none.
    """

    tree: Path
    work: Path
    cache: Path
    shared: Path | None

    @property
    def workspace(self) -> Path:
        """The shipped workspace, which chains copy."""
        return self.work / "workspace"

    def environment(self) -> dict[str, str]:
        """The environment of all questions: nothing of whoever runs this, one thread each."""
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        return {
            **kept,
            **threads,
            "HOME": str(self.work / "home"),
            "TUNEGRAPH_CACHE": str(self.cache),
            "PYTHONPATH": str(self.tree),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "PYTHONHASHSEED": "0",
            "COLUMNS": "110",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
        }

    def named(self, text: str, folder: Path) -> str:
        """A text with names for paths, and for the date."""
        names = {"workspace": folder / "w", "folder": folder, "work": self.work, "cache": self.cache}
        names |= {"shared": self.shared} if self.shared else {}
        names |= {"tree": self.tree, "python": Path(sys.executable), "prefix": Path(sys.prefix)}
        for name, path in names.items():
            text = text.replace(str(path), f"<{name}>")
        return text.replace(f"{date.today():%Y-%m-%d}", "<date>")


def run_chain(chain: Chain, forker: Forker, places: Places) -> dict[str, dict[str, Any]]:
    """Ask the questions of a chain; their answers by id."""
    folder = places.work / "chains" / chain.name
    folder.mkdir(parents=True)
    for name, content in chain.files.items():
        write_file(folder / name, content)
    if not chain.fresh:
        shutil.copytree(places.workspace, folder / "w")
    answers: dict[str, dict[str, Any]] = {}
    given = {"@python@": sys.executable, "@tree@": str(places.tree), "@shared@": str(places.shared)}
    before = _files_in(folder)
    for question in chain.questions:
        streams = {name: str(places.work / f"{chain.name}.{name}") for name in ("stdin", "stdout", "stderr")}
        Path(streams["stdin"]).write_text(question.stdin, encoding="utf-8")
        words = [_put_in(word, given) for word in question.words]
        end = forker.ask(
            {"folder": str(folder), "arguments": ["--workspace", str(folder / "w"), *words], **streams}
        )
        out, err = (
            places.named(Path(streams[name]).read_text(encoding="utf-8", errors="replace"), folder)
            for name in ("stdout", "stderr")
        )
        parsed = _parsed(out)
        listed = _listed(parsed)
        given |= {f"@id{place}@": item["id"] for place, item in enumerate(listed)}
        after = _files_in(folder)
        written = sorted(name for name, state in after.items() if before.get(name) != state)
        before = after
        answers[question.id] = {
            "arguments": list(question.words),
            "exit_code": end["code"],
            "stdout": out.splitlines() if parsed is None else parsed,
            "stderr": err.splitlines(),
            "files": {name: _content(folder / name, places, folder) for name in written},
            "cpu_s": end["cpu_s"],
        }
    if chain.fresh:
        shutil.move(folder / "w", places.workspace)
    shutil.rmtree(folder)
    return answers


def _put_in(word: str, given: dict[str, str]) -> str:
    for name, value in given.items():
        word = word.replace(name, value)
    return word


def _listed(parsed: object) -> list[dict[str, Any]]:
    """The configurations or changes that an answer lists; none where it is no answer."""
    if not isinstance(parsed, dict):
        return []
    found = parsed.get("recommendations", parsed.get("changes"))
    return found if isinstance(found, list) else []


def _parsed(text: str) -> Any:
    """The JSON object or list that a text is; None if it is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Files of a chain's folder outside its workspaces, with size and time of change."""
    found = {}
    for root, folders, names in os.walk(folder):
        if "workspace.json" in names:
            folders.clear()
            continue
        for name in names:
            path = Path(root) / name
            state = path.stat()
            found[str(path.relative_to(folder))] = (state.st_size, state.st_mtime_ns)
    return found


def _content(path: Path, places: Places, folder: Path) -> object:
    """Content of a written file as far as it is the same every time."""
    if any(fnmatchcase(path.name, pattern) for pattern in UNRECORDED_FILES):
        return "<written>"
    raw = path.read_bytes()
    try:
        text = places.named(raw.decode(), folder)
    except UnicodeDecodeError:
        return f"{len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"
    if len(text) > LONGEST_TEXT:
        return f"{len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return text.splitlines()


def record(
    chains: list[Chain], places: Places, workers: int, keep: Callable[[dict[str, dict[str, Any]]], None]
) -> None:
    """Ask all questions of all chains.

    Args:
        chains: One of them is fresh: it makes the workspace.
        places: Where things are.
        workers: Chains at a time.
        keep: Takes all answers so far, after each chain, in the order of the questions.
    """
    order = [question.id for chain in chains for question in chain.questions]
    (places.work / "home").mkdir(parents=True)
    free: Queue[Forker] = Queue()
    for _ in range(workers):
        free.put(Forker(places.tree, places.environment()))

    def ask(chain: Chain) -> dict[str, dict[str, Any]]:
        forker = free.get()
        try:
            return run_chain(chain, forker, places)
        finally:
            free.put(forker)

    answers: dict[str, dict[str, Any]] = {}
    maker, *rest = sorted(chains, key=lambda chain: not chain.fresh)
    answers |= ask(maker)
    with ThreadPoolExecutor(workers) as pool:
        longest_first = sorted(rest, key=lambda chain: -len(chain.questions))
        for done in as_completed([pool.submit(ask, chain) for chain in longest_first]):
            answers |= done.result()
            keep({name: answers[name] for name in order if name in answers})
            print(f"{len(answers)} of {len(order)} answers", file=sys.stderr, flush=True)
    for _ in range(workers):
        free.get().close()
