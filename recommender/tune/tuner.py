"""The loop of a tune: baseline, one change at a time, the winner confirmed. All of it stands in the journal.

The loop is a function of what was measured: a tune that goes on walks it again, takes from the journal what
was measured before, and measures on where that ends. So the budget is counted once, however often it was
killed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InfeasibleError, InputError, WorkspaceError
from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Status
from recommender.experiment.design import CONTROL, MOST_PAIRS, ExperimentDesign
from recommender.experiment.mixture import least_pairs
from recommender.measuring.outcome import CancelledError
from recommender.tune.candidates import ASKED, TuneChange, digest_of, further
from recommender.tune.confirmation import TREATMENT, confirm, ladder
from recommender.tune.launch_script import joined
from recommender.tune.quality import compare
from recommender.tune.tune_result import TuneOutcome, TuneResult, TuneStart, TuneStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from kg.nouns.values import Settings
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.standing import ExperimentState
    from recommender.tune.quality import QualityFinding
    from recommender.tune.tune_journal import TuneJournal
    from recommender.tune.tune_result import TuneEvaluator

ACCEPTED = 1.02
"""Factor from which a candidate becomes the incumbent: below it a restart alone moves a probe. A choice; what
is accepted by luck is refused by the confirmation."""
LEAST_PAIRS = 6
_MOST_PAIRS = 40
_IDLE = 1_000_000
"""Turns of measurements that look for changes without effect: other numbers than those of candidates."""
_TURNS = 2
"""Times that a gain must show on a machine that others use too; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(JsonNoun):
    """Budget of a tune: starts and time.

    Attributes:
        evaluations: Starts at most; None for any number.
        seconds: Time of all starts and loads at most; None for any.
    """

    evaluations: int | None = None
    seconds: float | None = None

    def has(self, starts: int, each_s: float, used: int, used_s: float) -> bool:
        """True if so many more starts of so many seconds fit into the rest of the budget."""
        return (self.evaluations is None or used + starts <= self.evaluations) and (
            self.seconds is None or used_s + starts * each_s <= self.seconds
        )

    def pairs(self, each_s: float, used: int, used_s: float) -> int:
        """Pairs of starts that fit into what is left; of time the last start may end beyond it."""
        left = [_MOST_PAIRS]
        if self.evaluations is not None:
            left.append((self.evaluations - used) // 2)
        if self.seconds is not None:
            left.append(int((self.seconds - used_s + each_s) / (2 * max(each_s, 1e-3))))
        return max(0, min(left))


class _Until(Event):
    """Is set once another one is, or a time has passed."""

    def __init__(self, cancel: Event, seconds: float) -> None:
        super().__init__()
        self._cancel, self._end_s = cancel, time.monotonic() + seconds

    def is_set(self) -> bool:
        """See :class:`Event`."""
        return self._cancel.is_set() or time.monotonic() >= self._end_s

    def wait(self, timeout: float | None = None) -> bool:
        """See :class:`Event`."""
        left_s = max(0.0, self._end_s - time.monotonic())
        self._cancel.wait(left_s if timeout is None else min(timeout, left_s))
        return self.is_set()


class TuneWatch:
    """Whoever wants to know how a tune goes; this one does not."""

    def tries(self, name: str) -> None:
        """Told before each start what is tried."""

    def step(self, step: TuneStep) -> None:
        """Told after each evaluation of the search."""

    def round(self, state: ExperimentState) -> None:
        """Told after each round of the confirmation."""

    def left_out(self, change: TuneChange) -> None:
        """Told a change that the winner is no worse without."""


@dataclass(slots=True, kw_only=True)
class TuneLoop:
    """Tunes a script.

    Attributes:
        evaluator: Starts and measures.
        candidates: Changes to try, in this order.
        budget: What it may use.
        journal: Where everything is noted; entered already.
        experiment: Log of the confirmation.
        settings_of: What edits set, by name, for the record.
        subject: What the winner tries on which problem; None if the graph is to learn nothing.
        alpha: Chance of a wrong verdict.
        margin: Log ratio that does not matter.
        seed: Of requests and orders.
        watch: Is told how it goes.
        steps: The evaluations of the search so far.
        accepted: The changes of the incumbent.
        quality: Of the incumbent's answers.
    """

    evaluator: TuneEvaluator
    candidates: Iterable[TuneChange]
    budget: Budget
    journal: TuneJournal
    experiment: Path
    settings_of: Callable[[ScriptEdits], Settings]
    subject: Callable[[tuple[TuneChange, ...]], ExperimentSubject | None] = lambda _: None
    alpha: float = 0.05
    margin: float = 0.01
    seed: int = 0
    watch: TuneWatch = field(default_factory=TuneWatch)
    steps: list[TuneStep] = field(default_factory=list)
    accepted: list[TuneChange] = field(default_factory=list)
    quality: QualityFinding | None = None
    _known: dict[str, TuneResult] = field(default_factory=dict)
    _used: int = 0
    _used_s: float = 0.0

    @property
    def best(self) -> TuneResult:
        """Result of the incumbent."""
        return next(item.result for item in reversed(self.steps) if item.is_accepted)

    @property
    def _incumbent(self) -> ScriptEdits:
        """Edits of the incumbent."""
        return joined(item.edits for item in self.accepted)

    @property
    def each_s(self) -> float:
        """Time of an evaluation, as those so far had it."""
        full = [item.result.cost_s for item in self.steps if item.result.is_ok]
        return sum(full) / len(full) if full else 0.0

    def run(self, cancel: Event) -> TuneOutcome:
        """Tune until the candidates or the budget end, then confirm.

        Raises:
            CancelledError: ``cancel`` was set; it can go on.
            InputError: The budget is shorter than one start.
            InfeasibleError: It keeps the limits at no load.
            WorkspaceError: The machine does not let anything be measured.
        """
        self._known = dict(self.journal.measured())
        self._baseline(cancel)
        self._search(cancel)
        self._refuse_unkept()
        self._leave_out_idle(cancel)
        if not self.accepted:
            keeping = [step.change.name for step in self.steps if step.change and step.result.is_within]
            less = f"; {keeping[0]} keeps the limits, with less throughput" if keeping else ""
            text = "nothing that was tried is better than the script as it is"
            if len(self.steps) == 1:
                text = "the budget left no room to try anything"
            return self._ended(None, text if self.best.kept else f"{text}{less}")
        noted = self.journal.last("confirming")
        left = self.budget.pairs(self.each_s, self._used, self._used_s)
        pairs = left if noted is None else int(noted["pairs"])
        if 2 * pairs < self._least_starts:
            text = f"the budget left no room to confirm it, which takes {self._least_starts} starts at least"
            return self._ended(None, text)
        if noted is None:
            self.journal.note("confirming", pairs=pairs)
        state = self._confirmed(pairs, cancel)
        return self._ended(state, state.stop)

    def _baseline(self, cancel: Event) -> None:
        found = self._measured(ScriptEdits(), None, cancel)
        if self.budget.seconds is not None and found.cost_s > self.budget.seconds:
            text = f"the budget of {self.budget.seconds:g} s is shorter than one start"
            raise InputError(text, hint=found.reason or f"it took {found.cost_s:.0f} s")
        if not found.is_ok:
            if found.is_dropped:
                raise InfeasibleError(
                    f"the script keeps the limits at no load: {found.reason}",
                    hint=f"at best {found.nearest:.0%} of the requests stay within them; raise the limits",
                )
            raise WorkspaceError(f"the script as it is does not run: {found.reason}")
        self._add(TuneStep(change=None, result=found, is_accepted=True))

    def _refuse_unkept(self) -> None:
        """See that the limits of a fixed load are kept by something.

        Raises:
            InfeasibleError: They are kept by nothing that was tried.
        """
        ran = [step for step in self.steps if step.result.status is Status.OK]
        if any(step.result.is_within for step in ran):
            return
        best = max(ran, key=lambda step: step.result.nearest)
        share = min(best.result.nearest, 0.999)
        raise InfeasibleError(
            f"nothing that was tried keeps the limits under this load; the nearest is {best.name}, in which "
            f"{share:.1%} of the requests stay within them",
            hint="a lower load or higher limits; --load find tells the highest rate that keeps them",
        )

    def _search(self, cancel: Event) -> None:
        """Try each change on the best so far; what noise may have hidden once more, on the last best."""
        queue, tried = list(self.candidates), {digest_of(ScriptEdits())}
        hidden, is_again = list[TuneChange](), False
        while queue or (hidden and not is_again):
            if not queue:
                queue, is_again = hidden, True
            change = queue.pop(0)
            edits = joined([self._incumbent, change.edits])
            sets_nothing = self.settings_of(edits) == self.settings_of(self._incumbent)
            if digest_of(edits) in tried or self._is_settled(change) or sets_nothing:
                continue
            if digest_of(edits) not in self._known and not self._has_room(1):
                return
            tried.add(digest_of(edits))
            found, gain = self._beside_the_best(edits, change, cancel)
            quality = None if gain is None else self._quality_of(found)
            is_worse = self.best.kept and not found.kept
            is_fault = is_worse or bool(quality and quality.is_fault)
            is_accepted = gain is not None and gain >= ACCEPTED and not is_fault
            self._add(
                TuneStep(change=change, result=found, gain=gain, is_accepted=is_accepted, quality=quality)
            )
            if is_accepted:
                self.accepted.append(change)
                self.quality = quality
                if (more := further(change)) is not None:
                    queue.insert(0, more)
            elif gain is not None and not is_fault:
                hidden.append(change)

    def _beside_the_best(
        self, edits: ScriptEdits, change: TuneChange, cancel: Event
    ) -> tuple[TuneResult, float | None]:
        """Measure a candidate, and its gain over the incumbent; None where it has none.

        On a machine that others use, the incumbent's old value is of another moment: there the incumbent is
        started again right after the candidate, and a gain counts if it shows twice; the smaller one does.
        """
        best = self.best
        bar = None if best.disturbed else best.value
        found = self._measured(edits, change, cancel, bar=bar)
        if not found.is_ok or found.value is None or best.value is None:
            return found, None
        gain = self.evaluator.objective.gain(found.value, best.value)
        if not (best.disturbed or found.disturbed) or not self._has_room(2 * _TURNS - 1):
            return found, gain  # the confirmation alone decides where nothing else is left to pay
        gain, incumbent = math.inf, self._incumbent
        for turn in range(_TURNS):
            again = found if not turn else self._measured(edits, change, cancel, turn=turn, is_repeat=True)
            place = len(self.steps) * _TURNS + turn
            beside = self._measured(incumbent, None, cancel, turn=place, is_repeat=True)
            if again.value is None or beside.value is None:
                return found, None
            gain = min(gain, self.evaluator.objective.gain(again.value, beside.value))
            if gain < ACCEPTED:
                break
        return found, gain

    def _quality_of(self, found: TuneResult) -> QualityFinding | None:
        """The change in the answers since the script as it is; None where they were not asked for."""
        first = self.steps[0].result
        if not (first.answers and found.answers):
            return None
        return compare(first.said, found.said, wavers=first.wavers, wavering=first.wavering)

    def _leave_out_idle(self, cancel: Event) -> None:
        """Take back what the winner is no worse without: each of several changes must earn its place."""
        for number, change in enumerate(list(self.accepted)):
            rest = [item for item in self.accepted if item is not change]
            whole, without = self._incumbent, joined(item.edits for item in rest)
            if digest_of(whole) == digest_of(without):  # a later step says the same
                self.accepted = rest
                continue
            if rest and self._is_idle(change, whole, without, _IDLE + _TURNS * number, cancel):
                self.accepted = rest
                self.watch.left_out(change)

    def _is_idle(
        self, change: TuneChange, whole: ScriptEdits, without: ScriptEdits, place: int, cancel: Event
    ) -> bool:
        """True if the winner is no worse without a change; tested twice on a machine that others use."""
        quality: QualityFinding | None = None
        for turn in range(place, place + _TURNS):
            if not (f"{digest_of(without)}#{turn}" in self._known or self._has_room(2)):
                return False
            is_repeat, name = turn > place, f"not {change.name}"
            found = self._measured(without, change, cancel, turn=turn, name=name, is_repeat=is_repeat)
            beside = self._measured(whole, None, cancel, turn=turn, is_repeat=True)
            if found.value is None or beside.value is None:
                return False
            if self.evaluator.objective.gain(beside.value, found.value) >= ACCEPTED:
                return False
            quality = quality if is_repeat else self._quality_of(found)
            if quality is not None and quality.is_fault:
                return False
            if not (found.disturbed or beside.disturbed):
                break
        self.quality = quality
        return True

    def _is_settled(self, change: TuneChange) -> bool:
        """True if another value of the setting was accepted already, and this is no step beyond it."""
        before = [item for item in self.accepted if change.key and item.key == change.key]
        return bool(before) and change.why != ASKED and change != further(before[-1])

    @property
    def _least_starts(self) -> int:
        """Starts of a confirmation at least."""
        return 2 * max(LEAST_PAIRS, least_pairs(self.alpha))

    def _has_room(self, starts: int) -> bool:
        """True if so many starts leave the budget of a confirmation, if there ever was enough for one."""
        return self.budget.has(starts + self._kept_starts, self.each_s, self._used, self._used_s)

    @property
    def _kept_starts(self) -> int:
        """Starts that are kept for the confirmation."""
        can_confirm = self.budget.has(2 + self._least_starts, self.each_s, 0, 0.0)
        return self._least_starts * can_confirm

    def _until(self, cancel: Event) -> Event:
        """Ends an evaluation with the time of the budget that is not kept for the confirmation."""
        if self.budget.seconds is None:
            return cancel
        return _Until(cancel, self.budget.seconds - self._used_s - self._kept_starts * self.each_s)

    def _measured(
        self,
        edits: ScriptEdits,
        change: TuneChange | None,
        cancel: Event,
        *,
        bar: float | None = None,
        turn: int = 0,
        name: str = "",
        is_repeat: bool = False,
    ) -> TuneResult:
        """Measure a configuration, or take its result from the journal."""
        key = digest_of(edits) + (f"#{turn}" if turn else "")
        found = self._known.get(key)
        if found is None:
            again = "the best so far again" if self.accepted else "the script as it is again"
            usual = again if turn else "the script as it is"
            name = name or (usual if change is None else change.name)
            number = self._start(name)
            began, until = time.monotonic(), self._until(cancel)
            try:
                start = TuneStart(edits=edits, number=number, bar=bar, is_repeat=is_repeat)
                found = self.evaluator.evaluate(start, until)
            except CancelledError:
                if cancel.is_set():
                    raise
                cost_s = time.monotonic() - began
                text = f"the time that was left ended in it, after {cost_s:.0f} s"
                found = TuneResult(is_dropped=True, kept=False, nearest=0.0, reason=text, cost_s=cost_s)
            self.journal.note("measured", digest=key, name=name, result=found.to_json())
        self._used, self._used_s = self._used + 1, self._used_s + found.cost_s
        return found

    def _start(self, name: str) -> int:
        number = self.journal.starts
        self.journal.note("start", number=number, name=name)
        self.watch.tries(name)
        return number

    def _add(self, step: TuneStep) -> None:
        self.steps.append(step)
        self.watch.step(step)

    def _confirmed(self, pairs: int, cancel: Event) -> ExperimentState:
        """The state of the winner beside the script as it is, after so many pairs of starts at most."""
        objective, first, best = self.evaluator.objective, self.steps[0].result.value, self.best.value
        rates = ladder(first, best) if objective.is_rate and first is not None and best is not None else ()
        edits = {CONTROL: ScriptEdits(), TREATMENT: self._incumbent}
        names = {CONTROL: "the script as it is", TREATMENT: "the winner"}

        def measure(arm: str, number: int, cancel: Event) -> TuneResult:
            for event in self.journal.events:  # half a pair that a kill cut off
                if event["event"] == "compared" and (event["arm"], event.get("pair")) == (arm, number):
                    return TuneResult.from_json(event["result"])
            start = TuneStart(
                edits=edits[arm],
                number=self._start(names[arm]),
                seed=self.seed + 1000 * (1 + number),
                rates=rates,
            )
            found = self.evaluator.evaluate(start, cancel)
            self.journal.note("compared", arm=arm, pair=number, result=found.to_json())
            return found

        design = ExperimentDesign(
            metric=objective.metric,
            better=objective.better,
            unit=objective.unit,
            arms={arm: self.settings_of(item) for arm, item in edits.items()},
            alpha=self.alpha,
            margin=self.margin,
            pairs=min(MOST_PAIRS, pairs),
            warmup=0,
            seed=self.seed,
        )
        subject = self.subject(tuple(self.accepted))
        return confirm(design, self.experiment, subject, measure, self.watch.round, cancel)

    def _ended(self, state: ExperimentState | None, why: str) -> TuneOutcome:
        compared = [event["result"] for event in self.journal.events if event["event"] == "compared"]
        outcome = TuneOutcome(
            steps=tuple(self.steps),
            accepted=tuple(self.accepted),
            edits=self._incumbent,
            state=state,
            why=why,
            starts=self._used + len(compared),
            cost_s=self._used_s + sum(item["cost_s"] for item in compared),
            load_s=sum(item.result.load_s for item in self.steps) + sum(item["load_s"] for item in compared),
            quality=self.quality,
        )
        self.journal.note("ended", verdict=outcome.verdict, why=why, starts=outcome.starts)
        return outcome
