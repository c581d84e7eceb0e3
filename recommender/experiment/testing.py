"""A/B tests from their first line to the graph: begun, run, recorded, and their conclusions drawn."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import Settings, digest
from recommender.experiment.concluding import conclude
from recommender.experiment.journal import ExperimentJournal, claim_name, find, names, path_of, read
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.preparing import evaluators_of
from recommender.experiment.running import Experiment
from recommender.experiment.standing import standing
from recommender.measuring.environment import capture
from recommender.measuring.marks import kill_marked
from recommender.measuring.masking import has_mask, masked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from kg.nouns.entities import Problem
    from recommender.experiment.concluding import Conclusion
    from recommender.experiment.journal import Logged
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.preparing import PreparedTest
    from recommender.experiment.recording import Recorded
    from recommender.experiment.standing import ExperimentState


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """The change in the graph that an experiment made.

    Attributes:
        rows: New rows; none if it knew the outcome already.
        strategies: Strategies whose effects have moved.
    """

    rows: int
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiments:
    """The experiments of a workspace, by name.

    Attributes:
        folder: Where their logs are.
    """

    folder: Path

    def names(self) -> list[str]:
        """Names of the experiments, the newest last."""
        return names(self.folder)

    def find(self, name: str) -> Logged:
        """An experiment by its name.

        Raises:
            UnknownEntityError: There is none.
            WorkspaceError: Its log is damaged.
        """
        return find(self.folder, name)

    def begin(self, test: PreparedTest, name: str = "") -> Logged:
        """Begin an experiment; one of the same name is taken up again if it is the same.

        Its log keeps no secrets of its commands. Without a name it gets one that no other has.

        Raises:
            InputError: Another experiment has this name.
        """
        path = path_of(self.folder, name or claim_name(self.folder))
        design, runs = test.design, test.runs.masked()
        if runs.command is None:
            arms = {arm: Settings({"command": masked(str(it["command"]))}) for arm, it in design.arms.items()}
            design = replace(design, arms=arms)
        if path.is_file() and path.stat().st_size:
            before = read(path)
            if test.is_seed_free:
                design = replace(design, seed=before.design.seed)
            if before.about.runs != runs:
                raise InputError(
                    f"experiment {name} runs another command",
                    hint="give another --name, or --resume it as it is",
                )
        about = ExperimentMetadata(runs=runs, subject=test.subject, machine=capture({}))
        with ExperimentJournal(path, design, about):
            pass
        return read(path)

    def record(self, recorded: Recorded, subject: ExperimentSubject | None = None, name: str = "") -> Logged:
        """Keep measurements that were made elsewhere; the same ones are kept once.

        Raises:
            InputError: Another experiment has this name.
        """
        name = name or recorded.name
        path, samples = path_of(self.folder, name), list(recorded.samples)
        with ExperimentJournal(path, recorded.design, ExperimentMetadata(subject=subject)) as journal:
            if journal.samples and journal.samples != samples:
                raise InputError(f"experiment {name} holds other measurements", hint="give another --name")
            if not journal.samples:
                journal.add(*samples)
        return read(path)

    def state(self, logged: Logged) -> ExperimentState:
        """The verdicts and intervals of an experiment by what was measured so far."""
        return state_of(logged)

    def is_conclusive(self, logged: Logged) -> bool:
        """True if an experiment has ended and names its change, so that the graph can learn from it."""
        return is_conclusive(logged, state_of(logged))

    def run(
        self,
        logged: Logged,
        *,
        base: Mapping[str, str],
        on_round: Callable[[ExperimentState], None] = lambda _: None,
        cancel: threading.Event | None = None,
        test: PreparedTest | None = None,
    ) -> Logged:
        """Run an experiment until a verdict, its budget or ``cancel``.

        Args:
            logged: The experiment.
            base: Environment of its commands.
            on_round: Called with the state after each round.
            cancel: Stops it when set; what was measured is kept.
            test: What was begun, with the secrets that the log does not keep; None to run it from its log.

        Raises:
            InputError: It was recorded, not run; or its log has a secret masked and there is no ``test``.
            CancelledError: ``cancel`` was set.
        """
        if logged.about.runs is None:
            raise InputError(f"{logged.name} was recorded: nothing here can run it")
        path = path_of(self.folder, logged.name)
        mark = digest("experiment", str(path.resolve()))
        runs, design = logged.about.runs, logged.design
        if test is not None:
            runs, design = test.runs, replace(design, arms=test.design.arms)
        elif has_mask(runs.to_json(), design.to_json()):
            raise InputError(
                f"{logged.name} was run with a secret, which its log does not keep",
                hint=f"go on with it: the same tunegraph ab run as before, with --name {logged.name}",
            )
        evaluators = evaluators_of(design, runs, base=base, mark=mark)
        with ExperimentJournal(path, logged.design, logged.about) as journal:
            kill_marked(mark)  # a run that outlived a killed session would disturb this one
            experiment = Experiment(
                design=logged.design, evaluators=evaluators, journal=journal, on_round=on_round
            )
            journal.conclude(experiment.run(cancel or threading.Event()).to_json())
        return read(path)


def state_of(logged: Logged) -> ExperimentState:
    """The verdicts and intervals of an experiment by what was measured so far."""
    return standing(logged.samples, logged.design)


def is_conclusive(logged: Logged, state: ExperimentState) -> bool:
    """Return whether an experiment has ended and says what it tried, so that the graph can learn from it."""
    if logged.about.subject is None or logged.design.is_self_test:
        return False
    is_over = bool(state.stop) or logged.about.runs is None
    return is_over and any(item.interval.pairs or item.failures.treatment for item in state.comparisons)


def conclusions_of(
    logged: Logged, state: ExperimentState, problem: Problem, now: datetime
) -> list[Conclusion]:
    """The conclusions of an experiment, one for each arm that was measured.

    Args:
        logged: The experiment; :func:`is_conclusive`.
        state: Its state.
        problem: On what it was made.
        now: The time, for an experiment whose samples have none.
    """
    subject = logged.about.subject
    if subject is None:
        return []
    is_only, found = len(logged.design.treatments) == 1, []
    for item in state.comparisons:
        if not item.interval.pairs and not item.failures.treatment:
            continue  # an arm that was beaten before it was measured
        tried = subject.of_arm(item.arm, is_only=is_only)
        found.append(conclude(logged, problem, tried, now, item.arm))
    return found
