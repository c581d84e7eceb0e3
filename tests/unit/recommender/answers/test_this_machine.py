"""This machine as a question names it."""

from pathlib import Path

import pytest

from kg.nouns.framework import Framework
from recommender.answers.this_machine import machine_facts
from recommender.workspace.workspace import Workspace

GPUS = "#!/bin/sh\necho name\nfor gpu in 1 2; do echo '{}'; done\n"


def tool(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def framework(identifier: str, *stack: str) -> Framework:
    return Framework(id=identifier, labels={}, phases=("inference",), hardware=(), stack=stack)


def test_the_devices_of_a_tool_are_named_and_counted(
    shipped: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    tool(tmp_path, "nvidia-smi", GPUS.format("NVIDIA H200"))
    made = machine_facts(shipped.names, [])
    assert (made.hardware, made.count, made.framework) == (shipped.names.hardware("NVIDIA H200").id, 2, "")
    assert "NVIDIA H200" in made.sources["hardware"]


@pytest.mark.parametrize("listing", [GPUS.format("Acme Nine"), "#!/bin/sh\necho no device\n"])
def test_what_nobody_knows_is_left_out_and_said(
    shipped: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    tool(tmp_path, "nvidia-smi", listing)
    made = machine_facts(shipped.names, [])
    assert (made.hardware, made.count) == ("", None)
    assert len(made.notes) == 1


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    tool(tmp_path, "nvidia-smi", GPUS.format("NVIDIA H200"))


@pytest.mark.usefixtures("devices")
def test_the_framework_that_runs_on_the_others_is_the_one(shipped: Workspace) -> None:
    known = [framework("numpy"), framework("pytest", "numpy"), framework("no-such-package", "pytest")]
    made = machine_facts(shipped.names, known)
    assert made.framework == "pytest"
    assert made.version == pytest.__version__


@pytest.mark.usefixtures("devices")
def test_a_trainer_stands_before_a_language(shipped: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recommender.answers.this_machine.version", lambda name: "5.17.0+cu130")
    made = machine_facts(shipped.names, [framework("transformers"), framework("triton")])
    assert (made.framework, made.version) == ("transformers", "5.17.0")


def test_what_a_machine_without_devices_has_installed_says_nothing(
    shipped: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    made = machine_facts(shipped.names, [framework("pytest")])
    assert (made.framework, made.hardware, made.has_accelerators) == ("", "", False)
