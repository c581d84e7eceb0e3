"""The log of a search: one study in Optuna's storage.

A journal file is the default; a URL (``sqlite:///search.db``, ``postgresql://...``) is a database that many
machines share. The study holds the metadata of the search, each trial its evaluation. A trial is written
as running before it is evaluated, so whoever comes after a crash finds it and queues it again. The study
reads back through ``ingest.formats.trackers.optuna_study`` as the cases that were measured.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from ingest.formats.trackers.optuna_study import RECORD_ATTRIBUTE
from kg.errors import InputError
from kg.nouns.entities import Better, Objective, Status
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Evaluation, SourceTable, Suggestion
from recommender.search.log.databases import hide_password, is_server, is_url
from recommender.search.log.metadata import SearchMetadata, sources_from_json, sources_to_json
from recommender.search.log.storage import (
    distributions,
    exclusive,
    load_optuna,
    open_backend,
    patient,
    study_names,
)
from recommender.search.log.storage_journal import PATIENCE_S
from recommender.search.log.trial_record import (
    BEAT,
    OWN,
    LoggedTrial,
    attributes_of,
    outcomes,
    trial_from_optuna,
)
from recommender.space.space import SearchSpace

SOURCES = "search_sources"
SCHEMA = 1
METRIC_NAMES = "study:metric_names"
"""Where Optuna keeps the names of objectives (``Study.set_metric_names``), which its dashboard shows."""

T = TypeVar("T")


class SearchLog:
    """One search in its storage.

    Attributes:
        storage: File or URL, without its password.
        name: Of the study.
        metadata: What the search needs to go on.
        sources: Tables of similar problems that it starts from.
        patience_s: How long to wait for a storage that is away.
    """

    def __init__(
        self, storage: str, backend: Any, study_id: int, name: str, *, patience_s: float = PATIENCE_S
    ) -> None:
        self.storage, self.name, self.patience_s = hide_password(storage), name, patience_s
        self._url, self._backend, self._id = storage, backend, study_id
        self._is_exclusive = False
        self._ended: dict[int, LoggedTrial] = {}
        attributes = self._do(lambda: backend.get_study_user_attrs(study_id))
        content = attributes.get(OWN)
        schema = content.get("schema") if isinstance(content, dict) else None
        if isinstance(schema, int) and schema > SCHEMA:
            raise InputError(
                f"{self.storage}: study {name!r} is of a later release (schema {schema}, here {SCHEMA})",
                hint="pip install --upgrade tunegraph",
            )
        if not isinstance(content, dict) or schema != SCHEMA:
            raise InputError(
                f"{self.storage}: study {name!r} was not made by a search of this version",
                hint="its trials can be ingested: tunegraph ingest",
            )
        self.metadata = SearchMetadata.from_json(content)
        self.sources = sources_from_json(attributes.get(SOURCES) or [])

    @classmethod
    def create(
        cls,
        storage: str,
        *,
        name: str,
        objectives: Sequence[Objective],
        metadata: SearchMetadata,
        record: Mapping[str, object],
        sources: Iterable[SourceTable] = (),
        patience_s: float = PATIENCE_S,
    ) -> Self:
        """Begin a search.

        Args:
            storage: File or URL.
            name: Of the study.
            objectives: What decides.
            metadata: What the search needs to go on.
            record: The part that the records of all its cases share: problem, hardware, source.
            sources: Tables of similar problems that it starts from.
            patience_s: How long to wait for a storage that is away.

        Raises:
            InputError: There is a search of this name already.
            WorkspaceError: The storage cannot be reached.
            MissingDependencyError: Optuna is not installed.
        """
        optuna = load_optuna()
        if not is_url(storage) and not Path(storage).parent.is_dir():
            raise InputError(f"{storage}: there is no folder {Path(storage).parent}")
        backend = open_backend(storage, create=True, patience_s=patience_s)
        place = hide_password(storage)
        already = InputError(
            f"{place} holds a search named {name!r} already",
            hint=f"go on with it: tunegraph search resume {place}; or --log another, or --name",
        )
        directions = [
            optuna.study.StudyDirection.MINIMIZE
            if item.better is Better.LOWER
            else optuna.study.StudyDirection.MAXIMIZE
            for item in objectives
        ]

        def begin() -> int:
            with exclusive(backend, storage, name):
                study_id = study_names(backend, storage, patience_s).get(name)
                if study_id is None:
                    try:
                        study_id = int(backend.create_new_study(directions, name))
                    except optuna.exceptions.DuplicatedStudyError:  # begun by another program meanwhile
                        raise already from None
                elif not _was_left(backend, study_id, directions):
                    raise already
                backend.set_study_system_attr(study_id, METRIC_NAMES, [item.metric for item in objectives])
                for key, content in (
                    (RECORD_ATTRIBUTE, dict(record)),
                    (SOURCES, sources_to_json(sources)),
                    (OWN, {**metadata.to_json(), "schema": SCHEMA}),  # last: without it it was never begun
                ):
                    backend.set_study_user_attr(study_id, key, content)
                return study_id

        study_id = patient(begin, storage, patience_s)
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
        if not is_url(storage) and not Path(storage).is_file():
            raise InputError(f"no search at {storage}", hint="begin one: tunegraph search run FILE")
        backend = open_backend(storage, create=False, patience_s=patience_s)
        names = study_names(backend, storage, patience_s)
        if not name and len(names) == 1:
            name = next(iter(names))
        if name not in names:
            hint = f"--name one of: {', '.join(sorted(names)[:20])}" if names else "it is empty"
            raise InputError(
                f"{hide_password(storage)} holds no search named {name!r}"
                if name
                else f"{hide_password(storage)}: which search?",
                hint=hint,
            )
        return cls(storage, backend, names[name], name, patience_s=patience_s)

    def trials(self) -> list[LoggedTrial]:
        """All trials, by number."""
        found = self._do(lambda: self._backend.get_all_trials(self._id, deepcopy=False))
        trials = [self._ended.get(item.number) or trial_from_optuna(item) for item in found]
        self._ended.update((item.number, item) for item in trials if item.evaluation is not None)
        return trials

    @property
    def is_shared(self) -> bool:
        """True where workers on other machines may take part, which show that they live by ``beat``."""
        return is_server(self._url)

    def exclusively(self, action: Callable[[], T]) -> T:
        """Do something while no other worker does the like: read what there is, choose, write it down.

        Where the storage goes away in the middle, ``action`` is done again from its beginning.
        """
        if self._is_exclusive:
            return action()

        def once() -> T:
            with exclusive(self._backend, self._url, self.name):
                self._is_exclusive = True
                try:
                    return action()
                finally:
                    self._is_exclusive = False

        return patient(once, self._url, self.patience_s)

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
        optuna = load_optuna()
        configuration = suggestion.configuration
        template = optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            params=configuration.to_json(),
            distributions=distributions(space, configuration),
            user_attrs={OWN: noted, **self._beat()},
        )

        def make() -> Any:
            return self._backend.get_trial(self._backend.create_new_trial(self._id, template))

        return trial_from_optuna(self._do(make))

    def claim(self, trial: LoggedTrial, *, owner: str, until: float | None) -> LoggedTrial | None:
        """Take a waiting trial; None if somebody else was faster."""
        expected = None if trial.expected is None else list(trial.expected)
        noted = {"origin": trial.origin, "owner": owner, "until": until, "expected": expected}

        def take() -> LoggedTrial | None:
            if self._now(trial).state != "WAITING":
                return None
            self._set_state(trial, "RUNNING")
            self._set(trial, {OWN: noted, **self._beat()})
            return self._now(trial)

        return self.exclusively(take)

    def requeue(self, trial: LoggedTrial, *, is_ours: bool = False) -> bool:
        """Put a trial that nobody evaluates any more back in the queue; False if somebody does, or did.

        Args:
            trial: As it was read when its worker was found to be gone.
            is_ours: It is this worker's, who gives it up.
        """

        def put_back() -> bool:
            now = self._now(trial)
            if now.state != "RUNNING" or now.owner != trial.owner or not (is_ours or now.beat == trial.beat):
                return False
            self._set_state(trial, "WAITING")
            return True

        return self.exclusively(put_back)

    def beat(self, trial: LoggedTrial) -> None:
        """Show that the worker of a trial lives; from a thread of its own, and without patience.

        Raises:
            Exception: Whatever the storage says where it is away or the trial has ended.
        """
        self._set(trial, self._beat())

    def finish(
        self,
        trial: LoggedTrial,
        evaluation: Evaluation,
        outcome: RunOutcome,
        *,
        objectives: Sequence[Objective],
        elapsed_s: float,
    ) -> bool:
        """Write what came out; on disk when this returns.

        Returns:
            False where the trial was given to another worker meanwhile, who tells it, or something else ended
            it: nothing was written.
        """
        noted = attributes_of(trial, evaluation, outcome, objectives=objectives, elapsed_s=elapsed_s)
        values = None
        if evaluation.ok:
            state, values = "COMPLETE", evaluation.values[: len(objectives)]
        elif evaluation.status in {Status.FORBIDDEN, Status.NOT_MEASURED, Status.UNKNOWN}:
            state = "PRUNED"
        else:
            state = "FAIL"

        def write() -> bool:
            now = self._now(trial)
            if now.state not in {"RUNNING", "WAITING"}:  # written already, if only the answer was lost
                return now.evaluation is not None and now.owner == trial.owner
            if now.owner != trial.owner:
                return False
            self._set(trial, {OWN: noted, RECORD_ATTRIBUTE: {"outcomes": outcomes(evaluation)}})
            self._set_state(trial, state, values)
            return True

        return self.exclusively(write)

    def _now(self, trial: LoggedTrial) -> LoggedTrial:
        """A trial as it stands."""
        return trial_from_optuna(self._backend.get_trial(trial.trial_id))

    def _set(self, trial: LoggedTrial, attributes: Mapping[str, object]) -> None:
        for key, content in attributes.items():
            self._backend.set_trial_user_attr(trial.trial_id, key, content)

    def _set_state(self, trial: LoggedTrial, state: str, values: object = None) -> None:
        states = load_optuna().trial.TrialState
        self._backend.set_trial_state_values(trial.trial_id, getattr(states, state), values)

    def _beat(self) -> dict[str, float]:
        return {BEAT: round(time.time(), 3)} if self.is_shared else {}

    def copy_to(self, path: Path) -> None:
        """Write the search into a new journal, which every reader of files understands."""
        optuna = load_optuna()
        target = open_backend(str(path), create=True, patience_s=self.patience_s)
        self._do(
            lambda: optuna.copy_study(
                from_study_name=self.name, from_storage=self._backend, to_storage=target
            )
        )

    def amend(self, **changes: Any) -> None:
        """Change the metadata of the search, such as why it ended.

        Args:
            changes: Attributes of ``SearchMetadata``.
        """

        def write() -> None:
            content = self._backend.get_study_user_attrs(self._id)[OWN]
            self.metadata = replace(SearchMetadata.from_json(content), **changes)
            self._backend.set_study_user_attr(self._id, OWN, {**content, **self.metadata.to_json()})

        self.exclusively(write)

    def _do(self, action: Callable[[], T]) -> T:
        if self._is_exclusive:  # the whole turn is done again where the storage goes away in it
            return action()
        return patient(action, self._url, self.patience_s)


def _was_left(backend: Any, study_id: int, directions: Sequence[object]) -> bool:
    """True if a killed search left a study as it began: without metadata and trials."""
    return (
        OWN not in backend.get_study_user_attrs(study_id)
        and list(backend.get_study_directions(study_id)) == list(directions)
        and not backend.get_all_trials(study_id, deepcopy=False)
    )
