"""Mapping files: the meaning of the columns of a CSV table.

::

    format: tunegraph-mapping
    version: 1
    task: {kind: training, op: pretrain, model: {column: Model}}
    hardware: {name: Ascend 910B, count: {column: NPUs}}
    shape: {seq_len: {column: SeqLen}}
    config: {tp: {column: TP}, framework: mindspeed}
    metrics:
      - {column: Tokens/s, metric: throughput, unit: tokens/s}
    status: {column: State, ok: [done], failed: [crashed], forbidden: []}
    source: {title: Measured by us}

A value is either fixed or ``{column: NAME}``. Text that begins with ``?`` is a question that somebody has to
answer before anything is read. A metric may have settings of its column alone: ``config: {kind: a}``. Where a
number is due, a word says how the run ended (``OOM``) or that nobody measured (``n/a``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.files.content import ContentError
from ingest.files.safe_yaml import MAXIMUM_BYTES, load_yaml

MAPPING_FORMAT = "tunegraph-mapping"
VERSION = 1
SUFFIX = ".mapping.yaml"
"""Suffix of a mapping beside its table: ``runs.csv`` has ``runs.mapping.yaml``."""

_SECTIONS = ("task", "hardware", "shape", "config", "source", "status")
STATUS_WORDS: dict[str, frozenset[str]] = {
    "ok": frozenset(
        {"ok", "success", "succeeded", "finished", "done", "complete", "completed", "passed", "correct"}
    ),
    "failed": frozenset(
        {"failed", "fail", "error", "crashed", "crash", "killed", "incorrect", "hang", "hung"}
    ),
    "oom": frozenset({"oom", "out of memory", "out_of_memory", "cuda oom", "npu oom", "ooms"}),
    "timeout": frozenset({"timeout", "timed out", "timed_out"}),
    "forbidden": frozenset({"forbidden", "invalid", "restricted", "skipped"}),
    "not_reported": frozenset({"-", "--", "n/a", "na", "nan", "none", "null", "tbd", "?", "/"}),
}
"""Words of people for how a run ended, in lower case."""
_STATUSES = (*STATUS_WORDS, "not_measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column with results.

    Attributes:
        column: Its name.
        metric: Metric of the column.
        unit: Of its numbers.
        better: ``lower`` or ``higher``; None for a known metric.
        config: Settings that this column alone is of, such as one of several implementations.
    """

    column: str
    metric: str
    unit: str
    better: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """The meaning of the columns of a table.

    Attributes:
        sections: Fixed values and columns, by section and name.
        metrics: Columns with results.
        columns: Names of all columns that it uses.
        statuses: Words of the status column and what they mean.
    """

    sections: Mapping[str, Mapping[str, object]]
    metrics: tuple[ResultColumn, ...]
    columns: frozenset[str]
    statuses: Mapping[str, str] = field(default_factory=dict)

    @property
    def status_column(self) -> str:
        """Name of the column that says how a run ended; empty if there is none."""
        return str(self.sections["status"].get("column") or "")

    def fill(self, section: str, row: Mapping[str, str]) -> dict[str, object]:
        """A section with the cells of a row in the places of their columns; empty cells are left out."""
        found: dict[str, object] = {}
        for name, item in self.sections[section].items():
            value = row[column] if (column := column_of(item)) is not None else item
            if value != "":
                found[name] = value
        return found


def status_of(word: str) -> str:
    """What a word says of how a run ended; empty for any other."""
    lowered = word.strip().lower()
    return next((status for status, words in STATUS_WORDS.items() if lowered in words), "")


def mapping_beside(path: Path) -> Path:
    """Path of the mapping that belongs to a table."""
    name = path.name.removesuffix(".gz")
    return path.with_name(name.rpartition(".")[0] + SUFFIX if "." in name else name + SUFFIX)


def column_of(item: object) -> str | None:
    """The column that a value is taken from; None for a fixed one."""
    if isinstance(item, dict) and set(item) == {"column"} and isinstance(item["column"], str):
        return item["column"]
    return None


def load_mapping(path: Path) -> ColumnMapping:
    """The mapping in a file.

    Raises:
        ContentError: It is none, or has questions left.
    """
    try:
        with path.open("rb") as stream:
            raw = load_yaml(stream.read(MAXIMUM_BYTES + 1))
    except OSError as fault:
        raise ContentError(f"{path.name}: cannot be read ({fault.strerror or fault})") from fault
    except ContentError as fault:
        raise ContentError(f"{path.name}: {fault}") from fault
    return read_mapping(raw, path.name)


def read_mapping(raw: object, name: str) -> ColumnMapping:
    """The mapping in a document.

    Raises:
        ContentError: It is none, or has questions left.
    """
    if not isinstance(raw, dict) or raw.get("format") != MAPPING_FORMAT:
        raise ContentError(f"{name}: no mapping (format: {MAPPING_FORMAT})")
    if raw.get("version") != VERSION:
        raise ContentError(f"{name}: version {raw.get('version')!r}; this is version {VERSION}")
    if questions := list(_questions(raw, "")):
        raise ContentError(f"{name}: to be answered first: {'; '.join(questions)[:500]}")
    sections = {}
    for section in _SECTIONS:
        item = raw.get(section) or {}
        if not isinstance(item, dict):
            raise ContentError(f"{name}: {section} has names and values")
        sections[section] = {str(key): value for key, value in item.items()}
    metrics = tuple(_metric(item, name) for item in _list(raw.get("metrics"), f"{name}: metrics"))
    if not metrics:
        raise ContentError(f"{name}: without metrics there is no result")
    status = sections["status"]
    statuses = {
        str(word): meaning
        for meaning in _STATUSES
        for word in _list(status.get(meaning), f"{name}: status.{meaning}")
    }
    columns = {metric.column for metric in metrics}
    for section, items in sections.items():
        if section != "status":
            columns |= {column for item in items.values() if (column := column_of(item)) is not None}
    if status.get("column"):
        columns.add(str(status["column"]))
    return ColumnMapping(sections=sections, metrics=metrics, columns=frozenset(columns), statuses=statuses)


def _metric(item: object, name: str) -> ResultColumn:
    if not isinstance(item, dict):
        raise ContentError(f"{name}: a metric has column, metric and unit")
    column, metric, unit = (item.get(key) for key in ("column", "metric", "unit"))
    if not isinstance(column, str) or not isinstance(metric, str) or unit is None:
        raise ContentError(f"{name}: a metric has column, metric and unit")
    better = item.get("better")
    config = item.get("config") or {}
    if not isinstance(config, dict):
        raise ContentError(f"{name}: the config of a metric has names and values")
    return ResultColumn(
        column=column,
        metric=metric,
        unit=str(unit),
        better=None if better is None else str(better),
        config={str(key): value for key, value in config.items()},
    )


def _list(raw: object, what: str) -> list[object]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise ContentError(f"{what}: a list")
    return raw


def _questions(raw: object, place: str) -> Iterator[str]:
    if isinstance(raw, dict):
        for key, item in raw.items():
            yield from _questions(item, f"{place}.{key}" if place else str(key))
    elif isinstance(raw, list):
        for number, item in enumerate(raw):
            yield from _questions(item, f"{place}[{number}]")
    elif isinstance(raw, str) and raw.startswith("?"):
        yield f"{place} ({raw.lstrip('? ')})" if raw.strip("? ") else place
