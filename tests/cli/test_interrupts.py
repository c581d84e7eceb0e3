"""Ctrl-C where Python or a library would lose it."""

import subprocess
import sys

import pytest

SWALLOWED = """
import os, signal, time, weakref
from cli.main import Interrupts

class Lock:
    pass

Interrupts().listen()
lock = Lock()
seen = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.SIGINT))
try:
    del lock
    for _ in range(400):
        time.sleep(0.05)
except KeyboardInterrupt:
    print("stopped")
"""
WHILE_HOOKED = SWALLOWED.replace(
    "Interrupts().listen()",
    """class Slow(Interrupts):
    pause_s = 0.2

    def _again(self):
        pause_s, self.pause_s = self.pause_s, 0
        super()._again()
        time.sleep(pause_s)

Slow().listen()""",
)
"""A machine so busy that the interrupt comes again before Python has left the hook."""
TURNED = """
import os, signal
from cli import main

def run():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("while loading") from None

main._run = run
main.main()
"""
IGNORED = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from cli.main import Interrupts
Interrupts().listen()
print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""


def _ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("code", [SWALLOWED, WHILE_HOOKED])
def test_an_interrupt_in_a_callback_comes_again(code: str) -> None:
    done = _ran(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def test_an_interrupt_that_a_library_turned_into_a_fault_is_one() -> None:
    done = _ran(TURNED)
    assert done.returncode == 130
    assert done.stderr == "tunegraph: interrupted; what was acknowledged is kept\n"


def test_a_fault_without_an_interrupt_is_shown() -> None:
    done = _ran(TURNED.replace("os.kill(os.getpid(), signal.SIGINT)", "raise KeyboardInterrupt"))
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: while loading\n")


def test_who_ignores_interrupts_goes_on_ignoring_them() -> None:
    assert _ran(IGNORED).stdout == "True\n"
