"""CSV tables of AMD aiter's tuners: the fastest kernel for each shape, with its time in microseconds.

Columns differ from file to file, so each is taken by its name: device, shape, number formats, outcome; what
is left is the configuration. The operator is in the file name. A device is an architecture and a number of
compute units; older files lack the architecture. A time that is infinite or zero marks a failure.
"""

import math
import re
from collections.abc import Iterator, Mapping

from ingest.door.records import RecordError, Records
from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from kg.errors import Fault
from kg.nouns.entities import Case

_DEVICE = {"gfx", "cu_num"}
_SHAPE = {
    *("M", "N", "K", "B"),
    *("token", "model_dim", "inter_dim", "expert", "topk"),
    *("T_flat", "H", "Hg", "BT", "V"),
}
_FORMATS = {
    *("dtype", "outdtype", "q_dtype_a", "q_dtype_w", "q_type", "act_type", "use_g1u1", "doweight_stage1"),
    *("bias", "scaleAB", "bpreshuffle", "max_m", "is_varlen", "use_h0", "store_fs"),
}
"""Columns of number formats, and of the switches that go with them."""
_OUTCOME = {
    *("us", "us1", "us2", "err1", "err2", "errRatio", "err_ratio", "tflops", "bw", "_tag"),
}
_NAMES = {
    ("gfx942", 304): "AMD Instinct MI300X/MI325X (gfx942, 304 CU)",
    ("gfx942", 80): "AMD Instinct MI308X (gfx942, 80 CU)",
    ("gfx950", 256): "AMD Instinct MI350X/MI355X (gfx950, 256 CU)",
}
"""Devices by architecture and compute units; each pair fits one product line."""
_LIKELY = {304: "gfx942", 80: "gfx942", 256: "gfx950"}
"""The architecture that aiter's tables without one were made on, by compute units."""

_OPERATOR = re.compile(r"a8w8_blockscale_bpreshuffle|a8w8_blockscale|a8w8_bpreshuffle|a4w4|a8w8|bf16")
_FUSED_MOE = {"a8w8_blockscale", "bf16"}
"""Formats of which a fused-MoE table has one; the others mix them."""


def sniff(head: Head) -> bool:
    """True if the header names compute units and microseconds, or the file one of aiter's tuners."""
    header = set(header_of(head.text))
    is_named = head.name.endswith(".csv") and "tuned" in head.name
    return not head.flaw and "cu_num" in header and ("us" in header or is_named)


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row."""
    operator = operator_in(content.path.name.removesuffix(".gz").removesuffix(".csv"))
    records.guess(f"operator {operator!r} is taken from the file name")
    source = {"title": "aiter tuned kernels", "path": content.reference}
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        hardware = _hardware(row, records)
        if hardware is None:
            yield Fault(place=place, reason=f"cu_num: {row.get('cu_num', '')[:40]!r} is no number of units")
            continue
        left = {name: cell for name, cell in row.items() if cell and name not in _OUTCOME | _DEVICE}
        task = {
            "kind": "kernel",
            "op": operator,
            "shape": {name: cell for name, cell in left.items() if name in _SHAPE},
            "dtype": {name: cell for name, cell in left.items() if name in _FORMATS},
        }
        record = {
            "task": task,
            "hardware": hardware,
            "config": {name: cell for name, cell in left.items() if name not in _SHAPE | _FORMATS},
            "outcome": _outcome(row),
            "source": source,
        }
        try:
            yield records.case(record)
        except RecordError as fault:
            yield Fault(place=place, reason=str(fault))


def operator_in(stem: str) -> str:
    """Operator that a file name such as ``dsv4_a8w8_blockscale_tuned_gemm`` stands for.

    A table whose rows have several formats, or one that the name does not tell, is ``..._mixed``.
    """
    if "chunk_gdn_h" in stem:
        return "chunk_gdn_h_mixed"
    family = "fmoe" if "fmoe" in stem else "batched_gemm" if "batched_gemm" in stem else "gemm"
    known = _OPERATOR.search(stem)
    if family == "fmoe" and known is not None and known[0] not in _FUSED_MOE:
        known = None
    return f"{family}_{known[0] if known else 'mixed'}"


def _hardware(row: Mapping[str, str], records: Records) -> dict[str, object] | None:
    units = row.get("cu_num", "")
    if not units.isascii() or not units.isdigit() or len(units) > 6:
        return None
    architecture = row.get("gfx", "")
    if not architecture:
        architecture = _LIKELY.get(int(units), "")
        meant = f"taken as {architecture}" if architecture else "kept without one"
        records.guess(f"the table names no architecture: {units} compute units are {meant}")
    name = _NAMES.get((architecture, int(units)), f"AMD {architecture} {units} CU".replace("  ", " "))
    return {"name": name, "arch": architecture or None, "compute_units": int(units)}


def _outcome(row: Mapping[str, str]) -> dict[str, object]:
    """Time of the winner, or that it failed; without a column of times it is a winner only."""
    outcome: dict[str, object] = {"metric": "latency", "unit": "us", "value": None}
    if "us" not in row:
        return outcome | {"status": "winner_untimed"}
    try:
        time = float(row["us"])
    except ValueError:
        return outcome | {"status": "ok", "value": row["us"] or None}
    if math.isinf(time) or time <= 0:
        return outcome | {"status": f"failed:a time of {row['us']} us marks a failure"}
    return outcome | {"status": "ok", "value": time}


FORMAT = Format(
    name="aiter",
    title="aiter tuned kernels (CSV with cu_num and us)",
    sniff=sniff,
    read=read,
)
