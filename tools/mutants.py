"""Makes mutants of changed lines, runs the mirrored tests on each, and prints those that no test sees.

``python -m tools.mutants`` takes the lines that differ from the branch ``main`` (``--since`` another), at
most ``--most`` of them at random. A module's tests are its mirror ``tests/unit/<folder>/test_<module>.py``
(without one, those of its users), the reference figures of a folder above it (``test_*_references.py``), and
the property and contract tests that import it; tests marked long are left out. A mutant swaps an operator,
negates a condition, drops a call, a ``not``, a sign or a refusal, or changes a number; wording stays. It runs
on a copy of the tree, and one that hangs counts as seen; tests that saw one are run at the end without it.
Exit code 1 where mutants survive.
mutmut 2 cannot parse ``match``, and mutmut 3 runs the whole suite before the first mutant.
"""

import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from os.path import commonpath
from pathlib import Path
from queue import SimpleQueue

from benchmarks.harness import option, parse
from tools.source_tree import PACKAGES, ROOT

LONGEST_S = 120
"""Seconds after which tests are taken for hung; a choice."""
_MOST_MIRRORS = 3
"""Files of tests of its neighbours and users that stand for a module's own; a choice."""
_OPERATORS: dict[type[ast.AST], type[ast.AST]] = dict(
    [
        *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or), (ast.Lt, ast.GtE), (ast.Gt, ast.LtE)),
        *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    ]
)
_OPERATORS |= {other: one for one, other in _OPERATORS.items()}
_OPERATORS |= dict.fromkeys((ast.FloorDiv, ast.Mod, ast.Pow), ast.Mult)
_NAMES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil"}
_NAMES |= {other: name for name, other in _NAMES.items()}
_SILENT = frozenset({"debug", "info", "warning", "append", "echo", "print"})
"""Calls that are not dropped: words for people, and lists, whose loss every test of them would see."""


def mutants(original: str) -> dict[str, int]:
    """Texts that a module becomes, each with the line of its change."""
    lines = [line.encode() for line in original.splitlines(keepends=True)]
    made: dict[str, int] = {}
    for function in ast.walk(ast.parse(original)):
        for statement in function.body if isinstance(function, ast.FunctionDef) else []:
            for node, changed in _changes(statement):
                text = ast.unparse(changed) if isinstance(changed, ast.stmt) else f"({ast.unparse(changed)})"
                first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
                before = b"".join(lines[:first]) + lines[first][: node.col_offset]
                after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
                made[(before + text.encode() + after).decode()] = node.lineno
    return made


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Pairs of a node and what stands in its place, in it and below."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        return
    changed = _changed(node)
    if changed is not None and isinstance(node, ast.expr | ast.stmt):
        yield node, changed
    for name, child in ast.iter_fields(node) if not isinstance(node, ast.Raise) else ():
        for item in child if isinstance(child, list) else [child]:
            if isinstance(item, ast.AST) and name not in {"annotation", "returns", "decorator_list"}:
                yield from _changes(item)


