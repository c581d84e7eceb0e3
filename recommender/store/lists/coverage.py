"""Coverage of the evidence by operator and hardware, and suggestions of what to measure next."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Kind, Problem, Source
from kg.nouns.knowledge import Level
from kg.rows.copies import copied_devices, repeated_rows
from kg.rows.evidence import evidence_by_device, rows_by_kind
from kg.triples.hardware_tree import Distance
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree

LEAST_ROWS = 3
"""Timed configurations from which a table says which way to go."""
SHOWN_REPEATS = 10
_FAR = {Distance.SAME_VENDOR.name.lower(), Distance.OTHER_VENDOR.name.lower()}


@dataclass(slots=True, kw_only=True)
class Area:
    """One operator on one family of hardware.

    Attributes:
        workload: Kind of workload.
        operator: The operator.
        family: Id of the hardware family; of the device where it is in none.
        problems: Problems that have rows.
        rows: Their rows in their own metric.
        timed: Those with a value.
        measured: Those that were measured, rather than published, modelled or chosen.
        compared: Problems with at least three timed configurations.
        devices: Ids of the devices that have rows, copies of others left out.
        kinds: Rows by how they are known.
        nearest_else: How near the nearest other device with cases of the operator is; empty if none.
    """

    workload: str
    operator: str
    family: str
    problems: int = 0
    rows: int = 0
    timed: int = 0
    measured: int = 0
    compared: int = 0
    devices: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    nearest_else: str = ""

    @property
    def measured_share(self) -> float:
        """Measured rows among all, 0 to 1."""
        return self.measured / self.rows if self.rows else 0.0

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "workload": self.workload,
            "operator": self.operator,
            "hardware_family": self.family,
            "problems": self.problems,
            "rows": self.rows,
            "timed": self.timed,
            "measured_share": round(self.measured_share, 4),
            "compared_problems": self.compared,
            "devices": self.devices,
            "kinds": self.kinds,
            "nearest_other_evidence": self.nearest_else or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(JsonNoun):
    """The evidence in a workspace, and its gaps.

    Attributes:
        areas: By kind of workload, operator and hardware family.
        repeats: What is there under two names, in words.
        suggestions: What to measure next, in words, the most telling first.
    """

    areas: tuple[Area, ...]
    repeats: tuple[str, ...]
    suggestions: tuple[str, ...]


def coverage(graph: GraphStore, trials: TrialStore, tree: HardwareTree, *, most: int = 10) -> Coverage:
    """Look over a workspace; walks over all rows.

    Args:
        graph: Knows problems and sources.
        trials: Knows rows.
        tree: Knows families and distances.
        most: How many suggestions.
    """
    areas = _areas(graph, trials, tree)
    suggestions = list(dict.fromkeys(_suggestions(areas)))
    return Coverage(
        areas=tuple(areas),
        repeats=tuple(_repeats(graph, trials)),
        suggestions=tuple(suggestions[:most]),
    )


def _areas(graph: GraphStore, trials: TrialStore, tree: HardwareTree) -> list[Area]:
    copies = {(item.operator, item.device) for item in copied_devices(trials)}
    areas: dict[tuple[str, str], Area] = {}
    places: dict[tuple[str, str], Area] = {}
    devices: dict[str, set[str]] = defaultdict(set)
    for count in evidence_by_device(trials):
        operator, device = count.operator, count.device
        family = tree.above(device, Level.FAMILY) or device
        area = areas.get((operator, family))
        if area is None:
            kind = from_graph(graph, Problem, count.example).workload.kind
            area = areas[operator, family] = Area(workload=str(kind), operator=operator, family=family)
        places[operator, device] = area
        area.problems += count.problems
        area.rows += count.rows
        area.timed += count.timed
        area.measured += count.measured
        area.compared += count.compared
        if (operator, device) not in copies:
            area.devices.append(device)
            devices[operator].add(device)
    for operator, device, evidence_kind, number in rows_by_kind(trials):
        kinds = places[operator, device].kinds
        kinds[evidence_kind] = kinds.get(evidence_kind, 0) + number
    for area in areas.values():
        area.devices.sort()
        area.nearest_else = _nearest_else(area, devices[area.operator], tree)
    return sorted(areas.values(), key=lambda area: (area.workload, area.operator, area.family))


def _nearest_else(area: Area, devices: set[str], tree: HardwareTree) -> str:
    distances = [tree.distance(one, other) for one in area.devices for other in devices if one != other]
    return min(distances).name.lower() if distances else ""


def _repeats(graph: GraphStore, trials: TrialStore) -> Iterator[str]:
    for item in copied_devices(trials):
        yield (
            f"{item.operator} by {item.metric}: {item.rows:,} of {item.shared:,} rows of {item.device} are "
            f"those of {item.origin} to the last digit; both count as one device"
        )
    rows: Counter[tuple[str, str, str]] = Counter()
    for repeated in repeated_rows(trials):
        one, other = sorted(from_graph(graph, Source, key).title for key in repeated.sources)
        rows[repeated.operator, one, other] += repeated.rows
    for (operator, one, other), number in rows.most_common(SHOWN_REPEATS):
        where = f"twice in {one}" if one == other else f"in {one} and in {other}"
        yield f"{operator}: {number:,} rows are {where}; each counts once"
    if len(rows) > SHOWN_REPEATS:
        left = sum(rows.values()) - sum(number for _, number in rows.most_common(SHOWN_REPEATS))
        yield f"... and {left:,} more rows of {len(rows) - SHOWN_REPEATS:,} pairs of sources"


def _suggestions(areas: list[Area]) -> Iterator[str]:
    """Yield suggestions by value: a first time, a second device, a comparison, a measurement."""
    by_operator: dict[str, list[Area]] = defaultdict(list)
    for area in areas:
        by_operator[area.operator].append(area)
    ranked = sorted(by_operator.values(), key=lambda suggestion: -sum(area.problems for area in suggestion))
    for suggestion in ranked:
        yield from _of_operator(suggestion)
    for suggest in (_of_tables, _of_neighbours, _of_kinds):
        for suggestion in ranked:
            for area in suggestion:
                if area.timed:
                    yield from suggest(area)


def _of_operator(areas: list[Area]) -> Iterator[str]:
    operator = areas[0].operator
    devices = {device for area in areas for device in area.devices}
    if not any(area.timed for area in areas):
        problems = sum(area.problems for area in areas)
        yield (
            f"Time {operator} anywhere: {problems:,} problems are known, none with a time, so no gain can be "
            "stated."
        )
    elif len(devices) == 1:
        yield (
            f"Measure {operator} on a second device: all that is known is from {min(devices)}, so nobody can "
            "say what holds elsewhere."
        )


def _of_tables(area: Area) -> Iterator[str]:
    bare = area.problems - area.compared
    if not area.compared:
        yield (
            f"Measure at least {LEAST_ROWS} configurations of one {area.operator} problem on {area.family}: "
            f"none of its {area.problems:,} problems has so many with a time."
        )
    elif bare > area.compared:
        yield (
            f"Measure more configurations of {area.operator} on {area.family}: {bare:,} of "
            f"{area.problems:,} problems have fewer than {LEAST_ROWS} with a time."
        )


def _of_neighbours(area: Area) -> Iterator[str]:
    if len(area.devices) == 1 and area.nearest_else in _FAR:
        yield (
            f"Measure {area.operator} on another device like {area.devices[0]}: the nearest other evidence "
            f"is of {area.nearest_else.replace('_', ' ')}."
        )


def _of_kinds(area: Area) -> Iterator[str]:
    if not area.measured:
        kinds = sorted(set(area.kinds) - {Kind.WINNER, Kind.TARGET})
        yield (
            f"Measure {area.operator} on {area.family} yourself: its {area.timed:,} values are "
            f"{' and '.join(kinds)}."
        )
