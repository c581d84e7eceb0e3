"""Starts of a tune: each is measured once, kept in the journal, and counted against the budget."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from ingest.questions.patches.script_edits import ScriptEdits
from recommender.measuring.outcome import CancelledError
from recommender.tune.candidates import digest_of
from recommender.tune.starts.budget import Budget, Until
from recommender.tune.starts.machines import MachineGoneError, TuneMachine
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneResult, TuneStart


@dataclass(slots=True, kw_only=True)
class TuneStarts:
    """Starts of the search, on each machine.

    Attributes:
        journal: Where they are noted; entered already.
        budget: What they may use.
        least: Starts that a confirmation takes at least.
        tries: Told before each start what is tried.
        known: Results of earlier sessions, by name.
        seen: Those of this walk, which alone are counted.
        gone: Number of steps after which a machine measured no more.
        promised: Starts that other machines are at.
        used: Starts so far.
        used_s: Time of them.
    """

    journal: TuneJournal
    budget: Budget
    least: int
    tries: Callable[[str], None]
    known: dict[str, TuneResult] = field(default_factory=dict)
    seen: dict[str, TuneResult] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    promised: int = 0
    used: int = 0
    used_s: float = 0.0
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Take what the journal has."""
        self.known = dict(self.journal.measured())
        lost = (event for event in self.journal.events if event["event"] == "gone")
        self.gone = {str(event["on"]): int(event["steps"]) for event in lost}

    @property
    def each_s(self) -> float:
        """Time of an evaluation, as those so far had it."""
        full = [item.cost_s for item in self.seen.values() if item.is_ok]
        return sum(full) / len(full) if full else 0.0

    def has_room(self, starts: int) -> bool:
        """True if so many starts leave room for a confirmation, where the budget ever had it."""
        starts += self.promised + self._kept
        return self.budget.has(starts, self.each_s, self.used, self.used_s)

    @property
    def _kept(self) -> int:
        """Starts that are kept for the confirmation."""
        return self.least * self.budget.has(2 + self.least, self.each_s, 0, 0.0)

    def _until(self, cancel: Event) -> Event:
        """Ends an evaluation with the time of the budget that is not kept for the confirmation."""
        if self.budget.seconds is None:
            return cancel
        return Until(cancel, self.budget.seconds - self.used_s - self._kept * self.each_s)

    @staticmethod
    def key(machine: TuneMachine, edits: ScriptEdits, turn: int = 0) -> str:
        """The name of a measurement: the configuration, the turn, the machine."""
        return digest_of(edits) + (f"#{turn}" if turn else "") + (f"@{machine.name}" if machine.name else "")

    def lacks(self, machine: TuneMachine, *each: ScriptEdits) -> int:
        """Number of some configurations that were never started on a machine."""
        return len({self.key(machine, edits) for edits in each} - {*self.seen})

    def measured(
        self,
        machine: TuneMachine,
        edits: ScriptEdits,
        name: str,
        cancel: Event,
        *,
        bar: float | None = None,
        turn: int = 0,
        is_repeat: bool = False,
    ) -> TuneResult:
        """Result of a configuration on a machine; from the journal if it was measured before.

        Raises:
            MachineGoneError: The machine measures no more.
            CancelledError: ``cancel`` was set.
        """
        key = self.key(machine, edits, turn)
        found = self.known.get(key)
        if found is None:
            if machine.name in self.gone:
                raise MachineGoneError("it was gone before")
            number = self.begin(machine, name)
            began, until = time.monotonic(), self._until(cancel)
            try:
                start = TuneStart(edits=edits, number=number, bar=bar, is_repeat=is_repeat)
                found = machine.evaluator.evaluate(start, until)
            except CancelledError:
                if cancel.is_set():
                    raise
                cost_s = time.monotonic() - began
                text = f"the time that was left ended in it, after {cost_s:.0f} s"
                found = TuneResult(is_dropped=True, kept=False, nearest=0.0, reason=text, cost_s=cost_s)
            self.journal.note("measured", digest=key, name=name, result=found.to_json())
        with self._turn:
            self.seen[key] = found
            self.used, self.used_s = self.used + 1, self.used_s + found.cost_s
        return found

    def begin(self, machine: TuneMachine, name: str) -> int:
        """Note that a start begins; its number."""
        self.tries(f"{name} @{machine.name}" if machine.name else name)
        return self.journal.start(name, machine.name)
