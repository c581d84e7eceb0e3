"""Cases as rows of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ingest.door.flat_cases import cell, value_of
from ingest.door.records import Records
from ingest.exporting import write_file
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings

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


def untimed(names: NameResolver, size: int, **more: object) -> Case:
    record: dict[str, object] = {
        "task": {"kind": "kernel", "op": "fused_moe", "shape": {"M": size, "N": 64, "E": 8}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK_SIZE_M": 16, "num_warps": 4},
        "outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"},
        "source": {"title": "test"},
    }
    return Records(names).case(record | more)


@pytest.mark.parametrize(
    "value",
    ["plain", "16", "null", "NaN", " padded", "two\nlines", "", 16, 0.1, True, None, [1, "x"], "ja, nein"],
)
def test_a_cell_keeps_the_type_of_its_value(value: object) -> None:
    assert value_of(cell(value)) == value
    assert type(value_of(cell(value))) is type(value)
    assert cell(value)
    assert "\n" not in cell(value)


def test_a_name_that_no_header_can_hold_is_refused(tmp_path: Path, names: NameResolver) -> None:
    case = replace(untimed(names, 1), configuration=Settings({"two\nlines": 1}))  # of an older workspace
    with (tmp_path / "x.csv").open("wb") as stream, pytest.raises(InputError, match="name of a column"):
        write_file("csv", [case], stream)


# -- answers -------------------------------------------------------------------------------------
