"""Mutants: which are made, and which a test sees."""

import ast
import subprocess
from pathlib import Path

import pytest

from tools.mutants import changed_lines, mirrored_tests, mutants, seen


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("return a < b", {"return a >= b"}),
        ("return a and (not b)", {"return a or not b", "return a and b"}),
        ("return -a", {"return a"}),
        ("return min(a, b)", {"return max(a, b)"}),
        ("return a.argmin()", {"return a.argmax()"}),
        ("return 0.5", {"return 2.0"}),
        ("sync(a)", {"pass"}),
        ("raise ValueError(f'{a + 1} is no {b}')", {"pass"}),
        (
            "return a if 'ü' != b else None",
            {"return None if 'ü' != b else a", "return a if 'ü' == b else None"},
        ),
        ("return 'a' + b", set()),
        ("return f'{a + b}'", set()),
        ("'A docstring of 3 words.'", set()),
    ],
)
def test_each_change_is_one_that_a_test_should_see(source: str, expected: set[str]) -> None:
    text = f"def f(a, b):\n    {source}\n"
    assert {ast.unparse(ast.parse(made)).partition("\n    ")[2] for made in mutants(text)} == expected
    assert set(mutants(text).values()) <= {2}


def test_lines_that_differ_from_a_branch_are_those_of_production_code(tmp_path: Path) -> None:
    (tmp_path / "kg").mkdir()
    for name in ("kg/a.py", "kg/b.py", "notes.py"):
        (tmp_path / name).write_text("one = 1\ntwo = 2\nthree = 3\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "kg" / "a.py").write_text("one = 1\ntwo = 22\nthree = 3\nfour = 4\n")
    (tmp_path / "notes.py").write_text("")
    assert changed_lines("main", tmp_path) == {"kg/a.py": {2, 4}}


def test_tests_of_a_module_are_its_mirror_and_the_laws_that_import_it(tmp_path: Path) -> None:
    tests = {
        "tests/unit/kg/test_lock.py": "from kg.lock import Lock",
        "tests/unit/kg/test_other.py": "from kg.lock import Lock\nimport kg.other",
        "tests/property/test_laws.py": "from kg import (\n    errors,\n    lock,\n)",
    }
    for path, text in tests.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert mirrored_tests("kg/lock.py", tmp_path) == [
        "tests/unit/kg/test_lock.py",
        "tests/property/test_laws.py",
    ]
    assert mirrored_tests("kg/locks.py", tmp_path) == []
    assert mirrored_tests("kg/other.py", tmp_path) == ["tests/unit/kg/test_other.py"]
    (tmp_path / "kg").mkdir()
    (tmp_path / "kg" / "lock.py").write_text("from kg.held import Held")
    assert mirrored_tests("kg/held.py", tmp_path) == ["tests/unit/kg/test_lock.py"]


def test_reference_figures_of_a_folder_are_tests_of_every_module_below_it(tmp_path: Path) -> None:
    names = ("kg/test_step_references.py", "kg/rows/test_table.py", "data/test_file_references.py")
    for name in names:
        (tmp_path / "tests/unit" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests/unit" / name).write_text("")
    found = mirrored_tests("kg/rows/table.py", tmp_path)
    assert found == ["tests/unit/kg/rows/test_table.py", "tests/unit/kg/test_step_references.py"]


def test_a_failing_and_a_hanging_test_see_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert 1 == 1\n")
    assert not seen(tmp_path, ["test_a.py"])
    cases = 'import pytest\n@pytest.mark.parametrize("a", ["1", "a b"])\n'
    (tmp_path / "test_a.py").write_text(f"{cases}def test_a(a):\n    assert a == '1', 'a - b'\n")
    name = seen(tmp_path, ["test_a.py"])
    assert name == "test_a.py::test_a[a b]"  # by which it is run again
    assert seen(tmp_path, [name]) == name
    (tmp_path / "test_a.py").write_text("import time\ndef test_a():\n    time.sleep(60)\n")
    assert seen(tmp_path, ["test_a.py"], limit_s=1.0) == "hung"
