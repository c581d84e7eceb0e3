"""Record what every command of the command line answers, and compare two recordings.

A change of the code that is to change no answer is checked in three steps:

    python tools/record_answers.py record --out before.json     # in the old tree
    python tools/record_answers.py record --out after.json      # in the new tree, on the same machine
    python tools/record_answers.py compare before.json after.json --allow on-purpose.yaml

The questions stand in ``questions.yaml`` beside this script: a mapping of chains. The questions of a chain
share one folder and one workspace, a copy of the shipped one, and run one after the other; chains run beside
each other. Words in @ signs are put in: ``@python@``, ``@tree@``, ``@shared@`` and ``@id0@``, the id of the
first recommendation of the last JSON answer. What a question writes into the folder is part of its answer.

Each question is run by ``fork_commands.py``, as the installed script would, with the command's own exit code.
Only the command line of the project is used.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import hashlib
import importlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve()
QUESTIONS = HERE.with_name("questions.yaml")
FORKS = HERE.with_name("fork_commands.py")
LONGEST_TEXT = 40_000
"""Characters of a written file up to which its text is recorded; of a longer one its digest."""
DIFF_LINES = 24
"""Lines of a difference that are printed, unless --full is given."""

TEXT_MASKS: tuple[tuple[str, str], ...] = (
    # dates with times of day
    (r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"<date>T\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    # what is left of a search's time
    (r"at most [\d.]+ (s|min|h) left", "at most <time> left"),
    # what the runs of an A/B test took and cost
    (
        r"^((?:pair \d+;|\d+ rounds,).*?)[\d.]+(?:e[+-]\d+)? s\b(?:, [\d.]+(?:e[+-]\d+)?(?: [A-Z]+)?)?",
        r"\1<time>",
    ),
    # what the evaluations of a search took
    (r"(time to 95 % of the best +)\S+ s *", r"\1<time>"),
    # what reading files took
    (r"( files in )[\d.]+ s \(\d+ rows/s\)", r"\1<time>"),
    # a batch ends by the clock as well, so their number, and what is named by it, follow the machine's speed
    (r"\b\d+-(?=[0-9a-f]{16}\b)", "<batch>-"),
    (r"\b[0-9a-f]{12}\b", "<id>"),
    (r"^(\S*Batch +|batches: |triples: )\d+ *$", r"\1<batches>"),
)
"""What varies by nature in a line: a regular expression, and what stands for it.

A recording itself has names for paths (tree, Python, shared data, what is made on the way) and for its date.
"""

MASKED_VALUES = frozenset(
    {
        "figures.time_s",  # what the evaluations of a search took
        "figures.time_to_95_percent_s",
        "plans.time_s",  # what the pairs of an A/B test would take
        "cost_s",
        "elapsed_s",
        "duration_s",
        "batches",
        "knowledge.Batch",
        "triples",
    }
)
"""Values of JSON that vary by nature: a key, or a key and the one above it."""

UNRECORDED_FILES = ("*.journal", "*.journal.*", "*.db", "*.sqlite3", "*.parquet", "calls*")
"""Written files that hold times, or whose bytes follow the library that writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One command line to run.

    Attributes:
        id: Chain and place in it, such as ``kb-basics/3``.
        words: Its arguments, before words in @ signs are put in.
        stdin: What stands on standard input.
    """

    id: str
    words: tuple[str, ...]
    stdin: str = ""

    @property
    def command(self) -> str:
        """The command it asks, such as ``kb stats``."""
        words = self.words[2:] if self.words[:1] == ("--workspace",) else self.words
        names = [word for word in words if not word.startswith("-")]
        grouped = names[:1] and names[0] in {"kb", "search", "ab"}
        return " ".join(names[: 2 if grouped else 1]) or "tunegraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Questions that share a folder and a workspace.

    Attributes:
        name: What it is called.
        files: Name and content of what lies in the folder before.
        questions: In the order in which they are asked.
        shared: Whether it needs the folder of shared data.
        fresh: Whether its workspace is not there yet.
    """

    name: str
    questions: tuple[Question, ...]
    files: dict[str, Any] = field(default_factory=dict)
    shared: bool = False
    fresh: bool = False


