"""The packages of an installation are pinned by digest, at the releases that the tests ran with."""

import re
import tomllib
from pathlib import Path

import yaml

from data import __version__

ROOT = Path(__file__).resolve().parents[2]


def name_of(text: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text, maxsplit=1)[0]).lower()


def test_every_requirement_has_digests_and_the_release_of_the_tests() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    blocks = [block for block in re.split(r"\n(?=\w)", text) if not block.startswith("#")]
    pins = {name_of(block): re.match(r"[^=]+==(\S+)", block) for block in blocks}
    assert all(pins.values())
    assert all("--hash=sha256:" in block for block in blocks)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    tested = {name_of(line): line.partition("==")[2] for line in constraints}
    found = {name: pin[1] for name, pin in pins.items() if pin}
    assert {name: tested[name] for name in found.keys() & tested.keys()} == {
        name: found[name] for name in found.keys() & tested.keys()
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {name_of(item) for item in project["project"]["dependencies"]} | {"hatchling"}
    assert needed <= found.keys()


def test_the_image_starts_from_a_digest() -> None:
    assert re.match(r"(?s).*^FROM \S+@sha256:[0-9a-f]{64}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_what_is_cited_is_this_version_and_the_pythons_that_it_names_are_tested() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line}
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert set(workflow["jobs"]["checks-and-tests"]["strategy"]["matrix"]["python"]) == named
