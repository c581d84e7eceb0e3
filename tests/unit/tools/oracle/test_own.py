"""The judge beside a package's own parser, run in a process apart."""

import random
import sys
from pathlib import Path

import pytest

from kg.errors import MissingDependencyError
from tools.oracle import own
from tools.oracle.facts import facts


def test_argvs_are_drawn_by_the_seed() -> None:
    known = facts("vllm", "0.25.1")
    one, again = ([own.argv(known, random.Random(7)) for _ in range(2)] for _ in range(2))
    assert one == again
    assert all(words[0] == "model" and len(words) > 1 for words in one)


def test_both_are_asked_and_differences_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    strict = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('model')\nparse = parser.parse_args"
    monkeypatch.setitem(own._MAKERS, "vllm", strict)
    found = own.compare("vllm", "0.25.1", Path(sys.executable), 20, random.Random(1))
    assert found.asked == 20
    assert found.agreed + len(found.differences) == 20
    assert all("unrecognized" in said and not ours for _, said, ours in found.differences)
    assert found.differences


def test_a_package_that_does_not_import_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(own._MAKERS, "vllm", "import no_such_package")
    with pytest.raises(MissingDependencyError, match="No module named 'no_such_package'"):
        own.complaints("vllm", Path(sys.executable), [["m"]])
    with pytest.raises(MissingDependencyError, match="no parser that runs apart"):
        own.complaints("mindie", Path(sys.executable), [["m"]])
