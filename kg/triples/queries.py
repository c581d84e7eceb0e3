"""The questions the program asks of the graph, by name; a user may run them too.

Each is a file of ``data/queries/``. It starts from few nodes: an engine without a cost model runs a
harmless-looking query for minutes, so these are timed on a large graph. Parameters are bound as terms.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from pyoxigraph import Literal, NamedNode

from data import files, text
from kg.errors import InputError, UnknownEntityError
from kg.triples import iris
from kg.triples.graph import GraphStore, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameter:
    """A parameter of a query.

    Attributes:
        name: As in the query, without the question mark.
        means: What to give, in words.
        term: From what the user gives to a term.
    """

    name: str
    means: str
    term: Callable[[str], Term]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """A query with a name.

    Attributes:
        name: What it is called by.
        answers: The question it answers.
        columns: What its rows hold, in order.
        parameters: What it needs.
        sparql: The whole text.
    """

    name: str
    answers: str
    columns: tuple[str, ...]
    parameters: tuple[QueryParameter, ...]
    sparql: str

    def run(
        self, store: GraphStore, values: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of the query, one term for each column.

        Raises:
            InputError: A parameter is missing, or there is none of that name.
        """
        given = dict(values or {})
        wanted = {parameter.name for parameter in self.parameters}
        if given.keys() != wanted:
            wants = ", ".join(f"{item.name} ({item.means})" for item in self.parameters) or "no parameters"
            raise InputError(f"the query {self.name} takes {wants}; given: {', '.join(given) or 'none'}")
        return store.select(self.sparql, **{p.name: p.term(given[p.name]) for p in self.parameters})


def text_of(term: Term) -> str:
    """Return a term of an answer as text: a literal's value, the name of one of our nodes, else the IRI."""
    if isinstance(term, NamedNode):
        is_ours = "/tunegraph/" in term.value and "#" not in term.value
        return iris.name_of(term) if is_ours else term.value
    return term.value if isinstance(term, Literal) else str(term)


def query_named(name: str) -> NamedQuery:
    """Return a query of the catalogue.

    Raises:
        UnknownEntityError: There is none of that name.
    """
    if name not in catalogue():
        raise UnknownEntityError(f"no query named {name!r}", hint=f"known: {', '.join(catalogue())}")
    return catalogue()[name]


_PARAMETERS = {
    item.name: item
    for item in (
        QueryParameter(name="bottleneck", means="id of a bottleneck", term=iris.bottleneck_iri),
        QueryParameter(name="hardware", means="id of a hardware node", term=iris.hardware_iri),
        QueryParameter(name="family", means="id of a model family", term=iris.family_iri),
        QueryParameter(name="problem", means="id of a problem", term=iris.problem_iri),
        QueryParameter(name="strategy", means="id of a strategy", term=iris.strategy_iri),
        QueryParameter(name="region", means="id of a grid region", term=iris.region_iri),
        QueryParameter(name="operator", means="operator, kernel or activity", term=Literal),
        QueryParameter(name="code", means="error code", term=Literal),
    )
}
_HEADER = re.compile(r"# (?P<answers>.+)\n(?:# Parameters: (?P<parameters>.+)\n)?")
_COLUMNS = re.compile(r"^SELECT (.+)$", re.MULTILINE)


@cache
def catalogue() -> Mapping[str, NamedQuery]:
    """The queries by name: files whose first lines say what they answer and which parameters they take."""
    shipped = (_read(name) for name in files("queries", ".rq"))
    return {query.name: query for query in shipped}


def _read(name: str) -> NamedQuery:
    content = text(name)
    header, columns = _HEADER.match(content), _COLUMNS.search(content)
    if header is None or columns is None:
        raise ValueError(
            f"{name}: begins with '# QUESTION', then '# Parameters: ...' if any, and has a SELECT line"
        )
    taken = header["parameters"].split(", ") if header["parameters"] else []
    return NamedQuery(
        name=PurePosixPath(name).stem,
        answers=header["answers"],
        columns=tuple(column.removeprefix("?") for column in columns[1].split()),
        parameters=tuple(_PARAMETERS[parameter] for parameter in taken),
        sparql=content[header.end() :].rstrip(),
    )
