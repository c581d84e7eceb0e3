"""Packages of other programs with our names are found, named, and never run."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tunegraph.packages import PACKAGES, foreign_packages

HOME = Path(__file__).resolve().parents[3]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the first file of every package, and of the check."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        shutil.copy(HOME / name / "__init__.py", tmp_path / name)
    shutil.copy(HOME / "tunegraph" / "packages.py", tmp_path / "tunegraph")
    return tmp_path


def imported(*folders: Path) -> str:
    """Errors of Python when tunegraph is imported with these folders first on its path."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import tunegraph"],
        env={"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_the_packages_that_ship_are_the_ones_that_are_checked() -> None:
    assert foreign_packages() is None
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    assert tuple(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == PACKAGES


def test_all_of_ours_are_taken(copy: Path) -> None:
    assert imported(copy) == ""


@pytest.mark.parametrize("name", ["kg", "data"])
def test_a_package_installed_over_ours_is_named(copy: Path, name: str) -> None:
    (copy / name / "__init__.py").write_text("raise RuntimeError('a stranger was run')")
    told = imported(copy)
    assert f"ImportError: another package stands in for ours: {name} at {copy / name}" in told
    assert "pip install --force-reinstall --no-deps tunegraph" in told


def test_a_package_before_ours_is_named_and_one_behind_is_not(copy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    (other / "data" / "__init__.py").write_text("raise RuntimeError('a stranger was run')")
    told = imported(other, copy)
    assert f"ImportError: another package stands in for ours: data at {other / 'data'}" in told
    assert "take its folder off PYTHONPATH" in told
    assert imported(copy, other) == ""
