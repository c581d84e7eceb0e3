"""A search in which people evaluate: they ask for configurations and tell what came out."""

import re
from collections.abc import Mapping

from kg.errors import InputError
from kg.nouns.entities import Status, WorkloadKind
from kg.nouns.values import Settings
from kg.terms.metrics import canonical_metric
from kg.terms.units import unit
from recommender.measuring.outcome import RunOutcome
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation, Origin, Suggestion
from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.log.workers import MANUAL
from recommender.search.run.assembly import search_of, task_of
from recommender.search.run.objective import evaluation_of
from recommender.search.run.task import Task

_QUANTITY = re.compile(r"\s*([-+.\deE]+)\s*(\S*)\s*")


def replay_log(log: SearchLog, task: Task) -> tuple[Search, list[LoggedTrial]]:
    """A search with all evaluations of its log, and its trials."""
    search = search_of(task, seed=log.metadata.seed, sources=log.sources)
    trials = log.trials()
    for trial in trials:
        if trial.evaluation is not None:
            search.tell(trial.evaluation)
        elif trial.state in {"RUNNING", "WAITING"} and trial.origin != "repeat":
            search.hold(trial.configuration)
    return search, trials


def ask_trials(log: SearchLog, n: int) -> list[LoggedTrial]:
    """Up to n configurations to evaluate: first those that wait in the queue, then new ones.

    Raises:
        InfeasibleError: Nothing satisfies the constraints.
        InputError: Every configuration was evaluated or is being evaluated.
    """
    found = log.exclusively(lambda: _claim_or_propose(log, n))
    if not found:
        raise InputError("every configuration was evaluated, or is being evaluated")
    return found


def _claim_or_propose(log: SearchLog, n: int) -> list[LoggedTrial]:
    task = task_of(log)
    search, trials = replay_log(log, task)
    waiting = [item for item in trials if item.state == "WAITING"][:n]
    found = [item for item in waiting if log.claim(item, owner=MANUAL, until=None)]
    taken = {item.configuration for item in trials}
    while len(found) < n:
        suggestions = search.ask(1)
        if not suggestions:
            break
        if suggestions[0].configuration not in taken:
            taken.add(suggestions[0].configuration)
            found.append(log.start(suggestions[0], task.space, owner=MANUAL, until=None))
    return found


def tell_trial(
    log: SearchLog,
    number: int | None,
    configuration: Mapping[str, object] | None,
    values: Mapping[str, str],
    failed: str | None,
) -> int:
    """Write what came out of a trial, or of a configuration that nobody asked for.

    Args:
        log: Of the search.
        number: Of the trial; None with a configuration.
        configuration: What was set, instead of a trial.
        values: By metric, each with its unit: ``"1.2ms"``.
        failed: Why it did not run; None if it did.

    Returns:
        The number of the trial.

    Raises:
        InputError: No such trial, it ended already, the configuration is outside the space, or a value is
            missing or of the wrong unit.
    """
    task = task_of(log)
    trials = log.trials()
    if (number is None) == (configuration is None):
        raise InputError("tell of a trial by its number, or of a configuration with --set")
    outcome = (
        RunOutcome(status=Status.FAILED, reason=failed or "failed")
        if failed is not None
        else RunOutcome(values=_numbers(task, values))
    )
    if configuration is not None:
        settings = Settings(configuration)
        broken = task.space.violated(settings)
        if broken is not None:
            raise InputError(f"the configuration breaks a constraint: {broken}")
        return record_evaluation(log, task, settings, outcome, "default").number
    known = {item.number: item for item in trials}
    if number not in known:
        raise InputError(f"{log.storage} has no trial {number}", hint="see them: tunegraph search status")
    trial = known[number]
    if trial.evaluation is not None:
        raise InputError(f"trial {number} was told already")
    _finish(log, task, trial, outcome)
    return trial.number


def record_evaluation(
    log: SearchLog, task: Task, configuration: Settings, outcome: RunOutcome, origin: Origin
) -> LoggedTrial:
    """Write what came out of a configuration that the search did not propose.

    Raises:
        InputError: A value is missing.
    """
    _checked(task, configuration, outcome)
    suggestion = Suggestion(number=-1, configuration=configuration, origin=origin)
    trial = log.start(suggestion, task.space, owner=MANUAL, until=None)
    _finish(log, task, trial, outcome)
    return trial


def _checked(task: Task, configuration: Settings, outcome: RunOutcome) -> Evaluation:
    evaluation = evaluation_of(outcome, configuration, task.objectives, task.limits, task.parts)
    if outcome.status is Status.OK and not evaluation.ok:
        raise InputError(evaluation.reason)
    return evaluation


def _finish(log: SearchLog, task: Task, trial: LoggedTrial, outcome: RunOutcome) -> None:
    evaluation = _checked(task, trial.configuration, outcome)
    elapsed_s = max((item.elapsed_s for item in log.trials()), default=0.0)
    if not log.finish(trial, evaluation, outcome, objectives=task.objectives, elapsed_s=elapsed_s):
        raise InputError(f"trial {trial.number} was told already")


def _numbers(task: Task, texts: Mapping[str, str]) -> dict[str, float]:
    """Values by metric, in SI units."""
    units = {item.metric: item.unit for item in task.objectives} | {x.metric: x.unit for x in task.limits}
    units |= {metric: task.objectives[0].unit for part in task.parts for metric in part.metrics}
    found = {}
    for name, text in texts.items():
        metric = canonical_metric(
            name, WorkloadKind.KERNEL if name in {"time", "runtime"} else WorkloadKind.OPERATOR
        )
        if metric not in units:
            raise InputError(f"this search does not ask for {name}", hint=f"it asks for {', '.join(units)}")
        parts = _QUANTITY.fullmatch(text)
        if parts is None:
            raise InputError(f"{name}={text}: no number")
        try:
            number, symbol = float(parts.group(1)), parts.group(2)
            measure = unit(symbol) if symbol else None
        except ValueError as fault:
            raise InputError(f"{name}={text}: {fault}") from None
        if measure is not None and measure.symbol != (units[metric] or measure.symbol):
            raise InputError(f"{name} is told in {units[metric]}, not in {symbol}")
        found[metric] = number if measure is None else measure.to_si(number)
    return found
