"""The loop of a tune: baseline, one change at a time, the winner confirmed. All of it stands in the journal.

The loop is a function of what was measured: a tune that goes on walks it again, takes from the journal what
was measured before, and measures on where that ends. So the budget is counted once, however often it was
killed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InfeasibleError, InputError, WorkspaceError
from kg.nouns.entities import Status
from kg.nouns.values import Settings
from recommender.experiment.design import CONTROL, MOST_PAIRS, ExperimentDesign
from recommender.experiment.metadata import ExperimentSubject
from recommender.experiment.mixture import least_pairs
from recommender.experiment.standing import ExperimentState
from recommender.tune.candidates import ASKED, TuneChange, digest_of, further
from recommender.tune.confirmation import TREATMENT, ConfirmationPairs, compared_before, confirm, ladder
from recommender.tune.launch_script import joined
from recommender.tune.quality import QualityFinding, compare
from recommender.tune.starts.budget import Budget
from recommender.tune.starts.machines import MachineGoneError, TuneMachine, at_once
from recommender.tune.starts.measured import TuneStarts
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneEvaluator, TuneOutcome, TuneResult, TuneStep

ACCEPTED = 1.02
"""Factor from which a candidate becomes the incumbent: below it a restart alone moves a probe. A choice; what
is accepted by luck is refused by the confirmation."""
LEAST_PAIRS = 6
_IDLE = 1_000_000
"""Turns of measurements that look for changes without effect: other numbers than those of candidates."""
_AGAIN = "the best so far again"
_TURNS = 2
"""Times that a gain must show on a machine that others use too; a choice."""


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

    def lost(self, machine: str, reason: str) -> None:
        """Told a machine that measures no more."""


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
        machines: Others that measure too.
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
    machines: Sequence[TuneMachine] = ()
    steps: list[TuneStep] = field(default_factory=list)
    accepted: list[TuneChange] = field(default_factory=list)
    quality: QualityFinding | None = None
    _starts: TuneStarts = field(init=False)

    def __post_init__(self) -> None:
        """Take what the journal has."""
        least, tries = 2 * max(LEAST_PAIRS, least_pairs(self.alpha)), self.watch.tries
        self._starts = TuneStarts(journal=self.journal, budget=self.budget, least=least, tries=tries)

    @property
    def best(self) -> TuneResult:
        """Result of the incumbent."""
        return next(item.result for item in reversed(self.steps) if item.is_accepted)

    @property
    def _incumbent(self) -> ScriptEdits:
        """Edits of the incumbent."""
        return joined(item.edits for item in self.accepted)

    def run(self, cancel: Event) -> TuneOutcome:
        """Tune until the candidates or the budget end, then confirm.

        Raises:
            CancelledError: ``cancel`` was set; it can go on.
            InputError: The budget is shorter than one start.
            InfeasibleError: It keeps the limits at no load.
            WorkspaceError: The machine does not let anything be measured.
        """
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
        used = self._starts
        left = self.budget.pairs(used.each_s, used.used, used.used_s)
        pairs = left if noted is None else int(noted["pairs"])
        if 2 * pairs < used.least:
            text = f"the budget left no room to confirm it, which takes {used.least} starts at least"
            return self._ended(None, text)
        if noted is None:
            self.journal.note("confirming", pairs=pairs)
        state = self._confirmed(pairs, cancel)
        return self._ended(state, state.stop)

    def _baseline(self, cancel: Event) -> None:
        found = self._starts.measured(self._here, ScriptEdits(), "the script as it is", cancel)
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

    @property
    def _here(self) -> TuneMachine:
        """This machine."""
        return TuneMachine(name="", evaluator=self.evaluator)

    def _search(self, cancel: Event) -> None:
        """Try each change on the best so far; what noise may have hidden once more, on the last best.

        Other machines try the next changes meanwhile, each beside the best so far on the same machine.
        """
        queue, tried = list(self.candidates), {digest_of(ScriptEdits())}
        hidden, is_again = list[TuneChange](), False
        while queue or (hidden and not is_again):
            if not queue:
                queue, is_again = hidden, True
            turns = self._turns(queue, tried)
            if not turns and queue:
                return
            jobs = [(machine, partial(self._tried, machine, change, cancel)) for machine, change in turns]
            found: list[tuple[TuneStep, bool]] = []
            for (machine, change), result in zip(turns, at_once(jobs), strict=True):
                if isinstance(result, MachineGoneError):
                    self._lose(machine, result)
                    tried.discard(digest_of(joined([self._incumbent, change.edits])))
                    queue.insert(0, change)
                else:
                    found.append(result)
            self._starts.promised = 0
            found.sort(key=lambda item: (item[0].is_accepted, item[0].gain or 0.0))
            for number, (step, is_fault) in enumerate(found, 1):
                self._add(replace(step, is_accepted=step.is_accepted and number == len(found)))
                if step.change is None or step.gain is None or is_fault:
                    continue
                if not step.is_accepted:
                    hidden.append(step.change)
                elif number < len(found):  # the best of these comes first: on top of it, once more
                    queue.insert(0, step.change)
                else:
                    self.accepted.append(step.change)
                    self.quality = step.quality
                    if (more := further(step.change)) is not None:
                        queue.insert(0, more)

    def _turns(self, queue: list[TuneChange], tried: set[str]) -> list[tuple[TuneMachine, TuneChange]]:
        """The next change for each machine that has room for it."""
        found: list[tuple[TuneMachine, TuneChange]] = []
        gone, now = self._starts.gone, len(self.steps)
        there = [item for item in self.machines if gone.get(item.name, now) >= now]
        for machine in (self._here, *there):
            while queue:
                change = queue.pop(0)
                edits = joined([self._incumbent, change.edits])
                sets_nothing = self.settings_of(edits) == self.settings_of(self._incumbent)
                if digest_of(edits) in tried or self._is_settled(change) or sets_nothing:
                    continue
                starts = 1 + self._starts.lacks(machine, ScriptEdits(), self._incumbent)
                is_known = self._starts.key(machine, edits) in self._starts.known
                if not is_known and not self._starts.has_room(starts):
                    queue.insert(0, change)
                    return found
                self._starts.promised += starts if machine.name else 0
                tried.add(digest_of(edits))
                found.append((machine, change))
                break
        return found

    def _lose(self, machine: TuneMachine, gone: MachineGoneError) -> None:
        """Go on without a machine."""
        if machine.name in self._starts.gone:
            return
        self._starts.gone[machine.name] = len(self.steps)
        self.journal.note("gone", on=machine.name, steps=len(self.steps), reason=str(gone))
        self.watch.lost(machine.name, str(gone))

    def _tried(self, machine: TuneMachine, change: TuneChange, cancel: Event) -> tuple[TuneStep, bool]:
        """Step of a change on top of the best so far; true beside it if limits or answers are spoilt.

        Raises:
            MachineGoneError: The machine is not one to measure on.
        """
        edits = joined([self._incumbent, change.edits])
        first = self._once(machine, ScriptEdits(), cancel)
        best = self._once(machine, self._incumbent, cancel)
        if machine.name and not (first.is_ok and best.is_ok):
            raise MachineGoneError(f"what runs here does not run there: {first.reason or best.reason}")
        found, gain = self._beside_the_best(machine, best, edits, change, cancel)
        quality = None if gain is None else self._quality_of(found, first)
        is_fault = (best.kept and not found.kept) or bool(quality and quality.is_fault)
        here = self.steps[0].result.value
        if machine.name and found.value and first.value and here:  # as a part of what the script gives here
            told = {**found.others, "value_there": found.value}
            found = replace(found, value=found.value / first.value * here, others=told)
        passes = gain is not None and gain >= ACCEPTED and not is_fault
        step = TuneStep(
            change=change, result=found, gain=gain, is_accepted=passes, quality=quality, on=machine.name
        )
        return step, is_fault

    def _once(self, machine: TuneMachine, edits: ScriptEdits, cancel: Event) -> TuneResult:
        """Result of a configuration on a machine, which starts it if it never did."""
        found, is_script = self._starts.seen.get(self._starts.key(machine, edits)), edits == ScriptEdits()
        name = "the script as it is" if is_script else _AGAIN
        return found or self._starts.measured(machine, edits, name, cancel, is_repeat=not is_script)

    def _beside_the_best(
        self, machine: TuneMachine, best: TuneResult, edits: ScriptEdits, change: TuneChange, cancel: Event
    ) -> tuple[TuneResult, float | None]:
        """Measure a candidate, and its gain over the incumbent; None where it has none.

        On a machine that others use, the incumbent's old value is of another moment: there the incumbent is
        started again right after the candidate, and a gain counts if it shows twice; the smaller one does.
        """
        bar = None if best.disturbed else best.value
        found = self._starts.measured(machine, edits, change.name, cancel, bar=bar)
        if not found.is_ok or found.value is None or best.value is None:
            return found, None
        gain = self.evaluator.objective.gain(found.value, best.value)
        if machine.name and (best.disturbed or found.disturbed):
            raise MachineGoneError("others use it: its probes were disturbed again and again")
        if not (best.disturbed or found.disturbed) or not self._starts.has_room(2 * _TURNS - 1):
            return found, gain  # the confirmation alone decides where nothing else is left to pay
        gain, incumbent, measured = math.inf, self._incumbent, self._starts.measured
        name = _AGAIN if self.accepted else "the script as it is again"
        for turn in range(_TURNS):
            again, place = found, len(self.steps) * _TURNS + turn
            if turn:
                again = measured(machine, edits, change.name, cancel, turn=turn, is_repeat=True)
            beside = measured(machine, incumbent, name, cancel, turn=place, is_repeat=True)
            if again.value is None or beside.value is None:
                return found, None
            gain = min(gain, self.evaluator.objective.gain(again.value, beside.value))
            if gain < ACCEPTED:
                break
        return found, gain

    def _quality_of(self, found: TuneResult, first: TuneResult) -> QualityFinding | None:
        """Finding on the answers beside those of the script; None if they were not asked for."""
        if not (first.answers and found.answers):
            return None
        return compare(first.replies, found.replies, wavers=first.wavers, wavering=first.wavering)

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
            is_known = self._starts.key(self._here, without, turn) in self._starts.known
            if not (is_known or self._starts.has_room(2)):
                return False
            is_repeat, name, measured = turn > place, f"not {change.name}", self._starts.measured
            found = measured(self._here, without, name, cancel, turn=turn, is_repeat=is_repeat)
            beside = measured(self._here, whole, _AGAIN, cancel, turn=turn, is_repeat=True)
            if found.value is None or beside.value is None:
                return False
            if self.evaluator.objective.gain(beside.value, found.value) >= ACCEPTED:
                return False
            quality = quality if is_repeat else self._quality_of(found, self.steps[0].result)
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

    def _add(self, step: TuneStep) -> None:
        self.steps.append(step)
        self.watch.step(step)

    def _confirmed(self, pairs: int, cancel: Event) -> ExperimentState:
        """The state of the winner beside the script as it is, after so many pairs of starts at most."""
        objective, first, best = self.evaluator.objective, self.steps[0].result.value, self.best.value
        rates = ladder(first, best) if objective.is_rate and first is not None and best is not None else ()
        edits = {CONTROL: ScriptEdits(), TREATMENT: self._incumbent}
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
        found = ConfirmationPairs(
            design=design, edits=edits, rates=rates, starts=self._starts, lose=self._lose,
            machines=[self._here, *self.machines],
        )  # fmt: skip
        subject = self.subject(tuple(self.accepted))
        return confirm(design, self.experiment, subject, found.measure, self.watch.round, cancel)

    def _ended(self, state: ExperimentState | None, why: str) -> TuneOutcome:
        compared = compared_before(self.journal).values()
        outcome = TuneOutcome(
            steps=tuple(self.steps),
            accepted=tuple(self.accepted),
            edits=self._incumbent,
            state=state,
            why=why,
            starts=self._starts.used + len(compared),
            cost_s=self._starts.used_s + sum(item.cost_s for item in compared),
            load_s=sum(item.result.load_s for item in self.steps) + sum(item.load_s for item in compared),
            quality=self.quality,
        )
        self.journal.note("ended", verdict=outcome.verdict, why=why, starts=outcome.starts)
        return outcome