def _changed(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.Raise():
            return ast.Pass()
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return None if name in _SILENT else ast.Pass()
        case ast.BinOp(left=ast.JoinedStr() | ast.Constant(value=str())):
            return None
        case ast.BinOp(right=ast.JoinedStr() | ast.Constant(value=str())):
            return None
        case ast.AugAssign(op=one) | ast.BinOp(op=one) | ast.BoolOp(op=one) if type(one) in _OPERATORS:
            return _with(node, op=_OPERATORS[type(one)]())
        case ast.Compare(ops=[one]):
            return _with(node, ops=[_OPERATORS[type(one)]()])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return operand
        case ast.Constant(value=bool() | int() | float() as value):
            return ast.Constant(value=not value if isinstance(value, bool) else 2 * value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            return _with(node, body=orelse, orelse=body)
        case ast.Name(id=name) if name in _NAMES:
            return ast.Name(id=_NAMES[name])
        case ast.Attribute(attr=name) if name in _NAMES:
            return _with(node, attr=_NAMES[name])
    return None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy(node)
    for name, item in fields.items():
        setattr(changed, name, item)
    return changed


def changed_lines(since: str, folder: Path = ROOT) -> dict[str, set[int]]:
    """Lines of production code that differ from a commit, by file."""
    places = [f"{name}/*.py" for name in sorted(PACKAGES)]
    command = ["git", "diff", "-U0", "--merge-base", since, "--", *places]
    difference = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    found: dict[str, set[int]] = defaultdict(set)
    path = ""
    for line in difference.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found[path].update(range(first, first + count))
    return {path: lines for path, lines in found.items() if (folder / path).is_file()}


def mirrored_tests(module: str, tree: Path = ROOT) -> list[str]:
    """Files of tests of a module: its mirror, or the nearest, or its users'; reference figures; laws."""
    mirror = tree / "tests/unit" / Path(module).parent / f"test_{Path(module).stem}.py"
    found = [mirror] if mirror.is_file() else _importing(module, tree, "tests/unit/**/test_*.py")
    found = sorted(found, key=lambda test: -len(commonpath([test, mirror])))[:_MOST_MIRRORS]
    if not found:  # what one neighbour alone imports is tested with that neighbour
        users = [str(user.relative_to(tree)) for user in _importing(module, tree, "[a-z]*/**/[a-z]*.py")]
        mirrors = [tree / "tests/unit" / Path(user).parent / f"test_{Path(user).stem}.py" for user in users]
        found = [mirror for mirror in mirrors if mirror.is_file()][:_MOST_MIRRORS]
    above = [place for place in mirror.parents if place.is_relative_to(tree / "tests/unit")]
    found += [test for place in above for test in sorted(place.glob("test_*_references.py"))]
    found += _importing(module, tree, "tests/property/test_*.py")
    found += _importing(module, tree, "tests/contract/test_*.py")
    return [str(test.relative_to(tree)) for test in dict.fromkeys(found)]


def _importing(module: str, tree: Path, places: str) -> list[Path]:
    """Files that import a module."""
    parent, leaf = ".".join(Path(module).parent.parts), Path(module).stem
    above, listed = re.escape(parent), r"(?:\([^)]*|.*)"
    imports = re.compile(rf"(?:from|import) {above}\.{leaf}\b|from {above} import {listed}\b{leaf}\b")
    files = sorted(path for path in tree.glob(places) if path.is_file())
    return [path for path in files if imports.search(path.read_text(encoding="utf-8"))]


def seen(tree: Path, tests: Sequence[str], limit_s: float = LONGEST_S) -> str:
    """The first test that fails on the tree as it stands, ``hung`` where they take too long; else empty."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider", *tests]
    variables = {**os.environ, "PYTHONPATH": str(tree)}  # for processes that tests start elsewhere
    with subprocess.Popen(
        command, cwd=tree, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as done:  # fmt: skip
        try:
            out, _ = done.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)  # with what its tests have started
            return "hung"
    if done.returncode in {0, 5}:  # 5: every test is marked long
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out, re.MULTILINE)
    return failed[1] if failed else tests[0]


def main() -> None:
    """Run the mutants."""
    given = parse(
        __doc__,
        option("--since", default="main", help="commit or branch that lines are compared with"),
        option("--most", type=int, default=60, help="mutants at most, at random beyond"),
        option("--seed", type=int, default=0, help="of the choice"),
        option("--longest", type=float, default=LONGEST_S, help="seconds of tests that are not hung"),
        option("--workers", type=int, default=1, help="at a time"),
        option("--under", nargs="*", help="folders and files whose lines are all taken instead"),
    )
    places = [ROOT / name for name in given.under or ()]
    every = [path for place in places for path in ([place] if place.is_file() else place.rglob("*.py"))]
    whole = {str(path.relative_to(ROOT)): None for path in every}
    taken: dict[str, set[int]] | dict[str, None] = whole or changed_lines(given.since)
    pairs = [
        (path, line, text)
        for path, lines in sorted(taken.items())
        for text, line in mutants((ROOT / path).read_text(encoding="utf-8")).items()
        if lines is None or line in lines
    ]
    drawn = random.Random(given.seed).sample(pairs, min(given.most, len(pairs)))
    trees: SimpleQueue[Path] = SimpleQueue()
    said: list[str] = []

    def judge(path: str, line: int, text: str) -> str:
        tree = trees.get()
        original = (tree / path).read_text(encoding="utf-8")
        tests = mirrored_tests(path, tree)
        (tree / path).write_text(text, encoding="utf-8")
        by = seen(tree, tests, given.longest) if tests else ""
        (tree / path).write_text(original, encoding="utf-8")
        trees.put(tree)
        changed = " ".join(set(text.splitlines()) - set(original.splitlines())) or "a line dropped"
        what = f"seen by {by}" if by else "SURVIVES" if tests else "SURVIVES (no tests)"
        said.append(by)
        print(f"{len(said)}. {path}:{line}: {what}: {' '.join(changed.split())}", flush=True)
        return by

    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch, ThreadPoolExecutor(given.workers) as pool:
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
        for number in range(given.workers):
            trees.put(shutil.copytree(ROOT, Path(scratch, f"tree{number}"), ignore=ignored))
        by = list(pool.map(lambda one: judge(*one), drawn))
        tree, tests = trees.get(), sorted({name for name in by if name not in {"", "hung"}})
        while tests and (wrong := seen(tree, tests, 10 * given.longest)):
            print(f"fails without a mutant: {wrong}, by which {by.count(wrong)} were seen")
            tests.remove(wrong) if wrong in tests else tests.clear()
    survivors, count = by.count(""), len(drawn)
    print(f"{survivors} of {count} survive, {by.count('hung')} hung (of {len(pairs)}, seed {given.seed})")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
