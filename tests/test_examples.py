"""Each example runs, with the workspace of the shipped knowledge, and prints what it promises."""

import ast
import importlib
import json
import shutil
from pathlib import Path
from typing import Any

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


NOTEBOOKS = {
    "plan": "Start with vllm-ascend",
    "ledger": "cast-traffic, probability ",
    "tune": "best ",
    "board": "right ",
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_top_to_bottom_and_ends_in_a_picture(
    name: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TUNEGRAPH_WORKSPACE", str(place / "workspace"))
    monkeypatch.setenv("TUNEGRAPH_CACHE", str(place / "cache"))
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    scope: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), scope)  # noqa: S102  our own file
    assert NOTEBOOKS[name] in capsys.readouterr().out
    shown = eval("".join(cells[-1]["source"]).rpartition("\n")[2], scope)  # noqa: S307  likewise
    assert len(shown._repr_svg_() if hasattr(shown, "_repr_svg_") else shown._repr_html_()) > 1000
    assert set(cells[-1]["outputs"][-1]["data"]) & {"image/png", "image/svg+xml"}


def test_every_notebook_is_tested() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.ipynb")} == set(NOTEBOOKS)
