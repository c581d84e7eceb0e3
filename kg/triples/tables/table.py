"""The fields of a noun, and the fields whose value is another noun.

An attribute that has its default is not written: the graph is silent about what is unknown.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyoxigraph import Literal, NamedNode

from kg.errors import WorkspaceError
from kg.triples import nodes
from kg.triples.iris import name_of, part_iri
from kg.triples.tables.fields import Field, Node, SubjectDraft
from kg.triples.vocabulary import RDF_TYPE, TG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kg.triples.graph import GraphStore
    from kg.triples.tables.descriptions import Descriptions, Pair

Noun = TypeVar("Noun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refer(Field):
    """Another noun with an IRI of its own, or several; nouns may share it.

    Attributes:
        table: How that noun is written.
        many: A tuple of them.
        iri: Its IRI, from the noun that has it; None if the part knows its own.
    """

    table: NounTable[Any]
    many: bool = False
    iri: Callable[[Any], NamedNode] | None = None

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write an edge to each noun."""
        for part in value if self.many else (value,):
            target = self.table.iri(part) if self.iri is None else self.iri(draft.noun)
            if draft.others.is_new(part, target):
                self.table.write(part, target, draft.others)
            draft.add(self.predicate, target)

    def read(self, node: Node) -> object:
        """Return the nouns."""
        nouns = [self.table.read(self.table.node(node.store, iri)) for iri in node.nodes(self.predicate)]
        if not nouns:
            return MISSING
        return tuple(sorted(nouns, key=repr)) if self.many else nouns[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline(Field):
    """Another noun whose attributes are said of the same subject.

    Attributes:
        predicate: Unused.
        table: How that noun is written.
    """

    table: NounTable[Any]
    predicate: NamedNode = RDF_TYPE

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write the fields of the noun."""
        draft.values += self.table.pairs(value, draft.subject, draft.others)

    def read(self, node: Node) -> object:
        """Return the noun."""
        return self.table.read(node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements(Field):
    """Qualified statements: a node for each, and where there is one the plain edge beside it.

    Attributes:
        table: How a statement is written.
        plain: The plain edge of a statement; None where it has none.
        ordered: The order of the statements matters and is kept.
    """

    table: NounTable[Any]
    plain: Callable[[Any], Pair | None] = lambda _statement: None
    ordered: bool = False

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write an edge to each statement, and the plain edges."""
        for position, statement in enumerate(value):
            pairs = self.table.pairs(statement, draft.subject, draft.others)
            if self.ordered:
                pairs.append((TG.POSITION, Literal(position)))
            node = part_iri(draft.subject, self.predicate, pairs)
            draft.others.describe(node, pairs)
            draft.add(self.predicate, node)
            if (edge := self.plain(statement)) is not None:
                draft.add(*edge)

    def read(self, node: Node) -> object:
        """Return the statements."""
        nodes = [Node(node.store, iri) for iri in node.nodes(self.predicate)]
        if self.ordered:
            nodes.sort(key=lambda part: int(part.literals(TG.POSITION)[0].value))
            return tuple(self.table.read(part) for part in nodes) or MISSING
        return tuple(sorted((self.table.read(part) for part in nodes), key=repr)) or MISSING


class NounTable(Generic[Noun]):
    """The fields of one noun.

    Attributes:
        noun: Its class.
        term: Its class in the graph; None if it is said inline.
        fields: Its attributes.
        iri: Its IRI; None for a statement, whose IRI follows from what it says and of whom.
        from_id: Its IRI from its id; None where it has none.

    Args:
        noun: As above.
        term: As above.
        columns: The fields.
        iri: As above.
        from_id: As above.
        derived: More to say of a noun, which is not read back.
        identity: The attribute that the end of the IRI holds; empty if none does.
        is_crowded: Others may say very much of it. No field of it is inline or spread.
    """

    def __init__(
        self,
        noun: type[Noun],
        term: NamedNode | None,
        *columns: Field,
        iri: Callable[[Noun], NamedNode] | None = None,
        from_id: Callable[[Any], NamedNode] | None = None,
        derived: Callable[[Noun], Iterable[Pair]] | None = None,
        identity: str = "",
        is_crowded: bool = False,
    ) -> None:
        self.noun = noun
        self.term = term
        self.fields: Sequence[Field] = columns
        self.from_id = from_id
        self._iri = iri
        self._derived = derived
        self._identity = identity
        self._wanted = (RDF_TYPE, *(item.predicate for item in columns)) if is_crowded else ()
        self._defaults = {
            item.name: item.default_factory() if item.default_factory is not MISSING else item.default
            for item in dataclasses.fields(noun)  # type: ignore[arg-type]  # every noun is a dataclass
        }

    @property
    def has_iri(self) -> bool:
        """True if the IRI follows from the noun alone; that of a workload follows from its problem."""
        return self._iri is not None

    def iri(self, noun: Noun) -> NamedNode:
        """Return the IRI of a noun that has one."""
        if self._iri is None:
            raise TypeError(f"a {self.noun.__name__} has no IRI of its own")
        return self._iri(noun)

    def pairs(self, noun: Noun, subject: NamedNode, others: Descriptions) -> list[Pair]:
        """Return predicates and objects of ``subject``; what is said of its parts goes to ``others``."""
        draft = SubjectDraft(noun, subject, others)
        if self.term is not None:
            draft.add(RDF_TYPE, self.term)
        for field in self.fields:
            value = getattr(noun, field.name)
            default = self._defaults[field.name]
            if field.always or not (value is default or (not value and value == default)):
                field.write(value, draft)
        if self._derived is not None:
            draft.values.extend(self._derived(noun))
        return draft.values

    def write(self, noun: Noun, subject: NamedNode, out: Descriptions) -> None:
        """Describe a noun and its parts."""
        out.describe(subject, self.pairs(noun, subject, out))

    def node(self, store: GraphStore, iri: NamedNode) -> Node:
        """Return the statements of a graph about a noun of this class."""
        return Node(store, iri, self._wanted)

    def read(self, node: Node, **known: object) -> Noun:
        """Read the noun that a node describes.

        Args:
            node: The node.
            **known: Attributes that need not be read, since they follow from the IRI.

        Raises:
            WorkspaceError: The graph does not say something that the noun needs.
        """
        attributes = dict(known)
        if self._identity:
            attributes[self._identity] = name_of(node.iri)
        for field in self.fields:
            if field.name in known:
                continue
            value = field.read(node)
            if value is not MISSING:
                attributes[field.name] = value
            elif self._defaults[field.name] is MISSING:
                raise WorkspaceError(
                    f"{node.iri.value} lacks {field.name}", hint="list all faults: tunegraph kb validate"
                )
        return self.noun(**attributes)

    def subjects(self, store: GraphStore) -> Iterator[NamedNode]:
        """Yield every node of this class in a graph."""
        yield from nodes.subjects(store, RDF_TYPE, self.term)
