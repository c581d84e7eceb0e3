"""Run command lines of the project, each in a fork of this process, which has imported ``cli.main`` before.

    PYTHONPATH=TREE python -P tests/fork_commands.py < requests

A request is a line of JSON: arguments, folder, the files for stdin, stdout and stderr, and the environment
where it is not this process's. The answer is a line of JSON on stdout: the exit code, or how else it ended.
"""

import gc
import importlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

TIMEOUT_S = 120
WARM = ("typer", "yaml", "numpy", "faiss", "tokenizers", "pyoxigraph")
"""Libraries that nearly every question needs, imported before it; not onnxruntime, which starts a thread."""


def main() -> None:
    """Fork a child for each question that comes, and say how it ended; the child is the command line."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    command_line = importlib.import_module("cli.main").main
    for name in (*WARM, *modules_of(sys.modules["cli"].__path__[0])):
        with suppress(ImportError):
            importlib.import_module(name)
    _read_tables()
    gc.freeze()
    if threading.active_count() > 1 or len(list(Path("/proc/self/task").glob("*"))) > 1:
        raise SystemExit("a library started a thread when it was imported: a fork would hang; see WARM")
    for line in requests:
        request = json.loads(line)
        deadline = time.monotonic() + TIMEOUT_S
        child = os.fork()
        if child == 0:
            requests.close()
            answers.close()
            _become(request)
            command_line()  # ends the process, as it does the script
            sys.exit()
        print(json.dumps({"code": _end_of(child, deadline)}), file=answers, flush=True)


def modules_of(cli: str) -> list[str]:
    """All modules beside the package of the command line, and those that are imported late."""
    tree = Path(cli).parent
    own = ("kg", "embeddings", "ingest", "recommender", "cli")
    found = [path.relative_to(tree).with_suffix("") for name in own for path in (tree / name).rglob("*.py")]
    return ["rich.table", *(".".join(path.parts) for path in found if path.name != "__init__")]


def _read_tables() -> None:
    """Read the tables of settings and of the cost model, so that no child reads them again."""
    from kg.terms.parts import part_of
    from kg.terms.purposes import purpose
    from kg.terms.setting_registry import softwares
    from recommender.cost_model.operators.kinds import shipped

    for software in softwares():
        part_of("--max-num-seqs", software=software)
    purpose("--max-num-seqs")
    shipped()


def _become(request: dict[str, Any]) -> None:
    """Take on what the shell would have given: folder, arguments, streams, a session of its own."""
    os.setsid()
    os.chdir(request["folder"])
    if "environment" in request:
        os.environ.clear()
        os.environ.update(request["environment"])
    for number, (name, flags) in enumerate(
        (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY | os.O_CREAT), ("stderr", os.O_WRONLY | os.O_CREAT))
    ):
        opened = os.open(request[name], flags | (os.O_TRUNC if number else 0), 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["tunegraph", *request["arguments"]]


def _end_of(child: int, deadline: float) -> int | str:
    """Exit code of a child, or how else it ended."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else f"killed by {signal.Signals(-code).name}"
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"still running after {TIMEOUT_S} s"
        time.sleep(0.005)


if __name__ == "__main__":
    main()
