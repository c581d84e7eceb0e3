"""Values and secrets in real runs: what a case says never runs unasked, and no log keeps a secret."""

import json
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "fast$(touch PWNED)"


def case(mode: str, tile: int, value: float) -> str:
    record = {
        "task": {"kind": "kernel", "op": "mixer", "shape": {"M": 128}},
        "hardware": {"name": "Acme One"},
        "config": {"mode": mode, "tile": tile},
        "outcome": {"metric": "kernel_time", "unit": "ms", "value": value, "better": "lower", "status": "ok"},
        "source": {"title": "a colleague"},
    }
    return json.dumps(record) + "\n"


@pytest.fixture
def colleague(run: Any, toy_path: Path, tmp_path: Path) -> Path:
    """A workspace with cases of a colleague who is not trusted."""
    cases = tmp_path / "colleague.jsonl"
    cases.write_text("".join(case(HOSTILE if n else "slow", 16 * n + 16, 2.0 - 0.1 * n) for n in range(10)))
    ran = run("ingest", "--trust", "low", cases, workspace=toy_path)
    assert ran.code == 0, ran.err
    return toy_path


@pytest.mark.long
def test_a_value_of_a_case_never_runs_unasked(run: Any, colleague: Path, tmp_path: Path) -> None:
    (tmp_path / "bench.sh").write_text('#!/bin/sh\necho "t=1.5"\n')
    (tmp_path / "bench.sh").chmod(0o755)
    asked = (
        "recommend", "--kernel", "mixer", "--shape", "M=128", "--hardware", "acme-one", "--objective", "kernel_time",
        "--current", "mode=slow", "--current", "tile=16",
    )  # fmt: skip
    answered = run(*asked, "--json", workspace=colleague, folder=tmp_path)
    hostile = next(
        it["id"] for it in answered.json["recommendations"] if it["configuration"]["mode"] == HOSTILE
    )
    tried = (
        "ab", "run", "--recommendation", hostile, "--control", "mode=slow,tile=16", "--pairs", "12",
        "--pattern", r"kernel_time:ms=t=(\S+)", "--command", 'bash -c "./bench.sh {mode} {tile}"',
    )  # fmt: skip
    ran = run(*tried, workspace=colleague, folder=tmp_path)
    assert ran.code == 2, ran.out + ran.err
    assert "--allow-value" in ran.err
    ran = run(*tried, "--allow-value", HOSTILE, workspace=colleague, folder=tmp_path)
    assert ran.code in {0, 5}, ran.err
    assert not (tmp_path / "PWNED").exists()
    shown = run(*asked, "--format", "flags", workspace=colleague, folder=tmp_path)
    assert f"mode='{HOSTILE}'" in shown.out


def test_no_log_keeps_a_secret_and_no_other_reads_it(run: Any, tmp_path: Path) -> None:
    place = tmp_path / "workspace"
    arms = ("--control", "HF_TOKEN=LEAK1 sleep 0.002", "--treatment", "true --api-key=LEAK2; sleep 0.05")
    told = ("ab", "run", *arms, "--alpha", "0.05", "--name", "first")
    ran = run(*told, workspace=place)
    assert ran.code == 0, ran.err
    [log] = (place / "experiments").glob("*.jsonl")
    assert "LEAK" not in log.read_text() + ran.out + ran.err
    assert "HF_TOKEN=[secret]" in log.read_text()
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    resumed = run("ab", "run", "--resume", "first", workspace=place)
    assert resumed.code == 2
    assert "secret" in resumed.fault
    assert run(*told, workspace=place).code == 0
