"""Tables of averaged operator times with the columns of Ascend's profilers, a configuration of sizes a row.

vllm-ascend, msmodeling and others keep measured operators so: ``Input Shapes`` with ``;`` between tensors,
``Input Data Types`` and ``Average Duration(us)``. Other columns (``Num Heads``) are sizes of the problem. The
operator is ``Op Type``, else the file's name.
"""

import re
from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import NO_HARDWARE, case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_TIME = "Average Duration(us)"
_NEEDED = {"Input Shapes", "Input Data Types", _TIME}
_ABOUT = _NEEDED | {"OP State", "Accelerator Core", "Input Formats", "Output Shapes", "Output Data Types",
                    "Output Formats", "Op Type", "OP Type", "Quant Type", "Op Name", "Count"}  # fmt: skip
_PRODUCT = re.compile(r"(batch)?matmul(v\d)?|mm|gemm|linear", re.IGNORECASE)


def sniff(head: Head) -> bool:
    """True if it has the profiler's columns and an average time."""
    return set(header_of(head.text)) >= _NEEDED


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row."""
    hardware = records.context.hardware
    if not hardware:
        yield Fault(place="", reason=NO_HARDWARE)
        return
    stem = content.path.name.split(".")[0]
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            record = _record(row, stem) | {
                "hardware": {"name": hardware},
                "config": {},
                "source": {"title": f"operator table {stem}", "path": content.reference},
            }
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))
            continue
        yield case_or_fault(records, place, record)


def _record(row: Mapping[str, str], stem: str) -> dict[str, object]:
    """Task and outcome of a row.

    Raises:
        ContentError: A number is none, or a size is zero.
    """
    stated = row.get("Op Type") or row.get("OP Type") or stem
    sizes: dict[str, object] = {}
    for name, cell in row.items():
        if name not in _ABOUT and cell:
            size = parse_value(cell)
            if isinstance(size, int | float) and not isinstance(size, bool) and size <= 0:
                raise ContentError(f"{name}: {cell}, where a size is meant")
            sizes[re.sub(r"\W+", "_", name.strip().lower())] = size
    tensors = [_tensor(text) for text in row["Input Shapes"].split(";")]
    operator = stated.lower()
    if _PRODUCT.fullmatch(stated):
        operator = "gemm"
        sizes |= _product(tensors, _tensor(row.get("Output Shapes", "").split(";")[0]))
    elif not sizes:
        sizes["inputs"] = tensors
    formats = {one.strip().removeprefix("DT_").lower() for one in row["Input Data Types"].split(";")}
    task: dict[str, object] = {"kind": "operator", "op": operator, "shape": sizes}
    if len(formats) == 1:
        task["dtype"] = formats.pop()
    time = parse_number(row[_TIME], _TIME)
    return {"task": task, "outcome": {"metric": "latency", "unit": "us", "value": time, "status": "ok"}}


def _tensor(text: str) -> list[int]:
    return [int(size) for size in text.replace('"', "").split(",") if size.strip().isdecimal()]


def _product(inputs: list[list[int]], output: list[int]) -> dict[str, object]:
    """Rows, columns and depth of a matrix product, by what its tensors share."""
    if len(inputs) < len(("left", "right")) or not inputs[0] or len(output) < len(("M", "N")):
        raise ContentError("the shapes are not those of a matrix product")
    rows, columns = output[-2:]
    left = inputs[0][-2:]
    depth = left[-1] if left[0] == rows or left[-1] != rows else left[0]
    batch = {"B": output[0]} if len(output) > len(("M", "N")) and output[0] > 1 else {}
    return {"M": rows, "N": columns, "K": depth, **batch}


FORMAT = Format(
    name="cann-operators",
    title="averaged operator times of Ascend (CSV with Input Shapes and Average Duration(us))",
    sniff=sniff,
    read=read,
)
