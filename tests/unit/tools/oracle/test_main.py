"""The commands from end to end: a small program of our own is mined, a real launch is judged."""

import io
import json
from pathlib import Path

import pytest

from tools.oracle.__main__ import main
from tools.oracle.settings.plans import PLANS

ENVS = 'import os\nenv_variables = {{\n    "VLLM_ASCEND_TOY": lambda: int(os.getenv("VLLM_ASCEND_TOY", "{default}")),\n}}\n'
CONFIG = 'def read(additional_config):\n    return additional_config.get("{field}", False)\n'


def sources(folder: Path, *, default: int, field: str) -> Path:
    package = folder / "vllm_ascend"
    package.mkdir(parents=True)
    (package / "envs.py").write_text(ENVS.format(default=default))
    (package / "config.py").write_text(CONFIG.format(field=field))
    return folder


def test_releases_are_mined(tmp_path: Path) -> None:
    old = sources(tmp_path / "old", default=0, field="one")
    new = sources(tmp_path / "new", default=1, field="two")
    out = tmp_path / "out"
    out.mkdir()
    for folder, ref in ((old, "v0.1.0"), (new, "v0.2.0")):
        assert (
            main(["mine", "vllm-ascend", str(folder), "--ref", ref, "--with", "vllm=0.1", "--out", str(out)])
            == 0
        )
    content = json.loads((out / "vllm-ascend.json").read_text())
    assert content["releases"] == [["0.1.0", "v0.1.0"], ["0.2.0", "v0.2.0"]]
    assert content["beneath"]["vllm"] == {"0.1.0": "0.1", "0.2.0": "0.1"}
    assert {entry["key"] for entry in content["settings"]} == {
        "VLLM_ASCEND_TOY", "additional_config.one", "additional_config.two",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine", "toy", "."], "no plan for 'toy'"),
        (["mine", "vllm", "nowhere", "--ref", "v1"], "no folder of sources"),
        (["mine", "vllm", ".", "--ref", "abc"], "names no release"),
        (["mine", "vllm", ".", "--ref", "v1", "--with", "cuda=1"], "--with cuda=1"),
    ],
)
def test_what_cannot_be_mined_is_said_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_every_program_beneath_another_ships() -> None:
    from kg.terms.setting_registry import softwares

    known = set(softwares())
    assert set(PLANS) <= known
    assert {name for plan in PLANS.values() for name in plan.beneath} <= known


@pytest.mark.parametrize(
    ("launch", "code", "said"),
    [
        ("vllm serve m --tensor-parallel-size 8 \\\n  --no-enable-prefix-caching", 0, ["accepted"]),
        ("VLLM_LOGGING_LEVEL=INFO\nvllm\nserve\nm", 0, ["accepted"]),
        ("vllm serve m --tp 8", 1, ["unrecognized arguments: --tp"]),
        (
            "VLLM_ENGINE_ITERATION_TIMEOUT_S=soon vllm serve m --seed x",
            1,
            [
                "argument --seed: invalid int value: 'x'",
                "VLLM_ENGINE_ITERATION_TIMEOUT_S: invalid int value: 'soon'",
            ],
        ),
    ],
)
def test_a_launch_is_judged(
    launch: str,
    code: int,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(launch))
    assert main(["judge", "vllm", "0.25.1"]) == code
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize(("program", "release", "listed"), [("vlm", "1", "vllm"), ("vllm", "77", "0.25.1")])
def test_who_is_unknown_is_said_with_who_is_known(
    program: str,
    release: str,
    listed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("--x"))
    assert main(["judge", program, release]) == 2
    assert listed in capsys.readouterr().err
