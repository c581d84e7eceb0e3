"""Tables of ``study.trials_dataframe().to_csv``: a trial a row, parameters in ``params_*``.

Neither the study's name nor the direction is in it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import parse_number
from ingest.formats.trackers.optuna_study import STATES, OptunaTrial, Study, study_cases
from kg.errors import Fault
from kg.nouns.entities import Case

_VALUE = re.compile(r"value|values_(\w+)")


def sniff(head: Head) -> bool:
    """True if its columns are those of a study."""
    header = header_of(head.text)
    return {"number", "state"} <= set(header) and any(name.startswith("params_") for name in header)


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The trials in the file."""
    rows = csv_rows(content)
    header: list[str] = []
    first: list[tuple[str, dict[str, str] | Fault]] = []
    for place, row in rows:
        if not isinstance(row, Fault):
            first.append((place, row))
            header = list(row)
            break
        yield row
    if not first:
        return
    columns = [name for name in header if _VALUE.fullmatch(name)]
    if not columns:
        yield Fault(place="line 1", reason="no column value or values_0")
        return
    names = [match[1] for name in columns if (match := _VALUE.fullmatch(name)) is not None and match[1]]
    named = [name for name in names if not name.isdigit()]
    study = Study(
        name="",
        directions=["lower"] * len(columns),
        metric_names=named if len(named) == len(columns) else [],
    )
    records.guess("the direction is not in the table; taken as minimised, which is Optuna's default")
    trials = _trials(chain(first, rows), columns)
    yield from study_cases(study, trials, records, path=content.reference, hints=[content.path.stem])


def _trials(
    rows: Iterable[tuple[str, dict[str, str] | Fault]],
    columns: list[str],
) -> Iterator[OptunaTrial | Fault]:
    for place, row in rows:
        if isinstance(row, Fault):
            yield row
            continue
        state = row["state"].removeprefix("TrialState.")
        try:
            if state not in STATES:
                raise ContentError(f"state {state[:40]!r} is unknown")
            yield OptunaTrial(
                number=int(parse_number(row["number"], "number")),
                state=state,
                parameters={
                    name.removeprefix("params_"): parse_value(cell)
                    for name, cell in row.items()
                    if name.startswith("params_") and cell
                },
                values={
                    at: parse_number(row[name], name) if row[name] else None
                    for at, name in enumerate(columns)
                },
                attributes={
                    name.removeprefix("user_attrs_"): cell
                    for name, cell in row.items()
                    if name.startswith("user_attrs_") and cell
                },
            )
        except (ValueError, OverflowError) as fault:
            yield Fault(place=place, reason=str(fault))


FORMAT = Format(
    name="optuna-dataframe",
    title="Optuna trials as CSV (number, state, params_..)",
    sniff=sniff,
    read=read,
)
