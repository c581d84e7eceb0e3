"""Imports of the script: few, our own, and with help for everything."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import typer

import tunegraph
from cli.app import app

OURS = ("tunegraph", "kg", "embeddings", "recommender", "ingest", "cli", "data")
HEAVY = {
    "faiss",
    "networkx",
    "numpy",
    "onnxruntime",
    "pyshacl",
    "rdflib",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
    "yaml",
}
NOT_TO_ANSWER = HEAVY - {"faiss", "numpy", "onnxruntime", "tokenizers"}

PROBE = """
import sys
sys.argv = ["tunegraph", *sys.argv[1:]]
from cli.main import main
try:
    main()
finally:
    print("imported:", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported(clean: dict[str, str], *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, *arguments],
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("imported:")[2].split())


def test_help_imports_nothing_heavy(clean: dict[str, str]) -> None:
    assert not imported(clean, "--help") & HEAVY


def test_an_answer_needs_neither_torch_nor_rdflib_nor_sklearn(
    clean: dict[str, str], shipped_path: Path
) -> None:
    question = ("recommend", "--model", "bert-large", "--phase", "training", "--hardware", "910b3", "--json")
    assert not imported(clean, "--workspace", str(shipped_path), *question) & NOT_TO_ANSWER


def test_nobody_else_owns_our_names() -> None:
    owners = packages_distributions()
    assert {owner for name in OURS for owner in owners.get(name, ["tunegraph"])} == {"tunegraph"}


@pytest.mark.parametrize("name", ["tunegraph", "data"])
def test_a_package_of_another_with_our_name_is_refused(run: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(
        "raise RuntimeError('a stranger was run')" * (name != "tunegraph")
    )
    ran = run("--help", environment={"PYTHONPATH": str(tmp_path)})
    assert (ran.code, ran.out) == (1, "")
    assert ran.fault == f"another package stands in for ours: {name} at {tmp_path / name}"
    assert "take its folder off PYTHONPATH" in ran.err


def test_a_package_of_another_behind_ours_does_not_matter(run: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "__init__.py").write_text("raise RuntimeError('a stranger was run')")
    home = Path(tunegraph.__file__).parent.parent
    ran = run("--version", environment={"PYTHONPATH": f"{home}{os.pathsep}{tmp_path}"})
    assert (ran.code, ran.err) == (0, "")


def commands(group: Any, path: str = "tunegraph") -> Iterator[tuple[str, Any]]:
    yield path, group
    for name in getattr(group, "commands", {}):
        yield from commands(group.get_command(None, name), f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), list(commands(typer.main.get_command(app))))
def test_every_command_and_option_has_help(path: str, command: Any) -> None:
    assert command.help, path
    silent = [item.name for item in command.params if not getattr(item, "help", None)]
    assert silent == [], path


def test_the_version_is_the_installed_one(run: Any) -> None:
    ran = run("--version")
    assert ran.code == 0
    assert ran.out.startswith("tunegraph ")


def test_what_is_no_command_is_a_usage_error(run: Any) -> None:
    ran = run("recomend")
    assert (ran.code, ran.out) == (2, "")
    assert "No such command 'recomend'" in ran.err


@pytest.mark.long  # .ci/run begins so too, with the runtime dependencies alone
def test_the_first_command_makes_a_workspace_and_says_so_beside_the_result(run: Any, tmp_path: Path) -> None:
    made = tmp_path / "made"
    environment = {
        "TUNEGRAPH_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(_without_text_model(tmp_path)), os.environ.get("PYTHONPATH", "")]),
    }
    ran = run("kb", "stats", "--json", workspace=made, environment=environment)
    assert ran.code == 0
    assert ran.json["cases"]["rows"] > 900
    assert f"Making a workspace from the shipped knowledge at {made}" in ran.err
    assert "No text model here" in ran.err


def _without_text_model(tmp_path: Path) -> Path:
    """A folder for the path that hides what makes the text model, as where it is not installed."""
    place = tmp_path / "path"
    place.mkdir()
    (place / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "_find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'onnx' else _find(name, *rest)\n"
    )
    return place


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_take_nothing_from_an_answer(
    script: str, clean: dict[str, str], shipped_path: Path, tmp_path: Path, closed: str
) -> None:
    """A library that writes to a number that the caller closed reaches no file, and notes do not join the answer."""
    command = f"{script} --workspace {shipped_path} support vllm-ascend --json {closed} | cat > out; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=clean, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b"vllm-ascend" in (tmp_path / "out").read_bytes() or ">&-" in closed.split()
    numbers = "import os; from cli.main import _open_streams as call; call(); print([os.fstat(n).st_rdev for n in (0, 1, 2)], file=open('numbers', 'w'))"
    subprocess.run(["bash", "-c", f'{sys.executable} -c "{numbers}" {closed}'], cwd=tmp_path, check=True)
    assert (tmp_path / "numbers").read_text().count(str(Path(os.devnull).stat().st_rdev)) >= closed.count(
        "&-"
    )


@pytest.mark.parametrize("words", ["kb stats", "--help"])
def test_a_folder_that_is_gone_is_one_line(
    script: str, clean: dict[str, str], tmp_path: Path, words: str
) -> None:
    command = f"mkdir gone && cd gone && rmdir ../gone && {script} {words}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "tunegraph: the folder that you are in is gone",
    )
