"""The log of a search: a study in Optuna's storage, and nothing beside it.

A journal file is the default; a URL (``sqlite:///search.db``, ``postgresql://...``) is a database that many
machines share. The study says what is searched; each trial carries its evaluation whole. A trial is written
as running before it is evaluated, so whoever comes after a crash finds it and queues it again. The study
reads back through ``ingest.optuna_study`` as the cases that were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ingest.optuna_study import WHOLE
from kg.entities import Better, Status
from kg.errors import InputError
from kg.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.search.journal import PATIENCE_S
from recommender.search.storage import distributions, load_optuna, open_backend, patient, study_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from kg.entities import Objective
    from recommender.measuring.outcome import Outcome
    from recommender.search.evaluations import Origin, Suggestion
    from recommender.search.space import SearchSpace

OWN = "search"
"""Attribute of a study and its trials that holds what a search needs to go on."""
SOURCES = "search_sources"
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTrial:
    """One trial of the log.

    Attributes:
        number: In its study, from 0; what people call it by.
        trial_id: In its storage.
        state: ``RUNNING``, ``COMPLETE``, ``PRUNED``, ``FAIL`` or ``WAITING``.
        configuration: What is set.
        origin: Why it was proposed.
        owner: Who evaluates it.
        until: Unix time after which its worker counts as gone; None for never.
        evaluation: What came out; None before its end.
        elapsed_s: How long the search had taken by then, all sessions together.
        notes: What else was noted of the evaluation.
        expected: What was predicted of each objective; None if nothing was.
        ended: When it ended; None before.
    """

    number: int
    trial_id: int
    state: str
    configuration: Settings
    origin: Origin
    owner: str
    until: float | None
    evaluation: Evaluation | None
    elapsed_s: float
    notes: tuple[str, ...]
    expected: tuple[float, ...] | None
    ended: datetime | None


class SearchLog:
    """One search in its storage.

    Attributes:
        storage: File or URL, as the user named it.
        name: Of the study.
        about: What the search is: ``task`` (its file, resolved), ``digest``, ``seed`` and the like.
        sources: What it was started from, as JSON.
        objectives: What decides.
    """

    def __init__(
        self, storage: str, backend: Any, study_id: int, name: str, *, patience_s: float = PATIENCE_S
    ) -> None:
        self.storage, self.name = storage, name
        self._backend, self._id = backend, study_id
        self._patience_s = patience_s
        self._ended: dict[int, LoggedTrial] = {}
        attributes = self._do(lambda: backend.get_study_user_attrs(study_id))
        about = attributes.get(OWN)
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            raise InputError(
                f"{storage}: study {name!r} was not made by a search of this version",
                hint="its trials can be ingested: tunegraph ingest",
            )
        self.about: dict[str, Any] = about
        self.sources: list[dict[str, Any]] = list(attributes.get(SOURCES) or [])

    @classmethod
    def create(
        cls,
        storage: str,
        *,
        name: str,
        objectives: Sequence[Objective],
        about: Mapping[str, object],
        whole: Mapping[str, object],
        sources: Sequence[Mapping[str, object]] = (),
        patience_s: float = PATIENCE_S,
    ) -> Self:
        """Begin a search.

        Args:
            storage: File or URL.
            name: Of the study.
            objectives: What decides.
            about: What the search needs to go on.
            whole: What of a case is not its configuration and outcome (``ingest.optuna_study.WHOLE``).
            sources: What it starts from.
            patience_s: How long to wait for a storage that is away.

        Raises:
            InputError: There is a search of this name already.
            WorkspaceError: The storage cannot be reached.
            MissingDependencyError: Optuna is not installed.
        """
        optuna = load_optuna()
        if "://" not in storage and not Path(storage).parent.is_dir():
            raise InputError(f"{storage}: there is no folder {Path(storage).parent}")
        backend = open_backend(storage, create=True, patience_s=patience_s)
        if name in study_names(backend, storage, patience_s):
            raise InputError(
                f"{storage} holds a search named {name!r} already",
                hint=f"go on with it: tunegraph search resume {storage}; or --log another",
            )
        directions = [
            optuna.study.StudyDirection.MINIMIZE
            if item.better is Better.LOWER
            else optuna.study.StudyDirection.MAXIMIZE
            for item in objectives
        ]
        study_id = patient(lambda: backend.create_new_study(directions, name), storage, patience_s)
        for key, content in (
            (WHOLE, dict(whole)),
            (SOURCES, list(sources)),
            (OWN, {**about, "schema": SCHEMA}),  # last: a study without it was never begun
        ):
            patient(partial(backend.set_study_user_attr, study_id, key, content), storage, patience_s)
        return cls(storage, backend, study_id, name, patience_s=patience_s)

    @classmethod
    def open(cls, storage: str, *, name: str = "", patience_s: float = PATIENCE_S) -> Self:
        """Open a search that was begun.

        Args:
            storage: File or URL.
            name: Of the study; needed only where the storage holds several.
            patience_s: How long to wait for a storage that is away.

        Raises:
            InputError: It holds no search, or several and no name was given.
            WorkspaceError: The storage is not there or cannot be read.
            MissingDependencyError: Optuna is not installed.
        """
        if "://" not in storage and not Path(storage).is_file():
            raise InputError(f"no search at {storage}", hint="begin one: tunegraph search run FILE")
        backend = open_backend(storage, create=False, patience_s=patience_s)
        names = study_names(backend, storage, patience_s)
        if not name and len(names) == 1:
            name = next(iter(names))
        if name not in names:
            hint = f"--name one of: {', '.join(sorted(names)[:20])}" if names else "it is empty"
            raise InputError(
                f"{storage} holds no search named {name!r}" if name else f"{storage}: which search?",
                hint=hint,
            )
        return cls(storage, backend, names[name], name, patience_s=patience_s)

    def trials(self) -> list[LoggedTrial]:
        """All trials, by number."""
        found = self._do(lambda: self._backend.get_all_trials(self._id, deepcopy=False))
        logged = [self._ended.get(item.number) or _logged(item) for item in found]
        self._ended.update((item.number, item) for item in logged if item.evaluation is not None)
        return logged

    def study(self) -> Any:
        """The study, for Optuna's own analyses and plots."""
        return self._do(lambda: load_optuna().load_study(study_name=self.name, storage=self._backend))

    def start(
        self, suggestion: Suggestion, space: SearchSpace, *, owner: str, until: float | None
    ) -> LoggedTrial:
        """Write that a suggestion is being evaluated.

        Args:
            suggestion: What is evaluated.
            space: Its space, for Optuna's distributions.
            owner: Who evaluates it.
            until: Unix time after which the owner counts as gone.
        """
        noted: dict[str, object] = {
            "origin": suggestion.origin,
            "owner": owner,
            "until": until,
            "expected": None if suggestion.expected is None else list(suggestion.expected),
        }
        return self._make(suggestion.configuration, space, noted, state="RUNNING")

    def queue(self, configuration: Settings, space: SearchSpace) -> LoggedTrial:
        """Have a configuration evaluated next, by whoever comes first."""
        return self._make(configuration, space, {"origin": "default", "owner": ""}, state="WAITING")

    def _make(
        self, configuration: Settings, space: SearchSpace, noted: dict[str, object], *, state: str
    ) -> LoggedTrial:
        optuna = load_optuna()
        template = optuna.trial.create_trial(
            state=getattr(optuna.trial.TrialState, state),
            params=configuration.to_json(),
            distributions=distributions(space, configuration),
            user_attrs={OWN: noted},
        )
        trial_id = self._do(lambda: self._backend.create_new_trial(self._id, template))
        return _logged(self._do(lambda: self._backend.get_trial(trial_id)))

    def claim(self, trial: LoggedTrial, *, owner: str, until: float | None) -> bool:
        """Take a waiting trial; False if somebody else was faster."""
        running = load_optuna().trial.TrialState.RUNNING
        if not self._do(lambda: self._backend.set_trial_state_values(trial.trial_id, running)):
            return False
        expected = None if trial.expected is None else list(trial.expected)
        noted = {"origin": trial.origin, "owner": owner, "until": until, "expected": expected}
        self._do(lambda: self._backend.set_trial_user_attr(trial.trial_id, OWN, noted))
        return True

    def requeue(self, trial: LoggedTrial) -> None:
        """Put a trial that nobody evaluates any more back in the queue."""
        waiting = load_optuna().trial.TrialState.WAITING
        self._do(lambda: self._backend.set_trial_state_values(trial.trial_id, waiting))

    def finish(
        self,
        trial: LoggedTrial,
        evaluation: Evaluation,
        outcome: Outcome,
        *,
        objectives: Sequence[Objective],
        elapsed_s: float,
    ) -> None:
        """Write what came out; on disk when this returns."""
        optuna = load_optuna()
        expected = trial.expected
        noted = {
            "origin": trial.origin,
            "owner": trial.owner,
            "expected": None if expected is None else list(expected),
            "elapsed_s": round(elapsed_s, 3),
            "notes": list(outcome.notes),
            "by_input": [dict(item) for item in outcome.by_input],
            "others": {k: v for k, v in outcome.values.items() if k not in {o.metric for o in objectives}},
            "evaluation": {
                "values": list(evaluation.values),
                "stdev": None if evaluation.stdev is None else list(evaluation.stdev),
                "status": evaluation.status.value,
                "reason": evaluation.reason,
                "repeats": evaluation.repeats,
                "cost_s": evaluation.cost_s,
            },
        }
        self._do(lambda: self._backend.set_trial_user_attr(trial.trial_id, OWN, noted))
        self._do(
            lambda: self._backend.set_trial_user_attr(
                trial.trial_id, WHOLE, {"outcomes": _outcomes(evaluation)}
            )
        )
        if evaluation.ok:
            state, values = optuna.trial.TrialState.COMPLETE, evaluation.values[: len(objectives)]
        elif evaluation.status in {Status.FORBIDDEN, Status.NOT_MEASURED, Status.UNKNOWN}:
            state, values = optuna.trial.TrialState.PRUNED, None
        else:
            state, values = optuna.trial.TrialState.FAIL, None
        self._do(lambda: self._backend.set_trial_state_values(trial.trial_id, state, values))

    def copy_to(self, path: Path) -> None:
        """Write the search into a new journal, which every reader of files understands."""
        optuna = load_optuna()
        target = open_backend(str(path), create=True, patience_s=self._patience_s)
        self._do(
            lambda: optuna.copy_study(
                from_study_name=self.name, from_storage=self._backend, to_storage=target
            )
        )

    def note(self, key: str, content: object) -> None:
        """Keep something of the search as a whole, such as why it ended."""
        self.about = {**self.about, key: content}
        self._do(lambda: self._backend.set_study_user_attr(self._id, OWN, self.about))

    def _do(self, action: Callable[[], Any]) -> Any:
        return patient(action, self.storage, self._patience_s)


