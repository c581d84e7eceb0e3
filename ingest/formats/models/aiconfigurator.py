"""Measured operator latencies of NVIDIA's aiconfigurator, one Parquet table an operator.

Tables lie under ``<system>/<family>/<framework>/<version>/<table>_perf.parquet``. Rows name framework,
version, device, operator and kernel; columns of sizes differ from operator to operator: integers are the
shape, columns ending in ``dtype`` number formats, ``latency`` is in milliseconds. Reading them needs pyarrow.

Source:
    github.com/ai-dynamo/aiconfigurator, collector; units and columns as in its tables of 2026-08.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.models.aiconfigurator_notes import reused_tables
from kg.errors import Fault, MissingDependencyError
from kg.nouns.entities import Case

MAXIMUM_BYTES = 1 << 30
MAXIMUM_ROWS = 50_000_000
"""A small file can claim any number of equal rows; the largest real table has some 200,000."""
BATCH = 8192

_OPERATORS = {"moe": "moe_layer"}
_SIZES = {
    "m": "M",
    "n": "N",
    "k": "K",
    "hidden_size": "hidden",
    "inter_size": "inter",
    "num_experts": "experts",
    "num_key_value_heads": "kv_heads",
    "window_size": "window",
}
"""Sizes under the names that cases have them."""
_CHOICES = ("kernel_source", "moe_tp_size", "moe_ep_size")
_STATED = {"framework", "version", "device", "op_name", "latency", "num_gpus", *_CHOICES}
_CONSTANT = {"beam_width": 1}
"""Columns with this value everywhere, which are left out."""
_NAMED = re.compile(r"_(vllm|sglang|trtllm)_(\d[^_]*)_")


def sniff(head: Head) -> bool:
    """True if it is a Parquet file with a name as the collector gives it."""
    return head.content.startswith(b"PAR1") and head.name.endswith("_perf.parquet")


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as missing:
        raise MissingDependencyError(
            f"{content.path}: reading Parquet needs pyarrow", hint="in a clone: pip install '.[parquet]'"
        ) from missing
    table = content.path.name.removesuffix(".gz").removesuffix(".parquet")
    origin = reused_tables(content.path.parent).get(table)
    if origin is not None:
        reason = f"reuse.yaml beside it says that this version has no data of its own, but reuses {origin}"
        yield Fault(place="", reason=reason)
        return
    number = 0
    try:
        data = content.read_all(MAXIMUM_BYTES)
        with parquet.ParquetFile(
            arrow.BufferReader(data),
            thrift_string_size_limit=16 << 20,
            thrift_container_size_limit=1 << 20,
        ) as file:
            if file.metadata.num_rows > MAXIMUM_ROWS:
                yield Fault(place="", reason=f"{file.metadata.num_rows} rows, more than any table has")
                return
            rows = _Rows(content, table, records, file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    try:
                        yield rows.case(row)
                    except RecordError as fault:
                        yield Fault(place=f"row {number}", reason=str(fault))
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
    except (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError) as fault:
        reason = str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__
        yield Fault(place=f"after row {number}", reason=f"no Parquet: {reason}")


class _Rows:
    """Turns the rows of one table into cases."""

    def __init__(self, content: Content, table: str, records: Records, columns: list[str]) -> None:
        self._records = records
        self._operator = table.removesuffix("_perf")
        self._framework, self._version = _in_path(content)
        self._source: dict[str, object] = {"title": "aiconfigurator systems data", "path": content.reference}
        self._formats = [name for name in columns if name.endswith("dtype")]
        self._others = [name for name in columns if name not in _STATED and name not in self._formats]
        if "latency" not in columns:
            raise ContentError("a table without a column latency")

    def case(self, row: Mapping[str, Any]) -> Case:
        """The case of a row."""
        for name in (*_STATED, *self._formats):
            if not isinstance(row.get(name), int | float | str | None):
                raise RecordError([f"{name}: neither number nor text"])
        shape: dict[str, object] = {}
        traits: dict[str, object] = {}
        for name in self._others:
            item = row[name]
            if isinstance(item, float):
                self._records.guess(f"column {name!r} is a further measurement and is not kept")
            elif isinstance(item, str | bool):
                traits[name] = item
            elif isinstance(item, int) and _CONSTANT.get(name) != item:
                shape[_SIZES.get(name, name)] = item
            elif item is not None and not isinstance(item, int):
                self._records.guess(f"column {name!r} holds no sizes and is not kept")
        operator = _text(row, "op_name") or self._operator
        framework = _text(row, "framework").lower() or self._framework
        version = _text(row, "version") or self._version
        if self._version and version != self._version:
            self._records.guess(f"version {version!r} is from the rows; the path says {self._version!r}")
        config = {"framework": framework} if framework else {}
        config |= {name: row[name] for name in _CHOICES if row.get(name) is not None}
        source = self._source | ({"framework_version": version} if version else {})
        return self._records.case(
            {
                "task": {
                    "kind": "operator",
                    "op": _OPERATORS.get(operator, operator),
                    "shape": shape,
                    "dtype": self._precision(row),
                    "traits": traits,
                },
                "hardware": {"name": row.get("device"), "count": _devices(row)},
                "config": config,
                "outcome": {"metric": "latency", "unit": "ms", "value": row["latency"], "status": "ok"},
                "source": source,
            }
        )

    def _precision(self, row: Mapping[str, Any]) -> object:
        """The one number format, or several by role."""
        formats = {
            name.removesuffix("dtype").rstrip("_") or "dtype": row[name]
            for name in self._formats
            if row[name] is not None
        }
        return next(iter(formats.values())) if len(formats) == 1 else formats or None


def _in_path(content: Content) -> tuple[str, str]:
    """Framework and version as folders above, or the file's own name, tell; empty if they do not."""
    path = content.path.absolute()
    if named := _NAMED.search(path.name):
        return named[1], named[2]
    version, framework = path.parent.name, path.parent.parent.name
    return (framework, version) if version[:1].isdigit() else ("", "")


def _text(row: Mapping[str, Any], name: str) -> str:
    item = row.get(name)
    return item.strip() if isinstance(item, str) else ""


def _devices(row: Mapping[str, Any]) -> object:
    """Devices that the operator ran on: experts' parallel ranks, or those of a collective."""
    tensor, expert = row.get("moe_tp_size"), row.get("moe_ep_size")
    if isinstance(tensor, int) and isinstance(expert, int):
        return tensor * expert
    count = row.get("num_gpus")
    return 1 if count is None else count


FORMAT = Format(
    name="aiconfigurator",
    title="aiconfigurator table (.._perf.parquet)",
    sniff=sniff,
    read=read,
    beside=("reuse.yaml", "collection_meta.yaml"),
)
