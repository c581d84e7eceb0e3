"""Ctrl-C that does not get lost.

Python raises ``KeyboardInterrupt`` wherever the program happens to be. In a callback of the import machinery
it is printed and forgotten; libraries turn it into other exceptions while they load. Only the standard
library is imported here, because Ctrl-C may come before all else.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from types import FrameType

AGAIN_S = 0.01
"""After this the main thread has left the callback that swallowed the interrupt."""


class Interrupts:
    """Whether somebody has asked this process to stop.

    Attributes:
        asked: True from the first Ctrl-C on.
    """

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """Notice Ctrl-C from now on, unless whoever started the process has it ignored."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._stop)
        sys.unraisablehook = self._unraisable

    def _stop(self, _number: int, _frame: FrameType | None) -> NoReturn:
        self.asked = True
        raise KeyboardInterrupt

    def _unraisable(self, fault: Any) -> None:
        if not issubclass(fault.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(fault)
            return
        again = threading.Timer(AGAIN_S, _thread.interrupt_main)
        again.daemon = True
        again.start()
