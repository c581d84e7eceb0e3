"""Cases as Parquet tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ingest.door.records import Records
from ingest.exporting import write_file
from kg.nouns.entities import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.door.records import NameResolver
    from ingest.reading import FileReport

    Reader = Callable[[Path], tuple[list[Case], FileReport]]

RICH: tuple[dict[str, Any], ...] = (
    {},
    {"config": {}},
    {
        "config": {
            "layout": [1, "x", None],
            "unset": None,
            "flag": True,
            "share": 0.1,
            'größe, "q"': "ja\nnein",
        }
    },
    {"config": {"a.b": 1, "block": 2.5}, "software": {"cann": "8.0", "cuda": "12"}},
    {"task": {"kind": "training", "op": "pretrain", "model": "7", "shape": {"x": {"y": 1}}, "dtype": "bf16"}},
    {"hardware": {"name": "NVIDIA A100", "count": 8, "interconnect": "NVLink, 600 GB/s"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": None, "status": "failed:out of memory"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": 0.1, "status": "ok", "std": 1e-9, "n": 7}},
    {"strategy": "tile-it", "bottleneck": "memory", "baseline": {"value": 3.0, "config": {"a": [1]}}},
    {"source": {"title": "null", "note": "  two  spaces ", "path": "a.md"}, "kind": "claimed"},
    {
        "problem": {
            "limits": [{"metric": "energy", "maximum": 3, "unit": "J"}],
            "bottlenecks": {"memory": 0.5, "launch": None},
            "current": {},
        }
    },
)


def rich_cases(names: NameResolver) -> list[Case]:
    base = {
        "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 4, "N": 64}, "traits": {"layout": "nt"}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK": 16},
        "outcome": {"metric": "latency", "unit": "us", "value": 3.14159, "status": "ok"},
        "source": {"repo": "a/b", "licence": "MIT"},
    }
    return [Records(names).case(base | more) for more in RICH]


def untimed(names: NameResolver, size: int, **more: object) -> Case:
    record: dict[str, object] = {
        "task": {"kind": "kernel", "op": "fused_moe", "shape": {"M": size, "N": 64, "E": 8}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK_SIZE_M": 16, "num_warps": 4},
        "outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"},
        "source": {"title": "test"},
    }
    return Records(names).case(record | more)


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
