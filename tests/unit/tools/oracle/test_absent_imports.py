"""Packages that are not there, as one package sees them."""

import importlib
import sys
from pathlib import Path

import pytest

from tools.oracle.absent_imports import AbsentImports


def test_an_absent_package_is_there_for_the_one_that_asks_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "asks_here"
    package.mkdir()
    text = "from no_such_kernels.ops import fused, wraps\n\n@wraps(near=1)\ndef plain():\n    return 7\n"
    (package / "needs.py").write_text(text, encoding="utf-8")
    (package / "own.py").write_text("import asks_here.no_such_module\n", encoding="utf-8")
    (tmp_path / "stranger.py").write_text("import no_other_kernels\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, AbsentImports("asks_here")])
    needs = importlib.import_module("asks_here.needs")
    assert needs.plain() == 7  # what decorates gives back what it got
    assert list(needs.fused(1).more) == []
    for name in ("stranger", "asks_here.own"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
