"""Makes mutants of changed lines, runs the mirrored tests on each, and prints those that no test sees.

``python -m tools.mutants`` takes the lines that differ from the branch ``main`` (``--since`` another);
``--sample 40 --package kg recommender/search`` takes that many at random of whole folders instead. A module's
mirrored tests are ``tests/unit/<folder>/test_<module>.py`` and the property and contract tests that import
it; where there is no such file, the unit tests that import it, else those of the modules that use it. Files
named ``test_.._references.py`` hold values of a whole folder and are its modules' too. Tests marked long are
left out. A mutant runs
in a process of its own on a copy of the tree, and one that hangs counts as seen. The last line is JSON; exit
1 where mutants of changed lines survive.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from tools.mutation.operators import Mutant, mutants
from tools.source_tree import PACKAGES, ROOT, modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONGEST_S = 120
"""Seconds after which tests that pass on the original are taken for hung on a mutant; a choice."""

MOST_TESTS = 8
"""Files of tests that one mutant meets at most; a choice of time."""


def changed_lines(since: str, folder: Path = ROOT) -> dict[str, set[int]]:
    """Lines of production code that differ from a commit, by file."""
    base = _git(folder, "merge-base", since, "HEAD").strip()
    difference = _git(folder, "diff", "-U0", base, "--", *(f"{name}/*.py" for name in sorted(PACKAGES)))
    found: dict[str, set[int]] = defaultdict(set)
    path = ""
    for line in difference.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found[path].update(range(first, first + count))
    return {path: lines for path, lines in found.items() if (folder / path).is_file()}


def mirrored_tests(module: str, tests: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Files of tests of a module.

    Args:
        module: Its path, such as ``kg/triples/graph.py``.
        tests: Text of each file of tests, by path.
        sources: Text of each module, by path.
    """
    users = _users(module, tests)
    laws = [path for path in users if path.startswith(("tests/property/", "tests/contract/"))]
    units = (
        [_mirror(module)] if _mirror(module) in tests else [p for p in users if p.startswith("tests/unit/")]
    )
    if not units:
        units = [_mirror(user) for user in _users(module, sources) if _mirror(user) in tests]
    folders = {f"tests/unit/{folder}" for folder in Path(module).parents}
    references = [
        path for path in tests if path.endswith("_references.py") and str(Path(path).parent) in folders
    ]
    return list(dict.fromkeys([*units, *references, *laws]))[:MOST_TESTS]


def _mirror(module: str) -> str:
    path = Path(module)
    return f"tests/unit/{path.parent}/test_{path.stem}.py"


def _users(module: str, texts: Mapping[str, str]) -> list[str]:
    """Files that import a module."""
    name = module.removesuffix(".py").replace("/", ".")
    parent, _, leaf = name.rpartition(".")
    imports = re.compile(rf"(?:from|import) {re.escape(name)}\b|from {re.escape(parent)} import .*\b{leaf}\b")
    return [path for path, text in texts.items() if imports.search(text)]


def seen(tree: Path, tests: Sequence[str], limit_s: float = LONGEST_S) -> bool:
    """Whether tests fail, or hang, on the tree as it stands."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit_s) not in {0, 5}  # 5: every test is marked long
    except subprocess.TimeoutExpired:
        return True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def chosen(packages: Iterable[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Mutants at random of whole packages, as many of each."""
    found: list[tuple[str, Mutant]] = []
    for package in packages:
        files = sorted(set(_git(ROOT, "ls-files", f"{package}/**.py", f"{package}/*.py").split()))
        every = [(path, mutant) for path in files for mutant in mutants((ROOT / path).read_bytes())]
        found += random.Random(f"{seed} {package}").sample(every, min(count, len(every)))
    return found


def main() -> None:
    """Run the mutants."""
    parser = argparse.ArgumentParser(description=" ".join((__doc__ or "").split("\n\n")[0].split()))
    parser.add_argument("--since", default="main", help="commit or branch that lines are compared with")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each --package, at random")
    parser.add_argument("--package", nargs="+", default=["kg"], help="folders for --sample")
    parser.add_argument(
        "--most", type=int, default=60, help="mutants of changed lines at most, at random beyond"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.sample:
        pairs = chosen(given.package, given.sample, given.seed)
    else:
        lines = changed_lines(given.since)
        pairs = [
            (path, mutant)
            for path, numbers in sorted(lines.items())
            for mutant in mutants((ROOT / path).read_bytes())
            if mutant.line in numbers
        ]
        random.Random(given.seed).shuffle(pairs)
        pairs = pairs[: given.most]
    survivors = run(sorted(pairs, key=lambda pair: (pair[0], pair[1].start)))
    if survivors and not given.sample:
        sys.exit(1)


def run(pairs: Sequence[tuple[str, Mutant]]) -> list[tuple[str, Mutant]]:
    """Run mutants one after the other on a copy of the tree; returns those that survive."""
    survivors: list[tuple[str, Mutant]] = []
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    passing: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        tree = Path(scratch)
        for name in _git(ROOT, "ls-files", "-co", "--exclude-standard").splitlines():
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        tests = {
            path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted((tree / "tests").rglob("test_*.py"))
        }
        sources = {module.path.as_posix(): module.text for module in modules()}
        for path, mutant in pairs:
            mirror = mirrored_tests(path, tests, sources)
            if mirror and path not in passing:
                began = time.monotonic()
                passing[path] = 0.0 if seen(tree, mirror) else max(10.0, 5 * (time.monotonic() - began))
                if not passing[path]:
                    print(
                        f"{path}: its tests fail or take too long without any mutant: {' '.join(mirror)}",
                        file=sys.stderr,
                    )
            if mirror and not passing[path]:
                continue
            original = (tree / path).read_bytes()
            (tree / path).write_bytes(mutant.source(original))
            alive = not mirror or not seen(tree, mirror, min(LONGEST_S, passing[path]))
            (tree / path).write_bytes(original)
            package = path.rsplit("/", 1)[0] if path.startswith("recommender/") else path.split("/")[0]
            package = "/".join(package.split("/")[:2])
            counts[package][0] += 1
            counts[package][1] += not alive
            print(f"{package}: {'survives' if alive else 'killed'}: {path}:{mutant.line}", file=sys.stderr)
            if alive:
                survivors.append((path, mutant))
                print(f"{path}:{mutant.line}: {mutant}{'' if mirror else '  (no tests)'}", flush=True)
    shares = {name: {"mutants": n, "killed": k} for name, (n, k) in sorted(counts.items())}
    print(
        json.dumps({"mutants": sum(n for n, _ in counts.values()), "survivors": len(survivors), "by": shares})
    )
    return survivors


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
