"""A worker shows that it lives: from a thread of its own, so that nothing it evaluates can delay it."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recommender.search.log.study import SearchLog
    from recommender.search.log.trial_record import LoggedTrial

_log = logging.getLogger(__name__)


class Beats:
    """Writes a beat for each trial that is evaluated here, as long as this lasts.

    Args:
        log: Of the search; where only this machine can share it, nothing is written.
        trials: What is being evaluated.
        every_s: How often.
    """

    def __init__(self, log: SearchLog, trials: Callable[[], Iterable[LoggedTrial]], every_s: float) -> None:
        self._log, self._trials, self._every_s = log, trials, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beats", daemon=True)

    def __enter__(self) -> Self:
        if self._log.is_shared:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._log.is_shared:
            self._thread.join(self._every_s)

    def _run(self) -> None:
        from recommender.search.log.databases import troubles

        # The storage is away, which the worker itself finds out, or the trial has just ended.
        passing: tuple[type[Exception], ...] = (*troubles(), RuntimeError, KeyError)
        while not self._over.wait(self._every_s):
            for trial in self._trials():
                try:
                    self._log.beat(trial)
                except passing as fault:
                    _log.debug("no beat for trial %d: %s", trial.number, type(fault).__name__)
