"""Lists of what can be named in a question: models, hardware, servers, bottlenecks, strategies, operators."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kg.errors import InputError
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, Concept, HardwareProfile, Level, Model, Strategy
from kg.triples.names import normalise
from kg.triples.serialisation import all_of
from recommender.store.snapshot import WorkspaceSnapshot

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """Nodes of one kind, a row each.

    Attributes:
        columns: Headings; the first is of the name to use in a question.
        rows: A text for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def name_list(snapshot: WorkspaceSnapshot, kind: str, *, vendor: str = "", like: str = "") -> NameList:
    """List what can be named.

    Args:
        snapshot: The workspace.
        kind: One of :data:`KINDS`.
        vendor: Only hardware and servers of this vendor.
        like: Only rows that hold this text, in any spelling of :func:`kg.triples.names.normalise`.

    Raises:
        InputError: There is no such list, or the vendor is unknown.
    """
    if kind not in KINDS:
        raise InputError(f"no list of {kind!r}", hint=f"one of: {', '.join(KINDS)}")
    columns, rows_of = KINDS[kind]
    rows = list(rows_of(snapshot))
    if vendor:
        if kind not in {"hardware", "servers"}:
            raise InputError(f"--vendor is for hardware and servers, not for {kind}")
        root = snapshot.names.hardware_or_slug(vendor)[0]
        rows = [row for row in rows if root in snapshot.hardware.path(row[0])]
    wanted = normalise(like)
    return NameList(
        columns=columns, rows=tuple(row for row in sorted(rows) if wanted in normalise(" ".join(row)))
    )


def _models(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
    for item in all_of(snapshot.graph, Model):
        yield item.id, item.label, item.family, item.architecture


def _hardware(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
    for item in all_of(snapshot.graph, HardwareProfile):
        if item.level is not Level.SERVER:
            facts = snapshot.hardware.facts(item.id)
            yield item.id, *(_in_units(facts, names, scale) for names, scale in _NUMBERS), item.level.value


_NUMBERS = (
    (("memory_bytes",), 2**30),
    (("memory_bandwidth_bytes_per_s",), 1e9),
    (("peak_bf16_flops", "peak_fp16_flops", "measured_peak_fp16_flops"), 1e12),
)
"""Facts that a list of hardware shows, the first that is known of each, and what they are divided by."""


def _in_units(facts: Mapping[str, float | str], names: tuple[str, ...], scale: float) -> str:
    value = next((facts[name] for name in names if name in facts), None)
    return f"{float(value) / scale:.4g}" if value is not None else ""


def _servers(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
    for item in all_of(snapshot.graph, HardwareProfile):
        if item.level is Level.SERVER:
            yield item.id, item.label, f"{item.device_count or '?'} x {item.device}"


def _concepts(kind: type[Concept]) -> Callable[[WorkspaceSnapshot], Iterator[Row]]:
    def rows(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
        for item in all_of(snapshot.graph, kind):
            yield item.id, item.label, item.labels.get("zh", "")

    return rows


def _strategies(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
    for item in all_of(snapshot.graph, Strategy):
        yield item.id, item.label, item.labels.get("zh", ""), ", ".join(item.phases)


def _operators(snapshot: WorkspaceSnapshot) -> Iterator[Row]:
    from recommender.space.made.kernels import NAMES

    measured = set(snapshot.trials.operators())
    for name in {*measured, *NAMES}:
        yield name, "yes" if name in measured else "", "yes" if name in NAMES else ""


KINDS: dict[str, tuple[Row, Callable[[WorkspaceSnapshot], Iterator[Row]]]] = {
    "models": (("model", "name", "family", "architecture"), _models),
    "hardware": (("hardware", "GiB", "GB/s", "16-bit TFLOP/s", "level"), _hardware),
    "servers": (("server", "name", "holds"), _servers),
    "bottlenecks": (("bottleneck", "name", "Chinese name"), _concepts(Bottleneck)),
    "strategies": (("strategy", "name", "Chinese name", "phases"), _strategies),
    "operators": (("operator", "has cases", "can be planned"), _operators),
    "frameworks": (("framework", "name", "Chinese name"), _concepts(Framework)),
}
"""Lists by name: their headings, and what makes their rows."""
