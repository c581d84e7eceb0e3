"""Optuna studies in an SQLite file, opened read-only and as immutable: nothing is locked or changed."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.sniffing import Head
from ingest.files.sqlite_file import ComputedContentError, open_untrusted, tables
from ingest.formats.format import Format
from ingest.formats.trackers.optuna_study import OptunaTrial, Study, decode, study_cases
from kg.errors import Fault
from kg.nouns.entities import Case

_MAGIC = b"SQLite format 3\x00"
_TABLES = {
    *("studies", "study_directions", "study_user_attributes", "study_system_attributes"),
    *("trials", "trial_params", "trial_values", "trial_user_attributes"),
}
_BROKEN = (sqlite3.Error, UnicodeDecodeError, ContentError)
"""Errors of a damaged file; SQLite's message about a damaged schema may quote bytes that are no text."""
_TRIALS = """
SELECT trial_id, number, state FROM trials WHERE study_id = ? ORDER BY number, trial_id
"""


def sniff(head: Head) -> bool:
    """True if it is an SQLite file with Optuna's tables."""
    if head.compressed or not head.content.startswith(_MAGIC):
        return False
    try:
        _open(head.path).close()
    except ComputedContentError:
        return all(name.encode() in head.content for name in _TABLES)  # then reading it says what is wrong
    except _BROKEN:
        return False
    return True


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The trials of all studies."""
    path = content.path
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size > 0:
        yield Fault(place="", reason=f"{log.name} beside it holds trials that are not in it: close the study")
    try:
        with closing(_open(path)) as database:
            for study_id, study in _studies(database):
                yield from study_cases(
                    study, _trials(database, study_id, study.place), records, path=content.reference
                )
    except _BROKEN as fault:
        yield Fault(place="", reason=f"no database of Optuna: {str(fault)[:200]}")


def _open(path: Path) -> sqlite3.Connection:
    """Open a database that has Optuna's tables.

    Raises:
        ContentError: It computes what it says, or a table is missing, or is something else by its name.
    """
    database = open_untrusted(path)
    if missing := sorted(_TABLES - set(tables(database))):
        database.close()
        raise ContentError(f"without the table {missing[0]}")
    return database


def _studies(database: sqlite3.Connection) -> list[tuple[int, Study]]:
    studies = []
    for study_id, name in database.execute("SELECT study_id, study_name FROM studies ORDER BY study_id"):
        directions = [
            "higher" if direction == "MAXIMIZE" else "lower"
            for (direction,) in database.execute(
                "SELECT direction FROM study_directions WHERE study_id = ? ORDER BY objective", (study_id,)
            )
        ]
        attributes = _attributes(database, "study_user_attributes", "study_id", study_id)
        system = _attributes(database, "study_system_attributes", "study_id", study_id)
        names = system.get("study:metric_names")
        study = Study(
            name=str(name),
            directions=directions,
            attributes=attributes,
            metric_names=[str(item) for item in names] if isinstance(names, list) else [],
        )
        studies.append((study_id, study))
    return studies


def _attributes(database: sqlite3.Connection, table: str, key: str, owner: int) -> dict[str, object]:
    """User or system attributes of a study or trial; ``table`` and ``key`` are constants of this module."""
    query = f'SELECT "key", value_json FROM {table} WHERE {key} = ? ORDER BY 1'  # noqa: S608
    found: dict[str, object] = {}
    for name, raw in database.execute(query, (owner,)):
        try:
            found[str(name)] = json.loads(raw)
        except (ValueError, TypeError, RecursionError):
            found[str(name)] = str(raw)[:500]
    return found


def _trials(database: sqlite3.Connection, study_id: int, place: str) -> Iterator[OptunaTrial | Fault]:
    columns = {str(row[1]) for row in database.execute("PRAGMA table_info(trial_values)")}
    kinds = "value_type" if "value_type" in columns else "'FINITE'"  # Optuna 2 keeps finite values alone
    values = f"SELECT objective, value, {kinds} FROM trial_values WHERE trial_id = ?"  # noqa: S608 - constants
    for trial_id, number, state in database.execute(_TRIALS, (study_id,)):
        trial = OptunaTrial(number=number if isinstance(number, int) else trial_id, state=str(state))
        try:
            for name, internal, distribution in database.execute(
                "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?"
                " ORDER BY param_id",
                (trial_id,),
            ):
                trial.parameters[str(name)] = decode(internal, str(distribution))
            for objective, value, kind in database.execute(values, (trial_id,)):
                trial.values[objective] = _value(value, kind)
            trial.attributes = _attributes(database, "trial_user_attributes", "trial_id", trial_id)
        except ContentError as fault:
            yield Fault(place=f"{place}, trial {trial.number}", reason=str(fault))
            continue
        yield trial


def _value(value: object, kind: object) -> float | None:
    if kind == "INF_POS":
        return float("inf")
    if kind == "INF_NEG":
        return float("-inf")
    return float(value) if isinstance(value, int | float) else None


FORMAT = Format(
    name="optuna",
    title="Optuna studies (SQLite)",
    sniff=sniff,
    read=read,
    beside=("*-wal",),
)