def read_chains(path: Path) -> list[Chain]:
    """Read the chains of a file of questions."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    chains = []
    for name, raw in content.items():
        questions = []
        for place, item in enumerate(raw["ask"], 1):
            line, stdin = (item, "") if isinstance(item, str) else (item["run"], item["stdin"])
            questions.append(Question(id=f"{name}/{place}", words=tuple(shlex.split(line)), stdin=stdin))
        known = {"ask", "files", "shared", "fresh"}
        if unknown := set(raw) - known:
            raise SystemExit(f"{path}: {name}: no key {', '.join(sorted(unknown))}; known: {sorted(known)}")
        chains.append(
            Chain(
                name=name,
                questions=tuple(questions),
                files=raw.get("files", {}),
                shared=raw.get("shared", False),
                fresh=raw.get("fresh", False),
            )
        )
    return chains


def write_file(path: Path, content: Any) -> None:
    """Write a file of a chain: text, or what its ending makes of the text.

    ``.gz`` is compressed, ``.sqlite3`` is made by the SQL, ``.parquet`` of JSON rows, ``.safetensors`` of a
    JSON mapping of names to numbers, two rows each; ``{text, encoding}`` is encoded, ``{hex}`` gives bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict) and "hex" in content:
        path.write_bytes(bytes.fromhex(content["hex"]))
    elif isinstance(content, dict):
        path.write_bytes(content["text"].encode(content["encoding"]))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode(), mtime=0))
    elif path.suffix == ".sqlite3":
        with closing(sqlite3.connect(path)) as made:
            made.executescript(content)
    elif path.suffix == ".parquet":
        tables = importlib.import_module("pyarrow.parquet")
        table = importlib.import_module("pyarrow").Table.from_pylist(json.loads(content))
        tables.write_table(table, path)
    elif path.suffix == ".safetensors":
        header: dict[str, object] = {}
        body = b""
        for name, numbers in json.loads(content).items():
            packed = struct.pack(f"<{len(numbers)}f", *numbers)
            place = [len(body), len(body) + len(packed)]
            header[name] = {"dtype": "F32", "shape": [2, len(numbers) // 2], "data_offsets": place}
            body += packed
        head = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + body)
    else:
        path.write_text(content, encoding="utf-8")


class Forker:
    """A process with the command line imported, asked over two pipes."""

    def __init__(self, tree: Path, environment: dict[str, str]) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(FORKS)],
            env=environment,
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a question; how it ended, and the processor time it took."""
        line = ""
        if self._process.stdin is not None and self._process.stdout is not None:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process that runs the questions ended: is --tree a checkout?")
        end: dict[str, Any] = json.loads(line)
        return end

    def close(self) -> None:
        """End it."""
        self._process.communicate()


# --- recording ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a recording finds and puts things.

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


# --- comparing ---


def compare(first: dict[str, Any], second: dict[str, Any], allowed: dict[str, str], most_lines: int) -> int:
    """Print each question whose answers differ; how many do without being allowed to."""
    before, after = first["answers"], second["answers"]
    used: set[str] = set()
    faults = 0
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = _shown(before.get(name)), _shown(after.get(name))
        if old == new:
            continue
        reason = next((pattern for pattern in allowed if fnmatchcase(name, pattern)), None)
        if reason is not None:
            used.add(reason)
            print(f"{name}: differs on purpose: {allowed[reason]}")
            continue
        faults += 1
        words = (before.get(name) or after[name])["arguments"]
        print(f"\n{name}: tunegraph {shlex.join(words)}")
        difference = list(difflib.unified_diff(old, new, "before", "after", n=2, lineterm=""))
        print("\n".join(f"  {line[:300]}" for line in difference[:most_lines]))
        if len(difference) > most_lines:
            print(f"  ... {len(difference) - most_lines} lines more")
    for pattern in sorted(set(allowed) - used):
        print(f"{pattern}: was to differ, and does not")
    print(f"\n{faults} of {len(before.keys() | after.keys())} questions differ")
    return faults


def _shown(answer: dict[str, Any] | None) -> list[str]:
    """An answer as lines, for comparing, without its processor time and what varies by nature."""
    if answer is None:
        return ["not asked"]
    kept = {name: masked(value) for name, value in answer.items() if name != "cpu_s"}
    return json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True).splitlines()


def masked(value: Any, above: str = "") -> Any:
    """An answer, or a part of it, without what varies by nature; null stays null."""
    if isinstance(value, dict):
        content = {}
        for key, item in value.items():
            varies = item is not None and not MASKED_VALUES.isdisjoint({key, f"{above}.{key}"})
            content[key] = "<masked>" if varies else masked(item, key)
        return content
    if isinstance(value, list):
        return [masked(item, above) for item in value]
    if isinstance(value, str):
        for pattern, name in TEXT_MASKS:
            value = re.sub(pattern, name, value)
    return value


# --- the script ---


def main() -> int:
    """Run the script; its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="record | compare")
    recording = verbs.add_parser("record", help="ask all questions and write the answers to a file")
    recording.add_argument("--out", type=Path, required=True, help="the file (JSON)")
    recording.add_argument("--tree", type=Path, default=HERE.parent.parent, help="checkout to ask; this one")
    recording.add_argument("--shared", type=Path, default=None, help="folder with data/; TREE/../shared")
    recording.add_argument("--cache", type=Path, help="where the text model is kept; made anew if not given")
    recording.add_argument("--questions", type=Path, default=QUESTIONS, help="another file of questions")
    recording.add_argument("--only", nargs="*", default=["*"], help="only these chains, such as 'kb-*'")
    recording.add_argument("--workers", type=int, default=2, help="processes at a time")
    comparing = verbs.add_parser("compare", help="print what differs between two files; exit 1 if anything")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--allow", type=Path, help="YAML: id or pattern such as 'kb/*', and why it differs"
    )
    comparing.add_argument("--full", action="store_true", help="print differences whole")
    given = parser.parse_args()
    if given.verb == "record":
        _record(given)
    else:
        first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (given.before, given.after))
        allowed = yaml.safe_load(given.allow.read_text(encoding="utf-8")) if given.allow else None
        return int(compare(first, second, allowed or {}, sys.maxsize if given.full else DIFF_LINES) > 0)
    return 0


