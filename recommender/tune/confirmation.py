"""The winner of a search beside the script as it is: restarts of both in turn, until the interval says so.

The test is that of ``tunegraph ab``: pairs in an order drawn for each, an interval that holds whenever it is
looked at. A pair starts both, with the same requests at the same moments for both, and new ones for the next.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kg.nouns.entities import Kind
from recommender.experiment.design import CONTROL
from recommender.experiment.journal import ExperimentJournal
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.running import Experiment
from recommender.measuring.environment import capture
from recommender.measuring.outcome import RunOutcome
from recommender.tune.starts.machines import MachineGoneError, at_once
from recommender.tune.tune_result import TuneResult, TuneStart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from ingest.questions.patches.script_edits import ScriptEdits
    from kg.nouns.values import Settings
    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.standing import ExperimentState
    from recommender.tune.starts.machines import TuneMachine
    from recommender.tune.starts.measured import TuneStarts
    from recommender.tune.tune_journal import TuneJournal

TREATMENT = "treatment"
APART = 1.1
"""Rates that are nearer to each other than this are one; a choice: below the noise of a hundred requests."""


def confirm(
    design: ExperimentDesign,
    path: Path,
    subject: ExperimentSubject | None,
    measure: Callable[[str, int, Event], TuneResult],
    on_round: Callable[[ExperimentState], None],
    cancel: Event,
) -> ExperimentState:
    """Test a winner until the verdict, or the last pair; what an earlier session measured counts.

    Args:
        design: What is fixed.
        path: Of the experiment's log.
        subject: What is tried on which problem; None if the graph is to learn nothing.
        measure: Starts and measures an arm in a pair; what a kill cut off has the number of the next one.
        on_round: Told how things stand.
        cancel: Ends it when set.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    arms = [_Arm(arm, design.metric, measure) for arm in design.arms]
    about = ExperimentMetadata(subject=subject, machine=capture({}))
    with ExperimentJournal(path, design, about) as journal:
        rounds = Counter(item.round for item in journal.samples)
        cut = sum(count < len(arms) for count in rounds.values())

        def enter(number: int, _arm: str) -> None:
            for arm in arms:
                arm.pair = number - cut

        state = Experiment(
            design=design,
            evaluators={arm.name: [arm] for arm in arms},
            journal=journal,
            on_round=on_round,
            on_sample=enter,
        ).run(cancel)
        journal.conclude(state.to_json())
    return state


def compared_before(journal: TuneJournal) -> dict[tuple[str, int], TuneResult]:
    """Results of a confirmation so far, by arm and pair: half a pair that a kill cut off too."""
    done: dict[tuple[str, int], TuneResult] = {}
    for event in journal.events:
        if event["event"] in {"compared", "pair"}:
            results = event["results"] if "results" in event else {event["arm"]: event["result"]}
            for arm, result in results.items():
                done[arm, int(event["pair"])] = TuneResult.from_json(result)
    return done


@dataclass(slots=True, kw_only=True)
class ConfirmationPairs:
    """Pairs of starts, each on one machine; other machines measure the next ones meanwhile.

    Attributes:
        design: Of the test.
        edits: What each arm changes in the script.
        rates: At which limits are looked at; empty where one load decides.
        starts: Notes each start.
        machines: Those that measure, this one first.
        lose: Told a machine that measures no more.
        done: What was measured, by arm and pair.
    """

    design: ExperimentDesign
    edits: Mapping[str, ScriptEdits]
    rates: tuple[float, ...]
    starts: TuneStarts
    machines: list[TuneMachine]
    lose: Callable[[TuneMachine, MachineGoneError], None]
    done: dict[tuple[str, int], TuneResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take what the journal has."""
        self.done = compared_before(self.starts.journal)

    def measure(self, arm: str, number: int, cancel: Event) -> TuneResult:
        """Result of an arm in a pair; where others measure too, whole pairs are measured at once."""
        if (arm, number) not in self.done:
            order = [arm]
            if len(self.machines) > 1:
                order += [one for one in self.edits if (one, number) not in self.done and one != arm]
            after = (item for item in range(number + 1, self.design.pairs) if (arm, item) not in self.done)
            jobs = [(self.machines[0], partial(self._pair, self.machines[0], order, number, cancel))]
            for machine, item in zip(self.machines[1:], after, strict=False):
                jobs.append((machine, partial(self._pair, machine, self.design.order(item), item, cancel)))
            for (machine, _), result in zip(jobs, at_once(jobs), strict=True):
                if isinstance(result, MachineGoneError):
                    self.machines.remove(machine)
                    self.lose(machine, result)
        return self.done[arm, number]

    def _pair(self, machine: TuneMachine, order: Sequence[str], number: int, cancel: Event) -> None:
        journal, found = self.starts.journal, dict[str, TuneResult]()
        for arm in order:
            start = TuneStart(
                edits=self.edits[arm],
                number=self.starts.begin(machine, "the script as it is" if arm == CONTROL else "the winner"),
                seed=self.design.seed + 1000 * (1 + number),
                rates=self.rates,
            )
            found[arm] = machine.evaluator.evaluate(start, cancel)
            if not machine.name:
                journal.note("compared", arm=arm, pair=number, result=found[arm].to_json())
        if machine.name:  # one line, so that half of it is never another machine's
            results = {arm: result.to_json() for arm, result in found.items()}
            journal.note("pair", pair=number, on=machine.name, results=results)
        self.done.update({(arm, number): result for arm, result in found.items()})


@dataclass(slots=True)
class _Arm:
    """An arm as experiments evaluate it."""

    name: str
    metric: str
    measure: Callable[[str, int, Event], TuneResult]
    pair: int = 0
    kind: Kind = Kind.MEASURED

    def evaluate(self, _configuration: Settings, cancel: Event) -> RunOutcome:
        """See :class:`recommender.measuring.outcome.Evaluator`."""
        found = self.measure(self.name, self.pair, cancel)
        if not found.is_ok or found.value is None:
            return RunOutcome(status=found.status, reason=found.reason, cost_s=found.cost_s)
        return RunOutcome(values={self.metric: found.value, **found.others}, cost_s=found.cost_s)


def ladder(baseline: float, winner: float) -> tuple[float, ...]:
    """The rates at which both are looked at: that of the script, that of the winner, and between them."""
    low, high = sorted((baseline, winner))
    middle = (low * high) ** 0.5
    return (min(low, middle / APART), middle, max(high, middle * APART))
