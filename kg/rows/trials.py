"""Every measured configuration of every problem: one SQLite file.

A row carries the number of its batch. A reader sees a graph that ends with some batch: it sets
``acknowledged`` to that, and rows of later batches do not exist for it.
"""

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Better, Configuration, Kind, Objective, Problem, Status, Trust
from kg.nouns.values import Settings
from kg.rows import trials_sql
from kg.rows.interning import InternedValues
from kg.rows.trial_rows import Counts, ProblemRow, Trial, TrialTable, rank, table_of, trial_of
from kg.rows.trials_file import TrialsFile, explained, open_file

EVERYTHING = 2**62
"""An ``acknowledged`` that hides no batch."""

_NO_RANK = (None, None)
_BETTER = {item.value: item for item in Better}


class TrialStore:
    """The trials of a workspace.

    Args:
        path: The SQLite file, made if it does not exist and this is the writer.
        read_only: Read beside a writer, or from a folder nobody may write to.

    Attributes:
        acknowledged: Number of the newest batch that counts; rows of later ones are not read.

    Raises:
        WorkspaceError: Here and in every method: the file is missing, damaged, foreign, full or locked.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from kg.nouns.entities import Hardware, Measurement, Objective, Problem, Workload, WorkloadKind
        >>> from kg.rows.trial_rows import Trial
        >>> problem = Problem(
        ...     workload=Workload(kind=WorkloadKind.OPERATOR, operator="copy"),
        ...     hardware=Hardware(name="ascend-910b1"),
        ...     objective=Objective(metric="latency", better=Better.LOWER),
        ... )
        >>> trial = Trial(
        ...     configuration=Settings({"tile": 64}),
        ...     measurement=Measurement(metric="latency", unit="s", value=2e-5),
        ...     kind=Kind.MEASURED,
        ...     source_id="my-runs",
        ... )
        >>> with tempfile.TemporaryDirectory() as folder, TrialStore(Path(folder) / "t.sqlite3") as store:
        ...     store.add(1, problem, [trial])
        ...     store.operators()
        1
        ['copy']
    """

    def __init__(self, path: Path, *, read_only: bool = False, acknowledged: int = EVERYTHING) -> None:
        self.acknowledged = acknowledged
        self._file = open_file(path, read_only=read_only)
        self._interned = InternedValues(self._file)

    @property
    def file(self) -> TrialsFile:
        """The file itself, for what is asked of all problems at once."""
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything added inside one step, as ``TrialsFile.transaction`` does."""
        try:
            with self._file.transaction():
                yield
        except BaseException:  # also where the end of the step failed
            self._interned.forget()
            raise

    def add(
        self, batch: int, problem: Problem, trials: Iterable[Trial], *, problem_key: int | None = None
    ) -> int:
        """Add rows to a problem; those already there stay as they are.

        A row is the same if problem, configuration, metric, source and what came out are. Outside of
        ``transaction`` this is one transaction of its own.

        Args:
            batch: Number of the batch, marked on every new row.
            problem: The problem.
            trials: The rows, in any order.
            problem_key: Of the problem, if known.

        Returns:
            How many rows were new.
        """
        if not self._file.in_transaction:
            with self.transaction():
                return self.add(batch, problem, trials, problem_key=problem_key)
        key = self.add_problem(batch, problem) if problem_key is None else problem_key
        rows = [(key, batch, *self._row(trial, problem.objective)) for trial in trials]
        return self._file.insert(trials_sql.INSERT, rows)

    def problem_key(self, problem_id: str) -> int | None:
        """Return the integer key of a problem, here and in the vector index; None if unknown."""
        sql = "SELECT key FROM problems WHERE id = ? AND batch <= ?"
        for (key,) in self._file.read(sql, problem_id, self.acknowledged):
            return int(key)
        return None

    def keys(self, *, task_id: str | None = None) -> NDArray[np.int64]:
        """Return the keys of all problems, or of one task on any hardware, in order of arrival."""
        condition, values = ("", ()) if task_id is None else (" AND task_id = ?", (task_id,))
        sql = f"SELECT key FROM problems WHERE batch <= ?{condition} ORDER BY key"  # noqa: S608 - constants
        rows = self._file.read(sql, self.acknowledged, *values)
        return np.fromiter((row[0] for row in rows), np.int64)

    def operators(self) -> list[str]:
        """Return the operators that have problems, sorted."""
        sql = "SELECT DISTINCT operator FROM problems WHERE batch <= ? ORDER BY operator"
        return [operator for (operator,) in self._file.read(sql, self.acknowledged)]

    def families(self, at_least: int) -> list[tuple[str, str, list[int]]]:
        """Return operator, metric and problem keys wherever there are ``at_least`` timed rows, sorted."""
        rows = self._file.read(
            "SELECT operator, metric, json_group_array(DISTINCT key) FROM problems"
            " JOIN (SELECT problem, count(*) AS timed FROM trials"
            " WHERE rank = 0 AND batch <= ?1 GROUP BY problem) ON problem = key"
            " WHERE batch <= ?1 GROUP BY operator, metric HAVING sum(timed) >= ?2"
            " ORDER BY operator, metric",
            self.acknowledged,
            at_least,
        )
        return [(operator, metric, sorted(json.loads(keys))) for operator, metric, keys in rows]

    def objectives(self, operator: str) -> list[tuple[str, Better, str]]:
        """Return metric, direction and an example problem id of an operator, most frequent first."""
        rows = self._file.read(
            "SELECT metric, better, min(id) FROM problems WHERE operator = ? AND batch <= ?"
            " GROUP BY metric, better ORDER BY count(*) DESC, metric",
            operator,
            self.acknowledged,
        )
        return [(metric, Better(better), problem_id) for metric, better, problem_id in rows]

    def measured_in(self, metric: str, unit: str) -> NDArray[np.int64]:
        """Return the keys of the problems of a metric with a timed row in a unit, in order of arrival."""
        rows = self._file.read(
            "SELECT key FROM problems WHERE metric = ?2 AND batch <= ?1 AND EXISTS (SELECT 1 FROM trials"
            " WHERE problem = problems.key AND rank = 0 AND batch <= ?1 AND unit = ?3) ORDER BY key",
            self.acknowledged,
            metric,
            unit,
        )
        return np.fromiter((row[0] for row in rows), np.int64)

    def keys_of_models(self, metrics: Iterable[str]) -> list[int]:
        """The keys of the problems of whole models that are judged by one of some metrics, in order."""
        sql = (
            "SELECT key FROM problems WHERE model IS NOT NULL AND batch <= ?1"
            " AND metric IN (SELECT value FROM json_each(?2)) ORDER BY key"
        )
        return [key for (key,) in self._file.read(sql, self.acknowledged, json.dumps(sorted(metrics)))]

    def empty_problems(self) -> int:
        """Count the problems without a row; an intact store has none."""
        sql = (
            "SELECT count(*) FROM problems WHERE batch <= ?1 AND NOT EXISTS"
            " (SELECT 1 FROM trials WHERE problem = problems.key AND batch <= ?1)"
        )
        [[number]] = self._file.read(sql, self.acknowledged)
        return int(number)

    def summary(
        self, keys: Iterable[int], *, metric: str | None = None, operators: Sequence[str] | None = None
    ) -> list[ProblemRow]:
        """Return the rows of some problems, in the order of ``keys``; unknown keys are left out.

        Args:
            keys: Of the problems.
            metric: Leave out those of another; None for any.
            operators: Leave out those of others; None for any.
        """
        wanted = [int(key) for key in keys]
        rows = self._file.read(
            trials_sql.PROBLEMS,
            json.dumps(wanted),
            self.acknowledged,
            metric,
            None if operators is None else json.dumps(operators),
        )
        trusts = self._trusts([row[0] for row in rows])
        by_key = {
            key: ProblemRow(
                key=key,
                id=id_,
                task_id=task_id,
                hardware=hardware,
                count=count,
                operator=operator,
                model=model,
                metric=metric,
                better=_BETTER[better],
                origin=origin or "",
                trust=trusts.get(key, Trust.MEDIUM),
            )
            for key, id_, task_id, hardware, count, operator, model, metric, better, origin in rows
        }
        return [by_key[key] for key in wanted if key in by_key]

    def table(
        self, problem_key: int, limit: int | None = None, *, acknowledged: int | None = None
    ) -> TrialTable:
        """Return the configurations of a problem in its own metric, best first.

        Args:
            problem_key: Of the problem; an unknown one has no rows.
            limit: How many rows at most; None for all.
            acknowledged: Newest batch that counts, where it is another than the store's.
        """
        rows = self._file.read(
            trials_sql.TABLE,
            problem_key,
            self.acknowledged if acknowledged is None else acknowledged,
            -1 if limit is None else limit,
        )
        return table_of(rows)

    def failed(self, problem_key: int) -> frozenset[str]:
        """Return the digests of configurations that failed on a problem and were never timed there."""
        rows = self._file.read(trials_sql.FAILED, problem_key, self.acknowledged)
        return frozenset(row[0] for row in rows)

    def timed(self, problem_key: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the timed rows of a problem in its own metric, without their copies, best first.

        Args:
            problem_key: Of the problem; an unknown one has no rows.
            most: How many at most; of more, every n-th is taken.

        Returns:
            Ids of configurations and their costs, positive and finite, both of shape (n,).
        """
        values = problem_key, self.acknowledged
        [[number]] = self._file.read(f"SELECT count(*) FROM ({trials_sql.TIMED})", *values)  # noqa: S608 - constants
        step = max(1, -(-number // most))
        rows = self._file.read(trials_sql.EVERY_NTH, *values, step)
        return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)

    def rows(self, problem_id: str, limit: int | None = None) -> list[Trial]:
        """Return the full rows of a problem: its own metric best first, then other metrics."""
        key = self.problem_key(problem_id)
        if key is None:
            return []
        most = -1 if limit is None else limit
        rows = self._file.read(trials_sql.OWN_METRIC, key, self.acknowledged, most)
        if most < 0 or len(rows) < most:
            rows += self._file.read(
                trials_sql.OTHER_METRICS, key, self.acknowledged, max(-1, most - len(rows))
            )
        with explained(self._file.path):
            return [trial_of(row) for row in rows]

    def configurations(self, ids: Iterable[int]) -> dict[int, Configuration]:
        """Return configurations by id; unknown ids are left out."""
        return {
            key: Settings(json.loads(text))
            for key, text in self._file.read(
                "SELECT key, content FROM settings WHERE key IN (SELECT value FROM json_each(?))",
                json.dumps([int(item) for item in ids]),
            )
        }

    def configuration_id(self, configuration: Configuration) -> int | None:
        """Return the id of a configuration; None if no problem has it."""
        for (key,) in self._file.read("SELECT key FROM settings WHERE digest = ?", configuration.digest):
            return int(key)
        return None

    def costs(self, problem_key: int, configuration_ids: Sequence[int]) -> NDArray[np.float64]:
        """Return the costs of configurations on a problem; see ``TrialTable.costs``.

        Returns:
            Shape (n,): the least cost measured; inf if it only failed; nan if nothing is known.
        """
        rows = self._file.read(
            "SELECT configuration, cost FROM trials WHERE problem = ?"
            " AND configuration IN (SELECT value FROM json_each(?)) AND +rank >= 0 AND batch <= ?",
            problem_key,
            json.dumps([int(item) for item in configuration_ids]),
            self.acknowledged,
        )
        best: dict[int, float] = {}
        for key, cost in rows:
            if cost is not None:
                best[key] = min(cost, best.get(key, math.inf))
        return np.array([best.get(int(item), math.nan) for item in configuration_ids], np.float64)

    def set_trust(self, batch: int, source_id: str, trust: Trust) -> None:
        """Set the trust in a source from a batch on."""
        self._file.write(trials_sql.SET_TRUST, self._interned.word(source_id), batch, trust.value)

    def trust_of(self, source_id: str) -> Trust:
        """Return the trust in a source."""
        for (level,) in self._file.read(trials_sql.TRUST_OF, source_id, self.acknowledged):
            return Trust(level)
        return Trust.MEDIUM

    def has_gain(self, problem_key: int, trial: Trial) -> bool:
        """Return whether a row of the same problem, from any source, has the same gain of a strategy."""
        value, baseline, interned = trial.measurement.value, trial.baseline, self._interned
        if value is None or baseline is None:
            return False
        same = (interned.settings(trial.configuration), interned.word(trial.measurement.metric), float(value))
        about = (trial.strategy, trial.bottleneck, trial.kind.value, baseline.value)
        return bool(self._file.read(trials_sql.SAME_GAIN, problem_key, *same, *about))

    def _trusts(self, keys: Sequence[int]) -> dict[int, Trust]:
        """Return the lowest trust of the sources of each problem, where any source has one stated."""
        if not self._file.read("SELECT 1 FROM trust LIMIT 1"):
            return {}
        lowest: dict[int, Trust] = {}
        for key, level in self._file.read(trials_sql.TRUSTS, json.dumps(keys), self.acknowledged):
            trust = Trust(level or Trust.MEDIUM)
            if key not in lowest or trust.weight < lowest[key].weight:
                lowest[key] = trust
        return lowest

    def counts(self) -> Counts:
        """Count rows, problems and configurations; walks over all rows."""
        groups = self._file.read(
            "SELECT kind, status, count(*) FROM trials WHERE batch <= ? GROUP BY kind, status",
            self.acknowledged,
        )
        kinds = dict.fromkeys(Kind, 0)
        statuses = dict.fromkeys(Status, 0)
        with explained(self._file.path):
            for kind, status, number in groups:
                kinds[Kind(kind)] += number
                statuses[Status(status)] += number
        [[problems]] = self._file.read("SELECT count(*) FROM problems WHERE batch <= ?", self.acknowledged)
        [[configurations]] = self._file.read(
            "SELECT count(DISTINCT configuration) FROM trials WHERE batch <= ?", self.acknowledged
        )
        return Counts(
            trials=sum(kinds.values()),
            problems=problems,
            configurations=configurations,
            kinds={kind: number for kind, number in kinds.items() if number},
            statuses={status: number for status, number in statuses.items() if number},
        )

    def close(self) -> None:
        """Close the file; it is whole without its side files afterwards."""
        self._file.close()

    def add_problem(self, batch: int, problem: Problem) -> int:
        """Add a problem that is to get rows, where it is not there; return its key."""
        work, where, sought = problem.workload, problem.hardware, problem.objective
        stated = (problem.id, problem.task_id, where.name, where.count, work.operator, work.model)
        find, insert = trials_sql.FIND_PROBLEM, trials_sql.INSERT_PROBLEM
        values = (batch, *stated, sought.metric, sought.better.value)
        return self._file.find_or_insert(find, problem.id, insert, *values)

    def _row(self, trial: Trial, objective: Objective) -> tuple[object, ...]:
        measured, baseline = trial.measurement, trial.baseline
        value = None if measured.value is None else float(measured.value)
        outcome = (
            measured.status.value,
            value,
            measured.unit,
            measured.stdev,
            measured.repeats,
            measured.reason,
            measured.reported_unit,
            self._interned.settings(trial.software),
            trial.kind.value,
            trial.strategy,
            trial.bottleneck,
            baseline and baseline.value,
            baseline and self._interned.settings(baseline.configuration),
        )
        return (
            self._interned.settings(trial.configuration),
            self._interned.word(measured.metric),
            self._interned.word(trial.source_id),
            zlib.crc32(repr(outcome).encode()),
            *(rank(trial, objective) if measured.metric == objective.metric else _NO_RANK),
            *outcome,
        )
