"""The hardware tree: what a node is, what is known of it, how far it is from another.

Nodes are read from the graph when they are asked for and remembered, so a question about one device
costs a handful of look-ups, however large the tree is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from pyoxigraph import Literal, NamedNode

from kg.errors import WorkspaceError
from kg.nouns.knowledge import Confidence, FactKind, Level
from kg.triples import nodes
from kg.triples.graph import GraphStore
from kg.triples.iris import hardware_iri, name_of, value_of
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TG, Shared

_PROPERTY = f"{NAMESPACE}property/"


class Distance(IntEnum):
    """The distance between two pieces of hardware, nearest first."""

    SAME_DEVICE = 0
    SIBLING = 1
    """Another device of the family, or the family itself."""
    SAME_ARCHITECTURE = 2
    SAME_VENDOR = 3
    OTHER_VENDOR = 4
    """Or of a vendor that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareNode:
    """A node of the tree as the graph has it, with its facts as plain values.

    Attributes:
        id: Slug.
        level: Vendor, architecture, family, device or server.
        label: The English name.
        broader: Id of the node above; None for a vendor.
        facts: Its own facts by name, each the best known one.
        ambiguous: A question that names only this node must choose one of its devices.
        assumed: Device meant by a question that names only this node; empty if none is assumed.
        device: For a server, the id of what it holds.
        device_count: For a server, how many.
    """

    id: str
    level: Level
    label: str
    broader: str | None = None
    facts: Mapping[str, float | str] = field(default_factory=dict)
    ambiguous: bool = False
    assumed: str = ""
    device: str = ""
    device_count: int | None = None


