"""Each example runs, with the workspace of the shipped knowledge, and prints what it promises."""

import ast
import importlib
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = {
    "ask": "number 1 of 3",
    "ingest_and_find": "4 rows of 2 problems are new",
    "search_a_function": "the best: ",
    "compare_two_settings": "learned: flash-attention",
    "diagnose_a_profile": "cast-traffic, probability ",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shipped_path: Path) -> Path:
    """A workspace that may be written to."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(shipped_path, folder / "workspace")
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs_and_says_what_it_promises(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNEGRAPH_WORKSPACE", str(place / "workspace"))
    monkeypatch.setenv("TUNEGRAPH_CACHE", str(place / "cache"))
    monkeypatch.chdir(place)
    importlib.import_module(f"examples.{name}").main()
    assert EXAMPLES[name] in capsys.readouterr().out


def test_every_example_is_tested_short_and_through_tunegraph_alone() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.py")}
    assert set(files) == set(EXAMPLES)
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tunegraph"}
    for name, text in files.items():
        nodes = list(ast.walk(ast.parse(text)))
        named = {item.name for node in nodes if isinstance(node, ast.Import) for item in node.names}
        named |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {module.split(".")[0] for module in named} & packages, name
        assert 15 <= sum(bool(line.strip()) for line in text.splitlines()) <= 45, name
