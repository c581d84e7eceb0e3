"""Mutants of a small repository: which are made, and which a test sees."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tools.mutants import changed_lines, mirrored_tests, seen

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_lines_that_differ_from_a_branch_are_those_of_production_code(tmp_path: Path) -> None:
    (tmp_path / "kg").mkdir()
    for name in ("kg/a.py", "kg/b.py", "notes.py"):
        (tmp_path / name).write_text("one = 1\ntwo = 2\nthree = 3\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "switch", "-q", "-c", "work")
    (tmp_path / "kg" / "a.py").write_text("one = 1\ntwo = 22\nthree = 3\nfour = 4\n")
    (tmp_path / "notes.py").write_text("")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    assert changed_lines("main", tmp_path) == {"kg/a.py": {2, 4}}


def test_tests_of_a_module_are_its_mirror_and_the_laws_that_import_it() -> None:
    tests = {
        "tests/unit/kg/test_lock.py": "from kg.lock import Lock",
        "tests/unit/kg/test_other.py": "from kg.lock import Lock\nimport kg.other",
        "tests/property/test_laws.py": "from kg import errors, lock",
        "tests/cli/test_kb.py": "from kg.lock import Lock",
    }
    assert mirrored_tests("kg/lock.py", tests, {}) == [
        "tests/unit/kg/test_lock.py",
        "tests/property/test_laws.py",
    ]
    del tests["tests/unit/kg/test_lock.py"]
    assert mirrored_tests("kg/lock.py", tests, {}) == [
        "tests/unit/kg/test_other.py",
        "tests/property/test_laws.py",
    ]
    assert mirrored_tests("kg/locks.py", tests, {}) == []


def test_a_module_that_no_test_imports_has_the_tests_of_those_that_use_it() -> None:
    tests = {"tests/unit/kg/test_user.py": "from kg.user import use", "tests/unit/kg/test_other.py": ""}
    sources = {"kg/part.py": "", "kg/user.py": "from kg.part import Part", "kg/other.py": ""}
    assert mirrored_tests("kg/part.py", tests, sources) == ["tests/unit/kg/test_user.py"]


def test_references_of_a_folder_are_tests_of_all_that_is_below() -> None:
    tests = {"tests/unit/kg/test_size_references.py": "", "tests/unit/ingest/test_other_references.py": ""}
    assert mirrored_tests("kg/rows/part.py", tests, {}) == ["tests/unit/kg/test_size_references.py"]


def test_a_failing_and_a_hanging_test_see_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert 1 == 1\n")
    assert not seen(tmp_path, ["test_a.py"])
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert 1 == 2\n")
    assert seen(tmp_path, ["test_a.py"])
    (tmp_path / "test_a.py").write_text("import time\ndef test_a():\n    time.sleep(60)\n")
    assert seen(tmp_path, ["test_a.py"], limit_s=1.0)
