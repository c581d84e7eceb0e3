"""Two trial stores side by side: which rows of the other are new, and which contradict ours.

A row is the same in two stores if problem, configuration, metric, source and everything that came out are.
It contradicts ours if the source is said to have given another value for the same.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kg.errors import WorkspaceError

LISTED = 100
"""Contradictions that are told one by one; the others are counted."""

_OF_THEIRS = """
    FROM theirs.trials AS t
    JOIN theirs.problems AS problem ON problem.key = t.problem
    JOIN theirs.settings AS configuration ON configuration.key = t.configuration
    JOIN theirs.settings AS software ON software.key = t.software
    JOIN theirs.words AS metric ON metric.key = t.metric
    JOIN theirs.words AS source ON source.key = t.source
    LEFT JOIN ours.problems AS p ON p.id = problem.id AND p.batch <= :ours
    LEFT JOIN ours.settings AS c ON c.digest = configuration.digest
    LEFT JOIN ours.words AS m ON m.text = metric.text
    LEFT JOIN ours.words AS s ON s.text = source.text
"""
_IN_OURS = """
    SELECT 1 FROM ours.trials AS o WHERE o.problem = p.key AND o.configuration = c.key AND o.metric = m.key
    AND o.source = s.key AND o.batch <= :ours
"""
_SAME = """
    AND o.status = t.status AND o.value IS t.value AND o.stdev IS t.stdev AND o.repeats IS t.repeats
    AND o.reason = t.reason AND o.kind = t.kind AND o.strategy = t.strategy AND o.bottleneck = t.bottleneck
    AND o.baseline IS t.baseline
    AND (SELECT digest FROM ours.settings WHERE key = o.software) = software.digest
"""
_COUNTS = f"""
    SELECT count(*), count(DISTINCT CASE WHEN p.key IS NULL THEN problem.id END),
           count(CASE WHEN NOT EXISTS ({_IN_OURS} {_SAME}) THEN 1 END)
    {_OF_THEIRS} WHERE t.batch <= :theirs AND t.batch > :since
"""
_CONTRADICTIONS = f"""
    SELECT problem.id, problem.operator, problem.hardware, configuration.content, metric.text, source.text,
           t.value, t.status, o.value, o.status
    {_OF_THEIRS}
    JOIN ours.trials AS o ON o.problem = p.key AND o.configuration = c.key AND o.metric = m.key
         AND o.source = s.key AND o.batch <= :ours
    WHERE t.batch <= :theirs AND t.batch > :since AND o.value IS NOT t.value
    AND NOT EXISTS (
        SELECT 1 FROM ours.trials AS same WHERE same.problem = p.key AND same.configuration = c.key
        AND same.metric = m.key AND same.source = s.key AND same.value IS t.value AND same.batch <= :ours
    )
    AND NOT EXISTS (
        SELECT 1 FROM theirs.trials AS other WHERE other.problem = t.problem
        AND other.configuration = t.configuration AND other.metric = t.metric AND other.source = t.source
        AND other.value IS o.value
    )
"""  # noqa: S608  constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A row that has another value in the other store.

    Attributes:
        problem: Id of the problem.
        operator: Its operator.
        hardware: Its hardware.
        configuration: As canonical JSON.
        metric: The measured metric.
        source: Id of the source.
        ours: Value here; what became of it if it has none.
        theirs: Value there.
    """

    problem: str
    operator: str
    hardware: str
    configuration: str
    metric: str
    source: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreComparison:
    """The rows and problems that another trial store would add.

    Attributes:
        rows: Rows that it has.
        new_rows: Those that are not here.
        new_problems: Problems that are not here.
        contradictions: The first of the rows that have another value here; both are kept.
        contradiction_count: How many there are.
    """

    rows: int
    new_rows: int
    new_problems: int
    contradictions: tuple[Contradiction, ...]
    contradiction_count: int


def compare(ours: Path, theirs: Path, *, acknowledged: tuple[int, int], since: int = 0) -> StoreComparison:
    """Set the rows of another store against ours.

    Args:
        ours: Our SQLite file.
        theirs: The other's.
        acknowledged: The newest batch that counts in each.
        since: Batch of the other after which its rows count.

    Raises:
        WorkspaceError: One of them cannot be read.
    """
    given = {"ours": acknowledged[0], "theirs": acknowledged[1], "since": since}
    try:
        with closing(sqlite3.connect(":memory:", uri=True)) as connection:
            _attach(connection, "ours", ours)
            _attach(connection, "theirs", theirs)
            rows, problems, new = connection.execute(_COUNTS, given).fetchone()
            count = 0
            listed: list[Contradiction] = []
            for row in connection.execute(_CONTRADICTIONS, given):
                count += 1
                if len(listed) < LISTED:
                    listed.append(_contradiction(row))
    except sqlite3.Error as error:
        raise WorkspaceError(f"{theirs} cannot be set beside {ours}: {error}") from error
    return StoreComparison(
        rows=rows,
        new_rows=new,
        new_problems=problems,
        contradictions=tuple(listed),
        contradiction_count=count,
    )


def _attach(connection: sqlite3.Connection, name: str, path: Path) -> None:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        connection.execute(f"ATTACH ? AS {name}", (address,))
        connection.execute(f"SELECT 1 FROM {name}.problems LIMIT 1")  # noqa: S608  a constant
    except sqlite3.OperationalError:  # no side files where nobody may write
        connection.execute(f"DETACH {name}")
        connection.execute(f"ATTACH ? AS {name}", (f"{address}&immutable=1",))


def _contradiction(row: tuple[object, ...]) -> Contradiction:
    problem, operator, hardware, configuration, metric, source, value, status, our_value, our_status = row
    return Contradiction(
        problem=str(problem),
        operator=str(operator),
        hardware=str(hardware),
        configuration=str(configuration),
        metric=str(metric),
        source=str(source),
        ours=str(our_status if our_value is None else our_value),
        theirs=str(status if value is None else value),
    )
