"""A docker for tests: containers are processes that no client of it started, found by their labels alone.

It speaks ``run``, ``ps``, ``inspect``, ``stop`` and ``rm`` with the options that are used. A container runs the
fake engine, without the environment of whoever asked for it, on the port that is published.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

STATE = Path(os.environ.get("FAKE_DOCKER", "/nonexistent"))
ENGINE = Path(__file__).with_name("fake_engine.py")


def install(folder: Path) -> Path:
    """Put it into a folder for programs; the folder for its containers."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "docker"
    state = folder / "containers"
    state.mkdir(exist_ok=True)
    program = f"exec {sys.executable} {Path(__file__).resolve()}"
    path.write_text(f'#!/bin/sh\nexport FAKE_DOCKER={state}\n{program} "$@"\n')
    path.chmod(0o755)
    return state


def _run(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    for flag in ("--detach", "--tty", "--interactive"):
        parser.add_argument(flag[1:3], flag, nargs="?", const="true", default="false")
    parser.add_argument("--rm", action="store_true")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("-p", "--publish", default="")
    parser.add_argument("-e", "--env", action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    if "true" in {given.tty, given.interactive}:
        print("the input device is not a TTY", file=sys.stderr)
        return 1
    port = given.publish.split(":")[0]
    told = dict(item.split("=", 1) for item in given.env)
    inside = {"PATH": os.environ["PATH"], "FAULT": os.environ.get("FAULT", ""), **told}
    engine = [sys.executable, str(ENGINE), "serve", *given.rest, "--port", port]
    process = subprocess.Popen(engine, env=inside, start_new_session=True)
    state = {"labels": given.label, "port": port, "pid": process.pid, "rm": given.rm}
    (STATE / f"{process.pid}.json").write_text(json.dumps(state))
    if given.detach == "true":
        print(process.pid)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    if given.rm:
        (STATE / f"{process.pid}.json").unlink(missing_ok=True)
    return code


def _listed(words: list[str]) -> int:
    wanted = [words[at + 1] for at, word in enumerate(words) if word == "--filter"]
    for path in STATE.glob("*.json"):
        state = json.loads(path.read_text())
        facts = {*(f"label={item}" for item in state["labels"]), f"publish={state['port']}"}
        if set(wanted) <= facts:
            print(path.stem)
    return 0


def _ended(pids: list[str], number: int, *, is_removed: bool) -> int:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(int(pid), number)
            for _ in range(40):
                os.kill(int(pid), 0)
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    break
                time.sleep(0.05)
        if is_removed:
            (STATE / f"{pid}.json").unlink(missing_ok=True)
    return 0 if pids else 1


def main(words: list[str]) -> int:
    """Do what is asked."""
    kind, rest = words[0], words[1:]
    plain = [word for word in rest if word.isdigit() and len(word) > 2]
    if kind == "run":
        return _run(rest)
    if kind == "ps":
        return _listed(rest)
    if kind == "inspect":
        print("\n".join(plain))
        return 0
    return _ended(plain, signal.SIGTERM if kind == "stop" else signal.SIGKILL, is_removed=kind == "rm")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
