"""The loop of an experiment: rounds of all arms in the order drawn, until there is a reason to stop."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event

from kg.nouns.entities import Status
from recommender.experiment.design import CONTROL, ExperimentDesign
from recommender.experiment.journal import ExperimentJournal
from recommender.experiment.samples import Sample
from recommender.experiment.standing import ExperimentState, standing
from recommender.measuring.outcome import Evaluator, RunOutcome


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment that can be run.

    Attributes:
        design: What is fixed.
        evaluators: What measures each arm, one an input; each evaluation is one run.
        journal: Where samples go; entered already.
        on_round: Told after each round how things stand.
        on_sample: Told before each arm: round, arm.
        clock: Seconds that never jump.
        now: The system's time, for people.
    """

    design: ExperimentDesign
    evaluators: Mapping[str, Sequence[Evaluator]]
    journal: ExperimentJournal
    on_round: Callable[[ExperimentState], None] = lambda _: None
    on_sample: Callable[[int, str], None] = lambda _round, _arm: None
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = field(default=_now)

    def run(self, cancel: Event) -> ExperimentState:
        """Run until a verdict, the budget or ``cancel``; a round that is cut off does not count.

        Raises:
            CancelledError: ``cancel`` was set; what was measured is kept and can be resumed.
            InputError: A command cannot be run at all.
        """
        samples, design = self.journal.samples, self.design
        state = standing(samples, design)
        session = 1 + max((item.session for item in samples), default=-1)
        number = 1 + max((item.round for item in samples), default=-1)
        warm_until = number + design.warmup
        while not state.stop:
            active = self._active(state)
            order = [arm for arm in design.order(number) if arm in active]
            for slot, arm in enumerate(order):
                self.on_sample(number, arm)
                self.journal.add(
                    self._measure(arm, session, number, slot, len(order), number < warm_until, cancel)
                )
            is_warmup = number < warm_until
            number += 1
            if not is_warmup:
                state = standing(samples, design)
                self.on_round(state)
        return state

    def _active(self, state: ExperimentState) -> set[str]:
        """Arms worth running: the control, and treatments that no other is known to beat."""
        if len(self.design.treatments) == 1:
            return set(self.design.arms)
        open_arms = {item.arm for item in state.comparisons if not item.is_settled}
        return {CONTROL} | ({*state.contenders} | open_arms) - self._beaten(state)

    def _beaten(self, state: ExperimentState) -> set[str]:
        """Treatments that another arm beats: their verdict beside the control is of no use any more."""
        return {item.arm for item in state.comparisons if item.arm not in state.contenders}

    def _measure(
        self, arm: str, session: int, number: int, slot: int, of: int, is_warmup: bool, cancel: Event
    ) -> Sample:
        began, at = self.now().isoformat(timespec="seconds"), self.clock()
        configuration, runs = self.design.arms[arm], []
        status, reason = Status.OK, ""
        for given, evaluator in zip(self.design.inputs, self.evaluators[arm], strict=True):
            found: list[Mapping[str, float]] = []
            for count in range(self.design.drop + self.design.repeats):
                outcome = evaluator.evaluate(configuration, cancel)
                status, reason = _judged(outcome, self.design.metric)
                if status is not Status.OK:
                    where = f" (input {given})" if len(self.design.inputs) > 1 else ""
                    reason += where
                    break
                if count >= self.design.drop:
                    found.append(dict(outcome.values))
            runs.append(tuple(found))
            if status is not Status.OK:
                break
        return Sample(
            session=session,
            round=number,
            slot=slot,
            arm=arm,
            runs=tuple(runs) if status is Status.OK else (),
            status=status,
            reason=reason,
            cost_s=self.clock() - at,
            at_s=at,
            time=began,
            of=of,
            is_warmup=is_warmup,
        )


def _judged(outcome: RunOutcome, metric: str) -> tuple[Status, str]:
    """The status of a run with its reason; a value that has no ratio is a failure of the run."""
    if outcome.status is not Status.OK:
        return outcome.status, outcome.reason or "failed"
    value = outcome.values.get(metric)
    if value is None:
        return Status.FAILED, f"no value of {metric}"
    if not value > 0:
        return Status.FAILED, f"{metric} is {value:g}: ratios need values above zero"
    return Status.OK, ""
