"""A toy search: its file, its command and what its journal holds."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.cli.conftest import Ran, Run

QUICK = "import sys, json; x, y = map(float, sys.argv[1:3]); print(json.dumps({'t': 1 + (x - 3) ** 2 + y}))"


def task(place: Path, code: str = QUICK, **more: Any) -> Path:
    """A search file over eighteen points whose command is some Python."""
    content = {
        "name": "toy",
        "parameters": {"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2]},
        "default": {"x": 0, "y": 0},
        "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
        "command": [sys.executable, "-c", code, "{x}", "{y}"],
        "stop": {"evaluations": 8},
        "timeout_s": 20,
        **more,
    }
    path = place / "toy.yaml"
    path.write_text(yaml.safe_dump({key: item for key, item in content.items() if item is not None}))
    return path


def trials(place: Path, name: str = "toy.journal") -> list[dict[str, Any]]:
    """State of each trial in a journal, as its lines tell."""
    found: list[dict[str, Any]] = []
    for line in (place / name).read_text().splitlines():
        operation = json.loads(line)
        if operation["op_code"] == 4:
            found.append({"state": operation.get("state", 0), "attributes": operation.get("user_attrs", {})})
        elif operation["op_code"] == 6:
            found[operation["trial_id"]]["state"] = operation["state"]
        elif operation["op_code"] == 8:
            found[operation["trial_id"]]["attributes"].update(operation["user_attr"])
    return found


def search(run: Run, place: Path, *arguments: object) -> Ran:
    """Run a verb of search in the folder, without taking its cases in."""
    return run("search", *arguments, folder=place)


def started(
    script: str, clean: dict[str, str], place: Path, shipped: Path, *arguments: str
) -> subprocess.Popen[bytes]:
    """The script in the background."""
    return subprocess.Popen(
        [script, "--workspace", str(shipped), "search", *arguments],
        cwd=place,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def ended(place: Path) -> int:
    """Trials that ended so far."""
    return (
        sum(item["state"] in {1, 2, 3} for item in trials(place)) if (place / "toy.journal").is_file() else 0
    )
