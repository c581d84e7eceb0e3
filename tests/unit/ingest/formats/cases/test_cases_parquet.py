"""Cases as Parquet tables."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.exporting import write_file
from tests.samples.readings import Reader
from tests.samples.rich_cases import rich_cases, untimed


def test_a_parquet_table_has_numbers_as_numbers(tmp_path: Path, names: NameResolver) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "cases.parquet"
    cases = [
        untimed(names, size, config={"warps": 4 + size, "share": size / 7, "on": True}) for size in (1, 2)
    ]
    with path.open("wb") as stream:
        write_file("parquet", cases, stream)
    types = {field.name: str(field.type) for field in parquet.read_schema(path)}
    assert [types[f"config.{name}"] for name in ("warps", "share", "on")] == ["int64", "double", "bool"]
    assert types["task.op"] == "string"


@pytest.mark.parametrize("stamped", [False, True])
def test_texts_that_a_parquet_table_has_as_bytes_are_texts_and_times_are_told(
    tmp_path: Path, names: NameResolver, read_file: Reader, stamped: bool
) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "cases.parquet"
    with path.open("wb") as stream:
        write_file("parquet", rich_cases(names), stream)
    table = parquet.read_table(path)
    for place, field in enumerate(table.schema):
        if field.type == arrow.string():
            table = table.set_column(place, field.name, table.column(place).cast(arrow.binary()))
    if stamped:
        when = arrow.array([0] * len(table), arrow.timestamp("s"))
        table = table.append_column("config.when", when)
    parquet.write_table(table, path)
    cases, report = read_file(path)
    if stamped:
        assert not cases
        assert "when: a datetime is no" in report.faults[0].reason
    else:
        assert cases == rich_cases(names)
        assert not report.faults


def test_a_parquet_file_of_something_else_is_told(tmp_path: Path, read_file: Reader) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "other.parquet"
    parquet.write_table(arrow.table({"a": [1]}), path)
    cases, report = read_file(path)
    assert cases == []
    assert "no column" in report.faults[0].reason


# -- answers -------------------------------------------------------------------------------------
