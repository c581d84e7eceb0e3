"""Runs command lines of the project in forks of one process, which has imported it before."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FORKS = Path(__file__).resolve().with_name("fork_commands.py")


class Forker:
    """A process with the command line imported, asked over two pipes.

    Args:
        tree: The checkout whose command line is asked.
        environment: Of the process and, where a request names none, of the command lines.
    """

    def __init__(self, tree: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(FORKS)],
            env=environment,
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a command line: its ``code``, or how else it ended.

        Args:
            request: As ``fork_commands`` reads it.
        """
        line = ""
        if self._process.stdin is not None and self._process.stdout is not None:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process that runs the questions ended: is --tree a checkout?")
        end: dict[str, Any] = json.loads(line)
        return end

    def close(self) -> None:
        """End it."""
        self._process.communicate()
