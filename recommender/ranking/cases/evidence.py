"""The evidence of the neighbours on each candidate configuration.

S: sources (neighbours that have rows which fit the question).
C: candidate configurations, sorted by digest, so that the order in which sources come does not matter.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import LEAST_TIMED, NO_RUN, Configuration, Kind, Status
from kg.nouns.values import Settings
from kg.rows.trial_rows import TrialTable
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import Distance
from recommender.retrieval.neighbours import Neighbour

ROWS = 8192
"""Rows read for one question, over all its sources."""

LEAST_ROWS = 256
"""Rows read of each source at least."""

_REMEMBERED = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuestion:
    """The parameters that a question wants values of.

    Attributes:
        fixed: Settings that an answer must have, such as the framework in use.
        decide: Parameters to decide on; the best of the others is taken. Empty means all.
    """

    fixed: Configuration = field(default_factory=Settings)
    decide: tuple[str, ...] = ()

    def answer(self, configuration: Configuration, *, relaxed: bool = False) -> Configuration | None:
        """Return the part of a configuration that answers the question; None if it does not.

        Args:
            configuration: What a source has.
            relaxed: Take one that breaks what is fixed for what it would be with it.
        """
        if self.fixed and not relaxed and any(configuration.get(n) != v for n, v in self.fixed.items()):
            return None
        if not self.decide:
            return Settings({**configuration, **self.fixed}) if relaxed else configuration
        if not any(name in configuration for name in self.decide):
            return None
        kept = {name: value for name, value in configuration.items() if name in self.decide}
        return Settings({**kept, **self.fixed})


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateEvidence:
    """Candidates and what each source says of them.

    Attributes:
        candidates: C configurations.
        sources: S neighbours.
        ratios: Log cost over the source's best, shape (S, C); nan where the source has no time.
        failed: Where it was tried and did not run, shape (S, C).
        votes: Where the source publishes it as its choice without a time, shape (S, C).
        relaxed: Whether the source has what is fixed otherwise, such as another framework, shape (S,).
    """

    candidates: tuple[Configuration, ...]
    sources: tuple[Neighbour, ...]
    ratios: NDArray[np.float64]
    failed: NDArray[np.bool_]
    votes: NDArray[np.bool_]
    relaxed: NDArray[np.bool_]

    @property
    def timed(self) -> NDArray[np.bool_]:
        """True for each source that compares configurations by cost, shape (S,)."""
        compares: NDArray[np.bool_] = np.isfinite(self.ratios).sum(axis=1) >= 2
        return compares


class ConfigurationReader:
    """Reads configurations once and remembers them."""

    def __init__(self, trials: TrialStore) -> None:
        self._trials = trials
        self._known: dict[int, Configuration] = {}

    def __call__(self, ids: Sequence[int]) -> Mapping[int, Configuration]:
        """Return configurations by id: all of ``ids``, and possibly more."""
        unknown = [item for item in ids if item not in self._known]
        if unknown:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
                unknown = list(ids)
            self._known.update(self._trials.configurations(unknown))
        return self._known


def gather(
    neighbours: Sequence[Neighbour], question: CaseQuestion, trials: TrialStore, read: ConfigurationReader
) -> CandidateEvidence:
    """Read the neighbours' rows and put them side by side.

    Args:
        neighbours: The sources to ask.
        question: What is fixed and what is to be decided.
        trials: Where the rows are.
        read: Reads configurations.
    """
    limit = max(LEAST_ROWS, ROWS // max(1, len(neighbours)))
    own = [item.same_task and item.device is Distance.SAME_DEVICE for item in neighbours]
    tables = [
        trials.table(item.problem.key, ROWS if is_own else limit)
        for item, is_own in zip(neighbours, own, strict=True)
    ]
    ids = sorted({int(item) for table in tables for item in table.configuration_ids})
    configurations = read(ids)
    answers = {item: question.answer(configurations[item]) for item in ids if item in configurations}
    others: dict[int, Configuration | None] = {}
    if question.fixed:
        others = {
            item: question.answer(configurations[item], relaxed=True)
            for item in ids
            if item in configurations
        }
    candidates = sorted(
        {a for a in (*answers.values(), *others.values()) if a is not None}, key=lambda item: item.digest
    )
    column = {item: place for place, item in enumerate(candidates)}
    strict = {item: column[answer] for item, answer in answers.items() if answer is not None}
    loose = {item: column[answer] for item, answer in others.items() if answer is not None}
    rows: list[_Row] = []
    sources: list[Neighbour] = []
    relaxed: list[bool] = []
    for neighbour, table, is_own in zip(neighbours, tables, own, strict=True):
        # a source speaks with rows that keep what is fixed; only where it has none, with those that do not
        for loosely, place_of in ((False, strict), (True, loose)):
            row = _row(table, place_of, len(candidates), mean=is_own) if place_of else None
            if row is not None and row.any:
                rows.append(row)
                sources.append(neighbour)
                relaxed.append(loosely)
                break
    shape = (0, len(candidates))
    return CandidateEvidence(
        candidates=tuple(candidates),
        sources=tuple(sources),
        ratios=np.stack([row.ratios for row in rows]) if rows else np.zeros(shape),
        failed=np.stack([row.failed for row in rows]) if rows else np.zeros(shape, np.bool_),
        votes=np.stack([row.votes for row in rows]) if rows else np.zeros(shape, np.bool_),
        relaxed=np.array(relaxed, np.bool_),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    ratios: NDArray[np.float64]
    failed: NDArray[np.bool_]
    votes: NDArray[np.bool_]

    @property
    def any(self) -> bool:
        return bool(np.isfinite(self.ratios).any() or self.failed.any() or self.votes.any())


def _row(table: TrialTable, place_of: Mapping[int, int], n: int, *, mean: bool) -> _Row:
    """One table's row; of the very question the mean of a configuration's repeats, else its best release.

    A best that stands far apart from all others counts once it is measured again.
    """
    least, logs, repeats = np.full(n, np.inf), np.zeros(n), np.zeros(n)
    failed, votes = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for item, cost, status, kind in zip(
        table.configuration_ids.tolist(), table.costs.tolist(), table.statuses, table.kinds, strict=True
    ):
        place = place_of.get(item)
        if place is None:
            continue
        if kind in {Kind.WINNER, Kind.TARGET} or (status is Status.OK and not cost > 0):
            votes[place] = True
        elif status is Status.OK and kind in {Kind.MEASURED, Kind.PUBLISHED, Kind.MODELLED}:
            least[place] = min(least[place], cost)
            logs[place] += math.log(cost)
            repeats[place] += 1
        elif status.cannot_run:
            failed[place] = True
    timed = np.isfinite(least)
    ratios = np.full(n, np.nan)
    if mean:
        least[timed] = np.exp(logs[timed] / repeats[timed])
    if np.count_nonzero(timed) >= LEAST_TIMED:
        best, following = np.argpartition(least, 1)[:2].tolist()
        timed[best] = repeats[best] > 1 or least[following] <= NO_RUN * least[best]
    if timed.any():
        ratios[timed] = np.log(least[timed] / least[timed].min())
    return _Row(ratios, failed & ~timed, votes)
