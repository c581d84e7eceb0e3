"""The winner of a search beside the script as it is: restarts of both in turn, until the interval says so.

The test is that of ``tunegraph ab``: pairs in an order drawn for each, an interval that holds whenever it is
looked at. A pair starts both, with the same requests at the same moments for both, and new ones for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.nouns.entities import Kind
from recommender.experiment.design import MOST_PAIRS, ExperimentDesign
from recommender.experiment.journal import ExperimentJournal
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.running import Experiment
from recommender.measuring.environment import capture
from recommender.measuring.outcome import RunOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

    from ingest.questions.patches.script_edits import ScriptEdits
    from kg.nouns.values import Settings
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.standing import ExperimentState
    from recommender.tune.tune_result import TuneEvaluator, TuneResult

TREATMENT = "treatment"
_APART = 1.1
"""Least ratio of neighbouring rates of a confirmation: nearer ones do not differ in a hundred requests."""


@dataclass(slots=True, kw_only=True)
class Confirmation:
    """A test of a winner.

    Attributes:
        evaluator: Starts and measures.
        edits: What each arm changes in the script.
        arms: What each arm sets, by name, for the record.
        rates: Rates at which limits are looked at; empty where one load decides.
        alpha: Chance of a wrong verdict.
        margin: Log ratio that does not matter.
        seed: Of the order and of the requests.
        path: Of the experiment's log.
        subject: What is tried on which problem; None if the graph is to learn nothing.
        on_start: Told before each start; gives its number.
        on_measured: Told what it gave.
        on_round: Told how things stand.
    """

    evaluator: TuneEvaluator
    edits: Mapping[str, ScriptEdits]
    arms: Mapping[str, Settings]
    rates: tuple[float, ...]
    alpha: float
    margin: float
    seed: int
    path: Path
    subject: ExperimentSubject | None = None
    on_start: Callable[[str], int]
    on_measured: Callable[[str, TuneResult], None]
    on_round: Callable[[ExperimentState], None] = field(default=lambda _: None)
    _round: int = 0

    def design(self, pairs: int) -> ExperimentDesign:
        """The design of the test."""
        objective = self.evaluator.objective
        return ExperimentDesign(
            metric=objective.metric,
            better=objective.better,
            unit=objective.unit,
            arms=self.arms,
            alpha=self.alpha,
            margin=self.margin,
            pairs=min(MOST_PAIRS, pairs),
            warmup=0,
            seed=self.seed,
        )

    def run(self, pairs: int, cancel: Event) -> ExperimentState:
        """Run it until its verdict, or so many pairs; what an earlier session measured counts.

        Raises:
            CancelledError: ``cancel`` was set.
        """
        about = ExperimentMetadata(subject=self.subject, machine=capture({}))
        design = self.design(pairs)
        with ExperimentJournal(self.path, design, about) as journal:
            experiment = Experiment(
                design=design,
                evaluators={arm: [_Arm(arm, self)] for arm in design.arms},
                journal=journal,
                on_round=self.on_round,
                on_sample=self._enter,
            )
            state = experiment.run(cancel)
            journal.conclude(state.to_json())
        return state

    def _enter(self, number: int, _arm: str) -> None:
        self._round = number

    def measure(self, arm: str, cancel: Event) -> TuneResult:
        """Measure an arm of the round that runs."""
        found = self.evaluator.confirm(
            self.edits[arm],
            number=self.on_start(arm),
            seed=self.seed + 1000 * (1 + self._round),
            rates=self.rates,
            cancel=cancel,
        )
        self.on_measured(arm, found)
        return found


class _Arm:
    """An arm as experiments evaluate it."""

    def __init__(self, arm: str, test: Confirmation) -> None:
        self._arm, self._test = arm, test

    @property
    def kind(self) -> Kind:
        """Measured."""
        return Kind.MEASURED

    def evaluate(self, _configuration: Settings, cancel: Event) -> RunOutcome:
        """See :class:`recommender.measuring.outcome.Evaluator`."""
        found = self._test.measure(self._arm, cancel)
        if not found.is_ok or found.value is None:
            return RunOutcome(status=found.status, reason=found.reason, cost_s=found.cost_s)
        values = {self._test.evaluator.objective.metric: found.value, **found.others}
        return RunOutcome(values=values, cost_s=found.cost_s)


def ladder(baseline: float, winner: float) -> tuple[float, ...]:
    """The rates at which both are looked at: that of the script, that of the winner, and between them."""
    low, high = sorted((baseline, winner))
    middle = (low * high) ** 0.5
    return (min(low, middle / _APART), middle, max(high, middle * _APART))
