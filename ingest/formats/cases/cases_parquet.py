"""Cases as one Parquet table with the columns of :mod:`ingest.door.flat_cases`; needs pyarrow.

A column whose cells are all whole numbers, all numbers or all true or false is of that type; any other one is
text, with what is not a plain word as JSON.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from ingest.door.flat_cases import NEEDED, CaseRows, cell, record_of, value_of
from ingest.door.records import RecordError
from ingest.files.content import ContentError
from ingest.formats.format import Format
from kg.errors import Fault, MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case

MAXIMUM_BYTES = 1 << 30
MAXIMUM_ROWS = 50_000_000
"""A small file can claim any number of equal rows."""
BATCH = 4096
_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 1 << 20}
_INSTALL = "pip install 'tunegraph[parquet]'"


def sniff(head: Head) -> bool:
    """True if it is a Parquet file that is no other format's."""
    is_other = head.name.endswith("_perf.parquet")
    return head.content.startswith(b"PAR1") and head.name.endswith(".parquet") and not is_other


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The case of each row.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as missing:
        raise MissingDependencyError(
            f"{content.path}: reading Parquet needs pyarrow", hint=_INSTALL
        ) from missing
    number = 0
    try:
        data = arrow.BufferReader(content.read_all(MAXIMUM_BYTES))
        with parquet.ParquetFile(data, **_LIMITS) as file:
            if absent := set(NEEDED) - set(file.schema_arrow.names):
                yield Fault(place="", reason=f"no table of cases: it has no column {min(absent)}")
                return
            if file.metadata.num_rows > MAXIMUM_ROWS:
                yield Fault(place="", reason=f"{file.metadata.num_rows} rows, more than any table has")
                return
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield _case(row, f"row {number}", records)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
    except (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError) as fault:
        reason = str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__
        yield Fault(place=f"after row {number}", reason=f"no Parquet: {reason}")


def write(cases: Iterable[Case], stream: IO[bytes]) -> int:
    """Write the table; returns how many rows.

    Args:
        cases: The cases.
        stream: The file.

    Raises:
        MissingDependencyError: pyarrow is not installed.
        InputError: A parameter whose name no header can hold.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as missing:
        raise MissingDependencyError("writing Parquet needs pyarrow", hint=_INSTALL) from missing
    types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    number = 0
    with CaseRows(cases) as rows, ExitStack() as closed:
        kinds = {name: _kind(seen) for name, seen in rows.columns.items()}
        schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
        writer = closed.enter_context(parquet.ParquetWriter(stream, schema, compression="zstd"))
        left = iter(rows)
        while batch := list(islice(left, BATCH)):
            number += len(batch)
            arrays = [
                arrow.array(
                    [
                        None if name not in row else cell(row[name]) if kind is str else row[name]
                        for row in batch
                    ],
                    types[kind],
                )
                for name, kind in kinds.items()
            ]
            writer.write_batch(arrow.record_batch(arrays, schema=schema))
    return number


def _case(row: dict[str, Any], place: str, records: Records) -> Case | Fault:
    try:
        cells = {name: _plain(name, value) for name, value in row.items() if value is not None}
        plain = {
            name: value_of(value) if isinstance(value, str) else value
            for name, value in cells.items()
            if value != ""
        }
        return records.case(record_of(plain))
    except RecordError as fault:
        return Fault(place=place, reason=str(fault))
    except ValueError as fault:
        return Fault(place=place, reason=str(fault)[:200])


def _plain(name: str, value: object) -> object:
    """A cell; bytes are the text that they write, since not every tool marks its texts as such.

    Raises:
        ValueError: It is of a type that no case has, such as a time.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{name}: bytes that are no text") from None
    if isinstance(value, str | bool | int | float | list | dict):
        return value
    raise ValueError(f"{name}: a {type(value).__name__} is no text, number or truth value")


def _kind(seen: set[type]) -> type:
    if seen == {bool}:
        return bool
    if seen == {int}:
        return int
    return float if seen <= {int, float} else str


FORMAT = Format(
    name="cases-parquet",
    title="cases as Parquet (task.op, config.., outcome..)",
    sniff=sniff,
    read=read,
)