def _record(given: argparse.Namespace) -> None:
    tree = given.tree.resolve()
    shared = (given.shared or tree.parent / "shared").resolve()
    has_shared = (shared / "data").is_dir()
    chains = [
        chain
        for chain in read_chains(given.questions)
        if chain.fresh or any(fnmatchcase(chain.name, pattern) for pattern in given.only)
    ]
    if not has_shared:
        left_out = sum(len(chain.questions) for chain in chains if chain.shared)
        print(f"no {shared / 'data'}: {left_out} questions about shared data are left out (--shared DIR)")
        chains = [chain for chain in chains if not chain.shared]
    began = time.monotonic()
    given.out.parent.mkdir(parents=True, exist_ok=True)

    def keep(answers: dict[str, dict[str, Any]]) -> None:
        about = {
            "tree": str(tree),
            "python": sys.version.split()[0],
            "questions": len(answers),
            "seconds": round(time.monotonic() - began),
            "cpu_seconds": round(sum(answer["cpu_s"] for answer in answers.values())),
        }
        content = json.dumps({"about": about, "answers": answers}, indent=1, ensure_ascii=False)
        given.out.write_text(content + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="answers-") as work:
        places = Places(
            tree=tree,
            work=Path(work).resolve(),
            cache=(given.cache or Path(work) / "cache").resolve(),
            shared=shared if has_shared else None,
        )
        record(chains, places, given.workers, keep)
    counts = Counter(question.command for chain in chains for question in chain.questions)
    for command, count in sorted(counts.items()):
        print(f"{count:4}  {command}")
    print(f"{counts.total():4}  in {time.monotonic() - began:.0f} s, in {given.out}")


if __name__ == "__main__":
    sys.exit(main())
