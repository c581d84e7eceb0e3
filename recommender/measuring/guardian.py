"""A guardian that ends what this process has started, should this process be killed.

A process that gets SIGKILL can end nothing. So a shell holds the other end of a pipe: its end of file says
that nobody is left to end what carries the marks of this process, and the guardian ends it: politely first,
then surely. It costs one shell a process of ours, which sleeps. Linux alone: marks are read in ``/proc``.
"""

import os
import shutil
import subprocess
import threading
from pathlib import Path

from recommender.measuring.marks import MARK

_SCRIPT = f"""
trap '' INT TERM HUP QUIT
grace=$2 box=$3
while read -r longer other; do [ "$longer" -gt "$grace" ] && grace=$longer; box=${{other:-$box}}; done
gone() {{ [ -z "$box" ] || "$box" rm -f $("$box" ps -aq --filter label=tunegraph.process=$1); exit 0; }}
marked() {{ grep -lsz "^{MARK}=.*/$1/[0-9][0-9]*\\$" /proc/[0-9]*/environ | cut -d/ -f3; }}
found=$(marked "$1"); [ -n "$found" ] || gone "$1"
kill -TERM $found 2>/dev/null
ticks=$((grace * 5))
while [ "$ticks" -gt 0 ]; do
  sleep 0.2; found=$(marked "$1"); [ -n "$found" ] || gone "$1"; ticks=$((ticks - 1))
done
kill -KILL $found 2>/dev/null
gone "$1"
"""
_LOCK = threading.Lock()


class _Guardian:
    """The guardian of a process: what it was told, and by which pipe."""

    def __init__(self) -> None:
        self._of = 0
        self._grace_s = 0
        self._shell: subprocess.Popen[bytes] | None = None

    def tell(self, grace_s: float, runtime: str) -> None:
        """Begin, or tell it a longer grace or the runtime of containers."""
        grace = max(1, round(grace_s))
        with _LOCK:
            if self._of != os.getpid():
                self._begin(grace, runtime)
            elif self._shell is not None and self._shell.stdin is not None:
                try:
                    self._shell.stdin.write(f"{grace} {runtime}\n".encode())
                    self._shell.stdin.flush()
                except OSError:  # somebody ended it
                    self._begin(grace, runtime)
            self._grace_s = max(self._grace_s, grace)

    def _begin(self, grace: int, runtime: str) -> None:
        shell = shutil.which("sh")
        self._of = os.getpid()
        if shell is None or not Path("/proc/self/environ").exists():
            return
        environment = {name: value for name, value in os.environ.items() if name != MARK}
        self._shell = subprocess.Popen(
            [shell, "-c", _SCRIPT, "sh", str(self._of), str(grace), runtime],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        self._shell.returncode = 0  # nobody waits for it: it outlives us on purpose


_ONE = _Guardian()


def guard(grace_s: float, runtime: str = "") -> None:
    """See that whatever carries a mark of this process ends when this process is killed.

    Args:
        grace_s: Between asking it to end and killing it; the longest that was told counts.
        runtime: Ends containers, which carry this process as a label ``tunegraph.process``; empty for none.
    """
    _ONE.tell(grace_s, runtime)