def _outcomes(evaluation: Evaluation) -> list[dict[str, object] | None]:
    """What the reader needs of each value; None for one that is not known."""
    if not evaluation.ok:
        failed: dict[str, object] = {"value": None, "status": evaluation.status.value}
        return [failed | {"reason": evaluation.reason}, *([None] * (len(evaluation.values) - 1))]
    spreads = evaluation.stdev or (None,) * len(evaluation.values)
    return [
        None
        if value is None
        else {"value": value, "status": "ok", "n": evaluation.repeats}
        | ({} if spread is None else {"std": spread})
        for value, spread in zip(evaluation.values, spreads, strict=True)
    ]


def _logged(trial: Any) -> LoggedTrial:
    noted = trial.user_attrs.get(OWN)
    noted = noted if isinstance(noted, dict) else {}
    configuration = Settings(trial.params)
    raw = noted.get("evaluation")
    evaluation = None
    if isinstance(raw, dict) and trial.state.is_finished():
        spreads = raw.get("stdev")
        evaluation = Evaluation(
            configuration=configuration,
            values=tuple(raw["values"]),
            status=Status(raw["status"]),
            reason=raw["reason"],
            stdev=None if spreads is None else tuple(spreads),
            repeats=raw["repeats"],
            cost_s=raw["cost_s"],
        )
    expected = noted.get("expected")
    return LoggedTrial(
        number=trial.number,
        trial_id=trial._trial_id,
        state=trial.state.name,
        configuration=configuration,
        origin=noted.get("origin", "random"),
        owner=str(noted.get("owner", "")),
        until=noted.get("until"),
        evaluation=evaluation,
        elapsed_s=float(noted.get("elapsed_s", 0.0)),
        notes=tuple(noted.get("notes", ())),
        expected=None if expected is None else tuple(expected),
        ended=trial.datetime_complete,
    )
