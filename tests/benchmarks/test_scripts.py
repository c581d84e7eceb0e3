"""Every script of benchmarks/ and tools/ answers ``--help`` with what it measures or makes."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for folder in ("benchmarks", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if 'if __name__ == "__main__":' in path.read_text(encoding="utf-8")
)
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if at % 3 else ()) for at, name in enumerate(SCRIPTS)]
)
def test_every_script_answers_help_and_shows_its_docstring(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module(name)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " ".join(str(script.__doc__).splitlines()[0].split()) in shown


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) > 25


def test_no_script_is_named_like_a_package() -> None:
    names = {name.rpartition(".")[2] for name in SCRIPTS}
    assert not names & (PACKAGES | set(sys.stdlib_module_names))
