"""Values that a shell completes: from the graph, in each shell's form, and without the program's weight."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.completion import values, values_for_shell
from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def place(shipped_path: Path) -> dict[str, str]:
    return {"TUNEGRAPH_WORKSPACE": str(shipped_path)}


@pytest.mark.parametrize(
    ("line", "begun", "expected"),
    [
        ("recommend --model", "qwen3-3", ["qwen3-30b-a3b", "qwen3-32b"]),
        ("recommend --hardware", "昇腾910B3", ["ascend-910b3"]),
        ("estimate --server", "atlas-800i-a", ["atlas-800i-a2", "atlas-800i-a3"]),
        ("recommend --bottleneck", "collective-w", ["collective-wait"]),
        ("ab run --strategy", "activation-off", ["activation-offload"]),
        ("recommend --objective", "through", ["throughput"]),
        ("recommend --model =", "bert-larg", ["bert-large"]),
        ("kb list", "mod", ["models"]),
        ("search run", "matm", ["matmul"]),
        ("recommend --count", "", []),
        ("recommend", "--mod", []),
    ],
)
def test_what_fits_is_offered(place: dict[str, str], line: str, begun: str, expected: list[str]) -> None:
    found = values(["tunegraph", *line.split()], begun, place)
    assert found == expected or set(expected) <= set(found) != set()


def test_a_part_of_a_name_finds_it_where_nothing_begins_so(place: dict[str, str]) -> None:
    assert "ascend-910b3" in values(["tunegraph", "recommend", "--hardware"], "910B3", place)


def test_each_shell_gets_its_form(place: dict[str, str]) -> None:
    line = "tunegraph recommend --model qwen3-32"
    bash = {"_TUNEGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "3"}
    assert values_for_shell(place | bash) == "qwen3-32b"
    others = {"_TYPER_COMPLETE_ARGS": line}
    zsh = place | others | {"_TUNEGRAPH_COMPLETE": "complete_zsh"}
    assert values_for_shell(zsh) == "_arguments '*: :((\"qwen3-32b\"))'"
    fish = place | others | {"_TUNEGRAPH_COMPLETE": "complete_fish"}
    assert values_for_shell(fish | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}) == "qwen3-32b"
    assert values_for_shell(fish | {"_TYPER_COMPLETE_FISH_ACTION": "is-args"}) == ""
    assert values_for_shell(place | bash | {"COMP_WORDS": "tunegraph rec", "COMP_CWORD": "1"}) is None


def test_no_workspace_has_no_values(tmp_path: Path) -> None:
    assert values(["tunegraph", "recommend", "--model"], "q", {"TUNEGRAPH_WORKSPACE": str(tmp_path)}) == []


def test_nothing_heavy_is_imported_for_it(place: dict[str, str]) -> None:
    code = (
        "import sys; from cli.completion import values; "
        f"assert values(['tunegraph', '--model'], 'bert', {place}); "
        "assert not {'typer', 'click', 'rich', 'numpy', 'pyoxigraph', 'sqlite3', 'json.tool'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_script_answers_the_shell(run: Any, place: dict[str, str]) -> None:
    bash = place | {"_TUNEGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": "tunegraph similar --model bert-l"}
    ran = run(environment={**bash, "COMP_CWORD": "3"})
    assert (ran.code, ran.out.split()) == (0, ["bert-large"])
    ran = run(environment={**bash, "COMP_WORDS": "tunegraph simi", "COMP_CWORD": "1"})
    assert ran.out.split() == ["similar"]


def test_a_writer_keeps_them_up_to_date(empty_path: Path, tmp_path: Path) -> None:
    layout = WorkspaceFiles(empty_path)
    assert "metric\tthroughput" in layout.completions.read_text(encoding="utf-8")
    layout.completions.unlink()
    with Workspace.open(empty_path, cache=tmp_path) as opened:
        opened.upkeep.keep_completions()
    assert layout.completions.exists()
