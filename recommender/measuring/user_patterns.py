"""Users' regular expressions, whose time may grow without bound: matched in a process that has a limit."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

PATTERN_CPU_S = 2.0
"""CPU time of one expression on one text; any linear one takes a thousandth. A choice."""
_CHILD = """
import json, re, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
for line in sys.stdin:
    seconds, pattern, texts = json.loads(line)
    found = []
    for text in texts:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        first = last = None
        for last in re.finditer(pattern, text, re.MULTILINE):
            first = first or last
        found.append(first and [first[1], last[1]])
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(json.dumps(found), flush=True)
"""


Found = tuple[str | None, str | None]


class SlowPatternError(ValueError):
    """An expression takes too long on a text."""


class _Matcher:
    """The process, begun when it is first needed, and anew after it ended or in a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of = 0
        self._process: subprocess.Popen[str] | None = None

    def ask(self, order: str) -> str:
        """The line with which it answers one; empty where it ended."""
        with self._lock:
            if self._process is None or self._of != os.getpid():
                command = [sys.executable, "-I", "-S", "-c", _CHILD]
                self._of, pipe = os.getpid(), subprocess.PIPE
                self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            answer = ""
            if self._process.stdin is not None and self._process.stdout is not None:
                with suppress(BrokenPipeError):
                    self._process.stdin.write(f"{order}\n")
                    self._process.stdin.flush()
                    answer = self._process.stdout.readline()
            if not answer:
                self._process.kill()
                self._process.communicate()
                self._process = None
            return answer


_MATCHER = _Matcher()


def first_and_last(pattern: str, texts: Sequence[str]) -> list[Found | None]:
    """The first group of the first and of the last match in each text; None where nothing matches.

    Raises:
        SlowPatternError: It takes too long.
    """
    answer = _MATCHER.ask(json.dumps([PATTERN_CPU_S, pattern, texts]))
    if not answer:
        raise SlowPatternError(f"{pattern!r} takes more than {PATTERN_CPU_S:g} CPU s on what was printed")
    return [item and (item[0], item[1]) for item in json.loads(answer)]
