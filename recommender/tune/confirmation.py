"""The winner of a search beside the script as it is: restarts of both in turn, until the interval says so.

The test is that of ``tunegraph ab``: pairs in an order drawn for each, an interval that holds whenever it is
looked at. A pair starts both, with the same requests at the same moments for both, and new ones for the next.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.entities import Kind
from recommender.experiment.journal import ExperimentJournal
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.running import Experiment
from recommender.measuring.environment import capture
from recommender.measuring.outcome import RunOutcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from kg.nouns.values import Settings
    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.standing import ExperimentState
    from recommender.tune.tune_result import TuneResult

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
