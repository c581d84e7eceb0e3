"""Cases with every field that a case can have, and winners that nobody timed."""

from typing import Any

from ingest.door.records import NameResolver, Records
from kg.nouns.entities import Case

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
    {
        "config": {"tab\tin": "=1+1", "unset": None},
        "task": {"kind": "kernel", "op": "gemm", "shape": {"M\t": 4, "N": 64}},
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