class HardwareTree:
    """The tree of one graph.

    Args:
        store: The graph; it stays open as long as the tree is used. Nodes are read when first needed.

    Example:
        >>> from kg.nouns.knowledge import HardwareProfile
        >>> from kg.triples.graph import GraphStore
        >>> from kg.triples.serialisation import to_triples
        >>> store = GraphStore()
        >>> for name, level, broader in (
        ...     ("maker", Level.VENDOR, None),
        ...     ("series", Level.FAMILY, "maker"),
        ...     ("one", Level.DEVICE, "series"),
        ...     ("two", Level.DEVICE, "series"),
        ... ):
        ...     node = HardwareProfile(id=name, labels={"en": name}, level=level, broader=broader)
        ...     store.extend(to_triples(node))
        >>> tree = HardwareTree(store)
        >>> tree.path("one"), tree.distance("one", "two").name
        (('one', 'series', 'maker'), 'SIBLING')
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._nodes: dict[str, HardwareNode | None] = {}
        self._below: dict[str, tuple[str, ...]] = {}
        self._facts: dict[str, dict[str, float | str]] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._distances: dict[tuple[str, str], Distance] = {}

    @property
    def is_empty(self) -> bool:
        """True if the graph knows no hardware."""
        return not any(self._store.triples(None, RDF_TYPE, TG.HARDWARE_PROFILE))

    def ids(self) -> list[str]:
        """Return the ids of all nodes, sorted."""
        return sorted(map(name_of, nodes.subjects(self._store, RDF_TYPE, TG.HARDWARE_PROFILE)))

    def node(self, hardware_id: str) -> HardwareNode | None:
        """Return a node; None if the tree has none of this id."""
        if hardware_id not in self._nodes:
            self._nodes[hardware_id] = _read(self._store, hardware_id)
        return self._nodes[hardware_id]

    def below(self, hardware_id: str) -> tuple[str, ...]:
        """Return the ids of the nodes directly below, sorted."""
        if hardware_id not in self._below:
            children = nodes.subjects(self._store, Shared.BROADER, hardware_iri(hardware_id))
            self._below[hardware_id] = tuple(sorted(map(name_of, children)))
        return self._below[hardware_id]

    def devices(self, hardware_id: str) -> tuple[str, ...]:
        """Return the ids of the devices at or below a node, sorted; for a server, of the device it holds."""
        node = self.node(hardware_id)
        if node is None:
            return ()
        match node.level:
            case Level.DEVICE:
                return (hardware_id,)
            case Level.SERVER:
                return self.devices(node.device) if node.device else ()
        return tuple(sorted({device for child in self._narrower(node) for device in self.devices(child)}))

    def servers(self, device: str) -> tuple[str, ...]:
        """Return the ids of the servers that hold a device, or what it is one of, sorted."""
        around = (
            nodes.subjects(self._store, TG.CONTAINS_DEVICE, hardware_iri(name)) for name in self.path(device)
        )
        return tuple(sorted({name_of(server) for servers in around for server in servers}))

    def path(self, hardware_id: str) -> tuple[str, ...]:
        """Return the ids from a node up to its vendor; empty if the tree has none of this id.

        The way up from a server leads through the device that it holds.

        Raises:
            WorkspaceError: The nodes above it go round in a circle.
        """
        if hardware_id not in self._paths:
            path: list[str] = []
            node = self.node(hardware_id)
            while node is not None:
                if node.id in path:
                    raise WorkspaceError(f"hardware above {hardware_id} goes round: {' > '.join(path)}")
                path.append(node.id)
                above = node.device or node.broader
                node = self.node(above) if above else None
            self._paths[hardware_id] = tuple(path)
        return self._paths[hardware_id]

    def above(self, hardware_id: str, level: Level) -> str | None:
        """Return the id of the node of a level at or above a node; None if there is none."""
        for name in self.path(hardware_id):
            node = self.node(name)
            if node is not None and node.level is level:
                return name
        return None

    def facts(self, hardware_id: str) -> Mapping[str, float | str]:
        """Return the facts of a node, inherited ones included; empty for an unknown node.

        A node's own facts come before those of the nodes above it. A server has the facts of what it
        holds too. A family has those of the device that is assumed for it; else those that all of its
        devices have alike.
        """
        if hardware_id not in self._facts:
            facts: dict[str, float | str] = {}
            for name in reversed(self.path(hardware_id)):
                node = self.node(name)
                if node is not None:
                    facts |= node.facts
            node = self.node(hardware_id)
            self._facts[hardware_id] = self._from_devices(node) | facts if node is not None else facts
        return self._facts[hardware_id]

    def distance(self, one: str, other: str) -> Distance:
        """Return the distance between two nodes; a server counts as the device it holds."""
        pair = one, other
        if pair not in self._distances:
            self._distances[pair] = self._measured(self._held(one), self._held(other))
        return self._distances[pair]

    def _measured(self, one: str, other: str) -> Distance:
        if one == other:
            return Distance.SAME_DEVICE
        for level, distance in _LEVELS:
            if (shared := self.above(one, level)) is not None and shared == self.above(other, level):
                return distance
        return Distance.OTHER_VENDOR

    def _held(self, hardware_id: str) -> str:
        node = self.node(hardware_id)
        return node.device if node is not None and node.device else hardware_id

    def _narrower(self, node: HardwareNode) -> list[str]:
        """Return the nodes below a node, without servers: the devices they hold are elsewhere in the tree."""
        children = [(child, self.node(child)) for child in self.below(node.id)]
        return [name for name, child in children if child is not None and child.level is not Level.SERVER]

    def _from_devices(self, node: HardwareNode) -> dict[str, float | str]:
        match node.level:
            case Level.SERVER:
                held = dict(self.facts(node.device)) if node.device else {}
                return held | ({"device_count": node.device_count} if node.device_count else {})
            case Level.FAMILY if node.assumed:
                return dict(self.facts(node.assumed))
            case Level.FAMILY:
                return _common([self.facts(device) for device in self.devices(node.id)])
        return {}


_LEVELS = (
    (Level.FAMILY, Distance.SIBLING),
    (Level.ARCHITECTURE, Distance.SAME_ARCHITECTURE),
    (Level.VENDOR, Distance.SAME_VENDOR),
)

_TRUST = (list(FactKind), list(Confidence))


def _common(facts: list[Mapping[str, float | str]]) -> dict[str, float | str]:
    first, *others = facts or [{}]
    return {name: value for name, value in first.items() if all(o.get(name) == value for o in others)}


def _read(store: GraphStore, hardware_id: str) -> HardwareNode | None:
    iri = hardware_iri(hardware_id)
    values: dict[NamedNode, list[NamedNode | Literal]] = {}
    for triple in store.triples(iri):
        if isinstance(triple.object, NamedNode | Literal):
            values.setdefault(triple.predicate, []).append(triple.object)
    level = _text(values, TG.LEVEL)
    if not level:
        return None
    count = _text(values, TG.DEVICE_COUNT)
    labels = [term for term in values.get(Shared.PREF_LABEL, ()) if isinstance(term, Literal)]
    return HardwareNode(
        id=hardware_id,
        level=Level(level),
        label=next((term.value for term in labels if term.language == "en"), hardware_id),
        broader=_name(values, Shared.BROADER) or None,
        facts=_own_facts(store, values),
        ambiguous=_text(values, TG.AMBIGUOUS) == "true",
        assumed=_name(values, TG.ASSUMED_DEVICE),
        device=_name(values, TG.CONTAINS_DEVICE),
        device_count=int(count) if count else None,
    )


def _own_facts(
    store: GraphStore, values: Mapping[NamedNode, list[NamedNode | Literal]]
) -> dict[str, float | str]:
    facts: dict[str, float | str] = {}
    disputed = False
    for predicate, terms in values.items():
        if predicate.value.startswith(_PROPERTY):
            disputed = disputed or len(terms) > 1
            value = value_of(terms[0]) if isinstance(terms[0], Literal) else None
            if isinstance(value, int | float | str):
                facts[name_of(predicate)] = value
    return facts | _best_facts(store, values) if disputed else facts


def _best_facts(
    store: GraphStore, values: Mapping[NamedNode, list[NamedNode | Literal]]
) -> dict[str, float | str]:
    """Return, of several facts of one name, the most trusted; of equally trusted ones the least."""
    ranked = []
    for statement in values.get(TG.HAS_FACT, ()):
        if isinstance(statement, NamedNode):
            about = {triple.predicate: triple.object for triple in store.triples(statement)}
            name, value, kind, confidence = (
                about.get(term) for term in (TG.FACT_NAME, TG.VALUE, TG.FACT_KIND, TG.CONFIDENCE)
            )
            if (
                isinstance(name, Literal)
                and isinstance(value, Literal)
                and isinstance(kind, Literal)
                and isinstance(confidence, Literal)
            ):
                trust = _TRUST[0].index(FactKind(kind.value)), _TRUST[1].index(Confidence(confidence.value))
                ranked.append((trust, value.value, name.value, value_of(value)))
    ranked.sort(key=lambda item: item[:2], reverse=True)
    return {name: value for _, _, name, value in ranked if isinstance(value, int | float | str)}


def _text(values: Mapping[NamedNode, list[NamedNode | Literal]], predicate: NamedNode) -> str:
    return next((term.value for term in values.get(predicate, ()) if isinstance(term, Literal)), "")


def _name(values: Mapping[NamedNode, list[NamedNode | Literal]], predicate: NamedNode) -> str:
    return next((name_of(term) for term in values.get(predicate, ()) if isinstance(term, NamedNode)), "")
