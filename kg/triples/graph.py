"""The protocol of a store of triples, whichever engine is behind it.

Terms and triples are pyoxigraph's, and everything is in the default graph. Values enter a query as
bindings, never by formatting a string.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Protocol, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
Subject: TypeAlias = NamedNode | BlankNode

__all__ = ["GraphStore", "Subject", "Term", "Triple", "bind", "replacement"]


class GraphStore(Protocol):
    """Triples that can be added, changed, asked and carried away.

    Numbers come back equal, but not always spelt as they were: Oxigraph keeps ``"01"`` as ``"1"``.
    Language tags come back in lower case.

    Example:
        >>> from kg.triples.oxigraph_store import OxigraphStore
        >>> from kg.triples.iris import bottleneck_iri, strategy_iri
        >>> from kg.triples.vocabulary import TG
        >>> store: GraphStore = OxigraphStore()
        >>> store.extend([Triple(strategy_iri("graph-mode"), TG.MITIGATES, bottleneck_iri("host-bound"))])
        >>> [triple.object for triple in store.triples(None, TG.MITIGATES)]
        [<NamedNode value=https://w3id.org/tunegraph/pattern/host-bound>]
    """

    def extend(self, triples: Iterable[Triple]) -> None:
        """Add all of ``triples``, or none if any step fails. Present ones are kept once."""

    def remove(self, triples: Iterable[Triple]) -> None:
        """Take all of ``triples`` away at once; absent ones do not matter.

        Raises:
            ValueError: A triple has a blank node, which names nothing outside its file.
        """

    def replace(self, removed: Iterable[Triple], added: Iterable[Triple]) -> None:
        """Take ``removed`` away and put ``added`` in, as one step.

        Raises:
            ValueError: A triple has a blank node, which names nothing outside its file.
        """

    def update(self, sparql: str, **bindings: Term) -> None:
        """Run a SPARQL update, all of its operations or none; ``?name`` stands for its binding.

        Raises:
            ValueError: A binding that the update does not mention, or that is a blank node.
        """

    def select(self, sparql: str, **bindings: Term) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT in the order of its projection; ``?name`` stands for its binding.

        Raises:
            ValueError: A binding that the query does not mention, or that is a blank node.
        """
        ...

    def triples(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,  # noqa: A002 - the word RDF has for it
    ) -> Iterator[Triple]:
        """Yield the triples that agree with the given terms; None agrees with all."""
        ...

    def __len__(self) -> int:
        """Count the triples; may walk over all of them."""
        ...

    def dump(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Write all triples to ``stream``."""

    def load(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Add the triples of a document, all or none.

        Raises:
            InputError: The document is not what ``format`` says, or has a named graph.
        """

    def close(self) -> None:
        """Close files; the store cannot be used afterwards."""


TOKEN = re.compile(
    r'''(?P<quoted>(?<!\\)(?:"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^'\\]|\\.|'(?!\'\'))*\'\'\''''
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"""|(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)|(?P<comment>\#[^\n]*)"""
    r"""|[?$](?P<name>\w+)|(?P<word>[@:_A-Za-z][\w:.-]*)|(?P<mark>[{}()])""",
    re.DOTALL,
)
"""The tokens of SPARQL that matter for binding and for telling what a text asks for."""


_ESCAPED = re.compile(r"\\\\([uU])|\\.")
"""An escape of a literal; one that stands for a backslash may be followed by a ``u``."""


def bind(sparql: str, bindings: Mapping[str, Term]) -> str:
    """Put terms in the place of variables, token by token: nothing in a term is read as SPARQL.

    A variable that the outermost SELECT returns is still returned, with its binding as the value.
    That works alike on every engine, inside sub-selects too, and for variables that are not returned
    (pyoxigraph substitutes only those that are).

    Raises:
        ValueError: A binding that the text does not mention, or that is a blank node.
    """
    if not bindings:
        return sparql
    terms = {name: _constant(name, term) for name, term in bindings.items()}
    missing = set(terms)
    braces = parentheses = 0
    in_projection = False

    def substitute(match: re.Match[str]) -> str:
        nonlocal braces, parentheses, in_projection
        text = match.group()
        match match.lastgroup:
            case "mark":
                braces += (text == "{") - (text == "}")
                parentheses += (text == "(") - (text == ")")
                in_projection = in_projection and text not in "{}"
            case "word":
                in_projection = text.upper() == "SELECT" or (in_projection and not _ends_projection(text))
            case "name" if (name := match["name"]) in terms:
                missing.discard(name)
                if not in_projection or parentheses:
                    return terms[name]
                return "" if braces else f"({terms[name]} AS ?{name})"
        return text

    bound = TOKEN.sub(substitute, sparql)
    if missing:
        raise ValueError(f"the query has no variable {', '.join(sorted(missing))}")
    return bound


def replacement(removed: Iterable[Triple], added: Iterable[Triple]) -> str:
    """Return the SPARQL update that takes ``removed`` away and puts ``added`` in.

    Raises:
        ValueError: A triple has a blank node.
    """
    parts = []
    for operation, triples in (("DELETE DATA", removed), ("INSERT DATA", added)):
        lines = [_statement(triple) for triple in triples]
        if lines:
            parts.append(f"{operation} {{\n{''.join(lines)}}}")
    return " ;\n".join(parts)


def _constant(name: str, term: Term) -> str:
    if isinstance(term, NamedNode | Literal):
        return _ESCAPED.sub(_spell_out, str(term))
    raise ValueError(f"?{name} cannot be bound to {term}: only IRIs and literals can")


def _spell_out(escape: re.Match[str]) -> str:
    # rdflib expands \uXXXX before it parses, also behind an escaped backslash: the u must not stand there.
    letter = escape.group(1)
    return f"\\\\\\U{ord(letter):08X}" if letter else escape.group()


def _statement(triple: Triple) -> str:
    text = str(triple)
    if "_:" in text and not all(isinstance(term, NamedNode | Literal) for term in triple):
        raise ValueError(f"{text} cannot be named outside its file: it has a blank node")
    return f"{text} .\n"


def _ends_projection(word: str) -> bool:
    return word.upper() in {"WHERE", "FROM"}
