"""Rows and tables that say again what another source or device said before.

Within a problem, the same configuration with exactly the same value from another source is a copy: tables
show it once (``TrialStore.table``), effects count it once. Across devices, two devices that agree to the last
digit in more rows than chance explains have, in so far, one measurement between them under two names.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from hashlib import blake2b
from itertools import combinations
from typing import Any

from kg.rows.trials import TrialStore
from kg.rows.trials_file import TrialsFile

LEAST_EQUAL = 3
"""Timed rows that must agree to the last digit, where nearly all that two devices share do."""
LEAST_EQUAL_IN_PART = 10
"""The same where a part of the rows is enough: tables that were copied in part, for one framework say."""
LEAST_WINNERS = 8
"""Choices without times that must agree; two tunings may well choose the same now and then."""
LEAST_CHOICES = 4
"""Different choices among those: tables that name one default everywhere are no copies."""
SHARE = 0.9
"""Least equal part, of the rows that two devices share, that shows a copied table."""
SHARE_IN_PART = 0.25
"""The same if a part was copied. Measured tables of two devices agree in about one row of a thousand."""

# Rows that several devices have alike: their number is small, so pairs of devices are made outside of SQL.
_ALIKE = """
    SELECT p.operator, p.metric, t.rank, t.configuration, group_concat(DISTINCT p.hardware)
    FROM problems AS p JOIN trials AS t INDEXED BY best_first ON t.problem = p.key AND t.rank IN (0, 1)
    WHERE p.operator IN (SELECT value FROM json_each(?1)) AND p.batch <= ?2 AND t.batch <= ?2
    GROUP BY p.task_id, p.count, t.rank, t.configuration, t.cost HAVING count(DISTINCT p.hardware) > 1
"""
_SIZES = """
    SELECT p.operator, p.metric, p.task_id, p.count, p.hardware, min(p.key), sum(t.rank = 0), sum(t.rank = 1)
    FROM problems AS p JOIN trials AS t INDEXED BY best_first ON t.problem = p.key AND t.rank IN (0, 1)
    WHERE p.operator IN (SELECT value FROM json_each(?1)) AND p.batch <= ?2 AND t.batch <= ?2
    GROUP BY p.operator, p.metric, p.task_id, p.count, p.hardware
"""


_MARKS = "SELECT * FROM copied_devices WHERE operator <> '' ORDER BY operator, metric, device"
_SUM = "INSERT OR REPLACE INTO copied_devices VALUES ('', '', '', ?, 0, 0)"
"""The row that has the digest of the others; workspaces of earlier programs have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedDevice:
    """A device whose tables are those of another.

    Attributes:
        operator: Operator of the tables.
        metric: What they decide by.
        device: Id of the device.
        origin: Id of the device that came first; which of the two was measured nobody says.
        rows: Rows that both have alike.
        shared: Rows that both could have alike.
    """

    operator: str
    metric: str
    device: str
    origin: str
    rows: int
    shared: int


def mark_copied_devices(trials: TrialStore, operators: Iterable[str]) -> None:
    """Look for copied devices among the tables of some operators, and remember them; for the writer."""
    wanted = json.dumps(sorted(set(operators)))
    copies = list(_find(trials, wanted))
    with trials.file.transaction():
        trials.file.write(
            "DELETE FROM copied_devices WHERE operator IN (SELECT value FROM json_each(?))", wanted
        )
        trials.file.insert(
            "INSERT INTO copied_devices VALUES (?, ?, ?, ?, ?, ?)", [astuple(item) for item in copies]
        )
        trials.file.write(_SUM, _digest(trials.file))


def marks_fault(file: TrialsFile) -> str:
    """The fault of the marks of copied devices, if they changed since they were written; else empty."""
    for (digest,) in file.read("SELECT origin FROM copied_devices WHERE operator = ''"):
        if digest != _digest(file):
            return "the index of copied devices is not what was written"
    return ""


def _digest(file: TrialsFile) -> str:
    return blake2b(repr(file.read(_MARKS)).encode(), digest_size=16).hexdigest()


def copied_devices(trials: TrialStore) -> list[CopiedDevice]:
    """Return the devices whose tables are marked as copies of another device's."""
    names = [item.name for item in fields(CopiedDevice)]
    return [CopiedDevice(**dict(zip(names, row, strict=True))) for row in trials.file.read(_MARKS)]


@dataclass(slots=True)
class _Pair:
    """The rows that two devices share, timed and untimed, and how many they could share."""

    equal: list[int] = field(default_factory=lambda: [0, 0])
    shared: list[int] = field(default_factory=lambda: [0, 0])
    choices: set[int] = field(default_factory=set)

    @property
    def is_copy(self) -> bool:
        """True if chance does not explain the agreement."""
        timed, untimed = self.equal
        if timed >= LEAST_EQUAL and timed >= SHARE * self.shared[0]:
            return True
        if timed >= LEAST_EQUAL_IN_PART and timed >= SHARE_IN_PART * self.shared[0]:
            return True
        return (
            untimed >= LEAST_WINNERS
            and untimed >= SHARE * self.shared[1]
            and len(self.choices) >= LEAST_CHOICES
        )


def _find(trials: TrialStore, operators: str) -> Iterator[CopiedDevice]:
    pairs: dict[tuple[str, str], dict[tuple[str, str], _Pair]] = defaultdict(lambda: defaultdict(_Pair))
    for operator, metric, rank, configuration, devices in trials.file.read(
        _ALIKE, operators, trials.acknowledged
    ):
        for couple in combinations(sorted(devices.split(",")), 2):
            pair = pairs[operator, metric][couple]
            pair.equal[rank] += 1
            if rank:
                pair.choices.add(configuration)
    if not pairs:
        return
    first: dict[tuple[str, str, str], int] = {}
    tasks: dict[tuple[object, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for operator, metric, task, count, device, key, timed, untimed in trials.file.read(
        _SIZES, operators, trials.acknowledged
    ):
        tasks[operator, metric, task, count].append((device, timed, untimed))
        about = operator, metric, device
        first[about] = min(key, first.get(about, key))
    for (operator, metric, *_), sizes in tasks.items():
        by_devices = pairs.get((str(operator), str(metric)), {})
        for one, other in combinations(sorted(sizes), 2):
            match = by_devices.get((one[0], other[0]))
            if match is not None:
                match.shared[0] += min(one[1], other[1])
                match.shared[1] += min(one[2], other[2])
    for (operator, metric), couples in pairs.items():
        copies = [
            (*sorted((first[operator, metric, device], device) for device in couple), pair)
            for couple, pair in couples.items()
            if pair.is_copy
        ]
        yield from _with_origins(operator, metric, copies)


def _with_origins(operator: str, metric: str, copies: list[Any]) -> Iterator[CopiedDevice]:
    origins: dict[str, str] = {}
    for (_, older), (_, newer), pair in sorted(copies, key=lambda item: item[:2]):
        if newer not in origins:
            origins[newer] = origins.get(older, older)
            yield CopiedDevice(
                operator=operator,
                metric=metric,
                device=newer,
                origin=origins[newer],
                rows=sum(pair.equal),
                shared=sum(pair.shared),
            )
